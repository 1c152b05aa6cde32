/* Random training networks with the parts of CTR networks, and random batches for them. The same
 * seed gives the same network and, called in the same order, the same batches. */
#ifndef TESTS_FUSE_RANDOM_NET_H
#define TESTS_FUSE_RANDOM_NET_H

#include <skiff/skiff.h>

#include "executor/executor.h"

#define RANDOM_MAX_INPUTS 32

enum input_kind { INPUT_DENSE, INPUT_IDS, INPUT_RAGGED, INPUT_ONES, INPUT_CLASS, INPUT_TARGET };

struct random_input { /* a fed variable */
    char name[16];
    enum input_kind kind;
    int64_t cols;  /* columns; classes */
    int64_t range; /* ids are below it */
    int64_t padding, ignore;
    bool flat; /* no trailing dimension of 1 */
    struct tensor tensor;
};

struct random_net {
    uint64_t state; /* of the generator */
    struct skiff_net *net;
    struct skiff_program *test; /* clone for testing, taken before minimize; owned */
    const char *loss;
    char about[256]; /* in words, for messages */
    struct random_input inputs[RANDOM_MAX_INPUTS];
    int ninputs;
};

uint64_t random_next(struct random_net *r);
int random_below(struct random_net *r, int n);
bool random_chance(struct random_net *r, double p);
double random_unit(struct random_net *r);

/* SKIFF_OK, or what building reported. */
enum skiff_status random_net_open(struct random_net *r, uint64_t seed, struct skiff_error *err);
/* Puts ops into the main program that change variables where they lie, at random places: what a
 * pass moves across them gives other numbers. */
void random_net_disturb(struct random_net *r);
/* Drops, doubles, swaps and rewires ops of the main program at random. It may not run any more. */
void random_net_break(struct random_net *r);
void random_net_close(struct random_net *r);
/* Fills the inputs with a batch of this many rows and lists them. */
int random_net_batch(struct random_net *r, int64_t rows, struct feed feeds[RANDOM_MAX_INPUTS]);

#endif
