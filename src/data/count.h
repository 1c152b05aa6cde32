/* Counts: how often each value of a column occurs, by its 64-bit hash, in bounded memory; and
 * samples of numbers, for quantiles. One user at a time. */
#ifndef DATA_COUNT_H
#define DATA_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct value_count {
    uint64_t hash; /* 0: free */
    int64_t count;
    char *text; /* owned; NULL: not kept */
};

struct value_counts {
    struct value_count *at; /* `slots` of them, a power of two */
    size_t slots, distinct;
    size_t most;  /* distinct values that are counted; further ones are not */
    size_t texts; /* of so many the texts are kept, too */
    bool full;    /* there were further ones */
};

void value_counts_deinit(struct value_counts *c);
enum skiff_status value_counts_add(struct value_counts *c, const char *p, size_t n,
                                   struct skiff_error *err);
/* Those whose texts are kept, frequent ones first, then by text; free() the list, the texts stay
 * the counts'. */
struct value_count **value_counts_sorted(const struct value_counts *c, size_t *out_n);

/* At most `most` numbers of all that were added, each with the same chance (reservoir sampling),
 * the same ones every time. */
struct number_sample {
    double *at;
    int64_t kept, most, seen, room;
    uint64_t seed;
    double min, max, sum; /* of all */
};

void number_sample_deinit(struct number_sample *s);
void number_sample_add(struct number_sample *s, double x);
/* Sorts what was kept. Afterwards nothing is to be added. */
void number_sample_sort(struct number_sample *s);

#endif
