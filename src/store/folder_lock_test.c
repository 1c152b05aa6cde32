#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "store/file.h"
#include "store/folder_lock.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/folder_lock_test.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/" FOLDER_LOCK_FILE, folder);
    return 0;
}

static int remove_folder(void **state)
{
    file_remove_tree(folder);
    return 0;
}

static void one_at_a_time(void **state)
{
    struct folder_lock first, second;
    struct skiff_error err;
    char holder[512], expected[64];
    assert_int_equal(folder_lock_take(&first, folder, "the first", holder, &err), SKIFF_OK);
    assert_int_equal(folder_lock_take(&second, folder, "the second", holder, &err), SKIFF_END);
    snprintf(expected, sizeof expected, "process %d on ", (int)getpid());
    assert_int_equal(strncmp(holder, expected, strlen(expected)), 0);
    assert_non_null(strstr(holder, ", the first, since 20"));
    folder_lock_close(&second); /* not held: nothing happens */
    assert_true(file_exists(path));
    folder_lock_close(&first);
    assert_false(file_exists(path));
    assert_int_equal(folder_lock_take(&second, folder, "the second", holder, &err), SKIFF_OK);
    folder_lock_close(&second);
}

/* Whoever was killed leaves the file, but no lock. */
static void a_file_without_a_holder(void **state)
{
    struct folder_lock l;
    struct skiff_error err;
    char holder[512];
    assert_int_equal(file_write(path, "process 1 on some machine, since long", 37, &err), SKIFF_OK);
    assert_int_equal(folder_lock_take(&l, folder, "the next", holder, &err), SKIFF_OK);
    folder_lock_close(&l);
    assert_false(file_exists(path));
}

static void a_link_to_a_file(void **state)
{
    struct folder_lock l;
    struct skiff_error err;
    char holder[512];
    assert_int_equal(symlink("elsewhere", path), 0);
    assert_int_equal(folder_lock_take(&l, folder, "who follows it", holder, &err), SKIFF_OK);
    assert_non_null(l.path);
    folder_lock_close(&l);
}

static void no_folder(void **state)
{
    struct folder_lock l;
    struct skiff_error err;
    char holder[512], missing[128];
    snprintf(missing, sizeof missing, "%s/nowhere", folder);
    assert_int_equal(folder_lock_take(&l, missing, "who", holder, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "/nowhere/" FOLDER_LOCK_FILE " cannot be opened"));
    assert_null(l.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_at_a_time, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_without_a_holder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_link_to_a_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_folder, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
