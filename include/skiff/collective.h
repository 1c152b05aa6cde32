/* Collective jobs: every rank holds all parameters, and ranks sum their gradients.
 *
 *     skiff_world_open(NULL, &err);                     joins by the environment, or as one alone
 *     ...                                               programs with c_allreduce_sum and so on
 *     skiff_world_close();
 *
 * A process belongs to one world. Its groups are rings with numbers, which programs name in the
 * attribute ring_id: ring 0 is the world; skiff_world_group makes others. All ranks of a ring make
 * the same calls in the same order. When a rank makes another call, dies, stops or never arrives,
 * all others fail within 10 s with a message that names it. Every later call fails with the same
 * message.
 *
 * Sums are made in the order of ranks: a job repeats bit by bit, and all ranks hold the same bits.
 *
 * Threads: one thread makes the calls. */
#ifndef SKIFF_COLLECTIVE_H
#define SKIFF_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <skiff/executor.h>
#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All fields are optional: 0 and NULL mean the values of the environment
 * (docs/reference/environment.md). These are PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and
 * PADDLE_TRAINER_ENDPOINTS, otherwise the variables of Slurm's srun or Open MPI's mpirun. Without
 * any of them: one rank alone. */
struct skiff_world_options {
    const char *engine; /* "net", "mpi"; NULL: SKIFF_COLLECTIVE, else mpi when mpirun started us, no
                         * endpoints are given and MPI can be loaded, else net */
    const char *const *endpoints; /* host:port of every rank */
    int size, rank;               /* with endpoints */
    const char *secret_file;      /* NULL: SKIFF_SECRET or SKIFF_SECRET_FILE */
    bool insecure;                /* docs/guide/security.md */
    int64_t start_ms;             /* how long a rank may be late; 0: SKIFF_START_MS, else 120 s */
    /* Logs which ranks have not arrived. While the world opens: from the calling thread, after 5 s,
     * 10 s, 20 s, ... Later: from any thread that waits in a call, after SKIFF_SILENCE_MS (10 s),
     * twice that, and so on. May be NULL. */
    void (*on_log)(void *user, const char *line);
    void *user; /* lives until the world is closed */
    uint64_t reserved[4];
};
/* Once per process (again after close). Without effect when the world is open. */
SKIFF_API enum skiff_status skiff_world_open(const struct skiff_world_options *o,
                                             struct skiff_error *err);
SKIFF_API bool skiff_world_is_open(void);
/* This process is a fork of the one that opened it, which has none of its threads: only the
 * parent may use it. */
SKIFF_API bool skiff_world_is_inherited(void);
/* Before open: from the environment; 0 of 1 when it names no ranks. */
SKIFF_API int skiff_world_rank(void);
SKIFF_API int skiff_world_size(void);
SKIFF_API const char *skiff_world_engine(void); /* "net", "mpi", "alone"; "" before open */
/* Notifies the others that this rank is done. A rank that still waits for it fails with a message
 * that names this rank. */
SKIFF_API void skiff_world_close(void);

/* This rank cannot continue: all calls that wait for it, here or in other ranks, fail at once with
 * "<reason>" ("was interrupted"). Any thread. */
SKIFF_API void skiff_world_abandon(const char *reason);

/* A ring of some ranks; all ranks of the world call it with the same list, in the same order as all
 * other rings. *out is its number, the same everywhere, also outside of it. */
SKIFF_API enum skiff_status skiff_world_group(const int *ranks, int n, int *out,
                                              struct skiff_error *err);
SKIFF_API int skiff_ring_rank(int ring);     /* -1: not a member, or no such ring */
SKIFF_API int skiff_ring_size(int ring);     /* the same */
SKIFF_API void skiff_ring_destroy(int ring); /* by all ranks; ring 0 stays */

/* ---- programs ---- */

struct skiff_program;
struct skiff_scope;

/* All fields are optional. */
struct skiff_collective_options {
    /* How the world is opened when a program is first run and the world is not open; NULL: by the
     * environment. */
    const struct skiff_world_options *world;
    /* In train_from_dataset: a rank's gradient is weighted by its rows in the step, and a rank
     * without rows takes part with zeros until all ranks are done. Not for single runs. */
    bool by_rows;
    bool loss_is_sum;     /* with by_rows: the loss is a sum; gradients need no weights */
    bool sync_batch_norm; /* batch_norm takes the statistics of all ranks' rows; not by_rows */
    /* Local SGD: ranks train alone, and parameters become their mean over all ranks in every
     * local_steps-th run, and in all of the first local_begin ones; 0: gradients are summed. Needs
     * startup; not with merged gradients. by_rows: a rank without rows takes part in the means with
     * its current parameters. */
    int local_steps, local_begin;
    uint64_t reserved[4];
};

/* What Paddle's collective transpiler does, in place, after minimize: the loss's gradient is scaled
 * by 1 / ranks, gradients are summed over all ranks before clipping, decay and updates, and
 * parameters come from rank 0 when the startup program is run. A step then equals a step of one
 * process with the rows of all ranks. One rank alone: without effect. startup may be NULL:
 * skiff_collective_spread does it. The first run compares the programs of all ranks. */
SKIFF_API enum skiff_status skiff_collective_transpile(struct skiff_program *main,
                                                       struct skiff_program *startup,
                                                       const struct skiff_collective_options *o,
                                                       struct skiff_error *err);
/* Mode "nccl2" of DistributeTranspiler: running the startup program only opens the world; the
 * ParallelExecutor makes the sums (skiff_collective_transpile on its copy). */
SKIFF_API enum skiff_status skiff_collective_gen(struct skiff_program *startup,
                                                 const struct skiff_collective_options *o,
                                                 struct skiff_error *err);
/* Parameters of main in `scope` become rank 0's. Opens the world when it is not. */
SKIFF_API enum skiff_status skiff_collective_spread(const struct skiff_program *main,
                                                    struct skiff_scope *scope,
                                                    struct skiff_error *err);

/* ---- calls on tensors ----
 *
 * Ranks (root, to, from) are numbers within the ring. Tensors have the same type and shape in all
 * ranks unless a comment says otherwise. Lists have one tensor for each rank of the ring, in order
 * of ranks. */

enum skiff_reduction {
    SKIFF_SUM,
    SKIFF_MAX,
    SKIFF_MIN,
    SKIFF_PROD,
    SKIFF_AVG, /* of floats */
};

/* In place. float16, bfloat16, float32, float64, int8/16/32/64, uint8, bool. */
SKIFF_API enum skiff_status skiff_collective_all_reduce(int ring, struct skiff_tensor *t,
                                                        enum skiff_reduction how,
                                                        struct skiff_error *err);
/* Only the root's tensor changes. */
SKIFF_API enum skiff_status skiff_collective_reduce(int ring, struct skiff_tensor *t,
                                                    enum skiff_reduction how, int root,
                                                    struct skiff_error *err);
/* `out` gets the reduction of the tensors at this rank's index in the lists of all ranks. */
SKIFF_API enum skiff_status skiff_collective_reduce_scatter(int ring,
                                                            const struct skiff_tensor *const *ins,
                                                            struct skiff_tensor *out,
                                                            enum skiff_reduction how,
                                                            struct skiff_error *err);
SKIFF_API enum skiff_status skiff_collective_all_gather(int ring, const struct skiff_tensor *in,
                                                        struct skiff_tensor *const *outs,
                                                        struct skiff_error *err);
/* outs: used on the root only; other ranks may pass NULL. */
SKIFF_API enum skiff_status skiff_collective_gather(int ring, const struct skiff_tensor *in,
                                                    struct skiff_tensor *const *outs, int root,
                                                    struct skiff_error *err);
/* Bytes of any length from every rank: *out is the caller's (skiff_collective_free), sizes[i] by
 * rank. */
SKIFF_API enum skiff_status skiff_collective_all_gather_bytes(int ring, const void *in,
                                                              size_t bytes, void **out,
                                                              size_t *sizes,
                                                              struct skiff_error *err);
SKIFF_API void skiff_collective_free(void *bytes); /* NULL is fine */
SKIFF_API enum skiff_status skiff_collective_broadcast(int ring, struct skiff_tensor *t, int root,
                                                       struct skiff_error *err);
/* ins: used on the root only; other ranks may pass NULL. `out` must have its type and shape. */
SKIFF_API enum skiff_status skiff_collective_scatter(int ring,
                                                     const struct skiff_tensor *const *ins,
                                                     struct skiff_tensor *out, int root,
                                                     struct skiff_error *err);
/* ins[i] goes to rank i, outs[i] comes from it. Tensors may have any shapes; outs must have the
 * shapes of the tensors to be received. */
SKIFF_API enum skiff_status skiff_collective_all_to_all(int ring,
                                                        const struct skiff_tensor *const *ins,
                                                        struct skiff_tensor *const *outs,
                                                        struct skiff_error *err);
SKIFF_API enum skiff_status skiff_collective_barrier(int ring, struct skiff_error *err);
/* A send does not wait for its receiver. */
SKIFF_API enum skiff_status skiff_collective_send(int ring, const struct skiff_tensor *t, int to,
                                                  struct skiff_error *err);
SKIFF_API enum skiff_status skiff_collective_recv(int ring, struct skiff_tensor *t, int from,
                                                  struct skiff_error *err);

/* The same without waiting: the tensor belongs to the call until wait, which must be called before
 * the ring is destroyed. *out is NULL after a failure. */
struct skiff_collective_work;
SKIFF_API enum skiff_status skiff_collective_start_all_reduce(int ring, struct skiff_tensor *t,
                                                              enum skiff_reduction how,
                                                              struct skiff_collective_work **out,
                                                              struct skiff_error *err);
SKIFF_API enum skiff_status skiff_collective_start_broadcast(int ring, struct skiff_tensor *t,
                                                             int root,
                                                             struct skiff_collective_work **out,
                                                             struct skiff_error *err);
SKIFF_API enum skiff_status skiff_collective_start_recv(int ring, struct skiff_tensor *t, int from,
                                                        struct skiff_collective_work **out,
                                                        struct skiff_error *err);
SKIFF_API bool skiff_collective_done(const struct skiff_collective_work *w);
/* Waits, frees w, gives its result. */
SKIFF_API enum skiff_status skiff_collective_wait(struct skiff_collective_work *w,
                                                  struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
