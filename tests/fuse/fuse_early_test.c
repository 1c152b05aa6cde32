/* Updates run where their gradient is computed, so that threads that share parameters see each
 * other's work early; updates that must wait (clipping by the norm of all gradients) wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/rank/dnn/net.h"
#include "passes/fuse.h"
#include "program/op_kind.h"

static struct skiff_program *fused(struct skiff_net *net)
{
    struct skiff_error err = {0};
    struct skiff_program *out = NULL;
    if (fuse_program(skiff_net_main(net), NULL, 0, 0, &out, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

static bool is_update(const struct skiff_op *op)
{
    return op->kind && (op->kind->flags & OP_OPTIMIZER);
}

/* The op that stands before the updates at `at`. */
static const struct skiff_op *maker(const struct skiff_block *b, int at)
{
    while (at > 0 && is_update(b->ops[at]))
        at--;
    return b->ops[at];
}

static int count_updates(const struct skiff_block *b, int *last_gradient)
{
    int n = 0;
    for (int i = 0; i < b->nops; i++) {
        n += is_update(b->ops[i]);
        if (strstr(b->ops[i]->type, "_grad"))
            *last_gradient = i;
    }
    return n;
}

static void updates_follow_gradients(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = skiff_net_create();
    struct rank_dnn vars = rank_dnn_build(net, &rank_dnn_documents);
    assert_int_equal(skiff_minimize(net, vars.loss, &err, "adam", .learning_rate = 1e-4), SKIFF_OK);
    struct skiff_program *p = fused(net);
    const struct skiff_block *b = program_root(p);
    int last = 0;
    assert_int_equal(count_updates(b, &last), 5); /* 4 layers, and the table */
    for (int i = 0; i < b->nops; i++)
        if (is_update(b->ops[i])) {
            const struct op_arg *grad = op_in(b->ops[i], "Grad");
            for (int j = 0; j < grad->n; j++)
                if (!op_writes(maker(b, i), grad->names[j]))
                    fail_msg("the update of %s stands behind %s", grad->names[j],
                             maker(b, i)->type);
        }
    program_destroy(p);
    skiff_net_destroy(net);
}

static void clipped_ones_wait(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = skiff_net_create();
    struct rank_dnn vars = rank_dnn_build(net, &rank_dnn_documents);
    assert_int_equal(skiff_minimize(net, vars.loss, &err, "sgd", .learning_rate = 1e-4,
                                    .grad_clip = {.kind = SKIFF_CLIP_GLOBAL_NORM, .norm = 1}),
                     SKIFF_OK);
    struct skiff_program *p = fused(net);
    const struct skiff_block *b = program_root(p);
    int last = 0;
    assert_true(count_updates(b, &last) > 0);
    for (int i = 0; i < last; i++)
        assert_false(is_update(b->ops[i]));
    program_destroy(p);
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(updates_follow_gradients),
                                       cmocka_unit_test(clipped_ones_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
