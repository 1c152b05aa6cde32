/* skiff check-data: reads the training data without training.
 *
 * It uses the dataset and the rules (struct data_rules) of training itself, so that both accept
 * the same lines. Bad lines are counted by kind with the limit raised to any number; the first of
 * them are printed. Statistics of the slots come from the same batches that training would get. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/task_flags.h"
#include "data/check.h"
#include "data/slot_columns.h"

#define REPORTED_MAX 20
#define REPORTED_TEXT "20"

/* What was found, by kind; behind the kinds of bad lines those that training only warns about. */
enum { STRANGE_NAME = BAD_KINDS, EMPTY_FILE, FINDINGS };

struct check_args {
    struct task_args task; /* first */
    bool warnings_ok;
};

struct findings {
    bool warnings_ok;
    int64_t count[FINDINGS];
    char first[FINDINGS][300]; /* place */
    int64_t reported;
    struct bad_lines bad;
};

static void find(struct findings *f, int kind, const char *file, int64_t line)
{
    if (f->count[kind]++ == 0 && line)
        snprintf(f->first[kind], sizeof f->first[kind], "%.270s:%" PRId64, file, line);
    else if (f->count[kind] == 1)
        snprintf(f->first[kind], sizeof f->first[kind], "%.290s", file);
}

static void print_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct findings *f = arg;
    find(f, (int)f->bad.kind, file, line);
    if (++f->reported <= REPORTED_MAX)
        fprintf(stderr, "skiff check-data: %s\n", why->message);
}

static void print_odd(void *arg, const char *file, int64_t line, const char *name)
{
    struct findings *f = arg;
    find(f, name ? STRANGE_NAME : EMPTY_FILE, file, line);
    if (name)
        fprintf(stderr, "skiff check-data: %s:%" PRId64 ": \"%s\" is not a slot of the model\n",
                file, line, name);
    else
        fprintf(stderr, "skiff check-data: %s is empty\n", file);
}

/* What training would refuse; *odd: what it would only tell. */
static int64_t print_findings(const struct findings *f, int64_t *odd)
{
    int64_t refused = 0;
    *odd = f->count[STRANGE_NAME] + f->count[EMPTY_FILE];
    for (int i = 0; i < BAD_KINDS; i++)
        refused += f->count[i];
    if (refused + *odd)
        printf("\n%-26s %10s  %-8s  %s\n", "what is wrong", "count", "training", "first");
    for (int i = 0; i < FINDINGS; i++)
        if (f->count[i])
            printf("%-26s %10" PRId64 "  %-8s  %s\n",
                   i == STRANGE_NAME ? "unknown slot name"
                   : i == EMPTY_FILE ? "empty file"
                                     : bad_kind_text((enum bad_kind)i),
                   f->count[i], i < BAD_KINDS ? "refuses" : "warns", f->first[i]);
    return refused;
}

/* How the table names slots: by their columns, when these are known, and by themselves. */
struct slot_names {
    bool columns;
    int wide; /* letters of the longest column, within bounds */
};

static struct slot_names names_of(const struct schema *schema)
{
    struct slot_names n = {.wide = 14};
    char title[SLOT_TITLE_MAX];
    for (int i = 0; i < schema->count; i++)
        for (int k = 0; k < slot_fields(&schema->slots[i]); k++) {
            int letters = (int)strlen(slot_title(&schema->slots[i], k, title));
            n.columns |= schema->slots[i].ncolumns > 0;
            n.wide = letters > n.wide ? letters : n.wide;
        }
    n.wide = n.wide < 40 ? n.wide : 40;
    return n;
}

static void print_slot(const struct slot_names *names, const struct slot *slot, int field,
                       const struct slot_report *r, int64_t rows)
{
    char title[SLOT_TITLE_MAX];
    if (names->columns)
        printf("%-*s ", names->wide, slot_title(slot, field, title));
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

static void print_slots(const struct schema *schema, const struct check_report *r)
{
    struct slot_names names = names_of(schema);
    int at = 0;
    printf("\n");
    if (names.columns)
        printf("%-*s ", names.wide, "column");
    printf("%-14s %-8s %-7s %12s %8s %8s %14s %14s %12s\n", "slot", "type", "kind", "values",
           "a sample", "zeros", "least", "most", "distinct");
    for (int i = 0; i < schema->count; i++)
        for (int k = 0; k < slot_fields(&schema->slots[i]); k++, at++)
            print_slot(&names, &schema->slots[i], k, &r->slots[at], r->rows);
}

static void print_report(const struct schema *schema, const struct check_report *r)
{
    char title[SLOT_TITLE_MAX];
    printf("%" PRId64 " file%s, %.1f MB, %" PRId64 " sample%s, %" PRId64 " bad line%s\n", r->files,
           plural(r->files), 1e-6 * (double)r->bytes, r->rows, plural(r->rows), r->bad,
           plural(r->bad));
    if (r->label >= 0)
        printf("mean of %s: %.6g\n", slot_title(&schema->slots[r->label], 0, title), r->label_mean);
    print_slots(schema, r);
}

/* Empty lines in a row are reported once and counted each. */
static void count_empty(struct findings *f, const struct check_report *r)
{
    int64_t reported = 0;
    for (int i = 0; i < BAD_KINDS; i++)
        reported += f->count[i];
    f->count[BAD_EMPTY_LINE] += r->bad - reported;
}

static enum skiff_status verdict(struct findings *f, const struct check_report *r,
                                 struct skiff_error *err)
{
    int64_t odd, refused;
    count_empty(f, r);
    refused = print_findings(f, &odd);
    fflush(stdout);
    if (refused)
        return error_set(err, SKIFF_FORMAT, "%" PRId64 " line%s that training would refuse",
                         refused, plural(refused));
    if (!r->rows)
        return error_set(err, SKIFF_NOT_FOUND, "no samples: training would refuse this");
    if (odd && !f->warnings_ok)
        return error_set(err, SKIFF_FORMAT,
                         "training would accept all lines but warn of unknown slot names or empty "
                         "files (--warnings_ok accepts them)");
    printf(odd ? "\ntraining would accept all lines\n" : "\nnothing wrong\n");
    return SKIFF_OK;
}

static enum skiff_status check_files(struct task *j, const struct scan_plan *plan,
                                     const struct task_data *where, struct findings *f,
                                     struct skiff_error *err)
{
    struct check_report report = {0};
    struct file_list files;
    file_list_init(&files);
    enum skiff_status status = task_file_list(j, where, &files, err);
    task_warn_left_out(j, &files);
    if (status == SKIFF_OK)
        status = check_run(plan, &files, &report, err);
    if (status == SKIFF_OK) {
        print_report(&j->schema, &report);
        status = verdict(f, &report, err);
        check_report_deinit(&report);
    }
    file_list_deinit(&files);
    return status;
}

static enum skiff_status check(struct task *j, const struct command_call *call,
                               struct skiff_error *err)
{
    struct task_data where = task_data_train;
    struct dataset_config dc;
    struct findings f = {.warnings_ok = ((const struct check_args *)call->args)->warnings_ok};
    where.files = call->nwords ? (const char *const *)call->words : NULL;
    where.nfiles = call->nwords;
    TRY(task_dataset_config(j, &where, &dc, err));
    bad_lines_init(&f.bad, -1);
    f.bad.on_bad = print_bad;
    f.bad.on_odd = print_odd;
    f.bad.on_idle = dc.on_idle;
    f.bad.idle_arg = dc.on_idle_arg;
    f.bad.arg = &f;
    struct scan_plan plan = {.schema = &j->schema,
                             .reader = &dc.reader,
                             .pipe_command = dc.pipe_command,
                             .unpack_ratio = dc.unpack_ratio,
                             .idle_lines = dc.idle_lines,
                             .rules = dc.rules,
                             .bad = &f.bad,
                             .stop = interrupt_watch()};
    enum skiff_status status = task_check(j, err);
    if (status == SKIFF_OK)
        status = check_files(j, &plan, &where, &f, err);
    bad_lines_deinit(&f.bad);
    reader_config_deinit(&dc.reader);
    return status;
}

static int run(const struct command_call *call)
{
    struct task task;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    if (task_open(&task, call->args, TASK_EVALUATES, &err) < 0)
        return command_fail("check-data", &err);
    if (check(&task, call, &err) < 0)
        status = command_fail("check-data", &err);
    task_close(&task);
    return status;
}

static const struct option rows[] = {
    TASK_OPTIONS,
    {"warnings_ok", OPTION_BOOL, offsetof(struct check_args, warnings_ok),
     .help = "exit with status 0 if there are warnings but no errors", .group = "exit status"},
    {0}};

const struct command command_check_data = {
    .name = "check-data",
    .summary = "check data as training would read it: bad lines, contents of the slots",
    .usage = "config.yaml [-o key=value ...] [--warnings_ok] [FILE...]",
    .text = "Reads the files of runner.train_data_dir (or the FILEs) as training would. It prints "
            "every bad line with file, line, slot and value (the first " REPORTED_TEXT
            "; the rest is counted), and statistics of each slot, by the columns "
            "that runner.input_columns names. "
            "It counts by kind what training would refuse: unreadable lines, rows without a "
            "label, labels other than 0 and 1, nan and inf, ids beyond the model's tables. "
            "It also counts what training would only warn about: names that are not slots of the "
            "model, empty files. "
            "Exit status 1 if it found either.",
    .examples = "skiff check-data config.yaml\n"
                "skiff check-data config.yaml new/part-0001.gz",
    .group = COMMAND_DATA,
    .options =
        &(const struct options){
            .rows = rows, .words = "FILE...", .is_first = task_is_config, TASK_WORDS},
    .args_size = sizeof(struct check_args),
    .run = run};
