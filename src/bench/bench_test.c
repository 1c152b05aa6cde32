/* Measurements with a few rows: every number is there, and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "store/file.h"

static void everything_is_measured(void **state)
{
    struct bench_data data;
    struct bench_reading reading;
    struct bench_training training;
    struct bench_case adam = {
        .optimizer = "adam", .lazy = true, .batch = 50, .threads = 2, .rounds = 1};
    struct skiff_error err = {0};
    char dir[sizeof data.dir];
    if (bench_data_open(&data, 300, 2, &err) < 0)
        fail_msg("%s", err.message);
    memcpy(dir, data.dir, sizeof dir);
    assert_true(file_is_dir(dir));
    assert_int_equal(bench_reading_of(&data, "criteo", 3, &reading, &err), SKIFF_OK);
    assert_true(reading.rate > 0 && reading.best >= reading.rate);
    assert_int_equal(bench_reading_of(&data, "multislot", 1, &reading, &err), SKIFF_OK);
    assert_true(reading.best == reading.rate);
    if (bench_training_of(&data, &adam, &training, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(training.rate > 0 && training.limit > 0 && training.work > 0);
    assert_true(training.share == training.rate / training.limit);
    adam.optimizer = "adma";
    assert_true(bench_training_of(&data, &adam, &training, &err) < 0);
    assert_non_null(strstr(err.message, "adma"));
    bench_data_close(&data);
    assert_false(file_is_dir(dir));
}

static void wrong_formats_are_refused(void **state)
{
    struct bench_data data;
    double rate;
    assert_int_equal(bench_data_open(&data, 10, 1, NULL), SKIFF_OK);
    assert_true(bench_read_rate(&data, "criteo2", &rate, NULL) < 0);
    bench_data_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_measured),
        cmocka_unit_test(wrong_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
