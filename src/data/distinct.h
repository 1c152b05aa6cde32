/* Distinct values, estimated in little memory (HyperLogLog, 4096 groups: off by about 1.6 %). A
 * zeroed one is empty. Threads: one user at a time. */
#ifndef DATA_DISTINCT_H
#define DATA_DISTINCT_H

#include <stdint.h>

#define DISTINCT_BITS 12
#define DISTINCT_GROUPS (1 << DISTINCT_BITS)

struct distinct {
    unsigned char rank[DISTINCT_GROUPS]; /* longest run of zero bits, plus one */
};

void distinct_add(struct distinct *d, int64_t value);
double distinct_count(const struct distinct *d);

#endif
