/* A registry of metrics (stats.h).
 *
 * Metrics are created under a lock and never removed before the registry, so their pointers stay
 * valid and counting needs no lock. Each has cache lines of its own: counters of different threads
 * must not share one. A histogram has four buckets for each power of two. */
#include "base/stats.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LINE 64     /* bytes of a cache line: counters of different threads do not share one */
#define BUCKETS 252 /* 4 for each power of two */

struct metric_spread {
    atomic_uint_fast64_t sum, bucket[BUCKETS];
};

struct stats {
    pthread_mutex_t lock; /* of the list; a leaf */
    struct metric **list;
    size_t count;
};

struct stats *stats_create(void)
{
    struct stats *s = mem_alloc_or_die(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stats_destroy(struct stats *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->list[i]->spread);
        free(s->list[i]);
    }
    free(s->list);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Locked. */
static struct metric *find(const struct stats *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->list[i]->name, name))
            return s->list[i];
    return NULL;
}

static struct metric *metric_create(enum metric_kind kind, const char *name, const char *help)
{
    struct metric *one = aligned_alloc(LINE, (sizeof *one + LINE - 1) / LINE * LINE);
    if (!one)
        abort(); /* a few bytes of our own */
    memset(one, 0, sizeof *one);
    one->kind = kind;
    one->name = name;
    one->help = help;
    if (kind == METRIC_HISTOGRAM)
        one->spread = mem_alloc_or_die(sizeof *one->spread);
    return one;
}

static struct metric *get(struct stats *s, enum metric_kind kind, const char *name,
                          const char *help)
{
    pthread_mutex_lock(&s->lock);
    struct metric *one = find(s, name);
    if (!one) {
        one = metric_create(kind, name, help);
        s->list = mem_grow_or_die(s->list, (s->count + 1) * sizeof *s->list);
        s->list[s->count++] = one;
    }
    pthread_mutex_unlock(&s->lock);
    if (one->kind != kind)
        abort(); /* two parts of the program mean different things by one name */
    return one;
}

struct metric *stats_counter(struct stats *s, const char *name, const char *help)
{
    return get(s, METRIC_COUNTER, name, help);
}

struct metric *stats_gauge(struct stats *s, const char *name, const char *help)
{
    return get(s, METRIC_GAUGE, name, help);
}

struct metric *stats_histogram(struct stats *s, const char *name, const char *help)
{
    return get(s, METRIC_HISTOGRAM, name, help);
}

/* ---- histograms ---- */

/* 0, 1, 2, 3 have a bucket each; above, the highest bit and the two behind it choose one. */
static size_t bucket_of(uint64_t value)
{
    if (value < 4)
        return (size_t)value;
    int top = 63 - __builtin_clzll(value);
    return (size_t)(top - 1) * 4 + (value >> (top - 2) & 3);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
    if (bucket < 4)
        return bucket;
    int shift = (int)(bucket / 4) - 1;
    return ((uint64_t)(4 + bucket % 4) << shift) + ((UINT64_C(1) << shift) - 1);
}

void metric_observe(struct metric *s, uint64_t value)
{
    atomic_fetch_add_explicit(&s->spread->bucket[bucket_of(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->spread->sum, value, memory_order_relaxed);
    metric_add(s, 1);
}

uint64_t metric_sum(const struct metric *s)
{
    return atomic_load_explicit(&s->spread->sum, memory_order_relaxed);
}

uint64_t metric_quantile(const struct metric *s, double share)
{
    uint64_t seen[BUCKETS], all = 0, below = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        all += seen[i] = atomic_load_explicit(&s->spread->bucket[i], memory_order_relaxed);
    for (size_t i = 0; i < BUCKETS; i++) {
        below += seen[i];
        if (below && (double)below >= share * (double)all)
            return bucket_end(i);
    }
    return 0;
}

/* ---- showing ---- */

const struct metric *stats_at(struct stats *s, size_t i)
{
    pthread_mutex_lock(&s->lock);
    const struct metric *one = i < s->count ? s->list[i] : NULL;
    pthread_mutex_unlock(&s->lock);
    return one;
}

int64_t stats_value(struct stats *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    const struct metric *one = find(s, name);
    pthread_mutex_unlock(&s->lock);
    return one ? metric_value(one) : 0;
}

void stats_text(struct stats *s, struct buf *out)
{
    const struct metric *one;
    for (size_t i = 0, shown = 0; (one = stats_at(s, i)); i++) {
        if (!metric_value(one))
            continue;
        buf_printf(out, "%s%s=%lld", shown++ ? " " : "", one->name, (long long)metric_value(one));
        if (one->kind == METRIC_HISTOGRAM)
            buf_printf(out, " (mean %llu, 99 %% %llu)",
                       (unsigned long long)metric_sum(one) / (unsigned long long)metric_value(one),
                       (unsigned long long)metric_quantile(one, 0.99));
    }
}
