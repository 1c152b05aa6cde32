/* Predict: rows in, predictions out, in the order of the rows, with any number of threads and
 * bounded memory.
 *
 * One thread reads batches into a ring, `threads` threads compute them, the caller's thread writes
 * them one after the other. Ownership: all is borrowed for the call. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "data/scan.h"
#include "executor/scope.h"
#include "io/io.h"

struct predict_job {
    struct skiff_scope *scope;       /* holds the parameters */
    const struct skiff_model *model; /* the program, what it is fed, and the prediction */
    const struct scan_plan *plan;    /* its schema has all that is fed */
    struct file_cursor *cursor;
    int threads;
    int64_t batch_size;
    void *user;
    /* Whole lines, one for every row: the prediction (the last column of the first target), and a
     * tab and the row's id where there is one; "nan" for a bad line that was left out. */
    enum skiff_status (*write)(void *user, const char *text, size_t n, int64_t rows,
                               struct skiff_error *err);
};

/* Rows in front of a failure are written before it is returned. */
enum skiff_status predict_run(const struct predict_job *job, struct skiff_error *err);

#endif
