/* Expanding Slurm's host lists (host_list.h).
 *
 * The text comes from the environment, so every number is limited, and so is the number of hosts
 * (HOST_LIST_MAX): "n[1-999999999]" is an error, not a loop. Numbers keep their leading zeros,
 * since host names have them. */
#include "fleet/host_list.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NAME_MAX_BYTES 255
#define DIGITS 9 /* of a number at most: it fits into an int */

struct expansion {
    const char *what, *text; /* for messages */
    struct skiff_error *err;
    char **names;
    int n;
};

static enum skiff_status refuse(const struct expansion *x, const char *why)
{
    return error_set(x->err, SKIFF_INVALID,
                     "%s is '%.300s': %s; expected a list of hosts such as n[1-3,7] or a1,b2",
                     x->what, x->text, why);
}

static enum skiff_status add_name(struct expansion *x, const char *name)
{
    if (!*name)
        return refuse(x, "there is no name before or behind a comma");
    if (x->n == HOST_LIST_MAX)
        return refuse(x, "it names more than 65536 hosts");
    if ((x->n & (x->n - 1)) == 0) /* a power of two, or 0: full */
        x->names = mem_grow_or_die(x->names, (size_t)(x->n ? 2 * x->n : 1) * sizeof *x->names);
    x->names[x->n++] = mem_strdup_or_die(name);
    return SKIFF_OK;
}

/* Reads digits; false: there are none, or too many. */
static bool read_number(const char **at, int *out, int *out_width)
{
    size_t n = 0;
    while (isdigit((unsigned char)(*at)[n]))
        n++;
    if (n < 1 || n > DIGITS)
        return false;
    *out = (int)strtol(*at, NULL, 10);
    *out_width = (int)n;
    *at += n;
    return true;
}

static enum skiff_status expand(struct expansion *x, const char *prefix, const char *rest,
                                size_t n);

/* "3" or "01-03" at *at, each number between prefix and what is behind the bracket. */
static enum skiff_status expand_range(struct expansion *x, const char *prefix, const char **at,
                                      const char *behind, size_t nbehind)
{
    int first, last, width, ignored;
    char name[NAME_MAX_BYTES + 1];
    if (!read_number(at, &first, &width))
        return refuse(x, "expected a number behind [, - or , in brackets");
    last = first;
    if (**at == '-') {
        ++*at;
        if (!read_number(at, &last, &ignored))
            return refuse(x, "expected a number behind [, - or , in brackets");
    }
    if (last < first)
        return refuse(x, "a range ends before it begins");
    for (int i = first; i <= last; i++) {
        int len = snprintf(name, sizeof name, "%s%0*d", prefix, width, i);
        if (len < 0 || (size_t)len >= sizeof name)
            return refuse(x, "a name is longer than 255 bytes");
        TRY(expand(x, name, behind, nbehind));
    }
    return SKIFF_OK;
}

/* All names of prefix + rest[0 .. n), which is one element of the list. */
static enum skiff_status expand(struct expansion *x, const char *prefix, const char *rest, size_t n)
{
    char name[NAME_MAX_BYTES + 1];
    const char *open = memchr(rest, '[', n), *close = memchr(rest, ']', n);
    size_t plain = open ? (size_t)(open - rest) : n;
    int len = snprintf(name, sizeof name, "%s%.*s", prefix, (int)plain, rest);
    if (len < 0 || (size_t)len >= sizeof name)
        return refuse(x, "a name is longer than 255 bytes");
    if (!open)
        return close ? refuse(x, "a bracket is not opened") : add_name(x, name);
    if (!close)
        return refuse(x, "a bracket is not closed");
    if (close < open)
        return refuse(x, "a bracket is not opened");
    size_t behind = (size_t)(rest + n - (close + 1));
    for (const char *at = open + 1;; at++) {
        TRY(expand_range(x, name, &at, close + 1, behind));
        if (at == close)
            return SKIFF_OK;
        if (*at != ',')
            return refuse(x, "expected - or , between numbers in brackets");
    }
}

/* Length of an element: up to a comma outside of brackets. */
static size_t element(const char *text)
{
    bool inside = false;
    size_t n = 0;
    for (; text[n] && (inside || text[n] != ','); n++)
        inside = text[n] == '[' || (inside && text[n] != ']');
    return n;
}

enum skiff_status host_list_expand(const char *what, const char *text, char ***out, int *out_n,
                                   struct skiff_error *err)
{
    struct expansion x = {.what = what, .text = text, .err = err};
    enum skiff_status status = SKIFF_OK;
    for (const char *at = text; status == SKIFF_OK;) {
        size_t n = element(at);
        status = expand(&x, "", at, n);
        at += n;
        if (!*at++)
            break;
    }
    if (status < 0) {
        for (int i = 0; i < x.n; i++)
            free(x.names[i]);
        free(x.names);
        return status;
    }
    *out = x.names;
    *out_n = x.n;
    return SKIFF_OK;
}

static enum skiff_status refuse_counts(const char *what, const char *text, struct skiff_error *err)
{
    return error_set(err, SKIFF_INVALID, "%s is '%.300s'; expected numbers such as 2(x3),1", what,
                     text);
}

enum skiff_status count_list_expand(const char *what, const char *text, int **out, int *out_n,
                                    struct skiff_error *err)
{
    int *counts = NULL, n = 0, value, width;
    for (const char *at = text;; at++) {
        int times = 1;
        bool good = read_number(&at, &value, &width);
        if (good && *at == '(') {
            good = at[1] == 'x';
            at += good ? 2 : 0;
            good = good && read_number(&at, &times, &width) && *at == ')';
            at += good ? 1 : 0;
        }
        if (!good || (*at && *at != ',') || times > HOST_LIST_MAX - n) {
            free(counts);
            return refuse_counts(what, text, err);
        }
        counts = mem_grow_or_die(counts, (size_t)(n + times + 1) * sizeof *counts);
        for (int i = 0; i < times; i++)
            counts[n++] = value;
        if (!*at)
            break;
    }
    *out = counts;
    *out_n = n;
    return SKIFF_OK;
}
