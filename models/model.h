/* Model: a ready network. One folder per model, laid out as PaddleRec's: net.h, net.c, config.yaml;
 * model_list.h has one line per model. Models use the public headers only.
 *
 * build reads its sizes from the config (the keys under hyper_parameters) and appends the network
 * to the net; errors stay in the net and in the config, whose makers report them. */
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include <skiff/skiff.h>

/* What the user set. A key that is absent gives the fallback; so does a value of the wrong type,
 * which the config's owner reports. Asking for a key makes it a known one. Returned texts live as
 * long as the config. */
struct model_config;
struct model_config_class {
    int64_t (*integer)(const struct model_config *c, const char *key, int64_t fallback);
    double (*real)(const struct model_config *c, const char *key, double fallback);
    bool (*flag)(const struct model_config *c, const char *key, bool fallback);
    const char *(*text)(const struct model_config *c, const char *key, const char *fallback);
    /* A list of integers: how many there are, at most max; -1 when the key is absent. */
    int (*integers)(const struct model_config *c, const char *key, int64_t *out, int max);
};
struct model_config {
    const struct model_config_class *class;
};

static inline int64_t model_integer(const struct model_config *c, const char *key, int64_t fallback)
{
    return c->class->integer(c, key, fallback);
}
static inline double model_real(const struct model_config *c, const char *key, double fallback)
{
    return c->class->real(c, key, fallback);
}
static inline bool model_flag(const struct model_config *c, const char *key, bool fallback)
{
    return c->class->flag(c, key, fallback);
}
static inline const char *model_text(const struct model_config *c, const char *key,
                                     const char *fallback)
{
    return c->class->text(c, key, fallback);
}

#define MODEL_MAX_LAYERS 16
/* Sizes of layers; what the list `key` says, or the defaults, which end with 0. */
struct model_sizes {
    int64_t size[MODEL_MAX_LAYERS];
    int n;
};
struct model_sizes model_sizes_of(const struct model_config *c, const char *key,
                                  const int64_t *defaults);

#define MODEL_MAX_INPUTS 512

struct model_net {
    struct skiff_var *inputs[MODEL_MAX_INPUTS]; /* in slot order */
    int ninputs;
    struct skiff_var *loss;
    bool loss_is_sum; /* over the samples of the batch; otherwise their mean */
    /* What was predicted (the last column, 0 .. 1) and what came: for AUC, log loss, calibration.
     * NULL: the model has no such thing. */
    struct skiff_var *predict, *label;
    bool not_probability;       /* predictions order samples, no more */
    struct skiff_auc auc;       /* auc NULL: none */
    struct skiff_var *accuracy; /* share of samples that are right, or NULL */
};

struct model {
    const char *name, *summary; /* name: "rank/dnn", the folder */
    void (*build)(struct skiff_net *net, const struct model_config *config, struct model_net *out);
};

/* NULL at the end. */
const struct model *const *model_all(void);
/* By full name ("rank/dnn") or last part ("dnn"); NULL when there is none. */
const struct model *model_find(const char *name);

/* Appends to out->inputs; returns v. More than fit are left out, which the caller's loop bounds
 * prevent. */
struct skiff_var *model_input(struct model_net *out, struct skiff_var *v);

/* Fully connected relu layers, weights normal with deviation 1/sqrt(inputs). */
struct skiff_var *model_layers(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                               const struct model_sizes *sizes);
/* One such layer. act NULL: none. */
struct skiff_var *model_layer(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                              int64_t size, const char *act);
/* Probability by sigmoid as two columns [1 - p, p], mean of the cross entropies, AUC. */
void model_finish_sigmoid(struct skiff_net *net, struct skiff_var *logit, struct skiff_var *label,
                          struct model_net *out);
/* AUC of two-column predictions with the settings of the documents: 4096 thresholds, 20 batches. */
void model_add_auc(struct skiff_net *net, struct skiff_var *predict, struct skiff_var *label,
                   struct model_net *out);

#define MODEL(symbol) extern const struct model symbol;
#include "model_list.h"
#undef MODEL

#endif
