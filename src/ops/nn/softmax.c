/* softmax, log_softmax, gumbel_softmax and softmax_with_cross_entropy, over one axis of a tensor
 * seen as [outer, classes, inner].
 *
 *   softmax      p_j = exp(max(x_j - max x, -64)) / sum     (differences are clamped, as in Paddle)
 *                dX = (dO - sum_j dO_j p_j) * p
 *   log_softmax  y_j = x_j - max x - log sum exp(x - max x);  dX = dO - exp(y) * sum_j dO_j
 *   gumbel_softmax  softmax((x - log(-log u)) / temperature), u from [1e-5, 1); hard: a one at its
 *                largest. Gradient: softmax's of what came out, as in Paddle (so 0 when hard, and
 *                without 1 / temperature)
 *   softmax_with_cross_entropy
 *                Loss = -log p_label, or -sum_j L_j log p_j with soft labels; log 0 counts as -1e20
 *                dX = (p - onehot(label)) * dLoss, (p - L) * dLoss; 0 for an ignored label
 *                use_softmax false (2.x): Logits are the probabilities themselves;
 *                dX = -dLoss / p at the label, -L / p * dLoss */
#include <math.h>
#include <string.h>

#include "ops/create/random_source.h"
#include "ops/seq_common.h"
#include "tensor/math.h"

#define SOFTMAX_FLOOR (-64.0f)

struct class_view { /* [outer, classes, inner] */
    int64_t outer, classes, inner;
};

static struct class_view rows3_of(const struct shape *s, int32_t axis)
{
    int a = axis_of(axis, s->ndim);
    struct class_view r = {1, 1, 1};
    for (int i = 0; i < s->ndim; i++) {
        if (i < a)
            r.outer *= s->dims[i];
        else if (i == a)
            r.classes = s->dims[i];
        else
            r.inner *= s->dims[i];
    }
    return r;
}

static enum skiff_status axis_check(const struct infer *c, int slot, int32_t axis,
                                    struct skiff_error *err)
{
    TRY(infer_want_float(c, slot, err));
    const struct shape *s = infer_in(c, slot, 0);
    if (s->ndim == 0 && (axis == 0 || axis == -1))
        return SKIFF_OK;
    int a;
    return infer_axis(c, slot, "axis", axis, s->ndim, &a, err);
}

/* ---- softmax ---- */

/* out = clamped differences to the maximum, or plain differences. */
static void shift_rows(struct class_view r, const float *x, float floor, float *out)
{
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            const float *row = x + o * r.classes * r.inner + i;
            float *to = out + o * r.classes * r.inner + i;
            float max = -INFINITY;
            for (int64_t j = 0; j < r.classes; j++)
                max = row[j * r.inner] > max ? row[j * r.inner] : max;
            for (int64_t j = 0; j < r.classes; j++) {
                float d = row[j * r.inner] - max;
                to[j * r.inner] = d < floor ? floor : d;
            }
        }
}

static void softmax_forward(struct class_view r, const float *x, float *out)
{
    shift_rows(r, x, SOFTMAX_FLOOR, out);
    math_exp_f32(r.outer * r.classes * r.inner, out, out);
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            float *row = out + o * r.classes * r.inner + i, sum = 0;
            for (int64_t j = 0; j < r.classes; j++)
                sum += row[j * r.inner];
            float by = 1.0f / sum;
            for (int64_t j = 0; j < r.classes; j++)
                row[j * r.inner] *= by;
        }
}

static void softmax_backward(struct class_view r, const float *p, const float *dout, float *dx)
{
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            int64_t base = o * r.classes * r.inner + i;
            float dot = 0;
            for (int64_t j = 0; j < r.classes; j++)
                dot += dout[base + j * r.inner] * p[base + j * r.inner];
            for (int64_t j = 0; j < r.classes; j++) {
                int64_t at = base + j * r.inner;
                dx[at] = (dout[at] - dot) * p[at];
            }
        }
}

/* float64 programs (checks, not training): plain loops. Logarithms: y = log p. */
static void softmax_forward_f64(struct class_view r, bool logarithms, const double *x, double *out)
{
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            const double *row = x + o * r.classes * r.inner + i;
            double *to = out + o * r.classes * r.inner + i, max = -INFINITY, sum = 0;
            for (int64_t j = 0; j < r.classes; j++)
                max = fmax(max, row[j * r.inner]);
            for (int64_t j = 0; j < r.classes; j++) {
                double d = row[j * r.inner] - max; /* a NaN stays */
                to[j * r.inner] = d < (double)SOFTMAX_FLOOR ? (double)SOFTMAX_FLOOR : d;
                sum += exp(to[j * r.inner]);
            }
            for (int64_t j = 0; j < r.classes; j++)
                to[j * r.inner] =
                    logarithms ? to[j * r.inner] - log(sum) : exp(to[j * r.inner]) / sum;
        }
}

static void softmax_backward_f64(struct class_view r, bool logarithms, const double *y,
                                 const double *dout, double *dx)
{
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            int64_t base = o * r.classes * r.inner + i, end = base + r.classes * r.inner;
            double sum = 0;
            for (int64_t at = base; at < end; at += r.inner)
                sum += logarithms ? dout[at] : dout[at] * y[at];
            for (int64_t at = base; at < end; at += r.inner)
                dx[at] = logarithms ? dout[at] - exp(y[at]) * sum : (dout[at] - sum) * y[at];
        }
}

static bool is_f64(const struct tensor *t)
{
    return t->dtype == DTYPE_FP64;
}

static enum skiff_status softmax_infer(struct infer *c, struct skiff_error *err)
{
    TRY(axis_check(c, 0, c->attr[0].i, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status softmax_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    if (tensor_numel(x) && is_f64(x))
        softmax_forward_f64(rows3_of(&x->shape, k->attr[0].i), false, x->data,
                            kernel_out(k, 0)->data);
    else if (tensor_numel(x))
        softmax_forward(rows3_of(&x->shape, k->attr[0].i), tensor_f32(x),
                        tensor_f32(kernel_out(k, 0)));
    return SKIFF_OK;
}

static enum skiff_status softmax_grad_check(struct infer *c, struct skiff_error *err)
{
    TRY(axis_check(c, 0, c->attr[0].i, err));
    TRY(infer_want(c, 1, infer_in_dtype(c, 0, 0), err));
    return infer_want_alike(c, 1, 0, err);
}

/* 1.x: the gradient has no lod. */
static enum skiff_status softmax_grad_infer_1x(struct infer *c, struct skiff_error *err)
{
    TRY(softmax_grad_check(c, err));
    return infer_like(c, 0, 0, err);
}

static enum skiff_status softmax_grad_infer_2x(struct infer *c, struct skiff_error *err)
{
    TRY(softmax_grad_check(c, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status softmax_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *p = kernel_in(k, 0);
    if (!kernel_wants(k, 0) || !tensor_numel(p))
        return SKIFF_OK;
    if (is_f64(p))
        softmax_backward_f64(rows3_of(&p->shape, k->attr[0].i), false, p->data,
                             kernel_in(k, 1)->data, kernel_out(k, 0)->data);
    else
        softmax_backward(rows3_of(&p->shape, k->attr[0].i), tensor_f32(p),
                         tensor_f32(kernel_in(k, 1)), tensor_f32(kernel_out(k, 0)));
    return SKIFF_OK;
}

/* ---- log_softmax ---- */

static enum skiff_status log_softmax_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct class_view r = rows3_of(&x->shape, k->attr[0].i);
    if (!tensor_numel(x))
        return SKIFF_OK;
    if (is_f64(x)) {
        softmax_forward_f64(r, true, x->data, kernel_out(k, 0)->data);
        return SKIFF_OK;
    }
    float *out = tensor_f32(kernel_out(k, 0));
    shift_rows(r, tensor_f32(x), SOFTMAX_FLOOR, out);
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            float *row = out + o * r.classes * r.inner + i, sum = 0;
            for (int64_t j = 0; j < r.classes; j++)
                sum += expf(row[j * r.inner]);
            float log_sum = logf(sum);
            for (int64_t j = 0; j < r.classes; j++)
                row[j * r.inner] -= log_sum;
        }
    return SKIFF_OK;
}

static enum skiff_status log_softmax_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *y = kernel_in(k, 0);
    if (!kernel_wants(k, 0) || !tensor_numel(y))
        return SKIFF_OK;
    if (is_f64(y)) {
        softmax_backward_f64(rows3_of(&y->shape, k->attr[0].i), true, y->data,
                             kernel_in(k, 1)->data, kernel_out(k, 0)->data);
        return SKIFF_OK;
    }
    const float *out = tensor_f32(y), *dout = tensor_f32(kernel_in(k, 1));
    float *dx = tensor_f32(kernel_out(k, 0));
    struct class_view r = rows3_of(&y->shape, k->attr[0].i);
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = 0; i < r.inner; i++) {
            int64_t base = o * r.classes * r.inner + i;
            float sum = 0;
            for (int64_t j = 0; j < r.classes; j++)
                sum += dout[base + j * r.inner];
            for (int64_t j = 0; j < r.classes; j++) {
                int64_t at = base + j * r.inner;
                dx[at] = dout[at] - expf(out[at]) * sum;
            }
        }
    return SKIFF_OK;
}

/* ---- gumbel_softmax ---- */
enum { GB_AXIS, GB_TEMPERATURE, GB_HARD };

/* A one at the largest of every line. */
static void harden(struct class_view r, struct tensor *out)
{
    DISPATCH_FLOAT(out->dtype, T, {
        for (int64_t line = 0; line < r.outer * r.inner; line++) {
            T *p = (T *)out->data + line / r.inner * r.classes * r.inner + line % r.inner;
            int64_t best = 0;
            for (int64_t j = 1; j < r.classes; j++)
                best = p[j * r.inner] > p[best * r.inner] ? j : best;
            for (int64_t j = 0; j < r.classes; j++)
                p[j * r.inner] = j == best;
        }
    })
}

static enum skiff_status gumbel_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    struct class_view r = rows3_of(&x->shape, k->attr[GB_AXIS].i);
    struct random_source source;
    int64_t n = tensor_numel(x);
    if (!(k->attr[GB_TEMPERATURE].f > 0))
        return kernel_fail(k, SKIFF_INVALID, err, "temperature is %g, must be positive",
                           (double)k->attr[GB_TEMPERATURE].f);
    random_source_init(&source, k, 0);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data;
        T *o = out->data;
        for (int64_t i = 0; i < n; i++) {
            T u = is_f64(x) ? (T)random_double(&source) : (T)random_float(&source);
            T noise = (T)-log(-log((double)(u * (1.0f - 1e-5f) + 1e-5f)));
            o[i] = (p[i] + noise) / k->attr[GB_TEMPERATURE].f;
        }
    })
    if (n && is_f64(x))
        softmax_forward_f64(r, false, out->data, out->data);
    else if (n)
        softmax_forward(r, tensor_f32(out), tensor_f32(out));
    if (n && k->attr[GB_HARD].b)
        harden(r, out);
    return SKIFF_OK;
}

/* ---- softmax_with_cross_entropy ---- */

enum { SX_LOGITS, SX_LABEL };
enum { SX_SOFTMAX, SX_LOSS };
enum { SX_SOFT, SX_STABLE, SX_IGNORE, SX_AXIS, SX_USE_SOFTMAX };
enum { SXG_LABEL, SXG_SOFTMAX, SXG_DLOSS };

static bool use_softmax(const struct attr_value *attr)
{
    return attr[SX_USE_SOFTMAX].b;
}

/* `x` has the shape of Logits; the label has it too, with 1 on the axis when it is hard. */
static enum skiff_status sx_label_check(const struct infer *c, int x_slot, int label_slot,
                                        struct skiff_error *err)
{
    const struct shape *x = infer_in(c, x_slot, 0), *label = infer_in(c, label_slot, 0);
    bool soft = c->attr[SX_SOFT].b;
    TRY(axis_check(c, x_slot, c->attr[SX_AXIS].i, err));
    TRY(soft ? infer_want(c, label_slot, infer_in_dtype(c, x_slot, 0), err)
             : infer_want_int(c, label_slot, err));
    int axis = axis_of(c->attr[SX_AXIS].i, x->ndim);
    bool fits = x->ndim > 0 && label->ndim == x->ndim;
    for (int i = 0; fits && i < x->ndim; i++)
        fits = dims_agree(label->dims[i], i == axis && !soft ? 1 : x->dims[i]);
    if (fits)
        return SKIFF_OK;
    char text[160];
    return infer_fail(c, label_slot, 0, err, "does not fit logits %s: a %s label has %s on axis %d",
                      shape_text(x, text), soft ? "soft" : "hard",
                      soft ? "the classes" : "dimension 1", axis);
}

static enum skiff_status sx_infer(struct infer *c, struct skiff_error *err)
{
    TRY(sx_label_check(c, SX_LOGITS, SX_LABEL, err));
    struct shape s = *infer_in(c, SX_LOGITS, 0), loss = s;
    loss.dims[axis_of(c->attr[SX_AXIS].i, s.ndim)] = 1;
    TRY(infer_out(c, SX_SOFTMAX, 0, infer_in_dtype(c, SX_LOGITS, 0), &s, err));
    TRY(infer_out(c, SX_LOSS, 0, infer_in_dtype(c, SX_LOGITS, 0), &loss, err));
    infer_share_lod(c, SX_LOGITS, 0, SX_SOFTMAX, 0);
    infer_share_lod(c, SX_LOGITS, 0, SX_LOSS, 0);
    return SKIFF_OK;
}

static enum skiff_status sx_labels_in_range(const struct kernel *k, int slot, int64_t classes,
                                            struct skiff_error *err)
{
    const struct tensor *label = kernel_in(k, slot);
    int64_t n = tensor_numel(label);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = tensor_int_at(label, i);
        if ((l < 0 || l >= classes) && l != k->attr[SX_IGNORE].i)
            return kernel_bad_index(k, slot, i, l, classes, "classes of the logits", err);
    }
    return SKIFF_OK;
}

/* p = the probabilities of all rows. */
static void sx_probabilities(const struct kernel *k, struct class_view r, const struct tensor *x,
                             void *p)
{
    if (!tensor_numel(x))
        return;
    if (!use_softmax(k->attr))
        memmove(p, x->data, tensor_bytes(x));
    else if (is_f64(x))
        softmax_forward_f64(r, false, x->data, p);
    else
        softmax_forward(r, tensor_f32(x), p);
}

static enum skiff_status sx_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SX_LOGITS), *label = kernel_in(k, SX_LABEL);
    struct class_view r = rows3_of(&x->shape, k->attr[SX_AXIS].i);
    void *given = kernel_out_data(k, SX_SOFTMAX);
    bool soft = k->attr[SX_SOFT].b;
    if (!soft)
        TRY(sx_labels_in_range(k, SX_LABEL, r.classes, err));
    if (!kernel_wants(k, SX_SOFTMAX))
        TRY(kernel_scratch(k, tensor_bytes(x) + 1, &given, err));
    sx_probabilities(k, r, x, given);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = given, *weight = label->data;
        T *loss = kernel_out(k, SX_LOSS)->data;
        for (int64_t at = 0; at < r.outer * r.inner; at++) {
            int64_t base = at / r.inner * r.classes * r.inner + at % r.inner;
            int64_t l = soft ? 0 : tensor_int_at(label, at);
            T sum = 0;
            for (int64_t j = 0; soft && j < r.classes; j++)
                sum -= weight[base + j * r.inner] * LOG_FINITE(p[base + j * r.inner]);
            loss[at] = soft                        ? sum
                       : l == k->attr[SX_IGNORE].i ? 0
                                                   : -LOG_FINITE(p[base + l * r.inner]);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status sx_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(sx_label_check(c, SXG_SOFTMAX, SXG_LABEL, err));
    TRY(infer_want(c, SXG_DLOSS, infer_in_dtype(c, SXG_SOFTMAX, 0), err));
    return infer_like(c, SXG_SOFTMAX, 0, err);
}

static enum skiff_status sx_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *label = kernel_in(k, SXG_LABEL), *softmax = kernel_in(k, SXG_SOFTMAX);
    const struct tensor *dloss = kernel_in(k, SXG_DLOSS);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    struct class_view r = rows3_of(&softmax->shape, k->attr[SX_AXIS].i);
    if (tensor_numel(dloss) != r.outer * r.inner)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input Loss@GRAD (%s) has %lld values, must have %lld",
                           kernel_in_name(k, SXG_DLOSS, 0), (long long)tensor_numel(dloss),
                           (long long)(r.outer * r.inner));
    bool soft = k->attr[SX_SOFT].b, whole = use_softmax(k->attr);
    if (!soft)
        TRY(sx_labels_in_range(k, SXG_LABEL, r.classes, err));
    DISPATCH_FLOAT(softmax->dtype, T, {
        const T *weight = label->data, *p = softmax->data, *up = dloss->data;
        T *dx = kernel_out(k, 0)->data;
        for (int64_t row = 0; row < r.outer * r.inner; row++) {
            int64_t base = row / r.inner * r.classes * r.inner + row % r.inner;
            int64_t l = soft ? 0 : tensor_int_at(label, row);
            bool ignored = !soft && l == k->attr[SX_IGNORE].i;
            for (int64_t j = 0; j < r.classes; j++) {
                int64_t at = base + j * r.inner;
                T target = soft ? weight[at] : (T)(j == l), d = ignored ? 0 : up[row];
                if (whole)
                    dx[at] = soft ? (p[at] - target) * d : p[at] * d - target * d;
                else
                    dx[at] = soft || (j == l && !ignored) ? -target / p[at] * d : 0;
            }
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot out_grad_ins[] = {{"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec softmax_attrs_1x[] = {
    A_INT("axis", -1),           A_BOOL("use_cudnn", false), A_STR("data_format", "AnyLayout"),
    A_BOOL("use_mkldnn", false), A_BOOL("is_test", false),   {0}};
static const struct op_attr_spec softmax_attrs_2x[] = {A_INT("axis", -1),
                                                       A_BOOL("use_cudnn", false),
                                                       A_STR("data_format", "AnyLayout"),
                                                       A_BOOL("use_mkldnn", false),
                                                       A_BOOL("is_test", false),
                                                       A_STR("mkldnn_data_type", "float32"),
                                                       {0}};
static const struct op_attr_spec log_softmax_attrs[] = {
    A_INT("axis", -1), A_BOOL("use_mkldnn", false), {0}};

static const struct op_attr_spec gumbel_attrs[] = {
    A_INT("axis", -1), A_FLOAT("temperature", 1.0f), A_BOOL("hard", false), {0}};

static const struct op_slot sx_ins[] = {{"Logits", 0}, {"Label", 0}, {0}};
static const struct op_slot sx_outs[] = {{"Softmax", SLOT_EXTRA}, {"Loss", 0}, {0}};
static const struct op_slot sx_grad_ins[] = {{"Label", 0}, {"Softmax", 0}, {"Loss@GRAD", 0}, {0}};
static const struct op_slot sx_grad_outs[] = {{"Logits@GRAD", 0}, {0}};
static const struct op_attr_spec sx_attrs[] = {A_BOOL("soft_label", false),
                                               A_BOOL("numeric_stable_mode", true),
                                               A_INT("ignore_index", -100),
                                               A_INT("axis", -1),
                                               AF_BOOL("use_softmax", true, ATTR_ONLY_2X),
                                               {0}};

#define SOFTMAX_ROWS(gen, attr_table, grad_rule)                                           \
    {.type = "softmax",                                                                    \
     .generations = gen,                                                                   \
     .class = CLASS_SOFTMAX,                                                               \
     .ins = x_ins,                                                                         \
     .outs = out_outs,                                                                     \
     .attrs = attr_table,                                                                  \
     .grad = "Out Out@GRAD -> X@GRAD",                                                     \
     .infer = softmax_infer,                                                               \
     .run = softmax_run},                                                                  \
    {                                                                                      \
        .type = "softmax_grad", .generations = gen, .class = CLASS_SOFTMAX_GRAD,           \
        .ins = out_grad_ins, .outs = x_grad_outs, .attrs = attr_table, .infer = grad_rule, \
        .run = softmax_grad_run                                                            \
    }

const struct op_kind ops_softmax[] = {SOFTMAX_ROWS(GEN_1X, softmax_attrs_1x, softmax_grad_infer_1x),
                                      SOFTMAX_ROWS(GEN_2X, softmax_attrs_2x, softmax_grad_infer_2x),
                                      {.type = "log_softmax",
                                       .generations = GEN_2X,
                                       .ins = x_ins,
                                       .outs = out_outs,
                                       .attrs = log_softmax_attrs,
                                       .grad = "Out Out@GRAD -> X@GRAD",
                                       .infer = softmax_infer,
                                       .run = log_softmax_run},
                                      {.type = "log_softmax_grad",
                                       .generations = GEN_2X,
                                       .ins = out_grad_ins,
                                       .outs = x_grad_outs,
                                       .attrs = log_softmax_attrs,
                                       .infer = softmax_grad_infer_2x,
                                       .run = log_softmax_grad_run},
                                      {.type = "gumbel_softmax",
                                       .generations = GEN_2X,
                                       .flags = OP_RANDOM,
                                       .ins = x_ins,
                                       .outs = out_outs,
                                       .attrs = gumbel_attrs,
                                       .grad = "Out Out@GRAD -> X@GRAD",
                                       .infer = softmax_infer,
                                       .run = gumbel_run},
                                      {.type = "gumbel_softmax_grad",
                                       .generations = GEN_2X,
                                       .ins = out_grad_ins,
                                       .outs = x_grad_outs,
                                       .attrs = gumbel_attrs,
                                       .infer = softmax_grad_infer_2x,
                                       .run = softmax_grad_run},
                                      {.type = "softmax_with_cross_entropy",
                                       .flags = OP_CLASS_LABELS,
                                       .ins = sx_ins,
                                       .outs = sx_outs,
                                       .attrs = sx_attrs,
                                       .grad = "Label Softmax Loss@GRAD -> Logits@GRAD",
                                       .infer = sx_infer,
                                       .run = sx_run},
                                      {.type = "softmax_with_cross_entropy_grad",
                                       .ins = sx_grad_ins,
                                       .outs = sx_grad_outs,
                                       .attrs = sx_attrs,
                                       .infer = sx_grad_infer,
                                       .run = sx_grad_run},
                                      {0}};
