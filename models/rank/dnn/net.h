/* rank/dnn: the CTR-DNN of the documents. Sparse slots share one table; their rows and the dense
 * columns go side by side through fully connected layers to a softmax of two. The loss is the sum
 * (not the mean) of the cross entropies. */
#ifndef MODELS_RANK_DNN_NET_H
#define MODELS_RANK_DNN_NET_H

#include <skiff/skiff.h>

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

/* Appends the network to the net. On failure the variables are NULL and the net holds the error. */
struct rank_dnn rank_dnn_build(struct skiff_net *net, const struct rank_dnn_config *config);

#endif
