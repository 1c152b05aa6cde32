#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FLOOR 0.01 /* numbers below it are compared as if the largest were this */

/* Selected rows expanded to the complete table. */
static float *spread(const struct skiff_tensor *v, int64_t *n)
{
    int64_t width = v->sel.nrows ? tensor_numel(&v->tensor) / (int64_t)v->sel.nrows : 1;
    *n = v->sel.height * width;
    float *out = mem_alloc_or_die((size_t)(*n + 1) * sizeof(float));
    for (size_t i = 0; i < v->sel.nrows; i++)
        for (int64_t j = 0; j < width; j++)
            out[v->sel.rows[i] * width + j] += tensor_f32(&v->tensor)[(int64_t)i * width + j];
    return out;
}

static bool floats_agree(const float *a, const float *b, int64_t n, double tolerance, char *why,
                         size_t capacity)
{
    double most = FLOOR;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(a[i]) && fabs(a[i]) > most)
            most = fabs(a[i]);
    for (int64_t i = 0; i < n; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])) ||
            fabs((double)a[i] - b[i]) <= tolerance * most)
            continue;
        snprintf(why, capacity, "[%lld] is %.9g and %.9g", (long long)i, a[i], b[i]);
        return false;
    }
    return true;
}

static bool rows_agree(const struct skiff_tensor *a, const struct skiff_tensor *b, double tolerance,
                       char *why, size_t capacity)
{
    int64_t na, nb;
    if (!a->sel.nrows && !b->sel.nrows)
        return true;
    float *x = spread(a, &na), *y = spread(b, &nb);
    bool same = na == nb;
    if (!same)
        snprintf(why, capacity, "selected rows of %lld and %lld numbers", (long long)na,
                 (long long)nb);
    same = same && floats_agree(x, y, na, tolerance, why, capacity);
    free(x);
    free(y);
    return same;
}

bool values_agree(const struct skiff_tensor *a, const struct skiff_tensor *b, double tolerance,
                  char *why, size_t capacity)
{
    char one[160], other[160];
    if (a->kind != b->kind) {
        snprintf(why, capacity, "kinds %d and %d", a->kind, b->kind);
        return false;
    }
    if (a->kind == VALUE_ROWS)
        return rows_agree(a, b, tolerance, why, capacity);
    if (a->kind != VALUE_TENSOR)
        return true;
    const struct tensor *x = &a->tensor, *y = &b->tensor;
    if (x->dtype != y->dtype || !shape_equal(&x->shape, &y->shape)) {
        snprintf(why, capacity, "%s %s and %s %s", dtype_name(x->dtype), shape_text(&x->shape, one),
                 dtype_name(y->dtype), shape_text(&y->shape, other));
        return false;
    }
    if (!lod_equal(x->lod, y->lod)) {
        snprintf(why, capacity, "the lods differ (%d and %d levels)", x->lod ? x->lod->nlevels : 0,
                 y->lod ? y->lod->nlevels : 0);
        return false;
    }
    if (x->dtype == DTYPE_FP32)
        return floats_agree(tensor_f32(x), tensor_f32(y), tensor_numel(x), tolerance, why,
                            capacity);
    if (memcmp(x->data, y->data, tensor_bytes(x)) == 0)
        return true;
    snprintf(why, capacity, "%s values differ", dtype_name(x->dtype));
    return false;
}

void scope_copy(struct skiff_scope *to, const struct skiff_scope *from)
{
    struct str_map names;
    str_map_init(&names);
    scope_names(from, &names);
    for (size_t i = 0; i < names.count; i++)
        if (value_copy(scope_var(to, names.entries[i].key), names.entries[i].value, NULL) < 0)
            abort();
    str_map_deinit(&names);
}

bool scopes_agree(const struct skiff_scope *a, const struct skiff_scope *b, double tolerance,
                  char *why, size_t capacity)
{
    char what[256];
    struct str_map names;
    str_map_init(&names);
    scope_names(a, &names);
    bool same = true;
    for (size_t i = 0; i < names.count && same; i++) {
        const char *name = names.entries[i].key;
        const struct skiff_tensor *x = scope_find(a, name), *y = scope_find(b, name);
        if (!y && x->kind == VALUE_NONE)
            continue;
        same = y && values_agree(x, y, tolerance, what, sizeof(what));
        if (!same)
            snprintf(why, capacity, "%s: %s", name, y ? what : "only one scope has it");
    }
    str_map_deinit(&names);
    return same;
}
