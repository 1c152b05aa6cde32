/* Metrics from every prediction (scores.h).
 *
 * One sort by prediction and one walk from the highest down give curves and lifts; for groups there
 * is a sort by group and a walk through each. Equal predictions are one step of a walk. */
#include "executor/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MANTISSA 23
#define BITS_LEFT 8 /* of the mantissa, at least */

const double score_lift_shares[SCORE_LIFTS] = {0.01, 0.05, 0.1};

void scores_deinit(struct scores *s)
{
    free(s->at);
    *s = (struct scores){0};
}

void scores_reset(struct scores *s)
{
    s->n = s->most = 0;
    s->dropped = 0;
}

/* ---- order ---- */

/* Highest predictions first. */
static int by_prediction(const void *x, const void *y)
{
    const struct score *a = x, *b = y;
    return (a->p < b->p) - (a->p > b->p);
}

static int by_group(const void *x, const void *y)
{
    const struct score *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return by_prediction(x, y);
}

/* ---- bounded memory ---- */

static float rounded(float p, int bits)
{
    uint32_t u;
    memcpy(&u, &p, sizeof u);
    u += bits ? UINT32_C(1) << (bits - 1) : 0;
    u &= ~((UINT32_C(1) << bits) - 1);
    memcpy(&p, &u, sizeof u);
    return p;
}

/* Puts equal ones together. */
static void merge(struct scores *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        s->at[i].p = rounded(s->at[i].p, s->dropped);
    qsort(s->at, s->n, sizeof *s->at, by_group);
    for (size_t i = 0; i < s->n; i++) {
        struct score *last = n ? &s->at[n - 1] : NULL;
        if (last && last->group == s->at[i].group && last->p == s->at[i].p) {
            last->pos += s->at[i].pos;
            last->neg += s->at[i].neg;
        } else {
            s->at[n++] = s->at[i];
        }
    }
    s->n = n;
}

/* Half of the room is free then; many groups may need more room. */
static void shrink(struct scores *s)
{
    merge(s);
    while (s->n > s->most / 2 && s->dropped < MANTISSA - BITS_LEFT) {
        s->dropped++;
        merge(s);
    }
    if (s->n > s->most / 2)
        s->most *= 2;
}

static void put(struct scores *s, const struct score *one)
{
    if (!s->most)
        s->most = SCORES_EXACT;
    if (s->n == s->most)
        shrink(s);
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->at = mem_grow_or_die(s->at, s->cap * sizeof *s->at);
    }
    s->at[s->n++] = *one;
}

void scores_add(struct scores *s, float p, bool positive, double weight, uint64_t group)
{
    const struct score one = {group, positive ? weight : 0, positive ? 0 : weight, p};
    put(s, &one);
}

void scores_append(struct scores *s, const struct scores *other)
{
    for (size_t i = 0; i < other->n; i++)
        put(s, &other->at[i]);
    s->dropped = other->dropped > s->dropped ? other->dropped : s->dropped;
}

/* ---- metrics ---- */

static double quotient(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* The AUC of n scores that are sorted, equal predictions as half a step; NAN: of one class. */
static double area(const struct score *at, size_t n, double *weight)
{
    double sum = 0, pos = 0, neg = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double p = 0, q = 0;
        for (end = i; end < n && at[end].p == at[i].p; end++) {
            p += at[end].pos;
            q += at[end].neg;
        }
        sum += q * (pos + p / 2);
        pos += p;
        neg += q;
    }
    *weight = pos + neg;
    return pos > 0 && neg > 0 ? sum / pos / neg : NAN;
}

static void add_groups(struct scores *s, struct score_metrics *out)
{
    double sum = 0, weights = 0;
    qsort(s->at, s->n, sizeof *s->at, by_group);
    for (size_t i = 0, end; i < s->n; i = end) {
        double weight;
        for (end = i + 1; end < s->n && s->at[end].group == s->at[i].group;)
            end++;
        double auc = area(s->at + i, end - i, &weight);
        if (isnan(auc))
            continue;
        sum += weight * auc;
        weights += weight;
        out->groups++;
    }
    out->group_auc = quotient(sum, weights);
}

static void add_losses(const struct scores *s, struct score_metrics *out)
{
    const float least = 1e-7f;
    double loss = 0, share = quotient(out->positives, out->weight);
    for (size_t i = 0; i < s->n; i++) {
        const struct score *one = &s->at[i];
        float q = 1.0f - one->p;
        if (one->pos > 0)
            loss -= one->pos * log((double)fmaxf(one->p, least));
        if (one->neg > 0)
            loss -= one->neg * log((double)fmaxf(q, least));
        bool positive = one->p >= (float)out->threshold;
        *(positive ? &out->true_pos : &out->false_neg) += one->pos;
        *(positive ? &out->false_pos : &out->true_neg) += one->neg;
    }
    out->log_loss = quotient(loss, out->weight);
    double entropy =
        share > 0 && share < 1 ? -share * log(share) - (1 - share) * log(1 - share) : 0;
    out->normalised_entropy = quotient(out->log_loss, entropy);
    out->precision = quotient(out->true_pos, out->true_pos + out->false_pos);
    out->recall = quotient(out->true_pos, out->positives);
    out->f1 = quotient(2 * out->true_pos, 2 * out->true_pos + out->false_pos + out->false_neg);
}

/* Sorted; both classes are there. One step for each distinct prediction. */
static void add_curves(const struct scores *s, struct score_metrics *out)
{
    double pos = 0, neg = 0, negatives = out->weight - out->positives;
    int lift = 0;
    out->pr_auc = out->ks = 0;
    for (size_t i = 0, end; i < s->n; i = end) {
        double p = 0, q = 0;
        for (end = i; end < s->n && s->at[end].p == s->at[i].p; end++) {
            p += s->at[end].pos;
            q += s->at[end].neg;
        }
        for (; lift < SCORE_LIFTS; lift++) {
            double want = score_lift_shares[lift] * out->weight, left = want - pos - neg;
            if (left > p + q)
                break;
            double among = pos + (p + q > 0 ? p * left / (p + q) : 0);
            out->lift[lift] = among / want / (out->positives / out->weight);
        }
        pos += p;
        neg += q;
        if (p > 0)
            out->pr_auc += p / out->positives * pos / (pos + neg);
        out->ks = fmax(out->ks, fabs(pos / out->positives - neg / negatives));
    }
}

void score_metrics_of(struct scores *s, double threshold, bool grouped, struct score_metrics *out)
{
    *out =
        (struct score_metrics){.pr_auc = NAN, .ks = NAN, .group_auc = NAN, .threshold = threshold};
    for (int i = 0; i < SCORE_LIFTS; i++)
        out->lift[i] = NAN;
    if (grouped)
        add_groups(s, out);
    qsort(s->at, s->n, sizeof *s->at, by_prediction);
    out->auc = area(s->at, s->n, &out->weight);
    for (size_t i = 0; i < s->n; i++)
        out->positives += s->at[i].pos;
    add_losses(s, out);
    if (!isnan(out->auc))
        add_curves(s, out);
}
