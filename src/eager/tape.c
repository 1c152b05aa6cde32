/* Running an op and recording its tape node.
 *
 * A node keeps only what its gradient needs: the storages of the inputs and outputs that the
 * gradient function reads (a storage without bytes if only the shape is read), and an edge for
 * every input that wants a gradient: to the node that made the input, or to the leaf itself.
 * Tensors own nodes and nodes own earlier nodes, never the other way round, so dropping the last
 * tensor frees the chain behind it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

struct tape_node *tape_node_create(struct skiff_eager *e, int nin, int nout)
{
    size_t edges = (size_t)nin * sizeof(struct edge),
           outs = (size_t)nout * sizeof(struct tape_node_out);
    size_t saved = (size_t)(nin + nout) * sizeof(struct saved_value);
    struct tape_node *n = mem_alloc_or_die(sizeof(*n) + edges + outs + saved);
    n->engine = e;
    n->refs = 1;
    n->number = ++e->nodes;
    n->nin = nin;
    n->nout = nout;
    n->edges = (struct edge *)(n + 1);
    n->outs = (struct tape_node_out *)(void *)((char *)(n + 1) + edges);
    n->saved = (struct saved_value *)(void *)((char *)(n + 1) + edges + outs);
    return n;
}

void edge_unref(struct edge *edge)
{
    tape_node_unref(edge->node);
    skiff_eager_tensor_unref(edge->leaf);
    *edge = (struct edge){0};
}

void tape_node_clear(struct tape_node *n)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        storage_unref(n->saved[i].storage);
        n->saved[i].storage = NULL;
        packed_end(&n->saved[i]);
    }
    for (int i = 0; i < n->nin; i++)
        edge_unref(&n->edges[i]);
    struct skiff_eager_own own = n->own;
    n->own = (struct skiff_eager_own){0};
    if (own.end)
        own.end(own.user);
    for (int i = 0; i < n->nout; i++) { /* hooks often hold the tensor that owns the node */
        struct hook *hooks = n->outs[i].hooks;
        n->outs[i].hooks = NULL;
        hooks_deinit(hooks);
    }
    n->released = true;
}

static void note_free(struct tape_node *n)
{
    tape_node_clear(n);
    for (int i = 0; i < n->nout; i++)
        skiff_eager_tensor_unref(n->outs[i].grad);
    call_unref(n->call);
    free(n);
}

/* A chain is as long as a loop over a sequence, so nodes are freed iteratively, without
 * recursion. */
void tape_node_unref(struct tape_node *n)
{
    if (!n || --n->refs)
        return;
    struct skiff_eager *e = n->engine;
    n->next_free = e->freeing;
    e->freeing = n;
    if (e->is_freeing)
        return;
    e->is_freeing = true;
    e->refs++;
    while (e->freeing) {
        struct tape_node *next = e->freeing;
        e->freeing = next->next_free;
        note_free(next);
    }
    e->is_freeing = false;
    engine_unref(e);
}

/* ---- recording ---- */

static void tape_node_edge(struct tape_node *n, int i, struct skiff_eager_tensor *t)
{
    if (t->node) {
        t->node->refs++;
        n->edges[i] = (struct edge){.node = t->node, .out = t->out};
    } else {
        n->edges[i] = (struct edge){.leaf = skiff_eager_tensor_ref(t)};
    }
}

/* Type and shape without bytes, for inputs of which only the shape is read. */
static struct storage *shape_box(struct skiff_eager *e, const struct skiff_tensor *v)
{
    struct storage *b = storage_create(e);
    b->value.kind = VALUE_TENSOR;
    b->value.tensor.dtype = v->tensor.dtype;
    b->value.tensor.shape = v->tensor.shape;
    tensor_share_lod(&b->value.tensor, &v->tensor);
    return b;
}

/* `written`: the op itself overwrote the value. Backward cannot have it any more, and hooks must
 * not get the new one; saved_tensor refuses it. */
static enum skiff_status save(struct tape_node *n, int at, char need, struct skiff_eager_tensor *t,
                              bool written, struct skiff_error *err)
{
    struct saved_value *s = &n->saved[at];
    if (!t || need == NEED_NOTHING)
        return SKIFF_OK;
    bool whole = need == NEED_DATA || t->storage->value.kind != VALUE_TENSOR;
    bool packs =
        whole && !written && n->engine->pack.call && t->storage->value.kind == VALUE_TENSOR;
    s->storage =
        whole && !packs ? storage_ref(t->storage) : shape_box(n->engine, &t->storage->value);
    s->version = (s->storage == t->storage ? t->storage->version : 0) - written;
    n->packs = n->packs || packs;
    return packs ? packed_save(n, at, t, err) : SKIFF_OK;
}

static bool is_one_of(const struct skiff_eager_tensor *t, struct skiff_eager_tensor *const *list,
                      int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == t)
            return true;
    return false;
}

/* The output now comes from this node. State that an op updates (running means) does not. */
static void tape_node_output(struct tape_node *n, int i, struct skiff_eager_tensor *t, bool state)
{
    const struct tensor *value = &t->storage->value.tensor;
    n->outs[i].shape = value->shape;
    n->outs[i].dtype = value->dtype;
    if (state)
        return;
    n->refs++;
    if (t->node && t->node->outs[t->out].retain == t)
        t->node->outs[t->out].retain = NULL;
    tape_node_unref(t->node);
    t->node = n;
    t->out = i;
    t->stop_gradient = false;
    if (n->engine->generation == 1 && dtype_has_gradient(value->dtype))
        skiff_eager_retain_grad(t);
}

static enum skiff_status tape_node_op(struct skiff_eager *e, struct eager_call *c,
                                      struct grad_fn *r, struct skiff_eager_tensor *const *ins,
                                      struct skiff_eager_tensor *const *outs,
                                      struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct tape_node *n = tape_node_create(e, c->nin, c->nout);
    n->call = c;
    c->refs++;
    n->grad_fn = r;
    for (int i = 0; i < c->nin; i++) {
        if (r->wanted[i])
            tape_node_edge(n, i, ins[i]);
        bool written = ins[i] && is_one_of(ins[i], outs, c->nout);
        TRY_OUT(save(n, i, r->need_in[i], ins[i], written, err));
    }
    for (int i = 0; i < c->nout; i++)
        TRY_OUT(save(n, c->nin + i, r->need_out[i], outs[i], false, err));
    for (int i = 0; i < c->nout; i++)
        if (outs[i])
            tape_node_output(n, i, outs[i], c->out_slots[i]->flags & SLOT_INPLACE);
out:
    tape_node_unref(n); /* its outputs own it */
    return status;
}

/* Finds which inputs want a gradient; false if none does. */
static bool wanted_inputs(struct skiff_eager *e, const struct eager_call *c,
                          struct skiff_eager_tensor *const *ins)
{
    bool any = false;
    if (c->nin > e->wanted_cap) {
        e->wanted_cap = 2 * c->nin;
        e->wanted = mem_grow_or_die(e->wanted, (size_t)e->wanted_cap);
    }
    for (int i = 0; i < c->nin; i++) {
        e->wanted[i] = ins[i] && !ins[i]->stop_gradient &&
                       dtype_has_gradient(ins[i]->storage->value.tensor.dtype);
        any = any || e->wanted[i];
    }
    return any;
}

/* The first value is not an in-place write, and Paddle does not count updates of an op's state. */
static void count_write(struct storage *b, bool state)
{
    if (b->value.kind == VALUE_NONE)
        return;
    b->version++;
    b->silent += state;
}

static enum skiff_status run_values(struct skiff_eager *e, struct eager_call *c,
                                    struct skiff_eager_tensor *const *ins,
                                    struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    for (int i = 0; i < c->nin; i++)
        c->in_values[i] = ins[i] ? &ins[i]->storage->value : NULL;
    for (int i = 0; i < c->nout; i++) {
        c->out_values[i] = outs[i] ? &outs[i]->storage->value : NULL;
        if (outs[i])
            count_write(outs[i]->storage, c->out_slots[i]->flags & SLOT_INPLACE);
        if (outs[i] && c->kernel.kind->flags & OP_OWN_SHAPE)
            pool_supply(&e->pool, &outs[i]->storage->value.tensor, c->out_bytes[i]);
    }
    enum skiff_status status = call_run(e, c, err);
    if (status < 0)
        blame_tensors(c, ins, err);
    return status;
}

/* Calls the observer with the op's results. Ops that the observer itself runs are not observed. */
static enum skiff_status observe(struct skiff_eager *e, const struct eager_call *c,
                                 struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    skiff_eager_observer observer = e->observer;
    void *user = e->observer_user;
    e->observer = NULL;
    enum skiff_status status = observer(user, c->kernel.kind->type, c->nout, outs, err);
    if (!e->observer && e->observer_user == user)
        e->observer = observer;
    return status;
}

enum skiff_status op_run(struct skiff_eager *e, struct eager_call *c,
                         struct skiff_eager_tensor *const *ins,
                         struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    struct grad_fn *r = NULL;
    const struct op_kind *kind = c->kernel.kind;
    if (e->noting && wanted_inputs(e, c, ins)) {
        if (kind->grad || kind->make_grad || op_kind_second(kind))
            TRY(grad_fn_of(e, c, e->wanted, &r, err));
        else if (op_kind_is_gradient(kind))
            return error_set(err, SKIFF_STATE,
                             "op %s doesn't have any grad op: derivatives of second order do not "
                             "go through it. Without them, set create_graph to False",
                             kind->type);
    }
    TRY(run_values(e, c, ins, outs, err));
    if (e->observer)
        TRY(observe(e, c, outs, err));
    if (r)
        return tape_node_op(e, c, r, ins, outs, err);
    for (int i = 0; i < c->nout; i++)
        if (outs[i] && !is_one_of(outs[i], ins, c->nin))
            outs[i]->stop_gradient = true;
    return SKIFF_OK;
}

/* Arguments by number, in the order of the kind's slots. */
static void number_args(struct skiff_eager_tensor **to, const struct op_slot *slots,
                        const struct skiff_op_arg *args, int n)
{
    for (; slots && slots->name; slots++)
        for (int i = 0; i < n; i++)
            if (!strcmp(args[i].slot, slots->name)) {
                for (int j = 0; j < args[i].n; j++)
                    *to++ = args[i].tensors[j];
                break;
            }
}

/* The path with an observer or pack hooks: they may run ops, which use e->args and may empty the
 * cache. */
static enum skiff_status op_run_watched(struct skiff_eager *e, struct eager_call *c,
                                        struct skiff_eager_tensor *const *args,
                                        struct skiff_error *err)
{
    size_t n = (size_t)(c->nin + c->nout);
    struct skiff_eager_tensor **own = mem_alloc_or_die((n + 1) * sizeof(*own));
    memcpy(own, args, n * sizeof(*own));
    c->refs++;
    enum skiff_status status = op_run(e, c, own, own + c->nin, err);
    call_unref(c);
    free(own);
    return status;
}

static enum skiff_status numbered_run(struct skiff_eager *e, struct eager_call *c,
                                      struct skiff_eager_tensor *const *args,
                                      struct skiff_error *err)
{
    return e->observer || e->pack.call ? op_run_watched(e, c, args, err)
                                       : op_run(e, c, args, args + c->nin, err);
}

/* A bound call is a call of the cache with one more reference. */
struct skiff_eager_bound *skiff_eager_bind(struct skiff_eager *e, const struct skiff_op_call *call,
                                           struct skiff_error *err)
{
    struct eager_call *c = call_find(e, call, err);
    if (c)
        c->refs++;
    return (struct skiff_eager_bound *)c;
}

void skiff_eager_unbind(struct skiff_eager_bound *b)
{
    call_unref((struct eager_call *)b);
}

enum skiff_status skiff_eager_run_bound(struct skiff_eager *e, struct skiff_eager_bound *b,
                                        struct skiff_eager_tensor *const *tensors,
                                        struct skiff_error *err)
{
    struct skiff_error own;
    return numbered_run(e, (struct eager_call *)b, tensors, err ? err : &own);
}

enum skiff_status skiff_eager_op(struct skiff_eager *e, const struct skiff_op_call *call,
                                 struct skiff_error *err)
{
    struct skiff_error own;
    err = err ? err : &own;
    struct eager_call *c = call_find(e, call, err);
    if (!c)
        return err->code;
    if (c->nin + c->nout > e->args_cap) {
        e->args_cap = 2 * (c->nin + c->nout);
        e->args =
            mem_grow_or_die(e->args, (size_t)e->args_cap * sizeof(struct skiff_eager_tensor *));
    }
    struct skiff_eager_tensor **ins = e->args, **outs = e->args + c->nin;
    number_args(ins, c->kernel.kind->ins, call->ins, call->nins);
    number_args(outs, c->kernel.kind->outs, call->outs, call->nouts);
    return numbered_run(e, c, ins, err);
}

bool skiff_eager_attr_type(const char *type, const char *attr, enum skiff_attr_type *out)
{
    const struct op_kind *kind = op_kind_find(type, GEN_2X);
    int i = kind ? op_kind_attr(kind, attr) : -1;
    if (i >= 0)
        *out = (enum skiff_attr_type)kind->attrs[i].type;
    return i >= 0;
}

void skiff_eager_custom_op(struct skiff_eager *e, int nins, struct skiff_eager_tensor *const *ins,
                           int nouts, struct skiff_eager_tensor *const *outs,
                           const struct skiff_eager_own *own)
{
    struct tape_node *n = tape_node_create(e, nins, nouts);
    n->own = *own;
    for (int i = 0; i < nins; i++)
        if (ins[i] && !ins[i]->stop_gradient)
            tape_node_edge(n, i, ins[i]);
    for (int i = 0; i < nouts; i++)
        if (outs[i])
            tape_node_output(n, i, outs[i], false);
    tape_node_unref(n);
}
