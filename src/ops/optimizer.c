/* The kernel of all optimizer ops. Each slot may list several variables (passes join neighbouring
 * ops into one); variable i of every slot belongs to parameter i. Param and states are updated
 * where their outputs lie (usually the same variables). A gradient of selected rows is merged;
 * rules that also move rows without a gradient either sweep the table, as Paddle does, or leave
 * those rows behind (run_env.defer_rows). */
#include "ops/optimizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/rows.h"
#include "rules/catch_up.h"

static int slot_at(const struct op_slot *slots, const char *name)
{
    return name ? op_kind_slot(slots, name) : -1;
}

static struct optimizer_slots slots_of(const struct op_kind *kind)
{
    const struct optimizer_spec *spec = optimizer_spec_at(kind->fuse_arg);
    struct optimizer_slots s = {
        .param = slot_at(kind->ins, "Param"),
        .grad = slot_at(kind->ins, "Grad"),
        .rate = slot_at(kind->ins, "LearningRate"),
        .param_out = slot_at(kind->outs, "ParamOut"),
        .beta1 = slot_at(kind->ins, "Beta1Tensor"),
        .beta2 = slot_at(kind->ins, "Beta2Tensor"),
        .epsilon = slot_at(kind->ins, "EpsilonTensor"),
        .skip = slot_at(kind->ins, "SkipUpdate"),
    };
    for (int i = 0; i < RULE_MAX_STATES; i++) {
        s.state[i] = slot_at(kind->ins, spec->state[i]);
        s.state_out[i] = slot_at(kind->outs, spec->state_out[i]);
    }
    for (int i = 0; i < RULE_MAX_SCALARS; i++) {
        s.scalar[i] = slot_at(kind->ins, spec->scalar[i]);
        s.scalar_out[i] = slot_at(kind->outs, spec->scalar_out[i]);
    }
    return s;
}

/* ---- shapes ---- */

static enum skiff_status infer_one_number(struct infer *c, int slot, int i, struct skiff_error *err)
{
    const struct shape *s = slot >= 0 ? infer_in(c, slot, i) : NULL;
    if (!s || shape_numel(s) == 1 || (!c->running && shape_numel(s) < 0))
        return SKIFF_OK;
    return infer_fail(c, slot, i, err, "one number is needed");
}

/* Output `out` of input `in`, which must be there. */
static enum skiff_status infer_state(struct infer *c, int in, int out, int i,
                                     struct skiff_error *err)
{
    const struct shape *s = infer_in(c, in, i);
    if (!s)
        return infer_fail(c, in, i, err, "the input is missing");
    /* a server program may describe a distributed table as selected rows: refused when run here */
    if (c->running && infer_in_is_rows(c, in, i))
        return infer_fail(c, in, i, err, "is selected rows; a dense tensor is needed");
    if (infer_in_dtype(c, in, i) != DTYPE_FP32)
        return infer_fail(c, in, i, err, "is %s; optimizers work on float32",
                          dtype_name(infer_in_dtype(c, in, i)));
    /* in place nothing changes, and other threads may be reading (Hogwild) */
    if (out < 0 ||
        (c->running && kernel_in_value(c->kernel, in, i) == kernel_out_value(c->kernel, out, i)))
        return SKIFF_OK;
    return infer_out(c, out, i, DTYPE_FP32, s, err);
}

static enum skiff_status infer_grad(struct infer *c, const struct optimizer_slots *s, int i,
                                    struct skiff_error *err)
{
    char text[160];
    const struct shape *p = infer_in(c, s->param, i), *g = infer_in(c, s->grad, i);
    if (!p || !g)
        return infer_fail(c, p ? s->grad : s->param, i, err, "the input is missing");
    if (infer_in_is_rows(c, s->grad, i)) {
        if (c->running && shape_cols(g, 1) != shape_cols(p, 1) && g->dims[0] > 0)
            return infer_fail(c, s->grad, i, err, "rows do not fit those of the parameter %s",
                              shape_text(p, text));
        return SKIFF_OK;
    }
    if (infer_in_dtype(c, s->grad, i) != DTYPE_FP32)
        return infer_fail(c, s->grad, i, err, "is %s; float32 is needed",
                          dtype_name(infer_in_dtype(c, s->grad, i)));
    if (c->running && !shape_equal(p, g))
        return infer_fail(c, s->grad, i, err, "the parameter has shape %s", shape_text(p, text));
    return SKIFF_OK;
}

enum skiff_status optimizer_infer(struct infer *c, struct skiff_error *err)
{
    const struct optimizer *o = c->running && c->kernel ? c->kernel->state : NULL;
    struct optimizer_slots s = o ? o->slots : slots_of(c->kind);
    const struct optimizer_spec *spec = optimizer_spec_at(c->kind->fuse_arg);
    char text[160];
    for (int i = 0; i < infer_in_count(c, s.param); i++) {
        TRY(infer_grad(c, &s, i, err));
        const struct shape p = *infer_in(c, s.param, i);
        TRY(infer_state(c, s.param, s.param_out, i, err));
        for (int j = 0; j < spec->rule->states; j++) {
            if (!infer_in(c, s.state[j], i) && (c->kind->ins[s.state[j]].flags & SLOT_OPTIONAL))
                continue;
            TRY(infer_state(c, s.state[j], s.state_out[j], i, err));
            if (!shape_equal(infer_in(c, s.state[j], i), &p) && c->running)
                return infer_fail(c, s.state[j], i, err, "the parameter has shape %s",
                                  shape_text(&p, text));
        }
    }
    for (int j = 0; j < spec->rule->scalars; j++)
        for (int i = 0; i < infer_in_count(c, s.scalar[j]); i++) {
            TRY(infer_one_number(c, s.scalar[j], i, err));
            TRY(infer_state(c, s.scalar[j], s.scalar_out[j], i, err));
        }
    return infer_one_number(c, s.rate, 0, err);
}

/* ---- preparing ---- */

static float attr_float(const struct kernel *k, const char *name, float absent)
{
    int at = op_kind_attr(k->kind, name);
    if (at < 0)
        return absent;
    if (k->kind->attrs[at].type == ATTR_FLOATS)
        return k->attr[at].n > 0 ? k->attr[at].floats[0] : absent;
    return k->attr[at].f;
}

static bool attr_bool(const struct kernel *k, const char *name)
{
    int at = op_kind_attr(k->kind, name);
    return at >= 0 && k->attr[at].b;
}

enum skiff_status optimizer_prepare(struct kernel *k, struct skiff_error *err)
{
    struct optimizer *o = mem_must(sizeof *o);
    o->spec = optimizer_spec_at(k->kind->fuse_arg);
    o->slots = slots_of(k->kind);
    o->lazy = attr_bool(k, "lazy_mode");
    o->params = (struct rule_params){
        .beta1 = attr_float(k, "beta1", 0),
        .beta2 = attr_float(k, "beta2", 0),
        .epsilon = attr_float(k, "epsilon", 0),
        .mu = attr_float(k, "mu", attr_float(k, "momentum", 0)),
        .decay = attr_float(k, "decay", attr_float(k, "rho", 0)),
        .l1 = attr_float(k, "l1", 0),
        .l2 = attr_float(k, "l2", 0),
        .lr_power = attr_float(k, "lr_power", -0.5f),
        .weight_decay = attr_float(k, "weight_decay", attr_float(k, "lars_weight_decay", 0)),
        .coeff = attr_float(k, "coeff", attr_float(k, "lars_coeff", 0)),
        .lr_ratio = attr_float(k, "lr_ratio", 1),
        .rescale = attr_float(k, "rescale_grad", 1),
        .nesterov = attr_bool(k, "use_nesterov"),
        .centered = attr_bool(k, "centered"),
        .decoupled = attr_bool(k, "with_decay"),
        .always_adapt = attr_bool(k, "always_adapt"),
        .second_gen = o->spec->second_gen,
    };
    int method = op_kind_attr(k->kind, "regularization_method");
    if (method >= 0 && k->attr[method].s && strcmp(k->attr[method].s, "l2_decay") == 0)
        o->params.l2 = attr_float(k, "regularization_coeff", 0);
    id_map_init(&o->map);
    k->state = o;
    return SKIFF_OK;
}

void optimizer_release(struct kernel *k)
{
    struct optimizer *o = k->state;
    if (o)
        id_map_deinit(&o->map);
    free(o);
    k->state = NULL;
}

/* ---- running ---- */

/* The output's own copy when it is another variable than the input. */
static enum skiff_status in_place(struct kernel *k, int in, int out, int i,
                                  struct skiff_tensor **value, struct skiff_error *err)
{
    struct skiff_tensor *from = kernel_in_value(k, in, i);
    struct skiff_tensor *to = out >= 0 ? kernel_out_value(k, out, i) : NULL;
    *value = from;
    if (!to || to == from)
        return SKIFF_OK;
    value_settle(from);
    value_settle(to);
    *value = to;
    return tensor_copy(&to->tensor, &from->tensor, err);
}

static enum skiff_status target_bind(struct kernel *k, int i, struct optimizer_target *t,
                                     struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    const struct optimizer_slots *s = &o->slots;
    *t = (struct optimizer_target){.rule = o->spec->rule, .params = o->params};
    TRY(in_place(k, s->param, s->param_out, i, &t->param, err));
    t->p = tensor_f32(&t->param->tensor);
    t->rows = t->param->tensor.shape.ndim ? t->param->tensor.shape.dims[0] : 1;
    t->width = shape_cols(&t->param->tensor.shape, 1);
    for (int j = 0; j < t->rule->states; j++) {
        if (!kernel_in_value(k, s->state[j], i) ||
            kernel_in_value(k, s->state[j], i)->kind == VALUE_NONE)
            continue;
        TRY(in_place(k, s->state[j], s->state_out[j], i, &t->state_value[j], err));
        t->state[j] = tensor_f32(&t->state_value[j]->tensor);
    }
    if (t->params.centered && !t->state[2])
        return kernel_fail(k, SKIFF_NOT_FOUND, err, "centered needs an input MeanGrad");
    const struct tensor *x;
    if (s->beta1 >= 0 && (x = kernel_in(k, s->beta1)))
        t->params.beta1 = *tensor_f32(x);
    if (s->beta2 >= 0 && (x = kernel_in(k, s->beta2)))
        t->params.beta2 = *tensor_f32(x);
    if (s->epsilon >= 0 && (x = kernel_in(k, s->epsilon)))
        t->params.epsilon = *tensor_f32(x);
    return SKIFF_OK;
}

/* Rates and powers of this step; the powers' outputs are written. */
static enum skiff_status step_begin(struct kernel *k, const struct optimizer_target *t, int i,
                                    bool sparse, struct rule_step *step, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    const struct optimizer_slots *s = &o->slots;
    float lr = 0, scalar[RULE_MAX_SCALARS] = {0};
    if (s->rate >= 0) {
        const struct tensor *x = kernel_in_at(k, s->rate, i);
        if (!x || x->dtype != DTYPE_FP32 || tensor_numel(x) != 1)
            return kernel_fail(k, SKIFF_DTYPE, err, "LearningRate must be one float32 number");
        lr = *tensor_f32(x);
    }
    for (int j = 0; j < t->rule->scalars; j++)
        if (!kernel_in_at(k, s->scalar[j], i))
            return kernel_fail(k, SKIFF_NOT_FOUND, err, "%s of parameter %s is missing",
                               k->kind->ins[s->scalar[j]].name, kernel_in_name(k, s->param, i));
        else
            scalar[j] = *tensor_f32(kernel_in_at(k, s->scalar[j], i));
    t->rule->begin(&t->params, lr, sparse, scalar, step);
    for (int j = 0; j < t->rule->scalars; j++) {
        struct tensor *x = s->scalar_out[j] >= 0 ? kernel_out_at(k, s->scalar_out[j], i) : NULL;
        if (x)
            *tensor_f32(x) = scalar[j];
    }
    return SKIFF_OK;
}

static void update_span(const struct optimizer_target *t, const struct rule_step *step, size_t at,
                        size_t n, const float *g)
{
    float *state[RULE_MAX_STATES];
    for (int j = 0; j < RULE_MAX_STATES; j++)
        state[j] = t->state[j] ? t->state[j] + at : NULL;
    if (g)
        t->rule->apply(&t->params, step, n, g, t->p + at, state);
    else
        t->rule->idle(&t->params, step, n, t->p + at, state);
}

/* Every row of the table, those between the gradient's rows with a gradient of zero. */
static void sweep(const struct optimizer_target *t, const struct rule_step *step,
                  const struct rows_merged *m)
{
    size_t width = (size_t)t->width, from = 0;
    for (size_t i = 0; i <= m->n; i++) {
        size_t to = i < m->n ? (size_t)m->ids[i] : (size_t)t->rows;
        if (to > from)
            update_span(t, step, from * width, (to - from) * width, NULL);
        if (i < m->n)
            update_span(t, step, to * width, width, m->values + i * width);
        from = to + 1;
    }
}

/* Rules that look at the whole tensor get the gradient spread out. */
static enum skiff_status update_whole(struct kernel *k, const struct optimizer_target *t,
                                      const struct rule_step *step, const struct rows_merged *m,
                                      struct skiff_error *err)
{
    void *dense;
    size_t width = (size_t)t->width, bytes = (size_t)t->rows * width * sizeof(float);
    TRY(kernel_scratch(k, bytes, &dense, err));
    memset(dense, 0, bytes);
    for (size_t i = 0; i < m->n; i++)
        memcpy((float *)dense + (size_t)m->ids[i] * width, m->values + i * width,
               width * sizeof(float));
    update_span(t, step, 0, (size_t)t->rows * width, dense);
    return SKIFF_OK;
}

/* Row by row as they come: sgd, where duplicates simply add up. */
static void update_rows(const struct optimizer_target *t, const struct rule_step *step,
                        const int64_t *ids, size_t n, const float *g)
{
    size_t width = (size_t)t->width;
    for (size_t i = 0; i < n; i++) {
        if (i + 8 < n) {
            size_t ahead = (size_t)ids[i + 8] * width;
            __builtin_prefetch(t->p + ahead, 1);
            for (int j = 0; j < RULE_MAX_STATES; j++)
                if (t->state[j])
                    __builtin_prefetch(t->state[j] + ahead, 1);
        }
        update_span(t, step, (size_t)ids[i] * width, width, g + i * width);
    }
}

static enum skiff_status grad_check(struct kernel *k, const struct optimizer_target *t,
                                    const struct skiff_tensor *g, int i, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    if (g->sel.height != t->rows)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "gradient %s has height %lld, the parameter has %lld rows",
            kernel_in_name(k, o->slots.grad, i), (long long)g->sel.height, (long long)t->rows);
    if (g->sel.nrows && g->tensor.dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_DTYPE, err, "gradient %s is %s; float32 is needed",
                           kernel_in_name(k, o->slots.grad, i), dtype_name(g->tensor.dtype));
    if (g->sel.nrows && rows_width(g) != t->width)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "gradient %s has rows of %lld numbers, the parameter of %lld",
            kernel_in_name(k, o->slots.grad, i), (long long)rows_width(g), (long long)t->width);
    return rows_check(k, g, t->rows, kernel_in_name(k, o->slots.grad, i), err);
}

static enum skiff_status run_rows(struct kernel *k, const struct optimizer_target *t,
                                  struct skiff_tensor *g, int i, struct skiff_error *err)
{
    struct optimizer *o = k->state;
    struct rule_step step;
    struct rows_merged m;
    bool all_rows = (t->rule->idle && !o->lazy) || (t->rule->flags & RULE_WHOLE);
    bool defer = all_rows && t->rule->plan && k->env && k->env->defer_rows;
    TRY(grad_check(k, t, g, i, err));
    if (!g->sel.nrows && o->spec->empty_is_nothing && !(k->env && k->env->empty_is_step))
        return SKIFF_OK; /* not even the powers change */
    struct catch_up *behind = NULL;
    if (defer)
        TRY(optimizer_lag(t, &behind, err));
    else
        optimizer_lag_end(t);
    if (!o->spec->rows_once)
        TRY(rows_merge(k, &o->map, &g, 1, all_rows && !behind ? ROWS_ASCENDING : ROWS_ANY, &m,
                       err));
    TRY(step_begin(k, t, i, true, &step, err));
    if (o->spec->rows_once)
        update_rows(t, &step, g->sel.rows, g->sel.nrows, tensor_f32(&g->tensor));
    else if (behind)
        catch_up_step(behind, &step, m.ids, m.n, m.values);
    else if (t->rule->flags & RULE_WHOLE)
        return update_whole(k, t, &step, &m, err);
    else if (all_rows)
        sweep(t, &step, &m);
    else
        update_rows(t, &step, m.ids, m.n, m.values);
    return SKIFF_OK;
}

static enum skiff_status run_one(struct kernel *k, int i, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    struct skiff_tensor *g = kernel_in_value(k, o->slots.grad, i);
    struct optimizer_target t;
    TRY(target_bind(k, i, &t, err));
    if (!g || g->kind == VALUE_NONE)
        return kernel_fail(k, SKIFF_NOT_FOUND, err, "gradient %s has no value",
                           kernel_in_name(k, o->slots.grad, i));
    if (o->slots.skip >= 0) {
        const struct tensor *x = kernel_in(k, o->slots.skip);
        if (x && x->data && *(const bool *)x->data)
            return SKIFF_OK;
    }
    if (g->kind == VALUE_ROWS)
        return run_rows(k, &t, g, i, err);
    struct rule_step step;
    optimizer_lag_end(&t);
    TRY(step_begin(k, &t, i, false, &step, err));
    update_span(&t, &step, 0, (size_t)tensor_numel(&t.param->tensor), tensor_f32(&g->tensor));
    return SKIFF_OK;
}

enum skiff_status optimizer_run(struct kernel *k, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    for (int i = 0; i < kernel_in_count(k, o->slots.param); i++)
        TRY(run_one(k, i, err));
    return SKIFF_OK;
}
