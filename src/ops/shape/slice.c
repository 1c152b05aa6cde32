/* Parts and rearrangements by index arithmetic: slice, strided_slice, flip, roll, tril_triu.
 *
 *   slice          X[start : end] on the named axes; negative numbers count from the end, all are
 *                  clamped; axes in decrease_axis (of size 1) go away. When none is left 1.x gives
 *                  [1], 2.x a 0-D tensor. Starts and ends: list of tensors, tensor, attribute
 *   strided_slice  the same with a stride, which may be negative. Going backwards in 2.x an end of
 *                  -1 means down to element 0, and one before the beginning counts as 0, so that
 *                  it stops before element 0; in 1.x that one goes down to element 0, and steps are
 *                  counted from the end
 *   flip, reverse  an axis turned round
 *   roll           elements moved on by `shifts`, coming in again at the start
 *   tril_triu      zero above (below) a diagonal of the last two dims
 * The gradients are the same walks backwards. */
#include "ops/ops_common.h"

#include <string.h>

enum { X };

/* ---- slice and strided_slice ---- */
enum { STARTS, ENDS, STARTS_LIST, ENDS_LIST, STRIDES, STRIDES_LIST, NSLOTS };
struct cut_rule {
    int slot[NSLOTS]; /* positions of the slots above; -1: not there */
    bool minus_one;   /* backwards: an end of -1 lies before element 0 */
};
static const struct cut_rule slice_rule = {{1, 2, 3, 4, -1, -1}, false};
static const struct cut_rule strided_rule_1x = {{1, 3, 2, 4, 5, 6}, false};
static const struct cut_rule strided_rule_2x = {{1, 3, 2, 4, 5, 6}, true};
enum { SLICE_DOUT = 5, STRIDED_DOUT = 7 };
enum { A_AXES, A_STARTS, A_ENDS, A_FLAGS, A_DECREASE, A_STRIDES };

struct slice_ranges {
    struct shape in, out; /* out: before axes are dropped */
    int64_t first[TENSOR_MAX_DIMS], step[TENSOR_MAX_DIMS];
    unsigned sliced, dropped;
};

/* The numbers of one attribute, or of the inputs that replace it; -1 on failure. */
static int read_numbers(const struct kernel *k, const struct cut_rule *rule, int tensor, int list,
                        const struct attr_value *attr, int64_t *out)
{
    if (k && rule->slot[list] >= 0 && kernel_in_count(k, rule->slot[list]))
        return kernel_read_int_list(k, rule->slot[list], out, TENSOR_MAX_DIMS);
    if (k && rule->slot[tensor] >= 0 && kernel_in(k, rule->slot[tensor]))
        return tensor_read_ints(kernel_in(k, rule->slot[tensor]), out, TENSOR_MAX_DIMS);
    if (attr->n > TENSOR_MAX_DIMS)
        return -1;
    for (int i = 0; i < attr->n; i++)
        out[i] = attr->ints[i];
    return attr->n;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* One axis: where it starts, how many elements. */
static int64_t cut_axis(int64_t n, int64_t start, int64_t end, int64_t step, bool minus_one,
                        int64_t *first)
{
    bool to_the_front = minus_one && step < 0 && end == -1;
    if (start < 0)
        start += n;
    if (end < 0 && !to_the_front)
        end += n;
    if (step > 0) {
        start = clamp(start, 0, n);
        end = clamp(end, 0, n);
        *first = start;
        return end > start ? (end - start + step - 1) / step : 0;
    }
    start = clamp(start, -1, n - 1);
    end = clamp(end, to_the_front || !minus_one ? -1 : 0, n);
    int64_t count = start > end ? (start - end - step - 1) / -step : 0;
    *first = minus_one ? start : end + 1 - (count - 1) * step;
    return count;
}

/* Fills the cut; k NULL while building (numbers from inputs are then unknown). Returns NULL, or
 * what is wrong. */
static const char *cut_init(struct slice_ranges *cut, const struct kernel *k,
                            const struct cut_rule *rule, const struct attr_value *attr,
                            const struct shape *in, bool from_inputs)
{
    int64_t starts[TENSOR_MAX_DIMS], ends[TENSOR_MAX_DIMS], steps[TENSOR_MAX_DIMS];
    const struct attr_value *axes = &attr[A_AXES], *flags = &attr[A_FLAGS];
    bool strided = rule->slot[STRIDES] >= 0;
    int ns = read_numbers(k, rule, STARTS, STARTS_LIST, &attr[A_STARTS], starts);
    int ne = read_numbers(k, rule, ENDS, ENDS_LIST, &attr[A_ENDS], ends);
    int nt = strided ? read_numbers(k, rule, STRIDES, STRIDES_LIST, &attr[A_STRIDES], steps) : 0;
    *cut = (struct slice_ranges){.in = *in, .out = *in};
    for (int i = 0; i < in->ndim; i++)
        cut->step[i] = 1;
    for (int i = 0; i < axes->n; i++) {
        int a = axis_of(axes->ints[i], in->ndim);
        bool unknown =
            !k && ((i < flags->n && flags->ints[i] == -1) || (from_inputs && (i >= ns || i >= ne)));
        if (a < 0)
            return "an axis is out of range";
        if (!unknown && (i >= ns || i >= ne || (strided && i >= nt)))
            return "starts, ends, strides and axes differ in length";
        cut->sliced |= 1u << a;
        if (unknown || in->dims[a] < 0) {
            cut->out.dims[a] = -1;
            continue;
        }
        cut->step[a] = strided ? steps[i] : 1;
        if (cut->step[a] == 0)
            return "a stride is 0";
        cut->out.dims[a] = cut_axis(in->dims[a], starts[i], ends[i], cut->step[a], rule->minus_one,
                                    &cut->first[a]);
    }
    for (int i = 0; i < attr[A_DECREASE].n; i++) {
        int a = axis_of(attr[A_DECREASE].ints[i], in->ndim);
        if (a < 0 || (cut->out.dims[a] >= 0 && cut->out.dims[a] != 1))
            return "decrease_axis names an axis that is not cut to one element";
        cut->dropped |= 1u << a;
    }
    return NULL;
}

static bool has_input_numbers(const struct infer *c, const struct cut_rule *rule)
{
    for (int i = 0; i < NSLOTS; i++)
        if (rule->slot[i] >= 0 && infer_in_count(c, rule->slot[i]))
            return true;
    return false;
}

static enum skiff_status cut_shape(struct infer *c, const struct cut_rule *rule, bool keep_one,
                                   struct skiff_error *err)
{
    struct slice_ranges cut;
    const char *wrong = cut_init(&cut, c->running ? c->kernel : NULL, rule, c->attr,
                                 infer_in(c, X, 0), has_input_numbers(c, rule));
    if (wrong)
        return infer_fail(c, X, 0, err, "%s", wrong);
    struct shape out = {0};
    for (int i = 0; i < cut.in.ndim; i++)
        if (!(cut.dropped >> i & 1))
            out.dims[out.ndim++] = cut.out.dims[i];
    if (out.ndim == 0 && keep_one)
        out = SHAPE(1);
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err));
    if (!(cut.sliced & 1))
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}
static enum skiff_status slice_1x_infer(struct infer *c, struct skiff_error *err)
{
    return cut_shape(c, &slice_rule, true, err);
}
static enum skiff_status slice_2x_infer(struct infer *c, struct skiff_error *err)
{
    return cut_shape(c, &slice_rule, false, err);
}
static enum skiff_status strided_slice_1x_infer(struct infer *c, struct skiff_error *err)
{
    return cut_shape(c, &strided_rule_1x, false, err);
}
static enum skiff_status strided_slice_2x_infer(struct infer *c, struct skiff_error *err)
{
    return cut_shape(c, &strided_rule_2x, false, err);
}

/* The walk over the part: strides in the complete tensor and in the part; *first is the offset
 * in the former. */
static void cut_walk(const struct slice_ranges *cut, struct strided *s, int64_t *first)
{
    int64_t stride[TENSOR_MAX_DIMS];
    shape_strides(&cut->in, stride);
    s->ndim = cut->in.ndim;
    shape_strides(&cut->out, s->dst);
    *first = 0;
    for (int i = 0; i < s->ndim; i++) {
        s->dims[i] = cut->out.dims[i];
        s->src[i] = stride[i] * cut->step[i];
        *first += stride[i] * cut->first[i];
    }
}

static enum skiff_status cut_run(struct kernel *k, const struct cut_rule *rule,
                                 struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct slice_ranges cut;
    struct strided s;
    int64_t first;
    const char *wrong = cut_init(&cut, k, rule, k->attr, &x->shape, false);
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong);
    cut_walk(&cut, &s, &first);
    if (tensor_numel(out) == 0)
        return SKIFF_OK;
    size_t elem = dtype_size(x->dtype);
    strided_copy(&s, elem, (const char *)x->data + first * (int64_t)elem, out->data);
    return SKIFF_OK;
}

static enum skiff_status cut_grad_run(struct kernel *k, const struct cut_rule *rule, int dout_slot,
                                      struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, dout_slot);
    struct tensor *dx = kernel_out(k, 0);
    struct slice_ranges cut;
    struct strided s, back;
    int64_t first;
    if (!dx)
        return SKIFF_OK;
    const char *wrong = cut_init(&cut, k, rule, k->attr, &kernel_in(k, X)->shape, false);
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong);
    if (tensor_numel(d) != shape_numel(&cut.out) || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit the part",
                           kernel_in_name(k, dout_slot, 0));
    tensor_clear(dx);
    if (tensor_numel(d) == 0)
        return SKIFF_OK;
    cut_walk(&cut, &s, &first);
    back = s;
    memcpy(back.src, s.dst, sizeof(back.src));
    memcpy(back.dst, s.src, sizeof(back.dst));
    size_t elem = dtype_size(d->dtype);
    strided_copy(&back, elem, d->data, (char *)dx->data + first * (int64_t)elem);
    return SKIFF_OK;
}

static enum skiff_status slice_run(struct kernel *k, struct skiff_error *err)
{
    return cut_run(k, &slice_rule, err);
}
static enum skiff_status slice_grad_run(struct kernel *k, struct skiff_error *err)
{
    return cut_grad_run(k, &slice_rule, SLICE_DOUT, err);
}
static enum skiff_status strided_slice_1x_run(struct kernel *k, struct skiff_error *err)
{
    return cut_run(k, &strided_rule_1x, err);
}
static enum skiff_status strided_slice_1x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return cut_grad_run(k, &strided_rule_1x, STRIDED_DOUT, err);
}
static enum skiff_status strided_slice_2x_run(struct kernel *k, struct skiff_error *err)
{
    return cut_run(k, &strided_rule_2x, err);
}
static enum skiff_status strided_slice_2x_grad_run(struct kernel *k, struct skiff_error *err)
{
    return cut_grad_run(k, &strided_rule_2x, STRIDED_DOUT, err);
}
static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

/* ---- flip ---- */
static enum skiff_status flip_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct strided s = {.ndim = x->shape.ndim};
    int64_t first = 0;
    size_t elem = dtype_size(x->dtype);
    shape_strides(&x->shape, s.src);
    shape_strides(&x->shape, s.dst);
    memcpy(s.dims, x->shape.dims, (size_t)s.ndim * sizeof(int64_t));
    unsigned done = 0;
    for (int i = 0; i < k->attr[0].n; i++) {
        int a = axis_of(k->attr[0].ints[i], s.ndim);
        if (a < 0 || done >> a & 1)
            return kernel_fail(k, SKIFF_SHAPE, err, "axis %d is out of range or named twice",
                               k->attr[0].ints[i]);
        done |= 1u << a;
        first += s.src[a] * (s.dims[a] - 1);
        s.src[a] = -s.src[a];
    }
    strided_copy(&s, elem, (const char *)x->data + first * (int64_t)elem, kernel_out(k, 0)->data);
    return SKIFF_OK;
}

static enum skiff_status flip_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_pass_back(g, g->fwd->type, false, "Out", "X");
    const struct op_attr_value *axis = op_attr(g->fwd, "axis");
    if (op && axis)
        op_set_ints(g->program, op, "axis", axis->value.n, axis->value.ints);
    return SKIFF_OK;
}

/* ---- roll ---- */
enum { R_SHIFTS_TENSOR = 1, R_DOUT };
enum { R_SHIFTS, R_AXIS };

/* Moves the elements of one axis on by `by`; from and to differ. */
static void roll_axis(struct axis_view l, int64_t by, size_t elem, const char *from, char *to)
{
    int64_t shift = l.n ? (by % l.n + l.n) % l.n : 0;
    size_t row = (size_t)l.inner * elem, head = (size_t)(l.n - shift) * row;
    for (int64_t o = 0; o < l.outer; o++) {
        const char *f = from + (size_t)o * (size_t)l.n * row;
        char *t = to + (size_t)o * (size_t)l.n * row;
        memcpy(t + (size_t)shift * row, f, head);
        memcpy(t, f + head, (size_t)shift * row);
    }
}

static enum skiff_status roll_by(struct kernel *k, const struct tensor *x, struct tensor *out,
                                 int sign, struct skiff_error *err)
{
    int64_t shifts[TENSOR_MAX_DIMS];
    const struct tensor *given = kernel_in(k, R_SHIFTS_TENSOR);
    const struct attr_value *axis = &k->attr[R_AXIS];
    int n = given ? tensor_read_ints(given, shifts, TENSOR_MAX_DIMS) : k->attr[R_SHIFTS].n;
    if (n < 0 || n > TENSOR_MAX_DIMS || n != (axis->n ? axis->n : 1))
        return kernel_fail(k, SKIFF_INVALID, err, "%d shifts for %d axes", n, axis->n);
    for (int i = 0; i < n && !given; i++)
        shifts[i] = k->attr[R_SHIFTS].longs[i];
    size_t bytes = tensor_bytes(x), elem = dtype_size(x->dtype);
    void *buffer[2];
    const void *from = x->data;
    if (bytes == 0)
        return SKIFF_OK;
    TRY(kernel_scratch(k, bytes, &buffer[0], err));
    TRY(kernel_scratch(k, bytes, &buffer[1], err));
    for (int i = 0; i < n; i++) {
        struct axis_view l = {1, tensor_numel(x), 1};
        if (axis->n) {
            int a = axis_of(axis->longs[i], x->shape.ndim);
            if (a < 0)
                return kernel_fail(k, SKIFF_SHAPE, err, "axis %lld is out of range",
                                   (long long)axis->longs[i]);
            l = shape_lines(&x->shape, a);
        }
        roll_axis(l, sign * shifts[i], elem, from, buffer[i & 1]);
        from = buffer[i & 1];
    }
    memmove(out->data, from, bytes);
    return SKIFF_OK;
}
static enum skiff_status roll_run(struct kernel *k, struct skiff_error *err)
{
    return roll_by(k, kernel_in(k, X), kernel_out(k, 0), 1, err);
}
static enum skiff_status roll_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    const struct tensor *d = kernel_in(k, R_DOUT);
    if (dx && (!shape_equal(&d->shape, &dx->shape) || d->dtype != dx->dtype))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) must be like X",
                           kernel_in_name(k, R_DOUT, 0));
    return dx ? roll_by(k, d, dx, -1, err) : SKIFF_OK;
}

/* ---- tril_triu ---- */
static enum skiff_status tril_triu_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    int diagonal = k->attr[0].i, nd = x->shape.ndim;
    bool lower = k->attr[1].b;
    if (!out)
        return SKIFF_OK;
    if (nd < 2)
        return kernel_fail(k, SKIFF_SHAPE, err, "input (%s) must be a matrix at least",
                           kernel_in_name(k, X, 0));
    int64_t rows = x->shape.dims[nd - 2], cols = x->shape.dims[nd - 1];
    int64_t all = tensor_numel(x) / (cols ? cols : 1);
    size_t elem = dtype_size(x->dtype);
    for (int64_t r = 0; r < all; r++) {
        const char *p = (const char *)x->data + (size_t)(r * cols) * elem;
        char *q = (char *)out->data + (size_t)(r * cols) * elem;
        int64_t edge = clamp(r % rows + diagonal + (lower ? 1 : 0), 0, cols);
        int64_t from = lower ? 0 : edge, to = lower ? edge : cols;
        memmove(q + (size_t)from * elem, p + (size_t)from * elem, (size_t)(to - from) * elem);
        memset(q, 0, (size_t)from * elem);
        memset(q + (size_t)to * elem, 0, (size_t)(cols - to) * elem);
    }
    return SKIFF_OK;
}

static const struct op_slot slice_in[] = {{"Input", 0},
                                          {"StartsTensor", SLOT_OPTIONAL},
                                          {"EndsTensor", SLOT_OPTIONAL},
                                          {"StartsTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                          {"EndsTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                          {0}};
static const struct op_slot slice_grad_in[] = {{"Input", SLOT_SHAPE_ONLY},
                                               {"StartsTensor", SLOT_OPTIONAL},
                                               {"EndsTensor", SLOT_OPTIONAL},
                                               {"StartsTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                               {"EndsTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                               {"Out" GRAD_SUFFIX, 0},
                                               {0}};
#define STRIDED_INPUTS                                                                \
    {"StartsTensor", SLOT_OPTIONAL}, {"StartsTensorList", SLOT_LIST | SLOT_OPTIONAL}, \
        {"EndsTensor", SLOT_OPTIONAL}, {"EndsTensorList", SLOT_LIST | SLOT_OPTIONAL}, \
        {"StridesTensor", SLOT_OPTIONAL},                                             \
    {                                                                                 \
        "StridesTensorList", SLOT_LIST | SLOT_OPTIONAL                                \
    }
static const struct op_slot strided_in[] = {{"Input", 0}, STRIDED_INPUTS, {0}};
static const struct op_slot strided_grad_in[] = {
    {"Input", SLOT_SHAPE_ONLY}, STRIDED_INPUTS, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot input_grad_out[] = {{"Input" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot roll_in[] = {{"X", 0}, {"ShiftsTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot roll_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"ShiftsTensor", SLOT_OPTIONAL}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot dout_in[] = {{"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

#define SLICE_ATTRS                                                                    \
    A_REQ("axes", ATTR_INTS), A_INTS("starts"), A_INTS("ends"), A_INTS("infer_flags"), \
        A_INTS("decrease_axis")
static const struct op_attr_spec slice_attrs[] = {SLICE_ATTRS, {0}};
static const struct op_attr_spec strided_attrs[] = {SLICE_ATTRS, A_INTS("strides"), {0}};
static const struct op_attr_spec flip_attrs[] = {A_REQ("axis", ATTR_INTS), {0}};
static const struct op_attr_spec roll_attrs[] = {A_LONGS("shifts"), A_LONGS("axis"), {0}};
static const struct op_attr_spec tril_attrs[] = {A_INT("diagonal", 0), A_BOOL("lower", false), {0}};
static const struct op_attr_spec tril_1x_attrs[] = {
    A_INT("diagonal", 0), A_REQ("lower", ATTR_BOOLEAN), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define SLICE_GRAD \
    "Input StartsTensor EndsTensor StartsTensorList EndsTensorList Out@GRAD -> Input@GRAD"
#define STRIDED_GRAD                                                               \
    "Input StartsTensor StartsTensorList EndsTensor EndsTensorList StridesTensor " \
    "StridesTensorList Out@GRAD -> Input@GRAD"

#define STRIDED(g)                                                                             \
    KIND("strided_slice", GEN_##g##X, strided_in, out_out, strided_attrs,                      \
         strided_slice_##g##x_infer, strided_slice_##g##x_run, .grad = STRIDED_GRAD),          \
        KIND("strided_slice_grad", GEN_##g##X, strided_grad_in, input_grad_out, strided_attrs, \
             same_infer, strided_slice_##g##x_grad_run, )

const struct op_kind ops_slice[] = {
    KIND("slice", GEN_1X, slice_in, out_out, slice_attrs, slice_1x_infer, slice_run,
         .grad = SLICE_GRAD),
    KIND("slice", GEN_2X, slice_in, out_out, slice_attrs, slice_2x_infer, slice_run,
         .grad = SLICE_GRAD),
    KIND("slice_grad", 0, slice_grad_in, input_grad_out, slice_attrs, same_infer, slice_grad_run, ),
    STRIDED(1),
    STRIDED(2),
    KIND("flip", GEN_2X, x_in, out_out, flip_attrs, same_infer, flip_run,
         .make_grad = flip_make_grad),
    KIND("reverse", 0, x_in, out_out, flip_attrs, same_infer, flip_run,
         .make_grad = flip_make_grad),
    KIND("roll", GEN_2X, roll_in, out_out, roll_attrs, same_infer, roll_run,
         .grad = "X ShiftsTensor Out@GRAD -> X@GRAD"),
    KIND("roll_grad", GEN_2X, roll_grad_in, dx_out, roll_attrs, same_infer, roll_grad_run, ),
    KIND("tril_triu", GEN_1X, x_in, out_out, tril_1x_attrs, same_infer, tril_triu_run,
         .grad = "Out@GRAD -> X@GRAD"),
    KIND("tril_triu", GEN_2X, x_in, out_out, tril_attrs, same_infer, tril_triu_run,
         .grad = "Out@GRAD -> X@GRAD"),
    KIND("tril_triu_grad", 0, dout_in, dx_out, tril_attrs, same_infer, tril_triu_run, ),
    {0},
};
