/* Comparing a value with the recorded one: kind, type, shape and lod must be the same, whole
 * numbers equal, reals within abs(got - want) <= atol + rtol abs(want). Nan agrees with nan, an
 * infinity with itself. The first difference is printed with its index, together with the number of
 * differences: one wrong element and a wrong formula look different. */
#include "replay/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double float_at(const struct tensor *t, int64_t i)
{
    return t->dtype == DTYPE_FP32 ? (double)tensor_f32(t)[i] : tensor_f64(t)[i];
}

static int64_t int_at(const struct tensor *t, int64_t i)
{
    switch (t->dtype) {
    case DTYPE_INT64:
    case DTYPE_SIZE_T:
        return tensor_i64(t)[i];
    case DTYPE_INT32:
        return tensor_i32(t)[i];
    case DTYPE_INT16:
    case DTYPE_FP16:
    case DTYPE_BF16:
        return ((const int16_t *)t->data)[i];
    case DTYPE_INT8:
        return ((const int8_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

static bool close_enough(double got, double want, double rtol, double atol)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got;
    return fabs(got - want) <= atol + rtol * fabs(want);
}

static void index_text(const struct shape *s, int64_t i, struct buf *out)
{
    int64_t at[TENSOR_MAX_DIMS];
    for (int d = s->ndim - 1; d >= 0; d--) {
        at[d] = s->dims[d] ? i % s->dims[d] : 0;
        i = s->dims[d] ? i / s->dims[d] : 0;
    }
    buf_str(out, "[");
    for (int d = 0; d < s->ndim; d++)
        buf_printf(out, "%s%" PRId64, d ? ", " : "", at[d]);
    buf_str(out, "]");
}

static bool compare_elements(const struct tensor *got, const struct tensor *want, double rtol,
                             double atol, struct buf *out)
{
    int64_t n = tensor_numel(want), bad = 0, first = -1;
    bool real = want->dtype == DTYPE_FP32 || want->dtype == DTYPE_FP64;
    for (int64_t i = 0; i < n; i++) {
        bool same = real ? close_enough(float_at(got, i), float_at(want, i), rtol, atol)
                         : int_at(got, i) == int_at(want, i);
        if (same)
            continue;
        first = first < 0 ? i : first;
        bad++;
    }
    if (!bad)
        return true;
    buf_str(out, "at index ");
    index_text(&want->shape, first, out);
    if (real)
        buf_printf(out, ": got %.9g, expected %.9g", float_at(got, first), float_at(want, first));
    else
        buf_printf(out, ": got %" PRId64 ", expected %" PRId64, int_at(got, first),
                   int_at(want, first));
    buf_printf(out, " (%" PRId64 " of %" PRId64 " values differ; rtol %g, atol %g)", bad, n, rtol,
               atol);
    return false;
}

static void lod_text(const struct lod *l, struct buf *out)
{
    buf_str(out, "[");
    for (int k = 0; l && k < l->nlevels; k++) {
        buf_str(out, k ? ", [" : "[");
        for (int64_t i = 0; i < l->level[k].n && i < 16; i++)
            buf_printf(out, "%s%" PRId64, i ? ", " : "", l->level[k].off[i]);
        buf_str(out, l->level[k].n > 16 ? ", ...]" : "]");
    }
    buf_str(out, "]");
}

static bool compare_tensors(const struct tensor *got, const struct tensor *want, double rtol,
                            double atol, struct buf *out)
{
    char a[160], b[160];
    if (got->dtype != want->dtype) {
        buf_printf(out, "type: got %s, expected %s", dtype_name(got->dtype),
                   dtype_name(want->dtype));
        return false;
    }
    if (!shape_equal(&got->shape, &want->shape)) {
        buf_printf(out, "shape: got %s, expected %s", shape_text(&got->shape, a),
                   shape_text(&want->shape, b));
        return false;
    }
    if (!lod_equal(got->lod, want->lod)) {
        buf_str(out, "lod: got ");
        lod_text(got->lod, out);
        buf_str(out, ", expected ");
        lod_text(want->lod, out);
        return false;
    }
    return compare_elements(got, want, rtol, atol, out);
}

static bool compare_rows(const struct skiff_tensor *got, const struct skiff_tensor *want,
                         struct buf *out)
{
    if (got->sel.height != want->sel.height) {
        buf_printf(out, "height: got %" PRId64 ", expected %" PRId64, got->sel.height,
                   want->sel.height);
        return false;
    }
    if (got->sel.nrows != want->sel.nrows) {
        buf_printf(out, "number of rows: got %zu, expected %zu", got->sel.nrows, want->sel.nrows);
        return false;
    }
    for (size_t i = 0; i < want->sel.nrows; i++)
        if (got->sel.rows[i] != want->sel.rows[i]) {
            buf_printf(out, "row id %zu: got %" PRId64 ", expected %" PRId64, i, got->sel.rows[i],
                       want->sel.rows[i]);
            return false;
        }
    return true;
}

/* What a recorder keeps of a variable that Paddle left unwritten: None turned into an array. */
static bool is_unwritten(const struct skiff_tensor *v)
{
    const struct tensor *t = &v->tensor;
    return v->kind == VALUE_TENSOR && t->dtype == DTYPE_FP64 && t->shape.ndim == 1 &&
           t->shape.dims[0] == 0;
}

bool replay_compare(const struct skiff_tensor *got, const struct skiff_tensor *want, double rtol,
                    double atol, struct buf *out)
{
    if (is_unwritten(want))
        return true; /* there is nothing to compare with */
    static const char *const kinds[] = {"nothing", "a tensor", "SelectedRows", "a tensor array",
                                        "scopes"};
    if (got->kind != want->kind) {
        buf_printf(out, "kind: got %s, expected %s", kinds[got->kind], kinds[want->kind]);
        return false;
    }
    if (want->kind == VALUE_ROWS && !compare_rows(got, want, out))
        return false;
    return compare_tensors(&got->tensor, &want->tensor, rtol, atol, out);
}
