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
 *   softmax          gD = the same gradient op;  gOut = V (D - <D, Out>) - D <V, Out>
 *
 * What stands in no row has no second order: asking for it is an error. */
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

/* Gradient of a variable that the gradient op writes; NULL: there is none. */
static const char *coming_of(struct grad_build *g, const char *written)
{
    if (!strcmp(written, EMPTY_VAR))
        return NULL;
    const char *name = grad_name(g, written);
    return g->absent && g->absent(g, name) ? NULL : name;
}

/* The same for an output of one variable. */
static const char *coming(struct grad_build *g, const char *slot)
{
    const struct op_arg *a = op_out(g->fwd, slot);
    return a && a->n ? coming_of(g, a->names[0]) : NULL;
}

/* The target of an input's gradient; NULL: not wanted. */
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
    const char *made = "";
    for (int s = g->fwd->nouts - 1; s >= 0; s--)
        for (int k = g->fwd->outs[s].n - 1; k >= 0; k--)
            if (strcmp(g->fwd->outs[s].names[k], EMPTY_VAR))
                made = g->fwd->outs[s].names[k];
    return arena_printf(&g->program->arena, "%s" SECOND_MARK "%d", made, g->nops);
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

/* ---- steps: each returns the name of its result; out NULL: a new name ---- */

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

/* The same without attributes: operands of one shape, or that broadcast from behind. */
static const char *plain(struct grad_build *g, const char *type, const char *x, const char *y,
                         const char *out)
{
    struct skiff_op *op = grad_op(g, type, false);
    out = out ? out : temporary(g);
    put_in(g, op, "X", x);
    put_in(g, op, "Y", y);
    put_out(g, op, "Out", out);
    return out;
}

static double attr_number(const struct grad_build *g, const char *name, double fallback)
{
    const struct op_attr_value *a = op_attr(g->fwd, name);
    return !a ? fallback : a->type == ATTR_FLOAT ? (double)a->value.f : (double)a->value.i;
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

/* The gradient op again, with `d` instead of the gradient in slot `d_slot`. */
static const char *once_more(struct grad_build *g, const char *d_slot, const char *d,
                             const char *x_slot, const char *out)
{
    struct skiff_op *op = grad_op(g, g->fwd->type, true);
    out = out ? out : temporary(g);
    for (const struct op_slot *s = g->fwd->kind->ins; s->name; s++)
        if (strcmp(s->name, d_slot))
            grad_use(g, op, s->name);
    put_in(g, op, d_slot, d);
    put_out(g, op, x_slot, out);
    return out;
}

/* gD: the gradient op again, with V instead of D. */
static void again(struct grad_build *g)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *to = result(g, D_SLOT);
    if (v && to)
        once_more(g, D_SLOT, v, "X" GRAD_SUFFIX, to);
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

/* by Out, D V: dX = D Out, D (Out + 1) */
static enum skiff_status exp_second(struct grad_build *g, struct skiff_error *err)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *to = result(g, "Out");
    again(g);
    if (v && to)
        mul(g, given(g, D_SLOT), v, to);
    return SKIFF_OK;
}

/* by Out: dX = -D Out^3 / 2 */
static enum skiff_status rsqrt_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "Out", &to);
    if (dv)
        mul(g, scaled(g, dv, -1.5, 0, NULL), one(g, "square", given(g, "Out"), NULL), to);
    return SKIFF_OK;
}

/* by Out: dX = -D Out^2 */
static enum skiff_status reciprocal_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "Out", &to);
    if (dv)
        mul(g, scaled(g, dv, -2, 0, NULL), given(g, "Out"), to);
    return SKIFF_OK;
}

static enum skiff_status log1p_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (dv)
        two(g, "elementwise_div", scaled(g, dv, -1, 0, NULL),
            one(g, "square", scaled(g, given(g, "X"), 1, 1, NULL), NULL), to);
    return SKIFF_OK;
}

/* f'' = scale s (1 - s), where s = sigmoid(steep X) */
static enum skiff_status by_sigmoid(struct grad_build *g, double steep, double scale)
{
    const char *to, *dv = curved(g, "X", &to);
    if (!dv)
        return SKIFF_OK;
    const char *x = given(g, "X");
    const char *s = one(g, "sigmoid", steep == 1 ? x : scaled(g, x, steep, 0, NULL), NULL);
    mul(g, scaled(g, dv, scale, 0, NULL), mul(g, s, scaled(g, s, -1, 1, NULL), NULL), to);
    return SKIFF_OK;
}

/* log(1 + e^(beta X)) / beta; beyond the threshold s (1 - s) is next to 0 as well */
static enum skiff_status softplus_second(struct grad_build *g, struct skiff_error *err)
{
    double beta = attr_number(g, "beta", 1);
    return by_sigmoid(g, beta, beta);
}

static enum skiff_status logsigmoid_second(struct grad_build *g, struct skiff_error *err)
{
    return by_sigmoid(g, 1, -1);
}

/* f'' = alpha e^X where X < 0 */
static enum skiff_status elu_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *dv = curved(g, "X", &to);
    if (!dv)
        return SKIFF_OK;
    const char *turned = scaled(g, given(g, "X"), -1, 0, NULL);
    const char *below = one(g, "relu", one(g, "sign", turned, NULL), NULL);
    const char *power = one(g, "exp", scaled(g, one(g, "relu", turned, NULL), -1, 0, NULL), NULL);
    mul(g, scaled(g, dv, attr_number(g, "alpha", 1), 0, NULL), mul(g, below, power, NULL), to);
    return SKIFF_OK;
}

/* ---- softmax and losses ---- */

static const char *summed(struct grad_build *g, const char *x, int axis)
{
    struct skiff_op *op = grad_op(g, "reduce_sum", false);
    const char *out = temporary(g);
    put_in(g, op, "X", x);
    op_set_ints(g->program, op, "dim", 1, &axis);
    op_set_bool(g->program, op, "keep_dim", true);
    put_out(g, op, "Out", out);
    return out;
}

static enum skiff_status softmax_second(struct grad_build *g, struct skiff_error *err)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *to = result(g, "Out");
    const char *out = given(g, "Out"), *d = given(g, D_SLOT);
    int axis = (int)attr_number(g, "axis", -1);
    again(g);
    if (!v || !to)
        return SKIFF_OK;
    const char *r = summed(g, plain(g, "elementwise_mul", d, out, NULL), axis);
    const char *q = summed(g, plain(g, "elementwise_mul", v, out, NULL), axis);
    const char *left =
        plain(g, "elementwise_mul", v, plain(g, "elementwise_sub", d, r, NULL), NULL);
    plain(g, "elementwise_sub", left, plain(g, "elementwise_mul", d, q, NULL), to);
    return SKIFF_OK;
}

/* dX = D (s - Label) where Label is counted, s = sigmoid(X): gX = D V s (1 - s) there */
static enum skiff_status sigmoid_loss_second(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *normalize = op_attr(g->fwd, "normalize");
    if (given(g, "pos_weight") || (normalize && normalize->value.b))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %s: no second order with normalize or pos_weight", g->fwd->type);
    const char *to, *dv = curved(g, "X", &to);
    if (!dv)
        return SKIFF_OK;
    double ignored = attr_number(g, "ignore_index", -100);
    const char *away = scaled(g, given(g, "Label"), 1, -ignored, NULL);
    const char *counted = one(g, "square", one(g, "sign", away, NULL), NULL);
    const char *s = one(g, "sigmoid", given(g, "X"), NULL);
    const char *slope = mul(g, s, scaled(g, s, -1, 1, NULL), NULL);
    mul(g, mul(g, dv, counted, NULL), slope, to);
    return SKIFF_OK;
}

/* dP = D ((1 - L) / (1 - P + e) - L / (P + e)):
 * gP = D V (L / (P + e)^2 + (1 - L) / (1 - P + e)^2) */
static enum skiff_status log_loss_second(struct grad_build *g, struct skiff_error *err)
{
    const char *d_slot = "Loss" GRAD_SUFFIX, *x_slot = "Predicted" GRAD_SUFFIX;
    const char *v = coming(g, x_slot), *d = result(g, d_slot), *to = result(g, "Predicted");
    const char *p = given(g, "Predicted"), *l = given(g, "Labels");
    double e = attr_number(g, "epsilon", 0);
    if (v && d)
        once_more(g, d_slot, v, x_slot, d);
    if (!v || !to)
        return SKIFF_OK;
    const char *near = one(g, "square", scaled(g, p, 1, e, NULL), NULL);
    const char *far = one(g, "square", scaled(g, p, -1, 1 + e, NULL), NULL);
    const char *slope =
        plain(g, "elementwise_add", plain(g, "elementwise_div", l, near, NULL),
              plain(g, "elementwise_div", scaled(g, l, -1, 1, NULL), far, NULL), NULL);
    const char *dv = plain(g, "elementwise_mul", given(g, d_slot), v, NULL);
    plain(g, "elementwise_mul", dv, slope, to);
    return SKIFF_OK;
}

/* h = X (1 - X), dX = D (X - L) / h: gX = D V (h - (X - L) (1 - 2 X)) / h^2 */
static enum skiff_status bce_second(struct grad_build *g, struct skiff_error *err)
{
    const char *to, *x = given(g, "X"), *dv = curved(g, "X", &to);
    if (!dv)
        return SKIFF_OK;
    const char *h = mul(g, x, scaled(g, x, -1, 1, NULL), NULL);
    const char *off = two(g, "elementwise_sub", x, given(g, "Label"), NULL);
    const char *top =
        two(g, "elementwise_sub", h, mul(g, off, scaled(g, x, -2, 1, NULL), NULL), NULL);
    mul(g, dv, two(g, "elementwise_div", top, one(g, "square", h, NULL), NULL), to);
    return SKIFF_OK;
}

/* ---- moves and sums ---- */

/* gD: the forward op of V. */
static enum skiff_status forward(struct grad_build *g, struct skiff_error *err)
{
    size_t n = strlen(g->fwd->type) - strlen("_grad");
    const char *type = arena_strndup(&g->program->arena, g->fwd->type, n);
    const char *slot = op_out(g->fwd, "Input" GRAD_SUFFIX) ? "Input"
                       : op_out(g->fwd, "W" GRAD_SUFFIX)   ? "W"
                                                           : "X";
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
        names[i] = or_zeros(g, i < dx->n ? coming_of(g, dx->names[i]) : NULL, x->names[i]);
    }
    struct skiff_op *op = grad_op(g, "concat", true);
    op_set_in(g->program, op, "X", x->n, names);
    grad_use(g, op, "AxisTensor");
    put_out(g, op, "Out", to);
    return SKIFF_OK;
}

/* A table whose gradient is a tensor: gD = its rows of V. */
static enum skiff_status lookup_second(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *sparse = op_attr(g->fwd, "is_sparse");
    if (sparse && sparse->value.b)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %s: no second order with is_sparse, whose gradient holds rows only",
                         g->fwd->type);
    return forward(g, err);
}

/* dX and dY are D, perhaps negative, added up to their shapes. */
static enum skiff_status joined(struct grad_build *g, const char *type)
{
    const char *v = coming(g, "X" GRAD_SUFFIX), *u = coming(g, "Y" GRAD_SUFFIX);
    const char *to = result(g, D_SLOT);
    if (to && (v || u))
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

struct product_slots {
    const char *x, *y, *out; /* slots */
};

static const char *product_op(struct grad_build *g, const struct product_slots *p, const char *x,
                              const char *y, const char *out)
{
    size_t n = strlen(g->fwd->type) - strlen("_grad");
    struct skiff_op *op = grad_op(g, arena_strndup(&g->program->arena, g->fwd->type, n), true);
    out = out ? out : temporary(g);
    put_in(g, op, p->x, x);
    put_in(g, op, p->y, y);
    put_out(g, op, p->out, out);
    return out;
}

static enum skiff_status product_of(struct grad_build *g, const struct product_slots *p)
{
    const char *dx = grad_name(g, p->x), *dy = grad_name(g, p->y), *d_slot = grad_name(g, p->out);
    const char *x = given(g, p->x), *y = given(g, p->y), *d = result(g, d_slot);
    const char *v = coming(g, dx), *u = coming(g, dy);
    const char *left = d && v ? product_op(g, p, v, y, u ? NULL : d) : NULL;
    const char *right = d && u ? product_op(g, p, x, u, v ? NULL : d) : NULL;
    if (left && right)
        two(g, "elementwise_add", left, right, d);
    const char *gx = u ? result(g, p->x) : NULL, *gy = v ? result(g, p->y) : NULL;
    if (!gx && !gy)
        return SKIFF_OK;
    v = or_zeros(g, v, x);
    u = or_zeros(g, u, y);
    struct skiff_op *op = grad_op(g, g->fwd->type, true);
    put_in(g, op, p->x, v);
    put_in(g, op, p->y, u);
    put_in(g, op, d_slot, given(g, d_slot));
    if (gx)
        put_out(g, op, dx, gx);
    if (gy)
        put_out(g, op, dy, gy);
    return SKIFF_OK;
}

static enum skiff_status product_second(struct grad_build *g, struct skiff_error *err)
{
    return product_of(g, &(struct product_slots){"X", "Y", "Out"});
}

static enum skiff_status conv_second(struct grad_build *g, struct skiff_error *err)
{
    if (given(g, "Bias"))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %s: no second order with a Bias of its own; add it by another op",
                         g->fwd->type);
    return product_of(g, &(struct product_slots){"Input", "Filter", "Output"});
}

/* Sums `whole` down to the shape of an operand. */
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
    if (!v && !u)
        return SKIFF_OK;
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

/* X^Y for a Y that is not differentiated: gX = D V Y (Y - 1) X^(Y - 2) */
static enum skiff_status power_second(struct grad_build *g, struct skiff_error *err)
{
    const char *x = given(g, "X"), *y = given(g, "Y"), *v = coming(g, "X" GRAD_SUFFIX);
    if (coming(g, "Y" GRAD_SUFFIX) || result(g, "Y"))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op elementwise_pow_grad: no second order by the exponent %s; set its "
                         "stop_gradient, or write exp(y * log(x))",
                         y);
    again(g);
    const char *to = result(g, "X");
    if (!v || !to)
        return SKIFF_OK;
    const char *power = two(g, "elementwise_pow", x, scaled(g, y, 1, -2, NULL), NULL);
    const char *factor = mul(g, y, scaled(g, y, 1, -1, NULL), NULL);
    const char *dv = mul(g, given(g, D_SLOT), v, NULL);
    add_up_to(g, "X", mul(g, mul(g, dv, power, NULL), factor, NULL), to);
    return SKIFF_OK;
}

/* Zero everywhere, so all further derivatives are zero. */
static enum skiff_status nothing(struct grad_build *g, struct skiff_error *err)
{
    return SKIFF_OK;
}

const struct op_second op_seconds[] = {
    {"relu_grad", straight},
    {"leaky_relu_grad", straight},
    {"abs_grad", straight},
    {"clip_grad", straight},
    {"dropout_grad", straight},
    {"relu6_grad", straight},
    {"hard_sigmoid_grad", straight},
    {"floor_grad", nothing},
    {"ceil_grad", nothing},
    {"round_grad", nothing},
    {"trunc_grad", nothing},
    {"exp_grad", exp_second},
    {"expm1_grad", exp_second},
    {"rsqrt_grad", rsqrt_second},
    {"reciprocal_grad", reciprocal_second},
    {"log1p_grad", log1p_second},
    {"softplus_grad", softplus_second},
    {"logsigmoid_grad", logsigmoid_second},
    {"elu_grad", elu_second},
    {"softmax_grad", softmax_second},
    {"sigmoid_cross_entropy_with_logits_grad", sigmoid_loss_second},
    {"log_loss_grad", log_loss_second},
    {"bce_loss_grad", bce_second},
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
    {"expand_grad", forward},
    {"gather_grad", forward},
    {"gather_nd_grad", forward},
    {"pad_grad", forward},
    {"lookup_table_grad", lookup_second},
    {"lookup_table_v2_grad", lookup_second},
    {"concat_grad", concat_second},
    {"elementwise_add_grad", add_second},
    {"elementwise_sub_grad", sub_second},
    {"elementwise_mul_grad", product_second},
    {"elementwise_div_grad", div_second},
    {"matmul_v2_grad", product_second},
    {"matmul_grad", product_second},
    {"mul_grad", product_second},
    {"bmm_grad", product_second},
    {"conv2d_grad", conv_second},
    {"elementwise_pow_grad", power_second},
    {0},
};
