/* Whole jobs with servers and workers as threads of one process, over loopback: what fleet's tests
 * share. */
#ifndef FLEET_FIXTURE_TEST_H
#define FLEET_FIXTURE_TEST_H

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "net/host.h"

#define WIDTH 200
#define BATCH 8
#define STEPS 6
#define MAX_NODES 4
#define ROWS 3000 /* of the table: with 8 columns it is cut in two blocks */
#define MAX_FEEDS 3

struct job_case {
    const char *mode, *optimizer;
    double rate;
    int servers, workers, steps;
    const char *load, *save, *model; /* folders; NULL: none */
    bool prefix;
    bool of_2x;               /* programs of 2.x */
    bool sparse, distributed; /* a table; is_distributed */
    bool schedule;            /* the rate is halved every second step */
    double clip;              /* grad_clip by the norm of all gradients; 0: none */
    bool bare;                /* the programs of the bare transpiler */
    bool by_running;          /* no fleet calls: the net's own programs are run, servers' too */
    bool half_configured;     /* transpile(sync_mode=False) with a config that says sync */
    const char *split_method;
    bool dc_asgd;
    int geo_steps;
    int fewer;  /* worker 1 makes so many steps less */
    bool drops; /* worker 1 does not say stop_worker */
    /* filled */
    const char *endpoints[MAX_NODES];
    char texts[MAX_NODES][32];
    double losses[MAX_NODES][STEPS], sums[MAX_NODES];
    struct skiff_error errors[2 * MAX_NODES];
};

/* ---- the net ---- */

struct case_net {
    struct skiff_net *net;
    struct skiff_var *loss, *predict;
    struct skiff_optimizer *opt;
};

/* The first layer has 40000 elements: it is cut in two blocks. */
static inline void net_open(struct case_net *n, const struct job_case *c)
{
    n->net = skiff_net_create();
    skiff_program_set_generation(skiff_net_main(n->net), c->of_2x ? 2 : 1);
    skiff_program_set_generation(skiff_net_startup(n->net), c->of_2x ? 2 : 1);
    skiff_program_set_seed(skiff_net_main(n->net), 7);
    skiff_program_set_seed(skiff_net_startup(n->net), 7);
    struct skiff_var *x = skiff_data(n->net, "x", SKIFF_DIMS(WIDTH));
    struct skiff_var *y = skiff_data(n->net, "y", SKIFF_DIMS(1));
    struct skiff_var *h = skiff_fc(n->net, x, WIDTH, .act = "tanh");
    n->predict = skiff_fc(n->net, h, 1);
    if (c->sparse) {
        struct skiff_var *ids = skiff_data(n->net, "ids", SKIFF_DIMS(1), .dtype = "int64");
        struct skiff_var *rows = skiff_embedding(n->net, ids, ROWS, 8, .is_sparse = true,
                                                 .is_distributed = c->distributed);
        n->predict = skiff_sums(n->net, SKIFF_VARS(n->predict, skiff_fc(n->net, rows, 1)));
    }
    n->loss = skiff_mean(n->net, skiff_square_error_cost(n->net, n->predict, y));
    struct skiff_optimizer_options o = {.learning_rate = c->rate};
    if (c->schedule)
        o.learning_rate_var = skiff_lr_exponential(n->net, c->rate, 2, 0.5, true);
    if (c->clip > 0)
        o.grad_clip = skiff_clip_global_norm(c->clip);
    n->opt = skiff_optimizer_create(n->net, c->optimizer, &o);
}

static inline float element(int step, int row, int column)
{
    return sinf((float)(step * 131 + row * 17 + column));
}

/* Rows first .. first + rows of the joint batch of a step. */
static inline int feeds_fill(struct skiff_feed feeds[MAX_FEEDS], const struct job_case *c, int step,
                             int first, int rows)
{
    struct skiff_tensor *x = skiff_tensor_create("float32", 2, (int64_t[]){rows, WIDTH}, NULL);
    struct skiff_tensor *y = skiff_tensor_create("float32", 2, (int64_t[]){rows, 1}, NULL);
    struct skiff_tensor *ids = skiff_tensor_create("int64", 2, (int64_t[]){rows, 1}, NULL);
    float *px = skiff_tensor_data(x), *py = skiff_tensor_data(y);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < WIDTH; k++)
            px[i * WIDTH + k] = element(step, first + i, k);
        py[i] = element(step, first + i, WIDTH + 3);
        ((int64_t *)skiff_tensor_data(ids))[i] = (step * 7 + (first + i) * 577) % ROWS;
    }
    feeds[0] = (struct skiff_feed){"x", x};
    feeds[1] = (struct skiff_feed){"y", y};
    feeds[2] = (struct skiff_feed){"ids", ids};
    return c->sparse ? 3 : 2;
}

static inline void feeds_deinit(struct skiff_feed feeds[MAX_FEEDS])
{
    for (int i = 0; i < MAX_FEEDS; i++)
        skiff_tensor_destroy((struct skiff_tensor *)feeds[i].tensor);
}

/* ---- a job ---- */

struct case_process {
    struct job_case *c;
    bool server;
    int id;
};

static inline enum skiff_status train(struct job_case *c, int id, const struct skiff_program *main,
                                      const struct skiff_program *startup, struct case_net *n,
                                      struct skiff_scope *scope, struct skiff_error *err)
{
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    struct skiff_tensor *loss = NULL;
    const char *fetch = skiff_var_name(n->loss);
    enum skiff_status status = skiff_executor_run(exe, startup, NULL, 0, NULL, 0, NULL, err);
    int steps = c->steps - (id == 1 ? c->fewer : 0);
    for (int step = 0; status == SKIFF_OK && step < steps; step++) {
        struct skiff_feed feeds[MAX_FEEDS];
        int nfeeds = feeds_fill(feeds, c, step, id * BATCH, BATCH);
        status = skiff_executor_run(exe, main, feeds, nfeeds, &fetch, 1, &loss, err);
        if (status == SKIFF_OK)
            c->losses[id][step] = (double)((float *)skiff_tensor_data(loss))[0];
        feeds_deinit(feeds);
    }
    skiff_tensor_destroy(loss);
    skiff_executor_destroy(exe);
    return status;
}

static inline enum skiff_status save(struct job_case *c, struct skiff_fleet *f, struct case_net *n,
                                     struct skiff_scope *scope, struct skiff_error *err)
{
    const char *feed = "x", *target = skiff_var_name(n->predict);
    enum skiff_status status = SKIFF_OK;
    if (c->save)
        status = skiff_fleet_save_persistables(f, scope, c->save, err);
    if (status == SKIFF_OK && c->model)
        status = skiff_fleet_save_inference_model(f, scope, &feed, 1, &target, 1, c->model,
                                                  c->prefix, err);
    return status;
}

static inline enum skiff_status work(struct job_case *c, int id, struct skiff_fleet *f,
                                     struct case_net *n, struct skiff_scope *scope,
                                     struct skiff_error *err)
{
    double sum = id + 1;
    enum skiff_status status = SKIFF_OK;
    const struct skiff_program *main = skiff_net_main(n->net), *startup = skiff_net_startup(n->net);
    if (!c->by_running) {
        main = skiff_fleet_main_program(f);
        startup = skiff_fleet_startup_program(f);
        status = skiff_fleet_init_worker(f, scope, err);
    }
    if (status == SKIFF_OK)
        status = train(c, id, main, startup, n, scope, err);
    if (c->drops && id == 1)
        return status; /* its fleet goes without stop_worker */
    if (status == SKIFF_OK)
        status = skiff_fleet_barrier_worker(f, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_all_reduce_double(f, "sum", &sum, 1, err);
    c->sums[id] = sum;
    if (status == SKIFF_OK)
        status = save(c, f, n, scope, err);
    enum skiff_status stopped = skiff_fleet_stop_worker(f, status < 0 ? NULL : err);
    return status < 0 ? status : stopped;
}

static inline enum skiff_status serve(struct job_case *c, struct skiff_fleet *f,
                                      struct skiff_scope *scope, struct skiff_error *err)
{
    if (!c->by_running) {
        enum skiff_status status = skiff_fleet_init_server(f, c->load, err);
        return status == SKIFF_OK ? skiff_fleet_run_server(f, err) : status;
    }
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    const struct skiff_program *main = skiff_fleet_main_program(f);
    enum skiff_status status =
        skiff_executor_run(exe, skiff_fleet_startup_program(f), NULL, 0, NULL, 0, NULL, err);
    if (status == SKIFF_OK && skiff_program_waits(main) != SKIFF_WAIT_SERVE)
        status = SKIFF_STATE;
    if (status == SKIFF_OK)
        status = skiff_executor_run(exe, main, NULL, 0, NULL, 0, NULL, err);
    skiff_executor_destroy(exe);
    return status;
}

static inline void *node_main(void *arg)
{
    struct case_process *me = arg;
    struct job_case *c = me->c;
    struct skiff_error *err = &c->errors[me->id + (me->server ? MAX_NODES : 0)];
    struct case_net n;
    struct skiff_fleet *f = skiff_fleet_create();
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_role role = {.role = me->server ? SKIFF_SERVER : SKIFF_WORKER,
                              .current_id = me->id,
                              .worker_num = c->workers,
                              .server_endpoints = c->endpoints,
                              .nservers = c->servers};
    struct skiff_strategy strategy = {.mode = c->mode,
                                      .split_method = c->split_method,
                                      .dc_asgd = c->dc_asgd,
                                      .geo_steps = c->geo_steps};
    net_open(&n, c);
    enum skiff_status status = skiff_fleet_init_user(f, &role, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_minimize(f, n.opt, n.loss, &strategy, NULL, err);
    if (status == SKIFF_OK && me->server) {
        status = serve(c, f, scope, err);
    } else if (status == SKIFF_OK) {
        status = work(c, me->id, f, &n, scope, err);
    }
    if (status == SKIFF_OK)
        err->code = SKIFF_OK;
    skiff_fleet_destroy(f);
    skiff_scope_destroy(scope);
    skiff_net_destroy(n.net);
    return NULL;
}

/* As scripts with the bare DistributeTranspiler do: split, run startup, run main, close. */
static inline enum skiff_status bare_run(struct case_process *me, struct skiff_split *split,
                                         struct case_net *n, struct skiff_scope *scope,
                                         struct skiff_error *err)
{
    struct job_case *c = me->c;
    struct skiff_program *main = NULL, *startup = NULL;
    const char *own = c->endpoints[me->server ? me->id : 0];
    enum skiff_status status;
    if (me->server) {
        status = skiff_split_server(split, own, &main, &startup, err);
        if (status == SKIFF_OK)
            status = skiff_split_attach_server(split, own, c->workers, main, startup, err);
    } else {
        status = skiff_split_trainer(split, &main, &startup, err);
        if (status == SKIFF_OK)
            status = skiff_split_attach_trainer(split, me->id, c->workers, main, startup, err);
    }
    skiff_split_destroy(split);
    if (status == SKIFF_OK && me->server) {
        struct skiff_executor *exe = skiff_executor_create(scope, NULL);
        status = skiff_executor_run(exe, startup, NULL, 0, NULL, 0, NULL, err);
        if (status == SKIFF_OK)
            status = skiff_executor_run(exe, main, NULL, 0, NULL, 0, NULL, err);
        skiff_executor_destroy(exe);
    } else if (status == SKIFF_OK) {
        status = train(c, me->id, main, startup, n, scope, err);
        if (status == SKIFF_OK && c->save && me->id == 0)
            status = skiff_save_params(scope, skiff_net_main(n->net), c->save, NULL, err);
        enum skiff_status left = skiff_program_leave_job(main, status < 0 ? NULL : err);
        status = status < 0 ? status : left;
    }
    skiff_program_destroy(main);
    skiff_program_destroy(startup);
    return status;
}

static inline void *bare_main(void *arg)
{
    struct case_process *me = arg;
    struct job_case *c = me->c;
    struct skiff_error *err = &c->errors[me->id + (me->server ? MAX_NODES : 0)];
    struct case_net n;
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_split *split;
    char pservers[256] = "";
    for (int i = 0; i < c->servers; i++)
        snprintf(pservers + strlen(pservers), sizeof(pservers) - strlen(pservers), "%s%s",
                 i ? "," : "", c->endpoints[i]);
    net_open(&n, c);
    enum skiff_status status = skiff_optimizer_minimize(n.opt, n.loss, NULL, err);
    struct skiff_split_config config = skiff_split_config_default();
    bool sync = !strcmp(c->mode, "sync");
    config.sync_mode = sync;
    config.enable_dc_asgd = c->dc_asgd;
    struct skiff_split_job job = {.main = skiff_net_main(n.net),
                                  .startup = skiff_net_startup(n.net),
                                  .trainer_id = me->server ? 0 : me->id,
                                  .pservers = pservers,
                                  .trainers = c->workers,
                                  .sync_mode = sync && !c->half_configured};
    if (status == SKIFF_OK)
        status = skiff_split_create(&job, &config, &split, err);
    if (status == SKIFF_OK)
        status = bare_run(me, split, &n, scope, err);
    if (status == SKIFF_OK)
        err->code = SKIFF_OK;
    skiff_scope_destroy(scope);
    skiff_net_destroy(n.net);
    return NULL;
}

static inline void job_run(struct job_case *c)
{
    pthread_t threads[2 * MAX_NODES];
    struct case_process nodes[2 * MAX_NODES];
    int ports[MAX_NODES], n = 0;
    assert_int_equal(host_free_ports(c->servers, ports, NULL), SKIFF_OK);
    for (int i = 0; i < c->servers; i++) {
        snprintf(c->texts[i], sizeof(c->texts[i]), "127.0.0.1:%d", ports[i]);
        c->endpoints[i] = c->texts[i];
    }
    for (int i = 0; i < c->servers; i++)
        nodes[n++] = (struct case_process){c, true, i};
    for (int i = 0; i < c->workers; i++)
        nodes[n++] = (struct case_process){c, false, i};
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, c->bare ? bare_main : node_main, &nodes[i]);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2 * MAX_NODES; i++)
        if (c->errors[i].code < 0)
            fail_msg("%s %d: %s", i < MAX_NODES ? "worker" : "server", i % MAX_NODES,
                     c->errors[i].message);
}

/* ---- folders ---- */

static char folder[64];

static inline int folder_create(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/skiff-fleet-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static inline const char *in_folder(const char *name)
{
    static _Thread_local char ring[8][128];
    static _Thread_local int at;
    char *out = ring[at++ % 8];
    snprintf(out, 128, "%s/%s", folder, name);
    return out;
}

static inline long file_size(const char *dir, const char *name)
{
    char path[300];
    struct stat s;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return stat(path, &s) ? -1 : (long)s.st_size;
}

static inline bool same_file(const char *a, const char *b, const char *name)
{
    char command[800];
    snprintf(command, sizeof(command), "cmp -s %s/%s %s/%s", a, name, b, name);
    return system(command) == 0;
}

/* ---- local runs ---- */

struct local {
    const struct job_case *c;
    struct case_net net;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
};

static inline void local_open(struct local *l, const struct job_case *c)
{
    struct skiff_error err = {0};
    net_open(&l->net, c);
    l->c = c;
    assert_int_equal(skiff_optimizer_minimize(l->net.opt, l->net.loss, NULL, &err), SKIFF_OK);
    l->scope = skiff_scope_create();
    l->exe = skiff_executor_create(l->scope, NULL);
    assert_int_equal(
        skiff_executor_run(l->exe, skiff_net_startup(l->net.net), NULL, 0, NULL, 0, NULL, &err),
        SKIFF_OK);
}

/* One step with the first `rows` rows of the joint batch: the loss before it. */
static inline double local_step(struct local *l, int step, int rows)
{
    struct skiff_error err = {0};
    struct skiff_feed feeds[MAX_FEEDS];
    struct skiff_tensor *loss = NULL;
    const char *fetch = skiff_var_name(l->net.loss);
    int n = feeds_fill(feeds, l->c, step, 0, rows);
    if (skiff_executor_run(l->exe, skiff_net_main(l->net.net), feeds, n, &fetch, 1, &loss, &err) <
        0)
        fail_msg("local step %d: %s", step, err.message);
    double value = (double)((float *)skiff_tensor_data(loss))[0];
    skiff_tensor_destroy(loss);
    feeds_deinit(feeds);
    return value;
}

static inline void local_train(struct local *l, int steps, int rows)
{
    for (int step = 0; step < steps; step++)
        local_step(l, step, rows);
}

static inline void local_close(struct local *l)
{
    skiff_executor_destroy(l->exe);
    skiff_scope_destroy(l->scope);
    skiff_net_destroy(l->net.net);
}

static inline double largest_difference(struct skiff_scope *a, struct skiff_scope *b,
                                        const char *name)
{
    struct skiff_tensor *x = skiff_scope_find(a, name), *y = skiff_scope_find(b, name);
    double most = 0;
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(skiff_tensor_count(x), skiff_tensor_count(y));
    for (int64_t i = 0; i < skiff_tensor_count(x); i++)
        most = fmax(most, fabs((double)((float *)skiff_tensor_data(x))[i] -
                               (double)((float *)skiff_tensor_data(y))[i]));
    return most;
}

static inline void local_load(struct local *l, const char *dir)
{
    struct skiff_error err = {0};
    if (skiff_load_params(l->scope, skiff_net_main(l->net.net), dir, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* What was saved differs at most by `most` from the parameters of a local run. */
static inline void saved_equals(const struct job_case *c, struct local *whole, double most)
{
    static const char *const names[] = {"fc_0.w_0", "fc_0.b_0",        "fc_1.w_0", "fc_1.b_0",
                                        "fc_2.w_0", "embedding_0.w_0", NULL};
    struct local loaded;
    local_open(&loaded, c);
    local_load(&loaded, c->save);
    for (int i = 0; names[i] && (i < 4 || c->sparse); i++) {
        double d = largest_difference(whole->scope, loaded.scope, names[i]);
        if (!(d <= most))
            fail_msg("%s differs by %g", names[i], d);
    }
    local_close(&loaded);
}

/* The same, for a local run with joint batches of `rows` rows. */
static inline void saved_equals_local(const struct job_case *c, int rows, double most)
{
    struct local whole;
    local_open(&whole, c);
    local_train(&whole, c->steps, rows);
    saved_equals(c, &whole, most);
    local_close(&whole);
}

/* The mean of the workers' losses of a step is that of a local run with the joint batch. */
static inline void loss_equals(const struct job_case *c, int workers, int step, double local,
                               double part)
{
    double sum = 0;
    for (int i = 0; i < workers; i++)
        sum += c->losses[i][step];
    if (!(fabs(sum / workers - local) <= part * fabs(local)))
        fail_msg("%s, step %d: loss %.9g, locally %.9g", c->mode, step, sum / workers, local);
}

/* What the job's parameters begin with, saved: the same job at the rate 0. (Slices of the bare
 * transpiler and rows of keyed tables begin with other numbers than a local run.) */
static inline void job_start(const struct job_case *c, const char *dir)
{
    struct job_case still = *c;
    still.rate = SKIFF_ZERO;
    still.schedule = false;
    still.save = dir;
    job_run(&still);
}

/* A local run with joint batches gives the job's losses, and what it has saved. start: folder with
 * the first parameters, or NULL. ahead: steps by which the job's schedule is. */
static inline void job_equals_local(const struct job_case *c, const char *start, int prefetch,
                                    double part)
{
    struct local l;
    local_open(&l, c);
    if (start)
        local_load(&l, start);
    if (prefetch)
        *(int64_t *)skiff_tensor_data(skiff_scope_find(l.scope, "@LR_DECAY_COUNTER@")) += prefetch;
    for (int step = 0; step < c->steps; step++)
        loss_equals(c, c->workers, step, local_step(&l, step, c->workers * BATCH), part);
    if (c->save)
        saved_equals(c, &l, part);
    local_close(&l);
}

#endif
