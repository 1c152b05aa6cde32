/* What a shape rule sees. The same rule serves building (variables of a block, dims may be -1) and
 * running (values, all dims known). Slots by position in the kind's tables. */
#ifndef PROGRAM_INFER_H
#define PROGRAM_INFER_H

#include "program/op_kind.h"
#include "tensor/value.h"

struct infer {
    const struct op_kind *kind;
    const struct attr_value *attr; /* by position, defaults filled in */
    bool running;
    /* building */
    const struct skiff_block *block;
    const struct skiff_op *op;
    /* running */
    struct kernel *kernel;
    /* Gives memory to an output that has none; may decline. NULL: memory comes from the system. */
    void (*supply)(void *supplier, struct tensor *t, size_t bytes);
    void *supplier;
};

int infer_in_count(const struct infer *c, int slot);
int infer_out_count(const struct infer *c, int slot);
/* NULL when absent. Valid until the next infer_out. For SelectedRows: the shape of the whole
 * ([height, width]) while building, of the value part while running. */
const struct shape *infer_in(const struct infer *c, int slot, int i);
enum dtype infer_in_dtype(const struct infer *c, int slot, int i);
bool infer_in_is_rows(const struct infer *c, int slot, int i);
int infer_in_lod_level(const struct infer *c, int slot, int i);
const struct lod *infer_in_lod(const struct infer *c, int slot, int i); /* NULL while building */
const char *infer_in_name(const struct infer *c, int slot, int i);      /* for messages */
bool infer_wants(const struct infer *c, int slot, int i); /* is that output requested? */

/* Set type and shape of an output. Does nothing when the output is absent. While running it also
 * makes room; when the output is the input of the same name (in place) its contents stay if the
 * size is unchanged. */
enum skiff_status infer_out(struct infer *c, int slot, int i, enum dtype dtype,
                            const struct shape *shape, struct skiff_error *err);
/* SelectedRows output of nrows x width (run time: makes room for rows too). While building marks
 * the variable SELECTED_ROWS with shape [height, width]. */
enum skiff_status infer_out_rows(struct infer *c, int slot, int i, enum dtype dtype, int64_t nrows,
                                 int64_t width, int64_t height, struct skiff_error *err);
/* Kind of an output's variable while building (infer_kind of op kinds); nothing while running. */
void infer_out_kind(struct infer *c, int slot, int i, enum var_kind kind);
/* Output takes lod of that input (lod_level while building). Default without this call: no lod. */
void infer_share_lod(struct infer *c, int in_slot, int in_i, int out_slot, int out_i);
/* Lod level, while building only; when running, the kernel makes the lod. */
void infer_lod_level(struct infer *c, int out_slot, int out_i, int level);
/* Output = type, shape and lod of an input; the most usual rule. SelectedRows in -> SelectedRows
 * out. */
enum skiff_status infer_same(struct infer *c, int in_slot, int out_slot, struct skiff_error *err);
/* "op relu, input X (fc_0.tmp_1) [32, 10]: " + text, as SKIFF_SHAPE. */
enum skiff_status infer_fail(const struct infer *c, int slot, int i, struct skiff_error *err,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* May input `name` (of op->ins[slot]) be declared in no block? An op that runs a gradient block
 * provides gradients of the following step (recurrent_grad); they are in optional slots. */
bool op_grad_may_lack(const struct skiff_block *b, const struct skiff_op *op, int slot,
                      const char *name);

/* Calls the kind's rule; without one: every output takes type, shape and lod of the first input. */
enum skiff_status infer_run(struct infer *c, struct skiff_error *err);
/* Run the rule for an op being built, filling its output variables in the block (made when
 * missing), and marks it as their producer. */
enum skiff_status infer_op(struct skiff_block *b, struct skiff_op *op, struct skiff_error *err);

#endif
