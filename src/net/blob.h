/* Blob: bytes that several holders share by reference. A message in flight may lie in a send queue,
 * in a library's buffer and in the list of messages that may have to be sent again at the same
 * time, without a copy.
 *
 * Ownership: a new blob has one reference, its creator's. The last unref frees it. Threads:
 * references are counted atomically. The creator writes the bytes before it shares the blob;
 * afterwards they never change. */
#ifndef NET_BLOB_H
#define NET_BLOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct blob {
    atomic_uint refs;
    uint8_t *data;
    size_t len;
    /* frees data and the blob itself; called once, by whichever thread drops the last reference,
     * and must not block */
    void (*release)(struct blob *b);
    void *owner;
};

/* Accounted, 64-byte aligned, not zeroed. `what` names the thing for the message. */
enum skiff_status blob_create(size_t len, const char *what, struct blob **out,
                              struct skiff_error *err);
/* Accounted copy of bytes. */
enum skiff_status blob_copy(const void *bytes, size_t len, const char *what, struct blob **out,
                            struct skiff_error *err);
/* A blob over foreign bytes: `release` gives them back and frees the blob with free(). */
struct blob *blob_wrap(void *data, size_t len, void (*release)(struct blob *), void *owner);

struct blob *blob_ref(struct blob *b); /* returns b; NULL is a no-op */
void blob_unref(struct blob *b);       /* NULL is a no-op */

static inline size_t blob_len(const struct blob *b)
{
    return b ? b->len : 0;
}

#endif
