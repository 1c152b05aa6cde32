/* Values change their kind without freeing memory: a variable that holds a tensor in every run
 * finds its block again, and items of an array stay allocated beyond count. Deferred rows of a
 * value are flushed before it is read or written as a whole (value.h). Setting them counts
 * references atomically, because several threads may do it at once. */
#include "tensor/value.h"

#include <string.h>

#include "base/mem.h"

/* More items than any loop writes; a larger count comes from a wrong index. */
#define ARRAY_MAX ((size_t)1 << 24)

static void value_drop_keepalive(struct skiff_tensor *v)
{
    if (v->kept && --v->kept->refs == 0)
        v->kept->destroy(v->kept);
    v->kept = NULL;
}

void value_keep_alive(struct skiff_tensor *v, struct value_keepalive *kept)
{
    kept->refs++; /* first: it may be the one that v holds */
    value_clear(v);
    v->kind = VALUE_SCOPES;
    v->kept = kept;
}

void value_deinit(struct skiff_tensor *v)
{
    tensor_deinit(&v->tensor);
    mem_free(v->sel.rows);
    for (size_t i = 0; i < v->array.cap; i++)
        if (v->array.items[i]) {
            value_deinit(v->array.items[i]);
            mem_free(v->array.items[i]);
        }
    mem_free(v->array.items);
    value_drop_keepalive(v);
    value_set_deferred(v, NULL);
    v->kind = VALUE_NONE; /* part by part: eager mode does it several times per op */
    v->sel = (struct selected_rows){0};
    v->array = (struct value_array){0};
}

/* Items of an array stay allocated behind count, each cleared, for the next use. */
void value_clear(struct skiff_tensor *v)
{
    tensor_drop_lod(&v->tensor);
    v->sel.nrows = 0;
    for (size_t i = 0; i < v->array.count; i++)
        value_clear(v->array.items[i]);
    v->array.count = 0;
    value_drop_keepalive(v);
    value_set_deferred(v, NULL);
    v->kind = VALUE_NONE;
}

/* What the value held as another kind goes; memory of tensors and arrays stays. */
static void value_become(struct skiff_tensor *v, enum value_kind kind)
{
    if (v->kind == kind)
        return;
    if (v->kind == VALUE_ARRAY || v->kind == VALUE_SCOPES || v->kind == VALUE_ROWS)
        value_clear(v);
    v->kind = kind;
}

enum skiff_status value_as_tensor(struct skiff_tensor *v, enum dtype dtype,
                                  const struct shape *shape, struct skiff_error *err)
{
    TRY(tensor_resize(&v->tensor, dtype, shape, err));
    value_become(v, VALUE_TENSOR);
    return SKIFF_OK;
}

enum skiff_status value_as_rows(struct skiff_tensor *v, enum dtype dtype, size_t nrows,
                                int64_t width, int64_t height, struct skiff_error *err)
{
    if (nrows > INT64_MAX)
        return error_set(err, SKIFF_RANGE, "selected rows: %zu rows", nrows);
    struct shape shape = SHAPE((int64_t)nrows, width);
    return value_as_rows_shape(v, dtype, &shape, height, err);
}

enum skiff_status value_as_rows_shape(struct skiff_tensor *v, enum dtype dtype,
                                      const struct shape *value_shape, int64_t height,
                                      struct skiff_error *err)
{
    char text[160];
    size_t bytes;
    void *fresh = NULL;
    if (value_shape->ndim < 1 || value_shape->ndim > TENSOR_MAX_DIMS || value_shape->dims[0] < 0)
        return error_set(err, SKIFF_SHAPE, "selected rows of shape %s: no number of rows",
                         value_shape->ndim > TENSOR_MAX_DIMS ? "?" : shape_text(value_shape, text));
    size_t nrows = (size_t)value_shape->dims[0];
    if (nrows > v->sel.rows_cap || !v->sel.rows) {
        if (!mem_mul(nrows ? nrows : 1, sizeof(int64_t), &bytes))
            return error_set(err, SKIFF_RANGE, "selected rows: %zu rows", nrows);
        TRY(mem_alloc(bytes, "selected rows", &fresh, err));
    }
    enum skiff_status status = tensor_resize(&v->tensor, dtype, value_shape, err);
    if (status < 0) {
        mem_free(fresh);
        return status;
    }
    value_become(v, VALUE_ROWS);
    if (fresh) {
        mem_free(v->sel.rows);
        v->sel.rows = fresh;
        v->sel.rows_cap = nrows;
    }
    v->sel.nrows = nrows;
    v->sel.height = height;
    v->sel.distinct = false;
    v->sel.marks = 0;
    return SKIFF_OK;
}

static enum skiff_status rows_capacity(struct skiff_tensor *v, size_t nrows,
                                       struct skiff_error *err)
{
    struct skiff_tensor wide = {0};
    struct shape capacity = v->tensor.shape;
    capacity.dims[0] = (int64_t)nrows;
    TRY(value_as_rows_shape(&wide, v->tensor.dtype, &capacity, v->sel.height, err));
    wide.sel.marks = v->sel.marks;
    if (v->sel.nrows) {
        memcpy(wide.tensor.data, v->tensor.data, tensor_bytes(&v->tensor));
        memcpy(wide.sel.rows, v->sel.rows, v->sel.nrows * sizeof *wide.sel.rows);
    }
    value_deinit(v);
    *v = wide;
    return SKIFF_OK;
}

enum skiff_status value_append_rows(struct skiff_tensor *to, const struct skiff_tensor *more,
                                    struct skiff_error *err)
{
    size_t have = to->sel.nrows, add = more->sel.nrows, bytes = tensor_bytes(&to->tensor);
    int marks = to->sel.marks;
    struct shape shape = to->tensor.shape;
    shape.dims[0] = (int64_t)(have + add);
    if (bytes + tensor_bytes(&more->tensor) > to->tensor.cap || have + add > to->sel.rows_cap)
        TRY(rows_capacity(to, 2 * (have + add), err));
    TRY(value_as_rows_shape(to, to->tensor.dtype, &shape, more->sel.height, err));
    to->sel.marks = marks;
    if (add) {
        memcpy((char *)to->tensor.data + bytes, more->tensor.data, tensor_bytes(&more->tensor));
        memcpy(to->sel.rows + have, more->sel.rows, add * sizeof *to->sel.rows);
    }
    return SKIFF_OK;
}

static enum skiff_status array_capacity(struct value_array *a, size_t n, struct skiff_error *err)
{
    if (n <= a->cap)
        return SKIFF_OK;
    size_t cap = a->cap * 2 < 8 ? 8 : a->cap * 2;
    cap = cap < n ? n : cap;
    void *p;
    TRY(mem_alloc(cap * sizeof *a->items, "tensor array", &p, err));
    struct skiff_tensor **items = p;
    for (size_t i = 0; i < cap; i++)
        items[i] = i < a->cap ? a->items[i] : NULL;
    mem_free(a->items);
    a->items = items;
    a->cap = cap;
    return SKIFF_OK;
}

enum skiff_status value_as_array(struct skiff_tensor *v, size_t n, struct skiff_error *err)
{
    if (n > ARRAY_MAX)
        return error_set(err, SKIFF_RANGE, "tensor array of %zu items: at most %zu are possible", n,
                         ARRAY_MAX);
    TRY(array_capacity(&v->array, n, err));
    for (size_t i = v->kind == VALUE_ARRAY ? v->array.count : 0; i < n; i++)
        if (!v->array.items[i]) {
            void *p;
            TRY(mem_alloc(sizeof(struct skiff_tensor), "item of a tensor array", &p, err));
            v->array.items[i] = memset(p, 0, sizeof(struct skiff_tensor));
        }
    value_become(v, VALUE_ARRAY);
    if (v->array.count < n)
        v->array.count = n;
    return SKIFF_OK;
}

static enum skiff_status value_copy_array(struct skiff_tensor *to, const struct skiff_tensor *from,
                                          struct skiff_error *err)
{
    if (to->kind == VALUE_ARRAY)
        value_clear(to);
    TRY(value_as_array(to, from->array.count, err));
    for (size_t i = 0; i < from->array.count; i++)
        TRY(value_copy(to->array.items[i], from->array.items[i], err));
    return SKIFF_OK;
}

enum skiff_status value_copy(struct skiff_tensor *to, const struct skiff_tensor *from,
                             struct skiff_error *err)
{
    if (to == from)
        return SKIFF_OK;
    value_show(from);
    value_flush(to); /* otherwise deferred rows would be flushed into the copy */
    switch (from->kind) {
    case VALUE_NONE:
        value_clear(to);
        return SKIFF_OK;
    case VALUE_TENSOR:
        TRY(tensor_copy(&to->tensor, &from->tensor, err));
        value_become(to, VALUE_TENSOR);
        tensor_share_lod(&to->tensor, &from->tensor); /* become may have dropped it */
        return SKIFF_OK;
    case VALUE_ROWS:
        TRY(value_as_rows_shape(to, from->tensor.dtype, &from->tensor.shape, from->sel.height,
                                err));
        TRY(tensor_copy(&to->tensor, &from->tensor, err));
        memcpy(to->sel.rows, from->sel.rows, from->sel.nrows * sizeof *from->sel.rows);
        to->sel.marks = from->sel.marks;
        return SKIFF_OK;
    case VALUE_ARRAY:
        return value_copy_array(to, from, err);
    case VALUE_SCOPES:
        value_keep_alive(to, from->kept);
        return SKIFF_OK;
    }
    return error_set(err, SKIFF_INVALID, "a value of kind %d cannot be copied", (int)from->kind);
}

void value_set_deferred(struct skiff_tensor *v, struct deferred *deferred)
{
    struct deferred *old = value_deferred(v);
    if (old == deferred)
        return;
    if (deferred)
        __atomic_add_fetch(&deferred->refs, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&v->deferred, deferred, __ATOMIC_RELEASE);
    if (old && __atomic_sub_fetch(&old->refs, 1, __ATOMIC_ACQ_REL) == 0)
        old->class->destroy(old);
}
