/* An op's attributes by position in its kind's table: what infer.attr and kernel.attr point to. */
#ifndef PROGRAM_BIND_H
#define PROGRAM_BIND_H

#include "program/op_kind.h"

/* Missing attributes get their defaults; numbers stored in another numeric type than the declared
 * one are converted (Paddle does so for bool/int/long/float; 2.x also stores doubles and scalars).
 * The result lives in `arena`; lists and strings may be borrowed from the op. Fails when a required
 * attribute is missing or a type does not convert. */
enum skiff_status attrs_bind(const struct skiff_op *op, struct arena *arena,
                             const struct attr_value **out, struct skiff_error *err);

#endif
