/* What recurrent cells share: activations by name or number, and the walk of a batch of sequences
 * through time: at step t the sequences that are longer than t are gathered, so that one matrix
 * product serves them all. */
#ifndef OPS_CELL_H
#define OPS_CELL_H

#include "ops/seq_common.h"

enum cell_act { CELL_IDENTITY, CELL_SIGMOID, CELL_TANH, CELL_RELU, CELL_UNKNOWN };

enum cell_act cell_act_of(const char *name);
float cell_act_value(enum cell_act act, float x);
/* Derivative in terms of the value. */
float cell_act_slope(enum cell_act act, float y);

struct cell_walk {
    const int64_t *off; /* sequences + 1 */
    int64_t sequences, longest;
    bool reverse;
    int64_t *seq, *row, *prev_row; /* of step t: sequence, its row, its row one step before (-1) */
    int64_t active;
};

enum skiff_status cell_walk_init(struct cell_walk *w, struct kernel *k, const struct lod_level *lod,
                                 bool reverse, struct skiff_error *err);
/* Fills seq, row, prev_row for step t; returns how many sequences are that long. */
int64_t cell_walk_step(struct cell_walk *w, int64_t t);

/* to[i] = from[row[i]], rows of `width`; rows[i] = -1: initial[seq[i]], or 0 without it. */
void cell_gather(const struct cell_walk *w, const float *from, const int64_t *rows,
                 const float *initial, int64_t width, float *to);
/* to[row[i]] = from[i] */
void cell_scatter(const struct cell_walk *w, const float *from, int64_t width, float *to);

#endif
