#include "executor/scope_copy.h"

/* Values with common deferred updates: a parameter and its accumulators. Floats are copied as they
 * lie, then the rows of the copies are brought to that version. */
struct deferred_copy {
    struct deferred *deferred;
    struct deferred_state *deferred_state;
    float *copy[DEFERRED_ARRAYS];
    int64_t rows, width;
};

static bool deferreds(const struct skiff_tensor *v)
{
    const struct deferred *deferred = value_deferred(v);
    return deferred && deferred->class->deferred_state && v->kind == VALUE_TENSOR;
}

static enum skiff_status copy_value(const struct skiff_tensor *from, struct skiff_tensor *to,
                                    struct skiff_error *err)
{
    if (!deferreds(from))
        return value_copy(to, from, err);
    TRY(value_as_tensor(to, from->tensor.dtype, &from->tensor.shape, err));
    return tensor_copy(&to->tensor, &from->tensor, err);
}

/* False: one of the arrays is no value of the scope. */
static bool find_copies(struct deferred_copy *l, const struct str_map *values,
                        struct skiff_scope *to)
{
    for (int a = 0; a < DEFERRED_ARRAYS && l->deferred_state->base[a]; a++) {
        for (size_t i = 0; i < values->count && !l->copy[a]; i++) {
            const struct skiff_tensor *v = values->entries[i].value;
            if (value_deferred(v) != l->deferred ||
                v->tensor.data != (const void *)l->deferred_state->base[a])
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

static void flush_copies(const struct deferred_copy *l)
{
    for (int64_t r = 0; r < l->rows; r++) {
        float *row[DEFERRED_ARRAYS] = {NULL};
        for (int a = 0; a < DEFERRED_ARRAYS && l->copy[a]; a++)
            row[a] = l->copy[a] + r * l->width;
        l->deferred_state->flush(l->deferred_state, l->deferred->class->stamp(l->deferred, r), row);
    }
}

/* `v` is the parameter: the first of the arrays. */
static enum skiff_status flush_copy(const struct skiff_tensor *v, const struct str_map *values,
                                    struct skiff_scope *to, struct skiff_error *err)
{
    struct deferred_copy l = {.deferred = value_deferred(v)};
    TRY(l.deferred->class->deferred_state(l.deferred, &l.deferred_state, err));
    if (!l.deferred_state)
        return SKIFF_OK;
    enum skiff_status status = SKIFF_OK;
    if (l.deferred_state->base[0] == (const void *)v->tensor.data) {
        if (find_copies(&l, values, to))
            flush_copies(&l);
        else
            status = error_set(err, SKIFF_STATE,
                               "the accumulators of a parameter with rows behind are elsewhere");
    }
    l.deferred_state->destroy(l.deferred_state);
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
        if (deferreds(values.entries[i].value))
            status = flush_copy(values.entries[i].value, &values, to, err);
    str_map_deinit(&values);
    return status;
}
