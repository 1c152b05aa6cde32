/* skiff replay: proves that a network computes here what it computed in Paddle (src/replay). */
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "replay/find.h"
#include "replay/run.h"

struct replay_count {
    int passed, failed, expected;
    bool verbose;
};

static void print_report(const char *dir, const char *how, const struct buf *report)
{
    const char *line = report->data;
    for (int shown = 0; line && *line && shown < 5; shown++) {
        const char *end = strchr(line, '\n');
        printf("FAIL %s%s: %.*s\n", dir, how, (int)(end - line), line);
        line = end + 1;
    }
    if (line && *line)
        printf("FAIL %s%s: ... further differences not shown\n", dir, how);
}

/* A case that cannot be run: listed like the others, and the reason stands on stderr, too. */
static void report_broken(const char *dir, const char *how, const struct skiff_error *err,
                          struct replay_count *t)
{
    printf("FAIL %s%s: %s\n", dir, how, err->message);
    fflush(stdout);
    fprintf(stderr, "skiff replay: %s%s: %s\n", dir, how, err->message);
    t->failed++;
}

/* shown: what the case is called in messages. */
static void replay_one(const char *dir, const char *shown, const struct replay_options *options,
                       struct replay_count *t)
{
    struct skiff_error err = {0};
    struct replay_case c;
    struct replay_result result = {0};
    struct buf report = BUF_INIT;
    const char *how = options->no_fuse ? " (unfused)" : "";
    if (replay_case_open(dir, &c, &err) < 0) {
        report_broken(shown, how, &err, t);
        return;
    }
    if (replay_run(&c, options, &result, &report, &err) < 0) {
        report_broken(shown, how, &err, t);
    } else if (result.differences && replay_known_defect(dir, c.quirk)) {
        printf("note %s%s: differs from Paddle as intended: %s (docs/reference/differences.md)\n",
               shown, how, replay_known_defect(dir, c.quirk));
        t->passed++;
        t->expected++;
    } else if (result.differences) {
        print_report(shown, how, &report);
        t->failed++;
    } else if (!result.compared) {
        printf("FAIL %s%s: the case holds no recorded value to compare\n", shown, how);
        t->failed++;
    } else {
        if (t->verbose)
            printf("ok   %s%s: %d value%s\n", shown, how, result.compared, plural(result.compared));
        t->passed++;
    }
    buf_deinit(&report);
    replay_case_close(&c);
}

struct replay_flags {
    bool unfused, both, verbose;
    const char *allow_ops, *allow_dir;
};

struct replaying {
    const struct replay_flags *flags;
    struct replay_count count;
};

static void replay_case_both(void *arg, const char *dir, const char *shown)
{
    struct replaying *r = arg;
    const struct replay_flags *f = r->flags;
    struct replay_options options = {.allow_ops = f->allow_ops, .allow_dir = f->allow_dir};
    if (f->both || !f->unfused)
        replay_one(dir, shown, &options, &r->count);
    options.no_fuse = true;
    if (f->both || f->unfused)
        replay_one(dir, shown, &options, &r->count);
}

static int run(const struct command_call *call)
{
    const struct replay_flags *f = call->args;
    struct replaying r = {.flags = f, .count.verbose = f->verbose};
    const struct replay_count *t = &r.count;
    struct skiff_error err = {0};
    if (!call->nwords)
        return command_usage(call->name, "no case given");
    struct replay_finder finder = {
        .on_case = replay_case_both, .arg = &r, .stop = interrupt_watch()};
    for (int i = 0; i < call->nwords; i++)
        if (replay_find(call->words[i], &finder, &err) < 0)
            return command_fail("replay", &err);
    if (interrupt_wanted()) {
        fprintf(stderr, "skiff replay: stopped; %d passed, %d failed so far\n", t->passed,
                t->failed);
        return 1;
    }
    if (t->expected)
        printf("%d of the cases that passed differ from Paddle as intended\n", t->expected);
    printf("%d passed, %d failed\n", t->passed, t->failed);
    return t->failed ? 1 : 0;
}

#define AT(field) offsetof(struct replay_flags, field)

static const struct option rows[] = {
    {"unfused", OPTION_BOOL, AT(unfused), .help = "run the programs op by op, without fusion"},
    {"both", OPTION_BOOL, AT(both), .help = "run every case fused and unfused (counts twice)"},
    {"verbose", OPTION_BOOL, AT(verbose), .letter = 'v', .help = "print a line for every case"},
    {"allow_ops", OPTION_TEXT, AT(allow_ops), .value = "LIST",
     .help = "allow these ops to read or write files, as save,load; others are refused"},
    {"allow_dir", OPTION_TEXT, AT(allow_dir), .value = "DIR",
     .help = "confine the files of these ops to DIR"},
    {0}};

const struct command command_replay = {
    .name = "replay",
    .summary = "run recorded cases and compare every value with real Paddle's",
    .usage = "[--unfused | --both] [-v] [--allow-ops LIST --allow-dir DIR] CASE...",
    .text = "Runs recorded cases and compares every recorded value. CASE is a folder with a "
            "case.txt, a folder that contains cases at any depth, or an archive of such a folder "
            "(x.tar, x.tar.gz, .zst, .lz4, .xz); archives in a folder are read, too. They are "
            "unpacked into a private temporary folder ($TMPDIR, /tmp), which is removed "
            "afterwards. Links, "
            "and names that lead out of the archive, are refused. tools/record_paddle.py records "
            "such cases "
            "from your own program on real Paddle (docs/guide/record.md). The last line is "
            "\"N passed, M failed\"; the exit status is 1 if a case failed.",
    .examples = "skiff replay mycase.tar.xz\n"
                "skiff replay --both -v cases/",
    .group = COMMAND_INSPECT,
    .options = &(const struct options){.rows = rows, .words = "CASE..."},
    .args_size = sizeof(struct replay_flags),
    .run = run};
