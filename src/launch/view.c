/* Reports of processes as one picture (launch_view_of), as a row of the final table
 * (launch_row_of), and what their logs say.
 *
 * Nothing here changes the launch. Means are weighted by samples, so that a process which has
 * reported nothing yet does not count. How long a worker has been silent follows from the clock of
 * the launcher, never from times in its reports. */
#include "launch/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define SILENT_SECONDS 3.0 /* workers report four times a second */
#define TAIL_BYTES 65536
#define LAST_LINE_BYTES 511

/* ---- while it runs ---- */

/* Between epochs workers have nothing to report: they wait for each other, or save. */
static bool has_ended_epoch(const struct launch_process *p)
{
    return p->now.share >= 0.9999;
}

static bool is_quiet(const struct launch_process *p, double now)
{
    return now - p->health.heard > SILENT_SECONDS;
}

static double speed_of(const struct launch_process *p)
{
    const struct report *r = &p->now;
    if (p->health.speed > 0)
        return p->health.speed;
    return r->seconds > 0 ? (double)r->samples / r->seconds : 0;
}

struct launch_worker_view launch_worker_view_of(const struct launch_process *p, double now)
{
    const struct launch_health *h = &p->health;
    struct launch_worker_view v = {.speed = speed_of(p)};
    if (h->accused)
        v.state = LAUNCH_WORKER_DEAD;
    else if (h->stopped)
        v = (struct launch_worker_view){LAUNCH_WORKER_STOPPED, now - h->stopped, v.speed};
    else if (is_quiet(p, now) && has_ended_epoch(p))
        v.state = LAUNCH_WORKER_WAITS;
    else if (is_quiet(p, now))
        v = (struct launch_worker_view){LAUNCH_WORKER_SILENT, now - h->heard, v.speed};
    else if (!has_ended_epoch(p) && now - h->moved > SILENT_SECONDS)
        v = (struct launch_worker_view){LAUNCH_WORKER_STUCK, now - h->moved, v.speed};
    return v;
}

struct weighted {
    double sum, weight;
};

static void add_weighted(struct weighted *w, double value, double weight)
{
    if (isnan(value))
        return;
    w->sum += weight * value;
    w->weight += weight;
}

static double mean(const struct weighted *w)
{
    return w->weight > 0 ? w->sum / w->weight : NAN;
}

void launch_span_text(const struct launch_view *v, char out[static 48])
{
    if (v->day)
        snprintf(out, 48, "day %08d, pass %d", v->day, v->epoch);
    else
        snprintf(out, 48, "epoch %d", v->epoch);
}

struct launch_view launch_view_of(const struct launch *l, double now)
{
    struct launch_view v = {.epoch = -1};
    struct weighted loss = {0}, auc = {0};
    for (int i = 0; i < l->n; i++) {
        const struct launch_process *p = &l->at[i];
        const struct report *r = &p->now;
        if (p->server) {
            v.servers += !p->ended;
            continue;
        }
        v.running += !p->ended && !p->health.accused;
        if (r->epoch < 0)
            continue;
        if (r->tables[0])
            v.tables = r->tables;
        if (v.epoch < 0 || r->day < v.day || (r->day == v.day && r->epoch < v.epoch)) {
            v.epoch = r->epoch;
            v.day = r->day;
        }
        v.reports++;
        v.share += r->share >= 0 ? r->share : 0;
        v.rate += p->ended || p->health.accused || is_quiet(p, now) ? 0 : speed_of(p);
        add_weighted(&loss, r->loss, (double)r->samples);
        add_weighted(&auc, r->auc, (double)r->samples);
    }
    v.share = v.reports ? v.share / v.reports : 0;
    v.loss = mean(&loss);
    v.auc = mean(&auc);
    return v;
}

/* ---- at the end ---- */

/* One that died: as it reported last. NAN: it never did. */
static double samples_of(const struct launch_process *p)
{
    return p->total.samples >= 0 ? (double)p->total.samples
           : p->now.epoch >= 0 ? (double)snapshot_value(&p->counted, METRIC_TRAIN_SAMPLES, "train")
                               : NAN;
}

struct launch_row launch_row_of(const struct launch_process *p)
{
    const struct report *r = &p->total;
    struct launch_row row = {
        .samples = samples_of(p), .seconds = p->seconds, .speed = NAN, .auc = NAN};
    if (r->samples < 0)
        return row;
    row.seconds = r->seconds;
    row.speed = r->seconds > 0 ? (double)r->samples / r->seconds : NAN;
    row.auc = r->auc;
    return row;
}

bool launch_row_sum(const struct launch *l, struct launch_row *out)
{
    struct launch_row sum = {.auc = NAN};
    for (int i = 0; i < l->n; i++) {
        const struct report *r = &l->at[i].total;
        if (l->at[i].server || isnan(samples_of(&l->at[i])))
            continue;
        sum.samples += samples_of(&l->at[i]);
        if (r->samples < 0)
            continue;
        sum.seconds = fmax(sum.seconds, r->seconds);
        sum.auc = isnan(sum.auc) ? r->job_auc : sum.auc;
    }
    sum.speed = sum.samples / sum.seconds;
    *out = sum;
    return sum.samples > 0 && sum.seconds > 0;
}

void launch_status_text(const struct launch_process *p, char *out, size_t capacity)
{
    if (!p->ended)
        snprintf(out, capacity, "not started");
    else if (p->health.hangs)
        snprintf(out, capacity,
                 p->status < 0 ? "did not respond, killed" : "did not respond, ended");
    else if (p->reported)
        snprintf(out, capacity, "stopped");
    else if (p->status < 0)
        snprintf(out, capacity, "killed by signal %d (%s)", -p->status, strsignal(-p->status));
    else if (p->status)
        snprintf(out, capacity, "failed, status %d", p->status);
    else
        snprintf(out, capacity, "done");
}

/* ---- logs ---- */

/* The last bytes that the process has written, terminated, without the line ends behind them.
 * Returns how many; text: most + 1 bytes. */
static size_t read_end(const struct launch_process *p, char *text, long most)
{
    struct stat st;
    size_t n = 0;
    FILE *f = fopen(p->log, "rb");
    if (f) {
        long at = !fstat(fileno(f), &st) ? (long)st.st_size - most : 0;
        fseek(f, at > p->log_from ? at : p->log_from, SEEK_SET);
        n = fread(text, 1, (size_t)most, f);
        fclose(f);
    }
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    text[n] = 0;
    return n;
}

void launch_last_line(const struct launch *l, char *out, size_t capacity)
{
    char end[LAST_LINE_BYTES + 1];
    int i = 0;
    out[0] = 0;
    while (i < l->n && l->at[i].server)
        i++;
    if (i == l->n || !read_end(&l->at[i], end, LAST_LINE_BYTES))
        return;
    char *newline = strrchr(end, '\n'), *line = newline ? newline + 1 : end;
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 32)
            *c = ' ';
    snprintf(out, capacity, "%.100s", line);
}

void launch_log_tail(const struct launch_process *p, int lines, struct buf *out)
{
    char *text = mem_alloc_or_die(TAIL_BYTES + 1);
    const char *from = text + read_end(p, text, TAIL_BYTES);
    for (int left = lines; from > text; from--)
        if (from[-1] == '\n' && --left == 0)
            break;
    buf_str(out, from);
    free(text);
}

bool launch_saved_line(const struct launch *l, char *out, size_t capacity)
{
    static const char mark[] = "skiff train: stopped ";
    bool found = false, saved = false;
    for (int i = 0; i < l->n && !saved; i++) {
        FILE *f = l->at[i].server ? NULL : fopen(l->at[i].log, "r");
        char line[1024];
        if (f)
            fseek(f, l->at[i].log_from, SEEK_SET);
        while (f && fgets(line, sizeof(line), f))
            if (strstr(line, mark) &&
                (strstr(line, "saved in") || (!found && strstr(line, "is complete")))) {
                line[strcspn(line, "\n")] = 0;
                snprintf(out, capacity, "%s", strstr(line, mark) + strlen("skiff train: "));
                found = true;
                saved |= strstr(line, "saved in") != NULL;
            }
        if (f)
            fclose(f);
    }
    return found;
}

void launch_add_word(struct buf *out, const char *word)
{
    bool plain = *word && !word[strcspn(word, " \t\n'\"\\$*?[]{}()<>|&;`#~!")];
    if (out->len)
        buf_char(out, ' ');
    if (plain) {
        buf_str(out, word);
        return;
    }
    buf_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_str(out, "'\\''");
        else
            buf_char(out, *word);
    buf_char(out, '\'');
}
