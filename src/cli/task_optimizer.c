/* hyper_parameters.optimizer to an optimizer. */
#include <stdio.h>
#include <strings.h>

#include "cli/task.h"

#define KEY "hyper_parameters.optimizer."

/* PaddleRec's class names and the types of optimizer.h, at the same places. */
static const char *const classes[] = {"SGD",  "Momentum",       "LarsMomentum", "Adagrad",
                                      "Adam", "Adamax",         "Adadelta",     "RMSProp",
                                      "Ftrl", "DecayedAdagrad", "Lamb",         NULL};
static const char *const types[] = {"sgd",  "momentum",        "lars_momentum", "adagrad",
                                    "adam", "adamax",          "adadelta",      "rmsprop",
                                    "ftrl", "decayed_adagrad", "lamb"};
enum { CLASS_MOMENTUM = 1, CLASS_LARS = 2, CLASS_ADAM = 4 };

/* 0 in the options means the default; what the user sets to 0 is SKIFF_ZERO. */
static double number(struct task *j, const char *key, double fallback)
{
    if (!config_has(j->config, key))
        return fallback;
    double v = config_real(j->config, key, fallback);
    return v == 0.0 ? SKIFF_ZERO : v;
}

static void read_numbers(struct task *j, struct skiff_optimizer_options *o)
{
    const struct {
        const char *key;
        double *at;
    } numbers[] = {
        {KEY "momentum", &o->momentum},
        {KEY "beta1", &o->beta1},
        {KEY "beta2", &o->beta2},
        {KEY "epsilon", &o->epsilon},
        {KEY "rho", &o->rho},
        {KEY "decay", &o->decay},
        {KEY "l1", &o->l1},
        {KEY "l2", &o->l2},
        {KEY "lr_power", &o->lr_power},
        {KEY "lars_coeff", &o->lars_coeff},
        {KEY "lamb_weight_decay", &o->lamb_weight_decay},
        {KEY "initial_accumulator_value", &o->initial_accumulator_value},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i].at = number(j, numbers[i].key, *numbers[i].at);
}

/* decay_steps and decay_rate: rate * decay_rate ^ floor(step / decay_steps), as PaddleRec's
 * word2vec has it. */
static void read_rate(struct task *j, struct skiff_optimizer_options *o)
{
    double rate = config_real(j->config, KEY "learning_rate", 0.001);
    double steps = config_real(j->config, KEY "decay_steps", 0.0);
    double factor = config_real(j->config, KEY "decay_rate", 1.0);
    if (rate < 0.0)
        config_refuse(j->config, KEY "learning_rate", "must not be negative, found %g", rate);
    o->learning_rate = rate == 0.0 ? SKIFF_ZERO : rate;
    if (steps > 0.0 && factor != 1.0)
        o->learning_rate_var = skiff_lr_exponential(j->net, rate, steps, factor, true);
}

enum skiff_status task_minimize(struct task *j, struct skiff_error *err)
{
    struct config *c = j->config;
    struct skiff_optimizer_options o = {0};
    int class = config_choice(c, KEY "class", CLASS_ADAM, classes);
    if (class == CLASS_MOMENTUM || class == CLASS_LARS)
        o.momentum = 0.9;
    config_know(c, KEY "strategy");
    read_numbers(j, &o);
    read_rate(j, &o);
    /* PaddleRec's models make Adam lazy unless told otherwise */
    bool lazy = config_bool(c, KEY "adam_lazy_mode", true);
    o.lazy_mode = config_bool(c, KEY "lazy_mode", lazy) && class == CLASS_ADAM;
    o.use_nesterov = config_bool(c, KEY "use_nesterov", false);
    o.centered = config_bool(c, KEY "centered", false);
    double l2 = config_real(c, KEY "l2_decay", 0.0), clip = config_real(c, KEY "clip_norm", 0.0);
    if (l2 != 0.0)
        o.regularization = skiff_l2_decay(l2);
    if (clip != 0.0)
        o.grad_clip = skiff_clip_global_norm(clip);
    TRY(config_check(c, err));
    return skiff_net_minimize(j->net, j->vars.loss, types[class], &o, err);
}
