/* More products and differences: addmm, mv, kron, cross, dist, lerp.
 *
 *   addmm  Out = Beta Input + Alpha X Y, Input repeated;  dInput = Beta d, dX = Alpha d Y^T,
 *          dY = Alpha X^T d
 *   mv     Out = X Vec;  dX = d Vec^T, dVec = X^T d
 *   kron   Out[i n + j] = X[i] Y[j], dim by dim, ranks aligned at the end
 *   cross  (x1 y2 - x2 y1, ..) along a dim of 3 (9: the first such);  dX = Y x d, dY = d x X
 *   dist   |X - Y|_p over everything;  with z = X - Y: dX = d sign z (|z| / out)^(p-1), dY = -dX;
 *          p = 0: no gradient; +-inf: d sign z where |z| = out
 *   lerp   X + Weight (Y - X);  dX = d (1 - w), dY = d w
 * Operands that were repeated get the sum of the gradients. */
#include "ops/seq_common.h"

#include <tgmath.h>

/* ---- addmm ---- */
enum { AM_INPUT, AM_X, AM_Y, AM_DOUT };
enum { AM_BETA, AM_ALPHA };

static enum skiff_status addmm_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, AM_INPUT, err));
    for (int s = AM_X; s <= AM_Y; s++) {
        TRY(infer_want(c, s, infer_in_dtype(c, AM_INPUT, 0), err));
        TRY(infer_want_rank(c, s, 2, err));
    }
    const struct shape *in = infer_in(c, AM_INPUT, 0), *x = infer_in(c, AM_X, 0);
    const struct shape *y = infer_in(c, AM_Y, 0);
    bool fits = in->ndim == 1 || in->ndim == 2;
    fits = fits && dims_agree(x->dims[1], y->dims[0]);
    for (int i = 0; fits && i < in->ndim; i++) {
        int64_t want = in->ndim - i == 1 ? y->dims[1] : x->dims[0];
        fits = in->dims[i] == 1 || dims_agree(in->dims[i], want);
    }
    return fits ? SKIFF_OK : infer_fail(c, AM_INPUT, 0, err, "does not fit the product of X and Y");
}

static enum skiff_status addmm_infer(struct infer *c, struct skiff_error *err)
{
    TRY(addmm_check(c, err));
    struct shape out = SHAPE(infer_in(c, AM_X, 0)->dims[0], infer_in(c, AM_Y, 0)->dims[1]);
    return infer_out(c, 0, 0, infer_in_dtype(c, AM_INPUT, 0), &out, err);
}

static enum skiff_status addmm_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, AM_INPUT), *x = kernel_in(k, AM_X);
    struct tensor *out = kernel_out(k, 0);
    int64_t m = out->shape.dims[0], n = out->shape.dims[1], depth = x->shape.dims[1];
    int64_t strides[TENSOR_MAX_DIMS];
    repeat_strides(&in->shape, &out->shape, strides);
    DISPATCH_FLOAT(in->dtype, T, {
        const T *p = in->data;
        T *o = out->data;
        for (int64_t i = 0; i < m * n; i++)
            o[i] = k->attr[AM_BETA].f * p[strides_at(&out->shape, strides, i)];
    })
    gemm(in->dtype, false, false, m, n, depth, k->attr[AM_ALPHA].f, x->data, depth,
         kernel_in(k, AM_Y)->data, n, 1.0f, out->data, n);
    return SKIFF_OK;
}

static enum skiff_status three_grads_infer(struct infer *c, struct skiff_error *err)
{
    TRY(addmm_check(c, err));
    for (int s = AM_INPUT; s <= AM_Y; s++)
        TRY(infer_like(c, s, s, err));
    return SKIFF_OK;
}

static enum skiff_status addmm_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, AM_X), *y = kernel_in(k, AM_Y);
    const struct tensor *d = kernel_in(k, AM_DOUT);
    struct tensor *din = kernel_out(k, AM_INPUT);
    int64_t m = x->shape.dims[0], n = y->shape.dims[1], depth = x->shape.dims[1];
    int64_t strides[TENSOR_MAX_DIMS];
    struct shape whole = SHAPE(m, n);
    float alpha = k->attr[AM_ALPHA].f;
    TRY(kernel_want_elements(k, AM_DOUT, x->dtype, m * n, err));
    if (din) {
        repeat_strides(&din->shape, &whole, strides);
        tensor_clear(din);
        DISPATCH_FLOAT(x->dtype, T, {
            const T *up = d->data;
            T *to = din->data;
            for (int64_t i = 0; i < m * n; i++)
                to[strides_at(&whole, strides, i)] += k->attr[AM_BETA].f * up[i];
        })
    }
    if (kernel_wants(k, AM_X))
        gemm(x->dtype, false, true, m, depth, n, alpha, d->data, n, y->data, n, 0.0f,
             kernel_out(k, AM_X)->data, depth);
    if (kernel_wants(k, AM_Y))
        gemm(x->dtype, true, false, depth, n, m, alpha, x->data, depth, d->data, n, 0.0f,
             kernel_out(k, AM_Y)->data, n);
    return SKIFF_OK;
}

/* ---- mv ---- */
enum { X, Y, DOUT };

static enum skiff_status mv_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, X, err));
    TRY(infer_want(c, Y, infer_in_dtype(c, X, 0), err));
    TRY(infer_want_rank(c, X, 2, err));
    TRY(infer_want_rank(c, Y, 1, err));
    if (dims_agree(infer_in(c, X, 0)->dims[1], infer_in(c, Y, 0)->dims[0]))
        return SKIFF_OK;
    return infer_fail(c, Y, 0, err, "must have as many elements as X has columns");
}

static enum skiff_status mv_infer(struct infer *c, struct skiff_error *err)
{
    TRY(mv_check(c, err));
    struct shape out = SHAPE(infer_in(c, X, 0)->dims[0]);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

static enum skiff_status mv_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    gemm(x->dtype, false, false, x->shape.dims[0], 1, x->shape.dims[1], 1.0f, x->data,
         x->shape.dims[1], kernel_in(k, Y)->data, 1, 0.0f, kernel_out(k, 0)->data, 1);
    return SKIFF_OK;
}

static enum skiff_status mv_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(mv_check(c, err));
    TRY(infer_like(c, X, X, err));
    return infer_like(c, Y, Y, err);
}

static enum skiff_status mv_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *d = kernel_in(k, DOUT);
    int64_t m = x->shape.dims[0], n = x->shape.dims[1];
    TRY(kernel_want_elements(k, DOUT, x->dtype, m, err));
    if (kernel_wants(k, X))
        gemm(x->dtype, false, false, m, n, 1, 1.0f, d->data, 1, kernel_in(k, Y)->data, n, 0.0f,
             kernel_out(k, X)->data, n);
    if (kernel_wants(k, Y))
        gemm(x->dtype, true, false, n, 1, m, 1.0f, x->data, n, d->data, 1, 0.0f,
             kernel_out(k, Y)->data, 1);
    return SKIFF_OK;
}

/* ---- kron ---- */

static bool kron_shape(const struct shape *x, const struct shape *y, struct shape *out)
{
    *out = (struct shape){.ndim = x->ndim > y->ndim ? x->ndim : y->ndim};
    for (int i = 0; i < out->ndim; i++) {
        int xi = i - (out->ndim - x->ndim), yi = i - (out->ndim - y->ndim);
        int64_t a = xi < 0 ? 1 : x->dims[xi], b = yi < 0 ? 1 : y->dims[yi];
        out->dims[i] = a < 0 || b < 0 ? -1 : a * b;
    }
    return true;
}

static enum skiff_status kron_infer(struct infer *c, struct skiff_error *err)
{
    struct shape out;
    TRY(infer_want(c, Y, infer_in_dtype(c, X, 0), err));
    kron_shape(infer_in(c, X, 0), infer_in(c, Y, 0), &out);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

/* The elements of X and Y whose product is element i of the result. */
static void kron_at(const struct shape *out, const struct shape *x, const struct shape *y,
                    int64_t i, int64_t *at_x, int64_t *at_y)
{
    int64_t sx = 1, sy = 1;
    *at_x = *at_y = 0;
    for (int d = out->ndim - 1; d >= 0; d--) {
        int xi = d - (out->ndim - x->ndim), yi = d - (out->ndim - y->ndim);
        int64_t b = yi < 0 ? 1 : y->dims[yi], at = i % out->dims[d];
        i /= out->dims[d];
        *at_x += at / b * sx;
        *at_y += at % b * sy;
        sx *= xi < 0 ? 1 : x->dims[xi];
        sy *= b;
    }
}

static enum skiff_status kron_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(out);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(x->dtype, T, {
        const T *p = x->data, *q = y->data;
        T *o = out->data;
        for (int64_t i = 0, a, b; i < n; i++) {
            kron_at(&out->shape, &x->shape, &y->shape, i, &a, &b);
            o[i] = (T)WRAP_MUL(p[a], q[b]);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status both_grads_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, X, X, err));
    return infer_grad_of(c, Y, Y, err);
}

static void clear_grads(struct kernel *k)
{
    for (int s = X; s <= Y; s++)
        if (kernel_wants(k, s))
            tensor_clear(kernel_out(k, s));
}

static enum skiff_status kron_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    struct shape out;
    kron_shape(&x->shape, &y->shape, &out);
    int64_t n = shape_numel(&out);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    TRY(kernel_want_elements(k, DOUT, x->dtype, n, err));
    clear_grads(k);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data, *q = y->data, *d = kernel_in(k, DOUT)->data;
        T *dx = kernel_out_data(k, X), *dy = kernel_out_data(k, Y);
        for (int64_t i = 0, a, b; i < n; i++) {
            kron_at(&out, &x->shape, &y->shape, i, &a, &b);
            if (dx)
                dx[a] += d[i] * q[b];
            if (dy)
                dy[b] += d[i] * p[a];
        }
    })
    return SKIFF_OK;
}

/* ---- cross ---- */

static enum skiff_status cross_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, Y, infer_in_dtype(c, X, 0), err));
    TRY(infer_want_alike(c, Y, X, err));
    return infer_same(c, X, 0, err);
}

static enum skiff_status cross_lines(const struct kernel *k, struct axis_view *l,
                                     struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, X)->shape;
    int axis = k->attr[0].i == 9 ? -1 : axis_of(k->attr[0].i, x->ndim);
    for (int i = 0; k->attr[0].i == 9 && axis < 0 && i < x->ndim; i++)
        axis = x->dims[i] == 3 ? i : -1;
    if (axis < 0 || x->dims[axis] != 3)
        return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) needs a dim of 3",
                           kernel_in_name(k, X, 0));
    *l = shape_lines(x, axis);
    return SKIFF_OK;
}

static enum skiff_status cross_to(struct axis_view l, const struct tensor *a,
                                  const struct tensor *b, struct tensor *out)
{
    DISPATCH_NUMBER(a->dtype, T, {
        for (int64_t i = 0; i < l.outer * l.inner; i++) {
            int64_t at = i / l.inner * 3 * l.inner + i % l.inner;
            const T *p = (const T *)a->data + at, *q = (const T *)b->data + at;
            T *o = (T *)out->data + at;
            for (int64_t j = 0; j < 3; j++) {
                int64_t u = (j + 1) % 3 * l.inner, v = (j + 2) % 3 * l.inner;
                o[j * l.inner] = p[u] * q[v] - p[v] * q[u];
            }
        }
    })
    return SKIFF_OK;
}

static enum skiff_status cross_run(struct kernel *k, struct skiff_error *err)
{
    struct axis_view l;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(cross_lines(k, &l, err));
    return cross_to(l, kernel_in(k, X), kernel_in(k, Y), kernel_out(k, 0));
}

static enum skiff_status cross_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, DOUT);
    struct axis_view l;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(cross_lines(k, &l, err));
    for (int slot = Y; slot <= DOUT; slot++)
        TRY(kernel_want_elements(k, slot, kernel_in(k, X)->dtype, tensor_numel(kernel_in(k, X)),
                                 err));
    if (kernel_wants(k, X))
        TRY(cross_to(l, kernel_in(k, Y), d, kernel_out(k, X)));
    return kernel_wants(k, Y) ? cross_to(l, d, kernel_in(k, X), kernel_out(k, Y)) : SKIFF_OK;
}

/* ---- dist ---- */
enum { DI_X, DI_Y, DI_OUT, DI_DOUT };

static enum skiff_status dist_infer(struct infer *c, struct skiff_error *err)
{
    struct shape wide, out = infer_one_number(c);
    TRY(infer_want_float(c, X, err));
    TRY(infer_want(c, Y, infer_in_dtype(c, X, 0), err));
    if (!broadcast_shape(infer_in(c, X, 0), infer_in(c, Y, 0), -1, &wide))
        return infer_fail(c, Y, 0, err, "does not fit X");
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

/* The result's shape, and how X and Y are repeated to it. */
static enum skiff_status pair_walk(const struct kernel *k, struct shape *wide, int64_t *sx,
                                   int64_t *sy, struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, X)->shape, *y = &kernel_in(k, Y)->shape;
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    if (!broadcast_shape(x, y, -1, wide) || !repeat_strides(x, wide, sx) ||
        !repeat_strides(y, wide, sy))
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Y do not fit");
    return SKIFF_OK;
}

static enum skiff_status dist_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    double p = (double)k->attr[0].f, sum = 0;
    int64_t sx[TENSOR_MAX_DIMS], sy[TENSOR_MAX_DIMS];
    struct shape wide;
    TRY(pair_walk(k, &wide, sx, sy, err));
    double top = 0, low = (double)INFINITY;
    DISPATCH_FLOAT(x->dtype, T, {
        const T *a = x->data, *b = y->data;
        for (int64_t i = 0; i < shape_numel(&wide); i++) {
            double z = fabs((double)(a[strides_at(&wide, sx, i)] - b[strides_at(&wide, sy, i)]));
            top = fmax(top, z);
            low = fmin(low, z);
            sum += p == 0 ? z != 0 : isinf(p) ? 0 : pow(z, p);
        }
        double out = isinf(p) ? (p > 0 ? top : low) : p == 0 ? sum : pow(sum, 1 / p);
        *(T *)kernel_out(k, 0)->data = (T)out;
    })
    return SKIFF_OK;
}

/* The slope of the norm at a difference z; out is the norm. */
static double dist_slope(double p, double z, double out)
{
    double sign = (z > 0) - (z < 0), a = fabs(z);
    if (p == 0 || out == 0)
        return 0;
    if (isinf(p))
        return a == out ? sign : 0;
    return a == 0 ? 0 : sign * pow(a / out, p - 1);
}

static enum skiff_status dist_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int64_t sx[TENSOR_MAX_DIMS], sy[TENSOR_MAX_DIMS];
    struct shape wide;
    TRY(pair_walk(k, &wide, sx, sy, err));
    TRY(kernel_want_elements(k, DI_OUT, x->dtype, 1, err));
    TRY(kernel_want_elements(k, DI_DOUT, x->dtype, 1, err));
    clear_grads(k);
    double out = tensor_read_number(kernel_in(k, DI_OUT));
    double up = tensor_read_number(kernel_in(k, DI_DOUT));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *a = x->data, *b = y->data;
        T *dx = kernel_out_data(k, X), *dy = kernel_out_data(k, Y);
        for (int64_t i = 0; i < shape_numel(&wide); i++) {
            int64_t ax = strides_at(&wide, sx, i), ay = strides_at(&wide, sy, i);
            T slope = (T)(up * dist_slope((double)k->attr[0].f, (double)(a[ax] - b[ay]), out));
            if (dx)
                dx[ax] += slope;
            if (dy)
                dy[ay] -= slope;
        }
    })
    return SKIFF_OK;
}

/* ---- lerp ---- */
enum { LE_X, LE_Y, LE_WEIGHT, LE_DOUT };

struct lerp_walk {
    struct shape out;
    int64_t strides[3][TENSOR_MAX_DIMS]; /* of X, Y, Weight */
};

static bool lerp_shape(const struct shape *x, const struct shape *y, const struct shape *w,
                       struct shape *out)
{
    struct shape pair;
    return broadcast_shape(x, y, -1, &pair) && broadcast_shape(&pair, w, -1, out);
}

static enum skiff_status lerp_infer(struct infer *c, struct skiff_error *err)
{
    struct shape out;
    TRY(infer_want_float(c, LE_X, err));
    for (int s = LE_Y; s <= LE_WEIGHT; s++)
        TRY(infer_want(c, s, infer_in_dtype(c, LE_X, 0), err));
    if (!lerp_shape(infer_in(c, LE_X, 0), infer_in(c, LE_Y, 0), infer_in(c, LE_WEIGHT, 0), &out))
        return infer_fail(c, LE_Y, 0, err, "does not fit X and Weight");
    return infer_out(c, 0, 0, infer_in_dtype(c, LE_X, 0), &out, err);
}

static enum skiff_status lerp_walk_of(const struct kernel *k, struct lerp_walk *w,
                                      struct skiff_error *err)
{
    bool fits = lerp_shape(&kernel_in(k, LE_X)->shape, &kernel_in(k, LE_Y)->shape,
                           &kernel_in(k, LE_WEIGHT)->shape, &w->out);
    TRY(kernel_check_dtype(k, LE_X, dtype_is_float, "float32 or float64", err));
    for (int s = LE_X; s <= LE_WEIGHT; s++) {
        TRY(kernel_check_same_dtype(k, s, LE_X, err));
        fits = fits && repeat_strides(&kernel_in(k, s)->shape, &w->out, w->strides[s]);
    }
    return fits ? SKIFF_OK : kernel_fail(k, SKIFF_SHAPE, err, "X, Y and Weight do not fit");
}

static enum skiff_status lerp_run(struct kernel *k, struct skiff_error *err)
{
    struct lerp_walk w;
    TRY(lerp_walk_of(k, &w, err));
    DISPATCH_FLOAT(kernel_in(k, LE_X)->dtype, T, {
        const T *x = kernel_in(k, LE_X)->data, *y = kernel_in(k, LE_Y)->data;
        const T *weight = kernel_in(k, LE_WEIGHT)->data;
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < shape_numel(&w.out); i++) {
            T a = x[strides_at(&w.out, w.strides[LE_X], i)];
            T b = y[strides_at(&w.out, w.strides[LE_Y], i)];
            out[i] = a + weight[strides_at(&w.out, w.strides[LE_WEIGHT], i)] * (b - a);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status lerp_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct lerp_walk w;
    TRY(lerp_walk_of(k, &w, err));
    TRY(kernel_want_elements(k, LE_DOUT, kernel_in(k, LE_X)->dtype, shape_numel(&w.out), err));
    clear_grads(k);
    DISPATCH_FLOAT(kernel_in(k, LE_X)->dtype, T, {
        const T *weight = kernel_in(k, LE_WEIGHT)->data, *d = kernel_in(k, LE_DOUT)->data;
        T *dx = kernel_out_data(k, LE_X), *dy = kernel_out_data(k, LE_Y);
        for (int64_t i = 0; i < shape_numel(&w.out); i++) {
            T share = weight[strides_at(&w.out, w.strides[LE_WEIGHT], i)];
            if (dx)
                dx[strides_at(&w.out, w.strides[LE_X], i)] += d[i] * (1 - share);
            if (dy)
                dy[strides_at(&w.out, w.strides[LE_Y], i)] += d[i] * share;
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot addmm_in[] = {{"Input", 0}, {"X", 0}, {"Y", 0}, {0}};
static const struct op_slot addmm_grad_in[] = {
    {"Input", SLOT_SHAPE_ONLY}, {"X", 0}, {"Y", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot addmm_grad_out[] = {
    {"Input@GRAD", SLOT_OPTIONAL}, {"X@GRAD", SLOT_OPTIONAL}, {"Y@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot mv_in[] = {{"X", 0}, {"Vec", 0}, {0}};
static const struct op_slot mv_grad_in[] = {{"X", 0}, {"Vec", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot mv_grad_out[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Vec@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot xy_in[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot xy_grad_in[] = {{"X", 0}, {"Y", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot xy_grad_out[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Y@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot dist_grad_in[] = {{"X", 0}, {"Y", 0}, {"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot lerp_in[] = {{"X", 0}, {"Y", 0}, {"Weight", 0}, {0}};
static const struct op_slot lerp_grad_in[] = {{"X", SLOT_SHAPE_ONLY},
                                              {"Y", SLOT_SHAPE_ONLY},
                                              {"Weight", 0},
                                              {"Out@GRAD", 0},
                                              {"Out", SLOT_OPTIONAL | SLOT_SHAPE_ONLY},
                                              {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec addmm_attrs[] = {
    A_FLOAT("Beta", 1.0f), A_FLOAT("Alpha", 1.0f), AF_BOOL("use_mkldnn", false, ATTR_ONLY_1X), {0}};
static const struct op_attr_spec cross_attrs[] = {A_INT("dim", 9), {0}};
static const struct op_attr_spec dist_attrs[] = {A_FLOAT("p", 2.0f), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define BY_XY .grad = "X Y Out@GRAD -> X@GRAD Y@GRAD"
#define BY_OUT .grad = "X Y Out Out@GRAD -> X@GRAD Y@GRAD"

const struct op_kind ops_linear[] = {
    KIND("addmm", 0, addmm_in, out_out, addmm_attrs, addmm_infer, addmm_run,
         .grad = "Input X Y Out@GRAD -> Input@GRAD X@GRAD Y@GRAD"),
    KIND("addmm_grad", 0, addmm_grad_in, addmm_grad_out, addmm_attrs, three_grads_infer,
         addmm_grad_run, ),
    KIND("mv", GEN_2X, mv_in, out_out, none, mv_infer, mv_run,
         .grad = "X Vec Out@GRAD -> X@GRAD Vec@GRAD"),
    KIND("mv_grad", GEN_2X, mv_grad_in, mv_grad_out, none, mv_grad_infer, mv_grad_run, ),
    KIND("kron", 0, xy_in, out_out, none, kron_infer, kron_run, BY_XY),
    KIND("kron_grad", 0, xy_grad_in, xy_grad_out, none, both_grads_infer, kron_grad_run, ),
    KIND("cross", 0, xy_in, out_out, cross_attrs, cross_infer, cross_run, BY_XY),
    KIND("cross_grad", 0, xy_grad_in, xy_grad_out, cross_attrs, both_grads_infer, cross_grad_run, ),
    KIND("dist", GEN_1X, xy_in, out_out, dist_attrs, dist_infer, dist_run, BY_OUT,
         .flags = OP_ONE_DIM),
    KIND("dist", GEN_2X, xy_in, out_out, dist_attrs, dist_infer, dist_run, BY_OUT),
    KIND("dist_grad", 0, dist_grad_in, xy_grad_out, dist_attrs, both_grads_infer, dist_grad_run, ),
    KIND("lerp", GEN_2X, lerp_in, out_out, none, lerp_infer, lerp_run,
         .grad = "X Y Weight Out Out@GRAD -> X@GRAD Y@GRAD"),
    KIND("lerp_grad", GEN_2X, lerp_grad_in, xy_grad_out, none, both_grads_infer, lerp_grad_run, ),
    {0},
};
