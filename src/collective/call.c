/* How ranks describe their calls to each other, and how a difference is reported. */
#include <stdio.h>
#include <string.h>

#include "collective/collective_parts.h"

static const char *const names[CALL_KINDS] = {
    "all_reduce",     "reduce", "reduce_scatter",     "all_gather", "all_gather_of",
    "all_gather_any", "gather", "broadcast",          "scatter",    "all_to_all",
    "barrier",        "split",  "opening of a group",
};

const char *call_name(int kind)
{
    return kind >= 0 && kind < CALL_KINDS ? names[kind] : "?";
}

static bool adds_up(const struct collective_call *c)
{
    return c->kind <= CALL_REDUCE_SCATTER;
}

static const char *root_word(const struct collective_call *c)
{
    return c->kind == CALL_BROADCAST || c->kind == CALL_SCATTER ? "from" : "to";
}

void call_print(const struct collective_call *c, char out[CALL_TEXT])
{
    static const char *const ops[] = {"sum", "max", "min", "prod", "avg"};
    int n = snprintf(out, CALL_TEXT, "%s", call_name(c->kind));
    if (adds_up(c))
        n += snprintf(out + n, CALL_TEXT - (size_t)n, "(%s) of %lld %s",
                      c->op <= COLLECTIVE_AVG ? ops[c->op] : "?", (long long)c->count,
                      dtype_name((enum dtype)c->dtype));
    else if (c->kind == CALL_SPLIT)
        n += snprintf(out + n, CALL_TEXT - (size_t)n, " (list %llx)", (unsigned long long)c->count);
    else if (c->kind < CALL_BARRIER && c->count >= 0)
        n += snprintf(out + n, CALL_TEXT - (size_t)n, " of %lld bytes", (long long)c->count);
    if (c->root >= 0)
        snprintf(out + n, CALL_TEXT - (size_t)n, " %s rank %d", root_word(c), c->root);
}

bool call_equal(const struct collective_call *a, const struct collective_call *b)
{
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->root == b->root &&
           a->count == b->count;
}

enum skiff_status call_check(const struct collective *c, const struct collective_call *calls,
                             struct skiff_error *err)
{
    char first[CALL_TEXT], other[CALL_TEXT];
    for (int i = 1; i < c->size; i++)
        if (!call_equal(&calls[0], &calls[i])) {
            call_print(&calls[0], first);
            call_print(&calls[i], other);
            return error_set(err, SKIFF_INVALID,
                             "rank %d calls %s where rank %d calls %s; all ranks must make the "
                             "same calls in the same order",
                             c->ranks[i], other, c->ranks[0], first);
        }
    return SKIFF_OK;
}
