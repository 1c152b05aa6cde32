/* What the files of the session share.
 *
 * A round is several requests under way at the same time. Its waiter gets the first failure at
 * once, whatever the others are at: a server may keep a request until other trainers have come,
 * and they may never come when another server is dead. The requests that are left end by
 * themselves; the round lives as long as the last of them. */
#ifndef COMM_SESSION_PARTS_H
#define COMM_SESSION_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "comm/session.h"

struct session {
    struct session_options options; /* strings are copies */
    char **endpoints;
    struct node *node;
    struct rpc_client *client;
    struct rpc_peer **peers; /* per server */
    int *shards;             /* per server */
    struct enrolment *enrolment;
    int64_t request_ms, connect_ms, silence_ms;
    atomic_bool watching; /* links are looked after: between open and leave */
    /* of the watch, the network thread's: silence is counted from `patience` at the earliest */
    int64_t silence, patience, last_tick;
    int64_t stopped;      /* for so long this process did not run, the last time that it did not */
    pthread_mutex_t lock; /* guards left, failure and the pushes under way; a leaf */
    uint64_t pushes; /* the last number given; from the time on, so that no process repeats one */
    uint64_t *open;  /* those under way */
    int nopen, open_cap;
    bool left;
    struct skiff_error failure; /* code 0: none; a server is dead, or we are declared so */
    atomic_uint_fast64_t bytes_out, bytes_in, exchanges, rows_pulled, rows_ahead, wait_ns;
};

#define ROUND_WHAT 320

struct round_slot {
    struct round *round;
    struct blob *reply;
    char what[ROUND_WHAT]; /* for messages */
    int server;
};

struct round {
    struct session *session;
    atomic_uint refs;     /* the waiter's, and one per request under way */
    pthread_mutex_t lock; /* guards what follows, and the replies; a leaf */
    pthread_cond_t changed;
    int open; /* requests under way */
    enum skiff_status status;
    struct skiff_error error;
    bool joint; /* answers wait for other workers */
    int n;
    struct round_slot slots[];
};

struct round_ask {
    int server;
    uint32_t method;
    int shard;
    unsigned flags;    /* of enum rpc_flags */
    struct blob *body; /* taken over, also on failure; NULL: empty */
    int64_t wait_ms;   /* for the answer; 0: the session's request_ms */
    bool joint;        /* it is answered when other workers have come, too */
};

struct round *round_create(struct session *s, int n);
/* Starts request `slot`. `what` is "push of step 3" and the like. */
enum skiff_status round_start(struct round *r, int slot, const struct round_ask *ask,
                              struct skiff_error *err, const char *what, ...)
    __attribute__((format(printf, 5, 6)));
/* All have been answered, or the first failure. */
enum skiff_status round_wait(struct round *r, struct skiff_error *err);
void round_unref(struct round *r); /* NULL is fine */

/* One request to one server. out_reply (may be NULL) gets the caller's reference. */
enum skiff_status session_ask(struct session *s, const struct round_ask *ask, const char *what,
                              struct blob **out_reply, struct skiff_error *err);

/* ---- session_status.c ---- */
void session_say(struct session *s, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Other workers have been waited for so long: names those that have not come, in the log and to
 * on_late. server: one that has not answered. False: it does not know of anybody missing. */
bool session_name_late(struct session *s, int server, int64_t waited);
/* The wait has failed: adds to the error who has not come. */
void session_blame(struct session *s, struct skiff_error *err);
/* Text for a fixed field; a longer one is an error. */
enum skiff_status session_text(char *to, size_t room, const char *text, struct skiff_error *err);
/* One variable from a reply that is a list of items. */
enum skiff_status session_take_part(int server, const char *name, const struct blob *reply,
                                    struct skiff_tensor *out, struct skiff_error *err);

/* Where the rows of a table go: slice of every id, and the id there. */
struct rows_cut {
    size_t *count;  /* per slice */
    size_t *first;  /* where its rows start in the two lists below */
    int64_t *local; /* ids for the servers, slice by slice */
    size_t *from;   /* position in the ids given, slice by slice */
};

/* Ids outside the table are an error that names the id and the table. */
enum skiff_status rows_cut_init(struct rows_cut *c, const struct job_slices *slices,
                                const int64_t *ids, size_t n, struct skiff_error *err);
void rows_cut_deinit(struct rows_cut *c);
/* Slice i's reply, which is its rows and nothing else, to the places of their ids. */
enum skiff_status rows_place(const struct rows_cut *c, int i, const struct blob *reply, int server,
                             const char *table, int64_t width, float *out, struct skiff_error *err);
/* Rows before slice i; modulo: 0. */
int64_t slices_first(const struct job_slices *slices, int i);
/* The server of slice i. */
enum skiff_status slice_server(const struct session *s, const struct job_slices *slices, int i,
                               int *out, struct skiff_error *err);

#endif
