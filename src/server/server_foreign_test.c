/* A server whose program has lost its plan - it was printed, and parsed again - computes the same
 * numbers as with it, bit for bit. (tests/split checks that the plans are equal.) */
#include "server/server_fixture_test.h"

#define STEPS 3

/* The parameters that trainer 0 pulls in the end. */
static struct params *run_job(const struct fixture_options *o)
{
    struct server_fixture k;
    struct fixture_trainer t[FIXTURE_MAX];
    fixture_open(&k, o);
    for (int i = 0; i < o->trainers; i++)
        trainer_start(&t[i], &k, i, STEPS);
    for (int i = 0; i < o->trainers; i++)
        trainer_join(&t[i]);
    fixture_join(&k, SKIFF_OK);
    for (int i = 1; i < o->trainers; i++)
        trainer_deinit(&t[i]);
    assert_false(params_same(t[0].first, t[0].last));
    params_destroy(t[0].first);
    fixture_close(&k);
    return t[0].last;
}

static void same_with_and_without(struct fixture_options o)
{
    struct params *with = run_job(&o);
    o.printed = true;
    struct params *without = run_job(&o);
    assert_true(params_same(with, without));
    params_destroy(with);
    params_destroy(without);
}

static struct fixture_options options(int servers, int trainers, enum skiff_split_mode mode)
{
    return (struct fixture_options){
        .servers = servers, .trainers = trainers, .config = split_config_fleet(mode)};
}

static void merges_and_schedules(void **state)
{
    struct fixture_options o = options(3, 2, SKIFF_SPLIT_SYNC);
    o.decay = true;
    o.l2 = 0.1;
    same_with_and_without(o);
    o.optimizer = "adam";
    o.shards = 2;
    same_with_and_without(o);
}

/* One trainer: its pushes arrive in one order. */
static void applied_on_arrival(void **state)
{
    struct fixture_options o = options(2, 1, SKIFF_SPLIT_ASYNC);
    o.optimizer = "momentum";
    same_with_and_without(o);
    o.config.enable_dc_asgd = true;
    o.optimizer = "sgd";
    same_with_and_without(o);
    same_with_and_without(options(2, 1, SKIFF_SPLIT_GEO));
}

static void tables(void **state)
{
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    o.distributed = true;
    same_with_and_without(o);
    o = options(2, 1, SKIFF_SPLIT_ASYNC);
    o.distributed = o.second_gen = true;
    o.optimizer = "adam";
    same_with_and_without(o);
}

/* ---- damaged programs ---- */

static uint32_t pick(uint64_t *seed, int n)
{
    uint32_t w[4];
    philox(7, (*seed)++, 0, w);
    return w[0] % (uint32_t)n;
}

static void spoil_op(struct skiff_program *p, struct skiff_block *b, uint64_t *seed)
{
    int at = b->nops ? (int)pick(seed, b->nops) : 0;
    struct skiff_op *op = b->nops ? b->ops[at] : NULL;
    const char *other = "fc_0.nothing", *attr;
    switch (op ? pick(seed, 4) : 4) {
    case 0:
        block_remove_ops(b, at, 1);
        break;
    case 1:
        if (op->nins)
            op_set_in(p, op, op->ins[pick(seed, op->nins)].slot, 1, &other);
        break;
    case 2:
        if (op->nins)
            op_set_in(p, op, op->ins[pick(seed, op->nins)].slot, 0, NULL);
        break;
    case 3:
        attr = op->nattrs ? op->attrs[pick(seed, op->nattrs)].name : NULL;
        if (attr)
            op_set_int(p, op, attr, (int)pick(seed, 12) - 1);
        break;
    }
}

static void spoil(struct skiff_program *p, uint64_t *seed)
{
    struct skiff_block *b = p->blocks[pick(seed, p->nblocks)];
    struct skiff_var *v =
        b->vars.count ? b->vars.entries[pick(seed, (int)b->vars.count)].value : NULL;
    switch (pick(seed, 4)) {
    case 0:
        if (v)
            block_remove_var(b, v->name);
        break;
    case 1:
        if (v)
            v->kind = v->kind == VAR_SELECTED_ROWS ? VAR_LOD_TENSOR : VAR_SELECTED_ROWS;
        break;
    default:
        spoil_op(p, b, seed);
    }
}

/* A damaged program is refused with a reason, or a server is created from it. */
static void spoilt_programs(struct fixture_options o, int *refused, int *made)
{
    struct server_fixture k;
    o.open_only = true;
    fixture_open(&k, &o);
    for (uint64_t step = 0, seed = 1; step < 300; step++) {
        struct skiff_program *p = program_clone(k.main[0]);
        struct server_plan *plan = NULL;
        struct server *s = NULL;
        struct skiff_error err = {0};
        for (uint64_t i = 0; i <= step % 4; i++)
            spoil(p, &seed);
        struct server_options so = {.main = p, .startup = k.startup[0]};
        enum skiff_status status = server_plan_read(p, split_plan(k.split), 0, &plan, &err);
        so.plan = plan;
        if (status == SKIFF_OK)
            status = server_create(&so, &s, &err);
        *(status < 0 ? refused : made) += 1;
        assert_int_equal(status < 0, err.message[0] != 0);
        server_destroy(s);
        server_plan_destroy(plan);
        program_destroy(p);
    }
    fixture_close(&k);
}

static void nonsense(void **state)
{
    int refused = 0, made = 0;
    struct fixture_options o = options(1, 2, SKIFF_SPLIT_SYNC);
    o.decay = o.distributed = o.second_gen = true;
    o.optimizer = "adam";
    spoilt_programs(o, &refused, &made);
    o = options(1, 2, SKIFF_SPLIT_ASYNC);
    o.config.enable_dc_asgd = true;
    spoilt_programs(o, &refused, &made);
    spoilt_programs(options(1, 1, SKIFF_SPLIT_GEO), &refused, &made);
    printf("%d refused, %d served\n", refused, made);
    assert_true(refused > 100 && made > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_and_schedules),
        cmocka_unit_test(applied_on_arrival),
        cmocka_unit_test(tables),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
