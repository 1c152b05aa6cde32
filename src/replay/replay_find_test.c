/* Which cases are found, in which order, and when the search ends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "replay/find.h"
#include "store/file.h"

struct found {
    struct buf names; /* "a b/c " */
    size_t root;      /* length of the folder's name */
    atomic_bool stop;
    int stop_after; /* 0: never */
    int n;
};

static void on_case(void *arg, const char *dir, const char *shown)
{
    struct found *f = arg;
    assert_string_equal(dir, shown); /* no archive */
    buf_printf(&f->names, "%s ", shown + f->root);
    if (++f->n == f->stop_after)
        atomic_store(&f->stop, true);
}

static void write_case(const char *root, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(file_make_parents(path, NULL), SKIFF_OK);
    assert_int_equal(file_write(path, "steps: 0\n", 9, NULL), SKIFF_OK);
}

static void test_cases_below_a_folder(void **state)
{
    char root[] = "/tmp/replay_find_test.XXXXXX";
    struct skiff_error err = {0};
    assert_non_null(mkdtemp(root));
    struct found f = {.root = strlen(root)};
    struct replay_finder finder = {.on_case = on_case, .arg = &f, .stop = &f.stop};
    assert_int_equal(replay_find(root, &finder, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "no case.txt in this folder"));
    write_case(root, "b/deep/case.txt");
    write_case(root, "a/case.txt");
    write_case(root, "a/not_a_case.txt");
    assert_int_equal(replay_find(root, &finder, &err), SKIFF_OK);
    assert_string_equal(f.names.data, "/a /b/deep ");
    buf_reset(&f.names);
    f.n = 0;
    f.stop_after = 1;
    assert_int_equal(replay_find(root, &finder, &err), SKIFF_OK);
    assert_string_equal(f.names.data, "/a ");
    assert_int_equal(
        replay_find("/no/such/folder", &(struct replay_finder){.on_case = on_case}, &err),
        SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "/no/such/folder is not a folder"));
    buf_deinit(&f.names);
    file_remove_tree(root);
}

static void test_known_defects(void **state)
{
    assert_null(replay_known_defect("/tmp", NULL));
    assert_null(replay_known_defect("/tmp", "rounds differently"));
    assert_string_equal(replay_known_defect("/tmp", "a zero tensor gives NaN in cos_sim"),
                        "a zero tensor gives NaN in cos_sim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_below_a_folder),
        cmocka_unit_test(test_known_defects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
