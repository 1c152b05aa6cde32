/* rank/dcn: cross layers x_{l+1} = x_0 (x_l . w_l) + b_l + x_l next to fully connected layers. Each
 * cross layer has its own w and b, as in the paper. Keys: those of rank.h, fc_sizes, cross_num,
 * l2_reg_cross (decay of the w_l), is_sparse (taken, no effect: gradients of tables are sparse). */
#ifndef MODELS_RANK_DCN_NET_H
#define MODELS_RANK_DCN_NET_H

#include "model.h"

extern const struct skiff_model_def model_rank_dcn;

#endif
