/* Basic rules: constants, checks of numbers, types, axes and lists.
 *
 * A rule is a small function that a row names where names and constants are not enough. It computes
 * an attribute from arguments (eager: from the tensors themselves; program: from variables, whose
 * dims may be -1) or refuses them with Paddle's message. Above each rule stands its form in a row.
 * A rule that cannot know a value yet leaves *out as it is, and the attribute keeps its default.
 * The tables of rules are at the end of each rules*.c; parse.c looks rules up there. */
#include "calls/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- tensors of either target ---- */

int handle_ndim(const struct call_context *c, union skiff_handle t)
{
    return c->to->eager ? skiff_tensor_ndim(skiff_eager_form(t.eager)) : skiff_var_ndim(t.var);
}

int64_t handle_dim(const struct call_context *c, union skiff_handle t, int i)
{
    return c->to->eager ? skiff_tensor_dim(skiff_eager_form(t.eager), i) : skiff_var_dim(t.var, i);
}

const char *handle_dtype(const struct call_context *c, union skiff_handle t)
{
    if (c->to->eager)
        return skiff_tensor_dtype(skiff_eager_form(t.eager));
    return skiff_var_has_dtype(t.var) ? skiff_var_dtype(t.var) : NULL;
}

const char *list_text(struct call_context *c, const int64_t *longs, int n)
{
    struct buf b = BUF_INIT;
    buf_char(&b, '[');
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s%" PRId64, i ? ", " : "", longs[i]);
    buf_char(&b, ']');
    const char *text = arena_strdup(&c->arena, b.data);
    buf_deinit(&b);
    return text;
}

const char *handle_text(struct call_context *c, union skiff_handle t)
{
    int n = handle_ndim(c, t);
    int64_t *dims = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(*dims));
    for (int i = 0; i < n; i++)
        dims[i] = handle_dim(c, t, i);
    return list_text(c, dims, n);
}

/* ---- numbers ---- */

static bool is_real(const struct skiff_attr *a)
{
    return a->type == SKIFF_ATTR_FLOAT || a->type == SKIFF_ATTR_FLOAT64;
}

bool is_number(const struct skiff_attr *a)
{
    return is_real(a) || a->type == SKIFF_ATTR_INT || a->type == SKIFF_ATTR_LONG ||
           a->type == SKIFF_ATTR_BOOLEAN;
}

double number_of(const struct skiff_attr *a)
{
    return is_real(a) ? a->f : (double)a->i;
}

static const char *text_of_number(struct arena *a, double value)
{
    char digits[64];
    int precision = 0;
    if (isnan(value) || isinf(value))
        return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    do
        snprintf(digits, sizeof(digits), "%.*e", precision++, value);
    while (strtod(digits, NULL) != value);
    int exponent = atoi(strchr(digits, 'e') + 1), decimals = precision - 1 - exponent;
    if (exponent < -4 || exponent > 15)
        return arena_strdup(a, digits);
    return arena_printf(a, "%.*f", decimals < 1 ? 1 : decimals, value);
}

const char *text_as(struct arena *a, const struct skiff_attr *number, const char *dtype)
{
    if (dtype[0] == 'f' || dtype[0] == 'b')
        return text_of_number(a, number_of(number));
    return arena_printf(a, "%" PRId64, is_real(number) ? (int64_t)number->f : number->i);
}

static const char *number_text(struct call_context *c, const struct skiff_value *v)
{
    if (is_real(&v->attr))
        return text_of_number(&c->arena, v->attr.f);
    return arena_printf(&c->arena, "%" PRId64, v->attr.i);
}

/* or(a, constant): a, or the constant where it is None */
static enum skiff_status or_else(struct call_context *c, const struct skiff_value *const *args,
                                 int n, struct skiff_attr *out)
{
    *out = args[args[0]->kind != SKIFF_VALUE_ATTR]->attr;
    return SKIFF_OK;
}

/* text(a): as Python's str() */
static enum skiff_status as_text(struct call_context *c, const struct skiff_value *const *args,
                                 int n, struct skiff_attr *out)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_STRING, .s = number_text(c, args[0])};
    return SKIFF_OK;
}

/* not(a) */
static enum skiff_status negate(struct call_context *c, const struct skiff_value *const *args,
                                int n, struct skiff_attr *out)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = !number_of(&args[0]->attr)};
    return SKIFF_OK;
}

/* missing(a): whether it is None */
static enum skiff_status missing(struct call_context *c, const struct skiff_value *const *args,
                                 int n, struct skiff_attr *out)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = args[0]->kind == SKIFF_VALUE_NONE};
    return SKIFF_OK;
}

/* ---- checks of numbers ---- */

/* above(a, limit, 'the name of a') */
static enum skiff_status above(struct call_context *c, const struct skiff_value *const *args, int n,
                               struct skiff_attr *out)
{
    if (number_of(&args[0]->attr) > number_of(&args[1]->attr))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "The %s must be greater than %s. Received: %s.",
                     args[2]->attr.s, number_text(c, args[1]), number_text(c, args[0]));
}

/* not_negative(a, 'the name of a') */
static enum skiff_status not_negative(struct call_context *c, const struct skiff_value *const *args,
                                      int n, struct skiff_attr *out)
{
    if (number_of(&args[0]->attr) >= 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "The %s must be no less than zero. Received: %s.",
                     args[1]->attr.s, number_text(c, args[0]));
}

/* ---- types ---- */

/* dtype(a): the number of a type. dtype(a, x): where a is None, that of x. dtype(a, 'default'):
 * the one of paddle.set_default_dtype */
static enum skiff_status type_number(struct call_context *c, const struct skiff_value *const *args,
                                     int n, struct skiff_attr *out)
{
    const char *name = NULL;
    const struct skiff_value *v = args[0];
    if (v->kind == SKIFF_VALUE_NONE && n > 1)
        v = args[1];
    if (v->kind == SKIFF_VALUE_TENSOR)
        name = handle_dtype(c, v->tensor);
    else if (v == args[0] && v->kind == SKIFF_VALUE_ATTR && v->attr.type != SKIFF_ATTR_STRING) {
        *out = (struct skiff_attr){.type = SKIFF_ATTR_INT, .i = v->attr.i};
        return SKIFF_OK;
    } else if (v->kind == SKIFF_VALUE_ATTR)
        name = strcmp(v->attr.s, "default") ? v->attr.s
               : c->to->default_dtype       ? c->to->default_dtype
                                            : "float32";
    if (!name)
        return SKIFF_OK; /* not known: not set */
    *out = (struct skiff_attr){.type = SKIFF_ATTR_INT, .i = skiff_dtype_number(name)};
    if (out->i >= 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s: there is no data type %s", c->f->name, name);
}

/* dtype_if(a, x): that of x, unless a is None */
static enum skiff_status type_if(struct call_context *c, const struct skiff_value *const *args,
                                 int n, struct skiff_attr *out)
{
    return args[0]->kind == SKIFF_VALUE_NONE ? SKIFF_OK : type_number(c, args + 1, 1, out);
}

/* ---- axes ---- */

static int axes_count(const struct skiff_value *v)
{
    return v->kind == SKIFF_VALUE_ATTR ? v->attr.n : 0;
}

/* axes(x, axis): the axes of a reduction, which x must have; None: [] */
static enum skiff_status axes_of(struct call_context *c, const struct skiff_value *const *args,
                                 int n, struct skiff_attr *out)
{
    int rank = handle_ndim(c, args[0]->tensor), count = axes_count(args[1]);
    for (int i = 0; i < count; i++) {
        int64_t a = args[1]->attr.longs[i];
        if ((a < -rank || a >= rank) && !(rank == 0 && (a == 0 || a == -1)))
            return error_set(c->err, SKIFF_INVALID,
                             "%s: the axis %" PRId64
                             " is not in the range [%d, %d) of a tensor of the shape %s",
                             c->f->name, a, -rank, rank, handle_text(c, args[0]->tensor));
    }
    *out = (struct skiff_attr){
        .type = SKIFF_ATTR_LONGS, .n = count, .longs = count ? args[1]->attr.longs : NULL};
    return SKIFF_OK;
}

/* whole(x, axis): true if all axes are listed, or none */
static enum skiff_status whole(struct call_context *c, const struct skiff_value *const *args, int n,
                               struct skiff_attr *out)
{
    int count = axes_count(args[1]);
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN,
                               .i = !count || count == handle_ndim(c, args[0]->tensor)};
    return SKIFF_OK;
}

/* whole_sum(x, axis): as paddle.sum defines it: False for None, too */
static enum skiff_status whole_sum(struct call_context *c, const struct skiff_value *const *args,
                                   int n, struct skiff_attr *out)
{
    int count = axes_count(args[1]);
    bool all =
        args[1]->kind == SKIFF_VALUE_ATTR && (!count || count == handle_ndim(c, args[0]->tensor));
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = all};
    return SKIFF_OK;
}

/* list(a, n): [] for None */
static enum skiff_status list_or_empty(struct call_context *c,
                                       const struct skiff_value *const *args, int n,
                                       struct skiff_attr *out)
{
    int count = axes_count(args[0]);
    static const int64_t zero;
    *out = (struct skiff_attr){
        .type = SKIFF_ATTR_LONGS, .n = count, .longs = count ? args[0]->attr.longs : &zero};
    if (!count && n > 1) { /* list(a,[0]): that for None or [] */
        out->n = args[1]->attr.n;
        out->longs = args[1]->attr.longs;
    }
    return SKIFF_OK;
}

static const struct call_rule rules[] = {
    {"fill", "at", NULL}, /* handled in call.c */
    {"real", "t", NULL},
    {"or", "a", or_else},
    {"text", "a", as_text},
    {"not", "b", negate},
    {"missing", "a", missing},
    {"above", "f", above},
    {"not_negative", "f", not_negative},
    {"dtype", "dt", type_number},
    {"dtype_of", "tt", type_number},
    {"dtype_if", "dt", type_if},
    {"axes", "tl", axes_of},
    {"whole", "tl", whole},
    {"whole_sum", "tl", whole_sum},
    {"list", "l", list_or_empty},
    {0},
};

const struct call_rule *call_rule_find(const char *name)
{
    const struct call_rule *const tables[] = {rules,        shape_rules,  choice_rules,
                                              layout_rules, window_rules, fluid_rules};
    for (int i = 0; i < 6; i++)
        for (const struct call_rule *r = tables[i]; r->name; r++)
            if (!strcmp(r->name, name))
                return r;
    return NULL;
}
