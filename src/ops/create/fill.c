/* Ops that make tensors from attributes or shapes: fill_constant, fill_constant_batch_size_like,
 * fill_zeros_like, fill_any_like, assign_value, shape, size, range, linspace.
 *
 * fill_constant: shape from ShapeTensor, else ShapeTensorList, else the attribute; value from
 * ValueTensor, else str_value when it is not empty, else value. An integer str_value is taken
 * exactly (2.6 goes through double). fill_constant_batch_size_like: shape[output_dim_idx] =
 * Input.dims[input_dim_idx]; an Input with lod counts its sequences when input_dim_idx is 0.
 * shape is int32; size is int64, [1] in 1.x and 0-D in 2.x. range: Start, Start + Step, ... before
 * End. */
#include "ops/ops_common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fill_value {
    bool whole;
    int64_t i;
    double d;
};

static void fill_tensor(struct tensor *out, struct fill_value v)
{
    int64_t n = tensor_numel(out);
    if (!v.whole)
        v.i = v.d > -9.3e18 && v.d < 9.2233720368547758e18 ? (int64_t)v.d : INT64_MIN;
    DISPATCH_ALL(out->dtype, T,
                 T e = _Generic((T)0, float
                                : (T)v.d, double
                                : (T)v.d, bool
                                : v.d != 0, default
                                : (T)v.i);
                 T *o = out->data; for (int64_t i = 0; i < n; i++) o[i] = e)
}

static enum skiff_status check_fill_dtype(const struct kernel *k, enum dtype t,
                                          struct skiff_error *err)
{
    return dtype_is_any(t)
               ? SKIFF_OK
               : kernel_fail(k, SKIFF_UNSUPPORTED, err, "cannot fill type %s", dtype_name(t));
}

static enum skiff_status parse_value(const struct kernel *k, const char *s, float value,
                                     struct fill_value *v, struct skiff_error *err)
{
    char *end;
    *v = (struct fill_value){.d = (double)value};
    if (!s || !*s)
        return SKIFF_OK;
    v->d = strtod(s, &end);
    if (end == s || *end)
        return kernel_fail(k, SKIFF_INVALID, err, "str_value \"%s\" is not a number", s);
    errno = 0;
    v->i = strtoll(s, &end, 10);
    v->whole = *end == '\0' && errno == 0;
    return SKIFF_OK;
}

/* ---- fill_constant ---- */
enum { FC_VALUE, FC_SHAPE, FC_SHAPE_LIST };
enum { FCA_DTYPE, FCA_SHAPE, FCA_VALUE, FCA_STR };

static enum skiff_status constant_shape(const struct kernel *k, struct shape *s,
                                        struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, FC_SHAPE);
    if (t)
        s->ndim = tensor_read_ints(t, s->dims, TENSOR_MAX_DIMS);
    else if (kernel_in_count(k, FC_SHAPE_LIST))
        s->ndim = kernel_read_int_list(k, FC_SHAPE_LIST, s->dims, TENSOR_MAX_DIMS);
    else if (k->attr[FCA_SHAPE].n > TENSOR_MAX_DIMS)
        s->ndim = -1;
    else
        for (s->ndim = 0; s->ndim < k->attr[FCA_SHAPE].n; s->ndim++)
            s->dims[s->ndim] = k->attr[FCA_SHAPE].longs[s->ndim];
    for (int i = 0; i < s->ndim; i++)
        if (s->dims[i] < 0)
            return kernel_fail(k, SKIFF_SHAPE, err, "dim %d of the shape is %lld", i,
                               (long long)s->dims[i]);
    if (s->ndim < 0)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "the shape must be int32 or int64, at most %d numbers", TENSOR_MAX_DIMS);
    return SKIFF_OK;
}

static enum skiff_status fill_constant_run(struct kernel *k, struct skiff_error *err)
{
    enum dtype t = (enum dtype)k->attr[FCA_DTYPE].i;
    const struct tensor *from = kernel_in(k, FC_VALUE);
    struct fill_value v;
    struct shape s;
    TRY(constant_shape(k, &s, err));
    TRY(check_fill_dtype(k, t, err));
    TRY(parse_value(k, k->attr[FCA_STR].s, k->attr[FCA_VALUE].f, &v, err));
    if (from && tensor_numel(from) < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "input ValueTensor (%s) is empty",
                           kernel_in_name(k, FC_VALUE, 0));
    if (from) {
        v = (struct fill_value){.d = tensor_read_number(from)};
        if (from->dtype == DTYPE_INT64)
            v = (struct fill_value){true, *tensor_i64(from), v.d};
    }
    TRY(kernel_out_resize(k, 0, 0, t, &s, err));
    if (kernel_out(k, 0))
        fill_tensor(kernel_out(k, 0), v);
    return SKIFF_OK;
}

static enum skiff_status fill_constant_infer(struct infer *c, struct skiff_error *err)
{
    const struct attr_value *a = &c->attr[FCA_SHAPE];
    const struct shape *t = infer_in(c, FC_SHAPE, 0);
    struct shape s = {.ndim = a->n};
    if (a->n == 0 && t && t->ndim == 1)
        s.ndim = (int)t->dims[0];
    else if (a->n == 0)
        s.ndim = infer_in_count(c, FC_SHAPE_LIST);
    if (s.ndim < 0 || s.ndim > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_SHAPE, "op fill_constant: %d dims, at most %d are supported",
                         s.ndim, TENSOR_MAX_DIMS);
    for (int i = 0; i < s.ndim; i++)
        s.dims[i] = i < a->n ? a->longs[i] : -1;
    return infer_out(c, 0, 0, (enum dtype)c->attr[FCA_DTYPE].i, &s, err);
}

/* ---- fill_constant_batch_size_like ---- */
enum { FBA_SHAPE, FBA_IN_IDX, FBA_OUT_IDX, FBA_DTYPE, FBA_VALUE, FBA_STR };

static enum skiff_status batch_like_infer(struct infer *c, struct skiff_error *err)
{
    return infer_batch_like(c, &c->attr[FBA_SHAPE], c->attr[FBA_IN_IDX].i, c->attr[FBA_OUT_IDX].i,
                            (enum dtype)c->attr[FBA_DTYPE].i, err);
}

static enum skiff_status batch_like_run(struct kernel *k, struct skiff_error *err)
{
    struct fill_value v;
    TRY(check_fill_dtype(k, (enum dtype)k->attr[FBA_DTYPE].i, err));
    TRY(parse_value(k, k->attr[FBA_STR].s, k->attr[FBA_VALUE].f, &v, err));
    fill_tensor(kernel_out(k, 0), v);
    return SKIFF_OK;
}

/* ---- fill_zeros_like, fill_any_like ---- */
static enum skiff_status zeros_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    tensor_clear(out);
    return SKIFF_OK;
}

static enum skiff_status any_like_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0);
    int t = c->attr[1].i;
    TRY(infer_out(c, 0, 0, t < 0 ? infer_in_dtype(c, 0, 0) : (enum dtype)t, &s, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status any_like_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    TRY(check_fill_dtype(k, out->dtype, err));
    fill_tensor(out, (struct fill_value){.d = (double)k->attr[0].f});
    return SKIFF_OK;
}

/* ---- assign_value ---- */
enum { AV_SHAPE, AV_DTYPE, AV_BOOL, AV_FP32, AV_INT32, AV_INT64, AV_FP64 };

static enum skiff_status assign_value_infer(struct infer *c, struct skiff_error *err)
{
    const struct attr_value *a = &c->attr[AV_SHAPE];
    struct shape s = {.ndim = a->n};
    if (a->n > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_SHAPE, "op assign_value: %d dims, at most %d are supported",
                         a->n, TENSOR_MAX_DIMS);
    for (int i = 0; i < a->n; i++)
        s.dims[i] = a->ints[i];
    return infer_out(c, 0, 0, (enum dtype)c->attr[AV_DTYPE].i, &s, err);
}

static enum skiff_status assign_value_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(out);
    int which = out->dtype == DTYPE_BOOL    ? AV_BOOL
                : out->dtype == DTYPE_FP32  ? AV_FP32
                : out->dtype == DTYPE_INT32 ? AV_INT32
                : out->dtype == DTYPE_INT64 ? AV_INT64
                : out->dtype == DTYPE_FP64  ? AV_FP64
                                            : -1;
    if (which < 0)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "cannot hold type %s",
                           dtype_name(out->dtype));
    const struct attr_value *a = &k->attr[which];
    if (a->n != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s has %d numbers, the shape asks for %lld",
                           k->kind->attrs[which].name, a->n, (long long)n);
    if (which == AV_BOOL)
        for (int64_t i = 0; i < n; i++)
            ((bool *)out->data)[i] = a->ints[i] != 0;
    else if (n)
        memcpy(out->data, a->ints, tensor_bytes(out)); /* all lists lie at the same place */
    return SKIFF_OK;
}

/* ---- shape, size, range ---- */
static enum skiff_status shape_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(infer_in(c, 0, 0)->ndim);
    return infer_out(c, 0, 0, DTYPE_INT32, &s, err);
}

static enum skiff_status shape_run(struct kernel *k, struct skiff_error *err)
{
    const struct shape *s = &kernel_in(k, 0)->shape;
    for (int i = 0; i < s->ndim; i++)
        tensor_i32(kernel_out(k, 0))[i] = (int32_t)s->dims[i];
    return SKIFF_OK;
}

static enum skiff_status size_1x_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(1);
    return infer_out(c, 0, 0, DTYPE_INT64, &s, err);
}
static enum skiff_status size_2x_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = {0};
    return infer_out(c, 0, 0, DTYPE_INT64, &s, err);
}
static enum skiff_status size_run(struct kernel *k, struct skiff_error *err)
{
    *tensor_i64(kernel_out(k, 0)) = tensor_numel(kernel_in(k, 0));
    return SKIFF_OK;
}

enum { START, END, STEP };

static enum skiff_status range_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1);
    return infer_out(c, 0, 0, infer_in_dtype(c, START, 0), &s, err);
}

/* float32 is counted in float32, as Paddle does: 0.6f / 0.1f is 6; in double it is a bit more. */
static double range_count(enum dtype dtype, double from, double to, double step)
{
    if (dtype == DTYPE_FP32)
        return ceilf(((float)to - (float)from) / (float)step);
    return ceil((to - from) / step);
}

static enum skiff_status range_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, START);
    double from = tensor_read_number(t), to = tensor_read_number(kernel_in(k, END));
    double step = tensor_read_number(kernel_in(k, STEP));
    TRY(kernel_check_dtype(k, START, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, END, START, err));
    TRY(kernel_check_same_dtype(k, STEP, START, err));
    for (int s = START; s <= STEP; s++)
        if (tensor_numel(kernel_in(k, s)) != 1)
            return kernel_fail(k, SKIFF_SHAPE, err, "input %s (%s) must hold one number",
                               k->kind->ins[s].name, kernel_in_name(k, s, 0));
    if (!(step != 0) || !((to >= from) == (step > 0) || to == from))
        return kernel_fail(k, SKIFF_INVALID, err, "cannot go from %g to %g by %g", from, to, step);
    double count = range_count(t->dtype, from, to, step);
    if (!(count >= 0 && count < 1e15))
        return kernel_fail(k, SKIFF_RANGE, err, "from %g to %g by %g is too long", from, to, step);
    struct shape s = SHAPE((int64_t)count);
    TRY(kernel_out_resize(k, 0, 0, t->dtype, &s, err));
    struct tensor *out = kernel_out(k, 0);
    if (out)
        DISPATCH_NUMBER(t->dtype, T, T v = *(const T *)t->data;
                        T by = *(const T *)kernel_in(k, STEP)->data; T *o = out->data;
                        for (int64_t i = 0; i < s.dims[0]; i++, v += by) o[i] = v)
    return SKIFF_OK;
}

/* ---- linspace ---- */
enum { LS_START, LS_STOP, LS_NUM };

static enum dtype linspace_type(const struct op_kind *kind, const struct attr_value *attr,
                                enum dtype start)
{
    return kind->attrs[0].name ? (enum dtype)attr[0].i : start;
}

static enum skiff_status linspace_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1);
    return infer_out(c, 0, 0, linspace_type(c->kind, c->attr, infer_in_dtype(c, LS_START, 0)), &s,
                     err);
}

/* As Paddle: the second half counts from the stop. */
static enum skiff_status linspace_run(struct kernel *k, struct skiff_error *err)
{
    enum dtype t = linspace_type(k->kind, k->attr, kernel_in(k, LS_START)->dtype);
    double start = tensor_read_number(kernel_in(k, LS_START));
    double stop = tensor_read_number(kernel_in(k, LS_STOP)), num = 0;
    num = tensor_read_number(kernel_in(k, LS_NUM));
    if (!(num >= 1 && num < 1e15) || !dtype_is_number(t))
        return kernel_fail(k, SKIFF_RANGE, err, "input Num (%s) is %g, must be positive",
                           kernel_in_name(k, LS_NUM, 0), num);
    int64_t n = (int64_t)num;
    struct shape s = SHAPE(n);
    TRY(kernel_out_resize(k, 0, 0, t, &s, err));
    if (!kernel_out(k, 0))
        return SKIFF_OK;
    DISPATCH_NUMBER(t, T, {
        typedef typeof(_Generic((T)0, float : 0.0f, default : 0.0)) S;
        S first = (S)(T)start, last = (S)(T)stop, step = n > 1 ? (last - first) / (S)(n - 1) : 0;
        T *o = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            o[i] = (T)(i < n / 2 || n == 1 ? first + step * (S)i : last - step * (S)(n - 1 - i));
    })
    return SKIFF_OK;
}

static const struct op_slot linspace_in[] = {{"Start", 0}, {"Stop", 0}, {"Num", 0}, {0}};
static const struct op_attr_spec linspace_none[] = {{0}};
static const struct op_attr_spec linspace_attrs[] = {A_INT("dtype", DTYPE_FP32), {0}};

static const struct op_slot no_in[] = {{0}};
static const struct op_slot fill_constant_in[] = {{"ValueTensor", SLOT_OPTIONAL},
                                                  {"ShapeTensor", SLOT_OPTIONAL},
                                                  {"ShapeTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                                  {0}};
static const struct op_slot x_shape_in[] = {{"X", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot input_shape_in[] = {{"Input", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot range_in[] = {{"Start", 0}, {"End", 0}, {"Step", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec fill_constant_attrs[] = {
    A_INT("dtype", DTYPE_FP32),
    A_LONGS("shape"),
    A_FLOAT("value", 0),
    A_STR("str_value", ""),
    A_BOOL("force_cpu", false),
    {.name = "place_type", .type = ATTR_INT, .flags = ATTR_ONLY_2X, .def = {.i = -1}},
    {0}};
static const struct op_attr_spec batch_like_attrs[] = {
    A_REQ("shape", ATTR_INTS),  A_INT("input_dim_idx", 0),
    A_INT("output_dim_idx", 0), A_INT("dtype", DTYPE_FP32),
    A_FLOAT("value", 0),        A_STR("str_value", ""),
    A_BOOL("force_cpu", false), {0}};
static const struct op_attr_spec any_like_attrs[] = {A_FLOAT("value", 0), A_INT("dtype", -1), {0}};
static const struct op_attr_spec assign_value_attrs[] = {
    A_REQ("shape", ATTR_INTS),
    A_REQ("dtype", ATTR_INT),
    A_INTS("bool_values"),
    A_FLOATS("fp32_values"),
    A_INTS("int32_values"),
    A_LONGS("int64_values"),
    {.name = "fp64_values", .type = ATTR_FLOAT64S, .flags = ATTR_ONLY_2X},
    {0}};

#define KIND(t, in, a, rule, fn, ...)                                                            \
    {                                                                                            \
        .type = t, .ins = in, .outs = out_out, .attrs = a, .infer = rule, .run = fn, __VA_ARGS__ \
    }
#define NO_GRAD .flags = OP_NO_GRAD_NEEDED

const struct op_kind ops_fill[] = {
    KIND("fill_constant", fill_constant_in, fill_constant_attrs, fill_constant_infer,
         fill_constant_run, .class = CLASS_CONSTANT, .flags = OP_NO_GRAD_NEEDED | OP_OWN_SHAPE),
    KIND("fill_constant_batch_size_like", input_shape_in, batch_like_attrs, batch_like_infer,
         batch_like_run, NO_GRAD),
    KIND("fill_zeros_like", x_shape_in, none, NULL, zeros_run, NO_GRAD),
    KIND("fill_any_like", x_shape_in, any_like_attrs, any_like_infer, any_like_run, NO_GRAD),
    KIND("assign_value", no_in, assign_value_attrs, assign_value_infer, assign_value_run, NO_GRAD),
    KIND("shape", input_shape_in, none, shape_infer, shape_run, NO_GRAD),
    KIND("size", input_shape_in, none, size_1x_infer, size_run, NO_GRAD, .generations = GEN_1X),
    KIND("size", input_shape_in, none, size_2x_infer, size_run, NO_GRAD, .generations = GEN_2X),
    KIND("range", range_in, none, range_infer, range_run,
         .flags = OP_NO_GRAD_NEEDED | OP_OWN_SHAPE),
    {.type = "linspace",
     .generations = GEN_1X,
     .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
     .ins = linspace_in,
     .outs = out_out,
     .attrs = linspace_none,
     .infer = linspace_infer,
     .run = linspace_run},
    {.type = "linspace",
     .generations = GEN_2X,
     .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
     .ins = linspace_in,
     .outs = out_out,
     .attrs = linspace_attrs,
     .infer = linspace_infer,
     .run = linspace_run},
    {0},
};
