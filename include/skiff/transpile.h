/* Splitting a training program into the programs of trainers and of parameter servers: Paddle's
 * DistributeTranspiler and GeoSgdTranspiler.
 *
 *     struct skiff_split_config config = skiff_split_config_default();
 *     struct skiff_split_job job = {main, startup, .pservers = "10.0.0.1:6170,10.0.0.2:6170",
 *                                   .trainers = 2, .sync_mode = true};
 *     skiff_split_create(&job, &config, &s, &err);
 *     skiff_split_trainer(s, &main_t, &startup_t, &err);
 *     skiff_split_server(s, "10.0.0.1:6170", &main_s, &startup_s, &err);
 *
 * Every process of a job that gives the same arguments gets the same placement; nothing is
 * negotiated. */
#ifndef SKIFF_TRANSPILE_H
#define SKIFF_TRANSPILE_H

#include <skiff/mode.h>
#include <skiff/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sparse table: rows with statistics of shows and clicks, admission, expiry and update rules;
 * Paddle's MemorySparseTable. settings: "<path> <value>" lines, paths as under
 * table_parameters.<table>; "": the defaults (docs/guide/tables.md). */
struct skiff_table_settings {
    const char *table, *settings;
    uint64_t reserved[4];
};

/* DistributeTranspilerConfig and ServerRuntimeConfig by their names; begin with a default. */
struct skiff_split_config {
    bool slice_var_up;                       /* cut large parameters in blocks; GEO always does */
    const char *split_method;                /* "RoundRobin", "HashName"; NULL: RoundRobin */
    int64_t min_block_size;                  /* elements; at least 8192 */
    bool enable_dc_asgd;                     /* only when not sync */
    const char *mode;                        /* "pserver"; others are not split here */
    bool print_log, wait_port;               /* for the callers */
    bool sync_mode, runtime_split_send_recv; /* set them with the setters: they exclude */
    bool half_async, completely_not_async;
    bool geo_sgd_mode;
    int geo_sgd_need_push_nums;
    int rpc_send_thread_num, rpc_get_thread_num, rpc_prefetch_thread_num;
    /* Distributed tables that are sparse tables; borrowed until skiff_split_create returns. */
    const struct skiff_table_settings *tables;
    int ntables;
    bool tables_only;  /* dense parameters and their updates stay with the trainer */
    bool all_features; /* those without settings, too, with the defaults of fleet 2.x */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_split_config skiff_split_config_default(void);
/* What fleet's strategies set. */
SKIFF_API struct skiff_split_config skiff_split_config_fleet(enum skiff_split_mode mode);
/* The setters of Paddle's config, with its errors (SKIFF_INVALID). */
SKIFF_API enum skiff_status skiff_split_config_set_sync_mode(struct skiff_split_config *c,
                                                             bool value, struct skiff_error *err);
SKIFF_API enum skiff_status
skiff_split_config_set_runtime_split_send_recv(struct skiff_split_config *c, bool value,
                                               struct skiff_error *err);

struct skiff_split_job {
    const struct skiff_program *main, *startup; /* after minimize; they are not changed */
    int trainer_id;                             /* servers: 0 */
    const char *pservers;                       /* "ip:port,ip:port"; the order counts */
    int trainers;
    bool sync_mode; /* the argument of transpile; a job is sync when config and argument are true */
    uint64_t reserved[4];
};

struct skiff_split;
/* config NULL: the default. */
SKIFF_API enum skiff_status skiff_split_create(const struct skiff_split_job *job,
                                               const struct skiff_split_config *config,
                                               struct skiff_split **out, struct skiff_error *err);
SKIFF_API void skiff_split_destroy(struct skiff_split *s); /* NULL is fine */

/* The programs are the caller's. */
SKIFF_API enum skiff_status skiff_split_trainer(const struct skiff_split *s,
                                                struct skiff_program **main,
                                                struct skiff_program **startup,
                                                struct skiff_error *err);
SKIFF_API enum skiff_status skiff_split_server(const struct skiff_split *s, const char *endpoint,
                                               struct skiff_program **main,
                                               struct skiff_program **startup,
                                               struct skiff_error *err);

/* The results below live as long as the split. */
SKIFF_API enum skiff_split_mode skiff_split_mode_of(const struct skiff_split *s);
SKIFF_API const char *const *skiff_split_endpoints(const struct skiff_split *s, int *out_n);
SKIFF_API const char *const *skiff_split_tables(const struct skiff_split *s, int *out_n);
SKIFF_API const char *skiff_split_warnings(const struct skiff_split *s); /* lines; "" when none */

/* Where a slice of a variable lives: Paddle's VarsDistributed. */
struct skiff_placement {
    const char *slice, *origin; /* names; a slice of an accumulator keeps the name of the
                                  accumulator */
    const char *kind;           /* "Param", "RemotePrefetch" (remote), "Optimizer" (state) */
    bool is_slice;              /* a part of the origin */
    bool sparse;                /* gradients (GEO: differences) come as rows */
    int block;
    int64_t offset, first_row; /* elements, rows before this slice */
    int ndim;
    const int64_t *dims; /* of the slice */
    const char *endpoint;
    int server;  /* index of the endpoint */
    bool remote; /* trainers pull the rows that they need and do not hold the table */
    bool state;  /* an accumulator: only servers have it */
};
SKIFF_API int skiff_split_placements(const struct skiff_split *s);
SKIFF_API struct skiff_placement skiff_split_placement(const struct skiff_split *s, int i);

#ifdef __cplusplus
}
#endif
#endif
