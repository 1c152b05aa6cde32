/* Ops between sequences and rectangles, and on sequences of ids:
 *
 *   sequence_pad        [rows, ...] with lod -> [sequences, L, ...] filled up with PadValue (one
 *                       value, or one row); L = padded_length, or the longest; Length = lengths
 *   sequence_unpad      the first Length[i] rows of X[i], with lod
 *   sequence_mask       Y[.., j] = j < X[..]; maxlen from MaxLenTensor, the attribute, or the
 *                       largest X
 *   sequence_enumerate  row t = ids t .. t + win_size - 1 of its sequence, pad_value beyond its end
 *   sequence_erase      drops the ids that are in `tokens` */
#include "ops/seq_common.h"

/* ---- sequence_pad ---- */

static enum skiff_status pad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape x = *infer_in(c, 0, 0), out = {.ndim = x.ndim + 1}, length = {.ndim = 1};
    int64_t fixed = c->attr[0].i;
    if (x.ndim < 1 || out.ndim > TENSOR_MAX_DIMS)
        return infer_fail(c, 0, 0, err, "must have 1 to %d dimensions", TENSOR_MAX_DIMS - 1);
    if (fixed < 1 && fixed != -1)
        return infer_fail(c, 0, 0, err, "padded_length is %lld, must be positive or -1",
                          (long long)fixed);
    TRY(infer_want_lod(c, 0, err));
    const struct lod *lod = infer_in_lod(c, 0, 0);
    int64_t n = -1, longest = 1; /* building: 1 stands for "not known", as in Paddle */
    if (c->running) {
        const struct lod_level *seq = lod_last(lod);
        n = seq->n - 1;
        longest = 0;
        for (int64_t i = 0; i < n; i++)
            if (seq->off[i + 1] - seq->off[i] > longest)
                longest = seq->off[i + 1] - seq->off[i];
        if (fixed > 0 && longest > fixed)
            return infer_fail(c, 0, 0, err, "longest sequence has %lld rows, padded_length is %lld",
                              (long long)longest, (long long)fixed);
    }
    out.dims[0] = length.dims[0] = n;
    out.dims[1] = fixed > 0 ? fixed : longest;
    for (int i = 1; i < x.ndim; i++)
        out.dims[i + 1] = x.dims[i];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &out, err));
    return infer_out(c, 1, 0, DTYPE_INT64, &length, err);
}

static enum skiff_status pad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *pad = kernel_in(k, 1);
    struct tensor *out = kernel_out(k, 0), *length = kernel_out(k, 1);
    const struct lod_level *seq = lod_last(x->lod);
    size_t one = dtype_size(x->dtype);
    int64_t width = shape_cols(&x->shape, 1), steps = out->shape.dims[1],
            values = tensor_numel(pad);
    if (pad->dtype != x->dtype || (values != 1 && values != width))
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input PadValue (%s) must hold 1 or %lld values of %s",
                           kernel_in_name(k, 1, 0), (long long)width, dtype_name(x->dtype));
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        int64_t h = seq->off[i + 1] - seq->off[i];
        char *to = (char *)out->data + (size_t)(i * steps * width) * one;
        rows_move(to, (const char *)x->data + (size_t)(seq->off[i] * width) * one, h * width, one);
        for (int64_t j = h * width; j < steps * width; j++)
            memcpy(to + (size_t)j * one,
                   (const char *)pad->data + (values == 1 ? 0 : (size_t)(j % width) * one), one);
        if (length)
            tensor_i64(length)[i] = h;
    }
    return SKIFF_OK;
}

static enum skiff_status pad_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_lod(c, 0, err));
    return infer_grad_of(c, 0, 0, err);
}

static enum skiff_status pad_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    const struct tensor *x = kernel_in(k, 0), *dout = kernel_in(k, 1);
    if (!dx)
        return SKIFF_OK;
    const struct lod_level *seq = lod_last(x->lod);
    int64_t width = shape_cols(&x->shape, 1), n = seq->n - 1;
    int64_t steps = dout->shape.ndim > 1 ? dout->shape.dims[1] : 0;
    TRY(kernel_want_floats(k, 1, n * steps * width, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t h = seq->off[i + 1] - seq->off[i];
        if (h > steps)
            return kernel_fail(k, SKIFF_SHAPE, err, "sequence %lld has %lld rows, Out@GRAD %lld",
                               (long long)i, (long long)h, (long long)steps);
        rows_move(tensor_f32(dx) + seq->off[i] * width, tensor_f32(dout) + i * steps * width,
                  h * width, sizeof(float));
    }
    return SKIFF_OK;
}

/* ---- sequence_unpad ---- */

static enum skiff_status unpad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 1, err));
    struct shape x = *infer_in(c, 0, 0), out = {.ndim = 2, .dims = {-1, 1}};
    if (x.ndim < 2)
        return infer_fail(c, 0, 0, err, "must have at least 2 dimensions");
    for (int i = 2; i < x.ndim; i++)
        out.dims[i - 1] = x.dims[i];
    out.ndim = x.ndim > 2 ? x.ndim - 1 : 2;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &out, err));
    infer_lod_level(c, 0, 0, 1);
    return SKIFF_OK;
}

static enum skiff_status unpad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *length = kernel_in(k, 1);
    struct tensor *out = kernel_out(k, 0);
    if (x->shape.ndim < 2 || !dtype_is_index(length->dtype) ||
        tensor_numel(length) != x->shape.dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "Length (%s) must hold one integer per row of X (%s)",
                           kernel_in_name(k, 1, 0), kernel_in_name(k, 0, 0));
    int64_t n = x->shape.dims[0], steps = x->shape.dims[1], width = shape_cols(&x->shape, 2), *off;
    TRY(kernel_make_lod(out, n + 1, &off, err));
    off[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t l = tensor_int_at(length, i);
        if (l < 0 || l > steps)
            return kernel_bad_index(k, 1, i, l, steps + 1, "steps of X", err);
        off[i + 1] = off[i] + l;
    }
    struct shape s = {.ndim = x->shape.ndim > 2 ? x->shape.ndim - 1 : 2, .dims = {off[n], 1}};
    for (int i = 2; i < x->shape.ndim; i++)
        s.dims[i - 1] = x->shape.dims[i];
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    size_t bytes = (size_t)width * dtype_size(x->dtype);
    for (int64_t i = 0; i < n; i++)
        rows_move((char *)out->data + (size_t)off[i] * bytes,
                  (const char *)x->data + (size_t)(i * steps) * bytes, off[i + 1] - off[i], bytes);
    return SKIFF_OK;
}

static enum skiff_status unpad_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_lod(c, 1, err));
    return infer_like(c, 0, 0, err);
}

static enum skiff_status unpad_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    const struct tensor *dout = kernel_in(k, 1);
    if (!dx)
        return SKIFF_OK;
    const struct lod_level *seq = lod_last(dout->lod);
    int64_t n = dx->shape.dims[0], steps = dx->shape.dims[1], width = shape_cols(&dx->shape, 2);
    if (seq->n - 1 != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD has %lld sequences, X %lld rows",
                           (long long)(seq->n - 1), (long long)n);
    TRY(kernel_want_floats(k, 1, seq->off[n] * width, err));
    floats_zero(tensor_f32(dx), tensor_numel(dx));
    for (int64_t i = 0; i < n; i++) {
        int64_t h = seq->off[i + 1] - seq->off[i];
        if (h > steps)
            return kernel_fail(k, SKIFF_SHAPE, err, "sequence %lld has %lld rows, X %lld steps",
                               (long long)i, (long long)h, (long long)steps);
        rows_move(tensor_f32(dx) + i * steps * width, tensor_f32(dout) + seq->off[i] * width,
                  h * width, sizeof(float));
    }
    return SKIFF_OK;
}

/* ---- sequence_mask ---- */

enum { MA_MAXLEN, MA_DTYPE };

static enum skiff_status mask_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 0, err));
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim + 1 > TENSOR_MAX_DIMS)
        return infer_fail(c, 0, 0, err, "has too many dimensions");
    if (!dtype_is_any((enum dtype)c->attr[MA_DTYPE].i))
        return error_set(err, SKIFF_DTYPE, "op sequence_mask: out_dtype is %d",
                         c->attr[MA_DTYPE].i);
    s.dims[s.ndim++] = !infer_has(c, 1) && c->attr[MA_MAXLEN].i > 0 ? c->attr[MA_MAXLEN].i : -1;
    return infer_out(c, 0, 0, (enum dtype)c->attr[MA_DTYPE].i, &s, err);
}

static enum skiff_status mask_width(const struct kernel *k, int64_t *out, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int64_t n = tensor_numel(x);
    *out = k->attr[MA_MAXLEN].i;
    if (kernel_has(k, 1)) {
        if (tensor_read_ints(kernel_in(k, 1), out, 1) != 1 || *out < 1)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "MaxLenTensor (%s) must hold a positive integer",
                               kernel_in_name(k, 1, 0));
    } else if (*out < 0) {
        *out = 0;
        for (int64_t i = 0; i < n; i++)
            if (tensor_int_at(x, i) > *out)
                *out = tensor_int_at(x, i);
    }
    return SKIFF_OK;
}

static enum skiff_status mask_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *y = kernel_out(k, 0);
    struct shape s = x->shape;
    int64_t width, n = tensor_numel(x);
    enum dtype dtype = (enum dtype)k->attr[MA_DTYPE].i;
    if (!dtype_is_index(x->dtype) || !dtype_is_any(dtype))
        return kernel_fail(k, SKIFF_DTYPE, err,
                           "X (%s) is %s and must be int64 or int32; out_dtype %d",
                           kernel_in_name(k, 0, 0), dtype_name(x->dtype), dtype);
    TRY(mask_width(k, &width, err));
    s.dims[s.ndim++] = width;
    TRY(kernel_out_resize(k, 0, 0, dtype, &s, err));
    tensor_drop_lod(y);
    DISPATCH_ALL(
        dtype, T, T *to = y->data; for (int64_t i = 0; i < n; i++) {
            int64_t l = tensor_int_at(x, i);
            for (int64_t j = 0; j < width; j++)
                to[i * width + j] = (T)(j < l);
        })
    return SKIFF_OK;
}

/* ---- sequence_enumerate, sequence_erase ---- */

enum { EN_WIN, EN_PAD };

static enum skiff_status enumerate_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 0, err));
    TRY(infer_want_lod(c, 0, err));
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim != 2 || !dims_agree(s.dims[1], 1))
        return infer_fail(c, 0, 0, err, "must be [rows, 1]");
    if (c->attr[EN_WIN].i < 2)
        return infer_fail(c, 0, 0, err, "win_size is %d, must be at least 2", c->attr[EN_WIN].i);
    s.dims[1] = c->attr[EN_WIN].i;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status enumerate_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *seq = lod_last(x->lod);
    int64_t win = k->attr[EN_WIN].i;
    for (int64_t i = 0; i + 1 < seq->n; i++)
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            for (int64_t w = 0; w < win; w++) {
                int64_t id = t + w < seq->off[i + 1] ? tensor_int_at(x, t + w) : k->attr[EN_PAD].i;
                if (out->dtype == DTYPE_INT64)
                    tensor_i64(out)[t * win + w] = id;
                else
                    tensor_i32(out)[t * win + w] = (int32_t)id;
            }
    return SKIFF_OK;
}

static enum skiff_status erase_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 0, err));
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim != 2 || !dims_agree(s.dims[1], 1))
        return infer_fail(c, 0, 0, err, "must be [rows, 1]");
    return infer_same(c, 0, 0, err);
}

static bool is_token(const struct attr_value *tokens, int64_t id)
{
    for (int i = 0; i < tokens->n; i++)
        if (tokens->ints[i] == id)
            return true;
    return false;
}

/* The lowest level shrinks, the upper ones stay. */
static enum skiff_status erase_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *seq;
    TRY(kernel_lod(k, 0, 0, &seq, err));
    if (!dtype_is_index(x->dtype) || shape_cols(&x->shape, 1) != 1)
        return kernel_fail(k, SKIFF_DTYPE, err, "X (%s) must be integers [rows, 1]",
                           kernel_in_name(k, 0, 0));
    if (x == out)
        return kernel_fail(k, SKIFF_INVALID, err, "X and Out must be different variables");
    int64_t counts[LOD_MAX_LEVELS], kept = 0;
    int levels = x->lod->nlevels;
    for (int l = 0; l < levels; l++)
        counts[l] = x->lod->level[l].n;
    TRY(lod_build(&out->lod, levels, counts, err));
    for (int l = 0; l < levels; l++)
        rows_move(out->lod->level[l].off, x->lod->level[l].off, counts[l], sizeof(int64_t));
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &x->shape, err));
    int64_t *off = out->lod->level[levels - 1].off;
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++) {
            if (is_token(&k->attr[0], tensor_int_at(x, t)))
                continue;
            if (x->dtype == DTYPE_INT64)
                tensor_i64(out)[kept++] = tensor_i64(x)[t];
            else
                tensor_i32(out)[kept++] = tensor_i32(x)[t];
        }
        off[i + 1] = kept;
    }
    out->shape.dims[0] = kept;
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot pad_ins[] = {{"X", 0}, {"PadValue", 0}, {0}};
static const struct op_slot pad_outs[] = {{"Out", 0}, {"Length", 0}, {0}};
static const struct op_slot x_grad_ins[] = {{"X", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec pad_attrs[] = {A_INT("padded_length", -1), {0}};
static const struct op_slot unpad_ins[] = {{"X", 0}, {"Length", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_slot mask_ins[] = {{"X", 0}, {"MaxLenTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot y_outs[] = {{"Y", 0}, {0}};
static const struct op_attr_spec mask_attrs[] = {
    A_INT("maxlen", -1), A_REQ("out_dtype", ATTR_INT), {0}};
static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_attr_spec enumerate_attrs[] = {
    A_REQ("win_size", ATTR_INT),
    A_INT("pad_value", 0),
    A_BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true),
    {0}};
static const struct op_attr_spec erase_attrs[] = {A_REQ("tokens", ATTR_INTS), {0}};

const struct op_kind ops_sequence_pad[] = {{.type = "sequence_pad",
                                            .ins = pad_ins,
                                            .outs = pad_outs,
                                            .attrs = pad_attrs,
                                            .grad = "X Out@GRAD -> X@GRAD",
                                            .infer = pad_infer,
                                            .run = pad_run},
                                           {.type = "sequence_pad_grad",
                                            .ins = x_grad_ins,
                                            .outs = x_grad_outs,
                                            .attrs = pad_attrs,
                                            .infer = pad_grad_infer,
                                            .run = pad_grad_run},
                                           {.type = "sequence_unpad",
                                            .flags = OP_OWN_SHAPE,
                                            .ins = unpad_ins,
                                            .outs = out_outs,
                                            .attrs = no_attrs,
                                            .grad = "X Out@GRAD -> X@GRAD",
                                            .infer = unpad_infer,
                                            .run = unpad_run},
                                           {.type = "sequence_unpad_grad",
                                            .ins = x_grad_ins,
                                            .outs = x_grad_outs,
                                            .attrs = no_attrs,
                                            .infer = unpad_grad_infer,
                                            .run = unpad_grad_run},
                                           {.type = "sequence_mask",
                                            .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
                                            .ins = mask_ins,
                                            .outs = y_outs,
                                            .attrs = mask_attrs,
                                            .infer = mask_infer,
                                            .run = mask_run},
                                           {.type = "sequence_enumerate",
                                            .flags = OP_NO_GRAD_NEEDED,
                                            .ins = x_ins,
                                            .outs = out_outs,
                                            .attrs = enumerate_attrs,
                                            .infer = enumerate_infer,
                                            .run = enumerate_run},
                                           {.type = "sequence_erase",
                                            .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
                                            .ins = x_ins,
                                            .outs = out_outs,
                                            .attrs = erase_attrs,
                                            .infer = erase_infer,
                                            .run = erase_run},
                                           {0}};
