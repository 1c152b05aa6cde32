/* Shared by metrics.c, which counts, and snapshot.c, which reads. */
#ifndef METRICS_METRICS_PARTS_H
#define METRICS_METRICS_PARTS_H

#include "metrics/metrics.h"

struct metric_spread {
    atomic_uint_fast64_t sum, buckets[METRIC_BUCKETS];
};

/* The i-th in order of creation; NULL behind the last. */
const struct metric *metrics_at(struct metrics *r, size_t i);

#endif
