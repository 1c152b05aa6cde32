/* Stats: a registry of counters, gauges and histograms.
 *
 * A server has one; a network node that is given none makes its own. Modules ask the registry for a
 * metric by name, with a one-sentence help text, and keep the pointer; counting is then one relaxed
 * atomic operation without a lock. Two registries in one process are independent; a name requested
 * twice from one registry is the same metric.
 *
 * Names say what is counted, with the unit, if any, at the end: "net_bytes_in", "rpc_call_ns". */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum metric_kind {
    METRIC_COUNTER,   /* grows */
    METRIC_GAUGE,     /* current value */
    METRIC_HISTOGRAM, /* how values are spread; exact below 4, within a quarter above */
};

struct metric {
    atomic_int_fast64_t value; /* histogram: how many values */
    enum metric_kind kind;
    const char *name, *help;      /* constants, or as long as the registry lives */
    struct metric_spread *spread; /* histogram */
};

struct stats; /* any thread */

struct stats *stats_create(void);
void stats_destroy(struct stats *s); /* NULL is fine; no thread may count any more */

/* Creates the metric on the first request. A name has one kind. */
struct metric *stats_counter(struct stats *s, const char *name, const char *help);
struct metric *stats_gauge(struct stats *s, const char *name, const char *help);
struct metric *stats_histogram(struct stats *s, const char *name, const char *help);

static inline void metric_add(struct metric *s, int64_t n)
{
    atomic_fetch_add_explicit(&s->value, n, memory_order_relaxed);
}

static inline void metric_set(struct metric *s, int64_t value)
{
    atomic_store_explicit(&s->value, value, memory_order_relaxed);
}

static inline int64_t metric_value(const struct metric *s)
{
    return atomic_load_explicit(&s->value, memory_order_relaxed);
}

/* Histogram. */
void metric_observe(struct metric *s, uint64_t value);
uint64_t metric_sum(const struct metric *s);
/* The value below or at which this share (0 .. 1) of all lies, rounded up to the end of its bucket;
 * 0: there is none. */
uint64_t metric_quantile(const struct metric *s, double share);

/* The i-th in order of creation; NULL behind the last. */
const struct metric *stats_at(struct stats *s, size_t i);
/* The value of that name; 0 when there is no such metric yet. */
int64_t stats_value(struct stats *s, const char *name);
/* "net_frames_in=12 rpc_call_ns=40 (mean 812000, 99 % 1900000)": all that are not 0, separated by
 * blanks. */
void stats_text(struct stats *s, struct buf *out);

#endif
