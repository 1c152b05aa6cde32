/* skiff check-data: what training would read, without training. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/task.h"
#include "data/check.h"

#define TOLD_MAX 20
#define TOLD_TEXT "20"

static void tell_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    int64_t *told = arg;
    (void)file;
    (void)line;
    if (++*told <= TOLD_MAX)
        fprintf(stderr, "skiff check-data: %s\n", why->message);
}

static void print_slot(const struct slot *slot, const struct slot_report *r, int64_t rows)
{
    printf("%-14s %-8s %-7s %12" PRId64 " %8.2f %6.1f %%", slot->name, dtype_name(slot->dtype),
           slot->ragged ? "ragged" : "dense", r->values,
           rows ? (double)r->values / (double)rows : 0.0,
           r->values ? 100.0 * (double)r->zeros / (double)r->values : 0.0);
    if (slot->dtype == DTYPE_INT64)
        printf(" %14" PRId64 " %14" PRId64 " %12.0f\n", r->least, r->most, r->distinct);
    else
        printf(" %14.6g %14.6g %12s   mean %.6g%s\n", r->min, r->max, "-", r->mean,
               r->odd ? ", with nan or inf" : "");
}

static void print_report(const struct schema *schema, const struct check_report *r)
{
    printf("%" PRId64 " files, %.1f MB, %" PRId64 " samples, %" PRId64 " bad lines\n", r->files,
           1e-6 * (double)r->bytes, r->rows, r->bad);
    if (r->label >= 0)
        printf("mean of %s: %.6g\n", schema->slots[r->label].name, r->label_mean);
    printf("\n%-14s %-8s %-7s %12s %8s %8s %14s %14s %12s\n", "slot", "type", "kind", "values",
           "a sample", "zeros", "least", "most", "distinct");
    for (int i = 0; i < schema->count; i++)
        print_slot(&schema->slots[i], &r->slots[i], r->rows);
}

/* Ids must lie in the table: a look-up outside would end the training. */
static int64_t outside_table(struct task *j, const struct check_report *r)
{
    int64_t rows = config_int(j->config, "hyper_parameters.sparse_feature_number", 0), wrong = 0;
    for (int i = 0; i < j->schema.count && rows > 0; i++) {
        const struct slot_report *s = &r->slots[i];
        if (j->schema.slots[i].dtype != DTYPE_INT64 || i == r->label || !s->values)
            continue;
        if (s->least >= 0 && s->most < rows)
            continue;
        fprintf(stderr,
                "skiff check-data: slot %s has ids from %" PRId64 " to %" PRId64
                "; the table has %" PRId64 " rows (sparse_feature_number)\n",
                j->schema.slots[i].name, s->least, s->most, rows);
        wrong++;
    }
    return wrong;
}

static enum skiff_status check(struct task *j, const struct command_call *call, int64_t *wrong,
                               struct skiff_error *err)
{
    struct task_data where = task_data_train;
    struct dataset_config dc;
    struct check_report report = {0};
    struct file_list files;
    struct bad_lines bad;
    const char *const *names;
    int64_t told = 0;
    int count = 0;
    where.files = call->nwords ? (const char *const *)call->words : NULL;
    where.nfiles = call->nwords;
    TRY(task_dataset_config(j, &where, &dc, err));
    file_list_init(&files);
    bad_lines_init(&bad, -1);
    bad.on_bad = tell_bad;
    bad.on_idle = dc.on_idle;
    bad.arg = &told;
    struct scan_plan plan = {.schema = &j->schema,
                             .reader = &dc.reader,
                             .pipe_command = dc.pipe_command,
                             .unpack_ratio = dc.unpack_ratio,
                             .idle_lines = dc.idle_lines,
                             .bad = &bad,
                             .stop = interrupt_watch()};
    enum skiff_status status = task_check(j, "check-data", err);
    if (status == SKIFF_OK)
        status = task_files(j, &where, &names, &count, err);
    for (int i = 0; status == SKIFF_OK && i < count; i++)
        status = file_list_expand(&files, names[i], err);
    if (status == SKIFF_OK)
        status = check_run(&plan, &files, &report, err);
    if (status == SKIFF_OK) {
        print_report(&j->schema, &report);
        fflush(stdout);
        *wrong = report.bad + outside_table(j, &report);
        check_report_deinit(&report);
    }
    file_list_deinit(&files);
    bad_lines_deinit(&bad);
    reader_config_deinit(&dc.reader);
    return status;
}

static int run(const struct command_call *call)
{
    struct task task;
    struct skiff_error err = {0};
    int64_t wrong = 0;
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    if (task_open(&task, call->args, false, &err) < 0)
        return command_fail("check-data", &err);
    if (check(&task, call, &wrong, &err) < 0)
        status = command_fail("check-data", &err);
    else if (wrong) {
        fprintf(stderr, "skiff check-data: %" PRId64 " faults\n", wrong);
        status = 1;
    }
    task_close(&task);
    return status;
}

static const struct option rows[] = {TASK_OPTIONS, {0}};

const struct command command_check_data = {
    .name = "check-data",
    .summary = "read data as training would; tell bad lines and what is in the slots",
    .usage = "-m config.yaml [-o key=value ...] [FILE...]",
    .text = "Reads the files of runner.train_data_dir (or the FILEs) as training would: tells "
            "every bad line with "
            "file, line, slot and value (the first " TOLD_TEXT
            "; the rest is counted), and what is in each slot. "
            "Ids that the model's table does not have are told, too. Exit status 1 when something "
            "is wrong.",
    .options = &(const struct options){.rows = rows, .words = "FILE..."},
    .args_size = sizeof(struct task_args),
    .run = run};
