/* Shared by minimize.c, update.c, regularizer.c and clip.c. Internal to minimize. */
#ifndef PASSES_MINIMIZE_H
#define PASSES_MINIMIZE_H

#include "layers/helper.h"

#include <skiff/optimizer.h>

#include "passes/backward.h"
#include "rules/optimizer.h"

/* Names accumulators that outlive one program (src/eager). *there: it has a value already, so no op
 * fills it. Returns NULL if the net has failed. */
struct accumulator_names {
    const char *(*name)(void *user, const struct skiff_var *param,
                        const struct optimizer_accumulator *a, const char *stem, bool *there);
    void *user;
};

struct skiff_optimizer {
    struct skiff_net *net;
    const struct optimizer_kind *kind;
    struct skiff_optimizer_options o; /* defaults filled in */
    struct skiff_var *rate;           /* learning rate in rate_program */
    const struct skiff_program *rate_program;
    enum dtype rate_dtype;              /* of the loss */
    struct str_map accumulators;        /* "<param>\n<accumulator>" -> struct skiff_var */
    struct accumulator_names own_names; /* name NULL: named by the net's counters */
};

/* update.c: presets and ranges of the row's settings (false: the net has failed); learning rate,
 * accumulators and update ops for pairs. */
bool optimizer_complete_options(struct skiff_net *net, const struct optimizer_kind *kind,
                                struct skiff_optimizer_options *o);
void optimizer_make_rate(struct skiff_optimizer *opt);
struct skiff_var *optimizer_param_rate(struct skiff_optimizer *opt, const struct skiff_var *param);
void optimizer_update_ops(struct skiff_optimizer *opt, const struct param_grad *pairs, int n);

/* Sets role Optimize for ops that work on this pair, until role_pop. The net owns the names. */
struct role_guard pair_role(struct skiff_net *net, const struct skiff_var *param,
                            const struct skiff_var *grad);

/* Each replaces pairs[i].grad by the clipped / decayed gradient. clip.c, regularizer.c */
void clip_apply(struct skiff_net *net, const struct skiff_clip *clip, struct param_grad *pairs,
                int n);
void clip_apply_per_param(struct skiff_net *net, struct param_grad *pairs, int n);
/* l2_inside: the update op applies L2 decay itself. keep: gradients are not overwritten. */
void regularizer_apply(struct skiff_net *net, const struct skiff_regularizer *all, bool l2_inside,
                       bool keep, struct param_grad *pairs, int n);
/* Decay of this parameter: its own or the global one; kind 0: none. */
const struct skiff_regularizer *regularizer_of_param(const struct skiff_regularizer *all,
                                                     const struct skiff_var *param);

#endif
