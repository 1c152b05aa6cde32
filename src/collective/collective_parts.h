/* The internals of the module. From bottom to top:
 *
 *   engine    carries messages from rank to rank: thread, net, mpi (struct engine_kind)
 *   post      a rank's inbox: received messages, ranks that have left, the first failure
 *   shm       shared segment: memory of all ranks of a group, when they are on one machine
 *   exchange  every rank sends bytes to every rank, in one call of the same kind: through the
 *             shared segment, else by messages. All collective calls are built on it (calls.c)
 *   group     struct collective: its ranks, its started calls
 *
 * Every exchange carries the description of the call to every rank, so all ranks detect different
 * calls at once, before any byte is used.
 *
 * A "message" (struct message) here is one packet between two ranks; a point-to-point message is
 * what the callers of send and recv exchange (MESSAGE_MESSAGE). */
#ifndef COLLECTIVE_PARTS_H
#define COLLECTIVE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "collective/collective.h"
#include "metrics/metrics.h"
#include "net/blob.h"

/* ---- description of a call ---- */

enum call_kind {
    CALL_ALL_REDUCE,
    CALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_ALL_GATHER_OF,
    CALL_ALL_GATHER_ANY,
    CALL_GATHER,
    CALL_BROADCAST,
    CALL_SCATTER,
    CALL_ALL_TO_ALL,
    CALL_BARRIER,
    CALL_SPLIT,
    CALL_OPEN, /* a group finds out whether it can have a shared segment */
    CALL_KINDS,
};

struct collective_call {
    uint8_t kind, op; /* op and dtype: 0 for calls without additions */
    uint8_t dtype;
    uint8_t blocks; /* the rank's caller waits for it; not compared */
    int32_t root;   /* -1: none */
    int64_t count;  /* elements, or bytes; -1: every rank has its own */
};

#define CALL_TEXT 128
const char *call_name(int kind);
/* "all_reduce(sum) of 425000 float32", "broadcast of 16 bytes from rank 0" */
void call_print(const struct collective_call *c, char out[CALL_TEXT]);
bool call_equal(const struct collective_call *a, const struct collective_call *b);
/* calls[i] is that of member i; the error names the first that differs from member 0's. */
enum skiff_status call_check(const struct collective *c, const struct collective_call *calls,
                             struct skiff_error *err);

/* ---- sums ---- */

bool fold_knows(enum dtype dtype);
bool fold_averages(enum dtype dtype);
/* out = in[0] op in[1] op ..., from left to right, over bytes of each; out may be one of them. */
void fold(enum dtype dtype, enum collective_op op, const uint8_t *const *in, int n, uint8_t *out,
          size_t bytes);

/* ---- messages between ranks ---- */

enum message_kind {
    MESSAGE_CALL,    /* a window of an exchange */
    MESSAGE_MESSAGE, /* a point-to-point message */
    MESSAGE_WAITS,   /* the sender's caller waits for this point-to-point message of the receiver */
    MESSAGE_LEAVE,   /* the sender has closed the group */
    MESSAGE_FAIL,    /* a failure; the data have the reason */
    MESSAGE_BEAT,    /* the sender is alive */
    MESSAGE_KINDS,
};

struct message_head {
    enum message_kind kind;
    uint32_t window; /* of a call's bytes */
    /* number of the call in the group, or of the message between two ranks */
    uint64_t group, number;
    uint64_t total; /* bytes in all windows */
    /* point-to-point messages to the receiver so far, if the sender's caller waits */
    uint64_t sent;
    struct collective_call call;
};

#define MESSAGE_HEAD 64 /* bytes of a head on the wire */
void message_encode(const struct message_head *h, uint8_t out[MESSAGE_HEAD]);
/* FORMAT: it is not a head. */
enum skiff_status message_decode(const uint8_t *bytes, size_t n, struct message_head *out,
                                 struct skiff_error *err);
/* A head and its data as one blob. */
enum skiff_status message_pack(const struct message_head *h, const void *data, size_t bytes,
                               struct blob **out, struct skiff_error *err);

struct message {
    struct message *next;
    struct message_head head;
    struct blob *blob;
    const uint8_t *data;
    size_t bytes;
};

void message_destroy(struct message *l); /* NULL is a no-op */

/* ---- engines ---- */

struct inbox;

struct engine_kind {
    const char *name;
    bool one_process; /* shared segments are plain memory, and buffers of other ranks can be read */
    /* Takes a copy; does not wait for the receiver, at most for space. `to` is not this rank. Any
     * thread. */
    enum skiff_status (*send)(void *engine, int to, const struct message_head *h, const void *data,
                              size_t bytes, struct skiff_error *err);
    /* Polls for messages; false: none. NULL: they arrive without polling. Any thread. */
    bool (*progress)(void *engine);
    /* The last group is closed: waits until the ranks that have not left have received all
     * messages. */
    void (*close)(void *engine);
};

/* ---- inbox: one for each rank ---- */

struct inbox {
    const struct engine_kind *kind;
    void *engine;
    int rank, size;
    atomic_int groups; /* that use it */
    atomic_bool failed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message **boxes; /* by sender */
    struct departure *departures;
    struct skiff_error failure;
    struct collective_watch watch;
    struct metrics *metrics; /* of all groups */
    struct {
        _Atomic(struct metric *) bytes, seconds;
    } counts[CALL_KINDS]; /* NULL: there was no such call yet */
};

/* A wait for other ranks, in one call. */
struct inbox_wait {
    int64_t start, pause, next; /* next: when ranks are named again */
};
void inbox_wait_begin(struct inbox *p, struct inbox_wait *w);
/* A rank is missing in the call (NULL: a message is), and it is time to name it, or to give up,
 * which is an error. No lock is held. */
enum skiff_status inbox_wait_late(struct inbox *p, struct inbox_wait *w, int rank,
                                  const struct collective_call *call, struct skiff_error *err);
bool inbox_wait_due(const struct inbox_wait *w);
/* Everything fails because of this rank: calls the watch's callback. */
void inbox_accuse(struct inbox *p, int rank, const char *text);

struct inbox *inbox_create(const struct engine_kind *kind, void *engine, int rank, int size);
void inbox_destroy(struct inbox *p); /* NULL is a no-op */

/* A message has arrived; takes over the blob's reference (NULL: no data), of which `offset` bytes
 * are not its data. Any thread. */
void inbox_deliver(struct inbox *p, int from, const struct message_head *h, struct blob *blob,
                   size_t offset);
/* Waits for the message, which the caller destroys. The error is the inbox's failure, or that the
 * sender has left. */
enum skiff_status inbox_take(struct inbox *p, int from, const struct message_head *wanted,
                             struct message **out, struct skiff_error *err);
/* Would inbox_take return at once? */
bool inbox_has(struct inbox *p, int from, const struct message_head *wanted);
/* Blocks until a message may have arrived, or until the deadline. */
void inbox_wait_change(struct inbox *p, int64_t deadline);
/* Does the sender's caller wait for a message? wanted->number, sent: as in its MESSAGE_WAITS. */
bool inbox_peek_wait(struct inbox *p, int from, uint64_t group, struct message_head *out);
/* Is there a message of a call in which its sender's caller waits, and which this rank has not
 * made? out_sent: number of point-to-point messages that it had sent to this rank before. */
bool inbox_peek_call(struct inbox *p, int from, uint64_t group, struct collective_call *out,
                     uint64_t *out_sent);
/* Sends, also to this rank itself. */
enum skiff_status inbox_send(struct inbox *p, int to, const struct message_head *h,
                             const void *data, size_t bytes, struct skiff_error *err);

/* The first failure stays, and is sent to all ranks. Returns the code of the one that stays. */
enum skiff_status inbox_fail(struct inbox *p, const struct skiff_error *reason);
/* OK, or the failure. */
enum skiff_status inbox_check(struct inbox *p, struct skiff_error *err);
bool inbox_has_left(struct inbox *p, int rank, uint64_t group);
/* Blocks until there is a failure, or until the deadline; false. */
bool inbox_wait_failure(struct inbox *p, int64_t deadline);

/* ---- groups ---- */

#define COLLECTIVE_RANKS 4096 /* at most */
#define GROUP_WORLD 1u        /* the id of the group of all ranks */

struct collective {
    struct inbox *inbox;
    uint64_t id;
    int rank, size;
    int *ranks;             /* of the world, by rank of the group */
    uint64_t number;        /* exchanges by messages so far */
    uint64_t splits;        /* groups split from it so far */
    uint64_t *sent, *asked; /* point-to-point messages to and from each rank so far */
    struct shm *shm;        /* NULL: messages */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct collective_work *first, *last; /* started, not finished */
    bool running;                         /* an exchange is in progress */
    bool stopping;
    struct thread thread;
};

/* ranks: size of them; NULL: 0 .. size-1. The first group takes over a post that has none yet. */
struct collective *group_create(struct inbox *inbox, uint64_t id, const int *ranks, int size,
                                int rank);
/* Sets up a shared segment if possible; all ranks of the group call it. */
enum skiff_status group_open(struct collective *c, struct skiff_error *err);

/* ---- exchange ---- */

struct collective_exchange {
    struct collective_call call;
    const uint8_t *mine; /* the bytes that this rank sends */
    /* by rank of the group: bytes to each, and bytes from each */
    const size_t *out_bytes, *in_bytes;
    bool pieces; /* mine consists of pieces of out_bytes, one for each; else all get the same */
    /* Called once or several times: views[i], bytes[i] are rank i's bytes, starting at offset
     * `at`. */
    void (*take)(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes);
    void *arg;
};

/* All ranks of the group, one thread of each at a time. */
enum skiff_status exchange_run(struct collective *c, const struct collective_exchange *x,
                               struct skiff_error *err);
/* The same, always by messages. */
enum skiff_status exchange_by_messages(struct collective *c, const struct collective_exchange *x,
                                       struct skiff_error *err);
/* Do the bytes of member i have the expected length? */
enum skiff_status exchange_check_bytes(const struct collective *c,
                                       const struct collective_exchange *x, int i, uint64_t came,
                                       struct skiff_error *err);

/* ---- shared segment ---- */

struct shm;

/* NULL without an error: not all ranks are on one machine, or there is no memory for it. */
enum skiff_status shm_attach(struct collective *c, struct shm **out, struct skiff_error *err);
/* The same for all ranks of a process that has just created them. */
void shm_give(struct collective **ranks, int size);
void shm_detach(struct shm *h); /* NULL is a no-op */
/* The same as inbox_peek_call. */
bool shm_peek_call(const struct collective *c, int member, struct collective_call *out,
                   uint64_t *out_sent);
enum skiff_status shm_exchange(struct collective *c, const struct collective_exchange *x,
                               struct skiff_error *err);

/* ---- started calls ---- */

/* The exchange part of a call; run by the caller's thread or the group's. */
struct collective_task {
    enum skiff_status (*run)(struct collective *c, const struct collective_task *t,
                             struct skiff_error *err);
    struct collective_call call;
    const void *in;
    void *out;
    const size_t *in_bytes, *out_bytes;
};

/* Runs and counts it. */
enum skiff_status task_run(struct collective *c, const struct collective_task *t,
                           struct skiff_error *err);
/* Runs when all calls started before are finished. */
enum skiff_status group_run(struct collective *c, struct collective_task *t,
                            struct skiff_error *err);
struct collective_work *group_start(struct collective *c, const struct collective_task *t,
                                    struct skiff_error *err);

#endif
