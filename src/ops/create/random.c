/* Random tensors: uniform_random, gaussian_random, both *_batch_size_like,
 * truncated_gaussian_random, randint, randperm, multinomial, sampling_id. With a seed they give
 * Paddle's stream, bit for bit (random_source.h).
 *
 *   uniform     u * (max - min) + min, then diag_val on diag_num places diag_step + 1 apart
 *   gaussian    polar method: x, y in (-1,1) until 0 < x^2 + y^2 <= 1; m = sqrt(-2 ln r2 / r2);
 *               y m comes first, x m next; times std plus mean
 *   truncated   p = Phi(-2) + (Phi(2) - Phi(-2)) u; sqrt(2) erfinv(2p - 1) std + mean
 *   randint     [low, high)
 *   randperm    0 .. n-1 in the order of libstdc++'s std::shuffle, two swaps with one draw
 *   multinomial by the cumulated probabilities of a row; without replacement the category taken is
 *               removed and the others scaled up (2.x)
 *   sampling_id one draw r in [min, max] a row: the first column where the running sum passes r */
#include <float.h>
#include <math.h>

#include "ops/create/random_source.h"
#include "ops/seq_common.h"

/* ---- shapes: ShapeTensor, else ShapeTensorList, else the attribute ---- */

enum { IN_SHAPE, IN_SHAPE_LIST };

static enum skiff_status shape_of_attr(const struct op_kind *kind, const struct attr_value *a,
                                       bool ints, struct shape *out, struct skiff_error *err)
{
    if (a->n > TENSOR_MAX_DIMS)
        return error_set(err, SKIFF_SHAPE, "op %s: attribute shape has %d dimensions, at most %d",
                         kind->type, a->n, TENSOR_MAX_DIMS);
    out->ndim = a->n;
    for (int i = 0; i < a->n; i++)
        out->dims[i] = ints ? a->ints[i] : a->longs[i];
    return SKIFF_OK;
}

static enum skiff_status random_out(struct infer *c, int dtype_attr, bool shape_inputs,
                                    const struct shape *by_attr, struct skiff_error *err)
{
    struct shape s = *by_attr;
    int parts = shape_inputs ? infer_in_count(c, IN_SHAPE_LIST) : 0;
    const struct shape *given = shape_inputs ? infer_in(c, IN_SHAPE, 0) : NULL;
    if (given && given->ndim == 1 && given->dims[0] >= 0 && given->dims[0] <= TENSOR_MAX_DIMS) {
        s.ndim = (int)given->dims[0];
        for (int i = 0; i < s.ndim; i++)
            s.dims[i] = -1;
    } else if (parts > 0 && parts <= TENSOR_MAX_DIMS && s.ndim != parts) {
        s.ndim = parts;
        for (int i = 0; i < parts; i++)
            s.dims[i] = -1;
    }
    return infer_out(c, 0, 0, (enum dtype)c->attr[dtype_attr].i, &s, err);
}

/* Sizes Out at run time and tells how many elements it has. */
static enum skiff_status random_resize(struct kernel *k, int dtype_attr, bool shape_inputs,
                                       const struct shape *by_attr, int64_t *n,
                                       struct skiff_error *err)
{
    struct shape s = *by_attr;
    int64_t dims[TENSOR_MAX_DIMS];
    int count = -2;
    if (shape_inputs && kernel_has(k, IN_SHAPE))
        count = tensor_read_ints(kernel_in(k, IN_SHAPE), dims, TENSOR_MAX_DIMS);
    else if (shape_inputs && kernel_in_count(k, IN_SHAPE_LIST))
        count = kernel_read_int_list(k, IN_SHAPE_LIST, dims, TENSOR_MAX_DIMS);
    if (count == -1)
        return kernel_fail(k, SKIFF_SHAPE, err, "the shape input must hold at most %d integers",
                           TENSOR_MAX_DIMS);
    if (count >= 0)
        s = shape_of(count, dims);
    enum dtype dtype = (enum dtype)k->attr[dtype_attr].i;
    if (dtype != DTYPE_FP32 && dtype != DTYPE_FP64 && dtype != DTYPE_INT32 && dtype != DTYPE_INT64)
        return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype is %d (%s)", dtype,
                           dtype_name(dtype));
    TRY(kernel_out_resize(k, 0, 0, dtype, &s, err));
    if (kernel_out(k, 0))
        tensor_drop_lod(kernel_out(k, 0));
    *n = kernel_out(k, 0) ? tensor_numel(kernel_out(k, 0)) : 0;
    return SKIFF_OK;
}

/* Number of elements before Out in the complete variable, if Out is a part of a larger one (a slice
 * on a server); *whole: number of elements in all. */
static int64_t random_offset(const struct kernel *k, int64_t n, int64_t *whole)
{
    int64_t offset = 0;
    *whole = n;
    const struct run_env *env = k->env;
    if (!env || !env->part_of ||
        !env->part_of(env->part_user, kernel_out_name(k, 0, 0), &offset, whole))
        return 0;
    return offset;
}

static enum skiff_status want_float_dtype(const struct kernel *k, int dtype_attr,
                                          struct skiff_error *err)
{
    enum dtype dtype = (enum dtype)k->attr[dtype_attr].i;
    if (dtype_is_float(dtype))
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype is %d (%s), must be a float type",
                       dtype, dtype_name(dtype));
}

/* ---- uniform_random ---- */

enum { UN_SHAPE, UN_MIN, UN_MAX, UN_SEED, UN_DIAG_NUM, UN_DIAG_STEP, UN_DIAG_VAL, UN_DTYPE };

static enum skiff_status uniform_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s;
    TRY(shape_of_attr(c->kind, &c->attr[UN_SHAPE], false, &s, err));
    return random_out(c, UN_DTYPE, true, &s, err);
}

static enum skiff_status uniform_diag(const struct kernel *k, int64_t offset, int64_t whole,
                                      struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(out);
    int64_t step = (int64_t)k->attr[UN_DIAG_STEP].i + 1;
    for (int64_t i = 0; i < k->attr[UN_DIAG_NUM].i; i++) {
        int64_t at = i * step;
        if (at < 0 || at >= whole)
            return kernel_fail(k, SKIFF_RANGE, err,
                               "diag_num %d with diag_step %d leaves the %lld elements of Out",
                               k->attr[UN_DIAG_NUM].i, k->attr[UN_DIAG_STEP].i, (long long)whole);
        at -= offset;
        if (at < 0 || at >= n)
            continue;
        if (out->dtype == DTYPE_FP32)
            tensor_f32(out)[at] = k->attr[UN_DIAG_VAL].f;
        else
            tensor_f64(out)[at] = k->attr[UN_DIAG_VAL].f;
    }
    return SKIFF_OK;
}

/* Out has its size. */
static enum skiff_status uniform_fill(struct kernel *k, struct skiff_error *err)
{
    int64_t n = kernel_out(k, 0) ? tensor_numel(kernel_out(k, 0)) : 0;
    struct random_source r;
    float min = k->attr[UN_MIN].f, max = k->attr[UN_MAX].f;
    random_source_init(&r, k, k->attr[UN_SEED].i);
    struct tensor *out = kernel_out(k, 0);
    int64_t whole, offset = random_offset(k, n, &whole);
    random_skip(&r, (uint64_t)offset, out && out->dtype != DTYPE_FP32);
    for (int64_t i = 0; i < n; i++)
        if (out->dtype == DTYPE_FP32)
            tensor_f32(out)[i] = random_float(&r) * (max - min) + min;
        else
            tensor_f64(out)[i] = random_double(&r) * ((double)max - (double)min) + (double)min;
    return n ? uniform_diag(k, offset, whole, err) : SKIFF_OK;
}

static enum skiff_status uniform_run(struct kernel *k, struct skiff_error *err)
{
    struct shape s;
    int64_t n;
    TRY(want_float_dtype(k, UN_DTYPE, err));
    TRY(shape_of_attr(k->kind, &k->attr[UN_SHAPE], false, &s, err));
    TRY(random_resize(k, UN_DTYPE, true, &s, &n, err));
    return uniform_fill(k, err);
}

/* 1.x; attributes as above, then the two dims */
static enum skiff_status uniform_like_infer(struct infer *c, struct skiff_error *err)
{
    return infer_batch_like(c, &c->attr[UN_SHAPE], c->attr[UN_DTYPE + 1].i, c->attr[UN_DTYPE + 2].i,
                            (enum dtype)c->attr[UN_DTYPE].i, err);
}
static enum skiff_status uniform_like_run(struct kernel *k, struct skiff_error *err)
{
    TRY(want_float_dtype(k, UN_DTYPE, err));
    return uniform_fill(k, err);
}

/* ---- gaussian_random ---- */

enum { GA_SHAPE, GA_MEAN, GA_STD, GA_SEED, GA_DTYPE };

/* Elements `skip` .. `skip + n` of the stream. */
static void gaussian_f32(struct random_source *r, float mean, float std, float *out, int64_t skip,
                         int64_t n)
{
    n += skip;
    for (int64_t i = 0; i < n; i += 2) {
        float x, y, r2;
        do {
            x = 2.0f * random_float(r) - 1.0f;
            y = 2.0f * random_float(r) - 1.0f;
            r2 = x * x + y * y;
        } while (r2 > 1.0f || r2 == 0.0f);
        if (i + 1 < skip)
            continue;
        float m = sqrtf(-2.0f * logf(r2) / r2);
        if (i >= skip)
            out[i - skip] = y * m * std + mean;
        if (i + 1 < n)
            out[i + 1 - skip] = x * m * std + mean;
    }
}

static void gaussian_f64(struct random_source *r, double mean, double std, double *out,
                         int64_t skip, int64_t n)
{
    n += skip;
    for (int64_t i = 0; i < n; i += 2) {
        double x, y, r2;
        do {
            x = 2.0 * random_double(r) - 1.0;
            y = 2.0 * random_double(r) - 1.0;
            r2 = x * x + y * y;
        } while (r2 > 1.0 || r2 == 0.0);
        if (i + 1 < skip)
            continue;
        double m = sqrt(-2.0 * log(r2) / r2);
        if (i >= skip)
            out[i - skip] = y * m * std + mean;
        if (i + 1 < n)
            out[i + 1 - skip] = x * m * std + mean;
    }
}

static enum skiff_status gaussian_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s;
    TRY(shape_of_attr(c->kind, &c->attr[GA_SHAPE], false, &s, err));
    return random_out(c, GA_DTYPE, true, &s, err);
}

/* Out has its size. */
static enum skiff_status gaussian_fill(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t n = out ? tensor_numel(out) : 0;
    struct random_source r;
    float mean = k->attr[GA_MEAN].f, std = k->attr[GA_STD].f;
    TRY(want_float_dtype(k, GA_DTYPE, err));
    random_source_init(&r, k, k->attr[GA_SEED].i);
    if (!n)
        return SKIFF_OK;
    int64_t whole, offset = random_offset(k, n, &whole);
    if (out->dtype == DTYPE_FP32)
        gaussian_f32(&r, mean, std, tensor_f32(out), offset, n);
    else
        gaussian_f64(&r, mean, std, tensor_f64(out), offset, n);
    return SKIFF_OK;
}

static enum skiff_status gaussian_run(struct kernel *k, struct skiff_error *err)
{
    struct shape s;
    int64_t n;
    TRY(want_float_dtype(k, GA_DTYPE, err));
    TRY(shape_of_attr(k->kind, &k->attr[GA_SHAPE], false, &s, err));
    TRY(random_resize(k, GA_DTYPE, true, &s, &n, err));
    return gaussian_fill(k, err);
}

static enum skiff_status gaussian_like_infer(struct infer *c, struct skiff_error *err)
{
    return infer_batch_like(c, &c->attr[GA_SHAPE], c->attr[GA_DTYPE + 1].i, c->attr[GA_DTYPE + 2].i,
                            (enum dtype)c->attr[GA_DTYPE].i, err);
}

/* ---- truncated_gaussian_random ---- */

/* Coefficients of Wichura's rational approximation (AS 241) in terms of the inverse error function;
 * float, as Paddle keeps them. */
static const float erfinv_a[8] = {1.1975323115670912564578e0f, 4.7072688112383978012285e1f,
                                  6.9706266534389598238465e2f, 4.8548868893843886794648e3f,
                                  1.6235862515167575384252e4f, 2.3782041382114385731252e4f,
                                  1.1819493347062294404278e4f, 8.8709406962545514830200e2f};
static const float erfinv_b[8] = {1.0f,
                                  4.2313330701600911252e1f,
                                  6.8718700749205790830e2f,
                                  5.3941960214247511077e3f,
                                  2.1213794301586595867e4f,
                                  3.9307895800092710610e4f,
                                  2.8729085735721942674e4f,
                                  5.2264952788528545610e3f};
static const float erfinv_c[8] = {1.42343711074968357734e0f,  4.63033784615654529590e0f,
                                  5.76949722146069140550e0f,  3.64784832476320460504e0f,
                                  1.27045825245236838258e0f,  2.41780725177450611770e-1f,
                                  2.27238449892691845833e-2f, 7.74545014278341407640e-4f};
static const float erfinv_d[8] = {1.4142135623730950488016887e0f,  2.9036514445419946173133295e0f,
                                  2.3707661626024532365971225e0f,  9.7547832001787427186894837e-1f,
                                  2.0945065210512749128288442e-1f, 2.1494160384252876777097297e-2f,
                                  7.7441459065157709165577218e-4f, 1.4859850019840355905497876e-9f};

/* central_only: the 1.8 wheel compares the integer part of |x|, so that the central formula serves
 * every argument. |x| <= 0.9545 here, so the formula for the far tails is never needed. */
static float erfinv(float x, bool central_only)
{
    const float *p = erfinv_a, *q = erfinv_b;
    float r;
    bool central = central_only || fabsf(x) <= 0.85;
    if (central) {
        r = (float)(0.180625 - 0.25 * x * x);
    } else {
        static const float ln2 = 6.931471805599453094172321214581e-1f;
        r = (float)sqrt(ln2 - log(1.0 - fabsf(x)));
        r = (float)(r - 1.6);
        p = erfinv_c;
        q = erfinv_d;
    }
    float num = p[7], den = q[7];
    for (int i = 6; i >= 0; i--) {
        num = num * r + p[i];
        den = den * r + q[i];
    }
    if (central)
        return x * num / den;
    return x < 0 ? -num / den : num / den;
}

static enum skiff_status truncated_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s;
    TRY(shape_of_attr(c->kind, &c->attr[GA_SHAPE], true, &s, err));
    return random_out(c, GA_DTYPE, false, &s, err);
}

static enum skiff_status truncated_run(struct kernel *k, struct skiff_error *err)
{
    struct shape s;
    int64_t n;
    struct random_source r;
    float mean = k->attr[GA_MEAN].f, std = k->attr[GA_STD].f;
    float lo = (float)((1.0 + erf(-2.0f / sqrt(2.0))) / 2.0);
    float hi = (float)((1.0 + erf(2.0f / sqrt(2.0))) / 2.0);
    TRY(shape_of_attr(k->kind, &k->attr[GA_SHAPE], true, &s, err));
    if (k->attr[GA_DTYPE].i != DTYPE_FP32)
        return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype must be float32");
    TRY(random_resize(k, GA_DTYPE, false, &s, &n, err));
    random_source_init(&r, k, k->attr[GA_SEED].i);
    int64_t whole, offset = random_offset(k, n, &whole);
    random_skip(&r, (uint64_t)offset, false);
    for (int64_t i = 0; i < n; i++) {
        float u = random_float(&r) * (1.0f - FLT_MIN) + FLT_MIN;
        float p = lo + (hi - lo) * u;
        tensor_f32(kernel_out(k, 0))[i] =
            (float)(sqrt(2.0) * erfinv(2 * p - 1, r.is_minstd) * std + mean);
    }
    return SKIFF_OK;
}

/* ---- randint ---- */

enum { RI_SHAPE, RI_LOW, RI_HIGH, RI_DTYPE, RI_SEED };

static enum skiff_status randint_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s;
    TRY(shape_of_attr(c->kind, &c->attr[RI_SHAPE], false, &s, err));
    return random_out(c, RI_DTYPE, true, &s, err);
}

static enum skiff_status randint_run(struct kernel *k, struct skiff_error *err)
{
    struct shape s;
    int64_t n, low = k->attr[RI_LOW].i, high = k->attr[RI_HIGH].i;
    struct random_source r;
    if (low >= high)
        return kernel_fail(k, SKIFF_INVALID, err, "low is %lld, must be below high %lld",
                           (long long)low, (long long)high);
    if (k->kind->flags & OP_MINSTD && high - low > 2147483645)
        return kernel_fail(k, SKIFF_RANGE, err, "the range [%lld, %lld) is too wide",
                           (long long)low, (long long)high);
    if (!dtype_is_index((enum dtype)k->attr[RI_DTYPE].i))
        return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype must be int64 or int32");
    TRY(shape_of_attr(k->kind, &k->attr[RI_SHAPE], false, &s, err));
    TRY(random_resize(k, RI_DTYPE, true, &s, &n, err));
    random_source_init(&r, k, k->attr[RI_SEED].i);
    struct tensor *out = kernel_out(k, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = random_int(&r, low, high);
        if (out->dtype == DTYPE_INT64)
            tensor_i64(out)[i] = v;
        else
            tensor_i32(out)[i] = (int32_t)v;
    }
    return SKIFF_OK;
}

/* ---- randperm ---- */

enum { RP_N, RP_DTYPE, RP_SEED };

static enum skiff_status randperm_infer(struct infer *c, struct skiff_error *err)
{
    if (c->attr[RP_N].i < 1)
        return error_set(err, SKIFF_INVALID, "op %s: attribute n is %d, must be positive",
                         c->kind->type, c->attr[RP_N].i);
    struct shape s = SHAPE(c->attr[RP_N].i);
    return infer_out(c, 0, 0, (enum dtype)c->attr[RP_DTYPE].i, &s, err);
}

static void swap(int64_t *v, int64_t a, int64_t b)
{
    int64_t kept = v[a];
    v[a] = v[b];
    v[b] = kept;
}

static void shuffle(struct random_source *r, int64_t *v, int64_t n)
{
    int64_t i = 1;
    for (; r->is_minstd && n > 46340 && i < n; i++) /* its range is too small for two at once */
        swap(v, i, random_int(r, 0, i + 1));
    if (i < n && n % 2 == 0)
        swap(v, i++, random_int(r, 0, 2));
    for (; i < n; i += 2) {
        int64_t both = random_int(r, 0, (i + 1) * (i + 2));
        swap(v, i, both / (i + 2));
        swap(v, i + 1, both % (i + 2));
    }
}

static enum skiff_status randperm_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    int64_t n = k->attr[RP_N].i, *order;
    void *memory;
    struct random_source r;
    if (!dtype_is_number(out->dtype))
        return kernel_fail(k, SKIFF_DTYPE, err, "attribute dtype is %d (%s), must be a number type",
                           out->dtype, dtype_name(out->dtype));
    TRY(kernel_scratch(k, (size_t)n * sizeof *order, &memory, err));
    order = memory;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    random_source_init(&r, k, k->attr[RP_SEED].i);
    shuffle(&r, order, n);
    DISPATCH_NUMBER(out->dtype, T, T *o = out->data;
                    for (int64_t i = 0; i < n; i++) o[i] = (T)order[i])
    return SKIFF_OK;
}

/* ---- multinomial ---- */

enum { MU_SAMPLES, MU_REPLACEMENT };

static enum skiff_status multinomial_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim < 1 || s.ndim > 2)
        return infer_fail(c, 0, 0, err, "must have 1 or 2 dimensions");
    if (c->attr[MU_SAMPLES].i < 1)
        return infer_fail(c, 0, 0, err, "num_samples is %d, must be positive",
                          c->attr[MU_SAMPLES].i);
    s.dims[s.ndim - 1] = c->attr[MU_SAMPLES].i;
    return infer_out(c, 0, 0, DTYPE_INT64, &s, err);
}

/* Cumulated probabilities of one row; fails on weights that are no probabilities. */
static enum skiff_status cumulate(const struct kernel *k, const float *p, int64_t n, float *cum,
                                  struct skiff_error *err)
{
    float sum = 0;
    int64_t positive = 0;
    for (int64_t j = 0; j < n; j++) {
        if (!(p[j] >= 0) || isinf(p[j]))
            return kernel_fail(k, SKIFF_RANGE, err, "input X (%s): weight %g of category %lld",
                               kernel_in_name(k, 0, 0), p[j], (long long)j);
        sum += p[j];
        positive += p[j] > 0;
        cum[j] = sum;
    }
    int64_t needed = k->attr[MU_REPLACEMENT].b ? 1 : k->attr[MU_SAMPLES].i;
    if (positive < needed)
        return kernel_fail(k, SKIFF_RANGE, err,
                           "input X (%s): a row has %lld positive weights, %lld are needed",
                           kernel_in_name(k, 0, 0), (long long)positive, (long long)needed);
    for (int64_t j = 0; j < n; j++)
        cum[j] /= sum;
    return SKIFF_OK;
}

static void category_remove(float *cum, int64_t n, int64_t id)
{
    float taken = cum[id] - (id ? cum[id - 1] : 0), rest = 1.0f - taken;
    for (int64_t j = 0; j < n; j++)
        cum[j] = (j >= id ? cum[j] - taken : cum[j]) / rest;
}

static enum skiff_status multinomial_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int64_t n = x->shape.dims[x->shape.ndim - 1], samples = k->attr[MU_SAMPLES].i;
    int64_t rows = shape_rows(&x->shape, x->shape.ndim - 1);
    int64_t *out = tensor_i64(kernel_out(k, 0));
    struct random_source r;
    float *cum;
    random_source_init(&r, k, 0);
    TRY(kernel_floats(k, n, &cum, err));
    for (int64_t i = 0; i < rows; i++) {
        TRY(cumulate(k, tensor_f32(x) + i * n, n, cum, err));
        for (int64_t s = 0; s < samples; s++) {
            float u = random_float(&r);
            int64_t left = 0, right = n;
            while (left < right) {
                int64_t mid = left + (right - left) / 2;
                if (cum[mid] < u)
                    left = mid + 1;
                else
                    right = mid;
            }
            out[i * samples + s] = left < n ? left : n - 1;
            if (!k->attr[MU_REPLACEMENT].b && s + 1 < samples)
                category_remove(cum, n, out[i * samples + s]);
        }
    }
    return SKIFF_OK;
}

/* ---- sampling_id ---- */

enum { SI_MIN, SI_MAX, SI_SEED };

static enum skiff_status sampling_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_rank(c, 0, 2, err));
    struct shape s = {.ndim = 1, .dims = {infer_in(c, 0, 0)->dims[0]}};
    TRY(infer_out(c, 0, 0, DTYPE_INT64, &s, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status sampling_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int64_t rows = x->shape.dims[0], width = x->shape.dims[1];
    float min = k->attr[SI_MIN].f, max = k->attr[SI_MAX].f;
    struct random_source r;
    random_source_init(&r, k, k->attr[SI_SEED].i);
    for (int64_t i = 0; i < rows; i++) {
        float u = random_float(&r) * (max - min) + min;
        int64_t at = 0;
        for (; at < width - 1; at++) {
            u -= tensor_f32(x)[i * width + at];
            if (u < 0)
                break;
        }
        tensor_i64(kernel_out(k, 0))[i] = at;
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot shape_ins[] = {
    {"ShapeTensor", SLOT_OPTIONAL}, {"ShapeTensorList", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot no_ins[] = {{0}};
static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};

static const struct op_attr_spec uniform_attrs[] = {
    A_LONGS("shape"),          A_FLOAT("min", -1.0f), A_FLOAT("max", 1.0f),
    A_INT("seed", 0),          A_INT("diag_num", 0),  A_INT("diag_step", 0),
    A_FLOAT("diag_val", 1.0f), A_INT("dtype", 5),     {0}};
static const struct op_attr_spec gaussian_attrs[] = {A_LONGS("shape"),
                                                     A_FLOAT("mean", 0.0f),
                                                     A_FLOAT("std", 1.0f),
                                                     A_INT("seed", 0),
                                                     A_INT("dtype", 5),
                                                     A_BOOL("use_mkldnn", false),
                                                     {0}};
#define LIKE_DIMS A_INT("input_dim_idx", 0), A_INT("output_dim_idx", 0)
static const struct op_attr_spec uniform_like_attrs[] = {A_REQ("shape", ATTR_INTS),
                                                         A_FLOAT("min", -1.0f),
                                                         A_FLOAT("max", 1.0f),
                                                         A_INT("seed", 0),
                                                         A_INT("diag_num", 0),
                                                         A_INT("diag_step", 0),
                                                         A_FLOAT("diag_val", 1.0f),
                                                         A_INT("dtype", 5),
                                                         LIKE_DIMS,
                                                         {0}};
static const struct op_attr_spec gaussian_like_attrs[] = {A_REQ("shape", ATTR_INTS),
                                                          A_FLOAT("mean", 0.0f),
                                                          A_FLOAT("std", 1.0f),
                                                          A_INT("seed", 0),
                                                          A_INT("dtype", 5),
                                                          LIKE_DIMS,
                                                          {0}};
static const struct op_slot like_ins[] = {{"Input", SLOT_SHAPE_ONLY}, {0}};
static const struct op_attr_spec truncated_attrs[] = {
    A_REQ("shape", ATTR_INTS), A_FLOAT("mean", 0.0f), A_FLOAT("std", 1.0f),
    A_INT("seed", 0),          A_INT("dtype", 5),     {0}};
static const struct op_attr_spec randint_attrs[] = {A_LONGS("shape"),        A_REQ("low", ATTR_INT),
                                                    A_REQ("high", ATTR_INT), A_INT("dtype", 3),
                                                    A_INT("seed", 0),        {0}};
static const struct op_attr_spec randperm_attrs[] = {
    A_REQ("n", ATTR_INT), A_INT("dtype", 3), A_INT("seed", 0), {0}};
static const struct op_attr_spec multinomial_attrs[] = {
    A_INT("num_samples", 1), A_BOOL("replacement", false), {0}};
static const struct op_attr_spec sampling_attrs[] = {
    A_FLOAT("min", 0.0f), A_FLOAT("max", 1.0f), A_INT("seed", 0), {0}};

#define RANDOM_ROW(name, gen, more, in_table, attr_table, rule, kernel)                      \
    {                                                                                        \
        .type = name, .generations = gen, .flags = OP_RANDOM | OP_NO_GRAD_NEEDED | (more),   \
        .ins = in_table, .outs = out_outs, .attrs = attr_table, .infer = rule, .run = kernel \
    }
#define RANDOM_ROWS(name, more, in_table, attr_table, rule, kernel)                   \
    RANDOM_ROW(name, GEN_1X, (more) | OP_MINSTD, in_table, attr_table, rule, kernel), \
        RANDOM_ROW(name, GEN_2X, more, in_table, attr_table, rule, kernel)

const struct op_kind ops_random[] = {
    RANDOM_ROWS("uniform_random", OP_OWN_SHAPE, shape_ins, uniform_attrs, uniform_infer,
                uniform_run),
    RANDOM_ROWS("gaussian_random", OP_OWN_SHAPE, shape_ins, gaussian_attrs, gaussian_infer,
                gaussian_run),
    RANDOM_ROWS("truncated_gaussian_random", OP_OWN_SHAPE, no_ins, truncated_attrs, truncated_infer,
                truncated_run),
    RANDOM_ROWS("randint", OP_OWN_SHAPE, shape_ins, randint_attrs, randint_infer, randint_run),
    RANDOM_ROWS("randperm", 0, no_ins, randperm_attrs, randperm_infer, randperm_run),
    RANDOM_ROW("uniform_random_batch_size_like", GEN_1X, OP_MINSTD, like_ins, uniform_like_attrs,
               uniform_like_infer, uniform_like_run),
    RANDOM_ROW("gaussian_random_batch_size_like", GEN_1X, OP_MINSTD, like_ins, gaussian_like_attrs,
               gaussian_like_infer, gaussian_fill),
    RANDOM_ROW("multinomial", GEN_2X, 0, x_ins, multinomial_attrs, multinomial_infer,
               multinomial_run),
    RANDOM_ROWS("sampling_id", 0, x_ins, sampling_attrs, sampling_infer, sampling_run),
    {0}};
