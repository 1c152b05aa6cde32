/* adam: m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *       p -= lr' m / (sqrt(v) + eps),  lr' = lr sqrt(1 - b2pow) / (1 - b1pow)
 * The powers are those before this step's multiplication; with a sparse gradient those after it
 * (Paddle multiplies first there). 2.x adds eps sqrt(1 - b2pow) instead of eps, except to elements
 * without a gradient.
 * adamw: the same (2.x), after p *= 1 - lr lr_ratio coeff; lr_ratio is not applied to the step.
 *
 * Idle steps j = 1..k, with q = sqrt(b2), r = b1 / q, s = sqrt(v_0):
 *       p -= sum_j lr'_j b1^j m_0 / (q^j s + eps)
 *          = m_0 / (s + eps) sum_j lr'_j r^j / (1 + e d_j),  e = eps / (s + eps),  d_j = q^-j - 1
 * e lies in [0, 1] and d_j is small as long as r^j is not, so with S_i = sum_j lr'_j r^j (-d_j)^i
 *          = m_0 / (s + eps) (S_0 + e S_1 + e^2 S_2 + ...)
 * where the first term left out bounds the error. With the usual betas four terms give full float
 * precision for any v_0. plan counts the terms that the betas need; betas that would need too many
 * get no sums, and flush then walks through the steps, no further than the window. */
#include "rules/rule.h"

#include <math.h>

static void adam_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                       struct rule_step *out)
{
    float b1 = scalar[0], b2 = scalar[1];
    scalar[0] *= h->beta1;
    scalar[1] *= h->beta2;
    if (sparse) {
        b1 = scalar[0];
        b2 = scalar[1];
    }
    float root = sqrtf(1 - b2);
    *out = (struct rule_step){
        .lr = lr,
        .rate = lr * root / (1 - b1),
        .epsilon = h->second_gen ? h->epsilon * root : h->epsilon,
    };
}

/* Rows of embedding tables are short and seldom a multiple of a vector long. The last lanes of a
 * row are therefore taken as one whole vector that overlaps the one before it: computed from the
 * old values, stored last. */
enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

#define LANES_AT(array, i) (*(lanes *)((array) + (i)))
#define LANES_SQRT(to, from)           \
    for (int k_ = 0; k_ < LANES; k_++) \
    (to)[k_] = sqrtf((from)[k_])

/* One step on lanes p, m, v with gradient g. */
#define LANES_ADAM(p, m, v, g)           \
    do {                                 \
        lanes root;                      \
        m = b1 * m + (1 - b1) * g;       \
        v = b2 * v + (1 - b2) * (g * g); \
        LANES_SQRT(root, v);             \
        p -= rate * (m / (root + eps));  \
    } while (0)

/* A gap of lanes p, m, v. */
#define LANES_FLUSH(p, m, v)                                 \
    do {                                                     \
        lanes root, e;                                       \
        LANES_SQRT(root, v);                                 \
        root = 1 / (root + eps);                             \
        e = eps * root;                                      \
        p -= m * root * (s0 + e * (s1 + e * (s2 + e * s3))); \
        m *= power_m;                                        \
        v *= power_v;                                        \
    } while (0)

RULE_LOOP static void adam_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                                 const float *restrict g, float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict v = state[1];
    const float b1 = h->beta1, b2 = h->beta2, rate = s->rate, eps = s->epsilon;
    if (n >= LANES) {
        size_t tail = n - LANES;
        lanes pt = LANES_AT(p, tail), mt = LANES_AT(m, tail), vt = LANES_AT(v, tail);
        for (size_t i = 0; i + LANES <= n; i += LANES) {
            lanes pi = LANES_AT(p, i), mi = LANES_AT(m, i), vi = LANES_AT(v, i);
            lanes gi = *(const lanes *)(g + i);
            LANES_ADAM(pi, mi, vi, gi);
            LANES_AT(p, i) = pi;
            LANES_AT(m, i) = mi;
            LANES_AT(v, i) = vi;
        }
        if (n % LANES) {
            lanes gt = *(const lanes *)(g + tail);
            LANES_ADAM(pt, mt, vt, gt);
            LANES_AT(p, tail) = pt;
            LANES_AT(m, tail) = mt;
            LANES_AT(v, tail) = vt;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
        p[i] -= rate * (m[i] / (sqrtf(v[i]) + eps));
    }
}

RULE_LOOP static void adamw_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                                  const float *restrict g, float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict v = state[1];
    const float b1 = h->beta1, b2 = h->beta2, rate = s->rate, eps = s->epsilon;
    const float shrink = h->decoupled ? 1 - s->lr * h->lr_ratio * h->coeff : 1;
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
        p[i] = p[i] * shrink - rate * (m[i] / (sqrtf(v[i]) + eps));
    }
}

RULE_LOOP static void adam_idle(const struct rule_params *h, const struct rule_step *s, size_t n,
                                float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict v = state[1];
    const float b1 = h->beta1, b2 = h->beta2, rate = s->rate, eps = h->epsilon;
    for (size_t i = 0; i < n; i++) {
        m[i] *= b1;
        v[i] *= b2;
        p[i] -= rate * (m[i] / (sqrtf(v[i]) + eps));
    }
}

/* Share of the movement that the term of power k stands for, at a steady rate. */
static double adam_term(double r, double q, uint32_t window, int k)
{
    double sum = 0, all = 0, rj = 1, qj = 1;
    for (uint32_t j = 1; j <= window; j++) {
        rj *= r;
        qj /= q;
        sum += rj * pow(qj - 1, k);
        all += rj;
    }
    return all > 0 ? sum / all : 0;
}

static bool adam_plan(const struct rule_params *h, struct rule_plan *out)
{
    if (h->beta1 < 0 || !(h->beta2 > 0) || !(h->epsilon > 0))
        return false;
    double q = sqrt(h->beta2), r = h->beta1 / q;
    *out = (struct rule_plan){.window = rule_window(r), .base = {h->beta1, h->beta2}};
    if (out->window == RULE_NO_REST)
        return false;
    for (int k = 1; k <= RULE_MAX_TERMS && !out->terms; k++)
        if (adam_term(r, q, out->window, k) < 2e-8)
            out->terms = k;
    return true;
}

static void adam_weights(const struct rule_params *h, const struct rule_plan *plan, double *w)
{
    double q = sqrt(h->beta2), r = h->beta1 / q;
    for (uint32_t j = 0; j <= plan->window; j++) {
        double term = pow(r, j), d = pow(q, -(double)j) - 1;
        for (int i = 0; i < plan->terms; i++, term *= -d)
            w[(size_t)j * plan->terms + i] = term;
    }
}

RULE_LOOP static void adam_flush_4(const struct rule_gap *gap, float eps, size_t n,
                                   float *restrict p, float *restrict m, float *restrict v)
{
    const float s0 = (float)gap->sums[0], s1 = (float)gap->sums[1], s2 = (float)gap->sums[2],
                s3 = (float)gap->sums[3];
    const float power_m = gap->power[0], power_v = gap->power[1];
    if (n >= LANES) {
        size_t tail = n - LANES;
        lanes pt = LANES_AT(p, tail), mt = LANES_AT(m, tail), vt = LANES_AT(v, tail);
        for (size_t i = 0; i + LANES <= n; i += LANES) {
            lanes pi = LANES_AT(p, i), mi = LANES_AT(m, i), vi = LANES_AT(v, i);
            LANES_FLUSH(pi, mi, vi);
            LANES_AT(p, i) = pi;
            LANES_AT(m, i) = mi;
            LANES_AT(v, i) = vi;
        }
        if (n % LANES) {
            LANES_FLUSH(pt, mt, vt);
            LANES_AT(p, tail) = pt;
            LANES_AT(m, tail) = mt;
            LANES_AT(v, tail) = vt;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float inv = 1 / (sqrtf(v[i]) + eps), e = eps * inv;
        p[i] -= m[i] * inv * (s0 + e * (s1 + e * (s2 + e * s3)));
        m[i] *= power_m;
        v[i] *= power_v;
    }
}

static void adam_flush_any(const struct rule_gap *gap, int terms, float eps, size_t n,
                           float *restrict p, float *restrict m, float *restrict v)
{
    for (size_t i = 0; i < n; i++) {
        float inv = 1 / (sqrtf(v[i]) + eps), e = eps * inv, sum = 0;
        for (int k = terms; k-- > 0;)
            sum = sum * e + (float)gap->sums[k];
        p[i] -= m[i] * inv * sum;
        m[i] *= gap->power[0];
        v[i] *= gap->power[1];
    }
}

/* Step after step, all elements of a piece at a time. */
RULE_LOOP static void adam_flush_walk(const struct rule_params *h, const struct rule_plan *plan,
                                      const struct rule_gap *gap, size_t n, float *p, float *m,
                                      float *v)
{
    enum { PIECE = 32 };
    const float b1 = h->beta1, q = sqrtf(h->beta2), eps = h->epsilon;
    uint32_t steps = gap->steps < plan->window ? gap->steps : plan->window;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t len = n - at < PIECE ? n - at : PIECE, full = (len + LANES - 1) / LANES * LANES;
        float mi[PIECE] = {0}, root[PIECE] = {0}, sum[PIECE] = {0}, moves = 0;
        for (size_t i = 0; i < len; i++) {
            mi[i] = m[at + i];
            root[i] = sqrtf(v[at + i]);
            moves += fabsf(mi[i]);
        }
        for (uint32_t j = 1; j <= steps && moves > 0; j++) {
            const float rate = gap->rates[(gap->first + j) & gap->mask];
            for (size_t i = 0; i < full; i++) {
                mi[i] *= b1;
                root[i] *= q;
                sum[i] += rate * (mi[i] / (root[i] + eps));
            }
        }
        for (size_t i = 0; i < len; i++) {
            p[at + i] -= sum[i];
            m[at + i] *= gap->power[0];
            v[at + i] *= gap->power[1];
        }
    }
}

static void adam_flush(const struct rule_params *h, const struct rule_plan *plan,
                       const struct rule_gap *gap, size_t n, float *p, float *const *state)
{
    if (plan->terms == 4)
        adam_flush_4(gap, h->epsilon, n, p, state[0], state[1]);
    else if (plan->terms)
        adam_flush_any(gap, plan->terms, h->epsilon, n, p, state[0], state[1]);
    else
        adam_flush_walk(h, plan, gap, n, p, state[0], state[1]);
}

const struct rule rule_adam = {
    .name = "adam",
    .states = 2,
    .scalars = 2,
    .begin = adam_begin,
    .apply = adam_apply,
    .idle = adam_idle,
    .plan = adam_plan,
    .weights = adam_weights,
    .flush = adam_flush,
};
const struct rule rule_adamw = {
    .name = "adamw", .states = 2, .scalars = 2, .begin = adam_begin, .apply = adamw_apply};
