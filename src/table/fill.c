/* Column c of id: words of philox(key, id, c / 2), two for each number.
 *   u = (word >> 8) / 2^24, in [0, 1)
 *   gaussian (Box-Muller): sqrt(-2 ln(1 - u)) cos(2 pi u')
 *   truncated: the first of the pairs philox(key, id, c / 2 + k 2^32), k = 0, 1, ..., inside */
#include "table/fill.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"

uint64_t fill_key(uint64_t seed, const char *variable)
{
    return hash_bytes(variable, strlen(variable)) ^ seed * UINT64_C(0x9e3779b97f4a7c15);
}

static float unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

static float normal(const uint32_t *words)
{
    double u = unit(words[0]), v = unit(words[1]);
    return (float)(sqrt(-2.0 * log1p(-u)) * cos(6.283185307179586 * v));
}

static float truncated(const struct fill *f, int64_t id, size_t column)
{
    for (uint64_t k = 0;; k++) {
        uint32_t words[4];
        philox(f->key, (uint64_t)id, column / 2 + (k << 32), words);
        float x = normal(words + 2 * (column % 2));
        if (fabsf(x) <= 2.0f)
            return x;
    }
}

void fill_row(const struct fill *f, int64_t id, float *out, size_t width)
{
    uint32_t words[4] = {0};
    for (size_t c = 0; c < width; c++) {
        if (f->kind == FILL_CONSTANT) {
            out[c] = f->a;
            continue;
        }
        if (c % 2 == 0)
            philox(f->key, (uint64_t)id, c / 2, words);
        const uint32_t *pair = words + 2 * (c % 2);
        if (f->kind == FILL_UNIFORM)
            out[c] = f->a + (f->b - f->a) * unit(pair[0]);
        else if (f->kind == FILL_GAUSSIAN)
            out[c] = f->a + f->b * normal(pair);
        else
            out[c] = f->a + f->b * truncated(f, id, c);
    }
}
