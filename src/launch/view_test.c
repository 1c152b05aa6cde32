/* What a launch looks like, from the reports of its processes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/view.h"

#define NOW 1000.0

/* A server and three workers; times are seconds before NOW. */
static void fill(struct launch *l, struct launch_process at[4])
{
    for (int i = 0; i < 4; i++)
        at[i] = (struct launch_process){.server = i == 0,
                                        .called = i ? "worker" : "server",
                                        .index = i ? i - 1 : 0,
                                        .now = {.epoch = -1},
                                        .total = {.samples = -1}};
    *l = (struct launch){.at = at, .n = 4, .nservers = 1, .nworkers = 3, .failed = -1};
}

static void report_as(struct launch_process *p, int epoch, double share, int64_t samples,
                      double loss)
{
    p->now = (struct report){.epoch = epoch,
                             .share = share,
                             .samples = samples,
                             .seconds = 10,
                             .loss = loss,
                             .auc = NAN};
    p->health.heard = p->health.moved = NOW - 0.5;
}

static void workers_are_put_together(void **state)
{
    struct launch l;
    struct launch_process at[4];
    fill(&l, at);
    struct launch_view v = launch_view_of(&l, NOW);
    assert_int_equal(v.reports, 0);
    assert_int_equal(v.running, 3);
    assert_int_equal(v.servers, 1);
    report_as(&at[1], 2, 0.5, 100, 0.2);
    report_as(&at[2], 1, 0.25, 300, 0.6);
    at[2].health.speed = 50;
    v = launch_view_of(&l, NOW);
    assert_int_equal(v.reports, 2);
    assert_int_equal(v.epoch, 1);
    assert_true(v.share == 0.375);
    assert_true(v.rate == 60); /* 100 samples in 10 s, and 50 a second of late */
    assert_true(fabs(v.loss - 0.5) < 1e-12);
    assert_true(isnan(v.auc));
    at[1].health.heard = NOW - 4; /* silent: its speed is not known any more */
    assert_true(launch_view_of(&l, NOW).rate == 50);
    at[2].health.accused = NOW - 1;
    v = launch_view_of(&l, NOW);
    assert_int_equal(v.running, 2);
    assert_true(v.rate == 0);
}

static void a_pass_is_no_epoch(void **state)
{
    struct launch l;
    struct launch_process at[4];
    char text[48];
    fill(&l, at);
    report_as(&at[1], 2, 0.5, 100, 0.2);
    struct launch_view v = launch_view_of(&l, NOW);
    launch_span_text(&v, text);
    assert_string_equal(text, "epoch 2");
    at[1].now.day =
        20260131; /* ahead of the other one, which is in a later pass of the day before */
    report_as(&at[2], 5, 0.5, 100, 0.2);
    at[2].now.day = 20260130;
    v = launch_view_of(&l, NOW);
    launch_span_text(&v, text);
    assert_string_equal(text, "day 20260130, pass 5");
}

static void a_workers_state_is_seen(void **state)
{
    struct launch l;
    struct launch_process at[4];
    fill(&l, at);
    report_as(&at[1], 0, 0.5, 100, 0.2);
    assert_int_equal(launch_worker_view_of(&at[1], NOW).state, LAUNCH_WORKER_TRAINS);
    at[1].health.moved = NOW - 5;
    struct launch_worker_view v = launch_worker_view_of(&at[1], NOW);
    assert_int_equal(v.state, LAUNCH_WORKER_STUCK);
    assert_true(v.seconds == 5 && v.speed == 10);
    at[1].health.heard = NOW - 4;
    v = launch_worker_view_of(&at[1], NOW);
    assert_int_equal(v.state, LAUNCH_WORKER_SILENT);
    assert_true(v.seconds == 4);
    at[1].now.share = 1;
    assert_int_equal(launch_worker_view_of(&at[1], NOW).state, LAUNCH_WORKER_WAITS);
    at[1].health.stopped = NOW - 2;
    assert_int_equal(launch_worker_view_of(&at[1], NOW).state, LAUNCH_WORKER_STOPPED);
    at[1].health.accused = NOW - 1;
    assert_int_equal(launch_worker_view_of(&at[1], NOW).state, LAUNCH_WORKER_DEAD);
}

static void results_are_rows(void **state)
{
    struct launch l;
    struct launch_process at[4];
    char text[128];
    struct launch_row sum;
    fill(&l, at);
    assert_false(launch_row_sum(&l, &sum));
    at[1].total = (struct report){.samples = 100, .seconds = 4, .auc = 0.7, .job_auc = 0.8};
    report_as(&at[2], 1, 0.5, 30, 0.6); /* died: 50 of the epoch before, 30 of this one */
    assert_true(
        report_metric_parse("S skiff_train_samples_total{work=\"train\"} 70", &at[2].counted));
    assert_true(
        report_metric_parse("S skiff_train_samples_total{work=\"train\"} 80", &at[2].counted));
    at[2].seconds = 9;
    at[2].ended = true;
    at[2].status = -9;
    struct launch_row row = launch_row_of(&at[1]);
    assert_true(row.samples == 100 && row.seconds == 4 && row.speed == 25 && row.auc == 0.7);
    row = launch_row_of(&at[2]);
    assert_true(row.samples == 80 && row.seconds == 9 && isnan(row.speed) && isnan(row.auc));
    assert_true(launch_row_sum(&l, &sum));
    assert_true(sum.samples == 180 && sum.seconds == 4 && sum.speed == 45 && sum.auc == 0.8);
    launch_status_text(&at[2], text, sizeof text);
    assert_string_equal(text, "killed by signal 9 (Killed)");
    launch_status_text(&at[3], text, sizeof text);
    assert_string_equal(text, "not started");
    snapshot_deinit(&at[2].counted);
}

static void logs_are_read_from_their_end(void **state)
{
    struct launch l;
    struct launch_process at[4];
    char path[] = "/tmp/view_test.XXXXXX", line[128];
    struct buf tail = BUF_INIT;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    fill(&l, at);
    at[1].log = at[2].log = at[3].log = path;
    launch_last_line(&l, line, sizeof line);
    assert_string_equal(line, "");
    launch_log_tail(&at[1], 2, &tail);
    assert_int_equal(tail.len, 0);
    assert_true(dprintf(fd, "of another run\n") > 0);
    at[1].log_from = at[2].log_from = at[3].log_from = lseek(fd, 0, SEEK_CUR);
    assert_true(dprintf(fd, "one\nskiff train: stopped at 5, saved in model/0\nthr\tee\n") > 0);
    launch_last_line(&l, line, sizeof line);
    assert_string_equal(line, "thr ee");
    launch_log_tail(&at[1], 2, &tail);
    assert_string_equal(tail.data, "skiff train: stopped at 5, saved in model/0\nthr\tee");
    buf_reset(&tail);
    launch_log_tail(&at[1], 20, &tail);
    assert_memory_equal(tail.data, "one\n", 4);
    assert_true(launch_saved_line(&l, line, sizeof line));
    assert_string_equal(line, "stopped at 5, saved in model/0");
    buf_deinit(&tail);
    close(fd);
    unlink(path);
}

static void words_are_quoted(void **state)
{
    struct buf line = BUF_INIT;
    launch_add_word(&line, "skiff");
    launch_add_word(&line, "it's");
    launch_add_word(&line, "");
    assert_string_equal(line.data, "skiff 'it'\\''s' ''");
    buf_deinit(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_put_together),     cmocka_unit_test(a_pass_is_no_epoch),
        cmocka_unit_test(a_workers_state_is_seen),      cmocka_unit_test(results_are_rows),
        cmocka_unit_test(logs_are_read_from_their_end), cmocka_unit_test(words_are_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
