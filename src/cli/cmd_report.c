/* skiff report: pages of one run or several side by side, from what the runs have left. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/plural.h"
#include "cli/command.h"
#include "report/report.h"
#include "store/file.h"

struct report_flags {
    const char *output;
};

static enum skiff_status write_page(const char *path, const struct buf *html,
                                    struct skiff_error *err)
{
    if (strcmp(path, "-"))
        return file_write(path, html->data, html->len, err);
    if (fwrite(html->data, 1, html->len, stdout) != html->len || fflush(stdout))
        return error_set_sys(err, "standard output");
    return SKIFF_OK;
}

static enum skiff_status make_page(struct run_report *reports, char **words, int n,
                                   const char *output, struct skiff_error *err)
{
    const struct run_report *runs[REPORT_MAX_RUNS];
    struct buf html = BUF_INIT;
    for (int i = 0; i < n; i++) {
        TRY(report_read(words[i], &reports[i], err));
        reports[i].label = run_text(&reports[i], words[i]);
        runs[i] = &reports[i];
    }
    report_html(runs, n, &html);
    enum skiff_status status = write_page(output, &html, err);
    buf_deinit(&html);
    return status;
}

static int run(const struct command_call *call)
{
    const struct report_flags *flags = call->args;
    struct run_report reports[REPORT_MAX_RUNS];
    struct skiff_error err = {0};
    int n = call->nwords;
    if (n < 1)
        return command_usage(call->name, "at least one RUN is needed: a folder of models with a "
                                         "report.json, or such a file");
    if (n > REPORT_MAX_RUNS)
        return command_usage(call->name, "at most %d runs fit on a page, %d are given",
                             REPORT_MAX_RUNS, n);
    for (int i = 0; i < n; i++)
        run_report_init(&reports[i]);
    enum skiff_status status = make_page(reports, call->words, n, flags->output, &err);
    for (int i = 0; i < n; i++)
        run_report_deinit(&reports[i]);
    if (status < 0)
        return command_fail(call->name, &err);
    if (strcmp(flags->output, "-"))
        printf("%s: %d run%s\n", flags->output, n, plural(n));
    return 0;
}

static const struct option rows[] = {{"output", OPTION_TEXT, offsetof(struct report_flags, output),
                                      .value = "FILE", .standard = "skiff-report.html",
                                      .help = "write the page to FILE; -: standard output"},
                                     {0}};

const struct command command_report = {
    .name = "report",
    .summary = "compare runs on one page: learning curves, calibration, speed, configs",
    .usage = "RUN... [--output FILE]",
    .text =
        "Makes one page of several runs: their learning curves in one plot, results, calibration, "
        "speed, and the differences of their configs. A RUN is a folder of models "
        "(runner.model_save_path) with the report.json of skiff train, or such a file; --json of "
        "skiff train and infer writes one, too. The page works offline. For one RUN, it "
        "is the report.html that skiff train writes. docs/guide/report.md describes the "
        "numbers.",
    .examples = "skiff report model_sgd model_adam --output compare.html",
    .group = COMMAND_INSPECT,
    .options = &(const struct options){.rows = rows, .words = "RUN..."},
    .args_size = sizeof(struct report_flags),
    .run = run};
