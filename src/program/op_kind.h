/* What an op kind is. One row per op type (and per meaning, where 1.x and 2.x differ). Op families
 * in src/ops fill tables of these rows, op_list.h there lists the families, and the registry finds
 * rows by type and generation. All other modules read flags and call the slots of a row. */
#ifndef PROGRAM_OP_KIND_H
#define PROGRAM_OP_KIND_H

#include "program/program.h"

enum slot_flag {
    SLOT_LIST = 1,     /* duplicable: any number of variables */
    SLOT_OPTIONAL = 2, /* dispensable: may be absent or empty */
    SLOT_EXTRA =
        4, /* intermediate output: exists for the gradient op; may be absent if not wanted */
    SLOT_ROWWISE = 8, /* the kernel supports deferred rows (it calls flush_rows itself) */
    SLOT_INPLACE =
        16, /* output that carries state: aliases the input of the same name less "Out" */
    SLOT_ONE_DIM = 128, /* numbers in this list have the dims [1]; elsewhere they have none */
    SLOT_ONLY_2X = 64,  /* declared by 2.x only: layers do not list it in 1.x programs */
    SLOT_SHAPE_ONLY =
        32, /* the kernel looks at type, shape and lod of this input, never at its data */
};

struct op_slot {
    const char *name;
    unsigned flags;
};

enum attr_flag {
    ATTR_REQUIRED = 1, /* no default */
    ATTR_HIDDEN = 2,   /* understood when present, never filled in by default */
    ATTR_ONLY_1X = 4,  /* declared by 1.x only: filled in by default in 1.x programs only */
    ATTR_ONLY_2X = 8,
};

struct op_attr_spec {
    const char *name;
    enum attr_type type;
    unsigned flags;
    struct attr_value def;
};

/* Short forms for tables. */
#define A_INT(n, v)                                   \
    {                                                 \
        .name = n, .type = ATTR_INT, .def = {.i = v } \
    }
#define A_LONG(n, v)                                   \
    {                                                  \
        .name = n, .type = ATTR_LONG, .def = {.l = v } \
    }
#define A_FLOAT(n, v)                                   \
    {                                                   \
        .name = n, .type = ATTR_FLOAT, .def = {.f = v } \
    }
#define A_BOOL(n, v)                                      \
    {                                                     \
        .name = n, .type = ATTR_BOOLEAN, .def = {.b = v } \
    }
#define A_STR(n, v)                                      \
    {                                                    \
        .name = n, .type = ATTR_STRING, .def = {.s = v } \
    }
#define A_INTS(n)                    \
    {                                \
        .name = n, .type = ATTR_INTS \
    }
#define A_LONGS(n)                    \
    {                                 \
        .name = n, .type = ATTR_LONGS \
    }
#define A_FLOATS(n)                    \
    {                                  \
        .name = n, .type = ATTR_FLOATS \
    }
#define A_STRS(n)                       \
    {                                   \
        .name = n, .type = ATTR_STRINGS \
    }
#define A_BLOCK(n)                                            \
    {                                                         \
        .name = n, .type = ATTR_BLOCK, .flags = ATTR_REQUIRED \
    }
#define A_REQ(n, t)                                  \
    {                                                \
        .name = n, .type = t, .flags = ATTR_REQUIRED \
    }

enum op_flag {
    OP_RUNS_BLOCK = 1, /* has a sub-block (attribute sub_block) that its kernel runs */
    OP_OPTIMIZER = 2,  /* updates Param from Grad */
    OP_OWN_SHAPE = 4,  /* output shapes depend on data: infer is for building only, the kernel sizes
                          its outputs */
    OP_RANDOM = 8,     /* draws random numbers; never merged, moved or dropped */
    OP_SIDE_EFFECT =
        /* acts outside the program (files, other processes): in programs from files it must be
         * allowed (rights.h) */
    16,
    OP_INTERNAL = 32,  /* made by fusing passes; never in a file */
    OP_METRIC = 64,    /* keeps statistics in its in/out state (auc) */
    OP_ROWS_OK = 128,  /* accepts SelectedRows inputs; otherwise the executor refuses them with a
                            clear error */
    OP_ARRAY_OK = 256, /* same for tensor arrays */
    OP_NO_GRAD_NEEDED =
        512, /* has no gradient by nature (metrics, comparisons): cuts the backward walk silently */
    OP_EMPTY_OK = 1024, /* runs with inputs that have not been written yet (VALUE_NONE) */
    OP_DISTRIBUTED =
        2048,        /* part of a split program (trainers and servers), made by passes/split */
    OP_FILES = 4096, /* reads or writes the file that one of OP_FILE_ATTRS names */
    /* a collective op: all ranks of a ring run it together, in the same order */
    OP_RANKS = 8192,
    OP_ZERO_GRAD = 16384, /* its gradient is zero by nature (sign, floor) */
    OP_MOVES = 1 << 15, /* Out holds the values of X, unchanged, in another shape, type or order */
    /* Label holds numbers of classes: below the last dimension of the first input */
    OP_CLASS_LABELS = 1 << 16,
    OP_ONE_DIM = 1 << 17, /* a single number has the dims [1], as in 1.x; else it has none */
    OP_MINSTD = 1 << 18,  /* draws from minstd, started anew in each run, as in 1.x */
    /* Fluid 1.8's transpiler knows the tables that it looks up */
    OP_TRANSPILED_LOOKUP = 1 << 19,
    /* updates rows one by one, without states: also where no variable holds them (row_home) */
    OP_ROWS_ANYWHERE = 1 << 20,
};

#define OP_FILE_ATTRS      \
    {                      \
        "file_path", "dir" \
    }

/* Roles that other modules look for, so that they need not know op names. */
enum op_class {
    CLASS_NONE,
    CLASS_LOOKUP, /* row look-up: W, Ids -> Out */
    CLASS_LOOKUP_GRAD,
    CLASS_POOL, /* sequence_pool */
    CLASS_POOL_GRAD,
    CLASS_RESHAPE,
    CLASS_RESHAPE_GRAD,
    CLASS_CONCAT,
    CLASS_CONCAT_GRAD,
    CLASS_MATMUL, /* X [.., k] times Y [k, n] -> Out */
    CLASS_MATMUL_GRAD,
    CLASS_ADD, /* elementwise_add: may be a bias */
    CLASS_ADD_GRAD,
    CLASS_ACT, /* activation with a fused form; arg: enum math_act */
    CLASS_ACT_GRAD,
    CLASS_SOFTMAX,
    CLASS_SOFTMAX_GRAD,
    CLASS_XENT, /* cross entropy of probabilities, hard label */
    CLASS_XENT_GRAD,
    CLASS_SUM,           /* sum of a list (gradient accumulation) */
    CLASS_UPDATE,        /* optimizer op */
    CLASS_REMOTE_LOOKUP, /* rows of a table that servers hold, for a list of Ids */
    CLASS_MERGE_ROWS,    /* puts rows that several servers sent together, for each of its Ids */
    CLASS_SEND,          /* sends gradients to servers */
    CLASS_SUM_RANKS,     /* sum over the ranks of a ring: X -> Out */
    CLASS_STREAM,        /* waits for a stream: Out = X */
    CLASS_CONSTANT,      /* fills Out with `value` */
    CLASS_COUNTER,       /* Out = X + `step`: counts steps */
    CLASS_SCALE,         /* Out = X * `scale` + `bias` */
    CLASS_CVM,           /* makes features of the shows and clicks at the head of rows */
    CLASS_AUC,           /* counts for the AUC: Predict, Label */
    CLASS_FEED,          /* from the feed list, */
    CLASS_FETCH,         /* and to the fetch list */
    CLASS_SERVE,         /* runs a server until its job ends */
    CLASS_BY_TRAINER,    /* the value that the trainer of a gradient pulled last (DC-ASGD) */
};

struct infer;
struct kernel;
struct kernel_later;
struct grad_build;

struct op_kind {
    const char *type;
    unsigned generations; /* GEN_1X | GEN_2X; 0 means both */
    unsigned flags;
    enum op_class class;
    int arg; /* of the family: what differs between its rows with the same functions */

    const char *over_ranks; /* the op with the same slots that works over all ranks; NULL: none */

    const struct op_slot *ins, *outs; /* end with {0}; the kernel addresses slots by position */
    const struct op_attr_spec *attrs; /* ends with {0}; the kernel addresses them by position */

    /* Gradient. Either a line "type: inputs -> outputs" for the usual case, e.g.
     *     "relu_grad: Out Out@GRAD -> X@GRAD"
     * (forward slots by name, output gradients with @GRAD; all forward attributes are copied;
     * `type:` may be left out for "<op>_grad"; a leading '!' means attributes are not copied), or a
     * function, or neither: no gradient. */
    const char *grad;
    enum skiff_status (*make_grad)(struct grad_build *g, struct skiff_error *err);

    /* Shape rule, for building (dims may be -1) and for running (all known). Called before run,
     * unless OP_OWN_SHAPE. May not allocate, may not look at data. NULL: outputs take the shape,
     * type and lod of the first input. */
    enum skiff_status (*infer)(struct infer *c, struct skiff_error *err);

    /* Once per plan, after slots and attributes are bound: decode attributes into k->state. May
     * allocate. */
    enum skiff_status (*prepare)(struct kernel *k, struct skiff_error *err);
    void (*release)(struct kernel *k);
    /* Once per step. Does not allocate in steady state (outputs are sized already; scratch from
     * kernel_scratch). */
    enum skiff_status (*run)(struct kernel *k, struct skiff_error *err);

    /* Called between two runs, when the values of the next run's inputs are known. Starts slow work
     * early. It is a hint: run gives the same result without it. */
    void (*prefetch)(struct kernel *k, const struct kernel_later *later);

    /* VarDesc type of outputs while building, where it is not LOD_TENSOR (sparse gradients). */
    void (*infer_kind)(struct infer *c);
};

/* Questions about ops of any program: one whose type is unknown has no kind. */
static inline bool op_is(const struct skiff_op *op, enum op_class class)
{
    return op->kind && op->kind->class == class;
}
static inline bool op_has(const struct skiff_op *op, enum op_flag flag)
{
    return op->kind && op->kind->flags & flag;
}

/* The registry (registry.c). Tables come from src/ops/op_list.c. */
const struct op_kind *op_kind_find(const char *type, enum generation g); /* NULL: no such op */
const char *op_kind_nearest(const char *type); /* for messages; NULL if no name is near */
int op_kind_count(void);
const struct op_kind *op_kind_at(int i);                         /* every row */
int op_kind_slot(const struct op_slot *slots, const char *name); /* position, or -1 */
int op_kind_attr(const struct op_kind *k, const char *name);

/* Gradients of gradient ops: derivatives of second order. Defined in src/ops/grad_grad.c, ends with
 * {0}; a gradient op that it does not list has none. */
struct op_second {
    const char *type;
    enum skiff_status (*make_grad)(struct grad_build *g, struct skiff_error *err);
};
extern const struct op_second op_seconds[];
bool op_kind_is_gradient(const struct op_kind *k);               /* by its type: "..._grad" */
const struct op_second *op_kind_second(const struct op_kind *k); /* NULL: none */

/* Defined in src/ops/op_list.c: NULL-terminated list of family tables, each ending with {0}. */
extern const struct op_kind *const op_families[];

#endif
