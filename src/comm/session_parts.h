/* Declarations that the files of the session share.
 *
 * A request batch is several requests in flight at the same time. Its waiter gets the first failure
 * at once, whatever the state of the others: a server may defer a reply until other trainers have
 * arrived, and they may never arrive when another server is dead. The remaining requests end by
 * themselves; the batch lives until the last of them has ended. */
#ifndef COMM_SESSION_PARTS_H
#define COMM_SESSION_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/map.h"
#include "comm/session.h"

struct session_metrics {
    struct metric *bytes_out, *bytes_in, *exchanges, *rows_pulled, *rows_prefetched, *wait,
        *wait_rows, *wait_servers;
};

/* What one server can be sent and asked for; the number of a variable is its place in the list. */
struct server_vars {
    struct ps_bound *list;
    uint32_t n;
    struct str_map pushed, pulled; /* name -> entry of the list */
};

/* A slice of a variable, bound. */
struct bound_slice {
    int server, shard;
    uint32_t number;
    const struct ps_bound *var; /* of the server's list */
    int64_t width;              /* elements of a row */
    size_t bytes;               /* of the whole slice; 0: rows only */
};

struct session_binding {
    int n;
    struct bound_slice slices[];
};

struct session_exchange; /* session_exchange.c */

struct session {
    struct session_options options; /* strings are copies */
    char **endpoints;
    struct node *node;
    struct rpc_client *client;
    struct rpc_peer **peers;  /* per server */
    int *shards;              /* per server */
    struct server_vars *vars; /* per server */
    int *first,
        nmessages; /* an exchange has a message for every shard: server i's from first[i] on */
    struct enrolment *enrolment;
    int64_t request_ms, connect_ms, silence_ms;
    atomic_bool watching; /* links are watched: between open and leave */
    /* of the watch, used by the network thread: silence is counted from `patience` at the
     * earliest */
    int64_t silence, patience, last_tick;
    int64_t stopped; /* how long this process did not run, at the last such pause */
    /* guards left, failure, the pushes in flight and idle; a leaf */
    pthread_mutex_t lock;
    /* the last number assigned; starts at the time, so that no process repeats one */
    uint64_t pushes;
    uint64_t *open; /* those in flight */
    int nopen, open_cap;
    struct session_exchange *idle; /* whose buffers are used again */
    bool left;
    /* code 0: none; a server is dead, or this process was declared dead */
    struct skiff_error failure;
    struct metrics *own_metrics; /* NULL: they are the owner's (options.metrics) */
    struct session_metrics counts;
};

#define BATCH_WHAT 320

struct batch_slot {
    struct request_batch *requests;
    struct blob *reply;
    char what[BATCH_WHAT]; /* for messages */
    int server;
};

struct request_batch {
    struct session *session;
    atomic_uint refs;     /* the waiter's, and one per request in flight */
    pthread_mutex_t lock; /* guards what follows, and the replies; a leaf */
    pthread_cond_t changed;
    int open; /* requests in flight */
    enum skiff_status status;
    struct skiff_error error;
    bool joint;          /* answers wait for other workers */
    struct metric *part; /* of a step, whose wait this is; or NULL */
    int n;
    struct batch_slot slots[];
};

struct batch_request {
    int server;
    uint32_t method;
    int shard;
    unsigned flags;    /* of enum rpc_flags */
    struct blob *body; /* taken over, also on failure; NULL: empty */
    int64_t wait_ms;   /* for the answer; 0: the session's request_ms */
    bool joint;        /* the answer waits for other workers, too */
};

struct request_batch *request_batch_create(struct session *s, int n);
/* All have been answered: drops the answers. */
void request_batch_empty(struct request_batch *r);
/* The same batch of n requests, empty, if none of its requests is under way; else (or NULL) another
 * one. */
struct request_batch *request_batch_again(struct request_batch *r, struct session *s, int n);
/* Starts request `slot`. `what` is "push of step 3" and the like. */
enum skiff_status request_batch_start(struct request_batch *r, int slot,
                                      const struct batch_request *ask, struct skiff_error *err,
                                      const char *what, ...) __attribute__((format(printf, 5, 6)));
/* Waits until all have been answered, or for the first failure. */
enum skiff_status request_batch_wait(struct request_batch *r, struct skiff_error *err);
void request_batch_unref(struct request_batch *r); /* NULL is a no-op */

/* One request to one server. out_reply (may be NULL) gets a reference, which the caller owns. */
enum skiff_status session_ask(struct session *s, const struct batch_request *ask, const char *what,
                              struct blob **out_reply, struct skiff_error *err);

/* ---- session_bind.c ---- */
void session_vars_init(struct session *s);
void session_vars_deinit(struct session *s);
enum skiff_status session_read_vars(struct session *s, struct skiff_error *err);
/* The binding of slices: their own, or one that is made now and freed by the caller (own). */
struct bound_now {
    const struct session_binding *b;
    struct session_binding *own;
};
enum skiff_status binding_get(const struct session *s, const struct job_slices *slices,
                              uint32_t use, struct bound_now *out, struct skiff_error *err);

/* ---- session_slots.c ---- */
struct session_slots *slot_owner(const struct session_slot *slot);
/* Part i as a piece; returns the index of its message. */
int slot_piece(const struct session_slot *slot, int i, struct ps_piece *out);
/* The body of a message, some of whose pieces lie in it already; the caller owns a reference. */
enum skiff_status slots_write(struct session_slots *p, int message, const struct ps_exchange *head,
                              struct ps_piece *pieces, uint32_t n, struct blob **out,
                              struct skiff_error *err);

/* ---- session_exchange.c ---- */
void exchanges_destroy(struct session *s); /* those that are idle: all of them */

/* ---- session_status.c ---- */
void session_log(struct session *s, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Other workers have been waited for this long: logs and reports to on_late which are missing.
 * server: one that has not answered. False: it does not know of a missing worker. */
bool session_name_late(struct session *s, int server, int64_t waited);
/* The wait has failed: adds the missing workers to the error. */
void session_blame(struct session *s, struct skiff_error *err);
/* Copies text to a fixed field; text that is too long is an error. */
enum skiff_status session_text(char *to, size_t capacity, const char *text,
                               struct skiff_error *err);
/* One variable from a reply that is a list of items. */
enum skiff_status session_take_part(int server, const char *name, const struct blob *reply,
                                    struct skiff_tensor *out, struct skiff_error *err);

/* Partition of the ids of a table: the slice of every id, and its id there. */
struct rows_cut {
    size_t cap;     /* bytes at count */
    size_t *count;  /* per slice */
    size_t *first;  /* where its rows start in the two lists below */
    int64_t *local; /* ids for the servers, slice by slice */
    size_t *from;   /* position in the ids given, slice by slice */
};

/* Ids outside the table are an error that names the id and the table. The cut is {0}, or one whose
 * memory is used again. */
enum skiff_status rows_cut_init(struct rows_cut *c, const struct job_slices *slices,
                                const int64_t *ids, size_t n, struct skiff_error *err);
void rows_cut_deinit(struct rows_cut *c);
/* Copies slice i's reply, which is only its rows, to the positions of their ids. */
enum skiff_status rows_scatter(const struct rows_cut *c, int i, const struct blob *reply,
                               int server, const char *table, int64_t width, float *out,
                               struct skiff_error *err);
/* Rows before slice i; modulo: 0. */
int64_t slices_first(const struct job_slices *slices, int i);
/* The server of slice i. */
enum skiff_status slice_server(const struct session *s, const struct job_slices *slices, int i,
                               int *out, struct skiff_error *err);

#endif
