/* Losses against a few classes, and against centers (1.x).
 *
 *   sample_logits  for each row its T true classes (Labels), then num_samples classes drawn once
 *                  for all rows, each once; Samples [n, T + S]. Drawn from mt19937_64:
 *                  v = ((int)exp(u log(C + 1)) - 1) mod C,
 *                  P(v) = log((v + 2) / (v + 1)) / log(C + 1);
 *                  Probabilities = P S, or 1 - (1 - P)^tries where some were drawn twice.
 *                  SampledLogits = Logits at Samples - log(Probabilities), less 1e20 where a drawn
 *                  class is a true one (remove_accidental_hits). SampledLabels = 0 .. T-1.
 *                  use_customized_samples: both are given. dLogits adds up at Samples.
 *   center_loss    SampleCenterDiff = X - Centers[Label], Loss = |diff|^2 / 2; need_update:
 *                  Centers[c] += rate * sum of c's diffs / (1 + how many). dX = dLoss diff */
#include <math.h>

#include "ops/seq_common.h"

/* ---- sample_logits ---- */

enum { LOGITS, LABELS, GIVEN_SAMPLES, GIVEN_PROBS };
enum { O_SAMPLES, O_PROBS, O_LOGITS_DIM, O_LABELS_DIM, O_LOGITS, O_LABELS };
enum { AT_GIVEN, AT_UNIQ, AT_HITS, AT_SAMPLES, AT_SEED };
enum { G_SAMPLES, G_LOGITS_DIM, G_LABELS_DIM, G_DLOGITS };
#define HIT 1e20f

/* "Dim" outputs: the dims of an input and a 0. */
static enum skiff_status dim_out(struct infer *c, int in, int out, struct skiff_error *err)
{
    struct shape s = *infer_in(c, in, 0);
    if (s.ndim == TENSOR_MAX_DIMS)
        return infer_fail(c, in, 0, err, "has too many dimensions");
    s.dims[s.ndim++] = 0;
    return infer_out(c, out, 0, infer_in_dtype(c, in, 0), &s, err);
}

static enum skiff_status sample_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, LOGITS, 0), *y = infer_in(c, LABELS, 0);
    TRY(infer_want(c, LOGITS, DTYPE_FP32, err));
    TRY(infer_want(c, LABELS, DTYPE_INT64, err));
    TRY(infer_want_rank(c, LOGITS, 2, err));
    TRY(infer_want_rank(c, LABELS, 2, err));
    int samples = c->attr[AT_SAMPLES].i;
    if (!dims_agree(x->dims[0], y->dims[0]))
        return infer_fail(c, LABELS, 0, err, "must have one row per row of Logits");
    if (samples < 1 || (x->dims[1] >= 0 && samples > x->dims[1]))
        return infer_fail(c, LOGITS, 0, err, "num_samples is %d, must be 1 to the classes' number",
                          samples);
    struct shape s = SHAPE(x->dims[0], y->dims[1] < 0 ? -1 : y->dims[1] + samples);
    struct shape labels = *y;
    TRY(infer_out(c, O_SAMPLES, 0, DTYPE_INT64, &s, err));
    TRY(infer_out(c, O_PROBS, 0, DTYPE_FP32, &s, err));
    TRY(infer_out(c, O_LOGITS, 0, DTYPE_FP32, &s, err));
    TRY(infer_out(c, O_LABELS, 0, DTYPE_INT64, &labels, err));
    TRY(dim_out(c, LOGITS, O_LOGITS_DIM, err));
    return dim_out(c, LABELS, O_LABELS_DIM, err);
}

struct sampling {
    int64_t rows, classes, trues, width;
    int64_t *samples;
    float *probs;
};

static float class_probability(const struct sampling *s, int64_t v)
{
    return (float)(log((double)(v + 2) / (double)(v + 1)) / log((double)s->classes + 1));
}

/* Classes for row 0; returns how many were drawn, those that came again included. */
static int64_t samples_draw(const struct kernel *k, struct sampling *s)
{
    struct mt64 engine;
    int32_t seed = k->attr[AT_SEED].i;
    double most = log((double)s->classes + 1);
    int64_t tries = 0;
    mt64_seed(&engine, seed ? (uint32_t)seed : (uint32_t)rng_entropy());
    for (int64_t j = s->trues; j < s->width; tries++) {
        double u = (double)mt64_next(&engine) / 18446744073709551616.0;
        int64_t v = ((int64_t)exp(u * most) - 1) % s->classes;
        bool again = false;
        for (int64_t i = s->trues; i < j && !again; i++)
            again = s->samples[i] == v;
        if (!again)
            s->samples[j++] = v;
    }
    return tries;
}

static void samples_fill(const struct kernel *k, struct sampling *s)
{
    int64_t tries = samples_draw(k, s), drawn = s->width - s->trues;
    const int64_t *y = tensor_i64(kernel_in(k, LABELS));
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t j = 0; j < s->width; j++) {
            int64_t v = j < s->trues ? y[r * s->trues + j] : s->samples[j];
            float p = class_probability(s, v);
            s->samples[r * s->width + j] = v;
            s->probs[r * s->width + j] =
                tries == drawn ? p * (float)drawn : -expm1f((float)tries * log1pf(-p));
        }
}

static enum skiff_status samples_given(const struct kernel *k, struct sampling *s,
                                       struct skiff_error *err)
{
    const struct tensor *v = kernel_in(k, GIVEN_SAMPLES);
    int64_t n = s->rows * s->width;
    if (!kernel_has(k, GIVEN_SAMPLES) || !kernel_has(k, GIVEN_PROBS) || v->dtype != DTYPE_INT64 ||
        tensor_numel(v) != n)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "use_customized_samples: CustomizedSamples (int64) and "
                           "CustomizedProbabilities must be [%lld, %lld]",
                           (long long)s->rows, (long long)s->width);
    TRY(kernel_want_floats(k, GIVEN_PROBS, n, err));
    if (s->samples != tensor_i64(v))
        bytes_copy(s->samples, v->data, tensor_bytes(v));
    if (s->probs != kernel_in_f32(k, GIVEN_PROBS))
        bytes_copy(s->probs, kernel_in_f32(k, GIVEN_PROBS), (size_t)n * sizeof(float));
    return SKIFF_OK;
}

/* The outputs, or scratch where they are not wanted. */
static enum skiff_status sampling_start(struct kernel *k, struct sampling *s,
                                        struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, LOGITS)->shape;
    *s = (struct sampling){.rows = x->dims[0],
                           .classes = x->dims[1],
                           .trues = kernel_in(k, LABELS)->shape.dims[1],
                           .samples = tensor_i64(kernel_out(k, O_SAMPLES)),
                           .probs = tensor_f32(kernel_out(k, O_PROBS))};
    s->width = s->trues + k->attr[AT_SAMPLES].i;
    for (int64_t i = 0; i < s->rows * s->trues; i++) {
        int64_t y = tensor_i64(kernel_in(k, LABELS))[i];
        if (y < 0 || y >= s->classes)
            return kernel_bad_index(k, LABELS, i, y, s->classes, "classes", err);
    }
    if (k->attr[AT_GIVEN].b)
        return samples_given(k, s, err);
    if (s->rows)
        samples_fill(k, s);
    return SKIFF_OK;
}

static enum skiff_status sample_run(struct kernel *k, struct skiff_error *err)
{
    struct sampling s;
    TRY(sampling_start(k, &s, err));
    const float *x = kernel_in_f32(k, LOGITS);
    float *out = tensor_f32(kernel_out(k, O_LOGITS));
    int64_t *labels = tensor_i64(kernel_out(k, O_LABELS));
    for (int64_t r = 0; r < s.rows; r++) {
        const int64_t *row = s.samples + r * s.width;
        for (int64_t j = 0; j < s.width; j++) {
            if (row[j] < 0 || row[j] >= s.classes)
                return kernel_bad_index(k, GIVEN_SAMPLES, j, row[j], s.classes, "classes", err);
            float v = x[r * s.classes + row[j]];
            for (int64_t t = 0; t < s.trues && k->attr[AT_HITS].b && j >= s.trues; t++)
                if (row[t] == row[j]) {
                    v -= HIT;
                    break;
                }
            out[r * s.width + j] = v - log_finite_f32(s.probs[r * s.width + j]);
        }
        for (int64_t t = 0; t < s.trues; t++)
            labels[r * s.trues + t] = t;
    }
    return SKIFF_OK;
}

static enum skiff_status sample_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, G_LOGITS_DIM, 0);
    if (s.ndim != 3)
        return infer_fail(c, G_LOGITS_DIM, 0, err, "must be [rows, classes, 0]");
    s.ndim--;
    return infer_out(c, 0, 0, infer_in_dtype(c, G_DLOGITS, 0), &s, err);
}

static enum skiff_status sample_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *v = kernel_in(k, G_SAMPLES);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    int64_t rows = dx->shape.dims[0], classes = dx->shape.dims[1], n = tensor_numel(v);
    TRY(kernel_want_floats(k, G_DLOGITS, n, err));
    if (v->dtype != DTYPE_INT64 || (rows ? n % rows : n))
        return kernel_fail(k, SKIFF_SHAPE, err, "Samples (%s) must have a row for each of Logits",
                           kernel_in_name(k, G_SAMPLES, 0));
    tensor_clear(dx);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_i64(v)[i];
        if (at < 0 || at >= classes)
            return kernel_bad_index(k, G_SAMPLES, i, at, classes, "classes", err);
        tensor_f32(dx)[i / (n / rows) * classes + at] += kernel_in_f32(k, G_DLOGITS)[i];
    }
    return SKIFF_OK;
}

/* ---- center_loss ---- */

enum { C_X, C_LABEL, C_CENTERS, C_RATE };
enum { CO_CENTERS, CO_DIFF, CO_LOSS };
enum { CA_CLUSTERS, CA_UPDATE };
enum { CG_X, CG_DIFF, CG_DLOSS };

static enum skiff_status center_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, C_X, 0), *centers = infer_in(c, C_CENTERS, 0);
    TRY(infer_want(c, C_X, DTYPE_FP32, err));
    TRY(infer_want(c, C_CENTERS, DTYPE_FP32, err));
    TRY(infer_want(c, C_RATE, DTYPE_FP32, err));
    TRY(infer_want_int(c, C_LABEL, err));
    if (x->ndim < 2 || centers->ndim != 2)
        return infer_fail(c, C_X, 0, err, "must be a matrix, and so Centers");
    int64_t width = dims_product(x, 1, x->ndim);
    if (!dims_agree(centers->dims[0], c->attr[CA_CLUSTERS].i) ||
        !dims_agree(centers->dims[1], width))
        return infer_fail(c, C_CENTERS, 0, err, "must be [cluster_num %d, columns of X %lld]",
                          c->attr[CA_CLUSTERS].i, (long long)width);
    struct shape diff = SHAPE(x->dims[0], width), loss = SHAPE(x->dims[0], 1);
    TRY(infer_out(c, CO_DIFF, 0, DTYPE_FP32, &diff, err));
    TRY(infer_out(c, CO_LOSS, 0, DTYPE_FP32, &loss, err));
    infer_share_lod(c, C_X, 0, CO_LOSS, 0);
    return infer_like(c, C_CENTERS, CO_CENTERS, err);
}

static void centers_update(struct kernel *k, int64_t rows, int64_t width, const float *diff,
                           float *sum, int64_t *count)
{
    const struct tensor *label = kernel_in(k, C_LABEL);
    int64_t clusters = k->attr[CA_CLUSTERS].i;
    float rate = kernel_in_f32(k, C_RATE)[0], *out = tensor_f32(kernel_out(k, CO_CENTERS));
    floats_zero(sum, clusters * width);
    for (int64_t c = 0; c < clusters; c++)
        count[c] = 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = tensor_int_at(label, r);
        count[c]++;
        for (int64_t i = 0; i < width; i++)
            sum[c * width + i] += diff[r * width + i];
    }
    for (int64_t i = 0; i < clusters * width; i++)
        out[i] += sum[i] * (rate / (float)count[i / width]);
}

static enum skiff_status center_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, C_X), *centers = kernel_in(k, C_CENTERS);
    int64_t rows = x->shape.dims[0], width = shape_cols(&x->shape, 1);
    int64_t clusters = centers->shape.dims[0];
    float *diff = tensor_f32(kernel_out(k, CO_DIFF)), *loss = tensor_f32(kernel_out(k, CO_LOSS));
    float *sum;
    void *count;
    if (tensor_numel(kernel_in(k, C_LABEL)) != rows || tensor_numel(kernel_in(k, C_RATE)) < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "Label (%s) must hold one class a row of X",
                           kernel_in_name(k, C_LABEL, 0));
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = tensor_int_at(kernel_in(k, C_LABEL), r);
        double square = 0;
        if (c < 0 || c >= clusters)
            return kernel_bad_index(k, C_LABEL, r, c, clusters, "cluster_num", err);
        for (int64_t i = 0; i < width; i++) {
            float d = tensor_f32(x)[r * width + i] - tensor_f32(centers)[c * width + i];
            diff[r * width + i] = d;
            square += d * d;
        }
        loss[r] = (float)(square / 2);
    }
    if (kernel_out(k, CO_CENTERS) != centers)
        bytes_copy(kernel_out(k, CO_CENTERS)->data, centers->data, tensor_bytes(centers));
    if (!k->attr[CA_UPDATE].b)
        return SKIFF_OK;
    TRY(kernel_floats(k, clusters * width, &sum, err));
    TRY(kernel_scratch(k, (size_t)clusters * sizeof(int64_t), &count, err));
    centers_update(k, rows, width, diff, sum, count);
    return SKIFF_OK;
}

static enum skiff_status center_grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, CG_X, 0, err);
}

static enum skiff_status center_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, CG_X);
    float *dx = kernel_out_f32(k, 0);
    if (!dx)
        return SKIFF_OK;
    int64_t rows = x->shape.ndim ? x->shape.dims[0] : 0, width = rows ? tensor_numel(x) / rows : 0;
    TRY(kernel_want_floats(k, CG_X, rows * width, err)); /* the gradient has its type */
    TRY(kernel_want_floats(k, CG_DIFF, rows * width, err));
    TRY(kernel_want_floats(k, CG_DLOSS, rows, err));
    for (int64_t i = 0; i < rows * width; i++)
        dx[i] = kernel_in_f32(k, CG_DLOSS)[i / width] * kernel_in_f32(k, CG_DIFF)[i];
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot sample_ins[] = {{"Logits", 0},
                                            {"Labels", 0},
                                            {"CustomizedSamples", SLOT_OPTIONAL},
                                            {"CustomizedProbabilities", SLOT_OPTIONAL},
                                            {0}};
static const struct op_slot sample_outs[] = {{"Samples", 0},
                                             {"Probabilities", 0},
                                             {"LogitsDim", SLOT_EXTRA},
                                             {"LabelsDim", SLOT_EXTRA},
                                             {"SampledLogits", 0},
                                             {"SampledLabels", 0},
                                             {0}};
static const struct op_slot sample_grad_ins[] = {{"Samples", 0},
                                                 {"LogitsDim", SLOT_SHAPE_ONLY},
                                                 {"LabelsDim", SLOT_SHAPE_ONLY},
                                                 {"SampledLogits@GRAD", 0},
                                                 {0}};
static const struct op_slot sample_grad_outs[] = {{"Logits@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec sample_attrs[] = {A_BOOL("use_customized_samples", false),
                                                   A_BOOL("uniq", true),
                                                   A_BOOL("remove_accidental_hits", true),
                                                   A_REQ("num_samples", ATTR_INT),
                                                   A_INT("seed", 0),
                                                   {0}};
static const struct op_slot center_ins[] = {
    {"X", 0}, {"Label", 0}, {"Centers", 0}, {"CenterUpdateRate", 0}, {0}};
static const struct op_slot center_outs[] = {
    {"CentersOut", SLOT_INPLACE}, {"SampleCenterDiff", 0}, {"Loss", 0}, {0}};
static const struct op_slot center_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"SampleCenterDiff", 0}, {"Loss@GRAD", 0}, {0}};
static const struct op_slot center_grad_outs[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec center_attrs[] = {
    A_REQ("cluster_num", ATTR_INT), A_REQ("need_update", ATTR_BOOLEAN), {0}};

const struct op_kind ops_sampled[] = {
    {.type = "sample_logits",
     .generations = GEN_1X,
     .flags = OP_RANDOM,
     .ins = sample_ins,
     .outs = sample_outs,
     .attrs = sample_attrs,
     .grad = "Samples LogitsDim LabelsDim SampledLogits@GRAD -> Logits@GRAD",
     .infer = sample_infer,
     .run = sample_run},
    {.type = "sample_logits_grad",
     .generations = GEN_1X,
     .ins = sample_grad_ins,
     .outs = sample_grad_outs,
     .attrs = sample_attrs,
     .infer = sample_grad_infer,
     .run = sample_grad_run},
    {.type = "center_loss",
     .generations = GEN_1X,
     .ins = center_ins,
     .outs = center_outs,
     .attrs = center_attrs,
     .grad = "X SampleCenterDiff Loss@GRAD -> X@GRAD",
     .infer = center_infer,
     .run = center_run},
    {.type = "center_loss_grad",
     .generations = GEN_1X,
     .ins = center_grad_ins,
     .outs = center_grad_outs,
     .attrs = center_attrs,
     .infer = center_grad_infer,
     .run = center_grad_run},
    {0}};
