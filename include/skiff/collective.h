/* Collective jobs: every rank holds all parameters, and ranks add up what they have learnt.
 *
 *     skiff_world_open(NULL, &err);                     joins by the environment, or as one alone
 *     ...                                               programs with c_allreduce_sum and so on
 *     skiff_world_close();
 *
 * A process belongs to one world. Its groups are called rings, by number, as attributes of programs
 * call them (ring_id): ring 0 is the world, others are made by skiff_world_group. All ranks of a
 * ring make the same calls in the same order; whoever does something else, dies, stops or never
 * comes is named by all others within 10 s, and every later call fails with the same message.
 *
 * Sums are made in the order of ranks: a job repeats bit by bit, and all ranks hold the same bits.
 *
 * Threads: one thread makes the calls. */
#ifndef SKIFF_COLLECTIVE_H
#define SKIFF_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything may be left out: 0 and NULL mean what the environment says. PADDLE_TRAINER_ID,
 * PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ENDPOINTS (docs/launch.md lists them); started by mpirun or
 * srun without these: MPI's. None at all: one rank alone. */
struct skiff_world_options {
    const char *engine; /* "net", "mpi"; NULL: SKIFF_COLLECTIVE, else mpi when an MPI launcher
                         * started us and no endpoints are given, else net */
    const char *const *endpoints; /* host:port of every rank */
    int size, rank;               /* with endpoints */
    const char *secret_file;      /* NULL: SKIFF_SECRET or SKIFF_SECRET_FILE */
    bool insecure;                /* docs/security.md */
    int64_t start_ms;             /* how long a rank may be late; 0: SKIFF_START_MS */
    uint64_t reserved[4];
};
/* Once per process (again after close). Opening what is open: nothing happens. */
SKIFF_API enum skiff_status skiff_world_open(const struct skiff_world_options *o,
                                             struct skiff_error *err);
SKIFF_API bool skiff_world_is_open(void);
/* By the environment also before open: 0 of 1 when it names nobody. */
SKIFF_API int skiff_world_rank(void);
SKIFF_API int skiff_world_size(void);
SKIFF_API const char *skiff_world_engine(void); /* "net", "mpi", "alone"; "" before open */
/* Tells the others that this rank is done; whoever still waits for it is told its name. */
SKIFF_API void skiff_world_close(void);

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

/* Everything may be left out. */
struct skiff_collective_options {
    /* Where the ranks meet when one of the programs is run first, if the world is not open then;
     * NULL: what the environment says. */
    const struct skiff_world_options *world;
    /* In train_from_dataset: a rank's gradient weighs as much as it has rows in the step, and a rank
     * that has none left takes part with zeros until all are through. Not for single runs. */
    bool by_rows;
    bool loss_is_sum; /* with by_rows: over the rows, so that they weigh alike as they are */
    uint64_t reserved[4];
};

/* What Paddle's collective transpiler does, in place, after minimize: the loss's gradient is scaled
 * by 1 / ranks, gradients are summed over all ranks before clipping, decay and updates, and
 * parameters come from rank 0 when the startup program is run. A step is then that of one process
 * with the rows of all ranks. Alone nothing changes. startup may be NULL: skiff_collective_spread
 * does it. The first run compares the programs of all ranks. */
SKIFF_API enum skiff_status skiff_collective_transpile(struct skiff_program *main,
                                                       struct skiff_program *startup,
                                                       const struct skiff_collective_options *o,
                                                       struct skiff_error *err);
/* Mode "nccl2" of DistributeTranspiler: running the startup program opens the world, and no more;
 * the sums are the ParallelExecutor's (skiff_collective_transpile on its copy). */
SKIFF_API enum skiff_status skiff_collective_gen(struct skiff_program *startup,
                                                 const struct skiff_collective_options *o,
                                                 struct skiff_error *err);
/* Parameters of main in `scope` become rank 0's. Opens the world when it is not. */
SKIFF_API enum skiff_status skiff_collective_spread(const struct skiff_program *main,
                                                    struct skiff_scope *scope,
                                                    struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
