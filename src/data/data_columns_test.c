/* Which column of the table is a slot (slot_columns.h), in titles and in messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/check.h"
#include "data/slot_columns.h"
#include "data/test_help.h"

static char dir[256];

static const char stats_text[] =
    "skiff-columns 1\nrows 10\nids 90\n"
    "number \"price\" missing=0 min=10 max=50 mean=30 ids=0 size=4 knots 10 20 40\n"
    "number \"age\" missing=0 min=1 max=9 mean=5 ids=0 size=0 knots 1 5\n"
    "values \"age\" missing=0 distinct=2 ids=4 size=4\n \"1\" 4\n \"9\" 3\n"
    "values \"user\" missing=2 distinct=1 ids=8 size=3\n \"u\" 4\n"
    "hour \"time\" missing=0 form=iso ids=11 size=25\n"
    "weekday \"weekday(time)\" missing=0 form=iso ids=36 size=8\n"
    "number \"days(time)\" missing=0 form=iso min=0 max=9 mean=4 ids=44 size=3 knots 0 4\n";

static int group_setup(void **state)
{
    temp_create(dir);
    return 0;
}

static int group_teardown(void **state)
{
    temp_remove(dir);
    return 0;
}

/* "label dense dense ..." of the words, then the settings' columns */
static void read_names(struct schema *schema, const char *words, const char *columns, bool header,
                       const char *stats)
{
    struct reader_config config;
    struct skiff_error err;
    schema_create(schema, words);
    reader_config_init(&config);
    assert_int_equal(reader_config_set(&config, "format", "csv", &err), SKIFF_OK);
    assert_int_equal(reader_config_set(&config, "columns", columns, &err), SKIFF_OK);
    assert_int_equal(reader_config_set(&config, "header", header ? "true" : "false", &err),
                     SKIFF_OK);
    if (stats)
        assert_int_equal(reader_config_set(&config, "stats", stats, &err), SKIFF_OK);
    slot_columns_read(schema, &config);
    reader_config_deinit(&config);
}

static void assert_title(const struct schema *schema, int slot, int64_t at, const char *title)
{
    char out[SLOT_TITLE_MAX];
    assert_string_equal(slot_title(&schema->slots[slot], at, out), title);
}

static void a_slot_has_the_name_of_its_column(void **state)
{
    struct schema schema, copy;
    const char *stats = temp_text(dir, "stats", stats_text);
    read_names(&schema, "label:i1 dense:f3 A:i1 B:i1 C:i1 D:i1 E:i1 F:i1",
               "label = bought\ndense = age, price, days(time)\nA = user\nB = time\n"
               "C = weekday(time)\nD = price\nE = age\nF = days(time)",
               true, stats);
    assert_title(&schema, 0, 0, "bought");
    assert_title(&schema, 1, 0, "age");
    assert_title(&schema, 1, 1, "price");
    assert_title(&schema, 1, 2, "time (days)");
    assert_title(&schema, 1, -1, "age, price, time (days)");
    assert_title(&schema, 2, 0, "user");
    assert_title(&schema, 3, 0, "time (hour)");
    assert_title(&schema, 4, 0, "time (weekday)");
    assert_title(&schema, 5, 0, "price (buckets)");
    assert_title(&schema, 6, 0, "age (values)");
    assert_title(&schema, 7, 0, "time (days, buckets)");
    assert_int_equal(slot_fields(&schema.slots[1]), 3);
    assert_int_equal(schema_fields(&schema), 10);
    assert_int_equal(schema_copy(&copy, &schema, NULL), SKIFF_OK);
    schema_deinit(&schema);
    assert_title(&copy, 1, 1, "price");
    schema_deinit(&copy);
}

static void without_columns_a_slot_keeps_its_name(void **state)
{
    struct schema schema;
    char out[2 * SLOT_TITLE_MAX];
    read_names(&schema, "label:i1 dense:f2 C1:i1", "label,dense*2,C1", false, NULL);
    assert_title(&schema, 1, 1, "dense");
    assert_int_equal(schema_fields(&schema), 3);
    assert_string_equal(slot_place(&schema, 1, 1, out), "slot \"dense\" (2 of 3)");
    schema_deinit(&schema);
    read_names(&schema, "label:i1 dense:f2 C1:i1", "label = 4\ndense = 1, 2\nC1 = 3", false, NULL);
    assert_title(&schema, 1, 1, "column 2");
    assert_string_equal(slot_place(&schema, 2, 0, out), "column 3 (slot C1)");
    schema_deinit(&schema);
}

static void long_names_end_with_dots(void **state)
{
    struct schema schema;
    char out[SLOT_TITLE_MAX], columns[256];
    snprintf(columns, sizeof columns, "label = y\ndense = %0100d, %0100d", 1, 2);
    read_names(&schema, "label:i1 dense:f2", columns, true, NULL);
    for (int at = -1; at < 2; at++) {
        slot_title(&schema.slots[1], at, out);
        assert_int_equal(strlen(out), SLOT_TITLE_MAX - 1);
        assert_string_equal(out + SLOT_TITLE_MAX - 4, "...");
    }
    schema_deinit(&schema);
}

/* ---- where they are used ---- */

static void check_text(const char *text, struct check_report *out, struct schema *schema,
                       char message[256])
{
    static const char columns[] = "label = y\ndense = age, price\nC1 = user";
    struct reader_config config;
    struct bad_lines bad;
    struct skiff_error err = {0};
    struct file_list files;
    read_names(schema, "label:i1 dense:f2 C1:i1", columns, true, NULL);
    reader_config_init(&config);
    (void)reader_config_set(&config, "format", "csv", &err);
    (void)reader_config_set(&config, "columns", columns, &err);
    bad_lines_init(&bad, 0);
    struct scan_plan plan = {.schema = schema, .reader = &config, .bad = &bad};
    file_list_init(&files);
    assert_int_equal(file_list_expand(&files, temp_text(dir, "t.csv", text), NULL), SKIFF_OK);
    *message = '\0';
    if (check_run(&plan, &files, out, &err) < 0)
        snprintf(message, 256, "%.250s", err.message);
    file_list_deinit(&files);
    bad_lines_deinit(&bad);
    reader_config_deinit(&config);
}

static void a_message_names_the_column(void **state)
{
    struct schema schema;
    struct check_report report = {0};
    char message[256];
    check_text("y,age,price,user\n1,3,4.5,7\n0,5,x,8\n", &report, &schema, message);
    assert_non_null(strstr(message, "t.csv:3: column \"price\" (slot dense): expected a number, "
                                    "found \"x\""));
    schema_deinit(&schema);
    check_text("y,age,price,user\n1,3,4.5,7\n0,5,6,u8\n", &report, &schema, message);
    assert_non_null(
        strstr(message, "t.csv:3: column \"user\" (slot C1): expected a whole number, found"));
    schema_deinit(&schema);
}

static void statistics_are_those_of_columns(void **state)
{
    struct schema schema;
    struct check_report report = {0};
    char message[256];
    check_text("y,age,price,user\n1,3,4.5,7\n0,5,0,8\n1,10,9,8\n", &report, &schema, message);
    assert_string_equal(message, "");
    assert_int_equal(report.slots[1].values, 3);
    assert_true(report.slots[1].min == 3 && report.slots[1].max == 10 && report.slots[1].mean == 6);
    assert_int_equal(report.slots[1].zeros, 0);
    assert_true(report.slots[2].min == 0 && report.slots[2].max == 9 &&
                report.slots[2].mean == 4.5);
    assert_int_equal(report.slots[2].zeros, 1);
    assert_int_equal(report.slots[3].most, 8);
    check_report_deinit(&report);
    schema_deinit(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_has_the_name_of_its_column),
        cmocka_unit_test(without_columns_a_slot_keeps_its_name),
        cmocka_unit_test(long_names_end_with_dots),
        cmocka_unit_test(a_message_names_the_column),
        cmocka_unit_test(statistics_are_those_of_columns),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
