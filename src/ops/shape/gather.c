/* Picking elements by index or mask: gather, index_select, gather_nd, scatter, scatter_nd_add,
 * index_add, where, where_index, masked_select.
 *
 *   gather         Out = X at Index along an axis (1.x: axis 0). Gradient: rows of Out@GRAD added
 *                  at Index; in 1.x with `overwrite` (its default) a repeated index keeps the last
 *   gather_nd      the last dim of Index holds coordinates of the first dims of X
 *   scatter        Out = X with rows Ids replaced by Updates (a repeated id keeps the last one),
 *                  or, not overwriting, set to zero and the updates added
 *                  gradient: Updates@GRAD = rows of Out@GRAD; X@GRAD = Out@GRAD, in 2.x with the
 *                  rows Ids zero (1.x leaves them, as its CPU kernel does)
 *   scatter_nd_add X with Updates added at the coordinates of Index; index_add the same along an
 *                  axis. Gradient: Out@GRAD, and what was picked from it
 *   where          Condition ? X : Y
 *   where_index    coordinates of what is not zero
 *   masked_select  the elements where Mask is true, in order
 * An index out of range is an error that names it. */
#include "ops/ops_common.h"

#include <string.h>

enum { X, INDEX, AXIS, DOUT };

static int64_t index_at(const struct tensor *t, int64_t i)
{
    return t->dtype == DTYPE_INT64 ? tensor_i64(t)[i] : tensor_i32(t)[i];
}

/* Adds a run of numbers. */
static void add_run(enum dtype t, int64_t n, const void *from, void *to)
{
    DISPATCH_NUMBER(t, T, const T *f = from; T *o = to;
                    for (int64_t i = 0; i < n; i++) o[i] += f[i])
}

static enum skiff_status check_index(const struct kernel *k, int slot, int64_t limit,
                                     struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    TRY(kernel_check_dtype(k, slot, dtype_is_index, "int32 or int64", err));
    int64_t n = tensor_numel(t);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = index_at(t, i);
        if (v < 0 || v >= limit)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input %s (%s): element %lld is %lld, must lie in [0, %lld)",
                               k->kind->ins[slot].name, kernel_in_name(k, slot, 0), (long long)i,
                               (long long)v, (long long)limit);
    }
    return SKIFF_OK;
}

/* ---- gather, index_select ---- */

/* Copies (or adds, or puts back) runs of `inner` elements between X and Out along an axis. */
enum move { MOVE_TAKE, MOVE_PUT, MOVE_ADD };

static void move_rows(struct axis_view l, const struct tensor *index, enum dtype t,
                      const void *from, void *to, enum move how)
{
    int64_t n = tensor_numel(index);
    size_t run = (size_t)l.inner * dtype_size(t);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < n; i++) {
            size_t in_x = (size_t)(o * l.n + index_at(index, i)) * run;
            size_t in_out = (size_t)(o * n + i) * run;
            if (how == MOVE_TAKE)
                memcpy((char *)to + in_out, (const char *)from + in_x, run);
            else if (how == MOVE_PUT)
                memcpy((char *)to + in_x, (const char *)from + in_out, run);
            else
                add_run(t, l.inner, (const char *)from + in_out, (char *)to + in_x);
        }
}

static enum skiff_status take_run(struct kernel *k, int axis, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *index = kernel_in(k, INDEX);
    struct axis_view l = shape_lines(&x->shape, axis);
    TRY(check_index(k, INDEX, l.n, err));
    move_rows(l, index, x->dtype, x->data, kernel_out(k, 0)->data, MOVE_TAKE);
    return SKIFF_OK;
}

static enum skiff_status put_run(struct kernel *k, int axis, int dout_slot, enum move how,
                                 struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, dout_slot), *index = kernel_in(k, INDEX);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    if (axis < 0 || axis >= dx->shape.ndim)
        return kernel_fail(k, SKIFF_SHAPE, err, "X has no such axis");
    struct axis_view l = shape_lines(&dx->shape, axis);
    TRY(check_index(k, INDEX, l.n, err));
    TRY(kernel_check_dtype(k, dout_slot, dtype_is_number, "a number", err));
    if (tensor_numel(d) != l.outer * tensor_numel(index) * l.inner || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X and Index",
                           kernel_in_name(k, dout_slot, 0));
    tensor_clear(dx);
    move_rows(l, index, d->dtype, d->data, dx->data, how);
    return SKIFF_OK;
}

static int gather_axis(const struct kernel *k)
{
    const struct tensor *t = kernel_in(k, AXIS);
    int64_t axis = k->attr[0].i;
    if (t)
        tensor_read_ints(t, &axis, 1);
    return axis_of(axis, kernel_in(k, X)->shape.ndim);
}

static enum skiff_status gather_1x_run(struct kernel *k, struct skiff_error *err)
{
    return take_run(k, 0, err);
}
static enum skiff_status gather_1x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return put_run(k, 0, 2, k->attr[0].b ? MOVE_PUT : MOVE_ADD, err);
}
static enum skiff_status gather_2x_run(struct kernel *k, struct skiff_error *err)
{
    return take_run(k, gather_axis(k), err);
}
static enum skiff_status gather_2x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return put_run(k, gather_axis(k), DOUT, MOVE_ADD, err);
}
static enum skiff_status index_select_run(struct kernel *k, struct skiff_error *err)
{
    return take_run(k, axis_of(k->attr[0].i, kernel_in(k, X)->shape.ndim), err);
}
static enum skiff_status index_select_grad_run(struct kernel *k, struct skiff_error *err)
{
    return put_run(k, axis_of(k->attr[0].i, kernel_in(k, X)->shape.ndim), 2, MOVE_ADD, err);
}

static enum skiff_status take_shape(struct infer *c, int64_t axis, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *index = infer_in(c, INDEX, 0);
    int a;
    TRY(infer_axis(c, X, "axis", axis, x->ndim, &a, err));
    if (index->ndim > 2 || (index->ndim == 2 && index->dims[1] != 1 && index->dims[1] != -1))
        return infer_fail(c, INDEX, 0, err, "must be [n] or [n, 1]");
    struct shape out = *x;
    if (index->ndim == 0) {
        for (int i = a; i + 1 < out.ndim; i++)
            out.dims[i] = out.dims[i + 1];
        out.ndim--;
    } else
        out.dims[a] = index->dims[0];
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}
static enum skiff_status gather_1x_infer(struct infer *c, struct skiff_error *err)
{
    return take_shape(c, 0, err);
}
static enum skiff_status gather_2x_infer(struct infer *c, struct skiff_error *err)
{
    int64_t axis = c->attr[0].i;
    infer_read_ints(c, AXIS, &axis, 1);
    return take_shape(c, axis, err);
}
static enum skiff_status index_select_infer(struct infer *c, struct skiff_error *err)
{
    return take_shape(c, c->attr[0].i, err);
}
static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

/* ---- gather_nd ---- */

/* Offset in X of coordinate tuple i; negative: out of range. */
static int64_t nd_offset(const struct shape *x, const struct tensor *index, int depth, int64_t i)
{
    int64_t off = 0;
    for (int d = 0; d < depth; d++) {
        int64_t v = index_at(index, i * depth + d);
        if (v < 0 || v >= x->dims[d])
            return -1;
        off = off * x->dims[d] + v;
    }
    return off * shape_cols(x, depth);
}

static enum skiff_status nd_run(struct kernel *k, int slot, const struct shape *x,
                                const struct tensor *part, const struct tensor *whole, bool take,
                                struct skiff_error *err)
{
    const struct tensor *index = kernel_in(k, slot);
    if (index->shape.ndim < 1 || index->shape.dims[index->shape.ndim - 1] > x->ndim)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Index (%s) does not fit X",
                           kernel_in_name(k, slot, 0));
    int depth = (int)index->shape.dims[index->shape.ndim - 1];
    int64_t n = shape_rows(&index->shape, index->shape.ndim - 1), inner = shape_cols(x, depth);
    size_t elem = dtype_size(part->dtype);
    TRY(kernel_check_dtype(k, slot, dtype_is_index, "int32 or int64", err));
    if (tensor_numel(part) != n * inner || part->dtype != whole->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD does not fit X and Index");
    for (int64_t i = 0; i < n; i++) {
        int64_t off = nd_offset(x, index, depth, i);
        if (off < 0)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input Index (%s): tuple %lld lies outside of X",
                               kernel_in_name(k, slot, 0), (long long)i);
        char *in_part = (char *)part->data + (size_t)(i * inner) * elem;
        char *in_whole = (char *)whole->data + (size_t)off * elem;
        if (take)
            memcpy(in_part, in_whole, (size_t)inner * elem);
        else
            add_run(part->dtype, inner, in_part, in_whole);
    }
    return SKIFF_OK;
}

static enum skiff_status gather_nd_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    return nd_run(k, INDEX, &x->shape, kernel_out(k, 0), x, true, err);
}

static enum skiff_status gather_nd_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, 2, dtype_is_number, "a number", err));
    tensor_clear(dx);
    return nd_run(k, INDEX, &dx->shape, kernel_in(k, 2), dx, false, err);
}

static enum skiff_status gather_nd_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *index = infer_in(c, INDEX, 0);
    int64_t depth = index->ndim ? index->dims[index->ndim - 1] : -1;
    if (depth < 0 || depth > x->ndim || index->ndim - 1 + x->ndim - depth > TENSOR_MAX_DIMS)
        return infer_fail(c, INDEX, 0, err, "its last dim must lie in [0, %d]", x->ndim);
    struct shape out = {0};
    for (int i = 0; i + 1 < index->ndim; i++)
        out.dims[out.ndim++] = index->dims[i];
    for (int i = (int)depth; i < x->ndim; i++)
        out.dims[out.ndim++] = x->dims[i];
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

/* ---- scatter ---- */
enum { S_IDS = 1, S_UPDATES };
enum { SG_IDS, SG_UPDATES, SG_DOUT };
enum { SG_DX, SG_DUPDATES };

static enum skiff_status scatter_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *ids = infer_in(c, S_IDS, 0);
    const struct shape *u = infer_in(c, S_UPDATES, 0);
    bool fits = u->ndim == x->ndim && ids->ndim >= 1 && ids->ndim <= 2 && x->ndim >= 1;
    fits = fits && !dims_conflict(u->dims[0], ids->dims[0]);
    for (int i = 1; fits && i < x->ndim; i++)
        fits = !dims_conflict(u->dims[i], x->dims[i]);
    if (!fits)
        return infer_fail(c, S_UPDATES, 0, err, "does not fit X (%s) and Ids (%s)",
                          infer_in_name(c, X, 0), infer_in_name(c, S_IDS, 0));
    return infer_same(c, X, 0, err);
}

static enum skiff_status scatter_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *ids = kernel_in(k, S_IDS);
    const struct tensor *u = kernel_in(k, S_UPDATES);
    struct tensor *out = kernel_out(k, 0);
    struct axis_view l = shape_lines(&x->shape, 0);
    size_t row = (size_t)l.inner * dtype_size(x->dtype);
    TRY(check_index(k, S_IDS, l.n, err));
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, S_UPDATES, X, err));
    if (out->data != x->data)
        bytes_copy(out->data, x->data, tensor_bytes(x));
    int64_t n = tensor_numel(ids);
    for (int64_t i = 0; i < n && !k->attr[0].b; i++)
        memset((char *)out->data + (size_t)index_at(ids, i) * row, 0, row);
    move_rows(l, ids, x->dtype, u->data, out->data, k->attr[0].b ? MOVE_PUT : MOVE_ADD);
    return SKIFF_OK;
}

static enum skiff_status scatter_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, SG_DOUT, SG_DX, err));
    return infer_grad_of(c, SG_UPDATES, SG_DUPDATES, err);
}

static enum skiff_status scatter_grad(struct kernel *k, bool clear_rows, struct skiff_error *err)
{
    const struct tensor *ids = kernel_in(k, SG_IDS), *d = kernel_in(k, SG_DOUT);
    struct tensor *dx = kernel_out(k, SG_DX), *du = kernel_out(k, SG_DUPDATES);
    if (d->shape.ndim < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD must have one dim at least");
    struct axis_view l = shape_lines(&d->shape, 0);
    size_t row = (size_t)l.inner * dtype_size(d->dtype);
    TRY(check_index(k, SG_IDS, l.n, err));
    if (du && (du->dtype != d->dtype || tensor_numel(du) != tensor_numel(ids) * l.inner))
        return kernel_fail(k, SKIFF_SHAPE, err, "Updates does not fit Out@GRAD and Ids");
    if (du)
        move_rows(l, ids, d->dtype, d->data, du->data, MOVE_TAKE);
    if (!dx)
        return SKIFF_OK;
    bytes_copy(dx->data, d->data, tensor_bytes(d));
    int64_t n = tensor_numel(ids);
    for (int64_t i = 0; i < n && clear_rows; i++)
        memset((char *)dx->data + (size_t)index_at(ids, i) * row, 0, row);
    return SKIFF_OK;
}
static enum skiff_status scatter_1x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return scatter_grad(k, false, err);
}
static enum skiff_status scatter_2x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return scatter_grad(k, true, err);
}

/* ---- scatter_nd_add, index_add ---- */
enum { AD_X, AD_INDEX, AD_VALUE };
enum { ADG_INDEX, ADG_VALUE, ADG_DOUT };

static enum skiff_status add_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, AD_X, 0, err);
}
static enum skiff_status add_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, ADG_DOUT, SG_DX, err));
    return infer_grad_of(c, ADG_VALUE, SG_DUPDATES, err);
}

/* Out = X, for the updates to be added. */
static enum skiff_status add_begin(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, AD_X);
    struct tensor *out = kernel_out(k, 0);
    TRY(kernel_check_dtype(k, AD_X, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, AD_VALUE, AD_X, err));
    if (out->data != x->data)
        bytes_copy(out->data, x->data, tensor_bytes(x));
    return SKIFF_OK;
}

static enum skiff_status scatter_nd_add_run(struct kernel *k, struct skiff_error *err)
{
    TRY(add_begin(k, err));
    return nd_run(k, AD_INDEX, &kernel_in(k, AD_X)->shape, kernel_in(k, AD_VALUE), kernel_out(k, 0),
                  false, err);
}

static enum skiff_status scatter_nd_add_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, ADG_DOUT);
    struct tensor *dx = kernel_out(k, SG_DX), *du = kernel_out(k, SG_DUPDATES);
    if (du)
        TRY(nd_run(k, ADG_INDEX, &d->shape, du, d, true, err));
    if (dx)
        bytes_copy(dx->data, d->data, tensor_bytes(d));
    return SKIFF_OK;
}

/* The lines of a complete tensor along the axis; `part` must be as large with Index in place of
 * it. */
static enum skiff_status add_lines(const struct kernel *k, int index_slot,
                                   const struct tensor *whole, const struct tensor *part,
                                   struct axis_view *l, struct skiff_error *err)
{
    int axis = axis_of(k->attr[0].i, whole->shape.ndim);
    if (axis < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "axis %d is out of range", k->attr[0].i);
    *l = shape_lines(&whole->shape, axis);
    TRY(check_index(k, index_slot, l->n, err));
    if (part->dtype != whole->dtype ||
        tensor_numel(part) != l->outer * tensor_numel(kernel_in(k, index_slot)) * l->inner)
        return kernel_fail(k, SKIFF_SHAPE, err, "AddValue does not fit X and Index");
    return SKIFF_OK;
}

static enum skiff_status index_add_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *value = kernel_in(k, AD_VALUE);
    struct axis_view l;
    TRY(add_begin(k, err));
    TRY(add_lines(k, AD_INDEX, kernel_out(k, 0), value, &l, err));
    move_rows(l, kernel_in(k, AD_INDEX), value->dtype, value->data, kernel_out(k, 0)->data,
              MOVE_ADD);
    return SKIFF_OK;
}

static enum skiff_status index_add_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, ADG_DOUT);
    struct tensor *dx = kernel_out(k, SG_DX), *dv = kernel_out(k, SG_DUPDATES);
    struct axis_view l;
    if (dv) {
        TRY(add_lines(k, ADG_INDEX, d, dv, &l, err));
        move_rows(l, kernel_in(k, ADG_INDEX), d->dtype, d->data, dv->data, MOVE_TAKE);
    }
    if (dx)
        bytes_copy(dx->data, d->data, tensor_bytes(d));
    return SKIFF_OK;
}

/* ---- where ---- */
enum { W_COND, W_X, W_Y, W_DOUT };

static bool dtype_is_bool(enum dtype t)
{
    return t == DTYPE_BOOL;
}

static enum skiff_status where_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *cond = infer_in(c, W_COND, 0), *x = infer_in(c, W_X, 0);
    const struct shape *y = infer_in(c, W_Y, 0);
    bool fits = x->ndim == y->ndim && x->ndim == cond->ndim;
    for (int i = 0; fits && i < x->ndim; i++)
        fits = !dims_conflict(x->dims[i], y->dims[i]) && !dims_conflict(x->dims[i], cond->dims[i]);
    if (!fits)
        return infer_fail(c, W_X, 0, err, "Condition (%s), X and Y (%s) must have one shape",
                          infer_in_name(c, W_COND, 0), infer_in_name(c, W_Y, 0));
    return infer_same(c, W_X, 0, err);
}

static enum skiff_status where_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, W_X), *y = kernel_in(k, W_Y);
    const bool *cond = kernel_in(k, W_COND)->data;
    int64_t n = tensor_numel(x);
    TRY(kernel_check_dtype(k, W_COND, dtype_is_bool, "bool", err));
    TRY(kernel_check_dtype(k, W_X, dtype_is_any, "a number or bool", err));
    TRY(kernel_check_same_dtype(k, W_Y, W_X, err));
    DISPATCH_ALL(x->dtype, T, const T *a = x->data; const T *b = y->data;
                 T *o = kernel_out(k, 0)->data;
                 for (int64_t i = 0; i < n; i++) o[i] = cond[i] ? a[i] : b[i])
    return SKIFF_OK;
}

static enum skiff_status where_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_grad_of(c, W_X, 0, err));
    return infer_grad_of(c, W_Y, 1, err);
}

static enum skiff_status where_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, W_DOUT), *mask = kernel_in(k, W_COND);
    struct tensor *dx = kernel_out(k, 0), *dy = kernel_out(k, 1);
    const bool *cond = mask->data;
    int64_t n = tensor_numel(d);
    TRY(kernel_check_dtype(k, W_COND, dtype_is_bool, "bool", err));
    TRY(kernel_check_dtype(k, W_DOUT, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, W_X, W_DOUT, err));
    if (tensor_numel(mask) != n || (dx && tensor_numel(dx) != n) || (dy && tensor_numel(dy) != n))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD does not have the shape of Condition");
    DISPATCH_NUMBER(
        d->dtype, T, const T *g = d->data; T *tx = dx ? dx->data : NULL;
        T *ty = dy ? dy->data : NULL; for (int64_t i = 0; i < n; i++) {
            if (tx)
                tx[i] = cond[i] ? g[i] : 0;
            if (ty)
                ty[i] = cond[i] ? 0 : g[i];
        })
    return SKIFF_OK;
}

/* ---- where_index, masked_select: as many results as there are ---- */

static int64_t count_true(const struct tensor *t)
{
    int64_t n = tensor_numel(t), count = 0;
    DISPATCH_ALL(t->dtype, T, const T *p = t->data;
                 for (int64_t i = 0; i < n; i++) count += p[i] != 0)
    return count;
}

static enum skiff_status where_index_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1, infer_in(c, 0, 0)->ndim);
    return infer_out(c, 0, 0, DTYPE_INT64, &s, err);
}

static enum skiff_status where_index_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *cond = kernel_in(k, 0);
    int nd = cond->shape.ndim;
    struct shape s = SHAPE(count_true(cond), nd);
    int64_t n = tensor_numel(cond), at = 0;
    TRY(kernel_check_dtype(k, 0, dtype_is_any, "a number or bool", err));
    TRY(kernel_out_resize(k, 0, 0, DTYPE_INT64, &s, err));
    int64_t *out = tensor_i64(kernel_out(k, 0));
    DISPATCH_ALL(
        cond->dtype, T, const T *p = cond->data; for (int64_t i = 0; i < n; i++) {
            int64_t rest = i;
            if (p[i] == 0)
                continue;
            for (int d = nd - 1; d >= 0; d--) {
                out[at * nd + d] = rest % cond->shape.dims[d];
                rest /= cond->shape.dims[d];
            }
            at++;
        })
    return SKIFF_OK;
}

enum { M_X, M_MASK, M_DY };

static enum skiff_status check_mask(const struct kernel *k, struct skiff_error *err)
{
    TRY(kernel_check_dtype(k, M_MASK, dtype_is_bool, "bool", err));
    if (!shape_equal(&kernel_in(k, M_X)->shape, &kernel_in(k, M_MASK)->shape))
        return kernel_fail(k, SKIFF_SHAPE, err, "X (%s) and Mask (%s) must have one shape",
                           kernel_in_name(k, M_X, 0), kernel_in_name(k, M_MASK, 0));
    return SKIFF_OK;
}

static enum skiff_status masked_select_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1);
    return infer_out(c, 0, 0, infer_in_dtype(c, M_X, 0), &s, err);
}

static enum skiff_status masked_select_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, M_X), *mask = kernel_in(k, M_MASK);
    TRY(check_mask(k, err));
    struct shape s = SHAPE(count_true(mask));
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    size_t elem = dtype_size(x->dtype);
    char *to = kernel_out(k, 0)->data;
    int64_t n = tensor_numel(x);
    for (int64_t i = 0; i < n; i++)
        if (((const bool *)mask->data)[i]) {
            memcpy(to, (const char *)x->data + (size_t)i * elem, elem);
            to += elem;
        }
    return SKIFF_OK;
}

static enum skiff_status masked_select_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, M_DY), *mask = kernel_in(k, M_MASK);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    TRY(check_mask(k, err));
    if (tensor_numel(d) != count_true(mask) || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Y@GRAD (%s) has %lld elements, Mask chooses %lld",
                           kernel_in_name(k, M_DY, 0), (long long)tensor_numel(d),
                           (long long)count_true(mask));
    size_t elem = dtype_size(d->dtype);
    const char *from = d->data;
    int64_t n = tensor_numel(dx);
    tensor_clear(dx);
    for (int64_t i = 0; i < n; i++)
        if (((const bool *)mask->data)[i]) {
            memcpy((char *)dx->data + (size_t)i * elem, from, elem);
            from += elem;
        }
    return SKIFF_OK;
}

#define DOUT_SLOT            \
    {                        \
        "Out" GRAD_SUFFIX, 0 \
    }
static const struct op_slot xi_in[] = {{"X", 0}, {"Index", 0}, {0}};
static const struct op_slot xi_grad_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Index", 0}, DOUT_SLOT, {0}};
static const struct op_slot gather_in[] = {{"X", 0}, {"Index", 0}, {"Axis", SLOT_OPTIONAL}, {0}};
static const struct op_slot gather_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Index", 0}, {"Axis", SLOT_OPTIONAL}, DOUT_SLOT, {0}};
static const struct op_slot scatter_in[] = {{"X", 0}, {"Ids", 0}, {"Updates", 0}, {0}};
static const struct op_slot scatter_grad_in[] = {
    {"Ids", 0}, {"Updates", SLOT_SHAPE_ONLY}, DOUT_SLOT, {0}};
static const struct op_slot scatter_grad_out[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"Updates" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot where_in[] = {{"Condition", 0}, {"X", 0}, {"Y", 0}, {0}};
static const struct op_slot where_grad_in[] = {
    {"Condition", 0}, {"X", SLOT_SHAPE_ONLY}, {"Y", SLOT_SHAPE_ONLY}, DOUT_SLOT, {0}};
static const struct op_slot where_grad_out[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"Y" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot cond_in[] = {{"Condition", 0}, {0}};
static const struct op_slot masked_in[] = {{"X", 0}, {"Mask", 0}, {0}};
static const struct op_slot masked_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Mask", 0}, {"Y" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot y_out[] = {{"Y", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

static const struct op_slot nd_add_in[] = {{"X", 0}, {"Index", 0}, {"Updates", 0}, {0}};
static const struct op_slot nd_add_grad_in[] = {
    {"Index", 0}, {"Updates", SLOT_SHAPE_ONLY}, DOUT_SLOT, {0}};
static const struct op_slot index_add_in[] = {{"X", 0}, {"Index", 0}, {"AddValue", 0}, {0}};
static const struct op_slot index_add_grad_in[] = {
    {"Index", 0}, {"AddValue", SLOT_SHAPE_ONLY}, DOUT_SLOT, {0}};
static const struct op_slot index_add_grad_out[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"AddValue" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec overwrite_attrs[] = {A_BOOL("overwrite", true), {0}};
static const struct op_attr_spec axis_attrs[] = {A_INT("axis", 0), {0}};
static const struct op_attr_spec dim_attrs[] = {A_INT("dim", 0), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define BY_INDEX .grad = "X Index Out@GRAD -> X@GRAD"

const struct op_kind ops_gather[] = {
    KIND("gather", GEN_1X, xi_in, out_out, overwrite_attrs, gather_1x_infer, gather_1x_run,
         BY_INDEX),
    KIND("gather_grad", GEN_1X, xi_grad_in, dx_out, overwrite_attrs, grad_infer,
         gather_1x_grad_run, ),
    KIND("gather", GEN_2X, gather_in, out_out, axis_attrs, gather_2x_infer, gather_2x_run,
         .grad = "X Index Axis Out@GRAD -> X@GRAD"),
    KIND("gather_grad", GEN_2X, gather_grad_in, dx_out, axis_attrs, grad_infer,
         gather_2x_grad_run, ),
    KIND("index_select", 0, xi_in, out_out, dim_attrs, index_select_infer, index_select_run,
         BY_INDEX),
    KIND("index_select_grad", 0, xi_grad_in, dx_out, dim_attrs, grad_infer,
         index_select_grad_run, ),
    KIND("gather_nd", 0, xi_in, out_out, none, gather_nd_infer, gather_nd_run, BY_INDEX),
    KIND("gather_nd_grad", 0, xi_grad_in, dx_out, none, grad_infer, gather_nd_grad_run, ),
    KIND("scatter", 0, scatter_in, out_out, overwrite_attrs, scatter_infer, scatter_run,
         .grad = "Ids Updates Out@GRAD -> X@GRAD Updates@GRAD"),
    KIND("scatter_grad", GEN_1X, scatter_grad_in, scatter_grad_out, overwrite_attrs,
         scatter_grad_infer, scatter_1x_grad_run, ),
    KIND("scatter_grad", GEN_2X, scatter_grad_in, scatter_grad_out, overwrite_attrs,
         scatter_grad_infer, scatter_2x_grad_run, ),
    KIND("scatter_nd_add", 0, nd_add_in, out_out, none, add_infer, scatter_nd_add_run,
         .grad = "Index Updates Out@GRAD -> X@GRAD Updates@GRAD"),
    KIND("scatter_nd_add_grad", 0, nd_add_grad_in, scatter_grad_out, none, add_grad_infer,
         scatter_nd_add_grad_run, ),
    KIND("index_add", GEN_2X, index_add_in, out_out, axis_attrs, add_infer, index_add_run,
         .grad = "Index AddValue Out@GRAD -> X@GRAD AddValue@GRAD"),
    KIND("index_add_grad", GEN_2X, index_add_grad_in, index_add_grad_out, axis_attrs,
         add_grad_infer, index_add_grad_run, ),
    KIND("where", GEN_1X, where_in, out_out, none, where_infer, where_run,
         .grad = "!where_grad: Condition X Y Out@GRAD -> X@GRAD Y@GRAD"),
    KIND("where", GEN_2X, where_in, out_out, none, where_infer, where_run,
         .grad = "Condition X Y Out@GRAD -> X@GRAD Y@GRAD"),
    KIND("where_grad", 0, where_grad_in, where_grad_out, none, where_grad_infer, where_grad_run, ),
    KIND("where_index", 0, cond_in, out_out, none, where_index_infer, where_index_run,
         .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED),
    KIND("masked_select", GEN_2X, masked_in, y_out, none, masked_select_infer, masked_select_run,
         .flags = OP_OWN_SHAPE, .grad = "X Mask Y@GRAD -> X@GRAD"),
    KIND("masked_select_grad", GEN_2X, masked_grad_in, dx_out, none, grad_infer,
         masked_select_grad_run, ),
    {0},
};
