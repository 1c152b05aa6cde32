/* skiff predict: one prediction for every row (src/predict has the pipeline).
 *
 * The output has one line for each input row, in order. An output file is written under a
 * temporary name and renamed when it is complete, so that it never contains a part; standard
 * output is flushed whenever the input pauses. train/predict_model.h chooses the model. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/task_flags.h"
#include "store/file.h"
#include "train/trained.h"

#define REPORTED 10        /* bad lines that are reported one by one */
#define REPORT_SECONDS 5.0 /* between two lines of progress */
#define SHOW_SECONDS 0.25  /* the same on a terminal */

struct predict_args {
    struct task_args task;
    const char *input, *output;
    struct predict_wish wish; /* its run is the task's */
};

struct predicting {
    struct trained trained;
    const struct predict_args *args;
    struct file_list files;
    struct file_writer file;
    FILE *stream; /* instead of the file */
    bool writes_file, terminal;
    bool at_once; /* the output appears when all is written */
    int64_t rows;
    int64_t reported_bad, bad; /* lines */
    double started, reported;
};

/* ---- the output ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static enum skiff_status open_output(struct predicting *t, struct skiff_error *err)
{
    const char *path = t->args->output;
    struct stat st;
    if (!path || !strcmp(path, "-")) {
        t->stream = stdout;
        return SKIFF_OK;
    }
    for (int i = 0; i < t->files.count; i++)
        if (same_file(path, t->files.paths[i]))
            return error_set(err, SKIFF_INVALID, "--output %s is the input", path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(err, SKIFF_IO, "--output %s is a folder; expected a file", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe or device is written to */
        t->stream = fopen(path, "we");
        return t->stream ? SKIFF_OK : error_set_sys(err, "--output %s", path);
    }
    TRY(file_writer_open(&t->file, path, err));
    t->writes_file = t->at_once = true;
    return SKIFF_OK;
}

static enum skiff_status close_output(struct predicting *t, enum skiff_status status,
                                      struct skiff_error *err)
{
    if (t->writes_file) {
        t->writes_file = false;
        return file_writer_end(&t->file, status, err);
    }
    FILE *f = t->stream;
    t->stream = NULL;
    bool failed = f && (f == stdout ? fflush(f) : fclose(f)) != 0;
    return failed && status == SKIFF_OK ? error_set_sys(err, "predictions cannot be written")
                                        : status;
}

static void show_progress(struct predicting *t, bool last)
{
    double now = clock_seconds(), spent = now - t->started;
    double period = t->terminal ? SHOW_SECONDS : REPORT_SECONDS;
    if (last && t->terminal)
        fprintf(stderr, "\r\033[K");
    if (last || now - t->reported < period)
        return;
    t->reported = now;
    if (t->terminal)
        fprintf(stderr, "\r%lld row%s, %.0f rows/s\033[K", (long long)t->rows, plural(t->rows),
                (double)t->rows / spent);
    else
        log_info("%lld row%s, %.0f rows/s", (long long)t->rows, plural(t->rows),
                 (double)t->rows / spent);
}

static enum skiff_status write_text(void *user, const char *text, size_t n, int64_t rows,
                                    struct skiff_error *err)
{
    struct predicting *t = user;
    t->rows += rows;
    show_progress(t, false);
    if (t->writes_file)
        return file_writer_add(&t->file, text, n, err);
    if (fwrite(text, 1, n, t->stream) != n || fflush(t->stream) != 0)
        return error_set_sys(err, "predictions cannot be written");
    return SKIFF_OK;
}

/* ---- the rows ---- */

static void print_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct predicting *t = arg;
    (void)file;
    (void)line;
    if (++t->reported_bad <= REPORTED)
        log_warn("%s", why->message);
    else if (t->reported_bad == REPORTED + 1)
        log_warn("further bad lines are only counted");
}

static enum skiff_status find_files(struct predicting *t, struct skiff_error *err)
{
    struct task_data where = task_data_infer;
    const char *const *names;
    int n;
    if (t->args->input) {
        where.files = &t->args->input;
        where.nfiles = 1;
    }
    TRY(task_files(&t->trained.task, &where, &names, &n, err));
    for (int i = 0; i < n; i++) {
        enum skiff_status status = file_list_expand(&t->files, names[i], err);
        if (status < 0)
            return error_prefix(err, status, "%s",
                                t->args->input ? "--input" : key_name(where.dir_key));
    }
    return SKIFF_OK;
}

static enum skiff_status predict_files(struct predicting *t, struct skiff_error *err)
{
    const struct dataset_config *data = &t->trained.data;
    struct bad_lines bad;
    bad_lines_init(&bad, data->bad_limit);
    bad.on_bad = data->bad_limit ? print_bad : NULL;
    bad.on_idle = data->on_idle;
    bad.idle_arg = data->on_idle_arg;
    bad.arg = t;
    struct trained_files rows = {
        .files = &t->files, .bad = &bad, .stop = interrupt_watch(), .user = t, .write = write_text};
    t->started = t->reported = clock_seconds();
    t->terminal = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    enum skiff_status status = trained_predict(&t->trained, &rows, err);
    show_progress(t, true);
    t->bad = atomic_load(&bad.count);
    bad_lines_deinit(&bad);
    return status;
}

static void print_done(const struct predicting *t)
{
    double spent = clock_seconds() - t->started;
    const char *to = t->args->output ? t->args->output : "standard output";
    if (!t->rows)
        log_warn("no rows in %s: nothing was predicted",
                 t->args->input ? t->args->input : "runner.test_data_dir");
    log_info("%lld row%s in %.1f s (%.0f rows/s), written to %s", (long long)t->rows,
             plural(t->rows), spent, spent > 0 ? (double)t->rows / spent : 0.0, to);
    if (t->bad)
        log_warn("nan instead of a prediction for %lld bad line%s", (long long)t->bad,
                 plural(t->bad));
}

static enum skiff_status predict(struct predicting *t, struct skiff_error *err)
{
    struct predict_wish wish = t->args->wish;
    wish.run = t->args->task.run;
    TRY(trained_open(&t->trained, &t->args->task, err));
    interrupt_watch();
    TRY(find_files(t, err));
    TRY(trained_load(&t->trained, &wish, err));
    TRY(open_output(t, err));
    TRY(close_output(t, predict_files(t, err), err));
    print_done(t);
    return SKIFF_OK;
}

static int run(const struct command_call *call)
{
    const struct predict_args *args = call->args;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (!status && args->wish.model && args->wish.has_epoch)
        status =
            command_usage(call->name, "--epoch and --model exclude each other; give one of them");
    if (status)
        return status;
    struct predicting t = {.args = args};
    file_list_init(&t.files);
    if (predict(&t, &err) < 0) {
        status = 1;
        if (interrupt_wanted())
            fprintf(stderr, "skiff predict: stopped after %lld rows%s\n", (long long)t.rows,
                    t.at_once ? "; the output was not written" : "");
        else
            command_fail("predict", &err);
    }
    file_list_deinit(&t.files);
    trained_close(&t.trained);
    return status;
}

#define AT(field) offsetof(struct predict_args, field)

static const struct option rows[] = {
    TASK_OPTIONS,
    {"input", OPTION_TEXT, AT(input), .value = "FILE", .group = "rows",
     .help = "read rows from a file, folder or pattern, or from standard input (-)",
     .default_text = "runner.test_data_dir"},
    {"output", OPTION_TEXT, AT(output), .value = "FILE", .default_text = "standard output",
     .help = "write predictions to FILE, which appears when all are written"},
    {"epoch", OPTION_LONG, AT(wish.epoch), .low = 0, .high = 1000000, .given = AT(wish.has_epoch),
     .value = "N", .help = "predict with epoch N", .group = "model",
     .default_text = "the best, else the newest"},
    {"model", OPTION_TEXT, AT(wish.model), .value = "PATH",
     .help =
         "predict with this model: the folder of an epoch, a prefix, a folder of parameters, or an "
         "inference model"},
    TASK_NAME,
    TASK_RUN,
    {"quiet", OPTION_BOOL, AT(task.quiet), .letter = 'q', .help = "print only warnings and errors",
     .group = "output"},
    {0}};

const struct command command_predict = {
    .name = "predict",
    .summary = "write a probability for every row, with or without labels",
    .usage = "config.yaml [-o key=value ...] [--input FILE|-] [--output FILE]\n"
             "config.yaml --epoch N | --model PATH ...",
    .text =
        "Writes one line for every input row, in the order of the input: the probability of a "
        "click, then a tab and the row's id, if it has one. The id is ins_id of multislot lines "
        "(with runner.parse_ins_id), the text before a tab in sign_slot lines, or the column "
        "runner.input_id of CSV. Labels may be present; they are ignored.\n\n"
        "The model is the best epoch if validation has marked one, otherwise the newest complete "
        "epoch "
        "of the newest run in runner.infer_load_path (runner.model_save_path).\n\n"
        "Probabilities are calibrated if the model was (skiff calibrate, runner.calibrate); "
        "-o runner.calibrate=none writes them as the model gives them.\n\n"
        "A bad line is an error that names file and line. Within the limit runner.bad_lines it "
        "becomes the line "
        "nan, so that the output keeps one line for each row. Lines that are not rows "
        "(comments, a CSV header, empty CSV lines) have no line in the output. runner.thread_num "
        "threads "
        "compute; the order and the numbers do not depend on it. When standard input or a pipe "
        "pauses, "
        "the rows read so far are answered.",
    .examples = "skiff predict config.yaml --input new.csv --output predictions.txt\n"
                "tail -f rows | skiff predict config.yaml --input - -q",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, TASK_WORDS},
    .args_size = sizeof(struct predict_args),
    .run = run};
