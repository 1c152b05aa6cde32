/* Gradients of gradient ops: derivatives of second order, made of ops that have gradients
 * themselves (so a third order works as well).
 *
 * A gradient op gives dX = D f'(X), where D is the gradient of the forward op's Out. With V, the
 * gradient of dX (and U, that of dY):
 *
 *   one operand      gD = V f'(X): the same gradient op once more;  gX = D V f''(X)
 *   moves, sums      gD = the forward op of V
 *   products B(X,Y)  gD = B(V, Y) + B(X, U);  (gX, gY) = the gradient op of B(V, U) and D
 *   X / Y            gD = (V - U Out) / Y;  gX = -D U / Y^2;  gY = (2 U Out - V) D / Y^2
 *
 * What stands in no row has no second order: whoever asks for it is told so. */
#include <string.h>

#include "program/grad.h"

#define D_SLOT "Out" GRAD_SUFFIX

/* ---- names ---- */

/* Variable of an input of the gradient op; NULL: not there. */
static const char *given(const struct grad_build *g, const char *slot)
{
    const struct op_arg *a = op_in(g->fwd, slot);
    return a && a->n && strcmp(a->names[0], EMPTY_VAR) ? a->names[0] : NULL;
}

/* Gradient of an output of the gradient op; NULL: it has not made that one. */
static const char *coming(struct grad_build *g, const char *slot)
{
    const struct op_arg *a = op_out(g->fwd, slot);
    return a && a->n && strcmp(a->names[0], EMPTY_VAR) ? grad_name(g, a->names[0]) : NULL;
}

/* Where the gradient of an input goes; NULL: nobody wants it. */
static const char *result(struct grad_build *g, const char *slot)
{
    const char *name = given(g, slot);
    if (!name)
        return NULL;
    name = grad_name(g, name);
    return g->unwanted && g->unwanted(g, name) ? NULL : name;
}

static const char *temporary(struct grad_build *g)
{
    const struct op_arg *made = &g->fwd->outs[0];
    return arena_printf(&g->program->arena, "%s@SECOND@%d", made->n ? made->names[0] : "", g->nops);
}

static void put_in(struct grad_build *g, struct skiff_op *op, const char *slot, const char *name)
{
    const char **names = arena_alloc(&g->program->arena, sizeof(*names));
    names[0] = name;
    op_set_in(g->program, op, slot, 1, names);
}

static void put_out(struct grad_build *g, struct skiff_op *op, const char *slot, const char *name)
{
    const char **names = arena_alloc(&g->program->arena, sizeof(*names));
    names[0] = name;
    op_set_out(g->program, op, slot, 1, names);
}

/* ---- steps: each gives the name of what it makes; out NULL: a name of its own ---- */

static const char *one(struct grad_build *g, const char *type, const char *x, const char *out)
{
    struct skiff_op *op = grad_op(g, type, false);
    out = out ? out : temporary(g);
    put_in(g, op, "X", x);
    put_out(g, op, "Out", out);
    return out;
}

static const char *scaled(struct grad_build *g, const char *x, double scale, double bias,
                          const char *out)
{
    struct skiff_op *op = grad_op(g, "scale", false);
    out = out ? out : temporary(g);
    put_in(g, op, "X", x);
    op_set_float(g->program, op, "scale", (float)scale);
    op_set_float(g->program, op, "bias", (float)bias);
    op_set_bool(g->program, op, "bias_after_scale", true);
    put_out(g, op, "Out", out);
    return out;
}

/* An op of two operands with the attributes (axis, transpositions) of the gradient op. */
static const char *two(struct grad_build *g, const char *type, const char *x, const char *y,
                       const char *out)
{
    struct skiff_op *op = grad_op(
        g, type, !strncmp(g->fwd->type, type, strlen(type)) || !strncmp(type, "elementwise", 11));
    out = out ? out : temporary(g);
    put_in(g, op, "X", x);
    put_in(g, op, "Y", y);
    put_out(g, op, "Out", out);
    return out;
}

static const char *mul(struct grad_build *g, const char *x, const char *y, const char *out)
{
    return two(g, "elementwise_mul", x, y, out);
}

/* V, or zeros in the shape of what it is the gradient of. */
static const char *or_zeros(struct grad_build *g, const char *v, const char *like)
{
    return v ? v : one(g, "fill_zeros_like", like, NULL);
}

/* ---- one operand ---- */

/* gD: the gradient op once more, with V in the place of D. */
static void again(struct grad_build *g)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *to = result(g, D_SLOT);
    if (!v || !to)
        return;
    struct skiff_op *op = grad_op(g, g->fwd->type, true);
    for (const struct op_slot *s = g->fwd->kind->ins; s->name; s++)
        if (strcmp(s->name, D_SLOT))
            grad_use(g, op, s->name);
    put_in(g, op, D_SLOT, v);
    put_out(g, op, "X" GRAD_SUFFIX, to);
}

static enum skiff_status straight(struct grad_build *g, struct skiff_error *err)
{
    again(g);
    return SKIFF_OK;
}

/* D V, when the gradient of `slot` is wanted; NULL: it is not. */
static const char *curved(struct grad_build *g, const char *slot, const char **to)
{
    again(g);
    const char *v = coming(g, "X" GRAD_SUFFIX);
    *to = result(g, slot);
    return *to && v ? mul(g, given(g, D_SLOT), v, NULL) : NULL;
}

static enum skiff_status square_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (dv)
        scaled(g, dv, 2, 0, to);
    return SKIFF_OK;
}

static enum skiff_status log_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (dv)
        two(g, "elementwise_div", scaled(g, dv, -1, 0, NULL), one(g, "square", given(g, "X"), NULL),
            to);
    return SKIFF_OK;
}

/* by Out: dX = D / (2 Out) */
static enum skiff_status sqrt_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "Out", &to);
    if (dv)
        two(g, "elementwise_div", scaled(g, dv, -0.5, 0, NULL),
            one(g, "square", given(g, "Out"), NULL), to);
    return SKIFF_OK;
}

/* by Out: dX = D (1 - Out^2) */
static enum skiff_status tanh_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "Out", &to);
    if (dv)
        mul(g, scaled(g, dv, -2, 0, NULL), given(g, "Out"), to);
    return SKIFF_OK;
}

/* by Out: dX = D Out (1 - Out) */
static enum skiff_status sigmoid_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "Out", &to);
    if (dv)
        mul(g, dv, scaled(g, given(g, "Out"), -2, 1, NULL), to);
    return SKIFF_OK;
}

static enum skiff_status sin_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (dv)
        mul(g, scaled(g, dv, -1, 0, NULL), one(g, "sin", given(g, "X"), NULL), to);
    return SKIFF_OK;
}

static enum skiff_status cos_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (dv)
        mul(g, scaled(g, dv, -1, 0, NULL), one(g, "cos", given(g, "X"), NULL), to);
    return SKIFF_OK;
}

/* s = sigmoid(X): f'' = s (1 - s) (2 + X (1 - 2 s)) */
static enum skiff_status silu_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *x = given(g, "X"), *dv = curved(g, "X", &to);
    if (!dv)
        return SKIFF_OK;
    const char *s = one(g, "sigmoid", x, NULL);
    const char *slope = mul(g, s, scaled(g, s, -1, 1, NULL), NULL);
    const char *rest = scaled(g, mul(g, x, scaled(g, s, -2, 1, NULL), NULL), 1, 2, NULL);
    mul(g, dv, mul(g, slope, rest, NULL), to);
    return SKIFF_OK;
}

static enum skiff_status pow_second(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(g->fwd, "factor");
    double n = a ? (double)a->value.f : 1;
    const char *to, *dv = curved(g, "X", &to);
    if (given(g, "FactorTensor"))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op pow_grad: no second order with a FactorTensor; give the power as a "
                         "number");
    if (!dv)
        return SKIFF_OK;
    const char *scale = scaled(g, dv, n * (n - 1), 0, n * (n - 1) == 0 ? to : NULL);
    if (n * (n - 1) == 0)
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "pow", false);
    const char *power = temporary(g);
    put_in(g, op, "X", given(g, "X"));
    op_set_float(g->program, op, "factor", (float)(n - 2));
    put_out(g, op, "Out", power);
    mul(g, scale, power, to);
    return SKIFF_OK;
}

/* ---- moves and sums ---- */

/* gD: the forward op of V. */
static enum skiff_status forward(struct grad_build *g, struct skiff_error *err)
{
    size_t n = strlen(g->fwd->type) - strlen("_grad");
    const char *type = arena_strndup(&g->program->arena, g->fwd->type, n);
    const char *slot = op_out(g->fwd, "Input" GRAD_SUFFIX) ? "Input" : "X";
    const char *v = coming(g, grad_name(g, slot)), *to = result(g, D_SLOT);
    if (!v || !to)
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, type, true);
    for (const struct op_slot *s = g->fwd->kind->ins; s->name; s++)
        if (op->kind && strcmp(s->name, slot) && op_kind_slot(op->kind->ins, s->name) >= 0)
            grad_use(g, op, s->name);
    put_in(g, op, slot, v);
    put_out(g, op, "Out", to);
    if (op->kind && op_kind_slot(op->kind->outs, "XShape") >= 0)
        put_out(g, op, "XShape", temporary(g));
    return SKIFF_OK;
}

static enum skiff_status concat_second(struct grad_build *g, struct skiff_error *err)
{
    const struct op_arg *x = op_in(g->fwd, "X"), *dx = op_out(g->fwd, "X" GRAD_SUFFIX);
    const char *to = result(g, D_SLOT);
    if (!to || !x || !dx)
        return SKIFF_OK;
    const char **names = arena_alloc(&g->program->arena, (size_t)x->n * sizeof(*names));
    for (int i = 0; i < x->n; i++) {
        bool made = i < dx->n && strcmp(dx->names[i], EMPTY_VAR);
        names[i] = or_zeros(g, made ? grad_name(g, dx->names[i]) : NULL, x->names[i]);
    }
    struct skiff_op *op = grad_op(g, "concat", true);
    op_set_in(g->program, op, "X", x->n, names);
    grad_use(g, op, "AxisTensor");
    put_out(g, op, "Out", to);
    return SKIFF_OK;
}

/* dX and dY are D, perhaps negative, added up to their shapes. */
static enum skiff_status joined(struct grad_build *g, const char *type)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *u = coming(g, "Y" GRAD_SUFFIX);
    const char *to = result(g, D_SLOT);
    if (to && (v || given(g, "X")))
        two(g, type, or_zeros(g, v, given(g, "X")), or_zeros(g, u, given(g, "Y")), to);
    return SKIFF_OK;
}

static enum skiff_status add_second(struct grad_build *g, struct skiff_error *err)
{
    return joined(g, "elementwise_add");
}

static enum skiff_status sub_second(struct grad_build *g, struct skiff_error *err)
{
    return joined(g, "elementwise_sub");
}

/* ---- products ---- */

static enum skiff_status product_second(struct grad_build *g, struct skiff_error *err)
{
    size_t n = strlen(g->fwd->type) - strlen("_grad");
    const char *type = arena_strndup(&g->program->arena, g->fwd->type, n);
    const char *x = given(g, "X"), *y = given(g, "Y"), *d = result(g, D_SLOT);
    const char *v = coming(g, "X" GRAD_SUFFIX), *u = coming(g, "Y" GRAD_SUFFIX);
    const char *left = d && v ? two(g, type, v, y, u ? NULL : d) : NULL;
    const char *right = d && u ? two(g, type, x, u, v ? NULL : d) : NULL;
    if (left && right)
        two(g, "elementwise_add", left, right, d);
    const char *gx = u ? result(g, "X") : NULL, *gy = v ? result(g, "Y") : NULL;
    if (!gx && !gy)
        return SKIFF_OK;
    v = or_zeros(g, v, x);
    u = or_zeros(g, u, y);
    struct skiff_op *op = grad_op(g, g->fwd->type, true);
    put_in(g, op, "X", v);
    put_in(g, op, "Y", u);
    put_in(g, op, D_SLOT, given(g, D_SLOT));
    if (gx)
        put_out(g, op, "X" GRAD_SUFFIX, gx);
    if (gy)
        put_out(g, op, "Y" GRAD_SUFFIX, gy);
    return SKIFF_OK;
}

/* Adds `whole` up to the shape of an operand. */
static void add_up_to(struct grad_build *g, const char *slot, const char *whole, const char *to)
{
    struct skiff_op *op = grad_op(g, "elementwise_add_grad", true);
    bool left = !strcmp(slot, "X");
    put_in(g, op, "X", left ? given(g, "X") : whole);
    put_in(g, op, "Y", left ? whole : given(g, "Y"));
    put_in(g, op, D_SLOT, whole);
    put_out(g, op, left ? "X" GRAD_SUFFIX : "Y" GRAD_SUFFIX, to);
}

static enum skiff_status div_second(struct grad_build *g, struct skiff_error *err)
{
    const char *x = given(g, "X"), *y = given(g, "Y"), *d = given(g, D_SLOT);
    const char *v = coming(g, "X" GRAD_SUFFIX), *u = coming(g, "Y" GRAD_SUFFIX);
    const char *gd = result(g, D_SLOT), *gx = result(g, "X"), *gy = result(g, "Y");
    v = or_zeros(g, v, x);
    u = or_zeros(g, u, y);
    const char *out = two(g, "elementwise_div", x, y, NULL);
    const char *part = mul(g, out, u, NULL); /* U Out */
    if (gd)
        two(g, "elementwise_div", two(g, "elementwise_sub", part, v, NULL),
            scaled(g, y, -1, 0, NULL), gd);
    const char *by = two(g, "elementwise_div", d, one(g, "square", y, NULL), NULL); /* D / Y^2 */
    if (gx)
        add_up_to(g, "X", mul(g, scaled(g, by, -1, 0, NULL), u, NULL), gx);
    if (gy)
        add_up_to(g, "Y",
                  mul(g, by, two(g, "elementwise_sub", scaled(g, part, 2, 0, NULL), v, NULL), NULL),
                  gy);
    return SKIFF_OK;
}

const struct op_second op_seconds[] = {
    {"relu_grad", straight},
    {"leaky_relu_grad", straight},
    {"abs_grad", straight},
    {"clip_grad", straight},
    {"square_grad", square_second},
    {"log_grad", log_second},
    {"sqrt_grad", sqrt_second},
    {"tanh_grad", tanh_second},
    {"sigmoid_grad", sigmoid_second},
    {"sin_grad", sin_second},
    {"cos_grad", cos_second},
    {"silu_grad", silu_second},
    {"pow_grad", pow_second},
    {"reduce_sum_grad", forward},
    {"reduce_mean_grad", forward},
    {"mean_grad", forward},
    {"reshape2_grad", forward},
    {"squeeze2_grad", forward},
    {"unsqueeze2_grad", forward},
    {"flatten2_grad", forward},
    {"flatten_contiguous_range_grad", forward},
    {"transpose2_grad", forward},
    {"slice_grad", forward},
    {"strided_slice_grad", forward},
    {"expand_v2_grad", forward},
    {"tile_grad", forward},
    {"concat_grad", concat_second},
    {"elementwise_add_grad", add_second},
    {"elementwise_sub_grad", sub_second},
    {"elementwise_mul_grad", product_second},
    {"elementwise_div_grad", div_second},
    {"matmul_v2_grad", product_second},
    {"matmul_grad", product_second},
    {"mul_grad", product_second},
    {"bmm_grad", product_second},
    {0},
};
