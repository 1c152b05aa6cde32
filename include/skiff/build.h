/* Programs from the inside: blocks, variables, ops and attributes, for tools and language bindings.
 * layers.h has layers by name ("fc"); this header appends op by op. Any op type of the registry can
 * be appended, whether or not a layer makes it.
 *
 *     struct skiff_op *op = skiff_block_insert_op(b, -1, "scale");
 *     skiff_op_set_in(b, op, "X", 1, &(const char *){"x"});
 *     skiff_op_set_out(b, op, "Out", 1, &(const char *){"y"});
 *     skiff_op_set_attr(b, op, "scale", &(struct skiff_attr){SKIFF_ATTR_FLOAT, .f = 2}, &err);
 *     if (skiff_op_finish(b, op, 0, &err) < 0) ...       the op has been taken out again
 *
 * Ownership: everything belongs to the program; pointers stay valid as long as it lives, also those
 * of removed ops and variables. Strings given are copied. Threads: one program, one thread. */
#ifndef SKIFF_BUILD_H
#define SKIFF_BUILD_H

#include <skiff/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_block;
struct skiff_op;

/* ---- programs ---- */

/* 1 or 2: which meaning op types have. Setting it binds the existing ops again. */
SKIFF_API int skiff_program_generation(const struct skiff_program *p);
SKIFF_API void skiff_program_set_generation(struct skiff_program *p, int generation);
SKIFF_API int64_t skiff_program_version(const struct skiff_program *p);
SKIFF_API void skiff_program_set_version(struct skiff_program *p, int64_t version);
/* Two numbers, of which at least one changes whenever a run of the program would do something else:
 * it was changed, or another program runs in its place (skiff/fleet.h). For callers that cache
 * results of the program. */
SKIFF_API void skiff_program_state(const struct skiff_program *p, uint64_t out[2]);
/* op_role, op_role_var and op_namescope of ops that are appended from now on. */
SKIFF_API int skiff_program_role(const struct skiff_program *p);
SKIFF_API int skiff_program_role_vars(const struct skiff_program *p, const char *const **out);
SKIFF_API void skiff_program_set_role(struct skiff_program *p, int role, int nvars,
                                      const char *const *vars);
SKIFF_API const char *skiff_program_namescope(const struct skiff_program *p);
SKIFF_API void skiff_program_set_namescope(struct skiff_program *p, const char *path);
/* ProgramDesc bytes (free() them), and back: bytes or the text form; `what`
 * names it in messages. */
SKIFF_API void *skiff_program_bytes(const struct skiff_program *p, size_t *out_n);
SKIFF_API enum skiff_status skiff_program_parse(const void *bytes, size_t n, const char *what,
                                                struct skiff_program **out,
                                                struct skiff_error *err);
SKIFF_API enum skiff_status skiff_program_check(const struct skiff_program *p,
                                                struct skiff_error *err);
/* The differences as text, "" when there are none; free() it. */
SKIFF_API char *skiff_program_differences(const struct skiff_program *a,
                                          const struct skiff_program *b);

SKIFF_API int skiff_program_blocks(const struct skiff_program *p);
SKIFF_API struct skiff_block *skiff_program_block(const struct skiff_program *p, int i);
/* forward: the block that the new one is the gradient of, or -1. NULL when there
 * is no such parent. */
SKIFF_API struct skiff_block *skiff_program_add_block(struct skiff_program *p, int parent,
                                                      int forward);

/* ---- blocks ---- */

SKIFF_API int skiff_block_index(const struct skiff_block *b);
SKIFF_API int skiff_block_parent(const struct skiff_block *b);  /* -1: none */
SKIFF_API int skiff_block_forward(const struct skiff_block *b); /* -1: none */
SKIFF_API void skiff_block_set_forward(struct skiff_block *b, int forward);
SKIFF_API int skiff_block_vars(const struct skiff_block *b);
SKIFF_API struct skiff_var *skiff_block_var_at(const struct skiff_block *b, int i);
SKIFF_API struct skiff_var *skiff_block_own_var(const struct skiff_block *b, const char *name);
SKIFF_API struct skiff_var *skiff_block_find_var(const struct skiff_block *b, const char *name);
SKIFF_API struct skiff_var *skiff_block_add_var(struct skiff_block *b, const char *name);
SKIFF_API void skiff_block_remove_var(struct skiff_block *b, const char *name);
/* Also in all ops of the block. NULL when there is no such variable or the new name is taken. */
SKIFF_API struct skiff_var *skiff_block_rename_var(struct skiff_block *b, const char *from,
                                                   const char *to);
SKIFF_API int skiff_block_ops(const struct skiff_block *b);
SKIFF_API struct skiff_op *skiff_block_op(const struct skiff_block *b, int i);
SKIFF_API void skiff_block_remove_ops(struct skiff_block *b, int at, int n);
/* An op without slots and attributes at position `at` (-1: the end). */
SKIFF_API struct skiff_op *skiff_block_insert_op(struct skiff_block *b, int at, const char *type);

/* ---- variables (net.h has the rest) ---- */

SKIFF_API const char *skiff_var_kind(const struct skiff_var *v);          /* "LOD_TENSOR", ... */
SKIFF_API bool skiff_var_set_kind(struct skiff_var *v, const char *kind); /* false: no such kind */
SKIFF_API bool skiff_var_has_dtype(const struct skiff_var *v);
SKIFF_API int skiff_dtype_number(const char *dtype); /* VarType number; -1: no such type */
SKIFF_API bool skiff_var_set_dtype(struct skiff_var *v,
                                   const char *dtype); /* false: no such type */
SKIFF_API bool skiff_var_set_shape(struct skiff_var *v, int ndim, const int64_t *dims);
SKIFF_API void skiff_var_set_lod_level(struct skiff_var *v, int level);
SKIFF_API bool skiff_var_need_check_feed(const struct skiff_var *v);
SKIFF_API void skiff_var_set_need_check_feed(struct skiff_var *v, bool on);
SKIFF_API struct skiff_op *skiff_var_producer(const struct skiff_var *v); /* last writer, or NULL */

/* What a parameter has beyond a variable. */
struct skiff_param_info {
    bool trainable;
    double learning_rate;
    struct skiff_regularizer regularizer;
    struct skiff_clip gradient_clip;
    bool do_model_average, is_distributed;
    uint64_t reserved[4];
};
SKIFF_API bool skiff_var_is_parameter(const struct skiff_var *v);
/* The defaults for a variable that is no parameter. */
SKIFF_API struct skiff_param_info skiff_var_param(const struct skiff_var *v);
/* Makes it a parameter; p is its program. */
SKIFF_API void skiff_var_set_param(struct skiff_program *p, struct skiff_var *v,
                                   const struct skiff_param_info *info);

/* ---- ops ---- */

enum skiff_attr_type { /* Paddle's AttrType */
                       SKIFF_ATTR_INT = 0,
                       SKIFF_ATTR_FLOAT = 1,
                       SKIFF_ATTR_STRING = 2,
                       SKIFF_ATTR_INTS = 3,
                       SKIFF_ATTR_FLOATS = 4,
                       SKIFF_ATTR_STRINGS = 5,
                       SKIFF_ATTR_BOOLEAN = 6,
                       SKIFF_ATTR_BOOLEANS = 7,
                       SKIFF_ATTR_BLOCK = 8,
                       SKIFF_ATTR_LONG = 9,
                       SKIFF_ATTR_BLOCKS = 10,
                       SKIFF_ATTR_LONGS = 11,
                       SKIFF_ATTR_FLOAT64S = 12,
                       SKIFF_ATTR_VAR = 13,
                       SKIFF_ATTR_VARS = 14,
                       SKIFF_ATTR_FLOAT64 = 15,
                       SKIFF_ATTR_SCALAR = 16,
                       SKIFF_ATTR_SCALARS = 17,
};
SKIFF_API const char *skiff_attr_type_name(enum skiff_attr_type t);
SKIFF_API bool skiff_attr_type_parse(const char *name, enum skiff_attr_type *out);

/* A value, in the widest form of its type. Lists: n elements. */
struct skiff_attr {
    enum skiff_attr_type type;
    int n;
    union {
        int64_t i; /* INT, LONG, BLOCK, BOOLEAN; SCALAR when it is an integer */
        double f;  /* FLOAT, FLOAT64; SCALAR when is_real */
        const char *s;
        const int64_t *longs;       /* INTS, LONGS, BLOCKS, BOOLEANS */
        const double *floats;       /* FLOATS, FLOAT64S, SCALARS */
        const char *const *strings; /* STRINGS, VARS */
    };
    bool is_real; /* SCALAR, SCALARS */
};

SKIFF_API const char *skiff_op_type(const struct skiff_op *op);
SKIFF_API bool skiff_op_known(const struct skiff_op *op);     /* the registry has its type */
SKIFF_API bool skiff_op_is_update(const struct skiff_op *op); /* an optimizer op */
SKIFF_API int skiff_op_ins(const struct skiff_op *op);        /* slots */
SKIFF_API int skiff_op_outs(const struct skiff_op *op);
SKIFF_API const char *skiff_op_in_slot(const struct skiff_op *op, int i);
SKIFF_API const char *skiff_op_out_slot(const struct skiff_op *op, int i);
/* Names of a slot's variables; 0 when the slot is not there. */
SKIFF_API int skiff_op_in(const struct skiff_op *op, const char *slot, const char *const **out);
SKIFF_API int skiff_op_out(const struct skiff_op *op, const char *slot, const char *const **out);
SKIFF_API void skiff_op_set_in(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
                               const char *const *names);
SKIFF_API void skiff_op_set_out(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
                                const char *const *names);
SKIFF_API void skiff_op_rename_in(struct skiff_block *b, struct skiff_op *op, const char *from,
                                  const char *to);
SKIFF_API void skiff_op_rename_out(struct skiff_block *b, struct skiff_op *op, const char *from,
                                   const char *to);
SKIFF_API int skiff_op_attrs(const struct skiff_op *op);
SKIFF_API const char *skiff_op_attr_name(const struct skiff_op *op, int i);
/* The value of an attribute, in *out; false when the op does not have it. Lists live in the program
 * where they are stored in that form, otherwise in memory of the program's that the call adds. */
SKIFF_API bool skiff_op_attr(struct skiff_block *b, const struct skiff_op *op, const char *name,
                             struct skiff_attr *out);
/* Sets an attribute in the type that the kind declares (when `value` converts to it), else in the
 * type of `value`. */
SKIFF_API enum skiff_status skiff_op_set_attr(struct skiff_block *b, struct skiff_op *op,
                                              const char *name, const struct skiff_attr *value,
                                              struct skiff_error *err);
SKIFF_API void skiff_op_remove_attr(struct skiff_op *op, const char *name);
/* Does the registry declare that slot or attribute for the op, in the program's generation? The
 * type of the attribute goes to *out (may be NULL). */
SKIFF_API bool skiff_op_declares_in(const struct skiff_block *b, const struct skiff_op *op,
                                    const char *slot);
SKIFF_API bool skiff_op_declares_out(const struct skiff_block *b, const struct skiff_op *op,
                                     const char *slot);
SKIFF_API bool skiff_op_declares_attr(const struct skiff_block *b, const struct skiff_op *op,
                                      const char *name, enum skiff_attr_type *out);

enum skiff_finish_flag {
    SKIFF_NO_INFER = 1, /* slots and attributes are completed; the shape rule is not run */
};
/* Completes an op that has its slots and attributes: declared inputs that are missing are
 * listed empty, attributes get their defaults, the op its role and name scope; then its shape
 * rule fills the output variables, which are made when they are not there. In programs of
 * generation 1 an output variable that has a type keeps it. When it fails the op has been taken
 * out of the block. */
SKIFF_API enum skiff_status skiff_op_finish(struct skiff_block *b, struct skiff_op *op,
                                            unsigned flags, struct skiff_error *err);
SKIFF_API enum skiff_status skiff_op_infer(struct skiff_block *b, struct skiff_op *op,
                                           struct skiff_error *err); /* the rule again */
SKIFF_API char *skiff_op_text(const struct skiff_op *op);            /* its line; free() it */

/* ---- the registry ---- */

struct skiff_slot_info {
    const char *name;
    bool list, optional;
    uint64_t reserved[4];
};
struct skiff_attr_info {
    const char *name;
    bool required;
    struct skiff_attr def; /* its type; the default, unless required or a list (only its length) */
    uint64_t reserved[4];
};
SKIFF_API int skiff_registry_count(void);
SKIFF_API const char *skiff_registry_type(int i, int generation); /* NULL: not in that generation */
SKIFF_API bool skiff_registry_has(const char *type, int generation);
SKIFF_API const char *skiff_registry_nearest(const char *type); /* NULL: nothing is near */
/* The i-th slot or attribute that the type declares; false past the last. */
SKIFF_API bool skiff_registry_in(const char *type, int generation, int i,
                                 struct skiff_slot_info *out);
SKIFF_API bool skiff_registry_out(const char *type, int generation, int i,
                                  struct skiff_slot_info *out);
SKIFF_API bool skiff_registry_attr(const char *type, int generation, int i,
                                   struct skiff_attr_info *out);

/* ---- nets ---- */

/* Where layers append: a block of the current main program. */
SKIFF_API struct skiff_block *skiff_net_block(const struct skiff_net *net);
SKIFF_API void skiff_net_set_block(struct skiff_net *net, struct skiff_block *b);
SKIFF_API struct skiff_block *skiff_net_enter_block(struct skiff_net *net);
SKIFF_API struct skiff_block *skiff_net_leave_block(struct skiff_net *net);
/* Replaces the programs on top of the stack; NULL: as they are. */
SKIFF_API void skiff_net_set_programs(struct skiff_net *net, struct skiff_program *main,
                                      struct skiff_program *startup);
/* Counters of unique names that are set aside: unique_name.switch. swap exchanges them with the
 * net's current ones. */
struct skiff_names;
SKIFF_API struct skiff_names *skiff_names_create(const char *prefix); /* prefix NULL: none */
SKIFF_API void skiff_names_destroy(struct skiff_names *n);            /* NULL is fine */
SKIFF_API void skiff_net_swap_names(struct skiff_net *net, struct skiff_names *n);
/* Also creates the variable in the startup program, filled by an op at its front. */
SKIFF_API void skiff_net_init_var(struct skiff_net *net, struct skiff_var *v,
                                  const struct skiff_initializer *init);
/* The op that fills a variable, at the front of its block. */
SKIFF_API void skiff_net_init_in(struct skiff_net *net, struct skiff_block *b, struct skiff_var *v,
                                 const struct skiff_initializer *init);
/* The net forgets what it remembers of a program that is about to be destroyed. */
SKIFF_API void skiff_net_forget_program(struct skiff_net *net, const struct skiff_program *p);

#ifdef __cplusplus
}
#endif
#endif
