/* Places within sequences.
 *
 *   sequence_scatter       Out = X; sequence i of Updates is added to row i of X, each number at
 *                          the column that Ids says; dX = dOut, dUpdates = dOut at these columns
 *   add_position_encoding  Out = alpha X + beta E; row j of a sequence, half h = width / 2:
 *                          E[k] = sin(v), E[h + k] = cos(v), v = j / 10000^(k / (h - 1))
 *                          (j / 10000 where h is 1); X [n, length, width], or ragged [rows, width]
 */
#include <math.h>

#include "ops/seq_common.h"

/* ---- sequence_scatter ---- */

enum { S_X, S_IDS, S_UPDATES };
enum { G_IDS, G_UPDATES, G_DOUT };
enum { G_DX, G_DUPDATES };

static enum skiff_status scatter_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, S_IDS, err));
    if (c->running)
        TRY(infer_want_rank(c, S_X, 2, err));
    TRY(infer_want_lod(c, S_IDS, err));
    TRY(infer_want_lod(c, S_UPDATES, err));
    if (infer_in_dtype(c, S_X, 0) != infer_in_dtype(c, S_UPDATES, 0))
        return infer_fail(c, S_UPDATES, 0, err, "must have the type of X");
    TRY(infer_like(c, S_X, 0, err));
    infer_share_lod(c, S_X, 0, 0, 0);
    return SKIFF_OK;
}

/* The sequences of Ids: one for each of `rows`, as long as those of Updates, columns in range. */
static enum skiff_status scatter_check(const struct kernel *k, int ids, int updates,
                                       const struct shape *x, const struct lod_level **out,
                                       struct skiff_error *err)
{
    const struct lod_level *u;
    TRY(kernel_lod(k, ids, 0, out, err));
    TRY(kernel_lod(k, updates, 0, &u, err));
    int64_t n = (*out)->off[(*out)->n - 1];
    if (x->ndim != 2 || (*out)->n - 1 != x->dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err, "Ids (%s) has %lld sequences for %lld rows",
                           kernel_in_name(k, ids, 0), (long long)(*out)->n - 1,
                           (long long)(x->ndim ? x->dims[0] : 0));
    if (tensor_numel(kernel_in(k, ids)) != n || tensor_numel(kernel_in(k, updates)) != n ||
        u->n != (*out)->n || memcmp(u->off, (*out)->off, (size_t)u->n * sizeof(*u->off)))
        return kernel_fail(k, SKIFF_SHAPE, err, "Ids (%s) and Updates (%s) must be of one shape",
                           kernel_in_name(k, ids, 0), kernel_in_name(k, updates, 0));
    TRY(kernel_check_dtype(k, ids, dtype_is_index, "an integer", err));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_int_at(kernel_in(k, ids), i);
        if (at < 0 || at >= x->dims[1])
            return kernel_bad_index(k, ids, i, at, x->dims[1], "columns of X", err);
    }
    return SKIFF_OK;
}

static enum skiff_status scatter_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, S_X), *ids = kernel_in(k, S_IDS);
    struct tensor *out = kernel_out(k, 0);
    const struct lod_level *seq;
    int64_t width = x->shape.dims[1];
    TRY(scatter_check(k, S_IDS, S_UPDATES, &x->shape, &seq, err));
    TRY(kernel_check_dtype(k, S_X, dtype_is_number, "a number", err));
    if (out != x)
        bytes_copy(out->data, x->data, tensor_bytes(x));
    DISPATCH_NUMBER(
        x->dtype, T, const T *u = kernel_in(k, S_UPDATES)->data; T *o = out->data;
        for (int64_t r = 0; r + 1 < seq->n; r++) for (int64_t i = seq->off[r]; i < seq->off[r + 1];
                                                      i++) {
            T *to = o + r * width + tensor_int_at(ids, i);
            *to = (T)WRAP_ADD(*to, u[i]);
        })
    return SKIFF_OK;
}

static enum skiff_status scatter_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_like(c, G_DOUT, G_DX, err));
    return infer_like(c, G_UPDATES, G_DUPDATES, err);
}

static enum skiff_status scatter_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, G_DOUT), *ids = kernel_in(k, G_IDS);
    struct tensor *dx = kernel_out(k, G_DX), *du = kernel_out(k, G_DUPDATES);
    const struct lod_level *seq;
    TRY(scatter_check(k, G_IDS, G_UPDATES, &d->shape, &seq, err));
    TRY(kernel_check_same_dtype(k, G_DOUT, G_UPDATES, err));
    TRY(kernel_check_dtype(k, G_DOUT, dtype_is_number, "a number", err));
    if (dx && dx != d)
        bytes_copy(dx->data, d->data, tensor_bytes(d));
    if (!du)
        return SKIFF_OK;
    DISPATCH_NUMBER(d->dtype, T, const T *g = d->data; T *o = du->data;
                    for (int64_t r = 0; r + 1 < seq->n; r++) for (int64_t i = seq->off[r];
                                                                  i < seq->off[r + 1]; i++) o[i] =
                        g[r * d->shape.dims[1] + tensor_int_at(ids, i)])
    return SKIFF_OK;
}

/* ---- add_position_encoding ---- */

enum { E_ALPHA, E_BETA };

static enum skiff_status encoding_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    const struct lod *lod = c->running ? infer_in_lod(c, 0, 0) : NULL;
    if (x->ndim < 2 || x->ndim > 3 || (c->running && x->ndim != (lod && lod->nlevels ? 2 : 3)))
        return infer_fail(c, 0, 0, err, "must be [n, length, width], or ragged [rows, width]");
    if (x->dims[x->ndim - 1] % 2 == 1)
        return infer_fail(c, 0, 0, err, "its width must be even");
    return infer_same(c, 0, 0, err);
}

static enum skiff_status encoding_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    const struct lod_level *seq = lod_last(x->lod);
    int64_t width = x->shape.dims[x->shape.ndim - 1], half = width / 2, at = 0;
    int64_t n = seq ? seq->n - 1 : x->shape.dims[0];
    float alpha = k->attr[E_ALPHA].f, beta = k->attr[E_BETA].f;
    TRY(kernel_check_dtype(k, 0, dtype_is_float, "float32 or float64", err));
    for (int64_t i = 0; i < n; i++) {
        int64_t length = seq ? seq->off[i + 1] - seq->off[i] : x->shape.dims[1];
        for (int64_t j = 0; j < length; j++, at += width)
            for (int64_t p = 0; p < half; p++) {
                double scale = half > 1 ? pow(10000.0, (double)p / (double)(half - 1)) : 10000.0;
                double v = (double)j / scale;
                DISPATCH_FLOAT(x->dtype, T, const T *from = (const T *)x->data + at;
                               T *to = (T *)kernel_out(k, 0)->data + at;
                               to[p] = (T)(from[p] * alpha + sin(v) * beta);
                               to[half + p] = (T)(from[half + p] * alpha + cos(v) * beta))
            }
    }
    return SKIFF_OK;
}

static enum skiff_status encoding_grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, 0, 0, err);
}

static enum skiff_status encoding_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, 0);
    float alpha = k->attr[E_ALPHA].f;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, 0, dtype_is_float, "float32 or float64", err));
    DISPATCH_FLOAT(d->dtype, T, const T *from = d->data; T *to = kernel_out(k, 0)->data;
                   for (int64_t i = 0; i < tensor_numel(d); i++) to[i] = from[i] * (T)alpha)
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot scatter_ins[] = {{"X", 0}, {"Ids", 0}, {"Updates", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot scatter_grad_ins[] = {
    {"Ids", 0}, {"Updates", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot scatter_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Updates@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot dout_ins[] = {{"Out@GRAD", 0}, {0}};
static const struct op_slot dx_outs[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec encoding_attrs[] = {
    A_FLOAT("alpha", 1.0f), A_FLOAT("beta", 1.0f), {0}};

const struct op_kind ops_sequence_place[] = {{.type = "sequence_scatter",
                                              .ins = scatter_ins,
                                              .outs = out_outs,
                                              .attrs = none,
                                              .grad = "Ids Updates Out@GRAD -> X@GRAD Updates@GRAD",
                                              .infer = scatter_infer,
                                              .run = scatter_run},
                                             {.type = "sequence_scatter_grad",
                                              .ins = scatter_grad_ins,
                                              .outs = scatter_grad_outs,
                                              .attrs = none,
                                              .infer = scatter_grad_infer,
                                              .run = scatter_grad_run},
                                             {.type = "add_position_encoding",
                                              .ins = x_ins,
                                              .outs = out_outs,
                                              .attrs = encoding_attrs,
                                              .grad = "Out@GRAD -> X@GRAD",
                                              .infer = encoding_infer,
                                              .run = encoding_run},
                                             {.type = "add_position_encoding_grad",
                                              .ins = dout_ins,
                                              .outs = dx_outs,
                                              .attrs = encoding_attrs,
                                              .infer = encoding_grad_infer,
                                              .run = encoding_grad_run},
                                             {0}};
