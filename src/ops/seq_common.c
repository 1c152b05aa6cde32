/* Shared by sequence ops and others (seq_common.h): checks of shape rules (infer_want_*),
 * inputs, scratch and lods of kernels (kernel_*), sorted lists of ids (ids_*), sigmoid and log.
 *
 * The checks accept an absent slot and, while building, unknown dims (-1). A refusal names op,
 * slot, variable and both values. Scratch comes from the kernel's chain, so a steady step
 * allocates nothing. */
#include "ops/seq_common.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const char *slot_name(const struct infer *c, int slot)
{
    return c->kind->ins[slot].name;
}

enum skiff_status infer_want(const struct infer *c, int slot, enum dtype want,
                             struct skiff_error *err)
{
    if (!infer_has(c, slot) || infer_in_dtype(c, slot, 0) == want)
        return SKIFF_OK;
    return error_set(err, SKIFF_DTYPE, "op %s, input %s (%s): must be %s, is %s", c->kind->type,
                     slot_name(c, slot), infer_in_name(c, slot, 0), dtype_name(want),
                     dtype_name(infer_in_dtype(c, slot, 0)));
}

enum skiff_status infer_want_float(const struct infer *c, int slot, struct skiff_error *err)
{
    if (!infer_has(c, slot) || dtype_is_float(infer_in_dtype(c, slot, 0)))
        return SKIFF_OK;
    return error_set(err, SKIFF_DTYPE, "op %s, input %s (%s): must be float32 or float64, is %s",
                     c->kind->type, slot_name(c, slot), infer_in_name(c, slot, 0),
                     dtype_name(infer_in_dtype(c, slot, 0)));
}

enum skiff_status infer_want_int(const struct infer *c, int slot, struct skiff_error *err)
{
    if (!infer_has(c, slot))
        return SKIFF_OK;
    enum dtype t = infer_in_dtype(c, slot, 0);
    if (t == DTYPE_INT64 || t == DTYPE_INT32)
        return SKIFF_OK;
    return error_set(err, SKIFF_DTYPE, "op %s, input %s (%s): must be int64 or int32, is %s",
                     c->kind->type, slot_name(c, slot), infer_in_name(c, slot, 0), dtype_name(t));
}

enum skiff_status infer_want_rank(const struct infer *c, int slot, int rank,
                                  struct skiff_error *err)
{
    const struct shape *s = infer_in(c, slot, 0);
    if (!s || s->ndim == rank)
        return SKIFF_OK;
    return infer_fail(c, slot, 0, err, "must have %d dimensions", rank);
}

enum skiff_status infer_want_alike(const struct infer *c, int a, int b, struct skiff_error *err)
{
    const struct shape *sa = infer_in(c, a, 0), *sb = infer_in(c, b, 0);
    if (!sa || !sb)
        return SKIFF_OK;
    bool same = sa->ndim == sb->ndim;
    for (int i = 0; same && i < sa->ndim; i++)
        same = dims_agree(sa->dims[i], sb->dims[i]);
    if (same)
        return SKIFF_OK;
    char text[160];
    return infer_fail(c, a, 0, err, "must have the shape of %s (%s) %s", slot_name(c, b),
                      infer_in_name(c, b, 0), shape_text(sb, text));
}

enum skiff_status infer_want_floats_alike(const struct infer *c, int n, struct skiff_error *err)
{
    TRY(infer_want_float(c, 0, err));
    for (int i = 1; i < n; i++) {
        TRY(infer_want(c, i, infer_in_dtype(c, 0, 0), err));
        TRY(infer_want_alike(c, i, 0, err));
    }
    return SKIFF_OK;
}

enum skiff_status infer_want_lod(const struct infer *c, int slot, struct skiff_error *err)
{
    if (!c->running)
        return SKIFF_OK;
    const struct lod *lod = infer_in_lod(c, slot, 0);
    if (!lod || lod->nlevels < 1)
        return infer_fail(c, slot, 0, err,
                          "has no LoD: feed it with sequence lengths (a LoDTensor)");
    const struct shape *s = infer_in(c, slot, 0);
    return lod_check(lod, s->ndim ? s->dims[0] : 0, infer_in_name(c, slot, 0), err);
}

enum skiff_status kernel_ints(struct kernel *k, int slot, const int64_t **out,
                              struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    if (t->dtype == DTYPE_INT64) {
        *out = tensor_i64(t);
        return SKIFF_OK;
    }
    int64_t n = tensor_numel(t);
    void *p;
    TRY(kernel_scratch(k, (size_t)(n > 0 ? n : 1) * sizeof(int64_t), &p, err));
    int64_t *ids = p;
    for (int64_t i = 0; i < n; i++)
        ids[i] = tensor_i32(t)[i];
    *out = ids;
    return SKIFF_OK;
}

enum skiff_status kernel_floats(struct kernel *k, int64_t n, float **out, struct skiff_error *err)
{
    size_t bytes;
    if (n < 0 || !mem_mul((size_t)(n > 0 ? n : 1), sizeof(float), &bytes))
        return kernel_fail(k, SKIFF_RANGE, err, "work space of %lld floats is too large",
                           (long long)n);
    void *p;
    TRY(kernel_scratch(k, bytes, &p, err));
    *out = p;
    return SKIFF_OK;
}

enum skiff_status kernel_lod(const struct kernel *k, int slot, int i, const struct lod_level **out,
                             struct skiff_error *err)
{
    const struct tensor *t = kernel_in_at(k, slot, i);
    if (!t || !t->lod || t->lod->nlevels < 1)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input %s (%s) has no LoD: feed it with sequence lengths (a LoDTensor)",
                           k->kind->ins[slot].name, kernel_in_name(k, slot, i));
    TRY(lod_check(t->lod, t->shape.ndim ? t->shape.dims[0] : 0, kernel_in_name(k, slot, i), err));
    *out = lod_last(t->lod);
    return SKIFF_OK;
}

enum skiff_status kernel_want_elements(const struct kernel *k, int slot, enum dtype dtype,
                                       int64_t n, struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    if (t && t->dtype == dtype && tensor_numel(t) == n)
        return SKIFF_OK;
    char text[160];
    return kernel_fail(k, SKIFF_SHAPE, err, "input %s (%s) %s of %s must have %lld %s values",
                       k->kind->ins[slot].name, kernel_in_name(k, slot, 0),
                       t ? shape_text(&t->shape, text) : "(absent)",
                       t ? dtype_name(t->dtype) : "nothing", (long long)n, dtype_name(dtype));
}

enum skiff_status kernel_want_floats(const struct kernel *k, int slot, int64_t n,
                                     struct skiff_error *err)
{
    return kernel_want_elements(k, slot, DTYPE_FP32, n, err);
}

enum skiff_status kernel_make_lod(struct tensor *out, int64_t n, int64_t **out_off,
                                  struct skiff_error *err)
{
    TRY(lod_build(&out->lod, 1, &n, err));
    *out_off = out->lod->level[0].off;
    return SKIFF_OK;
}

enum skiff_status kernel_lod_without_last(struct tensor *out, const struct tensor *from,
                                          struct skiff_error *err)
{
    if (!from->lod || from->lod->nlevels < 2) {
        tensor_drop_lod(out);
        return SKIFF_OK;
    }
    int64_t counts[LOD_MAX_LEVELS];
    int levels = from->lod->nlevels - 1;
    for (int l = 0; l < levels; l++)
        counts[l] = from->lod->level[l].n;
    TRY(lod_build(&out->lod, levels, counts, err));
    for (int l = 0; l < levels; l++)
        memcpy(out->lod->level[l].off, from->lod->level[l].off,
               (size_t)counts[l] * sizeof(int64_t));
    return SKIFF_OK;
}

enum skiff_status kernel_bad_index(const struct kernel *k, int slot, int64_t at, int64_t value,
                                   int64_t limit, const char *of_what, struct skiff_error *err)
{
    return kernel_fail(k, SKIFF_RANGE, err,
                       "input %s (%s): element %lld is %lld, must be in [0, %lld): %s",
                       k->kind->ins[slot].name, kernel_in_name(k, slot, 0), (long long)at,
                       (long long)value, (long long)limit, of_what);
}

static int ids_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t ids_unique(int64_t *ids, int64_t n)
{
    int64_t kept = 0;
    qsort(ids, (size_t)n, sizeof(*ids), ids_compare);
    for (int64_t i = 0; i < n; i++)
        if (!kept || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return kept;
}

int64_t ids_find(const int64_t *ids, int64_t n, int64_t id)
{
    const int64_t *at = bsearch(&id, ids, (size_t)n, sizeof(*ids), ids_compare);
    return at - ids;
}

float sigmoid_f32(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

float log_finite_f32(float x)
{
    float l = logf(x);
    return isinf(l) ? (l > 0 ? 1e20f : -1e20f) : l;
}

double sigmoid_f64(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

double log_finite_f64(double x)
{
    double l = log(x);
    return isinf(l) ? (l > 0 ? 1e20 : -1e20) : l;
}
