#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void status_texts(void **state)
{
    assert_string_equal(skiff_status_text(SKIFF_OK), "ok");
    assert_string_equal(skiff_status_text(SKIFF_END), "end of data");
    assert_string_equal(skiff_status_text(SKIFF_NOMEM), "out of memory");
    assert_string_equal(skiff_status_text((enum skiff_status) - 999), "unknown status");
}

static void set_fills_everything(void **state)
{
    struct skiff_error e;
    memset(&e, 0x5a, sizeof e);
    assert_int_equal(error_set(&e, SKIFF_SHAPE, "x is %d, not %s", 3, "four"), SKIFF_SHAPE);
    assert_int_equal(e.code, SKIFF_SHAPE);
    assert_int_equal(e.sys_errno, 0);
    assert_string_equal(e.message, "x is 3, not four");
    assert_non_null(strstr(e.origin, "error_test.c:"));
    assert_int_equal(error_set(NULL, SKIFF_RANGE, "nobody listens"), SKIFF_RANGE);
}

static void set_cuts_long_messages(void **state)
{
    struct skiff_error e;
    char big[5000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    error_set(&e, SKIFF_INVALID, "%s", big);
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
    error_set_at(&e, big, 12, SKIFF_INVALID, "short");
    assert_int_equal(strlen(e.origin), sizeof e.origin - 1);
    errno = ENOENT;
    error_set_sys(&e, "%s", big);
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
}

static void set_may_quote_itself(void **state)
{
    struct skiff_error e;
    error_set(&e, SKIFF_IO, "inner");
    error_set(&e, SKIFF_FORMAT, "outer (%s)", e.message);
    assert_string_equal(e.message, "outer (inner)");
}

static void set_sys_keeps_errno(void **state)
{
    struct skiff_error e;
    errno = ENOENT;
    assert_int_equal(error_set_sys(&e, "open %s", "/no/such"), SKIFF_IO);
    assert_int_equal(e.sys_errno, ENOENT);
    assert_string_equal(e.message, "open /no/such: No such file or directory");
    assert_int_equal(error_set_sys(NULL, "open"), SKIFF_IO);
}

static void prefix_goes_in_front(void **state)
{
    struct skiff_error e;
    error_set(&e, SKIFF_DTYPE, "int64, not float32");
    assert_int_equal(error_prefix(&e, SKIFF_INTERNAL, "case %s", "relu"), SKIFF_DTYPE);
    assert_string_equal(e.message, "case relu: int64, not float32");
    assert_int_equal(error_prefix(NULL, SKIFF_INTERNAL, "case"), SKIFF_INTERNAL);
    char big[2000];
    memset(big, 'y', sizeof big);
    big[sizeof big - 1] = '\0';
    error_prefix(&e, SKIFF_INTERNAL, "%s", big);
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
}

static enum skiff_status give(enum skiff_status s)
{
    return s;
}

static enum skiff_status try_it(enum skiff_status s)
{
    TRY(give(s));
    return SKIFF_OK;
}

static enum skiff_status try_out_it(enum skiff_status s, int *cleaned)
{
    enum skiff_status status;
    TRY_OUT(give(s));
out:
    *cleaned = 1;
    return status;
}

static void try_passes_failures_on(void **state)
{
    int cleaned = 0;
    assert_int_equal(try_it(SKIFF_IO), SKIFF_IO);
    assert_int_equal(try_it(SKIFF_END), SKIFF_OK); /* not a failure */
    assert_int_equal(try_out_it(SKIFF_IO, &cleaned), SKIFF_IO);
    assert_int_equal(cleaned, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_texts),           cmocka_unit_test(set_fills_everything),
        cmocka_unit_test(set_cuts_long_messages), cmocka_unit_test(set_may_quote_itself),
        cmocka_unit_test(set_sys_keeps_errno),    cmocka_unit_test(prefix_goes_in_front),
        cmocka_unit_test(try_passes_failures_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
