/* Metrics over all samples so far, outside of a program: fluid.metrics. */
#ifndef SKIFF_METRIC_H
#define SKIFF_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Area under the ROC curve of two histograms of predictions: bucket b of n holds the samples with
 * floor(p * (n - 1)) = b. 0 when there are no positive or no negative samples. */
SKIFF_API double skiff_auc_area(const int64_t *pos, const int64_t *neg, size_t n);
/* Counts `count` predictions, `stride` floats apart, by their labels (0: negative). A prediction
 * outside of 0 .. 1 (or not a number) is refused and nothing is counted. */
SKIFF_API enum skiff_status skiff_auc_count(int64_t *pos, int64_t *neg, size_t n,
                                            const float *predictions, size_t stride,
                                            const int64_t *labels, size_t count,
                                            struct skiff_error *err);

#ifdef __cplusplus
}
#endif
#endif
