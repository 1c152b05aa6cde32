/* Rules about shapes, positions along axes, and the values of new tensors. In a program a dim may
 * be unknown (-1): a check then accepts, and a result that depends on it is -1 or left to the op.
 * Above each rule stands its form in a row (see rules.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/rules.h"

#define RULE(name)                                                                               \
    static enum skiff_status name(struct call_context *c, const struct skiff_value *const *args, \
                                  int n, struct skiff_attr *out)

static struct skiff_attr whole_number(int64_t i)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_LONG, .i = i};
}

static struct skiff_attr number_list(const int64_t *longs, int n)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = n, .longs = longs};
}

/* ---- shapes ---- */

/* shape(x): its dimensions */
RULE(shape_of)
{
    int rank = handle_ndim(c, args[0]->tensor);
    int64_t *dims = arena_alloc(&c->arena, (size_t)(rank + 1) * sizeof(*dims));
    for (int i = 0; i < rank; i++)
        dims[i] = handle_dim(c, args[0]->tensor, i);
    *out = number_list(dims, rank);
    return SKIFF_OK;
}

/* sizes(x, 'd0/1/-1/d2..'): numbers, d0 the first dimension of x, d2.. all from the third on */
RULE(sizes)
{
    int rank = handle_ndim(c, args[0]->tensor), count = 0;
    const char *text = args[1]->attr.s;
    int64_t *dims = arena_alloc(&c->arena, (strlen(text) + (size_t)rank) * sizeof(*dims));
    while (*text) {
        bool of_x = *text == 'd';
        char *end;
        long number = strtol(text + of_x, &end, 10);
        bool rest = !strncmp(end, "..", 2);
        if (!of_x)
            dims[count++] = number;
        else
            for (int i = (int)number; i < (rest ? rank : (int)number + 1); i++)
                dims[count++] = i < rank ? handle_dim(c, args[0]->tensor, i) : 1;
        text = end + (rest ? 2 : 0);
        text += *text == '/';
    }
    *out = number_list(dims, count);
    return SKIFF_OK;
}

/* last(x): the number of the last dimension */
RULE(last_axis)
{
    *out = whole_number(handle_ndim(c, args[0]->tensor) - 1);
    return SKIFF_OK;
}

/* unknown(a): if a is a tensor, a list of -1 with one entry per element */
RULE(unknown)
{
    if (args[0]->kind != SKIFF_VALUE_TENSOR)
        return SKIFF_OK;
    int64_t count = handle_dim(c, args[0]->tensor, 0);
    int64_t *longs = arena_alloc(&c->arena, (size_t)(count < 0 ? 1 : count + 1) * sizeof(*longs));
    for (int64_t i = 0; i < count; i++)
        longs[i] = -1;
    *out = number_list(longs, count < 0 ? 0 : (int)count);
    return SKIFF_OK;
}

/* one_unknown(shape) */
RULE(one_unknown)
{
    int seen = 0;
    for (int i = 0; args[0]->kind == SKIFF_VALUE_ATTR && i < args[0]->attr.n; i++)
        if (args[0]->attr.longs[i] == -1 && seen++)
            return error_set(c->err, SKIFF_INVALID,
                             "Only one dimension value of 'shape' in %s can be -1. But received "
                             "shape[%d] is also -1.",
                             c->f->name, i);
    return SKIFF_OK;
}

/* matrix(x) */
RULE(matrix)
{
    if (handle_ndim(c, args[0]->tensor) >= 2)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "x shape in %s must be at least 2-D", c->f->name);
}

/* only_matrix(x) */
RULE(only_matrix)
{
    int rank = handle_ndim(c, args[0]->tensor);
    if (rank <= 2)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "Input(input) only support N-D (N<=2) tensor, but received length of "
                     "Input(input) is %d. Perhaps you can use paddle.tensor.transpose() instead.",
                     rank);
}

/* order(x, perm): as many as x has dimensions */
RULE(order)
{
    int rank = handle_ndim(c, args[0]->tensor);
    if (args[1]->attr.n != rank)
        return error_set(c->err, SKIFF_INVALID,
                         "Input(perm) is the permutation of dimensions of Input(x), its length "
                         "should be equal to dimensions of Input(x), but received dimension of "
                         "Input(x) is %d, the length of Input(perm) is %d.",
                         rank, args[1]->attr.n);
    *out = args[1]->attr;
    return SKIFF_OK;
}

/* flat_start(x, start, stop), flat_stop(x, start, stop): counted from the first dimension */
static enum skiff_status flat(struct call_context *c, const struct skiff_value *const *args,
                              int64_t ends[2])
{
    static const char *const names[] = {"start_axis", "stop_axis"};
    int rank = handle_ndim(c, args[0]->tensor);
    for (int i = 0; i < 2; i++) {
        ends[i] = args[i + 1]->attr.i;
        bool is_int =
            args[i + 1]->attr.type == SKIFF_ATTR_INT || args[i + 1]->attr.type == SKIFF_ATTR_LONG;
        if (!is_int || ends[i] >= rank || ends[i] < -rank)
            return error_set(c->err, SKIFF_INVALID,
                             "The %s should be a int, and in range [-rank(x), rank(x))", names[i]);
        ends[i] += ends[i] < 0 ? rank : 0;
    }
    if (ends[0] > ends[1])
        return error_set(c->err, SKIFF_INVALID, "The stop_axis should be larger than stat_axis");
    return SKIFF_OK;
}

RULE(flat_start)
{
    int64_t ends[2];
    TRY(flat(c, args, ends));
    *out = whole_number(ends[0]);
    return SKIFF_OK;
}

RULE(flat_stop)
{
    int64_t ends[2];
    TRY(flat(c, args, ends));
    *out = whole_number(ends[1]);
    return SKIFF_OK;
}

/* size(x, axis), size(x, axis, n): n, or where it is None how many slices x has along the axis */
RULE(size_along)
{
    if (n > 2 && args[2]->kind == SKIFF_VALUE_ATTR) {
        *out = args[2]->attr;
        return SKIFF_OK;
    }
    int rank = handle_ndim(c, args[0]->tensor);
    int64_t axis = args[1]->attr.i;
    if (axis < -rank || axis >= rank)
        return error_set(c->err, SKIFF_INVALID,
                         "%s: the axis %" PRId64 " is not one of the %d dimensions", c->f->name,
                         axis, rank);
    *out = whole_number(handle_dim(c, args[0]->tensor, (int)(axis < 0 ? axis + rank : axis)));
    return SKIFF_OK;
}

/* ---- split ---- */

/* from_start(x, axis): counted from the first dimension */
RULE(from_start)
{
    *out =
        whole_number(args[1]->attr.i + (args[1]->attr.i < 0 ? handle_ndim(c, args[0]->tensor) : 0));
    return SKIFF_OK;
}

static bool is_list(const struct skiff_value *v)
{
    return v->attr.type == SKIFF_ATTR_INTS || v->attr.type == SKIFF_ATTR_LONGS;
}

/* parts(a): how many equal parts; 0: a has their sizes */
RULE(parts)
{
    *out = whole_number(is_list(args[0]) ? 0 : args[0]->attr.i);
    return SKIFF_OK;
}

/* sections(a): the sizes of parts */
RULE(sections)
{
    static const int64_t none;
    *out = is_list(args[0]) ? args[0]->attr : number_list(&none, 0);
    return SKIFF_OK;
}

/* count(x, a, axis): how many parts, which x must fit */
RULE(count)
{
    if (is_list(args[1])) {
        *out = whole_number(args[1]->attr.n);
        return SKIFF_OK;
    }
    TRY(size_along(c, (const struct skiff_value *const[]){args[0], args[2]}, 2, out));
    int64_t size = out->i, parts = args[1]->attr.i;
    *out = whole_number(parts);
    if (parts > 0 && (size <= 0 || size % parts == 0))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "The input's size along the split dimension must be evenly divisible by "
                     "Attr(num_or_sections). But %" PRId64 " is not evenly divisible by %" PRId64
                     ". ",
                     parts, size);
}

/* ---- slice ---- */

/* flags(axes, starts, ends, ..): -1 for an axis with an end that is known only later, else 1 */
RULE(flags)
{
    int axes = args[0]->attr.n;
    int64_t *longs = arena_alloc(&c->arena, (size_t)(axes + 1) * sizeof(*longs));
    for (int i = 0; i < axes; i++) {
        longs[i] = 1;
        for (int k = 1; k < n; k++)
            if (args[k]->kind == SKIFF_VALUE_TENSOR ||
                (args[k]->kind == SKIFF_VALUE_MIXED && i < args[k]->n && args[k]->tensors[i].var))
                longs[i] = -1;
    }
    *out = number_list(longs, axes);
    return SKIFF_OK;
}

/* ---- new tensors ---- */

const char *dtype_word(const struct call_context *c, const struct skiff_value *v)
{
    static const char *const names[] = {"float32", "float64",  "int64", "int32",
                                        "bool",    "uint8",    "int8",  "int16",
                                        "float16", "bfloat16", NULL};
    if (v->kind != SKIFF_VALUE_ATTR)
        return c->to->default_dtype ? c->to->default_dtype : "float32";
    if (v->attr.type == SKIFF_ATTR_STRING)
        return v->attr.s;
    for (int i = 0; names[i]; i++)
        if (skiff_dtype_number(names[i]) == v->attr.i)
            return names[i];
    return "float32";
}

/* value(a): a number of any kind */
RULE(value)
{
    if (!is_number(&args[0]->attr))
        return error_set(c->err, SKIFF_DTYPE, "%s: the value must be a number", c->f->name);
    *out = (struct skiff_attr){.type = SKIFF_ATTR_FLOAT, .f = number_of(&args[0]->attr)};
    return SKIFF_OK;
}

/* single(x): a tensor of one element, as far as its shape is known */
RULE(single)
{
    int64_t count = 1;
    for (int i = 0; i < handle_ndim(c, args[0]->tensor); i++)
        count *= handle_dim(c, args[0]->tensor, i);
    if (count == 1 || count < 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "%s: the value must be a number or a tensor of one element, but the tensor "
                     "has %" PRId64 " elements",
                     c->f->name, count);
}

/* value_text(a, dtype): the number with all its digits; in eager mode only if a float cannot
 * represent it */
RULE(value_text)
{
    const char *dtype = dtype_word(c, args[1]);
    if (c->to->eager && (dtype[0] == 'f' || dtype[0] == 'b') && strcmp(dtype, "float64") != 0)
        return SKIFF_OK;
    *out = (struct skiff_attr){.type = SKIFF_ATTR_STRING,
                               .s = text_as(&c->arena, &args[0]->attr, dtype)};
    return SKIFF_OK;
}

/* float_type(dtype, 'where'): one of floats, None: the default */
RULE(float_type)
{
    const char *dtype = dtype_word(c, args[0]);
    *out = (struct skiff_attr){.type = SKIFF_ATTR_INT, .i = skiff_dtype_number(dtype)};
    if (!strncmp(dtype, "float", 5) || !strcmp(dtype, "bfloat16"))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_DTYPE,
                     "%s only supports ['float32', 'float64'], but received %s", args[1]->attr.s,
                     dtype);
}

/* low(low, high), high(low, high): if high is None, 0 and low */
static enum skiff_status bounds(struct call_context *c, const struct skiff_value *const *args,
                                int64_t ends[2])
{
    ends[0] = args[0]->attr.i;
    if (args[1]->kind == SKIFF_VALUE_ATTR)
        ends[1] = args[1]->attr.i;
    else if (ends[0] <= 0)
        return error_set(c->err, SKIFF_INVALID,
                         "If high is None, low must be greater than 0, but received low = %" PRId64
                         ".",
                         ends[0]);
    else {
        ends[1] = ends[0];
        ends[0] = 0;
    }
    if (ends[0] >= ends[1])
        return error_set(c->err, SKIFF_INVALID,
                         "%s's low must less then high, but received low = %" PRId64
                         ", high = %" PRId64,
                         c->f->name, ends[0], ends[1]);
    return SKIFF_OK;
}

RULE(low)
{
    int64_t ends[2] = {0};
    TRY(bounds(c, args, ends));
    *out = whole_number(ends[0]);
    return SKIFF_OK;
}

RULE(high)
{
    int64_t ends[2] = {0};
    TRY(bounds(c, args, ends));
    *out = whole_number(ends[1]);
    return SKIFF_OK;
}

/* some(n) */
RULE(some)
{
    if (args[0]->attr.i >= 1)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "The input n should be greater than 0 in %s op.",
                     c->f->name);
}

/* ---- others ---- */

/* nonzero(a, 'the name of a') */
RULE(nonzero)
{
    if (number_of(&args[0]->attr) != 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "%s cannot be 0 for %s", args[1]->attr.s, c->f->name);
}

/* channels(x, axis): of maxout */
RULE(channels)
{
    int64_t axis = args[1]->attr.i;
    if (axis != 1 && axis != -1 && axis != 3)
        return error_set(c->err, SKIFF_INVALID,
                         "Attr(axis) should be 1 when data format is NCHW, -1 or 3 when data "
                         "format is NHWC. Received Attr(axis): %" PRId64 ".",
                         axis);
    return from_start(c, args, n, out);
}

/* ids(x): integers, if the look-up runs at once */
RULE(ids)
{
    const char *dtype = handle_dtype(c, args[0]->tensor);
    if (!c->to->eager || !dtype || (dtype[0] != 'f' && dtype[0] != 'b'))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_UNSUPPORTED,
                     "%s: the ids must be int64 or int32, but x has the type %s", c->f->name,
                     dtype);
}

/* padding(weight, padding_idx): counted from the first row; None: -1 */
RULE(padding)
{
    int64_t rows = handle_dim(c, args[0]->tensor, 0), at = args[1]->attr.i;
    *out = whole_number(-1);
    if (args[1]->kind != SKIFF_VALUE_ATTR)
        return SKIFF_OK;
    if (at < -rows || at >= rows)
        return error_set(c->err, SKIFF_INVALID,
                         "padding_idx must be within [-%" PRId64 ", %" PRId64 ")", rows, rows);
    *out = whole_number(at < 0 ? at + rows : at);
    return SKIFF_OK;
}

const struct call_rule shape_rules[] = {
    {"sizes", "ts", sizes},
    {"shape", "t", shape_of},
    {"last", "t", last_axis},
    {"unknown", "", unknown},
    {"one_unknown", "", one_unknown},
    {"matrix", "t", matrix},
    {"only_matrix", "t", only_matrix},
    {"order", "tl", order},
    {"flat_start", "tii", flat_start},
    {"flat_stop", "tii", flat_stop},
    {"size", "tii", size_along},
    {"from_start", "ti", from_start},
    {"parts", "a", parts},
    {"sections", "a", sections},
    {"count", "tai", count},
    {"flags", "l", flags},
    {"value", "n", value},
    {"single", "t", single},
    {"value_text", "ad", value_text},
    {"float_type", "d", float_type},
    {"low", "ii", low},
    {"high", "ii", high},
    {"some", "i", some},
    {"nonzero", "f", nonzero},
    {"channels", "ti", channels},
    {"ids", "t", ids},
    {"padding", "ti", padding},
    {0},
};
