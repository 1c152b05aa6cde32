/* A worker that keeps its tables in a server of its own process. */
#include "fleet/fleet_fixture_test.h"

/* One worker without servers, from the programs to the last step. */
struct worker {
    struct case_net net;
    struct skiff_fleet *fleet;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
};

static void worker_open(struct worker *w, struct job_case *c, const struct skiff_strategy *strategy)
{
    struct skiff_error err;
    struct skiff_role role = {.role = SKIFF_WORKER, .worker_num = 1};
    w->fleet = skiff_fleet_create();
    w->scope = skiff_scope_create();
    w->exe = skiff_executor_create(w->scope, NULL);
    net_open(&w->net, c);
    assert_int_equal(skiff_fleet_init_user(w->fleet, &role, &err), SKIFF_OK);
    enum skiff_status status =
        skiff_fleet_minimize(w->fleet, w->net.opt, w->net.loss, strategy, NULL, &err);
    if (status < 0)
        fail_msg("%s", err.message);
    status = skiff_executor_run(w->exe, skiff_fleet_startup_program(w->fleet), NULL, 0, NULL, 0,
                                NULL, &err);
    if (status < 0)
        fail_msg("%s", err.message);
}

static void worker_close(struct worker *w)
{
    skiff_fleet_destroy(w->fleet);
    skiff_executor_destroy(w->exe);
    skiff_scope_destroy(w->scope);
    skiff_net_destroy(w->net.net);
}

/* The loss; ids are those of the fixture and `beyond`. */
static float worker_step(struct worker *w, struct job_case *c, int step, int64_t beyond)
{
    struct skiff_error err;
    struct skiff_feed feeds[MAX_FEEDS];
    struct skiff_tensor *loss = NULL;
    const char *fetch = skiff_var_name(w->net.loss);
    int n = feeds_fill(feeds, c, step, 0, BATCH);
    int64_t *ids = skiff_tensor_data((struct skiff_tensor *)feeds[2].tensor);
    for (int i = 0; i < BATCH; i++)
        ids[i] += beyond;
    if (skiff_executor_run(w->exe, skiff_fleet_main_program(w->fleet), feeds, n, &fetch, 1, &loss,
                           &err) < 0)
        fail_msg("%s", err.message);
    float value = ((float *)skiff_tensor_data(loss))[0];
    skiff_tensor_destroy(loss);
    feeds_deinit(feeds);
    return value;
}

static const struct job_case table_case = {.mode = "sync",
                                           .optimizer = "adam",
                                           .rate = 0.01,
                                           .of_2x = true,
                                           .steps = STEPS,
                                           .sparse = true,
                                           .distributed = true};

/* The same numbers as a job of one server and one worker has. */
static void equals_a_job(void **state)
{
    struct skiff_strategy strategy = {.keyed_tables = true};
    struct job_case c = table_case;
    struct worker w;
    c.servers = c.workers = 1;
    job_run(&c);
    worker_open(&w, &c, &strategy);
    for (int step = 0; step < STEPS; step++)
        assert_float_equal(worker_step(&w, &c, step, 0), c.losses[0][step], 0);
    worker_close(&w);
}

/* Rows of any id; what is saved goes on elsewhere, dense parameters and their states, too. */
static void sparse_table(void **state)
{
    struct skiff_table_settings fades = {.table = "embedding_0.w_0",
                                         .settings =
                                             "accessor.ctr_accessor_param.delete_threshold 0.8\n"};
    struct skiff_strategy strategy = {.mode = "async", .tables = &fades, .ntables = 1};
    struct skiff_table_state count;
    struct skiff_error err;
    struct job_case c = table_case;
    struct worker w, other;
    float last = 0;
    worker_open(&w, &c, &strategy);
    for (int step = 0; step < STEPS; step++)
        last = worker_step(&w, &c, step, INT64_MAX / 2);
    assert_int_equal(skiff_fleet_tables(w.fleet), 1);
    assert_int_equal(skiff_fleet_table_state(w.fleet, 0, &count, &err), SKIFF_OK);
    assert_int_equal(count.rows, STEPS * BATCH);
    char *text = skiff_metrics_text(
        &(struct skiff_metrics_sources){.program = skiff_fleet_main_program(w.fleet)});
    char rows[120];
    snprintf(rows, sizeof rows, "\nskiff_table_rows{table=\"embedding_0.w_0\",server=\"0\"} %d\n",
             STEPS * BATCH);
    assert_non_null(strstr(text, rows));
    assert_non_null(strstr(text, "\nskiff_session_rows_pulled_total{worker=\"0\"} "));
    free(text);
    assert_int_equal(skiff_fleet_save_model(w.fleet, in_folder("model"), 0, &err), SKIFF_OK);
    assert_true(file_size(in_folder("model"), "001/part-000.gz") > 0);
    worker_open(&other, &c, &strategy); /* two such workers in one process */
    if (skiff_fleet_load_model(other.fleet, in_folder("model"), 0, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(skiff_fleet_table_state(other.fleet, 0, &count, &err), SKIFF_OK);
    assert_int_equal(count.rows, STEPS * BATCH);
    float next = worker_step(&w, &c, 0, INT64_MAX / 2);
    assert_float_not_equal(next, last, 1e-3);
    assert_float_equal(worker_step(&other, &c, 0, INT64_MAX / 2), next, 2e-5);
    assert_int_equal(skiff_fleet_shrink(w.fleet, -1, &err), SKIFF_OK);
    assert_int_equal(skiff_fleet_table_state(w.fleet, 0, &count, &err), SKIFF_OK);
    assert_int_equal(count.rows, 0); /* one show each: below delete_threshold */
    worker_close(&w);
    worker_close(&other);
}

/* After stop_worker there is no table any more, as with servers. */
static void stopped(void **state)
{
    struct skiff_strategy strategy = {.keyed_tables = true};
    struct skiff_error err;
    struct job_case c = table_case;
    struct worker w;
    worker_open(&w, &c, &strategy);
    worker_step(&w, &c, 0, 0);
    assert_int_equal(skiff_fleet_stop_worker(w.fleet, &err), SKIFF_OK);
    struct skiff_feed feeds[MAX_FEEDS];
    int n = feeds_fill(feeds, &c, 0, 0, BATCH);
    assert_int_equal(
        skiff_executor_run(w.exe, skiff_fleet_main_program(w.fleet), feeds, n, NULL, 0, NULL, &err),
        SKIFF_STATE);
    assert_non_null(strstr(err.message, "worker 0 has left the job (stop_worker, close)"));
    feeds_deinit(feeds);
    worker_close(&w);
}

/* Without the wish, and for programs without such tables, nothing is split. */
static void others_stay(void **state)
{
    struct skiff_strategy wish = {.keyed_tables = true}, none = {0};
    struct job_case c = table_case;
    struct worker w;
    worker_open(&w, &c, &none);
    assert_int_equal(skiff_program_waits(skiff_fleet_main_program(w.fleet)), SKIFF_WAIT_NONE);
    assert_false(skiff_fleet_is_working(w.fleet));
    worker_close(&w);
    c.distributed = false;
    worker_open(&w, &c, &wish);
    assert_false(skiff_fleet_is_working(w.fleet));
    worker_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_a_job),
                                       cmocka_unit_test(sparse_table), cmocka_unit_test(stopped),
                                       cmocka_unit_test(others_stay)};
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
