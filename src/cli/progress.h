/* Progress of an epoch: one line that is written over on a terminal, plain lines elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "task/task_metrics.h"
#include "data/dataset.h"
#include "train/epoch_row.h"
#include "train/job_tables.h"

/* How often progress_tick may be called; it prints more rarely. */
#define PROGRESS_TICK 0.1

struct progress {
    struct eval_metrics *accumulator;
    const struct dataset *dataset;
    const char *what; /* "epoch 0" */
    char what_text[32];
    bool terminal;
    int64_t print_interval; /* batches between two plain lines, which come once a second at most */
    int64_t printed;        /* batches at the last line */
    double started;         /* later, when pauses are left out */
    double due;             /* nothing is printed before */
    struct job_tables_line tables;
    int64_t expected; /* samples of the epoch, once one has been through; 0: not known */
};

void progress_init(struct progress *p, struct eval_metrics *accumulator, int64_t print_interval);
/* epoch below 0: evaluation, without a number */
void progress_start(struct progress *p, const struct dataset *dataset, int epoch);
void progress_tick(struct progress *p); /* from one thread at a time */
/* Clears the line. samples: of the complete epoch, or 0 when it was not finished. */
void progress_end(struct progress *p, int64_t samples);

/* "1:02:03", "2:03", "45 s" */
const char *seconds_text(double seconds, char out[static 32]);

/* " auc: 0.7512", " auc: undefined (no clicks)", or nothing; to standard output. */
void report_print_auc(const struct epoch_row *row);
void report_print(const struct epoch_row *rows, int n, bool training);

#endif
