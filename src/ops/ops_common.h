/* Shared by op families: axis rules, broadcasting, strided copies, dispatch over element types.
 *
 * Nothing here allocates or keeps state. Shapes may hold -1 (unknown) only in the functions that
 * document it; all functions that touch data run with known dims. */
#ifndef OPS_OPS_COMMON_H
#define OPS_OPS_COMMON_H

#include <string.h>

#include "program/grad.h"
#include "program/infer.h"
#include "program/kernel.h"
#include "tensor/math.h"

/* ---- element types -------------------------------------------------------------------------
 * DISPATCH_xxx(dtype, T, statements) runs the statements with T a typedef of the C type; for a
 * dtype outside the set nothing runs. Check with dtype_is_xxx first, or see kernel_check_dtype. */
#define DISPATCH_CASE_(d, c_type, T, ...) \
    case d: {                             \
        typedef c_type T;                 \
        __VA_ARGS__;                      \
        break;                            \
    }
#define DISPATCH_FLOAT(dtype, T, ...)                      \
    switch (dtype) {                                       \
        DISPATCH_CASE_(DTYPE_FP32, float, T, __VA_ARGS__)  \
        DISPATCH_CASE_(DTYPE_FP64, double, T, __VA_ARGS__) \
    default:                                               \
        break;                                             \
    }
#define DISPATCH_INDEX(dtype, T, ...)                        \
    switch (dtype) {                                         \
        DISPATCH_CASE_(DTYPE_INT32, int32_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_INT64, int64_t, T, __VA_ARGS__) \
    default:                                                 \
        break;                                               \
    }
#define DISPATCH_NUMBER(dtype, T, ...)                       \
    switch (dtype) {                                         \
        DISPATCH_CASE_(DTYPE_FP32, float, T, __VA_ARGS__)    \
        DISPATCH_CASE_(DTYPE_FP64, double, T, __VA_ARGS__)   \
        DISPATCH_CASE_(DTYPE_INT32, int32_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_INT64, int64_t, T, __VA_ARGS__) \
    default:                                                 \
        break;                                               \
    }
/* numbers of every width, and bool */
#define DISPATCH_ALL(dtype, T, ...)                          \
    switch (dtype) {                                         \
        DISPATCH_CASE_(DTYPE_FP32, float, T, __VA_ARGS__)    \
        DISPATCH_CASE_(DTYPE_FP64, double, T, __VA_ARGS__)   \
        DISPATCH_CASE_(DTYPE_INT32, int32_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_INT64, int64_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_INT16, int16_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_INT8, int8_t, T, __VA_ARGS__)   \
        DISPATCH_CASE_(DTYPE_UINT8, uint8_t, T, __VA_ARGS__) \
        DISPATCH_CASE_(DTYPE_BOOL, bool, T, __VA_ARGS__)     \
    default:                                                 \
        break;                                               \
    }

/* Sums and products of integers wrap around, as the machine does it; floats as usual. */
#define WRAP_ADD(a, b)            \
    _Generic((a), float           \
             : (a) + (b), double  \
             : (a) + (b), default \
             : (int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define WRAP_MUL(a, b)            \
    _Generic((a), float           \
             : (a) * (b), double  \
             : (a) * (b), default \
             : (int64_t)((uint64_t)(a) * (uint64_t)(b)))

static inline bool dtype_is_float(enum dtype t)
{
    return t == DTYPE_FP32 || t == DTYPE_FP64;
}
static inline bool dtype_is_index(enum dtype t)
{
    return t == DTYPE_INT32 || t == DTYPE_INT64;
}
static inline bool dtype_is_number(enum dtype t)
{
    return dtype_is_float(t) || dtype_is_index(t);
}
static inline bool dtype_is_any(enum dtype t)
{
    return dtype_is_number(t) || t == DTYPE_INT16 || t == DTYPE_INT8 || t == DTYPE_UINT8 ||
           t == DTYPE_BOOL;
}

/* Fails with SKIFF_DTYPE, naming slot, variable and type, unless `fits` accepts the input's type.
 * `wanted` says in words what would be right. */
enum skiff_status kernel_check_dtype(const struct kernel *k, int slot, bool (*fits)(enum dtype),
                                     const char *wanted, struct skiff_error *err);
/* Fails unless input `slot` has the element type of input `like`. */
enum skiff_status kernel_check_same_dtype(const struct kernel *k, int slot, int like,
                                          struct skiff_error *err);

/* ---- axes ---------------------------------------------------------------------------------- */
/* -ndim <= axis < ndim to 0 <= axis < ndim; -1 when out of range. */
static inline int axis_of(int64_t axis, int ndim)
{
    if (axis < 0)
        axis += ndim;
    return axis >= 0 && axis < ndim ? (int)axis : -1;
}
/* Same in a shape rule: fails with a message naming the attribute. */
enum skiff_status infer_axis(const struct infer *c, int slot, const char *attr, int64_t axis,
                             int ndim, int *out, struct skiff_error *err);

/* ---- shapes -------------------------------------------------------------------------------- */
/* Dims that may be unknown (-1): are they known to differ? */
static inline bool dims_conflict(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 && a != b;
}
/* Product of dims [from, to); -1 when one is unknown. */
int64_t dims_product(const struct shape *s, int from, int to);
/* Shape rule of a gradient op: output `out_slot` = type, shape and lod of input `in_slot` (and its
 * rows), where both are there. Several pairs: call it several times. */
enum skiff_status infer_grad_of(struct infer *c, int in_slot, int out_slot,
                                struct skiff_error *err);
/* The shape of a single number, as the op's row has it (OP_ONE_DIM). */
static inline struct shape infer_one_number(const struct infer *c)
{
    return (struct shape){.ndim = c->kind->flags & OP_ONE_DIM ? 1 : 0, .dims = {1}};
}
/* Output dtype and shape = those of an input, no lod. */
enum skiff_status infer_like(struct infer *c, int in_slot, int out_slot, struct skiff_error *err);
/* Out of the *_batch_size_like ops: the attribute's dims, with dim `to` as dim `from` of Input; an
 * Input with lod counts its sequences when `from` is 0. */
enum skiff_status infer_batch_like(struct infer *c, const struct attr_value *dims, int from, int to,
                                   enum dtype dtype, struct skiff_error *err);
/* "XShape" outputs (reshape2 ...): [0] + dims of the input, with its lod. */
enum skiff_status infer_xshape(struct infer *c, int in_slot, int out_slot, struct skiff_error *err);
/* X@GRAD from XShape: dims without the leading 0; lod of XShape. */
enum skiff_status infer_from_xshape(struct infer *c, int xshape_slot, int dout_slot, int out_slot,
                                    struct skiff_error *err);

/* ---- bytes ---- a tensor without elements may have no data */
static inline void tensor_clear(struct tensor *t)
{
    size_t n = tensor_bytes(t);
    if (n)
        memset(t->data, 0, n);
}
static inline void bytes_copy(void *to, const void *from, size_t n)
{
    if (n)
        memcpy(to, from, n);
}

/* math_gemm_f32 or math_gemm_f64 */
static inline void gemm(enum dtype t, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                        float alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                        float beta, void *c, int64_t ldc)
{
    if (m == 0 || n == 0)
        return;
    if (t == DTYPE_FP32)
        math_gemm_f32(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else
        math_gemm_f64(ta, tb, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc);
}

/* ---- small integer inputs ------------------------------------------------------------------ */
/* Reads an int32/int64 tensor as numbers; -1 when it holds more than max, or another type. */
int tensor_read_ints(const struct tensor *t, int64_t *out, int max);
/* One number of each tensor of a list slot; -1 as above. */
int kernel_read_int_list(const struct kernel *k, int slot, int64_t *out, int max);
/* The same in a shape rule: 0 while building or when the slot is absent. At run time the inputs are
 * there when the rule is called; only shapes that depend on small integer inputs look at them. */
int infer_read_ints(const struct infer *c, int slot, int64_t *out, int max);
int infer_read_int_list(const struct infer *c, int slot, int64_t *out, int max);
/* Element 0 of a tensor of any number type; 0 when it has none. */
double tensor_read_number(const struct tensor *t);

/* ---- strided copies ------------------------------------------------------------------------
 * dst[i] = src[i] over ndim dims; strides in elements, may be 0 or negative. */
#define STRIDED_MAX_DIMS (2 * TENSOR_MAX_DIMS)
struct strided {
    int ndim;
    int64_t dims[STRIDED_MAX_DIMS];
    int64_t src[STRIDED_MAX_DIMS];
    int64_t dst[STRIDED_MAX_DIMS];
};
void strided_copy(const struct strided *s, size_t elem, const void *src, void *dst);
/* dst[i] += src[i] in the element type (number types only; others copy). Positions of dst may
 * repeat (stride 0): the sum over the repeats arrives there. */
void strided_add(const struct strided *s, enum dtype dtype, const void *src, void *dst);
/* Row-major strides of a shape. */
void shape_strides(const struct shape *s, int64_t *out);

/* Strides of `in` seen as `out`, ranks aligned at the end: 0 where it is repeated. False: it does
 * not fit. */
bool repeat_strides(const struct shape *in, const struct shape *out, int64_t *strides);
/* Offset of element i of a shape (row-major number) under other strides. */
static inline int64_t strides_at(const struct shape *s, const int64_t *strides, int64_t i)
{
    int64_t off = 0;
    for (int d = s->ndim - 1; d >= 0; d--) {
        off += i % s->dims[d] * strides[d];
        i /= s->dims[d];
    }
    return off;
}

/* A tensor seen as [outer, n, inner] around an axis. */
struct axis_view {
    int64_t outer, n, inner;
};
static inline struct axis_view shape_lines(const struct shape *s, int axis)
{
    return (struct axis_view){shape_rows(s, axis), s->dims[axis], shape_cols(s, axis + 1)};
}

/* ---- broadcasting --------------------------------------------------------------------------
 * Paddle's rule: the operand of lower rank is placed at `axis` of the other (-1: at its end; its
 * trailing 1-dims may stick out), padded with 1 on both sides; each pair of dims is equal or has
 * a 1. Dims may be -1: (-1, k > 1) gives k, (-1, 1) and (-1, -1) give -1. */
bool broadcast_shape(const struct shape *x, const struct shape *y, int axis, struct shape *out);

/* The walk over the result: merged dims with element strides of both operands (0: repeated). The
 * last dim is the inner one; there is always at least one. */
struct broadcast {
    struct shape out;
    int ndim;
    int64_t dims[TENSOR_MAX_DIMS + 1];
    int64_t sx[TENSOR_MAX_DIMS + 1], sy[TENSOR_MAX_DIMS + 1];
};
bool broadcast_plan(struct broadcast *b, const struct shape *x, const struct shape *y, int axis);

/* Odometer over the outer dims of a broadcast: offsets of x, y, out of each inner run.
 *     struct broadcast_walk w;
 *     for (broadcast_start(&w, &b); broadcast_more(&w); broadcast_step(&w, &b))
 *         run(b.dims[b.ndim - 1], x + w.x, sx, y + w.y, sy, out + w.out); */
struct broadcast_walk {
    int64_t index[TENSOR_MAX_DIMS + 1];
    int64_t x, y, out;
    bool more;
};
/* Elements of the result for one index of the outermost dim. */
static inline int64_t broadcast_row(const struct broadcast *b)
{
    int64_t n = 1;
    for (int i = 1; i < b->ndim; i++)
        n *= b->dims[i];
    return n;
}
static inline void broadcast_start(struct broadcast_walk *w, const struct broadcast *b)
{
    w->x = w->y = w->out = 0;
    w->more = true;
    for (int i = 0; i < b->ndim; i++) {
        w->index[i] = 0;
        if (b->dims[i] == 0)
            w->more = false;
    }
}
static inline bool broadcast_more(const struct broadcast_walk *w)
{
    return w->more;
}
static inline void broadcast_step(struct broadcast_walk *w, const struct broadcast *b)
{
    w->out += b->dims[b->ndim - 1];
    for (int i = b->ndim - 2; i >= 0; i--) {
        w->x += b->sx[i];
        w->y += b->sy[i];
        if (++w->index[i] < b->dims[i])
            return;
        w->x -= b->sx[i] * b->dims[i];
        w->y -= b->sy[i] * b->dims[i];
        w->index[i] = 0;
    }
    w->more = false;
}

/* One inner run: strides are 0 or 1. */
typedef void (*binary_loop)(int64_t n, const void *x, int64_t sx, const void *y, int64_t sy,
                            void *out);
void broadcast_run(const struct broadcast *b, binary_loop f, size_t in_elem, size_t out_elem,
                   const void *x, const void *y, void *out);
/* Shape rule of binary ops: Out = broadcast of X and Y (inputs 0 and 1), lod of X where it fits. */
enum skiff_status infer_broadcast(struct infer *c, enum dtype dtype, int axis,
                                  struct skiff_error *err);

/* ---- reductions ----------------------------------------------------------------------------
 * A shape seen as kept and reduced dims. */
struct reduce_plan {
    int nkept, nreduced;
    int64_t kept[TENSOR_MAX_DIMS], kept_stride[TENSOR_MAX_DIMS];
    int64_t reduced[TENSOR_MAX_DIMS], reduced_stride[TENSOR_MAX_DIMS];
    int64_t out_count, reduce_count;
    /* set when the reduced dims lie together: x is [outer, count, inner] */
    bool is_block;
    int64_t outer, inner;
};
/* Bit i of the mask = dim i is reduced. */
void reduce_plan_init(struct reduce_plan *p, const struct shape *s, unsigned mask);
/* Element offsets: of the first element of kept position i; of reduced position j from there. */
int64_t reduce_kept_offset(const struct reduce_plan *p, int64_t i);
int64_t reduce_offset(const struct reduce_plan *p, int64_t j);
/* Dims attribute (may be negative) to a mask; all dims when `all` or n is 0.
 * False: out of range. */
bool reduce_mask(const int32_t *dims, int n, bool all, int ndim, unsigned *out);

/* ---- gradients made of other ops ------------------------------------------------------------
 * A gradient op `type` with X = gradient of forward output `out_slot`, Out = gradient of forward
 * input `in_slot`. NULL when nobody wants it. */
struct skiff_op *grad_pass_back(struct grad_build *g, const char *type, bool copy_attrs,
                                const char *out_slot, const char *in_slot);

/* ---- selected rows ------------------------------------------------------------------------- */
/* Gives `out` the row ids and height of `in` (its value part is sized already). */
void rows_copy_ids(struct skiff_tensor *out, const struct skiff_tensor *in);

#endif
