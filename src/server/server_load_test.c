/* init_server(dir): any number of servers load their parts of a model that one process has
 * saved. */
#include "io/io.h"
#include "server/server_fixture_test.h"
#include "store/file.h"
#include "store/tensor_file.h"

static char dir[] = "/tmp/skiff_server_XXXXXX";

/* A plausible model of an adam job: every persistable number is synthetic. */
static struct skiff_scope *make_model(const struct server_fixture *k)
{
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    struct skiff_error err;
    struct io_vars vars;
    assert_ok(executor_run(e, skiff_net_startup(k->net), NULL, 0, NULL, 0, NULL, &err), err);
    executor_destroy(e);
    io_vars_list(skiff_net_main(k->net), IO_PERSISTABLES, &vars);
    for (int i = 0; i < vars.n; i++) {
        struct tensor *t = &scope_find(scope, vars.v[i]->name)->tensor;
        for (int64_t j = 0; t->dtype == DTYPE_FP32 && j < tensor_numel(t); j++)
            tensor_f32(t)[j] = made_up((uint64_t)i, 77, (uint64_t)j);
    }
    io_vars_deinit(&vars);
    return scope;
}

static struct fixture_options load_options(int servers, const char *from)
{
    return (struct fixture_options){.servers = servers,
                                    .trainers = 1,
                                    .optimizer = "adam",
                                    .load = from,
                                    .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
}

static void path_of(char out[static 128], const char *name)
{
    snprintf(out, 128, "%s/%s", dir, name);
}

/* Every slice of the placement, accumulators too, is the right part of the model's variable. */
static void check_slices(struct server_fixture *k, struct session *s, struct skiff_scope *model,
                         const char *fresh)
{
    int n = split_plan(k->split)->nplacement;
    const struct skiff_placement *p = split_plan(k->split)->placement;
    struct skiff_tensor v = {0};
    struct skiff_error err;
    for (int i = 0; i < n; i++) {
        assert_ok(session_pull_part(s, p[i].server, p[i].slice, 0, p[i].dims[0], &v, &err), err);
        const struct tensor *whole = &scope_find(model, p[i].origin)->tensor;
        struct shape shape = placement_shape(&p[i]);
        assert_true(shape_equal(&v.tensor.shape, &shape));
        if (fresh && !strcmp(p[i].origin, fresh))
            for (int64_t j = 0; j < tensor_numel(&v.tensor); j++)
                assert_true(tensor_f32(&v.tensor)[j] == 0);
        else
            assert_memory_equal(v.tensor.data, tensor_f32(whole) + p[i].offset,
                                tensor_bytes(&v.tensor));
    }
    value_deinit(&v);
}

static void load_and_check(int servers, const char *from, struct skiff_scope *model,
                           const char *fresh, const char *output)
{
    struct server_fixture k;
    struct fixture_options o = load_options(servers, from);
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0);
    check_slices(&k, s, model, fresh);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    if (output && !strstr(k.output, output))
        fail_msg("not said: %s\n%s", output, k.output);
    fixture_close(&k);
}

static enum skiff_status try_load(int servers, const char *from, struct skiff_error *err)
{
    struct server_fixture k;
    struct fixture_options o = load_options(servers, NULL);
    o.open_only = true;
    fixture_open(&k, &o);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < servers && status == SKIFF_OK; i++)
        status = server_load(k.server[i], from, err);
    fixture_close(&k);
    return status;
}

static void any_number_of_servers_loads(void **state)
{
    struct server_fixture k;
    struct fixture_options o = load_options(1, NULL);
    struct skiff_error err;
    char prefix[128], path[128];
    o.open_only = true;
    fixture_open(&k, &o);
    struct skiff_scope *model = make_model(&k);
    const struct skiff_program *main = skiff_net_main(k.net);
    assert_ok(io_save_group(model, main, IO_PERSISTABLES, dir, NULL, &err), err);
    path_of(prefix, "pickled/model"); /* in the same folder it would win */
    assert_ok(io_save(model, main, prefix, &err), err);
    load_and_check(1, dir, model, NULL, NULL);
    load_and_check(2, dir, model, NULL, NULL);
    load_and_check(5, dir, model, NULL, NULL);
    load_and_check(3, prefix, model, NULL, NULL);

    /* files that a manifest lists must be unchanged */
    path_of(path, "w_moment1_0");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(try_load(2, dir, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "w_moment1_0"));
    assert_non_null(strstr(err.message, "__skiff_manifest__"));
    path_of(path, "pickled/model.pdopt");
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(try_load(2, prefix, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "model.pdopt"));
    path_of(path, "__skiff_manifest__");
    assert_int_equal(unlink(path), 0);

    /* a missing accumulator keeps its initial value; a missing or misshapen parameter is an
     * error */
    load_and_check(2, dir, model, "w_moment1_0", "1 variables of the optimizer are missing");

    struct skiff_tensor wrong = {0};
    struct shape shape = SHAPE(EMB_WIDTH, FC_WIDTH + 1);
    value_as_tensor(&wrong, DTYPE_FP32, &shape, NULL);
    memset(wrong.tensor.data, 0, tensor_bytes(&wrong.tensor));
    path_of(path, "w");
    assert_ok(value_file_write(path, &wrong, &err), err);
    value_deinit(&wrong);
    assert_int_equal(try_load(2, dir, &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "/w: variable w is [30, 1501] in the file, [30, 1500]"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(try_load(2, dir, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "/w: there is no parameter w (for slice w.block"));
    assert_int_equal(try_load(1, "/no/such/model", &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "/no/such/model: neither a folder"));
    scope_destroy(model);
    fixture_close(&k);
}

/* ---- all in one file ---- */

static void put_tensor(const char *name, struct shape shape, enum dtype dtype, bool more)
{
    struct skiff_tensor v = {0};
    struct buf b = BUF_INIT, old = BUF_INIT;
    char path[128];
    struct skiff_error err;
    path_of(path, name);
    value_as_tensor(&v, dtype, &shape, NULL);
    memset(v.tensor.data, 0, tensor_bytes(&v.tensor));
    if (more)
        assert_ok(file_read(path, &old, &err), err);
    buf_add(&b, old.data, old.len);
    tensor_encode(&v.tensor, &b);
    assert_ok(file_write(path, b.data, b.len, &err), err);
    value_deinit(&v);
    buf_deinit(&b);
    buf_deinit(&old);
}

static void refused(const char *from, enum skiff_status status, const char *text)
{
    struct skiff_error err;
    assert_int_equal(try_load(2, from, &err), status);
    if (!strstr(err.message, text))
        fail_msg("%s\nexpected: %s", err.message, text);
}

/* Persistables in the order of the program, as in old or hand-written files. A damaged file, one
 * that fits nothing, and one whose tensors have other shapes or types give errors that say so. */
static void one_file_of_all(void **state)
{
    struct server_fixture k;
    struct fixture_options o = load_options(1, NULL);
    struct skiff_error err;
    struct io_vars vars;
    const struct tensor *tensors[64];
    char folder[128], path[160];
    o.open_only = true;
    fixture_open(&k, &o);
    struct skiff_scope *model = make_model(&k);
    const struct skiff_program *main = skiff_net_main(k.net);
    path_of(folder, "one");
    assert_ok(io_save_group(model, main, IO_PERSISTABLES, folder, "all", &err), err);
    for (int n = 1; n <= 5; n++)
        load_and_check(n, folder, model, NULL, NULL);
    io_vars_list(main, IO_PERSISTABLES, &vars);
    assert_in_range(vars.n, 10, 64);
    for (int i = 0; i < vars.n; i++)
        tensors[i] = &scope_find(model, vars.v[i]->name)->tensor;
    path_of(path, "one/all");
    assert_ok(combined_file_write(path, vars.n, tensors, &err), err);
    load_and_check(3, folder, model, NULL, NULL);
    load_and_check(2, path, model, NULL, NULL);

    assert_int_equal(truncate(path, 5000), 0);
    refused(folder, SKIFF_FORMAT, "one/all: ");
    put_tensor("one/all", SHAPE(3, 4), DTYPE_FP32, false);
    char text[64];
    snprintf(text, sizeof text, "all holds 1 tensors and no names; expected %d (the persist",
             vars.n);
    refused(folder, SKIFF_SHAPE, text);
    put_tensor("one/all", SHAPE(FC_WIDTH), DTYPE_FP32, false); /* b, emb, w */
    put_tensor("one/all", SHAPE(EMB_ROWS, EMB_WIDTH), DTYPE_FP32, true);
    put_tensor("one/all", SHAPE(EMB_WIDTH, FC_WIDTH + 1), DTYPE_FP32, true);
    refused(folder, SKIFF_SHAPE, "tensor 3 of 3: variable w: the program wants shape [30, 1500]");
    put_tensor("one/all", SHAPE(FC_WIDTH), DTYPE_INT64, false);
    put_tensor("one/all", SHAPE(EMB_ROWS, EMB_WIDTH), DTYPE_FP32, true);
    put_tensor("one/all", SHAPE(EMB_WIDTH, FC_WIDTH), DTYPE_FP32, true);
    refused(folder, SKIFF_SHAPE, "variable b: the program wants float32");
    refused(path, SKIFF_SHAPE, "one/all holds int64");
    io_vars_deinit(&vars);
    scope_destroy(model);
    fixture_close(&k);
}

/* A table that is distributed by id, from every form. */
static void hashed_tables_load(void **state)
{
    struct server_fixture k;
    struct fixture_options o = load_options(1, NULL);
    struct skiff_error err;
    char from[3][128];
    o.open_only = o.distributed = true;
    o.optimizer = "sgd";
    fixture_open(&k, &o);
    struct skiff_scope *model = make_model(&k);
    const struct skiff_program *main = skiff_net_main(k.net);
    path_of(from[0], "keyed_files");
    path_of(from[1], "keyed_one");
    path_of(from[2], "keyed_pickle/x");
    assert_ok(io_save_group(model, main, IO_PERSISTABLES, from[0], NULL, &err), err);
    assert_ok(io_save_group(model, main, IO_PERSISTABLES, from[1], "all", &err), err);
    assert_ok(io_save(model, main, from[2], &err), err);
    const float *emb = tensor_f32(&scope_find(model, "emb")->tensor);
    for (int i = 0; i < 9; i++) {
        struct server_fixture job;
        struct fixture_options jo = load_options(1 + i % 3, from[i / 3]);
        int64_t ids[] = {0, 1, 2, 3, 1000, EMB_ROWS - 1};
        float rows[6 * EMB_WIDTH];
        const char *names[FIXTURE_MAX];
        jo.distributed = true;
        jo.optimizer = "sgd";
        fixture_open(&job, &jo);
        struct session *s = fixture_session(&job, 0);
        struct job_slices slices = {.origin = "emb", .modulo = true, .names = names};
        slices.n = split_plan(job.split)->servers;
        slices.endpoints = split_plan(job.split)->endpoints;
        for (int n = 0; n < slices.n; n++)
            names[n] = "emb";
        assert_ok(session_pull_rows(s, &slices, ids, 6, EMB_WIDTH, rows, &err), err);
        for (int r = 0; r < 6; r++)
            assert_memory_equal(rows + r * EMB_WIDTH, emb + ids[r] * EMB_WIDTH,
                                EMB_WIDTH * sizeof(float));
        session_close(s);
        fixture_join(&job, SKIFF_OK);
        fixture_close(&job);
    }
    scope_destroy(model);
    fixture_close(&k);
}

static int make_folder(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int clean_up(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

/* Sets values of a dense parameter while the server runs. */
static void parts_are_put(void **state)
{
    struct server_fixture k;
    struct skiff_error err;
    struct fixture_slices w;
    fixture_open(&k, &(struct fixture_options){.servers = 1,
                                               .trainers = 1,
                                               .config = split_config_fleet(SKIFF_SPLIT_ASYNC)});
    struct session *s = fixture_session(&k, 0);
    struct params *p = mem_alloc_or_die(sizeof *p);
    const float values[3] = {7, 8, 9};
    fixture_slices(&k, "b", "", false, &w);
    assert_int_equal(w.s.n, 1);
    assert_ok(session_put_part(s, 0, w.names[0], 5, values, 3, 0, &err), err);
    fixture_pull(&k, s, p);
    const float *b = tensor_f32(&p->b.tensor);
    assert_true(b[5] == 7 && b[6] == 8 && b[7] == 9 && b[4] != 7 && b[8] != 9);
    assert_int_equal(session_put_part(s, 0, w.names[0], FC_WIDTH - 2, values, 3, 0, &err),
                     SKIFF_RANGE);
    assert_non_null(
        strstr(err.message, "3 float32 elements from 1498 on for b, which has 1500 here"));
    assert_int_equal(session_put_part(s, 0, "nobody", 0, values, 3, 0, &err), SKIFF_NOT_FOUND);
    params_destroy(p);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_put), cmocka_unit_test(any_number_of_servers_loads),
        cmocka_unit_test(one_file_of_all), cmocka_unit_test(hashed_tables_load)};
    return cmocka_run_group_tests(tests, make_folder, clean_up);
}
