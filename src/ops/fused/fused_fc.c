/* fused_fc: Out = act(X W + Bias), one step for mul, elementwise_add and an activation.
 *
 * X [.., k] is read as [m, k] (x_num_col_dims leading dims make the rows; -1: all but the last, as
 * many as X has when it runs), W is [k, n], Bias [n] or absent. Gradient:
 *   D         = Out@GRAD * act'(Out)    in scratch; Out@GRAD itself without activation
 *   X@GRAD    = D W^T
 *   W@GRAD    = X^T D
 *   Bias@GRAD = column sums of D
 * Made by passes/fuse_fc.c only. */
#include "ops/ops_common.h"
#include "tensor/math.h"

enum { FC_X, FC_W, FC_BIAS };
enum { FC_ATTR_COLS, FC_ATTR_ACT };

static const struct op_slot fc_ins[] = {{"X", 0}, {"W", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot fc_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec fc_attrs[] = {
    A_INT("x_num_col_dims", 1), A_INT("act", MATH_ACT_NONE), {0}};

static int row_dims(const struct attr_value *attr, const struct shape *x)
{
    return attr[FC_ATTR_COLS].i < 0 ? x->ndim - 1 : attr[FC_ATTR_COLS].i;
}

static enum skiff_status fc_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, FC_X, 0), *w = infer_in(c, FC_W, 0);
    int cols = row_dims(c->attr, x);
    if (w->ndim != 2 || x->ndim <= cols || cols < 1)
        return infer_fail(c, FC_W, 0, err,
                          "the weight must be a matrix and X must have more than %d dims", cols);
    int64_t k = dims_product(x, cols, x->ndim);
    if (dims_conflict(k, w->dims[0]))
        return infer_fail(c, FC_X, 0, err, "%lld columns do not fit the weight's %lld rows",
                          (long long)k, (long long)w->dims[0]);
    const struct shape *bias = infer_in(c, FC_BIAS, 0);
    if (bias && dims_conflict(bias->dims[0], w->dims[1]))
        return infer_fail(c, FC_BIAS, 0, err, "the bias must have %lld elements",
                          (long long)w->dims[1]);
    struct shape out = {.ndim = cols + 1};
    for (int i = 0; i < cols; i++)
        out.dims[i] = x->dims[i];
    out.dims[cols] = w->dims[1];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, FC_X, 0), &out, err));
    infer_share_lod(c, FC_X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status check_f32(const struct kernel *k, int nslots, struct skiff_error *err)
{
    for (int s = 0; s < nslots; s++) {
        const struct tensor *t = kernel_in(k, s);
        if (t && t->dtype != DTYPE_FP32)
            return kernel_fail(k, SKIFF_DTYPE, err, "input %s (%s) must be float32, found %s",
                               k->kind->ins[s].name, kernel_in_name(k, s, 0), dtype_name(t->dtype));
    }
    return SKIFF_OK;
}

static enum skiff_status fc_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_f32(k, 3, err));
    const struct tensor *x = kernel_in(k, FC_X), *w = kernel_in(k, FC_W),
                        *bias = kernel_in(k, FC_BIAS);
    int64_t m = shape_rows(&x->shape, row_dims(k->attr, &x->shape));
    math_fc_f32(m, w->shape.dims[1], w->shape.dims[0], tensor_f32(x), tensor_f32(w),
                bias ? tensor_f32(bias) : NULL, k->attr[FC_ATTR_ACT].i,
                tensor_f32(kernel_out(k, 0)));
    return SKIFF_OK;
}

enum { FG_X, FG_W, FG_OUT, FG_DOUT };
enum { FG_DX, FG_DW, FG_DBIAS };

static const struct op_slot fcg_ins[] = {
    {"X", 0}, {"W", 0}, {"Out", SLOT_OPTIONAL}, {"Out@GRAD", 0}, {0}};
static const struct op_slot fcg_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"W@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};

static enum skiff_status fcg_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape x = *infer_in(c, FG_X, 0), w = *infer_in(c, FG_W, 0);
    int cols = row_dims(c->attr, &x);
    if (w.ndim != 2 || x.ndim <= cols || cols < 1)
        return infer_fail(c, FG_W, 0, err,
                          "the weight must be a matrix and X must have more than %d dims", cols);
    if (dims_conflict(dims_product(&x, cols, x.ndim), w.dims[0]))
        return infer_fail(c, FG_X, 0, err, "does not fit the weight's %lld rows",
                          (long long)w.dims[0]);
    int64_t rows = dims_product(&x, 0, cols);
    int64_t size = rows < 0 || w.dims[1] < 0 ? -1 : rows * w.dims[1];
    for (int slot = FG_OUT; slot <= FG_DOUT; slot++) {
        const struct shape *s = infer_in(c, slot, 0);
        if (s && dims_conflict(dims_product(s, 0, s->ndim), size))
            return infer_fail(c, slot, 0, err, "must have %lld elements", (long long)size);
    }
    TRY(infer_out(c, FG_DX, 0, infer_in_dtype(c, FG_X, 0), &x, err));
    infer_share_lod(c, FG_X, 0, FG_DX, 0);
    TRY(infer_out(c, FG_DW, 0, infer_in_dtype(c, FG_W, 0), &w, err));
    struct shape bias = SHAPE(w.dims[1]);
    return infer_out(c, FG_DBIAS, 0, infer_in_dtype(c, FG_W, 0), &bias, err);
}

static enum skiff_status fcg_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_f32(k, 4, err));
    const struct tensor *x = kernel_in(k, FG_X), *w = kernel_in(k, FG_W),
                        *dout = kernel_in(k, FG_DOUT);
    struct tensor *dx = kernel_out(k, FG_DX), *dw = kernel_out(k, FG_DW),
                  *dbias = kernel_out(k, FG_DBIAS);
    enum math_act act = k->attr[FC_ATTR_ACT].i;
    int64_t m = shape_rows(&x->shape, row_dims(k->attr, &x->shape));
    int64_t kk = w->shape.dims[0], n = w->shape.dims[1];
    const float *d = tensor_f32(dout);
    if (act != MATH_ACT_NONE) {
        void *scratch;
        TRY(kernel_scratch(k, (size_t)(m * n) * sizeof(float), &scratch, err));
        math_act_grad_f32(m * n, act, tensor_f32(kernel_in(k, FG_OUT)), d, scratch);
        d = scratch;
    }
    if (dbias)
        math_sum_rows_f32(m, n, d, tensor_f32(dbias));
    if (dw)
        math_gemm_f32(true, false, kk, n, m, 1, tensor_f32(x), kk, d, n, 0, tensor_f32(dw), n);
    if (dx)
        math_gemm_f32(false, true, m, kk, n, 1, d, n, tensor_f32(w), n, 0, tensor_f32(dx), kk);
    return SKIFF_OK;
}

const struct op_kind ops_fused_fc[] = {
    {.type = "fused_fc",
     .flags = OP_INTERNAL,
     .ins = fc_ins,
     .outs = fc_outs,
     .attrs = fc_attrs,
     .infer = fc_infer,
     .run = fc_run},
    {.type = "fused_fc_grad",
     .flags = OP_INTERNAL,
     .ins = fcg_ins,
     .outs = fcg_outs,
     .attrs = fc_attrs,
     .infer = fcg_infer,
     .run = fcg_run},
    {0},
};
