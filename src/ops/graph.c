/* graph_send_recv (2.x): messages along the edges of a graph. Row Src_index[e] of X goes to row
 * Dst_index[e] of Out, which is their sum, mean, largest or smallest (reduce_op), 0 where none
 * came; Dst_count: how many came (MEAN). Out has out_size rows (attribute or input), or as many as
 * X. Gradients: mean / count; largest and smallest: to every row that is equal to Out. */
#include "ops/seq_common.h"

enum { X, SRC, DST, OUT_SIZE };
enum { G_OUT = 3, G_COUNT, G_DOUT };
enum { AT_REDUCE, AT_SIZE };
enum reduce { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_NONE };

static enum reduce reduce_of(const struct attr_value *attr)
{
    static const char *const names[] = {"SUM", "MEAN", "MAX", "MIN"};
    for (int i = REDUCE_SUM; i < REDUCE_NONE; i++)
        if (attr[AT_REDUCE].s && strcmp(attr[AT_REDUCE].s, names[i]) == 0)
            return (enum reduce)i;
    return REDUCE_NONE;
}

static enum skiff_status edges_infer_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *src = infer_in(c, SRC, 0), *dst = infer_in(c, DST, 0);
    TRY(infer_want_int(c, SRC, err));
    TRY(infer_want_int(c, DST, err));
    if (infer_in(c, X, 0)->ndim < 1)
        return infer_fail(c, X, 0, err, "must have rows");
    if (!dims_agree(dims_product(src, 0, src->ndim), dims_product(dst, 0, dst->ndim)))
        return infer_fail(c, SRC, 0, err, "must have as many edges as Dst_index");
    if (reduce_of(c->attr) == REDUCE_NONE)
        return infer_fail(c, X, 0, err, "reduce_op is \"%s\", must be SUM, MEAN, MAX or MIN",
                          c->attr[AT_REDUCE].s ? c->attr[AT_REDUCE].s : "");
    return SKIFF_OK;
}

static enum skiff_status send_infer(struct infer *c, struct skiff_error *err)
{
    TRY(edges_infer_check(c, err));
    struct shape s = *infer_in(c, X, 0), count = {0};
    int64_t given = 0;
    if (c->running) {
        if (infer_read_ints(c, OUT_SIZE, &given, 1) != 1)
            given = c->attr[AT_SIZE].n ? c->attr[AT_SIZE].longs[0] : 0;
        if (given > 0)
            s.dims[0] = given;
        count = SHAPE(s.dims[0]);
    } else {
        s.dims[0] = -1;
        count = reduce_of(c->attr) == REDUCE_MEAN ? SHAPE(-1) : (struct shape){0};
    }
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err));
    return infer_out(c, 1, 0, DTYPE_INT32, &count, err);
}

static int64_t edge_count(const struct kernel *k)
{
    return tensor_numel(kernel_in(k, SRC));
}
static int64_t edge_from(const struct kernel *k, int64_t e)
{
    return tensor_int_at(kernel_in(k, SRC), e);
}
static int64_t edge_to(const struct kernel *k, int64_t e)
{
    return tensor_int_at(kernel_in(k, DST), e);
}

static enum skiff_status edges_check(const struct kernel *k, int64_t from, int64_t to,
                                     struct skiff_error *err)
{
    for (int64_t e = 0; e < edge_count(k); e++) {
        int64_t s = edge_from(k, e), d = edge_to(k, e);
        if (s < 0 || s >= from)
            return kernel_bad_index(k, SRC, e, s, from, "rows of X", err);
        if (d < 0 || d >= to)
            return kernel_bad_index(k, DST, e, d, to, "rows of Out", err);
    }
    return SKIFF_OK;
}

static void counts_fill(struct kernel *k, int32_t *count, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        count[i] = 0;
    for (int64_t e = 0; e < edge_count(k); e++)
        count[edge_to(k, e)]++;
}

static enum skiff_status send_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    int64_t rows = out->shape.dims[0], width = shape_cols(&x->shape, 1);
    enum reduce how = reduce_of(k->attr);
    void *memory;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(edges_check(k, x->shape.dims[0], rows, err));
    TRY(kernel_scratch(k, (size_t)rows * sizeof(int32_t), &memory, err));
    int32_t *count = memory;
    for (int64_t i = 0; i < rows; i++)
        count[i] = 0;
    tensor_clear(out);
    DISPATCH_NUMBER(
        x->dtype, T,
        for (int64_t e = 0; e < edge_count(k); e++) {
            int64_t d = edge_to(k, e);
            const T *from = (const T *)x->data + edge_from(k, e) * width;
            T *to = (T *)out->data + d * width;
            bool first = count[d]++ == 0;
            for (int64_t i = 0; i < width; i++)
                if (how == REDUCE_SUM || how == REDUCE_MEAN)
                    to[i] = (T)WRAP_ADD(to[i], from[i]);
                else if (first || (how == REDUCE_MAX ? from[i] > to[i] : from[i] < to[i]))
                    to[i] = from[i];
        } for (int64_t i = 0; how == REDUCE_MEAN && i < rows * width;
               i++) if (count[i / width])((T *)out->data)[i] /= (T)count[i / width])
    if (kernel_wants(k, 1))
        counts_fill(k, tensor_i32(kernel_out(k, 1)), rows);
    return SKIFF_OK;
}

static enum skiff_status send_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(edges_infer_check(c, err));
    return infer_like(c, X, 0, err);
}

static enum skiff_status send_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *g = kernel_in(k, G_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    enum reduce how = reduce_of(k->attr);
    bool extreme = how == REDUCE_MAX || how == REDUCE_MIN;
    void *count;
    if (!dx)
        return SKIFF_OK;
    int64_t rows = g->shape.ndim ? g->shape.dims[0] : 0, width = shape_cols(&x->shape, 1);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(kernel_check_same_dtype(k, G_DOUT, X, err));
    TRY(edges_check(k, x->shape.dims[0], rows, err));
    if (tensor_numel(g) != rows * width ||
        (extreme && (!kernel_has(k, G_OUT) || tensor_numel(kernel_in(k, G_OUT)) != rows * width ||
                     kernel_in(k, G_OUT)->dtype != x->dtype)))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit X, or Out",
                           kernel_in_name(k, G_DOUT, 0));
    TRY(kernel_scratch(k, (size_t)rows * sizeof(int32_t), &count, err));
    counts_fill(k, count, rows);
    tensor_clear(dx);
    DISPATCH_NUMBER(
        x->dtype, T, for (int64_t e = 0; e < edge_count(k); e++) {
            int64_t s = edge_from(k, e), d = edge_to(k, e);
            const T *from = (const T *)g->data + d * width, *was = (const T *)x->data + s * width;
            const T *out = extreme ? (const T *)kernel_in(k, G_OUT)->data + d * width : NULL;
            T *to = (T *)dx->data + s * width;
            for (int64_t i = 0; i < width; i++) {
                T part = how == REDUCE_MEAN ? (T)(from[i] / (T)((int32_t *)count)[d]) : from[i];
                if (!extreme || was[i] == out[i])
                    to[i] = (T)WRAP_ADD(to[i], part);
            }
        })
    return SKIFF_OK;
}

static const struct op_slot send_ins[] = {
    {"X", 0}, {"Src_index", 0}, {"Dst_index", 0}, {"Out_size", SLOT_OPTIONAL}, {0}};
static const struct op_slot send_outs[] = {{"Out", 0}, {"Dst_count", SLOT_EXTRA}, {0}};
static const struct op_slot send_grad_ins[] = {{"X", 0},
                                               {"Src_index", 0},
                                               {"Dst_index", 0},
                                               {"Out", SLOT_OPTIONAL},
                                               {"Dst_count", SLOT_OPTIONAL | SLOT_SHAPE_ONLY},
                                               {"Out@GRAD", 0},
                                               {0}};
static const struct op_slot send_grad_outs[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec send_attrs[] = {
    A_STR("reduce_op", "SUM"),
    {.name = "out_size", .type = ATTR_LONGS, .def = {.n = 1, .longs = (const int64_t[]){0}}},
    {0}};

const struct op_kind ops_graph[] = {
    {.type = "graph_send_recv",
     .generations = GEN_2X,
     .ins = send_ins,
     .outs = send_outs,
     .attrs = send_attrs,
     .grad = "X Src_index Dst_index Out Dst_count Out@GRAD -> X@GRAD",
     .infer = send_infer,
     .run = send_run},
    {.type = "graph_send_recv_grad",
     .generations = GEN_2X,
     .ins = send_grad_ins,
     .outs = send_grad_outs,
     .attrs = send_attrs,
     .infer = send_grad_infer,
     .run = send_grad_run},
    {0}};
