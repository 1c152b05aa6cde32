/* What is counted of a model while it trains or is evaluated (executor/metrics.h). */
#ifndef TASK_TASK_METRICS_H
#define TASK_TASK_METRICS_H

#include "executor/metrics.h"
#include "models/model.h"

void eval_metrics_init(struct eval_metrics *t, const struct skiff_model_net *net, int threads);

#endif
