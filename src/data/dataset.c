/* The common part of both kinds of datasets: settings, files, states of threads, the first
 * error, epochs.
 *
 * Settings are tried when the dataset is made (a reader is created and dropped), so that a wrong
 * one is reported then and not by a reader thread. Every training thread has a state with its own
 * batches; states are kept from epoch to epoch, and with them the memory of the batches.
 *
 * Paddle assigns complete files, so with fewer files than threads some threads have no work. Where
 * a format allows it, files are cut into several pieces for each thread instead (pieces_make), so
 * that threads end at about the same time. */
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "data/dataset_parts.h"
#include "data/pipe.h"

#define DEFAULT_BATCH 32
#define DEFAULT_AHEAD 4
#define THREADS_MAX 1024
#define PIECES_PER_THREAD 4 /* so that threads end at about the same time */

void dataset_config_init(struct dataset_config *c)
{
    *c = (struct dataset_config){0};
    reader_config_init(&c->reader);
}

#define AT(field) offsetof(struct dataset_config, field)

static const struct option rows[] = {
    {"cache", OPTION_BOOL, AT(cache),
     .help = "keeps what was read beside the files, in Skiff's form"},
    {"drop_last", OPTION_BOOL, AT(drop_last), .help = "leaves out a last batch that is not full"},
    {"bad_lines", OPTION_LONG, AT(bad_limit), .low = -1, .high = INT64_MAX,
     .help = "so many are left out; -1: any number"},
    {"unpack_ratio", OPTION_LONG, AT(unpack_ratio), .low = -1, .high = INT64_MAX / 2,
     .help = "compressed files may unpack to so many times their size; -1: any"},
    {"idle_lines", OPTION_LONG, AT(idle_lines), .low = -1, .high = INT64_MAX / 2,
     .help = "a file that begins with so many lines and no sample is refused; -1: any"},
    {"split_files", OPTION_BOOL, AT(split_files),
     .help = "cuts files when there are fewer than threads"},
    {"merge_by_lineid", OPTION_LONG, AT(merge_size), .low = 0, .high = INT64_MAX,
     .given = AT(merge_by_lineid), .help = "size of the groups that become one sample; 0: any"},
    {"line_is_batch", OPTION_BOOL, AT(line_is_batch),
     .help =
         "multislot, in memory: every line is a batch, every id a sample (Paddle's input_type)"},
    {0}};
static const struct options dataset_options = {
    .what = "dataset setting", .rows = rows, .next = &reader_options, .next_at = AT(reader)};

enum skiff_status dataset_config_set(struct dataset_config *c, const char *key, const char *value,
                                     struct skiff_error *err)
{
    return options_set(&dataset_options, c, key, value, err);
}

static char *copy_text(const char *s)
{
    return s ? mem_strdup_or_die(s) : NULL;
}

static enum skiff_status check_config(const struct dataset_config *c, struct skiff_error *err)
{
    if (c->batch_size < 0)
        return error_set(err, SKIFF_INVALID, "batch size %lld: at least 1 is needed",
                         (long long)c->batch_size);
    if (c->threads < 0 || c->threads > THREADS_MAX)
        return error_set(err, SKIFF_INVALID, "thread count %d: 1 to %d are possible", c->threads,
                         THREADS_MAX);
    if (!c->schema || c->schema->count == 0)
        return error_set(err, SKIFF_INVALID, "the dataset has no slots: call set_use_var first");
    return SKIFF_OK;
}

/* Samples carry the hash of their line id as a last, hidden slot. */
static enum skiff_status add_line_id(struct dataset *d, struct skiff_error *err)
{
    const struct shape one = SHAPE(-1, 1);
    if (d->config.kind != DATASET_MEMORY ||
        (d->reader.format && strcmp(d->reader.format, "multislot")))
        return error_set(err, SKIFF_INVALID,
                         "merge_by_lineid needs an InMemoryDataset of MultiSlot text");
    d->reader.parse_ins_id = d->reader.keep_ins_id = true;
    return schema_add(&d->schema, "@ins_id", DTYPE_INT64, 0, &one, err);
}

static void set_rules(struct dataset *d, const struct data_rules *rules)
{
    rules_deinit(&d->rules);
    if (rules)
        rules_copy(&d->rules, rules);
    d->plan.rules = rules ? &d->rules : NULL;
}

void dataset_set_rules(struct dataset *d, const struct data_rules *rules)
{
    if (d->config.rules)
        return;
    dataset_stop(d);
    set_rules(d, rules);
}

enum skiff_status dataset_create(const struct dataset_config *config, struct dataset **out,
                                 struct skiff_error *err)
{
    struct reader *probe;
    struct dataset *d;
    TRY(check_config(config, err));
    d = mem_alloc_or_die(sizeof *d);
    d->config = *config;
    d->config.pipe_command = copy_text(config->pipe_command);
    d->config.cache_dir = copy_text(config->cache_dir);
    if (!d->config.batch_size)
        d->config.batch_size = DEFAULT_BATCH;
    if (!d->config.threads)
        d->config.threads = 1;
    if (!d->config.prefetch)
        d->config.prefetch = DEFAULT_AHEAD;
    reader_config_copy(&d->reader, &config->reader);
    pthread_mutex_init(&d->lock, NULL);
    bad_lines_init(&d->bad, config->bad_limit);
    d->bad.on_bad = config->on_bad;
    d->bad.on_idle = config->on_idle;
    d->bad.idle_arg = config->on_idle_arg;
    d->bad.on_odd = config->on_odd;
    d->bad.arg = config->on_bad_arg;
    if (!config->metrics)
        d->config.metrics = d->own_metrics = metrics_create(NULL, 0);
    scan_metrics_init(&d->metrics, d->config.metrics);
    store_init(&d->store);
    d->plan = (struct scan_plan){.schema = &d->schema,
                                 .reader = &d->reader,
                                 .pipe_command = d->config.pipe_command,
                                 .cache = config->cache,
                                 .cache_dir = d->config.cache_dir,
                                 .max_line = config->max_line,
                                 .unpack_ratio = config->unpack_ratio,
                                 .idle_lines = config->idle_lines,
                                 .bad = &d->bad,
                                 .metrics = &d->metrics,
                                 .stop = &d->stop};
    set_rules(d, config->rules);
    d->cursor.files = &d->files;
    enum skiff_status status = schema_copy(&d->schema, config->schema, err);
    if (status == SKIFF_OK)
        status = schema_copy(&d->visible, config->schema, err);
    if (status == SKIFF_OK && config->merge_by_lineid)
        status = add_line_id(d, err);
    if (status == SKIFF_OK && config->line_is_batch)
        status = lines_prepare(d, err);
    if (status == SKIFF_OK)
        status = reader_create(&d->reader, &d->schema, &probe, err); /* settings that do not fit */
    if (status < 0) {
        dataset_destroy(d);
        return status;
    }
    reader_destroy(probe);
    *out = d;
    return SKIFF_OK;
}

void dataset_destroy(struct dataset *d)
{
    if (!d)
        return;
    memory_abandon_preload(d);
    dataset_stop(d);
    memory_deinit(d);
    thread_states_destroy(d);
    free(d->pieces);
    file_list_deinit(&d->files);
    reader_config_deinit(&d->reader);
    rules_deinit(&d->rules);
    schema_deinit(&d->schema);
    schema_deinit(&d->visible);
    bad_lines_deinit(&d->bad);
    metrics_destroy(d->own_metrics);
    pthread_mutex_destroy(&d->lock);
    free((char *)d->config.pipe_command);
    free((char *)d->config.cache_dir);
    free(d);
}

enum skiff_status dataset_set_files(struct dataset *d, const char *const *names, int count,
                                    struct skiff_error *err)
{
    struct file_list files;
    enum skiff_status status = SKIFF_OK;
    file_list_init(&files);
    for (int i = 0; status == SKIFF_OK && i < count; i++)
        status = file_list_expand(&files, names[i], err);
    if (status < 0) {
        file_list_deinit(&files);
        return status;
    }
    dataset_stop(d);
    file_list_deinit(&d->files);
    d->files = files;
    d->reported_files = true;
    return SKIFF_OK;
}

void thread_states_destroy(struct dataset *d)
{
    for (int i = 0; i < d->nthread_states; i++) {
        struct thread_state *l = &d->thread_states[i];
        for (int k = 0; k < l->nbatches; k++)
            batch_deinit(&l->batches[k]);
        free(l->batches);
        pthread_mutex_destroy(&l->lock);
        pthread_cond_destroy(&l->changed);
    }
    free(d->thread_states);
    d->thread_states = NULL;
    d->nthread_states = 0;
}

/* Keeps the states of the last epoch when their number is the same. */
static enum skiff_status thread_states_create(struct dataset *d, int threads, int nbatches,
                                              struct skiff_error *err)
{
    if (d->nthread_states != threads) {
        thread_states_destroy(d);
        d->thread_states = mem_alloc_or_die((size_t)threads * sizeof *d->thread_states);
        d->nthread_states = threads;
        for (int i = 0; i < threads; i++) {
            struct thread_state *l = &d->thread_states[i];
            l->dataset = d;
            pthread_mutex_init(&l->lock, NULL);
            cond_init(&l->changed);
            l->batches = mem_alloc_or_die((size_t)nbatches * sizeof *l->batches);
        }
    }
    for (int i = 0; i < threads; i++) {
        struct thread_state *l = &d->thread_states[i];
        l->produced = l->taken = l->released = 0;
        l->done = l->peeked = false;
        for (; l->nbatches < nbatches; l->nbatches++)
            TRY(batch_init(&l->batches[l->nbatches], &d->schema, d->config.batch_size, err));
    }
    return SKIFF_OK;
}

/* Cuts the bytes of file `file` into `count` pieces; one when there are fewer bytes than pieces. */
static int pieces_cut(struct file_piece *out, int file, int64_t bytes, int count)
{
    int64_t step = bytes / count;
    if (step == 0) {
        out[0] = (struct file_piece){file, 0, bytes};
        return 1;
    }
    for (int k = 0; k < count; k++)
        out[k] = (struct file_piece){file, step * k, k == count - 1 ? bytes : step * (k + 1)};
    return count;
}

/* Cuts files when there are fewer than threads, unless they cannot be cut: compressed files, pipe
 * commands, formats with a header, the cache. */
static void pieces_make(struct dataset *d)
{
    const struct reader_class *class =
        reader_find(d->reader.format ? d->reader.format : "multislot");
    int per_file = (d->config.threads + d->files.count - 1) / d->files.count * PIECES_PER_THREAD;
    int64_t bytes;
    int n = 0;
    free(d->pieces);
    d->pieces = NULL;
    d->cursor.pieces = NULL;
    if (!d->config.split_files || d->config.cache || d->files.count >= d->config.threads ||
        !class->line || class->begin || !pipe_is_plain(d->config.pipe_command))
        return;
    for (int i = 0; i < d->files.count; i++)
        if (!stream_is_plain(d->files.paths[i], &bytes))
            return;
    d->pieces = mem_alloc_or_die((size_t)d->files.count * (size_t)per_file * sizeof *d->pieces);
    for (int i = 0; i < d->files.count; i++)
        if (stream_is_plain(d->files.paths[i], &bytes))
            n += pieces_cut(d->pieces + n, i, bytes, per_file);
    d->cursor.pieces = d->pieces;
    d->cursor.npieces = n;
}

int dataset_usable_threads(struct dataset *d)
{
    int threads = d->config.threads;
    if (d->config.kind != DATASET_QUEUE || d->files.count == 0)
        return threads;
    pieces_make(d);
    int most = d->pieces ? d->cursor.npieces : d->files.count;
    return threads < most ? threads : most;
}

/* Standard input is gone when it has been read once. */
static enum skiff_status check_stdin(struct dataset *d, struct skiff_error *err)
{
    for (int i = 0; i < d->files.count; i++) {
        if (strcmp(d->files.paths[i], "-") != 0)
            continue;
        if (d->read_stdin)
            return error_set(
                err, SKIFF_STATE,
                "standard input can be read only once: for more epochs use files, or an "
                "InMemoryDataset");
        d->read_stdin = true;
    }
    return SKIFF_OK;
}

int dataset_set_threads(struct dataset *d, int threads)
{
    int before = d->config.threads;
    if (threads > 0 && threads <= THREADS_MAX)
        d->config.threads = threads;
    return before;
}

enum skiff_status dataset_start(struct dataset *d, int *out_threads, struct skiff_error *err)
{
    if (d->loader)
        return error_set(err, SKIFF_STATE, "a preload is running: call wait_preload_done first");
    dataset_stop(d);
    bool queue = d->config.kind == DATASET_QUEUE;
    int threads = d->config.threads;
    if (queue && d->files.count == 0)
        return error_set(err, SKIFF_STATE, "the dataset has no files: call set_filelist first");
    if (queue) {
        TRY(check_stdin(d, err));
        threads = dataset_usable_threads(d);
    }
    int nbatches = queue && d->config.prefetch > 0 ? d->config.prefetch + 2 : 3;
    TRY(thread_states_create(d, threads, nbatches, err));
    atomic_store(&d->stop, false);
    atomic_store(&d->cursor.next, 0);
    atomic_store(&d->next_sample, 0);
    d->failed = false;
    d->started = true;
    if (queue) {
        atomic_store(&d->bad.count, 0); /* every epoch reads the same lines again */
        enum skiff_status status = queue_start(d, err);
        if (status < 0) {
            dataset_stop(d);
            return status;
        }
    }
    *out_threads = threads;
    return SKIFF_OK;
}

void dataset_fail(struct dataset *d, const struct skiff_error *err)
{
    pthread_mutex_lock(&d->lock);
    /* a thread that was stopped because of that error adds nothing */
    if (!d->failed && !(err->code == SKIFF_STATE && atomic_load(&d->stop))) {
        d->failed = true;
        d->error = *err;
    }
    pthread_mutex_unlock(&d->lock);
    atomic_store(&d->stop, true);
}

void dataset_interrupt(struct dataset *d)
{
    atomic_store(&d->stop, true);
}

enum skiff_status dataset_failure(struct dataset *d, struct skiff_error *err)
{
    pthread_mutex_lock(&d->lock);
    enum skiff_status status = d->failed ? d->error.code : SKIFF_END;
    if (d->failed && err)
        *err = d->error;
    pthread_mutex_unlock(&d->lock);
    return status;
}

enum skiff_status dataset_next(struct dataset *d, int thread, const struct batch **out,
                               struct skiff_error *err)
{
    if (!d->started || thread < 0 || thread >= d->nthread_states)
        return error_set(err, SKIFF_STATE, "thread %d asks for a batch, but %s", thread,
                         d->started ? "the epoch has fewer threads" : "no epoch was started");
    struct thread_state *l = &d->thread_states[thread];
    if (d->config.kind == DATASET_QUEUE)
        return queue_next(d, l, out, err);
    return memory_next(d, l, out, err);
}

const struct batch *dataset_peek(struct dataset *d, int thread)
{
    if (!d->started || thread < 0 || thread >= d->nthread_states || atomic_load(&d->stop))
        return NULL;
    struct thread_state *l = &d->thread_states[thread];
    return d->config.kind == DATASET_QUEUE ? queue_peek(d, l) : memory_peek(d, l);
}

const struct batch *dataset_current(const struct dataset *d, int thread)
{
    const struct thread_state *l = &d->thread_states[thread];
    return &l->batches[(l->taken - 1) % l->nbatches];
}

void dataset_stop(struct dataset *d)
{
    if (d->started && d->config.kind == DATASET_QUEUE)
        queue_stop(d);
    d->started = false;
}

double dataset_progress(const struct dataset *d)
{
    if (d->config.kind == DATASET_MEMORY) {
        size_t at = atomic_load(&d->next_sample);
        if (d->store.count == 0)
            return 1;
        return at < d->store.count ? (double)at / (double)d->store.count : 1;
    }
    if (d->files.bytes == 0)
        return -1;
    int64_t done = 0;
    for (int i = 0; i < d->nthread_states; i++)
        done += atomic_load_explicit(&d->thread_states[i].scan.bytes_done, memory_order_relaxed);
    return done < d->files.bytes ? (double)done / (double)d->files.bytes : 1;
}

int64_t dataset_bad_lines(const struct dataset *d)
{
    return atomic_load(&d->bad.count);
}

int64_t dataset_file_count(const struct dataset *d)
{
    return d->files.count;
}

const struct file_list *dataset_files(const struct dataset *d)
{
    return &d->files;
}

const struct schema *dataset_schema(const struct dataset *d)
{
    return &d->visible;
}

const char *dataset_cache_error(const struct dataset *d)
{
    return d->cache_error.code ? d->cache_error.message : NULL;
}

enum skiff_status memory_only(const struct dataset *d, const char *call, struct skiff_error *err)
{
    if (d->config.kind != DATASET_MEMORY)
        return error_set(err, SKIFF_STATE, "%s: a QueueDataset streams; InMemoryDataset has it",
                         call);
    if (d->loader)
        return error_set(err, SKIFF_STATE, "%s: a preload is running, wait for it first", call);
    return SKIFF_OK;
}
