#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/run_report.h"

static struct run_point point(int epoch, double at, double loss)
{
    return (struct run_point){.epoch = epoch,
                              .at_samples = at,
                              .at_seconds = at / 10,
                              .samples = 1,
                              .seconds = 0.1,
                              .n = {loss, 0.5, loss, 0.5, NAN},
                              .clicks = 0.2,
                              .predicted = 0.4};
}

/* However many are added, there are few, in order, and their windows cover everything: sums over
 * samples stay what they were. */
static void points_are_merged(void **state)
{
    struct run_report r;
    double samples = 0, loss = 0, at = 0;
    run_report_init(&r);
    for (int i = 0; i < 5000; i++) {
        struct run_point p = point(i / 2500, i + 1, i % 7);
        run_add_point(&r, &p);
    }
    assert_in_range(r.points.n, RUN_MAX_POINTS / 4, RUN_MAX_POINTS);
    for (int i = 0; i < r.points.n; i++) {
        const struct run_point *p = &r.points.at[i];
        assert_true(p->at_samples > at);
        assert_true(fabs(p->at_samples - p->samples - at) < 1e-9); /* no gap */
        assert_true(p->epoch == (p->at_samples > 2500)); /* nor over the end of an epoch */
        assert_true(fabs(p->n.copc - 0.5) < 1e-12 && isnan(p->n.accuracy));
        at = p->at_samples;
        samples += p->samples;
        loss += p->samples * p->n.loss;
    }
    double expected = 0;
    for (int i = 0; i < 5000; i++)
        expected += i % 7;
    assert_true(fabs(samples - 5000) < 1e-6);
    assert_true(fabs(loss - expected) < 1e-6);
    run_report_deinit(&r);
}

/* More epochs than points that are kept. */
static void many_epochs_are_thinned(void **state)
{
    struct run_report r;
    run_report_init(&r);
    for (int i = 0; i < 5000; i++) {
        struct run_point p = point(i, i + 1, 1);
        run_add_point(&r, &p);
        run_add_valid(&r, &p);
        run_add_epoch(&r, &(struct run_epoch){.epoch = i, .samples = 1, .seconds = 0.5});
    }
    assert_in_range(r.points.n, 1, RUN_MAX_POINTS);
    assert_in_range(r.valid.n, 1, RUN_MAX_POINTS);
    assert_in_range(r.nepochs, 1, RUN_MAX_EPOCHS);
    assert_int_equal(run_last_epoch(&r)->epoch, 4999);
    assert_int_equal(r.valid.at[r.valid.n - 1].epoch, 4999);
    assert_int_equal(r.points.at[r.points.n - 1].epoch, 4999);
    assert_true(run_speed(&r) == 2);
    run_report_deinit(&r);
}

/* Of too many validations every second one goes, but the best stays where it was. */
static void the_best_validation_is_kept(void **state)
{
    for (int best = 300; best < 304; best++) {
        struct run_report r;
        run_report_init(&r);
        for (int i = 0; i < 3000; i++) {
            struct run_point p = point(i, i + 1, 1);
            p.best = i == best;
            run_add_valid(&r, &p);
        }
        assert_int_equal(run_best_valid(&r)->epoch, best);
        assert_int_equal(run_best_valid(&r)->at_samples, best + 1);
        assert_int_equal(r.valid.at[r.valid.n - 1].epoch, 2999);
        run_report_deinit(&r);
    }
}

static void a_short_last_window_is_no_point(void **state)
{
    struct run_report r;
    run_report_init(&r);
    struct run_point p = point(0, 100, 1), rest = point(0, 110, 12), long_rest = point(0, 210, 3);
    p.samples = 100;
    rest.samples = 10;
    long_rest.samples = 100;
    run_add_last_point(&r, &p);
    run_add_last_point(&r, &rest);
    assert_int_equal(r.points.n, 1);
    assert_true(r.points.at[0].n.loss == 2 && r.points.at[0].samples == 110);
    assert_true(r.points.at[0].at_samples == 110);
    run_add_last_point(&r, &long_rest);
    assert_int_equal(r.points.n, 2);
    rest.epoch = 1;
    run_add_last_point(&r, &rest);
    assert_int_equal(r.points.n, 3);
    run_report_deinit(&r);
}

/* Windows of 1 sample become windows of 4, an epoch's last may be shorter. */
static void windows_are_merged(void **state)
{
    struct run_point at[13];
    for (int i = 0; i < 13; i++)
        at[i] = point(i / 7, i + 1, i);
    assert_int_equal(run_merge_windows(at, 13, 4, 0), 4);
    assert_true(at[0].samples == 4 && at[0].n.loss == 1.5 && at[0].at_samples == 4);
    assert_true(at[1].samples == 3 && at[1].epoch == 0 && at[1].at_samples == 7);
    assert_true(at[2].samples == 4 && at[2].epoch == 1 && at[2].n.loss == 8.5);
    assert_true(at[3].samples == 2 && at[3].at_samples == 13);
    assert_int_equal(run_merge_windows(at, 4, 0, 0.25), 4);
    assert_int_equal(run_merge_windows(at, 4, 0, 1), 2);
    assert_int_equal(run_merge_windows(at, 0, 1, 1), 0);
}

/* A worker saw 10 of 40 samples in epoch 1, which began after 100. */
static void points_are_scaled(void **state)
{
    struct run_report r;
    run_report_init(&r);
    struct run_point before = point(0, 100, 1), p = point(1, 105, 1), valid = point(1, 110, 1);
    p.samples = 5;
    run_add_point(&r, &before);
    run_add_point(&r, &p);
    run_add_valid(&r, &valid);
    run_scale_epoch(&r, 1, 100, 4);
    assert_true(r.points.at[0].at_samples == 100 && r.points.at[0].samples == 1);
    assert_true(r.points.at[1].at_samples == 120 && r.points.at[1].samples == 20);
    assert_true(r.valid.at[0].at_samples == 140 && r.valid.at[0].samples == 1);
    run_report_deinit(&r);
}

static void bins_hold_equally_many(void **state)
{
    static double clicked[4097], not_clicked[4097];
    struct run_bins bins;
    double count = 0, seen = 0;
    for (int b = 0; b < 4096; b++) { /* a share of b / 4096 is clicked, of 4096 each */
        clicked[b] = b;
        not_clicked[b] = 4096 - b;
    }
    run_bins_fill(&bins, clicked, not_clicked, 4097);
    assert_int_equal(bins.n, RUN_MAX_BINS);
    for (int i = 0; i < bins.n; i++) {
        const struct run_bin *k = &bins.at[i];
        assert_true(fabs(k->count / (4096.0 * 4096 / RUN_MAX_BINS) - 1) < 0.01);
        assert_true(k->predicted > k->low && k->predicted < k->high);
        assert_true(fabs(k->predicted - k->seen) < 1.0 / 4096);
        assert_true(i ? k->low == bins.at[i - 1].high : k->low == 0);
        count += k->count;
        seen += k->count * k->seen;
    }
    assert_true(count == 4096.0 * 4096);
    assert_true(fabs(seen - 4095.0 * 2048) < 1e-3);
    assert_true(bins.at[bins.n - 1].high == 1);
}

static void few_samples_have_few_bins(void **state)
{
    static double clicked[4097], not_clicked[4097];
    struct run_bins bins;
    run_bins_fill(&bins, clicked, not_clicked, 4097);
    assert_int_equal(bins.n, 0);
    clicked[4096] = 1; /* a prediction of exactly 1 */
    not_clicked[0] = 2;
    run_bins_fill(&bins, clicked, not_clicked, 4097);
    assert_int_equal(bins.n, 2);
    assert_true(bins.at[0].seen == 0 && bins.at[0].count == 2 && bins.at[0].low == 0);
    assert_true(bins.at[1].seen == 1 && bins.at[1].count == 1);
    assert_true(bins.at[1].low == 1 && bins.at[1].high == 1 && bins.at[1].predicted == 1);
}

/* Hundreds of saves and warnings: what is kept is bounded, and how it ended is there. */
static void events_are_bounded(void **state)
{
    struct run_report r;
    char text[32];
    run_report_init(&r);
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof(text), "epoch %d", i);
        run_add_event(&r, i == 7 ? RUN_WARNING : RUN_SAVED, i, text);
    }
    assert_int_equal(r.nevents, RUN_MAX_EVENTS);
    assert_int_equal(run_count_events(&r, RUN_WARNING), 1);
    assert_string_equal(r.events[r.nevents - 1].text, "epoch 2999");
    for (int i = 0; i < 1000; i++)
        run_add_event(&r, RUN_WARNING, 3000, "again");
    run_add_event(&r, RUN_ERROR, 4000, "the end");
    assert_int_equal(r.nevents, RUN_MAX_EVENTS);
    assert_string_equal(r.events[r.nevents - 1].text, "the end");
    assert_int_equal(r.events_lost, 3000 + 1000 + 1 - RUN_MAX_EVENTS);
    run_report_deinit(&r);
}

static void ops_are_added_up(void **state)
{
    struct run_report r;
    run_report_init(&r);
    run_add_op(&r, &(struct run_op){"fc", false, 2, 0.5});
    run_add_op(&r, &(struct run_op){"adam", true, 2, 1});
    run_add_op(&r, &(struct run_op){"fc", false, 3, 1});
    run_add_op(&r, &(struct run_op){"fc", true, 1, 0.25});
    run_sort_ops(&r);
    assert_int_equal(r.nops, 3);
    assert_string_equal(r.ops[0].type, "fc");
    assert_true(r.ops[0].seconds == 1.5 && r.ops[0].calls == 5);
    assert_string_equal(r.ops[1].type, "adam");
    assert_true(r.ops[2].update && r.ops[2].seconds == 0.25);
    run_report_deinit(&r);
}

static void the_machine_is_known(void **state)
{
    struct run_report r;
    run_report_init(&r);
    run_machine_read(&r);
    assert_true(r.machine.cores >= 1 && r.machine.memory > 1 << 20);
    assert_true(r.machine.peak_memory > 1 << 20 && r.machine.peak_memory <= r.machine.memory);
    assert_non_null(strstr(r.machine.system, "Linux"));
    assert_true(strlen(r.machine.skiff) >= 5);
    run_report_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_merged),
        cmocka_unit_test(many_epochs_are_thinned),
        cmocka_unit_test(the_best_validation_is_kept),
        cmocka_unit_test(a_short_last_window_is_no_point),
        cmocka_unit_test(windows_are_merged),
        cmocka_unit_test(points_are_scaled),
        cmocka_unit_test(bins_hold_equally_many),
        cmocka_unit_test(few_samples_have_few_bins),
        cmocka_unit_test(events_are_bounded),
        cmocka_unit_test(ops_are_added_up),
        cmocka_unit_test(the_machine_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
