/* The arguments of a layer: from YAML to the types that its row in the table of layers asks for.
 * Unknown and missing arguments are errors that list the layer's arguments. All texts and arrays
 * are allocated in the arena of the network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "task/net_text_parts.h"

/* ---- parameters ---- */

enum field_type { FIELD_REAL, FIELD_INT, FIELD_FLAG };

struct field {
    const char *name;
    enum field_type type;
    size_t offset; /* in struct skiff_initializer */
};
#define FIELD(name, type, member)                              \
    {                                                          \
        name, type, offsetof(struct skiff_initializer, member) \
    }
#define SEED FIELD("seed", FIELD_INT, seed)

/* The first field is what {kind: number} sets. */
static const struct initializer_kind {
    const char *name;
    struct skiff_initializer start;
    struct field fields[4];
} initializer_kinds[] = {
    {"constant", {.kind = SKIFF_INIT_CONSTANT}, {FIELD("value", FIELD_REAL, a)}},
    {"uniform",
     {.kind = SKIFF_INIT_UNIFORM, .a = -1, .b = 1, .diag_val = 1},
     {FIELD("low", FIELD_REAL, a), FIELD("high", FIELD_REAL, b), SEED}},
    {"normal",
     {.kind = SKIFF_INIT_NORMAL, .b = 1},
     {FIELD("scale", FIELD_REAL, b), FIELD("loc", FIELD_REAL, a), SEED}},
    {"truncated_normal",
     {.kind = SKIFF_INIT_TRUNCATED_NORMAL, .b = 1},
     {FIELD("scale", FIELD_REAL, b), FIELD("loc", FIELD_REAL, a), SEED}},
    {"xavier",
     {.kind = SKIFF_INIT_XAVIER, .uniform = true},
     {FIELD("uniform", FIELD_FLAG, uniform), FIELD("fan_in", FIELD_REAL, a),
      FIELD("fan_out", FIELD_REAL, b), SEED}},
    {"msra",
     {.kind = SKIFF_INIT_MSRA, .uniform = true},
     {FIELD("uniform", FIELD_FLAG, uniform), FIELD("fan_in", FIELD_REAL, a), SEED}},
};

static enum skiff_status set_field(struct net_text *t, const struct field *f,
                                   const struct yaml_node *node, struct skiff_initializer *out,
                                   struct skiff_error *err)
{
    void *at = (char *)out + f->offset;
    int64_t whole;
    if (f->type == FIELD_REAL)
        return net_real(t, node, at, err);
    if (f->type == FIELD_FLAG)
        return net_flag(t, node, at, err);
    TRY(net_int(t, node, &whole, err));
    if (whole != (int)whole)
        return net_wrong(t, node, err, "%s: %lld does not fit into 32 bits", f->name,
                         (long long)whole);
    *(int *)at = (int)whole;
    return SKIFF_OK;
}

static enum skiff_status set_fields(struct net_text *t, const struct initializer_kind *k,
                                    const struct yaml_node *node, struct skiff_initializer *out,
                                    struct skiff_error *err)
{
    const char *known[5] = {0};
    for (int i = 0; i < 4; i++)
        known[i] = k->fields[i].name;
    if (node->kind == YAML_TEXT)
        return node->text[0] ? set_field(t, &k->fields[0], node, out, err) : SKIFF_OK;
    TRY(net_keys_check(t, node, k->name, known, err));
    for (const struct yaml_node *c = node->first; c; c = c->next)
        for (int i = 0; i < 4 && k->fields[i].name; i++)
            if (!strcmp(k->fields[i].name, c->key))
                TRY(set_field(t, &k->fields[i], c, out, err));
    return SKIFF_OK;
}

/* {normal: {scale: 0.1}}, {constant: 0.5}, or the word alone: xavier. */
static enum skiff_status initializer_of(struct net_text *t, const struct yaml_node *node,
                                        struct skiff_initializer *out, struct skiff_error *err)
{
    enum { KINDS = sizeof(initializer_kinds) / sizeof(initializer_kinds[0]) };
    const struct yaml_node *inner = node->kind == YAML_MAP && node->n == 1 ? node->first : NULL;
    const char *kind = inner ? inner->key : node->kind == YAML_TEXT ? node->text : "";
    const char *known[KINDS + 1] = {0};
    for (int i = 0; i < KINDS; i++) {
        const struct initializer_kind *k = &initializer_kinds[i];
        known[i] = k->name;
        if (!strcmp(kind, k->name)) {
            *out = k->start;
            return inner ? set_fields(t, k, inner, out, err) : SKIFF_OK;
        }
    }
    if (inner)
        return net_keys_check(t, node, "initializer", known, err);
    return net_wrong(t, node, err,
                     "initializer must be one of constant, uniform, normal, truncated_normal, "
                     "xavier, msra, as {normal: {scale: 0.1}}");
}

/* {l2: 0.001} */
static enum skiff_status regularizer_of(struct net_text *t, const struct yaml_node *node,
                                        struct skiff_regularizer *out, struct skiff_error *err)
{
    static const char *const known[] = {"l1", "l2", NULL};
    if (node->kind != YAML_MAP || node->n != 1)
        return net_wrong(t, node, err, "regularizer must be {l1: number} or {l2: number}");
    TRY(net_keys_check(t, node, "regularizer", known, err));
    out->kind = node->first->key[1] == '1' ? SKIFF_REG_L1 : SKIFF_REG_L2;
    return net_real(t, node->first, &out->coeff, err);
}

static enum skiff_status param_field(struct net_text *t, const struct yaml_node *c,
                                     struct skiff_param_attr *out, struct skiff_error *err)
{
    bool trainable;
    switch (c->key[0]) {
    case 'n':
        return net_fill(t, c, &out->name, err);
    case 'i':
        return initializer_of(t, c, &out->initializer, err);
    case 'r':
        return regularizer_of(t, c, &out->regularizer, err);
    case 'l':
        TRY(net_real(t, c, &out->learning_rate, err));
        if (out->learning_rate == 0)
            out->learning_rate = SKIFF_ZERO;
        return SKIFF_OK;
    default:
        TRY(net_flag(t, c, &trainable, err));
        out->frozen = !trainable;
        return SKIFF_OK;
    }
}

/* False: none. A word: its name. A map: what it says. */
static enum skiff_status param_of(struct net_text *t, const struct yaml_node *node,
                                  const struct skiff_param_attr **out, struct skiff_error *err)
{
    static const char *const known[] = {"name",          "initializer", "regularizer",
                                        "learning_rate", "trainable",   NULL};
    struct skiff_param_attr *a = arena_alloc(&t->arena, sizeof(*a));
    *out = a;
    if (node->kind == YAML_TEXT && !strcasecmp(node->text, "false")) {
        *out = SKIFF_NO_PARAM;
        return SKIFF_OK;
    }
    if (node->kind == YAML_TEXT)
        return net_fill(t, node, &a->name, err);
    TRY(net_keys_check(t, node, node->key, known, err));
    for (const struct yaml_node *c = node->first; c; c = c->next)
        TRY(param_field(t, c, a, err));
    return SKIFF_OK;
}

/* ---- variables ---- */

/* All that the names of a text or list stand for, groups in full. */
static enum skiff_status vars_of(struct net_text *t, const struct yaml_node *node,
                                 struct skiff_vars *out, struct skiff_error *err)
{
    struct skiff_var **all = NULL;
    int n = 0;
    if (node->kind == YAML_MAP)
        return net_wrong(t, node, err, "%s must be names of variables, found a map", net_key(node));
    for (const struct yaml_node *c = node->kind == YAML_LIST ? node->first : node; c; c = c->next) {
        struct skiff_vars vars;
        const char *name;
        bool group;
        TRY(net_fill(t, c, &name, err));
        TRY(net_vars(t, c, name, &vars, &group, err));
        struct skiff_var **grown =
            arena_alloc(&t->arena, (size_t)(n + vars.n + 1) * sizeof(*grown));
        if (n)
            memcpy(grown, all, (size_t)n * sizeof(*all));
        if (vars.n)
            memcpy(grown + n, vars.v, (size_t)vars.n * sizeof(*grown));
        all = grown;
        n += vars.n;
        if (node->kind != YAML_LIST)
            break;
    }
    *out = (struct skiff_vars){n, all};
    return SKIFF_OK;
}

/* One variable; a group is noted in `each`. */
static enum skiff_status var_of(struct net_text *t, const struct yaml_node *node, int arg,
                                union layer_value *out, struct net_each *each,
                                struct skiff_error *err)
{
    struct skiff_vars vars;
    const char *name;
    bool group;
    TRY(net_fill(t, node, &name, err));
    TRY(net_vars(t, node, name, &vars, &group, err));
    if (!group) {
        out->var = vars.v[0];
        return SKIFF_OK;
    }
    if (each->n && each->vars[0].n != vars.n)
        return net_wrong(t, node, err, "%s: groups of %d and %d variables; they must be as large",
                         node->key, each->vars[0].n, vars.n);
    each->arg[each->n] = arg;
    each->vars[each->n++] = vars;
    return SKIFF_OK;
}

/* ---- all of them ---- */

static enum skiff_status int_of(struct net_text *t, const struct layer_arg *arg,
                                const struct yaml_node *node, int64_t *out, struct skiff_error *err)
{
    TRY(net_int(t, node, out, err));
    if (!arg->wide && *out != (int)*out)
        return net_wrong(t, node, err, "%s: %lld does not fit into 32 bits", arg->name,
                         (long long)*out);
    if (arg->zero && *out == 0)
        *out = SKIFF_ZERO;
    return SKIFF_OK;
}

static enum skiff_status pair_of(struct net_text *t, const struct yaml_node *node, int out[2],
                                 struct skiff_error *err)
{
    struct skiff_dims d;
    TRY(net_dims(t, node, &d, err));
    if (d.n != 1 && d.n != 2)
        return net_wrong(t, node, err, "%s must be one number or two", net_key(node));
    out[0] = (int)d.d[0];
    out[1] = (int)d.d[d.n - 1];
    return SKIFF_OK;
}

static enum skiff_status longs_of(struct net_text *t, const struct yaml_node *node,
                                  union layer_value *out, struct skiff_error *err)
{
    out->longs.n = 0;
    out->longs.v = arena_alloc(&t->arena, (size_t)(node->n + 1) * sizeof(int64_t));
    for (const struct yaml_node *c = node->first; c; c = c->next)
        TRY(net_int(t, c, &out->longs.v[out->longs.n++], err));
    return SKIFF_OK;
}

static enum skiff_status doubles_of(struct net_text *t, const struct yaml_node *node,
                                    union layer_value *out, struct skiff_error *err)
{
    out->doubles.n = 0;
    out->doubles.v = arena_alloc(&t->arena, (size_t)(node->n + 1) * sizeof(double));
    for (const struct yaml_node *c = node->first; c; c = c->next)
        TRY(net_real(t, c, &out->doubles.v[out->doubles.n++], err));
    return SKIFF_OK;
}

static enum skiff_status arg_of(struct net_text *t, const struct layer_arg *arg, int i,
                                const struct yaml_node *node, union layer_value *out,
                                struct net_each *each, struct skiff_error *err)
{
    switch (arg->type) {
    case ARG_VAR:
        return var_of(t, node, i, out, each, err);
    case ARG_VARS:
        return vars_of(t, node, &out->vars, err);
    case ARG_DIMS:
        return net_dims(t, node, &out->dims, err);
    case ARG_TEXT:
        return net_fill(t, node, &out->text, err);
    case ARG_INT:
        return int_of(t, arg, node, &out->i, err);
    case ARG_FLOAT:
        TRY(net_real(t, node, &out->f, err));
        if (arg->zero && out->f == 0)
            out->f = SKIFF_ZERO;
        return SKIFF_OK;
    case ARG_BOOL:
        return net_flag(t, node, &out->b, err);
    case ARG_PARAM:
        return param_of(t, node, &out->param, err);
    case ARG_INITIALIZER:
        return initializer_of(t, node, &out->initializer, err);
    case ARG_PAIR:
        return pair_of(t, node, out->pair, err);
    case ARG_LONGS:
        return longs_of(t, node, out, err);
    case ARG_DOUBLES:
        return doubles_of(t, node, out, err);
    case ARG_ARRAY: /* net_text_layer leaves it out */
        break;
    }
    return SKIFF_OK;
}

/* "act:", "act: null" */
static bool is_nothing(const struct yaml_node *node)
{
    return !node || (node->kind == YAML_TEXT &&
                     (!node->text[0] || !strcmp(node->text, "null") || !strcmp(node->text, "~")));
}

static enum skiff_status args_check(struct net_text *t, const struct layer_spec *spec,
                                    const struct yaml_node *call, struct skiff_error *err)
{
    const char *known[LAYER_ARGS_MAX + 3];
    int n = 0;
    for (; n < spec->nargs; n++)
        known[n] = spec->args[n].name;
    known[n++] = "layer";
    known[n++] = "when";
    known[n] = NULL;
    TRY(net_keys_check(t, call, spec->name, known, err));
    for (int i = 0; i < spec->required; i++)
        if (!yaml_get(call, spec->args[i].name)) {
            struct buf all = BUF_INIT;
            for (int k = 0; k < spec->required; k++)
                buf_printf(&all, "%s%s", k ? ", " : "", spec->args[k].name);
            enum skiff_status s = net_wrong(t, call, err, "%s needs %s (it must have: %s)",
                                            spec->name, spec->args[i].name, all.data);
            buf_deinit(&all);
            return s;
        }
    return SKIFF_OK;
}

enum skiff_status net_args(struct net_text *t, const struct layer_spec *spec,
                           const struct yaml_node *call, struct layer_call *c,
                           struct net_each *each, struct skiff_error *err)
{
    each->n = 0;
    TRY(args_check(t, spec, call, err));
    for (int i = 0; i < spec->nargs; i++) {
        const struct yaml_node *node = yaml_get(call, spec->args[i].name);
        if (is_nothing(node))
            continue;
        TRY(arg_of(t, &spec->args[i], i, node, &c->a[i], each, err));
        c->given[i] = ARG_HAS_VALUE;
    }
    return SKIFF_OK;
}
