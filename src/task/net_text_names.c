/* What names in a network stand for: numbers (of a loop, of hyper_parameters) and variables
 * (inputs, results of layers). Inner loops hide outer names. An unknown name is an error that
 * names the nearest known one. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "task/net_text_parts.h"

/* ---- numbers ---- */

/* The texts of a node: its own, or those of its list. */
static const char *const *texts_of(struct net_text *t, const struct yaml_node *node, int *n)
{
    const char **out = arena_alloc(&t->arena, (size_t)(node->n + 1) * sizeof(*out));
    *n = 0;
    if (node->kind == YAML_TEXT)
        out[(*n)++] = node->text;
    for (const struct yaml_node *c = node->first; c; c = c->next)
        if (c->kind == YAML_TEXT)
            out[(*n)++] = c->text;
    return out;
}

enum skiff_status net_setting(struct net_text *t, const char *name, const char *const **out,
                              int *out_n, bool *out_found, struct skiff_error *err)
{
    *out_n = 0;
    *out_found = member_has(t->config, KEY_HYPER, name);
    if (*out_found) {
        *out_n = member_list(t->config, KEY_HYPER, name, out);
        return config_check(t->config, err);
    }
    const struct yaml_node *own = t->defaults ? yaml_get(t->defaults, name) : NULL;
    *out_found = own != NULL;
    if (own)
        *out = texts_of(t, own, out_n);
    return SKIFF_OK;
}

/* 12, 1_000_001, 1e-3, True, no. */
static bool parse_number(const char *text, double *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    char digits[64], *end;
    size_t n = 0;
    for (int i = 0; i < 6; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i & 1;
            return true;
        }
    for (; *text && n + 1 < sizeof(digits); text++)
        if (*text != '_')
            digits[n++] = *text;
    digits[n] = 0;
    *out = strtod(digits, &end);
    return n && !*end && !*text && (isdigit((unsigned char)digits[n - 1]) || digits[n - 1] == '.');
}

static enum skiff_status unknown_number(struct net_text *t, const struct yaml_node *node,
                                        const char *name, struct skiff_error *err)
{
    struct near near = near_to(name);
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < t->numbers.count; i++) {
        near_try(&near, t->numbers.entries[i].key);
        buf_printf(&names, "%s%s", names.len ? ", " : "", t->numbers.entries[i].key);
    }
    for (const struct yaml_node *c = t->defaults ? t->defaults->first : NULL; c; c = c->next) {
        near_try(&near, c->key);
        buf_printf(&names, "%s%s", names.len ? ", " : "", c->key);
    }
    enum skiff_status s =
        net_wrong(t, node, err,
                  "no number has the name %s%s%s%s; define it under hyper_parameters, here with "
                  "its default or in the config (here: %.400s)",
                  name, near.best ? " (did you mean " : "", near.best ? near.best : "",
                  near.best ? "?)" : "", names.len ? names.data : "none");
    buf_deinit(&names);
    return s;
}

enum skiff_status net_number(struct net_text *t, const struct yaml_node *node, const char *name,
                             double *out, struct skiff_error *err)
{
    const char *own = str_map_get(&t->numbers, name);
    const char *const *texts = &own;
    int n = 1;
    bool found = true;
    if (!own) {
        if (parse_number(name, out)) /* True */
            return SKIFF_OK;
        TRY(net_setting(t, name, &texts, &n, &found, err));
    }
    if (!found)
        return unknown_number(t, node, name, err);
    if (n != 1)
        return net_wrong(t, node, err, "%s is a list of %d; expected one number%s", name, n,
                         n ? " (for: repeats layers for each item of a list)" : "");
    if (parse_number(texts[0], out))
        return SKIFF_OK;
    if (!own && member_has(t->config, KEY_HYPER, name)) { /* the line to mend is the config's */
        member_refuse(t->config, KEY_HYPER, name, "must be a number, found \"%.80s\"", texts[0]);
        return config_check(t->config, err);
    }
    return net_wrong(t, node, err, "%s is \"%s\"; expected a number", name, texts[0]);
}

/* ---- texts ---- */

static enum skiff_status fill_one(struct net_text *t, const struct yaml_node *node,
                                  const char *name, struct buf *into, struct skiff_error *err)
{
    const char *own = str_map_get(&t->numbers, name);
    const char *const *texts = &own;
    int n = 1;
    bool found = true;
    if (!own)
        TRY(net_setting(t, name, &texts, &n, &found, err));
    if (!found)
        return unknown_number(t, node, name, err);
    if (n != 1)
        return net_wrong(t, node, err, "$%s is a list of %d; expected a text", name, n);
    buf_str(into, texts[0]);
    return SKIFF_OK;
}

static enum skiff_status fill_all(struct net_text *t, const struct yaml_node *node,
                                  struct buf *into, struct skiff_error *err)
{
    for (const char *s = node->text; *s;) {
        char name[64];
        size_t n = 0;
        if (*s != '$') {
            buf_char(into, *s++);
            continue;
        }
        bool braces = *++s == '{';
        s += braces;
        while ((isalnum((unsigned char)*s) || *s == '_') && n + 1 < sizeof(name))
            name[n++] = *s++;
        name[n] = 0;
        if (!n || (braces && *s++ != '}'))
            return net_wrong(t, node, err, "\"%s\": expected a name after $, as $pooling or ${i}",
                             node->text);
        TRY(fill_one(t, node, name, into, err));
    }
    return SKIFF_OK;
}

enum skiff_status net_fill(struct net_text *t, const struct yaml_node *node, const char **out,
                           struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    if (node->kind != YAML_TEXT)
        return net_wrong(t, node, err, "%s must be one word, found a %s", net_key(node),
                         node->kind == YAML_MAP ? "map" : "list");
    enum skiff_status status = fill_all(t, node, &text, err);
    *out = arena_strdup(&t->arena, text.data ? text.data : "");
    buf_deinit(&text);
    return status;
}

/* ---- variables ---- */

void net_bind(struct net_text *t, const char *name, struct skiff_var *const *vars, int n,
              bool group, const struct layer_spec *spec)
{
    struct net_name *b = arena_alloc(&t->arena, sizeof(*b));
    *b = (struct net_name){.n = n, .group = group, .spec = spec};
    b->vars = arena_alloc(&t->arena, (size_t)(n + 1) * sizeof(*b->vars));
    if (n)
        memcpy(b->vars, vars, (size_t)n * sizeof(*vars));
    str_map_put(&t->names, arena_strdup(&t->arena, name), b);
}

static enum skiff_status unknown_var(struct net_text *t, const struct yaml_node *node,
                                     const char *name, struct skiff_error *err)
{
    struct near near = near_to(name);
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < t->names.count; i++) {
        const struct net_name *b = t->names.entries[i].value;
        near_try(&near, t->names.entries[i].key);
        if (b->n != 1 || names.len < 200)
            buf_printf(&names, "%s%s", names.len ? ", " : "", t->names.entries[i].key);
    }
    enum skiff_status s = net_wrong(
        t, node, err, "no input or result above this line has the name %s%s%s%s (there are %.500s)",
        name, near.best ? "; did you mean " : "", near.best ? near.best : "", near.best ? "?" : "",
        names.len ? names.data : "none");
    buf_deinit(&names);
    return s;
}

/* The part of a name with several results: auc, 2. */
static int part_at(const struct net_name *b, const char *part)
{
    char *end;
    for (int i = 0; b->spec && i < b->spec->nnames && i < b->n; i++)
        if (!strcmp(b->spec->names[i], part))
            return i;
    long at = strtol(part, &end, 10);
    return isdigit((unsigned char)*part) && !*end && at < b->n ? (int)at : -1;
}

static enum skiff_status no_part(struct net_text *t, const struct yaml_node *node,
                                 const struct net_name *b, const char *name, const char *part,
                                 struct skiff_error *err)
{
    struct buf parts = BUF_INIT;
    for (int i = 0; b->spec && i < b->spec->nnames && i < b->n; i++)
        buf_printf(&parts, "%s%s.%s", i ? ", " : "", name, b->spec->names[i]);
    if (!b->spec)
        buf_printf(&parts, b->n ? "%s.0 to %s.%d" : "nothing", name, name, b->n - 1);
    enum skiff_status s =
        part ? net_wrong(t, node, err, "%s has no part %s; there are %s", name, part, parts.data)
             : net_wrong(t, node, err, "%s has several parts, name one: %s", name, parts.data);
    buf_deinit(&parts);
    return s;
}

enum skiff_status net_vars(struct net_text *t, const struct yaml_node *node, const char *text,
                           struct skiff_vars *out, bool *out_group, struct skiff_error *err)
{
    const struct net_name *b = str_map_get(&t->names, text);
    *out_group = false;
    if (b && b->spec)
        return no_part(t, node, b, text, NULL, err);
    if (b) {
        *out = (struct skiff_vars){b->n, b->vars};
        *out_group = b->group;
        return SKIFF_OK;
    }
    const char *dot = strrchr(text, '.');
    const char *name = dot ? arena_strndup(&t->arena, text, (size_t)(dot - text)) : text;
    b = dot ? str_map_get(&t->names, name) : NULL;
    if (!b)
        return unknown_var(t, node, name, err);
    int at = part_at(b, dot + 1);
    if (at < 0)
        return no_part(t, node, b, name, dot + 1, err);
    *out = (struct skiff_vars){1, b->vars + at};
    return SKIFF_OK;
}

enum skiff_status net_var(struct net_text *t, const struct yaml_node *node, struct skiff_var **out,
                          struct skiff_error *err)
{
    struct skiff_vars vars;
    const char *name;
    bool group;
    TRY(net_fill(t, node, &name, err));
    TRY(net_vars(t, node, name, &vars, &group, err));
    if (vars.n != 1)
        return net_wrong(t, node, err, "%s: %s is a group of %d; expected one variable",
                         net_key(node), name, vars.n);
    *out = vars.v[0];
    return SKIFF_OK;
}
