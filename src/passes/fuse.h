/* Fusing: a program that computes the same with fewer, larger steps. What is fetched stays
 * computed. The result is for running only; it holds ops that no file may hold (OP_INTERNAL). */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "program/program.h"

enum skiff_status fuse_program(const struct program *p, const char *const *keep, int nkeep,
                               struct program **out, struct skiff_error *err);

#endif
