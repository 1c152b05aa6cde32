/* Matrix products: mul, matmul (1.x), matmul_v2, bmm (2.x), all as GEMMs over a batch.
 *
 *   mul        X flattened to [prod dims[:xn], rest], Y to [prod dims[:yn], rest]; Out = X Y with
 *              dims X[:xn] + Y[yn:]. scale_x, scale_y, scale_out are for int8 kernels; not used.
 *   matmul     Out = alpha op(X) op(Y) over the last two dims; batches equal, or one side has none.
 *              A vector X is a row, a vector Y a column (before op); a resulting dim of 1 from a
 *              vector is dropped; at least [1] stays.
 *   matmul_v2  same without alpha; op does not apply to vectors; batches broadcast; vector times
 *              vector is 0-D.
 *   bmm        three dims each, no op.
 *
 * With O = op(X) op(Y):  dX = dO op(Y)^T (transposed when X was), dY = op(X)^T dO (likewise),
 * times alpha, summed over the places that an operand was repeated to. */
#include "ops/ops_common.h"

#include <string.h>

#include "tensor/math.h"

enum { X, Y, DOUT };
enum { DX, DY };
enum { HEAD_NUMBER = 3 }; /* attribute of matmul */

/* op(X) is m x k, op(Y) k x n; batches as a broadcast walk in units of matrices. */
struct matrix_product {
    bool tx, ty;
    int64_t m, n, k;
    float alpha;
    struct broadcast batch;
};

/* Matrices without gaps. */
static void product_of(enum dtype t, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
                       const void *a, const void *b, bool add, void *c)
{
    gemm(t, ta, tb, m, n, k, alpha, a, ta ? m : k, b, tb ? k : n, add ? 1.0f : 0.0f, c, n);
}

static const void *at(const void *p, int64_t matrix, int64_t size, enum dtype t)
{
    return (const char *)p + matrix * size * (int64_t)dtype_size(t);
}

/* Y without a batch and X not transposed: the whole batch of X is one tall matrix. */
static void product_fold(struct matrix_product *p)
{
    struct broadcast *b = &p->batch;
    if (!p->tx && b->ndim == 1 && b->sx[0] == 1 && b->sy[0] == 0) {
        p->m *= b->dims[0];
        b->dims[0] = 1;
    }
}

static void product_forward(const struct matrix_product *p, enum dtype t, const void *x,
                            const void *y, void *out)
{
    const struct broadcast *b = &p->batch;
    int last = b->ndim - 1;
    struct broadcast_walk w;
    for (broadcast_start(&w, b); broadcast_more(&w); broadcast_step(&w, b))
        for (int64_t i = 0; i < b->dims[last]; i++)
            product_of(t, p->tx, p->ty, p->m, p->n, p->k, p->alpha,
                       at(x, w.x + i * b->sx[last], p->m * p->k, t),
                       at(y, w.y + i * b->sy[last], p->k * p->n, t), false,
                       (void *)at(out, w.out + i, p->m * p->n, t));
}

static bool batch_repeats(const struct broadcast *b, const int64_t *stride)
{
    for (int i = 0; i < b->ndim; i++)
        if (stride[i] == 0)
            return true;
    return false;
}

static void product_grad(const struct matrix_product *p, enum dtype t, const void *x, const void *y,
                         const void *d, struct tensor *dx, struct tensor *dy)
{
    const struct broadcast *b = &p->batch;
    int last = b->ndim - 1;
    bool add_x = batch_repeats(b, b->sx), add_y = batch_repeats(b, b->sy);
    int64_t m = p->m, n = p->n, k = p->k;
    if (dx && (add_x || n == 0))
        tensor_clear(dx);
    if (dy && (add_y || m == 0))
        tensor_clear(dy);
    struct broadcast_walk w;
    for (broadcast_start(&w, b); broadcast_more(&w); broadcast_step(&w, b))
        for (int64_t i = 0; i < b->dims[last]; i++) {
            int64_t ix = w.x + i * b->sx[last], iy = w.y + i * b->sy[last];
            const void *x1 = at(x, ix, m * k, t), *y1 = at(y, iy, k * n, t);
            const void *d1 = at(d, w.out + i, m * n, t);
            void *to_x = dx ? (void *)at(dx->data, ix, m * k, t) : NULL;
            void *to_y = dy ? (void *)at(dy->data, iy, k * n, t) : NULL;
            if (to_x && !p->tx)
                product_of(t, false, !p->ty, m, k, n, p->alpha, d1, y1, add_x, to_x);
            else if (to_x)
                product_of(t, p->ty, true, k, m, n, p->alpha, y1, d1, add_x, to_x);
            if (to_y && !p->ty)
                product_of(t, !p->tx, false, k, n, m, p->alpha, x1, d1, add_y, to_y);
            else if (to_y)
                product_of(t, true, p->tx, n, k, m, p->alpha, d1, x1, add_y, to_y);
        }
}

static const struct broadcast one_batch = {.ndim = 1, .dims = {1}, .sx = {1}, .sy = {1}};

/* ---- how each op sees its operands: fills p; false when they do not fit ---- */

static bool mul_product(const struct kernel *k, struct matrix_product *p)
{
    const struct shape *x = &kernel_in(k, X)->shape, *y = &kernel_in(k, Y)->shape;
    int xn = k->attr[0].i, yn = k->attr[1].i;
    if (xn < 1 || xn >= x->ndim || yn < 1 || yn >= y->ndim)
        return false;
    *p = (struct matrix_product){.m = shape_rows(x, xn),
                                 .k = shape_cols(x, xn),
                                 .n = shape_cols(y, yn),
                                 .alpha = 1,
                                 .batch = one_batch};
    return p->k == shape_rows(y, yn);
}

/* The last two dims of an operand and its batch; a vector is one row (X) or one column (Y). */
static void split_operand(const struct shape *s, bool is_y, int64_t *rows, int64_t *cols,
                          struct shape *batch)
{
    *batch = (struct shape){0};
    if (s->ndim == 1) {
        *rows = is_y ? s->dims[0] : 1;
        *cols = is_y ? 1 : s->dims[0];
        return;
    }
    batch->ndim = s->ndim - 2;
    memcpy(batch->dims, s->dims, (size_t)batch->ndim * sizeof(int64_t));
    *rows = s->dims[s->ndim - 2];
    *cols = s->dims[s->ndim - 1];
}

/* attrs: transpose of X, of Y (matmul, matmul_v2); bmm has none */
static bool matmul_product(const struct kernel *k, bool tx, bool ty, float alpha,
                           struct matrix_product *p)
{
    const struct shape *x = &kernel_in(k, X)->shape, *y = &kernel_in(k, Y)->shape;
    struct shape bx, by;
    int64_t xr, xc, yr, yc;
    if (x->ndim < 1 || y->ndim < 1)
        return false;
    split_operand(x, false, &xr, &xc, &bx);
    split_operand(y, true, &yr, &yc, &by);
    *p = (struct matrix_product){.tx = tx, .ty = ty, .alpha = alpha};
    p->m = tx ? xc : xr;
    p->k = tx ? xr : xc;
    p->n = ty ? yr : yc;
    return p->k == (ty ? yc : yr) && broadcast_plan(&p->batch, &bx, &by, -1);
}

static enum skiff_status run_forward(struct kernel *k, struct matrix_product *p,
                                     struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    product_fold(p);
    product_forward(p, x->dtype, x->data, y->data, kernel_out(k, 0)->data);
    return SKIFF_OK;
}

static enum skiff_status run_grad(struct kernel *k, struct matrix_product *p,
                                  struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y), *d = kernel_in(k, DOUT);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    TRY(kernel_check_same_dtype(k, DOUT, X, err));
    if (tensor_numel(d) != shape_numel(&p->batch.out) * p->m * p->n)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) has %lld elements, expected %lld",
                           kernel_in_name(k, DOUT, 0), (long long)tensor_numel(d),
                           (long long)(shape_numel(&p->batch.out) * p->m * p->n));
    product_fold(p);
    product_grad(p, x->dtype, x->data, y->data, d->data, kernel_out(k, DX), kernel_out(k, DY));
    return SKIFF_OK;
}

static enum skiff_status operands_fail(const struct kernel *k, struct skiff_error *err)
{
    char x[160], y[160];
    return kernel_fail(k, SKIFF_SHAPE, err, "X (%s) %s and Y (%s) %s cannot be multiplied",
                       kernel_in_name(k, X, 0), shape_text(&kernel_in(k, X)->shape, x),
                       kernel_in_name(k, Y, 0), shape_text(&kernel_in(k, Y)->shape, y));
}

#define DEFINE_RUNS(name, fill)                                                         \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err)      \
    {                                                                                   \
        struct matrix_product p;                                                        \
        return fill ? run_forward(k, &p, err) : operands_fail(k, err);                  \
    }                                                                                   \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        struct matrix_product p;                                                        \
        return fill ? run_grad(k, &p, err) : operands_fail(k, err);                     \
    }
static bool is_matrix(const struct kernel *k, int slot)
{
    return kernel_in(k, slot)->shape.ndim > 1;
}
DEFINE_RUNS(mul, mul_product(k, &p));
DEFINE_RUNS(matmul, matmul_product(k, k->attr[0].b, k->attr[1].b, k->attr[2].f, &p));
DEFINE_RUNS(matmul_v2, matmul_product(k, k->attr[0].b &&is_matrix(k, X),
                                      k->attr[1].b &&is_matrix(k, Y), 1, &p));
DEFINE_RUNS(bmm, matmul_product(k, false, false, 1, &p));

/* ---- shape rules ---- */

static enum skiff_status shape_mismatch(const struct infer *c, struct skiff_error *err)
{
    char text[160];
    return infer_fail(c, X, 0, err, "cannot be multiplied by input Y (%s) %s",
                      infer_in_name(c, Y, 0), shape_text(infer_in(c, Y, 0), text));
}

static enum skiff_status out_with_lod(struct infer *c, const struct shape *out,
                                      struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    bool keeps = x->ndim > 0 && out->ndim > 0 && x->dims[0] == out->dims[0];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), out, err));
    if (keeps)
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status mul_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    int xn = c->attr[0].i, yn = c->attr[1].i;
    if (xn < 1 || xn >= x->ndim)
        return infer_fail(c, X, 0, err, "x_num_col_dims is %d, must lie in [1, %d)", xn, x->ndim);
    if (yn < 1 || yn >= y->ndim)
        return infer_fail(c, Y, 0, err, "y_num_col_dims is %d, must lie in [1, %d)", yn, y->ndim);
    if (dims_conflict(dims_product(x, xn, x->ndim), dims_product(y, 0, yn)))
        return shape_mismatch(c, err);
    if (xn + y->ndim - yn > TENSOR_MAX_DIMS)
        return shape_mismatch(c, err);
    struct shape out = {.ndim = xn + y->ndim - yn};
    for (int i = 0; i < out.ndim; i++)
        out.dims[i] = i < xn ? x->dims[i] : y->dims[yn + i - xn];
    return out_with_lod(c, &out, err);
}

/* Paddle 2.6 takes the batch of the operand of higher rank while building, without broadcasting;
 * programs carry that shape. */
static bool batch_shape(const struct infer *c, const struct shape *bx, const struct shape *by,
                        struct shape *out)
{
    if (!broadcast_shape(bx, by, -1, out))
        return false;
    if (!c->running && bx->ndim != by->ndim)
        *out = bx->ndim > by->ndim ? *bx : *by;
    return true;
}

static enum skiff_status matmul_shape(struct infer *c, bool tx, bool ty, bool keep_one,
                                      struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    struct shape bx, by, out;
    int64_t xr, xc, yr, yc;
    if (x->ndim < 1 || y->ndim < 1)
        return shape_mismatch(c, err);
    split_operand(x, false, &xr, &xc, &bx);
    split_operand(y, true, &yr, &yc, &by);
    if (dims_conflict(tx ? xr : xc, ty ? yc : yr) || !batch_shape(c, &bx, &by, &out) ||
        out.ndim + 2 > TENSOR_MAX_DIMS)
        return shape_mismatch(c, err);
    int64_t m = tx ? xc : xr, n = ty ? yr : yc;
    if (x->ndim > 1 || m != 1)
        out.dims[out.ndim++] = m;
    if (y->ndim > 1 || n != 1)
        out.dims[out.ndim++] = n;
    if (out.ndim == 0 && keep_one)
        out = SHAPE(1);
    return out_with_lod(c, &out, err);
}

static enum skiff_status matmul_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    if (x->ndim > 2 && y->ndim > 2) {
        struct shape bx = *x, by = *y;
        bx.ndim -= 2;
        by.ndim -= 2;
        if (dims_conflict(dims_product(&bx, 0, bx.ndim), dims_product(&by, 0, by.ndim)))
            return infer_fail(c, X, 0, err, "batch differs from that of input Y (%s)",
                              infer_in_name(c, Y, 0));
    }
    if (c->attr[HEAD_NUMBER].i != 1)
        return infer_fail(c, X, 0, err, "head_number %d is not supported", c->attr[HEAD_NUMBER].i);
    return matmul_shape(c, c->attr[0].b, c->attr[1].b, true, err);
}

static enum skiff_status matmul_v2_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    return matmul_shape(c, c->attr[0].b && x->ndim > 1, c->attr[1].b && y->ndim > 1, false, err);
}

static enum skiff_status bmm_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    if (x->ndim != 3 || y->ndim != 3 || dims_conflict(x->dims[0], y->dims[0]))
        return shape_mismatch(c, err);
    return matmul_shape(c, false, false, false, err);
}

/* While building, Paddle leaves the lod level of these gradients at 0. */
static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    for (int i = DX; i <= DY; i++) {
        struct shape s = *infer_in(c, i, 0);
        TRY(infer_out(c, i, 0, infer_in_dtype(c, i, 0), &s, err));
        if (c->running)
            infer_share_lod(c, i, 0, i, 0);
    }
    return SKIFF_OK;
}

static const struct op_slot ins[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_slot grad_ins[] = {{"X", 0}, {"Y", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot grad_outs[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"Y" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

#define ONE_X(n, t, ...)                                                    \
    {                                                                       \
        .name = n, .type = t, .flags = ATTR_ONLY_1X, .def = { __VA_ARGS__ } \
    }
static const struct op_attr_spec mul_attrs[] = {
    A_INT("x_num_col_dims", 1),
    A_INT("y_num_col_dims", 1),
    ONE_X("use_mkldnn", ATTR_BOOLEAN, .b = false),
    ONE_X("scale_x", ATTR_FLOAT, .f = 1),
    ONE_X("scale_y", ATTR_FLOATS, .n = 1, .floats = (const float[]){1}),
    ONE_X("scale_out", ATTR_FLOAT, .f = 1),
    ONE_X("force_fp32_output", ATTR_BOOLEAN, .b = false),
    {0},
};
static const struct op_attr_spec matmul_attrs[] = {
    A_BOOL("transpose_X", false),
    A_BOOL("transpose_Y", false),
    A_FLOAT("alpha", 1),
    [HEAD_NUMBER] = A_INT("head_number", 1),
    A_BOOL("use_mkldnn", false),
    A_BOOL("use_quantizer", false),
    A_FLOAT("Scale_x", 1),
    A_FLOAT("Scale_y", 1),
    A_FLOAT("Scale_out", 1),
    A_BOOL("force_fp32_output", false),
    ONE_X("fused_reshape_Out", ATTR_INTS, .n = 0),
    ONE_X("fused_transpose_Out", ATTR_INTS, .n = 0),
    {.name = "mkldnn_data_type",
     .type = ATTR_STRING,
     .flags = ATTR_ONLY_2X,
     .def = {.s = "float32"}},
    {0},
};
static const struct op_attr_spec matmul_v2_attrs[] = {
    A_BOOL("trans_x", false), A_BOOL("trans_y", false), {0}};
static const struct op_attr_spec none[] = {{0}};

#define PRODUCT(name, a, op_class, ...)                                                    \
    {                                                                                      \
        .type = #name, .ins = ins, .outs = outs, .attrs = a,                               \
        .grad = "X Y Out@GRAD -> X@GRAD Y@GRAD", .infer = name##_infer, .run = name##_run, \
        .class = op_class, __VA_ARGS__                                                     \
    }
#define PRODUCT_GRAD(name, a, op_class, ...)                                        \
    {                                                                               \
        .type = #name "_grad", .ins = grad_ins, .outs = grad_outs, .attrs = a,      \
        .infer = grad_infer, .run = name##_grad_run, .class = op_class, __VA_ARGS__ \
    }

const struct op_kind ops_matmul[] = {
    PRODUCT(mul, mul_attrs, CLASS_MATMUL, ),
    PRODUCT_GRAD(mul, mul_attrs, CLASS_MATMUL_GRAD, ),
    PRODUCT(matmul, matmul_attrs, CLASS_MATMUL, ),
    PRODUCT_GRAD(matmul, matmul_attrs, CLASS_MATMUL_GRAD, ),
    PRODUCT(matmul_v2, matmul_v2_attrs, CLASS_MATMUL, .generations = GEN_2X),
    PRODUCT_GRAD(matmul_v2, matmul_v2_attrs, CLASS_MATMUL_GRAD, .generations = GEN_2X),
    PRODUCT(bmm, none, CLASS_NONE, ),
    PRODUCT_GRAD(bmm, none, CLASS_NONE, ),
    {0},
};
