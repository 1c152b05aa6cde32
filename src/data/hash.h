/* Hashing of categorical values to ids. The numbers are in models and files: they never change.
 *
 *   xxh64   XXH64, seed 0, over the bytes of column text and value together, so in Python
 *           xxhash.xxh64("14" + "05db9164").intdigest() % size. The one that readers use.
 *   python  hash(column + value) of Python 3.7 with PYTHONHASHSEED=0 (SipHash-2-4, key 0, signed,
 *           -1 becomes -2), as the Criteo reader of the Paddle documents has it. Slower.
 *
 * The id is the hash modulo `size` (not negative); size 0 keeps all 64 bits. */
#ifndef DATA_HASH_H
#define DATA_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

enum hash_kind { HASH_XXH64, HASH_PYTHON };

struct hasher {
    enum hash_kind kind;
    uint64_t size;
    uint64_t reciprocal; /* floor((2^64 - 1) / size) */
};

struct hasher hasher_of(enum hash_kind kind, uint64_t size);

#define HASH_PREFIX_MAX 120

struct hash_prefix {
    char text[HASH_PREFIX_MAX];
    size_t len;
};

/* x mod size by a multiplication: the quotient is at most 2 too small. */
static inline uint64_t hasher_mod(const struct hasher *h, uint64_t x)
{
    uint64_t q = (uint64_t)(((unsigned __int128)x * h->reciprocal) >> 64);
    uint64_t r = x - q * h->size;
    r -= h->size & -(uint64_t)(r >= h->size); /* branch-free: a branch would be unpredictable */
    r -= h->size & -(uint64_t)(r >= h->size);
    return r;
}

/* The id of a value of a column, any kind and length. */
int64_t hasher_id(const struct hasher *h, const struct hash_prefix *column, const char *value,
                  size_t n);

#define XXH_P1 0x9E3779B185EBCA87ull
#define XXH_P2 0xC2B2AE3D27D4EB4Full
#define XXH_P3 0x165667B19E3779F9ull
#define XXH_P4 0x85EBCA77C2B2AE63ull
#define XXH_P5 0x27D4EB2F165667C5ull

static inline uint64_t hash_rotl(uint64_t x, int r)
{
    return x << r | x >> (64 - r);
}

/* XXH64 of 10 bytes that are in registers: two of `prefix` (little-endian), then eight of `value`.
 * Nearly every value of Criteo is of this form. Written by hand because it pays: with it one thread
 * reads 1.6 million rows of Criteo a second, with the library's call (and the copy of prefix and
 * value that it needs) 1.0 million (build/bench/readers, Zen 3). */
static inline uint64_t hash_xxh64_2_8(uint64_t prefix, uint64_t value)
{
    uint64_t thread_state = prefix | value << 16;
    uint64_t h = XXH_P5 + 10;
    h ^= hash_rotl(thread_state * XXH_P2, 31) * XXH_P1;
    h = hash_rotl(h, 27) * XXH_P1 + XXH_P4;
    h = hash_rotl(h ^ (value >> 48 & 0xff) * XXH_P5, 11) * XXH_P1;
    h = hash_rotl(h ^ (value >> 56) * XXH_P5, 11) * XXH_P1;
    h = (h ^ h >> 33) * XXH_P2;
    h = (h ^ h >> 29) * XXH_P3;
    return h ^ h >> 32;
}

#endif
