/* Check: reads files as training would, and tells what is in them: bad lines, and per slot how many
 * values there are and of what kind. */
#ifndef DATA_CHECK_H
#define DATA_CHECK_H

#include "data/scan.h"

struct slot_report {
    int64_t values;        /* over all rows */
    int64_t zeros;         /* of them 0: padding, missing values, or real ones */
    int64_t longest;       /* most values of one row */
    double min, max, mean; /* float32 slots; of numbers that are not nan or infinite */
    int64_t odd;           /* float32: nan or infinite */
    int64_t least, most;   /* int64 slots */
    double distinct;       /* int64 slots: distinct values, within 2 % or so */
};

struct check_report {
    int64_t files, rows, bad, bytes; /* bytes: as the files lie on disk */
    struct slot_report *slots;       /* schema->count; check_report_deinit frees them */
    int label;                       /* slot or -1 */
    double label_mean;
};

/* Reads all files. Bad lines are counted and go to plan->bad as in training; a failure of a file
 * ends the check. */
enum skiff_status check_run(const struct scan_plan *plan, const struct file_list *files,
                            struct check_report *out, struct skiff_error *err);
void check_report_deinit(struct check_report *r);

#endif
