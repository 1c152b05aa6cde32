/* skiff init: from a table to a config that trains on it (src/prepare). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/prepare_show.h"
#include "data/reader.h"
#include "store/file.h"

struct init_args {
    struct prepare_options options;
    const char *data;
};

static enum skiff_status init(const struct init_args *a, struct skiff_error *err)
{
    struct prepare r;
    struct prepare_shown shown;
    struct prepare_events events = prepare_show_events(&shown, "init");
    struct split_report report = {0};
    char *names[] = {(char *)a->data};
    enum skiff_status status = prepare_open(&r, &events, &a->options, names, 1, err);
    if (status == SKIFF_OK) {
        prepare_show_table(&r.plan, &r.files);
        status = prepare_job(&r, &a->options, &report, err);
    }
    prepare_show_clear(&shown);
    if (status == SKIFF_OK)
        prepare_show_job(&r.plan, &report, a->options.out);
    columns_deinit(&report.columns);
    prepare_close(&r);
    return status;
}

/* clicks.csv.gz -> clicks, in the current folder. False: data is no plain file, or has no ending.
 */
static bool standard_out(const char *data, char out[static PATH_MAX])
{
    const char *slash = strrchr(data, '/'), *name = slash ? slash + 1 : data;
    size_t n = strcspn(name, ".");
    if (!n || !name[n] || n >= PATH_MAX || !file_exists(data) || file_is_dir(data))
        return false;
    memcpy(out, name, n);
    out[n] = '\0';
    return true;
}

static int run(const struct command_call *call)
{
    struct init_args *a = call->args;
    char folder[PATH_MAX];
    struct skiff_error err = {0};
    if (!a->data)
        return command_usage(call->name, "a table is required: skiff init clicks.csv");
    if (strcmp(a->data, "-") == 0)
        return command_usage(call->name,
                             "--data is a pipe: the rows are read twice, so give a file");
    if (!a->options.out && standard_out(a->data, folder))
        a->options.out = folder;
    if (!a->options.out)
        return command_usage(
            call->name, "%s does not name a folder for the config: give one with -o DIR", a->data);
    if (a->options.share <= 0 || a->options.share >= 1)
        return command_usage(call->name, "--share must be between 0 and 1");
    if (prepare_check_model(a->options.model, &err) < 0)
        return command_usage(call->name, "--model: %s", err.message);
    return init(a, &err) < 0 ? command_fail(call->name, &err) : 0;
}

#define AT(field) offsetof(struct init_args, field)

static const char *const formats[] = {"auto", "csv", "libsvm", "libffm", NULL};
static const char *const headers[] = {"no", "yes", NULL};
static const char *const splits[] = {"auto", "random", "time", NULL};

static const struct option rows[] = {
    {"data", OPTION_TEXT, AT(data), .value = "FILE", .group = "files",
     .help = "read the table from a file, a folder or a pattern; files may be compressed"},
    {"out", OPTION_TEXT, AT(options.out), .value = "DIR", .letter = 'o',
     .help = "write config.yaml, train/, valid/, test/ and columns.stats to DIR",
     .default_text = "the name of FILE without its ending"},
    {"overwrite", OPTION_BOOL, AT(options.overwrite),
     .help = "replace the output of an earlier skiff init in DIR"},
    {"format", OPTION_CHOICE, AT(options.format), .words = formats, .standard = "auto",
     .help = "set the format of the file", .group = "format"},
    {"separator", OPTION_OTHER, AT(options.separator), .read = reader_read_char,
     .given = AT(options.has_separator), .value = "C", .default_text = "detected",
     .help = "csv: set the separator: one character, or tab, comma, space, pipe, semicolon"},
    {"header", OPTION_CHOICE, AT(options.header), .words = headers, .given = AT(options.has_header),
     .help = "csv: say whether the first line names the columns", .default_text = "detected"},
    {"label", OPTION_TEXT, AT(options.label), .value = "COLUMN", .group = "label and split",
     .default_text = "detected",
     .help = "predict this column: a name, or a position from 1 if there is no header"},
    {"positive", OPTION_TEXT, AT(options.positive), .value = "VALUE",
     .help = "treat this value of the label as 1"},
    {"split", OPTION_CHOICE, AT(options.split), .words = splits, .standard = "auto",
     .help = "choose the test rows: the last ones in time (auto, if there is a column of "
             "times), or random ones"},
    {"time", OPTION_TEXT, AT(options.time), .value = "COLUMN", .help = "use this column of times",
     .default_text = "detected"},
    {"weight", OPTION_TEXT, AT(options.weight), .value = "COLUMN",
     .help = "weigh rows by this column, which is no feature then"},
    {"share", OPTION_REAL, AT(options.share), .low = 0, .high = 1, .value = "X", .standard = "0.1",
     .help = "set the share of the rows that are for the test, and the same again for validation"},
    {"seed", OPTION_LONG, AT(options.seed), .value = "N", .standard = "1",
     .help = "seed the choice of test rows, and runner.seed of the config"},
    {"min-count", OPTION_LONG, AT(options.min_count), .low = 1, .high = INT64_MAX, .value = "N",
     .group = "values", .default_text = "2, 4 or 10, by the number of rows",
     .help = "let values of a category in fewer than N training rows share one id"},
    {"model", OPTION_TEXT, AT(options.model), .value = "MODEL", .standard = "rank/deepfm",
     .help = "set the network", .group = "model"},
    {0}};

const struct command command_init = {
    .name = "init",
    .summary = "inspect your own table and write a config that trains on it",
    .usage = "FILE [--label COLUMN] [--positive VALUE] [-o DIR]",
    .text =
        "Inspects a CSV, TSV, libsvm or libffm file and prints what it found: separator, header, "
        "types, missing values, the label. It splits the rows 8:1:1 into DIR/train, DIR/valid and "
        "DIR/test, "
        "takes quantiles of numbers and the values of categories from the training rows, and "
        "writes DIR/config.yaml, which validates after every epoch, stops early and keeps the best "
        "epoch. `skiff train DIR/config.yaml`, `skiff infer "
        "DIR/config.yaml` and `skiff predict DIR/config.yaml --input NEW` then work at once.",
    .examples = "skiff init clicks.csv\n"
                "skiff init clicks.csv --label clicked --positive yes --split time -o job",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows, .first = "data"},
    .args_size = sizeof(struct init_args),
    .run = run};
