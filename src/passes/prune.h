/* Reduces a training program to the ops that inference or testing needs. */
#ifndef PASSES_PRUNE_H
#define PASSES_PRUNE_H

#include "program/program.h"

/* The program of save_inference_model: every target i except bools is wrapped in a `scale` op of
 * its own (save_infer_model/scale_i.tmp_0); ops that no target needs are dropped (an op stays if it
 * writes something needed and its role is not Optimize; inputs of kept ops become needed, except
 * fed ones); is_test attributes are set; feed and fetch ops with their holder variables are added.
 * The table of op versions that Paddle adds is written by `store`. The given program is not
 * changed; the caller owns *out. */
enum skiff_status prune_for_inference(const struct skiff_program *p, const char *const *feeds,
                                      int nfeeds, const char *const *targets, int ntargets,
                                      struct skiff_program **out, struct skiff_error *err);

/* Program.clone(for_test=True): forward ops only, is_test attributes set. */
enum skiff_status program_clone_for_test(const struct skiff_program *p, struct skiff_program **out,
                                         struct skiff_error *err);

#endif
