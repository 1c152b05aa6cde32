/* Features: the columns of the user's table, and where a column lies in batches. A column that
 * feeds several slots (a number and its buckets) is one feature; columns that share a ragged slot,
 * whose values cannot be separated, are one together. */
#ifndef ANALYSIS_FEATURES_H
#define ANALYSIS_FEATURES_H

#include "data/reader.h"

struct feature_part {
    int slot;
    int at; /* value in a dense slot; -1: the whole slot */
};
struct feature {
    char *name; /* owned */
    struct feature_part *parts;
    int nparts;
};
struct features {
    struct feature *at;
    int n;
};

/* wanted: slots that count; the others are left out. */
void features_init(struct features *f, const struct reader *r, const bool *wanted);
void features_deinit(struct features *f);

#endif
