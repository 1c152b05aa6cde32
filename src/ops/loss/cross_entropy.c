/* Cross entropy of probabilities X [.., C]: cross_entropy and cross_entropy2.
 *
 *   hard labels  Y = -log X[label]         dX = -dY / X[label] at the label, 0 elsewhere
 *   soft labels  Y = -sum_j L_j log X_j    dX_j = -L_j dY / X_j          (cross_entropy only)
 *
 * log 0 counts as -1e20. label == ignore_index: Y = 0, no gradient. Any other label outside [0, C)
 * is an error. cross_entropy2 keeps MatchX = X[label] (0 when ignored) and XShape = dims of X, so
 * that its gradient op (cross_entropy_grad2) needs neither X nor its data.
 * A hard label has the rank of X with a last dimension of 1, or one rank less. */
#include "ops/seq_common.h"

enum { IN_X, IN_LABEL, IN_DY };
enum { OUT_Y, OUT_MATCH_X, OUT_XSHAPE };
enum { AT_IGNORE, AT_SOFT };
enum { G2_LABEL, G2_MATCH_X, G2_XSHAPE, G2_DY };

/* Checks the label against X and gives the shape of Y. */
static enum skiff_status y_shape(const struct infer *c, const struct shape *x, int label_slot,
                                 bool soft, struct shape *out, struct skiff_error *err)
{
    const struct shape *label = infer_in(c, label_slot, 0);
    TRY(soft ? infer_want(c, label_slot, infer_in_dtype(c, IN_X, 0), err)
             : infer_want_int(c, label_slot, err));
    bool same_rank = label->ndim == x->ndim;
    bool fits = x->ndim >= 1 && (same_rank || (!soft && label->ndim == x->ndim - 1));
    for (int i = 0; fits && i < x->ndim - 1; i++)
        fits = dims_agree(x->dims[i], label->dims[i]);
    if (fits && same_rank)
        fits = dims_agree(label->dims[x->ndim - 1], soft ? x->dims[x->ndim - 1] : 1);
    char text[160];
    if (!fits)
        return infer_fail(c, label_slot, 0, err, "does not fit X %s with %s labels",
                          shape_text(x, text), soft ? "soft" : "hard");
    *out = *label;
    if (same_rank)
        out->dims[x->ndim - 1] = 1;
    return SKIFF_OK;
}

static enum skiff_status labels_check(const struct kernel *k, int slot, int64_t classes,
                                      int64_t ignore, struct skiff_error *err)
{
    const struct tensor *label = kernel_in(k, slot);
    int64_t n = tensor_numel(label);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = tensor_int_at(label, i);
        if ((uint64_t)l >= (uint64_t)classes && l != ignore)
            return kernel_bad_index(k, slot, i, l, classes, "classes of X", err);
    }
    return SKIFF_OK;
}

/* ---- cross_entropy ---- */

static enum skiff_status xent_infer(struct infer *c, struct skiff_error *err)
{
    struct shape y;
    TRY(infer_want_float(c, IN_X, err));
    TRY(y_shape(c, infer_in(c, IN_X, 0), IN_LABEL, c->attr[AT_SOFT].b, &y, err));
    TRY(infer_out(c, OUT_Y, 0, infer_in_dtype(c, IN_X, 0), &y, err));
    infer_share_lod(c, IN_X, 0, OUT_Y, 0);
    return SKIFF_OK;
}

static enum skiff_status xent_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X), *label = kernel_in(k, IN_LABEL);
    int64_t classes = x->shape.dims[x->shape.ndim - 1];
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1), ignore = k->attr[AT_IGNORE].i;
    bool soft = k->attr[AT_SOFT].b;
    if (!soft)
        TRY(labels_check(k, IN_LABEL, classes, ignore, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data, *weight = label->data;
        T *y = kernel_out(k, OUT_Y)->data;
        for (int64_t i = 0; i < rows; i++, p += classes, weight += soft ? classes : 0) {
            T sum = 0;
            for (int64_t j = 0; soft && j < classes; j++)
                sum += weight[j] * LOG_FINITE(p[j]);
            int64_t l = soft ? ignore : tensor_int_at(label, i);
            y[i] = soft ? -sum : l == ignore ? 0 : -LOG_FINITE(p[l]);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status xent_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape y;
    TRY(infer_want_float(c, IN_X, err));
    TRY(infer_want(c, IN_DY, infer_in_dtype(c, IN_X, 0), err));
    TRY(y_shape(c, infer_in(c, IN_X, 0), IN_LABEL, c->attr[AT_SOFT].b, &y, err));
    return infer_same(c, IN_X, 0, err);
}

static enum skiff_status dy_check(const struct kernel *k, int slot, int64_t rows,
                                  struct skiff_error *err)
{
    int64_t n = tensor_numel(kernel_in(k, slot));
    if (n == rows)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_SHAPE, err, "input Y@GRAD (%s) has %lld values, X has %lld rows",
                       kernel_in_name(k, slot, 0), (long long)n, (long long)rows);
}

static enum skiff_status xent_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X), *label = kernel_in(k, IN_LABEL);
    int64_t classes = x->shape.dims[x->shape.ndim - 1], n = tensor_numel(x);
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1), ignore = k->attr[AT_IGNORE].i;
    bool soft = k->attr[AT_SOFT].b;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(dy_check(k, IN_DY, rows, err));
    if (!soft)
        TRY(labels_check(k, IN_LABEL, classes, ignore, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *dy = kernel_in(k, IN_DY)->data, *p = x->data, *weight = label->data;
        T *dx = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            dx[i] = soft ? -weight[i] * dy[i / classes] / p[i] : 0;
        for (int64_t i = 0; !soft && i < rows; i++) {
            int64_t l = tensor_int_at(label, i);
            if (l != ignore)
                dx[i * classes + l] = -dy[i] / p[i * classes + l];
        }
    })
    return SKIFF_OK;
}

/* ---- cross_entropy2 ---- */

static enum skiff_status xent2_infer(struct infer *c, struct skiff_error *err)
{
    struct shape y, x = *infer_in(c, IN_X, 0);
    TRY(infer_want_float(c, IN_X, err));
    TRY(y_shape(c, &x, IN_LABEL, false, &y, err));
    if (x.ndim + 1 > TENSOR_MAX_DIMS)
        return infer_fail(c, IN_X, 0, err, "has too many dimensions");
    struct shape match = x, xshape = x;
    match.dims[x.ndim - 1] = 1;
    xshape.dims[xshape.ndim++] = 0;
    TRY(infer_out(c, OUT_Y, 0, infer_in_dtype(c, IN_X, 0), &y, err));
    TRY(infer_out(c, OUT_MATCH_X, 0, infer_in_dtype(c, IN_X, 0), &match, err));
    TRY(infer_out(c, OUT_XSHAPE, 0, infer_in_dtype(c, IN_X, 0), &xshape, err));
    infer_share_lod(c, IN_X, 0, OUT_Y, 0);
    infer_share_lod(c, IN_X, 0, OUT_XSHAPE, 0);
    return SKIFF_OK;
}

static enum skiff_status xent2_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_X), *label = kernel_in(k, IN_LABEL);
    int64_t classes = x->shape.dims[x->shape.ndim - 1];
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1), ignore = k->attr[AT_IGNORE].i;
    TRY(labels_check(k, IN_LABEL, classes, ignore, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *from = x->data;
        T *y = kernel_out(k, OUT_Y)->data, *match = kernel_out_data(k, OUT_MATCH_X);
        for (int64_t i = 0; i < rows; i++) {
            int64_t l = tensor_int_at(label, i);
            T p = l == ignore ? 0 : from[i * classes + l];
            y[i] = l == ignore ? 0 : -LOG_FINITE(p);
            if (match)
                match[i] = p;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status xent2_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape y, x = *infer_in(c, G2_XSHAPE, 0);
    if (x.ndim < 2)
        return infer_fail(c, G2_XSHAPE, 0, err, "must hold the dims of X and a 0");
    x.ndim--;
    TRY(y_shape(c, &x, G2_LABEL, false, &y, err));
    TRY(infer_want_float(c, G2_MATCH_X, err));
    TRY(infer_want(c, G2_DY, infer_in_dtype(c, G2_MATCH_X, 0), err));
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, G2_MATCH_X, 0), &x, err));
    infer_share_lod(c, G2_XSHAPE, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status xent2_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    struct tensor *dx = kernel_out(k, 0);
    const struct tensor *label = kernel_in(k, G2_LABEL);
    int64_t classes = dx->shape.dims[dx->shape.ndim - 1];
    int64_t rows = shape_rows(&dx->shape, dx->shape.ndim - 1), ignore = k->attr[AT_IGNORE].i;
    TRY(dy_check(k, G2_DY, rows, err));
    TRY(dy_check(k, G2_MATCH_X, rows, err));
    TRY(labels_check(k, G2_LABEL, classes, ignore, err));
    tensor_clear(dx);
    DISPATCH_FLOAT(dx->dtype, T, {
        const T *dy = kernel_in(k, G2_DY)->data, *match = kernel_in(k, G2_MATCH_X)->data;
        T *to = dx->data;
        for (int64_t i = 0; i < rows; i++) {
            int64_t l = tensor_int_at(label, i);
            if (l != ignore)
                to[i * classes + l] = -dy[i] / match[i];
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot xent_ins[] = {{"X", 0}, {"Label", 0}, {0}};
static const struct op_slot xent_outs[] = {{"Y", 0}, {0}};
static const struct op_slot xent_grad_ins[] = {{"X", 0}, {"Label", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_slot xent_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_slot xent2_outs[] = {{"Y", 0}, {"MatchX", 0}, {"XShape", 0}, {0}};
static const struct op_slot xent2_grad_ins[] = {
    {"Label", 0}, {"MatchX", 0}, {"XShape", SLOT_SHAPE_ONLY}, {"Y@GRAD", 0}, {0}};
static const struct op_attr_spec xent_attrs[] = {
    A_INT("ignore_index", -100), A_BOOL("soft_label", false), {0}};
static const struct op_attr_spec xent2_attrs[] = {A_INT("ignore_index", -100), {0}};

const struct op_kind ops_cross_entropy[] = {
    {.type = "cross_entropy",
     .flags = OP_CLASS_LABELS,
     .ins = xent_ins,
     .outs = xent_outs,
     .attrs = xent_attrs,
     .grad = "X Label Y@GRAD -> X@GRAD",
     .infer = xent_infer,
     .run = xent_run},
    {.type = "cross_entropy_grad",
     .ins = xent_grad_ins,
     .outs = xent_grad_outs,
     .attrs = xent_attrs,
     .infer = xent_grad_infer,
     .run = xent_grad_run},
    {.type = "cross_entropy2",
     .flags = OP_CLASS_LABELS,
     .class = CLASS_XENT,
     .ins = xent_ins,
     .outs = xent2_outs,
     .attrs = xent2_attrs,
     .grad = "cross_entropy_grad2: Label MatchX XShape Y@GRAD -> X@GRAD",
     .infer = xent2_infer,
     .run = xent2_run},
    {.type = "cross_entropy_grad2",
     .class = CLASS_XENT_GRAD,
     .ins = xent2_grad_ins,
     .outs = xent_grad_outs,
     .attrs = xent2_attrs,
     .infer = xent2_grad_infer,
     .run = xent2_grad_run},
    {0}};
