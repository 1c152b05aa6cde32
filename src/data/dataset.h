/* Dataset: files in, batches out, for one or many training threads.
 *
 *   QueueDataset     streams: every training thread has its own reader thread that prepares up to
 *                    `ahead` batches; files are taken one by one; a batch may span two files of its
 *                    thread. Memory does not depend on the size of the files.
 *   InMemoryDataset  loads all samples once; they can be shuffled and read again and again. Threads
 *                    take batches in turn.
 *
 * With one thread the batches come in the order of the files and lines (InMemory: of the last
 * shuffle), the same every time. A loaded dataset is in the order of files and lines however many
 * threads loaded it.
 *
 * Use: create; [memory: load, shuffle]; per epoch: start, then dataset_next per thread until END;
 * stop ends an epoch early. Not thread-safe except dataset_next and dataset_peek, each thread with
 * its own number, and dataset_progress. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <skiff/exchange.h>

#include "data/scan.h"

enum dataset_kind { DATASET_QUEUE, DATASET_MEMORY };

struct dataset_config {
    enum dataset_kind kind;
    const struct schema *schema; /* copied */
    struct reader_config reader; /* copied */
    const char *pipe_command;    /* NULL or "cat": none */
    int threads;                 /* queue: at most one per file is used; 0: 1 */
    int64_t batch_size;          /* 0: Paddle's default, 32 */
    int prefetch;     /* queue: batches prepared by the reader thread; 0: 4; -1: no reader
                         threads, dataset_next reads itself */
    bool split_files; /* queue: with fewer files than threads, cut plain files of line formats into
                         pieces, so that all threads have work; a header or pipe forbids it */
    bool drop_last;   /* drop a last batch that is not full */
    bool cache;
    const char *cache_dir;
    int64_t bad_limit; /* see bad_lines */
    void (*on_bad)(void *arg, const char *file, int64_t line, const struct skiff_error *why);
    void (*on_idle)(void *on_idle_arg, const char *file, int64_t lines);
    void *on_idle_arg;
    void (*on_odd)(void *arg, const char *file, int64_t line, const char *name);
    void *on_bad_arg;     /* of all */
    int64_t unpack_ratio; /* see scan_plan */
    int64_t idle_lines;
    bool merge_by_lineid; /* memory, multislot: lines begin with `1 <ins_id>`; global_shuffle makes
                             one sample of those with the same id */
    bool line_is_batch;   /* memory, multislot, batch_size 1: Paddle's input_type 1 */
    bool keep_ids;        /* queue: batches keep the rows' ids (batch.h, places) */
    int64_t merge_size;   /* a group of another size is dropped; 0: any size */
    const struct data_rules *rules; /* copied; NULL: those of dataset_set_rules, if any */
    bool keep_zeros;                /* memory: do not drop zero ids, whatever the format */
    size_t max_line;
    struct metrics *metrics; /* registry; NULL: one of its own */
};

void dataset_config_init(struct dataset_config *c);
/* Sets a setting by name: cache, drop_last, bad_lines, split_files, unpack_ratio, idle_lines,
 * merge_by_lineid, line_is_batch, and settings of the reader. */
enum skiff_status dataset_config_set(struct dataset_config *c, const char *key, const char *value,
                                     struct skiff_error *err);

struct dataset;

enum skiff_status dataset_create(const struct dataset_config *config, struct dataset **out,
                                 struct skiff_error *err);
void dataset_destroy(struct dataset *d); /* stops it first */

/* Replaces the file list: names are expanded as in file_list_expand. Ends a running epoch; samples
 * in memory stay. */
enum skiff_status dataset_set_files(struct dataset *d, const char *const *names, int count,
                                    struct skiff_error *err);

/* Changes the number of threads from the next dataset_start on; returns the previous one. */
int dataset_set_threads(struct dataset *d, int threads);

/* Sets rules for values that a program would refuse, for the following epochs; ignored when the
 * config had some. NULL: none. Samples in memory are checked when batches are made of them. */
void dataset_set_rules(struct dataset *d, const struct data_rules *rules);

/* Begins an epoch from the first file or sample; ends a running one. Returns the number of threads
 * that get batches in *out_threads. */
enum skiff_status dataset_start(struct dataset *d, int *out_threads, struct skiff_error *err);
/* The next batch for this thread (0 .. threads-1); END when there is none left. May block for the
 * reader. *out holds until the second next call of the same thread, so that the batch before may
 * still be in use. After a failure every thread that asks gets the same error (one that has seen
 * its END before does not). */
enum skiff_status dataset_next(struct dataset *d, int thread, const struct batch **out,
                               struct skiff_error *err);
/* The batch that this thread's next dataset_next will return, or NULL: not known yet, or none left.
 * Never waits for a reader. Valid as long as that batch. */
const struct batch *dataset_peek(struct dataset *d, int thread);
/* Appends the files and lines that a returned batch is from. */
void dataset_position(const struct dataset *d, const struct batch *b, struct buf *out);
/* The batch that this thread's last dataset_next returned; valid as long as that. */
const struct batch *dataset_current(const struct dataset *d, int thread);
/* Ends the epoch: kills pipe commands, joins reader threads. Returned batches become invalid. */
void dataset_stop(struct dataset *d);

/* Makes dataset_next return END soon, including calls that are waiting; from any thread. The epoch
 * is over then: call dataset_stop next. */
void dataset_interrupt(struct dataset *d);

/* Share of the epoch's input that has been read, 0 .. 1; -1 when it cannot be known (standard
 * input). */
double dataset_progress(const struct dataset *d);
int64_t
dataset_bad_lines(const struct dataset *d); /* bad lines skipped so far in this epoch, or load */
int64_t dataset_file_count(const struct dataset *d); /* after expansion */
const struct file_list *dataset_files(const struct dataset *d);
const struct schema *dataset_schema(const struct dataset *d);
/* Why a cache could not be written, or NULL. */
const char *dataset_cache_error(const struct dataset *d);

/* ---- InMemoryDataset; STATE on a QueueDataset ---- */

/* Loads all files with the dataset's threads; adds to what is there. A failed load leaves what was
 * there before. */
enum skiff_status dataset_load(struct dataset *d, struct skiff_error *err);
/* The same in the background: with `threads` threads (0: the dataset's); wait returns its outcome.
 * Nothing else may be called between them. */
enum skiff_status dataset_preload(struct dataset *d, int threads, struct skiff_error *err);
enum skiff_status dataset_wait_preload(struct dataset *d, struct skiff_error *err);
/* Shuffles the samples in place; the same seed on the same samples gives the same order. */
enum skiff_status dataset_local_shuffle(struct dataset *d, uint64_t seed, struct skiff_error *err);
/* Gives every sample the values of these slots of another sample (a random permutation), to measure
 * how much a slot matters. A second call starts from the samples as they were loaded; without slots
 * it restores them. Unknown slot: NOT_FOUND. */
enum skiff_status dataset_slots_shuffle(struct dataset *d, const char *const *slots, int count,
                                        uint64_t seed, struct skiff_error *err);
/* Drops all samples. */
enum skiff_status dataset_release(struct dataset *d, struct skiff_error *err);
int64_t dataset_memory_size(const struct dataset *d);
/* Samples that the last global shuffle left here; 0 before the first. */
int64_t dataset_shuffle_size(const struct dataset *d);

/* Sends every sample to a random worker (with merge_by_lineid: to that of its line id), then
 * shuffles the local ones, then merges if the config says so. All workers call it with the same
 * seed, between barriers. NULL or one worker: a local shuffle. On failure, also of another worker,
 * the samples are unchanged. */
enum skiff_status dataset_global_shuffle(struct dataset *d, const struct skiff_exchange *exchange,
                                         uint64_t seed, struct skiff_error *err);
/* Samples that the last merge by line id dropped. */
int64_t dataset_merge_dropped(const struct dataset *d);
/* Threads that will get batches: a QueueDataset gives a file, or a piece of one, to each. */
int dataset_usable_threads(struct dataset *d);

#endif
