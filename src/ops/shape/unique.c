/* Counting and finding values: unique, unique_with_counts, unique_consecutive, searchsorted,
 * bincount, histogram. None has a gradient.
 *
 *   unique     the different elements, or the different slices along an axis: sorted (2.x), or in
 *              the order they are met (1.x, and 2.x with is_sorted false). Indices: where each is
 *              met first; Index: which of them every element is; Counts: how often each occurs
 *   unique_consecutive  the same, but only neighbours are compared
 *   searchsorted        how many elements of a sorted row lie before a value (right: or equal it)
 *   bincount            Out[v] = how often v occurs in X, or the sum of its weights
 *   histogram           the numbers in `bins` equal parts of [min, max]; both 0: of X's range */
#include "ops/seq_common.h"

#include <math.h>

/* ---- slices of one tensor, compared by value ---- */

struct unique_slices {
    const struct tensor *x;
    struct axis_view l;
};

static int compare_slices(const struct unique_slices *s, int64_t a, int64_t b)
{
    DISPATCH_ALL(s->x->dtype, T, {
        const T *p = s->x->data;
        for (int64_t o = 0; o < s->l.outer; o++)
            for (int64_t i = 0; i < s->l.inner; i++) {
                T u = p[(o * s->l.n + a) * s->l.inner + i],
                  v = p[(o * s->l.n + b) * s->l.inner + i];
                if (u != v)
                    return u < v ? -1 : 1;
            }
    })
    return 0;
}

/* Stable; `capacity` is as large. */
static void sort_slices(const struct unique_slices *s, int64_t *ids, int64_t *capacity, int64_t n)
{
    if (n < 2)
        return;
    int64_t half = n / 2, a = 0, b = half;
    sort_slices(s, ids, capacity, half);
    sort_slices(s, ids + half, capacity, n - half);
    for (int64_t i = 0; i < n; i++) {
        bool left = b >= n || (a < half && compare_slices(s, ids[a], ids[b]) <= 0);
        capacity[i] = ids[left ? a++ : b++];
    }
    memcpy(ids, capacity, (size_t)n * sizeof(*ids));
}

/* What unique finds: `count` groups; `first` = the slice where each begins, `group` of every slice
 * and how many each has. */
struct groups {
    int64_t count, *first, *group, *size;
};

static enum skiff_status groups_alloc(struct kernel *k, int64_t n, struct groups *g, int64_t **ids,
                                      int64_t **capacity, struct skiff_error *err)
{
    void *p;
    TRY(kernel_scratch(k, (size_t)(5 * n + 1) * sizeof(int64_t), &p, err));
    *ids = p;
    *capacity = *ids + n;
    *g = (struct groups){0, *capacity + n, *capacity + 2 * n, *capacity + 3 * n};
    return SKIFF_OK;
}

/* ids: the slices in the order in which equal ones lie together. */
static void groups_fill(const struct unique_slices *s, const int64_t *ids, struct groups *g)
{
    for (int64_t i = 0; i < s->l.n; i++) {
        if (i == 0 || compare_slices(s, ids[i - 1], ids[i]) != 0) {
            g->first[g->count] = ids[i];
            g->size[g->count++] = 0;
        }
        g->group[ids[i]] = g->count - 1;
        g->size[g->count - 1]++;
    }
}

/* Renumbers the groups in the order in which they are met. */
static void groups_by_position(struct groups *g, int64_t n, int64_t *number, int64_t *capacity)
{
    int64_t met = 0;
    for (int64_t i = 0; i < g->count; i++)
        number[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t old = g->group[i];
        if (number[old] < 0) {
            capacity[met] = g->size[old];
            number[old] = met;
            g->first[met++] = i;
        }
        g->group[i] = number[old];
    }
    memcpy(g->size, capacity, (size_t)met * sizeof(*capacity));
}

enum group_order { GROUP_BY_VALUE, GROUP_BY_POSITION, GROUP_NEIGHBOURS };

static enum skiff_status groups_of(struct kernel *k, const struct unique_slices *s,
                                   enum group_order how, struct groups *g, struct skiff_error *err)
{
    int64_t *ids, *capacity;
    TRY(kernel_check_dtype(k, 0, dtype_is_any, "a number or bool", err));
    TRY(groups_alloc(k, s->l.n, g, &ids, &capacity, err));
    for (int64_t i = 0; i < s->l.n; i++)
        ids[i] = i;
    if (how != GROUP_NEIGHBOURS)
        sort_slices(s, ids, capacity, s->l.n);
    groups_fill(s, ids, g);
    if (how == GROUP_BY_POSITION)
        groups_by_position(g, s->l.n, ids, capacity);
    return SKIFF_OK;
}

static enum skiff_status slices_of(const struct kernel *k, const struct attr_value *axis,
                                   struct unique_slices *s, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    *s = (struct unique_slices){x, {1, tensor_numel(x), 1}};
    if (!axis || !axis->n)
        return SKIFF_OK;
    int a = axis_of(axis->ints[0], x->shape.ndim);
    if (a < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "axis %d is out of range", axis->ints[0]);
    s->l = shape_lines(&x->shape, a);
    return SKIFF_OK;
}

/* Out: the slices of the groups. */
static enum skiff_status write_groups(struct kernel *k, const struct unique_slices *s,
                                      const struct groups *g, bool flat, int axis,
                                      struct skiff_error *err)
{
    struct shape shape = s->x->shape;
    if (flat)
        shape = SHAPE(g->count);
    else
        shape.dims[axis_of(axis, shape.ndim)] = g->count;
    TRY(kernel_out_resize(k, 0, 0, s->x->dtype, &shape, err));
    struct tensor *out = kernel_out(k, 0);
    size_t bytes = (size_t)s->l.inner * dtype_size(s->x->dtype);
    for (int64_t o = 0; out && o < s->l.outer; o++)
        for (int64_t i = 0; i < g->count; i++)
            bytes_copy((char *)out->data + (size_t)(o * g->count + i) * bytes,
                       (const char *)s->x->data + (size_t)(o * s->l.n + g->first[i]) * bytes,
                       bytes);
    return SKIFF_OK;
}

static enum skiff_status write_numbers(struct kernel *k, int slot, enum dtype t, int64_t n,
                                       const int64_t *numbers, struct skiff_error *err)
{
    struct shape s = SHAPE(n);
    if (!dtype_is_index(t))
        return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype must be int32 or int64");
    TRY(kernel_out_resize(k, slot, 0, t, &s, err));
    if (kernel_wants(k, slot))
        DISPATCH_INDEX(t, T, {
            T *out = kernel_out(k, slot)->data;
            for (int64_t i = 0; i < n; i++)
                out[i] = (T)numbers[i];
        })
    return SKIFF_OK;
}

/* ---- unique ---- */
enum { U_OUT, U_INDEX, U_COUNTS, U_INDICES }; /* unique_with_counts of 1.x: the first three */
enum { U_DTYPE, U_AXIS, U_SORTED, U_FIRST, U_INVERSE, U_NUMBERS };
enum { C_INVERSE = U_AXIS + 1, C_NUMBERS }; /* unique_consecutive */

/* Lengths are known when the op runs. `wanted` says which of Index, Counts, Indices are asked for
 * (NULL: all there are). */
static enum skiff_status unknown_lengths(struct infer *c, const struct attr_value *axis,
                                         const bool *wanted, struct skiff_error *err)
{
    struct shape s = *infer_in(c, 0, 0), line = SHAPE(-1);
    enum dtype t = (enum dtype)c->attr[U_DTYPE].i;
    struct shape all = SHAPE(dims_product(&s, 0, s.ndim));
    if (!axis || !axis->n) {
        s = line;
    } else {
        int a;
        TRY(infer_axis(c, 0, "axis", axis->ints[0], s.ndim, &a, err));
        all = SHAPE(s.dims[a]);
        s.dims[a] = -1;
    }
    TRY(infer_out(c, U_OUT, 0, infer_in_dtype(c, 0, 0), &s, err));
    for (int slot = U_INDEX; c->kind->outs[slot].name; slot++)
        if (!wanted || wanted[slot - U_INDEX])
            TRY(infer_out(c, slot, 0, t, slot == U_INDEX ? &all : &line, err));
    return SKIFF_OK;
}
static enum skiff_status unique_1x_infer(struct infer *c, struct skiff_error *err)
{
    return unknown_lengths(c, NULL, NULL, err);
}
static enum skiff_status unique_infer(struct infer *c, struct skiff_error *err)
{
    bool wanted[] = {c->attr[U_INVERSE].b, c->attr[U_NUMBERS].b, c->attr[U_FIRST].b};
    return unknown_lengths(c, &c->attr[U_AXIS], wanted, err);
}
static enum skiff_status consecutive_infer(struct infer *c, struct skiff_error *err)
{
    bool wanted[] = {c->attr[C_INVERSE].b, c->attr[C_NUMBERS].b};
    return unknown_lengths(c, &c->attr[U_AXIS], wanted, err);
}

static enum skiff_status unique_by(struct kernel *k, enum group_order how,
                                   const struct attr_value *axis, struct skiff_error *err)
{
    enum dtype t = (enum dtype)k->attr[U_DTYPE].i;
    struct unique_slices s;
    struct groups g;
    TRY(slices_of(k, axis, &s, err));
    TRY(groups_of(k, &s, how, &g, err));
    TRY(write_groups(k, &s, &g, !axis || !axis->n, axis && axis->n ? axis->ints[0] : 0, err));
    TRY(write_numbers(k, U_INDEX, t, s.l.n, g.group, err));
    if (k->kind->outs[U_COUNTS].name)
        TRY(write_numbers(k, U_COUNTS, t, g.count, g.size, err));
    if (k->kind->outs[U_COUNTS].name && k->kind->outs[U_INDICES].name)
        TRY(write_numbers(k, U_INDICES, t, g.count, g.first, err));
    return SKIFF_OK;
}
static enum skiff_status unique_1x_run(struct kernel *k, struct skiff_error *err)
{
    return unique_by(k, GROUP_BY_POSITION, NULL, err);
}
static enum skiff_status unique_run(struct kernel *k, struct skiff_error *err)
{
    return unique_by(k, k->attr[U_SORTED].b ? GROUP_BY_VALUE : GROUP_BY_POSITION, &k->attr[U_AXIS],
                     err);
}
static enum skiff_status consecutive_run(struct kernel *k, struct skiff_error *err)
{
    return unique_by(k, GROUP_NEIGHBOURS, &k->attr[U_AXIS], err);
}

/* ---- searchsorted ---- */
enum { SS_SORTED, SS_VALUES };
enum { SS_INT32, SS_RIGHT };

static enum skiff_status search_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, SS_VALUES, 0);
    return infer_out(c, 0, 0, c->attr[SS_INT32].b ? DTYPE_INT32 : DTYPE_INT64, &s, err);
}

/* Where value i belongs in the n numbers from `start` on. Numbers of two types are compared as C
 * does, so that 2.9 is found before the integer 3. */
static int64_t search_row(const struct tensor *row, int64_t start, int64_t n,
                          const struct tensor *values, int64_t i, bool right)
{
    int64_t low = 0, high = n;
    DISPATCH_NUMBER(row->dtype, T, {
        const T *line = (const T *)row->data + start;
        DISPATCH_NUMBER(values->dtype, U, {
            U value = ((const U *)values->data)[i];
            while (low < high) {
                int64_t mid = low + (high - low) / 2;
                bool before = right ? line[mid] <= value : line[mid] < value;
                low = before ? mid + 1 : low;
                high = before ? high : mid;
            }
        })
    })
    return low;
}

static enum skiff_status search_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *row = kernel_in(k, SS_SORTED), *values = kernel_in(k, SS_VALUES);
    struct tensor *out = kernel_out(k, 0);
    const struct shape *rs = &row->shape, *vs = &values->shape;
    TRY(kernel_check_dtype(k, SS_SORTED, dtype_is_number, "a number", err));
    TRY(kernel_check_dtype(k, SS_VALUES, dtype_is_number, "a number", err));
    bool fits = rs->ndim == 1 || (rs->ndim > 1 && rs->ndim == vs->ndim);
    for (int i = 0; fits && rs->ndim > 1 && i + 1 < rs->ndim; i++)
        fits = rs->dims[i] == vs->dims[i];
    if (!fits)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "SortedSequence must be one row, or have the rows of Values");
    int64_t n = rs->dims[rs->ndim - 1], m = vs->ndim ? vs->dims[vs->ndim - 1] : 1;
    for (int64_t i = 0; i < tensor_numel(values); i++) {
        int64_t found =
            search_row(row, rs->ndim > 1 ? i / m * n : 0, n, values, i, k->attr[SS_RIGHT].b);
        if (out->dtype == DTYPE_INT32)
            tensor_i32(out)[i] = (int32_t)found;
        else
            tensor_i64(out)[i] = found;
    }
    return SKIFF_OK;
}

/* ---- bincount ---- */
enum { BC_X, BC_WEIGHTS };

static enum dtype bincount_type(enum dtype x, bool weighted, enum dtype weights)
{
    return !weighted ? x : weights == DTYPE_FP32 ? DTYPE_FP32 : DTYPE_FP64;
}

static enum skiff_status bincount_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1);
    bool weighted = infer_has(c, BC_WEIGHTS);
    TRY(infer_want_int(c, BC_X, err));
    return infer_out(c, 0, 0,
                     bincount_type(infer_in_dtype(c, BC_X, 0), weighted,
                                   weighted ? infer_in_dtype(c, BC_WEIGHTS, 0) : DTYPE_FP32),
                     &s, err);
}

static enum skiff_status bincount_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, BC_X), *weights = kernel_in(k, BC_WEIGHTS);
    int64_t n = tensor_numel(x), bins = k->attr[0].i;
    TRY(kernel_check_dtype(k, BC_X, dtype_is_index, "int32 or int64", err));
    if (weights && tensor_numel(weights) != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "Weights and X differ in size");
    for (int64_t i = 0; i < n; i++) {
        int64_t v = tensor_int_at(x, i);
        if (v < 0 || v > INT32_MAX)
            return kernel_bad_index(k, BC_X, i, v, (int64_t)INT32_MAX + 1, "bins", err);
        bins = v >= bins ? v + 1 : bins;
    }
    struct shape s = SHAPE(bins);
    enum dtype t = bincount_type(x->dtype, weights != NULL, weights ? weights->dtype : DTYPE_FP32);
    TRY(kernel_out_resize(k, 0, 0, t, &s, err));
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    tensor_clear(kernel_out(k, 0));
    DISPATCH_NUMBER(weights ? weights->dtype : x->dtype, W, {
        const W *w = weights ? weights->data : NULL;
        DISPATCH_NUMBER(t, T, {
            T *out = kernel_out(k, 0)->data;
            for (int64_t i = 0; i < n; i++)
                out[tensor_int_at(x, i)] += w ? (T)w[i] : 1;
        })
    })
    return SKIFF_OK;
}

/* ---- histogram ---- */
enum { HI_BINS, HI_MIN, HI_MAX };

static enum skiff_status histogram_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(c->attr[HI_BINS].l);
    if (s.dims[0] < 1 || c->attr[HI_MAX].i < c->attr[HI_MIN].i)
        return infer_fail(c, 0, 0, err, "bins must be positive and max not below min");
    return infer_out(c, 0, 0, DTYPE_INT64, &s, err);
}

static enum skiff_status histogram_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int64_t bins = k->attr[HI_BINS].l, *out = tensor_i64(kernel_out(k, 0)), n = tensor_numel(x);
    double low = k->attr[HI_MIN].i, high = k->attr[HI_MAX].i;
    TRY(kernel_check_dtype(k, 0, dtype_is_number, "a number", err));
    tensor_clear(kernel_out(k, 0));
    DISPATCH_NUMBER(x->dtype, T, {
        const T *p = x->data;
        if (low == high && n) {
            low = high = (double)p[0];
            for (int64_t i = 1; i < n; i++) {
                low = fmin(low, (double)p[i]);
                high = fmax(high, (double)p[i]);
            }
        }
        if (low == high) {
            low -= 1;
            high += 1;
        }
        if (!isfinite(low) || !isfinite(high))
            return kernel_fail(k, SKIFF_RANGE, err, "the range of X (%s) is not finite",
                               kernel_in_name(k, 0, 0));
        for (int64_t i = 0; i < n; i++)
            if ((double)p[i] >= low && (double)p[i] <= high) {
                int64_t bin = (int64_t)(((double)p[i] - low) * (double)bins / (high - low));
                out[bin < bins ? bin : bins - 1]++;
            }
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot unique_1x_out[] = {{"Out", 0}, {"Index", 0}, {0}};
static const struct op_slot counts_out[] = {{"Out", 0}, {"Index", 0}, {"Count", 0}, {0}};
static const struct op_slot unique_out[] = {{"Out", 0},
                                            {"Index", SLOT_OPTIONAL},
                                            {"Counts", SLOT_OPTIONAL},
                                            {"Indices", SLOT_OPTIONAL},
                                            {0}};
static const struct op_slot consecutive_out[] = {
    {"Out", 0}, {"Index", SLOT_OPTIONAL}, {"Counts", SLOT_OPTIONAL}, {0}};
static const struct op_slot search_in[] = {{"SortedSequence", 0}, {"Values", 0}, {0}};
static const struct op_slot bincount_in[] = {{"X", 0}, {"Weights", SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec dtype_attrs[] = {A_REQ("dtype", ATTR_INT), {0}};
static const struct op_attr_spec unique_attrs[] = {A_INT("dtype", DTYPE_INT64),
                                                   A_INTS("axis"),
                                                   A_BOOL("is_sorted", false),
                                                   A_BOOL("return_index", false),
                                                   A_BOOL("return_inverse", false),
                                                   A_BOOL("return_counts", false),
                                                   {0}};
static const struct op_attr_spec consecutive_attrs[] = {A_INT("dtype", DTYPE_FP32),
                                                        A_INTS("axis"),
                                                        A_BOOL("return_inverse", false),
                                                        A_BOOL("return_counts", false),
                                                        {0}};
static const struct op_attr_spec search_attrs[] = {
    A_BOOL("out_int32", false), A_BOOL("right", false), {0}};
static const struct op_attr_spec bincount_attrs[] = {A_INT("minlength", 0), {0}};
static const struct op_attr_spec histogram_attrs[] = {
    A_LONG("bins", 100), A_INT("min", 0), A_INT("max", 0), {0}};

#define KIND(t, gen, in, out, a, rule, fn, more)                                          \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, .flags = OP_NO_GRAD_NEEDED | (more)                                    \
    }

const struct op_kind ops_unique[] = {
    KIND("unique", GEN_1X, x_in, unique_1x_out, dtype_attrs, unique_1x_infer, unique_1x_run,
         OP_OWN_SHAPE),
    KIND("unique_with_counts", 0, x_in, counts_out, dtype_attrs, unique_1x_infer, unique_1x_run,
         OP_OWN_SHAPE),
    KIND("unique", GEN_2X, x_in, unique_out, unique_attrs, unique_infer, unique_run, OP_OWN_SHAPE),
    KIND("unique_consecutive", GEN_2X, x_in, consecutive_out, consecutive_attrs, consecutive_infer,
         consecutive_run, OP_OWN_SHAPE),
    KIND("searchsorted", GEN_2X, search_in, out_out, search_attrs, search_infer, search_run, 0),
    KIND("bincount", GEN_2X, bincount_in, out_out, bincount_attrs, bincount_infer, bincount_run,
         OP_OWN_SHAPE),
    KIND("histogram", GEN_2X, x_in, out_out, histogram_attrs, histogram_infer, histogram_run, 0),
    {0},
};
