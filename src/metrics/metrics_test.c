#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "metrics/metrics.h"

/* ---- the list ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static bool is_name(const char *text)
{
    for (; islower((unsigned char)*text) || *text == '_'; text++)
        ;
    return !*text;
}

/* What Prometheus asks of names, and readers of the list. */
static void the_list_is_well_formed(void **state)
{
    for (int i = 0; i < METRIC_IDS; i++) {
        const struct metric_def *d = metric_def((enum metric_id)i);
        char text[64];
        if (strncmp(d->name, "skiff_", 6) || !is_name(d->name))
            fail_msg("%s: a name is skiff_ and lower case letters", d->name);
        if (strlen(d->name) >= sizeof text)
            fail_msg("%s is longer than 63 letters", d->name);
        if (ends_with(d->name, "_total") != (d->kind == METRIC_KIND_COUNTER))
            fail_msg("%s: counters, and only they, end in _total", d->name);
        if (!strcmp(d->unit, "seconds") != (strstr(d->name, "_seconds") != NULL))
            fail_msg("%s is in %s", d->name, d->unit);
        if (!*d->help || !*d->unit || strpbrk(d->help, "|\\\n") || ends_with(d->help, "."))
            fail_msg("%s: help \"%s\"", d->name, d->help);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(metric_def((enum metric_id)k)->name, d->name);
    }
}

static void short_names(void **state)
{
    char text[64];
    assert_string_equal(metric_short_name(METRIC_SERVER_STEPS, text), "server_steps");
    assert_string_equal(metric_short_name(METRIC_TABLE_BYTES, text), "table_bytes");
    assert_string_equal(metric_short_name(METRIC_RPC_CALL_SECONDS, text), "rpc_call_ns");
}

/* ---- registries ---- */

static void a_name_is_one_number(void **state)
{
    struct metrics *r = metrics_create(NULL, 0), *other = metrics_create(NULL, 0);
    struct metric *a = metrics_get(r, METRIC_NET_FRAMES_IN);
    assert_ptr_equal(metrics_get(r, METRIC_NET_FRAMES_IN), a);
    assert_ptr_not_equal(metrics_get(other, METRIC_NET_FRAMES_IN), a);
    metric_add(a, 3);
    metric_add(a, 4);
    struct metric *g = metrics_get(r, METRIC_RPC_KEPT_BYTES);
    metric_set(g, 10);
    metric_set(g, 6);
    assert_int_equal(metrics_value(r, METRIC_NET_FRAMES_IN), 7);
    assert_int_equal(metrics_value(r, METRIC_RPC_KEPT_BYTES), 6);
    assert_int_equal(metrics_value(other, METRIC_NET_FRAMES_IN), 0);
    assert_int_equal(metrics_value(r, METRIC_NET_FRAMES_OUT), 0);
    metrics_destroy(r);
    metrics_destroy(other);
    metrics_destroy(NULL);
}

static void labels_separate_metrics(void **state)
{
    struct metrics *r = metrics_create("server", 3);
    struct metric *a = metrics_get(r, METRIC_TABLE_ROWS, "a");
    struct metric *b = metrics_get(r, METRIC_TABLE_ROWS, "b \"c\"\\\n");
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(metrics_get(r, METRIC_TABLE_ROWS, "a"), a);
    assert_string_equal(a->labels, "table=\"a\",server=\"3\"");
    assert_string_equal(b->labels, "table=\"b \\\"c\\\"\\\\\\n\",server=\"3\"");
    assert_string_equal(metrics_get(r, METRIC_SERVER_STEPS)->labels, "server=\"3\"");
    metric_set(a, 2);
    metric_set(b, 40);
    assert_int_equal(metrics_value(r, METRIC_TABLE_ROWS), 42);
    metrics_destroy(r);
}

/* ---- snapshots ---- */

static void values_of_one_moment(void **state)
{
    struct metrics *r = metrics_create(NULL, 0);
    struct metrics_snapshot before = {0}, now = {0};
    struct metric *silent = metrics_get(r, METRIC_NET_UNAUTHENTICATED, "silent");
    metric_add(metrics_get(r, METRIC_NET_UNAUTHENTICATED, "nonsense"), 5);
    metric_add(silent, 1);
    snapshot_add(&before, r);
    metric_add(silent, 2);
    metric_add(metrics_get(r, METRIC_SERVER_STEPS), 7); /* not there before */
    snapshot_add(&now, r);
    assert_int_equal(snapshot_value(&before, METRIC_NET_UNAUTHENTICATED, NULL), 6);
    assert_int_equal(snapshot_value(&now, METRIC_NET_UNAUTHENTICATED, "silent"), 3);
    assert_int_equal(snapshot_value(&now, METRIC_NET_UNAUTHENTICATED, "no secret"), 0);
    assert_int_equal(snapshot_since(&now, &before, METRIC_NET_UNAUTHENTICATED, NULL), 2);
    assert_int_equal(snapshot_since(&now, &before, METRIC_NET_UNAUTHENTICATED, "nonsense"), 0);
    assert_int_equal(snapshot_since(&now, &before, METRIC_SERVER_STEPS, NULL), 7);
    assert_int_equal(now.samples[0].id, METRIC_SERVER_STEPS); /* in the order of the list */
    snapshot_deinit(&before);
    snapshot_deinit(&now);
    metrics_destroy(r);
}

/* Registries of one process in one snapshot: the same metric once, its values added up. */
static void registries_are_added_up(void **state)
{
    struct metrics *r[2];
    struct metrics_snapshot s = {0};
    for (uint64_t i = 0; i < 2; i++) {
        r[i] = metrics_create(NULL, 0);
        metric_add(metrics_get(r[i], METRIC_RPC_CALLS), 10 + (int64_t)i);
        metric_observe(metrics_get(r[i], METRIC_RPC_CALL_SECONDS), 1 + 2 * i);
        snapshot_add(&s, r[i]);
    }
    assert_int_equal(s.n, 2);
    assert_int_equal(s.samples[0].value, 21);
    assert_int_equal(s.samples[1].value, 2);
    assert_int_equal(s.samples[1].sum, 4);
    assert_float_equal(snapshot_seconds(&s, METRIC_RPC_CALL_SECONDS, NULL), 4e-9, 1e-15);
    assert_true(snapshot_seconds(&s, METRIC_SESSION_WAIT_SECONDS, NULL) == 0);
    assert_int_equal(sample_count_below(&s.samples[1], 1), 1); /* at most 1 */
    assert_int_equal(sample_count_below(&s.samples[1], 2), 2); /* at most 3 */
    snapshot_deinit(&s);
    metrics_destroy(r[0]);
    metrics_destroy(r[1]);
}

static void log_lines(void **state)
{
    struct metrics *r = metrics_create("server", 0);
    struct metrics_snapshot s = {0};
    struct buf text = BUF_INIT;
    struct metric *h = metrics_get(r, METRIC_RPC_CALL_SECONDS);
    for (uint64_t v = 1; v <= 3; v++)
        metric_observe(h, v);
    metrics_get(r, METRIC_SERVER_PULLS); /* stays 0 */
    metric_observe(metrics_get(r, METRIC_STEP_SECONDS, "compute"), 2);
    metric_observe(metrics_get(r, METRIC_STEP_SECONDS, "read"), 1);
    metric_add(metrics_get(r, METRIC_SERVER_PUSHES), 2);
    metric_set(metrics_get(r, METRIC_TABLE_ROWS, "a"), -5);
    metric_set(metrics_get(r, METRIC_TABLE_ROWS, "b"), 1);
    snapshot_add(&s, r);
    snapshot_text(&s, &text);
    assert_string_equal(text.data,
                        "step_ns{compute}=1 (mean 2, 99 % 2) step_ns{read}=1 (mean 1, 99 % 1) "
                        "server_pushes=2 table_rows=-4 rpc_call_ns=3 (mean 2, 99 % 3)");
    buf_deinit(&text);
    snapshot_deinit(&s);
    metrics_destroy(r);
}

/* ---- for other processes ---- */

static char *prometheus_of(const struct metrics_snapshot *s)
{
    struct buf text = BUF_INIT;
    snapshot_prometheus(s, &text);
    return text.data;
}

/* What two processes send adds up; labels are kept, whatever characters they have. */
static void lines_carry_snapshots(void **state)
{
    static const char odd[] = "a\"} b\\n\n";
    struct metrics *r[2];
    struct metrics_snapshot direct = {0}, read = {0};
    for (int i = 0; i < 2; i++) {
        struct metrics_snapshot one = {0};
        struct buf text = BUF_INIT;
        r[i] = metrics_create("server", i);
        metric_set(metrics_get(r[i], METRIC_TABLE_ROWS, odd), -7);
        metric_add(metrics_get(r[i], METRIC_SERVER_STEPS), 3 + i);
        for (uint64_t v = 0; v < 3; v++)
            metric_observe(metrics_get(r[i], METRIC_RPC_CALL_SECONDS), v << (20 * v));
        snapshot_add(&direct, r[i]);
        snapshot_add(&one, r[i]);
        snapshot_write(&one, &text);
        buf_str(&text, "skiff_of_tomorrow{} 5\n"); /* a newer process */
        assert_true(snapshot_read(&read, text.data, text.len));
        snapshot_deinit(&one);
        buf_deinit(&text);
    }
    char *want = prometheus_of(&direct), *found = prometheus_of(&read);
    assert_string_equal(found, want);
    assert_int_equal(snapshot_value(&read, METRIC_TABLE_ROWS, odd), -14);
    assert_int_equal(read.n, 6);
    free(want);
    free(found);
    snapshot_deinit(&direct);
    snapshot_deinit(&read);
    metrics_destroy(r[0]);
    metrics_destroy(r[1]);
}

static void other_lines_are_refused(void **state)
{
    static const char *const lines[] = {"skiff_server_steps_total 4",
                                        "skiff_server_steps_total{",
                                        "skiff_server_steps_total{server=\"0\" 4",
                                        "skiff_server_steps_total{} ",
                                        "skiff_server_steps_total{} x",
                                        "skiff_server_steps_total{} 4 5",
                                        "skiff_server_steps_total{} 99999999999999999999999",
                                        "skiff_rpc_call_seconds{} 1",
                                        "skiff_rpc_call_seconds{} 1 5 252:1",
                                        "skiff_rpc_call_seconds{} 1 5 -1:1",
                                        "skiff_rpc_call_seconds{} 1 5 3",
                                        "skiff_rpc_call_seconds{} 1 5 3:1x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct metrics_snapshot s = {0};
        if (snapshot_read(&s, lines[i], strlen(lines[i])))
            fail_msg("taken: %s", lines[i]);
        snapshot_deinit(&s);
    }
}

/* ---- histograms ---- */

static uint64_t quantile(struct metrics *r, double share)
{
    struct metrics_snapshot s = {0};
    snapshot_add(&s, r);
    uint64_t value = sample_quantile(&s.samples[0], share);
    snapshot_deinit(&s);
    return value;
}

static void quantiles(void **state)
{
    struct metrics *r = metrics_create(NULL, 0);
    struct metric *h = metrics_get(r, METRIC_RPC_CALL_SECONDS);
    assert_int_equal(quantile(r, 0.5), 0);
    for (uint64_t v = 0; v < 1000; v++)
        metric_observe(h, v);
    assert_int_equal(metric_value(h), 1000);
    static const double shares[] = {0.01, 0.25, 0.5, 0.9, 0.999, 1};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double exact = shares[i] * 1000, found = (double)quantile(r, shares[i]);
        assert_true(found >= exact - 1 && found <= exact * 1.25 + 1);
    }
    metrics_destroy(r);
}

/* Every value goes into a bucket that does not end below it, nor a quarter above. */
static void buckets_hold_their_values(void **state)
{
    for (int bit = 0; bit < 64; bit++)
        for (int64_t by = -1; by <= 1; by++) {
            struct metrics *r = metrics_create(NULL, 0);
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)by;
            metric_observe(metrics_get(r, METRIC_RPC_CALL_SECONDS), v);
            uint64_t end = quantile(r, 1);
            assert_true(end >= v);
            assert_true(end - v <= v / 4);
            metrics_destroy(r);
        }
}

/* ---- threads ---- */

enum { THREADS = 4, TIMES = 20000 };

static void *count_much(void *arg)
{
    struct metric *n = metrics_get(arg, METRIC_NET_FRAMES_IN);
    struct metric *h = metrics_get(arg, METRIC_RPC_CALL_SECONDS);
    for (int i = 0; i < TIMES; i++) {
        metric_add(n, 1);
        metric_observe(h, (uint64_t)i);
    }
    return NULL;
}

static void *make_many(void *arg)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        metric_add(metrics_get(arg, METRIC_NET_UNAUTHENTICATED, names[i]), 1);
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    struct metrics *r = metrics_create(NULL, 0);
    struct metrics_snapshot now = {0}, end = {0};
    struct thread counting[THREADS] = {{0}}, making[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(thread_start(&counting[i], "count", i, count_much, r, NULL), SKIFF_OK);
        assert_int_equal(thread_start(&making[i], "make", i, make_many, r, NULL), SKIFF_OK);
    }
    snapshot_add(&now, r); /* while they count */
    for (int i = 0; i < THREADS; i++) {
        thread_join(&counting[i]);
        thread_join(&making[i]);
    }
    snapshot_add(&end, r);
    assert_int_equal(end.n, 12);
    assert_int_equal(snapshot_value(&end, METRIC_NET_FRAMES_IN, NULL), THREADS * TIMES);
    assert_int_equal(snapshot_value(&end, METRIC_RPC_CALL_SECONDS, NULL), THREADS * TIMES);
    assert_int_equal(snapshot_value(&end, METRIC_NET_UNAUTHENTICATED, "j"), THREADS);
    snapshot_deinit(&now);
    snapshot_deinit(&end);
    metrics_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_well_formed),
        cmocka_unit_test(short_names),
        cmocka_unit_test(a_name_is_one_number),
        cmocka_unit_test(labels_separate_metrics),
        cmocka_unit_test(values_of_one_moment),
        cmocka_unit_test(registries_are_added_up),
        cmocka_unit_test(log_lines),
        cmocka_unit_test(lines_carry_snapshots),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(buckets_hold_their_values),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
