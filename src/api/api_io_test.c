/* A network built here, trained, saved in every form and loaded again, by the public face alone. */
#include <skiff/skiff.h>

#include "store/test_help.h"

static struct skiff_error err;

#define OR_DIE(call)                                \
    do {                                            \
        if ((call) < 0)                             \
            fail_msg("%s: %s", #call, err.message); \
    } while (0)

struct fixture {
    struct skiff_net *net;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
    struct skiff_tensor *x, *ids, *y;
    struct skiff_feed feeds[3];
    const char *predict;
};

static int set_up(void **state)
{
    static struct fixture f;
    f.net = skiff_net_create();
    struct skiff_var *x = skiff_data(f.net, "x", SKIFF_DIMS(3));
    struct skiff_var *ids = skiff_data(f.net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *y = skiff_data(f.net, "y", SKIFF_DIMS(1));
    struct skiff_var *e = skiff_embedding(f.net, ids, 20, 4, .is_sparse = true);
    struct skiff_var *h = skiff_fc_list(f.net, SKIFF_VARS(x, e), 5, .act = "relu");
    struct skiff_var *p = skiff_fc(f.net, h, 1);
    struct skiff_var *loss = skiff_mean(f.net, skiff_square_error_cost(f.net, p, y));
    OR_DIE(skiff_minimize(f.net, loss, &err, "adam", .learning_rate = 0.1));
    f.predict = skiff_var_name(p);
    f.scope = skiff_scope_create();
    f.exe = skiff_executor_create(f.scope, NULL);
    OR_DIE(skiff_executor_run(f.exe, skiff_net_startup(f.net), NULL, 0, NULL, 0, NULL, &err));
    f.x = skiff_tensor_create("float32", 2, (int64_t[]){4, 3}, &err);
    f.ids = skiff_tensor_create("int64", 2, (int64_t[]){4, 1}, &err);
    f.y = skiff_tensor_create("float32", 2, (int64_t[]){4, 1}, &err);
    for (int i = 0; i < 12; i++)
        ((float *)skiff_tensor_data(f.x))[i] = (float)(i % 5) * 0.25f;
    for (int i = 0; i < 4; i++) {
        ((int64_t *)skiff_tensor_data(f.ids))[i] = i * 3;
        ((float *)skiff_tensor_data(f.y))[i] = (float)i;
    }
    f.feeds[0] = (struct skiff_feed){"x", f.x};
    f.feeds[1] = (struct skiff_feed){"ids", f.ids};
    f.feeds[2] = (struct skiff_feed){"y", f.y};
    for (int i = 0; i < 3; i++)
        OR_DIE(skiff_executor_run(f.exe, skiff_net_main(f.net), f.feeds, 3, NULL, 0, NULL, &err));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    skiff_tensor_destroy(f->x);
    skiff_tensor_destroy(f->ids);
    skiff_tensor_destroy(f->y);
    skiff_executor_destroy(f->exe);
    skiff_scope_destroy(f->scope);
    skiff_net_destroy(f->net);
    return 0;
}

/* Predictions of a loaded model. */
static void model_run(struct fixture *f, const char *path, float out[4])
{
    struct skiff_scope *s = skiff_scope_create();
    struct skiff_model *m = NULL;
    OR_DIE(skiff_load_inference_model(s, path, NULL, &m, &err));
    assert_int_equal(skiff_model_feeds(m), 2);
    assert_string_equal(skiff_model_feed(m, 0), "x");
    assert_string_equal(skiff_model_feed(m, 1), "ids");
    assert_null(skiff_model_feed(m, 2));
    assert_int_equal(skiff_model_targets(m), 1);
    struct skiff_executor *e = skiff_executor_create(s, NULL);
    struct skiff_tensor *result = NULL;
    const char *target = skiff_model_target(m, 0);
    OR_DIE(skiff_executor_run(e, skiff_model_program(m), f->feeds, 2, &target, 1, &result, &err));
    assert_int_equal(skiff_tensor_count(result), 4);
    memcpy(out, skiff_tensor_data(result), 16);
    skiff_tensor_destroy(result);
    skiff_executor_destroy(e);
    skiff_model_destroy(m);
    skiff_scope_destroy(s);
}

static void inference_models(void **state)
{
    struct fixture *f = *state;
    const char *feeds[] = {"x", "ids"}, *targets[] = {f->predict};
    const struct skiff_program *p = skiff_net_main(f->net);
    float a[4], b[4];
    OR_DIE(skiff_save_inference_model(f->scope, p, feeds, 2, targets, 1, temp_path("dir"), &err));
    OR_DIE(
        skiff_save_inference_prefix(f->scope, p, feeds, 2, targets, 1, temp_path("new/n"), &err));
    model_run(f, temp_path("dir"), a);
    model_run(f, temp_path("new/n"), b);
    assert_memory_equal(a, b, sizeof a);
    /* the same as the training program gives before its next update */
    struct skiff_tensor *now = NULL;
    OR_DIE(skiff_executor_run(f->exe, p, f->feeds, 3, targets, 1, &now, &err));
    for (int i = 0; i < 4; i++) {
        float d = ((float *)skiff_tensor_data(now))[i] - a[i];
        assert_true(d < 1e-5f && d > -1e-5f);
    }
    skiff_tensor_destroy(now);
    struct skiff_model *m = NULL;
    assert_int_equal(skiff_load_inference_model(f->scope, temp_path("nothing"), NULL, &m, &err),
                     SKIFF_NOT_FOUND);
    assert_message_has(&err, "nothing");
    assert_null(m);
}

static float *data_of(struct skiff_scope *s, const char *name)
{
    struct skiff_tensor *t = skiff_scope_find(s, name);
    if (!t)
        fail_msg("no %s", name);
    return skiff_tensor_data(t);
}

static void variables(void **state)
{
    struct fixture *f = *state;
    const struct skiff_program *p = skiff_net_main(f->net);
    struct skiff_scope *s = skiff_scope_create();
    OR_DIE(skiff_save_persistables(f->scope, p, temp_path("all"), "x", &err));
    OR_DIE(skiff_load_persistables(s, p, temp_path("all"), "x", &err));
    assert_memory_equal(data_of(s, "embedding_0.w_0_moment2_0"),
                        data_of(f->scope, "embedding_0.w_0_moment2_0"), 80 * 4);
    OR_DIE(skiff_save_params(f->scope, p, temp_path("params"), NULL, &err));
    assert_int_equal(count_files(temp_path("params")),
                     6 + 1); /* table, two fc weights of the list, ...; manifest */
    OR_DIE(skiff_load_params(s, p, temp_path("params"), NULL, &err));
    const char *one[] = {"fc_0.b_0"};
    OR_DIE(skiff_save_vars(f->scope, p, one, 1, temp_path("one"), NULL, &err));
    data_of(s, "fc_0.b_0")[0] += 1;
    OR_DIE(skiff_load_vars(s, p, one, 1, temp_path("one"), NULL, &err));
    assert_memory_equal(data_of(s, "fc_0.b_0"), data_of(f->scope, "fc_0.b_0"), 5 * 4);
    OR_DIE(skiff_save(f->scope, p, temp_path("fluid/net"), &err));
    assert_int_equal(count_files(temp_path("fluid")), 3 + 1 /* manifest */);
    data_of(s, "fc_1.w_0")[0] += 1;
    OR_DIE(skiff_load(s, p, temp_path("fluid/net"), &err));
    assert_memory_equal(data_of(s, "fc_1.w_0"), data_of(f->scope, "fc_1.w_0"), 5 * 4);
    skiff_scope_destroy(s);
}

/* Steps with other ids each, so that most rows of the table have deferred updates. */
static void train(struct fixture *f, struct skiff_executor *exe, int from, int to)
{
    for (int k = from; k < to; k++) {
        for (int i = 0; i < 4; i++)
            ((int64_t *)skiff_tensor_data(f->ids))[i] = (k * 7 + i * i) % 20;
        OR_DIE(skiff_executor_run(exe, skiff_net_main(f->net), f->feeds, 3, NULL, 0, NULL, &err));
    }
}

/* Training resumes from a saved state as if nothing had happened: in a new scope, and in one that
 * has gone on meanwhile. Adam moves all rows each step, and the table's rows have deferred
 * updates. */
static void training_resumes(void **state)
{
    struct fixture *f = *state;
    const struct skiff_program *p = skiff_net_main(f->net);
    train(f, f->exe, 0, 10);
    OR_DIE(skiff_save_persistables(f->scope, p, temp_path("resume"), NULL, &err));
    train(f, f->exe, 10, 30);
    const char *names[] = {"embedding_0.w_0", "embedding_0.w_0_moment1_0", "fc_0.w_0"};
    float want[3][80];
    size_t n[3] = {80, 80, 15};
    for (int i = 0; i < 3; i++)
        memcpy(want[i], data_of(f->scope, names[i]), n[i] * 4);
    struct skiff_scope *fresh = skiff_scope_create();
    struct skiff_executor *exe = skiff_executor_create(fresh, NULL);
    OR_DIE(skiff_load_persistables(fresh, p, temp_path("resume"), NULL, &err));
    train(f, exe, 10, 30);
    train(f, f->exe, 30, 37); /* leaves rows behind, which the load must not bring back */
    OR_DIE(skiff_load_persistables(f->scope, p, temp_path("resume"), NULL, &err));
    train(f, f->exe, 10, 30);
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < n[i]; k++) {
            float a = data_of(fresh, names[i])[k] - want[i][k];
            float b = data_of(f->scope, names[i])[k] - want[i][k];
            assert_true(a < 1e-5f && a > -1e-5f && b < 1e-5f && b > -1e-5f);
        }
    skiff_executor_destroy(exe);
    skiff_scope_destroy(fresh);
}

static void programs(void **state)
{
    struct fixture *f = *state;
    struct skiff_program *back = NULL;
    OR_DIE(skiff_program_write(skiff_net_main(f->net), temp_path("main.pb"), &err));
    OR_DIE(skiff_program_read(temp_path("main.pb"), &back, &err));
    char *a = skiff_program_text(skiff_net_main(f->net)), *b = skiff_program_text(back);
    assert_string_equal(a, b);
    assert_int_equal(file_write(temp_path("main.txt"), a, strlen(a), NULL), SKIFF_OK);
    skiff_program_destroy(back);
    OR_DIE(skiff_program_read(temp_path("main.txt"), &back, &err));
    skiff_program_destroy(back);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inference_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(training_resumes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
