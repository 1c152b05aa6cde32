/* skiff init: from somebody's table to a config that trains. */
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
            status = error_set(err, SKIFF_INVALID,
                               "%s lies in --out %s, what is in it may be replaced; choose another "
                               "folder",
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
                               "%s is there, and no earlier skiff init wrote it (config.yaml does "
                               "not say so): remove it yourself, or name another folder by --out",
                               path.data);
        else
            status = error_set(err, SKIFF_STATE,
                               "%s is there already; --overwrite replaces what an earlier init "
                               "wrote, --out names another folder",
                               path.data);
    }
    for (size_t i = 2; status == SKIFF_OK && i < sizeof made / sizeof *made; i++) {
        path_in(&path, f->out, made[i]);
        status = file_make_parents(path.data, err);
        if (status == SKIFF_OK && mkdir(path.data, 0777) < 0)
            status = error_set_sys(err, "%s: cannot make the folder", path.data);
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
        return error_set(
            err, SKIFF_INVALID,
            "of %" PRId64 " rows %" PRId64 " are left to train and %" PRId64
            " to test: there must be some of both; --share (0.1) says how many are for "
            "the test, --seed which",
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
        return command_usage(call->name, "--data: the rows are read twice, a pipe cannot be");
    if (a->flags.share <= 0 || a->flags.share >= 1)
        return command_usage(call->name, "--share lies between 0 and 1");
    if (strncmp(a->flags.model, "rank/", 5) != 0 || !model_find(a->flags.model))
        return command_usage(call->name, "--model: one of the rank/ models (skiff train --help)");
    return init(a, &err) < 0 ? command_fail(call->name, &err) : 0;
}

#define AT(field) offsetof(struct init_args, field)

static const char *const formats[] = {"auto", "csv", "libsvm", "libffm", NULL};
static const char *const headers[] = {"no", "yes", NULL};
static const char *const splits[] = {"auto", "random", "time", NULL};

static const struct option rows[] = {
    {"data", OPTION_TEXT, AT(data), .value = "FILE",
     .help = "the table: a file, a folder or a pattern; it may be compressed"},
    {"out", OPTION_TEXT, AT(flags.out), .value = "DIR",
     .help = "folder: config.yaml, train/, test/ and columns.stats are made in it"},
    {"label", OPTION_TEXT, AT(flags.label), .value = "COLUMN",
     .help = "the column to be predicted: its name, or without a header its position from 1"},
    {"positive", OPTION_TEXT, AT(flags.positive), .value = "VALUE", .help = "the label that is 1"},
    {"format", OPTION_CHOICE, AT(flags.format), .words = formats, .standard = "auto",
     .help = "of the file"},
    {"separator", OPTION_OTHER, AT(flags.separator), .read = reader_read_char,
     .given = AT(flags.has_separator), .value = "C",
     .help = "csv: between columns: one character, or tab, comma, space, pipe, semicolon"},
    {"header", OPTION_CHOICE, AT(flags.header), .words = headers, .given = AT(flags.has_header),
     .help = "csv: whether the first line names the columns"},
    {"split", OPTION_CHOICE, AT(flags.split), .words = splits, .standard = "auto",
     .help = "which rows are for the test: the last ones in time (auto, if there is a column of "
             "times), or some at random"},
    {"time", OPTION_TEXT, AT(flags.time), .value = "COLUMN", .help = "the column of times"},
    {"share", OPTION_REAL, AT(flags.share), .low = 0, .high = 1, .value = "X", .standard = "0.1",
     .help = "of the rows that are for the test"},
    {"seed", OPTION_LONG, AT(flags.seed), .value = "N", .standard = "1",
     .help = "which rows are for the test; runner.seed of the config"},
    {"model", OPTION_TEXT, AT(flags.model), .value = "NAME", .standard = "rank/deepfm",
     .help = "the network"},
    {"overwrite", OPTION_BOOL, AT(flags.overwrite),
     .help = "replaces what an earlier init wrote in DIR"},
    {0}};

const struct command command_init = {
    .name = "init",
    .summary = "look at a table of your own and write a config that trains on it",
    .usage = "--data FILE [--label COLUMN] [--positive VALUE] --out DIR",
    .text = "Looks at a CSV, TSV, libsvm or libffm file (separator, header, types, missing values, "
            "the label), tells what it saw, splits the rows 9:1 into DIR/train and DIR/test, "
            "learns quantiles of numbers and the values of categories from the training rows, and "
            "writes DIR/config.yaml. Then `skiff train -m DIR/config.yaml`, `skiff infer -m "
            "DIR/config.yaml` and `skiff predict -m DIR/config.yaml --input NEW` work at once.",
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct init_args),
    .run = run};
