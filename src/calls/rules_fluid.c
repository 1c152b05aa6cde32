/* Rules of Fluid's functions (list_fluid.h): refusals in the words of Paddle 1.8, gradients of what
 * was made. Above each rule stands its form in a row (see rules.c). */
#include <string.h>

#include "base/buf.h"
#include "calls/rules.h"
#include "layers/table.h"

#define RULE(name)                                                                               \
    static enum skiff_status name(struct call_context *c, const struct skiff_value *const *args, \
                                  int n, struct skiff_attr *out)

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* "float32 float64" as "float32, float64" */
static const char *commas(struct call_context *c, const char *words)
{
    struct buf b = BUF_INIT;
    for (; *words; words++)
        if (*words == ' ')
            buf_str(&b, ", ");
        else
            buf_char(&b, *words);
    const char *text = arena_strdup(&c->arena, b.data);
    buf_deinit(&b);
    return text;
}

/* types(x, 'x', 'float32 float64'): the types that a variable, or each of a list, may have */
RULE(types)
{
    const struct skiff_value *v = args[0];
    int count = v->kind == SKIFF_VALUE_TENSOR ? 1 : v->kind == SKIFF_VALUE_TENSORS ? v->n : 0;
    for (int i = 0; i < count; i++) {
        const char *have =
            handle_dtype(c, v->kind == SKIFF_VALUE_TENSOR ? v->tensor : v->tensors[i]);
        if (have && !has_word(args[2]->attr.s, have))
            return error_set(c->err, SKIFF_DTYPE,
                             "The data type of '%s' in %s must be %s, but received %s.",
                             args[1]->attr.s, c->f->name, commas(c, args[2]->attr.s), have);
    }
    return SKIFF_OK;
}

/* one_of(a, 'all channel', 'the refusal') */
RULE(one_of)
{
    const struct skiff_value *v = args[0];
    const char *word = v->kind == SKIFF_VALUE_ATTR && v->attr.s ? v->attr.s : "";
    if (has_word(args[1]->attr.s, word))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s", args[2]->attr.s);
}

/* within(a, 0, 1, 'the refusal'), the ends included */
RULE(within)
{
    double value = number_of(&args[0]->attr);
    if (value >= number_of(&args[1]->attr) && value <= number_of(&args[2]->attr))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s", args[3]->attr.s);
}

/* within_rank(x, axis, 'the refusal'): 0 to the number of dimensions */
RULE(within_rank)
{
    int64_t axis = args[1]->attr.i;
    if (args[1]->attr.type != SKIFF_ATTR_FLOAT && axis >= 0 &&
        axis <= handle_ndim(c, args[0]->tensor))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s", args[2]->attr.s);
}

/* some_param(a, 'the refusal'): there is a parameter */
RULE(some_param)
{
    if (args[0]->kind != SKIFF_VALUE_PARAM || args[0]->param != SKIFF_NO_PARAM)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s", args[1]->attr.s);
}

/* either(a, b, 'the refusal'): one of them is given */
RULE(either)
{
    if (args[0]->kind != SKIFF_VALUE_NONE || args[1]->kind != SKIFF_VALUE_NONE)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s", args[2]->attr.s);
}

/* whole_or_list(a, 'a') */
RULE(whole_or_list)
{
    if (args[0]->kind == SKIFF_VALUE_ATTR && args[0]->attr.type != SKIFF_ATTR_FLOAT)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_DTYPE,
                     "The type of '%s' in %s must be int, list or tuple, but received float.",
                     args[1]->attr.s, c->f->name);
}

/* a_list(a): Python's callers must give a list or tuple */
RULE(a_list)
{
    return SKIFF_OK;
}

/* stops(a): whether what the step before made stops gradients */
RULE(stops)
{
    if (c->has_before)
        skiff_var_set_stop_gradient(c->before.var, number_of(&args[0]->attr) != 0);
    return SKIFF_OK;
}

/* unused(a...): arguments that Fluid has and ignores */
RULE(unused)
{
    return SKIFF_OK;
}

const struct call_rule fluid_rules[] = {
    {"types", "t", types},
    {"one_of", "s", one_of},
    {"within", "f", within},
    {"within_rank", "ti", within_rank},
    {"some_param", "p", some_param},
    {"either", "", either},
    {"whole_or_list", "a", whole_or_list},
    {"a_list", "L", a_list},
    {"stops", "b", stops},
    {"unused", "****", unused},
    {0},
};
