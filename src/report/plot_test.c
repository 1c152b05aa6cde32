#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/plot.h"

/* Labels of an axis's ticks, separated by commas, are as given. */
static void ticks_are(enum axis_kind kind, double low, double high, int want, const char *expected)
{
    struct axis a;
    struct buf b = BUF_INIT;
    char text[32];
    axis_init(&a, kind, low, high, want);
    assert_true(a.low < a.high);
    for (int i = 0; i < a.nticks; i++) {
        assert_true(a.ticks[i] >= a.low - 1e-6 * a.step && a.ticks[i] <= a.high + 1e-6 * a.step);
        buf_printf(&b, "%s%s", i ? "," : "", axis_label(&a, a.ticks[i], text));
    }
    assert_string_equal(b.data ? b.data : "", expected);
    buf_deinit(&b);
}

static void ticks_are_round(void **state)
{
    ticks_are(AXIS_NUMBER, 0, 1, 5, "0,0.2,0.4,0.6,0.8,1.0");
    ticks_are(AXIS_NUMBER, 1, 0, 5, "0,0.2,0.4,0.6,0.8,1.0");
    ticks_are(AXIS_NUMBER, 0.4171, 0.4512, 4, "0.42,0.43,0.44,0.45");
    ticks_are(AXIS_NUMBER, -0.3, 0.3, 6, "-0.3,-0.2,-0.1,0,0.1,0.2,0.3");
    ticks_are(AXIS_NUMBER, 0, 0.26, 4, "0,0.1,0.2");
    ticks_are(AXIS_NUMBER, 0, 3, 4, "0,1,2,3");
    ticks_are(AXIS_NUMBER, 0, 4e7, 4, "0,1e+07,2e+07,3e+07,4e+07");
}

static void ticks_at_whole_numbers(void **state)
{
    ticks_are(AXIS_WHOLE, 0, 1, 4, "0,1");
    ticks_are(AXIS_WHOLE, 7, 7, 4, "7");
    ticks_are(AXIS_WHOLE, 0, 10, 4, "0,5,10");
    ticks_are(AXIS_WHOLE, 0, 100, 4, "0,25,50,75,100");
}

static void ticks_of_counts_and_times(void **state)
{
    ticks_are(AXIS_COUNT, 0, 900, 4, "0,250,500,750");
    ticks_are(AXIS_COUNT, 0, 1600000, 4, "0,0.5\u00a0M,1.0\u00a0M,1.5\u00a0M");
    ticks_are(AXIS_COUNT, 0, 800000, 4, "0,200\u00a0k,400\u00a0k,600\u00a0k,800\u00a0k");
    ticks_are(AXIS_TIME, 0, 3, 3, "0,1\u00a0s,2\u00a0s,3\u00a0s");
    ticks_are(AXIS_TIME, 0, 600, 5, "0,2\u00a0min,4\u00a0min,6\u00a0min,8\u00a0min,10\u00a0min");
    ticks_are(AXIS_TIME, 0, 4 * 3600, 4, "0,1\u00a0h,2\u00a0h,3\u00a0h,4\u00a0h");
}

static void ticks_of_logarithms(void **state)
{
    struct axis a;
    ticks_are(AXIS_LOG, 0.004, 0.3, 4, "0.005,0.01,0.02,0.05,0.1,0.2");
    ticks_are(AXIS_LOG, 0.0002, 1, 4, "0.001,0.01,0.1,1");
    axis_init(&a, AXIS_LOG, 0.001, 0.1, 4);
    assert_true(fabs(axis_at(&a, 0.01) - 0.5) < 1e-12);
}

static void odd_ranges_have_an_axis(void **state)
{
    static const double odd[][2] = {{0, 0},
                                    {0.5, 0.5},
                                    {-7, -7},
                                    {1e100, -1e100},
                                    {1e-300, 0},
                                    {1e15, 1e15 + 1},
                                    {1e99, 1e99 * 1.0001},
                                    {1e-12, 2e-12}};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        for (int kind = AXIS_NUMBER; kind <= AXIS_TIME; kind++) {
            struct axis a;
            char text[32];
            axis_init(&a, (enum axis_kind)kind, odd[i][0], odd[i][1], 4);
            assert_true(a.low < a.high && a.step > 0);
            assert_in_range(a.nticks, 1, AXIS_MAX_TICKS);
            for (int k = 0; k < a.nticks; k++)
                assert_true(strlen(axis_label(&a, a.ticks[k], text)) > 0);
        }
}

static void html_has(const struct plot *p, const char *part)
{
    struct buf b = BUF_INIT;
    plot_html(p, &b);
    if (!strstr(b.data, part))
        fail_msg("no %s in %s", part, b.data);
    buf_deinit(&b);
}

/* From (0, 0) to (10, 1), a gap, and one more; the axis of y goes from -0.06 to 1.06. */
static void lines_are_drawn(void **state)
{
    struct plot p = {.title = "A <b>", .x_name = "x", .x_kind = AXIS_COUNT, .reference = NAN};
    struct plot_series *s = plot_new_series(&p, "one", 0, PLOT_LINE);
    plot_add(s, (struct plot_point){.x = 0, .y = 0});
    plot_add(s, (struct plot_point){.x = 5, .y = 1});
    plot_add(s, (struct plot_point){.x = 6, .y = NAN});
    plot_add(s, (struct plot_point){.x = 8, .y = 0.5});
    plot_add(s, (struct plot_point){.x = 10, .y = 1});
    plot_add(s, (struct plot_point){.x = INFINITY, .y = 1});
    plot_add(s, (struct plot_point){.x = 10, .y = 1e200});
    html_has(&p, "class=\"line c0\" d=\"M0.0 946.4L500.0 53.6M800.0 500.0L1000.0 53.6\"/>");
    html_has(&p, "<b>A &lt;b&gt;</b>");
    html_has(&p, "data-x=\"0 10\" data-y=\"-0.06 1.06\"");
    html_has(&p, "<i class=\"x\" style=\"left:50.0%\">5.0</i>");
    html_has(&p, "<i class=\"y\" style=\"top:58.9%\">0.4</i>");
    plot_deinit(&p);
}

static void styles_are_drawn(void **state)
{
    double mark = 5;
    struct plot p = {.title = "t", .x_name = "x", .equal = true, .reference = NAN, .marks = &mark};
    struct plot_series *s = plot_new_series(&p, "dots", 9, PLOT_DOTS);
    p.nmarks = 1;
    plot_add(s, (struct plot_point){.x = 5, .y = 5, .y2 = 4, .y3 = 6});
    plot_add(s, (struct plot_point){.x = 10, .y = 10, .y2 = NAN, .y3 = NAN});
    s = plot_new_series(&p, "columns", 0, PLOT_COLUMNS);
    plot_add(s, (struct plot_point){.x = 0, .x2 = 2, .y = 8});
    plot_add(s, (struct plot_point){.x = 2, .x2 = 4, .y = 4});
    /* both axes from 0 to 10.36 */
    html_has(&p, "class=\"whisker c1\" d=\"M482.6 613.9V420.8\"");
    html_has(&p, "class=\"dot c1\" d=\"M482.6 517.4h0M965.3 34.7h0\"");
    html_has(&p,
             "class=\"column c0\" d=\"M0.0 1000V750.0H193.1V1000M193.1 1000V875.0H386.1V1000\"");
    html_has(&p, "class=\"reference\" d=\"M0 1000L1000 0\"");
    html_has(&p, "class=\"mark\" d=\"M482.6 0V1000\"");
    html_has(&p, "</svg>dots</span>");
    plot_deinit(&p);
}

/* Ten times the others at the beginning: the range is that of the others. */
static void far_values_leave_the_frame(void **state)
{
    struct plot p = {.title = "t", .x_name = "x", .x_kind = AXIS_COUNT, .reference = NAN};
    struct plot_series *s = plot_new_series(&p, NULL, 0, PLOT_LINE);
    for (int i = 0; i < 40; i++)
        plot_add(s, (struct plot_point){.x = i, .y = i == 0 ? 1000 : 10 + i % 5});
    html_has(&p, "data-y=\"9.7 15.3\"");
    html_has(&p, "d=\"M0.0 -2000.0L");
    html_has(&p, "not shown: 1 point at 1000</p>");
    /* but a dot does not, nor is it cut at the right end */
    s = plot_new_series(&p, NULL, 1, PLOT_DASHES);
    plot_add(s, (struct plot_point){.x = 39, .y = 20});
    html_has(&p, "data-x=\"0 39.78\" data-y=\"9.4 20.6\"");
    plot_deinit(&p);
}

/* A curve that falls from 9 to 1 and then slowly: the frame holds what begins with a third. */
static void the_later_part_is_shown(void **state)
{
    struct plot_star star = {.x = 12, .y = 0.88, .colour = 1};
    struct plot p = {.title = "Loss",
                     .summary = "from 9 to 0.85",
                     .x_name = "x",
                     .x_kind = AXIS_COUNT,
                     .late = true,
                     .reference = NAN,
                     .stars = &star,
                     .nstars = 1};
    struct plot_series *s = plot_new_series(&p, "valid", 0, PLOT_CURVE);
    for (int i = 0; i <= 15; i++)
        plot_add(s, (struct plot_point){.x = i, .y = i < 4 ? 9 - 2 * i : 1 - 0.01 * i});
    html_has(&p, "data-y=\"0.844 0.956\"");
    html_has(&p, "not shown: 5 early points from 0.96 to 9.00</p>");
    html_has(&p, "<i class=\"star t1\" style=\"left:78.4%;top:67.9%\">\u2605</i>");
    html_has(&p, "role=\"img\" aria-label=\"Loss: from 9 to 0.85\"");
    p.late = false;
    html_has(&p, "data-y=\"0.361 9.489\"");
    plot_deinit(&p);
}

/* Bins of rare clicks: a bin without any lies below the frame. */
static void rare_clicks_have_logarithms(void **state)
{
    struct plot p = {.title = "t", .x_name = "x", .equal = true, .log = true, .reference = NAN};
    struct plot_series *s = plot_new_series(&p, "dots", 0, PLOT_DOTS);
    plot_add(s, (struct plot_point){.x = 0.0013, .y = 0, .y2 = 0, .y3 = 0.01});
    plot_add(s, (struct plot_point){.x = 0.01, .y = 0.02, .y2 = NAN, .y3 = NAN});
    html_has(&p, "data-log=\"1\" data-x=\"0.001 0.02756\" data-y=\"0.001 0.02756\"");
    html_has(&p, "class=\"dot c0\" d=\"M79.1 3000.0h0M694.3 96.7h0\"");
    html_has(&p, "class=\"whisker c0\" d=\"M79.1 3000.0V305.7\"");
    html_has(&p, "not shown: 1 point at 0</p>");
    plot_add(s, (struct plot_point){.x = 1e-300, .y = 1e-310, .y2 = NAN, .y3 = NAN});
    html_has(&p, "data-log=\"1\" data-x=\"1e-09 0.02756\"");
    plot_deinit(&p);
}

static void nothing_is_logged(void **state)
{
    struct plot p = {.title = "t", .x_name = "x", .reference = NAN};
    struct plot_series *s = plot_new_series(&p, NULL, 0, PLOT_LINE);
    plot_add(s, (struct plot_point){.x = 1, .y = NAN});
    assert_false(plot_has_data(&p));
    html_has(&p, "no data");
    plot_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round),           cmocka_unit_test(ticks_at_whole_numbers),
        cmocka_unit_test(ticks_of_counts_and_times), cmocka_unit_test(ticks_of_logarithms),
        cmocka_unit_test(the_later_part_is_shown),   cmocka_unit_test(rare_clicks_have_logarithms),
        cmocka_unit_test(odd_ranges_have_an_axis),   cmocka_unit_test(lines_are_drawn),
        cmocka_unit_test(styles_are_drawn),          cmocka_unit_test(far_values_leave_the_frame),
        cmocka_unit_test(nothing_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
