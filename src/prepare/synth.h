/* Synth: Criteo-shaped rows from a planted model, and the best AUC that any model can reach on
 * them.
 *
 * Row r of seed s is the same whatever rows are made with it: train and test files are different
 * ranges of rows. The click of a row is drawn with probability p = sigmoid(planted score of its
 * values); since p is a function of what stands in the row, nothing can rank rows better than p.
 *
 * Score: a weight per value of C1..C26 for the 32 most frequent values of each column, weights for
 * pairs of values of six columns, and a piecewise linear part for I1..I13 (up to the maximum of the
 * Paddle documents). The rank of a value in its column is V^(u*u) of a uniform u, so few are
 * frequent and many are rare, as in Criteo. */
#ifndef PREPARE_SYNTH_H
#define PREPARE_SYNTH_H

#include "base/buf.h"
#include "base/error.h"

struct synth_model; /* the planted weights */

struct synth_model *synth_model_create(uint64_t seed);
void synth_model_destroy(struct synth_model *m);
/* Appends row `row` as a line; returns its click probability; *out_click is what was drawn. Many
 * threads may use one model. */
double synth_row(const struct synth_model *m, int64_t row, struct buf *out, int *out_click);

struct synth_config {
    uint64_t seed;
    int64_t first, rows;
    int files;       /* rows are spread over so many; 0: 1 */
    const char *dir; /* made if it is missing; files are dir/part-000, ... */
};

struct synth_report {
    int64_t rows, clicks, bytes;
    double best_auc;      /* expected AUC of the planted probabilities over these rows */
    double best_log_loss; /* expected, mean per row */
    double drawn_auc;     /* of the planted probabilities against the clicks that were drawn */
};

enum skiff_status synth_write(const struct synth_config *config, struct synth_report *out,
                              struct skiff_error *err);

/* Expected AUC and log loss of known probabilities: pairs are weighed by p and 1 - p. Scores are
 * sorted into 2^16 buckets of the logit; the error is below 1e-4. */
struct best_auc {
    double *clicks, *others; /* per bucket, expected */
    double *drawn_clicks, *drawn_others;
    double log_loss;
    int64_t rows;
};

void best_auc_init(struct best_auc *a);
void best_auc_deinit(struct best_auc *a);
void best_auc_add(struct best_auc *a, double p, int click);
double best_auc_expected(const struct best_auc *a);
double best_auc_drawn(const struct best_auc *a);

#endif
