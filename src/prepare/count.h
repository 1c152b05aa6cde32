/* Value counts of a column, by the value's 64-bit hash, in bounded memory; and samples of numbers,
 * for quantiles. One user at a time. */
#ifndef PREPARE_COUNT_H
#define PREPARE_COUNT_H

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
    size_t most;  /* limit of distinct values; further ones are not counted */
    size_t texts; /* the texts of so many are kept */
    bool full;    /* the limit was exceeded */
};

void value_counts_deinit(struct value_counts *c);
enum skiff_status value_counts_add(struct value_counts *c, const char *p, size_t n,
                                   struct skiff_error *err);
/* The values with kept texts, frequent ones first, then by text. free() the list; the texts belong
 * to the counts. */
struct value_count **value_counts_sorted(const struct value_counts *c, size_t *out_n);

/* At most `most` of all numbers added, each with the same probability (reservoir sampling),
 * reproducibly. */
struct number_sample {
    double *at;
    int64_t kept, most, seen, capacity;
    uint64_t seed;
    double min, max, sum; /* of all */
};

void number_sample_deinit(struct number_sample *s);
void number_sample_add(struct number_sample *s, double x);
/* Sorts the sample. Add nothing afterwards. */
void number_sample_sort(struct number_sample *s);

#endif
