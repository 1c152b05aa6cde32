/* skiff init: from a table to a config that trains on it (src/prepare). */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/prepare_show.h"
#include "data/reader.h"

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

static int run(const struct command_call *call)
{
    const struct init_args *a = call->args;
    struct skiff_error err = {0};
    if (!a->data || !a->options.out)
        return command_usage(call->name, "--data FILE and --out DIR are needed");
    if (strcmp(a->data, "-") == 0)
        return command_usage(call->name,
                             "--data is a pipe: the rows are read twice, so give a file");
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
    {"out", OPTION_TEXT, AT(options.out), .value = "DIR",
     .help = "write config.yaml, train/, valid/, test/ and columns.stats to DIR"},
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
    {"model", OPTION_TEXT, AT(options.model), .value = "NAME", .standard = "rank/deepfm",
     .help = "set the network", .group = "model"},
    {0}};

const struct command command_init = {
    .name = "init",
    .summary = "inspect your own table and write a config that trains on it",
    .usage = "--data FILE [--label COLUMN] [--positive VALUE] --out DIR",
    .text =
        "Inspects a CSV, TSV, libsvm or libffm file and prints what it found: separator, header, "
        "types, missing values, the label. It splits the rows 8:1:1 into DIR/train, DIR/valid and "
        "DIR/test, "
        "takes quantiles of numbers and the values of categories from the training rows, and "
        "writes DIR/config.yaml, which validates after every epoch, stops early and keeps the best "
        "epoch. `skiff train -m DIR/config.yaml`, `skiff infer -m "
        "DIR/config.yaml` and `skiff predict -m DIR/config.yaml --input NEW` then work at once.",
    .examples =
        "skiff init --data clicks.csv --out job\n"
        "skiff init --data clicks.csv --label clicked --positive yes --split time --out job",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct init_args),
    .run = run};
