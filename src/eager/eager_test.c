/* Eager mode by hand: values, gradients, accumulation, hooks, in-place writes, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "eager/eager.h"
#include "program/program.h"

typedef struct skiff_eager_tensor *tensor_p;

static tensor_p make(struct skiff_eager *e, int n, const float *values, bool trained)
{
    tensor_p t = skiff_eager_tensor_create(e);
    struct skiff_error err;
    struct shape shape = SHAPE(n);
    assert_int_equal(value_as_tensor(&t->storage->value, DTYPE_FP32, &shape, &err), SKIFF_OK);
    memcpy(t->storage->value.tensor.data, values, (size_t)n * sizeof(float));
    skiff_eager_set_stop_gradient(t, !trained);
    return t;
}

static tensor_p call2(struct skiff_eager *e, const char *type, tensor_p x, tensor_p y)
{
    tensor_p out = skiff_eager_tensor_create(e);
    struct skiff_op_arg ins[2] = {{"X", 1, &x}, {"Y", 1, &y}}, outs[1] = {{"Out", 1, &out}};
    struct skiff_error err;
    struct skiff_op_call c = {type, ins, outs, y ? 2 : 1, 1, NULL, 0};
    assert_int_equal(skiff_eager_op(e, &c, &err), SKIFF_OK);
    return out;
}

static float at(tensor_p t, int i)
{
    return tensor_f32(&t->storage->value.tensor)[i];
}

/* d/dx (x * x + x * y) = 2 x + y; the second backward accumulates. */
static void test_accumulates(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 2, (float[]){3, -1}, true), y = make(e, 2, (float[]){10, 20}, false);
    for (int i = 1; i <= 2; i++) {
        tensor_p a = call2(e, "elementwise_mul", x, x), b = call2(e, "elementwise_mul", x, y);
        tensor_p sum = call2(e, "elementwise_add", a, b);
        assert_true(!skiff_eager_is_leaf(sum) && !skiff_eager_stop_gradient(sum));
        assert_int_equal(skiff_eager_backward(e, 1, &sum, NULL, false, &err), SKIFF_OK);
        assert_true(at(x->grad, 0) == 16.0f * (float)i && at(x->grad, 1) == 18.0f * (float)i);
        assert_true(!y->grad);
        assert_true(skiff_eager_backward(e, 1, &sum, NULL, false, &err) == SKIFF_STATE);
        assert_true(strstr(err.message, "second time"));
        skiff_eager_tensor_unref(a);
        skiff_eager_tensor_unref(b);
        skiff_eager_tensor_unref(sum);
    }
    skiff_eager_tensor_unref(x);
    skiff_eager_tensor_unref(y);
    skiff_eager_destroy(e);
}

/* A bound call: tensors by number, with gradients; it outlives the cache's other calls. */
static void test_bound(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 2, (float[]){3, -1}, true), y = make(e, 2, (float[]){10, 20}, true);
    struct skiff_op_arg ins[2] = {{"Y", 1, &y}, {"X", 1, &x}}, out = {"Out", 1, &x};
    struct skiff_op_call call = {"elementwise_sub", ins, &out, 2, 1, NULL, 0};
    struct skiff_eager_bound *sub = skiff_eager_bind(e, &call, &err);
    assert_non_null(sub);
    for (int i = 1; i <= 3; i++) {
        tensor_p tensors[] = {x, y, skiff_eager_tensor_create(e)}; /* X, Y: as the op has them */
        assert_int_equal(skiff_eager_run_bound(e, sub, tensors, &err), SKIFF_OK);
        assert_true(at(tensors[2], 0) == -7 && at(tensors[2], 1) == -21);
        assert_int_equal(skiff_eager_backward(e, 1, &tensors[2], NULL, false, &err), SKIFF_OK);
        assert_true(at(x->grad, 1) == (float)i && at(y->grad, 1) == (float)-i);
        skiff_eager_tensor_unref(tensors[2]);
    }
    tensor_p empty[] = {x, skiff_eager_tensor_create(e), skiff_eager_tensor_create(e)};
    assert_int_equal(skiff_eager_run_bound(e, sub, empty, &err), SKIFF_STATE);
    assert_true(strstr(err.message, "input Y: the tensor has no value"));
    call.type = "no_such_op";
    assert_null(skiff_eager_bind(e, &call, &err));
    skiff_eager_unbind(sub);
    skiff_eager_unbind(NULL);
    tensor_p all[] = {x, y, empty[1], empty[2]};
    for (int i = 0; i < 4; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

/* grad() of an interior tensor and of a leaf: leaves keep their gradients; an unused input is
 * reported. */
static void test_grad(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 1, (float[]){3}, true), other = make(e, 1, (float[]){1}, true);
    tensor_p sq = call2(e, "square", x, NULL), out = call2(e, "elementwise_mul", sq, sq);
    tensor_p from[3] = {x, sq, other}, got[3];
    struct skiff_eager_grad_options o = {.retain_graph = true};
    assert_true(skiff_eager_grad(e, 1, &out, 3, from, &o, got, &err) == SKIFF_INVALID);
    assert_true(strstr(err.message, "2-th input"));
    assert_int_equal(skiff_eager_grad(e, 1, &out, 2, from, &o, got, &err), SKIFF_OK);
    assert_true(at(got[0], 0) == 108 && at(got[1], 0) == 18 && !x->grad); /* 4 x^3, 2 x^2 */
    skiff_eager_tensor_unref(got[0]);
    skiff_eager_tensor_unref(got[1]);
    tensor_p all[] = {x, other, sq, out};
    for (int i = 0; i < 4; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

static tensor_p twice(void *user, tensor_p grad, bool *failed, struct skiff_error *err)
{
    ++*(int *)user;
    tensor_p g = call2(grad->engine, "elementwise_add", grad, grad);
    return g;
}

static void test_hooks(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    int calls = 0;
    tensor_p x = make(e, 1, (float[]){5}, true);
    int64_t number = skiff_eager_add_hook(x, twice, &calls, NULL);
    assert_true(number > 0);
    tensor_p y = call2(e, "elementwise_mul", x, x);
    skiff_eager_retain_grad(y);
    assert_int_equal(skiff_eager_backward(e, 1, &y, NULL, true, &err), SKIFF_OK);
    assert_true(calls == 1 && at(x->grad, 0) == 20 && at(y->grad, 0) == 1); /* 2 * (x + x) */
    assert_true(skiff_eager_remove_hook(x, number) && !skiff_eager_remove_hook(x, number));
    assert_int_equal(skiff_eager_backward(e, 1, &y, NULL, false, &err), SKIFF_OK);
    assert_true(calls == 1 && at(x->grad, 0) == 30);
    skiff_eager_set_stop_gradient(x, true);
    assert_true(!skiff_eager_add_hook(x, twice, &calls, NULL));
    skiff_eager_tensor_unref(x);
    skiff_eager_tensor_unref(y);
    skiff_eager_destroy(e);
}

/* 1.x: every tensor keeps its gradient, and the next backward replaces it. */
static void test_generation_1(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    assert_int_equal(skiff_eager_set_generation(e, 1), 2);
    tensor_p x = make(e, 1, (float[]){5}, true);
    for (int i = 0; i < 2; i++) {
        tensor_p y = call2(e, "elementwise_mul", x, x), z = call2(e, "square", y, NULL);
        assert_int_equal(skiff_eager_backward(e, 1, &z, NULL, false, &err), SKIFF_OK);
        assert_true(at(z->grad, 0) == 1 && at(y->grad, 0) == 50 && at(x->grad, 0) == 500);
        skiff_eager_tensor_unref(y);
        skiff_eager_tensor_unref(z);
    }
    skiff_eager_tensor_unref(x);
    skiff_eager_destroy(e);
}

/* Overwriting a value that backward needs is an error that names op and input. */
static void test_overwritten(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 1, (float[]){5}, true), y = make(e, 1, (float[]){2}, false);
    tensor_p out = call2(e, "elementwise_mul", x, y);
    skiff_eager_touched(y);
    assert_true(skiff_eager_backward(e, 1, &out, NULL, false, &err) == SKIFF_STATE);
    assert_true(strstr(err.message, "elementwise_mul") && strstr(err.message, "input Y"));
    tensor_p all[] = {x, y, out};
    for (int i = 0; i < 3; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

struct kept {
    struct skiff_eager_packed base;
    tensor_p tensor;
};

static tensor_p kept_unpack(struct skiff_eager_packed *p, struct skiff_error *err)
{
    return skiff_eager_tensor_ref(((struct kept *)p)->tensor);
}

static void kept_end(struct skiff_eager_packed *p)
{
    skiff_eager_tensor_unref(((struct kept *)p)->tensor);
    free(p);
}

static struct skiff_eager_packed *keep(void *user, tensor_p t, struct skiff_error *err)
{
    struct kept *k = calloc(1, sizeof *k);
    *k = (struct kept){{kept_unpack, kept_end}, skiff_eager_tensor_ref(t)};
    ++*(int *)user;
    return &k->base;
}

/* y = x + x; y *= x by an op that writes in place: the old y is lost, also with hooks on saved
 * tensors. */
static void test_overwritten_by_itself(void **unused)
{
    for (int hooks = 0; hooks <= 1; hooks++) {
        struct skiff_eager *e = skiff_eager_create();
        struct skiff_error err = {0};
        int packed = 0;
        tensor_p x = make(e, 1, (float[]){3}, true), y = call2(e, "elementwise_add", x, x);
        skiff_eager_set_pack(e, (struct skiff_eager_pack){hooks ? keep : NULL, &packed});
        struct skiff_op_arg ins[] = {{"X", 1, &y}, {"Y", 1, &x}}, outs[] = {{"Out", 1, &y}};
        struct skiff_op_call call = {"elementwise_mul", ins, outs, 2, 1, NULL, 0};
        assert_int_equal(skiff_eager_op(e, &call, &err), SKIFF_OK);
        assert_true(at(y, 0) == 18 && packed == hooks); /* of x */
        assert_true(skiff_eager_backward(e, 1, &y, NULL, false, &err) == SKIFF_STATE);
        assert_true(strstr(err.message, "op elementwise_mul: input X was changed in place"));
        skiff_eager_tensor_unref(x);
        skiff_eager_tensor_unref(y);
        skiff_eager_destroy(e);
    }
}

static void test_noting(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p x = make(e, 1, (float[]){5}, true);
    assert_true(skiff_eager_set_noting(e, false));
    tensor_p y = call2(e, "square", x, NULL);
    assert_true(skiff_eager_stop_gradient(y) && skiff_eager_is_leaf(y) &&
                !skiff_eager_set_noting(e, true));
    skiff_eager_tensor_unref(x);
    skiff_eager_tensor_unref(y);
    skiff_eager_destroy(e);
}

static enum skiff_status count_op(void *user, const char *op, int n, tensor_p const *outs,
                                  struct skiff_error *err)
{
    int *seen = user;
    assert_true(n >= 1 && outs[0]);
    seen[!strcmp(op, "square") ? 0 : !strcmp(op, "square_grad") ? 1 : 2]++;
    if (seen[0] < 3)
        return SKIFF_OK;
    snprintf(err->message, sizeof err->message, "enough of %s", op);
    return err->code = SKIFF_STATE;
}

/* An observer sees ops of both directions, and can fail them. */
static void test_observer(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    int seen[3] = {0};
    tensor_p x = make(e, 1, (float[]){5}, true);
    skiff_eager_set_observer(e, count_op, seen);
    tensor_p y = call2(e, "square", x, NULL), z = call2(e, "square", y, NULL);
    assert_int_equal(skiff_eager_backward(e, 1, &z, NULL, false, &err), SKIFF_OK);
    assert_true(seen[0] == 2 && seen[1] == 2);
    tensor_p out = skiff_eager_tensor_create(e);
    struct skiff_op_arg in = {"X", 1, &x}, to = {"Out", 1, &out};
    struct skiff_op_call c = {"square", &in, &to, 1, 1, NULL, 0};
    assert_int_equal(skiff_eager_op(e, &c, &err), SKIFF_STATE);
    assert_string_equal(err.message, "enough of square");
    skiff_eager_set_observer(e, NULL, NULL);
    assert_int_equal(skiff_eager_op(e, &c, &err), SKIFF_OK);
    assert_int_equal(seen[0], 3);
    tensor_p all[] = {x, y, z, out};
    for (int i = 0; i < 4; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

/* Freeing a chain of 200,000 ops needs no deep stack, and 10,000 steps take no more memory than
 * the first ones. */
static void test_memory(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    float one[64] = {0};
    tensor_p x = make(e, 64, one, true), chain = skiff_eager_tensor_ref(x);
    for (int i = 0; i < 200000; i++) {
        tensor_p next = call2(e, "elementwise_add", chain, x);
        skiff_eager_tensor_unref(chain);
        chain = next;
    }
    skiff_eager_tensor_unref(chain);
    uint64_t allocations = 0;
    for (int i = 0; i < 10000; i++) {
        tensor_p a = call2(e, "elementwise_mul", x, x), b = call2(e, "square", a, NULL);
        assert_int_equal(skiff_eager_backward(e, 1, &b, NULL, false, &err), SKIFF_OK);
        skiff_eager_set_grad(x, NULL);
        skiff_eager_tensor_unref(a);
        skiff_eager_tensor_unref(b);
        if (i == 10)
            allocations = mem_alloc_count();
    }
    assert_true(mem_alloc_count() == allocations);
    skiff_eager_tensor_unref(x);
    skiff_eager_destroy(e);
}

/* One op on a large and a small tensor in turn: each result has memory of its own size. */
static void test_sizes_in_turn(void **unused)
{
    enum { LARGE = 1 << 18 };
    static float zeros[LARGE];
    struct skiff_eager *e = skiff_eager_create();
    tensor_p large = make(e, LARGE, zeros, false), small = make(e, 4, zeros, false), kept[32];
    uint64_t allocations = 0;
    for (int step = 0; step < 20; step++) {
        size_t before = mem_in_use();
        for (int i = 0; i < 32; i++) {
            skiff_eager_tensor_unref(call2(e, "square", large, NULL));
            kept[i] = call2(e, "square", small, NULL);
        }
        assert_true(mem_in_use() < before + 2 * sizeof(zeros));
        for (int i = 0; i < 32; i++)
            skiff_eager_tensor_unref(kept[i]);
        if (step == 1)
            allocations = mem_alloc_count();
    }
    assert_true(mem_alloc_count() == allocations);
    skiff_eager_tensor_unref(large);
    skiff_eager_tensor_unref(small);
    skiff_eager_destroy(e);
}

static void test_errors(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 2, (float[]){1, 2}, true), y = make(e, 3, (float[]){1, 2, 3}, false);
    tensor_p out = skiff_eager_tensor_create(e), none = skiff_eager_tensor_create(e);
    struct skiff_op_arg ins[2] = {{"X", 1, &x}, {"Y", 1, &y}}, to = {"Out", 1, &out};
    struct skiff_op_call c = {"elementwise_add", ins, &to, 2, 1, NULL, 0};
    assert_true(skiff_eager_op(e, &c, &err) == SKIFF_SHAPE);
    c.type = "elementwise_ad";
    assert_true(skiff_eager_op(e, &c, &err) == SKIFF_UNSUPPORTED &&
                strstr(err.message, "elementwise_add"));
    c.type = "while";
    assert_true(skiff_eager_op(e, &c, &err) == SKIFF_UNSUPPORTED);
    c.type = "square";
    ins[0].tensors = &none;
    c.nins = 1;
    assert_true(skiff_eager_op(e, &c, &err) == SKIFF_STATE && strstr(err.message, "no value"));
    c.nins = 0;
    assert_true(skiff_eager_op(e, &c, &err) == SKIFF_INVALID && strstr(err.message, "input X"));
    tensor_p all[] = {x, y, out, none};
    for (int i = 0; i < 4; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

/* y = square(x) * w, traced by hand; run twice, with gradients; the second part without any. */
static void test_replay(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    struct skiff_program *p = program_create();
    skiff_program_set_generation(p, 2);
    struct skiff_block *b = program_root(p);
    const char *lines[][4] = {{"square", "x", NULL, "s"}, {"elementwise_mul", "s", "w", "y"}};
    for (int i = 0; i < 2; i++) {
        struct skiff_op *op = skiff_block_insert_op(b, -1, lines[i][0]);
        op_set_in(p, op, "X", 1, &lines[i][1]);
        if (lines[i][2])
            op_set_in(p, op, "Y", 1, &lines[i][2]);
        op_set_out(p, op, "Out", 1, &lines[i][3]);
        assert_int_equal(skiff_op_finish(b, op, SKIFF_NO_INFER, &err), SKIFF_OK);
    }
    struct skiff_eager_replay *r = NULL, *none = NULL;
    const char *ins[] = {"x", "w"}, *outs[] = {"y", "x"}, *wrong[] = {"z"};
    assert_int_equal(skiff_eager_replay_create(e, p, 2, ins, 2, outs, &r, &err), SKIFF_OK);
    assert_true(skiff_eager_replay_create(e, p, 1, ins, 1, outs, &none, &err) == SKIFF_STATE);
    assert_true(strstr(err.message, "reads variable w"));
    assert_true(skiff_eager_replay_create(e, p, 2, ins, 1, wrong, &none, &err) == SKIFF_STATE);
    assert_true(strstr(err.message, "its result z"));
    program_destroy(p);
    tensor_p x = make(e, 2, (float[]){3, -1}, false), w = make(e, 2, (float[]){10, 20}, true);
    for (int i = 1; i <= 2; i++) {
        tensor_p in[] = {x, w}, out[2];
        assert_int_equal(skiff_eager_replay_run(r, in, out, &err), SKIFF_OK);
        assert_true(at(out[0], 0) == 90.0f && at(out[0], 1) == 20.0f && out[1] == x);
        assert_int_equal(skiff_eager_backward(e, 1, out, NULL, false, &err), SKIFF_OK);
        assert_true(at(w->grad, 0) == 9.0f * (float)i && at(w->grad, 1) == 1.0f * (float)i);
        skiff_eager_tensor_unref(out[0]);
        skiff_eager_tensor_unref(out[1]);
    }
    skiff_eager_tensor_unref(x);
    skiff_eager_tensor_unref(w);
    skiff_eager_replay_destroy(r);
    skiff_eager_destroy(e);
}

/* y = 2 x; y *= y in place: backward reads the y before the write. A tensor that shares the
 * memory sees the new value; a node that read the old y before reports an error. */
static void test_in_place(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 1, (float[]){3}, true), y = call2(e, "elementwise_add", x, x);
    tensor_p twin = skiff_eager_detach(y);
    uint64_t mark = skiff_eager_tape_position(e);
    tensor_p squared = call2(e, "elementwise_mul", y, y);
    skiff_eager_take(y, squared, mark);
    assert_true(at(y, 0) == 36 && at(twin, 0) == 36 && skiff_eager_version(y) == 1);
    assert_int_equal(skiff_eager_backward(e, 1, &y, NULL, true, &err), SKIFF_OK);
    assert_true(at(x->grad, 0) == 24); /* 8 x */
    tensor_p after = call2(e, "square", y, NULL), other = call2(e, "elementwise_add", y, x);
    skiff_eager_take(y, other, skiff_eager_tape_position(e));
    assert_true(skiff_eager_backward(e, 1, &after, NULL, false, &err) == SKIFF_STATE);
    assert_true(strstr(err.message, "op square: input X was changed in place"));
    tensor_p all[] = {x, y, twin, squared, after, other};
    for (int i = 0; i < 6; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

static void test_cleared(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 1, (float[]){3}, true);
    skiff_eager_clear_grad(x, true);
    assert_null(skiff_eager_grad_of(x));
    for (int i = 0; i < 2; i++) {
        tensor_p y = call2(e, "square", x, NULL);
        assert_int_equal(skiff_eager_backward(e, 1, &y, NULL, false, &err), SKIFF_OK);
        assert_true(at(skiff_eager_grad_of(x), 0) == 6);
        skiff_eager_clear_grad(x, true);
        assert_null(x->grad); /* not requested yet */
        skiff_eager_tensor_unref(y);
    }
    tensor_p zeros = skiff_eager_tensor_ref(skiff_eager_grad_of(x));
    assert_true(at(zeros, 0) == 0);
    tensor_f32(&zeros->storage->value.tensor)[0] = 42;
    skiff_eager_clear_grad(x, true); /* we hold it, so we see it */
    assert_true(at(zeros, 0) == 0 && skiff_eager_grad_of(x) == zeros);
    skiff_eager_clear_grad(x, false);
    assert_null(skiff_eager_grad_of(x));
    skiff_eager_tensor_unref(zeros);
    skiff_eager_tensor_unref(x);
    skiff_eager_destroy(e);
}

/* d2/dx2 (x * x * x) = 6 x; an op without a second derivative reports it. */
static void test_second_order(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    struct skiff_eager_grad_options create = {.create_graph = true}, plain = {0};
    tensor_p x = make(e, 1, (float[]){3}, true), sq = call2(e, "square", x, NULL);
    tensor_p cube = call2(e, "elementwise_mul", sq, x), first, second, third;
    assert_int_equal(skiff_eager_grad(e, 1, &cube, 1, &x, &create, &first, &err), SKIFF_OK);
    assert_int_equal(skiff_eager_grad(e, 1, &first, 1, &x, &create, &second, &err), SKIFF_OK);
    assert_int_equal(skiff_eager_grad(e, 1, &second, 1, &x, &plain, &third, &err), SKIFF_OK);
    assert_true(at(first, 0) == 27 && at(second, 0) == 18 && at(third, 0) == 6);
    tensor_p selu = call2(e, "selu", x, NULL), none;
    assert_true(skiff_eager_grad(e, 1, &selu, 1, &x, &create, &none, &err) == SKIFF_STATE);
    assert_true(!none && strstr(err.message, "op selu_grad doesn't have any grad op"));
    tensor_p all[] = {x, sq, cube, first, second, third, selu};
    for (int i = 0; i < 7; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

/* Messages name tensors by name and shape; a list of inputs keeps its order. */
static void test_names(void **unused)
{
    struct skiff_eager *e = skiff_eager_create();
    struct skiff_error err;
    tensor_p x = make(e, 2, (float[]){1, 2}, false), y = make(e, 3, (float[]){1, 2, 3}, false);
    tensor_p out = skiff_eager_tensor_create(e), both[2] = {x, y};
    struct skiff_op_arg ins[2] = {{"X", 1, &x}, {"Y", 1, &y}}, outs[1] = {{"Out", 1, &out}};
    struct skiff_op_arg list[1] = {{"X", 2, both}};
    struct skiff_op_call add = {"elementwise_add", ins, outs, 2, 1, NULL, 0};
    struct skiff_op_call sum = {"sum", list, outs, 1, 1, NULL, 0};
    assert_null(skiff_eager_name(x));
    skiff_eager_set_name(x, "first");
    skiff_eager_set_name(x, "clicks");
    assert_string_equal(skiff_eager_name(x), "clicks");
    assert_true(skiff_eager_op(e, &add, &err) < 0);
    assert_string_equal(err.message, "op elementwise_add, input X (clicks) [2]: does not fit "
                                     "input Y [3] with axis -1");
    assert_true(skiff_eager_op(e, &sum, &err) < 0);
    assert_string_equal(err.message, "op sum, input X (clicks [2], [3]): input X[1] is float32 "
                                     "[3], the first one is float32 [2]");
    skiff_eager_set_name(x, NULL);
    assert_null(skiff_eager_name(x));
    tensor_p all[] = {x, y, out};
    for (int i = 0; i < 3; i++)
        skiff_eager_tensor_unref(all[i]);
    skiff_eager_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accumulates),   cmocka_unit_test(test_grad),
        cmocka_unit_test(test_hooks),         cmocka_unit_test(test_generation_1),
        cmocka_unit_test(test_overwritten),   cmocka_unit_test(test_overwritten_by_itself),
        cmocka_unit_test(test_noting),        cmocka_unit_test(test_observer),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_replay),        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_cleared),       cmocka_unit_test(test_second_order),
        cmocka_unit_test(test_bound),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_sizes_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
