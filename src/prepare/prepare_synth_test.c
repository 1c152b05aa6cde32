/* Synthetic rows, the best AUC, and prepare. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/buf.h"
#include "prepare/criteo.h"
#include "prepare/synth.h"
#include "data/test_help.h"

static char dir[256];

static char *read_all(const char *name)
{
    char path[600];
    struct buf b = BUF_INIT;
    char chunk[65536];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    buf_str(&b, "");
    while ((n = fread(chunk, 1, sizeof chunk, f)))
        buf_add(&b, chunk, n);
    fclose(f);
    return b.data;
}

static void write_rows(const char *name, uint64_t seed, int64_t first, int64_t rows, int files,
                       struct synth_report *report)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct synth_config c = {
        .seed = seed, .first = first, .rows = rows, .files = files, .dir = path};
    struct skiff_error err;
    if (synth_write(&c, report, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
}

static void test_repeatable(void **state)
{
    struct synth_report report;
    write_rows("a", 3, 0, 1000, 1, &report);
    write_rows("b", 3, 0, 1000, 3, &report);
    write_rows("c", 3, 400, 600, 1, &report);
    write_rows("d", 4, 0, 1000, 1, &report);
    char *a = read_all("a/part-000"), *b0 = read_all("b/part-000"), *b1 = read_all("b/part-001"),
         *b2 = read_all("b/part-002"), *c = read_all("c/part-000"), *d = read_all("d/part-000");
    struct buf joined = BUF_INIT;
    buf_printf(&joined, "%s%s%s", b0, b1, b2);
    assert_string_equal(a, joined.data);               /* spread over files: the same rows */
    assert_string_equal(a + strlen(a) - strlen(c), c); /* a range of rows: the same rows */
    assert_string_not_equal(a, d);
    buf_deinit(&joined);
    free(a);
    free(b0);
    free(b1);
    free(b2);
    free(c);
    free(d);
}

/* Against all pairs, for few rows. */
static void test_best_auc(void **state)
{
    static const double p[] = {0.1, 0.7, 0.4, 0.4, 0.95, 0.02, 0.5};
    static const int click[] = {0, 1, 0, 1, 1, 0, 0};
    struct best_auc a;
    double pairs = 0, clicks = 0, others = 0, drawn = 0, drawn_pairs = 0, loss = 0;
    best_auc_init(&a);
    for (int i = 0; i < 7; i++) {
        best_auc_add(&a, p[i], click[i]);
        clicks += p[i];
        others += 1 - p[i];
        loss -= p[i] * log(p[i]) + (1 - p[i]) * log(1 - p[i]);
        for (int k = 0; k < 7; k++) {
            double half = p[i] > p[k] ? 1 : p[i] == p[k] ? 0.5 : 0;
            pairs += p[i] * (1 - p[k]) * half;
            drawn_pairs += click[i] && !click[k];
            drawn += click[i] && !click[k] ? half : 0;
        }
    }
    assert_true(fabs(best_auc_expected(&a) - pairs / (clicks * others)) < 1e-9);
    assert_true(fabs(best_auc_drawn(&a) - drawn / drawn_pairs) < 1e-9);
    assert_true(fabs(a.log_loss - loss) < 1e-9);
    best_auc_deinit(&a);
}

static void test_report(void **state)
{
    struct synth_report r;
    for (uint64_t seed = 1; seed < 4; seed++) {
        write_rows("r", seed, 0, 20000, 1, &r);
        double rate = (double)r.clicks / (double)r.rows;
        assert_true(rate > 0.24 && rate < 0.275);
        assert_true(r.best_auc > 0.72 && r.best_auc < 0.9);
        assert_true(fabs(r.best_auc - r.drawn_auc) < 0.012); /* the labels are drawn from p */
        assert_true(r.best_log_loss > 0.3 && r.best_log_loss < 0.55);
        assert_true(r.bytes > 20000 * 150);
    }
}

/* Rows are Criteo lines, and their numbers and ids go through the reader. */
static void test_rows_are_criteo(void **state)
{
    struct synth_report report;
    struct schema schema;
    struct reader_config config;
    struct scan_plan plan = {.schema = &schema, .reader = &config};
    struct scan scan;
    struct batch b;
    struct file_list files;
    struct skiff_error err;
    char path[600];
    write_rows("e", 5, 0, 3000, 2, &report);
    snprintf(path, sizeof path, "%s/e", dir);
    schema_create(&schema, "label:i1 dense:f13 C1:i C9:i C20:i");
    reader_config_init(&config);
    reader_config_set(&config, "format", "criteo", NULL);
    file_list_init(&files);
    assert_int_equal(file_list_expand(&files, path, NULL), SKIFF_OK);
    struct file_cursor cursor = {.files = &files};
    assert_int_equal(scan_open(&scan, &plan, &err), SKIFF_OK);
    assert_int_equal(batch_init(&b, &schema, 4000, NULL), SKIFF_OK);
    if (scan_fill(&scan, &cursor, &b, 4000, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    assert_int_equal(b.rows, 3000);
    int64_t clicks = 0;
    for (int64_t i = 0; i < b.rows; i++)
        clicks += b.columns[0].i64[i];
    assert_int_equal(clicks, report.clicks);
    batch_deinit(&b);
    scan_close(&scan);
    file_list_deinit(&files);
    reader_config_deinit(&config);
    schema_deinit(&schema);
}

/* ---- prepare ---- */

static int64_t count_lines(const char *text)
{
    int64_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void test_prepare(void **state)
{
    struct synth_report synth;
    struct criteo_report report;
    struct file_list files;
    struct skiff_error err;
    struct criteo_stats back;
    char in[700], out[600];
    write_rows("p", 6, 0, 5000, 2, &synth);
    snprintf(in, sizeof in, "%s/p", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    file_list_init(&files);
    assert_int_equal(file_list_expand(&files, in, NULL), SKIFF_OK);
    struct criteo_config c = {.files = &files, .out = out, .seed = 1};
    if (criteo_run(&c, &report, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    assert_int_equal(report.train + report.valid, 5000);
    assert_true(report.valid > 430 && report.valid < 570);
    assert_int_equal(report.stats.rows, report.train);
    char *t0 = read_all("out/train/00000-part-000"), *t1 = read_all("out/train/00001-part-001"),
         *v0 = read_all("out/valid/00000-part-000"), *v1 = read_all("out/valid/00001-part-001");
    assert_int_equal(count_lines(t0) + count_lines(t1), report.train);
    assert_int_equal(count_lines(v0) + count_lines(v1), report.valid);
    snprintf(in, sizeof in, "%s/stats", out);
    assert_int_equal(stats_read(in, &back, &err), SKIFF_OK);
    assert_int_equal(back.rows, report.train);
    assert_true(back.numbers[4].q95 == report.stats.numbers[4].q95);
    assert_true(back.numbers[1].min < 0);
    assert_int_equal(back.categories[8].distinct, 3); /* C9 has three values */
    /* again: the same split */
    assert_int_equal(criteo_run(&c, &report, &err), SKIFF_OK);
    char *again = read_all("out/valid/00000-part-000");
    assert_string_equal(again, v0);
    free(again);
    free(t0);
    free(t1);
    free(v0);
    free(v1);
    file_list_deinit(&files);
}

/* Exact numbers on a made-up column. */
static void test_prepare_numbers(void **state)
{
    struct buf text = BUF_INIT;
    struct criteo_report report;
    struct file_list files;
    struct bad_lines bad;
    struct skiff_error err;
    char out[600];
    for (int i = 1; i <= 1000; i++) { /* I1: 1..1000, I2: -5 or missing, I3: large, C1: 10 values */
        buf_printf(&text, "%d\t%d\t%s\t%lld", i % 4 == 0, i, i % 10 ? "" : "-5",
                   1000000000LL + i * 1000000LL);
        for (int k = 3; k < 13; k++)
            buf_char(&text, '\t');
        buf_printf(&text, "\tv%d", i % 10);
        for (int k = 1; k < 26; k++)
            buf_str(&text, k == 1 && i == 7 ? "\tonly" : "\t");
        buf_char(&text, '\n');
    }
    buf_str(&text, "not a line\n2\t\n");
    snprintf(out, sizeof out, "%s/numbers", dir);
    file_list_init(&files);
    file_list_add(&files, temp_text(dir, "numbers.tsv", text.data));
    struct criteo_config c = {.files = &files, .out = out, .share = -1};
    assert_int_equal(criteo_run(&c, &report, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "numbers.tsv:1001: expected 40 columns"));
    bad_lines_init(&bad, 5);
    c.bad = &bad;
    assert_int_equal(criteo_run(&c, &report, &err), SKIFF_OK);
    const struct criteo_stats *s = &report.stats;
    assert_int_equal(report.train, 1000);
    assert_int_equal(report.valid, 0);
    assert_int_equal(report.bad, 2);
    assert_int_equal(s->clicks, 250);
    assert_true(s->numbers[0].min == 1 && s->numbers[0].max == 1000 && s->numbers[0].q95 == 950);
    assert_true(s->numbers[0].mean == 500.5);
    assert_int_equal(s->numbers[1].missing, 900);
    assert_true(s->numbers[1].min == -5 && s->numbers[1].q95 == -5);
    assert_true(fabs(s->numbers[2].q95 / 1.95e9 - 1) < 0.0006);
    assert_true(s->numbers[3].missing == 1000 && s->numbers[3].q95 == 0);
    assert_int_equal(s->categories[0].distinct, 10);
    assert_int_equal(s->categories[0].often, 10);
    assert_int_equal(s->categories[0].top, 100);
    assert_int_equal(s->categories[1].once, 1);
    assert_int_equal(s->categories[1].missing, 999);
    c.max_distinct = 4;
    assert_int_equal(criteo_run(&c, &report, &err), SKIFF_OK);
    assert_int_equal(report.stats.categories[0].distinct, 4);
    assert_true(report.stats.categories[0].more);
    bad_lines_deinit(&bad);
    file_list_deinit(&files);
    buf_deinit(&text);
}

static int setup(void **state)
{
    temp_create(dir);
    return 0;
}

static int teardown(void **state)
{
    temp_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeatable), cmocka_unit_test(test_best_auc),
        cmocka_unit_test(test_report),     cmocka_unit_test(test_rows_are_criteo),
        cmocka_unit_test(test_prepare),    cmocka_unit_test(test_prepare_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
