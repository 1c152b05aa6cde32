/* Hooks for saved tensors (paddle.autograd.saved_tensors_hooks): a node keeps the result of
 * `pack` and a storage without bytes; backward calls `unpack` to get the tensor back. */
#include <stdlib.h>

#include "eager/eager.h"

struct skiff_eager_pack skiff_eager_set_pack(struct skiff_eager *e, struct skiff_eager_pack pack)
{
    struct skiff_eager_pack before = e->pack;
    e->pack = pack;
    return before;
}

/* The tensor passed to the hook. The hook may keep it, and later in-place writes must not change
 * it, so it is a copy. A leaf is passed itself, because second derivatives lead to it; a change
 * of a leaf is found by its version. An output has no producer here: it would own the node that
 * owns it. */
static enum skiff_status give(struct tape_node *n, const struct edge *edge, struct saved_value *s,
                              struct skiff_eager_tensor *t, struct skiff_eager_tensor **out,
                              struct skiff_error *err)
{
    if (edge->leaf) {
        s->leaf_version = t->storage->version;
        *out = skiff_eager_tensor_ref(t);
        return SKIFF_OK;
    }
    struct storage *copy = storage_create(n->engine);
    enum skiff_status status = value_copy(&copy->value, skiff_eager_value(t), err);
    *out = tensor_at(n->engine, copy, edge);
    (*out)->stop_gradient = t->stop_gradient;
    storage_unref(copy);
    return status;
}

/* Hooks run ops of their own; these do not call the hooks again. */
enum skiff_status packed_save(struct tape_node *n, int at, struct skiff_eager_tensor *t,
                              struct skiff_error *err)
{
    static const struct edge none;
    struct skiff_eager *e = n->engine;
    struct saved_value *s = &n->saved[at];
    bool output = at >= n->nin;
    struct skiff_eager_tensor *given;
    enum skiff_status status = give(n, output ? &none : &n->edges[at], s, t, &given, err);
    if (output)
        given->stop_gradient = false;
    if (status == SKIFF_OK) {
        struct skiff_eager_pack pack = skiff_eager_set_pack(e, (struct skiff_eager_pack){0});
        s->packed = pack.call(pack.user, given, err);
        skiff_eager_set_pack(e, pack);
        status = s->packed ? SKIFF_OK : err->code;
    }
    skiff_eager_tensor_unref(given);
    return status;
}

static enum skiff_status check_form(const struct skiff_tensor *have,
                                    const struct skiff_tensor *want, struct skiff_error *err)
{
    char a[160], b[160];
    if (have->kind == VALUE_TENSOR && have->tensor.dtype == want->tensor.dtype &&
        shape_equal(&have->tensor.shape, &want->tensor.shape))
        return SKIFF_OK;
    return error_set(
        err, SKIFF_INVALID,
        "the unpack hook of saved tensors must give back a tensor of type %s and shape "
        "%s, but gave %s %s",
        dtype_name(want->tensor.dtype), shape_text(&want->tensor.shape, b),
        have->kind == VALUE_TENSOR ? dtype_name(have->tensor.dtype) : "no value",
        have->kind == VALUE_TENSOR ? shape_text(&have->tensor.shape, a) : "");
}

/* For one walk through the node: `box` has the value, `form` the shape-only storage. */
enum skiff_status packed_open(struct tape_node *n, struct skiff_error *err)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved_value *s = &n->saved[i];
        if (!s->packed)
            continue;
        struct skiff_eager_tensor *t = s->packed->unpack(s->packed, err);
        if (!t)
            return err->code;
        enum skiff_status status = check_form(skiff_eager_value(t), &s->storage->value, err);
        if (status == SKIFF_OK) {
            s->form = s->storage;
            s->storage = storage_ref(t->storage);
            bool leaf = i < n->nin && n->edges[i].leaf && n->edges[i].leaf->storage == t->storage;
            s->version = leaf ? s->leaf_version : t->storage->version;
        }
        skiff_eager_tensor_unref(t);
        TRY(status);
    }
    return SKIFF_OK;
}

void packed_close(struct tape_node *n)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved_value *s = &n->saved[i];
        if (!s->form)
            continue;
        storage_unref(s->storage);
        s->storage = s->form;
        s->form = NULL;
    }
}

void packed_end(struct saved_value *s)
{
    struct skiff_eager_packed *p = s->packed;
    s->packed = NULL;
    if (p)
        p->end(p);
}
