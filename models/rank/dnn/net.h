/* rank/dnn: the CTR-DNN. Sparse slots share one table; their rows and the dense columns go side by
 * side through fully connected layers to a softmax of two.
 *
 * Two forms. That of the documents: inputs dense_input, C1 .. Cn (with a lod level), label, and the
 * sum of the cross entropies as loss; accuracy is computed too. That of PaddleRec: inputs label, C1
 * .. Cn, dense_input, and the mean.
 * Keys: those of rank.h, fc_sizes, network ("paddlerec" or "documents"). */
#ifndef MODELS_RANK_DNN_NET_H
#define MODELS_RANK_DNN_NET_H

#include "model.h"

struct rank_dnn_config {
    int sparse_slots;       /* 26; inputs C1, C2, ... of int64 ids, lod level 1 */
    int dense_columns;      /* 13; input dense_input */
    int64_t table_rows;     /* 1000001 */
    int64_t table_width;    /* 10 */
    int64_t layer_sizes[8]; /* 400, 400, 400, 0 ends */
};

/* The documents' sizes. */
extern const struct rank_dnn_config rank_dnn_documents;

struct rank_dnn {
    struct skiff_var *loss, *predict, *accuracy, *auc, *batch_auc;
};

/* Appends the network of the documents to the net. On failure the variables are NULL and the net
 * holds the error. */
struct rank_dnn rank_dnn_build(struct skiff_net *net, const struct rank_dnn_config *config);

extern const struct skiff_model_def model_rank_dnn;

#endif
