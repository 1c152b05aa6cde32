/* Metrics: accuracy and auc.
 *
 * accuracy: a sample is right when its label is among its k indices; Accuracy = Correct / Total
 * (0 for an empty batch).
 *
 * auc: samples are counted in buckets trunc(p * T) of positives and negatives, T = num_thresholds,
 * B = T + 1 buckets; label > 0 positive, 0 negative, < 0 left out.
 *   slide_steps 0   StatPos, StatNeg [1, B]: running counts
 *   slide_steps S   [(1+S) B + 1]: a ring of S batches, their sum, and the number of batches so far
 * Area: from the highest bucket down, |neg step| * (pos before + pos after) / 2, divided by
 * positives times negatives; 0 when there is only one class. */
#include <string.h>

#include "ops/seq_common.h"
#include "tensor/auc.h"

/* ---- accuracy ---- */

enum { AC_OUT, AC_INDICES, AC_LABEL };
/* op_kind.arg: 2.x declares counts with the type of Out, the AUC as int64, and writes others */
enum { DECLARES_OTHERS = 1 };

static enum skiff_status accuracy_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, AC_INDICES, err));
    TRY(infer_want_int(c, AC_LABEL, err));
    TRY(infer_want_rank(c, AC_INDICES, 2, err));
    const struct shape *indices = infer_in(c, AC_INDICES, 0), *label = infer_in(c, AC_LABEL, 0);
    if (label->ndim < 1 || !dims_agree(label->dims[0], indices->dims[0]) ||
        (c->running && shape_numel(label) != indices->dims[0]))
        return infer_fail(c, AC_LABEL, 0, err, "must have one label per row of Indices");
    struct shape one = infer_one_number(c);
    bool other = !c->running && c->kind->arg == DECLARES_OTHERS;
    enum dtype count = other ? infer_in_dtype(c, AC_OUT, 0) : DTYPE_INT32;
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &one, err));
    TRY(infer_out(c, 1, 0, count, &one, err));
    TRY(infer_out(c, 2, 0, count, &one, err));
    if (!c->running) /* Paddle declares it so; a single number has no rows to cut */
        infer_share_lod(c, AC_OUT, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status accuracy_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *indices = kernel_in(k, AC_INDICES), *label = kernel_in(k, AC_LABEL);
    int64_t n = indices->shape.dims[0], width = indices->shape.dims[1], right = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t l = tensor_int_at(label, i), j = 0;
        if (l < 0)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input Label (%s): element %lld is %lld, must not be negative",
                               kernel_in_name(k, AC_LABEL, 0), (long long)i, (long long)l);
        while (j < width && tensor_int_at(indices, i * width + j) != l)
            j++;
        right += j < width;
    }
    tensor_f32(kernel_out(k, 0))[0] = n ? (float)right / (float)n : 0.0f;
    if (kernel_out(k, 1))
        tensor_i32(kernel_out(k, 1))[0] = (int32_t)right;
    if (kernel_out(k, 2))
        tensor_i32(kernel_out(k, 2))[0] = (int32_t)n;
    return SKIFF_OK;
}

/* ---- auc ---- */

enum { AUC_PREDICT, AUC_LABEL, AUC_POS, AUC_NEG, AUC_WEIGHT };
enum { AUC_CURVE, AUC_THRESHOLDS, AUC_SLIDE };

static int64_t stat_size(const struct attr_value *attr)
{
    int64_t buckets = (int64_t)attr[AUC_THRESHOLDS].i + 1, slide = attr[AUC_SLIDE].i;
    return slide ? (1 + slide) * buckets + 1 : buckets;
}

static enum skiff_status auc_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, AUC_PREDICT, DTYPE_FP32, err));
    TRY(infer_want_int(c, AUC_LABEL, err));
    TRY(infer_want_rank(c, AUC_PREDICT, 2, err));
    const struct shape *p = infer_in(c, AUC_PREDICT, 0), *label = infer_in(c, AUC_LABEL, 0);
    if (p->dims[1] == 0 || p->dims[1] > 2)
        return infer_fail(c, AUC_PREDICT, 0, err, "must have 1 or 2 columns");
    if (label->ndim < 1 || !dims_agree(label->dims[0], p->dims[0]) ||
        (c->running && shape_numel(label) != p->dims[0]))
        return infer_fail(c, AUC_LABEL, 0, err, "must have one label per row of Predict");
    if (c->attr[AUC_THRESHOLDS].i < 1 || c->attr[AUC_SLIDE].i < 0)
        return infer_fail(c, AUC_PREDICT, 0, err, "num_thresholds is %d, slide_steps is %d",
                          c->attr[AUC_THRESHOLDS].i, c->attr[AUC_SLIDE].i);
    for (int slot = AUC_POS; c->running && slot <= AUC_NEG; slot++)
        if (infer_in_dtype(c, slot, 0) != DTYPE_INT64 ||
            shape_numel(infer_in(c, slot, 0)) < stat_size(c->attr))
            return infer_fail(
                c, slot, 0, err,
                "must hold at least %lld counts of type int64 for %d thresholds and %d steps",
                (long long)stat_size(c->attr), c->attr[AUC_THRESHOLDS].i, c->attr[AUC_SLIDE].i);
    struct shape one = infer_one_number(c);
    bool other = !c->running && c->kind->arg == DECLARES_OTHERS;
    TRY(infer_out(c, 0, 0, other ? DTYPE_INT64 : DTYPE_FP64, &one, err));
    /* Fluid makes the states one count longer for 0 steps; the op cuts them to size, as Paddle's
     * does */
    int64_t size = stat_size(c->attr);
    struct shape stat = c->attr[AUC_SLIDE].i ? SHAPE(size) : SHAPE(1, size);
    TRY(infer_out(c, 1, 0, DTYPE_INT64, &stat, err));
    return infer_out(c, 2, 0, DTYPE_INT64, &stat, err);
}

/* Before anything is counted, so that a bad value leaves the counts as they are. */
static enum skiff_status auc_check(const struct kernel *k, struct skiff_error *err)
{
    const struct tensor *predict = kernel_in(k, AUC_PREDICT);
    int64_t n = predict->shape.dims[0], width = predict->shape.dims[1];
    for (int64_t i = 0; i < n; i++) {
        float p = tensor_f32(predict)[i * width + width - 1];
        if (!(p >= 0.0f && p <= 1.0f))
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input Predict (%s): row %lld has probability %g, must be in [0, 1]",
                               kernel_in_name(k, AUC_PREDICT, 0), (long long)i, p);
    }
    return SKIFF_OK;
}

static void auc_count(const struct kernel *k, int64_t *pos, int64_t *neg)
{
    const struct tensor *predict = kernel_in(k, AUC_PREDICT), *label = kernel_in(k, AUC_LABEL);
    int64_t n = predict->shape.dims[0], width = predict->shape.dims[1];
    int32_t thresholds = k->attr[AUC_THRESHOLDS].i;
    for (int64_t i = 0; i < n; i++) {
        float p = tensor_f32(predict)[i * width + width - 1];
        int64_t l = tensor_int_at(label, i), bucket = (int64_t)(p * (float)thresholds);
        if (l > 0)
            pos[bucket]++;
        else if (l == 0)
            neg[bucket]++;
    }
}

/* A batch of one placeholder sample (filter_by_instag found nothing) has weight 0: not counted. */
static bool auc_is_placeholder(const struct kernel *k)
{
    const struct tensor *w = kernel_has(k, AUC_WEIGHT) ? kernel_in(k, AUC_WEIGHT) : NULL;
    return w && w->dtype == DTYPE_FP32 && tensor_numel(w) > 0 && tensor_f32(w)[0] == 0.0f;
}

/* The ring of the last S batches: the slot of this batch leaves the sum, is counted anew, and joins
 * it again. */
static void auc_slide(const struct kernel *k, int64_t *pos, int64_t *neg, int64_t buckets)
{
    int64_t slide = k->attr[AUC_SLIDE].i, last = (1 + slide) * buckets, sum = slide * buckets;
    int64_t at = (pos[last] < 0 ? 0 : pos[last] % slide) * buckets;
    int64_t *stat[2] = {pos, neg};
    for (int s = 0; s < 2; s++)
        for (int64_t b = 0; b < buckets; b++) {
            stat[s][sum + b] -= stat[s][at + b];
            stat[s][at + b] = 0;
        }
    auc_count(k, pos + at, neg + at);
    for (int s = 0; s < 2; s++) {
        for (int64_t b = 0; b < buckets; b++)
            stat[s][sum + b] += stat[s][at + b];
        stat[s][last]++;
    }
}

static enum skiff_status auc_run(struct kernel *k, struct skiff_error *err)
{
    int64_t buckets = (int64_t)k->attr[AUC_THRESHOLDS].i + 1, slide = k->attr[AUC_SLIDE].i;
    struct tensor *out[2] = {kernel_out(k, 1), kernel_out(k, 2)};
    for (int s = 0; s < 2; s++) {
        const struct tensor *in = kernel_in(k, AUC_POS + s);
        if (!out[s])
            return kernel_fail(k, SKIFF_INVALID, err, "output %s is missing",
                               k->kind->outs[1 + s].name);
        if (out[s]->data != in->data) /* the input may be larger than the buckets that are used */
            memcpy(out[s]->data, in->data, tensor_bytes(out[s]));
    }
    int64_t *pos = tensor_i64(out[0]), *neg = tensor_i64(out[1]);
    if (!auc_is_placeholder(k)) {
        TRY(auc_check(k, err));
        if (slide)
            auc_slide(k, pos, neg, buckets);
        else
            auc_count(k, pos, neg);
    }
    tensor_f64(kernel_out(k, 0))[0] =
        auc_area(pos + slide * buckets, neg + slide * buckets, buckets);
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot accuracy_ins[] = {
    {"Out", SLOT_SHAPE_ONLY}, {"Indices", 0}, {"Label", 0}, {0}};
static const struct op_slot accuracy_outs[] = {{"Accuracy", 0}, {"Correct", 0}, {"Total", 0}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

static const struct op_slot auc_ins[] = {{"Predict", 0},
                                         {"Label", 0},
                                         {"StatPos", 0},
                                         {"StatNeg", 0},
                                         {"InsTagWeight", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                         {0}};
static const struct op_slot auc_outs[] = {
    {"AUC", 0}, {"StatPosOut", SLOT_INPLACE}, {"StatNegOut", SLOT_INPLACE}, {0}};
static const struct op_attr_spec auc_attrs[] = {
    A_STR("curve", "ROC"), A_INT("num_thresholds", 8191), A_INT("slide_steps", 1), {0}};

#define METRIC_ROWS(gen, dims, types)                                                  \
    {.type = "accuracy",                                                               \
     .generations = gen,                                                               \
     .flags = OP_NO_GRAD_NEEDED | (dims),                                              \
     .arg = types,                                                                     \
     .ins = accuracy_ins,                                                              \
     .outs = accuracy_outs,                                                            \
     .attrs = no_attrs,                                                                \
     .infer = accuracy_infer,                                                          \
     .run = accuracy_run},                                                             \
    {                                                                                  \
        .type = "auc", .generations = gen, .class = CLASS_AUC,                         \
        .flags = OP_NO_GRAD_NEEDED | OP_METRIC | (dims), .arg = types, .ins = auc_ins, \
        .outs = auc_outs, .attrs = auc_attrs, .infer = auc_infer, .run = auc_run       \
    }

const struct op_kind ops_metric[] = {
    METRIC_ROWS(GEN_1X, OP_ONE_DIM, 0), METRIC_ROWS(GEN_2X, 0, DECLARES_OTHERS), {0}};
