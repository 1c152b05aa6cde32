/* Metrics as text for others: Prometheus's text form 0.0.4, and the table in the documentation.
 *
 * Times are kept in nanoseconds and shown in seconds, exactly. A histogram is shown with the bounds
 * 2^k - 1, at which its finer buckets end: the bounds are the same in every process, so those of
 * several can be added. */
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"

/* Bounds of histograms, as bits: 1 us to 68 s for times, 0 to 1,073,741,823 for other values. */
static const struct {
    unsigned first, last;
} time_bits = {10, 36}, other_bits = {0, 30};

static bool is_time(const struct metric_def *def)
{
    return !strcmp(def->unit, "seconds");
}

static void add_number(struct buf *out, const struct metric_def *def, int64_t value)
{
    if (is_time(def))
        buf_printf(out, "%s%lld.%09lld", value < 0 ? "-" : "", llabs(value / 1000000000),
                   llabs(value % 1000000000));
    else
        buf_printf(out, "%lld", (long long)value);
}

static void add_line(struct buf *out, const struct metric_sample *s, const char *suffix,
                     int64_t value)
{
    const struct metric_def *def = metric_def(s->id);
    buf_printf(out, "%s%s", def->name, suffix);
    if (*s->labels)
        buf_printf(out, "{%s}", s->labels);
    buf_char(out, ' ');
    add_number(out, def, value);
    buf_char(out, '\n');
}

static void add_count(struct buf *out, const struct metric_sample *s, const char *suffix,
                      uint64_t n)
{
    buf_printf(out, "%s%s", metric_def(s->id)->name, suffix);
    if (*s->labels)
        buf_printf(out, "{%s}", s->labels);
    buf_printf(out, " %llu\n", (unsigned long long)n);
}

static void add_bucket(struct buf *out, const struct metric_sample *s, int bits)
{
    const struct metric_def *def = metric_def(s->id);
    buf_printf(out, "%s_bucket{%s%sle=\"", def->name, s->labels, *s->labels ? "," : "");
    if (bits < 0)
        buf_str(out, "+Inf");
    else
        add_number(out, def, (INT64_C(1) << bits) - 1);
    buf_printf(out, "\"} %llu\n",
               (unsigned long long)(bits < 0 ? (uint64_t)s->value
                                             : sample_count_below(s, (unsigned)bits)));
}

static void add_histogram(struct buf *out, const struct metric_sample *s)
{
    bool time = is_time(metric_def(s->id));
    unsigned first = time ? time_bits.first : other_bits.first;
    unsigned last = time ? time_bits.last : other_bits.last;
    for (unsigned bits = first; bits <= last; bits++)
        add_bucket(out, s, (int)bits);
    add_bucket(out, s, -1);
    add_line(out, s, "_sum", (int64_t)s->sum);
    add_count(out, s, "_count", (uint64_t)s->value);
}

/* Help with \ and line ends escaped. */
static void add_help(struct buf *out, const struct metric_def *def)
{
    buf_printf(out, "# HELP %s ", def->name);
    for (const char *c = def->help; *c; c++)
        buf_str(out, *c == '\\' ? "\\\\" : *c == '\n' ? "\\n" : (const char[]){*c, '\0'});
    buf_printf(out, "\n# TYPE %s %s\n", def->name, metric_kind_name(def->kind));
}

void snapshot_prometheus(const struct metrics_snapshot *s, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct metric_sample *one = &s->samples[i];
        if (!i || one->id != one[-1].id)
            add_help(out, metric_def(one->id));
        if (one->buckets)
            add_histogram(out, one);
        else
            add_line(out, one, "", one->value);
    }
}

void metrics_markdown(struct buf *out)
{
    buf_str(out, "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n");
    for (int id = 0; id < METRIC_IDS; id++) {
        const struct metric_def *def = metric_def((enum metric_id)id);
        buf_printf(out, "| `%s` | %s | %s | %s | %s |\n", def->name, metric_kind_name(def->kind),
                   def->unit, *def->labels ? def->labels : "-", def->help);
    }
}
