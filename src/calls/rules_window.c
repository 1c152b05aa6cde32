/* Rules about windows that move over sequences, images and volumes: sizes, strides, paddings, and
 * the shapes that fit them. A size is one number or one per dimension; paddings are words (SAME,
 * VALID), one number, one per dimension, or both ends of each dimension. Above each rule stands its
 * form in a row (see rules.c). */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "calls/rules.h"

#define RULE(name)                                                                               \
    static enum skiff_status name(struct call_context *c, const struct skiff_value *const *args, \
                                  int n, struct skiff_attr *out)

static struct skiff_attr number_list(const int64_t *longs, int n)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_LONGS, .n = n, .longs = longs};
}

static bool channels_last(const struct skiff_value *format)
{
    const char *word = format->attr.s;
    return *word && word[strlen(word) - 1] == 'C';
}

static int64_t *longs_make(struct call_context *c, int n)
{
    return arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(int64_t));
}

/* ---- sizes ---- */

/* How many numbers are given: a single one counts as a list of one; 0: none. */
static int given(const struct skiff_value *v, const int64_t **longs)
{
    if (v->kind != SKIFF_VALUE_ATTR || v->attr.type == SKIFF_ATTR_STRING)
        return 0;
    bool list = v->attr.type == SKIFF_ATTR_INTS || v->attr.type == SKIFF_ATTR_LONGS;
    *longs = list ? v->attr.longs : &v->attr.i;
    return list ? v->attr.n : 1;
}

static enum skiff_status window_of(struct call_context *c, const struct skiff_value *v, int count,
                                   const char *name, int64_t *to)
{
    const int64_t *longs = NULL;
    int n = given(v, &longs);
    if (n != 1 && n != count)
        return error_set(c->err, SKIFF_INVALID, "%s must be an int or %d of them, but got %s", name,
                         count,
                         longs                         ? list_text(c, longs, n)
                         : v->kind == SKIFF_VALUE_ATTR ? v->attr.s
                                                       : "None");
    for (int i = 0; i < count; i++)
        to[i] = longs[n == 1 ? 0 : i];
    return SKIFF_OK;
}

/* window(a, n, 'the name of a'): n numbers from one or n. window(a, n, 'a', b): b if a is None. A
 * fifth operand: a 1 is put before them (1) or after them (-1) */
RULE(window)
{
    int count = (int)args[1]->attr.i, side = n > 4 ? (int)args[4]->attr.i : 0;
    const struct skiff_value *v = args[0];
    if (v->kind == SKIFF_VALUE_NONE && n > 3)
        v = args[3];
    int64_t *longs = longs_make(c, count + 1);
    TRY(window_of(c, v, count, args[2]->attr.s, longs + (side > 0)));
    if (side)
        longs[side > 0 ? 0 : count] = 1;
    *out = number_list(longs, count + (side != 0));
    return SKIFF_OK;
}

/* ---- padding ---- */

static bool is_word(const struct skiff_value *v)
{
    return v->attr.type == SKIFF_ATTR_STRING;
}

/* padding_word(padding): SAME, VALID or EXPLICIT */
RULE(padding_word)
{
    const char *word = !is_word(args[0])                       ? "EXPLICIT"
                       : !strcasecmp(args[0]->attr.s, "same")  ? "SAME"
                       : !strcasecmp(args[0]->attr.s, "valid") ? "VALID"
                                                               : NULL;
    if (!word)
        return error_set(c->err, SKIFF_INVALID,
                         "Unknown padding: '%s'. It can only be 'SAME' or 'VALID'.",
                         args[0]->attr.s);
    *out = (struct skiff_attr){.type = SKIFF_ATTR_STRING, .s = word};
    return SKIFF_OK;
}

/* Both ends of every dimension: one number where they are the same. */
static int ends_of(const int64_t *from, int count, int64_t *to)
{
    bool same = true;
    for (int i = 0; i < count; i++)
        same &= from[2 * i] == from[2 * i + 1];
    for (int i = 0; i < (same ? count : 2 * count); i++)
        to[i] = from[same ? 2 * i : i];
    return same ? count : 2 * count;
}

static enum skiff_status paddings_of(struct call_context *c, const struct skiff_value *v, int count,
                                     bool last, int64_t *to, int *n)
{
    *n = count;
    if (is_word(v)) {
        memset(to, 0, (size_t)count * sizeof(*to));
        return SKIFF_OK;
    }
    const int64_t *longs = NULL;
    int numbers = given(v, &longs), most = 2 * count;
    if (v->attr.type == SKIFF_ATTR_INTS) { /* pairs: of all dimensions, or of those of the window */
        int first = last ? 2 : numbers == most + 4 ? 4 : 0;
        if (numbers - first - (last ? 2 : 0) != most)
            return error_set(c->err, SKIFF_INVALID,
                             "padding must be a pair for each of the %d dimensions, but got %s",
                             count, list_text(c, longs, numbers));
        memcpy(to, longs + first, (size_t)most * sizeof(*to));
        *n = most;
        return SKIFF_OK;
    }
    if (numbers == most) {
        *n = ends_of(longs, count, to);
        return SKIFF_OK;
    }
    return window_of(c, v, count, "padding", to);
}

/* paddings(padding, n, data_format). A fourth operand: as many 0 are put before them (1) or after
 * them (-1) */
RULE(paddings)
{
    int count = (int)args[1]->attr.i, side = n > 3 ? (int)args[3]->attr.i : 0, made;
    int64_t *longs = longs_make(c, 4 * count), *sizes = longs_make(c, 2 * count);
    TRY(paddings_of(c, args[0], count, channels_last(args[2]), sizes, &made));
    memset(longs, 0, (size_t)(2 * made) * sizeof(*longs));
    memcpy(longs + (side > 0 ? made : 0), sizes, (size_t)made * sizeof(*longs));
    *out = number_list(longs, side ? 2 * made : made);
    return SKIFF_OK;
}

/* ---- shapes that must fit ---- */

/* format(data_format, 'NCHW', 'NHWC') */
RULE(format)
{
    const char *word = args[0]->kind == SKIFF_VALUE_ATTR ? args[0]->attr.s : "None";
    if (!strcmp(word, args[1]->attr.s) || !strcmp(word, args[2]->attr.s))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "Attr(data_format) should be '%s' or '%s'. Received Attr(data_format): %s.",
                     args[1]->attr.s, args[2]->attr.s, word);
}

static int64_t channels_of(const struct call_context *c, const struct skiff_value *x, bool last)
{
    return handle_dim(c, x->tensor, last ? handle_ndim(c, x->tensor) - 1 : 1);
}

/* conv_channels(x, rank, data_format, groups, 'function'): x has this rank, and as many channels as
 * the groups can share */
RULE(conv_channels)
{
    const char *shape = handle_text(c, args[0]->tensor);
    if (handle_ndim(c, args[0]->tensor) != args[1]->attr.i)
        return error_set(c->err, SKIFF_INVALID,
                         "Input x should be %" PRId64
                         "D tensor, but received x with the shape of %s",
                         args[1]->attr.i, shape);
    int64_t channels = channels_of(c, args[0], channels_last(args[2])), groups = args[3]->attr.i;
    if (channels < 0)
        return error_set(c->err, SKIFF_INVALID,
                         "The channel dimension of the input(%s) should be defined. Received: "
                         "%" PRId64 ".",
                         shape, channels);
    if (groups <= 0)
        return error_set(c->err, SKIFF_INVALID,
                         "The groups of %s should be greater than 0. Received groups: %" PRId64,
                         args[4]->attr.s, groups);
    if (channels % groups == 0)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "the channel of input must be divisible by groups, received: the channel of "
                     "input is %" PRId64 ", the shape of input is %s, the groups is %" PRId64,
                     channels, shape, groups);
}

/* deep(x, weight, groups, data_format): every channel has filters of its own */
RULE(deep)
{
    int64_t channels = channels_of(c, args[0], channels_last(args[3]));
    bool deep = channels == args[2]->attr.i && channels != 1 && channels != 0 &&
                handle_ndim(c, args[1]->tensor) > 0 &&
                handle_dim(c, args[1]->tensor, 0) % channels == 0;
    *out = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = deep};
    return SKIFF_OK;
}

/* channel_axis(data_format) */
RULE(channel_axis)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_LONG, .i = channels_last(args[0]) ? -1 : 1};
    return SKIFF_OK;
}

/* one_more(data_format, a, b): [a], or [b] if channels are last: the dimension that turns sequences
 * into images */
RULE(one_more)
{
    int64_t *longs = longs_make(c, 1);
    longs[0] = args[channels_last(args[0]) ? 2 : 1]->attr.i;
    *out = number_list(longs, 1);
    return SKIFF_OK;
}

/* image(data_format): that of images */
RULE(image)
{
    *out = (struct skiff_attr){.type = SKIFF_ATTR_STRING,
                               .s = channels_last(args[0]) ? "NHWC" : "NCHW"};
    return SKIFF_OK;
}

/* with_mask(data_format, 'NCHW', 'function') */
RULE(with_mask)
{
    if (!channels_last(args[0]))
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "When setting return_mask to true, data_format must be set to %s in API:%s",
                     args[1]->attr.s, args[2]->attr.s);
}

/* pool_rank(x, rank) */
RULE(pool_rank)
{
    if (handle_ndim(c, args[0]->tensor) == args[1]->attr.i)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "The input should have %" PRId64
                     " dimensions, but received a tensor of shape %s",
                     args[1]->attr.i, handle_text(c, args[0]->tensor));
}

/* per_window(kernel_size, n, divisor): elements of a window for one of the divisor */
RULE(per_window)
{
    int count = (int)args[1]->attr.i;
    int64_t *sizes = longs_make(c, count);
    TRY(window_of(c, args[0], count, "kernel_size", sizes));
    double elements = 1, divisor = number_of(&args[2]->attr);
    for (int i = 0; i < count; i++)
        elements *= (double)sizes[i];
    if (divisor == 0)
        return error_set(c->err, SKIFF_INVALID, "divisor_override cannot be 0");
    *out = (struct skiff_attr){.type = SKIFF_ATTR_FLOAT, .f = elements / divisor};
    return SKIFF_OK;
}

const struct call_rule window_rules[] = {
    {"window", "wisw", window},
    {"paddings", "wis", paddings},
    {"padding_word", "w", padding_word},
    {"format", "s", format},
    {"conv_channels", "tisi", conv_channels},
    {"deep", "ttis", deep},
    {"channel_axis", "s", channel_axis},
    {"one_more", "s", one_more},
    {"image", "s", image},
    {"with_mask", "s", with_mask},
    {"pool_rank", "t", pool_rank},
    {"per_window", "wif", per_window},
    {0},
};
