#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "data/text.h"

/* A line as source.h gives it. */
static const char *line(const char *text)
{
    static char buf[512 + TEXT_PAD];
    memset(buf, 0x39, sizeof buf); /* digits behind the line must not matter */
    size_t n = strlen(text);
    memcpy(buf, text, n);
    buf[n] = '\n';
    return buf;
}

static void check_float(const char *text)
{
    const char *p = line(text);
    char copy[600], *want_end;
    snprintf(copy, sizeof copy, "%s\n", text);
    float want = strtof(copy, &want_end), got = -12345;
    const char *end = text_f32(p, &got);
    if (end - p != want_end - copy)
        fail_msg("%s: %td bytes taken, strtof takes %td", text, end - p, want_end - copy);
    if (end == p)
        return;
    if (memcmp(&got, &want, 4) != 0 && !(isnan(got) && isnan(want)))
        fail_msg("%s: %.9g (%a), strtof gives %.9g (%a)", text, got, got, want, want);
}

static void test_float_forms(void **state)
{
    static const char *const forms[] = {
        "0",
        "-0",
        "+0",
        "1",
        "-1",
        "+2",
        "0.1",
        "-.5",
        ".5",
        "5.",
        "00012.5",
        "1e3",
        "1E3",
        "1e+3",
        "1e-3",
        "1e",
        "1e+",
        "1e-",
        "1ex",
        "0x10",
        "0X1p3",
        "inf",
        "-inf",
        "INFINITY",
        "nan",
        "-nan",
        "nan(12)",
        "abc",
        "-",
        "+",
        ".",
        "-.",
        "..5",
        "1.2.3",
        "1e39",
        "-1e39",
        "1e-45",
        "1e-46",
        "1.17549435e-38",
        "1.17549421e-38",
        "3.4028235e38",
        "3.4028236e38",
        "340282350000000000000000000000000000000",
        "0.004975124378109453",
        "123456789.12345679",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999",
        "0.000000000000000000000000000000000000000000001",
        "16777217",
        "16777219",
        "16777217.0000000000000001",
        "8388608.5",
        "8388609.5",
        "0.5000000298023223876953125",
        "0.50000002980232238769531250000000000000001",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "123e400",
        "1e-400",
        "1e99999999999",
        "1e-99999999999",
        "0e99999",
        "9007199254740993",
        "0.1e1",
        "7.038531e-26",
        "1_0",
        "1,5",
        "0x",
        "0xg",
        "00000000000000000000000000000000000001",
        "0.00000000000000000000000000000000000001234567890123456789"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        check_float(forms[i]);
}

/* Random numbers written in many ways, and halves between two floats, where rounding is decided. */
static void test_float_random(void **state)
{
    struct mt64 r;
    char text[200];
    mt64_seed(&r, 7);
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)mt64_next(&r);
        float f;
        memcpy(&f, &bits, 4);
        if (isnan(f) || isinf(f))
            continue;
        double d = f;
        switch (i % 6) {
        case 0:
            snprintf(text, sizeof text, "%.9g", d);
            break;
        case 1:
            snprintf(text, sizeof text, "%.17g", d * 1.0000001);
            break;
        case 2: { /* the middle to the next float, exactly and a little off */
            float g = nextafterf(f, INFINITY);
            double middle = 0.5 * ((double)f + (double)g);
            snprintf(text, sizeof text, "%.*e", 15 + (int)(bits % 30), middle);
            break;
        }
        case 3:
            snprintf(text, sizeof text, "%.*f", (int)(bits % 20), mt64_double(&r) * 100);
            break;
        case 4:
            snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, mt64_next(&r) >> (bits % 64),
                     mt64_next(&r) >> (bits % 61));
            break;
        default:
            snprintf(text, sizeof text, "%" PRIu64 "e%d", mt64_next(&r) >> (bits % 64),
                     (int)(bits % 61) - 30);
        }
        check_float(text);
    }
}

static void test_float_ignores_locale(void **state)
{
    float f = 0;
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* may not be there: then it is the C locale anyway */
    const char *p = line("0x1.8p0");
    assert_ptr_equal(text_f32(p, &f), p + 7);
    assert_true(f == 1.5f);
    setlocale(LC_NUMERIC, "C");
}

static void test_whole_numbers(void **state)
{
    struct mt64 r;
    char text[64];
    uint64_t v;
    bool over = false;
    mt64_seed(&r, 3);
    for (int i = 0; i < 100000; i++) {
        uint64_t want = mt64_next(&r) >> (i % 64);
        snprintf(text, sizeof text, "%" PRIu64, want);
        const char *p = line(text);
        assert_ptr_equal(text_u64(p, &v, &over), p + strlen(text));
        assert_int_equal(v, want);
        assert_false(over);
        int64_t s, swant = (int64_t)want >> 1;
        snprintf(text, sizeof text, "%" PRId64, i & 1 ? swant : -swant);
        p = line(text);
        assert_ptr_equal(text_i64(p, &s, &over), p + strlen(text));
        assert_int_equal(s, i & 1 ? swant : -swant);
        assert_false(over);
    }
    assert_ptr_equal(text_u64(line("x1"), &v, &over), line("x1"));
    assert_ptr_equal(text_u64(line(""), &v, &over), line(""));
    assert_ptr_equal(text_u64(line("-1"), &v, &over), line("-1"));
}

static void test_whole_numbers_at_the_edge(void **state)
{
    static const struct {
        const char *text;
        uint64_t id;
        int64_t i64;
        bool over_u64, over_i64;
    } cases[] = {
        {"18446744073709551615", UINT64_MAX, INT64_MAX, false, true},
        {"18446744073709551616", UINT64_MAX, INT64_MAX, true, true},
        {"184467440737095516150", UINT64_MAX, INT64_MAX, true, true},
        {"99999999999999999999999999", UINT64_MAX, INT64_MAX, true, true},
        {"9223372036854775807", INT64_MAX, INT64_MAX, false, false},
        {"9223372036854775808", (uint64_t)INT64_MAX + 1, INT64_MAX, false, true},
        {"000000000000000000000000000007", 7, 7, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t v = 1;
        int64_t s = 1;
        bool over = false;
        const char *p = line(cases[i].text);
        size_t n = strlen(cases[i].text);
        assert_ptr_equal(text_u64(p, &v, &over), p + n);
        assert_int_equal(v, cases[i].id);
        assert_int_equal(over, cases[i].over_u64);
        over = false;
        assert_ptr_equal(text_i64(p, &s, &over), p + n);
        assert_int_equal(s, cases[i].i64);
        assert_int_equal(over, cases[i].over_i64);
        assert_ptr_equal(text_id(p, &v), p + n);
        assert_int_equal(v, cases[i].id);
    }
    int64_t s;
    uint64_t v;
    bool over = false;
    text_i64(line("-9223372036854775808"), &s, &over);
    assert_true(s == INT64_MIN && !over);
    text_i64(line("-9223372036854775809"), &s, &over);
    assert_true(s == INT64_MIN && over);
    text_id(line("-5"), &v);
    assert_true(v == (uint64_t)-5);
    text_id(line("+5"), &v);
    assert_true(v == 5);
    assert_ptr_equal(text_id(line("-"), &v), line("-"));
}

static void test_find_all(void **state)
{
    char text[400 + TEXT_PAD];
    uint32_t got[400];
    struct mt64 r;
    mt64_seed(&r, 5);
    for (int round = 0; round < 2000; round++) {
        size_t n = mt64_next(&r) % 300, want = 0;
        memset(text, '\t', sizeof text); /* separators behind the text do not count */
        for (size_t i = 0; i < n; i++)
            text[i] = mt64_next(&r) % 3 ? (char)(mt64_next(&r) & 0xff) : '\t';
        size_t found = text_find_all(text, n, '\t', got, 400);
        for (size_t i = 0; i < n; i++)
            if (text[i] == '\t')
                assert_int_equal(got[want++], i);
        assert_int_equal(found, want);
        assert_int_equal(text_find_all(text, n, '\t', got, 2), want);
    }
}

static void test_quote(void **state)
{
    char out[64];
    assert_string_equal(text_quote("abc", 3, out), "\"abc\"");
    assert_string_equal(text_quote("", 0, out), "\"\"");
    assert_string_equal(text_quote("a\0\n\"", 4, out), "\"a\\x00\\x0a\\x22\"");
    char many[200];
    memset(many, 1, sizeof many);
    assert_true(strlen(text_quote(many, sizeof many, out)) < 64);
    memset(many, 'x', sizeof many);
    text_quote(many, sizeof many, out);
    assert_string_equal(out + strlen(out) - 4, "...\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_forms),
        cmocka_unit_test(test_float_random),
        cmocka_unit_test(test_float_ignores_locale),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_whole_numbers_at_the_edge),
        cmocka_unit_test(test_find_all),
        cmocka_unit_test(test_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
