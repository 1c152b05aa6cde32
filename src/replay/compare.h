/* Comparing a value with the recorded one. */
#ifndef REPLAY_COMPARE_H
#define REPLAY_COMPARE_H

#include "base/buf.h"
#include "tensor/value.h"

/* Floats: abs(got - want) <= atol + rtol * abs(want), NaN equals NaN, inf equals inf; everything
 * else exactly: integers, types, shapes, lod, row ids. Appends what differs to `out` (first place
 * and count); returns whether it is equal. */
bool replay_compare(const struct skiff_tensor *got, const struct skiff_tensor *want, double rtol,
                    double atol, struct buf *out);

#endif
