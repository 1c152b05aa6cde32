/* act(X W + b): a matmul whose result goes into nothing but a bias addition, whose result goes into
 * nothing but an activation (which may be missing), together with the three gradient ops when the
 * program has them.
 *
 *   forward   matmul(X, W) -> t0
 *             add(t0, b) -> t1
 *             act(t1) -> t2                      =>  fused_fc(X, W, b) -> t2
 *   backward  act_grad(t2, dt2) -> dt1
 *             add_grad(dt1) -> dt0, db
 *             matmul_grad(X, W, dt0) -> dX, dW   =>  fused_fc_grad(X, W, t2, dt2) -> dX, dW, db
 *
 * t0, t1, dt1, dt0 disappear, so nobody else may read them and none may be fetched. */
#include <string.h>

#include "passes/fuse_parts.h"

struct fc_match {
    struct skiff_op *matmul, *add, *act;                /* act may be NULL */
    struct skiff_op *matmul_grad, *add_grad, *act_grad; /* all NULL in a program without backward */
    const char *x, *w, *bias, *t0, *t1, *t2;            /* t2 == t1 without activation */
    const char *dout;
    int cols;        /* x_num_col_dims */
    bool any_number; /* of leading dims will do: a matmul, and a bias for the last dim */
};

/* A plain X [.., k] times W [k, n] in float32, and how many leading dims of X make its rows; 0: not
 * of that form. */
static int plain_matmul(const struct graph *g, const struct skiff_op *op)
{
    const struct skiff_var *x = block_find_var(g->block, op_in1(op, "X"));
    const struct skiff_var *w = block_find_var(g->block, op_in1(op, "Y"));
    if (!x || !w || !w->has_tensor || w->shape.ndim != 2 || x->dtype != DTYPE_FP32 ||
        w->dtype != DTYPE_FP32 || x->shape.ndim < 2)
        return 0;
    if (attr_true(op, "trans_x") || attr_true(op, "trans_y") || attr_true(op, "transpose_X") ||
        attr_true(op, "transpose_Y") || attr_int(op, "y_num_col_dims", 1) != 1)
        return 0;
    const struct op_attr_value *alpha = op_attr(op, "alpha");
    if (alpha && (alpha->type != ATTR_FLOAT || alpha->value.f != 1.0f))
        return 0;
    int cols =
        op_attr(op, "x_num_col_dims") ? attr_int(op, "x_num_col_dims", 1) : x->shape.ndim - 1;
    return cols > 0 && cols < x->shape.ndim ? cols : 0;
}

/* Y of the addition is a vector along the last dimension. */
static bool is_bias(const struct graph *g, const struct skiff_op *add, int cols, const char *w_name)
{
    const struct skiff_var *b = block_find_var(g->block, op_in1(add, "Y"));
    const struct skiff_var *w = block_find_var(g->block, w_name);
    int axis = attr_int(add, "axis", -1);
    return b && b->dtype == DTYPE_FP32 && b->shape.ndim == 1 && b->shape.dims[0] >= 0 &&
           b->shape.dims[0] == w->shape.dims[1] && (axis == -1 || axis == cols);
}

static bool match_forward(const struct graph *g, struct skiff_op *matmul, struct fc_match *m)
{
    memset(m, 0, sizeof(*m));
    m->matmul = matmul;
    m->x = op_in1(matmul, "X");
    m->w = op_in1(matmul, "Y");
    m->t0 = op_out1(matmul, "Out");
    if (!m->x || !m->w || !m->t0 || !(m->cols = plain_matmul(g, matmul)))
        return false;
    m->add = graph_reader(g, m->t0, "X", CLASS_ADD);
    if (!m->add || !(m->bias = op_in1(m->add, "Y")) || !is_bias(g, m->add, m->cols, m->w))
        return false;
    m->any_number = !op_attr(matmul, "x_num_col_dims") && attr_int(m->add, "axis", -1) == -1;
    m->t1 = m->t2 = op_out1(m->add, "Out");
    m->act = m->t1 ? graph_reader(g, m->t1, "X", CLASS_ACT) : NULL;
    if (m->act)
        m->t2 = op_out1(m->act, "Out");
    return m->t2 != NULL;
}

/* The gradient ops of exactly these forward ops. */
static void match_backward(const struct graph *g, struct fc_match *m)
{
    m->act_grad = m->matmul_grad = NULL;
    m->add_grad = graph_reader(g, m->t0, "X", CLASS_ADD_GRAD);
    if (!m->add_grad)
        return;
    const char *dt0 = op_out1(m->add_grad, "X@GRAD");
    if (dt0)
        m->matmul_grad = graph_reader(g, dt0, "Out@GRAD", CLASS_MATMUL_GRAD);
    m->dout = op_in1(m->add_grad, "Out@GRAD");
    if (m->act && m->dout)
        m->act_grad = graph_writer(g, m->dout, CLASS_ACT_GRAD);
    if (m->act_grad)
        m->dout = op_in1(m->act_grad, "Out@GRAD");
}

static bool backward_complete(const struct graph *g, const struct fc_match *m)
{
    if (!m->add_grad)
        return true; /* no backward at all: others reading t0, t1 are found by graph_private */
    if (!m->matmul_grad || !m->dout || (m->act && !m->act_grad))
        return false;
    if (!same_name(op_in1(m->add_grad, "Y"), m->bias) ||
        !same_name(op_in1(m->matmul_grad, "X"), m->x) ||
        !same_name(op_in1(m->matmul_grad, "Y"), m->w))
        return false;
    if (m->act_grad && (m->act_grad->kind->arg != m->act->kind->arg ||
                        !same_name(op_in1(m->act_grad, "Out"), m->t2)))
        return false;
    const char *dt0 = op_out1(m->add_grad, "X@GRAD"), *dt1 = op_in1(m->add_grad, "Out@GRAD");
    if (!graph_private(g, dt0, &m->matmul_grad, 1))
        return false;
    return !m->act_grad || graph_private(g, dt1, &m->add_grad, 1);
}

static bool match_is_private(const struct graph *g, const struct fc_match *m)
{
    struct skiff_op *t0_readers[] = {m->add, m->add_grad};
    struct skiff_op *t1_readers[] = {m->act, m->act_grad};
    if (!graph_private(g, m->t0, t0_readers, 2))
        return false;
    return !m->act || graph_private(g, m->t1, t1_readers, 2);
}

/* The inputs are read where the last of the ops stood, and the gradients of the bias are written
 * where matmul_grad stood: later than before. Does any op in between notice? */
static bool order_kept(const struct graph *g, const struct fc_match *m)
{
    int matmul = graph_position(g, m->matmul), add = graph_position(g, m->add),
        last = graph_position(g, m->act ? m->act : m->add);
    if (graph_written_between(g, m->x, matmul, last) ||
        graph_written_between(g, m->w, matmul, last) ||
        graph_written_between(g, m->bias, add, last))
        return false;
    if (!m->add_grad)
        return true;
    int first = graph_position(g, m->act_grad ? m->act_grad : m->add_grad),
        add_grad = graph_position(g, m->add_grad), matmul_grad = graph_position(g, m->matmul_grad);
    return !graph_written_between(g, m->dout, first, matmul_grad) &&
           !graph_written_between(g, m->t2, first, matmul_grad) &&
           !graph_touched_between(g, op_out1(m->add_grad, "Y@GRAD"), add_grad, matmul_grad);
}

/* A variable that disappears must not be another argument of the fused ops. */
static bool nothing_lost(const struct fc_match *m)
{
    bool grad = m->add_grad != NULL;
    const char *lost[] = {m->t0, m->act ? m->t1 : NULL,
                          grad ? op_out1(m->add_grad, "X@GRAD") : NULL,
                          m->act_grad ? op_in1(m->add_grad, "Out@GRAD") : NULL};
    const char *used[] = {m->x,
                          m->w,
                          m->bias,
                          m->t2,
                          m->dout,
                          grad ? op_out1(m->add_grad, "Y@GRAD") : NULL,
                          grad ? op_out1(m->matmul_grad, "X@GRAD") : NULL,
                          grad ? op_out1(m->matmul_grad, "Y@GRAD") : NULL};
    return !names_meet(lost, 4, used, 8);
}

static bool match_fits(const struct graph *g, const struct fc_match *m)
{
    return backward_complete(g, m) && match_is_private(g, m) && order_kept(g, m) && nothing_lost(m);
}

static void set_one_in(struct graph *g, struct skiff_op *op, const char *slot, const char *name)
{
    op_set_in(g->program, op, slot, name ? 1 : 0, &name);
}

static void set_one_out(struct graph *g, struct skiff_op *op, const char *slot, const char *name)
{
    op_set_out(g->program, op, slot, name ? 1 : 0, &name);
}

static void set_attrs(struct graph *g, struct skiff_op *op, const struct fc_match *m, int role)
{
    op_set_int(g->program, op, "x_num_col_dims", m->any_number ? -1 : m->cols);
    op_set_int(g->program, op, "act", m->act ? m->act->kind->arg : 0);
    op_set_int(g->program, op, "op_role", role);
}

static void replace(struct graph *g, const struct fc_match *m)
{
    struct skiff_op *fc = graph_replace(g, m->act ? m->act : m->add, "fused_fc");
    set_one_in(g, fc, "X", m->x);
    set_one_in(g, fc, "W", m->w);
    set_one_in(g, fc, "Bias", m->bias);
    set_one_out(g, fc, "Out", m->t2);
    set_attrs(g, fc, m, ROLE_FORWARD);
    graph_drop(g, m->matmul);
    if (m->act)
        graph_drop(g, m->add);
    if (!m->add_grad)
        return;
    const char *dx = op_out1(m->matmul_grad, "X@GRAD");
    const char *dw = op_out1(m->matmul_grad, "Y@GRAD");
    const char *db = op_out1(m->add_grad, "Y@GRAD");
    struct skiff_op *grad = graph_replace(g, m->matmul_grad, "fused_fc_grad");
    set_one_in(g, grad, "X", m->x);
    set_one_in(g, grad, "W", m->w);
    set_one_in(g, grad, "Out", m->t2);
    set_one_in(g, grad, "Out@GRAD", m->dout);
    set_one_out(g, grad, "X@GRAD", dx);
    set_one_out(g, grad, "W@GRAD", dw);
    set_one_out(g, grad, "Bias@GRAD", db);
    set_attrs(g, grad, m, ROLE_BACKWARD);
    graph_drop(g, m->add_grad);
    if (m->act_grad)
        graph_drop(g, m->act_grad);
}

int fuse_fc(struct graph *g)
{
    int fused = 0;
    int nops = g->block->nops;
    for (int i = 0; i < nops; i++) {
        struct skiff_op *op = g->block->ops[i];
        struct fc_match m;
        if (!op || !op->kind || op->kind->class != CLASS_MATMUL || !match_forward(g, op, &m))
            continue;
        match_backward(g, &m);
        if (m.act && !match_fits(g, &m)) {
            m.act = NULL; /* the sum is needed elsewhere: fuse without the activation */
            m.t2 = m.t1;
            match_backward(g, &m);
        }
        if (!match_fits(g, &m))
            continue;
        replace(g, &m);
        fused++;
    }
    return fused;
}
