/* tiered: like hash, but rows that do not fit in memory are on disk.
 *
 *     find: memory -> in flight (traffic.h) -> disk; a row that is found is brought to memory,
 *           others leave for it (leaving.h), and are written if they differ from the copy on disk
 *     walk: by position (id_index.h): the rows of a bucket in memory together with those on disk
 *           in the same range, so that every row is visited once, wherever it is
 *
 * Rows of a walk that are on disk are staged: copies that the caller may change, written back
 * before anything else is done with the table. They do not push others out of memory.
 *
 * The disk's copy of a row in memory is outdated, or the same; leaving.h's bits tell which. The
 * database is scratch: the table's saves are the durable copy. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/disk.h"
#include "table/table_hash.h"
#include "table/traffic.h"

/* Of the limit, one byte in this many is for rows that are prefetched, and for rows that RocksDB
 * has not written yet. */
#define AHEAD_SHARE 16
#define DISK_SHARE 8
#define LEAST_AHEAD (32 * DISK_MANY)
#define FIT_EVERY 1024 /* rows that leave between two checks of RocksDB's memory */

struct tiered {
    struct hash h;
    struct disk *disk;
    struct traffic *traffic;
    struct table_row *one; /* space for one row */
    uint64_t disk_rows;    /* that are not in memory */
    uint64_t hits, misses, fetched, waited, spilled;
    size_t most;        /* bytes of rows in memory, together with RocksDB's */
    uint64_t fit_again; /* number of spilled rows at which to check again */
    /* a walk */
    struct disk_iterator *iterator; /* NULL: something was sent to disk since it was made */
    char *visiting, *before;        /* TABLE_BLOCK records each; before: as they are on disk */
    size_t nguests;
    bool visiting_change;
};

static enum skiff_status tiered_create(const struct table_options *o, struct table **out,
                                       struct skiff_error *err)
{
    size_t stride = row_bytes(o->accessor->width), budget = table_budget(o);
    if (o->rows)
        return error_set(err, SKIFF_INVALID,
                         "a table of kind tiered has no declared number of rows");
    if (!o->limit.bytes || !o->folder)
        return error_set(err, SKIFF_INVALID,
                         "a table of kind tiered needs a limit for memory and a folder for the "
                         "rows beyond it");
    struct tiered *d = mem_alloc_or_die(sizeof *d);
    size_t prefetch = o->limit.bytes / AHEAD_SHARE, rows = prefetch / (stride + 32);
    enum skiff_status status = hash_init(&d->h, o, budget - prefetch, err);
    if (status < 0) {
        free(d);
        return status;
    }
    d->most = d->h.budget;
    d->one = mem_alloc_or_die(stride);
    status = disk_open(o->folder, stride, o->limit.bytes / DISK_SHARE, &d->disk, err);
    if (status == SKIFF_OK)
        status = traffic_create(d->disk, stride, rows > LEAST_AHEAD ? rows : LEAST_AHEAD,
                                &d->traffic, err);
    if (status < 0) {
        disk_close(d->disk);
        hash_deinit(&d->h);
        free(d->one);
        free(d);
        return status;
    }
    *out = &d->h.t;
    return SKIFF_OK;
}

static void tiered_destroy(struct table *t)
{
    struct tiered *d = (struct tiered *)t;
    disk_iterator_destroy(d->iterator);
    traffic_destroy(d->traffic);
    disk_close(d->disk);
    hash_deinit(&d->h);
    free(d->one);
    free(d->visiting);
    free(d->before);
    free(d);
}

/* ---- leaving memory ---- */

static void drop_iterator(struct tiered *d)
{
    disk_iterator_destroy(d->iterator);
    d->iterator = NULL;
}

static enum skiff_status send(struct tiered *d, const struct table_row *r, struct skiff_error *err)
{
    drop_iterator(d);
    return traffic_send(d->traffic, r, err);
}

static enum skiff_status spill(struct hash *h, uint32_t slot, struct skiff_error *err)
{
    struct tiered *d = (struct tiered *)h;
    if (*leaving_flags(&h->leaving, slot) & LEAVING_CHANGED)
        TRY(send(d, pages_at(&h->row_list, slot), err));
    hash_take_out(h, slot);
    d->disk_rows++;
    d->spilled++;
    return SKIFF_OK;
}

/* RocksDB's memory for finding rows grows with their number on disk (a hundredth of their bytes):
 * the memory for rows is reduced by that, a few rows at a time, down to half of its size. */
static enum skiff_status fit(struct tiered *d, struct skiff_error *err)
{
    if (d->spilled < d->fit_again)
        return SKIFF_OK;
    size_t taken = disk_memory(d->disk), half = d->most / 2;
    size_t budget = d->most - (taken < half ? taken : half);
    d->fit_again = d->spilled + FIT_EVERY;
    if (budget < d->h.budget) /* it goes up and down: the peak will occur again */
        d->h.budget = budget;
    return hash_held(&d->h) > d->h.budget ? hash_give_up(&d->h, FIT_EVERY, spill, err) : SKIFF_OK;
}

/* Writes the staged rows of a walk that were changed to disk. */
static enum skiff_status finish_visiting(struct tiered *d, struct skiff_error *err)
{
    size_t stride = d->h.t.stride;
    for (; d->nguests; d->nguests--) {
        const char *now = d->visiting + (d->nguests - 1) * stride;
        const struct table_row *r = (const struct table_row *)(const void *)now;
        if (!d->visiting_change || r->changed == ROW_FREE ||
            !memcmp(now, d->before + (d->nguests - 1) * stride, stride))
            continue;
        TRY(send(d, r, err));
    }
    return SKIFF_OK;
}

/* ---- bringing rows to memory ---- */

static enum skiff_status bring(struct tiered *d, const struct table_row *r, unsigned how,
                               uint8_t bits, uint32_t *slot, struct table_row **out,
                               struct skiff_error *err)
{
    if (how & TABLE_CHANGE)
        leaving_regret(&d->h.leaving);
    TRY(hash_insert(&d->h, r->id, r, bits, slot, err));
    *out = pages_at(&d->h.row_list, *slot);
    d->disk_rows--;
    d->misses++;
    return SKIFF_OK;
}

/* Handles ids that are in memory by now, or in flight. The indexes of the others, which only the
 * disk may have, are recorded; of repeated ids, only the first. */
static enum skiff_status bring_known(struct tiered *d, const uint8_t *ids, size_t n, unsigned how,
                                     uint32_t *slots, struct table_row **out, size_t *unknown,
                                     size_t *nunknown, struct skiff_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        enum traffic_found found;
        if (out[i])
            continue;
        slots[i] = id_index_find(&d->h.index, id);
        if (slots[i] != PAGES_NONE) {
            out[i] = pages_at(&d->h.row_list, slots[i]);
            continue;
        }
        TRY(traffic_take(d->traffic, id, how & TABLE_MAKE, d->one, &found, err));
        if (found == TRAFFIC_ASK_DISK)
            unknown[(*nunknown)++] = i;
        else if (found != TRAFFIC_NO_ROW) {
            uint8_t bits = LEAVING_ON_DISK | (found == TRAFFIC_BACK ? LEAVING_CHANGED : 0);
            TRY(bring(d, d->one, how, bits, &slots[i], &out[i], err));
            d->fetched++;
        }
    }
    return SKIFF_OK;
}

static enum skiff_status bring_read(struct tiered *d, const uint8_t *ids, unsigned how,
                                    uint32_t *slots, struct table_row **out, const size_t *unknown,
                                    size_t n, struct skiff_error *err)
{
    size_t stride = d->h.t.stride;
    uint64_t positions[TABLE_BLOCK];
    struct table_row *to[TABLE_BLOCK];
    bool found[TABLE_BLOCK];
    char *rows = n ? mem_alloc_or_die(n * stride) : NULL;
    for (size_t i = 0; i < n; i++) {
        to[i] = (struct table_row *)(void *)(rows + i * stride);
        to[i]->id = table_id_at(ids, unknown[i]);
        positions[i] = id_position(to[i]->id);
    }
    d->waited += n;
    enum skiff_status status = disk_read(d->disk, n, positions, to, found, err);
    for (size_t i = 0; status == SKIFF_OK && i < n; i++) {
        size_t k = unknown[i];
        if (!found[i])
            continue;
        slots[k] = id_index_find(&d->h.index, to[i]->id); /* the id may occur twice */
        if (slots[k] == PAGES_NONE)
            status = bring(d, to[i], how, LEAVING_ON_DISK, &slots[k], &out[k], err);
        else
            out[k] = pages_at(&d->h.row_list, slots[k]);
    }
    free(rows);
    return status;
}

static enum skiff_status find_both(struct tiered *d, const struct id_prefetch *prefetch,
                                   const uint8_t *ids, size_t n, unsigned how, uint32_t *slots,
                                   struct table_row **out, struct skiff_error *err)
{
    size_t unknown[TABLE_BLOCK], nunknown = 0;
    TRY(finish_visiting(d, err));
    TRY(fit(d, err));
    TRY(hash_make_space(&d->h, n, spill, err));
    size_t here = hash_find_here(&d->h, prefetch, ids, n, slots, out);
    d->hits += here;
    if (here == n)
        return SKIFF_OK;
    TRY(bring_known(d, ids, n, how, slots, out, unknown, &nunknown, err));
    return bring_read(d, ids, how, slots, out, unknown, nunknown, err);
}

static enum skiff_status tiered_find(struct table *t, const struct id_prefetch *prefetch,
                                     const uint8_t *ids, size_t n, unsigned how,
                                     struct table_row **out, struct skiff_error *err)
{
    struct tiered *d = (struct tiered *)t;
    uint32_t slots[TABLE_BLOCK];
    TRY(find_both(d, prefetch, ids, n, how, slots, out, err));
    if (how & TABLE_MAKE)
        TRY(hash_make_absent(&d->h, ids, n, how, slots, out, err));
    hash_use(&d->h, n, how, slots, out);
    return SKIFF_OK;
}

static enum skiff_status tiered_fetch_prefetch(struct table *t, const uint8_t *ids, size_t n,
                                               struct skiff_error *err)
{
    struct tiered *d = (struct tiered *)t;
    struct id_prefetch prefetch;
    struct table_row *row_list[TABLE_BLOCK];
    uint32_t slots[TABLE_BLOCK];
    TRY(finish_visiting(d, err));
    for (size_t first = 0; first < n; first += TABLE_BLOCK) {
        size_t m = n - first < TABLE_BLOCK ? n - first : TABLE_BLOCK;
        const uint8_t *at = ids + 8 * first;
        hash_prefetch(t, at, m, &prefetch);
        hash_near(t, at, m, sizeof(int64_t), &prefetch);
        hash_find_here(&d->h, &prefetch, at, m, slots, row_list);
        for (size_t i = 0; i < m; i++)
            if (row_list[i])
                leaving_used(&d->h.leaving, slots[i], 0); /* it must not leave before its update */
            else
                TRY(traffic_read_prefetch(d->traffic, table_id_at(at, i), err));
    }
    traffic_read_now(d->traffic);
    return SKIFF_OK;
}

/* ---- removal ---- */

static enum skiff_status delete_on_disk(struct tiered *d, int64_t id, struct skiff_error *err)
{
    *d->one = (struct table_row){.id = id, .changed = ROW_FREE};
    return send(d, d->one, err);
}

static struct table_row *visiting_row(const struct tiered *d, int64_t id)
{
    for (size_t i = 0; i < d->nguests; i++) {
        struct table_row *r = (struct table_row *)(void *)(d->visiting + i * d->h.t.stride);
        if (r->id == id && r->changed != ROW_FREE)
            return r;
    }
    return NULL;
}

static enum skiff_status remove_here(struct tiered *d, uint32_t slot, struct skiff_error *err)
{
    struct table_row *r = pages_at(&d->h.row_list, slot);
    if (*leaving_flags(&d->h.leaving, slot) & LEAVING_ON_DISK)
        TRY(delete_on_disk(d, r->id, err));
    table_touch(&d->h.t, r, slot);
    hash_take_out(&d->h, slot);
    return SKIFF_OK;
}

/* Removes rows of a walk that are on disk without bringing them to memory. Nothing else is written
 * or leaves then: the walk continues with the others. */
static enum skiff_status tiered_remove(struct table *t, int64_t id, bool *out_was,
                                       struct skiff_error *err)
{
    struct tiered *d = (struct tiered *)t;
    struct table_row *r = visiting_row(d, id);
    uint32_t slot = id_index_find(&d->h.index, id);
    *out_was = true;
    if (r) {
        table_touch(t, r, PAGES_NONE);
        TRY(delete_on_disk(d, id, err));
        r->changed = ROW_FREE;
        d->disk_rows--;
        return SKIFF_OK;
    }
    if (slot == PAGES_NONE) {
        struct id_prefetch prefetch;
        hash_prefetch(t, (const uint8_t *)&id, 1, &prefetch);
        hash_near(t, (const uint8_t *)&id, 1, t->stride, &prefetch);
        TRY(find_both(d, &prefetch, (const uint8_t *)&id, 1, 0, &slot, &r, err));
        *out_was = r != NULL;
    }
    return *out_was ? remove_here(d, slot, err) : SKIFF_OK;
}

/* ---- walks ---- */

static bool tiered_passed(const struct table_cursor *at, const struct table_row *r)
{
    return id_position(r->id) < at->next;
}

static enum skiff_status begin_walk(struct tiered *d, uint64_t from, struct skiff_error *err)
{
    TRY(finish_visiting(d, err));
    TRY(traffic_drain(d->traffic, err));
    if (!d->iterator)
        d->iterator = disk_iterate(d->disk);
    disk_seek(d->iterator, from);
    if (!d->visiting) {
        d->visiting = mem_alloc_or_die(TABLE_BLOCK * d->h.t.stride);
        d->before = mem_alloc_or_die(TABLE_BLOCK * d->h.t.stride);
    }
    return SKIFF_OK;
}

static struct table_row *take_visiting(struct tiered *d, const struct table_row *r)
{
    size_t at = d->nguests++ * d->h.t.stride;
    memcpy(d->visiting + at, r, d->h.t.stride);
    memcpy(d->before + at, r, d->h.t.stride);
    return (struct table_row *)(void *)(d->visiting + at);
}

/* Result of a walk so far; looked: slots examined. */
struct walking {
    struct table_row **out;
    uint32_t *slots;
    size_t n, looked, max;
    unsigned how;
};

static uint64_t after(uint64_t position)
{
    return position == UINT64_MAX ? position : position + 1;
}

/* Returns rows on disk up to this position; those that are in memory, too, are skipped. *next: the
 * first position that was not examined. */
static enum skiff_status walk_disk(struct tiered *d, uint64_t last, struct walking *w,
                                   uint64_t *next, struct skiff_error *err)
{
    for (; w->looked < w->max; disk_step(d->iterator), w->looked++) {
        const struct table_row *r;
        uint64_t position;
        TRY(disk_at(d->iterator, &position, &r, err));
        if (!r || position > last)
            return SKIFF_OK;
        *next = after(position);
        if (id_index_find(&d->h.index, r->id) != PAGES_NONE)
            continue;
        w->slots[w->n] = PAGES_NONE;
        w->out[w->n++] = take_visiting(d, r);
    }
    return SKIFF_END; /* no space for more */
}

static void walk_here(struct tiered *d, uint32_t slot, struct walking *w)
{
    if (w->how & TABLE_CHANGE)
        *leaving_flags(&d->h.leaving, slot) |= LEAVING_CHANGED;
    w->slots[w->n] = slot;
    w->out[w->n++] = pages_at(&d->h.row_list, slot);
    w->looked++;
}

/* One bucket from *at on, or as much of it as fits; *at is advanced. */
static enum skiff_status walk_bucket(struct tiered *d, struct walking *w, uint64_t *at,
                                     uint64_t *last, struct skiff_error *err)
{
    uint32_t slots[ID_INDEX_MANY];
    uint64_t positions[ID_INDEX_MANY];
    size_t n = id_index_after(&d->h.index, *at, slots, positions, last);
    for (size_t i = 0; i < n; i++) {
        if (positions[i]) { /* rows on disk before it */
            enum skiff_status status = walk_disk(d, positions[i] - 1, w, at, err);
            if (status != SKIFF_OK)
                return status;
        }
        if (w->looked == w->max)
            return SKIFF_END;
        walk_here(d, slots[i], w);
        *at = after(positions[i]);
    }
    return walk_disk(d, *last, w, at, err);
}

static enum skiff_status tiered_walk(struct table *t, struct table_cursor *at, size_t max,
                                     unsigned how, struct table_row **out, uint32_t *slots,
                                     size_t *out_n, struct skiff_error *err)
{
    struct tiered *d = (struct tiered *)t;
    struct walking w = {.out = out, .slots = slots, .max = max, .how = how};
    TRY(begin_walk(d, at->next, err));
    d->visiting_change = how & TABLE_CHANGE;
    enum skiff_status status = SKIFF_OK;
    bool ended = false;
    for (uint64_t last = 0; status == SKIFF_OK && w.looked < max; w.looked++) {
        status = walk_bucket(d, &w, &at->next, &last, err);
        if (status < 0)
            return status;
        if (status == SKIFF_OK)
            at->next = after(last);
        ended = status == SKIFF_OK && last == UINT64_MAX;
        if (ended)
            break;
    }
    *out_n = w.n;
    if (!ended && !(w.n && id_position(out[w.n - 1]->id) == UINT64_MAX))
        return SKIFF_OK;
    drop_iterator(d);
    return SKIFF_END;
}

/* ---- numbers ---- */

static size_t tiered_count(const struct table *t)
{
    const struct tiered *d = (const struct tiered *)t;
    return d->h.index.count + d->disk_rows;
}

static size_t tiered_bytes(const struct table *t)
{
    const struct tiered *d = (const struct tiered *)t;
    return sizeof *d + hash_held(&d->h) + traffic_bytes(d->traffic) + disk_memory(d->disk) +
           (d->visiting ? 2 * TABLE_BLOCK * t->stride : 0) + t->stride;
}

static void tiered_stats(const struct table *t, struct table_stats *out)
{
    const struct tiered *d = (const struct tiered *)t;
    struct disk_stats s;
    disk_stats(d->disk, &s);
    out->hits = d->hits;
    out->misses = d->misses;
    out->fetched = d->fetched;
    out->waited = d->waited;
    out->spilled = d->spilled;
    out->disk_rows = d->disk_rows;
    out->disk_bytes = s.file_bytes;
    out->rows_written = traffic_written(d->traffic);
    out->bytes_written = s.written_bytes;
}

const struct table_class table_tiered = {
    .name = "tiered",
    .create = tiered_create,
    .destroy = tiered_destroy,
    .prefetch = hash_prefetch,
    .near = hash_near,
    .find = tiered_find,
    .remove = tiered_remove,
    .walk = tiered_walk,
    .passed = tiered_passed,
    .fetch_prefetch = tiered_fetch_prefetch,
    .stats = tiered_stats,
    .prepare = hash_prepare,
    .count = tiered_count,
    .bytes = tiered_bytes,
};
