/* rank/dlrm: dense columns go through the bottom layers to one vector of the width of the table;
 * products of all pairs of vectors and that vector go through the top layers to a softmax of two.
 * Keys: those of rank.h, bot_layer_sizes (the last is sparse_feature_dim), top_layer_sizes (the
 * last is 2), self_interaction. Layers have no batch normalisation: threads without locks would mix
 * their statistics. */
#ifndef MODELS_RANK_DLRM_NET_H
#define MODELS_RANK_DLRM_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_dlrm;

#endif
