/* Results of `skiff infer` in the report of the run that saved the models: its report.json gets
 * the rows and is written again with its page.
 *
 * It is an extra: a folder without a report, with that of another run, that cannot be written to,
 * or that another process is saving to, is left as it is, and the evaluation is none the worse.
 * Threads: one. */
#ifndef TRAIN_TEST_REPORT_H
#define TRAIN_TEST_REPORT_H

#include "base/logger.h"
#include "report/run_report.h"
#include "task/task_metrics.h"
#include "train/epoch_row.h"

/* An epoch that was evaluated. */
struct test_result {
    struct run_test numbers;
    bool has_quality;
    struct score_metrics quality;
};

struct test_report {
    struct test_result *tests; /* owned */
    int n;
    struct run_data data;
    struct run_bins bins; /* of the best epoch, otherwise of the last one */
    bool bins_of_best;
};

/* An epoch was evaluated: over all ranks. */
void test_report_add(struct test_report *t, const struct epoch_row *row,
                     const struct eval_metrics *metrics, const struct eval_metrics_sum *sum);
/* folder: of the models; run: id of the run that they are of. */
void test_report_write(const struct test_report *t, const char *folder, const char *run,
                       const struct logger *log);
void test_report_deinit(struct test_report *t);

#endif
