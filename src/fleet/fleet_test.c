/* The fleet calls: whole jobs with servers and workers as threads of this process, over loopback.
 * What they train equals a local run of the joint batches; what worker 0 saves is what the servers
 * hold, in Paddle's files, whatever the number of servers; saved models run alone. */
#include "fleet/fleet_fixture_test.h"

static const char *const params[] = {"fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"};

/* ---- tests ---- */

/* Sync with schedule and Adam equals local training on the joint batch; what is saved loads
 * locally, accumulators and all, and training resumes from it. */
static void sync_equals_local(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "adam",
                         .schedule = true,
                         .rate = 0.01,
                         .servers = 2,
                         .workers = 2,
                         .steps = STEPS,
                         .save = in_folder("adam")};
    struct local whole, loaded;
    struct skiff_error err = {0};
    (void)state;
    job_run(&c);
    assert_true(c.sums[0] == 3 && c.sums[1] == 3);
    local_open(&whole, &c);
    local_train(&whole, STEPS, 2 * BATCH);
    local_open(&loaded, &c);
    if (skiff_load_persistables(loaded.scope, skiff_net_main(loaded.net.net), c.save, NULL, &err) <
        0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        double d = largest_difference(whole.scope, loaded.scope, params[i]);
        if (d > 2e-5)
            fail_msg("%s differs by %g", params[i], d);
    }
    assert_true(largest_difference(whole.scope, loaded.scope, "fc_0.w_0_moment1_0") < 1e-5);
    int64_t *counter = skiff_tensor_data(skiff_scope_find(loaded.scope, "@LR_DECAY_COUNTER@"));
    assert_int_equal(*counter, STEPS - 1); /* as many steps as a local run counts */
    assert_int_equal(*counter, *(int64_t *)skiff_tensor_data(
                                   skiff_scope_find(whole.scope, "@LR_DECAY_COUNTER@")));
    local_close(&whole);
    local_close(&loaded);
}

/* Nobody calls init_worker, init_server or run_server: running the programs is enough, also the
 * net's own ones on a worker. */
static void running_is_enough(void **state)
{
    static const char *const modes[] = {"sync", "async", "geo"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct job_case c = {.mode = modes[i],
                             .optimizer = "sgd",
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 2,
                             .steps = STEPS,
                             .by_running = true};
        struct job_case called = c;
        job_run(&c);
        assert_true(c.sums[0] == 3 && c.sums[1] == 3);
        if (strcmp(modes[i], "sync"))
            continue; /* the others' numbers depend on who is faster */
        called.by_running = false;
        job_run(&called);
        for (int k = 0; k < STEPS; k++)
            assert_true(c.losses[0][k] == called.losses[0][k] &&
                        c.losses[1][k] == called.losses[1][k]);
    }
}

/* One float, whatever the number of blocks; a cut accumulator is whole. */
static void saved_files_are_whole(void **state)
{
    const char *dir = in_folder("adam");
    (void)state;
    long head = file_size(dir, "fc_0.b_0") - WIDTH * 4;
    assert_in_range(head, 20, 60);
    assert_in_range(file_size(dir, "fc_0.w_0_moment1_0") - WIDTH * WIDTH * 4, head, head + 4);
    assert_in_range(file_size(dir, "fc_0.w_0") - WIDTH * WIDTH * 4, head, head + 4);
    assert_in_range(file_size(dir, "fc_0.w_0_beta1_pow_acc_0"), 20, 40);
}

/* Saved with two servers, loaded by three and by one; a job without steps saves the same. */
static void any_number_of_servers(void **state)
{
    static const char *const files[] = {"fc_0.w_0",           "fc_0.b_0",
                                        "fc_1.w_0",           "fc_0.w_0_moment1_0",
                                        "fc_0.w_0_moment2_0", "fc_0.w_0_beta1_pow_acc_0"};
    (void)state;
    for (int servers = 1; servers <= 3; servers += 2) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "adam",
                             .schedule = true,
                             .rate = 0.01,
                             .servers = servers,
                             .workers = 1,
                             .steps = 0,
                             .load = in_folder("adam"),
                             .save = in_folder(servers == 1 ? "one" : "three")};
        job_run(&c);
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
            if (!same_file(c.load, c.save, files[i]))
                fail_msg("%s is another one with %d servers", files[i], servers);
    }
}

/* The model of "adam" in other forms, made on one machine. */
static void save_forms(const struct job_case *c)
{
    struct local l;
    struct skiff_error err = {0};
    const char *feed = "x", *target;
    local_open(&l, c);
    struct skiff_program *main = skiff_net_main(l.net.net);
    target = skiff_var_name(l.net.predict);
    struct skiff_model_files files = {.model = "net", .params = "weights"};
#define OR_DIE(call)                     \
    do {                                 \
        if ((call) < 0)                  \
            fail_msg("%s", err.message); \
    } while (0)
    OR_DIE(skiff_load_persistables(l.scope, main, in_folder("adam"), NULL, &err));
    OR_DIE(skiff_save_persistables(l.scope, main, in_folder("all"), "everything", &err));
    OR_DIE(skiff_save_params(l.scope, main, in_folder("params"), "p", &err));
    OR_DIE(skiff_save(l.scope, main, in_folder("pickled/x"), &err));
    OR_DIE(skiff_save_inference_prefix(l.scope, main, &feed, 1, &target, 1, in_folder("pair/x"),
                                       &err));
    OR_DIE(skiff_save_inference_files(l.scope, main, &feed, 1, &target, 1, in_folder("inference"),
                                      &files, &err));
#undef OR_DIE
    local_close(&l);
}

/* Every form of a saved model, by any number of servers: all parameters, and the optimizer's state
 * where the model has it. */
static void every_form_loads(void **state)
{
    static const struct {
        const char *path;
        bool has_state;
    } forms[] = {{"all", true},     {"all/everything", true}, {"params", false},
                 {"pickled", true}, {"pickled/x", true},      {"pair/x", false},
                 {"pair", false},   {"inference", false},     {"inference/weights", false}};
    static const char *const files[] = {"fc_0.w_0",
                                        "fc_0.b_0",
                                        "fc_1.w_0",
                                        "fc_1.b_0",
                                        "fc_0.w_0_moment1_0",
                                        "fc_0.w_0_moment2_0",
                                        "fc_0.w_0_beta1_pow_acc_0",
                                        "@LR_DECAY_COUNTER@"};
    struct job_case like = {.optimizer = "adam", .schedule = true, .rate = 0.01};
    (void)state;
    save_forms(&like);
    for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
        char save[32];
        snprintf(save, sizeof(save), "again%zu", k);
        const char *first = in_folder("adam");
        struct job_case c = {.mode = "sync",
                             .optimizer = "adam",
                             .schedule = true,
                             .rate = 0.01,
                             .servers = 1 + (int)k % 3,
                             .workers = 1,
                             .load = in_folder(forms[k].path),
                             .save = in_folder(save)};
        job_run(&c);
        for (size_t i = 0; i < (forms[k].has_state ? 8 : 4); i++)
            if (!same_file(first, c.save, files[i]))
                fail_msg("%s, %d servers: %s is another one", forms[k].path, c.servers, files[i]);
    }
}

/* The same bits with 1, 2 and 3 servers. */
static void servers_do_not_matter(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 3; servers++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "sgd",
                             .schedule = true,
                             .rate = 0.05,
                             .servers = servers,
                             .workers = 2,
                             .steps = STEPS,
                             .save = in_folder(servers == 1   ? "s1"
                                               : servers == 2 ? "s2"
                                                              : "s3")};
        job_run(&c);
        for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
            assert_true(same_file(in_folder("s1"), c.save, params[i]));
    }
}

/* The model runs alone, has no optimizer state beside it, and gives what the servers' parameters
 * give; both forms of files. */
static void models_run_alone(void **state)
{
    (void)state;
    for (int prefix = 0; prefix < 2; prefix++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "adam",
                             .schedule = true,
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 2,
                             .steps = 2,
                             .save = in_folder(prefix ? "m1" : "m0"),
                             .model = in_folder(prefix ? "prefix/net" : "model"),
                             .prefix = prefix};
        struct skiff_error err = {0};
        struct skiff_model *m;
        struct skiff_scope *scope = skiff_scope_create();
        struct skiff_executor *exe = skiff_executor_create(scope, NULL);
        struct skiff_tensor *out = NULL, *expected = NULL;
        struct skiff_feed feeds[MAX_FEEDS];
        struct local l;
        job_run(&c);
        if (skiff_load_inference_model(scope, c.model, NULL, &m, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(skiff_model_feeds(m), 1);
        assert_string_equal(skiff_model_feed(m, 0), "x");
        feeds_fill(feeds, &c, 0, 0, BATCH);
        const char *target = skiff_model_target(m, 0);
        assert_int_equal(
            skiff_executor_run(exe, skiff_model_program(m), feeds, 1, &target, 1, &out, &err),
            SKIFF_OK);
        local_open(&l, &c);
        assert_int_equal(
            skiff_load_persistables(l.scope, skiff_net_main(l.net.net), c.save, NULL, &err),
            SKIFF_OK);
        struct skiff_program *test;
        assert_int_equal(skiff_program_clone_for_test(skiff_net_main(l.net.net), &test, &err),
                         SKIFF_OK);
        target = skiff_var_name(l.net.predict);
        assert_int_equal(skiff_executor_run(l.exe, test, feeds, 2, &target, 1, &expected, &err),
                         SKIFF_OK);
        assert_memory_equal(skiff_tensor_data(out), skiff_tensor_data(expected), BATCH * 4);
        assert_int_equal(file_size(c.model, "fc_0.w_0_moment1_0"), -1);
        feeds_deinit(feeds);
        skiff_tensor_destroy(out);
        skiff_tensor_destroy(expected);
        skiff_executor_destroy(exe);
        skiff_model_destroy(m);
        skiff_scope_destroy(scope);
        local_close(&l);
        skiff_program_destroy(test);
    }
}

static const char *const modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) #name,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
};
enum { MODES = sizeof modes / sizeof modes[0] };

/* Every mode trains, ends, and saves what it has learnt: the loss of the first joint batch. */
static void every_mode(void **state)
{
    (void)state;
    for (int i = 0; i < MODES; i++) {
        enum skiff_split_mode mode;
        assert_true(skiff_mode_find(modes[i], &mode));
        bool means = skiff_mode_flags(mode) & (SKIFF_MODE_WAITS | SKIFF_MODE_ADDS);
        struct job_case c = {.mode = modes[i],
                             .optimizer = "sgd",
                             .schedule = true,
                             .rate = means ? 0.01 : 0.002, /* others add up what workers give */
                             .servers = 2,
                             .workers = 2,
                             .steps = STEPS,
                             .geo_steps = 3,
                             .save = in_folder(modes[i])};
        struct local l;
        job_run(&c);
        local_open(&l, &c);
        double before = local_step(&l, 0, 2 * BATCH);
        local_load(&l, c.save);
        double after = local_step(&l, 0, 2 * BATCH);
        local_close(&l);
        if (!(after < 0.5 * before))
            fail_msg("%s: the loss is %g with what was saved, at first %g", c.mode, after, before);
    }
}

/* With one worker nobody is in between: half-async and GEO are a local run. Half-async counts the
 * schedule's steps from 1 (it is Paddle's program). */
static void one_worker_is_a_local_run(void **state)
{
    (void)state;
    for (int geo = 0; geo < 2; geo++) {
        struct job_case c = {.mode = geo ? "geo" : "half_async",
                             .optimizer = "sgd",
                             .schedule = true,
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 1,
                             .steps = STEPS,
                             .geo_steps = geo ? 3 : 0,
                             .sparse = true,
                             .save = in_folder(geo ? "geo_alone" : "half_async_alone")};
        job_run(&c);
        job_equals_local(&c, NULL, geo ? 0 : 1, 2e-5);
    }
}

/* Optimizers of 2.x on servers. */
static void programs_of_2x(void **state)
{
    static const char *const optimizers[] = {"adamw", "adadelta"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = optimizers[i],
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 2,
                             .steps = STEPS,
                             .of_2x = true,
                             .save = in_folder(optimizers[i])};
        job_run(&c);
        job_equals_local(&c, NULL, 0, 1e-4);
    }
}

/* A fleet that is destroyed without stop_worker has not finished: the other worker, which waits for
 * it in a barrier, goes on at once. */
static void a_fleet_that_goes_is_lost(void **state)
{
    (void)state;
    for (int i = 0; i < MODES; i++) {
        struct job_case c = {.mode = modes[i],
                             .optimizer = "sgd",
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 2,
                             .steps = 3,
                             .drops = true};
        job_run(&c);
        assert_true(c.sums[0] == 1.0);
    }
}

/* Without a role there is one worker and nobody else; the same calls work. */
static void alone(void **state)
{
    struct job_case c = {.optimizer = "adam",
                         .schedule = true,
                         .rate = 0.01,
                         .steps = 3,
                         .save = in_folder("alone"),
                         .model = in_folder("alone_model")};
    struct skiff_error err = {0};
    struct case_net n;
    struct skiff_fleet *f = skiff_fleet_create();
    struct skiff_scope *scope = skiff_scope_create();
    (void)state;
    net_open(&n, &c);
    assert_int_equal(skiff_fleet_init_env(f, SKIFF_ROLE_ENV_AUTO, &err), SKIFF_OK);
    assert_true(skiff_fleet_is_first_worker(f) && skiff_fleet_server_num(f) == 0);
    assert_int_equal(skiff_fleet_minimize(f, n.opt, n.loss, NULL, NULL, &err), SKIFF_OK);
    assert_int_equal(work(&c, 0, f, &n, scope, &err), SKIFF_OK);
    assert_true(file_size(c.save, "fc_0.w_0_moment1_0") > 0);
    assert_true(file_size(c.model, "__model__") > 0);
    skiff_fleet_destroy(f);
    skiff_scope_destroy(scope);
    skiff_net_destroy(n.net);
}

/* Calls at the wrong time or in the wrong role say so. */
static void wrong_calls(void **state)
{
    const char *endpoints[] = {"127.0.0.1:6170"}, *files[] = {"a", "b", "c"}, *const * part;
    struct skiff_role worker = {SKIFF_WORKER, 1, 2, endpoints, 1, NULL, 0, {0}};
    struct skiff_role server = {SKIFF_SERVER, 0, 2, endpoints, 1, NULL, 0, {0}};
    struct skiff_error err;
    struct case_net n;
    double v = 0;
    int count;
    struct skiff_fleet *f = skiff_fleet_create();
    (void)state;
    net_open(&n, &(struct job_case){.optimizer = "sgd", .rate = 0.1});
#define CONTAINS(call, text)                                \
    do {                                                    \
        assert_true((call) < 0);                            \
        if (!strstr(err.message, text))                     \
            fail_msg("%s, expected %s", err.message, text); \
    } while (0)
    CONTAINS(skiff_fleet_minimize(f, n.opt, n.loss, NULL, NULL, &err), "call init first");
    CONTAINS(skiff_fleet_split_files(f, files, 3, &part, &count, &err), "call init first");
    assert_int_equal(skiff_fleet_init_user(f, &worker, &err), SKIFF_OK);
    assert_int_equal(skiff_fleet_split_files(f, files, 3, &part, &count, &err), SKIFF_OK);
    assert_int_equal(count, 1);
    assert_string_equal(part[0], "c");
    free((void *)part);
    CONTAINS(skiff_fleet_init_worker(f, NULL, &err), "minimize");
    CONTAINS(skiff_fleet_run_server(f, &err), "this process is worker 1");
    CONTAINS(skiff_fleet_all_reduce_double(f, "mean", &v, 1, &err), "sum, max or min");
    CONTAINS(skiff_fleet_barrier_worker(f, &err), "init_worker");
    CONTAINS(skiff_fleet_split(f, skiff_net_main(n.net), skiff_net_startup(n.net),
                               &(struct skiff_strategy){.mode = "fast"}, &err),
             "mode is 'fast'");
    CONTAINS(skiff_fleet_split(f, skiff_net_main(n.net), skiff_net_startup(n.net),
                               &(struct skiff_strategy){.reserved = {1}}, &err),
             "struct skiff_strategy: a reserved field is not zero");
    CONTAINS(skiff_fleet_split(f, skiff_net_main(n.net), skiff_net_startup(n.net),
                               &(struct skiff_strategy){.split_method = "Dice"}, &err),
             "split_method is Dice");
    assert_int_equal(skiff_fleet_init_user(f, &server, &err), SKIFF_OK);
    CONTAINS(skiff_fleet_init_server(f, NULL, &err), "minimize");
    CONTAINS(skiff_fleet_init_worker(f, NULL, &err), "this process is server 0");
    struct skiff_fleet *alone = skiff_fleet_create();
    assert_int_equal(skiff_fleet_init_env(alone, SKIFF_ROLE_ENV_AUTO, &err), SKIFF_OK);
    CONTAINS(skiff_fleet_split(alone, skiff_net_main(n.net), skiff_net_startup(n.net),
                               &(struct skiff_strategy){.mode = "fast"}, &err),
             "mode is 'fast'");
    skiff_fleet_destroy(alone);
    assert_int_equal(skiff_fleet_minimize(f, n.opt, n.loss, NULL, NULL, &err), SKIFF_OK);
    CONTAINS(skiff_fleet_init_server(f, "/nowhere/at/all", &err),
             "/nowhere/at/all: neither a folder");
    skiff_fleet_destroy(f);
    skiff_net_destroy(n.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(alone),
        cmocka_unit_test(sync_equals_local),
        cmocka_unit_test(running_is_enough),
        cmocka_unit_test(saved_files_are_whole),
        cmocka_unit_test(any_number_of_servers),
        cmocka_unit_test(every_form_loads),
        cmocka_unit_test(servers_do_not_matter),
        cmocka_unit_test(models_run_alone),
        cmocka_unit_test(every_mode),
        cmocka_unit_test(one_worker_is_a_local_run),
        cmocka_unit_test(programs_of_2x),
        cmocka_unit_test(a_fleet_that_goes_is_lost),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
