/* Networks in YAML (net_text.h): the sections, the list of layers, loops and groups.
 *
 * Layers are built in the order of the file with the same calls that C programs use, so a name
 * must be defined above its use. A `for` repeats layers with a number, an item of a list or a
 * variable of a group; nesting and counts are bounded, because a few lines could otherwise ask for
 * millions of layers. Every error names file and line of the YAML node. */
#include "task/net_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/net_text_parts.h"

enum { MAX_ROUNDS = 4096, MAX_LAYERS = 100000 };

/* ---- errors ---- */

enum skiff_status net_wrong_at(const struct net_text *t, const struct yaml_node *node,
                               struct skiff_error *err, const char *file, int line,
                               const char *format, ...)
{
    char text[960];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    return error_set_at(err, file, line, SKIFF_INVALID, "%s:%d: %s", t->file, node->line, text);
}

static enum skiff_status unknown_key(const struct net_text *t, const struct yaml_node *key,
                                     const char *what, const char *const *known,
                                     struct skiff_error *err)
{
    struct near near = near_to(key->key);
    struct buf all = BUF_INIT;
    for (int i = 0; known[i]; i++) {
        near_try(&near, known[i]);
        buf_printf(&all, "%s%s", i ? ", " : "", known[i]);
    }
    enum skiff_status s = net_wrong(t, key, err, "%s has no %s%s%s%s; it takes %s", what, key->key,
                                    near.best ? " (did you mean " : "", near.best ? near.best : "",
                                    near.best ? "?)" : "", all.data);
    buf_deinit(&all);
    return s;
}

enum skiff_status net_keys_check(const struct net_text *t, const struct yaml_node *map,
                                 const char *what, const char *const *known,
                                 struct skiff_error *err)
{
    if (map->kind != YAML_MAP)
        return net_wrong(t, map, err, "%s: expected a map (key: value)", what);
    for (const struct yaml_node *c = map->first; c; c = c->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], c->key) != 0)
            i++;
        if (!known[i])
            return unknown_key(t, c, what, known, err);
        if (yaml_get(map, c->key) != c)
            return net_wrong(t, c, err, "%s: %s occurs twice", what, c->key);
    }
    return SKIFF_OK;
}

static enum skiff_status list_check(const struct net_text *t, const struct yaml_node *node,
                                    const char *what, struct skiff_error *err)
{
    if (node->kind == YAML_LIST)
        return SKIFF_OK;
    return net_wrong(t, node, err, "%s must be a list: lines that begin with \"- \"", what);
}

static enum skiff_status name_check(const struct net_text *t, const struct yaml_node *node,
                                    const char *name, struct skiff_error *err)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_')
        n++;
    if (n && !name[n] && n < 64 && !isdigit((unsigned char)name[0]))
        return SKIFF_OK;
    return net_wrong(t, node, err, "\"%s\" is not a name: expected letters, digits and _", name);
}

/* ---- inputs ---- */

/* Called as the data calls them: 6048, user.id. */
static enum skiff_status input_add(struct net_text *t, const struct yaml_node *node,
                                   const char *name, const struct skiff_dims *shape,
                                   const struct skiff_data_options *o, struct skiff_error *err)
{
    struct skiff_error why;
    if (!name[0] || strpbrk(name, " \t\n$"))
        return net_wrong(t, node, err, "\"%s\" cannot be the name of an input", name);
    if (str_map_has(&t->names, name))
        return net_wrong(t, node, err, "a second input %s", name);
    if (t->out->ninputs == SKIFF_MODEL_MAX_INPUTS)
        return net_wrong(t, node, err, "more than %d inputs", SKIFF_MODEL_MAX_INPUTS);
    struct skiff_var *v = skiff_model_input(t->out, skiff_layer_data(t->net, name, *shape, o));
    if (skiff_net_check(t->net, &why) < 0)
        return net_wrong(t, node, err, "input %s: %s", name, why.message);
    net_bind(t, name, &v, 1, false, NULL);
    return SKIFF_OK;
}

/* C with count: 26 is C1 .. C26, with names: [a, b] a and b; the whole is the group C. */
static enum skiff_status input_group(struct net_text *t, const struct yaml_node *node,
                                     const struct skiff_dims *shape,
                                     const struct skiff_data_options *o, struct skiff_error *err)
{
    const struct yaml_node *count = yaml_get(node, "count"), *names = yaml_get(node, "names");
    int first = t->out->ninputs;
    int64_t n = 0;
    if (count)
        TRY(net_int(t, count, &n, err));
    if (n < 0 || n > SKIFF_MODEL_MAX_INPUTS)
        return net_wrong(t, count, err, "count: %lld inputs; expected 0 to %d", (long long)n,
                         SKIFF_MODEL_MAX_INPUTS);
    for (int i = 1; i <= n; i++)
        TRY(input_add(t, node, arena_printf(&t->arena, "%s%d", node->key, i), shape, o, err));
    if (names)
        TRY(list_check(t, names, "names", err));
    for (const struct yaml_node *c = names ? names->first : NULL; c; c = c->next) {
        const char *name;
        TRY(net_fill(t, c, &name, err));
        TRY(input_add(t, c, name, shape, o, err));
    }
    if (str_map_has(&t->names, node->key))
        return net_wrong(t, node, err, "the group %s is called as one of its inputs", node->key);
    net_bind(t, node->key, t->out->inputs + first, t->out->ninputs - first, true, NULL);
    return SKIFF_OK;
}

static enum skiff_status input_read(struct net_text *t, const struct yaml_node *node,
                                    struct skiff_error *err)
{
    static const char *const known[] = {"dtype", "shape", "lod_level", "count", "names", NULL};
    struct skiff_data_options o = {.dtype = "float32"};
    struct skiff_dims shape = SKIFF_DIMS(1);
    int64_t lod = 0;
    TRY(net_keys_check(t, node, node->key, known, err));
    const struct yaml_node *dtype = yaml_get(node, "dtype"), *dims = yaml_get(node, "shape");
    const struct yaml_node *level = yaml_get(node, "lod_level");
    if (dtype)
        TRY(net_fill(t, dtype, &o.dtype, err));
    if (dims)
        TRY(net_dims(t, dims, &shape, err));
    if (level)
        TRY(net_int(t, level, &lod, err));
    if (lod < 0 || lod > 8)
        return net_wrong(t, level, err,
                         "lod_level must be 0 (one value a sample) or 1 (any "
                         "number), found %lld",
                         (long long)lod);
    o.lod_level = (int)lod;
    if (yaml_get(node, "count") || yaml_get(node, "names"))
        return input_group(t, node, &shape, &o, err);
    return input_add(t, node, node->key, &shape, &o, err);
}

/* The only key of an item of a list, "- x: {...}"; NULL with an error. */
static const struct yaml_node *item_of(const struct net_text *t, const struct yaml_node *item,
                                       const char *example, struct skiff_error *err)
{
    if (item->kind == YAML_MAP && item->n == 1 && item->first->kind == YAML_MAP)
        return item->first;
    net_wrong(t, item, err, "expected \"%s\"%s", example,
              item->kind == YAML_MAP && item->n > 1 ? "; is the indentation right?" : "");
    return NULL;
}

static enum skiff_status inputs_read(struct net_text *t, const struct yaml_node *inputs,
                                     struct skiff_error *err)
{
    TRY(list_check(t, inputs, "inputs", err));
    for (const struct yaml_node *c = inputs->first; c; c = c->next) {
        const struct yaml_node *input = item_of(t, c, "- name: {dtype: int64, shape: [1]}", err);
        if (!input)
            return SKIFF_INVALID;
        TRY(input_read(t, input, err));
    }
    return SKIFF_OK;
}

/* ---- layers ---- */

/* Not those that make inputs or learning rates, nor one that takes an array. */
const struct layer_spec *net_text_layer(const char *name)
{
    static const char *const others[] = {"data", "input", "assign_value",
                                         "autoincreased_step_counter"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(name, others[i]))
            return NULL;
    return strncmp(name, "lr_", 3) ? layer_find(name) : NULL;
}

static enum skiff_status unknown_layer(struct net_text *t, const struct yaml_node *node,
                                       struct skiff_error *err)
{
    struct near near = near_to(node->text);
    for (const struct layer_spec *const *s = layer_specs; *s; s++)
        if (net_text_layer((*s)->name))
            near_try(&near, (*s)->name);
    return net_wrong(t, node, err, "no layer %s%s%s%s; skiff inspect layers lists them", node->text,
                     near.best ? " (did you mean " : "", near.best ? near.best : "",
                     near.best ? "?)" : "");
}

static enum skiff_status layer_run(struct net_text *t, const struct layer_spec *spec,
                                   const struct yaml_node *call, struct layer_call *c,
                                   struct skiff_error *err)
{
    struct skiff_error why;
    if (++t->layers > MAX_LAYERS)
        return net_wrong(t, call, err, "more than %d layers", MAX_LAYERS);
    spec->call(c);
    if (skiff_net_check(t->net, &why) < 0)
        return net_wrong(t, call, err, "%s: %s: %s", call->key, spec->name, why.message);
    return SKIFF_OK;
}

/* Once for each variable of the groups among its arguments. */
static enum skiff_status layer_repeat(struct net_text *t, const struct layer_spec *spec,
                                      const struct yaml_node *call, struct layer_call *c,
                                      const struct net_each *each, struct skiff_error *err)
{
    int n = each->vars[0].n;
    struct skiff_var **outs = arena_alloc(&t->arena, (size_t)(n + 1) * sizeof(*outs));
    if (spec->result == RESULT_LIST || spec->result == RESULT_STRUCT)
        return net_wrong(t, call, err,
                         "%s has several results and cannot be repeated for a group; name one of "
                         "its variables, as %s.0",
                         spec->name, call->key);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < each->n; k++)
            c->a[each->arg[k]].var = each->vars[k].v[i];
        TRY(layer_run(t, spec, call, c, err));
        outs[i] = c->outs[0];
    }
    net_bind(t, call->key, outs, n, true, NULL);
    return SKIFF_OK;
}

static enum skiff_status layer_call(struct net_text *t, const struct layer_spec *spec,
                                    const struct yaml_node *call, struct layer_call *c,
                                    struct skiff_error *err)
{
    struct net_each each;
    TRY(net_args(t, spec, call, c, &each, err));
    if (each.n)
        return layer_repeat(t, spec, call, c, &each, err);
    TRY(layer_run(t, spec, call, c, err));
    bool named = spec->result == RESULT_STRUCT || c->nouts > 1;
    net_bind(t, call->key, c->outs, c->nouts, spec->result == RESULT_LIST,
             named && spec->nnames ? spec : NULL);
    return SKIFF_OK;
}

static enum skiff_status is_wanted(struct net_text *t, const struct yaml_node *map, bool *out,
                                   struct skiff_error *err)
{
    const struct yaml_node *when = yaml_get(map, "when");
    *out = true;
    return when ? net_flag(t, when, out, err) : SKIFF_OK;
}

static enum skiff_status layer_read(struct net_text *t, const struct yaml_node *call,
                                    struct skiff_error *err)
{
    const struct yaml_node *layer = yaml_get(call, "layer");
    struct layer_call c;
    bool wanted;
    TRY(name_check(t, call, call->key, err));
    if (!layer || layer->kind != YAML_TEXT)
        return net_wrong(t, call, err, "%s: the layer is missing; expected \"layer: fc\"",
                         call->key);
    const struct layer_spec *spec = net_text_layer(layer->text);
    if (!spec)
        return unknown_layer(t, layer, err);
    TRY(is_wanted(t, call, &wanted, err));
    if (!wanted)
        return SKIFF_OK;
    layer_call_init(&c, t->net);
    enum skiff_status status = layer_call(t, spec, call, &c, err);
    layer_call_deinit(&c);
    return status;
}

/* ---- repeating ---- */

static enum skiff_status layers_read(struct net_text *t, const struct yaml_node *layers,
                                     struct skiff_error *err);

static enum skiff_status collect(struct net_text *t, const struct yaml_node *into,
                                 struct skiff_error *err)
{
    for (const struct yaml_node *c = into ? into->first : NULL; c; c = c->next) {
        const struct net_name *group = str_map_get(&t->names, c->key);
        struct skiff_var *v;
        TRY(net_var(t, c, &v, err));
        struct skiff_var **all = arena_alloc(&t->arena, (size_t)(group->n + 1) * sizeof(*all));
        memcpy(all, group->vars, (size_t)group->n * sizeof(*all));
        all[group->n] = v;
        net_bind(t, c->key, all, group->n + 1, true, NULL);
    }
    return SKIFF_OK;
}

static enum skiff_status round_run(struct net_text *t, const struct yaml_node *block,
                                   struct skiff_error *err)
{
    TRY(layers_read(t, yaml_get(block, "layers"), err));
    return collect(t, yaml_get(block, "collect"), err);
}

static enum skiff_status number_round(struct net_text *t, const struct yaml_node *block,
                                      const char *name, const char *value, struct skiff_error *err)
{
    str_map_put(&t->numbers, name, (void *)value);
    return round_run(t, block, err);
}

static enum skiff_status rounds_check(struct net_text *t, const struct yaml_node *node, double n,
                                      struct skiff_error *err)
{
    if (n <= MAX_ROUNDS)
        return SKIFF_OK;
    return net_wrong(t, node, err, "%s: %.0f repetitions; the limit is %d", node->key, n,
                     MAX_ROUNDS);
}

/* i: 1..n */
static enum skiff_status range_run(struct net_text *t, const struct yaml_node *block,
                                   const struct yaml_node *over, const char *dots,
                                   struct skiff_error *err)
{
    double from, to;
    TRY(net_expr(t, over, arena_strndup(&t->arena, over->text, (size_t)(dots - over->text)), &from,
                 err));
    TRY(net_expr(t, over, dots + 2, &to, err));
    TRY(rounds_check(t, over, to - from + 1, err));
    int rounds = to >= from ? (int)(to - from + 1) : 0; /* a large number plus 1 may be itself */
    for (int i = 0; i < rounds; i++)
        TRY(number_round(t, block, over->key, arena_printf(&t->arena, "%.17g", from + i), err));
    return SKIFF_OK;
}

/* v: C, a group of variables */
static enum skiff_status group_run(struct net_text *t, const struct yaml_node *block,
                                   const struct yaml_node *over, const struct net_name *group,
                                   struct skiff_error *err)
{
    for (int i = 0; i < group->n; i++) {
        net_bind(t, over->key, &group->vars[i], 1, false, NULL);
        TRY(round_run(t, block, err));
    }
    return SKIFF_OK;
}

/* size: fc_sizes, or size: [64, 32] */
static enum skiff_status list_run(struct net_text *t, const struct yaml_node *block,
                                  const struct yaml_node *over, struct skiff_error *err)
{
    const char *const *texts = NULL;
    int n = 0;
    bool found = false;
    if (over->kind == YAML_TEXT)
        TRY(net_setting(t, over->text, &texts, &n, &found, err));
    if (over->kind == YAML_TEXT && !found)
        return net_wrong(t, over, err,
                         "%s: \"%s\" is not a group of variables, a list under hyper_parameters, "
                         "or a range as 1..3",
                         over->key, over->text);
    TRY(rounds_check(t, over, found ? n : over->n, err));
    for (int i = 0; i < n; i++)
        TRY(number_round(t, block, over->key, texts[i], err));
    for (const struct yaml_node *c = over->first; c; c = c->next) {
        const char *text;
        TRY(net_fill(t, c, &text, err));
        TRY(number_round(t, block, over->key, text, err));
    }
    return SKIFF_OK;
}

static enum skiff_status for_run(struct net_text *t, const struct yaml_node *block,
                                 const struct yaml_node *over, struct skiff_error *err)
{
    if (over->kind == YAML_MAP)
        return net_wrong(t, over, err, "%s: expected a range, a list or a group", over->key);
    const char *dots = over->kind == YAML_TEXT ? strstr(over->text, "..") : NULL;
    const struct net_name *group =
        over->kind == YAML_TEXT ? str_map_get(&t->names, over->text) : NULL;
    TRY(name_check(t, over, over->key, err));
    if (str_map_has(&t->names, over->key) || str_map_has(&t->numbers, over->key))
        return net_wrong(t, over, err, "for: the name %s is already used; choose another name",
                         over->key);
    enum skiff_status status = dots    ? range_run(t, block, over, dots, err)
                               : group ? group_run(t, block, over, group, err)
                                       : list_run(t, block, over, err);
    str_map_remove(&t->numbers, over->key);
    str_map_remove(&t->names, over->key);
    return status;
}

/* - for: {i: 1..3}
 *   layers: [...]
 *   collect: {rows: row} */
static enum skiff_status block_read(struct net_text *t, const struct yaml_node *block,
                                    struct skiff_error *err)
{
    static const char *const known[] = {"for", "when", "layers", "collect", NULL};
    const struct yaml_node *over = yaml_get(block, "for"), *into = yaml_get(block, "collect");
    bool wanted;
    TRY(net_keys_check(t, block, "for", known, err));
    if (!yaml_get(block, "layers"))
        return net_wrong(t, block, err, "for: \"layers:\", with the layers to repeat, is missing");
    if (over && (over->kind != YAML_MAP || over->n != 1))
        return net_wrong(t, over, err, "expected \"for: {i: 1..3}\": one name and its range");
    if (into && into->kind != YAML_MAP)
        return net_wrong(t, into, err, "expected \"collect: {rows: row}\"");
    TRY(is_wanted(t, block, &wanted, err));
    if (!wanted)
        return SKIFF_OK;
    for (const struct yaml_node *c = into ? into->first : NULL; c; c = c->next) {
        TRY(name_check(t, c, c->key, err));
        net_bind(t, c->key, NULL, 0, true, NULL);
    }
    return over ? for_run(t, block, over->first, err) : round_run(t, block, err);
}

static enum skiff_status layers_read(struct net_text *t, const struct yaml_node *layers,
                                     struct skiff_error *err)
{
    TRY(list_check(t, layers, "layers", err));
    for (const struct yaml_node *c = layers->first; c; c = c->next) {
        if (yaml_get(c, "for") || yaml_get(c, "layers")) {
            TRY(block_read(t, c, err));
            continue;
        }
        const struct yaml_node *call = item_of(t, c, "- result: {layer: fc, ...}", err);
        if (!call)
            return SKIFF_INVALID;
        TRY(layer_read(t, call, err));
    }
    return SKIFF_OK;
}

/* ---- results ---- */

static enum skiff_status auc_read(struct net_text *t, const struct yaml_node *node,
                                  struct skiff_error *err)
{
    const char *name;
    TRY(net_fill(t, node, &name, err));
    const struct net_name *b = str_map_get(&t->names, name);
    if (!b || b->spec != &layer_spec_auc)
        return net_wrong(t, node, err, "auc: %s is not the result of a layer auc", name);
    t->out->auc = (struct skiff_auc){b->vars[0], b->vars[1], {0}};
    memcpy(t->out->auc.states, b->vars + 2, sizeof(t->out->auc.states));
    return SKIFF_OK;
}

static enum skiff_status results_read(struct net_text *t, const struct yaml_node *root,
                                      struct skiff_error *err)
{
    const struct {
        const char *key;
        struct skiff_var **var;
        bool *flag;
    } all[] = {{"loss", &t->out->loss, NULL},
               {"predict", &t->out->predict, NULL},
               {"label", &t->out->label, NULL},
               {"accuracy", &t->out->accuracy, NULL},
               {"loss_is_sum", NULL, &t->out->loss_is_sum},
               {"not_probability", NULL, &t->out->not_probability}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct yaml_node *node = yaml_get(root, all[i].key);
        if (node)
            TRY(all[i].var ? net_var(t, node, all[i].var, err)
                           : net_flag(t, node, all[i].flag, err));
    }
    const struct yaml_node *auc = yaml_get(root, "auc");
    if (auc)
        TRY(auc_read(t, auc, err));
    if (t->out->predict && !t->out->label)
        return net_wrong(t, yaml_get(root, "predict"), err,
                         "predict needs \"label: name\" next to it, for AUC and log loss");
    return SKIFF_OK;
}

static enum skiff_status build(struct net_text *t, const struct yaml_node *root,
                               struct skiff_error *err)
{
    static const char *const known[] = {"hyper_parameters", "inputs",          "layers", "loss",
                                        "predict",          "label",           "auc",    "accuracy",
                                        "loss_is_sum",      "not_probability", NULL};
    static const char *const needed[] = {"inputs", "layers", "loss"};
    TRY(net_keys_check(t, root, "a network", known, err));
    for (int i = 0; i < 3; i++)
        if (!yaml_get(root, needed[i]))
            return net_wrong(t, root, err, "a network needs \"%s:\"", needed[i]);
    t->defaults = yaml_get(root, "hyper_parameters");
    if (t->defaults && t->defaults->kind != YAML_MAP)
        return net_wrong(t, t->defaults, err, "hyper_parameters must be names with defaults");
    for (const struct yaml_node *c = t->defaults ? t->defaults->first : NULL; c; c = c->next)
        member_know(t->config, KEY_HYPER, c->key);
    TRY(inputs_read(t, yaml_get(root, "inputs"), err));
    TRY(layers_read(t, yaml_get(root, "layers"), err));
    return results_read(t, root, err);
}

enum skiff_status net_text_build(const struct yaml_node *root, const char *file,
                                 struct config *config, struct skiff_net *net,
                                 struct skiff_model_net *out, struct skiff_error *err)
{
    struct net_text t = {.file = file, .config = config, .net = net, .out = out};
    arena_init(&t.arena);
    str_map_init(&t.names);
    str_map_init(&t.numbers);
    enum skiff_status status = build(&t, root, err);
    str_map_deinit(&t.names);
    str_map_deinit(&t.numbers);
    arena_deinit(&t.arena);
    return status;
}
