/* What the measurements of tables have in common. */
#ifndef BENCH_TABLE_FIXTURE_H
#define BENCH_TABLE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

static inline void check(enum skiff_status status, const struct skiff_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* Ids as hashes make them. */
static inline int64_t id_of(size_t row)
{
    return (int64_t)((uint64_t)(row + 1) * UINT64_C(0xbf58476d1ce4e5b9));
}

#endif
