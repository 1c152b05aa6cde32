/* Proof of a shared secret: HMAC-SHA-256, random numbers and comparison in constant time
 * (libsodium). Any thread may call any of these; none blocks for long (random numbers may wait for
 * the system's entropy once after boot). */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES 32

/* out = HMAC-SHA-256(key, data) */
void secret_mac(const void *key, size_t key_len, const void *data, size_t len,
                uint8_t out[SECRET_BYTES]);
/* A key of its own for each purpose: HMAC(secret, label NUL job). */
void secret_derive(const char *secret, const char *label, const char *job,
                   uint8_t out[SECRET_BYTES]);
bool secret_equal(const uint8_t a[SECRET_BYTES], const uint8_t b[SECRET_BYTES]);
void secret_random(void *out, size_t len);
void secret_wipe(void *p, size_t len);

#endif
