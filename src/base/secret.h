/* Proof of a shared secret: HMAC-SHA-256, an exchange of keys that only those with the same secret
 * end alike, random numbers, comparison in constant time (libsodium). Any thread may call any of
 * these; none blocks for long (random numbers may wait for the system's entropy once after boot).
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES 32

/* out = HMAC-SHA-256(key, data) */
void secret_mac(const void *key, size_t key_len, const void *data, size_t len,
                uint8_t out[SECRET_BYTES]);
/* out = SHA-256(data) */
void secret_sha256(const void *data, size_t len, uint8_t out[SECRET_BYTES]);
/* A key of its own for each purpose: HMAC(secret, label NUL job). */
void secret_derive(const char *secret, const char *label, const char *job,
                   uint8_t out[SECRET_BYTES]);
bool secret_equal(const uint8_t a[SECRET_BYTES], const uint8_t b[SECRET_BYTES]);
void secret_random(void *out, size_t len);
void secret_wipe(void *p, size_t len);

/* ---- an exchange of keys by a shared secret (CPace over ristretto255) ----
 *
 * Both sides make a base point of the secret, send random multiples of it to each other, and get
 * the same value out when their secrets are equal, else values that have nothing to do with each
 * other. What passes between them says nothing about the secret: somebody who listens, or speaks
 * with one side, can try one guess for each exchange he takes part in, and none at home. */
struct pake {
    uint8_t scalar[SECRET_BYTES];
    uint8_t share[SECRET_BYTES]; /* for the other side */
};
void pake_base(const uint8_t key[SECRET_BYTES], uint8_t out[SECRET_BYTES]);
void pake_start(const uint8_t base[SECRET_BYTES], struct pake *out);
/* False: the other's share is none. */
bool pake_finish(const struct pake *p, const uint8_t other[SECRET_BYTES],
                 uint8_t out[SECRET_BYTES]);

#endif
