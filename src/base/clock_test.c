#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sys/time.h>

#include "base/clock.h"

static void deadlines(void **state)
{
    assert_int_equal(clock_after(5, 2), 5 + 2 * CLOCK_MS);
    assert_int_equal(clock_after(5, 0), 5);
    assert_int_equal(clock_after(5, -1), CLOCK_NEVER);
    assert_int_equal(clock_after(5, INT64_MAX), CLOCK_NEVER);
    assert_int_equal(clock_after(clock_now(), INT64_MAX / CLOCK_MS), CLOCK_NEVER);
    assert_int_equal(clock_min(CLOCK_NEVER, 3), 3);
    assert_int_equal(clock_min(3, CLOCK_NEVER), 3);
}

static void as_the_system_takes_it(void **state)
{
    struct timespec t = clock_timespec(7 * CLOCK_SECOND + 8);
    assert_int_equal(t.tv_sec, 7);
    assert_int_equal(t.tv_nsec, 8);
    t = clock_timespec(CLOCK_NEVER);
    assert_true(t.tv_sec > 1000000 && t.tv_nsec >= 0 && t.tv_nsec < CLOCK_SECOND);
}

static void one_time_in_two_units(void **state)
{
    int64_t before = clock_now();
    double seconds = clock_seconds();
    int64_t after = clock_now();
    assert_true(seconds > 1e-9 * (double)before - 1e-3 && seconds < 1e-9 * (double)after + 1e-3);
}

static void real_time_is_the_system_s(void **state)
{
    assert_true(fabs(1e-9 * (double)clock_real() - (double)time(NULL)) < 2.0);
}

static void processor_time_counts_work_not_sleep(void **state)
{
    double thread = clock_cpu_thread(), process = clock_cpu_process();
    clock_sleep(50 * CLOCK_MS);
    assert_true(clock_cpu_thread() - thread < 0.04);
    double began = clock_cpu_thread();
    while (clock_cpu_thread() - began < 0.02)
        ; /* asking is work */
    assert_true(clock_cpu_process() - process >= 0.02);
}

static void on_alarm(int number) {}

static void sleep_goes_on_after_a_signal(void **state)
{
    struct sigaction a = {.sa_handler = on_alarm}, old;
    struct itimerval often = {{0, 5000}, {0, 5000}}, none = {{0, 0}, {0, 0}};
    sigemptyset(&a.sa_mask);
    sigaction(SIGALRM, &a, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    int64_t before = clock_now();
    clock_sleep(60 * CLOCK_MS);
    int64_t took = clock_now() - before;
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_true(took >= 60 * CLOCK_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines),
        cmocka_unit_test(as_the_system_takes_it),
        cmocka_unit_test(one_time_in_two_units),
        cmocka_unit_test(real_time_is_the_system_s),
        cmocka_unit_test(processor_time_counts_work_not_sleep),
        cmocka_unit_test(sleep_goes_on_after_a_signal),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
