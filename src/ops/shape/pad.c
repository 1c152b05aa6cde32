/* Margins put around a tensor or cut off it: pad, pad2d, pad3d, pad_constant_like, crop,
 * crop_tensor.
 *
 * Place o of the result comes from place o - before of X, dim by dim. Where that lies outside:
 * constant takes the value; replicate (edge) the nearest edge; reflect mirrors at the edge element;
 * circular takes from the other side. A crop is a padding of minus its offsets. The gradient adds
 * every place of Out@GRAD to where its value came from.
 *
 *   pad                paddings = [before, after] of every dim
 *   pad2d              [top, bottom, left, right] of four dims
 *   pad3d              [left, right, top, bottom, front, back] of W, H, D of five dims
 *   pad_constant_like  Y padded at the ends to the shape of X (1.x)
 *   crop, crop_tensor  `shape` places from `offsets` on; a size of -1 takes the rest
 * Numbers come from the list of tensors, else the tensor, else the attribute. */
#include "ops/seq_common.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR, PAD_EDGE, PAD_UNKNOWN };

struct pad_spec {
    enum pad_mode mode;
    double value;
    struct shape out;
    int64_t before[TENSOR_MAX_DIMS];
};

static enum pad_mode mode_of(const char *name)
{
    static const char *const names[] = {"constant", "reflect", "replicate", "circular", "edge"};
    for (int i = 0; name && i < PAD_UNKNOWN; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum pad_mode)i;
    return PAD_UNKNOWN;
}

/* Index before padding of index i; -1: the constant. */
static int64_t source_of(enum pad_mode mode, int64_t i, int64_t before, int64_t n)
{
    int64_t s = i - before;
    if (s >= 0 && s < n)
        return s;
    switch (mode) {
    case PAD_REPLICATE:
    case PAD_EDGE:
        return s < 0 ? 0 : n - 1;
    case PAD_REFLECT:
        return s < 0 ? -s : 2 * (n - 1) - s;
    case PAD_CIRCULAR:
        return (s % n + n) % n;
    default:
        return -1;
    }
}

/* Offset in X of element `at` (row-major number) of the padded tensor; -1: the constant. */
static int64_t source_offset(const struct pad_spec *p, const struct shape *in, int64_t at)
{
    int64_t off = 0, stride = 1;
    for (int i = in->ndim - 1; i >= 0; i--) {
        int64_t s = source_of(p->mode, at % p->out.dims[i], p->before[i], in->dims[i]);
        if (s < 0)
            return -1;
        at /= p->out.dims[i];
        off += s * stride;
        stride *= in->dims[i];
    }
    return off;
}

/* Sets the margins of dim d. Returns an error text or NULL. */
static const char *pad_dim(struct pad_spec *p, int d, int64_t before, int64_t after)
{
    int64_t size = p->out.dims[d], most = before > after ? before : after;
    if (before < 0 || after < 0)
        return "a padding is negative";
    if (size >= 0 && most > 0 && p->mode != PAD_CONSTANT &&
        (size == 0 || (p->mode == PAD_REFLECT && most >= size)))
        return "a padding is larger than the tensor allows";
    p->before[d] = before;
    p->out.dims[d] = size < 0 ? -1 : size + before + after;
    return NULL;
}

static enum skiff_status pad_forward(struct kernel *k, int slot, const struct pad_spec *p,
                                     struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, slot);
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(out);
    TRY(kernel_check_dtype(k, slot, dtype_is_any, "a number or bool", err));
    DISPATCH_ALL(x->dtype, T, {
        const T *from = x->data;
        T *to = out->data;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = source_offset(p, &x->shape, i);
            to[i] = at < 0 ? (T)p->value : from[at];
        }
    })
    return SKIFF_OK;
}

static enum skiff_status pad_back(struct kernel *k, int slot, const struct pad_spec *p,
                                  struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, slot);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    int64_t n = tensor_numel(d);
    TRY(kernel_check_dtype(k, slot, dtype_is_float, "float32 or float64", err));
    if (!shape_equal(&d->shape, &p->out) || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) does not fit the paddings",
                           kernel_in_name(k, slot, 0));
    tensor_clear(dx);
    DISPATCH_FLOAT(d->dtype, T, {
        const T *from = d->data;
        T *to = dx->data;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = source_offset(p, &dx->shape, i);
            if (at >= 0)
                to[at] += from[i];
        }
    })
    return SKIFF_OK;
}

/* Rules of one op: fill the padding for an input shape. While building c->kernel is NULL. */
typedef const char *(*pad_rule)(const struct infer *c, const struct shape *x, struct pad_spec *p);

static enum skiff_status pad_infer_by(struct infer *c, int slot, pad_rule rule,
                                      struct skiff_error *err)
{
    struct pad_spec p;
    const char *wrong = rule(c, infer_in(c, slot, 0), &p);
    if (wrong)
        return infer_fail(c, slot, 0, err, "%s", wrong);
    return infer_out(c, 0, 0, infer_in_dtype(c, slot, 0), &p.out, err);
}

static enum skiff_status pad_of_kernel(struct kernel *k, pad_rule rule, const struct shape *x,
                                       struct pad_spec *p, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    const char *wrong = rule(&c, x, p);
    return wrong ? kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong) : SKIFF_OK;
}

#define DEFINE_PAD(name, slot, rule)                                                \
    static enum skiff_status name##_infer(struct infer *c, struct skiff_error *err) \
    {                                                                               \
        return pad_infer_by(c, slot, rule, err);                                    \
    }                                                                               \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err)  \
    {                                                                               \
        struct pad_spec p;                                                          \
        TRY(pad_of_kernel(k, rule, &kernel_in(k, slot)->shape, &p, err));           \
        return pad_forward(k, slot, &p, err);                                       \
    }
/* `like`: the input that the gradient has the shape of. */
#define DEFINE_PAD_GRAD(name, like, dout, rule)                                          \
    static enum skiff_status name##_grad_infer(struct infer *c, struct skiff_error *err) \
    {                                                                                    \
        return infer_same(c, like, 0, err);                                              \
    }                                                                                    \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err)  \
    {                                                                                    \
        struct pad_spec p;                                                               \
        TRY(pad_of_kernel(k, rule, &kernel_in(k, like)->shape, &p, err));                \
        return pad_back(k, dout, &p, err);                                               \
    }

/* Numbers of an attribute, or of the inputs that replace it; -1: not known yet, or too many. */
static int read_numbers(const struct infer *c, int list, int tensor, const struct attr_value *attr,
                        int64_t *out)
{
    int n = list >= 0 ? infer_read_int_list(c, list, out, TENSOR_MAX_DIMS) : 0;
    if (n == 0 && tensor >= 0)
        n = infer_read_ints(c, tensor, out, TENSOR_MAX_DIMS);
    if (n)
        return n;
    if ((tensor >= 0 && infer_in_count(c, tensor)) || attr->n > TENSOR_MAX_DIMS)
        return -1;
    for (n = 0; n < attr->n; n++)
        out[n] = attr->ints[n];
    return n;
}

/* ---- pad ---- */
enum { PA_PADDINGS, PA_VALUE };

static const char *plain_rule(const struct infer *c, const struct shape *x, struct pad_spec *p)
{
    const struct attr_value *pads = &c->attr[PA_PADDINGS];
    *p = (struct pad_spec){.out = *x, .value = (double)c->attr[PA_VALUE].f};
    if (pads->n != 2 * x->ndim)
        return "two paddings for every dim are needed";
    for (int i = 0; i < x->ndim; i++) {
        const char *wrong = pad_dim(p, i, pads->ints[2 * i], pads->ints[2 * i + 1]);
        if (wrong)
            return wrong;
    }
    return NULL;
}
DEFINE_PAD(pad, 0, plain_rule)

/* The gradient op sees Out@GRAD only. */
static enum skiff_status pad_grad_infer(struct infer *c, struct skiff_error *err)
{
    const struct attr_value *pads = &c->attr[PA_PADDINGS];
    struct shape s = *infer_in(c, 0, 0);
    bool fits = pads->n == 2 * s.ndim;
    for (int i = 0; fits && i < s.ndim; i++) {
        if (s.dims[i] < 0)
            continue;
        s.dims[i] -= pads->ints[2 * i] + pads->ints[2 * i + 1];
        fits = s.dims[i] >= 0;
    }
    if (!fits)
        return infer_fail(c, 0, 0, err, "is smaller than its paddings");
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}
static enum skiff_status pad_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct pad_spec p;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(pad_of_kernel(k, plain_rule, &kernel_out(k, 0)->shape, &p, err));
    return pad_back(k, 0, &p, err);
}

/* ---- pad2d, pad3d ---- */
enum { SP_X, SP_PADDINGS, SP_DOUT };
enum { SP_ATTR, SP_VALUE, SP_MODE, SP_FORMAT };

static const char *spatial_rule(const struct infer *c, const struct shape *x, struct pad_spec *p)
{
    const char *format = c->attr[SP_FORMAT].s ? c->attr[SP_FORMAT].s : "";
    int dims = (int)strlen(format) - 2;
    bool last = *format && format[strlen(format) - 1] == 'C';
    bool unknown = !c->running && infer_in_count(c, SP_PADDINGS);
    int64_t pads[TENSOR_MAX_DIMS] = {0};
    int n = read_numbers(c, -1, SP_PADDINGS, &c->attr[SP_ATTR], pads);
    *p = (struct pad_spec){
        .mode = mode_of(c->attr[SP_MODE].s), .value = (double)c->attr[SP_VALUE].f, .out = *x};
    bool known = !strcmp(format, "NCHW") || !strcmp(format, "NHWC") || !strcmp(format, "NCDHW") ||
                 !strcmp(format, "NDHWC");
    if (p->mode == PAD_UNKNOWN)
        return "the mode is not known";
    if (!known)
        return "the data format is not known";
    if (x->ndim != dims + 2 || (!unknown && n != 2 * dims))
        return "the dims of the data format and two paddings for each spatial one are needed";
    for (int i = 0; i < dims; i++) {
        int dim = (last ? 1 : 2) + i, at = dims == 2 ? 2 * i : 2 * (dims - 1 - i);
        const char *wrong = unknown ? NULL : pad_dim(p, dim, pads[at], pads[at + 1]);
        if (wrong)
            return wrong;
        if (unknown)
            p->out.dims[dim] = -1;
    }
    return NULL;
}
DEFINE_PAD(spatial, SP_X, spatial_rule)
DEFINE_PAD_GRAD(spatial, SP_X, SP_DOUT, spatial_rule)

/* ---- pad_constant_like ---- */
enum { LK_X, LK_Y };

/* `x` is the small one; the large one is input 0, and Out@GRAD of the gradient op */
static const char *like_rule(const struct infer *c, const struct shape *x, struct pad_spec *p)
{
    const struct shape *large = infer_in(c, LK_X, 0);
    *p = (struct pad_spec){.out = *large, .value = (double)c->attr[0].f};
    bool fits = large->ndim == x->ndim;
    for (int i = 0; fits && i < x->ndim; i++)
        fits = large->dims[i] < 0 || x->dims[i] <= large->dims[i];
    return fits ? NULL : "must not be larger than X, dim by dim";
}
DEFINE_PAD(like, LK_Y, like_rule)
DEFINE_PAD_GRAD(like, LK_Y, LK_X, like_rule)

/* ---- crop, crop_tensor ---- */
enum { CT_X, CT_SHAPE, CT_SHAPE_LIST, CT_OFFSETS, CT_OFFSETS_LIST };
enum { CTG_X, CTG_DOUT, CTG_OFFSETS, CTG_OFFSETS_LIST };
enum { CR_X, CR_Y, CR_OFFSETS };
enum { CRG_X, CRG_DOUT, CRG_OFFSETS };
enum { CA_OFFSETS, CA_SHAPE };

/* nshape < 0, a size of -2, noffsets < 0: not known yet */
static const char *crop_to(const struct infer *c, const struct shape *x, int nshape,
                           const int64_t *shape, int noffsets, const int64_t *offsets,
                           struct pad_spec *p)
{
    *p = (struct pad_spec){.out = *x};
    if ((nshape >= 0 && nshape != x->ndim) || (noffsets > 0 && noffsets != x->ndim))
        return "a size and an offset for every dim are needed";
    for (int i = 0; i < x->ndim; i++) {
        int64_t from = noffsets > 0 ? offsets[i] : 0, size = nshape < 0 ? -2 : shape[i];
        bool known = x->dims[i] >= 0 && noffsets >= 0;
        p->before[i] = -from;
        p->out.dims[i] = size >= 0 ? size : size == -1 && known ? x->dims[i] - from : -1;
        if (c->running && (size < -1 || from < 0 || from + p->out.dims[i] > x->dims[i]))
            return "a part lies outside of it";
    }
    return NULL;
}

static const char *crop_tensor_rule(const struct infer *c, const struct shape *x,
                                    struct pad_spec *p)
{
    int64_t shape[TENSOR_MAX_DIMS], offsets[TENSOR_MAX_DIMS];
    int n = read_numbers(c, CT_SHAPE_LIST, CT_SHAPE, &c->attr[CA_SHAPE], shape);
    int m = read_numbers(c, CT_OFFSETS_LIST, CT_OFFSETS, &c->attr[CA_OFFSETS], offsets);
    if (!c->running && infer_in_count(c, CT_SHAPE_LIST))
        n = -1;
    return crop_to(c, x, n, shape, m, offsets, p);
}
DEFINE_PAD(crop_tensor, CT_X, crop_tensor_rule)

static const char *crop_rule(const struct infer *c, const struct shape *x, struct pad_spec *p)
{
    const struct shape *y = infer_in(c, CR_Y, 0);
    int64_t shape[TENSOR_MAX_DIMS], offsets[TENSOR_MAX_DIMS];
    int n = read_numbers(c, -1, -1, &c->attr[CA_SHAPE], shape);
    int m = read_numbers(c, -1, CR_OFFSETS, &c->attr[CA_OFFSETS], offsets);
    return crop_to(c, x, y ? y->ndim : n, y ? y->dims : shape, m, offsets, p);
}
DEFINE_PAD(crop, CR_X, crop_rule)

/* The part is as large as Out@GRAD. */
static enum skiff_status crop_grad(struct kernel *k, int offsets_slot, int list,
                                   struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    const struct shape *d = &kernel_in(k, CTG_DOUT)->shape;
    int64_t offsets[TENSOR_MAX_DIMS];
    struct pad_spec p;
    int m = read_numbers(&c, list, offsets_slot, &k->attr[CA_OFFSETS], offsets);
    const char *wrong = crop_to(&c, &kernel_in(k, CTG_X)->shape, d->ndim, d->dims, m, offsets, &p);
    if (wrong)
        return kernel_fail(k, SKIFF_SHAPE, err, "%s", wrong);
    return pad_back(k, CTG_DOUT, &p, err);
}
static enum skiff_status crop_tensor_grad_run(struct kernel *k, struct skiff_error *err)
{
    return crop_grad(k, CTG_OFFSETS, CTG_OFFSETS_LIST, err);
}
static enum skiff_status crop_grad_run(struct kernel *k, struct skiff_error *err)
{
    return crop_grad(k, CRG_OFFSETS, -1, err);
}
static enum skiff_status crop_grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_like(c, CTG_X, 0, err);
}

/* ---- tables ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dout_in[] = {{"Out@GRAD", 0}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot spatial_in[] = {{"X", 0}, {"Paddings", SLOT_OPTIONAL}, {0}};
static const struct op_slot spatial_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Paddings", SLOT_OPTIONAL}, {"Out@GRAD", 0}, {0}};
static const struct op_slot like_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Y", 0}, {0}};
static const struct op_slot like_grad_in[] = {{"Out@GRAD", 0}, {"Y", SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot dy_out[] = {{"Y@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot crop_tensor_in[] = {{"X", 0},
                                                {"Shape", SLOT_OPTIONAL},
                                                {"ShapeTensor", SLOT_LIST | SLOT_OPTIONAL},
                                                {"Offsets", SLOT_OPTIONAL},
                                                {"OffsetsTensor", SLOT_LIST | SLOT_OPTIONAL},
                                                {0}};
static const struct op_slot crop_tensor_grad_in[] = {{"X", SLOT_SHAPE_ONLY},
                                                     {"Out@GRAD", 0},
                                                     {"Offsets", SLOT_OPTIONAL},
                                                     {"OffsetsTensor", SLOT_LIST | SLOT_OPTIONAL},
                                                     {0}};
static const struct op_slot crop_in[] = {
    {"X", 0}, {"Y", SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {"Offsets", SLOT_OPTIONAL}, {0}};
static const struct op_slot crop_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {"Offsets", SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec pad_attrs[] = {
    A_REQ("paddings", ATTR_INTS), A_FLOAT("pad_value", 0.0f), {0}};
static const struct op_attr_spec pad2d_attrs[] = {A_INTS_DEF("paddings", 0, 0, 0, 0),
                                                  A_FLOAT("pad_value", 0.0f),
                                                  A_STR("mode", "constant"),
                                                  A_STR("data_format", "NCHW"),
                                                  {0}};
static const struct op_attr_spec pad3d_attrs[] = {A_REQ("paddings", ATTR_INTS),
                                                  A_FLOAT("value", 0.0f),
                                                  A_STR("mode", "constant"),
                                                  A_STR("data_format", "NCDHW"),
                                                  {0}};
static const struct op_attr_spec like_attrs[] = {A_FLOAT("pad_value", 0.0f), {0}};
static const struct op_attr_spec crop_attrs[] = {A_INTS("offsets"), A_INTS("shape"), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define SPATIAL_GRAD .grad = "X Paddings Out@GRAD -> X@GRAD"

const struct op_kind ops_pad[] = {
    KIND("pad", 0, x_in, out_out, pad_attrs, pad_infer, pad_run, .grad = "Out@GRAD -> X@GRAD"),
    KIND("pad_grad", 0, dout_in, dx_out, pad_attrs, pad_grad_infer, pad_grad_run, ),
    KIND("pad2d", 0, spatial_in, out_out, pad2d_attrs, spatial_infer, spatial_run, SPATIAL_GRAD),
    KIND("pad2d_grad", 0, spatial_grad_in, dx_out, pad2d_attrs, spatial_grad_infer,
         spatial_grad_run, ),
    KIND("pad3d", GEN_2X, spatial_in, out_out, pad3d_attrs, spatial_infer, spatial_run,
         SPATIAL_GRAD),
    KIND("pad3d_grad", GEN_2X, spatial_grad_in, dx_out, pad3d_attrs, spatial_grad_infer,
         spatial_grad_run, ),
    KIND("pad_constant_like", GEN_1X, like_in, out_out, like_attrs, like_infer, like_run,
         .grad = "Y Out@GRAD -> Y@GRAD"),
    KIND("pad_constant_like_grad", GEN_1X, like_grad_in, dy_out, like_attrs, like_grad_infer,
         like_grad_run, ),
    KIND("crop_tensor", 0, crop_tensor_in, out_out, crop_attrs, crop_tensor_infer, crop_tensor_run,
         .grad = "X Offsets OffsetsTensor Out@GRAD -> X@GRAD"),
    KIND("crop_tensor_grad", 0, crop_tensor_grad_in, dx_out, crop_attrs, crop_grad_infer,
         crop_tensor_grad_run, ),
    KIND("crop", GEN_1X, crop_in, out_out, crop_attrs, crop_infer, crop_run,
         .grad = "X Offsets Out@GRAD -> X@GRAD"),
    KIND("crop_grad", GEN_1X, crop_grad_in, dx_out, crop_attrs, crop_grad_infer, crop_grad_run, ),
    {0},
};
