/* Training from files: datasets, train_from_dataset, infer_from_dataset.
 *
 *     struct skiff_dataset *d = skiff_dataset_create("QueueDataset", &err);
 *     skiff_dataset_set_vars(d, inputs, ninputs);
 *     skiff_dataset_set(d, "format", "criteo");
 *     skiff_dataset_set_batch_size(d, 1000);
 *     skiff_dataset_set_threads(d, 2);
 *     skiff_dataset_set_files(d, files, nfiles);
 *     skiff_executor_train(exe, skiff_net_main(net), d, NULL, NULL, &err);
 *
 * Setters keep the first error for the next call that returns a status. Threads: one dataset, one
 * thread; while it is trained from, nothing may be called on it. */
#ifndef SKIFF_TRAIN_H
#define SKIFF_TRAIN_H

#include <skiff/exchange.h>
#include <skiff/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_dataset;

/* kind: "QueueDataset" streams the files; "InMemoryDataset" loads them first. */
SKIFF_API struct skiff_dataset *skiff_dataset_create(const char *kind, struct skiff_error *err);
SKIFF_API void skiff_dataset_destroy(struct skiff_dataset *d); /* NULL is fine */

/* set_use_var: the variables that samples have, in the order of the text; float32 or int64. */
SKIFF_API void skiff_dataset_set_vars(struct skiff_dataset *d, struct skiff_var *const *vars,
                                      int n);
SKIFF_API void skiff_dataset_set_batch_size(struct skiff_dataset *d, int64_t n); /* 32 */
SKIFF_API void skiff_dataset_set_threads(struct skiff_dataset *d, int n);        /* 1 */
/* Files, folders, patterns, "-". */
SKIFF_API void skiff_dataset_set_files(struct skiff_dataset *d, const char *const *files, int n);
/* A program that turns a file (its standard input) into MultiSlot text. NULL or "cat": none. */
SKIFF_API void skiff_dataset_set_pipe_command(struct skiff_dataset *d, const char *command);
/* A setting of the reader: "format" (multislot, criteo, slot_text, ...), "hash", "hash_size", ...;
 * docs/reference/c-api.md lists them under "Settings of datasets", with their keys in configs. And
 * "cache" (true), "bad_lines" (a number), "drop_last" (true), "split_files" (true: a QueueDataset
 * with fewer files than threads cuts plain files), "parse_ins_id", "parse_content", "parse_logkey"
 * (true: lines begin with `1 <text>` for each), "merge_by_lineid" (the size of a group, Paddle's
 * default is 2; 0: any): global_shuffle makes one sample of those with the same ins_id;
 * "line_is_batch" (true: Paddle's input_type 1). */
SKIFF_API void skiff_dataset_set(struct skiff_dataset *d, const char *key, const char *value);

/* InMemoryDataset. */
SKIFF_API enum skiff_status skiff_dataset_load(struct skiff_dataset *d, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_dataset_preload(struct skiff_dataset *d, int threads,
                                                  struct skiff_error *err);
SKIFF_API enum skiff_status skiff_dataset_wait_preload(struct skiff_dataset *d,
                                                       struct skiff_error *err);
SKIFF_API enum skiff_status skiff_dataset_local_shuffle(struct skiff_dataset *d, uint64_t seed,
                                                        struct skiff_error *err);
/* Spreads the samples of all workers over all workers at random; every worker calls it with the
 * same seed. exchange NULL: there is one worker, and this is a local shuffle. On failure the
 * samples are as before. */
SKIFF_API enum skiff_status skiff_dataset_global_shuffle(struct skiff_dataset *d,
                                                         const struct skiff_exchange *exchange,
                                                         uint64_t seed, struct skiff_error *err);
/* Samples that the last global shuffle left here. */
SKIFF_API int64_t skiff_dataset_shuffle_size(const struct skiff_dataset *d);
SKIFF_API enum skiff_status skiff_dataset_slots_shuffle(struct skiff_dataset *d,
                                                        const char *const *slots, int n,
                                                        uint64_t seed, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_dataset_release(struct skiff_dataset *d, struct skiff_error *err);
SKIFF_API int64_t skiff_dataset_memory_size(const struct skiff_dataset *d);

/* Reading by hand: begin, then next until SKIFF_END. The feeds hold until the second next call. */
SKIFF_API enum skiff_status skiff_dataset_begin(struct skiff_dataset *d, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_dataset_next(struct skiff_dataset *d,
                                               const struct skiff_feed **out_feeds, int *out_n,
                                               int64_t *out_rows, struct skiff_error *err);

/* Everything may be left out. */
struct skiff_train_options {
    int threads; /* 0: the dataset's */
    /* Thread 0 gives every print_period-th of its batches as text, in the form that Paddle prints,
     * to `print`. info NULL: the names. */
    const char *const *fetch_list, *const *fetch_info;
    int nfetch;
    int print_period; /* 100 */
    void (*print)(void *user, const char *text);
    /* debug: every 100 batches of thread 0, the mean time of every op and of reading. */
    void (*print_debug)(void *user, const char *text);
    /* Fetch handler: every period_secs on a thread of its own, with the values of thread 0 after a
     * batch; values[i] is NULL for a variable that no op writes. Borrowed for the call. */
    const char *const *handler_vars;
    int nhandler_vars;
    double handler_period_secs; /* 60 */
    void (*handler)(void *user, const struct skiff_tensor *const *values);
    /* Once it returns true, threads end after their current batch. All threads call it. */
    bool (*wants_stop)(void *user);
    void *user;
    uint64_t reserved[4];
};

struct skiff_train_result {
    int64_t batches, samples;
    double seconds;
    double read_seconds, compute_seconds; /* summed over the threads */
    bool stopped;
    /* Of this pass, exact over all samples and threads; NAN where the program has no such variable.
     * loss: the mean of the minimized variable, batches weighted by their samples. The others: of
     * the prediction and label of the program's first auc op; auc is NAN with labels of one class,
     * copc is clicks over predicted clicks. */
    double loss, auc, log_loss, copc;
    uint64_t reserved[4];
};

/* One pass over the dataset by several threads that share the parameters without locks. States and
 * results of metrics (auc) are exact over all threads: skiff_scope_find finds both. options, result
 * may be NULL. */
SKIFF_API enum skiff_status
skiff_executor_train(struct skiff_executor *e, const struct skiff_program *p,
                     struct skiff_dataset *d, const struct skiff_train_options *options,
                     struct skiff_train_result *result, struct skiff_error *err);
/* The same without backward and optimizer ops, and with fresh metrics. */
SKIFF_API enum skiff_status
skiff_executor_infer(struct skiff_executor *e, const struct skiff_program *p,
                     struct skiff_dataset *d, const struct skiff_train_options *options,
                     struct skiff_train_result *result, struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
