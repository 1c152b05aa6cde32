/* minimize: backward, then clipping, decay and the update ops of update.c, in Fluid's order.
 *
 * Pairs [param, grad] are sorted by parameter name; a distributed table of 1.x comes first and is
 * updated by plain sgd. The optimizer's row is looked up for the generation of the current program,
 * because the optimizer may have been created for another one. A refused call leaves the program as
 * it was (minimize_test.c). */
#include "passes/minimize.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct role_guard pair_role(struct skiff_net *net, const struct skiff_var *param,
                            const struct skiff_var *grad)
{
    const char **names = arena_alloc(&net->arena, 2 * sizeof *names);
    names[0] = param->name;
    names[1] = grad ? grad->name : "";
    return role_push(net->frame->main, ROLE_OPTIMIZE, names, 2);
}

static const struct optimizer_kind *find_kind(struct skiff_net *net, const char *type)
{
    int generation = net->frame->main->generation;
    const struct optimizer_kind *kind = type ? optimizer_kind_find(type, generation) : NULL;
    if (kind && kind->info.class_name)
        return kind;
    struct buf known = BUF_INIT;
    const struct skiff_optimizer_info *info;
    for (int i = 0; (info = skiff_optimizer_info(i, generation)); i++)
        buf_printf(&known, "%s%s", i ? ", " : "", info->type);
    net_fail(net, SKIFF_NOT_FOUND, "unknown optimizer %s; known in programs of %d.x are %s",
             type ? type : "NULL", generation, known.data);
    buf_deinit(&known);
    return NULL;
}

static void optimizer_detach(void *opt)
{
    str_map_deinit(&((struct skiff_optimizer *)opt)->accumulators);
}

struct skiff_optimizer *skiff_optimizer_create(struct skiff_net *net, const char *type,
                                               const struct skiff_optimizer_options *o)
{
    static const struct skiff_optimizer_options none;
    struct skiff_error err;
    if (net_failed(net))
        return NULL;
    if (o && reserved_check(o->reserved, "skiff_optimizer_options", &err) < 0)
        return net_fail(net, err.code, "%s", err.message);
    const struct optimizer_kind *kind = find_kind(net, type);
    if (!kind)
        return NULL;
    struct skiff_optimizer *opt = arena_alloc(&net->arena, sizeof *opt);
    opt->net = net;
    opt->kind = kind;
    opt->o = o ? *o : none;
    opt->rate_dtype = DTYPE_FP32;
    str_map_init(&opt->accumulators);
    net_at_end(net, optimizer_detach, opt);
    opt->rate = opt->o.learning_rate_var;
    opt->rate_program = net->frame->main;
    return optimizer_complete_options(net, kind, &opt->o) ? opt : NULL;
}

/* 1.x: the table of distributed look-ups is updated by the servers with plain sgd: it gets that op
 * here and leaves the list. */
static int take_out_table(struct skiff_optimizer *opt, struct param_grad *pairs, int n)
{
    struct skiff_net *net = opt->net;
    int at = -1;
    for (int i = 0; i < n; i++)
        if (pairs[i].param->param->is_distributed)
            at = i;
    if (at < 0 || net->frame->main->generation == GEN_2X)
        return n;
    struct param_grad table = pairs[at];
    memmove(pairs + at, pairs + at + 1, (size_t)(n - at - 1) * sizeof *pairs);
    struct role_guard role = pair_role(net, table.param, table.grad);
    skiff_net_push_scope(net, "optimizer");
    optimizer_make_rate(opt);
    net_put_op(net, program_root(net->frame->main), -1, "sgd",
               PARTS(P_IN("Param", table.param), P_IN("Grad", table.grad),
                     P_IN("LearningRate", optimizer_param_rate(opt, table.param)),
                     P_OUT("ParamOut", table.param)));
    skiff_net_pop_scope(net);
    role_pop(role);
    return n - 1;
}

static int by_param_name(const void *a, const void *b)
{
    return strcmp(((const struct param_grad *)a)->param->name,
                  ((const struct param_grad *)b)->param->name);
}

/* The row for the current program's generation; the optimizer may have been created for another
 * one. */
static bool fits_program(struct skiff_optimizer *opt)
{
    const struct optimizer_kind *kind = find_kind(opt->net, opt->kind->info.type);
    opt->kind = kind ? kind : opt->kind;
    return kind != NULL;
}

static void apply_pairs(struct skiff_optimizer *opt, const struct param_grad *given, int n)
{
    if (!fits_program(opt))
        return;
    struct param_grad *pairs = mem_alloc_or_die((size_t)(n + 1) * sizeof *pairs);
    if (n)
        memcpy(pairs, given, (size_t)n * sizeof *pairs);
    qsort(pairs, (size_t)n, sizeof *pairs, by_param_name);
    n = take_out_table(opt, pairs, n);
    if (opt->o.grad_clip.kind)
        clip_apply(opt->net, &opt->o.grad_clip, pairs, n);
    else
        clip_apply_per_param(opt->net, pairs, n);
    regularizer_apply(opt->net, &opt->o.regularization, opt->kind->flags & OPTIMIZER_DECAY_INSIDE,
                      opt->own_names.name != NULL, pairs, n);
    if (!net_failed(opt->net))
        optimizer_update_ops(opt, pairs, n);
    free(pairs);
}

enum skiff_status skiff_optimizer_apply(struct skiff_optimizer *opt,
                                        const struct skiff_param_grad *pairs, int n,
                                        struct skiff_error *err)
{
    if (!opt)
        return error_set(err, SKIFF_INVALID, "the optimizer is NULL: creating it failed");
    struct param_grad *copy = mem_alloc_or_die((size_t)(n + 1) * sizeof *copy);
    for (int i = 0; i < n; i++)
        copy[i] = (struct param_grad){pairs[i].param, pairs[i].grad};
    for (int i = 0; i < n; i++)
        if (!copy[i].param || !copy[i].param->param || !copy[i].grad)
            net_fail(opt->net, SKIFF_INVALID, "apply: pair %d is not a parameter with its gradient",
                     i);
    if (!net_failed(opt->net))
        apply_pairs(opt, copy, n);
    free(copy);
    return skiff_net_check(opt->net, err);
}

/* ---- backward and gradients on a net ---- */

/* Names without gradient: those of the caller and, for an optimizer, frozen parameters. */
static struct backward_options
backward_options(struct skiff_net *net, const struct skiff_minimize_options *o, bool frozen_too)
{
    static const struct skiff_minimize_options none;
    o = o ? o : &none;
    struct skiff_program *p = net->frame->main;
    struct skiff_block *b = program_root(p);
    size_t most = (size_t)o->nno_grad + b->vars.count + 1;
    const char **names = arena_alloc(&net->arena, most * sizeof *names);
    int n = 0;
    net->warning = NULL;
    for (int i = 0; i < o->nno_grad; i++)
        names[n++] = o->no_grad[i];
    for (size_t i = 0; frozen_too && i < b->vars.count; i++) {
        const struct skiff_var *v = b->vars.entries[i].value;
        if (v->param && !v->param->trainable)
            names[n++] = v->name;
    }
    return (struct backward_options){.parameters = o->parameters,
                                     .nparameters = o->nparameters,
                                     .no_grad = names,
                                     .nno_grad = n,
                                     .times = net_next_grad_time(net, p),
                                     .names = net->names,
                                     .warning = &net->warning};
}

const char *skiff_net_warning(const struct skiff_net *net)
{
    return net ? net->warning : NULL;
}

static struct param_grad *net_backward(struct skiff_net *net, struct skiff_var *loss,
                                       const struct skiff_minimize_options *o, bool frozen_too,
                                       int *n)
{
    struct param_grad *pairs = NULL;
    struct skiff_error err = {0};
    char text[160];
    *n = 0;
    if (!net_has(net, "backward", "loss", loss))
        return NULL;
    bool scalar = loss->shape.ndim == 0 && net->frame->main->generation == GEN_2X;
    if (!scalar && (loss->shape.ndim != 1 || loss->shape.dims[0] != 1))
        return net_fail(net, SKIFF_SHAPE,
                        "loss %s has the shape %s; a loss must have the shape [1] (use mean or "
                        "reduce_sum)",
                        loss->name, shape_text(&loss->shape, text));
    if (net->frame->block->idx != 0)
        return net_fail(net, SKIFF_UNSUPPORTED, "backward inside a sub-block");
    struct backward_options options = backward_options(net, o, frozen_too);
    if (append_backward(net->frame->main, loss, &options, &pairs, n, &err) < 0)
        return net_fail_with(net, &err);
    return pairs;
}

static enum skiff_status give_pairs(struct skiff_net *net, const struct param_grad *pairs, int n,
                                    struct skiff_param_grad **out, int *nout,
                                    struct skiff_error *err)
{
    if (pairs) {
        struct skiff_param_grad *copy = arena_alloc(&net->arena, (size_t)(n + 1) * sizeof *copy);
        for (int i = 0; i < n; i++)
            copy[i] = (struct skiff_param_grad){pairs[i].param, pairs[i].grad};
        *out = copy;
        *nout = n;
    }
    return skiff_net_check(net, err);
}

enum skiff_status skiff_net_backward(struct skiff_net *net, struct skiff_var *loss,
                                     const struct skiff_minimize_options *o,
                                     struct skiff_param_grad **out, int *nout,
                                     struct skiff_error *err)
{
    int n;
    struct param_grad *pairs = net_backward(net, loss, o, false, &n);
    return give_pairs(net, pairs, n, out, nout, err);
}

enum skiff_status skiff_optimizer_backward(struct skiff_optimizer *opt, struct skiff_var *loss,
                                           const struct skiff_minimize_options *o,
                                           struct skiff_param_grad **out, int *nout,
                                           struct skiff_error *err)
{
    int n;
    struct param_grad *pairs = net_backward(opt->net, loss, o, true, &n);
    if (pairs)
        opt->rate_dtype = loss->dtype;
    return give_pairs(opt->net, pairs, n, out, nout, err);
}

enum skiff_status skiff_net_gradients(struct skiff_net *net, struct skiff_vars targets,
                                      struct skiff_vars inputs,
                                      struct skiff_var *const *target_grads,
                                      const struct skiff_minimize_options *o,
                                      struct skiff_var **out, struct skiff_error *err)
{
    struct skiff_error own = {0};
    if (!net_has_all(net, "gradients", "targets", targets.n, targets.v) ||
        !net_has_all(net, "gradients", "inputs", inputs.n, inputs.v))
        return skiff_net_check(net, err);
    struct backward_options options = backward_options(net, o, false);
    if (append_gradients(net->frame->main, targets.v, targets.n, target_grads, inputs.v, inputs.n,
                         &options, out, &own) < 0)
        net_fail_with(net, &own);
    return skiff_net_check(net, err);
}

struct skiff_var *skiff_optimizer_rate(const struct skiff_optimizer *opt)
{
    return opt->rate_program == opt->net->frame->main ? opt->rate : NULL;
}

const char *skiff_optimizer_accumulator(const struct skiff_optimizer *opt, int i)
{
    bool there = i >= 0 && (size_t)i < opt->accumulators.count;
    return there ? ((const struct skiff_var *)opt->accumulators.entries[i].value)->name : NULL;
}

enum skiff_status skiff_optimizer_minimize(struct skiff_optimizer *opt, struct skiff_var *loss,
                                           const struct skiff_minimize_options *o,
                                           struct skiff_error *err)
{
    if (!opt)
        return error_set(err, SKIFF_INVALID, "the optimizer is NULL: creating it failed");
    int n;
    struct param_grad *pairs = net_backward(opt->net, loss, o, true, &n);
    if (pairs) {
        opt->rate_dtype = loss->dtype;
        apply_pairs(opt, pairs, n);
    }
    TRY(skiff_net_check(opt->net, err));
    enum skiff_status status = program_verify(opt->net->frame->main, err);
    return status < 0 ? error_prefix(err, status, "after minimize") : status;
}

enum skiff_status skiff_net_minimize(struct skiff_net *net, struct skiff_var *loss,
                                     const char *type, const struct skiff_optimizer_options *o,
                                     struct skiff_error *err)
{
    struct skiff_optimizer *opt = skiff_optimizer_create(net, type, o);
    return opt ? skiff_optimizer_minimize(opt, loss, NULL, err) : skiff_net_check(net, err);
}
