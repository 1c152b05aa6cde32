#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/near.h"

static void distances(void **state)
{
    assert_int_equal(near_distance("", ""), 0);
    assert_int_equal(near_distance("train", "train"), 0);
    assert_int_equal(near_distance("train", "rain"), 1);
    assert_int_equal(near_distance("train", "strain"), 1);
    assert_int_equal(near_distance("train", "drain"), 1);
    assert_int_equal(near_distance("train", "trian"), 1); /* swapped */
    assert_int_equal(near_distance("", "abc"), 3);
    assert_int_equal(near_distance("kitten", "sitting"), 3);
}

static const char *nearest(const char *word)
{
    static const char *const known[] = {"train", "infer", "launch", "launch-ps", "doctor"};
    struct near n = near_to(word);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        near_try(&n, known[i]);
    return n.best;
}

static void the_nearest_is_named(void **state)
{
    assert_string_equal(nearest("trian"), "train");
    assert_string_equal(nearest("launc"), "launch");
    assert_string_equal(nearest("lanch_ps"), "launch-ps");
    assert_null(nearest("mow-the-lawn"));
    assert_null(nearest("x")); /* everything is near to one letter: nothing is suggested */
    assert_null(nearest(""));
}

static void long_words(void **state)
{
    char a[300], b[300];
    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    assert_int_equal(near_distance(a, b), 96);
    assert_int_equal(near_distance(a, a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(the_nearest_is_named),
        cmocka_unit_test(long_words),
    };
    return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
