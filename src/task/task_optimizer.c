/* hyper_parameters.optimizer to an optimizer: classes and keys come from rules/optimizer_list.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layers/net.h"
#include "program/op_kind.h"
#include "rules/optimizer.h"
#include "task/task.h"

enum { MAX_CLASSES = 32 };
#define RATE_SCALE "learning_rate_scale"

/* PaddleRec is of 2.x: where 1.x wants a number to be given, the preset of 2.x holds. */
static double preset_of(const char *type, const struct skiff_optimizer_setting *setting)
{
    const struct optimizer_kind *second = optimizer_kind_find(type, 2);
    double preset = setting->preset;
    for (const struct skiff_optimizer_setting *s = second->info.settings; s->name; s++)
        if (isnan(preset) && !strcmp(s->name, setting->name))
            preset = s->preset;
    return preset;
}

/* 0 in the options means the default; what the user sets to 0 is SKIFF_ZERO. */
static void read_number(struct config *c, const char *name, double preset, double *out)
{
    double v = member_real(c, KEY_OPTIMIZER, name, preset);
    if (!isnan(v))
        *out = v == 0.0 ? SKIFF_ZERO : v;
}

/* A key that another class has is known, and without effect. */
static void read_settings(struct config *c, const struct skiff_optimizer_info *info, bool chosen,
                          struct skiff_optimizer_options *o)
{
    for (const struct skiff_optimizer_setting *s = info->settings; s->name; s++) {
        void *field = (char *)o + s->offset;
        if (field == &o->learning_rate)
            continue;
        member_know(c, KEY_OPTIMIZER, s->name);
        if (chosen && s->kind == SKIFF_SETTING_NUMBER)
            read_number(c, s->name, preset_of(info->type, s), field);
        else if (chosen && field == &o->lazy_mode)
            o->lazy_mode = config_bool(c, KEY_OPTIMIZER_LAZY_MODE);
        else if (chosen && s->kind == SKIFF_SETTING_TRUTH)
            *(bool *)field = member_bool(c, KEY_OPTIMIZER, s->name, false);
    }
}

/* A schedule computes the rate in every step: what runner.plateau lowers is a factor of it. */
static struct skiff_var *scaled_rate(struct skiff_net *net, struct skiff_var *scheduled)
{
    struct role_guard role = role_push(skiff_net_main(net), ROLE_LRSCHED, NULL, 0);
    struct skiff_var *scale = skiff_create_global_var(net, SKIFF_DIMS(1), 1.0, .dtype = "float32",
                                                      .persistable = true, .name = RATE_SCALE);
    struct skiff_var *rate = skiff_elementwise(net, mul, scheduled, scale);
    role_pop(role);
    return rate;
}

/* decay_steps and decay_rate: rate * decay_rate ^ floor(step / decay_steps), as PaddleRec's
 * word2vec has it. */
static void read_rate(struct task *j, struct skiff_optimizer_options *o)
{
    double rate = config_real(j->config, KEY_OPTIMIZER_LEARNING_RATE);
    double steps = config_real(j->config, KEY_OPTIMIZER_DECAY_STEPS);
    double factor = config_real(j->config, KEY_OPTIMIZER_DECAY_RATE);
    o->learning_rate = rate == 0.0 ? SKIFF_ZERO : rate;
    snprintf(j->advice, sizeof j->advice, "try a lower %s (now %g), or set clip_norm beside it%s",
             key_name(KEY_OPTIMIZER_LEARNING_RATE), rate,
             config_has(j->config, KEY_OPTIMIZER_CLIP_NORM) ? " lower" : "");
    if (steps <= 0.0 || factor == 1.0)
        return;
    o->learning_rate_var = skiff_lr_exponential(j->net, rate, steps, factor, true);
    if (config_int(j->config, KEY_RUNNER_PLATEAU))
        o->learning_rate_var = scaled_rate(j->net, o->learning_rate_var);
}

const char *task_optimizer(struct config *c, struct skiff_optimizer_options *o)
{
    const struct skiff_optimizer_info *info;
    const char *classes[MAX_CLASSES + 1] = {NULL};
    int n = 0;
    for (; n < MAX_CLASSES && (info = skiff_optimizer_info(n, 1)); n++)
        classes[n] = info->class_name;
    int class = config_word_of(c, KEY_OPTIMIZER_CLASS, classes);
    for (int i = 0; i < n; i++)
        read_settings(c, skiff_optimizer_info(i, 1), i == class, o);
    return skiff_optimizer_info(class, 1)->type;
}

enum skiff_status task_minimize(struct task *j, struct skiff_error *err)
{
    struct config *c = j->config;
    struct skiff_optimizer_options o = {0};
    const char *type = task_optimizer(c, &o);
    read_rate(j, &o);
    double l2 = config_real(c, KEY_OPTIMIZER_L2_DECAY),
           clip = config_real(c, KEY_OPTIMIZER_CLIP_NORM);
    if (l2 != 0.0)
        o.regularization = skiff_l2_decay(l2);
    if (clip != 0.0)
        o.grad_clip = skiff_clip_global_norm(clip);
    TRY(config_check(c, err));
    return skiff_net_minimize(j->net, j->vars.loss, type, &o, err);
}

/* ---- the rate while training runs ---- */

/* The variable that holds the rate, or the factor of its schedule; NULL: there is none. */
static const char *rate_name(const struct task *j)
{
    const struct skiff_block *b = program_root(j->main);
    const struct skiff_var *scale = block_find_var(b, RATE_SCALE);
    if (scale && var_persistable(scale))
        return scale->name;
    for (int i = 0; i < b->nops; i++) {
        const char *name = op_in1(b->ops[i], "LearningRate");
        const struct skiff_var *rate = name ? block_find_var(b, name) : NULL;
        if (rate && var_persistable(rate) && rate->dtype == DTYPE_FP32)
            return rate->name;
    }
    return NULL;
}

enum skiff_status task_check_rate(const struct task *j, struct skiff_error *err)
{
    return rate_name(j)
               ? SKIFF_OK
               : error_set(err, SKIFF_UNSUPPORTED,
                           "%s: %s: no variable holds the learning rate of %s: a schedule "
                           "of its own computes it; remove the key or the schedule",
                           config_name(j->config), key_name(KEY_RUNNER_PLATEAU), j->model->name);
}

enum skiff_status task_rate(const struct task *j, double *out, struct skiff_error *err)
{
    TRY(task_check_rate(j, err));
    *out = (double)*tensor_f32(&scope_find(j->scope, rate_name(j))->tensor);
    return SKIFF_OK;
}

enum skiff_status task_set_rate(struct task *j, double rate, struct skiff_error *err)
{
    TRY(task_check_rate(j, err));
    *tensor_f32(&scope_find(j->scope, rate_name(j))->tensor) = (float)rate;
    return SKIFF_OK;
}
