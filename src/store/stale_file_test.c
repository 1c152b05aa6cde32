/* Real processes: what a living one writes stays, what a killed one has left goes. */
#include "store/stale_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "store/model_dir.h"
#include "store/test_help.h"

static bool there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void living_stay_dead_go(void **state)
{
    const char *dir = temp_path("place");
    int ready[2];
    char byte;
    assert_int_equal(file_write(temp_path("place/notes.skiff-save-0"), "x", 1, NULL), SKIFF_OK);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) { /* a folder in it, a folder beside a model, a file beside a file */
        struct model_writer inside, beside;
        struct file_writer file;
        bool ok = model_writer_open(&inside, dir, NULL) == SKIFF_OK &&
                  model_writer_open(&beside, temp_path("place/model"), NULL) == SKIFF_OK &&
                  model_writer_bytes(&beside, "a/b", "x", 1, NULL) == SKIFF_OK &&
                  file_writer_open(&file, temp_path("place/file"), NULL) == SKIFF_OK;
        _exit(write(ready[1], ok ? "y" : "n", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    stale_file_remove(dir);
    assert_true(there(temp_path("place/.skiff-save-0")));
    assert_true(there(temp_path("place/.model.skiff-save-0/a/b")));
    assert_true(there(temp_path("place/.file.skiff-save-0")));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    stale_file_remove(dir);
    assert_int_equal(count_files(dir), 1);
    assert_true(there(temp_path("place/notes.skiff-save-0"))); /* no name of ours */
    close(ready[0]);
    close(ready[1]);
}

/* Not a save, only files: the next one of the same name removes the stale file. */
static void next_file_cleans_up(void **state)
{
    const char *dir = temp_path("files");
    assert_int_equal(file_write(temp_path("files/.w.skiff-save-0"), "left", 4, NULL), SKIFF_OK);
    assert_int_equal(file_write(temp_path("files/w"), "new", 3, NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 1);
}

/* Two writers of one file at a time: each has a name of its own, the last one wins. */
static void two_writers(void **state)
{
    struct file_writer a, b;
    const char *path = temp_path("two/w");
    struct buf got = BUF_INIT;
    assert_int_equal(file_writer_open(&a, path, NULL), SKIFF_OK);
    assert_int_equal(file_writer_open(&b, path, NULL), SKIFF_OK);
    assert_string_not_equal(a.temp, b.temp);
    assert_int_equal(file_writer_add(&a, "a", 1, NULL), SKIFF_OK);
    assert_int_equal(file_writer_add(&b, "b", 1, NULL), SKIFF_OK);
    assert_int_equal(file_writer_commit(&b, NULL), SKIFF_OK);
    assert_int_equal(file_writer_commit(&a, NULL), SKIFF_OK);
    assert_int_equal(file_read(path, &got, NULL), SKIFF_OK);
    assert_string_equal(got.data, "a");
    assert_int_equal(count_files(temp_path("two")), 1);
    buf_deinit(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_stay_dead_go),
        cmocka_unit_test(next_file_cleans_up),
        cmocka_unit_test(two_writers),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
