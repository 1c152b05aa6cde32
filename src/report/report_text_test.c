#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/text.h"

static void json_is(const char *text, const char *expected)
{
    struct buf b = BUF_INIT;
    json_text(&b, text);
    assert_string_equal(b.data, expected);
    buf_deinit(&b);
}

static void json_escapes(void **state)
{
    json_is("plain", "\"plain\"");
    json_is("a\"b\\c\nd\te", "\"a\\\"b\\\\c\\nd\\u0009e\"");
    json_is("</script>", "\"</script>\"");
    json_is("gr\u00fc\u00df \u4f60 \U0001F600", "\"gr\u00fc\u00df \u4f60 \U0001F600\"");
    json_is("\x7f\xC2\x85\u2028\uFEFF", "\"\\u007f\\u0085\\u2028\\ufeff\"");
}

/* No byte that is no UTF-8 comes through: lone continuations, cut and overlong characters,
 * surrogates, what lies beyond the last one. */
static void json_mends_bytes(void **state)
{
    json_is("a\x80z", "\"a\uFFFDz\"");
    json_is("a\xC3", "\"a\uFFFD\"");
    json_is("\xE4\xBD", "\"\uFFFD\uFFFD\"");
    json_is("\xC0\xAF", "\"\uFFFD\uFFFD\"");
    json_is("\xED\xA0\x80", "\"\uFFFD\uFFFD\uFFFD\"");
    json_is("\xF5\x80\x80\x80", "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");
    json_is("\xFF\xFE", "\"\uFFFD\uFFFD\"");
}

static void json_numbers(void **state)
{
    struct buf b = BUF_INIT;
    json_number(&b, 0.25);
    buf_char(&b, ' ');
    json_number(&b, 1234567890123.0);
    buf_char(&b, ' ');
    json_number(&b, NAN);
    buf_char(&b, ' ');
    json_number(&b, -INFINITY);
    assert_string_equal(b.data, "0.25 1.23456789e+12 null null");
    buf_deinit(&b);
}

static void html_escapes(void **state)
{
    struct buf b = BUF_INIT;
    html_text(&b, "<b a=\"1\" c='2'>&\x01\xFF</b>");
    assert_string_equal(b.data,
                        "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\uFFFD\uFFFD&lt;/b&gt;");
    buf_deinit(&b);
}

static void short_numbers(void **state)
{
    char out[32];
    assert_string_equal(number_short(0, out), "0");
    assert_string_equal(number_short(42, out), "42");
    assert_string_equal(number_short(9999, out), "9999");
    assert_string_equal(number_short(12800, out), "12.8\u00a0k");
    assert_string_equal(number_short(400000, out), "400\u00a0k");
    assert_string_equal(number_short(1200000, out), "1.20\u00a0M");
    assert_string_equal(number_short(999999, out), "1.00\u00a0M");
    assert_string_equal(number_short(-12800, out), "-12.8\u00a0k");
    assert_string_equal(number_short(0.4183, out), "0.4183");
    assert_string_equal(number_short(3.14159, out), "3.14");
    assert_string_equal(number_short(1e-7, out), "1e-07");
    assert_string_equal(number_short(NAN, out), "\u2013");
    assert_string_equal(number_short(1e300, out), "1e+288\u00a0T");
}

static void short_times(void **state)
{
    char out[32];
    assert_string_equal(time_short(0, out), "0\u00a0s");
    assert_string_equal(time_short(-3, out), "0\u00a0s");
    assert_string_equal(time_short(NAN, out), "0\u00a0s");
    assert_string_equal(time_short(0.314, out), "0.31\u00a0s");
    assert_string_equal(time_short(7.13, out), "7.1\u00a0s");
    assert_string_equal(time_short(45, out), "45\u00a0s");
    assert_string_equal(time_short(123, out), "2:03");
    assert_string_equal(time_short(3723, out), "1:02:03");
    assert_string_equal(bytes_short(25276530688.0, out), "25\u00a0GB");
    assert_string_equal(bytes_short(1536, out), "1.5\u00a0kB");
    assert_string_equal(bytes_short(12, out), "12\u00a0B");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_escapes),  cmocka_unit_test(json_mends_bytes),
        cmocka_unit_test(json_numbers),  cmocka_unit_test(html_escapes),
        cmocka_unit_test(short_numbers), cmocka_unit_test(short_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
