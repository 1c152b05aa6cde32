/* The ending of a noun behind a count: printf("%d file%s", n, plural(n)). */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

static inline const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
