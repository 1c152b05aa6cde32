/* Ops that move whole rows of sequences (lowest lod level) and leave their contents alone:
 *
 *   sequence_concat     sequence i = the sequences i of all inputs, one after the other
 *   sequence_expand     sequence i of X (row i when X has no lod) repeated as often as sequence i
 *                       of Y at ref_level has elements; with lod, every copy is a sequence of its
 *                       own
 *   sequence_expand_as  row i of X repeated over sequence i of Y; takes the lod of Y
 *   sequence_reverse    each sequence back to front; its own gradient
 *   sequence_reshape    rows of another width; the lengths are rescaled
 *   sequence_slice      Length[i] rows of sequence i from Offset[i] on
 *   lod_reset           new lod: that of Y, the offsets in Y, or target_lod; append adds a level
 *
 * Gradients move the rows back, adding up copies. */
#include "ops/seq_common.h"

static size_t row_bytes(const struct tensor *t)
{
    return (size_t)shape_cols(&t->shape, 1) * dtype_size(t->dtype);
}

/* X@GRAD: type and shape of X; the lod at run time only, as Paddle's kernels set it. */
static enum skiff_status x_grad_infer(struct infer *c, struct skiff_error *err)
{
    if (infer_in(c, 0, 0)->ndim < 1)
        return infer_fail(c, 0, 0, err, "has no rows");
    TRY(infer_like(c, 0, 0, err));
    if (c->running)
        infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

/* ---- sequence_concat ---- */

static enum skiff_status concat_infer(struct infer *c, struct skiff_error *err)
{
    int n = infer_in_count(c, 0);
    struct shape s = *infer_in(c, 0, 0);
    enum dtype dtype = infer_in_dtype(c, 0, 0);
    if (s.ndim < 1)
        return infer_fail(c, 0, 0, err, "has no rows");
    s.dims[0] = 0;
    for (int i = 0; i < n; i++) {
        const struct shape *x = infer_in(c, 0, i);
        if (!x)
            return infer_fail(c, 0, i, err, "the input is missing");
        bool fits = x->ndim == s.ndim && infer_in_dtype(c, 0, i) == dtype;
        for (int d = 1; fits && d < s.ndim; d++)
            fits = dims_agree(x->dims[d], s.dims[d]);
        if (!fits)
            return infer_fail(c, 0, i, err, "must have the type and width of the first input (%s)",
                              infer_in_name(c, 0, 0));
        s.dims[0] = x->dims[0] < 0 || s.dims[0] < 0 ? -1 : s.dims[0] + x->dims[0];
    }
    TRY(infer_out(c, 0, 0, dtype, &s, err));
    if (!c->running)
        infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

/* All inputs must be cut into the same number of sequences. */
static enum skiff_status concat_lods(const struct kernel *k, int64_t *sequences,
                                     struct skiff_error *err)
{
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct lod_level *seq;
        TRY(kernel_lod(k, 0, i, &seq, err));
        if (i == 0)
            *sequences = seq->n - 1;
        if (seq->n - 1 != *sequences)
            return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) has %lld sequences, %s has %lld",
                               kernel_in_name(k, 0, i), (long long)(seq->n - 1),
                               kernel_in_name(k, 0, 0), (long long)*sequences);
    }
    return SKIFF_OK;
}

static enum skiff_status concat_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t sequences, *off, at = 0;
    size_t bytes = row_bytes(out);
    TRY(concat_lods(k, &sequences, err));
    TRY(kernel_make_lod(out, sequences + 1, &off, err));
    off[0] = 0;
    for (int64_t s = 0; s < sequences; s++) {
        for (int i = 0; i < kernel_in_count(k, 0); i++) {
            const struct tensor *x = kernel_in_at(k, 0, i);
            const struct lod_level *seq = lod_last(x->lod);
            int64_t n = seq->off[s + 1] - seq->off[s];
            rows_move((char *)out->data + (size_t)at * bytes,
                      (const char *)x->data + (size_t)seq->off[s] * bytes, n, bytes);
            at += n;
        }
        off[s + 1] = at;
    }
    return SKIFF_OK;
}

static enum skiff_status concat_grad_infer(struct infer *c, struct skiff_error *err)
{
    for (int i = 0; i < infer_in_count(c, 0); i++) {
        if (!infer_in(c, 0, i))
            return infer_fail(c, 0, i, err, "the input is missing");
        struct shape s = *infer_in(c, 0, i);
        TRY(infer_out(c, 0, i, infer_in_dtype(c, 0, i), &s, err));
        if (c->running)
            infer_share_lod(c, 0, i, 0, i);
    }
    return SKIFF_OK;
}

static enum skiff_status concat_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *dout = kernel_in(k, 1);
    int64_t sequences, at = 0, total = 0;
    size_t bytes = row_bytes(kernel_in(k, 0));
    TRY(concat_lods(k, &sequences, err));
    for (int i = 0; i < kernel_in_count(k, 0); i++)
        total += tensor_numel(kernel_in_at(k, 0, i));
    TRY(kernel_want_floats(k, 1, total, err));
    for (int64_t s = 0; s < sequences; s++)
        for (int i = 0; i < kernel_in_count(k, 0); i++) {
            const struct lod_level *seq = lod_last(kernel_in_at(k, 0, i)->lod);
            struct tensor *dx = kernel_out_at(k, 0, i);
            int64_t n = seq->off[s + 1] - seq->off[s];
            if (dx)
                rows_move((char *)dx->data + (size_t)seq->off[s] * bytes,
                          (const char *)dout->data + (size_t)at * bytes, n, bytes);
            at += n;
        }
    return SKIFF_OK;
}

/* ---- sequence_expand ---- */

/* Sequence i of X: rows [first, first + count). */
static void x_sequence(const struct tensor *x, int64_t i, int64_t *first, int64_t *count)
{
    const struct lod_level *seq = lod_last(x->lod);
    *first = seq ? seq->off[i] : i;
    *count = seq ? seq->off[i + 1] - seq->off[i] : 1;
}

static enum skiff_status expand_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim < 1)
        return infer_fail(c, 0, 0, err, "has no rows");
    s.dims[0] = -1;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

/* The level of Y that says how often; X must have as many sequences (or rows). */
static enum skiff_status expand_ref(const struct kernel *k, const struct lod_level **ref,
                                    struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *y = kernel_in(k, 1);
    const struct lod_level *lowest;
    TRY(kernel_lod(k, 1, 0, &lowest, err));
    int level = k->attr[0].i < 0 ? y->lod->nlevels + k->attr[0].i : k->attr[0].i;
    if (level < 0 || level >= y->lod->nlevels)
        return kernel_fail(k, SKIFF_RANGE, err, "ref_level is %d, input Y (%s) has %d lod levels",
                           k->attr[0].i, kernel_in_name(k, 1, 0), y->lod->nlevels);
    *ref = &y->lod->level[level];
    if (x->shape.ndim < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) has no rows",
                           kernel_in_name(k, 0, 0));
    TRY(lod_check(x->lod, x->shape.dims[0], kernel_in_name(k, 0, 0), err));
    const struct lod_level *seq = lod_last(x->lod);
    int64_t n = seq ? seq->n - 1 : x->shape.dims[0];
    if ((*ref)->n - 1 != n)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input X (%s) has %lld sequences, level %d of Y (%s) has %lld",
                           kernel_in_name(k, 0, 0), (long long)n, level, kernel_in_name(k, 1, 0),
                           (long long)((*ref)->n - 1));
    return SKIFF_OK;
}

static void expand_count(const struct tensor *x, const struct lod_level *ref, int64_t *rows,
                         int64_t *copies)
{
    *rows = *copies = 0;
    for (int64_t i = 0; i + 1 < ref->n; i++) {
        int64_t first, count, times = ref->off[i + 1] - ref->off[i];
        x_sequence(x, i, &first, &count);
        *rows += times * count;
        *copies += times;
    }
}

static enum skiff_status expand_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *ref;
    int64_t rows, copies, at = 0, copy = 0, *off = NULL;
    TRY(expand_ref(k, &ref, err));
    expand_count(x, ref, &rows, &copies);
    struct shape s = x->shape;
    s.dims[0] = rows;
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    tensor_drop_lod(out);
    if (x->lod && x->lod->nlevels) {
        TRY(kernel_make_lod(out, copies + 1, &off, err));
        off[0] = 0;
    }
    size_t bytes = row_bytes(x);
    for (int64_t i = 0; i + 1 < ref->n; i++)
        for (int64_t r = ref->off[i]; r < ref->off[i + 1]; r++) {
            int64_t first, count;
            x_sequence(x, i, &first, &count);
            rows_move((char *)out->data + (size_t)at * bytes,
                      (const char *)x->data + (size_t)first * bytes, count, bytes);
            at += count;
            if (off)
                off[++copy] = at;
        }
    return SKIFF_OK;
}

static enum skiff_status expand_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *dout = kernel_in(k, 2);
    struct tensor *dx = kernel_out(k, 0);
    const struct lod_level *ref;
    int64_t rows, copies, at = 0, width = shape_cols(&x->shape, 1);
    if (!dx)
        return SKIFF_OK;
    TRY(expand_ref(k, &ref, err));
    expand_count(x, ref, &rows, &copies);
    TRY(kernel_want_floats(k, 2, rows * width, err));
    floats_zero(tensor_f32(dx), tensor_numel(dx));
    for (int64_t i = 0; i + 1 < ref->n; i++)
        for (int64_t r = ref->off[i]; r < ref->off[i + 1]; r++) {
            int64_t first, count;
            x_sequence(x, i, &first, &count);
            for (int64_t j = 0; j < count * width; j++)
                tensor_f32(dx)[first * width + j] += tensor_f32(dout)[at * width + j];
            at += count;
        }
    return SKIFF_OK;
}

static enum skiff_status float_x_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    return x_grad_infer(c, err);
}

/* ---- sequence_expand_as ---- */

static enum skiff_status expand_as_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0);
    TRY(infer_want_lod(c, 1, err));
    if (s.ndim < 1)
        return infer_fail(c, 0, 0, err, "has no rows");
    if (c->running) {
        const struct lod_level *seq = lod_last(infer_in_lod(c, 1, 0));
        if (s.dims[0] != seq->n - 1)
            return infer_fail(c, 0, 0, err, "must have one row per sequence of Y, which has %lld",
                              (long long)(seq->n - 1));
        s.dims[0] = seq->off[seq->n - 1];
    } else {
        s.dims[0] = -1;
    }
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err));
    infer_share_lod(c, 1, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status expand_as_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    const struct lod_level *seq = lod_last(kernel_in(k, 1)->lod);
    size_t bytes = row_bytes(x);
    for (int64_t i = 0; i + 1 < seq->n; i++)
        for (int64_t r = seq->off[i]; r < seq->off[i + 1]; r++)
            rows_move((char *)kernel_out(k, 0)->data + (size_t)r * bytes,
                      (const char *)x->data + (size_t)i * bytes, 1, bytes);
    return SKIFF_OK;
}

static enum skiff_status expand_as_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *dout = kernel_in(k, 2);
    struct tensor *dx = kernel_out(k, 0);
    const struct lod_level *seq;
    int64_t width = shape_cols(&x->shape, 1);
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_lod(k, 1, 0, &seq, err));
    if (seq->n - 1 != x->shape.dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err, "X has %lld rows, Y %lld sequences",
                           (long long)x->shape.dims[0], (long long)(seq->n - 1));
    TRY(kernel_want_floats(k, 2, seq->off[seq->n - 1] * width, err));
    floats_zero(tensor_f32(dx), tensor_numel(dx));
    for (int64_t i = 0; i + 1 < seq->n; i++)
        for (int64_t r = seq->off[i]; r < seq->off[i + 1]; r++)
            for (int64_t d = 0; d < width; d++)
                tensor_f32(dx)[i * width + d] += tensor_f32(dout)[r * width + d];
    return SKIFF_OK;
}

/* ---- sequence_reverse ---- */

static enum skiff_status reverse_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_lod(c, 0, err));
    return infer_same(c, 0, 0, err);
}

static enum skiff_status reverse_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *y = kernel_out(k, 0);
    const struct lod_level *seq = lod_last(x->lod);
    size_t bytes = row_bytes(x);
    if (x == y)
        return kernel_fail(k, SKIFF_INVALID, err, "X and Y must be different variables");
    for (int64_t i = 0; i + 1 < seq->n; i++)
        for (int64_t r = seq->off[i]; r < seq->off[i + 1]; r++)
            rows_move((char *)y->data + (size_t)(seq->off[i] + seq->off[i + 1] - 1 - r) * bytes,
                      (const char *)x->data + (size_t)r * bytes, 1, bytes);
    return SKIFF_OK;
}

static enum skiff_status reverse_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *x = op_in1(g->fwd, "X"), *y = op_out1(g->fwd, "Y");
    if (!x || !y)
        return error_set(err, SKIFF_INVALID, "op sequence_reverse: X or Y is missing");
    const char *dx = grad_name(g, x), *dy = grad_name(g, y);
    if (g->unwanted && g->unwanted(g, dx))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "sequence_reverse", true);
    op_set_in(g->program, op, "X", 1, &dy);
    op_set_out(g->program, op, "Y", 1, &dx);
    return SKIFF_OK;
}

/* ---- sequence_reshape ---- */

static enum skiff_status reshape_infer(struct infer *c, struct skiff_error *err)
{
    int64_t width = c->attr[0].i;
    TRY(infer_want_rank(c, 0, 2, err));
    TRY(infer_want_lod(c, 0, err));
    struct shape s = *infer_in(c, 0, 0);
    if (width < 1)
        return infer_fail(c, 0, 0, err, "new_dim is %lld, must be positive", (long long)width);
    if (c->running) {
        const struct lod_level *seq = lod_last(infer_in_lod(c, 0, 0));
        for (int64_t i = 0; i + 1 < seq->n; i++)
            if ((seq->off[i + 1] - seq->off[i]) * s.dims[1] % width)
                return infer_fail(c, 0, 0, err,
                                  "sequence %lld has %lld values, not a multiple of "
                                  "new_dim %lld",
                                  (long long)i,
                                  (long long)((seq->off[i + 1] - seq->off[i]) * s.dims[1]),
                                  (long long)width);
        s.dims[0] = s.dims[0] * s.dims[1] / width;
    } else {
        s.dims[0] = -1;
    }
    s.dims[1] = width;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err));
    if (!c->running)
        infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status reshape_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *seq = lod_last(x->lod);
    int64_t *off;
    TRY(kernel_make_lod(out, seq->n, &off, err));
    for (int64_t i = 0; i < seq->n; i++)
        off[i] = seq->off[i] * x->shape.dims[1] / out->shape.dims[1];
    rows_move(out->data, x->data, 1, tensor_bytes(x));
    return SKIFF_OK;
}

static enum skiff_status same_bytes_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    return infer_grad_of(c, 0, 0, err);
}

static enum skiff_status same_bytes_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_want_floats(k, 1, tensor_numel(dx), err));
    rows_move(dx->data, kernel_in(k, 1)->data, 1, tensor_bytes(dx));
    return SKIFF_OK;
}

/* ---- sequence_slice ---- */

static enum skiff_status slice_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 1, err));
    TRY(infer_want_int(c, 2, err));
    return infer_like(c, 0, 0, err);
}

/* Offsets and lengths fit the sequences; *rows = rows of the result. */
static enum skiff_status slice_check(const struct kernel *k, const struct lod_level **seq,
                                     int64_t *rows, struct skiff_error *err)
{
    const struct tensor *offset = kernel_in(k, 1), *length = kernel_in(k, 2);
    TRY(kernel_lod(k, 0, 0, seq, err));
    int64_t n = (*seq)->n - 1;
    *rows = 0;
    if (!dtype_is_index(offset->dtype) || !dtype_is_index(length->dtype) ||
        tensor_numel(offset) != n || tensor_numel(length) != n)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "Offset (%s) and Length (%s) must hold one integer for each of the %lld "
                           "sequences",
                           kernel_in_name(k, 1, 0), kernel_in_name(k, 2, 0), (long long)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t o = tensor_int_at(offset, i), l = tensor_int_at(length, i);
        int64_t h = (*seq)->off[i + 1] - (*seq)->off[i];
        if (o < 0 || l < 0 || o > h || l > h - o)
            return kernel_fail(
                k, SKIFF_RANGE, err,
                "sequence %lld of X has %lld rows; offset %lld and length %lld leave "
                "it",
                (long long)i, (long long)h, (long long)o, (long long)l);
        *rows += l;
    }
    return SKIFF_OK;
}

static enum skiff_status slice_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *seq;
    int64_t rows, *off;
    TRY(slice_check(k, &seq, &rows, err));
    struct shape s = x->shape;
    s.dims[0] = rows;
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    TRY(kernel_make_lod(out, seq->n, &off, err));
    size_t bytes = row_bytes(x);
    off[0] = 0;
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        int64_t o = tensor_int_at(kernel_in(k, 1), i), l = tensor_int_at(kernel_in(k, 2), i);
        rows_move((char *)out->data + (size_t)off[i] * bytes,
                  (const char *)x->data + (size_t)(seq->off[i] + o) * bytes, l, bytes);
        off[i + 1] = off[i] + l;
    }
    return SKIFF_OK;
}

static enum skiff_status slice_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    const struct lod_level *seq;
    int64_t rows, at = 0, width = shape_cols(&kernel_in(k, 0)->shape, 1);
    if (!dx)
        return SKIFF_OK;
    TRY(slice_check(k, &seq, &rows, err));
    TRY(kernel_want_floats(k, 3, rows * width, err));
    floats_zero(tensor_f32(dx), tensor_numel(dx));
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        int64_t o = tensor_int_at(kernel_in(k, 1), i), l = tensor_int_at(kernel_in(k, 2), i);
        rows_move(tensor_f32(dx) + (seq->off[i] + o) * width,
                  tensor_f32(kernel_in(k, 3)) + at * width, l, (size_t)width * sizeof(float));
        at += l;
    }
    return SKIFF_OK;
}

/* ---- lod_reset ---- */

enum { LR_TARGET, LR_APPEND };

static enum skiff_status lod_reset_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_like(c, 0, 0, err));
    int x = infer_in_lod_level(c, 0, 0), y = infer_in_lod_level(c, 1, 0);
    if (!c->running)
        infer_lod_level(c, 0, 0,
                        infer_has(c, 1)        ? (y > 1 ? y : 1)
                        : c->attr[LR_APPEND].b ? x + 1
                                               : 1);
    return SKIFF_OK;
}

/* The new level as numbers: data of Y, or the attribute. */
static enum skiff_status lod_reset_offsets(struct kernel *k, int64_t *n, int64_t **out,
                                           struct skiff_error *err)
{
    const struct tensor *y = kernel_has(k, 1) ? kernel_in(k, 1) : NULL;
    if (y && !dtype_is_index(y->dtype))
        return kernel_fail(k, SKIFF_DTYPE, err,
                           "input Y (%s) has no lod, so it must hold integer offsets; it is %s",
                           kernel_in_name(k, 1, 0), dtype_name(y->dtype));
    *n = y ? tensor_numel(y) : k->attr[LR_TARGET].n;
    void *p;
    TRY(kernel_scratch(k, (size_t)(*n + 1) * sizeof(int64_t), &p, err));
    *out = p;
    for (int64_t i = 0; i < *n; i++)
        (*out)[i] = y ? tensor_int_at(y, i) : k->attr[LR_TARGET].ints[i];
    return SKIFF_OK;
}

static enum skiff_status lod_reset_append(struct kernel *k, const int64_t *off, int64_t n,
                                          struct skiff_error *err)
{
    const struct lod *old = k->attr[LR_APPEND].b ? kernel_in(k, 0)->lod : NULL;
    struct tensor *out = kernel_out(k, 0);
    int levels = old ? old->nlevels : 0;
    if (levels + 1 > LOD_MAX_LEVELS)
        return kernel_fail(k, SKIFF_RANGE, err, "more than %d lod levels", LOD_MAX_LEVELS);
    int64_t counts[LOD_MAX_LEVELS];
    for (int l = 0; l < levels; l++)
        counts[l] = old->level[l].n;
    counts[levels] = n;
    struct lod *fresh = NULL;
    TRY(lod_build(&fresh, levels + 1, counts, err));
    for (int l = 0; l < levels; l++)
        rows_move(fresh->level[l].off, old->level[l].off, counts[l], sizeof(int64_t));
    rows_move(fresh->level[levels].off, off, n, sizeof(int64_t));
    enum skiff_status status =
        lod_check(fresh, out->shape.ndim ? out->shape.dims[0] : 0, kernel_out_name(k, 0, 0), err);
    if (status < 0) {
        lod_unref(fresh);
        return status;
    }
    tensor_drop_lod(out);
    out->lod = fresh;
    return SKIFF_OK;
}

static enum skiff_status lod_reset_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *y = kernel_has(k, 1) ? kernel_in(k, 1) : NULL;
    struct tensor *out = kernel_out(k, 0);
    if (out != x)
        rows_move(out->data, x->data, 1, tensor_bytes(x));
    if (y && y->lod && y->lod->nlevels) {
        TRY(lod_check(y->lod, out->shape.ndim ? out->shape.dims[0] : 0, kernel_in_name(k, 1, 0),
                      err));
        tensor_share_lod(out, y);
        return SKIFF_OK;
    }
    int64_t n = 0, *off = NULL;
    TRY(lod_reset_offsets(k, &n, &off, err));
    return lod_reset_append(k, off, n, err);
}

/* ---- tables ---- */

static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot xs_ins[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot xy_ins[] = {{"X", 0}, {"Y", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot slice_ins[] = {{"X", 0}, {"Offset", 0}, {"Length", 0}, {0}};
static const struct op_slot lod_reset_ins[] = {{"X", 0}, {"Y", SLOT_OPTIONAL}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot y_outs[] = {{"Y", 0}, {0}};
static const struct op_slot x_grad_ins[] = {{"X", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot xs_grad_ins[] = {
    {"X", SLOT_LIST | SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot xy_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Y", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot slice_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Offset", 0}, {"Length", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_slot xs_grad_outs[] = {{"X@GRAD", SLOT_LIST}, {0}};

static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_attr_spec expand_attrs[] = {A_INT("ref_level", -1), {0}};
static const struct op_attr_spec reshape_attrs[] = {A_REQ("new_dim", ATTR_INT), {0}};
static const struct op_attr_spec lod_reset_attrs[] = {
    A_INTS("target_lod"), A_BOOL("append", false), {0}};

const struct op_kind ops_sequence_rows[] = {{.type = "sequence_concat",
                                             .ins = xs_ins,
                                             .outs = out_outs,
                                             .attrs = no_attrs,
                                             .grad = "X Out@GRAD -> X@GRAD",
                                             .infer = concat_infer,
                                             .run = concat_run},
                                            {.type = "sequence_concat_grad",
                                             .ins = xs_grad_ins,
                                             .outs = xs_grad_outs,
                                             .attrs = no_attrs,
                                             .infer = concat_grad_infer,
                                             .run = concat_grad_run},
                                            {.type = "sequence_expand",
                                             .flags = OP_OWN_SHAPE,
                                             .ins = xy_ins,
                                             .outs = out_outs,
                                             .attrs = expand_attrs,
                                             .grad = "X Y Out@GRAD -> X@GRAD",
                                             .infer = expand_infer,
                                             .run = expand_run},
                                            {.type = "sequence_expand_grad",
                                             .ins = xy_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = expand_attrs,
                                             .infer = float_x_grad_infer,
                                             .run = expand_grad_run},
                                            {.type = "sequence_expand_as",
                                             .ins = xy_ins,
                                             .outs = out_outs,
                                             .attrs = no_attrs,
                                             .grad = "X Y Out@GRAD -> X@GRAD",
                                             .infer = expand_as_infer,
                                             .run = expand_as_run},
                                            {.type = "sequence_expand_as_grad",
                                             .ins = xy_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = no_attrs,
                                             .infer = float_x_grad_infer,
                                             .run = expand_as_grad_run},
                                            {.type = "sequence_reverse",
                                             .ins = x_ins,
                                             .outs = y_outs,
                                             .attrs = no_attrs,
                                             .make_grad = reverse_make_grad,
                                             .infer = reverse_infer,
                                             .run = reverse_run},
                                            {.type = "sequence_reshape",
                                             .ins = x_ins,
                                             .outs = out_outs,
                                             .attrs = reshape_attrs,
                                             .grad = "X Out@GRAD -> X@GRAD",
                                             .infer = reshape_infer,
                                             .run = reshape_run},
                                            {.type = "sequence_reshape_grad",
                                             .ins = x_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = reshape_attrs,
                                             .infer = same_bytes_grad_infer,
                                             .run = same_bytes_grad_run},
                                            {.type = "sequence_slice",
                                             .flags = OP_OWN_SHAPE,
                                             .ins = slice_ins,
                                             .outs = out_outs,
                                             .attrs = no_attrs,
                                             .grad = "X Offset Length Out@GRAD -> X@GRAD",
                                             .infer = slice_infer,
                                             .run = slice_run},
                                            {.type = "sequence_slice_grad",
                                             .ins = slice_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = no_attrs,
                                             .infer = float_x_grad_infer,
                                             .run = slice_grad_run},
                                            {.type = "lod_reset",
                                             .ins = lod_reset_ins,
                                             .outs = out_outs,
                                             .attrs = lod_reset_attrs,
                                             .grad = "X Out@GRAD -> X@GRAD",
                                             .infer = lod_reset_infer,
                                             .run = lod_reset_run},
                                            {.type = "lod_reset_grad",
                                             .ins = x_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = lod_reset_attrs,
                                             .infer = same_bytes_grad_infer,
                                             .run = same_bytes_grad_run},
                                            {0}};
