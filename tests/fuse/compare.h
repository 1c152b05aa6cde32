/* Compares the values of two runs, and complete scopes. */
#ifndef TESTS_FUSE_COMPARE_H
#define TESTS_FUSE_COMPARE_H

#include "executor/scope.h"

/* 0 when equal up to rounding: |a - b| <= tolerance * (largest number of a + floor). Selected rows
 * are compared as what they add up to. Otherwise says what differs. */
bool values_agree(const struct skiff_tensor *a, const struct skiff_tensor *b, double tolerance,
                  char *why, size_t capacity);
/* Copies every variable of one scope into another. */
void scope_copy(struct skiff_scope *to, const struct skiff_scope *from);
bool scopes_agree(const struct skiff_scope *a, const struct skiff_scope *b, double tolerance,
                  char *why, size_t capacity);

#endif
