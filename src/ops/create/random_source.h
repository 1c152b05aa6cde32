/* The engine that a random op draws from.
 *   1.x  minstd, started anew in every run of the op from its seed; seed 0: from the system
 *   2.x  mt19937_64: seed not 0: the op's own, started anew; seed 0: the default generator
 *        (paddle.seed), from which all ops draw one after the other */
#ifndef OPS_RANDOM_SOURCE_H
#define OPS_RANDOM_SOURCE_H

#include "program/kernel.h"

struct random_source {
    bool is_minstd;
    struct minstd minstd;
    struct mt64 *mt; /* own, or the default generator */
    struct mt64 own;
};

/* By OP_MINSTD of the kernel's kind. */
void random_source_init(struct random_source *r, const struct kernel *k, int32_t seed);
/* 1.x where a seed of 0 is a seed like any other (dropout with fix_seed). */
void random_source_minstd(struct random_source *r, int32_t seed);

float random_float(struct random_source *r);   /* [0, 1); [0, 1] in 1.x */
double random_double(struct random_source *r); /* as std::generate_canonical<double> */
/* As n calls of random_float, or of random_double. */
void random_skip(struct random_source *r, uint64_t n, bool doubles);
/* Uniform in [low, high): division of the draw, as the libstdc++ of the wheels does. */
int64_t random_int(struct random_source *r, int64_t low, int64_t high);

#endif
