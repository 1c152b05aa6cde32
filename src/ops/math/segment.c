/* Sums over groups of rows: segment_pool, graph_send_recv (2.x).
 *
 *   segment_pool     Out[g] = sum, mean, max or min of the rows with SegmentIds g; as many rows as
 *                    the last id says. Ids do not decrease
 *   graph_send_recv  the same over rows X[Src_index] that go to Out[Dst_index], for any order of
 *                    ids; out_size rows, else as many as X has
 *   A group without rows gives 0. Gradients: sum d; mean d / rows of the group (SummedIds,
 *   Dst_count keep their number); max, min: d at every element that equals the result */
#include "ops/seq_common.h"

#include <math.h>

enum how { HOW_SUM, HOW_MEAN, HOW_MAX, HOW_MIN };

static enum skiff_status how_of(const struct kernel *k, const struct attr_value *attr,
                                enum how *out, struct skiff_error *err)
{
    static const char *const names[] = {"SUM", "MEAN", "MAX", "MIN"};
    for (int i = 0; attr->s && i < 4; i++)
        if (!strcmp(attr->s, names[i])) {
            *out = (enum how)i;
            return SKIFF_OK;
        }
    return kernel_fail(k, SKIFF_INVALID, err, "'%s' must be SUM, MEAN, MAX or MIN",
                       attr->s ? attr->s : "");
}

/* Row i goes from row `from` of X (NULL: i) to group `to` of Out. */
struct paths {
    enum how how;
    const struct tensor *from, *to;
    int64_t n, width; /* paths; elements of a row */
};

static int64_t path_from(const struct paths *p, int64_t i)
{
    return p->from ? tensor_int_at(p->from, i) : i;
}

static enum skiff_status ids_check(const struct kernel *k, int slot, int64_t limit,
                                   struct skiff_error *err)
{
    const struct tensor *ids = kernel_in(k, slot);
    TRY(kernel_check_dtype(k, slot, dtype_is_index, "int32 or int64", err));
    for (int64_t i = 0; i < tensor_numel(ids); i++)
        if (tensor_int_at(ids, i) < 0 || tensor_int_at(ids, i) >= limit)
            return kernel_bad_index(k, slot, i, tensor_int_at(ids, i), limit, "rows", err);
    return SKIFF_OK;
}

/* Out and the int32 counts of the groups are cleared. */
static void pool_forward(const struct paths *p, const struct tensor *x, struct tensor *out,
                         struct tensor *counts)
{
    DISPATCH_NUMBER(x->dtype, T, {
        for (int64_t i = 0; i < p->n; i++) {
            const T *row = (const T *)x->data + path_from(p, i) * p->width;
            int64_t group = tensor_int_at(p->to, i);
            T *to = (T *)out->data + group * p->width;
            bool first = ((int32_t *)counts->data)[group]++ == 0;
            for (int64_t j = 0; j < p->width; j++)
                to[j] = p->how <= HOW_MEAN ? to[j] + row[j]
                        : first || (p->how == HOW_MAX ? row[j] > to[j] : row[j] < to[j]) ? row[j]
                                                                                         : to[j];
        }
        for (int64_t i = 0; p->how == HOW_MEAN && i < tensor_numel(out); i++) {
            int32_t rows = ((int32_t *)counts->data)[i / p->width];
            ((T *)out->data)[i] /= rows > 0 ? (T)rows : 1;
        }
    })
}

static void pool_backward(const struct paths *p, const struct tensor *x, const struct tensor *out,
                          const struct tensor *d, const int32_t *counts, struct tensor *dx)
{
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t i = 0; i < p->n; i++) {
            int64_t in = path_from(p, i) * p->width, group = tensor_int_at(p->to, i);
            const T *row = (const T *)x->data + in, *best = (const T *)out->data + group * p->width;
            const T *up = (const T *)d->data + group * p->width;
            T *to = (T *)dx->data + in, share = p->how == HOW_MEAN ? (T)counts[group] : 1;
            for (int64_t j = 0; j < p->width; j++)
                to[j] += p->how <= HOW_MEAN || row[j] == best[j] ? up[j] / share : 0;
        }
    })
}

/* Rows of every group, in scratch. */
static enum skiff_status count_rows(struct kernel *k, const struct paths *p, int64_t groups,
                                    struct tensor *out, struct skiff_error *err)
{
    void *capacity;
    TRY(kernel_scratch(k, (size_t)(groups + 1) * sizeof(int32_t), &capacity, err));
    memset(capacity, 0, (size_t)groups * sizeof(int32_t));
    *out = (struct tensor){.dtype = DTYPE_INT32, .shape = SHAPE(groups), .data = capacity};
    return SKIFF_OK;
}

static enum skiff_status backward(struct kernel *k, struct paths *p, const struct tensor *x,
                                  const struct tensor *out, int dout_slot, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, dout_slot);
    struct tensor *dx = kernel_out(k, 0), counts;
    if (!dx)
        return SKIFF_OK;
    int64_t groups = p->width ? tensor_numel(out) / p->width : 0;
    TRY(kernel_check_dtype(k, 0, dtype_is_float, "float32 or float64", err));
    TRY(kernel_want_elements(k, dout_slot, x->dtype, tensor_numel(out), err));
    TRY(count_rows(k, p, groups, &counts, err));
    for (int64_t i = 0; i < p->n; i++)
        tensor_i32(&counts)[tensor_int_at(p->to, i)]++;
    tensor_clear(dx);
    pool_backward(p, x, out, d, tensor_i32(&counts), dx);
    return SKIFF_OK;
}

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, 0, 0, err);
}

/* ---- segment_pool ---- */
enum { SP_X, SP_IDS, SP_OUT, SP_SUMMED, SP_DOUT };

static enum skiff_status segment_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, SP_X, 0), ids = SHAPE(-1, 1);
    enum dtype t = infer_in_dtype(c, SP_X, 0);
    TRY(infer_want_int(c, SP_IDS, err));
    if (s.ndim < 1)
        return infer_fail(c, SP_X, 0, err, "must have rows");
    s.dims[0] = -1;
    TRY(infer_out(c, 0, 0, t, &s, err));
    return c->attr[0].s && !strcmp(c->attr[0].s, "MEAN") ? infer_out(c, 1, 0, t, &ids, err)
                                                         : SKIFF_OK;
}

static enum skiff_status segment_paths(const struct kernel *k, struct paths *p,
                                       struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SP_X), *ids = kernel_in(k, SP_IDS);
    *p = (struct paths){.to = ids, .n = tensor_numel(ids), .width = shape_cols(&x->shape, 1)};
    TRY(how_of(k, &k->attr[0], &p->how, err));
    TRY(kernel_check_dtype(k, SP_X, dtype_is_number, "a number", err));
    TRY(ids_check(k, SP_IDS, (int64_t)INT32_MAX, err));
    if (x->shape.ndim < 1 || p->n != x->shape.dims[0])
        return kernel_fail(k, SKIFF_SHAPE, err, "X and SegmentIds differ in rows");
    for (int64_t i = 1; i < p->n; i++)
        if (tensor_int_at(ids, i) < tensor_int_at(ids, i - 1))
            return kernel_fail(k, SKIFF_INVALID, err,
                               "input SegmentIds (%s) decreases at position %lld",
                               kernel_in_name(k, SP_IDS, 0), (long long)i);
    return SKIFF_OK;
}

static enum skiff_status segment_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SP_X);
    struct shape s = x->shape;
    struct tensor counts;
    struct paths p;
    TRY(segment_paths(k, &p, err));
    s.dims[0] = p.n ? tensor_int_at(p.to, p.n - 1) + 1 : 0;
    struct shape summed = SHAPE(s.dims[0], 1);
    TRY(kernel_out_resize(k, 0, 0, x->dtype, &s, err));
    TRY(kernel_out_resize(k, 1, 0, x->dtype, &summed, err));
    TRY(count_rows(k, &p, s.dims[0], &counts, err));
    tensor_clear(kernel_out(k, 0));
    pool_forward(&p, x, kernel_out(k, 0), &counts);
    if (kernel_wants(k, 1))
        DISPATCH_NUMBER(x->dtype, T, {
            T *to = kernel_out(k, 1)->data;
            for (int64_t i = 0; i < s.dims[0]; i++)
                to[i] = (T)tensor_i32(&counts)[i];
        })
    return SKIFF_OK;
}

static enum skiff_status segment_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *out = kernel_in(k, SP_OUT);
    struct paths p;
    TRY(segment_paths(k, &p, err));
    TRY(ids_check(k, SP_IDS, p.width ? tensor_numel(out) / p.width : INT32_MAX, err));
    return backward(k, &p, kernel_in(k, SP_X), out, SP_DOUT, err);
}

/* ---- graph_send_recv ---- */
enum { GS_X, GS_SRC, GS_DST, GS_SIZE };
enum { GG_X, GG_SRC, GG_DST, GG_OUT, GG_DOUT, GG_COUNT };
enum { GA_HOW, GA_SIZE };

/* Rows of the result. */
static int64_t graph_rows(const struct infer *c, int64_t rows)
{
    int64_t given = c->attr[GA_SIZE].n ? c->attr[GA_SIZE].longs[0] : 0;
    infer_read_ints(c, GS_SIZE, &given, 1);
    return given > 0 ? given : rows;
}

static enum skiff_status graph_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, GS_X, 0);
    TRY(infer_want_int(c, GS_SRC, err));
    TRY(infer_want_int(c, GS_DST, err));
    if (s.ndim < 1)
        return infer_fail(c, GS_X, 0, err, "must have rows");
    s.dims[0] = c->running ? graph_rows(c, s.dims[0]) : -1;
    struct shape counts = SHAPE(s.dims[0]);
    const char *how = c->attr[GA_HOW].s;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, GS_X, 0), &s, err));
    if (!c->running && how && strcmp(how, "MEAN")) /* not declared; kept all the same */
        return SKIFF_OK;
    return infer_out(c, 1, 0, DTYPE_INT32, &counts, err);
}

static enum skiff_status graph_paths(const struct kernel *k, int64_t groups, struct paths *p,
                                     struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, GS_X), *from = kernel_in(k, GS_SRC);
    *p = (struct paths){.from = from,
                        .to = kernel_in(k, GS_DST),
                        .n = tensor_numel(from),
                        .width = shape_cols(&x->shape, 1)};
    TRY(how_of(k, &k->attr[GA_HOW], &p->how, err));
    TRY(kernel_check_dtype(k, GS_X, dtype_is_number, "a number", err));
    TRY(ids_check(k, GS_SRC, x->shape.dims[0], err));
    TRY(ids_check(k, GS_DST, groups, err));
    if (tensor_numel(p->to) != p->n)
        return kernel_fail(k, SKIFF_SHAPE, err, "Src_index and Dst_index differ in size");
    return SKIFF_OK;
}

static enum skiff_status graph_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0), counts;
    struct paths p;
    int64_t groups = out->shape.dims[0];
    TRY(graph_paths(k, groups, &p, err));
    TRY(count_rows(k, &p, groups, &counts, err));
    tensor_clear(out);
    pool_forward(&p, kernel_in(k, GS_X), out, &counts);
    if (kernel_wants(k, 1))
        bytes_copy(kernel_out(k, 1)->data, counts.data, (size_t)groups * sizeof(int32_t));
    return SKIFF_OK;
}

static enum skiff_status graph_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, GG_DOUT);
    const struct tensor *out = kernel_has(k, GG_OUT) ? kernel_in(k, GG_OUT) : d;
    struct paths p;
    TRY(graph_paths(k, out->shape.ndim ? out->shape.dims[0] : 0, &p, err));
    if (p.how >= HOW_MAX && out == d)
        return kernel_fail(k, SKIFF_INVALID, err, "input Out is needed for max and min");
    return backward(k, &p, kernel_in(k, GG_X), out, GG_DOUT, err);
}

static const struct op_slot segment_in[] = {{"X", 0}, {"SegmentIds", 0}, {0}};
static const struct op_slot segment_out[] = {{"Out", 0}, {"SummedIds", SLOT_EXTRA}, {0}};
static const struct op_slot segment_grad_in[] = {
    {"X", 0}, {"SegmentIds", 0}, {"Out", 0}, {"SummedIds", SLOT_OPTIONAL}, {"Out@GRAD", 0}, {0}};
static const struct op_slot graph_in[] = {
    {"X", 0}, {"Src_index", 0}, {"Dst_index", 0}, {"Out_size", SLOT_OPTIONAL}, {0}};
static const struct op_slot graph_out[] = {{"Out", 0}, {"Dst_count", SLOT_EXTRA}, {0}};
static const struct op_slot graph_grad_in[] = {{"X", 0},
                                               {"Src_index", 0},
                                               {"Dst_index", 0},
                                               {"Out", SLOT_OPTIONAL},
                                               {"Out@GRAD", 0},
                                               {"Dst_count", SLOT_OPTIONAL},
                                               {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec segment_attrs[] = {A_STR("pooltype", "SUM"), {0}};
static const struct op_attr_spec graph_attrs[] = {
    A_STR("reduce_op", "SUM"),
    {.name = "out_size", .type = ATTR_LONGS, .def = {.n = 1, .longs = (const int64_t[]){0}}},
    {0}};

const struct op_kind ops_segment[] = {
    {.type = "segment_pool",
     .generations = GEN_2X,
     .flags = OP_OWN_SHAPE,
     .ins = segment_in,
     .outs = segment_out,
     .attrs = segment_attrs,
     .grad = "X SegmentIds Out SummedIds Out@GRAD -> X@GRAD",
     .infer = segment_infer,
     .run = segment_run},
    {.type = "segment_pool_grad",
     .generations = GEN_2X,
     .ins = segment_grad_in,
     .outs = dx_out,
     .attrs = segment_attrs,
     .infer = grad_infer,
     .run = segment_grad_run},
    {.type = "graph_send_recv",
     .generations = GEN_2X,
     .ins = graph_in,
     .outs = graph_out,
     .attrs = graph_attrs,
     .grad = "X Src_index Dst_index Out Dst_count Out@GRAD -> X@GRAD",
     .infer = graph_infer,
     .run = graph_run},
    {.type = "graph_send_recv_grad",
     .generations = GEN_2X,
     .ins = graph_grad_in,
     .outs = dx_out,
     .attrs = graph_attrs,
     .infer = grad_infer,
     .run = graph_grad_run},
    {0},
};
