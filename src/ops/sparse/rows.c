/* Selected rows made distinct: rows of one id become one row, their values added in input order.
 *
 * By a hash map and not by sorting, because the map is O(n) and keeps the order of first
 * appearance; ids are sorted (by radix) only where Paddle's order is ascending and the order is
 * seen. The order of additions is that of the input either way, so the bits do not depend on how
 * ids were found. Rows that are distinct already are passed through without a copy. */
#include "ops/sparse/rows.h"

#include <string.h>

#define AHEAD 8 /* ids whose places are prefetched */

enum skiff_status rows_check(const struct kernel *k, const struct skiff_tensor *v, int64_t height,
                             const char *name, struct skiff_error *err)
{
    if (height == INT64_MAX)
        return SKIFF_OK; /* of a table elsewhere: any 64 bits are an id */
    for (size_t i = 0; i < v->sel.nrows; i++)
        if ((uint64_t)v->sel.rows[i] >= (uint64_t)height)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "%s has row id %lld, but the table has height %lld: ids must be in "
                               "[0, height)",
                               name, (long long)v->sel.rows[i], (long long)height);
    return SKIFF_OK;
}

/* Least significant byte first; a byte that all keys share costs one counting pass only. */
void rows_sort(int64_t *keys, uint32_t *order, size_t n)
{
    int64_t *from = keys, *to = keys + n;
    uint32_t *ofrom = order, *oto = order + n;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (int shift = 0; shift < 64; shift += 8) {
        size_t count[256] = {0}, at = 0;
        uint64_t flip = shift == 56 ? 0x80 : 0; /* negative keys first */
        for (size_t i = 0; i < n; i++)
            count[(((uint64_t)from[i] >> shift) & 255) ^ flip]++;
        if (n && count[(((uint64_t)from[0] >> shift) & 255) ^ flip] == n)
            continue;
        for (int b = 0; b < 256; b++) {
            size_t c = count[b];
            count[b] = at;
            at += c;
        }
        for (size_t i = 0; i < n; i++) {
            size_t slot = count[(((uint64_t)from[i] >> shift) & 255) ^ flip]++;
            to[slot] = from[i];
            oto[slot] = ofrom[i];
        }
        int64_t *t = from;
        from = to;
        to = t;
        uint32_t *o = ofrom;
        ofrom = oto;
        oto = o;
    }
    if (from != keys) {
        memcpy(keys, from, n * sizeof *keys);
        memcpy(order, ofrom, n * sizeof *order);
    }
}

static enum skiff_status inputs_check(struct kernel *k, struct skiff_tensor *const *in, int n,
                                      struct rows_merged *out, size_t *total,
                                      struct skiff_error *err)
{
    *out = (struct rows_merged){.dtype = DTYPE_FP32};
    *total = 0;
    for (int i = 0; i < n; i++) {
        if (!in[i] || in[i]->kind != VALUE_ROWS)
            continue;
        if (!out->height)
            out->height = in[i]->sel.height;
        if (!in[i]->sel.nrows)
            continue;
        if (!*total) {
            out->width = rows_width(in[i]);
            out->dtype = in[i]->tensor.dtype;
        }
        if ((out->dtype != DTYPE_FP32 && out->dtype != DTYPE_FP64) ||
            in[i]->tensor.dtype != out->dtype)
            return kernel_fail(k, SKIFF_DTYPE, err,
                               "selected rows of %s; all must be float32, or all float64",
                               dtype_name(in[i]->tensor.dtype));
        if (in[i]->sel.height != out->height || rows_width(in[i]) != out->width)
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "selected rows of %lld x %lld and of %lld x %lld do not go together",
                               (long long)out->height, (long long)out->width,
                               (long long)in[i]->sel.height, (long long)rows_width(in[i]));
        TRY(rows_check(k, in[i], in[i]->sel.height, "an input", err));
        *total += in[i]->sel.nrows;
    }
    return SKIFF_OK;
}

static bool ascending(const int64_t *ids, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (ids[i] <= ids[i - 1])
            return false;
    return true;
}

/* place[i] = the index of the sum of row i (over all inputs, in order); ids = the distinct ones. */
static void rows_scatter(struct id_map *map, struct skiff_tensor *const *in, int n, size_t total,
                         int64_t *ids, uint32_t *slot)
{
    size_t at = 0;
    id_map_reset(map, total);
    for (int i = 0; i < n; i++) {
        if (!in[i] || in[i]->kind != VALUE_ROWS)
            continue;
        const int64_t *rows = in[i]->sel.rows;
        for (size_t r = 0; r < in[i]->sel.nrows; r++, at++) {
            bool fresh;
            if (r + AHEAD < in[i]->sel.nrows)
                id_map_prefetch(map, rows[r + AHEAD]);
            uint32_t where = id_map_add(map, rows[r], &fresh);
            if (fresh)
                ids[where] = rows[r];
            slot[at] = where;
        }
    }
}

/* Sorts the distinct ids in ascending order and adapts the indices. */
static enum skiff_status rows_arrange(struct kernel *k, int64_t *ids, size_t distinct,
                                      uint32_t *slot, size_t total, struct skiff_error *err)
{
    void *order, *back;
    TRY(kernel_scratch(k, 2 * distinct * sizeof(uint32_t), &order, err));
    TRY(kernel_scratch(k, distinct * sizeof(uint32_t), &back, err));
    rows_sort(ids, order, distinct);
    uint32_t *b = back, *o = order;
    for (size_t i = 0; i < distinct; i++)
        b[o[i]] = (uint32_t)i;
    for (size_t i = 0; i < total; i++)
        slot[i] = b[slot[i]];
    return SKIFF_OK;
}

/* Adds each value row at its index; the first row of an index is copied. */
#define ROWS_ADD(name, T)                                                                       \
    static void name(struct skiff_tensor *const *in, int n, size_t width, const uint32_t *slot, \
                     uint8_t *seen, T *values)                                                  \
    {                                                                                           \
        size_t at = 0;                                                                          \
        for (int i = 0; i < n; i++) {                                                           \
            if (!in[i] || in[i]->kind != VALUE_ROWS)                                            \
                continue;                                                                       \
            const T *from = in[i]->tensor.data;                                                 \
            for (size_t r = 0; r < in[i]->sel.nrows; r++, at++) {                               \
                T *to = values + slot[at] * width;                                              \
                if (seen[slot[at]])                                                             \
                    for (size_t c = 0; c < width; c++)                                          \
                        to[c] += from[r * width + c];                                           \
                else                                                                            \
                    memcpy(to, from + r * width, width * sizeof *to);                           \
                seen[slot[at]] = 1;                                                             \
            }                                                                                   \
        }                                                                                       \
    }
ROWS_ADD(rows_add_f32, float)
ROWS_ADD(rows_add_f64, double)

/* The only input that has rows, or NULL when there are several. */
static struct skiff_tensor *only_input(struct skiff_tensor *const *in, int n)
{
    struct skiff_tensor *only = NULL;
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->kind == VALUE_ROWS && in[i]->sel.nrows) {
            if (only)
                return NULL;
            only = in[i];
        }
    return only;
}

static struct rows_merged rows_as_they_are(const struct rows_merged *size,
                                           const struct skiff_tensor *v)
{
    struct rows_merged m = *size;
    m.ids = v->sel.rows;
    m.values = v->tensor.data;
    m.n = v->sel.nrows;
    return m;
}

enum skiff_status rows_merge(struct kernel *k, struct id_map *map, struct skiff_tensor *const *in,
                             int n, enum rows_order order, struct rows_merged *out,
                             struct skiff_error *err)
{
    size_t total;
    struct rows_merged m;
    TRY(inputs_check(k, in, n, &m, &total, err));
    if (total > UINT32_MAX)
        return kernel_fail(k, SKIFF_RANGE, err, "%zu rows at once", total);
    struct skiff_tensor *only = only_input(in, n);
    if (only && only->sel.distinct &&
        (order != ROWS_ASCENDING || ascending(only->sel.rows, total))) {
        *out = rows_as_they_are(&m, only);
        return SKIFF_OK;
    }
    void *ids, *slot, *seen, *values;
    TRY(kernel_scratch(k, 2 * total * sizeof(int64_t), &ids, err));
    TRY(kernel_scratch(k, total * sizeof(uint32_t), &slot, err));
    rows_scatter(map, in, n, total, ids, slot);
    size_t distinct = total ? map->count : 0;
    bool sort = order == ROWS_ASCENDING || (order == ROWS_AS_PADDLE && distinct < total);
    if (only && distinct == total && (!sort || ascending(only->sel.rows, total))) {
        *out = rows_as_they_are(&m, only);
        return SKIFF_OK;
    }
    if (sort)
        TRY(rows_arrange(k, ids, distinct, slot, total, err));
    TRY(kernel_scratch(k, distinct * (size_t)m.width * dtype_size(m.dtype), &values, err));
    TRY(kernel_scratch(k, distinct, &seen, err));
    memset(seen, 0, distinct);
    if (m.dtype == DTYPE_FP64)
        rows_add_f64(in, n, (size_t)m.width, slot, seen, values);
    else
        rows_add_f32(in, n, (size_t)m.width, slot, seen, values);
    m.ids = ids;
    m.values = values;
    m.n = distinct;
    *out = m;
    return SKIFF_OK;
}
