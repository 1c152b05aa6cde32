/* Comm: a trainer's job (program/job.h) in one of the modes: it decides when gradients go out and
 * parameters come in. One file per mode: mode_sync.c, mode_half_async.c, mode_async.c, mode_geo.c,
 * and mode_direct.c for programs of the bare transpiler, whose ops exchange at once.
 *
 * The promises of every mode stand in docs/consistency.md. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include "comm/session.h"
#include "executor/scope.h"
#include "program/job_plan.h"

/* A server inside this process (fleet/local_server.h): made ready before the session opens, ended
 * when the job is gone. All 0: servers are elsewhere. */
struct comm_host {
    void *self;
    enum skiff_status (*open)(void *self, struct skiff_error *err); /* may be called again */
    void (*end)(void *self);                                        /* the worker has left */
    void (*close)(void *self);
    struct inproc_hub *hub; /* where it is found */
};
/* Neither side of it is missed because the machine is busy: both are this process. */
#define COMM_HOST_SILENCE_MS (24 * 3600 * 1000)

/* Fluid's TrainerRuntimeConfig; 0 (or negative for is_sgd, independent_recv): the default, which
 * depends on `threads` (CPU_NUM). */
struct comm_options {
    const struct job_plan *plan;    /* comm_create takes a reference */
    struct session_options session; /* worker, and the network; the rest comes from the plan */
    bool direct;                    /* a program of the bare transpiler: mode_direct.c */
    struct comm_host host;          /* comm_create takes it over, also when it fails */
    const struct job_plan *own;     /* GEO with distributed tables: what trainer and host agree on
                                   (split_own); a reference is taken. NULL: host is the job's */
    int threads;
    int max_merge_var_num, send_queue_size, min_send_grad_num_before_recv;
    int features_merge_num; /* pushes to a table of features that become one; by max_merge_var_num,
                               else 12: not the caller's */
    int thread_pool_size, send_wait_times;
    int independent_recv_thread, is_sgd_optimizer;
    int geo_need_push_nums;
};

/* A job whose session opens on first use, or by comm_start. One reference is the caller's. */
enum skiff_status comm_create(const struct comm_options *options, struct job **out,
                              struct skiff_error *err);
/* init_worker: opens the session; modes with threads start them. scope: where parameters live. The
 * first run of a program of the job does it, if nobody has. */
enum skiff_status comm_start(struct job *j, struct skiff_scope *scope, struct skiff_error *err);
/* stop_worker's first half: sends what is queued, joins threads. Nothing is lost. */
enum skiff_status comm_stop(struct job *j, struct skiff_error *err);
bool comm_is_running(struct job *j); /* between the two */
/* This worker has failed and takes no further part: servers count it as dead, for this reason.
 * After the job was closed, or before its session is open, it does nothing; nor while another
 * thread is just opening, starting or stopping it. */
void comm_abandon(struct job *j, const char *reason);
/* Waits until everything that was handed over so far has been exchanged (async: the queues are
 * empty; GEO: no K batches wait). What servers hold then is what this trainer has done. */
enum skiff_status comm_settle(struct job *j, struct skiff_error *err);
struct skiff_scope *comm_scope(struct job *j); /* of comm_start; NULL before */
/* NULL before the session is open. */
struct session *comm_session(struct job *j);

#endif
