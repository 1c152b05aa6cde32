/* rank/fm: factorization machine. Keys: those of rank.h. */
#ifndef MODELS_RANK_FM_NET_H
#define MODELS_RANK_FM_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_fm;

#endif
