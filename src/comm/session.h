/* Session: a trainer's connections to all servers of its job: one node, one rpc peer per server,
 * the membership of server 0. All requests of a trainer to servers go through it; the modes
 * (mode.h) decide when and what is exchanged.
 *
 * Any start order: session_open waits until all servers are up (and logs every few seconds, by
 * on_log, which are not), checks that they belong to this job (mode, counts, placement), and joins.
 * Threads: all calls may come from any thread but the network thread, and block until their
 * deadline at most. When a server dies, all calls fail at once, with its name. */
#ifndef COMM_SESSION_H
#define COMM_SESSION_H

#include "base/log.h"
#include "base/mode.h"
#include "metrics/metrics.h"
#include "net/membership.h"
#include "net/ps.h"
#include "program/job.h"

struct session;

struct session_options {
    int worker, workers, servers;
    const char *const *endpoints; /* of the servers */
    enum skiff_split_mode mode;
    uint64_t program_hash;    /* split_hash; 0: not checked */
    const char *job, *secret; /* NULL: "" */
    bool insecure;            /* no secret is needed, wherever the servers run */
    const char *transport;    /* as users write it (net/transport.h); NULL: tcp */
    struct inproc_hub *hub;   /* servers are in this process; NULL: they are not */
    int connect_ms;           /* all servers must have answered by then; 0: 30 minutes */
    int request_ms;           /* deadline of a request; 0: 180 s (FLAGS_rpc_deadline) */
    int silence_ms;           /* a peer is declared dead after this silence; 0: 10000 */
    struct metrics *metrics;  /* registry of its metrics and its node's; NULL: one of its own */
    void (*on_log)(void *user, enum log_level level,
                   const char *line); /* for the log; may be NULL */
    /* A trainer or server has joined, left or died; any thread. May be NULL. */
    void (*on_member)(void *user, const struct member *member);
    /* A live trainer is waited for; given_up: the wait has timed out and the session fails. Any
     * thread. May be NULL. */
    void (*on_late)(void *user, int worker, const char *text, bool given_up);
    void *user;
};

enum skiff_status session_open(const struct session_options *options, struct session **out,
                               struct skiff_error *err);
/* Tells the servers that this worker is done (COMPLETE): they no longer wait for it. May be called
 * twice. */
enum skiff_status session_leave(struct session *s, struct skiff_error *err);
/* This worker has failed: servers count it as dead at once, for this reason ("worker 1
 * <reason>"), and all its pending and later requests fail. Blocks for 2 s at most. No-op after
 * session_leave. */
void session_abandon(struct session *s, const char *reason);
void session_close(struct session *s); /* leaves if it has not, frees; NULL is a no-op */

int session_worker(const struct session *s);
int session_server_of(const struct session *s, const char *endpoint); /* -1: unknown */

/* Finds the numbers of a variable's slices on the servers, once; slices->bound may then be set to
 * the binding, as long as the session is open. use: of enum ps_use, what is to be done with the
 * slices. Without a binding, every call below finds them by name. */
enum skiff_status session_bind(const struct session *s, const struct job_slices *slices,
                               uint32_t use, struct session_binding **out, struct skiff_error *err);
void session_unbind(struct session_binding *b); /* NULL is a no-op */

/* Places for dense float32 values in the messages of a step (session_slots.c): what is added is
 * written into the message. Counts: of the slices that a step pushes and pulls. */
struct session_slots;
struct session_slot;
struct session_slots *slots_create(const struct session *s, size_t npieces, size_t nwant);
void slots_destroy(struct session_slots *p); /* NULL is a no-op */
/* A place for a value whose slices are bound; freed with free(). */
struct session_slot *slot_create(struct session_slots *p, const struct session *s,
                                 const struct job_slices *to);
/* Before the first value of a step is added. */
enum skiff_status slots_begin(struct session_slots *p, struct skiff_error *err);
/* As sum_add and sum_finish (mode.h). */
enum skiff_status slot_add(struct session_slot *slot, int n, const struct skiff_tensor *x,
                           const char *name, struct skiff_error *err);
void slot_finish(struct session_slot *slot, int n, bool mean);

/* One exchange with every server concerned, all in flight at the same time: pushes[i] (whole
 * values, split here into their slices; rows get local ids) and pulls[i] (filled from their
 * slices). With PS_END_STEP every server gets a message, even an empty one. */
struct session_push {
    struct job_slices to; /* dense, several slices without sections: each gets the whole */
    const struct skiff_tensor *x;
    const struct session_slot *slot; /* in place of x; all slots of an exchange have one owner */
};
struct session_pull {
    struct job_slices from; /* sections are not needed: the replies have them */
    /* has its shape already: the whole variable; one slice: takes the shape that arrives */
    struct skiff_tensor *out;
};
enum skiff_status session_exchange(struct session *s, uint64_t step, uint32_t flags,
                                   const struct session_push *pushes, int npush,
                                   const struct session_pull *pulls, int npull,
                                   struct skiff_error *err);
/* Rows of distinct ids, in their order: out[i * width ..] = row of ids[i]. Asked for now, taken
 * later; take and drop destroy the object that ask returned. prefetch: for a later batch; servers
 * answer when they have finished `after` steps of this trainer (exchanges with PS_END_STEP); 0: at
 * once. */
struct session_rows;
enum skiff_status session_rows_ask(struct session *s, const struct job_slices *table,
                                   const int64_t *ids, size_t n, bool prefetch, uint64_t after,
                                   struct session_rows **out, struct skiff_error *err);
enum skiff_status session_rows_take(struct session_rows *rows, int64_t width, float *out,
                                    struct skiff_error *err);
void session_rows_drop(struct session_rows *rows);
/* These rows will be pulled soon: servers that have them on disk fetch them to memory. A hint:
 * there is no answer, and failures are not reported. */
void session_prefetch_rows(struct session *s, const struct job_slices *table, const int64_t *ids,
                           size_t n);
/* ask, then take */
enum skiff_status session_pull_rows(struct session *s, const struct job_slices *table,
                                    const int64_t *ids, size_t n, int64_t width, float *out,
                                    struct skiff_error *err);
/* Rows that changed since this trainer's last call, by slice; ids of the whole table. The caller
 * frees both. */
enum skiff_status session_pull_changed(struct session *s, const struct job_slices *table,
                                       int64_t width, int64_t **out_ids, float **out_rows,
                                       size_t *out_n, struct skiff_error *err);
/* Any variable that servers hold, in parts (saving): rows first .. first + n of the slice. */
enum skiff_status session_pull_part(struct session *s, int server, const char *name, int64_t first,
                                    int64_t n, struct skiff_tensor *out, struct skiff_error *err);

/* Sync: the servers do not wait for this worker's next step (pause), or do so again. Workers that
 * wait for each other - in a barrier, a reduction - pause before it, and all resume and pass one
 * more barrier before any of them trains on; otherwise workers with more batches and workers at the
 * barrier would wait for each other forever. */
enum skiff_status session_pause(struct session *s, bool pause, struct skiff_error *err);
enum skiff_status session_barrier(struct session *s, const char *name, struct skiff_error *err);
/* In place; op "sum", "max", "min". All workers that are in the job take part. */
enum skiff_status session_reduce_double(struct session *s, const char *tag, const char *op,
                                        double *v, size_t n, struct skiff_error *err);
enum skiff_status session_reduce_int64(struct session *s, const char *tag, const char *op,
                                       int64_t *v, size_t n, struct skiff_error *err);
enum skiff_status session_message_put(struct session *s, int to, const char *tag, const void *data,
                                      size_t bytes, struct skiff_error *err);
/* The caller frees *out. */
enum skiff_status session_message_take(struct session *s, int from, const char *tag, void **out,
                                       size_t *out_bytes, struct skiff_error *err);

/* Every server writes its part of a table under dir. */
enum skiff_status session_save_table(struct session *s, const char *dir, const char *table,
                                     struct skiff_error *err);

/* ---- sparse tables (session_table.c) ---- */

/* The call goes to all servers at once; states[i] is server i's. An hour at most (saves and loads
 * of large tables; STAT: as other requests); progress is logged every 10 s. */
enum skiff_status session_table(struct session *s, const struct ps_table *call,
                                struct ps_table_state *states, struct skiff_error *err);
/* The same; sum: of the states, whose threshold is the mean over the servers that have shards. */
enum skiff_status session_table_sum(struct session *s, const struct ps_table *call,
                                    struct ps_table_state *sum, struct skiff_error *err);
/* Saves of n tables (SAVE or CACHE) that belong together: written first, ABORT for all if one
 * failed; then, unless something else has failed meanwhile (good), COMMIT for all. So a save that
 * fails for lack of disk space has changed no table. calls: their tokens are set. */
enum skiff_status session_tables_write(struct session *s, struct ps_table *calls, int n,
                                       struct ps_table_state *sums, struct skiff_error *err);
enum skiff_status session_tables_end(struct session *s, struct ps_table *calls, int n, bool good,
                                     struct skiff_error *err);
/* Writes and commits one table. */
enum skiff_status session_table_save(struct session *s, const struct ps_table *call,
                                     struct ps_table_state *sum, struct skiff_error *err);
/* Records of a snapshot, as servers keep them, from a cursor on (0: the beginning; next: 0 at
 * the end), at most max: ids, and rows of stamp and values. A record may be returned twice,
 * unchanged. */
enum skiff_status session_pull_records(struct session *s, const char *tag, int server,
                                       const char *table, uint64_t *cursor, uint64_t max,
                                       struct skiff_tensor *out, struct skiff_error *err);
/* Values for a dense variable; token: of a load (below), which takes them over, 0: now. */
enum skiff_status session_put_part(struct session *s, int server, const char *name, uint64_t first,
                                   const float *data, size_t n, uint64_t token,
                                   struct skiff_error *err);
/* Loads of n tables (LOAD), and of parts that are put with their token, that belong together: all
 * servers first read everything next to their tables; then (good) they take it over, or else drop
 * it. begin, end: table is any sparse table. If a process dies in between, all of it is taken over,
 * or nothing (server/load_staging.c). */
enum skiff_status session_load_begin(struct session *s, const char *table, uint64_t *out_token,
                                     struct skiff_error *err);
enum skiff_status session_tables_read(struct session *s, struct ps_table *calls, int n,
                                      uint64_t token, struct skiff_error *err);
enum skiff_status session_load_end(struct session *s, const char *table, uint64_t token, bool good,
                                   struct skiff_error *err);

/* ---- job-wide operations (session_job.c) ---- */

/* Ready to begin, with this checkpoint on disk. Blocks until all processes are; connect_ms at
 * most. */
enum skiff_status session_begin(struct session *s, const struct ps_begin *has, struct ps_begun *out,
                                struct skiff_error *err);
/* x->state ASK, DONE or FAILED; the answer replaces it. */
enum skiff_status session_saving(struct session *s, struct ps_saving *x, struct skiff_error *err);
/* Notifies all servers that the job's result is not saved: they will end with an error. */
enum skiff_status session_unsaved(struct session *s, const char *reason, struct skiff_error *err);
/* What this worker has trained of an epoch; out NULL: does not wait for the answer, and network
 * failures are noticed elsewhere. x->worker is set. */
enum skiff_status session_trained(struct session *s, struct ps_trained *x, struct ps_account *out,
                                  struct skiff_error *err);
bool session_is_lowest(struct session *s); /* are all workers of lower rank dead? */
/* All servers tag their current values with a name, under which they can be read while training
 * continues. A tag that exists already keeps its values. */
enum skiff_status session_tag(struct session *s, const char *tag, struct skiff_error *err);
/* The first half of session_tag_now: pushes that have not begun wait until the tag. */
enum skiff_status session_quiesce(struct session *s, const char *tag, struct skiff_error *err);
/* As session_tag, while others push: of a push that goes to several servers all is in the snapshot,
 * or nothing. */
enum skiff_status session_tag_now(struct session *s, const char *tag, struct skiff_error *err);
/* Drops the snapshot, and lifts this worker's fence. */
enum skiff_status session_untag(struct session *s, const char *tag, struct skiff_error *err);
/* As session_pull_part and session_pull_rows, of a snapshot. */
enum skiff_status session_pull_snapshot(struct session *s, const char *tag, int server,
                                        const char *name, int64_t first, int64_t n,
                                        struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status session_pull_snapshot_rows(struct session *s, const char *tag,
                                             const struct job_slices *table, const int64_t *ids,
                                             size_t n, int64_t width, float *out,
                                             struct skiff_error *err);

/* Metrics of the session, its node and its rpc, until session_close. */
struct metrics *session_metrics(const struct session *s);

#endif
