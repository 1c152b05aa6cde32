/* Days of the calendar: leap years, ends of months and years, digits of a text. */
#include "base/day.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void days_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(day_next(20190720), 20190721);
    assert_int_equal(day_next(20191231), 20200101);
    assert_int_equal(day_next(20200228), 20200229);
    assert_int_equal(day_next(20190228), 20190301);
    assert_int_equal(day_next(21000228), 21000301);
    assert_true(day_is_valid(20200229));
    assert_false(day_is_valid(20190229));
    assert_false(day_is_valid(20191301));
    assert_false(day_is_valid(2019072));
}

static void days_are_read(void **state)
{
    const char *text = "20190720..", *start = text;
    (void)state;
    assert_int_equal(day_take(&text), 20190720);
    assert_ptr_equal(text, start + 8);
    text = "20190732";
    assert_int_equal(day_take(&text), 0);
    text = "201907201"; /* nine digits */
    assert_int_equal(day_take(&text), 0);
    text = "2019-07-2";
    assert_int_equal(day_take(&text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_follow_each_other),
        cmocka_unit_test(days_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
