/* Sparse tables in split programs: settings and hints, the trainer's ops, the servers' plan, and
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "passes/split.h"

struct sparse_case {
    const char *optimizer, *settings; /* settings NULL: none */
    bool all, v2, clip;
    const char *entry; /* of the first look-up */
    enum skiff_split_mode mode;
};

struct made {
    struct skiff_net *net;
    struct skiff_split *split;
    struct skiff_program *main, *startup, *server, *server_startup;
    struct server_plan *plan;
};

static struct skiff_op *first_lookup(struct skiff_program *p)
{
    for (int i = 0; i < program_root(p)->nops; i++)
        if (!strncmp(program_root(p)->ops[i]->type, "lookup_table", 12))
            return program_root(p)->ops[i];
    return NULL;
}

static void build(const struct sparse_case *c, struct skiff_net *net)
{
    skiff_program_set_generation(skiff_net_main(net), 2);
    skiff_program_set_generation(skiff_net_startup(net), 2);
    skiff_program_set_seed(skiff_net_startup(net), 7);
    skiff_data(net, "show_f", SKIFF_DIMS(1));
    struct skiff_var *sum[2];
    skiff_data(net, "count", SKIFF_DIMS(1), .dtype = "int64");
    for (int i = 0; i < 2; i++) {
        struct skiff_var *ids = skiff_data(net, i ? "b" : "a", SKIFF_DIMS(1), .dtype = "int64");
        struct skiff_param_attr attr = {.name = "emb",
                                        .initializer = skiff_init_uniform(-0.25, 0.125, 0)};
        struct skiff_embedding_options o = {
            .is_sparse = true, .is_distributed = true, .param_attr = &attr};
        sum[i] = c->v2 ? skiff_layer_embedding_v2(net, ids, 10, 8, &o)
                       : skiff_layer_embedding(net, ids, 10, 8, &o);
    }
    struct skiff_optimizer_options o = {.learning_rate = 0.03125};
    if (c->clip)
        o.grad_clip = skiff_clip_global_norm(1);
    struct skiff_var *rows = skiff_sums(net, SKIFF_VARS(sum[0], sum[1]));
    struct skiff_var *loss = skiff_mean(net, skiff_fc(net, rows, 1));
    if (c->v2)
        loss = skiff_mean(net, rows);
    struct skiff_op *op = first_lookup(skiff_net_main(net));
    op_set_int(skiff_net_main(net), op, "slot", 6);
    if (c->entry)
        op_set_string(skiff_net_main(net), op, "entry", c->entry);
    struct skiff_error err = {0};
    if (skiff_optimizer_minimize(skiff_optimizer_create(net, c->optimizer, &o), loss, NULL, &err) <
        0)
        fail_msg("%s", err.message);
}

static enum skiff_status make(const struct sparse_case *c, struct made *m, struct skiff_error *err)
{
    struct skiff_table_settings table = {.table = "emb", .settings = c->settings};
    struct skiff_split_config config = split_config_fleet(c->mode);
    *m = (struct made){.net = skiff_net_create()};
    build(c, m->net);
    struct skiff_split_job job = {.main = skiff_net_main(m->net),
                                  .startup = skiff_net_startup(m->net),
                                  .pservers = "127.0.0.1:1,127.0.0.1:2",
                                  .trainers = 2,
                                  .sync_mode = true};
    config.tables = c->settings ? &table : NULL;
    config.ntables = c->settings ? 1 : 0;
    config.all_features = c->all;
    TRY(split_create(&job, &config, &m->split, err));
    TRY(split_trainer(m->split, &m->main, &m->startup, err));
    return split_server(m->split, "127.0.0.1:2", &m->server, &m->server_startup, &m->plan, err);
}

static void made_deinit(struct made *m)
{
    program_destroy(m->main);
    program_destroy(m->startup);
    program_destroy(m->server);
    program_destroy(m->server_startup);
    server_plan_destroy(m->plan);
    split_destroy(m->split);
    skiff_net_destroy(m->net);
}

static void make_or_die(const struct sparse_case *c, struct made *m)
{
    struct skiff_error err = {0};
    if (make(c, m, &err) < 0)
        fail_msg("%s", err.message);
}

static const struct skiff_op *find(const struct skiff_program *p, const char *type, int *count)
{
    const struct skiff_block *b = program_root(p);
    const struct skiff_op *found = NULL;
    *count = 0;
    for (int i = 0; i < b->nops; i++)
        if (!strcmp(b->ops[i]->type, type)) {
            found = b->ops[i];
            ++*count;
        }
    return found;
}

/* ---- the trainer's program ---- */

static void check_send(const struct skiff_program *p, int shards)
{
    const struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        if (strcmp(op->type, "send") || strcmp(op_in1(op, "X"), "emb@PUSH"))
            continue;
        assert_int_equal(op_attr(op, "shards")->value.i, shards);
        assert_int_equal(op_attr(op, "epmap")->value.n, 2);
        for (int k = 0; k < 2; k++)
            assert_string_equal(op_attr(op, "send_varnames")->value.strings[k], "emb@GRAD");
        return;
    }
    fail_msg("nobody sends emb@PUSH");
}

static void test_programs(void **state)
{
    struct sparse_case c = {.optimizer = "adam",
                            .settings = "shard_num 5",
                            .entry = "show_click_entry:show_f:show_f",
                            .mode = SKIFF_SPLIT_ASYNC};
    struct made m;
    int n;
    make_or_die(&c, &m);
    const struct skiff_op *look = find(m.main, "distributed_lookup_table", &n);
    assert_int_equal(n, 1);
    assert_int_equal(op_in(look, "Ids")->n, 2);
    assert_int_equal(op_attr(look, "shards")->value.i, 5);
    assert_int_equal(op_attr(look, "table_names")->value.n, 2);
    assert_string_equal(op_attr(look, "table_names")->value.strings[1], "emb");
    const struct skiff_op *push = find(m.main, "distributed_push_sparse", &n);
    assert_int_equal(n, 1);
    assert_string_equal(op_in(push, "Ids")->names[0], "b"); /* as the gradients: backwards */
    assert_string_equal(op_in(push, "Ids")->names[1], "a");
    assert_int_equal(op_attr(push, "slots")->value.ints[0], 0);
    assert_int_equal(op_attr(push, "slots")->value.ints[1], 6);
    assert_int_equal(op_attr(push, "push_dim")->value.i, 11); /* slot, show, click, 8 */
    assert_string_equal(op_in1(push, "Shows"), "show_f");
    check_send(m.main, 5);
    find(m.main, "lookup_table", &n);
    assert_int_equal(n, 0);
    find(m.main, "lookup_table_grad", &n);
    assert_int_equal(n, 0);
    find(m.main, "adam", &n);
    assert_int_equal(n, 0);
    assert_null(block_find_var(program_root(m.main), "emb@GRAD"));
    assert_null(block_find_var(program_root(m.main), "emb_moment1_0"));
    find(m.startup, "fake_init", &n);
    assert_int_equal(n, 1);
    made_deinit(&m);
}

/* ---- plans ---- */

static void test_plan(void **state)
{
    struct sparse_case c = {.optimizer = "adam",
                            .settings = "shard_num 5\n",
                            .entry = "count_filter_entry:3",
                            .mode = SKIFF_SPLIT_ASYNC};
    struct made m;
    make_or_die(&c, &m);
    const struct job_plan *p = split_plan(m.split);
    assert_int_equal(p->ntables, 1);
    assert_int_equal(p->shards[0], 5);
    assert_string_equal(p->sparse_table[0],
                        "shard_num 5\nentry count_filter_entry:3\nhint.dim 8\nhint.optimizer adam\n"
                        "hint.learning_rate 0.03125\nhint.beta1 0.899999976\nhint.beta2 "
                        "0.999000013\nhint.epsilon 9.99999994e-09\nhint.initial_range 0.125\n"
                        "hint.seed 7\nhint.mode async\n");
    const struct plan_slice *u = NULL;
    for (int i = 0; i < m.plan->nslices; i++)
        if (m.plan->slices[i].sparse_table)
            u = &m.plan->slices[i];
    assert_non_null(u);
    assert_true(u->keyed && u->sparse);
    assert_int_equal(u->block, -1);
    assert_string_equal(u->param, "emb");
    assert_string_equal(u->sparse_table, p->sparse_table[0]);
    assert_int_equal(u->pushed.n, 1);
    assert_string_equal(u->pushed.v[0], "emb@GRAD");
    assert_null(block_find_var(program_root(m.server), "emb"));
    assert_null(block_find_var(program_root(m.server), "emb_moment1_0"));
    uint64_t hash = p->hash;
    made_deinit(&m);
    c.settings = "shard_num 5\naccessor.embedx_threshold 1\n";
    make_or_die(&c, &m); /* processes with other settings are not of the same job */
    assert_true(split_plan(m.split)->hash != hash);
    made_deinit(&m);
}

/* All distributed tables, those of lookup_table_v2 too; without settings they stay plain. */
static void test_which(void **state)
{
    struct sparse_case c = {.optimizer = "sgd", .all = true, .mode = SKIFF_SPLIT_ASYNC};
    struct made m;
    for (int v2 = 0; v2 < 2; v2++) {
        c.v2 = v2;
        make_or_die(&c, &m);
        assert_int_equal(split_plan(m.split)->ntables, 1);
        assert_int_equal(split_plan(m.split)->shards[0], 1000);
        made_deinit(&m);
    }
    c.all = c.v2 = false;
    make_or_die(&c, &m);
    assert_int_equal(split_plan(m.split)->ntables, 1);
    assert_null(split_plan(m.split)->sparse_table[0]);
    made_deinit(&m);
    c.mode = SKIFF_SPLIT_GEO;
    c.settings = "shard_num 3\n";
    make_or_die(&c, &m);
    assert_int_equal(split_plan(m.split)->ntables, 1);
    assert_null(split_plan(m.split)->sparse_table[0]);
    assert_non_null(strstr(split_warnings(m.split), "settings of table emb are not used: GEO"));
    made_deinit(&m);
}

/* Clipping by the norm of all gradients still reads the table's: its ops stay. */
static void test_clip(void **state)
{
    struct sparse_case c = {
        .optimizer = "sgd", .all = true, .mode = SKIFF_SPLIT_SYNC, .clip = true};
    struct made m;
    int n;
    make_or_die(&c, &m);
    find(m.main, "lookup_table_grad", &n);
    assert_int_equal(n, 2);
    find(m.main, "distributed_push_sparse", &n);
    assert_int_equal(n, 1);
    assert_non_null(block_find_var(program_root(m.main), "emb@GRAD"));
    made_deinit(&m);
}

/* ---- refusals ---- */

static void refuse(const struct sparse_case *c, const char *text)
{
    struct made m;
    struct skiff_error err = {0};
    assert_true(make(c, &m, &err) < 0);
    if (!strstr(err.message, text))
        fail_msg("'%s' does not tell '%s'", err.message, text);
    made_deinit(&m);
}

static void test_refusals(void **state)
{
    struct sparse_case c = {.optimizer = "adagrad", .all = true, .mode = SKIFF_SPLIT_ASYNC};
    struct made m;
    refuse(&c, "The dense optimizer in PS is only supported SGD or Adam!");
    c.settings = "accessor.embed_sgd_param.name SparseNaiveSGDRule\n"
                 "accessor.embedx_sgd_param.name SparseAdaGradSGDRule";
    make_or_die(&c, &m); /* rules of its own */
    made_deinit(&m);
    c.optimizer = "sgd";
    c.settings = "accessor.fea_dim 9\n";
    refuse(&c, "The fea_dim is wrong, it will be sparse_embedding_dim + 2: 10, but got 9");
    c.settings = "";
    c.entry = "show_click_entry:nobody:show_f";
    refuse(&c, "table emb: ShowClickEntry names the variable 'nobody', which the program does not "
               "have");
    c.entry = "show_click_entry:show_f:count";
    refuse(&c, "table emb: the variable 'count' of its ShowClickEntry is int64; expected float32");
    c.entry = "show_click_entry:show_f";
    refuse(&c, "expected show_click_entry:<show>:<click>");
    c.entry = "count_filter_entry:x";
    refuse(&c, "count_filter_entry");
}

/* A warning for unknown settings. */
static void test_notes(void **state)
{
    struct sparse_case c = {
        .optimizer = "sgd", .settings = "who.knows 1\n", .mode = SKIFF_SPLIT_ASYNC};
    struct made m;
    make_or_die(&c, &m);
    assert_non_null(strstr(split_warnings(m.split), "table emb: unknown settings: "
                                                    "who.knows"));
    assert_null(strstr(split_warnings(m.split), "continuous_value_model"));
    made_deinit(&m);
    c.settings = "accessor.accessor_class CtrCommonAccessor\n";
    make_or_die(&c, &m);
    assert_string_equal(split_warnings(m.split),
                        "table emb: rows of its accessor begin with shows and clicks, and no "
                        "continuous_value_model takes them: the network reads counts as features "
                        "(SparseAccessor: weights alone)\n");
    made_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_which),    cmocka_unit_test(test_clip),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
