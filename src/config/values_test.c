#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "config/values.h"

static struct values *parse(const char *text)
{
    struct values *c = NULL;
    struct skiff_error err = {0};
    enum skiff_status status = values_parse(text, strlen(text), "/x/test.yaml", &c, &err);
    if (status < 0)
        fail_msg("%s", err.message);
    return c;
}

static void refused(const char *text, const char *part)
{
    struct values *c = NULL;
    struct skiff_error err = {0};
    assert_true(values_parse(text, strlen(text), "t.yaml", &c, &err) < 0);
    assert_null(c);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not hold \"%s\"", err.message, part);
}

static const char sample[] = "runner:\n"
                             "  epochs: 3   # comment\n"
                             "  rate: 1e-3\n"
                             "  use_gpu: False\n"
                             "  name: \"a b: c\"\n"
                             "  dir: data/x\n"
                             "  empty:\n"
                             "hyper_parameters:\n"
                             "  fc_sizes: [512, 256, 32]\n"
                             "  big: 1_000_001\n"
                             "  names:\n"
                             "  - C1\n"
                             "  - C2\n"
                             "  parts:\n"
                             "  - a: 1\n"
                             "  - a: 2\n";

static void values_are_read(void **state)
{
    (void)state;
    struct values *c = parse(sample);
    const char *const *list;
    int64_t sizes[8];
    assert_int_equal(values_int(c, "runner.epochs", 7), 3);
    assert_true(values_real(c, "runner.rate", 0) == 1e-3);
    assert_true(values_real(c, "runner.epochs", 0) == 3.0);
    assert_false(values_bool(c, "runner.use_gpu", true));
    assert_string_equal(values_text(c, "runner.name", NULL), "a b: c");
    assert_int_equal(values_int(c, "runner.empty", 9), 9);
    assert_false(values_has(c, "runner.empty"));
    assert_int_equal(values_int(c, "runner.absent", -4), -4);
    assert_int_equal(values_int(c, "hyper_parameters.big", 0), 1000001);
    assert_int_equal(values_ints(c, "hyper_parameters.fc_sizes", sizes, 8), 3);
    assert_int_equal(sizes[2], 32);
    assert_int_equal(values_ints(c, "hyper_parameters.none", sizes, 8), -1);
    assert_int_equal(values_list(c, "hyper_parameters.names", &list), 2);
    assert_string_equal(list[1], "C2");
    assert_int_equal(values_int(c, "hyper_parameters.parts.1.a", 0), 2);
    assert_int_equal(values_check(c, NULL), SKIFF_OK);
    values_close(c);
}

static void paths_are_relative(void **state)
{
    (void)state;
    struct values *c = NULL;
    struct skiff_error err = {0};
    const char *text = "d: ./data/x\nabs: /tmp/y\nstdin: \"-\"\nmany: [a, /b]\n";
    assert_int_equal(values_parse(text, strlen(text), "src/cli/README.md", &c, &err), SKIFF_OK);
    const char *const *many;
    char want[600];
    snprintf(want, sizeof(want), "%s/data/x", values_folder(c));
    assert_non_null(strstr(values_folder(c), "/src/cli"));
    assert_string_equal(values_resolve(c, values_text(c, "d", NULL)), want);
    assert_string_equal(values_resolve(c, values_text(c, "abs", NULL)), "/tmp/y");
    assert_string_equal(values_resolve(c, values_text(c, "stdin", NULL)), "-");
    assert_null(values_resolve(c, values_text(c, "absent", NULL)));
    assert_int_equal(values_list(c, "many", &many), 2);
    assert_string_equal(values_resolve(c, many[1]), "/b");
    values_close(c);
}

static void wrong(const char *text, void (*ask)(struct values *c), const char *part)
{
    struct values *c = parse(text);
    struct skiff_error err = {0};
    ask(c);
    assert_int_equal(values_check(c, &err), SKIFF_INVALID);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not hold \"%s\"", err.message, part);
    values_close(c);
}

static void ask_int(struct values *c)
{
    assert_int_equal(values_int(c, "a.b", 5), 5);
}
static void ask_int_in(struct values *c)
{
    assert_int_equal(values_int_in(c, "a.b", 5, 1, 10), 5);
}
static void ask_real(struct values *c)
{
    assert_true(values_real(c, "a.b", 5) == 5);
}
static void ask_bool(struct values *c)
{
    assert_true(values_bool(c, "a.b", true));
}
static void ask_choice(struct values *c)
{
    static const char *const words[] = {"SGD", "Adam", NULL};
    assert_int_equal(values_choice(c, "a.b", 1, words), 1);
}
static void ask_ints(struct values *c)
{
    int64_t v[2];
    assert_int_equal(values_ints(c, "a.b", v, 2), -1);
}

static void wrong_types_have_lines(void **state)
{
    (void)state;
    wrong("a:\n\n  b: ten\n", ask_int, "/x/test.yaml:3: a.b must be an integer, found \"ten\"");
    wrong("a:\n  b: 1.5\n", ask_int, "/x/test.yaml:2: a.b must be an integer");
    wrong("a:\n  b: [1]\n", ask_int, "must be an integer, found a list of 1");
    wrong("a:\n  b: 99999999999999999999\n", ask_int, "must be an integer");
    wrong("a:\n  b: 11\n", ask_int_in, "a.b must be between 1 and 10, found 11");
    wrong("a:\n  b: fast\n", ask_real, "a.b must be a number, found \"fast\"");
    wrong("a:\n  b: nan\n", ask_real, "a.b must be a number");
    wrong("a:\n  b: maybe\n", ask_bool, "a.b must be True or False, found \"maybe\"");
    wrong("a:\n  b: Adma\n", ask_choice, "a.b must be SGD or Adam, found \"Adma\"");
    wrong("a:\n  b: [1, x]\n", ask_ints, "a.b must be a list of integers, found \"x\"");
    wrong("a:\n  b: [1, 2, 3]\n", ask_ints, "a.b has 3 values, at most 2 fit");
}

static void overrides_win(void **state)
{
    (void)state;
    struct values *c = parse(sample);
    struct skiff_error err = {0};
    int64_t sizes[4];
    assert_int_equal(values_override(c, "runner.epochs=8", &err), SKIFF_OK);
    assert_int_equal(values_override(c, "hyper_parameters.fc_sizes=[1, 2]", &err), SKIFF_OK);
    assert_int_equal(values_override(c, "runner.pipe_command=awk -v x=1 '{print}'", &err),
                     SKIFF_OK);
    assert_int_equal(values_override(c, "runner.name=\"q\"", &err), SKIFF_OK);
    assert_int_equal(values_int(c, "runner.epochs", 0), 8);
    assert_int_equal(values_ints(c, "hyper_parameters.fc_sizes", sizes, 4), 2);
    assert_string_equal(values_text(c, "runner.pipe_command", ""), "awk -v x=1 '{print}'");
    assert_string_equal(values_text(c, "runner.name", ""), "q");
    assert_int_equal(values_override(c, "runner.epochs", &err), SKIFF_INVALID);
    assert_int_equal(values_override(c, "=3", &err), SKIFF_INVALID);
    assert_int_equal(values_override(c, "runner.rate=quick", &err), SKIFF_OK);
    values_real(c, "runner.rate", 0);
    assert_int_equal(values_check(c, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "-o runner.rate must be a number, found \"quick\"");
    values_close(c);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    struct values *c = NULL;
    struct skiff_error err = {0};
    refused("a: [1, 2\n", "t.yaml:2");
    refused("a: 1\n b: 2\n", "t.yaml:2");
    refused("\ta: 1\n", "t.yaml:1");
    refused("- 1\n- 2\n", "a config is a map");
    refused("plain\n", "a config is a map");
    refused("a: &x 1\nb: *x\n", "t.yaml:2: aliases");
    refused("? [a, b]\n: 1\n", "a key must be a plain word");
    char deep[400] = "a: ";
    memset(deep + 3, '[', 100);
    refused(deep, "t.yaml:1");
    assert_true(values_open("/nonexistent/config.yaml", &c, &err) < 0);
    assert_non_null(strstr(err.message, "/nonexistent/config.yaml"));
    c = parse("");
    assert_int_equal(values_count(c), 0);
    values_close(c);
}

static void texts_are_parsed(void **state)
{
    static const char *const integers[] = {
        "0", "+7", "-3", "1_000_001", "9223372036854775807", "-9223372036854775808"};
    static const int64_t want[] = {0, 7, -3, 1000001, INT64_MAX, INT64_MIN};
    static const char *const no_integers[] = {"",    "-",    "_1",  "1 ",  " 1",
                                              "1e3", "0x10", "1.0", "--1", "9223372036854775808"};
    static const char *const no_reals[] = {"", " 1", "1 ", "inf", "-inf", "nan", "1e999", "1,5"};
    int64_t v;
    double r;
    bool b;
    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        assert_true(value_parse_int(integers[i], &v));
        assert_true(v == want[i]);
    }
    for (size_t i = 0; i < sizeof no_integers / sizeof *no_integers; i++)
        if (value_parse_int(no_integers[i], &v))
            fail_msg("\"%s\" is an integer", no_integers[i]);
    for (size_t i = 0; i < sizeof no_reals / sizeof *no_reals; i++)
        if (value_parse_real(no_reals[i], &r))
            fail_msg("\"%s\" is a number", no_reals[i]);
    assert_true(value_parse_real("-1.5e-3", &r) && r == -1.5e-3);
    assert_true(value_parse_bool("YES", &b) && b);
    assert_true(value_parse_bool("off", &b) && !b);
    assert_false(value_parse_bool("2", &b));
}

static void absent_and_empty_values_are_the_fallback(void **state)
{
    const char *const *list;
    int64_t v[2];
    (void)state;
    struct values *c = parse("a: null\nb: ~\nc:\nd: []\ne: \"\"\n");
    for (const char *key = "abcez"; *key; key++) {
        char name[2] = {*key, 0};
        assert_false(values_has(c, name));
        assert_int_equal(values_int_in(c, name, 7, 8, 9), 7); /* a fallback has no range */
        assert_string_equal(values_text(c, name, "x"), "x");
        assert_int_equal(values_ints(c, name, v, 2), -1);
        assert_int_equal(values_list(c, name, &list), -1);
        assert_null(list);
    }
    assert_int_equal(values_list(c, "d", &list), 0);
    assert_int_equal(values_check(c, NULL), SKIFF_OK);
    values_close(c);
}

static void lines_and_forms_are_kept(void **state)
{
    struct buf out = BUF_INIT;
    (void)state;
    struct values *c = parse("a: 1\nb:\n- x: 1\n- x: 2\n  y: [p, q]\na: 2\n"
                             "network:\n  inputs: [u]\n");
    const struct value *a = values_find(c, "a");
    assert_int_equal(values_int(c, "a", 0), 2); /* the last one counts */
    assert_int_equal(a->line, 6);
    assert_int_equal(a->earlier, 1);
    assert_int_equal(values_int(c, "b.1.x", 0), 2);
    value_print(values_find(c, "b.1.y"), &out);
    assert_string_equal(out.data, "[p, q]");
    assert_non_null(values_network(c));
    assert_false(values_has(c, "network.inputs"));
    assert_int_equal(values_override(c, "a=3", NULL), SKIFF_OK);
    a = values_find(c, "a");
    assert_int_equal(a->line, 0);
    assert_int_equal(a->earlier, 0);
    buf_deinit(&out);
    values_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(paths_are_relative),
        cmocka_unit_test(wrong_types_have_lines),
        cmocka_unit_test(overrides_win),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(texts_are_parsed),
        cmocka_unit_test(absent_and_empty_values_are_the_fallback),
        cmocka_unit_test(lines_and_forms_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
