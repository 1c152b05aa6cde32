/* Dense tensor: element type, shape, row-major bytes, lod.
 *
 * Storage: `data` has room for `cap` bytes. Who owns it:
 *   TENSOR_HEAP      the tensor (mem_alloc); resize may move it
 *   TENSOR_PLANNED   a plan's slab
 *   TENSOR_BORROWED  somebody else (a feed)
 * A resize beyond cap moves planned and borrowed tensors to the heap; the plan makes room the next
 * time it is laid out. A tensor that was never resized is {0}. Threads: one writer, or many
 * readers. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "tensor/dtype.h"
#include "tensor/lod.h"

#define TENSOR_MAX_DIMS 9

struct shape {
    int ndim;
    int64_t dims[TENSOR_MAX_DIMS]; /* -1: not known before run time */
};

int64_t shape_numel(const struct shape *s); /* 1 when ndim is 0; -1 if some dim is unknown */
/* May be computed with: the product of any of its dims (unknown ones and 0 count as 1) is at most
 * SHAPE_MAX_NUMEL, so that sums and products of a few of them do not overflow. Shapes of files and
 * programs are checked by it before a rule or a kernel sees them. */
#define SHAPE_MAX_NUMEL ((int64_t)1 << 48)
bool shape_is_bounded(const struct shape *s);
bool shape_equal(const struct shape *a, const struct shape *b);
const char *shape_text(const struct shape *s, char out[static 160]); /* "[32, 10]"; returns out */
static inline struct shape shape_of(int ndim, const int64_t *dims)
{
    struct shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++)
        s.dims[i] = dims[i];
    return s;
}
#define SHAPE(...) \
    shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

enum tensor_owner { TENSOR_HEAP, TENSOR_PLANNED, TENSOR_BORROWED };

struct tensor {
    enum dtype dtype;
    struct shape shape;
    void *data;
    size_t cap;
    enum tensor_owner owner;
    struct lod *lod; /* a reference, or NULL */
};

void tensor_deinit(struct tensor *t); /* frees what it owns, back to {0} */

/* Sets type and shape and makes room; contents undefined; lod untouched. Fails with NOMEM, or RANGE
 * when the byte count overflows or a dim is negative; t is untouched then. No allocation when cap
 * suffices. */
enum skiff_status tensor_resize(struct tensor *t, enum dtype dtype, const struct shape *shape,
                                struct skiff_error *err);
/* Deep copy of type, shape, bytes; shares the lod. */
enum skiff_status tensor_copy(struct tensor *to, const struct tensor *from,
                              struct skiff_error *err);
/* Deep copy of bytes, type, shape; lod of `to` untouched. */
enum skiff_status tensor_copy_data(struct tensor *to, const struct tensor *from,
                                   struct skiff_error *err);
/* Bytes of bools from outside may be anything; C and kernels know 0 and 1. The first element that
 * is neither, or -1; and: every such one becomes 1. Other types are left alone. */
int64_t tensor_bad_bool(const struct tensor *t);
void tensor_normalise_bools(struct tensor *t);
void tensor_share_lod(struct tensor *to, const struct tensor *from);
void tensor_drop_lod(struct tensor *t);

static inline int64_t tensor_numel(const struct tensor *t)
{
    return shape_numel(&t->shape);
}
static inline size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_numel(t) * dtype_size(t->dtype);
}
static inline float *tensor_f32(const struct tensor *t)
{
    return t->data;
}
static inline double *tensor_f64(const struct tensor *t)
{
    return t->data;
}
static inline int64_t *tensor_i64(const struct tensor *t)
{
    return t->data;
}
static inline int32_t *tensor_i32(const struct tensor *t)
{
    return t->data;
}
/* Product of dims[0..axis) and dims[axis..ndim): the 2-D view that mul, softmax, layer_norm ...
 * take. */
static inline int64_t shape_rows(const struct shape *s, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < axis; i++)
        n *= s->dims[i];
    return n;
}
static inline int64_t shape_cols(const struct shape *s, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < s->ndim; i++)
        n *= s->dims[i];
    return n;
}

#endif
