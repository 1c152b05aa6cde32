#include "data/hash.h"

#include <stdlib.h>

#include "base/mem.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the data room reads and writes little-endian words in place"
#endif

static uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint32_t load32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t xxh_round(uint64_t acc, uint64_t lane)
{
    return hash_rotl(acc + lane * XXH_P2, 31) * XXH_P1;
}

static uint64_t xxh_merge(uint64_t h, uint64_t acc)
{
    return (h ^ xxh_round(0, acc)) * XXH_P1 + XXH_P4;
}

uint64_t hash_xxh64(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes;
    size_t left = n;
    uint64_t h;
    if (n >= 32) {
        uint64_t a = seed + XXH_P1 + XXH_P2, b = seed + XXH_P2, c = seed, d = seed - XXH_P1;
        for (; left >= 32; left -= 32, p += 32) {
            a = xxh_round(a, load64(p));
            b = xxh_round(b, load64(p + 8));
            c = xxh_round(c, load64(p + 16));
            d = xxh_round(d, load64(p + 24));
        }
        h = hash_rotl(a, 1) + hash_rotl(b, 7) + hash_rotl(c, 12) + hash_rotl(d, 18);
        h = xxh_merge(xxh_merge(xxh_merge(xxh_merge(h, a), b), c), d);
    } else {
        h = seed + XXH_P5;
    }
    h += n;
    for (; left >= 8; left -= 8, p += 8)
        h = hash_rotl(h ^ xxh_round(0, load64(p)), 27) * XXH_P1 + XXH_P4;
    if (left >= 4) {
        h = hash_rotl(h ^ load32(p) * XXH_P1, 23) * XXH_P2 + XXH_P3;
        p += 4;
        left -= 4;
    }
    for (; left; left--, p++)
        h = hash_rotl(h ^ *p * XXH_P5, 11) * XXH_P1;
    h = (h ^ h >> 33) * XXH_P2;
    h = (h ^ h >> 29) * XXH_P3;
    return h ^ h >> 32;
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = hash_rotl(v[1], 13) ^ v[0];
    v[3] = hash_rotl(v[3], 16) ^ v[2];
    v[0] = hash_rotl(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = hash_rotl(v[1], 17) ^ v[2];
    v[3] = hash_rotl(v[3], 21) ^ v[0];
    v[2] = hash_rotl(v[2], 32);
}

uint64_t hash_siphash24(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t v[4] = {0x736f6d6570736575ull, 0x646f72616e646f6dull, 0x6c7967656e657261ull,
                     0x7465646279746573ull};
    uint64_t last = (uint64_t)n << 56;
    size_t left = n;
    for (; left >= 8; left -= 8, p += 8) {
        uint64_t m = load64(p);
        v[3] ^= m;
        sip_round(v);
        sip_round(v);
        v[0] ^= m;
    }
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)p[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct hasher hasher_of(enum hash_kind kind, uint64_t size)
{
    return (struct hasher){kind, size, size ? UINT64_MAX / size : 0};
}

static uint64_t hash_of(enum hash_kind kind, const char *p, size_t n)
{
    if (kind == HASH_XXH64)
        return hash_xxh64(p, n, 0);
    /* the empty string has hash 0; CPython keeps -1 for errors */
    uint64_t h = n ? hash_siphash24(p, n) : 0;
    return h == UINT64_MAX ? UINT64_MAX - 1 : h;
}

int64_t hasher_id(const struct hasher *h, const struct hash_prefix *column, const char *value,
                  size_t n)
{
    char small[256], *whole = small, *big = NULL;
    size_t len = column->len + n;
    uint64_t x;
    if (len > sizeof small)
        whole = big = mem_must(len);
    memcpy(whole, column->text, column->len);
    memcpy(whole + column->len, value, n);
    x = hash_of(h->kind, whole, len);
    free(big);
    if (h->size == 0)
        return (int64_t)x;
    if (h->kind == HASH_PYTHON && (int64_t)x < 0) {
        uint64_t r = (0 - x) % h->size; /* Python's modulo of a negative number */
        return (int64_t)(r ? h->size - r : 0);
    }
    return (int64_t)(x % h->size);
}
