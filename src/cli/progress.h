/* Progress of an epoch: one line that is written over on a terminal, plain lines elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "task/task_metrics.h"
#include "data/dataset.h"
#include "train/epoch_row.h"
#include "train/job_tables.h"
#include "train/observer.h"

struct progress {
    struct eval_metrics *accumulator;
    struct dataset *const *data; /* where a span finds its dataset */
    const struct dataset *dataset;
    const struct train_run *run; /* its pauses do not count, its tables are shown; or NULL */
    char what[48];               /* "epoch 0" */
    bool terminal;
    int64_t print_interval; /* batches between two plain lines, which come once a second at most */
    int64_t printed;        /* batches at the last line */
    double started;
    double due; /* nothing is printed before */
    struct job_tables_line tables;
    int64_t expected; /* samples of the epoch, once one has been through; 0: not known */
};

/* data, and run, may be set behind it. */
void progress_init(struct progress *p, struct eval_metrics *accumulator, int64_t print_interval);
/* Shows spans from then on; progress_init comes before the first one. */
struct train_observer progress_observer(struct progress *p);

/* "1:02:03", "2:03", "45 s" */
const char *seconds_text(double seconds, char out[static 32]);

/* The table of epochs, to standard output: whole, or its heading and then row by row. */
void report_print(const struct epoch_row *rows, int n, bool training);
void report_print_head(const struct epoch_row *first, bool training);
void report_print_row(const struct epoch_row *row, bool training);
/* " auc: 0.7512", " auc: undefined (no clicks)", or nothing; to standard output. */
void report_print_auc(const struct epoch_row *row);
/* The metrics that need every prediction, where the rows have them. */
void report_print_quality(const struct epoch_row *rows, int n);

#endif
