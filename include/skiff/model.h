/* A network of your own for the command `skiff`: a shared object that `runner.model: ./mymodel.so`
 * loads (docs/guide/networks.md). Every command that uses it, such as train, infer and check-data,
 * calls `build`. That function reads sizes from the config and appends the network to the net:
 *
 *     #include <skiff/model.h>
 *
 *     static void build(struct skiff_net *net, const struct skiff_model_config *config,
 *                       struct skiff_model_net *out)
 *     {
 *         int64_t width = skiff_model_integer(config, "width", 9);
 *         struct skiff_var *x = skiff_model_input(out, skiff_data(net, "x", SKIFF_DIMS(width)));
 *         ...
 *         out->loss = skiff_mean(net, cost);
 *     }
 *     SKIFF_MODEL("mymodel", "what it is", build)
 *
 *     cc -shared -fPIC $(pkg-config --cflags skiff) -o mymodel.so mymodel.c
 *
 * It is not linked with the library: the command that loads it has all calls of <skiff/...>. Errors
 * stay in the net and in the config; the command reports them. */
#ifndef SKIFF_MODEL_H
#define SKIFF_MODEL_H

#include <skiff/skiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the user set: the keys under hyper_parameters. A key that is absent gives the fallback; so
 * does a value of the wrong type, which the command reports. Reading a key makes it a known one.
 * Returned texts live as long as the config. */
struct skiff_model_config;
struct skiff_model_config_class {
    int64_t (*integer)(const struct skiff_model_config *c, const char *key, int64_t fallback);
    double (*real)(const struct skiff_model_config *c, const char *key, double fallback);
    bool (*flag)(const struct skiff_model_config *c, const char *key, bool fallback);
    const char *(*text)(const struct skiff_model_config *c, const char *key, const char *fallback);
    /* A list of integers: how many there are, at most max; -1 when the key is absent. */
    int (*integers)(const struct skiff_model_config *c, const char *key, int64_t *out, int max);
};
struct skiff_model_config {
    const struct skiff_model_config_class *type;
    uint64_t reserved[4];
};

static inline int64_t skiff_model_integer(const struct skiff_model_config *c, const char *key,
                                          int64_t fallback)
{
    return c->type->integer(c, key, fallback);
}
static inline double skiff_model_real(const struct skiff_model_config *c, const char *key,
                                      double fallback)
{
    return c->type->real(c, key, fallback);
}
static inline bool skiff_model_flag(const struct skiff_model_config *c, const char *key,
                                    bool fallback)
{
    return c->type->flag(c, key, fallback);
}
static inline const char *skiff_model_text(const struct skiff_model_config *c, const char *key,
                                           const char *fallback)
{
    return c->type->text(c, key, fallback);
}

#define SKIFF_MODEL_MAX_LAYERS 16
/* Sizes of layers; the list `key`, or the defaults, which end with 0. */
struct skiff_model_sizes {
    int64_t size[SKIFF_MODEL_MAX_LAYERS];
    int n;
};
static inline struct skiff_model_sizes
skiff_model_sizes_of(const struct skiff_model_config *c, const char *key, const int64_t *defaults)
{
    struct skiff_model_sizes s;
    s.n = c->type->integers(c, key, s.size, SKIFF_MODEL_MAX_LAYERS);
    if (s.n < 0)
        for (s.n = 0; s.n < SKIFF_MODEL_MAX_LAYERS && defaults[s.n]; s.n++)
            s.size[s.n] = defaults[s.n];
    return s;
}

#define SKIFF_MODEL_MAX_INPUTS 512

/* What build gives; cleared before. */
struct skiff_model_net {
    struct skiff_var *inputs[SKIFF_MODEL_MAX_INPUTS]; /* in slot order */
    int ninputs;
    struct skiff_var *loss;
    bool loss_is_sum; /* over the samples of the batch; otherwise their mean */
    /* The prediction (the last column, 0 .. 1) and the label: for AUC, log loss, calibration. NULL:
     * the model has none. */
    struct skiff_var *predict, *label;
    bool not_probability;       /* predictions order samples, no more */
    struct skiff_auc auc;       /* auc NULL: none */
    struct skiff_var *accuracy; /* share of samples that are classified correctly, or NULL */
    struct skiff_var *weight;   /* of samples, in loss and metrics: float32 [-1, 1], or NULL */
    struct skiff_var *group;    /* of samples, for grouped AUC: int64, or NULL */
    uint64_t reserved[4];
};

/* Appends to out->inputs; returns v. Inputs beyond its size are dropped; the caller's loop bounds
 * must prevent this. */
static inline struct skiff_var *skiff_model_input(struct skiff_model_net *out, struct skiff_var *v)
{
    if (out->ninputs < SKIFF_MODEL_MAX_INPUTS)
        out->inputs[out->ninputs++] = v;
    return v;
}

typedef void skiff_model_build(struct skiff_net *net, const struct skiff_model_config *config,
                               struct skiff_model_net *out);

/* Another number when the structs above or the library's ABI have changed; a shared object that was
 * compiled with another one is refused. */
#define SKIFF_MODEL_ABI (100 * SKIFF_VERSION_MAJOR + 2)

struct skiff_model_def {
    int abi; /* SKIFF_MODEL_ABI */
    const char *name, *summary;
    skiff_model_build *build;
    uint64_t reserved[4];
};

#ifdef __cplusplus
#define SKIFF_MODEL_EXTERN extern "C"
#else
#define SKIFF_MODEL_EXTERN
#endif
/* The one symbol of a shared object: const struct skiff_model_def *skiff_model_def(void). */
#define SKIFF_MODEL(model_name, model_summary, build_function)                        \
    SKIFF_MODEL_EXTERN SKIFF_API const struct skiff_model_def *skiff_model_def(void); \
    SKIFF_MODEL_EXTERN const struct skiff_model_def *skiff_model_def(void)            \
    {                                                                                 \
        static const struct skiff_model_def def = {                                   \
            SKIFF_MODEL_ABI, model_name, model_summary, build_function, {0}};         \
        return &def;                                                                  \
    }

#ifdef __cplusplus
}
#endif
#endif
