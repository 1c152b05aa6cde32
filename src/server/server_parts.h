/* The state of a server, which the files of this module share; each subject has a header of its
 * own.
 *
 * Locks (no thread waits while it holds one): a shard's lock guards its slices, its sync step and
 * its deferred replies; `rate` (read: a slice is updated; write: the learning rate's block is
 * run) is taken inside it; `members` (and the first failure) is a leaf, and so is `reduce`
 * (reduce.c), except that members is taken inside it. */
#ifndef SERVER_SERVER_PARTS_H
#define SERVER_SERVER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/rng.h"
#include "net/membership.h"
#include "server/server.h"
#include "sparse/sparse.h"

/* In the server's registry, as server_<name>. */
struct server_counters {
    struct metric *pushes, *pulls, *rows_pushed, *rows_pulled, *steps, *bytes_in, *bytes_out;
    struct metric *here, *gone, *dead; /* trainers */
};

struct bound_var;     /* bind.h */
struct maintenance;   /* maintenance.c */
struct param_slice;   /* slice.h */
struct preparer;      /* prepare.c */
struct server_member; /* members.h */
struct server_shard;  /* shard.h */
struct snapshot;      /* snapshot.h */
struct load_staging;  /* load_staging.c */
struct reduce_state;  /* reduce.c */
struct coordinator;   /* coordinator.c */
struct ledger;        /* ledger.c */

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

#endif
