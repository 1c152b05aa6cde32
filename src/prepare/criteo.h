/* Raw Criteo rows to a training and a validation set, and what is learnt from the first.
 *
 * Every row goes to valid/ with probability `share` (drawn from seed and row number, so that the
 * same rows always go the same way), else to train/; out/stats (stats.h) tells minimum, 95 %
 * quantile and so on of the training rows only. Files keep their names, numbered in front:
 * train/00000-day_1. The quantile is the value at position ceil(0.95 n) of the sorted values that
 * are there: exact below 4096, else the lower end of a bucket of 0.05 %. */
#ifndef PREPARE_CRITEO_H
#define PREPARE_CRITEO_H

#include "data/files.h"
#include "data/scan.h"
#include "data/stats.h"

struct criteo_config {
    const struct file_list *files;
    const char *out; /* folder, made if it is missing */
    double share;    /* 0: 0.1; below 0: no split, only stats are written */
    double quantile; /* 0: 0.95 */
    uint64_t seed;
    int64_t max_distinct;             /* per column; 0: 4,000,000 */
    int64_t idle_lines, unpack_ratio; /* as in scan_plan */
    struct bad_lines *bad;            /* NULL: the first bad line is an error */
    const atomic_bool *stop;
};

struct criteo_report {
    int64_t train, valid, bad;
    struct criteo_stats stats;
};

enum skiff_status criteo_run(const struct criteo_config *config, struct criteo_report *out,
                             struct skiff_error *err);

#endif
