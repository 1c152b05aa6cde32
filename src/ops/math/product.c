/* Products of rows: dot, bilinear_tensor_product, cos_sim.
 *
 *   dot    Out[i] = sum_j X[i,j] Y[i,j]; 1.x keeps a last dim of 1, 2.x drops it
 *          dX = dOut Y, dY = dOut X
 *   bilinear_tensor_product
 *          Out[b,o] = sum_ij X[b,i] W[o,i,j] Y[b,j] + Bias[0,o]
 *   cos_sim (1.x)   Out[b] = <x_b, y_b> / (|x_b| |y_b|), Y has B rows or one
 *          dx = d (y / (|x||y|) - out x / |x|^2), dy likewise (summed when Y is one row) */
#include "ops/ops_common.h"

#include <string.h>
#include <tgmath.h>

enum { X, Y };

/* ---- dot ---- */
enum { DOT_DOUT = 2 };

static enum skiff_status dot_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int last = x->shape.ndim - 1;
    int64_t rows = shape_rows(&x->shape, last), cols = x->shape.dims[last];
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    DISPATCH_NUMBER(
        x->dtype, T, const T *a = x->data; const T *b = y->data; T *o = kernel_out(k, 0)->data;
        for (int64_t r = 0; r < rows; r++, a += cols, b += cols) {
            typeof(_Generic((T)0, float : (double)0, default : (T)0)) sum = 0;
            for (int64_t i = 0; i < cols; i++)
                sum += a[i] * b[i];
            o[r] = (T)sum;
        })
    return SKIFF_OK;
}

static enum skiff_status dot_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y), *d = kernel_in(k, DOT_DOUT);
    struct tensor *dx = kernel_out(k, 0), *dy = kernel_out(k, 1);
    int last = x->shape.ndim - 1;
    if (last < 0 || !shape_equal(&x->shape, &y->shape))
        return kernel_fail(k, SKIFF_SHAPE, err, "X (%s) and Y (%s) must have one shape",
                           kernel_in_name(k, X, 0), kernel_in_name(k, Y, 0));
    int64_t rows = shape_rows(&x->shape, last), cols = x->shape.dims[last];
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    TRY(kernel_check_same_dtype(k, DOT_DOUT, X, err));
    if (tensor_numel(d) != rows)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD has %lld elements, expected %lld",
                           (long long)tensor_numel(d), (long long)rows);
    DISPATCH_FLOAT(
        x->dtype, T, const T *a = x->data; const T *b = y->data; const T *g = d->data;
        for (int64_t i = 0; dx && i < rows * cols; i++)((T *)dx->data)[i] = g[i / cols] * b[i];
        for (int64_t i = 0; dy && i < rows * cols; i++)((T *)dy->data)[i] = g[i / cols] * a[i])
    return SKIFF_OK;
}

static enum skiff_status dot_shape(struct infer *c, bool keep, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    char text[160];
    bool fits = x->ndim == y->ndim && x->ndim >= 1;
    for (int i = 0; fits && i < x->ndim; i++)
        fits = !dims_conflict(x->dims[i], y->dims[i]);
    if (!fits)
        return infer_fail(c, X, 0, err, "must have the shape of input Y (%s) %s",
                          infer_in_name(c, Y, 0), shape_text(y, text));
    struct shape s = *x;
    if (keep)
        s.dims[s.ndim - 1] = 1;
    else
        s.ndim--;
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}
static enum skiff_status dot_1x_infer(struct infer *c, struct skiff_error *err)
{
    return dot_shape(c, true, err);
}
static enum skiff_status dot_2x_infer(struct infer *c, struct skiff_error *err)
{
    return dot_shape(c, false, err);
}
static enum skiff_status xy_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, X, 0, err));
    return infer_grad_of(c, Y, 1, err);
}

/* ---- bilinear_tensor_product ---- */
enum { B_WEIGHT = 2, B_BIAS = 3, B_DOUT = 3 };
enum { B_DX, B_DY, B_DWEIGHT, B_DBIAS };

struct bilinear {
    int64_t batch, nx, ny, nout;
};

static enum skiff_status bilinear_dims(const struct kernel *k, struct bilinear *d,
                                       struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, X)->shape, *y = &kernel_in(k, Y)->shape;
    const struct shape *w = &kernel_in(k, B_WEIGHT)->shape;
    if (x->ndim != 2 || y->ndim != 2 || w->ndim != 3 || x->dims[0] != y->dims[0] ||
        w->dims[1] != x->dims[1] || w->dims[2] != y->dims[1])
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Y and Weight do not fit");
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    TRY(kernel_check_same_dtype(k, B_WEIGHT, X, err));
    *d = (struct bilinear){x->dims[0], x->dims[1], y->dims[1],
                           kernel_in(k, B_WEIGHT)->shape.dims[0]};
    return SKIFF_OK;
}

static enum skiff_status bilinear_run(struct kernel *k, struct skiff_error *err)
{
    struct bilinear n;
    TRY(bilinear_dims(k, &n, err));
    const struct tensor *bias = kernel_in(k, B_BIAS);
    if (bias && (tensor_numel(bias) != n.nout || bias->dtype != kernel_in(k, X)->dtype))
        return kernel_fail(k, SKIFF_SHAPE, err, "Bias (%s) must hold %lld elements of X's type",
                           kernel_in_name(k, B_BIAS, 0), (long long)n.nout);
    DISPATCH_FLOAT(
        kernel_in(k, X)->dtype, T, const T *w = kernel_in(k, B_WEIGHT)->data;
        T *out = kernel_out(k, 0)->data; for (int64_t b = 0; b < n.batch; b++) {
            const T *x = (const T *)kernel_in(k, X)->data + b * n.nx;
            const T *y = (const T *)kernel_in(k, Y)->data + b * n.ny;
            for (int64_t o = 0; o < n.nout; o++) {
                double sum = bias ? ((const T *)bias->data)[o] : 0;
                for (int64_t i = 0; i < n.nx; i++) {
                    double row = 0;
                    for (int64_t j = 0; j < n.ny; j++)
                        row += w[(o * n.nx + i) * n.ny + j] * y[j];
                    sum += row * x[i];
                }
                out[b * n.nout + o] = (T)sum;
            }
        })
    return SKIFF_OK;
}

static void *cleared(struct tensor *t)
{
    if (t)
        tensor_clear(t);
    return t ? t->data : NULL;
}

static enum skiff_status bilinear_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct bilinear n;
    TRY(bilinear_dims(k, &n, err));
    TRY(kernel_check_same_dtype(k, B_DOUT, X, err));
    if (tensor_numel(kernel_in(k, B_DOUT)) != n.batch * n.nout)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X and Weight",
                           kernel_in_name(k, B_DOUT, 0));
    void *vx = cleared(kernel_out(k, B_DX)), *vy = cleared(kernel_out(k, B_DY));
    void *vw = cleared(kernel_out(k, B_DWEIGHT)), *vb = cleared(kernel_out(k, B_DBIAS));
    DISPATCH_FLOAT(
        kernel_in(k, X)->dtype, T, const T *w = kernel_in(k, B_WEIGHT)->data;
        const T *d = kernel_in(k, B_DOUT)->data; T *dx = vx; T *dy = vy; T *dw = vw; T *db = vb;
        for (int64_t b = 0; b < n.batch; b++) for (int64_t o = 0; o < n.nout; o++) {
            const T *x = (const T *)kernel_in(k, X)->data + b * n.nx;
            const T *y = (const T *)kernel_in(k, Y)->data + b * n.ny;
            T g = d[b * n.nout + o];
            if (db)
                db[o] += g;
            for (int64_t i = 0; i < n.nx; i++)
                for (int64_t j = 0; j < n.ny; j++) {
                    int64_t at = (o * n.nx + i) * n.ny + j;
                    if (dx)
                        dx[b * n.nx + i] += g * w[at] * y[j];
                    if (dy)
                        dy[b * n.ny + j] += g * w[at] * x[i];
                    if (dw)
                        dw[at] += g * x[i] * y[j];
                }
        })
    return SKIFF_OK;
}

static enum skiff_status bilinear_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0),
                       *w = infer_in(c, B_WEIGHT, 0);
    if (x->ndim != 2 || y->ndim != 2 || dims_conflict(x->dims[0], y->dims[0]))
        return infer_fail(c, X, 0, err, "X and Y must be matrices with the same number of rows");
    if (w->ndim != 3 || dims_conflict(w->dims[1], x->dims[1]) ||
        dims_conflict(w->dims[2], y->dims[1]))
        return infer_fail(c, B_WEIGHT, 0, err, "must be [size, %lld, %lld]", (long long)x->dims[1],
                          (long long)y->dims[1]);
    struct shape out = SHAPE(x->dims[0], w->dims[0]);
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err));
    infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status bilinear_grad_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *d = infer_in(c, B_DOUT, 0);
    if (d->ndim != 2)
        return infer_fail(c, B_DOUT, 0, err, "must be a matrix");
    struct shape bias = SHAPE(1, d->dims[1]);
    TRY(infer_grad_of(c, X, B_DX, err));
    TRY(infer_grad_of(c, Y, B_DY, err));
    TRY(infer_grad_of(c, B_WEIGHT, B_DWEIGHT, err));
    return infer_out(c, B_DBIAS, 0, infer_in_dtype(c, X, 0), &bias, err);
}

/* ---- cos_sim ---- */
enum { C_XNORM = 2, C_YNORM, C_OUT, C_DOUT };

static enum skiff_status cos_sim_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *xnorm = kernel_out(k, 1), *ynorm = kernel_out(k, 2);
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int64_t rows = x->shape.dims[0], yrows = y->shape.dims[0], cols = shape_cols(&x->shape, 1);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    DISPATCH_FLOAT(
        x->dtype, T, T *out = kernel_out(k, 0)->data; T *xn = xnorm ? xnorm->data : NULL;
        T *yn = ynorm ? ynorm->data : NULL; for (int64_t r = 0; r < rows; r++) {
            const T *a = (const T *)x->data + r * cols;
            const T *b = (const T *)y->data + (yrows == 1 ? 0 : r * cols);
            double aa = 0, bb = 0, ab = 0;
            for (int64_t i = 0; i < cols; i++) {
                aa += a[i] * a[i];
                bb += b[i] * b[i];
                ab += a[i] * b[i];
            }
            if (xn)
                xn[r] = (T)sqrt(aa);
            if (yn)
                yn[yrows == 1 ? 0 : r] = (T)sqrt(bb);
            out[r] = (T)(ab / (sqrt(aa) * sqrt(bb)));
        })
    return SKIFF_OK;
}

static enum skiff_status cos_sim_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    struct tensor *tx = kernel_out(k, 0), *ty = kernel_out(k, 1);
    if (x->shape.ndim < 2 || y->shape.ndim != x->shape.ndim)
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Y do not fit");
    int64_t rows = x->shape.dims[0], yrows = y->shape.dims[0], cols = shape_cols(&x->shape, 1);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    for (int s = Y; s <= C_DOUT; s++)
        TRY(kernel_check_same_dtype(k, s, X, err));
    if (shape_cols(&y->shape, 1) != cols || (yrows != rows && yrows != 1) ||
        tensor_numel(kernel_in(k, C_XNORM)) != rows ||
        tensor_numel(kernel_in(k, C_YNORM)) != yrows || tensor_numel(kernel_in(k, C_OUT)) != rows ||
        tensor_numel(kernel_in(k, C_DOUT)) != rows)
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Y, their norms and Out@GRAD do not fit");
    cleared(ty);
    DISPATCH_FLOAT(
        x->dtype, T, const T *xn = kernel_in(k, C_XNORM)->data;
        const T *yn = kernel_in(k, C_YNORM)->data; const T *out = kernel_in(k, C_OUT)->data;
        const T *dout = kernel_in(k, C_DOUT)->data; for (int64_t r = 0; r < rows; r++) {
            int64_t q = yrows == 1 ? 0 : r;
            const T *a = (const T *)x->data + r * cols;
            const T *b = (const T *)y->data + q * cols;
            T d = dout[r], z = out[r], both = xn[r] * yn[q];
            T *dx = tx ? (T *)tx->data + r * cols : NULL;
            T *dy = ty ? (T *)ty->data + q * cols : NULL;
            for (int64_t i = 0; i < cols; i++) {
                if (dx)
                    dx[i] = d * (b[i] / both - z * a[i] / (xn[r] * xn[r]));
                if (dy)
                    dy[i] += d * (a[i] / both - z * b[i] / (yn[q] * yn[q]));
            }
        })
    return SKIFF_OK;
}

static enum skiff_status cos_sim_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    char text[160];
    bool fits = x->ndim >= 2 && x->ndim == y->ndim;
    for (int i = 1; fits && i < x->ndim; i++)
        fits = !dims_conflict(x->dims[i], y->dims[i]);
    if (!fits || (y->dims[0] != 1 && dims_conflict(x->dims[0], y->dims[0])))
        return infer_fail(c, X, 0, err, "does not fit input Y (%s) %s", infer_in_name(c, Y, 0),
                          shape_text(y, text));
    struct shape by_x = SHAPE(x->dims[0], 1), by_y = SHAPE(y->dims[0], 1);
    enum dtype t = infer_in_dtype(c, X, 0);
    TRY(infer_out(c, 0, 0, t, &by_x, err));
    TRY(infer_out(c, 1, 0, t, &by_x, err));
    TRY(infer_out(c, 2, 0, t, &by_y, err));
    infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

static const struct op_slot xy_in[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dot_grad_in[] = {{"X", 0}, {"Y", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot xy_grad_out[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"Y" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot bilinear_in[] = {
    {"X", 0}, {"Y", 0}, {"Weight", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot bilinear_grad_in[] = {
    {"X", 0}, {"Y", 0}, {"Weight", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot bilinear_grad_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL},
                                                   {"Y" GRAD_SUFFIX, SLOT_OPTIONAL},
                                                   {"Weight" GRAD_SUFFIX, SLOT_OPTIONAL},
                                                   {"Bias" GRAD_SUFFIX, SLOT_OPTIONAL},
                                                   {0}};
static const struct op_slot cos_out[] = {
    {"Out", 0}, {"XNorm", SLOT_EXTRA}, {"YNorm", SLOT_EXTRA}, {0}};
static const struct op_slot cos_grad_in[] = {
    {"X", 0}, {"Y", 0}, {"XNorm", 0}, {"YNorm", 0}, {"Out", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec cos_attrs[] = {
    A_BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true), {0}};

#define DOT(gen, rule)                                                                   \
    {                                                                                    \
        .type = "dot", .generations = gen, .ins = xy_in, .outs = out_out, .attrs = none, \
        .grad = "X Y Out@GRAD -> X@GRAD Y@GRAD", .infer = rule, .run = dot_run           \
    }

const struct op_kind ops_product[] = {
    DOT(GEN_1X, dot_1x_infer),
    DOT(GEN_2X, dot_2x_infer),
    {.type = "dot_grad",
     .ins = dot_grad_in,
     .outs = xy_grad_out,
     .attrs = none,
     .infer = xy_grad_infer,
     .run = dot_grad_run},
    {.type = "bilinear_tensor_product",
     .ins = bilinear_in,
     .outs = out_out,
     .attrs = none,
     .grad = "X Y Weight Out@GRAD -> X@GRAD Y@GRAD Weight@GRAD Bias@GRAD",
     .infer = bilinear_infer,
     .run = bilinear_run},
    {.type = "bilinear_tensor_product_grad",
     .ins = bilinear_grad_in,
     .outs = bilinear_grad_out,
     .attrs = none,
     .infer = bilinear_grad_infer,
     .run = bilinear_grad_run},
    {.type = "cos_sim",
     .generations = GEN_1X,
     .ins = xy_in,
     .outs = cos_out,
     .attrs = cos_attrs,
     .grad = "X Y XNorm YNorm Out Out@GRAD -> X@GRAD Y@GRAD",
     .infer = cos_sim_infer,
     .run = cos_sim_run},
    {.type = "cos_sim_grad",
     .generations = GEN_1X,
     .ins = cos_grad_in,
     .outs = xy_grad_out,
     .attrs = cos_attrs,
     .infer = xy_grad_infer,
     .run = cos_sim_grad_run},
    {0},
};
