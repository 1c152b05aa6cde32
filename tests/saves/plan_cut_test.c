/* save_write, killed after every file operation, for every layout that has a writer: what is found
 * afterwards (save_open, the files of the parts, the small parts in the manifest) is all of the old
 * save or all of the new one, and complete; the next save leaves nothing behind. */
#define _GNU_SOURCE
#include "save/sources.h"

#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>

#define TEMP_BASE (access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm")

#include <errno.h>

#include "base/logger.h"
#include "base/mem.h"
#include "store/test_help.h"
#include "tests/saves/cut.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIDE 5
#else
#define STRIDE 1
#endif

static const struct layout {
    const char *name;
    enum save_layout layout;
    const char *path;     /* below the test's folder */
    const char *parts[2]; /* below the save's folder */
    const char *dir;
} layouts[] = {
    {"folder", SAVE_LAYOUT_FOLDER, "m", {"__model__", "fc_0.w_0"}, "m"},
    {"epoch", SAVE_LAYOUT_FOLDER, "m/3", {"rec_static.pdparams", "rec_static.pdopt"}, "m/3"},
    {"variables", SAVE_LAYOUT_VARIABLES, "m", {"fc_0.b_0", "fc_0.w_0"}, "m"},
    {"state", SAVE_LAYOUT_STATE, "m/x", {"x.pdparams", "x.pdopt"}, "m"},
    {"prefix", SAVE_LAYOUT_PREFIX, "m/x", {"x.pdmodel", "x.pdiparams"}, "m"},
    {"tables", SAVE_LAYOUT_TABLES, "m/3", {"000/part-000-00000", "001/part-000"}, "m/3"},
};

/* A save of the n-th: its parts hold the number, and so does its position. */
struct saving {
    const struct layout *layout;
    int number;
};

static enum skiff_status write_part(const struct saving *w, int part, struct save *s,
                                    struct skiff_error *err)
{
    char text[16];
    int n = snprintf(text, sizeof text, "save %d", w->number);
    const char *name = w->layout->parts[part];
    if (w->layout->layout != SAVE_LAYOUT_TABLES)
        return model_writer_bytes(&s->files, name, text, (size_t)n, err);
    char *path = path_join(s->folder.path, name); /* as a server does */
    enum skiff_status status = file_write(path, text, (size_t)n, err);
    free(path);
    return status;
}

static enum skiff_status write_first(void *user, struct save *s, struct skiff_error *err)
{
    return write_part(user, 0, s, err);
}

static enum skiff_status write_second(void *user, struct save *s, struct skiff_error *err)
{
    return write_part(user, 1, s, err);
}

static enum skiff_status save(const struct layout *l, int number, struct skiff_error *err)
{
    struct saving w = {l, number};
    struct model_info info = {.epoch = 3, .steps = number, .complete = true, .known = true};
    struct save_source sources[] = {
        {write_first, &w}, {write_second, &w}, {save_write_position, &info}};
    return save_write(&(struct save_plan){.path = temp_path(l->path),
                                          .layout = l->layout,
                                          .info = &info,
                                          .sources = sources,
                                          .nsources = 3},
                      err);
}

static int number_in(const char *dir, const char *part)
{
    struct buf text = BUF_INIT;
    struct skiff_error err = {0};
    char *path = path_join(dir, part);
    int number = -1;
    if (file_read(path, &text, &err) < 0 || sscanf(text.data, "save %d", &number) != 1)
        fail_msg("%s: %s", path, err.message);
    buf_deinit(&text);
    free(path);
    return number;
}

/* The number of the save that is found; 0: none. */
static int found(const struct layout *l, const char *when)
{
    struct save_contents c;
    struct skiff_error err = {0};
    int batches = -1;
    if (save_open(&c, temp_path(l->path), &err) < 0)
        fail_msg("%s: %s", when, err.message);
    if (c.layout == SAVE_LAYOUT_NONE) {
        save_close(&c);
        return 0;
    }
    if (save_check(&c, true, &err) < 0)
        fail_msg("%s: %s", when, err.message);
    char *position = manifest_note_find(&c.files, "position");
    assert_non_null(position);
    assert_int_equal(sscanf(position, "{epoch: 3, batches: %d,", &batches), 1);
    free(position);
    int number = (int)c.files.note.steps;
    save_close(&c);
    assert_int_equal(batches, number);
    for (int i = 0; i < 2; i++)
        assert_int_equal(number_in(temp_path(l->dir), l->parts[i]), number);
    return number;
}

static int count_stale_files(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return strstr(path, ".skiff-") != NULL;
}

/* False: it came to its end. */
static bool killed_at(const struct layout *l, int number, long n)
{
    int how;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        cut_arm(CUT_KILL, n, 0);
        _exit(save(l, number, NULL) < 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) ? WTERMSIG(how) == SIGKILL : WEXITSTATUS(how) == 0);
    return WIFSIGNALED(how);
}

static void cut_layout(const struct layout *l, bool again)
{
    bool seen[2] = {false, false}, cut = true;
    long n;
    for (n = 1; cut; n += STRIDE) {
        char when[80];
        snprintf(when, sizeof when, "%s, %s, operation %ld", l->name, again ? "again" : "new", n);
        file_remove_tree(temp_path("m"));
        if (again)
            assert_int_equal(save(l, 1, NULL), SKIFF_OK);
        cut = killed_at(l, 2, n);
        int number = found(l, when);
        assert_true(number == 2 || (number == (int)again && cut));
        seen[number == 2] = true;
        assert_int_equal(found(l, when), number);
        assert_int_equal(save(l, 3, NULL), SKIFF_OK);
        assert_int_equal(found(l, when), 3);
        if (nftw(temp_root(), count_stale_files, 8, FTW_PHYS))
            fail_msg("%s: something is left behind", when);
    }
    assert_true(n > 5 && seen[0] && seen[1]);
}

static void killed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        cut_layout(&layouts[i], false);
        cut_layout(&layouts[i], true);
    }
}

/* A disk that is full for a while: one save_write repeats all of it, and logs it. */
struct attempts_seen {
    int checks, lines;
};

static enum skiff_status full_twice(void *user, struct skiff_error *err)
{
    struct attempts_seen *a = user;
    if (++a->checks > 2)
        return SKIFF_OK;
    error_set(err, SKIFF_IO, "no room, says attempt %d", a->checks);
    err->sys_errno = ENOSPC;
    return SKIFF_IO;
}

static void count_line(void *user, enum log_level level, const char *text)
{
    struct attempts_seen *a = user;
    char want[80];
    a->lines++;
    snprintf(want, sizeof want, "saving failed, retrying in %s s: no room, says attempt %d",
             a->lines == 1 ? "0.25" : "0.5", a->lines);
    assert_int_equal(level, LOG_WARN);
    assert_string_equal(text, want);
}

static void attempts(void **state)
{
    (void)state;
    struct attempts_seen seen = {0};
    struct logger log = {count_line, &seen};
    struct save_attempts how = {.check = full_twice, .user = &seen, .log = &log};
    struct saving w = {&layouts[0], 7};
    struct save_source sources[] = {{write_first, &w}, {write_second, &w}};
    struct save_plan plan = {.path = temp_path("attempts"),
                             .layout = SAVE_LAYOUT_FOLDER,
                             .sources = sources,
                             .nsources = 2,
                             .attempts = &how};
    assert_int_equal(save_write(&plan, NULL), SKIFF_OK);
    assert_int_equal(seen.checks, 3);
    assert_int_equal(seen.lines, 2);
    assert_int_equal(number_in(temp_path("attempts"), "__model__"), 7);
    /* without attempts: one */
    seen = (struct attempts_seen){0};
    struct save_plan bad = {.path = temp_path("attempts"), .layout = SAVE_LAYOUT_EPOCHS};
    struct skiff_error err = {0};
    assert_int_equal(save_write(&bad, &err), SKIFF_UNSUPPORTED);
}

static int set_up(void **state)
{
    (void)state;
    cut_skip_flush();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed), cmocka_unit_test(attempts)};
    return cmocka_run_group_tests(tests, set_up, temp_remove);
}
