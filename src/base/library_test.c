#include "base/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const there[] = {"libnobodyhasit.so.1", "libm.so.6", NULL};

static void test_first_that_is_there(void **state)
{
    double (*root)(double) = NULL;
    char fault[128] = "";
    struct library_call calls[] = {{"sqrt", &root}};
    assert_true(library_load(there, calls, 1, fault, sizeof fault));
    assert_string_equal(fault, "");
    assert_true(root(9) == 3);
}

static void test_what_is_missing(void **state)
{
    static const char *const gone[] = {"libnobodyhasit.so.1", "libnorthis.so.2", NULL};
    double (*root)(double) = NULL;
    char fault[128] = "";
    struct library_call calls[] = {{"sqrt", &root}, {"no_such_call", &root}};
    assert_false(library_load(gone, calls, 1, fault, sizeof fault));
    assert_non_null(strstr(fault, "libnorthis.so.2: cannot open shared object file"));
    assert_null(root);
    assert_false(library_load(there, calls, 2, fault, sizeof fault));
    assert_string_equal(fault, "it has no no_such_call");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_that_is_there),
                                       cmocka_unit_test(test_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
