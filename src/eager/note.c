/* Running an op, and noting it.
 *
 * A note keeps what its gradient needs and no more: boxes of those inputs and outputs that the
 * recipe reads (of the ones whose shape alone is looked at, a box without bytes), and for every
 * input that wants a gradient where it goes: to the note that made it, or to the leaf itself.
 * Tensors hold notes, notes hold notes, never the other way round: dropping the last tensor frees
 * the chain behind it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

struct note *note_create(struct skiff_eager *e, int nin, int nout)
{
    size_t edges = (size_t)nin * sizeof(struct edge), outs = (size_t)nout * sizeof(struct note_out);
    size_t saved = (size_t)(nin + nout) * sizeof(struct saved);
    struct note *n = mem_must(sizeof(*n) + edges + outs + saved);
    n->engine = e;
    n->refs = 1;
    n->number = ++e->notes;
    n->nin = nin;
    n->nout = nout;
    n->edges = (struct edge *)(n + 1);
    n->outs = (struct note_out *)(void *)((char *)(n + 1) + edges);
    n->saved = (struct saved *)(void *)((char *)(n + 1) + edges + outs);
    return n;
}

void edge_unref(struct edge *edge)
{
    note_unref(edge->note);
    skiff_eager_tensor_unref(edge->leaf);
    *edge = (struct edge){0};
}

void note_release(struct note *n)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        box_unref(n->saved[i].box);
        n->saved[i].box = NULL;
        packed_end(&n->saved[i]);
    }
    for (int i = 0; i < n->nin; i++)
        edge_unref(&n->edges[i]);
    struct skiff_eager_own own = n->own;
    n->own = (struct skiff_eager_own){0};
    if (own.end)
        own.end(own.user);
    for (int i = 0; i < n->nout; i++) { /* hooks often hold the tensor that holds the note */
        struct hook *hooks = n->outs[i].hooks;
        n->outs[i].hooks = NULL;
        hooks_free(hooks);
    }
    n->released = true;
}

static void note_free(struct note *n)
{
    note_release(n);
    for (int i = 0; i < n->nout; i++)
        skiff_eager_tensor_unref(n->outs[i].grad);
    call_unref(n->call);
    free(n);
}

/* Chains are as long as a loop over a sequence: freed one by one, not one inside the other. */
void note_unref(struct note *n)
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
        struct note *next = e->freeing;
        e->freeing = next->next_free;
        note_free(next);
    }
    e->is_freeing = false;
    engine_unref(e);
}

/* ---- noting ---- */

static void note_edge(struct note *n, int i, struct skiff_eager_tensor *t)
{
    if (t->note) {
        t->note->refs++;
        n->edges[i] = (struct edge){.note = t->note, .out = t->out};
    } else {
        n->edges[i] = (struct edge){.leaf = skiff_eager_tensor_ref(t)};
    }
}

/* Type and shape, and no bytes: for what only the shape is asked of. */
static struct box *shape_box(struct skiff_eager *e, const struct skiff_tensor *v)
{
    struct box *b = box_create(e);
    b->value.kind = VALUE_TENSOR;
    b->value.tensor.dtype = v->tensor.dtype;
    b->value.tensor.shape = v->tensor.shape;
    tensor_share_lod(&b->value.tensor, &v->tensor);
    return b;
}

/* written: by the op itself. What backward would need is gone already, and hooks get no value that
 * was not the op's; saved_tensor refuses it. */
static enum skiff_status save(struct note *n, int at, char need, struct skiff_eager_tensor *t,
                              bool written, struct skiff_error *err)
{
    struct saved *s = &n->saved[at];
    if (!t || need == NEED_NOT)
        return SKIFF_OK;
    bool whole = need == NEED_DATA || t->box->value.kind != VALUE_TENSOR;
    bool packs = whole && !written && n->engine->pack.call && t->box->value.kind == VALUE_TENSOR;
    s->box = whole && !packs ? box_ref(t->box) : shape_box(n->engine, &t->box->value);
    s->version = (s->box == t->box ? t->box->version : 0) - written;
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

/* The output comes from this note now. State that an op carries on (running means) does not. */
static void note_output(struct note *n, int i, struct skiff_eager_tensor *t, bool state)
{
    const struct tensor *value = &t->box->value.tensor;
    n->outs[i].shape = value->shape;
    n->outs[i].dtype = value->dtype;
    if (state)
        return;
    n->refs++;
    if (t->note && t->note->outs[t->out].retain == t)
        t->note->outs[t->out].retain = NULL;
    note_unref(t->note);
    t->note = n;
    t->out = i;
    t->stop_gradient = false;
    if (n->engine->generation == 1 && dtype_has_gradient(value->dtype))
        skiff_eager_retain_grad(t);
}

static enum skiff_status note_op(struct skiff_eager *e, struct call *c, struct recipe *r,
                                 struct skiff_eager_tensor *const *ins,
                                 struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct note *n = note_create(e, c->nin, c->nout);
    n->call = c;
    c->refs++;
    n->recipe = r;
    for (int i = 0; i < c->nin; i++) {
        if (r->wanted[i])
            note_edge(n, i, ins[i]);
        bool written = ins[i] && is_one_of(ins[i], outs, c->nout);
        TRY_OUT(save(n, i, r->need_in[i], ins[i], written, err));
    }
    for (int i = 0; i < c->nout; i++)
        TRY_OUT(save(n, c->nin + i, r->need_out[i], outs[i], false, err));
    for (int i = 0; i < c->nout; i++)
        if (outs[i])
            note_output(n, i, outs[i], c->out_slots[i]->flags & SLOT_INPLACE);
out:
    note_unref(n); /* its outputs hold it */
    return status;
}

/* Which inputs want a gradient; false: none. */
static bool wanted_inputs(struct skiff_eager *e, const struct call *c,
                          struct skiff_eager_tensor *const *ins)
{
    bool any = false;
    if (c->nin > e->wanted_cap) {
        e->wanted_cap = 2 * c->nin;
        e->wanted = mem_must_grow(e->wanted, (size_t)e->wanted_cap);
    }
    for (int i = 0; i < c->nin; i++) {
        e->wanted[i] =
            ins[i] && !ins[i]->stop_gradient && dtype_has_gradient(ins[i]->box->value.tensor.dtype);
        any = any || e->wanted[i];
    }
    return any;
}

/* A first value is no write in place; state that an op carries on is one that Paddle does not
 * count. */
static void count_write(struct box *b, bool state)
{
    if (b->value.kind == VALUE_NONE)
        return;
    b->version++;
    b->silent += state;
}

static enum skiff_status run_values(struct skiff_eager *e, struct call *c,
                                    struct skiff_eager_tensor *const *ins,
                                    struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    for (int i = 0; i < c->nin; i++)
        c->in_values[i] = ins[i] ? &ins[i]->box->value : NULL;
    for (int i = 0; i < c->nout; i++) {
        c->out_values[i] = outs[i] ? &outs[i]->box->value : NULL;
        if (outs[i])
            count_write(outs[i]->box, c->out_slots[i]->flags & SLOT_INPLACE);
        if (outs[i] && c->kernel.kind->flags & OP_OWN_SHAPE)
            pool_supply(&e->pool, &outs[i]->box->value.tensor, c->out_bytes[i]);
    }
    enum skiff_status status = call_run(e, c, err);
    if (status < 0)
        blame_tensors(c, ins, err);
    return status;
}

/* The observer sees what an op has written; what it runs itself it does not see. */
static enum skiff_status observe(struct skiff_eager *e, const struct call *c,
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

enum skiff_status op_run(struct skiff_eager *e, struct call *c,
                         struct skiff_eager_tensor *const *ins,
                         struct skiff_eager_tensor *const *outs, struct skiff_error *err)
{
    struct recipe *r = NULL;
    const struct op_kind *kind = c->kernel.kind;
    if (e->noting && wanted_inputs(e, c, ins)) {
        if (kind->grad || kind->make_grad || op_kind_second(kind))
            TRY(recipe_of(e, c, e->wanted, &r, err));
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
        return note_op(e, c, r, ins, outs, err);
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

/* With an observer or pack hooks: they may run ops, which use e->args and may empty the cache. */
static enum skiff_status op_run_watched(struct skiff_eager *e, struct call *c,
                                        struct skiff_eager_tensor *const *args,
                                        struct skiff_error *err)
{
    size_t n = (size_t)(c->nin + c->nout);
    struct skiff_eager_tensor **own = mem_must((n + 1) * sizeof(*own));
    memcpy(own, args, n * sizeof(*own));
    c->refs++;
    enum skiff_status status = op_run(e, c, own, own + c->nin, err);
    call_unref(c);
    free(own);
    return status;
}

enum skiff_status skiff_eager_op(struct skiff_eager *e, const struct skiff_op_call *call,
                                 struct skiff_error *err)
{
    struct skiff_error own;
    err = err ? err : &own;
    struct call *c = call_find(e, call, err);
    if (!c)
        return err->code;
    if (c->nin + c->nout > e->args_cap) {
        e->args_cap = 2 * (c->nin + c->nout);
        e->args = mem_must_grow(e->args, (size_t)e->args_cap * sizeof(struct skiff_eager_tensor *));
    }
    struct skiff_eager_tensor **ins = e->args, **outs = e->args + c->nin;
    number_args(ins, c->kernel.kind->ins, call->ins, call->nins);
    number_args(outs, c->kernel.kind->outs, call->outs, call->nouts);
    return e->observer || e->pack.call ? op_run_watched(e, c, ins, err)
                                       : op_run(e, c, ins, outs, err);
}

bool skiff_eager_attr_type(const char *type, const char *attr, enum skiff_attr_type *out)
{
    const struct op_kind *kind = op_kind_find(type, GEN_2X);
    int i = kind ? op_kind_attr(kind, attr) : -1;
    if (i >= 0)
        *out = (enum skiff_attr_type)kind->attrs[i].type;
    return i >= 0;
}

bool skiff_eager_has_slot(const char *type, const char *slot, bool output)
{
    const struct op_kind *kind = op_kind_find(type, GEN_2X);
    return kind && op_kind_slot(output ? kind->outs : kind->ins, slot) >= 0;
}

void skiff_eager_note_own(struct skiff_eager *e, int nins, struct skiff_eager_tensor *const *ins,
                          int nouts, struct skiff_eager_tensor *const *outs,
                          const struct skiff_eager_own *own)
{
    struct note *n = note_create(e, nins, nouts);
    n->own = *own;
    for (int i = 0; i < nins; i++)
        if (ins[i] && !ins[i]->stop_gradient)
            note_edge(n, i, ins[i]);
    for (int i = 0; i < nouts; i++)
        if (outs[i])
            note_output(n, i, outs[i], false);
    note_unref(n);
}
