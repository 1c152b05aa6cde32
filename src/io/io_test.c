#include "io/io.h"

#include "base/mem.h"
#include "io/compat_map.h"
#include "io/test_help.h"
#include "store/pickle.h"
#include "store/tensor_file.h"

#define INTEROP "tests/data/interop/"

static void parameters_of_a_training_program(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct io_vars params, all, rest;
    io_vars_list(p, IO_PARAMS, &params);
    io_vars_list(p, IO_PERSISTABLES, &all);
    io_vars_list(p, IO_STATE, &rest);
    assert_int_equal(params.n, 9);
    assert_int_equal(all.n, 50);
    assert_int_equal(rest.n, 41);
    for (int i = 0; i < params.n; i++) {
        char path[128];
        snprintf(path, sizeof path, SAVED "params_separate/%s", params.v[i]->name);
        assert_true(file_exists(path));
    }
    struct state opt;
    state_init(&opt);
    OR_DIE(pickle_file_read(SAVED "fluid_save/ctr.pdopt", &opt, err_));
    assert_int_equal(opt.count, rest.n);
    for (int i = 0; i < rest.n; i++)
        assert_non_null(state_find(&opt, rest.v[i]->name));
    state_deinit(&opt);
    struct skiff_error err;
    assert_int_equal(io_vars_pick(&all, (const char *[]){"fc_0.w_0", "nothing"}, 2, &err),
                     SKIFF_NOT_FOUND);
    assert_message_has(&err, "nothing");
    assert_int_equal(io_vars_pick(&all, (const char *[]){"learning_rate_0", "fc_0.w_0"}, 2, &err),
                     SKIFF_OK);
    assert_int_equal(all.n, 2);
    io_vars_deinit(&params);
    io_vars_deinit(&all);
    io_vars_deinit(&rest);
    program_destroy(p);
}

/* A forward program with batch_norm, an auc, a counter: what the file does not say. */
static void parameters_by_use(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_block *b = program_root(p);
    const char *names[] = {"w", "mean", "buckets", "counter", "lr", "unused", "x", "y"};
    for (int i = 0; i < 8; i++) {
        struct skiff_var *v = block_add_var(b, names[i]);
        v->dtype = i == 2 || i == 3 ? DTYPE_INT64 : DTYPE_FP32;
        v->has_tensor = true;
        v->persistable = i < 6 ? PRESENCE_TRUE : PRESENCE_FALSE;
    }
    struct skiff_op *op = block_insert_op(b, -1, "some_norm");
    op_set_in(p, op, "X", 2, (const char *[]){"x", "w"});
    op_set_in(p, op, "Mean", 1, (const char *[]){"mean"});
    op_set_in(p, op, "Stat", 1, (const char *[]){"buckets"});
    op_set_out(p, op, "MeanOut", 1, (const char *[]){"mean"});
    op_set_out(p, op, "StatOut", 1, (const char *[]){"buckets"});
    op_set_out(p, op, "Y", 1, (const char *[]){"y"});
    op = block_insert_op(b, -1, "increment");
    op_set_in(p, op, "X", 1, (const char *[]){"counter"});
    op_set_out(p, op, "Out", 1, (const char *[]){"counter"});
    op = block_insert_op(b, -1, "scale");
    op_set_in(p, op, "X", 1, (const char *[]){"lr"});
    op_set_out(p, op, "Out", 1, (const char *[]){"lr"});
    struct io_vars params;
    io_vars_list(p, IO_PARAMS, &params);
    assert_int_equal(params.n, 2);
    assert_string_equal(params.v[0]->name, "w");
    assert_string_equal(params.v[1]->name, "mean");
    io_vars_deinit(&params);
    /* once the program says which they are, only that counts */
    block_find_var(b, "unused")->is_parameter = PRESENCE_TRUE;
    io_vars_list(p, IO_PARAMS, &params);
    assert_int_equal(params.n, 1);
    assert_string_equal(params.v[0]->name, "unused");
    io_vars_deinit(&params);
    program_destroy(p);
}

static void persistables_round_trip(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct skiff_scope *s = scope_create(), *t = scope_create();
    OR_DIE(io_load_group(s, p, IO_PERSISTABLES, SAVED "persistables_separate", NULL, err_));
    OR_DIE(io_save_group(s, p, IO_PERSISTABLES, temp_path("together"), "all", err_));
    assert_files_equal(temp_path("together/all"), SAVED "persistables_combined/all");
    OR_DIE(io_load_group(t, p, IO_PERSISTABLES, SAVED "persistables_combined", "all", err_));
    OR_DIE(io_load_group(t, p, IO_PERSISTABLES, SAVED "persistables_combined", "all", err_));
    OR_DIE(io_save_group(t, p, IO_PERSISTABLES, temp_path("each"), NULL, err_));
    assert_int_equal(count_files(temp_path("each")), 50 + 1 /* manifest */);
    struct io_vars all;
    io_vars_list(p, IO_PERSISTABLES, &all);
    for (int i = 0; i < all.n; i++) {
        char a[256], b[256];
        snprintf(a, sizeof a, "%s/%s", temp_path("each"), all.v[i]->name);
        snprintf(b, sizeof b, SAVED "persistables_separate/%s", all.v[i]->name);
        assert_files_equal(a, b);
    }
    io_vars_deinit(&all);
    OR_DIE(io_save_group(t, p, IO_PARAMS, temp_path("params"), NULL, err_));
    assert_int_equal(count_files(temp_path("params")), 9 + 1 /* manifest */);
    scope_destroy(s);
    scope_destroy(t);
    program_destroy(p);
}

static void states_equal(const char *a, const char *b)
{
    struct state x, y;
    state_init(&x);
    state_init(&y);
    OR_DIE(pickle_file_read(a, &x, err_));
    OR_DIE(pickle_file_read(b, &y, err_));
    assert_int_equal(x.count, y.count);
    for (int i = 0; i < x.count; i++) {
        const struct state_entry *e = state_find(&y, x.entries[i]->name);
        assert_non_null(e);
        assert_true(shape_equal(&e->tensor.shape, &x.entries[i]->tensor.shape));
        assert_memory_equal(e->tensor.data, x.entries[i]->tensor.data, tensor_bytes(&e->tensor));
    }
    state_deinit(&x);
    state_deinit(&y);
}

static void fluid_save_and_load(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct skiff_scope *s = scope_create();
    OR_DIE(io_load(s, p, SAVED "fluid_save/ctr", err_));
    OR_DIE(io_save(s, p, temp_path("saves/ctr"), err_));
    assert_int_equal(count_files(temp_path("saves")), 3 + 1 /* manifest */);
    states_equal(temp_path("saves/ctr.pdparams"), SAVED "fluid_save/ctr.pdparams");
    states_equal(temp_path("saves/ctr.pdopt"), SAVED "fluid_save/ctr.pdopt");
    struct skiff_program *mine = read_program(temp_path("saves/ctr.pdmodel")),
                         *theirs = read_program(SAVED "fluid_save/ctr.pdmodel");
    struct buf diff = BUF_INIT;
    if (program_diff(mine, theirs, &diff))
        fail_msg("%s", diff.data);
    assert_int_equal(mine->paddle_version, theirs->paddle_version);
    assert_int_equal(mine->compat_map_len, theirs->compat_map_len);
    assert_memory_equal(mine->compat_map, theirs->compat_map, mine->compat_map_len);
    buf_deinit(&diff);
    program_destroy(mine);
    program_destroy(theirs);
    /* saving again replaces; the endings may be given when loading; a folder will do */
    OR_DIE(io_save(s, p, temp_path("saves/ctr"), err_));
    assert_int_equal(count_files(temp_path("saves")), 3 + 1 /* manifest */);
    OR_DIE(io_load(s, p, temp_path("saves/ctr.pdparams"), err_));
    struct skiff_scope *t = scope_create();
    OR_DIE(io_load(t, p, SAVED "params_separate", err_));
    assert_non_null(scope_find(t, "fc_0.w_0"));
    assert_null(scope_find(t, "learning_rate_0"));
    scope_destroy(t);
    scope_destroy(s);
    program_destroy(p);
}

static void loading_errors(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct skiff_scope *s = scope_create();
    struct skiff_error err;
    assert_int_equal(io_load_group(s, p, IO_PERSISTABLES, SAVED "params_separate", NULL, &err),
                     SKIFF_NOT_FOUND);
    assert_message_has(&err, "params_separate/");
    assert_int_equal(io_load_group(s, p, IO_PARAMS, SAVED "persistables_combined", "all", &err),
                     SKIFF_FORMAT);
    assert_int_equal(io_load(s, p, SAVED "nothing", &err), SKIFF_NOT_FOUND);
    assert_message_has(&err, "nothing.pdparams");
    assert_int_equal(io_load(s, p, SAVED "persistables_combined/all", &err), SKIFF_NOT_FOUND);
    assert_message_has(&err, "combined file");
    struct str_map names;
    str_map_init(&names);
    scope_names(s, &names);
    for (size_t i = 0; i < names.count; i++)
        assert_int_equal(((struct skiff_tensor *)names.entries[i].value)->kind, VALUE_NONE);
    str_map_deinit(&names);

    struct skiff_var *w = block_find_var(program_root(p), "fc_0.w_0");
    w->shape = SHAPE(3, 8);
    assert_int_equal(io_load(s, p, SAVED "fluid_save/ctr", &err), SKIFF_SHAPE);
    assert_message_has(&err, "fc_0.w_0");
    assert_message_has(&err, "[3, 8]");
    assert_message_has(&err, "[25, 8]");
    assert_message_has(&err, "ctr.pdparams");
    assert_int_equal(io_load_group(s, p, IO_PARAMS, SAVED "params_separate", NULL, &err),
                     SKIFF_SHAPE);
    assert_message_has(&err, "params_separate/fc_0.w_0");
    w->shape = SHAPE(-1, 8);
    w->dtype = DTYPE_FP64;
    assert_int_equal(io_load_group(s, p, IO_PARAMS, SAVED "params_separate", NULL, &err),
                     SKIFF_DTYPE);
    assert_message_has(&err, "float64");
    assert_message_has(&err, "float32");
    assert_null(scope_find(s, "fc_0.w_0"));
    w->dtype = DTYPE_FP32;
    assert_int_equal(io_load_group(s, p, IO_PARAMS, SAVED "params_separate", NULL, &err), 0);
    scope_destroy(s);
    program_destroy(p);
}

static void saving_errors(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct skiff_scope *s = scope_create();
    struct skiff_error err;
    assert_int_equal(io_save_group(s, p, IO_PARAMS, temp_path("empty"), NULL, &err), SKIFF_STATE);
    assert_message_has(&err, "startup");
    assert_int_equal(io_save(s, p, temp_path("empty/x"), &err), SKIFF_STATE);
    assert_int_equal(io_save(s, p, temp_path("empty/"), &err), SKIFF_INVALID);
    assert_false(file_exists(temp_path("empty")));
    OR_DIE(io_load(s, p, SAVED "params_separate", err_));
    assert_int_equal(file_write(temp_path("plain"), "x", 1, NULL), SKIFF_OK);
    assert_true(io_save_group(s, p, IO_PARAMS, temp_path("plain/dir"), NULL, &err) < 0);
    assert_true(io_save_group(s, p, IO_PARAMS, temp_path("plain"), NULL, &err) < 0);
    /* a name that leads out of the folder */
    struct skiff_var *evil = block_add_var(program_root(p), "../evil");
    evil->persistable = PRESENCE_TRUE;
    OR_DIE(value_as_tensor(scope_var(s, "../evil"), DTYPE_FP32, SHAPE_PTR(1), err_));
    struct io_vars vars;
    io_vars_list(p, IO_PERSISTABLES, &vars);
    OR_DIE(io_vars_pick(&vars, (const char *[]){"../evil"}, 1, err_));
    assert_int_equal(io_save_vars(s, &vars, temp_path("evil_dir"), NULL, &err), SKIFF_INVALID);
    assert_false(file_exists(temp_path("evil_dir")));
    assert_int_equal(io_load_vars(s, p, &vars, SAVED "params_separate", NULL, &err), SKIFF_INVALID);
    io_vars_deinit(&vars);
    scope_destroy(s);
    program_destroy(p);
}

static void check_saved_model(const struct skiff_model *m)
{
    assert_int_equal(m->nfeeds, 4);
    assert_string_equal(m->feeds[0], "dense_input");
    assert_string_equal(m->feeds[3], "C3");
    assert_int_equal(m->nfetches, 1);
}

static void loads_inference_models(void **state)
{
    struct skiff_scope *s = scope_create();
    struct skiff_model m;
    OR_DIE(io_load_inference(s, SAVED "inference_default", NULL, NULL, &m, err_));
    check_saved_model(&m);
    assert_string_equal(m.fetches[0], "save_infer_model/scale_0.tmp_0");
    assert_non_null(scope_find(s, "fc_3.b_0"));
    io_model_deinit(&m);
    OR_DIE(io_load_inference(s, SAVED "inference_files", "model", "params", &m, err_));
    check_saved_model(&m);
    io_model_deinit(&m);
    OR_DIE(io_load_inference(s, INTEROP "p26/ctr", NULL, NULL, &m, err_));
    assert_int_equal(m.nfeeds, 27);
    assert_string_equal(m.feeds[26], "C26");
    assert_int_equal(m.program->generation, GEN_2X);
    io_model_deinit(&m);
    OR_DIE(io_load_inference(NULL, INTEROP "p26/ctr.pdmodel", NULL, NULL, &m, err_));
    io_model_deinit(&m);
    OR_DIE(io_load_inference(s, INTEROP "p26", "ctr", "ctr", &m, err_));
    io_model_deinit(&m);
    OR_DIE(io_load_inference(s, INTEROP "p18_combined", NULL, "__params__", &m, err_));
    io_model_deinit(&m);
    struct skiff_error err;
    assert_int_equal(io_load_inference(s, INTEROP "p26/nothing", NULL, NULL, &m, &err),
                     SKIFF_NOT_FOUND);
    assert_message_has(&err, "nothing.pdmodel");
    assert_int_equal(io_load_inference(s, SAVED "inference_files", NULL, NULL, &m, &err),
                     SKIFF_NOT_FOUND);
    assert_message_has(&err, "__model__");
    assert_int_equal(io_load_inference(s, SAVED "inference_files", "model", NULL, &m, &err),
                     SKIFF_NOT_FOUND);
    assert_int_equal(io_load_inference(s, SAVED "inference_files", "params", NULL, &m, &err),
                     SKIFF_FORMAT);
    scope_destroy(s);
}

/* Files that Paddle wrote: names found by the program are those under which it saved the same
 * values one by one. */
static void names_of_one_file(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb"),
                         *q = read_program(SAVED "inference_files/model");
    struct io_source sources[] = {{q, "the model"}, {p, "the program"}};
    struct tensor_location *locations;
    const char *names[64];
    struct skiff_error err;
    int n;
    OR_DIE(combined_file_scan(SAVED "persistables_combined/all", &locations, &n, err_));
    assert_int_equal(n, 50);
    OR_DIE(io_combined_names("all", locations, n, sources, 2, names, err_));
    struct buf all = BUF_INIT;
    OR_DIE(file_read(SAVED "persistables_combined/all", &all, err_));
    for (int i = 0; i < n; i++) {
        struct skiff_tensor v = {0};
        char path[128];
        snprintf(path, sizeof path, SAVED "persistables_separate/%s", names[i]);
        OR_DIE(value_file_read(path, &v, err_));
        assert_int_equal(tensor_bytes(&v.tensor), locations[i].bytes);
        assert_memory_equal(v.tensor.data, all.data + locations[i].at, locations[i].bytes);
        value_deinit(&v);
    }
    int w = 0;
    while (strcmp(names[w], "fc_1.w_0"))
        w++;
    locations[w].shape = SHAPE(3, 3);
    assert_int_equal(io_combined_names("all", locations, n, sources, 2, names, &err), SKIFF_SHAPE);
    assert_message_has(&err, "as the persistable variables of the program: tensor ");
    assert_message_has(&err, "variable fc_1.w_0: the program wants shape [");
    assert_message_has(&err, "], all holds [3, 3]");
    assert_int_equal(io_combined_names("all", locations, 4, sources, 2, names, &err), SKIFF_SHAPE);
    assert_message_has(&err, "all holds 4 tensors and no names; expected 9 (the persistable "
                             "variables of the model), 9 (the parameters of the model)");
    assert_message_has(&err, "50 (the persistable variables of the program)");
    free(locations);
    OR_DIE(combined_file_scan(SAVED "inference_files/params", &locations, &n, err_));
    OR_DIE(io_combined_names("params", locations, n, sources, 1, names, err_));
    assert_int_equal(n, 9);
    assert_string_equal(names[0], "SparseFeatFactors");
    assert_string_equal(names[8], "fc_3.w_0");
    free(locations);
    buf_deinit(&all);
    assert_int_equal(combined_file_scan(SAVED "inference_files/model", &locations, &n, &err),
                     SKIFF_FORMAT);
    assert_message_has(&err, "tensor 1: ");
    program_destroy(p);
    program_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_a_training_program),
        cmocka_unit_test(parameters_by_use),
        cmocka_unit_test(persistables_round_trip),
        cmocka_unit_test(fluid_save_and_load),
        cmocka_unit_test(loading_errors),
        cmocka_unit_test(saving_errors),
        cmocka_unit_test(loads_inference_models),
        cmocka_unit_test(names_of_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
