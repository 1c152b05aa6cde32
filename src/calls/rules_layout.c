/* Rules about the position of the channel axis, and the attributes of norms. The data format is a
 * word such as NCHW or NHWC; its second or last letter gives the position of the channels. Above
 * each rule stands its form in a row (see rules.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/rules.h"

#define RULE(name)                                                                               \
    static enum skiff_status name(struct call_context *c, const struct skiff_value *const *args, \
                                  int n, struct skiff_attr *out)

static struct skiff_attr text_attr(const char *s)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_STRING, .s = s};
}

static struct skiff_attr truth_attr(bool b)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_BOOLEAN, .i = b};
}

static struct skiff_attr int_attr(int64_t i)
{
    return (struct skiff_attr){.type = SKIFF_ATTR_LONG, .i = i};
}

static bool is_true(const struct skiff_value *v)
{
    return v->kind == SKIFF_VALUE_ATTR && v->attr.i;
}

/* ---- formats ---- */

/* known_format(data_format) */
RULE(known_format)
{
    static const char *const known[] = {"NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"};
    const char *word = args[0]->kind == SKIFF_VALUE_ATTR ? args[0]->attr.s : "None";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(word, known[i]))
            return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "data_format must be one of 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC', "
                     "'NDHWC' but receive %s",
                     word);
}

/* layout(data_format): of images, by its second letter. last_layout: by its last one */
RULE(layout)
{
    const char *word = args[0]->attr.s;
    *out = text_attr(word && word[0] && word[1] == 'C' ? "NCHW" : "NHWC");
    return SKIFF_OK;
}

RULE(last_layout)
{
    const char *word = args[0]->attr.s;
    *out = text_attr(word && *word && word[strlen(word) - 1] == 'C' ? "NHWC" : "NCHW");
    return SKIFF_OK;
}

/* weights(x, weight, data_format): of prelu, for all elements or by channels */
RULE(weights)
{
    if (handle_ndim(c, args[1]->tensor) != 1)
        return error_set(c->err, SKIFF_INVALID,
                         "The dim count of weight shape should be 1 in prelu().");
    int rank = handle_ndim(c, args[0]->tensor);
    int64_t count = handle_dim(c, args[1]->tensor, 0);
    int channels = args[2]->attr.s[1] == 'C' ? 1 : rank - 1;
    if (count > 1 &&
        (channels >= rank || channels < 0 || handle_dim(c, args[0]->tensor, channels) != count))
        return error_set(c->err, SKIFF_INVALID,
                         "The weight size should be equal to x input channel in prelu() when "
                         "weight shape is not [1].");
    *out = text_attr(count > 1 ? "channel" : "all");
    return SKIFF_OK;
}

/* ---- norms ---- */

/* norm_begin(x, shape): where the last dimensions begin, which must be these */
RULE(norm_begin)
{
    const int64_t *wanted = args[1]->attr.longs;
    int rank = handle_ndim(c, args[0]->tensor), count = args[1]->attr.n, begin = rank - count;
    bool fits = begin >= 0;
    for (int i = 0; fits && i < count; i++)
        fits = handle_dim(c, args[0]->tensor, begin + i) == wanted[i];
    if (!fits) {
        const char *text = list_text(c, wanted, count);
        return error_set(c->err, SKIFF_INVALID,
                         "Given normalized_shape is %s, expected input with shape [*, %.*s, but "
                         "got input shape %s",
                         text, (int)strlen(text) - 2, text + 1, handle_text(c, args[0]->tensor));
    }
    *out = int_attr(begin);
    return SKIFF_OK;
}

/* norm_axis(x, axis) */
RULE(norm_axis)
{
    int64_t axis = args[1]->attr.i;
    if (handle_ndim(c, args[0]->tensor) != 1 || axis == 0 || axis == -1)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID,
                     "Axis must be 0 or -1 when x is a 1-D tensor, but received axis = %" PRId64,
                     axis);
}

/* has_channels(x) */
RULE(has_channels)
{
    if (handle_ndim(c, args[0]->tensor) >= 2)
        return SKIFF_OK;
    return error_set(c->err, SKIFF_INVALID, "input dim must be larger than 1");
}

/* own_stats(use_global_stats): true if it is given and false */
static bool says_no(const struct skiff_value *v)
{
    return v->kind == SKIFF_VALUE_ATTR && !v->attr.i;
}

RULE(own_stats)
{
    *out = truth_attr(says_no(args[0]));
    return SKIFF_OK;
}

/* global_stats(training, use_global_stats): the given value, otherwise not training */
RULE(global_stats)
{
    *out = truth_attr(args[1]->kind == SKIFF_VALUE_ATTR ? is_true(args[1]) : !is_true(args[0]));
    return SKIFF_OK;
}

/* learns(training, use_global_stats): true if batch_norm keeps values for its gradient */
RULE(learns)
{
    *out = truth_attr(is_true(args[0]) || says_no(args[1]));
    return SKIFF_OK;
}

const struct call_rule layout_rules[] = {
    {"known_format", "s", known_format},
    {"layout", "s", layout},
    {"last_layout", "s", last_layout},
    {"weights", "tts", weights},
    {"norm_begin", "tl", norm_begin},
    {"norm_axis", "ti", norm_axis},
    {"has_channels", "t", has_channels},
    {"own_stats", "b", own_stats},
    {"global_stats", "bb", global_stats},
    {"learns", "bb", learns},
    {0},
};
