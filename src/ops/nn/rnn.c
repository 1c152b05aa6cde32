/* rnn (2.x): layers of GRU, LSTM or simple cells over Input [T, B, I], one or two directions.
 *
 *   GRU   r = s(x Wr + h Ur), z = s(x Wz + h Uz), n = tanh(x Wn + r (h Un)), h' = z h + (1 - z) n
 *   LSTM  i, f, o = s(.), g = tanh(.) in the order i f g o; c' = f c + i g, h' = o tanh(c')
 *   RNN_TANH, RNN_RELU  h' = act(x W + h U)
 * The biases b_ih and b_hh are added to the terms x W and h U.
 *
 * WeightList: W_ih, W_hh of every (layer, direction), then b_ih, b_hh of each. The input of a layer
 * is the output of the one below, both directions side by side, dropped out (upscaled) while
 * training. SequenceLength: steps beyond the length of a sample give 0 and leave its state alone;
 * the second direction starts at its last valid step.
 *
 * Reserve keeps what the gradient needs, one record per (layer, direction) and, with dropout, one
 * mask per layer but the first; `struct layout` says where. */
#include <math.h>

#include "ops/nn/cell.h"
#include "ops/create/random_source.h"
#include "tensor/math.h"

enum { IN_INPUT, IN_STATE, IN_WEIGHTS, IN_LENGTH };
enum { GR_OUT = 4, GR_RESERVE, GR_DROPOUT, GR_DOUT, GR_DSTATE };
enum { OUT_OUT, OUT_DROPOUT, OUT_STATE, OUT_RESERVE };
enum { AT_DROPOUT, AT_BIDIREC, AT_INPUT, AT_HIDDEN, AT_LAYERS, AT_MODE, AT_SEED, AT_IS_TEST };

enum mode { MODE_GRU, MODE_LSTM, MODE_TANH, MODE_RELU, MODE_UNKNOWN };

struct rnn {
    enum mode mode;
    int64_t layers, dirs, steps, batch, input, hidden;
    int64_t blocks; /* gate blocks of the weights: GRU 3, LSTM 4, simple 1 */
    int64_t kept;   /* blocks kept per step: GRU 4 (the fourth is h Un + b), LSTM 4, simple 1 */
    const struct tensor *length;
    bool drops;
};

/* Where things lie in Reserve, in floats. */
struct layout {
    float *gates;  /* [T, B, kept * H] */
    float *hidden; /* [T, B, H]: the state after each step */
    float *cell;   /* [T, B, H], LSTM */
};

static enum mode mode_of(const char *name)
{
    static const char *const names[] = {"GRU", "LSTM", "RNN_TANH", "RNN_RELU"};
    for (int i = 0; i < MODE_UNKNOWN; i++)
        if (name && !strcmp(name, names[i]))
            return (enum mode)i;
    return MODE_UNKNOWN;
}

static struct rnn rnn_of(const struct infer *c)
{
    const struct shape *x = infer_in(c, IN_INPUT, 0);
    struct rnn r = {.mode = mode_of(c->attr[AT_MODE].s),
                    .layers = c->attr[AT_LAYERS].i,
                    .dirs = c->attr[AT_BIDIREC].b ? 2 : 1,
                    .steps = x->dims[0],
                    .batch = x->ndim > 1 ? x->dims[1] : -1,
                    .input = x->ndim > 2 ? x->dims[2] : -1,
                    .hidden = c->attr[AT_HIDDEN].i};
    r.blocks = r.mode == MODE_GRU ? 3 : r.mode == MODE_LSTM ? 4 : 1;
    r.kept = r.mode <= MODE_LSTM ? 4 : 1;
    r.drops = c->attr[AT_DROPOUT].f > 0 && !c->attr[AT_IS_TEST].b && r.layers > 1;
    return r;
}

/* ---- shapes ---- */

static enum skiff_status weights_check(const struct infer *c, const struct rnn *r,
                                       struct skiff_error *err)
{
    int64_t units = r->layers * r->dirs, rows = r->blocks * r->hidden;
    if (infer_in_count(c, IN_WEIGHTS) != 4 * units)
        return infer_fail(c, IN_WEIGHTS, 0, err,
                          "has %d variables; %lld layers in %lld directions need %lld",
                          infer_in_count(c, IN_WEIGHTS), (long long)r->layers, (long long)r->dirs,
                          (long long)(4 * units));
    for (int64_t i = 0; i < 4 * units; i++) {
        const struct shape *w = infer_in(c, IN_WEIGHTS, (int)i);
        int64_t cols = i % 2 ? r->hidden : i / 2 < r->dirs ? r->input : r->dirs * r->hidden;
        bool fits = w && infer_in_dtype(c, IN_WEIGHTS, (int)i) == DTYPE_FP32 && w->ndim > 0 &&
                    w->dims[0] == rows;
        if (i < 2 * units)
            fits = fits && w->ndim == 2 && dims_agree(w->dims[1], cols);
        if (!fits)
            return infer_fail(c, IN_WEIGHTS, (int)i, err, "must be float32 [%lld%s%.0lld]",
                              (long long)rows, i < 2 * units ? ", " : "",
                              i < 2 * units ? (long long)cols : 0LL);
    }
    return SKIFF_OK;
}

static enum skiff_status rnn_check(const struct infer *c, struct rnn *r, struct skiff_error *err)
{
    TRY(infer_want(c, IN_INPUT, DTYPE_FP32, err));
    TRY(infer_want_rank(c, IN_INPUT, 3, err));
    TRY(infer_want_int(c, IN_LENGTH, err));
    *r = rnn_of(c);
    float p = c->attr[AT_DROPOUT].f;
    if (r->mode == MODE_UNKNOWN || r->layers < 1 || r->hidden < 1 || !(p >= 0 && p <= 1))
        return infer_fail(c, IN_INPUT, 0, err,
                          "mode '%s', num_layers %lld, hidden_size %lld, dropout_prob %g",
                          c->attr[AT_MODE].s ? c->attr[AT_MODE].s : "", (long long)r->layers,
                          (long long)r->hidden, p);
    int states = r->mode == MODE_LSTM ? 2 : 1;
    if (infer_in_count(c, IN_STATE) != states)
        return infer_fail(c, IN_STATE, 0, err, "has %d variables, must have %d",
                          infer_in_count(c, IN_STATE), states);
    for (int i = 0; i < states; i++) {
        const struct shape *s = infer_in(c, IN_STATE, i);
        if (!s || infer_in_dtype(c, IN_STATE, i) != DTYPE_FP32 || s->ndim != 3 ||
            !dims_agree(s->dims[0], r->layers * r->dirs) || !dims_agree(s->dims[1], r->batch) ||
            !dims_agree(s->dims[2], r->hidden))
            return infer_fail(c, IN_STATE, i, err, "must be float32 [%lld, batch, %lld]",
                              (long long)(r->layers * r->dirs), (long long)r->hidden);
    }
    const struct shape *length = infer_in(c, IN_LENGTH, 0);
    if (length && !dims_agree(dims_product(length, 0, length->ndim), r->batch))
        return infer_fail(c, IN_LENGTH, 0, err, "must have one length per sample");
    return weights_check(c, r, err);
}

static int64_t unit_floats(const struct rnn *r)
{
    return r->steps * r->batch * r->hidden * (r->kept + 1 + (r->mode == MODE_LSTM));
}

static int64_t mask_floats(const struct rnn *r)
{
    return r->drops ? r->steps * r->batch * r->dirs * r->hidden : 0;
}

static int64_t reserve_floats(const struct rnn *r)
{
    /* records, outputs of the layers below the top, masks */
    return r->layers * r->dirs * unit_floats(r) +
           (r->layers - 1) * (r->steps * r->batch * r->dirs * r->hidden + mask_floats(r));
}

static enum skiff_status rnn_infer(struct infer *c, struct skiff_error *err)
{
    struct rnn r;
    TRY(rnn_check(c, &r, err));
    struct shape out = SHAPE(r.steps, r.batch, r.dirs * r.hidden);
    TRY(infer_out(c, OUT_OUT, 0, DTYPE_FP32, &out, err));
    for (int i = 0; i < infer_in_count(c, IN_STATE); i++) {
        struct shape s = *infer_in(c, IN_STATE, i);
        TRY(infer_out(c, OUT_STATE, i, DTYPE_FP32, &s, err));
    }
    if (!c->running)
        return SKIFF_OK;
    struct shape reserve = SHAPE(reserve_floats(&r)), none = SHAPE(0);
    TRY(infer_out(c, OUT_DROPOUT, 0, DTYPE_UINT8, &none, err));
    return infer_out(c, OUT_RESERVE, 0, DTYPE_FP32, &reserve, err);
}

/* ---- running ---- */

/* One (layer, direction). */
struct rnn_cell {
    const struct rnn *r;
    struct layout at;
    int64_t width; /* of its input */
    bool reverse;
    const float *x, *w_ih, *w_hh, *b_ih, *b_hh;
    const float *h0, *c0; /* [B, H] */
    int64_t column;       /* of its half in the layer's output */
};

static struct layout layout_of(const struct rnn *r, float *reserve, int64_t unit)
{
    int64_t cells = r->steps * r->batch * r->hidden;
    float *p = reserve + unit * unit_floats(r);
    return (struct layout){p, p + r->kept * cells, p + (r->kept + 1) * cells};
}

/* Output of layer l, which is the input of layer l + 1; the dropout mask after it. */
static float *layer_out(const struct rnn *r, float *reserve, int64_t layer)
{
    int64_t size = r->steps * r->batch * r->dirs * r->hidden;
    return reserve + r->layers * r->dirs * unit_floats(r) + layer * (size + mask_floats(r));
}

static struct rnn_cell unit_of(const struct kernel *k, const struct rnn *r, float *reserve,
                               int64_t layer, int64_t dir)
{
    int64_t at = layer * r->dirs + dir, units = r->layers * r->dirs, cells = r->batch * r->hidden;
    struct rnn_cell u = {
        .r = r,
        .at = layout_of(r, reserve, at),
        .width = layer ? r->dirs * r->hidden : r->input,
        .reverse = dir == 1,
        .x = layer ? layer_out(r, reserve, layer - 1) : tensor_f32(kernel_in(k, IN_INPUT)),
        .w_ih = tensor_f32(kernel_in_at(k, IN_WEIGHTS, (int)(2 * at))),
        .w_hh = tensor_f32(kernel_in_at(k, IN_WEIGHTS, (int)(2 * at + 1))),
        .b_ih = tensor_f32(kernel_in_at(k, IN_WEIGHTS, (int)(2 * (units + at)))),
        .b_hh = tensor_f32(kernel_in_at(k, IN_WEIGHTS, (int)(2 * (units + at) + 1))),
        .h0 = tensor_f32(kernel_in_at(k, IN_STATE, 0)) + at * cells,
        .column = dir * r->hidden};
    if (r->mode == MODE_LSTM)
        u.c0 = tensor_f32(kernel_in_at(k, IN_STATE, 1)) + at * cells;
    return u;
}

static bool is_valid(const struct rnn *r, int64_t t, int64_t b)
{
    return !r->length || t < tensor_int_at(r->length, b);
}

/* The state before the s-th step that is computed (steps run backwards in the second direction). */
static const float *state_before(const struct rnn_cell *u, const float *states,
                                 const float *initial, int64_t s)
{
    int64_t last = u->r->steps - 1, before = u->reverse ? last - (s - 1) : s - 1;
    return s == 0 ? initial : states + before * u->r->batch * u->r->hidden;
}

static float act_of(const struct rnn *r, float x)
{
    return r->mode == MODE_RELU ? cell_act_value(CELL_RELU, x) : tanhf(x);
}

/* One sample at one step: x, h are its products with the weights; keeps
 * gates, returns the state. */
static float cell_forward(const struct rnn *r, const float *x, const float *h, int64_t j,
                          float h_prev, float *kept, float *c_state, float c_prev)
{
    int64_t d = r->hidden;
    if (r->mode == MODE_GRU) {
        float reset = sigmoid_f32(x[j] + h[j]), z = sigmoid_f32(x[d + j] + h[d + j]);
        float n = tanhf(x[2 * d + j] + reset * h[2 * d + j]);
        kept[j] = reset;
        kept[d + j] = z;
        kept[2 * d + j] = n;
        kept[3 * d + j] = h[2 * d + j];
        return z * h_prev + (1.0f - z) * n;
    }
    if (r->mode == MODE_LSTM) {
        float i = sigmoid_f32(x[j] + h[j]), f = sigmoid_f32(x[d + j] + h[d + j]);
        float g = tanhf(x[2 * d + j] + h[2 * d + j]), o = sigmoid_f32(x[3 * d + j] + h[3 * d + j]);
        kept[j] = i;
        kept[d + j] = f;
        kept[2 * d + j] = g;
        kept[3 * d + j] = o;
        *c_state = f * c_prev + i * g;
        return o * tanhf(*c_state);
    }
    return kept[j] = act_of(r, x[j] + h[j]);
}

static void rows_fill(float *to, const float *row, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows; i++)
        rows_move(to + i * width, row, width, sizeof(float));
}

/* xs [T*B, blocks*H] and hs [B, blocks*H] are work space; out: the layer's output. */
static void unit_forward(const struct rnn_cell *u, float *xs, float *hs, float *out)
{
    const struct rnn *r = u->r;
    int64_t d = r->hidden, cols = r->blocks * d, rows = r->steps * r->batch;
    rows_fill(xs, u->b_ih, rows, cols);
    math_gemm_f32(false, true, rows, cols, u->width, 1.0f, u->x, u->width, u->w_ih, u->width, 1.0f,
                  xs, cols);
    for (int64_t s = 0; s < r->steps; s++) {
        int64_t t = u->reverse ? r->steps - 1 - s : s;
        const float *h_prev = state_before(u, u->at.hidden, u->h0, s);
        const float *c_prev = state_before(u, u->at.cell, u->c0, s);
        rows_fill(hs, u->b_hh, r->batch, cols);
        math_gemm_f32(false, true, r->batch, cols, d, 1.0f, h_prev, d, u->w_hh, d, 1.0f, hs, cols);
        for (int64_t b = 0; b < r->batch; b++) {
            int64_t at = t * r->batch + b;
            float *h = u->at.hidden + at * d, *c = u->at.cell + at * d;
            float *kept = u->at.gates + at * r->kept * d;
            bool valid = is_valid(r, t, b), lstm = r->mode == MODE_LSTM;
            for (int64_t j = 0; j < d; j++) {
                float old_h = h_prev[b * d + j], old_c = lstm ? c_prev[b * d + j] : 0,
                      new_c = old_c;
                float now =
                    cell_forward(r, xs + at * cols, hs + b * cols, j, old_h, kept, &new_c, old_c);
                h[j] = valid ? now : old_h;
                if (lstm)
                    c[j] = valid ? new_c : old_c;
                out[at * r->dirs * d + u->column + j] = valid ? now : 0.0f;
            }
        }
    }
}

/* Drops elements of a layer's output; the mask holds the factors. */
static void layer_drop(const struct kernel *k, const struct rnn *r, struct random_source *source,
                       float *out)
{
    int64_t n = r->steps * r->batch * r->dirs * r->hidden;
    float p = k->attr[AT_DROPOUT].f, *mask = out + n;
    for (int64_t i = 0; i < n; i++) {
        mask[i] = p >= 1.0f || random_float(source) < p ? 0.0f : 1.0f / (1.0f - p);
        out[i] *= mask[i];
    }
}

static enum skiff_status lengths_check(const struct kernel *k, const struct rnn *r,
                                       struct skiff_error *err)
{
    for (int64_t b = 0; r->length && b < r->batch; b++) {
        int64_t n = tensor_int_at(r->length, b);
        if (n < 0 || n > r->steps)
            return kernel_bad_index(k, IN_LENGTH, b, n, r->steps + 1, "steps of Input", err);
    }
    return SKIFF_OK;
}

static enum skiff_status rnn_start(struct kernel *k, struct rnn *r, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    TRY(rnn_check(&c, r, err));
    r->length = kernel_has(k, IN_LENGTH) ? kernel_in(k, IN_LENGTH) : NULL;
    return lengths_check(k, r, err);
}

static enum skiff_status rnn_run(struct kernel *k, struct skiff_error *err)
{
    struct rnn r;
    struct random_source source;
    float *reserve, *xs;
    TRY(rnn_start(k, &r, err));
    int64_t cols = r.blocks * r.hidden, cells = r.batch * r.hidden;
    if (kernel_wants(k, OUT_RESERVE))
        reserve = tensor_f32(kernel_out(k, OUT_RESERVE));
    else
        TRY(kernel_floats(k, reserve_floats(&r), &reserve, err));
    TRY(kernel_floats(k, (r.steps + 1) * r.batch * cols, &xs, err));
    if (r.drops)
        random_source_init(&source, k, k->attr[AT_SEED].i);
    for (int64_t l = 0; l < r.layers && r.steps * r.batch > 0; l++) {
        bool top = l + 1 == r.layers;
        float *out = top ? tensor_f32(kernel_out(k, OUT_OUT)) : layer_out(&r, reserve, l);
        for (int64_t dir = 0; dir < r.dirs; dir++) {
            struct rnn_cell u = unit_of(k, &r, reserve, l, dir);
            unit_forward(&u, xs, xs + r.steps * r.batch * cols, out);
            int64_t at = l * r.dirs + dir;
            for (int s = 0; s < kernel_out_count(k, OUT_STATE); s++)
                if (kernel_out_at(k, OUT_STATE, s))
                    rows_move(tensor_f32(kernel_out_at(k, OUT_STATE, s)) + at * cells,
                              state_before(&u, s ? u.at.cell : u.at.hidden, NULL, r.steps), cells,
                              sizeof(float));
        }
        if (!top && r.drops)
            layer_drop(k, &r, &source, out);
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

struct unit_grad {
    float *dx;                            /* [T, B, width], added to; NULL: not wanted */
    float *dw_ih, *dw_hh, *db_ih, *db_hh; /* added to; NULL: not wanted */
    float *dh, *dc;    /* [B, H]: on entry of the final state, on return of the first */
    const float *dout; /* the layer's output gradient */
    float *dgx, *dgh;  /* work: [T, B, blocks*H] */
};

/* One element of one sample: dh, dc of the new state -> gradients of the products with the weights
 * (dgx, dgh), and the direct part of the old state's. */
static void cell_backward(const struct rnn *r, const float *kept, int64_t j, float h_prev,
                          float c_prev, float c, float *dh, float *dc, float *dgx, float *dgh)
{
    int64_t d = r->hidden;
    float up = *dh;
    if (r->mode == MODE_GRU) {
        float reset = kept[j], z = kept[d + j], n = kept[2 * d + j], hn = kept[3 * d + j];
        float dn = up * (1.0f - z) * (1.0f - n * n);
        dgx[j] = dgh[j] = dn * hn * reset * (1.0f - reset);
        dgx[d + j] = dgh[d + j] = up * (h_prev - n) * z * (1.0f - z);
        dgx[2 * d + j] = dn;
        dgh[2 * d + j] = dn * reset;
        *dh = up * z;
        return;
    }
    if (r->mode == MODE_LSTM) {
        float i = kept[j], f = kept[d + j], g = kept[2 * d + j], o = kept[3 * d + j], t = tanhf(c);
        float down = *dc + up * o * (1.0f - t * t);
        dgx[j] = down * g * i * (1.0f - i);
        dgx[d + j] = down * c_prev * f * (1.0f - f);
        dgx[2 * d + j] = down * i * (1.0f - g * g);
        dgx[3 * d + j] = up * t * o * (1.0f - o);
        for (int64_t q = 0; q < 4; q++)
            dgh[q * d + j] = dgx[q * d + j];
        *dc = down * f;
        *dh = 0;
        return;
    }
    dgx[j] = dgh[j] = up * cell_act_slope(r->mode == MODE_RELU ? CELL_RELU : CELL_TANH, kept[j]);
    *dh = 0;
}

/* One step of all samples: fills dgx, dgh of step t, moves dh and dc one step back. */
static void unit_backward_step(const struct rnn_cell *u, struct unit_grad *g, int64_t s)
{
    const struct rnn *r = u->r;
    int64_t d = r->hidden, cols = r->blocks * d, t = u->reverse ? r->steps - 1 - s : s;
    const float *h_prev = state_before(u, u->at.hidden, u->h0, s);
    const float *c_prev = state_before(u, u->at.cell, u->c0, s);
    for (int64_t b = 0; b < r->batch; b++) {
        int64_t at = t * r->batch + b;
        float *dgx = g->dgx + at * cols, *dgh = g->dgh + at * cols;
        if (!is_valid(r, t, b)) {
            floats_zero(dgx, cols);
            floats_zero(dgh, cols);
            continue;
        }
        for (int64_t j = 0; j < d; j++) {
            int64_t i = b * d + j;
            bool lstm = r->mode == MODE_LSTM;
            g->dh[i] += g->dout ? g->dout[at * r->dirs * d + u->column + j] : 0.0f;
            cell_backward(r, u->at.gates + at * r->kept * d, j, h_prev[i], lstm ? c_prev[i] : 0,
                          lstm ? u->at.cell[at * d + j] : 0, &g->dh[i], &g->dc[i], dgx, dgh);
        }
    }
    math_gemm_f32(false, false, r->batch, d, cols, 1.0f, g->dgh + t * r->batch * cols, cols,
                  u->w_hh, d, 1.0f, g->dh, d);
    if (g->dw_hh)
        math_gemm_f32(true, false, cols, d, r->batch, 1.0f, g->dgh + t * r->batch * cols, cols,
                      h_prev, d, 1.0f, g->dw_hh, d);
}

static void unit_backward(const struct rnn_cell *u, struct unit_grad *g)
{
    const struct rnn *r = u->r;
    int64_t cols = r->blocks * r->hidden, rows = r->steps * r->batch;
    for (int64_t s = r->steps - 1; s >= 0; s--)
        unit_backward_step(u, g, s);
    if (g->dw_ih)
        math_gemm_f32(true, false, cols, u->width, rows, 1.0f, g->dgx, cols, u->x, u->width, 1.0f,
                      g->dw_ih, u->width);
    if (g->dx)
        math_gemm_f32(false, false, rows, u->width, cols, 1.0f, g->dgx, cols, u->w_ih, u->width,
                      1.0f, g->dx, u->width);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            if (g->db_ih)
                g->db_ih[j] += g->dgx[i * cols + j];
            if (g->db_hh)
                g->db_hh[j] += g->dgh[i * cols + j];
        }
}

static enum skiff_status rnn_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct rnn r;
    TRY(rnn_check(c, &r, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    for (int i = 0; i < infer_in_count(c, IN_STATE); i++) {
        struct shape s = *infer_in(c, IN_STATE, i);
        TRY(infer_out(c, 1, i, DTYPE_FP32, &s, err));
    }
    for (int i = 0; i < infer_in_count(c, IN_WEIGHTS); i++) {
        struct shape s = *infer_in(c, IN_WEIGHTS, i);
        TRY(infer_out(c, 2, i, DTYPE_FP32, &s, err));
    }
    return SKIFF_OK;
}

/* A gradient output set to 0; NULL when it is not wanted. */
static float *grad_cleared(const struct kernel *k, int slot, int64_t i)
{
    struct tensor *t = kernel_out_at(k, slot, (int)i);
    if (!t)
        return NULL;
    floats_zero(tensor_f32(t), tensor_numel(t));
    return tensor_f32(t);
}

/* Gradient of the final state of a unit into dh or dc; 0 when there is none. */
static void state_grad_load(const struct kernel *k, int which, int64_t at, int64_t cells, float *to)
{
    struct skiff_tensor *v = kernel_in_value(k, GR_DSTATE, which);
    if (v && v->kind == VALUE_TENSOR && v->tensor.dtype == DTYPE_FP32 &&
        tensor_numel(&v->tensor) >= (at + 1) * cells)
        rows_move(to, tensor_f32(&v->tensor) + at * cells, cells, sizeof(float));
    else
        floats_zero(to, cells);
}

struct rnn_grad {
    struct rnn r;
    float *reserve, *dgx, *dgh, *dh, *dc;
    float *below, *above; /* gradients of a layer's input and output, [T, B, dirs*H] */
};

static enum skiff_status grad_init(struct rnn_grad *g, struct kernel *k, struct skiff_error *err)
{
    struct rnn *r = &g->r;
    TRY(rnn_start(k, r, err));
    int64_t rows = r->steps * r->batch, cols = r->blocks * r->hidden;
    int64_t wide = rows * r->dirs * r->hidden, cells = r->batch * r->hidden;
    TRY(kernel_want_floats(k, GR_RESERVE, reserve_floats(r), err));
    if (kernel_has(k, GR_DOUT))
        TRY(kernel_want_floats(k, GR_DOUT, wide, err));
    g->reserve = tensor_f32(kernel_in(k, GR_RESERVE));
    TRY(kernel_floats(k, 2 * rows * cols + 2 * wide + 2 * cells, &g->dgx, err));
    g->dgh = g->dgx + rows * cols;
    g->below = g->dgh + rows * cols;
    g->above = g->below + wide;
    g->dh = g->above + wide;
    g->dc = g->dh + cells;
    return SKIFF_OK;
}

static void layer_backward(struct rnn_grad *g, struct kernel *k, int64_t layer, const float *dout,
                           float *dx)
{
    const struct rnn *r = &g->r;
    int64_t units = r->layers * r->dirs, cells = r->batch * r->hidden;
    for (int64_t dir = 0; dir < r->dirs; dir++) {
        int64_t at = layer * r->dirs + dir;
        struct rnn_cell u = unit_of(k, r, g->reserve, layer, dir);
        struct unit_grad ug = {.dx = dx,
                               .dw_ih = grad_cleared(k, 2, 2 * at),
                               .dw_hh = grad_cleared(k, 2, 2 * at + 1),
                               .db_ih = grad_cleared(k, 2, 2 * (units + at)),
                               .db_hh = grad_cleared(k, 2, 2 * (units + at) + 1),
                               .dh = g->dh,
                               .dc = g->dc,
                               .dout = dout,
                               .dgx = g->dgx,
                               .dgh = g->dgh};
        state_grad_load(k, 0, at, cells, g->dh);
        state_grad_load(k, 1, at, cells, g->dc);
        unit_backward(&u, &ug);
        for (int s = 0; s < kernel_out_count(k, 1); s++)
            if (kernel_out_at(k, 1, s))
                rows_move(tensor_f32(kernel_out_at(k, 1, s)) + at * cells, s ? g->dc : g->dh, cells,
                          sizeof(float));
    }
}

static enum skiff_status rnn_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct rnn_grad g;
    TRY(grad_init(&g, k, err));
    const struct rnn *r = &g.r;
    int64_t wide = r->steps * r->batch * r->dirs * r->hidden;
    const float *dout = kernel_has(k, GR_DOUT) ? tensor_f32(kernel_in(k, GR_DOUT)) : NULL;
    float *dinput = grad_cleared(k, 0, 0);
    if (r->steps * r->batch == 0)
        return SKIFF_OK;
    for (int64_t l = r->layers - 1; l >= 0; l--) {
        if (l > 0)
            floats_zero(g.below, wide);
        layer_backward(&g, k, l, dout, l ? g.below : dinput);
        if (l == 0)
            break;
        const float *mask = r->drops ? layer_out(r, g.reserve, l - 1) + wide : NULL;
        for (int64_t i = 0; mask && i < wide; i++)
            g.below[i] *= mask[i];
        dout = g.below;
        g.below = g.above;
        g.above = (float *)dout;
    }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot rnn_ins[] = {{"Input", 0},
                                         {"PreState", SLOT_LIST},
                                         {"WeightList", SLOT_LIST},
                                         {"SequenceLength", SLOT_OPTIONAL},
                                         {0}};
static const struct op_slot rnn_outs[] = {{"Out", 0},
                                          {"DropoutState", SLOT_OPTIONAL},
                                          {"State", SLOT_LIST},
                                          {"Reserve", SLOT_EXTRA},
                                          {0}};
static const struct op_slot rnn_grad_ins[] = {{"Input", 0},
                                              {"PreState", SLOT_LIST},
                                              {"WeightList", SLOT_LIST},
                                              {"SequenceLength", SLOT_OPTIONAL},
                                              {"Out", SLOT_SHAPE_ONLY},
                                              {"Reserve", 0},
                                              {"DropoutState", SLOT_OPTIONAL},
                                              {"Out@GRAD", SLOT_OPTIONAL},
                                              {"State@GRAD", SLOT_LIST | SLOT_OPTIONAL},
                                              {0}};
static const struct op_slot rnn_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                               {"PreState@GRAD", SLOT_LIST | SLOT_OPTIONAL},
                                               {"WeightList@GRAD", SLOT_LIST | SLOT_OPTIONAL},
                                               {0}};
static const struct op_attr_spec rnn_attrs[] = {A_FLOAT("dropout_prob", 0.0f),
                                                A_BOOL("is_bidirec", false),
                                                A_INT("input_size", 10),
                                                A_INT("hidden_size", 100),
                                                A_INT("num_layers", 1),
                                                A_STR("mode", "RNN_TANH"),
                                                A_INT("seed", 0),
                                                A_BOOL("is_test", false),
                                                {0}};

const struct op_kind ops_rnn[] = {
    {.type = "rnn",
     .generations = GEN_2X,
     .flags = OP_RANDOM,
     .ins = rnn_ins,
     .outs = rnn_outs,
     .attrs = rnn_attrs,
     .grad =
         "Input PreState WeightList SequenceLength Out Reserve DropoutState Out@GRAD State@GRAD -> "
         "Input@GRAD PreState@GRAD WeightList@GRAD",
     .infer = rnn_infer,
     .run = rnn_run},
    {.type = "rnn_grad",
     .generations = GEN_2X,
     .ins = rnn_grad_ins,
     .outs = rnn_grad_outs,
     .attrs = rnn_attrs,
     .infer = rnn_grad_infer,
     .run = rnn_grad_run},
    {0}};
