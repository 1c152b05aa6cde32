/* Losses of one score and one label, element by element: sigmoid_cross_entropy_with_logits,
 * log_loss, bce_loss, kldiv_loss, huber_loss.
 *
 *   sigmoid_cross_entropy_with_logits
 *       Out = max(x,0) - x l + log(1 + exp(-|x|));       dX = dO (sigmoid(x) - l)
 *       with pos_weight w (2.x), as Paddle 2.6 computes it: the logarithm times w; dX = dO (w
 *       sigmoid(x) - l), which is not the slope of that
 *       0 where the label is ignore_index; normalize divides by the number of labels that count
 *       (no label counts: the result is 0, where Paddle 1.8 gives 0/0)
 *   log_loss    Loss = -l log(p+e) - (1-l) log(1-p+e);   dP = dL (-l/(p+e) + (1-l)/(1-p+e))
 *   bce_loss    Out = -l max(log p, -100) - (1-l) max(log(1-p), -100)
 *               dX = dO (p - l) / max(p (1-p), 1e-12)
 *   kldiv_loss  Loss = t (log t - x) where t > 0, else 0;  dX = -t dL where t > 0
 *               reduction mean, sum, batchmean (sum / rows): dL is one number, divided alike
 *   huber_loss  r = Y - X (kept as Residual); |r| <= d: r^2/2, else d (|r| - d/2)
 *               dX = -dO clip(r, -d, d), dY = -dX */
#include <string.h>
#include <tgmath.h>

#include "ops/seq_common.h"

/* ---- shared ---- */

/* Out like input 0, lod too. */
static enum skiff_status loss_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status loss_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    return infer_like(c, 0, 0, err);
}

#define SOFTPLUS_OF_MINUS_ABS(x) (log(1.0f + exp(-fabs(x))))

/* ---- sigmoid_cross_entropy_with_logits ---- */

enum { SC_X, SC_LABEL, SC_POS_WEIGHT };
enum { SCG_X, SCG_LABEL, SCG_DOUT, SCG_POS_WEIGHT };
enum { SC_NORMALIZE, SC_IGNORE };

static enum skiff_status sc_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status sc_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 4, err));
    return infer_like(c, 0, 0, err);
}

static bool sc_ignored(const struct kernel *k, double label)
{
    return (int)label == k->attr[SC_IGNORE].i;
}

/* What a normalised loss is divided by: the labels that count. */
static int64_t sc_count(const struct kernel *k, const struct tensor *label)
{
    int64_t n = tensor_numel(label), count = 0;
    if (!k->attr[SC_NORMALIZE].b)
        return 1;
    DISPATCH_FLOAT(label->dtype, T, {
        const T *l = label->data;
        for (int64_t i = 0; i < n; i++)
            count += !sc_ignored(k, (double)l[i]);
    })
    return count;
}

static enum skiff_status sc_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, SC_X)), count = sc_count(k, kernel_in(k, SC_LABEL));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *x = kernel_in(k, SC_X)->data, *l = kernel_in(k, SC_LABEL)->data;
        const T *w = kernel_in_data(k, SC_POS_WEIGHT);
        T *out = kernel_out(k, 0)->data, scale = count ? 1.0f / (T)count : 0.0f;
        for (int64_t i = 0; i < n; i++) {
            T tail = SOFTPLUS_OF_MINUS_ABS(x[i]);
            T loss = fmax(x[i], 0.0f) - x[i] * l[i] + (w ? w[i] : 1.0f) * tail;
            out[i] = sc_ignored(k, (double)l[i]) ? 0 : loss * scale;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status sc_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, SCG_X)), count = sc_count(k, kernel_in(k, SCG_LABEL));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *x = kernel_in(k, SCG_X)->data, *l = kernel_in(k, SCG_LABEL)->data;
        const T *dout = kernel_in(k, SCG_DOUT)->data;
        const T *w = kernel_in_data(k, SCG_POS_WEIGHT);
        T *dx = kernel_out(k, 0)->data, scale = count ? 1.0f / (T)count : 0.0f;
        for (int64_t i = 0; i < n; i++) {
            T slope = SIGMOID(x[i]) * (w ? w[i] : 1.0f) - l[i];
            dx[i] = sc_ignored(k, (double)l[i]) ? 0 : dout[i] * slope * scale;
        }
    })
    return SKIFF_OK;
}

/* ---- log_loss ---- */

static enum skiff_status log_loss_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *p = kernel_in(k, 0)->data, *l = kernel_in(k, 1)->data;
        T *out = kernel_out(k, 0)->data, e = k->attr[0].f;
        for (int64_t i = 0; i < n; i++)
            out[i] = -l[i] * log(p[i] + e) - (1.0f - l[i]) * log(1.0f - p[i] + e);
    })
    return SKIFF_OK;
}

static enum skiff_status log_loss_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *p = kernel_in(k, 0)->data, *l = kernel_in(k, 1)->data;
        const T *dloss = kernel_in(k, 2)->data;
        T *dp = kernel_out(k, 0)->data, e = k->attr[0].f;
        for (int64_t i = 0; i < n; i++)
            dp[i] = dloss[i] * (-(l[i] / (p[i] + e)) + (1.0f - l[i]) / (1.0f - p[i] + e));
    })
    return SKIFF_OK;
}

/* ---- bce_loss ---- */

static enum skiff_status bce_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *p = kernel_in(k, 0)->data, *l = kernel_in(k, 1)->data;
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++) {
            if (!(p[i] >= 0 && p[i] <= 1))
                return kernel_fail(
                    k, SKIFF_RANGE, err,
                    "input X (%s): element %lld is %g, must be a probability in [0, 1]",
                    kernel_in_name(k, 0, 0), (long long)i, (double)p[i]);
            out[i] =
                (l[i] - 1.0f) * fmax(log(1.0f - p[i]), -100.0f) - l[i] * fmax(log(p[i]), -100.0f);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status bce_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *p = kernel_in(k, 0)->data, *l = kernel_in(k, 1)->data;
        const T *dout = kernel_in(k, 2)->data;
        T *dx = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            dx[i] = dout[i] * ((p[i] - l[i]) / fmax((1.0f - p[i]) * p[i], 1e-12f));
    })
    return SKIFF_OK;
}

/* ---- kldiv_loss ---- */

static bool kl_reduces(const struct attr_value *attr)
{
    return attr[0].s && strcmp(attr[0].s, "none");
}

static enum skiff_status kl_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    const char *r = c->attr[0].s;
    if (!r ||
        (strcmp(r, "none") && strcmp(r, "mean") && strcmp(r, "sum") && strcmp(r, "batchmean")))
        return error_set(err, SKIFF_INVALID,
                         "op kldiv_loss: reduction is '%s', must be none, mean, sum or batchmean",
                         r ? r : "");
    struct shape s = kl_reduces(c->attr) ? infer_one_number(c) : *infer_in(c, 0, 0);
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}

/* What the summed loss is divided by. */
static int64_t kl_divisor(const struct kernel *k, const struct tensor *x)
{
    if (!strcmp(k->attr[0].s, "mean"))
        return tensor_numel(x);
    return !strcmp(k->attr[0].s, "batchmean") && x->shape.ndim ? x->shape.dims[0] : 1;
}

static enum skiff_status kl_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int64_t n = tensor_numel(x);
    bool reduces = kl_reduces(k->attr);
    double sum = 0;
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *t = kernel_in(k, 1)->data;
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++) {
            T loss = t[i] <= 0 ? 0.0f : t[i] * (log(t[i]) - ((T *)x->data)[i]);
            sum += (double)loss;
            if (!reduces)
                out[i] = loss;
        }
        if (reduces)
            out[0] = (T)(sum / (double)kl_divisor(k, x));
    })
    return SKIFF_OK;
}

static enum skiff_status kl_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    TRY(infer_want(c, 2, infer_in_dtype(c, 0, 0), err));
    return infer_like(c, 0, 0, err);
}

static enum skiff_status kl_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *dloss = kernel_in(k, 2);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(x);
    bool reduces = kl_reduces(k->attr);
    if (tensor_numel(dloss) != (reduces ? 1 : n))
        return kernel_fail(k, SKIFF_SHAPE, err, "input Loss@GRAD (%s) has %lld values",
                           kernel_in_name(k, 2, 0), (long long)tensor_numel(dloss));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *t = kernel_in(k, 1)->data;
        T *dx = kernel_out(k, 0)->data, scale = 1.0f / (T)kl_divisor(k, x);
        for (int64_t i = 0; i < n; i++) {
            T d = reduces ? ((T *)dloss->data)[0] * scale : ((T *)dloss->data)[i];
            dx[i] = t[i] <= 0 ? 0.0f : -t[i] * d;
        }
    })
    return SKIFF_OK;
}

/* ---- huber_loss ---- */

static enum skiff_status huber_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    TRY(infer_same(c, 0, 0, err));
    return infer_like(c, 1, 1, err);
}

static enum skiff_status huber_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *x = kernel_in(k, 0)->data, *y = kernel_in(k, 1)->data;
        T *out = kernel_out(k, 0)->data, d = k->attr[0].f;
        T *residual = kernel_out_data(k, 1);
        for (int64_t i = 0; i < n; i++) {
            T r = y[i] - x[i], a = fabs(r);
            if (residual)
                residual[i] = r;
            out[i] = a <= d ? 0.5f * r * r : d * (a - 0.5f * d);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status huber_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    TRY(infer_like(c, 0, 0, err));
    return infer_like(c, 0, 1, err);
}

static enum skiff_status huber_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *residual = kernel_in(k, 0)->data, *dout = kernel_in(k, 1)->data;
        T d = k->attr[0].f;
        for (int side = 0; side < 2; side++) {
            if (!kernel_wants(k, side))
                continue;
            T *to = kernel_out(k, side)->data, sign = side ? 1.0f : -1.0f;
            for (int64_t i = 0; i < n; i++)
                to[i] = sign * fmax(fmin(residual[i], d), -d) * dout[i];
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot sc_ins[] = {
    {"X", 0}, {"Label", 0}, {"pos_weight", SLOT_OPTIONAL | SLOT_ONLY_2X}, {0}};
static const struct op_slot sc_grad_ins[] = {
    {"X", 0}, {"Label", 0}, {"Out@GRAD", 0}, {"pos_weight", SLOT_OPTIONAL | SLOT_ONLY_2X}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec sc_attrs[] = {
    A_BOOL("normalize", false), A_INT("ignore_index", -100), {0}};

static const struct op_slot log_loss_ins[] = {{"Predicted", 0}, {"Labels", 0}, {0}};
static const struct op_slot log_loss_outs[] = {{"Loss", 0}, {0}};
static const struct op_slot log_loss_grad_ins[] = {
    {"Predicted", 0}, {"Labels", 0}, {"Loss@GRAD", 0}, {0}};
static const struct op_slot log_loss_grad_outs[] = {{"Predicted@GRAD", 0}, {0}};
static const struct op_attr_spec log_loss_attrs[] = {A_REQ("epsilon", ATTR_FLOAT), {0}};

static const struct op_slot bce_ins[] = {{"X", 0}, {"Label", 0}, {0}};
static const struct op_slot bce_grad_ins[] = {{"X", 0}, {"Label", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

static const struct op_slot kl_ins[] = {{"X", 0}, {"Target", 0}, {0}};
static const struct op_slot kl_grad_ins[] = {{"X", 0}, {"Target", 0}, {"Loss@GRAD", 0}, {0}};
static const struct op_attr_spec kl_attrs[] = {A_STR("reduction", "mean"), {0}};

static const struct op_slot huber_ins[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot huber_outs[] = {{"Out", 0}, {"Residual", SLOT_EXTRA}, {0}};
static const struct op_slot huber_grad_ins[] = {{"Residual", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot huber_grad_outs[] = {{"X@GRAD", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_attr_spec huber_attrs[] = {A_REQ("delta", ATTR_FLOAT), {0}};

#define KL_ROW(gen, dims)                                                                 \
    {                                                                                     \
        .type = "kldiv_loss", .generations = gen, .flags = dims, .ins = kl_ins,           \
        .outs = log_loss_outs, .attrs = kl_attrs, .grad = "X Target Loss@GRAD -> X@GRAD", \
        .infer = kl_infer, .run = kl_run                                                  \
    }

const struct op_kind ops_loss_binary[] = {{.type = "sigmoid_cross_entropy_with_logits",
                                           .ins = sc_ins,
                                           .outs = out_outs,
                                           .attrs = sc_attrs,
                                           .grad = "X Label Out@GRAD pos_weight -> X@GRAD",
                                           .infer = sc_infer,
                                           .run = sc_run},
                                          {.type = "sigmoid_cross_entropy_with_logits_grad",
                                           .ins = sc_grad_ins,
                                           .outs = x_grad_outs,
                                           .attrs = sc_attrs,
                                           .infer = sc_grad_infer,
                                           .run = sc_grad_run},
                                          {.type = "log_loss",
                                           .ins = log_loss_ins,
                                           .outs = log_loss_outs,
                                           .attrs = log_loss_attrs,
                                           .grad = "Predicted Labels Loss@GRAD -> Predicted@GRAD",
                                           .infer = loss_infer,
                                           .run = log_loss_run},
                                          {.type = "log_loss_grad",
                                           .ins = log_loss_grad_ins,
                                           .outs = log_loss_grad_outs,
                                           .attrs = log_loss_attrs,
                                           .infer = loss_grad_infer,
                                           .run = log_loss_grad_run},
                                          {.type = "bce_loss",
                                           .ins = bce_ins,
                                           .outs = out_outs,
                                           .attrs = no_attrs,
                                           .grad = "X Label Out@GRAD -> X@GRAD",
                                           .infer = loss_infer,
                                           .run = bce_run},
                                          {.type = "bce_loss_grad",
                                           .ins = bce_grad_ins,
                                           .outs = x_grad_outs,
                                           .attrs = no_attrs,
                                           .infer = loss_grad_infer,
                                           .run = bce_grad_run},
                                          KL_ROW(GEN_1X, OP_ONE_DIM),
                                          KL_ROW(GEN_2X, 0),
                                          {.type = "kldiv_loss_grad",
                                           .ins = kl_grad_ins,
                                           .outs = x_grad_outs,
                                           .attrs = kl_attrs,
                                           .infer = kl_grad_infer,
                                           .run = kl_grad_run},
                                          {.type = "huber_loss",
                                           .ins = huber_ins,
                                           .outs = huber_outs,
                                           .attrs = huber_attrs,
                                           .grad = "Residual Out@GRAD -> X@GRAD Y@GRAD",
                                           .infer = huber_infer,
                                           .run = huber_run},
                                          {.type = "huber_loss_grad",
                                           .ins = huber_grad_ins,
                                           .outs = huber_grad_outs,
                                           .attrs = huber_attrs,
                                           .infer = huber_grad_infer,
                                           .run = huber_grad_run},
                                          {0}};
