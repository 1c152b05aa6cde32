/* Conditional random fields over chains of tags.
 *
 * Transition [tags + 2, tags]: row 0 begins a chain, row 1 ends it, row 2 + i goes from tag i. With
 * scores s(y) = begin(y_1) + sum x_t(y_t) + sum w(y_t-1, y_t) + end(y_T):
 *
 *   linear_chain_crf  LogLikelihood = log sum over all y of exp(s(y)) - s(Label), the negative of
 *                     the log likelihood, one a chain (0 for an empty one).
 *                     Alpha: forward vectors, each scaled to a sum of 1; EmissionExps = exp(x -
 *                     largest of its row); TransitionExps = exp(w). Gradients: the probability of
 *                     a tag, or of a pair of tags, less what Label has, times dLogLikelihood
 *   crf_decoding      ViterbiPath: the y with the largest score; with Label: 1 where both agree
 *
 * Chains: sequences of Label / Emission [rows, tags], or with Length [n, 1]: Emission
 * [n, longest, tags], Label [n, longest(, 1)]. */
#include <float.h>
#include <math.h>

#include "ops/seq_common.h"

enum { EMISSION, TRANSITION, LABEL, LENGTH };
enum { FIRST_TAG = 2 }; /* rows of Transition before those of the tags */

struct chains {
    int64_t n, tags, longest, rows;
    const struct lod_level *seq; /* NULL: padded */
    const int64_t *length;       /* of padded ones */
};

static enum skiff_status chains_infer_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *e = infer_in(c, EMISSION, 0), *w = infer_in(c, TRANSITION, 0);
    int rank = infer_has(c, LENGTH) ? 3 : 2;
    TRY(infer_want(c, EMISSION, DTYPE_FP32, err));
    TRY(infer_want(c, TRANSITION, DTYPE_FP32, err));
    TRY(infer_want_rank(c, EMISSION, rank, err));
    TRY(infer_want_rank(c, TRANSITION, 2, err));
    int64_t tags = e->dims[rank - 1];
    if (tags >= 0 && (!dims_agree(w->dims[0], tags + FIRST_TAG) || !dims_agree(w->dims[1], tags)))
        return infer_fail(c, TRANSITION, 0, err, "must be [tags + 2, tags]: [%lld, %lld]",
                          (long long)tags + FIRST_TAG, (long long)tags);
    return SKIFF_OK;
}

/* lod_slot: the input whose sequences are the chains. */
static enum skiff_status chains_of(struct kernel *k, int lod_slot, struct chains *out,
                                   struct skiff_error *err)
{
    const struct tensor *e = kernel_in(k, EMISSION);
    bool padded = kernel_has(k, LENGTH);
    *out = (struct chains){0};
    out->tags = e->shape.dims[padded ? 2 : 1];
    out->rows = out->tags ? tensor_numel(e) / out->tags : 0;
    if (out->tags < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "Emission (%s) has no tags",
                           kernel_in_name(k, EMISSION, 0));
    if (!padded) {
        TRY(kernel_lod(k, lod_slot, 0, &out->seq, err));
        out->n = out->seq->n - 1;
        if (out->seq->off[out->n] != out->rows)
            return kernel_fail(k, SKIFF_SHAPE, err, "Emission (%s) has %lld rows, the chains %lld",
                               kernel_in_name(k, EMISSION, 0), (long long)out->rows,
                               (long long)out->seq->off[out->n]);
        return SKIFF_OK;
    }
    out->n = e->shape.dims[0];
    out->longest = e->shape.dims[1];
    TRY(kernel_check_dtype(k, LENGTH, dtype_is_index, "an integer", err));
    TRY(kernel_ints(k, LENGTH, &out->length, err));
    if (tensor_numel(kernel_in(k, LENGTH)) != out->n)
        return kernel_fail(k, SKIFF_SHAPE, err, "Length (%s) must hold one number for each of %lld",
                           kernel_in_name(k, LENGTH, 0), (long long)out->n);
    for (int64_t i = 0; i < out->n; i++)
        if (out->length[i] < 0 || out->length[i] > out->longest)
            return kernel_bad_index(k, LENGTH, i, out->length[i], out->longest + 1,
                                    "rows of Emission, plus one", err);
    return SKIFF_OK;
}

static int64_t chain_begin(const struct chains *c, int64_t i)
{
    return c->seq ? c->seq->off[i] : i * c->longest;
}
static int64_t chain_length(const struct chains *c, int64_t i)
{
    return c->seq ? c->seq->off[i + 1] - c->seq->off[i] : c->length[i];
}

/* Labels as int64, each a tag as far as it belongs to a chain. */
static enum skiff_status labels_of(struct kernel *k, const struct chains *c, const int64_t **out,
                                   struct skiff_error *err)
{
    TRY(kernel_check_dtype(k, LABEL, dtype_is_index, "an integer", err));
    if (tensor_numel(kernel_in(k, LABEL)) != c->rows)
        return kernel_fail(k, SKIFF_SHAPE, err, "Label (%s) has %lld elements, Emission %lld rows",
                           kernel_in_name(k, LABEL, 0),
                           (long long)tensor_numel(kernel_in(k, LABEL)), (long long)c->rows);
    TRY(kernel_ints(k, LABEL, out, err));
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t t = 0; t < chain_length(c, i); t++) {
            int64_t at = chain_begin(c, i) + t, tag = (*out)[at];
            if (tag < 0 || tag >= c->tags)
                return kernel_bad_index(k, LABEL, at, tag, c->tags, "tags", err);
        }
    return SKIFF_OK;
}

/* ---- linear_chain_crf ---- */

enum { ALPHA, EMISSION_EXPS, TRANSITION_EXPS, LIKELIHOOD };
enum { G_ALPHA = 4, G_EMISSION_EXPS, G_TRANSITION_EXPS, G_DLIKELIHOOD };
enum { D_EMISSION, D_TRANSITION };

static enum skiff_status crf_infer(struct infer *c, struct skiff_error *err)
{
    TRY(chains_infer_check(c, err));
    TRY(infer_like(c, EMISSION, ALPHA, err));
    TRY(infer_like(c, EMISSION, EMISSION_EXPS, err));
    TRY(infer_like(c, TRANSITION, TRANSITION_EXPS, err));
    struct shape s = SHAPE(infer_has(c, LENGTH) ? infer_in(c, EMISSION, 0)->dims[0] : -1, 1);
    const struct lod *lod = c->running ? infer_in_lod(c, LABEL, 0) : NULL;
    if (s.dims[0] < 0 && c->running) {
        TRY(infer_want_lod(c, LABEL, err));
        s.dims[0] = lod_last(lod)->n - 1;
    }
    return infer_out(c, LIKELIHOOD, 0, DTYPE_FP32, &s, err);
}

/* Scales n numbers to a sum of 1; gives the sum. */
static double normalize(float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(x[i] / sum);
    return sum;
}

static float row_most(const float *x, int64_t tags)
{
    float most = x[0];
    for (int64_t i = 1; i < tags; i++)
        most = fmaxf(most, x[i]);
    return most;
}

static void exponentials(const float *x, int64_t rows, int64_t tags, float *out)
{
    for (int64_t r = 0; r < rows; r++, x += tags, out += tags) {
        float most = row_most(x, tags);
        for (int64_t i = 0; i < tags; i++)
            out[i] = expf(x[i] - most);
    }
}

/* One chain; all pointers at its first row. Returns log Z. */
static double chain_forward(int64_t length, int64_t tags, const float *x, const float *e,
                            const float *w, float *alpha)
{
    for (int64_t i = 0; i < tags; i++)
        alpha[i] = w[i] * e[i];
    double log_z = (double)row_most(x, tags) + log(normalize(alpha, tags));
    for (int64_t t = 1; t < length; t++) {
        float *now = alpha + t * tags;
        for (int64_t i = 0; i < tags; i++) {
            double sum = 0;
            for (int64_t j = 0; j < tags; j++)
                sum += now[j - tags] * w[(FIRST_TAG + j) * tags + i];
            now[i] = (float)(e[t * tags + i] * sum);
        }
        log_z += (double)row_most(x + t * tags, tags) + log(normalize(now, tags));
    }
    double sum = 0;
    for (int64_t i = 0; i < tags; i++)
        sum += alpha[(length - 1) * tags + i] * w[tags + i];
    return log_z + log(sum);
}

static double chain_score(int64_t length, int64_t tags, const float *x, const float *w,
                          const int64_t *y)
{
    double score = (double)w[y[0]] + (double)w[tags + y[length - 1]];
    for (int64_t t = 0; t < length; t++)
        score += (double)x[t * tags + y[t]];
    for (int64_t t = 1; t < length; t++)
        score += (double)w[(FIRST_TAG + y[t - 1]) * tags + y[t]];
    return score;
}

static enum skiff_status crf_run(struct kernel *k, struct skiff_error *err)
{
    struct chains c;
    const int64_t *y;
    TRY(chains_of(k, LABEL, &c, err));
    TRY(labels_of(k, &c, &y, err));
    const float *x = kernel_in_f32(k, EMISSION), *w = kernel_in_f32(k, TRANSITION);
    float *alpha = tensor_f32(kernel_out(k, ALPHA)), *e = tensor_f32(kernel_out(k, EMISSION_EXPS));
    float *we = tensor_f32(kernel_out(k, TRANSITION_EXPS));
    float *out = tensor_f32(kernel_out(k, LIKELIHOOD));
    tensor_clear(kernel_out(k, ALPHA));
    exponentials(x, c.rows, c.tags, e);
    for (int64_t i = 0; i < (c.tags + FIRST_TAG) * c.tags; i++)
        we[i] = expf(w[i]);
    for (int64_t i = 0; i < c.n; i++) {
        int64_t begin = chain_begin(&c, i), length = chain_length(&c, i), at = begin * c.tags;
        out[i] = length ? (float)(chain_forward(length, c.tags, x + at, e + at, we, alpha + at) -
                                  chain_score(length, c.tags, x + at, w, y + begin))
                        : 0;
    }
    return SKIFF_OK;
}

static enum skiff_status crf_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(chains_infer_check(c, err));
    TRY(infer_grad_of(c, EMISSION, D_EMISSION, err));
    return infer_like(c, TRANSITION, D_TRANSITION, err);
}

/* Backward vectors, each scaled to a sum of 1. */
static void chain_backward(int64_t length, int64_t tags, const float *e, const float *w,
                           float *beta)
{
    bytes_copy(beta + (length - 1) * tags, w + tags, (size_t)tags * sizeof(float));
    normalize(beta + (length - 1) * tags, tags);
    for (int64_t t = length - 2; t >= 0; t--) {
        for (int64_t i = 0; i < tags; i++) {
            double sum = 0;
            for (int64_t j = 0; j < tags; j++)
                sum += w[(FIRST_TAG + i) * tags + j] * e[(t + 1) * tags + j] *
                       beta[(t + 1) * tags + j];
            beta[t * tags + i] = (float)sum;
        }
        normalize(beta + t * tags, tags);
    }
}

/* What the gradient of one chain needs, at its first row. */
struct chain_grad {
    int64_t length, tags;
    const float *e, *w, *alpha;
    const int64_t *y;
    float *beta, *dx, *dw; /* dw: NULL where it is not wanted */
    float d;
};

static void tags_grad(const struct chain_grad *g)
{
    for (int64_t t = 0; t < g->length; t++) {
        const float *a = g->alpha + t * g->tags, *b = g->beta + t * g->tags;
        float *dx = g->dx + t * g->tags;
        double sum = 0;
        for (int64_t i = 0; i < g->tags; i++)
            sum += a[i] * b[i];
        for (int64_t i = 0; i < g->tags; i++)
            dx[i] = (float)(a[i] * b[i] / sum) * g->d;
        dx[g->y[t]] -= g->d;
    }
}

static void pairs_grad(const struct chain_grad *g)
{
    int64_t tags = g->tags;
    for (int64_t i = 0; i < tags; i++) {
        g->dw[i] += g->dx[i];
        g->dw[tags + i] += g->dx[(g->length - 1) * tags + i];
    }
    for (int64_t t = 1; t < g->length; t++) {
        const float *a = g->alpha + (t - 1) * tags, *b = g->beta + t * tags, *e = g->e + t * tags;
        const float *w = g->w + FIRST_TAG * tags;
        float *dw = g->dw + FIRST_TAG * tags;
        double sum = 0;
        for (int64_t i = 0; i < tags; i++)
            for (int64_t j = 0; j < tags; j++)
                sum += w[i * tags + j] * a[i] * b[j] * e[j];
        for (int64_t i = 0; i < tags; i++)
            for (int64_t j = 0; j < tags; j++)
                dw[i * tags + j] += (float)(w[i * tags + j] * a[i] * b[j] * e[j] / sum) * g->d;
        dw[g->y[t - 1] * tags + g->y[t]] -= g->d;
    }
}

static enum skiff_status crf_grad_check(const struct kernel *k, const struct chains *c,
                                        struct skiff_error *err)
{
    TRY(kernel_want_floats(k, G_ALPHA, c->rows * c->tags, err));
    TRY(kernel_want_floats(k, G_EMISSION_EXPS, c->rows * c->tags, err));
    TRY(kernel_want_floats(k, G_TRANSITION_EXPS, (c->tags + FIRST_TAG) * c->tags, err));
    return kernel_want_floats(k, G_DLIKELIHOOD, c->n, err);
}

static enum skiff_status crf_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct chains c;
    const int64_t *y;
    float *beta, *dx = kernel_out_f32(k, D_EMISSION), *dw = kernel_out_f32(k, D_TRANSITION);
    TRY(chains_of(k, LABEL, &c, err));
    TRY(labels_of(k, &c, &y, err));
    TRY(crf_grad_check(k, &c, err));
    TRY(kernel_floats(k, c.rows * c.tags, &beta, err));
    if (!dx)
        TRY(kernel_floats(k, c.rows * c.tags, &dx, err));
    floats_zero(dx, c.rows * c.tags);
    if (dw)
        tensor_clear(kernel_out(k, D_TRANSITION));
    for (int64_t i = 0; i < c.n; i++) {
        int64_t begin = chain_begin(&c, i), length = chain_length(&c, i), at = begin * c.tags;
        if (!length)
            continue;
        struct chain_grad g = {length,
                               c.tags,
                               kernel_in_f32(k, G_EMISSION_EXPS) + at,
                               kernel_in_f32(k, G_TRANSITION_EXPS),
                               kernel_in_f32(k, G_ALPHA) + at,
                               y + begin,
                               beta + at,
                               dx + at,
                               dw,
                               kernel_in_f32(k, G_DLIKELIHOOD)[i]};
        chain_backward(length, c.tags, g.e, g.w, g.beta);
        tags_grad(&g);
        if (dw)
            pairs_grad(&g);
    }
    return SKIFF_OK;
}

/* ---- crf_decoding ---- */

static enum skiff_status decoding_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *e = infer_in(c, EMISSION, 0);
    TRY(chains_infer_check(c, err));
    struct shape s = infer_has(c, LENGTH) ? SHAPE(e->dims[0], e->dims[1]) : SHAPE(e->dims[0], 1);
    TRY(infer_out(c, 0, 0, DTYPE_INT64, &s, err));
    if (!infer_has(c, LENGTH))
        infer_share_lod(c, EMISSION, 0, 0, 0);
    return SKIFF_OK;
}

/* best [length, tags]: the largest score of a path that ends there; from: the tag before. */
static void chain_decode(int64_t length, int64_t tags, const float *x, const float *w, float *best,
                         int64_t *from, int64_t *path)
{
    int64_t last = 0;
    for (int64_t i = 0; i < tags; i++)
        best[i] = w[i] + x[i];
    for (int64_t t = 1; t < length; t++)
        for (int64_t i = 0; i < tags; i++) {
            float most = -FLT_MAX;
            int64_t before = 0;
            for (int64_t j = 0; j < tags; j++) {
                float score = best[(t - 1) * tags + j] + w[(FIRST_TAG + j) * tags + i];
                if (score > most) {
                    most = score;
                    before = j;
                }
            }
            best[t * tags + i] = most + x[t * tags + i];
            from[t * tags + i] = before;
        }
    const float *end = best + (length - 1) * tags;
    for (int64_t i = 1; i < tags; i++)
        if (end[i] + w[tags + i] > end[last] + w[tags + last])
            last = i;
    for (int64_t t = length - 1; t >= 0; t--) {
        path[t] = last;
        last = t ? from[t * tags + last] : last;
    }
}

static enum skiff_status decoding_run(struct kernel *k, struct skiff_error *err)
{
    struct chains c;
    const int64_t *y = NULL;
    float *best;
    void *from;
    TRY(chains_of(k, EMISSION, &c, err));
    if (kernel_has(k, LABEL)) {
        TRY(kernel_check_dtype(k, LABEL, dtype_is_index, "an integer", err));
        if (tensor_numel(kernel_in(k, LABEL)) != c.rows)
            return kernel_fail(k, SKIFF_SHAPE, err, "Label (%s) must have one tag a row",
                               kernel_in_name(k, LABEL, 0));
        TRY(kernel_ints(k, LABEL, &y, err));
    }
    TRY(kernel_floats(k, c.rows * c.tags, &best, err));
    TRY(kernel_scratch(k, (size_t)(c.rows * c.tags) * sizeof(int64_t), &from, err));
    int64_t *path = tensor_i64(kernel_out(k, 0));
    tensor_clear(kernel_out(k, 0));
    for (int64_t i = 0; i < c.n; i++) {
        int64_t begin = chain_begin(&c, i), length = chain_length(&c, i);
        if (!length)
            continue;
        chain_decode(length, c.tags, kernel_in_f32(k, EMISSION) + begin * c.tags,
                     kernel_in_f32(k, TRANSITION), best, from, path + begin);
        for (int64_t t = begin; y && t < begin + length; t++)
            path[t] = y[t] == path[t];
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

#define CHAINS                                        \
    {"Emission", 0}, {"Transition", 0}, {"Label", 0}, \
    {                                                 \
        "Length", SLOT_OPTIONAL                       \
    }
static const struct op_slot crf_ins[] = {CHAINS, {0}};
static const struct op_slot crf_outs[] = {
    {"Alpha", 0}, {"EmissionExps", 0}, {"TransitionExps", 0}, {"LogLikelihood", 0}, {0}};
static const struct op_slot crf_grad_ins[] = {
    CHAINS, {"Alpha", 0}, {"EmissionExps", 0}, {"TransitionExps", 0}, {"LogLikelihood@GRAD", 0},
    {0}};
static const struct op_slot crf_grad_outs[] = {
    {"Emission@GRAD", SLOT_OPTIONAL}, {"Transition@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot decoding_ins[] = {
    {"Emission", 0}, {"Transition", 0}, {"Label", SLOT_OPTIONAL}, {"Length", SLOT_OPTIONAL}, {0}};
static const struct op_slot decoding_outs[] = {{"ViterbiPath", 0}, {0}};
static const struct op_attr_spec none[] = {{0}};

const struct op_kind ops_crf[] = {
    {.type = "linear_chain_crf",
     .ins = crf_ins,
     .outs = crf_outs,
     .attrs = none,
     .grad = "Emission Transition Label Length Alpha EmissionExps TransitionExps "
             "LogLikelihood@GRAD -> Emission@GRAD Transition@GRAD",
     .infer = crf_infer,
     .run = crf_run},
    {.type = "linear_chain_crf_grad",
     .ins = crf_grad_ins,
     .outs = crf_grad_outs,
     .attrs = none,
     .infer = crf_grad_infer,
     .run = crf_grad_run},
    {.type = "crf_decoding",
     .flags = OP_NO_GRAD_NEEDED,
     .ins = decoding_ins,
     .outs = decoding_outs,
     .attrs = none,
     .infer = decoding_infer,
     .run = decoding_run},
    {0}};
