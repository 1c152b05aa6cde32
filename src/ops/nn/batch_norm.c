/* batch_norm over all dims but the channel's: X seen as [outer, channels, inner].
 *
 *   train   m, v = mean and biased variance of the batch, s = 1 / sqrt(v + epsilon)
 *           Y = (X - m) s Scale + Bias; SavedMean = m, SavedVariance = s
 *           MeanOut = Mean * momentum + m * (1 - momentum), VarianceOut alike with v
 *   global  (is_test, or use_global_stats) m, v = Mean, Variance; they stay as they are
 *   one element per channel while training: Y = X, statistics unchanged, saved ones 0 (as Paddle)
 *
 *   sync_batch_norm: n, m and v are those of all ranks of ring 0 (no world: batch_norm)
 *
 * Gradient, h = (X - m) s, n elements per channel:
 *   dBias = sum dY, dScale = sum dY h
 *   dX = Scale s (dY - dBias / n - h dScale / n); with global statistics Scale s dY */
#include <tgmath.h>

#include "ops/distributed/collective.h"
#include "ops/seq_common.h"

enum { IN_X, IN_SCALE, IN_BIAS, IN_MEAN, IN_VARIANCE, IN_MOMENTUM };
enum { GR_X, GR_SCALE, GR_BIAS, GR_MEAN, GR_VARIANCE, GR_DY, GR_SAVED_MEAN, GR_SAVED_VARIANCE };
enum { OUT_Y, OUT_MEAN, OUT_VARIANCE, OUT_SAVED_MEAN, OUT_SAVED_VARIANCE, OUT_RESERVE };
enum { AT_IS_TEST, AT_MOMENTUM, AT_EPSILON, AT_LAYOUT, AT_GLOBAL, AT_TRAINABLE };

/* op_kind.arg. 1.x declares the saved statistics in tests, too. The gradient op of 2.x lists all
 * outputs, and takes a test's statistics for those of all batches. */
enum { DECLARES_SAVED = 1, GRAD_OF_2X = 2 };

struct channel_view {
    int64_t outer, channels, inner;
};

static int channel_axis(const struct attr_value *attr, const struct shape *x)
{
    bool last = attr[AT_LAYOUT].s && !strcmp(attr[AT_LAYOUT].s, "NHWC");
    return last && x->ndim > 2 ? x->ndim - 1 : 1;
}

static struct channel_view rows3_of(const struct kernel *k, const struct shape *x)
{
    int axis = channel_axis(k->attr, x);
    struct channel_view r = {shape_rows(x, axis), x->dims[axis], shape_cols(x, axis + 1)};
    return r;
}

static bool test_mode(const struct attr_value *attr)
{
    return attr[AT_IS_TEST].b && !attr[AT_TRAINABLE].b;
}

static bool uses_global(const struct attr_value *attr)
{
    return test_mode(attr) || attr[AT_GLOBAL].b;
}

/* X has 2 to 5 dims; inputs first..last, where there, one value per channel. */
static enum skiff_status bn_check(const struct infer *c, int first, int last,
                                  struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    TRY(infer_want_float(c, 0, err));
    if (x->ndim < 2 || x->ndim > 5)
        return infer_fail(c, 0, 0, err, "must have 2 to 5 dimensions");
    int64_t channels = x->dims[channel_axis(c->attr, x)];
    for (int s = first; s <= last; s++) {
        const struct shape *p = infer_in(c, s, 0);
        TRY(infer_want(c, s, infer_in_dtype(c, 0, 0), err));
        if (p && (c->running || p->ndim) && (p->ndim != 1 || !dims_agree(p->dims[0], channels)))
            return infer_fail(c, s, 0, err, "must have one value for each of %lld channels",
                              (long long)channels);
    }
    return SKIFF_OK;
}

static enum skiff_status bn_infer(struct infer *c, struct skiff_error *err)
{
    TRY(bn_check(c, IN_SCALE, IN_VARIANCE, err));
    struct shape x = *infer_in(c, IN_X, 0), reserve = SHAPE(c->running ? 0 : -1);
    struct shape channels = SHAPE(x.dims[channel_axis(c->attr, &x)]);
    TRY(infer_same(c, IN_X, OUT_Y, err));
    TRY(infer_out(c, OUT_MEAN, 0, infer_in_dtype(c, 0, 0), &channels, err));
    TRY(infer_out(c, OUT_VARIANCE, 0, infer_in_dtype(c, 0, 0), &channels, err));
    if (c->running || c->kind->arg == DECLARES_SAVED || !test_mode(c->attr)) {
        TRY(infer_out(c, OUT_SAVED_MEAN, 0, infer_in_dtype(c, 0, 0), &channels, err));
        TRY(infer_out(c, OUT_SAVED_VARIANCE, 0, infer_in_dtype(c, 0, 0), &channels, err));
    }
    return infer_out(c, OUT_RESERVE, 0, infer_in_dtype(c, 0, 0), &reserve, err);
}

#define EACH_OF_CHANNEL(r, c, at)                                                                  \
    for (int64_t o_ = 0; o_ < (r).outer; o_++)                                                     \
        for (int64_t at = (o_ * (r).channels + (c)) * (r).inner, end_ = at + (r).inner; at < end_; \
             at++)

static void channel_stats(struct channel_view r, const struct tensor *t, int64_t c, double *mean,
                          double *variance)
{
    double sum = 0, square = 0, m = 0;
    int64_t n = r.outer * r.inner;
    DISPATCH_FLOAT(t->dtype, T, {
        const T *x = t->data;
        EACH_OF_CHANNEL(r, c, at) sum += (double)x[at];
        m = sum / (double)n;
        EACH_OF_CHANNEL(r, c, at) square += ((double)x[at] - m) * ((double)x[at] - m);
    })
    *mean = m;
    *variance = square / (double)n;
}

static float momentum_of(const struct kernel *k)
{
    const struct tensor *given = kernel_has(k, IN_MOMENTUM) ? kernel_in(k, IN_MOMENTUM) : NULL;
    return given && tensor_numel(given) ? (float)tensor_read_number(given) : k->attr[AT_MOMENTUM].f;
}

/* ---- over ranks ---- */

/* Adds up n doubles over the ranks of a sync_batch_norm; alone they stay. */
static enum skiff_status over_ranks(const struct kernel *k, double *values, int64_t n,
                                    struct skiff_error *err)
{
    struct collective *c = rings_get(0);
    if (!c || collective_size(c) == 1)
        return SKIFF_OK;
    return ring_failed(k, c, kernel_in_name(k, IN_X, 0),
                       collective_all_reduce(c, values, n, DTYPE_FP64, COLLECTIVE_SUM, err), err);
}

static bool is_synced(const struct kernel *k)
{
    return k->kind->flags & OP_RANKS && !uses_global(k->attr);
}

/* What a batch's channels have, over all ranks if it is synced: n elements each. */
struct batch_stats {
    double n;
    double *mean, *variance; /* by channel */
};

static void channel_sums(struct channel_view r, const struct tensor *t, const double *mean,
                         double *out)
{
    for (int64_t c = 0; c < r.channels; c++) {
        double sum = 0, m = mean ? mean[c] : 0;
        DISPATCH_FLOAT(t->dtype, T, {
            const T *x = t->data;
            EACH_OF_CHANNEL(r, c, at)
            sum += mean ? ((double)x[at] - m) * ((double)x[at] - m) : (double)x[at];
        })
        out[c] = sum;
    }
}

static enum skiff_status stats_over_ranks(struct kernel *k, struct channel_view r,
                                          struct batch_stats *s, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X);
    void *capacity;
    TRY(kernel_scratch(k, (size_t)(2 * r.channels + 1) * sizeof(double), &capacity, err));
    s->mean = capacity;
    s->variance = s->mean + r.channels + 1;
    channel_sums(r, x, NULL, s->mean);
    s->mean[r.channels] = (double)(r.outer * r.inner);
    TRY(over_ranks(k, s->mean, r.channels + 1, err));
    s->n = s->mean[r.channels];
    for (int64_t c = 0; c < r.channels; c++)
        s->mean[c] /= s->n > 0 ? s->n : 1;
    channel_sums(r, x, s->mean, s->variance);
    TRY(over_ranks(k, s->variance, r.channels, err));
    for (int64_t c = 0; c < r.channels; c++)
        s->variance[c] /= s->n > 0 ? s->n : 1;
    return SKIFF_OK;
}

/* Statistics of one channel into the outputs; gives mean and 1 / sqrt(variance + epsilon), rounded
 * to the element type. */
static void channel_prepare(struct kernel *k, struct channel_view r, const struct batch_stats *all,
                            int64_t c, double *m_out, double *s_out)
{
    double batch_mean = all->mean ? all->mean[c] : 0;
    double batch_variance = all->mean ? all->variance[c] : 0;
    bool global = uses_global(k->attr);
    float keep = momentum_of(k);
    if (!global && !all->mean)
        channel_stats(r, kernel_in(k, IN_X), c, &batch_mean, &batch_variance);
    DISPATCH_FLOAT(kernel_in(k, IN_X)->dtype, T, {
        T *mean_out = kernel_out_data(k, OUT_MEAN),
          *variance_out = kernel_out_data(k, OUT_VARIANCE);
        T *saved_mean = kernel_out_data(k, OUT_SAVED_MEAN);
        T *saved_s = kernel_out_data(k, OUT_SAVED_VARIANCE);
        T mean = ((const T *)kernel_in_data(k, IN_MEAN))[c], m = global ? mean : (T)batch_mean;
        T variance = ((const T *)kernel_in_data(k, IN_VARIANCE))[c];
        T v = global ? variance : (T)batch_variance;
        T s = 1.0f / sqrt(v + k->attr[AT_EPSILON].f);
        if (mean_out)
            mean_out[c] = global ? mean : mean * keep + m * (1.0f - keep);
        if (variance_out)
            variance_out[c] = global ? variance : variance * keep + v * (1.0f - keep);
        if (saved_mean)
            saved_mean[c] = m;
        if (saved_s)
            saved_s[c] = s;
        *m_out = (double)m;
        *s_out = (double)s;
    })
}

/* A single element has no variance: it passes through. */
static void single_pass(struct kernel *k, struct channel_view r)
{
    const struct tensor *x = kernel_in(k, IN_X);
    size_t bytes = (size_t)r.channels * dtype_size(x->dtype);
    memmove(kernel_out(k, OUT_Y)->data, x->data, bytes);
    for (int side = 0; side < 2; side++) {
        void *saved = kernel_out_data(k, OUT_SAVED_MEAN + side);
        void *stat = kernel_out_data(k, OUT_MEAN + side);
        if (saved)
            memset(saved, 0, bytes);
        if (stat)
            memmove(stat, kernel_in(k, IN_MEAN + side)->data, bytes);
    }
}

static enum skiff_status bn_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X);
    struct channel_view r = rows3_of(k, &x->shape);
    struct batch_stats all = {.n = (double)(r.outer * r.inner)};
    if (is_synced(k))
        TRY(stats_over_ranks(k, r, &all, err));
    if (all.n == 0)
        return SKIFF_OK;
    if (all.n == 1 && r.outer * r.inner == 1 && !uses_global(k->attr)) {
        single_pass(k, r);
        return SKIFF_OK;
    }
    for (int64_t c = 0; c < r.channels; c++) {
        double m = 0, s = 0;
        channel_prepare(k, r, &all, c, &m, &s);
        DISPATCH_FLOAT(x->dtype, T, {
            const T *scale = kernel_in_data(k, IN_SCALE), *bias = kernel_in_data(k, IN_BIAS);
            const T *from = x->data;
            T *y = kernel_out(k, OUT_Y)->data;
            T by = (T)s * (scale ? scale[c] : 1.0f), add = (bias ? bias[c] : 0.0f) - (T)m * by;
            EACH_OF_CHANNEL(r, c, at) y[at] = from[at] * by + add;
        })
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static enum skiff_status bn_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(bn_check(c, GR_SCALE, GR_VARIANCE, err));
    TRY(infer_want(c, GR_DY, infer_in_dtype(c, 0, 0), err));
    TRY(infer_want_alike(c, GR_DY, GR_X, err));
    struct shape x = *infer_in(c, GR_X, 0), channels = SHAPE(x.dims[channel_axis(c->attr, &x)]);
    TRY(infer_like(c, GR_X, 0, err));
    TRY(infer_out(c, 1, 0, infer_in_dtype(c, 0, 0), &channels, err));
    return infer_out(c, 2, 0, infer_in_dtype(c, 0, 0), &channels, err);
}

/* sums: of dY and dY h of the channel, over all ranks after the first pass of a synced one. */
static void channel_grad(struct kernel *k, struct channel_view r, int64_t c, bool global, double n,
                         double *sums, bool makes_dx)
{
    DISPATCH_FLOAT(kernel_in(k, GR_X)->dtype, T, {
        const T *x = kernel_in(k, GR_X)->data, *dy = kernel_in(k, GR_DY)->data;
        const T *scale = kernel_in_data(k, GR_SCALE);
        const T *means = kernel_in_data(k, global ? GR_MEAN : GR_SAVED_MEAN);
        const T *spread = kernel_in_data(k, global ? GR_VARIANCE : GR_SAVED_VARIANCE);
        T *dx = kernel_out_data(k, 0), *dscale = kernel_out_data(k, 1);
        T *dbias = kernel_out_data(k, 2), m = means[c];
        T s = global ? 1.0f / sqrt(spread[c] + k->attr[AT_EPSILON].f) : spread[c];
        if (!makes_dx) {
            double sum = 0, sum_h = 0;
            EACH_OF_CHANNEL(r, c, at)
            {
                sum += (double)dy[at];
                sum_h += (double)(dy[at] * (x[at] - m) * s);
            }
            if (dscale)
                dscale[c] = (T)sum_h;
            if (dbias)
                dbias[c] = (T)sum;
            sums[0] = sum;
            sums[1] = sum_h;
        }
        T by = (scale ? scale[c] : 1.0f) * s;
        T mean_dy = global ? 0 : (T)(sums[0] / n), mean_h = global ? 0 : (T)(sums[1] / n);
        if (dx && makes_dx)
            EACH_OF_CHANNEL(r, c, at)
        dx[at] = by * (dy[at] - mean_dy - (x[at] - m) * s * mean_h);
    })
}

static enum skiff_status bn_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, GR_X);
    struct channel_view r = rows3_of(k, &x->shape);
    bool global = uses_global(k->attr);
    double *sums, n = (double)(r.outer * r.inner);
    if (is_synced(k))
        TRY(over_ranks(k, &n, 1, err));
    if (n == 1 && r.outer * r.inner == 1 && !global) {
        if (kernel_wants(k, 0))
            memmove(kernel_out(k, 0)->data, kernel_in(k, GR_DY)->data, tensor_bytes(x));
        for (int s = 1; s <= 2; s++)
            if (kernel_wants(k, s))
                tensor_clear(kernel_out(k, s));
        return SKIFF_OK;
    }
    TRY(kernel_want_elements(k, global ? GR_MEAN : GR_SAVED_MEAN, x->dtype, r.channels, err));
    TRY(kernel_want_elements(k, global ? GR_VARIANCE : GR_SAVED_VARIANCE, x->dtype, r.channels,
                             err));
    TRY(kernel_scratch(k, (size_t)(2 * r.channels) * sizeof(double), (void **)&sums, err));
    for (int64_t c = 0; c < r.channels; c++)
        channel_grad(k, r, c, global, n, sums + 2 * c, false);
    if (is_synced(k))
        TRY(over_ranks(k, sums, 2 * r.channels, err));
    for (int64_t c = 0; c < r.channels; c++)
        channel_grad(k, r, c, global, n, sums + 2 * c, true);
    return SKIFF_OK;
}

static bool fwd_flag(const struct grad_build *g, const char *name)
{
    const struct op_attr_value *a = op_attr(g->fwd, name);
    return a && a->type == ATTR_BOOLEAN && a->value.b;
}

/* Mean and Variance go along as MeanOut and VarianceOut when the running statistics were used; 2.x
 * lists those two outputs and ReserveSpace always. */
static enum skiff_status bn_make_grad(struct grad_build *g, struct skiff_error *err)
{
    static const char *const uses[] = {"X", "Scale", "Bias", "SavedMean", "SavedVariance"};
    bool all = g->fwd->kind->arg == GRAD_OF_2X, synced = op_has(g->fwd, OP_RANKS);
    struct skiff_op *op = grad_op(g, synced ? "sync_batch_norm_grad" : "batch_norm_grad", true);
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
        grad_use(g, op, uses[i]);
    grad_use_out_grad(g, op, "Y");
    if (all) {
        grad_use(g, op, "ReserveSpace");
        grad_use(g, op, "MeanOut");
        grad_use(g, op, "VarianceOut");
    }
    if (fwd_flag(g, "use_global_stats") || (all && fwd_flag(g, "is_test"))) {
        const struct op_arg *mean = op_out(g->fwd, "MeanOut"), *var = op_out(g->fwd, "VarianceOut");
        if (mean && var) {
            op_set_in(g->program, op, "Mean", mean->n, mean->names);
            op_set_in(g->program, op, "Variance", var->n, var->names);
        }
    }
    bool wanted = grad_make_in_grad(g, op, "X");
    wanted = grad_make_in_grad(g, op, "Scale") || wanted;
    wanted = grad_make_in_grad(g, op, "Bias") || wanted;
    if (!wanted)
        g->nops--;
    return SKIFF_OK;
}

static const struct op_slot bn_ins_1x[] = {
    {"X", 0},    {"Scale", 0},    {"Bias", 0},
    {"Mean", 0}, {"Variance", 0}, {"MomentumTensor", SLOT_OPTIONAL},
    {0}};
static const struct op_slot bn_ins_2x[] = {
    {"X", 0},    {"Scale", SLOT_OPTIONAL}, {"Bias", SLOT_OPTIONAL},
    {"Mean", 0}, {"Variance", 0},          {"MomentumTensor", SLOT_OPTIONAL},
    {0}};
static const struct op_slot bn_outs[] = {{"Y", 0},
                                         {"MeanOut", SLOT_INPLACE},
                                         {"VarianceOut", SLOT_INPLACE},
                                         {"SavedMean", SLOT_EXTRA},
                                         {"SavedVariance", SLOT_EXTRA},
                                         {"ReserveSpace", SLOT_OPTIONAL},
                                         {0}};
static const struct op_slot bn_grad_ins[] = {{"X", 0},
                                             {"Scale", SLOT_OPTIONAL},
                                             {"Bias", SLOT_OPTIONAL},
                                             {"Mean", SLOT_OPTIONAL},
                                             {"Variance", SLOT_OPTIONAL},
                                             {"Y@GRAD", 0},
                                             {"SavedMean", SLOT_OPTIONAL},
                                             {"SavedVariance", SLOT_OPTIONAL},
                                             {"MeanOut", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                             {"VarianceOut", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                             {"ReserveSpace", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                             {0}};
static const struct op_slot bn_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Scale@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec bn_attrs[] = {A_BOOL("is_test", false),
                                               A_FLOAT("momentum", 0.9f),
                                               A_FLOAT("epsilon", 1e-5f),
                                               A_STR("data_layout", "NCHW"),
                                               A_BOOL("use_global_stats", false),
                                               A_BOOL("trainable_statistics", false),
                                               A_BOOL("use_mkldnn", false),
                                               A_BOOL("fuse_with_relu", false),
                                               {0}};

#define BN_ROW(t, gen, f, synced, what, in_table)                                       \
    {                                                                                   \
        .type = t, .generations = gen, .flags = f, .over_ranks = synced, .arg = what,   \
        .ins = in_table, .outs = bn_outs, .attrs = bn_attrs, .make_grad = bn_make_grad, \
        .infer = bn_infer, .run = bn_run                                                \
    }

const struct op_kind ops_batch_norm[] = {
    BN_ROW("batch_norm", GEN_1X, 0, "sync_batch_norm", DECLARES_SAVED, bn_ins_1x),
    BN_ROW("batch_norm", GEN_2X, 0, "sync_batch_norm", GRAD_OF_2X, bn_ins_2x),
    BN_ROW("sync_batch_norm", GEN_1X, OP_RANKS, NULL, DECLARES_SAVED, bn_ins_1x),
    BN_ROW("sync_batch_norm", GEN_2X, OP_RANKS, NULL, GRAD_OF_2X, bn_ins_2x),
    {.type = "sync_batch_norm_grad",
     .flags = OP_RANKS,
     .ins = bn_grad_ins,
     .outs = bn_grad_outs,
     .attrs = bn_attrs,
     .infer = bn_grad_infer,
     .run = bn_grad_run},
    {.type = "batch_norm_grad",
     .over_ranks = "sync_batch_norm_grad",
     .ins = bn_grad_ins,
     .outs = bn_grad_outs,
     .attrs = bn_attrs,
     .infer = bn_grad_infer,
     .run = bn_grad_run},
    {0}};
