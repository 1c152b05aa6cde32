/* The metric text of PaddleRec's trainers, which is in donefiles and logs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/online_parts.h"

#define MAX_SPAN 0.01             /* buckets of predictions that are put together */
#define RELATIVE_ERROR_BOUND 0.05 /* ... until so much is known of their rate */

/* How far clicks are from predictions, by buckets of predictions; weighed by samples. */
static double bucket_error(const struct eval_metrics_sum *s)
{
    double last = -1, shows = 0, predicted = 0, clicks = 0, errors = 0, counted = 0;
    for (int i = 0; i < EVAL_METRICS_BUCKETS; i++) {
        double rate = (double)i / EVAL_METRICS_BUCKETS, show = s->pos[i] + s->neg[i];
        if (fabs(rate - last) > MAX_SPAN) {
            last = rate;
            shows = predicted = clicks = 0;
        }
        shows += show;
        predicted += rate * show;
        clicks += s->pos[i];
        if (shows <= 0 || predicted <= 0)
            continue;
        double mean = predicted / shows;
        if (sqrt((1 - mean) / (mean * shows)) < RELATIVE_ERROR_BOUND) {
            errors += fabs(clicks / shows / mean - 1) * shows;
            counted += shows;
            last = -1;
        }
    }
    return counted > 0 ? errors / counted : 0;
}

void online_metric(const struct eval_metrics *t, const struct eval_metrics_sum *s,
                   char out[static ONLINE_METRIC])
{
    double n = s->evaluated, auc = eval_metrics_auc(t, s);
    if (!(s->evaluated > 0)) {
        snprintf(out, ONLINE_METRIC, " loss=%.6f Ins number=%lld", eval_metrics_loss(t, s),
                 (long long)s->samples);
        return;
    }
    double predicted = s->predicted / n, actual = s->clicks / n;
    snprintf(out, ONLINE_METRIC,
             " global AUC=%.6f BUCKET_ERROR=%.6f MAE=%.6f RMSE=%.6f Actural_CTR=%.6f "
             "Predicted_CTR=%.6f COPC=%.6f MEAN Q_VALUE=%.6f Ins number=%lld",
             isnan(auc) ? 0.5 : auc, bucket_error(s), s->abs_error / n, sqrt(s->sqr_error / n),
             actual, predicted, predicted > 1e-6 ? actual / predicted : 0.0, s->q / n,
             (long long)s->evaluated);
}
