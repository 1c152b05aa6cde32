/* Shared by the models of rank/: the inputs of Criteo-shaped data and their embeddings.
 *
 * Keys: sparse_inputs_slots (27: the label and 26 features), sparse_feature_number (1000001),
 * sparse_feature_dim (9), dense_input_dim (13; 0: none), multi_value (False; True: a feature may
 * have any number of ids, whose rows are summed), distributed_embedding (0; 1: in a job with
 * servers rows are created on first use). */
#ifndef MODELS_RANK_RANK_H
#define MODELS_RANK_RANK_H

#include "model.h"

#define RANK_MAX_SLOTS 500

struct rank_inputs {
    struct skiff_var *label, *dense, *ids[RANK_MAX_SLOTS];
    int slots;
    int64_t dense_columns, rows, width; /* rows x width: the table */
    bool multi_value, distributed;
};

/* Reads the keys and declares label, C1 .. Cn, dense_input, in this order, as PaddleRec's readers
 * give them. */
struct rank_inputs rank_inputs_make(struct skiff_net *net, const struct skiff_model_config *c,
                                    struct skiff_model_net *out);

/* One row per sample of the table `attr` for every slot, side by side: [batch, slots * width]. */
struct skiff_var *rank_embeddings(struct skiff_net *net, const struct rank_inputs *in,
                                  int64_t width, const struct skiff_param_attr *attr,
                                  bool padding_zero);
/* The same with the dense columns behind them. */
struct skiff_var *rank_features(struct skiff_net *net, const struct rank_inputs *in,
                                const struct skiff_param_attr *attr, bool padding_zero);

/* The terms of a factorization machine: weights of the features (first), products of the pairs
 * (second), and what the pairs are made of: [batch, fields, width]. Dense columns are fields too,
 * their rows times the value. */
struct rank_fm {
    struct skiff_var *first, *second, *fields;
    int64_t nfields;
};
struct skiff_var *rank_first_order(struct skiff_net *net, const struct rank_inputs *in);
struct rank_fm rank_fm_terms(struct skiff_net *net, const struct rank_inputs *in);

#endif
