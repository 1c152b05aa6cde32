/* Fusing: rewrites a program so that it computes the same with fewer, larger steps. Fetched
 * variables stay computed. The result is for running only; it holds ops that no file may hold
 * (OP_INTERNAL). */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "program/program.h"

/* The result of every pass is verified (`verify`: flags of program_verify_with): a faulty pass is
 * an internal error that names it. A program that was faulty before is left to its caller. */
enum skiff_status fuse_program(const struct skiff_program *p, const char *const *keep, int nkeep,
                               unsigned verify, struct skiff_program **out,
                               struct skiff_error *err);

#endif
