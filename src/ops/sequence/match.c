/* Matching two ragged texts: pictures of a size of their own for each pair, cut by lods.
 *
 *   match_matrix_tensor        Tmp = X W (W [d, t, d]); for each pair and channel the matrix
 *                              Tmp[:, c, :] Y^T, laid behind each other; rows of Out: one number
 *   sequence_topk_avg_pooling  for each row of a picture (ROW x COLUMN) and channel: the sum of
 *                              its topks[i] largest values over topks[i]; pos: where they were, -1
 *                              where the row has no more
 *   var_conv_2d                convolution with zeros around, each picture by itself: Col holds the
 *                              columns, [InputChannel * KernelH * KernelW, places], Out = W Col;
 *                              W [OutputChannel, InputChannel * KernelH * KernelW] */
#include <float.h>

#include "ops/seq_common.h"
#include "tensor/math.h"

/* ---- pictures: sequence i of X holds channels x height x width numbers ---- */

struct pictures {
    const struct lod_level *at, *rows, *columns; /* offsets of X, heights, widths */
    int64_t n;
};

static int64_t length_at(const struct lod_level *l, int64_t i)
{
    return l->off[i + 1] - l->off[i];
}

enum { P_X, P_ROW, P_COLUMN };

static enum skiff_status pictures_of(const struct kernel *k, int64_t channels, struct pictures *out,
                                     struct skiff_error *err)
{
    TRY(kernel_lod(k, P_X, 0, &out->at, err));
    TRY(kernel_lod(k, P_ROW, 0, &out->rows, err));
    TRY(kernel_lod(k, P_COLUMN, 0, &out->columns, err));
    out->n = out->at->n - 1;
    if (out->rows->n != out->at->n || out->columns->n != out->at->n)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "X (%s), ROW and COLUMN must have as many sequences: %lld, %lld, %lld",
                           kernel_in_name(k, P_X, 0), (long long)out->n,
                           (long long)out->rows->n - 1, (long long)out->columns->n - 1);
    for (int64_t i = 0; i < out->n; i++) {
        int64_t want = channels * length_at(out->rows, i) * length_at(out->columns, i);
        if (length_at(out->at, i) != want)
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "sequence %lld of X (%s) has %lld numbers, expected %lld channels x "
                               "%lld rows x %lld columns",
                               (long long)i, kernel_in_name(k, P_X, 0),
                               (long long)length_at(out->at, i), (long long)channels,
                               (long long)length_at(out->rows, i),
                               (long long)length_at(out->columns, i));
    }
    return kernel_want_floats(k, P_X, out->at->off[out->n], err);
}

static enum skiff_status pictures_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, P_X, 0);
    TRY(infer_want(c, P_X, DTYPE_FP32, err));
    TRY(infer_want_rank(c, P_X, 2, err));
    if (!dims_agree(x->dims[1], 1))
        return infer_fail(c, P_X, 0, err, "must be [numbers, 1]");
    for (int slot = P_X; slot <= P_COLUMN; slot++)
        TRY(infer_want_lod(c, slot, err));
    return SKIFF_OK;
}

/* ---- match_matrix_tensor ---- */

enum { M_X, M_Y, M_W, M_TMP, M_DOUT };
enum { M_DX, M_DY, M_DW };

static enum skiff_status match_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, M_X, 0), *y = infer_in(c, M_Y, 0), *w = infer_in(c, M_W, 0);
    for (int slot = M_X; slot <= M_W; slot++)
        TRY(infer_want(c, slot, DTYPE_FP32, err));
    TRY(infer_want_rank(c, M_X, 2, err));
    TRY(infer_want_rank(c, M_Y, 2, err));
    TRY(infer_want_lod(c, M_X, err));
    TRY(infer_want_lod(c, M_Y, err));
    if (w->ndim != 3 || !dims_agree(w->dims[0], x->dims[1]) ||
        !dims_agree(w->dims[1], c->attr[0].i) || !dims_agree(w->dims[2], y->dims[1]) ||
        !dims_agree(x->dims[1], y->dims[1]))
        return infer_fail(c, M_W, 0, err, "must be [width of X, dim_t %d, width of Y]",
                          c->attr[0].i);
    return SKIFF_OK;
}

static enum skiff_status match_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1, 1);
    TRY(match_check(c, err));
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &s, err));
    infer_lod_level(c, 0, 0, 1);
    return infer_out(c, 1, 0, DTYPE_FP32, &s, err);
}

struct match_matrix {
    const struct lod_level *left, *right;
    int64_t n, width, channels;
};

static enum skiff_status match_of(const struct kernel *k, struct match_matrix *m,
                                  struct skiff_error *err)
{
    TRY(kernel_lod(k, M_X, 0, &m->left, err));
    TRY(kernel_lod(k, M_Y, 0, &m->right, err));
    const struct tensor *x = kernel_in(k, M_X), *w = kernel_in(k, M_W);
    m->n = m->left->n - 1;
    if (m->right->n != m->left->n)
        return kernel_fail(k, SKIFF_SHAPE, err, "X (%s) has %lld sequences, Y (%s) %lld",
                           kernel_in_name(k, M_X, 0), (long long)m->n, kernel_in_name(k, M_Y, 0),
                           (long long)m->right->n - 1);
    if (x->shape.ndim != 2 || w->shape.ndim != 3 || w->shape.dims[0] != x->shape.dims[1] ||
        w->shape.dims[2] != x->shape.dims[1] || kernel_in(k, M_Y)->shape.ndim != 2 ||
        kernel_in(k, M_Y)->shape.dims[1] != x->shape.dims[1])
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Y and W do not fit");
    m->width = x->shape.dims[1];
    m->channels = w->shape.dims[1];
    for (int slot = M_X; slot <= M_W; slot++)
        TRY(kernel_want_floats(k, slot, tensor_numel(kernel_in(k, slot)), err));
    return SKIFF_OK;
}

static enum skiff_status match_run(struct kernel *k, struct skiff_error *err)
{
    struct match_matrix m;
    struct shape s = SHAPE(0, 1), tmp_shape;
    int64_t *off;
    TRY(match_of(k, &m, err));
    int64_t rows = kernel_in(k, M_X)->shape.dims[0], step = m.channels * m.width;
    tmp_shape = SHAPE(rows * step, 1);
    for (int64_t i = 0; i < m.n; i++)
        s.dims[0] += m.channels * length_at(m.left, i) * length_at(m.right, i);
    TRY(kernel_out_resize(k, 0, 0, DTYPE_FP32, &s, err));
    TRY(kernel_out_resize(k, 1, 0, DTYPE_FP32, &tmp_shape, err));
    TRY(kernel_make_lod(kernel_out(k, 0), m.n + 1, &off, err));
    float *out = tensor_f32(kernel_out(k, 0)), *tmp = tensor_f32(kernel_out(k, 1));
    if (rows)
        math_gemm_f32(false, false, rows, step, m.width, 1, kernel_in_f32(k, M_X), m.width,
                      kernel_in_f32(k, M_W), step, 0, tmp, step);
    off[0] = 0;
    for (int64_t i = 0; i < m.n; i++) {
        int64_t l = length_at(m.left, i), r = length_at(m.right, i);
        for (int64_t t = 0; t < m.channels && l && r; t++, out += l * r)
            math_gemm_f32(false, true, l, r, m.width, 1, tmp + m.left->off[i] * step + t * m.width,
                          step, kernel_in_f32(k, M_Y) + m.right->off[i] * m.width, m.width, 0, out,
                          r);
        off[i + 1] = off[i] + m.channels * l * r;
    }
    return SKIFF_OK;
}

static enum skiff_status match_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(match_check(c, err));
    TRY(infer_grad_of(c, M_X, M_DX, err));
    TRY(infer_grad_of(c, M_Y, M_DY, err));
    return infer_like(c, M_W, M_DW, err);
}

/* dTmp of all pairs (dtmp [rows, channels * width], zeroed), and dY where it is wanted. */
static void match_pairs_grad(const struct kernel *k, const struct match_matrix *m, float *dtmp,
                             float *dy)
{
    const float *d = kernel_in_f32(k, M_DOUT);
    int64_t step = m->channels * m->width;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t l = length_at(m->left, i), r = length_at(m->right, i);
        int64_t y = m->right->off[i] * m->width;
        for (int64_t t = 0; t < m->channels && l && r; t++, d += l * r) {
            int64_t x = m->left->off[i] * step + t * m->width;
            math_gemm_f32(false, false, l, m->width, r, 1, d, r, kernel_in_f32(k, M_Y) + y,
                          m->width, 0, dtmp + x, step);
            if (dy)
                math_gemm_f32(true, false, r, m->width, l, 1, d, r, kernel_in_f32(k, M_TMP) + x,
                              step, 1, dy + y, m->width);
        }
    }
}

static enum skiff_status match_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct match_matrix m;
    TRY(match_of(k, &m, err));
    int64_t rows = kernel_in(k, M_X)->shape.dims[0], step = m.channels * m.width, numbers = 0;
    for (int64_t i = 0; i < m.n; i++)
        numbers += m.channels * length_at(m.left, i) * length_at(m.right, i);
    TRY(kernel_want_floats(k, M_TMP, rows * step, err));
    TRY(kernel_want_floats(k, M_DOUT, numbers, err));
    float *dtmp, *dx = kernel_out_f32(k, M_DX), *dy = kernel_out_f32(k, M_DY);
    float *dw = kernel_out_f32(k, M_DW);
    TRY(kernel_floats(k, rows * step, &dtmp, err));
    floats_zero(dtmp, rows * step);
    if (dy)
        tensor_clear(kernel_out(k, M_DY));
    if (dw)
        tensor_clear(kernel_out(k, M_DW));
    match_pairs_grad(k, &m, dtmp, dy);
    if (dx && rows)
        math_gemm_f32(false, true, rows, m.width, step, 1, dtmp, step, kernel_in_f32(k, M_W), step,
                      0, dx, m.width);
    if (dw && rows)
        math_gemm_f32(true, false, m.width, step, rows, 1, kernel_in_f32(k, M_X), m.width, dtmp,
                      step, 0, dw, step);
    return SKIFF_OK;
}

/* ---- sequence_topk_avg_pooling ---- */

enum { T_POS = 3, T_DOUT };
enum { T_TOPKS, T_CHANNELS };

static enum skiff_status topk_check(const struct infer *c, struct skiff_error *err)
{
    const struct attr_value *topks = &c->attr[T_TOPKS];
    TRY(pictures_check(c, err));
    for (int i = 0; i < topks->n; i++)
        if (topks->ints[i] < 1 || (i && topks->ints[i] < topks->ints[i - 1]))
            return infer_fail(c, P_X, 0, err, "topks[%d] is %d; they must be positive and ascend",
                              i, topks->ints[i]);
    if (topks->n < 1 || c->attr[T_CHANNELS].i < 1)
        return infer_fail(c, P_X, 0, err, "%d topks, channel_num %d", topks->n,
                          c->attr[T_CHANNELS].i);
    return SKIFF_OK;
}

static enum skiff_status topk_infer(struct infer *c, struct skiff_error *err)
{
    TRY(topk_check(c, err));
    const struct shape *row = infer_in(c, P_ROW, 0);
    int64_t rows = row->ndim ? row->dims[0] : 0, channels = c->attr[T_CHANNELS].i;
    const struct attr_value *topks = &c->attr[T_TOPKS];
    struct shape s = SHAPE(rows, channels * topks->n);
    struct shape pos =
        c->running ? SHAPE(rows * channels * topks->ints[topks->n - 1]) : (struct shape){0};
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &s, err));
    infer_share_lod(c, P_ROW, 0, 0, 0);
    return infer_out(c, 1, 0, DTYPE_INT32, &pos, err);
}

/* Places of the k largest of n numbers, largest first, the earlier of equal ones first. */
static void largest(const float *x, int64_t n, int k, int32_t *pos)
{
    for (int i = 0; i < k; i++) {
        pos[i] = -1;
        for (int64_t j = 0; j < n; j++) {
            bool taken = false;
            for (int p = 0; p < i && !taken; p++)
                taken = pos[p] == j;
            if (!taken && x[j] > -FLT_MAX && (pos[i] < 0 || x[j] > x[pos[i]]))
                pos[i] = (int32_t)j;
        }
    }
}

static enum skiff_status topk_run(struct kernel *k, struct skiff_error *err)
{
    const struct attr_value *topks = &k->attr[T_TOPKS];
    int64_t channels = k->attr[T_CHANNELS].i;
    int most = topks->ints[topks->n - 1];
    struct pictures p;
    TRY(pictures_of(k, channels, &p, err));
    float *out = tensor_f32(kernel_out(k, 0));
    int32_t *pos = tensor_i32(kernel_out(k, 1));
    for (int64_t i = 0; i < p.n; i++) {
        int64_t h = length_at(p.rows, i), w = length_at(p.columns, i);
        for (int64_t r = 0; r < h; r++)
            for (int64_t c = 0; c < channels; c++, pos += most) {
                const float *row = kernel_in_f32(k, P_X) + p.at->off[i] + (c * h + r) * w;
                float sum = 0;
                largest(row, w, most, pos);
                for (int t = 0, j = 0; t < topks->n; t++) {
                    for (; j < topks->ints[t]; j++)
                        sum += pos[j] < 0 ? 0 : row[pos[j]];
                    *out++ = sum / (float)topks->ints[t];
                }
            }
    }
    return SKIFF_OK;
}

static enum skiff_status topk_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(topk_check(c, err));
    return infer_grad_of(c, P_X, 0, err);
}

static enum skiff_status topk_grad_check(struct kernel *k, const struct pictures *p, int most,
                                         struct skiff_error *err)
{
    int64_t rows = p->rows->off[p->n] * k->attr[T_CHANNELS].i;
    const struct tensor *pos = kernel_in(k, T_POS);
    TRY(kernel_want_floats(k, T_DOUT, rows * k->attr[T_TOPKS].n, err));
    if (pos->dtype != DTYPE_INT32 || tensor_numel(pos) != rows * most)
        return kernel_fail(k, SKIFF_SHAPE, err, "pos (%s) must hold %lld int32",
                           kernel_in_name(k, T_POS, 0), (long long)(rows * most));
    for (int64_t i = 0, at = 0; i < p->n; i++)
        for (int64_t n = length_at(p->rows, i) * k->attr[T_CHANNELS].i * most; n > 0; n--, at++)
            if (tensor_i32(pos)[at] >= length_at(p->columns, i))
                return kernel_bad_index(k, T_POS, at, tensor_i32(pos)[at], length_at(p->columns, i),
                                        "columns", err);
    return SKIFF_OK;
}

static enum skiff_status topk_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct attr_value *topks = &k->attr[T_TOPKS];
    int64_t channels = k->attr[T_CHANNELS].i;
    int most = topks->ints[topks->n - 1];
    struct pictures p;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(pictures_of(k, channels, &p, err));
    TRY(topk_grad_check(k, &p, most, err));
    const int32_t *pos = tensor_i32(kernel_in(k, T_POS));
    const float *d = kernel_in_f32(k, T_DOUT);
    tensor_clear(kernel_out(k, 0));
    for (int64_t i = 0; i < p.n; i++) {
        int64_t h = length_at(p.rows, i), w = length_at(p.columns, i);
        for (int64_t r = 0; r < h; r++)
            for (int64_t c = 0; c < channels; c++, pos += most, d += topks->n) {
                float *row = tensor_f32(kernel_out(k, 0)) + p.at->off[i] + (c * h + r) * w;
                for (int t = 0; t < topks->n; t++)
                    for (int j = 0; j < topks->ints[t] && pos[j] >= 0; j++)
                        row[pos[j]] += d[t] / (float)topks->ints[t];
            }
    }
    return SKIFF_OK;
}

/* ---- var_conv_2d ---- */

enum { V_W = 3, V_COL, V_OUT, V_DOUT };
enum { V_IN, V_OUT_CHANNELS, V_STRIDE_H, V_STRIDE_W, V_KERNEL_H, V_KERNEL_W };
enum { V_DX, V_DW };

static enum skiff_status conv_check(const struct infer *c, struct skiff_error *err)
{
    const struct shape *w = infer_in(c, V_W, 0);
    TRY(pictures_check(c, err));
    TRY(infer_want(c, V_W, DTYPE_FP32, err));
    int64_t rows = 1;
    for (int i = V_IN; i <= V_KERNEL_W; i++) {
        if (c->attr[i].i < 1)
            return infer_fail(c, V_W, 0, err, "attribute %s is %d, must be positive",
                              c->kind->attrs[i].name, c->attr[i].i);
        if (i == V_IN || i >= V_KERNEL_H)
            rows *= c->attr[i].i;
    }
    if (w->ndim != 2 || !dims_agree(w->dims[0], c->attr[V_OUT_CHANNELS].i) ||
        !dims_agree(w->dims[1], rows))
        return infer_fail(c, V_W, 0, err, "must be [OutputChannel %d, %lld]",
                          c->attr[V_OUT_CHANNELS].i, (long long)rows);
    return SKIFF_OK;
}

static enum skiff_status conv_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(-1, 1);
    TRY(conv_check(c, err));
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &s, err));
    return infer_out(c, 1, 0, DTYPE_FP32, &s, err);
}

/* One picture: sizes before and after. */
struct picture {
    int64_t h, w, oh, ow, positions;
};

static struct picture picture_at(const struct attr_value *attr, const struct pictures *p, int64_t i)
{
    struct picture s = {length_at(p->rows, i), length_at(p->columns, i), 0, 0, 0};
    s.oh = s.h ? (s.h - 1) / attr[V_STRIDE_H].i + 1 : 0;
    s.ow = s.w ? (s.w - 1) / attr[V_STRIDE_W].i + 1 : 0;
    s.positions = s.oh * s.ow;
    return s;
}

/* Element of the picture that row `row` of the columns has at position `at`; -1: beyond the
 * edge. */
static int64_t column_source(const struct attr_value *attr, const struct picture *s, int64_t row,
                             int64_t at)
{
    int64_t kh = attr[V_KERNEL_H].i, kw = attr[V_KERNEL_W].i;
    int64_t channel = row / (kh * kw), ky = row / kw % kh, kx = row % kw;
    int64_t y = at / s->ow * attr[V_STRIDE_H].i + ky - kh / 2;
    int64_t x = at % s->ow * attr[V_STRIDE_W].i + kx - kw / 2;
    if (y < 0 || y >= s->h || x < 0 || x >= s->w)
        return -1;
    return (channel * s->h + y) * s->w + x;
}

static int64_t column_rows(const struct attr_value *attr)
{
    return (int64_t)attr[V_IN].i * attr[V_KERNEL_H].i * attr[V_KERNEL_W].i;
}

static int64_t all_positions(const struct attr_value *attr, const struct pictures *p)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++)
        n += picture_at(attr, p, i).positions;
    return n;
}

static enum skiff_status conv_lods(struct kernel *k, const struct pictures *p,
                                   struct skiff_error *err)
{
    int64_t *out, *col, rows = column_rows(k->attr), channels = k->attr[V_OUT_CHANNELS].i;
    TRY(kernel_make_lod(kernel_out(k, 0), p->n + 1, &out, err));
    TRY(kernel_make_lod(kernel_out(k, 1), p->n + 1, &col, err));
    out[0] = col[0] = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t positions = picture_at(k->attr, p, i).positions;
        out[i + 1] = out[i] + channels * positions;
        col[i + 1] = col[i] + rows * positions;
    }
    return SKIFF_OK;
}

static enum skiff_status conv_pictures(const struct kernel *k, struct pictures *p,
                                       struct skiff_error *err)
{
    for (int i = V_IN; i <= V_KERNEL_W; i++)
        if (k->attr[i].i < 1)
            return kernel_fail(k, SKIFF_RANGE, err, "attribute %s is %d, must be positive",
                               k->kind->attrs[i].name, k->attr[i].i);
    TRY(kernel_want_floats(k, V_W, column_rows(k->attr) * k->attr[V_OUT_CHANNELS].i, err));
    return pictures_of(k, k->attr[V_IN].i, p, err);
}

static enum skiff_status conv_run(struct kernel *k, struct skiff_error *err)
{
    struct pictures p;
    TRY(conv_pictures(k, &p, err));
    int64_t rows = column_rows(k->attr), channels = k->attr[V_OUT_CHANNELS].i;
    int64_t positions = all_positions(k->attr, &p);
    struct shape out_shape = SHAPE(positions * channels, 1), col_shape = SHAPE(positions * rows, 1);
    TRY(kernel_out_resize(k, 0, 0, DTYPE_FP32, &out_shape, err));
    TRY(kernel_out_resize(k, 1, 0, DTYPE_FP32, &col_shape, err));
    TRY(conv_lods(k, &p, err));
    float *out = tensor_f32(kernel_out(k, 0)), *col = tensor_f32(kernel_out(k, 1));
    for (int64_t i = 0; i < p.n; i++) {
        struct picture s = picture_at(k->attr, &p, i);
        const float *x = kernel_in_f32(k, P_X) + p.at->off[i];
        for (int64_t r = 0; r < rows; r++)
            for (int64_t at = 0; at < s.positions; at++) {
                int64_t from = column_source(k->attr, &s, r, at);
                col[r * s.positions + at] = from < 0 ? 0 : x[from];
            }
        if (s.positions)
            math_gemm_f32(false, false, channels, s.positions, rows, 1, kernel_in_f32(k, V_W), rows,
                          col, s.positions, 0, out, s.positions);
        out += channels * s.positions;
        col += rows * s.positions;
    }
    return SKIFF_OK;
}

static enum skiff_status conv_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(conv_check(c, err));
    TRY(infer_grad_of(c, P_X, V_DX, err));
    return infer_like(c, V_W, V_DW, err);
}

static enum skiff_status conv_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct pictures p;
    TRY(conv_pictures(k, &p, err));
    int64_t rows = column_rows(k->attr), channels = k->attr[V_OUT_CHANNELS].i;
    int64_t positions = all_positions(k->attr, &p);
    TRY(kernel_want_floats(k, V_COL, positions * rows, err));
    TRY(kernel_want_floats(k, V_DOUT, positions * channels, err));
    const float *d = kernel_in_f32(k, V_DOUT), *col = kernel_in_f32(k, V_COL);
    float *dcol, *dx = kernel_out_f32(k, V_DX), *dw = kernel_out_f32(k, V_DW);
    TRY(kernel_floats(k, positions * rows, &dcol, err));
    if (dx)
        tensor_clear(kernel_out(k, V_DX));
    if (dw)
        tensor_clear(kernel_out(k, V_DW));
    for (int64_t i = 0; i < p.n; i++) {
        struct picture s = picture_at(k->attr, &p, i);
        if (s.positions && dw)
            math_gemm_f32(false, true, channels, rows, s.positions, 1, d, s.positions, col,
                          s.positions, 1, dw, rows);
        if (s.positions && dx)
            math_gemm_f32(true, false, rows, s.positions, channels, 1, kernel_in_f32(k, V_W), rows,
                          d, s.positions, 0, dcol, s.positions);
        for (int64_t r = 0; r < rows && dx; r++)
            for (int64_t at = 0; at < s.positions; at++) {
                int64_t to = column_source(k->attr, &s, r, at);
                if (to >= 0)
                    dx[p.at->off[i] + to] += dcol[r * s.positions + at];
            }
        d += channels * s.positions;
        col += rows * s.positions;
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

#define PICTURES                        \
    {"X", 0}, {"ROW", SLOT_SHAPE_ONLY}, \
    {                                   \
        "COLUMN", SLOT_SHAPE_ONLY       \
    }
static const struct op_slot match_ins[] = {{"X", 0}, {"Y", 0}, {"W", 0}, {0}};
static const struct op_slot match_outs[] = {{"Out", 0}, {"Tmp", 0}, {0}};
static const struct op_slot match_grad_ins[] = {{"X", 0},   {"Y", 0},        {"W", 0},
                                                {"Tmp", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot match_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"Y@GRAD", SLOT_OPTIONAL}, {"W@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec match_attrs[] = {A_INT("dim_t", 1), {0}};
static const struct op_slot topk_ins[] = {PICTURES, {0}};
static const struct op_slot topk_outs[] = {{"Out", 0}, {"pos", 0}, {0}};
static const struct op_slot topk_grad_ins[] = {PICTURES, {"pos", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec topk_attrs[] = {A_INTS("topks"), A_INT("channel_num", 1), {0}};
static const struct op_slot conv_ins[] = {PICTURES, {"W", 0}, {0}};
static const struct op_slot conv_outs[] = {{"Out", 0}, {"Col", 0}, {0}};
static const struct op_slot conv_grad_ins[] = {
    PICTURES, {"W", 0}, {"Col", 0}, {"Out", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot conv_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"W@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec conv_attrs[] = {A_INT("InputChannel", 1),
                                                 A_INT("OutputChannel", 1),
                                                 A_INT("StrideH", 1),
                                                 A_INT("StrideW", 1),
                                                 A_INT("KernelH", 1),
                                                 A_INT("KernelW", 1),
                                                 {0}};

const struct op_kind ops_match[] = {{.type = "match_matrix_tensor",
                                     .flags = OP_OWN_SHAPE,
                                     .ins = match_ins,
                                     .outs = match_outs,
                                     .attrs = match_attrs,
                                     .grad = "X Y W Tmp Out@GRAD -> X@GRAD Y@GRAD W@GRAD",
                                     .infer = match_infer,
                                     .run = match_run},
                                    {.type = "match_matrix_tensor_grad",
                                     .ins = match_grad_ins,
                                     .outs = match_grad_outs,
                                     .attrs = match_attrs,
                                     .infer = match_grad_infer,
                                     .run = match_grad_run},
                                    {.type = "sequence_topk_avg_pooling",
                                     .ins = topk_ins,
                                     .outs = topk_outs,
                                     .attrs = topk_attrs,
                                     .grad = "X ROW COLUMN pos Out@GRAD -> X@GRAD",
                                     .infer = topk_infer,
                                     .run = topk_run},
                                    {.type = "sequence_topk_avg_pooling_grad",
                                     .ins = topk_grad_ins,
                                     .outs = x_grad_outs,
                                     .attrs = topk_attrs,
                                     .infer = topk_grad_infer,
                                     .run = topk_grad_run},
                                    {.type = "var_conv_2d",
                                     .flags = OP_OWN_SHAPE,
                                     .ins = conv_ins,
                                     .outs = conv_outs,
                                     .attrs = conv_attrs,
                                     .grad = "X W ROW COLUMN Col Out Out@GRAD -> X@GRAD W@GRAD",
                                     .infer = conv_infer,
                                     .run = conv_run},
                                    {.type = "var_conv_2d_grad",
                                     .ins = conv_grad_ins,
                                     .outs = conv_grad_outs,
                                     .attrs = conv_attrs,
                                     .infer = conv_grad_infer,
                                     .run = conv_grad_run},
                                    {0}};
