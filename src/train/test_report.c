/* Results of `skiff infer` in a run's report (test_report.h). The folder's lock keeps a training
 * run and two evaluations apart: whoever holds it writes both files, each with one rename. The
 * report is read again under the lock, so that nothing is written that is older than what is
 * there. */
#include "train/test_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fs/fs.h"
#include "report/report.h"
#include "store/folder_lock.h"
#include "train/quality.h"

void test_report_add(struct test_report *t, const struct epoch_row *row,
                     const struct eval_metrics *metrics, const struct eval_metrics_sum *sum)
{
    t->tests = mem_grow_or_die(t->tests, ((size_t)t->n + 1) * sizeof *t->tests);
    t->tests[t->n++] = (struct test_result){.numbers = {.epoch = row->epoch,
                                                        .best = row->best,
                                                        .samples = (double)row->samples,
                                                        .n = epoch_row_numbers(row)},
                                            .has_quality = row->has_quality,
                                            .quality = row->quality};
    t->data.rows = (double)row->samples;
    t->data.positives = metrics->is_probability ? sum->clicks : NAN;
    if (metrics->is_probability && !t->bins_of_best)
        run_bins_fill(&t->bins, sum->pos, sum->neg, EVAL_METRICS_BUCKETS);
    t->bins_of_best |= row->best;
}

void test_report_deinit(struct test_report *t)
{
    free(t->tests);
    *t = (struct test_report){0};
}

static void fill(const struct test_report *t, struct run_report *report)
{
    report->ntests = 0;
    run_drop_quality(report, "test");
    for (int i = 0; i < t->n; i++) {
        const struct test_result *r = &t->tests[i];
        run_add_test(report, &r->numbers);
        if (r->has_quality)
            quality_add(report, "test", r->numbers.epoch, &r->quality);
    }
    report->data[RUN_TEST] = t->data;
    report->test_calibration = t->bins;
}

static enum skiff_status rewrite(const struct test_report *t, const char *folder, const char *run,
                                 struct skiff_error *err)
{
    struct run_report report;
    run_report_init(&report);
    enum skiff_status status = report_read(folder, &report, err);
    if (status == SKIFF_OK && strcmp(report.name, run) != 0)
        status = error_set(err, SKIFF_NOT_FOUND, "it is that of run %s", report.name);
    if (status == SKIFF_OK) {
        fill(t, &report);
        status = report_write(&report, folder, err);
    }
    run_report_deinit(&report);
    return status;
}

void test_report_write(const struct test_report *t, const char *folder, const char *run,
                       const struct logger *log)
{
    struct folder_lock lock = {0};
    struct skiff_error why = {0};
    char holder[512];
    if (!t->n || !run[0] || fs_is_remote(folder))
        return;
    enum skiff_status status = folder_lock_take(&lock, folder, "skiff infer", holder, &why);
    if (status == SKIFF_END)
        logger_info(log, "the results are not added to the report in %s: %s saves there", folder,
                    holder);
    if (status == SKIFF_OK)
        status = rewrite(t, folder, run, &why);
    if (status < 0)
        logger_debug(log, "the results are not added to the report in %s: %s", folder, why.message);
    folder_lock_close(&lock);
}
