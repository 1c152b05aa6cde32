/* Rows of data, kept in memory as the batches that a network is fed with; and copies of a batch in
 * which some values come from other rows. Threads: read by many once they are read. */
#ifndef ANALYSIS_KEPT_ROWS_H
#define ANALYSIS_KEPT_ROWS_H

#include "analysis/features.h"
#include "data/scan.h"

struct kept_rows {
    struct batch *batches;
    int n;
    int64_t rows, batch_size; /* all batches but the last have batch_size rows */
};

/* The first `most` rows of the files. Deinit in any case. */
enum skiff_status kept_rows_read(struct kept_rows *k, const struct scan_plan *plan,
                                 const struct file_list *files, int64_t most, int64_t batch_size,
                                 struct skiff_error *err);
void kept_rows_deinit(struct kept_rows *k);
/* Batch i, where the values of the feature in row j are those of row order[j] of all rows. out was
 * made by batch_init for batch_size rows. */
enum skiff_status kept_rows_permuted(const struct kept_rows *k, int i,
                                     const struct feature *feature, const int64_t *order,
                                     struct batch *out, struct skiff_error *err);

#endif
