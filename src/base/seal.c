/* The only file that knows OpenSSL. Its calls fail only when memory runs out or when they are used
 * in the wrong order; seal_create reports the former, the latter is a bug of ours. */
#include "base/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/mem.h"

#define PIECE ((size_t)1 << 30) /* lengths are ints there */

struct seal {
    EVP_CIPHER_CTX *context;
    bool opens;
    uint64_t number; /* of the next record */
};

bool seal_aes_is_fast(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#else
    return true; /* so do the other common server processors */
#endif
}

/* Poly1305 has loops of 512 bits in all versions of OpenSSL, GHASH since 3.1. Without them GHASH is
 * faster. */
bool seal_chacha_sees_faster(void)
{
#if defined(__x86_64__)
    return OPENSSL_version_major() == 3 && OPENSSL_version_minor() == 0 &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512ifma");
#else
    return false;
#endif
}

static void or_die(int ok)
{
    if (ok != 1)
        abort();
}

enum skiff_status seal_create(enum seal_cipher cipher, const uint8_t key[SEAL_KEY], bool opens,
                              struct seal **out, struct skiff_error *err)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    const EVP_CIPHER *kind = cipher == SEAL_AES ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();
    if (!context || EVP_CipherInit_ex(context, kind, NULL, key, NULL, !opens) != 1) {
        EVP_CIPHER_CTX_free(context);
        return error_set(err, SKIFF_NOMEM, "OpenSSL gives no cipher for a link");
    }
    struct seal *s = mem_alloc_or_die(sizeof *s);
    *s = (struct seal){context, opens, 0};
    *out = s;
    return SKIFF_OK;
}

void seal_destroy(struct seal *s)
{
    if (!s)
        return;
    EVP_CIPHER_CTX_free(s->context);
    free(s);
}

void seal_begin(struct seal *s)
{
    uint8_t nonce[12] = {0};
    uint64_t number = s->number++;
    for (int i = 0; i < 8; i++)
        nonce[4 + i] = (uint8_t)(number >> (8 * i));
    or_die(EVP_CipherInit_ex(s->context, NULL, NULL, NULL, nonce, !s->opens));
}

static void update(struct seal *s, const uint8_t *from, uint8_t *to, size_t n)
{
    while (n) {
        int done, piece = (int)(n < PIECE ? n : PIECE);
        or_die(EVP_CipherUpdate(s->context, to, &done, from, piece));
        from += piece;
        to = to ? to + piece : NULL;
        n -= (size_t)piece;
    }
}

void seal_see(struct seal *s, const void *bytes, size_t n)
{
    update(s, bytes, NULL, n);
}

void seal_code(struct seal *s, const void *from, void *to, size_t n)
{
    update(s, from, to, n);
}

void seal_end(struct seal *s, uint8_t tag[SEAL_TAG])
{
    uint8_t rest[16];
    int n;
    or_die(EVP_CipherFinal_ex(s->context, rest, &n));
    or_die(EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, tag));
}

bool seal_check(struct seal *s, const uint8_t tag[SEAL_TAG])
{
    uint8_t rest[16];
    int n;
    or_die(EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, (void *)tag));
    return EVP_CipherFinal_ex(s->context, rest, &n) == 1;
}
