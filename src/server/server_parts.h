/* Declarations that the files of this module share.
 *
 * Locks (no thread waits while it holds one): a shard's lock guards its slices, its sync step and
 * its deferred replies; `rate` (read: a slice is updated; write: the learning rate's block is run)
 * is taken inside it; `members` (and the first failure) is a leaf, and so is `reduce` (reduce.c),
 * except that members is taken inside it. */
#ifndef SERVER_SERVER_PARTS_H
#define SERVER_SERVER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "executor/plan.h"
#include "net/membership.h"
#include "net/ps.h"
#include "server/server.h"
#include "server/snapshot.h"
#include "sparse/sparse.h"
#include "table/changed.h"
#include "table/fill.h"
#include "table/table_snapshot.h"

/* A trainer's push that waits for the end of the step. The item's data lie in body. */
struct pending_push {
    uint32_t trainer;
    int order; /* of arrival */
    struct ps_piece item;
    struct blob *body; /* a reference */
};

/* A variable of a hash-backed embedding that has a row per id: the table itself, its
 * accumulators. */
struct row_var {
    const char *name;
    struct skiff_tensor *value; /* rows of the window, while the slice's block is run */
    struct fill fill;
    int first; /* where its part of a record begins */
};

/* Ids of a hash-backed embedding, each once, that are taken all at once (GEO: changes that one
 * trainer has not pulled yet); {0} is an empty set. */
struct changed_ids {
    struct id_map map;
    size_t capacity; /* of the map */
    int64_t *ids;
    size_t n;
};

/* Rows of a hash-backed embedding, copied to its variables while its block is run (hashed.c). */
struct row_window {
    struct table_row **row_list;
    uint32_t *stamps; /* of the records */
    size_t n, cap;
    float *to[ACCESSOR_PARTS]; /* the variables' rows */
    bool all;                  /* every row of the table */
};

/* A parameter slice (or hash-backed table) and its update rule. */
struct param_slice {
    const char *param, *grad; /* names in the server program */
    int shard;
    int block;                                                  /* of the server program */
    struct skiff_tensor *param_value, *grad_value, *base_value; /* base: DC-ASGD's local_bak */
    struct shape shape; /* of the parameter; a table's rows: -1 */
    int64_t width;
    int64_t pushed;                    /* floats of a row of its gradient */
    struct sparse_table *sparse_table; /* a sparse table, without a block; NULL */
    bool sparse;                       /* gradients arrive as rows */
    bool add;                          /* GEO: pushes are added */
    bool compensate;                   /* DC-ASGD */
    struct plan *plan;                 /* NULL with add */
    struct table *table;               /* of a hash-backed embedding; NULL: it is none */
    struct accessor accessor;
    struct row_var *vars; /* of a hash-backed embedding; the parameter first */
    int nvars;
    /* rules without states work on the records in place; each NULL: on a window */
    struct row_home home;
    struct row_window window;
    /* where the deferred update's arrays begin in a record; -1: no such array */
    int deferred_first[DEFERRED_ARRAYS];
    float **backups;          /* DC-ASGD: by trainer, the values it pulled last; NULL: none yet */
    struct changed *changed;  /* GEO, sparse: by trainer */
    struct changed_ids *news; /* GEO, hash-backed: by trainer */
    const char *delta;        /* differences are pushed under this name, too; NULL: none */
    struct pending_push *pushes; /* sync: of the running step */
    int npushes, pushes_cap;
};

/* Needs no lock. */
static inline bool slice_is_hashed(const struct param_slice *u)
{
    return u->sparse_table || u->nvars;
}

/* Of either kind. A load may replace it: the shard's lock, or the preparer's (prepare.c), is
 * held. */
static inline struct table *slice_table(const struct param_slice *u)
{
    return u->sparse_table ? u->sparse_table->table : u->table;
}

/* A variable by its number (PS_BIND): a gradient, a counter, a parameter. */
struct bound_var {
    const char *name;
    struct param_slice *slice;  /* NULL: of the learning rate */
    struct skiff_tensor *value; /* of counters, and of what is pulled; NULL: rows by id only */
    uint32_t use;               /* of enum ps_use */
    int shard;
    bool counter;
    bool delta; /* a push is added */
};

/* A trainer that has ended the step; its reply is deferred until the others have, too. */
struct deferred_reply {
    struct rpc_request *request;
    uint32_t trainer;
    int64_t since;
    struct ps_exchange x; /* lies in the request's body */
};

/* A pull of rows that waits for a step to be done. */
struct waiting_pull {
    struct rpc_request *request;
    uint32_t trainer;
    uint64_t after;
};

/* A push that waits until a snapshot is tagged. */
struct fenced_push {
    struct rpc_request *request;
    struct ps_exchange x;
};

struct shard_quiesce; /* quiesce.c */

struct server_shard {
    pthread_mutex_t lock;
    struct server *server;
    int index;
    struct param_slice **slices;
    int nslices;
    uint64_t step;          /* sync: steps done */
    bool *ended, *gone;     /* sync, by trainer: has ended the running step; has no more data */
    uint64_t *incarnations; /* by trainer: incarnation of the process that sent last */
    uint64_t *done;         /* by trainer: its steps that are done */
    uint64_t *heard; /* GEO, by trainer: incarnation of the process that pulled last; 0: none */
    struct waiting_pull *waiting;
    int nwaiting, waiting_cap;
    struct deferred_reply *deferred_replies;
    int ndeferred_replies;
    int64_t *rows; /* scratch */
    size_t rows_cap;
    struct ps_piece *pieces; /* scratch of replies */
    uint32_t pieces_cap;
    struct id_map map; /* scratch of merges */
    struct shard_quiesce *quiesce;
};

/* In the server's registry, as server_<name>. */
struct server_counters {
    struct metric *pushes, *pulls, *rows_pushed, *rows_pulled, *steps, *bytes_in, *bytes_out;
    struct metric *here, *gone, *dead; /* trainers */
};

struct server_member {
    enum member_state state;
    bool came;
    char name[HELLO_NAME], reason[256];
    uint64_t incarnation; /* of the process that joined last */
    int nlives;           /* processes that have joined with this number */
};

struct maintenance;  /* maintenance.c */
struct preparer;     /* prepare.c */
struct load_staging; /* load_staging.c */
struct reduce_state; /* reduce.c */
struct coordinator;  /* coordinator.c */
struct ledger;       /* ledger.c */

struct server {
    struct server_options options;
    const struct job_plan *plan;   /* of the job: options.plan->job */
    int index;                     /* of this server among the job's */
    struct skiff_program *program; /* a copy of options.main, prepared to run block by block */
    struct skiff_scope *scope;
    bool own_scope, initialised, ran;
    struct mt64 generator;
    struct param_slice *slices;
    int nslices;
    struct sparse_host sparse_host;
    struct str_map by_grad, by_var; /* name -> slice; by_var: parameters and their accumulators */
    struct bound_var *bound;        /* by number, from server_run on */
    uint32_t nbound;
    struct server_shard *shards;
    int nshards;
    struct plan *rate_plan;     /* NULL: the rate does not change */
    struct str_map counters_in; /* variables that the rate's block reads and trainers may add to */
    /* variables that the startup program must not create: rows, backups */
    struct str_map elsewhere;
    pthread_rwlock_t rate;
    uint64_t rate_steps;                   /* sync: how often the rate's block has run */
    struct metrics *metrics, *own_metrics; /* own: NULL when the owner has given one */
    struct server_counters counts;

    pthread_mutex_t members;
    struct server_member *trainers, *servers;
    struct skiff_error failure; /* code OK: none */
    int wake_fd;
    atomic_bool stopping;

    struct node *node;
    struct rpc_server *rpc;
    struct rpc_client *client;
    struct rpc_peer *host;         /* server 0, as the others know it; the client owns it */
    struct membership *membership; /* server 0 */
    struct enrolment *enrolment;   /* the others */
    struct reduce_state *reduce;
    struct coordinator *coordinator;
    struct ledger *ledger;
    /* a load that is not committed yet; of the maintenance thread. NULL: none */
    struct load_staging *staging;
    uint64_t taken; /* token of the last committed load; of the maintenance thread */
    /* the maintenance thread, for commands on sparse tables; NULL: there are no such tables */
    struct maintenance *maintenance;
    struct preparer *preparer; /* NULL: no hash-backed table */
    char unsaved[512];         /* why the job's last epoch is not saved; guarded by members */
    struct snapshot *snapshot; /* NULL: none */
    struct {                   /* quiesce.c; changes under the locks of all shards */
        bool on;
        struct ps_applied *let; /* pushes that may begin */
        uint32_t nlet, worker;  /* worker: owner of the fence, and its incarnation */
        uint64_t incarnation;
        int64_t until;
    } quiesce;
};

/* ---- server.c ---- */
void server_log(struct server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_warn(struct server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_wake(struct server *s);
/* The first failure ends server_run; any thread. */
void server_fail(struct server *s, const struct skiff_error *err);
/* "server 1 at host:port" */
const char *server_text(const struct server *s, char out[static 320]);

/* Hash-backed tables: does the row of this id belong to this server? */
bool slice_owns(const struct server *s, const struct param_slice *u, int64_t id);

/* All shards, in index order. */
void server_lock_all(struct server *s);
void server_unlock_all(struct server *s);

/* ---- slices.c: the plan and the server program ---- */
enum skiff_status slices_create(struct server *s, struct skiff_error *err);
void slices_destroy(struct server *s);
struct server_shard *slice_shard(struct server *s, const struct param_slice *u);

/* ---- bind.c ---- */
void bind_all(struct server *s); /* initial values are there */
/* The variable, if it has this number, this use, and belongs to this shard (-1: to any). */
enum skiff_status bound_get(const struct server *s, uint32_t number, uint32_t use, int shard,
                            const struct bound_var **out, struct skiff_error *err);
void on_bind(void *self, struct rpc_request *q);

/* ---- startup.c ---- */
/* Initial values of rows of hash-backed embeddings, from the startup program. */
enum skiff_status startup_fills(struct server *s, struct skiff_error *err);

/* ---- apply.c; the shard's lock is held ---- */
/* Does the item fit the slice of this variable? */
enum skiff_status slice_check(const struct server *s, const struct bound_var *v,
                              const struct ps_piece *item, struct skiff_error *err);
/* Are these n unaligned ids rows that this server has (or can have)? */
enum skiff_status slice_check_ids(const struct server *s, const struct param_slice *u,
                                  const uint8_t *ids, size_t n, struct skiff_error *err);
/* Applies one push now (async, GEO). */
enum skiff_status slice_apply(struct server *s, struct server_shard *h, struct param_slice *u,
                              uint32_t trainer, const struct ps_piece *item,
                              struct skiff_error *err);
/* Merges the pushes of the trainers that have ended the step, in their order, divides by `present`
 * and applies the result; without a push nothing happens. The pushes are dropped afterwards. */
enum skiff_status slice_step(struct server *s, struct server_shard *h, struct param_slice *u,
                             int present, struct skiff_error *err);
void slice_forget(struct param_slice *u, int trainer); /* pushes of one trainer; -1: all */
/* GEO: this process pulls, so changes by others are noted for it from now on. */
void slice_hear(struct server_shard *h, const struct rpc_request *q);
/* Not for hash-backed tables: local rows of n unaligned ids; valid until the next call. Deferred
 * updates of these rows are applied. */
enum skiff_status slice_rows(struct server *s, struct server_shard *h, struct param_slice *u,
                             const uint8_t *ids, size_t n, const int64_t **out,
                             struct skiff_error *err);
/* DC-ASGD: the trainer has pulled these rows (NULL: all). */
enum skiff_status slice_backup(struct server *s, struct param_slice *u, uint32_t trainer,
                               const int64_t *rows, size_t n, struct skiff_error *err);
/* GEO: members have changed; noted changes for members that have gone are freed. No lock is
 * held. */
void changed_review(struct server *s);
/* Runs the learning rate's block; `rate` is held for writing. */
enum skiff_status rate_run(struct server *s, struct skiff_error *err);

/* ---- hashed.c: hash-backed embeddings; the shard's lock is held ---- */
/* initial values are known */
enum skiff_status hashed_create(struct param_slice *u, struct skiff_error *err);
void hashed_destroy(struct param_slice *u, int trainers);
/* Rows of n unaligned ids, created if missing, with deferred updates applied. */
enum skiff_status hashed_pull(struct param_slice *u, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err);
/* Applies all deferred updates of the table, which must have some kept. */
enum skiff_status hashed_flush_all(struct param_slice *u, struct skiff_error *err);
/* The rows of one variable in the table's order, from a cursor on (0: the first), at most max, with
 * deferred updates applied. END: these are the last. */
enum skiff_status hashed_list(struct param_slice *u, const struct row_var *var, uint64_t *cursor,
                              size_t max, int64_t *ids, float *rows, size_t *out_n,
                              struct skiff_error *err);
/* One row of a variable, when a model is loaded. */
enum skiff_status hashed_put(struct param_slice *u, const struct row_var *var, int64_t id,
                             const float *row, struct skiff_error *err);
/* n rows of unaligned floats are added to those of n unaligned ids. */
enum skiff_status hashed_add(struct param_slice *u, const uint8_t *ids, size_t n,
                             const uint8_t *rows, struct skiff_error *err);
/* Notes these ids as changed for the trainer; hashed_forget_changed frees what is noted. */
void hashed_note_changed(struct param_slice *u, int trainer, const uint8_t *ids, size_t n);
void hashed_forget_changed(struct param_slice *u, int trainer);
/* The noted ids, ascending, which are cleared: valid until the next call. */
size_t hashed_take_changed(struct param_slice *u, int trainer, const int64_t **out);
/* Is the slice's block nothing but a rule that can work on the records? Then sets u->home. */
void hashed_find_home(struct param_slice *u, const struct skiff_block *b);
/* For slices without a home. The gradient has ids: the rows that the slice's block needs are copied
 * to its variables, and the ids become row numbers there. close: copies them back, if they were
 * updated. */
enum skiff_status hashed_open(struct server *s, struct param_slice *u, struct skiff_error *err);
void hashed_close(struct param_slice *u, bool updated);
/* Rows of the table's snapshot; moment: the point to which deferred updates are applied, NULL:
 * there were none. */
enum skiff_status hashed_read_kept(struct param_slice *u, const struct row_var *var,
                                   const struct deferred_state *deferred_state, const uint8_t *ids,
                                   size_t n, float *out, struct skiff_error *err);

/* ---- prepare.c ---- */
enum skiff_status prepare_begin(struct server *s, struct skiff_error *err);
void prepare_end(struct server *s); /* before tables are destroyed */

/* ---- exchange.c ---- */
void on_exchange(void *self, struct rpc_request *q);
/* A member has left or died: steps that waited for it may be finished. Any thread. */
void exchange_review(struct server *s);
void exchange_end(struct server *s, const struct skiff_error *reason); /* fails deferred replies */
/* The shard's lock is held: another process than before sends for the trainer. */
void exchange_new_incarnation(struct server_shard *h, const struct rpc_request *q,
                              uint32_t trainer);

/* The shard's lock is held: carries the push out even if a fence is up. */
void exchange_now(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x);

/* Adds the steps that wait for trainers. */
void exchange_add_waits(struct server *s, struct ps_status *out);

/* ---- status.c ---- */
void on_status(void *self, struct rpc_request *q);
/* A wait that began then; false: none (CLOCK_NEVER). Missing workers are added after it. */
bool status_wait_begin(struct ps_status *x, const char *what, int64_t since);
void status_wait_add(struct ps_status *x, uint32_t worker);

/* ---- quiesce.c ---- */
struct shard_quiesce *shard_quiesce_create(int trainers);
void shard_quiesce_destroy(struct shard_quiesce *h); /* NULL is a no-op */
/* The shard's lock is held. */
void quiesce_note(struct server_shard *h,
                  const struct ps_exchange *x); /* the push is applied now */
void quiesce_forget(struct server_shard *h,
                    uint32_t trainer); /* another process sends for the trainer */
/* True: it waits, and the request and x belong to the shard. */
bool quiesce_takes(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x);
void quiesce_fail(struct server_shard *h, const struct skiff_error *reason);
/* All locks are held. Only one owner at a time: SKIFF_STATE while another one holds pushes. */
enum skiff_status quiesce_begin(struct server *s, const struct rpc_request *q,
                                const struct ps_snapshot *x, struct skiff_error *err);
/* Has q's sender held pushes until now, if that is needed? SKIFF_STATE: no. */
enum skiff_status quiesce_check(const struct server *s, const struct rpc_request *q,
                                struct skiff_error *err);
void quiesce_end_of(struct server *s, const struct rpc_request *q); /* if it is the sender's */
struct ps_applied *quiesce_list(struct server *s, uint32_t *out_n); /* the caller frees it */
/* Lifts a fence whose owner is gone or slow; returns when to check again. Any thread, no lock
 * held. */
int64_t quiesce_review(struct server *s);

/* ---- pull.c ---- */
void on_describe(void *self, struct rpc_request *q);
void on_clock(void *self, struct rpc_request *q);
void on_pull_rows(void *self, struct rpc_request *q);
void on_prefetch(void *self, struct rpc_request *q);
/* The shard's lock is held: answers the pulls whose steps are done now; fails those of a trainer's
 * earlier processes; fails all. */
void pulls_review(struct server_shard *h);
void pulls_forget(struct server_shard *h, uint32_t trainer, uint64_t incarnation);
void pulls_end(struct server_shard *h, const struct skiff_error *reason);
void on_pull_changed(void *self, struct rpc_request *q);
void on_pull_part(void *self, struct rpc_request *q);
void on_put_part(void *self, struct rpc_request *q);
/* Finds the slice that it is for; an error when it does not fit. */
enum skiff_status part_check(struct server *s, const struct ps_put *x, struct param_slice **out,
                             struct skiff_error *err);
/* The shard's lock is held; the part was checked. */
void part_put(struct server *s, struct param_slice *u, const struct ps_put *x);
void on_scan(void *self, struct rpc_request *q);
void on_save_table(void *self, struct rpc_request *q);
/* Answers q with a reply made by a writer, or with an error. */
void reply_written(struct server *s, struct rpc_request *q, struct wire_writer *w);

/* ---- members.c ---- */
void members_create(struct server *s);
void members_destroy(struct server *s);
void members_host(struct server *s); /* server 0, before node_start */
enum skiff_status members_join(struct server *s, int64_t deadline, struct skiff_error *err);
enum member_state members_state(struct server *s, uint32_t trainer);  /* any thread */
struct server_member members_get(struct server *s, uint32_t trainer); /* any thread: a copy */
bool members_gone(struct server *s, uint32_t trainer,
                  uint64_t incarnation);                         /* any thread: this process */
void members_note_unsaved(struct server *s, const char *reason); /* any thread */
void members_announce_self(struct server *s); /* on_member of this server, which serves now */
void on_member(void *self, const struct member *after, enum member_state before);
/* Blocks until the job is over. */
enum skiff_status members_watch(struct server *s, struct skiff_error *err);
void members_leave(struct server *s, bool complete);

/* ---- reduce.c ---- */
struct reduce_state *reduce_create(struct server *s);
void reduce_destroy(struct reduce_state *m);
void on_reduce(void *self, struct rpc_request *q);
void on_message_put(void *self, struct rpc_request *q);
void on_message_take(void *self, struct rpc_request *q);
void reduce_review(struct server *s);
void reduce_add_waits(struct server *s, struct ps_status *out);
void reduce_end(struct server *s, const struct skiff_error *reason);
pthread_mutex_t *reduce_lock(struct server *s);
bool reduce_has_ended(const struct server *s); /* has a reduction succeeded? */

/* ---- coordinator.c; the reduction state's lock is held, but for the handlers ---- */
struct coordinator *coordinator_create(const struct server *s);
void coordinator_destroy(struct coordinator *b); /* NULL is a no-op */
void coordinator_own_start(struct server *s);    /* server 0's own report for the start */
/* Do reductions wait for this worker? */
bool coordinator_awaits(struct server *s, int worker);
enum skiff_status coordinator_check_waiter(struct server *s, const struct rpc_request *q,
                                           const char *tag, struct skiff_error *err);
void coordinator_arrival(struct server *s); /* a worker has joined a reduction */
void coordinator_meeting_over(struct server *s, const char *tag);
void coordinator_review(struct server *s);
void coordinator_end(struct server *s, const struct skiff_error *reason);
void on_begin(void *self, struct rpc_request *q);
void on_saving(void *self, struct rpc_request *q);
void on_result(void *self, struct rpc_request *q);
void coordinator_add_waits(struct server *s, struct ps_status *out);

/* ---- ledger.c; the reduction state's lock is held, but for the handler ---- */
struct ledger *ledger_create(void);
void ledger_destroy(struct ledger *l); /* NULL is a no-op */
void on_trained(void *self, struct rpc_request *q);
/* The newest epoch that a process has reported; false: none. */
bool ledger_latest(const struct ledger *l, uint32_t worker, uint64_t incarnation, int64_t *epoch,
                   uint64_t *samples);
/* Is it a worker that has files to train? */
bool coordinator_has_files(const struct server *s, int worker);

#endif
