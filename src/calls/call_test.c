/* Functions by name, through the public API, in both modes: values, names, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "calls/row.h"

typedef struct skiff_eager_tensor *tensor_p;

static void fill(struct skiff_tensor *t, const char *dtype, int ndim, const int64_t *dims,
                 const void *data)
{
    struct skiff_error err;
    assert_int_equal(skiff_tensor_resize(t, dtype, ndim, dims, &err), SKIFF_OK);
    size_t size = !strcmp(dtype, "int64") ? 8 : 4;
    memcpy(skiff_tensor_data(t), data, (size_t)skiff_tensor_count(t) * size);
}

static tensor_p make(struct skiff_eager *e, int rows, int columns, const float *values)
{
    tensor_p t = skiff_eager_tensor_create(e);
    fill(skiff_eager_value(t), "float32", 2, (int64_t[]){rows, columns}, values);
    skiff_eager_set_stop_gradient(t, false);
    return t;
}

static void check(const struct skiff_tensor *t, int n, const float *want)
{
    assert_int_equal(skiff_tensor_count(t), n);
    assert_string_equal(skiff_tensor_dtype(t), "float32");
    for (int i = 0; i < n; i++)
        assert_float_equal(((const float *)skiff_tensor_data(t))[i], want[i], 1e-6);
}

/* ---- at once ---- */

static tensor_p call(struct skiff_eager *e, const char *name, int n,
                     const struct skiff_call_arg *args)
{
    struct skiff_error err = {0};
    union skiff_handle out = {0};
    struct skiff_call_target to = {.eager = e};
    if (skiff_call(&to, name, n, args, &out, 1, NULL, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    return out.eager;
}

static void test_eager(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 1, 3, (float[]){-2, 1, 4});
    tensor_p y = call(e, "nn.functional.leaky_relu", 2,
                      (struct skiff_call_arg[]){{NULL, skiff_value_eager(x)},
                                                {"negative_slope", skiff_value_float(0.5)}});
    check(skiff_eager_value(y), 3, (float[]){-1, 1, 4});
    tensor_p sum = call(e, "paddle.sum", 1, (struct skiff_call_arg[]){{"x", skiff_value_eager(y)}});
    check(skiff_eager_value(sum), 1, (float[]){4});
    assert_int_equal(skiff_eager_backward(e, 1, &sum, NULL, false, &err), SKIFF_OK);
    check(skiff_eager_value(skiff_eager_grad_of(x)), 3, (float[]){0.5f, 1, 1});
    int64_t shape[] = {3, -1};
    tensor_p tall = call(e, "reshape", 2,
                         (struct skiff_call_arg[]){{"x", skiff_value_eager(x)},
                                                   {"shape", skiff_value_ints(shape, 2)}});
    assert_int_equal(skiff_tensor_dim(skiff_eager_value(tall), 0), 3);
    tensor_p big =
        call(e, "greater_than", 2,
             (struct skiff_call_arg[]){{"x", skiff_value_eager(x)}, {"y", skiff_value_int(0)}});
    assert_string_equal(skiff_tensor_dtype(skiff_eager_value(big)), "bool");
    assert_memory_equal(skiff_tensor_data(skiff_eager_value(big)), ((char[]){0, 1, 1}), 3);
    tensor_p top =
        call(e, "max", 2,
             (struct skiff_call_arg[]){{"x", skiff_value_eager(x)}, {"axis", skiff_value_int(1)}});
    check(skiff_eager_value(top), 1, (float[]){4});
    assert_int_equal(skiff_tensor_ndim(skiff_eager_value(top)), 1);
    tensor_p all[] = {x, y, sum, tall, big, top};
    for (int i = 0; i < 6; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

/* Several results, lists of results, and results that do not fit the caller's array. */
/* Which functions are one op of tensors. */
static void test_plain(void **unused)
{
    assert_int_equal(function_plain(function_find("nn.functional.relu")), 1);
    assert_int_equal(function_plain(function_find("add")), 2);
    assert_int_equal(function_plain(function_find("sum")), 0);
    assert_int_equal(function_plain(function_find("concat")), 0);
}

static void test_results(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    struct skiff_call_target to = {.eager = e};
    union skiff_handle out[4];
    int n;
    tensor_p x = make(e, 2, 2, (float[]){1, 5, 7, 3});
    struct skiff_call_arg top[] = {{"x", skiff_value_eager(x)}, {"k", skiff_value_int(1)}};
    assert_int_equal(skiff_call(&to, "topk", 2, top, out, 4, &n, &err), SKIFF_OK);
    assert_int_equal(n, 2);
    check(skiff_eager_value(out[0].eager), 2, (float[]){5, 7});
    assert_int_equal(((int64_t *)skiff_tensor_data(skiff_eager_value(out[1].eager)))[1], 0);
    skiff_eager_tensor_unref(out[0].eager);
    skiff_eager_tensor_unref(out[1].eager);
    struct skiff_call_arg rows[] = {{"input", skiff_value_eager(x)}};
    assert_int_equal(skiff_call(&to, "unbind", 1, rows, out, 1, &n, &err), SKIFF_OK);
    assert_int_equal(n, 2); /* one of them fits */
    check(skiff_eager_value(out[0].eager), 2, (float[]){1, 5});
    skiff_eager_tensor_unref(out[0].eager);
    union skiff_handle both[2] = {{.eager = x}, {.eager = x}};
    struct skiff_call_arg pair[] = {{"x", skiff_value_tensors(both, 2)},
                                    {"axis", skiff_value_int(1)}};
    assert_int_equal(skiff_call(&to, "concat", 2, pair, out, 1, &n, &err), SKIFF_OK);
    check(skiff_eager_value(out[0].eager), 8, (float[]){1, 5, 1, 5, 7, 3, 7, 3});
    skiff_eager_tensor_unref(out[0].eager);
    skiff_eager_tensor_unref(x);
    skiff_eager_destroy(e);
}

/* ---- in a program ---- */

static struct skiff_net *make_net(void)
{
    struct skiff_net *net = skiff_net_create();
    skiff_program_set_generation(skiff_net_main(net), 2);
    skiff_program_set_generation(skiff_net_startup(net), 2);
    return net;
}

static struct skiff_var *data(struct skiff_net *net, const char *name, int rows, int columns)
{
    struct skiff_var *v = skiff_block_add_var(skiff_net_block(net), name);
    skiff_var_set_kind(v, "LOD_TENSOR");
    skiff_var_set_dtype(v, "float32");
    skiff_var_set_shape(v, 2, (int64_t[]){rows, columns});
    return v;
}

static struct skiff_var *append(struct skiff_net *net, const char *name, int n,
                                const struct skiff_call_arg *args)
{
    struct skiff_error err = {0};
    union skiff_handle out = {0};
    struct skiff_call_target to = {.net = net};
    if (skiff_call(&to, name, n, args, &out, 1, NULL, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    return out.var;
}

static void run(struct skiff_net *net, const struct skiff_feed *feeds, int nfeeds, const char *name,
                int n, const float *want)
{
    struct skiff_error err = {0};
    struct skiff_tensor *out = NULL;
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    if (skiff_executor_run(exe, skiff_net_main(net), feeds, nfeeds, &name, 1, &out, &err) < 0)
        fail_msg("%s", err.message);
    check(out, n, want);
    skiff_tensor_destroy(out);
    skiff_executor_destroy(exe);
    skiff_scope_destroy(scope);
}

/* linear, then softmax: ops, names and numbers; a name of one's own. */
static void test_program(void **unused)
{
    struct skiff_net *net = make_net();
    struct skiff_error err;
    struct skiff_var *x = data(net, "x", 1, 2), *w = data(net, "w", 2, 2),
                     *b = data(net, "b", 1, 2);
    struct skiff_var *y = append(net, "nn.functional.linear", 3,
                                 (struct skiff_call_arg[]){{NULL, skiff_value_var(x)},
                                                           {NULL, skiff_value_var(w)},
                                                           {"bias", skiff_value_var(b)}});
    assert_string_equal(skiff_var_name(y), "linear_0.tmp_1");
    struct skiff_var *z = append(net, "multiply", 3,
                                 (struct skiff_call_arg[]){{NULL, skiff_value_var(y)},
                                                           {NULL, skiff_value_var(y)},
                                                           {"name", skiff_value_text("squares")}});
    assert_string_equal(skiff_var_name(z), "squares");
    assert_int_equal(skiff_block_ops(skiff_net_block(net)), 3);
    assert_string_equal(skiff_op_type(skiff_block_op(skiff_net_block(net), 0)), "matmul_v2");
    struct skiff_feed feeds[3] = {{"x", NULL}, {"w", NULL}, {"b", NULL}};
    static const float values[3][4] = {{1, 2}, {1, 2, 3, 4}, {10, 20}};
    for (int i = 0; i < 3; i++) {
        int64_t dims[] = {i == 1 ? 2 : 1, 2};
        struct skiff_tensor *t = skiff_tensor_create("float32", 2, dims, &err);
        fill(t, "float32", 2, dims, values[i]);
        feeds[i].tensor = t;
    }
    run(net, feeds, 3, "squares", 2, (float[]){17 * 17, 30 * 30});
    for (int i = 0; i < 3; i++)
        skiff_tensor_destroy((struct skiff_tensor *)feeds[i].tensor);
    skiff_net_destroy(net);
}

/* What has no gradient, a constant, gives none; sizes that are tensors become inputs. */
static void test_constants(void **unused)
{
    struct skiff_net *net = make_net();
    struct skiff_var *two =
        append(net, "full", 3,
               (struct skiff_call_arg[]){{"shape", skiff_value_ints((int64_t[]){1}, 1)},
                                         {"fill_value", skiff_value_int(2)},
                                         {"dtype", skiff_value_text("int32")}});
    assert_string_equal(skiff_var_name(two), "fill_constant_1.tmp_0");
    assert_true(skiff_var_stop_gradient(two));
    struct skiff_value mixed = skiff_value_ints((int64_t[]){-1, 3}, 2);
    union skiff_handle tensors[2] = {{.var = two}, {.var = NULL}};
    mixed.kind = SKIFF_VALUE_MIXED;
    mixed.n = 2;
    mixed.tensors = tensors;
    struct skiff_var *ones = append(net, "ones", 1, (struct skiff_call_arg[]){{"shape", mixed}});
    run(net, NULL, 0, skiff_var_name(ones), 6, (float[]){1, 1, 1, 1, 1, 1});
    skiff_net_destroy(net);
}

/* Functions that call others: what is kept, names, conditions. */
static void test_steps(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_net *net = make_net();
    tensor_p x = make(e, 1, 2, (float[]){1, 5}), y = make(e, 1, 2, (float[]){3, 1});
    struct skiff_call_arg now[] = {{NULL, skiff_value_eager(x)},
                                   {NULL, skiff_value_eager(y)},
                                   {"reduction", skiff_value_text("sum")}};
    tensor_p loss = call(e, "nn.functional.mse_loss", 3, now);
    check(skiff_eager_value(loss), 1, (float[]){4 + 16});
    skiff_eager_tensor_unref(loss);
    now[2].value = skiff_value_text("none");
    loss = call(e, "nn.functional.l1_loss", 3, now);
    check(skiff_eager_value(loss), 2, (float[]){2, 4});
    struct skiff_var *a = data(net, "a", 1, 2), *b = data(net, "b", 1, 2);
    struct skiff_call_arg later[] = {
        {NULL, skiff_value_var(a)}, {NULL, skiff_value_var(b)}, {"name", skiff_value_text("loss")}};
    struct skiff_var *mean = append(net, "nn.functional.mse_loss", 3, later);
    assert_string_equal(skiff_var_name(mean), "loss.tmp_0");
    assert_int_equal(skiff_block_ops(skiff_net_block(net)), 3);
    struct skiff_var *norm = append(net, "nn.functional.normalize", 1,
                                    (struct skiff_call_arg[]){{NULL, skiff_value_var(a)}});
    assert_string_equal(skiff_var_name(norm), "elementwise_div_0");
    assert_int_equal(skiff_block_ops(skiff_net_block(net)), 3 + 4);
    tensor_p all[] = {x, y, loss};
    for (int i = 0; i < 3; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_net_destroy(net);
    skiff_eager_destroy(e);
}

/* Windows: a number, numbers, a word; one result or two. */
static void test_windows(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_call_target to = {.eager = e};
    struct skiff_error err;
    union skiff_handle out[2];
    int n;
    tensor_p x = make(e, 1, 4, (float[]){1, 2, 4, 3}), w = make(e, 1, 1, (float[]){2});
    skiff_tensor_resize(skiff_eager_value(x), "float32", 4, (int64_t[]){1, 1, 2, 2}, &err);
    skiff_tensor_resize(skiff_eager_value(w), "float32", 4, (int64_t[]){1, 1, 1, 1}, &err);
    memcpy(skiff_tensor_data(skiff_eager_value(x)), (float[]){1, 2, 4, 3}, 16);
    memcpy(skiff_tensor_data(skiff_eager_value(w)), (float[]){2}, 4);
    struct skiff_call_arg conv[] = {{NULL, skiff_value_eager(x)},
                                    {NULL, skiff_value_eager(w)},
                                    {"padding", skiff_value_text("SAME")},
                                    {"stride", skiff_value_int(1)}};
    tensor_p y = call(e, "nn.functional.conv2d", 4, conv);
    check(skiff_eager_value(y), 4, (float[]){2, 4, 8, 6});
    skiff_eager_tensor_unref(y);
    conv[2].value = skiff_value_ints((int64_t[]){0, 1}, 2);
    y = call(e, "nn.functional.conv2d", 4, conv);
    check(skiff_eager_value(y), 8, (float[]){0, 2, 4, 0, 0, 8, 6, 0});
    skiff_eager_tensor_unref(y);
    struct skiff_call_arg pool[] = {{NULL, skiff_value_eager(x)},
                                    {"kernel_size", skiff_value_int(2)},
                                    {"return_mask", skiff_value_bool(true)}};
    for (int capacity = 0; capacity < 3; capacity++) { /* results that do not fit are released */
        assert_int_equal(
            skiff_call(&to, "nn.functional.max_pool2d", 3, pool, out, capacity, &n, &err),
            SKIFF_OK);
        assert_int_equal(n, 2);
        if (capacity)
            check(skiff_eager_value(out[0].eager), 1, (float[]){4});
        for (int i = 0; i < capacity; i++)
            skiff_eager_tensor_unref(out[i].eager);
    }
    assert_int_equal(skiff_call(&to, "nn.functional.max_pool2d", 2, pool, out, 2, &n, &err),
                     SKIFF_OK);
    assert_int_equal(n, 1);
    skiff_eager_tensor_unref(out[0].eager);
    skiff_eager_tensor_unref(x);
    skiff_eager_tensor_unref(w);
    skiff_eager_destroy(e);
}

/* ---- refusals ---- */

static void refuse(const struct skiff_call_target *to, const char *name, int n,
                   const struct skiff_call_arg *args, enum skiff_status code, const char *text)
{
    struct skiff_error err = {0};
    union skiff_handle out;
    assert_int_equal(skiff_call(to, name, n, args, &out, 1, NULL, &err), code);
    if (!strstr(err.message, text))
        fail_msg("expected '%s', got '%s'", text, err.message);
}

static void test_refusals(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_net *net = skiff_net_create();
    struct skiff_call_target to = {.eager = e}, neither = {0}, old = {.net = net};
    tensor_p x = make(e, 1, 2, (float[]){1, 2});
    struct skiff_value v = skiff_value_eager(x), number = skiff_value_int(1);
    struct skiff_call_arg one[] = {{NULL, v}}, wrong[] = {{NULL, number}},
                          twice[] = {{NULL, v}, {"x", v}}, unknown[] = {{NULL, v}, {"ax", number}},
                          many[] = {{NULL, v}, {NULL, v}, {NULL, v}};
    refuse(&to, "nn.functional.rellu", 1, one, SKIFF_NOT_FOUND,
           "the nearest is nn.functional.relu");
    refuse(&to, "abs", 0, NULL, SKIFF_INVALID, "abs(x, name=None): the argument x is needed");
    refuse(&to, "abs", 1, wrong, SKIFF_DTYPE, "the argument x must be a tensor, but is LONG");
    refuse(&to, "abs", 2, twice, SKIFF_INVALID, "the argument x is given twice");
    refuse(&to, "abs", 2, unknown, SKIFF_INVALID, "abs(x, name=None) has no argument ax");
    refuse(&to, "abs", 3, many, SKIFF_INVALID, "has no argument more");
    struct skiff_call_arg axis[] = {{NULL, v}, {"axis", skiff_value_ints((int64_t[]){5}, 1)}};
    refuse(&to, "max", 2, axis, SKIFF_INVALID, "the axis 5 is not in the range [-2, 2)");
    struct skiff_call_arg text[] = {{NULL, v}, {"axis", skiff_value_text("a")}},
                          half[] = {{NULL, v}, {"k", skiff_value_float(1.5)}},
                          none[] = {{NULL, skiff_value_empty(SKIFF_VALUE_NONE)}};
    refuse(&to, "max", 2, text, SKIFF_DTYPE, "the argument axis must be LONGS, but is STRING");
    refuse(&to, "topk", 2, half, SKIFF_DTYPE, "the argument k must be a tensor or a number");
    refuse(&to, "abs", 1, none, SKIFF_DTYPE, "the argument x must be a tensor, but is None");
    struct skiff_call_arg loss[] = {{NULL, v}, {NULL, v}, {"reduction", skiff_value_text("all")}};
    refuse(
        &to, "nn.functional.mse_loss", 3, loss, SKIFF_INVALID,
        "The value of 'reduction' in mse_loss should be 'sum', 'mean' or 'none', but received all");
    refuse(&neither, "abs", 1, one, SKIFF_INVALID, "the target must be an engine or a net");
    refuse(&old, "abs", 1, one, SKIFF_STATE, "skiff_program_set_generation");
    to.reserved[0] = 1;
    refuse(&to, "abs", 1, one, SKIFF_INVALID, "skiff_call_target");
    skiff_eager_tensor_unref(x);
    skiff_net_destroy(net);
    skiff_eager_destroy(e);
}

/* Every row is valid (an invalid one would have ended the process) and has a description. */
static void test_rows(void **unused)
{
    struct skiff_function_info f;
    int n = skiff_function_count(), relu = 0;
    assert_true(n > 150);
    for (int i = 0; i < n; i++) {
        assert_true(skiff_function_at(i, &f));
        assert_true(f.name[0] && f.text[0] && f.ops[0] && f.module[0]);
        if (!strcmp(f.name, "nn.functional.relu")) {
            assert_string_equal(f.arguments, "x, name=None");
            assert_string_equal(f.module, "nn.functional.activation");
            relu++;
        }
    }
    assert_int_equal(relu, 1);
    assert_false(skiff_function_at(n, &f));
}

/* ---- functions of fluid ---- */

static struct skiff_var *fluid(struct skiff_net *net, const char *name, int n,
                               const struct skiff_call_arg *args)
{
    struct skiff_error err = {0};
    union skiff_handle out = {0};
    struct skiff_call_target to = {.net = net};
    if (skiff_call(&to, name, n, args, &out, 1, NULL, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    return out.var;
}

static void fluid_refused(const struct skiff_call_target *to, const char *name, int n,
                          const struct skiff_call_arg *args, const char *want)
{
    struct skiff_error err = {0};
    union skiff_handle out;
    assert_true(skiff_call(to, name, n, args, &out, 1, NULL, &err) < 0);
    assert_string_equal(err.message, want);
}

static void test_fluid(void **unused)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(8));
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_param_attr w = {.name = "slopes"};
    struct skiff_call_arg args[] = {{NULL, skiff_value_var(x)},
                                    {NULL, skiff_value_text("all")},
                                    {"param_attr", skiff_value_param(&w)}};
    assert_string_equal(skiff_var_name(fluid(net, "fluid.layers.prelu", 3, args)), "prelu_0.tmp_0");
    assert_non_null(skiff_block_find_var(skiff_net_block(net), "slopes"));
    struct skiff_var *power =
        fluid(net, "fluid.layers.pow", 2,
              (struct skiff_call_arg[]){{NULL, skiff_value_var(x)}, {NULL, skiff_value_int(3)}});
    assert_string_equal(skiff_var_name(power), "pow_0.tmp_0");
    assert_false(skiff_var_stop_gradient(power));
    struct skiff_call_target to = {.net = net};
    args[1].value = skiff_value_text("some");
    fluid_refused(&to, "fluid.layers.prelu", 3, args,
                  "mode should be one of all, channel, element.");
    args[0].value = skiff_value_var(ids);
    fluid_refused(&to, "fluid.layers.relu", 1, args,
                  "The data type of 'x' in relu must be float16, float32, float64, but received "
                  "int64.");
    struct skiff_eager *e = skiff_eager_create();
    fluid_refused(&(struct skiff_call_target){.eager = e}, "fluid.layers.relu", 1, args,
                  "fluid.layers.relu appends to programs: the target must be a net, not an "
                  "engine");
    skiff_eager_destroy(e);
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eager),     cmocka_unit_test(test_plain),
        cmocka_unit_test(test_results),   cmocka_unit_test(test_program),
        cmocka_unit_test(test_constants), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_windows),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_fluid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
