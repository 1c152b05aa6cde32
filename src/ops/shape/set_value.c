/* set_value (2.x): a copy of Input with a part of it replaced.
 *
 * The part: starts, ends, steps on the named axes (going backwards an end of -1 means down to
 * element 0), from the lists of tensors or from the attributes. Its value is ValueTensor, or
 * `values` of `shape`, repeated to the part's shape without decrease_axes; none_axes, which add
 * dims of 1, make no difference to a value that is repeated.
 *   Input@GRAD = Out@GRAD with zeros in the part; ValueTensor@GRAD = the part, repeats summed */
#include "ops/seq_common.h"

enum { S_INPUT, S_VALUE, S_STARTS, S_ENDS, S_STEPS };
enum { SG_DOUT, SG_VALUE, SG_STARTS, SG_ENDS, SG_STEPS };
enum { A_DTYPE, A_AXES, A_STARTS, A_ENDS, A_STEPS, A_DECREASE, A_NONE, A_VALUES, A_SHAPE };

struct value_part {
    struct shape shape, shown; /* of the part; without the axes that an index has taken away */
    int64_t first, strides[TENSOR_MAX_DIMS];
};

static int part_numbers(const struct kernel *k, int slot, const struct attr_value *attr,
                        int64_t *out)
{
    if (kernel_in_count(k, slot))
        return kernel_read_int_list(k, slot, out, TENSOR_MAX_DIMS);
    if (attr->n > TENSOR_MAX_DIMS)
        return -1;
    for (int i = 0; i < attr->n; i++)
        out[i] = attr->longs[i];
    return attr->n;
}

static int64_t bounded(int64_t v, int64_t n, int64_t low, int64_t high)
{
    v = v < 0 ? v + n : v;
    return v < low ? low : v > high ? high : v;
}

/* One axis: where it starts, how many places. */
static int64_t axis_count(int64_t n, int64_t start, int64_t end, int64_t step, int64_t *first)
{
    bool back = step < 0;
    *first = bounded(start, n, back ? -1 : 0, back ? n - 1 : n);
    end = back && end == -1 ? -1 : bounded(end, n, back ? -1 : 0, n);
    int64_t span = back ? *first - end : end - *first, by = back ? -step : step;
    return span > 0 ? (span + by - 1) / by : 0;
}

/* `slots`: the first of the three lists. */
static enum skiff_status part_of(const struct kernel *k, int slots, const struct shape *in,
                                 struct value_part *p, struct skiff_error *err)
{
    int64_t starts[TENSOR_MAX_DIMS], ends[TENSOR_MAX_DIMS], steps[TENSOR_MAX_DIMS];
    const struct attr_value *axes = &k->attr[A_AXES], *gone = &k->attr[A_DECREASE];
    int ns = part_numbers(k, slots, &k->attr[A_STARTS], starts);
    int ne = part_numbers(k, slots + 1, &k->attr[A_ENDS], ends);
    int nt = part_numbers(k, slots + 2, &k->attr[A_STEPS], steps);
    unsigned dropped = 0;
    *p = (struct value_part){.shape = *in};
    shape_strides(in, p->strides);
    if (ns != axes->n || ne != axes->n || nt != axes->n)
        return kernel_fail(k, SKIFF_SHAPE, err, "%d axes, %d starts, %d ends and %d steps", axes->n,
                           ns, ne, nt);
    for (int i = 0; i < axes->n; i++) {
        int a = axis_of(axes->longs[i], in->ndim);
        int64_t first;
        if (a < 0 || steps[i] == 0)
            return kernel_fail(k, SKIFF_SHAPE, err, "axis %lld with step %lld does not fit",
                               (long long)axes->longs[i], (long long)steps[i]);
        p->shape.dims[a] = axis_count(in->dims[a], starts[i], ends[i], steps[i], &first);
        p->first += first * p->strides[a];
        p->strides[a] *= steps[i];
    }
    for (int i = 0; i < gone->n; i++)
        if (axis_of(gone->longs[i], in->ndim) >= 0)
            dropped |= 1u << axis_of(gone->longs[i], in->ndim);
    for (int i = 0; i < in->ndim; i++)
        if (!(dropped >> i & 1) || p->shape.dims[i] != 1)
            p->shown.dims[p->shown.ndim++] = p->shape.dims[i];
    return SKIFF_OK;
}

/* Strides of a value of this shape over the shown dims: leading ones of it do not count. */
static enum skiff_status value_strides(const struct kernel *k, struct shape value,
                                       const struct shape *shown, int64_t *strides,
                                       struct skiff_error *err)
{
    char want[160], found[160];
    struct shape given = value;
    while (value.ndim > shown->ndim && value.dims[0] == 1) {
        value.ndim--;
        memmove(value.dims, value.dims + 1, (size_t)value.ndim * sizeof(value.dims[0]));
    }
    if (repeat_strides(&value, shown, strides))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_SHAPE, err, "a value of shape %s cannot be repeated to %s",
                       shape_text(&given, found), shape_text(shown, want));
}

static enum skiff_status set_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, S_INPUT, 0, err);
}

/* Element i of the attribute's values, or of the tensor. */
static void copy_value(const struct kernel *k, const struct tensor *value, int64_t i,
                       struct tensor *out, int64_t at)
{
    const struct scalar *given = value ? NULL : &k->attr[A_VALUES].scalars[i];
    size_t elem = dtype_size(out->dtype);
    if (value)
        memcpy((char *)out->data + (size_t)at * elem, (const char *)value->data + (size_t)i * elem,
               elem);
    else
        DISPATCH_ALL(out->dtype, T, {
            ((T *)out->data)[at] = given->type == SCALAR_FLOAT64 ? (T)given->r
                                   : given->type == SCALAR_LONG  ? (T)given->i
                                                                 : (T)given->b;
        })
}

static enum skiff_status value_shape(const struct kernel *k, const struct tensor *value,
                                     const struct tensor *out, struct shape *s,
                                     struct skiff_error *err)
{
    const struct attr_value *dims = &k->attr[A_SHAPE], *values = &k->attr[A_VALUES];
    *s = value ? value->shape : (struct shape){.ndim = dims->n};
    if (value && value->dtype != out->dtype)
        return kernel_fail(k, SKIFF_DTYPE, err, "input ValueTensor (%s) is %s, Input is %s",
                           kernel_in_name(k, S_VALUE, 0), dtype_name(value->dtype),
                           dtype_name(out->dtype));
    for (int i = 0; !value && i < dims->n && i < TENSOR_MAX_DIMS; i++)
        s->dims[i] = dims->longs[i];
    if (!value && (dims->n > TENSOR_MAX_DIMS || shape_numel(s) != values->n))
        return kernel_fail(k, SKIFF_SHAPE, err, "%d values do not fill the shape attribute",
                           values->n);
    return SKIFF_OK;
}

static enum skiff_status set_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, S_INPUT), *value = kernel_in_at(k, S_VALUE, 0);
    struct tensor *out = kernel_out(k, 0);
    struct shape given;
    struct value_part p;
    int64_t strides[TENSOR_MAX_DIMS];
    TRY(kernel_check_dtype(k, S_INPUT, dtype_is_any, "a number or bool", err));
    TRY(part_of(k, S_STARTS, &in->shape, &p, err));
    TRY(value_shape(k, value, out, &given, err));
    int64_t n = shape_numel(&p.shape);
    if (n)
        TRY(value_strides(k, given, &p.shown, strides, err));
    if (out->data != in->data)
        bytes_copy(out->data, in->data, tensor_bytes(in));
    for (int64_t i = 0; i < n; i++)
        copy_value(k, value, strides_at(&p.shown, strides, i), out,
                   p.first + strides_at(&p.shape, p.strides, i));
    return SKIFF_OK;
}

static enum skiff_status set_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_same(c, SG_DOUT, 0, err));
    return infer_has(c, SG_VALUE) ? infer_like(c, SG_VALUE, 1, err) : SKIFF_OK;
}

static enum skiff_status set_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, SG_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    struct tensor *dv = kernel_has(k, SG_VALUE) ? kernel_out(k, 1) : NULL;
    int64_t strides[TENSOR_MAX_DIMS] = {0};
    struct value_part p;
    TRY(kernel_check_dtype(k, SG_DOUT, dtype_is_float, "float32 or float64", err));
    TRY(part_of(k, SG_STARTS, &d->shape, &p, err));
    int64_t n = shape_numel(&p.shape);
    if (dv && n)
        TRY(value_strides(k, dv->shape, &p.shown, strides, err));
    if (dv && dv->dtype != d->dtype)
        return kernel_fail(k, SKIFF_DTYPE, err, "ValueTensor and Out@GRAD differ in type");
    if (dv)
        tensor_clear(dv);
    if (dx)
        bytes_copy(dx->data, d->data, tensor_bytes(d));
    DISPATCH_FLOAT(d->dtype, T, {
        const T *up = d->data;
        T *to_x = dx ? dx->data : NULL, *to_v = dv ? dv->data : NULL;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = p.first + strides_at(&p.shape, p.strides, i);
            if (to_v)
                to_v[strides_at(&p.shown, strides, i)] += up[at];
            if (to_x)
                to_x[at] = 0;
        }
    })
    return SKIFF_OK;
}

#define LISTS                                          \
    {"StartsTensorList", SLOT_LIST | SLOT_OPTIONAL},   \
        {"EndsTensorList", SLOT_LIST | SLOT_OPTIONAL}, \
    {                                                  \
        "StepsTensorList", SLOT_LIST | SLOT_OPTIONAL   \
    }
static const struct op_slot ins[] = {{"Input", 0}, {"ValueTensor", SLOT_OPTIONAL}, LISTS, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_slot grad_ins[] = {
    {"Out@GRAD", 0}, {"ValueTensor", SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, LISTS, {0}};
static const struct op_slot grad_outs[] = {
    {"Input@GRAD", SLOT_OPTIONAL}, {"ValueTensor@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec attrs[] = {
    A_INT("dtype", DTYPE_FP32), A_LONGS("axes"),
    A_LONGS("starts"),          A_LONGS("ends"),
    A_LONGS("steps"),           A_LONGS("decrease_axes"),
    A_LONGS("none_axes"),       {.name = "values", .type = ATTR_SCALARS},
    A_LONGS("shape"),           {0}};

const struct op_kind ops_set_value[] = {
    {.type = "set_value",
     .generations = GEN_2X,
     .ins = ins,
     .outs = outs,
     .attrs = attrs,
     .grad = "Out@GRAD ValueTensor StartsTensorList EndsTensorList StepsTensorList -> Input@GRAD "
             "ValueTensor@GRAD",
     .infer = set_infer,
     .run = set_run},
    {.type = "set_value_grad",
     .generations = GEN_2X,
     .ins = grad_ins,
     .outs = grad_outs,
     .attrs = attrs,
     .infer = set_grad_infer,
     .run = set_grad_run},
    {0},
};
