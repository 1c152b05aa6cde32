/* Learning-rate schedules: ops with the role LRSched that compute the rate from a step counter.
 *
 * The schedule is part of the program and not a number that somebody sets, so that it is saved,
 * resumed and, in a job, run by the servers. The counter is incremented by the first op of the
 * block, before anything reads it. */
#include <math.h>

#include "layers/helper.h"

static struct role_guard schedule_role(struct skiff_net *net)
{
    return role_push(net->frame->main, ROLE_LRSCHED, NULL, 0);
}

struct skiff_var *skiff_layer_autoincreased_step_counter(struct skiff_net *net, const char *name,
                                                         int64_t begin, int64_t step)
{
    if (net_failed(net))
        return NULL;
    layer_begin(net, "global_step_counter", NULL);
    struct skiff_block *b = program_root(net->frame->main);
    struct skiff_var *counter = block_own_var(b, name ? name : "@STEP_COUNTER@");
    if (counter)
        return counter;
    struct shape one = SHAPE(1);
    counter = net_global_var(net, name ? name : "@STEP_COUNTER@", DTYPE_INT64, &one, true);
    struct skiff_initializer init = skiff_init_constant((double)(begin - 1));
    init.force_cpu = true;
    net_init_var(net, counter, &init);
    net_put_op(net, b, 0, "increment",
               PARTS(P_IN("X", counter), P_OUT("Out", counter), P_FLOAT("step", (double)step)));
    if (net_failed(net))
        return NULL;
    counter->stop_gradient = true;
    return counter;
}

static struct skiff_var *decay_step(struct skiff_net *net, int begin)
{
    return skiff_layer_cast(
        net, skiff_layer_autoincreased_step_counter(net, "@LR_DECAY_COUNTER@", begin, 1),
        "float32");
}

struct skiff_var *skiff_lr_noam(struct skiff_net *net, double d_model, double warmup_steps,
                                double learning_rate)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *step = decay_step(net, 1);
    struct skiff_var *a = skiff_var_op_scalar(net, SKIFF_POW, step, -0.5);
    struct skiff_var *b = skiff_scalar_op_var(net, SKIFF_MUL, pow(warmup_steps, -1.5), step);
    struct skiff_var *lr = skiff_scalar_op_var(net, SKIFF_MUL, learning_rate * pow(d_model, -0.5),
                                               skiff_elementwise(net, min, a, b));
    role_pop(role);
    return lr;
}

/* step / decay_steps, cut down to whole numbers if staircase is set */
static struct skiff_var *decay_ratio(struct skiff_net *net, double decay_steps, bool staircase)
{
    struct skiff_var *r = skiff_var_op_scalar(net, SKIFF_DIV, decay_step(net, 0), decay_steps);
    return staircase ? skiff_layer_floor(net, r) : r;
}

struct skiff_var *skiff_lr_exponential(struct skiff_net *net, double learning_rate,
                                       double decay_steps, double decay_rate, bool staircase)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *ratio = decay_ratio(net, decay_steps, staircase);
    struct skiff_var *lr = skiff_scalar_op_var(
        net, SKIFF_MUL, learning_rate, skiff_scalar_op_var(net, SKIFF_POW, decay_rate, ratio));
    role_pop(role);
    return lr;
}

struct skiff_var *skiff_lr_natural_exp(struct skiff_net *net, double learning_rate,
                                       double decay_steps, double decay_rate, bool staircase)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *ratio = decay_ratio(net, decay_steps, staircase);
    struct skiff_var *x = skiff_scalar_op_var(net, SKIFF_MUL, -1 * decay_rate, ratio);
    struct skiff_var *lr =
        skiff_scalar_op_var(net, SKIFF_MUL, learning_rate, skiff_layer_exp(net, x));
    role_pop(role);
    return lr;
}

struct skiff_var *skiff_lr_inverse_time(struct skiff_net *net, double learning_rate,
                                        double decay_steps, double decay_rate, bool staircase)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *ratio = decay_ratio(net, decay_steps, staircase);
    struct skiff_var *x = skiff_scalar_op_var(net, SKIFF_MUL, decay_rate, ratio);
    x = skiff_scalar_op_var(net, SKIFF_ADD, 1, x);
    struct skiff_var *lr = skiff_scalar_op_var(net, SKIFF_DIV, learning_rate, x);
    role_pop(role);
    return lr;
}

/* 1 at step 0, where ceil(step / decay_steps) would be 0 */
static struct skiff_var *polynomial_cycles(struct skiff_net *net, struct skiff_var *step,
                                           double decay_steps)
{
    struct skiff_var *r =
        skiff_layer_ceil(net, skiff_var_op_scalar(net, SKIFF_DIV, step, decay_steps));
    struct skiff_var *zero = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 0.0);
    struct skiff_var *one = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 1.0);
    struct skiff_switch *s = skiff_switch_begin(net);
    skiff_switch_case(s, skiff_var_op(net, SKIFF_EQ, step, zero));
    skiff_layer_assign(net, one, r);
    skiff_switch_end(s);
    return r;
}

struct skiff_var *skiff_lr_polynomial(struct skiff_net *net, double learning_rate,
                                      double decay_steps, double end_learning_rate, double power,
                                      bool cycle)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *step = decay_step(net, 0), *ratio;
    if (cycle) {
        struct skiff_var *cycles = polynomial_cycles(net, step, decay_steps);
        ratio = skiff_var_op(net, SKIFF_DIV, step,
                             skiff_scalar_op_var(net, SKIFF_MUL, decay_steps, cycles));
    } else {
        struct skiff_var *last = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", decay_steps);
        ratio = skiff_var_op_scalar(net, SKIFF_DIV, skiff_elementwise(net, min, step, last),
                                    decay_steps);
    }
    struct skiff_var *x = skiff_scalar_op_var(net, SKIFF_SUB, 1, ratio);
    x = skiff_var_op_scalar(net, SKIFF_POW, x, power);
    x = skiff_scalar_op_var(net, SKIFF_MUL, learning_rate - end_learning_rate, x);
    x = skiff_var_op_scalar(net, SKIFF_ADD, x, end_learning_rate);
    role_pop(role);
    return x;
}

struct skiff_var *skiff_lr_piecewise(struct skiff_net *net, int nboundaries,
                                     const double *boundaries, const double *values)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *step = decay_step(net, 0);
    struct skiff_var *lr = skiff_create_global_var(net, SKIFF_DIMS(1), 0.0, .dtype = "float32",
                                                   .persistable = true, .name = "learning_rate");
    struct skiff_switch *s = skiff_switch_begin(net);
    for (int i = 0; i < nboundaries; i++) {
        struct skiff_var *limit =
            skiff_fill_constant(net, SKIFF_DIMS(1), "float32", boundaries[i], .force_cpu = true);
        struct skiff_var *value = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", values[i]);
        skiff_switch_case(s, skiff_var_op(net, SKIFF_LT, step, limit));
        skiff_layer_assign(net, value, lr);
        skiff_switch_end(s);
    }
    struct skiff_var *last =
        skiff_fill_constant(net, SKIFF_DIMS(1), "float32", values[nboundaries]);
    skiff_switch_default(s);
    skiff_layer_assign(net, last, lr);
    skiff_switch_end(s);
    role_pop(role);
    return net_failed(net) ? NULL : lr;
}

struct skiff_var *skiff_lr_cosine(struct skiff_net *net, double learning_rate,
                                  double step_each_epoch, double epochs)
{
    struct role_guard role = schedule_role(net);
    struct skiff_var *epoch = skiff_layer_floor(
        net, skiff_var_op_scalar(net, SKIFF_DIV, decay_step(net, 0), step_each_epoch));
    struct skiff_var *x = skiff_var_op_scalar(net, SKIFF_MUL, epoch, M_PI);
    x = skiff_layer_cos(net, skiff_var_op_scalar(net, SKIFF_DIV, x, epochs));
    x = skiff_var_op_scalar(net, SKIFF_ADD, x, 1);
    x = skiff_scalar_op_var(net, SKIFF_MUL, learning_rate * 0.5, x);
    role_pop(role);
    return x;
}

struct skiff_var *skiff_lr_linear_warmup(struct skiff_net *net, struct skiff_var *rate,
                                         double learning_rate, double warmup_steps, double start_lr,
                                         double end_lr)
{
    struct role_guard role = schedule_role(net);
    const char *dtype = rate ? dtype_name(rate->dtype) : "float32";
    struct skiff_var *lr =
        skiff_create_global_var(net, SKIFF_DIMS(1), 0.0, .dtype = dtype, .persistable = true,
                                .name = "learning_rate_warmup");
    struct skiff_var *step = decay_step(net, 0);
    struct skiff_switch *s = skiff_switch_begin(net);
    skiff_switch_case(s, skiff_var_op_scalar(net, SKIFF_LT, step, warmup_steps));
    struct skiff_var *x = skiff_var_op_scalar(net, SKIFF_DIV, step, warmup_steps);
    x = skiff_scalar_op_var(net, SKIFF_MUL, end_lr - start_lr, x);
    x = skiff_scalar_op_var(net, SKIFF_ADD, start_lr, x);
    skiff_layer_assign(net, x, lr);
    skiff_switch_end(s);
    skiff_switch_default(s);
    if (!rate)
        rate = skiff_fill_constant(net, SKIFF_DIMS(1), dtype, learning_rate);
    skiff_layer_assign(net, rate, lr);
    skiff_switch_end(s);
    role_pop(role);
    return net_failed(net) ? NULL : lr;
}
