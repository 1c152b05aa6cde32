/* The engine and its tensors.
 *
 * A tensor is a handle: a storage (struct storage), the tape node that made it, and its gradient.
 * The engine lives until its owner and all tensors and storages have released it, so a tensor
 * may outlive skiff_eager_destroy. An in-place write replaces the contents of a storage and
 * increments its version; tape nodes compare versions to find overwritten values. Freed storages
 * and handles go to free lists of the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

struct skiff_eager *skiff_eager_create(void)
{
    struct skiff_eager *e = mem_alloc_or_die(sizeof(*e));
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
    while (e->spare_storages) {
        struct storage *next = e->spare_storages->next;
        free(e->spare_storages);
        e->spare_storages = next;
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
        e->generator.i = 312; /* untrusted bytes: the index must stay within the state */
}

void skiff_eager_set_thread_pool(struct skiff_eager *e, struct skiff_thread_pool *pool)
{
    e->thread_pool = pool;
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
        t = mem_alloc_or_die(sizeof(*t));
    *t = (struct skiff_eager_tensor){.engine = e, .refs = 1, .stop_gradient = true};
    e->refs++;
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_create(struct skiff_eager *e)
{
    struct skiff_eager_tensor *t = tensor_alloc(e);
    t->storage = storage_create(e);
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_take(struct skiff_eager *e,
                                                   struct skiff_tensor *value)
{
    struct skiff_eager_tensor *t = skiff_eager_tensor_create(e);
    t->storage->value = *value;
    free(value);
    return t;
}

struct skiff_eager_tensor *skiff_eager_tensor_ref(struct skiff_eager_tensor *t)
{
    t->refs++;
    return t;
}

/* Removes the tensor from its position on the tape. */
static void leave_note(struct skiff_eager_tensor *t)
{
    if (t->node && t->node->outs[t->out].retain == t)
        t->node->outs[t->out].retain = NULL;
    tape_node_unref(t->node);
    t->node = NULL;
}

void skiff_eager_tensor_unref(struct skiff_eager_tensor *t)
{
    if (!t || --t->refs)
        return;
    struct skiff_eager *e = t->engine;
    leave_note(t);
    skiff_eager_tensor_unref(t->grad);
    hooks_deinit(t->hooks);
    storage_unref(t->storage);
    free(t->name);
    t->next = e->spare_tensors;
    e->spare_tensors = t;
    engine_unref(e);
}

struct skiff_eager_tensor *skiff_eager_detach(struct skiff_eager_tensor *t)
{
    struct skiff_eager_tensor *d = tensor_alloc(t->engine);
    d->storage = storage_ref(t->storage);
    return d;
}

struct skiff_eager_tensor *tensor_at(struct skiff_eager *e, struct storage *storage,
                                     const struct edge *edge)
{
    if (edge->leaf)
        return skiff_eager_tensor_ref(edge->leaf);
    struct skiff_eager_tensor *t = tensor_alloc(e);
    t->storage = storage_ref(storage);
    if (edge->node) {
        edge->node->refs++;
        t->node = edge->node;
        t->out = edge->out;
        t->stop_gradient = false;
    }
    return t;
}

void skiff_eager_become(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from)
{
    if (t == from)
        return;
    struct storage *storage = storage_ref(from->storage);
    struct tape_node *node = from->node;
    if (node)
        node->refs++;
    leave_note(t);
    storage_unref(t->storage);
    t->storage = storage;
    t->node = node;
    t->out = from->out;
    t->stop_gradient = from->stop_gradient;
}

/* ---- writing in place ---- */

/* Nodes made after number `since` have read or written the contents of two storages: the
 * storages have been swapped. */
static void redirect(struct tape_node *n, uint64_t since, struct storage *a, struct storage *b)
{
    struct skiff_eager *e = n->engine;
    if (n->number <= since || n->walk == e->walks)
        return;
    n->walk = e->walks;
    for (int i = 0; i < n->nin + n->nout; i++) {
        struct saved_value *s = &n->saved[i];
        struct storage *other = s->storage == a ? b : s->storage == b ? a : NULL;
        if (!other)
            continue;
        storage_ref(other);
        storage_unref(s->storage);
        s->storage = other;
        s->version = other->version;
    }
    for (int i = 0; i < n->nin; i++)
        if (n->edges[i].node)
            redirect(n->edges[i].node, since, a, b);
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

/* Everyone who shares the memory of `a` (detached tensors, views) sees the new value; false if
 * it does not fit. */
static bool swap_contents(struct storage *a, struct storage *b)
{
    value_flush(&a->value);
    value_flush(&b->value);
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

uint64_t skiff_eager_tape_position(const struct skiff_eager *e)
{
    return e->nodes;
}

void skiff_eager_take(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from, uint64_t since)
{
    if (t == from || t->storage == from->storage)
        return;
    if (!swap_contents(t->storage, from->storage)) {
        bool stop = t->stop_gradient;
        skiff_eager_become(t, from);
        t->stop_gradient = t->node ? t->stop_gradient : stop;
        return;
    }
    t->storage->version++;
    if (!from->node)
        return;
    t->engine->walks++;
    redirect(from->node, since, t->storage, from->storage);
    from->node->refs++;
    leave_note(t);
    t->node = from->node;
    t->out = from->out;
    t->stop_gradient = false;
    if (t->engine->generation == 1)
        skiff_eager_retain_grad(t);
}

void skiff_eager_replace(struct skiff_eager_tensor *t, struct skiff_eager_tensor *from)
{
    struct storage *storage = t->storage;
    unsigned version = storage->version;
    skiff_eager_take(t, from, skiff_eager_tape_position(t->engine));
    if (t->storage == storage)
        storage->silent += storage->version - version;
}

struct skiff_tensor *skiff_eager_value(struct skiff_eager_tensor *t)
{
    value_show(&t->storage->value);
    return &t->storage->value;
}

const struct skiff_tensor *skiff_eager_form(const struct skiff_eager_tensor *t)
{
    return &t->storage->value;
}

void skiff_eager_touched(struct skiff_eager_tensor *t)
{
    t->storage->version++;
}

unsigned skiff_eager_version(const struct skiff_eager_tensor *t)
{
    return t->storage->version - t->storage->silent;
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
    return !t->node || t->stop_gradient;
}

struct skiff_eager_tensor *skiff_eager_grad_of(struct skiff_eager_tensor *t)
{
    struct skiff_error err;
    if (t->grad || !t->cleared)
        return t->grad;
    const struct tensor *like = &t->storage->value.tensor;
    struct skiff_eager_tensor *zeros = skiff_eager_tensor_create(t->engine);
    if (value_as_tensor(&zeros->storage->value, like->dtype, &like->shape, &err) < 0) {
        skiff_eager_tensor_unref(zeros);
        return NULL;
    }
    memset(zeros->storage->value.tensor.data, 0, tensor_bytes(&zeros->storage->value.tensor));
    zeros->stop_gradient = false;
    return t->grad = zeros;
}

/* Zeros are allocated only when somebody reads them: usually the next backward comes first. */
void skiff_eager_clear_grad(struct skiff_eager_tensor *t, bool to_zero)
{
    struct skiff_eager_tensor *g = t->grad;
    if (to_zero && g && (g->user || g->refs > 1) && g->storage->value.kind == VALUE_TENSOR) {
        memset(g->storage->value.tensor.data, 0, tensor_bytes(&g->storage->value.tensor));
        g->storage->version++;
        return;
    }
    t->cleared = to_zero && (t->cleared || (g && g->storage->value.kind == VALUE_TENSOR));
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
    if (!t->node || t->node->outs[t->out].retain == t)
        return;
    t->node->outs[t->out].retain = t;
    t->node->outs[t->out].retain_after = t->engine->hooks;
}

void skiff_eager_set_name(struct skiff_eager_tensor *t, const char *name)
{
    char *copy = name ? mem_strdup_or_die(name) : NULL;
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

void hooks_deinit(struct hook *h)
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
    return t->node ? &t->node->outs[t->out].hooks : &t->hooks;
}

int64_t skiff_eager_add_hook(struct skiff_eager_tensor *t, skiff_eager_hook hook, void *user,
                             void (*end)(void *user))
{
    if (t->stop_gradient)
        return 0;
    struct hook *h = mem_alloc_or_die(sizeof(*h)), **at = hook_list(t);
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
            hooks_deinit(h);
            return true;
        }
    return false;
}
