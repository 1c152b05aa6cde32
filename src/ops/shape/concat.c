/* Joining and cutting along one axis: concat, split, stack, unstack, unbind; and meshgrid.
 *
 * All four move [outer, n_i * inner] blocks between one whole and its parts. concat: the lod is
 * that of the first part; along axis 0 the lods are appended. Inputs without elements are passed
 * over. split hands its lod to every part unless axis is 0; its gradient is a concat with the same
 * attributes. stack and unstack put in and take out an axis; unbind is unstack with a stack as its
 * gradient. meshgrid repeats the i-th of n vectors along all of n axes but the i-th. */
#include "base/thread_pool.h"
#include "ops/ops_common.h"

#include <string.h>

enum { X, AXIS_TENSOR, DOUT };

/* Copies part (rows x width elements) into columns [at, at + width) of the whole, or back. */
static void copy_part(int64_t rows, int64_t width, int64_t whole_width, int64_t at, size_t elem,
                      void *part, void *whole, bool into_whole)
{
    size_t bytes = (size_t)width * elem;
    char *p = part, *w = (char *)whole + (size_t)at * elem;
    for (int64_t r = 0; r < rows; r++, p += bytes, w += (size_t)whole_width * elem)
        into_whole ? bytes_copy(w, p, bytes) : bytes_copy(p, w, bytes);
}

static enum skiff_status check_parts(const struct kernel *k, int slot, enum dtype t,
                                     struct skiff_error *err)
{
    for (int i = 0; i < kernel_in_count(k, slot); i++) {
        const struct tensor *p = kernel_in_at(k, slot, i);
        if (p && p->dtype != t)
            return kernel_fail(k, SKIFF_DTYPE, err, "input %s has types %s and %s",
                               k->kind->ins[slot].name, dtype_name(t), dtype_name(p->dtype));
    }
    return SKIFF_OK;
}

/* The axis: from AxisTensor when it is there (at run time), else the attribute. */
static int64_t infer_axis_value(const struct infer *c, int slot, int64_t attr)
{
    int64_t v;
    return infer_read_ints(c, slot, &v, 1) == 1 ? v : attr;
}
static int64_t kernel_axis_value(const struct kernel *k, int slot, int64_t attr)
{
    const struct tensor *t = kernel_in(k, slot);
    int64_t v;
    return t && tensor_read_ints(t, &v, 1) == 1 ? v : attr;
}

/* ---- concat ---- */

static enum skiff_status concat_infer(struct infer *c, struct skiff_error *err)
{
    int n = infer_in_count(c, X), axis = 0;
    struct shape out = {.ndim = -1};
    char text[160];
    for (int i = 0; i < n; i++) {
        const struct shape *s = infer_in(c, X, i);
        if (!s)
            return infer_fail(c, X, i, err, "has no value");
        if (c->running && shape_numel(s) == 0 && i + 1 < n)
            continue;
        if (out.ndim < 0) {
            out = *s;
            TRY(infer_axis(c, X, "axis", infer_axis_value(c, AXIS_TENSOR, c->attr[0].i), out.ndim,
                           &axis, err));
            continue;
        }
        if (c->running && shape_numel(s) == 0)
            continue;
        for (int d = 0; d < out.ndim; d++) {
            if (s->ndim != out.ndim || (d != axis && dims_conflict(s->dims[d], out.dims[d])))
                return infer_fail(c, X, i, err, "does not fit %s along axis %d",
                                  shape_text(&out, text), axis);
            if (d == axis)
                out.dims[d] = out.dims[d] < 0 || s->dims[d] < 0 ? -1 : out.dims[d] + s->dims[d];
            else if (out.dims[d] < 0)
                out.dims[d] = s->dims[d];
        }
    }
    if (out.ndim < 0)
        return infer_fail(c, X, 0, err, "nothing to join");
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err));
    if (!c->running || axis != 0)
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

/* Appends the lods of all parts (axis 0). Parts that differ in levels leave the result without. */
static enum skiff_status join_lods(struct kernel *k, struct tensor *out, struct skiff_error *err)
{
    const struct lod *first = kernel_in_at(k, X, 0)->lod;
    int n = kernel_in_count(k, X);
    int64_t counts[LOD_MAX_LEVELS];
    if (!first || first->nlevels == 0)
        return SKIFF_OK;
    for (int l = 0; l < first->nlevels; l++)
        counts[l] = 1;
    for (int i = 0; i < n; i++) {
        const struct lod *lod = kernel_in_at(k, X, i)->lod;
        if (!lod || lod->nlevels != first->nlevels)
            return SKIFF_OK;
        for (int l = 0; l < lod->nlevels; l++)
            counts[l] += lod->level[l].n - 1;
    }
    TRY(lod_build(&out->lod, first->nlevels, counts, err));
    for (int l = 0; l < out->lod->nlevels; l++) {
        int64_t *to = out->lod->level[l].off, at = 0, base = 0;
        to[at++] = 0;
        for (int i = 0; i < n; i++) {
            const struct lod_level *from = &kernel_in_at(k, X, i)->lod->level[l];
            for (int64_t j = 1; j < from->n; j++)
                to[at++] = base + from->off[j];
            base += from->off[from->n - 1];
        }
    }
    return SKIFF_OK;
}

/* The parts of a whole; rows are shared with the thread pool. */
struct parts_copy {
    const struct kernel *k;
    void *whole;
    int64_t rows, width; /* of the whole */
    size_t elem;
    bool back;
};

static void joined_rows(void *arg, int64_t from, int64_t to)
{
    const struct parts_copy *j = arg;
    int64_t at = from * j->width;
    for (int i = 0; i < kernel_in_count(j->k, X); i++) {
        const struct tensor *x = kernel_in_at(j->k, X, i);
        const struct tensor *part = j->back ? kernel_out_at(j->k, 0, i) : x;
        int64_t width = tensor_numel(x) / j->rows;
        if (part && width)
            copy_part(to - from, width, j->width, at, j->elem,
                      (char *)part->data + (size_t)(from * width) * j->elem, j->whole, !j->back);
        at += width;
    }
}

static void joined_copy(struct parts_copy j)
{
    thread_pool_split(j.rows, thread_pool_rows(j.rows, j.width), joined_rows, &j);
}

static enum skiff_status concat_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int axis = axis_of(kernel_axis_value(k, AXIS_TENSOR, k->attr[0].i), out->shape.ndim);
    TRY(check_parts(k, X, out->dtype, err));
    joined_copy((struct parts_copy){k, out->data, shape_rows(&out->shape, axis),
                                    shape_cols(&out->shape, axis), dtype_size(out->dtype), false});
    return axis == 0 ? join_lods(k, out, err) : SKIFF_OK;
}

static enum skiff_status concat_grad_infer(struct infer *c, struct skiff_error *err)
{
    for (int i = 0; i < infer_in_count(c, X); i++) {
        struct shape s = *infer_in(c, X, i);
        TRY(infer_out(c, 0, i, infer_in_dtype(c, X, i), &s, err));
        infer_share_lod(c, X, i, 0, i);
    }
    return SKIFF_OK;
}

static enum skiff_status concat_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, DOUT);
    int axis = axis_of(kernel_axis_value(k, AXIS_TENSOR, k->attr[0].i), d->shape.ndim);
    if (axis < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "attribute axis is %d, Out@GRAD has %d dims",
                           k->attr[0].i, d->shape.ndim);
    int64_t rows = shape_rows(&d->shape, axis), whole = shape_cols(&d->shape, axis), at = 0;
    for (int i = 0; i < kernel_in_count(k, X); i++) {
        const struct shape *x = &kernel_in_at(k, X, i)->shape;
        struct tensor *dx = kernel_out_at(k, 0, i);
        if (shape_numel(x) == 0)
            continue;
        int64_t width = rows ? shape_numel(x) / rows : 0;
        if (at + width > whole)
            return kernel_fail(k, SKIFF_SHAPE, err, "inputs X do not fit Out@GRAD (%s)",
                               kernel_in_name(k, DOUT, 0));
        if (dx && dx->dtype != d->dtype)
            return kernel_fail(k, SKIFF_DTYPE, err, "X and Out@GRAD differ in type");
        at += width;
    }
    joined_copy((struct parts_copy){k, d->data, rows, whole, dtype_size(d->dtype), true});
    return SKIFF_OK;
}

/* ---- split ---- */
enum { SECTIONS_LIST = 2 };
enum { A_SECTIONS, A_NUM, A_AXIS };

/* Sizes of the parts along the axis; -1 where unknown. */
static enum skiff_status split_sizes(struct infer *c, int64_t dim, int n, int64_t *size,
                                     struct skiff_error *err)
{
    const struct attr_value *sections = &c->attr[A_SECTIONS];
    int num = c->attr[A_NUM].i, unknown = -1;
    int64_t sum = 0, given[64];
    if (num > 0) {
        if (num != n || (dim >= 0 && dim % num))
            return infer_fail(c, X, 0, err, "cannot be cut into %d equal parts for %d outputs", num,
                              n);
        for (int i = 0; i < n; i++)
            size[i] = dim < 0 ? -1 : dim / num;
        return SKIFF_OK;
    }
    int from_list = infer_read_int_list(c, SECTIONS_LIST, given, 64);
    if ((from_list > 0 ? from_list : sections->n) != n)
        return infer_fail(c, X, 0, err, "%d sections for %d outputs", sections->n, n);
    for (int i = 0; i < n; i++) {
        size[i] = from_list > 0 ? given[i] : sections->ints[i];
        if (size[i] >= 0)
            sum += size[i];
        else if (unknown >= 0)
            return infer_fail(c, X, 0, err, "only one section may be -1");
        else
            unknown = i;
    }
    if (dim >= 0 && (unknown >= 0 ? sum > dim : sum != dim))
        return infer_fail(c, X, 0, err, "sections add up to %lld, not %lld", (long long)sum,
                          (long long)dim);
    if (unknown >= 0 && dim >= 0)
        size[unknown] = dim - sum;
    return SKIFF_OK;
}

static enum skiff_status split_infer(struct infer *c, struct skiff_error *err)
{
    struct shape x = *infer_in(c, X, 0);
    enum dtype t = infer_in_dtype(c, X, 0);
    int axis, n = infer_out_count(c, 0);
    int64_t size[64];
    TRY(infer_axis(c, X, "axis", infer_axis_value(c, AXIS_TENSOR, c->attr[A_AXIS].i), x.ndim, &axis,
                   err));
    if (n > 64)
        return infer_fail(c, X, 0, err, "%d outputs, at most 64 are supported", n);
    TRY(split_sizes(c, x.dims[axis], n, size, err));
    for (int i = 0; i < n; i++) {
        x.dims[axis] = size[i];
        TRY(infer_out(c, 0, i, t, &x, err));
        if (axis != 0)
            infer_share_lod(c, X, 0, 0, i);
    }
    return SKIFF_OK;
}

static enum skiff_status split_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int axis = axis_of(kernel_axis_value(k, AXIS_TENSOR, k->attr[A_AXIS].i), x->shape.ndim);
    int64_t rows = shape_rows(&x->shape, axis), whole = shape_cols(&x->shape, axis), at = 0;
    const struct attr_value *sections = &k->attr[A_SECTIONS];
    int64_t inner = shape_cols(&x->shape, axis + 1);
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        struct tensor *out = kernel_out_at(k, 0, i);
        /* an unwanted output still takes its share of the axis */
        int64_t width = out                    ? shape_cols(&out->shape, axis)
                        : k->attr[A_NUM].i > 0 ? whole / k->attr[A_NUM].i
                                               : (i < sections->n ? sections->ints[i] * inner : 0);
        if (out)
            copy_part(rows, width, whole, at, dtype_size(x->dtype), out->data, x->data, false);
        at += width;
    }
    return SKIFF_OK;
}

/* Input `slot` of a gradient op = the gradients of Out. */
static void use_out_grads(struct grad_build *g, struct skiff_op *op, const char *slot)
{
    const struct op_arg *out = op_out(g->fwd, "Out");
    const char **names =
        arena_alloc(&g->program->arena, (size_t)out->n * sizeof(*names)); /* copied by the setter */
    for (int i = 0; i < out->n; i++)
        names[i] = grad_name(g, out->names[i]);
    op_set_in(g->program, op, slot, out->n, names);
}

/* The gradient of an op that cuts X into Out: an op that joins. */
static struct skiff_op *joined_grad(struct grad_build *g, const char *type, const char *out_slot)
{
    const char *dx = grad_name(g, op_in1(g->fwd, "X"));
    if (g->unwanted && g->unwanted(g, dx))
        return NULL;
    struct skiff_op *op = grad_op(g, type, true);
    use_out_grads(g, op, "X");
    op_set_out(g->program, op, out_slot, 1, &dx);
    return op;
}

static enum skiff_status split_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = joined_grad(g, "concat", "Out");
    if (op)
        grad_use(g, op, "AxisTensor");
    return SKIFF_OK;
}

/* ---- stack, unstack ---- */

static enum skiff_status stack_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    enum dtype t = infer_in_dtype(c, X, 0);
    int axis, n = infer_in_count(c, X);
    TRY(infer_axis(c, X, "axis", c->attr[0].i, s.ndim + 1, &axis, err));
    for (int i = 1; i < n; i++) {
        const struct shape *o = infer_in(c, X, i);
        bool same = o && o->ndim == s.ndim;
        for (int d = 0; same && d < s.ndim; d++)
            same = !dims_conflict(o->dims[d], s.dims[d]);
        if (!same)
            return infer_fail(c, X, i, err, "all inputs must have one shape");
    }
    if (s.ndim == TENSOR_MAX_DIMS)
        return infer_fail(c, X, 0, err, "has too many dims");
    for (int d = s.ndim++; d > axis; d--)
        s.dims[d] = s.dims[d - 1];
    s.dims[axis] = n;
    return infer_out(c, 0, 0, t, &s, err);
}

static enum skiff_status stack_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    if (!out)
        return SKIFF_OK;
    int axis = axis_of(k->attr[0].i, out->shape.ndim), n = kernel_in_count(k, X);
    int64_t rows = shape_rows(&out->shape, axis), inner = shape_cols(&out->shape, axis + 1);
    TRY(check_parts(k, X, out->dtype, err));
    for (int i = 0; i < n; i++)
        copy_part(rows, inner, n * inner, i * inner, dtype_size(out->dtype),
                  kernel_in_at(k, X, i)->data, out->data, true);
    return SKIFF_OK;
}

/* The complete tensor, cut into outputs without the axis: unstack, and the gradient of stack. */
static enum skiff_status unstack_shape(struct infer *c, int slot, struct skiff_error *err)
{
    struct shape s = *infer_in(c, slot, 0);
    enum dtype t = infer_in_dtype(c, slot, 0);
    int axis, n = infer_out_count(c, 0);
    TRY(infer_axis(c, slot, "axis", c->attr[0].i, s.ndim, &axis, err));
    if (s.dims[axis] >= 0 && s.dims[axis] != n)
        return infer_fail(c, slot, 0, err, "has %lld parts along axis %d, there are %d outputs",
                          (long long)s.dims[axis], axis, n);
    for (int d = axis; d + 1 < s.ndim; d++)
        s.dims[d] = s.dims[d + 1];
    s.ndim--;
    for (int i = 0; i < n; i++)
        TRY(infer_out(c, 0, i, t, &s, err));
    return SKIFF_OK;
}
static enum skiff_status unstack_infer(struct infer *c, struct skiff_error *err)
{
    return unstack_shape(c, 0, err);
}

static enum skiff_status unstack_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int axis = axis_of(k->attr[0].i, x->shape.ndim), n = kernel_out_count(k, 0);
    int64_t rows = shape_rows(&x->shape, axis), inner = shape_cols(&x->shape, axis + 1);
    for (int i = 0; i < n; i++) {
        struct tensor *out = kernel_out_at(k, 0, i);
        if (out)
            copy_part(rows, inner, n * inner, i * inner, dtype_size(x->dtype), out->data, x->data,
                      false);
    }
    return SKIFF_OK;
}

static enum skiff_status unbind_make_grad(struct grad_build *g, struct skiff_error *err)
{
    joined_grad(g, "stack", "Y");
    return SKIFF_OK;
}

/* ---- meshgrid ---- */
enum { MESH_X, MESH_DOUT };

static enum skiff_status mesh_shape(const struct infer *c, struct shape *out,
                                    struct skiff_error *err)
{
    int n = infer_in_count(c, MESH_X);
    *out = (struct shape){.ndim = n};
    if (n < 1 || n > TENSOR_MAX_DIMS || infer_out_count(c, 0) > n)
        return infer_fail(c, MESH_X, 0, err, "%d vectors, must be 1 to %d, as many as results", n,
                          TENSOR_MAX_DIMS);
    for (int i = 0; i < n; i++) {
        const struct shape *s = infer_in(c, MESH_X, i);
        if (!s || s->ndim > 1)
            return infer_fail(c, MESH_X, i, err, "must be a vector");
        out->dims[i] = s->ndim ? s->dims[0] : 1;
    }
    return SKIFF_OK;
}

static enum skiff_status mesh_infer(struct infer *c, struct skiff_error *err)
{
    struct shape out;
    TRY(mesh_shape(c, &out, err));
    for (int i = 0; i < infer_out_count(c, 0); i++)
        TRY(infer_out(c, 0, i, infer_in_dtype(c, MESH_X, i), &out, err));
    return SKIFF_OK;
}

/* Place j of grid i holds element j / inner % n of vector i, by the lines around axis i. */
static enum skiff_status mesh_run(struct kernel *k, struct skiff_error *err)
{
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        const struct tensor *x = kernel_in_at(k, MESH_X, i);
        struct tensor *out = kernel_out_at(k, 0, i);
        if (!out)
            continue;
        struct axis_view l = shape_lines(&out->shape, i);
        size_t elem = dtype_size(x->dtype);
        for (int64_t j = 0; j < tensor_numel(out); j++)
            memcpy((char *)out->data + (size_t)j * elem,
                   (const char *)x->data + (size_t)(j / l.inner % l.n) * elem, elem);
    }
    return SKIFF_OK;
}

static enum skiff_status mesh_grad_infer(struct infer *c, struct skiff_error *err)
{
    if (infer_out_count(c, 0) > infer_in_count(c, MESH_X))
        return infer_fail(c, MESH_X, 0, err, "has fewer vectors than gradients are asked for");
    for (int i = 0; i < infer_out_count(c, 0); i++) {
        struct shape s = *infer_in(c, MESH_X, i);
        TRY(infer_out(c, 0, i, infer_in_dtype(c, MESH_X, i), &s, err));
    }
    return SKIFF_OK;
}

static enum skiff_status mesh_grad_run(struct kernel *k, struct skiff_error *err)
{
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        const struct tensor *d = kernel_in_at(k, MESH_DOUT, i);
        struct tensor *dx = kernel_out_at(k, 0, i);
        if (!dx)
            continue;
        tensor_clear(dx);
        if (!d)
            continue;
        if (d->shape.ndim != kernel_in_count(k, MESH_X) || d->dtype != dx->dtype ||
            d->shape.dims[i] != tensor_numel(dx) || !dtype_is_float(d->dtype))
            return kernel_fail(k, SKIFF_SHAPE, err, "gradient %d (%s) does not fit its vector", i,
                               kernel_in_name(k, MESH_DOUT, i));
        struct axis_view l = shape_lines(&d->shape, i);
        DISPATCH_FLOAT(d->dtype, T, {
            for (int64_t j = 0; j < tensor_numel(d); j++)
                ((T *)dx->data)[j / l.inner % l.n] += ((const T *)d->data)[j];
        })
    }
    return SKIFF_OK;
}

static enum skiff_status mesh_grad_by(struct grad_build *g, const char *slot)
{
    struct skiff_op *op = grad_op(g, "meshgrid_grad", true);
    grad_use(g, op, "X");
    use_out_grads(g, op, slot);
    if (!grad_make_in_grad(g, op, "X"))
        g->nops--;
    return SKIFF_OK;
}
static enum skiff_status mesh_make_grad_1x(struct grad_build *g, struct skiff_error *err)
{
    return mesh_grad_by(g, "Out" GRAD_SUFFIX);
}
static enum skiff_status mesh_make_grad_2x(struct grad_build *g, struct skiff_error *err)
{
    return mesh_grad_by(g, "outputs" GRAD_SUFFIX);
}

static const struct op_slot mesh_grad_in_1x[] = {
    {"X", SLOT_LIST | SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, SLOT_LIST}, {0}};
static const struct op_slot mesh_grad_in_2x[] = {
    {"X", SLOT_LIST | SLOT_SHAPE_ONLY}, {"outputs" GRAD_SUFFIX, SLOT_LIST}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};
static const struct op_slot concat_in[] = {{"X", SLOT_LIST}, {"AxisTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot concat_grad_in[] = {
    {"X", SLOT_LIST | SLOT_SHAPE_ONLY}, {"AxisTensor", SLOT_OPTIONAL}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot split_in[] = {{"X", 0},
                                          {"AxisTensor", SLOT_OPTIONAL},
                                          {"SectionsTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                          {0}};
static const struct op_slot list_in[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot dy_in[] = {
    {"Y" GRAD_SUFFIX, 0}, {"X", SLOT_LIST | SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot dy_list_in[] = {{"Y" GRAD_SUFFIX, SLOT_LIST}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot out_list[] = {{"Out", SLOT_LIST}, {0}};
static const struct op_slot y_out[] = {{"Y", 0}, {0}};
static const struct op_slot y_list[] = {{"Y", SLOT_LIST}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot dx_list[] = {{"X" GRAD_SUFFIX, SLOT_LIST | SLOT_OPTIONAL}, {0}};

#define FLAG_1X(attr_name)                                             \
    {                                                                  \
        .name = attr_name, .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_1X \
    }
static const struct op_attr_spec concat_attrs[] = {
    A_INT("axis", 0), FLAG_1X("use_mkldnn"), FLAG_1X("use_quantizer"), {0}};
static const struct op_attr_spec split_attrs[] = {
    A_INTS("sections"),
    A_INT("num", 0),
    A_INT("axis", 0),
    {.name = "use_mkldnn", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X},
    {.name = "mkldnn_data_type",
     .type = ATTR_STRING,
     .flags = ATTR_ONLY_2X,
     .def = {.s = "float32"}},
    {0}};
static const struct op_attr_spec axis_attrs[] = {A_INT("axis", 0), {0}};
static const struct op_attr_spec unstack_1x_attrs[] = {
    A_INT("axis", 0), A_REQ("num", ATTR_INT), {0}};
static const struct op_attr_spec unstack_attrs[] = {A_INT("axis", 0), A_INT("num", 0), {0}};

#define MESH(gen, build, grad_in)                                                     \
    {.type = "meshgrid",                                                              \
     .generations = gen,                                                              \
     .ins = list_in,                                                                  \
     .outs = out_list,                                                                \
     .attrs = no_attrs,                                                               \
     .make_grad = build,                                                              \
     .infer = mesh_infer,                                                             \
     .run = mesh_run},                                                                \
    {                                                                                 \
        .type = "meshgrid_grad", .generations = gen, .ins = grad_in, .outs = dx_list, \
        .attrs = no_attrs, .infer = mesh_grad_infer, .run = mesh_grad_run             \
    }

const struct op_kind ops_concat[] = {
    {.type = "concat",
     .flags = OP_MOVES,
     .class = CLASS_CONCAT,
     .ins = concat_in,
     .outs = out_out,
     .attrs = concat_attrs,
     .grad = "X AxisTensor Out@GRAD -> X@GRAD",
     .infer = concat_infer,
     .run = concat_run},
    {.type = "concat_grad",
     .class = CLASS_CONCAT_GRAD,
     .ins = concat_grad_in,
     .outs = dx_list,
     .attrs = concat_attrs,
     .infer = concat_grad_infer,
     .run = concat_grad_run},
    {.type = "split",
     .ins = split_in,
     .outs = out_list,
     .attrs = split_attrs,
     .make_grad = split_make_grad,
     .infer = split_infer,
     .run = split_run},
    {.type = "stack",
     .generations = GEN_1X,
     .ins = list_in,
     .outs = y_out,
     .attrs = axis_attrs,
     .grad = "Y@GRAD -> X@GRAD",
     .infer = stack_infer,
     .run = stack_run},
    {.type = "stack",
     .generations = GEN_2X,
     .ins = list_in,
     .outs = y_out,
     .attrs = axis_attrs,
     .grad = "X Y@GRAD -> X@GRAD",
     .infer = stack_infer,
     .run = stack_run},
    {.type = "stack_grad",
     .ins = dy_in,
     .outs = dx_list,
     .attrs = axis_attrs,
     .infer = unstack_infer,
     .run = unstack_run},
    {.type = "unstack",
     .generations = GEN_1X,
     .ins = x_in,
     .outs = y_list,
     .attrs = unstack_1x_attrs,
     .grad = "Y@GRAD -> X@GRAD",
     .infer = unstack_infer,
     .run = unstack_run},
    {.type = "unstack",
     .generations = GEN_2X,
     .ins = x_in,
     .outs = y_list,
     .attrs = unstack_attrs,
     .grad = "Y@GRAD -> X@GRAD",
     .infer = unstack_infer,
     .run = unstack_run},
    {.type = "unbind",
     .ins = x_in,
     .outs = out_list,
     .attrs = axis_attrs,
     .make_grad = unbind_make_grad,
     .infer = unstack_infer,
     .run = unstack_run},
    MESH(GEN_1X, mesh_make_grad_1x, mesh_grad_in_1x),
    MESH(GEN_2X, mesh_make_grad_2x, mesh_grad_in_2x),
    {.type = "unstack_grad",
     .ins = dy_list_in,
     .outs = dx_out,
     .attrs = unstack_attrs,
     .infer = stack_infer,
     .run = stack_run},
    {0},
};
