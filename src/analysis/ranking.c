/* Contributions of rows (ranking.h). The variance of an AUC, or of a difference of two on the same
 * rows, is that of the placements over the positives plus that over the negatives (DeLong et al.,
 * 1988); of a mean log loss that of the losses. */
#include "analysis/ranking.h"

#include <math.h>
#include <stdlib.h>

static double weight_of(const struct ranked_rows *r, int64_t i)
{
    return r->weights ? (double)r->weights[i] : 1.0;
}

void ranked_rows_init(struct ranked_rows *r, const bool *positive, const float *weights, int64_t n)
{
    *r = (struct ranked_rows){.n = n, .weights = weights, .positive = positive};
    for (int64_t i = 0; i < n; i++)
        *(positive[i] ? &r->pos : &r->neg) += weight_of(r, i);
}

static int by_prediction(const void *a, const void *b)
{
    const struct ranked_row *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

void ranking_places(const struct ranked_rows *r, const float *p, struct ranked_row *sorted,
                    double *place)
{
    double pos = 0, neg = 0; /* below */
    for (int64_t i = 0; i < r->n; i++)
        sorted[i] = (struct ranked_row){p[i], i};
    qsort(sorted, (size_t)r->n, sizeof *sorted, by_prediction);
    for (int64_t i = 0, end; i < r->n; i = end) {
        double here_pos = 0, here_neg = 0;
        for (end = i; end < r->n && sorted[end].p == sorted[i].p; end++) {
            int64_t row = sorted[end].row;
            *(r->positive[row] ? &here_pos : &here_neg) += weight_of(r, row);
        }
        double right = (neg + here_neg / 2) / r->neg, wrong = (pos + here_pos / 2) / r->pos;
        for (int64_t k = i; k < end; k++)
            place[sorted[k].row] = r->positive[sorted[k].row] ? right : 1 - wrong;
        pos += here_pos;
        neg += here_neg;
    }
}

void ranking_losses(const struct ranked_rows *r, const float *p, double *loss)
{
    const float least = 1e-7f;
    for (int64_t i = 0; i < r->n; i++)
        loss[i] = -log((double)fmaxf(r->positive[i] ? p[i] : 1.0f - p[i], least));
}

/* Of the rows of a class: 1, 0; or of all: -1. */
static struct ranking_mean mean_of(const struct ranked_rows *r, const double *v, int class)
{
    double sum = 0, all = 0, squares = 0;
    for (int64_t i = 0; i < r->n; i++) {
        if (class >= 0 && r->positive[i] != class)
            continue;
        sum += weight_of(r, i) * v[i];
        all += weight_of(r, i);
    }
    struct ranking_mean m = {all > 0 ? sum / all : NAN, NAN};
    for (int64_t i = 0; i < r->n && all > 0; i++) {
        double off = class >= 0 && r->positive[i] != class ? 0 : weight_of(r, i) * (v[i] - m.mean);
        squares += off * off;
    }
    m.variance = squares / all / all;
    return m;
}

struct ranking_mean ranking_of_places(const struct ranked_rows *r, const double *place)
{
    struct ranking_mean pos = mean_of(r, place, 1), neg = mean_of(r, place, 0);
    return (struct ranking_mean){pos.mean, pos.variance + neg.variance};
}

struct ranking_mean ranking_of_losses(const struct ranked_rows *r, const double *loss)
{
    return mean_of(r, loss, -1);
}
