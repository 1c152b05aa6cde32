/* softmax(x) -> s; xent(s, label) -> y, with xent_grad -> ds and softmax_grad -> dx: the
 * probabilities s stay (metrics read them), ds and the helpers of the cross entropy (MatchX,
 * XShape) disappear.
 *
 * The fused op stands where softmax stood, so that readers of s find it; or, when the label comes
 * only after that, where xent stood. */
#include <string.h>

#include "passes/fuse_parts.h"

struct xent_match {
    struct skiff_op *softmax, *xent, *xent_grad, *softmax_grad;
    struct skiff_op *anchor; /* softmax or xent: where the fused op stands */
    const char *x, *s, *label, *y;
};

static int ignored_label(const struct skiff_op *xent)
{
    return attr_int(xent, "ignore_index", -100);
}

static bool last_axis(const struct skiff_op *softmax)
{
    const struct op_attr_value *axis = op_attr(softmax, "axis");
    return !axis || (axis->type == ATTR_INT && axis->value.i == -1);
}

static bool types_fit(const struct graph *g, const struct xent_match *m)
{
    const struct skiff_var *x = block_find_var(g->block, m->x),
                           *label = block_find_var(g->block, m->label);
    const struct op_attr_value *soft = op_attr(m->xent, "soft_label");
    return x && label && x->dtype == DTYPE_FP32 && x->shape.ndim == 2 &&
           label->dtype == DTYPE_INT64 && label->shape.ndim == 2 &&
           !(soft && soft->type == ATTR_BOOLEAN && soft->value.b);
}

/* What xent writes besides Y serves its gradient alone. */
static bool helpers_private(const struct graph *g, const struct xent_match *m)
{
    for (int i = 0; i < m->xent->nouts; i++)
        for (int j = 0; j < m->xent->outs[i].n; j++) {
            const char *name = m->xent->outs[i].names[j];
            if (strcmp(name, m->y) && !graph_private(g, name, &m->xent_grad, 1))
                return false;
        }
    return true;
}

/* The gradient op of this very cross entropy: all its inputs besides the slots below are helpers
 * that the forward op writes. */
static bool is_gradient_of(const struct skiff_op *grad, const struct skiff_op *xent)
{
    for (int i = 0; i < grad->nins; i++) {
        const struct op_arg *arg = &grad->ins[i];
        if (!strcmp(arg->slot, "X") || !strcmp(arg->slot, "Label") || !strcmp(arg->slot, "Y@GRAD"))
            continue;
        for (int j = 0; j < arg->n; j++)
            if (!op_writes(xent, arg->names[j]))
                return false;
    }
    const struct op_arg *x = op_in(grad, "X");
    return (!x || same_name(op_in1(grad, "X"), op_in1(xent, "X"))) &&
           same_name(op_in1(grad, "Label"), op_in1(xent, "Label")) &&
           ignored_label(grad) == ignored_label(xent);
}

static bool match_grads(const struct graph *g, struct xent_match *m)
{
    m->softmax_grad = graph_reader(g, m->s, "Out", CLASS_SOFTMAX_GRAD);
    if (!m->softmax_grad)
        return true;
    const char *ds = op_in1(m->softmax_grad, "Out@GRAD");
    m->xent_grad = ds ? graph_writer(g, ds, CLASS_XENT_GRAD) : NULL;
    if (!m->xent_grad || !graph_private(g, ds, &m->softmax_grad, 1) ||
        !is_gradient_of(m->xent_grad, m->xent) || !op_out1(m->softmax_grad, "X@GRAD"))
        return false;
    int from = graph_position(g, m->xent_grad), to = graph_position(g, m->softmax_grad);
    const char *dy = op_in1(m->xent_grad, "Y@GRAD");
    return dy && !graph_written_between(g, dy, from, to) &&
           !graph_written_between(g, m->label, from, to);
}

static bool match_anchor(const struct graph *g, struct xent_match *m)
{
    int softmax = graph_position(g, m->softmax), xent = graph_position(g, m->xent);
    if (!graph_written_between(g, m->label, softmax, xent) &&
        !graph_touched_between(g, m->y, softmax, xent))
        m->anchor = m->softmax;
    else if (!graph_written_between(g, m->x, softmax, xent) &&
             !graph_touched_between(g, m->s, softmax, xent))
        m->anchor = m->xent;
    return m->anchor;
}

static bool match_xent(const struct graph *g, struct skiff_op *xent, struct xent_match *m)
{
    *m = (struct xent_match){.xent = xent};
    m->s = op_in1(xent, "X");
    m->label = op_in1(xent, "Label");
    m->y = op_out1(xent, "Y");
    m->softmax = m->s ? graph_writer(g, m->s, CLASS_SOFTMAX) : NULL;
    if (!m->softmax || !m->label || !m->y || !last_axis(m->softmax))
        return false;
    m->x = op_in1(m->softmax, "X");
    return m->x && types_fit(g, m) && match_grads(g, m) && helpers_private(g, m) &&
           match_anchor(g, m);
}

static void set_ignore(struct graph *g, struct skiff_op *op, const struct xent_match *m, int role)
{
    op_set_int(g->program, op, "ignore_index", ignored_label(m->xent));
    op_set_int(g->program, op, "op_role", role);
}

static void replace(struct graph *g, const struct xent_match *m)
{
    struct skiff_op *fused = graph_replace(g, m->anchor, "fused_softmax_xent");
    op_set_in(g->program, fused, "Logits", 1, &m->x);
    op_set_in(g->program, fused, "Label", 1, &m->label);
    op_set_out(g->program, fused, "Softmax", 1, &m->s);
    op_set_out(g->program, fused, "Y", 1, &m->y);
    set_ignore(g, fused, m, ROLE_FORWARD);
    graph_drop(g, m->anchor == m->softmax ? m->xent : m->softmax);
    if (!m->softmax_grad)
        return;
    const char *dy = op_in1(m->xent_grad, "Y@GRAD"), *dx = op_out1(m->softmax_grad, "X@GRAD");
    struct skiff_op *grad = graph_replace(g, m->softmax_grad, "fused_softmax_xent_grad");
    op_set_in(g->program, grad, "Logits", 1, &m->x);
    op_set_in(g->program, grad, "Label", 1, &m->label);
    op_set_in(g->program, grad, "Softmax", 1, &m->s);
    op_set_in(g->program, grad, "Y@GRAD", 1, &dy);
    op_set_out(g->program, grad, "Logits@GRAD", 1, &dx);
    set_ignore(g, grad, m, ROLE_BACKWARD);
    graph_drop(g, m->xent_grad);
}

int fuse_softmax_xent(struct graph *g)
{
    int fused = 0;
    for (int i = 0; i < g->block->nops; i++) {
        struct skiff_op *op = g->block->ops[i];
        struct xent_match m;
        if (!op || !op->kind || op->kind->class != CLASS_XENT || !match_xent(g, op, &m))
            continue;
        replace(g, &m);
        fused++;
    }
    return fused;
}
