/* A server whose program has lost its plan - it was printed, and parsed again - computes what it
 * would have computed with it, bit for bit. (That the plans are equal: tests/split.) */
#include "server/server_kit_test.h"

#define STEPS 3

/* What trainer 0 sees in the end. */
static struct params *run_job(const struct kit_options *o)
{
    struct kit k;
    struct trainer t[KIT_MAX];
    kit_open(&k, o);
    for (int i = 0; i < o->trainers; i++)
        trainer_start(&t[i], &k, i, STEPS);
    for (int i = 0; i < o->trainers; i++)
        trainer_join(&t[i]);
    kit_join(&k, SKIFF_OK);
    for (int i = 1; i < o->trainers; i++)
        trainer_free(&t[i]);
    assert_false(params_same(t[0].first, t[0].last));
    params_free(t[0].first);
    kit_close(&k);
    return t[0].last;
}

static void same_with_and_without(struct kit_options o)
{
    struct params *with = run_job(&o);
    o.printed = true;
    struct params *without = run_job(&o);
    assert_true(params_same(with, without));
    params_free(with);
    params_free(without);
}

static struct kit_options options(int servers, int trainers, enum skiff_split_mode mode)
{
    return (struct kit_options){
        .servers = servers, .trainers = trainers, .config = split_config_fleet(mode)};
}

static void merges_and_schedules(void **state)
{
    struct kit_options o = options(3, 2, SKIFF_SPLIT_SYNC);
    o.decay = true;
    o.l2 = 0.1;
    same_with_and_without(o);
    o.optimizer = "adam";
    o.shards = 2;
    same_with_and_without(o);
}

/* One trainer: its pushes come in one order. */
static void applied_on_arrival(void **state)
{
    struct kit_options o = options(2, 1, SKIFF_SPLIT_ASYNC);
    o.optimizer = "momentum";
    same_with_and_without(o);
    o.config.enable_dc_asgd = true;
    o.optimizer = "sgd";
    same_with_and_without(o);
    same_with_and_without(options(2, 1, SKIFF_SPLIT_GEO));
}

static void tables(void **state)
{
    struct kit_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    o.distributed = true;
    same_with_and_without(o);
    o = options(2, 1, SKIFF_SPLIT_ASYNC);
    o.distributed = o.second_gen = true;
    o.optimizer = "adam";
    same_with_and_without(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_and_schedules),
        cmocka_unit_test(applied_on_arrival),
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
