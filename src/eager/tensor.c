/* The engine, and its tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

struct skiff_eager *skiff_eager_create(void)
{
    struct skiff_eager *e = mem_must(sizeof(*e));
    e->refs = 1;
    e->noting = true;
    e->generation = 2;
    e->env.generator = &e->generator;
    e->env.defer_rows = true;
    mt64_seed(&e->generator, rng_entropy());
    return e;
}

void engine_unref(struct skiff_eager *e)
{
    if (--e->refs)
        return;
    cache_deinit(&e->cache);
    pool_deinit(&e->pool);
    while (e->spare_boxes) {
        struct box *next = e->spare_boxes->next;
        free(e->spare_boxes);
        e->spare_boxes = next;
    }
    while (e->spare_tensors) {
        struct skiff_eager_tensor *next = e->spare_tensors->next;
        free(e->spare_tensors);
        e->spare_tensors = next;
    }
    kernel_scratch_deinit(&e->scratch);
    free(e->args);
    free(e->wanted);
    free(e);
}

void skiff_eager_destroy(struct skiff_eager *e)
{
    if (e)
        engine_unref(e);
}

void skiff_eager_seed(struct skiff_eager *e, uint64_t seed)
{
    mt64_seed_seq(&e->generator, seed);
}

_Static_assert(sizeof(struct mt64) == SKIFF_GENERATOR_BYTES, "what skiff/eager.h says");

void skiff_eager_get_generator(const struct skiff_eager *e,
                               unsigned char out[SKIFF_GENERATOR_BYTES])
{
    memcpy(out, &e->generator, sizeof(e->generator));
}

void skiff_eager_set_generator(struct skiff_eager *e, const unsigned char in[SKIFF_GENERATOR_BYTES])
{
    memcpy(&e->generator, in, sizeof(e->generator));
    if (e->generator.i < 0 || e->generator.i > 312)
        e->generator.i = 312; /* bytes from elsewhere: never beyond the state */
}

bool skiff_eager_set_noting(struct skiff_eager *e, bool noting)
{
    bool before = e->noting;
    e->noting = noting;
    return before;
}

int skiff_eager_set_generation(struct skiff_eager *e, int generation)
{
    int before = e->generation;
    e->generation = generation;
    return before;
}

void skiff_eager_set_observer(struct skiff_eager *e, skiff_eager_observer observer, void *user)
{
    e->observer = observer;
    e->observer_user = user;
}

bool skiff_eager_noting(const struct skiff_eager *e)
{
    return e->noting;
}

/* ---- tensors ---- */

static struct skiff_eager_tensor *tensor_alloc(struct skiff_eager *e)
{
    struct skiff_eager_tensor *t = e->spare_tensors;
    if (t)
        e->spare_tensors = t->next;
    else
        t = mem_must(sizeof(*t));
    *t = (struct skiff_eager_tensor){.engine = e, .refs = 1, .stop_gradient = true};
    e->refs++;
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_create(struct skiff_eager *e)
{
    struct skiff_eager_tensor *t = tensor_alloc(e);
    t->box = box_create(e);
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_take(struct skiff_eager *e,
                                                   struct skiff_tensor *value)
{
    struct skiff_eager_tensor *t = skiff_eager_tensor_create(e);
    t->box->value = *value;
    free(value);
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_ref(struct skiff_eager_tensor *t)
{
    t->refs++;
    return t;
}

/* It no longer stands at its place in the notes. */
static void leave_note(struct skiff_eager_tensor *t)
{
    if (t->note && t->note->outs[t->out].retain == t)
        t->note->outs[t->out].retain = NULL;
    note_unref(t->note);
    t->note = NULL;
}

void skiff_eager_tensor_unref(struct skiff_eager_tensor *t)
{
    if (!t || --t->refs)
        return;
    struct skiff_eager *e = t->engine;
    leave_note(t);
    skiff_eager_tensor_unref(t->grad);
    hooks_free(t->hooks);
    box_unref(t->box);
    free(t->name);
    t->next = e->spare_tensors;
    e->spare_tensors = t;
    engine_unref(e);
}

struct skiff_eager_tensor *skiff_eager_detach(struct skiff_eager_tensor *t)
{
    struct skiff_eager_tensor *d = tensor_alloc(t->engine);
    d->box = box_ref(t->box);
    return d;
}

struct skiff_eager_tensor *tensor_at(struct skiff_eager *e, struct box *box,
                                     const struct edge *edge)
{
    if (edge->leaf)
        return skiff_eager_tensor_ref(edge->leaf);
    struct skiff_eager_tensor *t = tensor_alloc(e);
    t->box = box_ref(box);
    if (edge->note) {
        edge->note->refs++;
        t->note = edge->note;
        t->out = edge->out;
        t->stop_gradient = false;
    }
    return t;
}

void skiff_eager_become(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from)
{
    if (t == from)
        return;
    struct box *box = box_ref(from->box);
    struct note *note = from->note;
    if (note)
        note->refs++;
    leave_note(t);
    box_unref(t->box);
    t->box = box;
    t->note = note;
    t->out = from->out;
    t->stop_gradient = from->stop_gradient;
}

/* ---- writing in place ---- */

/* Notes made after number `since` have read or written what two boxes held: the boxes have changed
 * places. */
static void redirect(struct note *n, uint64_t since, struct box *a, struct box *b)
{
    struct skiff_eager *e = n->engine;
    if (n->number <= since || n->walk == e->walks)
        return;
    n->walk = e->walks;
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved *s = &n->saved[i];
        struct box *other = s->box == a ? b : s->box == b ? a : NULL;
        if (!other)
            continue;
        box_ref(other);
        box_unref(s->box);
        s->box = other;
        s->version = other->version;
    }
    for (int i = 0; i < n->nin; i++)
        if (n->edges[i].note)
            redirect(n->edges[i].note, since, a, b);
}

static void swap_bytes(char *a, char *b, size_t n)
{
    char part[4096];
    while (n) {
        size_t k = n < sizeof(part) ? n : sizeof(part);
        memcpy(part, a, k);
        memcpy(a, b, k);
        memcpy(b, part, k);
        a += k, b += k, n -= k;
    }
}

/* Who shares the memory of `a` (detached tensors, views) sees what comes; false: does not fit. */
static bool swap_contents(struct box *a, struct box *b)
{
    value_settle(&a->value);
    value_settle(&b->value);
    if (a->refs == 1) {
        struct skiff_tensor value = a->value;
        a->value = b->value;
        b->value = value;
        return true;
    }
    struct tensor *x = &a->value.tensor, *y = &b->value.tensor, x_before = *x;
    size_t bytes = a->value.kind == VALUE_TENSOR ? tensor_bytes(x) : 0;
    if (a->value.kind != VALUE_TENSOR || b->value.kind != VALUE_TENSOR || tensor_bytes(y) != bytes)
        return false;
    swap_bytes(x->data, y->data, bytes);
    x->dtype = y->dtype, x->shape = y->shape, x->lod = y->lod;
    y->dtype = x_before.dtype, y->shape = x_before.shape, y->lod = x_before.lod;
    return true;
}

uint64_t skiff_eager_mark(const struct skiff_eager *e)
{
    return e->notes;
}

void skiff_eager_take(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from, uint64_t since)
{
    if (t == from || t->box == from->box)
        return;
    if (!swap_contents(t->box, from->box)) {
        bool stop = t->stop_gradient;
        skiff_eager_become(t, from);
        t->stop_gradient = t->note ? t->stop_gradient : stop;
        return;
    }
    t->box->version++;
    if (!from->note)
        return;
    t->engine->walks++;
    redirect(from->note, since, t->box, from->box);
    from->note->refs++;
    leave_note(t);
    t->note = from->note;
    t->out = from->out;
    t->stop_gradient = false;
    if (t->engine->generation == 1)
        skiff_eager_retain_grad(t);
}

void skiff_eager_replace(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from)
{
    struct box *box = t->box;
    unsigned version = box->version;
    skiff_eager_take(t, from, skiff_eager_mark(t->engine));
    if (t->box == box)
        box->silent += box->version - version;
}

struct skiff_tensor *skiff_eager_value(struct skiff_eager_tensor *t)
{
    value_show(&t->box->value);
    return &t->box->value;
}

const struct skiff_tensor *skiff_eager_form(const struct skiff_eager_tensor *t)
{
    return &t->box->value;
}

void skiff_eager_touched(struct skiff_eager_tensor *t)
{
    t->box->version++;
}

unsigned skiff_eager_version(const struct skiff_eager_tensor *t)
{
    return t->box->version - t->box->silent;
}

bool skiff_eager_stop_gradient(const struct skiff_eager_tensor *t)
{
    return t->stop_gradient;
}

void skiff_eager_set_stop_gradient(struct skiff_eager_tensor *t, bool stop)
{
    t->stop_gradient = stop;
}

bool skiff_eager_is_leaf(const struct skiff_eager_tensor *t)
{
    return !t->note || t->stop_gradient;
}

struct skiff_eager_tensor *skiff_eager_grad_of(struct skiff_eager_tensor *t)
{
    struct skiff_error err;
    if (t->grad || !t->cleared)
        return t->grad;
    const struct tensor *like = &t->box->value.tensor;
    struct skiff_eager_tensor *zeros = skiff_eager_tensor_create(t->engine);
    if (value_as_tensor(&zeros->box->value, like->dtype, &like->shape, &err) < 0) {
        skiff_eager_tensor_unref(zeros);
        return NULL;
    }
    memset(zeros->box->value.tensor.data, 0, tensor_bytes(&zeros->box->value.tensor));
    zeros->stop_gradient = false;
    return t->grad = zeros;
}

/* Zeros are only made when somebody looks at them: mostly the next backward comes first. */
void skiff_eager_clear_grad(struct skiff_eager_tensor *t, bool to_zero)
{
    struct skiff_eager_tensor *g = t->grad;
    if (to_zero && g && (g->user || g->refs > 1) && g->box->value.kind == VALUE_TENSOR) {
        memset(g->box->value.tensor.data, 0, tensor_bytes(&g->box->value.tensor));
        g->box->version++;
        return;
    }
    t->cleared = to_zero && (t->cleared || (g && g->box->value.kind == VALUE_TENSOR));
    skiff_eager_tensor_unref(t->grad);
    t->grad = NULL;
}

void skiff_eager_set_grad(struct skiff_eager_tensor *t, struct skiff_eager_tensor *grad)
{
    if (grad)
        grad->refs++;
    skiff_eager_tensor_unref(t->grad);
    t->grad = grad;
    t->cleared = false;
}

void skiff_eager_retain_grad(struct skiff_eager_tensor *t)
{
    if (!t->note || t->note->outs[t->out].retain == t)
        return;
    t->note->outs[t->out].retain = t;
    t->note->outs[t->out].retain_after = t->engine->hooks;
}

void skiff_eager_set_name(struct skiff_eager_tensor *t, const char *name)
{
    char *copy = name ? mem_must_strdup(name) : NULL;
    free(t->name);
    t->name = copy;
}

const char *skiff_eager_name(const struct skiff_eager_tensor *t)
{
    return t->name;
}

void skiff_eager_set_user(struct skiff_eager_tensor *t, void *user)
{
    t->user = user;
}

void *skiff_eager_user(const struct skiff_eager_tensor *t)
{
    return t->user;
}

/* ---- hooks ---- */

void hooks_free(struct hook *h)
{
    while (h) {
        struct hook *next = h->next;
        if (h->end)
            h->end(h->user);
        free(h);
        h = next;
    }
}

static struct hook **hook_list(struct skiff_eager_tensor *t)
{
    return t->note ? &t->note->outs[t->out].hooks : &t->hooks;
}

int64_t skiff_eager_add_hook(struct skiff_eager_tensor *t, skiff_eager_hook hook, void *user,
                             void (*end)(void *user))
{
    if (t->stop_gradient)
        return 0;
    struct hook *h = mem_must(sizeof(*h)), **at = hook_list(t);
    *h = (struct hook){hook, user, end, ++t->engine->hooks, NULL};
    while (*at)
        at = &(*at)->next;
    *at = h;
    return h->number;
}

bool skiff_eager_remove_hook(struct skiff_eager_tensor *t, int64_t number)
{
    for (struct hook **at = hook_list(t); *at; at = &(*at)->next)
        if ((*at)->number == number) {
            struct hook *h = *at;
            *at = h->next;
            h->next = NULL;
            hooks_free(h);
            return true;
        }
    return false;
}
