/* Rows to be predicted: with or without the label, their ids, and the places of bad lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "data/test_help.h"

/* Reads the text as a file with skip_label; out: the rows' values, places: what each line became.
 * bad: lines that may be bad. */
static enum skiff_status read_text(const char *schema_text, const char *const *settings,
                                   const char *text, int64_t bad, struct buf *out,
                                   struct buf *positions, struct skiff_error *err)
{
    char dir[256];
    struct schema schema;
    struct reader_config config;
    struct bad_lines lines;
    struct scan scan;
    struct batch b;
    struct file_list files;
    temp_create(dir);
    schema_create(&schema, schema_text);
    reader_config_init(&config);
    for (; settings[0]; settings += 2)
        assert_int_equal(reader_config_set(&config, settings[0], settings[1], NULL), SKIFF_OK);
    config.skip_label = true;
    bad_lines_init(&lines, bad);
    file_list_init(&files);
    file_list_add(&files, temp_text(dir, "rows", text));
    struct file_cursor cursor = {.files = &files};
    struct scan_plan plan = {.schema = &schema, .reader = &config, .bad = &lines};
    enum skiff_status status = scan_open(&scan, &plan, err);
    if (status == SKIFF_OK) {
        assert_int_equal(batch_init(&b, &schema, 64, NULL), SKIFF_OK);
        b.keep_positions = true;
        assert_int_equal(batch_reset(&b, NULL), SKIFF_OK);
        status = scan_fill(&scan, &cursor, &b, 64, err);
        batch_finish(&b);
        batch_text(&b, out);
        buf_add(positions, b.positions.data, b.positions_done);
        batch_deinit(&b);
        scan_close(&scan);
    }
    file_list_deinit(&files);
    bad_lines_deinit(&lines);
    reader_config_deinit(&config);
    schema_deinit(&schema);
    temp_remove(dir);
    return status;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

static void rows(const char *schema, const char *const *settings, const char *text,
                 const char *want, const char *want_positions)
{
    struct buf out = BUF_INIT, positions = BUF_INIT;
    struct skiff_error err;
    if (read_text(schema, settings, text, 9, &out, &positions, &err) != SKIFF_OK)
        fail_msg("%s: %s", text, err.message);
    assert_string_equal(out.data, want);
    assert_string_equal(positions.data, want_positions);
    buf_deinit(&out);
    buf_deinit(&positions);
}

static void refused(const char *schema, const char *const *settings, const char *text,
                    const char *want)
{
    struct buf out = BUF_INIT, positions = BUF_INIT;
    struct skiff_error err;
    assert_true(read_text(schema, settings, text, 0, &out, &positions, &err) < 0);
    if (!strstr(err.message, want))
        fail_msg("expected %s, found %s", want, err.message);
    buf_deinit(&out);
    buf_deinit(&positions);
}

static void test_csv(void **state)
{
    const char *schema = "label:i1 a:f1 b:i1";
    const char *const *plain = SET("format", "csv");
    (void)state;
    rows(schema, plain, "label,a,b\n1,2,3\n>50K,4,5\n,6,7\n", "0 2 3\n0 4 5\n0 6 7\n", "+\n+\n+\n");
    rows(schema, plain, "b,a\n3,2\n\n5,4\n", "0 2 3\n0 4 5\n", "+\n+\n");
    const char *const *named = SET("format", "csv", "id", "key");
    rows(schema, named, "key,a,b\nx1,2,3\n\"y,\"\"2\",4,5\n", "0 2 3\n0 4 5\n", "+x1\n+y,\"2\n");
    rows(schema, named, "a,b,key\n2,3,p\n4,oops,q\n6,7,r\n", "0 2 3\n0 6 7\n", "+p\n-\n+r\n");
    refused(schema, named, "a,b\n1,2\n",
            "no column \"key\", which the setting id names (2 columns); an empty setting, "
            "-o runner.input_id=, takes rows without ids");
    refused(schema, plain, "a\n1\n", "no column for slot \"b\"");
    /* without a header: the line has one column fewer */
    const char *const *bare =
        SET("format", "csv", "header", "false", "columns", "a,label,b,-", "id", "4");
    rows(schema, bare, "2,1,3,id1\n2,3,id2\n2,\"3\",\"i,3\"\n", "0 2 3\n0 2 3\n0 2 3\n",
         "+id1\n+id2\n+i,3\n");
    refused(schema, bare, "2,3\n", "expected 4 columns, found 2");
    refused(schema, SET("format", "csv", "header", "false", "columns", "label,a,b", "id", "key"),
            "1,2,3\n", "id: key: without a header line it is a column's number, from 1");
    /* columns by name, and by position */
    const char *const *by_name = SET("format", "csv", "columns", "label = y\na = A\nb = B");
    rows(schema, by_name, "A,B\n2,3\n", "0 2 3\n", "+\n");
    rows(schema, by_name, "y,A,B\n<=50K,2,3\n", "0 2 3\n", "+\n");
    refused(schema, by_name, "y,A\n1,2\n", "there is no column \"B\"");
    const char *const *by_position =
        SET("format", "csv", "header", "false", "columns", "label = 2\na = 1\nb = 3");
    rows(schema, by_position, "2,3\n2,1,3\n", "0 2 3\n0 2 3\n", "+\n+\n");
    rows(schema, by_position, "2,1,3\n2,3\n", "0 2 3\n0 2 3\n", "+\n+\n");
    rows(schema, SET("format", "csv", "header", "false", "columns", "label = 3\na = 1\nb = 2"),
         "2,3\n2,3,x\n", "0 2 3\n0 2 3\n", "+\n+\n");
    refused(schema, by_position, "2\n", "there is no column");
    /* the last column is not used: only the width tells that the label is not there */
    const char *const *wide =
        SET("format", "csv", "header", "false", "columns", "label = 1\na = 2\nb = 3", "width", "4");
    rows(schema, wide, "2,3,u\n1,2,3,u\n", "0 2 3\n0 2 3\n", "+\n+\n");
    rows(schema, wide, "1,2,3,u\n2,3,u\n", "0 2 3\n0 2 3\n", "+\n+\n");
    refused(schema, wide, "2,3\n",
            "expected 4 columns (input_width), or one less without a label, found 2");
    rows(schema, SET("format", "csv", "header", "false", "columns", "label,a,b"), "1,2,3\n4,5\n",
         "0 2 3\n0 4 5\n", "+\n+\n");
    rows(schema, SET("format", "csv", "header", "false", "columns", "a,b,label"), "1,2,3\n4,5\n",
         "0 1 2\n0 4 5\n", "+\n+\n");
}

static void test_multislot(void **state)
{
    const char *schema = "label:i1 a:i b:f2";
    const char *const *plain = SET("format", "multislot");
    const char *const *named = SET("format", "multislot", "parse_ins_id", "true");
    (void)state;
    rows(schema, plain, "1 1 2 5 6 2 .5 1\n2 5 6 2 .5 1\n1 0 1 7 2 1 2\n1 8 2 1 2\n",
         "0 5,6 0.5,1\n0 5,6 0.5,1\n0 7 1,2\n0 8 1,2\n", "+\n+\n+\n+\n");
    rows(schema, named, "1 id1 1 7 2 1 2\n1 id2 1 1 1 8 2 1 2\n", "0 7 1,2\n0 8 1,2\n",
         "+id1\n+id2\n");
    /* a bad line, and empty ones, keep their places; its id does not stay */
    rows(schema, named, "1 id1 1 7 2 1 2\n1 id2 1 oops\n\n\n1 id3 1 8 2 1 2\n",
         "0 7 1,2\n0 8 1,2\n", "+id1\n-\n-\n-\n+id3\n");
    refused(schema, plain, "1 7 2 1 2\n1 7 2 1 x\n",
            "rows:2: slot \"b\" (3 of 3): expected a number as value 2 of 2, found \"x\"");
    refused(schema, plain, "1 1 1 7 2 1 x\n",
            "rows:1: slot \"b\" (3 of 3): expected a number as value 2 of 2, found \"x\"");
    /* the label in the last place, lines that lack it by chance fit no other way */
    rows("a:i b:f2 label:i1", plain, "1 7 2 1 2 1 1\n1 7 2 1 2\n", "7 1,2 0\n7 1,2 0\n", "+\n+\n");
}

static void test_names(void **state)
{
    (void)state;
    rows("label:i1 C1:i dense_input:f2", SET("format", "slot_text"),
         "click:1 dense_feature:1 dense_feature:2 1:7\ndense_feature:1 dense_feature:2 1:7\n"
         "click:? dense_feature:1 dense_feature:2 1:7\n",
         "0 7 1,2\n0 7 1,2\n0 7 1,2\n", "+\n+\n+\n");
    rows("click:i1 slot_2:i slot_3:i", SET("format", "sign_slot"),
         "0:1 5:2 6:3\n5:2 6:3\nq9\t5:2\n", "0 5 6\n0 5 6\n0 5 0\n", "+\n+\n+q9\n");
}

static void test_svm(void **state)
{
    (void)state;
    rows("label:i1 ids:i", SET("format", "libsvm"), "1 3:1 9:1\n3:1 9:1 # q\n# none\nqid:4 3:1\n",
         "0 3,9\n0 3,9\n0 3\n", "+\n+\n+\n");
    rows("label:i1 A:i B:i", SET("format", "libffm"), "1 0:3:1 1:9:1\n0:3:1 1:9:1\n",
         "0 3 9\n0 3 9\n", "+\n+\n");
    refused("label:i1 ids:i", SET("format", "libsvm"), "x 3:y\n", "expected index:value");
}

static void test_criteo(void **state)
{
    struct buf text = BUF_INIT;
    (void)state;
    for (int line = 0; line < 3; line++) {
        buf_str(&text, line == 0 ? "1\t" : line == 2 ? "?\t" : "");
        for (int i = 0; i < 12; i++)
            buf_str(&text, "\t");
        buf_str(&text, "7");
        for (int i = 0; i < 26; i++)
            buf_str(&text, "\t");
        buf_str(&text, "\n");
    }
    rows("label:i1 I13:f1", SET("format", "criteo", "normalise", "none"), text.data,
         "0 7\n0 7\n0 7\n", "+\n+\n+\n");
    refused("label:i1 I13:f1", SET("format", "criteo"), "1\t2\n", "expected 40 columns");
    buf_deinit(&text);
}

/* Bad lines without end take no memory without end: a batch ends before. */
static void test_positions_bounded(void **state)
{
    struct schema schema;
    struct batch b;
    (void)state;
    schema_create(&schema, "label:i1");
    assert_int_equal(batch_init(&b, &schema, 8, NULL), SKIFF_OK);
    b.keep_positions = true;
    assert_int_equal(batch_reset(&b, NULL), SKIFF_OK);
    batch_holes(&b, 3);
    assert_false(batch_is_full(&b, 8));
    batch_holes(&b, BATCH_HOLES_MAX - 3);
    assert_true(batch_is_full(&b, 8));
    assert_int_equal(b.positions_done, 2 * BATCH_HOLES_MAX);
    assert_int_equal(batch_reset(&b, NULL), SKIFF_OK);
    assert_false(batch_is_full(&b, 8));
    batch_deinit(&b);
    schema_deinit(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),    cmocka_unit_test(test_multislot),
        cmocka_unit_test(test_names),  cmocka_unit_test(test_svm),
        cmocka_unit_test(test_criteo), cmocka_unit_test(test_positions_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
