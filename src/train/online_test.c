/* Online training: what a config says of days and passes, donefiles, the metric text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "train/online_parts.h"
#include "store/file.h"

static enum skiff_status read_plan(const char *runner, struct online_plan *p,
                                   struct skiff_error *err)
{
    struct config *c;
    struct buf text = BUF_INIT;
    buf_printf(&text, "runner:\n  train_data_dir: /data\n%s", runner);
    assert_int_equal(config_parse(text.data, text.len, "c.yaml", &c, err), SKIFF_OK);
    assert_true(online_wanted(c));
    enum skiff_status status = online_plan_read(p, c, err);
    if (status == SKIFF_OK && p->data_dir)
        p->data_dir = "/data"; /* outlives the config */
    config_close(c);
    buf_deinit(&text);
    return status;
}

static void assert_split(const struct online_plan *p, int day, int pass, int i, const char *path)
{
    struct buf found = BUF_INIT;
    online_split_path(p, day, pass, i, &found);
    assert_string_equal(found.data, path);
    buf_deinit(&found);
}

static void test_splits(void **state)
{
    struct online_plan p;
    struct skiff_error err;
    assert_int_equal(read_plan("  start_day: \"20190720\"\n  end_day: 20190802\n"
                               "  split_interval: 30\n  split_per_pass: 2\n",
                               &p, &err),
                     SKIFF_OK);
    assert_int_equal(p.ndays, 14);
    assert_int_equal(p.days[13], 20190802);
    assert_int_equal(p.passes, 24);
    assert_int_equal(p.checkpoint, 6);
    assert_int_equal(online_splits(&p), 2);
    assert_split(&p, 20190720, 1, 0, "/data/20190720/0000");
    assert_split(&p, 20190720, 2, 1, "/data/20190720/0130");
    assert_split(&p, 20190720, 24, 1, "/data/20190720/2330");
    assert_int_equal(online_minutes_left(&p), 0);
    online_plan_deinit(&p);
    /* 9 passes of 5 splits, as in PaddleRec: 2230, 2300 and 2330 are in none */
    assert_int_equal(
        read_plan("  days: 20190720\n  split_interval: 30\n  split_per_pass: 5\n", &p, &err),
        SKIFF_OK);
    assert_int_equal(p.passes, 9);
    assert_split(&p, 20190720, 9, 4, "/data/20190720/2200");
    assert_int_equal(online_minutes_left(&p), 90);
    online_plan_deinit(&p);
    assert_int_equal(read_plan("  days: 20190720\n  pass_per_day: 7\n", &p, &err), SKIFF_OK);
    assert_int_equal(online_minutes_left(&p), 0);
    online_plan_deinit(&p);
}

static void test_days(void **state)
{
    struct online_plan p;
    struct skiff_error err;
    assert_int_equal(
        read_plan("  days: \"{20191230..20200101} 20200105\"\n  pass_per_day: 24\n", &p, &err),
        SKIFF_OK);
    assert_int_equal(p.ndays, 4);
    assert_int_equal(p.days[2], 20200101);
    assert_int_equal(p.days[3], 20200105);
    assert_int_equal(p.passes, 24);
    assert_split(&p, 20200105, 24, 0, "/data/20200105/24");
    online_plan_deinit(&p);
}

static void assert_refused(const char *runner, const char *text)
{
    struct online_plan p;
    struct skiff_error err = {0};
    assert_int_equal(read_plan(runner, &p, &err), SKIFF_INVALID);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not say \"%s\"", err.message, text);
    online_plan_deinit(&p);
}

static void test_wrong_plans(void **state)
{
    assert_refused("  start_day: 20190720\n", "runner.end_day is required for online training");
    assert_refused("  start_day: 20190732\n  end_day: 20190801\n",
                   "c.yaml:3: runner.start_day must be a day as 20190720, found \"20190732\"");
    assert_refused("  start_day: 20190720\n  end_day: 20190719\n",
                   "c.yaml:4: runner.end_day is 20190719, before runner.start_day");
    assert_refused("  days: \"{20190720..}\"\n  pass_per_day: 1\n",
                   "c.yaml:3: runner.days must be days in order");
    assert_refused("  days: \"20190721 20190720\"\n  pass_per_day: 1\n",
                   "runner.days must be days in order");
    assert_refused("  days: 20190720\n  start_day: 20190720\n", "both set the days");
    assert_refused("  days: 20190720\n  pass_per_day: 2\n  split_interval: 5\n",
                   "both set the number of passes");
    assert_refused("  days: 20190720\n  split_interval: 720\n  split_per_pass: 3\n",
                   "runner.split_per_pass must be between 1 and 2, found 3");
    assert_refused("  days: 20190720\n  checkpoint_per_pass: 0\n",
                   "runner.checkpoint_per_pass must be between 1 and");
    assert_refused("  days: 20190720\n  data_sleep_second: 0\n",
                   "runner.data_sleep_second must be above 0");
}

/* ---- donefiles ---- */

struct folder {
    char path[64];
};

static void folder_open(struct folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/online_test.XXXXXX");
    assert_non_null(mkdtemp(f->path));
}

static void assert_file(const struct folder *f, const char *name, const char *want)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    buf_printf(&path, "%s/%s", f->path, name);
    assert_int_equal(file_read(path.data, &text, NULL), SKIFF_OK);
    assert_string_equal(text.data, want);
    buf_deinit(&path);
    buf_deinit(&text);
}

static void put_file(const struct folder *f, const char *name, const char *text)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", f->path, name);
    assert_int_equal(file_write(path.data, text, strlen(text), NULL), SKIFF_OK);
    buf_deinit(&path);
}

static void test_done_files(void **state)
{
    struct folder f;
    struct done_list models, patches;
    char want[512];
    folder_open(&f);
    assert_int_equal(done_list_read(&models, f.path, DONE_MODEL, NULL), SKIFF_OK);
    assert_null(done_list_last(&models));
    struct done_add add = {
        .day = 20190720, .pass = 1, .key = 100, .id = 200, .monitor = " a \"b\""};
    assert_int_equal(done_list_add(&models, f.path, DONE_MODEL, &add, NULL), SKIFF_OK);
    assert_int_equal(done_list_read(&patches, f.path, DONE_PATCH, NULL), SKIFF_OK);
    assert_int_equal(done_list_add(&patches, f.path, DONE_PATCH, &add, NULL), SKIFF_OK);
    add = (struct done_add){.day = 20190721, .pass = DONE_DAY_BEGINS, .key = 300};
    assert_int_equal(done_list_add(&models, f.path, DONE_MODEL, &add, NULL), SKIFF_OK);
    snprintf(want, sizeof want,
             "20190720\t100\t%s/20190720/1/\t1\t0\n20190721\t300\t%s/20190721/0/\t-1\t0\n", f.path,
             f.path);
    assert_file(&f, "donefile.txt", want);
    snprintf(want, sizeof want,
             "{\"id\": \"200\", \"key\": \"100\", \"input\": \"%s/20190720/delta-1/000\", "
             "\"monitor_data\": \" a \\\"b\\\"\"}\n",
             f.path);
    assert_file(&f, "patch_donefile.txt", want);
    done_list_deinit(&models);
    done_list_deinit(&patches);
    assert_int_equal(done_list_read(&models, f.path, DONE_MODEL, NULL), SKIFF_OK);
    assert_int_equal(done_list_last(&models)->pass, DONE_DAY_BEGINS);
    assert_true(done_list_has(&models, 20190720, 1));
    assert_false(done_list_has(&models, 20190720, 2));
    done_list_deinit(&models);
    assert_int_equal(done_list_read(&patches, f.path, DONE_PATCH, NULL), SKIFF_OK);
    assert_int_equal(done_list_last(&patches)->day, 20190720);
    assert_int_equal(done_list_last(&patches)->pass, 1);
    assert_int_equal(done_list_last(&patches)->key, 100);
    done_list_deinit(&patches);
    assert_int_equal(done_remove(f.path), 0); /* no models, but the files go */
    assert_int_equal(rmdir(f.path), 0);
}

/* Whatever part of the last line is there: it is dropped, and the next one stands alone. */
static void test_half_lines(void **state)
{
    static const char whole[] = "20190720\t100\tm/20190720/1/\t1\t0\n";
    static const char last[] = "20190720\t100\tm/20190720/12/\t12\t0";
    struct folder f;
    struct done_list l;
    char text[256], want[512];
    folder_open(&f);
    for (size_t n = 1; n < sizeof last - 2; n++) {
        snprintf(text, sizeof text, "%s%.*s", whole, (int)n, last);
        put_file(&f, "donefile.txt", text);
        assert_int_equal(done_list_read(&l, f.path, DONE_MODEL, NULL), SKIFF_OK);
        assert_int_equal(l.n, 1);
        done_list_deinit(&l);
    }
    assert_int_equal(done_list_read(&l, f.path, DONE_MODEL, NULL), SKIFF_OK);
    struct done_add add = {.day = 20190720, .pass = 2, .key = 100};
    assert_int_equal(done_list_add(&l, f.path, DONE_MODEL, &add, NULL), SKIFF_OK);
    snprintf(want, sizeof want, "%s20190720\t100\t%s/20190720/2/\t2\t0\n", whole, f.path);
    assert_file(&f, "donefile.txt", want);
    done_list_deinit(&l);
    put_file(&f, "base_donefile.txt",
             "{\"id\": \"1\", \"key\": \"1\", \"input\": \"m/20190721/base/000\", "
             "\"monitor_data\": \"\"}\n{\"id\": \"2\", \"key\": \"2\", \"inp");
    assert_int_equal(done_list_read(&l, f.path, DONE_BASE, NULL), SKIFF_OK);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.at[0].day, 20190721);
    done_list_deinit(&l);
    done_remove(f.path);
    assert_int_equal(rmdir(f.path), 0);
}

static void test_wrong_line(void **state)
{
    struct folder f;
    struct done_list l;
    struct skiff_error err = {0};
    folder_open(&f);
    put_file(&f, "donefile.txt", "hello\n20190720\t100\tm/20190720/1/\t1\t0\n");
    assert_int_equal(done_list_read(&l, f.path, DONE_MODEL, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "donefile.txt:1: expected day, key, folder, pass and 0"));
    assert_non_null(strstr(err.message, "found \"hello\""));
    done_list_deinit(&l);
    done_remove(f.path);
    assert_int_equal(rmdir(f.path), 0);
}

/* ---- the metric text ---- */

/* As real PaddleRec wrote it for 10 samples, 4 of them clicks, all predicted 0.5. */
static void test_metric(void **state)
{
    struct eval_metrics t = {.has_predict = true, .is_probability = true};
    struct eval_metrics_sum *s = calloc(1, sizeof *s);
    char text[ONLINE_METRIC];
    s->evaluated = s->samples = 10;
    s->clicks = 4;
    s->predicted = 5;
    s->abs_error = 5;
    s->sqr_error = 2.5;
    s->q = 6.2245933;
    s->pos[2048] = 4;
    s->neg[2048] = 6;
    online_metric(&t, s, text);
    assert_string_equal(text,
                        " global AUC=0.500000 BUCKET_ERROR=0.000000 MAE=0.500000 RMSE=0.500000 "
                        "Actural_CTR=0.400000 Predicted_CTR=0.500000 COPC=0.800000 MEAN "
                        "Q_VALUE=0.622459 Ins number=10");
    /* 4000 samples in one bucket are enough: 0.4 clicked where 0.49988 was predicted */
    s->pos[2048] = 1600;
    s->neg[2048] = 2400;
    online_metric(&t, s, text);
    assert_non_null(strstr(text, "BUCKET_ERROR=0.199805 "));
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits),      cmocka_unit_test(test_days),
        cmocka_unit_test(test_wrong_plans), cmocka_unit_test(test_done_files),
        cmocka_unit_test(test_half_lines),  cmocka_unit_test(test_wrong_line),
        cmocka_unit_test(test_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
