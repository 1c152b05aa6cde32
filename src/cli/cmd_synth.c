/* skiff synth: Criteo-shaped rows from a planted model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "prepare/synth.h"
#include "store/file.h"

struct synth_flags {
    int64_t rows, test_rows, files, seed, first;
    bool has_test_rows;
    const char *out;
};

static enum skiff_status write_part(const struct synth_flags *f, const char *name, int64_t first,
                                    int64_t rows, int64_t files, struct skiff_error *err)
{
    struct buf dir = BUF_INIT;
    struct synth_report r;
    buf_printf(&dir, "%s/%s", f->out, name);
    const struct synth_config config = {.seed = (uint64_t)f->seed,
                                        .first = first,
                                        .rows = rows,
                                        .files = (int)files,
                                        .dir = dir.data};
    enum skiff_status status = file_make_parents(dir.data, err);
    if (status == SKIFF_OK)
        status = synth_write(&config, &r, err);
    if (status == SKIFF_OK)
        printf("%s: %" PRId64 " rows, %.1f %% clicks, %.1f MB; no model can reach more than AUC "
               "%.4f (log loss %.4f) on such rows; on these, the planted model has AUC %.4f\n",
               dir.data, r.rows, r.rows ? 100.0 * (double)r.clicks / (double)r.rows : 0.0,
               1e-6 * (double)r.bytes, r.best_auc, r.best_log_loss, r.drawn_auc);
    buf_deinit(&dir);
    return status;
}

static int run(const struct command_call *call)
{
    const struct synth_flags *f = call->args;
    struct skiff_error err = {0};
    if (!f->out)
        return command_usage(call->name, "--out DIR is needed");
    int64_t test = f->has_test_rows ? f->test_rows : f->rows / 10;
    if (write_part(f, "train", f->first, f->rows, f->files, &err) < 0 ||
        (test && write_part(f, "test", f->first + f->rows, test, 1, &err) < 0))
        return command_fail(call->name, &err);
    return 0;
}

#define AT(field) offsetof(struct synth_flags, field)
#define COUNT .low = 0, .high = INT64_MAX

static const struct option rows[] = {
    {"out", OPTION_TEXT, AT(out), .value = "DIR", .help = "write train/ and test/ to DIR"},
    {"rows", OPTION_LONG, AT(rows), COUNT, .value = "N", .standard = "1000000",
     .help = "write N rows for training"},
    {"test-rows", OPTION_LONG, AT(test_rows), COUNT, .value = "N", .given = AT(has_test_rows),
     .help = "write N rows for testing", .default_text = "a tenth of --rows"},
    {"files", OPTION_LONG, AT(files), .low = 1, .high = 100000, .value = "N", .standard = "2",
     .help = "write N training files; use at least one for each thread"},
    {"seed", OPTION_LONG, AT(seed), .value = "N", .standard = "1",
     .help = "seed the planted model and the rows"},
    {"first", OPTION_LONG, AT(first), COUNT, .value = "N", .standard = "0",
     .help = "set the number of the first row"},
    {0}};

const struct command command_synth = {
    .name = "synth",
    .summary = "write Criteo-shaped rows of a planted model, whose best possible AUC is known",
    .usage = "--out DIR [--rows N]",
    .text = "Writes rows in the form of Criteo (label, 13 numbers, 26 categories) whose clicks are "
            "drawn from "
            "a planted model, and prints the best AUC that any model can reach.",
    .examples = "skiff synth --out data --rows 100000",
    .group = COMMAND_DATA,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct synth_flags),
    .run = run};
