/* gru (a batch of sequences) and gru_unit (one step): inputs already multiplied by their weights.
 *
 *   u = gate(x_u + h Wu + b_u), r = gate(x_r + h Wr + b_r), c = act(x_c + (r h) Wc + b_c)
 *   h' = (1 - u) h + u c, or u h + (1 - u) c with origin_mode
 *
 * Weight [D, 3D] holds two matrices one after the other: [D, 2D] of u and r, then [D, D] of c.
 * Gate = (u, r, c), ResetHiddenPrev = r h, both kept for the gradient; those of `gru` are kept in
 * the order of the rows of Input.
 *
 * Gradient of a step: dc' = dc act'(c), d(rh) = dc' Wc^T, then through r, u and the
 * two ways of h. */
#include "ops/nn/cell.h"
#include "tensor/math.h"

struct gru {
    int64_t width; /* D */
    const float *w, *bias;
    enum cell_act act, gate;
    bool origin;
};

/* ---- one step of m rows ---- */

/* gates [m, 3D]: x on entry, (u, r, c) on return. */
static void step_forward(const struct gru *g, int64_t m, float *gates, const float *h_prev,
                         float *reset_h, float *h)
{
    int64_t d = g->width;
    for (int64_t i = 0; g->bias && i < m * 3 * d; i++)
        gates[i] += g->bias[i % (3 * d)];
    math_gemm_f32(false, false, m, 2 * d, d, 1.0f, h_prev, d, g->w, 2 * d, 1.0f, gates, 3 * d);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++) {
            float *gate = gates + i * 3 * d + j;
            gate[0] = cell_act_value(g->gate, gate[0]);
            gate[d] = cell_act_value(g->gate, gate[d]);
            reset_h[i * d + j] = gate[d] * h_prev[i * d + j];
        }
    math_gemm_f32(false, false, m, d, d, 1.0f, reset_h, d, g->w + 2 * d * d, d, 1.0f, gates + 2 * d,
                  3 * d);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++) {
            float *gate = gates + i * 3 * d + j, u = gate[0], p = h_prev[i * d + j];
            float c = gate[2 * d] = cell_act_value(g->act, gate[2 * d]);
            h[i * d + j] = g->origin ? u * p + (1.0f - u) * c : (1.0f - u) * p + u * c;
        }
}

/* From dh [m, D]: dgates [m, 3D] before the activations, dh_prev [m, D]; adds to dw when there.
 * work: [m, D]. */
static void step_backward(const struct gru *g, int64_t m, const float *gates, const float *h_prev,
                          const float *reset_h, const float *dh, float *dgates, float *dh_prev,
                          float *dw, float *work)
{
    int64_t d = g->width;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++) {
            const float *gate = gates + i * 3 * d + j;
            float u = gate[0], c = gate[2 * d], p = h_prev[i * d + j], up = dh[i * d + j];
            float du = g->origin ? up * (p - c) : up * (c - p);
            float dc = g->origin ? up * (1.0f - u) : up * u;
            dgates[i * 3 * d + j] = du * cell_act_slope(g->gate, u);
            dgates[i * 3 * d + 2 * d + j] = dc * cell_act_slope(g->act, c);
            dh_prev[i * d + j] = g->origin ? up * u : up * (1.0f - u);
        }
    math_gemm_f32(false, true, m, d, d, 1.0f, dgates + 2 * d, 3 * d, g->w + 2 * d * d, d, 0.0f,
                  work, d);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++) {
            float r = gates[i * 3 * d + d + j], p = h_prev[i * d + j];
            dgates[i * 3 * d + d + j] = work[i * d + j] * p * cell_act_slope(g->gate, r);
            dh_prev[i * d + j] += work[i * d + j] * r;
        }
    math_gemm_f32(false, true, m, d, 2 * d, 1.0f, dgates, 3 * d, g->w, 2 * d, 1.0f, dh_prev, d);
    if (!dw)
        return;
    math_gemm_f32(true, false, d, 2 * d, m, 1.0f, h_prev, d, dgates, 3 * d, 1.0f, dw, 2 * d);
    math_gemm_f32(true, false, d, d, m, 1.0f, reset_h, d, dgates + 2 * d, 3 * d, 1.0f,
                  dw + 2 * d * d, d);
}

static void add_columns(const float *x, int64_t rows, int64_t width, float *sum)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++)
            sum[j] += x[i * width + j];
}

/* ---- shapes ---- */

enum {
    IN_INPUT,
    IN_STATE,
    IN_WEIGHT,
    IN_BIAS
}; /* state: H0 or HiddenPrev; same in the gradients */

static enum skiff_status gru_check(const struct infer *c, struct skiff_error *err)
{
    for (int s = IN_INPUT; s <= IN_BIAS; s++)
        TRY(infer_want(c, s, DTYPE_FP32, err));
    TRY(infer_want_rank(c, IN_INPUT, 2, err));
    TRY(infer_want_rank(c, IN_WEIGHT, 2, err));
    TRY(infer_want_rank(c, IN_STATE, 2, err));
    const struct shape *x = infer_in(c, IN_INPUT, 0), *w = infer_in(c, IN_WEIGHT, 0);
    const struct shape *bias = infer_in(c, IN_BIAS, 0), *h = infer_in(c, IN_STATE, 0);
    int64_t d = w->dims[0];
    if (d < 1 || w->dims[1] != 3 * d)
        return infer_fail(c, IN_WEIGHT, 0, err, "must be [D, 3 D]");
    if (!dims_agree(x->dims[1], 3 * d))
        return infer_fail(c, IN_INPUT, 0, err, "must have %lld columns", (long long)(3 * d));
    if (bias && shape_numel(bias) != 3 * d)
        return infer_fail(c, IN_BIAS, 0, err, "must have %lld values", (long long)(3 * d));
    if (h && !dims_agree(h->dims[1], d))
        return infer_fail(c, IN_STATE, 0, err, "must have %lld columns", (long long)d);
    return SKIFF_OK;
}

/* ---- gru ---- */

enum { GR_GATE = 4, GR_RESET, GR_BATCH_HIDDEN, GR_HIDDEN, GR_DHIDDEN };
enum { OUT_GATE, OUT_RESET, OUT_BATCH_HIDDEN, OUT_HIDDEN };
enum { AT_ACT, AT_GATE, AT_REVERSE, AT_ORIGIN };

static enum skiff_status seq_check(const struct infer *c, struct skiff_error *err)
{
    TRY(gru_check(c, err));
    TRY(infer_want_lod(c, IN_INPUT, err));
    for (int a = AT_ACT; a <= AT_GATE; a++)
        if (cell_act_of(c->attr[a].s) == CELL_UNKNOWN)
            return error_set(err, SKIFF_INVALID, "op %s: activation '%s' is not known",
                             c->kind->type, c->attr[a].s ? c->attr[a].s : "");
    const struct shape *h = infer_in(c, IN_STATE, 0);
    if (c->running && h && h->dims[0] != lod_last(infer_in_lod(c, IN_INPUT, 0))->n - 1)
        return infer_fail(c, IN_STATE, 0, err, "must have one row per sequence of Input");
    return SKIFF_OK;
}

static enum skiff_status gru_infer(struct infer *c, struct skiff_error *err)
{
    TRY(seq_check(c, err));
    int64_t rows = infer_in(c, IN_INPUT, 0)->dims[0], d = infer_in(c, IN_WEIGHT, 0)->dims[0];
    struct shape gates = SHAPE(rows, 3 * d), hidden = SHAPE(rows, d);
    TRY(infer_out(c, OUT_GATE, 0, DTYPE_FP32, &gates, err));
    TRY(infer_out(c, OUT_RESET, 0, DTYPE_FP32, &hidden, err));
    TRY(infer_out(c, OUT_BATCH_HIDDEN, 0, DTYPE_FP32, &hidden, err));
    TRY(infer_out(c, OUT_HIDDEN, 0, DTYPE_FP32, &hidden, err));
    infer_share_lod(c, IN_INPUT, 0, OUT_HIDDEN, 0);
    return SKIFF_OK;
}

static struct gru gru_of(const struct kernel *k)
{
    return (struct gru){.width = kernel_in(k, IN_WEIGHT)->shape.dims[0],
                        .w = tensor_f32(kernel_in(k, IN_WEIGHT)),
                        .bias = kernel_has(k, IN_BIAS) ? tensor_f32(kernel_in(k, IN_BIAS)) : NULL,
                        .act = cell_act_of(k->attr[AT_ACT].s),
                        .gate = cell_act_of(k->attr[AT_GATE].s),
                        .origin = k->attr[AT_ORIGIN].b};
}

static enum skiff_status gru_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    struct gru g = gru_of(k);
    struct cell_walk w;
    const float *h0 = kernel_has(k, IN_STATE) ? tensor_f32(kernel_in(k, IN_STATE)) : NULL;
    float *hidden = tensor_f32(kernel_out(k, OUT_HIDDEN)), *work;
    int64_t d = g.width;
    TRY(cell_walk_init(&w, k, lod_last(x->lod), k->attr[AT_REVERSE].b, err));
    TRY(kernel_floats(k, w.sequences * 6 * d, &work, err));
    float *gates = work, *prev = gates + w.sequences * 3 * d, *reset = prev + w.sequences * d;
    float *h = reset + w.sequences * d;
    for (int64_t t = 0; t < w.longest; t++) {
        int64_t m = cell_walk_step(&w, t);
        cell_gather(&w, tensor_f32(x), w.row, NULL, 3 * d, gates);
        cell_gather(&w, hidden, w.prev_row, h0, d, prev);
        step_forward(&g, m, gates, prev, reset, h);
        cell_scatter(&w, h, d, hidden);
        if (kernel_wants(k, OUT_GATE))
            cell_scatter(&w, gates, 3 * d, tensor_f32(kernel_out(k, OUT_GATE)));
        if (kernel_wants(k, OUT_RESET))
            cell_scatter(&w, reset, d, tensor_f32(kernel_out(k, OUT_RESET)));
        if (kernel_wants(k, OUT_BATCH_HIDDEN))
            cell_scatter(&w, h, d, tensor_f32(kernel_out(k, OUT_BATCH_HIDDEN)));
    }
    return SKIFF_OK;
}

static enum skiff_status gru_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(seq_check(c, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    if (infer_has(c, IN_STATE))
        TRY(infer_like(c, IN_STATE, 1, err));
    TRY(infer_like(c, IN_WEIGHT, 2, err));
    return infer_has(c, IN_BIAS) ? infer_like(c, IN_BIAS, 3, err) : SKIFF_OK;
}

/* The gradient of the input at the same position, set to 0. */
static float *grad_cleared(const struct kernel *k, int slot)
{
    float *p = kernel_grad(k, slot, slot);
    if (p)
        floats_zero(p, tensor_numel(kernel_out(k, slot)));
    return p;
}

struct gru_grad {
    struct gru g;
    struct cell_walk w;
    float *gates, *dgates, *prev, *reset, *dh, *dprev, *work; /* of a step */
    float *carry; /* [sequences, D]: dh that flows back */
};

static enum skiff_status grad_init(struct gru_grad *b, struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    b->g = gru_of(k);
    int64_t d = b->g.width, rows = x->shape.dims[0], n = lod_last(x->lod)->n - 1;
    TRY(kernel_want_floats(k, GR_GATE, rows * 3 * d, err));
    TRY(kernel_want_floats(k, GR_RESET, rows * d, err));
    TRY(kernel_want_floats(k, GR_HIDDEN, rows * d, err));
    TRY(kernel_want_floats(k, GR_DHIDDEN, rows * d, err));
    TRY(cell_walk_init(&b->w, k, lod_last(x->lod), k->attr[AT_REVERSE].b, err));
    TRY(kernel_floats(k, n * 12 * d, &b->gates, err));
    b->dgates = b->gates + n * 3 * d;
    b->prev = b->dgates + n * 3 * d;
    b->reset = b->prev + n * d;
    b->dh = b->reset + n * d;
    b->dprev = b->dh + n * d;
    b->work = b->dprev + n * d;
    b->carry = b->work + n * d;
    floats_zero(b->carry, n * d);
    return SKIFF_OK;
}

static enum skiff_status gru_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct gru_grad b;
    TRY(grad_init(&b, k, err));
    struct cell_walk *w = &b.w;
    int64_t d = b.g.width;
    const float *h0 = kernel_has(k, IN_STATE) ? tensor_f32(kernel_in(k, IN_STATE)) : NULL;
    float *dx = grad_cleared(k, 0), *dh0 = grad_cleared(k, 1), *dw = grad_cleared(k, 2);
    float *db = grad_cleared(k, 3);
    for (int64_t t = w->longest - 1; t >= 0; t--) {
        int64_t m = cell_walk_step(w, t);
        cell_gather(w, tensor_f32(kernel_in(k, GR_GATE)), w->row, NULL, 3 * d, b.gates);
        cell_gather(w, tensor_f32(kernel_in(k, GR_RESET)), w->row, NULL, d, b.reset);
        cell_gather(w, tensor_f32(kernel_in(k, GR_HIDDEN)), w->prev_row, h0, d, b.prev);
        cell_gather(w, tensor_f32(kernel_in(k, GR_DHIDDEN)), w->row, NULL, d, b.dh);
        for (int64_t i = 0; i < m; i++)
            math_axpy_f32(d, 1.0f, b.carry + w->seq[i] * d, b.dh + i * d);
        step_backward(&b.g, m, b.gates, b.prev, b.reset, b.dh, b.dgates, b.dprev, dw, b.work);
        for (int64_t i = 0; i < m; i++)
            rows_move(b.carry + w->seq[i] * d, b.dprev + i * d, d, sizeof(float));
        if (dx)
            cell_scatter(w, b.dgates, 3 * d, dx);
        if (db)
            add_columns(b.dgates, m, 3 * d, db);
    }
    if (dh0)
        rows_move(dh0, b.carry, w->sequences * d, sizeof(float));
    return SKIFF_OK;
}

/* ---- gru_unit ---- */

enum { UN_ACT, UN_GATE, UN_ORIGIN };
enum { UG_GATE = 4, UG_RESET, UG_DHIDDEN };

static enum skiff_status unit_check(const struct infer *c, struct skiff_error *err)
{
    TRY(gru_check(c, err));
    const struct shape *x = infer_in(c, IN_INPUT, 0), *h = infer_in(c, IN_STATE, 0);
    if (!dims_agree(x->dims[0], h->dims[0]))
        return infer_fail(c, IN_STATE, 0, err, "must have as many rows as Input");
    for (int a = UN_ACT; a <= UN_GATE; a++)
        if (c->attr[a].i < 0 || c->attr[a].i >= CELL_UNKNOWN)
            return infer_fail(c, IN_INPUT, 0, err, "activation %d is not known", c->attr[a].i);
    return SKIFF_OK;
}

static enum skiff_status unit_infer(struct infer *c, struct skiff_error *err)
{
    TRY(unit_check(c, err));
    int64_t rows = infer_in(c, IN_INPUT, 0)->dims[0], d = infer_in(c, IN_WEIGHT, 0)->dims[0];
    struct shape gates = SHAPE(rows, 3 * d), hidden = SHAPE(rows, d);
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &gates, err));
    TRY(infer_out(c, 1, 0, DTYPE_FP32, &hidden, err));
    return infer_out(c, 2, 0, DTYPE_FP32, &hidden, err);
}

static struct gru unit_of(const struct kernel *k)
{
    return (struct gru){.width = kernel_in(k, IN_WEIGHT)->shape.dims[0],
                        .w = tensor_f32(kernel_in(k, IN_WEIGHT)),
                        .bias = kernel_has(k, IN_BIAS) ? tensor_f32(kernel_in(k, IN_BIAS)) : NULL,
                        .act = (enum cell_act)k->attr[UN_ACT].i,
                        .gate = (enum cell_act)k->attr[UN_GATE].i,
                        .origin = k->attr[UN_ORIGIN].b};
}

static enum skiff_status unit_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, IN_INPUT);
    struct gru g = unit_of(k);
    int64_t m = x->shape.dims[0], d = g.width;
    float *work;
    TRY(kernel_floats(k, m * 4 * d, &work, err));
    float *gates = kernel_wants(k, 0) ? tensor_f32(kernel_out(k, 0)) : work;
    float *reset = kernel_wants(k, 1) ? tensor_f32(kernel_out(k, 1)) : work + m * 3 * d;
    rows_move(gates, x->data, m * 3 * d, sizeof(float));
    if (m)
        step_forward(&g, m, gates, tensor_f32(kernel_in(k, IN_STATE)), reset,
                     tensor_f32(kernel_out(k, 2)));
    return SKIFF_OK;
}

static enum skiff_status unit_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(unit_check(c, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    TRY(infer_like(c, IN_STATE, 1, err));
    TRY(infer_like(c, IN_WEIGHT, 2, err));
    return infer_has(c, IN_BIAS) ? infer_like(c, IN_BIAS, 3, err) : SKIFF_OK;
}

static enum skiff_status unit_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct gru g = unit_of(k);
    int64_t m = kernel_in(k, IN_INPUT)->shape.dims[0], d = g.width;
    float *work;
    TRY(kernel_want_floats(k, UG_GATE, m * 3 * d, err));
    TRY(kernel_want_floats(k, UG_RESET, m * d, err));
    TRY(kernel_want_floats(k, UG_DHIDDEN, m * d, err));
    TRY(kernel_floats(k, m * 5 * d, &work, err));
    float *dgates = kernel_wants(k, 0) ? tensor_f32(kernel_out(k, 0)) : work;
    float *dprev = kernel_wants(k, 1) ? tensor_f32(kernel_out(k, 1)) : work + m * 3 * d;
    float *dw = grad_cleared(k, 2), *db = grad_cleared(k, 3);
    if (m)
        step_backward(&g, m, tensor_f32(kernel_in(k, UG_GATE)), tensor_f32(kernel_in(k, IN_STATE)),
                      tensor_f32(kernel_in(k, UG_RESET)), tensor_f32(kernel_in(k, UG_DHIDDEN)),
                      dgates, dprev, dw, work + m * 4 * d);
    if (db)
        add_columns(dgates, m, 3 * d, db);
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot gru_ins[] = {
    {"Input", 0}, {"H0", SLOT_OPTIONAL}, {"Weight", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot gru_outs[] = {{"BatchGate", SLOT_EXTRA},
                                          {"BatchResetHiddenPrev", SLOT_EXTRA},
                                          {"BatchHidden", SLOT_EXTRA},
                                          {"Hidden", 0},
                                          {0}};
static const struct op_slot gru_grad_ins[] = {{"Input", SLOT_SHAPE_ONLY},
                                              {"H0", SLOT_OPTIONAL},
                                              {"Weight", 0},
                                              {"Bias", SLOT_OPTIONAL},
                                              {"BatchGate", 0},
                                              {"BatchResetHiddenPrev", 0},
                                              {"BatchHidden", SLOT_SHAPE_ONLY},
                                              {"Hidden", 0},
                                              {"Hidden@GRAD", 0},
                                              {0}};
static const struct op_slot gru_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                               {"H0@GRAD", SLOT_OPTIONAL},
                                               {"Weight@GRAD", SLOT_OPTIONAL},
                                               {"Bias@GRAD", SLOT_OPTIONAL},
                                               {0}};
static const struct op_attr_spec gru_attrs[] = {A_STR("activation", "tanh"),
                                                A_STR("gate_activation", "sigmoid"),
                                                A_BOOL("is_reverse", false),
                                                A_BOOL("origin_mode", false),
                                                {0}};

static const struct op_slot unit_ins[] = {
    {"Input", 0}, {"HiddenPrev", 0}, {"Weight", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot unit_outs[] = {
    {"Gate", SLOT_EXTRA}, {"ResetHiddenPrev", SLOT_EXTRA}, {"Hidden", 0}, {0}};
static const struct op_slot unit_grad_ins[] = {{"Input", SLOT_SHAPE_ONLY},
                                               {"HiddenPrev", 0},
                                               {"Weight", 0},
                                               {"Bias", SLOT_OPTIONAL},
                                               {"Gate", 0},
                                               {"ResetHiddenPrev", 0},
                                               {"Hidden@GRAD", 0},
                                               {0}};
static const struct op_slot unit_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                                {"HiddenPrev@GRAD", SLOT_OPTIONAL},
                                                {"Weight@GRAD", SLOT_OPTIONAL},
                                                {"Bias@GRAD", SLOT_OPTIONAL},
                                                {0}};
static const struct op_attr_spec unit_attrs[] = {
    A_INT("activation", 2), A_INT("gate_activation", 1), A_BOOL("origin_mode", false), {0}};

const struct op_kind ops_gru[] = {
    {.type = "gru",
     .ins = gru_ins,
     .outs = gru_outs,
     .attrs = gru_attrs,
     .grad =
         "Input H0 Weight Bias BatchGate BatchResetHiddenPrev BatchHidden Hidden Hidden@GRAD -> "
         "Input@GRAD H0@GRAD Weight@GRAD Bias@GRAD",
     .infer = gru_infer,
     .run = gru_run},
    {.type = "gru_grad",
     .ins = gru_grad_ins,
     .outs = gru_grad_outs,
     .attrs = gru_attrs,
     .infer = gru_grad_infer,
     .run = gru_grad_run},
    {.type = "gru_unit",
     .ins = unit_ins,
     .outs = unit_outs,
     .attrs = unit_attrs,
     .grad = "Input HiddenPrev Weight Bias Gate ResetHiddenPrev Hidden@GRAD -> Input@GRAD "
             "HiddenPrev@GRAD Weight@GRAD Bias@GRAD",
     .infer = unit_infer,
     .run = unit_run},
    {.type = "gru_unit_grad",
     .ins = unit_grad_ins,
     .outs = unit_grad_outs,
     .attrs = unit_attrs,
     .infer = unit_grad_infer,
     .run = unit_grad_run},
    {0}};
