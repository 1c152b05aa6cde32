/* hash: any 64-bit ids, any number of them up to 2^32 - 1; records come and go. Records in pages,
 * an index beside them. With a limit, records are dropped at it. */
#include "table/table_hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LEAST_ROWS (4 * TABLE_BLOCK) /* that a limit must have room for */

/* ---- what tiered has, too ---- */

size_t hash_held(const struct hash *h)
{
    return pages_bytes(&h->records) + id_index_bytes(&h->index) + leaving_bytes(&h->leaving);
}

/* Bytes that n more records would add. */
static size_t growth(const struct hash *h, size_t n)
{
    return pages_growth(&h->records, n) + id_index_growth(&h->index, n) +
           leaving_growth(&h->leaving, h->records.top + n);
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
        return error_set(err, SKIFF_INVALID,
                         "accessor %s has no score that rows could leave by at the table's limit; "
                         "they can leave by age",
                         o->accessor->class->name);
    if (h->budget < least)
        return error_set(err, SKIFF_INVALID,
                         "a limit of %zu bytes for a table whose rows take %zu: its part for rows "
                         "in memory is %zu, and must be %zu at least",
                         o->limit.bytes, h->records.stride, h->budget, least);
    return SKIFF_OK;
}

enum skiff_status hash_init(struct hash *h, const struct table_options *o, size_t budget,
                            struct skiff_error *err)
{
    pages_init(&h->records, record_bytes(o->accessor->width), o->prepared, "records of a table");
    leaving_init(&h->leaving);
    h->budget = budget;
    TRY(id_index_init(&h->index, &h->records, err));
    enum skiff_status status = is_limited(h) ? check_limit(h, o, err) : SKIFF_OK;
    if (status < 0)
        hash_deinit(h);
    return status;
}

void hash_deinit(struct hash *h)
{
    id_index_deinit(&h->index);
    pages_deinit(&h->records);
    leaving_deinit(&h->leaving);
}

void hash_ahead(const struct table *t, const uint8_t *ids, size_t n, struct id_ahead *out)
{
    id_index_ahead(&((const struct hash *)t)->index, ids, n, out);
}

void hash_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
               struct id_ahead *ahead)
{
    id_index_near(&((const struct hash *)t)->index, n, span, ahead);
}

bool hash_prepare(struct table *t)
{
    struct hash *h = (struct hash *)t;
    bool records = pages_prepare(&h->records);
    return id_index_prepare(&h->index) || records;
}

/* A free place begins with numbers of the free list, which may look like the id, and so may the
 * zeros of one that was given up. */
size_t hash_find_here(const struct hash *h, const struct id_ahead *ahead, const uint8_t *ids,
                      size_t n, uint32_t *places, struct record **out)
{
    size_t found = 0;
    id_index_find_many(&h->index, ahead, ids, n, places, (void **)out);
    for (size_t i = 0; i < n; i++) {
        if (is_limited(h) && out[i] &&
            (places[i] >= h->records.top || out[i]->changed == RECORD_FREE)) {
            places[i] = id_index_find(&h->index, table_id_at(ids, i));
            out[i] = places[i] == PAGES_NONE ? NULL : pages_at(&h->records, places[i]);
        }
        found += out[i] != NULL;
    }
    return found;
}

enum skiff_status hash_make(struct hash *h, int64_t id, const struct record *from, uint8_t bits,
                            uint32_t *out, struct skiff_error *err)
{
    uint32_t place;
    TRY(pages_take(&h->records, &place, err));
    struct record *r = pages_at(&h->records, place);
    if (from)
        memcpy(r, from, h->t.stride);
    else
        table_fill(&h->t, r, id);
    enum skiff_status status =
        is_limited(h) ? leaving_come(&h->leaving, place, bits, err) : SKIFF_OK;
    if (status == SKIFF_OK && (status = id_index_add(&h->index, id, place, err)) == SKIFF_OK) {
        *out = place;
        return SKIFF_OK;
    }
    if (is_limited(h) && place / LEAVING_GROUP < h->leaving.flags.top)
        leaving_go(&h->leaving, place);
    r->changed = RECORD_FREE;
    pages_give_back(&h->records, place);
    return status;
}

enum skiff_status hash_make_absent(struct hash *h, const uint8_t *ids, size_t n, unsigned how,
                                   uint32_t *places, struct record **out, struct skiff_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        bool comes;
        if (out[i])
            continue;
        places[i] = id_index_find(&h->index, id); /* it may have come in since ahead */
        if (places[i] == PAGES_NONE) {
            TRY(table_admit(&h->t, id, how, &comes, err));
            if (!comes)
                continue;
            TRY(hash_make(h, id, NULL, LEAVING_CHANGED, &places[i], err));
            h->t.counts.admitted++;
        }
        out[i] = pages_at(&h->records, places[i]);
    }
    return SKIFF_OK;
}

void hash_use(struct hash *h, size_t n, unsigned how, const uint32_t *places,
              struct record *const *records)
{
    uint8_t bits = how & TABLE_CHANGE ? LEAVING_CHANGED : 0;
    for (size_t i = 0; is_limited(h) && i < n; i++)
        if (records[i])
            leaving_used(&h->leaving, places[i], bits);
    for (size_t i = 0; (how & TABLE_CHANGE) && i < n; i++)
        if (records[i])
            table_touch(&h->t, records[i], places[i]);
}

void hash_take_out(struct hash *h, uint32_t place)
{
    struct record *r = pages_at(&h->records, place);
    id_index_remove(&h->index, r->id);
    r->changed = RECORD_FREE;
    pages_give_back(&h->records, place);
    if (is_limited(h))
        leaving_go(&h->leaving, place);
}

enum skiff_status hash_make_room(struct hash *h, size_t n, hash_leave_fn *leave,
                                 struct skiff_error *err)
{
    if (!is_limited(h) || h->t.held || h->records.nfree >= n ||
        hash_held(h) + growth(h, n) <= h->budget)
        return SKIFF_OK;
    for (uint32_t empty = 0; h->records.nfree < n && empty <= h->leaving.flags.top;) {
        uint32_t places[LEAVING_MANY];
        size_t going = leaving_choose(&h->leaving, h->t.accessor, h->t.options.limit.policy,
                                      &h->records, places);
        for (size_t i = 0; i < going; i++)
            TRY(leave(h, places[i], err));
        empty = going ? 0 : empty + 1;
    }
    return SKIFF_OK;
}

enum skiff_status hash_give_up(struct hash *h, uint32_t n, hash_leave_fn *leave,
                               struct skiff_error *err)
{
    uint32_t top = h->records.top > n ? h->records.top - n : 0;
    for (uint32_t place = top; place < h->records.top; place++)
        if (((struct record *)pages_at(&h->records, place))->changed != RECORD_FREE)
            TRY(leave(h, place, err));
    pages_cut(&h->records, top);
    return SKIFF_OK;
}

/* ---- hash ---- */

static enum skiff_status hash_create(const struct table_options *o, struct table **out,
                                     struct skiff_error *err)
{
    if (o->rows)
        return error_set(err, SKIFF_INVALID, "a table of kind hash has no declared number of rows");
    struct hash *h = mem_must(sizeof *h);
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

static void drop(struct hash *h, uint32_t place)
{
    table_touch(&h->t, pages_at(&h->records, place), place);
    hash_take_out(h, place);
}

static enum skiff_status drop_for_good(struct hash *h, uint32_t place, struct skiff_error *err)
{
    int64_t id = ((struct record *)pages_at(&h->records, place))->id;
    drop(h, place);
    table_evicted(&h->t, id);
    return SKIFF_OK;
}

static enum skiff_status hash_find(struct table *t, const struct id_ahead *ahead,
                                   const uint8_t *ids, size_t n, unsigned how, struct record **out,
                                   struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    uint32_t places[TABLE_BLOCK];
    if (how & TABLE_MAKE)
        TRY(hash_make_room(h, n, drop_for_good, err));
    hash_find_here(h, ahead, ids, n, places, out);
    if (how & TABLE_MAKE)
        TRY(hash_make_absent(h, ids, n, how, places, out, err));
    hash_use(h, n, how, places, out);
    return SKIFF_OK;
}

static enum skiff_status hash_remove(struct table *t, int64_t id, bool *out_was,
                                     struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    uint32_t place = id_index_find(&h->index, id);
    *out_was = place != PAGES_NONE;
    if (*out_was)
        drop(h, place);
    return SKIFF_OK;
}

static enum skiff_status hash_walk(struct table *t, struct table_cursor *at, size_t max,
                                   unsigned how, struct record **out, uint32_t *places,
                                   size_t *out_n, struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    size_t n = 0;
    for (; max && at->next < h->records.top; max--, at->next++) {
        struct record *r = pages_at(&h->records, (uint32_t)at->next);
        if (r->changed == RECORD_FREE)
            continue;
        places[n] = (uint32_t)at->next;
        out[n++] = r;
    }
    *out_n = n;
    return at->next < h->records.top ? SKIFF_OK : SKIFF_END;
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
    .ahead = hash_ahead,
    .near = hash_near,
    .find = hash_find,
    .remove = hash_remove,
    .walk = hash_walk,
    .prepare = hash_prepare,
    .count = hash_count,
    .bytes = hash_bytes,
};
