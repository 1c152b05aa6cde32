/* Block: bytes that several holders share by reference: a message on its way may lie in a send
 * queue, in a library's buffer and in the list of what may have to be sent again at the same time,
 * without a copy.
 *
 * Ownership: a new block has one reference, its creator's. The last unref frees it.
 * Threads: references are counted atomically. The bytes are written by the creator before anybody
 * else gets a reference and never after. */
#ifndef NET_BLOCK_H
#define NET_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct block {
    atomic_uint refs;
    uint8_t *data;
    size_t len;
    bool hashed;   /* hash is set: see wire_body_seal */
    uint64_t hash; /* of all bytes */
    /* gives back data and the block itself; called once, by whichever thread drops the last
     * reference, and must not block */
    void (*release)(struct block *b);
    void *owner;
};

/* Accounted, 64-byte aligned, not zeroed. `what` names the thing for the message. */
enum skiff_status block_create(size_t len, const char *what, struct block **out,
                               struct skiff_error *err);
/* Accounted copy of bytes. */
enum skiff_status block_copy(const void *bytes, size_t len, const char *what, struct block **out,
                             struct skiff_error *err);
/* A block over bytes that are somebody else's: `release` gives them back and frees the block with
 * free(). */
struct block *block_wrap(void *data, size_t len, void (*release)(struct block *), void *owner);

struct block *block_ref(struct block *b); /* gives b back; NULL is fine */
void block_unref(struct block *b);        /* NULL is fine */

static inline size_t block_len(const struct block *b)
{
    return b ? b->len : 0;
}

#endif
