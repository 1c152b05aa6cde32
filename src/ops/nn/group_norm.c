/* group_norm and instance_norm: every sample's channels in groups, each normalised by itself.
 *
 * With m, v = mean and biased variance of a group, s = 1 / sqrt(v + epsilon), h = (X - m) s, and a
 * Scale and Bias for every channel, g = dY Scale, n elements in a group:
 *   Y = h Scale + Bias
 *   dX = s (g - mean(g) - h mean(g h));  dScale = sum of dY h, dBias = sum of dY, per channel
 * instance_norm has one channel to a group. It keeps m and s; group_norm keeps m and v. The
 * gradient op of group_norm in 1.x has neither X nor Mean: h = (Y - Bias) / Scale. */
#include "ops/seq_common.h"

#include <tgmath.h>

/* Element i of channel c of a group of a sample. */
struct view {
    int64_t n, groups, per_group, inner;
    bool last; /* channels last */
};

static int64_t view_at(const struct view *v, int64_t sample, int64_t channel, int64_t i)
{
    int64_t channels = v->groups * v->per_group;
    return v->last ? (sample * v->inner + i) * channels + channel
                   : (sample * channels + channel) * v->inner + i;
}

enum { GN_X, GN_SCALE, GN_BIAS };
enum { GN_EPSILON, GN_GROUPS, GN_LAYOUT };
/* gradient ops */
enum { GG_X, GG_SCALE, GG_BIAS, GG_Y, GG_MEAN, GG_VARIANCE, GG_DY };
enum { IG_X, IG_SCALE, IG_MEAN, IG_VARIANCE, IG_DY };

/* `groups` 0: one for each channel. */
static enum skiff_status view_of(const struct infer *c, int slot, int64_t groups, bool last,
                                 struct view *v, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, slot, 0);
    TRY(infer_want_float(c, slot, err));
    if (x->ndim < 2)
        return infer_fail(c, slot, 0, err, "must have at least 2 dimensions");
    int64_t channels = x->dims[last ? x->ndim - 1 : 1];
    int64_t inner = last ? dims_product(x, 1, x->ndim - 1) : dims_product(x, 2, x->ndim);
    groups = groups ? groups : channels;
    *v = (struct view){x->dims[0], groups, channels < 0 ? -1 : channels / (groups > 0 ? groups : 1),
                       inner, last};
    if (groups < 1 || (channels >= 0 && channels % groups))
        return infer_fail(c, slot, 0, err, "%lld channels cannot be put into %lld groups",
                          (long long)channels, (long long)groups);
    for (int s = GN_SCALE; s <= GN_BIAS && c->kind->ins[s].name; s++) {
        const struct shape *p = infer_in(c, s, 0);
        bool is_parameter = !strcmp(c->kind->ins[s].name, s == GN_SCALE ? "Scale" : "Bias");
        if (!p || !is_parameter)
            continue;
        TRY(infer_want(c, s, infer_in_dtype(c, slot, 0), err));
        if (!dims_agree(dims_product(p, 0, p->ndim), channels))
            return infer_fail(c, s, 0, err, "must have one value for each of %lld channels",
                              (long long)channels);
    }
    return SKIFF_OK;
}

static bool channels_last(const struct attr_value *attr)
{
    return attr[GN_LAYOUT].s && !strcmp(attr[GN_LAYOUT].s, "NHWC");
}

static enum skiff_status group_view(const struct infer *c, int slot, struct view *v,
                                    struct skiff_error *err)
{
    int32_t groups = c->attr[GN_GROUPS].i;
    return view_of(c, slot, groups > 0 ? groups : -1, channels_last(c->attr), v, err);
}
static enum skiff_status instance_view(const struct infer *c, int slot, struct view *v,
                                       struct skiff_error *err)
{
    return view_of(c, slot, 0, false, v, err);
}

/* Mean and variance of one group, in double for both types. */
static void group_stats(const struct view *v, const struct tensor *x, int64_t sample, int64_t group,
                        double *mean, double *variance)
{
    int64_t n = v->per_group * v->inner, first = group * v->per_group;
    double sum = 0, square = 0, m = 0;
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data;
        for (int64_t i = 0; i < n; i++)
            sum += (double)p[view_at(v, sample, first + i / v->inner, i % v->inner)];
        m = sum / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double d = (double)p[view_at(v, sample, first + i / v->inner, i % v->inner)] - m;
            square += d * d;
        }
    })
    *mean = m;
    *variance = square / (double)n;
}

/* keep_s: the second statistic is s, not the variance. */
static void normalise(struct kernel *k, const struct view *v, bool keep_s)
{
    const struct tensor *x = kernel_in(k, GN_X);
    int64_t n = v->per_group * v->inner;
    for (int64_t g = 0; n && g < v->n * v->groups; g++) {
        int64_t sample = g / v->groups, first = g % v->groups * v->per_group;
        double mean, variance;
        group_stats(v, x, sample, g % v->groups, &mean, &variance);
        DISPATCH_FLOAT(x->dtype, T, {
            const T *p = x->data, *scale = kernel_in_data(k, GN_SCALE);
            const T *bias = kernel_in_data(k, GN_BIAS);
            T *y = kernel_out(k, 0)->data, *means = kernel_out_data(k, 1);
            T *spread = kernel_out_data(k, 2);
            T m = (T)mean, s = 1 / sqrt((T)variance + k->attr[GN_EPSILON].f);
            for (int64_t i = 0; i < n; i++) {
                int64_t c = first + i / v->inner, at = view_at(v, sample, c, i % v->inner);
                y[at] = (p[at] - m) * s * (scale ? scale[c] : 1) + (bias ? bias[c] : 0);
            }
            if (means)
                means[g] = m;
            if (spread)
                spread[g] = keep_s ? s : (T)variance;
        })
    }
}

/* Operands of the gradient of one group; x NULL: h is computed from y. */
struct group_grad {
    const void *x, *y, *dy, *scale, *bias, *mean, *spread;
    void *dx, *dscale, *dbias;
    double epsilon;
    bool has_s;
};

static void group_backward(const struct view *v, enum dtype t, const struct group_grad *a,
                           int64_t g)
{
    int64_t n = v->per_group * v->inner, sample = g / v->groups;
    int64_t first = g % v->groups * v->per_group;
    DISPATCH_FLOAT(t, T, {
        const T *x = a->x, *y = a->y, *dy = a->dy, *scale = a->scale, *bias = a->bias;
        T *dx = a->dx, *dscale = a->dscale, *dbias = a->dbias, m = x ? ((const T *)a->mean)[g] : 0;
        T s = ((const T *)a->spread)[g];
        double sum = 0, sum_h = 0;
        s = a->has_s ? s : 1 / sqrt(s + (T)a->epsilon);
        for (int pass = 0; pass < (dx ? 2 : 1); pass++)
            for (int64_t i = 0; i < n; i++) {
                int64_t c = first + i / v->inner, at = view_at(v, sample, c, i % v->inner);
                T by = scale ? scale[c] : 1;
                T h = x ? (x[at] - m) * s : by != 0 ? (y[at] - (bias ? bias[c] : 0)) / by : 0;
                if (pass) {
                    double rest = (sum + (double)h * sum_h) / (double)n;
                    dx[at] = s * (T)((double)(dy[at] * by) - rest);
                    continue;
                }
                sum += (double)(dy[at] * by);
                sum_h += (double)(dy[at] * by * h);
                if (dscale)
                    dscale[c] += dy[at] * h;
                if (dbias)
                    dbias[c] += dy[at];
            }
    })
}

static void all_backward(struct kernel *k, const struct view *v, enum dtype t, struct group_grad *a)
{
    for (int s = 1; s <= 2; s++)
        if (kernel_wants(k, s))
            tensor_clear(kernel_out(k, s));
    a->dx = kernel_out_data(k, 0);
    a->dscale = kernel_out_data(k, 1);
    a->dbias = kernel_out_data(k, 2);
    for (int64_t g = 0; v->per_group * v->inner > 0 && g < v->n * v->groups; g++)
        group_backward(v, t, a, g);
}

/* X@GRAD, Scale@GRAD, Bias@GRAD. */
static enum skiff_status grads_infer(struct infer *c, int like, const struct view *v,
                                     struct skiff_error *err)
{
    struct shape channels = SHAPE(v->per_group < 0 ? -1 : v->groups * v->per_group);
    enum dtype t = infer_in_dtype(c, like, 0);
    TRY(infer_like(c, like, 0, err));
    TRY(infer_out(c, 1, 0, t, &channels, err));
    return infer_out(c, 2, 0, t, &channels, err);
}

/* ---- group_norm ---- */

static enum skiff_status group_infer(struct infer *c, struct skiff_error *err)
{
    struct view v;
    TRY(group_view(c, GN_X, &v, err));
    struct shape stat = SHAPE(v.n, v.groups);
    enum dtype t = infer_in_dtype(c, GN_X, 0);
    TRY(infer_like(c, GN_X, 0, err));
    TRY(infer_out(c, 1, 0, t, &stat, err));
    return infer_out(c, 2, 0, t, &stat, err);
}

static enum skiff_status group_run(struct kernel *k, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    struct view v;
    TRY(group_view(&c, GN_X, &v, err));
    normalise(k, &v, false);
    return SKIFF_OK;
}

static enum skiff_status group_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct view v;
    TRY(group_view(c, GG_DY, &v, err));
    return grads_infer(c, GG_DY, &v, err);
}

static enum skiff_status group_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    const struct tensor *dy = kernel_in(k, GG_DY);
    struct view v;
    TRY(group_view(&c, GG_DY, &v, err));
    int from = kernel_has(k, GG_X) ? GG_X : GG_Y;
    TRY(kernel_want_elements(k, from, dy->dtype, tensor_numel(dy), err));
    if (from == GG_X)
        TRY(kernel_want_elements(k, GG_MEAN, dy->dtype, v.n * v.groups, err));
    TRY(kernel_want_elements(k, GG_VARIANCE, dy->dtype, v.n * v.groups, err));
    struct group_grad a = {.x = kernel_in_data(k, GG_X),
                           .y = kernel_in_data(k, GG_Y),
                           .dy = dy->data,
                           .scale = kernel_in_data(k, GG_SCALE),
                           .bias = kernel_in_data(k, GG_BIAS),
                           .mean = kernel_in_data(k, GG_MEAN),
                           .spread = kernel_in_data(k, GG_VARIANCE),
                           .epsilon = (double)k->attr[GN_EPSILON].f};
    all_backward(k, &v, dy->dtype, &a);
    return SKIFF_OK;
}

/* ---- instance_norm ---- */

static enum skiff_status instance_infer(struct infer *c, struct skiff_error *err)
{
    struct view v;
    TRY(instance_view(c, GN_X, &v, err));
    struct shape stat = SHAPE(v.n < 0 || v.groups < 0 ? -1 : v.n * v.groups);
    enum dtype t = infer_in_dtype(c, GN_X, 0);
    TRY(infer_like(c, GN_X, 0, err));
    TRY(infer_out(c, 1, 0, t, &stat, err));
    return infer_out(c, 2, 0, t, &stat, err);
}

static enum skiff_status instance_run(struct kernel *k, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    struct view v;
    TRY(instance_view(&c, GN_X, &v, err));
    normalise(k, &v, true);
    return SKIFF_OK;
}

static enum skiff_status instance_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct view v;
    TRY(instance_view(c, IG_X, &v, err));
    return grads_infer(c, IG_X, &v, err);
}

static enum skiff_status instance_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    const struct tensor *x = kernel_in(k, IG_X);
    struct view v;
    TRY(instance_view(&c, IG_X, &v, err));
    TRY(kernel_want_elements(k, IG_DY, x->dtype, tensor_numel(x), err));
    TRY(kernel_want_elements(k, IG_MEAN, x->dtype, v.n * v.groups, err));
    TRY(kernel_want_elements(k, IG_VARIANCE, x->dtype, v.n * v.groups, err));
    struct group_grad a = {.x = x->data,
                           .dy = kernel_in_data(k, IG_DY),
                           .scale = kernel_in_data(k, IG_SCALE),
                           .mean = kernel_in_data(k, IG_MEAN),
                           .spread = kernel_in_data(k, IG_VARIANCE),
                           .has_s = true};
    all_backward(k, &v, x->dtype, &a);
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot ins[] = {
    {"X", 0}, {"Scale", SLOT_OPTIONAL}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot group_outs[] = {
    {"Y", 0}, {"Mean", SLOT_EXTRA}, {"Variance", SLOT_EXTRA}, {0}};
static const struct op_slot instance_outs[] = {
    {"Y", 0}, {"SavedMean", SLOT_EXTRA}, {"SavedVariance", SLOT_EXTRA}, {0}};
static const struct op_slot group_grad_ins[] = {{"X", SLOT_OPTIONAL},    {"Scale", SLOT_OPTIONAL},
                                                {"Bias", SLOT_OPTIONAL}, {"Y", SLOT_OPTIONAL},
                                                {"Mean", SLOT_OPTIONAL}, {"Variance", 0},
                                                {"Y@GRAD", 0},           {0}};
static const struct op_slot instance_grad_ins[] = {
    {"X", 0}, {"Scale", SLOT_OPTIONAL}, {"SavedMean", 0}, {"SavedVariance", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_slot grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Scale@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec group_attrs_1x[] = {
    A_FLOAT("epsilon", 1e-5f), A_REQ("groups", ATTR_INT), A_STR("data_layout", "NCHW"), {0}};
static const struct op_attr_spec group_attrs_2x[] = {
    A_FLOAT("epsilon", 1e-5f), A_INT("groups", -1), A_STR("data_layout", "NCHW"), {0}};
static const struct op_attr_spec instance_attrs[] = {A_FLOAT("epsilon", 1e-5f), {0}};

#define GRADS " -> X@GRAD Scale@GRAD Bias@GRAD"
#define GROUP(gen, a, line)                                                                      \
    {.type = "group_norm",                                                                       \
     .generations = gen,                                                                         \
     .ins = ins,                                                                                 \
     .outs = group_outs,                                                                         \
     .attrs = a,                                                                                 \
     .grad = line GRADS,                                                                         \
     .infer = group_infer,                                                                       \
     .run = group_run},                                                                          \
    {                                                                                            \
        .type = "group_norm_grad", .generations = gen, .ins = group_grad_ins, .outs = grad_outs, \
        .attrs = a, .infer = group_grad_infer, .run = group_grad_run                             \
    }

const struct op_kind ops_group_norm[] = {
    GROUP(GEN_1X, group_attrs_1x, "Scale Bias Y Variance Y@GRAD"),
    GROUP(GEN_2X, group_attrs_2x, "X Scale Bias Y Mean Variance Y@GRAD"),
    {.type = "instance_norm",
     .ins = ins,
     .outs = instance_outs,
     .attrs = instance_attrs,
     .grad = "X Scale SavedMean SavedVariance Y@GRAD" GRADS,
     .infer = instance_infer,
     .run = instance_run},
    {.type = "instance_norm_grad",
     .ins = instance_grad_ins,
     .outs = grad_outs,
     .attrs = instance_attrs,
     .infer = instance_grad_infer,
     .run = instance_grad_run},
    {0}};
