/* Rows in flight between memory and disk (traffic.h), in two directions of the same form: `out` (to
 * be written) and `in` (prefetched). The owner fills an open batch and queues it; a carrier thread
 * takes it, does the disk call, and marks it done; the owner recycles it. Batches are recycled in
 * the order in which they were begun.
 *
 * Invariants: only the owner touches pages, index and ring. A batch's records belong to the carrier
 * between the queue and `done`. An index entry points to the newest copy of an id: a row that is
 * sent again replaces its entry, while the older batch still writes its copy. One writer thread
 * keeps writes of the same id in order. The lock guards the queues, `done`, `written` and `stop`,
 * and is a leaf. */
#include "table/traffic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "table/id_index.h"
#include "table/pages.h"

#define READERS 2
#define CARRIERS (READERS + 1)
#define OUT_MAX 16 /* batches that may be in flight to the disk */

/* A batch of rows. Its holder changes: the owner, a queue, a carrier, and the owner again. */
struct disk_batch {
    struct disk_batch *next; /* in the queue */
    size_t n;
    size_t wanted; /* in: rows that were not taken yet */
    uint64_t positions[DISK_MANY];
    struct table_row *rows[DISK_MANY];
    uint32_t row_slots[DISK_MANY];
    bool done; /* under the lock */
    enum skiff_status status;
    struct skiff_error fault;
};

/* One direction. Batches stand in the order in which they were begun; the last may still be
 * open. */
struct way {
    struct pages slots; /* records, each followed by its batch */
    struct id_index index;
    struct disk_batch **batches;
    size_t first, n, max; /* a ring */
    struct disk_batch *open;
    struct disk_batch *queue, **end; /* under the lock */
};

struct traffic {
    struct disk *disk;
    size_t stride;
    struct way out, in;
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    bool stop;
    struct thread carriers[CARRIERS];
    uint64_t written; /* rows, under the lock */
};

/* ---- carriers ---- */

static struct disk_batch *next_job(struct traffic *t, struct way *w)
{
    pthread_mutex_lock(&t->lock);
    while (!w->queue && !t->stop)
        pthread_cond_wait(&t->work, &t->lock);
    struct disk_batch *b = t->stop ? NULL : w->queue;
    if (b && !(w->queue = b->next))
        w->end = &w->queue;
    pthread_mutex_unlock(&t->lock);
    return b;
}

static void report(struct traffic *t, struct disk_batch *b, bool written)
{
    pthread_mutex_lock(&t->lock);
    b->done = true;
    if (written)
        t->written += b->n;
    pthread_cond_broadcast(&t->ready);
    pthread_mutex_unlock(&t->lock);
}

static void *read_rows(void *arg)
{
    struct traffic *t = arg;
    bool found[DISK_MANY];
    for (struct disk_batch *b; (b = next_job(t, &t->in)); report(t, b, false)) {
        b->status = disk_read(t->disk, b->n, b->positions, b->rows, found, &b->fault);
        for (size_t i = 0; b->status == SKIFF_OK && i < b->n; i++)
            if (!found[i])
                b->rows[i]->changed = ROW_FREE;
    }
    return NULL;
}

static void *write_rows(void *arg)
{
    struct traffic *t = arg;
    for (struct disk_batch *b; (b = next_job(t, &t->out)); report(t, b, b->status == SKIFF_OK))
        b->status = disk_write(t->disk, b->n, b->positions, b->rows, &b->fault);
    return NULL;
}

/* ---- lifecycle ---- */

static enum skiff_status way_init(struct way *w, size_t stride, size_t max, const char *what,
                                  struct skiff_error *err)
{
    pages_init(&w->slots, stride + sizeof(struct disk_batch *), false, what);
    w->max = max;
    w->batches = mem_alloc_or_die(max * sizeof *w->batches);
    w->end = &w->queue;
    return id_index_init(&w->index, &w->slots, err);
}

static void way_deinit(struct way *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->batches[(w->first + i) % w->max]);
    free(w->batches);
    id_index_deinit(&w->index);
    pages_deinit(&w->slots);
}

static enum skiff_status start(struct traffic *t, struct skiff_error *err)
{
    TRY(thread_start(&t->carriers[READERS], "spill", -1, write_rows, t, err));
    for (int i = 0; i < READERS; i++)
        TRY(thread_start(&t->carriers[i], "fetch", i, read_rows, t, err));
    return SKIFF_OK;
}

enum skiff_status traffic_create(struct disk *disk, size_t stride, size_t prefetch,
                                 struct traffic **out, struct skiff_error *err)
{
    struct traffic *t = mem_alloc_or_die(sizeof *t);
    t->disk = disk;
    t->stride = stride;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->ready, NULL);
    enum skiff_status status = way_init(&t->out, stride, OUT_MAX, "rows in flight to disk", err);
    if (status == SKIFF_OK)
        status = way_init(&t->in, stride, prefetch / DISK_MANY + 2, "prefetched rows", err);
    if (status == SKIFF_OK)
        status = start(t, err);
    if (status < 0)
        traffic_destroy(t);
    else
        *out = t;
    return status;
}

void traffic_destroy(struct traffic *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < CARRIERS; i++)
        thread_join(&t->carriers[i]);
    way_deinit(&t->out);
    way_deinit(&t->in);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->ready);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static size_t way_bytes(const struct way *w)
{
    return pages_bytes(&w->slots) + id_index_bytes(&w->index) + w->max * sizeof *w->batches +
           w->n * sizeof(struct disk_batch);
}

size_t traffic_bytes(const struct traffic *t)
{
    return sizeof *t + way_bytes(&t->out) + way_bytes(&t->in);
}

uint64_t traffic_written(struct traffic *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t rows = t->written;
    pthread_mutex_unlock(&t->lock);
    return rows;
}

/* ---- batches, for the owner ---- */

static bool is_done(struct traffic *t, const struct disk_batch *b, bool wait)
{
    pthread_mutex_lock(&t->lock);
    while (wait && !b->done)
        pthread_cond_wait(&t->ready, &t->lock);
    bool done = b->done;
    pthread_mutex_unlock(&t->lock);
    return done;
}

static void hand_over(struct traffic *t, struct way *w)
{
    struct disk_batch *b = w->open;
    if (!b)
        return;
    w->open = NULL;
    pthread_mutex_lock(&t->lock);
    *w->end = b;
    w->end = &b->next;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
}

static struct disk_batch **slot_batch(const struct traffic *t, const struct way *w,
                                      uint32_t row_slot)
{
    return (struct disk_batch **)(void *)((char *)pages_at(&w->slots, row_slot) + t->stride);
}

/* Recycles a finished batch: its slots are free again. */
static void put_away(struct way *w, struct disk_batch *b)
{
    /* A newer batch may hold the id by now: then its index entry is not ours to remove. */
    for (size_t i = 0; i < b->n; i++) {
        int64_t id = ((struct table_row *)pages_at(&w->slots, b->row_slots[i]))->id;
        if (id_index_find(&w->index, id) == b->row_slots[i])
            id_index_remove(&w->index, id);
        pages_give_back(&w->slots, b->row_slots[i]);
    }
    free(b);
    w->first = (w->first + 1) % w->max;
    w->n--;
}

static struct disk_batch *oldest(const struct way *w)
{
    return w->n ? w->batches[w->first] : NULL;
}

static void begin_batch(struct way *w)
{
    struct disk_batch *b = mem_alloc_or_die(sizeof *b);
    w->batches[(w->first + w->n++) % w->max] = b;
    w->open = b;
}

/* A slot in the open batch for this id, with its index entry. */
static enum skiff_status add(struct traffic *t, struct way *w, int64_t id, struct table_row **out,
                             struct skiff_error *err)
{
    struct disk_batch *b = w->open;
    uint32_t row_slot;
    TRY(pages_take(&w->slots, &row_slot, err));
    struct table_row *r = pages_at(&w->slots, row_slot);
    r->id = id;
    enum skiff_status status = id_index_add(&w->index, id, row_slot, err);
    if (status < 0) {
        pages_give_back(&w->slots, row_slot);
        return status;
    }
    *slot_batch(t, w, row_slot) = b;
    b->positions[b->n] = id_position(id);
    b->row_slots[b->n] = row_slot;
    b->rows[b->n++] = r;
    *out = r;
    return SKIFF_OK;
}

/* ---- out ---- */

/* Recycles batches that are on disk; waits for the oldest if there are too many. */
static enum skiff_status finish(struct traffic *t, size_t most, struct skiff_error *err)
{
    struct way *w = &t->out;
    for (struct disk_batch *b; (b = oldest(w)) && b != w->open;) {
        if (!is_done(t, b, w->n > most))
            return SKIFF_OK;
        if (b->status < 0)
            return error_set(err, b->status, "%s", b->fault.message);
        put_away(w, b);
    }
    return SKIFF_OK;
}

static void forget_read(struct traffic *t, int64_t id)
{
    uint32_t row_slot = t->in.index.count ? id_index_remove(&t->in.index, id) : PAGES_NONE;
    if (row_slot != PAGES_NONE)
        (*slot_batch(t, &t->in, row_slot))->wanted--;
}

enum skiff_status traffic_send(struct traffic *t, const struct table_row *r,
                               struct skiff_error *err)
{
    struct way *w = &t->out;
    struct table_row *to;
    if (!w->open) {
        TRY(finish(t, w->max - 1, err));
        begin_batch(w);
    }
    forget_read(t, r->id);
    id_index_remove(&w->index, r->id); /* removes an older entry, perhaps a deletion */
    TRY(add(t, w, r->id, &to, err));
    memcpy(to, r, t->stride);
    if (w->open->n == DISK_MANY)
        hand_over(t, w);
    return SKIFF_OK;
}

enum skiff_status traffic_drain(struct traffic *t, struct skiff_error *err)
{
    hand_over(t, &t->out);
    return finish(t, 0, err);
}

/* ---- in ---- */

/* Recycles batches without wanted rows, and the oldest if all are in use. */
static void tidy(struct traffic *t, size_t most)
{
    struct way *w = &t->in;
    for (struct disk_batch *b; (b = oldest(w)) && b != w->open;) {
        if (b->wanted && w->n <= most)
            return;
        if (!is_done(t, b, w->n > most))
            return;
        put_away(w, b);
    }
}

enum skiff_status traffic_read_prefetch(struct traffic *t, int64_t id, struct skiff_error *err)
{
    struct way *w = &t->in;
    struct table_row *to;
    if (id_index_find(&t->out.index, id) != PAGES_NONE ||
        id_index_find(&w->index, id) != PAGES_NONE)
        return SKIFF_OK;
    if (!w->open) {
        tidy(t, w->max - 1);
        begin_batch(w);
    }
    TRY(add(t, w, id, &to, err));
    w->open->wanted++;
    if (w->open->n == DISK_MANY)
        hand_over(t, w);
    return SKIFF_OK;
}

void traffic_read_now(struct traffic *t)
{
    hand_over(t, &t->in);
}

/* ---- taking ---- */

static bool take_out(struct traffic *t, int64_t id, struct table_row *out,
                     enum traffic_found *found)
{
    uint32_t row_slot = id_index_find(&t->out.index, id);
    if (row_slot == PAGES_NONE)
        return false;
    memcpy(out, pages_at(&t->out.slots, row_slot), t->stride);
    *found = out->changed == ROW_FREE ? TRAFFIC_NO_ROW : TRAFFIC_BACK;
    if (*found == TRAFFIC_BACK)
        id_index_remove(&t->out.index, id);
    return true;
}

enum skiff_status traffic_take(struct traffic *t, int64_t id, bool makes, struct table_row *out,
                               enum traffic_found *found, struct skiff_error *err)
{
    struct way *w = &t->in;
    *found = TRAFFIC_ASK_DISK;
    if (take_out(t, id, out, found))
        return SKIFF_OK;
    uint32_t row_slot = id_index_find(&w->index, id);
    if (row_slot == PAGES_NONE)
        return SKIFF_OK;
    struct disk_batch *b = *slot_batch(t, w, row_slot);
    if (b == w->open)
        hand_over(t, w);
    is_done(t, b, true);
    if (b->status < 0)
        return error_set(err, b->status, "%s", b->fault.message);
    memcpy(out, pages_at(&w->slots, row_slot), t->stride);
    *found = out->changed == ROW_FREE ? TRAFFIC_NO_ROW : TRAFFIC_READ;
    if (*found == TRAFFIC_READ || makes) {
        id_index_remove(&w->index, id);
        b->wanted--;
    }
    return SKIFF_OK;
}
