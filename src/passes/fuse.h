/* Fusing: a program that computes the same with fewer, larger steps. What is fetched stays
 * computed. The result is for running only; it holds ops that no file may hold (OP_INTERNAL). */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "program/program.h"

/* What every pass makes is verified (`verify`: flags of program_verify_with): a pass
 * that went wrong is an internal error that names it. A program that was wrong before is
 * left to its runner. */
enum skiff_status fuse_program(const struct skiff_program *p, const char *const *keep, int nkeep,
                               unsigned verify, struct skiff_program **out,
                               struct skiff_error *err);

#endif
