/* Check: reads files as training would and reports their contents: bad lines, and per slot the
 * number and kind of values. */
#ifndef DATA_CHECK_H
#define DATA_CHECK_H

#include "data/scan.h"

struct slot_report {
    int64_t values;        /* over all rows */
    int64_t zeros;         /* of them zero: padding, missing values, or real zeros */
    int64_t longest;       /* most values in one row */
    double min, max, mean; /* float32 slots; of numbers that are not nan or infinite */
    int64_t odd;           /* float32: nan or infinite */
    int64_t least, most;   /* int64 slots */
    double distinct;       /* int64 slots: distinct values, within 2 % or so */
};

struct check_report {
    int64_t files, rows, bad, bytes; /* bytes: as the files lie on disk */
    struct slot_report *slots; /* of every field (slot_columns.h); check_report_deinit frees them */
    int label;                 /* slot or -1 */
    double label_mean;
};

/* Reads all files. Bad lines are counted and passed to plan->bad as in training; an error of a file
 * ends the check. */
enum skiff_status check_run(const struct scan_plan *plan, const struct file_list *files,
                            struct check_report *out, struct skiff_error *err);
void check_report_deinit(struct check_report *r);

#endif
