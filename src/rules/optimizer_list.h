/* Every optimizer, one row each: the one place that knows its names, its accumulators, its hyper-
 * parameters with their defaults, and its rule. Slots and attributes of the ops (src/ops), minimize
 * and split (src/passes), `hyper_parameters.optimizer` of configs (src/cli) and the classes of
 * paddle.fluid.optimizer and paddle.optimizer (python) are made from it.
 *
 * The file is read several times, each time with OPTIMIZER_GENERATION 1 or 2 and with those of the
 * words below defined that the reader wants; the others give nothing. All are undefined at its end.
 *
 * OPTIMIZER(type, class, rule, flags, no_server, about, arguments, accumulators, settings, slots)
 *     type       of the op, and the name that skiff_minimize takes
 *     class      Paddle's: paddle.optimizer.<class>, fluid.optimizer.<class>Optimizer, `class:` of
 *                a config; NULL: there is only the op
 *     flags      enum optimizer_flag
 *     no_server  why a job's servers cannot run it, or NULL
 *     about      one sentence for users
 *     arguments  of the Python class, in order; NULL: it has none in this generation. Those that
 *                are no settings of the row are common to all (python/paddle/_optimizers.py)
 *
 * Accumulators, in the order in which Paddle makes them and the rule counts its states. The
 * variable is <parameter>_<name>_0:
 *     STATE(name, in, out, flags)           a number per element, from 0; cut with the parameter
 *     STATE_FROM(name, in, out, start)      the same, from the setting `start`
 *     POWER(name, in, out, start)           one number for the tensor; the op writes it
 *     POWER_READ(name, in, start)           only read
 *     POWER_SCALED(name, in, start, scope)  read; a scale op by `start` in that name scope follows
 *
 * Settings. `field` is one of struct skiff_optimizer_options, `rule` one of struct rule_params;
 * `preset` is what a user gets who says nothing, `op` the default of the op's attribute:
 *     OPTION(field, preset)                           no attribute
 *     NUMBER(field, attr, rule, op, preset, range)
 *     MUST(field, attr, rule, preset, range)          a number; the op has no default
 *     NUMBER_UNLESS(field, attr, rule, preset, test)  the same; 0 for parameters that pass the test
 *     NUMBERS(field, attr, rule, op, preset)          the attribute is a list of one
 *     TRUTH(field, attr, rule)                        false
 *     TEST(field, argument, kind)                     a question about a parameter
 *     ANSWER(field, attr, rule)                       attribute: what the test says (none: true)
 *     FACTOR(field)                                   a factor of each parameter's rate
 *     COPY(field, attr, rule, op)                     one more attribute from the same field
 *     RULE_NUMBER(attr, rule, op)                     an attribute that only other programs set
 *     ATTR(spec)                                      one without effect: A_... of op_kind.h
 *
 * Slots beside Param, Grad, ParamOut and those of accumulators: IN(name, flags), OUT(name, flags).
 * COLUMN(in): what follows a weight in the files of dense tables (struct optimizer_kind.columns).
 * BY(a, b): a in 1.x, b in 2.x. */

#if OPTIMIZER_GENERATION == 1
#define BY(first, second) first
#define ONLY_1X(...) __VA_ARGS__
#define ONLY_2X(...)
#define LISTS_2X 0
#define LIST_2X 0
#else
#define BY(first, second) second
#define ONLY_1X(...)
#define ONLY_2X(...) __VA_ARGS__
#define LISTS_2X OPTIMIZER_LISTS
#define LIST_2X SLOT_LIST
#endif

#ifndef OPTIMIZER
#define OPTIMIZER(...)
#endif
#ifndef STATE
#define STATE(...)
#endif
#ifndef STATE_FROM
#define STATE_FROM(...)
#endif
#ifndef POWER
#define POWER(...)
#endif
#ifndef POWER_READ
#define POWER_READ(...)
#endif
#ifndef POWER_SCALED
#define POWER_SCALED(...)
#endif
#ifndef OPTION
#define OPTION(...)
#endif
#ifndef NUMBER
#define NUMBER(...)
#endif
#ifndef OR_DIE
#define OR_DIE(...)
#endif
#ifndef NUMBER_UNLESS
#define NUMBER_UNLESS(...)
#endif
#ifndef NUMBERS
#define NUMBERS(...)
#endif
#ifndef TRUTH
#define TRUTH(...)
#endif
#ifndef TEST
#define TEST(...)
#endif
#ifndef ANSWER
#define ANSWER(...)
#endif
#ifndef FACTOR
#define FACTOR(...)
#endif
#ifndef COPY
#define COPY(...)
#endif
#ifndef ATTR
#define ATTR(...)
#endif
#ifndef RULE_NUMBER
#define RULE_NUMBER(...)
#endif
#ifndef IN
#define IN(...)
#endif
#ifndef OUT
#define OUT(...)
#endif
#ifndef COLUMN
#define COLUMN(...)
#endif

/* What 2.x has for half precision: there, and never used (everything is float32). */
#define MASTER ONLY_2X(IN("MasterParam", SLOT_OPTIONAL) OUT("MasterParamOut", SLOT_OPTIONAL))
#define MULTI_PRECISION ONLY_2X(ATTR(A_BOOL("multi_precision", false)))
#define NONE
#define RATE IN("LearningRate", 0)

#define NEEDED OPTIMIZER_NEEDED
#define ANY SKIFF_RANGE_ANY
/* Paddle 2.x checks these, 1.x does not. */
#define SHARE BY(SKIFF_RANGE_ANY, SKIFF_RANGE_SHARE)
#define NOT_NEGATIVE BY(SKIFF_RANGE_ANY, SKIFF_RANGE_NOT_NEGATIVE)

/* clang-format off */

OPTIMIZER(sgd, "SGD", rule_sgd,
    OPTIMIZER_SPARSE | OPTIMIZER_ROWS_ONCE | OPTIMIZER_FEATURES | OPTIMIZER_LOOKUP_TABLE, NULL,
    "parameter -= rate * gradient",
    BY("learning_rate parameter_list regularization grad_clip name",
       "learning_rate parameters weight_decay grad_clip multi_precision name"),
    NONE,
    OPTION(learning_rate, BY(NEEDED, 0.001))
    MULTI_PRECISION,
    RATE MASTER)

OPTIMIZER(momentum, "Momentum", rule_momentum,
    OPTIMIZER_SPARSE | OPTIMIZER_EMPTY_IS_NOTHING | BY(0, OPTIMIZER_DECAY_INSIDE), NULL,
    "Gradient descent with a velocity.",
    BY("learning_rate momentum parameter_list use_nesterov regularization grad_clip name",
       "learning_rate momentum parameters use_nesterov weight_decay grad_clip multi_precision "
       "rescale_grad use_multi_tensor name"),
    STATE("velocity", "Velocity", "VelocityOut", 0),
    OPTION(learning_rate, BY(NEEDED, 0.001))
    OR_DIE(momentum, "mu", mu, BY(NEEDED, 0.9), ANY)
    TRUTH(use_nesterov, "use_nesterov", nesterov)
    ONLY_2X(NUMBER(rescale_grad, "rescale_grad", rescale, 1, 1, ANY)
            ATTR(A_STR("regularization_method", ""))
            ATTR(A_FLOAT("regularization_coeff", 0)))
    MULTI_PRECISION,
    RATE MASTER)

/* Norms of the whole tensor; cut, it takes those of the pieces, as DistributeTranspiler has it. */
OPTIMIZER(lars_momentum, "LarsMomentum", rule_lars_momentum, LISTS_2X, NULL,
    "Momentum with a rate per parameter, from the norms of parameter and gradient.",
    BY("learning_rate momentum lars_coeff lars_weight_decay parameter_list regularization "
       "grad_clip name", NULL),
    STATE("velocity", "Velocity", "VelocityOut", LIST_2X),
    OPTION(learning_rate, NEEDED)
    OR_DIE(momentum, "mu", mu, BY(NEEDED, 0.9), ANY)
    NUMBER(lars_coeff, "lars_coeff", coeff, 0.001f, 0.001, ANY)
    ONLY_1X(NUMBER(lars_weight_decay, "lars_weight_decay", weight_decay, 0.0005f, 0.0005, ANY))
    ONLY_2X(NUMBERS(lars_weight_decay, "lars_weight_decay", weight_decay, 0.0005f, 0.0005)
            RULE_NUMBER("epsilon", epsilon, 0)
            RULE_NUMBER("rescale_grad", rescale, 1))
    MULTI_PRECISION,
    IN("LearningRate", LIST_2X)
    ONLY_2X(IN("MasterParam", SLOT_LIST | SLOT_OPTIONAL)
            OUT("MasterParamOut", SLOT_LIST | SLOT_OPTIONAL)))

OPTIMIZER(adagrad, "Adagrad", rule_adagrad, OPTIMIZER_SPARSE, NULL,
    "Steps shrink with the sum of squared gradients.",
    BY("learning_rate epsilon parameter_list regularization grad_clip name "
       "initial_accumulator_value",
       "learning_rate epsilon parameters weight_decay grad_clip name initial_accumulator_value"),
    STATE_FROM("moment", "Moment", "MomentOut", initial_accumulator_value),
    OPTION(learning_rate, NEEDED)
    NUMBER(epsilon, "epsilon", epsilon, 1e-6f, 1e-6, ANY)
    OPTION(initial_accumulator_value, 0)
    MULTI_PRECISION,
    RATE MASTER)

OPTIMIZER(decayed_adagrad, "DecayedAdagrad", rule_decayed_adagrad, 0, NULL,
    "Adagrad that forgets: a running mean of squared gradients.",
    BY("learning_rate decay epsilon parameter_list regularization grad_clip name", NULL),
    STATE("moment", "Moment", "MomentOut", 0),
    OPTION(learning_rate, NEEDED)
    NUMBER(decay, "decay", decay, 0.95f, 0.95, ANY)
    NUMBER(epsilon, "epsilon", epsilon, 1e-6f, 1e-6, ANY),
    RATE)

#define MOMENTS \
    STATE("moment1", "Moment1", "Moment1Out", 0) \
    STATE("moment2", "Moment2", "Moment2Out", 0)
#define POWERS \
    POWER("beta1_pow_acc", "Beta1Pow", "Beta1PowOut", beta1) \
    POWER("beta2_pow_acc", "Beta2Pow", "Beta2PowOut", beta2)
#define BETAS(range, eps_op, eps, eps_range) \
    NUMBER(beta1, "beta1", beta1, 0.9f, 0.9, range) \
    NUMBER(beta2, "beta2", beta2, 0.999f, 0.999, range) \
    NUMBER(epsilon, "epsilon", epsilon, eps_op, eps, eps_range)
#define ADAM_COMMON \
    TRUTH(lazy_mode, "lazy_mode", lazy) \
    ATTR(A_LONG("min_row_size_to_use_multithread", 1000)) \
    MULTI_PRECISION \
    ONLY_2X(ATTR(A_BOOL("use_global_beta_pow", false)))
#define ADAM_SLOTS \
    RATE MASTER \
    ONLY_2X(IN("SkipUpdate", SLOT_OPTIONAL)) \
    IN("Beta1Tensor", SLOT_OPTIONAL) IN("Beta2Tensor", SLOT_OPTIONAL) \
    ONLY_2X(IN("EpsilonTensor", SLOT_OPTIONAL))

OPTIMIZER(adam, "Adam", rule_adam,
    OPTIMIZER_SPARSE | OPTIMIZER_EMPTY_IS_NOTHING | OPTIMIZER_ROUNDED_POWERS |
        OPTIMIZER_NO_SPARSE_DECAY | OPTIMIZER_TO_D2SUM | OPTIMIZER_FEATURES, NULL,
    "Adam. lazy_mode: only the rows of a batch move.",
    BY("learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip name lazy_mode",
       "learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip lazy_mode "
       "multi_precision use_multi_tensor name"),
    MOMENTS POWERS,
    OPTION(learning_rate, 0.001)
    BETAS(SHARE, 1e-8f, 1e-8, NOT_NEGATIVE)
    ADAM_COMMON,
    ADAM_SLOTS COLUMN("Moment1") COLUMN("Moment2"))

/* The rate of a parameter is multiplied by lr_ratio before the op (as kernels for GPUs do); its own
 * attribute of that name, which on CPUs acts on the decay only, stays 1. */
ONLY_2X(OPTIMIZER(adamw, "AdamW", rule_adamw, OPTIMIZER_ROUNDED_POWERS, NULL,
    "Adam whose weight decay is apart from the gradient: parameter *= 1 - rate * weight_decay.",
    "learning_rate beta1 beta2 epsilon parameters weight_decay lr_ratio apply_decay_param_fun "
    "grad_clip lazy_mode multi_precision name",
    MOMENTS POWERS,
    OPTION(learning_rate, 0.001)
    BETAS(SHARE, 1e-8f, 1e-8, NOT_NEGATIVE)
    NUMBER(weight_decay, "coeff", coeff, 0.01f, 0.01, ANY)
    TEST(apply_decay_param_fun, NULL, SKIFF_SETTING_TEST_NAME)
    ANSWER(apply_decay_param_fun, "with_decay", decoupled)
    FACTOR(lr_ratio)
    RULE_NUMBER("lr_ratio", lr_ratio, 1)
    ADAM_COMMON,
    ADAM_SLOTS))

OPTIMIZER(adamax, "Adamax", rule_adamax, OPTIMIZER_SPARSE, NULL,
    "Adam by the largest gradient.",
    BY("learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip name",
       "learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip name"),
    STATE("moment", "Moment", "MomentOut", 0)
    STATE("inf_norm", "InfNorm", "InfNormOut", 0)
    POWER_SCALED("beta1_pow_acc", "Beta1Pow", beta1, "adamx"),
    OPTION(learning_rate, 0.001)
    BETAS(SHARE, 1e-8f, 1e-8, NOT_NEGATIVE)
    MULTI_PRECISION,
    RATE MASTER)

/* The op of 1.x knows no rate. */
OPTIMIZER(adadelta, "Adadelta", rule_adadelta, 0, NULL,
    "Steps by the ratio of past updates and gradients.",
    BY("learning_rate epsilon rho parameter_list regularization grad_clip name",
       "learning_rate epsilon rho parameters weight_decay grad_clip name"),
    STATE("_avg_squared_grad", "AvgSquaredGrad", "AvgSquaredGradOut", 0)
    STATE("_avg_squared_update", "AvgSquaredUpdate", "AvgSquaredUpdateOut", 0),
    OPTION(learning_rate, BY(NEEDED, 0.001))
    NUMBER(epsilon, "epsilon", epsilon, 1e-6f, 1e-6, ANY)
    NUMBER(rho, "rho", decay, 0.95f, 0.95, ANY)
    MULTI_PRECISION,
    ONLY_2X(RATE) MASTER)

OPTIMIZER(rmsprop, "RMSProp", rule_rmsprop, OPTIMIZER_SPARSE, NULL,
    "Steps by the running mean of squared gradients.",
    BY("learning_rate rho epsilon momentum centered parameter_list regularization grad_clip name",
       "learning_rate rho epsilon momentum centered parameters weight_decay grad_clip name"),
    STATE("momentum", "Moment", "MomentOut", 0)
    STATE("mean_square", "MeanSquare", "MeanSquareOut", 0)
    STATE("mean_grad", "MeanGrad", "MeanGradOut", SLOT_OPTIONAL),
    OPTION(learning_rate, NEEDED)
    NUMBER(rho, "decay", decay, 0.9f, 0.95, NOT_NEGATIVE)
    NUMBER(epsilon, "epsilon", epsilon, 1e-10f, 1e-6, NOT_NEGATIVE)
    NUMBER(momentum, "momentum", mu, 0, 0, NOT_NEGATIVE)
    TRUTH(centered, "centered", centered)
    MULTI_PRECISION,
    RATE MASTER)

/* Fluid 1.6 to 1.8 give l1 as l2 (the op itself is right); programs are compared with theirs. */
OPTIMIZER(ftrl, "Ftrl", rule_ftrl, 0, NULL,
    "Follow the regularized leader. As in Paddle 1.6 to 1.8, l2 takes the value of l1.",
    BY("learning_rate l1 l2 lr_power parameter_list regularization grad_clip name", NULL),
    STATE("squared", "SquaredAccumulator", "SquaredAccumOut", 0)
    STATE("linear", "LinearAccumulator", "LinearAccumOut", 0),
    OPTION(learning_rate, NEEDED)
    NUMBER(l1, "l1", l1, 0, 0, ANY)
    OPTION(l2, 0)
    COPY(l1, "l2", l2, 0)
    NUMBER(lr_power, "lr_power", lr_power, -0.5f, -0.5, ANY),
    RATE)

/* The op of 1.x reads the powers and never writes them. */
OPTIMIZER(lamb, "Lamb", rule_lamb, OPTIMIZER_SPARSE,
    "whose step needs the whole parameter, which servers cut",
    "Adam with a trust ratio per parameter.",
    BY("learning_rate lamb_weight_decay beta1 beta2 epsilon parameter_list regularization "
       "grad_clip exclude_from_weight_decay_fn name",
       "learning_rate lamb_weight_decay beta1 beta2 epsilon parameters grad_clip "
       "exclude_from_weight_decay_fn multi_precision always_adapt name"),
    MOMENTS
    ONLY_1X(POWER_READ("beta1_pow_acc", "Beta1Pow", beta1)
            POWER_READ("beta2_pow_acc", "Beta2Pow", beta2))
    ONLY_2X(POWERS),
    OPTION(learning_rate, 0.001)
    NUMBER_UNLESS(lamb_weight_decay, "weight_decay", weight_decay, 0.01, exclude_from_weight_decay)
    BETAS(ANY, 1e-6f, 1e-6, ANY)
    TEST(exclude_from_weight_decay, "exclude_from_weight_decay_fn", SKIFF_SETTING_TEST)
    ONLY_2X(TRUTH(always_adapt, "always_adapt", always_adapt))
    MULTI_PRECISION,
    RATE MASTER ONLY_2X(IN("SkipUpdate", SLOT_OPTIONAL)))

/* Of servers, in the place of adam (passes/split_d2sum.c). */
OPTIMIZER(adam_d2sum, NULL, rule_adam_d2sum, 0, NULL, NULL, NULL,
    MOMENTS POWER("beta1_pow_acc", "Beta1Pow", "Beta1PowOut", beta1),
    NUMBER(beta1, "mom_decay_rate", beta1, 0.99f, 0.99, ANY)
    NUMBER(decay, "ada_decay_rate", decay, 0.9999f, 0.9999, ANY)
    NUMBER(epsilon, "ada_epsilon", epsilon, 1e-8f, 1e-8, ANY),
    RATE COLUMN("") COLUMN("Beta1Pow") COLUMN("Moment2") COLUMN("Moment1"))

OPTIMIZER(dpsgd, "Dpsgd", rule_dpsgd, OPTIMIZER_SEED, "which Paddle's transpiler does not know",
    "Gradient descent with clipped gradients and Gaussian noise (differential privacy).",
    BY("learning_rate clip batch_size sigma parameter_list", NULL),
    NONE,
    OPTION(learning_rate, 0.001)
    NUMBER(clip, "clip", clip, 10.0f, 0.9, ANY)
    NUMBER(batch_size, "batch_size", batch_size, 16.0f, 0.999, ANY)
    NUMBER(sigma, "sigma", sigma, 1.0f, 1e-8, ANY)
    ATTR(A_INT("seed", 0)),
    RATE)

OPTIMIZER(proximal_gd, NULL, rule_proximal_gd, 0, "which Paddle's transpiler does not know",
    NULL, NULL,
    NONE,
    NUMBER(l1, "l1", l1, 0, 0, ANY)
    NUMBER(l2, "l2", l2, 0, 0, ANY),
    RATE)

ONLY_1X(OPTIMIZER(proximal_adagrad, NULL, rule_proximal_adagrad, 0,
    "which Paddle's transpiler does not know", NULL, NULL,
    STATE("moment", "Moment", "MomentOut", 0),
    NUMBER(l1, "l1", l1, 0, 0, ANY)
    NUMBER(l2, "l2", l2, 0, 0, ANY),
    RATE))

/* clang-format on */

#undef MOMENTS
#undef POWERS
#undef BETAS
#undef ADAM_COMMON
#undef ADAM_SLOTS
#undef MASTER
#undef MULTI_PRECISION
#undef NONE
#undef RATE
#undef NEEDED
#undef ANY
#undef SHARE
#undef NOT_NEGATIVE
#undef BY
#undef ONLY_1X
#undef ONLY_2X
#undef LISTS_2X
#undef LIST_2X

#undef OPTIMIZER
#undef STATE
#undef STATE_FROM
#undef POWER
#undef POWER_READ
#undef POWER_SCALED
#undef OPTION
#undef COLUMN
#undef NUMBER
#undef OR_DIE
#undef NUMBER_UNLESS
#undef NUMBERS
#undef TRUTH
#undef TEST
#undef ANSWER
#undef FACTOR
#undef COPY
#undef ATTR
#undef RULE_NUMBER
#undef IN
#undef OUT
#undef OPTIMIZER_GENERATION
