/* skiff importance: which columns of the table the predictions of a saved model rest on
 * (skiff/importance.h). */
#include <skiff/importance.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/task_flags.h"

struct importance_args {
    struct task_args task;
    const char *data;
    int64_t rows, seed;
    int repeats, threads;
};

static void print_line(void *user, const char *line)
{
    (void)user;
    log_info("%s", line);
}

static bool wants_stop(void *user)
{
    (void)user;
    return interrupt_wanted();
}

static void show_progress(void *user, int done, int all)
{
    (void)user;
    if (isatty(STDERR_FILENO) && log_shows(LOG_INFO))
        fprintf(stderr, "\r%d of %d columns\033[K%s", done, all, done == all ? "\r\033[K" : "");
}

static void print_effect(const struct skiff_importance_effect *e)
{
    char interval[64];
    snprintf(interval, sizeof interval, "%.5f .. %.5f", e->low, e->high);
    if (isnan(e->mean))
        printf("%12s%24s", "-", "");
    else
        printf("%12.5f%24s", e->mean, interval);
}

static void print_table(const struct skiff_importance *i)
{
    int n = skiff_importance_count(i), width = 6;
    for (int k = 0; k < n; k++) {
        int length = (int)strlen(skiff_importance_column(i, k)->name);
        width = length > width ? length : width;
    }
    printf("%lld rows: log loss %.4f, auc %.4f\n\n", (long long)skiff_importance_rows(i),
           skiff_importance_log_loss(i), skiff_importance_auc(i));
    printf("%-*s%36s%36s\n", width, "column", "log loss rises by (95 % interval)",
           "auc falls by (95 % interval)");
    for (int k = 0; k < n; k++) {
        const struct skiff_importance_column *c = skiff_importance_column(i, k);
        printf("%-*s", width, c->name);
        print_effect(&c->log_loss);
        print_effect(&c->auc);
        printf("\n");
    }
}

static int run(const struct command_call *call)
{
    const struct importance_args *a = call->args;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    interrupt_watch();
    struct skiff_importance *i =
        skiff_importance_run(&(struct skiff_importance_config){.config = a->task.config,
                                                               .options = a->task.overrides.at,
                                                               .noptions = a->task.overrides.n,
                                                               .name = a->task.name,
                                                               .run = a->task.run,
                                                               .data = a->data,
                                                               .rows = a->rows,
                                                               .repeats = a->repeats,
                                                               .seed = (uint64_t)a->seed,
                                                               .threads = a->threads,
                                                               .json = a->task.json,
                                                               .quiet = a->task.quiet,
                                                               .on_log = print_line,
                                                               .on_progress = show_progress,
                                                               .wants_stop = wants_stop},
                             &err);
    if (!i)
        return command_fail(call->name, &err);
    print_table(i);
    skiff_importance_destroy(i);
    return 0;
}

#define AT(field) offsetof(struct importance_args, field)

static const struct option rows[] = {
    TASK_OPTIONS,
    TASK_NAME,
    TASK_RUN,
    {"data", OPTION_TEXT, AT(data), .value = "FILE", .group = "rows",
     .help = "take the rows of a file, folder or pattern",
     .default_text = "runner.valid_data_dir, else runner.test_data_dir"},
    {"rows", OPTION_LONG, AT(rows), .value = "N", .low = 1, .high = INT64_MAX / 2,
     .standard = "50000", .help = "take at most the first N rows"},
    {"repeats", OPTION_INT, AT(repeats), .value = "N", .low = 1, .high = 1000, .standard = "5",
     .help = "permute each column N times"},
    {"seed", OPTION_LONG, AT(seed), .value = "N", .low = 0, .high = INT64_MAX / 2,
     .help = "seed the permutations", .default_text = "runner.seed"},
    {"threads", OPTION_INT, AT(threads), .value = "N", .low = 1, .high = 1024,
     .help = "compute with N threads", .default_text = "one for each core"},
    TASK_TALK(.group = "output"),
    TASK_JSON,
    {0}};

const struct command command_importance = {
    .name = "importance",
    .summary = "rank the columns of the table by what predictions lose without them",
    .usage = "config.yaml [-o key=value ...] [--data FILE] [--rows N] [--repeats N]",
    .text =
        "Exchanges the values of one column of the table at a time between rows, predicts the rows "
        "again with the saved model, and prints by how much log loss rises and AUC falls, with 95 "
        "% intervals, the most important column first. An interval that contains 0: the column "
        "has no effect that can be seen in these rows.\n\n"
        "The rows are those of runner.valid_data_dir, else runner.test_data_dir; the model is the "
        "one that skiff predict takes. A column that feeds several slots, as a number and its "
        "buckets, is exchanged in all of them together. Columns that carry the same information "
        "share their importance: without one of them, the model still has the other.\n\n"
        "The numbers go into the report of the run (report.html), too. docs/guide/understand.md "
        "explains them.",
    .examples = "skiff importance config.yaml\n"
                "skiff importance config.yaml --rows 10000 --repeats 20",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct importance_args),
    .run = run};
