/* Deferred updates of a sparse parameter: rows of rules/deferred.h behind the interface of
 * tensor/value.h, attached to the parameter and to the states of its rule.
 *
 * Validity: the rows point into the tensors of its values. Code that replaces or resizes one
 * of them flushes first (value.h). Until the next optimizer step no row is deferred, so the old
 * pointers are not followed, and that step binds the new ones. If one of the values is gone (it
 * dropped its reference), the rows can no longer be flushed together: flushing does nothing, and
 * the next step begins anew. */
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ops/optimizer/optimizer.h"
#include "rules/deferred.h"

struct rows_deferred {
    struct deferred base;
    struct deferred_rows *rows;
    int members; /* values that hold a reference */
};

static bool optimizer_deferred_whole(const struct rows_deferred *l)
{
    return __atomic_load_n(&l->base.refs, __ATOMIC_RELAXED) >= l->members;
}

static void optimizer_deferred_flush_rows(struct deferred *deferred, const int64_t *ids, size_t n)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    if (optimizer_deferred_whole(l))
        deferred_rows(l->rows, ids, n);
}

static void optimizer_deferred_flush_all(struct deferred *deferred)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    if (optimizer_deferred_whole(l))
        deferred_all(l->rows);
}

static void optimizer_deferred_show_rows(struct deferred *deferred, const int64_t *ids, size_t n)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    if (optimizer_deferred_whole(l))
        deferred_show_rows(l->rows, ids, n);
}

static void optimizer_deferred_show_all(struct deferred *deferred)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    if (optimizer_deferred_whole(l))
        deferred_show_all(l->rows);
}

static void optimizer_deferred_destroy(struct deferred *deferred)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    deferred_destroy(l->rows);
    free(l);
}

/* ---- versions ---- */

struct rows_state {
    struct deferred_state base;
    struct deferred_rows_state *rows;
};

_Static_assert(DEFERRED_ARRAYS == 1 + RULE_MAX_STATES, "a parameter and the states of its rule");

static void state_flush(const struct deferred_state *deferred_state, uint32_t stamp,
                        float *const *row)
{
    const struct rows_state *m = (const struct rows_state *)deferred_state;
    deferred_rows_state_row(m->rows, stamp, row[0], row + 1);
}

static void state_destroy(struct deferred_state *deferred_state)
{
    struct rows_state *m = (struct rows_state *)deferred_state;
    deferred_rows_state_destroy(m->rows);
    free(m);
}

static enum skiff_status optimizer_deferred_state(struct deferred *deferred,
                                                  struct deferred_state **out,
                                                  struct skiff_error *err)
{
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    struct deferred_rows_state *rows;
    *out = NULL;
    if (!optimizer_deferred_whole(l) || deferred_is_flushed(l->rows))
        return SKIFF_OK;
    TRY(deferred_rows_state_create(l->rows, &rows, err));
    struct rows_state *m = mem_alloc_or_die(sizeof *m);
    *m =
        (struct rows_state){.base = {.flush = state_flush, .destroy = state_destroy}, .rows = rows};
    deferred_arrays(l->rows, m->base.base);
    *out = &m->base;
    return SKIFF_OK;
}

static uint32_t optimizer_deferred_stamp(const struct deferred *deferred, int64_t row)
{
    return deferred_stamp(((const struct rows_deferred *)deferred)->rows, row);
}

static bool optimizer_deferred_sweeps_next(const struct deferred *deferred)
{
    return deferred_sweeps_next(((const struct rows_deferred *)deferred)->rows);
}

/* ---- windows ---- */

static enum skiff_status optimizer_deferred_window(struct deferred *deferred, int64_t rows,
                                                   uint32_t **out_stamps, struct skiff_error *err)
{
    return deferred_window(((struct rows_deferred *)deferred)->rows, rows, out_stamps, err);
}

static void optimizer_deferred_arrays(const struct deferred *deferred,
                                      const float *out[DEFERRED_ARRAYS])
{
    deferred_arrays(((const struct rows_deferred *)deferred)->rows, out);
}

static uint32_t optimizer_deferred_flush_row(struct deferred *deferred, uint32_t stamp,
                                             float *const *row)
{
    return deferred_row(((struct rows_deferred *)deferred)->rows, stamp, row[0], row + 1);
}

static uint32_t optimizer_deferred_now(const struct deferred *deferred)
{
    return deferred_now(((const struct rows_deferred *)deferred)->rows);
}

static void optimizer_deferred_set_flushed(struct deferred *deferred)
{
    deferred_set_flushed(((struct rows_deferred *)deferred)->rows);
}

static const struct deferred_class rows_deferred_class = {
    .flush_rows = optimizer_deferred_flush_rows,
    .flush_all = optimizer_deferred_flush_all,
    .show_rows = optimizer_deferred_show_rows,
    .show_all = optimizer_deferred_show_all,
    .destroy = optimizer_deferred_destroy,
    .deferred_state = optimizer_deferred_state,
    .stamp = optimizer_deferred_stamp,
    .sweeps_next = optimizer_deferred_sweeps_next,
    .window = optimizer_deferred_window,
    .arrays = optimizer_deferred_arrays,
    .flush_row = optimizer_deferred_flush_row,
    .now = optimizer_deferred_now,
    .set_flushed = optimizer_deferred_set_flushed,
};

void optimizer_deferred_end(const struct optimizer_target *t)
{
    value_flush(t->param);
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_flush(t->state_value[i]);
    value_set_deferred(t->param, NULL);
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_set_deferred(t->state_value[i], NULL);
}

/* What all values of the target share, if it fits this rule. */
static struct rows_deferred *optimizer_deferred_of(const struct optimizer_target *t)
{
    struct deferred *deferred = value_deferred(t->param);
    if (!deferred || deferred->class != &rows_deferred_class)
        return NULL;
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i] && value_deferred(t->state_value[i]) != deferred)
            return NULL;
    struct rows_deferred *l = (struct rows_deferred *)deferred;
    return deferred_fits(l->rows, t->rule, &t->params, t->rows, t->width) ? l : NULL;
}

static void optimizer_deferred_attach(const struct optimizer_target *t, struct deferred_rows *rows)
{
    struct rows_deferred *l = mem_alloc_or_die(sizeof *l);
    *l = (struct rows_deferred){.base = {.class = &rows_deferred_class, .refs = 1}, .rows = rows};
    l->members = 1;
    for (int i = 0; i < t->rule->states; i++)
        l->members += t->state_value[i] != NULL;
    /* the parameter last: a thread that finds it there finds it complete */
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_set_deferred(t->state_value[i], &l->base);
    value_set_deferred(t->param, &l->base);
    __atomic_sub_fetch(&l->base.refs, 1, __ATOMIC_RELAXED); /* the one held while building */
}

/* Several threads may reach a new parameter at once (Hogwild): one of them creates it. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static enum skiff_status optimizer_deferred_make(const struct optimizer_target *t,
                                                 struct skiff_error *err)
{
    struct rule_plan plan;
    struct deferred_rows *rows;
    optimizer_deferred_end(t);
    if (!t->rule->plan || !t->rule->plan(&t->params, &plan))
        return SKIFF_OK;
    TRY(deferred_create(t->rule, &t->params, t->rows, t->width, &rows, err));
    deferred_bind(rows, t->p, t->state);
    optimizer_deferred_attach(t, rows);
    return SKIFF_OK;
}

enum skiff_status optimizer_deferred(const struct optimizer_target *t, struct deferred_rows **out,
                                     struct skiff_error *err)
{
    struct rows_deferred *l = optimizer_deferred_of(t);
    if (!l) {
        pthread_mutex_lock(&making);
        enum skiff_status status =
            optimizer_deferred_of(t) ? SKIFF_OK : optimizer_deferred_make(t, err);
        pthread_mutex_unlock(&making);
        TRY(status);
        l = optimizer_deferred_of(t);
    }
    if (l)
        deferred_bind(l->rows, t->p, t->state);
    *out = l ? l->rows : NULL;
    return SKIFF_OK;
}
