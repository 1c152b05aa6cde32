/* data_norm: normalisation by statistics that live on the parameter server.
 *
 *   Means = BatchSum / BatchSize, Scales = sqrt(BatchSize / BatchSquareSum)
 *   Y = (X - Means) * Scales, times scale_w plus bias with enable_scale_and_shift
 *   slot_dim > 0: X is groups of slot_dim columns whose first one is the show count; a group
 *                 without shows (|show| < 1e-7) gives 0
 *
 * Gradient: dX = dY * Scales (* scale_w, and 0 for groups without shows). The "gradients" of the
 * statistics are what this batch adds to them, for an optimizer or server to add:
 *   plain     rows, sum x, sum (x - mean)^2 + rows * epsilon
 *   slot_dim  over the rows with shows (n of them): 1, sum / n, sum of squares / n + n * epsilon
 * BatchSize, BatchSum, BatchSquareSum themselves are listed as outputs but stay as they are. */
#include <math.h>

#include "ops/seq_common.h"

enum { IN_X, IN_SIZE, IN_SUM, IN_SQUARE, IN_SCALE_W, IN_BIAS };
enum { GR_X, GR_DY, GR_SCALES, GR_MEANS, GR_SCALE_W, GR_BIAS };
enum { OUT_Y, OUT_MEANS, OUT_SCALES };
enum { D_X, D_SIZE, D_SUM, D_SQUARE, D_SCALE_W, D_BIAS };
enum { AT_EPSILON, AT_SLOT_DIM, AT_SHIFT = 3 };

#define NO_SHOW 1e-7f

static enum skiff_status dn_check(const struct infer *c, int first_stat, int stats,
                                  struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_rank(c, 0, 2, err));
    int64_t width = infer_in(c, 0, 0)->dims[1];
    for (int s = first_stat; s < first_stat + stats; s++) {
        const struct shape *stat = infer_in(c, s, 0);
        TRY(infer_want(c, s, DTYPE_FP32, err));
        if (stat && (stat->ndim != 1 || !dims_agree(stat->dims[0], width)))
            return infer_fail(c, s, 0, err, "must have one value per column of X (%lld)",
                              (long long)width);
    }
    if (c->attr[AT_SHIFT].b && (!infer_has(c, IN_SCALE_W) || !infer_has(c, IN_BIAS)))
        return infer_fail(c, IN_SCALE_W, 0, err, "enable_scale_and_shift needs scale_w and bias");
    int64_t slot = c->attr[AT_SLOT_DIM].i;
    if (slot > 0 && width >= 0 && width % slot)
        return infer_fail(c, 0, 0, err, "slot_dim %lld does not divide the columns",
                          (long long)slot);
    return SKIFF_OK;
}

static enum skiff_status dn_infer(struct infer *c, struct skiff_error *err)
{
    TRY(dn_check(c, IN_SIZE, 5, err));
    struct shape stat = SHAPE(infer_in(c, 0, 0)->dims[1]);
    TRY(infer_same(c, IN_X, OUT_Y, err));
    TRY(infer_out(c, OUT_MEANS, 0, DTYPE_FP32, &stat, err));
    return infer_out(c, OUT_SCALES, 0, DTYPE_FP32, &stat, err);
}

/* Does the group that column d belongs to have shows? */
static bool has_show(const float *row, int64_t d, int64_t slot)
{
    return slot <= 0 || fabsf(row[d - d % slot]) >= NO_SHOW;
}

static enum skiff_status dn_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X);
    const float *size = tensor_f32(kernel_in(k, IN_SIZE)), *sum = tensor_f32(kernel_in(k, IN_SUM));
    const float *square = tensor_f32(kernel_in(k, IN_SQUARE));
    bool shift = k->attr[AT_SHIFT].b;
    const float *w = shift ? tensor_f32(kernel_in(k, IN_SCALE_W)) : NULL;
    const float *b = shift ? tensor_f32(kernel_in(k, IN_BIAS)) : NULL;
    int64_t rows = x->shape.dims[0], width = x->shape.dims[1], slot = k->attr[AT_SLOT_DIM].i;
    float *work, *means, *scales;
    TRY(kernel_floats(k, 2 * width, &work, err));
    means = kernel_wants(k, OUT_MEANS) ? tensor_f32(kernel_out(k, OUT_MEANS)) : work;
    scales = kernel_wants(k, OUT_SCALES) ? tensor_f32(kernel_out(k, OUT_SCALES)) : work + width;
    for (int64_t d = 0; d < width; d++) {
        means[d] = sum[d] / size[d];
        scales[d] = sqrtf(size[d] / square[d]);
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *from = tensor_f32(x) + i * width;
        float *to = tensor_f32(kernel_out(k, OUT_Y)) + i * width;
        for (int64_t d = 0; d < width; d++) {
            float v = (from[d] - means[d]) * scales[d];
            to[d] = !has_show(from, d, slot) ? 0.0f : shift ? v * w[d] + b[d] : v;
        }
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static enum skiff_status dn_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(dn_check(c, GR_SCALES, 4, err));
    TRY(infer_want(c, GR_DY, DTYPE_FP32, err));
    TRY(infer_want_alike(c, GR_DY, GR_X, err));
    struct shape stat = SHAPE(infer_in(c, 0, 0)->dims[1]);
    TRY(infer_grad_of(c, GR_X, D_X, err));
    for (int s = D_SIZE; s <= D_BIAS; s++)
        TRY(infer_out(c, s, 0, DTYPE_FP32, &stat, err));
    return SKIFF_OK;
}

static float *grad_of(const struct kernel *k, int slot)
{
    return kernel_wants(k, slot) ? tensor_f32(kernel_out(k, slot)) : NULL;
}

static void dn_grad_values(struct kernel *k, int64_t rows, int64_t width)
{
    const float *x = tensor_f32(kernel_in(k, GR_X)), *dy = tensor_f32(kernel_in(k, GR_DY));
    const float *means = tensor_f32(kernel_in(k, GR_MEANS));
    const float *scales = tensor_f32(kernel_in(k, GR_SCALES));
    bool shift = k->attr[AT_SHIFT].b;
    const float *w = shift ? tensor_f32(kernel_in(k, GR_SCALE_W)) : NULL;
    float *dx = grad_of(k, D_X), *dw = grad_of(k, D_SCALE_W), *db = grad_of(k, D_BIAS);
    int64_t slot = k->attr[AT_SLOT_DIM].i;
    for (int64_t d = 0; d < width; d++) {
        if (dw)
            dw[d] = 0;
        if (db)
            db[d] = 0;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t d = 0; d < width; d++) {
            int64_t at = i * width + d;
            bool counts = !shift || has_show(x + i * width, d, slot);
            if (dx)
                dx[at] = counts ? dy[at] * scales[d] * (shift ? w[d] : 1.0f) : 0.0f;
            if (!shift || !counts)
                continue;
            if (dw)
                dw[d] += (x[at] - means[d]) * scales[d] * dy[at];
            if (db)
                db[d] += dy[at];
        }
}

static void dn_grad_stats(struct kernel *k, int64_t rows, int64_t width)
{
    const float *x = tensor_f32(kernel_in(k, GR_X)), *means = tensor_f32(kernel_in(k, GR_MEANS));
    float *dsize = grad_of(k, D_SIZE), *dsum = grad_of(k, D_SUM), *dsquare = grad_of(k, D_SQUARE);
    float epsilon = k->attr[AT_EPSILON].f;
    int64_t slot = k->attr[AT_SLOT_DIM].i;
    for (int64_t d = 0; d < width; d++) {
        float n = 0, sum = 0, square = 0;
        for (int64_t i = 0; i < rows; i++) {
            float v = x[i * width + d];
            if (!has_show(x + i * width, d, slot))
                continue;
            n += 1;
            sum += v;
            square += (v - means[d]) * (v - means[d]);
        }
        bool average = slot > 0 && n >= 1;
        float by = average ? n : 1.0f;
        if (dsize)
            dsize[d] = average ? 1.0f : n;
        if (dsum)
            dsum[d] = sum / by;
        if (dsquare)
            dsquare[d] = square / by + n * epsilon;
    }
}

static enum skiff_status dn_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct shape *s = &kernel_in(k, GR_X)->shape;
    dn_grad_values(k, s->dims[0], s->dims[1]);
    dn_grad_stats(k, s->dims[0], s->dims[1]);
    return SKIFF_OK;
}

/* The statistics are named as outputs of the gradient op too. */
static enum skiff_status dn_make_grad(struct grad_build *g, struct skiff_error *err)
{
    static const char *const uses[] = {"X", "Scales", "Means", "scale_w", "bias"};
    static const char *const makes[] = {"X",       "BatchSize", "BatchSum", "BatchSquareSum",
                                        "scale_w", "bias"};
    static const char *const keeps[] = {"BatchSize", "BatchSum", "BatchSquareSum"};
    struct skiff_op *op = grad_op(g, "data_norm_grad", true);
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
        grad_use(g, op, uses[i]);
    grad_use_out_grad(g, op, "Y");
    for (size_t i = 0; i < sizeof(makes) / sizeof(*makes); i++)
        grad_make_in_grad(g, op, makes[i]);
    for (size_t i = 0; i < sizeof(keeps) / sizeof(*keeps); i++) {
        const struct op_arg *a = op_in(g->fwd, keeps[i]);
        if (a)
            op_set_out(g->program, op, keeps[i], a->n, a->names);
    }
    return SKIFF_OK;
}

static const struct op_slot dn_ins[] = {{"X", 0},
                                        {"BatchSize", 0},
                                        {"BatchSum", 0},
                                        {"BatchSquareSum", 0},
                                        {"scale_w", SLOT_OPTIONAL},
                                        {"bias", SLOT_OPTIONAL},
                                        {0}};
static const struct op_slot dn_outs[] = {
    {"Y", 0}, {"Means", SLOT_EXTRA}, {"Scales", SLOT_EXTRA}, {0}};
static const struct op_slot dn_grad_ins[] = {{"X", 0},
                                             {"Y@GRAD", 0},
                                             {"Scales", 0},
                                             {"Means", 0},
                                             {"scale_w", SLOT_OPTIONAL},
                                             {"bias", SLOT_OPTIONAL},
                                             {0}};
static const struct op_slot dn_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL},         {"BatchSize@GRAD", SLOT_OPTIONAL},
    {"BatchSum@GRAD", SLOT_OPTIONAL},  {"BatchSquareSum@GRAD", SLOT_OPTIONAL},
    {"scale_w@GRAD", SLOT_OPTIONAL},   {"bias@GRAD", SLOT_OPTIONAL},
    {"BatchSize", SLOT_OPTIONAL},      {"BatchSum", SLOT_OPTIONAL},
    {"BatchSquareSum", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec dn_attrs[] = {A_FLOAT("epsilon", 1e-4f),
                                               A_INT("slot_dim", -1),
                                               A_FLOAT("summary_decay_rate", 0.9999999f),
                                               A_BOOL("enable_scale_and_shift", false),
                                               A_STR("data_layout", "NCHW"),
                                               A_BOOL("sync_stats", false),
                                               A_BOOL("use_mkldnn", false),
                                               {0}};

const struct op_kind ops_data_norm[] = {{.type = "data_norm",
                                         .ins = dn_ins,
                                         .outs = dn_outs,
                                         .attrs = dn_attrs,
                                         .make_grad = dn_make_grad,
                                         .infer = dn_infer,
                                         .run = dn_run},
                                        {.type = "data_norm_grad",
                                         .ins = dn_grad_ins,
                                         .outs = dn_grad_outs,
                                         .attrs = dn_attrs,
                                         .infer = dn_grad_infer,
                                         .run = dn_grad_run},
                                        {0}};
