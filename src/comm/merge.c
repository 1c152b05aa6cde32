/* Sums the values of several threads or batches: Paddle's MergeVars. Dense values are added; rows
 * are concatenated and, when all are there, rows with the same id are summed. */
#include <string.h>

#include "base/mem.h"
#include "comm/mode.h"

static void add_floats(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static enum skiff_status add_dense(struct skiff_tensor *sum, const struct skiff_tensor *x,
                                   const char *name, struct skiff_error *err)
{
    size_t n = (size_t)tensor_numel(&x->tensor);
    if (sum->kind != VALUE_TENSOR || sum->tensor.dtype != x->tensor.dtype ||
        !shape_equal(&sum->tensor.shape, &x->tensor.shape))
        return error_set(err, SKIFF_SHAPE, "%s: threads send values of different shape or type",
                         name);
    switch (x->tensor.dtype) {
    case DTYPE_FP32:
        add_floats(tensor_f32(&sum->tensor), tensor_f32(&x->tensor), n);
        return SKIFF_OK;
    case DTYPE_FP64:
        for (size_t i = 0; i < n; i++)
            tensor_f64(&sum->tensor)[i] += tensor_f64(&x->tensor)[i];
        return SKIFF_OK;
    case DTYPE_INT64:
        for (size_t i = 0; i < n; i++)
            tensor_i64(&sum->tensor)[i] += tensor_i64(&x->tensor)[i];
        return SKIFF_OK;
    case DTYPE_INT32:
        for (size_t i = 0; i < n; i++)
            tensor_i32(&sum->tensor)[i] += tensor_i32(&x->tensor)[i];
        return SKIFF_OK;
    default:
        return error_set(err, SKIFF_DTYPE, "%s: values of type %s cannot be added up", name,
                         dtype_name(x->tensor.dtype));
    }
}

static enum skiff_status add_rows(struct skiff_tensor *sum, const struct skiff_tensor *x,
                                  const char *name, struct skiff_error *err)
{
    if (sum->kind != VALUE_ROWS || sum->tensor.dtype != x->tensor.dtype ||
        shape_cols(&sum->tensor.shape, 1) != shape_cols(&x->tensor.shape, 1))
        return error_set(err, SKIFF_SHAPE, "%s: threads send rows of different width or type",
                         name);
    return value_append_rows(sum, x, err);
}

enum skiff_status sum_add(struct skiff_tensor *sum, int n, const struct skiff_tensor *x,
                          const char *name, struct skiff_error *err)
{
    if (x->kind != VALUE_TENSOR && x->kind != VALUE_ROWS)
        return error_set(err, SKIFF_UNSUPPORTED, "%s: only tensors and rows can be sent", name);
    if (!n)
        return value_copy(sum, x, err);
    return x->kind == VALUE_ROWS ? add_rows(sum, x, name, err) : add_dense(sum, x, name, err);
}

/* Sums rows with the same id, at the position of the first. */
static void join_rows(struct skiff_tensor *v)
{
    size_t width = (size_t)shape_cols(&v->tensor.shape, 1), n = v->sel.nrows;
    size_t marks = (size_t)v->sel.marks;
    float *data = tensor_f32(&v->tensor);
    struct id_map map;
    id_map_init(&map);
    id_map_reset(&map, n);
    for (size_t i = 0; i < n; i++) {
        bool fresh;
        uint32_t at = id_map_add(&map, v->sel.rows[i], &fresh);
        if (!fresh) {
            add_floats(data + at * width + marks, data + i * width + marks, width - marks);
            continue;
        }
        v->sel.rows[at] = v->sel.rows[i];
        if (at != i)
            memcpy(data + at * width, data + i * width, width * sizeof *data);
    }
    v->sel.nrows = map.count;
    v->tensor.shape.dims[0] = (int64_t)map.count;
    v->sel.distinct = true;
    id_map_deinit(&map);
}

enum skiff_status sum_finish(struct skiff_tensor *sum, int n, bool mean, struct skiff_error *err)
{
    if (n < 2)
        return SKIFF_OK;
    if (sum->kind == VALUE_ROWS && sum->tensor.dtype == DTYPE_FP32)
        join_rows(sum);
    bool sparse_table = sum->kind == VALUE_ROWS && sum->sel.marks;
    if (!mean || sparse_table) /* pushes to sparse tables are summed in every mode */
        return SKIFF_OK;
    if (sum->tensor.dtype != DTYPE_FP32)
        return error_set(err, SKIFF_DTYPE, "values of type %s have no mean",
                         dtype_name(sum->tensor.dtype));
    float *data = tensor_f32(&sum->tensor), f = 1.0f / (float)n;
    size_t count = (size_t)tensor_numel(&sum->tensor);
    for (size_t i = 0; i < count; i++)
        data[i] *= f;
    return SKIFF_OK;
}
