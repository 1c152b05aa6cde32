/* Comm: a trainer's job (program/job.h) in one of the modes. The mode decides when gradients are
 * pushed and parameters are pulled. One file per mode: mode_sync.c, mode_half_async.c,
 * mode_async.c, mode_geo.c, and mode_direct.c for programs of the bare transpiler, whose ops
 * exchange at once.
 *
 * docs/internals/consistency.md lists the promises of every mode. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include "comm/session.h"
#include "executor/scope.h"
#include "program/job_plan.h"

/* A server inside this process (fleet/local_server.h): opened before the session, ended when the
 * job is destroyed. All 0: servers are in other processes. */
struct comm_host {
    void *self;
    enum skiff_status (*open)(void *self, struct skiff_error *err); /* may be called again */
    void (*end)(void *self);                                        /* the worker has left */
    void (*close)(void *self);
    struct inproc_hub *hub;  /* where it is found */
    struct metrics *metrics; /* what it has counted, until close; NULL: there is no server */
};
/* Neither side declares the other dead because the machine is busy: both are this process. */
#define COMM_HOST_SILENCE_MS (24 * 3600 * 1000)

/* Fluid's TrainerRuntimeConfig; 0 (or negative for is_sgd, independent_recv): the default, which
 * depends on `threads` (CPU_NUM). */
struct comm_options {
    const struct job_plan *plan;    /* comm_create takes a reference */
    struct session_options session; /* worker and network settings; the rest comes from the plan */
    bool direct;                    /* a program of the bare transpiler: mode_direct.c */
    struct comm_host host;          /* comm_create takes it over, also when it fails */
    /* GEO with distributed tables: the plan that trainer and inner server share (split_own); a
     * reference is taken. NULL: host is the job's */
    const struct job_plan *own;
    int threads;
    int max_merge_var_num, send_queue_size, min_send_grad_num_before_recv;
    /* pushes to a sparse table that are merged into one; from max_merge_var_num, else 12; not set
     * by the caller */
    int sparse_merge_num;
    int thread_pool_size, send_wait_times;
    int independent_recv_thread, is_sgd_optimizer;
    int geo_need_push_nums;
};

/* A job whose session opens on first use, or by comm_start. The caller owns one reference. */
enum skiff_status comm_create(const struct comm_options *options, struct job **out,
                              struct skiff_error *err);
/* init_worker: opens the session; modes with threads start them. scope: where parameters live. The
 * first run of a program of the job calls it if it has not been called before. */
enum skiff_status comm_start(struct job *j, struct skiff_scope *scope, struct skiff_error *err);
/* stop_worker's first half: sends queued gradients, joins threads. Nothing is lost. */
enum skiff_status comm_stop(struct job *j, struct skiff_error *err);
bool comm_is_running(struct job *j); /* between start and stop */
/* This worker has failed and takes no further part: servers count it as dead, for this reason.
 * No-op after the job was closed, before its session is open, and while another thread is opening,
 * starting or stopping it. */
void comm_abandon(struct job *j, const char *reason);
/* Waits until everything that was handed over so far has been exchanged (async: the queues are
 * empty; GEO: no K batches wait). The servers then have all of this trainer's updates. */
enum skiff_status comm_flush(struct job *j, struct skiff_error *err);
/* Between two epochs, in modes whose trainers train in steps: the parameters that the servers have,
 * of which a trainer that had fewer batches than others lacks the last steps. */
enum skiff_status comm_refresh(struct job *j, struct skiff_error *err);
struct skiff_scope *comm_scope(struct job *j); /* of comm_start; NULL before */
/* NULL before the session is open. */
struct session *comm_session(struct job *j);

#endif
