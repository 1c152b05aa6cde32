/* Metrics: a registry of counters, gauges and histograms.
 *
 * list.h declares every metric once. An owner (a server, a session, a network node that is given
 * none) creates a registry; modules ask it for a metric at their start and keep the pointer.
 * Updating is then one relaxed atomic operation without a lock, on a cache line that threads rarely
 * share. Two registries in one process are independent; what is asked for twice, with the same
 * values of its labels, is the same metric. */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum metric_id {
#define METRIC(id, kind, name, unit, help, labels) METRIC_##id,
#include "metrics/list.h"
#undef METRIC
    METRIC_IDS
};

enum metric_kind {
    METRIC_KIND_COUNTER,   /* grows */
    METRIC_KIND_GAUGE,     /* current value */
    METRIC_KIND_HISTOGRAM, /* how values are spread; exact below 4, within a quarter above */
};

#define METRIC_LABELS 3 /* at most, without the owner's */

struct metric_def {
    enum metric_kind kind;
    const char *name, *unit, *help, *labels; /* labels: "table,shard"; "": none */
};

/* A row of list.h. */
const struct metric_def *metric_def(enum metric_id id);
/* "counter", "gauge", "histogram" */
const char *metric_kind_name(enum metric_kind kind);
/* The name in log lines: "rpc_calls" of skiff_rpc_calls_total, "rpc_call_ns" of
 * skiff_rpc_call_seconds, because log lines show times as they are kept. */
const char *metric_short_name(enum metric_id id, char out[static 64]);

/* ---- counting ---- */

#define METRIC_CELLS 8 /* of a counter: threads add to different ones; a power of two */

struct metric_cell {
    _Alignas(64) atomic_int_fast64_t value; /* histogram: how many values */
};

struct metric; /* any thread */
struct metric_spread;

struct metric {
    struct metric_cell *cells;
    unsigned mask;                /* number of cells - 1 */
    struct metric_spread *spread; /* histogram */
    enum metric_id id;
    char *labels; /* as Prometheus shows them: "table=\"a\",server=\"0\""; "": none */
    char *first;  /* value of the first label; "": none */
};

/* Threads' stacks, and so their control blocks, lie at least a page apart. */
static inline struct metric_cell *metric_cell(struct metric *m)
{
    return &m->cells[((uintptr_t)pthread_self() >> 12) & m->mask];
}

/* Counter: n is not negative. */
static inline void metric_add(struct metric *m, int64_t n)
{
    atomic_fetch_add_explicit(&metric_cell(m)->value, n, memory_order_relaxed);
}

/* Gauge; or a counter that follows a count which is kept elsewhere, and that nobody adds to. */
static inline void metric_set(struct metric *m, int64_t value)
{
    atomic_store_explicit(&m->cells->value, value, memory_order_relaxed);
}

/* Histogram. */
void metric_observe(struct metric *m, uint64_t value);

/* The value; of a histogram, how many values. */
int64_t metric_value(const struct metric *m);

/* ---- registries ---- */

struct metrics; /* any thread */

/* owner, number: a label of all metrics, server="0"; NULL: none. */
struct metrics *metrics_create(const char *owner, int number);
void metrics_destroy(struct metrics *r); /* NULL is fine; no thread may count any more */

/* Creates the metric on the first request. The values of its labels follow as strings, as many as
 * list.h gives it. */
struct metric *metrics_get(struct metrics *r, enum metric_id id, ...);
/* The sum over all values of its labels; 0 when there is no such metric yet. */
int64_t metrics_value(struct metrics *r, enum metric_id id);

/* ---- reading ---- */

#define METRIC_BUCKETS 252 /* of a histogram: 4 for each power of two */

struct metric_sample {
    enum metric_id id;
    char *labels, *first; /* as of struct metric */
    int64_t value;        /* histogram: how many values */
    uint64_t sum;         /* histogram */
    uint64_t *buckets;    /* histogram, METRIC_BUCKETS; else NULL */
};

/* The values of one moment, in the order of list.h. */
struct metrics_snapshot {
    struct metric_sample *samples;
    size_t n;
};

/* Adds a registry's values; those of the same metric with the same labels are added up. The
 * snapshot begins as {0}. */
void snapshot_add(struct metrics_snapshot *s, struct metrics *r);
/* Takes over the samples of another snapshot, in place of its own of the same name and labels. */
void snapshot_update(struct metrics_snapshot *s, const struct metrics_snapshot *newer);
/* Adds the memory that the process accounts for (base/mem.h), with the owner's label of a registry
 * of it; NULL: without. */
void snapshot_add_memory(struct metrics_snapshot *s, const struct metrics *of);
void snapshot_deinit(struct metrics_snapshot *s);
/* The sum over all values of its labels, or (first not NULL) over those whose first label has this
 * value. */
int64_t snapshot_value(const struct metrics_snapshot *s, enum metric_id id, const char *first);
/* Of a histogram of times: their sum. */
double snapshot_seconds(const struct metrics_snapshot *s, enum metric_id id, const char *first);
/* As snapshot_value, as growth since an earlier snapshot. */
int64_t snapshot_since(const struct metrics_snapshot *now, const struct metrics_snapshot *before,
                       enum metric_id id, const char *first);
/* The value below or at which this share (0 .. 1) of all lies, rounded up to the end of its bucket;
 * 0: there is none. */
uint64_t sample_quantile(const struct metric_sample *s, double share);
/* How many values of a histogram are at most 2^bits - 1. */
uint64_t sample_count_below(const struct metric_sample *s, unsigned bits);

/* "net_frames_in=12 step_ns{read}=40 (mean 812000, 99 % 1900000)": all that are not 0, separated by
 * blanks; histograms by their first label, others over all values of their labels. */
void snapshot_text(const struct metrics_snapshot *s, struct buf *out);
/* Lines for another process, and what such lines say, added to a snapshot. Metrics that this
 * version does not know are passed over; false: the text is not of this form (a part of it may have
 * been added). */
void snapshot_write(const struct metrics_snapshot *s, struct buf *out);
bool snapshot_read(struct metrics_snapshot *s, const char *text, size_t n);
/* The text form of Prometheus, version 0.0.4. */
void snapshot_prometheus(const struct metrics_snapshot *s, struct buf *out);

/* A table of all metrics, in Markdown. */
void metrics_markdown(struct buf *out);

#endif
