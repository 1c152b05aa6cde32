/* dropout: each element is dropped with probability p.
 *
 *   train   u < p drops (Mask 0), else keeps (Mask 1): Out = X * Mask, divided by 1 - p when
 *           upscale_in_train; p = 1: zeros, nothing is drawn
 *   test    X * (1 - p), or X when upscale_in_train; Mask is not written
 *   grad    dX = dO * Mask, divided by 1 - p when upscale_in_train; after a test forward (2.x)
 *           as that forward
 *
 * The seed is the value of input Seed, else the attribute when fix_seed is set, else none. In 1.x a
 * seed of 0 with fix_seed is a seed; in 2.x 0 always means the default generator. */
#include <string.h>

#include "ops/random_source.h"
#include "ops/seq_common.h"

enum { AT_PROB, AT_IS_TEST, AT_FIX_SEED, AT_SEED, AT_IMPL };

static bool upscales(const struct attr_value *attr)
{
    return attr[AT_IMPL].s && !strcmp(attr[AT_IMPL].s, "upscale_in_train");
}

static enum skiff_status dropout_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    float p = c->attr[AT_PROB].f;
    const char *impl = c->attr[AT_IMPL].s;
    if (!(p >= 0 && p <= 1))
        return infer_fail(c, 0, 0, err, "dropout_prob is %g, must be in [0, 1]", p);
    if (!impl || (strcmp(impl, "upscale_in_train") && strcmp(impl, "downgrade_in_infer")))
        return infer_fail(c, 0, 0, err, "dropout_implementation is '%s'", impl ? impl : "");
    struct shape s = *infer_in(c, 0, 0);
    TRY(infer_same(c, 0, 0, err));
    if (!c->attr[AT_IS_TEST].b || c->kind->generations == GEN_2X)
        TRY(infer_out(c, 1, 0, DTYPE_UINT8, &s, err));
    return SKIFF_OK;
}

static enum skiff_status dropout_source(const struct kernel *k, struct random_source *r,
                                        struct skiff_error *err)
{
    const struct tensor *given = kernel_has(k, 1) ? kernel_in(k, 1) : NULL;
    bool fixed = given || k->attr[AT_FIX_SEED].b;
    int64_t seed = given ? 0 : k->attr[AT_SEED].i;
    if (given && (tensor_read_ints(given, &seed, 1) != 1))
        return kernel_fail(k, SKIFF_SHAPE, err, "input Seed (%s) must hold one integer",
                           kernel_in_name(k, 1, 0));
    if (k->kind->generations == GEN_1X && fixed)
        random_source_minstd(r, (int32_t)seed);
    else
        random_source_init(r, k, fixed ? (int32_t)seed : 0);
    return SKIFF_OK;
}

static enum skiff_status dropout_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *mask = kernel_out(k, 1);
    float *out = tensor_f32(kernel_out(k, 0)), p = k->attr[AT_PROB].f;
    int64_t n = tensor_numel(x);
    bool upscale = upscales(k->attr);
    struct random_source r;
    if (k->attr[AT_IS_TEST].b) {
        float by = upscale ? 1.0f : 1.0f - p;
        for (int64_t i = 0; i < n; i++)
            out[i] = tensor_f32(x)[i] * by;
        return SKIFF_OK;
    }
    if (p < 1.0f)
        TRY(dropout_source(k, &r, err));
    for (int64_t i = 0; i < n; i++) {
        bool keep = p < 1.0f && !(random_float(&r) < p);
        float v = tensor_f32(x)[i];
        out[i] = !keep ? 0.0f : upscale ? v / (1.0f - p) : v;
        if (mask)
            ((uint8_t *)mask->data)[i] = keep;
    }
    return SKIFF_OK;
}

static enum skiff_status dropout_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 1, DTYPE_FP32, err));
    if (!c->attr[AT_IS_TEST].b) {
        TRY(infer_want(c, 0, DTYPE_UINT8, err));
        TRY(infer_want_alike(c, 0, 1, err));
    }
    return infer_same(c, 1, 0, err);
}

static enum skiff_status dropout_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *mask = kernel_in(k, 0), *dout = kernel_in(k, 1);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    float *dx = tensor_f32(kernel_out(k, 0)), p = k->attr[AT_PROB].f;
    int64_t n = tensor_numel(dout);
    bool upscale = upscales(k->attr), test = k->attr[AT_IS_TEST].b;
    float by = test ? (upscale ? 1.0f : 1.0f - p) : upscale && p < 1.0f ? 1.0f / (1.0f - p) : 1.0f;
    for (int64_t i = 0; i < n; i++)
        dx[i] = test || ((const uint8_t *)mask->data)[i] ? tensor_f32(dout)[i] * by : 0.0f;
    return SKIFF_OK;
}

static const struct op_slot dropout_ins[] = {{"X", 0}, {"Seed", SLOT_OPTIONAL}, {0}};
static const struct op_slot dropout_outs[] = {{"Out", 0}, {"Mask", SLOT_EXTRA}, {0}};
static const struct op_slot dropout_grad_ins[] = {{"Mask", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot dropout_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec dropout_attrs[] = {
    A_FLOAT("dropout_prob", 0.5f),
    A_BOOL("is_test", false),
    A_BOOL("fix_seed", false),
    A_INT("seed", 0),
    A_STR("dropout_implementation", "downgrade_in_infer"),
    {0}};

#define DROPOUT_ROW(gen)                                                                 \
    {                                                                                    \
        .type = "dropout", .generations = gen, .flags = OP_RANDOM, .ins = dropout_ins,   \
        .outs = dropout_outs, .attrs = dropout_attrs, .grad = "Mask Out@GRAD -> X@GRAD", \
        .infer = dropout_infer, .run = dropout_run                                       \
    }

const struct op_kind ops_dropout[] = {DROPOUT_ROW(GEN_1X),
                                      DROPOUT_ROW(GEN_2X),
                                      {.type = "dropout_grad",
                                       .ins = dropout_grad_ins,
                                       .outs = dropout_grad_outs,
                                       .attrs = dropout_attrs,
                                       .infer = dropout_grad_infer,
                                       .run = dropout_grad_run},
                                      {0}};
