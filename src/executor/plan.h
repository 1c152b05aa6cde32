/* Plan: a program compiled for one list of fed and one of fetched names. See executor.h for what it
 * promises.
 *
 *   plan_create   binds every slot, feed and fetch to a value and every attribute to its place,
 *                 block by block
 *   plan_run      feeds, runs the steps of block 0 (or of another one: plan_options.block),
 *                 fetches; lays out the slab anew when it was too small
 *
 * Names are looked up by plan_create alone; afterwards they only stand in messages. A plan keeps
 * nothing of the program that it was made of, but with plan_options.borrow.
 *
 * Values: persistable variables live in the scope; all others belong to the plan and are forgotten
 * when a run starts. Threads: a plan is used by one thread at a time. */
#ifndef EXECUTOR_PLAN_H
#define EXECUTOR_PLAN_H

#include "executor/executor.h"
#include "program/kernel.h"

struct plan_input { /* one input or output of a step, checked before it runs */
    struct skiff_tensor *value;
    short slot, index;
    bool is_output, rowwise;
};

struct step {
    struct kernel kernel;
    struct plan_input *touched;
    int ntouched;
    int op_index;                /* in its block, for messages */
    bool is_update;              /* optimizer or learning rate */
    uint64_t calls, nanoseconds; /* with plan.profile, block 0 only */
};

struct plan_var { /* a variable that belongs to the plan */
    const char *name;
    int block;
    struct skiff_tensor value;
    bool fed, fetched, written;
    int first, last; /* steps of block 0 between which it is alive; first > last: never touched */
    size_t need, offset;
};

struct plan_block {
    struct step *steps;
    int nsteps;
    struct plan_var **own; /* variables of this very block */
    int nown, own_cap;
    bool open;     /* being built: an op inside must not run it again */
    int root_step; /* the last step of block 0 that runs it, as far as lives are measured */
};

struct plan_feed { /* where a fed tensor goes */
    const struct skiff_var *declared;
    struct skiff_tensor *value;
    bool borrows; /* the value points at the caller's bytes; otherwise it gets a copy */
};

struct plan_fetch { /* where a fetched value comes from */
    const char *name;
    struct skiff_tensor *value;
};

struct plan {
    struct run_env env;                  /* first: kernels get &plan->env */
    const struct skiff_program *program; /* the program that is run: own, or borrowed */
    struct skiff_program *own;           /* the fused program, or a copy; NULL: borrowed */
    struct skiff_scope *scope;
    struct arena arena;
    struct str_map *names; /* per block: name -> plan_var */
    struct plan_block *blocks;
    int nblocks, root;       /* root: the block that is run */
    struct plan_feed *feeds; /* in the order of the names given to plan_create */
    struct plan_fetch *fetches;
    int nfeeds, nfetches;
    struct kernel_scratch_space scratch;
    void *slab;
    size_t slab_bytes;
    int layouts; /* how often the slab has been laid out */
    bool profile;
    struct metric *update; /* with profile: time of its optimizer steps; or NULL */
};

struct plan_options {
    bool fuse, is_test, profile;
    struct metric *update; /* struct plan */
    bool borrow;           /* without fuse: the program outlives the plan and does not change */
    bool defer_rows;       /* as fusing does: optimizers may defer updates of rows */
    bool empty_is_step;    /* these two: kernel.h, run_env */
    bool (*part_of)(void *user, const char *var, int64_t *offset, int64_t *whole);
    void *part_user;
    const struct row_home *home; /* kernel.h, run_env; must outlive the plan */
    int block; /* which block to run; not 0 only without fuse, feeds and fetches (server blocks) */
    struct mt64 *generator;
    const struct run_host *host;
};

enum skiff_status plan_create(const struct skiff_program *p, struct skiff_scope *scope,
                              const struct plan_options *options, const char *const *feeds,
                              int nfeeds, const char *const *fetches, int nfetches,
                              struct plan **out, struct skiff_error *err);
void plan_destroy(struct plan *plan);

/* feeds[i], out[i]: those of the i-th name given to plan_create. */
enum skiff_status plan_run(struct plan *plan, const struct feed *feeds, struct skiff_tensor *out,
                           struct skiff_error *err);

/* The feeds of the run after the next one (op_kind.h, ahead). */
void plan_prefetch(struct plan *plan, uint64_t run, const struct feed *feeds);

/* slab.c: moves variables from the heap to the slab, once a run has shown their sizes. */
enum skiff_status plan_layout(struct plan *plan, struct skiff_error *err);
bool plan_needs_layout(const struct plan *plan);

#endif
