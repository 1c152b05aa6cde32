/* Training: gradients, clipping, decay and the update ops, appended to a net's main program.
 *
 *     skiff_minimize(net, loss, &err, "adam", .learning_rate = 1e-3);
 *
 * or, to keep the optimizer object:
 *
 *     struct skiff_optimizer *opt = skiff_optimizer(net, "sgd", .learning_rate = 0.1);
 *     skiff_optimizer_minimize(opt, loss, NULL, &err); */
#ifndef SKIFF_OPTIMIZER_H
#define SKIFF_OPTIMIZER_H

#include <skiff/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A test of each parameter. */
struct skiff_param_test {
    bool (*call)(const struct skiff_var *param, void *user);
    void *user;
};
struct skiff_param_factor {
    double (*call)(const struct skiff_var *param, void *user);
    void *user;
};

/* Hyperparameters, named as in Fluid; 0 means the optimizer's own default (in comments; where 2.x
 * has another it holds in programs of 2.x), SKIFF_ZERO means 0. A field that the optimizer does not
 * have is ignored. skiff_optimizer_info lists the fields of each with their defaults. */
struct skiff_optimizer_options {
    double learning_rate; /* adam, adamw, adamax, lamb: 0.001; others: needed (2.x: 0.001 for sgd,
                             momentum, adadelta) */
    struct skiff_var *learning_rate_var; /* a schedule (skiff_lr_*), instead of the number */
    struct skiff_regularizer regularization;
    struct skiff_clip grad_clip;
    const char *name; /* part of the names of accumulators */

    double momentum;     /* momentum (2.x: 0.9), lars_momentum: needed; rmsprop: 0 */
    bool use_nesterov;   /* momentum */
    double rescale_grad; /* momentum of 2.x: 1 */
    double beta1, beta2; /* adam, adamw, adamax, lamb: 0.9, 0.999 */
    double epsilon;      /* adam, adamw, adamax: 1e-8; others: 1e-6 */
    bool lazy_mode;      /* adam; adamw (without effect: it takes dense gradients only) */
    double initial_accumulator_value;                  /* adagrad: 0 */
    double decay;                                      /* decayed_adagrad: 0.95 */
    double rho;                                        /* adadelta, rmsprop: 0.95 */
    bool centered;                                     /* rmsprop */
    double l1, l2, lr_power;                           /* ftrl: 0, 0, -0.5 */
    double lars_coeff;                                 /* lars_momentum: 0.001 */
    double lars_weight_decay;                          /* lars_momentum: 0.0005 */
    double lamb_weight_decay;                          /* lamb: 0.01 */
    struct skiff_param_test exclude_from_weight_decay; /* lamb; NULL: none is */
    bool always_adapt;                                 /* lamb of 2.x: also without weight decay */
    double weight_decay;                               /* adamw: 0.01 */
    struct skiff_param_test apply_decay_param_fun;     /* adamw: which decay; NULL: all */
    struct skiff_param_factor lr_ratio;                /* adamw: factor of the rate; NULL: 1 */
    double clip, batch_size, sigma;                    /* dpsgd: 0.9, 0.999, 1e-8 */
    int generation; /* of eager mode: 1 for the rules of Paddle 1.x; 0, 2: 2.x. Programs have their
                       own */
    uint64_t reserved[4];
};

struct skiff_optimizer;

/* type: sgd, momentum, adagrad, adam, adamax, decayed_adagrad, adadelta, rmsprop, ftrl, lamb,
 * lars_momentum; adamw in programs of 2.x. The object belongs to the net. NULL after an error. */
SKIFF_API struct skiff_optimizer *skiff_optimizer_create(struct skiff_net *net, const char *type,
                                                         const struct skiff_optimizer_options *o);
#define skiff_optimizer(net, type, ...) \
    skiff_optimizer_create(net, type, &(struct skiff_optimizer_options){__VA_ARGS__})

struct skiff_minimize_options {
    const char *const *parameters; /* NULL: all trainable ones */
    int nparameters;
    const char *const *no_grad; /* names of variables without gradient */
    int nno_grad;
    uint64_t reserved[4];
};

struct skiff_param_grad {
    struct skiff_var *param, *grad;
};

/* append_backward: gradients of the loss by the parameters, in *out (the
 * program's), *nout of them. */
SKIFF_API enum skiff_status skiff_net_backward(struct skiff_net *net, struct skiff_var *loss,
                                               const struct skiff_minimize_options *o,
                                               struct skiff_param_grad **out, int *nout,
                                               struct skiff_error *err);
/* fluid.gradients; target_grads may be NULL. out[i] is NULL where there is no gradient. */
SKIFF_API enum skiff_status skiff_net_gradients(struct skiff_net *net, struct skiff_vars targets,
                                                struct skiff_vars inputs,
                                                struct skiff_var *const *target_grads,
                                                const struct skiff_minimize_options *o,
                                                struct skiff_var **out, struct skiff_error *err);
/* The warning of the last of these calls or of minimize; NULL: none. Valid until the next call. */
SKIFF_API const char *skiff_net_warning(const struct skiff_net *net);
/* The first half of minimize: as skiff_net_backward, without parameters that are not trainable. */
SKIFF_API enum skiff_status skiff_optimizer_backward(struct skiff_optimizer *opt,
                                                     struct skiff_var *loss,
                                                     const struct skiff_minimize_options *o,
                                                     struct skiff_param_grad **out, int *nout,
                                                     struct skiff_error *err);
/* Clipping, decay and update ops for these gradients. */
SKIFF_API enum skiff_status skiff_optimizer_apply(struct skiff_optimizer *opt,
                                                  const struct skiff_param_grad *pairs, int n,
                                                  struct skiff_error *err);
/* The variable of the learning rate in the net's current main program; NULL before the first apply
 * there. */
SKIFF_API struct skiff_var *skiff_optimizer_rate(const struct skiff_optimizer *opt);
/* Names of the accumulators made so far, in order of creation; NULL past the last. */
SKIFF_API const char *skiff_optimizer_accumulator(const struct skiff_optimizer *opt, int i);
/* Both. Reports the first error of the net if there was one. opt NULL (its creation failed) is
 * reported too. */
SKIFF_API enum skiff_status skiff_optimizer_minimize(struct skiff_optimizer *opt,
                                                     struct skiff_var *loss,
                                                     const struct skiff_minimize_options *o,
                                                     struct skiff_error *err);
SKIFF_API enum skiff_status skiff_net_minimize(struct skiff_net *net, struct skiff_var *loss,
                                               const char *type,
                                               const struct skiff_optimizer_options *o,
                                               struct skiff_error *err);
#define skiff_minimize(net, loss, err, type, ...) \
    skiff_net_minimize(net, loss, type, &(struct skiff_optimizer_options){__VA_ARGS__}, err)

/* Gradient merge, in place, after minimize: gradients are summed over k_steps runs of main, and
 * every k-th run updates parameters by their sums, or means (avg), as a step with the rows of all
 * of them would. Counters and sums are persistable variables that startup sets. Call it before
 * skiff_collective_transpile, which then sums over ranks in the k-th run only. */
SKIFF_API enum skiff_status skiff_gradient_merge(struct skiff_program *main,
                                                 struct skiff_program *startup, int k_steps,
                                                 bool avg, struct skiff_error *err);

/* ---- what there is ---- */

enum skiff_setting_kind {
    SKIFF_SETTING_NUMBER,    /* double */
    SKIFF_SETTING_TRUTH,     /* bool */
    SKIFF_SETTING_TEST,      /* struct skiff_param_test */
    SKIFF_SETTING_TEST_NAME, /* the same; Python's function takes the parameter's name */
    SKIFF_SETTING_FACTOR,    /* struct skiff_param_factor */
};

enum skiff_setting_range {
    SKIFF_RANGE_ANY,
    SKIFF_RANGE_SHARE, /* 0 <= x < 1 */
    SKIFF_RANGE_NOT_NEGATIVE,
};

/* A field of struct skiff_optimizer_options that an optimizer has. */
struct skiff_optimizer_setting {
    const char *name;     /* of the field; key in configs */
    const char *argument; /* of Python's class, where it is another name; NULL: it is not */
    enum skiff_setting_kind kind;
    enum skiff_setting_range range;
    size_t offset;
    double preset; /* of a number; NAN: it must be given */
    uint64_t reserved[4];
};

/* An optimizer in programs of 1.x (generation 1) or 2.x (2). */
struct skiff_optimizer_info {
    const char *type;       /* "adam" */
    const char *class_name; /* Paddle's: "Adam" (fluid.optimizer.AdamOptimizer) */
    const char *about;
    const char *arguments; /* of Paddle's class of that generation, in order, between blanks; NULL:
                              it has no such class */
    const struct skiff_optimizer_setting *settings; /* ends with {0} */
    uint64_t reserved[4];
};

/* The i-th from 0; NULL past the last. */
SKIFF_API const struct skiff_optimizer_info *skiff_optimizer_info(int i, int generation);

/* fluid.clip.set_gradient_clip: for these parameters (NULL: all that exist now). */
SKIFF_API void skiff_net_set_gradient_clip(struct skiff_net *net, const struct skiff_clip *clip,
                                           const char *const *params, int n);

#ifdef __cplusplus
}
#endif
#endif
