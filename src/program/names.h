/* unique_name: one counter per key: "fc" -> fc_0, fc_1, ... A guard swaps in fresh counters, with a
 * prefix. */
#ifndef PROGRAM_NAMES_H
#define PROGRAM_NAMES_H

#include "base/arena.h"
#include "base/map.h"

struct names {
    struct arena arena;
    struct str_map counters;
    const char *prefix;
    struct names *outer; /* set by guards */
};

void names_init(struct names *n, const char *prefix);
void names_deinit(struct names *n);
const char *names_next(struct names *n,
                       const char *key); /* prefix + key + "_" + counter; lives as long as n */

#endif
