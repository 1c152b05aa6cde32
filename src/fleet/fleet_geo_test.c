/* GEO with distributed tables: rows by any 64-bit id, in the trainers and on the servers. Workers
 * take turns, so that every number is the same in every run. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "net/host.h"
#include "store/file.h"

#define IDS 10
#define ROWS 64 /* declared */
#define DIM 3
#define SAMPLES 6
#define STEPS 40
#define SERVERS 2
#define MOST 2 /* workers */

struct geo_case {
    const char *optimizer;
    int workers, steps; /* geo_steps */
    bool distributed, wide, of_2x;
    const char *mode, *load, *save; /* NULL: geo; folders, or NULL */
    bool bare; /* the loss is the mean of the rows of one id: nothing is dense */
    /* filled */
    char texts[SERVERS][32];
    const char *endpoints[SERVERS];
    float losses[MOST][STEPS];
};

/* A one-to-one map of the numbers 0 .. IDS; 0, which is padding, stays. */
static int64_t id_of(const struct geo_case *c, int i)
{
    return c->wide ? (int64_t)((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15)) : i;
}

struct table_process {
    struct geo_case *c;
    struct skiff_net *net;
    struct skiff_var *loss;
    struct skiff_fleet *fleet;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
    pthread_t thread;
};

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0)
        fail_msg("%s", err->message);
}

static struct skiff_var *loss_of(struct skiff_net *net, struct skiff_var *const rows[2])
{
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *h =
        skiff_fc(net, skiff_sums(net, SKIFF_VARS(rows[0], rows[1])), 4, .act = "tanh");
    return skiff_square_error_cost(net, skiff_fc(net, h, 1), y);
}

/* loss = mean (tanh(rows W) w - y)^2 of two slots that are looked up in one table. */
static void build(struct table_process *m, struct skiff_optimizer **opt)
{
    const struct geo_case *c = m->c;
    struct skiff_param_attr attr = {.name = "emb", .initializer = skiff_init_constant(0.25)};
    struct skiff_var *rows[2];
    m->net = skiff_net_create();
    skiff_program_set_generation(skiff_net_main(m->net), c->of_2x ? 2 : 1);
    skiff_program_set_generation(skiff_net_startup(m->net), c->of_2x ? 2 : 1);
    skiff_program_set_seed(skiff_net_startup(m->net), 7);
    for (int i = 0; i < (c->bare ? 1 : 2); i++) {
        struct skiff_var *ids = skiff_data(m->net, i ? "b" : "a", SKIFF_DIMS(1), .dtype = "int64");
        rows[i] = skiff_embedding(m->net, ids, ROWS, DIM, .is_sparse = true,
                                  .is_distributed = c->distributed, .has_padding = true,
                                  .param_attr = &attr);
    }
    m->loss = skiff_mean(m->net, c->bare ? rows[0] : loss_of(m->net, rows));
    struct skiff_optimizer_options o = {.learning_rate = strcmp(c->optimizer, "sgd") ? 0.02 : 0.2};
    *opt = skiff_optimizer_create(m->net, c->optimizer, &o);
}

static void member_open(struct table_process *m, struct geo_case *c, bool server, int id)
{
    struct skiff_error err;
    struct skiff_optimizer *opt;
    struct skiff_role role = {.role = server ? SKIFF_SERVER : SKIFF_WORKER,
                              .current_id = id,
                              .worker_num = c->workers,
                              .server_endpoints = c->endpoints,
                              .nservers = SERVERS};
    struct skiff_strategy strategy = {.mode = c->mode ? c->mode : "geo", .geo_steps = c->steps};
    *m = (struct table_process){
        .c = c, .fleet = skiff_fleet_create(), .scope = skiff_scope_create()};
    m->exe = skiff_executor_create(m->scope, NULL);
    build(m, &opt);
    or_die(skiff_fleet_init_user(m->fleet, &role, &err), &err);
    or_die(skiff_fleet_minimize(m->fleet, opt, m->loss, &strategy, NULL, &err), &err);
}

static void member_close(struct table_process *m)
{
    skiff_fleet_destroy(m->fleet);
    skiff_executor_destroy(m->exe);
    skiff_scope_destroy(m->scope);
    skiff_net_destroy(m->net);
}

static void *serve(void *self)
{
    struct table_process *m = self;
    struct skiff_error err;
    if (skiff_fleet_init_server(m->fleet, m->c->load, &err) < 0 ||
        skiff_fleet_run_server(m->fleet, &err) < 0)
        fprintf(stderr, "server: %s\n", err.message);
    return NULL;
}

/* The next batch; all that is due has been exchanged afterwards. */
static float step(struct table_process *m, int worker, int step)
{
    struct skiff_error err;
    struct skiff_tensor *loss = NULL, *in[3];
    const char *fetch = skiff_var_name(m->loss), *names[] = {"a", "b", "y"};
    struct skiff_feed feeds[3];
    for (int i = 0; i < 3; i++)
        in[i] = skiff_tensor_create(i < 2 ? "int64" : "float32", 2, (int64_t[]){SAMPLES, 1}, NULL);
    for (int r = 0; r < SAMPLES; r++) {
        int n = m->c->bare ? 7 : (step * 7 + r * 5 + worker * 3) % IDS;
        ((int64_t *)skiff_tensor_data(in[0]))[r] = id_of(m->c, n);
        ((int64_t *)skiff_tensor_data(in[1]))[r] = id_of(m->c, r % 3 ? (n * 3 + 1) % IDS : 0);
        ((float *)skiff_tensor_data(in[2]))[r] = n % 2 ? 1 : -1;
    }
    for (int i = 0; i < 3; i++)
        feeds[i] = (struct skiff_feed){names[i], in[i]};
    or_die(skiff_executor_run(m->exe, skiff_fleet_main_program(m->fleet), feeds, m->c->bare ? 1 : 3,
                              &fetch, 1, &loss, &err),
           &err);
    or_die(skiff_fleet_flush(m->fleet, &err), &err);
    float value = ((float *)skiff_tensor_data(loss))[0];
    skiff_tensor_destroy(loss);
    for (int i = 0; i < 3; i++)
        skiff_tensor_destroy(in[i]);
    return value;
}

static void run(struct geo_case *c)
{
    struct table_process servers[SERVERS], workers[MOST];
    struct skiff_error err;
    int ports[SERVERS];
    assert_int_equal(host_free_ports(SERVERS, ports, NULL), SKIFF_OK);
    for (int i = 0; i < SERVERS; i++) {
        snprintf(c->texts[i], sizeof(c->texts[i]), "127.0.0.1:%d", ports[i]);
        c->endpoints[i] = c->texts[i];
    }
    for (int i = 0; i < SERVERS; i++) {
        member_open(&servers[i], c, true, i);
        pthread_create(&servers[i].thread, NULL, serve, &servers[i]);
    }
    for (int i = 0; i < c->workers; i++) {
        member_open(&workers[i], c, false, i);
        or_die(skiff_fleet_init_worker(workers[i].fleet, workers[i].scope, &err), &err);
        or_die(skiff_executor_run(workers[i].exe, skiff_fleet_startup_program(workers[i].fleet),
                                  NULL, 0, NULL, 0, NULL, &err),
               &err);
    }
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < c->workers; i++)
            c->losses[i][s] = step(&workers[i], i, s);
    if (c->save)
        or_die(skiff_fleet_save_persistables(workers[0].fleet, workers[0].scope, c->save, &err),
               &err);
    for (int i = 0; i < c->workers; i++)
        or_die(skiff_fleet_stop_worker(workers[i].fleet, &err), &err);
    for (int i = 0; i < SERVERS; i++)
        pthread_join(servers[i].thread, NULL);
    for (int i = 0; i < c->workers; i++)
        member_close(&workers[i]);
    for (int i = 0; i < SERVERS; i++)
        member_close(&servers[i]);
}

static void assert_same(const struct geo_case *a, const struct geo_case *b)
{
    for (int i = 0; i < a->workers; i++) {
        assert_memory_equal(a->losses[i], b->losses[i], sizeof(a->losses[i]));
        float first = 0, last = 0; /* something is learnt */
        for (int s = 0; s < STEPS; s++)
            *(s < STEPS / 2 ? &first : &last) += a->losses[i][s];
        assert_true(last < first);
    }
}

/* Ids that are spread over 64 bits give, bit for bit, what small ones give: two workers, who learn
 * of each other's rows, rules with states and without. */
static void any_id(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam"};
    for (int i = 0; i < 2; i++)
        for (int of_2x = 0; of_2x < 2; of_2x++) {
            struct geo_case small = {.optimizer = optimizers[i],
                                     .workers = 2,
                                     .steps = 2,
                                     .distributed = true,
                                     .of_2x = of_2x},
                            wide = small;
            wide.wide = true;
            run(&small);
            run(&wide);
            assert_same(&small, &wide);
        }
}

/* One worker: the numbers of a table that is a tensor. */
static void as_a_tensor(void **state)
{
    struct geo_case tensor = {.optimizer = "sgd", .workers = 1, .steps = 3}, table = tensor;
    table.distributed = true;
    run(&tensor);
    run(&table);
    assert_same(&tensor, &table);
}

/* Two workers that train one row in turns, each batch an exchange. With d for a step and the first
 * value v: worker 0 has v; its step gives the server v - d/2. Worker 1 meets the row there; its
 * step gives v - d. Worker 0, at v - d, steps to v - 2d, of which 3d/4 go out, and hears of d/2
 * from worker 1. */
static void arithmetic(void **state)
{
    struct geo_case c = {.optimizer = "sgd",
                         .workers = 2,
                         .steps = 1,
                         .distributed = true,
                         .wide = true,
                         .bare = true};
    const float v = 0.25f, d = 0.2f / DIM;
    run(&c);
    assert_float_equal(c.losses[0][0], v, 1e-6);
    assert_float_equal(c.losses[1][0], v - d / 2, 1e-6);
    assert_float_equal(c.losses[0][1], v - d, 1e-6);
    assert_float_equal(c.losses[0][2], v - 2.5f * d, 1e-6);
}

/* Ids beyond the declared size are in a save: a job that begins with it has the rows. */
static void saved(void **state)
{
    static const char *const modes[] = {"geo", "sync"};
    char folder[] = "/tmp/skiff_geo_XXXXXX", model[64], rows[128];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        struct geo_case first = {.optimizer = "sgd",
                                 .mode = modes[i],
                                 .workers = 1,
                                 .steps = 1,
                                 .distributed = true,
                                 .wide = true,
                                 .bare = true,
                                 .of_2x = true},
                        next = first, small = first;
        snprintf(model, sizeof(model), "%s/%s", folder, modes[i]);
        first.save = next.load = model;
        run(&first);
        snprintf(rows, sizeof(rows), "%s/__lookup_table__/emb.pserver_%d.00000", model,
                 SERVERS - 1);
        assert_int_equal(access(rows, R_OK), 0);
        run(&next);
        assert_float_equal(next.losses[0][0],
                           2 * first.losses[0][STEPS - 1] - first.losses[0][STEPS - 2], 1e-5);
        snprintf(model, sizeof(model), "%s/small", folder);
        small.wide = false;
        small.save = model;
        run(&small);
        snprintf(rows, sizeof(rows), "%s/__lookup_table__", model);
        assert_int_not_equal(access(rows, R_OK), 0); /* the tensor has them all */
    }
    file_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_id), cmocka_unit_test(as_a_tensor),
                                       cmocka_unit_test(arithmetic), cmocka_unit_test(saved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
