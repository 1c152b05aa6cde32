/* Ops that change the dims of a tensor and keep its elements: reshape2, squeeze2, unsqueeze2,
 * flatten2, flatten_contiguous_range; and transpose2, which moves them.
 *
 * reshape2: -1 is computed from the rest (once), 0 copies the dim of X at the same place; the dims
 * come from the list ShapeTensor, else the tensor Shape, else the attribute. XShape records the
 * dims of X as [0] + dims for the gradient ops, which copy Out@GRAD back into them. The lod stays
 * while dim 0 stays. squeeze2: a named axis whose dim is not 1 stays. */
#include "ops/ops_common.h"

#include <string.h>

enum { X };
enum { OUT, XSHAPE };
enum { G_XSHAPE, G_DOUT };

static void copy_elements(const struct tensor *from, struct tensor *to)
{
    if (to && to->data != from->data)
        bytes_copy(to->data, from->data, tensor_bytes(from));
}

static enum skiff_status reshape_run(struct kernel *k, struct skiff_error *err)
{
    copy_elements(kernel_in(k, X), kernel_out(k, OUT));
    return SKIFF_OK;
}

static enum skiff_status reshape_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, G_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    if (dx && tensor_numel(dx) != tensor_numel(d))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) has %lld elements, X had %lld",
                           kernel_in_name(k, G_DOUT, 0), (long long)tensor_numel(d),
                           (long long)tensor_numel(dx));
    copy_elements(d, dx);
    return SKIFF_OK;
}

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_from_xshape(c, G_XSHAPE, G_DOUT, 0, err);
}

/* XShape first: Out may be X itself. */
static enum skiff_status give_shape(struct infer *c, const struct shape *out,
                                    struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    enum dtype t = infer_in_dtype(c, X, 0);
    bool keeps = x->ndim > 0 && out->ndim > 0 && x->dims[0] == out->dims[0];
    TRY(infer_xshape(c, X, XSHAPE, err));
    TRY(infer_out(c, OUT, 0, t, out, err));
    if (keeps)
        infer_share_lod(c, X, 0, OUT, 0);
    return SKIFF_OK;
}

/* ---- reshape2 ---- */
enum { SHAPE_IN = 1, SHAPE_LIST };

/* Wanted dims; *verbatim: they are to be taken as they are (building, from variables). */
static enum skiff_status wanted_dims(struct infer *c, struct shape *s, bool *verbatim,
                                     struct skiff_error *err)
{
    const struct attr_value *a = &c->attr[0];
    const struct shape *t = infer_in(c, SHAPE_IN, 0);
    int list = infer_in_count(c, SHAPE_LIST);
    *verbatim = !c->running && (list > 0 || (t && a->n == 0));
    s->ndim = list > 0 ? infer_read_int_list(c, SHAPE_LIST, s->dims, TENSOR_MAX_DIMS)
              : t      ? infer_read_ints(c, SHAPE_IN, s->dims, TENSOR_MAX_DIMS)
                       : 0;
    if (s->ndim > 0)
        return SKIFF_OK;
    int n = !c->running && t && a->n == 0 ? (int)t->dims[0] : a->n;
    if (s->ndim < 0 || n < 0 || n > TENSOR_MAX_DIMS)
        return infer_fail(c, X, 0, err, "the shape must be at most %d integers", TENSOR_MAX_DIMS);
    for (s->ndim = 0; s->ndim < n; s->ndim++)
        s->dims[s->ndim] = s->ndim < a->n ? a->ints[s->ndim] : -1;
    return SKIFF_OK;
}

static enum skiff_status reshape_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    struct shape out;
    bool verbatim;
    char text[160];
    int unknown = -1;
    int64_t rest = 1, total = shape_numel(x);
    TRY(wanted_dims(c, &out, &verbatim, err));
    if (verbatim)
        return give_shape(c, &out, err);
    for (int i = 0; i < out.ndim; i++) {
        if (out.dims[i] == 0 && i >= x->ndim)
            return infer_fail(c, X, 0, err, "shape %s: dim %d cannot be copied",
                              shape_text(&out, text), i);
        if (out.dims[i] == 0)
            out.dims[i] = x->dims[i];
        else if (out.dims[i] == -1 && unknown >= 0)
            return infer_fail(c, X, 0, err, "shape %s: only one dim may be -1",
                              shape_text(&out, text));
        else if (out.dims[i] == -1)
            unknown = i;
        if (out.dims[i] < -1)
            return infer_fail(c, X, 0, err, "shape %s is not valid", shape_text(&out, text));
        if (i != unknown && (rest < 0 || out.dims[i] < 0))
            rest = -1;
        else if (i != unknown && __builtin_mul_overflow(rest, out.dims[i], &rest))
            return infer_fail(c, X, 0, err, "shape %s is too large", shape_text(&out, text));
    }
    if (unknown >= 0 && total >= 0 && rest > 0 && total % rest == 0)
        out.dims[unknown] = total / rest;
    else if (total >= 0 && rest >= 0 && (unknown >= 0 ? rest > 0 || total != 0 : total != rest))
        return infer_fail(c, X, 0, err, "cannot take the shape %s", shape_text(&out, text));
    else if (unknown >= 0 && c->running)
        out.dims[unknown] = 0;
    return give_shape(c, &out, err);
}

/* ---- squeeze2, unsqueeze2, flatten ---- */

static enum skiff_status squeeze_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    const struct attr_value *axes = &c->attr[0];
    unsigned drop = 0;
    for (int i = 0; i < x->ndim && axes->n == 0; i++)
        drop |= (unsigned)(x->dims[i] == 1) << i;
    for (int i = 0; i < axes->n; i++) {
        int a;
        TRY(infer_axis(c, X, "axes", axes->ints[i], x->ndim, &a, err));
        if (x->dims[a] == 1 || x->dims[a] == -1)
            drop |= 1u << a;
    }
    struct shape out = {0};
    for (int i = 0; i < x->ndim; i++)
        if (!(drop >> i & 1))
            out.dims[out.ndim++] = x->dims[i];
    return give_shape(c, &out, err);
}

enum { AXES_TENSOR = 1, AXES_LIST };

static enum skiff_status unsqueeze_infer(struct infer *c, struct skiff_error *err)
{
    struct shape out = *infer_in(c, X, 0);
    int64_t axes[TENSOR_MAX_DIMS];
    int n = infer_read_ints(c, AXES_TENSOR, axes, TENSOR_MAX_DIMS);
    if (n == 0)
        n = infer_read_int_list(c, AXES_LIST, axes, TENSOR_MAX_DIMS);
    if (n == 0 && c->attr[0].n <= TENSOR_MAX_DIMS)
        for (; n < c->attr[0].n; n++)
            axes[n] = c->attr[0].ints[n];
    if (n < 0 || out.ndim + n > TENSOR_MAX_DIMS)
        return infer_fail(c, X, 0, err, "too many dims");
    for (int i = 0; i < n; i++) {
        int a;
        TRY(infer_axis(c, X, "axes", axes[i], out.ndim + 1, &a, err));
        for (int d = out.ndim++; d > a; d--)
            out.dims[d] = out.dims[d - 1];
        out.dims[a] = 1;
    }
    return give_shape(c, &out, err);
}

static enum skiff_status flatten2_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    int axis = c->attr[0].i;
    if (axis < 0 || axis > x->ndim)
        return infer_fail(c, X, 0, err, "attribute axis is %d, must lie in [0, %d]", axis, x->ndim);
    struct shape out = SHAPE(dims_product(x, 0, axis), dims_product(x, axis, x->ndim));
    return give_shape(c, &out, err);
}

static enum skiff_status flatten_range_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    struct shape out = {0};
    int from, to;
    if (x->ndim == 0) {
        out = SHAPE(1);
        return give_shape(c, &out, err);
    }
    TRY(infer_axis(c, X, "start_axis", c->attr[0].i, x->ndim, &from, err));
    TRY(infer_axis(c, X, "stop_axis", c->attr[1].i, x->ndim, &to, err));
    if (to < from)
        return infer_fail(c, X, 0, err, "stop_axis %d is less than start_axis %d", to, from);
    for (int i = 0; i < x->ndim; i++) {
        if (i == from)
            out.dims[out.ndim++] = dims_product(x, from, to + 1);
        else if (i < from || i > to)
            out.dims[out.ndim++] = x->dims[i];
    }
    return give_shape(c, &out, err);
}

/* ---- transpose2 ---- */

static enum skiff_status transpose_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    const struct attr_value *a = &c->attr[0];
    enum dtype t = infer_in_dtype(c, X, 0);
    struct shape out = {.ndim = x->ndim};
    unsigned seen = 0;
    for (int i = 0; i < a->n && a->n == x->ndim; i++) {
        int from = axis_of(a->ints[i], x->ndim);
        if (from < 0)
            break;
        seen |= 1u << from;
        out.dims[i] = x->dims[from];
    }
    if (a->n != x->ndim || seen != (1u << x->ndim) - 1)
        return infer_fail(c, X, 0, err, "attribute axis must name each of the %d dims once",
                          x->ndim);
    TRY(infer_xshape(c, X, XSHAPE, err));
    return infer_out(c, OUT, 0, t, &out, err);
}

/* The walk in the order of Out: stride of Out dim i is its own, of X that of dim axis[i]. */
static void transpose_walk(const struct attr_value *axis, const struct shape *x,
                           const struct shape *out, struct strided *s)
{
    int64_t stride[TENSOR_MAX_DIMS];
    shape_strides(x, stride);
    s->ndim = out->ndim;
    shape_strides(out, s->dst);
    for (int i = 0; i < out->ndim; i++) {
        s->dims[i] = out->dims[i];
        s->src[i] = stride[axis_of(axis->ints[i], x->ndim)];
    }
}

static enum skiff_status transpose_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, OUT);
    struct strided s;
    if (out->data == x->data && tensor_numel(x) > 0)
        return kernel_fail(k, SKIFF_INVALID, err, "cannot run in place");
    transpose_walk(&k->attr[0], &x->shape, &out->shape, &s);
    strided_copy(&s, dtype_size(x->dtype), x->data, out->data);
    return SKIFF_OK;
}

static enum skiff_status transpose_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, G_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    struct strided s, back;
    if (!dx)
        return SKIFF_OK;
    if (tensor_numel(d) != tensor_numel(dx) || d->shape.ndim != dx->shape.ndim ||
        k->attr[0].n != d->shape.ndim)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X",
                           kernel_in_name(k, G_DOUT, 0));
    for (int i = 0; i < d->shape.ndim; i++) {
        int from = axis_of(k->attr[0].ints[i], d->shape.ndim);
        if (from < 0 || d->shape.dims[i] != dx->shape.dims[from])
            return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) is not X with its axes moved",
                               kernel_in_name(k, G_DOUT, 0));
    }
    transpose_walk(&k->attr[0], &dx->shape, &d->shape, &s);
    back = s;
    memcpy(back.src, s.dst, sizeof(back.src));
    memcpy(back.dst, s.src, sizeof(back.dst));
    strided_copy(&back, dtype_size(d->dtype), d->data, dx->data);
    return SKIFF_OK;
}

static const struct op_slot reshape_in[] = {
    {"X", 0},
    {"Shape", SLOT_OPTIONAL},
    {"ShapeTensor", SLOT_LIST | SLOT_OPTIONAL | SLOT_ONE_DIM},
    {0}};
static const struct op_slot unsqueeze_in[] = {
    {"X", 0}, {"AxesTensor", SLOT_OPTIONAL}, {"AxesTensorList", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {"XShape", SLOT_EXTRA}, {0}};
static const struct op_slot grad_in[] = {{"XShape", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot unsqueeze_grad_in[] = {{"XShape", SLOT_SHAPE_ONLY},
                                                   {"Out" GRAD_SUFFIX, 0},
                                                   {"AxesTensor", SLOT_OPTIONAL},
                                                   {"AxesTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                                   {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

#define ONLY(gen, attr_name, t, ...)                                       \
    {                                                                      \
        .name = attr_name, .type = t, .flags = gen, .def = { __VA_ARGS__ } \
    }
#define MKLDNN_2X                                           \
    ONLY(ATTR_ONLY_2X, "use_mkldnn", ATTR_BOOLEAN, .b = 0), \
        ONLY(ATTR_ONLY_2X, "mkldnn_data_type", ATTR_STRING, .s = "float32")
static const struct op_attr_spec reshape_attrs[] = {
    A_INTS("shape"), A_BOOL("use_quantizer", false), MKLDNN_2X, {0}};
static const struct op_attr_spec axes_attrs[] = {A_INTS("axes"), {0}};
static const struct op_attr_spec flatten_attrs[] = {A_INT("axis", 1), MKLDNN_2X, {0}};
static const struct op_attr_spec range_attrs[] = {
    A_INT("start_axis", 1), A_INT("stop_axis", 1), {0}};
static const struct op_attr_spec transpose_attrs[] = {
    A_REQ("axis", ATTR_INTS),
    ONLY(ATTR_ONLY_1X, "use_mkldnn", ATTR_BOOLEAN, .b = 0),
    ONLY(ATTR_ONLY_1X, "data_format", ATTR_STRING, .s = "AnyLayout"),
    ONLY(ATTR_ONLY_1X, "use_quantizer", ATTR_BOOLEAN, .b = 0),
    {0}};

#define BACK "XShape Out@GRAD -> X@GRAD"
#define KIND(t, in, a, rule, fn, ...)                                                         \
    {                                                                                         \
        .type = t, .ins = in, .outs = outs, .attrs = a, .infer = rule, .run = fn, __VA_ARGS__ \
    }
#define GRAD_KIND(t, in, a, fn, ...)                                                              \
    {                                                                                             \
        .type = t "_grad", .ins = in, .outs = dx_out, .attrs = a, .infer = grad_infer, .run = fn, \
        __VA_ARGS__                                                                               \
    }

const struct op_kind ops_reshape[] = {
    KIND("reshape2", reshape_in, reshape_attrs, reshape_infer, reshape_run, .grad = BACK,
         .flags = OP_MOVES, .class = CLASS_RESHAPE),
    GRAD_KIND("reshape2", grad_in, reshape_attrs, reshape_grad_run, .class = CLASS_RESHAPE_GRAD),
    KIND("squeeze2", x_in, axes_attrs, squeeze_infer, reshape_run, .grad = BACK, .flags = OP_MOVES),
    GRAD_KIND("squeeze2", grad_in, axes_attrs, reshape_grad_run, ),
    KIND("unsqueeze2", unsqueeze_in, axes_attrs, unsqueeze_infer, reshape_run, .grad = BACK,
         .flags = OP_MOVES, .generations = GEN_1X),
    KIND("unsqueeze2", unsqueeze_in, axes_attrs, unsqueeze_infer, reshape_run,
         .grad = "XShape AxesTensor AxesTensorList Out@GRAD -> X@GRAD", .flags = OP_MOVES,
         .generations = GEN_2X),
    GRAD_KIND("unsqueeze2", unsqueeze_grad_in, axes_attrs, reshape_grad_run, ),
    KIND("flatten2", x_in, flatten_attrs, flatten2_infer, reshape_run, .grad = BACK,
         .flags = OP_MOVES),
    GRAD_KIND("flatten2", grad_in, flatten_attrs, reshape_grad_run, ),
    KIND("flatten_contiguous_range", x_in, range_attrs, flatten_range_infer, reshape_run,
         .grad = BACK, .generations = GEN_2X),
    GRAD_KIND("flatten_contiguous_range", grad_in, range_attrs, reshape_grad_run,
              .generations = GEN_2X),
    KIND("transpose2", x_in, transpose_attrs, transpose_infer, transpose_run, .grad = BACK),
    GRAD_KIND("transpose2", grad_in, transpose_attrs, transpose_grad_run, ),
    {0},
};
