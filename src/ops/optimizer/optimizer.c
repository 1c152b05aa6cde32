/* The kernel of all optimizer ops.
 *
 * Each slot may list several variables (passes join adjacent ops into one); variable i of every
 * slot belongs to parameter i. Param and states are updated in their outputs (usually the same
 * variables). A gradient of selected rows is merged. Rules that also move rows without a gradient
 * either sweep the complete table, as Paddle does, or defer those rows (run_env.defer_rows). */
#include "ops/optimizer/optimizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread_pool.h"
#include "ops/sparse/rows.h"
#include "rules/deferred.h"
#include "rules/wide.h"

/* An update of an element costs so many simple loops over elements, and a row so many more. */
#define UPDATE_COST 4
#define ROW_COST 64

static int slot_at(const struct op_slot *slots, const char *name)
{
    return name ? op_kind_slot(slots, name) : -1;
}

static const struct optimizer_kind *row_of(const struct op_kind *kind)
{
    return optimizer_kind_find(kind->type, (int)kind->generations);
}

static struct optimizer_slots slots_of(const struct op_kind *kind)
{
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
    int states = 0, scalars = 0;
    for (const struct optimizer_accumulator *a = row_of(kind)->accumulators; a->name; a++) {
        int in = slot_at(kind->ins, a->in), out = slot_at(kind->outs, a->out);
        if (a->scalar) {
            s.scalar[scalars] = in;
            s.scalar_out[scalars++] = out;
        } else {
            s.state[states] = in;
            s.state_out[states++] = out;
        }
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

/* Output `out` of input `in`, which must be there and have the parameter's type. */
static enum skiff_status infer_state(struct infer *c, enum dtype dtype, int in, int out, int i,
                                     struct skiff_error *err)
{
    const struct shape *s = infer_in(c, in, i);
    if (!s)
        return infer_fail(c, in, i, err, "the input is missing");
    /* a server program may describe a distributed table as selected rows: refused when run here */
    if (c->running && infer_in_is_rows(c, in, i))
        return infer_fail(c, in, i, err, "is selected rows; a dense tensor is needed");
    if (infer_in_dtype(c, in, i) != dtype)
        return infer_fail(c, in, i, err, "is %s; the parameter is %s",
                          dtype_name(infer_in_dtype(c, in, i)), dtype_name(dtype));
    /* in place nothing changes, and other threads may be reading (Hogwild) */
    if (out < 0 ||
        (c->running && kernel_in_value(c->kernel, in, i) == kernel_out_value(c->kernel, out, i)))
        return SKIFF_OK;
    return infer_out(c, out, i, dtype, s, err);
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
    if (infer_in_dtype(c, s->grad, i) != infer_in_dtype(c, s->param, i))
        return infer_fail(c, s->grad, i, err, "is %s; the parameter is %s",
                          dtype_name(infer_in_dtype(c, s->grad, i)),
                          dtype_name(infer_in_dtype(c, s->param, i)));
    if (c->running && !shape_equal(p, g))
        return infer_fail(c, s->grad, i, err, "the parameter has shape %s", shape_text(p, text));
    return SKIFF_OK;
}

static enum skiff_status infer_param(struct infer *c, const struct optimizer_slots *s,
                                     const struct rule *rule, int i, struct skiff_error *err)
{
    enum dtype dtype = infer_in_dtype(c, s->param, i);
    if (dtype != DTYPE_FP32 && !(dtype == DTYPE_FP64 && wide_rule_find(rule)))
        return infer_fail(c, s->param, i, err, "is %s; this optimizer works on float32%s",
                          dtype_name(dtype), wide_rule_find(rule) ? " and float64" : "");
    return infer_state(c, dtype, s->param, s->param_out, i, err);
}

enum skiff_status optimizer_infer(struct infer *c, struct skiff_error *err)
{
    const struct optimizer *o = c->running && c->kernel ? c->kernel->state : NULL;
    struct optimizer_slots s = o ? o->slots : slots_of(c->kind);
    const struct rule *rule = (o ? o->row : row_of(c->kind))->rule;
    char text[160];
    for (int i = 0; i < infer_in_count(c, s.param); i++) {
        if (infer_in(c, s.param, i))
            TRY(infer_param(c, &s, rule, i, err));
        TRY(infer_grad(c, &s, i, err));
        const struct shape p = *infer_in(c, s.param, i);
        enum dtype dtype = infer_in_dtype(c, s.param, i);
        for (int j = 0; j < rule->states; j++) {
            if (!infer_in(c, s.state[j], i) && (c->kind->ins[s.state[j]].flags & SLOT_OPTIONAL))
                continue;
            TRY(infer_state(c, dtype, s.state[j], s.state_out[j], i, err));
            if (!shape_equal(infer_in(c, s.state[j], i), &p) && c->running)
                return infer_fail(c, s.state[j], i, err, "the parameter has shape %s",
                                  shape_text(&p, text));
        }
    }
    for (int j = 0; j < rule->scalars; j++)
        for (int i = 0; i < infer_in_count(c, s.scalar[j]); i++) {
            TRY(infer_one_number(c, s.scalar[j], i, err));
            TRY(infer_state(c, infer_in_dtype(c, s.param, i), s.scalar[j], s.scalar_out[j], i,
                            err));
        }
    return infer_one_number(c, s.rate, 0, err);
}

/* ---- preparing ---- */

static float attr_float(const struct kernel *k, int at)
{
    if (k->kind->attrs[at].type == ATTR_FLOATS)
        return k->attr[at].n > 0 ? k->attr[at].floats[0] : 0;
    return k->attr[at].f;
}

static void read_attr(const struct kernel *k, const struct optimizer_attr *a,
                      struct rule_params *out)
{
    int at = op_kind_attr(k->kind, a->name);
    void *field = (char *)out + a->rule;
    if (a->kind == OPTIMIZER_NUMBER)
        *(float *)field = attr_float(k, at);
    else
        *(bool *)field = k->attr[at].b;
}

/* L2 decay inside the op (momentum of 2.x). */
static float decay_inside(const struct kernel *k)
{
    const char *method = k->attr[op_kind_attr(k->kind, "regularization_method")].s;
    if (!method || strcmp(method, "l2_decay"))
        return 0;
    return attr_float(k, op_kind_attr(k->kind, "regularization_coeff"));
}

enum skiff_status optimizer_prepare(struct kernel *k, struct skiff_error *err)
{
    struct optimizer *o = mem_alloc_or_die(sizeof *o);
    o->row = row_of(k->kind);
    o->slots = slots_of(k->kind);
    o->params = (struct rule_params){.rescale = 1, .lr_ratio = 1, .second_gen = o->row->second_gen};
    for (const struct optimizer_attr *a = o->row->attrs; a->name; a++)
        read_attr(k, a, &o->params);
    if (o->row->flags & OPTIMIZER_DECAY_INSIDE)
        o->params.l2 = decay_inside(k);
    if (o->row->flags & OPTIMIZER_SEED)
        o->params.seed = k->attr[op_kind_attr(k->kind, "seed")].i;
    id_map_init(&o->map);
    k->state = o;
    return SKIFF_OK;
}

void optimizer_detach(struct kernel *k)
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
    value_flush(from);
    value_flush(to);
    *value = to;
    return tensor_copy(&to->tensor, &from->tensor, err);
}

static enum skiff_status target_bind(struct kernel *k, int i, struct optimizer_target *t,
                                     struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    const struct optimizer_slots *s = &o->slots;
    *t = (struct optimizer_target){.rule = o->row->rule, .params = o->params};
    TRY(in_place(k, s->param, s->param_out, i, &t->param, err));
    bool wide = t->param->tensor.dtype == DTYPE_FP64; /* then optimizer_wide.c takes the values */
    t->p = wide ? NULL : tensor_f32(&t->param->tensor);
    t->rows = t->param->tensor.shape.ndim ? t->param->tensor.shape.dims[0] : 1;
    t->width = shape_cols(&t->param->tensor.shape, 1);
    for (int j = 0; j < t->rule->states; j++) {
        if (!kernel_in_value(k, s->state[j], i) ||
            kernel_in_value(k, s->state[j], i)->kind == VALUE_NONE)
            continue;
        TRY(in_place(k, s->state[j], s->state_out[j], i, &t->state_value[j], err));
        if (t->state_value[j] != kernel_in_value(k, s->state[j], i))
            t->params.apart |= 1u << j;
        t->state[j] = wide ? NULL : tensor_f32(&t->state_value[j]->tensor);
    }
    if (t->params.centered && !t->state_value[2])
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

/* float64 if the optimizer's first parameter has that type. */
enum skiff_status optimizer_rate(struct kernel *k, int i, double *out, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    const struct tensor *x = kernel_in_at(k, o->slots.rate, i);
    if (!x || (x->dtype != DTYPE_FP32 && x->dtype != DTYPE_FP64) || tensor_numel(x) != 1)
        return kernel_fail(k, SKIFF_DTYPE, err,
                           "LearningRate must be one number of float32 or float64");
    *out = x->dtype == DTYPE_FP64 ? *(const double *)x->data : *tensor_f32(x);
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
        double rate;
        TRY(optimizer_rate(k, i, &rate, err));
        lr = (float)rate;
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

struct update_job { /* shared with the thread pool, by elements or by rows */
    const struct optimizer_target *t;
    const struct rule_step *step;
    const int64_t *ids;
    const float *g;
};

static void update_part(void *arg, int64_t from, int64_t to)
{
    const struct update_job *u = arg;
    update_span(u->t, u->step, (size_t)from, (size_t)(to - from), u->g + from);
}

static void update_dense(const struct optimizer_target *t, const struct rule_step *step,
                         const float *g)
{
    struct update_job u = {t, step, NULL, g};
    int64_t n = tensor_numel(&t->param->tensor);
    int64_t piece = t->rule->flags & RULE_WHOLE ? n : thread_pool_rows(n, UPDATE_COST);
    thread_pool_split(n, (piece + 63) / 64 * 64, update_part, &u);
}

/* Updates every row of the table; rows without a gradient get a zero gradient. */
static void sweep(const struct optimizer_target *t, const struct rule_step *step,
                  const struct rows_merged *m)
{
    size_t width = (size_t)t->width, from = 0;
    for (size_t i = 0; i <= m->n; i++) {
        size_t to = i < m->n ? (size_t)m->ids[i] : (size_t)t->rows;
        if (to > from)
            update_span(t, step, from * width, (to - from) * width, NULL);
        if (i < m->n)
            update_span(t, step, to * width, width, (const float *)m->values + i * width);
        from = to + 1;
    }
}

/* For rules that need the complete tensor, the gradient is made dense. */
static enum skiff_status update_whole(struct kernel *k, const struct optimizer_target *t,
                                      const struct rule_step *step, const struct rows_merged *m,
                                      struct skiff_error *err)
{
    void *dense;
    size_t width = (size_t)t->width, bytes = (size_t)t->rows * width * sizeof(float);
    TRY(kernel_scratch(k, bytes, &dense, err));
    memset(dense, 0, bytes);
    for (size_t i = 0; i < m->n; i++)
        memcpy((float *)dense + (size_t)m->ids[i] * width, (const float *)m->values + i * width,
               width * sizeof(float));
    update_span(t, step, 0, (size_t)t->rows * width, dense);
    return SKIFF_OK;
}

/* Row by row in order of arrival: sgd, where duplicates simply add up. */
static void update_rows(void *arg, int64_t from, int64_t to)
{
    const struct update_job *u = arg;
    const struct optimizer_target *t = u->t;
    size_t width = (size_t)t->width, n = (size_t)to;
    for (size_t i = (size_t)from; i < n; i++) {
        if (i + 8 < n) {
            size_t prefetch = (size_t)u->ids[i + 8] * width;
            __builtin_prefetch(t->p + prefetch, 1);
            for (int j = 0; j < RULE_MAX_STATES; j++)
                if (t->state[j])
                    __builtin_prefetch(t->state[j] + prefetch, 1);
        }
        update_span(t, u->step, (size_t)u->ids[i] * width, width, u->g + i * width);
    }
}

static void update_merged(const struct optimizer_target *t, const struct rule_step *step,
                          const struct rows_merged *m)
{
    struct update_job u = {t, step, m->ids, m->values};
    int64_t n = (int64_t)m->n;
    thread_pool_split(n, thread_pool_rows(n, t->width * UPDATE_COST + ROW_COST), update_rows, &u);
}

/* The same for rows that are stored elsewhere. */
struct row_update {
    const struct optimizer_target *t;
    const struct rule_step *step;
    const float *g;
};

static void update_block(void *self, size_t first, size_t n, float *const *rows)
{
    const struct row_update *x = self;
    size_t width = (size_t)x->t->width;
    float *none[RULE_MAX_STATES] = {0};
    for (size_t i = 0; i < n; i++)
        x->t->rule->apply(&x->t->params, x->step, width, x->g + (first + i) * width, rows[i], none);
}

static enum skiff_status grad_check(struct kernel *k, const struct optimizer_target *t,
                                    const struct skiff_tensor *g, int i, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    if (g->sel.height != t->rows)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "gradient %s has height %lld, the parameter has %lld rows",
            kernel_in_name(k, o->slots.grad, i), (long long)g->sel.height, (long long)t->rows);
    if (g->sel.nrows && g->tensor.dtype != t->param->tensor.dtype)
        return kernel_fail(k, SKIFF_DTYPE, err, "gradient %s is %s; the parameter is %s",
                           kernel_in_name(k, o->slots.grad, i), dtype_name(g->tensor.dtype),
                           dtype_name(t->param->tensor.dtype));
    if (g->sel.nrows && rows_width(g) != t->width)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "gradient %s has rows of %lld numbers, the parameter of %lld",
            kernel_in_name(k, o->slots.grad, i), (long long)rows_width(g), (long long)t->width);
    if (k->env && k->env->home)
        return SKIFF_OK; /* any ids */
    return rows_check(k, g, t->rows, kernel_in_name(k, o->slots.grad, i), err);
}

static enum skiff_status run_rows(struct kernel *k, const struct optimizer_target *t,
                                  struct skiff_tensor *g, int i, struct skiff_error *err)
{
    struct optimizer *o = k->state;
    struct rule_step step;
    struct rows_merged m;
    bool all_rows = (t->rule->idle && !o->params.lazy) || (t->rule->flags & RULE_WHOLE);
    bool defer = all_rows && t->rule->plan && k->env && k->env->defer_rows;
    if (!g->sel.nrows && o->row->flags & OPTIMIZER_EMPTY_IS_NOTHING &&
        !(k->env && k->env->empty_is_step))
        return SKIFF_OK; /* not even the powers change */
    struct deferred_rows *behind = NULL;
    if (defer)
        TRY(optimizer_deferred(t, &behind, err));
    else
        optimizer_deferred_end(t);
    if (!(o->row->flags & OPTIMIZER_ROWS_ONCE))
        TRY(rows_merge(k, &o->map, &g, 1, all_rows && !behind ? ROWS_ASCENDING : ROWS_ANY, &m,
                       err));
    TRY(step_begin(k, t, i, true, &step, err));
    if (k->env && k->env->home)
        return k->env->home->each(k->env->home->user, g->sel.rows, g->sel.nrows, update_block,
                                  &(struct row_update){t, &step, tensor_f32(&g->tensor)}, err);
    if (o->row->flags & OPTIMIZER_ROWS_ONCE)
        update_rows(&(struct update_job){t, &step, g->sel.rows, tensor_f32(&g->tensor)}, 0,
                    (int64_t)g->sel.nrows);
    else if (behind)
        deferred_step(behind, &step, m.ids, m.n, m.values);
    else if (t->rule->flags & RULE_WHOLE)
        return update_whole(k, t, &step, &m, err);
    else if (all_rows)
        sweep(t, &step, &m);
    else
        update_merged(t, &step, &m);
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
        TRY(grad_check(k, &t, g, i, err));
    if (t.param->tensor.dtype == DTYPE_FP64)
        return optimizer_run_wide(k, &t, g, i, err);
    if (g->kind == VALUE_ROWS)
        return run_rows(k, &t, g, i, err);
    struct rule_step step;
    optimizer_deferred_end(&t);
    TRY(step_begin(k, &t, i, false, &step, err));
    update_dense(&t, &step, tensor_f32(&g->tensor));
    return SKIFF_OK;
}

enum skiff_status optimizer_run(struct kernel *k, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    for (int i = 0; i < kernel_in_count(k, o->slots.param); i++)
        TRY(run_one(k, i, err));
    return SKIFF_OK;
}
