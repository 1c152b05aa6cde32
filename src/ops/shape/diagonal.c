/* Diagonals and triangles: diag_v2, diag (1.x), diag_embed, diagonal, trace; eye, tril_indices,
 * triu_indices.
 *
 * All but the last three look at one walk, the diagonal of two axes of a tensor: it begins at
 * [0, offset] (offset >= 0) or [-offset, 0] and has as many places as fit. With it
 *   diagonal      Out = the walk, as the last axis; the two axes go away
 *   trace         Out = its sum
 *   diag_v2       of a matrix: diagonal; of a vector: a square matrix of padding_value with it
 *   diag_embed    X's last axis put on the diagonal of two new axes
 * The gradients walk the same places the other way.
 *   tril_indices  rows and columns of all places on and below a diagonal, as a [2, n] tensor */
#include "ops/seq_common.h"

enum { X, DOUT };
enum { A_OFFSET, A_AXIS1, A_AXIS2 };

struct diagonal {
    int64_t first, step, count; /* elements of the complete tensor; elements of the diagonal */
    struct shape rest;          /* the other dims, and their strides in the whole */
    int64_t strides[TENSOR_MAX_DIMS];
};

/* error text, or NULL. count is -1 if a dim is unknown. */
static const char *diagonal_init(struct diagonal *d, const struct shape *s, int64_t offset,
                                 int64_t axis1, int64_t axis2)
{
    int64_t strides[TENSOR_MAX_DIMS];
    int a = axis_of(axis1, s->ndim), b = axis_of(axis2, s->ndim);
    *d = (struct diagonal){0};
    if (a < 0 || b < 0 || a == b)
        return "the two axes must be different ones of it";
    shape_strides(s, strides);
    for (int i = 0; i < s->ndim; i++)
        if (i != a && i != b) {
            d->strides[d->rest.ndim] = strides[i];
            d->rest.dims[d->rest.ndim++] = s->dims[i];
        }
    int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    int64_t rows = s->dims[a] - down, cols = s->dims[b] - right;
    d->first = down * strides[a] + right * strides[b];
    d->step = strides[a] + strides[b];
    d->count = rows < cols ? rows : cols;
    d->count = s->dims[a] < 0 || s->dims[b] < 0 ? -1 : d->count < 0 ? 0 : d->count;
    return NULL;
}

/* Copies between the diagonals of the complete tensor and a tensor [rest.., count]. */
static void diagonal_move(const struct diagonal *d, size_t elem, void *whole, void *part, bool take)
{
    int64_t rows = shape_numel(&d->rest);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < d->count; i++) {
            int64_t at = d->first + strides_at(&d->rest, d->strides, r) + i * d->step;
            char *w = (char *)whole + (size_t)at * elem;
            char *p = (char *)part + (size_t)(r * d->count + i) * elem;
            memcpy(take ? p : w, take ? w : p, elem);
        }
}

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, X, 0, err);
}

/* ---- diagonal, trace ---- */

static enum skiff_status walk_infer(struct infer *c, bool keep, struct skiff_error *err)
{
    struct diagonal d;
    const struct attr_value *a = c->attr;
    const char *wrong =
        diagonal_init(&d, infer_in(c, X, 0), a[A_OFFSET].i, a[A_AXIS1].i, a[A_AXIS2].i);
    if (wrong)
        return infer_fail(c, X, 0, err, "%s", wrong);
    if (keep)
        d.rest.dims[d.rest.ndim++] = d.count;
    else if (!d.rest.ndim)
        d.rest = infer_one_number(c);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &d.rest, err);
}
static enum skiff_status diagonal_infer(struct infer *c, struct skiff_error *err)
{
    return walk_infer(c, true, err);
}
static enum skiff_status trace_infer(struct infer *c, struct skiff_error *err)
{
    return walk_infer(c, false, err);
}

static enum skiff_status walk_of(const struct kernel *k, struct diagonal *d,
                                 struct skiff_error *err)
{
    const struct attr_value *a = k->attr;
    const char *wrong =
        diagonal_init(d, &kernel_in(k, X)->shape, a[A_OFFSET].i, a[A_AXIS1].i, a[A_AXIS2].i);
    return wrong ? kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong) : SKIFF_OK;
}

static enum skiff_status diagonal_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct diagonal d;
    TRY(walk_of(k, &d, err));
    diagonal_move(&d, dtype_size(x->dtype), x->data, kernel_out(k, 0)->data, true);
    return SKIFF_OK;
}

static enum skiff_status diagonal_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct diagonal d;
    if (!dx)
        return SKIFF_OK;
    TRY(walk_of(k, &d, err));
    TRY(kernel_want_elements(k, DOUT, dx->dtype, shape_numel(&d.rest) * d.count, err));
    tensor_clear(dx);
    diagonal_move(&d, dtype_size(dx->dtype), dx->data, kernel_in(k, DOUT)->data, false);
    return SKIFF_OK;
}

static enum skiff_status trace_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct diagonal d;
    TRY(walk_of(k, &d, err));
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(x->dtype, T, {
        const T *p = x->data;
        T *out = kernel_out(k, 0)->data;
        for (int64_t r = 0; r < shape_numel(&d.rest); r++) {
            int64_t at = d.first + strides_at(&d.rest, d.strides, r);
            T sum = 0;
            for (int64_t i = 0; i < d.count; i++)
                sum = (T)WRAP_ADD(sum, p[at + i * d.step]);
            out[r] = sum;
        }
    })
    return SKIFF_OK;
}

static enum skiff_status trace_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct diagonal d;
    if (!dx)
        return SKIFF_OK;
    TRY(walk_of(k, &d, err));
    TRY(kernel_want_elements(k, DOUT, dx->dtype, shape_numel(&d.rest), err));
    tensor_clear(dx);
    DISPATCH_NUMBER(dx->dtype, T, {
        const T *up = kernel_in(k, DOUT)->data;
        T *to = dx->data;
        for (int64_t r = 0; r < shape_numel(&d.rest); r++)
            for (int64_t i = 0; i < d.count; i++)
                to[d.first + strides_at(&d.rest, d.strides, r) + i * d.step] = up[r];
    })
    return SKIFF_OK;
}

/* ---- diag_v2, diag: the diagonal of a matrix, or a matrix of a vector ---- */
enum { VECTOR_ONLY = 1 }; /* op_kind.arg: no attributes, and X is a vector (diag) */

static int32_t diag_offset(const struct op_kind *kind, const struct attr_value *attr)
{
    return kind->arg == VECTOR_ONLY ? 0 : attr[A_OFFSET].i;
}

static enum skiff_status diag_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    int32_t offset = diag_offset(c->kind, c->attr);
    struct diagonal d;
    if (x->ndim != 1 && (x->ndim != 2 || c->kind->arg == VECTOR_ONLY))
        return infer_fail(c, X, 0, err, "must be a vector or a matrix");
    int64_t side = x->dims[0] < 0 ? -1 : x->dims[0] + (offset < 0 ? -offset : offset);
    struct shape out = SHAPE(side, side);
    if (x->ndim == 2) {
        diagonal_init(&d, x, offset, 0, 1);
        out = SHAPE(d.count);
    }
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

static enum skiff_status diag_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(out);
    bool vector = x->shape.ndim == 1;
    struct diagonal d;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    diagonal_init(&d, vector ? &out->shape : &x->shape, diag_offset(k->kind, k->attr), 0, 1);
    float fill = k->kind->arg == VECTOR_ONLY ? 0 : k->attr[1].f;
    if (vector)
        DISPATCH_NUMBER(x->dtype, T, {
            T *o = out->data;
            for (int64_t i = 0; i < n; i++)
                o[i] = (T)fill;
        })
    diagonal_move(&d, dtype_size(x->dtype), vector ? out->data : x->data,
                  vector ? x->data : out->data, !vector);
    return SKIFF_OK;
}

static enum skiff_status diag_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *dout = kernel_in(k, DOUT);
    struct tensor *dx = kernel_out(k, 0);
    bool vector = x->shape.ndim == 1;
    struct diagonal d;
    if (!dx)
        return SKIFF_OK;
    const char *wrong =
        diagonal_init(&d, vector ? &dout->shape : &x->shape, k->attr[A_OFFSET].i, 0, 1);
    if (wrong || dout->dtype != dx->dtype || d.rest.ndim ||
        (vector ? tensor_numel(dx) : tensor_numel(dout)) != d.count)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X",
                           kernel_in_name(k, DOUT, 0));
    tensor_clear(dx);
    diagonal_move(&d, dtype_size(dx->dtype), vector ? dout->data : dx->data,
                  vector ? dx->data : dout->data, vector);
    return SKIFF_OK;
}

/* ---- diag_embed ---- */

static enum skiff_status embed_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    int32_t offset = c->attr[A_OFFSET].i;
    int rank = x->ndim + 1, a = axis_of(c->attr[A_AXIS1].i, rank);
    int b = axis_of(c->attr[A_AXIS2].i, rank);
    if (x->ndim < 1 || rank > TENSOR_MAX_DIMS || a < 0 || b < 0 || a == b)
        return infer_fail(c, X, 0, err, "dim1 and dim2 must be different axes of the result");
    int64_t n = x->dims[x->ndim - 1], side = n < 0 ? -1 : n + (offset < 0 ? -offset : offset);
    struct shape out = {.ndim = rank};
    for (int i = 0, from = 0; i < rank; i++)
        out.dims[i] = i == a || i == b ? side : x->dims[from++];
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

static enum skiff_status embed_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct diagonal d;
    diagonal_init(&d, &out->shape, k->attr[A_OFFSET].i, k->attr[A_AXIS1].i, k->attr[A_AXIS2].i);
    tensor_clear(out);
    diagonal_move(&d, dtype_size(x->dtype), out->data, x->data, false);
    return SKIFF_OK;
}

/* ---- eye, tril_indices, triu_indices ---- */
enum { EYE_ROWS, EYE_COLS, EYE_DTYPE };

static enum skiff_status eye_infer(struct infer *c, struct skiff_error *err)
{
    int64_t rows = c->attr[EYE_ROWS].l, cols = c->attr[EYE_COLS].l;
    struct shape s = SHAPE(rows, cols < 0 ? rows : cols);
    if (rows < 0 || !dtype_is_any((enum dtype)c->attr[EYE_DTYPE].i))
        return error_set(err, SKIFF_INVALID, "op eye: num_rows is %lld, dtype is %d",
                         (long long)rows, c->attr[EYE_DTYPE].i);
    return infer_out(c, 0, 0, (enum dtype)c->attr[EYE_DTYPE].i, &s, err);
}

static enum skiff_status eye_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t rows = out->shape.dims[0], cols = out->shape.dims[1];
    tensor_clear(out);
    DISPATCH_ALL(out->dtype, T, {
        T *o = out->data;
        for (int64_t i = 0; i < rows && i < cols; i++)
            o[i * cols + i] = 1;
    })
    return SKIFF_OK;
}

enum { TRI_ROWS, TRI_COLS, TRI_OFFSET, TRI_DTYPE };

/* Columns [from, to) of a row. */
static void tri_row(const struct attr_value *attr, bool lower, int64_t row, int64_t *from,
                    int64_t *to)
{
    int64_t cols = attr[TRI_COLS].i, edge = row + attr[TRI_OFFSET].i + (lower ? 1 : 0);
    edge = edge < 0 ? 0 : edge > cols ? cols : edge;
    *from = lower ? 0 : edge;
    *to = lower ? edge : cols;
}

static enum skiff_status tri_infer(struct infer *c, bool lower, struct skiff_error *err)
{
    enum dtype t = (enum dtype)c->attr[TRI_DTYPE].i;
    int64_t n = 0, from, to;
    if (c->attr[TRI_ROWS].i < 0 || c->attr[TRI_COLS].i < 0 || !dtype_is_index(t))
        return error_set(err, SKIFF_INVALID,
                         "op %s: rows and columns must not be negative, dtype int32 or int64",
                         c->kind->type);
    for (int64_t r = 0; r < c->attr[TRI_ROWS].i; r++) {
        tri_row(c->attr, lower, r, &from, &to);
        n += to - from;
    }
    struct shape s = SHAPE(2, n);
    return infer_out(c, 0, 0, t, &s, err);
}
static enum skiff_status tril_infer(struct infer *c, struct skiff_error *err)
{
    return tri_infer(c, true, err);
}
static enum skiff_status triu_infer(struct infer *c, struct skiff_error *err)
{
    return tri_infer(c, false, err);
}

static enum skiff_status tri_run(struct kernel *k, bool lower)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t n = out->shape.dims[1], at = 0, from, to;
    DISPATCH_INDEX(out->dtype, T, {
        T *o = out->data;
        for (int64_t r = 0; r < k->attr[TRI_ROWS].i; r++) {
            tri_row(k->attr, lower, r, &from, &to);
            for (int64_t c = from; c < to; c++, at++) {
                o[at] = (T)r;
                o[n + at] = (T)c;
            }
        }
    })
    return SKIFF_OK;
}
static enum skiff_status tril_run(struct kernel *k, struct skiff_error *err)
{
    return tri_run(k, true);
}
static enum skiff_status triu_run(struct kernel *k, struct skiff_error *err)
{
    return tri_run(k, false);
}

/* ---- tables ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot diagonal_x_in[] = {{"Diagonal", 0}, {0}};
static const struct op_slot input_in[] = {{"Input", 0}, {0}};
static const struct op_slot no_in[] = {{0}};
static const struct op_slot x_grad_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot input_grad_in[] = {{"Input", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot small_out[] = {{"out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot dinput_out[] = {{"Input@GRAD", SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec walk_attrs[] = {
    A_INT("offset", 0), A_INT("axis1", 0), A_INT("axis2", 1), {0}};
static const struct op_attr_spec embed_attrs[] = {
    A_INT("offset", 0), A_INT("dim1", -2), A_INT("dim2", -1), {0}};
static const struct op_attr_spec diag_attrs[] = {
    A_INT("offset", 0), A_FLOAT("padding_value", 0.0f), {0}};
static const struct op_attr_spec eye_attrs_1x[] = {
    A_REQ("num_rows", ATTR_LONG), A_LONG("num_columns", -1), A_INT("dtype", DTYPE_FP32), {0}};
static const struct op_attr_spec tril_attrs[] = {
    A_INT("rows", 0), A_INT("cols", 0), A_INT("offset", 0), A_INT("dtype", DTYPE_INT64), {0}};
static const struct op_attr_spec triu_attrs[] = {
    A_INT("row", 0), A_INT("col", 0), A_INT("offset", 0), A_INT("dtype", DTYPE_INT64), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define BY_INPUT .grad = "Input Out@GRAD -> Input@GRAD"
#define NO_GRAD .flags = OP_NO_GRAD_NEEDED

const struct op_kind ops_diagonal[] = {
    KIND("diagonal", GEN_2X, input_in, out_out, walk_attrs, diagonal_infer, diagonal_run, BY_INPUT),
    KIND("diagonal_grad", GEN_2X, input_grad_in, dinput_out, walk_attrs, grad_infer,
         diagonal_grad_run, ),
    KIND("trace", GEN_1X, input_in, out_out, embed_attrs, trace_infer, trace_run, BY_INPUT,
         .flags = OP_ONE_DIM),
    KIND("trace_grad", GEN_1X, input_grad_in, dinput_out, embed_attrs, grad_infer,
         trace_grad_run, ),
    KIND("trace", GEN_2X, input_in, out_out, walk_attrs, trace_infer, trace_run, BY_INPUT),
    KIND("trace_grad", GEN_2X, input_grad_in, dinput_out, walk_attrs, grad_infer, trace_grad_run, ),
    KIND("diag", GEN_1X, diagonal_x_in, out_out, none, diag_infer, diag_run, NO_GRAD,
         .arg = VECTOR_ONLY),
    KIND("diag_v2", GEN_2X, x_in, out_out, diag_attrs, diag_infer, diag_run,
         .grad = "X Out@GRAD -> X@GRAD"),
    KIND("diag_v2_grad", GEN_2X, x_grad_in, dx_out, diag_attrs, grad_infer, diag_grad_run, ),
    KIND("diag_embed", 0, input_in, out_out, embed_attrs, embed_infer, embed_run, NO_GRAD),
    KIND("eye", 0, no_in, out_out, eye_attrs_1x, eye_infer, eye_run, NO_GRAD),
    KIND("tril_indices", GEN_2X, no_in, small_out, tril_attrs, tril_infer, tril_run, NO_GRAD),
    KIND("triu_indices", GEN_2X, no_in, small_out, triu_attrs, triu_infer, triu_run, NO_GRAD),
    {0},
};
