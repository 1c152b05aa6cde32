/* Any object of a pickle, for paddle.load: exposes the nodes directly. A node may be shared, and a
 * list or dict may contain itself: callers that walk the nodes keep track of the path.
 *
 * A skiff_object is a pickle_node under its public name. Nodes borrow texts and numbers from the
 * bytes, which the skiff_pickle owns; an array is copied only when it is asked for. */
#include <stdlib.h>
#include <string.h>

#include <skiff/io.h>

#include "base/mem.h"
#include "store/pickle.h"
#include "store/pickle_node.h"
#include "tensor/value.h"

struct skiff_pickle {
    struct buf bytes;
    char *what;
    struct machine machine;
    struct pickle_node *root;
};

static const struct pickle_node *inner(const struct skiff_object *o)
{
    return (const struct pickle_node *)(const void *)o;
}

static const struct skiff_object *outer(const struct pickle_node *n)
{
    return (const struct skiff_object *)(const void *)n;
}

static enum skiff_status run(struct skiff_pickle *p, struct skiff_error *err)
{
    const uint8_t *bytes = (const uint8_t *)p->bytes.data;
    size_t n = p->bytes.len;
    if (!pickle_is(bytes, n))
        return error_set(err, SKIFF_FORMAT, "%s: not a pickle of protocol 2 to 5", p->what);
    arena_deinit(&p->machine.arena);
    p->machine = (struct machine){.p = bytes,
                                  .start = bytes,
                                  .end = bytes + n,
                                  .what = p->what,
                                  .err = err,
                                  .array_limit = n + (16u << 20),
                                  .array_budget = n + (16u << 20)};
    arena_init(&p->machine.arena);
    enum skiff_status status = machine_run(&p->machine, &p->root);
    free(p->machine.stack.v);
    free(p->machine.memo.v);
    p->machine.err = NULL;
    return status;
}

enum skiff_status pickle_object_read(struct buf *bytes, const char *what, struct skiff_pickle **out,
                                     struct skiff_error *err)
{
    struct skiff_pickle *p = mem_alloc_or_die(sizeof(*p));
    p->what = mem_strdup_or_die(what);
    p->bytes = *bytes;
    *bytes = (struct buf)BUF_INIT;
    arena_init(&p->machine.arena);
    enum skiff_status status = run(p, err);
    if (status < 0)
        skiff_pickle_close(p);
    else
        *out = p;
    return status;
}

enum skiff_status skiff_pickle_parse(const void *bytes, size_t n, const char *what,
                                     struct skiff_pickle **out, struct skiff_error *err)
{
    struct buf copy = BUF_INIT;
    buf_add(&copy, bytes, n);
    return pickle_object_read(&copy, what, out, err);
}

void skiff_pickle_close(struct skiff_pickle *p)
{
    if (!p)
        return;
    arena_deinit(&p->machine.arena);
    buf_deinit(&p->bytes);
    free(p->what);
    free(p);
}

const struct skiff_object *skiff_pickle_root(const struct skiff_pickle *p)
{
    return outer(p->root);
}

enum skiff_object_kind skiff_object_kind(const struct skiff_object *o)
{
    switch (inner(o)->kind) {
    case NODE_NONE:
        return SKIFF_OBJECT_NONE;
    case NODE_BOOL:
        return SKIFF_OBJECT_BOOL;
    case NODE_INT:
        return SKIFF_OBJECT_INT;
    case NODE_FLOAT:
        return SKIFF_OBJECT_FLOAT;
    case NODE_TEXT:
        return SKIFF_OBJECT_TEXT;
    case NODE_BYTES:
    case NODE_LATIN1:
        return SKIFF_OBJECT_BYTES;
    case NODE_TUPLE:
        return SKIFF_OBJECT_TUPLE;
    case NODE_LIST:
        return SKIFF_OBJECT_LIST;
    case NODE_DICT:
        return SKIFF_OBJECT_DICT;
    case NODE_ARRAY:
        return SKIFF_OBJECT_ARRAY;
    default:
        return SKIFF_OBJECT_OTHER;
    }
}

int64_t skiff_object_int(const struct skiff_object *o)
{
    return inner(o)->i;
}

double skiff_object_float(const struct skiff_object *o)
{
    return inner(o)->f;
}

const char *skiff_object_text(struct skiff_pickle *p, const struct skiff_object *o, size_t *out_n)
{
    const struct node_text *s = &inner(o)->s;
    if (inner(o)->kind != NODE_LATIN1) {
        *out_n = s->n;
        return (const char *)s->p;
    }
    char *plain = arena_alloc(&p->machine.arena, s->n + 1);
    *out_n = node_latin1_decode(s, (uint8_t *)plain);
    return plain;
}

size_t skiff_object_count(const struct skiff_object *o)
{
    return inner(o)->list.n;
}

const struct skiff_object *skiff_object_item(const struct skiff_object *o, size_t i)
{
    return i < inner(o)->list.n ? outer(inner(o)->list.v[i]) : NULL;
}

enum skiff_status skiff_object_array(struct skiff_pickle *p, const struct skiff_object *o,
                                     struct skiff_tensor **out, struct skiff_error *err)
{
    struct skiff_tensor *t = mem_alloc_or_die(sizeof(*t));
    p->machine.err = err;
    enum skiff_status status =
        node_to_tensor(&p->machine, "of the object", &inner(o)->array, &t->tensor);
    t->kind = VALUE_TENSOR;
    if (status < 0)
        skiff_tensor_destroy(t);
    else
        *out = t;
    return status;
}
