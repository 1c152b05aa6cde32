#include "program/testing.h"

#include "program/names.h"

static void counters_per_key(void **state)
{
    struct names n;
    names_init(&n, NULL);
    assert_string_equal(names_next(&n, "fc"), "fc_0");
    const char *kept = names_next(&n, "fc");
    assert_string_equal(names_next(&n, "fc_0.w"), "fc_0.w_0");
    for (int i = 2; i < 1000; i++) {
        char expected[16];
        snprintf(expected, sizeof(expected), "fc_%d", i);
        char key[] = "fc"; /* keys are copied */
        assert_string_equal(names_next(&n, key), expected);
    }
    assert_string_equal(kept, "fc_1");
    names_deinit(&n);
}

static void guard_swaps_counters(void **state)
{
    struct names outer, inner;
    names_init(&outer, "");
    names_next(&outer, "fc");
    names_init(&inner, "net/");
    inner.outer = &outer;
    assert_string_equal(names_next(&inner, "fc"), "net/fc_0");
    assert_string_equal(names_next(&inner, "_generated_var"), "net/_generated_var_0");
    struct names *back = inner.outer;
    names_deinit(&inner);
    assert_string_equal(names_next(back, "fc"), "fc_1");
    names_deinit(&outer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_per_key),
        cmocka_unit_test(guard_swaps_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
