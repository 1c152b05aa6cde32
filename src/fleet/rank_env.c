/* Who this rank is, and where all ranks listen, when srun or mpirun has started them.
 *
 * srun gives every task its number and the nodes of its step; ranks lie on the nodes in a known
 * order, so that all come to the same addresses without asking anybody. mpirun gives numbers only:
 * addresses are known when all ranks are on one machine; otherwise MPI has to carry the messages.
 *
 * Only variables of a step count (SLURM_STEP_*): SLURM_NTASKS and SLURM_PROCID are there in a batch
 * script, too, which is one process. Open MPI comes first: its mpirun starts a daemon on every node
 * by srun, whose variables the ranks inherit.
 *
 * A port is base + number of the rank on its node. The base is made of the job's number, so that
 * jobs and steps that share a node do not meet; PADDLE_START_PORT chooses another one. */
#include "fleet/rank_env.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fleet/host_list.h"

#define FIRST_PORT 10000 /* below those that Linux gives to clients (32768) */
#define PORT_BLOCK 64    /* ports of a step on a node; with more ranks steps may meet */
#define PORT_BLOCKS 312
#define STEPS 8 /* of a job, until they use the same block again */

struct env_reader {
    role_lookup get;
    void *self;
    struct skiff_error *err;
};

static const char *look(const struct env_reader *e, const char *name)
{
    const char *v = e->get(e->self, name);
    return v && *v ? v : NULL;
}

/* A number from least to most; absent is an error. */
static enum skiff_status number(const struct env_reader *e, const char *name, long least, long most,
                                int *out)
{
    const char *text = look(e, name);
    char *end = NULL;
    long v = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || v < least || v > most)
        return error_set(e->err, SKIFF_INVALID, "%s is '%.100s'; expected a number from %ld to %ld",
                         name, text ? text : "", least, most);
    *out = (int)v;
    return SKIFF_OK;
}

static enum skiff_status base_port(const struct env_reader *e, uint64_t block, int ranks, int *out)
{
    *out = FIRST_PORT + (int)(block % PORT_BLOCKS) * PORT_BLOCK;
    if (!look(e, "PADDLE_START_PORT"))
        return SKIFF_OK;
    return number(e, "PADDLE_START_PORT", 1, 65536 - ranks, out);
}

/* ---- srun ---- */

struct slurm_step {
    int size, rank;
    char **hosts;
    int nhosts;
    int *tasks, ntasks;      /* of each node */
    int *node_of, *local_of; /* of each rank */
};

static void step_deinit(struct slurm_step *s)
{
    role_list_deinit(s->hosts, s->nhosts);
    free(s->tasks);
    free(s->node_of);
    free(s->local_of);
}

static enum skiff_status read_nodes(const struct env_reader *e, struct slurm_step *s)
{
    const char *nodes = look(e, "SLURM_STEP_NODELIST"), *tasks;
    tasks = look(e, "SLURM_STEP_TASKS_PER_NODE");
    if (!nodes || !tasks)
        return error_set(e->err, SKIFF_NOT_FOUND,
                         "SLURM_STEP_NUM_TASKS is %d, but %s is not set; srun sets both", s->size,
                         nodes ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_STEP_NODELIST");
    TRY(host_list_expand("SLURM_STEP_NODELIST", nodes, &s->hosts, &s->nhosts, e->err));
    TRY(count_list_expand("SLURM_STEP_TASKS_PER_NODE", tasks, &s->tasks, &s->ntasks, e->err));
    int64_t sum = 0;
    for (int i = 0; i < s->ntasks; i++)
        sum += s->tasks[i];
    if (s->ntasks != s->nhosts || sum != s->size)
        return error_set(e->err, SKIFF_INVALID,
                         "SLURM_STEP_NODELIST (%.200s) has %d nodes, SLURM_STEP_TASKS_PER_NODE "
                         "(%.200s) %d with %lld tasks, and SLURM_STEP_NUM_TASKS is %d; they must "
                         "agree",
                         nodes, s->nhosts, tasks, s->ntasks, (long long)sum, s->size);
    return SKIFF_OK;
}

/* block: the first node's tasks are the first ranks; cyclic: ranks are dealt to the nodes in turn.
 */
static void assign_ranks(struct slurm_step *s, bool cyclic)
{
    int rank = 0;
    s->node_of = mem_alloc_or_die((size_t)s->size * sizeof *s->node_of);
    s->local_of = mem_alloc_or_die((size_t)s->size * sizeof *s->local_of);
    int outer = cyclic ? s->size : s->nhosts;
    for (int i = 0; i < outer && rank < s->size; i++)
        for (int k = 0; k < (cyclic ? s->nhosts : s->tasks[i]); k++) {
            int node = cyclic ? k : i, local = cyclic ? i : k;
            if (local >= s->tasks[node])
                continue;
            s->node_of[rank] = node;
            s->local_of[rank++] = local;
        }
}

static enum skiff_status check_position(const struct env_reader *e, const struct slurm_step *s)
{
    int node, local;
    TRY(number(e, "SLURM_NODEID", 0, INT_MAX, &node));
    TRY(number(e, "SLURM_LOCALID", 0, INT_MAX, &local));
    if (node == s->node_of[s->rank] && local == s->local_of[s->rank])
        return SKIFF_OK;
    return error_set(e->err, SKIFF_UNSUPPORTED,
                     "Slurm has put rank %d on node %d as task %d, where its distribution of tasks "
                     "was expected to put it on node %d as task %d; start the step with srun "
                     "--distribution=block, or set PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and "
                     "PADDLE_TRAINER_ENDPOINTS",
                     s->rank, node, local, s->node_of[s->rank], s->local_of[s->rank]);
}

static enum skiff_status read_distribution(const struct env_reader *e, struct slurm_step *s)
{
    const char *text = look(e, "SLURM_DISTRIBUTION");
    size_t n = text ? strcspn(text, ":,") : 0; /* behind it: cores within a node */
    bool cyclic = n == 6 && !strncmp(text, "cyclic", n);
    bool block = !text || (n == 5 && !strncmp(text, "block", n));
    if (s->nhosts > 1 && !cyclic && !block)
        return error_set(e->err, SKIFF_UNSUPPORTED,
                         "SLURM_DISTRIBUTION is '%.100s': which rank is on which node is known for "
                         "block and cyclic only; start the step with srun --distribution=block",
                         text);
    assign_ranks(s, cyclic);
    return check_position(e, s);
}

static enum skiff_status step_endpoints(const struct env_reader *e, const struct slurm_step *s,
                                        struct role *r)
{
    int job, id, port;
    struct buf list = BUF_INIT;
    TRY(number(e, "SLURM_JOB_ID", 0, INT_MAX, &job));
    TRY(number(e, "SLURM_STEP_ID", 0, INT_MAX, &id));
    TRY(base_port(e, (uint64_t)job * STEPS + (uint64_t)id % STEPS, s->size, &port));
    for (int i = 0; i < s->size; i++)
        buf_printf(&list, "%s%s:%d", i ? "," : "",
                   s->nhosts > 1 ? s->hosts[s->node_of[i]] : "127.0.0.1", port + s->local_of[i]);
    enum skiff_status status = role_list_parse("SLURM_STEP_NODELIST", list.data,
                                               &r->worker_endpoints, &r->nworker_endpoints, e->err);
    buf_deinit(&list);
    return status;
}

static enum skiff_status read_step(const struct env_reader *e, struct slurm_step *s, struct role *r)
{
    if (look(e, "SLURM_HET_SIZE"))
        return error_set(e->err, SKIFF_UNSUPPORTED,
                         "SLURM_HET_SIZE is set: ranks of a heterogeneous Slurm job are not known "
                         "to each other; use one srun without --het-group, or set "
                         "PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and PADDLE_TRAINER_ENDPOINTS");
    TRY(number(e, "SLURM_PROCID", 0, s->size - 1, &s->rank));
    TRY(read_nodes(e, s));
    TRY(read_distribution(e, s));
    TRY(step_endpoints(e, s, r));
    r->id = s->rank;
    r->workers = s->size;
    r->launcher = "srun";
    return SKIFF_OK;
}

static enum skiff_status from_srun(const struct env_reader *e, struct role *r)
{
    struct slurm_step s = {0};
    TRY(number(e, "SLURM_STEP_NUM_TASKS", 1, HOST_LIST_MAX, &s.size));
    enum skiff_status status = s.size > 1 ? read_step(e, &s, r) : SKIFF_OK;
    step_deinit(&s);
    return status;
}

/* ---- mpirun ---- */

static enum skiff_status local_endpoints(const struct env_reader *e, struct role *r)
{
    int port;
    struct buf list = BUF_INIT;
    const char *job = look(e, "PMIX_NAMESPACE");
    uint64_t block = job ? hash_xxh64(job, strlen(job), 0) : 0;
    TRY(base_port(e, block, r->workers, &port));
    for (int i = 0; i < r->workers; i++)
        buf_printf(&list, "%s127.0.0.1:%d", i ? "," : "", port + i);
    enum skiff_status status = role_list_parse("OMPI_COMM_WORLD_SIZE", list.data,
                                               &r->worker_endpoints, &r->nworker_endpoints, e->err);
    buf_deinit(&list);
    return status;
}

static enum skiff_status from_mpirun(const struct env_reader *e, struct role *r)
{
    int size, here;
    TRY(number(e, "OMPI_COMM_WORLD_SIZE", 1, HOST_LIST_MAX, &size));
    if (size == 1)
        return SKIFF_OK;
    TRY(number(e, "OMPI_COMM_WORLD_RANK", 0, size - 1, &r->id));
    TRY(number(e, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, size, &here));
    r->workers = size;
    r->launcher = "mpirun";
    return here == size ? local_endpoints(e, r) : SKIFF_OK;
}

/* MPICH and others, whose ranks we cannot reach: two processes would be two runs. */
static enum skiff_status refuse_pmi(const struct env_reader *e)
{
    int size;
    TRY(number(e, "PMI_SIZE", 1, INT_MAX, &size));
    if (size == 1)
        return SKIFF_OK;
    return error_set(e->err, SKIFF_UNSUPPORTED,
                     "PMI_SIZE is %d: an MPI other than Open MPI has started this process; start "
                     "ranks with Open MPI's mpirun, srun or `skiff launch --collective`, or set "
                     "PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and PADDLE_TRAINER_ENDPOINTS",
                     size);
}

static bool same_text(const struct env_reader *e, const char *a, const char *b)
{
    const char *x = look(e, a), *y = look(e, b);
    return x && y && !strcmp(x, y);
}

/* srun --mpi=pmi2 sets PMI_*, too; the mpiexec of MPICH starts its daemons by srun. */
static bool pmi_is_foreign(const struct env_reader *e)
{
    return look(e, "PMI_SIZE") && !(same_text(e, "PMI_SIZE", "SLURM_STEP_NUM_TASKS") &&
                                    same_text(e, "PMI_RANK", "SLURM_PROCID"));
}

enum skiff_status rank_env_read(struct role *r, role_lookup get, void *self,
                                struct skiff_error *err)
{
    struct env_reader e = {get, self, err};
    if (look(&e, "OMPI_COMM_WORLD_SIZE"))
        return from_mpirun(&e, r);
    if (pmi_is_foreign(&e))
        return refuse_pmi(&e);
    return look(&e, "SLURM_STEP_NUM_TASKS") ? from_srun(&e, r) : SKIFF_OK;
}
