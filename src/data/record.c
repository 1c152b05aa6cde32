/* Samples as bytes, and back into batches (record.h).
 *
 * Reading checks every count against the bytes that are left: records come from files and from
 * other workers. Zeros are dropped here, where Paddle's InMemoryDataset drops them, and a slot that
 * loses all its values keeps one 0. */
#include "data/record.h"

#include <math.h>
#include <string.h>

#define SMALL 1e-6f

static size_t value_size(const struct column *c)
{
    return c->dtype == DTYPE_FP32 ? 4 : 8;
}

size_t record_bytes(const struct batch *b, int64_t row)
{
    size_t n = 0;
    for (int i = 0; i < b->schema->count; i++) {
        const struct column *c = &b->columns[i];
        size_t values = c->ragged ? (size_t)(c->offsets[row + 1] - c->offsets[row]) : c->width;
        n += values * value_size(c) + (c->ragged ? 4 : 0);
    }
    return n;
}

static char *put_u32(char *out, uint32_t v)
{
    memcpy(out, &v, 4);
    return out + 4;
}

static bool is_zero(const struct column *c, size_t at)
{
    return c->dtype == DTYPE_FP32 ? fabsf(c->f32[at]) < SMALL : c->i64[at] == 0;
}

/* Values from..to of a ragged column without zeros; the one 0 that an empty slot keeps. */
static char *put_nonzero(const struct column *c, size_t from, size_t to, char *out)
{
    size_t size = value_size(c), kept = 0;
    char *count_at = out;
    out += 4;
    for (size_t k = from; k < to; k++) {
        if (is_zero(c, k))
            continue;
        memcpy(out, (const char *)c->data + k * size, size);
        out += size;
        kept++;
    }
    if (kept == 0) {
        memset(out, 0, size);
        out += size;
        kept = 1;
    }
    put_u32(count_at, (uint32_t)kept);
    return out;
}

size_t record_write(const struct batch *b, int64_t row, bool drop_zeros, char *out)
{
    char *start = out;
    for (int i = 0; i < b->schema->count; i++) {
        const struct column *c = &b->columns[i];
        size_t size = value_size(c), from = (size_t)row * c->width, values = c->width;
        if (c->ragged) {
            from = (size_t)c->offsets[row];
            values = (size_t)c->offsets[row + 1] - from;
            if (drop_zeros && !c->keep_zeros) {
                out = put_nonzero(c, from, from + values, out);
                continue;
            }
            out = put_u32(out, (uint32_t)values);
        }
        memcpy(out, (const char *)c->data + from * size, values * size);
        out += values * size;
    }
    return (size_t)(out - start);
}

/* Where the values of a slot begin and how many there are; moves *p behind them. False when the
 * record is too short. */
static inline bool next_slot(const struct column *c, const char **p, const char *end,
                             const char **values, size_t *count)
{
    size_t n = c->width;
    if (c->ragged) {
        uint32_t v;
        if (end - *p < 4)
            return false;
        memcpy(&v, *p, 4);
        *p += 4;
        n = v;
    }
    if ((size_t)(end - *p) / value_size(c) < n)
        return false;
    *values = *p;
    *count = n;
    *p += n * value_size(c);
    return true;
}

static inline bool put_values(struct batch *b, struct column *c, const char *values, size_t n)
{
    size_t size = value_size(c), at = (size_t)b->rows * c->width;
    if (c->ragged) {
        if (!column_reserve(c, n))
            return false;
        at = c->count;
        c->count += n;
    }
    char *to = (char *)c->data + at * size;
    if (n == 1 && size == 8) /* nearly all ids */
        memcpy(to, values, 8);
    else
        memcpy(to, values, n * size);
    return true;
}

enum skiff_status record_read_mixed(const char *p, size_t n, const char *q, size_t qn,
                                    const bool *mask, struct batch *b, struct skiff_error *err)
{
    const char *end = p + n, *q_end = q ? q + qn : NULL;
    for (int i = 0; i < b->schema->count; i++) {
        struct column *c = &b->columns[i];
        const char *values = NULL, *other = NULL;
        size_t count = 0, other_count = 0;
        bool ok = next_slot(c, &p, end, &values, &count) &&
                  (!q || next_slot(c, &q, q_end, &other, &other_count));
        if (!ok) {
            batch_row_abort(b);
            return error_set(err, SKIFF_FORMAT, "a record of %zu bytes ends inside slot \"%s\"", n,
                             b->schema->slots[i].name);
        }
        if (q && mask[i]) {
            values = other;
            count = other_count;
        }
        if (!put_values(b, c, values, count)) {
            batch_row_abort(b);
            return error_set(err, SKIFF_NOMEM, "no memory for %zu values of slot \"%s\"", count,
                             b->schema->slots[i].name);
        }
    }
    if (p != end || q != q_end) {
        batch_row_abort(b);
        return error_set(err, SKIFF_FORMAT, "a record of %zu bytes has bytes behind its last slot",
                         n);
    }
    return batch_row_end(b, err);
}

enum skiff_status record_read(const char *p, size_t n, struct batch *b, struct skiff_error *err)
{
    return record_read_mixed(p, n, NULL, 0, NULL, b, err);
}
