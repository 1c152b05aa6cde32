/* skiff replay: proves that a network computes here what it computed in Paddle.
 *
 * This file finds the cases (folders with a case.txt, or archives of them), counts and prints;
 * replay_run.c runs one. Deviations that are intended are listed in a table here, with their
 * reason: such a case passes and is counted separately. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/replay_run.h"
#include "store/file.h"

/* What Paddle does in these recorded cases is a defect; Skiff does the right thing
 * (docs/reference/differences.md). */
static const char *const defects[] = {
    "a zero tensor gives NaN",
    "no label counts: 0/0 = NaN",
    "rows are looked up by binary search in a list that is not sorted",
};

/* The same for recorded cases that do not say so themselves. */
static const struct {
    const char *name, *defect;
} defect_cases[] = {
    {"ops26/gather/axis1", "the gradient along an axis other than 0 repeats its first block"},
    {"ops26/reduce_prod/zeros", "the gradient is NaN where an element is 0"},
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* What is wrong with the recorded values, or NULL. */
static const char *known_defect(const char *dir, const char *quirk)
{
    for (size_t i = 0; quirk && i < sizeof(defects) / sizeof(defects[0]); i++)
        if (!strncmp(quirk, defects[i], strlen(defects[i])))
            return quirk;
    char *full = realpath(dir, NULL); /* the case may have been named from inside its folder */
    const char *found = NULL;
    for (size_t i = 0; full && i < sizeof(defect_cases) / sizeof(defect_cases[0]); i++)
        if (ends_with(full, defect_cases[i].name))
            found = defect_cases[i].defect;
    free(full);
    return found;
}

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
    } else if (result.differences && known_defect(dir, c.quirk)) {
        printf("note %s%s: differs from Paddle as intended: %s (docs/reference/differences.md)\n",
               shown, how, known_defect(dir, c.quirk));
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
            printf("ok   %s%s: %d values\n", shown, how, result.compared);
        t->passed++;
    }
    buf_deinit(&report);
    replay_case_close(&c);
}

static void keep(struct case_files *list, char *name)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->names = mem_grow_or_die(list->names, (size_t)list->cap * sizeof(*list->names));
    }
    list->names[list->n++] = name;
}

/* Folders below dir (or dir itself) that hold a case.txt, and archives there. */
static enum skiff_status find_cases(const char *dir, struct case_files *out,
                                    struct case_files *archives, struct skiff_error *err)
{
    struct case_files all;
    *out = *archives = (struct case_files){0};
    TRY(case_files_read(dir, &all, err));
    for (int i = 0; i < all.n; i++) {
        char *slash = strrchr(all.names[i], '/');
        if (archive_is_named(all.names[i]))
            keep(archives, mem_strdup_or_die(all.names[i]));
        if (strcmp(slash ? slash + 1 : all.names[i], "case.txt") != 0)
            continue;
        if (slash)
            *slash = 0;
        keep(out, mem_strdup_or_die(slash ? all.names[i] : "."));
    }
    case_files_deinit(&all);
    return SKIFF_OK;
}

struct replay_flags {
    bool unfused, both, verbose;
    const char *allow_ops, *allow_dir;
};

/* The cases of the folder `root`; shown: what the folder is called in messages. */
static void replay_cases(const char *root, const char *shown, const struct case_files *cases,
                         const struct replay_flags *f, struct replay_count *t)
{
    struct replay_options options = {.allow_ops = f->allow_ops, .allow_dir = f->allow_dir};
    for (int i = 0; i < cases->n && !interrupt_wanted(); i++) {
        struct buf dir = BUF_INIT, name = BUF_INIT;
        const char *form = strcmp(cases->names[i], ".") ? "%s/%s" : "%s";
        buf_printf(&dir, form, root, cases->names[i]);
        buf_printf(&name, form, shown, cases->names[i]);
        options.no_fuse = false;
        if (f->both || !f->unfused)
            replay_one(dir.data, name.data, &options, t);
        options.no_fuse = true;
        if (f->both || f->unfused)
            replay_one(dir.data, name.data, &options, t);
        buf_deinit(&dir);
        buf_deinit(&name);
    }
}

/* Unpacks into a folder that only we can see, which goes away again. *found grows by its cases. */
static enum skiff_status replay_archive(const char *path, const struct replay_flags *f,
                                        struct replay_count *t, int *found, struct skiff_error *err)
{
    struct case_files cases = {0}, inner = {0};
    const char *temp = getenv("TMPDIR");
    struct buf dir = BUF_INIT;
    buf_printf(&dir, "%s/skiff-replay-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(dir.data)) {
        buf_deinit(&dir);
        return error_set_sys(err, "%s: cannot create a temporary folder to unpack it into", path);
    }
    enum skiff_status status = archive_unpack(path, dir.data, interrupt_watch(), err);
    if (status == SKIFF_OK)
        status = find_cases(dir.data, &cases, &inner, err);
    if (status == SKIFF_OK)
        replay_cases(dir.data, path, &cases, f, t);
    *found += cases.n;
    file_remove_tree(dir.data);
    case_files_deinit(&cases);
    case_files_deinit(&inner);
    buf_deinit(&dir);
    return status;
}

static enum skiff_status replay_folder(const char *root, const struct replay_flags *f,
                                       struct replay_count *t, int *found, struct skiff_error *err)
{
    struct case_files cases, archives;
    TRY(find_cases(root, &cases, &archives, err));
    enum skiff_status status = SKIFF_OK;
    replay_cases(root, root, &cases, f, t);
    *found += cases.n;
    for (int i = 0; i < archives.n && status == SKIFF_OK && !interrupt_wanted(); i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", root, archives.names[i]);
        status = replay_archive(path.data, f, t, found, err);
        buf_deinit(&path);
    }
    case_files_deinit(&cases);
    case_files_deinit(&archives);
    return status;
}

static int replay_below(const char *root, const struct replay_flags *f, struct replay_count *t)
{
    struct skiff_error err = {0};
    enum skiff_status status;
    bool folder = file_is_dir(root);
    int found = 0;
    if (folder)
        status = replay_folder(root, f, t, &found, &err);
    else if (file_exists(root) && archive_is_named(root))
        status = replay_archive(root, f, t, &found, &err);
    else
        status =
            error_set(&err, SKIFF_NOT_FOUND,
                      "%s is not a folder: give a folder with a case.txt in it or below it, or "
                      "an archive of one (x.tar.xz)",
                      root);
    if (status == SKIFF_OK && !found && !interrupt_wanted())
        status = error_set(&err, SKIFF_NOT_FOUND,
                           folder ? "%s: no case.txt in this folder or below it, nor in an archive "
                                    "there"
                                  : "%s: no case.txt in this archive",
                           root);
    return status < 0 && !interrupt_wanted() ? command_fail("replay", &err) : 0;
}

static int run(const struct command_call *call)
{
    const struct replay_flags *f = call->args;
    struct replay_count t = {.verbose = f->verbose};
    if (!call->nwords)
        return command_usage(call->name, "no case given");
    interrupt_watch(); /* what was unpacked is removed */
    for (int i = 0; i < call->nwords; i++)
        if (replay_below(call->words[i], f, &t))
            return 1;
    if (interrupt_wanted()) {
        fprintf(stderr, "skiff replay: stopped; %d passed, %d failed so far\n", t.passed, t.failed);
        return 1;
    }
    if (t.expected)
        printf("%d of the cases that passed differ from Paddle as intended\n", t.expected);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed ? 1 : 0;
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
