/* merge_by_lineid: samples with the same line id become one.
 *
 * Of every slot at most one of them may have values (other than 0); the merged sample has these. A
 * group that is not of the wanted size, or in which two samples have values for the same slot, is
 * dropped and counted, as in Paddle. The order is that of the groups' first samples. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/dataset_parts.h"
#include "data/record.h"

struct keyed {
    uint64_t key;
    size_t at;
};

struct group {
    size_t first; /* position of its first sample */
    size_t from, count;
};

uint64_t sample_line_id(const char *sample)
{
    uint64_t id; /* the last slot, see dataset_create */
    memcpy(&id, sample + 4 + sample_bytes(sample) - sizeof id, sizeof id);
    return id;
}

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Values of a column in one row. */
static const char *row_values(const struct column *c, int64_t row, size_t *bytes)
{
    size_t from = c->ragged ? (size_t)c->offsets[row] : (size_t)row * c->width;
    size_t count = c->ragged ? (size_t)(c->offsets[row + 1] - c->offsets[row]) : c->width;
    *bytes = count * dtype_size(c->dtype);
    return (const char *)c->data + from * dtype_size(c->dtype);
}

static bool row_is_empty(const struct column *c, int64_t row)
{
    size_t bytes;
    const char *p = row_values(c, row, &bytes);
    for (size_t i = 0; i < bytes; i++)
        if (p[i])
            return false;
    return true;
}

/* The row whose values a slot gets; -1: two rows have some. */
static int64_t row_with_values(const struct batch *b, int slot)
{
    int64_t found = -1;
    for (int64_t row = 0; row < b->rows; row++)
        if (!row_is_empty(&b->columns[slot], row)) {
            if (found >= 0)
                return -1;
            found = row;
        }
    return found < 0 ? 0 : found;
}

/* The merged record of all rows of the batch; false: it is dropped. */
static bool merge_rows(const struct batch *b, struct buf *out)
{
    int slots = b->schema->count;
    buf_reset(out);
    for (int i = 0; i < slots; i++) {
        const struct column *c = &b->columns[i];
        int64_t row = i == slots - 1 ? 0 : row_with_values(b, i);
        size_t bytes;
        if (row < 0)
            return false;
        const char *p = row_values(c, row, &bytes);
        uint32_t count = (uint32_t)(bytes / dtype_size(c->dtype));
        if (c->ragged)
            buf_add(out, &count, sizeof count);
        buf_add(out, p, bytes);
    }
    return true;
}

static enum skiff_status merge_group(struct dataset *d, const struct keyed *members, size_t count,
                                     struct sample_store *merged, struct buf *record,
                                     struct skiff_error *err)
{
    int64_t size = d->config.merge_size;
    if (size > 0 && count != (size_t)size) {
        d->merge_dropped += (int64_t)count;
        return SKIFF_OK;
    }
    struct batch rows;
    TRY(batch_init(&rows, &d->schema, (int64_t)count, err));
    enum skiff_status status = batch_reset(&rows, err);
    for (size_t i = 0; status == SKIFF_OK && i < count; i++) {
        const char *p = d->store.samples[members[i].at];
        status = record_read(p + 4, sample_bytes(p), &rows, err);
    }
    if (status == SKIFF_OK && merge_rows(&rows, record))
        status = store_add_bytes(merged, record->data, record->len, err);
    else if (status == SKIFF_OK)
        d->merge_dropped += (int64_t)count;
    batch_deinit(&rows);
    return status;
}

static size_t find_groups(const struct dataset *d, struct keyed *keys, struct group *groups)
{
    size_t n = d->store.count, found = 0;
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct keyed){sample_line_id(d->store.samples[i]), i};
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && keys[end].key == keys[i].key;)
            end++;
        groups[found++] = (struct group){keys[i].at, i, end - i};
    }
    qsort(groups, found, sizeof *groups, by_first);
    return found;
}

enum skiff_status memory_merge(struct dataset *d, struct skiff_error *err)
{
    size_t n = d->store.count;
    if (n == 0)
        return SKIFF_OK;
    void *keys = NULL, *groups = NULL;
    struct sample_store merged;
    struct buf record = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    store_init(&merged);
    d->merge_dropped = 0;
    TRY_OUT(mem_alloc(n * sizeof(struct keyed), "merge_by_lineid", &keys, err));
    TRY_OUT(mem_alloc(n * sizeof(struct group), "merge_by_lineid", &groups, err));
    size_t count = find_groups(d, keys, groups);
    const struct group *g = groups;
    for (size_t i = 0; i < count; i++)
        TRY_OUT(
            merge_group(d, (struct keyed *)keys + g[i].from, g[i].count, &merged, &record, err));
    store_deinit(&d->store);
    d->store = merged;
    store_init(&merged);
out:
    store_deinit(&merged);
    mem_free(keys);
    mem_free(groups);
    buf_deinit(&record);
    return status;
}

int64_t dataset_merge_dropped(const struct dataset *d)
{
    return d->merge_dropped;
}
