/* Job: the state that a split program (passes/split.h) shares with other processes. Kernels of
 * send, recv, the barriers, distributed_lookup_table, listen_and_serv, ... call it; modules above
 * implement it (comm for trainers, fleet for both roles). A program holds a reference, and so do
 * its clones. A program without a job is local; these kernels then fail with a message.
 *
 * Names are those of the ops' attributes: the servers' names of slices ("fc_0.w_0@GRAD.block1").
 * Threads: any call may come from several trainer threads at a time and may block until its
 * deadline; the error then names the process it waited for. Borrowed arguments are valid during the
 * call only. */
#ifndef PROGRAM_JOB_H
#define PROGRAM_JOB_H

#include <stdbool.h>

#include "tensor/value.h"

struct job;
struct skiff_program;
struct skiff_scope;
struct metrics_snapshot;

/* One variable cut by rows over servers: slice i has sections[i] rows and is `names[i]` at
 * endpoints[i]. */
struct job_slices {
    const char *origin; /* the trainer's variable */
    int n;
    const char *const *names, *const *endpoints;
    /* Row counts. NULL: n is 1 and the slice is the complete variable, or (send, n > 1) every
     * server gets the complete variable, or (recv, n > 1) the servers know the counts. */
    const int64_t *sections;
    bool modulo; /* instead of ranges: id modulo n, ids stay as they are */
    /* modulo, of a sparse table: slice (id mod shards) / ceil(shards / n); 0: other
     * tables */
    int shards;
    /* the servers' numbers of the slices (comm/session.h); NULL: they are found by name */
    const struct session_binding *bound;
};

/* modulo: the slice that holds this id. */
static inline int job_slice_of(const struct job_slices *s, int64_t id)
{
    if (!s->shards)
        return (int)((uint64_t)id % (uint64_t)s->n);
    return (int)((uint64_t)id % (uint64_t)s->shards) / ((s->shards - 1) / s->n + 1);
}

/* Rows of one table for several lists of ids at once; out[i] gets ids[i]'s rows, [count, width]. */
struct job_lookup {
    struct job_slices table;
    int n;
    const struct tensor *const *ids;
    struct tensor *const *out; /* has its shape already */
    int64_t padding_idx;       /* its rows are zero; -1: none */
    bool distinct;             /* no id occurs twice in all the lists */
};

struct job_prefetch; /* prefetched rows */

/* A step of the trainer, for jobs whose ranks step together. */
/* fed to programs that have this variable: the step's weight */
#define JOB_WEIGHT "@COLLECTIVE_WEIGHT@"
struct job_step {
    int64_t rows; /* rows of this rank; 0: it has no more */
    bool stop;    /* in: this rank wants to stop; out: some rank does */
    /* out: position of this rank's rows among those of all ranks */
    float weight;
    const struct skiff_program *idle; /* out: the program to run without rows, or NULL */
};

struct job_class {
    /* A communicator fills parameters by itself, so recv ops of the main program (those with
     * recv_varnames) do nothing. */
    bool communicates;
    /* Sends a gradient (or counter): at once, or into the communicator's queue, depending on the
     * mode. */
    enum skiff_status (*send)(struct job *j, const struct job_slices *to,
                              const struct skiff_tensor *x, bool merge_add,
                              struct skiff_error *err);
    /* Fills `out` (the complete variable) with the servers' values. */
    enum skiff_status (*recv)(struct job *j, const struct job_slices *from,
                              struct skiff_tensor *out, struct skiff_error *err);
    /* All variables of this thread's batch have been sent / received. */
    enum skiff_status (*send_barrier)(struct job *j, struct skiff_error *err);
    enum skiff_status (*fetch_barrier)(struct job *j, struct skiff_error *err);
    enum skiff_status (*lookup)(struct job *j, const struct job_lookup *l, struct skiff_error *err);
    /* Prefetches the rows of the next batch while the current batch is computed: `l` as for lookup,
     * with one list of distinct ids and no out. Where the mode promises it, the values are those
     * after the current batch (which must then end a step). *out is NULL if the mode has no
     * prefetch. `take` waits, fills out [count, width] and frees the prefetch; `drop` frees it. All
     * three may be NULL. */
    enum skiff_status (*lookup_prefetch)(struct job *j, const struct job_lookup *l,
                                         struct job_prefetch **out, struct skiff_error *err);
    enum skiff_status (*lookup_take)(struct job *j, struct job_prefetch *a, struct tensor *out,
                                     struct skiff_error *err);
    void (*lookup_drop)(struct job *j, struct job_prefetch *a);
    /* Announces rows that will be looked up soon (`l` as for lookup_prefetch), so that rows on disk
     * are loaded into memory by then. Changes no value. on_disk: is an announcement useful? Both
     * may be NULL. */
    bool (*on_disk)(struct job *j, const char *table);
    void (*lookup_announce)(struct job *j, const struct job_lookup *l);
    /* GEO: "param_init" and the ids of a batch. names[i] is the table of ids[i] (NULL: no value). A
     * job with this slot gets all sends that name variables here. */
    enum skiff_status (*send_ids)(struct job *j, int n, const char *const *names,
                                  const struct tensor *const *ids, struct skiff_error *err);
    /* listen_and_serv: serves until the job ends. */
    enum skiff_status (*serve)(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, struct skiff_error *err);
    /* checkpoint_notify: every server saves its part of the table under dir. */
    enum skiff_status (*save_table)(struct job *j, const char *dir, const char *table,
                                    struct skiff_error *err);
    /* Called first by every run of a program of the job (job_begin below). A worker that has not
     * joined yet joins with the parameters of `scope`. A server that keeps its own values fills
     * them when its startup program runs, and serves when its main program runs. *done: the run is
     * complete. NULL: nothing to do. */
    enum skiff_status (*begin)(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, bool *done, struct skiff_error *err);
    /* Will the next run of the program wait for other processes without a time limit? NULL: no. */
    bool (*waits)(struct job *j, const struct skiff_program *p);
    /* Trainer threads of a run of train_from_dataset: n threads begin; one has no more data. */
    void (*threads_begin)(struct job *j, int n);
    void (*thread_end)(struct job *j);
    /* The barrier before every step of ranks that train together; END: all ranks are done, or one
     * wants to stop. Called by one thread. NULL: no barrier. */
    enum skiff_status (*step)(struct job *j, const struct skiff_program *p, struct job_step *s,
                              struct skiff_error *err);
    /* Adds what this process has counted for the job (metrics/metrics.h). Any thread. NULL: nothing
     * is counted. */
    void (*snapshot)(struct job *j, struct metrics_snapshot *out);
    /* exe.close: this process is done. May be called twice. */
    enum skiff_status (*close)(struct job *j, struct skiff_error *err);
    void (*destroy)(struct job *j);
}; /* A slot that a role does not have is NULL; job_* below then return UNSUPPORTED. */

struct job {
    const struct job_class *class;
    int refs; /* atomic */
};

struct job *job_ref(struct job *j); /* NULL is fine */
void job_unref(struct job *j);
/* Called before a program is run; without a job nothing happens. */
enum skiff_status job_begin(const struct skiff_program *p, struct skiff_scope *scope, bool *done,
                            struct skiff_error *err);

/* Adds what this process has counted for the program's job; without a job nothing. */
void job_snapshot(const struct skiff_program *p, struct metrics_snapshot *out);

#endif
