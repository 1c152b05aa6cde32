/* rank/logistic_regression: one weight for every id and every dense column, and a bias. Keys: those
 * of rank.h. */
#ifndef MODELS_RANK_LOGISTIC_REGRESSION_NET_H
#define MODELS_RANK_LOGISTIC_REGRESSION_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_logistic_regression;

#endif
