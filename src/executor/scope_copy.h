/* A copy of all values of a scope, as they are once rows that lie behind are brought up to date
 * (tensor/value.h). The scope itself stays as it is, to the bit: settling rows at another moment
 * rounds otherwise, and whoever looks at a model while it is trained shall not change it. Nobody
 * may write to the scope meanwhile. */
#ifndef EXECUTOR_SCOPE_COPY_H
#define EXECUTOR_SCOPE_COPY_H

#include "executor/scope.h"

enum skiff_status scope_copy(const struct skiff_scope *from, struct skiff_scope *to,
                             struct skiff_error *err);

#endif
