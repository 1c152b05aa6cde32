/* What Paddle 1.8.5 does wrong in distributed training, done right: one test for each such place
 * that shows in a job. Those of roles and files are in role_test.c and fleet_test.c, those of
 * processes in tests/cluster. */
#include "fleet/fleet_fixture_test.h"

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
        job_run(&c);
        job_equals_local(&c, NULL, 0, 1e-5);
    }
}

/* The bare transpiler with a schedule that counts its steps: sync with two trainers, and async with
 * one, for which nobody is in between, give what a local run gives. In async every trainer's
 * counter starts at 1 (it is Paddle's program), so the schedule is that much ahead. */
static void bare_jobs(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool sync = i & 1, cut = i & 2;
        struct job_case c = {.mode = sync ? "sync" : "async",
                             .optimizer = "adam",
                             .rate = 0.01,
                             .servers = cut ? 2 : 1,
                             .workers = sync ? 2 : 1,
                             .steps = STEPS,
                             .bare = true,
                             .schedule = true,
                             .sparse = !cut};
        const char *start = cut ? in_folder(sync ? "start_sync" : "start_async") : NULL;
        if (start)
            job_start(&c, start);
        job_run(&c);
        job_equals_local(&c, start, sync ? 0 : 1, 1e-4);
    }
}

/* transpile(sync_mode=False) with a config that says sync: both trainers of 1.8.5 hang. Here nobody
 * waits, as was said to transpile, and the job learns. */
static void bare_half_configured(void **state)
{
    struct job_case c = {.mode = "sync",
                         .optimizer = "sgd",
                         .rate = 0.002,
                         .servers = 1,
                         .workers = 2,
                         .steps = STEPS,
                         .bare = true,
                         .half_configured = true};
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

/* is_distributed: 1.8.5 cannot transpile it. Rows are made when first touched; from there on they
 * are trained as a local table is. */
static void distributed_table(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 2; servers++) {
        struct job_case c = {.mode = "sync",
                             .optimizer = "sgd",
                             .rate = 0.01,
                             .servers = servers,
                             .workers = servers,
                             .steps = STEPS,
                             .sparse = true,
                             .distributed = true,
                             .save = in_folder(servers == 1 ? "table1" : "table2")};
        const char *start = in_folder(servers == 1 ? "rows1" : "rows2");
        job_start(&c, start);
        job_run(&c);
        job_equals_local(&c, start, 0, 1e-5);
        assert_false(same_file(start, c.save, "embedding_0.w_0"));
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

/* DC-ASGD: 1.8.5's server dies. One trainer is never late, so nothing is compensated and it gives
 * what a local run gives (how delays count: server_modes_test.c); two learn. */
static void dc_asgd(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct job_case c = {.mode = "async",
                             .optimizer = "sgd",
                             .rate = 0.002,
                             .servers = cut ? 2 : 1,
                             .workers = 1,
                             .steps = STEPS,
                             .dc_asgd = true,
                             .sparse = !cut,
                             .bare = true};
        const char *start = cut ? in_folder("start_dc") : NULL;
        if (start)
            job_start(&c, start);
        job_run(&c);
        job_equals_local(&c, start, 0, 1e-5);
        double first = c.losses[0][0];
        c.workers = 2;
        job_run(&c);
        for (int k = 0; k < 2; k++)
            if (!(c.losses[k][STEPS - 1] < 0.25 * first))
                fail_msg("trainer %d: the loss is still %g, at first %g", k, c.losses[k][STEPS - 1],
                         first);
    }
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

/* A trainer with fewer batches: the others go on, with steps of their own batches only, and all
 * meet at the end. */
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
    struct local l;
    local_open(&l, &c);
    for (int step = 0; step < STEPS; step++) {
        int workers = step < STEPS - c.fewer ? 2 : 1;
        loss_equals(&c, workers, step, local_step(&l, step, workers * BATCH), 1e-5);
    }
    saved_equals(&c, &l, 2e-5);
    local_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_sync_one_trainer),
        cmocka_unit_test(bare_jobs),
        cmocka_unit_test(bare_half_configured),
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
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
