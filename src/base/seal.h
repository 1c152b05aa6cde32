/* Seals: records that nobody can change, and, if wanted, nobody can read, between two that share a
 * key (AES-256-GCM, or ChaCha20-Poly1305 where that is faster; OpenSSL).
 *
 * A record is begun, its bytes are given in pieces, and it ends with a tag of SEAL_TAG bytes. Its
 * number in the stream is part of the seal: a record that is left out, doubled or moved does not
 * open. One seal is one direction: the maker's `opens` is false, the reader's true.
 * Threads: one user at a time. */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SEAL_KEY 32
#define SEAL_TAG 16

enum seal_cipher { SEAL_AES, SEAL_CHACHA };

struct seal;

/* Does this processor have instructions for AES? Without them it is several times slower than
 * ChaCha. */
bool seal_aes_is_fast(void);
/* Is the tag of ChaCha computed faster than that of AES over bytes that are not hidden? */
bool seal_chacha_sees_faster(void);

enum skiff_status seal_create(enum seal_cipher cipher, const uint8_t key[SEAL_KEY], bool opens,
                              struct seal **out, struct skiff_error *err);
void seal_destroy(struct seal *s); /* NULL is fine; wipes the key */

void seal_begin(struct seal *s);
/* Bytes that anybody may read; all of them before the first hidden ones. */
void seal_see(struct seal *s, const void *bytes, size_t n);
/* Hides (or, when opening, shows) n bytes; `to` may be `from`. What is shown must not be believed
 * before the tag has been checked. */
void seal_code(struct seal *s, const void *from, void *to, size_t n);
void seal_end(struct seal *s, uint8_t tag[SEAL_TAG]);
bool seal_check(struct seal *s, const uint8_t tag[SEAL_TAG]);

#endif
