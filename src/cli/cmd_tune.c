/* skiff tune: a search for better values of keys of a config (skiff/tune.h).
 *
 * Lines of trials go to stderr as they end, the table and the command of the best one to stdout.
 * Keys are shown by their last word, and whole in the command. */
#include <skiff/tune.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/task_flags.h"

struct tune_args {
    struct task_args task;
    struct option_list tries;
    int method, trials, jobs, seeds;
    int64_t seed;
    const char *folder;
    bool overwrite;
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

/* "train_batch_size" of runner.train_batch_size=64, and its length. */
static const char *last_word(const char *value, int *n)
{
    const char *equals = strchr(value, '='), *word = equals;
    while (word > value && word[-1] != '.')
        word--;
    *n = (int)(equals - word);
    return word;
}

static void print_values(FILE *to, const struct skiff_tune_trial *t)
{
    for (int k = 0; k < t->nvalues; k++) {
        int n;
        const char *word = last_word(t->values[k], &n);
        fprintf(to, "%s%.*s=%s", k ? " " : "", n, word, strchr(t->values[k], '=') + 1);
    }
}

static void print_trial(void *user, const struct skiff_tune_trial *t, int done, int all)
{
    (void)user;
    if (!log_shows(t->error ? LOG_WARN : LOG_INFO))
        return;
    fprintf(stderr, "%d of %d: trial %d (", done, all, t->number);
    print_values(stderr, t);
    if (t->error)
        fprintf(stderr, ") failed: %s\n", t->error);
    else if (t->seeds > 1)
        fprintf(stderr, "): %.5f over %d seeds, from %.5f to %.5f\n", t->mean, t->seeds, t->low,
                t->high);
    else
        fprintf(stderr, "): %.5f, best epoch %d, %.1f s\n", t->value, t->best_epoch, t->seconds);
}

static void print_number(double v, int width)
{
    if (isnan(v))
        printf("%*s", width, "-");
    else
        printf("%*.5f", width, v);
}

static void print_heads(const struct skiff_tune *t, const int *widths, bool seeds)
{
    const struct skiff_tune_trial *one = skiff_tune_trial(t, 0);
    printf("\ntrial");
    for (int k = 0; k < one->nvalues; k++) {
        int n;
        const char *word = last_word(one->values[k], &n);
        printf("  %-*.*s", widths[k], n, word);
    }
    printf("%12s", skiff_tune_metric(t));
    if (seeds)
        printf("%7s%10s%22s", "seeds", "mean", "from .. to");
    printf("%8s%9s\n", "epochs", "seconds");
}

static void print_row(const struct skiff_tune_trial *t, const int *widths, bool seeds)
{
    printf("%5d", t->number);
    for (int k = 0; k < t->nvalues; k++)
        printf("  %-*s", widths[k], strchr(t->values[k], '=') + 1);
    print_number(t->value, 12);
    if (seeds && t->seeds > 1)
        printf("%7d%10.5f%11.5f .. %.5f", t->seeds, t->mean, t->low, t->high);
    else if (seeds)
        printf("%39s", "");
    printf("%8d%9.1f", t->epochs, t->seconds);
    if (t->error)
        printf("  failed: %s", t->error);
    else if (t->state == SKIFF_TUNE_STOPPED)
        printf("  left behind");
    printf("\n");
}

static void print_command(const struct tune_args *a, const struct skiff_tune_trial *best)
{
    printf("\nskiff train -m %s -o", a->task.config);
    for (int i = 0; i < a->task.overrides.n; i++)
        printf(" '%s'", a->task.overrides.at[i]);
    for (int k = 0; k < best->nvalues; k++)
        printf(strpbrk(best->values[k], " [],'\"") ? " \"%s\"" : " %s", best->values[k]);
    printf("\n");
}

enum { MOST_KEYS = 64 };

static void print_table(const struct skiff_tune *t, const struct tune_args *a)
{
    int widths[MOST_KEYS] = {0};
    bool seeds = false;
    for (int i = 0; i < skiff_tune_count(t); i++) {
        const struct skiff_tune_trial *trial = skiff_tune_trial(t, i);
        seeds |= trial->seeds > 1;
        for (int k = 0; k < trial->nvalues; k++) {
            int n, length = (int)strlen(strchr(trial->values[k], '=') + 1);
            (void)last_word(trial->values[k], &n);
            n = length > n ? length : n;
            widths[k] = n > widths[k] ? n : widths[k];
        }
    }
    print_heads(t, widths, seeds);
    for (int i = 0; i < skiff_tune_count(t); i++)
        print_row(skiff_tune_trial(t, i), widths, seeds);
    print_command(a, skiff_tune_trial(t, 0));
    printf("page: %s\n", skiff_tune_page(t));
}

static int run(const struct command_call *call)
{
    const struct tune_args *a = call->args;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (!status && a->tries.n > MOST_KEYS)
        status = command_usage(call->name, "at most %d keys can be tried, %d are given", MOST_KEYS,
                               a->tries.n);
    if (status)
        return status;
    interrupt_watch();
    struct skiff_tune *t =
        skiff_tune_run(&(struct skiff_tune_config){.config = a->task.config,
                                                   .options = a->task.overrides.at,
                                                   .noptions = a->task.overrides.n,
                                                   .tries = a->tries.at,
                                                   .ntries = a->tries.n,
                                                   .method = (enum skiff_tune_method)a->method,
                                                   .trials = a->trials,
                                                   .jobs = a->jobs,
                                                   .seeds = a->seeds,
                                                   .seed = (uint64_t)a->seed,
                                                   .folder = a->folder,
                                                   .overwrite = a->overwrite,
                                                   .quiet = a->task.quiet,
                                                   .on_log = print_line,
                                                   .on_trial = print_trial,
                                                   .wants_stop = wants_stop},
                       &err);
    if (!t)
        return command_fail(call->name, &err);
    print_table(t, a);
    skiff_tune_destroy(t);
    return 0;
}

#define AT(field) offsetof(struct tune_args, field)

static const char *const methods[] = {"random", "grid", "halving", NULL};

static const struct option rows[] = {
    TASK_OPTIONS,
    {"try", OPTION_PAIRS, AT(tries), .value = "KEY=values ...", .group = "search",
     .help = "try values of a key; any number may follow"},
    {"method", OPTION_CHOICE, AT(method), .words = methods, .standard = "random",
     .help = "take random values; all combinations; or random ones, of which the best third trains "
             "on, three times as long"},
    {"trials", OPTION_INT, AT(trials), .value = "N", .low = 1, .high = 100000,
     .help = "make N trials", .default_text = "20; grid: all combinations"},
    {"seeds", OPTION_INT, AT(seeds), .value = "N", .low = 1, .high = 1000, .standard = "1",
     .help = "train the best three with N seeds each, and show the spread"},
    {"seed", OPTION_LONG, AT(seed), .value = "N", .low = 0, .high = INT64_MAX / 2,
     .help = "seed the choice of values", .default_text = "runner.seed"},
    {"jobs", OPTION_INT, AT(jobs), .value = "N", .low = 1, .high = 1024,
     .help = "run N trials at the same time",
     .default_text = "the number of cores over runner.thread_num"},
    {"folder", OPTION_TEXT, AT(folder), .value = "DIR", .group = "output",
     .help = "keep the search in DIR", .default_text = "<runner.model_save_path>-tune"},
    {"overwrite", OPTION_BOOL, AT(overwrite), .help = "remove the search that is in DIR"},
    TASK_TALK(.group = NULL),
    {0}};

const struct command command_tune = {
    .name = "tune",
    .summary = "search for better values of any keys of a config",
    .usage = "config.yaml [-o key=value ...] --try KEY=values ... [--method random|grid|halving]\n"
             "    [--trials N] [--seeds N] [--jobs N] [--folder DIR] [--overwrite]",
    .text =
        "Trains the model with other values of keys, several trials at once, and compares them by "
        "runner.valid_metric on runner.valid_data_dir: a table with the best trial first, a page "
        "with plots (tune.html), and the command that trains with the best values.\n\n"
        "Values are a list, 64,256,1024, or a range: 1..8 (whole numbers), 0.1..0.5, "
        "log:1e-4..1e-1 (evenly by the logarithm). A grid takes three values of a range. halving "
        "trains all trials for a few epochs, the best third of them three times as long, and so "
        "on up to runner.epochs.\n\n"
        "Each trial is a process and a folder of its own. One that fails is named with its error, "
        "and the others go on. A search that was stopped, by Ctrl-C or kill -9, resumes with the "
        "same command, which also repeats trials that have failed. Differences that are smaller "
        "than the spread over seeds (--seeds) are "
        "chance. docs/guide/understand.md has examples.",
    .examples =
        "skiff tune config.yaml --try hyper_parameters.optimizer.learning_rate=log:1e-4..1e-1\n"
        "skiff tune config.yaml --try runner.train_batch_size=64,256 "
        "hyper_parameters.sparse_feature_dim=4,8,16 --method grid --seeds 3\n"
        "skiff tune config.yaml --try hyper_parameters.optimizer.learning_rate=log:1e-4..1e-1 "
        "--method halving --trials 30",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct tune_args),
    .run = run};
