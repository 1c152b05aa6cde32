/* Recurrent layers over sequences. */
#include "layers/helper.h"

static const struct skiff_rnn_options rnn_defaults;

static const char *or_else(const char *s, const char *otherwise)
{
    return s ? s : otherwise;
}

struct skiff_var *skiff_layer_dynamic_gru(struct skiff_net *net, struct skiff_var *x, int size,
                                          const struct skiff_rnn_options *o)
{
    o = o ? o : &rnn_defaults;
    if (!net_has(net, "dynamic_gru", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "gru", NULL);
    struct shape ws = SHAPE(size, 3 * (int64_t)size), bs = SHAPE(1, 3 * (int64_t)size);
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, x->dtype, false, NULL);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, x->dtype, true, NULL);
    struct skiff_var *hidden = layer_tmp(&l, x->dtype), *gate = layer_tmp(&l, x->dtype);
    struct skiff_var *reset = layer_tmp(&l, x->dtype), *batch = layer_tmp(&l, x->dtype);
    layer_op(net, "gru", P_IN("Input", x), P_IN("Weight", w), P_IN("Bias", b), P_IN("H0", o->h_0),
             P_OUT("Hidden", hidden), P_OUT("BatchGate", gate),
             P_OUT("BatchResetHiddenPrev", reset), P_OUT("BatchHidden", batch),
             P_BOOL("is_reverse", o->is_reverse),
             P_STR("gate_activation", or_else(o->gate_activation, "sigmoid")),
             P_STR("activation", or_else(o->candidate_activation, "tanh")),
             P_BOOL("origin_mode", o->origin_mode));
    return net_failed(net) ? NULL : hidden;
}

/* Fluid ignores the activations given here: always tanh (2) and sigmoid (1). */
struct skiff_gru_step skiff_layer_gru_unit(struct skiff_net *net, struct skiff_var *x,
                                           struct skiff_var *hidden, int size,
                                           const struct skiff_rnn_options *o)
{
    struct skiff_gru_step r = {0};
    o = o ? o : &rnn_defaults;
    if (!net_has(net, "gru_unit", "x", x) || !net_has(net, "gru_unit", "hidden", hidden))
        return r;
    struct layer l = layer_begin(net, "gru_unit", NULL);
    int64_t n = size / 3;
    struct shape ws = SHAPE(n, 3 * n), bs = SHAPE(1, 3 * n);
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, x->dtype, false, NULL);
    struct skiff_var *gate = layer_tmp(&l, x->dtype), *reset = layer_tmp(&l, x->dtype);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, x->dtype, true, NULL);
    if (layer_op(net, "gru_unit", P_IN("Input", x), P_IN("HiddenPrev", hidden), P_IN("Weight", w),
                 P_IN("Bias", b), P_OUT("Gate", gate), P_OUT("ResetHiddenPrev", reset),
                 P_OUT("Hidden", out), P_INT("activation", 2), P_INT("gate_activation", 1),
                 P_BOOL("origin_mode", o->origin_mode)))
        r = (struct skiff_gru_step){out, reset, gate};
    return r;
}

struct skiff_lstm skiff_layer_dynamic_lstm(struct skiff_net *net, struct skiff_var *x, int size,
                                           const struct skiff_rnn_options *o)
{
    struct skiff_lstm r = {0};
    o = o ? o : &rnn_defaults;
    if (!net_has(net, "dynamic_lstm", "x", x))
        return r;
    if (attr_is_none(o->bias_attr)) {
        net_fail(net, SKIFF_INVALID, "layer dynamic_lstm: the bias cannot be left out");
        return r;
    }
    struct layer l = layer_begin(net, "lstm", o->name);
    enum dtype t = net_dtype(net, "dynamic_lstm", o->dtype, DTYPE_FP32);
    int64_t n = size / 4;
    struct shape ws = SHAPE(n, 4 * n), bs = SHAPE(1, (o->no_peepholes ? 4 : 7) * n);
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, t, false, NULL);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, t, true, NULL);
    struct skiff_var *hidden = layer_tmp(&l, t), *cell = layer_tmp(&l, t);
    struct skiff_var *gate = layer_tmp(&l, t), *pre = layer_tmp(&l, t);
    if (layer_op(net, "lstm", P_IN("Input", x), P_IN("Weight", w), P_IN("Bias", b),
                 P_IN("H0", o->h_0), P_IN("C0", o->c_0), P_OUT("Hidden", hidden),
                 P_OUT("Cell", cell), P_OUT("BatchGate", gate), P_OUT("BatchCellPreAct", pre),
                 P_BOOL("use_peepholes", !o->no_peepholes), P_BOOL("is_reverse", o->is_reverse),
                 P_STR("gate_activation", or_else(o->gate_activation, "sigmoid")),
                 P_STR("cell_activation", or_else(o->cell_activation, "tanh")),
                 P_STR("candidate_activation", or_else(o->candidate_activation, "tanh"))))
        r = (struct skiff_lstm){hidden, cell};
    return r;
}
