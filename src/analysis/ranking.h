/* What each row contributes to AUC and log loss: for differences between two predictions of the
 * same rows, with intervals that cover the choice of rows. */
#ifndef ANALYSIS_RANKING_H
#define ANALYSIS_RANKING_H

#include <stdbool.h>
#include <stdint.h>

struct ranked_rows {
    int64_t n;
    const float *weights; /* NULL: 1 each */
    const bool *positive;
    double pos, neg; /* weights of both classes */
};
void ranked_rows_init(struct ranked_rows *r, const bool *positive, const float *weights, int64_t n);

/* place[i]: the share of the rows of the other class that row i is on the right side of (DeLong's
 * placement); their weighted mean over either class is the AUC. sorted: room for n. */
struct ranked_row {
    float p;
    int64_t row;
};
void ranking_places(const struct ranked_rows *r, const float *p, struct ranked_row *sorted,
                    double *place);
void ranking_losses(const struct ranked_rows *r, const float *p, double *loss);
/* Mean and variance of the mean. Places: of either class apart, NAN when one is missing. */
struct ranking_mean {
    double mean, variance;
};
struct ranking_mean ranking_of_places(const struct ranked_rows *r, const double *place);
struct ranking_mean ranking_of_losses(const struct ranked_rows *r, const double *loss);

#endif
