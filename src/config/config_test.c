#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "config/config.h"
#include "config/values.h"

static struct config *parse(const char *text)
{
    struct config *c = NULL;
    struct skiff_error err = {0};
    enum skiff_status status = config_parse(text, strlen(text), "/x/test.yaml", &c, &err);
    if (status < 0)
        fail_msg("%s", err.message);
    return c;
}

/* ---- the table ---- */

static bool is_word(enum config_key key, const char *text)
{
    char word[64];
    for (int i = 0; key_word(key, i, word); i++)
        if (!strcmp(word, text))
            return true;
    return false;
}

/* A default is a value that a config may have. */
static void standard_fits(enum config_key key)
{
    const struct key_info *k = key_info(key);
    int64_t whole = 0;
    double real = 0;
    bool truth;
    bool fits = (k->type != KEY_INT || value_parse_int(k->standard, &whole)) &&
                (k->type != KEY_REAL || value_parse_real(k->standard, &real)) &&
                (k->type != KEY_BOOL || value_parse_bool(k->standard, &truth)) &&
                (k->type != KEY_WORD || is_word(key, k->standard));
    double v = k->type == KEY_INT ? (double)whole : real;
    if (!fits || (k->bounded && (v < (double)k->min || v > (double)k->max)))
        fail_msg("%s: the default %s is not a value of its row", k->name, k->standard);
}

static void rows_are_sound(void **state)
{
    (void)state;
    for (int i = KEY_NONE + 1; i < KEY_COUNT; i++) {
        enum config_key key = (enum config_key)i;
        const struct key_info *k = key_info(key);
        assert_int_equal(key_find(k->name), key); /* no name stands twice */
        assert_true(k->help && *k->help && k->help[strlen(k->help) - 1] != '.');
        assert_true(!k->bounded || k->min <= k->max);
        assert_int_equal(k->type == KEY_WORD, k->words != NULL);
        if (k->standard)
            standard_fits(key);
        if (k->from) {
            assert_int_equal(key_info(k->from)->type, k->type);
            assert_int_equal(key_info(k->from)->from, KEY_NONE);
        }
    }
    assert_string_equal(key_name(KEY_RUNNER_EPOCHS), "runner.epochs");
    assert_int_equal(key_find("runner.epoch"), KEY_NONE);
}

static void families_are_found(void **state)
{
    (void)state;
    assert_int_equal(key_matching("hyper_parameters.anything"), KEY_HYPER);
    assert_int_equal(key_matching("hyper_parameters.optimizer.rho"), KEY_OPTIMIZER);
    assert_int_equal(key_matching("hyper_parameters.optimizer.class"), KEY_OPTIMIZER_CLASS);
    assert_int_equal(key_matching("table_parameters.emb.accessor.fea_dim"), KEY_TABLE_PARAMETERS);
    assert_int_equal(key_matching("hyper_parameters."), KEY_NONE);
    assert_int_equal(key_by_alias("runner.num_epochs"), KEY_RUNNER_EPOCHS);
    assert_int_equal(key_by_alias("LR"), KEY_OPTIMIZER_LEARNING_RATE);
    assert_int_equal(key_by_alias("epochs"), KEY_NONE);
}

static void check_group(const char *group, const char *line)
{
    struct buf text = BUF_INIT;
    assert_true(key_print_group(group, &text));
    if (!strstr(text.data, line))
        fail_msg("\"%s\" does not hold \"%s\"", text.data, line);
    buf_deinit(&text);
}

static void groups_are_printed(void **state)
{
    (void)state;
    struct buf text = BUF_INIT;
    check_group("validation", "\n| `runner.valid_metric` | `auto`, `auc`, `log_loss` or `loss` | "
                              "auto | Metric that is compared");
    check_group("validation",
                "| `runner.valid_batch_size` | integer, 1 to 16777216 | "
                "`runner.infer_batch_size` | Samples in a batch | train, calibrate |\n");
    check_group("jobs", "| `runner.geo_step` | integer, 1 to 1073741824 | 400 |");
    check_group("accepted without effect", "| `runner.use_gpu` | any | none | devices |\n");
    assert_false(key_print_group("nothing", &text));
}

/* ---- values ---- */

static const char sample[] = "runner:\n"
                             "  epochs: 3\n"
                             "  inference: True\n"
                             "  infer_batch_size: 77\n"
                             "  train_data_dir: [a, /b]\n"
                             "  model_save_path: out\n"
                             "  valid_metric: AUC\n"
                             "  fs_client:\n"
                             "    passwd: abracadabra\n"
                             "hyper_parameters:\n"
                             "  fc_sizes: [512, 256]\n"
                             "  rate: 0.5\n";

static void values_are_read(void **state)
{
    (void)state;
    struct config *c = parse(sample);
    const char *const *list;
    int64_t sizes[4];
    assert_int_equal(config_int(c, KEY_RUNNER_EPOCHS), 3);
    assert_int_equal(config_int(c, KEY_RUNNER_SEED), 12345); /* the row's */
    assert_true(config_bool(c, KEY_RUNNER_USE_INFERENCE));   /* from runner.inference */
    assert_false(config_has(c, KEY_RUNNER_USE_INFERENCE));
    assert_true(config_bool(c, KEY_RUNNER_KEEP_BEST));
    assert_int_equal(config_int(c, KEY_RUNNER_VALID_BATCH_SIZE), 77);
    assert_int_equal(config_int(c, KEY_RUNNER_TRAIN_BATCH_SIZE), 32);
    assert_int_equal(config_word(c, KEY_RUNNER_VALID_METRIC), 1);
    assert_int_equal(config_word(c, KEY_RUNNER_ON_WORKER_DEATH), 0);
    assert_string_equal(config_text(c, KEY_RUNNER_SYNC_MODE), "async"); /* from the strategy's */
    assert_string_equal(config_text_or(c, KEY_RUNNER_INPUT_FORMAT, "csv"), "csv");
    assert_int_equal(config_int_or(c, KEY_RUNNER_INFER_BATCH_SIZE, 512), 77);
    assert_true(config_bool_or(c, KEY_RUNNER_SHUFFLE, true));
    assert_true(config_real(c, KEY_OPTIMIZER_LEARNING_RATE) == 0.001);
    assert_null(config_path(c, KEY_RUNNER_CACHE_DIR));
    assert_non_null(strstr(config_path(c, KEY_RUNNER_INFER_LOAD_PATH), "/out"));
    assert_int_equal(config_paths(c, KEY_RUNNER_TRAIN_DATA_DIR, &list), 2);
    assert_string_equal(list[1], "/b");
    assert_int_equal(config_list(c, KEY_RUNNER_DUMP_FIELDS, &list), -1);
    assert_int_equal(member_ints(c, KEY_HYPER, "fc_sizes", sizes, 4), 2);
    assert_int_equal(sizes[1], 256);
    assert_true(member_real(c, KEY_HYPER, "rate", 0) == 0.5);
    assert_int_equal(member_int(c, KEY_HYPER, "none", 9, 0, 10), 9);
    assert_false(member_has(c, KEY_OPTIMIZER, "rate"));
    assert_int_equal(config_check(c, NULL), SKIFF_OK);
    config_close(c);
}

static void reals_have_no_upper_bound(void **state)
{
    (void)state;
    struct config *c = parse("hyper_parameters:\n  optimizer:\n    learning_rate: 1e20\n");
    assert_true(config_real(c, KEY_OPTIMIZER_LEARNING_RATE) == 1e20);
    assert_int_equal(config_check(c, NULL), SKIFF_OK);
    config_close(c);
}

/* The text is refused with this message when all of it is read. */
static void wrong(const char *text, const char *want)
{
    struct config *c = parse(text);
    struct skiff_error err = {0};
    config_read_all(c);
    assert_int_equal(config_check(c, &err), SKIFF_INVALID);
    assert_string_equal(err.message, want);
    config_close(c);
}

static void wrong_values_have_lines(void **state)
{
    (void)state;
    wrong("runner:\n  epochs: ten\n",
          "/x/test.yaml:2: runner.epochs must be an integer, found \"ten\"");
    wrong("runner:\n  thread_num: 0\n",
          "/x/test.yaml:2: runner.thread_num must be between 1 and 1024, found 0");
    wrong("runner:\n  bad_lines: -2\n",
          "/x/test.yaml:2: runner.bad_lines must be at least -1, found -2");
    wrong("runner:\n  early_stop_delta: -0.5\n",
          "/x/test.yaml:2: runner.early_stop_delta must be at least 0, found -0.5");
    wrong("runner:\n  keep_best: [1]\n",
          "/x/test.yaml:2: runner.keep_best must be True or False, found a list of 1");
    wrong("runner:\n  valid_metric: acc\n",
          "/x/test.yaml:2: runner.valid_metric must be auto, auc, log_loss or loss, found \"acc\"");
    wrong("runner:\n  memory_limit: 12Q\n",
          "/x/test.yaml:2: runner.memory_limit must be a size, as 4096, 64K, 10M or 2G, found "
          "\"12Q\"");
    wrong("runner:\n  start_day: 20190732\n",
          "/x/test.yaml:2: runner.start_day must be a day as 20190720, found \"20190732\"");
    wrong("runner:\n  epochs: 0\n",
          "/x/test.yaml:2: runner.epochs must be between 1 and 1000000, found 0");
    wrong("hyper_parameters:\n  fc_sizes: [1, x]\n",
          "/x/test.yaml:2: hyper_parameters.fc_sizes must be a list of integers, found \"x\"");
    /* the key that gives the value is named */
    struct skiff_error err = {0};
    struct config *c = parse("runner:\n  inference: perhaps\n");
    assert_false(config_bool(c, KEY_RUNNER_USE_INFERENCE));
    assert_int_equal(config_check(c, &err), SKIFF_INVALID);
    assert_string_equal(
        err.message, "/x/test.yaml:2: runner.inference must be True or False, found \"perhaps\"");
    config_close(c);
    c = parse("a: 1\n");
    assert_int_equal(config_override(c, "runner.epochs=x", NULL), SKIFF_OK);
    config_refuse(c, KEY_RUNNER_EPOCHS, "is %d", 7);
    config_refuse(c, KEY_RUNNER_SEED, "is second");
    assert_int_equal(config_check(c, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "-o runner.epochs is 7");
    config_close(c);
}

/* ---- unknown keys ---- */

struct reported {
    int likely, other;
    char last[700];
};

static void report(void *arg, bool likely, const char *text)
{
    struct reported *t = arg;
    t->likely += likely;
    t->other += !likely;
    snprintf(t->last, sizeof(t->last), "%s", text);
}

static void unknown_keys_are_named(void **state)
{
    (void)state;
    struct reported t = {0};
    struct config *c = parse("runner:\n  epocs: 3\n");
    assert_int_equal(config_unknown(c, report, &t), 1);
    assert_string_equal(
        t.last,
        "/x/test.yaml:2: unknown key runner.epocs (the nearest known one is runner.epochs)");
    config_close(c);

    t = (struct reported){0};
    c = parse("runner:\n  something_else: 3\n  seed: 1\n  seed: 2\ntable_parameters:\n  x: 1\n");
    member_know(c, KEY_TABLE_PARAMETERS, NULL);
    assert_int_equal(config_int(c, KEY_RUNNER_SEED), 2);
    assert_int_equal(config_unknown(c, report, &t), 0);
    assert_int_equal(t.other, 2);
    assert_non_null(strstr(t.last, "runner.seed was already set in line 3"));
    config_close(c);

    t = (struct reported){0};
    c = parse("runner:\n  seed: 1\n");
    assert_int_equal(config_override(c, "zzz.unheard=1", NULL), SKIFF_OK);
    assert_int_equal(config_unknown(c, report, &t), 1);
    assert_non_null(strstr(t.last, "-o unknown key zzz.unheard"));
    config_close(c);
}

/* Names of a family are known when somebody reads them; so are keys that belong to models. */
static void families_are_known_by_use(void **state)
{
    (void)state;
    int64_t sizes[4];
    struct reported t = {0};
    struct config *c = parse("hyper_parameters:\n  fc_sizes: [1]\n  cross_numbers: 2\n");
    config_unknown(c, report, &t);
    assert_int_equal(t.likely + t.other, 2);
    member_ints(c, KEY_HYPER, "fc_sizes", sizes, 4);
    member_know(c, KEY_HYPER, "cross_number");
    t = (struct reported){0};
    assert_int_equal(config_unknown(c, report, &t), 1);
    assert_string_equal(t.last, "/x/test.yaml:3: unknown key hyper_parameters.cross_numbers (the "
                                "nearest known one is hyper_parameters.cross_number)");
    member_know(c, KEY_HYPER, NULL);
    assert_int_equal(config_unknown(c, report, &t), 0);
    config_close(c);
}

/* What config_unknown says. */
static void means(const char *text, const char *want)
{
    struct reported t = {0};
    struct config *c = parse(text);
    member_know(c, KEY_OPTIMIZER, "momentum");
    assert_int_equal(config_unknown(c, report, &t), 1);
    assert_string_equal(t.last, want);
    config_close(c);
}

static void other_words_are_understood(void **state)
{
    (void)state;
    struct skiff_error err = {0};
    means("runner:\n  num_epochs: 3\n",
          "/x/test.yaml:2: runner.num_epochs is not a key: write runner.epochs");
    means("hyper_parameters:\n  learning_rate: 3\n",
          "/x/test.yaml:2: hyper_parameters.learning_rate is not a key: write "
          "hyper_parameters.optimizer.learning_rate");
    means("hyper_parameters:\n  momentum: 3\n",
          "/x/test.yaml:2: hyper_parameters.momentum is not a key: write "
          "hyper_parameters.optimizer.momentum");
    means("runner:\n  Epochs: 3\n",
          "/x/test.yaml:2: runner.Epochs is not a key: write runner.epochs");
    struct config *c = parse("a: 1\nRunner:\n  epochs: 3\n");
    assert_int_equal(config_aliases(c, &err), SKIFF_INVALID);
    assert_string_equal(err.message,
                        "/x/test.yaml:3: Runner must be written runner: keys are case-sensitive");
    config_close(c);
    c = parse("runner:\n  train_data_dirr: x\n");
    assert_int_equal(config_aliases(c, &err), SKIFF_OK);
    assert_string_equal(config_like(c, KEY_RUNNER_TRAIN_DATA_DIR), "runner.train_data_dirr");
    assert_null(config_like(c, KEY_RUNNER_SEED));
    config_close(c);
}

/* ---- effective values ---- */

static void effective(struct config *c, enum config_key key, const char *value, const char *source)
{
    struct buf v = BUF_INIT, s = BUF_INIT;
    bool set = config_print_effective(c, key, &v, &s);
    assert_string_equal(v.data, value);
    assert_string_equal(s.data, source);
    assert_int_equal(set, strncmp(source, "default", 7) != 0);
    buf_deinit(&v);
    buf_deinit(&s);
}

static void sources_are_named(void **state)
{
    (void)state;
    struct config *c = parse(sample);
    unsetenv("SKIFF_TRANSPORT");
    assert_int_equal(config_override(c, "runner.early_stop=2", NULL), SKIFF_OK);
    effective(c, KEY_RUNNER_EPOCHS, "3", "/x/test.yaml:2");
    effective(c, KEY_RUNNER_TRAIN_DATA_DIR, "[a, /b]", "/x/test.yaml:5");
    effective(c, KEY_RUNNER_EARLY_STOP, "2", "-o");
    effective(c, KEY_RUNNER_USE_INFERENCE, "True", "/x/test.yaml:3 (runner.inference)");
    effective(c, KEY_RUNNER_SEED, "12345", "default");
    effective(c, KEY_OPTIMIZER_LAZY_MODE, "True", "default");
    effective(c, KEY_RUNNER_SYNC_MODE, "async", "default (hyper_parameters.optimizer.strategy)");
    effective(c, KEY_RUNNER_FS_CLIENT_PASSWD, "(hidden)", "/x/test.yaml:9");
    effective(c, KEY_RUNNER_INFER_END_EPOCH, "all epochs", "default");
    effective(c, KEY_RUNNER_TRANSPORT, "tcp", "default");
    setenv("SKIFF_TRANSPORT", "ipc", 1);
    effective(c, KEY_RUNNER_TRANSPORT, "ipc", "environment SKIFF_TRANSPORT");
    unsetenv("SKIFF_TRANSPORT");
    config_close(c);
}

static void count(void *arg, bool likely, const char *text)
{
    (void)likely;
    (void)text;
    ++*(int *)arg;
}

static void keys_are_looked_up_as_users_write_them(void **state)
{
    struct buf text = BUF_INIT;
    (void)state;
    assert_int_equal(key_meant("runner.epochs"), KEY_RUNNER_EPOCHS);
    assert_int_equal(key_meant("epochs"), KEY_RUNNER_EPOCHS);
    assert_int_equal(key_meant("num_epochs"), KEY_RUNNER_EPOCHS);
    assert_int_equal(key_meant("epoch_of_stone"), KEY_NONE);
    assert_string_equal(key_nearest("runner.epcohs"), "runner.epochs");
    assert_string_equal(key_nearest("thread_nmu"), "thread_num");
    assert_null(key_nearest("quite something else"));
    key_plain_text(&text, "see `skiff init` and [there](../guide/x.md), or [here](#keys)");
    assert_string_equal(text.data, "see skiff init and docs/guide/x.md, or "
                                   "docs/reference/configuration.md#keys");
    buf_deinit(&text);
}

static void whole_configs_are_checked(void **state)
{
    struct skiff_error err = {0};
    int said = 0;
    (void)state;
    struct config *c = parse("runner:\n  epochs: 2\nhyper_parameters:\n  any: 1\n");
    assert_int_equal(config_check_all(c, count, &said, &err), SKIFF_OK);
    assert_int_equal(said, 0);
    assert_int_equal(config_override(c, "runner.thread_nmu=2", NULL), SKIFF_OK);
    assert_int_equal(config_check_all(c, count, &said, &err), SKIFF_INVALID);
    assert_int_equal(said, 1);
    assert_string_equal(err.message, "/x/test.yaml: 1 key is unknown");
    config_close(c);
    c = parse("runner:\n  early_stop: soon\n"); /* of training alone: still wrong */
    assert_int_equal(config_check_all(c, count, &said, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "runner.early_stop must be"));
    config_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(families_are_found),
        cmocka_unit_test(groups_are_printed),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(reals_have_no_upper_bound),
        cmocka_unit_test(wrong_values_have_lines),
        cmocka_unit_test(unknown_keys_are_named),
        cmocka_unit_test(families_are_known_by_use),
        cmocka_unit_test(other_words_are_understood),
        cmocka_unit_test(sources_are_named),
        cmocka_unit_test(keys_are_looked_up_as_users_write_them),
        cmocka_unit_test(whole_configs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
