/* A registry of metrics (metrics.h).
 *
 * Metrics are created under a lock and never removed before the registry, so their pointers stay
 * valid and counting needs no lock. A counter has several cells, each in a cache line of its own: a
 * thread adds to one of them, chosen by its address, and readers add them up. A histogram has four
 * buckets for each power of two. */
#include "metrics/metrics.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/metrics_parts.h"

static const struct metric_def defs[METRIC_IDS] = {
#define METRIC(id, kind, name, unit, help, labels) \
    [METRIC_##id] = {METRIC_KIND_##kind, name, unit, help, labels},
#include "metrics/list.h"
#undef METRIC
};

struct metrics {
    pthread_mutex_t lock; /* of the list; a leaf */
    struct metric **list;
    size_t count;
    char owner[48]; /* label of all metrics: server="0" */
};

/* ---- the list of all metrics ---- */

const struct metric_def *metric_def(enum metric_id id)
{
    return &defs[id];
}

const char *metric_kind_name(enum metric_kind kind)
{
    static const char *const names[] = {"counter", "gauge", "histogram"};
    return names[kind];
}

static bool cut_end(char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    bool has = n > m && !strcmp(text + n - m, end);
    if (has)
        text[n - m] = '\0';
    return has;
}

const char *metric_short_name(enum metric_id id, char out[static 64])
{
    snprintf(out, 64, "%s", defs[id].name + strlen("skiff_"));
    cut_end(out, "_total");
    if (cut_end(out, "_seconds"))
        strcat(out, "_ns");
    return out;
}

/* ---- registries ---- */

struct metrics *metrics_create(const char *owner, int number)
{
    struct metrics *r = mem_alloc_or_die(sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    if (owner)
        snprintf(r->owner, sizeof r->owner, "%s=\"%d\"", owner, number);
    return r;
}

const char *metrics_owner(const struct metrics *r)
{
    return r->owner;
}

static void metric_destroy(struct metric *m)
{
    free(m->cells);
    free(m->spread);
    free(m->labels);
    free(m->first);
    free(m);
}

void metrics_destroy(struct metrics *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        metric_destroy(r->list[i]);
    free(r->list);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Locked. */
static struct metric *find(const struct metrics *r, enum metric_id id, const char *labels)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i]->id == id && !strcmp(r->list[i]->labels, labels))
            return r->list[i];
    return NULL;
}

static struct metric *metric_create(enum metric_id id, const char *labels, const char *first)
{
    struct metric *m = mem_alloc_or_die(sizeof *m);
    size_t ncells = defs[id].kind == METRIC_KIND_COUNTER ? METRIC_CELLS : 1;
    m->cells = aligned_alloc(_Alignof(struct metric_cell), ncells * sizeof *m->cells);
    if (!m->cells)
        abort(); /* a few bytes of our own */
    memset(m->cells, 0, ncells * sizeof *m->cells);
    m->mask = (unsigned)ncells - 1;
    m->id = id;
    m->labels = mem_strdup_or_die(labels);
    m->first = mem_strdup_or_die(first);
    if (defs[id].kind == METRIC_KIND_HISTOGRAM)
        m->spread = mem_alloc_or_die(sizeof *m->spread);
    return m;
}

static void add_label_value(struct buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            buf_char(out, '\\');
        buf_str(out, *value == '\n' ? "\\n" : (const char[]){*value, '\0'});
    }
}

/* table="a",server="0" */
static void make_labels(const struct metrics *r, enum metric_id id, const char *const *values,
                        struct buf *out)
{
    const char *name = defs[id].labels;
    for (int i = 0; *name; i++) {
        int n = (int)strcspn(name, ",");
        buf_printf(out, "%s%.*s=\"", i ? "," : "", n, name);
        add_label_value(out, values[i]);
        buf_char(out, '"');
        name += n + (name[n] == ',');
    }
    buf_printf(out, "%s%s", out->len && *r->owner ? "," : "", r->owner);
}

static int count_labels(const char *labels)
{
    int n = *labels != '\0';
    for (; *labels; labels++)
        n += *labels == ',';
    return n;
}

struct metric *metrics_get(struct metrics *r, enum metric_id id, ...)
{
    const char *values[METRIC_LABELS] = {""};
    struct buf labels = BUF_INIT;
    int n = count_labels(defs[id].labels);
    va_list args;
    assert(n <= METRIC_LABELS);
    va_start(args, id);
    for (int i = 0; i < n; i++)
        values[i] = va_arg(args, const char *);
    va_end(args);
    make_labels(r, id, values, &labels);
    pthread_mutex_lock(&r->lock);
    struct metric *m = find(r, id, labels.data);
    if (!m) {
        m = metric_create(id, labels.data, values[0]);
        r->list = mem_grow_or_die(r->list, (r->count + 1) * sizeof *r->list);
        r->list[r->count++] = m;
    }
    pthread_mutex_unlock(&r->lock);
    buf_deinit(&labels);
    return m;
}

/* The i-th in order of creation; NULL behind the last. */
const struct metric *metrics_at(struct metrics *r, size_t i)
{
    pthread_mutex_lock(&r->lock);
    const struct metric *m = i < r->count ? r->list[i] : NULL;
    pthread_mutex_unlock(&r->lock);
    return m;
}

int64_t metrics_value(struct metrics *r, enum metric_id id)
{
    const struct metric *m;
    int64_t sum = 0;
    for (size_t i = 0; (m = metrics_at(r, i)); i++)
        sum += m->id == id ? metric_value(m) : 0;
    return sum;
}

/* ---- values ---- */

int64_t metric_value(const struct metric *m)
{
    int64_t sum = 0;
    for (unsigned i = 0; i <= m->mask; i++)
        sum += atomic_load_explicit(&m->cells[i].value, memory_order_relaxed);
    return sum;
}

/* 0, 1, 2, 3 have a bucket each; above, the highest bit and the two behind it choose one. */
static size_t bucket_of(uint64_t value)
{
    if (value < 4)
        return (size_t)value;
    int top = 63 - __builtin_clzll(value);
    return (size_t)(top - 1) * 4 + (value >> (top - 2) & 3);
}

void metric_observe(struct metric *m, uint64_t value)
{
    atomic_fetch_add_explicit(&m->spread->buckets[bucket_of(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->spread->sum, value, memory_order_relaxed);
    metric_add(m, 1);
}
