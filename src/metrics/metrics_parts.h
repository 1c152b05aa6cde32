/* Shared by metrics.c, which counts, and by snapshot.c and transfer.c, which read. */
#ifndef METRICS_METRICS_PARTS_H
#define METRICS_METRICS_PARTS_H

#include "metrics/metrics.h"

struct metric_spread {
    atomic_uint_fast64_t sum, buckets[METRIC_BUCKETS];
};

/* The label of all its metrics; "": none. */
const char *metrics_owner(const struct metrics *r);
/* The i-th in order of creation; NULL behind the last. */
const struct metric *metrics_at(struct metrics *r, size_t i);

/* The sample with these labels; it is added if there is none. Valid until the next one is added. */
struct metric_sample *snapshot_place(struct metrics_snapshot *s, enum metric_id id,
                                     const char *labels, const char *first);

#endif
