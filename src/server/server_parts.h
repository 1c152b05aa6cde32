/* What the files of this room share.
 *
 * Locks, none held while waiting: a shard's lock guards its units, its round and what is parked in
 * it; `rate` (read: a unit is updated; write: the learning rate's block is run) is taken inside it;
 * `people` (who is in the job, the first failure) is a leaf, and so is `meet` (meet.c), except
 * that people is taken inside it. */
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
#include "table/changed.h"
#include "table/fill.h"
#include "table/table_snapshot.h"

/* Something that a trainer pushed and that waits for the end of the step. The item's data lie in
 * body. */
struct push {
    uint32_t trainer;
    int order; /* of arrival */
    struct ps_item item;
    struct blob *body; /* a reference */
};

/* A variable of a keyed table that has a row per id: the table itself, its accumulators. */
struct row_var {
    const char *name;
    struct skiff_tensor *value; /* rows of the window, while the unit's block is run */
    struct fill fill;
    int first; /* where its row begins in a record */
};

/* Ids of a keyed table, each once, that are taken as a whole (GEO: what one trainer has not seen
 * yet); {0} is an empty set. */
struct changed_ids {
    struct id_map map;
    size_t room; /* of the map */
    int64_t *ids;
    size_t n;
};

/* Rows of a keyed table that its variables hold while its block is run (keyed.c). */
struct window {
    struct record **records;
    uint32_t *stamps; /* of the records */
    size_t n, cap;
    float *to[ACCESSOR_PARTS]; /* the variables' rows */
    bool all;                  /* every row of the table */
};

/* A parameter slice (or keyed table) and what updates it. */
struct unit {
    const char *param, *grad; /* names in the server program */
    int shard;
    int block;                                                  /* of the server program */
    struct skiff_tensor *param_value, *grad_value, *base_value; /* base: DC-ASGD's local_bak */
    struct shape shape; /* of the parameter; a table's rows: -1 */
    int64_t width;
    int64_t pushed;            /* floats of a row of its gradient */
    struct features *features; /* it has rules of its own, and no block (features.c); NULL */
    bool sparse;               /* gradients come as rows */
    bool add;                  /* GEO: what comes is added */
    bool compensate;           /* DC-ASGD */
    struct plan *plan;         /* NULL with add */
    struct table *table;       /* keyed by id; NULL: it is not. A load may put another here */
    struct accessor accessor;
    struct row_var *vars; /* of a keyed table; the parameter first */
    int nvars;
    struct row_home home; /* rules without states work on the records; each NULL: on a window */
    struct window window;
    int lag_first[LAG_ARRAYS]; /* where the lag's arrays begin in a record; -1: no such one */
    float **backups;           /* DC-ASGD: by trainer, what it pulled last; NULL: nothing yet */
    struct changed *changed;   /* GEO, sparse: by trainer */
    struct changed_ids *news;  /* GEO, keyed by id: by trainer */
    const char *delta;         /* differences come under this name, too; NULL: none */
    struct push *pushes;       /* sync: of the running step */
    int npushes, pushes_cap;
};

/* Without the shard's lock, which `table` is looked at under (or the preparer's: prepare.c). */
static inline bool unit_is_keyed(const struct unit *u)
{
    return u->features || u->nvars;
}

/* A trainer that has ended the step and waits for the others. */
struct parked {
    struct rpc_request *request;
    uint32_t trainer;
    int64_t since;
    struct ps_exchange x; /* only trainer, want */
};

/* A pull of rows that comes after a step which is not done yet. */
struct waiting_pull {
    struct rpc_request *request;
    uint32_t trainer;
    uint64_t after;
};

/* A push that waits until a snapshot is marked. */
struct held_push {
    struct rpc_request *request;
    struct ps_exchange x;
};

struct shard_hold; /* hold.c */

struct shard {
    pthread_mutex_t lock;
    struct server *server;
    int index;
    struct unit **units;
    int nunits;
    uint64_t round;     /* sync: steps done */
    bool *ended, *gone; /* sync, by trainer: has ended the running step; has no more data */
    uint64_t *lives;    /* by trainer: the process that spoke last */
    uint64_t *done;     /* by trainer: its steps that are done */
    uint64_t *heard;    /* GEO, by trainer: the process that asked for values last; 0: none */
    struct waiting_pull *waiting;
    int nwaiting, waiting_cap;
    struct parked *parked;
    int nparked;
    int64_t *rows; /* scratch */
    size_t rows_cap;
    struct id_map map; /* scratch of merges */
    struct shard_hold *hold;
};

/* In the server's registry, as server_<name>. */
struct counters {
    struct metric *pushes, *pulls, *rows_pushed, *rows_pulled, *steps, *bytes_in, *bytes_out;
    struct metric *here, *gone, *dead; /* trainers */
    struct metric *tables[6];          /* of all tables of features (features.c); NULL: none */
};

struct person {
    enum member_state state;
    bool came;
    char name[HELLO_NAME], reason[256];
    uint64_t life; /* incarnation of the process that came last */
    int nlives;    /* processes that have come under this number */
};

struct features;     /* features.h */
struct clerk;        /* features_call.c */
struct preparer;     /* prepare.c */
struct intake;       /* intake.c */
struct meeting_room; /* meet.c */
struct job_book;     /* book.c */
struct ledger;       /* ledger.c */

struct server {
    struct server_options options;
    const struct job_plan *plan;   /* of the job: options.plan->job */
    int index;                     /* ours among its servers */
    struct skiff_program *program; /* a copy of options.main, made ready to run block by block */
    struct skiff_scope *scope;
    bool own_scope, initialised, ran;
    struct mt64 generator;
    struct unit *units;
    int nunits;
    struct str_map by_grad, by_var; /* name -> unit; by_var: parameters and their accumulators */
    struct shard *shards;
    int nshards;
    struct plan *rate_plan;     /* NULL: the rate does not change */
    struct str_map counters_in; /* variables that the rate's block reads and trainers may add to */
    struct str_map elsewhere; /* variables that the startup program must not make: rows, backups */
    pthread_rwlock_t rate;
    uint64_t rate_rounds; /* sync: how often the rate's block has been run */
    struct stats *stats;  /* its own, its node's and their rpc's */
    struct counters counts;

    pthread_mutex_t people;
    struct person *trainers, *servers;
    struct skiff_error failure; /* code OK: none */
    int wake_fd;
    atomic_bool stopping;

    struct node *node;
    struct rpc_server *rpc;
    struct rpc_client *client;
    struct rpc_peer *host;         /* server 0, as the others know it; the client's */
    struct membership *membership; /* server 0 */
    struct enrolment *enrolment;   /* the others */
    struct meeting_room *meet;
    struct job_book *book;
    struct ledger *ledger;
    struct intake *intake; /* a load that is not taken over; the clerk's. NULL: none */
    uint64_t taken;        /* the last one that was; the clerk's */
    struct clerk *clerk;   /* carries out commands for tables of features; NULL: there are none */
    struct preparer *preparer; /* NULL: no table is keyed by id */
    char unsaved[512];         /* why the job's last epoch is not saved; guarded by people */
    struct snapshot *snapshot; /* NULL: none */
    struct {                   /* hold.c; changes under the locks of all shards */
        bool on;
        struct ps_applied *let; /* pushes that may begin */
        uint32_t nlet, worker;  /* worker: who holds, and which process */
        uint64_t life;
        int64_t until;
    } hold;
};

/* ---- server.c ---- */
void server_say(struct server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_warn(struct server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_wake(struct server *s);
/* The first failure ends server_run; any thread. */
void server_fail(struct server *s, const struct skiff_error *err);
/* "server 1 at host:port" */
const char *server_text(const struct server *s, char out[static 320]);

/* Keyed tables: does the row of this id live here? */
bool unit_owns(const struct server *s, const struct unit *u, int64_t id);

/* All shards, in their order. */
void server_lock_all(struct server *s);
void server_unlock_all(struct server *s);

/* ---- units.c: the plan and the server program ---- */
enum skiff_status units_create(struct server *s, struct skiff_error *err);
void units_destroy(struct server *s);
/* The unit that a pushed name belongs to (plan_unit.pushed); NULL. */
struct unit *unit_of_grad(const struct server *s, const char *name);
struct shard *unit_shard(struct server *s, const struct unit *u);

/* ---- startup.c ---- */
/* What rows of keyed tables start with, from the startup program. */
enum skiff_status startup_fills(struct server *s, struct skiff_error *err);

/* ---- apply.c; the shard's lock is held ---- */
/* Is the item something that this unit takes? */
enum skiff_status unit_check(const struct server *s, const struct unit *u,
                             const struct ps_item *item, struct skiff_error *err);
/* Are these n unaligned ids rows that this server has (or can have)? */
enum skiff_status unit_check_ids(const struct server *s, const struct unit *u, const uint8_t *ids,
                                 size_t n, struct skiff_error *err);
/* Applies one push now (async, GEO). */
enum skiff_status unit_apply(struct server *s, struct shard *h, struct unit *u, uint32_t trainer,
                             const struct ps_item *item, struct skiff_error *err);
/* Merges the pushes of the trainers that have ended the step, in their order, divides by `present`
 * and applies; without a push nothing happens. The pushes are forgotten. */
enum skiff_status unit_step(struct server *s, struct shard *h, struct unit *u, int present,
                            struct skiff_error *err);
void unit_forget(struct unit *u, int trainer); /* pushes of one trainer; -1: all */
/* GEO: this process takes values, so it will have to hear of what others change from now on. */
void unit_hear(struct shard *h, const struct rpc_request *q);
/* Not of keyed tables: local rows of n unaligned ids; valid until the next call. They are up to
 * date afterwards. */
enum skiff_status unit_rows(struct server *s, struct shard *h, struct unit *u, const uint8_t *ids,
                            size_t n, const int64_t **out, struct skiff_error *err);
/* The trainer gets to know these rows (NULL: all): DC-ASGD. */
enum skiff_status unit_backup(struct server *s, struct unit *u, uint32_t trainer,
                              const int64_t *rows, size_t n, struct skiff_error *err);
/* GEO: members have changed; what is noted for those who have gone is freed. No lock is held. */
void changed_review(struct server *s);
/* Runs the learning rate's block; `rate` is held for writing. */
enum skiff_status rate_run(struct server *s, struct skiff_error *err);

/* ---- keyed.c: tables keyed by id; the shard's lock is held ---- */
enum skiff_status keyed_create(struct unit *u, struct skiff_error *err); /* fills are known */
void keyed_destroy(struct unit *u, int trainers);
/* Rows of n unaligned ids, made where there are none, up to date. */
enum skiff_status keyed_pull(struct unit *u, const uint8_t *ids, size_t n, float *out,
                             struct skiff_error *err);
/* Brings all rows of the table, which has a lag, up to date. */
enum skiff_status keyed_settle_all(struct unit *u, struct skiff_error *err);
/* The rows of one variable in the table's order, from a cursor on (0: the first), at most max; up
 * to date. END: these are the last. */
enum skiff_status keyed_list(struct unit *u, const struct row_var *var, uint64_t *cursor,
                             size_t max, int64_t *ids, float *rows, size_t *out_n,
                             struct skiff_error *err);
/* One row of a variable, when a model is loaded. */
enum skiff_status keyed_put(struct unit *u, const struct row_var *var, int64_t id, const float *row,
                            struct skiff_error *err);
/* n rows of unaligned floats are added to those of n unaligned ids. */
enum skiff_status keyed_add(struct unit *u, const uint8_t *ids, size_t n, const uint8_t *rows,
                            struct skiff_error *err);
/* The trainer will hear of these. Or of none: what is noted for it is freed. */
void keyed_note_changed(struct unit *u, int trainer, const uint8_t *ids, size_t n);
void keyed_forget_changed(struct unit *u, int trainer);
/* The ids that it has not heard of, ascending, which then it has: valid until the next call. */
size_t keyed_take_changed(struct unit *u, int trainer, const int64_t **out);
/* Is the unit's block nothing but a rule that can work on the records? Then u->home says so. */
void keyed_find_home(struct unit *u, const struct skiff_block *b);
/* Without a home. The gradient has ids: the rows that the unit's block needs are brought into its
 * variables, and the ids become numbers of rows there. close: they are brought back, if they were
 * updated. */
enum skiff_status keyed_open(struct server *s, struct unit *u, struct skiff_error *err);
void keyed_close(struct unit *u, bool updated);
/* Rows of the table's snapshot; moment: to which they are brought, NULL: no row lay behind. */
enum skiff_status keyed_read_kept(struct unit *u, const struct row_var *var,
                                  const struct lag_moment *moment, const uint8_t *ids, size_t n,
                                  float *out, struct skiff_error *err);

/* ---- features.c: tables of features; the shard's lock is held ---- */
enum skiff_status features_create(struct server *s, struct unit *u, const char *settings,
                                  struct skiff_error *err);
void features_destroy(struct unit *u); /* a unit that is none is fine */
/* Its rows on disk lie in a folder that no setting names; it goes when it is empty. */
bool features_in_own_folder(const struct unit *u);
void features_leave_own_folder(void);
bool features_owns(const struct server *s, const struct unit *u, int64_t id);
/* Rows of n unaligned ids; zeros where there are none. */
enum skiff_status features_pull(struct unit *u, const uint8_t *ids, size_t n, float *out,
                                struct skiff_error *err);
enum skiff_status features_push(struct server *s, struct unit *u, const struct ps_item *item,
                                struct skiff_error *err);

/* All of a record, in our own saves: its stamp, its values. */
int64_t features_record_width(const struct unit *u);
/* Records of the table's snapshot from a cursor on, at most max; END: these are the last. */
enum skiff_status features_list_kept(struct unit *u, uint64_t *cursor, size_t max, int64_t *ids,
                                     float *rows, size_t *out_n, struct skiff_error *err);
/* The same for ids that wait for admission, WAITING_WIDTH numbers each. */
enum skiff_status features_list_waiting(struct unit *u, uint64_t *cursor, size_t max, int64_t *ids,
                                        float *rows, size_t *out_n, struct skiff_error *err);
/* One such row, when a model is loaded. */
enum skiff_status features_put(struct unit *u, int64_t id, const float *row,
                               struct skiff_error *err);

/* ---- features_call.c ---- */
void on_table(void *self, struct rpc_request *q);
void on_tables(void *self, struct rpc_request *q);
enum skiff_status tables_begin(struct server *s, struct skiff_error *err);
/* A PUT_PART of a load: it is kept for its COMMIT. */
void tables_keep_part(struct server *s, struct rpc_request *q);
void tables_review(struct server *s); /* members have changed */
/* Ends the running command, fails those that wait; the handlers have ended. */
void tables_end(struct server *s, const struct skiff_error *reason);

/* ---- prepare.c ---- */
enum skiff_status prepare_begin(struct server *s, struct skiff_error *err);
void prepare_end(struct server *s); /* before tables go */
/* *other becomes the unit's table, and the other way round; the shard's lock is held. */
void prepare_exchange(struct server *s, struct unit *u, struct table **other);

/* ---- exchange.c ---- */
void on_exchange(void *self, struct rpc_request *q);
/* Somebody has left or died: steps that waited for him may be ended. Any thread. */
void exchange_review(struct server *s);
void exchange_end(struct server *s, const struct skiff_error *reason); /* fails what is parked */
/* The shard's lock is held: another process than before speaks for the trainer. */
void exchange_new_life(struct shard *h, const struct rpc_request *q, uint32_t trainer);

/* The shard's lock is held: carries it out, whatever is held; x is taken over. */
void exchange_now(struct shard *h, struct rpc_request *q, struct ps_exchange *x);

/* Steps that wait for trainers. */
void exchange_add_waits(struct server *s, struct ps_status *out);

/* ---- status.c ---- */
void on_status(void *self, struct rpc_request *q);
/* A wait that began then; false: nobody waits (CLOCK_NEVER). Missing workers are added after it. */
bool status_wait_begin(struct ps_status *x, const char *what, int64_t since);
void status_wait_add(struct ps_status *x, uint32_t worker);

/* ---- hold.c ---- */
struct shard_hold *shard_hold_create(int trainers);
void shard_hold_destroy(struct shard_hold *h); /* NULL is fine */
/* The shard's lock is held. */
void hold_note(struct shard *h, const struct ps_exchange *x); /* it is applied now */
void hold_forget(struct shard *h, uint32_t trainer);          /* another process speaks for it */
/* True: it waits, and request and x belong to the shard. */
bool hold_takes(struct shard *h, struct rpc_request *q, const struct ps_exchange *x);
void hold_fail(struct shard *h, const struct skiff_error *reason);
/* All locks are held. */
/* One holds at a time: SKIFF_STATE while another one does. */
enum skiff_status hold_begin(struct server *s, const struct rpc_request *q,
                             const struct ps_snapshot *x, struct skiff_error *err);
/* Has q's sender held pushes until now, where that is needed? SKIFF_STATE: no. */
enum skiff_status hold_check(const struct server *s, const struct rpc_request *q,
                             struct skiff_error *err);
void hold_end_of(struct server *s, const struct rpc_request *q); /* if it is its sender's */
struct ps_applied *hold_list(struct server *s, uint32_t *out_n); /* free() it */
/* Ends a hold whose owner is gone or slow; when to look again. Any thread, no lock held. */
int64_t hold_review(struct server *s);

/* ---- pull.c ---- */
void on_describe(void *self, struct rpc_request *q);
void on_clock(void *self, struct rpc_request *q);
void on_pull_rows(void *self, struct rpc_request *q);
void on_rows_soon(void *self, struct rpc_request *q);
/* The shard's lock is held: answers those that had to wait for steps that are done now; fails those
 * of a trainer's earlier processes; fails all. */
void pulls_review(struct shard *h);
void pulls_forget(struct shard *h, uint32_t trainer, uint64_t life);
void pulls_end(struct shard *h, const struct skiff_error *reason);
void on_pull_changed(void *self, struct rpc_request *q);
void on_pull_part(void *self, struct rpc_request *q);
void on_put_part(void *self, struct rpc_request *q);
/* Which unit it is for; an error when it does not fit. */
enum skiff_status part_check(struct server *s, const struct ps_put *x, struct unit **out,
                             struct skiff_error *err);
/* The shard's lock is held; it was checked. */
void part_put(struct server *s, struct unit *u, const struct ps_put *x);
void on_scan(void *self, struct rpc_request *q);
void on_save_table(void *self, struct rpc_request *q);
/* A reply made by a writer, or an error: answers q. */
void reply_written(struct server *s, struct rpc_request *q, struct wire_writer *w);

/* ---- people.c ---- */
void people_create(struct server *s);
void people_destroy(struct server *s);
void people_host(struct server *s); /* server 0, before node_start */
enum skiff_status people_join(struct server *s, int64_t deadline, struct skiff_error *err);
enum member_state people_state(struct server *s, uint32_t trainer);  /* any thread */
struct person people_person(struct server *s, uint32_t trainer);     /* any thread: a copy */
bool people_gone(struct server *s, uint32_t trainer, uint64_t life); /* any thread: this process */
void people_note_unsaved(struct server *s, const char *reason);      /* any thread */
void people_tell_self(struct server *s); /* on_member of this server, which serves now */
void on_member(void *self, const struct member *after, enum member_state before);
/* Blocks until the job is over. */
enum skiff_status people_watch(struct server *s, struct skiff_error *err);
void people_leave(struct server *s, bool complete);

/* ---- meet.c ---- */
struct meeting_room *meet_create(struct server *s);
void meet_destroy(struct meeting_room *m);
void on_reduce(void *self, struct rpc_request *q);
void on_mail_put(void *self, struct rpc_request *q);
void on_mail_take(void *self, struct rpc_request *q);
void meet_review(struct server *s);
void meet_add_waits(struct server *s, struct ps_status *out);
void meet_end(struct server *s, const struct skiff_error *reason);
pthread_mutex_t *meet_lock(struct server *s);
bool meet_has_met(const struct server *s); /* has a reduction ended well? */

/* ---- book.c; the meeting room's lock is held, but for the handlers ---- */
struct job_book *book_create(const struct server *s);
void book_destroy(struct job_book *b); /* NULL is fine */
void book_own_start(struct server *s); /* server 0's part of the beginning */
/* Do meetings wait for this worker? */
bool book_awaits(struct server *s, int worker);
enum skiff_status book_check_guest(struct server *s, const struct rpc_request *q, const char *tag,
                                   struct skiff_error *err);
void book_arrival(struct server *s); /* somebody meets others */
void book_meeting_over(struct server *s, const char *tag);
void book_review(struct server *s);
void book_end(struct server *s, const struct skiff_error *reason);
void on_begin(void *self, struct rpc_request *q);
void on_saving(void *self, struct rpc_request *q);
void on_result(void *self, struct rpc_request *q);
void book_add_waits(struct server *s, struct ps_status *out);

/* ---- ledger.c; the meeting room's lock is held, but for the handler ---- */
struct ledger *ledger_create(void);
void ledger_destroy(struct ledger *l); /* NULL is fine */
void on_trained(void *self, struct rpc_request *q);
/* The newest epoch that a process has reported; false: none. */
bool ledger_latest(const struct ledger *l, uint32_t worker, uint64_t life, int64_t *epoch,
                   uint64_t *samples);
/* Is it a worker that has files to train? */
bool book_has_files(const struct server *s, int worker);

#endif
