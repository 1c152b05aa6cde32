/* Session: a trainer's connections to all servers of its job: one node, one rpc peer per server,
 * the membership of server 0. Everything that a trainer asks servers for goes through here; when
 * and what is exchanged is decided by the modes (mode.h).
 *
 * Any start order: session_open waits until all servers are there (and says every few seconds, by
 * `say`, which are not), checks that they belong to this job - mode, counts, placement - and joins.
 * Threads: all calls may come from any thread but the network thread, and block until their
 * deadline at most. A server that dies fails all calls at once, with its name. */
#ifndef COMM_SESSION_H
#define COMM_SESSION_H

#include "base/log.h"
#include "base/mode.h"
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
    bool insecure;            /* no secret is needed, wherever servers are */
    const char *transport;    /* as users write it (net/transport.h); NULL: tcp */
    struct inproc_hub *hub;   /* servers are in this process; NULL: they are not */
    int connect_ms;           /* all servers must have answered by then; 0: 30 minutes */
    int request_ms;           /* deadline of a request; 0: 180 s (FLAGS_rpc_deadline) */
    int silence_ms;           /* a peer is dead after this; 0: 10000 */
    void (*say)(void *user, enum log_level level, const char *line); /* for the log; may be NULL */
    /* A trainer or server has joined, left or died; any thread. May be NULL. */
    void (*on_member)(void *user, const struct member *member);
    /* A trainer is waited for that is alive; given_up: in vain, the session fails. Any thread. May
     * be NULL. */
    void (*on_late)(void *user, int worker, const char *text, bool given_up);
    void *user;
};

enum skiff_status session_open(const struct session_options *options, struct session **out,
                               struct skiff_error *err);
/* Goodbye to the servers (COMPLETE): they do not wait for us any more. May be called twice. */
enum skiff_status session_leave(struct session *s, struct skiff_error *err);
/* This worker has failed: servers count it as dead at once, for this reason ("worker 1 <reason>"),
 * and all that it waits for, or will ask for, fails. Blocks for 2 s at most. Behind session_leave
 * it does nothing. */
void session_abandon(struct session *s, const char *reason);
void session_close(struct session *s); /* leaves if need be, frees; NULL is fine */

int session_worker(const struct session *s);
int session_server_of(const struct session *s, const char *endpoint); /* -1: unknown */

/* One exchange with every server concerned, all under way at the same time: pushes[i] (whole
 * values, cut here by their slices; rows get local ids) and pulls[i] (filled from their slices).
 * With PS_END_STEP every server gets a message, whether or not it has something to do. */
struct session_push {
    struct job_slices to; /* dense, several slices without sections: each gets the whole */
    const struct skiff_tensor *x;
};
struct session_pull {
    struct job_slices from;   /* sections are not needed: the replies tell */
    struct skiff_tensor *out; /* shaped already: the whole variable; one slice: takes what comes */
};
enum skiff_status session_exchange(struct session *s, uint64_t step, uint32_t flags,
                                   const struct session_push *pushes, int npush,
                                   const struct session_pull *pulls, int npull,
                                   struct skiff_error *err);
/* Rows of distinct ids, in their order: out[i * width ..] = row of ids[i]. Asked for now, taken
 * later; take and drop end the life of what ask gave. ahead: for a later batch; servers answer when
 * they have done `after` steps of this trainer (exchanges with PS_END_STEP); 0: at once. */
struct session_rows;
enum skiff_status session_rows_ask(struct session *s, const struct job_slices *table,
                                   const int64_t *ids, size_t n, bool ahead, uint64_t after,
                                   struct session_rows **out, struct skiff_error *err);
enum skiff_status session_rows_take(struct session_rows *rows, int64_t width, float *out,
                                    struct skiff_error *err);
void session_rows_drop(struct session_rows *rows);
/* These rows will be asked for soon: servers that have them on disk bring them to memory. Nobody
 * waits for an answer, and nothing is told when it fails. */
void session_rows_soon(struct session *s, const struct job_slices *table, const int64_t *ids,
                       size_t n);
/* ask and take */
enum skiff_status session_pull_rows(struct session *s, const struct job_slices *table,
                                    const int64_t *ids, size_t n, int64_t width, float *out,
                                    struct skiff_error *err);
/* Rows that changed since this trainer last asked, by slice; ids of the
 * whole table. free() both. */
enum skiff_status session_pull_changed(struct session *s, const struct job_slices *table,
                                       int64_t width, int64_t **out_ids, float **out_rows,
                                       size_t *out_n, struct skiff_error *err);
/* Any variable that servers hold, in parts (saving): rows first .. first + n of the slice. */
enum skiff_status session_pull_part(struct session *s, int server, const char *name, int64_t first,
                                    int64_t n, struct skiff_tensor *out, struct skiff_error *err);

/* Sync: the servers do not wait for our next step (pause), or do so again. Who meets others - in a
 * barrier, a reduction - pauses before it, and all come back and meet once more before anybody
 * trains on; otherwise those with more batches would wait for those that wait for them. */
enum skiff_status session_pause(struct session *s, bool pause, struct skiff_error *err);
enum skiff_status session_barrier(struct session *s, const char *name, struct skiff_error *err);
/* In place; op "sum", "max", "min". All workers that are in the job take part. */
enum skiff_status session_reduce_double(struct session *s, const char *tag, const char *op,
                                        double *v, size_t n, struct skiff_error *err);
enum skiff_status session_reduce_int64(struct session *s, const char *tag, const char *op,
                                       int64_t *v, size_t n, struct skiff_error *err);
enum skiff_status session_mail_put(struct session *s, int to, const char *tag, const void *data,
                                   size_t bytes, struct skiff_error *err);
enum skiff_status session_mail_take(struct session *s, int from, const char *tag, void **out,
                                    size_t *out_bytes, struct skiff_error *err); /* free() it */

/* Every server writes its part of a table under dir. */
enum skiff_status session_save_table(struct session *s, const char *dir, const char *table,
                                     struct skiff_error *err);

/* ---- tables of features (session_table.c) ---- */

/* The call goes to all servers at once; states[i] is server i's. An hour at most (saves and
 * loads of large tables; STAT: as other requests); progress is said every 10 s. */
enum skiff_status session_table(struct session *s, const struct ps_table *call,
                                struct ps_table_state *states, struct skiff_error *err);
/* The same; sum: of the states, its threshold is the mean of the servers that have shards. */
enum skiff_status session_table_sum(struct session *s, const struct ps_table *call,
                                    struct ps_table_state *sum, struct skiff_error *err);
/* Saves of n tables (SAVE or CACHE) that belong together: written first, ABORT for all if one could
 * not be; then, unless something else has gone wrong meanwhile (good), COMMIT for all. So a save
 * that fails for want of room has changed no table. calls: their tokens are set. */
enum skiff_status session_tables_write(struct session *s, struct ps_table *calls, int n,
                                       struct ps_table_state *sums, struct skiff_error *err);
enum skiff_status session_tables_end(struct session *s, struct ps_table *calls, int n, bool good,
                                     struct skiff_error *err);
/* Both halves, of one table. */
enum skiff_status session_table_save(struct session *s, const struct ps_table *call,
                                     struct ps_table_state *sum, struct skiff_error *err);
/* Records of a snapshot, as servers keep them, from a cursor on (0: the beginning; next: 0 at the
 * end), at most max: ids, and rows of stamp and values. One may come twice, the same. */
enum skiff_status session_pull_records(struct session *s, const char *tag, int server,
                                       const char *table, uint64_t *cursor, uint64_t max,
                                       struct skiff_tensor *out, struct skiff_error *err);
/* Values for a dense variable; token: of a load (below), which takes them over, 0: now. */
enum skiff_status session_put_part(struct session *s, int server, const char *name, uint64_t first,
                                   const float *data, size_t n, uint64_t token,
                                   struct skiff_error *err);
/* Loads of n tables (LOAD), and of parts that are put with their token, that belong together: all
 * servers read everything beside their tables; then (good) they take it over, or else forget it.
 * begin, end: table is any of features.
 * Whoever dies in between: all of it is taken over, or nothing (server/intake.c). */
enum skiff_status session_load_begin(struct session *s, const char *table, uint64_t *out_token,
                                     struct skiff_error *err);
enum skiff_status session_tables_read(struct session *s, struct ps_table *calls, int n,
                                      uint64_t token, struct skiff_error *err);
enum skiff_status session_load_end(struct session *s, const char *table, uint64_t token, bool good,
                                   struct skiff_error *err);

/* ---- what a job does together (session_job.c) ---- */

/* Ready to begin, with this on the disk. Blocks until all processes are; connect_ms at most. */
enum skiff_status session_begin(struct session *s, const struct ps_begin *has, struct ps_begun *out,
                                struct skiff_error *err);
/* x->state ASK, DONE or FAILED; the answer comes in its place. */
enum skiff_status session_saving(struct session *s, struct ps_saving *x, struct skiff_error *err);
/* Tells all servers that the job's result is not saved: they will not end well. */
enum skiff_status session_unsaved(struct session *s, const char *reason, struct skiff_error *err);
/* What this worker has trained of an epoch; out NULL: nobody waits for the answer, and what is
 * wrong with the network is noticed elsewhere. x->worker is set. */
enum skiff_status session_trained(struct session *s, struct ps_trained *x, struct ps_account *out,
                                  struct skiff_error *err);
bool session_is_lowest(struct session *s); /* are all workers with lower numbers dead? */
/* All servers give their values of now a name, under which they can be read while training goes
 * on. A name that is there already stays with its values. */
enum skiff_status session_mark(struct session *s, const char *tag, struct skiff_error *err);
/* The same while others push: of a push that goes to several servers all is in it, or nothing. */
/* session_hold is its first half: pushes that have not begun wait until the mark. */
enum skiff_status session_hold(struct session *s, const char *tag, struct skiff_error *err);
enum skiff_status session_mark_now(struct session *s, const char *tag, struct skiff_error *err);
enum skiff_status session_unmark(struct session *s, const char *tag, struct skiff_error *err);
/* As session_pull_part and session_pull_rows, of a snapshot. */
enum skiff_status session_pull_kept(struct session *s, const char *tag, int server,
                                    const char *name, int64_t first, int64_t n,
                                    struct skiff_tensor *out, struct skiff_error *err);
enum skiff_status session_pull_kept_rows(struct session *s, const char *tag,
                                         const struct job_slices *table, const int64_t *ids,
                                         size_t n, int64_t width, float *out,
                                         struct skiff_error *err);

struct session_counts {
    uint64_t bytes_out, bytes_in, exchanges, rows_pulled;
    uint64_t rows_ahead; /* of those: were asked for before their batch began */
    double wait_seconds; /* of training threads for the network */
};
void session_counts(struct session *s, struct session_counts *out);

#endif
