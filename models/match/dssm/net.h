/* match/dssm: SimNet-BOW. Bags of words of query, clicked title and other title, through one table
 * and one layer; the loss is max(0, margin - cos(query, clicked) + cos(query, other)).
 * Keys: sparse_feature_number (words), sparse_feature_dim, fc_sizes (the last is the width of the
 * vectors), margin. The AUC is that of clicked against other titles; accuracy is the share of
 * samples in right order. */
#ifndef MODELS_MATCH_DSSM_NET_H
#define MODELS_MATCH_DSSM_NET_H

#include "model.h"

extern const struct skiff_model_def model_match_dssm;

#endif
