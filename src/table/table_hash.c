/* hash: any 64-bit ids, up to 2^32 - 1 records, which are created and removed. Records lie in pages
 * and never move; an index maps an id to its slot (id_index.h). The first half of the file is
 * shared with tiered, which has the same records in memory.
 *
 * With a limit, space is made before records are created, for a whole block at a time: a record
 * that a call has found is not evicted by the same call. Freed memory stays with the table, as free
 * slots. The owner is the only thread, except for hash_prepare. */
#include "table/table_hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LEAST_ROWS (4 * TABLE_BLOCK) /* the least number that a limit must hold */

/* ---- shared with tiered ---- */

size_t hash_held(const struct hash *h)
{
    return pages_bytes(&h->row_list) + id_index_bytes(&h->index) + leaving_bytes(&h->leaving);
}

/* Bytes that n more records would add. */
static size_t growth(const struct hash *h, size_t n)
{
    return pages_growth(&h->row_list, n) + id_index_growth(&h->index, n) +
           leaving_growth(&h->leaving, h->row_list.top + n);
}

static bool is_limited(const struct hash *h)
{
    return h->budget != SIZE_MAX;
}

static enum skiff_status check_limit(const struct hash *h, const struct table_options *o,
                                     struct skiff_error *err)
{
    size_t least = hash_held(h) + growth(h, LEAST_ROWS);
    if (o->limit.policy == TABLE_LOWEST && !o->accessor->class->score)
        return error_set(
            err, SKIFF_INVALID,
            "accessor %s has no score by which rows could be evicted at the table's limit; "
            "use eviction by age",
            o->accessor->class->name);
    if (h->budget < least)
        return error_set(err, SKIFF_INVALID,
                         "a limit of %zu bytes for a table whose rows take %zu: its part for rows "
                         "in memory is %zu, and must be at least %zu",
                         o->limit.bytes, h->row_list.stride, h->budget, least);
    return SKIFF_OK;
}

enum skiff_status hash_init(struct hash *h, const struct table_options *o, size_t budget,
                            struct skiff_error *err)
{
    pages_init(&h->row_list, row_bytes(o->accessor->width), o->prepared, "records of a table");
    leaving_init(&h->leaving);
    h->budget = budget;
    TRY(id_index_init(&h->index, &h->row_list, err));
    enum skiff_status status = is_limited(h) ? check_limit(h, o, err) : SKIFF_OK;
    if (status < 0)
        hash_deinit(h);
    return status;
}

void hash_deinit(struct hash *h)
{
    id_index_deinit(&h->index);
    pages_deinit(&h->row_list);
    leaving_deinit(&h->leaving);
}

void hash_prefetch(const struct table *t, const uint8_t *ids, size_t n, struct id_prefetch *out)
{
    id_index_prefetch(&((const struct hash *)t)->index, ids, n, out);
}

void hash_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
               struct id_prefetch *prefetch)
{
    id_index_near(&((const struct hash *)t)->index, n, span, prefetch);
}

bool hash_prepare(struct table *t)
{
    struct hash *h = (struct hash *)t;
    bool row_list = pages_prepare(&h->row_list);
    return id_index_prepare(&h->index) || row_list;
}

/* A free slot begins with the free list's link, which may equal the id, and so may the zeros of a
 * slot that was given up. */
size_t hash_find_here(const struct hash *h, const struct id_prefetch *prefetch, const uint8_t *ids,
                      size_t n, uint32_t *slots, struct table_row **out)
{
    size_t found = 0;
    id_index_find_many(&h->index, prefetch, ids, n, slots, (void **)out);
    for (size_t i = 0; i < n; i++) {
        if (is_limited(h) && out[i] &&
            (slots[i] >= h->row_list.top || out[i]->changed == ROW_FREE)) {
            slots[i] = id_index_find(&h->index, table_id_at(ids, i));
            out[i] = slots[i] == PAGES_NONE ? NULL : pages_at(&h->row_list, slots[i]);
        }
        found += out[i] != NULL;
    }
    return found;
}

enum skiff_status hash_insert(struct hash *h, int64_t id, const struct table_row *from,
                              uint8_t bits, uint32_t *out, struct skiff_error *err)
{
    uint32_t slot;
    TRY(pages_take(&h->row_list, &slot, err));
    struct table_row *r = pages_at(&h->row_list, slot);
    if (from)
        memcpy(r, from, h->t.stride);
    else
        table_fill(&h->t, r, id);
    enum skiff_status status =
        is_limited(h) ? leaving_come(&h->leaving, slot, bits, err) : SKIFF_OK;
    if (status == SKIFF_OK && (status = id_index_add(&h->index, id, slot, err)) == SKIFF_OK) {
        *out = slot;
        return SKIFF_OK;
    }
    if (is_limited(h) && slot / LEAVING_GROUP < h->leaving.flags.top)
        leaving_go(&h->leaving, slot);
    r->changed = ROW_FREE;
    pages_give_back(&h->row_list, slot);
    return status;
}

enum skiff_status hash_make_absent(struct hash *h, const uint8_t *ids, size_t n, unsigned how,
                                   uint32_t *slots, struct table_row **out, struct skiff_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        bool comes;
        if (out[i])
            continue;
        slots[i] = id_index_find(&h->index, id); /* it may have been added since the prefetch */
        if (slots[i] == PAGES_NONE) {
            TRY(table_admit(&h->t, id, how, &comes, err));
            if (!comes)
                continue;
            TRY(hash_insert(h, id, NULL, LEAVING_CHANGED, &slots[i], err));
            h->t.counts.admitted++;
        }
        out[i] = pages_at(&h->row_list, slots[i]);
    }
    return SKIFF_OK;
}

void hash_use(struct hash *h, size_t n, unsigned how, const uint32_t *slots,
              struct table_row *const *row_list)
{
    uint8_t bits = how & TABLE_CHANGE ? LEAVING_CHANGED : 0;
    for (size_t i = 0; is_limited(h) && i < n; i++)
        if (row_list[i])
            leaving_used(&h->leaving, slots[i], bits);
    for (size_t i = 0; (how & TABLE_CHANGE) && i < n; i++)
        if (row_list[i])
            table_touch(&h->t, row_list[i], slots[i]);
}

void hash_take_out(struct hash *h, uint32_t slot)
{
    struct table_row *r = pages_at(&h->row_list, slot);
    id_index_remove(&h->index, r->id);
    r->changed = ROW_FREE;
    pages_give_back(&h->row_list, slot);
    if (is_limited(h))
        leaving_go(&h->leaving, slot);
}

enum skiff_status hash_make_space(struct hash *h, size_t n, hash_leave_fn *leave,
                                  struct skiff_error *err)
{
    if (!is_limited(h) || h->row_list.nfree >= n || hash_held(h) + growth(h, n) <= h->budget)
        return SKIFF_OK;
    for (uint32_t empty = 0; h->row_list.nfree < n && empty <= h->leaving.flags.top;) {
        uint32_t slots[LEAVING_MANY];
        size_t going = leaving_choose(&h->leaving, h->t.accessor, h->t.options.limit.policy,
                                      &h->row_list, slots);
        for (size_t i = 0; i < going; i++)
            TRY(leave(h, slots[i], err));
        empty = going ? 0 : empty + 1;
    }
    return SKIFF_OK;
}

enum skiff_status hash_give_up(struct hash *h, uint32_t n, hash_leave_fn *leave,
                               struct skiff_error *err)
{
    uint32_t top = h->row_list.top > n ? h->row_list.top - n : 0;
    for (uint32_t slot = top; slot < h->row_list.top; slot++)
        if (((struct table_row *)pages_at(&h->row_list, slot))->changed != ROW_FREE)
            TRY(leave(h, slot, err));
    pages_cut(&h->row_list, top);
    return SKIFF_OK;
}

/* ---- hash ---- */

static enum skiff_status hash_create(const struct table_options *o, struct table **out,
                                     struct skiff_error *err)
{
    if (o->rows)
        return error_set(err, SKIFF_INVALID, "a table of kind hash has no declared number of rows");
    struct hash *h = mem_alloc_or_die(sizeof *h);
    enum skiff_status status = hash_init(h, o, table_budget(o), err);
    if (status < 0) {
        free(h);
        return status;
    }
    *out = &h->t;
    return SKIFF_OK;
}

static void hash_destroy(struct table *t)
{
    hash_deinit((struct hash *)t);
    free(t);
}

static void drop(struct hash *h, uint32_t slot)
{
    table_touch(&h->t, pages_at(&h->row_list, slot), slot);
    hash_take_out(h, slot);
}

static enum skiff_status drop_for_good(struct hash *h, uint32_t slot, struct skiff_error *err)
{
    int64_t id = ((struct table_row *)pages_at(&h->row_list, slot))->id;
    drop(h, slot);
    table_evicted(&h->t, id);
    return SKIFF_OK;
}

static enum skiff_status hash_find(struct table *t, const struct id_prefetch *prefetch,
                                   const uint8_t *ids, size_t n, unsigned how,
                                   struct table_row **out, struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    uint32_t slots[TABLE_BLOCK];
    if (how & TABLE_MAKE)
        TRY(hash_make_space(h, n, drop_for_good, err));
    hash_find_here(h, prefetch, ids, n, slots, out);
    if (how & TABLE_MAKE)
        TRY(hash_make_absent(h, ids, n, how, slots, out, err));
    hash_use(h, n, how, slots, out);
    return SKIFF_OK;
}

static enum skiff_status hash_remove(struct table *t, int64_t id, bool *out_was,
                                     struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    uint32_t slot = id_index_find(&h->index, id);
    *out_was = slot != PAGES_NONE;
    if (*out_was)
        drop(h, slot);
    return SKIFF_OK;
}

static enum skiff_status hash_walk(struct table *t, struct table_cursor *at, size_t max,
                                   unsigned how, struct table_row **out, uint32_t *slots,
                                   size_t *out_n, struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    size_t n = 0;
    for (; max && at->next < h->row_list.top; max--, at->next++) {
        struct table_row *r = pages_at(&h->row_list, (uint32_t)at->next);
        if (r->changed == ROW_FREE)
            continue;
        slots[n] = (uint32_t)at->next;
        out[n++] = r;
    }
    *out_n = n;
    return at->next < h->row_list.top ? SKIFF_OK : SKIFF_END;
}

static size_t hash_count(const struct table *t)
{
    return ((const struct hash *)t)->index.count;
}

static size_t hash_bytes(const struct table *t)
{
    const struct hash *h = (const struct hash *)t;
    return sizeof *h + hash_held(h);
}

const struct table_class table_hash = {
    .name = "hash",
    .create = hash_create,
    .destroy = hash_destroy,
    .prefetch = hash_prefetch,
    .near = hash_near,
    .find = hash_find,
    .remove = hash_remove,
    .walk = hash_walk,
    .prepare = hash_prepare,
    .count = hash_count,
    .bytes = hash_bytes,
};
