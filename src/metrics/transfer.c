/* Snapshots as lines of text, for other processes:
 *
 *   NAME{LABELS} VALUE             a counter or gauge
 *   NAME{LABELS} VALUE SUM I:N ... a histogram: the number of its values, their sum, and the values
 *                                  in each bucket that has some
 *
 * A reader passes over metrics that it does not know: the other process may be newer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metrics/metrics_parts.h"

void snapshot_write(const struct metrics_snapshot *s, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct metric_sample *x = &s->samples[i];
        buf_printf(out, "%s{%s} %lld", metric_def(x->id)->name, x->labels, (long long)x->value);
        if (x->buckets)
            buf_printf(out, " %llu", (unsigned long long)x->sum);
        for (size_t k = 0; x->buckets && k < METRIC_BUCKETS; k++)
            if (x->buckets[k])
                buf_printf(out, " %zu:%llu", k, (unsigned long long)x->buckets[k]);
        buf_char(out, '\n');
    }
}

/* ---- reading ---- */

static int find_name(const char *p, size_t n)
{
    for (int id = 0; id < METRIC_IDS; id++)
        if (strlen(metric_def(id)->name) == n && !memcmp(metric_def(id)->name, p, n))
            return id;
    return -1;
}

/* Behind the } that ends the labels, which begin at p; NULL: there is none. */
static const char *labels_end(const char *p)
{
    bool quoted = false;
    for (; *p && (quoted || *p != '}'); p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (*p == '\\' && p[1])
            p++;
    }
    return *p ? p + 1 : NULL;
}

/* The value of the first label, without escapes. */
static char *first_value(const char *labels)
{
    const char *p = strchr(labels, '"');
    char *out = mem_alloc_or_die(strlen(labels) + 1), *to = out;
    for (p = p ? p + 1 : ""; *p && *p != '"'; p++) {
        bool escaped = *p == '\\' && p[1];
        p += escaped;
        *to++ = escaped && *p == 'n' ? '\n' : *p;
    }
    return out;
}

static bool read_number(const char **at, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = **at == '-' ? (uint64_t)strtoll(*at, &end, 10) : strtoull(*at, &end, 10);
    bool good = end != *at && !errno;
    *at = end;
    return good;
}

static bool read_buckets(const char *p, struct metric_sample *to)
{
    uint64_t bucket, n;
    if (!read_number(&p, &n))
        return false;
    to->sum += n;
    while (*p == ' ') {
        p++;
        if (!read_number(&p, &bucket) || bucket >= METRIC_BUCKETS || *p++ != ':' ||
            !read_number(&p, &n))
            return false;
        to->buckets[bucket] += n;
    }
    return !*p;
}

static bool read_line(struct metrics_snapshot *s, char *line)
{
    uint64_t value;
    size_t n = strcspn(line, "{");
    const char *at = line[n] ? labels_end(line + n + 1) : NULL;
    int id = find_name(line, n);
    if (!at || *at != ' ')
        return false;
    line[at - line - 1] = '\0';
    at++;
    if (!read_number(&at, &value))
        return false;
    if (id < 0)
        return true;
    char *first = first_value(line + n + 1);
    struct metric_sample *to = snapshot_place(s, (enum metric_id)id, line + n + 1, first);
    free(first);
    to->value += (int64_t)value;
    return to->buckets ? *at++ == ' ' && read_buckets(at, to) : !*at;
}

bool snapshot_read(struct metrics_snapshot *s, const char *text, size_t n)
{
    bool good = true;
    char *copy = mem_alloc_or_die(n + 1), *rest = copy, *line;
    memcpy(copy, text, n);
    while (good && (line = strsep(&rest, "\n")))
        good = !*line || read_line(s, line);
    free(copy);
    return good;
}
