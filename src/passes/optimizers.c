/* The optimizers: accumulators, attributes and defaults of each. */
#include "passes/minimize.h"

static double first_beta(const struct skiff_optimizer_options *o)
{
    return o->beta1;
}
static double second_beta(const struct skiff_optimizer_options *o)
{
    return o->beta2;
}
static double initial_moment(const struct skiff_optimizer_options *o)
{
    return o->initial_accumulator_value;
}

static const struct optimizer_accumulator no_accumulators[] = {{0}};
static const struct optimizer_accumulator velocity[] = {
    {.name = "velocity", .in = "Velocity", .out = "VelocityOut"}, {0}};
static const struct optimizer_accumulator adagrad_moment[] = {
    {.name = "moment", .in = "Moment", .out = "MomentOut", .fill = initial_moment}, {0}};
static const struct optimizer_accumulator moment[] = {
    {.name = "moment", .in = "Moment", .out = "MomentOut"}, {0}};
static const struct optimizer_accumulator adam_moments[] = {
    {.name = "moment1", .in = "Moment1", .out = "Moment1Out"},
    {.name = "moment2", .in = "Moment2", .out = "Moment2Out"},
    {.name = "beta1_pow_acc",
     .in = "Beta1Pow",
     .out = "Beta1PowOut",
     .fill = first_beta,
     .scalar = true,
     .on_cpu = true},
    {.name = "beta2_pow_acc",
     .in = "Beta2Pow",
     .out = "Beta2PowOut",
     .fill = second_beta,
     .scalar = true,
     .on_cpu = true},
    {0}};
/* lamb of 1.8 reads the powers and never writes them (its op has no such
 * outputs); 2.x writes them */
static const struct optimizer_accumulator lamb_moments[] = {
    {.name = "moment1", .in = "Moment1", .out = "Moment1Out"},
    {.name = "moment2", .in = "Moment2", .out = "Moment2Out"},
    {.name = "beta1_pow_acc",
     .in = "Beta1Pow",
     .out = "Beta1PowOut",
     .fill = first_beta,
     .scalar = true,
     .on_cpu = true},
    {.name = "beta2_pow_acc",
     .in = "Beta2Pow",
     .out = "Beta2PowOut",
     .fill = second_beta,
     .scalar = true,
     .on_cpu = true},
    {0}};
static const struct optimizer_accumulator adamax_moments[] = {
    {.name = "moment", .in = "Moment", .out = "MomentOut"},
    {.name = "inf_norm", .in = "InfNorm", .out = "InfNormOut"},
    {.name = "beta1_pow_acc", .in = "Beta1Pow", .fill = first_beta, .scalar = true},
    {0}};
static const struct optimizer_accumulator adadelta_averages[] = {
    {.name = "_avg_squared_grad", .in = "AvgSquaredGrad", .out = "AvgSquaredGradOut"},
    {.name = "_avg_squared_update", .in = "AvgSquaredUpdate", .out = "AvgSquaredUpdateOut"},
    {0}};
static const struct optimizer_accumulator rmsprop_means[] = {
    {.name = "momentum", .in = "Moment", .out = "MomentOut"},
    {.name = "mean_square", .in = "MeanSquare", .out = "MeanSquareOut"},
    {.name = "mean_grad", .in = "MeanGrad", .out = "MeanGradOut"},
    {0}};
static const struct optimizer_accumulator ftrl_sums[] = {
    {.name = "squared", .in = "SquaredAccumulator", .out = "SquaredAccumOut"},
    {.name = "linear", .in = "LinearAccumulator", .out = "LinearAccumOut"},
    {0}};

/* ---- defaults ---- */

static void adam_defaults(struct skiff_optimizer_options *o)
{
    o->learning_rate = opt_float(o->learning_rate, 0.001);
    o->beta1 = opt_float(o->beta1, 0.9);
    o->beta2 = opt_float(o->beta2, 0.999);
    o->epsilon = opt_float(o->epsilon, 1e-8);
}
static void lamb_defaults(struct skiff_optimizer_options *o)
{
    o->epsilon = o->epsilon == 0 ? 1e-6 : o->epsilon;
    adam_defaults(o);
    o->lamb_weight_decay = opt_float(o->lamb_weight_decay, 0.01);
}
static void adagrad_defaults(struct skiff_optimizer_options *o)
{
    o->epsilon = opt_float(o->epsilon, 1e-6);
    o->decay = opt_float(o->decay, 0.95);
    o->initial_accumulator_value = opt_float(o->initial_accumulator_value, 0);
}
static void rho_defaults(struct skiff_optimizer_options *o)
{
    o->epsilon = opt_float(o->epsilon, 1e-6);
    o->rho = opt_float(o->rho, 0.95);
    o->momentum = opt_float(o->momentum, 0);
}
static void momentum_defaults(struct skiff_optimizer_options *o)
{
    o->lars_coeff = opt_float(o->lars_coeff, 0.001);
    o->lars_weight_decay = opt_float(o->lars_weight_decay, 0.0005);
}
static void ftrl_defaults(struct skiff_optimizer_options *o)
{
    o->l1 = opt_float(o->l1, 0);
    o->l2 = opt_float(o->l2, 0);
    o->lr_power = opt_float(o->lr_power, -0.5);
}
static const char *momentum_missing(const struct skiff_optimizer_options *o)
{
    return o->momentum == 0 ? "momentum" : NULL;
}

/* ---- attributes ---- */

static int momentum_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                          struct part *out)
{
    out[0] = (struct part)P_FLOAT("mu", opt_float(o->momentum, 0));
    out[1] = (struct part)P_BOOL("use_nesterov", o->use_nesterov);
    return 2;
}
static int lars_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                      struct part *out)
{
    out[0] = (struct part)P_FLOAT("mu", opt_float(o->momentum, 0));
    out[1] = (struct part)P_FLOAT("lars_coeff", o->lars_coeff);
    out[2] = (struct part)P_FLOAT("lars_weight_decay", o->lars_weight_decay);
    return 3;
}
static int adagrad_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                         struct part *out)
{
    out[0] = (struct part)P_FLOAT("epsilon", o->epsilon);
    return 1;
}
static int decayed_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                         struct part *out)
{
    out[0] = (struct part)P_FLOAT("epsilon", o->epsilon);
    out[1] = (struct part)P_FLOAT("decay", o->decay);
    return 2;
}
static int adam_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                      struct part *out)
{
    out[0] = (struct part)P_FLOAT("epsilon", o->epsilon);
    out[1] = (struct part)P_BOOL("lazy_mode", o->lazy_mode);
    out[2] = (struct part)P_INT("min_row_size_to_use_multithread", 1000);
    out[3] = (struct part)P_FLOAT("beta1", o->beta1);
    out[4] = (struct part)P_FLOAT("beta2", o->beta2);
    return 5;
}
static int adamax_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                        struct part *out)
{
    out[0] = (struct part)P_FLOAT("beta1", o->beta1);
    out[1] = (struct part)P_FLOAT("beta2", o->beta2);
    out[2] = (struct part)P_FLOAT("epsilon", o->epsilon);
    return 3;
}
static int lamb_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                      struct part *out)
{
    bool excluded =
        o->exclude_from_weight_decay && o->exclude_from_weight_decay(param, o->exclude_user);
    adamax_attrs(o, param, out);
    out[3] = (struct part)P_FLOAT("weight_decay", excluded ? 0.0 : o->lamb_weight_decay);
    return 4;
}
static int adadelta_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                          struct part *out)
{
    out[0] = (struct part)P_FLOAT("epsilon", o->epsilon);
    out[1] = (struct part)P_FLOAT("rho", o->rho);
    return 2;
}
static int rmsprop_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                         struct part *out)
{
    out[0] = (struct part)P_FLOAT("epsilon", o->epsilon);
    out[1] = (struct part)P_FLOAT("decay", o->rho);
    out[2] = (struct part)P_FLOAT("momentum", o->momentum);
    out[3] = (struct part)P_BOOL("centered", o->centered);
    return 4;
}
/* Fluid 1.6 to 1.8 give l1 as l2 (the op itself is right); programs are compared with theirs. */
static int ftrl_attrs(const struct skiff_optimizer_options *o, const struct skiff_var *param,
                      struct part *out)
{
    out[0] = (struct part)P_FLOAT("l1", o->l1);
    out[1] = (struct part)P_FLOAT("l2", o->l1);
    out[2] = (struct part)P_FLOAT("lr_power", o->lr_power);
    return 3;
}
/* beta1_pow *= beta1 */
static void adamax_finish(struct skiff_optimizer *opt, const struct param_grad *pg)
{
    struct skiff_net *net = opt->net;
    struct role_guard role = pair_role(net, pg->param, pg->grad);
    skiff_net_push_scope(net, "adamx");
    struct skiff_var *pow = optimizer_accumulator(opt, pg->param, "beta1_pow_acc");
    layer_op(net, "scale", P_IN("X", pow), P_OUT("Out", pow), P_FLOAT("scale", opt->o.beta1));
    skiff_net_pop_scope(net);
    role_pop(role);
}

const struct optimizer_kind optimizer_kinds[] = {
    {.type = "sgd", .class = "SGDOptimizer", .accumulators = no_accumulators},
    {.type = "momentum",
     .class = "MomentumOptimizer",
     .accumulators = velocity,
     .missing = momentum_missing,
     .attrs = momentum_attrs},
    {.type = "lars_momentum",
     .class = "LarsMomentumOptimizer",
     .accumulators = velocity,
     .defaults = momentum_defaults,
     .missing = momentum_missing,
     .attrs = lars_attrs},
    {.type = "adagrad",
     .class = "AdagradOptimizer",
     .accumulators = adagrad_moment,
     .defaults = adagrad_defaults,
     .attrs = adagrad_attrs},
    {.type = "decayed_adagrad",
     .class = "DecayedAdagradOptimizer",
     .accumulators = moment,
     .defaults = adagrad_defaults,
     .attrs = decayed_attrs},
    {.type = "adam",
     .class = "AdamOptimizer",
     .accumulators = adam_moments,
     .defaults = adam_defaults,
     .attrs = adam_attrs},
    {.type = "adamax",
     .class = "AdamaxOptimizer",
     .accumulators = adamax_moments,
     .defaults = adam_defaults,
     .attrs = adamax_attrs,
     .finish = adamax_finish},
    {.type = "lamb",
     .class = "LambOptimizer",
     .accumulators = lamb_moments,
     .defaults = lamb_defaults,
     .attrs = lamb_attrs},
    {.type = "adadelta",
     .class = "AdadeltaOptimizer",
     .accumulators = adadelta_averages,
     .no_rate = true,
     .defaults = rho_defaults,
     .attrs = adadelta_attrs},
    {.type = "rmsprop",
     .class = "RMSPropOptimizer",
     .accumulators = rmsprop_means,
     .defaults = rho_defaults,
     .attrs = rmsprop_attrs},
    {.type = "ftrl",
     .class = "FtrlOptimizer",
     .accumulators = ftrl_sums,
     .defaults = ftrl_defaults,
     .attrs = ftrl_attrs},
    {0},
};
