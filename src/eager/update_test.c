/* Optimizers of eager mode by hand: values, sets of parameters, rows, state, lifetimes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eager/eager.h"

typedef struct skiff_eager_tensor *tensor_p;

static tensor_p make(struct skiff_eager *e, int rows, int cols, float value)
{
    struct skiff_error err;
    tensor_p t = skiff_eager_tensor_create(e);
    struct shape shape = SHAPE(rows, cols);
    assert_int_equal(value_as_tensor(&t->storage->value, DTYPE_FP32, &shape, &err), SKIFF_OK);
    for (int i = 0; i < rows * cols; i++)
        tensor_f32(&t->storage->value.tensor)[i] = value;
    skiff_eager_set_stop_gradient(t, false);
    return t;
}

static float at(tensor_p t, int i)
{
    return tensor_f32(&skiff_eager_value(t)->tensor)[i];
}

static void give_grad(tensor_p t, float value)
{
    const struct shape *s = &t->storage->value.tensor.shape;
    tensor_p g = make(t->engine, (int)s->dims[0], (int)s->dims[1], value);
    skiff_eager_set_grad(t, g);
    skiff_eager_tensor_unref(g);
}

/* Rows 1 and 3 of a table. */
static void give_rows(tensor_p t, float value)
{
    struct skiff_error err;
    tensor_p g = skiff_eager_tensor_create(t->engine);
    const struct shape *s = &t->storage->value.tensor.shape;
    assert_int_equal(value_as_rows(&g->storage->value, DTYPE_FP32, 2, s->dims[1], s->dims[0], &err),
                     SKIFF_OK);
    g->storage->value.sel.rows[0] = 1;
    g->storage->value.sel.rows[1] = 3;
    for (int i = 0; i < 2 * s->dims[1]; i++)
        tensor_f32(&g->storage->value.tensor)[i] = value;
    skiff_eager_set_grad(t, g);
    skiff_eager_tensor_unref(g);
}

static struct skiff_eager_optimizer *optimizer(struct skiff_eager *e, const char *type, int n,
                                               tensor_p *params,
                                               const struct skiff_optimizer_options *o)
{
    static const char *const names[] = {"a", "b", "c"};
    struct skiff_eager_parameter p[3] = {{0}};
    struct skiff_eager_optimizer *opt = NULL;
    struct skiff_error err;
    for (int i = 0; i < n; i++)
        p[i] = (struct skiff_eager_parameter){.tensor = params[i], .name = names[i]};
    assert_int_equal(skiff_eager_optimizer_create(e, type, o, p, n, NULL, &opt, &err), SKIFF_OK);
    return opt;
}

static void step(struct skiff_eager_optimizer *opt, double rate)
{
    struct skiff_error err;
    assert_int_equal(skiff_eager_optimizer_step(opt, rate, &err), SKIFF_OK);
}

static void test_sgd_moves_what_has_a_gradient(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p p[2] = {make(e, 2, 2, 1), make(e, 5, 2, 1)};
    struct skiff_eager_optimizer *opt = optimizer(
        e, "sgd", 2, p, &(struct skiff_optimizer_options){.regularization = skiff_l2_decay(0.5)});
    step(opt, 1); /* no parameter has one */
    assert_true(at(p[0], 0) == 1 && at(p[1], 0) == 1);
    give_grad(p[0], 2);
    step(opt, 0.1);
    assert_true(fabsf(at(p[0], 3) - 0.75f) < 1e-6f && at(p[1], 0) == 1);
    assert_true(at(p[0]->grad, 0) == 2); /* decay leaves the gradient as it was */
    give_rows(p[1], 1);
    p[0]->stop_gradient = true;
    step(opt, 0.1);
    assert_true(fabsf(at(p[0], 3) - 0.75f) < 1e-6f);
    assert_true(fabsf(at(p[1], 2) - 0.85f) < 1e-6f && fabsf(at(p[1], 0) - 0.95f) < 1e-6f);
    p[0]->stop_gradient = false;
    skiff_eager_optimizer_clear_grad(opt, true);
    assert_true(at(skiff_eager_grad_of(p[0]), 0) == 0 && !skiff_eager_grad_of(p[1]));
    skiff_eager_optimizer_clear_grad(opt, false);
    assert_null(skiff_eager_grad_of(p[0]));
    skiff_eager_optimizer_destroy(opt);
    skiff_eager_tensor_unref(p[0]);
    skiff_eager_tensor_unref(p[1]);
    skiff_eager_destroy(e);
}

/* More sets of parameters than are kept; the accumulators are the same in all of them. */
static void test_sets(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p p[3] = {make(e, 1, 1, 0), make(e, 1, 1, 0), make(e, 4, 1, 0)};
    struct skiff_eager_optimizer *opt = optimizer(e, "adagrad", 3, p, NULL);
    int steps[3] = {0};
    for (int i = 0; i < 81; i++) {
        int kinds[3] = {i % 3, i / 3 % 3, i / 9 % 3}; /* none, dense, rows */
        for (int k = 0; k < 3; k++) {
            skiff_eager_set_grad(p[k], NULL);
            if (kinds[k] == 1)
                give_grad(p[k], 1);
            else if (kinds[k] == 2 && k == 2)
                give_rows(p[k], 1);
            steps[k] += kinds[k] == 1;
        }
        step(opt, 0.1);
    }
    const char *name;
    for (int k = 0; k < 3; k++) { /* the sum of squares counts the steps */
        tensor_p deferred_state = skiff_eager_optimizer_accumulator(opt, k, &name);
        assert_true(name[0] == "abc"[k] && !strcmp(name + 1, "_moment_0"));
        assert_true(fabsf(at(deferred_state, 0) - (float)steps[k]) < 1e-4f);
    }
    assert_null(skiff_eager_optimizer_accumulator(opt, 3, &name));
    skiff_eager_optimizer_destroy(opt);
    for (int k = 0; k < 3; k++)
        skiff_eager_tensor_unref(p[k]);
    skiff_eager_destroy(e);
}

/* Deferred rows are flushed when the optimizer is destroyed and when the parameter moves. */
static void test_deferred(void **unused)
{
    float want = 0;
    for (int how = 0; how < 3; how++) {
        struct skiff_eager *e = skiff_eager_create();
        tensor_p p = make(e, 5, 2, 1), other = make(e, 5, 2, 7);
        struct skiff_eager_optimizer *opt = optimizer(e, "adam", 1, &p, NULL);
        give_grad(p, 1); /* every row has a moment */
        step(opt, 0.1);
        for (int i = 0; i < 4; i++) {
            give_rows(p, 1);
            step(opt, 0.1);
            if (how == 0)
                at(p, 0);
        }
        tensor_p seen = skiff_eager_detach(p);
        if (how == 2) { /* a different storage: the old one is flushed first */
            skiff_eager_become(p, other);
            p->stop_gradient = false;
            give_rows(p, 1);
            step(opt, 0.1);
        }
        skiff_eager_optimizer_destroy(opt);
        float found = tensor_f32(&seen->storage->value.tensor)[0]; /* nobody flushes it now */
        assert_true(found < 1.0f - 0.1f);
        if (how == 0)
            want = found;
        assert_true(fabsf(found - want) < 1e-6f);
        skiff_eager_tensor_unref(seen);
        skiff_eager_tensor_unref(other);
        skiff_eager_tensor_unref(p);
        skiff_eager_destroy(e);
    }
}

/* Reading the shape of a parameter does not flush its deferred rows. */
static void test_form(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p p = make(e, 5, 2, 1);
    struct skiff_eager_optimizer *opt = optimizer(e, "adam", 1, &p, NULL);
    give_grad(p, 1);
    step(opt, 0.1);
    const float *memory = tensor_f32(&skiff_eager_value(p)->tensor);
    float before = memory[0];
    for (int i = 0; i < 4; i++) {
        give_rows(p, 1);
        step(opt, 0.1);
        assert_int_equal(skiff_tensor_dim(skiff_eager_form(p), 0), 5);
        assert_string_equal(skiff_tensor_dtype(skiff_eager_form(p)), "float32");
        assert_true(memory[0] == before);
    }
    assert_true(at(p, 0) < before && memory[0] == at(p, 0));
    skiff_eager_optimizer_destroy(opt);
    skiff_eager_tensor_unref(p);
    skiff_eager_destroy(e);
}

static void test_state(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    const char *name;
    tensor_p p = make(e, 1, 2, 1), state = make(e, 1, 2, 3), wrong = make(e, 2, 2, 3);
    struct skiff_eager_optimizer *opt = optimizer(e, "adagrad", 1, &p, NULL);
    const char *names[] = {"a_moment_0"}, *others[] = {"b_moment_0"};
    assert_int_equal(skiff_eager_optimizer_set_state(opt, 1, others, &state, &err), SKIFF_OK);
    give_grad(p, 1);
    assert_int_equal(skiff_eager_optimizer_step(opt, 1, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "a_moment_0 should in state dict"));
    assert_int_equal(skiff_eager_optimizer_set_state(opt, 1, names, &wrong, &err), SKIFF_OK);
    assert_int_equal(skiff_eager_optimizer_step(opt, 1, &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "another model"));
    assert_int_equal(skiff_eager_optimizer_set_state(opt, 1, names, &state, &err), SKIFF_OK);
    step(opt, 1);
    assert_true(at(skiff_eager_optimizer_accumulator(opt, 0, &name), 1) == 4); /* 3 + 1 * 1 */
    assert_int_equal(skiff_eager_optimizer_set_state(opt, 0, NULL, NULL, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "optimizer Tensor a_moment_0 not found"));
    skiff_eager_optimizer_destroy(opt);
    skiff_eager_tensor_unref(p);
    skiff_eager_tensor_unref(state);
    skiff_eager_tensor_unref(wrong);
    skiff_eager_destroy(e);
}

/* epsilon next to the root of the corrected moment (2.x), or of the moment itself (1.x). */
static void test_generations(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    for (int generation = 1; generation <= 2; generation++) {
        tensor_p p = make(e, 1, 1, 1);
        struct skiff_eager_optimizer *opt =
            optimizer(e, "adam", 1, &p,
                      &(struct skiff_optimizer_options){.epsilon = 0.01, .generation = generation});
        give_grad(p, 0.01f);
        step(opt, 0.1);
        double root = sqrt(0.001) * 0.01, factor = generation == 1 ? sqrt(0.001) : 1;
        double want = 1 - 0.1 * factor * 0.01 / (generation == 1 ? root + 0.01 : 0.01 + 0.01);
        assert_true(fabs((double)at(p, 0) - want) < 1e-6);
        skiff_eager_optimizer_destroy(opt);
        skiff_eager_tensor_unref(p);
    }
    skiff_eager_destroy(e);
}

static void test_wrong(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    struct skiff_eager_optimizer *opt = NULL;
    tensor_p p = make(e, 1, 2, 1), q = make(e, 1, 2, 1);
    struct skiff_eager_parameter two[] = {{.tensor = p, .name = "a"}, {.tensor = q, .name = "a"}};
    assert_true(skiff_eager_optimizer_create(e, "adamm", NULL, two, 1, NULL, &opt, &err) ==
                SKIFF_NOT_FOUND);
    assert_true(skiff_eager_optimizer_create(e, "adam",
                                             &(struct skiff_optimizer_options){.beta1 = 2}, two, 1,
                                             NULL, &opt, &err) == SKIFF_INVALID);
    assert_true(skiff_eager_optimizer_create(e, "adam",
                                             &(struct skiff_optimizer_options){.generation = 3},
                                             two, 1, NULL, &opt, &err) == SKIFF_INVALID);
    assert_non_null(strstr(err.message, "generation must be 1 (Paddle 1.x) or 2 (2.x), but is 3"));
    assert_true(skiff_eager_optimizer_create(e, "sgd", NULL, two, 2, NULL, &opt, &err) ==
                SKIFF_INVALID);
    assert_non_null(strstr(err.message, "two parameters have the name a"));
    two[1].tensor = NULL;
    assert_true(skiff_eager_optimizer_create(e, "sgd", NULL, two, 2, NULL, &opt, &err) ==
                SKIFF_INVALID);
    assert_non_null(strstr(err.message, "parameter 1 has no name"));
    assert_null(opt);
    tensor_p empty = skiff_eager_tensor_create(e);
    empty->stop_gradient = false;
    opt = optimizer(e, "sgd", 1, &empty, NULL);
    skiff_eager_set_grad(empty, q);
    assert_int_equal(skiff_eager_optimizer_step(opt, 1, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "parameter a has no value"));
    skiff_eager_optimizer_destroy(opt);
    skiff_eager_tensor_unref(empty);
    skiff_eager_tensor_unref(p);
    skiff_eager_tensor_unref(q);
    skiff_eager_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_moves_what_has_a_gradient),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
