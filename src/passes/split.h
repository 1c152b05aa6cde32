/* split: one training program becomes trainer programs and server programs, as Paddle 1.8's
 * DistributeTranspiler (and, for GEO, GeoSgdTranspiler) makes them: the same blocks on the same
 * servers, the same op lists, names and startup programs. Where 1.8.5 makes a program that cannot
 * work, a working one is made; docs/differences.md lists every such place.
 *
 *     struct split_config config = split_config_default();
 *     split_create(&job, &config, &s, err);
 *     split_trainer(s, &main, &startup, err);              trainers
 *     split_server(s, "10.0.0.1:6170", &main, &startup, err);   servers
 *
 * Every process of a job calls split_create with the same program, list of servers, number of
 * trainers and config, and gets the same placement; nothing is negotiated. */
#ifndef PASSES_SPLIT_H
#define PASSES_SPLIT_H

#include "base/mode.h"
#include "program/program.h"

/* Which server gets a block of a parameter. A dispatcher must put the blocks of one parameter on
 * different servers (there are never more blocks than servers). */
struct split_dispatcher {
    const char *name;
    /* Index of the server for block `block` of variable `var`, the `step`-th block of all. */
    int (*pick)(const char *var, int block, int step, int servers);
};
extern const struct split_dispatcher split_round_robin; /* one after the other */
extern const struct split_dispatcher split_hash_name;   /* first block by a hash of the name that is
                                                           the same everywhere, then onwards */
const struct split_dispatcher *split_dispatcher_find(const char *name); /* NULL: no such one */

/* DistributeTranspilerConfig and ServerRuntimeConfig, by their names. */
struct split_config {
    bool slice_var_up; /* cut large parameters in blocks; GEO always does */
    const struct split_dispatcher *split_method; /* NULL: RoundRobin */
    int64_t min_block_size;                      /* elements; at least 8192 */
    bool enable_dc_asgd;                         /* only when not sync */
    const char *mode;                            /* "pserver"; others are not split here */
    bool print_log, wait_port;                   /* for the callers */
    bool sync_mode, runtime_split_send_recv;     /* set them with the setters: they exclude */
    bool half_async, completely_not_async;
    bool geo_sgd_mode;
    int geo_sgd_need_push_nums;
    int nccl_comm_num;
    bool use_hierarchical_allreduce;
    int hierarchical_allreduce_inter_nranks;
    const char *collective_mode; /* NULL */
    int rpc_send_thread_num, rpc_get_thread_num, rpc_prefetch_thread_num;
};

struct split_config split_config_default(void);
/* What fleet's strategies set: SKIFF_SPLIT_SYNC is Sync (merged by the communicator), and so on. */
struct split_config split_config_fleet(enum skiff_split_mode mode);
/* ValueError of Paddle: SKIFF_INVALID with its text. */
enum skiff_status split_config_set_sync_mode(struct split_config *c, bool value,
                                             struct skiff_error *err);
enum skiff_status split_config_set_runtime_split_send_recv(struct split_config *c, bool value,
                                                           struct skiff_error *err);
enum skiff_status split_config_check(const struct split_config *c, struct skiff_error *err);

struct split_job {
    const struct skiff_program *main, *startup; /* after minimize; they are not changed */
    int trainer_id;                             /* servers: 0 */
    const char *pservers;                       /* "ip:port,ip:port"; the order counts */
    int trainers;
    bool sync_mode; /* the argument of transpile; a job is sync when config and argument say so */
};

/* Where a slice of a variable lives: Paddle's VarsDistributed. */
enum placement_kind {
    PLACED_PARAM,    /* trainers hold the whole and receive it */
    PLACED_PREFETCH, /* "RemotePrefetch": trainers pull the rows they need */
    PLACED_OPTIMIZER /* an accumulator: only servers hold it; a slice keeps the name of the whole */
};

struct placement {
    const char *slice, *origin; /* names */
    enum placement_kind kind;
    bool is_slice; /* a part of the origin */
    bool sparse;   /* gradients (GEO: differences) come as rows */
    int block;
    int64_t offset, first_row; /* elements, rows before this slice */
    struct shape shape;        /* of the slice */
    const char *endpoint;
    int server; /* index of the endpoint */
};
const char *placement_kind_name(enum placement_kind kind); /* "Param", "RemotePrefetch", ... */

struct skiff_split;

enum skiff_status split_create(const struct split_job *job, const struct split_config *config,
                               struct skiff_split **out, struct skiff_error *err);
void split_destroy(struct skiff_split *s);

/* Everything below lives as long as the split, but the programs, which are the caller's. */
const struct placement *split_placement(const struct skiff_split *s, int *n);
enum skiff_split_mode split_mode_of(const struct skiff_split *s);
const char *const *split_endpoints(const struct skiff_split *s, int *n);
/* Distributed tables (is_distributed): id modulo servers, rows by id; not in the placement. */
const char *const *split_tables(const struct skiff_split *s, int *n);
/* Of the mode, the counts and the placement of all slices: processes whose hashes differ were not
 * started with the same program and lists. */
uint64_t split_hash(const struct skiff_split *s);
/* What the user should know, one line each ("" when there is nothing): an optimizer that was
 * replaced, a server without parameters. */
const char *split_notes(const struct skiff_split *s);

/* get_trainer_program and the trainer's startup program, for job.trainer_id. In GEO the startup ops
 * do not fetch sparse tables, as in Paddle; whoever runs the "param_init" send must do so. */
enum skiff_status split_trainer(const struct skiff_split *s, struct skiff_program **main,
                                struct skiff_program **startup, struct skiff_error *err);
/* get_pserver_programs. Init ops have the shape of the slice; where the same numbers are wanted as
 * on one machine, placement.offset says which part of the whole's stream a slice is. */
enum skiff_status split_server(const struct skiff_split *s, const char *endpoint,
                               struct skiff_program **main, struct skiff_program **startup,
                               struct skiff_error *err);

#endif
