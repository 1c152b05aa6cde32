#include "ops/create/random_source.h"

void random_source_minstd(struct random_source *r, int32_t seed)
{
    r->is_minstd = true;
    minstd_seed(&r->minstd, (uint32_t)seed);
}

void random_source_init(struct random_source *r, const struct kernel *k, int32_t seed)
{
    if (k->kind->flags & OP_MINSTD) {
        random_source_minstd(r, seed ? seed : (int32_t)rng_entropy());
        return;
    }
    r->is_minstd = false;
    r->mt = seed || !k->env || !k->env->generator ? &r->own : k->env->generator;
    if (r->mt == &r->own)
        mt64_seed(r->mt, seed ? (uint64_t)(int64_t)seed : rng_entropy());
}

float random_float(struct random_source *r)
{
    return r->is_minstd ? minstd_float(&r->minstd) : mt64_float(r->mt);
}

double random_double(struct random_source *r)
{
    return r->is_minstd ? minstd_double(&r->minstd) : mt64_double(r->mt);
}

void random_skip(struct random_source *r, uint64_t n, bool doubles)
{
    if (r->is_minstd) {
        minstd_skip(&r->minstd, doubles ? 2 * n : n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        doubles ? (void)mt64_double(r->mt) : (void)mt64_float(r->mt);
}

int64_t random_int(struct random_source *r, int64_t low, int64_t high)
{
    uint64_t count = (uint64_t)high - (uint64_t)low, v;
    if (r->is_minstd) {
        /* draws are 1 .. 2^31-2: a range of 2147483645 above their minimum */
        uint64_t part = 2147483645u / count, past = part * count;
        do
            v = minstd_next(&r->minstd) - 1;
        while (v >= past);
        return low + (int64_t)(v / part);
    }
    uint64_t part = UINT64_MAX / count, past = part * count;
    do
        v = mt64_next(r->mt);
    while (v >= past);
    return low + (int64_t)(v / part);
}
