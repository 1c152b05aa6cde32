/* Parts of rows, and rows in another order.
 *
 *   partial_concat  columns [start, start + length) of every X, side by side; start < 0 counts from
 *                   the end, length -1 is all that follow
 *   partial_sum     the same columns, added
 *   shuffle_batch   row i goes to row ShuffleIdx[i]: std::shuffle by std::minstd_rand0, seeded by
 *                   Seed (startup_seed as long as Seed holds nothing); SeedOut is the engine's
 *                   next number. 2.x: no row stays where it is (Paddle draws that order from the
 *                   system, here it follows from Seed); SeedOut is the engine's first number */
#include "ops/seq_common.h"

/* ---- columns ---- */

enum { P_START, P_LENGTH };
enum { X, DOUT };

struct column_range {
    int64_t rows, width, start, length;
};

/* Where the columns lie; false: not within the rows. Unknown dims stay -1. */
static bool columns_of(const struct shape *x, const struct attr_value *attr,
                       struct column_range *out)
{
    *out = (struct column_range){x->dims[0], x->dims[1], attr[P_START].i, attr[P_LENGTH].i};
    if (out->width < 0)
        return true;
    if (out->start < 0)
        out->start += out->width;
    if (out->length < 0)
        out->length = out->width - out->start;
    return out->start >= 0 && out->length >= 1 && out->start + out->length <= out->width;
}

static enum skiff_status columns_check(const struct infer *c, struct column_range *out,
                                       struct skiff_error *err)
{
    const struct shape *first = infer_in(c, X, 0);
    if (!first || first->ndim != 2)
        return infer_fail(c, X, 0, err, "must be a matrix");
    for (int i = 1; i < infer_in_count(c, X); i++) {
        const struct shape *s = infer_in(c, X, i);
        if (s->ndim != 2 || !dims_agree(s->dims[0], first->dims[0]) ||
            !dims_agree(s->dims[1], first->dims[1]))
            return infer_fail(c, X, i, err, "must have the shape of the first input");
        if (infer_in_dtype(c, X, i) != infer_in_dtype(c, X, 0))
            return infer_fail(c, X, i, err, "must have the type of the first input");
    }
    if (!columns_of(first, c->attr, out))
        return infer_fail(c, X, 0, err, "start_index %d and length %d reach beyond its rows",
                          c->attr[P_START].i, c->attr[P_LENGTH].i);
    return SKIFF_OK;
}

static enum skiff_status columns_infer(struct infer *c, bool side_by_side, struct skiff_error *err)
{
    struct column_range part;
    TRY(columns_check(c, &part, err));
    struct shape s = SHAPE(part.rows, part.length);
    if (side_by_side && part.length > 0)
        s.dims[1] *= infer_in_count(c, X);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}
static enum skiff_status concat_infer(struct infer *c, struct skiff_error *err)
{
    return columns_infer(c, true, err);
}
static enum skiff_status sum_infer(struct infer *c, struct skiff_error *err)
{
    return columns_infer(c, false, err);
}

static enum skiff_status concat_run(struct kernel *k, struct skiff_error *err)
{
    struct column_range part;
    columns_of(&kernel_in(k, X)->shape, k->attr, &part);
    size_t elem = dtype_size(kernel_in(k, X)->dtype), bytes = (size_t)part.length * elem;
    char *to = kernel_out(k, 0)->data;
    for (int64_t r = 0; r < part.rows; r++)
        for (int i = 0; i < kernel_in_count(k, X); i++, to += bytes) {
            const char *from = kernel_in_at(k, X, i)->data;
            memcpy(to, from + (size_t)(r * part.width + part.start) * elem, bytes);
        }
    return SKIFF_OK;
}

static enum skiff_status sum_run(struct kernel *k, struct skiff_error *err)
{
    struct column_range part;
    columns_of(&kernel_in(k, X)->shape, k->attr, &part);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    tensor_clear(kernel_out(k, 0));
    for (int i = 0; i < kernel_in_count(k, X); i++)
        DISPATCH_NUMBER(
            kernel_in(k, X)->dtype, T, const T *from = kernel_in_at(k, X, i)->data;
            T *to = kernel_out(k, 0)->data;
            for (int64_t r = 0; r < part.rows; r++) for (int64_t j = 0; j < part.length; j++) {
                int64_t at = r * part.width + part.start + j;
                to[r * part.length + j] = (T)WRAP_ADD(to[r * part.length + j], from[at]);
            })
    return SKIFF_OK;
}

static enum skiff_status columns_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct column_range part;
    TRY(columns_check(c, &part, err));
    if (infer_out_count(c, 0) > infer_in_count(c, X))
        return infer_fail(c, X, 0, err, "there are more gradients than inputs");
    for (int i = 0; i < infer_in_count(c, X); i++)
        TRY(infer_out(c, 0, i, infer_in_dtype(c, X, i), infer_in(c, X, i), err));
    return SKIFF_OK;
}

/* Row r of input i gets the piece at `offset + r * stride` of Out@GRAD. */
static enum skiff_status columns_grad(struct kernel *k, bool side_by_side, struct skiff_error *err)
{
    struct column_range part;
    const struct tensor *dout = kernel_in(k, DOUT);
    columns_of(&kernel_in(k, X)->shape, k->attr, &part);
    int64_t stride = part.length * (side_by_side ? kernel_in_count(k, X) : 1);
    TRY(kernel_check_same_dtype(k, DOUT, X, err));
    if (tensor_numel(dout) != part.rows * stride)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) has %lld elements, expected %lld",
                           kernel_in_name(k, DOUT, 0), (long long)tensor_numel(dout),
                           (long long)(part.rows * stride));
    size_t elem = dtype_size(dout->dtype);
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        struct tensor *dx = kernel_out_at(k, 0, i);
        if (!dx)
            continue;
        tensor_clear(dx);
        for (int64_t r = 0; r < part.rows; r++)
            memcpy((char *)dx->data + (size_t)(r * part.width + part.start) * elem,
                   (const char *)dout->data +
                       (size_t)(r * stride + (side_by_side ? i * part.length : 0)) * elem,
                   (size_t)part.length * elem);
    }
    return SKIFF_OK;
}
static enum skiff_status concat_grad_run(struct kernel *k, struct skiff_error *err)
{
    return columns_grad(k, true, err);
}
static enum skiff_status sum_grad_run(struct kernel *k, struct skiff_error *err)
{
    return columns_grad(k, false, err);
}

/* ---- shuffle_batch ---- */

enum { SB_X, SB_SEED };
enum { SB_OUT, SB_ORDER, SB_SEED_OUT };
enum { SG_ORDER, SG_DOUT };
enum { ONE_CYCLE = 1 }; /* op_kind.arg: no row stays where it is (2.x) */

static enum skiff_status shuffle_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, SB_X, 0);
    if (x->ndim < 1)
        return infer_fail(c, SB_X, 0, err, "must have a dimension");
    struct shape order = SHAPE(c->running ? shape_rows(x, x->ndim - 1) : -1), seed = SHAPE(1);
    TRY(infer_out(c, SB_OUT, 0, infer_in_dtype(c, SB_X, 0), x, err));
    infer_share_lod(c, SB_X, 0, SB_OUT, 0);
    TRY(infer_out(c, SB_ORDER, 0, DTYPE_INT64, &order, err));
    return c->running ? SKIFF_OK : infer_out(c, SB_SEED_OUT, 0, DTYPE_INT64, &seed, err);
}

/* std::minstd_rand0, the default engine of libstdc++ (base/rng.h has minstd_rand, another). */
#define RAND0_MODULUS 2147483647u
static uint64_t rand0_next(uint64_t *state)
{
    return *state = *state * 16807u % RAND0_MODULUS;
}

/* As libstdc++ draws from [0, count): the draw is divided, and repeated beyond the last complete
 * interval. */
static int64_t rand0_below(uint64_t *state, int64_t count)
{
    uint64_t part = (RAND0_MODULUS - 2) / (uint64_t)count, v;
    do
        v = rand0_next(state) - 1;
    while (v >= part * (uint64_t)count);
    return (int64_t)(v / part);
}

static void swap(int64_t *v, int64_t a, int64_t b)
{
    int64_t kept = v[a];
    v[a] = v[b];
    v[b] = kept;
}

static enum skiff_status seed_of(const struct kernel *k, int64_t *out, struct skiff_error *err)
{
    *out = k->attr[0].i;
    if (!kernel_has(k, SB_SEED) || tensor_numel(kernel_in(k, SB_SEED)) == 0)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, SB_SEED, dtype_is_index, "an integer", err));
    *out = tensor_int_at(kernel_in(k, SB_SEED), 0);
    return SKIFF_OK;
}

static enum skiff_status shuffle_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SB_X);
    int last = x->shape.ndim - 1;
    int64_t rows = shape_rows(&x->shape, last), seed, *order = tensor_i64(kernel_out(k, SB_ORDER));
    size_t bytes = (size_t)x->shape.dims[last] * dtype_size(x->dtype);
    bool derange = k->kind->arg == ONE_CYCLE;
    struct shape one = SHAPE(1);
    if (rows >= RAND0_MODULUS - 2)
        return kernel_fail(k, SKIFF_RANGE, err, "X (%s) has %lld rows, too many for the engine",
                           kernel_in_name(k, SB_X, 0), (long long)rows);
    TRY(seed_of(k, &seed, err));
    uint64_t state = (uint64_t)seed % RAND0_MODULUS;
    state = state ? state : 1;
    uint64_t first = state;
    for (int64_t i = 0; i < rows; i++)
        order[i] = i;
    /* an index below its own, never its own: one cycle through all rows (Sattolo) */
    for (int64_t i = 1; i < rows; i++)
        swap(order, i, rand0_below(&state, derange ? i : i + 1));
    for (int64_t i = 0; i < rows; i++)
        bytes_copy((char *)kernel_out(k, SB_OUT)->data + (size_t)order[i] * bytes,
                   (const char *)x->data + (size_t)i * bytes, bytes);
    TRY(kernel_out_resize(k, SB_SEED_OUT, 0, DTYPE_INT64, &one, err));
    tensor_i64(kernel_out(k, SB_SEED_OUT))[0] = (int64_t)rand0_next(derange ? &first : &state);
    return SKIFF_OK;
}

static enum skiff_status shuffle_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, SG_ORDER, DTYPE_INT64, err));
    return infer_same(c, SG_DOUT, 0, err);
}

static enum skiff_status shuffle_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *dout = kernel_in(k, SG_DOUT), *order = kernel_in(k, SG_ORDER);
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int last = dout->shape.ndim - 1;
    int64_t rows = last < 0 ? 0 : shape_rows(&dout->shape, last);
    size_t bytes = last < 0 ? 0 : (size_t)dout->shape.dims[last] * dtype_size(dout->dtype);
    if (tensor_numel(order) != rows)
        return kernel_fail(k, SKIFF_SHAPE, err, "ShuffleIdx (%s) has %lld rows, Out@GRAD %lld",
                           kernel_in_name(k, SG_ORDER, 0), (long long)tensor_numel(order),
                           (long long)rows);
    for (int64_t i = 0; i < rows; i++) {
        int64_t from = tensor_i64(order)[i];
        if (from < 0 || from >= rows)
            return kernel_bad_index(k, SG_ORDER, i, from, rows, "rows", err);
        bytes_copy((char *)kernel_out(k, 0)->data + (size_t)i * bytes,
                   (const char *)dout->data + (size_t)from * bytes, bytes);
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot xs_ins[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot xs_grad_ins[] = {
    {"X", SLOT_LIST | SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot xs_grad_outs[] = {{"X@GRAD", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec concat_attrs[] = {
    A_INT("start_index", 0), A_INT("length", -1), {0}};
static const struct op_attr_spec sum_attrs[] = {
    A_INT("start_index", 0), A_INT("length", -1), A_BOOL("use_mkldnn", false), {0}};

static const struct op_slot shuffle_ins[] = {{"X", 0}, {"Seed", 0}, {0}};
static const struct op_slot shuffle_outs[] = {
    {"Out", 0}, {"ShuffleIdx", 0}, {"SeedOut", SLOT_INPLACE}, {0}};
static const struct op_slot shuffle_grad_ins[] = {{"ShuffleIdx", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec shuffle_attrs[] = {A_INT("startup_seed", 0), {0}};

#define COLUMNS(name, specs)                                                        \
    {.type = "partial_" #name,                                                      \
     .ins = xs_ins,                                                                 \
     .outs = out_outs,                                                              \
     .attrs = specs,                                                                \
     .grad = "X Out@GRAD -> X@GRAD",                                                \
     .infer = name##_infer,                                                         \
     .run = name##_run},                                                            \
    {                                                                               \
        .type = "partial_" #name "_grad", .ins = xs_grad_ins, .outs = xs_grad_outs, \
        .attrs = specs, .infer = columns_grad_infer, .run = name##_grad_run         \
    }
#define SHUFFLE(gen, way)                                                                          \
    {                                                                                              \
        .type = "shuffle_batch", .generations = gen, .arg = way, .flags = OP_RANDOM | OP_EMPTY_OK, \
        .ins = shuffle_ins, .outs = shuffle_outs, .attrs = shuffle_attrs,                          \
        .grad = "ShuffleIdx Out@GRAD -> X@GRAD", .infer = shuffle_infer, .run = shuffle_run        \
    }

const struct op_kind ops_partial[] = {COLUMNS(concat, concat_attrs),
                                      COLUMNS(sum, sum_attrs),
                                      SHUFFLE(GEN_1X, 0),
                                      SHUFFLE(GEN_2X, ONE_CYCLE),
                                      {.type = "shuffle_batch_grad",
                                       .ins = shuffle_grad_ins,
                                       .outs = x_grad_outs,
                                       .attrs = shuffle_attrs,
                                       .infer = shuffle_grad_infer,
                                       .run = shuffle_grad_run},
                                      {0}};
