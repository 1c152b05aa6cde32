/* What Paddle 1.8.5 does wrong in distributed training, done right: one test for each such place
 * that shows in a job. Those of roles and files are in role_test.c and fleet_test.c, those of
 * processes in tests/cluster. */
#include "fleet/fleet_kit_test.h"

/* Bare transpiler, sync, one trainer: 1.8.5's server dies at the first step. */
static void bare_sync_one_trainer(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "sgd",
                             .rate = 0.05,
                             .servers = 1,
                             .workers = 1,
                             .steps = STEPS,
                             .bare = true,
                             .sparse = sparse};
        struct local l;
        job_run(&c);
        local_open(&l, &c);
        local_train(&l, STEPS - 1, BATCH); /* the last loss is that of the last step */
        struct skiff_feed feeds[MAX_FEEDS];
        struct skiff_tensor *loss = NULL;
        struct skiff_error err = {0};
        const char *fetch = skiff_var_name(l.net.loss);
        int n = feeds_fill(feeds, &c, STEPS - 1, 0, BATCH);
        assert_int_equal(
            skiff_executor_run(l.exe, skiff_net_main(l.net.net), feeds, n, &fetch, 1, &loss, &err),
            SKIFF_OK);
        double local = (double)((float *)skiff_tensor_data(loss))[0];
        if (fabs(local - c.losses[0][STEPS - 1]) > 1e-5 * fabs(local))
            fail_msg("loss %g, locally %g", c.losses[0][STEPS - 1], local);
        feeds_free(feeds);
        skiff_tensor_destroy(loss);
        local_close(&l);
    }
}

/* Two trainers and servers of the bare transpiler, sync and async; a schedule counts its steps. */
static void bare_jobs(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct job_case c = {.mode = sync ? "sync" : "async",
                             .optimizer = "adam",
                             .rate = 0.01,
                             .servers = 2,
                             .workers = 2,
                             .steps = STEPS,
                             .bare = true,
                             .schedule = true,
                             .sparse = true};
        job_run(&c);
        for (int k = 0; k < STEPS; k++)
            assert_true(isfinite(c.losses[0][k]) && isfinite(c.losses[1][k]));
        assert_true(c.losses[0][STEPS - 1] != c.losses[0][0]);
    }
}

/* transpile(sync_mode=False) with a config that says sync: both trainers of 1.8.5 hang. Here nobody
 * waits, as was said to transpile, and the job learns. */
static void bare_half_told(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "sgd",
                         .rate = 0.002,
                         .servers = 1,
                         .workers = 2,
                         .steps = STEPS,
                         .bare = true,
                         .half_told = true};
    (void)state;
    job_run(&c);
    /* whoever comes first sees the first parameters; nobody sees them at the end */
    assert_true(fmax(c.losses[0][STEPS - 1], c.losses[1][STEPS - 1]) <
                0.8 * fmax(c.losses[0][0], c.losses[1][0]));
}

/* A schedule in fleet's sync mode with two trainers: 1.8.5's counter never moves. */
static void schedule_moves(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "sgd",
                         .rate = 0.02,
                         .servers = 2,
                         .workers = 2,
                         .steps = STEPS,
                         .schedule = true,
                         .save = in_folder("schedule")};
    (void)state;
    job_run(&c);
    saved_equals_local(&c, 2 * BATCH, 2e-5);
}

/* The optimizer's grad_clip: 1.8.5 computes it nowhere. It clips each trainer's gradients. */
static void clip_of_the_optimizer(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 2; servers++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "sgd",
                             .rate = 0.5,
                             .servers = servers,
                             .workers = 1,
                             .steps = STEPS,
                             .clip = 0.1,
                             .sparse = true,
                             .save = in_folder(servers == 1 ? "clip1" : "clip2")};
        job_run(&c);
        saved_equals_local(&c, BATCH, 2e-5);
    }
}

/* is_distributed: 1.8.5 cannot transpile it. */
static void distributed_table(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 2; servers++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "sgd",
                             .rate = 0.2,
                             .servers = servers,
                             .workers = 1,
                             .steps = STEPS,
                             .sparse = true,
                             .distributed = true,
                             .save = in_folder(servers == 1 ? "table1" : "table2")};
        job_run(&c);
        assert_true(file_size(c.save, "embedding_0.w_0") > ROWS * 8 * 4);
        for (int k = 0; k < STEPS; k++)
            assert_true(isfinite(c.losses[0][k]));
    }
}

/* HashName: 1.8.5 raises TypeError. */
static void hash_name(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "adam",
                         .rate = 0.01,
                         .servers = 3,
                         .workers = 2,
                         .steps = STEPS,
                         .split_method = "HashName",
                         .sparse = true,
                         .save = in_folder("hash")};
    (void)state;
    job_run(&c);
    saved_equals_local(&c, 2 * BATCH, 2e-4);
}

/* DC-ASGD: 1.8.5's server dies. */
static void dc_asgd(void **state)
{
    struct job_case c = {.mode = "async",
                         .optimizer = "sgd",
                         .rate = 0.01,
                         .servers = 2,
                         .workers = 2,
                         .steps = STEPS,
                         .dc_asgd = true,
                         .sparse = true,
                         .bare = true};
    (void)state;
    job_run(&c);
    for (int k = 0; k < STEPS; k++)
        assert_true(isfinite(c.losses[0][k]) && isfinite(c.losses[1][k]));
}

/* GEO without a sparse table: in 1.8.5 nothing is ever exchanged. With one trainer the servers have
 * at the end what the trainer has, and that is what a local run gives. */
static void geo_exchanges_dense(void **state)
{
    struct job_case c = {.mode = "geo",
                         .optimizer = "sgd",
                         .rate = 0.05,
                         .servers = 2,
                         .workers = 1,
                         .steps = STEPS,
                         .geo_steps = 2,
                         .save = in_folder("geo_dense")};
    (void)state;
    job_run(&c);
    saved_equals_local(&c, BATCH, 2e-5);
}

/* GEO, several ids in a batch: 1.8.5 exchanges the first half of them. */
static void geo_exchanges_all_ids(void **state)
{
    struct job_case c = {.mode = "geo",
                         .optimizer = "sgd",
                         .rate = 0.05,
                         .servers = 2,
                         .workers = 1,
                         .steps = STEPS,
                         .geo_steps = 3,
                         .sparse = true,
                         .save = in_folder("geo_sparse")};
    (void)state;
    job_run(&c);
    saved_equals_local(&c, BATCH, 2e-5);
}

/* Sparse Adam that is not lazy: in 1.8.5 rows may get an old gradient a second time. */
static void sparse_adam(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 2; workers++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "adam",
                             .rate = 0.01,
                             .servers = 2,
                             .workers = workers,
                             .steps = STEPS,
                             .sparse = true,
                             .save = in_folder(workers == 1 ? "adam1" : "adam2")};
        job_run(&c);
        saved_equals_local(&c, workers * BATCH, 2e-4);
    }
}

/* Adadelta: its op has no learning rate, so 1.8.5 gives the servers empty blocks. */
static void adadelta(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "adadelta",
                         .rate = 1,
                         .servers = 2,
                         .workers = 2,
                         .steps = STEPS,
                         .save = in_folder("adadelta")};
    (void)state;
    job_run(&c);
    saved_equals_local(&c, 2 * BATCH, 2e-5);
}

/* A trainer with fewer batches: the others go on, and all meet at the end. */
static void fewer_batches(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "sgd",
                         .rate = 0.01,
                         .servers = 2,
                         .workers = 2,
                         .steps = STEPS,
                         .fewer = 3,
                         .save = in_folder("fewer")};
    (void)state;
    job_run(&c);
    assert_true(c.sums[0] == 3 && c.sums[1] == 3);
    assert_true(c.losses[0][STEPS - 1] != 0 && c.losses[1][STEPS - 1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_sync_one_trainer),
        cmocka_unit_test(bare_jobs),
        cmocka_unit_test(bare_half_told),
        cmocka_unit_test(schedule_moves),
        cmocka_unit_test(clip_of_the_optimizer),
        cmocka_unit_test(distributed_table),
        cmocka_unit_test(hash_name),
        cmocka_unit_test(dc_asgd),
        cmocka_unit_test(geo_exchanges_dense),
        cmocka_unit_test(geo_exchanges_all_ids),
        cmocka_unit_test(sparse_adam),
        cmocka_unit_test(adadelta),
        cmocka_unit_test(fewer_batches),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
