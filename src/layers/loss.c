/* Losses. A layer here appends the ops of the Fluid layer in the same order, with its outputs and
 * auxiliary outputs (softmax, MatchX, ..) under the same names, so that saved programs and parity
 * tests agree. Losses over many classes are in nce.c. */
#include "layers/helper.h"

static const struct skiff_xent_options xent_defaults;

static bool pair(struct skiff_net *net, const char *layer, const struct skiff_var *x,
                 const struct skiff_var *label)
{
    return net_has(net, layer, "input", x) && net_has(net, layer, "label", label);
}

struct skiff_var *skiff_layer_cross_entropy(struct skiff_net *net, struct skiff_var *x,
                                            struct skiff_var *label,
                                            const struct skiff_xent_options *o)
{
    o = o ? o : &xent_defaults;
    if (!pair(net, "cross_entropy", x, label))
        return NULL;
    int ignore = opt_int(o->ignore_index, -100);
    struct layer l = layer_begin(net, o->soft_label ? "cross_entropy" : "cross_entropy2", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    if (o->soft_label) {
        layer_op(net, "cross_entropy", P_IN("X", x), P_IN("Label", label), P_OUT("Y", out),
                 P_BOOL("soft_label", true), P_INT("ignore_index", ignore));
        return net_failed(net) ? NULL : out;
    }
    struct skiff_var *xshape = layer_tmp(&l, x->dtype), *match = layer_tmp(&l, x->dtype);
    layer_op(net, "cross_entropy2", P_IN("X", x), P_IN("Label", label), P_OUT("Y", out),
             P_OUT("MatchX", match), P_OUT("XShape", xshape), P_INT("ignore_index", ignore));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_softmax_with_cross_entropy(struct skiff_net *net,
                                                         struct skiff_var *logits,
                                                         struct skiff_var *label,
                                                         const struct skiff_xent_options *o)
{
    o = o ? o : &xent_defaults;
    if (o->softmax)
        *o->softmax = NULL;
    if (!pair(net, "softmax_with_cross_entropy", logits, label))
        return NULL;
    struct layer l = layer_begin(net, "softmax_with_cross_entropy", NULL);
    struct skiff_var *softmax = layer_tmp(&l, logits->dtype), *loss = layer_tmp(&l, logits->dtype);
    layer_op(net, l.type, P_IN("Logits", logits), P_IN("Label", label), P_OUT("Softmax", softmax),
             P_OUT("Loss", loss), P_BOOL("soft_label", o->soft_label),
             P_INT("ignore_index", opt_int(o->ignore_index, -100)),
             P_BOOL("numeric_stable_mode", !o->not_stable), P_INT("axis", opt_int(o->axis, -1)));
    if (net_failed(net))
        return NULL;
    if (o->softmax)
        *o->softmax = softmax;
    return loss;
}

struct skiff_var *skiff_layer_sigmoid_cross_entropy_with_logits(struct skiff_net *net,
                                                                struct skiff_var *x,
                                                                struct skiff_var *label,
                                                                const struct skiff_xent_options *o)
{
    o = o ? o : &xent_defaults;
    if (!pair(net, "sigmoid_cross_entropy_with_logits", x, label))
        return NULL;
    struct layer l = layer_begin(net, "sigmoid_cross_entropy_with_logits", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, l.type, P_IN("X", x), P_IN("Label", label), P_OUT("Out", out),
             P_INT("ignore_index", opt_int(o->ignore_index, -100)),
             P_BOOL("normalize", o->normalize));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_square_error_cost(struct skiff_net *net, struct skiff_var *x,
                                                struct skiff_var *label)
{
    if (!pair(net, "square_error_cost", x, label))
        return NULL;
    struct layer l = layer_begin(net, "square_error_cost", NULL);
    struct skiff_var *diff = layer_tmp(&l, x->dtype);
    layer_op(net, "elementwise_sub", P_IN("X", x), P_IN("Y", label), P_OUT("Out", diff));
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "square", P_IN("X", diff), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_mse_loss(struct skiff_net *net, struct skiff_var *x,
                                       struct skiff_var *label)
{
    return skiff_layer_reduce_mean(net, skiff_layer_square_error_cost(net, x, label), NULL);
}

struct skiff_var *skiff_layer_log_loss(struct skiff_net *net, struct skiff_var *x,
                                       struct skiff_var *label, double epsilon, const char *name)
{
    if (!pair(net, "log_loss", x, label))
        return NULL;
    struct layer l = layer_begin(net, "log_loss", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "log_loss", P_IN("Predicted", x), P_IN("Labels", label), P_OUT("Loss", out),
             P_FLOAT("epsilon", opt_float(epsilon, 1e-4)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_bpr_loss(struct skiff_net *net, struct skiff_var *x,
                                       struct skiff_var *label, const char *name)
{
    if (!pair(net, "bpr_loss", x, label))
        return NULL;
    struct layer l = layer_begin(net, "bpr_loss", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "bpr_loss", P_IN("X", x), P_IN("Label", label), P_OUT("Y", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_huber_loss(struct skiff_net *net, struct skiff_var *x,
                                         struct skiff_var *label, double delta)
{
    if (!pair(net, "huber_loss", x, label))
        return NULL;
    struct layer l = layer_begin(net, "huber_loss", NULL);
    struct skiff_var *residual = layer_tmp(&l, x->dtype), *out = layer_tmp(&l, x->dtype);
    layer_op(net, "huber_loss", P_IN("X", x), P_IN("Y", label), P_OUT("Out", out),
             P_OUT("Residual", residual), P_FLOAT("delta", delta));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_rank_loss(struct skiff_net *net, struct skiff_var *label,
                                        struct skiff_var *left, struct skiff_var *right,
                                        const char *name)
{
    if (!pair(net, "rank_loss", left, label) || !net_has(net, "rank_loss", "right", right))
        return NULL;
    struct layer l = layer_begin(net, "rank_loss", name);
    struct skiff_var *out = layer_tmp(&l, DTYPE_FP32);
    layer_op(net, "rank_loss", P_IN("Label", label), P_IN("Left", left), P_IN("Right", right),
             P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_margin_rank_loss(struct skiff_net *net, struct skiff_var *label,
                                               struct skiff_var *left, struct skiff_var *right,
                                               double margin, const char *name)
{
    if (!pair(net, "margin_rank_loss", left, label) ||
        !net_has(net, "margin_rank_loss", "right", right))
        return NULL;
    struct layer l = layer_begin(net, "margin_rank_loss", name);
    struct skiff_var *out = layer_tmp(&l, left->dtype), *act = layer_tmp(&l, left->dtype);
    layer_op(net, "margin_rank_loss", P_IN("Label", label), P_IN("X1", left), P_IN("X2", right),
             P_OUT("Out", out), P_OUT("Activated", act), P_FLOAT("margin", opt_float(margin, 0.1)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_smooth_l1(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_var *y, struct skiff_var *inside_weight,
                                        struct skiff_var *outside_weight, double sigma)
{
    if (!net_has(net, "smooth_l1", "x", x) || !net_has(net, "smooth_l1", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "smooth_l1_loss", NULL);
    struct skiff_var *diff = layer_tmp(&l, x->dtype), *loss = layer_tmp(&l, x->dtype);
    layer_op(net, "smooth_l1_loss", P_IN("X", x), P_IN("Y", y), P_IN("InsideWeight", inside_weight),
             P_IN("OutsideWeight", outside_weight), P_OUT("Diff", diff), P_OUT("Out", loss),
             P_FLOAT("sigma", opt_float(sigma, 1.0)));
    return net_failed(net) ? NULL : loss;
}

struct skiff_var *skiff_layer_teacher_student_sigmoid_loss(struct skiff_net *net,
                                                           struct skiff_var *x,
                                                           struct skiff_var *label, double up_bound,
                                                           double lower_bound)
{
    if (!pair(net, "teacher_student_sigmoid_loss", x, label))
        return NULL;
    layer_begin(net, "teacher_student_sigmoid_loss", NULL);
    struct skiff_var *out = block_new_var(net, net->frame->block, NULL, x->dtype);
    layer_op(net, "teacher_student_sigmoid_loss", P_IN("X", x), P_IN("Label", label),
             P_OUT("Y", out), P_FLOAT("soft_max_lower_bound", opt_float(lower_bound, -15.0)),
             P_FLOAT("soft_max_up_bound", opt_float(up_bound, 15.0)));
    return net_failed(net) ? NULL : out;
}
