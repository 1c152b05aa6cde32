/* skiff prepare: raw Criteo files to train/, valid/ and stats. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "data/prepare.h"

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
    int64_t seed, bad;
    bool stats_only;
};

static enum skiff_status prepare(const struct prepare_flags *f, const char **names, int n,
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
                                          .bad = &bad,
                                          .stop = interrupt_watch()};
    if (status == SKIFF_OK)
        status = prepare_run(&config, r, err);
    file_list_deinit(&files);
    bad_lines_deinit(&bad);
    return status;
}

int cmd_prepare(int argc, char **argv)
{
    struct prepare_flags f = {.share = 0.1, .quantile = 0.95, .seed = 1};
    const struct flag flags[] = {
        {"--out", FLAG_TEXT, &f.out, "folder: train/, valid/ and stats are made in it"},
        {"--share", FLAG_REAL, &f.share, "of the rows that go to valid/ (0.1)"},
        {"--quantile", FLAG_REAL, &f.quantile, "that stands for the largest number (0.95)"},
        {"--seed", FLAG_INT, &f.seed, "which rows go where (1)"},
        {"--bad", FLAG_INT, &f.bad, "bad lines to leave out (0; -1: any number)"},
        {"--stats", FLAG_SET, &f.stats_only, "only stats, no rows"},
        {0}};
    struct prepare_report r;
    struct skiff_error err = {0};
    const char **names = mem_must((size_t)argc * sizeof(*names));
    int n = 0;
    bool help;
    int status = flags_parse(argc, argv, flags, names, &n, &help);
    if (help) {
        printf(
            "usage: skiff prepare --out DIR FILE...\n\n"
            "Splits raw Criteo rows 9:1 into training and validation rows and learns minimum,\n"
            "95 %% quantile and vocabulary of the training rows. A config takes the result with\n"
            "runner.input_normalise: quantile and runner.input_stats: DIR/stats.\n\n");
        flags_print(flags);
    } else if (!status && (!f.out || !n)) {
        status = command_usage("prepare", "--out DIR and at least one FILE are needed");
    } else if (!status && (f.share <= 0 || f.share >= 1 || f.quantile <= 0 || f.quantile > 1)) {
        status = command_usage("prepare", "--share and --quantile lie between 0 and 1");
    } else if (!status && prepare(&f, names, n, &r, &err) < 0) {
        status = command_fail("prepare", &err);
    } else if (!status) {
        printf("%s: %" PRId64 " rows for training, %" PRId64 " for validation, %" PRId64
               " bad lines; %.1f %% clicks\n",
               f.out, r.train, r.valid, r.bad,
               r.stats.rows ? 100.0 * (double)r.stats.clicks / (double)r.stats.rows : 0.0);
        print_stats(&r.stats);
    }
    free(names);
    return status;
}
