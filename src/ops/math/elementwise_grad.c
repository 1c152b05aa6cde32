/* Gradients of elementwise.c: with d = Out@GRAD at an element,
 *
 *   op    X@GRAD             Y@GRAD
 *   add   d                  d
 *   sub   d                  -d
 *   mul   d y                d x
 *   div   d / y              -d out / y
 *   max   x > y ? d : 0      x > y ? 0 : d      (on ties all of it goes to Y, as in Paddle)
 *   min   x < y ? d : 0      x < y ? 0 : d
 *   fmax  x >= y ? d : 0     x >= y ? 0 : d     (an operand beside a NaN gets it all)
 *   fmin  x <= y ? d : 0     x <= y ? 0 : d
 *   pow   d y x^(y-1)        d log(x) x^y
 *   atan2 d y / (x^2 + y^2)  -d x / (x^2 + y^2)
 *
 * each summed over the places that one element was repeated to. One walk over the result computes
 * both; an operand that is not repeated is written directly, a repeated one is cleared and added
 * to, with runs that end in one element summed in double. */
#include "ops/ops_common.h"

#include <string.h>
#include <tgmath.h>

#include "base/thread_pool.h"
#include "tensor/math.h"

enum { X, Y, DOUT, OUT };
enum { DX, DY };

/* One inner run. dx, dy may be NULL; ax, ay: add to what is there. */
struct grad_run {
    int64_t n, sx, sy;
    const void *x, *y, *out, *d;
    void *dx, *dy;
    bool ax, ay;
};
typedef void (*grad_loop)(const struct grad_run *r);

#define SIDE(T, dst, stride, adds, expr)                                      \
    if (dst) {                                                                \
        T *to = dst;                                                          \
        if (!stride && adds) {                                                \
            double sum = 0;                                                   \
            for (int64_t i = 0; i < r->n; i++) {                              \
                T x = x_[i * r->sx], y = y_[i * r->sy], o = o_[i], d = d_[i]; \
                (void)x, (void)y, (void)o;                                    \
                sum += (T)(expr);                                             \
            }                                                                 \
            *to += (T)sum;                                                    \
        } else                                                                \
            for (int64_t i = 0; i < r->n; i++) {                              \
                T x = x_[i * r->sx], y = y_[i * r->sy], o = o_[i], d = d_[i]; \
                (void)x, (void)y, (void)o;                                    \
                to[i] = (adds ? to[i] : 0) + (T)(expr);                       \
            }                                                                 \
    }
#define DEFINE_LOOP(fn, T, ex, ey)                                \
    static void fn(const struct grad_run *r)                      \
    {                                                             \
        const T *x_ = r->x, *y_ = r->y, *o_ = r->out, *d_ = r->d; \
        SIDE(T, r->dx, r->sx, r->ax, ex)                          \
        SIDE(T, r->dy, r->sy, r->ay, ey)                          \
    }
#define DEFINE_LOOPS(name, ex, ey)         \
    DEFINE_LOOP(name##_f32, float, ex, ey) \
    DEFINE_LOOP(name##_f64, double, ex, ey)

DEFINE_LOOPS(mul, d *y, d *x);
DEFINE_LOOPS(div, d / y, -d *o / y);
DEFINE_LOOPS(max, x > y ? d : 0, x > y ? 0 : d);
DEFINE_LOOPS(min, x < y ? d : 0, x < y ? 0 : d);
#define TO_X_MAX (x >= y || isnan(y))
#define TO_X_MIN (x <= y || isnan(y))
DEFINE_LOOPS(fmax, TO_X_MAX ? d : 0, TO_X_MAX ? 0 : d);
DEFINE_LOOPS(fmin, TO_X_MIN ? d : 0, TO_X_MIN ? 0 : d);
DEFINE_LOOPS(atan2, d *y / (x * x + y * y), -d *x / (x * x + y * y));
DEFINE_LOOPS(pow, d *y *pow(x, y - 1), d *log(x) * pow(x, y));

/* add and sub read only d: x, y, out point at d to keep one form of loop */
DEFINE_LOOPS(add, d, d);
DEFINE_LOOPS(sub, d, -d);

static bool is_repeated(const int64_t *strides, const struct broadcast *b)
{
    for (int i = 0; i < b->ndim; i++)
        if (strides[i] == 0)
            return true;
    return false;
}

static void *clear_if(struct tensor *t, bool repeated)
{
    if (!t)
        return NULL;
    if (repeated)
        tensor_clear(t);
    return t->data;
}

struct grad_span {
    const struct broadcast *b;
    grad_loop f;
    int64_t elem;
    struct grad_run all;
};

/* Indices `from` to before `to` of the outermost dim. */
static void grad_part(void *arg, int64_t from, int64_t to)
{
    const struct grad_span *s = arg;
    const struct grad_run *all = &s->all;
    struct broadcast b = *s->b;
    struct broadcast_walk w;
    int64_t e = s->elem, x0 = from * b.sx[0], y0 = from * b.sy[0], out0 = from * broadcast_row(&b);
    b.dims[0] = to - from;
    for (broadcast_start(&w, &b); broadcast_more(&w); broadcast_step(&w, &b)) {
        struct grad_run r = {
            .n = b.dims[b.ndim - 1],
            .sx = all->sx,
            .sy = all->sy,
            .x = (const char *)all->x + (x0 + w.x) * e,
            .y = (const char *)all->y + (y0 + w.y) * e,
            .out = (const char *)all->out + (out0 + w.out) * e,
            .d = (const char *)all->d + (out0 + w.out) * e,
            .dx = all->dx ? (char *)all->dx + (x0 + w.x) * e : NULL,
            .dy = all->dy ? (char *)all->dy + (y0 + w.y) * e : NULL,
            .ax = all->ax,
            .ay = all->ay,
        };
        s->f(&r);
    }
}

/* Sums over repeated operands are not shared with other threads. */
static void grad_walk(const struct broadcast *b, grad_loop f, size_t elem, struct grad_run all)
{
    struct grad_span s = {b, f, (int64_t)elem, all};
    int64_t n = b->dims[0];
    thread_pool_split(n, all.ax || all.ay ? n : thread_pool_rows(n, broadcast_row(b)), grad_part,
                      &s);
}

static const struct shape *shape_or(const struct kernel *k, int slot)
{
    const struct tensor *t = kernel_in(k, slot);
    return t ? &t->shape : &kernel_in(k, DOUT)->shape;
}

/* X and Y need not be read, but their gradients have their types. */
static enum skiff_status check_types(const struct kernel *k, struct skiff_error *err)
{
    TRY(kernel_check_dtype(k, DOUT, dtype_is_float, "float32 or float64", err));
    for (int i = X; i <= Y; i++)
        if (kernel_in(k, i))
            TRY(kernel_check_same_dtype(k, i, DOUT, err));
    return SKIFF_OK;
}

static enum skiff_status grad_run(struct kernel *k, grad_loop f32, grad_loop f64, bool reads_xy,
                                  struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, DOUT);
    struct broadcast b;
    TRY(check_types(k, err));
    if (!broadcast_plan(&b, shape_or(k, X), shape_or(k, Y), k->attr[0].i) ||
        shape_numel(&b.out) != tensor_numel(d))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not have the shape of X and Y",
                           kernel_in_name(k, DOUT, 0));
    struct grad_run all = {.sx = b.sx[b.ndim - 1], .sy = b.sy[b.ndim - 1], .d = d->data};
    all.x = all.y = all.out = d->data;
    if (reads_xy) {
        all.x = kernel_in(k, X)->data;
        all.y = kernel_in(k, Y)->data;
    }
    if (k->kind->ins[OUT].name) {
        TRY(kernel_check_same_dtype(k, OUT, DOUT, err));
        if (tensor_numel(kernel_in(k, OUT)) != tensor_numel(d))
            return kernel_fail(k, SKIFF_SHAPE, err, "Out and Out@GRAD differ in size");
        all.out = kernel_in(k, OUT)->data;
    }
    all.ax = is_repeated(b.sx, &b);
    all.ay = is_repeated(b.sy, &b);
    all.dx = clear_if(kernel_out(k, DX), all.ax);
    all.dy = clear_if(kernel_out(k, DY), all.ay);
    grad_walk(&b, d->dtype == DTYPE_FP32 ? f32 : f64, dtype_size(d->dtype), all);
    return SKIFF_OK;
}

/* The usual case of a bias: X has the shape of Out, Y is its last dims. False: not that case. */
static bool add_bias_grad(struct kernel *k, float sign)
{
    const struct tensor *d = kernel_in(k, DOUT);
    struct tensor *dx = kernel_out(k, DX), *dy = kernel_out(k, DY);
    struct broadcast b;
    if (d->dtype != DTYPE_FP32 || !broadcast_plan(&b, shape_or(k, X), shape_or(k, Y), k->attr[0].i))
        return false;
    bool same = b.ndim == 1 && b.sx[0] == 1 && b.sy[0] == 1;
    bool bias = b.ndim == 2 && b.sx[1] == 1 && b.sx[0] == b.dims[1] && b.sy[1] == 1 && b.sy[0] == 0;
    if ((!same && !bias) || shape_numel(&b.out) != tensor_numel(d))
        return false;
    if (dx && dx->data != d->data)
        math_copy_f32(tensor_numel(d), d->data, dx->data);
    if (!dy)
        return true;
    if (bias)
        math_sum_rows_f32(b.dims[0], b.dims[1], d->data, dy->data);
    else if (dy->data != d->data)
        math_copy_f32(tensor_numel(d), d->data, dy->data);
    if (sign != 1)
        math_scale_f32(tensor_numel(dy), sign, dy->data);
    return true;
}

static enum skiff_status add_grad_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_types(k, err));
    return add_bias_grad(k, 1) ? SKIFF_OK : grad_run(k, add_f32, add_f64, false, err);
}
static enum skiff_status sub_grad_run(struct kernel *k, struct skiff_error *err)
{
    TRY(check_types(k, err));
    return add_bias_grad(k, -1) ? SKIFF_OK : grad_run(k, sub_f32, sub_f64, false, err);
}
#define DEFINE_RUN(name)                                                                \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        return grad_run(k, name##_f32, name##_f64, true, err);                          \
    }
DEFINE_RUN(mul);
DEFINE_RUN(div);
DEFINE_RUN(max);
DEFINE_RUN(min);
DEFINE_RUN(pow);
DEFINE_RUN(fmax);
DEFINE_RUN(fmin);
DEFINE_RUN(atan2);

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_same(c, infer_in_count(c, X) ? X : DOUT, DX, err));
    return infer_same(c, infer_in_count(c, Y) ? Y : DOUT, DY, err);
}

/* 1.6 programs leave out X of add and sub */
static const struct op_slot shape_ins[] = {
    {"X", SLOT_SHAPE_ONLY | SLOT_OPTIONAL}, {"Y", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot ins[] = {{"X", 0}, {"Y", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot div_ins[] = {
    {"X", 0}, {"Y", 0}, {"Out" GRAD_SUFFIX, 0}, {"Out", 0}, {0}};
static const struct op_slot outs[] = {
    {"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {"Y" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec attrs[] = {
    A_INT("axis", -1),
    {.name = "use_mkldnn", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_1X},
    {.name = "x_data_format", .type = ATTR_STRING, .flags = ATTR_ONLY_1X, .def = {.s = ""}},
    {.name = "y_data_format", .type = ATTR_STRING, .flags = ATTR_ONLY_1X, .def = {.s = ""}},
    {0},
};

static const struct op_slot atan2_ins[] = {{"X1", 0}, {"X2", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot atan2_outs[] = {
    {"X1" GRAD_SUFFIX, SLOT_OPTIONAL}, {"X2" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec no_axis[] = {
    {.name = "axis", .type = ATTR_INT, .flags = ATTR_HIDDEN, .def = {.i = -1}}, {0}};

#define BINARY_GRAD(name, in, ...)                                                     \
    {                                                                                  \
        .type = "elementwise_" #name "_grad", .ins = in, .outs = outs, .attrs = attrs, \
        .infer = grad_infer, .run = name##_grad_run, __VA_ARGS__                       \
    }

const struct op_kind ops_elementwise_grad[] = {
    BINARY_GRAD(add, shape_ins, .class = CLASS_ADD_GRAD),
    BINARY_GRAD(sub, shape_ins, ),
    BINARY_GRAD(mul, ins, ),
    BINARY_GRAD(div, div_ins, ),
    BINARY_GRAD(max, ins, ),
    BINARY_GRAD(min, ins, ),
    BINARY_GRAD(pow, ins, ),
    BINARY_GRAD(fmax, ins, .generations = GEN_2X),
    BINARY_GRAD(fmin, ins, .generations = GEN_2X),
    {.type = "atan2_grad",
     .generations = GEN_2X,
     .ins = atan2_ins,
     .outs = atan2_outs,
     .attrs = no_axis,
     .infer = grad_infer,
     .run = atan2_grad_run},
    {0},
};
