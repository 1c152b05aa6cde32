/* Inside dataset: what its files share. */
#ifndef DATA_DATASET_PARTS_H
#define DATA_DATASET_PARTS_H

#include "base/thread.h"
#include "data/dataset.h"

/* State of one training thread. The queue fills batches[produced % n]. Those below `released` are
 * free, those from released to taken are in use by the training thread, the prepared ones follow.
 */
struct thread_state {
    struct dataset *dataset;
    struct scan scan;
    bool scan_open;
    struct batch *batches;
    int nbatches;
    int64_t produced, taken, released;
    bool peeked;                     /* memory: the next batch is ready, or has failed: */
    enum skiff_status peeked_status; /* OK, END or the failure */
    struct skiff_error peeked_error;
    bool done; /* no more will be produced */
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Where a sample in memory was read; stored in front of it. */
struct sample_origin {
    uint32_t file; /* of dataset.origins; NO_FILE: not known (another worker has sent it) */
    uint32_t line; /* or its number among the file's samples, with SAMPLE_NUMBER; 0: not known */
};
#define NO_FILE UINT32_MAX
#define SAMPLE_NUMBER 0x80000000u

/* Samples in memory: blocks of bytes, and where each sample begins (u32 bytes, record). */
struct sample_store {
    char **blocks;             /* mem_alloc */
    size_t nblocks, used, cap; /* used, cap: of the last block */
    char **samples;
    size_t count, samples_cap;
};

void store_init(struct sample_store *s);
void store_deinit(struct sample_store *s);
enum skiff_status store_add(struct sample_store *s, const struct batch *b, int64_t row,
                            bool drop_zeros, struct sample_origin origin, struct skiff_error *err);
/* One sample as bytes: copies a record of n bytes. */
enum skiff_status store_add_bytes(struct sample_store *s, const char *record, size_t n,
                                  struct skiff_error *err);
/* Reserves n more entries of samples. */
enum skiff_status store_reserve(struct sample_store *s, size_t n, struct skiff_error *err);
/* Moves the blocks of `from` to `s`; its sample pointers must have been copied. */
void store_take_blocks(struct sample_store *s, struct sample_store *from);

size_t sample_bytes(const char *sample); /* of its record */
struct sample_origin sample_origin(const char *sample);
/* Hash of its line id; only with merge_by_lineid. */
uint64_t sample_line_id(const char *sample);

/* Random numbers of (seed, counter). */
struct counter_rng {
    uint64_t key, counter;
};
/* Uniform in 0 .. n-1 (the bias, n / 2^64, is negligible). */
size_t draw_below(struct counter_rng *r, size_t n);

struct loader;

struct dataset {
    struct schema schema;
    struct reader_config reader;
    struct dataset_config config; /* its texts are owned */
    struct file_list files;
    bool reported_files; /* dataset_set_files was called: an empty list is deliberate */
    struct scan_plan plan;
    struct data_rules rules; /* of the plan; no slots: none */
    struct bad_lines bad;
    struct metrics *own_metrics; /* NULL: they are the owner's (config.metrics) */
    struct scan_metrics metrics;
    struct file_cursor cursor;
    struct file_piece *pieces; /* of the cursor; NULL: whole files */
    bool read_stdin;           /* an epoch has consumed it */
    struct thread_state *thread_states;
    int nthread_states;
    bool started;
    atomic_bool stop;
    pthread_mutex_t lock; /* of the error */
    bool failed;
    struct skiff_error error, cache_error;
    /* memory */
    struct sample_store store;
    struct file_list origins; /* files that samples in memory are from */
    atomic_size_t next_sample;
    struct loader *loader; /* while a preload runs */
    bool *shuffled_slots;  /* per slot, or NULL */
    size_t *shuffled_from; /* per sample: where its shuffled slots come from */
    int64_t shuffle_size;
    struct schema visible; /* the schema that users see: without the line id */
    int64_t merge_dropped;
};

/* Stores the first error and stops all threads. */
void dataset_fail(struct dataset *d, const struct skiff_error *err);
enum skiff_status dataset_failure(struct dataset *d, struct skiff_error *err);

void thread_states_destroy(struct dataset *d);
enum skiff_status queue_start(struct dataset *d, struct skiff_error *err);
enum skiff_status queue_next(struct dataset *d, struct thread_state *l, const struct batch **out,
                             struct skiff_error *err);
const struct batch *queue_peek(struct dataset *d, struct thread_state *l);
void queue_stop(struct dataset *d);
enum skiff_status memory_next(struct dataset *d, struct thread_state *l, const struct batch **out,
                              struct skiff_error *err);
const struct batch *memory_peek(struct dataset *d, struct thread_state *l);
void memory_deinit(struct dataset *d);
void slots_unshuffle(struct dataset *d);
enum skiff_status memory_merge(struct dataset *d, struct skiff_error *err);
void memory_abandon_preload(struct dataset *d);
enum skiff_status memory_only(const struct dataset *d, const char *call, struct skiff_error *err);

/* line_is_batch (dataset_lines.c): slots for reading; a finished batch cut into its samples. */
enum skiff_status lines_prepare(struct dataset *d, struct skiff_error *err);
enum skiff_status lines_cut(const struct dataset *d, struct batch *b, struct skiff_error *err);

#endif
