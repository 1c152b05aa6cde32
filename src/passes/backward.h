/* append_backward and gradients: the ops that compute gradients, appended to the program.
 *
 * Order of work, as in Fluid 1.8 (each step is one function of backward.c or backward_ops.c):
 *   1. the op that makes the loss gets the role Loss; fill_constant 1.0 -> loss@GRAD
 *   2. the path: ops that lead to the loss; variables with stop_gradient cut it
 *   3. gradient ops of the path in reverse order, by the op kinds' own makers
 *   4. a variable with several gradients: they are renamed x@GRAD@RENAME@block0@i, and a sum is put
 *      before the first reader (or at the end)
 *   5. ops whose results nobody wants are dropped; gradients that are needed though unwanted are
 *      filled with zeros
 *   6. variables for the gradients, with the types and shapes of the forward ones
 *   7. the op that writes a parameter's gradient last gets op_role_var [param, grad] */
#ifndef PASSES_BACKWARD_H
#define PASSES_BACKWARD_H

#include "program/names.h"
#include "program/program.h"

struct backward_options {
    const char *const *parameters; /* NULL: all trainable ones */
    int nparameters;
    const char *const *no_grad; /* variables without gradient, besides stop_gradient ones */
    int nno_grad;
    int times;            /* number of this call on the program, from 1 */
    struct names *names;  /* for a gradient whose name is taken */
    const char **warning; /* warnings for the caller, in the arena; may be NULL */
};

struct param_grad {
    struct skiff_var *param, *grad;
};

/* *out lies in the program's arena. On failure no op stays appended. */
enum skiff_status append_backward(struct skiff_program *p, struct skiff_var *loss,
                                  const struct backward_options *o, struct param_grad **out,
                                  int *nout, struct skiff_error *err);

/* Gradients of the targets (weighted by target_grads, entries or the list NULL: ones) by the
 * inputs; out[i] is NULL when there is none. */
enum skiff_status append_gradients(struct skiff_program *p, struct skiff_var *const *targets,
                                   int ntargets, struct skiff_var *const *target_grads,
                                   struct skiff_var *const *inputs, int ninputs,
                                   const struct backward_options *o, struct skiff_var **out,
                                   struct skiff_error *err);

#endif
