/* recall/word2vec: skip-gram with negative sampling. A sample is a word, a word near it, and
 * neg_num words drawn at random (pairs.awk draws them). The AUC is that of true against drawn
 * pairs.
 * Keys: sparse_feature_number (words), sparse_feature_dim, neg_num; window_size and
 * with_shuffle_batch are for readers. */
#ifndef MODELS_RECALL_WORD2VEC_NET_H
#define MODELS_RECALL_WORD2VEC_NET_H

#include "model.h"

extern const struct skiff_model_def model_recall_word2vec;

#endif
