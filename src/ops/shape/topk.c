/* Ordering and counting along an axis: arg_max, arg_min, argsort, top_k, top_k_v2, kthvalue, mode,
 * one_hot, one_hot_v2.
 *
 *   arg_max, arg_min   the first of equal elements; `flatten` takes the tensor as one line
 *   argsort            stable
 *   top_k              over the last dim, largest first. The order of equal values is the one that
 *                      the C++ library's partial_sort gives to pairs compared by value alone: a
 *                      heap of k, into which every larger element goes, then a heap sort
 *   top_k_v2           any axis, largest or smallest; equal values: as found by quick selection
 *                      (nth_element) and a sort, or by partial_sort when 64 k < n
 *                      gradient of both: Out@GRAD put at Indices
 *   kthvalue           the k-th smallest; mode: the most frequent, the smallest of several, and
 *                      where it stands last; gradient: Out@GRAD put there
 *   one_hot            [.., 1] -> [.., depth]; one_hot_v2 appends the dim. An id outside
 *                      [0, depth) is an error, or gives a zero row with allow_out_of_range */
#include "ops/seq_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X };

/* ---- arg_max, arg_min ---- */
enum { AM_AXIS, AM_KEEPDIMS, AM_DTYPE, AM_FLATTEN };

static enum dtype arg_dtype(int attr)
{
    return attr == DTYPE_INT32 ? DTYPE_INT32 : DTYPE_INT64;
}

static enum skiff_status arg_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    struct shape out = {0};
    int axis = 0;
    bool flat = c->attr[AM_FLATTEN].b, keep = c->attr[AM_KEEPDIMS].b;
    if (!flat)
        TRY(infer_axis(c, X, "axis", c->attr[AM_AXIS].l, x->ndim, &axis, err));
    for (int i = 0; i < x->ndim; i++) {
        if (!flat && i != axis)
            out.dims[out.ndim++] = x->dims[i];
        else if (keep)
            out.dims[out.ndim++] = 1;
    }
    if (out.ndim == 0)
        out = infer_one_number(c);
    return infer_out(c, 0, 0, arg_dtype(c->attr[AM_DTYPE].i), &out, err);
}

static enum skiff_status arg_run(struct kernel *k, bool max, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct axis_view l = {1, tensor_numel(x), 1};
    TRY(kernel_check_dtype(k, X, dtype_is_any, "a number", err));
    if (!k->attr[AM_FLATTEN].b)
        l = shape_lines(&x->shape, axis_of(k->attr[AM_AXIS].l, x->shape.ndim));
    if (l.n == 0 && l.outer * l.inner > 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) has no elements to choose from",
                           kernel_in_name(k, X, 0));
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++) {
            int64_t best = 0;
            DISPATCH_ALL(
                x->dtype, T, const T *p = (const T *)x->data + o * l.n * l.inner + i;
                for (int64_t j = 1; j < l.n; j++) {
                    T v = p[j * l.inner];
                    T top = p[best * l.inner];
                    if (max ? v > top : v < top)
                        best = j;
                })
            if (out->dtype == DTYPE_INT32)
                tensor_i32(out)[o * l.inner + i] = (int32_t)best;
            else
                tensor_i64(out)[o * l.inner + i] = best;
        }
    return SKIFF_OK;
}
static enum skiff_status arg_max_run(struct kernel *k, struct skiff_error *err)
{
    return arg_run(k, true, err);
}
static enum skiff_status arg_min_run(struct kernel *k, struct skiff_error *err)
{
    return arg_run(k, false, err);
}

/* ---- lines of (value, index) ---- */
struct item {
    double v;
    int64_t at;
};

/* Does a come before b? NaN counts as the largest. */
static bool before(bool largest, const struct item *a, const struct item *b)
{
    if (largest)
        return (isnan(a->v) && !isnan(b->v)) || a->v > b->v;
    return (!isnan(a->v) && isnan(b->v)) || a->v < b->v;
}

static int stable(bool largest, const struct item *x, const struct item *y)
{
    if (before(largest, x, y))
        return -1;
    if (before(largest, y, x))
        return 1;
    return x->at < y->at ? -1 : 1;
}
static int stable_up(const void *a, const void *b)
{
    return stable(false, a, b);
}
static int stable_down(const void *a, const void *b)
{
    return stable(true, a, b);
}

/* Moves the hole at `hole` down to a leaf along the later children, then lets
 * `v` rise from there. */
static void heap_sift(struct item *h, int64_t n, int64_t hole, struct item v, bool largest)
{
    int64_t top = hole, child = hole;
    while (child < (n - 1) / 2) {
        child = 2 * child + 2;
        if (before(largest, &h[child], &h[child - 1]))
            child--;
        h[hole] = h[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * child + 1;
        h[hole] = h[child];
        hole = child;
    }
    for (int64_t parent; hole > top; hole = parent) {
        parent = (hole - 1) / 2;
        if (!before(largest, &h[parent], &v))
            break;
        h[hole] = h[parent];
    }
    h[hole] = v;
}

static void partial_sort(struct item *h, int64_t k, int64_t n, bool largest)
{
    for (int64_t i = (k - 2) / 2; k > 1 && i >= 0; i--)
        heap_sift(h, k, i, h[i], largest);
    for (int64_t i = k; i < n; i++)
        if (before(largest, &h[i], &h[0])) {
            struct item v = h[i];
            h[i] = h[0];
            heap_sift(h, k, 0, v, largest);
        }
    for (int64_t m = k - 1; m > 0; m--) {
        struct item v = h[m];
        h[m] = h[0];
        heap_sift(h, m, 0, v, largest);
    }
}

static void insertion_sort(struct item *h, int64_t from, int64_t to, bool largest)
{
    for (int64_t i = from + 1; i < to; i++) {
        struct item v = h[i];
        int64_t j = i;
        if (before(largest, &v, &h[from])) {
            memmove(&h[from + 1], &h[from], (size_t)(i - from) * sizeof(*h));
            j = from;
        } else
            for (; before(largest, &v, &h[j - 1]); j--)
                h[j] = h[j - 1];
        h[j] = v;
    }
}

static void swap_items(struct item *a, struct item *b)
{
    struct item t = *a;
    *a = *b;
    *b = t;
}

/* Median of three to the front, then a partition around it; returns the cut. */
static int64_t partition(struct item *h, int64_t from, int64_t to, bool largest)
{
    struct item *a = &h[from + 1], *b = &h[from + (to - from) / 2], *c = &h[to - 1], *mid;
    if (before(largest, a, b))
        mid = before(largest, b, c) ? b : before(largest, a, c) ? c : a;
    else
        mid = before(largest, a, c) ? a : before(largest, b, c) ? c : b;
    swap_items(&h[from], mid);
    int64_t lo = from + 1, hi = to;
    for (;; lo++) {
        while (before(largest, &h[lo], &h[from]))
            lo++;
        for (hi--; before(largest, &h[from], &h[hi]);)
            hi--;
        if (lo >= hi)
            return lo;
        swap_items(&h[lo], &h[hi]);
    }
}

/* Puts in front the k that come first, item k-1 in its place. */
static void quick_select(struct item *h, int64_t k, int64_t n, bool largest)
{
    int64_t from = 0, to = n;
    while (to - from > 3) {
        int64_t cut = partition(h, from, to, largest);
        if (cut <= k - 1)
            from = cut;
        else
            to = cut;
    }
    insertion_sort(h, from, to, largest);
}

static void quick_sort(struct item *h, int64_t from, int64_t to, bool largest)
{
    while (to - from > 16) {
        int64_t cut = partition(h, from, to, largest);
        quick_sort(h, cut, to, largest);
        to = cut;
    }
}

static void full_sort(struct item *h, int64_t n, bool largest)
{
    quick_sort(h, 0, n, largest);
    insertion_sort(h, 0, n, largest);
}

static void read_line(const struct tensor *x, struct axis_view l, int64_t o, int64_t i,
                      struct item *items)
{
    DISPATCH_NUMBER(x->dtype, T, const T *p = (const T *)x->data + o * l.n * l.inner + i;
                    for (int64_t j = 0; j < l.n; j++) items[j] =
                        (struct item){(double)p[j * l.inner], j})
}

/* The first k items of a line as values (taken from X, not from the double) and indices. */
static void write_line(const struct tensor *x, struct axis_view l, int64_t o, int64_t i, int64_t k,
                       const struct item *items, struct tensor *out, int64_t *indices)
{
    size_t elem = dtype_size(x->dtype);
    for (int64_t j = 0; j < k; j++) {
        int64_t to = (o * k + j) * l.inner + i;
        int64_t from = (o * l.n + items[j].at) * l.inner + i;
        if (out)
            memcpy((char *)out->data + (size_t)to * elem,
                   (const char *)x->data + (size_t)from * elem, elem);
        if (indices)
            indices[to] = items[j].at;
    }
}

enum order { ORDER_STABLE, ORDER_HEAP, ORDER_SELECT };

static enum skiff_status order_lines(struct kernel *k, struct axis_view l, int64_t count,
                                     bool largest, enum order how, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0), *index = kernel_out(k, 1);
    struct item *items;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    TRY(kernel_scratch(k, (size_t)l.n * sizeof(*items), (void **)&items, err));
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++) {
            read_line(x, l, o, i, items);
            if (how == ORDER_STABLE)
                qsort(items, (size_t)l.n, sizeof(*items), largest ? stable_down : stable_up);
            else if (how == ORDER_HEAP || 64 * count < l.n)
                partial_sort(items, count, l.n, largest);
            else {
                quick_select(items, count, l.n, largest);
                full_sort(items, count - 1, largest);
            }
            write_line(x, l, o, i, count, items, out, index ? tensor_i64(index) : NULL);
        }
    return SKIFF_OK;
}

/* ---- argsort ---- */
static enum skiff_status argsort_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    int axis;
    if (s.ndim)
        TRY(infer_axis(c, X, "axis", c->attr[0].i, s.ndim, &axis, err));
    TRY(infer_same(c, X, 0, err));
    TRY(infer_out(c, 1, 0, DTYPE_INT64, &s, err));
    infer_share_lod(c, X, 0, 1, 0);
    return SKIFF_OK;
}

static enum skiff_status argsort_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct axis_view l = {1, 1, 1};
    if (x->shape.ndim)
        l = shape_lines(&x->shape, axis_of(k->attr[0].i, x->shape.ndim));
    return order_lines(k, l, l.n, k->attr[1].b, ORDER_STABLE, err);
}

/* ---- top_k ---- */
enum { TK_K = 1 };
enum { TKA_K, TKA_AXIS, TKA_LARGEST, TKA_SORTED };

static enum skiff_status topk_shape(struct infer *c, int64_t axis, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    enum dtype t = infer_in_dtype(c, X, 0);
    int64_t k = c->attr[TKA_K].i;
    int a;
    TRY(infer_axis(c, X, "axis", axis, s.ndim, &a, err));
    if (infer_in_count(c, TK_K) && infer_read_ints(c, TK_K, &k, 1) != 1)
        k = -1;
    if ((c->running || k != -1) && (k < 1 || (s.dims[a] >= 0 && k > s.dims[a])))
        return infer_fail(c, X, 0, err, "k is %lld, must lie in [1, %lld]", (long long)k,
                          (long long)s.dims[a]);
    s.dims[a] = k;
    TRY(infer_out(c, 0, 0, t, &s, err));
    TRY(infer_out(c, 1, 0, DTYPE_INT64, &s, err));
    infer_share_lod(c, X, 0, 0, 0);
    infer_share_lod(c, X, 0, 1, 0);
    return SKIFF_OK;
}
static enum skiff_status topk_infer(struct infer *c, struct skiff_error *err)
{
    return topk_shape(c, -1, err);
}
static enum skiff_status topk_v2_infer(struct infer *c, struct skiff_error *err)
{
    return topk_shape(c, c->attr[TKA_AXIS].i, err);
}

static int64_t topk_count(const struct kernel *k, int axis)
{
    const struct tensor *out = kernel_out(k, 0) ? kernel_out(k, 0) : kernel_out(k, 1);
    return out ? out->shape.dims[axis] : 0;
}

static enum skiff_status topk_run(struct kernel *k, struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, X)->shape;
    int axis = x->ndim - 1;
    return order_lines(k, shape_lines(x, axis), topk_count(k, axis), true, ORDER_HEAP, err);
}
static enum skiff_status topk_v2_run(struct kernel *k, struct skiff_error *err)
{
    const struct shape *x = &kernel_in(k, X)->shape;
    int axis = axis_of(k->attr[TKA_AXIS].i, x->ndim);
    return order_lines(k, shape_lines(x, axis), topk_count(k, axis), k->attr[TKA_LARGEST].b,
                       ORDER_SELECT, err);
}

enum { TG_INDICES = 1, TG_DOUT };

static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

static enum skiff_status topk_grad(struct kernel *k, int64_t axis, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, TG_DOUT), *index = kernel_in(k, TG_INDICES);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    int a = axis_of(axis, dx->shape.ndim);
    if (a < 0 || d->shape.ndim != dx->shape.ndim || index->dtype != DTYPE_INT64 ||
        tensor_numel(index) != tensor_numel(d) || d->dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Indices and Out@GRAD do not fit");
    struct axis_view l = shape_lines(&dx->shape, a), from = shape_lines(&d->shape, a);
    size_t elem = dtype_size(d->dtype);
    if (from.outer != l.outer || from.inner != l.inner)
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Out@GRAD do not fit");
    tensor_clear(dx);
    for (int64_t i = 0; i < tensor_numel(d); i++) {
        int64_t o = i / (from.n * from.inner), at = tensor_i64(index)[i];
        if (at < 0 || at >= l.n)
            return kernel_fail(k, SKIFF_RANGE, err, "index %lld lies outside of X", (long long)at);
        memcpy((char *)dx->data + (size_t)((o * l.n + at) * l.inner + i % l.inner) * elem,
               (const char *)d->data + (size_t)i * elem, elem);
    }
    return SKIFF_OK;
}
static enum skiff_status topk_grad_run(struct kernel *k, struct skiff_error *err)
{
    return topk_grad(k, -1, err);
}
static enum skiff_status topk_v2_grad_run(struct kernel *k, struct skiff_error *err)
{
    return topk_grad(k, k->attr[TKA_AXIS].i, err);
}

static enum skiff_status argsort_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, TG_DOUT);
    if (!kernel_out(k, 0) || d->shape.ndim)
        return topk_grad(k, k->attr[0].i, err);
    TRY(kernel_want_elements(k, TG_DOUT, kernel_out(k, 0)->dtype, tensor_numel(kernel_out(k, 0)),
                             err));
    bytes_copy(kernel_out(k, 0)->data, d->data, tensor_bytes(d));
    return SKIFF_OK;
}

/* ---- kthvalue, mode: one element of every line ---- */
enum { KV_K, KV_AXIS, KV_KEEP };
enum { MO_AXIS, MO_KEEP };

static enum skiff_status one_of_line_infer(struct infer *c, int64_t axis, bool keep,
                                           struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    int a = 0;
    if (s.ndim)
        TRY(infer_axis(c, X, "axis", axis, s.ndim, &a, err));
    if (keep && s.ndim)
        s.dims[a] = 1;
    else if (s.ndim) {
        s.ndim--;
        memmove(s.dims + a, s.dims + a + 1, (size_t)(s.ndim - a) * sizeof(s.dims[0]));
    }
    enum dtype t = infer_in_dtype(c, X, 0);
    TRY(infer_out(c, 0, 0, t, &s, err));
    return infer_out(c, 1, 0, DTYPE_INT64, &s, err);
}
static enum skiff_status kthvalue_infer(struct infer *c, struct skiff_error *err)
{
    return one_of_line_infer(c, c->attr[KV_AXIS].i, c->attr[KV_KEEP].b, err);
}
static enum skiff_status mode_infer(struct infer *c, struct skiff_error *err)
{
    return one_of_line_infer(c, c->attr[MO_AXIS].i, c->attr[MO_KEEP].b, err);
}

/* Of items in order: the last one of the longest run, the first such run. */
static struct item most_frequent(const struct item *items, int64_t n)
{
    struct item best = items[0];
    for (int64_t i = 0, longest = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].v == items[i].v;)
            end++;
        if (end - i > longest) {
            longest = end - i;
            best = items[end - 1];
        }
    }
    return best;
}

/* kth 0: the mode. */
static enum skiff_status one_of_line(struct kernel *k, int64_t axis, int64_t kth,
                                     struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *index = kernel_out(k, 1);
    struct axis_view l = {1, 1, 1};
    struct item *items;
    if (x->shape.ndim)
        l = shape_lines(&x->shape, axis_of(axis, x->shape.ndim));
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    if (l.n < 1 || kth < 0 || kth > l.n)
        return kernel_fail(k, SKIFF_RANGE, err, "k is %lld, must lie in [1, %lld]", (long long)kth,
                           (long long)l.n);
    TRY(kernel_scratch(k, (size_t)l.n * sizeof(*items), (void **)&items, err));
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++) {
            read_line(x, l, o, i, items);
            qsort(items, (size_t)l.n, sizeof(*items), stable_up);
            struct item one = kth ? items[kth - 1] : most_frequent(items, l.n);
            write_line(x, l, o, i, 1, &one, kernel_out(k, 0), index ? tensor_i64(index) : NULL);
        }
    return SKIFF_OK;
}
static enum skiff_status kthvalue_run(struct kernel *k, struct skiff_error *err)
{
    int64_t kth = k->attr[KV_K].i;
    return one_of_line(k, k->attr[KV_AXIS].i, kth > 0 ? kth : -1, err);
}
static enum skiff_status mode_run(struct kernel *k, struct skiff_error *err)
{
    return one_of_line(k, k->attr[MO_AXIS].i, 0, err);
}

static enum skiff_status one_of_line_grad(struct kernel *k, int64_t axis, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, TG_DOUT), *index = kernel_in(k, TG_INDICES);
    struct tensor *dx = kernel_out(k, 0);
    struct axis_view l = {1, 1, 1};
    if (!dx)
        return SKIFF_OK;
    int a = axis_of(axis, dx->shape.ndim);
    if (a >= 0)
        l = shape_lines(&dx->shape, a);
    int64_t n = l.outer * l.inner;
    if (tensor_numel(d) != n || tensor_numel(index) != n || index->dtype != DTYPE_INT64 ||
        d->dtype != dx->dtype || (a < 0 && dx->shape.ndim))
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Indices and Out@GRAD do not fit");
    size_t elem = dtype_size(d->dtype);
    tensor_clear(dx);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_i64(index)[i];
        if (at < 0 || at >= l.n)
            return kernel_fail(k, SKIFF_RANGE, err, "index %lld lies outside of X", (long long)at);
        at = (i / l.inner * l.n + at) * l.inner + i % l.inner;
        memcpy((char *)dx->data + (size_t)at * elem, (const char *)d->data + (size_t)i * elem,
               elem);
    }
    return SKIFF_OK;
}
static enum skiff_status kthvalue_grad_run(struct kernel *k, struct skiff_error *err)
{
    return one_of_line_grad(k, k->attr[KV_AXIS].i, err);
}
static enum skiff_status mode_grad_run(struct kernel *k, struct skiff_error *err)
{
    return one_of_line_grad(k, k->attr[MO_AXIS].i, err);
}

/* ---- one_hot ---- */
enum { OH_DEPTH_TENSOR = 1 };
enum { OH_DEPTH, OH_DTYPE, OH_ANY };

static enum skiff_status one_hot_shape(struct infer *c, bool append, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    int64_t depth = c->attr[OH_DEPTH].i;
    if (infer_in_count(c, OH_DEPTH_TENSOR) && infer_read_ints(c, OH_DEPTH_TENSOR, &depth, 1) != 1)
        depth = -1;
    if (c->running && depth < 1)
        return infer_fail(c, X, 0, err, "depth is %lld", (long long)depth);
    if (append && s.ndim == TENSOR_MAX_DIMS)
        return infer_fail(c, X, 0, err, "has too many dims");
    if (!append && (s.ndim < 2 || dims_conflict(s.dims[s.ndim - 1], 1)))
        return infer_fail(c, X, 0, err, "the last dim must be 1");
    s.ndim += append;
    s.dims[s.ndim - 1] = depth;
    TRY(infer_out(c, 0, 0, (enum dtype)c->attr[OH_DTYPE].i, &s, err));
    if (s.ndim > 1)
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}
static enum skiff_status one_hot_infer(struct infer *c, struct skiff_error *err)
{
    return one_hot_shape(c, false, err);
}
static enum skiff_status one_hot_v2_infer(struct infer *c, struct skiff_error *err)
{
    return one_hot_shape(c, true, err);
}

static enum skiff_status one_hot_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(x), depth = out->shape.dims[out->shape.ndim - 1];
    TRY(kernel_check_dtype(k, X, dtype_is_index, "int32 or int64", err));
    if (!dtype_is_any(out->dtype))
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "cannot make type %s",
                           dtype_name(out->dtype));
    tensor_clear(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = x->dtype == DTYPE_INT64 ? tensor_i64(x)[i] : tensor_i32(x)[i];
        if (id >= 0 && id < depth)
            DISPATCH_ALL(out->dtype, T, ((T *)out->data)[i * depth + id] = 1)
        else if (!k->attr[OH_ANY].b)
            return kernel_fail(
                k, SKIFF_RANGE, err, "input X (%s): element %lld is %lld, must lie in [0, %lld)",
                kernel_in_name(k, X, 0), (long long)i, (long long)id, (long long)depth);
    }
    return SKIFF_OK;
}

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot topk_in[] = {{"X", 0}, {"K", SLOT_OPTIONAL}, {0}};
static const struct op_slot topk_grad_in[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Indices", 0}, {"Out" GRAD_SUFFIX, 0}, {"K", SLOT_OPTIONAL}, {0}};
static const struct op_slot one_hot_in[] = {{"X", 0}, {"depth_tensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot order_out[] = {{"Out", 0}, {"Indices", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec arg_1x_attrs[] = {
    A_REQ("axis", ATTR_LONG),
    A_BOOL("keepdims", false),
    A_INT("dtype", -1),
    {.name = "flatten", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X},
    {0}};
static const struct op_attr_spec arg_2x_attrs[] = {A_REQ("axis", ATTR_LONG),
                                                   A_BOOL("keepdims", false),
                                                   A_INT("dtype", DTYPE_INT64),
                                                   A_BOOL("flatten", false),
                                                   {0}};
static const struct op_attr_spec argsort_attrs[] = {
    A_INT("axis", -1), A_BOOL("descending", false), {0}};
static const struct op_attr_spec kthvalue_attrs[] = {
    A_INT("k", 1), A_INT("axis", -1), A_BOOL("keepdim", false), {0}};
static const struct op_attr_spec mode_attrs[] = {A_INT("axis", -1), A_BOOL("keepdim", false), {0}};
static const struct op_attr_spec topk_attrs[] = {A_INT("k", 1), {0}};
static const struct op_attr_spec topk_v2_attrs[] = {
    A_INT("k", 1), A_INT("axis", -1), A_BOOL("largest", true), A_BOOL("sorted", true), {0}};
static const struct op_attr_spec one_hot_attrs[] = {
    A_INT("depth", -1), A_INT("dtype", DTYPE_FP32), A_BOOL("allow_out_of_range", false), {0}};

#define KIND(t, gen, in, out, a, rule, fn, ...)                                           \
    {                                                                                     \
        .type = t, .generations = gen, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                            \
    }
#define NO_GRAD .flags = OP_NO_GRAD_NEEDED

const struct op_kind ops_topk[] = {
    KIND("arg_max", GEN_1X, x_in, out_out, arg_1x_attrs, arg_infer, arg_max_run,
         NO_GRAD | OP_ONE_DIM),
    KIND("arg_max", GEN_2X, x_in, out_out, arg_2x_attrs, arg_infer, arg_max_run, NO_GRAD),
    KIND("arg_min", GEN_1X, x_in, out_out, arg_1x_attrs, arg_infer, arg_min_run,
         NO_GRAD | OP_ONE_DIM),
    KIND("arg_min", GEN_2X, x_in, out_out, arg_2x_attrs, arg_infer, arg_min_run, NO_GRAD),
    KIND("argsort", 0, x_in, order_out, argsort_attrs, argsort_infer, argsort_run,
         .grad = "X Indices Out@GRAD -> X@GRAD"),
    KIND("argsort_grad", 0, topk_grad_in, dx_out, argsort_attrs, grad_infer, argsort_grad_run, ),
    KIND("kthvalue", GEN_2X, x_in, order_out, kthvalue_attrs, kthvalue_infer, kthvalue_run,
         .grad = "X Indices Out@GRAD -> X@GRAD"),
    KIND("kthvalue_grad", GEN_2X, topk_grad_in, dx_out, kthvalue_attrs, grad_infer,
         kthvalue_grad_run, ),
    KIND("mode", GEN_2X, x_in, order_out, mode_attrs, mode_infer, mode_run,
         .grad = "X Indices Out@GRAD -> X@GRAD"),
    KIND("mode_grad", GEN_2X, topk_grad_in, dx_out, mode_attrs, grad_infer, mode_grad_run, ),
    KIND("top_k", 0, topk_in, order_out, topk_attrs, topk_infer, topk_run,
         .grad = "!X Indices Out@GRAD -> X@GRAD"),
    KIND("top_k_grad", 0, topk_grad_in, dx_out, none, grad_infer, topk_grad_run, ),
    KIND("top_k_v2", GEN_2X, topk_in, order_out, topk_v2_attrs, topk_v2_infer, topk_v2_run,
         .grad = "X K Indices Out@GRAD -> X@GRAD"),
    KIND("top_k_v2_grad", GEN_2X, topk_grad_in, dx_out, topk_v2_attrs, grad_infer,
         topk_v2_grad_run, ),
    KIND("one_hot", GEN_1X, one_hot_in, out_out, one_hot_attrs, one_hot_infer, one_hot_run,
         NO_GRAD),
    KIND("one_hot_v2", 0, one_hot_in, out_out, one_hot_attrs, one_hot_v2_infer, one_hot_run,
         NO_GRAD),
    {0},
};
