/* rank/fm: factorization machine. Keys: those of rank.h. */
#ifndef MODELS_RANK_FM_NET_H
#define MODELS_RANK_FM_NET_H

#include "model.h"

extern const struct model model_rank_fm;

#endif
