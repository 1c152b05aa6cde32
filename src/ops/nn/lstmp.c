/* LSTMs of other kinds.
 *
 * lstm_unit: one step, X [N, 4D] = (i, f, o, g) before their activations:
 *   c' = sigmoid(f + forget_bias) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')
 *
 * lstmp: a batch of sequences, as lstm (lstm.c), whose state is a projection r [P] of h:
 *   g = cand(x_g + r Wg + b_g)
 *   i = gate(x_i + r Wi + b_i + p_i c), f = gate(x_f + r Wf + b_f + p_f c)
 *   c' = f c + i g, cut to [-cell_clip, cell_clip],  o = gate(x_o + r Wo + b_o + p_o c')
 *   h' = o cell(c'),  r' = proj(h' U), cut to [-proj_clip, proj_clip]
 * Clips of 0 do not cut; the gradient is 0 where something was cut.
 *
 * cudnn_lstm is built, never run: it is for GPUs. */
#include <math.h>

#include "ops/nn/cell.h"
#include "tensor/math.h"

/* ---- lstm_unit ---- */

enum { UNIT_X, UNIT_C_PREV };
enum { UNIT_C, UNIT_H };

static enum skiff_status unit_check(const struct infer *c, struct skiff_error *err)
{
    for (int s = UNIT_X; s <= UNIT_C_PREV; s++) {
        TRY(infer_want(c, s, DTYPE_FP32, err));
        TRY(infer_want_rank(c, s, 2, err));
    }
    const struct shape *x = infer_in(c, UNIT_X, 0), *old = infer_in(c, UNIT_C_PREV, 0);
    if (!dims_agree(x->dims[0], old->dims[0]) ||
        !dims_agree(x->dims[1], old->dims[1] < 0 ? -1 : 4 * old->dims[1]))
        return infer_fail(c, UNIT_X, 0, err, "must be [N, 4 D] where C_prev is [N, D]");
    return SKIFF_OK;
}

static enum skiff_status unit_infer(struct infer *c, struct skiff_error *err)
{
    TRY(unit_check(c, err));
    TRY(infer_like(c, UNIT_C_PREV, UNIT_C, err));
    return infer_like(c, UNIT_C_PREV, UNIT_H, err);
}

static enum skiff_status unit_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *old = kernel_in(k, UNIT_C_PREV);
    const float *x = tensor_f32(kernel_in(k, UNIT_X)), *c_prev = tensor_f32(old);
    float *c = tensor_f32(kernel_out(k, UNIT_C)), *h = tensor_f32(kernel_out(k, UNIT_H));
    float bias = k->attr[0].f;
    int64_t d = old->shape.dims[1];
    for (int64_t r = 0; r < old->shape.dims[0]; r++)
        for (int64_t j = 0; j < d; j++) {
            const float *g = x + r * 4 * d + j;
            float now =
                sigmoid_f32(g[d] + bias) * c_prev[r * d + j] + sigmoid_f32(g[0]) * tanhf(g[3 * d]);
            c[r * d + j] = now;
            h[r * d + j] = sigmoid_f32(g[2 * d]) * tanhf(now);
        }
    return SKIFF_OK;
}

enum { UGRAD_C = 2, UGRAD_DC, UGRAD_DH };

static enum skiff_status unit_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(unit_check(c, err));
    TRY(infer_like(c, UNIT_X, 0, err));
    return infer_like(c, UNIT_C_PREV, 1, err);
}

static enum skiff_status unit_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *old = kernel_in(k, UNIT_C_PREV);
    int64_t d = old->shape.dims[1], n = tensor_numel(old);
    for (int s = UGRAD_C; s <= UGRAD_DH; s++)
        if (kernel_has(k, s))
            TRY(kernel_want_floats(k, s, n, err));
    const float *x = tensor_f32(kernel_in(k, UNIT_X)), *c_prev = tensor_f32(old);
    const float *c = tensor_f32(kernel_in(k, UGRAD_C)), *dc = kernel_in_f32(k, UGRAD_DC);
    const float *dh = kernel_in_f32(k, UGRAD_DH);
    float *dx = kernel_out_f32(k, 0), *dc_prev = kernel_out_f32(k, 1), bias = k->attr[0].f;
    for (int64_t e = 0; e < n; e++) {
        int64_t at = e / d * 4 * d + e % d;
        float i = sigmoid_f32(x[at]), f = sigmoid_f32(x[at + d] + bias);
        float o = sigmoid_f32(x[at + 2 * d]), g = tanhf(x[at + 3 * d]), act = tanhf(c[e]);
        float from_h = dh ? dh[e] : 0;
        float d_c = (dc ? dc[e] : 0) + from_h * o * (1 - act * act);
        if (dc_prev)
            dc_prev[e] = d_c * f;
        if (!dx)
            continue;
        dx[at] = d_c * g * i * (1 - i);
        dx[at + d] = d_c * c_prev[e] * f * (1 - f);
        dx[at + 2 * d] = from_h * act * o * (1 - o);
        dx[at + 3 * d] = d_c * i * (1 - g * g);
    }
    return SKIFF_OK;
}

/* ---- lstmp ---- */

enum { IN_INPUT, IN_H0, IN_C0, IN_WEIGHT, IN_PROJ, IN_BIAS };
enum { GR_PROJECTION = 6, GR_CELL, GR_HIDDEN, GR_GATE, GR_CELL_ACT, GR_DPROJECTION };
enum { OUT_PROJECTION, OUT_CELL, OUT_GATE, OUT_CELL_ACT, OUT_HIDDEN };
enum { AT_PEEP, AT_REVERSE, AT_CELL_CLIP, AT_PROJ_CLIP, AT_GATE, AT_CELL, AT_CAND, AT_PROJ };

struct lstmp {
    int64_t width, proj; /* D, P */
    const float *w, *u, *bias, *peep;
    enum cell_act gate, cell, cand, out;
    float cell_clip, proj_clip;
};

static enum skiff_status proj_check_state(const struct infer *c, int slot, int64_t columns,
                                          struct skiff_error *err)
{
    const struct shape *s = infer_in(c, slot, 0);
    int64_t n = c->running ? lod_last(infer_in_lod(c, IN_INPUT, 0))->n - 1 : -1;
    if (s && (!dims_agree(s->dims[0], n) || !dims_agree(s->dims[1], columns)))
        return infer_fail(c, slot, 0, err, "must have one row of %lld per sequence",
                          (long long)columns);
    return SKIFF_OK;
}

/* The gradient op has no Input: Projection provides its rows. */
static enum skiff_status proj_check(const struct infer *c, struct skiff_error *err)
{
    for (int s = IN_INPUT; s <= IN_BIAS; s++)
        TRY(infer_want(c, s, DTYPE_FP32, err));
    for (int s = IN_INPUT; s <= IN_PROJ; s++)
        TRY(infer_want_rank(c, s, 2, err));
    TRY(infer_want_lod(c, IN_INPUT, err));
    const struct shape *w = infer_in(c, IN_WEIGHT, 0), *u = infer_in(c, IN_PROJ, 0);
    int64_t d = u->dims[0], p = u->dims[1], biases = (c->attr[AT_PEEP].b ? 7 : 4) * d;
    if (d < 1 || p < 1 || w->dims[0] != p || w->dims[1] != 4 * d)
        return infer_fail(c, IN_WEIGHT, 0, err, "must be [P, 4 D] where ProjWeight is [D, P]");
    if (shape_numel(infer_in(c, IN_BIAS, 0)) != biases)
        return infer_fail(c, IN_BIAS, 0, err, "must have %lld values", (long long)biases);
    TRY(proj_check_state(c, IN_H0, p, err));
    TRY(proj_check_state(c, IN_C0, d, err));
    for (int a = AT_GATE; a <= AT_PROJ; a++)
        if (cell_act_of(c->attr[a].s) == CELL_UNKNOWN)
            return error_set(err, SKIFF_INVALID, "op %s: activation '%s' is not known",
                             c->kind->type, c->attr[a].s ? c->attr[a].s : "");
    return SKIFF_OK;
}

static enum skiff_status proj_infer(struct infer *c, struct skiff_error *err)
{
    TRY(proj_check(c, err));
    int64_t rows = infer_in(c, IN_INPUT, 0)->dims[0];
    int64_t d = infer_in(c, IN_PROJ, 0)->dims[0], p = infer_in(c, IN_PROJ, 0)->dims[1];
    if (!dims_agree(infer_in(c, IN_INPUT, 0)->dims[1], 4 * d))
        return infer_fail(c, IN_INPUT, 0, err, "must have %lld columns", (long long)(4 * d));
    struct shape state = SHAPE(rows, d), gates = SHAPE(rows, 4 * d), proj = SHAPE(rows, p);
    TRY(infer_out(c, OUT_PROJECTION, 0, DTYPE_FP32, &proj, err));
    TRY(infer_out(c, OUT_CELL, 0, DTYPE_FP32, &state, err));
    TRY(infer_out(c, OUT_GATE, 0, DTYPE_FP32, &gates, err));
    TRY(infer_out(c, OUT_CELL_ACT, 0, DTYPE_FP32, &state, err));
    TRY(infer_out(c, OUT_HIDDEN, 0, DTYPE_FP32, &state, err));
    infer_share_lod(c, IN_INPUT, 0, OUT_PROJECTION, 0);
    infer_share_lod(c, IN_INPUT, 0, OUT_CELL, 0);
    return SKIFF_OK;
}

static struct lstmp lstmp_of(const struct kernel *k)
{
    const float *bias = tensor_f32(kernel_in(k, IN_BIAS));
    const struct tensor *u = kernel_in(k, IN_PROJ);
    int64_t d = u->shape.dims[0];
    return (struct lstmp){.width = d,
                          .proj = u->shape.dims[1],
                          .w = tensor_f32(kernel_in(k, IN_WEIGHT)),
                          .u = tensor_f32(u),
                          .bias = bias,
                          .peep = k->attr[AT_PEEP].b ? bias + 4 * d : NULL,
                          .gate = cell_act_of(k->attr[AT_GATE].s),
                          .cell = cell_act_of(k->attr[AT_CELL].s),
                          .cand = cell_act_of(k->attr[AT_CAND].s),
                          .out = cell_act_of(k->attr[AT_PROJ].s),
                          .cell_clip = k->attr[AT_CELL_CLIP].f,
                          .proj_clip = k->attr[AT_PROJ_CLIP].f};
}

static float cut(float x, float clip)
{
    return clip > 0 && x > clip ? clip : clip > 0 && x < -clip ? -clip : x;
}

static bool is_cut(float x, float clip)
{
    return clip > 0 && fabsf(x) >= clip;
}

struct lstmp_step { /* values of a step, a row for each sequence that has it */
    float *gates, *r_prev, *c_prev, *c, *c_act, *h, *r;
};

/* gates [m, 4D]: x on entry, (g, i, f, o) on return. */
static void step_forward(const struct lstmp *l, int64_t m, const struct lstmp_step *s)
{
    int64_t d = l->width;
    const float *p = l->peep;
    math_gemm_f32(false, false, m, 4 * d, l->proj, 1.0f, s->r_prev, l->proj, l->w, 4 * d, 1.0f,
                  s->gates, 4 * d);
    for (int64_t e = 0; e < m * d; e++) {
        int64_t j = e % d;
        float *gate = s->gates + e / d * 4 * d + j, old = s->c_prev[e];
        const float *b = l->bias + j;
        float g = cell_act_value(l->cand, gate[0] + b[0]);
        float i = cell_act_value(l->gate, gate[d] + b[d] + (p ? p[j] * old : 0));
        float f = cell_act_value(l->gate, gate[2 * d] + b[2 * d] + (p ? p[d + j] * old : 0));
        float now = cut(f * old + i * g, l->cell_clip);
        float o = cell_act_value(l->gate, gate[3 * d] + b[3 * d] + (p ? p[2 * d + j] * now : 0));
        gate[0] = g;
        gate[d] = i;
        gate[2 * d] = f;
        gate[3 * d] = o;
        s->c[e] = now;
        s->c_act[e] = cell_act_value(l->cell, now);
        s->h[e] = o * s->c_act[e];
    }
    math_gemm_f32(false, false, m, l->proj, d, 1.0f, s->h, d, l->u, l->proj, 0.0f, s->r, l->proj);
    for (int64_t e = 0; e < m * l->proj; e++)
        s->r[e] = cut(cell_act_value(l->out, s->r[e]), l->proj_clip);
}

static enum skiff_status step_space(struct kernel *k, const struct lstmp *l, int64_t n,
                                    struct lstmp_step *s, struct skiff_error *err)
{
    int64_t d = l->width, p = l->proj;
    TRY(kernel_floats(k, n * (8 * d + 2 * p), &s->gates, err));
    s->c_prev = s->gates + n * 4 * d;
    s->c = s->c_prev + n * d;
    s->c_act = s->c + n * d;
    s->h = s->c_act + n * d;
    s->r_prev = s->h + n * d;
    s->r = s->r_prev + n * p;
    return SKIFF_OK;
}

static enum skiff_status proj_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    struct lstmp l = lstmp_of(k);
    struct cell_walk w;
    struct lstmp_step s;
    float *projection = tensor_f32(kernel_out(k, OUT_PROJECTION));
    float *cell = tensor_f32(kernel_out(k, OUT_CELL));
    TRY(cell_walk_init(&w, k, lod_last(x->lod), k->attr[AT_REVERSE].b, err));
    int64_t d = l.width;
    TRY(step_space(k, &l, w.sequences, &s, err));
    for (int64_t t = 0; t < w.longest; t++) {
        int64_t m = cell_walk_step(&w, t);
        cell_gather(&w, tensor_f32(x), w.row, NULL, 4 * d, s.gates);
        cell_gather(&w, projection, w.prev_row, kernel_in_f32(k, IN_H0), l.proj, s.r_prev);
        cell_gather(&w, cell, w.prev_row, kernel_in_f32(k, IN_C0), d, s.c_prev);
        step_forward(&l, m, &s);
        cell_scatter(&w, s.r, l.proj, projection);
        cell_scatter(&w, s.c, d, cell);
        if (kernel_wants(k, OUT_GATE))
            cell_scatter(&w, s.gates, 4 * d, tensor_f32(kernel_out(k, OUT_GATE)));
        if (kernel_wants(k, OUT_CELL_ACT))
            cell_scatter(&w, s.c_act, d, tensor_f32(kernel_out(k, OUT_CELL_ACT)));
        if (kernel_wants(k, OUT_HIDDEN))
            cell_scatter(&w, s.h, d, tensor_f32(kernel_out(k, OUT_HIDDEN)));
    }
    return SKIFF_OK;
}

/* ---- lstmp_grad ---- */

struct lstmp_grad {
    struct lstmp l;
    struct cell_walk w;
    struct lstmp_step s;
    float *dgates, *dr, *dh, *dc; /* of a step */
    float *carry_r, *carry_c;     /* by sequence: the gradient that flows back in time */
    float *dx, *dh0, *dc0, *dw, *du, *dbias;
};

static enum skiff_status proj_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(proj_check(c, err));
    int64_t rows = infer_in(c, IN_INPUT, 0)->dims[0], d = infer_in(c, IN_PROJ, 0)->dims[0];
    struct shape x = SHAPE(rows, 4 * d);
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &x, err));
    for (int s = IN_H0; s <= IN_BIAS; s++)
        if (infer_has(c, s))
            TRY(infer_like(c, s, s, err));
    return SKIFF_OK;
}

static float *cleared(const struct kernel *k, int slot)
{
    float *p = kernel_grad(k, slot, slot);
    if (p)
        floats_zero(p, tensor_numel(kernel_out(k, slot)));
    return p;
}

static enum skiff_status grad_init(struct lstmp_grad *b, struct kernel *k, struct skiff_error *err)
{
    const struct tensor *r = kernel_in(k, IN_INPUT);
    b->l = lstmp_of(k);
    int64_t d = b->l.width, p = b->l.proj, rows = r->shape.dims[0], n = lod_last(r->lod)->n - 1;
    static const int states[] = {GR_CELL, GR_HIDDEN, GR_CELL_ACT};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        TRY(kernel_want_floats(k, states[i], rows * d, err));
    TRY(kernel_want_floats(k, GR_GATE, rows * 4 * d, err));
    TRY(kernel_want_floats(k, GR_PROJECTION, rows * p, err));
    TRY(kernel_want_floats(k, GR_DPROJECTION, rows * p, err));
    TRY(cell_walk_init(&b->w, k, lod_last(r->lod), k->attr[AT_REVERSE].b, err));
    TRY(step_space(k, &b->l, n, &b->s, err));
    TRY(kernel_floats(k, n * (7 * d + 2 * p), &b->dgates, err));
    b->dh = b->dgates + n * 4 * d;
    b->dc = b->dh + n * d;
    b->carry_c = b->dc + n * d;
    b->dr = b->carry_c + n * d;
    b->carry_r = b->dr + n * p;
    floats_zero(b->carry_r, n * p);
    floats_zero(b->carry_c, n * d);
    b->dx = kernel_out_f32(k, 0);
    if (b->dx)
        floats_zero(b->dx, tensor_numel(kernel_out(k, 0)));
    b->dh0 = cleared(k, IN_H0);
    b->dc0 = cleared(k, IN_C0);
    b->dw = cleared(k, IN_WEIGHT);
    b->du = cleared(k, IN_PROJ);
    b->dbias = cleared(k, IN_BIAS);
    return SKIFF_OK;
}

static void step_gather(struct lstmp_grad *b, const struct kernel *k, int64_t m)
{
    const struct cell_walk *w = &b->w;
    int64_t d = b->l.width, p = b->l.proj;
    cell_gather(w, tensor_f32(kernel_in(k, GR_GATE)), w->row, NULL, 4 * d, b->s.gates);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL_ACT)), w->row, NULL, d, b->s.c_act);
    cell_gather(w, tensor_f32(kernel_in(k, GR_HIDDEN)), w->row, NULL, d, b->s.h);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL)), w->row, NULL, d, b->s.c);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL)), w->prev_row, kernel_in_f32(k, IN_C0), d,
                b->s.c_prev);
    const float *r = tensor_f32(kernel_in(k, GR_PROJECTION));
    cell_gather(w, r, w->row, NULL, p, b->s.r);
    cell_gather(w, r, w->prev_row, kernel_in_f32(k, IN_H0), p, b->s.r_prev);
    cell_gather(w, tensor_f32(kernel_in(k, GR_DPROJECTION)), w->row, NULL, p, b->dr);
    for (int64_t i = 0; i < m; i++) {
        math_axpy_f32(p, 1.0f, b->carry_r + w->seq[i] * p, b->dr + i * p);
        rows_move(b->dc + i * d, b->carry_c + w->seq[i] * d, d, sizeof(float));
    }
    for (int64_t e = 0; e < m * p; e++)
        b->dr[e] *= is_cut(b->s.r[e], b->l.proj_clip) ? 0 : cell_act_slope(b->l.out, b->s.r[e]);
}

/* dh, dc [m, D] of this step -> dgates before the activations, dc of the step before. */
static void step_backward(struct lstmp_grad *b, int64_t m)
{
    int64_t d = b->l.width;
    const float *p = b->l.peep;
    float *dpeep = b->dbias && p ? b->dbias + 4 * d : NULL;
    for (int64_t e = 0; e < m * d; e++) {
        int64_t j = e % d;
        const float *gate = b->s.gates + e / d * 4 * d + j;
        float *dgate = b->dgates + e / d * 4 * d + j;
        float g = gate[0], i = gate[d], f = gate[2 * d], o = gate[3 * d];
        float old = b->s.c_prev[e], act = b->s.c_act[e], dh = b->dh[e];
        float dout = dh * act * cell_act_slope(b->l.gate, o);
        float dc =
            b->dc[e] + dh * o * cell_act_slope(b->l.cell, act) + (p ? p[2 * d + j] * dout : 0);
        if (is_cut(b->s.c[e], b->l.cell_clip))
            dc = 0;
        dgate[0] = dc * i * cell_act_slope(b->l.cand, g);
        dgate[d] = dc * g * cell_act_slope(b->l.gate, i);
        dgate[2 * d] = dc * old * cell_act_slope(b->l.gate, f);
        dgate[3 * d] = dout;
        b->dc[e] = dc * f + (p ? p[j] * dgate[d] + p[d + j] * dgate[2 * d] : 0);
        if (dpeep) {
            dpeep[j] += dgate[d] * old;
            dpeep[d + j] += dgate[2 * d] * old;
            dpeep[2 * d + j] += dout * b->s.c[e];
        }
    }
}

static enum skiff_status proj_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct lstmp_grad b;
    TRY(grad_init(&b, k, err));
    int64_t d = b.l.width, p = b.l.proj;
    for (int64_t t = b.w.longest - 1; t >= 0; t--) {
        int64_t m = cell_walk_step(&b.w, t);
        step_gather(&b, k, m);
        math_gemm_f32(false, true, m, d, p, 1.0f, b.dr, p, b.l.u, p, 0.0f, b.dh, d);
        if (b.du)
            math_gemm_f32(true, false, d, p, m, 1.0f, b.s.h, d, b.dr, p, 1.0f, b.du, p);
        step_backward(&b, m);
        math_gemm_f32(false, true, m, p, 4 * d, 1.0f, b.dgates, 4 * d, b.l.w, 4 * d, 0.0f, b.dr, p);
        for (int64_t i = 0; i < m; i++) {
            rows_move(b.carry_r + b.w.seq[i] * p, b.dr + i * p, p, sizeof(float));
            rows_move(b.carry_c + b.w.seq[i] * d, b.dc + i * d, d, sizeof(float));
        }
        if (b.dx)
            cell_scatter(&b.w, b.dgates, 4 * d, b.dx);
        if (b.dw)
            math_gemm_f32(true, false, p, 4 * d, m, 1.0f, b.s.r_prev, p, b.dgates, 4 * d, 1.0f,
                          b.dw, 4 * d);
        for (int64_t i = 0; b.dbias && i < m * 4 * d; i++)
            b.dbias[i % (4 * d)] += b.dgates[i];
    }
    if (b.dh0)
        rows_move(b.dh0, b.carry_r, b.w.sequences * p, sizeof(float));
    if (b.dc0)
        rows_move(b.dc0, b.carry_c, b.w.sequences * d, sizeof(float));
    return SKIFF_OK;
}

/* ---- cudnn_lstm ---- */

static enum skiff_status cudnn_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    TRY(infer_want_rank(c, 0, 3, err));
    struct shape out = *x;
    out.dims[2] = (int64_t)c->attr[3].i * (c->attr[1].b ? 2 : 1);
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &out, err));
    TRY(infer_like(c, 1, 1, err));
    return infer_like(c, 2, 2, err);
}

static enum skiff_status cudnn_run(struct kernel *k, struct skiff_error *err)
{
    return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                       "it runs on GPUs only, in Paddle too; use dynamic_lstm or basic_lstm");
}

/* ---- tables ---- */

static const struct op_slot unit_ins[] = {{"X", 0}, {"C_prev", 0}, {0}};
static const struct op_slot unit_outs[] = {{"C", 0}, {"H", 0}, {0}};
static const struct op_attr_spec unit_attrs[] = {A_FLOAT("forget_bias", 0.0f), {0}};
static const struct op_slot unit_grad_ins[] = {
    {"X", 0}, {"C_prev", 0}, {"C", 0}, {"C@GRAD", SLOT_OPTIONAL}, {"H@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot unit_grad_outs[] = {
    {"X@GRAD", SLOT_OPTIONAL}, {"C_prev@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot proj_ins[] = {{"Input", 0},
                                          {"H0", SLOT_OPTIONAL},
                                          {"C0", SLOT_OPTIONAL},
                                          {"Weight", 0},
                                          {"ProjWeight", 0},
                                          {"Bias", 0},
                                          {0}};
static const struct op_slot proj_outs[] = {
    {"Projection", 0},           {"Cell", 0},
    {"BatchGate", SLOT_EXTRA},   {"BatchCellPreAct", SLOT_EXTRA},
    {"BatchHidden", SLOT_EXTRA}, {0}};
/* Projection twice: in place of Input for its lod and rows, and as itself. */
static const struct op_slot proj_grad_ins[] = {{"Projection", 0},
                                               {"H0", SLOT_OPTIONAL},
                                               {"C0", SLOT_OPTIONAL},
                                               {"Weight", 0},
                                               {"ProjWeight", 0},
                                               {"Bias", 0},
                                               {"Projection", 0},
                                               {"Cell", 0},
                                               {"BatchHidden", 0},
                                               {"BatchGate", 0},
                                               {"BatchCellPreAct", 0},
                                               {"Projection@GRAD", 0},
                                               {0}};
static const struct op_slot proj_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                                {"H0@GRAD", SLOT_OPTIONAL},
                                                {"C0@GRAD", SLOT_OPTIONAL},
                                                {"Weight@GRAD", SLOT_OPTIONAL},
                                                {"ProjWeight@GRAD", SLOT_OPTIONAL},
                                                {"Bias@GRAD", SLOT_OPTIONAL},
                                                {0}};
static const struct op_attr_spec proj_attrs[] = {A_BOOL("use_peepholes", true),
                                                 A_BOOL("is_reverse", false),
                                                 A_FLOAT("cell_clip", 0.0f),
                                                 A_FLOAT("proj_clip", 0.0f),
                                                 A_STR("gate_activation", "sigmoid"),
                                                 A_STR("cell_activation", "tanh"),
                                                 A_STR("candidate_activation", "tanh"),
                                                 A_STR("proj_activation", "tanh"),
                                                 {0}};
static const struct op_slot cudnn_ins[] = {
    {"Input", 0}, {"InitH", 0}, {"InitC", 0}, {"W", 0}, {"Cache", SLOT_OPTIONAL}, {0}};
static const struct op_slot cudnn_outs[] = {{"Out", 0}, {"last_h", 0}, {"last_c", 0}, {0}};
static const struct op_attr_spec cudnn_attrs[] = {
    A_INT("max_len", 0),           A_BOOL("is_bidirec", false), A_INT("input_size", 10),
    A_INT("hidden_size", 100),     A_INT("num_layers", 1),      A_BOOL("is_test", false),
    A_FLOAT("dropout_prob", 0.0f), A_INT("seed", -1),           {0}};

const struct op_kind ops_lstmp[] = {
    {.type = "lstm_unit",
     .ins = unit_ins,
     .outs = unit_outs,
     .attrs = unit_attrs,
     .grad = "X C_prev C C@GRAD H@GRAD -> X@GRAD C_prev@GRAD",
     .infer = unit_infer,
     .run = unit_run},
    {.type = "lstm_unit_grad",
     .flags = OP_EMPTY_OK,
     .ins = unit_grad_ins,
     .outs = unit_grad_outs,
     .attrs = unit_attrs,
     .infer = unit_grad_infer,
     .run = unit_grad_run},
    {.type = "lstmp",
     .ins = proj_ins,
     .outs = proj_outs,
     .attrs = proj_attrs,
     .grad = "H0 C0 Weight ProjWeight Bias Projection Cell BatchGate BatchCellPreAct BatchHidden "
             "Projection@GRAD -> Input@GRAD H0@GRAD C0@GRAD Weight@GRAD ProjWeight@GRAD Bias@GRAD",
     .infer = proj_infer,
     .run = proj_run},
    {.type = "lstmp_grad",
     .ins = proj_grad_ins,
     .outs = proj_grad_outs,
     .attrs = proj_attrs,
     .infer = proj_grad_infer,
     .run = proj_grad_run},
    {.type = "cudnn_lstm",
     .generations = GEN_1X,
     .flags = OP_EMPTY_OK,
     .ins = cudnn_ins,
     .outs = cudnn_outs,
     .attrs = cudnn_attrs,
     .infer = cudnn_infer,
     .run = cudnn_run},
    {0}};
