/* Rows in, predictions out, in the order of the rows, with any number of threads and
 * bounded memory.
 *
 * One thread reads batches into a ring, `threads` threads compute them, the caller's thread writes
 * them one after the other. Ownership: all is borrowed for the call. */
#ifndef PREDICT_ROWS_H
#define PREDICT_ROWS_H

#include "data/scan.h"
#include "predict/calibration.h"
#include "predict/predictor.h"

struct predict_rows {
    struct skiff_predictor *predictor;
    const struct scan_plan *plan; /* its schema has all that is fed */
    struct file_cursor *cursor;
    const struct calibration *calibration; /* of its probabilities, or NULL */
    int threads;
    int64_t batch_size;
    void *user;
    /* Whole lines, one for every row: the prediction (the last column of the first target,
     * calibrated), and a tab and the row's id where there is one; "nan" for a bad line that was
     * left out. */
    enum skiff_status (*write)(void *user, const char *text, size_t n, int64_t rows,
                               struct skiff_error *err);
};

/* Rows in front of a failure are written before it is returned. */
enum skiff_status predict_rows_run(const struct predict_rows *job, struct skiff_error *err);

#endif
