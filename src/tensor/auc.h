/* Area under the curve of two histograms of predictions. Bucket b of n + 1 holds the samples with
 * floor(p * n) = b; the curve is walked from the highest predictions down, in trapezoids. 0 when
 * there are no positive or no negative samples. */
#ifndef TENSOR_AUC_H
#define TENSOR_AUC_H

#include <math.h>
#include <stdint.h>

#define AUC_AREA(name, count)                                                      \
    static inline double name(const count *pos, const count *neg, int64_t buckets) \
    {                                                                              \
        double area = 0, npos = 0, nneg = 0;                                       \
        for (int64_t b = buckets - 1; b >= 0; b--) {                               \
            double pos_before = npos, neg_before = nneg;                           \
            npos += (double)pos[b];                                                \
            nneg += (double)neg[b];                                                \
            area += fabs(nneg - neg_before) * (npos + pos_before) / 2.0;           \
        }                                                                          \
        return npos > 0 && nneg > 0 ? area / npos / nneg : 0.0;                    \
    }

AUC_AREA(auc_area, int64_t)
AUC_AREA(auc_area_of_weights, double)

#endif
