#include "io/io.h"

#include "executor/executor.h"
#include "io/test_help.h"
#include "store/tensor_file.h"

static void check_saved_model(const struct skiff_model *m)
{
    assert_int_equal(m->nfeeds, 4);
    assert_string_equal(m->feeds[0], "dense_input");
    assert_string_equal(m->feeds[3], "C3");
    assert_int_equal(m->nfetches, 1);
}

static void same_model(const char *mine_path, const char *theirs_path)
{
    struct skiff_program *mine = read_program(mine_path), *theirs = read_program(theirs_path);
    struct buf diff = BUF_INIT;
    if (program_diff(mine, theirs, &diff))
        fail_msg("%s", diff.data);
    assert_int_equal(mine->paddle_version, theirs->paddle_version);
    assert_int_equal(mine->compat_map_len, theirs->compat_map_len);
    buf_deinit(&diff);
    program_destroy(mine);
    program_destroy(theirs);
}

static const char *const feeds[] = {"dense_input", "C1", "C2", "C3"};
static const char *const targets[] = {"fc_3.tmp_2"};
static const struct io_inference what = {feeds, 4, targets, 1};

static void saves_inference_models(void **state)
{
    struct skiff_program *p = read_program(SAVED "main.pb");
    struct skiff_scope *s = scope_create();
    struct skiff_model m;
    OR_DIE(io_load(s, p, SAVED "fluid_save/ctr", err_));
    OR_DIE(io_save_inference_dir(s, p, &what, temp_path("infer"), NULL, NULL, err_));
    assert_int_equal(count_files(temp_path("infer")), 10 + 1 /* manifest */);
    same_model(temp_path("infer/__model__"), SAVED "inference_default/__model__");
    assert_files_equal(temp_path("infer/fc_0.w_0"), SAVED "inference_default/fc_0.w_0");
    OR_DIE(io_save_inference_dir(s, p, &what, temp_path("infer2"), "model", "params", err_));
    assert_int_equal(count_files(temp_path("infer2")), 2 + 1 /* manifest */);
    assert_files_equal(temp_path("infer2/params"), SAVED "inference_files/params");
    OR_DIE(io_save_inference_prefix(s, p, &what, temp_path("new/ctr"), err_));
    assert_int_equal(count_files(temp_path("new")), 2 + 1 /* manifest */);
    assert_files_equal(temp_path("new/ctr.pdiparams"), SAVED "inference_files/params");
    OR_DIE(io_load_inference(s, temp_path("new/ctr"), NULL, NULL, &m, err_));
    check_saved_model(&m);
    io_model_deinit(&m);
    struct skiff_error err;
    struct io_inference wrong = what;
    wrong.targets = (const char *[]){"nothing"};
    assert_true(io_save_inference_dir(s, p, &wrong, temp_path("no"), NULL, NULL, &err) < 0);
    assert_message_has(&err, "nothing");
    assert_false(file_exists(temp_path("no")));
    scope_destroy(s);
    program_destroy(p);
}

/* The saved model gives the predictions that Paddle recorded. */
static void saved_model_predicts(void **state)
{
    struct skiff_scope *s = scope_create();
    struct skiff_model m;
    struct skiff_program *p = read_program(SAVED "main.pb");
    OR_DIE(io_load(s, p, SAVED "fluid_save/ctr", err_));
    OR_DIE(io_save_inference_prefix(s, p, &what, temp_path("predict/ctr"), err_));
    program_destroy(p);
    scope_destroy(s);
    s = scope_create();
    OR_DIE(io_load_inference(s, temp_path("predict/ctr"), NULL, NULL, &m, err_));
    struct executor_options options = {.is_test = true};
    struct skiff_executor *e = executor_create(s, &options);
    struct tensor in[4] = {{0}};
    struct feed feed[4];
    for (int i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, SAVED "inference_default_case/feed/0/%s", m.feeds[i]);
        OR_DIE(tensor_file_read(path, &in[i], err_));
        feed[i] = (struct feed){m.feeds[i], &in[i], NULL};
    }
    struct skiff_tensor out = {0};
    struct tensor want = {0};
    OR_DIE(executor_run(e, m.program, feed, 4, m.fetches, 1, &out, err_));
    OR_DIE(tensor_file_read(SAVED "inference_default_case/expect/0/save_infer_model/scale_0.tmp_0",
                            &want, err_));
    assert_true(shape_equal(&want.shape, &out.tensor.shape));
    for (int64_t i = 0; i < tensor_numel(&want); i++) {
        float d = tensor_f32(&want)[i] - tensor_f32(&out.tensor)[i];
        assert_true(d < 1e-6f && d > -1e-6f);
    }
    for (int i = 0; i < 4; i++)
        tensor_deinit(&in[i]);
    tensor_deinit(&want);
    value_deinit(&out);
    executor_destroy(e);
    io_model_deinit(&m);
    scope_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saves_inference_models),
        cmocka_unit_test(saved_model_predicts),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
