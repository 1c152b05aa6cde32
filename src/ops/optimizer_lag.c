/* The lag of a sparse parameter: a catch_up (rules/catch_up.h) behind the lag of tensor/value.h,
 * attached to the parameter and to the states of its rule.
 *
 * When is it valid? The catch_up points into the tensors of its values. Whoever replaces or resizes
 * one of them settles first (value.h); from then until the next optimizer step no row lies behind,
 * so the old pointers are not followed, and that step binds the new ones. If one of the values has
 * gone (it dropped its reference), the rows can no longer be settled together: settling does
 * nothing, and the next step starts a new lag. */
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ops/optimizer.h"
#include "rules/catch_up.h"

struct rows_lag {
    struct lag base;
    struct catch_up *rows;
    int members; /* values that hold a reference */
};

static bool lag_whole(const struct rows_lag *l)
{
    return __atomic_load_n(&l->base.refs, __ATOMIC_RELAXED) >= l->members;
}

static void lag_settle_rows(struct lag *lag, const int64_t *ids, size_t n)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    if (lag_whole(l))
        catch_up_rows(l->rows, ids, n);
}

static void lag_settle_all(struct lag *lag)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    if (lag_whole(l))
        catch_up_all(l->rows);
}

static void lag_show_rows(struct lag *lag, const int64_t *ids, size_t n)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    if (lag_whole(l))
        catch_up_show_rows(l->rows, ids, n);
}

static void lag_show_all(struct lag *lag)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    if (lag_whole(l))
        catch_up_show_all(l->rows);
}

static void lag_destroy(struct lag *lag)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    catch_up_destroy(l->rows);
    free(l);
}

/* ---- moments ---- */

struct rows_moment {
    struct lag_moment base;
    struct catch_up_moment *rows;
};

_Static_assert(LAG_ARRAYS == 1 + RULE_MAX_STATES, "a parameter and the states of its rule");

static void moment_settle(const struct lag_moment *moment, uint32_t stamp, float *const *row)
{
    const struct rows_moment *m = (const struct rows_moment *)moment;
    catch_up_moment_row(m->rows, stamp, row[0], row + 1);
}

static void moment_destroy(struct lag_moment *moment)
{
    struct rows_moment *m = (struct rows_moment *)moment;
    catch_up_moment_destroy(m->rows);
    free(m);
}

static enum skiff_status lag_moment(struct lag *lag, struct lag_moment **out,
                                    struct skiff_error *err)
{
    struct rows_lag *l = (struct rows_lag *)lag;
    struct catch_up_moment *rows;
    *out = NULL;
    if (!lag_whole(l) || catch_up_settled(l->rows))
        return SKIFF_OK;
    TRY(catch_up_moment_create(l->rows, &rows, err));
    struct rows_moment *m = mem_must(sizeof *m);
    *m = (struct rows_moment){.base = {.settle = moment_settle, .destroy = moment_destroy},
                              .rows = rows};
    catch_up_arrays(l->rows, m->base.base);
    *out = &m->base;
    return SKIFF_OK;
}

static uint32_t lag_stamp(const struct lag *lag, int64_t row)
{
    return catch_up_stamp(((const struct rows_lag *)lag)->rows, row);
}

static bool lag_sweeps_next(const struct lag *lag)
{
    return catch_up_sweeps_next(((const struct rows_lag *)lag)->rows);
}

/* ---- windows ---- */

static enum skiff_status lag_window(struct lag *lag, int64_t rows, uint32_t **out_stamps,
                                    struct skiff_error *err)
{
    return catch_up_window(((struct rows_lag *)lag)->rows, rows, out_stamps, err);
}

static void lag_arrays(const struct lag *lag, const float *out[LAG_ARRAYS])
{
    catch_up_arrays(((const struct rows_lag *)lag)->rows, out);
}

static uint32_t lag_settle_row(struct lag *lag, uint32_t stamp, float *const *row)
{
    return catch_up_row(((struct rows_lag *)lag)->rows, stamp, row[0], row + 1);
}

static uint32_t lag_now(const struct lag *lag)
{
    return catch_up_now(((const struct rows_lag *)lag)->rows);
}

static void lag_all_settled(struct lag *lag)
{
    catch_up_all_settled(((struct rows_lag *)lag)->rows);
}

static const struct lag_class rows_lag_class = {
    .settle_rows = lag_settle_rows,
    .settle_all = lag_settle_all,
    .show_rows = lag_show_rows,
    .show_all = lag_show_all,
    .destroy = lag_destroy,
    .moment = lag_moment,
    .stamp = lag_stamp,
    .sweeps_next = lag_sweeps_next,
    .window = lag_window,
    .arrays = lag_arrays,
    .settle_row = lag_settle_row,
    .now = lag_now,
    .all_settled = lag_all_settled,
};

void optimizer_lag_end(const struct optimizer_target *t)
{
    value_settle(t->param);
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_settle(t->state_value[i]);
    value_set_lag(t->param, NULL);
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_set_lag(t->state_value[i], NULL);
}

/* The lag that all values of the target share, if it is the right one. */
static struct rows_lag *lag_of(const struct optimizer_target *t)
{
    struct lag *lag = value_lag(t->param);
    if (!lag || lag->class != &rows_lag_class)
        return NULL;
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i] && value_lag(t->state_value[i]) != lag)
            return NULL;
    struct rows_lag *l = (struct rows_lag *)lag;
    return catch_up_fits(l->rows, t->rule, &t->params, t->rows, t->width) ? l : NULL;
}

static void lag_attach(const struct optimizer_target *t, struct catch_up *rows)
{
    struct rows_lag *l = mem_must(sizeof *l);
    *l = (struct rows_lag){.base = {.class = &rows_lag_class, .refs = 1}, .rows = rows};
    l->members = 1;
    for (int i = 0; i < t->rule->states; i++)
        l->members += t->state_value[i] != NULL;
    /* the parameter last: who finds the lag there finds it complete */
    for (int i = 0; i < t->rule->states; i++)
        if (t->state_value[i])
            value_set_lag(t->state_value[i], &l->base);
    value_set_lag(t->param, &l->base);
    __atomic_sub_fetch(&l->base.refs, 1, __ATOMIC_RELAXED); /* the one held while building */
}

/* Several threads may come to a new parameter at once (Hogwild): one of them makes the lag. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static enum skiff_status lag_make(const struct optimizer_target *t, struct skiff_error *err)
{
    struct rule_plan plan;
    struct catch_up *rows;
    optimizer_lag_end(t);
    if (!t->rule->plan || !t->rule->plan(&t->params, &plan))
        return SKIFF_OK;
    TRY(catch_up_create(t->rule, &t->params, t->rows, t->width, &rows, err));
    catch_up_bind(rows, t->p, t->state);
    lag_attach(t, rows);
    return SKIFF_OK;
}

enum skiff_status optimizer_lag(const struct optimizer_target *t, struct catch_up **out,
                                struct skiff_error *err)
{
    struct rows_lag *l = lag_of(t);
    if (!l) {
        pthread_mutex_lock(&making);
        enum skiff_status status = lag_of(t) ? SKIFF_OK : lag_make(t, err);
        pthread_mutex_unlock(&making);
        TRY(status);
        l = lag_of(t);
    }
    if (l)
        catch_up_bind(l->rows, t->p, t->state);
    *out = l ? l->rows : NULL;
    return SKIFF_OK;
}
