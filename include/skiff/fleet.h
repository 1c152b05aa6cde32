/* Fleet: the role of this process in a job of trainers (workers) and parameter servers, and the
 * calls of that role. Names are Fluid's:
 *
 *     struct skiff_fleet *fleet = skiff_fleet_create();
 *     skiff_fleet_init_env(fleet, SKIFF_ROLE_ENV_AUTO, &err);
 *     skiff_fleet_minimize(fleet, opt, loss, &(struct skiff_strategy){.mode = "async"}, &err);
 *     if (skiff_fleet_is_server(fleet)) {
 *         skiff_fleet_init_server(fleet, NULL, &err);
 *         skiff_fleet_run_server(fleet, &err);          returns when the job is complete
 *     } else {
 *         skiff_fleet_init_worker(fleet, scope, &err);
 *         skiff_executor_run(exe, skiff_fleet_startup_program(fleet), ...);
 *         skiff_executor_train(exe, skiff_fleet_main_program(fleet), dataset, ...);
 *         skiff_fleet_save_persistables(fleet, scope, dir, &err);
 *         skiff_fleet_stop_worker(fleet, &err);
 *     }
 *
 * Threads: one fleet, one thread, but skiff_fleet_stop_server, which any thread may call. */
#ifndef SKIFF_FLEET_H
#define SKIFF_FLEET_H

#include <skiff/exchange.h>
#include <skiff/executor.h>
#include <skiff/optimizer.h>
#include <skiff/train.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_fleet;

SKIFF_API struct skiff_fleet *skiff_fleet_create(void);
/* NULL is fine. Servers count a worker that has not called stop_worker as dead. */
SKIFF_API void skiff_fleet_destroy(struct skiff_fleet *f);

/* ---- roles ---- */

enum skiff_role_env {
    SKIFF_ROLE_ENV_AUTO,   /* whichever set is there; none: one worker, no servers (2.x) */
    SKIFF_ROLE_ENV_CLOUD,  /* TRAINING_ROLE, PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINERS_NUM .. */
    SKIFF_ROLE_ENV_MANUAL, /* PADDLE_TRAINING_ROLE, PADDLE_PSERVER_IPS, PADDLE_PSERVER_PORT .. */
};
enum skiff_role_kind { SKIFF_WORKER = 1, SKIFF_SERVER = 2 };

struct skiff_role {
    enum skiff_role_kind role;
    int current_id, worker_num;
    const char *const *server_endpoints;
    int nservers;
    const char *const *worker_endpoints; /* may be NULL */
    int nworker_endpoints;
    uint64_t reserved[4];
};

SKIFF_API enum skiff_status skiff_fleet_init_env(struct skiff_fleet *f, enum skiff_role_env env,
                                                 struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_init_user(struct skiff_fleet *f,
                                                  const struct skiff_role *role,
                                                  struct skiff_error *err);
SKIFF_API bool skiff_fleet_is_initialized(const struct skiff_fleet *f);
SKIFF_API bool skiff_fleet_is_worker(const struct skiff_fleet *f);
SKIFF_API bool skiff_fleet_is_server(const struct skiff_fleet *f);
SKIFF_API bool skiff_fleet_is_first_worker(const struct skiff_fleet *f);
SKIFF_API int skiff_fleet_worker_index(const struct skiff_fleet *f);
SKIFF_API int skiff_fleet_server_index(const struct skiff_fleet *f);
SKIFF_API int skiff_fleet_worker_num(const struct skiff_fleet *f);
SKIFF_API int skiff_fleet_server_num(const struct skiff_fleet *f);
SKIFF_API const char *skiff_fleet_server_endpoints(const struct skiff_fleet *f); /* "a:1,b:2" */
SKIFF_API const char *skiff_fleet_worker_endpoints(const struct skiff_fleet *f);

/* split_files: contiguous blocks; the first blocks get one file more. *out (free() it, not its
 * elements) points into files. */
SKIFF_API enum skiff_status skiff_fleet_split_files(const struct skiff_fleet *f,
                                                    const char *const *files, int n,
                                                    const char *const **out, int *out_n,
                                                    struct skiff_error *err);

/* ---- strategy ---- */

/* All fields are optional: 0 and NULL mean Paddle's defaults. */
struct skiff_strategy {
    const char *mode;         /* "sync" (default) or another name of <skiff/mode_list.h> */
    int geo_steps;            /* geo_sgd_need_push_nums, k_steps: 100 */
    bool no_slice;            /* slice_var_up = False */
    int64_t min_block_size;   /* 8192 */
    const char *split_method; /* "RoundRobin", "HashName" */
    bool dc_asgd;
    bool direct;        /* programs of the bare DistributeTranspiler: ops exchange at once */
    bool stop_on_death; /* a trainer that dies ends the job; otherwise the others continue */
    int threads;        /* CPU_NUM */
    /* TrainerRuntimeConfig; 0: default; -1 means 0 where 0 has a meaning */
    int max_merge_var_num, send_queue_size, min_send_grad_num_before_recv, thread_pool_size,
        send_wait_times, independent_recv_thread, is_sgd_optimizer;
    /* how processes reach each other: "tcp" (the default), "ipc", followed by settings
     * (docs/guide/distributed.md); the same in all processes. NULL: SKIFF_TRANSPORT */
    const char *transport;
    const char *encrypt;     /* "on", "off", "auto"; NULL: SKIFF_ENCRYPT, else auto */
    const char *secret_file; /* NULL: SKIFF_SECRET or SKIFF_SECRET_FILE */
    /* servers that other machines can reach need no secret (docs/guide/security.md) */
    bool insecure;
    /* Sparse tables (skiff/transpile.h); copied by minimize and split. */
    const struct skiff_table_settings *tables;
    int ntables;
    bool all_features;
    /* A worker without servers: its distributed tables live in a server inside this process, their
     * rows by any id; dense parameters are trained by the program's own ops. With tables or
     * all_features always; without, distributed tables are tensors of the declared size. */
    bool keyed_tables;
    bool adam_d2sum; /* dense parameters under Adam: Paddle's adam_d2sum rule on the servers */
    uint64_t reserved[4];
};

/* ---- programs ---- */

/* distributed_optimizer(opt, strategy).minimize(loss): minimizes, then splits by the role. */
SKIFF_API enum skiff_status skiff_fleet_minimize(struct skiff_fleet *f, struct skiff_optimizer *opt,
                                                 struct skiff_var *loss,
                                                 const struct skiff_strategy *strategy,
                                                 const struct skiff_minimize_options *o,
                                                 struct skiff_error *err);
/* The same for programs that are minimized already (DistributeTranspiler, Python). On a worker,
 * running one of the given programs runs the fleet's program instead, as long as the fleet lives.
 * The given programs are not changed. */
SKIFF_API enum skiff_status skiff_fleet_split(struct skiff_fleet *f, struct skiff_program *main,
                                              struct skiff_program *startup,
                                              const struct skiff_strategy *strategy,
                                              struct skiff_error *err);
/* The fleet's programs, for its role; NULL before minimize or split. Running them takes part in the
 * job. A worker that has not called init_worker joins when one of them is first run. Running a
 * server's startup program is init_server; running its main program is run_server. */
SKIFF_API struct skiff_program *skiff_fleet_main_program(const struct skiff_fleet *f);
SKIFF_API struct skiff_program *skiff_fleet_startup_program(const struct skiff_fleet *f);
SKIFF_API const char *skiff_fleet_warnings(const struct skiff_fleet *f); /* of the split; "" */

/* ---- servers ---- */

/* model_dir NULL: initial parameters; otherwise any saved model, written with any number of servers
 * or by one process: a folder with one file per variable; a folder with one file of all variables,
 * or the path of that file, with or without the saved program next to it; <prefix> of .pdmodel and
 * .pdiparams, or of .pdparams and .pdopt. */
SKIFF_API enum skiff_status skiff_fleet_init_server(struct skiff_fleet *f, const char *model_dir,
                                                    struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_run_server(struct skiff_fleet *f, struct skiff_error *err);
SKIFF_API void skiff_fleet_stop_server(struct skiff_fleet *f);

/* ---- workers ---- */

SKIFF_API enum skiff_status
skiff_fleet_init_worker(struct skiff_fleet *f, struct skiff_scope *scope, struct skiff_error *err);
/* Between init_worker (or the first run) and stop_worker? */
SKIFF_API bool skiff_fleet_is_working(const struct skiff_fleet *f);
SKIFF_API enum skiff_status skiff_fleet_stop_worker(struct skiff_fleet *f, struct skiff_error *err);
/* Instead of stop_worker: this worker has failed. Servers count it as dead at once and log the
 * reason ("worker 1 <reason>"). Without init_worker, or after stop_worker: nothing. */
SKIFF_API void skiff_fleet_abandon_worker(struct skiff_fleet *f, const char *reason);
SKIFF_API enum skiff_status skiff_fleet_barrier_worker(struct skiff_fleet *f,
                                                       struct skiff_error *err);
/* In place over all workers; op "sum", "max", "min". One worker: nothing to do. */
SKIFF_API enum skiff_status skiff_fleet_all_reduce_double(struct skiff_fleet *f, const char *op,
                                                          double *v, size_t n,
                                                          struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_all_reduce_int64(struct skiff_fleet *f, const char *op,
                                                         int64_t *v, size_t n,
                                                         struct skiff_error *err);
/* AUC over all workers from the buckets of an auc layer (names of its pos and neg states). */
SKIFF_API enum skiff_status skiff_fleet_auc(struct skiff_fleet *f, struct skiff_scope *scope,
                                            const char *pos, const char *neg, double *out,
                                            struct skiff_error *err);
/* Every worker may call it; worker 0 writes. Slices are gathered into Paddle's files. main_program
 * NULL: the fleet's. */
SKIFF_API enum skiff_status skiff_fleet_save_persistables(struct skiff_fleet *f,
                                                          struct skiff_scope *scope,
                                                          const char *dir, struct skiff_error *err);
/* A model that runs alone: the network before the split. prefix: 2.x's two files instead of dir. */
SKIFF_API enum skiff_status
skiff_fleet_save_inference_model(struct skiff_fleet *f, struct skiff_scope *scope,
                                 const char *const *feeds, int nfeeds, const char *const *targets,
                                 int ntargets, const char *dir_or_prefix, bool is_prefix,
                                 struct skiff_error *err);
/* ---- sparse tables: Paddle's saves, loads and shrinks (docs/guide/tables.md) ----
 * Any worker may call them, and one call is enough (by worker 0 in Paddle's scripts). Gradients
 * that this worker has queued are pushed first. Tables are numbered as in saves: sparse tables
 * first, then all dense parameters as one. */

/* Returns when all gradients that this worker has queued have reached the servers. */
SKIFF_API enum skiff_status skiff_fleet_flush(struct skiff_fleet *f, struct skiff_error *err);
/* mode: 0 all, 1 delta, 2 base, 3 batch model, 5 patch. <dir>/000/part-<server>-<shard>[.gz] ...
 * All tables are written before the first one replaces an older file, and before counters change: a
 * save that fails can be tried again. save_table: one table, or all sparse tables without the dense
 * parameters (-1). */
SKIFF_API enum skiff_status skiff_fleet_save_model(struct skiff_fleet *f, const char *dir, int mode,
                                                   struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_save_table(struct skiff_fleet *f, int table,
                                                   const char *dir, int mode,
                                                   struct skiff_error *err);
/* All servers read and check all tables and the dense parameters before they apply them: a load
 * that fails changes nothing. */
SKIFF_API enum skiff_status skiff_fleet_load_model(struct skiff_fleet *f, const char *dir, int mode,
                                                   struct skiff_error *err);
/* The same, with the dense parameters of a scope (NULL: without them); parameters that the scope
 * does not have stay as they are. */
SKIFF_API enum skiff_status skiff_fleet_load_features(struct skiff_fleet *f, const char *dir,
                                                      int mode, struct skiff_scope *dense,
                                                      struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_load_table(struct skiff_fleet *f, int table,
                                                   const char *dir, int mode,
                                                   struct skiff_error *err);
/* Locks the folder between these two calls, so that several saves of tables count as one. Each save
 * of tables takes the lock by itself. STATE when another job holds it; the message names its
 * process. Without effect on S3 and HDFS. begin and end may be nested. */
SKIFF_API enum skiff_status skiff_fleet_begin_save(struct skiff_fleet *f, const char *dir,
                                                   struct skiff_error *err);
SKIFF_API void skiff_fleet_end_save(struct skiff_fleet *f);
/* After a save of mode 1 or 2: the rows with the most shows, to <dir>/<table>_cache. *out_rows may
 * be NULL. */
SKIFF_API enum skiff_status skiff_fleet_save_cache(struct skiff_fleet *f, int table,
                                                   const char *dir, int mode, int64_t *out_rows,
                                                   struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_shrink(struct skiff_fleet *f, int table, /* -1: all */
                                               struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_revert(struct skiff_fleet *f, struct skiff_error *err);

/* The servers' dense parameters into the scope, and the scope's to the servers. */
SKIFF_API enum skiff_status skiff_fleet_pull_dense(struct skiff_fleet *f, struct skiff_scope *scope,
                                                   struct skiff_error *err);
SKIFF_API enum skiff_status skiff_fleet_push_dense(struct skiff_fleet *f, struct skiff_scope *scope,
                                                   struct skiff_error *err);

struct skiff_table_state {
    uint64_t rows, bytes, admitted, refused, expired, evicted;
    uint64_t hits, misses, disk_rows, disk_bytes, written_bytes;
    uint64_t limit;                 /* bytes that it may take in memory, on all servers; 0: any */
    uint64_t waiting;               /* ids that are not admitted yet */
    uint64_t fetched, written_rows; /* misses that were prefetched; rows written to disk */
    uint64_t reserved[4];
};
SKIFF_API int skiff_fleet_tables(const struct skiff_fleet *f); /* sparse ones */
SKIFF_API const char *skiff_fleet_table_name(const struct skiff_fleet *f, int table);
SKIFF_API enum skiff_status skiff_fleet_table_state(struct skiff_fleet *f, int table,
                                                    struct skiff_table_state *out,
                                                    struct skiff_error *err);

/* An exchange of bytes between all workers, relayed by server 0; valid while the fleet's worker is
 * in the job. One worker: rank 0 of 1. */
SKIFF_API enum skiff_status skiff_fleet_exchange(struct skiff_fleet *f, struct skiff_exchange *out,
                                                 struct skiff_error *err);
/* global_shuffle of an InMemoryDataset over all workers. */
SKIFF_API enum skiff_status skiff_fleet_global_shuffle(struct skiff_fleet *f,
                                                       struct skiff_dataset *d, uint64_t seed,
                                                       struct skiff_error *err);

/* ---- programs of the bare DistributeTranspiler (skiff/transpile.h) ---- */

/* Attaches the programs of skiff_split_trainer or skiff_split_server to their job, so that running
 * them takes part in it: a trainer's ops exchange at once, and the server's main program serves
 * until the job is complete. Job name, secret and deadlines come from the environment. The split
 * may be destroyed afterwards; main must outlive the executors that run it. startup may be NULL. */
struct skiff_split;
SKIFF_API enum skiff_status skiff_split_attach_trainer(const struct skiff_split *s, int trainer_id,
                                                       int trainers, struct skiff_program *main,
                                                       struct skiff_program *startup,
                                                       struct skiff_error *err);
SKIFF_API enum skiff_status skiff_split_attach_server(const struct skiff_split *s,
                                                      const char *endpoint, int trainers,
                                                      struct skiff_program *main,
                                                      struct skiff_program *startup,
                                                      struct skiff_error *err);
/* exe.close(): this process has done its part of the program's job. Without a job: nothing. */
SKIFF_API enum skiff_status skiff_program_leave_job(const struct skiff_program *p,
                                                    struct skiff_error *err);

/* Why the next run of the program will wait for other processes, without a time limit. */
enum skiff_wait {
    SKIFF_WAIT_NONE,
    SKIFF_WAIT_JOIN,  /* a worker's, before it is in the job */
    SKIFF_WAIT_SERVE, /* a server's */
};
SKIFF_API enum skiff_wait skiff_program_waits(const struct skiff_program *p);
/* Waits now, apart from the run, for example on another thread. *done: the wait was the complete
 * run. */
SKIFF_API enum skiff_status skiff_program_join(const struct skiff_program *p,
                                               struct skiff_scope *scope, bool *done,
                                               struct skiff_error *err);

/* Log lines of the fleet, one call for each line, from any thread. */
SKIFF_API void skiff_fleet_on_log(struct skiff_fleet *f,
                                  void (*on_log)(void *user, const char *line), void *user);

#ifdef __cplusplus
}
#endif
#endif
