/* What a kernel sees at run time: bound slots, decoded attributes, scratch, and the running
 * environment. A kernel is one step of one plan; it is used by one thread. */
#ifndef PROGRAM_KERNEL_H
#define PROGRAM_KERNEL_H

#include "base/rng.h"
#include "program/op_kind.h"
#include "tensor/value.h"

struct kernel_slot {
    struct skiff_tensor **v; /* n entries; NULL where the variable is @EMPTY@ */
    int n;
};

struct skiff_scope;

/* The host of a running program, as ops see it (ops/io/host_ops.c). Functions may be NULL; several
 * threads may call them at once. */
struct run_host {
    void *user;
    void (*print)(void *user, const char *text);
    /* Calls the host function with this number (py_func); entries of in and out may be NULL. */
    enum skiff_status (*call)(void *user, int id, const struct skiff_tensor *const *in, int nin,
                              struct skiff_tensor *const *out, int nout, struct skiff_error *err);
};

/* The services of the executor for kernels. One per running thread. */
struct row_home; /* below */

struct run_env {
    uint64_t run;                        /* run number, unique within the executor */
    struct skiff_scope *scope;           /* of the run, for listen_and_serv */
    const struct skiff_program *program; /* the program that runs (after fusing) */
    /* Runs a block of the program as part of this step (while, conditional_block). */
    enum skiff_status (*run_block)(struct run_env *env, int block, struct skiff_error *err);
    /* Save / restore all variables that `block` itself owns (while and its gradient). The object is
     * opaque. */
    enum skiff_status (*save_block)(struct run_env *env, int block, void **out,
                                    struct skiff_error *err);
    enum skiff_status (*restore_block)(struct run_env *env, int block, void *saved,
                                       struct skiff_error *err);
    void (*free_saved)(void *saved);
    /* The value behind a name as seen from `block`; NULL. For preparing ops that run blocks, not
     * for hot paths. */
    struct skiff_tensor *(*find)(struct run_env *env, int block, const char *name);
    const struct run_host *host; /* or NULL */
    struct mt64 *generator;      /* the default generator of 2.x (paddle.seed) */
    int32_t program_seed;
    bool is_test;
    /* optimizers may defer updates of rows (value.h); false: they update all rows in every step */
    bool defer_rows;
    /* the program has optimizers, so deferred rows that it reads are flushed; false: they are
     * computed for reading only (value.h) */
    bool trains;
    /* Parameters are parts of larger ones: a gradient without rows is a step all the same, because
     * the remaining rows of the complete parameter are on other servers. */
    bool empty_is_step;
    /* Is this output a part of a larger variable? Then *offset elements of the complete variable's
     * *whole elements precede it, and random ops generate the numbers of this range. NULL: all
     * outputs are complete. */
    bool (*part_of)(void *user, const char *var, int64_t *offset, int64_t *whole);
    void *part_user;
    /* Address of the parameter's rows, for ops with OP_ROWS_ANYWHERE; NULL: in its variable. */
    const struct row_home *home;
};

/* Rows by id that are not stored in a variable. Ids may be any; fn gets blocks of rows in the order
 * of the ids: rows[i] belongs to ids[first + i]. */
typedef void row_block_fn(void *self, size_t first, size_t n, float *const *rows);
struct row_home {
    void *user;
    enum skiff_status (*each)(void *user, const int64_t *ids, size_t n, row_block_fn *fn,
                              void *self, struct skiff_error *err);
};

struct kernel {
    const struct op_kind *kind;
    const struct skiff_op *op;
    const struct attr_value *attr; /* by position */
    struct kernel_slot *in, *out;  /* by position */
    void *state;                   /* the op's own, from prepare */
    struct run_env *env;
    struct kernel_scratch_space {
        void *p;
        size_t cap, used;
    } * scratch;
};

static inline int kernel_in_count(const struct kernel *k, int slot)
{
    return k->in[slot].n;
}
static inline int kernel_out_count(const struct kernel *k, int slot)
{
    return k->out[slot].n;
}
static inline struct skiff_tensor *kernel_in_value(const struct kernel *k, int slot, int i)
{
    return i < k->in[slot].n ? k->in[slot].v[i] : NULL;
}
static inline struct skiff_tensor *kernel_out_value(const struct kernel *k, int slot, int i)
{
    return i < k->out[slot].n ? k->out[slot].v[i] : NULL;
}
/* The tensor of an input (for SelectedRows: its value part); NULL when absent. */
static inline const struct tensor *kernel_in_at(const struct kernel *k, int slot, int i)
{
    struct skiff_tensor *v = kernel_in_value(k, slot, i);
    return v ? &v->tensor : NULL;
}
static inline const struct tensor *kernel_in(const struct kernel *k, int slot)
{
    return kernel_in_at(k, slot, 0);
}
static inline struct tensor *kernel_out_at(const struct kernel *k, int slot, int i)
{
    struct skiff_tensor *v = kernel_out_value(k, slot, i);
    return v ? &v->tensor : NULL;
}
static inline struct tensor *kernel_out(const struct kernel *k, int slot)
{
    return kernel_out_at(k, slot, 0);
}
static inline bool kernel_in_is_rows(const struct kernel *k, int slot, int i)
{
    struct skiff_tensor *v = kernel_in_value(k, slot, i);
    return v && v->kind == VALUE_ROWS;
}
/* Flushes deferred updates of the rows of a table that the kernel is about to read. */
static inline void kernel_read_rows(const struct kernel *k, struct deferred *deferred,
                                    const int64_t *ids, size_t n)
{
    if (k->env && k->env->trains)
        deferred->class->flush_rows(deferred, ids, n);
    else
        deferred->class->show_rows(deferred, ids, n);
}
/* Name of the variable, for messages; "" when absent. */
const char *kernel_in_name(const struct kernel *k, int slot, int i);
const char *kernel_out_name(const struct kernel *k, int slot, int i);

/* For OP_OWN_SHAPE kernels: size an output now. Does nothing when it is absent. */
enum skiff_status kernel_out_resize(struct kernel *k, int slot, int i, enum dtype dtype,
                                    const struct shape *shape, struct skiff_error *err);
/* Values of a later run: find returns the value that `value`, bound to a slot of the kernel, will
 * have then, or NULL if that is not known. */
struct kernel_later {
    uint64_t run; /* its run number (run_env) */
    bool trains;  /* the run before it ends a step of its job */
    void *user;
    const struct tensor *(*find)(void *user, const struct skiff_tensor *value);
};

/* Scratch bytes that live until the kernel returns; 64-byte aligned. Each call returns a separate
 * piece. */
enum skiff_status kernel_scratch(struct kernel *k, size_t bytes, void **out,
                                 struct skiff_error *err);
/* Called before each run of a kernel: releases all pieces; the memory is kept. */
static inline void kernel_scratch_reset(struct kernel_scratch_space *s)
{
    s->used = 0;
}
void kernel_scratch_deinit(struct kernel_scratch_space *s);
/* "op relu, input X (fc_0.tmp_1): " + text. */
enum skiff_status kernel_fail(const struct kernel *k, enum skiff_status code,
                              struct skiff_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
