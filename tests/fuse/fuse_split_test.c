/* A trainer's part of a split program is fused as far as the complete program: the sends between
 * its gradient ops do not keep layers apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/rank/dnn/net.h"
#include "passes/fuse.h"
#include "passes/split.h"

static int count(const struct skiff_program *p, const char *type)
{
    const struct skiff_block *b = program_root(p);
    int n = 0;
    for (int i = 0; i < b->nops; i++)
        n += !strcmp(b->ops[i]->type, type);
    return n;
}

static struct skiff_program *fused(const struct skiff_program *p)
{
    struct skiff_error err;
    struct skiff_program *out = NULL;
    if (fuse_program(p, NULL, 0, 0, &out, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

static struct skiff_program *trainer_part(struct skiff_net *net, enum skiff_split_mode mode)
{
    struct skiff_error err;
    struct skiff_split_config c = split_config_fleet(mode);
    struct skiff_split *s;
    struct skiff_program *main = NULL, *startup = NULL;
    struct skiff_split_job job = {.main = skiff_net_main(net),
                                  .startup = skiff_net_startup(net),
                                  .pservers = "127.0.0.1:6001,127.0.0.1:6002",
                                  .trainers = 2,
                                  .sync_mode = c.sync_mode};
    if (split_create(&job, &c, &s, &err) < 0 || split_trainer(s, &main, &startup, &err) < 0)
        fail_msg("%s", err.message);
    struct skiff_program *out = fused(main);
    program_destroy(main);
    program_destroy(startup);
    split_destroy(s);
    return out;
}

static void layers_stay_together(void **state)
{
    static const char *const types[] = {
        "fused_fc", "fused_fc_grad", "fused_embedding_concat", "fused_embedding_concat_grad",
        "relu",     "mul",           "elementwise_add"};
    struct skiff_error err;
    struct skiff_net *net = skiff_net_create();
    struct rank_dnn vars = rank_dnn_build(net, &rank_dnn_documents);
    assert_int_equal(skiff_minimize(net, vars.loss, &err, "sgd", .learning_rate = 1e-4), SKIFF_OK);
    struct skiff_program *whole = fused(skiff_net_main(net));
    assert_int_equal(count(whole, "fused_fc_grad"), 4);
    static const enum skiff_split_mode modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
    };
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        struct skiff_program *part = trainer_part(net, modes[m]);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (count(part, types[i]) != count(whole, types[i]))
                fail_msg("mode %s: %d ops %s, %d in the whole program", skiff_mode_name(modes[m]),
                         count(part, types[i]), types[i], count(whole, types[i]));
        program_destroy(part);
    }
    program_destroy(whole);
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_stay_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
