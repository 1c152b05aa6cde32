/* Engines after the C++ standard (linear_congruential_engine<48271, 0, 2^31-1>, mt19937,
 * mt19937_64, seed_seq) and the canonical distributions as the libstdc++ of Paddle's wheels
 * computes them; Philox after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
#include "base/clock.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MINSTD_M 2147483647u
#define MINSTD_A 48271u

void minstd_seed(struct minstd *r, uint32_t seed)
{
    uint32_t s = seed % MINSTD_M;
    r->s = s ? s : 1;
}

static inline uint32_t minstd_mul(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b % MINSTD_M);
}

uint32_t minstd_next(struct minstd *r)
{
    return r->s = minstd_mul(r->s, MINSTD_A);
}

/* s * A^n by squaring. */
void minstd_skip(struct minstd *r, uint64_t n)
{
    uint32_t power = MINSTD_A;
    for (; n; n >>= 1, power = minstd_mul(power, power))
        if (n & 1)
            r->s = minstd_mul(r->s, power);
}

/* The largest draws round up to exactly 1; the wheel does not clamp. */
float minstd_float(struct minstd *r)
{
    return (float)(minstd_next(r) - 1) / 2147483648.0f;
}

double minstd_double(struct minstd *r)
{
    double a = (double)(minstd_next(r) - 1);
    double b = (double)(minstd_next(r) - 1);
    return (a + b * 2147483646.0) / (2147483646.0 * 2147483646.0);
}

void mt64_seed(struct mt64 *r, uint64_t seed)
{
    r->s[0] = seed;
    for (int i = 1; i < 312; i++)
        r->s[i] = 6364136223846793005ull * (r->s[i - 1] ^ (r->s[i - 1] >> 62)) + (uint64_t)i;
    r->i = 312;
}

static inline uint32_t seed_seq_mix(uint32_t x)
{
    return x ^ (x >> 27);
}

/* std::seed_seq::generate for a seed of one word. */
static void seed_seq_words(uint32_t seed, uint32_t *w, uint32_t n)
{
    const uint32_t t = n >= 623 ? 11 : n >= 68 ? 7 : n >= 39 ? 5 : n >= 7 ? 3 : (n - 1) / 2;
    const uint32_t p = (n - t) / 2, q = p + t;
    for (uint32_t i = 0; i < n; i++)
        w[i] = 0x8b8b8b8bu;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t r1 = 1664525u * seed_seq_mix(w[k] ^ w[(k + p) % n] ^ w[(k + n - 1) % n]);
        uint32_t r2 = r1 + (k == 0 ? 1 : k == 1 ? k % n + seed : k % n);
        w[(k + p) % n] += r1;
        w[(k + q) % n] += r2;
        w[k] = r2;
    }
    for (uint32_t k = n; k < 2 * n; k++) {
        uint32_t i = k % n;
        uint32_t r3 = 1566083941u * seed_seq_mix(w[i] + w[(k + p) % n] + w[(k + n - 1) % n]);
        uint32_t r4 = r3 - i;
        w[(k + p) % n] ^= r3;
        w[(k + q) % n] ^= r4;
        w[i] = r4;
    }
}

void mt64_seed_seq(struct mt64 *r, uint64_t seed)
{
    uint32_t w[624];
    seed_seq_words((uint32_t)seed, w, 624);
    uint64_t any = 0;
    for (int i = 0; i < 312; i++) {
        r->s[i] = (uint64_t)w[2 * i] | (uint64_t)w[2 * i + 1] << 32;
        any |= i ? r->s[i] : r->s[i] & ~0x7fffffffull;
    }
    if (!any) /* the standard's way out of the all-zero state */
        r->s[0] = 1ull << 63;
    r->i = 312;
}

static void mt64_refill(struct mt64 *r)
{
    for (int k = 0; k < 312; k++) {
        uint64_t y = (r->s[k] & ~0x7fffffffull) | (r->s[(k + 1) % 312] & 0x7fffffffull);
        r->s[k] = r->s[(k + 156) % 312] ^ (y >> 1) ^ ((y & 1) ? 0xb5026f5aa96619e9ull : 0);
    }
    r->i = 0;
}

uint64_t mt64_next(struct mt64 *r)
{
    if (r->i >= 312)
        mt64_refill(r);
    uint64_t z = r->s[r->i++];
    z ^= (z >> 29) & 0x5555555555555555ull;
    z ^= (z << 17) & 0x71d67fffeda60000ull;
    z ^= (z << 37) & 0xfff7eee000000000ull;
    return z ^ (z >> 43);
}

float mt64_float(struct mt64 *r)
{
    float u = (float)mt64_next(r) / 18446744073709551616.0f;
    return u >= 1.0f ? nextafterf(1.0f, 0.0f) : u;
}

double mt64_double(struct mt64 *r)
{
    double u = (double)mt64_next(r) / 18446744073709551616.0;
    return u >= 1.0 ? nextafter(1.0, 0.0) : u;
}

void mt32_seed(struct mt32 *r, uint32_t seed)
{
    r->s[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        r->s[i] = 1812433253u * (r->s[i - 1] ^ (r->s[i - 1] >> 30)) + i;
    r->i = 624;
}

static void mt32_refill(struct mt32 *r)
{
    for (int k = 0; k < 624; k++) {
        uint32_t y = (r->s[k] & 0x80000000u) | (r->s[(k + 1) % 624] & 0x7fffffffu);
        r->s[k] = r->s[(k + 397) % 624] ^ (y >> 1) ^ ((y & 1) ? 0x9908b0dfu : 0);
    }
    r->i = 0;
}

uint32_t mt32_next(struct mt32 *r)
{
    if (r->i >= 624)
        mt32_refill(r);
    uint32_t z = r->s[r->i++];
    z ^= z >> 11;
    z ^= (z << 7) & 0x9d2c5680u;
    z ^= (z << 15) & 0xefc60000u;
    return z ^ (z >> 18);
}

void philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_lo, c1 = (uint32_t)(counter_lo >> 32);
    uint32_t c2 = (uint32_t)counter_hi, c3 = (uint32_t)(counter_hi >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u, b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint64_t rng_entropy(void)
{
    uint64_t v;
    if (getrandom(&v, sizeof v, 0) == (ssize_t)sizeof v)
        return v;
    struct timespec now = clock_timespec(clock_now()); /* a kernel without getrandom */
    return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid()) *
           0x9e3779b97f4a7c15ull;
}
