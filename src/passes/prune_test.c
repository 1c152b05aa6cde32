/* Pruning with sub-blocks, repeated saves and wrong names. */
#include "layers/helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/optimizer.h>

#include "passes/prune.h"

static int count(const struct skiff_program *p, const char *type)
{
    int n = 0;
    for (int i = 0; i < p->nblocks; i++)
        for (int k = 0; k < p->blocks[i]->nops; k++)
            n += strcmp(p->blocks[i]->ops[k]->type, type) == 0;
    return n;
}

/* fc with dropout, a rate from a schedule with sub-blocks, SGD with clipping */
static struct skiff_net *trained(struct skiff_var **predict)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4)),
                     *y = skiff_data(net, "y", SKIFF_DIMS(1));
    *predict = skiff_dropout(net, skiff_fc(net, x, 1), 0.5);
    struct skiff_var *loss = skiff_mean(net, skiff_square_error_cost(net, *predict, y));
    struct skiff_var *rate = skiff_lr_linear_warmup(net, NULL, 0.1, 5, 0.01, 0.1);
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate_var = rate,
                                    .grad_clip = skiff_clip_global_norm(1)),
                     SKIFF_OK);
    return net;
}

static void test_program_has_forward_ops_only(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *test = NULL;
    struct skiff_error err = {0};
    int ops = program_root(net->main)->nops;
    assert_int_equal(program_clone_for_test(net->main, &test, &err), SKIFF_OK);
    assert_int_equal(test->nblocks, 1);
    assert_int_equal(program_root(test)->nops, 6);
    assert_int_equal(count(test, "dropout"), 1);
    for (int i = 0; i < program_root(test)->nops; i++) {
        const struct op_attr_value *a = op_attr(program_root(test)->ops[i], "is_test");
        assert_true(!a || a->value.b);
    }
    assert_null(block_own_var(program_root(test), "learning_rate_warmup"));
    assert_int_equal(program_root(net->main)->nops, ops);
    program_destroy(test);
    skiff_net_destroy(net);
}

static void inference_program_is_what_the_target_needs(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *p = NULL, *again = NULL;
    struct skiff_error err = {0};
    const char *feed = "x", *target = predict->name;
    assert_int_equal(prune_for_inference(net->main, &feed, 1, &target, 1, &p, &err), SKIFF_OK);
    struct skiff_block *b = program_root(p);
    assert_int_equal(b->nops, 6); /* feed mul add dropout scale fetch */
    assert_string_equal(b->ops[0]->type, "feed");
    assert_string_equal(b->ops[5]->type, "fetch");
    assert_string_equal(op_in1(b->ops[5], "X"), "save_infer_model/scale_0.tmp_0");
    assert_null(block_own_var(b, "y"));
    assert_int_equal(block_own_var(b, "feed")->kind, VAR_FEED_MINIBATCH);
    /* an inference program can be pruned again: its feed and fetch ops are replaced */
    target = "save_infer_model/scale_0.tmp_0";
    assert_int_equal(prune_for_inference(p, &feed, 1, &target, 1, &again, &err), SKIFF_OK);
    assert_string_equal(op_in1(program_root(again)->ops[6], "X"), "save_infer_model/scale_0.tmp_1");
    assert_int_equal(count(again, "feed"), 1);
    program_destroy(again);
    program_destroy(p);
    skiff_net_destroy(net);
}

/* Sub-blocks that a target needs stay and are numbered anew. */
static void sub_blocks_follow_their_ops(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    struct skiff_var *i = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 0);
    struct skiff_var *n = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 5);
    struct skiff_var *cond = skiff_layer_less_than(net, i, n, NULL);
    struct skiff_while *w = skiff_while_begin(net, cond, false);
    skiff_layer_increment(net, i, 1.0, false);
    skiff_layer_less_than(net, i, n, cond);
    skiff_while_end(w);
    assert_int_equal(skiff_net_check(net, &err), SKIFF_OK);
    assert_true(net->main->nblocks > 2);
    assert_int_equal(
        prune_for_inference(net->main, NULL, 0, (const char *[]){i->name}, 1, &p, &err), SKIFF_OK);
    assert_int_equal(p->nblocks, 2);
    assert_int_equal(p->blocks[1]->nops, 2);
    assert_int_equal(p->blocks[1]->parent, 0);
    assert_int_equal(count(p, "while"), 1);
    for (int k = 0; k < program_root(p)->nops; k++)
        if (op_attr(program_root(p)->ops[k], "sub_block"))
            assert_int_equal(op_attr(program_root(p)->ops[k], "sub_block")->value.i, 1);
    program_destroy(p);
    skiff_net_destroy(net);
}

/* _prune_with_input: feeds that nobody needs, or that do not exist, are ignored. */
static void a_cut_ignores_feeds_that_nobody_needs(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    const char *feeds[] = {"x", "y", "nobody"}, *targets[] = {predict->name, "x"};
    assert_int_equal(skiff_program_cut(net->main, feeds, 3, targets, 2, &p, &err), SKIFF_OK);
    assert_int_equal(program_root(p)->nops, 3); /* mul add dropout */
    assert_string_equal(program_root(p)->ops[2]->type, "dropout");
    assert_false(op_attr(program_root(p)->ops[2], "is_test")->value.b);
    assert_null(block_own_var(program_root(p), "y"));
    program_destroy(p);
    p = NULL;
    assert_int_equal(skiff_program_cut(net->main, feeds, 1, &feeds[2], 1, &p, &err),
                     SKIFF_NOT_FOUND);
    assert_string_equal(err.message, "prune: there is no target variable nobody");
    assert_null(p);
    skiff_net_destroy(net);
}

/* use_prune: what optimizer ops need stays as well; all of them, or the ones chosen. */
static void a_cut_for_training_keeps_updates(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    const char *feeds[] = {"x", "y"};
    const struct skiff_block *b = program_root(net->main);
    int64_t updates[2] = {-1, -1};
    int n = 0;
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i]->kind->flags & OP_OPTIMIZER)
            updates[n++ & 1] = i;
    assert_int_equal(n, 2); /* weight and bias */
    const char *name = predict->name;
    assert_int_equal(skiff_program_cut_training(net->main, feeds, 2, &name, 1, NULL, 0, &p, &err),
                     SKIFF_OK);
    assert_int_equal(program_root(p)->nops, b->nops - 1); /* all but the loss itself */
    program_destroy(p);
    assert_int_equal(
        skiff_program_cut_training(net->main, feeds, 2, NULL, 0, &updates[1], 1, &p, &err),
        SKIFF_OK);
    int kept = 0;
    for (int i = 0; i < program_root(p)->nops; i++)
        kept += (program_root(p)->ops[i]->kind->flags & OP_OPTIMIZER) != 0;
    assert_int_equal(kept, 1);
    program_destroy(p);
    p = NULL;
    assert_int_equal(
        skiff_program_cut_training(net->main, feeds, 2, NULL, 0, &(const int64_t){0}, 1, &p, &err),
        SKIFF_INVALID);
    assert_non_null(strstr(err.message, "op 0 of block 0, which has"));
    assert_null(p);
    skiff_net_destroy(net);
}

static void wrong_names_are_errors(void **state)
{
    struct skiff_var *predict;
    struct skiff_net *net = trained(&predict);
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    const char *feeds[] = {"x", "y"}, *target = predict->name, *nobody = "nobody";
    assert_int_equal(prune_for_inference(net->main, feeds, 2, &target, 1, &p, &err),
                     SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "the feed y"));
    assert_int_equal(prune_for_inference(net->main, feeds, 1, &nobody, 1, &p, &err),
                     SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "nobody"));
    assert_int_equal(prune_for_inference(net->main, feeds, 1, NULL, 0, &p, &err), SKIFF_INVALID);
    assert_null(p);
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_has_forward_ops_only),
        cmocka_unit_test(inference_program_is_what_the_target_needs),
        cmocka_unit_test(sub_blocks_follow_their_ops),
        cmocka_unit_test(a_cut_ignores_feeds_that_nobody_needs),
        cmocka_unit_test(a_cut_for_training_keeps_updates),
        cmocka_unit_test(wrong_names_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
