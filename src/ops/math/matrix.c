/* Square matrices, in batches [.., n, n] (2.x), computed in double.
 *
 *   op                Out                              gradient
 *   inverse           Y = X^-1                         dX = -Y^T dY Y^T
 *   determinant       det X                            dX = dOut det(X) X^-T
 *   slogdeterminant   [sign det X, log |det X|]        dX = dOut[1] X^-T
 *   solve             X^-1 Y                           dY = X^-T dOut, dX = -dY Out^T
 *   triangular_solve  the same with a triangle of X    the same, its triangle of dX
 *   cholesky          L with L L^T = X (upper: L^T)    dX = S + S^T, halved: L^-T P(L^T dL) L^-1, P
 *                                                      the lower triangle with half the diagonal
 *
 * Rows are eliminated with partial pivoting. A singular matrix gives infinities and NaN, as in
 * Paddle. solve and triangular_solve want equal batch dims, or a single matrix for all. */
#include "ops/seq_common.h"

#include <math.h>

enum { X, Y };

/* op_kind.arg */
enum { LOGS = 1 };       /* slogdeterminant */
enum { TRIANGULAR = 1 }; /* triangular_solve */

/* ---- one matrix ---- */

static void load(const struct tensor *t, int64_t at, int64_t n, double *to)
{
    DISPATCH_FLOAT(t->dtype, T,
                   for (int64_t i = 0; i < n; i++) to[i] = (double)((const T *)t->data)[at + i])
}
static void store(const double *from, int64_t n, struct tensor *t, int64_t at)
{
    DISPATCH_FLOAT(t->dtype, T, for (int64_t i = 0; i < n; i++)((T *)t->data)[at + i] = (T)from[i])
}

static void swap_rows(double *a, int64_t cols, int64_t r, int64_t s)
{
    for (int64_t j = 0; j < cols && r != s; j++) {
        double t = a[r * cols + j];
        a[r * cols + j] = a[s * cols + j];
        a[s * cols + j] = t;
    }
}

/* a[n, n] becomes triangular, b[n, m] follows. The sign of the row order. */
static double eliminate(double *a, int64_t n, double *b, int64_t m)
{
    double sign = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t best = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(a[r * n + c]) > fabs(a[best * n + c]))
                best = r;
        swap_rows(a, n, c, best);
        swap_rows(b, m, c, best);
        sign = best == c ? sign : -sign;
        for (int64_t r = c + 1; r < n && a[c * n + c] != 0; r++) {
            double f = a[r * n + c] / a[c * n + c];
            for (int64_t j = c; j < n; j++)
                a[r * n + j] -= f * a[c * n + j];
            for (int64_t j = 0; j < m; j++)
                b[r * m + j] -= f * b[c * m + j];
        }
    }
    return sign;
}

/* b = a^-1 b for a triangular a. */
static void substitute(const double *a, int64_t n, bool upper, bool unit, double *b, int64_t m)
{
    for (int64_t step = 0; step < n; step++) {
        int64_t r = upper ? n - 1 - step : step, from = upper ? r + 1 : 0, to = upper ? n : r;
        for (int64_t j = 0; j < m; j++) {
            double sum = b[r * m + j];
            for (int64_t c = from; c < to; c++)
                sum -= a[r * n + c] * b[c * m + j];
            b[r * m + j] = unit ? sum : sum / a[r * n + r];
        }
    }
}

static void solve_one(double *a, int64_t n, double *b, int64_t m)
{
    eliminate(a, n, b, m);
    substitute(a, n, true, false, b, m);
}

static void transpose_square(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double t = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = t;
        }
}

static void identity(double *a, int64_t n)
{
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        a[i * n + i] = 1;
}

/* out[n, m] = a[n, k] b[k, m], either one taken transposed */
static void multiply(const double *a, bool ta, const double *b, bool tb, int64_t n, int64_t k,
                     int64_t m, double *out)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t s = 0; s < k; s++)
                sum += (ta ? a[s * n + i] : a[i * k + s]) * (tb ? b[j * k + s] : b[s * m + j]);
            out[i * m + j] = sum;
        }
}

/* ---- batches ---- */

static enum skiff_status square_infer(const struct infer *c, struct skiff_error *err)
{
    const struct shape *s = infer_in(c, X, 0);
    TRY(infer_want_float(c, X, err));
    if (s->ndim < 2 || dims_conflict(s->dims[s->ndim - 1], s->dims[s->ndim - 2]))
        return infer_fail(c, X, 0, err, "input %s must hold square matrices", c->kind->ins[X].name);
    return SKIFF_OK;
}

static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    TRY(square_infer(c, err));
    return infer_like(c, X, 0, err);
}

/* Size and number of the matrices of input X, and scratch for `count` of them in double. */
static enum skiff_status batch(struct kernel *k, int count, int64_t *n, int64_t *matrices,
                               double **capacity, struct skiff_error *err)
{
    const struct shape *s = &kernel_in(k, X)->shape;
    *n = s->dims[s->ndim - 1];
    *matrices = shape_rows(s, s->ndim - 2);
    void *p;
    TRY(kernel_scratch(k, (size_t)(*n * *n * count) * sizeof(double) + 1, &p, err));
    *capacity = p;
    return SKIFF_OK;
}

static enum skiff_status inverse_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n, matrices;
    double *a;
    TRY(batch(k, 2, &n, &matrices, &a, err));
    for (int64_t i = 0; i < matrices; i++) {
        load(kernel_in(k, X), i * n * n, n * n, a);
        identity(a + n * n, n);
        solve_one(a, n, a + n * n, n);
        store(a + n * n, n * n, kernel_out(k, 0), i * n * n);
    }
    return SKIFF_OK;
}

/* inputs: Output, Output@GRAD */
static enum skiff_status inverse_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n, matrices;
    double *y;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(kernel_want_elements(k, 1, kernel_in(k, X)->dtype, tensor_numel(kernel_in(k, X)), err));
    TRY(batch(k, 3, &n, &matrices, &y, err));
    for (int64_t i = 0; i < matrices; i++) {
        double *d = y + n * n, *t = d + n * n;
        load(kernel_in(k, X), i * n * n, n * n, y);
        load(kernel_in(k, 1), i * n * n, n * n, d);
        multiply(y, true, d, false, n, n, n, t);
        multiply(t, false, y, true, n, n, n, d);
        for (int64_t j = 0; j < n * n; j++)
            d[j] = -d[j];
        store(d, n * n, kernel_out(k, 0), i * n * n);
    }
    return SKIFF_OK;
}

/* ---- determinants ---- */

/* Paddle gives the input's shape while building. */
static enum skiff_status det_infer(struct infer *c, struct skiff_error *err)
{
    TRY(square_infer(c, err));
    if (!c->running)
        return infer_like(c, X, 0, err);
    struct shape s = *infer_in(c, X, 0);
    s.ndim -= 2;
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

static enum skiff_status slogdet_infer(struct infer *c, struct skiff_error *err)
{
    TRY(square_infer(c, err));
    if (!c->running)
        return infer_like(c, X, 0, err);
    const struct shape *x = infer_in(c, X, 0);
    struct shape s = {.ndim = x->ndim - 1, .dims = {2}};
    for (int i = 0; i < x->ndim - 2; i++)
        s.dims[i + 1] = x->dims[i];
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

static enum skiff_status det_run(struct kernel *k, struct skiff_error *err)
{
    bool logs = k->kind->arg == LOGS;
    int64_t n, matrices;
    double *a;
    TRY(batch(k, 1, &n, &matrices, &a, err));
    for (int64_t i = 0; i < matrices; i++) {
        load(kernel_in(k, X), i * n * n, n * n, a);
        double sign = eliminate(a, n, NULL, 0), det = sign, sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double d = a[j * n + j];
            det *= d;
            sum += log(fabs(d));
            sign = d < 0 ? -sign : d == 0 ? 0 : sign;
        }
        store(logs ? &sign : &det, 1, kernel_out(k, 0), i);
        if (logs)
            store(&sum, 1, kernel_out(k, 0), matrices + i);
    }
    return SKIFF_OK;
}

/* inputs: Input, Out, Out@GRAD */
static enum skiff_status det_grad_run(struct kernel *k, struct skiff_error *err)
{
    bool logs = k->kind->arg == LOGS;
    const struct tensor *x = kernel_in(k, X), *out = kernel_in(k, 1), *dout = kernel_in(k, 2);
    int64_t n, matrices;
    double *a;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(batch(k, 2, &n, &matrices, &a, err));
    for (int slot = 1; slot <= 2; slot++)
        TRY(kernel_want_elements(k, slot, x->dtype, matrices * (logs ? 2 : 1), err));
    for (int64_t i = 0; i < matrices; i++) {
        double *inv = a + n * n, d = 0, det = 1;
        load(x, i * n * n, n * n, a);
        identity(inv, n);
        solve_one(a, n, inv, n);
        transpose_square(inv, n);
        load(dout, logs ? matrices + i : i, 1, &d);
        if (!logs)
            load(out, i, 1, &det);
        for (int64_t j = 0; j < n * n; j++)
            inv[j] *= d * det;
        store(inv, n * n, kernel_out(k, 0), i * n * n);
    }
    return SKIFF_OK;
}

/* ---- cholesky ---- */

static enum skiff_status cholesky_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n, matrices;
    double *a;
    TRY(batch(k, 1, &n, &matrices, &a, err));
    for (int64_t i = 0; i < matrices; i++) {
        load(kernel_in(k, X), i * n * n, n * n, a);
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < n; c++) {
                double sum = a[r * n + c];
                for (int64_t j = 0; j < c && c <= r; j++)
                    sum -= a[r * n + j] * a[c * n + j];
                if (r == c && !(sum > 0))
                    return kernel_fail(k, SKIFF_INVALID, err,
                                       "matrix %lld is not positive definite", (long long)i);
                a[r * n + c] = c > r ? 0 : r == c ? sqrt(sum) : sum / a[c * n + c];
            }
        if (k->attr[0].b)
            transpose_square(a, n);
        store(a, n * n, kernel_out(k, 0), i * n * n);
    }
    return SKIFF_OK;
}

/* The lower triangle with half the diagonal, then L^-T . L^-1, and half of it with its mirror. */
static void cholesky_back(double *l, double *d, double *t, int64_t n)
{
    multiply(l, true, d, false, n, n, n, t);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = r; c < n; c++)
            t[r * n + c] *= r == c ? 0.5 : 0;
    transpose_square(l, n);
    substitute(l, n, true, false, t, n);
    transpose_square(t, n);
    substitute(l, n, true, false, t, n);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++)
            d[r * n + c] = 0.5 * (t[r * n + c] + t[c * n + r]);
}

/* inputs: Out, Out@GRAD */
static enum skiff_status cholesky_grad_run(struct kernel *k, struct skiff_error *err)
{
    int64_t n, matrices;
    double *l;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(kernel_want_elements(k, 1, kernel_in(k, X)->dtype, tensor_numel(kernel_in(k, X)), err));
    TRY(batch(k, 3, &n, &matrices, &l, err));
    for (int64_t i = 0; i < matrices; i++) {
        double *d = l + n * n;
        load(kernel_in(k, X), i * n * n, n * n, l);
        load(kernel_in(k, 1), i * n * n, n * n, d);
        if (k->attr[0].b) {
            transpose_square(l, n);
            transpose_square(d, n);
        }
        cholesky_back(l, d, d + n * n, n);
        store(d, n * n, kernel_out(k, 0), i * n * n);
    }
    return SKIFF_OK;
}

/* ---- solve, triangular_solve ---- */

enum { T_UPPER, T_TRANSPOSE, T_UNIT };
enum { SG_X, SG_Y, SG_OUT, SG_DOUT };

/* Matrices of both, how far apart, and columns of Y: a vector [.., n] has one. */
struct system {
    int64_t n, m, matrices, x_step, y_step;
};

static bool system_of(const struct shape *x, const struct shape *y, struct system *s)
{
    bool vector = y->ndim == 1 || y->ndim + 1 == x->ndim;
    int rows = y->ndim - (vector ? 1 : 2), xb = x->ndim - 2;
    if (rows < 0 || dims_conflict(y->dims[rows], x->dims[xb]))
        return false;
    for (int i = 0; i < xb && i < rows; i++)
        if (dims_conflict(x->dims[xb - 1 - i], y->dims[rows - 1 - i]))
            return false;
    if (xb > 0 && rows > 0 && xb != rows)
        return false;
    *s = (struct system){x->dims[xb], vector ? 1 : y->dims[y->ndim - 1], 1, 0, 0};
    s->x_step = xb ? s->n * s->n : 0;
    s->y_step = rows ? s->n * s->m : 0;
    s->matrices = rows ? shape_rows(y, rows) : shape_rows(x, xb);
    return true;
}

static enum skiff_status solve_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0), *y = infer_in(c, Y, 0);
    struct system s;
    TRY(square_infer(c, err));
    TRY(infer_want(c, Y, infer_in_dtype(c, X, 0), err));
    if (!system_of(x, y, &s))
        return infer_fail(c, X, 0, err,
                          "inputs %s and %s do not fit: the rows of %s and "
                          "the batch dims must be those of %s",
                          c->kind->ins[X].name, c->kind->ins[Y].name, c->kind->ins[Y].name,
                          c->kind->ins[X].name);
    struct shape out = *y;
    if (!s.y_step && s.x_step) {
        out = *x;
        if (y->ndim == 1)
            out.ndim--;
        else
            out.dims[out.ndim - 1] = s.m;
    }
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

/* b = op(a)^-1 b, where `turned` solves with the transposed matrix. */
static void solve_kind(const struct kernel *k, bool turned, double *a, const struct system *s,
                       double *b)
{
    bool triangular = k->kind->arg == TRIANGULAR;
    if (triangular)
        turned ^= k->attr[T_TRANSPOSE].b;
    if (turned)
        transpose_square(a, s->n);
    if (triangular)
        substitute(a, s->n, k->attr[T_UPPER].b ^ turned, k->attr[T_UNIT].b, b, s->m);
    else
        solve_one(a, s->n, b, s->m);
}

static enum skiff_status system_space(struct kernel *k, struct system *s, double **a,
                                      struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    void *p;
    if (x->shape.ndim < 2 || !system_of(&x->shape, &y->shape, s))
        return kernel_fail(k, SKIFF_SHAPE, err, "the inputs do not fit");
    TRY(kernel_scratch(k, (size_t)(2 * s->n * s->n + 2 * s->n * s->m) * sizeof(double) + 1, &p,
                       err));
    *a = p;
    return SKIFF_OK;
}

static enum skiff_status solve_run(struct kernel *k, struct skiff_error *err)
{
    struct system s;
    double *a;
    TRY(system_space(k, &s, &a, err));
    double *b = a + s.n * s.n;
    for (int64_t i = 0; i < s.matrices; i++) {
        load(kernel_in(k, X), i * s.x_step, s.n * s.n, a);
        load(kernel_in(k, Y), i * s.y_step, s.n * s.m, b);
        solve_kind(k, false, a, &s, b);
        store(b, s.n * s.m, kernel_out(k, 0), i * s.n * s.m);
    }
    return SKIFF_OK;
}

static void add_to(struct tensor *t, int64_t at, int64_t n, const double *from)
{
    DISPATCH_FLOAT(t->dtype, T, for (int64_t i = 0; i < n; i++)((T *)t->data)[at + i] += (T)from[i])
}

/* dX of one system: -dY Out^T, or its transpose; of triangles only the triangle. */
static void matrix_slope(const struct kernel *k, const struct system *s, const double *dy,
                         const double *out, double *dx)
{
    bool triangular = k->kind->arg == TRIANGULAR;
    bool turned = triangular && k->attr[T_TRANSPOSE].b;
    multiply(turned ? out : dy, false, turned ? dy : out, true, s->n, s->m, s->n, dx);
    for (int64_t r = 0; r < s->n; r++)
        for (int64_t c = 0; c < s->n; c++) {
            bool kept = !triangular || (k->attr[T_UPPER].b ? c > r : c < r) ||
                        (r == c && !k->attr[T_UNIT].b);
            dx[r * s->n + c] *= kept ? -1 : 0;
        }
}

static enum skiff_status solve_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0), *dy = kernel_out(k, 1);
    struct system s;
    double *a;
    TRY(system_space(k, &s, &a, err));
    for (int slot = SG_OUT; slot <= SG_DOUT; slot++)
        TRY(kernel_want_elements(k, slot, kernel_in(k, X)->dtype, s.matrices * s.n * s.m, err));
    if (dx)
        tensor_clear(dx);
    if (dy)
        tensor_clear(dy);
    for (int64_t i = 0; i < s.matrices; i++) {
        double *slope = a + s.n * s.n, *b = slope + s.n * s.n, *out = b + s.n * s.m;
        load(kernel_in(k, SG_X), i * s.x_step, s.n * s.n, a);
        load(kernel_in(k, SG_DOUT), i * s.n * s.m, s.n * s.m, b);
        load(kernel_in(k, SG_OUT), i * s.n * s.m, s.n * s.m, out);
        solve_kind(k, true, a, &s, b);
        if (dy)
            add_to(dy, i * s.y_step, s.n * s.m, b);
        if (!dx)
            continue;
        matrix_slope(k, &s, b, out, slope);
        add_to(dx, i * s.x_step, s.n * s.n, slope);
    }
    return SKIFF_OK;
}
static enum skiff_status solve_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(square_infer(c, err));
    for (int slot = SG_Y; slot <= SG_DOUT; slot++)
        TRY(infer_want(c, slot, infer_in_dtype(c, X, 0), err));
    TRY(infer_grad_of(c, X, 0, err));
    return infer_grad_of(c, Y, 1, err);
}

/* ---- tables ---- */

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot input_in[] = {{"Input", 0}, {0}};
static const struct op_slot xy_in[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot output_out[] = {{"Output", 0}, {0}};
static const struct op_slot inverse_grad_in[] = {{"Output", 0}, {"Output@GRAD", 0}, {0}};
static const struct op_slot cholesky_grad_in[] = {{"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot det_grad_in[] = {{"Input", 0}, {"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot solve_grad_in[] = {
    {"X", 0}, {"Y", SLOT_SHAPE_ONLY}, {"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot dinput_out[] = {{"Input@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot dxy_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {"Y@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec upper[] = {A_BOOL("upper", false), {0}};
static const struct op_attr_spec triangle[] = {
    A_BOOL("upper", true), A_BOOL("transpose", false), A_BOOL("unitriangular", false), {0}};

#define KIND(t, in, out, a, rule, fn, ...)                                                   \
    {                                                                                        \
        .type = t, .generations = GEN_2X, .ins = in, .outs = out, .attrs = a, .infer = rule, \
        .run = fn, __VA_ARGS__                                                               \
    }

const struct op_kind ops_matrix[] = {
    KIND("inverse", input_in, output_out, none, same_infer, inverse_run,
         .grad = "Output Output@GRAD -> Input@GRAD"),
    KIND("inverse_grad", inverse_grad_in, dinput_out, none, same_infer, inverse_grad_run, ),
    KIND("determinant", input_in, out_out, none, det_infer, det_run,
         .grad = "Input Out Out@GRAD -> Input@GRAD"),
    KIND("determinant_grad", det_grad_in, dinput_out, none, same_infer, det_grad_run, ),
    KIND("slogdeterminant", input_in, out_out, none, slogdet_infer, det_run, .arg = LOGS,
         .grad = "Input Out Out@GRAD -> Input@GRAD"),
    KIND("slogdeterminant_grad", det_grad_in, dinput_out, none, same_infer, det_grad_run,
         .arg = LOGS),
    KIND("cholesky", x_in, out_out, upper, same_infer, cholesky_run,
         .grad = "Out Out@GRAD -> X@GRAD"),
    KIND("cholesky_grad", cholesky_grad_in, dx_out, upper, same_infer, cholesky_grad_run, ),
    KIND("solve", xy_in, out_out, none, solve_infer, solve_run,
         .grad = "X Y Out Out@GRAD -> X@GRAD Y@GRAD"),
    KIND("solve_grad", solve_grad_in, dxy_out, none, solve_grad_infer, solve_grad_run, ),
    KIND("triangular_solve", xy_in, out_out, triangle, solve_infer, solve_run, .arg = TRIANGULAR,
         .grad = "X Y Out Out@GRAD -> X@GRAD Y@GRAD"),
    KIND("triangular_solve_grad", solve_grad_in, dxy_out, triangle, solve_grad_infer,
         solve_grad_run, .arg = TRIANGULAR),
    {0},
};
