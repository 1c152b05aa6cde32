/* Metrics of an evaluation as a part of the run's report. */
#ifndef TRAIN_QUALITY_H
#define TRAIN_QUALITY_H

#include "executor/metrics.h"
#include "report/run_report.h"

void quality_add(struct run_report *r, const char *data, int epoch, const struct score_metrics *m);
/* The same of what was counted; nothing if scores are not kept. */
void quality_add_counted(struct run_report *r, const char *data, int epoch,
                         struct eval_metrics *counted);

#endif
