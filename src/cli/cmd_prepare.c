/* skiff prepare: rows to train/ and valid/, and what is learnt from them to stats. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/prepare_table.h"
#include "data/prepare.h"
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

/* What the flags are to the parts of init. */
static struct init_flags table_flags(const struct prepare_flags *f)
{
    enum look_format format =
        f->format <= FORMAT_LIBFFM ? (enum look_format)(f->format - FORMAT_CSV) : LOOK_LINES;
    return (struct init_flags){.out = f->out,
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
                                 struct prepare_report *r, struct skiff_error *err)
{
    struct file_list files;
    struct bad_lines bad;
    enum skiff_status status = SKIFF_OK;
    file_list_init(&files);
    bad_lines_init(&bad, f->bad);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        status = file_list_expand(&files, names[i], err);
    const struct prepare_config config = {.files = &files,
                                          .out = f->out,
                                          .share = f->stats_only ? -1 : f->share,
                                          .quantile = f->quantile,
                                          .seed = (uint64_t)f->seed,
                                          .idle_lines = f->idle_lines,
                                          .unpack_ratio = f->unpack_ratio,
                                          .bad = &bad,
                                          .stop = interrupt_watch()};
    if (status == SKIFF_OK)
        status = prepare_run(&config, r, err);
    file_list_deinit(&files);
    bad_lines_deinit(&bad);
    return status;
}

static int run(const struct command_call *call)
{
    const struct prepare_flags *f = call->args;
    struct prepare_report r;
    struct skiff_error err = {0};
    if (!f->out || !call->nwords)
        return command_usage(call->name, "--out DIR and at least one FILE are needed");
    if (f->share <= 0 || f->share >= 1 || f->quantile <= 0)
        return command_usage(call->name, "--share and --quantile lie between 0 and 1");
    if (f->format != FORMAT_CRITEO) {
        const struct init_flags table = table_flags(f);
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
    {"out", OPTION_TEXT, AT(out), .value = "DIR",
     .help = "folder: train/, valid/ and stats are made in it"},
    {"share", OPTION_REAL, AT(share), .low = 0, .high = 1, .value = "X", .standard = "0.1",
     .help = "of the rows that go to valid/"},
    {"quantile", OPTION_REAL, AT(quantile), .low = 0, .high = 1, .value = "X", .standard = "0.95",
     .help = "that stands for the largest number"},
    {"seed", OPTION_LONG, AT(seed), .value = "N", .standard = "1", .help = "which rows go where"},
    {"bad", OPTION_LONG, AT(bad), .low = -1, .high = INT64_MAX, .value = "N", .standard = "0",
     .help = "bad lines to leave out; -1: any number"},
    {"idle-lines", OPTION_LONG, AT(idle_lines), .low = -1, .high = INT64_MAX, .value = "N",
     .standard = "10000000",
     .help = "a file that begins with so many bad lines and no row is refused; -1: any number"},
    {"unpack-ratio", OPTION_LONG, AT(unpack_ratio), .low = -1, .high = 1 << 30, .value = "N",
     .standard = "200",
     .help = "compressed content of more than so many times its size, beyond 64 MB, is refused; "
             "-1: any"},
    {"stats", OPTION_BOOL, AT(stats_only), .help = "only stats, no rows"},
    {"format", OPTION_CHOICE, AT(format), .words = formats, .standard = "criteo",
     .help = "of the files"},
    {"label", OPTION_TEXT, AT(label), .value = "COLUMN",
     .help = "csv: the label, of which nothing is learnt; rows without one are left out"},
    {"positive", OPTION_TEXT, AT(positive), .value = "VALUE", .help = "csv: the label that is 1"},
    {"separator", OPTION_OTHER, AT(separator), .read = reader_read_char, .given = AT(has_separator),
     .value = "C", .help = "csv: between columns; it is found out when nobody says it"},
    {"header", OPTION_CHOICE, AT(header), .words = headers, .given = AT(has_header),
     .help = "csv: whether the first line names the columns; it is found out, too"},
    {0}};

const struct command command_prepare = {
    .name = "prepare",
    .summary = "split rows, learn quantiles and vocabulary",
    .usage = "[--format FORM] --out DIR FILE...",
    .text = "Splits rows 9:1 into DIR/train and DIR/valid and learns from the training rows. Raw "
            "Criteo rows: minimum, 95 % quantile and vocabulary; a config takes the result with "
            "runner.input_normalise: quantile and runner.input_stats: DIR/stats. CSV, and libsvm "
            "with values other than 1: quantiles, buckets and ids of columns (docs/data.md), which "
            "a config takes in the same way. The other forms have their ids already: rows are "
            "split, as they are. `skiff init` does the same and writes the config, too.",
    .options = &(const struct options){.rows = rows, .words = "FILE..."},
    .args_size = sizeof(struct prepare_flags),
    .run = run};
