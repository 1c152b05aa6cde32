/* fused_softmax_xent: softmax over the last dimension and cross entropy with hard labels, one step.
 *
 *   Softmax_j     = exp(max(x_j - max x, -64)) / sum
 *   Y             = min(-log(Softmax[label]), 1e20)
 *   Logits@GRAD_j = Y@GRAD * (Softmax_j - [j == label])
 *
 * Y and the gradient are 0 where label is ignore_index. The clamps are Paddle's. Made by
 * passes/fuse_softmax_xent.c only. */
#include <math.h>

#include "ops/ops_common.h"
#include "tensor/math.h"

enum { SX_X, SX_LABEL, SX_SOFTMAX, SX_DY }; /* the last two: gradient op */
enum { SO_SOFTMAX, SO_Y };

#define SOFTMAX_FLOOR (-64.0f)
#define LOSS_MOST 1e20f

static enum skiff_status sx_infer(struct infer *c, struct skiff_error *err)
{
    struct shape x = *infer_in(c, SX_X, 0), y = *infer_in(c, SX_LABEL, 0);
    int64_t rows = dims_product(&x, 0, x.ndim - 1), labels = dims_product(&y, 0, y.ndim);
    if (x.ndim < 2 || dims_conflict(rows, labels))
        return infer_fail(c, SX_LABEL, 0, err, "there must be one label per row of the logits");
    TRY(infer_out(c, SO_SOFTMAX, 0, infer_in_dtype(c, SX_X, 0), &x, err));
    infer_share_lod(c, SX_X, 0, SO_SOFTMAX, 0);
    TRY(infer_out(c, SO_Y, 0, infer_in_dtype(c, SX_X, 0), &y, err));
    infer_share_lod(c, SX_X, 0, SO_Y, 0);
    return SKIFF_OK;
}

static void softmax_row(const float *x, int64_t n, float *out)
{
    float most = x[0], sum = 0;
    for (int64_t j = 1; j < n; j++)
        most = x[j] > most ? x[j] : most;
    for (int64_t j = 0; j < n; j++) {
        float d = x[j] - most;
        out[j] = d < SOFTMAX_FLOOR ? SOFTMAX_FLOOR : d;
    }
    math_exp_f32(n, out, out);
    for (int64_t j = 0; j < n; j++)
        sum += out[j];
    for (int64_t j = 0; j < n; j++)
        out[j] /= sum;
}

static enum skiff_status check_types(struct kernel *k, struct skiff_error *err)
{
    if (kernel_in(k, SX_X)->dtype != DTYPE_FP32 || kernel_in(k, SX_LABEL)->dtype != DTYPE_INT64)
        return kernel_fail(
            k, SKIFF_DTYPE, err, "logits %s must be float32 and labels %s int64, found %s and %s",
            kernel_in_name(k, SX_X, 0), kernel_in_name(k, SX_LABEL, 0),
            dtype_name(kernel_in(k, SX_X)->dtype), dtype_name(kernel_in(k, SX_LABEL)->dtype));
    return SKIFF_OK;
}

static enum skiff_status sx_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_types(k, err));
    const struct tensor *x = kernel_in(k, SX_X);
    const int64_t *label = tensor_i64(kernel_in(k, SX_LABEL));
    float *softmax = tensor_f32(kernel_out(k, SO_SOFTMAX)), *y = tensor_f32(kernel_out(k, SO_Y));
    int64_t n = x->shape.dims[x->shape.ndim - 1], rows = shape_rows(&x->shape, x->shape.ndim - 1);
    for (int64_t r = 0; r < rows; r++) {
        softmax_row(tensor_f32(x) + r * n, n, softmax + r * n);
        if (label[r] == k->attr[0].i) {
            y[r] = 0;
            continue;
        }
        if (label[r] < 0 || label[r] >= n)
            return kernel_fail(
                k, SKIFF_RANGE, err, "label %lld at position %lld (%s) is outside [0, %lld)",
                (long long)label[r], (long long)r, kernel_in_name(k, SX_LABEL, 0), (long long)n);
        float loss = -logf(softmax[r * n + label[r]]);
        y[r] = loss > LOSS_MOST ? LOSS_MOST : loss;
    }
    return SKIFF_OK;
}

static enum skiff_status sxg_infer(struct infer *c, struct skiff_error *err)
{
    struct shape x = *infer_in(c, SX_SOFTMAX, 0);
    int64_t rows = dims_product(&x, 0, x.ndim - 1);
    static const int per_row[] = {SX_LABEL, SX_DY};
    for (int i = 0; i < 2; i++) {
        const struct shape *s = infer_in(c, per_row[i], 0);
        if (x.ndim < 2 || dims_conflict(rows, dims_product(s, 0, s->ndim)))
            return infer_fail(c, per_row[i], 0, err, "there must be one number per row, %lld",
                              (long long)rows);
    }
    return infer_out(c, 0, 0, infer_in_dtype(c, SX_SOFTMAX, 0), &x, err);
}

static enum skiff_status sxg_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_types(k, err));
    if (kernel_in(k, SX_SOFTMAX)->dtype != DTYPE_FP32 || kernel_in(k, SX_DY)->dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_DTYPE, err, "softmax and the gradient must be float32");
    const struct tensor *s = kernel_in(k, SX_SOFTMAX);
    const int64_t *label = tensor_i64(kernel_in(k, SX_LABEL));
    const float *softmax = tensor_f32(s), *dy = tensor_f32(kernel_in(k, SX_DY));
    float *dx = tensor_f32(kernel_out(k, 0));
    int64_t n = s->shape.dims[s->shape.ndim - 1], rows = shape_rows(&s->shape, s->shape.ndim - 1);
    for (int64_t r = 0; r < rows; r++) {
        float d = label[r] == k->attr[0].i ? 0.0f : dy[r];
        for (int64_t j = 0; j < n; j++)
            dx[r * n + j] = d * (softmax[r * n + j] - (j == label[r] ? 1.0f : 0.0f));
    }
    return SKIFF_OK;
}

static const struct op_slot sx_ins[] = {{"Logits", 0}, {"Label", 0}, {0}};
static const struct op_slot sx_outs[] = {{"Softmax", 0}, {"Y", 0}, {0}};
static const struct op_slot sxg_ins[] = {
    {"Logits", 0}, {"Label", 0}, {"Softmax", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_slot sxg_outs[] = {{"Logits@GRAD", 0}, {0}};
static const struct op_attr_spec sx_attrs[] = {A_INT("ignore_index", -100), {0}};

const struct op_kind ops_fused_softmax_xent[] = {
    {.type = "fused_softmax_xent",
     .flags = OP_INTERNAL,
     .ins = sx_ins,
     .outs = sx_outs,
     .attrs = sx_attrs,
     .infer = sx_infer,
     .run = sx_run},
    {.type = "fused_softmax_xent_grad",
     .flags = OP_INTERNAL,
     .ins = sxg_ins,
     .outs = sxg_outs,
     .attrs = sx_attrs,
     .infer = sxg_infer,
     .run = sxg_run},
    {0},
};
