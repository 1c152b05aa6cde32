/* nce: noise contrastive estimation. For each sample T true classes (Label) and S noise classes
 * (custom_neg_classes, or drawn by the sampler); o = sigmoid(Weight[c] . x + Bias[c]), kept as
 * SampleLogits; b = S * P(c) with P the sampler's probability:
 *
 *   Cost = w * (sum_true -log(o / (o + b)) + sum_noise -log(b / (o + b))),  w = SampleWeight or 1
 *   dlogit = w * dCost * (true: b / (o + b) * (o - 1); noise: o (1 - o) / (o + b))
 *
 * Samplers, as libstdc++ of Paddle's wheels draws them (seed 0: from the system):
 *   0 uniform        mt19937_64, division; P = 1 / classes
 *   1 log uniform    (int)exp(u log(classes)) - 1 mod (classes - 1);
 *                    P(v) = log((v + 2) / (v + 1)) / log(classes)
 *   2 custom         mt19937 (1.x) or mt19937_64 (2.x), alias method over CustomDistAlias,
 *                    CustomDistAliasProbs; P = CustomDistProbs
 *
 * is_sparse: Weight@GRAD holds the classes that were seen, ascending, each once. */
#include <math.h>

#include "ops/loss/class_grads.h"

enum {
    IN_INPUT,
    IN_LABEL,
    IN_WEIGHT,
    IN_BIAS,
    IN_SAMPLE_WEIGHT,
    IN_PROBS,
    IN_ALIAS,
    IN_ALIAS_PROBS
};
enum { GR_SAMPLE_LOGITS = 8, GR_SAMPLE_LABELS, GR_DCOST };
enum { OUT_COST, OUT_LOGITS, OUT_LABELS };
enum { AT_CLASSES, AT_NEGATIVES, AT_SAMPLER, AT_SEED, AT_SPARSE, AT_CUSTOM };
enum { SAMPLER_UNIFORM, SAMPLER_LOG_UNIFORM, SAMPLER_CUSTOM };
enum { NARROW_CUSTOM = 1 }; /* op_kind.arg: a distribution of one's own draws from mt32 (1.x) */

/* ---- shapes ---- */

static enum skiff_status custom_check(const struct infer *c, struct skiff_error *err)
{
    if (c->attr[AT_SAMPLER].i != SAMPLER_CUSTOM)
        return SKIFF_OK;
    for (int slot = IN_PROBS; slot <= IN_ALIAS_PROBS; slot++) {
        const struct shape *s = infer_in(c, slot, 0);
        if (!s || (c->running && shape_numel(s) != c->attr[AT_CLASSES].i))
            return infer_fail(c, slot, 0, err, "sampler 2 needs one value for each of %d classes",
                              c->attr[AT_CLASSES].i);
    }
    TRY(infer_want(c, IN_PROBS, DTYPE_FP32, err));
    TRY(infer_want_int(c, IN_ALIAS, err));
    return infer_want(c, IN_ALIAS_PROBS, DTYPE_FP32, err);
}

static enum skiff_status nce_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, IN_INPUT, DTYPE_FP32, err));
    TRY(infer_want(c, IN_WEIGHT, DTYPE_FP32, err));
    TRY(infer_want(c, IN_BIAS, DTYPE_FP32, err));
    TRY(infer_want(c, IN_SAMPLE_WEIGHT, DTYPE_FP32, err));
    TRY(infer_want_int(c, IN_LABEL, err));
    TRY(infer_want_rank(c, IN_INPUT, 2, err));
    TRY(infer_want_rank(c, IN_WEIGHT, 2, err));
    const struct shape *x = infer_in(c, IN_INPUT, 0), *w = infer_in(c, IN_WEIGHT, 0);
    const struct shape *label = infer_in(c, IN_LABEL, 0), *bias = infer_in(c, IN_BIAS, 0);
    const struct attr_value *custom = &c->attr[AT_CUSTOM];
    int classes = c->attr[AT_CLASSES].i, negatives = c->attr[AT_NEGATIVES].i;
    if (label->ndim < 1 || label->ndim > 2 || !dims_agree(label->dims[0], x->dims[0]))
        return infer_fail(c, IN_LABEL, 0, err, "must have one row per row of Input");
    if (!dims_agree(w->dims[0], classes) || !dims_agree(w->dims[1], x->dims[1]))
        return infer_fail(c, IN_WEIGHT, 0, err, "must be [num_total_classes %d, columns of Input]",
                          classes);
    if (bias && bias->dims[0] >= 0 && shape_numel(bias) != classes)
        return infer_fail(c, IN_BIAS, 0, err, "must have one value per class (%d)", classes);
    const struct shape *weight = infer_in(c, IN_SAMPLE_WEIGHT, 0);
    if (c->running && weight && shape_numel(weight) != x->dims[0])
        return infer_fail(c, IN_SAMPLE_WEIGHT, 0, err, "must have one value per row of Input");
    if (classes < 2 || negatives < 1 || (custom->n && custom->n != negatives))
        return infer_fail(c, IN_INPUT, 0, err,
                          "num_total_classes %d, num_neg_samples %d, %d custom_neg_classes",
                          classes, negatives, custom->n);
    for (int i = 0; i < custom->n; i++)
        if (custom->ints[i] < 0 || custom->ints[i] >= classes)
            return infer_fail(c, IN_INPUT, 0, err, "custom_neg_classes[%d] is %d of %d classes", i,
                              custom->ints[i], classes);
    if (c->attr[AT_SAMPLER].i < 0 || c->attr[AT_SAMPLER].i > SAMPLER_CUSTOM)
        return infer_fail(c, IN_INPUT, 0, err, "sampler is %d, must be 0, 1 or 2",
                          c->attr[AT_SAMPLER].i);
    return custom_check(c, err);
}

static enum skiff_status nce_infer(struct infer *c, struct skiff_error *err)
{
    TRY(nce_check(c, err));
    const struct shape *label = infer_in(c, IN_LABEL, 0);
    int64_t n = infer_in(c, IN_INPUT, 0)->dims[0], trues = label->ndim == 2 ? label->dims[1] : 1;
    struct shape cost = SHAPE(n, 1), samples = SHAPE(n, trues + c->attr[AT_NEGATIVES].i);
    TRY(infer_out(c, OUT_COST, 0, DTYPE_FP32, &cost, err));
    TRY(infer_out(c, OUT_LOGITS, 0, DTYPE_FP32, &samples, err));
    return infer_out(c, OUT_LABELS, 0, DTYPE_INT64, &samples, err);
}

/* ---- samplers ---- */

struct sampler {
    int kind;
    bool is_narrow; /* draws from mt32 */
    int64_t classes;
    float log_classes;
    const struct tensor *probs, *alias, *alias_probs;
    struct mt64 mt64;
    struct mt32 mt32;
};

static void sampler_init(struct sampler *s, const struct kernel *k)
{
    int32_t seed = k->attr[AT_SEED].i;
    s->kind = k->attr[AT_SAMPLER].i;
    s->classes = k->attr[AT_CLASSES].i;
    s->log_classes = (float)log((double)s->classes);
    s->probs = kernel_in(k, IN_PROBS);
    s->alias = kernel_in(k, IN_ALIAS);
    s->alias_probs = kernel_in(k, IN_ALIAS_PROBS);
    s->is_narrow = s->kind == SAMPLER_CUSTOM && k->kind->arg == NARROW_CUSTOM;
    uint32_t start = seed ? (uint32_t)seed : (uint32_t)rng_entropy();
    if (s->is_narrow)
        mt32_seed(&s->mt32, start);
    else
        mt64_seed(&s->mt64, start);
}

/* Uniform in [0, classes): the draw is divided, and repeated beyond the last complete interval. */
static int64_t sample_class(struct sampler *s)
{
    uint64_t most = s->is_narrow ? UINT32_MAX : UINT64_MAX, v;
    uint64_t part = most / (uint64_t)s->classes, past = part * (uint64_t)s->classes;
    do
        v = s->is_narrow ? mt32_next(&s->mt32) : mt64_next(&s->mt64);
    while (v >= past);
    return (int64_t)(v / part);
}

static int64_t sample_custom(struct sampler *s)
{
    int64_t at = sample_class(s), alias = tensor_int_at(s->alias, at);
    double p;
    if (s->is_narrow) {
        double a = mt32_next(&s->mt32), b = mt32_next(&s->mt32);
        p = (a + b * 4294967296.0) / 18446744073709551616.0;
    } else {
        p = mt64_double(&s->mt64);
    }
    return p > tensor_f32(s->alias_probs)[at] && alias != -1 ? alias : at;
}

static int64_t sampler_next(struct sampler *s)
{
    if (s->kind == SAMPLER_CUSTOM)
        return sample_custom(s);
    if (s->kind == SAMPLER_LOG_UNIFORM) {
        double u = (double)mt64_next(&s->mt64) / 18446744073709551616.0;
        return ((int64_t)exp(u * s->log_classes) - 1) % (s->classes - 1);
    }
    return sample_class(s);
}

static float sampler_probability(const struct sampler *s, int64_t v)
{
    if (s->kind == SAMPLER_CUSTOM)
        return tensor_f32(s->probs)[v];
    if (s->kind == SAMPLER_LOG_UNIFORM)
        return (float)(log((double)(v + 2) / (double)(v + 1)) / s->log_classes);
    return 1.0f / (float)s->classes;
}

/* ---- forward ---- */

/* True classes, then noise classes, a row each. */
static enum skiff_status samples_fill(const struct kernel *k, struct sampler *s, int64_t n,
                                      int64_t trues, int64_t *out, struct skiff_error *err)
{
    const struct tensor *label = kernel_in(k, IN_LABEL);
    const struct attr_value *custom = &k->attr[AT_CUSTOM];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < trues; j++) {
            int64_t l = tensor_int_at(label, i * trues + j);
            if (l < 0 || l >= s->classes)
                return kernel_bad_index(k, IN_LABEL, i * trues + j, l, s->classes,
                                        "num_total_classes", err);
            *out++ = l;
        }
        for (int j = 0; j < k->attr[AT_NEGATIVES].i; j++) {
            int64_t v = custom->n ? custom->ints[j] : sampler_next(s);
            if (v < 0 || v >= s->classes)
                return kernel_bad_index(k, IN_ALIAS, j, v, s->classes, "num_total_classes", err);
            *out++ = v;
        }
    }
    return SKIFF_OK;
}

static enum skiff_status nce_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT), *label = kernel_in(k, IN_LABEL);
    const float *w = tensor_f32(kernel_in(k, IN_WEIGHT));
    const float *bias = kernel_has(k, IN_BIAS) ? tensor_f32(kernel_in(k, IN_BIAS)) : NULL;
    const float *weight =
        kernel_has(k, IN_SAMPLE_WEIGHT) ? tensor_f32(kernel_in(k, IN_SAMPLE_WEIGHT)) : NULL;
    int64_t n = x->shape.dims[0], width = x->shape.dims[1];
    int64_t trues = label->shape.ndim == 2 ? label->shape.dims[1] : 1;
    int64_t samples = trues + k->attr[AT_NEGATIVES].i;
    struct tensor *logits = kernel_out(k, OUT_LOGITS), *labels = kernel_out(k, OUT_LABELS);
    struct sampler s;
    void *ids;
    if (!labels)
        TRY(kernel_scratch(k, (size_t)(n * samples + 1) * sizeof(int64_t), &ids, err));
    else
        ids = labels->data;
    sampler_init(&s, k);
    TRY(samples_fill(k, &s, n, trues, ids, err));
    for (int64_t i = 0; i < n; i++) {
        float cost = 0;
        for (int64_t j = 0; j < samples; j++) {
            int64_t id = ((int64_t *)ids)[i * samples + j];
            float z = (float)math_dot_f32(width, w + id * width, tensor_f32(x) + i * width);
            float o = 1.0f / (1.0f + expf(-(z + (bias ? bias[id] : 0))));
            float b = sampler_probability(&s, id) * (float)k->attr[AT_NEGATIVES].i;
            cost += j < trues ? -logf(o / (o + b)) : -logf(b / (o + b));
            if (logits)
                tensor_f32(logits)[i * samples + j] = o;
        }
        tensor_f32(kernel_out(k, OUT_COST))[i] = cost * (weight ? weight[i] : 1.0f);
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static const struct class_slots grad_slots = {IN_INPUT, IN_WEIGHT, IN_BIAS, AT_SPARSE};

static enum skiff_status nce_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(nce_check(c, err));
    return class_grads_infer(c, &grad_slots, err);
}

static enum skiff_status unique_ids(struct kernel *k, const int64_t *ids, int64_t n, int64_t **out,
                                    int64_t *count, struct skiff_error *err)
{
    void *space;
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(int64_t), &space, err));
    int64_t *sorted = space;
    rows_move(sorted, ids, n, sizeof(int64_t));
    *count = ids_unique(sorted, n);
    *out = sorted;
    return SKIFF_OK;
}

/* What the gradient needs must fit together: samples of n rows, classes within Weight. */
static enum skiff_status grad_check(const struct kernel *k, int64_t n, int64_t *samples,
                                    struct skiff_error *err)
{
    const struct tensor *labels = kernel_in(k, GR_SAMPLE_LABELS);
    const struct tensor *weight = kernel_in(k, IN_WEIGHT), *x = kernel_in(k, IN_INPUT);
    if (x->dtype != DTYPE_FP32 || weight->dtype != DTYPE_FP32 || weight->shape.ndim != 2 ||
        x->shape.ndim != 2 || x->shape.dims[1] != weight->shape.dims[1])
        return kernel_fail(k, SKIFF_SHAPE, err, "Input and Weight do not fit");
    if (labels->dtype != DTYPE_INT64 || labels->shape.ndim != 2 || labels->shape.dims[0] != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "SampleLabels (%s) must be int64 with %lld rows",
                           kernel_in_name(k, GR_SAMPLE_LABELS, 0), (long long)n);
    *samples = labels->shape.dims[1];
    for (int64_t i = 0; i < n * *samples; i++) {
        int64_t id = tensor_i64(labels)[i], classes = weight->shape.dims[0];
        if (id < 0 || id >= classes || id >= k->attr[AT_CLASSES].i)
            return kernel_bad_index(k, GR_SAMPLE_LABELS, i, id, classes, "rows of Weight", err);
    }
    if (kernel_has(k, IN_SAMPLE_WEIGHT))
        TRY(kernel_want_floats(k, IN_SAMPLE_WEIGHT, n, err));
    if (kernel_wants(k, 2) &&
        (!kernel_has(k, IN_BIAS) || tensor_numel(kernel_in(k, IN_BIAS)) < weight->shape.dims[0]))
        return kernel_fail(k, SKIFF_INVALID, err, "Bias@GRAD is wanted without a fitting Bias");
    TRY(kernel_want_floats(k, GR_SAMPLE_LOGITS, n * *samples, err));
    return kernel_want_floats(k, GR_DCOST, n, err);
}

static float dlogit(const struct kernel *k, const struct sampler *s, int64_t i, int64_t j,
                    int64_t samples, int64_t id)
{
    int64_t trues = samples - k->attr[AT_NEGATIVES].i;
    float o = tensor_f32(kernel_in(k, GR_SAMPLE_LOGITS))[i * samples + j];
    float b = sampler_probability(s, id) * (float)k->attr[AT_NEGATIVES].i;
    float w = kernel_has(k, IN_SAMPLE_WEIGHT) ? tensor_f32(kernel_in(k, IN_SAMPLE_WEIGHT))[i] : 1;
    float slope = j < trues ? b / (o + b) * (o - 1.0f) : o * (1.0f - o) / (o + b);
    return w * slope * tensor_f32(kernel_in(k, GR_DCOST))[i];
}

static enum skiff_status nce_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = kernel_in(k, IN_INPUT)->shape.dims[0], samples = 0, *ids = NULL, count = 0;
    struct class_grads g;
    struct sampler s;
    if (k->attr[AT_SAMPLER].i == SAMPLER_CUSTOM)
        TRY(kernel_want_floats(k, IN_PROBS, k->attr[AT_CLASSES].i, err));
    TRY(grad_check(k, n, &samples, err));
    const int64_t *labels = tensor_i64(kernel_in(k, GR_SAMPLE_LABELS));
    if (class_grads_sparse(k, &grad_slots))
        TRY(unique_ids(k, labels, n * samples, &ids, &count, err));
    TRY(class_grads_init(&g, k, &grad_slots, ids, count, err));
    sampler_init(&s, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < samples; j++) {
            int64_t id = labels[i * samples + j];
            class_grads_add(&g, i, id, dlogit(k, &s, i, j, samples, id));
        }
    return SKIFF_OK;
}

/* ---- tables ---- */

#define NCE_INS                                                              \
    {"Input", 0}, {"Label", 0}, {"Weight", 0}, {"Bias", SLOT_OPTIONAL},      \
        {"SampleWeight", SLOT_OPTIONAL}, {"CustomDistProbs", SLOT_OPTIONAL}, \
        {"CustomDistAlias", SLOT_OPTIONAL},                                  \
    {                                                                        \
        "CustomDistAliasProbs", SLOT_OPTIONAL                                \
    }
static const struct op_slot nce_ins[] = {NCE_INS, {0}};
static const struct op_slot nce_outs[] = {
    {"Cost", 0}, {"SampleLogits", SLOT_EXTRA}, {"SampleLabels", SLOT_EXTRA}, {0}};
static const struct op_slot nce_grad_ins[] = {
    NCE_INS, {"SampleLogits", 0}, {"SampleLabels", 0}, {"Cost@GRAD", 0}, {0}};
static const struct op_slot nce_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                               {"Weight@GRAD", SLOT_OPTIONAL},
                                               {"Bias@GRAD", SLOT_OPTIONAL},
                                               {0}};
static const struct op_attr_spec nce_attrs[] = {A_REQ("num_total_classes", ATTR_INT),
                                                A_INT("num_neg_samples", 10),
                                                A_INT("sampler", 0),
                                                A_INT("seed", 0),
                                                A_BOOL("is_sparse", false),
                                                A_INTS("custom_neg_classes"),
                                                A_BOOL("remote_prefetch", false),
                                                A_INT("trainer_id", 0),
                                                A_LONGS("height_sections"),
                                                A_STRS("epmap"),
                                                A_STRS("table_names"),
                                                AF_BOOL("is_test", false, ATTR_ONLY_2X),
                                                {0}};

#define NCE_ROW(gen, engine)                                                                  \
    {                                                                                         \
        .type = "nce", .generations = gen, .arg = engine, .flags = OP_RANDOM, .ins = nce_ins, \
        .outs = nce_outs, .attrs = nce_attrs,                                                 \
        .grad = "Input Label Weight Bias SampleWeight CustomDistProbs CustomDistAlias "       \
                "CustomDistAliasProbs SampleLogits SampleLabels Cost@GRAD -> Input@GRAD "     \
                "Weight@GRAD Bias@GRAD",                                                      \
        .infer = nce_infer, .run = nce_run                                                    \
    }

const struct op_kind ops_nce[] = {NCE_ROW(GEN_1X, NARROW_CUSTOM),
                                  NCE_ROW(GEN_2X, 0),
                                  {.type = "nce_grad",
                                   .flags = OP_OWN_SHAPE,
                                   .ins = nce_grad_ins,
                                   .outs = nce_grad_outs,
                                   .attrs = nce_attrs,
                                   .infer = nce_grad_infer,
                                   .run = nce_grad_run},
                                  {0}};
