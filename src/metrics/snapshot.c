/* Readers: values of one moment, differences, and log lines (metrics.h).
 *
 * A snapshot is sorted by metric and labels, so that registries merge by adding and two snapshots
 * are compared by looking up. It is taken while others count: each number is exact, but numbers of
 * different metrics may be a few updates apart. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/metrics_parts.h"

/* ---- taking ---- */

/* Where a metric stands, or belongs. */
static size_t find_place(const struct metrics_snapshot *s, enum metric_id id, const char *labels,
                         bool *out_found)
{
    size_t i = 0;
    int order = 1;
    for (; i < s->n && s->samples[i].id <= id; i++)
        if (s->samples[i].id == id && (order = strcmp(labels, s->samples[i].labels)) <= 0)
            break;
    *out_found = order == 0;
    return i;
}

struct metric_sample *snapshot_place(struct metrics_snapshot *s, enum metric_id id,
                                     const char *labels, const char *first)
{
    bool found;
    size_t i = find_place(s, id, labels, &found);
    if (found)
        return &s->samples[i];
    s->samples = mem_grow_or_die(s->samples, (s->n + 1) * sizeof *s->samples);
    memmove(s->samples + i + 1, s->samples + i, (s->n - i) * sizeof *s->samples);
    s->n++;
    s->samples[i] = (struct metric_sample){
        .id = id, .labels = mem_strdup_or_die(labels), .first = mem_strdup_or_die(first)};
    if (metric_def(id)->kind == METRIC_KIND_HISTOGRAM)
        s->samples[i].buckets = mem_alloc_or_die(METRIC_BUCKETS * sizeof *s->samples[i].buckets);
    return &s->samples[i];
}

/* The number of values is the sum of the buckets, so that both agree while others count. */
static void add_spread(struct metric_sample *to, const struct metric_spread *from)
{
    to->sum += atomic_load_explicit(&from->sum, memory_order_relaxed);
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        uint64_t n = atomic_load_explicit(&from->buckets[i], memory_order_relaxed);
        to->buckets[i] += n;
        to->value += (int64_t)n;
    }
}

void snapshot_add(struct metrics_snapshot *s, struct metrics *r)
{
    const struct metric *m;
    for (size_t i = 0; (m = metrics_at(r, i)); i++) {
        struct metric_sample *to = snapshot_place(s, m->id, m->labels, m->first);
        if (m->spread)
            add_spread(to, m->spread);
        else
            to->value += metric_value(m);
    }
}

void snapshot_update(struct metrics_snapshot *s, const struct metrics_snapshot *newer)
{
    for (size_t i = 0; i < newer->n; i++) {
        const struct metric_sample *from = &newer->samples[i];
        struct metric_sample *to = snapshot_place(s, from->id, from->labels, from->first);
        to->value = from->value;
        to->sum = from->sum;
        if (from->buckets)
            memcpy(to->buckets, from->buckets, METRIC_BUCKETS * sizeof *to->buckets);
    }
}

void snapshot_add_memory(struct metrics_snapshot *s, const struct metrics *of)
{
    const char *owner = of ? metrics_owner(of) : "";
    snapshot_place(s, METRIC_MEMORY_BYTES, owner, "")->value += (int64_t)mem_in_use();
    snapshot_place(s, METRIC_MEMORY_PEAK_BYTES, owner, "")->value += (int64_t)mem_peak();
    snapshot_place(s, METRIC_MEMORY_ALLOCATIONS, owner, "")->value += (int64_t)mem_alloc_count();
}

void snapshot_deinit(struct metrics_snapshot *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->samples[i].labels);
        free(s->samples[i].first);
        free(s->samples[i].buckets);
    }
    free(s->samples);
    *s = (struct metrics_snapshot){0};
}

/* ---- asking ---- */

int64_t snapshot_value(const struct metrics_snapshot *s, enum metric_id id, const char *first)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->samples[i].id == id && (!first || !strcmp(s->samples[i].first, first)))
            sum += s->samples[i].value;
    return sum;
}

double snapshot_seconds(const struct metrics_snapshot *s, enum metric_id id, const char *first)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->samples[i].id == id && (!first || !strcmp(s->samples[i].first, first)))
            sum += (double)s->samples[i].sum;
    return sum / 1e9;
}

int64_t snapshot_since(const struct metrics_snapshot *now, const struct metrics_snapshot *before,
                       enum metric_id id, const char *first)
{
    return snapshot_value(now, id, first) - snapshot_value(before, id, first);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
    if (bucket < 4)
        return bucket;
    int shift = (int)(bucket / 4) - 1;
    return ((uint64_t)(4 + bucket % 4) << shift) + ((UINT64_C(1) << shift) - 1);
}

uint64_t sample_quantile(const struct metric_sample *s, double share)
{
    uint64_t below = 0;
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        below += s->buckets[i];
        if (below && (double)below >= share * (double)s->value)
            return bucket_end(i);
    }
    return 0;
}

uint64_t sample_count_below(const struct metric_sample *s, unsigned bits)
{
    uint64_t end = (UINT64_C(1) << bits) - 1, n = 0;
    for (size_t i = 0; i < METRIC_BUCKETS && bucket_end(i) <= end; i++)
        n += s->buckets[i];
    return n;
}

/* ---- a log line ---- */

void snapshot_text(const struct metrics_snapshot *s, struct buf *out)
{
    char name[64];
    for (size_t i = 0, end, shown = 0; i < s->n; i = end) {
        struct metric_sample sum = s->samples[i];
        bool labelled = sum.buckets && *sum.first;
        for (end = i + 1; !sum.buckets && end < s->n && s->samples[end].id == sum.id; end++)
            sum.value += s->samples[end].value;
        if (!sum.value)
            continue;
        buf_printf(out, "%s%s%s%s%s=%lld", shown++ ? " " : "", metric_short_name(sum.id, name),
                   labelled ? "{" : "", labelled ? sum.first : "", labelled ? "}" : "",
                   (long long)sum.value);
        if (sum.buckets)
            buf_printf(out, " (mean %llu, 99 %% %llu)",
                       (unsigned long long)sum.sum / (unsigned long long)sum.value,
                       (unsigned long long)sample_quantile(&sum, 0.99));
    }
}
