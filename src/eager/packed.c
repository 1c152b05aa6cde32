/* Hooks for what notes save (paddle.autograd.saved_tensors_hooks): a note keeps what `pack` made of
 * a tensor, and the tensor's form without bytes; backward asks for the tensor again. */
#include <stdlib.h>

#include "eager/eager.h"

struct skiff_eager_pack skiff_eager_set_pack(struct skiff_eager *e, struct skiff_eager_pack pack)
{
    struct skiff_eager_pack before = e->pack;
    e->pack = pack;
    return before;
}

/* What the hook gets. It may keep it as it is: later writes in place must not change it, so it is a
 * copy. A leaf is given itself (derivatives of second order lead to it); a change of it is found by
 * its version. An output comes from no note: it would hold the note that holds it. */
static enum skiff_status give(struct note *n, const struct edge *edge, struct saved *s,
                              struct skiff_eager_tensor *t, struct skiff_eager_tensor **out,
                              struct skiff_error *err)
{
    if (edge->leaf) {
        s->leaf_version = t->box->version;
        *out = skiff_eager_tensor_ref(t);
        return SKIFF_OK;
    }
    struct box *copy = box_create(n->engine);
    enum skiff_status status = value_copy(&copy->value, skiff_eager_value(t), err);
    *out = tensor_at(n->engine, copy, edge);
    (*out)->stop_gradient = t->stop_gradient;
    box_unref(copy);
    return status;
}

/* Hooks run ops of their own, for which there are no hooks. */
enum skiff_status packed_save(struct note *n, int at, struct skiff_eager_tensor *t,
                              struct skiff_error *err)
{
    static const struct edge none;
    struct skiff_eager *e = n->engine;
    struct saved *s = &n->saved[at];
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

/* For one walk through the note: `box` has the value, `form` what it was before. */
enum skiff_status packed_open(struct note *n, struct skiff_error *err)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved *s = &n->saved[i];
        if (!s->packed)
            continue;
        struct skiff_eager_tensor *t = s->packed->unpack(s->packed, err);
        if (!t)
            return err->code;
        enum skiff_status status = check_form(skiff_eager_value(t), &s->box->value, err);
        if (status == SKIFF_OK) {
            s->form = s->box;
            s->box = box_ref(t->box);
            bool leaf = i < n->nin && n->edges[i].leaf && n->edges[i].leaf->box == t->box;
            s->version = leaf ? s->leaf_version : t->box->version;
        }
        skiff_eager_tensor_unref(t);
        TRY(status);
    }
    return SKIFF_OK;
}

void packed_close(struct note *n)
{
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved *s = &n->saved[i];
        if (!s->form)
            continue;
        box_unref(s->box);
        s->box = s->form;
        s->form = NULL;
    }
}

void packed_end(struct saved *s)
{
    struct skiff_eager_packed *p = s->packed;
    s->packed = NULL;
    if (p)
        p->end(p);
}
