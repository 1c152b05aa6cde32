/* Jobs with a sparse table, servers and workers as threads of this process: what is trained is
 * what a plain computation gives, pushes wait for a flush, saves and loads are each other's
 * opposite. The numbers of Paddle itself: tests/conformance/table_paddle_test.c (rules, files). */
#include "fleet/fleet_tables_fixture_test.h"

/* ---- async: pushes of a worker are one until it flushes ---- */

#define MERGED 5

static void merged_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                        struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    struct skiff_table_state state;
    int64_t ids[SAMPLES];
    assert_int_equal(skiff_fleet_tables(f), 1);
    assert_string_equal(skiff_fleet_table_name(f, 0), "emb");
    assert_null(skiff_fleet_table_name(f, 1));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MERGED; i++) {
            ids_of(i, worker, false, ids);
            step(exe, skiff_fleet_main_program(f), ids, i, worker);
        }
        pthread_barrier_wait(&j->meet);
        or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
        assert_int_equal(state.rows, round ? 12 : 0); /* nothing has gone out yet */
        pthread_barrier_wait(&j->meet);
        or_die(skiff_fleet_flush(f, &err), &err);
        pthread_barrier_wait(&j->meet);
    }
    or_die(skiff_fleet_save_model(f, in_folder("merged"), 0, &err), &err);
    pthread_barrier_wait(&j->meet);
}

static void async_merges_until_a_flush(void **state)
{
    struct table_job j = {
        .mode = "async", .optimizer = "sgd", .servers = 2, .workers = 2, .work = merged_work};
    struct plain want = {0}, got = {0};
    (void)state;
    table_job_run(&j);
    for (int worker = 0; worker < 2; worker++)
        for (int round = 0; round < 2; round++) {
            struct plain sum = {0}; /* gradients, by id */
            for (int i = 0; i < MERGED; i++) {
                int64_t ids[SAMPLES];
                ids_of(i, worker, false, ids);
                for (int k = 0; k < SAMPLES; k++) {
                    struct plain_row *r = sum.rows;
                    while (r < sum.rows + sum.n && r->id != ids[k])
                        r++;
                    sum.n += r == sum.rows + sum.n;
                    r->id = ids[k];
                    r->show++;
                    for (int d = 0; d < DIM; d++)
                        r->w[d] += grad_of(i, worker, k, d);
                }
            }
            for (int i = 0; i < sum.n; i++)
                plain_push(&want, sum.rows[i].id, sum.rows[i].show, sum.rows[i].w);
        }
    saved_rows(in_folder("merged"), &got);
    same_rows(&want, &got);
    assert_true(file_size(in_folder("merged"), "000/part-000-00001.gz") > 0);
    assert_true(file_size(in_folder("merged"), "000/part-001-00002.gz") > 0);
    assert_true(file_size(in_folder("merged"), "001/part-001.gz") > 0);
}

/* ---- sync: each push of a step, in the order of the trainers ---- */

#define SYNC_STEPS 6

static void sync_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                      struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    int64_t ids[SAMPLES];
    for (int i = 0; i < SYNC_STEPS; i++) {
        ids_of(i, worker, !j->apart, ids);
        step(exe, skiff_fleet_main_program(f), ids, i, worker);
    }
    or_die(skiff_fleet_barrier_worker(f, &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("sync"), 0, &err), &err);
    or_die(skiff_fleet_barrier_worker(f, &err), &err);
}

static void steps_push_as_they_are(const char *mode, bool apart)
{
    struct table_job j = {.mode = mode,
                          .optimizer = "sgd",
                          .servers = 2,
                          .workers = 2,
                          .work = sync_work,
                          .apart = apart};
    struct plain want = {0}, got = {0};
    table_job_run(&j);
    for (int i = 0; i < SYNC_STEPS; i++)
        for (int worker = 0; worker < 2; worker++) {
            int64_t ids[SAMPLES];
            ids_of(i, worker, !apart, ids);
            for (int k = 0; k < SAMPLES; k++) {
                float g[DIM];
                for (int d = 0; d < DIM; d++)
                    g[d] = grad_of(i, worker, k, d);
                plain_push(&want, ids[k], 1, g);
            }
        }
    saved_rows(in_folder("sync"), &got);
    same_rows(&want, &got);
}

static void sync_pushes_in_order(void **state)
{
    (void)state;
    steps_push_as_they_are("sync", false);
}

static void half_async_pushes(void **state)
{
    (void)state;
    steps_push_as_they_are("half_async", true);
}

/* ---- saves and loads ---- */

static void request_batch_work(struct table_job *j, struct skiff_fleet *f,
                               struct skiff_executor *exe, struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    struct skiff_table_state state;
    const struct skiff_program *main = skiff_fleet_main_program(f);
    static const int64_t ids[SAMPLES] = {7, -9};
    for (int i = 0; i < 3; i++) {
        step(exe, main, ids, i, 0);
        or_die(skiff_fleet_flush(f, &err), &err);
    }
    or_die(skiff_fleet_save_model(f, in_folder("first"), 0, &err), &err);
    step(exe, main, ids, 9, 0);
    or_die(skiff_fleet_save_model(f, in_folder("second"), 0, &err), &err); /* flushes by itself */
    or_die(skiff_fleet_load_model(f, in_folder("first"), 0, &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("third"), 0, &err), &err);
    for (int t = 0; t < 2; t++)
        or_die(skiff_fleet_load_table(f, t, in_folder("second"), 0, &err), &err);
    or_die(skiff_fleet_save_table(f, 0, in_folder("fourth"), 0, &err), &err);
    or_die(skiff_fleet_save_table(f, 1, in_folder("fourth"), 0, &err), &err);
    or_die(skiff_fleet_save_table(f, 0, in_folder("base"), 2, &err), &err);
    or_die(skiff_fleet_shrink(f, -1, &err), &err);
    or_die(skiff_fleet_table_state(f, 0, &state, &err), &err);
    assert_int_equal(state.rows, 2);
    or_die(skiff_fleet_pull_dense(f, scope, &err), &err);
}

static void save_and_load(void **state)
{
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 2,
                          .workers = 1,
                          .work = request_batch_work};
    (void)state;
    table_job_run(&j);
    assert_false(same_text(in_folder("first"), in_folder("second"), "000"));
    assert_false(same_text(in_folder("first"), in_folder("second"), "001"));
    assert_true(same_text(in_folder("first"), in_folder("third"), "000"));
    assert_true(same_text(in_folder("first"), in_folder("third"), "001"));
    assert_true(same_text(in_folder("second"), in_folder("fourth"), "000"));
    assert_true(same_text(in_folder("second"), in_folder("fourth"), "001"));
}

/* ---- a save of several tables that fails has changed none of them ---- */

static void retry_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                       struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    static const int64_t ids[SAMPLES] = {7, -9};
    step(exe, skiff_fleet_main_program(f), ids, 0, 0);
    shell("touch %s", in_folder("full"));
    shell("mkdir -p %s/.002.skiff-save-0/rest", in_folder("delta")); /* of a killed process */
    reported(skiff_fleet_save_model(f, in_folder("delta"), 1, &err), &err, "save of table emb2");
    reported(skiff_fleet_save_table(f, -1, in_folder("delta"), 1, &err), &err,
             "save of table emb2");
    shell("test -z \"$(ls -A %s)\"", in_folder("delta")); /* no table's, nor a stale file */
    shell("rm %s", in_folder("full"));
    or_die(skiff_fleet_save_model(f, in_folder("delta"), 1, &err), &err);
}

/* The second table's converter fails while there is a file "full"; the rows of the first are in the
 * delta of the second try: its counters of changes were not reset by the first. */
static void failed_saves_can_be_tried_again(void **state)
{
    char second[2048];
    snprintf(second, sizeof(second),
             "%saccessor.ctr_accessor_param.base_threshold 0\n"
             "accessor.ctr_accessor_param.delta_threshold 0.01\n"
             "accessor.table_accessor_save_param.0.param 1\n"
             "accessor.table_accessor_save_param.0.converter test ! -e %s && cat\n",
             settings, in_folder("full"));
    char first[1024];
    snprintf(first, sizeof(first),
             "%saccessor.ctr_accessor_param.base_threshold 0\n"
             "accessor.ctr_accessor_param.delta_threshold 0.01\n",
             settings);
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 2,
                          .workers = 1,
                          .work = retry_work,
                          .settings = first,
                          .second = second};
    struct plain delta = {0};
    (void)state;
    table_job_run(&j);
    assert_int_equal(saved_rows(in_folder("delta"), &delta), 2);
    shell("test \"$(ls -A %s | tr '\\n' ' ')\" = '000 001 002 '", in_folder("delta"));
}

/* ---- save_persistables keeps all of every record ---- */

static void keep_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                      struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    int64_t ids[SAMPLES];
    for (int i = 0; i < 8; i++) {
        ids_of(i, 0, true, ids);
        step(exe, skiff_fleet_main_program(f), ids, i, 0);
        or_die(skiff_fleet_flush(f, &err), &err);
    }
    or_die(skiff_fleet_save_persistables(f, scope, in_folder("kept"), &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("before"), 0, &err), &err);
}

static void kept_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                      struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    or_die(skiff_fleet_save_model(f, in_folder("after"), 0, &err), &err);
}

/* With another number of servers, too. */
static void persistables_come_back(void **state)
{
    struct table_job keep = {
        .mode = "async", .optimizer = "adam", .servers = 2, .workers = 1, .work = keep_work};
    (void)state;
    table_job_run(&keep);
    struct table_job kept = {.mode = "async",
                             .optimizer = "adam",
                             .servers = 1,
                             .workers = 1,
                             .work = kept_work,
                             .load = in_folder("kept")};
    table_job_run(&kept);
    struct plain before = {0}, after = {0};
    assert_true(saved_rows(in_folder("before"), &before) > 4);
    saved_rows(in_folder("after"), &after);
    same_rows(&before, &after);
    assert_true(same_text(in_folder("before"), in_folder("after"), "001"));
}

/* ---- adam_d2sum: numbers of Paddle 2.6.2 ---- */

static void d2sum_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                       struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    static const int64_t ids[SAMPLES] = {7, -9};
    for (int i = 0; i < 3; i++) {
        step(exe, skiff_fleet_main_program(f), ids, i, 0);
        or_die(skiff_fleet_flush(f, &err), &err);
    }
    or_die(skiff_fleet_save_model(f, in_folder("d2sum"), 0, &err), &err);
    or_die(skiff_fleet_load_model(f, in_folder("d2sum"), 0, &err), &err);
    or_die(skiff_fleet_save_model(f, in_folder("d2sum_again"), 0, &err), &err);
}

static void dense_d2sum(void **state)
{
    struct table_job j = {.mode = "async",
                          .optimizer = "adam",
                          .servers = 1,
                          .workers = 1,
                          .work = d2sum_work,
                          .adam_d2sum = true};
    (void)state;
    table_job_run(&j);
    char command[300], lines[2][200] = {"", ""};
    snprintf(command, sizeof(command), "zcat %s/001/part-000.gz", in_folder("d2sum"));
    FILE *in = popen(command, "r");
    for (int i = 0; i < 2; i++)
        assert_non_null(fgets(lines[i], sizeof(lines[i]), in));
    pclose(in);
    double w = 1, d2 = 0, g2 = 0, mom = 0, want[2][5];
    for (int k = 0; k < 2; k++) {
        double g = k ? -2 : 1;
        w = 1;
        d2 = g2 = mom = 0;
        for (int i = 0; i < 3; i++) {
            d2 = d2 * 0.9999 + 1;
            g2 = g2 * 0.9999 + g * g;
            mom = (mom + g) * 0.99 - g;
            w += 0.1 * mom * sqrt((d2 + d2 * 1e-8) / (g2 + d2 * 1e-8));
        }
        want[k][0] = w, want[k][1] = 0, want[k][2] = d2, want[k][3] = g2, want[k][4] = mom;
        double got[5] = {9, 9, 9, 9, 9};
        assert_int_equal(
            sscanf(lines[k], "%lf %lf %lf %lf %lf", &got[0], &got[1], &got[2], &got[3], &got[4]),
            5);
        for (int c = 0; c < 5; c++)
            if (fabs(got[c] - want[k][c]) > 2e-5)
                fail_msg("element %d, column %d: %g, expected %g", k, c, got[c], want[k][c]);
    }
    assert_true(same_text(in_folder("d2sum"), in_folder("d2sum_again"), "001"));
}

/* ---- refusals ---- */

static void refused_work(struct table_job *j, struct skiff_fleet *f, struct skiff_executor *exe,
                         struct skiff_scope *scope, int worker)
{
    struct skiff_error err = {0};
    reported(skiff_fleet_save_table(f, 2, in_folder("x"), 0, &err), &err,
             "save_table: there is no table 2; sparse tables are 0 to 0, dense parameters the "
             "next number");
    reported(skiff_fleet_shrink(f, 1, &err), &err, "shrink: there is no table 1");
    reported(skiff_fleet_save_model(f, in_folder("x"), -1, &err), &err,
             "mode is -1; expected 0 (all)");
    reported(skiff_fleet_save_model(f, "", 0, &err), &err, "has no name");
    reported(skiff_fleet_load_table(f, 1, in_folder("none"), 0, &err), &err,
             "expected the files of dense parameters");
    char command[300];
    snprintf(command, sizeof(command), "mkdir -p %s/bad/001 && echo 1 2 3 4 > %s/bad/001/part-000",
             folder, folder);
    assert_int_equal(system(command), 0);
    reported(skiff_fleet_load_table(f, 1, in_folder("bad"), 0, &err), &err,
             "line 1: 4 numbers for an element of w; expected 3");
    snprintf(command, sizeof(command), "echo 1 > %s/bad/001/part-000", folder);
    assert_int_equal(system(command), 0);
    reported(skiff_fleet_load_table(f, 1, in_folder("bad"), 0, &err), &err,
             "1 files have 1 elements; the program's dense parameters have 2");
    snprintf(command, sizeof(command), "printf '1\\n2\\n3\\n' > %s/bad/001/part-000", folder);
    assert_int_equal(system(command), 0);
    reported(skiff_fleet_load_table(f, 1, in_folder("bad"), 0, &err), &err,
             "line 3: the program has only 2 elements");
}

static void wrong_calls(void **state)
{
    struct table_job j = {
        .mode = "async", .optimizer = "adam", .servers = 1, .workers = 1, .work = refused_work};
    struct skiff_error err = {0};
    (void)state;
    table_job_run(&j);
    struct skiff_fleet *f = skiff_fleet_create();
    reported(skiff_fleet_flush(f, &err), &err, "init");
    reported(skiff_fleet_save_model(f, "x", 0, &err), &err, "init");
    assert_int_equal(skiff_fleet_tables(f), 0);
    skiff_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(async_merges_until_a_flush),
        cmocka_unit_test(sync_pushes_in_order),
        cmocka_unit_test(half_async_pushes),
        cmocka_unit_test(save_and_load),
        cmocka_unit_test(failed_saves_can_be_tried_again),
        cmocka_unit_test(persistables_come_back),
        cmocka_unit_test(dense_d2sum),
        cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
