/* Helpers of the op families (ops_common.h). The strided walks first merge neighbouring dims, so
 * that a copy of contiguous memory becomes one memcpy, and keep one tight inner loop. Shape
 * functions accept -1 only where the header says so; walks run with known dims. Nothing
 * allocates. */
#include "ops/ops_common.h"

#include <string.h>

#include "base/thread_pool.h"

enum skiff_status kernel_check_dtype(const struct kernel *k, int slot, bool (*fits)(enum dtype),
                                     const char *wanted, struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    if (t && fits(t->dtype))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_DTYPE, err, "input %s (%s) has type %s, expected %s",
                       k->kind->ins[slot].name, kernel_in_name(k, slot, 0),
                       t ? dtype_name(t->dtype) : "none", wanted);
}

enum skiff_status kernel_check_same_dtype(const struct kernel *k, int slot, int like,
                                          struct skiff_error *err)
{
    const struct tensor *a = kernel_in(k, slot), *b = kernel_in(k, like);
    if (a->dtype == b->dtype)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_DTYPE, err,
                       "inputs %s (%s) and %s (%s) must have one type, found %s and %s",
                       k->kind->ins[like].name, kernel_in_name(k, like, 0), k->kind->ins[slot].name,
                       kernel_in_name(k, slot, 0), dtype_name(b->dtype), dtype_name(a->dtype));
}

enum skiff_status infer_axis(const struct infer *c, int slot, const char *attr, int64_t axis,
                             int ndim, int *out, struct skiff_error *err)
{
    int a = axis_of(axis, ndim);
    if (a < 0)
        return infer_fail(c, slot, 0, err, "attribute %s is %lld, must lie in [%d, %d)", attr,
                          (long long)axis, -ndim, ndim);
    *out = a;
    return SKIFF_OK;
}

int64_t dims_product(const struct shape *s, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) {
        if (s->dims[i] < 0)
            return -1;
        n *= s->dims[i];
    }
    return n;
}

enum skiff_status infer_grad_of(struct infer *c, int in_slot, int out_slot, struct skiff_error *err)
{
    if (infer_in_count(c, in_slot) == 0 || infer_out_count(c, out_slot) == 0)
        return SKIFF_OK;
    return infer_same(c, in_slot, out_slot, err);
}

enum skiff_status infer_like(struct infer *c, int in_slot, int out_slot, struct skiff_error *err)
{
    struct shape s = *infer_in(c, in_slot, 0);
    return infer_out(c, out_slot, 0, infer_in_dtype(c, in_slot, 0), &s, err);
}

enum skiff_status infer_batch_like(struct infer *c, const struct attr_value *dims, int from, int to,
                                   enum dtype dtype, struct skiff_error *err)
{
    const struct shape *in = infer_in(c, 0, 0);
    const struct lod_level *level = lod_last(infer_in_lod(c, 0, 0));
    struct shape s = {.ndim = dims->n};
    if (dims->n > TENSOR_MAX_DIMS || from < 0 || from >= in->ndim || to < 0 || to >= dims->n)
        return infer_fail(c, 0, 0, err, "input_dim_idx %d or output_dim_idx %d is out of range",
                          from, to);
    for (int i = 0; i < dims->n; i++)
        s.dims[i] = dims->ints[i];
    s.dims[to] = from == 0 && level ? level->n - 1 : in->dims[from];
    return infer_out(c, 0, 0, dtype, &s, err);
}

enum skiff_status infer_xshape(struct infer *c, int in_slot, int out_slot, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, in_slot, 0);
    if (infer_out_count(c, out_slot) == 0)
        return SKIFF_OK;
    if (x->ndim + 1 > TENSOR_MAX_DIMS)
        return infer_fail(c, in_slot, 0, err, "has %d dims, at most %d are supported", x->ndim,
                          TENSOR_MAX_DIMS - 1);
    struct shape s = {.ndim = x->ndim + 1};
    for (int i = 0; i < x->ndim; i++)
        s.dims[i + 1] = x->dims[i];
    TRY(infer_out(c, out_slot, 0, infer_in_dtype(c, in_slot, 0), &s, err));
    infer_share_lod(c, in_slot, 0, out_slot, 0);
    return SKIFF_OK;
}

enum skiff_status infer_from_xshape(struct infer *c, int xshape_slot, int dout_slot, int out_slot,
                                    struct skiff_error *err)
{
    const struct shape *x = infer_in(c, xshape_slot, 0);
    if (x->ndim < 1)
        return infer_fail(c, xshape_slot, 0, err, "is not a shape record");
    struct shape s = {.ndim = x->ndim - 1};
    for (int i = 0; i < s.ndim; i++)
        s.dims[i] = x->dims[i + 1];
    TRY(infer_out(c, out_slot, 0, infer_in_dtype(c, dout_slot, 0), &s, err));
    infer_share_lod(c, xshape_slot, 0, out_slot, 0);
    return SKIFF_OK;
}

int tensor_read_ints(const struct tensor *t, int64_t *out, int max)
{
    int64_t n = tensor_numel(t);
    if (n < 0 || n > max || !dtype_is_index(t->dtype))
        return -1;
    DISPATCH_INDEX(t->dtype, T, const T *p = t->data; for (int64_t i = 0; i < n; i++) out[i] = p[i])
    return (int)n;
}

int kernel_read_int_list(const struct kernel *k, int slot, int64_t *out, int max)
{
    int n = kernel_in_count(k, slot);
    if (n > max)
        return -1;
    for (int i = 0; i < n; i++) {
        const struct tensor *t = kernel_in_at(k, slot, i);
        if (!t || tensor_read_ints(t, &out[i], 1) != 1)
            return -1;
    }
    return n;
}

int infer_read_ints(const struct infer *c, int slot, int64_t *out, int max)
{
    const struct tensor *t = c->running ? kernel_in(c->kernel, slot) : NULL;
    return t ? tensor_read_ints(t, out, max) : 0;
}

int infer_read_int_list(const struct infer *c, int slot, int64_t *out, int max)
{
    return c->running ? kernel_read_int_list(c->kernel, slot, out, max) : 0;
}

double tensor_read_number(const struct tensor *t)
{
    double v = 0;
    if (tensor_numel(t) > 0)
        DISPATCH_ALL(t->dtype, T, v = (double)*(const T *)t->data)
    return v;
}

bool repeat_strides(const struct shape *in, const struct shape *out, int64_t *strides)
{
    int pad = out->ndim - in->ndim;
    int64_t stride = 1;
    if (pad < 0)
        return false;
    for (int i = out->ndim - 1; i >= 0; i--) {
        int64_t d = i < pad ? 1 : in->dims[i - pad];
        if (d != 1 && d != out->dims[i])
            return false;
        strides[i] = d == 1 ? 0 : stride;
        stride *= d;
    }
    return true;
}

void shape_strides(const struct shape *s, int64_t *out)
{
    int64_t n = 1;
    for (int i = s->ndim - 1; i >= 0; i--) {
        out[i] = n;
        n *= s->dims[i];
    }
}

/* Drops dims of 1 and merges neighbours that are one run in both. False: nothing to do. */
static bool strided_merge(const struct strided *s, struct strided *m)
{
    m->ndim = 0;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dims[i] == 0)
            return false;
        if (s->dims[i] == 1)
            continue;
        int j = m->ndim - 1;
        if (j >= 0 && m->src[j] == s->src[i] * s->dims[i] && m->dst[j] == s->dst[i] * s->dims[i]) {
            m->dims[j] *= s->dims[i];
            m->src[j] = s->src[i];
            m->dst[j] = s->dst[i];
            continue;
        }
        m->dims[m->ndim] = s->dims[i];
        m->src[m->ndim] = s->src[i];
        m->dst[m->ndim] = s->dst[i];
        m->ndim++;
    }
    if (m->ndim == 0) {
        m->ndim = 1;
        m->dims[0] = 1;
        m->src[0] = m->dst[0] = 1;
    }
    return true;
}

struct strided_walk {
    int64_t index[STRIDED_MAX_DIMS];
    int64_t src, dst;
};

static bool strided_step(struct strided_walk *w, const struct strided *s)
{
    for (int i = s->ndim - 2; i >= 0; i--) {
        w->src += s->src[i];
        w->dst += s->dst[i];
        if (++w->index[i] < s->dims[i])
            return true;
        w->src -= s->src[i] * s->dims[i];
        w->dst -= s->dst[i] * s->dims[i];
        w->index[i] = 0;
    }
    return false;
}

#define COPY_RUN(T)                             \
    do {                                        \
        const T *from = (const T *)src + w.src; \
        T *to = (T *)dst + w.dst;               \
        for (int64_t i = 0; i < n; i++)         \
            to[i * sd] = from[i * ss];          \
    } while (0)

void strided_copy(const struct strided *s, size_t elem, const void *src, void *dst)
{
    struct strided m;
    if (!strided_merge(s, &m))
        return;
    int64_t n = m.dims[m.ndim - 1], ss = m.src[m.ndim - 1], sd = m.dst[m.ndim - 1];
    struct strided_walk w = {0};
    do {
        if (ss == 1 && sd == 1)
            memmove((char *)dst + w.dst * (int64_t)elem, (const char *)src + w.src * (int64_t)elem,
                    (size_t)n * elem);
        else if (elem == 4)
            COPY_RUN(uint32_t);
        else if (elem == 8)
            COPY_RUN(uint64_t);
        else if (elem == 2)
            COPY_RUN(uint16_t);
        else
            COPY_RUN(uint8_t);
    } while (strided_step(&w, &m));
}

void strided_add(const struct strided *s, enum dtype dtype, const void *src, void *dst)
{
    struct strided m;
    if (!dtype_is_number(dtype)) {
        strided_copy(s, dtype_size(dtype), src, dst);
        return;
    }
    if (!strided_merge(s, &m))
        return;
    int64_t n = m.dims[m.ndim - 1], ss = m.src[m.ndim - 1], sd = m.dst[m.ndim - 1];
    struct strided_walk w = {0};
    do {
        DISPATCH_NUMBER(
            dtype, T, const T *from = (const T *)src + w.src; T *to = (T *)dst + w.dst;
            if (sd == 0) {
                typeof(_Generic((T)0, float : (double)0, default : (T)0)) sum = 0;
                for (int64_t i = 0; i < n; i++)
                    sum += from[i * ss];
                *to += (T)sum;
            } else for (int64_t i = 0; i < n; i++) to[i * sd] += from[i * ss])
    } while (strided_step(&w, &m));
}

/* Places the smaller shape at `axis` of a shape of rank n, 1 elsewhere. */
static bool align_to_axis(const struct shape *s, int axis, int n, struct shape *out)
{
    int nd = s->ndim;
    while (nd > 0 && axis + nd > n && s->dims[nd - 1] == 1)
        nd--;
    if (axis + nd > n)
        return false;
    *out = (struct shape){.ndim = n};
    for (int i = 0; i < n; i++)
        out->dims[i] = i >= axis && i < axis + nd ? s->dims[i - axis] : 1;
    return true;
}

static bool broadcast_align(const struct shape *x, const struct shape *y, int axis,
                            struct shape *ax, struct shape *ay)
{
    int n = x->ndim > y->ndim ? x->ndim : y->ndim;
    if (axis < 0 || x->ndim == y->ndim)
        axis = n - (x->ndim < y->ndim ? x->ndim : y->ndim);
    if (axis > n)
        return false;
    if (x->ndim >= y->ndim) {
        *ax = *x;
        return align_to_axis(y, axis, n, ay);
    }
    *ay = *y;
    return align_to_axis(x, axis, n, ax);
}

static bool broadcast_dims(const struct shape *ax, const struct shape *ay, struct shape *out)
{
    out->ndim = ax->ndim;
    for (int i = 0; i < ax->ndim; i++) {
        int64_t a = ax->dims[i], b = ay->dims[i];
        if (a == b || b == 1)
            out->dims[i] = a;
        else if (a == 1)
            out->dims[i] = b;
        else if (a < 0 || b < 0)
            out->dims[i] = a > b ? a : b;
        else
            return false;
    }
    return true;
}

bool broadcast_shape(const struct shape *x, const struct shape *y, int axis, struct shape *out)
{
    struct shape ax, ay;
    return broadcast_align(x, y, axis, &ax, &ay) && broadcast_dims(&ax, &ay, out);
}

bool broadcast_plan(struct broadcast *b, const struct shape *x, const struct shape *y, int axis)
{
    struct shape ax, ay;
    if (!broadcast_align(x, y, axis, &ax, &ay) || !broadcast_dims(&ax, &ay, &b->out))
        return false;
    int64_t tx[TENSOR_MAX_DIMS], ty[TENSOR_MAX_DIMS];
    shape_strides(&ax, tx);
    shape_strides(&ay, ty);
    b->ndim = 0;
    for (int i = 0; i < b->out.ndim; i++) {
        int64_t d = b->out.dims[i];
        int64_t sx = ax.dims[i] == 1 ? 0 : tx[i], sy = ay.dims[i] == 1 ? 0 : ty[i];
        if (d == 1)
            continue;
        int j = b->ndim - 1;
        if (j >= 0 && b->sx[j] == sx * d && b->sy[j] == sy * d) {
            b->dims[j] *= d;
            b->sx[j] = sx;
            b->sy[j] = sy;
            continue;
        }
        b->dims[b->ndim] = d;
        b->sx[b->ndim] = sx;
        b->sy[b->ndim] = sy;
        b->ndim++;
    }
    if (b->ndim == 0) {
        b->ndim = 1;
        b->dims[0] = 1;
        b->sx[0] = b->sy[0] = 1;
    }
    return true;
}

struct binary_span {
    const struct broadcast *b;
    binary_loop f;
    int64_t in_elem, out_elem;
    const char *x, *y;
    char *out;
};

/* Indices `from` to before `to` of the outermost dim. */
static void binary_part(void *arg, int64_t from, int64_t to)
{
    const struct binary_span *s = arg;
    struct broadcast b = *s->b;
    b.dims[0] = to - from;
    int last = b.ndim - 1;
    int64_t n = b.dims[last], sx = b.sx[last], sy = b.sy[last];
    const char *x = s->x + from * b.sx[0] * s->in_elem, *y = s->y + from * b.sy[0] * s->in_elem;
    char *out = s->out + from * broadcast_row(&b) * s->out_elem;
    struct broadcast_walk w;
    for (broadcast_start(&w, &b); broadcast_more(&w); broadcast_step(&w, &b))
        s->f(n, x + w.x * s->in_elem, sx, y + w.y * s->in_elem, sy, out + w.out * s->out_elem);
}

void broadcast_run(const struct broadcast *b, binary_loop f, size_t in_elem, size_t out_elem,
                   const void *x, const void *y, void *out)
{
    struct binary_span s = {b, f, (int64_t)in_elem, (int64_t)out_elem, x, y, out};
    thread_pool_split(b->dims[0], thread_pool_rows(b->dims[0], broadcast_row(b)), binary_part, &s);
}

enum skiff_status infer_broadcast(struct infer *c, enum dtype dtype, int axis,
                                  struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0), *y = infer_in(c, 1, 0);
    struct shape out;
    char text[160];
    if (!broadcast_shape(x, y, axis, &out))
        return infer_fail(c, 0, 0, err, "does not fit input %s (%s) %s with axis %d",
                          c->kind->ins[1].name, infer_in_name(c, 1, 0), shape_text(y, text), axis);
    bool keeps_rows = x->ndim > 0 && out.ndim == x->ndim && !dims_conflict(x->dims[0], out.dims[0]);
    TRY(infer_out(c, 0, 0, dtype, &out, err));
    if (keeps_rows)
        infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

void reduce_plan_init(struct reduce_plan *p, const struct shape *s, unsigned mask)
{
    int64_t stride[TENSOR_MAX_DIMS];
    *p = (struct reduce_plan){.out_count = 1, .reduce_count = 1, .outer = 1, .inner = 1};
    shape_strides(s, stride);
    int first = -1, last = -1;
    for (int i = 0; i < s->ndim; i++) {
        if (mask >> i & 1) {
            first = first < 0 ? i : first;
            last = i;
            p->reduced[p->nreduced] = s->dims[i];
            p->reduced_stride[p->nreduced++] = stride[i];
            p->reduce_count *= s->dims[i];
        } else {
            p->kept[p->nkept] = s->dims[i];
            p->kept_stride[p->nkept++] = stride[i];
            p->out_count *= s->dims[i];
        }
    }
    p->is_block = first < 0 || last - first + 1 == p->nreduced;
    for (int i = 0; i < s->ndim; i++) {
        if (mask >> i & 1)
            continue;
        if (first >= 0 && i > last)
            p->inner *= s->dims[i];
        else
            p->outer *= s->dims[i];
    }
}

static int64_t plan_offset(int n, const int64_t *dims, const int64_t *stride, int64_t i)
{
    int64_t off = 0;
    for (int d = n - 1; d >= 0; d--) {
        off += i % dims[d] * stride[d];
        i /= dims[d];
    }
    return off;
}

int64_t reduce_kept_offset(const struct reduce_plan *p, int64_t i)
{
    return plan_offset(p->nkept, p->kept, p->kept_stride, i);
}

int64_t reduce_offset(const struct reduce_plan *p, int64_t j)
{
    return plan_offset(p->nreduced, p->reduced, p->reduced_stride, j);
}

bool reduce_mask(const int32_t *dims, int n, bool all, int ndim, unsigned *out)
{
    unsigned mask = 0;
    if (all || n == 0)
        mask = (1u << ndim) - 1;
    else
        for (int i = 0; i < n; i++) {
            int a = axis_of(dims[i], ndim);
            if (a < 0)
                return false;
            mask |= 1u << a;
        }
    *out = mask;
    return true;
}

void rows_copy_ids(struct skiff_tensor *out, const struct skiff_tensor *in)
{
    if (out == in)
        return;
    memcpy(out->sel.rows, in->sel.rows, in->sel.nrows * sizeof(int64_t));
    out->sel.nrows = in->sel.nrows;
    out->sel.height = in->sel.height;
}

struct skiff_op *grad_pass_back(struct grad_build *g, const char *type, bool copy_attrs,
                                const char *out_slot, const char *in_slot)
{
    const char *dout = grad_name(g, op_out1(g->fwd, out_slot));
    const char *dx = grad_name(g, op_in1(g->fwd, in_slot));
    if (g->unwanted && g->unwanted(g, dx))
        return NULL;
    struct skiff_op *op = grad_op(g, type, copy_attrs);
    op_set_in(g->program, op, "X", 1, &dout);
    op_set_out(g->program, op, "Out", 1, &dx);
    return op;
}
