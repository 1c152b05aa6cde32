#include "data/hash.h"

#include <stdlib.h>

#include "base/mem.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the data module reads and writes little-endian words in place"
#endif

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
        whole = big = mem_alloc_or_die(len);
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
