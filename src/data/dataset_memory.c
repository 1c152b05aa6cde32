/* InMemoryDataset: loading, shuffling, handing out.
 *
 * Threads load whole files, each into a store of its own, and note which samples came from which
 * file; then pointers are put together in the order of the files. So the order is that of files and
 * lines however many threads loaded them, and the bytes of a sample are never moved. A sample is a
 * record (record.h), not a batch: a shuffle swaps pointers, and batches are made when they are
 * asked for.
 *
 * Shuffles draw from Philox of (seed, counter): the same seed gives the same order on every
 * machine. Shuffling a slot moves nothing: it keeps for each sample where its shuffled slots come
 * from. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset_parts.h"
#include "data/record.h"

#define LOAD_ROWS 256
#define PLACES 8 /* samples of a batch that are listed one by one */

/* ---- loading ---- */

/* Samples first..first+count of a thread's store come from this file. */
struct segment {
    int file;
    size_t first, count;
};

struct load_thread {
    struct loader *loader;
    struct thread thread;
    struct sample_store store;
    struct segment *segments;
    size_t nsegments;
};

struct loader {
    struct dataset *dataset;
    struct load_thread *threads;
    int nthreads;
    bool drop_zeros;
    int origin; /* of the first file, in dataset.origins */
};

static struct sample_origin origin_of(const struct loader *l, const struct batch *b, int64_t row,
                                      int file)
{
    int64_t line = b->lines[row];
    return (struct sample_origin){
        (uint32_t)(l->origin + file),
        line > INT32_MAX ? 0 : (uint32_t)line | (b->last.samples ? SAMPLE_NUMBER : 0)};
}

static enum skiff_status load_file(struct load_thread *t, struct scan *scan, struct batch *b,
                                   struct skiff_error *err)
{
    struct segment *seg;
    t->segments = mem_grow_or_die(t->segments, (t->nsegments + 1) * sizeof *t->segments);
    seg = &t->segments[t->nsegments++];
    *seg = (struct segment){scan->file, t->store.count, 0};
    for (;;) {
        TRY(batch_reset(b, err));
        enum skiff_status status = scan_rows(scan, b, LOAD_ROWS, err);
        if (status < 0)
            return status;
        for (int64_t row = 0; row < b->rows; row++)
            TRY(store_add(&t->store, b, row, t->loader->drop_zeros,
                          origin_of(t->loader, b, row, seg->file), err));
        seg->count += (size_t)b->rows;
        if (status == SKIFF_END)
            return SKIFF_OK;
    }
}

static void *load_run(void *arg)
{
    struct load_thread *t = arg;
    struct dataset *d = t->loader->dataset;
    struct scan scan;
    struct batch batch = {0};
    struct skiff_error err = {0};
    enum skiff_status status = scan_open(&scan, &d->plan, &err);
    if (status == SKIFF_OK) {
        status = batch_init(&batch, &d->schema, LOAD_ROWS, &err);
        while (status == SKIFF_OK) {
            status = scan_next_file(&scan, &d->cursor, &err);
            if (status == SKIFF_OK)
                status = load_file(t, &scan, &batch, &err);
        }
        if (scan.cache_error.code) {
            pthread_mutex_lock(&d->lock);
            d->cache_error = scan.cache_error;
            pthread_mutex_unlock(&d->lock);
        }
        if (batch.schema)
            batch_deinit(&batch);
        scan_close(&scan);
    }
    if (status < 0)
        dataset_fail(d, &err);
    return NULL;
}

static void loader_free(struct loader *l)
{
    for (int i = 0; i < l->nthreads; i++) {
        store_deinit(&l->threads[i].store);
        free(l->threads[i].segments);
    }
    free(l->threads);
    free(l);
}

static void loader_join(struct loader *l)
{
    for (int i = 0; i < l->nthreads; i++)
        thread_join(&l->threads[i].thread);
}

enum skiff_status dataset_preload(struct dataset *d, int threads, struct skiff_error *err)
{
    TRY(memory_only(d, "load_into_memory", err));
    if (!d->reported_files)
        return error_set(err, SKIFF_STATE, "the dataset has no files: call set_filelist first");
    dataset_stop(d);
    if (threads <= 0)
        threads = d->config.threads;
    if (threads > d->files.count)
        threads = d->files.count ? d->files.count : 1;
    const char *format = d->reader.format ? d->reader.format : "multislot";
    struct loader *l = mem_alloc_or_die(sizeof *l);
    l->dataset = d;
    l->origin = d->origins.count;
    for (int i = 0; i < d->files.count; i++)
        file_list_add(&d->origins, d->files.paths[i]);
    l->drop_zeros = reader_find(format)->drops_zeros && !d->config.keep_zeros;
    l->threads = mem_alloc_or_die((size_t)threads * sizeof *l->threads);
    l->nthreads = threads;
    atomic_store(&d->stop, false);
    atomic_store(&d->cursor.next, 0);
    d->cursor.pieces = NULL;
    d->failed = false;
    for (int i = 0; i < threads; i++) {
        struct load_thread *t = &l->threads[i];
        t->loader = l;
        store_init(&t->store);
        enum skiff_status status = thread_start(&t->thread, "load", i, load_run, t, err);
        if (status < 0) {
            atomic_store(&d->stop, true);
            loader_join(l);
            loader_free(l);
            return status;
        }
    }
    d->loader = l;
    return SKIFF_OK;
}

/* Samples of all threads in the order of the files. */
static enum skiff_status loader_merge(struct loader *l, struct skiff_error *err)
{
    struct dataset *d = l->dataset;
    size_t total = 0;
    for (int i = 0; i < l->nthreads; i++)
        total += l->threads[i].store.count;
    TRY(store_reserve(&d->store, total, err));
    for (int file = 0; file < d->files.count; file++)
        for (int i = 0; i < l->nthreads; i++) {
            const struct load_thread *t = &l->threads[i];
            for (size_t k = 0; k < t->nsegments; k++)
                if (t->segments[k].file == file && t->segments[k].count) {
                    memcpy(d->store.samples + d->store.count,
                           t->store.samples + t->segments[k].first,
                           t->segments[k].count * sizeof *d->store.samples);
                    d->store.count += t->segments[k].count;
                }
        }
    for (int i = 0; i < l->nthreads; i++)
        store_take_blocks(&d->store, &l->threads[i].store);
    return SKIFF_OK;
}

void slots_unshuffle(struct dataset *d)
{
    free(d->shuffled_slots);
    mem_free(d->shuffled_from);
    d->shuffled_slots = NULL;
    d->shuffled_from = NULL;
}

enum skiff_status dataset_wait_preload(struct dataset *d, struct skiff_error *err)
{
    struct loader *l = d->loader;
    if (!l)
        return error_set(err, SKIFF_STATE, "no preload was started");
    loader_join(l);
    d->loader = NULL;
    enum skiff_status status = dataset_failure(d, err);
    if (status == SKIFF_END)
        status = loader_merge(l, err);
    slots_unshuffle(d);
    loader_free(l);
    return status;
}

void memory_abandon_preload(struct dataset *d)
{
    if (!d->loader)
        return;
    atomic_store(&d->stop, true);
    loader_join(d->loader);
    loader_free(d->loader);
    d->loader = NULL;
}

enum skiff_status dataset_load(struct dataset *d, struct skiff_error *err)
{
    TRY(dataset_preload(d, 0, err));
    return dataset_wait_preload(d, err);
}

enum skiff_status dataset_release(struct dataset *d, struct skiff_error *err)
{
    TRY(memory_only(d, "release_memory", err));
    dataset_stop(d);
    memory_deinit(d);
    thread_states_destroy(d);
    d->shuffle_size = 0;
    return SKIFF_OK;
}

void memory_deinit(struct dataset *d)
{
    store_deinit(&d->store);
    file_list_deinit(&d->origins);
    slots_unshuffle(d);
}

int64_t dataset_memory_size(const struct dataset *d)
{
    return (int64_t)d->store.count;
}

int64_t dataset_shuffle_size(const struct dataset *d)
{
    return d->shuffle_size;
}

/* ---- making batches ---- */

size_t sample_bytes(const char *sample)
{
    uint32_t n;
    memcpy(&n, sample, 4);
    return n;
}

/* "FILE:7" */
static void add_origin(const struct dataset *d, size_t at, struct buf *out)
{
    struct sample_origin o = sample_origin(d->store.samples[at]);
    if (o.file == NO_FILE || !o.line)
        buf_printf(out, "sample %zu of %zu in memory", at + 1, d->store.count);
    else
        buf_printf(out, o.line & SAMPLE_NUMBER ? "%s: sample %u" : "%s:%u",
                   d->origins.paths[o.file], o.line & ~SAMPLE_NUMBER);
}

void dataset_position(const struct dataset *d, const struct batch *b, struct buf *out)
{
    if (b->in_memory < 0) {
        batch_position_text(b, out);
        return;
    }
    for (int64_t row = 0; row < b->rows && row < PLACES; row++) {
        buf_str(out, row ? ", " : "");
        add_origin(d, (size_t)(b->in_memory + row), out);
    }
    if (b->rows > PLACES)
        buf_printf(out, " and %" PRId64 " more", b->rows - PLACES);
}

/* The error, prefixed with the origin of its sample. */
static enum skiff_status with_origin(const struct dataset *d, size_t sample,
                                     enum skiff_status status, struct skiff_error *err)
{
    struct buf position = BUF_INIT;
    add_origin(d, sample, &position);
    error_prefix(err, status, "%s", position.data);
    buf_deinit(&position);
    return status;
}

/* For samples that were loaded before the rules were set, or that another worker has sent. */
static enum skiff_status memory_check(const struct dataset *d, const struct batch *b, size_t first,
                                      struct skiff_error *err)
{
    struct breach breach;
    if (!d->plan.rules || rules_hold(d->plan.rules, b, 0))
        return SKIFF_OK;
    for (int64_t row = 0; row < b->rows; row++)
        if (rules_breach(d->plan.rules, b, row, &breach)) {
            enum skiff_status status = rules_word(d->plan.rules, b, &breach, NULL, err);
            return with_origin(d, first + (size_t)row, status, err);
        }
    return SKIFF_OK;
}

/* Takes the next samples for this thread and makes their batch in its next slot. */
static enum skiff_status memory_make(struct dataset *d, struct thread_state *l,
                                     struct skiff_error *err)
{
    size_t want = (size_t)d->config.batch_size;
    size_t from = atomic_fetch_add(&d->next_sample, want);
    if (from >= d->store.count) {
        atomic_store(&d->next_sample, d->store.count); /* never wraps */
        return SKIFF_END;
    }
    size_t to = d->store.count - from < want ? d->store.count : from + want;
    if (d->config.drop_last && to - from < want)
        return SKIFF_END;
    struct batch *b = &l->batches[l->taken % l->nbatches];
    TRY(batch_reset(b, err));
    for (size_t i = from; i < to; i++) {
        const char *p = d->store.samples[i];
        const char *q = d->shuffled_slots ? d->store.samples[d->shuffled_from[i]] : NULL;
        TRY(record_read_mixed(p + 4, sample_bytes(p), q ? q + 4 : NULL, q ? sample_bytes(q) : 0,
                              d->shuffled_slots, b, err));
    }
    b->in_memory = (int64_t)from;
    batch_finish(b);
    TRY(memory_check(d, b, from, err)); /* by rows of text, which a line that is cut up has not */
    enum skiff_status cut = d->config.line_is_batch ? lines_cut(d, b, err) : SKIFF_OK;
    return cut < 0 ? with_origin(d, from, cut, err) : SKIFF_OK;
}

const struct batch *memory_peek(struct dataset *d, struct thread_state *l)
{
    if (!l->peeked) {
        l->peeked_status = memory_make(d, l, &l->peeked_error);
        l->peeked = true;
    }
    return l->peeked_status == SKIFF_OK ? &l->batches[l->taken % l->nbatches] : NULL;
}

enum skiff_status memory_next(struct dataset *d, struct thread_state *l, const struct batch **out,
                              struct skiff_error *err)
{
    if (atomic_load(&d->stop))
        return SKIFF_END;
    enum skiff_status status = l->peeked ? l->peeked_status : memory_make(d, l, err);
    if (l->peeked && status < 0 && err)
        *err = l->peeked_error;
    l->peeked = false;
    if (status == SKIFF_OK)
        *out = &l->batches[l->taken++ % l->nbatches];
    return status;
}

/* ---- shuffling ---- */

size_t draw_below(struct counter_rng *r, size_t n)
{
    uint32_t w[4];
    philox(r->key, 0, r->counter++, w);
    uint64_t x = (uint64_t)w[0] << 32 | w[1];
    return (size_t)(((unsigned __int128)x * n) >> 64);
}

enum skiff_status dataset_local_shuffle(struct dataset *d, uint64_t seed, struct skiff_error *err)
{
    TRY(memory_only(d, "local_shuffle", err));
    dataset_stop(d);
    struct counter_rng r = {seed, 0};
    slots_unshuffle(d);
    for (size_t i = d->store.count; i > 1; i--) {
        size_t k = draw_below(&r, i);
        char *swap = d->store.samples[i - 1];
        d->store.samples[i - 1] = d->store.samples[k];
        d->store.samples[k] = swap;
    }
    return SKIFF_OK;
}

enum skiff_status dataset_slots_shuffle(struct dataset *d, const char *const *slots, int count,
                                        uint64_t seed, struct skiff_error *err)
{
    TRY(memory_only(d, "slots_shuffle", err));
    for (int i = 0; i < count; i++)
        if (schema_find(&d->schema, slots[i]) < 0)
            return error_set(err, SKIFF_NOT_FOUND, "slots_shuffle: there is no slot \"%s\"",
                             slots[i]);
    dataset_stop(d);
    slots_unshuffle(d);
    if (count == 0 || d->store.count == 0)
        return SKIFF_OK;
    size_t bytes;
    void *from;
    if (!mem_mul(d->store.count, sizeof *d->shuffled_from, &bytes))
        return error_set(err, SKIFF_RANGE, "slots_shuffle: %zu samples are too many",
                         d->store.count);
    TRY(mem_alloc(bytes, "slots_shuffle", &from, err));
    d->shuffled_from = from;
    d->shuffled_slots = mem_alloc_or_die((size_t)d->schema.count * sizeof *d->shuffled_slots);
    for (int i = 0; i < count; i++)
        d->shuffled_slots[schema_find(&d->schema, slots[i])] = true;
    struct counter_rng r = {seed, 0};
    for (size_t i = 0; i < d->store.count; i++) {
        size_t k = draw_below(&r, i + 1);
        d->shuffled_from[i] = d->shuffled_from[k];
        d->shuffled_from[k] = i;
    }
    return SKIFF_OK;
}
