/* skiff prepare: splits rows into train/ and valid/ and writes statistics of the training rows to
 * stats. The split depends on --seed, so repeated runs give the same files. Raw Criteo rows are
 * read by prepare/criteo.h, tables by prepare/prepare.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/prepare_show.h"
#include "prepare/criteo.h"
#include "data/reader.h"

static void print_stats(const struct criteo_stats *s)
{
    printf("\n%-5s %10s %12s %12s %12s %12s\n", "", "missing", "min", "q95", "max", "mean");
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        const struct number_stats *n = &s->numbers[i];
        printf("I%-4d %8.1f %% %12g %12g %12g %12.4g\n", i + 1,
               s->rows ? 100.0 * (double)n->missing / (double)s->rows : 0.0, n->min, n->q95, n->max,
               n->mean);
    }
    printf("\n%-5s %10s %12s %12s %12s %12s\n", "", "missing", "distinct", "once", "ten or more",
           "top");
    for (int i = 0; i < CRITEO_CATEGORIES; i++) {
        const struct category_stats *c = &s->categories[i];
        printf("C%-4d %8.1f %% %11" PRId64 "%s %12" PRId64 " %12" PRId64 " %10.1f %%\n", i + 1,
               s->rows ? 100.0 * (double)c->missing / (double)s->rows : 0.0, c->distinct,
               c->more ? "+" : " ", c->once, c->often,
               s->rows ? 100.0 * (double)c->top / (double)s->rows : 0.0);
    }
}

struct prepare_flags {
    const char *out;
    double share, quantile;
    int64_t seed, bad, idle_lines, unpack_ratio;
    bool stats_only;
    int format;
    const char *label, *positive;
    char separator;
    int header;
    bool has_separator, has_header;
};

/* In the order of `formats`. */
enum { FORMAT_CRITEO, FORMAT_CSV, FORMAT_LIBSVM, FORMAT_LIBFFM };
static const char *const formats[] = {"criteo",    "csv",       "libsvm",    "libffm",
                                      "slot_text", "sign_slot", "multislot", NULL};

/* What the flags are for a table. */
static struct prepare_options table_flags(const struct prepare_flags *f)
{
    enum look_format format =
        f->format <= FORMAT_LIBFFM ? (enum look_format)(f->format - FORMAT_CSV) : LOOK_LINES;
    return (struct prepare_options){.out = f->out,
                                    .label = f->label,
                                    .positive = f->positive,
                                    .separator = f->separator,
                                    .header = f->header,
                                    .has_separator = f->has_separator,
                                    .has_header = f->has_header,
                                    .format = 1 + (int)format,
                                    .split = 1,
                                    .share = f->share,
                                    .seed = f->seed,
                                    .label_optional = true};
}

static enum skiff_status prepare(const struct prepare_flags *f, char **names, int n,
                                 struct criteo_report *r, struct skiff_error *err)
{
    struct file_list files;
    struct bad_lines bad;
    enum skiff_status status = SKIFF_OK;
    file_list_init(&files);
    bad_lines_init(&bad, f->bad);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        status = file_list_expand(&files, names[i], err);
    const struct criteo_config config = {.files = &files,
                                         .out = f->out,
                                         .share = f->stats_only ? -1 : f->share,
                                         .quantile = f->quantile,
                                         .seed = (uint64_t)f->seed,
                                         .idle_lines = f->idle_lines,
                                         .unpack_ratio = f->unpack_ratio,
                                         .bad = &bad,
                                         .stop = interrupt_watch()};
    if (status == SKIFF_OK)
        status = criteo_run(&config, r, err);
    file_list_deinit(&files);
    bad_lines_deinit(&bad);
    return status;
}

static void show_table(const struct prepare *r, const struct split_report *report, const char *out)
{
    printf("%s: %" PRId64 " rows for training, %" PRId64 " for validation, %" PRId64
           " bad line%s, %" PRId64 " without a label\n",
           out, report->train.rows, report->test.rows, r->look.bad, plural(r->look.bad),
           report->unlabelled);
    if (r->plan.learns)
        printf("%s/stats: %" PRId64 " ids of %d column%s (runner.input_stats, "
               "hyper_parameters.sparse_feature_number)\n",
               out, columns_ids(&report->columns), report->columns.count,
               plural(report->columns.count));
}

static enum skiff_status prepare_table(const struct prepare_options *f, char **names, int n,
                                       int64_t bad, struct skiff_error *err)
{
    struct prepare r;
    struct prepare_shown shown;
    struct prepare_events events = prepare_show_events(&shown, "prepare");
    struct split_report report = {0};
    enum skiff_status status = prepare_open(&r, &events, f, names, n, err);
    if (status == SKIFF_OK && bad >= 0 && r.look.bad > bad)
        status = error_set(
            err, SKIFF_FORMAT,
            "%" PRId64 " row%s cannot be read; --bad N skips up to N of them, --bad -1 any number",
            r.look.bad, plural(r.look.bad));
    if (status == SKIFF_OK) {
        prepare_show_table(&r.plan, &r.files);
        printf("\n");
        status = prepare_data(&r, f, &report, err);
    }
    prepare_show_clear(&shown);
    if (status == SKIFF_OK)
        show_table(&r, &report, f->out);
    columns_deinit(&report.columns);
    prepare_close(&r);
    return status;
}

static int run(const struct command_call *call)
{
    const struct prepare_flags *f = call->args;
    struct criteo_report r;
    struct skiff_error err = {0};
    if (!f->out || !call->nwords)
        return command_usage(call->name, "--out DIR and at least one FILE are needed");
    if (f->share <= 0 || f->share >= 1 || f->quantile <= 0)
        return command_usage(call->name, "--share and --quantile lie between 0 and 1");
    if (f->format != FORMAT_CRITEO) {
        const struct prepare_options table = table_flags(f);
        if (f->stats_only)
            return command_usage(call->name, "--stats is for --format criteo");
        return prepare_table(&table, call->words, call->nwords, f->bad, &err) < 0
                   ? command_fail(call->name, &err)
                   : 0;
    }
    if (prepare(f, call->words, call->nwords, &r, &err) < 0)
        return command_fail(call->name, &err);
    printf("%s: %" PRId64 " rows for training, %" PRId64 " for validation, %" PRId64
           " bad lines; %.1f %% clicks\n",
           f->out, r.train, r.valid, r.bad,
           r.stats.rows ? 100.0 * (double)r.stats.clicks / (double)r.stats.rows : 0.0);
    print_stats(&r.stats);
    return 0;
}

static const char *const headers[] = {"no", "yes", NULL};

#define AT(field) offsetof(struct prepare_flags, field)

static const struct option rows[] = {
    {"out", OPTION_TEXT, AT(out), .value = "DIR", .group = "output",
     .help = "write train/, valid/ and stats to DIR"},
    {"stats", OPTION_BOOL, AT(stats_only), .help = "write only stats, no rows"},
    {"share", OPTION_REAL, AT(share), .low = 0, .high = 1, .value = "X", .standard = "0.1",
     .help = "set the share of the rows that go to valid/"},
    {"quantile", OPTION_REAL, AT(quantile), .low = 0, .high = 1, .value = "X", .standard = "0.95",
     .help = "use this quantile as the upper end of a column of numbers"},
    {"seed", OPTION_LONG, AT(seed), .value = "N", .standard = "1",
     .help = "seed the split of the rows"},
    {"format", OPTION_CHOICE, AT(format), .words = formats, .standard = "criteo",
     .help = "set the format of the files", .group = "format"},
    {"label", OPTION_TEXT, AT(label), .value = "COLUMN",
     .help = "csv: name the label, which gets no statistics; rows without a label are dropped"},
    {"positive", OPTION_TEXT, AT(positive), .value = "VALUE",
     .help = "csv: treat this value of the label as 1"},
    {"separator", OPTION_OTHER, AT(separator), .read = reader_read_char, .given = AT(has_separator),
     .value = "C", .help = "csv: set the separator", .default_text = "detected"},
    {"header", OPTION_CHOICE, AT(header), .words = headers, .given = AT(has_header),
     .help = "csv: say whether the first line names the columns", .default_text = "detected"},
    {"bad", OPTION_LONG, AT(bad), .low = -1, .high = INT64_MAX, .value = "N", .standard = "0",
     .help = "skip up to N bad lines; -1: any number", .group = "limits"},
    {"idle-lines", OPTION_LONG, AT(idle_lines), .low = -1, .high = INT64_MAX, .value = "N",
     .standard = "10000000",
     .help = "refuse a file that begins with N bad lines and no row; -1: no limit"},
    {"unpack-ratio", OPTION_LONG, AT(unpack_ratio), .low = -1, .high = 1 << 30, .value = "N",
     .standard = "200",
     .help = "refuse a compressed file whose content exceeds 64 MB and N times its size; "
             "-1: no limit"},
    {0}};

const struct command command_prepare = {
    .name = "prepare",
    .summary = "split rows for training and validation, compute quantiles and vocabulary",
    .usage = "[--format FORM] --out DIR FILE...",
    .text = "Splits rows 9:1 into DIR/train and DIR/valid and computes statistics of the training "
            "rows. For raw "
            "Criteo rows these are minimum, 95 % quantile and vocabulary; a config uses them with "
            "runner.input_normalise: quantile and runner.input_stats: DIR/stats. For CSV, and for "
            "libsvm "
            "with values other than 1, they are quantiles, buckets and ids of columns, which "
            "a config uses in the same way (docs/guide/data.md). The other formats already contain "
            "ids: their rows are "
            "split unchanged. `skiff init` does the same and also writes the config.",
    .examples = "skiff prepare --out data day_0.gz day_1.gz\n"
                "skiff prepare --format csv --label clicked --out data clicks.csv",
    .group = COMMAND_DATA,
    .options = &(const struct options){.rows = rows, .words = "FILE..."},
    .args_size = sizeof(struct prepare_flags),
    .run = run};
