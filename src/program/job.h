/* Job: what a program that was split (passes/split.h) shares with other processes. The kernels of
 * send, recv, the barriers, distributed_lookup_table, listen_and_serv, ... call it; rooms above
 * (comm for trainers, fleet for both roles) implement it. A program holds a reference; clones of
 * the program hold one too. A program without a job is a local one, and these kernels say so.
 *
 * Names are those of the ops' attributes: the servers' names of slices ("fc_0.w_0@GRAD.block1").
 * Threads: every call may come from several trainer threads at a time, and may block until its
 * deadline; the error then says whom it waited for. Borrowed arguments are valid during the call
 * only. */
#ifndef PROGRAM_JOB_H
#define PROGRAM_JOB_H

#include <stdbool.h>

#include "tensor/value.h"

struct job;
struct skiff_program;
struct skiff_scope;

/* One variable cut by rows over servers: slice i has sections[i] rows and is `names[i]` at
 * endpoints[i]. */
struct job_slices {
    const char *origin; /* the trainer's variable */
    int n;
    const char *const *names, *const *endpoints;
    /* Rows. NULL: n 1, the whole; send with n > 1, every server gets the whole; recv with n > 1,
     * the servers know. */
    const int64_t *sections;
    bool modulo; /* instead of ranges: id modulo n, ids stay as they are */
    int shards;  /* modulo, of a table of features: slice (id mod shards) / ceil(shards / n); 0:
                    a plain table */
};

/* modulo: the slice that has this id. */
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
    struct tensor *const *out; /* shaped already */
    int64_t padding_idx;       /* its rows are zero; -1: none */
    bool distinct;             /* no id stands twice in all the lists */
};

struct job_ahead; /* rows that were asked for ahead of their batch */

/* A step of the trainer, for jobs whose ranks make steps together. */
#define JOB_WEIGHT "@COLLECTIVE_WEIGHT@" /* fed to programs that have it: the step's weight */
struct job_step {
    int64_t rows;                     /* this rank's, 0: it has no more */
    bool stop;                        /* it wants to end; afterwards: somebody does */
    float weight;                     /* afterwards: of its rows among those of all ranks */
    const struct skiff_program *idle; /* afterwards: what to run without rows, or NULL */
};

struct job_class {
    /* A communicator fills parameters by itself: recv ops of the main program (those with
     * recv_varnames) have nothing to do. */
    bool communicates;
    /* A gradient (or counter) goes out: at once, or into the communicator's queue by mode. */
    enum skiff_status (*send)(struct job *j, const struct job_slices *to,
                              const struct skiff_tensor *x, bool merge_add,
                              struct skiff_error *err);
    /* Fills `out` (the whole variable) with the servers' values. */
    enum skiff_status (*recv)(struct job *j, const struct job_slices *from,
                              struct skiff_tensor *out, struct skiff_error *err);
    /* The batch of this thread has sent / received everything. */
    enum skiff_status (*send_barrier)(struct job *j, struct skiff_error *err);
    enum skiff_status (*fetch_barrier)(struct job *j, struct skiff_error *err);
    enum skiff_status (*lookup)(struct job *j, const struct job_lookup *l, struct skiff_error *err);
    /* The rows of the next batch, while the batch before it is being computed: `l` as for lookup,
     * with one list of distinct ids, without out. Values are those from after that batch where the
     * mode promises this (the caller's batch must end a step then). *out NULL: not in this mode.
     * take waits and fills out [count, width], and ends the life of what ahead gave; drop forgets
     * it. All three may be NULL. */
    enum skiff_status (*lookup_ahead)(struct job *j, const struct job_lookup *l,
                                      struct job_ahead **out, struct skiff_error *err);
    enum skiff_status (*lookup_take)(struct job *j, struct job_ahead *a, struct tensor *out,
                                     struct skiff_error *err);
    void (*lookup_drop)(struct job *j, struct job_ahead *a);
    /* Tells of rows that will be looked up soon (`l` as for lookup_ahead), so that those on disk
     * are in memory by then. Changes nothing. on_disk: is it worth telling? Both may be NULL. */
    bool (*on_disk)(struct job *j, const char *table);
    void (*lookup_soon)(struct job *j, const struct job_lookup *l);
    /* GEO: "param_init" and the ids of a batch. names[i] is the table of ids[i] (NULL: no value). A
     * job that has it gets all sends here that name variables. */
    enum skiff_status (*send_ids)(struct job *j, int n, const char *const *names,
                                  const struct tensor *const *ids, struct skiff_error *err);
    /* listen_and_serv: serves until the job is complete. */
    enum skiff_status (*serve)(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, struct skiff_error *err);
    /* checkpoint_notify: every server saves its part of the table under dir. */
    enum skiff_status (*save_table)(struct job *j, const char *dir, const char *table,
                                    struct skiff_error *err);
    /* Whoever runs a program of the job calls this first (job_begin below). A worker that is not in
     * the job yet joins it, with the parameters of `scope`; a server that keeps its own values
     * fills them when its startup program is run, and serves when its main program is. *done: that
     * was the whole run. NULL: nothing to do. */
    enum skiff_status (*begin)(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, bool *done, struct skiff_error *err);
    /* Will the next run of the program wait for other processes, without bounds? NULL: no. */
    bool (*waits)(struct job *j, const struct skiff_program *p);
    /* Trainer threads of a run of train_from_dataset: n begin; one has no more data. */
    void (*threads_begin)(struct job *j, int n);
    void (*thread_end)(struct job *j);
    /* Ranks that train together meet before every step; END: all are through, or somebody wants to
     * stop. One thread. NULL: nobody waits for anybody. */
    enum skiff_status (*step)(struct job *j, const struct skiff_program *p, struct job_step *s,
                              struct skiff_error *err);
    /* exe.close: this process has done its part. May be called twice. */
    enum skiff_status (*close)(struct job *j, struct skiff_error *err);
    void (*destroy)(struct job *j);
}; /* a slot that a role does not have is NULL; job_* below answer with UNSUPPORTED then */

struct job {
    const struct job_class *class;
    int refs; /* atomic */
};

struct job *job_ref(struct job *j); /* NULL is fine */
void job_unref(struct job *j);
/* A program is about to be run; without a job nothing happens. */
enum skiff_status job_begin(const struct skiff_program *p, struct skiff_scope *scope, bool *done,
                            struct skiff_error *err);

#endif
