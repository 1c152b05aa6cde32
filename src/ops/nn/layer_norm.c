/* layer_norm and prelu.
 *
 * layer_norm: X seen as [rows, cols], cut before begin_norm_axis, with m, v = mean and biased
 * variance of the row, s = 1/sqrt(v + epsilon), h = (X - m) s, g = dY Scale:
 *   Y = h Scale + Bias
 *   dX = s (g - mean(g) - h mean(g h))
 *   dScale = sum over rows of dY h, dBias = sum over rows of dY
 *   Mean, Variance: [rows] in 1.x, the leading dims in 2.x
 *
 * prelu: Out = x > 0 ? x : alpha x, alpha one value (all), one per channel (channel) or one per
 *   element of a sample (element); dX = dO or alpha dO, dAlpha = sum of x dO where x <= 0 */
#include <tgmath.h>

#include "ops/seq_common.h"

enum { LN_X, LN_SCALE, LN_BIAS, LN_MEAN, LN_VARIANCE, LN_DY };
enum { LN_EPSILON, LN_AXIS };
enum { FLAT_STATISTICS = 1 }; /* op_kind.arg: Mean and Variance have one dimension (1.x) */

static enum skiff_status ln_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, LN_X, 0);
    int axis = c->attr[LN_AXIS].i;
    TRY(infer_want_float(c, LN_X, err));
    if (axis < 1 || axis >= x->ndim)
        return infer_fail(c, LN_X, 0, err, "begin_norm_axis is %d, must be in [1, %d)", axis,
                          x->ndim);
    int64_t cols = dims_product(x, axis, x->ndim);
    for (int s = LN_SCALE; s <= LN_BIAS; s++) {
        const struct shape *p = infer_in(c, s, 0);
        TRY(infer_want(c, s, infer_in_dtype(c, LN_X, 0), err));
        if (p && !dims_agree(dims_product(p, 0, p->ndim), cols))
            return infer_fail(c, s, 0, err, "must have %lld values", (long long)cols);
    }
    return SKIFF_OK;
}

static enum skiff_status ln_infer(struct infer *c, struct skiff_error *err)
{
    TRY(ln_check(c, err));
    struct shape x = *infer_in(c, LN_X, 0), stat = x;
    stat.ndim = c->attr[LN_AXIS].i;
    if (c->kind->arg == FLAT_STATISTICS)
        stat = SHAPE(dims_product(&x, 0, c->attr[LN_AXIS].i));
    TRY(infer_same(c, LN_X, 0, err));
    TRY(infer_out(c, 1, 0, infer_in_dtype(c, LN_X, 0), &stat, err));
    return infer_out(c, 2, 0, infer_in_dtype(c, LN_X, 0), &stat, err);
}

static enum skiff_status ln_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, LN_X);
    int64_t rows = shape_rows(&x->shape, k->attr[LN_AXIS].i);
    int64_t cols = shape_cols(&x->shape, k->attr[LN_AXIS].i);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *scale = kernel_in_data(k, LN_SCALE), *bias = kernel_in_data(k, LN_BIAS);
        T *mean = kernel_out_data(k, 1), *variance = kernel_out_data(k, 2);
        for (int64_t r = 0; r < rows; r++) {
            const T *from = (T *)x->data + r * cols;
            T *to = (T *)kernel_out(k, 0)->data + r * cols;
            double sum = 0, square = 0;
            for (int64_t i = 0; i < cols; i++)
                sum += (double)from[i];
            double m = sum / (double)cols;
            for (int64_t i = 0; i < cols; i++)
                square += ((double)from[i] - m) * ((double)from[i] - m);
            T v = (T)(square / (double)cols), s = 1.0f / sqrt(v + k->attr[LN_EPSILON].f);
            for (int64_t i = 0; i < cols; i++)
                to[i] = (from[i] - (T)m) * s * (scale ? scale[i] : 1.0f) + (bias ? bias[i] : 0.0f);
            if (mean)
                mean[r] = (T)m;
            if (variance)
                variance[r] = v;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status ln_grad_check(struct infer *c, struct skiff_error *err)
{
    TRY(ln_check(c, err));
    TRY(infer_want(c, LN_DY, infer_in_dtype(c, LN_X, 0), err));
    TRY(infer_want_alike(c, LN_DY, LN_X, err));
    if (infer_has(c, LN_SCALE))
        TRY(infer_like(c, LN_SCALE, 1, err));
    if (infer_has(c, LN_BIAS))
        TRY(infer_like(c, LN_BIAS, 2, err));
    return SKIFF_OK;
}

static enum skiff_status ln_grad_infer_1x(struct infer *c, struct skiff_error *err)
{
    TRY(ln_grad_check(c, err));
    return infer_like(c, LN_X, 0, err);
}
static enum skiff_status ln_grad_infer_2x(struct infer *c, struct skiff_error *err)
{
    TRY(ln_grad_check(c, err));
    return infer_grad_of(c, LN_X, 0, err);
}

/* dX of one row, from its mean m and s. */
#define LN_GRAD_ROW(T, x, dy, scale, m, s, cols, dx)                                \
    {                                                                               \
        double sum_ = 0, sum_h_ = 0;                                                \
        for (int64_t i = 0; i < cols; i++) {                                        \
            T g_ = dy[i] * (scale ? scale[i] : 1.0f);                               \
            sum_ += (double)g_;                                                     \
            sum_h_ += (double)(g_ * (x[i] - m) * s);                                \
        }                                                                           \
        T mean_g_ = (T)(sum_ / (double)cols), mean_h_ = (T)(sum_h_ / (double)cols); \
        for (int64_t i = 0; i < cols; i++) {                                        \
            T g_ = dy[i] * (scale ? scale[i] : 1.0f);                               \
            dx[i] = s * (g_ - mean_g_ - (x[i] - m) * s * mean_h_);                  \
        }                                                                           \
    }

static enum skiff_status ln_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, LN_X);
    int64_t rows = shape_rows(&x->shape, k->attr[LN_AXIS].i);
    int64_t cols = shape_cols(&x->shape, k->attr[LN_AXIS].i);
    TRY(kernel_want_elements(k, LN_MEAN, x->dtype, rows, err));
    TRY(kernel_want_elements(k, LN_VARIANCE, x->dtype, rows, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *dys = kernel_in_data(k, LN_DY), *means = kernel_in_data(k, LN_MEAN);
        const T *variances = kernel_in_data(k, LN_VARIANCE), *scale = kernel_in_data(k, LN_SCALE);
        T *dx = kernel_out_data(k, 0), *dscale = kernel_grad(k, 1, LN_SCALE);
        T *dbias = kernel_grad(k, 2, LN_BIAS);
        for (int64_t i = 0; i < cols; i++) {
            if (dscale)
                dscale[i] = 0;
            if (dbias)
                dbias[i] = 0;
        }
        for (int64_t r = 0; r < rows; r++) {
            const T *from = (T *)x->data + r * cols, *dy = dys + r * cols;
            T m = means[r], s = 1.0f / sqrt(variances[r] + k->attr[LN_EPSILON].f);
            for (int64_t i = 0; i < cols; i++) {
                if (dscale)
                    dscale[i] += dy[i] * (from[i] - m) * s;
                if (dbias)
                    dbias[i] += dy[i];
            }
            if (dx)
                LN_GRAD_ROW(T, from, dy, scale, m, s, cols, (dx + r * cols))
        }
    })
    return SKIFF_OK;
}

/* ---- prelu ---- */

enum { PR_X, PR_ALPHA, PR_DOUT };
enum { PR_MODE, PR_FORMAT };

/* Alpha of element i is alpha[i / inner % count]. */
struct prelu_step {
    int64_t inner, count;
};

static enum skiff_status prelu_steps(const struct infer *c, struct prelu_step *out,
                                     struct skiff_error *err)
{
    const struct shape *x = infer_in(c, PR_X, 0);
    const char *mode = c->attr[PR_MODE].s, *format = c->attr[PR_FORMAT].s;
    bool last = format && !strcmp(format, "NHWC");
    *out = (struct prelu_step){1, 1};
    if (mode && !strcmp(mode, "all"))
        return SKIFF_OK;
    if (x->ndim < 2 || !mode || (strcmp(mode, "channel") && strcmp(mode, "element")))
        return infer_fail(c, PR_X, 0, err, "does not fit mode '%s' (all, channel or element)",
                          mode ? mode : "");
    if (!strcmp(mode, "element"))
        out->count = dims_product(x, 1, x->ndim);
    else if (last)
        out->count = x->dims[x->ndim - 1];
    else
        *out = (struct prelu_step){dims_product(x, 2, x->ndim), x->dims[1]};
    return SKIFF_OK;
}

static enum skiff_status prelu_check(const struct infer *c, struct prelu_step *step,
                                     struct skiff_error *err)
{
    const struct shape *alpha = infer_in(c, PR_ALPHA, 0);
    TRY(infer_want_float(c, PR_X, err));
    TRY(infer_want(c, PR_ALPHA, infer_in_dtype(c, PR_X, 0), err));
    TRY(prelu_steps(c, step, err));
    if (!dims_agree(dims_product(alpha, 0, alpha->ndim), step->count))
        return infer_fail(c, PR_ALPHA, 0, err, "must have %lld values for mode '%s'",
                          (long long)step->count, c->attr[PR_MODE].s);
    return SKIFF_OK;
}

static enum skiff_status prelu_infer(struct infer *c, struct skiff_error *err)
{
    struct prelu_step step;
    TRY(prelu_check(c, &step, err));
    return infer_same(c, PR_X, 0, err);
}

static enum skiff_status prelu_step_of(struct kernel *k, struct prelu_step *out,
                                       struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    return prelu_check(&c, out, err);
}

static enum skiff_status prelu_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, PR_X));
    struct prelu_step step;
    TRY(prelu_step_of(k, &step, err));
    DISPATCH_FLOAT(kernel_in(k, PR_X)->dtype, T, {
        const T *x = kernel_in_data(k, PR_X), *alpha = kernel_in_data(k, PR_ALPHA);
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] > 0 ? x[i] : alpha[i / step.inner % step.count] * x[i];
    })
    return SKIFF_OK;
}

static enum skiff_status prelu_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct prelu_step step;
    TRY(prelu_check(c, &step, err));
    TRY(infer_want(c, PR_DOUT, infer_in_dtype(c, PR_X, 0), err));
    TRY(infer_want_alike(c, PR_DOUT, PR_X, err));
    TRY(infer_like(c, PR_X, 0, err));
    return infer_like(c, PR_ALPHA, 1, err);
}

static enum skiff_status prelu_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, PR_X));
    struct prelu_step step;
    TRY(prelu_step_of(k, &step, err));
    DISPATCH_FLOAT(kernel_in(k, PR_X)->dtype, T, {
        const T *x = kernel_in_data(k, PR_X), *alpha = kernel_in_data(k, PR_ALPHA),
                *dout = kernel_in_data(k, PR_DOUT);
        T *dx = kernel_out_data(k, 0), *dalpha = kernel_out_data(k, 1);
        for (int64_t i = 0; dalpha && i < step.count; i++)
            dalpha[i] = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t a = i / step.inner % step.count;
            if (dx)
                dx[i] = x[i] > 0 ? dout[i] : alpha[a] * dout[i];
            if (dalpha && !(x[i] > 0))
                dalpha[a] += x[i] * dout[i];
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot ln_ins[] = {
    {"X", 0}, {"Scale", SLOT_OPTIONAL}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot ln_outs[] = {
    {"Y", 0}, {"Mean", SLOT_EXTRA}, {"Variance", SLOT_EXTRA}, {0}};
static const struct op_slot ln_grad_ins[] = {
    {"X", 0},    {"Scale", SLOT_OPTIONAL}, {"Bias", SLOT_OPTIONAL},
    {"Mean", 0}, {"Variance", 0},          {"Y@GRAD", 0},
    {0}};
static const struct op_slot ln_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Scale@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec ln_attrs[] = {A_FLOAT("epsilon", 1e-5f),
                                               A_INT("begin_norm_axis", 1),
                                               AF_BOOL("is_test", false, ATTR_ONLY_2X),
                                               AF_STR("mkldnn_data_type", "float32", ATTR_ONLY_2X),
                                               AF_BOOL("use_mkldnn", false, ATTR_ONLY_2X),
                                               {0}};

static const struct op_slot pr_ins[] = {{"X", 0}, {"Alpha", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot pr_grad_ins[] = {{"X", 0}, {"Alpha", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot pr_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Alpha@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec pr_attrs[] = {A_STR("mode", "all"),
                                               AF_STR("data_format", "NCHW", ATTR_ONLY_2X),
                                               AF_BOOL("is_test", false, ATTR_ONLY_2X),
                                               AF_STR("mkldnn_data_type", "float32", ATTR_ONLY_2X),
                                               AF_BOOL("use_mkldnn", false, ATTR_ONLY_2X),
                                               {0}};

#define LN_ROWS(gen, statistics, grad_rule)                                                      \
    {.type = "layer_norm",                                                                       \
     .generations = gen,                                                                         \
     .arg = statistics,                                                                          \
     .ins = ln_ins,                                                                              \
     .outs = ln_outs,                                                                            \
     .attrs = ln_attrs,                                                                          \
     .grad = "X Scale Bias Mean Variance Y@GRAD -> X@GRAD Scale@GRAD Bias@GRAD",                 \
     .infer = ln_infer,                                                                          \
     .run = ln_run},                                                                             \
    {                                                                                            \
        .type = "layer_norm_grad", .generations = gen, .ins = ln_grad_ins, .outs = ln_grad_outs, \
        .attrs = ln_attrs, .infer = grad_rule, .run = ln_grad_run                                \
    }

const struct op_kind ops_layer_norm[] = {LN_ROWS(GEN_1X, FLAT_STATISTICS, ln_grad_infer_1x),
                                         LN_ROWS(GEN_2X, 0, ln_grad_infer_2x),
                                         {.type = "prelu",
                                          .ins = pr_ins,
                                          .outs = out_outs,
                                          .attrs = pr_attrs,
                                          .grad = "X Alpha Out@GRAD -> X@GRAD Alpha@GRAD",
                                          .infer = prelu_infer,
                                          .run = prelu_run},
                                         {.type = "prelu_grad",
                                          .ins = pr_grad_ins,
                                          .outs = pr_grad_outs,
                                          .attrs = pr_attrs,
                                          .infer = prelu_grad_infer,
                                          .run = prelu_grad_run},
                                         {0}};
