/* hash: any 64-bit ids, any number of them up to 2^32 - 1; records come and go. Records in pages,
 * an index beside them. */
#include <stdlib.h>

#include "base/mem.h"
#include "table/id_index.h"
#include "table/table.h"

struct hash {
    struct table t;
    struct pages records;
    struct id_index index;
};

static enum skiff_status hash_create(const struct table_options *o, struct table **out,
                                     struct skiff_error *err)
{
    if (o->rows)
        return error_set(err, SKIFF_INVALID, "a table of kind hash has no declared number of rows");
    struct hash *h = mem_must(sizeof *h);
    pages_init(&h->records, record_bytes(o->accessor->width), o->prepared, "records of a table");
    enum skiff_status status = id_index_init(&h->index, &h->records, err);
    if (status < 0) {
        free(h);
        return status;
    }
    *out = &h->t;
    return SKIFF_OK;
}

static void hash_destroy(struct table *t)
{
    struct hash *h = (struct hash *)t;
    id_index_deinit(&h->index);
    pages_deinit(&h->records);
    free(h);
}

static void hash_ahead(const struct table *t, const uint8_t *ids, size_t n, struct id_ahead *out)
{
    id_index_ahead(&((const struct hash *)t)->index, ids, n, out);
}

static void hash_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
                      struct id_ahead *ahead)
{
    id_index_near(&((const struct hash *)t)->index, n, span, ahead);
}

/* A record for an id that has none. */
static enum skiff_status make(struct hash *h, int64_t id, uint32_t *out, struct skiff_error *err)
{
    uint32_t place;
    TRY(pages_take(&h->records, &place, err));
    struct record *r = pages_at(&h->records, place);
    table_fill(&h->t, r, id);
    enum skiff_status status = id_index_add(&h->index, id, place, err);
    if (status < 0) {
        r->changed = RECORD_FREE;
        pages_give_back(&h->records, place);
        return status;
    }
    *out = place;
    return SKIFF_OK;
}

static enum skiff_status make_absent(struct hash *h, const uint8_t *ids, size_t n, unsigned how,
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
            TRY(make(h, id, &places[i], err));
            h->t.counts.admitted++;
        }
        out[i] = pages_at(&h->records, places[i]);
    }
    return SKIFF_OK;
}

static enum skiff_status hash_find(struct table *t, const struct id_ahead *ahead,
                                   const uint8_t *ids, size_t n, unsigned how, struct record **out,
                                   struct skiff_error *err)
{
    struct hash *h = (struct hash *)t;
    uint32_t places[TABLE_BLOCK];
    id_index_find_many(&h->index, ahead, ids, n, places, (void **)out);
    if (how & TABLE_MAKE)
        TRY(make_absent(h, ids, n, how, places, out, err));
    for (size_t i = 0; (how & TABLE_CHANGE) && i < n; i++)
        if (out[i])
            table_touch(t, out[i], places[i]);
    return SKIFF_OK;
}

static bool hash_remove(struct table *t, int64_t id)
{
    struct hash *h = (struct hash *)t;
    uint32_t place = id_index_find(&h->index, id);
    if (place == PAGES_NONE)
        return false;
    struct record *r = pages_at(&h->records, place);
    table_touch(t, r, place);
    id_index_remove(&h->index, id);
    r->changed = RECORD_FREE;
    pages_give_back(&h->records, place);
    return true;
}

static enum skiff_status hash_walk(struct table *t, struct table_cursor *at, size_t max,
                                   struct record **out, uint32_t *places, size_t *out_n,
                                   struct skiff_error *err)
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

static void hash_prepare(struct table *t)
{
    struct hash *h = (struct hash *)t;
    pages_prepare(&h->records);
    id_index_prepare(&h->index);
}

static size_t hash_count(const struct table *t)
{
    return ((const struct hash *)t)->index.count;
}

static size_t hash_bytes(const struct table *t)
{
    const struct hash *h = (const struct hash *)t;
    return sizeof *h + pages_bytes(&h->records) + id_index_bytes(&h->index);
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
