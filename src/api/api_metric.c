/* The public face of metrics outside of programs (<skiff/metric.h>). */
#include <skiff/metric.h>

#include "base/error.h"
#include "tensor/auc.h"

double skiff_auc_area(const int64_t *pos, const int64_t *neg, size_t n)
{
    return auc_area(pos, neg, (int64_t)n);
}

enum skiff_status skiff_auc_count(int64_t *pos, int64_t *neg, size_t n, const float *predictions,
                                  size_t stride, const int64_t *labels, size_t count,
                                  struct skiff_error *err)
{
    for (size_t i = 0; i < count; i++) {
        float p = predictions[i * stride];
        if (!(p >= 0 && p <= 1))
            return error_set(err, SKIFF_RANGE, "prediction %zu is %g; predictions are 0 .. 1", i,
                             (double)p);
    }
    for (size_t i = 0; i < count; i++) {
        size_t b = (size_t)((double)predictions[i * stride] * (double)(n - 1));
        (labels[i] ? pos : neg)[b]++;
    }
    return SKIFF_OK;
}
