/* array: a declared number of rows, ids 0 .. rows - 1; all of them exist from the start and stay. A
 * record's slot is its id. Records get their initial values, which are a function of the id, a
 * piece of them at a time when one of the piece is first used: a table of which only a part is used
 * costs only that part. */
#include <stdlib.h>

#include "base/mem.h"
#include "table/pages.h"
#include "table/table.h"

#define PIECE_BITS 9 /* records that are initialized together */
#define PIECE ((int64_t)1 << PIECE_BITS)
#define MAX_ROWS ((int64_t)UINT32_MAX)
#define GRANULE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)8 << 20) /* bytes of all records */

struct array_table {
    struct table t;
    int64_t rows;
    char **page; /* PAGE_SLOTS records each; NULL: not used yet */
    size_t npages;
    uint64_t *made;     /* a bit for each piece */
    uint64_t *granules; /* large tables: a bit for each huge page that is held */
    size_t held;        /* bytes of records */
};

static size_t made_bytes(const struct array_table *a)
{
    return (size_t)((a->rows - 1) / PIECE / 64 + 1) * sizeof *a->made;
}

static size_t all_bytes(const struct array_table *a, const struct accessor *accessor)
{
    return (size_t)a->rows * row_bytes(accessor->width);
}

static size_t granules_bytes(const struct array_table *a, const struct accessor *accessor)
{
    return (all_bytes(a, accessor) / GRANULE / 64 + 1) * sizeof *a->granules;
}

static enum skiff_status array_create(const struct table_options *o, struct table **out,
                                      struct skiff_error *err)
{
    if (o->rows < 1 || o->rows > MAX_ROWS)
        return error_set(err, SKIFF_INVALID, "a table of kind array needs 1 to %lld rows, not %lld",
                         (long long)MAX_ROWS, (long long)o->rows);
    if (o->admission.kind == ADMISSION_COUNT || o->admission.kind == ADMISSION_PROBABILITY)
        return error_set(err, SKIFF_INVALID,
                         "a table of %lld declared rows has no admission: all its rows exist; "
                         "use kind hash",
                         (long long)o->rows);
    if (o->limit.bytes)
        return error_set(
            err, SKIFF_INVALID,
            "a table of %lld declared rows has no limit: its rows cannot be evicted; use "
            "kind hash or tiered",
            (long long)o->rows);
    struct array_table *a = mem_alloc_or_die(sizeof *a);
    a->rows = o->rows;
    a->npages = (size_t)((o->rows - 1) >> PAGE_BITS) + 1;
    a->page = mem_alloc_or_die(a->npages * sizeof *a->page);
    a->made = mem_alloc_or_die(made_bytes(a));
    if (all_bytes(a, o->accessor) >= HUGE_FROM)
        a->granules = mem_alloc_or_die(granules_bytes(a, o->accessor));
    *out = &a->t;
    return SKIFF_OK;
}

static size_t page_bytes(const struct array_table *a)
{
    return a->t.stride << PAGE_BITS;
}

static void array_destroy(struct table *t)
{
    struct array_table *a = (struct array_table *)t;
    for (size_t i = 0; i < a->npages; i++)
        mem_unmap(a->page[i], page_bytes(a));
    mem_unclaim(a->held);
    free(a->page);
    free(a->made);
    free(a->granules);
    free(a);
}

static inline bool is_made(const struct array_table *a, int64_t id)
{
    int64_t piece = id >> PIECE_BITS;
    return a->made[piece / 64] >> (piece % 64) & 1;
}

static inline struct table_row *row_at(const struct array_table *a, int64_t id)
{
    return (struct table_row *)(void *)(a->page[id >> PAGE_BITS] +
                                        (size_t)(id & (PAGE_SLOTS - 1)) * a->t.stride);
}

/* Memory of a large table is claimed in huge pages, of a small one by the record. */
static enum skiff_status claim(struct array_table *a, size_t first, size_t bytes,
                               struct skiff_error *err)
{
    if (!a->granules) {
        TRY(mem_claim(bytes, "records of a table", err));
        a->held += bytes;
        return SKIFF_OK;
    }
    for (size_t g = first / GRANULE; g <= (first + bytes - 1) / GRANULE; g++) {
        if (a->granules[g / 64] >> (g % 64) & 1)
            continue;
        TRY(mem_claim(GRANULE, "records of a table", err));
        a->held += GRANULE;
        a->granules[g / 64] |= UINT64_C(1) << (g % 64);
    }
    return SKIFF_OK;
}

static enum skiff_status make_piece(struct array_table *a, int64_t id, struct skiff_error *err)
{
    int64_t first = id & ~(PIECE - 1), end = first + PIECE < a->rows ? first + PIECE : a->rows;
    size_t bytes = (size_t)(end - first) * a->t.stride, page = (size_t)(id >> PAGE_BITS);
    void *fresh = a->page[page];
    if (!fresh)
        TRY(mem_map(page_bytes(a), a->granules ? 0 : page_bytes(a), "records of a table", &fresh,
                    err));
    a->page[page] = fresh;
    TRY(claim(a, (size_t)first * a->t.stride, bytes, err));
    for (int64_t i = first; i < end; i++) {
        struct table_row *r = row_at(a, i);
        table_fill(&a->t, r, i);
        r->changed = 1; /* they exist from the start */
    }
    a->made[(id >> PIECE_BITS) / 64] |= UINT64_C(1) << ((id >> PIECE_BITS) % 64);
    return SKIFF_OK;
}

/* A record's slot is known at once: one step is enough. */
static void array_prefetch(const struct table *t, const uint8_t *ids, size_t n,
                           struct id_prefetch *out)
{
}

static void array_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
                       struct id_prefetch *prefetch)
{
    const struct array_table *a = (const struct array_table *)t;
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        if (id < 0 || id >= a->rows || !is_made(a, id))
            continue;
        const char *p = (const char *)row_at(a, id), *last = p + span - 1;
        for (; p < last; p += 64)
            __builtin_prefetch(p, 0, 2);
        __builtin_prefetch(last, 0, 2);
    }
}

static enum skiff_status array_find(struct table *t, const struct id_prefetch *prefetch,
                                    const uint8_t *ids, size_t n, unsigned how,
                                    struct table_row **out, struct skiff_error *err)
{
    struct array_table *a = (struct array_table *)t;
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        if (id < 0 || id >= a->rows)
            return error_set(err, SKIFF_RANGE, "id %lld of a table of %lld rows", (long long)id,
                             (long long)a->rows);
        if (!is_made(a, id))
            TRY(make_piece(a, id, err));
        out[i] = row_at(a, id);
    }
    for (size_t i = 0; (how & TABLE_CHANGE) && i < n; i++)
        table_touch(t, out[i], (uint32_t)out[i]->id);
    return SKIFF_OK;
}

static enum skiff_status array_walk(struct table *t, struct table_cursor *at, size_t max,
                                    unsigned how, struct table_row **out, uint32_t *slots,
                                    size_t *out_n, struct skiff_error *err)
{
    struct array_table *a = (struct array_table *)t;
    size_t n = 0;
    for (; n < max && at->next < (uint64_t)a->rows; n++, at->next++) {
        int64_t id = (int64_t)at->next;
        if (!is_made(a, id))
            TRY(make_piece(a, id, err));
        slots[n] = (uint32_t)id;
        out[n] = row_at(a, id);
    }
    *out_n = n;
    return at->next < (uint64_t)a->rows ? SKIFF_OK : SKIFF_END;
}

static bool array_prepare(struct table *t)
{
    return false;
}

static size_t array_count(const struct table *t)
{
    return (size_t)((const struct array_table *)t)->rows;
}

static size_t array_bytes(const struct table *t)
{
    const struct array_table *a = (const struct array_table *)t;
    return sizeof *a + a->npages * sizeof *a->page + made_bytes(a) + a->held +
           (a->granules ? granules_bytes(a, t->accessor) : 0);
}

const struct table_class table_array = {
    .name = "array",
    .fixed = true,
    .create = array_create,
    .destroy = array_destroy,
    .prefetch = array_prefetch,
    .near = array_near,
    .find = array_find,
    .walk = array_walk,
    .prepare = array_prepare,
    .count = array_count,
    .bytes = array_bytes,
};
