/* The backward walk over the tape.
 *
 * First all reachable nodes are counted: how many gradients each output and each leaf waits for.
 * Then nodes that wait for nothing are taken in first-in, first-out order. This is Paddle's
 * order, so gradients are summed in Paddle's order, to the last bit. (Where a gradient is zero
 * except for rounding, Adam takes steps of the rounding error.) A node's hooks receive the
 * summed gradients, its gradient function runs, and the results are delivered. A leaf is
 * complete as soon as its last part arrives. With create_graph, the gradient ops are recorded on
 * the tape as well. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"
#include "tensor/math.h"

struct capture { /* grad(): the requested gradients, and where their results go */
    struct skiff_eager_tensor *tensor;
    struct skiff_eager_tensor **out;
};

/* Leaves and nodes of a walk, and their state in the enclosing walk (the one whose hook, or
 * custom gradient, called backward). */
struct leaf_state {
    struct skiff_eager_tensor *tensor; /* owned reference */
    struct skiff_eager_tensor *pending;
    uint64_t walk;
    int waits_for;
};
struct tape_node_state {
    struct tape_node *node; /* owned reference */
    uint64_t walk;
    int waits_for;
    bool walked, queued;
};

struct backward_walk {
    struct skiff_eager *e;
    struct tape_node **ready; /* in the order in which they became ready; `first` is the next */
    int first, nready, cap;
    struct tape_node_state *known; /* all nodes that were reached */
    int nknown, known_cap;
    struct leaf_state *leaves; /* all leaves that were reached */
    int nleaves, leaves_cap;
    bool overlaps; /* an outer walk is at the same nodes */
    struct capture *captures;
    int ncaptures;
    struct skiff_eager_tensor *const *no_grad;
    int nno_grad;
    bool retain, create, into_leaves;
};

/* ---- the queue of ready nodes ---- */

static void ready_push(struct backward_walk *w, struct tape_node *n)
{
    if (w->nready == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 64;
        w->ready = mem_grow_or_die(w->ready, (size_t)w->cap * sizeof(*w->ready));
    }
    w->ready[w->nready++] = n;
    n->queued = true;
}

/* ---- counting ---- */

static void know_note(struct backward_walk *w, struct tape_node *n)
{
    if (n->walk == w->e->walks)
        return;
    if (w->nknown == w->known_cap) {
        w->known_cap = w->known_cap ? 2 * w->known_cap : 64;
        w->known = mem_grow_or_die(w->known, (size_t)w->known_cap * sizeof(*w->known));
    }
    w->known[w->nknown++] =
        (struct tape_node_state){n, n->walk, n->waits_for, n->walked, n->queued};
    w->overlaps = w->overlaps || n->walked;
    n->refs++;
    n->walk = w->e->walks;
    n->walked = true;
    n->waits_for = 0;
    n->queued = false;
}

static void know_leaf(struct backward_walk *w, struct skiff_eager_tensor *t)
{
    if (t->walk == w->e->walks)
        return;
    if (w->nleaves == w->leaves_cap) {
        w->leaves_cap = w->leaves_cap ? 2 * w->leaves_cap : 32;
        w->leaves = mem_grow_or_die(w->leaves, (size_t)w->leaves_cap * sizeof(*w->leaves));
    }
    w->leaves[w->nleaves++] =
        (struct leaf_state){skiff_eager_tensor_ref(t), t->pending, t->walk, t->waits_for};
    t->walk = w->e->walks;
    t->waits_for = 0;
    t->pending = NULL;
}

/* `known` is both the queue of the walk and its result. */
static void count_waits(struct backward_walk *w)
{
    for (int i = 0; i < w->nknown; i++) {
        struct tape_node *n = w->known[i].node;
        for (int k = 0; k < n->nin; k++) {
            struct edge *edge = &n->edges[k];
            if (edge->node) {
                know_note(w, edge->node);
                edge->node->waits_for++;
            } else if (edge->leaf) {
                know_leaf(w, edge->leaf);
                edge->leaf->waits_for++;
            }
        }
    }
}

/* ---- summing ---- */

static enum skiff_status op1(struct skiff_eager *e, const char *type, const char *slot, int n,
                             struct skiff_eager_tensor *const *ins,
                             const struct skiff_op_setting *attrs, int nattrs,
                             struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct skiff_eager_tensor *made = skiff_eager_tensor_create(e);
    struct skiff_op_arg in = {slot, n, ins}, to = {"Out", 1, &made};
    struct skiff_op_call call = {.type = type,
                                 .ins = &in,
                                 .nins = n ? 1 : 0,
                                 .outs = &to,
                                 .nouts = 1,
                                 .attrs = attrs,
                                 .nattrs = nattrs};
    enum skiff_status status = skiff_eager_op(e, &call, err);
    if (status < 0)
        skiff_eager_tensor_unref(made);
    else
        *out = made;
    return status;
}

/* May it be written to? True for rows and for float32 tensors, which our own loop sums. */
static bool is_only_ours(const struct skiff_eager_tensor *t)
{
    const struct skiff_tensor *v = &t->storage->value;
    return t->refs == 1 && t->storage->refs == 1 &&
           (v->kind == VALUE_ROWS || (v->kind == VALUE_TENSOR && v->tensor.dtype == DTYPE_FP32));
}

static bool are_alike(const struct skiff_tensor *a, const struct skiff_tensor *b)
{
    bool same = a->kind == b->kind && a->tensor.dtype == b->tensor.dtype &&
                a->tensor.shape.ndim == b->tensor.shape.ndim;
    int first = a->kind == VALUE_ROWS;
    for (int i = first; same && i < a->tensor.shape.ndim; i++)
        same = a->tensor.shape.dims[i] == b->tensor.shape.dims[i];
    return same;
}

/* sum += more; takes ownership of `more`. */
static enum skiff_status add_up(struct backward_walk *w, struct skiff_eager_tensor **sum,
                                struct skiff_eager_tensor *more, struct skiff_error *err)
{
    if (!*sum) {
        *sum = more;
        return SKIFF_OK;
    }
    struct skiff_eager_tensor *pair[2] = {*sum, more}, *total;
    struct skiff_tensor *a = &(*sum)->storage->value, *b = &more->storage->value;
    enum skiff_status status = SKIFF_OK;
    if (!w->create && is_only_ours(*sum) && are_alike(a, b)) {
        if (a->kind == VALUE_ROWS)
            status = value_append_rows(a, b, err);
        else
            math_axpy_f32(tensor_numel(&a->tensor), 1.0f, tensor_f32(&b->tensor),
                          tensor_f32(&a->tensor));
    } else {
        status = op1(w->e, "sum", "X", 2, pair, NULL, 0, &total, err);
        if (status == SKIFF_OK) {
            skiff_eager_tensor_unref(*sum);
            *sum = total;
            total->stop_gradient = total->stop_gradient && !w->into_leaves;
        }
    }
    skiff_eager_tensor_unref(more);
    return status;
}

/* Calls the hooks with numbers above `from`, up to `to`. Hooks may remove themselves and others,
 * so the next one is looked up by its number. */
static enum skiff_status call_hooks(struct hook *const *hooks, int64_t from, int64_t to,
                                    bool into_leaves, struct skiff_eager_tensor **grad,
                                    struct skiff_error *err)
{
    for (int64_t last = from;;) {
        bool failed = false;
        struct hook *h = *hooks;
        while (h && h->number <= last)
            h = h->next;
        if (!h || h->number > to)
            return SKIFF_OK;
        last = h->number;
        if (!(*grad)->user)
            (*grad)->stop_gradient = false; /* as Paddle's hooks see it */
        struct skiff_eager_tensor *other = h->call(h->user, *grad, &failed, err);
        if (failed)
            return err->code;
        if (other) {
            skiff_eager_tensor_unref(*grad);
            *grad = other;
            other->stop_gradient = other->stop_gradient && (other->user || !into_leaves);
        }
    }
}

/* Is this target one that grad() asks for? */
static void capture_at(struct backward_walk *w, const struct tape_node *n, int out,
                       const struct skiff_eager_tensor *leaf, struct skiff_eager_tensor *grad)
{
    for (int i = 0; i < w->ncaptures; i++) {
        const struct skiff_eager_tensor *t = w->captures[i].tensor;
        bool here = n ? t->node == n && t->out == out : t == leaf;
        if (!here)
            continue;
        skiff_eager_tensor_unref(*w->captures[i].out);
        *w->captures[i].out = w->create ? skiff_eager_tensor_ref(grad) : skiff_eager_detach(grad);
        (*w->captures[i].out)->stop_gradient = !w->create;
    }
}

/* Gradient that a tensor keeps. A gradient that the caller or a hook holds is not modified.
 * stop_gradient is as in Paddle: false for gradients of kernels and hooks, unchanged for those
 * of a PyLayer. */
static struct skiff_eager_tensor *own_gradient(struct skiff_eager_tensor *grad)
{
    if (!grad->user)
        return skiff_eager_tensor_ref(grad);
    struct skiff_eager_tensor *own = skiff_eager_detach(grad);
    own->stop_gradient = false;
    return own;
}

static bool is_barred(const struct backward_walk *w, const struct tape_node *n, int out,
                      const struct skiff_eager_tensor *leaf)
{
    for (int i = 0; i < w->nno_grad; i++) {
        const struct skiff_eager_tensor *t = w->no_grad[i];
        if (n ? t->node == n && t->out == out : t == leaf)
            return true;
    }
    return false;
}

/* ---- delivering ---- */

static enum skiff_status finish_leaf(struct backward_walk *w, struct skiff_eager_tensor *t,
                                     struct skiff_error *err)
{
    struct skiff_eager_tensor *grad = t->pending;
    t->pending = NULL;
    if (!grad)
        return SKIFF_OK;
    enum skiff_status status = call_hooks(&t->hooks, 0, INT64_MAX, w->into_leaves, &grad, err);
    if (status == SKIFF_OK)
        capture_at(w, NULL, 0, t, grad);
    if (status == SKIFF_OK && w->into_leaves) {
        if (w->e->generation == 1)
            skiff_eager_set_grad(t, NULL);
        struct skiff_eager_tensor *sum = t->grad;
        t->grad = NULL;
        status = add_up(w, &sum, own_gradient(grad), err);
        t->grad = sum;
        t->cleared = false;
        if (status == SKIFF_OK && t->reduced)
            status = reduce_leaf(t, err);
    }
    skiff_eager_tensor_unref(grad);
    return status;
}

/* Takes ownership of `grad`; NULL if no gradient arrived along this edge. */
static enum skiff_status deliver(struct backward_walk *w, struct edge *edge,
                                 struct skiff_eager_tensor *grad, struct skiff_error *err)
{
    struct tape_node *n = edge->node;
    struct skiff_eager_tensor *t = edge->leaf;
    if (grad && is_barred(w, n, edge->out, t)) {
        skiff_eager_tensor_unref(grad);
        grad = NULL;
    }
    if (grad)
        TRY(add_up(w, n ? &n->outs[edge->out].grad : &t->pending, grad, err));
    if (n && --n->waits_for == 0 && !n->queued)
        ready_push(w, n);
    return t && --t->waits_for == 0 ? finish_leaf(w, t, err) : SKIFF_OK;
}

/* ---- one node ---- */

static enum skiff_status zeros(struct skiff_eager *e, const struct tape_node_out *o,
                               struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct skiff_eager_tensor *t = skiff_eager_tensor_create(e);
    enum skiff_status status = value_as_tensor(&t->storage->value, o->dtype, &o->shape, err);
    if (status == SKIFF_OK)
        memset(t->storage->value.tensor.data, 0, tensor_bytes(&t->storage->value.tensor));
    *out = t;
    return status;
}

static enum skiff_status saved_tensor(struct tape_node *n, int at, const struct edge *edge,
                                      struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct saved_value *s = &n->saved[at];
    if (!s->storage) {
        *out = NULL;
        return SKIFF_OK;
    }
    if (s->version != s->storage->version)
        return error_set(err, SKIFF_STATE,
                         "op %s: %s %s was changed in place after the op had used it, and its "
                         "gradient needs the old value: received tensor_version:%u != "
                         "wrapper_version_snapshot:%u",
                         n->call->kernel.kind->type, at < n->nin ? "input" : "output",
                         at < n->nin ? n->call->in_slots[at]->name
                                     : n->call->out_slots[at - n->nin]->name,
                         s->storage->version, s->version);
    *out = tensor_at(n->engine, s->storage, edge);
    if ((*out)->storage != s->storage && s->form && edge->leaf)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %s: derivatives of second order need the leaf itself, but the unpack "
                         "hook of saved tensors gave a copy of it; let the hooks pass leaves on",
                         n->call->kernel.kind->type);
    if ((*out)->storage != s->storage) { /* the leaf has a different storage now */
        skiff_eager_tensor_unref(*out);
        struct edge none = {0};
        *out = tensor_at(n->engine, s->storage, &none);
    }
    return SKIFF_OK;
}

/* Paddle 1.x: grad() leaves no gradient behind. */
static void retain_output(const struct backward_walk *w, struct tape_node_out *o)
{
    if (!o->retain || (w->e->generation == 1 && !w->into_leaves))
        return;
    struct skiff_eager_tensor *own = own_gradient(o->grad);
    skiff_eager_set_grad(o->retain, own);
    skiff_eager_tensor_unref(own);
}

struct cooking { /* a gradient function being run */
    struct backward_walk *w;
    struct tape_node *n;
    struct skiff_eager_tensor **locals;
    struct skiff_eager_tensor **in_grads;
};

static enum skiff_status ingredient(struct cooking *c, struct grad_arg p,
                                    struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct tape_node *n = c->n;
    struct edge self = {.node = c->w->create ? n : NULL, .out = p.index};
    struct edge none = {0};
    *out = NULL;
    switch (p.from) {
    case SOURCE_IN:
        return saved_tensor(n, p.index, c->w->create ? &n->edges[p.index] : &none, out, err);
    case SOURCE_OUT:
        return saved_tensor(n, n->nin + p.index, &self, out, err);
    case SOURCE_OUT_GRAD:
        if (!n->outs[p.index].grad) {
            TRY(zeros(n->engine, &n->outs[p.index], &n->outs[p.index].grad, err));
            n->outs[p.index].grad->stop_gradient = !c->w->into_leaves;
            if (n->engine->generation == 1)
                retain_output(c->w, &n->outs[p.index]);
        }
        *out = skiff_eager_tensor_ref(n->outs[p.index].grad);
        return SKIFF_OK;
    case SOURCE_LOCAL:
        *out = skiff_eager_tensor_ref(c->locals[p.index]);
        return SKIFF_OK;
    default:
        return SKIFF_OK;
    }
}

static struct skiff_eager_tensor *vessel(struct cooking *c, struct grad_arg p)
{
    struct skiff_eager_tensor **at = p.from == SOURCE_IN      ? &c->in_grads[p.index]
                                     : p.from == SOURCE_LOCAL ? &c->locals[p.index]
                                                              : NULL;
    if (at && !*at)
        *at = skiff_eager_tensor_create(c->n->engine);
    return at ? *at : NULL;
}

static enum skiff_status cook_step(struct cooking *c, const struct grad_fn_step *s,
                                   struct skiff_error *err)
{
    struct skiff_eager *e = c->n->engine;
    struct eager_call *call = s->call;
    enum skiff_status status = SKIFF_OK;
    struct skiff_eager_tensor **args =
        mem_alloc_or_die((size_t)(call->nin + call->nout + 1) * sizeof(*args));
    for (int i = 0; i < call->nin; i++)
        TRY_OUT(ingredient(c, s->ins[i], &args[i], err));
    for (int i = 0; i < call->nout; i++)
        args[call->nin + i] = vessel(c, s->outs[i]);
    call->refs++; /* recording ops may empty the cache */
    status = op_run(e, call, args, args + call->nin, err);
    call_unref(call);
out:
    for (int i = 0; i < call->nin; i++)
        skiff_eager_tensor_unref(args[i]);
    free(args);
    return status;
}

static enum skiff_status cook(struct backward_walk *w, struct tape_node *n,
                              struct skiff_eager_tensor **in_grads, struct skiff_error *err)
{
    struct grad_fn *r = n->grad_fn;
    struct cooking c = {w, n, NULL, in_grads};
    c.locals = r->nlocals ? mem_alloc_or_die((size_t)r->nlocals * sizeof(*c.locals)) : NULL;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < r->nsteps && status == SKIFF_OK; i++)
        status = cook_step(&c, &r->steps[i], err);
    for (int i = 0; i < n->nin && w->into_leaves; i++)
        if (in_grads[i])
            in_grads[i]->stop_gradient = false;
    for (int i = 0; i < r->nlocals; i++)
        skiff_eager_tensor_unref(c.locals[i]);
    free(c.locals);
    return status;
}

static enum skiff_status run_own(struct tape_node *n, struct skiff_eager_tensor **in_grads,
                                 struct skiff_error *err)
{
    struct skiff_eager_tensor **grads = mem_alloc_or_die((size_t)(n->nout + 1) * sizeof(*grads));
    for (int i = 0; i < n->nout; i++)
        if ((grads[i] = n->outs[i].grad) && !grads[i]->user)
            grads[i]->stop_gradient = false;
    enum skiff_status status = n->own.backward(n->own.user, grads, in_grads, err);
    free(grads);
    return status;
}

/* Runs hooks, retained gradients and captures of a node's outputs. Returns whether there is any
 * gradient. */
static enum skiff_status meet_outputs(struct backward_walk *w, struct tape_node *n, bool *any,
                                      struct skiff_error *err)
{
    *any = false;
    for (int i = 0; i < n->nout; i++) {
        struct tape_node_out *o = &n->outs[i];
        if (!o->grad)
            continue;
        *any = true;
        int64_t retained = o->retain ? o->retain_after : 0;
        TRY(call_hooks(&o->hooks, 0, retained, w->into_leaves, &o->grad, err));
        retain_output(w, o);
        TRY(call_hooks(&o->hooks, retained, INT64_MAX, w->into_leaves, &o->grad, err));
        capture_at(w, n, i, NULL, o->grad);
    }
    return SKIFF_OK;
}

static enum skiff_status walk_note(struct backward_walk *w, struct tape_node *n,
                                   struct skiff_error *err)
{
    bool any;
    enum skiff_status status = SKIFF_OK;
    struct skiff_eager_tensor **in_grads =
        mem_alloc_or_die((size_t)(n->nin + 1) * sizeof(*in_grads));
    TRY_OUT(meet_outputs(w, n, &any, err));
    if (any && n->packs)
        TRY_OUT(packed_open(n, err));
    if (any)
        TRY_OUT(n->grad_fn ? cook(w, n, in_grads, err) : run_own(n, in_grads, err));
    for (int i = 0; i < n->nin; i++) {
        struct skiff_eager_tensor *grad = in_grads[i];
        in_grads[i] = NULL;
        if (grad && grad->storage->value.kind == VALUE_NONE) { /* the op omitted it */
            skiff_eager_tensor_unref(grad);
            grad = NULL;
        }
        if (n->edges[i].node || n->edges[i].leaf)
            TRY_OUT(deliver(w, &n->edges[i], grad, err));
        else
            skiff_eager_tensor_unref(grad);
    }
out:
    for (int i = 0; i < n->nin; i++)
        skiff_eager_tensor_unref(in_grads[i]);
    free(in_grads);
    for (int i = 0; i < n->nout; i++) {
        skiff_eager_tensor_unref(n->outs[i].grad);
        n->outs[i].grad = NULL;
    }
    if (n->packs)
        packed_close(n);
    if (status == SKIFF_OK && !w->retain)
        tape_node_clear(n);
    return status;
}

/* ---- the complete walk ---- */

static enum skiff_status ones_like(struct skiff_eager *e, const struct skiff_eager_tensor *t,
                                   struct skiff_eager_tensor **out, struct skiff_error *err)
{
    const struct tensor *like = &t->storage->value.tensor;
    struct skiff_attr shape = {.type = SKIFF_ATTR_LONGS, .n = like->shape.ndim};
    shape.longs = like->shape.dims;
    struct skiff_op_setting attrs[3] = {
        {"shape", shape},
        {"dtype", {.type = SKIFF_ATTR_INT, .i = (int64_t)like->dtype}},
        {"value", {.type = SKIFF_ATTR_FLOAT, .f = 1}}};
    return op1(e, "fill_constant", "X", 0, NULL, attrs, 3, out, err);
}

/* Finds everything that the walk will reach. */
static enum skiff_status survey(struct backward_walk *w, int n,
                                struct skiff_eager_tensor *const *tensors, struct skiff_error *err)
{
    for (int i = 0; i < n; i++)
        if (!tensors[i]->stop_gradient && tensors[i]->node)
            know_note(w, tensors[i]->node);
        else if (!tensors[i]->stop_gradient)
            know_leaf(w, tensors[i]);
    count_waits(w);
    if (w->overlaps)
        return error_set(err, SKIFF_STATE,
                         "backward was called by a hook, or by the backward of a PyLayer, for a "
                         "graph through which backward is on its way already");
    return SKIFF_OK;
}

/* Stores the initial gradients of the outputs. */
static enum skiff_status begin(struct backward_walk *w, int n,
                               struct skiff_eager_tensor *const *tensors,
                               struct skiff_eager_tensor *const *weights, struct skiff_error *err)
{
    for (int i = 0; i < n; i++) {
        struct skiff_eager_tensor *t = tensors[i], *weight = weights ? weights[i] : NULL;
        if (t->stop_gradient)
            continue;
        if (weight) {
            weight->refs++;
        } else {
            TRY(ones_like(w->e, t, &weight, err));
            weight->stop_gradient = !w->into_leaves;
        }
        TRY(add_up(w, t->node ? &t->node->outs[t->out].grad : &t->pending, weight, err));
    }
    return SKIFF_OK;
}

static enum skiff_status run(struct backward_walk *w, struct skiff_error *err)
{
    for (int i = 0; i < w->nleaves; i++)
        if (!w->leaves[i].tensor->waits_for)
            TRY(finish_leaf(w, w->leaves[i].tensor, err));
    for (int i = 0; i < w->nknown; i++)
        if (!w->known[i].node->waits_for && !w->known[i].node->queued)
            ready_push(w, w->known[i].node);
    while (w->first < w->nready) {
        struct tape_node *n = w->ready[w->first++];
        if (n->released)
            return error_set(err, SKIFF_STATE,
                             "Trying to backward through the same graph a second time, but this "
                             "graph has already been freed: call the first backward with "
                             "retain_graph=True");
        TRY(walk_note(w, n, err));
    }
    return SKIFF_OK;
}

static void end(struct backward_walk *w)
{
    for (int i = 0; i < w->nleaves; i++) {
        struct skiff_eager_tensor *t = w->leaves[i].tensor;
        skiff_eager_tensor_unref(t->pending);
        t->pending = w->leaves[i].pending;
        t->walk = w->leaves[i].walk;
        t->waits_for = w->leaves[i].waits_for;
        skiff_eager_tensor_unref(t);
    }
    free(w->leaves);
    for (int i = 0; i < w->nknown; i++) {
        struct tape_node_state *state = &w->known[i];
        struct tape_node *n = state->node;
        for (int k = 0; k < n->nout && !state->walked; k++) {
            skiff_eager_tensor_unref(n->outs[k].grad);
            n->outs[k].grad = NULL;
        }
        n->walk = state->walk;
        n->waits_for = state->waits_for;
        n->walked = state->walked;
        n->queued = state->queued;
        tape_node_unref(n);
    }
    free(w->known);
    free(w->ready);
}

static enum skiff_status walk(struct backward_walk *w, int n,
                              struct skiff_eager_tensor *const *tensors,
                              struct skiff_eager_tensor *const *weights, struct skiff_error *err)
{
    struct skiff_eager *e = w->e;
    e->walks++;
    bool noting = skiff_eager_set_noting(e, false);
    enum skiff_status status = survey(w, n, tensors, err);
    if (status == SKIFF_OK)
        status = begin(w, n, tensors, weights, err);
    if (status == SKIFF_OK) {
        e->noting = w->create;
        status = run(w, err);
    }
    end(w);
    e->noting = noting;
    return status;
}

enum skiff_status skiff_eager_backward(struct skiff_eager *e, int n,
                                       struct skiff_eager_tensor *const *tensors,
                                       struct skiff_eager_tensor *const *grads, bool retain_graph,
                                       struct skiff_error *err)
{
    struct backward_walk w = {.e = e, .retain = retain_graph, .into_leaves = true};
    e->backwards++;
    enum skiff_status status = walk(&w, n, tensors, grads, err);
    return --e->backwards ? status : reduce_finish(e, status, err);
}

enum skiff_status skiff_eager_grad(struct skiff_eager *e, int n,
                                   struct skiff_eager_tensor *const *outputs, int m,
                                   struct skiff_eager_tensor *const *inputs,
                                   const struct skiff_eager_grad_options *o,
                                   struct skiff_eager_tensor **out, struct skiff_error *err)
{
    struct backward_walk w = {.e = e,
                              .retain = o->retain_graph || o->create_graph,
                              .create = o->create_graph,
                              .no_grad = o->no_grad,
                              .nno_grad = o->nno_grad,
                              .ncaptures = m};
    w.captures = mem_alloc_or_die((size_t)(m + 1) * sizeof(*w.captures));
    for (int i = 0; i < m; i++) {
        out[i] = NULL;
        w.captures[i] = (struct capture){inputs[i], &out[i]};
    }
    enum skiff_status status = walk(&w, n, outputs, o->weights, err);
    for (int i = 0; i < m && status == SKIFF_OK && !o->allow_unused; i++)
        if (!out[i])
            status = error_set(err, SKIFF_INVALID,
                               "The %d-th input does not appear in the backward graph: with "
                               "allow_unused=True its gradient is None",
                               i);
    for (int i = 0; i < m && status < 0; i++) {
        skiff_eager_tensor_unref(out[i]);
        out[i] = NULL;
    }
    free(w.captures);
    return status;
}
