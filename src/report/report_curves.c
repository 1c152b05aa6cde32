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

#define DRAWN_POINTS 120   /* of a curve: more would be noise at this size */
#define QUIET_SAMPLES 5000 /* the noise of an AUC is about 0.005 then; at least 10 windows remain */

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
    double samples = fmax(0.98 * r->samples / DRAWN_POINTS, fmin(r->samples / 10, QUIET_SAMPLES));
    *out_n = run_merge_windows(at, r->points.n, by_time ? 0 : samples,
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

static bool has_valid(const struct runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        if (runs->at[i]->valid.n)
            return true;
    return false;
}

static bool all_valid(const struct runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        if (!runs->at[i]->valid.n)
            return false;
    return true;
}

static void add_training(struct plot *p, const struct run_report *r, size_t which, int colour,
                         const char *name, enum plot_style style)
{
    struct plot_series *s = plot_new_series(p, name, colour, style);
    if (r->points.n)
        add_windows(s, r, which);
    else
        add_epoch_line(s, r, which, false);
}

/* Validation stands first: it says how good the model is, training only whether it learns. */
static void add_one_run(struct plot *p, const struct run_report *r, size_t which)
{
    if (r->valid.n)
        add_valid(plot_new_series(p, "validation", 1, PLOT_DASHES), r, which);
    add_training(p, r, which, 0, r->points.n ? "during training" : NULL, PLOT_LINE);
    if (r->points.n && r->nepochs)
        add_epoch_levels(plot_new_series(p, "mean of an epoch", 0, PLOT_LEVELS), r, which);
}

/* Runs are compared by validation. One without it has its training dashed among the others. */
static void add_run_curves(struct plot *p, const struct runs *runs, int i, size_t which)
{
    const struct run_report *r = runs->at[i];
    if (by_epoch(runs))
        add_epoch_line(plot_new_series(p, NULL, i, PLOT_DASHES), r, which, true);
    else if (runs->n == 1)
        add_one_run(p, r, which);
    else if (r->valid.n)
        add_valid(plot_new_series(p, NULL, i, PLOT_CURVE), r, which);
    else
        add_training(p, r, which, i, NULL, has_valid(runs) ? PLOT_DASHED : PLOT_LINE);
}

/* "validation 0.8679 to 0.8704, best 0.8716 in epoch 6": the figure in words. */
static void add_words(struct buf *b, const struct run_report *r, size_t which)
{
    const struct run_point *best = run_best_valid(r);
    const char *between = "";
    if (best) {
        buf_printf(b, "validation %.4g to %.4g, best epoch %d with %.4g",
                   number_at(&r->valid.at[0].n, which),
                   number_at(&r->valid.at[r->valid.n - 1].n, which), best->epoch,
                   number_at(&best->n, which));
        between = "; ";
    }
    if (r->nepochs)
        buf_printf(b, "%straining %.4g to %.4g", between, number_at(&r->epochs[0].n, which),
                   number_at(&run_last_epoch(r)->n, which));
}

static int find_stars(const struct runs *runs, size_t which, struct plot_star *out)
{
    int n = 0;
    for (int i = 0; i < runs->n && !by_epoch(runs); i++) {
        const struct run_point *best = run_best_valid(runs->at[i]);
        if (best)
            out[n++] = (struct plot_star){.x = best->at_samples,
                                          .y = number_at(&best->n, which),
                                          .colour = runs->n == 1 ? 1 : i};
    }
    return n;
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
        for (int k = 0; k < r->valid.n; k++)
            if (isfinite(number_at(&r->valid.at[k].n, which)))
                return true;
    }
    return false;
}

static void add_curve(struct buf *b, const struct runs *runs, struct plot *p, size_t which)
{
    const struct run_report *r = runs->at[0];
    bool number = by_epoch(runs);
    struct plot_star stars[REPORT_MAX_RUNS];
    struct buf words = BUF_INIT;
    double *ends = mem_alloc_or_die(((size_t)r->nepochs + 1) * sizeof(*ends));
    p->x_name = number ? "epoch" : "samples";
    p->x_kind = number ? AXIS_WHOLE : AXIS_COUNT;
    if (runs->n == 1 && !number && r->nepochs <= 50)
        for (int i = 0; i + 1 < r->nepochs; i++)
            ends[p->nmarks++] = r->epochs[i].at_samples;
    p->marks = ends;
    p->late = !number;
    for (int i = 0; i < runs->n; i++)
        add_run_curves(p, runs, i, which);
    p->stars = stars;
    p->nstars = find_stars(runs, which, stars);
    if (runs->n == 1)
        add_words(&words, r, which);
    p->summary = words.data;
    plot_html(p, b);
    plot_deinit(p);
    buf_deinit(&words);
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
    if (runs->n > 1 && has_valid(runs))
        buf_printf(b, "<p class=\"note\">On validation data; the star is the best epoch.%s</p>\n",
                   all_valid(runs) ? "" : " Dashed: on training data, of runs without validation.");
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

/* Click rates lie below 0.1 as a rule, where linear axes show one dot. */
static bool is_rare(const struct run_bins *bins)
{
    return bins->n && bins->at[bins->n / 2].predicted < 0.1;
}

/* What a run is compared by. */
static const struct run_bins *main_bins(const struct run_report *r)
{
    return r->test_calibration.n    ? &r->test_calibration
           : r->valid_calibration.n ? &r->valid_calibration
                                    : &r->calibration;
}

static void add_run_bins(struct plot *p, const struct run_report *r)
{
    if (r->test_calibration.n)
        add_bins(plot_new_series(p, "click rate, test", 2, PLOT_DOTS), &r->test_calibration);
    if (r->valid_calibration.n)
        add_bins(plot_new_series(p, "click rate, validation", 1, PLOT_DOTS), &r->valid_calibration);
    if (r->calibration.n)
        add_bins(plot_new_series(p, "click rate, last training epoch", 0, PLOT_DOTS),
                 &r->calibration);
    if (r->calibration.n && !p->log)
        add_density(plot_new_series(p, "number of training samples", 0, PLOT_COLUMNS),
                    &r->calibration);
}

void add_calibration(struct buf *b, const struct runs *runs)
{
    struct plot p = {
        .title = "Predicted and observed",
        .about = runs->n == 1 ? "on the line, the click rate equals the prediction; bars: 95 %; "
                                "each dot has as many samples"
                              : "on the line, the click rate equals the prediction",
        .x_name = "predicted probability",
        .equal = true,
        .reference = NAN};
    for (int i = 0; i < runs->n; i++)
        p.log |= is_rare(main_bins(runs->at[i]));
    if (runs->n == 1)
        add_run_bins(&p, runs->at[0]);
    for (int i = 0; i < runs->n && runs->n > 1; i++)
        if (main_bins(runs->at[i])->n)
            add_bins(plot_new_series(&p, NULL, i, PLOT_LINE), main_bins(runs->at[i]));
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
