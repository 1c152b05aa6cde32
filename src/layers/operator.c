/* Operators on variables: what a + b, a * 2.0 or 1.0 - a give in Python. Results are named tmp_N.
 *   variable op variable   the elementwise op; axis 0 when the right side begins with -1
 *   + - * / with a number  one `scale` op
 *   any other number       first becomes a tensor: [1] on the right side, the variable's shape on
 *                          the left side */
#include "layers/helper.h"

static const struct {
    const char *type;
    bool compares;
} operators[] = {
    [SKIFF_ADD] = {"elementwise_add", false}, [SKIFF_SUB] = {"elementwise_sub", false},
    [SKIFF_MUL] = {"elementwise_mul", false}, [SKIFF_DIV] = {"elementwise_div", false},
    [SKIFF_POW] = {"elementwise_pow", false}, [SKIFF_FLOORDIV] = {"elementwise_floordiv", false},
    [SKIFF_MOD] = {"elementwise_mod", false}, [SKIFF_EQ] = {"equal", true},
    [SKIFF_NE] = {"not_equal", true},         [SKIFF_LT] = {"less_than", true},
    [SKIFF_LE] = {"less_equal", true},        [SKIFF_GT] = {"greater_than", true},
    [SKIFF_GE] = {"greater_equal", true},
};

static struct skiff_var *new_tmp(struct skiff_net *net, enum dtype dtype)
{
    return net_failed(net)
               ? NULL
               : block_new_var(net, net->frame->block, names_next(net->names, "tmp"), dtype);
}

static bool is_int(enum dtype t)
{
    return t == DTYPE_INT32 || t == DTYPE_INT64 || t == DTYPE_INT16 || t == DTYPE_INT8 ||
           t == DTYPE_UINT8;
}

static struct skiff_var *scale_by(struct skiff_net *net, struct skiff_var *x, double scale,
                                  double bias)
{
    struct skiff_var *out = new_tmp(net, x->dtype);
    layer_op(net, "scale", P_IN("X", x), P_OUT("Out", out), P_FLOAT("scale", scale),
             P_FLOAT("bias", bias));
    return net_failed(net) ? NULL : out;
}

static struct skiff_var *constant(struct skiff_net *net, enum dtype dtype, double value, int ndim,
                                  const int64_t *dims)
{
    struct skiff_var *v = new_tmp(net, dtype);
    layer_op(net, "fill_constant", P_NO_INS, P_OUT("Out", v), P_INT("dtype", dtype),
             P_LONGS("shape", ndim, dims), P_FLOAT("value", value), P_BOOL("force_cpu", false));
    if (net_failed(net))
        return NULL;
    v->stop_gradient = true;
    return v;
}

/* A tensor of the variable's shape; dims that are not known take the batch size of the variable. */
static struct skiff_var *constant_like(struct skiff_net *net, struct skiff_var *ref, double value)
{
    int64_t dims[TENSOR_MAX_DIMS];
    int batch = -1;
    for (int i = 0; i < ref->shape.ndim; i++) {
        dims[i] = ref->shape.dims[i];
        if (dims[i] < 0 && batch < 0)
            batch = i;
        else if (dims[i] < 0)
            dims[i] = 1;
    }
    if (batch < 0)
        return constant(net, ref->dtype, value, ref->shape.ndim, dims);
    struct skiff_var *v = new_tmp(net, ref->dtype);
    layer_op(net, "fill_constant_batch_size_like", P_IN("Input", ref), P_OUT("Out", v),
             P_LONGS("shape", ref->shape.ndim, dims), P_FLOAT("value", value),
             P_INT("input_dim_idx", batch), P_INT("output_dim_idx", batch));
    if (net_failed(net))
        return NULL;
    v->stop_gradient = true;
    return v;
}

static struct skiff_var *cast_to(struct skiff_net *net, struct skiff_var *x, enum dtype dtype)
{
    struct skiff_var *out = new_tmp(net, dtype);
    layer_op(net, "cast", P_IN("X", x), P_OUT("Out", out), P_INT("in_dtype", x->dtype),
             P_INT("out_dtype", dtype));
    return net_failed(net) ? NULL : out;
}

/* `dtype` is that of the left side as Python sees it; the result has it too. */
static struct skiff_var *apply(struct skiff_net *net, enum skiff_operator op, struct skiff_var *a,
                               struct skiff_var *b, enum dtype dtype)
{
    if (!a || !b)
        return NULL;
    struct skiff_var *out = new_tmp(net, operators[op].compares ? DTYPE_BOOL : dtype);
    layer_op(net, operators[op].type, P_IN("X", a), P_IN("Y", b), P_OUT("Out", out),
             P_INT("axis", b->shape.ndim && b->shape.dims[0] == -1 ? 0 : -1));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_var_op(struct skiff_net *net, enum skiff_operator op, struct skiff_var *a,
                               struct skiff_var *b)
{
    if (!net_has(net, operators[op].type, "a", a) || !net_has(net, operators[op].type, "b", b))
        return NULL;
    if (a->dtype != b->dtype)
        b = cast_to(net, b, a->dtype);
    return apply(net, op, a, b, a->dtype);
}

/* Does Python write a scale op for this operator and this type of variable? */
static bool scales(struct skiff_net *net, enum skiff_operator op, const struct skiff_var *v,
                   double value)
{
    if (op != SKIFF_ADD && op != SKIFF_SUB && op != SKIFF_MUL && op != SKIFF_DIV)
        return false;
    if (is_int(v->dtype) && op == SKIFF_DIV)
        return false;
    if (is_int(v->dtype) && value != (double)(int64_t)value)
        net_fail(net, SKIFF_DTYPE, "operator on %s: the number %g is not an integer", v->name,
                 value);
    return true;
}

struct skiff_var *skiff_var_op_scalar(struct skiff_net *net, enum skiff_operator op,
                                      struct skiff_var *a, double b)
{
    if (!net_has(net, operators[op].type, "a", a))
        return NULL;
    if (scales(net, op, a, b)) {
        switch (op) {
        case SKIFF_ADD:
            return scale_by(net, a, 1.0, b);
        case SKIFF_SUB:
            return scale_by(net, a, 1.0, -b);
        case SKIFF_MUL:
            return scale_by(net, a, b, 0.0);
        default:
            return scale_by(net, a, 1.0 / b, 0.0);
        }
    }
    return apply(net, op, a, constant(net, a->dtype, b, 1, (int64_t[]){1}), a->dtype);
}

struct skiff_var *skiff_scalar_op_var(struct skiff_net *net, enum skiff_operator op, double a,
                                      struct skiff_var *b)
{
    /* 3 < x is x > 3 in Python: comparisons have no reversed form */
    static const enum skiff_operator mirror[] = {
        [SKIFF_EQ] = SKIFF_EQ, [SKIFF_NE] = SKIFF_NE, [SKIFF_LT] = SKIFF_GT,
        [SKIFF_LE] = SKIFF_GE, [SKIFF_GT] = SKIFF_LT, [SKIFF_GE] = SKIFF_LE};
    if (!net_has(net, operators[op].type, "b", b))
        return NULL;
    if (operators[op].compares)
        return skiff_var_op_scalar(net, mirror[op], b, a);
    if (op == SKIFF_FLOORDIV || op == SKIFF_MOD)
        return net_fail(net, SKIFF_UNSUPPORTED,
                        "operator %s: Fluid has no form with a number on the left",
                        operators[op].type);
    if (op != SKIFF_DIV && scales(net, op, b, a)) {
        if (op == SKIFF_ADD)
            return scale_by(net, b, 1.0, a);
        return op == SKIFF_SUB ? scale_by(net, b, -1.0, a) : scale_by(net, b, a, 0.0);
    }
    return apply(net, op, constant_like(net, b, a), b, b->dtype);
}

struct skiff_var *skiff_var_neg(struct skiff_net *net, struct skiff_var *a)
{
    return net_has(net, "neg", "a", a) ? scale_by(net, a, -1.0, 0.0) : NULL;
}

struct skiff_var *skiff_var_astype(struct skiff_net *net, struct skiff_var *a, const char *dtype)
{
    if (!net_has(net, "astype", "a", a))
        return NULL;
    return cast_to(net, a, net_dtype(net, "astype", dtype, a->dtype));
}
