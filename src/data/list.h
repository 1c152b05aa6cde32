/* Lists in a cell: a|b, a;b, a,b and JSON arrays ["a", "b"]. */
#ifndef DATA_LIST_H
#define DATA_LIST_H

#include <stdbool.h>
#include <string.h>

#include "data/text.h"

#define LIST_JSON '['
static const char list_kinds[] = "|;,["; /* the character between items, or LIST_JSON */

/* The next item of *at .. end that is not empty; false: there is none. *at moves behind it. trim:
 * blanks around an item are no part of it; they never are in JSON, and neither are its quotes. An
 * item of JSON ends at the next comma, so texts with commas in them are cut. */
static inline bool list_next(char kind, bool trim, const char **at, const char *end,
                             const char **item, size_t *n)
{
    while (*at < end) {
        const char *p = *at, *stop = memchr(p, kind == LIST_JSON ? ',' : kind, (size_t)(end - p));
        if (!stop)
            stop = end;
        *at = stop < end ? stop + 1 : end;
        while ((trim || kind == LIST_JSON) && p < stop &&
               (text_blank(*p) || (kind == LIST_JSON && strchr("[]\"", *p))))
            p++;
        while ((trim || kind == LIST_JSON) && p < stop &&
               (text_blank(stop[-1]) || (kind == LIST_JSON && strchr("[]\"", stop[-1]))))
            stop--;
        *item = p;
        *n = (size_t)(stop - p);
        if (*n)
            return true;
    }
    return false;
}

#endif
