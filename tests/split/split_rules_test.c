/* split where no recorded program determines the result: its config, its refusals, dispatch by
 * name, and the cases in which Paddle 1.8.5 makes programs that cannot work. */
#include "executor/executor.h"
#include "split_case.h"

/* ---- config ---- */

static void test_config(void **state)
{
    struct skiff_split_config c = split_config_default();
    struct skiff_error err;
    assert_true(c.slice_var_up && c.wait_port && c.sync_mode);
    assert_false(c.enable_dc_asgd || c.print_log || c.runtime_split_send_recv || c.half_async);
    assert_false(c.completely_not_async || c.geo_sgd_mode);
    assert_string_equal(c.split_method, "RoundRobin");
    assert_int_equal(c.min_block_size, 8192);
    assert_string_equal(c.mode, "pserver");
    assert_int_equal(c.geo_sgd_need_push_nums, 100);
    assert_int_equal(c.rpc_send_thread_num, 12);
    assert_int_equal(split_config_check(&c, &err), SKIFF_OK);

    assert_int_equal(split_config_set_runtime_split_send_recv(&c, true, &err), SKIFF_INVALID);
    assert_string_equal(err.message,
                        "if you want to set runtime_split_send_recv to be true, make ensure "
                        "config.sync_mode is false at first");
    assert_int_equal(split_config_set_sync_mode(&c, false, &err), SKIFF_OK);
    assert_int_equal(split_config_set_runtime_split_send_recv(&c, true, &err), SKIFF_OK);
    assert_int_equal(split_config_set_sync_mode(&c, true, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "if you want to set sync_mode to be true, make ensure "
                                     "config.runtime_split_send_recv is false at first");
    assert_false(c.sync_mode);

    c = split_config_fleet(SKIFF_SPLIT_SYNC);
    assert_true(c.runtime_split_send_recv && c.half_async && c.completely_not_async);
    c = split_config_fleet(SKIFF_SPLIT_GEO);
    assert_true(c.geo_sgd_mode && !c.half_async && !c.completely_not_async);
    assert_ptr_equal(split_dispatcher_find("HashName"), &split_hash_name);
    assert_ptr_equal(split_dispatcher_find("RoundRobin"), &split_round_robin);
    assert_null(split_dispatcher_find("Random"));
}

/* ---- refusals ---- */

static enum skiff_status try_split(const struct split_case *c, struct skiff_error *err)
{
    struct skiff_split *s = NULL;
    enum skiff_status status = split_create(&c->job, &c->config, &s, err);
    split_destroy(s);
    return status;
}

static void expect(const struct split_case *c, enum skiff_status status, const char *text)
{
    struct skiff_error err = {0};
    assert_int_equal(try_split(c, &err), status);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not contain \"%s\"", err.message, text);
}

static void expect_by(const struct split_case *c, const struct split_dispatcher *dispatcher,
                      enum skiff_status status, const char *text)
{
    struct skiff_error err = {0};
    struct skiff_split *s = NULL;
    assert_int_equal(split_create_by(&c->job, &c->config, dispatcher, &s, &err), status);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not contain \"%s\"", err.message, text);
}

static void expect_servers(struct split_case *c, const char *pservers, const char *text)
{
    c->job.pservers = pservers;
    expect(c, SKIFF_INVALID, text);
    c->job.pservers = c->pservers;
}

static void test_refusals(void **state)
{
    struct split_case c;
    case_open(&c, "ctr3-transpiler-sync-s2t2-sgd");
    struct skiff_split_config good = c.config;
    expect_servers(&c, "", "pservers is empty");
    expect_servers(&c, NULL, "pservers is empty");
    expect_servers(&c, "a:1,a:1", "a:1 is listed twice");
    expect_servers(&c, "a:1,b", "'b' is no endpoint");
    expect_servers(&c, "a:1,b:70000", "'b:70000' is no endpoint");
    expect_servers(&c, "a:1,,b:2", "'' is no endpoint");
    c.job.trainers = 0;
    expect(&c, SKIFF_INVALID, "trainers is 0");
    c.job.trainers = 2;
    c.job.trainer_id = -1;
    expect(&c, SKIFF_INVALID, "trainer_id is -1");
    c.job.trainer_id = 0;
    c.config.min_block_size = 8191;
    expect(&c, SKIFF_INVALID, "min_block_size is 8191; at least 8192");
    c.config = good;
    c.config.mode = "nccl2";
    expect(&c, SKIFF_UNSUPPORTED, "mode is nccl2");
    c.config = good;
    c.config.runtime_split_send_recv = true;
    expect(&c, SKIFF_INVALID, "make ensure config.sync_mode is false");
    c.config = good;
    c.config.enable_dc_asgd = true;
    expect(&c, SKIFF_INVALID, "enable_dc_asgd is for asynchronous training only");
    c.config = split_config_fleet(SKIFF_SPLIT_GEO);
    c.config.geo_sgd_need_push_nums = 0;
    expect(&c, SKIFF_INVALID, "geo_sgd_need_push_nums is 0");
    case_close(&c);

    case_open(&c, "wide-transpiler-sync-s2t2-lamb"); /* as Paddle: refused.txt */
    expect(&c, SKIFF_INVALID, "Not supported optimizer for distributed training: lamb");
    case_close(&c);
}

static void test_wrong_program(void **state)
{
    struct split_case c;
    struct skiff_program *main, *startup;
    struct skiff_error err;
    case_open(&c, "ctr3-transpiler-sync-s2t2-sgd");
    struct skiff_split *s = case_split(&c, 2);
    assert_int_equal(split_trainer(s, &main, &startup, &err), SKIFF_RANGE);
    assert_non_null(strstr(err.message, "trainer_id is 2, but there are 2 trainers"));
    assert_int_equal(split_server(s, "10.0.0.9:1", &main, &startup, NULL, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "10.0.0.9:1 is not one of the 2 servers"));
    split_destroy(s);

    s = case_split(&c, 0);
    assert_int_equal(split_trainer(s, &main, &startup, &err), SKIFF_OK);
    c.job.main = main;
    expect(&c, SKIFF_STATE, "has been split already");
    c.job.main = c.startup;
    expect(&c, SKIFF_STATE, "call minimize before the split");
    /* what comes from a file may not act outside of itself, on servers neither */
    c.job.main = c.main;
    op_set_string(c.main, block_insert_op(program_root(c.main), 0, "save"), "file_path", "/etc/x");
    expect(&c, SKIFF_UNSUPPORTED, "op 0 save: acts outside the program (file /etc/x)");
    program_destroy(main);
    program_destroy(startup);
    split_destroy(s);
    case_close(&c);
}

static void test_input_is_untouched(void **state)
{
    struct split_case c;
    struct buf out = BUF_INIT;
    case_open(&c, "ctr3-fleet-async-s2t2-sgd-decay_exp");
    struct skiff_program *main = program_clone(c.main), *startup = program_clone(c.startup);
    struct skiff_program *m, *st;
    struct skiff_split *s = case_split(&c, 0);
    assert_int_equal(split_trainer(s, &m, &st, NULL), SKIFF_OK);
    program_destroy(m);
    program_destroy(st);
    assert_int_equal(split_server(s, "127.0.0.1:6170", &m, &st, NULL, NULL), SKIFF_OK);
    program_destroy(m);
    program_destroy(st);
    split_destroy(s);
    assert_int_equal(program_diff(main, c.main, &out), 0);
    assert_int_equal(program_diff(startup, c.startup, &out), 0);
    program_destroy(main);
    program_destroy(startup);
    buf_deinit(&out);
    case_close(&c);
}

/* ---- dispatch ---- */

static int pick_first(const char *var, int block, int step, int servers)
{
    return 0;
}

static int pick_beyond(const char *var, int block, int step, int servers)
{
    return servers;
}

static void test_dispatchers(void **state)
{
    static const struct split_dispatcher first = {"First", pick_first};
    static const struct split_dispatcher beyond = {"Beyond", pick_beyond};
    struct split_case c;
    case_open(&c, "ctr3-transpiler-sync-s2t2-sgd");
    c.config.split_method = "Random";
    expect(&c, SKIFF_INVALID, "split_method is Random; expected RoundRobin or HashName");
    c.config.split_method = NULL;
    expect_by(&c, &first, SKIFF_INVALID,
              "First puts SparseFeatFactors.block0 and SparseFeatFactors.block1 both on server");
    expect_by(&c, &beyond, SKIFF_RANGE, "Beyond gives server 2 for SparseFeatFactors.block0");
    case_close(&c);
}

/* The same on every machine and for ever: models are stored by it. */
static void test_hash_name(void **state)
{
    static const struct {
        const char *slice;
        int server;
    } where[] = {{"SparseFeatFactors.block0", 2},
                 {"SparseFeatFactors.block1", 0},
                 {"SparseFeatFactors.block2", 1},
                 {"fc_0.b_0", 1},
                 {"fc_0.w_0.block0", 1},
                 {"fc_0.w_0.block1", 2},
                 {"fc_1.b_0", 1},
                 {"fc_1.w_0", 1},
                 {"fc_2.b_0", 0},
                 {"fc_2.w_0", 2}};
    struct split_case c;
    case_open(&c, "ctr3-transpiler-sync-s3t2-sgd-hashname");
    struct skiff_split *s = case_split(&c, 1);
    const struct skiff_placement *p = split_plan(s)->placement;
    int n = split_plan(s)->nplacement;
    assert_int_equal(n, sizeof where / sizeof where[0]);
    for (int i = 0; i < n; i++) {
        assert_string_equal(p[i].slice, where[i].slice);
        assert_int_equal(p[i].server, where[i].server);
    }
    split_destroy(s);
    case_close(&c);
}

/* ---- programs ---- */

struct made {
    struct split_case c;
    struct skiff_split *s;
    struct skiff_program *main, *startup, *server[8], *server_startup[8];
    int servers;
};

static void made_split(struct made *m)
{
    struct skiff_error err;
    m->s = case_split(&m->c, 0);
    const char *const *endpoints = split_plan(m->s)->endpoints;
    m->servers = split_plan(m->s)->servers;
    if (split_trainer(m->s, &m->main, &m->startup, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < m->servers; i++)
        if (split_server(m->s, endpoints[i], &m->server[i], &m->server_startup[i], NULL, &err) < 0)
            fail_msg("%s", err.message);
}

static void made_open(struct made *m, const char *name)
{
    case_open(&m->c, name);
    made_split(m);
}

static void made_close(struct made *m)
{
    for (int i = 0; i < m->servers; i++) {
        program_destroy(m->server[i]);
        program_destroy(m->server_startup[i]);
    }
    program_destroy(m->main);
    program_destroy(m->startup);
    split_destroy(m->s);
    case_close(&m->c);
}

static int count_ops(const struct skiff_program *p, const char *type)
{
    int n = 0;
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            n += !strcmp(p->blocks[b]->ops[i]->type, type);
    return n;
}

static const struct skiff_op *find_op(const struct skiff_program *p, const char *type, int nth)
{
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (!strcmp(p->blocks[b]->ops[i]->type, type) && !nth--)
                return p->blocks[b]->ops[i];
    fail_msg("no op %s", type);
    return NULL;
}

/* The optimizer's grad_clip works as set_gradient_clip does: the servers see no difference. */
static void test_grad_clip(void **state)
{
    struct made m;
    struct buf out = BUF_INIT;
    made_open(&m, "ctr3-transpiler-sync-s2t2-sgd-clip_global");
    for (int i = 0; i < m.servers; i++) {
        char file[64];
        snprintf(file, sizeof file, "pserver_%d_main.pb", i);
        struct skiff_program *p =
            case_program("ctr3-transpiler-sync-s2t2-sgd-clip_set_global", file);
        normalise(p);
        normalise(m.server[i]);
        if (program_diff(m.server[i], p, &out))
            fail_msg("%s", out.data);
        program_destroy(p);
    }
    const struct skiff_op *sqrt = find_op(m.main, "sqrt", 0);
    assert_int_equal(op_role_of(sqrt), ROLE_BACKWARD);
    assert_int_equal(count_ops(m.main, "sgd"), 0);
    buf_deinit(&out);
    made_close(&m);
}

/* Fleet's sync mode counts global steps on the servers. */
static void test_sync_schedule(void **state)
{
    struct made m;
    made_open(&m, "ctr3-fleet-sync-s2t2-sgd-decay_exp");
    assert_int_equal(split_plan(m.s)->mode, SKIFF_SPLIT_SYNC);
    for (int i = 0; i < m.servers; i++) {
        const struct skiff_op *serve = find_op(m.server[i], "listen_and_serv", 0);
        int block = op_attr(serve, "lr_decay_block_id")->value.i;
        const struct skiff_op *first = m.server[i]->blocks[block]->ops[0];
        assert_string_equal(first->type, "increment");
        assert_string_equal(op_out1(first, "Out"), "@LR_DECAY_COUNTER@");
        const struct skiff_block *b = program_root(m.server_startup[i]);
        for (int k = 0; k < b->nops; k++)
            if (op_writes(b->ops[k], "@LR_DECAY_COUNTER@"))
                assert_float_equal(op_attr(b->ops[k], "value")->value.f, -1, 0);
    }
    assert_null(block_own_var(program_root(m.main), "@LR_DECAY_COUNTER@.trainer_0"));
    assert_int_equal(count_ops(m.main, "send"), 7);
    made_close(&m);
}

static void test_dc_asgd(void **state)
{
    struct made m;
    made_open(&m, "ctr3-transpiler-dc_asgd-s2t2-sgd");
    /* not for the table, whose rows the server compensates itself */
    assert_int_equal(count_ops(m.server[0], "ref_by_trainer_id"), 4);
    assert_int_equal(count_ops(m.server[0], "sgd"), 5);
    assert_null(block_own_var(program_root(m.server[0]), "SparseFeatFactors.block0.trainer_0_bak"));
    made_close(&m);
}

/* Two distributed tables in one job, in every mode that exchanges gradients. */
static void set_distributed(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p);
    for (int i = 0; i < b->nops; i++)
        if (op_attr(b->ops[i], "is_distributed")) {
            op_set_bool(p, b->ops[i], "is_distributed", true);
            op_set_bool(p, b->ops[i], "remote_prefetch", false);
        }
}

static void check_two_tables(const char *name)
{
    struct made m;
    struct skiff_error err;
    case_open(&m.c, name);
    set_distributed(m.c.main);
    made_split(&m);
    const char *const *tables = split_plan(m.s)->tables;
    assert_int_equal(split_plan(m.s)->ntables, 2);
    assert_string_equal(tables[0], "table0");
    assert_string_equal(tables[1], "table1");
    assert_non_null(strstr(split_warnings(m.s), "to sgd instead of adagrad (table table1)"));
    assert_int_equal(count_ops(m.main, "prefetch"), 2);
    assert_int_equal(count_ops(m.main, "lookup_table"), 0);
    assert_string_equal(op_in(find_op(m.main, "prefetch", 0), "X")->names[1],
                        "prefetch_compress_in_tmp_1");
    assert_string_equal(op_in(find_op(m.main, "prefetch", 1), "X")->names[1],
                        "table1.prefetch_compress_in_tmp_1");
    for (int i = 0; i < m.servers; i++) {
        const struct skiff_op *serve = find_op(m.server[i], "listen_and_serv", 0);
        assert_int_equal(op_attr(serve, "prefetch_var_name_to_block_id")->value.n, 2);
        assert_int_equal(count_ops(m.server[i], "lookup_sparse_table"), 2);
        assert_int_equal(count_ops(m.server[i], "save"), 2);
        if (program_verify(m.server[i], &err) < 0 || program_verify(m.server_startup[i], &err) < 0)
            fail_msg("%s", err.message);
    }
    if (program_verify(m.main, &err) < 0 || program_verify(m.startup, &err) < 0)
        fail_msg("%s", err.message);
    made_close(&m);
}

static void test_two_distributed_tables(void **state)
{
    check_two_tables("tables_dist-transpiler-sync-s2t2-adagrad-patched");
    check_two_tables("tables_dist-transpiler-async_plain-s2t2-adagrad-patched");
    check_two_tables("tables_dist-fleet-half_async-s2t2-adagrad-patched");
}

static void test_mixed_lookups_of_a_table(void **state)
{
    struct split_case c;
    case_open(&c, "ctr3_dist-transpiler-sync-s2t2-sgd-patched");
    struct skiff_op *second = (struct skiff_op *)find_op(c.main, "lookup_table", 1);
    op_set_bool(c.main, second, "is_distributed", false);
    expect(&c, SKIFF_INVALID, "should set is_distributed to true");
    op_set_bool(c.main, second, "is_distributed", true);
    op_set_long(c.main, second, "padding_idx", 7);
    expect(&c, SKIFF_UNSUPPORTED, "padding_idx is 7");
    case_close(&c);
}

/* Ids of the second look-up are made of rows of the first: the look-ups stay where they are. */
static void test_dependent_lookups(void **state)
{
    struct made m;
    const char *from = "embedding_0.tmp_0", *to = "C2";
    case_open(&m.c, "ctr3-transpiler-sync-s2t2-sgd");
    struct skiff_op *op = block_insert_op(program_root(m.c.main), 1, "cast");
    op_set_in(m.c.main, op, "X", 1, &from);
    op_set_out(m.c.main, op, "Out", 1, &to);
    op_set_int(m.c.main, op, "in_dtype", DTYPE_FP32);
    op_set_int(m.c.main, op, "out_dtype", DTYPE_INT64);
    assert_int_equal(op_fill_defaults(m.c.main, op, NULL), SKIFF_OK);
    made_split(&m);
    const struct skiff_block *b = program_root(m.main);
    assert_int_equal(count_ops(m.main, "lookup_table"), 0);
    assert_int_equal(count_ops(m.main, "distributed_lookup_table"), 3);
    assert_string_equal(b->ops[0]->type, "distributed_lookup_table");
    assert_string_equal(b->ops[1]->type, "cast");
    assert_string_equal(op_in1(b->ops[2], "Ids"), "C2");
    made_close(&m);
}

/* Look-ups with another padding_idx are another op. */
static void test_padding(void **state)
{
    struct made m;
    case_open(&m.c, "ctr3-transpiler-sync-s2t2-sgd");
    op_set_long(m.c.main, (struct skiff_op *)find_op(m.c.main, "lookup_table", 1), "padding_idx",
                3);
    made_split(&m);
    assert_int_equal(count_ops(m.main, "distributed_lookup_table"), 2);
    assert_int_equal(op_in(find_op(m.main, "distributed_lookup_table", 1), "Ids")->n +
                         op_in(find_op(m.main, "distributed_lookup_table", 0), "Ids")->n,
                     3);
    for (int i = 0; i < 2; i++) {
        const struct skiff_op *op = find_op(m.main, "distributed_lookup_table", i);
        bool second = op_in(op, "Ids")->n == 1;
        assert_int_equal(op_attr(op, "padding_idx")->value.l, second ? 3 : -1);
    }
    made_close(&m);
}

/* The trainer must hold the complete table if another op reads all of it. */
static void test_shared_table(void **state)
{
    struct made m;
    const char *from = "SparseFeatFactors", *to = "decay";
    case_open(&m.c, "ctr3-transpiler-sync-s2t2-sgd");
    block_add_var(program_root(m.c.main), to);
    struct skiff_op *op = block_insert_op(program_root(m.c.main), 3, "mean");
    op_set_in(m.c.main, op, "X", 1, &from);
    op_set_out(m.c.main, op, "Out", 1, &to);
    assert_int_equal(op_fill_defaults(m.c.main, op, NULL), SKIFF_OK);
    made_split(&m);
    assert_string_equal(split_plan(m.s)->placement[0].kind, "Param");
    assert_false(split_plan(m.s)->placement[0].remote);
    assert_int_equal(count_ops(m.main, "distributed_lookup_table"), 0);
    assert_int_equal(count_ops(m.main, "recv"), 7);
    assert_int_equal(count_ops(m.startup, "recv"), 7);
    assert_int_equal(count_ops(m.startup, "fake_init"), 0);
    made_close(&m);
}

/* NumpyArrayInitializer: every block gets its rows. */
static void test_given_values(void **state)
{
    enum { ROWS = 43, WIDTH = 400, N = ROWS * WIDTH };
    struct made m;
    static float values[N];
    const char *out = "fc_0.w_0";
    case_open(&m.c, "ctr3-transpiler-sync-s2t2-sgd");
    struct skiff_block *b = program_root(m.c.startup);
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_writes(b->ops[i], out))
            block_remove_ops(b, i, 1);
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    struct skiff_op *op = block_insert_op(b, -1, "assign_value");
    op_set_out(m.c.startup, op, "Out", 1, &out);
    op_set_ints(m.c.startup, op, "shape", 2, (int32_t[]){ROWS, WIDTH});
    op_set_int(m.c.startup, op, "dtype", DTYPE_FP32);
    op_set_attr(m.c.startup, op, "fp32_values", ATTR_FLOATS,
                &(struct attr_value){.n = N, .floats = values});
    assert_int_equal(op_fill_defaults(m.c.startup, op, NULL), SKIFF_OK);
    made_split(&m);
    for (int i = 0; i < 2; i++) { /* block 1 lives on server 0 */
        const struct skiff_op *cut = find_op(m.server_startup[i], "assign_value", 0);
        const struct attr_value *v = &op_attr(cut, "fp32_values")->value;
        int first = i ? 0 : 22, rows = i ? 22 : 21;
        assert_string_equal(op_out1(cut, "Out"), i ? "fc_0.w_0.block0" : "fc_0.w_0.block1");
        assert_int_equal(op_attr(cut, "shape")->value.ints[0], rows);
        assert_int_equal(v->n, rows * WIDTH);
        assert_float_equal(v->floats[0], first * WIDTH, 0);
        assert_float_equal(v->floats[v->n - 1], (first + rows) * WIDTH - 1, 0);
    }
    made_close(&m);
}

/* ---- every recorded network, both generations ---- */

static int networks;

static void split_network(const char *name, const struct skiff_split_config *config)
{
    struct split_case c = {.name = name, .config = *config};
    struct made m;
    struct skiff_error err;
    c.main = case_program(name, "main.pb");
    c.startup = case_program(name, "startup.pb");
    c.job = (struct skiff_split_job){.main = c.main,
                                     .startup = c.startup,
                                     .trainer_id = 1,
                                     .pservers = "a:1,[::1]:2,c:3",
                                     .trainers = 2,
                                     .sync_mode = true};
    m.c = c;
    made_split(&m);
    if (program_verify(m.main, &err) < 0 || program_verify(m.startup, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    for (int i = 0; i < m.servers; i++)
        if (program_verify(m.server[i], &err) < 0 || program_verify(m.server_startup[i], &err) < 0)
            fail_msg("%s: %s", name, err.message);
    made_close(&m);
}

static void test_networks(void **state)
{
    static const char *const sets[] = {"../models", "../models26"};
    static const enum skiff_split_mode modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
    };
    struct skiff_split_config plain = split_config_default();
    for (int k = 0; k < 2; k++) {
        char path[PATH_LEN];
        struct dirent **list;
        case_path(path, sets[k], ".");
        int n = scandir(path, &list, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            snprintf(path, sizeof path, "%s/%s", sets[k], list[i]->d_name);
            if (list[i]->d_name[0] != '.' && case_has(path, "main.pb") &&
                case_has(path, "startup.pb") && !strstr(path, "lamb")) {
                split_network(path, &plain);
                for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
                    struct skiff_split_config fleet = split_config_fleet(modes[m]);
                    split_network(path, &fleet);
                }
                networks++;
            }
            free(list[i]);
        }
        free(list);
    }
    assert_true(networks > 60);
}

/* ---- running ---- */

static void test_needs_a_job(void **state)
{
    struct made m;
    struct skiff_error err;
    made_open(&m, "linreg-transpiler-sync-s2t2");
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    assert_int_equal(executor_run(e, m.startup, NULL, 0, NULL, 0, NULL, &err), SKIFF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "recv"));
    assert_non_null(strstr(err.message, "runs only in a distributed job"));
    executor_destroy(e);
    scope_destroy(scope);
    made_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_wrong_program),
        cmocka_unit_test(test_input_is_untouched),
        cmocka_unit_test(test_dispatchers),
        cmocka_unit_test(test_hash_name),
        cmocka_unit_test(test_grad_clip),
        cmocka_unit_test(test_sync_schedule),
        cmocka_unit_test(test_dc_asgd),
        cmocka_unit_test(test_two_distributed_tables),
        cmocka_unit_test(test_mixed_lookups_of_a_table),
        cmocka_unit_test(test_dependent_lookups),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_shared_table),
        cmocka_unit_test(test_given_values),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_needs_a_job),
    };
    return cmocka_run_group_tests(tests, case_unpack, NULL);
}
