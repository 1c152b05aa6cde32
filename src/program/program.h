/* The IR: Paddle's ProgramDesc as C structs.
 *
 * Ownership: everything inside a program lives in its arena and dies with it; pointers returned are
 * borrowed. Strings given to the functions are copied. Threads: building is single-threaded; a
 * program that nobody changes any more may be read by many. Names, not pointers, tie ops to
 * variables, as in Paddle; block_find_var walks up the parents. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "program/attr.h"
#include "tensor/tensor.h"

/* VarType.Type values that are containers. */
enum var_kind {
    VAR_LOD_TENSOR = 7,
    VAR_SELECTED_ROWS = 8,
    VAR_FEED_MINIBATCH = 9,
    VAR_FETCH_LIST = 10,
    VAR_STEP_SCOPES = 11,
    VAR_LOD_RANK_TABLE = 12,
    VAR_LOD_TENSOR_ARRAY = 13,
    VAR_PLACE_LIST = 14,
    VAR_READER = 15,
    VAR_RAW = 17,
    VAR_TUPLE = 18,
    VAR_STRING = 25,
    VAR_STRINGS = 26,
    VAR_VOCAB = 27,
    VAR_FEED_LIST = 28,
    VAR_PSTRING = 29,
    VAR_SPARSE_COO = 30,
    VAR_SPARSE_CSR = 31,
};

const char *var_kind_name(enum var_kind k); /* "LOD_TENSOR", ...; "?" when unknown */
bool var_kind_parse(const char *name, enum var_kind *out);

#define GRAD_SUFFIX "@GRAD"
#define EMPTY_VAR "@EMPTY@"

enum op_role {
    ROLE_FORWARD = 0,
    ROLE_BACKWARD = 1,
    ROLE_OPTIMIZE = 2,
    ROLE_RPC = 4,
    ROLE_DIST = 8,
    ROLE_LRSCHED = 16,
    ROLE_LOSS = 256,
    ROLE_UNSPECIFIED = 4096,
};

/* Bytes of protobuf fields that this version does not know, kept and written back as they were. */
struct unknown_fields {
    const uint8_t *bytes; /* tag + payload, one after the other */
    size_t len;
};

enum presence {
    PRESENCE_ABSENT = 0,
    PRESENCE_FALSE = 1,
    PRESENCE_TRUE = 2
}; /* an optional bool of the file */

/* What Python's Parameter class knows and VarDesc does not (1.x). NULL for a plain variable. */
struct param_info {
    bool trainable;
    float learning_rate;
    const void *regularizer; /* opaque here; layers own the meaning */
    const void *gradient_clip;
    bool do_model_average;
    bool is_distributed;
};

struct skiff_var {
    const char *name;
    struct skiff_program *program; /* the block that it belongs to */
    enum var_kind kind;
    enum dtype dtype; /* of the tensor part, where the kind has one */
    bool has_tensor;  /* whether the type carries a tensor description */
    struct shape shape;
    int lod_level;
    enum presence persistable, need_check_feed, is_parameter, has_stop_gradient;
    bool stop_gradient; /* working flag of layers/backward; data vars have it set */
    bool clips_error;   /* backward clips its gradient to this range */
    float error_min, error_max;
    struct param_info *param;
    struct skiff_op *producer; /* last op that writes it while building; NULL at first */
    const uint8_t *type_rest;  /* reader/tuple sub-messages and 2.6 VarDesc.attrs, kept as bytes */
    size_t type_rest_len;
    /* of VarDesc, VarType, LoDTensorDesc, TensorDesc */
    struct unknown_fields unknown, type_unknown, desc_unknown, tensor_unknown;
};

static inline bool var_persistable(const struct skiff_var *v)
{
    return v->persistable == PRESENCE_TRUE;
}

struct op_arg { /* one slot with its variables */
    const char *slot;
    int n;
    const char **names;
    struct unknown_fields unknown;
};

struct op_attr_value { /* one attribute of one op */
    const char *name;
    enum attr_type type;
    struct attr_value value;
    struct unknown_fields unknown;
};

struct op_kind;

struct skiff_op {
    const char *type;
    struct skiff_program *program; /* the block that it belongs to */
    /* bound once, when the op is appended or the program is loaded; NULL: unknown type */
    const struct op_kind *kind;
    struct op_arg *ins, *outs;
    int nins, nouts;
    struct op_attr_value *attrs;
    int nattrs, attrs_cap;
    enum presence is_target;
    struct unknown_fields unknown;
};

struct skiff_block {
    struct skiff_program *program;
    int idx, parent, forward_idx; /* -1: none */
    struct str_map vars;          /* name -> struct skiff_var, in order of creation */
    struct skiff_op **ops;
    int nops, ops_cap;
    struct unknown_fields unknown;
};

/* Which meaning of an op type a program carries. */
enum generation { GEN_1X = 1, GEN_2X = 2 };

/* Rights of the program (rights.h). */
struct program_rights {
    /* the file it was read from; NULL: built by this process, may do everything */
    const char *origin;
    const char *ops; /* ops allowed in spite of that: "save,load"; NULL: none */
    const char *dir; /* folder of their files, without links; NULL: none */
    /* ops that act through a job are allowed: the program was split by this process */
    bool job;
};

struct skiff_program {
    struct arena arena;
    struct skiff_block **blocks;
    int nblocks, blocks_cap;
    /* Changes with every modification; together with `id` it tells whether data derived from the
     * program is still valid. All functions that change programs increment it (except
     * program_run_as, which does not change the program). Code that writes to fields of variables
     * while building also changes ops. */
    uint64_t version;
    uint64_t id;               /* of no other program of this process, before or after */
    struct program_mark *mark; /* tells others that the program has gone */
    int64_t paddle_version;    /* 1008005; 0: not stated */
    bool has_version;          /* paddle_version is */
    enum generation generation;
    int32_t random_seed;
    struct op_version {
        const char *op;
        int32_t version;
    } * op_versions; /* 2.x op_version_map */
    int nop_versions;
    bool has_op_version_map;   /* the map is there, perhaps empty */
    const uint8_t *compat_map; /* 1.x op_compatible_map, its bytes */
    size_t compat_map_len;
    struct unknown_fields unknown, version_unknown, version_map_unknown;
    int current_role; /* op_role given to ops appended now; ROLE_FORWARD at first */
    const char *const *current_role_var; /* op_role_var given to ops appended now */
    int ncurrent_role_var;
    const char *current_namescope; /* op_namescope; "/" at first */
    struct program_rights rights;
    struct job *job; /* of a split program (job.h); a reference; NULL: local */
    /* the program that runs in place of this one; a reference; NULL: itself */
    struct skiff_program *runs_as;
    int refs; /* atomic */
};

struct skiff_program *program_create(void);    /* one empty block 0; version 1008005, GEN_1X */
void program_destroy(struct skiff_program *p); /* gives one reference back; NULL is fine */
struct skiff_program *program_ref(struct skiff_program *p);
struct skiff_program *program_clone(const struct skiff_program *p); /* deep; runs as itself */

/* Marks the program as changed; every function below that changes a program calls it. */
static inline void program_changed(struct skiff_program *p)
{
    p->version++;
}

/* Outlives its program, for objects derived from it (plans): tells them whether the program still
 * exists. */
struct program_mark {
    int refs;  /* atomic */
    bool gone; /* atomic */
};
struct program_mark *program_mark_ref(struct program_mark *m);
void program_mark_unref(struct program_mark *m); /* NULL is fine */
bool program_mark_gone(const struct program_mark *m);

/* Takes a reference; clones get one too. NULL: local again. */
void program_set_job(struct skiff_program *p, struct job *job);
/* From now on, running p runs `as` (for a split program, the trainer's), which must not lead back
 * to p. Takes a reference. NULL: p itself again. */
void program_run_as(struct skiff_program *p, struct skiff_program *as);
const struct skiff_program *program_to_run(const struct skiff_program *p);

struct skiff_block *program_add_block(struct skiff_program *p, int parent);
static inline struct skiff_block *program_root(const struct skiff_program *p)
{
    return p->blocks[0];
}

struct skiff_var *block_add_var(struct skiff_block *b,
                                const char *name); /* LOD_TENSOR; the existing one if there */
struct skiff_var *block_own_var(const struct skiff_block *b, const char *name);
/* Here, in the block that this one is the gradient of (forward_idx), or in a parent; NULL. */
struct skiff_var *block_find_var(const struct skiff_block *b, const char *name);
void block_remove_var(struct skiff_block *b, const char *name);

/* An empty op at position `at` (-1: at the end). It has no slots and no attributes yet and is bound
 * to the kind of its type for the program's generation (kind NULL when there is none). */
struct skiff_op *block_insert_op(struct skiff_block *b, int at, const char *type);
/* Puts a loose op (grad.h) of the same program into the block; it stays the program's. */
void block_put_op(struct skiff_block *b, int at, struct skiff_op *op);
void block_remove_ops(struct skiff_block *b, int at, int n);

/* Sets a slot's variables (replaces). n may be 0: the slot is there with an empty list. */
void op_set_in(struct skiff_program *p, struct skiff_op *op, const char *slot, int n,
               const char *const *names);
void op_set_out(struct skiff_program *p, struct skiff_op *op, const char *slot, int n,
                const char *const *names);
const struct op_arg *op_in(const struct skiff_op *op,
                           const char *slot); /* NULL when the slot is absent */
const struct op_arg *op_out(const struct skiff_op *op, const char *slot);
const char *op_in1(const struct skiff_op *op, const char *slot); /* its only variable, or NULL */
const char *op_out1(const struct skiff_op *op, const char *slot);
void op_rename_in(struct skiff_program *p, struct skiff_op *op, const char *from, const char *to);
void op_rename_out(struct skiff_program *p, struct skiff_op *op, const char *from, const char *to);
bool op_reads(const struct skiff_op *op, const char *name);
bool op_writes(const struct skiff_op *op, const char *name);

/* Attributes. Setters copy into the arena and replace. */
const struct op_attr_value *op_attr(const struct skiff_op *op, const char *name);
void op_set_attr(struct skiff_program *p, struct skiff_op *op, const char *name,
                 enum attr_type type, const struct attr_value *value);
void op_remove_attr(struct skiff_op *op, const char *name);
void op_set_int(struct skiff_program *p, struct skiff_op *op, const char *name, int32_t v);
void op_set_long(struct skiff_program *p, struct skiff_op *op, const char *name, int64_t v);
void op_set_float(struct skiff_program *p, struct skiff_op *op, const char *name, float v);
void op_set_bool(struct skiff_program *p, struct skiff_op *op, const char *name, bool v);
void op_set_string(struct skiff_program *p, struct skiff_op *op, const char *name, const char *v);
void op_set_ints(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                 const int32_t *v);
void op_set_longs(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                  const int64_t *v);
void op_set_strings(struct skiff_program *p, struct skiff_op *op, const char *name, int n,
                    const char *const *v);
void op_copy_attrs(struct skiff_program *p, struct skiff_op *to, const struct skiff_op *from);
int op_role_of(const struct skiff_op *op); /* attribute op_role; ROLE_UNSPECIFIED when absent */
/* Inserts every attribute that the kind declares and the op lacks, with its default, and the
 * implicit ones (op_role, op_role_var, op_namescope, op_callstack, op_device), as Paddle's
 * attribute checker does. */
enum skiff_status op_fill_defaults(struct skiff_program *p, struct skiff_op *op,
                                   struct skiff_error *err);

/* protobuf form (pb.c, the only user of protobuf-c). Reading binds kinds
 * and sets the generation. */
enum skiff_status program_decode(const void *bytes, size_t n, const char *what,
                                 struct skiff_program **out, struct skiff_error *err);
void program_encode(const struct skiff_program *p, struct buf *out);

/* Text form (text_print.c, text_parse.c; grammar in README.md): one var or op a line, blocks; print
 * and parse round-trip exactly. It holds what a file holds, and generation and seed; not what only
 * building knows (param, producer, the working flag stop_gradient). Errors name line and column. */
void program_print(const struct skiff_program *p, struct buf *out);
enum skiff_status program_parse(const char *text, const char *what, struct skiff_program **out,
                                struct skiff_error *err);

/* Checks the whole program (verify.c): known ops, required slots and attributes, types of
 * attributes, variables that exist, shapes that the ops' shape rules accept and that agree with
 * the shapes of the variables (-1 agrees with anything). The message names block, op index, op
 * type, slot, variable and both shapes. */
enum skiff_status program_verify(const struct skiff_program *p, struct skiff_error *err);
enum verify_flag {
    VERIFY_SKIP_UNKNOWN = 1, /* ops of unknown types are passed over instead of refused */
    VERIFY_SKIP_SHAPES = 2,
    VERIFY_FUSED = 4, /* what fusing passes make is allowed: internal ops (op_kind.h), and optimizer
                         ops joined into one, each slot listing as many variables as the first */
};
enum skiff_status program_verify_with(const struct skiff_program *p, unsigned flags,
                                      struct skiff_error *err);

/* Same ops, names, attributes, shapes? (diff.c) Describes the first differences in words; returns
 * the count. Ignores op_callstack and the order of variables, attributes and slots. */
int program_diff(const struct skiff_program *a, const struct skiff_program *b, struct buf *out);

#endif
