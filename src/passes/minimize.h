/* Inside of optimizers: what minimize.c, optimizers.c, regularizer.c and clip.c share. */
#ifndef PASSES_MINIMIZE_H
#define PASSES_MINIMIZE_H

#include "layers/helper.h"

#include <skiff/optimizer.h>

#include "passes/backward.h"

struct optimizer_kind;

struct skiff_optimizer {
    struct skiff_net *net;
    const struct optimizer_kind *kind;
    struct skiff_optimizer_options o; /* defaults filled in */
    struct skiff_var *rate;           /* learning rate in rate_program */
    const struct skiff_program *rate_program;
    enum dtype rate_dtype;       /* of the loss */
    struct str_map accumulators; /* "<param>\n<accumulator>" -> struct skiff_var */
};

/* One optimizer: its accumulators per parameter and its op. Everything else is the same for all. */
struct optimizer_accumulator {
    const char *name;     /* suffix of the variable */
    const char *in, *out; /* slots of the op; out NULL: not written */
    double (*fill)(const struct skiff_optimizer_options *o); /* NULL: 0 */
    bool scalar;                                             /* [1]; otherwise like the parameter */
    bool on_cpu; /* its initializer op says op_device cpu */
};

struct optimizer_kind {
    const char *type;  /* of the op */
    const char *class; /* Fluid's class name: consumes a unique name */
    const struct optimizer_accumulator *accumulators; /* ends with {0} */
    bool no_rate;                                     /* the op of 1.x has no LearningRate input */
    void (*defaults)(struct skiff_optimizer_options *o);
    /* Hyperparameters that have no default: an error text, or NULL. */
    const char *(*missing)(const struct skiff_optimizer_options *o);
    int (*attrs)(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                 struct part *out); /* fills parts, returns their number (at most 8) */
    /* ops after all update ops, per parameter; NULL: none */
    void (*finish)(struct skiff_optimizer *opt, const struct param_grad *pg);
};

extern const struct optimizer_kind optimizer_kinds[]; /* ends with {0} */

struct skiff_var *optimizer_accumulator(struct skiff_optimizer *opt, const struct skiff_var *param,
                                        const char *name);

/* Role Optimize for ops that work on this pair, until role_pop. The names live in the net. */
struct role_guard pair_role(struct skiff_net *net, const struct skiff_var *param,
                            const struct skiff_var *grad);

/* Each replaces pairs[i].grad by the clipped / decayed gradient. clip.c, regularizer.c */
void clip_apply(struct skiff_net *net, const struct skiff_clip *clip, struct param_grad *pairs,
                int n);
void clip_apply_per_param(struct skiff_net *net, struct param_grad *pairs, int n);
void regularizer_apply(struct skiff_net *net, const struct skiff_regularizer *all,
                       struct param_grad *pairs, int n);

#endif
