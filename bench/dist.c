/* Trainers and parameter servers against one process, on loopback: the reference CTR-DNN from raw
 * Criteo-shaped text.
 *
 *     build/bench/dist [ROWS [BATCH [OPTIMIZER [ROUNDS [MODE]]]]]
 *     build/bench/dist ROWS BATCH OPTIMIZER ROUNDS links
 *
 * The second form measures the cost of protection, in turns: links that are sealed (on one
 * machine), encrypted (between machines), and sealed while an unauthenticated peer holds 800
 * connections with half a handshake and reopens each one that ends.
 *
 * Local: one process, 2 threads. The others: 2 servers and 2 trainers of one thread each, all
 * separate processes. Every run has a warm-up pass; rates count the rows of the later passes. The
 * local training runs before and after every job, because the machine's speed drifts: *share*
 * compares rows a second with the mean of these two, *work* the processor time a row. Medians over
 * the rounds come last. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "data/dataset.h"
#include "prepare/synth.h"
#include "executor/trainer.h"
#include "metrics/metrics.h"
#include "models/rank/dnn/net.h"
#include "passes/split.h"
#include "server/server.h"

#define SERVERS 2
#define TRAINERS 2
#define PASSES 2 /* that count */
#define GEO_STEPS 100

struct shared {
    atomic_int ready;
    struct {
        double begin, end, cpu;
        int64_t rows;
        double wait, out, in;
    } trainer[TRAINERS];
    double server_cpu[SERVERS];
};

struct bench {
    char dir[256], file[TRAINERS][300];
    int64_t rows, batch;
    const char *optimizer;
    struct shared *shared;
    char pservers[256], endpoint[SERVERS][32];
    const char *endpoints[SERVERS];
    const char *transport; /* NULL: the standard */
    bool flood;
};

static _Noreturn void die(const char *what, const struct skiff_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    _exit(1);
}

/* ---- data and net ---- */

static void make_data(struct bench *b)
{
    struct skiff_error err;
    struct synth_report report;
    snprintf(b->dir, sizeof b->dir, "/tmp/skiff-dist-XXXXXX");
    if (!mkdtemp(b->dir)) {
        perror(b->dir);
        exit(1);
    }
    struct synth_config c = {.seed = 1, .rows = b->rows, .files = TRAINERS, .dir = b->dir};
    if (synth_write(&c, &report, &err) < 0)
        die("data", &err);
    for (int i = 0; i < TRAINERS; i++)
        snprintf(b->file[i], sizeof b->file[i], "%s/part-%03d", b->dir, i);
}

static void remove_data(struct bench *b)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", b->dir);
    if (system(command))
        fprintf(stderr, "%s is left\n", b->dir);
}

static void make_schema(struct schema *s)
{
    struct skiff_error err;
    const struct shape one = SHAPE(-1, 1), thirteen = SHAPE(-1, 13);
    enum skiff_status status = schema_add(s, "dense_input", DTYPE_FP32, 0, &thirteen, &err);
    for (int i = 1; i <= 26 && status == SKIFF_OK; i++) {
        char name[8];
        snprintf(name, sizeof name, "C%d", i);
        status = schema_add(s, name, DTYPE_INT64, 1, &one, &err);
    }
    if (status < 0 || schema_add(s, "label", DTYPE_INT64, 0, &one, &err) < 0)
        die("schema", &err);
}

static struct dataset *make_dataset(struct bench *b, int first, int n, int threads)
{
    struct skiff_error err;
    struct schema schema;
    struct dataset_config c;
    struct dataset *d;
    const char *names[TRAINERS];
    schema_init(&schema);
    make_schema(&schema);
    dataset_config_init(&c);
    c.schema = &schema;
    c.threads = threads;
    c.batch_size = b->batch;
    for (int i = 0; i < n; i++)
        names[i] = b->file[first + i];
    if (reader_config_set(&c.reader, "format", "criteo", &err) < 0 ||
        dataset_create(&c, &d, &err) < 0 || dataset_set_files(d, names, n, &err) < 0)
        die("dataset", &err);
    return d;
}

static struct skiff_net *make_net(struct bench *b)
{
    struct skiff_error err;
    struct skiff_net *net = skiff_net_create();
    skiff_program_set_seed(skiff_net_startup(net), 1);
    struct rank_dnn vars = rank_dnn_build(net, &rank_dnn_documents);
    if (skiff_minimize(net, vars.loss, &err, b->optimizer, .learning_rate = 1e-4) < 0)
        die("net", &err);
    return net;
}

/* ---- processes ---- */

/* job NULL: local. The passes that count begin at the same time everywhere. */
static void train(struct bench *b, int k, struct skiff_scope *scope, const struct skiff_program *p,
                  struct job *job, struct dataset *d, int threads)
{
    struct skiff_error err;
    struct trainer_result r;
    double begin = 0, used = 0;
    int64_t rows = 0;
    for (int pass = 0; pass <= PASSES; pass++) {
        if (pass == 1 && job && session_barrier(comm_session(job), "warm", &err) < 0)
            die("barrier", &err);
        if (pass == 1) {
            begin = clock_seconds();
            used = clock_cpu_process();
        }
        if (trainer_train_dataset(scope, p, d, &(struct trainer_options){.threads = threads}, &r,
                                  &err) < 0)
            die("train", &err);
        rows += pass ? r.rows : 0;
    }
    b->shared->trainer[k].begin = begin;
    b->shared->trainer[k].end = clock_seconds();
    b->shared->trainer[k].cpu = clock_cpu_process() - used;
    b->shared->trainer[k].rows = rows;
}

static void run_local(struct bench *b)
{
    struct skiff_error err;
    struct skiff_net *net = make_net(b);
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    if (executor_run(e, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err) < 0)
        die("startup", &err);
    train(b, 0, scope, skiff_net_main(net), NULL, make_dataset(b, 0, TRAINERS, TRAINERS), TRAINERS);
}

static struct skiff_split *make_split(struct bench *b, enum skiff_split_mode mode, int trainer)
{
    struct skiff_error err;
    struct skiff_net *net = make_net(b);
    struct skiff_split_config c = split_config_fleet(mode);
    struct skiff_split *s;
    struct skiff_split_job job = {.main = skiff_net_main(net),
                                  .startup = skiff_net_startup(net),
                                  .trainer_id = trainer,
                                  .pservers = b->pservers,
                                  .trainers = TRAINERS,
                                  .sync_mode = c.sync_mode};
    c.geo_sgd_need_push_nums = GEO_STEPS;
    if (split_create(&job, &c, &s, &err) < 0)
        die("split", &err);
    return s;
}

static void run_trainer(struct bench *b, enum skiff_split_mode mode, int k)
{
    struct skiff_error err;
    struct skiff_split *s = make_split(b, mode, k);
    struct skiff_program *main, *startup;
    struct job *job;
    struct comm_options o = {.plan = split_plan(s),
                             .session = {.worker = k,
                                         .connect_ms = 30000,
                                         .secret = "a secret of the benchmark",
                                         .transport = b->transport},
                             .threads = 1,
                             .geo_need_push_nums = GEO_STEPS,
                             .independent_recv_thread = -1,
                             .is_sgd_optimizer = !strcmp(b->optimizer, "sgd")};
    if (split_trainer(s, &main, &startup, &err) < 0 || comm_create(&o, &job, &err) < 0)
        die("trainer", &err);
    program_set_job(main, job);
    program_set_job(startup, job);
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    if (comm_start(job, scope, &err) < 0 ||
        executor_run(e, startup, NULL, 0, NULL, 0, NULL, &err) < 0)
        die("trainer", &err);
    train(b, k, scope, main, job, make_dataset(b, k, 1, 1), 1);
    struct metrics_snapshot seen = {0};
    snapshot_add(&seen, session_metrics(comm_session(job)));
    b->shared->trainer[k].wait = snapshot_seconds(&seen, METRIC_SESSION_WAIT_SECONDS, NULL);
    b->shared->trainer[k].out = (double)snapshot_value(&seen, METRIC_SESSION_BYTES_OUT, NULL);
    b->shared->trainer[k].in = (double)snapshot_value(&seen, METRIC_SESSION_BYTES_IN, NULL);
    snapshot_deinit(&seen);
    if (job->class->close(job, &err) < 0)
        die("close", &err);
}

static void run_server(struct bench *b, enum skiff_split_mode mode, int i)
{
    struct skiff_error err;
    struct skiff_split *s = make_split(b, mode, 0);
    struct skiff_program *main, *startup;
    struct server_plan *plan;
    struct server *server;
    if (split_server(s, b->endpoints[i], &main, &startup, &plan, &err) < 0)
        die("server", &err);
    struct server_options o = {.main = main,
                               .startup = startup,
                               .plan = plan,
                               .secret = "a secret of the benchmark",
                               .transport = b->transport};
    if (server_create(&o, &server, &err) < 0 || server_init(server, &err) < 0)
        die("server", &err);
    double start = clock_cpu_process();
    if (server_run(server, &err) < 0)
        die("server", &err);
    b->shared->server_cpu[i] = clock_cpu_process() - start;
}

static void free_ports(struct bench *b)
{
    b->pservers[0] = '\0';
    for (int i = 0; i < SERVERS; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof a;
        if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) ||
            getsockname(s, (struct sockaddr *)&a, &len)) {
            perror("port");
            exit(1);
        }
        close(s);
        snprintf(b->endpoint[i], sizeof b->endpoint[i], "127.0.0.1:%d", ntohs(a.sin_port));
        b->endpoints[i] = b->endpoint[i];
        strcat(strcat(b->pservers, i ? "," : ""), b->endpoint[i]);
    }
}

/* ---- an unauthenticated peer ---- */

static int knock(const struct bench *b, int server)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    a.sin_port = htons((uint16_t)atoi(strrchr(b->endpoint[server], ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        send(fd, "SKIFF\0\1\0\0\0", 10, MSG_NOSIGNAL) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void run_flood(const struct bench *b)
{
    enum { MOST = 800 };
    static int fds[MOST];
    char byte;
    memset(fds, -1, sizeof fds);
    for (int i = 0;; i = (i + 1) % MOST) {
        if (fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
            continue;
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = knock(b, i % SERVERS);
        usleep(500); /* else it is the flood's own work that is measured */
    }
}

struct rate {
    double rows, cpu;
};

/* mode -1: local */
static struct rate measure(struct bench *b, int mode, bool talk)
{
    int failed = 0, status;
    memset(b->shared, 0, sizeof *b->shared);
    free_ports(b);
    int n = mode < 0 ? 1 : SERVERS + TRAINERS;
    pid_t flood = mode >= 0 && b->flood ? fork() : -1;
    if (flood == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_flood(b);
    }
    for (int i = 0; i < n; i++) {
        if (fork())
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (mode < 0)
            run_local(b);
        else if (i < SERVERS)
            run_server(b, (enum skiff_split_mode)mode, i);
        else
            run_trainer(b, (enum skiff_split_mode)mode, i - SERVERS);
        _exit(0);
    }
    for (int ended = 0; ended < n; ended++)
        if (wait(&status) > 0)
            failed |= status;
    if (flood > 0) {
        kill(flood, SIGKILL);
        waitpid(flood, NULL, 0);
    }
    if (failed)
        exit(1);
    double begin = b->shared->trainer[0].begin, end = b->shared->trainer[0].end, used = 0;
    int64_t rows = 0;
    for (int k = 0; k < (mode < 0 ? 1 : TRAINERS); k++) {
        begin = begin < b->shared->trainer[k].begin ? begin : b->shared->trainer[k].begin;
        end = end > b->shared->trainer[k].end ? end : b->shared->trainer[k].end;
        rows += b->shared->trainer[k].rows;
        used += b->shared->trainer[k].cpu;
    }
    for (int i = 0; i < SERVERS && mode >= 0; i++) /* the warm-up pass is one of PASSES + 1 */
        used += b->shared->server_cpu[i] * PASSES / (PASSES + 1);
    if (talk && mode >= 0)
        printf("    trainer: %.1f us a row in session waits, %.0f B out, %.0f B in; processor: "
               "trainers %.1f us, servers %.1f us a row\n",
               b->shared->trainer[0].wait / (double)b->shared->trainer[0].rows * 1e6,
               b->shared->trainer[0].out / (double)b->shared->trainer[0].rows,
               b->shared->trainer[0].in / (double)b->shared->trainer[0].rows,
               (b->shared->trainer[0].cpu + b->shared->trainer[1].cpu) / (double)rows * 1e6,
               (b->shared->server_cpu[0] + b->shared->server_cpu[1]) * PASSES / (PASSES + 1) /
                   (double)rows * 1e6);
    return (struct rate){(double)rows / (end - begin), used / (double)rows};
}

#define ROUNDS_MAX 100

struct results { /* of one mode, over the rounds */
    double share[ROUNDS_MAX], work[ROUNDS_MAX];
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static struct rate local_rate(struct bench *b)
{
    struct rate r = measure(b, -1, false);
    printf("local          %8.0f rows/s, %.1f us a row\n", r.rows, r.cpu * 1e6);
    return r;
}

/* ---- what protection costs ---- */

static void measure_links(struct bench *b, int rounds)
{
    static const struct {
        const char *name, *transport;
        bool flood;
    } kinds[] = {{"sealed", "tcp encrypt=off", false},
                 {"encrypted", "tcp encrypt=on", false},
                 {"under a flood", "tcp encrypt=off", true}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    static const enum skiff_split_mode modes[] = {SKIFF_SPLIT_SYNC, SKIFF_SPLIT_ASYNC};
    static double rows[KINDS][ROUNDS_MAX], work[KINDS][ROUNDS_MAX];
    for (int m = 0; m < 2; m++) {
        for (int r = 0; r < rounds; r++) {
            struct rate first = {0};
            for (int k = 0; k < KINDS; k++) {
                b->transport = kinds[k].transport;
                b->flood = kinds[k].flood;
                struct rate now = measure(b, (int)modes[m], false);
                first = k ? first : now;
                rows[k][r] = now.rows / first.rows;
                work[k][r] = now.cpu / first.cpu;
                printf("  %-6s %-14s %8.0f rows/s, %.1f us of processor a row\n",
                       skiff_mode_name(modes[m]), kinds[k].name, now.rows, now.cpu * 1e6);
            }
        }
        for (int k = 1; k < KINDS; k++)
            printf(
                "median of %d: %s, %s: %.0f %% of the rows a second, %.0f %% of the work a row\n",
                rounds, skiff_mode_name(modes[m]), kinds[k].name, 100 * median(rows[k], rounds),
                100 * median(work[k], rounds));
    }
}

int main(int argc, char **argv)
{
    static const enum skiff_split_mode modes[] = {
#define SKIFF_MODE(constant, number, name, flags, promise) SKIFF_SPLIT_##constant,
#include <skiff/mode_list.h>
#undef SKIFF_MODE
    };
    enum { MODES = sizeof modes / sizeof modes[0] };
    static struct results results[MODES];
    struct bench b = {.rows = argc > 1 ? atoll(argv[1]) : 60000,
                      .batch = argc > 2 ? atoll(argv[2]) : 1000,
                      .optimizer = argc > 3 ? argv[3] : "sgd"};
    int rounds = argc > 4 ? atoi(argv[4]) : 2;
    const char *only = argc > 5 ? argv[5] : NULL;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    b.shared =
        mmap(NULL, sizeof *b.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_data(&b);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("local: 2 threads; jobs: 2 servers, 2 trainers; %s, batch %lld\n", b.optimizer,
           (long long)b.batch);
    if (only && !strcmp(only, "links")) {
        measure_links(&b, rounds);
        remove_data(&b);
        return 0;
    }
    struct rate before = local_rate(&b);
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < MODES; i++) {
            const char *name = skiff_mode_name(modes[i]);
            if ((mode_adds(modes[i]) && strcmp(b.optimizer, "sgd")) || (only && strcmp(only, name)))
                continue;
            struct rate m = measure(&b, (int)modes[i], true), after = local_rate(&b);
            double share = m.rows / ((before.rows + after.rows) / 2),
                   work = m.cpu / ((before.cpu + after.cpu) / 2);
            printf("  %-10s   %8.0f rows/s, share %3.0f %%, work %3.0f %%\n", name, m.rows,
                   100 * share, 100 * work);
            results[i].share[r] = share;
            results[i].work[r] = work;
            before = after;
        }
    for (int i = 0; i < MODES; i++)
        if (results[i].share[0] > 0)
            printf("median of %d: %-10s share %3.0f %%, work %3.0f %%\n", rounds,
                   skiff_mode_name(modes[i]), 100 * median(results[i].share, rounds),
                   100 * median(results[i].work, rounds));
    remove_data(&b);
    return 0;
}
