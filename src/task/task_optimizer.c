/* hyper_parameters.optimizer to an optimizer: classes and keys come from rules/optimizer_list.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "task/task.h"
#include "rules/optimizer.h"

#define KEY "hyper_parameters.optimizer."

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
static void read_number(struct config *c, const char *key, double preset, double *out)
{
    double v = config_has(c, key) ? config_real(c, key, 0) : preset;
    if (!isnan(v))
        *out = v == 0.0 ? SKIFF_ZERO : v;
}

static void read_truth(struct config *c, const char *key, const char *name, bool *out)
{
    bool preset = false;
    if (!strcmp(name, "lazy_mode")) /* PaddleRec's models make Adam lazy unless told otherwise */
        preset = config_bool(c, KEY "adam_lazy_mode", true);
    *out = config_bool(c, key, preset);
}

/* A key that another class has is known, and without effect. */
static void read_settings(struct config *c, const struct skiff_optimizer_info *info, bool chosen,
                          struct skiff_optimizer_options *o)
{
    char key[96];
    for (const struct skiff_optimizer_setting *s = info->settings; s->name; s++) {
        void *field = (char *)o + s->offset;
        snprintf(key, sizeof key, KEY "%s", s->name);
        if (field == &o->learning_rate)
            continue;
        if (chosen && s->kind == SKIFF_SETTING_NUMBER)
            read_number(c, key, preset_of(info->type, s), field);
        else if (chosen && s->kind == SKIFF_SETTING_TRUTH)
            read_truth(c, key, s->name, field);
        else
            config_know(c, key);
    }
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
    snprintf(j->advice, sizeof j->advice,
             "try a lower " KEY "learning_rate (now %g), or set clip_norm beside it%s", rate,
             config_has(j->config, KEY "clip_norm") ? " lower" : "");
    if (steps > 0.0 && factor != 1.0)
        o->learning_rate_var = skiff_lr_exponential(j->net, rate, steps, factor, true);
}

enum skiff_status task_minimize(struct task *j, struct skiff_error *err)
{
    struct config *c = j->config;
    struct skiff_optimizer_options o = {0};
    const struct skiff_optimizer_info *info;
    const char *classes[MAX_CLASSES + 1] = {NULL};
    int adam = 0, n = 0;
    for (; n < MAX_CLASSES && (info = skiff_optimizer_info(n, 1)); n++) {
        classes[n] = info->class_name;
        adam = strcmp(info->type, "adam") ? adam : n;
    }
    int class = config_choice(c, KEY "class", adam, classes);
    config_know(c, KEY "strategy");
    config_know(c, KEY "adam_lazy_mode");
    for (int i = 0; i < n; i++)
        read_settings(c, skiff_optimizer_info(i, 1), i == class, &o);
    read_rate(j, &o);
    double l2 = config_real(c, KEY "l2_decay", 0.0), clip = config_real(c, KEY "clip_norm", 0.0);
    if (l2 != 0.0)
        o.regularization = skiff_l2_decay(l2);
    if (clip != 0.0)
        o.grad_clip = skiff_clip_global_norm(clip);
    TRY(config_check(c, err));
    return skiff_net_minimize(j->net, j->vars.loss, skiff_optimizer_info(class, 1)->type, &o, err);
}
