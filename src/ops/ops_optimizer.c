/* Optimizer ops: tables. Formulas are in the rules room; the kernel is optimizer.c. */
#include "ops/optimizer.h"

enum spec_index {
    SPEC_SGD,
    SPEC_MOMENTUM,
    SPEC_ADAGRAD,
    SPEC_DECAYED_ADAGRAD,
    SPEC_ADAM,
    SPEC_ADAM_2X,
    SPEC_ADAMW,
    SPEC_ADAMAX,
    SPEC_ADADELTA,
    SPEC_ADADELTA_2X,
    SPEC_RMSPROP,
    SPEC_FTRL,
    SPEC_LAMB,
    SPEC_LAMB_2X,
    SPEC_LARS,
    SPEC_LARS_2X,
    SPEC_PROXIMAL_GD,
    SPEC_PROXIMAL_ADAGRAD,
};

#define MOMENTS_AND_POWERS                                                      \
    .state = {"Moment1", "Moment2"}, .state_out = {"Moment1Out", "Moment2Out"}, \
    .scalar = {"Beta1Pow", "Beta2Pow"}, .scalar_out = {"Beta1PowOut", "Beta2PowOut"}

static const struct optimizer_spec specs[] = {
    [SPEC_SGD] = {.rule = &rule_sgd, .rows_once = true},
    [SPEC_MOMENTUM] = {.rule = &rule_momentum,
                       .empty_is_nothing = true,
                       .state = {"Velocity"},
                       .state_out = {"VelocityOut"}},
    [SPEC_ADAGRAD] = {.rule = &rule_adagrad, .state = {"Moment"}, .state_out = {"MomentOut"}},
    [SPEC_DECAYED_ADAGRAD] = {.rule = &rule_decayed_adagrad,
                              .state = {"Moment"},
                              .state_out = {"MomentOut"}},
    [SPEC_ADAM] = {.rule = &rule_adam, .empty_is_nothing = true, MOMENTS_AND_POWERS},
    [SPEC_ADAM_2X] = {.rule = &rule_adam,
                      .empty_is_nothing = true,
                      .second_gen = true,
                      MOMENTS_AND_POWERS},
    [SPEC_ADAMW] = {.rule = &rule_adamw, .second_gen = true, MOMENTS_AND_POWERS},
    [SPEC_ADAMAX] = {.rule = &rule_adamax,
                     .state = {"Moment", "InfNorm"},
                     .state_out = {"MomentOut", "InfNormOut"},
                     .scalar = {"Beta1Pow"}},
    [SPEC_ADADELTA] = {.rule = &rule_adadelta,
                       .state = {"AvgSquaredGrad", "AvgSquaredUpdate"},
                       .state_out = {"AvgSquaredGradOut", "AvgSquaredUpdateOut"}},
    [SPEC_ADADELTA_2X] = {.rule = &rule_adadelta,
                          .second_gen = true,

                          .state = {"AvgSquaredGrad", "AvgSquaredUpdate"},
                          .state_out = {"AvgSquaredGradOut", "AvgSquaredUpdateOut"}},
    [SPEC_RMSPROP] = {.rule = &rule_rmsprop,
                      .state = {"MeanSquare", "Moment", "MeanGrad"},
                      .state_out = {"MeanSquareOut", "MomentOut", "MeanGradOut"}},
    [SPEC_FTRL] = {.rule = &rule_ftrl,
                   .state = {"SquaredAccumulator", "LinearAccumulator"},
                   .state_out = {"SquaredAccumOut", "LinearAccumOut"}},
    [SPEC_LAMB] = {.rule = &rule_lamb, MOMENTS_AND_POWERS},
    [SPEC_LAMB_2X] = {.rule = &rule_lamb, .second_gen = true, MOMENTS_AND_POWERS},
    [SPEC_LARS] = {.rule = &rule_lars_momentum,
                   .state = {"Velocity"},
                   .state_out = {"VelocityOut"}},
    [SPEC_LARS_2X] = {.rule = &rule_lars_momentum,
                      .second_gen = true,
                      .state = {"Velocity"},
                      .state_out = {"VelocityOut"}},
    [SPEC_PROXIMAL_GD] = {.rule = &rule_proximal_gd},
    [SPEC_PROXIMAL_ADAGRAD] = {.rule = &rule_proximal_adagrad,
                               .state = {"Moment"},
                               .state_out = {"MomentOut"}},
};

const struct optimizer_spec *optimizer_spec_at(int i)
{
    return &specs[i];
}

#define ROWS SLOT_ROWWISE
#define OUT_STATE (SLOT_INPLACE | SLOT_ROWWISE)
#define MASTER_IN                                   \
    {                                               \
        "MasterParam", SLOT_OPTIONAL | SLOT_ONLY_2X \
    }
#define MASTER_OUT                                     \
    {                                                  \
        "MasterParamOut", SLOT_OPTIONAL | SLOT_ONLY_2X \
    }
#define MULTI_PRECISION                                                        \
    {                                                                          \
        .name = "multi_precision", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X \
    }

static const struct op_slot sgd_ins[] = {
    {"Param", ROWS}, {"LearningRate", 0}, {"Grad", 0}, MASTER_IN, {0}};
static const struct op_slot sgd_outs[] = {{"ParamOut", OUT_STATE}, MASTER_OUT, {0}};
static const struct op_attr_spec sgd_attrs[] = {MULTI_PRECISION, {0}};

static const struct op_slot momentum_ins[] = {{"Param", ROWS},     {"Grad", 0}, {"Velocity", ROWS},
                                              {"LearningRate", 0}, MASTER_IN,   {0}};
static const struct op_slot momentum_outs[] = {
    {"ParamOut", OUT_STATE}, {"VelocityOut", OUT_STATE}, MASTER_OUT, {0}};
static const struct op_attr_spec momentum_attrs[] = {
    A_REQ("mu", ATTR_FLOAT),
    A_BOOL("use_nesterov", false),
    {.name = "regularization_method", .type = ATTR_STRING, .flags = ATTR_ONLY_2X, .def = {.s = ""}},
    {.name = "regularization_coeff", .type = ATTR_FLOAT, .flags = ATTR_ONLY_2X},
    MULTI_PRECISION,
    {.name = "rescale_grad", .type = ATTR_FLOAT, .flags = ATTR_ONLY_2X, .def = {.f = 1}},
    {0}};

static const struct op_slot adagrad_ins[] = {{"Param", ROWS},     {"Grad", 0}, {"Moment", ROWS},
                                             {"LearningRate", 0}, MASTER_IN,   {0}};
static const struct op_slot adagrad_outs[] = {
    {"ParamOut", OUT_STATE}, {"MomentOut", OUT_STATE}, MASTER_OUT, {0}};
static const struct op_attr_spec adagrad_attrs[] = {
    A_FLOAT("epsilon", 1.0e-6f), MULTI_PRECISION, {0}};

static const struct op_slot decayed_ins[] = {
    {"Param", ROWS}, {"Grad", 0}, {"Moment", ROWS}, {"LearningRate", 0}, {0}};
static const struct op_slot decayed_outs[] = {
    {"ParamOut", OUT_STATE}, {"MomentOut", OUT_STATE}, {0}};
static const struct op_attr_spec decayed_attrs[] = {
    A_FLOAT("decay", 0.95f), A_FLOAT("epsilon", 1.0e-6f), {0}};

static const struct op_slot adam_ins[] = {{"Param", ROWS},
                                          {"Grad", 0},
                                          {"LearningRate", 0},
                                          {"Moment1", ROWS},
                                          {"Moment2", ROWS},
                                          {"Beta1Pow", 0},
                                          {"Beta2Pow", 0},
                                          MASTER_IN,
                                          {"SkipUpdate", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                          {"Beta1Tensor", SLOT_OPTIONAL},
                                          {"Beta2Tensor", SLOT_OPTIONAL},
                                          {"EpsilonTensor", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                          {0}};
static const struct op_slot adam_outs[] = {{"ParamOut", OUT_STATE},
                                           {"Moment1Out", OUT_STATE},
                                           {"Moment2Out", OUT_STATE},
                                           {"Beta1PowOut", SLOT_INPLACE},
                                           {"Beta2PowOut", SLOT_INPLACE},
                                           MASTER_OUT,
                                           {0}};
#define BETAS(eps) A_FLOAT("beta1", 0.9f), A_FLOAT("beta2", 0.999f), A_FLOAT("epsilon", eps)
#define GLOBAL_POWERS                                                              \
    {                                                                              \
        .name = "use_global_beta_pow", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X \
    }
static const struct op_attr_spec adam_attrs[] = {BETAS(1.0e-8f),
                                                 A_BOOL("lazy_mode", false),
                                                 A_LONG("min_row_size_to_use_multithread", 1000),
                                                 MULTI_PRECISION,
                                                 GLOBAL_POWERS,
                                                 {0}};
static const struct op_attr_spec adamw_attrs[] = {BETAS(1.0e-8f),
                                                  A_FLOAT("lr_ratio", 1),
                                                  A_FLOAT("coeff", 0.01f),
                                                  A_BOOL("with_decay", false),
                                                  A_BOOL("lazy_mode", false),
                                                  A_LONG("min_row_size_to_use_multithread", 1000),
                                                  MULTI_PRECISION,
                                                  GLOBAL_POWERS,
                                                  {0}};

static const struct op_slot adamax_ins[] = {
    {"Param", ROWS},   {"Grad", 0},     {"LearningRate", 0}, {"Moment", ROWS},
    {"InfNorm", ROWS}, {"Beta1Pow", 0}, MASTER_IN,           {0}};
static const struct op_slot adamax_outs[] = {
    {"ParamOut", OUT_STATE}, {"MomentOut", OUT_STATE}, {"InfNormOut", OUT_STATE}, MASTER_OUT, {0}};
static const struct op_attr_spec adamax_attrs[] = {BETAS(1.0e-8f), MULTI_PRECISION, {0}};

static const struct op_slot adadelta_ins[] = {
    {"Param", ROWS}, {"Grad", 0}, {"AvgSquaredGrad", ROWS}, {"AvgSquaredUpdate", ROWS}, {0}};
static const struct op_slot adadelta_ins_2x[] = {{"Param", ROWS},
                                                 {"Grad", 0},
                                                 {"AvgSquaredGrad", ROWS},
                                                 {"AvgSquaredUpdate", ROWS},
                                                 {"LearningRate", 0},
                                                 MASTER_IN,
                                                 {0}};
static const struct op_slot adadelta_outs[] = {{"ParamOut", OUT_STATE},
                                               {"AvgSquaredGradOut", OUT_STATE},
                                               {"AvgSquaredUpdateOut", OUT_STATE},
                                               MASTER_OUT,
                                               {0}};
static const struct op_attr_spec adadelta_attrs[] = {
    A_FLOAT("rho", 0.95f), A_FLOAT("epsilon", 1.0e-6f), MULTI_PRECISION, {0}};

static const struct op_slot rmsprop_ins[] = {{"Param", ROWS},
                                             {"MeanSquare", ROWS},
                                             {"MeanGrad", ROWS | SLOT_OPTIONAL},
                                             {"LearningRate", 0},
                                             {"Grad", 0},
                                             {"Moment", ROWS},
                                             MASTER_IN,
                                             {0}};
static const struct op_slot rmsprop_outs[] = {{"ParamOut", OUT_STATE},
                                              {"MomentOut", OUT_STATE},
                                              {"MeanSquareOut", OUT_STATE},
                                              {"MeanGradOut", OUT_STATE},
                                              MASTER_OUT,
                                              {0}};
static const struct op_attr_spec rmsprop_attrs[] = {
    A_FLOAT("epsilon", 1.0e-10f), A_FLOAT("decay", 0.9f), A_FLOAT("momentum", 0),
    A_BOOL("centered", false),    MULTI_PRECISION,        {0}};

static const struct op_slot ftrl_ins[] = {
    {"Param", ROWS}, {"SquaredAccumulator", ROWS}, {"LinearAccumulator", ROWS},
    {"Grad", 0},     {"LearningRate", 0},          {0}};
static const struct op_slot ftrl_outs[] = {{"ParamOut", OUT_STATE},
                                           {"SquaredAccumOut", SLOT_ROWWISE},
                                           {"LinearAccumOut", SLOT_ROWWISE},
                                           {0}};
static const struct op_attr_spec ftrl_attrs[] = {
    A_FLOAT("l1", 0), A_FLOAT("l2", 0), A_FLOAT("lr_power", -0.5f), {0}};

static const struct op_slot lamb_ins[] = {{"Param", ROWS},
                                          {"Grad", 0},
                                          {"LearningRate", 0},
                                          {"Moment1", ROWS},
                                          {"Moment2", ROWS},
                                          {"Beta1Pow", 0},
                                          {"Beta2Pow", 0},
                                          MASTER_IN,
                                          {"SkipUpdate", SLOT_OPTIONAL | SLOT_ONLY_2X},
                                          {0}};
static const struct op_slot lamb_outs[] = {
    {"ParamOut", OUT_STATE},
    {"Moment1Out", OUT_STATE},
    {"Moment2Out", OUT_STATE},
    {"Beta1PowOut", SLOT_INPLACE | SLOT_OPTIONAL | SLOT_ONLY_2X},
    {"Beta2PowOut", SLOT_INPLACE | SLOT_OPTIONAL | SLOT_ONLY_2X},
    MASTER_OUT,
    {0}};
static const struct op_attr_spec lamb_attrs[] = {
    A_REQ("weight_decay", ATTR_FLOAT),
    BETAS(1.0e-6f),
    {.name = "always_adapt", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X},
    MULTI_PRECISION,
    {0}};

static const struct op_slot lars_ins[] = {
    {"Param", ROWS}, {"Grad", 0}, {"Velocity", ROWS}, {"LearningRate", 0}, {0}};
static const struct op_slot lars_outs[] = {
    {"ParamOut", OUT_STATE}, {"VelocityOut", OUT_STATE}, {0}};
static const struct op_attr_spec lars_attrs[] = {A_REQ("mu", ATTR_FLOAT),
                                                 A_FLOAT("lars_coeff", 0.001f),
                                                 A_FLOAT("lars_weight_decay", 0.0005f),
                                                 {0}};
static const struct op_slot lars_ins_2x[] = {{"Param", ROWS | SLOT_LIST},
                                             {"Grad", SLOT_LIST},
                                             {"Velocity", ROWS | SLOT_LIST},
                                             {"LearningRate", SLOT_LIST},
                                             {"MasterParam", SLOT_LIST | SLOT_OPTIONAL},
                                             {0}};
static const struct op_slot lars_outs_2x[] = {{"ParamOut", OUT_STATE | SLOT_LIST},
                                              {"VelocityOut", OUT_STATE | SLOT_LIST},
                                              {"MasterParamOut", SLOT_LIST | SLOT_OPTIONAL},
                                              {0}};
static const float lars_decay[] = {0.0005f};
static const struct op_attr_spec lars_attrs_2x[] = {
    A_REQ("mu", ATTR_FLOAT),
    A_FLOAT("lars_coeff", 0.001f),
    {.name = "lars_weight_decay", .type = ATTR_FLOATS, .def = {.n = 1, .floats = lars_decay}},
    A_FLOAT("epsilon", 0),
    A_BOOL("multi_precision", false),
    A_FLOAT("rescale_grad", 1),
    {0}};

static const struct op_slot proximal_gd_ins[] = {
    {"Param", ROWS}, {"Grad", 0}, {"LearningRate", 0}, {0}};
static const struct op_slot proximal_gd_outs[] = {{"ParamOut", OUT_STATE}, {0}};
static const struct op_slot proximal_adagrad_ins[] = {
    {"Param", ROWS}, {"Moment", ROWS}, {"Grad", 0}, {"LearningRate", 0}, {0}};
static const struct op_attr_spec proximal_attrs[] = {A_FLOAT("l1", 0), A_FLOAT("l2", 0), {0}};

#define DENSE (OP_OPTIMIZER | OP_NO_GRAD_NEEDED)
#define SPARSE (DENSE | OP_ROWS_OK)
#define OPTIMIZER(name, gens, kind_flags, spec, in_slots, out_slots, attributes)              \
    {                                                                                         \
        .type = name, .generations = gens, .flags = kind_flags, .fuse = FUSE_UPDATE,          \
        .fuse_arg = spec, .ins = in_slots, .outs = out_slots, .attrs = attributes,            \
        .infer = optimizer_infer, .prepare = optimizer_prepare, .release = optimizer_release, \
        .run = optimizer_run                                                                  \
    }

const struct op_kind ops_optimizer[] = {
    OPTIMIZER("sgd", 0, SPARSE, SPEC_SGD, sgd_ins, sgd_outs, sgd_attrs),
    OPTIMIZER("momentum", 0, SPARSE, SPEC_MOMENTUM, momentum_ins, momentum_outs, momentum_attrs),
    OPTIMIZER("adagrad", 0, SPARSE, SPEC_ADAGRAD, adagrad_ins, adagrad_outs, adagrad_attrs),
    OPTIMIZER("decayed_adagrad", 0, DENSE, SPEC_DECAYED_ADAGRAD, decayed_ins, decayed_outs,
              decayed_attrs),
    OPTIMIZER("adam", GEN_1X, SPARSE, SPEC_ADAM, adam_ins, adam_outs, adam_attrs),
    OPTIMIZER("adam", GEN_2X, SPARSE, SPEC_ADAM_2X, adam_ins, adam_outs, adam_attrs),
    OPTIMIZER("adamw", GEN_2X, DENSE, SPEC_ADAMW, adam_ins, adam_outs, adamw_attrs),
    OPTIMIZER("adamax", 0, SPARSE, SPEC_ADAMAX, adamax_ins, adamax_outs, adamax_attrs),
    OPTIMIZER("adadelta", GEN_1X, DENSE, SPEC_ADADELTA, adadelta_ins, adadelta_outs,
              adadelta_attrs),
    OPTIMIZER("adadelta", GEN_2X, DENSE, SPEC_ADADELTA_2X, adadelta_ins_2x, adadelta_outs,
              adadelta_attrs),
    OPTIMIZER("rmsprop", 0, SPARSE, SPEC_RMSPROP, rmsprop_ins, rmsprop_outs, rmsprop_attrs),
    OPTIMIZER("ftrl", 0, DENSE, SPEC_FTRL, ftrl_ins, ftrl_outs, ftrl_attrs),
    OPTIMIZER("lamb", GEN_1X, SPARSE, SPEC_LAMB, lamb_ins, lamb_outs, lamb_attrs),
    OPTIMIZER("lamb", GEN_2X, SPARSE, SPEC_LAMB_2X, lamb_ins, lamb_outs, lamb_attrs),
    OPTIMIZER("lars_momentum", GEN_1X, DENSE, SPEC_LARS, lars_ins, lars_outs, lars_attrs),
    OPTIMIZER("lars_momentum", GEN_2X, DENSE, SPEC_LARS_2X, lars_ins_2x, lars_outs_2x,
              lars_attrs_2x),
    OPTIMIZER("proximal_gd", 0, DENSE, SPEC_PROXIMAL_GD, proximal_gd_ins, proximal_gd_outs,
              proximal_attrs),
    OPTIMIZER("proximal_adagrad", GEN_1X, DENSE, SPEC_PROXIMAL_ADAGRAD, proximal_adagrad_ins,
              decayed_outs, proximal_attrs),
    {0}};
