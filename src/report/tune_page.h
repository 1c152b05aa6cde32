/* The page of a search (skiff tune): a table of trials, a plot for each key that has numbers. */
#ifndef REPORT_TUNE_PAGE_H
#define REPORT_TUNE_PAGE_H

#include "base/buf.h"

struct tune_row {
    int number;
    const char *state;         /* "done" */
    const char *const *values; /* of the keys, in their order */
    double value;              /* NAN: none */
    int epochs;
    double seconds;
    int seeds; /* above 1: mean, low and high are over them */
    double mean, low, high;
    const char *error; /* or NULL */
};

struct tune_page {
    const char *config, *method, *metric; /* "log loss" */
    const char *const *keys;
    const int *logarithmic; /* by key: 1: its values are plotted by their logarithms */
    int nkeys;
    const struct tune_row *rows; /* the best one first */
    int nrows;
    const char *command; /* of the best one; "": none is known */
};

/* One file: nothing is loaded from elsewhere. */
void tune_page_html(const struct tune_page *t, struct buf *out);

#endif
