#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"

static void builds_text(void **state)
{
    struct buf b = BUF_INIT;
    buf_str(&b, "op ");
    buf_char(&b, '{');
    buf_printf(&b, "%d %s", 42, "relu");
    buf_add(&b, "}", 1);
    buf_add(&b, NULL, 0);
    buf_str(&b, "");
    assert_string_equal(b.data, "op {42 relu}");
    assert_int_equal(b.len, 12);
    buf_reset(&b);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.data, "");
    buf_deinit(&b);
    assert_null(b.data);
    buf_reset(&b); /* of an empty one */
}

static void printf_of_any_length(void **state)
{
    char text[3000];
    for (size_t n = 0; n < sizeof text; n += 61) {
        struct buf b = BUF_INIT;
        memset(text, 'a', n);
        text[n] = '\0';
        buf_str(&b, "<");
        buf_printf(&b, "%s>", text);
        assert_int_equal(b.len, n + 2);
        assert_int_equal(b.data[n + 1], '>');
        assert_int_equal(b.data[n + 2], '\0');
        buf_deinit(&b);
    }
}

static void grows_byte_by_byte(void **state)
{
    struct buf b = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_char(&b, (char)(i * 7));
    assert_int_equal(b.len, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(b.data[i], (char)(i * 7));
    assert_int_equal(b.data[b.len], 0);
    buf_deinit(&b);
}

static void integers_are_little_endian(void **state)
{
    struct buf b = BUF_INIT;
    buf_u32(&b, 0x01020304u);
    buf_u64(&b, 0x1122334455667788ull);
    static const unsigned char want[] = {4,    3,    2,    1,    0x88, 0x77,
                                         0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    assert_int_equal(b.len, sizeof want);
    assert_memory_equal(b.data, want, sizeof want);
    buf_deinit(&b);
}

static void reserve_keeps_contents(void **state)
{
    struct buf b = BUF_INIT;
    buf_reserve(&b, 10);
    assert_string_equal(b.data, "");
    buf_str(&b, "abc");
    buf_reserve(&b, 1 << 20);
    assert_true(b.cap > 1 << 20);
    assert_string_equal(b.data, "abc");
    buf_deinit(&b);
}

static void expect_wrapped(const char *text, size_t column, size_t indent, const char *wrapped)
{
    struct buf b = BUF_INIT;
    buf_wrap(&b, text, column, indent, 10);
    assert_string_equal(b.data, wrapped);
    buf_deinit(&b);
}

static void wraps_at_blanks(void **state)
{
    expect_wrapped("one two three", 0, 0, "one two\nthree");
    expect_wrapped("12345 7890", 0, 0, "12345 7890");
    expect_wrapped("one two", 4, 2, "one\n  two");
    expect_wrapped("much-too-long-a-word x", 0, 1, "much-too-long-a-word\n x");
    expect_wrapped("one\n\ntwo three\nfour", 0, 2, "one\n\n  two\n  three\n  four");
    expect_wrapped("  kept  in", 0, 0, "  kept  in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_text),
        cmocka_unit_test(printf_of_any_length),
        cmocka_unit_test(grows_byte_by_byte),
        cmocka_unit_test(integers_are_little_endian),
        cmocka_unit_test(reserve_keeps_contents),
        cmocka_unit_test(wraps_at_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
