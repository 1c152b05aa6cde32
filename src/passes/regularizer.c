/* Weight decay: a term of the parameter is added to its gradient.
 *   L2: grad += coeff * param        L1: grad += coeff * sign(param)
 * A sparse gradient becomes dense that way: <grad>@NEWGRAD@. */
#include "passes/minimize.h"

static struct skiff_var *term_var(struct skiff_net *net, const struct skiff_var *param)
{
    struct skiff_var *v = block_new_var(net, program_root(net->frame->main), NULL, param->dtype);
    if (v) {
        v->shape = param->shape;
        v->lod_level = param->lod_level;
    }
    return v;
}

static struct skiff_var *decay_term(struct skiff_net *net, const struct skiff_regularizer *r,
                                    struct skiff_var *param)
{
    struct skiff_block *b = program_root(net->frame->main);
    struct skiff_var *decay = term_var(net, param);
    if (!decay)
        return NULL;
    struct skiff_var *x = param;
    if (r->kind == SKIFF_REG_L1) {
        net_put_op(net, b, -1, "sign", PARTS(P_IN("X", param), P_OUT("Out", decay)));
        x = decay;
        if (b->program->generation == GEN_2X) /* 1.x scales in place */
            decay = term_var(net, param);
    }
    net_put_op(net, b, -1, "scale",
               PARTS(P_IN("X", x), P_OUT("Out", decay), P_FLOAT("scale", r->coeff)));
    return decay;
}

/* keep: the gradient is not overwritten, and the sum is a new variable. */
static struct skiff_var *add_decay(struct skiff_net *net, const struct skiff_regularizer *r,
                                   struct skiff_var *param, struct skiff_var *grad, bool keep)
{
    struct skiff_block *b = program_root(net->frame->main);
    struct skiff_var *decay = decay_term(net, r, param), *out = grad;
    if (!decay)
        return NULL;
    if (grad->kind == VAR_SELECTED_ROWS || keep) {
        const char *name = arena_printf(&net->arena, "%s@NEWGRAD@", grad->name);
        out = block_new_var(net, b, name, param->dtype);
        out->shape = param->shape;
        out->lod_level = param->lod_level;
    }
    net_put_op(net, b, -1, "sum",
               PARTS(P_INS("X", 2, ((struct skiff_var *[]){grad, decay})), P_OUT("Out", out)));
    return out;
}

const struct skiff_regularizer *regularizer_of_param(const struct skiff_regularizer *all,
                                                     const struct skiff_var *param)
{
    const struct skiff_regularizer *own = param->param ? param->param->regularizer : NULL;
    return own ? own : all;
}

void regularizer_apply(struct skiff_net *net, const struct skiff_regularizer *all, bool l2_inside,
                       bool keep, struct param_grad *pairs, int n)
{
    skiff_net_push_scope(net, "regularization");
    for (int i = 0; i < n && !net_failed(net); i++) {
        struct skiff_var *param = pairs[i].param;
        const struct skiff_regularizer *r = regularizer_of_param(all, param);
        if (!r->kind || (l2_inside && r->kind == SKIFF_REG_L2))
            continue;
        struct role_guard role = pair_role(net, param, pairs[i].grad);
        pairs[i].grad = add_decay(net, r, param, pairs[i].grad, keep);
        role_pop(role);
    }
    skiff_net_pop_scope(net);
}
