/* Boxes, and the blocks of memory that go back and forth between them.
 *
 * A training step makes and drops the same tensors again and again. Their blocks are kept by size
 * and handed to the next outputs of that size (call.out_bytes knows it from the run before), so a
 * steady loop asks the system for nothing. What is kept is what was once in use: it does not grow
 * with the number of steps, and never beyond POOL_LIMIT. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

static const size_t POOL_LIMIT = (size_t)1 << 30;
enum { POOL_TRIES = 8 };

static int class_of(size_t bytes)
{
    int c = 63 - __builtin_clzll(bytes | 1);
    return c < POOL_CLASSES ? c : POOL_CLASSES - 1;
}

static bool pool_put(struct pool *p, void *data, size_t cap)
{
    if (!cap || p->bytes + cap > POOL_LIMIT)
        return false;
    struct pool_block *b = p->spare;
    if (b)
        p->spare = b->next;
    else
        b = mem_must(sizeof(*b));
    int c = class_of(cap);
    *b = (struct pool_block){data, cap, p->classes[c]};
    p->classes[c] = b;
    p->bytes += cap;
    return true;
}

/* A block of at least so many bytes and not much more. */
static void *pool_take(struct pool *p, size_t bytes, size_t *cap)
{
    int first = class_of(bytes);
    for (int c = first; c <= first + 1 && c < POOL_CLASSES; c++) {
        struct pool_block **at = &p->classes[c];
        for (int i = 0; *at && i < POOL_TRIES; i++, at = &(*at)->next) {
            struct pool_block *b = *at;
            if (b->cap < bytes || b->cap > 2 * bytes + 256)
                continue;
            *at = b->next;
            void *data = b->data;
            *cap = b->cap;
            p->bytes -= b->cap;
            b->next = p->spare;
            p->spare = b;
            return data;
        }
    }
    return NULL;
}

static void free_blocks(struct pool_block *b, bool data)
{
    while (b) {
        struct pool_block *next = b->next;
        if (data)
            mem_free(b->data);
        free(b);
        b = next;
    }
}

void pool_deinit(struct pool *p)
{
    for (int c = 0; c < POOL_CLASSES; c++)
        free_blocks(p->classes[c], true);
    free_blocks(p->spare, false);
    *p = (struct pool){0};
}

struct box *box_create(struct skiff_eager *e)
{
    struct box *b = e->spare_boxes;
    if (b)
        e->spare_boxes = b->next;
    else
        b = mem_must(sizeof(*b));
    b->engine = e;
    b->refs = 1;
    b->version = 0;
    b->next = NULL;
    e->refs++;
    return b;
}

void box_supply(struct box *b, size_t bytes)
{
    struct tensor *t = &b->value.tensor;
    size_t cap;
    if (t->data || !bytes)
        return;
    void *data = pool_take(&b->engine->pool, bytes, &cap);
    if (data) {
        t->data = data;
        t->cap = cap;
        t->owner = TENSOR_HEAP;
    }
}

void box_unref(struct box *b)
{
    if (!b || --b->refs)
        return;
    struct skiff_eager *e = b->engine;
    struct tensor *t = &b->value.tensor;
    if (t->owner == TENSOR_HEAP && t->data && pool_put(&e->pool, t->data, t->cap)) {
        t->data = NULL;
        t->cap = 0;
    }
    value_deinit(&b->value);
    b->next = e->spare_boxes;
    e->spare_boxes = b;
    engine_unref(e);
}
