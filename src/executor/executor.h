/* Executor: runs programs in a scope.
 *
 * A program is compiled to a plan: a flat array of steps with values bound and attributes decoded,
 * over one slab in which values that are not alive at the same time share room. Plans are found
 * again by (program, its version, feed names and batch sizes, fetch names); a program that was
 * changed and a feed of another batch size get their own plan without the caller noticing. Shapes
 * are taken from the data each time, so that ragged feeds of one batch size share a plan; a value
 * that outgrows its room moves to the heap for that run, and the slab is laid out anew after it. A
 * steady step allocates nothing. Threads: one executor per thread; several executors may share a
 * scope and a program. */
#ifndef EXECUTOR_EXECUTOR_H
#define EXECUTOR_EXECUTOR_H

#include "executor/scope.h"
#include "metrics/metrics.h"
#include "program/program.h"

struct skiff_executor;

struct executor_options {
    bool no_fuse; /* run the program op by op, as written */
    bool is_test;
    uint64_t seed; /* of the default 2.x generator (paddle.seed); 0: from the system */
    bool has_seed;
    bool profile; /* measure the time of every step: executor_profile */
    /* Outputs that are parts of larger variables (kernel.h, run_env.part_of); NULL: none. */
    bool (*part_of)(void *user, const char *var, int64_t *offset, int64_t *whole);
    void *part_user;
    const struct run_host *host;           /* kernel.h; outlives the executor; or NULL */
    struct metrics *metrics;               /* registry that it counts in; NULL: one of its own */
    struct skiff_thread_pool *thread_pool; /* base/thread_pool.h; outlives the executor; or NULL */
};

struct feed {
    const char *name;
    const struct tensor *tensor;      /* borrowed during run */
    const struct selected_rows *rows; /* not NULL: selected rows, `tensor` is their value */
};

struct skiff_executor *executor_create(struct skiff_scope *scope,
                                       const struct executor_options *options);
void executor_destroy(struct skiff_executor *e);
/* Its scope; its options, with the registry, go to *out. */
struct skiff_scope *executor_settings(const struct skiff_executor *e, struct executor_options *out);
/* Frees the memory of a program's plans at once. Without it, the plans of a program that was
 * changed or destroyed are freed when the executor makes its next plan. */
void executor_forget(struct skiff_executor *e, const struct skiff_program *p);

/* Runs block 0 once. The values of `fetches` are deep-copied into out[i] (caller's, zeroed or
 * reused from the run before). The program must not change during the run. Fed variables that the
 * program does not have are an error. */
enum skiff_status executor_run(struct skiff_executor *e, const struct skiff_program *p,
                               const struct feed *feeds, int nfeeds, const char *const *fetches,
                               int nfetches, struct skiff_tensor *out, struct skiff_error *err);

/* Announces the feeds of the run after the next one, so that rows on servers are prefetched. A
 * hint; nothing is read from `feeds` after it returns. */
void executor_prefetch(struct skiff_executor *e, const struct skiff_program *p,
                       const struct feed *feeds, int nfeeds, const char *const *fetches,
                       int nfetches);

/* Where the time went: the steps of the plans of a program, summed position by position (plans for
 * other batch sizes have the same steps). All 0 unless options.profile was set. */
struct profile_step {
    const char *type; /* of the op kind: valid for ever */
    bool update;      /* optimizer or learning rate */
    uint64_t calls;
    double seconds;
};
struct profile {
    struct profile_step *steps; /* free() them */
    int count;
};
void executor_profile(const struct skiff_executor *e, const struct skiff_program *p,
                      struct profile *out);

#endif
