/* What is known of an epoch when it has ended: a row of the table at the end, and of the report. */
#ifndef TRAIN_EPOCH_ROW_H
#define TRAIN_EPOCH_ROW_H

#include "report/run_report.h"
#include "task/task_metrics.h"

struct epoch_row {
    int epoch;
    int64_t samples;
    double seconds, auc, log_loss, copc, loss, accuracy;
    double read, compute, update; /* shares of the threads' time */
    const char *no_auc;           /* why there is no AUC, or NULL (task_metrics.h) */
    const char *calibrated;       /* by this method, before they were counted, or NULL */
    bool interrupted;             /* a part of the epoch was trained */
    char lost[48];                /* workers whose files were not trained to their end; "": none */
    bool evaluated;               /* there is validation data: the rest counts */
    double valid_auc, valid_log_loss, valid_copc, valid_loss;
    bool best; /* of all epochs, by validation */
    bool has_quality;
    struct score_metrics quality; /* infer */
};

struct trainer_result;

struct run_numbers epoch_row_numbers(const struct epoch_row *row);
void epoch_row_fill(struct epoch_row *row, const struct eval_metrics *t,
                    const struct eval_metrics_sum *s);
/* Shares of the time of this process's threads. */
void epoch_row_times(struct epoch_row *row, const struct trainer_result *r);

#endif
