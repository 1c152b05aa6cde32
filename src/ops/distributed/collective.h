/* What ops over rings share: collective.c, fused_reduce.c. */
#ifndef OPS_COLLECTIVE_H
#define OPS_COLLECTIVE_H

#include "collective/rings.h"
#include "program/kernel.h"

/* The kernel's ring, or an error that names the op and what to do. */
enum skiff_status ring_of(const struct kernel *k, int ring, struct collective **out,
                          struct skiff_error *err);
/* A failed call's error with op, variable and rank; OK stays OK. */
enum skiff_status ring_failed(const struct kernel *k, const struct collective *c, const char *var,
                              enum skiff_status status, struct skiff_error *err);

#endif
