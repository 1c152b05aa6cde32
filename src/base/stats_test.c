#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/stats.h"
#include "base/thread.h"

static void a_name_is_one_number(void **state)
{
    struct stats *s = stats_create(), *other = stats_create();
    struct metric *a = stats_counter(s, "frames", "frames that came");
    assert_ptr_equal(stats_counter(s, "frames", "the same"), a);
    assert_ptr_not_equal(stats_counter(other, "frames", "of somebody else"), a);
    metric_add(a, 3);
    metric_add(a, 4);
    struct metric *g = stats_gauge(s, "waiting", "what waits");
    metric_set(g, 10);
    metric_add(g, -4);
    assert_int_equal(stats_value(s, "frames"), 7);
    assert_int_equal(stats_value(s, "waiting"), 6);
    assert_int_equal(stats_value(other, "frames"), 0);
    assert_int_equal(stats_value(s, "nobody asked"), 0);
    stats_destroy(s);
    stats_destroy(other);
    stats_destroy(NULL);
}

static void listed_in_order(void **state)
{
    struct stats *s = stats_create();
    struct buf text = BUF_INIT;
    metric_add(stats_counter(s, "b", "first"), 2);
    stats_counter(s, "none", "stays 0");
    metric_set(stats_gauge(s, "a", "second"), -5);
    struct metric *h = stats_histogram(s, "ns", "third");
    for (uint64_t v = 1; v <= 3; v++)
        metric_observe(h, v);
    assert_string_equal(stats_at(s, 0)->name, "b");
    assert_string_equal(stats_at(s, 1)->help, "stays 0");
    assert_int_equal(stats_at(s, 2)->kind, METRIC_GAUGE);
    assert_null(stats_at(s, 4));
    stats_text(s, &text);
    assert_string_equal(text.data, "b=2 a=-5 ns=3 (mean 2, 99 % 3)");
    buf_deinit(&text);
    stats_destroy(s);
}

static void quantiles(void **state)
{
    struct stats *s = stats_create();
    struct metric *h = stats_histogram(s, "h", "numbers");
    assert_int_equal(metric_quantile(h, 0.5), 0);
    for (uint64_t v = 0; v < 1000; v++)
        metric_observe(h, v);
    assert_int_equal(metric_value(h), 1000);
    assert_int_equal(metric_sum(h), 499500);
    static const double shares[] = {0.01, 0.25, 0.5, 0.9, 0.999, 1};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double exact = shares[i] * 1000, found = (double)metric_quantile(h, shares[i]);
        assert_true(found >= exact - 1 && found <= exact * 1.25 + 1);
    }
    stats_destroy(s);
}

/* Every value goes into a bucket that does not end below it, nor a quarter above. */
static void buckets_hold_their_values(void **state)
{
    for (int bit = 0; bit < 64; bit++)
        for (int64_t by = -1; by <= 1; by++) {
            struct stats *s = stats_create();
            struct metric *h = stats_histogram(s, "h", "one number");
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)by;
            metric_observe(h, v);
            uint64_t end = metric_quantile(h, 1);
            assert_true(end >= v);
            assert_true(end - v <= v / 4);
            stats_destroy(s);
        }
}

/* ---- threads ---- */

enum { THREADS = 4, TIMES = 20000 };

static void *count_much(void *arg)
{
    struct stats *s = arg;
    struct metric *n = stats_counter(s, "n", "what all count");
    struct metric *h = stats_histogram(s, "h", "what all see");
    for (int i = 0; i < TIMES; i++) {
        metric_add(n, 1);
        metric_observe(h, (uint64_t)i);
    }
    return NULL;
}

static void *make_many(void *arg)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "i", "j", "k"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        metric_add(stats_counter(arg, names[i], "made by whoever comes first"), 1);
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    struct stats *s = stats_create();
    struct thread counting[THREADS] = {{0}}, making[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(thread_start(&counting[i], "count", i, count_much, s, NULL), SKIFF_OK);
        assert_int_equal(thread_start(&making[i], "make", i, make_many, s, NULL), SKIFF_OK);
    }
    struct buf text = BUF_INIT;
    stats_text(s, &text); /* while they count */
    for (int i = 0; i < THREADS; i++) {
        thread_join(&counting[i]);
        thread_join(&making[i]);
    }
    assert_int_equal(stats_value(s, "n"), THREADS * TIMES);
    assert_int_equal(stats_value(s, "h"), THREADS * TIMES);
    assert_int_equal(stats_value(s, "k"), THREADS);
    size_t n = 0;
    while (stats_at(s, n))
        n++;
    assert_int_equal(n, 12);
    buf_deinit(&text);
    stats_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_one_number),
        cmocka_unit_test(listed_in_order),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(buckets_hold_their_values),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
