/* A copy of all values of a scope with deferred updates applied (tensor/value.h). The scope itself
 * does not change in any bit: flushing at another time rounds differently, and an observer must not
 * change a model while it is trained. Nothing may write to the scope meanwhile. */
#ifndef EXECUTOR_SCOPE_COPY_H
#define EXECUTOR_SCOPE_COPY_H

#include "executor/scope.h"

enum skiff_status scope_copy(const struct skiff_scope *from, struct skiff_scope *to,
                             struct skiff_error *err);

#endif
