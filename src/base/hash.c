#include "base/hash.h"

#include <sodium.h>
#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h> /* the same hashes, by the widest registers that the machine has */
#endif

uint64_t hash_xxh64(const void *p, size_t n, uint64_t seed)
{
    return XXH64(p, n, seed);
}

uint64_t hash_xxh3(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

uint64_t hash_siphash24(const void *p, size_t n)
{
    static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES];
    unsigned char out[crypto_shorthash_siphash24_BYTES];
    uint64_t h = 0;
    crypto_shorthash_siphash24(out, p, n, key);
    for (int i = 7; i >= 0; i--)
        h = h << 8 | out[i];
    return h;
}
