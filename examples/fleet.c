/* Linear regression by parameter servers and workers: the same program is every process of the job.
 *
 *     skiff launch --server_num 2 --worker_num 2 -- build/examples/fleet [MODE [FOLDER]]
 *
 * Without the launcher it runs alone. MODE: sync (default), half_async, async, geo. Worker 0 saves
 * the model that runs alone to FOLDER, if there is one. */
#include <stdio.h>
#include <stdlib.h>

#include <skiff/skiff.h>

#define WIDTH 13
#define BATCH 20
#define STEPS 200

static void fail(const struct skiff_error *err)
{
    fprintf(stderr, "fleet: %s\n", err->message);
    exit(1);
}

static void on_log(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "fleet: %s\n", line);
}

struct net {
    struct skiff_net *net;
    struct skiff_var *predict, *loss;
};

static void build(struct net *n)
{
    n->net = skiff_net_create();
    struct skiff_var *x = skiff_data(n->net, "x", SKIFF_DIMS(WIDTH));
    struct skiff_var *y = skiff_data(n->net, "y", SKIFF_DIMS(1));
    n->predict = skiff_fc(n->net, x, 1);
    n->loss = skiff_mean(n->net, skiff_square_error_cost(n->net, n->predict, y));
}

/* y is the sum of x and a little noise; every worker draws its own rows. */
static void fill(struct skiff_tensor *x, struct skiff_tensor *y, unsigned *seed)
{
    float *px = skiff_tensor_data(x), *py = skiff_tensor_data(y);
    for (int r = 0; r < BATCH; r++) {
        py[r] = 0.01f * (float)rand_r(seed) / (float)RAND_MAX;
        for (int k = 0; k < WIDTH; k++) {
            px[r * WIDTH + k] = 2.0f * (float)rand_r(seed) / (float)RAND_MAX - 1.0f;
            py[r] += px[r * WIDTH + k];
        }
    }
}

static double train(struct skiff_fleet *fleet, struct net *n, struct skiff_scope *scope)
{
    struct skiff_error err;
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    struct skiff_tensor *x = skiff_tensor_create("float32", 2, (int64_t[]){BATCH, WIDTH}, &err);
    struct skiff_tensor *y = skiff_tensor_create("float32", 2, (int64_t[]){BATCH, 1}, &err);
    struct skiff_tensor *loss = NULL;
    struct skiff_feed feeds[] = {{"x", x}, {"y", y}};
    const char *fetch = skiff_var_name(n->loss);
    unsigned seed = (unsigned)skiff_fleet_worker_index(fleet) + 1;
    double last = 0;
    if (skiff_executor_run(exe, skiff_fleet_startup_program(fleet), NULL, 0, NULL, 0, NULL, &err) <
        0)
        fail(&err);
    for (int step = 0; step < STEPS; step++) {
        fill(x, y, &seed);
        if (skiff_executor_run(exe, skiff_fleet_main_program(fleet), feeds, 2, &fetch, 1, &loss,
                               &err) < 0)
            fail(&err);
        last = (double)((float *)skiff_tensor_data(loss))[0];
        if (step % 50 == 0)
            printf("step %d, loss %.4f\n", step, last);
    }
    skiff_tensor_destroy(x);
    skiff_tensor_destroy(y);
    skiff_tensor_destroy(loss);
    skiff_executor_destroy(exe);
    return last;
}

static void work(struct skiff_fleet *fleet, struct net *n, const char *folder)
{
    struct skiff_error err;
    struct skiff_scope *scope = skiff_scope_create();
    const char *feed = "x", *target = skiff_var_name(n->predict);
    if (skiff_fleet_init_worker(fleet, scope, &err) < 0)
        fail(&err);
    double loss = train(fleet, n, scope);
    if (skiff_fleet_all_reduce_double(fleet, "sum", &loss, 1, &err) < 0)
        fail(&err);
    printf("last loss, mean of all workers: %.6f\n", loss / skiff_fleet_worker_num(fleet));
    if (folder && skiff_fleet_save_inference_model(fleet, scope, &feed, 1, &target, 1, folder,
                                                   false, &err) < 0)
        fail(&err);
    if (skiff_fleet_stop_worker(fleet, &err) < 0)
        fail(&err);
    skiff_scope_destroy(scope);
}

int main(int argc, char **argv)
{
    struct skiff_error err;
    struct net n;
    struct skiff_strategy strategy = {.mode = argc > 1 ? argv[1] : "sync"};
    struct skiff_fleet *fleet = skiff_fleet_create();
    skiff_fleet_on_log(fleet, on_log, NULL);
    if (skiff_fleet_init_env(fleet, SKIFF_ROLE_ENV_AUTO, &err) < 0)
        fail(&err);
    build(&n);
    struct skiff_optimizer *opt = skiff_optimizer(n.net, "sgd", .learning_rate = 0.05);
    if (skiff_fleet_minimize(fleet, opt, n.loss, &strategy, NULL, &err) < 0)
        fail(&err);
    if (skiff_fleet_is_server(fleet)) {
        if (skiff_fleet_init_server(fleet, NULL, &err) < 0 ||
            skiff_fleet_run_server(fleet, &err) < 0)
            fail(&err);
    } else {
        work(fleet, &n, argc > 2 ? argv[2] : NULL);
    }
    skiff_fleet_destroy(fleet);
    skiff_net_destroy(n.net);
    return 0;
}
