/* Rearranging channels and pixels: unfold, pixel_shuffle, maxout, lrn; and spectral_norm, which
 * filters of convolutions are scaled by.
 *
 *   unfold         Y[n, (c, i, j), l] = the pixel that filter place (i, j) of position l meets in
 *                  channel c; the gradient adds them back
 *   pixel_shuffle  channels c r r + i r + j become pixels (h r + i, w r + j) of channel c
 *   maxout         the largest of every `groups` channels; its gradient goes to the first of them
 *   lrn            MidOut = k + alpha sum of x^2 over the n channels around, Out = x MidOut^-beta
 *                  dX = d MidOut^-beta - 2 alpha beta x sum of d Out / MidOut over those n
 *   spectral_norm  Weight seen as a matrix W by one dim; u, v by power_iters iterations of
 *                  v = W^T u, u = W v, each made 1 long; Out = Weight / s, s = u^T W v
 *                  dWeight = (d - u v^T sum(d Out)) / s */
#include "ops/seq_common.h"

#include <tgmath.h>

/* ---- unfold ---- */
enum { UF_KERNEL, UF_STRIDES, UF_PADDINGS, UF_DILATIONS };

struct unfold {
    int64_t n, channels, in[2], out[2], kernel[2], stride[2], before[2], dilation[2];
};

/* error text, or NULL. out is -1 if the size is unknown. */
static const char *unfold_init(struct unfold *u, const struct shape *x,
                               const struct attr_value *attr)
{
    if (x->ndim != 4)
        return "must have 4 dimensions";
    if (attr[UF_KERNEL].n != 2 || attr[UF_STRIDES].n != 2 || attr[UF_DILATIONS].n != 2 ||
        attr[UF_PADDINGS].n != 4)
        return "2 kernel_sizes, strides and dilations and 4 paddings are needed";
    *u = (struct unfold){.n = x->dims[0], .channels = x->dims[1]};
    for (int a = 0; a < 2; a++) {
        u->in[a] = x->dims[2 + a];
        u->kernel[a] = attr[UF_KERNEL].ints[a];
        u->stride[a] = attr[UF_STRIDES].ints[a];
        u->dilation[a] = attr[UF_DILATIONS].ints[a];
        u->before[a] = attr[UF_PADDINGS].ints[a];
        int64_t after = attr[UF_PADDINGS].ints[2 + a];
        if (u->kernel[a] < 1 || u->stride[a] < 1 || u->dilation[a] < 1 || u->before[a] < 0 ||
            after < 0)
            return "kernel_sizes, strides and dilations must be positive, paddings not negative";
        int64_t capacity =
            u->in[a] + u->before[a] + after - u->dilation[a] * (u->kernel[a] - 1) - 1;
        u->out[a] = u->in[a] < 0 ? -1 : capacity / u->stride[a] + 1;
        if (u->in[a] >= 0 && capacity < 0)
            return "is smaller than the kernel";
    }
    return NULL;
}

static enum skiff_status unfold_infer(struct infer *c, struct skiff_error *err)
{
    struct unfold u;
    const char *wrong = unfold_init(&u, infer_in(c, 0, 0), c->attr);
    if (wrong)
        return infer_fail(c, 0, 0, err, "%s", wrong);
    int64_t depth = u.channels < 0 ? -1 : u.channels * u.kernel[0] * u.kernel[1];
    struct shape y = SHAPE(u.n, depth, u.out[0] < 0 || u.out[1] < 0 ? -1 : u.out[0] * u.out[1]);
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &y, err);
}

/* Offset of the pixel in X of element i of Y; -1: padding. */
static int64_t unfold_at(const struct unfold *u, int64_t i)
{
    int64_t width = u->out[1], l = i % (u->out[0] * width), row = i / (u->out[0] * width);
    int64_t j = row % u->kernel[1], h = row / u->kernel[1] % u->kernel[0];
    int64_t plane = row / (u->kernel[0] * u->kernel[1]);
    int64_t y = l / width * u->stride[0] - u->before[0] + h * u->dilation[0];
    int64_t x = l % width * u->stride[1] - u->before[1] + j * u->dilation[1];
    bool inside = y >= 0 && y < u->in[0] && x >= 0 && x < u->in[1];
    return inside ? (plane * u->in[0] + y) * u->in[1] + x : -1;
}

static enum skiff_status unfold_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct unfold u;
    TRY(kernel_check_dtype(k, 0, dtype_is_number, "a number", err));
    unfold_init(&u, &x->shape, k->attr);
    int64_t n = tensor_numel(kernel_out(k, 0));
    DISPATCH_NUMBER(x->dtype, T, {
        T *y = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = unfold_at(&u, i);
            y[i] = at < 0 ? 0 : ((const T *)x->data)[at];
        }
    })
    return SKIFF_OK;
}

static enum skiff_status first_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, 0, 0, err);
}

static enum skiff_status unfold_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct unfold u;
    if (!dx)
        return SKIFF_OK;
    const char *wrong = unfold_init(&u, &dx->shape, k->attr);
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "X %s", wrong);
    int64_t n = u.n * u.channels * u.kernel[0] * u.kernel[1] * u.out[0] * u.out[1];
    TRY(kernel_want_elements(k, 1, dx->dtype, n, err));
    tensor_clear(dx);
    DISPATCH_FLOAT(dx->dtype, T, {
        const T *dy = kernel_in(k, 1)->data;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = unfold_at(&u, i);
            if (at >= 0)
                ((T *)dx->data)[at] += dy[i];
        }
    })
    return SKIFF_OK;
}

/* ---- pixel_shuffle ---- */
enum { PS_FACTOR, PS_FORMAT };

static bool pixels_last(const struct attr_value *attr)
{
    return attr[PS_FORMAT].s && !strcmp(attr[PS_FORMAT].s, "NHWC");
}

/* The large picture's shape, of the small one (grow) or the other way round. */
static enum skiff_status shuffle_shape(struct infer *c, bool grow, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0);
    int64_t r = c->attr[PS_FACTOR].i;
    bool last = pixels_last(c->attr);
    TRY(infer_want_rank(c, 0, 4, err));
    for (int i = 1; i < 4; i++) {
        bool channel = i == (last ? 3 : 1), divide = channel == grow;
        int64_t by = channel ? r * r : r;
        if (r < 1 || (s.dims[i] >= 0 && divide && s.dims[i] % by))
            return infer_fail(c, 0, 0, err, "dim %d is not a multiple of %lld", i, (long long)by);
        s.dims[i] = s.dims[i] < 0 ? -1 : divide ? s.dims[i] / by : s.dims[i] * by;
    }
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}
static enum skiff_status shuffle_infer(struct infer *c, struct skiff_error *err)
{
    return shuffle_shape(c, true, err);
}
static enum skiff_status shuffle_grad_infer(struct infer *c, struct skiff_error *err)
{
    return shuffle_shape(c, false, err);
}

/* Walk over [n, c, i, j, h, w] with strides of the small and the large picture. */
static void shuffle_walk(const struct shape *small, int64_t r, bool last, struct strided *s)
{
    int64_t n = small->dims[0], h = small->dims[last ? 1 : 2], w = small->dims[last ? 2 : 3];
    int64_t c = small->dims[last ? 3 : 1] / (r * r);
    int64_t dims[6] = {n, c, r, r, h, w};
    int64_t from_first[6] = {c * r * r * h * w, r * r * h * w, r * h * w, h * w, w, 1};
    int64_t to_first[6] = {c * r * r * h * w, r * r * h * w, w * r, 1, r * w * r, r};
    int64_t from_last[6] = {c * r * r * h * w, r * r, r, 1, w * c * r * r, c * r * r};
    int64_t to_last[6] = {c * r * r * h * w, 1, w * r * c, c, r * w * r * c, r * c};
    s->ndim = 6;
    memcpy(s->dims, dims, sizeof(dims));
    memcpy(s->src, last ? from_last : from_first, sizeof(dims));
    memcpy(s->dst, last ? to_last : to_first, sizeof(dims));
}

static enum skiff_status shuffle_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct strided s;
    shuffle_walk(&x->shape, k->attr[PS_FACTOR].i, pixels_last(k->attr), &s);
    strided_copy(&s, dtype_size(x->dtype), x->data, kernel_out(k, 0)->data);
    return SKIFF_OK;
}

static enum skiff_status shuffle_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, 0);
    struct strided s, back;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    shuffle_walk(&kernel_out(k, 0)->shape, k->attr[PS_FACTOR].i, pixels_last(k->attr), &s);
    back = s;
    memcpy(back.src, s.dst, sizeof(back.src));
    memcpy(back.dst, s.src, sizeof(back.dst));
    strided_copy(&back, dtype_size(d->dtype), d->data, kernel_out(k, 0)->data);
    return SKIFF_OK;
}

/* ---- maxout ---- */
enum { MO_GROUPS, MO_AXIS };
enum { MG_X, MG_DOUT, MG_OUT };

static enum skiff_status maxout_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0);
    int64_t groups = c->attr[MO_GROUPS].i;
    int a;
    TRY(infer_want_float(c, 0, err));
    TRY(infer_axis(c, 0, "axis", c->attr[MO_AXIS].i, s.ndim, &a, err));
    if (groups < 1 || (s.dims[a] >= 0 && s.dims[a] % groups))
        return infer_fail(c, 0, 0, err, "%lld channels cannot be put into groups of %lld",
                          (long long)s.dims[a], (long long)groups);
    s.dims[a] = s.dims[a] < 0 ? -1 : s.dims[a] / groups;
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}

/* Lines of the result: Out element i is the largest of X at first + g * inner. */
static int64_t maxout_first(struct axis_view out, int64_t groups, int64_t i)
{
    return i / out.inner * groups * out.inner + i % out.inner;
}

static enum skiff_status maxout_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    struct axis_view l = shape_lines(&out->shape, axis_of(k->attr[MO_AXIS].i, out->shape.ndim));
    int64_t groups = k->attr[MO_GROUPS].i, n = tensor_numel(out);
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t i = 0; i < n; i++) {
            const T *p = (const T *)x->data + maxout_first(l, groups, i);
            T best = *p;
            for (int64_t g = 1; g < groups; g++)
                best = p[g * l.inner] > best ? p[g * l.inner] : best;
            ((T *)out->data)[i] = best;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status maxout_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, MG_X), *out = kernel_in(k, MG_OUT);
    struct tensor *dx = kernel_out(k, 0);
    int64_t groups = k->attr[MO_GROUPS].i, n = tensor_numel(out);
    int axis = axis_of(k->attr[MO_AXIS].i, out->shape.ndim);
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, MG_X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_want_elements(k, MG_DOUT, x->dtype, n, err));
    if (axis < 0 || groups < 1 || n * groups != tensor_numel(x) || out->dtype != x->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Out do not fit");
    struct axis_view l = shape_lines(&out->shape, axis);
    tensor_clear(dx);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *d = kernel_in(k, MG_DOUT)->data;
        for (int64_t i = 0; i < n; i++) {
            const T *p = (const T *)x->data + maxout_first(l, groups, i);
            T *to = (T *)dx->data + maxout_first(l, groups, i), best = ((const T *)out->data)[i];
            int64_t g = 0;
            while (g + 1 < groups && p[g * l.inner] != best)
                g++;
            to[g * l.inner] = d[i];
        }
    })
    return SKIFF_OK;
}

/* ---- lrn ---- */
enum { LR_X, LR_OUT, LR_MID, LR_DOUT };
enum { LR_N, LR_K, LR_ALPHA, LR_BETA, LR_FORMAT };

static enum skiff_status lrn_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_rank(c, 0, 4, err));
    if (c->attr[LR_N].i < 1 || c->attr[LR_N].i % 2 == 0)
        return infer_fail(c, 0, 0, err, "n is %d, must be odd", c->attr[LR_N].i);
    TRY(infer_same(c, 0, 0, err));
    return infer_like(c, 0, 1, err);
}

/* Sum of from[] over the channels around element i of a line, by [outer, channels, inner]. */
static double around(struct axis_view l, int64_t n, const float *from, int64_t i)
{
    int64_t c = i / l.inner % l.n, half = n / 2;
    int64_t low = c - half < 0 ? 0 : c - half, high = c + half >= l.n ? l.n - 1 : c + half;
    double sum = 0;
    for (int64_t j = low; j <= high; j++)
        sum += (double)from[i + (j - c) * l.inner];
    return sum;
}

static struct axis_view lrn_lines(const struct kernel *k, const struct shape *x)
{
    bool last = k->attr[LR_FORMAT].s && !strcmp(k->attr[LR_FORMAT].s, "NHWC");
    return shape_lines(x, last ? 3 : 1);
}

static enum skiff_status lrn_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct axis_view l = lrn_lines(k, &x->shape);
    const float *p = tensor_f32(x);
    float *out = tensor_f32(kernel_out(k, 0)), *squares, *mid = kernel_out_f32(k, 1);
    int64_t n = tensor_numel(x);
    TRY(kernel_floats(k, n, &squares, err));
    for (int64_t i = 0; i < n; i++)
        squares[i] = p[i] * p[i];
    for (int64_t i = 0; i < n; i++) {
        double sum = around(l, k->attr[LR_N].i, squares, i);
        float m = k->attr[LR_K].f + k->attr[LR_ALPHA].f * (float)sum;
        out[i] = p[i] * pow(m, -k->attr[LR_BETA].f);
        if (mid)
            mid[i] = m;
    }
    return SKIFF_OK;
}

static enum skiff_status lrn_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, LR_X);
    int64_t n = tensor_numel(x);
    float *ratio, beta = k->attr[LR_BETA].f;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    for (int s = LR_X; s <= LR_DOUT; s++)
        TRY(kernel_want_floats(k, s, n, err));
    if (x->shape.ndim != 4)
        return kernel_fail(k, SKIFF_SHAPE, err, "X must have 4 dimensions");
    const float *out = kernel_in_f32(k, LR_OUT), *mid = kernel_in_f32(k, LR_MID);
    const float *d = kernel_in_f32(k, LR_DOUT);
    float *dx = tensor_f32(kernel_out(k, 0));
    struct axis_view l = lrn_lines(k, &x->shape);
    TRY(kernel_floats(k, n, &ratio, err));
    for (int64_t i = 0; i < n; i++)
        ratio[i] = d[i] * out[i] / mid[i];
    for (int64_t i = 0; i < n; i++) {
        float sum = (float)around(l, k->attr[LR_N].i, ratio, i);
        dx[i] = d[i] * pow(mid[i], -beta) - 2 * k->attr[LR_ALPHA].f * beta * tensor_f32(x)[i] * sum;
    }
    return SKIFF_OK;
}

/* ---- spectral_norm ---- */
enum { SN_WEIGHT, SN_U, SN_V, SN_DOUT };
enum { SN_DIM, SN_ITERS, SN_EPS };

static enum skiff_status spectral_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *w = infer_in(c, SN_WEIGHT, 0), *u = infer_in(c, SN_U, 0);
    const struct shape *v = infer_in(c, SN_V, 0);
    int dim = c->attr[SN_DIM].i;
    TRY(infer_want_float(c, SN_WEIGHT, err));
    TRY(infer_want(c, SN_U, infer_in_dtype(c, SN_WEIGHT, 0), err));
    TRY(infer_want(c, SN_V, infer_in_dtype(c, SN_WEIGHT, 0), err));
    if (dim < 0 || dim >= w->ndim || c->attr[SN_ITERS].i < 0)
        return infer_fail(c, SN_WEIGHT, 0, err, "dim %d or power_iters %d does not fit", dim,
                          c->attr[SN_ITERS].i);
    int64_t all = dims_product(w, 0, w->ndim), rows = w->dims[dim];
    if (!dims_agree(dims_product(u, 0, u->ndim), rows) ||
        (all >= 0 && rows > 0 && !dims_agree(dims_product(v, 0, v->ndim), all / rows)))
        return infer_fail(c, SN_U, 0, err, "U and V must have the rows and columns of Weight");
    return SKIFF_OK;
}

static enum skiff_status spectral_infer(struct infer *c, struct skiff_error *err)
{
    TRY(spectral_check(c, err));
    return infer_like(c, SN_WEIGHT, 0, err);
}

/* The matrix: element (r, c) lies at line_at; u, v after the iterations, in scratch. */
struct spectral {
    struct axis_view l;
    int64_t rows, cols;
    double *u, *v, sigma;
};

static int64_t spectral_at(const struct spectral *s, int64_t row, int64_t col)
{
    return (col / s->l.inner * s->l.n + row) * s->l.inner + col % s->l.inner;
}

static void unit(double *p, int64_t n, double eps)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += p[i] * p[i];
    for (int64_t i = 0; i < n; i++)
        p[i] /= sqrt(square) + eps;
}

/* to = W from (rows of it) or W^T from. */
static void spectral_times(const struct spectral *s, const struct tensor *w, bool transposed,
                           const double *from, double *to)
{
    memset(to, 0, (size_t)(transposed ? s->cols : s->rows) * sizeof(double));
    DISPATCH_FLOAT(w->dtype, T, {
        for (int64_t r = 0; r < s->rows; r++)
            for (int64_t c = 0; c < s->cols; c++) {
                double e = (double)((const T *)w->data)[spectral_at(s, r, c)];
                if (transposed)
                    to[c] += e * from[r];
                else
                    to[r] += e * from[c];
            }
    })
}

static enum skiff_status spectral_of(struct kernel *k, struct spectral *s, struct skiff_error *err)
{
    const struct tensor *w = kernel_in(k, SN_WEIGHT);
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    double eps = (double)k->attr[SN_EPS].f;
    void *capacity;
    TRY(spectral_check(&c, err));
    *s = (struct spectral){.l = shape_lines(&w->shape, k->attr[SN_DIM].i)};
    s->rows = s->l.n;
    s->cols = s->l.outer * s->l.inner;
    TRY(kernel_scratch(k, (size_t)(2 * s->rows + s->cols + 1) * sizeof(double), &capacity, err));
    s->u = capacity;
    s->v = s->u + s->rows;
    double *wv = s->v + s->cols;
    DISPATCH_FLOAT(w->dtype, T, {
        for (int64_t i = 0; i < s->rows; i++)
            s->u[i] = (double)((const T *)kernel_in(k, SN_U)->data)[i];
        for (int64_t i = 0; i < s->cols; i++)
            s->v[i] = (double)((const T *)kernel_in(k, SN_V)->data)[i];
    })
    for (int i = 0; i < k->attr[SN_ITERS].i; i++) {
        spectral_times(s, w, true, s->u, s->v);
        unit(s->v, s->cols, eps);
        spectral_times(s, w, false, s->v, s->u);
        unit(s->u, s->rows, eps);
    }
    spectral_times(s, w, false, s->v, wv);
    for (int64_t i = 0; i < s->rows; i++)
        s->sigma += s->u[i] * wv[i];
    return SKIFF_OK;
}

static enum skiff_status spectral_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *w = kernel_in(k, SN_WEIGHT);
    struct spectral s;
    TRY(spectral_of(k, &s, err));
    DISPATCH_FLOAT(w->dtype, T, {
        for (int64_t i = 0; i < tensor_numel(w); i++)
            ((T *)kernel_out(k, 0)->data)[i] = (T)((double)((const T *)w->data)[i] / s.sigma);
    })
    return SKIFF_OK;
}

static enum skiff_status spectral_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *w = kernel_in(k, SN_WEIGHT);
    struct spectral s;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(kernel_want_elements(k, SN_DOUT, w->dtype, tensor_numel(w), err));
    TRY(spectral_of(k, &s, err));
    DISPATCH_FLOAT(w->dtype, T, {
        const T *d = kernel_in(k, SN_DOUT)->data, *p = w->data;
        T *dw = kernel_out(k, 0)->data;
        double sum = 0;
        for (int64_t i = 0; i < tensor_numel(w); i++)
            sum += (double)d[i] * (double)p[i] / s.sigma;
        for (int64_t r = 0; r < s.rows; r++)
            for (int64_t c = 0; c < s.cols; c++) {
                int64_t at = spectral_at(&s, r, c);
                dw[at] = (T)(((double)d[at] - s.u[r] * s.v[c] * sum) / s.sigma);
            }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot y_out[] = {{"Y", 0}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot unfold_grad_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Y@GRAD", 0}, {0}};
static const struct op_slot dout_in[] = {{"Out@GRAD", 0}, {0}};
static const struct op_slot maxout_grad_in[] = {{"X", 0}, {"Out@GRAD", 0}, {"Out", 0}, {0}};
static const struct op_slot lrn_out[] = {{"Out", 0}, {"MidOut", 0}, {0}};
static const struct op_slot lrn_grad_in[] = {
    {"X", 0}, {"Out", 0}, {"MidOut", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot spectral_in[] = {{"Weight", 0}, {"U", 0}, {"V", 0}, {0}};
static const struct op_slot spectral_grad_in[] = {
    {"Weight", 0}, {"U", 0}, {"V", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot dweight_out[] = {{"Weight@GRAD", SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec unfold_attrs[] = {A_REQ("kernel_sizes", ATTR_INTS),
                                                   A_REQ("strides", ATTR_INTS),
                                                   A_REQ("paddings", ATTR_INTS),
                                                   A_REQ("dilations", ATTR_INTS),
                                                   {0}};
static const struct op_attr_spec shuffle_attrs[] = {
    A_INT("upscale_factor", 1), AF_STR("data_format", "NCHW", ATTR_ONLY_2X), {0}};
static const struct op_attr_spec maxout_attrs[] = {
    A_REQ("groups", ATTR_INT), A_INT("axis", 1), {0}};
static const struct op_attr_spec lrn_attrs[] = {A_INT("n", 5),
                                                A_FLOAT("k", 2.0f),
                                                A_FLOAT("alpha", 1e-4f),
                                                A_FLOAT("beta", 0.75f),
                                                A_STR("data_format", "AnyLayout"),
                                                A_BOOL("use_mkldnn", false),
                                                A_BOOL("is_test", false),
                                                {0}};
static const struct op_attr_spec spectral_attrs[] = {
    A_INT("dim", 0), A_INT("power_iters", 1), A_FLOAT("eps", 1e-12f), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }

const struct op_kind ops_image[] = {
    KIND("unfold", 0, x_in, y_out, unfold_attrs, unfold_infer, unfold_run,
         .grad = "X Y@GRAD -> X@GRAD"),
    KIND("unfold_grad", 0, unfold_grad_in, dx_out, unfold_attrs, first_infer, unfold_grad_run, ),
    KIND("pixel_shuffle", 0, x_in, out_out, shuffle_attrs, shuffle_infer, shuffle_run,
         .grad = "Out@GRAD -> X@GRAD"),
    KIND("pixel_shuffle_grad", 0, dout_in, dx_out, shuffle_attrs, shuffle_grad_infer,
         shuffle_grad_run, ),
    KIND("maxout", 0, x_in, out_out, maxout_attrs, maxout_infer, maxout_run,
         .grad = "X Out Out@GRAD -> X@GRAD"),
    KIND("maxout_grad", 0, maxout_grad_in, dx_out, maxout_attrs, first_infer, maxout_grad_run, ),
    KIND("lrn", GEN_1X, x_in, lrn_out, lrn_attrs, lrn_infer, lrn_run,
         .grad = "X Out MidOut Out@GRAD -> X@GRAD"),
    KIND("lrn_grad", GEN_1X, lrn_grad_in, dx_out, lrn_attrs, first_infer, lrn_grad_run, ),
    KIND("spectral_norm", 0, spectral_in, out_out, spectral_attrs, spectral_infer, spectral_run,
         .grad = "Weight U V Out@GRAD -> Weight@GRAD"),
    KIND("spectral_norm_grad", 0, spectral_grad_in, dweight_out, spectral_attrs, first_infer,
         spectral_grad_run, ),
    {0},
};
