/* What the ops that run blocks share: which of their runs a gradient needs, the gradients that a
 * block leaves under names of its own, and adding them up over its runs. */
#ifndef OPS_CONTROL_H
#define OPS_CONTROL_H

#include "ops/ops_common.h"

#define CONTROL (OP_RUNS_BLOCK | OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK)

enum skiff_status control_no_shapes(struct infer *c, struct skiff_error *err);
enum skiff_status control_check_block(const struct kernel *k, int block, struct skiff_error *err);
enum skiff_status control_read_bool(struct kernel *k, int slot, bool *out, struct skiff_error *err);

/* Does some op of the program read this output (StepScopes) of the kernel's op? */
bool control_is_kept(const struct kernel *k, const char *slot);
/* Is the op in a block that may run several times before the gradient does? */
bool control_is_nested(const struct kernel *k);

/* The values that `block` has under the names with a suffix (GRAD_SUFFIX, ""), by position; NULL
 * where `outer` has none, or the block sees the very same one. `own`: only variables that the block
 * declares. Caller frees. */
struct skiff_tensor **control_inner(struct kernel *k, int block, const struct op_arg *names,
                                    const char *suffix, const struct kernel_slot *outer, bool own);
/* The same by the names in an attribute. */
struct skiff_tensor **control_named(struct kernel *k, int block, const struct attr_value *names,
                                    const char *suffix);

/* to += from; `first`: to = from. Tensors of floats, and selected rows. A `from` without value adds
 * nothing. `name` is for messages. */
enum skiff_status control_add(struct kernel *k, const char *name, struct skiff_tensor *to,
                              const struct skiff_tensor *from, bool first, struct skiff_error *err);
/* Zeros of the type and shape of `like`; nothing when that has none. */
enum skiff_status control_zeros(struct skiff_tensor *to, const struct skiff_tensor *like,
                                struct skiff_error *err);

#endif
