/* Losses of pairs and of rows: smooth_l1_loss, margin_rank_loss, rank_loss, bpr_loss,
 * teacher_student_sigmoid_loss, nll_loss.
 *
 *   smooth_l1_loss  d = (X - Y) * InsideWeight (kept as Diff), s = sigma^2
 *       Out[row] = sum OutsideWeight * (|d| < 1/s ? s d^2 / 2 : |d| - 1/(2s))
 *       dX = dO * Inside * Outside * (|d| < 1/s ? s d : sign d), dY = -dX
 *   margin_rank_loss  Out = max(0, margin - Label (X1 - X2)), Activated = Out > 0
 *       dX1 = -dO * Activated * Label, dX2 = -dX1
 *   rank_loss  o = Left - Right: Out = log(1 + exp o) - Label o;  dLeft = dO (sigmoid(o) - Label)
 *   bpr_loss   Y = mean over j != l of log(1 + exp(x_j - x_l))
 *   teacher_student_sigmoid_loss, with b(x, t) = max(x,0) - x t + log(1 + exp(-|x|)):
 *       label < -1: b(x,0); < 0: b(x,1); < 1: b(x,0) + b(x,label); else b(x,1) + b(x,label-1)
 *       gradient: p = sigmoid of x cut to the bounds; p, p - 1, 2p - label; 0 at the bounds
 *   nll_loss   Out = -w_l X[l], Total_weight = sum w_l; reduction mean divides by it */
#include <string.h>
#include <tgmath.h>

#include "ops/seq_common.h"

/* log(1 + exp x) without overflow */
#define SOFTPLUS(x) (fmax(x, 0.0f) + log(1.0f + exp(-fabs(x))))

/* ---- smooth_l1_loss ---- */

enum { SL_X, SL_Y, SL_INSIDE, SL_OUTSIDE };
enum { SLG_DIFF, SLG_INSIDE, SLG_OUTSIDE, SLG_DOUT };

static enum skiff_status smooth_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 4, err));
    struct shape x = *infer_in(c, SL_X, 0), out = {.ndim = 2, .dims = {x.dims[0], 1}};
    if (x.ndim < 2)
        return infer_fail(c, SL_X, 0, err, "must have at least 2 dimensions");
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, SL_X, 0), &x, err));
    return infer_out(c, 1, 0, infer_in_dtype(c, SL_X, 0), &out, err);
}

static enum skiff_status smooth_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SL_X);
    int64_t rows = x->shape.dims[0], width = shape_cols(&x->shape, 1);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *y = kernel_in(k, SL_Y)->data;
        const T *inside = kernel_in_data(k, SL_INSIDE), *outside = kernel_in_data(k, SL_OUTSIDE);
        T *out = kernel_out(k, 1)->data, s = k->attr[0].f * k->attr[0].f;
        T *diff = kernel_out_data(k, 0);
        for (int64_t r = 0; r < rows; r++) {
            T sum = 0;
            for (int64_t i = r * width; i < (r + 1) * width; i++) {
                T d = (((T *)x->data)[i] - y[i]) * (inside ? inside[i] : 1.0f), a = fabs(d);
                if (diff)
                    diff[i] = d;
                T loss = a < 1.0f / s ? 0.5f * d * d * s : a - 0.5f / s;
                sum += loss * (outside ? outside[i] : 1.0f);
            }
            out[r] = sum;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status smooth_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    TRY(infer_want(c, SLG_DOUT, infer_in_dtype(c, SLG_DIFF, 0), err));
    TRY(infer_like(c, SLG_DIFF, 0, err));
    return infer_like(c, SLG_DIFF, 1, err);
}

static enum skiff_status smooth_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *diff = kernel_in(k, SLG_DIFF), *dout = kernel_in(k, SLG_DOUT);
    int64_t n = tensor_numel(diff), width = shape_cols(&diff->shape, 1);
    if (tensor_numel(dout) * width != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Out@GRAD (%s) must have one value per row",
                           kernel_in_name(k, SLG_DOUT, 0));
    DISPATCH_FLOAT(diff->dtype, T, {
        const T *inside = kernel_in_data(k, SLG_INSIDE), *outside = kernel_in_data(k, SLG_OUTSIDE);
        T s = k->attr[0].f * k->attr[0].f;
        for (int side = 0; side < 2; side++) {
            if (!kernel_wants(k, side))
                continue;
            T *to = kernel_out(k, side)->data, sign = side ? -1.0f : 1.0f;
            for (int64_t i = 0; i < n; i++) {
                T d = ((T *)diff->data)[i];
                T slope = fabs(d) < 1.0f / s ? s * d : (T)((d > 0) - (d < 0));
                T w = (inside ? inside[i] : 1.0f) * (outside ? outside[i] : 1.0f);
                to[i] = sign * slope * w * ((T *)dout->data)[i / width];
            }
        }
    })
    return SKIFF_OK;
}

/* ---- margin_rank_loss ---- */

static enum skiff_status margin_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    TRY(infer_like(c, 2, 0, err));
    return infer_like(c, 2, 1, err);
}

static enum skiff_status margin_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *x1 = kernel_in(k, 0)->data, *x2 = kernel_in(k, 1)->data;
        const T *label = kernel_in(k, 2)->data;
        T *active = kernel_out_data(k, 0);
        T *out = kernel_out(k, 1)->data, margin = k->attr[0].f;
        for (int64_t i = 0; i < n; i++) {
            T loss = -label[i] * (x1[i] - x2[i]) + margin;
            out[i] = loss > 0 ? loss : 0;
            if (active)
                active[i] = loss > 0 ? 1 : 0;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status two_grads_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, 0, err));
    for (int i = 0; i < 4 && c->kind->ins[i].name; i++) {
        TRY(infer_want(c, i, infer_in_dtype(c, 0, 0), err));
        TRY(infer_want_alike(c, i, 0, err));
    }
    TRY(infer_like(c, 0, 0, err));
    return infer_like(c, 0, 1, err);
}

static enum skiff_status margin_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *label = kernel_in(k, 0)->data, *active = kernel_in(k, 1)->data;
        const T *dout = kernel_in(k, 2)->data;
        for (int side = 0; side < 2; side++) {
            if (!kernel_wants(k, side))
                continue;
            T *to = kernel_out(k, side)->data, sign = side ? 1.0f : -1.0f;
            for (int64_t i = 0; i < n; i++)
                to[i] = sign * dout[i] * active[i] * label[i];
        }
    })
    return SKIFF_OK;
}

/* ---- rank_loss ---- */

static enum skiff_status rank_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    return infer_like(c, 0, 0, err);
}

static enum skiff_status rank_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *label = kernel_in(k, 0)->data;
        const T *left = kernel_in(k, 1)->data, *right = kernel_in(k, 2)->data;
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = SOFTPLUS(left[i] - right[i]) - label[i] * (left[i] - right[i]);
    })
    return SKIFF_OK;
}

static enum skiff_status rank_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *label = kernel_in(k, 0)->data, *dout = kernel_in(k, 3)->data;
        const T *left = kernel_in(k, 1)->data, *right = kernel_in(k, 2)->data;
        for (int side = 0; side < 2; side++) {
            if (!kernel_wants(k, side))
                continue;
            T *to = kernel_out(k, side)->data, sign = side ? -1.0f : 1.0f;
            for (int64_t i = 0; i < n; i++)
                to[i] = sign * dout[i] * (SIGMOID(left[i] - right[i]) - label[i]);
        }
    })
    return SKIFF_OK;
}

/* ---- bpr_loss ---- */

enum { BPR_X, BPR_LABEL, BPR_DY };

static enum skiff_status bpr_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, BPR_X, err));
    TRY(infer_want_int(c, BPR_LABEL, err));
    const struct shape *x = infer_in(c, BPR_X, 0), *label = infer_in(c, BPR_LABEL, 0);
    bool fits = x->ndim >= 2 && label->ndim == x->ndim && dims_agree(label->dims[x->ndim - 1], 1);
    for (int i = 0; fits && i < x->ndim - 1; i++)
        fits = dims_agree(x->dims[i], label->dims[i]);
    if (!fits)
        return infer_fail(c, BPR_LABEL, 0, err, "must have the shape of X with a last dimension 1");
    if (c->running && x->dims[x->ndim - 1] < 2)
        return infer_fail(c, BPR_X, 0, err, "needs at least 2 classes");
    return SKIFF_OK;
}

static enum skiff_status bpr_infer(struct infer *c, struct skiff_error *err)
{
    TRY(bpr_check(c, err));
    struct shape y = *infer_in(c, BPR_X, 0);
    y.dims[y.ndim - 1] = 1;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, BPR_X, 0), &y, err));
    infer_share_lod(c, BPR_X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status bpr_label(const struct kernel *k, int64_t row, int64_t classes,
                                   int64_t *out, struct skiff_error *err)
{
    *out = tensor_int_at(kernel_in(k, BPR_LABEL), row);
    if (*out < 0 || *out >= classes)
        return kernel_bad_index(k, BPR_LABEL, row, *out, classes, "classes of X", err);
    return SKIFF_OK;
}

static enum skiff_status bpr_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, BPR_X);
    int64_t classes = x->shape.dims[x->shape.ndim - 1];
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1);
    DISPATCH_FLOAT(x->dtype, T, {
        T *y = kernel_out(k, 0)->data;
        for (int64_t r = 0; r < rows; r++) {
            int64_t l;
            TRY(bpr_label(k, r, classes, &l, err));
            const T *row = (T *)x->data + r * classes;
            T sum = 0;
            for (int64_t j = 0; j < classes; j++)
                if (j != l)
                    sum += SOFTPLUS(row[j] - row[l]);
            y[r] = sum / (T)(classes - 1);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status bpr_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(bpr_check(c, err));
    TRY(infer_want(c, BPR_DY, infer_in_dtype(c, BPR_X, 0), err));
    return infer_same(c, BPR_X, 0, err);
}

static enum skiff_status bpr_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, BPR_X), *dy = kernel_in(k, BPR_DY);
    int64_t classes = x->shape.dims[x->shape.ndim - 1];
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    if (tensor_numel(dy) != rows)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input Y@GRAD (%s) must have one value per row of X",
                           kernel_in_name(k, BPR_DY, 0));
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t r = 0; r < rows; r++) {
            int64_t l;
            TRY(bpr_label(k, r, classes, &l, err));
            const T *row = (T *)x->data + r * classes;
            T *dx = (T *)kernel_out(k, 0)->data + r * classes, sum = 0;
            T scale = ((T *)dy->data)[r] / (T)(classes - 1);
            for (int64_t j = 0; j < classes; j++) {
                if (j == l)
                    continue;
                dx[j] = scale * SIGMOID(row[j] - row[l]);
                sum += dx[j];
            }
            dx[l] = -sum;
        }
    })
    return SKIFF_OK;
}

/* ---- teacher_student_sigmoid_loss ---- */

enum { TS_UP, TS_LOW };

static enum skiff_status ts_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 2, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status ts_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *xs = kernel_in(k, 0)->data, *labels = kernel_in(k, 1)->data;
        T *y = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++) {
            T x = xs[i], l = labels[i], b0 = SOFTPLUS(x), b1 = b0 - x;
            if (l < -1.0f)
                y[i] = b0;
            else if (l < 0.0f)
                y[i] = b1;
            else if (l < 1.0f)
                y[i] = b0 + b0 - x * l;
            else
                y[i] = b1 + b0 - x * (l - 1.0f);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status ts_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_floats_alike(c, 3, err));
    return infer_like(c, 0, 0, err);
}

static enum skiff_status ts_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, 0));
    DISPATCH_FLOAT(kernel_in(k, 0)->dtype, T, {
        const T *x = kernel_in(k, 0)->data, *label = kernel_in(k, 1)->data;
        const T *dy = kernel_in(k, 2)->data;
        T *dx = kernel_out(k, 0)->data, up = k->attr[TS_UP].f, low = k->attr[TS_LOW].f;
        for (int64_t i = 0; i < n; i++) {
            T p = SIGMOID(fmax(fmin(x[i], up), low)), l = label[i];
            T slope = l < -1.0f ? p : l < 0.0f ? p - 1.0f : 2.0f * p - l;
            dx[i] = x[i] >= up || x[i] <= low ? 0.0f : slope * dy[i];
        }
    })
    return SKIFF_OK;
}

/* ---- nll_loss ---- */

enum { NLL_X, NLL_LABEL, NLL_WEIGHT, NLL_TOTAL, NLL_DOUT };
enum { NLL_IGNORE, NLL_REDUCTION };

/* X [N, C] or [N, C, ...] seen as [N, C, inner]; Label [N, ...]. */
static enum skiff_status nll_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, NLL_X, err));
    TRY(infer_want_int(c, NLL_LABEL, err));
    TRY(infer_want(c, NLL_WEIGHT, infer_in_dtype(c, NLL_X, 0), err));
    const struct shape *x = infer_in(c, NLL_X, 0), *label = infer_in(c, NLL_LABEL, 0);
    bool fits =
        x->ndim >= 2 && label->ndim == x->ndim - 1 && dims_agree(x->dims[0], label->dims[0]);
    for (int i = 2; fits && i < x->ndim; i++)
        fits = dims_agree(x->dims[i], label->dims[i - 1]);
    char text[160];
    if (!fits)
        return infer_fail(c, NLL_LABEL, 0, err, "does not fit X %s", shape_text(x, text));
    const struct shape *w = infer_in(c, NLL_WEIGHT, 0);
    if (w && (w->ndim != 1 || !dims_agree(w->dims[0], x->dims[1])))
        return infer_fail(c, NLL_WEIGHT, 0, err, "must have one value per class of X %s",
                          shape_text(x, text));
    const char *r = c->attr[NLL_REDUCTION].s;
    if (!r || (strcmp(r, "none") && strcmp(r, "mean") && strcmp(r, "sum")))
        return error_set(err, SKIFF_INVALID,
                         "op nll_loss: reduction is '%s', must be none, mean or sum", r ? r : "");
    return SKIFF_OK;
}

static enum skiff_status nll_infer(struct infer *c, struct skiff_error *err)
{
    TRY(nll_check(c, err));
    struct shape one = infer_one_number(c);
    struct shape out = strcmp(c->attr[NLL_REDUCTION].s, "none") ? one : *infer_in(c, NLL_LABEL, 0);
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, NLL_X, 0), &out, err));
    return infer_out(c, 1, 0, infer_in_dtype(c, NLL_X, 0), &one, err);
}

/* Position of the label's score in X and its class; -1 when it is ignored. */
static enum skiff_status nll_at(const struct kernel *k, int64_t i, int64_t *at, int64_t *class,
                                struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, NLL_X)->shape;
    int64_t classes = x->dims[1], inner = shape_cols(x, 2);
    int64_t l = tensor_int_at(kernel_in(k, NLL_LABEL), i);
    *at = *class = -1;
    if (l == k->attr[NLL_IGNORE].l)
        return SKIFF_OK;
    if (l < 0 || l >= classes)
        return kernel_bad_index(k, NLL_LABEL, i, l, classes, "classes of X", err);
    *at = (i / inner * classes + l) * inner + i % inner;
    *class = l;
    return SKIFF_OK;
}

static enum skiff_status nll_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, NLL_LABEL)), at, class;
    const char *reduction = k->attr[NLL_REDUCTION].s;
    bool none = !strcmp(reduction, "none");
    DISPATCH_FLOAT(kernel_in(k, NLL_X)->dtype, T, {
        const T *x = kernel_in(k, NLL_X)->data, *weight = kernel_in_data(k, NLL_WEIGHT);
        T *out = kernel_out(k, 0)->data, total = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            TRY(nll_at(k, i, &at, &class, err));
            T w = at < 0 ? 0 : weight ? weight[class] : 1;
            T loss = at < 0 ? 0.0f : -w * x[at];
            if (none)
                out[i] = loss;
            sum += loss;
            total += w;
        }
        if (!none)
            out[0] = !strcmp(reduction, "mean") && total != 0 ? sum / total : sum;
        if (kernel_wants(k, 1))
            ((T *)kernel_out(k, 1)->data)[0] = none ? 0 : total;
    })
    return SKIFF_OK;
}

static enum skiff_status nll_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(nll_check(c, err));
    TRY(infer_want(c, NLL_DOUT, infer_in_dtype(c, NLL_X, 0), err));
    TRY(infer_want(c, NLL_TOTAL, infer_in_dtype(c, NLL_X, 0), err));
    return infer_like(c, NLL_X, 0, err);
}

static enum skiff_status nll_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, NLL_LABEL)), at, class;
    const char *reduction = k->attr[NLL_REDUCTION].s;
    const struct tensor *dout = kernel_in(k, NLL_DOUT), *total = kernel_in(k, NLL_TOTAL);
    bool none = !strcmp(reduction, "none");
    struct tensor *dx = kernel_out(k, 0);
    if (tensor_numel(dout) != (none ? n : 1) || tensor_numel(total) < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Out@GRAD (%s) does not fit reduction '%s'",
                           kernel_in_name(k, NLL_DOUT, 0), reduction);
    DISPATCH_FLOAT(dx->dtype, T, {
        const T *weight = kernel_in_data(k, NLL_WEIGHT);
        T by = !strcmp(reduction, "mean") && ((T *)total->data)[0] != 0 ? ((T *)total->data)[0] : 1;
        tensor_clear(dx);
        for (int64_t i = 0; i < n; i++) {
            TRY(nll_at(k, i, &at, &class, err));
            if (at >= 0)
                ((T *)dx->data)[at] =
                    -(weight ? weight[class] : 1) * ((T *)dout->data)[none ? i : 0] / by;
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot smooth_ins[] = {
    {"X", 0}, {"Y", 0}, {"InsideWeight", SLOT_OPTIONAL}, {"OutsideWeight", SLOT_OPTIONAL}, {0}};
static const struct op_slot smooth_outs[] = {{"Diff", SLOT_EXTRA}, {"Out", 0}, {0}};
static const struct op_slot smooth_grad_ins[] = {{"Diff", 0},
                                                 {"InsideWeight", SLOT_OPTIONAL},
                                                 {"OutsideWeight", SLOT_OPTIONAL},
                                                 {"Out@GRAD", 0},
                                                 {0}};
static const struct op_slot xy_grad_outs[] = {{"X@GRAD", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_attr_spec smooth_attrs[] = {A_FLOAT("sigma", 1.0f), {0}};

static const struct op_slot margin_ins[] = {{"X1", 0}, {"X2", 0}, {"Label", 0}, {0}};
static const struct op_slot margin_outs[] = {{"Activated", SLOT_EXTRA}, {"Out", 0}, {0}};
static const struct op_slot margin_grad_ins[] = {
    {"Label", 0}, {"Activated", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot margin_grad_outs[] = {{"X1@GRAD", 0}, {"X2@GRAD", 0}, {0}};
static const struct op_attr_spec margin_attrs[] = {A_FLOAT("margin", 0.0f), {0}};

static const struct op_slot rank_ins[] = {{"Label", 0}, {"Left", 0}, {"Right", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot rank_grad_ins[] = {
    {"Label", 0}, {"Left", 0}, {"Right", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot rank_grad_outs[] = {{"Left@GRAD", 0}, {"Right@GRAD", 0}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

static const struct op_slot xl_ins[] = {{"X", 0}, {"Label", 0}, {0}};
static const struct op_slot y_outs[] = {{"Y", 0}, {0}};
static const struct op_slot xl_grad_ins[] = {{"X", 0}, {"Label", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec ts_attrs[] = {
    A_FLOAT("soft_max_up_bound", 15.0f), A_FLOAT("soft_max_lower_bound", -15.0f), {0}};

static const struct op_slot nll_ins[] = {{"X", 0}, {"Label", 0}, {"Weight", SLOT_OPTIONAL}, {0}};
static const struct op_slot nll_outs[] = {{"Out", 0}, {"Total_weight", 0}, {0}};
static const struct op_slot nll_grad_ins[] = {
    {"X", 0}, {"Label", 0}, {"Weight", SLOT_OPTIONAL}, {"Total_weight", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_attr_spec nll_attrs[] = {
    A_LONG("ignore_index", -100), A_STR("reduction", "mean"), {0}};

#define NLL_ROW(gen, dims)                                                                       \
    {                                                                                            \
        .type = "nll_loss", .generations = gen, .flags = dims, .ins = nll_ins, .outs = nll_outs, \
        .attrs = nll_attrs, .grad = "X Label Weight Total_weight Out@GRAD -> X@GRAD",            \
        .infer = nll_infer, .run = nll_run                                                       \
    }

const struct op_kind ops_loss_rank[] = {
    {.type = "smooth_l1_loss",
     .generations = GEN_1X,
     .ins = smooth_ins,
     .outs = smooth_outs,
     .attrs = smooth_attrs,
     .grad = "Diff InsideWeight OutsideWeight Out@GRAD -> X@GRAD Y@GRAD",
     .infer = smooth_infer,
     .run = smooth_run},
    {.type = "smooth_l1_loss_grad",
     .generations = GEN_1X,
     .ins = smooth_grad_ins,
     .outs = xy_grad_outs,
     .attrs = smooth_attrs,
     .infer = smooth_grad_infer,
     .run = smooth_grad_run},
    {.type = "margin_rank_loss",
     .generations = GEN_1X,
     .ins = margin_ins,
     .outs = margin_outs,
     .attrs = margin_attrs,
     .grad = "Label Activated Out@GRAD -> X1@GRAD X2@GRAD",
     .infer = margin_infer,
     .run = margin_run},
    {.type = "margin_rank_loss_grad",
     .generations = GEN_1X,
     .ins = margin_grad_ins,
     .outs = margin_grad_outs,
     .attrs = margin_attrs,
     .infer = two_grads_infer,
     .run = margin_grad_run},
    {.type = "rank_loss",
     .ins = rank_ins,
     .outs = out_outs,
     .attrs = no_attrs,
     .grad = "Label Left Right Out@GRAD -> Left@GRAD Right@GRAD",
     .infer = rank_infer,
     .run = rank_run},
    {.type = "rank_loss_grad",
     .ins = rank_grad_ins,
     .outs = rank_grad_outs,
     .attrs = no_attrs,
     .infer = two_grads_infer,
     .run = rank_grad_run},
    {.type = "bpr_loss",
     .ins = xl_ins,
     .outs = y_outs,
     .attrs = no_attrs,
     .grad = "X Label Y@GRAD -> X@GRAD",
     .infer = bpr_infer,
     .run = bpr_run},
    {.type = "bpr_loss_grad",
     .ins = xl_grad_ins,
     .outs = x_grad_outs,
     .attrs = no_attrs,
     .infer = bpr_grad_infer,
     .run = bpr_grad_run},
    {.type = "teacher_student_sigmoid_loss",
     .ins = xl_ins,
     .outs = y_outs,
     .attrs = ts_attrs,
     .grad = "X Label Y@GRAD -> X@GRAD",
     .infer = ts_infer,
     .run = ts_run},
    {.type = "teacher_student_sigmoid_loss_grad",
     .ins = xl_grad_ins,
     .outs = x_grad_outs,
     .attrs = ts_attrs,
     .infer = ts_grad_infer,
     .run = ts_grad_run},
    NLL_ROW(GEN_1X, OP_ONE_DIM),
    NLL_ROW(GEN_2X, 0),
    {.type = "nll_loss_grad",
     .ins = nll_grad_ins,
     .outs = x_grad_outs,
     .attrs = nll_attrs,
     .infer = nll_grad_infer,
     .run = nll_grad_run},
    {0}};
