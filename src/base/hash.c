#include "base/hash.h"

#include <sodium.h>
#include <stdlib.h>
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

/* The library's state under a name of our own: its header is for this file only. */
static XXH3_state_t *state_of(struct hash_stream *s)
{
    return (XXH3_state_t *)(void *)s;
}

struct hash_stream *hash_stream_create(void)
{
    XXH3_state_t *s = XXH3_createState();
    if (!s)
        abort(); /* half a kilobyte, as mem_alloc_or_die */
    XXH3_64bits_reset(s);
    return (struct hash_stream *)(void *)s;
}

void hash_stream_add(struct hash_stream *s, const void *p, size_t n)
{
    if (n)
        XXH3_64bits_update(state_of(s), p, n);
}

uint64_t hash_stream_value(const struct hash_stream *s)
{
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)s);
}

void hash_stream_destroy(struct hash_stream *s)
{
    XXH3_freeState(state_of(s));
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
