/* Operations that all kinds of tables share: pull, push, gather, scatter, walks, shrink, import and
 * export. A kind (table_class) supplies the steps from ids to records; the accessor supplies the
 * meaning of records; this file connects both.
 *
 * Invariants: table_touch is called before a record changes or is removed, because a running
 * snapshot may need the old values; t->moment (the version) only grows, and a record's `changed`
 * never exceeds it. All work is done in blocks of TABLE_BLOCK ids, so that memory of the next
 * blocks can be prefetched. Threads: one owner at a time, and one thread in table_prepare. */
#include "table/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/table_snapshot.h"

#define WAITING_SHARE 8 /* of a limit, one byte in this many is for waiting ids */

static bool lets_wait(const struct admission *a)
{
    return a->kind == ADMISSION_COUNT || a->kind == ADMISSION_PROBABILITY;
}

enum skiff_status table_create(const struct table_class *class, const struct table_options *o,
                               struct table **out, struct skiff_error *err)
{
    struct table *t;
    TRY(class->create(o, &t, err));
    t->class = class;
    t->options = *o;
    t->accessor = o->accessor;
    t->stride = row_bytes(o->accessor->width);
    t->version = 1;
    if (lets_wait(&o->admission)) {
        size_t most = o->limit.bytes ? o->limit.bytes / WAITING_SHARE : SIZE_MAX;
        enum skiff_status status = waiting_create(&o->admission, o->seed, most, &t->waiting, err);
        if (status < 0) {
            class->destroy(t);
            return status;
        }
    }
    *out = t;
    return SKIFF_OK;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    table_snapshot_deinit(t);
    waiting_destroy(t->waiting);
    t->class->destroy(t);
}

size_t table_count(const struct table *t)
{
    return t->class->count(t);
}

size_t table_bytes(const struct table *t)
{
    return t->class->bytes(t) + table_snapshot_bytes(t) +
           (t->waiting ? waiting_bytes(t->waiting) : 0);
}

bool table_prepare(struct table *t)
{
    return t->class->prepare(t);
}

void table_stats(const struct table *t, struct table_stats *out)
{
    *out = (struct table_stats){.rows = table_count(t),
                                .bytes = table_bytes(t),
                                .waiting = t->waiting ? waiting_count(t->waiting) : 0,
                                .counts = t->counts};
    if (t->class->stats)
        t->class->stats(t, out);
}

enum skiff_status table_fetch_prefetch(struct table *t, const uint8_t *ids, size_t n,
                                       struct skiff_error *err)
{
    return t->class->fetch_prefetch ? t->class->fetch_prefetch(t, ids, n, err) : SKIFF_OK;
}

/* ---- for kinds ---- */

size_t table_budget(const struct table_options *o)
{
    if (!o->limit.bytes)
        return SIZE_MAX;
    return o->limit.bytes - (o->deltas ? o->limit.bytes / GONE_SHARE : 0) -
           (lets_wait(&o->admission) ? o->limit.bytes / WAITING_SHARE : 0);
}

void table_evicted(struct table *t, int64_t id)
{
    table_snapshot_record_gone(t, id);
    t->counts.evicted++;
}

void table_touch(struct table *t, struct table_row *r, uint32_t slot)
{
    if (r->changed == t->version)
        return;
    if (t->snapshot)
        table_snapshot_cow(t, r, slot);
    r->changed = t->version;
}

void table_fill(const struct table *t, struct table_row *r, int64_t id)
{
    r->id = id;
    r->changed = t->version;
    r->stamp = t->stamp;
    t->accessor->class->start(t->accessor, r);
}

enum skiff_status table_admit(struct table *t, int64_t id, unsigned how, bool *out,
                              struct skiff_error *err)
{
    *out = true;
    if (!t->waiting)
        return SKIFF_OK;
    if (how & TABLE_SKIP_ADMISSION) {
        waiting_forget(t->waiting, id);
        return SKIFF_OK;
    }
    TRY(waiting_ask(t->waiting, id, 1, out, err));
    t->counts.refused += !*out;
    return SKIFF_OK;
}

/* ---- rows by id ---- */

static size_t block_of(size_t n, size_t first)
{
    return n - first < TABLE_BLOCK ? n - first : TABLE_BLOCK;
}

/* Block b of n ids: one of the steps before find. */
static void step_prefetch(const struct table *t, const uint8_t *ids, size_t n, size_t b,
                          struct id_prefetch *prefetch)
{
    if (b * TABLE_BLOCK < n)
        t->class->prefetch(t, ids + 8 * b * TABLE_BLOCK, block_of(n, b * TABLE_BLOCK), prefetch);
}

static void step_near(const struct table *t, const uint8_t *ids, size_t n, size_t b, size_t span,
                      struct id_prefetch *prefetch)
{
    if (b * TABLE_BLOCK < n)
        t->class->near(t, ids + 8 * b * TABLE_BLOCK, block_of(n, b * TABLE_BLOCK), span, prefetch);
}

/* Software pipeline of three stages: while block b is processed, the records of block b + 1 and the
 * index lines of block b + 2 are being fetched from memory. */
enum skiff_status table_each(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             size_t span, table_block_fn *fn, void *self, struct skiff_error *err)
{
    struct table_row *row_list[TABLE_BLOCK];
    struct id_prefetch prefetch[3]; /* of block b: b % 3 */
    step_prefetch(t, ids, n, 0, &prefetch[0]);
    step_prefetch(t, ids, n, 1, &prefetch[1]);
    step_near(t, ids, n, 0, span, &prefetch[0]);
    for (size_t b = 0; b * TABLE_BLOCK < n; b++) {
        size_t first = b * TABLE_BLOCK, m = block_of(n, first);
        step_prefetch(t, ids, n, b + 2, &prefetch[(b + 2) % 3]);
        step_near(t, ids, n, b + 1, span, &prefetch[(b + 1) % 3]);
        TRY(t->class->find(t, &prefetch[b % 3], ids + 8 * first, m, how, row_list, err));
        fn(self, first, m, row_list);
    }
    return SKIFF_OK;
}

struct row_transfer {
    const struct accessor *accessor;
    float *out;
    const float *from;
    size_t first, width;
};

static void pull_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_transfer *x = self;
    x->accessor->class->pull(x->accessor, row_list, n,
                             x->out + first * (size_t)x->accessor->pulled);
}

enum skiff_status table_pull(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             float *out, struct skiff_error *err)
{
    struct row_transfer x = {.accessor = t->accessor, .out = out};
    return table_each(t, ids, n, how, t->accessor->pull_span, pull_block, &x, err);
}

static void push_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_transfer *x = self;
    x->accessor->class->push(x->accessor, row_list, n,
                             x->from + first * (size_t)x->accessor->pushed);
}

enum skiff_status table_push(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             const float *rows, struct skiff_error *err)
{
    struct row_transfer x = {.accessor = t->accessor, .from = rows};
    if (!t->accessor->class->push)
        return error_set(err, SKIFF_INVALID,
                         "accessor %s has no rule of its own for pushed gradients",
                         t->accessor->class->name);
    return table_each(t, ids, n, how | TABLE_CHANGE, t->stride, push_block, &x, err);
}

static void gather_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_transfer *x = self;
    float *out = x->out + first * x->width;
    for (size_t i = 0; i < n; i++, out += x->width) {
        if (row_list[i])
            row_copy(out, row_list[i]->values + x->first, x->width);
        else
            memset(out, 0, x->width * sizeof *out);
    }
}

static enum skiff_status check_values(const struct table *t, int first, int width,
                                      struct skiff_error *err)
{
    if (first >= 0 && width >= 0 && first <= t->accessor->width - width)
        return SKIFF_OK;
    return error_set(err, SKIFF_RANGE, "values %d to %d of records of %d", first, first + width,
                     t->accessor->width);
}

enum skiff_status table_gather(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                               int first, int width, float *out, struct skiff_error *err)
{
    struct row_transfer x = {.out = out, .first = (size_t)first, .width = (size_t)width};
    TRY(check_values(t, first, width, err));
    return table_each(t, ids, n, how,
                      sizeof(struct table_row) + (size_t)(first + width) * sizeof *out,
                      gather_block, &x, err);
}

static void scatter_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_transfer *x = self;
    const float *from = x->from + first * x->width;
    for (size_t i = 0; i < n; i++, from += x->width)
        if (row_list[i])
            row_copy(row_list[i]->values + x->first, from, x->width);
}

enum skiff_status table_scatter(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                                int first, int width, const float *from, struct skiff_error *err)
{
    struct row_transfer x = {.from = from, .first = (size_t)first, .width = (size_t)width};
    TRY(check_values(t, first, width, err));
    return table_each(t, ids, n, how | TABLE_CHANGE,
                      sizeof(struct table_row) + (size_t)(first + width) * sizeof *from,
                      scatter_block, &x, err);
}

enum skiff_status table_put(struct table *t, const struct table_row *from, struct skiff_error *err)
{
    struct table_row *r;
    struct id_prefetch prefetch;
    const uint8_t *id = (const uint8_t *)&from->id;
    t->class->prefetch(t, id, 1, &prefetch);
    t->class->near(t, id, 1, t->stride, &prefetch);
    TRY(t->class->find(t, &prefetch, id, 1, TABLE_MAKE | TABLE_CHANGE | TABLE_SKIP_ADMISSION, &r,
                       err));
    r->stamp = from->stamp;
    memcpy(r->values, from->values, (size_t)t->accessor->width * sizeof *r->values);
    return SKIFF_OK;
}

static void record_record(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    *(bool *)self = row_list[0] != NULL;
}

enum skiff_status table_put_waiting(struct table *t, const struct waiting_id *x,
                                    struct skiff_error *err)
{
    bool has = false;
    if (!t->waiting)
        return SKIFF_OK;
    TRY(table_each(t, (const uint8_t *)&x->id, 1, TABLE_LOOK, 0, record_record, &has, err));
    return has ? SKIFF_OK : waiting_put(t->waiting, x, err);
}

static enum skiff_status take_away(struct table *t, int64_t id, bool *out_was,
                                   struct skiff_error *err)
{
    TRY(t->class->remove(t, id, out_was, err));
    if (*out_was)
        table_snapshot_record_gone(t, id);
    return SKIFF_OK;
}

enum skiff_status table_remove(struct table *t, int64_t id, bool *out_was, struct skiff_error *err)
{
    if (t->class->fixed)
        return error_set(err, SKIFF_UNSUPPORTED, "rows of a table of kind %s cannot be removed",
                         t->class->name);
    TRY(take_away(t, id, out_was, err));
    t->counts.removed += *out_was;
    return SKIFF_OK;
}

/* ---- over all records ---- */

/* One block of a walk: at most *left slots, by which *left is reduced. END: that was the last. */
struct walk_batch {
    struct table_row *row_list[TABLE_BLOCK];
    uint32_t slots[TABLE_BLOCK];
    size_t n;
};

static enum skiff_status next_batch(struct table *t, struct table_cursor *at, size_t *left,
                                    unsigned how, struct walk_batch *b, struct skiff_error *err)
{
    size_t max = *left < TABLE_BLOCK ? *left : TABLE_BLOCK;
    *left -= max;
    return t->class->walk(t, at, max, how, b->row_list, b->slots, &b->n, err);
}

enum skiff_status table_walk(struct table *t, struct table_cursor *at, size_t max, unsigned how,
                             table_block_fn *fn, void *self, struct skiff_error *err)
{
    struct walk_batch b;
    enum skiff_status status = SKIFF_OK;
    while (max && status == SKIFF_OK) {
        status = next_batch(t, at, &max, how, &b, err);
        if (status < 0)
            return status;
        for (size_t i = 0; (how & TABLE_CHANGE) && i < b.n; i++)
            table_touch(t, b.row_list[i], b.slots[i]);
        if (b.n)
            fn(self, 0, b.n, b.row_list);
    }
    return status;
}

static enum skiff_status shrink_batch(struct table *t, struct walk_batch *b,
                                      struct skiff_error *err)
{
    bool was;
    bool ages = t->accessor->class->ages(t->accessor);
    for (size_t i = 0; i < b->n; i++) {
        if (ages)
            table_touch(t, b->row_list[i], b->slots[i]);
        bool goes = t->accessor->class->expire(t->accessor, b->row_list[i]);
        if (goes && !t->class->fixed) {
            TRY(take_away(t, b->row_list[i]->id, &was, err));
            t->counts.expired++;
        }
    }
    return SKIFF_OK;
}

enum skiff_status table_shrink(struct table *t, struct table_cursor *at, size_t max,
                               struct skiff_error *err)
{
    struct walk_batch b;
    enum skiff_status status = SKIFF_OK;
    while (max && !at->rows_done) {
        status = next_batch(t, at, &max, TABLE_CHANGE, &b, err);
        if (status < 0)
            return status;
        TRY(shrink_batch(t, &b, err));
        at->rows_done = status == SKIFF_END;
    }
    if (!at->rows_done)
        return SKIFF_OK;
    if (t->waiting && !waiting_age(t->waiting, &at->waiting, max))
        return SKIFF_OK;
    return SKIFF_END;
}

static enum skiff_status export_row(struct table *t, int mode, struct table_row *r, uint32_t slot,
                                    char *line, table_line_fn *fn, void *self,
                                    struct skiff_error *err)
{
    const struct accessor *a = t->accessor;
    if (a->class->save_changes(a, r, mode))
        table_touch(t, r, slot);
    bool written = a->class->save(a, r, mode);
    if (written)
        TRY(fn(self, r->id, line, accessor_print(a, r, line), err));
    a->class->saved(a, r, mode, written);
    return SKIFF_OK;
}

enum skiff_status table_export(struct table *t, int mode, struct table_cursor *at, size_t max,
                               table_line_fn *fn, void *self, struct skiff_error *err)
{
    struct walk_batch b;
    enum skiff_status status = SKIFF_OK, written = SKIFF_OK;
    char *line = mem_alloc_or_die(accessor_line_max(t->accessor));
    while (max && status == SKIFF_OK) {
        status = next_batch(t, at, &max, TABLE_CHANGE, &b, err);
        for (size_t i = 0; status >= 0 && i < b.n && written == SKIFF_OK; i++)
            written = export_row(t, mode, b.row_list[i], b.slots[i], line, fn, self, err);
        if (written < 0)
            status = written;
    }
    free(line);
    return status;
}

enum skiff_status table_saved(struct table *t, int mode, uint32_t version, struct table_cursor *at,
                              size_t max, struct skiff_error *err)
{
    struct walk_batch b;
    enum skiff_status status = SKIFF_OK;
    while (max && status == SKIFF_OK) {
        status = next_batch(t, at, &max, TABLE_CHANGE, &b, err);
        for (size_t i = 0; status >= 0 && i < b.n; i++) {
            if (b.row_list[i]->changed > version)
                continue;
            table_touch(t, b.row_list[i], b.slots[i]);
            t->accessor->class->saved(t->accessor, b.row_list[i], mode, true);
        }
    }
    return status;
}

enum skiff_status table_import(struct table *t, const char *line, size_t n, struct skiff_error *err)
{
    struct table_row *r = mem_alloc_or_die(t->stride);
    r->stamp = t->stamp;
    enum skiff_status status = accessor_parse(t->accessor, line, n, r, err);
    if (status == SKIFF_OK)
        status = table_put(t, r, err);
    free(r);
    return status;
}
