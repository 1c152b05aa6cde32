/* Random tensors by their own inputs (2.x): every element of X is a parameter of its draw.
 *
 *   bernoulli    1 if u < x, else 0
 *   exponential  -ln(1 - u) / lambda; X gives the shape
 *   poisson      x < 12: how many draws until their product is below exp(-x); else Devroye's
 *                rejection, as std::poisson_distribution of libstdc++, a new one for every one */
#include <limits.h>
#include <math.h>

#include "ops/create/random_source.h"
#include "ops/seq_common.h"

static enum skiff_status like_x(struct infer *c, struct skiff_error *err)
{
    const struct shape *s = infer_in(c, 0, 0);
    TRY(infer_want_float(c, 0, err));
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), s, err);
}

static double element(const struct tensor *t, int64_t i)
{
    return t->dtype == DTYPE_FP32 ? (double)tensor_f32(t)[i] : tensor_f64(t)[i];
}

static void set_element(struct tensor *t, int64_t i, double v)
{
    if (t->dtype == DTYPE_FP32)
        tensor_f32(t)[i] = (float)v;
    else
        tensor_f64(t)[i] = v;
}

/* A draw in the type of t. */
static double draw_as(struct random_source *r, const struct tensor *t)
{
    return t->dtype == DTYPE_FP32 ? (double)random_float(r) : random_double(r);
}

static enum skiff_status bernoulli_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct random_source r;
    random_source_init(&r, k, 0);
    for (int64_t i = 0, n = tensor_numel(x); i < n; i++) {
        double p = element(x, i);
        if (!(p >= 0 && p <= 1))
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input X (%s): element %lld is %g, must be a probability",
                               kernel_in_name(k, 0, 0), (long long)i, p);
        set_element(kernel_out(k, 0), i, draw_as(&r, x) < p ? 1.0 : 0.0);
    }
    return SKIFF_OK;
}

static enum skiff_status exponential_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    float lambda = k->attr[0].f;
    struct random_source r;
    if (!(lambda > 0))
        return kernel_fail(k, SKIFF_RANGE, err, "attribute lambda is %g, must be above 0", lambda);
    random_source_init(&r, k, 0);
    for (int64_t i = 0, n = tensor_numel(x); i < n; i++)
        if (x->dtype == DTYPE_FP32)
            set_element(kernel_out(k, 0), i, -logf(1.0f - random_float(&r)) / lambda);
        else
            set_element(kernel_out(k, 0), i, -log(1.0 - random_double(&r)) / lambda);
    return SKIFF_OK;
}

/* ---- poisson ---- */

/* Numbers of the standard normal distribution, in pairs. */
struct normal_pair {
    bool has_second;
    double second;
};

static double next_normal(struct normal_pair *p, struct random_source *r)
{
    double x, y, r2;
    if (p->has_second) {
        p->has_second = false;
        return p->second;
    }
    do {
        x = 2.0 * random_double(r) - 1.0;
        y = 2.0 * random_double(r) - 1.0;
        r2 = x * x + y * y;
    } while (r2 > 1.0 || r2 == 0.0);
    double m = sqrt(-2.0 * log(r2) / r2);
    *p = (struct normal_pair){true, x * m};
    return y * m;
}

static double poisson_small(struct random_source *r, double mean)
{
    double product = 1.0, end = exp(-mean), count = 0;
    do {
        product *= random_double(r);
        count++;
    } while (product > end);
    return count - 1;
}

/* Devroye's hats around floor(mean): a normal one on either side, three points, an exponential
 * tail; `upto` are the sums of their areas. */
struct hats {
    double m, d, scale, inverse, upto[5], whole;
};

static struct hats hats_of(double mean)
{
    static const double quarter_pi = 0.78539816339744830962, root_half_pi = 1.25331413731550025121;
    struct hats h = {.m = floor(mean)};
    double wide = sqrt(2 * h.m * log(32 * h.m / quarter_pi));
    h.d = round(fmax(6.0, fmin(h.m, wide)));
    double cx = 2 * h.m + h.d;
    h.scale = sqrt(cx / 2);
    h.inverse = 1 / cx;
    h.upto[0] = sqrt(h.m) * root_half_pi;
    h.upto[1] = sqrt(quarter_pi * cx) * exp(h.inverse) + h.upto[0];
    h.upto[2] = h.upto[1] + 1;
    h.upto[3] = h.upto[2] + 1;
    h.upto[4] = h.upto[3] + 1.01290304793200185832;
    h.whole = 2 * cx * exp(-h.d * h.inverse * (1 + h.d / 2)) / h.d + h.upto[4];
    return h;
}

/* A proposal: its distance from m, and the logarithm of its weight; false: drawn anew. */
static bool propose(const struct hats *h, struct normal_pair *pair, struct random_source *r,
                    double u, double *x, double *weight)
{
    *weight = 0;
    if (u <= h->upto[0]) {
        double n = next_normal(pair, r);
        *x = floor(-fabs(n) * sqrt(h->m) - 1);
        *weight = -n * n / 2;
        return *x >= -h->m;
    }
    if (u <= h->upto[1]) {
        double y = 1 + fabs(next_normal(pair, r)) * h->scale;
        *x = ceil(y);
        *weight = y * (2 - y) * h->inverse;
        return *x <= h->d;
    }
    if (u <= h->upto[4]) {
        *x = u <= h->upto[2] ? -1 : u <= h->upto[3] ? 0 : 1;
        *weight = u <= h->upto[3] ? 0 : 1.0 / 78;
        return true;
    }
    double y = h->d - log(1.0 - random_double(r)) * 2 * (2 * h->m + h->d) / h->d;
    *x = ceil(y);
    *weight = -h->d * h->inverse * (1 + y / 2);
    return true;
}

static double poisson_large(struct random_source *r, double mean)
{
    struct hats h = hats_of(mean);
    struct normal_pair pair = {0};
    double log_mean = log(mean), base = lgamma(h.m + 1), x, weight;
    for (;;) {
        double u = h.whole * random_double(r), e = -log(1.0 - random_double(r));
        if (propose(&h, &pair, r, u, &x, &weight) &&
            weight - e - x * log_mean <= base - lgamma(x + h.m + 1) && x + h.m < INT_MAX)
            return x + h.m;
    }
}

static enum skiff_status poisson_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct random_source r;
    random_source_init(&r, k, 0);
    for (int64_t i = 0, n = tensor_numel(x); i < n; i++) {
        double mean = element(x, i);
        if (!(mean >= 0 && mean < INT_MAX))
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input X (%s): element %lld is %g, must be a mean of at least 0",
                               kernel_in_name(k, 0, 0), (long long)i, mean);
        set_element(kernel_out(k, 0), i,
                    mean < 12 ? poisson_small(&r, mean) : poisson_large(&r, mean));
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_attr_spec exponential_attrs[] = {A_FLOAT("lambda", 1.0f), {0}};

#define DRAW_ROW(name, attr_table, kernel)                                                         \
    {                                                                                              \
        .type = name, .generations = GEN_2X, .flags = OP_RANDOM | OP_NO_GRAD_NEEDED, .ins = x_ins, \
        .outs = out_outs, .attrs = attr_table, .infer = like_x, .run = kernel                      \
    }

const struct op_kind ops_random_more[] = {
    DRAW_ROW("bernoulli", no_attrs, bernoulli_run),
    DRAW_ROW("exponential", exponential_attrs, exponential_run),
    DRAW_ROW("poisson", no_attrs, poisson_run),
    {0}};
