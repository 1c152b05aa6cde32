/* Rules that select steps (conditions on mode, arguments, ranks and types), and checks of
 * arguments that are words or counts.
 *
 * A condition returns a truth value; a step of a row runs if its conditions hold. Above each
 * rule stands its form in a row (see rules.c). */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "calls/rules.h"

#define RULE(name)                                                                               \
    static enum skiff_status name(struct call_context *c, const struct skiff_value *const *args, \
                                  int n, struct skiff_attr *out)

static enum skiff_status truth(struct skiff_attr *out, bool value)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = value};
    return SKIFF_OK;
}

static const char *word_of(const struct skiff_value *v)
{
    return v->kind == SKIFF_VALUE_ATTR && v->attr.type == SKIFF_ATTR_STRING ? v->attr.s : "None";
}

/* ---- conditions ---- */

/* eager(): it runs at once. program(): it is appended */
RULE(is_eager)
{
    return truth(out, c->to->eager != NULL);
}

RULE(is_program)
{
    return truth(out, c->to->net != NULL);
}

static bool is_true(const struct skiff_value *v)
{
    return v->kind == SKIFF_VALUE_ATTR && is_number(&v->attr) && number_of(&v->attr) != 0;
}

/* true(a): a number that is not 0 */
RULE(if_true)
{
    return truth(out, is_true(args[0]));
}

/* is(a, 'word'...): a is one of them */
RULE(is_word)
{
    bool found = false;
    for (int i = 1; i < n; i++)
        found |= !strcmp(word_of(args[0]), args[i]->attr.s);
    return truth(out, found);
}

/* unnamed(): no name has been drawn */
RULE(is_unnamed)
{
    return truth(out, !c->prefix);
}

/* rank(x, 2...): as many dimensions as one of them */
RULE(is_rank)
{
    bool found = false;
    for (int i = 1; i < n; i++)
        found |= handle_ndim(c, args[0]->tensor) == args[i]->attr.i;
    return truth(out, found);
}

static bool have_one_shape(const struct call_context *c, const struct skiff_value *const *args,
                           int n)
{
    int rank = handle_ndim(c, args[0]->tensor);
    for (int i = 1; i < n; i++) {
        if (handle_ndim(c, args[i]->tensor) != rank)
            return false;
        for (int k = 0; k < rank; k++)
            if (handle_dim(c, args[i]->tensor, k) != handle_dim(c, args[0]->tensor, k))
                return false;
    }
    return true;
}

/* same_shapes(a, b...) */
RULE(are_same_shapes)
{
    return truth(out, have_one_shape(c, args, n));
}

/* type(x, 'float32') */
RULE(is_type)
{
    const char *dtype = handle_dtype(c, args[0]->tensor);
    return truth(out, dtype && !strcmp(dtype, args[1]->attr.s));
}

/* ---- words ---- */

/* reduction(a, 'function'): a refusal in Paddle's words */
RULE(reduction)
{
    const char *word = word_of(args[0]);
    if (!strcmp(word, "mean") || !strcmp(word, "sum") || !strcmp(word, "none"))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "The value of 'reduction' in %s should be 'sum', 'mean' or 'none', but "
                     "received %s, which is not allowed.",
                     args[1]->attr.s, word);
}

/* nll_shapes(input, label) */
RULE(nll_shapes)
{
    int rank = handle_ndim(c, args[0]->tensor), labels = handle_ndim(c, args[1]->tensor);
    if (rank - 1 != labels && rank != labels)
        return error_set(c->err, SKIFF_INVALID,
                         "Expected input_dims - 1 = label_dims or input_dims == label_dims (got "
                         "input_dims%d, label_dims%d)",
                         rank, labels);
    if (rank < 2)
        return error_set(c->err, SKIFF_INVALID, "Expected 2 or more dimensions (got %d)", rank);
    int64_t classes = handle_dim(c, args[0]->tensor, 1);
    if (classes >= 1)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "Expected 1 or more classess (got num classes%" PRId64 ")", classes);
}

/* derivative(n) */
RULE(derivative)
{
    if (args[0]->attr.type == SKIFF_ATTR_FLOAT)
        return error_set(c->err, SKIFF_DTYPE,
                         "The input of n must be int type, but received: a float");
    if (args[0]->attr.i >= 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "The input of n must be greater than or equal to 0. But received n = %" PRId64,
                     args[0]->attr.i);
}

/* halved(x, axis) */
RULE(halved)
{
    int rank = handle_ndim(c, args[0]->tensor);
    int64_t axis = args[1]->attr.i;
    if (axis >= -rank && axis < rank)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "Expected value range of `axis` is [%d, %d), but received axis: %" PRId64,
                     -rank, rank, axis);
}

/* classes(n): of a tree */
RULE(classes)
{
    if (args[0]->attr.i >= 2)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "Expected num_classes >= 2 (got %" PRId64 ")",
                     args[0]->attr.i);
}

const struct call_rule choice_rules[] = {
    {"eager", "", is_eager},         {"program", "", is_program},
    {"true", "b", if_true},          {"is", "s", is_word},
    {"type", "t", is_type},          {"unnamed", "", is_unnamed},
    {"rank", "t", is_rank},          {"same_shapes", "ttt", are_same_shapes},
    {"reduction", "s", reduction},   {"nll_shapes", "tt", nll_shapes},
    {"derivative", "i", derivative}, {"halved", "ti", halved},
    {"classes", "i", classes},       {0},
};
