/* Values against rules: what is found where, how it is reported, what is left of a batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/dataset_parts.h"
#include "data/test_help.h"

#define SCHEMA "label:i1 ids:i dense:f2"
#define ROWS 64

struct fixture {
    char dir[256];
    struct schema schema;
    struct data_rules rules;
    struct reader_config reader;
    struct bad_lines bad;
    struct scan_plan plan;
    struct file_list files;
    struct batch batch;
    struct skiff_error err;
    int64_t kinds[BAD_KINDS];
    struct buf reported, odd;
};

static void on_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct fixture *r = arg;
    (void)file;
    r->kinds[r->bad.kind]++;
    buf_printf(&r->reported, "%lld %s\n", (long long)line, strstr(why->message, ": ") + 2);
}

static void on_odd(void *arg, const char *file, int64_t line, const char *name)
{
    struct fixture *r = arg;
    (void)file;
    buf_printf(&r->odd, "%lld %s\n", (long long)line, name ? name : "empty");
}

static void fixture_open(struct fixture *r, const char *format, int64_t limit)
{
    *r = (struct fixture){.reported = BUF_INIT, .odd = BUF_INIT};
    temp_create(r->dir);
    schema_create(&r->schema, SCHEMA);
    reader_config_init(&r->reader);
    assert_int_equal(reader_config_set(&r->reader, "format", format, NULL), SKIFF_OK);
    rules_init(&r->rules, 3);
    r->rules.slots[0] = (struct slot_rule){.limit = 2, .label = true};
    rules_limit(&r->rules, 1, 10, "table \"emb\" has 10 rows");
    r->rules.slots[2].finite = true;
    bad_lines_init(&r->bad, limit);
    r->bad.on_bad = on_bad;
    r->bad.on_odd = on_odd;
    r->bad.arg = r;
    r->plan = (struct scan_plan){
        .schema = &r->schema, .reader = &r->reader, .rules = &r->rules, .bad = &r->bad};
    file_list_init(&r->files);
    assert_int_equal(batch_init(&r->batch, &r->schema, ROWS, NULL), SKIFF_OK);
}

static void fixture_close(struct fixture *r)
{
    batch_deinit(&r->batch);
    file_list_deinit(&r->files);
    bad_lines_deinit(&r->bad);
    rules_deinit(&r->rules);
    reader_config_deinit(&r->reader);
    schema_deinit(&r->schema);
    buf_deinit(&r->reported);
    buf_deinit(&r->odd);
    temp_remove(r->dir);
}

/* All rows of all files, as text. */
static enum skiff_status fixture_read(struct fixture *r, struct buf *out)
{
    struct scan scan;
    enum skiff_status status = SKIFF_OK;
    assert_int_equal(scan_open(&scan, &r->plan, &r->err), SKIFF_OK);
    for (int i = 0; status >= 0 && i < r->files.count; i++) {
        status = scan_open_file(&scan, &r->files, i, &r->err);
        while (status == SKIFF_OK) {
            assert_int_equal(batch_reset(&r->batch, NULL), SKIFF_OK);
            status = scan_rows(&scan, &r->batch, ROWS, &r->err);
            if (status >= 0)
                batch_text(&r->batch, out);
        }
    }
    scan_close(&scan);
    return status;
}

static const char text[] = "1 0 2 3 4 2 0.5 1\n"  /* good */
                           "1 7 1 3 2 0.5 1\n"    /* label */
                           "1 1 2 3 10 2 0.5 1\n" /* id */
                           "1 1 1 9 2 0.5 1e39\n" /* number */
                           "1 1 1 18446744073709551621 2 1 1\n"
                           "1 -1 1 5 2 1 1\n"
                           "\n"
                           "1 1 3 9 8 7 2 nan 1\n"
                           "1 1 3 9 8 7 2 2 3\n"; /* good */

static void breaches_are_bad_lines(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    fixture_open(&r, "multislot", -1);
    file_list_add(&r.files, temp_text(r.dir, "a", text));
    file_list_add(&r.files, temp_text(r.dir, "b", ""));
    assert_int_equal(fixture_read(&r, &got), SKIFF_END);
    assert_string_equal(got.data, "0 3,4 0.5,1\n1 9,8,7 2,3\n");
    assert_int_equal(atomic_load(&r.bad.count), 7);
    assert_int_equal(r.kinds[BAD_LABEL], 2);
    assert_int_equal(r.kinds[BAD_ID], 2);
    assert_int_equal(r.kinds[BAD_NUMBER], 2);
    assert_int_equal(r.kinds[BAD_EMPTY_LINE], 1);
    static const char *const want[] = {
        "2 slot \"label\" (1 of 3): expected 0 or 1, found 7\n",
        "3 slot \"ids\" (2 of 3): expected an id from 0 to 9 (table \"emb\" has 10 rows), found "
        "10\n",
        "4 slot \"dense\" (3 of 3): expected a number, not nan or inf, found 1e39\n",
        "5 slot \"ids\" (2 of 3): expected an id from 0 to 9 (table \"emb\" has 10 rows), found "
        "18446744073709551621\n",
        "6 slot \"label\" (1 of 3): expected 0 or 1, found -1\n",
        "8 slot \"dense\" (3 of 3): expected a number, not nan or inf, found nan\n"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (!strstr(r.reported.data, want[i]))
            fail_msg("not reported: %s in %s", want[i], r.reported.data);
    assert_string_equal(r.odd.data, "0 empty\n");
    buf_deinit(&got);
    fixture_close(&r);
}

static void the_first_one_too_many_fails(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    fixture_open(&r, "multislot", 0);
    file_list_add(&r.files,
                  temp_text(r.dir, "a", "1 0 1 3 2 1 1\n1 0 1 10 2 1 1\n1 5 1 3 2 1 1\n"));
    assert_int_equal(fixture_read(&r, &got), SKIFF_RANGE);
    assert_non_null(
        strstr(r.err.message, "/a:2: slot \"ids\" (2 of 3): expected an id from 0 to 9"));
    r.bad.limit = 1;
    atomic_store(&r.bad.count, 0);
    assert_int_equal(fixture_read(&r, &got), SKIFF_RANGE);
    assert_non_null(strstr(r.err.message, "more than 1 bad lines; the last one: "));
    assert_non_null(strstr(r.err.message, "/a:3: slot \"label\""));
    buf_deinit(&got);
    fixture_close(&r);
}

/* Unknown slot names are reported once, with the line of the first. */
static void strange_names_are_reported(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    fixture_open(&r, "slot_text", -1);
    file_list_add(&r.files, temp_text(r.dir, "a",
                                      "label:1 ids:1\nlabel:0 ids:2 other:5\n"
                                      "other:1 ids:3\nlabel:1 idds:1\nother:1 label:1\n"));
    assert_int_equal(fixture_read(&r, &got), SKIFF_END);
    assert_string_equal(r.odd.data, "2 other\n");
    assert_string_equal(got.data, "1 1 0,0\n0 2 0,0\n1 0 0,0\n");
    assert_int_equal(r.kinds[BAD_NO_LABEL], 1);
    assert_int_equal(r.kinds[BAD_NAME], 1);
    assert_non_null(strstr(r.reported.data,
                           "3 slot \"label\" (1 of 3): the row has no label (label or "
                           "click)"));
    assert_non_null(strstr(r.reported.data,
                           "4 slot \"ids\" (2 of 3) has no value, and \"idds\" is no "
                           "slot: expected \"ids\"?"));
    buf_deinit(&got);
    fixture_close(&r);
}

/* The cache keeps what the file has; rules are asked again of what it gives. */
static void caches_are_checked(void **state)
{
    struct fixture r;
    struct buf got = BUF_INIT;
    fixture_open(&r, "multislot", -1);
    r.plan.cache = true;
    file_list_add(&r.files,
                  temp_text(r.dir, "a", "1 0 1 3 2 1 1\n1 0 1 12 2 1 1\n1 1 1 4 2 1 1\n"));
    for (int round = 0; round < 2; round++) {
        buf_reset(&got);
        assert_int_equal(fixture_read(&r, &got), SKIFF_END);
        assert_string_equal(got.data, "0 3 1,1\n1 4 1,1\n");
    }
    assert_int_equal(r.kinds[BAD_ID], 2);
    r.bad.limit = 0;
    atomic_store(&r.bad.count, 0);
    assert_int_equal(fixture_read(&r, &got), SKIFF_RANGE);
    assert_non_null(strstr(r.err.message, "/a: sample 2: slot \"ids\""));
    rules_deinit(&r.rules);
    rules_init(&r.rules, 3);
    buf_reset(&got);
    assert_int_equal(fixture_read(&r, &got), SKIFF_END);
    assert_string_equal(got.data, "0 3 1,1\n0 12 1,1\n1 4 1,1\n");
    buf_deinit(&got);
    fixture_close(&r);
}

static void exceptions_and_labels(void **state)
{
    struct schema schema;
    struct data_rules rules, copy;
    struct batch b;
    struct breach breach;
    schema_create(&schema, "y:f1 a:i1");
    rules_init(&rules, 2);
    rules.slots[0].label = true;
    rules_limit(&rules, 1, 8, "x");
    rules_limit(&rules, 1, 5, "y");
    rules_limit(&rules, 1, 7, "z"); /* the smallest counts */
    rules.slots[1].also = -1;
    rules.slots[1].has_also = true;
    rules_copy(&copy, &rules);
    rules_deinit(&rules);
    assert_int_equal(copy.slots[1].limit, 5);
    assert_string_equal(copy.slots[1].why, "y");
    assert_int_equal(batch_init(&b, &schema, 4, NULL), SKIFF_OK);
    static const float labels[] = {0.25f, 1, -1, 0};
    static const int64_t ids[] = {4, -1, 0, 5};
    for (int i = 0; i < 4; i++) {
        *batch_dense_f32(&b, 0) = labels[i];
        *batch_dense_i64(&b, 1) = ids[i];
        assert_int_equal(batch_row_end(&b, NULL), SKIFF_OK);
    }
    assert_false(rules_hold(&copy, &b, 0));
    assert_false(rules_breach(&copy, &b, 0, &breach));
    assert_false(rules_breach(&copy, &b, 1, &breach));
    assert_true(rules_breach(&copy, &b, 2, &breach));
    assert_int_equal(breach.kind, BAD_LABEL);
    assert_true(rules_breach(&copy, &b, 3, &breach));
    assert_int_equal(breach.kind, BAD_ID);
    batch_deinit(&b);
    rules_deinit(&copy);
    schema_deinit(&schema);
}

/* More samples from another file, then a shuffle: every sample keeps its line. */
static void origins_stay_with_samples(struct dataset *d, const char *dir)
{
    static const char *const lines[] = {"/a:1", "/a:2", "/b:1", "/b:3"};
    static const int64_t ids[] = {3, 12, 5, 13};
    const char *more = temp_text(dir, "b", "1 0 1 5 2 1 1\n\n1 0 1 13 2 1 1\n");
    const struct batch *b;
    struct buf position = BUF_INIT;
    int threads, found = 0;
    d->bad.limit = 1;
    assert_int_equal(dataset_set_files(d, &more, 1, NULL), SKIFF_OK);
    assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
    assert_int_equal(dataset_local_shuffle(d, 3, NULL), SKIFF_OK);
    assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
    assert_int_equal(dataset_next(d, 0, &b, NULL), SKIFF_OK);
    assert_int_equal(b->rows, 4);
    dataset_position(d, b, &position);
    char *at = position.data;
    for (int64_t row = 0; row < 4; row++) {
        char *word = strsep(&at, ",");
        for (int k = 0; k < 4; k++)
            if (b->columns[1].i64[row] == ids[k])
                found += strcmp(strrchr(word, '/'), lines[k]) == 0;
    }
    assert_int_equal(found, 4);
    buf_deinit(&position);
}

/* Samples that were loaded before the rules came, and where a batch of a stream is from. */
static void datasets_have_rules(void **state)
{
    struct fixture r;
    struct dataset_config dc;
    struct dataset *d;
    const struct batch *b;
    struct buf position = BUF_INIT;
    int threads;
    fixture_open(&r, "multislot", 0);
    const char *path = temp_text(r.dir, "a", "1 0 1 3 2 1 1\n1 0 1 12 2 1 1\n");
    dataset_config_init(&dc);
    dc.kind = DATASET_MEMORY;
    dc.schema = &r.schema;
    assert_int_equal(dataset_create(&dc, &d, NULL), SKIFF_OK);
    assert_int_equal(dataset_set_files(d, &path, 1, NULL), SKIFF_OK);
    assert_int_equal(dataset_load(d, NULL), SKIFF_OK);
    dataset_set_rules(d, &r.rules);
    assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
    assert_int_equal(dataset_next(d, 0, &b, &r.err), SKIFF_RANGE);
    assert_non_null(strstr(r.err.message, "/a:2: slot \"ids\" (2 of 3): expected an id from 0 to 9 "
                                          "(table \"emb\" has 10 rows), found 12"));
    dataset_set_rules(d, NULL);
    origins_stay_with_samples(d, r.dir);
    dataset_destroy(d);
    dc.kind = DATASET_QUEUE;
    assert_int_equal(dataset_create(&dc, &d, NULL), SKIFF_OK);
    assert_int_equal(dataset_set_files(d, &path, 1, NULL), SKIFF_OK);
    assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
    assert_int_equal(dataset_next(d, 0, &b, NULL), SKIFF_OK);
    batch_position_text(b, &position);
    assert_non_null(strstr(position.data, "/a lines 1-2"));
    dataset_destroy(d);
    buf_deinit(&position);
    fixture_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaches_are_bad_lines),
        cmocka_unit_test(the_first_one_too_many_fails),
        cmocka_unit_test(strange_names_are_reported),
        cmocka_unit_test(caches_are_checked),
        cmocka_unit_test(exceptions_and_labels),
        cmocka_unit_test(datasets_have_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
