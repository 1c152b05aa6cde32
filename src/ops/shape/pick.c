/* Picking element by element: take_along_axis, put_along_axis, index_sample, index_put, multiplex,
 * repeat_interleave.
 *
 *   take_along_axis  Result[.., i, ..] = Input[.., Index[.., i, ..], ..]; as large as Index
 *   put_along_axis   the same places of a copy of Input set to Value, or added to, or multiplied by
 *                    it; gradients: of what was set over, zero; of a factor, d result / factor
 *   index_sample     Out[n, i] = X[n, Index[n, i]]
 *   index_put        a copy of x with value (repeated as needed) at the coordinates that the index
 *                    tensors hold together, one for each leading dim, or where a mask is true
 *   multiplex        Out[n] = X[Ids[n]][n], row by row
 *   repeat_interleave  every slice of an axis repeated Repeats times, or as RepeatsTensor says
 * The gradients put back what was picked. */
#include "ops/seq_common.h"

static void copy_element(size_t elem, void *to, int64_t i, const void *from, int64_t j)
{
    memcpy((char *)to + (size_t)i * elem, (const char *)from + (size_t)j * elem, elem);
}

/* ---- take_along_axis, put_along_axis ---- */
enum { TA_INPUT, TA_INDEX, TA_DRESULT };
enum { PT_INPUT, PT_INDEX, PT_VALUE, PT_RESULT, PT_DRESULT };
enum { PT_AXIS, PT_REDUCE };

/* Targets of the elements of Index in a complete tensor. */
struct along {
    const struct tensor *index;
    int64_t strides[TENSOR_MAX_DIMS]; /* of the complete tensor, 0 on the axis */
    int64_t step, n;
};

static enum skiff_status along_init(const struct kernel *k, const struct shape *whole,
                                    struct along *a, struct skiff_error *err)
{
    int axis = axis_of(k->attr[PT_AXIS].i, whole->ndim);
    *a = (struct along){.index = kernel_in(k, TA_INDEX)};
    const struct shape *s = &a->index->shape;
    TRY(kernel_check_dtype(k, TA_INDEX, dtype_is_index, "int32 or int64", err));
    bool fits = axis >= 0 && s->ndim == whole->ndim;
    for (int i = 0; fits && i < s->ndim; i++)
        fits = i == axis || s->dims[i] <= whole->dims[i];
    if (!fits)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input Index (%s) must have the dims of Input, but for the axis",
                           kernel_in_name(k, TA_INDEX, 0));
    shape_strides(whole, a->strides);
    a->step = a->strides[axis];
    a->strides[axis] = 0;
    a->n = whole->dims[axis];
    for (int64_t i = 0; i < tensor_numel(a->index); i++) {
        int64_t at = tensor_int_at(a->index, i);
        if (at < -a->n || at >= a->n)
            return kernel_bad_index(k, TA_INDEX, i, at, a->n, "size of the axis", err);
    }
    return SKIFF_OK;
}

static int64_t along_at(const struct along *a, int64_t i)
{
    int64_t at = tensor_int_at(a->index, i);
    return strides_at(&a->index->shape, a->strides, i) + (at < 0 ? at + a->n : at) * a->step;
}

static enum skiff_status take_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, TA_INDEX, 0);
    return infer_out(c, 0, 0, infer_in_dtype(c, TA_INPUT, 0), &s, err);
}

static enum skiff_status take_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, TA_INPUT);
    struct tensor *out = kernel_out(k, 0);
    struct along a;
    TRY(along_init(k, &in->shape, &a, err));
    for (int64_t i = 0; i < tensor_numel(out); i++)
        copy_element(dtype_size(in->dtype), out->data, i, in->data, along_at(&a, i));
    return SKIFF_OK;
}

static enum skiff_status first_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, 0, 0, err);
}

static enum skiff_status take_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct along a;
    if (!dx)
        return SKIFF_OK;
    TRY(along_init(k, &dx->shape, &a, err));
    int64_t n = tensor_numel(a.index);
    TRY(kernel_want_elements(k, TA_DRESULT, dx->dtype, n, err));
    tensor_clear(dx);
    DISPATCH_NUMBER(dx->dtype, T, {
        const T *d = kernel_in(k, TA_DRESULT)->data;
        T *to = dx->data;
        for (int64_t i = 0; i < n; i++)
            to[along_at(&a, i)] += d[i];
    })
    return SKIFF_OK;
}

enum put_how { PUT_ASSIGN, PUT_ADD, PUT_MUL, PUT_MIN, PUT_MAX };

static enum skiff_status put_how_of(const struct kernel *k, enum put_how *out,
                                    struct skiff_error *err)
{
    static const char *const names[] = {"assign", "add", "mul", "amin", "amax", "multiply"};
    const char *given = k->attr[PT_REDUCE].s ? k->attr[PT_REDUCE].s : "";
    for (int i = 0; i < 6; i++)
        if (!strcmp(given, names[i])) {
            *out = i == 5 ? PUT_MUL : (enum put_how)i;
            return SKIFF_OK;
        }
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "Reduce is '%s', must be assign, add, mul, amin or amax", given);
}

#define PUT(T, how, old, new)                                   \
    (T)((how) == PUT_ASSIGN                     ? (new)         \
        : (how) == PUT_ADD                      ? (old) + (new) \
        : (how) == PUT_MUL                      ? (old) * (new) \
        : ((how) == PUT_MIN) == ((new) < (old)) ? (new)         \
                                                : (old))

static enum skiff_status put_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, PT_INPUT), *value = kernel_in(k, PT_VALUE);
    struct tensor *out = kernel_out(k, 0);
    enum put_how how;
    struct along a;
    TRY(put_how_of(k, &how, err));
    TRY(kernel_check_dtype(k, PT_INPUT, dtype_is_number, "a number", err));
    TRY(along_init(k, &in->shape, &a, err));
    int64_t n = tensor_numel(a.index);
    TRY(kernel_want_elements(k, PT_VALUE, in->dtype, n, err));
    if (out->data != in->data)
        bytes_copy(out->data, in->data, tensor_bytes(in));
    DISPATCH_NUMBER(in->dtype, T, {
        const T *v = value->data;
        T *to = out->data;
        for (int64_t i = 0; i < n; i++) {
            T *at = to + along_at(&a, i);
            *at = PUT(T, how, *at, v[i]);
        }
    })
    return SKIFF_OK;
}

static enum skiff_status put_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, PT_INPUT, 0, err));
    return infer_grad_of(c, PT_VALUE, 1, err);
}

static enum skiff_status put_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *in = kernel_in(k, PT_INPUT), *d = kernel_in(k, PT_DRESULT);
    enum put_how how;
    struct along a;
    TRY(put_how_of(k, &how, err));
    TRY(kernel_check_dtype(k, PT_INPUT, dtype_is_float, "float32 or float64", err));
    TRY(along_init(k, &in->shape, &a, err));
    int64_t n = tensor_numel(a.index);
    for (int slot = PT_RESULT; slot <= PT_DRESULT; slot++)
        TRY(kernel_want_elements(k, slot, in->dtype, tensor_numel(in), err));
    TRY(kernel_want_elements(k, PT_VALUE, in->dtype, n, err));
    if (kernel_wants(k, 0))
        bytes_copy(kernel_out(k, 0)->data, d->data, tensor_bytes(d));
    DISPATCH_FLOAT(in->dtype, T, {
        const T *x = in->data, *v = kernel_in(k, PT_VALUE)->data;
        const T *up = d->data, *result = kernel_in(k, PT_RESULT)->data;
        T *dx = kernel_out_data(k, 0), *dv = kernel_out_data(k, 1);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = along_at(&a, i);
            if (dx && how != PUT_ADD)
                dx[at] = how == PUT_ASSIGN ? 0
                         : how == PUT_MUL  ? up[at] * result[at] / x[at]
                                           : (result[at] == x[at] ? up[at] : 0);
            if (dv)
                dv[i] = how == PUT_MUL ? up[at] * result[at] / v[i]
                        : (how == PUT_MIN || how == PUT_MAX) && result[at] != v[i] ? 0
                                                                                   : up[at];
        }
    })
    return SKIFF_OK;
}

/* ---- index_sample ---- */

static enum skiff_status sample_check(const struct kernel *k, const struct shape *x,
                                      struct skiff_error *err)
{
    const struct tensor *index = kernel_in(k, 1);
    TRY(kernel_check_dtype(k, 1, dtype_is_index, "int32 or int64", err));
    if (x->ndim != 2 || index->shape.ndim != 2 || index->shape.dims[0] != x->dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Index must be matrices with equal rows");
    for (int64_t i = 0; i < tensor_numel(index); i++) {
        int64_t at = tensor_int_at(index, i);
        if (at < 0 || at >= x->dims[1])
            return kernel_bad_index(k, 1, i, at, x->dims[1], "columns of X", err);
    }
    return SKIFF_OK;
}

static int64_t sample_at(const struct tensor *index, int64_t width, int64_t i)
{
    return i / index->shape.dims[1] * width + tensor_int_at(index, i);
}

static enum skiff_status sample_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *index = kernel_in(k, 1);
    TRY(sample_check(k, &x->shape, err));
    for (int64_t i = 0; i < tensor_numel(index); i++)
        copy_element(dtype_size(x->dtype), kernel_out(k, 0)->data, i, x->data,
                     sample_at(index, x->shape.dims[1], i));
    return SKIFF_OK;
}

static enum skiff_status sample_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *index = kernel_in(k, 1);
    struct tensor *dx = kernel_out(k, 0);
    int64_t n = tensor_numel(index);
    if (!dx)
        return SKIFF_OK;
    TRY(sample_check(k, &dx->shape, err));
    TRY(kernel_want_elements(k, 2, dx->dtype, n, err));
    tensor_clear(dx);
    DISPATCH_NUMBER(dx->dtype, T, {
        const T *d = kernel_in(k, 2)->data;
        T *to = dx->data;
        for (int64_t i = 0; i < n; i++)
            to[sample_at(index, dx->shape.dims[1], i)] += d[i];
    })
    return SKIFF_OK;
}

/* ---- index_put ---- */
enum { IP_X, IP_INDICES, IP_VALUE, IP_DOUT };

/* The targets: `starts` of runs of `inner` elements; `shape` = the shape to which a value is
 * broadcast. */
struct positions {
    int64_t *starts, n, inner;
    struct shape shape;
};

static enum skiff_status mask_positions(struct kernel *k, const struct shape *x,
                                        struct positions *p, struct skiff_error *err)
{
    const struct tensor *mask = kernel_in(k, IP_INDICES);
    const bool *held = mask->data;
    bool fits = mask->shape.ndim <= x->ndim && kernel_in_count(k, IP_INDICES) == 1;
    for (int i = 0; fits && i < mask->shape.ndim; i++)
        fits = mask->shape.dims[i] == x->dims[i];
    if (!fits)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "a mask must be the only index and have the leading dims of x");
    void *capacity;
    TRY(kernel_scratch(k, (size_t)(tensor_numel(mask) + 1) * sizeof(int64_t), &capacity, err));
    *p = (struct positions){.starts = capacity, .inner = shape_cols(x, mask->shape.ndim)};
    for (int64_t i = 0; i < tensor_numel(mask); i++)
        if (held[i])
            p->starts[p->n++] = i * p->inner;
    p->shape = SHAPE(p->n);
    for (int i = mask->shape.ndim; i < x->ndim; i++)
        p->shape.dims[p->shape.ndim++] = x->dims[i];
    return SKIFF_OK;
}

/* Adds index tensor i, on dim i, to the targets. */
static enum skiff_status index_positions(struct kernel *k, const struct shape *x,
                                         const struct shape *wide, int i, struct positions *p,
                                         struct skiff_error *err)
{
    const struct tensor *index = kernel_in_at(k, IP_INDICES, i);
    int64_t strides[TENSOR_MAX_DIMS], limit = x->dims[i];
    if (!dtype_is_index(index->dtype) || !repeat_strides(&index->shape, wide, strides))
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "index %d (%s) must hold int32 or int64 numbers that fit the others", i,
                           kernel_in_name(k, IP_INDICES, i));
    for (int64_t j = 0; j < p->n; j++) {
        int64_t at = tensor_int_at(index, strides_at(wide, strides, j));
        if (at < -limit || at >= limit)
            return kernel_bad_index(k, IP_INDICES, j, at, limit, "size of the dim", err);
        p->starts[j] += (at < 0 ? at + limit : at) * shape_cols(x, i + 1);
    }
    return SKIFF_OK;
}

static enum skiff_status positions_of(struct kernel *k, const struct shape *x, struct positions *p,
                                      struct skiff_error *err)
{
    int count = kernel_in_count(k, IP_INDICES);
    struct shape wide = {0};
    if (count && kernel_in(k, IP_INDICES)->dtype == DTYPE_BOOL)
        return mask_positions(k, x, p, err);
    bool fits = count > 0 && count <= x->ndim;
    for (int i = 0; fits && i < count; i++) {
        struct shape so_far = wide;
        fits = broadcast_shape(&so_far, &kernel_in_at(k, IP_INDICES, i)->shape, -1, &wide);
    }
    if (!fits || wide.ndim + x->ndim - count > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_SHAPE, err, "%d indices do not fit x of %d dims", count,
                           x->ndim);
    void *capacity;
    *p = (struct positions){.n = shape_numel(&wide), .inner = shape_cols(x, count), .shape = wide};
    TRY(kernel_scratch(k, (size_t)(p->n + 1) * sizeof(int64_t), &capacity, err));
    p->starts = capacity;
    memset(capacity, 0, (size_t)p->n * sizeof(int64_t));
    for (int i = 0; i < count; i++)
        TRY(index_positions(k, x, &wide, i, p, err));
    for (int i = count; i < x->ndim; i++)
        p->shape.dims[p->shape.ndim++] = x->dims[i];
    return SKIFF_OK;
}

static enum skiff_status value_strides(const struct kernel *k, const struct shape *value,
                                       const struct positions *p, int64_t *strides,
                                       struct skiff_error *err)
{
    char want[160], found[160];
    if (repeat_strides(value, &p->shape, strides))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_SHAPE, err, "a value of shape %s cannot be repeated to %s",
                       shape_text(value, found), shape_text(&p->shape, want));
}

static enum skiff_status index_put_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IP_X), *value = kernel_in(k, IP_VALUE);
    struct tensor *out = kernel_out(k, 0);
    int64_t strides[TENSOR_MAX_DIMS];
    bool add = k->attr[0].b;
    struct positions p;
    TRY(kernel_check_dtype(k, IP_X, dtype_is_any, "a number or bool", err));
    TRY(kernel_check_same_dtype(k, IP_VALUE, IP_X, err));
    TRY(positions_of(k, &x->shape, &p, err));
    TRY(value_strides(k, &value->shape, &p, strides, err));
    if (out->data != x->data)
        bytes_copy(out->data, x->data, tensor_bytes(x));
    DISPATCH_ALL(x->dtype, T, {
        const T *v = value->data;
        T *to = out->data;
        for (int64_t i = 0; i < p.n * p.inner; i++) {
            T *at = to + p.starts[i / p.inner] + i % p.inner,
              e = v[strides_at(&p.shape, strides, i)];
            *at = add ? (T)(*at + e) : e;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status index_put_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, IP_X, 0, err));
    return infer_grad_of(c, IP_VALUE, 1, err);
}

static enum skiff_status index_put_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, IP_DOUT);
    struct tensor *dx = kernel_out(k, 0), *dv = kernel_out(k, 1);
    int64_t strides[TENSOR_MAX_DIMS] = {0};
    bool add = k->attr[0].b;
    struct positions p;
    TRY(kernel_check_dtype(k, IP_DOUT, dtype_is_float, "float32 or float64", err));
    if ((dx && (!shape_equal(&dx->shape, &d->shape) || dx->dtype != d->dtype)) ||
        (dv && dv->dtype != d->dtype))
        return kernel_fail(k, SKIFF_SHAPE, err, "out@GRAD (%s) must be like x, and of value's type",
                           kernel_in_name(k, IP_DOUT, 0));
    TRY(positions_of(k, &d->shape, &p, err));
    if (dv)
        TRY(value_strides(k, &dv->shape, &p, strides, err));
    if (dv)
        tensor_clear(dv);
    if (dx)
        bytes_copy(dx->data, d->data, tensor_bytes(d));
    DISPATCH_FLOAT(d->dtype, T, {
        const T *up = d->data;
        T *to_x = dx ? dx->data : NULL, *to_v = dv ? dv->data : NULL;
        for (int64_t i = 0; i < p.n * p.inner; i++) {
            int64_t at = p.starts[i / p.inner] + i % p.inner;
            if (to_v)
                to_v[strides_at(&p.shape, strides, i)] += up[at];
            if (to_x && !add)
                to_x[at] = 0;
        }
    })
    return SKIFF_OK;
}

/* ---- multiplex ---- */
enum { MX_X, MX_IDS, MX_DOUT };

static enum skiff_status multiplex_infer(struct infer *c, struct skiff_error *err)
{
    for (int i = 1; i < infer_in_count(c, MX_X); i++) {
        const struct shape *a = infer_in(c, MX_X, 0), *b = infer_in(c, MX_X, i);
        bool same = a->ndim == b->ndim && infer_in_dtype(c, MX_X, i) == infer_in_dtype(c, MX_X, 0);
        for (int d = 0; same && d < a->ndim; d++)
            same = dims_agree(a->dims[d], b->dims[d]);
        if (!same)
            return infer_fail(c, MX_X, i, err, "must be like the first one");
    }
    struct shape s = *infer_in(c, MX_X, 0);
    return infer_out(c, 0, 0, infer_in_dtype(c, MX_X, 0), &s, err);
}

/* Rows and their bytes; the ids are checked against the n tensors. */
static enum skiff_status multiplex_rows(const struct kernel *k, const struct tensor *whole, int n,
                                        int64_t *rows, size_t *bytes, struct skiff_error *err)
{
    const struct tensor *ids = kernel_in(k, MX_IDS);
    TRY(kernel_check_dtype(k, MX_IDS, dtype_is_index, "int32 or int64", err));
    *rows = whole->shape.ndim ? whole->shape.dims[0] : 0;
    *bytes = *rows ? tensor_bytes(whole) / (size_t)*rows : 0;
    if (tensor_numel(ids) != *rows)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Ids (%s) must have one number per row",
                           kernel_in_name(k, MX_IDS, 0));
    for (int64_t i = 0; i < *rows; i++)
        if (tensor_int_at(ids, i) < 0 || tensor_int_at(ids, i) >= n)
            return kernel_bad_index(k, MX_IDS, i, tensor_int_at(ids, i), n, "tensors of X", err);
    return SKIFF_OK;
}

static enum skiff_status multiplex_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t rows;
    size_t bytes;
    TRY(multiplex_rows(k, out, kernel_in_count(k, MX_X), &rows, &bytes, err));
    for (int64_t i = 0; i < rows; i++) {
        int from = (int)tensor_int_at(kernel_in(k, MX_IDS), i);
        bytes_copy((char *)out->data + (size_t)i * bytes,
                   (const char *)kernel_in_at(k, MX_X, from)->data + (size_t)i * bytes, bytes);
    }
    return SKIFF_OK;
}

static enum skiff_status multiplex_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, MX_DOUT, 0);
    enum dtype t = infer_in_dtype(c, MX_DOUT, 0);
    for (int i = 0; i < infer_out_count(c, 0); i++)
        TRY(infer_out(c, 0, i, t, &s, err));
    return SKIFF_OK;
}

static enum skiff_status multiplex_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, MX_DOUT);
    int64_t rows;
    size_t bytes;
    TRY(multiplex_rows(k, d, kernel_out_count(k, 0), &rows, &bytes, err));
    for (int i = 0; i < kernel_out_count(k, 0); i++)
        if (kernel_out_at(k, 0, i))
            tensor_clear(kernel_out_at(k, 0, i));
    for (int64_t i = 0; i < rows; i++) {
        struct tensor *to = kernel_out_at(k, 0, (int)tensor_int_at(kernel_in(k, MX_IDS), i));
        if (to)
            bytes_copy((char *)to->data + (size_t)i * bytes,
                       (const char *)d->data + (size_t)i * bytes, bytes);
    }
    return SKIFF_OK;
}

/* ---- repeat_interleave ---- */
enum { RI_X, RI_REPEATS, RI_DOUT };
enum { RI_COUNT, RI_DIM };

static enum skiff_status repeat_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, RI_X, 0);
    int a;
    TRY(infer_axis(c, RI_X, "dim", c->attr[RI_DIM].i, s.ndim, &a, err));
    bool known = s.dims[a] >= 0 && !infer_in_count(c, RI_REPEATS);
    s.dims[a] = known ? s.dims[a] * c->attr[RI_COUNT].i : -1;
    return infer_out(c, 0, 0, infer_in_dtype(c, RI_X, 0), &s, err);
}

/* Lines of X along the axis, and how many there are in the result. */
static enum skiff_status repeat_lines(const struct kernel *k, struct axis_view *l, int64_t *total,
                                      struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, RI_X), *repeats = kernel_in(k, RI_REPEATS);
    int a = axis_of(k->attr[RI_DIM].i, x->shape.ndim);
    if (a < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "dim %d is out of range", k->attr[RI_DIM].i);
    *l = shape_lines(&x->shape, a);
    *total = l->n * k->attr[RI_COUNT].i;
    if (!repeats)
        return *total < 0 ? kernel_fail(k, SKIFF_INVALID, err, "Repeats is negative") : SKIFF_OK;
    TRY(kernel_check_dtype(k, RI_REPEATS, dtype_is_index, "int32 or int64", err));
    *total = 0;
    for (int64_t i = 0; i < tensor_numel(repeats); i++) {
        if (tensor_int_at(repeats, i) < 0 || tensor_numel(repeats) != l->n)
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "input RepeatsTensor (%s) must have %lld numbers, none negative",
                               kernel_in_name(k, RI_REPEATS, 0), (long long)l->n);
        *total += tensor_int_at(repeats, i);
    }
    return SKIFF_OK;
}

static int64_t repeat_count(const struct kernel *k, int64_t i)
{
    const struct tensor *repeats = kernel_in(k, RI_REPEATS);
    return repeats ? tensor_int_at(repeats, i) : k->attr[RI_COUNT].i;
}

static enum skiff_status repeat_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, RI_X);
    struct shape s = x->shape;
    struct axis_view l;
    int64_t total;
    TRY(repeat_lines(k, &l, &total, err));
    s.dims[axis_of(k->attr[RI_DIM].i, s.ndim)] = total;
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    size_t bytes = (size_t)l.inner * dtype_size(x->dtype);
    char *to = kernel_out(k, 0)->data;
    for (int64_t i = 0; i < l.outer * l.n; i++)
        for (int64_t r = 0; r < repeat_count(k, i % l.n); r++, to += bytes)
            bytes_copy(to, (const char *)x->data + (size_t)i * bytes, bytes);
    return SKIFF_OK;
}

static enum skiff_status repeat_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct axis_view l;
    int64_t total;
    if (!dx)
        return SKIFF_OK;
    TRY(repeat_lines(k, &l, &total, err));
    TRY(kernel_want_elements(k, RI_DOUT, dx->dtype, l.outer * total * l.inner, err));
    tensor_clear(dx);
    DISPATCH_NUMBER(dx->dtype, T, {
        const T *d = kernel_in(k, RI_DOUT)->data;
        for (int64_t i = 0; i < l.outer * l.n; i++) {
            T *to = (T *)dx->data + i * l.inner;
            for (int64_t r = 0; r < repeat_count(k, i % l.n); r++, d += l.inner)
                for (int64_t j = 0; j < l.inner; j++)
                    to[j] += d[j];
        }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot take_in[] = {{"Input", 0}, {"Index", 0}, {0}};
static const struct op_slot take_grad_in[] = {
    {"Input", SLOT_SHAPE_ONLY}, {"Index", 0}, {"Result@GRAD", 0}, {0}};
static const struct op_slot result_out[] = {{"Result", 0}, {0}};
static const struct op_slot dinput_out[] = {{"Input@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot put_in[] = {{"Input", 0}, {"Index", 0}, {"Value", 0}, {0}};
static const struct op_slot put_grad_in[] = {{"Input", 0},  {"Index", 0},       {"Value", 0},
                                             {"Result", 0}, {"Result@GRAD", 0}, {0}};
static const struct op_slot put_grad_out[] = {
    {"Input@GRAD", SLOT_OPTIONAL}, {"Value@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot xi_in[] = {{"X", 0}, {"Index", 0}, {0}};
static const struct op_slot xi_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Index", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot index_put_in[] = {{"x", 0}, {"indices", SLOT_LIST}, {"value", 0}, {0}};
static const struct op_slot index_put_grad_in[] = {{"x", SLOT_SHAPE_ONLY},
                                                   {"indices", SLOT_LIST},
                                                   {"value", SLOT_SHAPE_ONLY},
                                                   {"out@GRAD", 0},
                                                   {0}};
static const struct op_slot small_out[] = {{"out", 0}, {0}};
static const struct op_slot index_put_grad_out[] = {
    {"x@GRAD", SLOT_OPTIONAL}, {"value@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot multiplex_in[] = {{"X", SLOT_LIST}, {"Ids", 0}, {0}};
static const struct op_slot multiplex_grad_in[] = {
    {"X", SLOT_LIST | SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {"Ids", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot dx_list[] = {{"X@GRAD", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot repeat_in[] = {{"X", 0}, {"RepeatsTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot repeat_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"RepeatsTensor", SLOT_OPTIONAL}, {"Out@GRAD", 0}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec take_attrs[] = {A_INT("Axis", 0), {0}};
static const struct op_attr_spec put_attrs[] = {
    A_INT("Axis", 0), A_STR("Reduce", "assign"), A_BOOL("Include_self", true), {0}};
static const struct op_attr_spec accumulate_attrs[] = {A_BOOL("accumulate", false), {0}};
static const struct op_attr_spec repeat_attrs[] = {A_INT("Repeats", 0), A_INT("dim", 0), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }

const struct op_kind ops_pick[] = {
    KIND("take_along_axis", GEN_2X, take_in, result_out, take_attrs, take_infer, take_run,
         .grad = "Input Index Result@GRAD -> Input@GRAD"),
    KIND("take_along_axis_grad", GEN_2X, take_grad_in, dinput_out, take_attrs, first_infer,
         take_grad_run, ),
    KIND("put_along_axis", GEN_2X, put_in, result_out, put_attrs, first_infer, put_run,
         .grad = "Input Index Value Result Result@GRAD -> Input@GRAD Value@GRAD"),
    KIND("put_along_axis_grad", GEN_2X, put_grad_in, put_grad_out, put_attrs, put_grad_infer,
         put_grad_run, ),
    KIND("index_sample", 0, xi_in, out_out, none, take_infer, sample_run,
         .grad = "X Index Out@GRAD -> X@GRAD"),
    KIND("index_sample_grad", 0, xi_grad_in, dx_out, none, first_infer, sample_grad_run, ),
    KIND("index_put", GEN_2X, index_put_in, small_out, accumulate_attrs, first_infer, index_put_run,
         .grad = "x indices value out@GRAD -> x@GRAD value@GRAD"),
    KIND("index_put_grad", GEN_2X, index_put_grad_in, index_put_grad_out, accumulate_attrs,
         index_put_grad_infer, index_put_grad_run, ),
    KIND("multiplex", GEN_1X, multiplex_in, out_out, none, multiplex_infer, multiplex_run,
         .grad = "Ids Out@GRAD -> X@GRAD"),
    KIND("multiplex", GEN_2X, multiplex_in, out_out, none, multiplex_infer, multiplex_run,
         .grad = "X Ids Out@GRAD -> X@GRAD"),
    KIND("multiplex_grad", 0, multiplex_grad_in, dx_list, none, multiplex_grad_infer,
         multiplex_grad_run, ),
    KIND("repeat_interleave", GEN_2X, repeat_in, out_out, repeat_attrs, repeat_infer, repeat_run,
         .flags = OP_OWN_SHAPE, .grad = "X RepeatsTensor Out@GRAD -> X@GRAD"),
    KIND("repeat_interleave_grad", GEN_2X, repeat_grad_in, dx_out, repeat_attrs, first_infer,
         repeat_grad_run, ),
    {0},
};
