/* Search for better values of keys of a config, as `skiff tune` does: many runs of the trainer,
 * each in a process of its own, compared by validation.
 *
 *     const char *tries[] = {"runner.train_batch_size=64,256",
 *                            "hyper_parameters.optimizer.learning_rate=log:1e-4..1e-1"};
 *     struct skiff_tune *t = skiff_tune_run(
 *         &(struct skiff_tune_config){.config = "config.yaml", .tries = tries, .ntries = 2}, &err);
 *     const struct skiff_tune_trial *best = skiff_tune_trial(t, 0);
 *     skiff_tune_destroy(t);
 *
 * Trials are made by fork: the caller must have no other threads. All that is known of the search
 * is in its folder; a search that was stopped, or killed, resumes from it.
 * Threads: one owner. */
#ifndef SKIFF_TUNE_H
#define SKIFF_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum skiff_tune_method {
    SKIFF_TUNE_RANDOM,
    SKIFF_TUNE_GRID,   /* all combinations; a range has 3 values */
    SKIFF_TUNE_HALVING /* random ones; the best third trains on, three times as long */
};

enum skiff_tune_state {
    SKIFF_TUNE_WAITING,
    SKIFF_TUNE_STOPPED, /* successive halving has left it behind */
    SKIFF_TUNE_DONE,
    SKIFF_TUNE_FAILED
};

struct skiff_tune_trial {
    int number; /* from 0 */
    enum skiff_tune_state state;
    const char *const *values; /* "runner.train_batch_size=64", one for each key that is tried */
    int nvalues;
    double value; /* of the metric, at the best point of validation; NAN: there is none */
    int epochs, best_epoch;
    double seconds;
    const char *error;  /* FAILED */
    const char *folder; /* of its models */
    /* over seeds, where it was repeated: */
    int seeds;
    double mean, low, high;
    uint64_t reserved[4];
};

/* Everything but config and tries may be left out. */
struct skiff_tune_config {
    const char *config;         /* a file in YAML; it needs runner.valid_data_dir */
    const char *const *options; /* "runner.thread_num=1", for all trials */
    int noptions;
    /* "KEY=a,b,c", "KEY=1..9" (whole numbers), "KEY=0.1..0.5", "KEY=log:1e-4..1e-1" */
    const char *const *tries;
    int ntries;
    enum skiff_tune_method method;
    int trials;    /* random, halving: how many; 0: 20 */
    int jobs;      /* trials at the same time; 0: as many as cores hold, by runner.thread_num */
    int seeds;     /* the best three are trained with so many seeds in all; 0: 1 */
    uint64_t seed; /* of the choice of values; 0: runner.seed */
    const char *folder; /* of the search; NULL: <runner.model_save_path>-tune */
    bool overwrite;     /* begin anew in a folder that has another search */
    bool quiet;         /* log only warnings and errors */
    void (*on_log)(void *user, const char *line);
    /* A trial has ended, or a part of it; of `all` such parts, `done` have. */
    void (*on_trial)(void *user, const struct skiff_tune_trial *trial, int done, int all);
    bool (*wants_stop)(void *user);
    void *user;
    uint64_t reserved[4];
};

struct skiff_tune;
/* NULL on failure; STATE: stopped by wants_stop. A trial that fails does not end the search; if all
 * fail, that is a failure with the error of the first one. */
SKIFF_API struct skiff_tune *skiff_tune_run(const struct skiff_tune_config *config,
                                            struct skiff_error *err);
SKIFF_API int skiff_tune_count(const struct skiff_tune *t);
/* The best one first, by the mean where there are several seeds; failed ones last. */
SKIFF_API const struct skiff_tune_trial *skiff_tune_trial(const struct skiff_tune *t, int k);
SKIFF_API const char *skiff_tune_metric(const struct skiff_tune *t); /* "log loss" */
SKIFF_API const char *skiff_tune_page(const struct skiff_tune *t);   /* path of the HTML page */
SKIFF_API void skiff_tune_destroy(struct skiff_tune *t);             /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
