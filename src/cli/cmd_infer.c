/* skiff infer: evaluates saved epochs on test data (train/evaluation.h).
 *
 * It prints a row of a table for each epoch, or PaddleRec's line, and at the end a table of the
 * metrics that need every prediction, with a star at the best of validation. Lines go to standard
 * output as their epochs end; warnings and the reason of a failure to standard error. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/task_flags.h"
#include "train/evaluation.h"

struct infer_show {
    struct evaluation *evaluation;
    struct progress progress;
    bool rows;   /* epochs are rows of the table, which grows */
    bool lines;  /* epochs are PaddleRec's lines */
    int printed; /* rows of the table */
};

static enum skiff_status show_start(void *self, struct train_run *run, struct skiff_error *err)
{
    struct infer_show *show = self;
    struct evaluation *t = show->evaluation;
    progress_init(&show->progress, &t->metrics,
                  config_int(t->task.config, KEY_RUNNER_PRINT_INTERVAL));
    show->progress.data = &t->data;
    t->options.tick_period = show->progress.terminal ? 0.25 : t->tick_period;
    return SKIFF_OK;
}

static void print_line(const struct epoch_row *r)
{
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", r->epoch, r->seconds,
           r->seconds > 0 ? (double)r->samples / r->seconds : 0.0);
    report_print_auc(r);
    if (!isnan(r->log_loss))
        printf(" log_loss: %.4f copc: %.4f", r->log_loss, r->copc);
    if (r->calibrated)
        printf(" (calibrated: %s)", r->calibrated);
    if (r->interrupted)
        printf(" (interrupted: a part of the epoch was trained)");
    printf("\n");
}

static enum skiff_status show_row(void *self, const struct train_counts *counts, bool *stop,
                                  struct skiff_error *err)
{
    struct infer_show *show = self;
    if (show->lines)
        print_line(counts->row);
    if (show->rows && !show->printed++)
        report_print_head(counts->row, false);
    if (show->rows)
        report_print_row(counts->row, false);
    fflush(stdout);
    return SKIFF_OK;
}

static void print_best(const struct evaluation *t)
{
    const struct valid_best *b = &t->best;
    const char *metric = valid_metric_name(b->metric);
    if (b->epoch < t->first || b->epoch >= t->end)
        return;
    if (b->end)
        printf("* best in validation during training: %s %.4f\n", metric, b->value);
    else
        printf("%s in validation during training: epoch %d, batch %lld (%s %.4f), in %s/%s%s\n",
               t->best_alone ? "* best" : "best", b->epoch, (long long)b->batch, metric, b->value,
               t->load_path, b->model,
               t->best_alone ? "" : " (evaluate it with -o runner.infer_epoch=best)");
}

/* Samples of one class have no AUC: often they have no labels at all. */
static void print_undefined(const struct evaluation *t)
{
    for (int i = 0; i < t->nrows; i++)
        if (t->rows[i].no_auc) {
            log_warn("auc is undefined: there are %s in runner.test_data_dir; rows without labels "
                     "can be predicted (skiff predict) but not evaluated",
                     t->rows[i].no_auc);
            return;
        }
}

static void show_results(void *self, const struct epoch_row *rows, int n)
{
    const struct infer_show *show = self;
    if (show->lines && !show->rows && n)
        printf("\n");
    if (!show->rows)
        report_print(rows, n, false);
    print_best(show->evaluation);
    report_print_quality(rows, n);
    fflush(stdout);
    print_undefined(show->evaluation);
}

static void ready(void *user)
{
    interrupt_watch();
}

static enum skiff_status infer(struct evaluation *t, const struct task_args *args,
                               struct skiff_error *err)
{
    const struct train_control control = {.wants_stop = console_control.wants_stop, .ready = ready};
    const bool paddlerec = args->log_format == LOG_FORMAT_PADDLEREC;
    struct infer_show show = {.evaluation = t,
                              .rows = !args->quiet && !paddlerec,
                              .lines = !args->quiet && (args->verbose || paddlerec)};
    const struct train_observer progress = progress_observer(&show.progress),
                                lines = {.self = &show,
                                         .start = show_start,
                                         .span_end = show_row,
                                         .results = show_results};
    enum skiff_status status = evaluation_open(t, args, &control, err);
    if (status == SKIFF_OK)
        status = observers_add(&t->observers, &lines, err);
    if (status == SKIFF_OK)
        status = observers_add(&t->observers, &progress, err);
    if (status == SKIFF_OK)
        status = evaluation_run(t, err);
    return evaluation_end(t, status, err);
}

static int run(const struct command_call *call)
{
    struct evaluation t;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    if (infer(&t, call->args, &err) < 0) {
        status = command_fail("infer", &err);
    } else if (t.stopped) {
        fprintf(stderr, "skiff infer: stopped before the end\n");
        status = 1;
    }
    evaluation_close(&t);
    return status;
}

static const struct option rows[] = {
    TASK_OPTIONS,
    TASK_NAME,
    TASK_RUN,
    {"group", OPTION_TEXT, offsetof(struct task_args, group), .value = "COLUMN",
     .help = "also give the AUC within groups of rows with the same value of COLUMN",
     .default_text = "runner.group_column"},
    TASK_TALK(.group = "output"),
    TASK_LOG_FORMAT,
    TASK_JSON,
    {0}};

const struct command command_infer = {
    .name = "infer",
    .also = "eval evaluate test",
    .summary = "evaluate saved epochs on test data: AUC, log loss, calibration",
    .usage = "config.yaml [-o key=value ...] [--group COLUMN] [-q|-v] [--json FILE] [--name "
             "NAME] [--run ID]",
    .text =
        "Evaluates saved epochs on the data of runner.test_data_dir: loss, AUC, log loss, COPC; "
        "PR-AUC, KS, lift, normalised entropy, precision, recall and F1 at a "
        "threshold (docs/guide/understand.md). It "
        "reads them from runner.infer_load_path: the epochs from runner.infer_start_epoch up to, "
        "but "
        "not including, runner.infer_end_epoch; without an end, all that exist. If the folder has "
        "epochs of several runs, the newest run is evaluated. runner.infer_epoch selects one "
        "epoch, "
        "or `best`: the best epoch of validation during training, which has a star in the "
        "table.\n\n"
        "Probabilities are calibrated first if the model was (skiff calibrate, runner.calibrate), "
        "and the line of the epoch says so; -o runner.calibrate=none evaluates them as the model "
        "gives them.\n\n"
        "The results are added to the report of the run that saved the epochs (report.html and "
        "report.json in the same folder), unless the run is still training or the folder is "
        "read-only.\n\n"
        "Rows without labels cannot be evaluated; skiff predict writes predictions for them.\n\n"
        "skiff eval, skiff evaluate and skiff test are other names of this command.",
    .examples = "skiff infer config.yaml\n"
                "skiff infer config.yaml -o runner.infer_epoch=best",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct task_args),
    .run = run};
