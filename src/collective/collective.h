/* Collective operations: every rank calls the same ones in the same order.
 *
 *   struct collective *c = ...;                      collective_thread, _net or _mpi
 *   collective_all_reduce(c, grad, n, DTYPE_FP32, COLLECTIVE_SUM, &err);
 *
 * Ranks are 0 .. size-1. Every call has a tag made of its kind, type, count and root; ranks that
 * make different calls get an error that names both, instead of mixed bytes. A rank that is dead,
 * silent or gone is named by all others within the engine's silence (10 s), and every later call of
 * the group fails with the same message: nothing hangs.
 *
 * Results do not depend on timing: additions are made by ascending ranks, in every engine and for
 * every length, so a job repeats bit by bit, and all ranks hold the same bits.
 *
 * Collective calls that are started without waiting are carried out in the order in which they were
 * started, by the group's own thread, while the caller computes. Their buffers belong to the call
 * until wait, and all must be waited for before the group is destroyed. Blocking calls wait for
 * those started before. Point-to-point messages (send, recv) are independent of them: a send is
 * copied and never waits for its receiver, messages of two ranks keep their order, and two ranks
 * that wait for each other get an error. One thread per rank calls. */
#ifndef COLLECTIVE_COLLECTIVE_H
#define COLLECTIVE_COLLECTIVE_H

#include "tensor/tensor.h"

struct collective;
struct collective_work;

enum collective_op {
    COLLECTIVE_SUM,
    COLLECTIVE_MAX,
    COLLECTIVE_MIN,
    COLLECTIVE_PROD,
    COLLECTIVE_AVG, /* the sum divided by the number of ranks, rounded once more; floats only */
};

int collective_rank(const struct collective *c);
int collective_size(const struct collective *c);
const char *collective_engine(const struct collective *c); /* "thread", "net", "mpi" */
/* Do the ranks exchange their bytes through memory of one machine? The same answer in every
 * rank. */
bool collective_shares_memory(const struct collective *c);
void collective_destroy(struct collective *c); /* NULL is a no-op */
/* This rank cannot continue: ranks that wait for it, and its own calls, fail at once with "rank 1
 * <reason>". Any thread. */
void collective_abandon(struct collective *c, const char *reason);

/* In place over n elements; float16, bfloat16, float32, float64, int8/16/32/64, uint8, bool. */
enum skiff_status collective_all_reduce(struct collective *c, void *data, int64_t n,
                                        enum dtype dtype, enum collective_op op,
                                        struct skiff_error *err);
/* Only root's data changes. */
enum skiff_status collective_reduce(struct collective *c, void *data, int64_t n, enum dtype dtype,
                                    enum collective_op op, int root, struct skiff_error *err);
/* `in` has size * n elements, `out` gets piece `rank` of their reduction. */
enum skiff_status collective_reduce_scatter(struct collective *c, const void *in, void *out,
                                            int64_t n, enum dtype dtype, enum collective_op op,
                                            struct skiff_error *err);
/* out: size * bytes, by rank. in may be this rank's part of out. */
enum skiff_status collective_all_gather(struct collective *c, const void *in, size_t bytes,
                                        void *out, struct skiff_error *err);
/* The same with pieces of different sizes, sizes[i] by rank, which all ranks know. */
enum skiff_status collective_all_gather_of(struct collective *c, const void *in,
                                           const size_t *sizes, void *out, struct skiff_error *err);
/* Pieces whose sizes the others do not know: *out is mem_alloc'ed (mem_free), sizes[i] by rank. */
enum skiff_status collective_all_gather_any(struct collective *c, const void *in, size_t bytes,
                                            void **out, size_t *sizes, struct skiff_error *err);
enum skiff_status collective_gather(struct collective *c, const void *in, size_t bytes, void *out,
                                    int root, struct skiff_error *err);
enum skiff_status collective_broadcast(struct collective *c, void *data, size_t bytes, int root,
                                       struct skiff_error *err);
enum skiff_status collective_scatter(struct collective *c, const void *in, size_t bytes, void *out,
                                     int root, struct skiff_error *err);
/* Piece i of `in` (in_bytes[i], at the sum of those before) goes to rank i; received pieces are
 * laid out in the same way by out_bytes, which all ranks know. */
enum skiff_status collective_all_to_all(struct collective *c, const void *in,
                                        const size_t *in_bytes, void *out, const size_t *out_bytes,
                                        struct skiff_error *err);
enum skiff_status collective_barrier(struct collective *c, struct skiff_error *err);
enum skiff_status collective_send(struct collective *c, int to, const void *data, size_t bytes,
                                  struct skiff_error *err);
enum skiff_status collective_recv(struct collective *c, int from, void *data, size_t bytes,
                                  struct skiff_error *err);

/* The same without waiting; NULL and err filled when it could not be started. */
struct collective_work *collective_start_all_reduce(struct collective *c, void *data, int64_t n,
                                                    enum dtype dtype, enum collective_op op,
                                                    struct skiff_error *err);
struct collective_work *collective_start_broadcast(struct collective *c, void *data, size_t bytes,
                                                   int root, struct skiff_error *err);
struct collective_work *collective_start_recv(struct collective *c, int from, void *data,
                                              size_t bytes, struct skiff_error *err);
/* All ranks are on one machine that has no cores to spare: a started call would only compete with
 * the ranks' own computation. The same answer in every rank. */
bool collective_crowded(const struct collective *c);
bool collective_done(const struct collective_work *w);
/* Waits, frees w, returns its result. */
enum skiff_status collective_wait(struct collective_work *w, struct skiff_error *err);

/* A group of some ranks (all ranks of c call it, with the same list); *out NULL for those outside
 * of it. Ranks inside are numbered in the order of the list. */
enum skiff_status collective_split(struct collective *c, const int *ranks, int n,
                                   struct collective **out, struct skiff_error *err);

/* Detects ranks that hang although their processes are alive. A rank that waits in a call for
 * longer than late_ms names the missing ranks; after wait_ms the call fails, for all. */
struct collective_watch {
    int64_t late_ms; /* 0: 10 s; then after twice that time, and so on */
    int64_t wait_ms; /* 0: 30 minutes */
    /* text: what the rank has done ("has not reached ..."); given_up: the group fails because of
     * it. Any thread. */
    void (*on_late)(void *user, int rank, const char *text, bool given_up);
    void *user;
};
/* For the group and all groups that are split from it; one without has the defaults, and names
 * ranks only in errors. Call it before other threads use the group. */
void collective_set_watch(struct collective *c, const struct collective_watch *w);

/* What the rank's calls in all groups have counted; it lives as long as a group. */
struct metrics;
struct metrics *collective_metrics(const struct collective *c);

/* ---- engines ---- */

/* size groups of one process, one per thread (ParallelExecutor over several CPUs). */
enum skiff_status collective_thread(int size, struct collective **out, struct skiff_error *err);

struct collective_net_options {
    const char *const *endpoints; /* host:port of every rank, in rank order */
    int size, rank;
    const char *secret; /* of the job; src/net/handshake.h */
    bool insecure;      /* no secret is needed, wherever the ranks run */
    int64_t start_ms;   /* how long a rank may be late; 0: 180 s */
    int64_t silence_ms; /* a dead or stopped rank has been named by then; 0: 10 s */
    void (*on_log)(void *user,
                   /* called by the opening thread with the missing ranks; or NULL */
                   const char *line);
    void *user;
    /* must be the same in all ranks (a hash of the program), else an error; 255 bytes */
    const char *describe;
};
/* Over src/net, every rank connected to every other; when all ranks of a group are on one machine,
 * its bytes go through shared memory. */
enum skiff_status collective_net(const struct collective_net_options *o, struct collective **out,
                                 struct skiff_error *err);
/* Started by mpirun, or srun --mpi: rank and size come from MPI. */
enum skiff_status collective_mpi(struct collective **out, struct skiff_error *err);
/* Can MPI's library be loaded? SKIFF_UNSUPPORTED: no, or built without it. */
enum skiff_status collective_mpi_loads(struct skiff_error *err);

#endif
