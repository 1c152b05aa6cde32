/* The csv reader with columns by name, what was learnt of them, missing values and text labels; and
 * what libsvm and libffm take of the same settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "data/test_help.h"
#include "data/text.h"

static char dir[256];
static const char *stats; /* path */

static const char stats_text[] =
    "skiff-columns 1\nrows 10\nids 35\n"
    "number \"age\" missing=1 min=10 max=50 mean=30 ids=0 size=4 knots 10 20 40\n"
    "values \"work class\" missing=2 distinct=2 ids=4 size=4\n \"Private\" 4\n \"State-gov\" 3\n"
    "hour \"t\" missing=0 form=yymmddhh ids=8 size=25\n"
    "number \"7\" missing=0 min=0 max=8 mean=1 ids=33 size=3 knots 0 4\n";

static int group_setup(void **state)
{
    temp_create(dir);
    stats = temp_text(dir, "stats", stats_text);
    return 0;
}

static int group_teardown(void **state)
{
    temp_remove(dir);
    return 0;
}

struct pair {
    const char *key, *value;
};

/* Reads the text with these settings. Gives the rows as text, or the first message. */
static char *read_text(const char *schema_words, const struct pair *settings, const char *text)
{
    struct schema schema;
    struct reader_config config;
    struct reader *reader = NULL;
    struct skiff_error err = {0};
    struct stream *stream;
    struct source source;
    struct batch batch;
    struct buf got = BUF_INIT;
    const char *line;
    size_t n;
    schema_create(&schema, schema_words);
    reader_config_init(&config);
    for (; settings->key; settings++)
        if (reader_config_set(&config, settings->key, settings->value, &err) != SKIFF_OK)
            fail_msg("%s", err.message);
    assert_int_equal(stream_open_memory(text, strlen(text), "m", &stream, NULL), SKIFF_OK);
    assert_int_equal(source_open(&source, stream, 0, NULL), SKIFF_OK);
    assert_int_equal(batch_init(&batch, &schema, 64, NULL), SKIFF_OK);
    assert_int_equal(batch_reset(&batch, NULL), SKIFF_OK);
    enum skiff_status status = reader_create(&config, &schema, &reader, &err);
    if (status == SKIFF_OK && reader->class->begin)
        status = reader->class->begin(reader, &source, &err);
    while (status >= 0 && (status = source_line(&source, &line, &n, &err)) == SKIFF_OK)
        status = reader->class->line(reader, line, n, &batch, &err);
    if (status < 0)
        buf_str(&got, err.message);
    else
        batch_text(&batch, &got);
    batch_deinit(&batch);
    source_close(&source);
    reader_destroy(reader);
    reader_config_deinit(&config);
    schema_deinit(&schema);
    return got.data ? got.data : strdup("");
}

static void same(char *got, const char *want)
{
    if (strcmp(got, want) != 0)
        fail_msg("expected %s, found %s", want, got);
    free(got);
}

static void has(char *got, const char *want)
{
    if (!strstr(got, want))
        fail_msg("expected %s, found %s", want, got);
    free(got);
}

#define SETTINGS(...) ((const struct pair[]){{"format", "csv"}, __VA_ARGS__, {0}})

static void test_by_name(void **state)
{
    const struct pair *s =
        SETTINGS({"columns", "label = y y\nd = b, \"a, \"\"q\"\"\"\nC1 = id\nC2 = id"});
    same(read_text("label:i1 d:f2 C1:i1 C2:i", s, "id,\"a, \"\"q\"\"\",x,b,y y\n7,1,2,3,1\n"),
         "1 3,1 7 7\n");
    /* in another order, and with blanks around names */
    same(read_text("label:i1 d:f2 C1:i1 C2:i", s, "y y , b,\"a, \"\"q\"\"\" , id\n0,3,1,8\n"),
         "0 3,1 8 8\n");
    same(read_text("label:i1 d:f2 C1:i1 C2:i", s, "y y,b,id\n"),
         "header: there is no column \"a, \"q\"\" (slot \"d\"); columns are: y y, b, id");
    has(read_text("label:i1 d:f2 C1:i1 C2:i", s, "yy,b,\"a, \"\"q\"\"\",id\n"),
        "there is no column \"y y\" (slot \"label\") (did you mean \"yy\"?)");
    has(read_text("label:i1 d:f2 C1:i1 C2:i", s, "y y,b,\"a, \"\"q\"\"\",id,b\n1,2,3,4,5\n"),
        "slot \"d\": expected 2 columns (it is dense), found 3; is a name in the header twice?");
}

static void test_by_position(void **state)
{
    const struct pair *s = SETTINGS({"header", "false"}, {"columns", "label = 3\nd = 2, 1"});
    same(read_text("label:i1 d:f2", s, "5, 6, 1\n7,8,0\n"), "1 6,5\n0 8,7\n");
    has(read_text("label:i1 d:f2", s, "5,6\n"), "slot \"label\": there is no column 3; without a "
                                                "header line columns go by position, 1 to 2");
    has(read_text("label:i1 d:f2", s, "5,6,1\n5,6\n"), "expected 3 columns, found 2");
}

static void test_wrong_columns(void **state)
{
    has(read_text("label:i1 d:f2", SETTINGS({"columns", "label = a\nd = b"}), ""),
        "slot \"d\": expected 2 columns (it is dense), found 1");
    has(read_text("label:i1 C1:i1", SETTINGS({"columns", "label = a\nC2 = b"}), ""),
        "columns: there is no slot \"C2\"; slots are: label, C1");
    has(read_text("label:i1 C1:i1", SETTINGS({"columns", "label,C3"}), ""),
        "columns: there is no slot \"C3\"; slots are: label, C1");
    has(read_text("label:i1 C1:i1", SETTINGS({"columns", "label = a"}), ""),
        "no column for slot \"C1\"; slots are: label, C1");
    has(read_text("label:i1 C1:i1", SETTINGS({"columns", "label = a\nC1"}), ""),
        "columns: expected slot = column, found C1");
    has(read_text("label:i1 C1:i1", SETTINGS({"columns", "label = a\nC1 = b,,c"}), ""),
        "columns: C1: a column has no name");
    struct buf many = BUF_INIT;
    buf_str(&many, "label:i1");
    for (int i = 0; i < 200; i++)
        buf_printf(&many, " C%d:i1", i);
    has(read_text(many.data, SETTINGS({"columns", "label = a\nno = b"}), ""), "C58, ...");
    buf_deinit(&many);
}

static void test_learnt(void **state)
{
    const struct pair *s =
        SETTINGS({"stats", stats}, {"normalise", "quantile"}, {"missing", "?\nNA"},
                 {"positive", ">50K"}, {"negative", "<=50K"},
                 {"columns", "label = y\nd = age\nC1 = age\nC2 = work class\nC3 = t"});
    same(read_text("label:i1 d:f1 C1:i1 C2:i1 C3:i1", s,
                   "age, work class, t, y\n"
                   "15, Private, 14102100, <=50K\n"
                   "40, \"State-gov\", 14102123, >50K.\n"
                   "?, NA, , >50K\n"
                   "99, Never, 14102101, <=50K\n"),
         "0 0.166666672 1 6 9\n1 0.666666687 3 7 32\n1 0 0 4 8\n0 1 3 5 10\n");
    has(read_text("label:i1 d:f1 C1:i1 C2:i1 C3:i1", s,
                  "age,work class,t,y\nold,x,14102100,>50K\n"),
        "slot \"d\" (2 of 5): expected a number, found \"old\"");
    has(read_text("label:i1 d:f1 C1:i1 C2:i1 C3:i1", s, "age,work class,t,y\n1,x,noon,>50K\n"),
        "slot \"C3\" (5 of 5): expected a time, found \"noon\"");
    has(read_text("label:i1 d:f1 C1:i1 C2:i1 C3:i1", s, "age,work class,t,y\n1,x,14102100,?\n"),
        "slot \"label\" (1 of 5): expected >50K or <=50K, found \"?\"");
    has(read_text("label:i1 d:f1",
                  SETTINGS({"stats", stats}, {"normalise", "quantile"},
                           {"columns", "label = y\nd = work class"}),
                  ""),
        "slot \"d\": the stats file has no number column \"work class\"");
    has(read_text("label:i1 C1:i1", SETTINGS({"stats", stats}, {"columns", "label = y\nC1 = city"}),
                  ""),
        "slot \"C1\": the stats file has no ids of a column \"city\"");
    /* numbers as they are, ids from the file */
    same(read_text("label:i1 d:f1 C1:i1",
                   SETTINGS({"stats", stats}, {"columns", "label = y\nd = age\nC1 = age"}),
                   "age,y\n25,1\n"),
         "1 25 2\n");
}

static void test_missing_and_labels(void **state)
{
    struct hasher h = hasher_of(HASH_XXH64, 1000);
    struct hash_prefix c1 = {"C1", 2};
    char want[100];
    snprintf(want, sizeof want, "1 %lld\n0 %lld\n", (long long)hasher_id(&h, &c1, "", 0),
             (long long)hasher_id(&h, &c1, "x", 1));
    same(read_text("label:i1 C1:i1", SETTINGS({"hash_size", "1000"}, {"missing", "none"}),
                   "label,C1\n1.0,none\n0, x \n"),
         want);
    has(read_text("label:i1 C1:i1", SETTINGS({"hash_size", "1000"}), "label,C1\n,x\n"),
        "slot \"label\" (1 of 2): the row has no label (its cell is empty)");
    has(read_text("label:i1 C1:i1", SETTINGS({"hash_size", "9"}), "label,C1\n0.5,x\n"),
        "slot \"label\" (1 of 2): expected a whole number, found \"0.5\"");
    has(read_text("label:i1 C1:i1", SETTINGS({"multi", "|"}), "label,C1\n1,x\n"),
        "slot \"C1\" (2 of 2): expected a whole number, found \"x\"; for text, the setting "
        "hash_size "
        "(runner.input_hash_size) makes ids of it");
    same(read_text("label:i1 C1:i1", SETTINGS({"comment", "#"}), "# a\nlabel,C1\n1,2\n# b\n0,3\n"),
         "1 2\n0 3\n");
    same(read_text("label:f1 C1:i1", SETTINGS({"positive", "b"}), "label,C1\nb,2\na,3\n"),
         "1 2\n0 3\n");
}

static void test_settings_refused(void **state)
{
    static const struct {
        const char *format, *key, *value, *want;
    } cases[] = {
        {"csv", "normalise", "documents", "normalise documents is for criteo; csv has quantile"},
        {"csv", "normalise", "quantile", "needs the file that `skiff init` or `skiff prepare`"},
        {"csv", "stats", "/no/such", "/no/such: cannot open"},
        {"libsvm", "normalise", "quantile", "needs the file that `skiff init` or `skiff prepare`"},
        {"libffm", "normalise", "quantile",
         "the setting normalise (runner.input_normalise) is not "
         "for this format; these have it: criteo, libsvm, csv"},
        {"slot_text", "stats", "x",
         "the setting stats (runner.input_stats) is not for this format"},
        {"multislot", "positive", "x",
         "the setting positive (runner.input_positive) is not for this format; these have it: "
         "libsvm, libffm, csv"},
        {"csv", "negative", "0", "the setting negative needs positive"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pair s[] = {{"format", cases[i].format}, {cases[i].key, cases[i].value}, {0}};
        has(read_text("label:i1 C1:i", s, ""), cases[i].want);
    }
}

#define SVM(...) ((const struct pair[]){__VA_ARGS__, {0}})

static void test_svm(void **state)
{
    static const char numbers[] =
        "skiff-columns 1\nrows 10\nids 7\n"
        "number \"1\" missing=0 min=0 max=8 mean=1 ids=0 size=3 knots 0 4\n"
        "number \"3\" missing=0 min=-2 max=2 mean=1 ids=3 size=4 knots -2 "
        "0 1\n";
    const char *path = temp_text(dir, "numbers", numbers);
    const struct pair *s = SVM({"format", "libsvm"}, {"stats", path}, {"normalise", "quantile"},
                               {"positive", "2"}, {"negative", "1"});
    /* index 2 was never seen: it has no id, and its value stays */
    same(read_text("label:i1 C1:i d:f3", s, "2 1:6 3:1.5\n1 2:9\n1 1:4 3:-5\n"),
         "1 2,6 0.75,0,0.833333313\n0 0 0,9,0.333333343\n0 2,4 0.5,0,0\n");
    has(read_text("label:i1 C1:i d:f3", s, "0 1:6\n"), "label: expected 2 or 1, found \"0\"");
    has(read_text("label:i1 C1:i", SVM({"format", "libsvm"}, {"stats", stats}), "1 1:1\n"),
        "column \"age\": a libsvm file has numbers by index");
    same(read_text("label:i1 C1:i C2:i",
                   SVM({"format", "libffm"}, {"positive", "1"}, {"field_base", "1"}),
                   "1.0 1:5:1 2:6:1\n-1 2:7:1\n"),
         "1 5 6\n0 0 7\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_by_position),
        cmocka_unit_test(test_wrong_columns),
        cmocka_unit_test(test_learnt),
        cmocka_unit_test(test_missing_and_labels),
        cmocka_unit_test(test_settings_refused),
        cmocka_unit_test(test_svm),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
