/* pad3d (2.x): margins around the three spatial dims of a tensor of five.
 *
 * paddings = [left, right, top, bottom, front, back] of the dims W, H, D. Where a place of the
 * margin takes its value from: constant `value`; replicate the nearest edge; reflect mirrored at
 * the edge element; circular from the other side. The gradient adds every place of Out@GRAD to
 * where its value came from. */
#include "ops/ops_common.h"

#include <string.h>

enum { X, PADDINGS, DOUT };
enum { A_PADDINGS, A_MODE, A_VALUE, A_FORMAT };

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR, PAD_UNKNOWN };

static enum pad_mode mode_of(const char *name)
{
    static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
    for (int i = 0; i < PAD_UNKNOWN; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum pad_mode)i;
    return PAD_UNKNOWN;
}

/* Place before the padding of place i; -1: the constant. */
static int64_t source_of(enum pad_mode mode, int64_t i, int64_t before, int64_t n)
{
    int64_t s = i - before;
    if (s >= 0 && s < n)
        return s;
    switch (mode) {
    case PAD_REPLICATE:
        return s < 0 ? 0 : n - 1;
    case PAD_REFLECT:
        return s < 0 ? -s : 2 * (n - 1) - s;
    case PAD_CIRCULAR:
        return (s % n + n) % n;
    default:
        return -1;
    }
}

struct padding {
    enum pad_mode mode;
    int64_t before[5], after[5];
};

/* Returns NULL, or what is wrong. p: the six numbers. */
static const char *padding_init(struct padding *p, const struct shape *x,
                                const struct attr_value *attr, int n, const int64_t *pads)
{
    bool last = strcmp(attr[A_FORMAT].s, "NDHWC") == 0;
    *p = (struct padding){.mode = mode_of(attr[A_MODE].s)};
    if (p->mode == PAD_UNKNOWN)
        return "the mode is not known";
    if (!last && strcmp(attr[A_FORMAT].s, "NCDHW") != 0)
        return "the data format is not known";
    if (n != 6 || x->ndim != 5)
        return "five dims and six paddings are needed";
    for (int i = 0; i < 3; i++) { /* W, H, D */
        int dim = (last ? 3 : 4) - i;
        int64_t size = x->dims[dim],
                most = pads[2 * i] > pads[2 * i + 1] ? pads[2 * i] : pads[2 * i + 1];
        p->before[dim] = pads[2 * i];
        p->after[dim] = pads[2 * i + 1];
        if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
            return "a padding is negative";
        if (size >= 0 && most > 0 && p->mode != PAD_CONSTANT &&
            (size == 0 || (p->mode == PAD_REFLECT && most >= size)))
            return "a padding is larger than the tensor allows";
    }
    return NULL;
}

static int kernel_pads(const struct kernel *k, int64_t *pads)
{
    const struct tensor *t = kernel_in(k, PADDINGS);
    if (t)
        return tensor_read_ints(t, pads, 6);
    for (int i = 0; i < k->attr[A_PADDINGS].n && i < 6; i++)
        pads[i] = k->attr[A_PADDINGS].ints[i];
    return k->attr[A_PADDINGS].n;
}

static enum skiff_status pad_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    struct padding p;
    int64_t pads[6] = {0};
    int n = infer_read_ints(c, PADDINGS, pads, 6);
    bool unknown = !c->running && infer_in_count(c, PADDINGS);
    if (n == 0)
        for (n = 0; n < c->attr[A_PADDINGS].n && n < 6; n++)
            pads[n] = c->attr[A_PADDINGS].ints[n];
    const char *wrong = padding_init(&p, &s, c->attr, unknown ? 6 : n, pads);
    if (wrong)
        return infer_fail(c, X, 0, err, "%s (mode %s, format %s)", wrong, c->attr[A_MODE].s,
                          c->attr[A_FORMAT].s);
    for (int i = 0; i < 5; i++)
        s.dims[i] = s.dims[i] < 0 ? -1 : s.dims[i] + p.before[i] + p.after[i];
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

/* Offset in X of place `at` (row-major number) of the padded tensor; -1: the constant. */
static int64_t source_offset(const struct padding *p, const struct shape *in,
                             const struct shape *out, int64_t at)
{
    int64_t off = 0, stride = 1;
    for (int i = 4; i >= 0; i--) {
        int64_t s = source_of(p->mode, at % out->dims[i], p->before[i], in->dims[i]);
        if (s < 0)
            return -1;
        at /= out->dims[i];
        off += s * stride;
        stride *= in->dims[i];
    }
    return off;
}

static enum skiff_status pad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct padding p;
    int64_t pads[6], n = tensor_numel(out);
    const char *wrong = padding_init(&p, &x->shape, k->attr, kernel_pads(k, pads), pads);
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(
        x->dtype, T, for (int64_t i = 0; i < n; i++) {
            int64_t from = source_offset(&p, &x->shape, &out->shape, i);
            ((T *)out->data)[i] = from < 0 ? (T)k->attr[A_VALUE].f : ((const T *)x->data)[from];
        })
    return SKIFF_OK;
}

static enum skiff_status pad_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, DOUT);
    struct tensor *dx = kernel_out(k, 0);
    struct padding p;
    int64_t pads[6], n = tensor_numel(d);
    if (!dx)
        return SKIFF_OK;
    const char *wrong = padding_init(&p, &dx->shape, k->attr, kernel_pads(k, pads), pads);
    for (int i = 0; !wrong && i < 5; i++)
        if (d->shape.ndim != 5 || d->shape.dims[i] != dx->shape.dims[i] + p.before[i] + p.after[i])
            wrong = "Out@GRAD does not have the padded shape";
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong);
    TRY(kernel_check_dtype(k, DOUT, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, DOUT, X, err));
    tensor_clear(dx);
    DISPATCH_FLOAT(
        d->dtype, T, for (int64_t i = 0; i < n; i++) {
            int64_t to = source_offset(&p, &dx->shape, &d->shape, i);
            if (to >= 0)
                ((T *)dx->data)[to] += ((const T *)d->data)[i];
        })
    return SKIFF_OK;
}

static const struct op_slot ins[] = {{"X", 0}, {"Paddings", SLOT_OPTIONAL}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_slot grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Paddings", SLOT_OPTIONAL}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot grad_outs[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec attrs[] = {A_REQ("paddings", ATTR_INTS),
                                            A_STR("mode", "constant"),
                                            A_FLOAT("value", 0),
                                            A_STR("data_format", "NCDHW"),
                                            {0}};

const struct op_kind ops_pad[] = {
    {.type = "pad3d",
     .generations = GEN_2X,
     .ins = ins,
     .outs = outs,
     .attrs = attrs,
     .grad = "X Paddings Out@GRAD -> X@GRAD",
     .infer = pad_infer,
     .run = pad_run},
    {.type = "pad3d_grad",
     .generations = GEN_2X,
     .ins = grad_ins,
     .outs = grad_outs,
     .attrs = attrs,
     .infer = grad_infer,
     .run = pad_grad_run},
    {0},
};
