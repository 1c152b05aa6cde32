/* The plan that the split gives with a server program (program/server_plan.h) is the plan that is
 * read from that program (server/foreign.c), field by field: for every recorded case, for every
 * recorded network in every mode, and also when the program has been printed and parsed again. And
 * the plan that is read from the program which Paddle wrote is the same. */
#include <fnmatch.h>

#include <skiff/skiff.h>

#include "server/server.h"
#include "split_case.h"

enum { SERVERS = 16 };

static int failures, plans, slices, tables, merged, compensated, counted, foreign;

/* ---- two plans ---- */

struct pair {
    const char *where, *how;
    int server;
    char unit[160];
};

static void differs(const struct pair *p, const char *field, const char *a, const char *b)
{
    failures++;
    printf("%s, server %d, %s, unit %s: %s is %s, %s\n", p->where, p->server, p->how, p->unit,
           field, a ? a : "NULL", b ? b : "NULL");
}

static void same_text(const struct pair *p, const char *field, const char *a, const char *b)
{
    if (a != b && (!a || !b || strcmp(a, b)))
        differs(p, field, a, b);
}

static void same_int(const struct pair *p, const char *field, int a, int b)
{
    char x[16], y[16];
    snprintf(x, sizeof x, "%d", a);
    snprintf(y, sizeof y, "%d", b);
    same_text(p, field, x, y);
}

static void same_names(const struct pair *p, const char *field, const struct plan_names *a,
                       const struct plan_names *b)
{
    same_int(p, field, a->n, b->n);
    for (int i = 0; i < a->n && i < b->n; i++)
        same_text(p, field, a->v[i], b->v[i]);
}

static void same_unit(struct pair *p, const struct plan_slice *a, const struct plan_slice *b)
{
    snprintf(p->unit, sizeof p->unit, "%s", a->param);
    same_text(p, "param", a->param, b->param);
    same_text(p, "grad", a->grad, b->grad);
    same_int(p, "block", a->block, b->block);
    same_int(p, "sparse", a->sparse, b->sparse);
    same_int(p, "keyed", a->keyed, b->keyed);
    same_names(p, "pushed", &a->pushed, &b->pushed);
    same_int(p, "merge_ops", a->merge_ops, b->merge_ops);
    same_int(p, "compensate", a->compensate, b->compensate);
    same_text(p, "base", a->base, b->base);
    same_names(p, "backups", &a->backups, &b->backups);
    same_names(p, "vars", &a->vars, &b->vars);
    same_names(p, "rows", &a->rows, &b->rows);
    if (a->placed != b->placed)
        differs(p, "placed", a->placed ? a->placed->slice : NULL,
                b->placed ? b->placed->slice : NULL);
}

static void same_plan(const char *where, const char *how, const struct server_plan *a,
                      const struct server_plan *b)
{
    struct pair p = {.where = where, .how = how, .server = a->index, .unit = "-"};
    assert_ptr_equal(a->job, b->job);
    same_int(&p, "index", a->index, b->index);
    same_int(&p, "rate_block", a->rate_block, b->rate_block);
    same_names(&p, "counters", &a->counters, &b->counters);
    same_int(&p, "nunits", a->nslices, b->nslices);
    for (int i = 0; i < a->nslices && i < b->nslices; i++)
        same_unit(&p, &a->slices[i], &b->slices[i]);
}

/* So that the numbers at the end say what was there to be compared. */
static void count(const struct server_plan *p)
{
    plans++;
    slices += p->nslices;
    counted += p->counters.n > 0;
    for (int i = 0; i < p->nslices; i++) {
        tables += p->slices[i].keyed;
        merged += p->slices[i].merge_ops > 0;
        compensated += p->slices[i].compensate;
    }
}

/* ---- reading ---- */

static struct server_plan *read_plan(const char *where, const struct skiff_program *main,
                                     const struct server_plan *like)
{
    struct server_plan *plan = NULL;
    struct skiff_error err;
    if (server_plan_read(main, like->job, like->index, &plan, &err) < 0)
        fail_msg("%s: %s", where, err.message);
    return plan;
}

static void compare_read(const char *where, const char *how, const struct skiff_program *main,
                         const struct server_plan *plan)
{
    struct server_plan *read = read_plan(where, main, plan);
    same_plan(where, how, plan, read);
    server_plan_destroy(read);
}

static void compare_printed(const char *where, const struct skiff_program *main,
                            const struct server_plan *plan)
{
    struct buf text = BUF_INIT;
    struct skiff_program *again = NULL;
    struct skiff_error err;
    program_print(main, &text);
    if (program_parse(text.data, where, &again, &err) < 0)
        fail_msg("%s", err.message);
    compare_read(where, "printed and parsed", again, plan);
    program_destroy(again);
    buf_deinit(&text);
}

/* Every server's own plan and program, and each of its plan and what is read from the program. */
static void compare_split(const char *where, const struct skiff_split *s,
                          void (*each)(const char *where, struct server_plan *plan))
{
    for (int i = 0; i < split_plan(s)->servers; i++) {
        struct skiff_program *main, *startup;
        struct server_plan *plan;
        struct skiff_error err;
        if (split_server(s, split_plan(s)->endpoints[i], &main, &startup, &plan, &err) < 0)
            fail_msg("%s: %s", where, err.message);
        assert_ptr_equal(plan->job, split_plan(s));
        assert_int_equal(plan->index, i);
        compare_read(where, "read", main, plan);
        compare_printed(where, main, plan);
        if (each)
            each(where, plan);
        count(plan);
        server_plan_destroy(plan);
        program_destroy(main);
        program_destroy(startup);
    }
}

/* ---- recorded cases ---- */

/* Where split_test.c lists a difference of the programs that is one of the plans. */
static bool paddle_differs(const char *name)
{
    static const char *const cases[] = {
        "*-transpiler-sync-s?t1*",      /* one trainer: 1.8.5's server waits for X@GRAD.trainer_0 */
        "*-sync_arg_false-*",           /* servers that wait for barriers that no trainer sends */
        "*-fleet-sync-*decay_exp*",     /* counters of trainers that never move */
        "*-transpiler-*-clip_global*"}; /* clip ops on the server */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!fnmatch(cases[i], name, 0))
            return true;
    return false;
}

static int by_param(const void *a, const void *b)
{
    return strcmp(((const struct plan_slice *)a)->param, ((const struct plan_slice *)b)->param);
}

/* Paddle's grad_to_block_id has the order of a Python set, its slots that of their names. */
static void sort_plan(struct server_plan *p)
{
    if (p->nslices)
        qsort(p->slices, (size_t)p->nslices, sizeof *p->slices, by_param);
    for (int i = 0; i < p->nslices; i++) {
        struct plan_names *vars = &p->slices[i].vars, *rows = &p->slices[i].rows;
        qsort(vars->v, (size_t)vars->n, sizeof *vars->v, by_text);
        if (rows->n)
            qsort(rows->v, (size_t)rows->n, sizeof *rows->v, by_text);
    }
}

static void compare_paddle(const char *name, struct server_plan *plan)
{
    char file[64];
    snprintf(file, sizeof file, "pserver_%d_main.pb", plan->index);
    if (paddle_differs(name) || !case_has(name, file))
        return;
    struct skiff_program *recorded = case_program(name, file);
    struct server_plan *read = read_plan(name, recorded, plan);
    sort_plan(read);
    sort_plan(plan);
    same_plan(name, "read from Paddle's program", plan, read);
    server_plan_destroy(read);
    program_destroy(recorded);
    foreign++;
}

static void check_case(const char *name)
{
    struct split_case c;
    if (strstr(name, "lamb"))
        return; /* refused: split_rules_test.c */
    case_open(&c, name);
    struct skiff_split *s = case_split(&c, 0);
    compare_split(name, s, compare_paddle);
    split_destroy(s);
    case_close(&c);
}

static void recorded_cases(void **state)
{
    each_case(check_case);
    printf("%d plans with %d units: %d tables, %d merged, %d compensated; %d with counters; %d "
           "programs of Paddle's\n",
           plans, slices, tables, merged, compensated, counted, foreign);
    assert_int_equal(failures, 0);
    assert_true(plans > 300 && slices > 1500 && foreign > 250);
    assert_true(tables > 20 && merged > 300 && compensated > 10 && counted > 5);
}

/* ---- recorded networks, both generations, in every mode ---- */

static void split_network(const char *name, const struct skiff_split_config *config)
{
    struct split_case c = {.name = name, .config = *config};
    c.main = case_program(name, "main.pb");
    c.startup = case_program(name, "startup.pb");
    c.job = (struct skiff_split_job){.main = c.main,
                                     .startup = c.startup,
                                     .pservers = "a:1,[::1]:2,c:3",
                                     .trainers = 2,
                                     .sync_mode = true};
    struct skiff_split *s = case_split(&c, 1);
    compare_split(name, s, NULL);
    split_destroy(s);
    case_close(&c);
}

static void split_all_ways(const char *name)
{
    struct skiff_split_config config = split_config_default();
    split_network(name, &config);
#define SKIFF_MODE(constant, number, name_, flags, promise)                            \
    config = split_config_fleet(SKIFF_SPLIT_##constant);                               \
    split_network(name, &config);                                                      \
    config.enable_dc_asgd = !((flags)&SKIFF_MODE_WAITS) && !((flags)&SKIFF_MODE_ADDS); \
    if (config.enable_dc_asgd)                                                         \
        split_network(name, &config);
#include <skiff/mode_list.h>
#undef SKIFF_MODE
}

static void recorded_networks(void **state)
{
    static const char *const sets[] = {"../models", "../models26"};
    int before = plans;
    for (int k = 0; k < 2; k++) {
        char path[PATH_LEN];
        struct dirent **list;
        case_path(path, sets[k], ".");
        int n = scandir(path, &list, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            snprintf(path, sizeof path, "%s/%s", sets[k], list[i]->d_name);
            if (list[i]->d_name[0] != '.' && case_has(path, "main.pb") &&
                case_has(path, "startup.pb") && !strstr(path, "lamb"))
                split_all_ways(path);
            free(list[i]);
        }
        free(list);
    }
    assert_int_equal(failures, 0);
    assert_true(plans - before > 1000);
}

/* ---- tables whose accumulators have rows, too: 2.x ---- */

static void tables_with_accumulators(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err;
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *rows =
        skiff_embedding(net, ids, 1000, 8, .is_sparse = true, .is_distributed = true);
    struct skiff_var *loss = skiff_mean(net, skiff_fc(net, rows, 1));
    skiff_net_main(net)->generation = skiff_net_startup(net)->generation = GEN_2X;
    assert_int_equal(skiff_minimize(net, loss, &err, "adam", .learning_rate = 0.1), SKIFF_OK);
    static const enum skiff_split_mode modes[] = {SKIFF_SPLIT_SYNC, SKIFF_SPLIT_ASYNC};
    for (int m = 0; m < 2; m++) {
        struct split_case c = {.name = "tables", .config = split_config_fleet(modes[m])};
        c.job = (struct skiff_split_job){.main = skiff_net_main(net),
                                         .startup = skiff_net_startup(net),
                                         .pservers = "a:1,b:2",
                                         .trainers = 2,
                                         .sync_mode = true};
        struct skiff_split *s = case_split(&c, 0);
        struct skiff_program *main, *startup;
        struct server_plan *plan;
        compare_split(c.name, s, NULL);
        assert_int_equal(split_server(s, "b:2", &main, &startup, &plan, &err), SKIFF_OK);
        const struct plan_slice *u = &plan->slices[plan->nslices - 1];
        assert_true(u->keyed && u->sparse && !u->placed);
        assert_int_equal(u->rows.n, 3); /* the table and both moments */
        assert_int_equal(u->vars.n, 6); /* with the gradient and two powers of beta */
        assert_int_equal(u->merge_ops, modes[m] == SKIFF_SPLIT_SYNC ? 1 : 0);
        program_destroy(main);
        program_destroy(startup);
        server_plan_destroy(plan);
        split_destroy(s);
    }
    assert_int_equal(failures, 0);
    skiff_net_destroy(net);
}

/* ---- programs that make no sense ---- */

struct bad {
    struct skiff_program *main;
    struct server_plan *plan;
    struct skiff_op *service;
};

static void bad_open(struct bad *b, const char *name)
{
    struct split_case c;
    struct skiff_program *startup;
    case_open(&c, name);
    struct skiff_split *s = case_split(&c, 0);
    assert_int_equal(
        split_server(s, split_plan(s)->endpoints[0], &b->main, &startup, &b->plan, NULL), SKIFF_OK);
    b->service = program_root(b->main)->ops[0];
    program_destroy(startup);
    split_destroy(s);
    case_close(&c);
}

static void bad_refused(struct bad *b, const char *text)
{
    struct server_plan *read = NULL;
    struct skiff_error err;
    assert_int_equal(server_plan_read(b->main, b->plan->job, 0, &read, &err), SKIFF_INVALID);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not contain \"%s\"", err.message, text);
    assert_null(read);
    program_destroy(b->main);
    server_plan_destroy(b->plan);
}

static void set_pairs(struct bad *b, const char *pair)
{
    op_set_strings(b->main, b->service, "grad_to_block_id", 1, &pair);
}

static void nonsense(void **state)
{
    static const char *const name = "ctr3-transpiler-sync-s2t2-sgd";
    struct bad b;
    bad_open(&b, name);
    block_remove_ops(program_root(b.main), 0, 1);
    bad_refused(&b, "it has no listen_and_serv");
    bad_open(&b, name);
    op_set_int(b.main, b.service, "Fanin", 3);
    bad_refused(&b, "is for 3 trainers, the server was started for 2");
    bad_open(&b, name);
    op_set_int(b.main, b.service, "distributed_mode", 1);
    bad_refused(&b, "is for mode 1, the server was started in mode 0");
    bad_open(&b, name);
    set_pairs(&b, "fc_0.w_0@GRAD");
    bad_refused(&b, "grad_to_block_id has \"fc_0.w_0@GRAD\", not gradient:block");
    bad_open(&b, name);
    set_pairs(&b, "fc_0.w_0@GRAD:99");
    bad_refused(&b, "gradient fc_0.w_0@GRAD has block 99 of ");
    bad_open(&b, name);
    set_pairs(&b, "fc_0.w_0@GRAD:0");
    bad_refused(&b, "has block 0 of ");
    bad_open(&b, name);
    op_set_strings(b.main, b.service, "grad_to_block_id", 2, (const char *[]){"a:1", "b:1"});
    bad_refused(&b, "both have block 1");
    bad_open(&b, name);
    b.main->blocks[1]->nops = 2; /* sum and scale, and nothing behind them */
    bad_refused(&b, "block 1 of gradient ");
    bad_open(&b, name);
    op_set_int(b.main, b.service, "lr_decay_block_id", 99);
    bad_refused(&b, "lr_decay_block_id is 99 of ");
    bad_open(&b, "ctr3-transpiler-geo-s2t2-sgd");
    op_set_in(b.main, b.main->blocks[1]->ops[0], "X", 0, NULL);
    bad_refused(&b, "updates no parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_cases),
        cmocka_unit_test(recorded_networks),
        cmocka_unit_test(tables_with_accumulators),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, case_unpack, NULL);
}
