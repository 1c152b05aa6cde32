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

#include "ops/create/random_source.h"
#include "ops/seq_common.h"

enum { AT_PROB, AT_IS_TEST, AT_FIX_SEED, AT_SEED, AT_IMPL };
enum { MASK_ALWAYS = 1 }; /* op_kind.arg: Mask is declared in tests, too (2.x) */

static bool upscales(const struct attr_value *attr)
{
    return attr[AT_IMPL].s && !strcmp(attr[AT_IMPL].s, "upscale_in_train");
}

static enum skiff_status dropout_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, 0, err));
    float p = c->attr[AT_PROB].f;
    const char *impl = c->attr[AT_IMPL].s;
    if (!(p >= 0 && p <= 1))
        return infer_fail(c, 0, 0, err, "dropout_prob is %g, must be in [0, 1]", p);
    if (!impl || (strcmp(impl, "upscale_in_train") && strcmp(impl, "downgrade_in_infer")))
        return infer_fail(c, 0, 0, err, "dropout_implementation is '%s'", impl ? impl : "");
    struct shape s = *infer_in(c, 0, 0);
    TRY(infer_same(c, 0, 0, err));
    if (!c->attr[AT_IS_TEST].b || c->kind->arg == MASK_ALWAYS)
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
    if (k->kind->flags & OP_MINSTD && fixed)
        random_source_minstd(r, (int32_t)seed);
    else
        random_source_init(r, k, fixed ? (int32_t)seed : 0);
    return SKIFF_OK;
}

static enum skiff_status dropout_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    float p = k->attr[AT_PROB].f;
    int64_t n = tensor_numel(x);
    bool upscale = upscales(k->attr), test = k->attr[AT_IS_TEST].b;
    struct random_source r;
    uint8_t *mask = test ? NULL : kernel_out_data(k, 1);
    if (p < 1.0f && !test)
        TRY(dropout_source(k, &r, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *in = x->data;
        T *out = kernel_out(k, 0)->data, by = upscale ? 1.0f : 1.0f - p;
        for (int64_t i = 0; i < n; i++) {
            bool keep = test || (p < 1.0f && !(random_float(&r) < p));
            T v = in[i];
            out[i] = test ? v * by : !keep ? 0 : upscale ? v / (1.0f - p) : v;
            if (mask)
                mask[i] = keep;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status dropout_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, 1, err));
    if (!c->attr[AT_IS_TEST].b) {
        TRY(infer_want(c, 0, DTYPE_UINT8, err));
        TRY(infer_want_alike(c, 0, 1, err));
    }
    return infer_same(c, 1, 0, err);
}

static enum skiff_status dropout_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *dout = kernel_in(k, 1);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    float p = k->attr[AT_PROB].f;
    int64_t n = tensor_numel(dout);
    bool upscale = upscales(k->attr), test = k->attr[AT_IS_TEST].b;
    const uint8_t *mask = test ? NULL : kernel_in(k, 0)->data;
    float by = test ? (upscale ? 1.0f : 1.0f - p) : upscale && p < 1.0f ? 1.0f / (1.0f - p) : 1.0f;
    DISPATCH_FLOAT(dout->dtype, T, {
        const T *d = dout->data;
        T *dx = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            dx[i] = test || mask[i] ? d[i] * by : 0;
    })
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

#define DROPOUT_ROW(gen, source, mask)                                                     \
    {                                                                                      \
        .type = "dropout", .generations = gen, .flags = OP_RANDOM | (source), .arg = mask, \
        .ins = dropout_ins, .outs = dropout_outs, .attrs = dropout_attrs,                  \
        .grad = "Mask Out@GRAD -> X@GRAD", .infer = dropout_infer, .run = dropout_run      \
    }

const struct op_kind ops_dropout[] = {DROPOUT_ROW(GEN_1X, OP_MINSTD, 0),
                                      DROPOUT_ROW(GEN_2X, 0, MASK_ALWAYS),
                                      {.type = "dropout_grad",
                                       .ins = dropout_grad_ins,
                                       .outs = dropout_grad_outs,
                                       .attrs = dropout_attrs,
                                       .infer = dropout_grad_infer,
                                       .run = dropout_grad_run},
                                      {0}};
