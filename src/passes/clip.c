/* Gradient clipping: by value, by the norm of each tensor, by the norm over all of them. Clipped
 * gradients are new variables; the clip ops carry op_role_var [param, new gradient].
 *
 * Clipping is ops in the program, as in Fluid, and not a flag of the update: a split program keeps
 * them on the trainer, and they are seen, saved and fused like any other. The global norm needs all
 * gradients before the first one can be scaled; with set_gradient_clip there is one such norm for
 * each group of parameters. */
#include <string.h>

#include "passes/minimize.h"

static bool wants(const struct skiff_clip *c, const struct skiff_var *param)
{
    return !c->need_clip || c->need_clip(param, c->user);
}

/* sum of the squares of one gradient; sparse ones are merged and made dense first */
static struct skiff_var *sum_of_squares(struct skiff_net *net, struct skiff_var *grad)
{
    if (grad->kind == VAR_SELECTED_ROWS) {
        grad = skiff_layer_merge_selected_rows(net, grad, NULL);
        grad = skiff_layer_get_tensor_from_selected_rows(net, grad, NULL);
    }
    return skiff_layer_reduce_sum(net, skiff_layer_square(net, grad), NULL);
}

static struct skiff_var *max_norm(struct skiff_net *net, const struct skiff_clip *c,
                                  enum dtype dtype)
{
    return skiff_layer_fill_constant(net, SKIFF_DIMS(1), dtype_name(dtype), c->norm, NULL);
}

/* limit / max(limit, norm) */
static struct skiff_var *scale_factor(struct skiff_net *net, struct skiff_var *limit,
                                      struct skiff_var *norm)
{
    return skiff_layer_elementwise_div(net, limit,
                                       skiff_layer_elementwise_max(net, limit, norm, NULL), NULL);
}

static struct skiff_var *norm_of(struct skiff_net *net, struct skiff_var *const *squares, int n)
{
    return skiff_layer_sqrt(net, skiff_layer_sums(net, (struct skiff_vars){n, squares}, NULL));
}

/* The clip ops were created before the gradient was renamed; update their op_role_var. */
static void correct_role_vars(struct skiff_net *net, const struct str_map *fresh)
{
    struct skiff_program *p = net->frame->main;
    struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops && fresh->count; i++) {
        const struct op_attr_value *scope = op_attr(b->ops[i], "op_namescope");
        const struct op_attr_value *pair = op_attr(b->ops[i], "op_role_var");
        if (!scope || scope->type != ATTR_STRING || !strstr(scope->value.s, "gradient_clip") ||
            !pair || pair->type != ATTR_STRINGS || pair->value.n < 1)
            continue;
        const char *param = pair->value.strings[0];
        const struct skiff_var *grad = str_map_get(fresh, param);
        if (grad)
            op_set_strings(p, b->ops[i], "op_role_var", 2, (const char *[]){param, grad->name});
    }
}

static struct skiff_var *clip_one(struct skiff_net *net, const struct skiff_clip *c,
                                  struct skiff_var *grad, struct skiff_var *factor)
{
    switch (c->kind) {
    case SKIFF_CLIP_VALUE:
        return skiff_layer_clip(net, grad, c->min, c->max, NULL);
    case SKIFF_CLIP_NORM:
        return skiff_layer_clip_by_norm(net, grad, c->norm, NULL);
    default:
        return skiff_layer_elementwise_mul(net, grad, factor, NULL);
    }
}

/* The factor by which all gradients are multiplied; NULL if nothing is clipped. */
static struct skiff_var *global_factor(struct skiff_net *net, const struct skiff_clip *c,
                                       const struct param_grad *pairs, int n)
{
    struct skiff_var **squares = arena_alloc(&net->arena, (size_t)(n + 1) * sizeof *squares);
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!wants(c, pairs[i].param))
            continue;
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        squares[count++] = sum_of_squares(net, pairs[i].grad);
        role_pop(role);
    }
    if (!count || net_failed(net))
        return NULL;
    struct role_guard role = pair_role(net, pairs[n - 1].param, pairs[n - 1].grad);
    struct skiff_var *norm = norm_of(net, squares, count);
    struct skiff_var *factor = scale_factor(net, max_norm(net, c, pairs[0].grad->dtype), norm);
    role_pop(role);
    return factor;
}

void clip_apply(struct skiff_net *net, const struct skiff_clip *clip, struct param_grad *pairs,
                int n)
{
    struct str_map fresh;
    struct skiff_var *factor = NULL;
    str_map_init(&fresh);
    skiff_net_push_scope(net, "gradient_clip");
    if (clip->kind == SKIFF_CLIP_GLOBAL_NORM)
        factor = global_factor(net, clip, pairs, n);
    bool any = clip->kind != SKIFF_CLIP_GLOBAL_NORM || factor;
    for (int i = 0; any && i < n && !net_failed(net); i++) {
        if (!wants(clip, pairs[i].param))
            continue;
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        struct skiff_var *grad = clip_one(net, clip, pairs[i].grad, factor);
        role_pop(role);
        if (!grad)
            break;
        pairs[i].grad = grad;
        str_map_put(&fresh, pairs[i].param->name, grad);
    }
    skiff_net_pop_scope(net);
    correct_role_vars(net, &fresh);
    str_map_deinit(&fresh);
}

/* ---- set_gradient_clip: a clip per parameter ---- */

struct clip_group {
    const struct skiff_clip *clip;
    struct skiff_var *limit, **squares, *factor;
    int n;
};

static const struct skiff_clip *clip_of(const struct skiff_var *param)
{
    return param->param ? param->param->gradient_clip : NULL;
}

static const char *group_name(const struct skiff_clip *c)
{
    return c->group ? c->group : "default_group";
}

static void join_group(struct skiff_net *net, struct str_map *groups, const struct skiff_clip *c,
                       struct skiff_var *grad, int max)
{
    struct clip_group *g = str_map_get(groups, group_name(c));
    if (!g) {
        g = arena_alloc(&net->arena, sizeof *g);
        g->clip = c;
        g->squares = arena_alloc(&net->arena, (size_t)max * sizeof *g->squares);
        g->limit = max_norm(net, c, grad->dtype);
        str_map_put(groups, group_name(c), g);
    } else if (g->clip->norm != c->norm) {
        net_fail(net, SKIFF_INVALID,
                 "gradient clip: the parameters of group %s have the norms %g and %g",
                 group_name(c), g->clip->norm, c->norm);
    }
    g->squares[g->n++] = sum_of_squares(net, grad);
}

static struct skiff_var *group_factor(struct skiff_net *net, struct clip_group *g)
{
    if (!g->factor)
        g->factor = scale_factor(net, g->limit, norm_of(net, g->squares, g->n));
    return g->factor;
}

/* Clip of the last parameter is used for making the ops of all, as in Fluid. */
void clip_apply_per_param(struct skiff_net *net, struct param_grad *pairs, int n)
{
    struct str_map groups, fresh;
    const struct skiff_clip *clip = NULL;
    bool all = true;
    str_map_init(&groups);
    str_map_init(&fresh);
    for (int i = 0; i < n && all && !net_failed(net); i++) {
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        skiff_net_push_scope(net, "gradient_clip_@CLIP");
        clip = clip_of(pairs[i].param);
        all = clip != NULL;
        if (clip && clip->kind == SKIFF_CLIP_GLOBAL_NORM)
            join_group(net, &groups, clip, pairs[i].grad, n);
        skiff_net_pop_scope(net);
        role_pop(role);
    }
    for (int i = 0; i < n && all && !net_failed(net); i++) {
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        skiff_net_push_scope(net, "graident_clip_@CLIP"); /* Fluid's spelling */
        struct clip_group *g = str_map_get(&groups, group_name(clip));
        struct skiff_var *factor = g ? group_factor(net, g) : NULL;
        struct skiff_var *grad = clip_one(net, clip, pairs[i].grad, factor);
        skiff_net_pop_scope(net);
        role_pop(role);
        if (!grad)
            break;
        pairs[i].grad = grad;
        str_map_put(&fresh, pairs[i].param->name, grad);
    }
    correct_role_vars(net, &fresh);
    str_map_deinit(&groups);
    str_map_deinit(&fresh);
}

void skiff_net_set_gradient_clip(struct skiff_net *net, const struct skiff_clip *clip,
                                 const char *const *params, int n)
{
    struct skiff_program *p = net->frame->main;
    struct skiff_block *b = program_root(p);
    const struct skiff_clip *copy = arena_memdup(&p->arena, clip, sizeof *clip);
    for (size_t i = 0; !params && i < b->vars.count; i++) {
        struct skiff_var *v = b->vars.entries[i].value;
        if (v->param)
            v->param->gradient_clip = copy;
    }
    for (int i = 0; params && i < n; i++) {
        struct skiff_var *v = block_own_var(b, params[i]);
        if (!v || !v->param) {
            net_fail(net, SKIFF_NOT_FOUND, "set_gradient_clip: there is no parameter %s",
                     params[i]);
            return;
        }
        v->param->gradient_clip = copy;
    }
}
