/* Trainers with two threads each: two workers, two servers, real processes, all modes.
 *
 * Counting: the gradients do not depend on the parameters, and every batch has a row of its own in
 * the table: after the job, the change of that row shows the weight with which the batch counted.
 * All numbers are small sums of powers of two, so they are exact. Rows that every batch has, and a
 * dense parameter, show that weights add up however pushes were merged. Threads, and workers, have
 * unequal numbers of batches; none may wait for them forever.
 *
 * Joint: in sync a step of all threads of all workers is a step with their joint batch. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"

#include <skiff/skiff.h>

#include "net/host.h"
#include "store/tensor_file.h"

#define SERVERS 2
#define WORKERS 2
#define THREADS 2
#define BATCH 4
#define ROWS 2048 /* with 8 columns: split in two */
#define WIDTH 8
#define COMMON 4 /* rows that all batches have */
#define START 0.5
#define RATE 0.125

static char folder[] = "/tmp/skiff-threads-XXXXXX";

struct threads_job {
    const char *mode;
    bool counting;
    int batches[WORKERS][THREADS]; /* per file; more than a reader keeps ready */
    int geo_steps;
    char endpoint[SERVERS][32];
    atomic_int *done; /* workers that have left, shared */
};

/* ---- the nets ---- */

struct net {
    struct skiff_net *net;
    struct skiff_var *loss, *inputs[3];
    int ninputs;
    struct skiff_optimizer *opt;
};

static struct skiff_var *table(struct net *n, struct skiff_var *ids)
{
    return skiff_embedding(
        n->net, ids, ROWS, WIDTH, .is_sparse = true,
        .param_attr = SKIFF_PARAM(.name = "table", .initializer = skiff_init_constant(START)));
}

/* d loss / d row = 1/8 in every column, d loss / d w = 1, for every batch. */
static void net_counting(struct net *n)
{
    struct skiff_var *own = skiff_data(n->net, "own", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *all = skiff_data(n->net, "all", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *x = skiff_data(n->net, "x", SKIFF_DIMS(1));
    struct skiff_var *out =
        skiff_fc(n->net, x, 1, .bias_attr = SKIFF_NO_PARAM,
                 .param_attr = SKIFF_PARAM(.name = "w", .initializer = skiff_init_constant(START)));
    n->inputs[0] = own;
    n->inputs[1] = all;
    n->inputs[2] = x;
    n->ninputs = 3;
    n->loss =
        skiff_sums(n->net, SKIFF_VARS(skiff_mean(n->net, table(n, own)),
                                      skiff_mean(n->net, table(n, all)), skiff_mean(n->net, out)));
    n->opt = skiff_optimizer(n->net, "sgd", .learning_rate = RATE);
}

static void net_joint(struct net *n)
{
    struct skiff_var *x = skiff_data(n->net, "x", SKIFF_DIMS(WIDTH));
    struct skiff_var *y = skiff_data(n->net, "y", SKIFF_DIMS(1));
    struct skiff_var *h = skiff_fc(n->net, x, 2 * WIDTH, .act = "tanh");
    struct skiff_var *out = skiff_fc(n->net, h, 1);
    n->inputs[0] = x;
    n->inputs[1] = y;
    n->ninputs = 2;
    n->loss = skiff_mean(n->net, skiff_square_error_cost(n->net, out, y));
    n->opt = skiff_optimizer(n->net, "adam", .learning_rate = 0.01);
}

static void net_open(struct net *n, bool counting)
{
    n->net = skiff_net_create();
    skiff_program_set_seed(skiff_net_main(n->net), 5);
    skiff_program_set_seed(skiff_net_startup(n->net), 5);
    if (counting)
        net_counting(n);
    else
        net_joint(n);
}

/* ---- the data ---- */

static const char *path_of(const char *format, int a, int b)
{
    static char ring[8][128];
    static int at;
    char name[64];
    snprintf(name, sizeof name, format, a, b);
    snprintf(ring[at = (at + 1) % 8], sizeof ring[0], "%s/%s", folder, name);
    return ring[at];
}

/* The row of batch i of file f of worker w. */
static int row_of(int w, int f, int i)
{
    return COMMON + (i * WORKERS + w) * THREADS + f;
}

static void put_batch(FILE *out, bool counting, int w, int f, int i)
{
    for (int r = 0; r < BATCH; r++) {
        if (counting) {
            fprintf(out, "1 %d 1 %d 1 1\n", row_of(w, f, i), r % COMMON);
            continue;
        }
        fprintf(out, "%d", WIDTH);
        for (int k = 0; k < WIDTH; k++)
            fprintf(out, " %.6f", sin(row_of(w, f, i) * 37.0 + r * 11.0 + k));
        fprintf(out, " 1 %.6f\n", cos(row_of(w, f, i) * 5.0 + r));
    }
}

static void write_files(const struct threads_job *j)
{
    for (int w = 0; w < WORKERS; w++)
        for (int f = 0; f < THREADS; f++) {
            FILE *out = fopen(path_of("data-%d-%d", w, f), "w");
            assert_non_null(out);
            for (int i = 0; i < j->batches[w][f]; i++)
                put_batch(out, j->counting, w, f, i);
            fclose(out);
        }
}

/* All files' batches one after the other, step by step: the input of one machine. */
static void write_joint(const struct threads_job *j)
{
    FILE *out = fopen(path_of("joint", 0, 0), "w");
    assert_non_null(out);
    for (int i = 0; i < j->batches[0][0]; i++)
        for (int w = 0; w < WORKERS; w++)
            for (int f = 0; f < THREADS; f++)
                put_batch(out, j->counting, w, f, i);
    fclose(out);
}

/* ---- processes ---- */

static enum skiff_status train(struct net *n, struct skiff_scope *scope,
                               const struct skiff_program *main,
                               const struct skiff_program *startup, const char *const *files,
                               int threads, int batch, struct skiff_error *err)
{
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    struct skiff_dataset *data = skiff_dataset_create("QueueDataset", err);
    skiff_dataset_set_vars(data, n->inputs, n->ninputs);
    skiff_dataset_set_batch_size(data, batch);
    skiff_dataset_set_threads(data, threads);
    skiff_dataset_set_files(data, files, threads);
    enum skiff_status status = skiff_executor_run(exe, startup, NULL, 0, NULL, 0, NULL, err);
    if (status == SKIFF_OK)
        status = skiff_executor_train(exe, main, data, NULL, NULL, err);
    skiff_dataset_destroy(data);
    skiff_executor_destroy(exe);
    return status;
}

/* Worker 0 saves when the others have left, and so have sent everything. */
static enum skiff_status work(const struct threads_job *j, int id, struct skiff_fleet *f,
                              struct net *n, struct skiff_error *err)
{
    struct skiff_scope *scope = skiff_scope_create();
    const char *files[] = {path_of("data-%d-%d", id, 0), path_of("data-%d-%d", id, 1)};
    enum skiff_status status = skiff_fleet_init_worker(f, scope, err);
    if (status == SKIFF_OK)
        status = train(n, scope, skiff_fleet_main_program(f), skiff_fleet_startup_program(f), files,
                       THREADS, BATCH, err);
    if (status == SKIFF_OK) /* in sync a worker without data is waited for until it arrives here */
        status = skiff_fleet_barrier_worker(f, err);
    while (status == SKIFF_OK && id == 0 && atomic_load(j->done) < WORKERS - 1)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    if (status == SKIFF_OK)
        status = skiff_fleet_save_persistables(f, scope, path_of("saved", 0, 0), err);
    if (status == SKIFF_OK)
        status = skiff_fleet_stop_worker(f, err);
    atomic_fetch_add(j->done, 1);
    skiff_scope_destroy(scope);
    return status;
}

static enum skiff_status take_part(const struct threads_job *j, bool server, int id,
                                   struct skiff_error *err)
{
    struct net n;
    const char *endpoints[SERVERS] = {j->endpoint[0], j->endpoint[1]};
    struct skiff_role role = {.role = server ? SKIFF_SERVER : SKIFF_WORKER,
                              .current_id = id,
                              .worker_num = WORKERS,
                              .server_endpoints = endpoints,
                              .nservers = SERVERS};
    struct skiff_strategy strategy = {
        .mode = j->mode, .threads = THREADS, .geo_steps = j->geo_steps};
    struct skiff_fleet *f = skiff_fleet_create();
    net_open(&n, j->counting);
    enum skiff_status status = skiff_fleet_init_user(f, &role, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_minimize(f, n.opt, n.loss, &strategy, NULL, err);
    if (status == SKIFF_OK && server)
        status = skiff_fleet_init_server(f, NULL, err);
    if (status == SKIFF_OK)
        status = server ? skiff_fleet_run_server(f, err) : work(j, id, f, &n, err);
    skiff_fleet_destroy(f);
    skiff_net_destroy(n.net);
    return status;
}

static pid_t begin(const struct threads_job *j, bool server, int id)
{
    struct skiff_error err = {0};
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    enum skiff_status status = take_part(j, server, id, &err);
    if (status < 0)
        fprintf(stderr, "%s %d: %s\n", server ? "server" : "worker", id, err.message);
    fflush(NULL);
    _exit(status < 0);
}

/* All end without error, by themselves, in time. */
static void job_run(struct threads_job *j)
{
    pid_t pid[SERVERS + WORKERS];
    int ports[SERVERS], left = SERVERS + WORKERS, status, bad = 0;
    j->done =
        mmap(NULL, sizeof *j->done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j->done != MAP_FAILED);
    assert_int_equal(host_free_ports(SERVERS, ports, NULL), SKIFF_OK);
    for (int i = 0; i < SERVERS; i++)
        snprintf(j->endpoint[i], sizeof j->endpoint[i], "127.0.0.1:%d", ports[i]);
    write_files(j);
    for (int i = 0; i < SERVERS; i++)
        pid[i] = begin(j, true, i);
    for (int i = 0; i < WORKERS; i++)
        pid[SERVERS + i] = begin(j, false, i);
    double until = clock_seconds() + 60;
    while (left && !bad && clock_seconds() < until) {
        for (int i = 0; i < SERVERS + WORKERS; i++)
            if (pid[i] && waitpid(pid[i], &status, WNOHANG) == pid[i]) {
                bad |= status;
                pid[i] = 0;
                left--;
            }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    for (int i = 0; i < SERVERS + WORKERS; i++)
        if (pid[i]) {
            kill(pid[i], SIGKILL);
            waitpid(pid[i], NULL, 0);
        }
    munmap(j->done, sizeof *j->done);
    if (bad || left)
        fail_msg("%s: %s", j->mode, bad ? "a process failed" : "timed out after 60 s");
}

static void load(const char *name, struct skiff_tensor *out)
{
    struct skiff_error err;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", path_of("saved", 0, 0), name);
    if (value_file_read(path, out, &err) < 0)
        fail_msg("%s", err.message);
}

/* ---- counting ---- */

/* The number of a worker's threads, or of workers, that have a batch i. */
static int threads_at(const struct threads_job *j, int w, int i)
{
    int n = 0;
    for (int f = 0; f < THREADS; f++)
        n += i < j->batches[w][f];
    return n;
}

static int workers_at(const struct threads_job *j, int i)
{
    int n = 0;
    for (int w = 0; w < WORKERS; w++)
        n += threads_at(j, w, i) > 0;
    return n;
}

/* docs/internals/consistency.md: the mean over the trainer's threads that have a batch (sync,
 * half-async), over the trainers that have one (sync); no mean (async); over all trainers (GEO). */
static double weight_of(const struct threads_job *j, int w, int i)
{
    if (!strcmp(j->mode, "async"))
        return 1;
    if (!strcmp(j->mode, "geo"))
        return 1.0 / WORKERS;
    double weight = 1.0 / threads_at(j, w, i);
    return !strcmp(j->mode, "sync") ? weight / workers_at(j, i) : weight;
}

static void check_row(const struct threads_job *j, const struct skiff_tensor *v, int row,
                      double weight)
{
    for (int c = 0; c < WIDTH; c++) {
        float want = (float)(START - RATE / WIDTH * weight);
        float have = tensor_f32(&v->tensor)[row * WIDTH + c];
        if (have != want)
            fail_msg("%s: row %d, column %d is %.9g, expected %.9g (weight %g, not %g)", j->mode,
                     row, c, (double)have, (double)want, (START - (double)have) * WIDTH / RATE,
                     weight);
    }
}

static void check_counts(const struct threads_job *j)
{
    struct skiff_tensor rows = {0}, w = {0};
    double sum = 0;
    int last = 0;
    load("table", &rows);
    load("w", &w);
    for (int k = 0; k < WORKERS; k++)
        for (int f = 0; f < THREADS; f++)
            for (int i = 0; i < j->batches[k][f]; i++) {
                check_row(j, &rows, row_of(k, f, i), weight_of(j, k, i));
                sum += weight_of(j, k, i);
                last = row_of(k, f, i) > last ? row_of(k, f, i) : last;
            }
    /* threads of a GEO trainer update shared rows without locks: some updates may be lost */
    if (strcmp(j->mode, "geo")) {
        for (int r = 0; r < COMMON; r++)
            check_row(j, &rows, r, sum / COMMON);
        float want = (float)(START - RATE * sum);
        if (*tensor_f32(&w.tensor) != want)
            fail_msg("%s: w is %.9g, expected %.9g", j->mode, (double)*tensor_f32(&w.tensor),
                     (double)want);
    }
    for (int r = last + 1; r < ROWS; r++)
        check_row(j, &rows, r, 0); /* all other rows are unchanged */
    value_deinit(&rows);
    value_deinit(&w);
}

static void count(struct threads_job j)
{
    j.counting = true;
    job_run(&j);
    check_counts(&j);
}

static void sync_counts(void **state)
{
    count((struct threads_job){.mode = "sync", .batches = {{12, 20}, {9, 15}}});
    count((struct threads_job){.mode = "sync", .batches = {{10, 10}, {10, 24}}});
}

static void half_async_counts(void **state)
{
    count((struct threads_job){.mode = "half_async", .batches = {{12, 20}, {9, 15}}});
}

static void async_counts(void **state)
{
    count((struct threads_job){.mode = "async", .batches = {{12, 20}, {9, 15}}});
    count((struct threads_job){.mode = "async", .batches = {{16, 16}, {31, 0}}});
}

/* Worker 1 leaves with fewer batches than K. */
static void geo_counts(void **state)
{
    count((struct threads_job){.mode = "geo", .geo_steps = 4, .batches = {{12, 20}, {9, 14}}});
    count((struct threads_job){.mode = "geo", .geo_steps = 1, .batches = {{16, 16}, {9, 15}}});
}

/* ---- joint ---- */

static void sync_is_the_joint_batch(void **state)
{
    static const char *const names[] = {"fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"};
    struct threads_job j = {.mode = "sync", .batches = {{10, 10}, {10, 10}}};
    struct net n;
    struct skiff_error err = {0};
    job_run(&j);
    write_joint(&j);
    net_open(&n, false);
    struct skiff_scope *scope = skiff_scope_create();
    const char *file = path_of("joint", 0, 0);
    if (skiff_optimizer_minimize(n.opt, n.loss, NULL, &err) < 0 ||
        train(&n, scope, skiff_net_main(n.net), skiff_net_startup(n.net), &file, 1,
              BATCH * WORKERS * THREADS, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct skiff_tensor v = {0};
        load(names[i], &v);
        const float *local = skiff_tensor_data(skiff_scope_find(scope, names[i]));
        for (int64_t k = 0; k < tensor_numel(&v.tensor); k++)
            if (fabs((double)tensor_f32(&v.tensor)[k] - (double)local[k]) > 2e-5)
                fail_msg("%s[%lld] is %.9g, with the joint batch %.9g", names[i], (long long)k,
                         (double)tensor_f32(&v.tensor)[k], (double)local[k]);
        value_deinit(&v);
    }
    skiff_scope_destroy(scope);
    skiff_net_destroy(n.net);
}

static int prepare(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int clean_up(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    /* the joint batch comes last: it computes in this process, which must not fork afterwards */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_counts),
        cmocka_unit_test(half_async_counts),
        cmocka_unit_test(async_counts),
        cmocka_unit_test(geo_counts),
        cmocka_unit_test(sync_is_the_joint_batch),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
