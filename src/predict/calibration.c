/* Fitting, applying and saving of calibrations (calibration.h).
 *
 * Isotonic: rows sorted by p are pooled until the shares of positives ascend (pool adjacent
 * violators). Each pool becomes a point: its mean p, and its share of positives, to which one row
 * with the mean p is added, so that pools of one label do not claim certainty. Between the points
 * lie lines in logits: a step function would make rows equal that the model can tell apart.
 *
 * Platt: a line in logits, fitted by Newton steps. Its prior is that the model is right: slope 1
 * and shift 0, each with a variance of 1 / PRIOR. Where rows are few, their share of positives says
 * less about the model than about which rows they are (measured: bench/README.md). */
#include "predict/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/values.h"
#include "store/file.h"

#define LEAST_P 1e-7 /* of a probability whose logit is taken */
#define LEAST_SLOPE 0.01
#define PRIOR 10.0 /* as much information as 40 rows of 50 % positives have */
#define NEWTON_STEPS 100
#define POINTS_MAX 100000 /* that a file may have */

struct calibration {
    enum calibration_method method;
    int64_t rows, positives;
    double slope, shift; /* platt */
    double *raw, *calibrated;
    int n; /* of those points */
};

static const char *const names[] = {"none", "isotonic", "platt", NULL};

static double logit(double p)
{
    p = p < LEAST_P ? LEAST_P : p > 1 - LEAST_P ? 1 - LEAST_P : p;
    return log(p / (1 - p));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- applying ---- */

static double map_points(const struct calibration *c, double x)
{
    int low = 0, high = c->n - 1;
    if (x <= c->raw[0])
        return c->calibrated[0] + (x - c->raw[0]);
    if (x >= c->raw[high])
        return c->calibrated[high] + (x - c->raw[high]);
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (x < c->raw[middle])
            high = middle;
        else
            low = middle;
    }
    double share = (x - c->raw[low]) / (c->raw[high] - c->raw[low]);
    return c->calibrated[low] + share * (c->calibrated[high] - c->calibrated[low]);
}

double calibration_apply(const struct calibration *c, double p)
{
    if (!c || isnan(p))
        return p;
    double x = logit(p);
    return sigmoid(c->method == CALIBRATION_PLATT ? c->slope * x + c->shift : map_points(c, x));
}

const char *calibration_name(const struct calibration *c)
{
    return names[c->method];
}

int64_t calibration_rows(const struct calibration *c)
{
    return c->rows;
}

void calibration_destroy(struct calibration *c)
{
    if (!c)
        return;
    free(c->raw);
    free(c->calibrated);
    free(c);
}

/* ---- isotonic ---- */

struct pool {
    double weight, p, positive; /* sums */
};

static int by_p(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

static double mean_p(const struct pool *x)
{
    return x->p / x->weight;
}

/* With one row more, of which only p is known. */
static double share(const struct pool *x)
{
    return (x->positive + mean_p(x)) / (x->weight + 1);
}

/* Pools neighbours until `value` ascends; how many are left. */
static int64_t pool_until_ascending(struct pool *at, int64_t n,
                                    double (*value)(const struct pool *))
{
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        at[m++] = at[i];
        for (; m > 1 && value(&at[m - 2]) >= value(&at[m - 1]); m--) {
            at[m - 2].weight += at[m - 1].weight;
            at[m - 2].p += at[m - 1].p;
            at[m - 2].positive += at[m - 1].positive;
        }
    }
    return m;
}

static double plain_share(const struct pool *x)
{
    return x->positive / x->weight;
}

/* Rows with the same p are one. */
static int64_t pool_equal(struct pool *at, int64_t n)
{
    int64_t m = 0;
    double last = -1;
    for (int64_t i = 0; i < n; i++) {
        struct pool x = {at[i].weight, at[i].p * at[i].weight, at[i].positive};
        if (m && at[i].p <= last) {
            at[m - 1].weight += x.weight;
            at[m - 1].p += x.p;
            at[m - 1].positive += x.positive;
        } else {
            last = at[i].p;
            at[m++] = x;
        }
    }
    return m;
}

static void fit_isotonic(struct calibration *c, const float *p, const float *label,
                         const float *weight, int64_t rows)
{
    struct pool *at = mem_alloc_or_die((size_t)rows * sizeof *at);
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++) {
        double w = weight ? (double)weight[i] : 1;
        if (w > 0)
            at[n++] = (struct pool){w, (double)p[i], label[i] > 0 ? w : 0};
    }
    qsort(at, (size_t)n, sizeof *at, by_p);
    n = pool_equal(at, n);
    n = pool_until_ascending(at, n, plain_share);
    n = pool_until_ascending(at, n, share);
    c->raw = mem_alloc_or_die((size_t)n * sizeof *c->raw);
    c->calibrated = mem_alloc_or_die((size_t)n * sizeof *c->calibrated);
    for (int64_t i = 0; i < n; i++) {
        double x = logit(mean_p(&at[i])), y = logit(share(&at[i]));
        if (c->n && (x <= c->raw[c->n - 1] || y <= c->calibrated[c->n - 1]))
            continue; /* equal within the limits of logits */
        c->raw[c->n] = x;
        c->calibrated[c->n++] = y;
    }
    free(at);
}

/* ---- Platt ---- */

struct platt_data {
    double *x, *target, *weight;
    int64_t n;
};

static double platt_loss(const struct platt_data *d, double slope, double shift)
{
    double loss = PRIOR / 2 * ((slope - 1) * (slope - 1) + shift * shift);
    for (int64_t i = 0; i < d->n; i++) {
        double z = slope * d->x[i] + shift;
        /* log(1 + exp(z)) - target * z, without overflow */
        double soft = z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
        loss += d->weight[i] * (soft - d->target[i] * z);
    }
    return loss;
}

/* One Newton step, halved until the loss falls; false: it falls no more. fixed: the slope stays. */
static bool newton_step(const struct platt_data *d, bool fixed, double *slope, double *shift)
{
    double g_slope = PRIOR * (*slope - 1), g_shift = PRIOR * *shift;
    double h_slope = PRIOR, h_both = 0, h_shift = PRIOR;
    for (int64_t i = 0; i < d->n; i++) {
        double q = sigmoid(*slope * d->x[i] + *shift);
        double g = d->weight[i] * (q - d->target[i]), h = d->weight[i] * q * (1 - q);
        g_slope += g * d->x[i];
        g_shift += g;
        h_slope += h * d->x[i] * d->x[i];
        h_both += h * d->x[i];
        h_shift += h;
    }
    double det = h_slope * h_shift - h_both * h_both, da = 0, db = g_shift / h_shift;
    if (!fixed) { /* det > 0: of two sums of squares with a prior each */
        da = (h_shift * g_slope - h_both * g_shift) / det;
        db = (h_slope * g_shift - h_both * g_slope) / det;
    }
    double before = platt_loss(d, *slope, *shift);
    for (double step = 1; step > 1e-6; step /= 2) {
        double loss = platt_loss(d, *slope - step * da, *shift - step * db);
        if (loss < before - 1e-12 * fabs(before)) {
            *slope -= step * da;
            *shift -= step * db;
            return true;
        }
    }
    return false;
}

static void fit_platt(struct calibration *c, const float *p, const float *label,
                      const float *weight, int64_t n)
{
    struct platt_data d = {.x = mem_alloc_or_die((size_t)n * 3 * sizeof *d.x), .n = n};
    d.target = d.x + n;
    d.weight = d.target + n;
    for (int64_t i = 0; i < n; i++) {
        d.x[i] = logit((double)p[i]);
        d.weight[i] = weight ? (double)weight[i] : 1;
        d.target[i] = label[i] > 0;
    }
    c->slope = 1;
    for (int i = 0; i < NEWTON_STEPS && newton_step(&d, false, &c->slope, &c->shift); i++)
        ;
    if (c->slope < LEAST_SLOPE) { /* the order of the rows stays, whatever the labels say */
        c->slope = LEAST_SLOPE;
        for (int i = 0; i < NEWTON_STEPS && newton_step(&d, true, &c->slope, &c->shift); i++)
            ;
    }
    free(d.x);
}

static enum skiff_status check_rows(struct calibration *c, const float *p, const float *label,
                                    const float *weight, int64_t n, struct skiff_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        double w = weight ? (double)weight[i] : 1;
        if (!(p[i] >= 0 && p[i] <= 1))
            return error_set(err, SKIFF_INVALID,
                             "calibration: row %" PRId64 " has prediction %g; expected a "
                             "probability from 0 to 1",
                             i + 1, (double)p[i]);
        if (!(w >= 0 && w < INFINITY))
            return error_set(err, SKIFF_INVALID,
                             "calibration: row %" PRId64 " has weight %g; expected 0 or more",
                             i + 1, w);
        c->rows += w > 0;
        c->positives += w > 0 && label[i] > 0;
    }
    if (c->positives && c->positives < c->rows)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "calibration needs rows of both labels: %" PRId64 " of %" PRId64
                     " rows are positive",
                     c->positives, c->rows);
}

enum skiff_status calibration_fit(enum calibration_method method, const float *p,
                                  const float *label, const float *weight, int64_t n,
                                  struct calibration **out, struct skiff_error *err)
{
    struct calibration *c = mem_alloc_or_die(sizeof *c);
    c->method = method;
    *out = NULL;
    enum skiff_status status = check_rows(c, p, label, weight, n, err);
    if (status < 0) {
        calibration_destroy(c);
        return status;
    }
    if (method == CALIBRATION_PLATT)
        fit_platt(c, p, label, weight, n);
    else
        fit_isotonic(c, p, label, weight, n);
    *out = c;
    return SKIFF_OK;
}

/* ---- the file ---- */

static void add_list(struct buf *out, const char *key, const double *values, int n)
{
    buf_printf(out, "%s: [", key);
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%.17g", !i ? "" : i % 4 ? ", " : ",\n  ", values[i]);
    buf_str(out, "]\n");
}

enum skiff_status calibration_save(const struct calibration *c, const char *folder,
                                   struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    char *path = path_join(folder, CALIBRATION_FILE);
    buf_printf(&text, "method: %s\nrows: %" PRId64 "\npositives: %" PRId64 "\n", names[c->method],
               c->rows, c->positives);
    if (c->method == CALIBRATION_PLATT) {
        buf_printf(&text, "slope: %.17g\nshift: %.17g\n", c->slope, c->shift);
    } else {
        add_list(&text, "raw", c->raw, c->n);
        add_list(&text, "calibrated", c->calibrated, c->n);
    }
    enum skiff_status status = file_write(path, text.data, text.len, err);
    buf_deinit(&text);
    free(path);
    return status;
}

static void read_list(struct values *v, const char *key, double **out, int *out_n)
{
    const char *const *texts;
    int n = values_list(v, key, &texts);
    if (n < 1 || n > POINTS_MAX)
        values_refuse(v, key, "has %d numbers; expected 1 to %d", n < 0 ? 0 : n, POINTS_MAX);
    n = n < 1 || n > POINTS_MAX ? 0 : n;
    *out = mem_alloc_or_die((size_t)(n + 1) * sizeof **out);
    *out_n = n;
    for (int i = 0; i < n; i++) {
        if (!value_parse_real(texts[i], &(*out)[i]) || !isfinite((*out)[i]))
            values_refuse(v, key, "has %s; expected a number", texts[i]);
        if (i && !((*out)[i] > (*out)[i - 1]))
            values_refuse(v, key, "has %s after %s; expected ascending numbers", texts[i],
                          texts[i - 1]);
    }
}

static void read_points(struct values *v, struct calibration *c)
{
    int n;
    read_list(v, "raw", &c->raw, &c->n);
    read_list(v, "calibrated", &c->calibrated, &n);
    if (n != c->n)
        values_refuse(v, "calibrated", "has %d numbers and raw has %d; expected as many", n, c->n);
}

static void read_line(struct values *v, struct calibration *c)
{
    c->slope = values_real(v, "slope", 0);
    c->shift = values_real(v, "shift", 0);
    if (!(c->slope > 0 && isfinite(c->slope)))
        values_refuse(v, "slope", "is %g; expected a positive number", c->slope);
    if (!isfinite(c->shift))
        values_refuse(v, "shift", "is %g; expected a number", c->shift);
}

static enum skiff_status read_file(const char *path, struct calibration **out,
                                   struct skiff_error *err)
{
    struct values *v;
    TRY(values_open(path, &v, err));
    struct calibration *c = mem_alloc_or_die(sizeof *c);
    c->method = (enum calibration_method)values_choice(v, "method", CALIBRATION_NONE, names);
    c->rows = values_int_in(v, "rows", 0, 0, INT64_MAX);
    c->positives = values_int_in(v, "positives", 0, 0, INT64_MAX);
    if (c->method == CALIBRATION_ISOTONIC)
        read_points(v, c);
    else if (c->method == CALIBRATION_PLATT)
        read_line(v, c);
    else
        values_refuse(v, "method", "is not set; expected isotonic or platt");
    enum skiff_status status = values_check(v, err);
    values_close(v);
    if (status < 0)
        calibration_destroy(c);
    else
        *out = c;
    return status;
}

enum skiff_status calibration_load(const char *folder, struct calibration **out,
                                   struct skiff_error *err)
{
    char *path = path_join(folder, CALIBRATION_FILE);
    *out = NULL;
    enum skiff_status status = file_exists(path) ? read_file(path, out, err) : SKIFF_OK;
    free(path);
    return status;
}
