/* Copy-on-write snapshots of a table (table_snapshot.h has the contract). A snapshot read in order
 * has a cursor: a record behind it has been returned; one ahead of it is copied to `kept` before
 * its first change, and returned from there. A snapshot by id copies every record before its first
 * change, with an index over the copies.
 *
 * Deltas also need ids of removed records: they are appended to a list ordered by version, which is
 * given up when it grows larger than a full snapshot would be. If memory for a copy runs out, the
 * snapshot is lost, but the table stays usable. Threads: the table's owner. */
#include "table/table_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/id_index.h"
#include "table/pages.h"

struct table_snapshot {
    uint32_t since, version;
    struct table_cursor at; /* slots before it have been read */
    bool walked;
    struct pages kept; /* old values of records that have changed */
    uint32_t drained;  /* number of copies that have been read */
    bool lost;         /* a copy failed for lack of memory */
    bool given_up;     /* the list of removed records was dropped */
    bool by_id;
    struct id_index index; /* by_id: of the copies */
    struct waiting_snapshot
        *waiting; /* by_id: of ids that wait for admission; NULL: there are none */
};

struct table_gone {
    int64_t *ids;
    uint32_t *moments; /* ascending */
    size_t n, cap;
    uint32_t from; /* removals in later versions are recorded */
};

#define GONE_LEAST ((size_t)1 << 16)

enum skiff_status table_snapshot_begin(struct table *t, uint32_t since, uint32_t *out_version,
                                       struct skiff_error *err)
{
    if (t->snapshot)
        return error_set(err, SKIFF_STATE, "a snapshot of the table is being read already");
    if (t->version == ROW_FREE - 1)
        return error_set(err, SKIFF_STATE,
                         "%u snapshots were taken of one table: no more are possible", t->version);
    if (since >= t->version)
        return error_set(err, SKIFF_STATE, "changes since snapshot %u: the table's last is %u",
                         since, t->version - 1);
    if (since && !t->options.deltas)
        return error_set(err, SKIFF_STATE, "changes since snapshot %u of a table without deltas",
                         since);
    if (since && (!t->gone || since < t->gone->from))
        return error_set(err, SKIFF_STATE,
                         "changes since snapshot %u: the rows removed then are no longer known; "
                         "take a full snapshot",
                         since);
    struct table_snapshot *s = t->snapshot = mem_alloc_or_die(sizeof *s);
    s->since = since;
    s->version = t->version++;
    pages_init(&s->kept, t->stride, false, "what a snapshot keeps of a table");
    if (!t->gone && t->options.deltas) {
        t->gone = mem_alloc_or_die(sizeof *t->gone);
        t->gone->from = s->version;
    }
    *out_version = s->version;
    return SKIFF_OK;
}

static bool is_in(const struct table_snapshot *s, const struct table_row *r)
{
    return r->changed > s->since && r->changed <= s->version;
}

static bool passed(const struct table *t, const struct table_row *r, uint32_t slot)
{
    const struct table_cursor *at = &t->snapshot->at;
    return t->class->passed ? t->class->passed(at, r) : slot < at->next;
}

void table_snapshot_cow(struct table *t, const struct table_row *r, uint32_t slot)
{
    struct table_snapshot *s = t->snapshot;
    uint32_t to;
    if (s->walked || !is_in(s, r) || passed(t, r, slot) || s->lost)
        return;
    if (pages_take(&s->kept, &to, NULL) < 0) {
        s->lost = true;
        return;
    }
    memcpy(pages_at(&s->kept, to), r, t->stride);
    if (s->by_id && id_index_add(&s->index, r->id, to, NULL) < 0)
        s->lost = true;
}

/* Copies first: they take memory. */
static size_t drain(struct table *t, size_t max, char *out)
{
    struct table_snapshot *s = t->snapshot;
    size_t n = 0;
    for (; n < max && s->drained < s->kept.top; n++, s->drained++)
        memcpy(out + n * t->stride, pages_at(&s->kept, s->drained), t->stride);
    if (s->drained == s->kept.top && s->drained) {
        pages_deinit(&s->kept);
        s->drained = 0;
    }
    return n;
}

enum skiff_status table_snapshot_next(struct table *t, size_t max, void *out, size_t *out_n,
                                      struct skiff_error *err)
{
    struct table_snapshot *s = t->snapshot;
    struct table_row *row_list[TABLE_BLOCK];
    uint32_t slots[TABLE_BLOCK];
    char *to = out;
    if (!s || s->by_id)
        return error_set(err, SKIFF_STATE, "no snapshot of the table is being read");
    size_t n = drain(t, max, to);
    for (size_t looked = n; looked < max && !s->walked;) {
        size_t found, want = max - looked < TABLE_BLOCK ? max - looked : TABLE_BLOCK;
        enum skiff_status status =
            t->class->walk(t, &s->at, want, TABLE_LOOK, row_list, slots, &found, err);
        TRY(status);
        for (size_t i = 0; i < found; i++)
            if (is_in(s, row_list[i]))
                memcpy(to + n++ * t->stride, row_list[i], t->stride);
        looked += want;
        s->walked = status == SKIFF_END;
    }
    if (s->lost)
        return error_set(err, SKIFF_NOMEM,
                         "no memory for copies of records while a snapshot is read");
    if (s->given_up)
        return error_set(err, SKIFF_STATE,
                         "changes since snapshot %u: more rows were removed meanwhile than can be "
                         "recorded; take a full snapshot",
                         s->since);
    *out_n = n;
    return s->walked && s->drained == s->kept.top ? SKIFF_END : SKIFF_OK;
}

/* ---- by id ---- */

enum skiff_status table_snapshot_by_id(struct table *t, struct skiff_error *err)
{
    TRY(id_index_init(&t->snapshot->index, &t->snapshot->kept, err));
    t->snapshot->by_id = true;
    if (t->waiting)
        t->snapshot->waiting = waiting_snapshot_begin(t->waiting);
    return SKIFF_OK;
}

const struct table_row *table_snapshot_was(const struct table *t, int64_t id,
                                           const struct table_row *now)
{
    const struct table_snapshot *s = t->snapshot;
    if (now && is_in(s, now))
        return now;
    uint32_t slot = id_index_find(&s->index, id);
    return slot == PAGES_NONE ? NULL : pages_at(&s->kept, slot);
}

/* Current records first; those that have changed or were removed are among the copies by then. */
#define LIST_KEPT (UINT64_C(1) << 63)

static size_t list_kept(const struct table *t, uint64_t *cursor, size_t max, char *out)
{
    const struct table_snapshot *s = t->snapshot;
    size_t n = 0;
    for (uint64_t at = *cursor & ~LIST_KEPT; n < max && at < s->kept.top; at++, n++)
        memcpy(out + n * t->stride, pages_at(&s->kept, (uint32_t)at), t->stride);
    *cursor += n;
    return n;
}

enum skiff_status table_snapshot_list(struct table *t, uint64_t *cursor, size_t max, void *out,
                                      size_t *out_n, struct skiff_error *err)
{
    const struct table_snapshot *s = t->snapshot;
    struct table_row *row_list[TABLE_BLOCK];
    uint32_t slots[TABLE_BLOCK];
    char *to = out;
    size_t n = 0;
    if (*cursor & LIST_KEPT) {
        *out_n = list_kept(t, cursor, max, out);
        return (*cursor & ~LIST_KEPT) < s->kept.top ? SKIFF_OK : SKIFF_END;
    }
    /* kinds with `passed` count with all 64 bits: one bit is rounded off, and a record returned
     * twice */
    int spare = t->class->passed != NULL;
    struct table_cursor at = {.next = *cursor << spare};
    enum skiff_status status = SKIFF_OK;
    for (size_t looked = 0; looked < max && status == SKIFF_OK;) {
        size_t found = 0, want = max - looked < TABLE_BLOCK ? max - looked : TABLE_BLOCK;
        status = t->class->walk(t, &at, want, TABLE_LOOK, row_list, slots, &found, err);
        TRY(status);
        for (size_t i = 0; i < found; i++)
            if (is_in(s, row_list[i]))
                memcpy(to + n++ * t->stride, row_list[i], t->stride);
        looked += want;
    }
    *out_n = n;
    *cursor = status == SKIFF_END ? LIST_KEPT : at.next >> spare;
    return SKIFF_OK;
}

enum skiff_status table_snapshot_waiting(struct table *t, uint64_t *cursor, size_t max,
                                         struct waiting_id *out, size_t *out_n,
                                         struct skiff_error *err)
{
    *out_n = 0;
    return t->waiting ? waiting_snapshot_list(t->waiting, cursor, max, out, out_n, err) : SKIFF_END;
}

bool table_snapshot_lost(const struct table *t)
{
    return t->snapshot->lost || t->snapshot->given_up;
}

/* ---- removed records ---- */

/* More records were removed than there are: a full snapshot is smaller than a delta would be, so
 * the list is dropped. It is also dropped when its part of the table's limit is full. A delta that
 * is being read would miss them. */
static void give_up(struct table *t)
{
    if (t->snapshot && t->snapshot->since)
        t->snapshot->given_up = true;
    t->gone->n = 0;
    t->gone->from = t->version;
}

/* The number that a table with a limit has space for. */
static size_t most_gone(const struct table *t)
{
    size_t limit = t->options.limit.bytes;
    return limit ? limit / GONE_SHARE / (sizeof *t->gone->ids + sizeof *t->gone->moments)
                 : SIZE_MAX;
}

void table_snapshot_record_gone(struct table *t, int64_t id)
{
    struct table_gone *g = t->gone;
    if (!g)
        return;
    size_t most = most_gone(t);
    if (g->n >= most || (g->n >= GONE_LEAST && g->n > table_count(t)))
        give_up(t);
    if (!most)
        return;
    if (g->n == g->cap) {
        g->cap = g->cap ? g->cap + g->cap / 2 : 64;
        g->cap = g->cap < most ? g->cap : most;
        g->ids = mem_grow_or_die(g->ids, g->cap * sizeof *g->ids);
        g->moments = mem_grow_or_die(g->moments, g->cap * sizeof *g->moments);
    }
    g->ids[g->n] = id;
    g->moments[g->n++] = t->version;
}

/* The index of the first entry with a later version. */
static size_t after(const struct table_gone *g, uint32_t version)
{
    size_t low = 0, high = g->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (g->moments[mid] > version)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

size_t table_snapshot_gone(const struct table *t, const int64_t **out)
{
    const struct table_snapshot *s = t->snapshot;
    if (!s || !s->since)
        return 0;
    size_t first = after(t->gone, s->since), n = after(t->gone, s->version) - first;
    if (n)
        *out = t->gone->ids + first;
    return n;
}

static void forget_gone(struct table_gone *g, uint32_t version)
{
    size_t first = after(g, version);
    if (first < g->n) {
        memmove(g->ids, g->ids + first, (g->n - first) * sizeof *g->ids);
        memmove(g->moments, g->moments + first, (g->n - first) * sizeof *g->moments);
    }
    g->n -= first;
    g->from = g->from > version ? g->from : version;
}

void table_snapshot_end(struct table *t, bool complete)
{
    struct table_snapshot *s = t->snapshot;
    if (!s)
        return;
    if (complete && !s->since && t->gone)
        forget_gone(t->gone, s->version);
    table_snapshot_destroy(table_snapshot_take_off(t));
}

struct table_snapshot *table_snapshot_take_off(struct table *t)
{
    struct table_snapshot *s = t->snapshot;
    t->snapshot = NULL;
    if (s && s->waiting)
        waiting_snapshot_take_off(t->waiting);
    return s;
}

void table_snapshot_destroy(struct table_snapshot *s)
{
    if (!s)
        return;
    if (s->by_id)
        id_index_deinit(&s->index);
    waiting_snapshot_destroy(s->waiting);
    pages_deinit(&s->kept);
    free(s);
}

void table_snapshot_deinit(struct table *t)
{
    table_snapshot_end(t, false);
    if (!t->gone)
        return;
    free(t->gone->ids);
    free(t->gone->moments);
    free(t->gone);
    t->gone = NULL;
}

size_t table_snapshot_bytes(const struct table *t)
{
    size_t bytes = t->snapshot ? pages_bytes(&t->snapshot->kept) : 0;
    if (t->snapshot && t->snapshot->by_id)
        bytes += id_index_bytes(&t->snapshot->index);
    bytes += waiting_snapshot_bytes(t->snapshot ? t->snapshot->waiting : NULL);
    if (t->gone)
        bytes += t->gone->cap * (sizeof *t->gone->ids + sizeof *t->gone->moments);
    return bytes;
}
