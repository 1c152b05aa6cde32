/* Settings of sparse tables, from a config to the tables that a program has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <skiff/skiff.h>

#include "task/task_tables.h"

/* A program with two distributed tables. */
static struct task open_task(const char *text)
{
    static const char *const names[] = {"emb", "emb.w"};
    struct task t = {.net = skiff_net_create()};
    struct skiff_error err = {0};
    struct skiff_var *ids = skiff_data(t.net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    for (int i = 0; i < 2; i++)
        assert_non_null(skiff_embedding(t.net, ids, 100, 9, .is_sparse = true,
                                        .is_distributed = true,
                                        .param_attr = SKIFF_PARAM(.name = names[i])));
    t.main = skiff_net_main(t.net);
    if (config_parse(text, strlen(text), "/x/test.yaml", &t.config, &err) < 0)
        fail_msg("%s", err.message);
    return t;
}

static void close_task(struct task *t)
{
    config_close(t->config);
    skiff_net_destroy(t->net);
}

static void keys_are_of_the_table_with_the_longest_name(void **state)
{
    struct task task = open_task("table_parameters:\n"
                                 "  emb:\n"
                                 "    shard_num: 3\n"
                                 "  emb.w:\n"
                                 "    shard_num: 5\n"
                                 "    accessor:\n"
                                 "      embedx_threshold: 2\n"
                                 "runner:\n"
                                 "  table_bytes: 8M\n");
    struct task_tables t;
    struct skiff_error err = {0};
    (void)state;
    if (task_tables_read(&t, &task, "async", &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(t.n, 2);
    assert_string_equal(t.at[0].table, "emb");
    assert_string_equal(t.at[0].settings, "shard_num 3\nmemory_limit 8388608\n");
    assert_string_equal(t.at[1].table, "emb.w");
    assert_string_equal(t.at[1].settings,
                        "shard_num 5\naccessor.embedx_threshold 2\nmemory_limit 8388608\n");
    task_tables_deinit(&t);
    close_task(&task);
}

static void assert_refused(const char *text, const char *message)
{
    struct task task = open_task(text);
    struct task_tables t;
    struct skiff_error err = {0};
    assert_int_equal(task_tables_read(&t, &task, "async", &err), SKIFF_INVALID);
    assert_string_equal(err.message, message);
    task_tables_deinit(&t);
    close_task(&task);
}

static void wrong_keys_are_reported_with_their_line(void **state)
{
    (void)state;
    assert_refused(
        "table_parameters:\n  embed:\n    shard_num: 5\n",
        "/x/test.yaml:3: table_parameters.embed.shard_num names the table embed, but the "
        "model has no distributed table of that name; it has emb, emb.w");
    assert_refused("table_parameters:\n  emb:\n    shard_num: 0\n",
                   "/x/test.yaml:3: table_parameters.emb.shard_num is refused: table emb: setting "
                   "shard_num is '0'; expected a whole number from 1 to 100000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_of_the_table_with_the_longest_name),
        cmocka_unit_test(wrong_keys_are_reported_with_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
