/* Ops on selected rows and the sum of lists.
 *   sum                            dense: element by element; all inputs rows: merged rows; mixed:
 *                                  dense with the rows added in; arrays: item by item
 *   merge_selected_rows            distinct rows, values added up
 *   get_tensor_from_selected_rows  the value part as a tensor
 *   clip_by_norm                   x * max / norm where the norm is above max; rows are merged
 *                                  first */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/ops_common.h"
#include "ops/sparse/rows.h"
#include "tensor/math.h"

/* The map that merging needs, kept between steps. */
static enum skiff_status map_prepare(struct kernel *k, struct skiff_error *err)
{
    struct id_map *map = mem_alloc_or_die(sizeof *map);
    id_map_init(map);
    k->state = map;
    return SKIFF_OK;
}

static void map_release(struct kernel *k)
{
    if (k->state)
        id_map_deinit(k->state);
    free(k->state);
    k->state = NULL;
}

/* Writes merged rows into a value, which may be one that they came from. */
static enum skiff_status rows_store(struct kernel *k, const struct rows_merged *m,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    bool same = m->n && m->values == out->tensor.data;
    if (same)
        return SKIFF_OK;
    size_t bytes = m->n * (size_t)m->width * dtype_size(m->dtype);
    tensor_drop_lod(&out->tensor);
    TRY(value_as_rows(out, m->dtype, m->n, m->width, m->height, err));
    if (m->n) {
        memcpy(out->sel.rows, m->ids, m->n * sizeof(int64_t));
        memcpy(out->tensor.data, m->values, bytes);
    }
    return SKIFF_OK;
}

/* ---- sum ---- */

enum { SUM_BLOCK = 1024 };

/* Shape of the sum: that of the first input with a known shape. */
static enum skiff_status sum_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *shape = NULL;
    int first = 0;
    bool rows = true;
    char text[160];
    for (int i = 0; i < infer_in_count(c, 0); i++) {
        const struct shape *s = infer_in(c, 0, i);
        if (!s || shape_numel(s) == 0)
            continue;
        rows = rows && infer_in_is_rows(c, 0, i);
        if (!shape) {
            shape = s;
            first = i;
            continue;
        }
        for (int d = 0; d < shape->ndim && s->ndim == shape->ndim; d++)
            if (dims_conflict(shape->dims[d], s->dims[d]))
                return infer_fail(c, 0, i, err, "cannot be added to the first input of shape %s",
                                  shape_text(shape, text));
    }
    if (!shape && !(shape = infer_in(c, 0, 0)))
        return infer_fail(c, 0, 0, err, "sum needs at least one input");
    if (rows && infer_in_is_rows(c, 0, first))
        infer_out_kind(c, 0, 0, VAR_SELECTED_ROWS);
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, first), shape, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

/* Sums may be written over one of their inputs, so a block is added up aside and then stored. */
#define SUM_DENSE(T, k, out, n)                                          \
    do {                                                                 \
        T sum[SUM_BLOCK];                                                \
        for (int64_t at = 0; at < n; at += SUM_BLOCK) {                  \
            int64_t len = n - at < SUM_BLOCK ? n - at : SUM_BLOCK;       \
            memset(sum, 0, sizeof sum);                                  \
            for (int i = 0; i < kernel_in_count(k, 0); i++) {            \
                const struct skiff_tensor *v = kernel_in_value(k, 0, i); \
                if (!dense_part(v))                                      \
                    continue;                                            \
                const T *x = (const T *)v->tensor.data + at;             \
                for (int64_t j = 0; j < len; j++)                        \
                    sum[j] += x[j];                                      \
            }                                                            \
            memcpy((T *)(out)->data + at, sum, (size_t)len * sizeof(T)); \
        }                                                                \
    } while (0)

static bool dense_part(const struct skiff_tensor *v)
{
    return v && v->kind == VALUE_TENSOR && tensor_numel(&v->tensor) > 0;
}

static void add_rows_f64(const struct skiff_tensor *v, int64_t width, double *out)
{
    const double *from = v->tensor.data;
    for (size_t r = 0; r < v->sel.nrows; r++)
        for (int64_t c = 0; c < width; c++)
            out[v->sel.rows[r] * width + c] += from[(int64_t)r * width + c];
}

static enum skiff_status sum_add_rows(struct kernel *k, struct tensor *out, struct skiff_error *err)
{
    int64_t width = shape_cols(&out->shape, 1);
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, i);
        if (!v || v->kind != VALUE_ROWS || !v->sel.nrows)
            continue;
        bool wide = out->dtype == DTYPE_FP64;
        if (v->tensor.dtype != out->dtype || (out->dtype != DTYPE_FP32 && !wide))
            return kernel_fail(k, SKIFF_DTYPE, err,
                               "rows %s are %s, the dense input is %s; both must be float32, or "
                               "both float64",
                               kernel_in_name(k, 0, i), dtype_name(v->tensor.dtype),
                               dtype_name(out->dtype));
        if (rows_width(v) != width || v->sel.height != out->shape.dims[0])
            return kernel_fail(
                k, SKIFF_SHAPE, err, "rows %s are %lld x %lld, the dense input is %lld x %lld",
                kernel_in_name(k, 0, i), (long long)v->sel.height, (long long)rows_width(v),
                (long long)out->shape.dims[0], (long long)width);
        TRY(rows_check(k, v, v->sel.height, kernel_in_name(k, 0, i), err));
        if (wide)
            add_rows_f64(v, width, out->data);
        for (size_t r = 0; !wide && r < v->sel.nrows; r++)
            math_axpy_f32(width, 1, tensor_f32(&v->tensor) + r * (size_t)width,
                          tensor_f32(out) + v->sel.rows[r] * width);
    }
    return SKIFF_OK;
}

static enum skiff_status sum_dense(struct kernel *k, const struct skiff_tensor *like,
                                   struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    bool unwritten = false; /* in place, but without a value so far: counts as zero */
    char a[160], b[160];
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, i);
        unwritten = unwritten || (v == out && !dense_part(v));
        if (dense_part(v) && (tensor_numel(&v->tensor) != tensor_numel(&like->tensor) ||
                              v->tensor.dtype != like->tensor.dtype))
            return kernel_fail(k, SKIFF_SHAPE, err, "input %s is %s %s, the first one is %s %s",
                               kernel_in_name(k, 0, i), dtype_name(v->tensor.dtype),
                               shape_text(&v->tensor.shape, a), dtype_name(like->tensor.dtype),
                               shape_text(&like->tensor.shape, b));
    }
    if (!dtype_is_number(like->tensor.dtype))
        return kernel_fail(k, SKIFF_DTYPE, err, "%s cannot be added up",
                           dtype_name(like->tensor.dtype));
    const struct skiff_tensor *first = kernel_in_value(k, 0, 0);
    if (out != like)
        TRY(kernel_out_resize(k, 0, 0, like->tensor.dtype, &like->tensor.shape, err));
    if (unwritten)
        memset(out->tensor.data, 0, tensor_bytes(&out->tensor));
    if (first && first != out && first->kind == VALUE_TENSOR)
        tensor_share_lod(&out->tensor, &first->tensor);
    int64_t n = tensor_numel(&out->tensor);
    DISPATCH_NUMBER(out->tensor.dtype, T, SUM_DENSE(T, k, &out->tensor, n));
    return sum_add_rows(k, &out->tensor, err);
}

/* Item i of the result is the sum of the items i; missing items count as zero. */
static enum skiff_status sum_arrays(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    size_t n = 0;
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, i);
        if (v && v->kind == VALUE_ARRAY && v->array.count > n)
            n = v->array.count;
        if (v && v == out && i > 0)
            return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                               "an array can be summed in place only as the first input");
    }
    TRY(value_as_array(out, n, err));
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        struct skiff_tensor *v = kernel_in_value(k, 0, i);
        if (!v || v == out || v->kind != VALUE_ARRAY)
            continue;
        for (size_t j = 0; j < v->array.count; j++) {
            struct tensor *from = &v->array.items[j]->tensor;
            struct skiff_tensor *to = out->array.items[j];
            if (!dense_part(v->array.items[j]))
                continue;
            if (!dense_part(to)) {
                TRY(value_copy(to, v->array.items[j], err));
                continue;
            }
            if (from->dtype != DTYPE_FP32 || to->tensor.dtype != DTYPE_FP32 ||
                tensor_numel(from) != tensor_numel(&to->tensor))
                return kernel_fail(k, SKIFF_SHAPE, err, "item %zu of %s does not fit the others", j,
                                   kernel_in_name(k, 0, i));
            math_axpy_f32(tensor_numel(from), 1, tensor_f32(from), tensor_f32(&to->tensor));
        }
    }
    return SKIFF_OK;
}

static enum skiff_status sum_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *like = NULL;
    bool rows = false;
    for (int i = 0; i < kernel_in_count(k, 0); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, i);
        if (v && v->kind == VALUE_ARRAY)
            return sum_arrays(k, err);
        rows = rows || (v && v->kind == VALUE_ROWS);
        if (!like && dense_part(v))
            like = v;
    }
    if (like)
        return sum_dense(k, like, err);
    if (!rows) {
        const struct skiff_tensor *v = kernel_in_value(k, 0, 0);
        if (!v || v->kind == VALUE_NONE)
            return kernel_fail(k, SKIFF_NOT_FOUND, err, "none of the inputs has a value");
        return sum_dense(k, v, err);
    }
    struct rows_merged m;
    TRY(rows_merge(k, k->state, k->in[0].v, k->in[0].n, ROWS_AS_PADDLE, &m, err));
    return rows_store(k, &m, kernel_out_value(k, 0, 0), err);
}

/* One scale by 1 per wanted input. */
static enum skiff_status sum_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_arg *x = op_in(g->fwd, "X");
    for (int i = 0; x && i < x->n; i++) {
        const char *to = grad_name(g, x->names[i]);
        if (g->unwanted(g, to))
            continue;
        struct skiff_op *op = grad_op(g, "scale", false);
        const char *from = grad_name(g, op_out1(g->fwd, "Out"));
        op_set_in(g->program, op, "X", 1, &from);
        op_set_out(g->program, op, "Out", 1, &to);
        op_set_float(g->program, op, "scale", 1);
    }
    return SKIFF_OK;
}

static void sum_infer_kind(struct infer *c)
{
    const struct op_arg *x = op_in(c->op, "X");
    for (int i = 0; x && i < x->n; i++) {
        const struct skiff_var *v = block_find_var(c->block, x->names[i]);
        if (v && v->kind == VAR_LOD_TENSOR_ARRAY)
            infer_out_kind(c, 0, 0, VAR_LOD_TENSOR_ARRAY);
    }
}

/* ---- merge_selected_rows, get_tensor_from_selected_rows ---- */

static enum skiff_status merge_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, 0, 0, err);
}

static enum skiff_status merge_run(struct kernel *k, struct skiff_error *err)
{
    struct rows_merged m;
    if (!kernel_in_is_rows(k, 0, 0))
        return kernel_fail(k, SKIFF_INVALID, err, "the input is not selected rows");
    TRY(rows_merge(k, k->state, k->in[0].v, 1, ROWS_AS_PADDLE, &m, err));
    if (!m.n)
        m.width = rows_width(kernel_in_value(k, 0, 0));
    return rows_store(k, &m, kernel_out_value(k, 0, 0), err);
}

static enum skiff_status get_tensor_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    if (!x || x->kind != VALUE_ROWS)
        return kernel_fail(k, SKIFF_INVALID, err, "the input is not selected rows");
    if (x == out)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "cannot work in place");
    TRY(kernel_out_resize(k, 0, 0, x->tensor.dtype, &x->tensor.shape, err));
    return tensor_copy_data(&out->tensor, &x->tensor, err);
}

static enum skiff_status get_tensor_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *s = infer_in(c, 0, 0);
    return s ? infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), s, err)
             : infer_fail(c, 0, 0, err, "the input is missing");
}

/* ---- clip_by_norm ---- */

static void clip_span(size_t n, const float *x, float max, float *out)
{
    double norm = sqrt(math_norm2_f32((int64_t)n, x));
    float scale = norm > max ? (float)(max / norm) : 1;
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * scale;
}

static enum skiff_status clip_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *x = kernel_in_value(k, 0, 0), *out = kernel_out_value(k, 0, 0);
    float max = k->attr[0].f;
    if (x->tensor.dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_DTYPE, err, "is %s; float32 is needed",
                           dtype_name(x->tensor.dtype));
    if (!(max > 0))
        return kernel_fail(k, SKIFF_INVALID, err, "max_norm is %g; it must be above 0", max);
    if (x->kind == VALUE_ROWS) {
        struct rows_merged m;
        TRY(rows_merge(k, k->state, &x, 1, ROWS_AS_PADDLE, &m, err));
        if (!m.n)
            m.width = rows_width(x);
        TRY(rows_store(k, &m, out, err));
    } else {
        if (x != out)
            TRY(kernel_out_resize(k, 0, 0, DTYPE_FP32, &x->tensor.shape, err));
        if (x != out)
            TRY(tensor_copy(&out->tensor, &x->tensor, err));
    }
    float *p = tensor_f32(&out->tensor);
    clip_span((size_t)tensor_numel(&out->tensor), p, max, p);
    return SKIFF_OK;
}

/* ---- table ---- */

static const struct op_slot x_list[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_attr_spec sum_attrs[] = {A_BOOL("use_mkldnn", false),
                                                {.name = "mkldnn_data_type",
                                                 .type = ATTR_STRING,
                                                 .flags = ATTR_ONLY_2X,
                                                 .def = {.s = "float32"}},
                                                {0}};
static const struct op_attr_spec clip_attrs[] = {A_REQ("max_norm", ATTR_FLOAT), {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

const struct op_kind ops_rows[] = {{.type = "sum",
                                    .flags = OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK,
                                    .class = CLASS_SUM,
                                    .ins = x_list,
                                    .outs = out_out,
                                    .attrs = sum_attrs,
                                    .make_grad = sum_make_grad,
                                    .infer = sum_infer,
                                    .prepare = map_prepare,
                                    .release = map_release,
                                    .run = sum_run,
                                    .infer_kind = sum_infer_kind},
                                   {.type = "merge_selected_rows",
                                    .flags = OP_OWN_SHAPE | OP_ROWS_OK,
                                    .ins = x_in,
                                    .outs = out_out,
                                    .attrs = no_attrs,
                                    .infer = merge_infer,
                                    .prepare = map_prepare,
                                    .release = map_release,
                                    .run = merge_run},
                                   {.type = "get_tensor_from_selected_rows",
                                    .flags = OP_OWN_SHAPE | OP_ROWS_OK,
                                    .ins = x_in,
                                    .outs = out_out,
                                    .attrs = no_attrs,
                                    .infer = get_tensor_infer,
                                    .run = get_tensor_run},
                                   {.type = "clip_by_norm",
                                    .flags = OP_OWN_SHAPE | OP_ROWS_OK,
                                    .ins = x_in,
                                    .outs = out_out,
                                    .attrs = clip_attrs,
                                    .infer = merge_infer,
                                    .prepare = map_prepare,
                                    .release = map_release,
                                    .run = clip_run},
                                   {0}};
