/* A snapshot of a server with a hash-backed table of 10 million rows (Adam, 8 floats a row, most
 * rows deferred) while a worker pushes: how long pushes are blocked, and the cost of copy-on-write
 * afterwards. A second worker tags the version (session_tag_now) and then reads all of it.
 *
 * Goal: pushes are blocked for 50 ms at most.
 * usage: snapshot [ROWS [SAVES]]      default: 10,000,000 rows, 5 saves */
#include "layers/net.h"

#include <skiff/skiff.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/session.h"
#include "net/host.h"
#include "passes/split.h"
#include "server/server.h"

#define WIDTH 8
#define BATCH 1000 /* rows of a push */
#define PART 32768 /* rows of a pull: 1 MB, as saving has it */
#define GOAL_MS 50.0
#define PUSHES 400000 /* that are timed, at most */

struct bench {
    int64_t rows;
    struct skiff_net *net;
    struct skiff_split *split;
    struct skiff_program *main, *startup;
    struct server_plan *plan;
    struct server *server;
    char endpoint[32];
    const char *endpoints[1];
    pthread_t thread, pusher;
    struct session *workers[2];
    atomic_bool stop;
    double *took, *ended; /* of each push */
    atomic_int npushes;
};

static void check(enum skiff_status status, const struct skiff_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static void make_net(struct bench *b)
{
    struct skiff_error err;
    struct skiff_net *net = b->net = skiff_net_create();
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *emb = skiff_embedding(
        net, ids, b->rows, WIDTH, .is_sparse = true, .is_distributed = true,
        .param_attr = SKIFF_PARAM(.name = "table", .initializer = skiff_init_uniform(-1, 1, 3)));
    struct skiff_var *x = skiff_fc(net, emb, 400, .act = "relu");
    x = skiff_fc(net, x, 2);
    check(skiff_minimize(net, skiff_mean(net, x), &err, "adam", .learning_rate = 1e-4), &err);
}

static void *serve(void *arg)
{
    struct bench *b = arg;
    struct skiff_error err;
    check(server_run(b->server, &err), &err);
    return NULL;
}

static void start_server(struct bench *b)
{
    struct skiff_error err;
    struct skiff_split_config config = split_config_fleet(SKIFF_SPLIT_ASYNC);
    int port;
    check(host_free_ports(1, &port, &err), &err);
    snprintf(b->endpoint, sizeof b->endpoint, "127.0.0.1:%d", port);
    b->endpoints[0] = b->endpoint;
    struct skiff_split_job job = {.main = skiff_net_main(b->net),
                                  .startup = skiff_net_startup(b->net),
                                  .pservers = b->endpoint,
                                  .trainers = 2};
    check(split_create(&job, &config, &b->split, &err), &err);
    check(split_server(b->split, b->endpoint, &b->main, &b->startup, &b->plan, &err), &err);
    struct server_options o = {.main = b->main, .startup = b->startup, .plan = b->plan};
    check(server_create(&o, &b->server, &err), &err);
    check(server_init(b->server, &err), &err);
    pthread_create(&b->thread, NULL, serve, b);
}

static void start_worker(struct bench *b, int i)
{
    struct skiff_error err;
    struct session_options o = {.worker = i,
                                .workers = 2,
                                .servers = 1,
                                .endpoints = b->endpoints,
                                .mode = split_plan(b->split)->mode};
    check(session_open(&o, &b->workers[i], &err), &err);
}

static struct job_slices slices_of(const struct bench *b, const char *const *name)
{
    return (struct job_slices){
        .origin = name[0], .n = 1, .names = name, .endpoints = b->endpoints, .modulo = true};
}

static int64_t random_id(const struct bench *b, uint64_t a, uint64_t i)
{
    uint32_t w[4];
    philox(a, 1, i, w);
    return (int64_t)((((uint64_t)w[0] << 32) | w[1]) % (uint64_t)b->rows);
}

/* ---- pushing ---- */

static void push(struct bench *b, struct skiff_tensor *g, uint64_t step)
{
    static const char *const name[] = {"table@GRAD.pserver_0"};
    struct session_push p = {.to = slices_of(b, name), .x = g};
    struct skiff_error err;
    for (int64_t i = 0; i < BATCH; i++)
        g->sel.rows[i] = random_id(b, step, (uint64_t)i);
    check(session_exchange(b->workers[0], 0, 0, &p, 1, NULL, 0, &err), &err);
}

static void *push_on(void *arg)
{
    struct bench *b = arg;
    struct skiff_tensor g = {0};
    struct skiff_error err;
    check(value_as_rows(&g, DTYPE_FP32, BATCH, WIDTH, b->rows, &err), &err);
    for (int64_t i = 0; i < BATCH * WIDTH; i++)
        tensor_f32(&g.tensor)[i] = 0.01f;
    for (uint64_t step = 0; !atomic_load(&b->stop); step++) {
        double start = clock_seconds();
        push(b, &g, step);
        int n = atomic_load(&b->npushes);
        if (n == PUSHES)
            break;
        b->ended[n] = clock_seconds();
        b->took[n] = b->ended[n] - start;
        atomic_store(&b->npushes, n + 1);
    }
    value_deinit(&g);
    return NULL;
}

/* ---- reading ---- */

static void read_all(struct bench *b, const char *tag)
{
    static const char *const name[] = {"table"};
    struct job_slices table = slices_of(b, name);
    struct skiff_error err;
    int64_t *ids = mem_alloc_or_die(PART * sizeof *ids);
    float *rows = mem_alloc_or_die((size_t)PART * WIDTH * sizeof *rows);
    for (int64_t at = 0; at < b->rows; at += PART) {
        size_t n = (size_t)(b->rows - at < PART ? b->rows - at : PART);
        for (size_t i = 0; i < n; i++)
            ids[i] = at + (int64_t)i;
        if (tag)
            check(session_pull_snapshot_rows(b->workers[1], tag, &table, ids, n, WIDTH, rows, &err),
                  &err);
        else
            check(session_pull_rows(b->workers[1], &table, ids, n, WIDTH, rows, &err), &err);
    }
    free(ids);
    free(rows);
}

/* Longest and mean time of the pushes that ended between two moments. */
static void describe(struct bench *b, double from, double to, double *longest, double *mean)
{
    int n = atomic_load(&b->npushes), count = 0;
    *longest = *mean = 0;
    for (int i = 0; i < n; i++)
        if (b->ended[i] >= from && b->ended[i] < to) {
            *longest = b->took[i] > *longest ? b->took[i] : *longest;
            *mean += b->took[i];
            count++;
        }
    *mean /= count ? count : 1;
}

static double save(struct bench *b, int i)
{
    struct skiff_error err;
    char tag[32];
    double quiet_longest, quiet_mean, longest, mean;
    double quiet = clock_seconds();
    clock_sleep(CLOCK_SECOND);
    snprintf(tag, sizeof tag, "save %d", i);
    double start = clock_seconds();
    check(session_tag_now(b->workers[1], tag, &err), &err);
    double marked = clock_seconds();
    read_all(b, tag);
    double end = clock_seconds();
    check(session_untag(b->workers[1], tag, &err), &err);
    describe(b, quiet, start, &quiet_longest, &quiet_mean);
    describe(b, start, end, &longest, &mean);
    printf("save %d: held %.2f ms (goal: %.0f); read in %.1f s; a push of %d rows takes %.2f ms "
           "(longest %.1f) before, %.2f ms (longest %.1f) meanwhile\n",
           i, (marked - start) * 1e3, GOAL_MS, end - marked, BATCH, quiet_mean * 1e3,
           quiet_longest * 1e3, mean * 1e3, longest * 1e3);
    return (marked - start) * 1e3;
}

static void close_all(struct bench *b)
{
    atomic_store(&b->stop, true);
    pthread_join(b->pusher, NULL);
    for (int i = 0; i < 2; i++)
        session_close(b->workers[i]);
    pthread_join(b->thread, NULL);
    server_destroy(b->server);
    program_destroy(b->main);
    program_destroy(b->startup);
    server_plan_destroy(b->plan);
    split_destroy(b->split);
    skiff_net_destroy(b->net);
    free(b->took);
    free(b->ended);
}

int main(int argc, char **argv)
{
    struct bench b = {.rows = argc > 1 ? atoll(argv[1]) : 10000000};
    int saves = argc > 2 ? atoi(argv[2]) : 5;
    double worst = 0;
    b.took = mem_alloc_or_die(PUSHES * sizeof *b.took);
    b.ended = mem_alloc_or_die(PUSHES * sizeof *b.ended);
    make_net(&b);
    start_server(&b);
    for (int i = 0; i < 2; i++)
        start_worker(&b, i);
    double start = clock_seconds();
    read_all(&b, NULL); /* rows are made when they are first read */
    printf("%lld rows of %d floats with Adam's moments, made in %.1f s\n", (long long)b.rows, WIDTH,
           clock_seconds() - start);
    pthread_create(&b.pusher, NULL, push_on, &b);
    for (int i = 0; i < saves; i++) {
        double held = save(&b, i);
        worst = held > worst ? held : worst;
    }
    close_all(&b);
    return worst <= GOAL_MS ? 0 : 1;
}
