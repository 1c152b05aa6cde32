/* The only file that knows OpenSSL. Its calls fail only when memory runs out or when they are used
 * in the wrong order; seal_create reports the former, the latter is a bug of ours.
 *
 * AES-GCM over bytes that are only seen is GHASH plus the encrypted nonce. Where ghash.c is fast,
 * records without hidden bytes are sealed so: the same tags, at several times the speed. */
#include "base/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/ghash.h"
#include "base/mem.h"
#include "base/secret.h"

#define PIECE ((size_t)1 << 30) /* lengths are ints there */

struct seal {
    EVP_CIPHER_CTX *context;
    bool opens;
    uint64_t number;        /* of the next record */
    struct ghash *ghash;    /* NULL: all is OpenSSL's; else the context encrypts single blocks */
    uint8_t mask[SEAL_TAG]; /* the record's encrypted nonce */
};

bool seal_aes_is_fast(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#else
    return true; /* so do the other common server processors */
#endif
}

static void or_die(int ok)
{
    if (ok != 1)
        abort();
}

static void encrypt_block(struct seal *s, const uint8_t from[16], uint8_t to[16])
{
    int n;
    or_die(EVP_EncryptUpdate(s->context, to, &n, from, 16));
}

static void ghash_create(struct seal *s)
{
    uint8_t key[GHASH_BLOCK] = {0};
    encrypt_block(s, key, key);
    s->ghash = mem_alloc_or_die(sizeof *s->ghash);
    ghash_init(s->ghash, key);
    secret_wipe(key, sizeof key);
}

enum skiff_status seal_create(enum seal_cipher cipher, const uint8_t key[SEAL_KEY], bool opens,
                              bool hides, struct seal **out, struct skiff_error *err)
{
    bool own = cipher == SEAL_AES && !hides && ghash_is_fast();
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    const EVP_CIPHER *kind = own                  ? EVP_aes_256_ecb()
                             : cipher == SEAL_AES ? EVP_aes_256_gcm()
                                                  : EVP_chacha20_poly1305();
    if (!context || EVP_CipherInit_ex(context, kind, NULL, key, NULL, own || !opens) != 1) {
        EVP_CIPHER_CTX_free(context);
        return error_set(err, SKIFF_NOMEM, "OpenSSL gives no cipher for a link");
    }
    struct seal *s = mem_alloc_or_die(sizeof *s);
    *s = (struct seal){.context = context, .opens = opens};
    if (own)
        ghash_create(s);
    *out = s;
    return SKIFF_OK;
}

void seal_destroy(struct seal *s)
{
    if (!s)
        return;
    EVP_CIPHER_CTX_free(s->context);
    if (s->ghash)
        secret_wipe(s->ghash, sizeof *s->ghash);
    free(s->ghash);
    free(s);
}

void seal_begin(struct seal *s)
{
    uint8_t nonce[16] = {[15] = 1}; /* 12 bytes, and the counter of the tag's block */
    uint64_t number = s->number++;
    for (int i = 0; i < 8; i++)
        nonce[4 + i] = (uint8_t)(number >> (8 * i));
    if (s->ghash) {
        encrypt_block(s, nonce, s->mask);
        ghash_begin(s->ghash);
    } else {
        or_die(EVP_CipherInit_ex(s->context, NULL, NULL, NULL, nonce, !s->opens));
    }
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
    if (s->ghash)
        ghash_add(s->ghash, bytes, n);
    else
        update(s, bytes, NULL, n);
}

void seal_code(struct seal *s, const void *from, void *to, size_t n)
{
    or_die(!s->ghash);
    update(s, from, to, n);
}

static void own_tag(struct seal *s, uint8_t tag[SEAL_TAG])
{
    ghash_end(s->ghash, tag);
    for (int i = 0; i < SEAL_TAG; i++)
        tag[i] ^= s->mask[i];
}

void seal_end(struct seal *s, uint8_t tag[SEAL_TAG])
{
    uint8_t rest[16];
    int n;
    if (s->ghash) {
        own_tag(s, tag);
        return;
    }
    or_die(EVP_CipherFinal_ex(s->context, rest, &n));
    or_die(EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, tag));
}

bool seal_check(struct seal *s, const uint8_t tag[SEAL_TAG])
{
    uint8_t rest[16];
    int n;
    if (s->ghash) {
        own_tag(s, rest);
        return CRYPTO_memcmp(rest, tag, SEAL_TAG) == 0;
    }
    or_die(EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, (void *)tag));
    return EVP_CipherFinal_ex(s->context, rest, &n) == 1;
}
