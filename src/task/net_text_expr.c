/* Numbers in networks: the four operations, comparisons, names, and three functions: sqrt(x),
 * columns(v), the last dimension of a variable, and count(v), how many variables a group has.
 *
 * A recursive descent over the text, one function for each level of precedence, without a tree: a
 * value is computed where it is read. The nodes of the YAML that hold such texts are read at the
 * end of the file, and range and type are checked there. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task/net_text_parts.h"

enum { EXPR_MAX_DEPTH = 64, NAME_MAX_LETTERS = 96 };

struct expr {
    struct net_text *t;
    const struct yaml_node *node;
    const char *text, *at;
    int depth;
    struct skiff_error *err;
};

static enum skiff_status not_a_number(struct expr *e)
{
    return net_wrong(e->t, e->node, e->err,
                     "\"%s\" is not a number: expected a number, names of hyper_parameters, + - * "
                     "/ ( ), sqrt(x), columns(v), count(v) at \"%s\"",
                     e->text, e->at);
}

static void skip_blanks(struct expr *e)
{
    while (isspace((unsigned char)*e->at))
        e->at++;
}

static bool take(struct expr *e, const char *word)
{
    skip_blanks(e);
    if (strncmp(e->at, word, strlen(word)) != 0)
        return false;
    e->at += strlen(word);
    return true;
}

/* A name at e->at, dots included; empty when there is none. */
static void take_name(struct expr *e, char out[NAME_MAX_LETTERS])
{
    size_t n = 0;
    skip_blanks(e);
    while ((isalnum((unsigned char)*e->at) || *e->at == '_' || (n && *e->at == '.')) &&
           n + 1 < NAME_MAX_LETTERS)
        out[n++] = *e->at++;
    out[n] = 0;
}

static enum skiff_status compare(struct expr *e, double *out);

static enum skiff_status var_function(struct expr *e, bool columns, double *out)
{
    char name[NAME_MAX_LETTERS];
    struct skiff_vars vars;
    bool group;
    take_name(e, name);
    TRY(net_vars(e->t, e->node, name, &vars, &group, e->err));
    if (!columns) {
        *out = vars.n;
        return SKIFF_OK;
    }
    const struct skiff_var *v = vars.n ? vars.v[0] : NULL;
    int ndim = skiff_var_ndim(v);
    *out = ndim ? (double)skiff_var_dim(v, ndim - 1) : -1;
    if (*out < 0)
        return net_wrong(e->t, e->node, e->err,
                         "columns(%s): the number of its columns is known only at run time", name);
    return SKIFF_OK;
}

static enum skiff_status function(struct expr *e, const char *name, double *out)
{
    bool columns = !strcmp(name, "columns");
    if (columns || !strcmp(name, "count")) {
        TRY(var_function(e, columns, out));
    } else if (!strcmp(name, "sqrt")) {
        TRY(compare(e, out));
        *out = sqrt(*out);
    } else {
        return net_wrong(e->t, e->node, e->err,
                         "\"%s\": no function %s; expected sqrt, columns or count", e->text, name);
    }
    return take(e, ")") ? SKIFF_OK : not_a_number(e);
}

static enum skiff_status primary(struct expr *e, double *out)
{
    char name[NAME_MAX_LETTERS];
    if (take(e, "(")) {
        TRY(compare(e, out));
        return take(e, ")") ? SKIFF_OK : not_a_number(e);
    }
    skip_blanks(e);
    if (isdigit((unsigned char)*e->at) || *e->at == '.') {
        char *end;
        *out = strtod(e->at, &end);
        if (end == e->at || isalpha((unsigned char)*end) || *end == '.')
            return not_a_number(e);
        e->at = end;
        return SKIFF_OK;
    }
    take_name(e, name);
    if (!name[0])
        return not_a_number(e);
    if (take(e, "("))
        return function(e, name, out);
    return net_number(e->t, e->node, name, out, e->err);
}

static enum skiff_status unary(struct expr *e, double *out)
{
    if (++e->depth > EXPR_MAX_DEPTH)
        return net_wrong(e->t, e->node, e->err, "more than %d nested signs or parentheses",
                         EXPR_MAX_DEPTH);
    bool minus = take(e, "-");
    TRY(minus ? unary(e, out) : primary(e, out));
    *out = minus ? -*out : *out;
    e->depth--;
    return SKIFF_OK;
}

static enum skiff_status product(struct expr *e, double *out)
{
    double right;
    TRY(unary(e, out));
    for (;;) {
        bool times = take(e, "*");
        if (!times && !take(e, "/"))
            return SKIFF_OK;
        TRY(unary(e, &right));
        *out = times ? *out * right : *out / right;
    }
}

static enum skiff_status sum(struct expr *e, double *out)
{
    double right;
    TRY(product(e, out));
    for (;;) {
        bool plus = take(e, "+");
        if (!plus && !take(e, "-"))
            return SKIFF_OK;
        TRY(product(e, &right));
        *out = plus ? *out + right : *out - right;
    }
}

static enum skiff_status compare(struct expr *e, double *out)
{
    static const char *const words[] = {"==", "!=", "<=", ">=", "<", ">"};
    double right;
    int op = 0;
    TRY(sum(e, out));
    while (op < 6 && !take(e, words[op]))
        op++;
    if (op == 6)
        return SKIFF_OK;
    TRY(sum(e, &right));
    bool truth[] = {*out == right, *out != right, *out <= right, *out >= right,
                    *out<right, *out> right};
    *out = truth[op];
    return SKIFF_OK;
}

enum skiff_status net_expr(struct net_text *t, const struct yaml_node *node, const char *text,
                           double *out, struct skiff_error *err)
{
    struct expr e = {t, node, text, text, 0, err};
    TRY(compare(&e, out));
    skip_blanks(&e);
    if (*e.at)
        return not_a_number(&e);
    if (!isfinite(*out))
        return net_wrong(t, node, err, "\"%s\" is %g, which is not finite", text, *out);
    return SKIFF_OK;
}

/* ---- nodes ---- */

enum skiff_status net_real(struct net_text *t, const struct yaml_node *node, double *out,
                           struct skiff_error *err)
{
    if (node->kind != YAML_TEXT)
        return net_wrong(t, node, err, "%s must be a number, found a %s", net_key(node),
                         node->kind == YAML_MAP ? "map" : "list");
    return net_expr(t, node, node->text, out, err);
}

enum skiff_status net_int(struct net_text *t, const struct yaml_node *node, int64_t *out,
                          struct skiff_error *err)
{
    double v;
    TRY(net_real(t, node, &v, err));
    if (v != floor(v) || fabs(v) > 9007199254740992.0)
        return net_wrong(t, node, err, "%s: \"%s\" is %.17g; expected a whole number",
                         net_key(node), node->text, v);
    *out = (int64_t)v;
    return SKIFF_OK;
}

enum skiff_status net_flag(struct net_text *t, const struct yaml_node *node, bool *out,
                           struct skiff_error *err)
{
    double v;
    TRY(net_real(t, node, &v, err));
    *out = v != 0;
    return SKIFF_OK;
}

enum skiff_status net_dims(struct net_text *t, const struct yaml_node *node, struct skiff_dims *out,
                           struct skiff_error *err)
{
    *out = (struct skiff_dims){0};
    if (node->kind == YAML_TEXT) {
        out->n = 1;
        return net_int(t, node, &out->d[0], err);
    }
    if (node->kind == YAML_MAP || node->n > SKIFF_MAX_DIMS)
        return net_wrong(t, node, err, "%s must be a list of at most %d numbers", net_key(node),
                         SKIFF_MAX_DIMS);
    for (const struct yaml_node *c = node->first; c; c = c->next)
        TRY(net_int(t, c, &out->d[out->n++], err));
    return SKIFF_OK;
}
