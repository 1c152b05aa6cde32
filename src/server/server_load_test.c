/* init_server(dir): any number of servers takes its parts of a model that one process has saved. */
#include "executor/io.h"
#include "server/server_kit_test.h"
#include "store/tensor_file.h"

static char dir[] = "/tmp/skiff_server_XXXXXX";

/* A trained-looking model of an adam job: every persistable number is made up. */
static struct scope *make_model(const struct kit *k)
{
    struct scope *scope = scope_create();
    struct executor *e = executor_create(scope, &(struct executor_options){0});
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

static struct kit_options load_options(int servers, const char *from)
{
    return (struct kit_options){.servers = servers,
                                .trainers = 1,
                                .optimizer = "adam",
                                .load = from,
                                .config = split_config_fleet(SPLIT_ASYNC)};
}

static void path_of(char out[static 128], const char *name)
{
    snprintf(out, 128, "%s/%s", dir, name);
}

/* Every slice of the placement, accumulators too, is the right part of the model's variable. */
static void check_slices(struct kit *k, struct session *s, struct scope *model, const char *fresh)
{
    int n;
    const struct placement *p = split_placement(k->split, &n);
    struct value v = {0};
    struct skiff_error err;
    for (int i = 0; i < n; i++) {
        assert_ok(session_pull_part(s, p[i].server, p[i].slice, 0, p[i].shape.dims[0], &v, &err),
                  err);
        const struct tensor *whole = &scope_find(model, p[i].origin)->tensor;
        assert_true(shape_equal(&v.tensor.shape, &p[i].shape));
        if (fresh && !strcmp(p[i].origin, fresh))
            for (int64_t j = 0; j < tensor_numel(&v.tensor); j++)
                assert_true(tensor_f32(&v.tensor)[j] == 0);
        else
            assert_memory_equal(v.tensor.data, tensor_f32(whole) + p[i].offset,
                                tensor_bytes(&v.tensor));
    }
    value_deinit(&v);
}

static void load_and_check(int servers, const char *from, struct scope *model, const char *fresh,
                           const char *said)
{
    struct kit k;
    struct kit_options o = load_options(servers, from);
    kit_open(&k, &o);
    struct session *s = kit_session(&k, 0);
    check_slices(&k, s, model, fresh);
    session_close(s);
    kit_join(&k, SKIFF_OK);
    if (said && !strstr(k.said, said))
        fail_msg("not said: %s\n%s", said, k.said);
    kit_close(&k);
}

static enum skiff_status try_load(int servers, const char *from, struct skiff_error *err)
{
    struct kit k;
    struct kit_options o = load_options(servers, NULL);
    o.open_only = true;
    kit_open(&k, &o);
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < servers && status == SKIFF_OK; i++)
        status = server_load(k.server[i], from, err);
    kit_close(&k);
    return status;
}

static void any_number_of_servers_loads(void **state)
{
    struct kit k;
    struct kit_options o = load_options(1, NULL);
    struct skiff_error err;
    char prefix[128], path[128];
    assert_non_null(mkdtemp(dir));
    o.open_only = true;
    kit_open(&k, &o);
    struct scope *model = make_model(&k);
    const struct program *main = skiff_net_main(k.net);
    assert_ok(io_save_group(model, main, IO_PERSISTABLES, dir, NULL, &err), err);
    path_of(prefix, "model");
    assert_ok(io_save(model, main, prefix, &err), err);
    load_and_check(1, dir, model, NULL, NULL);
    load_and_check(2, dir, model, NULL, NULL);
    load_and_check(5, dir, model, NULL, NULL);
    load_and_check(3, prefix, model, NULL, NULL);

    /* a missing accumulator starts fresh; a missing or misshapen parameter is an error */
    path_of(path, "w_moment1_0");
    assert_int_equal(unlink(path), 0);
    load_and_check(2, dir, model, "w_moment1_0", "1 variables of the optimizer were not there");

    struct value wrong = {0};
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
    kit_close(&k);
}

static int clean_up(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_servers_loads)};
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
