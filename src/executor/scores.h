/* Scores: predictions with their labels, and the metrics that need every one of them.
 *
 * A score is a prediction, the weight of its positive and of its negative samples, and its group.
 * Up to SCORES_EXACT of them the metrics are exact. Beyond that equal ones are put together, and
 * where that does not suffice predictions lose bits of their mantissa, so that memory is bounded:
 * at least 8 bits stay. Threads: one user at a time. */
#ifndef EXECUTOR_SCORES_H
#define EXECUTOR_SCORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCORES_EXACT ((size_t)1 << 21)

struct score {
    uint64_t group;
    double pos, neg; /* weights */
    float p;
};

struct scores {
    struct score *at;    /* owned */
    size_t n, cap, most; /* most: n at which equal ones are put together; 0: SCORES_EXACT */
    int dropped;         /* bits of the mantissa */
};

void scores_deinit(struct scores *s);
void scores_reset(struct scores *s); /* keeps its memory */
void scores_add(struct scores *s, float p, bool positive, double weight, uint64_t group);
void scores_append(struct scores *s, const struct scores *other);

#define SCORE_LIFTS 3
extern const double score_lift_shares[SCORE_LIFTS]; /* 0.01, 0.05, 0.1 */

/* NAN where a number is not defined: one class alone, no groups. Weights count everywhere. */
struct score_metrics {
    double weight, positives;
    double auc;
    double pr_auc; /* average precision: sum of (R_n - R_n-1) P_n over distinct predictions */
    double ks;     /* largest distance of the two distributions */
    /* positives among the highest predictions over those among as many random samples; equal
     * predictions at the border count by their share */
    double lift[SCORE_LIFTS];
    double log_loss;           /* predictions within 1e-7 .. 1 - 1e-7, as floats */
    double normalised_entropy; /* log loss over that of the share of positives */
    double group_auc;          /* mean of the AUC of groups with both classes, by weight */
    int64_t groups;            /* those */
    double threshold;          /* a prediction of at least that is positive: */
    double true_pos, false_pos, false_neg, true_neg;
    double precision, recall, f1; /* NAN: 0 / 0 */
};

/* Sorts the scores. grouped: groups are known. */
void score_metrics_of(struct scores *s, double threshold, bool grouped, struct score_metrics *out);

#endif
