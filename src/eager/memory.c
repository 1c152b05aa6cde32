/* Storages, and the memory blocks that are reused between them.
 *
 * A training step makes and drops the same tensors again and again. Freed blocks are kept by
 * size class and reused for later outputs of that size. (The shape rule gives the size; for ops
 * without one, call.out_bytes of the previous run does.) A steady loop therefore asks the system
 * for nothing. A class keeps at most as many blocks as it once lacked, so memory that came from
 * elsewhere (arrays of the caller, zeros) and that nobody requests returns to the system. The
 * pool never keeps more than a quarter of the machine's memory. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eager/eager.h"

enum { POOL_TRIES = 8 };

static int class_of(size_t bytes)
{
    int c = 63 - __builtin_clzll(bytes | 1);
    return c < POOL_CLASSES ? c : POOL_CLASSES - 1;
}

/* How many more blocks class c may keep. A block has the size that was missed or nearly twice that,
 * so a request missed in a class comes back as a block of this class or of the next one. */
static int space_in(const struct block_pool *p, int c)
{
    return p->missed[c] + (c ? p->missed[c - 1] : 0) - p->count[c];
}

static bool pool_put(struct block_pool *p, void *data, size_t cap)
{
    int c = class_of(cap);
    if (!cap || space_in(p, c) <= 0 || p->bytes + cap > mem_of_machine() / 4)
        return false;
    struct pool_block *b = p->spare;
    if (b)
        p->spare = b->next;
    else
        b = mem_alloc_or_die(sizeof(*b));
    *b = (struct pool_block){data, cap, p->classes[c]};
    p->classes[c] = b;
    p->count[c]++;
    p->bytes += cap;
    return true;
}

/* Unlinks the block at *at and returns its memory. */
static void *pool_unlink(struct block_pool *p, int c, struct pool_block **at, size_t *cap)
{
    struct pool_block *b = *at;
    void *data = b->data;
    *at = b->next;
    *cap = b->cap;
    p->count[c]--;
    p->bytes -= b->cap;
    b->next = p->spare;
    p->spare = b;
    return data;
}

/* Returns a block of `bytes` to 2 * bytes + 256 bytes, or NULL. If the class has only blocks that
 * do not fit, one of them is freed, so that unusable blocks do not pile up. */
static void *pool_take(struct block_pool *p, size_t bytes, size_t *cap)
{
    int first = class_of(bytes);
    for (int c = first; c <= first + 1 && c < POOL_CLASSES; c++) {
        struct pool_block **at = &p->classes[c];
        for (int i = 0; *at && i < POOL_TRIES; i++, at = &(*at)->next)
            if ((*at)->cap >= bytes && (*at)->cap <= 2 * bytes + 256)
                return pool_unlink(p, c, at, cap);
    }
    if (p->classes[first])
        mem_free(pool_unlink(p, first, &p->classes[first], cap));
    else
        p->missed[first]++;
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

void pool_deinit(struct block_pool *p)
{
    for (int c = 0; c < POOL_CLASSES; c++)
        free_blocks(p->classes[c], true);
    free_blocks(p->spare, false);
    *p = (struct block_pool){0};
}

struct storage *storage_create(struct skiff_eager *e)
{
    struct storage *b = e->spare_storages;
    if (b)
        e->spare_storages = b->next;
    else
        b = mem_alloc_or_die(sizeof(*b));
    b->engine = e;
    b->refs = 1;
    b->version = b->silent = 0;
    b->next = NULL;
    e->refs++;
    return b;
}

void pool_supply(void *pool, struct tensor *t, size_t bytes)
{
    size_t cap;
    if (t->data || !bytes)
        return;
    void *data = pool_take(pool, bytes, &cap);
    if (data) {
        t->data = data;
        t->cap = cap;
        t->owner = TENSOR_HEAP;
    }
}

void storage_unref(struct storage *b)
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
    b->next = e->spare_storages;
    e->spare_storages = b;
    engine_unref(e);
}
