/* Every reader: good lines by value, bad lines by message, and what must hold for all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/rng.h"
#include "data/stats.h"
#include "data/test_help.h"
#include "data/text.h"

/* A reader with settings "format=csv header=false", its batch, and lines given one by one. */
struct bench {
    struct schema schema;
    struct reader_config config;
    struct reader *reader;
    struct batch batch;
    struct skiff_error err;
};

static enum skiff_status bench_try(struct bench *t, const char *schema, const char *settings)
{
    char *copy = strdup(settings), *at = copy;
    schema_create(&t->schema, schema);
    reader_config_init(&t->config);
    for (char *word; (word = strsep(&at, " "));) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = '\0';
        for (char *c = value; *c; c++)
            if (*c == '_' && strcmp(word, "slots") == 0)
                *c = ' ';
        if (reader_config_set(&t->config, word, value, &t->err) != SKIFF_OK)
            fail_msg("%s", t->err.message);
    }
    free(copy);
    enum skiff_status status = reader_create(&t->config, &t->schema, &t->reader, &t->err);
    if (status == SKIFF_OK)
        assert_int_equal(batch_init(&t->batch, &t->schema, 64, NULL), SKIFF_OK);
    return status;
}

static void bench_open(struct bench *t, const char *schema, const char *settings)
{
    if (bench_try(t, schema, settings) != SKIFF_OK)
        fail_msg("%s", t->err.message);
}

static void bench_close(struct bench *t)
{
    reader_destroy(t->reader);
    batch_deinit(&t->batch);
    reader_config_deinit(&t->config);
    schema_deinit(&t->schema);
}

/* Settings that the reader must refuse, with this text. */
static void refuse(const char *schema, const char *settings, const char *want)
{
    struct bench t;
    if (bench_try(&t, schema, settings) == SKIFF_OK)
        fail_msg("%s accepted for %s", settings, schema);
    if (!strstr(t.err.message, want))
        fail_msg("expected %s, found %s", want, t.err.message);
    reader_config_deinit(&t.config);
    schema_deinit(&t.schema);
}

static enum skiff_status give(struct bench *t, const char *text, size_t n)
{
    static char line[4096];
    assert_true(n + TEXT_PAD < sizeof line);
    memset(line, '7', sizeof line); /* nothing behind the line may matter */
    memcpy(line, text, n);
    line[n] = '\n';
    return t->reader->class->line(t->reader, line, n, &t->batch, &t->err);
}

static void good(struct bench *t, const char *text, const char *want)
{
    struct buf got = BUF_INIT;
    assert_int_equal(batch_reset(&t->batch, NULL), SKIFF_OK);
    if (give(t, text, strlen(text)) != SKIFF_OK)
        fail_msg("%s: %s", text, t->err.message);
    batch_text(&t->batch, &got);
    got.data[got.len - 1] = '\0';
    if (strcmp(got.data, want) != 0)
        fail_msg("%s: expected %s, found %s", text, want, got.data);
    buf_deinit(&got);
}

static void bad_n(struct bench *t, const char *text, size_t n, const char *want)
{
    assert_int_equal(batch_reset(&t->batch, NULL), SKIFF_OK);
    enum skiff_status status = give(t, text, n);
    if (status != SKIFF_FORMAT && status != SKIFF_RANGE && status != SKIFF_NOT_FOUND &&
        status != SKIFF_INVALID)
        fail_msg("%s: status %d", text, status);
    if (!strstr(t->err.message, want))
        fail_msg("%s: expected %s, found %s", text, want, t->err.message);
    assert_int_equal(t->batch.rows, 0);
    for (int k = 0; k < t->batch.nragged; k++)
        assert_int_equal(t->batch.columns[t->batch.ragged[k]].count, 0);
}

static void bad(struct bench *t, const char *text, const char *want)
{
    bad_n(t, text, strlen(text), want);
}

static void test_multislot(void **state)
{
    struct bench t;
    bench_open(&t, "ids:i dense:f2 fv:f label:i1", "format=multislot");
    good(&t, "2 5 6 2 0.1 -2 1 7.5 1 1", "5,6 0.100000001,-2 7.5 1");
    good(&t, "\t2  5\r6 2 .5 1e3 \v1 inf\f1 0 ", "5,6 0.5,1000 inf 0");
    good(&t, "+1 +5 2 0x10 1 1 nan 1 -1", "5 16,1 nan -1");
    good(&t, "3 12345678 123456789 1234567890123456789 2 1 1 1 1 1 1",
         "12345678,123456789,1234567890123456789 1,1 1 1");
    good(&t, "1 18446744073709551616 2 1 1 1 1e39 1 1 9 9 rubbish", "-1 1,1 inf 1");
    good(&t, "01 007 2 0 0 1 00.5 1 00", "7 0,0 0.5 0");
    bad(&t, "", "slot \"ids\" (1 of 4): expected the number of its values, found the end");
    bad(&t, "1", "expected 1 values, found 0");
    bad(&t, "1 5", "slot \"dense\" (2 of 4): expected the number of its values, found the end");
    bad(&t, "3 5 6", "slot \"ids\" (1 of 4): expected 3 values, found 2");
    bad(&t, "9 5 6", "slot \"ids\" (1 of 4): expected 9 values, but the line ends before");
    bad(&t, "2 5  ", "expected 2 values, found 1");
    bad(&t, "1 5 2 1 1 3 1 2", "slot \"fv\" (3 of 4): expected 3 values, found 2");
    bad(&t, "1x 5 2 1 1 1 1 1 1", "found \"1x\"");
    bad(&t, "1 5x 2 1 1 1 1 1 1", "a whole number as value 1 of 1, found \"5x\"");
    bad(&t, "1 0x5 2 1 1 1 1 1 1", "found \"0x5\"");
    bad(&t, "1 - 2 1 1 1 1 1 1", "found \"-\"");
    bad(&t, "1 5 2 1 1..5 1 1 1 1", "a number as value 2 of 2, found \"1..5\"");
    bad(&t, "2147483648 5 2 1 1 1 1 1 1", "found \"2147483648\"");
    bad(&t, "18446744073709551617 5 2 1 1 1 1 1 1", "found \"18446744073709551617\"");
    bad(&t, "2147483647 5 2 1 1 1 1 1 1", "the line ends before");
    bad_n(&t, "1 5\0 2 1 1 1 1 1 1", 19, "found \"5\\x00\"");
    bad_n(&t, "\0", 1, "found \"\\x00\"");
    bench_close(&t);

    bench_open(&t, "ids:i label:i1", "format=multislot parse_ins_id=true parse_content=1");
    good(&t, "1 abc 1 some_content 2 5 6 1 1", "5,6 1");
    bad(&t, "1 abc 2 5 6 1 1", "the second one is missing");
    bad(&t, "1", "the first one is missing");
    bad(&t, "", "the first one is missing");
    bench_close(&t);
}

/* A Criteo line from 40 fields given as "0 2 - 5 ...", "-" is missing. */
static const char *criteo(const char *fields)
{
    static char line[2048];
    char *copy = strdup(fields), *at = copy;
    int n = 0;
    line[0] = '\0';
    for (char *word; (word = strsep(&at, " ")); n++) {
        strcat(line, n ? "\t" : "");
        strcat(line, strcmp(word, "-") == 0 ? "" : word);
    }
    for (; n < 40; n++)
        strcat(line, "\t");
    free(copy);
    return line;
}

static void test_criteo(void **state)
{
    struct bench t;
    struct hash_prefix c14 = {"14", 2}, c39 = {"39", 2};
    struct hasher h = hasher_of(HASH_XXH64, 1000001);
    char want[200];
    bench_open(&t, "label:i1 C1:i C26:i dense_input:f13", "format=criteo");
    snprintf(want, sizeof want,
             "1 %lld %lld 0.0500000007,0.00497512426,0,2,1,0,0,0,0,0,0,0.5,0.100000001",
             (long long)hasher_id(&h, &c14, "05db9164", 8), (long long)hasher_id(&h, &c39, "", 0));
    good(&t, criteo("1 1 0 - 100 64000 - - - - - - 5 5 05db9164"), want);
    assert_int_equal(hasher_id(&h, &c14, "05db9164", 8), 305721);
    /* values of other lengths, and bytes that are no text */
    snprintf(want, sizeof want, "0 %lld %lld 0,0,0,0,0,0,0,0,0,0,0,0,0",
             (long long)hasher_id(&h, &c14, "x", 1),
             (long long)hasher_id(&h, &c39, "a-very-long-category-value", 26));
    char line[400];
    snprintf(line, sizeof line, "%s", criteo("0 - - - - - - - - - - - - - x"));
    strcat(line, "a-very-long-category-value");
    good(&t, line, want);
    bench_close(&t);
}

static void test_criteo_numbers(void **state)
{
    struct bench t;
    bench_open(&t, "I1:f1 I2:f I4:f1 I13:f1 label:f1", "format=criteo normalise=none");
    good(&t, criteo("1 5 -3 9 123456789 1 1 1 1 1 1 1 1 1.5"), "5 -3 123456792 1.5 1");
    good(&t, criteo("0 99999999 -1234567890123 - 0 - - - - - - - - 12345678"),
         "100000000 -1.23456795e+12 0 12345678 0");
    good(&t, "0\t \t+7\t\t \t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t",
         "0 7 0 0 0");
    bad(&t, criteo("0 x"), "column I1: expected a number or nothing, found \"x\"");
    bad(&t, criteo("0 - 1x"), "column I2: expected a number or nothing, found \"1x\"");
    bad(&t, criteo("0 - 1 99999999999999999999x"), "column I3");
    bad(&t, criteo("0 - 1 inf"), "column I3");
    bad(&t, criteo("x"), "slot \"label\" (5 of 5): expected a whole number, found \"x\"");
    bad(&t, criteo("-"), "slot \"label\" (5 of 5): the row has no label (the first column)");
    bad(&t, criteo("99999999999999999999"), "expected a whole number");
    bad(&t, "0\t1\t2", "expected 40 columns with a tab between them, found 3");
    bad(&t, "", "expected 40 columns with a tab between them, found 1");
    char line[3000];
    memset(line, '\t', 2000);
    bad_n(&t, line, 2000, "expected 40 columns with a tab between them, found 2001");
    snprintf(line, sizeof line, "%s", criteo("0 - 5"));
    line[2] = '\0'; /* NUL in place of a tab */
    bad_n(&t, line, strlen(criteo("0 - 5")), "expected 40 columns");
    bench_close(&t);
    /* test files have no label */
    bench_open(&t, "label:i1 I1:f1 C1:i", "format=criteo normalise=none label=false hash_size=0");
    char test[200] = "7";
    strcat(test, "\t\t\t\t\t\t\t\t\t\t\t\t\tabc\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t");
    struct hash_prefix c14 = {"14", 2};
    struct hasher h = hasher_of(HASH_XXH64, 0);
    char want[100];
    snprintf(want, sizeof want, "0 7 %lld", (long long)hasher_id(&h, &c14, "abc", 3));
    good(&t, test, want);
    bench_close(&t);
}

static void test_criteo_slots(void **state)
{
    struct bench t;
    struct buf schema = BUF_INIT, want = BUF_INIT;
    struct hasher h = hasher_of(HASH_XXH64, 100);
    /* 26 ids of other names, in their order, dense ones too */
    buf_str(&schema, "click:i1 numbers:f13");
    buf_str(&want, "1 0,0,0,0,0,0,0,0,0,0,0,0,0");
    for (int i = 0; i < 26; i++) {
        char text[8];
        struct hash_prefix p;
        p.len = (size_t)snprintf(p.text, sizeof p.text, "%d", 14 + i);
        snprintf(text, sizeof text, "v%d", i);
        buf_printf(&schema, " cat_%c:i%s", 'a' + i, i & 1 ? "1" : "");
        buf_printf(&want, " %lld", (long long)hasher_id(&h, &p, text, strlen(text)));
    }
    bench_open(&t, schema.data, "format=criteo hash_size=100");
    good(&t,
         criteo("1 - - - - - - - - - - - - - v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12 v13 v14 v15 "
                "v16 v17 v18 v19 v20 v21 v22 v23 v24 v25"),
         want.data);
    bench_close(&t);
    buf_deinit(&schema);
    buf_deinit(&want);
    refuse("label:i1 other:i C1:i", "format=criteo",
           "slot \"other\" (int64, ragged [-1, 1]) cannot be filled");
    refuse("label:i1 C27:i", "format=criteo", "slot \"C27\"");
    refuse("label:i1 dense:f12", "format=criteo", "slot \"dense\" (float32, dense [-1, 12])");
    refuse("label:i C1:i", "format=criteo", "slot \"label\" is the label: it must be dense");
    refuse("label:i1 C1:i", "format=criteo normalise=quantile", "needs the stats file");
    refuse("label:i1 C1:i", "format=criteo normalise=quantile stats=/no/such",
           "/no/such: cannot open");
    refuse("label:i1 C1:i", "format=nothing",
           "input format nothing is not known; there are: multislot, criteo");
}

static void test_criteo_quantiles(void **state)
{
    struct bench t;
    struct criteo_stats s = {.rows = 10, .clicks = 2}, back;
    char dir[256], path[300], settings[400];
    temp_create(dir);
    snprintf(path, sizeof path, "%s/stats", dir);
    for (int i = 0; i < 13; i++)
        s.numbers[i] = (struct number_stats){
            .min = -3, .q95 = i == 4 ? -3 : 7, .max = 100.5, .mean = 0.25, .missing = i};
    for (int i = 0; i < 26; i++)
        s.categories[i] = (struct category_stats){i, 2, 3, 4, 5, i == 25};
    assert_int_equal(stats_write(&s, path, NULL), SKIFF_OK);
    assert_int_equal(stats_read(path, &back, NULL), SKIFF_OK);
    assert_memory_equal(&s, &back, sizeof s);
    snprintf(settings, sizeof settings, "format=criteo normalise=quantile stats=%s", path);
    bench_open(&t, "I1:f1 I2:f1 I5:f1 label:i1", settings);
    good(&t, criteo("0 7 17 - - 5"),
         "1 2 8 0"); /* extreme values stay; a column of one value: x - min */
    good(&t, criteo("0 - -3"), "0 0 0 0");
    bench_close(&t);
    struct skiff_error err;
    temp_text(dir, "stats", "skiff-stats 2\n");
    assert_int_equal(stats_read(path, &back, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "stats:1: not a line of a stats file"));
    temp_text(dir, "stats", "skiff-stats 1\nrows 1\n");
    assert_int_equal(stats_read(path, &back, &err), SKIFF_FORMAT);
    temp_remove(dir);
}

static void test_slot_text(void **state)
{
    struct bench t;
    bench_open(&t, "label:i1 C1:i C2:i dense_input:f3", "format=slot_text");
    good(&t, "click:1 dense_feature:0.5 dense_feature:1 dense_feature:2 1:7 2:8 2:9",
         "1 7 8,9 0.5,1,2");
    good(&t, "2:8 click:0 99:5 other:x", "0 0 8 0,0,0"); /* any order; others are ignored */
    good(&t, " 1:18446744073709551615\t2:-3 click:0", "0 -1 -3 0,0,0");
    bad(&t, "1:5 2:6",
        "slot \"label\" (1 of 4): the row has no label (label or click); "
        "input_label False reads rows without one");
    bad(&t, "clik:1 1:5",
        "slot \"label\" (1 of 4) has no value, and \"clik\" is no slot: expected \"click\"?");
    bad(&t, "Click:1 1:5", "and \"Click\" is no slot: expected \"click\"?");
    good(&t, "click:1 clik:0 C27:5", "1 0 0 0,0,0"); /* nothing is missing; C27 is not C2 */
    assert_int_equal(t.reader->class->strange(t.reader)->n, 5);
    bad(&t, "", "found a blank line");
    bad(&t, "  ", "found a blank line");
    bad(&t, "click", "expected slot:value, found \"click\"");
    bad(&t, "click:1 :5", "expected slot:value, found \":5\"");
    bad(&t, "click:", "slot \"label\" (1 of 4): expected a whole number, found \"\"");
    bad(&t, "click:x", "slot \"label\" (1 of 4): expected a whole number, found \"x\"");
    bad(&t, "click:1 click:0",
        "slot \"label\" (1 of 4): expected 1 values (it is dense), found more");
    bad(&t, "click:1 dense_feature:1 dense_feature:2",
        "slot \"dense_input\" (4 of 4): expected 3 values (it is dense), found 2");
    bad(&t, "dense_feature:q", "slot \"dense_input\" (4 of 4): expected a number, found \"q\"");
    bad(&t, "1:5:6", "found \"5:6\"");
    bad_n(&t, "1:5\0", 4, "found \"5\\x00\"");
    bench_close(&t);
    bench_open(&t, "label:i1 C1:i", "format=slot_text label=false");
    good(&t, "1:5", "0 5");
    bench_close(&t);
    /* a slot's own name goes before the other usual one */
    bench_open(&t, "click:i1 1:i C1:i", "format=slot_text");
    good(&t, "click:1 1:5 C1:6", "1 5 6");
    bench_close(&t);
    bench_open(&t, "y:i1 a:i b:f2", "format=slot_text slots=click_17_dense hash_size=10");
    good(&t, "click:1 17:123 dense:1 dense:2 a:9", "1 3 1,2");
    bench_close(&t);
    refuse("y:i1 a:i", "format=slot_text slots=click", "slots: 1 names are given for 2 slots");
    refuse("y:i1 a:i", "format=slot_text slots=x_x", "slots: x is given twice");
}

static void test_sign_slot(void **state)
{
    struct bench t;
    bench_open(&t, "1:i 2:i 300:i", "format=sign_slot");
    good(&t, "1:1 4351255118977467729:2 16543128959394097760:300 5:300 7:999",
         "1 4351255118977467729 -1903615114315453856,5");
    good(&t, "0:1", "0 0 0");
    good(&t, "instance id\t1:1 2:2", "1 2 0");
    bad(&t, "", "found a blank line");
    bad(&t, "x:1", "slot \"1\" (1 of 3): expected a whole number, found \"x\"");
    bad(&t, "5:", "expected sign:slot, found \"5:\"");
    bad(&t, ":1", "expected sign:slot, found \":1\"");
    bad(&t, "5", "expected sign:slot, found \"5\"");
    bench_close(&t);
    bench_open(&t, "show:i1 click:i1 slot_7:i", "format=sign_slot hash_size=100");
    good(&t, "1:1 123:7", "1 1 23");
    bad(&t, "1:1 0:1 5:7", "slot \"click\" (2 of 3): expected 1 values");
    bench_close(&t);
}

static void test_libsvm(void **state)
{
    struct bench t;
    bench_open(&t, "label:i1 ids:i values:f", "format=libsvm");
    good(&t, "1 3:0.5 17:1 4000000000:-2e3", "1 3,17,4000000000 0.5,1,-2000");
    good(&t, "-1 qid:7 1:1 # 5:5", "0 1 1");
    good(&t, "+1", "1 0 0");
    good(&t, "2.0 1:1", "2 1 1");
    assert_int_equal(batch_reset(&t.batch, NULL), SKIFF_OK);
    assert_int_equal(give(&t, "", 0), SKIFF_END); /* no sample in such lines */
    assert_int_equal(give(&t, "  # only a comment", 18), SKIFF_END);
    assert_int_equal(t.batch.rows, 0);
    bad(&t, "x 1:1", "label: expected a number, found \"x\"");
    bad(&t, "0.5 1:1", "label: expected a whole number, found \"0.5\"");
    bad(&t, "1 1", "expected index:value, found \"1\"");
    bad(&t, "1 :1", "expected index:value, found \":1\"");
    bad(&t, "1 1:", "expected index:value, found \"1:\"");
    bad(&t, "1 1:x", "expected index:value, found \"1:x\"");
    bad(&t, "1 -1:1", "expected an index of 0 or more, found -1");
    bad(&t, "1 99999999999999999999:1", "expected index:value");
    bad_n(&t, "1 1:1\0", 6, "expected index:value");
    bench_close(&t);
    bench_open(&t, "y:f1 x:f4 ids:i", "format=libsvm hash_size=3");
    good(&t, "-1 1:1 4:0.5", "-1 1,0,0,0.5 1,1");
    bad(&t, "1 5:1", "slot \"x\" (2 of 3): expected an index from 1 to 4, found 5");
    bad(&t, "1 0:1", "expected an index from 1 to 4, found 0");
    bench_close(&t);
    refuse("label:i1 a:i b:i", "format=libsvm", "slot \"b\" cannot be filled");
}

static void test_libffm(void **state)
{
    struct bench t;
    bench_open(&t, "label:i1 a:i b:i w:f", "format=libffm");
    good(&t, "1 0:5:0.25 1:6:1 0:7:0.5 9:1:1", "1 5,7 6 0.25,0.5");
    good(&t, "-1", "0 0 0 0");
    bad(&t, "1 0:5", "expected field:index:value, found \"0:5\"");
    bad(&t, "1 0:5:1:2", "expected field:index:value");
    bad(&t, "1 -1:5:1", "expected field and index of 0 or more, found -1:5");
    bad(&t, "1 0:-5:1", "expected field and index of 0 or more, found 0:-5");
    bad(&t, "q", "label: expected a number");
    bench_close(&t);
    bench_open(&t, "label:i1 fields:i ids:i values:f", "format=libffm hash_size=100");
    good(&t, "0 3:1234:1 7:5:2", "0 3,7 34,5 1,2");
    bench_close(&t);
    bench_open(&t, "label:i1 a:i b:i", "format=libffm field_base=1");
    good(&t, "1 1:5:1 2:6:1", "1 5 6");
    bad(&t, "1 0:5:1", "expected a field of 1 or more, found 0");
    bench_close(&t);
    refuse("label:i1 x:f3", "format=libffm", "slot \"x\" cannot be filled");
    refuse("label:i1 fields:i a:i b:i", "format=libffm", "there may be one slot of indices");
}

static void test_csv(void **state)
{
    struct bench t;
    struct hasher h = hasher_of(HASH_XXH64, 50);
    struct hash_prefix city = {"city", 4};
    char want[100];
    bench_open(&t, "label:i1 dense:f2 city:i tags:i",
               "format=csv header=false columns=label,dense*2,-,city,tags hash_size=50 multi=pipe");
    snprintf(want, sizeof want, "1 0.5,2 %lld 0",
             (long long)hasher_id(&h, &city, "Oslo, \"N\"", 9));
    good(&t, "1,0.5, 2 ,ignored,\"Oslo, \"\"N\"\"\",", want);
    struct hash_prefix tags = {"tags", 4};
    snprintf(want, sizeof want, "0 0,0 0 %lld,%lld", (long long)hasher_id(&h, &tags, "a", 1),
             (long long)hasher_id(&h, &tags, "b", 1));
    good(&t, "0,,,,,a||b|", want);
    bad(&t, "1,2,3", "expected 6 columns, found 3");
    bad(&t, "1,2,3,4,5,6,7", "expected 6 columns, found 7");
    bad(&t, "x,2,3,4,5,6", "slot \"label\" (1 of 4): expected a number, found \"x\"");
    bad(&t, "1,2,q,4,5,6", "slot \"dense\" (2 of 4): expected a number, found \"q\"");
    bad(&t, "1,2,3,4,\"5,6", "a quote is not closed");
    bad(&t, "1,2,3,4,\"5\"x,6", "expected a separator behind a quoted cell, found x");
    bad_n(&t, "1,\0,3,4,5,6", 11, "found \"\\x00\"");
    assert_int_equal(give(&t, "", 0), SKIFF_END);
    bench_close(&t);
    bench_open(&t, "label:i1 a:i w:f", "format=csv separator=tab columns=w,label,a header=false");
    good(&t, "1e-3\t0\t12", "0 12 0.00100000005");
    bad(&t, "1\t0\tabc", "slot \"a\" (2 of 3): expected a whole number, found \"abc\"");
    bench_close(&t);
    refuse("label:i1 a:i", "format=csv header=false", "the setting columns must name the slots");
    refuse("label:i1 a:i", "format=csv columns=label,b", "columns: there is no slot \"b\"");
    refuse("label:i1 a:i", "format=csv columns=label", "no column for slot \"a\"");
    refuse("label:i1 d:f3", "format=csv columns=label,d*2",
           "slot \"d\": expected 3 columns (it is dense), found 2");
    refuse("label:i1 d:f3", "format=csv columns=label,d*x", "expected a number behind *");
}

static void test_csv_header(void **state)
{
    static const char text[] = "x,\"label\",city,y\r\n1,0,2,3\r\n\r\n4,1,5,6";
    struct bench t;
    struct stream *stream;
    struct source s;
    struct buf got = BUF_INIT;
    const char *line;
    size_t n;
    bench_open(&t, "label:i1 y:f1 city:i", "format=csv");
    assert_int_equal(stream_open_memory(text, sizeof text - 1, "m", &stream, NULL), SKIFF_OK);
    assert_int_equal(source_open(&s, stream, 0, NULL), SKIFF_OK);
    assert_int_equal(t.reader->class->begin(t.reader, &s, NULL), SKIFF_OK);
    while (source_line(&s, &line, &n, NULL) == SKIFF_OK)
        assert_true(t.reader->class->line(t.reader, line, n, &t.batch, NULL) >= 0);
    batch_text(&t.batch, &got);
    assert_string_equal(got.data, "0 3 2\n1 6 5\n");
    source_next(&s, NULL);
    assert_int_equal(stream_open_memory("label,y\n", 8, "m", &stream, NULL), SKIFF_OK);
    source_next(&s, stream);
    assert_int_equal(t.reader->class->begin(t.reader, &s, &t.err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(t.err.message, "header: no column for slot \"city\""));
    source_close(&s);
    buf_deinit(&got);
    bench_close(&t);
}

static void test_settings(void **state)
{
    struct reader_config c;
    struct skiff_error err;
    reader_config_init(&c);
    assert_int_equal(reader_config_set(&c, "colour", "x", &err), SKIFF_NOT_FOUND);
    assert_non_null(
        strstr(err.message, "there is no reader setting colour; all: format, hash, hash_size"));
    assert_int_equal(reader_config_set(&c, "seperator", ";", &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "seperator, the nearest is separator"));
    assert_int_equal(reader_config_set(&c, "hash_size", "-1", &err), SKIFF_INVALID);
    assert_int_equal(reader_config_set(&c, "hash_size", "12x", &err), SKIFF_INVALID);
    assert_int_equal(reader_config_set(&c, "hash", "md5", &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "reader setting hash is 'md5'; expected xxh64 or python"));
    assert_int_equal(reader_config_set(&c, "normalise", "much", &err), SKIFF_INVALID);
    assert_int_equal(reader_config_set(&c, "header", "maybe", &err), SKIFF_INVALID);
    assert_int_equal(reader_config_set(&c, "separator", "ab", &err), SKIFF_INVALID);
    assert_int_equal(reader_config_set(&c, "separator", "\\t", &err), SKIFF_OK);
    assert_int_equal(c.separator, '\t');
    assert_int_equal(reader_config_set(&c, "index_base", "x", &err), SKIFF_INVALID);
    reader_config_deinit(&c);
}

/* What must hold for every line reader, whatever the line: no crash; a refused line leaves the
 * batch as it was; an accepted one adds one row whose offsets are in order. */
static void test_all_readers_on_noise(void **state)
{
    static const char *const seeds[] = {
        "2 5 6 3 0.1 0.2 0.3 1 7.5 1 1",
        "click:0 dense_feature:0.05 1:737395 2:210498",
        "0:1 4351255118977467729:3",
        "1 3:0.5 17:1 # x",
        "1 0:5:0.25 1:6:1",
        "1,0.5,\"a\"\"b\",7",
        "0\t2\t0\t\t\t957\t45\t2\t36\t45\t1\t1\t\t\t05db9164\t532da141\t\t\t25c83c98\t7e0ccccf\ta24"
        "c8c8e\t0b153874\ta73ee510\t2e8e8e87\t41b3f655\t\tce5114a2\tcfef1c29\tabd8f51e\t\t07c540c4"
        "\tbdc06043\t\t\t\tc9d4222a\t32c7478e\t\t\t"};
    static const char pieces[] = "0123456789.-+eE:, \t\r\"#xni|\0\xff";
    struct mt64 r;
    mt64_seed(&r, 1);
    for (int k = 0; reader_all()[k]; k++) {
        const struct reader_class *class = reader_all()[k];
        struct bench t;
        char settings[300];
        if (!class->line)
            continue;
        bool csv = strcmp(class->name, "csv") == 0, svm = strncmp(class->name, "lib", 3) == 0;
        snprintf(settings, sizeof settings, "format=%s%s", class->name,
                 csv ? " header=false columns=label,I1,C1,C2 hash_size=10" : "");
        bench_open(&t, svm ? "label:i1 C1:i" : "label:i1 I1:f1 C1:i C2:i", settings);
        for (int round = 0; round < 4000; round++) {
            char text[600];
            const char *seed = seeds[mt64_next(&r) % 7];
            size_t n = strlen(seed);
            memcpy(text, seed, n);
            for (uint64_t m = mt64_next(&r) % 6; m; m--) {
                size_t at = mt64_next(&r) % (n + 1);
                if (at < n && mt64_next(&r) % 3 == 0) {
                    memmove(text + at, text + at + 1, n - at - 1);
                    n--;
                } else {
                    memmove(text + at + 1, text + at, n - at);
                    text[at] = pieces[mt64_next(&r) % (sizeof pieces - 1)];
                    n++;
                }
            }
            if (t.batch.rows == t.batch.max_rows)
                assert_int_equal(batch_reset(&t.batch, NULL), SKIFF_OK);
            int64_t rows = t.batch.rows;
            size_t ids = t.batch.columns[svm ? 1 : 2].count;
            enum skiff_status status = give(&t, text, n);
            assert_int_equal(t.batch.rows, rows + (status == SKIFF_OK));
            if (status == SKIFF_OK)
                assert_true(t.batch.columns[svm ? 1 : 2].count > ids);
            else
                assert_int_equal(t.batch.columns[svm ? 1 : 2].count, ids);
        }
        bench_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multislot),
        cmocka_unit_test(test_criteo),
        cmocka_unit_test(test_criteo_numbers),
        cmocka_unit_test(test_criteo_slots),
        cmocka_unit_test(test_criteo_quantiles),
        cmocka_unit_test(test_slot_text),
        cmocka_unit_test(test_sign_slot),
        cmocka_unit_test(test_libsvm),
        cmocka_unit_test(test_libffm),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_header),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_all_readers_on_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
