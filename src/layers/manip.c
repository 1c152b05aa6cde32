/* Layers that move or pick elements.
 *
 * Dimensions that are known when the network is built are checked here, so that the message names
 * the layer and its argument; the op checks them again when it runs. reshape, squeeze, unsqueeze,
 * flatten and transpose use the second version of their ops, with the auxiliary output XShape. */
#include <stdlib.h>

#include "base/mem.h"
#include "layers/helper.h"

struct skiff_var *skiff_layer_concat(struct skiff_net *net, struct skiff_vars input, int axis,
                                     const char *name)
{
    if (!net_has_all(net, "concat", "input", input.n, input.v))
        return NULL;
    int rank = input.v[0]->shape.ndim;
    if (axis < -rank || axis >= rank)
        return net_fail(net, SKIFF_SHAPE, "layer concat: axis %d of inputs with %d dimensions (%s)",
                        axis, rank, input.v[0]->name);
    struct layer l = layer_begin(net, "concat", name);
    struct skiff_var *out = layer_tmp(&l, input.v[0]->dtype);
    layer_op(net, "concat", P_INS("X", input.n, input.v), P_OUT("Out", out), P_INT("axis", axis));
    return net_failed(net) ? NULL : out;
}

/* One input and an output, with the auxiliary output XShape, which holds the input's shape. */
static struct skiff_var *with_xshape(struct skiff_net *net, const char *type, const char *helper,
                                     const char *name, struct skiff_var *x, struct part attr)
{
    if (!net_has(net, helper, "x", x))
        return NULL;
    struct layer l = layer_begin(net, helper, name);
    struct skiff_var *out = layer_tmp(&l, x->dtype), *xshape = layer_tmp(&l, x->dtype);
    layer_op(net, type, P_IN("X", x), P_OUT("Out", out), P_OUT("XShape", xshape), attr);
    return net_failed(net) ? NULL : out;
}

static bool reshape_dims_ok(struct skiff_net *net, const struct skiff_var *x,
                            const struct skiff_dims *shape)
{
    int unknown = -1;
    for (int i = 0; i < shape->n; i++) {
        int64_t d = shape->d[i];
        if (d == -1 && unknown >= 0)
            net_fail(net, SKIFF_SHAPE,
                     "layer reshape: dimensions %d and %d are both -1; one may be", unknown, i);
        else if (d == 0 && i >= x->shape.ndim)
            net_fail(net, SKIFF_SHAPE,
                     "layer reshape: dimension %d is 0 (as in the input), but %s has only %d", i,
                     x->name, x->shape.ndim);
        else if (d < -1)
            net_fail(net, SKIFF_SHAPE, "layer reshape: dimension %d is %lld", i, (long long)d);
        if (d == -1)
            unknown = i;
    }
    if (shape->n == 0)
        net_fail(net, SKIFF_SHAPE, "layer reshape: the shape is empty");
    return !net_failed(net);
}

struct skiff_var *skiff_layer_reshape(struct skiff_net *net, struct skiff_var *x,
                                      struct skiff_dims shape,
                                      const struct skiff_reshape_options *o)
{
    static const struct skiff_reshape_options none;
    o = o ? o : &none;
    if (!net_has(net, "reshape", "x", x) || !reshape_dims_ok(net, x, &shape))
        return NULL;
    struct layer l = layer_begin(net, "reshape2", o->name);
    if (o->actual_shape)
        o->actual_shape->stop_gradient = true;
    struct skiff_var *out = o->inplace ? x : layer_tmp(&l, x->dtype);
    struct skiff_var *xshape = layer_tmp(&l, x->dtype);
    layer_op(net, "reshape2", P_IN("X", x), P_IN("Shape", o->actual_shape), P_OUT("Out", out),
             P_OUT("XShape", xshape), P_LONGS("shape", shape.n, shape.d));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

struct skiff_var *skiff_layer_flatten(struct skiff_net *net, struct skiff_var *x, int axis,
                                      const char *name)
{
    if (!net_has(net, "flatten", "x", x))
        return NULL;
    if (axis < 0 || axis > x->shape.ndim)
        return net_fail(net, SKIFF_SHAPE, "layer flatten: axis %d of %s with %d dimensions", axis,
                        x->name, x->shape.ndim);
    return with_xshape(net, "flatten2", "flatten", name, x, (struct part)P_INT("axis", axis));
}

struct skiff_var *skiff_layer_squeeze(struct skiff_net *net, struct skiff_var *x,
                                      struct skiff_dims axes, const char *name)
{
    return with_xshape(net, "squeeze2", "squeeze", name, x,
                       (struct part)P_LONGS("axes", axes.n, axes.d));
}

struct skiff_var *skiff_layer_unsqueeze(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_dims axes, const char *name)
{
    return with_xshape(net, "unsqueeze2", "unsqueeze2", name, x,
                       (struct part)P_LONGS("axes", axes.n, axes.d));
}

struct skiff_var *skiff_layer_transpose(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_dims perm, const char *name)
{
    if (!net_has(net, "transpose", "x", x))
        return NULL;
    if (perm.n != x->shape.ndim)
        return net_fail(net, SKIFF_SHAPE,
                        "layer transpose: perm has %d entries, %s has %d dimensions", perm.n,
                        x->name, x->shape.ndim);
    return with_xshape(net, "transpose2", "transpose", name, x,
                       (struct part)P_LONGS("axis", perm.n, perm.d));
}

struct skiff_var *skiff_layer_expand(struct skiff_net *net, struct skiff_var *x,
                                     struct skiff_dims times, const char *name)
{
    return layer_unary(net, "expand", name, x, PARTS(P_LONGS("expand_times", times.n, times.d)));
}

struct skiff_var *skiff_layer_slice(struct skiff_net *net, struct skiff_var *x,
                                    struct skiff_dims axes, struct skiff_dims starts,
                                    struct skiff_dims ends)
{
    if (!net_has(net, "slice", "x", x))
        return NULL;
    if (axes.n != starts.n || axes.n != ends.n)
        return net_fail(net, SKIFF_INVALID, "layer slice: %d axes, %d starts, %d ends", axes.n,
                        starts.n, ends.n);
    int64_t flags[SKIFF_MAX_DIMS];
    for (int i = 0; i < axes.n; i++)
        flags[i] = 1;
    struct layer l = layer_begin(net, "slice", NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "slice", P_IN("Input", x), P_OUT("Out", out), P_LONGS("axes", axes.n, axes.d),
             P_LONGS("starts", starts.n, starts.d), P_LONGS("ends", ends.n, ends.d),
             P_LONGS("infer_flags", axes.n, flags));
    return net_failed(net) ? NULL : out;
}

bool skiff_layer_split(struct skiff_net *net, struct skiff_var *x, int num,
                       struct skiff_dims sections, int dim, struct skiff_var **outs)
{
    int n = num > 0 ? num : sections.n;
    for (int i = 0; i < n; i++)
        outs[i] = NULL;
    if (!net_has(net, "split", "x", x))
        return false;
    int rank = x->shape.ndim;
    if (dim < -rank || dim >= rank || n < 1) {
        net_fail(net, SKIFF_SHAPE,
                 "layer split: into %d parts along dim %d of %s with %d dimensions", n, dim,
                 x->name, rank);
        return false;
    }
    dim = dim < 0 ? dim + rank : dim;
    if (num > 0 && x->shape.dims[dim] > 0 && x->shape.dims[dim] % num) {
        net_fail(net, SKIFF_SHAPE, "layer split: dim %d of %s is %lld, not a multiple of %d", dim,
                 x->name, (long long)x->shape.dims[dim], num);
        return false;
    }
    struct layer l = layer_begin(net, "split", NULL);
    for (int i = 0; i < n; i++)
        outs[i] = layer_tmp(&l, x->dtype);
    struct part parts[6] = {P_IN("X", x), P_OUTS("Out", n, outs), P_INT("num", num > 0 ? num : 0),
                            P_INT("axis", dim)};
    if (num <= 0)
        parts[4] = (struct part)P_LONGS("sections", sections.n, sections.d);
    return net_put_op(net, net->frame->block, -1, "split", parts) != NULL;
}

struct skiff_var *skiff_layer_stack(struct skiff_net *net, struct skiff_vars x, int axis)
{
    if (!net_has_all(net, "stack", "x", x.n, x.v))
        return NULL;
    struct layer l = layer_begin(net, "stack", NULL);
    struct skiff_var *out = layer_tmp(&l, x.v[0]->dtype);
    layer_op(net, "stack", P_INS("X", x.n, x.v), P_OUT("Y", out), P_INT("axis", axis));
    return net_failed(net) ? NULL : out;
}

bool skiff_layer_unstack(struct skiff_net *net, struct skiff_var *x, int axis, int num,
                         struct skiff_var **outs)
{
    if (!net_has(net, "unstack", "x", x))
        return false;
    int at = axis < 0 ? axis + x->shape.ndim : axis;
    if (at < 0 || at >= x->shape.ndim || (num <= 0 && x->shape.dims[at] <= 0)) {
        net_fail(net, SKIFF_SHAPE,
                 "layer unstack: the number of parts along axis %d of %s is unknown", axis,
                 x->name);
        return false;
    }
    if (num <= 0)
        num = (int)x->shape.dims[at];
    struct layer l = layer_begin(net, "unstack", NULL);
    for (int i = 0; i < num; i++)
        outs[i] = layer_tmp(&l, x->dtype);
    return layer_op(net, "unstack", P_IN("X", x), P_OUTS("Y", num, outs), P_INT("axis", axis),
                    P_INT("num", num)) != NULL;
}

struct skiff_var *skiff_layer_shape(struct skiff_net *net, struct skiff_var *x)
{
    if (!net_has(net, "shape", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "shape", NULL);
    struct skiff_var *out = layer_tmp(&l, DTYPE_INT32);
    layer_op(net, "shape", P_IN("Input", x), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_gather(struct skiff_net *net, struct skiff_var *x,
                                     struct skiff_var *index, bool add_duplicates)
{
    if (!net_has(net, "gather", "x", x) || !net_has(net, "gather", "index", index))
        return NULL;
    struct layer l = layer_begin(net, "gather", NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "gather", P_IN("X", x), P_IN("Index", index), P_OUT("Out", out),
             P_BOOL("overwrite", !add_duplicates));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_gather_nd(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_var *index, const char *name)
{
    if (!net_has(net, "gather_nd", "x", x) || !net_has(net, "gather_nd", "index", index))
        return NULL;
    struct layer l = layer_begin(net, "gather_nd", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "gather_nd", P_IN("X", x), P_IN("Index", index), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_scatter(struct skiff_net *net, struct skiff_var *x,
                                      struct skiff_var *index, struct skiff_var *updates, bool add,
                                      const char *name)
{
    if (!net_has(net, "scatter", "x", x) || !net_has(net, "scatter", "index", index) ||
        !net_has(net, "scatter", "updates", updates))
        return NULL;
    struct layer l = layer_begin(net, "scatter", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "scatter", P_IN("X", x), P_IN("Ids", index), P_IN("Updates", updates),
             P_OUT("Out", out), P_BOOL("overwrite", !add));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_where(struct skiff_net *net, struct skiff_var *condition,
                                    struct skiff_var *x, struct skiff_var *y, const char *name)
{
    if (!net_has(net, "where", "condition", condition) || !net_has(net, "where", "x", x) ||
        !net_has(net, "where", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "where", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "where", P_IN("Condition", condition), P_IN("X", x), P_IN("Y", y),
             P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

static struct skiff_var *one_hot(struct skiff_net *net, const char *type, struct skiff_var *x,
                                 int depth, bool allow_out_of_range, bool stop)
{
    if (!net_has(net, type, "x", x))
        return NULL;
    struct layer l = layer_begin(net, type, NULL);
    struct skiff_var *out = layer_tmp(&l, DTYPE_FP32);
    layer_op(net, type, P_IN("X", x), P_OUT("Out", out), P_INT("depth", depth),
             P_BOOL("allow_out_of_range", allow_out_of_range));
    if (net_failed(net))
        return NULL;
    out->stop_gradient = stop;
    return out;
}

struct skiff_var *skiff_layer_one_hot(struct skiff_net *net, struct skiff_var *x, int depth,
                                      bool allow_out_of_range)
{
    return one_hot(net, "one_hot", x, depth, allow_out_of_range, true);
}

struct skiff_var *skiff_layer_one_hot_v2(struct skiff_net *net, struct skiff_var *x, int depth,
                                         bool allow_out_of_range)
{
    return one_hot(net, "one_hot_v2", x, depth, allow_out_of_range, false);
}

struct skiff_var *skiff_layer_argmax(struct skiff_net *net, struct skiff_var *x, int axis)
{
    if (!net_has(net, "argmax", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "arg_max", NULL);
    struct skiff_var *out = layer_tmp_no_grad(&l, DTYPE_INT64);
    layer_op(net, "arg_max", P_IN("X", x), P_OUT("Out", out), P_INT("axis", axis));
    return net_failed(net) ? NULL : out;
}

struct skiff_topk skiff_layer_topk(struct skiff_net *net, struct skiff_var *x, int k,
                                   const char *name)
{
    struct skiff_topk r = {0};
    if (!net_has(net, "topk", "x", x))
        return r;
    struct layer l = layer_begin(net, "top_k", name);
    struct skiff_var *values = layer_tmp_no_grad(&l, x->dtype);
    struct skiff_var *indices = layer_tmp_no_grad(&l, DTYPE_INT64);
    if (layer_op(net, "top_k", P_IN("X", x), P_OUT("Out", values), P_OUT("Indices", indices),
                 P_INT("k", k)))
        r = (struct skiff_topk){values, indices};
    return r;
}

struct skiff_var *skiff_layer_get_tensor_from_selected_rows(struct skiff_net *net,
                                                            struct skiff_var *x, const char *name)
{
    if (x && x->kind != VAR_SELECTED_ROWS)
        return net_fail(net, SKIFF_INVALID,
                        "layer get_tensor_from_selected_rows: %s is not SelectedRows", x->name);
    return layer_unary(net, "get_tensor_from_selected_rows", name, x, NULL);
}

struct skiff_var *skiff_layer_merge_selected_rows(struct skiff_net *net, struct skiff_var *x,
                                                  const char *name)
{
    return layer_unary(net, "merge_selected_rows", name, x, NULL);
}
