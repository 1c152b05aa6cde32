#include "data/distinct.h"

#include <math.h>

#include "base/hash.h"

void distinct_add(struct distinct *d, int64_t value)
{
    uint64_t h = hash_xxh64(&value, 8, 0);
    unsigned char rank = (unsigned char)(__builtin_clzll(h << DISTINCT_BITS | 1) + 1);
    unsigned char *at = &d->rank[h >> (64 - DISTINCT_BITS)];
    if (rank > *at)
        *at = rank;
}

double distinct_count(const struct distinct *d)
{
    double sum = 0;
    int empty = 0;
    for (int i = 0; i < DISTINCT_GROUPS; i++) {
        sum += ldexp(1, -d->rank[i]);
        empty += d->rank[i] == 0;
    }
    double n = 0.7213 / (1 + 1.079 / DISTINCT_GROUPS) * DISTINCT_GROUPS * DISTINCT_GROUPS / sum;
    if (n <= 2.5 * DISTINCT_GROUPS && empty) /* few values: by the share of groups without one */
        n = DISTINCT_GROUPS * log((double)DISTINCT_GROUPS / empty);
    return n;
}
