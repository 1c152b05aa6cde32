/* Ready networks: a struct skiff_model_def each (<skiff/model.h>), and what several of them are
 * made of. One folder per model, laid out as PaddleRec's: net.h, net.c, config.yaml; model_list.h
 * has one line per model. Models use the public headers only. */
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include <skiff/model.h>

#define MODEL_DEF(text, what, function)                                          \
    {                                                                            \
        .abi = SKIFF_MODEL_ABI, .name = text, .summary = what, .build = function \
    }

/* NULL at the end. */
const struct skiff_model_def *const *model_all(void);
/* By full name ("rank/dnn") or last part ("dnn"); NULL when there is none. */
const struct skiff_model_def *model_find(const char *name);

/* Fully connected relu layers, weights normal with deviation 1/sqrt(inputs). Of the outputs of
 * each, the share `dropout` is 0 while it trains, and the others grow in return. */
struct skiff_var *model_layers(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                               const struct skiff_model_sizes *sizes, double dropout);
/* The key `dropout`, 0 by default. */
double model_dropout(const struct skiff_model_config *c);
/* One such layer. act NULL: none. */
struct skiff_var *model_layer(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                              int64_t size, const char *act);
/* Probability by sigmoid as two columns [1 - p, p], mean of the cross entropies, AUC. */
void model_finish_sigmoid(struct skiff_net *net, struct skiff_var *logit, struct skiff_var *label,
                          struct skiff_model_net *out);
/* AUC of two-column predictions with the settings of the documents: 4096 thresholds, 20 batches. */
void model_add_auc(struct skiff_net *net, struct skiff_var *predict, struct skiff_var *label,
                   struct skiff_model_net *out);

#define MODEL(symbol) extern const struct skiff_model_def symbol;
#include "model_list.h"
#undef MODEL

#endif
