#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

struct inner {
    bool deep;
    char *stats;
};

struct thing {
    bool loud, quiet, off, script;
    int count;
    int64_t rows;
    size_t bytes;
    double share;
    const char *file;
    char *owner;
    char job[8];
    int color;
    struct option_list pairs;
    int span[2];
    bool has_rows;
    struct inner inner;
};

static const char *read_span(void *target, const char *text)
{
    int *span = target;
    if (strlen(text) != 3 || text[1] != '-' || text[0] > text[2])
        return "two digits, as 1-5";
    span[0] = text[0] - '0';
    span[1] = text[2] - '0';
    return NULL;
}

static const char *const colors[] = {"red", "green", "blue", NULL};

#define AT(field) offsetof(struct thing, field)

static const struct option inner_rows[] = {
    {"deep", OPTION_BOOL, offsetof(struct inner, deep), .help = "in the depth", .standard = "true"},
    {"stats", OPTION_COPY, offsetof(struct inner, stats), .value = "FILE",
     .help = "what prepare wrote"},
    {0}};
static const struct options inner_options = {.what = "inner setting", .rows = inner_rows};

static const struct option rows[] = {
    {"loud", OPTION_BOOL, AT(loud), .help = "says more", .letter = 'l'},
    {"quiet", OPTION_BOOL, AT(quiet), .help = "says less", .letter = 'q'},
    {"label", OPTION_NOT, AT(off), .help = "there is a label"},
    {"count", OPTION_INT, AT(count), .value = "N", .help = "how many", .letter = 'n',
     .standard = "3", .low = 1, .high = 100},
    {"row_count", OPTION_LONG, AT(rows), .value = "N", .help = "rows", .also = "rows", .low = 0,
     .high = INT64_MAX, .given = AT(has_rows)},
    {"bytes", OPTION_SIZE, AT(bytes), .value = "SIZE", .help = "memory", .standard = "64K"},
    {"share", OPTION_REAL, AT(share), .value = "X", .help = "of the rows", .low = 0, .high = 1},
    {"file", OPTION_TEXT, AT(file), .value = "FILE", .help = "the config", .letter = 'f'},
    {"owner", OPTION_COPY, AT(owner), .value = "NAME", .help = "whose it is", .standard = "nobody"},
    {"job", OPTION_CAPACITY, AT(job), .value = "NAME", .help = "the job", .high = 8},
    {"color", OPTION_CHOICE, AT(color), .value = "COLOR", .help = "one of", .words = colors,
     .standard = "green"},
    {"opt", OPTION_PAIRS, AT(pairs), .value = "key=value ...", .help = "sets a key", .letter = 'o'},
    {"span", OPTION_OTHER, AT(span), .value = "A-B", .help = "from and to", .read = read_span},
    {"gpus", OPTION_IGNORED, 0, .value = "N", .help = "not used"},
    {"ips", OPTION_REFUSED, 0, .value = "LIST", .help = "that is collective training"},
    {0}};
static const struct options settings = {
    .what = "setting", .rows = rows, .next = &inner_options, .next_at = AT(inner)};
static const struct options flags_only = {.rows = rows};
static const struct options with_words = {.rows = rows, .words = "FILE..."};

static bool is_yaml(const char *word)
{
    return strstr(word, ".yaml") != NULL;
}

static const struct option launch_rows[] = {
    {"config_yaml", OPTION_PASS, AT(script), .value = "FILE", .help = "the config", .letter = 'm'},
    {"count", OPTION_INT, AT(count), .value = "N", .help = "how many", .low = 0, .high = 9},
    {"quiet", OPTION_BOOL, AT(quiet), .help = "says less", .letter = 'q'},
    {0}};
static const struct options launch = {.rows = launch_rows,
                                      .words = "COMMAND",
                                      .rest = true,
                                      .is_first = is_yaml,
                                      .advice = "flags of the command stand behind it"};

/* ---- settings ---- */

static void set(struct thing *t, const char *name, const char *text)
{
    struct skiff_error err;
    if (options_set(&settings, t, name, text, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
}

static void refuses(const char *name, const char *text, enum skiff_status status,
                    const char *message)
{
    struct thing t = {.count = 77, .color = 77, .bytes = 77};
    struct skiff_error err;
    assert_int_equal(options_set(&settings, &t, name, text, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(t.count, 77);
    assert_int_equal(t.color, 77);
    assert_int_equal(t.bytes, 77);
    options_deinit(&settings, &t);
}

static void standard_values(void **state)
{
    struct thing t = {0};
    options_init(&settings, &t);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.bytes, 65536);
    assert_string_equal(t.owner, "nobody");
    assert_int_equal(t.color, 1);
    assert_true(t.inner.deep);
    assert_false(t.has_rows);
    options_deinit(&settings, &t);
    assert_null(t.owner);
}

static void values_of_every_kind(void **state)
{
    struct thing t = {0};
    set(&t, "loud", "yes");
    set(&t, "label", "False");
    set(&t, "count", "100");
    set(&t, "rows", "9223372036854775807");
    set(&t, "bytes", "3m");
    set(&t, "share", "0.25");
    set(&t, "file", "a.yaml");
    set(&t, "owner", "one");
    set(&t, "owner", "two");
    set(&t, "job", "1234567");
    set(&t, "color", "blue");
    set(&t, "opt", "a=1");
    set(&t, "opt", "b=");
    set(&t, "span", "2-4");
    set(&t, "stats", "x/stats");
    set(&t, "deep", "off");
    assert_true(t.loud && t.off && t.has_rows && !t.inner.deep);
    assert_int_equal(t.count, 100);
    assert_true(t.rows == INT64_MAX);
    assert_int_equal(t.bytes, 3 << 20);
    set(&t, "bytes", "2T");
    assert_int_equal(t.bytes, (size_t)2 << 40);
    assert_true(t.share == 0.25);
    assert_string_equal(t.file, "a.yaml");
    assert_string_equal(t.owner, "two");
    assert_string_equal(t.job, "1234567");
    assert_int_equal(t.color, 2);
    assert_int_equal(t.pairs.n, 2);
    assert_string_equal(t.pairs.at[1], "b=");
    assert_int_equal(t.span[1], 4);
    assert_string_equal(t.inner.stats, "x/stats");
    options_deinit(&settings, &t);
    assert_null(t.inner.stats);
    assert_int_equal(t.pairs.n, 0);
}

static void wrong_values_say_what_is_expected(void **state)
{
    refuses("loud", "maybe", SKIFF_INVALID, "setting loud is 'maybe'; expected true or false");
    refuses("count", "0", SKIFF_INVALID,
            "setting count is '0'; expected a whole number from 1 to 100");
    refuses("count", "4x", SKIFF_INVALID,
            "setting count is '4x'; expected a whole number from 1 to 100");
    refuses("count", " 4", SKIFF_INVALID,
            "setting count is ' 4'; expected a whole number from 1 to 100");
    refuses("count", "", SKIFF_INVALID,
            "setting count is ''; expected a whole number from 1 to 100");
    refuses("rows", "-1", SKIFF_INVALID,
            "setting rows is '-1'; expected a whole number, at least 0");
    refuses("rows", "9223372036854775808", SKIFF_INVALID,
            "setting rows is '9223372036854775808'; expected a whole number, at least 0");
    refuses("bytes", "3 KB", SKIFF_INVALID,
            "setting bytes is '3 KB'; expected a size, as 4096, 64K, 10M or 2G");
    refuses("bytes", "99999999999T", SKIFF_INVALID,
            "setting bytes is '99999999999T'; expected a size, as 4096, 64K, 10M or 2G");
    refuses("bytes", "99999999999G", SKIFF_INVALID,
            "setting bytes is '99999999999G'; expected a size, as 4096, 64K, 10M or 2G");
    refuses("share", "1.5", SKIFF_INVALID, "setting share is '1.5'; expected a number from 0 to 1");
    refuses("share", "nan", SKIFF_INVALID, "setting share is 'nan'; expected a number from 0 to 1");
    refuses("job", "12345678", SKIFF_INVALID, "setting job is 8 bytes long; expected at most 7");
    refuses("color", "pink", SKIFF_INVALID, "setting color is 'pink'; expected red, green or blue");
    refuses("opt", "a", SKIFF_INVALID, "setting opt is 'a'; expected key=value");
    refuses("span", "4-2", SKIFF_INVALID, "setting span is '4-2'; expected two digits, as 1-5");
    refuses("deep", "2", SKIFF_INVALID, "inner setting deep is '2'; expected true or false");
}

static void unknown_names_get_a_neighbour(void **state)
{
    refuses("colour", "red", SKIFF_NOT_FOUND,
            "there is no setting colour, the nearest is color; all: loud, quiet, label, count, "
            "row_count, bytes, share, file, owner, job, color, opt, span, gpus, ips, deep, stats");
    refuses("zebra", "1", SKIFF_NOT_FOUND,
            "there is no setting zebra; all: loud, quiet, label, count, row_count, bytes, share, "
            "file, owner, job, color, opt, span, gpus, ips, deep, stats");
}

static void many_in_one_text(void **state)
{
    struct thing t = {0};
    struct skiff_error err;
    assert_int_equal(options_set_all(&settings, &t, "  count=7 color=red  deep=1 ", &err),
                     SKIFF_OK);
    assert_true(t.count == 7 && t.color == 0 && t.inner.deep);
    assert_int_equal(options_set_all(&settings, &t, "", &err), SKIFF_OK);
    assert_int_equal(options_set_all(&settings, &t, "count=8 colors", &err), SKIFF_INVALID);
    assert_string_equal(err.message, "'colors' is no setting: write name=value");
    assert_int_equal(options_set_all(&settings, &t, "count= x", &err), SKIFF_INVALID);
    options_deinit(&settings, &t);
}

/* ---- flags ---- */

#define WORDS(...)                   \
    (char *[])                       \
    {                                \
        "command", __VA_ARGS__, NULL \
    }

static enum skiff_status parse(const struct options *o, struct thing *t, char **argv,
                               struct option_words *words, struct skiff_error *err)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    memset(t, 0, sizeof *t);
    return options_parse(o, t, argc, argv, words, err);
}

static void parses(const struct options *o, struct thing *t, char **argv, const char *words)
{
    struct option_words w;
    struct skiff_error err;
    struct buf all = BUF_INIT;
    if (parse(o, t, argv, &w, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < w.n; i++)
        buf_printf(&all, "%s%s", i ? " " : "", w.at[i]);
    assert_string_equal(all.data ? all.data : "", words);
    assert_null(w.at[w.n]);
    assert_false(w.help);
    buf_deinit(&all);
    free(w.at);
}

static void parse_fails(const struct options *o, char **argv, const char *message)
{
    struct thing t;
    struct option_words w;
    struct skiff_error err;
    assert_int_equal(parse(o, &t, argv, &w, &err), SKIFF_INVALID);
    assert_string_equal(err.message, message);
    free(w.at);
    options_deinit(o, &t);
}

static void flags_in_every_form(void **state)
{
    struct thing t;
    parses(&flags_only, &t, WORDS("--count", "5", "--row-count=9", "--file", "-", "--loud"), "");
    assert_true(t.count == 5 && t.rows == 9 && t.loud && !t.quiet);
    assert_string_equal(t.file, "-");
    parses(&flags_only, &t, WORDS("-lqn7", "--rows", "3", "--file="), "");
    assert_true(t.loud && t.quiet && t.count == 7 && t.rows == 3);
    assert_string_equal(t.file, "");
    parses(&flags_only, &t, WORDS("-lf", "x", "--quiet=false", "--gpus", "0,1"), "");
    assert_true(t.loud && !t.quiet);
    assert_string_equal(t.file, "x");
    parses(&with_words, &t, WORDS("a", "--loud", "-", "--", "--quiet", "b"), "a - --quiet b");
    assert_true(t.loud && !t.quiet);
}

static void negative_numbers_are_values(void **state)
{
    static const struct option any[] = {
        {"bad", OPTION_LONG, AT(rows), .value = "N", .help = "bad lines"}, {0}};
    static const struct options o = {.rows = any};
    struct thing t;
    parses(&o, &t, WORDS("--bad", "-1"), "");
    assert_int_equal(t.rows, -1);
    parses(&o, &t, WORDS("--bad=-2"), "");
    assert_int_equal(t.rows, -2);
}

static void pairs_go_on_while_they_look_like_pairs(void **state)
{
    struct thing t;
    parses(&with_words, &t, WORDS("-o", "a=1", "b=2", "c", "d=3", "--opt", "e=4", "-q"), "c d=3");
    assert_int_equal(t.pairs.n, 3);
    assert_string_equal(t.pairs.at[1], "b=2");
    assert_string_equal(t.pairs.at[2], "e=4");
    assert_true(t.quiet);
    options_deinit(&with_words, &t);
    parse_fails(&with_words, WORDS("-o", "epochs"), "-o is 'epochs'; expected key=value");
    parse_fails(&with_words, WORDS("-o"), "-o needs a value: key=value ...");
}

static void help_ends_reading(void **state)
{
    static char *const asks[] = {"-h", "--help"};
    for (int i = 0; i < 2; i++) {
        struct thing t;
        struct option_words w;
        assert_int_equal(parse(&flags_only, &t, WORDS("--loud", asks[i], "--nonsense"), &w, NULL),
                         SKIFF_OK);
        assert_true(w.help && t.loud);
        free(w.at);
    }
}

static void wrong_flags(void **state)
{
    parse_fails(&flags_only, WORDS("--cuont", "3"), "unknown flag --cuont; the nearest is --count");
    parse_fails(&flags_only, WORDS("--zebra=3"), "unknown flag --zebra");
    parse_fails(&flags_only, WORDS("-lz"), "unknown flag -lz");
    parse_fails(&flags_only, WORDS("--count"), "--count needs a value: N");
    parse_fails(&flags_only, WORDS("--count", "--loud"), "--count needs a value: N");
    parse_fails(&flags_only, WORDS("--count=two"),
                "--count is 'two'; expected a whole number from 1 to 100");
    parse_fails(&flags_only, WORDS("-n", "x"), "-n is 'x'; expected a whole number from 1 to 100");
    parse_fails(&flags_only, WORDS("word"), "unexpected argument 'word': expected only flags");
    parse_fails(&flags_only, WORDS("--", "word"),
                "unexpected argument 'word': expected only flags");
    parse_fails(&flags_only, WORDS("--ips=a,b"), "--ips: that is collective training");
    parse_fails(&launch, WORDS("--quite"),
                "unknown flag --quite; the nearest is --quiet; flags of the command stand "
                "behind it");
}

static bool knows_epochs(const char *name, const char *value, struct buf *out)
{
    if (strcmp(name, "epochs") != 0)
        return false;
    buf_printf(out, "write -o runner.epochs=%s", value ? value : "...");
    return true;
}

static void first_word_is_a_value(void **state)
{
    static const struct options one = {.rows = rows, .first = "file", .meant = knows_epochs};
    static const struct options some = {
        .rows = rows, .words = "KEY...", .first = "file", .is_first = is_yaml};
    struct thing t;
    parses(&one, &t, WORDS("a.yaml", "--count", "2"), "");
    assert_string_equal(t.file, "a.yaml");
    parses(&one, &t, WORDS("-f", "b.yaml"), "");
    assert_string_equal(t.file, "b.yaml");
    parse_fails(&one, WORDS("a.yaml", "b.yaml"),
                "unexpected argument 'b.yaml': --file is 'a.yaml' already; expected only flags");
    parse_fails(&one, WORDS("a.yaml", "-f", "b.yaml"),
                "unexpected argument 'a.yaml': --file is 'b.yaml' already; expected only flags");
    parse_fails(&one, WORDS("--", "a.yaml"), "unexpected argument 'a.yaml': write --file a.yaml");
    parses(&some, &t, WORDS("a.yaml", "x", "b.yaml"), "x b.yaml");
    assert_string_equal(t.file, "a.yaml");
    parses(&some, &t, WORDS("x", "a.yaml"), "x a.yaml");
    assert_null(t.file);
    parse_fails(&one, WORDS("--epochs", "3"), "unknown flag --epochs; write -o runner.epochs=3");
    parse_fails(&one, WORDS("--epochs=3"), "unknown flag --epochs; write -o runner.epochs=3");
    parse_fails(&one, WORDS("--epochs", "-q"), "unknown flag --epochs; write -o runner.epochs=...");
    parse_fails(&one, WORDS("--cont", "3"), "unknown flag --cont; the nearest is --count");
}

static void what_belongs_to_somebody_else(void **state)
{
    struct thing t;
    parses(&launch, &t, WORDS("--count", "2", "run.py", "--count", "5", "-q"),
           "run.py --count 5 -q");
    assert_true(t.count == 2 && !t.quiet && !t.script);
    parses(&launch, &t, WORDS("c.yaml", "-o", "a=1", "--count=3", "-q"), "c.yaml -o a=1 -q");
    assert_true(t.count == 3 && !t.quiet);
    parses(&launch, &t, WORDS("-q", "--", "--count", "5"), "--count 5");
    assert_true(t.quiet && t.count == 0);
    parses(&launch, &t,
           WORDS("-m", "c.yaml", "-o", "a=1", "--count=3", "--resume", "-q", "-m", "--help"),
           "-m c.yaml -o a=1 --resume -q -m --help");
    assert_true(t.count == 3 && t.script && !t.quiet);
}

/* ---- help ---- */

static void help_is_aligned(void **state)
{
    static const struct option few[] = {
        {"config_yaml", OPTION_TEXT, AT(file), .value = "FILE", .help = "the config",
         .letter = 'm'},
        {"resume", OPTION_BOOL, AT(loud), .help = "resumes from the newest epoch"},
        {"count", OPTION_INT, AT(count), .value = "N", .help = "how many", .standard = "3",
         .low = 1, .high = 5},
        {"gpus", OPTION_IGNORED, 0, .value = "N", .help = "not used"},
        {"color", OPTION_CHOICE, AT(color), .value = "COLOR", .help = "of the bike shed",
         .words = colors, .standard = "green", .also = "colour", .letter = 'C', .also_letter = 'K'},
        {"a_very_long_name_of_a_flag", OPTION_TEXT, AT(file), .value = "FILE",
         .help = "a sentence that is so long that it does not fit into what is left of the line "
                 "and goes "
                 "on"},
        {0}};
    static const struct options o = {.rows = few};
    struct buf out = BUF_INIT;
    options_help(&o, &out);
    assert_string_equal(
        out.data, "  -m, --config_yaml FILE      the config\n"
                  "      --resume                resumes from the newest epoch\n"
                  "      --count N               how many (default: 3)\n"
                  "  -C, --color COLOR           of the bike shed: red, green or blue; also -K, "
                  "--colour (default:\n"
                  "                              green)\n"
                  "      --a_very_long_name_of_a_flag FILE\n"
                  "                              a sentence that is so long that it does not fit "
                  "into what is left of\n"
                  "                              the line and goes on\n");
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_values),
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(wrong_values_say_what_is_expected),
        cmocka_unit_test(unknown_names_get_a_neighbour),
        cmocka_unit_test(many_in_one_text),
        cmocka_unit_test(flags_in_every_form),
        cmocka_unit_test(negative_numbers_are_values),
        cmocka_unit_test(pairs_go_on_while_they_look_like_pairs),
        cmocka_unit_test(help_ends_reading),
        cmocka_unit_test(wrong_flags),
        cmocka_unit_test(first_word_is_a_value),
        cmocka_unit_test(what_belongs_to_somebody_else),
        cmocka_unit_test(help_is_aligned),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
