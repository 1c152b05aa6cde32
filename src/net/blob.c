#include "net/blob.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void release_own(struct blob *b)
{
    mem_free(b->data);
    free(b);
}

enum skiff_status blob_create(size_t len, const char *what, struct blob **out,
                              struct skiff_error *err)
{
    void *data = NULL;
    TRY(mem_alloc(len ? len : 1, what, &data, err));
    *out = blob_wrap(data, len, release_own, NULL);
    return SKIFF_OK;
}

enum skiff_status blob_copy(const void *bytes, size_t len, const char *what, struct blob **out,
                            struct skiff_error *err)
{
    struct blob *b;
    TRY(blob_create(len, what, &b, err));
    if (len)
        memcpy(b->data, bytes, len);
    *out = b;
    return SKIFF_OK;
}

struct blob *blob_wrap(void *data, size_t len, void (*release)(struct blob *), void *owner)
{
    struct blob *b = mem_alloc_or_die(sizeof *b);
    atomic_init(&b->refs, 1);
    b->data = data;
    b->len = len;
    b->release = release;
    b->owner = owner;
    return b;
}

struct blob *blob_ref(struct blob *b)
{
    if (b)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void blob_unref(struct blob *b)
{
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        b->release(b);
}
