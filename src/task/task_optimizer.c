/* hyper_parameters.optimizer to an optimizer: classes and keys come from rules/optimizer_list.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "task/task.h"
#include "rules/optimizer.h"

enum { MAX_CLASSES = 32 };

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
    if (steps > 0.0 && factor != 1.0)
        o->learning_rate_var = skiff_lr_exponential(j->net, rate, steps, factor, true);
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
