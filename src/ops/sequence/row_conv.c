/* row_conv: lookahead convolution of DeepSpeech 2. Each column sees itself some steps ahead:
 *
 *   Out[t][j] = sum over w of X[t + w][j] * Filter[w][j], for t + w within the sequence
 *   dX[t + w][j] += dOut[t][j] * Filter[w][j];  dFilter[w][j] += dOut[t][j] * X[t + w][j]
 *
 * X is ragged [rows, width], or [n, length, width] without lod. */
#include "ops/seq_common.h"

enum { X, FILTER, DOUT };

static enum skiff_status row_conv_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *f = infer_in(c, FILTER, 0);
    TRY(infer_want_float(c, X, err));
    TRY(infer_want_rank(c, FILTER, 2, err));
    if (infer_in_dtype(c, FILTER, 0) != infer_in_dtype(c, X, 0))
        return infer_fail(c, FILTER, 0, err, "must have the type of X");
    const struct lod *lod = c->running ? infer_in_lod(c, X, 0) : NULL;
    if (x->ndim < 2 || x->ndim > 3 || (c->running && x->ndim != (lod && lod->nlevels ? 2 : 3)))
        return infer_fail(c, X, 0, err, "must be [n, length, width], or ragged [rows, width]");
    if (!dims_agree(x->dims[x->ndim - 1], f->dims[1]))
        return infer_fail(c, FILTER, 0, err, "must have the columns of X, %lld",
                          (long long)x->dims[x->ndim - 1]);
    return SKIFF_OK;
}

static enum skiff_status row_conv_infer(struct infer *c, struct skiff_error *err)
{
    TRY(row_conv_check(c, err));
    return infer_same(c, X, 0, err);
}

static enum skiff_status row_conv_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(row_conv_check(c, err));
    TRY(infer_want_alike(c, X, DOUT, err));
    TRY(infer_like(c, X, 0, err));
    return infer_like(c, FILTER, 1, err);
}

struct sequences {
    const struct lod_level *seq; /* NULL: all of one length */
    int64_t n, length, width, context;
};

static enum skiff_status sequences_of(struct kernel *k, struct sequences *s,
                                      struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    *s = (struct sequences){lod_last(x->lod), x->shape.dims[0], x->shape.dims[1],
                            x->shape.dims[x->shape.ndim - 1], kernel_in(k, FILTER)->shape.dims[0]};
    if (s->seq) {
        TRY(kernel_lod(k, X, 0, &s->seq, err));
        s->n = s->seq->n - 1;
    }
    return SKIFF_OK;
}

static int64_t first_row(const struct sequences *s, int64_t i)
{
    return s->seq ? s->seq->off[i] : i * s->length;
}

static enum skiff_status row_conv_run(struct kernel *k, struct skiff_error *err)
{
    struct sequences s;
    struct tensor *out = kernel_out(k, 0);
    TRY(sequences_of(k, &s, err));
    DISPATCH_FLOAT(out->dtype, T, {
        const T *x = kernel_in(k, X)->data;
        const T *f = kernel_in(k, FILTER)->data;
        T *o = out->data;
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t t = first_row(&s, i), end = first_row(&s, i + 1); t < end; t++) {
                ZERO_ELEMENTS(o + t * s.width, s.width)
                for (int64_t w = 0; w < s.context && t + w < end; w++)
                    for (int64_t j = 0; j < s.width; j++)
                        o[t * s.width + j] += x[(t + w) * s.width + j] * f[w * s.width + j];
            }
    })
    return SKIFF_OK;
}

static enum skiff_status row_conv_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct sequences s;
    TRY(sequences_of(k, &s, err));
    TRY(kernel_want_elements(k, DOUT, kernel_in(k, X)->dtype, tensor_numel(kernel_in(k, X)), err));
    DISPATCH_FLOAT(kernel_in(k, X)->dtype, T, {
        const T *x = kernel_in(k, X)->data;
        const T *f = kernel_in(k, FILTER)->data;
        const T *d = kernel_in(k, DOUT)->data;
        T *dx = kernel_out_data(k, 0);
        T *df = kernel_out_data(k, 1);
        ZERO_ELEMENTS(dx, dx ? tensor_numel(kernel_in(k, X)) : 0)
        ZERO_ELEMENTS(df, df ? s.context * s.width : 0)
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t t = first_row(&s, i), end = first_row(&s, i + 1); t < end; t++)
                for (int64_t w = 0; w < s.context && t + w < end; w++)
                    for (int64_t j = 0; j < s.width; j++) {
                        int64_t at = (t + w) * s.width + j;
                        if (dx)
                            dx[at] += d[t * s.width + j] * f[w * s.width + j];
                        if (df)
                            df[w * s.width + j] += d[t * s.width + j] * x[at];
                    }
    })
    return SKIFF_OK;
}

static const struct op_slot ins[] = {{"X", 0}, {"Filter", 0}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_slot grad_ins[] = {{"X", 0}, {"Filter", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Filter@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec none[] = {{0}};

const struct op_kind ops_row_conv[] = {{.type = "row_conv",
                                        .ins = ins,
                                        .outs = outs,
                                        .attrs = none,
                                        .grad = "X Filter Out@GRAD -> X@GRAD Filter@GRAD",
                                        .infer = row_conv_infer,
                                        .run = row_conv_run},
                                       {.type = "row_conv_grad",
                                        .ins = grad_ins,
                                        .outs = grad_outs,
                                        .attrs = none,
                                        .infer = row_conv_grad_infer,
                                        .run = row_conv_grad_run},
                                       {0}};
