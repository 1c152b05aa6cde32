/* Optimizer ops on float64 parameters (rules/wide.h). Rows are added up first; rows without a
 * gradient are swept where the rule moves them, as Paddle does. */
#include <string.h>

#include "ops/optimizer/optimizer.h"
#include "ops/sparse/rows.h"
#include "rules/wide.h"

struct wide_target {
    const struct wide_rule *rule;
    struct wide_step step;
    double *p, *state[RULE_MAX_STATES];
    size_t rows, width;
};

static double *wide_data(const struct skiff_tensor *v)
{
    return v ? (double *)v->tensor.data : NULL;
}

static struct wide_target wide_bind(const struct optimizer_target *t)
{
    struct wide_target w = {
        .rule = wide_rule_find(t->rule),
        .p = wide_data(t->param),
        .rows = (size_t)t->rows,
        .width = (size_t)t->width,
    };
    for (int j = 0; j < t->rule->states; j++)
        w.state[j] = wide_data(t->state_value[j]);
    return w;
}

static double number_of(const struct tensor *x)
{
    return x->dtype == DTYPE_FP64 ? *(const double *)x->data : *tensor_f32(x);
}

/* As step_begin of optimizer.c. */
static enum skiff_status wide_begin(struct kernel *k, const struct optimizer_target *t, int i,
                                    bool sparse, struct wide_target *w, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    const struct optimizer_slots *s = &o->slots;
    double scalar[RULE_MAX_SCALARS] = {0};
    double rate = 0;
    if (s->rate >= 0)
        TRY(optimizer_rate(k, i, &rate, err));
    for (int j = 0; j < t->rule->scalars; j++) {
        const struct tensor *x = kernel_in_at(k, s->scalar[j], i);
        if (!x)
            return kernel_fail(k, SKIFF_NOT_FOUND, err, "%s of parameter %s is missing",
                               k->kind->ins[s->scalar[j]].name, kernel_in_name(k, s->param, i));
        scalar[j] = number_of(x);
    }
    w->rule->begin(&t->params, rate, sparse, scalar, &w->step);
    for (int j = 0; j < t->rule->scalars; j++) {
        struct tensor *x = s->scalar_out[j] >= 0 ? kernel_out_at(k, s->scalar_out[j], i) : NULL;
        if (x && x->dtype == DTYPE_FP64)
            *(double *)x->data = scalar[j];
        else if (x)
            *tensor_f32(x) = (float)scalar[j];
    }
    return SKIFF_OK;
}

static void wide_span(const struct optimizer_target *t, const struct wide_target *w, size_t row,
                      size_t rows, const double *g)
{
    double *state[RULE_MAX_STATES];
    size_t at = row * w->width;
    for (int j = 0; j < RULE_MAX_STATES; j++)
        state[j] = w->state[j] ? w->state[j] + at : NULL;
    w->rule->apply(&t->params, &w->step, rows * w->width, g, w->p + at, state);
}

/* Norms of the complete tensor, of a gradient made dense. */
static enum skiff_status wide_whole(struct kernel *k, const struct optimizer_target *t,
                                    const struct wide_target *w, const struct rows_merged *m,
                                    struct skiff_error *err)
{
    void *dense;
    size_t bytes = w->rows * w->width * sizeof(double), row = w->width * sizeof(double);
    TRY(kernel_scratch(k, bytes, &dense, err));
    memset(dense, 0, bytes);
    for (size_t i = 0; i < m->n; i++)
        memcpy((char *)dense + (size_t)m->ids[i] * row, (const char *)m->values + i * row, row);
    wide_span(t, w, 0, w->rows, dense);
    return SKIFF_OK;
}

static enum skiff_status wide_rows(struct kernel *k, const struct optimizer_target *t,
                                   const struct wide_target *w, struct skiff_tensor *g,
                                   struct skiff_error *err)
{
    struct optimizer *o = k->state;
    struct rows_merged m;
    bool sweep = t->rule->idle && !t->params.lazy;
    size_t from = 0;
    TRY(rows_merge(k, &o->map, &g, 1, ROWS_ASCENDING, &m, err));
    if (t->rule->flags & RULE_WHOLE)
        return wide_whole(k, t, w, &m, err);
    for (size_t i = 0; i <= m.n; i++) {
        size_t to = i < m.n ? (size_t)m.ids[i] : w->rows;
        if (sweep && to > from)
            wide_span(t, w, from, to - from, NULL);
        if (i < m.n)
            wide_span(t, w, to, 1, (const double *)m.values + i * w->width);
        from = to + 1;
    }
    return SKIFF_OK;
}

enum skiff_status optimizer_run_wide(struct kernel *k, const struct optimizer_target *t,
                                     struct skiff_tensor *g, int i, struct skiff_error *err)
{
    const struct optimizer *o = k->state;
    struct wide_target w = wide_bind(t);
    bool sparse = g->kind == VALUE_ROWS;
    if (sparse && !g->sel.nrows && o->row->flags & OPTIMIZER_EMPTY_IS_NOTHING &&
        !(k->env && k->env->empty_is_step))
        return SKIFF_OK; /* not even the powers change */
    TRY(wide_begin(k, t, i, sparse, &w, err));
    if (sparse)
        return wide_rows(k, t, &w, g, err);
    w.width = 1;
    wide_span(t, &w, 0, (size_t)tensor_numel(&t->param->tensor), wide_data(g));
    return SKIFF_OK;
}
