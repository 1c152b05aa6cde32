#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/distinct.h"

/* However often each is seen, and from few to many: within 5 % (three times the expected error). */
static void estimates_are_near(void **state)
{
    static const int64_t counts[] = {1, 2, 100, 5000, 20000, 300000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct distinct d = {{0}};
        for (int64_t v = 0; v < 3 * counts[i]; v++)
            distinct_add(&d, v % counts[i] * 1000003 - 5);
        assert_true(fabs(distinct_count(&d) / (double)counts[i] - 1) < 0.05);
    }
}

static void nothing_is_none(void **state)
{
    struct distinct d = {{0}};
    assert_true(distinct_count(&d) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_near),
        cmocka_unit_test(nothing_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
