/* lstm: a batch of sequences, inputs already multiplied by their weights; gates lie in the order
 * candidate, input, forget, output.
 *
 *   g = cand(x_g + h Wg + b_g)
 *   i = gate(x_i + h Wi + b_i + p_i c), f = gate(x_f + h Wf + b_f + p_f c)
 *   c' = f c + i g,  o = gate(x_o + h Wo + b_o + p_o c'),  h' = o cell(c')
 *
 * p: peephole weights, the last 3D values of Bias with use_peepholes. BatchGate = (g, i, f, o) and
 * BatchCellPreAct = cell(c') are kept for the gradient, in the order of the rows of Input. */
#include "ops/nn/cell.h"
#include "tensor/math.h"

enum { IN_INPUT, IN_H0, IN_C0, IN_WEIGHT, IN_BIAS };
enum { GR_HIDDEN = 5, GR_CELL, GR_GATE, GR_CELL_ACT, GR_DHIDDEN };
enum { OUT_HIDDEN, OUT_CELL, OUT_GATE, OUT_CELL_ACT };
enum { AT_PEEP, AT_REVERSE, AT_GATE, AT_CELL, AT_CAND };

struct lstm {
    int64_t width; /* D */
    const float *w, *bias, *peep;
    enum cell_act gate, cell, cand;
};

/* ---- shapes ---- */

static enum skiff_status lstm_check(const struct infer *c, struct skiff_error *err)
{
    for (int s = IN_INPUT; s <= IN_BIAS; s++)
        TRY(infer_want(c, s, DTYPE_FP32, err));
    for (int s = IN_INPUT; s <= IN_WEIGHT; s++)
        TRY(infer_want_rank(c, s, 2, err));
    TRY(infer_want_lod(c, IN_INPUT, err));
    const struct shape *w = infer_in(c, IN_WEIGHT, 0), *bias = infer_in(c, IN_BIAS, 0);
    int64_t d = w->dims[0], biases = (c->attr[AT_PEEP].b ? 7 : 4) * d;
    if (d < 1 || w->dims[1] != 4 * d)
        return infer_fail(c, IN_WEIGHT, 0, err, "must be [D, 4 D]");
    if (!dims_agree(infer_in(c, IN_INPUT, 0)->dims[1], 4 * d))
        return infer_fail(c, IN_INPUT, 0, err, "must have %lld columns", (long long)(4 * d));
    if (shape_numel(bias) != biases)
        return infer_fail(c, IN_BIAS, 0, err, "must have %lld values", (long long)biases);
    for (int s = IN_H0; s <= IN_C0; s++) {
        const struct shape *state = infer_in(c, s, 0);
        int64_t n = c->running ? lod_last(infer_in_lod(c, IN_INPUT, 0))->n - 1 : -1;
        if (state && (!dims_agree(state->dims[0], n) || !dims_agree(state->dims[1], d)))
            return infer_fail(c, s, 0, err, "must have one row of %lld per sequence", (long long)d);
    }
    if (!infer_has(c, IN_H0) != !infer_has(c, IN_C0))
        return infer_fail(c, IN_H0, 0, err, "H0 and C0 must be given together");
    for (int a = AT_GATE; a <= AT_CAND; a++)
        if (cell_act_of(c->attr[a].s) == CELL_UNKNOWN)
            return error_set(err, SKIFF_INVALID, "op %s: activation '%s' is not known",
                             c->kind->type, c->attr[a].s ? c->attr[a].s : "");
    return SKIFF_OK;
}

static enum skiff_status lstm_infer(struct infer *c, struct skiff_error *err)
{
    TRY(lstm_check(c, err));
    int64_t rows = infer_in(c, IN_INPUT, 0)->dims[0], d = infer_in(c, IN_WEIGHT, 0)->dims[0];
    struct shape state = SHAPE(rows, d), gates = SHAPE(rows, 4 * d);
    TRY(infer_out(c, OUT_HIDDEN, 0, DTYPE_FP32, &state, err));
    TRY(infer_out(c, OUT_CELL, 0, DTYPE_FP32, &state, err));
    TRY(infer_out(c, OUT_GATE, 0, DTYPE_FP32, &gates, err));
    TRY(infer_out(c, OUT_CELL_ACT, 0, DTYPE_FP32, &state, err));
    infer_share_lod(c, IN_INPUT, 0, OUT_HIDDEN, 0);
    infer_share_lod(c, IN_INPUT, 0, OUT_CELL, 0);
    return SKIFF_OK;
}

static struct lstm lstm_of(const struct kernel *k)
{
    const float *bias = tensor_f32(kernel_in(k, IN_BIAS));
    int64_t d = kernel_in(k, IN_WEIGHT)->shape.dims[0];
    return (struct lstm){.width = d,
                         .w = tensor_f32(kernel_in(k, IN_WEIGHT)),
                         .bias = bias,
                         .peep = k->attr[AT_PEEP].b ? bias + 4 * d : NULL,
                         .gate = cell_act_of(k->attr[AT_GATE].s),
                         .cell = cell_act_of(k->attr[AT_CELL].s),
                         .cand = cell_act_of(k->attr[AT_CAND].s)};
}

/* ---- forward ---- */

/* gates [m, 4D]: x on entry, (g, i, f, o) on return. */
static void step_forward(const struct lstm *l, int64_t m, float *gates, const float *h_prev,
                         const float *c_prev, float *h, float *c, float *c_act)
{
    int64_t d = l->width;
    const float *p = l->peep;
    math_gemm_f32(false, false, m, 4 * d, d, 1.0f, h_prev, d, l->w, 4 * d, 1.0f, gates, 4 * d);
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < d; j++) {
            float *gate = gates + r * 4 * d + j, old = c_prev[r * d + j];
            const float *b = l->bias + j;
            float g = cell_act_value(l->cand, gate[0] + b[0]);
            float i = cell_act_value(l->gate, gate[d] + b[d] + (p ? p[j] * old : 0));
            float f = cell_act_value(l->gate, gate[2 * d] + b[2 * d] + (p ? p[d + j] * old : 0));
            float now = f * old + i * g;
            float o =
                cell_act_value(l->gate, gate[3 * d] + b[3 * d] + (p ? p[2 * d + j] * now : 0));
            float act = cell_act_value(l->cell, now);
            gate[0] = g;
            gate[d] = i;
            gate[2 * d] = f;
            gate[3 * d] = o;
            c[r * d + j] = now;
            c_act[r * d + j] = act;
            h[r * d + j] = o * act;
        }
}

static const float *state_of(const struct kernel *k, int slot)
{
    return kernel_has(k, slot) ? tensor_f32(kernel_in(k, slot)) : NULL;
}

static enum skiff_status lstm_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    struct lstm l = lstm_of(k);
    struct cell_walk w;
    float *hidden = tensor_f32(kernel_out(k, OUT_HIDDEN));
    float *cell = tensor_f32(kernel_out(k, OUT_CELL)), *work;
    TRY(cell_walk_init(&w, k, lod_last(x->lod), k->attr[AT_REVERSE].b, err));
    int64_t d = l.width, n = w.sequences;
    TRY(kernel_floats(k, n * 9 * d, &work, err));
    float *gates = work, *h_prev = gates + n * 4 * d, *c_prev = h_prev + n * d;
    float *h = c_prev + n * d, *c = h + n * d, *c_act = c + n * d;
    for (int64_t t = 0; t < w.longest; t++) {
        int64_t m = cell_walk_step(&w, t);
        cell_gather(&w, tensor_f32(x), w.row, NULL, 4 * d, gates);
        cell_gather(&w, hidden, w.prev_row, state_of(k, IN_H0), d, h_prev);
        cell_gather(&w, cell, w.prev_row, state_of(k, IN_C0), d, c_prev);
        step_forward(&l, m, gates, h_prev, c_prev, h, c, c_act);
        cell_scatter(&w, h, d, hidden);
        cell_scatter(&w, c, d, cell);
        if (kernel_wants(k, OUT_GATE))
            cell_scatter(&w, gates, 4 * d, tensor_f32(kernel_out(k, OUT_GATE)));
        if (kernel_wants(k, OUT_CELL_ACT))
            cell_scatter(&w, c_act, d, tensor_f32(kernel_out(k, OUT_CELL_ACT)));
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

struct lstm_grad {
    struct lstm l;
    struct cell_walk w;
    float *gates, *dgates, *h_prev, *c_prev, *c, *c_act, *dh, *dc; /* of a step */
    float *carry_h, *carry_c; /* [sequences, D]: the gradient that flows back in time */
    float *dx, *dh0, *dc0, *dw, *dbias;
};

/* dh, dc [m, D] of this step -> dgates before the activations, dc of the step before. */
static void step_backward(struct lstm_grad *b, int64_t m)
{
    int64_t d = b->l.width;
    const float *p = b->l.peep;
    float *dpeep = b->dbias && p ? b->dbias + 4 * d : NULL;
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < d; j++) {
            const float *gate = b->gates + r * 4 * d + j;
            float *dgate = b->dgates + r * 4 * d + j;
            float g = gate[0], i = gate[d], f = gate[2 * d], o = gate[3 * d];
            float old = b->c_prev[r * d + j], act = b->c_act[r * d + j], dh = b->dh[r * d + j];
            float dout = dh * act * cell_act_slope(b->l.gate, o);
            float dc = b->dc[r * d + j] + dh * o * cell_act_slope(b->l.cell, act) +
                       (p ? p[2 * d + j] * dout : 0);
            dgate[0] = dc * i * cell_act_slope(b->l.cand, g);
            dgate[d] = dc * g * cell_act_slope(b->l.gate, i);
            dgate[2 * d] = dc * old * cell_act_slope(b->l.gate, f);
            dgate[3 * d] = dout;
            b->dc[r * d + j] = dc * f + (p ? p[j] * dgate[d] + p[d + j] * dgate[2 * d] : 0);
            if (dpeep) {
                dpeep[j] += dgate[d] * old;
                dpeep[d + j] += dgate[2 * d] * old;
                dpeep[2 * d + j] += dout * b->c[r * d + j];
            }
        }
}

static enum skiff_status lstm_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(lstm_check(c, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    if (infer_has(c, IN_H0)) {
        TRY(infer_like(c, IN_H0, 1, err));
        TRY(infer_like(c, IN_C0, 2, err));
    }
    TRY(infer_like(c, IN_WEIGHT, 3, err));
    return infer_like(c, IN_BIAS, 4, err);
}

/* The gradient of the input at the same position, set to 0. */
static float *grad_cleared(const struct kernel *k, int slot)
{
    float *p = kernel_grad(k, slot, slot);
    if (p)
        floats_zero(p, tensor_numel(kernel_out(k, slot)));
    return p;
}

static enum skiff_status grad_init(struct lstm_grad *b, struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    b->l = lstm_of(k);
    int64_t d = b->l.width, rows = x->shape.dims[0], n = lod_last(x->lod)->n - 1;
    static const int states[] = {GR_HIDDEN, GR_CELL, GR_CELL_ACT, GR_DHIDDEN};
    TRY(kernel_want_floats(k, GR_GATE, rows * 4 * d, err));
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        TRY(kernel_want_floats(k, states[i], rows * d, err));
    TRY(cell_walk_init(&b->w, k, lod_last(x->lod), k->attr[AT_REVERSE].b, err));
    TRY(kernel_floats(k, n * 16 * d, &b->gates, err));
    b->dgates = b->gates + n * 4 * d;
    float **parts[] = {&b->h_prev, &b->c_prev, &b->c,       &b->c_act,
                       &b->dh,     &b->dc,     &b->carry_h, &b->carry_c};
    for (int i = 0; i < 8; i++)
        *parts[i] = b->dgates + n * (4 + i) * d;
    floats_zero(b->carry_h, n * d);
    floats_zero(b->carry_c, n * d);
    b->dx = grad_cleared(k, 0);
    b->dh0 = grad_cleared(k, 1);
    b->dc0 = grad_cleared(k, 2);
    b->dw = grad_cleared(k, 3);
    b->dbias = grad_cleared(k, 4);
    return SKIFF_OK;
}

static void step_gather(struct lstm_grad *b, const struct kernel *k, int64_t m)
{
    const struct cell_walk *w = &b->w;
    int64_t d = b->l.width;
    cell_gather(w, tensor_f32(kernel_in(k, GR_GATE)), w->row, NULL, 4 * d, b->gates);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL_ACT)), w->row, NULL, d, b->c_act);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL)), w->row, NULL, d, b->c);
    cell_gather(w, tensor_f32(kernel_in(k, GR_CELL)), w->prev_row, state_of(k, IN_C0), d,
                b->c_prev);
    cell_gather(w, tensor_f32(kernel_in(k, GR_HIDDEN)), w->prev_row, state_of(k, IN_H0), d,
                b->h_prev);
    cell_gather(w, tensor_f32(kernel_in(k, GR_DHIDDEN)), w->row, NULL, d, b->dh);
    for (int64_t i = 0; i < m; i++) {
        math_axpy_f32(d, 1.0f, b->carry_h + w->seq[i] * d, b->dh + i * d);
        rows_move(b->dc + i * d, b->carry_c + w->seq[i] * d, d, sizeof(float));
    }
}

static enum skiff_status lstm_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct lstm_grad b;
    TRY(grad_init(&b, k, err));
    int64_t d = b.l.width;
    for (int64_t t = b.w.longest - 1; t >= 0; t--) {
        int64_t m = cell_walk_step(&b.w, t);
        step_gather(&b, k, m);
        step_backward(&b, m);
        math_gemm_f32(false, true, m, d, 4 * d, 1.0f, b.dgates, 4 * d, b.l.w, 4 * d, 0.0f, b.dh, d);
        for (int64_t i = 0; i < m; i++) {
            rows_move(b.carry_h + b.w.seq[i] * d, b.dh + i * d, d, sizeof(float));
            rows_move(b.carry_c + b.w.seq[i] * d, b.dc + i * d, d, sizeof(float));
        }
        if (b.dx)
            cell_scatter(&b.w, b.dgates, 4 * d, b.dx);
        if (b.dw)
            math_gemm_f32(true, false, d, 4 * d, m, 1.0f, b.h_prev, d, b.dgates, 4 * d, 1.0f, b.dw,
                          4 * d);
        for (int64_t i = 0; b.dbias && i < m * 4 * d; i++)
            b.dbias[i % (4 * d)] += b.dgates[i];
    }
    if (b.dh0)
        rows_move(b.dh0, b.carry_h, b.w.sequences * d, sizeof(float));
    if (b.dc0)
        rows_move(b.dc0, b.carry_c, b.w.sequences * d, sizeof(float));
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot lstm_ins[] = {
    {"Input", 0}, {"H0", SLOT_OPTIONAL}, {"C0", SLOT_OPTIONAL}, {"Weight", 0}, {"Bias", 0}, {0}};
static const struct op_slot lstm_outs[] = {
    {"Hidden", 0}, {"Cell", 0}, {"BatchGate", SLOT_EXTRA}, {"BatchCellPreAct", SLOT_EXTRA}, {0}};
static const struct op_slot lstm_grad_ins[] = {{"Input", SLOT_SHAPE_ONLY},
                                               {"H0", SLOT_OPTIONAL},
                                               {"C0", SLOT_OPTIONAL},
                                               {"Weight", 0},
                                               {"Bias", 0},
                                               {"Hidden", 0},
                                               {"Cell", 0},
                                               {"BatchGate", 0},
                                               {"BatchCellPreAct", 0},
                                               {"Hidden@GRAD", 0},
                                               {0}};
static const struct op_slot lstm_grad_outs[] = {
    {"Input@GRAD", SLOT_OPTIONAL},  {"H0@GRAD", SLOT_OPTIONAL},   {"C0@GRAD", SLOT_OPTIONAL},
    {"Weight@GRAD", SLOT_OPTIONAL}, {"Bias@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec lstm_attrs[] = {A_BOOL("use_peepholes", true),
                                                 A_BOOL("is_reverse", false),
                                                 A_STR("gate_activation", "sigmoid"),
                                                 A_STR("cell_activation", "tanh"),
                                                 A_STR("candidate_activation", "tanh"),
                                                 AF_BOOL("is_test", false, ATTR_ONLY_2X),
                                                 {0}};

const struct op_kind ops_lstm[] = {
    {.type = "lstm",
     .ins = lstm_ins,
     .outs = lstm_outs,
     .attrs = lstm_attrs,
     .grad = "Input H0 C0 Weight Bias Hidden Cell BatchGate BatchCellPreAct Hidden@GRAD -> "
             "Input@GRAD H0@GRAD C0@GRAD Weight@GRAD Bias@GRAD",
     .infer = lstm_infer,
     .run = lstm_run},
    {.type = "lstm_grad",
     .ins = lstm_grad_ins,
     .outs = lstm_grad_outs,
     .attrs = lstm_attrs,
     .infer = lstm_grad_infer,
     .run = lstm_grad_run},
    {0}};
