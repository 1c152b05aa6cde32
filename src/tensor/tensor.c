/* Shapes and dense tensors (tensor.h).
 *
 * Sizes come from files and programs, so every product of dims is checked: shape_numel
 * saturates, and tensor_resize alone decides what is too large. A resize reuses the present
 * block if its capacity suffices, whoever owns it; otherwise the tensor gets a new block on the
 * heap. Contents are undefined after a resize, so nothing is copied. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Saturates at INT64_MAX: shapes come from files, and only tensor_resize says what is too large. */
int64_t shape_numel(const struct shape *s)
{
    int64_t n = 1;
    bool empty = false, too_many = false;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dims[i] < 0)
            return -1;
        empty = empty || s->dims[i] == 0;
        too_many = too_many || __builtin_mul_overflow(n, s->dims[i], &n);
    }
    return empty ? 0 : too_many ? INT64_MAX : n;
}

bool shape_is_bounded(const struct shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) {
        int64_t d = s->dims[i];
        if (d > SHAPE_MAX_NUMEL || d < -SHAPE_MAX_NUMEL)
            return false;
        if (d > 1 && __builtin_mul_overflow(n, d, &n))
            return false;
        if (n > SHAPE_MAX_NUMEL)
            return false;
    }
    return true;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

const char *shape_text(const struct shape *s, char out[static 160])
{
    int n = snprintf(out, 160, "[");
    for (int i = 0; i < s->ndim && n < 150; i++) {
        int capacity = 160 - n;
        int w = snprintf(out + n, (size_t)capacity, "%s%" PRId64, i ? ", " : "", s->dims[i]);
        n += w < capacity ? w : capacity - 1;
    }
    if (n > 158)
        n = 158;
    snprintf(out + n, (size_t)(160 - n), "]");
    return out;
}

static void tensor_free_data(struct tensor *t)
{
    if (t->owner == TENSOR_HEAP)
        mem_free(t->data);
}

void tensor_deinit(struct tensor *t)
{
    tensor_free_data(t);
    lod_unref(t->lod);
    t->dtype = 0;
    t->shape.ndim = 0; /* dims say nothing then */
    t->data = NULL;
    t->cap = 0;
    t->owner = 0;
    t->lod = NULL;
}

static enum skiff_status tensor_need(enum dtype dtype, const struct shape *shape, size_t *out,
                                     struct skiff_error *err)
{
    char text[160];
    size_t bytes = dtype_size(dtype);
    if (!bytes)
        return error_set(err, SKIFF_DTYPE, "tensor of type %d: not an element type", (int)dtype);
    if (shape->ndim < 0 || shape->ndim > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_RANGE, "tensor of %d dimensions: 0 to %d are possible",
                         shape->ndim, TENSOR_MAX_DIMS);
    int64_t n = shape_numel(shape);
    if (n < 0)
        return error_set(err, SKIFF_RANGE, "tensor of shape %s: a dimension is negative",
                         shape_text(shape, text));
    if (!shape_is_bounded(shape) || !mem_mul(bytes, (size_t)n, &bytes) || bytes > INT64_MAX)
        return error_set(err, SKIFF_RANGE, "tensor of shape %s and type %s: too many bytes",
                         shape_text(shape, text), dtype_name(dtype));
    *out = bytes;
    return SKIFF_OK;
}

/* `data` is never NULL afterwards, not even for a tensor without elements: kernels may pass it to
 * memcpy and the like. */
enum skiff_status tensor_resize(struct tensor *t, enum dtype dtype, const struct shape *shape,
                                struct skiff_error *err)
{
    size_t bytes = 0;
    TRY(tensor_need(dtype, shape, &bytes, err));
    if (bytes > t->cap || !t->data) {
        void *fresh;
        TRY(mem_alloc(bytes ? bytes : 1, "tensor", &fresh, err));
        tensor_free_data(t);
        t->data = fresh;
        t->cap = bytes;
        t->owner = TENSOR_HEAP;
    }
    t->dtype = dtype;
    t->shape = *shape;
    return SKIFF_OK;
}

enum skiff_status tensor_copy_data(struct tensor *to, const struct tensor *from,
                                   struct skiff_error *err)
{
    if (to == from)
        return SKIFF_OK;
    if (!from->data) { /* never resized: the copy has no bytes either */
        tensor_free_data(to);
        struct lod *keep = to->lod;
        *to = (struct tensor){.dtype = from->dtype, .shape = from->shape, .lod = keep};
        return SKIFF_OK;
    }
    TRY(tensor_resize(to, from->dtype, &from->shape, err));
    if (to->data != from->data)
        memcpy(to->data, from->data, tensor_bytes(from));
    return SKIFF_OK;
}

int64_t tensor_bad_bool(const struct tensor *t)
{
    if (t->dtype != DTYPE_BOOL || !t->data)
        return -1;
    const uint8_t *p = t->data;
    int64_t n = tensor_numel(t);
    for (int64_t i = 0; i < n; i++)
        if (__builtin_expect(p[i] > 1, 0))
            return i;
    return -1;
}

void tensor_normalise_bools(struct tensor *t)
{
    if (t->dtype != DTYPE_BOOL || !t->data)
        return;
    uint8_t *p = t->data;
    int64_t n = tensor_numel(t);
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] != 0;
}

enum skiff_status tensor_copy(struct tensor *to, const struct tensor *from, struct skiff_error *err)
{
    TRY(tensor_copy_data(to, from, err));
    tensor_share_lod(to, from);
    return SKIFF_OK;
}

void tensor_share_lod(struct tensor *to, const struct tensor *from)
{
    if (to->lod == from->lod)
        return;
    struct lod *old = to->lod;
    to->lod = lod_ref(from->lod);
    lod_unref(old);
}

void tensor_drop_lod(struct tensor *t)
{
    lod_unref(t->lod);
    t->lod = NULL;
}
