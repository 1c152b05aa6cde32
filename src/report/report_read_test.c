/* A report written as JSON and read again is the same; pages of whatever was read are complete. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "report/report.h"

#define HOSTILE "</td><script>alert(\"1\")</script>&amp;'\\\n\x01\xFF: {[#*&!"

static void fill(struct run_report *r)
{
    run_report_init(r);
    r->name = run_text(r, "0123");
    r->command = run_text(r, "train");
    r->model = run_text(r, "rank/dnn");
    r->model_path = run_text(r, "/models/" HOSTILE);
    r->started = run_text(r, "2026-05-01T10:11:12Z");
    r->status = RUN_STOPPED;
    r->seconds = 12.5;
    r->samples = 3000;
    r->threads = 2;
    r->workers = 3;
    r->worker = 1;
    for (int e = 0; e < 2; e++) {
        struct run_numbers n = {0.5 - 0.1 * e, 0.7 + 0.05 * e, 0.4, 1.02, NAN};
        run_add_epoch(r, &(struct run_epoch){e, !e, 1000 * (e + 1), 2 * (e + 1), 1000, 2, n, 0.25,
                                             0.5, 0.25});
        for (int i = 0; i < 4; i++)
            run_add_point(r, &(struct run_point){e, 1000 * e + 250 * (i + 1), 0.5 * (i + 1), 250,
                                                 0.5, n, 0.2, 0.25, false});
        run_add_valid(r, &(struct run_point){e, 1000 * (e + 1), 2, 500, 0.1, n, NAN, NAN, e == 1});
    }
    r->servers = 2;
    r->valid_metric = "log loss";
    r->data[RUN_TRAIN] = (struct run_data){3, 1000, 20};
    r->data[RUN_VALID] = (struct run_data){0, 500, 200};
    run_add_test(r, &(struct run_test){1, true, 64, {0.5, 0.8125, 0.4, 1, NAN}});
    r->test_calibration.n = 1;
    r->test_calibration.at[0] = (struct run_bin){0.25, 1, 0.5, 0.5, 64};
    struct run_quality q = {.data = "valid" HOSTILE, .epoch = 1};
    for (int i = 0; i < RUN_QUALITY_VALUES; i++)
        q.values[i] = i == QUALITY_GROUP_AUC ? NAN : 0.5 + i;
    run_add_quality(r, &q);
    run_add_importance(r, &(struct run_importance){.column = "age" HOSTILE,
                                                   .data = "valid",
                                                   .rows = 2000,
                                                   .repeats = 5,
                                                   .auc = {0.1, 0.05, 0.15},
                                                   .log_loss = {-0.01, -0.02, 0.01}});
    r->calibration.n = r->valid_calibration.n = 1;
    r->calibration.at[0] = (struct run_bin){0, 0.5, 0.25, 0.125, 640};
    r->valid_calibration.at[0] = (struct run_bin){0.5, 1, 0.75, 0.5, 64};
    run_add_op(r, &(struct run_op){"fused_fc", false, 100, 1.5});
    run_add_op(r, &(struct run_op){"adam", true, 50, 0.5});
    r->slot_rows = 256;
    run_add_slot(r, &(struct run_slot){HOSTILE, "", "int64", true, 300, 20, 17, -3, 99, NAN});
    run_add_slot(
        r, &(struct run_slot){"dense", HOSTILE, "float32", false, 256, 0, NAN, -1.5, 2.5, 0.25});
    run_add_config(r, "runner.pipe_command", HOSTILE);
    run_add_config(r, HOSTILE, "");
    run_add_event(r, RUN_WARNING, 3.5, HOSTILE);
    run_add_event(r, RUN_INTERRUPT, 12.5, "stopped");
    r->machine =
        (struct run_machine){"host", "a cpu", "Linux", "0.1.0", "12.2.0", 2, 1 << 30, 1 << 20};
}

static void read_again_it_is_the_same(void **state)
{
    struct run_report r, again;
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct skiff_error err = {0};
    fill(&r);
    run_report_init(&again);
    report_json(&r, &first);
    if (report_parse_json(first.data, first.len, "r.json", &again, &err) < 0)
        fail_msg("%s", err.message);
    report_json(&again, &second);
    assert_string_equal(first.data, second.data);
    assert_int_equal(again.status, RUN_STOPPED);
    assert_true(again.epochs[1].n.auc == 0.75 && isnan(again.epochs[1].n.accuracy));
    assert_false(again.epochs[1].complete);
    assert_true(again.points.n == 8 && again.points.at[5].at_samples == 1500);
    assert_true(again.valid.n == 2 && again.valid.at[1].samples == 500);
    assert_true(again.slots[0].distinct == 17 && again.slots[0].least == -3);
    assert_string_equal(again.slots[0].name,
                        "</td><script>alert(\"1\")</script>&amp;'\\\n\x01\uFFFD: {[#*&!");
    assert_string_equal(again.config[1].key, again.slots[0].name);
    assert_int_equal(again.events[0].kind, RUN_WARNING);
    assert_true(again.machine.memory == 1 << 30);
    assert_true(again.servers == 2 && again.data[RUN_VALID].positives == 200);
    assert_true(again.data[RUN_TEST].rows == 0 && isnan(again.data[RUN_TEST].positives));
    assert_true(!again.valid.at[0].best && run_best_valid(&again) == &again.valid.at[1]);
    assert_true(again.ntests == 1 && again.tests[0].best && again.tests[0].n.auc == 0.8125);
    assert_string_equal(again.slots[1].column, again.slots[0].name);
    buf_deinit(&first);
    buf_deinit(&second);
    run_report_deinit(&r);
    run_report_deinit(&again);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* Whatever is in names and values, the page has one script, its own, and no address. */
static void pages_are_whole(void **state)
{
    struct run_report r[2];
    const struct run_report *runs[REPORT_MAX_RUNS];
    for (int i = 0; i < 2; i++)
        fill(&r[i]);
    r[1].config[0].value = run_text(&r[1], "cat");
    for (int i = 0; i < REPORT_MAX_RUNS; i++)
        runs[i] = &r[i % 2];
    for (int n = 1; n <= REPORT_MAX_RUNS; n += 5) {
        struct buf b = BUF_INIT;
        report_html(runs, n, &b);
        assert_int_equal(count(b.data, "<script"), 1);
        assert_int_equal(count(b.data, "</script>"), 1);
        assert_int_equal(count(b.data, "alert(\""), 0);
        assert_int_equal(count(b.data, "://"), 0);
        assert_int_equal(count(b.data, "<div"), count(b.data, "</div>"));
        assert_int_equal(count(b.data, "<td"), count(b.data, "</td>"));
        assert_int_equal(count(b.data, "<svg"), count(b.data, "</svg>"));
        assert_int_equal(count(b.data, "nan"), 0);
        assert_int_equal(count(b.data, "inf\""), 0);
        buf_deinit(&b);
    }
    for (int i = 0; i < 2; i++)
        run_report_deinit(&r[i]);
}

static void page_has(const struct run_report *r, const char *part)
{
    struct buf b = BUF_INIT;
    report_html(&r, 1, &b);
    if (!strstr(b.data, part))
        fail_msg("the page has no %s", part);
    buf_deinit(&b);
}

static void headlines_say_how_it_went(void **state)
{
    struct run_report r;
    fill(&r);
    page_has(
        &r, "<p class=\"q\">Training AUC</p><p class=\"v\">0.7500</p><p class=\"s\">+0.0500 since");
    page_has(&r, "<p class=\"v\">1.020</p><p class=\"s\">2 % more clicks than predicted");
    page_has(&r, "<p class=\"q\">Validation AUC</p><p class=\"v\">0.7500</p><p class=\"s\">"
                 "\u2605 best epoch: 1</p>");
    page_has(&r, "<p class=\"q\">Test AUC</p><p class=\"v\">0.8125</p>");
    page_has(&r, "<td>train</td><td class=\"n\">3</td><td class=\"n\">1000</td>"
                 "<td class=\"n\">67&nbsp;%</td><td class=\"n\">20</td>"
                 "<td class=\"n\">2.00&nbsp;%</td>");
    page_has(&r, "<td>valid</td><td class=\"n\">\u2013</td><td class=\"n\">500</td>");
    page_has(&r, "2 threads, 2 servers, 3 workers");
    page_has(&r, "<p class=\"v\">stopped</p><p class=\"s\"><b>1 warning</b>");
    page_has(&r, "<p class=\"v\">500</p><p class=\"s\">25&nbsp;% of the time spent on reading");
    page_has(&r, "started 2026-05-01 10:11:12 UTC");
    page_has(&r, "Epochs cover all 3 workers");
    page_has(&r, "\u2605</b> <small>part</small></td><td class=\"n\">0.7500</td>");
    page_has(&r, "aria-label=\"AUC: validation 0.7 to 0.75, best epoch 1 with 0.75; training 0.7");
    page_has(&r, "<i class=\"star t1\"");
    r.valid.at[1].n.copc = 0.65;
    page_has(&r, "<b>35 % fewer clicks than predicted</b>");
    run_report_deinit(&r);
}

/* A run that was killed before its first epoch ended. */
static void an_empty_run_has_a_page(void **state)
{
    struct run_report r;
    run_report_init(&r);
    page_has(&r, "it was killed");
    page_has(&r, "No metrics yet.");
    run_report_deinit(&r);
}

static void refused(const char *text, const char *expected)
{
    struct run_report r;
    struct skiff_error err = {0};
    run_report_init(&r);
    assert_true(report_parse_json(text, strlen(text), "r.json", &r, &err) < 0);
    if (!strstr(err.message, expected))
        fail_msg("\"%s\" instead of \"%s\"", err.message, expected);
    run_report_deinit(&r);
}

static void broken_files_are_refused(void **state)
{
    refused("", "r.json is not a run report: it has no \"skiff_report\": 1");
    refused("{\"a\": 1}", "r.json is not a run report");
    refused("[1, 2]", "not a run report: r.json: ");
    refused("{\"skiff_report\": 1, \"epochs\": [{\"epoch\": 0,",
            "not a run report: r.json:2: did not find");
    refused("{\"skiff_report\": 2}", "r.json is a report of version 2; this skiff reads up to 1");
    refused("{\"skiff_report\": 1,\n\"epochs\": [{\"epoch\": 0, \"auc\": \"high\"}]}",
            "r.json:2: epochs.0.auc must be a number, found \"high\"");
    refused("{\"skiff_report\": 1,\n\"epochs\": [{\"epoch\": 0, \"seconds\": -1}]}",
            "r.json:2: epochs.0.seconds must not be below 0, found -1");
    refused("{\"skiff_report\": 1, \"points\": [{\"epoch\": -1}]}",
            "points.0.epoch must be between 0 and 1000000, found -1");
    refused("{\"skiff_report\": 1, \"run\": {\"status\": \"lost\"}}",
            "run.status must be running, done, stopped or failed, found \"lost\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_again_it_is_the_same), cmocka_unit_test(pages_are_whole),
        cmocka_unit_test(headlines_say_how_it_went), cmocka_unit_test(an_empty_run_has_a_page),
        cmocka_unit_test(broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
