/* Random networks on two devices that are fed the same batch: the mean of two equal gradients is
 * the gradient, so parameters and states of the optimizer come out as on one device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "passes/replicate.h"
#include "program/op_kind.h"
#include "random_net.h"

#define DEVICES 2
#define STEPS 3
#define TOLERANCE 2e-4

static const struct skiff_program *program_of(const struct skiff_program *p)
{
    return p;
}

static void or_die(enum skiff_status status, uint64_t seed, const struct skiff_error *err)
{
    if (status < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err->message);
}

static void compare_updated(const struct skiff_program *p, const struct skiff_scope *one,
                            const struct skiff_scope *two, uint64_t seed, const char *about)
{
    char why[256];
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++)
        for (int j = 0; j < b->ops[i]->nouts; j++)
            for (int k = 0; k < b->ops[i]->outs[j].n; k++) {
                const char *name = b->ops[i]->outs[j].names[k];
                const struct skiff_var *v = block_find_var(b, name);
                if (!(b->ops[i]->kind->flags & OP_OPTIMIZER) || !v || !var_persistable(v))
                    continue;
                if (!values_agree(scope_find(one, name), scope_find(two, name), TOLERANCE, why,
                                  sizeof(why)))
                    fail_msg("seed %llu (%s), %s: %s", (unsigned long long)seed, about, name, why);
            }
}

/* Returns whether the net could be used: sub-blocks are not replicated. */
static bool run_seed(uint64_t seed, bool no_fuse)
{
    struct random_net net;
    struct skiff_error err = {0};
    struct arena names;
    struct skiff_program *joint;
    or_die(random_net_open(&net, seed, &err), seed, &err);
    const struct skiff_program *main = program_of(skiff_net_main(net.net));
    if (main->nblocks > 1) {
        random_net_close(&net);
        return false;
    }
    or_die(replicate_program(main, DEVICES, false, &joint, &err), seed, &err);
    arena_init(&names);
    struct executor_options options = {.no_fuse = no_fuse};
    struct skiff_scope *one = scope_create(), *two = scope_create();
    struct skiff_executor *e1 = executor_create(one, &options),
                          *e2 = executor_create(two, &options);
    const struct skiff_program *startup = program_of(skiff_net_startup(net.net));
    or_die(executor_run(e1, startup, NULL, 0, NULL, 0, NULL, &err), seed, &err);
    scope_copy(two, one);
    for (int s = 0; s < STEPS; s++) {
        struct feed feeds[RANDOM_MAX_INPUTS], copies[DEVICES * RANDOM_MAX_INPUTS];
        int n = random_net_batch(&net, 5, feeds);
        for (int i = 0; i < DEVICES * n; i++)
            copies[i] = (struct feed){replicate_name(joint, feeds[i % n].name, i / n, &names),
                                      feeds[i % n].tensor, NULL};
        or_die(executor_run(e1, main, feeds, n, NULL, 0, NULL, &err), seed, &err);
        or_die(executor_run(e2, joint, copies, DEVICES * n, NULL, 0, NULL, &err), seed, &err);
    }
    compare_updated(main, one, two, seed, net.about);
    executor_destroy(e1);
    executor_destroy(e2);
    scope_destroy(one);
    scope_destroy(two);
    arena_deinit(&names);
    program_destroy(joint);
    random_net_close(&net);
    return true;
}

static void test_two_devices(void **state)
{
    int used = 0;
    for (uint64_t seed = 1; seed <= 100; seed++)
        used += run_seed(seed, seed % 2);
    assert_true(used >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
