/* Tables of others: cells, labels, times, what is seen of a file, what is learnt from it, how it is
 * split, and the file that keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "prepare/split.h"
#include "data/test_help.h"

/* ---- cells ---- */

/* All cells of the line, with | between them. */
static void cells_with(struct csv c, const char *line, const char *want)
{
    struct buf got = BUF_INIT;
    char padded[512] = {0};
    size_t n = strlen(line);
    memcpy(padded, line, n);
    padded[n] = '\n';
    const char *at = padded, *cell;
    for (size_t len; at;) {
        assert_int_equal(csv_cell(&c, &at, padded + n, &cell, &len, NULL), SKIFF_OK);
        if (got.len)
            buf_char(&got, '|');
        buf_printf(&got, "[%.*s]", (int)len, cell);
    }
    assert_string_equal(got.data, want);
    buf_deinit(&got);
    csv_deinit(&c);
}

static void cells(char separator, const char *line, const char *want)
{
    cells_with((struct csv){.separator = separator}, line, want);
}

static void test_cells(void **state)
{
    cells(',', "39, State-gov,  77516 ,", "[39]|[State-gov]|[77516]|[]");
    cells(',', "\"a, \"\"b\"\"\",\" c \" , \"d\"", "[a, \"b\"]|[ c ]|[d]");
    cells('\t', "1\t\t x y \t", "[1]|[]|[x y]|[]");
    cells(' ', "1 2  3", "[1]|[2]|[]|[3]");
    cells(';', "", "[]");
    cells_with((struct csv){.separator = ';', .decimal_comma = true},
               "3,5;\"-,25\"; +1,0 ;1,2,3;a,5;,;7,;12",
               "[3.5]|[-.25]|[+1.0]|[1,2,3]|[a,5]|[,]|[7,]|[12]");
    struct buf quoted = BUF_INIT;
    csv_quote(&quoted, "plain", 5, ',');
    csv_quote(&quoted, " a,\"b", 5, ',');
    csv_quote(&quoted, "", 0, ',');
    assert_string_equal(quoted.data, "plain\" a,\"\"b\"\"\"");
    buf_deinit(&quoted);
}

/* ---- numbers ---- */

static void number(enum number_form form, const char *text, double want)
{
    char padded[128] = {0};
    float x = -1;
    strcpy(padded, text);
    if (!number_read(form, padded, strlen(text), &x))
        x = -1;
    if (x != (float)want)
        fail_msg("%s as %s: %g, expected %g", text, number_form_name(form), (double)x, want);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        double plain, point, comma; /* -1: none */
    } table[] = {
        {"1616.29", 1616.29, 1616.29, -1},
        {"1,616.29", -1, 1616.29, -1},
        {"1.616,29", -1, -1, 1616.29},
        {"$1,616.29", -1, 1616.29, -1},
        {"-$2,000", -1, -2000, -2},
        {"($3.50)", -1, -3.5, -1},
        {"12 %", -1, 12, 12},
        {"12,5%", -1, -1, 12.5},
        {"1\xc2\xa0"
         "234 \xe2\x82\xac",
         -1, 1234, 1234},
        {"CHF 1'234,50", -1, -1, 1234.5},
        {"1,234,567", -1, 1234567, -1},
        {"1,23,456", -1, -1, -1},
        {"0,125", -1, -1, 0.125},
        {"1234,567", -1, -1, 1234.567},
        {"12.", 12, 12, -1},
        {"$", -1, -1, -1},
        {"", -1, -1, -1},
        {"5 apples", -1, -1, -1},
        {"$$5", -1, -1, -1},
        {"1 2", -1, -1, -1},
        {"--5", -1, -1, -1},
        {"$-5", -1, -5, -5},
    };
    enum number_form form;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        number(NUMBER_PLAIN, table[i].text, table[i].plain);
        number(NUMBER_POINT, table[i].text, table[i].point);
        number(NUMBER_COMMA, table[i].text, table[i].comma);
    }
    assert_true(number_form_of("comma", 5, &form) && form == NUMBER_COMMA);
    assert_false(number_form_of("commas", 6, &form));
}

/* ---- labels ---- */

static const char *label(const char *positive, const char *negative, const char *text, double *out)
{
    static struct skiff_error err;
    struct label_rule r;
    char padded[256] = {0};
    strcpy(padded, text);
    padded[strlen(text)] = '\n';
    assert_int_equal(label_rule_init(&r, positive, negative, &err), SKIFF_OK);
    enum skiff_status status = label_read(&r, padded, strlen(text), out, &err);
    label_rule_deinit(&r);
    return status == SKIFF_OK ? NULL : err.message;
}

static void test_labels(void **state)
{
    double v;
    struct label_rule r;
    struct skiff_error err;
    assert_null(label(">50K", "<=50K", " >50K. ", &v));
    assert_true(v == 1);
    assert_null(label(">50K", "<=50K", "<=50K", &v));
    assert_true(v == 0);
    assert_null(label("1", "0", "1.0", &v));
    assert_true(v == 1);
    assert_null(label("+1", "-1", "-1", &v));
    assert_true(v == 0);
    assert_null(label("Yes", "No", "YES", &v));
    assert_true(v == 1);
    assert_null(label("yes", "no", "No", &v));
    assert_true(v == 0);
    assert_null(label("c", NULL, "a", &v));
    assert_true(v == 0);
    assert_null(label(NULL, NULL, "2.5", &v));
    assert_true(v == 2.5);
    assert_string_equal(label(">50K", "<=50K", "<50K", &v),
                        "expected >50K or <=50K, found \"<50K\" (an unknown label)");
    assert_string_equal(label("c", NULL, "", &v), "expected c or another text, found \"\"");
    assert_non_null(
        strstr(label(NULL, NULL, "yes", &v),
               "expected a number, found \"yes\" (for labels that are text, the setting "
               "positive, runner.input_positive, names the one that is 1)"));
    assert_int_equal(label_rule_init(&r, NULL, "0", &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "the setting negative needs positive"));
    assert_int_equal(label_rule_init(&r, "1", "1.0", &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "positive and negative are the same label"));
}

/* ---- times ---- */

static void timestamp(enum timestamp_form form, const char *text, int64_t want, int want_hour)
{
    char padded[256] = {0};
    struct timestamp t;
    strcpy(padded, text);
    if (!timestamp_read(form, padded, strlen(text), &t))
        t = (struct timestamp){.when = -1, .hour = -1};
    if (t.when != want || t.hour != want_hour)
        fail_msg("%s: %lld, hour %d", text, (long long)t.when, t.hour);
}

#define OCT_21 1413849600 /* 2014-10-21 00:00 UTC, a Tuesday */

static void test_moments(void **state)
{
    timestamp(TIMESTAMP_YYMMDDHH, "14102123", OCT_21 + 23 * 3600, 23);
    timestamp(TIMESTAMP_YYMMDDHH, "14102124", -1, -1);
    timestamp(TIMESTAMP_YYMMDDHH, "14132100", -1, -1);
    timestamp(TIMESTAMP_YYMMDDHH, "1410210", -1, -1);
    timestamp(TIMESTAMP_YYYYMMDDHH, "2014102107", OCT_21 + 7 * 3600, 7);
    timestamp(TIMESTAMP_YYYYMMDDHH, "1414102107", -1, -1);
    timestamp(TIMESTAMP_ISO, "2014-10-21", OCT_21, 0);
    timestamp(TIMESTAMP_ISO, "2014-10-21T07:15", OCT_21 + 7 * 3600 + 900, 7);
    timestamp(TIMESTAMP_ISO, "2014/10/21 07:15:30.5Z", OCT_21 + 7 * 3600 + 930, 7);
    timestamp(TIMESTAMP_ISO, "2014-10-21T01:00:00+02:00", OCT_21 - 3600, 1);
    timestamp(TIMESTAMP_ISO, "2014-10-21 23:00:00-0130", OCT_21 + 24 * 3600 + 1800, 23);
    timestamp(TIMESTAMP_ISO, "2014-10/21", -1, -1);
    timestamp(TIMESTAMP_ISO, "2014-10-21x07", -1, -1);
    timestamp(TIMESTAMP_ISO, "2014-02-30", -1, -1);
    timestamp(TIMESTAMP_DMY, "21/10/2014", OCT_21, 0);
    timestamp(TIMESTAMP_DMY, "21.10.14 3:05 PM", OCT_21 + 15 * 3600 + 300, 15);
    timestamp(TIMESTAMP_MDY, "10/21/2014 12:30 am", OCT_21 + 1800, 0);
    timestamp(TIMESTAMP_MDY, "21/10/2014", -1, -1);
    timestamp(TIMESTAMP_DMY, "10/21/2014", -1, -1);
    timestamp(TIMESTAMP_DMY, "1.2.3", -1, -1);
    timestamp(TIMESTAMP_DMY, "1/2-2014", -1, -1);
    timestamp(TIMESTAMP_SECONDS, "1414105200", 1414105200, 23);
    timestamp(TIMESTAMP_SECONDS, "12", -1, -1);
    timestamp(TIMESTAMP_MILLIS, "1414105200999", 1414105200, 23);
    assert_int_equal(timestamp_form_of("iso", 3), TIMESTAMP_ISO);
    assert_int_equal(timestamp_form_of("ISO", 3), TIMESTAMP_NONE);
    struct timestamp t = {.day = OCT_21 / TIMESTAMP_DAY};
    assert_int_equal(timestamp_weekday(&t), 1);
    t.day = -1; /* 1969-12-31, a Wednesday */
    assert_int_equal(timestamp_weekday(&t), 2);
}

/* ---- columns ---- */

static void test_knots(void **state)
{
    double even[100], skewed[100], knots[COLUMNS_KNOTS_MAX];
    for (int i = 0; i < 100; i++) {
        even[i] = i;
        skewed[i] = i < 90 ? 0 : i;
    }
    assert_int_equal(columns_knots(even, 100, 4, knots), 4);
    assert_true(knots[0] == 0 && knots[1] == 25 && knots[2] == 50 && knots[3] == 75);
    /* the value of nine rows in ten has a bucket of its own, the others share what is left */
    assert_int_equal(columns_knots(skewed, 100, 6, knots), 6);
    assert_true(knots[0] == 0 && knots[1] == 90 && knots[2] == 92 && knots[5] == 98);
    assert_int_equal(columns_knots(skewed, 100, 64, knots), 11); /* fewer values than buckets */
    assert_int_equal(columns_knots(even, 0, 4, knots), 0);
    assert_int_equal(columns_knots(even, 1, 4, knots), 1);
}

static const char stats_text[] =
    "skiff-columns 1\n"
    "rows 10\n"
    "ids 58\n"
    "number \"age\" missing=1 min=10 max=50 mean=30 ids=0 size=5 knots "
    "10 20 40\n"
    "values \"a \"\"b\"\"\" missing=2 distinct=3 ids=5 size=4\n"
    " \"x, y\" 4\n"
    " \"z\" 3\n"
    "hashed \"ip\" missing=0 list=| distinct=9+ ids=9 size=10\n"
    "hour \"t\" missing=0 form=yymmddhh ids=19 size=25\n"
    "number \"paid\" missing=0 form=comma min=1000 max=3000 mean=2000 ids=44 size=3 knots "
    "1000 2000\n"
    "weekday \"weekday(t)\" missing=0 form=dmy ids=47 size=8\n"
    "number \"days(t)\" missing=0 form=dmy min=16364 max=16366 mean=16365 ids=55 size=3 knots "
    "16364 16365\n";

static int64_t id_of(const struct columns *c, const char *column, const char *text)
{
    char padded[256] = {0};
    strcpy(padded, text);
    const struct column_stats *s = columns_find_ids(c, column, strlen(column));
    assert_non_null(s);
    return column_id(s, padded, strlen(text));
}

static void test_columns(void **state)
{
    struct columns c;
    struct buf again = BUF_INIT;
    struct skiff_error err;
    if (columns_parse(stats_text, sizeof stats_text - 1, "s", &c, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    columns_print(&c, &again);
    assert_string_equal(again.data, stats_text);
    assert_int_equal(columns_ids(&c), 58);
    assert_int_equal(id_of(&c, "paid", "1.999,90"), 45);
    assert_int_equal(id_of(&c, "paid", "EUR 2.000"), 46);
    assert_int_equal(id_of(&c, "paid", "2,000.5"), -1);
    assert_int_equal(id_of(&c, "weekday(t)", "21/10/2014"), 49);
    assert_int_equal(id_of(&c, "weekday(t)", "2014-10-21"), -1);
    assert_int_equal(id_of(&c, "days(t)", "22/10/2014"), 57);
    assert_int_equal(id_of(&c, "days(t)", "1.1.1990 10:00"), 56);
    size_t source_n;
    assert_memory_equal(column_source(columns_find_number(&c, "days(t)", 7), &source_n), "t", 1);
    assert_int_equal(source_n, 1);
    const struct column_stats *age = columns_find_number(&c, "age", 3);
    assert_non_null(age);
    assert_true(column_scale(age, 5) == 0 && column_scale(age, 10) == 0);
    assert_true(column_scale(age, 15) == 0.5f / 3 && column_scale(age, 20) == 1.0f / 3);
    assert_true(column_scale(age, 45) == 2.5f / 3 && column_scale(age, 1000) == 1);
    assert_int_equal(column_missing_id(age), 0);
    assert_int_equal(id_of(&c, "age", "3"), 1);
    assert_int_equal(id_of(&c, "age", "20"), 2);
    assert_int_equal(id_of(&c, "age", "99"), 3);
    assert_int_equal(id_of(&c, "age", "old"), -1);
    assert_int_equal(id_of(&c, "a \"b\"", "x, y"), 7);
    assert_int_equal(id_of(&c, "a \"b\"", "z"), 8);
    assert_int_equal(id_of(&c, "a \"b\"", "never seen"), 6);
    int64_t ip = id_of(&c, "ip", "1.2.3.4");
    assert_true(ip > 9 && ip < 19);
    assert_int_equal(id_of(&c, "t", "14102123"), 43);
    assert_int_equal(id_of(&c, "t", "now"), -1);
    assert_null(columns_find_ids(&c, "none", 4));
    columns_deinit(&c);
    buf_deinit(&again);
}

static void refuse_columns(const char *text, const char *want)
{
    struct columns c;
    struct skiff_error err;
    if (columns_parse(text, strlen(text), "s", &c, &err) == SKIFF_OK)
        fail_msg("taken: %s", text);
    if (!strstr(err.message, want))
        fail_msg("expected %s, found %s", want, err.message);
}

static void test_columns_refused(void **state)
{
#define HEAD "skiff-columns 1\nrows 1\nids 1\n"
    refuse_columns("", "s: it ends behind line 0");
    refuse_columns("skiff-stats 1\n", "s:1: not a line of a skiff-columns 1 file");
    refuse_columns(HEAD "numbers \"a\" missing=0\n", "s:4: not a line");
    refuse_columns(HEAD "number a missing=0 min=0 max=1 mean=0 ids=0 size=0 knots\n", "s:4:");
    refuse_columns(HEAD "number \"a\" missing=0 min=0 max=1 mean=0 ids=0 size=2 knots 1 1\n",
                   "s:4:");
    refuse_columns(HEAD "number \"a\" missing=0 min=0 max=1 mean=0 ids=0 size=1 knots 1 2\n",
                   "s:4:");
    refuse_columns(HEAD "values \"a\" missing=0 distinct=1 ids=0 size=2\n \"x\" 1\n", "s:5:");
    refuse_columns(HEAD "hour \"a\" missing=0 form=never ids=0 size=25\n", "s:4:");
    refuse_columns(HEAD " \"x\" 1\n", "s:4:");
}

/* ---- looking ---- */

struct seen {
    char dir[256];
    struct file_list files;
    struct look_config config;
    struct look look;
    struct skiff_error err;
    int bad;
};

static void on_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    ((struct seen *)arg)->bad++;
}

static enum skiff_status look_try(struct seen *s, const char *text)
{
    *s = (struct seen){0};
    temp_create(s->dir);
    file_list_add(&s->files, temp_text(s->dir, "table", text));
    s->config = (struct look_config){.files = &s->files, .on_bad = on_bad, .arg = s};
    return look_run(&s->config, &s->look, &s->err);
}

static void look_at(struct seen *s, const char *text)
{
    if (look_try(s, text) != SKIFF_OK)
        fail_msg("%s", s->err.message);
}

static void look_end(struct seen *s)
{
    look_deinit(&s->look);
    file_list_deinit(&s->files);
    temp_remove(s->dir);
}

/* "csv , header 3 columns 2 rows" */
static void form_of(const char *text, const char *want)
{
    struct seen s;
    char got[128];
    look_at(&s, text);
    const struct look_form *f = &s.look.form;
    snprintf(got, sizeof got, "%s %c %s%s%d columns %d rows", look_format_name(f->format),
             f->separator ? f->separator : '-', f->header ? "header " : "",
             f->comment ? "comments " : "", s.look.ncolumns, (int)s.look.rows);
    if (strcmp(got, want) != 0)
        fail_msg("%s: expected %s, found %s", text, want, got);
    look_end(&s);
}

static void test_forms(void **state)
{
    form_of("a,b,c\n1,x,0\n2,y,1\n", "csv , header 3 columns 2 rows");
    form_of("1, x, 0\n2, y, 1", "csv , 3 columns 2 rows");
    form_of("\xef\xbb\xbfname;city\r\nAnn;Oslo, N\r\nBob;Rome\r\n",
            "csv ; header 2 columns 2 rows");
    form_of("ann\toslo\nbob\toslo\nann\trome\n", "csv \t 2 columns 3 rows"); /* values come again */
    form_of("# by x\n# more\na,b\n1,2\n3,4\n", "csv , header comments 2 columns 2 rows");
    form_of("#a,b\n1,2\n3,4\n", "csv , header 2 columns 2 rows");
    form_of("a|b\n1|2\n\n3|4\n\n", "csv | header 2 columns 2 rows");
    form_of("a b\n1 2\n3 4\n", "csv   header 2 columns 2 rows");
    form_of("x\n1\n2\n", "csv , header 1 columns 2 rows");
    form_of("+1 1:1 5:0.5\n-1 2:1 # note\n0\n", "libsvm - comments 1 columns 3 rows");
    form_of("1 0:1:1 1:5:0.5\n0 0:2:1\n", "libffm - comments 1 columns 2 rows");
    form_of("1:2,3\n1:4,5\n", "csv , 2 columns 2 rows");
    /* commas of numbers are in every row, and not in the header */
    form_of("price;x;y\n1.234,5 €;0,2;1\n2.345,5 €;0,7;0\n3.345,5 €;0,7;0\n4.345,5 €;0,7;0\n"
            "5.345,5 €;0,7;0\n6.345,5 €;0,7;0\n7.345,5 €;0,7;0\n8.345,5 €;0,7;0\n9.345,5 €;0,7;0\n",
            "csv ; header 3 columns 9 rows");
}

/* A column with its form; ambiguous ones go by what other columns show. */
static void test_number_forms(void **state)
{
    struct seen s;
    look_at(&s, "a;b;c;d;y\n1,234;$5;1.234,5;7 %;0\n2,345;$1,250.5;2,5;8;1\n3,456;-$7;;9,5 %;0\n");
    const struct look_column *c = s.look.columns;
    assert_false(s.look.form.decimal_comma);
    assert_true(c[0].form == NUMBER_POINT && c[0].ambiguous && c[0].whole == 3 && c[0].max == 3456);
    assert_true(c[1].form == NUMBER_POINT && c[1].min == -7 && c[1].text == 0);
    assert_true(c[2].form == NUMBER_COMMA && !c[2].ambiguous && c[2].max == 1234.5);
    assert_true(c[3].form == NUMBER_COMMA && c[3].real == 1 && c[3].max == 9.5);
    assert_true(c[4].form == NUMBER_PLAIN && c[4].whole == 3);
    look_end(&s);
    look_at(&s, "a;b\n1,234;1.234,5\n2,345;2,5\n");
    assert_true(s.look.columns[0].form == NUMBER_COMMA && !s.look.columns[0].ambiguous);
    assert_true(s.look.columns[0].max == (double)2.345f);
    look_end(&s);
}

/* The order of day and month: by a value above 12, by other columns, else it is ambiguous. */
static void test_date_orders(void **state)
{
    struct seen s;
    look_at(&s, "a;b;c;y\n01/02/2014;03/25/2014;2014-01-05;0\n05/06/2014;01/02/2014;;1\n");
    assert_int_equal(look_time_form(&s.look.columns[0]), TIMESTAMP_MDY);
    assert_int_equal(look_time_form(&s.look.columns[1]), TIMESTAMP_MDY);
    assert_int_equal(look_time_form(&s.look.columns[2]), TIMESTAMP_ISO);
    assert_false(s.look.columns[0].dates_ambiguous);
    look_end(&s);
    look_at(&s, "a;y\n01/02/2014;1\n05/06/2014;0\n");
    assert_int_equal(look_time_form(&s.look.columns[0]), TIMESTAMP_DMY);
    assert_true(s.look.columns[0].dates_ambiguous);
    look_end(&s);
}

static void test_look_refused(void **state)
{
    struct seen s;
    assert_true(look_try(&s, "") < 0);
    assert_non_null(strstr(s.err.message, "the file is empty: there is no row in it"));
    look_end(&s);
    assert_true(look_try(&s, "a,b\r1,2\r3,4\r") < 0);
    assert_non_null(strstr(s.err.message, "table:1: lines end with carriage returns alone"));
    look_end(&s);
}

static void test_look(void **state)
{
    struct seen s;
    look_at(&s, "id,n,x,t,hour,mixed\n"
                "1,5,0.5,a,14102100,1\n"
                "2,?,1e3,b,14102101,x\n"
                "3,-7,,a,14102102,NA\n"
                "4,5\n"
                "5,5,2,\"a\",14102103,3\n");
    const struct look_column *c = s.look.columns;
    assert_int_equal(s.look.rows, 4);
    assert_int_equal(s.look.bad, 1);
    assert_int_equal(s.bad, 1);
    assert_true(c[0].counts_up && !c[1].counts_up);
    assert_int_equal(c[1].missing, 1);
    assert_int_equal(c[1].whole, 3);
    assert_int_equal(c[1].distinct, 2);
    assert_true(c[1].min == -7 && c[1].max == 5);
    assert_int_equal(c[2].real, 2); /* 2 is a whole one */
    assert_int_equal(c[2].whole, 1);
    assert_string_equal(c[3].values[0].text, "a");
    assert_int_equal(c[3].values[0].count, 3);
    assert_int_equal(look_time_form(&c[4]), TIMESTAMP_YYMMDDHH);
    assert_int_equal(look_time_form(&c[1]), TIMESTAMP_NONE);
    assert_int_equal(c[5].text, 1);
    assert_true(s.look.marks[0] && s.look.marks[1] && !s.look.marks[2]);
    look_end(&s);
    look_at(&s, "1 3:1 7:0.5\n-1 2:1\n");
    assert_int_equal(s.look.least_index, 2);
    assert_int_equal(s.look.most_index, 7);
    assert_int_equal(s.look.tokens, 3);
    assert_false(s.look.all_ones);
    look_end(&s);
}

/* ---- learning and splitting ---- */

static void read_all(const char *path, struct buf *out)
{
    char piece[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_add(out, piece, n);
    fclose(f);
}

static int64_t lines_of(const char *dir, const char *name, const char *first)
{
    struct buf text = BUF_INIT;
    char path[512];
    int64_t lines = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    read_all(path, &text);
    assert_int_equal(strncmp(text.data, first, strlen(first)), 0);
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    buf_deinit(&text);
    return lines;
}

static void split_at(struct seen *s, struct split_config *config, struct split_report *out)
{
    static char train[300], test[300];
    struct label_rule rule;
    assert_int_equal(label_rule_init(&rule, "yes", "no", NULL), SKIFF_OK);
    snprintf(train, sizeof train, "%s/train", s->dir);
    snprintf(test, sizeof test, "%s/test", s->dir);
    mkdir(train, 0777);
    mkdir(test, 0777);
    config->look = &s->config;
    config->form = s->look.form;
    config->ncolumns = s->look.ncolumns;
    config->rule = &rule;
    config->train = train;
    config->test = test;
    if (split_run(config, out, &s->err) != SKIFF_OK)
        fail_msg("%s", s->err.message);
    label_rule_deinit(&rule);
}

static void test_split_random(void **state)
{
    struct seen s;
    struct buf text = BUF_INIT;
    buf_str(&text, "city,age,label\n");
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "c%d,%d,%s\n", i % 7, i,
                   i % 10 == 3   ? ""
                   : i % 10 == 4 ? "maybe"
                   : i % 2       ? "yes"
                                 : "no");
    buf_str(&text, "short,1\nrare,1,no\n");
    look_at(&s, text.data);
    struct learn_column learn[3] = {{.name = "city", .values = true},
                                    {.name = "age", .number = true, .buckets = true},
                                    {.name = "label"}};
    struct learn_config lc = {.columns = learn, .ncolumns = 3, .buckets = 4, .least = 2};
    struct split_config config = {.label = 2, .share = 0.1, .seed = 1, .time = -1, .learn = &lc};
    struct split_report r;
    split_at(&s, &config, &r);
    assert_int_equal(r.train.rows + r.test.rows, 1601);
    assert_int_equal(r.train.positive + r.test.positive, 800);
    assert_int_equal(r.unlabelled, 400); /* without a label, or with one of neither class */
    assert_int_equal(r.bad, 1);
    assert_true(r.test.rows > 110 && r.test.rows < 210);
    assert_int_equal(lines_of(s.dir, "train/part-00000.csv", "city,age,label\nc"),
                     r.train.rows + 1);
    assert_int_equal(lines_of(s.dir, "test/part-00000.csv", "city,age,label\nc"), r.test.rows + 1);
    assert_int_equal(r.columns.count, 2);
    assert_int_equal(r.columns.rows, r.train.rows);
    assert_int_equal(r.columns.at[0].nvalues, 7); /* "rare" came once */
    assert_int_equal(r.columns.at[0].size, 9);
    assert_int_equal(r.columns.at[1].first, 9);
    assert_int_equal(r.columns.at[1].nknots, 4);
    assert_true(r.columns.at[1].knots[2] > 950 && r.columns.at[1].knots[2] < 1050);
    columns_deinit(&r.columns);
    look_end(&s);
    buf_deinit(&text);
}

static void test_split_time(void **state)
{
    struct seen s;
    struct buf text = BUF_INIT;
    buf_str(&text, "hour,label\n");
    for (int i = 0; i < 240; i++)
        buf_printf(&text, "1410%02d%02d,%s\n", 21 + i / 24, i % 24, i % 2 ? "yes" : "no");
    look_at(&s, text.data);
    struct split_config config = {
        .label = 1, .time = 0, .time_form = TIMESTAMP_YYMMDDHH, .from = OCT_21 + 9 * TIMESTAMP_DAY};
    struct split_report r;
    split_at(&s, &config, &r);
    assert_int_equal(r.train.rows, 216);
    assert_int_equal(r.twin, -1);
    assert_int_equal(lines_of(s.dir, "test/part-00000.csv", "hour,label\n14103000,no\n"), 25);
    look_end(&s);
    buf_deinit(&text);
}

static void test_split_twin(void **state)
{
    struct seen s;
    look_at(&s, "a,label,same,nearly\n1,yes,in,0\n2,no,out,1\n1,no,out,1\n2,yes,in,1\n");
    struct split_config config = {.label = 1, .time = -1};
    struct split_report r;
    split_at(&s, &config, &r);
    assert_int_equal(r.twin, 2);
    look_end(&s);
}

static void test_learn_svm(void **state)
{
    struct seen s;
    look_at(&s, "yes 1:5 3:1\nno 3:2\nyes 3:4\nno 3:8\n");
    assert_int_equal(s.look.form.format,
                     LOOK_CSV); /* a label that is text: nobody would guess it */
    look_end(&s);
    look_at(&s, "1 1:5 3:1\n0 3:2\n1 3:4\n0 3:8\n");
    struct learn_column learn[3] = {{.name = "1", .number = true, .buckets = true},
                                    {.name = "2", .number = true, .buckets = true},
                                    {.name = "3", .number = true, .buckets = true}};
    struct learn_config lc = {
        .columns = learn, .ncolumns = 3, .buckets = 8, .absent_is_zero = true};
    struct split_config config = {.label = -1, .time = -1, .learn = &lc, .first_index = 1};
    struct split_report r;
    split_at(&s, &config, &r);
    const struct column_stats *c = r.columns.at;
    assert_int_equal(c[0].nknots, 2); /* 0, which three rows have, and 5 */
    assert_true(c[0].knots[0] == 0 && c[0].knots[1] == 5 && c[0].mean == 1.25);
    assert_int_equal(c[1].nknots, 1);
    assert_int_equal(c[2].nknots, 4);
    assert_true(c[2].min == 1 && c[2].max == 8);
    columns_deinit(&r.columns);
    look_end(&s);
}

/* Whole numbers of more digits than a float has: what is learnt can be read again. */
static void test_learn_long_numbers(void **state)
{
    struct seen s;
    struct buf text = BUF_INIT, file = BUF_INIT;
    struct columns again;
    buf_str(&text, "account,label\n");
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "%lld,%s\n", 1700000000000LL + i * 1000, i % 3 ? "yes" : "no");
    look_at(&s, text.data);
    struct learn_column learn[2] = {{.name = "account", .number = true, .buckets = true},
                                    {.name = "label"}};
    struct learn_config lc = {.columns = learn, .ncolumns = 2, .buckets = 64, .least = 2};
    struct split_config config = {.label = 1, .time = -1, .learn = &lc};
    struct split_report r;
    split_at(&s, &config, &r);
    columns_print(&r.columns, &file);
    if (columns_parse(file.data, file.len, "columns.stats", &again, &s.err) != SKIFF_OK)
        fail_msg("%s", s.err.message);
    assert_int_equal(again.count, 1);
    assert_int_equal(again.at[0].nknots, r.columns.at[0].nknots);
    assert_true(again.at[0].nknots > 10);
    assert_true(again.at[0].knots[3] == r.columns.at[0].knots[3]);
    columns_deinit(&again);
    columns_deinit(&r.columns);
    buf_deinit(&text);
    buf_deinit(&file);
    look_end(&s);
}

/* What look leaves out, split does not write. */
static void test_svm_indices(void **state)
{
    struct seen s;
    look_at(&s, "1 1:5 3:1\n0 3:2\n1 -3:4\n0 9223372036854775807:8\n1 2:1\n");
    assert_int_equal(s.look.form.format, LOOK_LIBSVM);
    assert_int_equal(s.look.rows, 3);
    assert_int_equal(s.look.bad, 2);
    assert_int_equal(s.look.most_index, 3);
    struct split_config config = {.label = -1, .time = -1};
    struct split_report r;
    split_at(&s, &config, &r);
    assert_int_equal(r.train.rows, 3);
    assert_int_equal(r.bad, 2);
    look_end(&s);
}

static void test_samples(void **state)
{
    struct number_sample s = {.most = 1000, .seed = 5};
    for (int i = 0; i < 100000; i++)
        number_sample_add(&s, i);
    number_sample_sort(&s);
    assert_int_equal(s.kept, 1000);
    assert_int_equal(s.seen, 100000);
    assert_true(s.min == 0 && s.max == 99999);
    assert_true(s.at[500] > 44000 && s.at[500] < 56000); /* five deviations */
    number_sample_deinit(&s);
    struct value_counts v = {.most = 10, .texts = 3};
    for (int i = 0; i < 100; i++) {
        char text[8];
        int n = snprintf(text, sizeof text, "%d", i % 20);
        assert_int_equal(value_counts_add(&v, text, (size_t)n, NULL), SKIFF_OK);
    }
    size_t n;
    struct value_count **sorted = value_counts_sorted(&v, &n);
    assert_int_equal(v.distinct, 10);
    assert_true(v.full);
    assert_int_equal(n, 3);
    assert_string_equal(sorted[0]->text, "0");
    assert_int_equal(sorted[0]->count, 5);
    free(sorted);
    value_counts_deinit(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),           cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_number_forms),    cmocka_unit_test(test_date_orders),
        cmocka_unit_test(test_labels),          cmocka_unit_test(test_moments),
        cmocka_unit_test(test_knots),           cmocka_unit_test(test_columns),
        cmocka_unit_test(test_columns_refused), cmocka_unit_test(test_forms),
        cmocka_unit_test(test_look_refused),    cmocka_unit_test(test_look),
        cmocka_unit_test(test_split_random),    cmocka_unit_test(test_split_time),
        cmocka_unit_test(test_split_twin),      cmocka_unit_test(test_learn_svm),
        cmocka_unit_test(test_samples),         cmocka_unit_test(test_learn_long_numbers),
        cmocka_unit_test(test_svm_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
