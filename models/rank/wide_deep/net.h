/* rank/wide_deep: a linear part over the dense columns and a deep part over embeddings and dense
 * columns; the sigmoid of their sum. Keys: those of rank.h, fc_sizes. */
#ifndef MODELS_RANK_WIDE_DEEP_NET_H
#define MODELS_RANK_WIDE_DEEP_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_wide_deep;

#endif
