/* minimize: backward, then clipping, decay, accumulators, learning rate and update ops, in Fluid's
 * order: pairs sorted by parameter name; a distributed table first and by plain sgd.
 *
 * The order decides names (learning_rate_0, fc_0.w_0_moment1_0 are drawn from counters) and with
 * them what is in people's files, so it is kept even where another one would do: 1.x draws the
 * accumulators' names before the rate's, 2.x after it. A rate that is the user's own variable
 * belongs to one program; one that we make is made again for every program that is minimized. */
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
    struct buf known = BUF_INIT;
    for (const struct optimizer_kind *k = optimizer_kinds; k->type; k++)
        if (type && !strcmp(k->type, type)) {
            buf_deinit(&known);
            return k;
        } else {
            buf_printf(&known, "%s%s", known.len ? ", " : "", k->type);
        }
    net_fail(net, SKIFF_NOT_FOUND, "unknown optimizer %s; known are %s", type ? type : "NULL",
             known.data);
    buf_deinit(&known);
    return NULL;
}

static void optimizer_release(void *opt)
{
    str_map_deinit(&((struct skiff_optimizer *)opt)->accumulators);
}

struct skiff_optimizer *skiff_optimizer_create(struct skiff_net *net, const char *type,
                                               const struct skiff_optimizer_options *o)
{
    static const struct skiff_optimizer_options none;
    if (net_failed(net))
        return NULL;
    const struct optimizer_kind *kind = find_kind(net, type);
    if (!kind)
        return NULL;
    struct skiff_optimizer *opt = arena_alloc(&net->arena, sizeof *opt);
    opt->net = net;
    opt->kind = kind;
    opt->o = o ? *o : none;
    opt->rate_dtype = DTYPE_FP32;
    str_map_init(&opt->accumulators);
    net_at_end(net, optimizer_release, opt);
    const char *missing = kind->missing ? kind->missing(&opt->o) : NULL;
    if (missing)
        return net_fail(net, SKIFF_INVALID, "optimizer %s: %s is needed", type, missing);
    bool zero_rate = opt->o.learning_rate == (double)SKIFF_ZERO;
    if (kind->defaults)
        kind->defaults(&opt->o);
    opt->rate = opt->o.learning_rate_var;
    opt->rate_program = net->frame->main;
    if (!opt->rate && opt->o.learning_rate == 0 && !zero_rate)
        return net_fail(net, SKIFF_INVALID, "optimizer %s: learning_rate is needed", type);
    opt->o.learning_rate = opt_float(opt->o.learning_rate, 0);
    return opt;
}

/* ---- learning rate and accumulators ---- */

/* 2.x: the rate has no dimension and comes before the accumulators. */
static bool is_2x(const struct skiff_net *net)
{
    return net->frame->main->generation == GEN_2X;
}

static void make_rate(struct skiff_optimizer *opt)
{
    struct skiff_net *net = opt->net;
    if (opt->rate && opt->rate_program == net->frame->main)
        return;
    if (opt->o.learning_rate_var) {
        net_fail(net, SKIFF_STATE, "optimizer %s: its learning rate %s belongs to another program",
                 opt->kind->type, opt->o.learning_rate_var->name);
        return;
    }
    struct skiff_dims one = SKIFF_DIMS(1), none = {0};
    opt->rate = skiff_create_global_var(net, is_2x(net) ? none : one, opt->o.learning_rate,
                                        .dtype = dtype_name(opt->rate_dtype), .persistable = true,
                                        .name = names_next(net->names, "learning_rate"));
    opt->rate_program = net->frame->main;
}

/* The rate of one parameter: scaled when its attribute says so. */
static struct skiff_var *param_rate(struct skiff_optimizer *opt, const struct skiff_var *param)
{
    struct skiff_net *net = opt->net;
    float factor = param->param ? param->param->learning_rate : 1.0f;
    if (factor == 1.0f)
        return opt->rate;
    struct role_guard role = role_push(net->frame->main, ROLE_LRSCHED | ROLE_OPTIMIZE, NULL, 0);
    skiff_net_push_scope(net, "scale_with_param_lr");
    struct skiff_var *rate = skiff_var_op_scalar(net, SKIFF_MUL, opt->rate, factor);
    skiff_net_pop_scope(net);
    role_pop(role);
    return rate;
}

static const char *accumulator_key(struct skiff_optimizer *opt, const struct skiff_var *param,
                                   const char *name)
{
    return arena_printf(&opt->net->arena, "%s\n%s", param->name, name);
}

struct skiff_var *optimizer_accumulator(struct skiff_optimizer *opt, const struct skiff_var *param,
                                        const char *name)
{
    return str_map_get(&opt->accumulators, accumulator_key(opt, param, name));
}

static void make_accumulator(struct skiff_optimizer *opt, const struct skiff_var *param,
                             const struct optimizer_accumulator *a)
{
    struct skiff_net *net = opt->net;
    if (net_failed(net))
        return;
    if (optimizer_accumulator(opt, param, a->name)) {
        net_fail(net, SKIFF_STATE,
                 "optimizer %s: accumulator %s exists for parameter %s; minimize was called "
                 "before with this optimizer",
                 opt->kind->type, a->name, param->name);
        return;
    }
    const char *stem =
        opt->o.name ? arena_printf(&net->arena, "%s_%s_%s", param->name, opt->o.name, a->name)
                    : arena_printf(&net->arena, "%s_%s", param->name, a->name);
    struct shape one = SHAPE(1);
    struct skiff_var *v = net_global_var(net, names_next(net->names, stem), param->dtype,
                                         a->scalar ? &one : &param->shape, true);
    if (!a->scalar)
        v->kind = param->kind;
    struct skiff_initializer init = skiff_init_constant(a->fill ? a->fill(&opt->o) : 0.0);
    net_init_var(net, v, &init);
    str_map_put(&opt->accumulators, accumulator_key(opt, param, a->name), v);
}

/* beta powers live on the CPU, as their initializer op says (op_device) */
static void mark_cpu(struct skiff_optimizer *opt, const struct skiff_var *param,
                     const struct optimizer_accumulator *a)
{
    struct skiff_program *startup = opt->net->frame->startup;
    struct skiff_block *b = program_root(startup);
    const struct skiff_var *v = optimizer_accumulator(opt, param, a->name);
    if (v && b->nops && op_writes(b->ops[0], v->name))
        op_set_string(startup, b->ops[0], "op_device", "cpu");
}

static void make_accumulators(struct skiff_optimizer *opt, const struct skiff_var *param)
{
    for (const struct optimizer_accumulator *a = opt->kind->accumulators; a->name; a++) {
        make_accumulator(opt, param, a);
        if (a->on_cpu)
            mark_cpu(opt, param, a);
    }
}

/* ---- update ops ---- */

static void update_op(struct skiff_optimizer *opt, const struct param_grad *pg)
{
    struct skiff_net *net = opt->net;
    struct part parts[24];
    struct skiff_var *vars[12]; /* one cell per slot, for the parts to point to */
    int n = 0, c = 0;
    vars[c] = pg->param;
    parts[n++] = (struct part)P_INS("Param", 1, &vars[c]);
    parts[n++] = (struct part)P_OUTS("ParamOut", 1, &vars[c]);
    vars[++c] = pg->grad;
    parts[n++] = (struct part)P_INS("Grad", 1, &vars[c]);
    if (!opt->kind->no_rate || is_2x(net)) {
        vars[++c] = param_rate(opt, pg->param);
        parts[n++] = (struct part)P_INS("LearningRate", 1, &vars[c]);
    }
    for (const struct optimizer_accumulator *a = opt->kind->accumulators; a->name; a++) {
        vars[++c] = optimizer_accumulator(opt, pg->param, a->name);
        parts[n++] = (struct part)P_INS(a->in, 1, &vars[c]);
        if (a->out)
            parts[n++] = (struct part)P_OUTS(a->out, 1, &vars[c]);
    }
    if (opt->kind->attrs)
        n += opt->kind->attrs(&opt->o, pg->param, parts + n);
    parts[n] = (struct part){.kind = PART_END};
    net_put_op(net, program_root(net->frame->main), -1, opt->kind->type, parts);
}

static void update_ops(struct skiff_optimizer *opt, const struct param_grad *pairs, int n)
{
    struct skiff_net *net = opt->net;
    layer_begin(net, opt->kind->class, NULL);
    if (is_2x(net))
        make_rate(opt);
    for (int i = 0; i < n; i++)
        if (pairs[i].param->param->trainable)
            make_accumulators(opt, pairs[i].param);
    make_rate(opt);
    for (int i = 0; i < n && !net_failed(net); i++) {
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        skiff_net_push_scope(net, "optimizer");
        if (pairs[i].param->param->trainable)
            update_op(opt, &pairs[i]);
        skiff_net_pop_scope(net);
        role_pop(role);
    }
    for (int i = 0; i < n && opt->kind->finish && !net_failed(net); i++)
        if (pairs[i].param->param->trainable)
            opt->kind->finish(opt, &pairs[i]);
}

/* 1.x: the table of distributed look-ups is updated by the servers' plain sgd: it gets that op and
 * leaves the list. */
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
    make_rate(opt);
    net_put_op(net, program_root(net->frame->main), -1, "sgd",
               PARTS(P_IN("Param", table.param), P_IN("Grad", table.grad),
                     P_IN("LearningRate", param_rate(opt, table.param)),
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

static void apply_pairs(struct skiff_optimizer *opt, const struct param_grad *given, int n)
{
    struct param_grad *pairs = mem_must((size_t)(n + 1) * sizeof *pairs);
    if (n)
        memcpy(pairs, given, (size_t)n * sizeof *pairs);
    qsort(pairs, (size_t)n, sizeof *pairs, by_param_name);
    n = take_out_table(opt, pairs, n);
    if (opt->o.grad_clip.kind)
        clip_apply(opt->net, &opt->o.grad_clip, pairs, n);
    else
        clip_apply_per_param(opt->net, pairs, n);
    regularizer_apply(opt->net, &opt->o.regularization, pairs, n);
    if (!net_failed(opt->net))
        update_ops(opt, pairs, n);
    free(pairs);
}

enum skiff_status skiff_optimizer_apply(struct skiff_optimizer *opt,
                                        const struct skiff_param_grad *pairs, int n,
                                        struct skiff_error *err)
{
    if (!opt)
        return error_set(err, SKIFF_INVALID, "the optimizer is NULL: creating it failed");
    struct param_grad *copy = mem_must((size_t)(n + 1) * sizeof *copy);
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

/* Names without gradient: what the caller says and, for an optimizer, frozen parameters. */
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
                                     .names = net->names};
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
