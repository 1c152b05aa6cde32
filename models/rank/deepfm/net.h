/* rank/deepfm: a factorization machine and fully connected layers over the same rows, added up.
 * Keys: those of rank.h, fc_sizes. The layers have relu, as the paper has it (the layers of
 * PaddleRec are linear: its activations are made and not applied). */
#ifndef MODELS_RANK_DEEPFM_NET_H
#define MODELS_RANK_DEEPFM_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_deepfm;

#endif
