#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/print_g.h"
#include "base/rng.h"

static void same(double x, int digits)
{
    char ours[PRINT_G_MAX], theirs[PRINT_G_MAX];
    size_t n = print_g(ours, x, digits);
    assert_int_equal(n, snprintf(theirs, sizeof theirs, "%.*g", digits, x));
    assert_string_equal(ours, theirs);
}

static void same_all(double x)
{
    for (int digits = 1; digits <= 17; digits++) {
        same(x, digits);
        same(-x, digits);
    }
}

static void special_numbers(void **state)
{
    const double numbers[] = {0,
                              1,
                              0.1,
                              0.5,
                              2.5,
                              1e5,
                              999999,
                              999999.5,
                              1e6,
                              123456,
                              123456.5,
                              1e-4,
                              9.9999e-5,
                              0.00001234565,
                              99999.95,
                              1e22,
                              1e23,
                              1e-17,
                              1e-18,
                              1e-30,
                              1e300,
                              4.9e-324,
                              1e-310,
                              0x1p-149,
                              0x1p-126,
                              0x1.fffffep127,
                              16777216,
                              1.0f / 3,
                              INFINITY,
                              NAN,
                              0.30000001192092896,
                              1.0000005,
                              1.0000015,
                              100000.5};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        same_all(numbers[i]);
    char text[PRINT_G_MAX];
    assert_int_equal(print_g(text, 1234567, 6), 11);
    assert_string_equal(text, "1.23457e+06");
}

/* Next to powers of ten and to halves, where a digit more or less is decided. */
static void edges(void **state)
{
    for (int e = -40; e <= 40; e++)
        for (int m = 1; m <= 19; m++) {
            double x = m * pow(10, e) / 2, up = x, down = x;
            same_all(x);
            for (int i = 0; i < 4; i++) {
                up = nextafter(up, INFINITY);
                down = nextafter(down, 0);
                same_all(up);
                same_all(down);
            }
        }
    for (int n = 0; n < 200000; n += 7) /* halves of the sixth digit, and next to them */
        for (float f = (float)(100000.5 + n), i = 0; i < 3; i++, f = nextafterf(f, 0)) {
            same((double)f, 6);
            same((double)f / 1024, 6);
        }
}

static void any_number(void **state)
{
    struct mt64 random;
    mt64_seed(&random, 11);
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = mt64_next(&random);
        uint32_t half = (uint32_t)bits;
        double x;
        float f, small = (float)((double)(bits >> 11) * 0x1p-53 - 0.5) / (float)(1 + half % 4096);
        memcpy(&x, &bits, sizeof x);
        memcpy(&f, &half, sizeof f);
        same((double)f, 6);
        same((double)small, 6);
        same((double)small, 1 + i % 17);
        same(x, 1 + i % 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_numbers),
        cmocka_unit_test(edges),
        cmocka_unit_test(any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
