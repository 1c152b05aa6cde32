/* State of split_create, shared by the files of the pass. Internal to split.
 *
 * split_create derives all facts on which trainers and servers must agree, once, on copies of the
 * two programs ("base"): which ops move to the servers, which parameters are cut and where their
 * blocks go, how gradients are named. Building a trainer or server program then only reads it. */
#ifndef PASSES_SPLIT_PARTS_H
#define PASSES_SPLIT_PARTS_H

#include "passes/split.h"
#include "program/op_kind.h"
#include "rules/optimizer.h"

struct names_list {
    const char **v;
    int n, cap;
};

struct split_block {
    const char *param;  /* X, or X.block<i> when X is cut */
    const char *grad;   /* the trainer's: X@GRAD[.block<i>][.trainer_<k>] */
    const char *merged; /* the server's: X@GRAD[.block<i>] */
    struct shape shape;
    int64_t first_row;
    int server;
};

struct split_param {
    const char *name, *grad; /* names in the user's program */
    const char *sent;        /* the gradient's name in the trainer's program */
    const struct skiff_var *var, *grad_var;
    bool rows;      /* the gradient is SelectedRows */
    bool remote;    /* trainers pull rows by id and do not hold the parameter */
    bool looked_up; /* GEO: ids say which rows changed */
    int nblocks;
    struct split_block *blocks;
};

struct split_table { /* is_distributed: rows live on server id % servers */
    const char *name, *grad;
    const struct skiff_var *var, *grad_var;
    const struct skiff_op *update;
    int64_t padding;    /* padding_idx of its look-ups */
    const char *prefix; /* of its prefetch variables; "" for the first table, as in Paddle */
    /* of a sparse table; features NULL: a distributed table without accessor */
    const char *sparse_table; /* its settings (table/table_config.h) */
    const char *show, *click; /* variables of ShowClickEntry; NULL: none */
    int shards, push_dim;     /* shard_num; floats of a pushed row */
    bool cvm;                 /* gradients begin with show and click */
    bool disk;                /* rows may be on disk */
};

struct skiff_split {
    struct arena arena;
    struct skiff_split_config config;
    const struct split_dispatcher *dispatcher;
    enum skiff_split_mode mode;
    bool sync;         /* the trainer's program has barrier ops */
    bool merge;        /* servers sum one gradient per trainer */
    bool merge_tables; /* the same for distributed tables */
    bool count_steps;  /* async: the learning rate follows the trainers' step counters */
    int trainer_id, trainers;
    const char **endpoints;
    int nendpoints;
    struct skiff_program *main, *startup; /* base */
    bool *is_update, *is_rate; /* by position in block 0 of main: optimizer's, lr schedule's */
    struct split_param *params;
    int nparams;
    /* params in the order in which they are sent: their own, or shuffled if nothing is cut */
    int *order;
    struct split_table *tables;
    const char **table_names;
    int ntables;
    const char *counter;            /* step counter of this trainer (count_steps) */
    struct names_list counters;     /* the sum over all trainers */
    struct skiff_placement *placed; /* the plan being built */
    int nplaced, placed_cap;
    const struct job_plan *plan;
    struct buf notes;
    /* GEO with distributed tables: trainers keep the rows that they use in a server inside their
     * own process. This is its split, whose tables are `inside`: their rows start at 0 (the values
     * of the job's servers are added to them), and the program's own rule updates them. */
    struct skiff_split *own;
    bool inside;
};

/* ---- split_build.c: ops and variables, as Fluid's append_op and create_var make them ---- */

void names_add(struct arena *a, struct names_list *l, const char *name);

struct skiff_op *build_op(struct skiff_block *b, int at, const char *type);
void build_in(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
              const char *const *names);
void build_out(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
               const char *const *names);
void build_in1(struct skiff_block *b, struct skiff_op *op, const char *slot, const char *name);
void build_out1(struct skiff_block *b, struct skiff_op *op, const char *slot, const char *name);
/* Empty inputs, default attributes, shapes. */
enum skiff_status build_done(struct skiff_block *b, struct skiff_op *op, struct skiff_error *err);
/* Copies the attributes of another op, except the name scope. */
void build_copy_attrs(struct skiff_block *b, struct skiff_op *to, const struct skiff_op *from);
void build_role(struct skiff_block *b, struct skiff_op *op, int role, const char *param,
                const char *grad);

struct skiff_var *build_var(struct skiff_block *b, const char *name, enum var_kind kind,
                            enum dtype dtype, const struct shape *shape, bool persistable);
/* Like `from`, under its own or another name. */
struct skiff_var *build_var_like(struct skiff_block *b, const char *name,
                                 const struct skiff_var *from, bool persistable);
/* Fluid's _clone_variable: tensors become persistable. */
struct skiff_var *build_clone_var(struct skiff_block *b, const struct skiff_var *from);
void build_rename_var(struct skiff_block *b, const char *from, const char *to);
int block_position(const struct skiff_block *b, const struct skiff_op *op);
int block_last_writer(const struct skiff_block *b, const char *name); /* -1: none */
bool attr_bool(const struct skiff_op *op, const char *name);          /* false when absent */
/* op_role_var = [param, grad]; false when the op has none. */
bool op_role_pair(const struct skiff_op *op, const char **param, const char **grad);
struct skiff_program *
split_clone(const struct skiff_program *p); /* at the root scope, forward role */

/* ---- split_blocks.c ---- */

enum skiff_status split_parse_endpoints(struct skiff_split *s, const char *text,
                                        struct skiff_error *err);
enum skiff_status split_assign_params(struct skiff_split *s, struct skiff_error *err);
void split_assign_accumulators(struct skiff_split *s);
const struct split_param *split_find_param(const struct skiff_split *s, const char *name);
/* The block of a parameter that lives on a server; NULL. */
const struct split_block *split_block_on(const struct split_param *p, int server);
/* DC-ASGD: is the parameter's gradient corrected? Sparse ones are not. */
static inline bool split_compensates(const struct skiff_split *s, const struct split_param *p)
{
    return s->config.enable_dc_asgd && !p->rows;
}
/* Shape of an accumulator of the block: as the parameter, or its own. */
struct shape split_accumulator_shape(const struct split_param *p, const struct split_block *block,
                                     const struct skiff_var *accumulator);

/* ---- queries about ops ---- */

/* The row of an optimizer's op; NULL for other ops. */
static inline const struct optimizer_kind *split_optimizer(const struct skiff_op *op)
{
    return op->kind ? optimizer_kind_find(op->type, (int)op->kind->generations) : NULL;
}
/* An optimizer's op, recognised by its slots even if its type is unknown. */
static inline bool op_is_update(const struct skiff_op *op)
{
    return op_in1(op, "Param") && (op_in1(op, "LearningRate") || split_optimizer(op));
}
static inline bool op_is_lookup(const struct skiff_op *op)
{
    return op_is(op, CLASS_LOOKUP) && op_in1(op, "W") && op_in1(op, "Ids") && op_out1(op, "Out");
}

static inline int64_t op_padding(const struct skiff_op *op) /* -1: none */
{
    const struct op_attr_value *a = op_attr(op, "padding_idx");
    return a && a->type == ATTR_LONG ? a->value.l : -1;
}

/* ---- split_tables.c: the trainer's look-ups ---- */

/* Puts distributed_lookup_table in place of the look-ups of a remote parameter. */
enum skiff_status split_merge_lookups(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_param *p, struct skiff_error *err);
/* The same for a sparse table, whose rows are on the servers by id. */
enum skiff_status split_features_lookups(const struct skiff_split *s, struct skiff_block *b,
                                         const struct split_table *t, struct skiff_error *err);
/* Replaces a distributed table's look-ups by split_ids, prefetch and merge_ids; its gradient is
 * sent with `control` as output of the send (NULL: none). */
enum skiff_status split_table_lookups(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_table *t, const char *control,
                                      struct skiff_error *err);
/* Does the program's own optimizer update the distributed table? On servers of 1.x, sgd does. */
static inline bool split_table_rule(const struct skiff_split *s)
{
    return s->main->generation == GEN_2X || s->mode == SKIFF_SPLIT_GEO || s->inside;
}
/* Names of the variables exchanged with server i for a table. */
const char *split_table_ids(const struct split_table *t, int i, struct arena *a);
const char *split_table_rows(const struct split_table *t, int i, struct arena *a);
const char *split_table_grad(const struct skiff_split *s, const struct split_table *t, int trainer,
                             int i, struct arena *a);
/* The name under which differences of its rows arrive, to be added. */
const char *split_table_delta(const struct split_table *t, struct arena *a);

/* ---- split_sparse.c: sparse tables ---- */

/* Is the table a sparse table according to the config? */
bool split_wants_features(const struct skiff_split *s, const char *table);
/* Settings of those tables, checked; errors have Paddle's words. After find_params. */
enum skiff_status split_sparse(struct skiff_split *s, struct skiff_error *err);
/* distributed_push_sparse and send in place of the gradients of a table's look-ups. */
enum skiff_status split_features_push(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_table *t, const char *control,
                                      struct skiff_error *err);
/* Removes unread gradients of sparse tables, ops and variables. */
void split_features_drop(const struct skiff_split *s, struct skiff_block *b);
/* The name of pushed rows, for all servers. */
const char *split_features_grad(const struct split_table *t, struct arena *a);

/* ---- split_trainer.c, split_startup.c, split_server.c, split_geo.c ---- */

/* "__control_var@<n>": a variable that only orders ops. */
const char *split_control_var(struct skiff_block *b, int n);
enum skiff_status split_trainer_main(const struct skiff_split *s, struct skiff_program **out,
                                     struct skiff_error *err);
enum skiff_status split_trainer_startup(const struct skiff_split *s, struct skiff_program **out,
                                        struct skiff_error *err);
/* Variables that only the optimizer's ops use; the trainer has none of them. */
void split_optimizer_vars(const struct skiff_split *s, struct str_map *out);
enum skiff_status split_server_startup(const struct skiff_split *s, int server,
                                       const struct skiff_program *main, struct skiff_program **out,
                                       struct skiff_error *err);
/* Units are added to the server's plan while its program is written. */
enum skiff_status split_server_main(const struct skiff_split *s, struct server_plan *plan,
                                    struct skiff_program **out, struct skiff_error *err);
enum skiff_status split_geo_trainer_main(const struct skiff_split *s, struct skiff_program **out,
                                         struct skiff_error *err);
enum skiff_status split_geo_finish_startup(const struct skiff_split *s,
                                           struct skiff_program *startup, struct skiff_error *err);
enum skiff_status split_geo_server_main(const struct skiff_split *s, struct server_plan *plan,
                                        struct skiff_program **out, struct skiff_error *err);

#endif
