#include "executor/scope_copy.h"

/* Values of one lag: a parameter and its accumulators. Floats are copied as they lie, then the rows
 * of the copies are brought to the moment. */
struct lagging {
    struct lag *lag;
    struct lag_moment *moment;
    float *copy[LAG_ARRAYS];
    int64_t rows, width;
};

static bool lags(const struct skiff_tensor *v)
{
    const struct lag *lag = value_lag(v);
    return lag && lag->class->moment && v->kind == VALUE_TENSOR;
}

static enum skiff_status copy_value(const struct skiff_tensor *from, struct skiff_tensor *to,
                                    struct skiff_error *err)
{
    if (!lags(from))
        return value_copy(to, from, err);
    TRY(value_as_tensor(to, from->tensor.dtype, &from->tensor.shape, err));
    return tensor_copy(&to->tensor, &from->tensor, err);
}

/* False: an array of the lag is no value of the scope. */
static bool find_copies(struct lagging *l, const struct str_map *values, struct skiff_scope *to)
{
    for (int a = 0; a < LAG_ARRAYS && l->moment->base[a]; a++) {
        for (size_t i = 0; i < values->count && !l->copy[a]; i++) {
            const struct skiff_tensor *v = values->entries[i].value;
            if (value_lag(v) != l->lag || v->tensor.data != (const void *)l->moment->base[a])
                continue;
            struct tensor *t = &scope_own(to, values->entries[i].key)->tensor;
            l->copy[a] = tensor_f32(t);
            l->rows = t->shape.dims[0];
            l->width = l->rows ? tensor_numel(t) / l->rows : 0;
        }
        if (!l->copy[a])
            return false;
    }
    return true;
}

static void settle_copies(const struct lagging *l)
{
    for (int64_t r = 0; r < l->rows; r++) {
        float *row[LAG_ARRAYS] = {NULL};
        for (int a = 0; a < LAG_ARRAYS && l->copy[a]; a++)
            row[a] = l->copy[a] + r * l->width;
        l->moment->settle(l->moment, l->lag->class->stamp(l->lag, r), row);
    }
}

/* `v` is the parameter: the first array of its lag. */
static enum skiff_status settle_copy(const struct skiff_tensor *v, const struct str_map *values,
                                     struct skiff_scope *to, struct skiff_error *err)
{
    struct lagging l = {.lag = value_lag(v)};
    TRY(l.lag->class->moment(l.lag, &l.moment, err));
    if (!l.moment)
        return SKIFF_OK;
    enum skiff_status status = SKIFF_OK;
    if (l.moment->base[0] == (const void *)v->tensor.data) {
        if (find_copies(&l, values, to))
            settle_copies(&l);
        else
            status = error_set(err, SKIFF_STATE,
                               "the accumulators of a parameter with rows behind are elsewhere");
    }
    l.moment->destroy(l.moment);
    return status;
}

enum skiff_status scope_copy(const struct skiff_scope *from, struct skiff_scope *to,
                             struct skiff_error *err)
{
    struct str_map values;
    enum skiff_status status = SKIFF_OK;
    str_map_init(&values);
    scope_names(from, &values);
    for (size_t i = 0; i < values.count && status == SKIFF_OK; i++)
        status = copy_value(values.entries[i].value, scope_own(to, values.entries[i].key), err);
    for (size_t i = 0; i < values.count && status == SKIFF_OK; i++)
        if (lags(values.entries[i].value))
            status = settle_copy(values.entries[i].value, &values, to, err);
    str_map_deinit(&values);
    return status;
}
