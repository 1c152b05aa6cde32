#include "save/retry.h"

#include <errno.h>

#include "store/test_help.h"

struct trial {
    int fail, error; /* how often, and with which errno */
    int saves, pauses;
    double paused;
    bool stop;
};

static enum skiff_status save(void *user, struct skiff_error *err)
{
    struct trial *t = user;
    if (++t->saves > t->fail)
        return SKIFF_OK;
    errno = t->error;
    return error_set_sys(err, "cannot write x (try %d)", t->saves);
}

static bool pausing(void *user, const struct skiff_error *why, double seconds)
{
    struct trial *t = user;
    assert_message_has(why, "cannot write x");
    t->pauses++;
    t->paused += seconds;
    return !t->stop;
}

static enum skiff_status go(struct trial *t, struct skiff_error *err)
{
    struct save_retry r = {save, pausing, t, 4, 0.001};
    return save_retry(&r, err);
}

static void retries(void **state)
{
    struct skiff_error err = {0};
    struct trial good = {0}, twice = {.fail = 2, .error = ENOSPC},
                 always = {.fail = 99, .error = EDQUOT}, sick = {.fail = 1, .error = EIO},
                 forbidden = {.fail = 99, .error = EACCES},
                 stopped = {.fail = 99, .error = ENOSPC, .stop = true};
    assert_int_equal(go(&good, &err), SKIFF_OK);
    assert_int_equal(good.saves, 1);
    assert_int_equal(go(&twice, &err), SKIFF_OK);
    assert_int_equal(twice.saves, 3);
    assert_true(twice.paused > 0.0029 && twice.paused < 0.0031); /* 1 + 2 ms */
    assert_int_equal(go(&sick, &err), SKIFF_OK);
    assert_int_equal(go(&always, &err), SKIFF_IO);
    assert_int_equal(always.saves, 4);
    assert_int_equal(always.pauses, 3);
    assert_message_has(&err, "(try 4)");
    assert_true(save_may_pass(&err));
    assert_int_equal(go(&forbidden, &err), SKIFF_IO);
    assert_int_equal(forbidden.saves, 1);
    assert_false(save_may_pass(&err));
    assert_int_equal(go(&stopped, NULL), SKIFF_IO);
    assert_int_equal(stopped.saves, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(retries)};
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
