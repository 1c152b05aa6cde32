/* Ops on the inputs of click-through-rate models: hash, filter_by_instag, cvm.
 *
 *   hash   Out[row, h] = XXH64(bytes of the row of X, seed h) mod mod_by, h < num_hash
 *   filter_by_instag  keeps the samples of Ins that have one of Filter_tag's tags in Ins_tag (a
 *          sequence of tags per sample); a sample is a sequence of Ins when is_lod, else a row.
 *          IndexMap row = (first row in Out, first row in Ins, rows); LossWeight 1 per sample.
 *          Nothing kept: one row of out_val_if_empty with LossWeight 0.
 *   cvm    columns 0 and 1 of X are show and click; use_cvm: Y0 = log(x0 + 1),
 *          Y1 = log(x1 + 1) - Y0, the rest as it is; otherwise Y = X without them.
 *          Gradient: the rest of dY; columns 0 and 1 get CVM itself (one row per sequence of X, or
 *          per row), as Paddle's servers expect it. */
#include <math.h>

#include "base/hash.h"
#include "ops/seq_common.h"

/* ---- hash ---- */

enum { HA_NUM, HA_MOD };

static enum skiff_status hash_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, 0, err));
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim < 1 || s.ndim + 1 > TENSOR_MAX_DIMS)
        return infer_fail(c, 0, 0, err, "must have 1 to %d dimensions", TENSOR_MAX_DIMS - 1);
    if (c->attr[HA_NUM].i < 1 || c->attr[HA_MOD].l < 1)
        return infer_fail(c, 0, 0, err, "num_hash is %d, mod_by %lld: both must be positive",
                          c->attr[HA_NUM].i, (long long)c->attr[HA_MOD].l);
    s.dims[s.ndim - 1] = c->attr[HA_NUM].i;
    s.dims[s.ndim++] = 1;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status hash_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, 0);
    int64_t width = x->shape.dims[x->shape.ndim - 1], hashes = k->attr[HA_NUM].i;
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1);
    size_t bytes = (size_t)width * dtype_size(x->dtype);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t h = 0; h < hashes; h++) {
            const char *row = (const char *)x->data + (size_t)i * bytes;
            uint64_t v = hash_xxh64(row, bytes, (uint64_t)h) % (uint64_t)k->attr[HA_MOD].l;
            if (out->dtype == DTYPE_INT64)
                tensor_i64(out)[i * hashes + h] = (int64_t)v;
            else
                tensor_i32(out)[i * hashes + h] = (int32_t)v;
        }
    return SKIFF_OK;
}

/* ---- filter_by_instag ---- */

enum { TAG_INS, TAG_TAGS, TAG_FILTER };
enum { TAG_OUT, TAG_WEIGHT, TAG_MAP };
enum { TAG_IS_LOD, TAG_EMPTY };

static enum skiff_status instag_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, TAG_TAGS, err));
    TRY(infer_want_int(c, TAG_FILTER, err));
    struct shape s = *infer_in(c, TAG_INS, 0), weight = SHAPE(-1, 1), map = SHAPE(-1, 2);
    if (s.ndim < 1)
        return infer_fail(c, TAG_INS, 0, err, "has no rows");
    s.dims[0] = -1;
    TRY(infer_out(c, TAG_OUT, 0, infer_in_dtype(c, TAG_INS, 0), &s, err));
    TRY(infer_out(c, TAG_WEIGHT, 0, DTYPE_FP32, &weight, err));
    return infer_out(c, TAG_MAP, 0, DTYPE_INT64, &map, err); /* Paddle declares 2 columns */
}

static bool sample_matches(const struct kernel *k, const struct lod_level *tags, int64_t i)
{
    const struct tensor *filter = kernel_in(k, TAG_FILTER), *tag = kernel_in(k, TAG_TAGS);
    int64_t n = tensor_numel(filter);
    for (int64_t t = tags->off[i]; t < tags->off[i + 1]; t++)
        for (int64_t f = 0; f < n; f++)
            if (tensor_int_at(filter, f) == tensor_int_at(tag, t))
                return true;
    return false;
}

/* First row and number of rows of sample i of Ins. */
static void sample_rows(const struct kernel *k, int64_t i, int64_t *first, int64_t *count)
{
    const struct lod_level *seq =
        k->attr[TAG_IS_LOD].b ? lod_last(kernel_in(k, TAG_INS)->lod) : NULL;
    *first = seq ? seq->off[i] : i;
    *count = seq ? seq->off[i + 1] - seq->off[i] : 1;
}

static enum skiff_status instag_check(const struct kernel *k, const struct lod_level **tags,
                                      struct skiff_error *err)
{
    const struct tensor *ins = kernel_in(k, TAG_INS), *tag = kernel_in(k, TAG_TAGS);
    if (!dtype_is_index(tag->dtype) || !dtype_is_index(kernel_in(k, TAG_FILTER)->dtype))
        return kernel_fail(k, SKIFF_DTYPE, err, "tags must be int64 or int32");
    TRY(kernel_lod(k, TAG_TAGS, 0, tags, err));
    if (tensor_numel(tag) != tag->shape.dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err, "Ins_tag (%s) must be [tags, 1]",
                           kernel_in_name(k, TAG_TAGS, 0));
    const struct lod_level *seq = NULL;
    if (k->attr[TAG_IS_LOD].b)
        TRY(kernel_lod(k, TAG_INS, 0, &seq, err));
    int64_t samples = seq ? seq->n - 1 : ins->shape.ndim ? ins->shape.dims[0] : 0;
    if ((*tags)->n - 1 != samples)
        return kernel_fail(k, SKIFF_SHAPE, err, "Ins (%s) has %lld samples, Ins_tag (%s) has %lld",
                           kernel_in_name(k, TAG_INS, 0), (long long)samples,
                           kernel_in_name(k, TAG_TAGS, 0), (long long)((*tags)->n - 1));
    return SKIFF_OK;
}

/* One lod level of n sequences of one row each. */
static enum skiff_status unit_lod(struct tensor *t, int64_t n, struct skiff_error *err)
{
    int64_t *off;
    TRY(kernel_make_lod(t, n + 1, &off, err));
    for (int64_t i = 0; i <= n; i++)
        off[i] = i;
    return SKIFF_OK;
}

static void fill_value(struct tensor *t, int64_t value)
{
    int64_t n = tensor_numel(t);
    DISPATCH_NUMBER(t->dtype, T, T *p = t->data; for (int64_t i = 0; i < n; i++) p[i] = (T)value)
}

static enum skiff_status instag_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *ins = kernel_in(k, TAG_INS);
    struct tensor *out = kernel_out(k, TAG_OUT), *map = kernel_out(k, TAG_MAP);
    struct tensor *weight = kernel_out(k, TAG_WEIGHT);
    const struct lod_level *tags;
    int64_t kept = 0, rows = 0, first, count, at = 0, *off;
    TRY(instag_check(k, &tags, err));
    for (int64_t i = 0; i + 1 < tags->n; i++)
        if (sample_matches(k, tags, i)) {
            sample_rows(k, i, &first, &count);
            kept++;
            rows += count;
        }
    bool empty = kept == 0;
    struct shape s = ins->shape, one = SHAPE(empty ? 1 : kept, 1),
                 three = SHAPE(empty ? 1 : kept, 3);
    s.dims[0] = empty ? 1 : rows;
    TRY(kernel_out_resize(k, TAG_OUT, 0, ins->dtype, &s, err));
    TRY(kernel_out_resize(k, TAG_WEIGHT, 0, DTYPE_FP32, &one, err));
    TRY(kernel_out_resize(k, TAG_MAP, 0, DTYPE_INT64, &three, err));
    TRY(unit_lod(weight, one.dims[0], err));
    TRY(unit_lod(map, one.dims[0], err));
    if (empty) {
        fill_value(out, k->attr[TAG_EMPTY].l);
        fill_value(weight, 0);
        fill_value(map, 0);
        return unit_lod(out, 1, err);
    }
    fill_value(weight, 1);
    TRY(kernel_make_lod(out, kept + 1, &off, err));
    size_t bytes = (size_t)shape_cols(&ins->shape, 1) * dtype_size(ins->dtype);
    off[0] = 0;
    for (int64_t i = 0; i + 1 < tags->n; i++) {
        if (!sample_matches(k, tags, i))
            continue;
        sample_rows(k, i, &first, &count);
        rows_move((char *)out->data + (size_t)off[at] * bytes,
                  (const char *)ins->data + (size_t)first * bytes, count, bytes);
        int64_t *row = tensor_i64(map) + 3 * at;
        row[0] = off[at];
        row[1] = first;
        row[2] = count;
        off[at + 1] = off[at] + count;
        at++;
    }
    return SKIFF_OK;
}

enum { TAGG_MAP, TAGG_WEIGHT, TAGG_INS, TAGG_DOUT };

static enum skiff_status instag_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, TAGG_INS, DTYPE_FP32, err));
    TRY(infer_want(c, TAGG_MAP, DTYPE_INT64, err));
    if (c->running) /* layers declare the weights as float64, as in Paddle */
        TRY(infer_want(c, TAGG_WEIGHT, DTYPE_FP32, err));
    TRY(infer_grad_of(c, TAGG_INS, 0, err));
    if (!c->running)
        infer_lod_level(c, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status instag_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dins = kernel_out(k, 0);
    const struct tensor *map = kernel_in(k, TAGG_MAP), *weight = kernel_in(k, TAGG_WEIGHT);
    const struct tensor *dout = kernel_in(k, TAGG_DOUT);
    if (!dins)
        return SKIFF_OK;
    floats_zero(tensor_f32(dins), tensor_numel(dins));
    if (map->shape.ndim != 2 || map->shape.dims[1] != 3 ||
        tensor_numel(weight) != map->shape.dims[0] || dout->dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_SHAPE, err, "IndexMap, LossWeight and Out@GRAD do not fit");
    int64_t width = shape_cols(&dins->shape, 1), rows = dins->shape.dims[0];
    for (int64_t i = 0; i < map->shape.dims[0]; i++) {
        const int64_t *m = tensor_i64(map) + 3 * i;
        if (tensor_f32(weight)[i] == 0)
            continue;
        if (m[0] < 0 || m[1] < 0 || m[2] < 0 || m[2] > rows || m[1] > rows - m[2] ||
            (m[0] + m[2]) * width > tensor_numel(dout))
            return kernel_fail(k, SKIFF_RANGE, err, "IndexMap row %lld leaves the tensors",
                               (long long)i);
        rows_move(tensor_f32(dins) + m[1] * width, tensor_f32(dout) + m[0] * width, m[2] * width,
                  sizeof(float));
    }
    return SKIFF_OK;
}

/* ---- cvm ---- */

enum { CVM_X, CVM_CVM, CVM_DY };

static enum skiff_status cvm_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, CVM_X, DTYPE_FP32, err));
    TRY(infer_want_rank(c, CVM_X, 2, err));
    const struct shape *x = infer_in(c, CVM_X, 0);
    if (c->running && x->dims[1] < 2) /* Paddle builds it, too, and then reads beyond the rows */
        return infer_fail(c, CVM_X, 0, err, "must have at least 2 columns, show and click");
    return SKIFF_OK;
}

static enum skiff_status cvm_infer(struct infer *c, struct skiff_error *err)
{
    TRY(cvm_check(c, err));
    struct shape s = *infer_in(c, CVM_X, 0);
    if (!c->attr[0].b && s.dims[1] >= 2)
        s.dims[1] -= 2;
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &s, err));
    infer_share_lod(c, CVM_X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status cvm_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, CVM_X);
    struct tensor *y = kernel_out(k, 0);
    int64_t rows = x->shape.dims[0], width = x->shape.dims[1], out_width = y->shape.dims[1];
    for (int64_t i = 0; i < rows; i++) {
        const float *from = tensor_f32(x) + i * width;
        float *to = tensor_f32(y) + i * out_width;
        rows_move(to + out_width - (width - 2), from + 2, width - 2, sizeof(float));
        if (k->attr[0].b) {
            to[0] = logf(from[0] + 1.0f);
            to[1] = logf(from[1] + 1.0f) - to[0];
        }
    }
    return SKIFF_OK;
}

static enum skiff_status cvm_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(cvm_check(c, err));
    TRY(infer_want(c, CVM_CVM, DTYPE_FP32, err));
    return infer_grad_of(c, CVM_X, 0, err);
}

static enum skiff_status cvm_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, CVM_X), *cvm = kernel_in(k, CVM_CVM);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    const struct lod_level *seq = NULL;
    int64_t rows = x->shape.dims[0], width = x->shape.dims[1];
    int64_t dy_width = k->attr[0].b ? width : width - 2, sample = 0;
    if (x->lod && x->lod->nlevels)
        TRY(kernel_lod(k, CVM_X, 0, &seq, err));
    TRY(kernel_want_floats(k, CVM_CVM, 2 * (seq ? seq->n - 1 : rows), err));
    TRY(kernel_want_floats(k, CVM_DY, rows * dy_width, err));
    for (int64_t i = 0; i < rows; i++) {
        float *to = tensor_f32(dx) + i * width;
        while (seq && i >= seq->off[sample + 1])
            sample++;
        rows_move(to, tensor_f32(cvm) + 2 * (seq ? sample : i), 2, sizeof(float));
        rows_move(to + 2, tensor_f32(kernel_in(k, CVM_DY)) + (i + 1) * dy_width - (width - 2),
                  width - 2, sizeof(float));
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot hash_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec hash_attrs[] = {
    A_INT("num_hash", 1),
    A_LONG("mod_by", 100000),
    A_BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true),
    {0}};

static const struct op_slot instag_ins[] = {{"Ins", 0}, {"Ins_tag", 0}, {"Filter_tag", 0}, {0}};
static const struct op_slot instag_outs[] = {{"Out", 0}, {"LossWeight", 0}, {"IndexMap", 0}, {0}};
static const struct op_slot instag_grad_ins[] = {
    {"IndexMap", 0}, {"LossWeight", 0}, {"Ins", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot instag_grad_outs[] = {{"Ins@GRAD", 0}, {0}};
static const struct op_attr_spec instag_attrs[] = {
    A_REQ("is_lod", ATTR_BOOLEAN), A_LONG("out_val_if_empty", 0), {0}};

static const struct op_slot cvm_ins[] = {{"X", 0}, {"CVM", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot y_outs[] = {{"Y", 0}, {0}};
static const struct op_slot cvm_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"CVM", 0}, {"Y@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec cvm_attrs[] = {A_BOOL("use_cvm", true), {0}};

const struct op_kind ops_ctr_input[] = {{.type = "hash",
                                         .flags = OP_NO_GRAD_NEEDED,
                                         .ins = hash_ins,
                                         .outs = out_outs,
                                         .attrs = hash_attrs,
                                         .infer = hash_infer,
                                         .run = hash_run},
                                        {.type = "filter_by_instag",
                                         .generations = GEN_1X,
                                         .flags = OP_OWN_SHAPE,
                                         .ins = instag_ins,
                                         .outs = instag_outs,
                                         .attrs = instag_attrs,
                                         .grad = "IndexMap LossWeight Ins Out@GRAD -> Ins@GRAD",
                                         .infer = instag_infer,
                                         .run = instag_run},
                                        {.type = "filter_by_instag_grad",
                                         .generations = GEN_1X,
                                         .ins = instag_grad_ins,
                                         .outs = instag_grad_outs,
                                         .attrs = instag_attrs,
                                         .infer = instag_grad_infer,
                                         .run = instag_grad_run},
                                        {.type = "cvm",
                                         .class = CLASS_CVM,
                                         .ins = cvm_ins,
                                         .outs = y_outs,
                                         .attrs = cvm_attrs,
                                         .grad = "X CVM Y@GRAD -> X@GRAD",
                                         .infer = cvm_infer,
                                         .run = cvm_run},
                                        {.type = "cvm_grad",
                                         .ins = cvm_grad_ins,
                                         .outs = x_grad_outs,
                                         .attrs = cvm_attrs,
                                         .infer = cvm_grad_infer,
                                         .run = cvm_grad_run},
                                        {0}};
