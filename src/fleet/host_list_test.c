/* Lists of hosts as Slurm compresses them. Expected: the names of `scontrol show hostnames`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "fleet/host_list.h"

static void expands(void **state)
{
    static const char *const cases[][2] = {
        {"n1", "n1"},
        {"n[1-3,7]", "n1 n2 n3 n7"},
        {"a[01-03]b", "a01b a02b a03b"},
        {"a[8-11],login,b[098-101]", "a8 a9 a10 a11 login b098 b099 b100 b101"},
        {"r[1-2]n[1-3]", "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3"},
        {"127.0.0.[2-3]", "127.0.0.2 127.0.0.3"},
        {"node-a-[5],node-b.x", "node-a-5 node-b.x"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **names;
        int n;
        struct buf all = BUF_INIT;
        struct skiff_error err;
        if (host_list_expand("LIST", cases[i][0], &names, &n, &err) < 0)
            fail_msg("%s", err.message);
        for (int k = 0; k < n; k++) {
            buf_printf(&all, "%s%s", k ? " " : "", names[k]);
            free(names[k]);
        }
        free(names);
        assert_string_equal(all.data, cases[i][1]);
        buf_deinit(&all);
    }
}

static void refuses(void **state)
{
    static const char *const cases[][2] = {
        {"", "no name"},
        {"a,,b", "no name"},
        {"a,", "no name"},
        {"a[", "not closed"},
        {"a[1-2", "not closed"},
        {"a]1[", "not opened"},
        {"a1]", "not opened"},
        {"a[]", "expected a number"},
        {"a[x]", "expected a number"},
        {"a[1-]", "expected a number"},
        {"a[1,]", "expected a number"},
        {"a[1;2]", "expected - or ,"},
        {"a[3-1]", "ends before it begins"},
        {"a[1234567890]", "expected a number"},
        {"a[0-999999999]", "more than 65536"},
        {"a[0-9999][0-9999]", "more than 65536"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **names;
        int n;
        struct skiff_error err = {0};
        if (host_list_expand("LIST", cases[i][0], &names, &n, &err) == SKIFF_OK)
            fail_msg("%s is taken", cases[i][0]);
        if (!strstr(err.message, cases[i][1]) || !strstr(err.message, "LIST is '"))
            fail_msg("%s: %s, not %s", cases[i][0], err.message, cases[i][1]);
    }
}

static void too_long(void **state)
{
    char text[600], **names;
    int n;
    struct skiff_error err = {0};
    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    assert_int_equal(host_list_expand("LIST", text, &names, &n, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "longer than 255"));
    memcpy(text + 250, "[0000001-2]", 11);
    text[261] = 0;
    assert_int_equal(host_list_expand("LIST", text, &names, &n, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "longer than 255"));
}

static void counts(void **state)
{
    int *got, n;
    struct skiff_error err = {0};
    (void)state;
    assert_int_equal(count_list_expand("LIST", "2(x3),1,10(x1)", &got, &n, &err), SKIFF_OK);
    assert_int_equal(n, 5);
    assert_memory_equal(got, ((int[]){2, 2, 2, 1, 10}), sizeof(int[5]));
    free(got);
    static const char *const wrong[] = {"",     "x",    "2(", "2(3)",     "2(x",
                                        "2(x)", "2(x3", "2,", "1(x99999)"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(count_list_expand("LIST", wrong[i], &got, &n, &err), SKIFF_INVALID);
        assert_non_null(strstr(err.message, "expected numbers such as 2(x3),1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands),
        cmocka_unit_test(refuses),
        cmocka_unit_test(too_long),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
