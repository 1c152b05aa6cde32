/* The space that a search chooses from: keys of a config, and the values that each may have.
 *
 *     runner.train_batch_size=64,256            one of these
 *     hyper_parameters.sparse_feature_dim=4..16 whole numbers
 *     hyper_parameters.dropout=0.0..0.5         numbers
 *     ...optimizer.learning_rate=log:1e-4..1e-1 numbers, evenly by their logarithms
 *
 * A choice depends on the seed and the trial's number alone, so a search that is resumed, or gets
 * more trials, has the same ones. */
#ifndef ANALYSIS_TUNE_SPACE_H
#define ANALYSIS_TUNE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum tune_kind { TUNE_LIST, TUNE_WHOLE, TUNE_REAL, TUNE_LOG };

struct tune_key {
    char *name;
    enum tune_kind kind;
    char **values; /* LIST */
    int n;
    double low, high;
};
struct tune_space {
    struct tune_key *keys;
    int n;
};

/* Deinit in any case. INVALID: what is wrong with which text. */
enum skiff_status tune_space_read(struct tune_space *s, const char *const *tries, int ntries,
                                  struct skiff_error *err);
void tune_space_deinit(struct tune_space *s);
/* Combinations of a grid; ranges have TUNE_GRID_STEPS values. */
#define TUNE_GRID_STEPS 3
int64_t tune_space_grid(const struct tune_space *s);
/* Combinations in all; 0: there are ranges. */
int64_t tune_space_size(const struct tune_space *s);
/* The value of key k in trial `number`: of the grid, or at random. */
void tune_space_value(const struct tune_space *s, int k, bool grid, uint64_t seed, int number,
                      struct buf *out);

#endif
