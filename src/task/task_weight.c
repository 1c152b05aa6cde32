/* Weights and groups of samples (task.h): runner.weight_column, runner.class_weight,
 * runner.group_column.
 *
 * They are two more inputs of the net, which no layer reads. The loss of a model is the mean (or
 * sum) of a cost for each row; with weights w it becomes sum(w * cost) / sum(w) of the batch (or
 * sum(w * cost)), so that a row of weight 2 counts as the row given twice. The weight of a row is
 * that of its column times that of its class.
 * Where slots have columns (`C1 = city`), the inputs have names that no network uses, and a line
 * is added; elsewhere they have the names of the user's slots. */
#include <math.h>
#include <string.h>

#include "config/values.h"
#include "program/op_kind.h"
#include "task/task.h"

#define LEAST_SUM 1e-12 /* weights of a batch that are all 0 */

/* ---- inputs ---- */

/* Do slots get columns, one a line? */
static bool has_assignments(struct config *c)
{
    const char *const *lines;
    int n = config_list(c, KEY_RUNNER_INPUT_COLUMNS, &lines);
    return n > 0 && strchr(lines[0], '=') &&
           !strcmp(config_text_or(c, KEY_RUNNER_INPUT_FORMAT, ""), "csv");
}

static struct skiff_var *input_named(struct task *j, const char *name)
{
    for (int i = 0; i < j->vars.ninputs; i++)
        if (!strcmp(skiff_var_name(j->vars.inputs[i]), name))
            return j->vars.inputs[i];
    return NULL;
}

static enum skiff_status add_input(struct task *j, enum config_key key, const char *slot,
                                   const char *dtype, struct skiff_var **out,
                                   struct skiff_error *err)
{
    const char *column = config_text(j->config, key);
    if (!column || !*column)
        return SKIFF_OK;
    bool assigned = has_assignments(j->config);
    *out = assigned ? NULL : input_named(j, column);
    if (*out) /* a slot of the network: groups by a feature */
        return SKIFF_OK;
    if (j->vars.ninputs == SKIFF_MODEL_MAX_INPUTS)
        return error_set(err, SKIFF_RANGE, "%s: %s: the model has %d inputs already",
                         config_name(j->config), key_name(key), j->vars.ninputs);
    *out = skiff_model_input(
        &j->vars, skiff_data(j->net, assigned ? slot : column, SKIFF_DIMS(1), .dtype = dtype));
    return skiff_net_check(j->net, err);
}

static enum skiff_status check_types(struct task *j, struct skiff_error *err)
{
    const struct skiff_var *w = j->vars.weight, *g = j->vars.group;
    if (w && (w->dtype != DTYPE_FP32 || w->lod_level))
        return error_set(
            err, SKIFF_INVALID, "%s: %s is %s, a slot of ids; a weight is a number for each row",
            config_name(j->config), key_name(KEY_RUNNER_WEIGHT_COLUMN), skiff_var_name(w));
    if (g && g->dtype != DTYPE_INT64)
        return error_set(
            err, SKIFF_INVALID, "%s: %s is %s, a slot of numbers; groups are made by a slot of ids",
            config_name(j->config), key_name(KEY_RUNNER_GROUP_COLUMN), skiff_var_name(g));
    return SKIFF_OK;
}

/* ---- weights of classes ---- */

static void refuse_classes(struct config *c, const char *const *texts, int n)
{
    struct buf list = BUF_INIT;
    for (int i = 0; i < n; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", texts[i]);
    config_refuse(c, KEY_RUNNER_CLASS_WEIGHT,
                  "is [%s]; expected two numbers of at least 0, the weights of labels 0 and 1: "
                  "[1, 10]",
                  n ? list.data : "");
    buf_deinit(&list);
}

/* out: of labels 0 and 1. False: not set. */
static bool class_weights(struct config *c, double *out)
{
    const char *const *texts;
    int n = config_list(c, KEY_RUNNER_CLASS_WEIGHT, &texts);
    bool good = n == 2;
    if (n < 0)
        return false;
    for (int i = 0; good && i < 2; i++)
        good = value_parse_real(texts[i], &out[i]) && out[i] >= 0 && isfinite(out[i]);
    if (!good)
        refuse_classes(c, texts, n);
    return good;
}

static struct skiff_var *weights_by_class(struct task *j, const double *w)
{
    double step = w[1] - w[0];
    struct skiff_var *label = skiff_cast(j->net, j->vars.label, "float32");
    return skiff_scale_by(j->net, label, .scale = step != 0 ? step : SKIFF_ZERO, .bias = w[0]);
}

/* ---- the loss ---- */

/* The cost of each row, [-1, 1], that the loss reduces to one number; NULL: there is none. */
static struct skiff_var *cost_of(struct task *j)
{
    struct skiff_block *b = program_root(skiff_net_main(j->net));
    const char *loss = skiff_var_name(j->vars.loss);
    for (int i = b->nops - 1; i >= 0; i--) {
        const struct skiff_op *op = b->ops[i];
        const char *x = op_in1(op, "X"), *out = op_out1(op, "Out");
        if (!out || strcmp(out, loss) != 0)
            continue;
        struct skiff_var *cost = x && op->nins == 1 ? block_find_var(b, x) : NULL;
        bool rows =
            cost && cost->shape.ndim == 2 && cost->shape.dims[0] == -1 && cost->shape.dims[1] == 1;
        return rows ? cost : NULL;
    }
    return NULL;
}

static enum skiff_status weigh_loss(struct task *j, struct skiff_var *w, struct skiff_error *err)
{
    struct skiff_net *net = j->net;
    struct skiff_var *cost = cost_of(j);
    if (!cost)
        return error_set(
            err, SKIFF_UNSUPPORTED,
            "%s: the loss of %s is no mean or sum of one cost for each row, so weights "
            "cannot act in it; remove %s and %s",
            config_name(j->config), j->model->name, key_name(KEY_RUNNER_WEIGHT_COLUMN),
            key_name(KEY_RUNNER_CLASS_WEIGHT));
    struct skiff_var *sum = skiff_reduce(net, sum, skiff_elementwise(net, mul, cost, w));
    if (!j->vars.loss_is_sum) {
        struct skiff_var *all = skiff_reduce(net, sum, w);
        all = skiff_scale_by(net, all, .scale = 1.0, .bias = LEAST_SUM);
        sum = skiff_elementwise(net, div, sum, all);
    }
    j->vars.loss = sum;
    return skiff_net_check(net, err);
}

enum skiff_status task_weigh(struct task *j, struct skiff_error *err)
{
    double by_class[2] = {1, 1};
    bool classes = class_weights(j->config, by_class);
    TRY(config_check(j->config, err));
    TRY(add_input(j, KEY_RUNNER_WEIGHT_COLUMN, SLOT_WEIGHT, "float32", &j->vars.weight, err));
    TRY(add_input(j, KEY_RUNNER_GROUP_COLUMN, SLOT_GROUP, "int64", &j->vars.group, err));
    TRY(check_types(j, err));
    if (classes && !j->vars.label)
        return error_set(err, SKIFF_UNSUPPORTED, "%s: %s has no label, so %s has no effect",
                         config_name(j->config), j->model->name, key_name(KEY_RUNNER_CLASS_WEIGHT));
    if (j->vars.group) /* an op reads it, so that programs keep it */
        j->vars.group = skiff_layer_assign(j->net, j->vars.group, NULL);
    struct skiff_var *w = j->vars.weight;
    if (classes) {
        struct skiff_var *c = weights_by_class(j, by_class);
        w = w ? skiff_elementwise(j->net, mul, w, c) : c;
    }
    return w ? weigh_loss(j, w, err) : SKIFF_OK;
}

/* ---- columns ---- */

static void add_line(struct buf *out, const char *slot, const char *column)
{
    buf_printf(out, "\n%s = \"", slot);
    for (const char *p = column; *p; p++)
        buf_str(out, *p == '"' ? "\"\"" : (char[]){*p, '\0'});
    buf_char(out, '"');
}

enum skiff_status task_weigh_columns(struct task *j, struct reader_config *r,
                                     struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    bool weight = schema_find(&j->schema, SLOT_WEIGHT) >= 0;
    bool group = schema_find(&j->schema, SLOT_GROUP) >= 0;
    if (!r->columns || !strchr(r->columns, '=') || (!weight && !group))
        return SKIFF_OK;
    buf_str(&text, r->columns);
    if (weight)
        add_line(&text, SLOT_WEIGHT, config_text(j->config, KEY_RUNNER_WEIGHT_COLUMN));
    if (group)
        add_line(&text, SLOT_GROUP, config_text(j->config, KEY_RUNNER_GROUP_COLUMN));
    enum skiff_status status = reader_config_set(r, "columns", text.data, err);
    buf_deinit(&text);
    return status;
}
