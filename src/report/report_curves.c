/* The figures of the page: learning curves by samples, calibration, speed. Curves of several runs
 * share one figure and one range. Values that are missing (NAN) are left out by plot_add; a figure
 * without any value says so. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/html_parts.h"
#include "report/plot.h"

#define DRAWN_POINTS 120 /* of a curve: more would be noise at this size */

/* Epochs of an inference lie side by side, those of a training one behind the other. */
static bool by_epoch(const struct runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        if (strcmp(runs->at[i]->command, "infer"))
            return false;
    return true;
}

static double number_at(const struct run_numbers *n, size_t which)
{
    return *(const double *)(const void *)((const char *)n + which);
}

/* Few enough to be drawn, with windows of about the same size, in samples or in seconds; free()
 * them. */
static struct run_point *drawn_points(const struct run_report *r, bool by_time, int *out_n)
{
    struct run_point *at = mem_alloc_or_die(((size_t)r->points.n + 1) * sizeof(*at));
    if (r->points.n)
        memcpy(at, r->points.at, (size_t)r->points.n * sizeof(*at));
    *out_n = run_merge_windows(at, r->points.n, by_time ? 0 : 0.98 * r->samples / DRAWN_POINTS,
                               by_time ? 0.98 * r->seconds / DRAWN_POINTS : 0);
    return at;
}

/* A point means its window, so it is drawn in the middle of it. */
static void add_windows(struct plot_series *s, const struct run_report *r, size_t which)
{
    int n;
    struct run_point *at = drawn_points(r, false, &n);
    for (int i = 0; i < n; i++)
        plot_add(s, (struct plot_point){.x = at[i].at_samples - at[i].samples / 2,
                                        .y = number_at(&at[i].n, which)});
    free(at);
}

static void add_epoch_line(struct plot_series *s, const struct run_report *r, size_t which,
                           bool number)
{
    for (int i = 0; i < r->nepochs; i++) {
        const struct run_epoch *e = &r->epochs[i];
        plot_add(s, (struct plot_point){.x = number ? e->epoch : e->at_samples,
                                        .y = number_at(&e->n, which)});
    }
}

static void add_epoch_levels(struct plot_series *s, const struct run_report *r, size_t which)
{
    for (int i = 0; i < r->nepochs; i++) {
        const struct run_epoch *e = &r->epochs[i];
        plot_add(s, (struct plot_point){.x = e->at_samples - (double)e->samples,
                                        .x2 = e->at_samples,
                                        .y = number_at(&e->n, which)});
    }
}

static void add_valid(struct plot_series *s, const struct run_report *r, size_t which)
{
    for (int i = 0; i < r->valid.n; i++)
        plot_add(s, (struct plot_point){.x = r->valid.at[i].at_samples,
                                        .y = number_at(&r->valid.at[i].n, which)});
}

static void add_run_curves(struct plot *p, const struct runs *runs, int i, size_t which)
{
    const struct run_report *r = runs->at[i];
    bool one = runs->n == 1, number = by_epoch(runs);
    if (r->points.n && !number)
        add_windows(plot_new_series(p, one ? "during training" : NULL, i, PLOT_LINE), r, which);
    else
        add_epoch_line(plot_new_series(p, NULL, i, number ? PLOT_DASHES : PLOT_LINE), r, which,
                       number);
    if (one && r->points.n && r->nepochs && !number)
        add_epoch_levels(plot_new_series(p, "mean of an epoch", i, PLOT_LEVELS), r, which);
    if (r->valid.n && !number)
        add_valid(plot_new_series(p, one ? "validation" : NULL, one ? 1 : i, PLOT_DASHES), r,
                  which);
}

/* A loss that is the mean log loss would be drawn twice. */
static bool loss_is_log_loss(const struct runs *runs)
{
    int same = 0;
    for (int i = 0; i < runs->n; i++)
        for (int k = 0; k < runs->at[i]->nepochs; k++) {
            const struct run_numbers *n = &runs->at[i]->epochs[k].n;
            if (!(fabs(n->loss - n->log_loss) <= 1e-3 * fabs(n->loss)))
                return false;
            same++;
        }
    return same > 0;
}

/* Is anything of it known in any run? */
static bool is_known(const struct runs *runs, size_t which)
{
    for (int i = 0; i < runs->n; i++) {
        const struct run_report *r = runs->at[i];
        for (int k = 0; k < r->nepochs; k++)
            if (isfinite(number_at(&r->epochs[k].n, which)))
                return true;
        for (int k = 0; k < r->points.n; k++)
            if (isfinite(number_at(&r->points.at[k].n, which)))
                return true;
    }
    return false;
}

static void add_curve(struct buf *b, const struct runs *runs, struct plot *p, size_t which)
{
    const struct run_report *r = runs->at[0];
    bool number = by_epoch(runs);
    double *ends = mem_alloc_or_die(((size_t)r->nepochs + 1) * sizeof(*ends));
    p->x_name = number ? "epoch" : "samples";
    p->x_kind = number ? AXIS_WHOLE : AXIS_COUNT;
    if (runs->n == 1 && !number && r->nepochs <= 50)
        for (int i = 0; i + 1 < r->nepochs; i++)
            ends[p->nmarks++] = r->epochs[i].at_samples;
    p->marks = ends;
    for (int i = 0; i < runs->n; i++)
        add_run_curves(p, runs, i, which);
    plot_html(p, b);
    plot_deinit(p);
    free(ends);
}

void add_learning(struct buf *b, const struct runs *runs)
{
    struct {
        const char *title, *about;
        size_t which;
        double reference;
        bool shown;
    } curves[] = {
        {"Loss", "lower is better", offsetof(struct run_numbers, loss), NAN, false},
        {"AUC", "higher is better; 0.5 is chance", offsetof(struct run_numbers, auc), NAN, false},
        {"Log loss", "lower is better", offsetof(struct run_numbers, log_loss), NAN, false},
        {"COPC", "clicks over predicted clicks; 1 is best", offsetof(struct run_numbers, copc), 1,
         false},
        {"Accuracy", "higher is better", offsetof(struct run_numbers, accuracy), NAN, false},
    };
    const int count = sizeof(curves) / sizeof(curves[0]);
    bool same = loss_is_log_loss(runs);
    int shown = 0;
    for (int i = 0; i < count; i++) {
        curves[i].shown = is_known(runs, curves[i].which) && !(same && i == 0);
        shown += curves[i].shown;
    }
    if (!shown)
        buf_str(b, "<p class=\"note\">No metrics yet.</p>\n");
    buf_printf(b, "<div class=\"figures%s\">\n", shown == 3 ? " three" : "");
    for (int i = 0; i < count; i++) {
        struct plot p = {
            .title = curves[i].title, .about = curves[i].about, .reference = curves[i].reference};
        if (curves[i].shown)
            add_curve(b, runs, &p, curves[i].which);
    }
    buf_str(b, "</div>\n");
}

/* ---- calibration ---- */

/* Where the true rate lies with 95 % certainty, when `seen` of n were clicked (Wilson). */
static void wilson(double seen, double n, double *low, double *high)
{
    const double z = 1.96;
    double middle = (seen + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(fmax(0, seen * (1 - seen) / n) + z * z / (4 * n * n));
    *low = middle - half;
    *high = middle + half;
}

static void add_bins(struct plot_series *s, const struct run_bins *bins)
{
    for (int i = 0; i < bins->n; i++) {
        const struct run_bin *k = &bins->at[i];
        struct plot_point point = {.x = k->predicted, .y = k->seen, .y2 = NAN, .y3 = NAN};
        if (k->count > 0)
            wilson(k->seen, k->count, &point.y2, &point.y3);
        plot_add(s, point);
    }
}

/* How many samples have which prediction: the area of a column is its count. */
static void add_density(struct plot_series *s, const struct run_bins *bins)
{
    for (int i = 0; i < bins->n; i++) {
        const struct run_bin *k = &bins->at[i];
        if (k->high > k->low)
            plot_add(s, (struct plot_point){
                            .x = k->low, .x2 = k->high, .y = k->count / (k->high - k->low)});
    }
}

void add_calibration(struct buf *b, const struct runs *runs)
{
    struct plot p = {.title = "Predicted and observed",
                     .about = runs->n == 1
                                  ? "on the line, the click rate equals the prediction; bars: 95 %"
                                  : "on the line, the click rate equals the prediction",
                     .x_name = "predicted probability",
                     .equal = true,
                     .reference = NAN};
    const struct run_report *r = runs->at[0];
    if (runs->n == 1 && r->calibration.n)
        add_density(plot_new_series(&p, "number of samples", 0, PLOT_COLUMNS), &r->calibration);
    for (int i = 0; i < runs->n; i++) {
        const struct run_report *run = runs->at[i];
        if (run->calibration.n)
            add_bins(plot_new_series(&p, runs->n == 1 ? "click rate, last epoch" : NULL, i,
                                     runs->n == 1 ? PLOT_DOTS : PLOT_LINE),
                     &run->calibration);
        if (runs->n == 1 && run->valid_calibration.n)
            add_bins(plot_new_series(&p, "click rate, validation", 1, PLOT_DOTS),
                     &run->valid_calibration);
    }
    plot_html(&p, b);
    plot_deinit(&p);
}

/* ---- speed ---- */

void add_speed(struct buf *b, const struct runs *runs)
{
    struct plot p = {.title = "Samples a second",
                     .x_name = "time",
                     .x_kind = AXIS_TIME,
                     .y_kind = AXIS_COUNT,
                     .from_zero = true,
                     .reference = NAN};
    for (int i = 0; i < runs->n; i++) {
        const struct run_report *r = runs->at[i];
        int n;
        struct run_point *at = drawn_points(r, true, &n);
        struct plot_series *s = plot_new_series(&p, NULL, i, PLOT_LINE);
        for (int k = 0; k < n; k++)
            if (at[k].seconds > 0)
                plot_add(s, (struct plot_point){.x = at[k].at_seconds - at[k].seconds / 2,
                                                .y = at[k].samples / at[k].seconds});
        for (int k = 0; !n && k < r->nepochs; k++)
            if (r->epochs[k].seconds > 0)
                plot_add(s, (struct plot_point){.x = r->epochs[k].at_seconds,
                                                .y = (double)r->epochs[k].samples /
                                                     r->epochs[k].seconds});
        free(at);
    }
    plot_html(&p, b);
    plot_deinit(&p);
}
