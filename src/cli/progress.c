/* The progress line and the table at the end. The share done is that of the samples once their
 * number is known; in the first epoch it is that of the bytes read. A terminal gets one line
 * that is overwritten, everything else complete lines, every print_interval batches. */
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "train/run.h"

const char *seconds_text(double seconds, char out[static 32])
{
    long s = lround(seconds < 0 ? 0 : seconds > 1e8 ? 1e8 : seconds);
    if (s >= 3600)
        snprintf(out, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else if (s >= 60)
        snprintf(out, 32, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(out, 32, "%ld s", s);
    return out;
}

void progress_init(struct progress *p, struct eval_metrics *accumulator, int64_t print_interval)
{
    *p = (struct progress){.accumulator = accumulator, .print_interval = print_interval};
    p->terminal = isatty(STDERR_FILENO) && log_shows(LOG_INFO);
}

static enum skiff_status span_begin(void *self, const struct train_span *span,
                                    struct skiff_error *err)
{
    struct progress *p = self;
    p->dataset = *p->data;
    p->printed = 0;
    p->started = clock_seconds();
    p->due = p->started + (p->terminal ? 0.25 : 1.0);
    snprintf(p->what, sizeof p->what, "%s%s", span->evaluates ? "evaluating " : "", span->name);
    if (span->day)
        p->expected = 0; /* passes have different sizes */
    return SKIFF_OK;
}

static void add_number(struct buf *b, const char *name, double v)
{
    if (!isnan(v))
        buf_printf(b, ", %s %.4f", name, v);
}

/* What has been trained on; in the first epoch what has been read, which is a little more. */
static double share_of(const struct progress *p, const struct eval_metrics_sum *s)
{
    if (p->expected > 0)
        return s->samples < p->expected ? (double)s->samples / (double)p->expected : 1.0;
    return dataset_progress(p->dataset);
}

/* "37 %, 81234 samples/s, loss 0.4712, auc 0.7512, 12 s left" */
static void describe(const struct progress *p, const struct eval_metrics_sum *s, struct buf *out)
{
    double spent = clock_seconds() - p->started, share = share_of(p, s);
    char left[32];
    if (share >= 0)
        buf_printf(out, "%.0f %%, ", 100 * share);
    buf_printf(out, "%.0f samples/s", spent > 0 ? (double)s->samples / spent : 0.0);
    add_number(out, "loss", eval_metrics_loss(p->accumulator, s));
    add_number(out, "auc", eval_metrics_auc(p->accumulator, s));
    if (p->tables.text[0])
        buf_printf(out, ", %s", p->tables.text);
    if (share > 0.001)
        buf_printf(out, ", %s left", seconds_text(spent * (1 - share) / share, left));
}

static void on_tick(void *self)
{
    struct progress *p = self;
    static const int columns = 40;
    struct eval_metrics_sum s;
    struct buf text = BUF_INIT;
    double now = clock_seconds();
    if (now < p->due)
        return;
    if (p->run) {
        p->started = p->run->started; /* later, when pauses are left out */
        p->tables = p->run->tables;
    }
    p->due = now + (p->terminal ? 0.25 : 1.0);
    eval_metrics_read(p->accumulator, &s);
    if (!p->terminal && s.batches - p->printed < p->print_interval)
        return;
    p->printed = s.batches;
    describe(p, &s, &text);
    if (p->terminal) {
        double share = share_of(p, &s);
        int done = share > 0 ? (int)(share * columns) : 0;
        fprintf(stderr, "\r%s |%.*s%*s| %s\033[K", p->what, done,
                "########################################", columns - done, "", text.data);
        fflush(stderr);
    } else {
        log_info("%s: %s", p->what, text.data);
    }
    buf_deinit(&text);
}

static void clear(const struct progress *p)
{
    if (!p->terminal)
        return;
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

static enum skiff_status on_pause(void *self, int64_t batches, int64_t rows,
                                  struct skiff_error *err)
{
    clear(self);
    return SKIFF_OK;
}

static enum skiff_status data_end(void *self, const struct trainer_result *r, bool ok,
                                  struct skiff_error *err)
{
    struct progress *p = self;
    if (ok && !r->stopped && r->rows > 0)
        p->expected = r->rows;
    clear(p);
    return SKIFF_OK;
}

struct train_observer progress_observer(struct progress *p)
{
    return (struct train_observer){.self = p,
                                   .span_begin = span_begin,
                                   .tick = on_tick,
                                   .pause = on_pause,
                                   .data_end = data_end};
}

/* ---- table ---- */

void report_print_auc(const struct epoch_row *row)
{
    if (!isnan(row->auc))
        printf(" auc: %.4f", row->auc);
    else if (row->no_auc)
        printf(" auc: undefined (%s)", row->no_auc);
}

static void cell(double v, int width, int digits)
{
    if (isnan(v))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, digits, v);
}

/* Validation first: it says how good an epoch is. */
static void print_valid(const struct epoch_row *r)
{
    cell(r->valid_auc, 11, 4);
    if (isnan(r->log_loss))
        cell(r->valid_loss, 12, 4);
    else
        cell(r->valid_log_loss, 16, 4);
    cell(r->valid_copc, 12, 4);
}

void report_print_row(const struct epoch_row *r, bool training)
{
    printf("%5d%s", r->epoch, r->best ? "*" : " ");
    if (r->evaluated)
        print_valid(r);
    printf("%11lld%12.0f", (long long)r->samples,
           r->seconds > 0 ? (double)r->samples / r->seconds : 0.0);
    cell(r->loss, 10, 4);
    cell(r->auc, 9, 4);
    cell(r->log_loss, 10, 4);
    cell(r->copc, 9, 4);
    if (!isnan(r->accuracy))
        cell(r->accuracy, 10, 4);
    printf("%6.0f %%%8.0f %%", 100 * r->read, 100 * r->compute);
    if (training)
        printf("%7.0f %%", 100 * r->update);
    if (r->interrupted)
        printf("  interrupted: part of the epoch");
    if (r->lost[0])
        printf("  incomplete: without worker %s", r->lost);
    if (r->calibrated)
        printf("  calibrated (%s)", r->calibrated);
    if (r->no_auc)
        printf("  auc undefined: %s", r->no_auc);
    printf("\n");
}

void report_print_head(const struct epoch_row *first, bool training)
{
    bool evaluated = first->evaluated, log_loss = !isnan(first->log_loss);
    printf("epoch %s    samples   samples/s      loss      auc  log loss     copc%s    read   "
           "compute%s\n",
           !evaluated ? ""
           : log_loss ? "  valid auc  valid log loss  valid copc"
                      : "  valid auc  valid loss  valid copc",
           isnan(first->accuracy) ? "" : "  accuracy", training ? "   update" : "");
}

void report_print(const struct epoch_row *rows, int n, bool training)
{
    if (n)
        report_print_head(rows, training);
    for (int i = 0; i < n; i++)
        report_print_row(&rows[i], training);
}

static void print_quality(const struct epoch_row *r, bool groups)
{
    const struct score_metrics *m = &r->quality;
    printf("%5d%s", r->epoch, r->best ? "*" : " ");
    cell(m->pr_auc, 8, 4);
    cell(m->ks, 9, 4);
    for (int i = 0; i < SCORE_LIFTS; i++)
        cell(m->lift[i], i == 2 ? 11 : 10, 2);
    cell(m->normalised_entropy, 15, 4);
    cell(m->precision, 11, 4);
    cell(m->recall, 8, 4);
    cell(m->f1, 8, 4);
    if (groups) {
        cell(m->group_auc, 13, 4);
        printf("%8lld", (long long)m->groups);
    }
    printf("\n");
}

void report_print_quality(const struct epoch_row *rows, int n)
{
    bool any = false, groups = false;
    for (int i = 0; i < n; i++) {
        any |= rows[i].has_quality;
        groups |= rows[i].has_quality && !isnan(rows[i].quality.group_auc);
    }
    if (!any)
        return;
    printf("\nepoch   pr-auc       ks  lift 1 %%  lift 5 %%  lift 10 %%  norm. entropy  precision"
           "  recall      f1%s\n",
           groups ? "  grouped auc  groups" : "");
    for (int i = 0; i < n; i++)
        if (rows[i].has_quality)
            print_quality(&rows[i], groups);
    printf("precision, recall, f1: predictions of at least %g count as 1 (runner.threshold)\n",
           rows[0].quality.threshold);
}
