/* skiff init: from a table to a config that trains on it.
 *
 * The table is read twice: init_run.c collects statistics of the columns, init_plan.c decides from
 * them what each column is used for, then the rows are written to train/ and test/. Only folders
 * that an earlier skiff init has written (config.yaml says so in its first line) are replaced, and
 * an input file inside of --out is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/init.h"
#include "data/reader.h"
#include "models/model.h"
#include "store/file.h"

struct init_args {
    struct init_flags flags;
    const char *data;
};

/* ---- the folder ---- */

static const char *const made[] = {"config.yaml", "columns.stats", "train", "test"};

static void path_in(struct buf *path, const char *out, const char *name)
{
    buf_reset(path);
    buf_printf(path, "%s/%s", out, name);
}

static enum skiff_status not_inside(const struct file_list *files, const char *out,
                                    struct skiff_error *err)
{
    char *folder = realpath(out, NULL);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; folder && status == SKIFF_OK && i < files->count; i++) {
        char *file = realpath(files->paths[i], NULL);
        size_t n = strlen(folder);
        if (file && strncmp(file, folder, n) == 0 && file[n] == '/')
            status =
                error_set(err, SKIFF_INVALID,
                          "%s is in --out %s, whose content may be replaced; choose another folder",
                          files->paths[i], out);
        free(file);
    }
    free(folder);
    return status;
}

/* Did an earlier init write this folder? Its config says so in the first line. */
static bool is_ours(const char *out)
{
    char line[64] = "";
    struct buf path = BUF_INIT;
    path_in(&path, out, "config.yaml");
    FILE *f = fopen(path.data, "re");
    bool ours = f && fgets(line, sizeof line, f) && !strncmp(line, INIT_MARK, strlen(INIT_MARK));
    if (f)
        fclose(f);
    buf_deinit(&path);
    return ours;
}

static enum skiff_status prepare_folder(const struct init_flags *f, const struct file_list *files,
                                        struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = not_inside(files, f->out, err);
    bool ours = is_ours(f->out);
    for (size_t i = 0; status == SKIFF_OK && i < sizeof made / sizeof *made; i++) {
        path_in(&path, f->out, made[i]);
        if (!file_exists(path.data))
            continue;
        if (f->overwrite && ours)
            file_remove_tree(path.data);
        else if (f->overwrite)
            status = error_set(err, SKIFF_STATE,
                               "%s exists, and skiff init did not write it (config.yaml does not "
                               "say so): remove it, or name another folder with --out",
                               path.data);
        else
            status = error_set(err, SKIFF_STATE,
                               "%s exists; --overwrite replaces the output of an earlier skiff "
                               "init, --out names another folder",
                               path.data);
    }
    for (size_t i = 2; status == SKIFF_OK && i < sizeof made / sizeof *made; i++) {
        path_in(&path, f->out, made[i]);
        status = file_make_parents(path.data, err);
        if (status == SKIFF_OK && mkdir(path.data, 0777) < 0)
            status = error_set_sys(err, "%s: cannot create the folder", path.data);
    }
    buf_deinit(&path);
    return status;
}

/* After a failure: what this run has made. The folder itself goes when it is empty. */
static void remove_made(const char *out)
{
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        path_in(&path, out, made[i]);
        file_remove_tree(path.data);
    }
    rmdir(out);
    buf_deinit(&path);
}

/* ---- the run ---- */

static enum skiff_status write_files(const struct init_plan *p, const struct init_flags *f,
                                     const struct split_report *r, const struct file_list *files,
                                     struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    if (p->learns) {
        path_in(&path, f->out, "columns.stats");
        status = columns_write(&r->columns, path.data, err);
    }
    if (status == SKIFF_OK) {
        init_config_print(p, f, r, files, &text);
        path_in(&path, f->out, "config.yaml");
        status = file_write(path.data, text.data, text.len, err);
    }
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

static enum skiff_status check_split(const struct split_report *r, struct skiff_error *err)
{
    if (r->train.rows == 0 || r->test.rows == 0)
        return error_set(err, SKIFF_INVALID,
                         "of %" PRId64 " rows, %" PRId64 " are for training and %" PRId64
                         " for the test; both need at least one: change the share of the test "
                         "(--share, default 0.1) or the choice (--seed)",
                         r->train.rows + r->test.rows, r->train.rows, r->test.rows);
    return SKIFF_OK;
}

static enum skiff_status init_folder(struct init_run *r, const struct init_flags *f,
                                     struct skiff_error *err)
{
    struct split_report report = {0};
    struct buf train = BUF_INIT, test = BUF_INIT;
    TRY(prepare_folder(f, &r->files, err));
    path_in(&train, f->out, "train");
    path_in(&test, f->out, "test");
    enum skiff_status status = init_split(r, f, train.data, test.data, &report, err);
    if (status == SKIFF_OK)
        status = check_split(&report, err);
    if (status == SKIFF_OK)
        status = write_files(&r->plan, f, &report, &r->files, err);
    if (status == SKIFF_OK)
        init_show_end(&r->plan, &report, f->out);
    else
        remove_made(f->out);
    columns_deinit(&report.columns);
    buf_deinit(&train);
    buf_deinit(&test);
    return status;
}

static enum skiff_status init(const struct init_args *a, struct skiff_error *err)
{
    struct init_run r;
    char *names[] = {(char *)a->data};
    enum skiff_status status = init_look(&r, "init", &a->flags, names, 1, err);
    if (status == SKIFF_OK) {
        init_show_table(&r.plan, &r.files);
        status = init_folder(&r, &a->flags, err);
    }
    init_run_deinit(&r);
    return status;
}

static int run(const struct command_call *call)
{
    const struct init_args *a = call->args;
    struct skiff_error err = {0};
    if (!a->data || !a->flags.out)
        return command_usage(call->name, "--data FILE and --out DIR are needed");
    if (strcmp(a->data, "-") == 0)
        return command_usage(call->name,
                             "--data is a pipe: the rows are read twice, so give a file");
    if (a->flags.share <= 0 || a->flags.share >= 1)
        return command_usage(call->name, "--share must be between 0 and 1");
    if (strncmp(a->flags.model, "rank/", 5) != 0 || !model_find(a->flags.model))
        return command_usage(call->name,
                             "--model must be one of the rank/ models that skiff train --help "
                             "lists, found %s",
                             a->flags.model);
    return init(a, &err) < 0 ? command_fail(call->name, &err) : 0;
}

#define AT(field) offsetof(struct init_args, field)

static const char *const formats[] = {"auto", "csv", "libsvm", "libffm", NULL};
static const char *const headers[] = {"no", "yes", NULL};
static const char *const splits[] = {"auto", "random", "time", NULL};

static const struct option rows[] = {
    {"data", OPTION_TEXT, AT(data), .value = "FILE", .group = "files",
     .help = "read the table from a file, a folder or a pattern; files may be compressed"},
    {"out", OPTION_TEXT, AT(flags.out), .value = "DIR",
     .help = "write config.yaml, train/, test/ and columns.stats to DIR"},
    {"overwrite", OPTION_BOOL, AT(flags.overwrite),
     .help = "replace the output of an earlier skiff init in DIR"},
    {"format", OPTION_CHOICE, AT(flags.format), .words = formats, .standard = "auto",
     .help = "set the format of the file", .group = "format"},
    {"separator", OPTION_OTHER, AT(flags.separator), .read = reader_read_char,
     .given = AT(flags.has_separator), .value = "C", .default_text = "detected",
     .help = "csv: set the separator: one character, or tab, comma, space, pipe, semicolon"},
    {"header", OPTION_CHOICE, AT(flags.header), .words = headers, .given = AT(flags.has_header),
     .help = "csv: say whether the first line names the columns", .default_text = "detected"},
    {"label", OPTION_TEXT, AT(flags.label), .value = "COLUMN", .group = "label and split",
     .default_text = "detected",
     .help = "predict this column: a name, or a position from 1 if there is no header"},
    {"positive", OPTION_TEXT, AT(flags.positive), .value = "VALUE",
     .help = "treat this value of the label as 1"},
    {"split", OPTION_CHOICE, AT(flags.split), .words = splits, .standard = "auto",
     .help = "choose the test rows: the last ones in time (auto, if there is a column of "
             "times), or random ones"},
    {"time", OPTION_TEXT, AT(flags.time), .value = "COLUMN", .help = "use this column of times",
     .default_text = "detected"},
    {"share", OPTION_REAL, AT(flags.share), .low = 0, .high = 1, .value = "X", .standard = "0.1",
     .help = "set the share of the rows that are for the test"},
    {"seed", OPTION_LONG, AT(flags.seed), .value = "N", .standard = "1",
     .help = "seed the choice of test rows, and runner.seed of the config"},
    {"model", OPTION_TEXT, AT(flags.model), .value = "NAME", .standard = "rank/deepfm",
     .help = "set the network", .group = "model"},
    {0}};

const struct command command_init = {
    .name = "init",
    .summary = "inspect your own table and write a config that trains on it",
    .usage = "--data FILE [--label COLUMN] [--positive VALUE] --out DIR",
    .text =
        "Inspects a CSV, TSV, libsvm or libffm file and prints what it found: separator, header, "
        "types, missing values, the label. It splits the rows 9:1 into DIR/train and DIR/test, "
        "takes quantiles of numbers and the values of categories from the training rows, and "
        "writes DIR/config.yaml. `skiff train -m DIR/config.yaml`, `skiff infer -m "
        "DIR/config.yaml` and `skiff predict -m DIR/config.yaml --input NEW` then work at once.",
    .examples =
        "skiff init --data clicks.csv --out job\n"
        "skiff init --data clicks.csv --label clicked --positive yes --split time --out job",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct init_args),
    .run = run};
