#include "table/row_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define AHEAD 8 /* slots are fetched this many ids ahead */

struct slot {
    int64_t id;
    uint64_t row; /* + 1; 0: empty */
};

struct row_index {
    struct slot *slots;
    int bits;     /* log2 of the number of slots */
    int64_t *ids; /* by row */
    size_t count, cap;
};

struct row_index *row_index_create(void)
{
    return mem_must(sizeof(struct row_index));
}

void row_index_destroy(struct row_index *t)
{
    if (!t)
        return;
    mem_free(t->slots);
    mem_free(t->ids);
    free(t);
}

size_t row_index_count(const struct row_index *t)
{
    return t->count;
}

const int64_t *row_index_ids(const struct row_index *t)
{
    return t->ids;
}

static inline size_t slot_of(const struct row_index *t, int64_t id)
{
    return (size_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - t->bits));
}

/* The slot of the id, or the empty one where it would be. */
static inline struct slot *probe(const struct row_index *t, int64_t id)
{
    size_t mask = ((size_t)1 << t->bits) - 1, at = slot_of(t, id);
    while (t->slots[at].row && t->slots[at].id != id)
        at = (at + 1) & mask;
    return &t->slots[at];
}

int64_t row_index_find(const struct row_index *t, int64_t id)
{
    return t->slots ? (int64_t)probe(t, id)->row - 1 : -1;
}

static enum skiff_status grow_slots(struct row_index *t, int bits, struct skiff_error *err)
{
    struct slot *old = t->slots;
    void *slots;
    size_t bytes = sizeof(struct slot) << bits;
    TRY(mem_alloc(bytes, "a table's map of ids", &slots, err));
    memset(slots, 0, bytes);
    t->slots = slots;
    t->bits = bits;
    for (size_t i = 0; i < t->count; i++)
        *probe(t, t->ids[i]) = (struct slot){t->ids[i], i + 1};
    mem_free(old);
    return SKIFF_OK;
}

static enum skiff_status grow_ids(struct row_index *t, size_t need, struct skiff_error *err)
{
    void *ids;
    size_t cap = t->cap * 2 > need ? t->cap * 2 : need;
    TRY(mem_alloc(cap * sizeof *t->ids, "a table's list of ids", &ids, err));
    if (t->count)
        memcpy(ids, t->ids, t->count * sizeof *t->ids);
    mem_free(t->ids);
    t->ids = ids;
    t->cap = cap;
    return SKIFF_OK;
}

/* Room for n more ids: at most half of the slots are taken. */
static enum skiff_status reserve(struct row_index *t, size_t n, struct skiff_error *err)
{
    size_t need = t->count + n;
    int bits = t->slots ? t->bits : 10;
    if (need > SIZE_MAX / 64)
        return error_set(err, SKIFF_NOMEM, "a table cannot hold %zu ids", need);
    while (((size_t)1 << bits) < 2 * need)
        bits++;
    if (need > t->cap)
        TRY(grow_ids(t, need, err));
    if (!t->slots || bits != t->bits)
        TRY(grow_slots(t, bits, err));
    return SKIFF_OK;
}

static inline int64_t id_at(const uint8_t *ids, size_t i)
{
    int64_t id;
    memcpy(&id, ids + 8 * i, sizeof id);
    return id;
}

enum skiff_status row_index_rows(struct row_index *t, const uint8_t *ids, size_t n, int64_t *rows,
                                 size_t *out_first, struct skiff_error *err)
{
    size_t absent = 0;
    *out_first = t->count;
    if (!t->slots)
        TRY(reserve(t, n, err));
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&t->slots[slot_of(t, id_at(ids, i + AHEAD))]);
        rows[i] = (int64_t)probe(t, id_at(ids, i))->row - 1;
        absent += rows[i] < 0;
    }
    if (!absent)
        return SKIFF_OK;
    TRY(reserve(t, absent, err));
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= 0)
            continue;
        struct slot *slot = probe(t, id_at(ids, i));
        if (!slot->row) { /* it may stand twice in the list */
            t->ids[t->count++] = id_at(ids, i);
            *slot = (struct slot){id_at(ids, i), t->count};
        }
        rows[i] = (int64_t)slot->row - 1;
    }
    return SKIFF_OK;
}
