/* Which plan a server program that is run by an executor is served by: the split's for the split's
 * own program, one that is read from the ops for any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "executor/scope.h"
#include "fleet/job_server.h"
#include "passes/split.h"

static char output[1024];

static void on_log(void *user, enum log_level level, const char *line)
{
    (void)user;
    snprintf(output, sizeof output, "%s", line);
}

struct served {
    struct skiff_program *main, *startup;
    struct job *job;
};

static void served_open(struct served *s)
{
    struct skiff_error err;
    struct settings settings;
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_var *loss = skiff_mean(net, skiff_fc(net, x, 1));
    struct skiff_split *split;
    struct server_plan *plan;
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1), SKIFF_OK);
    struct skiff_split_config config = split_config_default();
    struct skiff_split_job job = {.main = skiff_net_main(net),
                                  .startup = skiff_net_startup(net),
                                  .pservers = "127.0.0.1:6170",
                                  .trainers = 2,
                                  .sync_mode = true};
    assert_int_equal(split_create(&job, &config, &split, &err), SKIFF_OK);
    assert_int_equal(split_server(split, "127.0.0.1:6170", &s->main, &s->startup, &plan, &err),
                     SKIFF_OK);
    assert_int_equal(settings_read(&settings, NULL, NULL, &err), SKIFF_OK);
    struct job_server_options o = {.plan = plan,
                                   .main = s->main,
                                   .startup = s->startup,
                                   .settings = &settings,
                                   .on_log = on_log};
    assert_int_equal(job_server_create(&o, &s->job, &err), SKIFF_OK);
    job_server_stop(s->job); /* a run returns at once; everything before it is done */
    split_destroy(split);
    skiff_net_destroy(net);
}

static void served_close(struct served *s)
{
    job_unref(s->job);
    program_destroy(s->main);
    program_destroy(s->startup);
}

static enum skiff_status serve(struct served *s, const struct skiff_program *p,
                               struct skiff_error *err)
{
    struct skiff_scope *scope = scope_create();
    output[0] = 0;
    enum skiff_status status = s->job->class->serve(s->job, p, scope, err);
    scope_destroy(scope);
    return status;
}

static void the_splits_own(void **state)
{
    struct served s;
    struct skiff_error err;
    struct buf text = BUF_INIT;
    struct skiff_program *copy;
    served_open(&s);
    assert_int_equal(serve(&s, s.main, &err), SKIFF_OK);
    assert_string_equal(output, "");
    program_print(s.main, &text); /* the same program, though not the same object */
    assert_int_equal(program_parse(text.data, "printed", &copy, &err), SKIFF_OK);
    assert_int_equal(serve(&s, copy, &err), SKIFF_OK);
    assert_string_equal(output, "");
    buf_deinit(&text);
    program_destroy(copy);
    served_close(&s);
}

static void another_one(void **state)
{
    struct served s;
    struct skiff_error err;
    served_open(&s);
    struct skiff_program *changed = program_clone(s.main);
    block_add_var(program_root(changed), "one_more");
    assert_int_equal(serve(&s, changed, &err), SKIFF_OK);
    assert_non_null(strstr(output, "is not the split's"));
    op_set_int(changed, program_root(changed)->ops[0], "Fanin", 5);
    assert_int_equal(serve(&s, changed, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "is for 5 trainers, the server was started for 2"));
    program_destroy(changed);
    served_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_splits_own),
        cmocka_unit_test(another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
