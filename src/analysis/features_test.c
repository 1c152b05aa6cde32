/* Columns of a table as features, and batches in which one of them comes from other rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/features.h"
#include "analysis/kept_rows.h"

/* a is a number and an id; x and y share a slot of any number of values. */
#define COLUMNS "label = click\ndense = a, b\nC1 = a\nC2 = x, y\nC3 = z"
#define ROWS "click,a,b,x,y,z\n1,1,10,100,200,300\n0,2,20,101,201,301\n1,3,30,102,202,302\n"

struct fixture {
    struct schema schema;
    struct reader_config config;
    struct file_list files;
    char path[32];
};

static void fixture_open(struct fixture *f, const char *format, const char *columns)
{
    struct shape one = SHAPE(-1, 1), two = SHAPE(-1, 2);
    schema_init(&f->schema);
    assert_int_equal(schema_add(&f->schema, "label", DTYPE_INT64, 0, &one, NULL), SKIFF_OK);
    assert_int_equal(schema_add(&f->schema, "dense", DTYPE_FP32, 0, &two, NULL), SKIFF_OK);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "C%d", i);
        assert_int_equal(schema_add(&f->schema, name, DTYPE_INT64, i == 2, &one, NULL), SKIFF_OK);
    }
    reader_config_init(&f->config);
    assert_int_equal(reader_config_set(&f->config, "format", format, NULL), SKIFF_OK);
    if (columns)
        assert_int_equal(reader_config_set(&f->config, "columns", columns, NULL), SKIFF_OK);
    file_list_init(&f->files);
    strcpy(f->path, "/tmp/skiff-features-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0 && write(fd, ROWS, strlen(ROWS)) == (ssize_t)strlen(ROWS));
    close(fd);
    assert_int_equal(file_list_expand(&f->files, f->path, NULL), SKIFF_OK);
}

static void fixture_close(struct fixture *f)
{
    unlink(f->path);
    file_list_deinit(&f->files);
    reader_config_deinit(&f->config);
    schema_deinit(&f->schema);
}

static void open_features(struct fixture *f, struct features *out)
{
    static const bool wanted[] = {false, true, true, true, true};
    struct reader *reader;
    assert_int_equal(reader_create(&f->config, &f->schema, &reader, NULL), SKIFF_OK);
    features_init(out, reader, wanted);
    reader_destroy(reader);
}

static void is_feature(const struct feature *f, const char *name, int nparts, int slot, int at)
{
    assert_string_equal(f->name, name);
    assert_int_equal(f->nparts, nparts);
    assert_int_equal(f->parts[0].slot, slot);
    assert_int_equal(f->parts[0].at, at);
}

static void columns_are_features(void **state)
{
    (void)state;
    struct fixture f;
    struct features features;
    fixture_open(&f, "csv", COLUMNS);
    open_features(&f, &features);
    assert_int_equal(features.n, 4);
    is_feature(&features.at[0], "a", 2, 1, 0);
    assert_int_equal(features.at[0].parts[1].slot, 2);
    is_feature(&features.at[1], "b", 1, 1, 1);
    is_feature(&features.at[2], "x + y", 1, 3, -1);
    is_feature(&features.at[3], "z", 1, 4, 0);
    features_deinit(&features);
    fixture_close(&f);
}

static void slots_are_features_without_columns(void **state)
{
    (void)state;
    struct fixture f;
    struct features features;
    fixture_open(&f, "slot_text", NULL);
    open_features(&f, &features);
    assert_int_equal(features.n, 5);
    is_feature(&features.at[0], "dense[1]", 1, 1, 0);
    is_feature(&features.at[1], "dense[2]", 1, 1, 1);
    is_feature(&features.at[3], "C2", 1, 3, -1);
    features_deinit(&features);
    fixture_close(&f);
}

static void a_feature_comes_from_other_rows(void **state)
{
    (void)state;
    static const int64_t order[] = {2, 0, 1};
    struct fixture f;
    struct features features;
    struct kept_rows rows;
    struct batch out;
    fixture_open(&f, "csv", COLUMNS);
    open_features(&f, &features);
    struct scan_plan plan = {.schema = &f.schema, .reader = &f.config};
    assert_int_equal(kept_rows_read(&rows, &plan, &f.files, 100, 2, NULL), SKIFF_OK);
    assert_true(rows.rows == 3 && rows.n == 2);
    assert_int_equal(batch_init(&out, &f.schema, 2, NULL), SKIFF_OK);
    assert_int_equal(kept_rows_permuted(&rows, 0, &features.at[0], order, &out, NULL), SKIFF_OK);
    assert_int_equal(out.rows, 2);
    /* a of row 3 and row 1, in both of its slots; the rest as it was */
    assert_true(out.columns[1].f32[0] == 3 && out.columns[1].f32[2] == 1);
    assert_true(out.columns[1].f32[1] == 10 && out.columns[1].f32[3] == 20);
    assert_true(out.columns[2].i64[0] == 3 && out.columns[2].i64[1] == 1);
    assert_true(out.columns[3].i64[0] == 100 && out.columns[4].i64[1] == 301);
    /* the second batch, a slot of several values */
    assert_int_equal(kept_rows_permuted(&rows, 1, &features.at[2], order, &out, NULL), SKIFF_OK);
    assert_int_equal(out.rows, 1);
    assert_true(out.columns[3].i64[0] == 101 && out.columns[3].i64[1] == 201);
    assert_true(out.columns[2].i64[0] == 3 && out.columns[0].i64[0] == 1);
    batch_deinit(&out);
    kept_rows_deinit(&rows);
    assert_int_equal(kept_rows_read(&rows, &plan, &f.files, 2, 4, NULL), SKIFF_OK);
    assert_int_equal(rows.rows, 2); /* no more than wanted */
    kept_rows_deinit(&rows);
    features_deinit(&features);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_features),
                                       cmocka_unit_test(slots_are_features_without_columns),
                                       cmocka_unit_test(a_feature_comes_from_other_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
