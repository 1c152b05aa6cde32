/* GHASH, the sum that AES-GCM takes over bytes (NIST SP 800-38D), for long records that are not
 * hidden: AVX-512 and VPCLMULQDQ, several times as fast as OpenSSL 3.0's. Whoever seals adds the
 * encrypted nonce (seal.c).
 *
 * No branch or address depends on the key or the bytes. Threads: one user at a time. */
#ifndef BASE_GHASH_H
#define BASE_GHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GHASH_BLOCK 16
#define GHASH_POWERS 32 /* blocks that are reduced together */

struct ghash {
    uint64_t powers[GHASH_POWERS][2]; /* of the key, the highest first */
    uint64_t sum[2];
    uint8_t rest[GHASH_BLOCK]; /* bytes of a block that is not complete */
    size_t nrest;
    uint64_t bytes; /* so far */
};

/* Does this processor have the instructions? If not, nothing else may be called. */
bool ghash_is_fast(void);
void ghash_init(struct ghash *g, const uint8_t key[GHASH_BLOCK]); /* AES of 16 zeros */
void ghash_begin(struct ghash *g);
void ghash_add(struct ghash *g, const void *bytes, size_t n);
/* The sum of bytes that are seen, and none that are hidden. */
void ghash_end(struct ghash *g, uint8_t out[GHASH_BLOCK]);

#endif
