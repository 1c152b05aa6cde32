/* Random engines, bit for bit those of the C++ library that Paddle's wheels were built with.
 *   minstd      Paddle 1.x: every op with a seed starts its own
 *   mt64, mt32  Paddle 2.x ops, and the samplers of nce in both
 *   philox      Skiff's own: any element of any variable can be had without the ones before it
 * Compile users with -ffp-contract=off where bits matter (the Makefile does so everywhere). */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct minstd {
    uint32_t s;
};
void minstd_seed(struct minstd *r, uint32_t seed);
uint32_t minstd_next(struct minstd *r);         /* 1 .. 2^31-2 */
void minstd_skip(struct minstd *r, uint64_t n); /* as n calls of next, in O(log n) */
float minstd_float(struct minstd *r);           /* [0,1]: 1 itself can come out */
double minstd_double(struct minstd *r);         /* two draws */

struct mt64 {
    uint64_t s[312];
    int i;
};
void mt64_seed(struct mt64 *r, uint64_t seed);
void mt64_seed_seq(struct mt64 *r,
                   uint64_t seed); /* through std::seed_seq({seed}), as paddle.seed does */
uint64_t mt64_next(struct mt64 *r);
float mt64_float(struct mt64 *r); /* generate_canonical<float>: [0,1), one draw */
double mt64_double(struct mt64 *r);

struct mt32 {
    uint32_t s[624];
    int i;
};
void mt32_seed(struct mt32 *r, uint32_t seed);
uint32_t mt32_next(struct mt32 *r);

/* Philox 4x32-10 of (key, counter): uniform 32-bit words out[4]. */
void philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4]);

/* A seed nobody chose: from the operating system. */
uint64_t rng_entropy(void);

#endif
