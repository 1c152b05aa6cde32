#include "base/secret.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SECRET_BYTES == crypto_auth_hmacsha256_BYTES, "libsodium's HMAC-SHA-256");

/* Chooses libsodium's fastest code and opens the random source; cheap when done before. It fails
 * only where the system has no random source at all. */
static void prepare(void)
{
    if (sodium_init() < 0)
        abort();
}

void secret_mac(const void *key, size_t key_len, const void *data, size_t len,
                uint8_t out[SECRET_BYTES])
{
    crypto_auth_hmacsha256_state state;
    prepare();
    crypto_auth_hmacsha256_init(&state, key, key_len);
    crypto_auth_hmacsha256_update(&state, data, len);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof state);
}

void secret_sha256(const void *data, size_t len, uint8_t out[SECRET_BYTES])
{
    prepare();
    crypto_hash_sha256(out, data, len);
}

void secret_derive(const char *secret, const char *label, const char *job,
                   uint8_t out[SECRET_BYTES])
{
    crypto_auth_hmacsha256_state state;
    prepare();
    crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, strlen(secret));
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)label, strlen(label) + 1);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)job, strlen(job));
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof state);
}

bool secret_equal(const uint8_t a[SECRET_BYTES], const uint8_t b[SECRET_BYTES])
{
    return sodium_memcmp(a, b, SECRET_BYTES) == 0;
}

void secret_random(void *out, size_t len)
{
    prepare();
    randombytes_buf(out, len);
}

void secret_wipe(void *p, size_t len)
{
    sodium_memzero(p, len);
}

_Static_assert(SECRET_BYTES == crypto_core_ristretto255_BYTES &&
                   SECRET_BYTES == crypto_core_ristretto255_SCALARBYTES,
               "libsodium's ristretto255");

void pake_base(const uint8_t key[SECRET_BYTES], uint8_t out[SECRET_BYTES])
{
    uint8_t wide[crypto_core_ristretto255_HASHBYTES];
    prepare();
    secret_mac(key, SECRET_BYTES, "skiff base 1", 12, wide);
    secret_mac(key, SECRET_BYTES, "skiff base 2", 12, wide + SECRET_BYTES);
    crypto_core_ristretto255_from_hash(out, wide);
    sodium_memzero(wide, sizeof wide);
}

void pake_start(const uint8_t base[SECRET_BYTES], struct pake *out)
{
    prepare();
    crypto_core_ristretto255_scalar_random(out->scalar);
    if (crypto_scalarmult_ristretto255(out->share, out->scalar, base) != 0)
        abort(); /* the base is a point of ours, and the scalar is not 0 */
}

bool pake_finish(const struct pake *p, const uint8_t other[SECRET_BYTES], uint8_t out[SECRET_BYTES])
{
    return crypto_core_ristretto255_is_valid_point(other) &&
           crypto_scalarmult_ristretto255(out, p->scalar, other) == 0;
}
