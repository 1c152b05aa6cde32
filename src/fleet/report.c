/* Lines that a process sends to its launcher (report.h), and their parsers.
 *
 * A line is written by one call and is shorter than PIPE_BUF, so lines of several threads do not
 * mix. Parsers take what this version and later ones write: they ignore what follows the fields
 * that they know. */
#include "fleet/report.h"

#include <limits.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "metrics/metrics.h"

#define LINE_MAX_BYTES 1024 /* the launcher drops longer lines */

static int report_fd(void)
{
    const char *text = getenv(REPORT_FD); /* the launcher sets it */
    int64_t fd;
    return text && option_int(text, 0, INT_MAX, &fd) ? (int)fd : -1;
}

bool report_wanted(void)
{
    return report_fd() > STDERR_FILENO;
}

int report_encode(const struct report *r, char *out, size_t capacity)
{
    if (r->epoch < 0)
        return snprintf(out, capacity, "R %lld %.3f %.6f %.6f %.6f\n", (long long)r->samples,
                        r->seconds, r->loss, r->auc, r->job_auc);
    char span[32];
    snprintf(span, sizeof span, r->day ? "D %d" : "P", r->day);
    return snprintf(out, capacity, "%s %d %.4f %lld %.3f %.6f %.6f%s%s\n", span, r->epoch, r->share,
                    (long long)r->samples, r->seconds, r->loss, r->auc, r->tables[0] ? " " : "",
                    r->tables);
}

/* Lines are shorter than PIPE_BUF: a line is written completely or not at all. */
static void send_line(const char *line, int n, size_t capacity)
{
    int fd = report_fd();
    if (fd <= STDERR_FILENO || n <= 0 || (size_t)n >= capacity)
        return;
    if (write(fd, line, (size_t)n) < 0)
        return;
}

void report_send(const struct report *r)
{
    char line[512];
    send_line(line, report_encode(r, line, sizeof(line)), sizeof(line));
}

/* ---- metrics ---- */

void report_metrics(const struct metrics_snapshot *s)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; report_wanted() && i < s->n; i++) {
        struct metrics_snapshot one = {.samples = &s->samples[i], .n = 1};
        if (s->samples[i].buckets)
            continue;
        buf_reset(&text);
        buf_str(&text, "S ");
        snapshot_write(&one, &text);
        send_line(text.data, (int)text.len, LINE_MAX_BYTES);
    }
    buf_deinit(&text);
}

bool report_metric_parse(const char *line, struct metrics_snapshot *out)
{
    struct metrics_snapshot one = {0};
    bool good = line[0] == 'S' && line[1] == ' ' && snapshot_read(&one, line + 2, strlen(line + 2));
    if (good)
        snapshot_update(out, &one);
    snapshot_deinit(&one);
    return good;
}

/* ---- news ---- */

int report_news_encode(const struct report_news *n, char *out, size_t capacity)
{
    char text[sizeof n->text];
    snprintf(text, sizeof text, "%s", n->text);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 32)
            *c = ' ';
    if (n->kind == NEWS_WARNING)
        return snprintf(out, capacity, "N %s\n", text);
    if (n->kind == NEWS_MEMBER)
        return snprintf(out, capacity, "M %s %d %s %" PRIu64 " %d %s\n", n->role, n->index,
                        n->state, n->incarnation, n->process, text);
    return snprintf(out, capacity, "%c %s %d %s\n", (char)n->kind, n->role, n->index, text);
}

void report_news_send(const struct report_news *n)
{
    char line[LINE_MAX_BYTES];
    send_line(line, report_news_encode(n, line, sizeof line), sizeof line);
}

void report_warning(const char *format, ...)
{
    struct report_news n = {.kind = NEWS_WARNING};
    va_list args;
    va_start(args, format);
    vsnprintf(n.text, sizeof n.text, format, args);
    va_end(args);
    report_news_send(&n);
}

bool report_news_parse(const char *line, struct report_news *out)
{
    struct report_news n = {0};
    int at = 0;
    if (line[0] == NEWS_WARNING && line[1] == ' ')
        at = 2;
    else if (line[0] == NEWS_MEMBER)
        sscanf(line, "M %15s %d %15s %" SCNu64 " %d%n", n.role, &n.index, n.state, &n.incarnation,
               &n.process, &at);
    else if (line[0] == NEWS_LATE || line[0] == NEWS_ACCUSED)
        sscanf(line + 1, " %15s %d%n", n.role, &n.index, &at), at += at > 0;
    if (!at || n.index < 0)
        return false;
    n.kind = (enum report_news_kind)line[0];
    snprintf(n.text, sizeof n.text, "%s", line + at + (line[at] == ' '));
    *out = n;
    return true;
}

bool report_parse(const char *line, struct report *out)
{
    struct report r = {.epoch = -1, .share = -1, .job_auc = NAN};
    long long samples;
    int n = 0, rest = 0, at = 1;
    if (line[0] == 'R')
        n = sscanf(line, "R %lld %lf %lf %lf %lf", &samples, &r.seconds, &r.loss, &r.auc,
                   &r.job_auc) == 5;
    else if (line[0] == 'P' || (line[0] == 'D' && sscanf(line, "D %d%n", &r.day, &at) == 1))
        n = sscanf(line + at, "%d %lf %lld %lf %lf %lf%n", &r.epoch, &r.share, &samples, &r.seconds,
                   &r.loss, &r.auc, &rest) == 6 &&
            r.epoch >= 0 && r.day >= 0;
    if (!n || samples < 0 || !isfinite(r.seconds))
        return false;
    r.samples = samples;
    if (rest && line[at + rest] == ' ')
        snprintf(r.tables, sizeof(r.tables), "%s", line + at + rest + 1);
    *out = r;
    return true;
}
