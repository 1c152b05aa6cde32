/* Update ops: turns a row of rules/optimizer_list.h into ops. The learning rate, a variable per
 * parameter and accumulator, one op per parameter.
 *
 * The order determines names (learning_rate_0 and fc_0.w_0_moment1_0 are drawn from counters), and
 * users' files contain these names, so the order must not change: 1.x draws the accumulators' names
 * before the rate's, 2.x after it. A rate variable supplied by the user belongs to one program; a
 * rate created here is created again for every program that is minimized. */
#include "passes/minimize.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_2x(const struct skiff_net *net)
{
    return net->frame->main->generation == GEN_2X;
}

static double number_at(const struct skiff_optimizer_options *o, size_t field)
{
    return *(const double *)(const void *)((const char *)o + field);
}

static const void *field_at(const struct skiff_optimizer_options *o, size_t field)
{
    return (const char *)o + field;
}

/* ---- settings ---- */

static bool in_range(enum skiff_setting_range range, double v)
{
    return range == SKIFF_RANGE_ANY || (v >= 0 && (range != SKIFF_RANGE_SHARE || v < 1));
}

static const char *range_text(enum skiff_setting_range range)
{
    return range == SKIFF_RANGE_SHARE ? "in [0,1)" : ">= 0";
}

bool optimizer_complete_options(struct skiff_net *net, const struct optimizer_kind *kind,
                                struct skiff_optimizer_options *o)
{
    for (const struct skiff_optimizer_setting *s = kind->info.settings; s->name; s++) {
        double *v = (double *)(void *)((char *)o + s->offset);
        if (s->kind != SKIFF_SETTING_NUMBER || (v == &o->learning_rate && o->learning_rate_var))
            continue;
        if (*v == 0 && isnan(s->preset)) {
            net_fail(net, SKIFF_INVALID, "optimizer %s: %s is needed", kind->info.type, s->name);
            return false;
        }
        *v = opt_float(*v, s->preset);
        if (!in_range(s->range, *v)) {
            net_fail(net, SKIFF_INVALID, "optimizer %s: %s is %g; it must be %s", kind->info.type,
                     s->name, *v, range_text(s->range));
            return false;
        }
    }
    return true;
}

/* ---- learning rate ---- */

/* A float64 variable is filled with the number itself, not with the float32 of the op's `value`,
 * but for the powers of eager adam (OPTIMIZER_ROUNDED_POWERS). */
static void start_exactly(struct skiff_optimizer *opt, const struct skiff_var *v, double value)
{
    struct skiff_program *startup = opt->net->frame->startup;
    struct skiff_block *b = program_root(startup);
    bool rounded = opt->kind->flags & OPTIMIZER_ROUNDED_POWERS && opt->own_names.name;
    char text[40];
    if (!v || v->dtype != DTYPE_FP64 || rounded)
        return;
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    for (int i = 0; i < b->nops; i++)
        if (op_is(b->ops[i], CLASS_CONSTANT) && op_writes(b->ops[i], v->name))
            op_set_string(startup, b->ops[i], "str_value", text);
}

/* 2.x: the rate has no dimension and comes before the accumulators. */
void optimizer_make_rate(struct skiff_optimizer *opt)
{
    struct skiff_net *net = opt->net;
    if (opt->rate && opt->rate_program == net->frame->main)
        return;
    if (opt->o.learning_rate_var) {
        net_fail(net, SKIFF_STATE, "optimizer %s: its learning rate %s belongs to another program",
                 opt->kind->info.type, opt->o.learning_rate_var->name);
        return;
    }
    struct skiff_dims one = SKIFF_DIMS(1), none = {0};
    opt->rate = skiff_create_global_var(net, is_2x(net) ? none : one, opt->o.learning_rate,
                                        .dtype = dtype_name(opt->rate_dtype), .persistable = true,
                                        .name = names_next(net->names, "learning_rate"));
    start_exactly(opt, opt->rate,
                  number_at(&opt->o, offsetof(struct skiff_optimizer_options, learning_rate)));
    opt->rate_program = net->frame->main;
}

/* The parameter's own learning rate and the optimizer's lr_ratio. */
static float rate_factor(const struct skiff_optimizer *opt, const struct skiff_var *param)
{
    float factor = param->param ? param->param->learning_rate : 1.0f;
    for (const struct skiff_optimizer_setting *s = opt->kind->info.settings; s->name; s++) {
        const struct skiff_param_factor *f = field_at(&opt->o, s->offset);
        if (s->kind == SKIFF_SETTING_FACTOR && f->call)
            factor *= (float)f->call(param, f->user);
    }
    return factor;
}

struct skiff_var *optimizer_param_rate(struct skiff_optimizer *opt, const struct skiff_var *param)
{
    struct skiff_net *net = opt->net;
    float factor = rate_factor(opt, param);
    if (factor == 1.0f)
        return opt->rate;
    struct role_guard role = role_push(net->frame->main, ROLE_LRSCHED | ROLE_OPTIMIZE, NULL, 0);
    skiff_net_push_scope(net, "scale_with_param_lr");
    struct skiff_var *rate = skiff_var_op_scalar(net, SKIFF_MUL, opt->rate, factor);
    skiff_net_pop_scope(net);
    role_pop(role);
    return rate;
}

/* ---- accumulators ---- */

static const char *accumulator_key(struct skiff_optimizer *opt, const struct skiff_var *param,
                                   const char *name)
{
    return arena_printf(&opt->net->arena, "%s\n%s", param->name, name);
}

static struct skiff_var *accumulator_of(struct skiff_optimizer *opt, const struct skiff_var *param,
                                        const struct optimizer_accumulator *a)
{
    return str_map_get(&opt->accumulators, accumulator_key(opt, param, a->name));
}

static void make_accumulator(struct skiff_optimizer *opt, const struct skiff_var *param,
                             const struct optimizer_accumulator *a)
{
    struct skiff_net *net = opt->net;
    if (net_failed(net))
        return;
    if (accumulator_of(opt, param, a)) {
        if (opt->own_names.name) /* a parameter that is listed twice */
            return;
        net_fail(net, SKIFF_STATE,
                 "optimizer %s: accumulator %s exists for parameter %s; minimize was called "
                 "before with this optimizer",
                 opt->kind->info.type, a->name, param->name);
        return;
    }
    const char *stem =
        opt->o.name ? arena_printf(&net->arena, "%s_%s_%s", param->name, opt->o.name, a->name)
                    : arena_printf(&net->arena, "%s_%s", param->name, a->name);
    bool there = false;
    const char *name = opt->own_names.name
                           ? opt->own_names.name(opt->own_names.user, param, a, stem, &there)
                           : names_next(net->names, stem);
    if (!name)
        return;
    struct shape one = SHAPE(1);
    struct skiff_var *v =
        net_global_var(net, name, param->dtype, a->scalar ? &one : &param->shape, true);
    if (!a->scalar)
        v->kind = param->kind;
    double start = a->start == OPTIMIZER_NO_FIELD ? 0 : number_at(&opt->o, a->start);
    struct skiff_initializer init = skiff_init_constant(start);
    if (!there)
        net_init_var(net, v, &init);
    start_exactly(opt, v, start);
    str_map_put(&opt->accumulators, accumulator_key(opt, param, a->name), v);
}

/* beta powers live on the CPU, as their initializer op says (op_device) */
static void mark_cpu(struct skiff_optimizer *opt, const struct skiff_var *param,
                     const struct optimizer_accumulator *a)
{
    struct skiff_program *startup = opt->net->frame->startup;
    struct skiff_block *b = program_root(startup);
    const struct skiff_var *v = accumulator_of(opt, param, a);
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

enum { MAX_PARTS = 40, MAX_VARS = 12, MAX_NUMBERS = 2 };

/* An op under construction: its parts, and the arrays that they point to. */
struct update {
    struct part parts[MAX_PARTS];
    struct skiff_var *vars[MAX_VARS];
    double numbers[MAX_NUMBERS]; /* of attributes that are lists */
    int nparts, nvars, nnumbers;
};

static void add_slots(struct update *u, const char *in, const char *out, struct skiff_var *v)
{
    struct skiff_var **cell = &u->vars[u->nvars++];
    *cell = v;
    if (in)
        u->parts[u->nparts++] = (struct part)P_INS(in, 1, cell);
    if (out)
        u->parts[u->nparts++] = (struct part)P_OUTS(out, 1, cell);
}

static bool passes_test(const struct skiff_optimizer_options *o, size_t field,
                        const struct skiff_var *param, bool otherwise)
{
    const struct skiff_param_test *t = field_at(o, field);
    return t->call ? t->call(param, t->user) : otherwise;
}

static void add_attr(struct update *u, const struct op_kind *op, const struct optimizer_attr *a,
                     const struct skiff_optimizer_options *o, const struct skiff_var *param)
{
    struct part *part = &u->parts[u->nparts++];
    if (a->kind == OPTIMIZER_ANSWER) {
        *part = (struct part)P_BOOL(a->name, passes_test(o, a->field, param, true));
    } else if (a->kind == OPTIMIZER_TRUTH) {
        *part = (struct part)P_BOOL(a->name, *(const bool *)field_at(o, a->field));
    } else {
        double v = number_at(o, a->field);
        if (a->unless != OPTIMIZER_NO_FIELD && passes_test(o, a->unless, param, false))
            v = 0;
        bool list = op->attrs[op_kind_attr(op, a->name)].type == ATTR_FLOATS;
        if (list)
            u->numbers[u->nnumbers] = v;
        *part = list ? (struct part)P_FLOATS(a->name, 1, &u->numbers[u->nnumbers++])
                     : (struct part)P_FLOAT(a->name, v);
    }
}

static void add_decay(struct update *u, const struct skiff_optimizer_options *o,
                      const struct skiff_var *param)
{
    const struct skiff_regularizer *r = regularizer_of_param(&o->regularization, param);
    if (r->kind != SKIFF_REG_L2)
        return;
    u->parts[u->nparts++] = (struct part)P_STR("regularization_method", "l2_decay");
    u->parts[u->nparts++] = (struct part)P_FLOAT("regularization_coeff", r->coeff);
}

static void update_op(struct skiff_optimizer *opt, const struct param_grad *pg)
{
    struct skiff_net *net = opt->net;
    const struct optimizer_kind *kind = opt->kind;
    const struct op_kind *op = op_kind_find(kind->info.type, net->frame->main->generation);
    struct update u = {0};
    add_slots(&u, "Param", "ParamOut", pg->param);
    add_slots(&u, "Grad", NULL, pg->grad);
    if (op_kind_slot(op->ins, "LearningRate") >= 0)
        add_slots(&u, "LearningRate", NULL, optimizer_param_rate(opt, pg->param));
    for (const struct optimizer_accumulator *a = kind->accumulators; a->name; a++)
        add_slots(&u, a->in, a->out, accumulator_of(opt, pg->param, a));
    for (const struct optimizer_attr *a = kind->attrs; a->name; a++)
        if (a->field != OPTIMIZER_NO_FIELD)
            add_attr(&u, op, a, &opt->o, pg->param);
    if (kind->flags & OPTIMIZER_DECAY_INSIDE)
        add_decay(&u, &opt->o, pg->param);
    u.parts[u.nparts] = (struct part){.kind = PART_END};
    net_put_op(net, program_root(net->frame->main), -1, kind->info.type, u.parts);
}

/* Powers that the op itself does not advance: power *= beta. */
static void scale_powers(struct skiff_optimizer *opt, const struct param_grad *pg)
{
    struct skiff_net *net = opt->net;
    for (const struct optimizer_accumulator *a = opt->kind->accumulators; a->name; a++) {
        if (!a->scaled_in)
            continue;
        struct role_guard role = pair_role(net, pg->param, pg->grad);
        skiff_net_push_scope(net, a->scaled_in);
        struct skiff_var *power = accumulator_of(opt, pg->param, a);
        layer_op(net, "scale", P_IN("X", power), P_OUT("Out", power),
                 P_FLOAT("scale", number_at(&opt->o, a->start)));
        skiff_net_pop_scope(net);
        role_pop(role);
    }
}

/* Paddle's class takes a unique name: fluid's "AdamOptimizer", 2.x's "Adam". */
static void take_name(struct skiff_optimizer *opt)
{
    const char *class = opt->kind->info.class_name;
    layer_begin(opt->net,
                is_2x(opt->net) ? class : arena_printf(&opt->net->arena, "%sOptimizer", class),
                NULL);
}

void optimizer_update_ops(struct skiff_optimizer *opt, const struct param_grad *pairs, int n)
{
    struct skiff_net *net = opt->net;
    take_name(opt);
    if (is_2x(net))
        optimizer_make_rate(opt);
    for (int i = 0; i < n; i++)
        if (pairs[i].param->param->trainable)
            make_accumulators(opt, pairs[i].param);
    optimizer_make_rate(opt);
    for (int i = 0; i < n && !net_failed(net); i++) {
        struct role_guard role = pair_role(net, pairs[i].param, pairs[i].grad);
        skiff_net_push_scope(net, "optimizer");
        if (pairs[i].param->param->trainable)
            update_op(opt, &pairs[i]);
        skiff_net_pop_scope(net);
        role_pop(role);
    }
    for (int i = 0; i < n && !net_failed(net); i++)
        if (pairs[i].param->param->trainable)
            scale_powers(opt, &pairs[i]);
}
