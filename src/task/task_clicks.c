/* Shows and clicks of sparse tables (task.h). Each sample is one show of its ids, and its
 * label the click, as PaddleRec's models have it by ShowClickEntry; a table's setting `entry:
 * show_click_entry:<show>:<click>` names other variables of the network. */
#include <string.h>

#include "task/task.h"

#include "program/op_kind.h"

#define KIND "show_click_entry:"

static bool has_settings(struct config *c)
{
    for (int i = 0; i < config_count(c); i++) {
        if (key_matching(config_at(c, i)) == KEY_TABLE_PARAMETERS)
            return true;
    }
    return false;
}

/* One number a sample? */
static bool is_click(const struct skiff_var *label)
{
    int64_t n = 1;
    for (int i = 1; label && i < label->shape.ndim; i++)
        n *= label->shape.dims[i];
    return label && n == 1 && !label->lod_level;
}

static const char *count_labels(struct task *j)
{
    struct skiff_var *click = skiff_cast(j->net, j->vars.label, "float32");
    struct skiff_var *show = skiff_scale_by(j->net, click, .scale = SKIFF_ZERO, .bias = 1);
    if (!click || !show)
        return NULL;
    return arena_printf(&j->network_text, KIND "%s:%s", skiff_var_name(show),
                        skiff_var_name(click));
}

/* What the config says of the table's counters; NULL: nothing. */
static const char *own_entry(struct task *j, const char *table)
{
    const char *name = arena_printf(&j->network_text, "%s.entry", table);
    const char *entry = member_text(j->config, KEY_TABLE_PARAMETERS, name, NULL);
    return entry && !strncmp(entry, KIND, strlen(KIND)) ? entry : NULL;
}

static bool is_distributed(const struct skiff_op *op)
{
    const struct op_attr_value *a = op_attr(op, "is_distributed");
    return op_is(op, CLASS_LOOKUP) && op_in1(op, "W") && a && a->type == ATTR_BOOLEAN && a->value.b;
}

enum skiff_status task_count_clicks(struct task *j, struct skiff_error *err)
{
    struct skiff_program *main = skiff_net_main(j->net);
    struct skiff_block *b = program_root(main);
    const char *labels = NULL;
    if (!has_settings(j->config))
        return SKIFF_OK;
    for (int i = 0, n = b->nops; i < n; i++) {
        const struct op_attr_value *has = op_attr(b->ops[i], "entry");
        if (!is_distributed(b->ops[i]) || (has && has->type == ATTR_STRING && *has->value.s))
            continue;
        const char *entry = own_entry(j, op_in1(b->ops[i], "W"));
        if (!entry && !labels && is_click(j->vars.label))
            labels = count_labels(j);
        if (entry || labels)
            op_set_string(main, b->ops[i], "entry", entry ? entry : labels);
    }
    TRY(config_check(j->config, err));
    return skiff_net_check(j->net, err);
}
