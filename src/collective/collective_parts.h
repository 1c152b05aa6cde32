/* The insides of the room. From bottom to top:
 *
 *   engine    carries letters from rank to rank: thread, net, mpi (struct engine_kind)
 *   post      a rank's letters that have come, who has left, the first failure
 *   hall      memory that all ranks of a group can reach, when they are on one machine
 *   exchange  every rank gives bytes to every rank, in one call of the same kind: over the hall,
 *             else by letters. All collective calls are written once, on top of it (calls.c)
 *   group     struct collective: its ranks, its calls that were started
 *
 * Every exchange tells every rank what call is made, so different ones are found out at once, by
 * everybody, and before any byte is used. */
#ifndef COLLECTIVE_PARTS_H
#define COLLECTIVE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "collective/collective.h"
#include "net/blob.h"

/* ---- what is called ---- */

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
    CALL_OPEN, /* a group finds out whether it has a hall */
    CALL_KINDS,
};

struct call {
    uint8_t kind, op; /* op and dtype: 0 for calls that add nothing up */
    uint8_t dtype;
    uint8_t blocks; /* the rank's caller waits for it; not compared */
    int32_t root;   /* -1: none */
    int64_t count;  /* elements, or bytes; -1: every rank has its own */
};

#define CALL_TEXT 128
/* "all_reduce(sum) of 425000 float32", "broadcast of 16 bytes from rank 0" */
void call_print(const struct call *c, char out[CALL_TEXT]);
bool call_equal(const struct call *a, const struct call *b);
/* calls[i] is that of member i; names the first that differs from member 0's. */
enum skiff_status call_check(const struct collective *c, const struct call *calls,
                             struct skiff_error *err);

/* ---- sums ---- */

bool fold_knows(enum dtype dtype);
bool fold_averages(enum dtype dtype);
/* out = in[0] op in[1] op ..., from left to right, over bytes of every one; out may be one of them.
 */
void fold(enum dtype dtype, enum collective_op op, const uint8_t *const *in, int n, uint8_t *out,
          size_t bytes);

/* ---- letters ---- */

enum letter_kind {
    LETTER_CALL,    /* a window of an exchange */
    LETTER_MESSAGE, /* between two ranks */
    LETTER_WAITS,   /* the sender's caller waits for this message of the receiver's */
    LETTER_LEAVE,   /* the sender has closed the group */
    LETTER_FAIL,    /* something has failed; the data say what */
    LETTER_BEAT,    /* the sender lives */
    LETTERS,
};

struct letter_head {
    enum letter_kind kind;
    uint32_t window;        /* of a call's bytes */
    uint64_t group, number; /* which call of the group, or which message between two ranks */
    uint64_t total;         /* bytes in all windows */
    uint64_t sent;          /* messages to the receiver so far, if the sender's caller waits */
    struct call call;
};

#define LETTER_HEAD 64 /* bytes of a head on the wire */
void letter_encode(const struct letter_head *h, uint8_t out[LETTER_HEAD]);
/* FORMAT: that is none. */
enum skiff_status letter_decode(const uint8_t *bytes, size_t n, struct letter_head *out,
                                struct skiff_error *err);
/* A head and its data as one blob. */
enum skiff_status letter_pack(const struct letter_head *h, const void *data, size_t bytes,
                              struct blob **out, struct skiff_error *err);

struct letter {
    struct letter *next;
    struct letter_head head;
    struct blob *blob;
    const uint8_t *data;
    size_t bytes;
};

void letter_destroy(struct letter *l); /* NULL is fine */

/* ---- engines ---- */

struct post;

struct engine_kind {
    const char *name;
    bool one_process; /* halls are plain memory, and buffers of other ranks can be read */
    /* Takes a copy; does not wait for the receiver, at most for room. `to` is not this rank. Any
     * thread. */
    enum skiff_status (*send)(void *engine, int to, const struct letter_head *h, const void *data,
                              size_t bytes, struct skiff_error *err);
    /* Looks for letters; false: none. NULL: they come by themselves. Any thread. */
    bool (*progress)(void *engine);
    /* The last group is gone: waits until those who have not left have what was sent to them. */
    void (*close)(void *engine);
};

/* ---- post: one for each rank ---- */

struct post {
    const struct engine_kind *kind;
    void *engine;
    int rank, size;
    atomic_int groups; /* that use it */
    atomic_bool failed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct letter **boxes; /* by sender */
    struct departure *departures;
    struct skiff_error failure;
    struct collective_watch watch;
};

/* A wait for other ranks, in one call. */
struct post_wait {
    int64_t start, pause, next; /* next: when somebody is named again */
};
void post_wait_begin(struct post *p, struct post_wait *w);
/* A rank is missing in the call (NULL: a message is), and it is time to name it, or to give up: an
 * error then. No lock is held. */
enum skiff_status post_wait_late(struct post *p, struct post_wait *w, int rank,
                                 const struct call *call, struct skiff_error *err);
bool post_wait_due(const struct post_wait *w);
/* Everything fails because of this rank: whoever watches is notified. */
void post_accuse(struct post *p, int rank, const char *text);

struct post *post_create(const struct engine_kind *kind, void *engine, int rank, int size);
void post_destroy(struct post *p); /* NULL is fine */

/* A letter has come; takes over the blob's reference (NULL: no data), of which `offset` bytes are
 * not its data. Any thread. */
void post_deliver(struct post *p, int from, const struct letter_head *h, struct blob *blob,
                  size_t offset);
/* Waits for the letter; the caller's to destroy. The error is the post's failure, or says that the
 * sender has left. */
enum skiff_status post_take(struct post *p, int from, const struct letter_head *wanted,
                            struct letter **out, struct skiff_error *err);
/* Would post_take come back at once? */
bool post_has(struct post *p, int from, const struct letter_head *wanted);
/* Blocks until something has come, perhaps, or until the deadline. */
void post_wait_change(struct post *p, int64_t deadline);
/* Does the sender's caller wait for a message? wanted->number, sent: as in its letter. */
bool post_peek_wait(struct post *p, int from, uint64_t group, struct letter_head *out);
/* Has a letter come of a call in which its sender's caller waits, and which nobody here has made?
 * out_sent: how many messages to us it had sent before. */
bool post_peek_call(struct post *p, int from, uint64_t group, struct call *out, uint64_t *out_sent);
/* Sends, to oneself too. */
enum skiff_status post_send(struct post *p, int to, const struct letter_head *h, const void *data,
                            size_t bytes, struct skiff_error *err);

/* The first failure stays, and is told to all ranks. Gives the code of the one that stays. */
enum skiff_status post_fail(struct post *p, const struct skiff_error *reason);
/* OK, or the failure. */
enum skiff_status post_check(struct post *p, struct skiff_error *err);
bool post_has_left(struct post *p, int rank, uint64_t group);
/* Blocks until there is a failure, or until the deadline; false. */
bool post_wait_failure(struct post *p, int64_t deadline);

/* ---- groups ---- */

#define COLLECTIVE_RANKS 4096 /* at most */
#define GROUP_WORLD 1u        /* the id of the group of all */

struct collective {
    struct post *post;
    uint64_t id;
    int rank, size;
    int *ranks;             /* of the world, by rank of the group */
    uint64_t number;        /* exchanges by letters so far */
    uint64_t splits;        /* groups made of it so far */
    uint64_t *sent, *asked; /* messages to and from each rank so far */
    struct hall *hall;      /* NULL: letters */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct collective_work *first, *last; /* started, not done */
    bool running;                         /* an exchange is under way */
    bool stopping;
    struct thread thread;
};

/* ranks: size of them; NULL: 0 .. size-1. A post without groups yet is the first one's. */
struct collective *group_create(struct post *post, uint64_t id, const int *ranks, int size,
                                int rank);
/* Looks for a hall; all ranks of the group call it. */
enum skiff_status group_open(struct collective *c, struct skiff_error *err);

/* ---- exchange ---- */

struct exchange {
    struct call call;
    const uint8_t *mine; /* what this rank gives */
    /* by rank of the group: how much of it each gets, and how much comes from each */
    const size_t *out_bytes, *in_bytes;
    bool pieces; /* mine is cut into pieces of out_bytes, one for each; else all get the same */
    /* Called once or several times: views[i], bytes[i] of what rank i gave, which is behind the
     * first `at` bytes of it. */
    void (*take)(void *arg, size_t at, const uint8_t *const *views, const size_t *bytes);
    void *arg;
};

/* All ranks of the group, one thread of each at a time. */
enum skiff_status exchange_run(struct collective *c, const struct exchange *x,
                               struct skiff_error *err);
/* The same, by letters in any case. */
enum skiff_status exchange_by_letters(struct collective *c, const struct exchange *x,
                                      struct skiff_error *err);
/* Does what came from member i have the length that was expected? */
enum skiff_status exchange_check_bytes(const struct collective *c, const struct exchange *x, int i,
                                       uint64_t came, struct skiff_error *err);

/* ---- hall ---- */

struct hall;

/* NULL without an error: not all ranks are on one machine, or it has no memory for it. */
enum skiff_status hall_open(struct collective *c, struct hall **out, struct skiff_error *err);
/* The same for all ranks of a process that has just made them. */
void hall_give(struct collective **ranks, int size);
void hall_close(struct hall *h); /* NULL is fine */
/* The same as post_peek_call. */
bool hall_peek_call(const struct collective *c, int member, struct call *out, uint64_t *out_sent);
enum skiff_status hall_exchange(struct collective *c, const struct exchange *x,
                                struct skiff_error *err);

/* ---- calls that were started ---- */

/* What an exchange of a call does; run by the caller's thread or the group's. */
struct task {
    enum skiff_status (*run)(struct collective *c, const struct task *t, struct skiff_error *err);
    struct call call;
    const void *in;
    void *out;
    const size_t *in_bytes, *out_bytes;
};

/* When all that was started before is done. */
enum skiff_status group_run(struct collective *c, struct task *t, struct skiff_error *err);
struct collective_work *group_start(struct collective *c, const struct task *t,
                                    struct skiff_error *err);

#endif
