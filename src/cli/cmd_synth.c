/* skiff synth: Criteo-shaped rows from a planted model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "data/synth.h"
#include "store/file.h"

struct synth_flags {
    int64_t rows, test_rows, files, seed, first;
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
               "%.4f (log loss %.4f) on such rows; on these, the planted one has AUC %.4f\n",
               dir.data, r.rows, r.rows ? 100.0 * (double)r.clicks / (double)r.rows : 0.0,
               1e-6 * (double)r.bytes, r.best_auc, r.best_log_loss, r.drawn_auc);
    buf_deinit(&dir);
    return status;
}

int cmd_synth(int argc, char **argv)
{
    struct synth_flags f = {.rows = 1000000, .test_rows = -1, .files = 2, .seed = 1};
    const struct flag flags[] = {
        {"--rows", FLAG_INT, &f.rows, "rows for training (1000000)"},
        {"--test-rows", FLAG_INT, &f.test_rows, "rows for testing (a tenth of them)"},
        {"--out", FLAG_TEXT, &f.out, "folder; train/ and test/ are made in it"},
        {"--files", FLAG_INT, &f.files, "files for training (2): at least one a thread"},
        {"--seed", FLAG_INT, &f.seed, "of the planted model and the rows (1)"},
        {"--first", FLAG_INT, &f.first, "number of the first row (0)"},
        {0}};
    struct skiff_error err = {0};
    bool help;
    int status = flags_parse(argc, argv, flags, NULL, NULL, &help);
    if (status || help) {
        if (help) {
            printf(
                "usage: skiff synth --out DIR [--rows N]\n\n"
                "Writes rows like Criteo's (label, 13 numbers, 26 values) whose clicks are drawn\n"
                "from a planted model, and tells the best AUC that any model can reach.\n\n");
            flags_print(flags);
        }
        return status;
    }
    if (!f.out)
        return command_usage("synth", "--out DIR is needed");
    if (f.rows < 0 || f.files < 1 || f.files > 100000 || f.first < 0)
        return command_usage("synth", "rows and numbers must not be negative, files at least 1");
    int64_t test = f.test_rows < 0 ? f.rows / 10 : f.test_rows;
    if (write_part(&f, "train", f.first, f.rows, f.files, &err) < 0 ||
        (test && write_part(&f, "test", f.first + f.rows, test, 1, &err) < 0))
        return command_fail("synth", &err);
    return 0;
}
