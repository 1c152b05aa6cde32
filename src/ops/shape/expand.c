/* Repeating a tensor along its dims: expand, expand_as (1.x), tile, expand_v2, expand_as_v2 (2.x).
 *
 * All are Out[o] = X[o mod dims of X], dims aligned at the end; the gradient sums over the repeats.
 *   expand, tile   dim = repeat times dim of X; the shorter of the two lists is padded with 1 in
 *                  front (tile only: expand wants equal lengths)
 *   expand_v2      dim as asked for; -1 keeps that of X; X has the same dim or 1
 *   expand_as_v2   dims of Y, else of the attribute; expand_as: multiples of X's dims
 * Times and shapes come from the list of tensors, else the tensor, else the attribute. */
#include "ops/ops_common.h"

#include <string.h>

enum { X, TENSOR, LIST, DOUT };

/* [r_0, x_0, r_1, x_1, ...]: strides of X and of Out; ranks aligned at the end */
static void repeat_walk(const struct shape *x, const struct shape *out, struct strided *s)
{
    int64_t xs[TENSOR_MAX_DIMS], os[TENSOR_MAX_DIMS];
    int pad = out->ndim - x->ndim;
    shape_strides(x, xs);
    shape_strides(out, os);
    s->ndim = 0;
    for (int i = 0; i < out->ndim; i++) {
        int64_t d = i < pad ? 1 : x->dims[i - pad], stride = i < pad ? 0 : xs[i - pad];
        s->dims[s->ndim] = d ? out->dims[i] / d : 0;
        s->src[s->ndim] = 0;
        s->dst[s->ndim++] = d * os[i];
        s->dims[s->ndim] = d;
        s->src[s->ndim] = stride;
        s->dst[s->ndim++] = os[i];
    }
}

static enum skiff_status repeat_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct strided s;
    repeat_walk(&x->shape, &out->shape, &s);
    strided_copy(&s, dtype_size(x->dtype), x->data, out->data);
    return SKIFF_OK;
}

static enum skiff_status repeat_grad(struct kernel *k, int dout_slot, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, dout_slot);
    struct tensor *dx = kernel_out(k, 0);
    struct strided s, back;
    struct shape wide = d->shape;
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, dout_slot, dtype_is_number, "a number", err));
    if (wide.ndim < dx->shape.ndim || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X",
                           kernel_in_name(k, dout_slot, 0));
    for (int i = 0; i < dx->shape.ndim; i++) {
        int64_t n = dx->shape.dims[i], o = wide.dims[wide.ndim - dx->shape.ndim + i];
        if (n ? o % n != 0 : o != 0)
            return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) is not a multiple of X",
                               kernel_in_name(k, dout_slot, 0));
    }
    repeat_walk(&dx->shape, &wide, &s);
    back = s;
    memcpy(back.src, s.dst, sizeof(back.src));
    memcpy(back.dst, s.src, sizeof(back.dst));
    tensor_clear(dx);
    strided_add(&back, d->dtype, d->data, dx->data);
    return SKIFF_OK;
}
static enum skiff_status repeat_grad_run(struct kernel *k, struct skiff_error *err)
{
    return repeat_grad(k, DOUT, err);
}
static enum skiff_status as_grad_run(struct kernel *k, struct skiff_error *err)
{
    return repeat_grad(k, 1, err);
}

/* Numbers asked for: list, tensor, attribute. While building, unknown ones are -1. */
static int wanted_numbers(const struct infer *c, int64_t *out)
{
    const struct attr_value *a = &c->attr[0];
    int n = infer_read_int_list(c, LIST, out, TENSOR_MAX_DIMS);
    if (n == 0)
        n = infer_read_ints(c, TENSOR, out, TENSOR_MAX_DIMS);
    if (n != 0)
        return n;
    if (a->n == 0 && infer_in_count(c, TENSOR)) { /* building: one unknown for each dim of X */
        for (n = 0; n < infer_in(c, X, 0)->ndim; n++)
            out[n] = -1;
        return n;
    }
    if (a->n > TENSOR_MAX_DIMS)
        return -1;
    for (n = 0; n < a->n; n++)
        out[n] = a->ints[n];
    return n;
}

static enum skiff_status give_shape(struct infer *c, const struct shape *out,
                                    struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    bool keeps = x->ndim > 0 && x->ndim == out->ndim && x->dims[0] == out->dims[0];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), out, err));
    if (keeps)
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status tile_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    int64_t times[TENSOR_MAX_DIMS];
    int n = wanted_numbers(c, times);
    struct shape out = {.ndim = n > x->ndim ? n : x->ndim};
    if (n < 0)
        return infer_fail(c, X, 0, err, "times must be at most %d integers", TENSOR_MAX_DIMS);
    for (int i = 0; i < out.ndim; i++) {
        int xi = i - (out.ndim - x->ndim), ti = i - (out.ndim - n);
        int64_t d = xi < 0 ? 1 : x->dims[xi], t = ti < 0 ? 1 : times[ti];
        if (t == 0 || t < -1 || (t < 0 && c->running))
            return infer_fail(c, X, 0, err, "cannot be repeated %lld times along dim %d",
                              (long long)t, i);
        out.dims[i] = d < 0 || t < 0 ? -1 : d * t;
    }
    return give_shape(c, &out, err);
}

static enum skiff_status expand_infer(struct infer *c, struct skiff_error *err)
{
    int64_t times[TENSOR_MAX_DIMS];
    int n = wanted_numbers(c, times), ndim = infer_in(c, X, 0)->ndim;
    if (n != ndim)
        return infer_fail(c, X, 0, err, "expand_times holds %d numbers, X has %d dims", n, ndim);
    return tile_infer(c, err);
}

static enum skiff_status expand_to(struct infer *c, int n, const int64_t *want,
                                   struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    struct shape out = {.ndim = n};
    char text[160];
    bool fits = n >= x->ndim && n <= TENSOR_MAX_DIMS;
    for (int i = 0; fits && i < n; i++) {
        int xi = i - (n - x->ndim);
        int64_t d = xi < 0 ? 1 : x->dims[xi];
        out.dims[i] = want[i];
        if (want[i] == -1 && (xi >= 0 || !c->running))
            out.dims[i] = xi < 0 ? -1 : d;
        else
            fits = want[i] >= 0 && (d == 1 || d == -1 || d == want[i]);
    }
    if (!fits) {
        out = (struct shape){.ndim = n < 0 ? 0 : n > TENSOR_MAX_DIMS ? TENSOR_MAX_DIMS : n};
        memcpy(out.dims, want, (size_t)out.ndim * sizeof(int64_t));
        return infer_fail(c, X, 0, err, "cannot be expanded to %s", shape_text(&out, text));
    }
    return give_shape(c, &out, err);
}

static enum skiff_status expand_v2_infer(struct infer *c, struct skiff_error *err)
{
    int64_t want[TENSOR_MAX_DIMS];
    int n = wanted_numbers(c, want);
    return expand_to(c, n, want, err);
}

static enum skiff_status expand_as_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *y = infer_in(c, 1, 0);
    int64_t want[TENSOR_MAX_DIMS];
    int n = y ? y->ndim : c->attr[0].n;
    for (int i = 0; i < n && i < TENSOR_MAX_DIMS; i++)
        want[i] = y ? y->dims[i] : c->attr[0].ints[i];
    return expand_to(c, n, want, err);
}

static enum skiff_status expand_as_1x_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, 1, 0);
    struct shape out = *y;
    bool fits = x->ndim == y->ndim;
    for (int i = 0; fits && i < x->ndim; i++)
        fits = x->dims[i] < 0 || y->dims[i] < 0 || (x->dims[i] && y->dims[i] % x->dims[i] == 0);
    if (!fits)
        return infer_fail(c, X, 0, err, "target_tensor (%s) must be a multiple of it, dim by dim",
                          infer_in_name(c, 1, 0));
    for (int i = 0; !c->running && i < out.ndim; i++) /* 1.8 declares zeros there */
        out.dims[i] = -1;
    return give_shape(c, &out, err);
}
static enum skiff_status as_1x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return repeat_grad(k, 2, err);
}

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

#define INS(name, tensor, list)                                                        \
    static const struct op_slot name##_in[] = {                                        \
        {"X", 0}, {tensor, SLOT_OPTIONAL}, {list, SLOT_LIST | SLOT_OPTIONAL}, {0}};    \
    static const struct op_slot name##_grad_in[] = {{"X", SLOT_SHAPE_ONLY},            \
                                                    {tensor, SLOT_OPTIONAL},           \
                                                    {list, SLOT_LIST | SLOT_OPTIONAL}, \
                                                    {"Out" GRAD_SUFFIX, 0},            \
                                                    {0}}
INS(expand, "ExpandTimes", "expand_times_tensor");
INS(expand_v2, "Shape", "expand_shapes_tensor");
INS(tile, "RepeatTimes", "repeat_times_tensor");
static const struct op_slot as_in[] = {{"X", 0}, {"Y", SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot as_grad_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot as_1x_in[] = {{"X", 0}, {"target_tensor", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot as_1x_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"target_tensor", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec expand_attrs[] = {A_INTS("expand_times"), {0}};
static const struct op_attr_spec expand_v2_attrs[] = {A_INTS("shape"), {0}};
static const struct op_attr_spec tile_attrs[] = {A_INTS("repeat_times"), {0}};
static const struct op_attr_spec as_attrs[] = {A_INTS("target_shape"), {0}};

#define REPEAT(t, gen, in, a, rule, line)                                                    \
    {                                                                                        \
        .type = t, .generations = gen, .ins = in, .outs = out_out, .attrs = a, .grad = line, \
        .infer = rule, .run = repeat_run                                                     \
    }
#define REPEAT_GRAD(t, gen, in, a, fn)                                                \
    {                                                                                 \
        .type = t "_grad", .generations = gen, .ins = in, .outs = dx_out, .attrs = a, \
        .infer = grad_infer, .run = fn                                                \
    }

const struct op_kind ops_expand[] = {
    REPEAT("expand", 0, expand_in, expand_attrs, expand_infer,
           "X ExpandTimes expand_times_tensor Out@GRAD -> X@GRAD"),
    REPEAT_GRAD("expand", 0, expand_grad_in, expand_attrs, repeat_grad_run),
    REPEAT("expand_as", GEN_1X, as_1x_in, none, expand_as_1x_infer,
           "X target_tensor Out@GRAD -> X@GRAD"),
    REPEAT_GRAD("expand_as", GEN_1X, as_1x_grad_in, none, as_1x_grad_run),
    REPEAT("tile", GEN_2X, tile_in, tile_attrs, tile_infer,
           "X RepeatTimes repeat_times_tensor Out@GRAD -> X@GRAD"),
    REPEAT_GRAD("tile", GEN_2X, tile_grad_in, tile_attrs, repeat_grad_run),
    REPEAT("expand_v2", GEN_2X, expand_v2_in, expand_v2_attrs, expand_v2_infer,
           "X Shape expand_shapes_tensor Out@GRAD -> X@GRAD"),
    REPEAT_GRAD("expand_v2", GEN_2X, expand_v2_grad_in, expand_v2_attrs, repeat_grad_run),
    REPEAT("expand_as_v2", GEN_2X, as_in, as_attrs, expand_as_infer, "X Out@GRAD -> X@GRAD"),
    REPEAT_GRAD("expand_as_v2", GEN_2X, as_grad_in, as_attrs, as_grad_run),
    {0},
};
