/* The files that the module data writes, cut after every file operation and on a full disk: the old
 * file stays complete until the new one is flushed and renamed over it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "data/binary.h"
#include "data/columns.h"
#include "data/stats.h"
#include "store/test_help.h"
#include "tests/saves/cut.h"

static enum skiff_status write_stats(const char *path, int64_t rows, struct skiff_error *err)
{
    struct criteo_stats s = {.rows = rows};
    return stats_write(&s, path, err);
}

static int64_t read_stats(const char *path)
{
    struct criteo_stats s;
    assert_int_equal(stats_read(path, &s, NULL), SKIFF_OK);
    return s.rows;
}

static enum skiff_status write_columns(const char *path, int64_t rows, struct skiff_error *err)
{
    struct columns c = {.rows = rows};
    return columns_write(&c, path, err);
}

static int64_t read_columns(const char *path)
{
    struct columns c;
    assert_int_equal(columns_read(path, &c, NULL), SKIFF_OK);
    int64_t rows = c.rows;
    columns_deinit(&c);
    return rows;
}

/* Binary samples; the key in the header stands for the rows, the size for the end block. */
static enum skiff_status write_binary(const char *path, int64_t rows, struct skiff_error *err)
{
    struct binary_writer w;
    struct schema none = {0};
    TRY(binary_writer_open(&w, path, &none, (uint64_t)rows, err));
    return binary_writer_commit(&w, err);
}

static int64_t read_binary(const char *path)
{
    uint64_t key;
    struct stat st;
    assert_true(binary_key(path, &key));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, BINARY_HEADER + 8 + BINARY_BLOCK_HEADER + 8);
    return (int64_t)key;
}

static const struct kind {
    const char *name;
    enum skiff_status (*write)(const char *path, int64_t rows, struct skiff_error *err);
    int64_t (*read)(const char *path);
} kinds[] = {
    {"stats", write_stats, read_stats},
    {"columns", write_columns, read_columns},
    {"samples", write_binary, read_binary},
};

/* False when the writer ended before its n-th operation. */
static bool killed_at(const struct kind *kind, const char *path, long n)
{
    int how;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        cut_arm(CUT_KILL, n, 0);
        _exit(kind->write(path, 2, NULL) < 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) ? WTERMSIG(how) == SIGKILL : WEXITSTATUS(how) == 0);
    return WIFSIGNALED(how);
}

static void killed(void **state)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char path[200];
        long n = 1;
        int old = 0;
        for (bool cut = true; cut; n++) {
            snprintf(path, sizeof path, "%s", temp_path(kinds[k].name));
            assert_int_equal(kinds[k].write(path, 1, NULL), SKIFF_OK);
            cut = killed_at(&kinds[k], path, n);
            int64_t rows = kinds[k].read(path);
            assert_true(rows == 1 || rows == 2);
            assert_true(cut || rows == 2);
            old += rows == 1;
        }
        /* open, write, flush, rename */
        assert_in_range(old, 4, n);
    }
}

static void full(void **state)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char folder[200], path[300];
        snprintf(folder, sizeof folder, "%s-full", temp_path(kinds[k].name));
        snprintf(path, sizeof path, "%s/file", folder);
        assert_int_equal(mkdir(folder, 0777), 0);
        assert_int_equal(kinds[k].write(path, 1, NULL), SKIFF_OK);
        long n = 1;
        for (enum skiff_status status = SKIFF_IO; status < 0; n++) {
            struct skiff_error why = {0};
            cut_arm(CUT_FULL, n, 0);
            status = kinds[k].write(path, 2, &why);
            cut_disarm();
            assert_int_equal(kinds[k].read(path), status < 0 ? 1 : 2);
            assert_int_equal(why.sys_errno, status < 0 ? ENOSPC : 0);
            assert_int_equal(count_files(folder), 1); /* no temporary file */
        }
        assert_true(n > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(full),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
