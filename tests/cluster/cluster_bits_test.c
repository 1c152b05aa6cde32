/* Sync: the same bits with any number of servers and shards, in any start order, with a bad
 * network, and every time; the numbers of a local run of the joint batch. Async and GEO with one
 * trainer: the numbers of their formulas, step by step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"
#include "store/file.h"
#include "store/tensor_file.h"

static struct cluster_spec ctr(int servers, int trainers)
{
    struct cluster_spec s;
    cluster_case(&s, cluster_golden(), "ctr4k-fleet-sync-2x2-adam");
    s.servers = servers;
    s.trainers = trainers;
    s.init[0] = '\0'; /* from the seed: slices get the numbers of the whole */
    s.at_end = cluster_digest;
    return s;
}

static void check_ended(const struct cluster *c)
{
    for (int i = 0; i < c->spec.servers; i++)
        if (atomic_load(&c->shared->server[i].status) != SKIFF_OK)
            fail_msg("server %d: %s", i, c->shared->server[i].message);
    for (int k = 0; k < c->spec.trainers; k++)
        if (atomic_load(&c->shared->trainer[k].status) != SKIFF_OK)
            fail_msg("trainer %d: %s", k, c->shared->trainer[k].message);
    if (c->shared->complaint[0])
        fail_msg("%s", c->shared->complaint);
}

struct result {
    uint64_t digest;
    float loss[2][CLUSTER_STEPS];
};

static void run(const struct cluster_spec *s, struct result *out)
{
    struct cluster c;
    cluster_start(&c, s);
    cluster_wait(&c, 25);
    check_ended(&c);
    memset(out, 0, sizeof *out);
    out->digest = atomic_load(&c.shared->digest);
    for (int k = 0; k < s->trainers && k < 2; k++)
        for (int i = 0; i < s->steps; i++)
            out->loss[k][i] = c.shared->trainer[k].loss[i][0];
    for (int k = 0; k < s->trainers; k++)
        assert_int_equal(c.shared->trainer[k].rows_prefetch > 0, s->prefetch);
    cluster_end(&c);
}

static void sync_same_bits(void **state)
{
    struct result first, other;
    struct cluster_spec s = ctr(1, 2);
    run(&s, &first);
    assert_true(first.digest != 0);
    static const struct {
        int servers, shards;
        const char *transport;
        bool late, prefetch;
    } rows[] = {{2, 1, NULL, false, false},
                {2, 2, "ipc", false, false},
                {3, 1, NULL, true, false},
                {5, 1, NULL, false, false},
                {2, 3, NULL, false, true},
                {1, 1, NULL, false, true},
                {2, 1, "fault seed=3 drop=0.01 twice=0.05 late=0.1 late_ms=1-15", false, false},
                {2, 2, "fault seed=6 drop=0.01 twice=0.05 late=0.4 late_ms=1-15", false, true},
                {3, 2, "fault seed=4 twice=0.2 late=0.4 late_ms=1-10", false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s = ctr(rows[i].servers, 2);
        s.shards = rows[i].shards;
        s.transport = rows[i].transport;
        s.servers_late = rows[i].late;
        s.prefetch = rows[i].prefetch;
        run(&s, &other);
        if (memcmp(&first, &other, sizeof first))
            fail_msg("%d servers, %d shards, transport %s%s: other bits (digest %llx, not %llx)",
                     rows[i].servers, rows[i].shards, rows[i].transport ? rows[i].transport : "tcp",
                     rows[i].prefetch ? ", rows prefetched" : "", (unsigned long long)other.digest,
                     (unsigned long long)first.digest);
    }
}

/* ---- the joint batch, on one machine ---- */

/* Every second batch comes from the second file. */
static void local_losses(const struct cluster_spec *s, double *mean)
{
    struct cluster_spec one = *s;
    struct cluster c;
    char path[] = "/tmp/skiff-joint-XXXXXX", line[4096];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *in[2] = {fopen(s->data[0], "r"), fopen(s->data[1], "r")}, *out = fdopen(fd, "w");
    for (bool more = true; more;)
        for (int k = 0; k < 2; k++)
            for (int r = 0; r < s->batch && (more = fgets(line, sizeof line, in[k])); r++)
                fputs(line, out);
    fclose(in[0]);
    fclose(in[1]);
    fclose(out);
    snprintf(one.data[0], sizeof one.data[0], "%s", path);
    one.trainers = 1;
    one.servers = 1;
    one.batch *= 2;
    cluster_start(&c, &one);
    cluster_wait(&c, 20);
    check_ended(&c);
    for (int i = 0; i < s->steps; i++)
        mean[i] = c.shared->trainer[0].loss[i][0];
    cluster_end(&c);
    remove(path);
}

static void sync_is_the_joint_batch(void **state)
{
    struct cluster_spec s;
    struct result two;
    double joint[CLUSTER_STEPS];
    cluster_case(&s, cluster_golden(), "linreg-fleet-sync-2x2-momentum");
    s.steps = 10; /* as many batches as there are */
    run(&s, &two);
    local_losses(&s, joint);
    for (int i = 0; i < s.steps; i++) {
        double mean = (two.loss[0][i] + two.loss[1][i]) / 2;
        if (fabs(mean - joint[i]) > 2e-6 * fabs(joint[i]))
            fail_msg("step %d: mean loss %.9g, of the joint batch %.9g", i, mean, joint[i]);
    }
}

/* ---- async and GEO with one trainer: as local ---- */

static void same_losses(const struct result *a, const struct result *b, int steps, const char *what)
{
    for (int i = 0; i < steps; i++)
        if (fabs((double)a->loss[0][i] - b->loss[0][i]) > 2e-6 * fabs((double)b->loss[0][i]))
            fail_msg("%s, step %d: loss %.9g, expected %.9g", what, i, (double)a->loss[0][i],
                     (double)b->loss[0][i]);
}

static void no_change(struct cluster *c, int trainer, int step) {}

static struct cluster_spec one_trainer(enum skiff_split_mode mode)
{
    struct cluster_spec s;
    cluster_case(&s, cluster_golden(), "ctr-fleet-sync-1x1-sgd");
    s.config = split_config_fleet(mode);
    s.at_step = no_change;
    return s;
}

/* With a pull after every push, async equals local training. */
static void async_one_trainer(void **state)
{
    struct result sync, async;
    struct cluster_spec s = one_trainer(SKIFF_SPLIT_SYNC);
    run(&s, &sync);
    s = one_trainer(SKIFF_SPLIT_ASYNC);
    s.pull_always = true;
    run(&s, &async);
    same_losses(&async, &sync, s.steps, "async, pull after every push");
}

/* Prefetched rows include the changes of the step before. */
static void half_async_one_trainer(void **state)
{
    struct result sync, half;
    struct cluster_spec s = one_trainer(SKIFF_SPLIT_SYNC);
    run(&s, &sync);
    for (int prefetch = 0; prefetch < 2; prefetch++) {
        s = one_trainer(SKIFF_SPLIT_HALF_ASYNC);
        s.prefetch = prefetch;
        s.shards = 2;
        run(&s, &half);
        same_losses(&half, &sync, s.steps, prefetch ? "half-async, rows prefetched" : "half-async");
    }
}

/* delta = train - old, p = old + delta: with one trainer nothing changes, whatever K is. */
static void geo_one_trainer(void **state)
{
    struct result sync, geo;
    struct cluster_spec s = one_trainer(SKIFF_SPLIT_SYNC);
    run(&s, &sync);
    for (int k = 1; k <= 4; k++) {
        s = one_trainer(SKIFF_SPLIT_GEO);
        s.push_nums = k;
        s.servers = k < 3 ? 1 : 2;
        run(&s, &geo);
        same_losses(&geo, &sync, s.steps, "GEO with one trainer");
    }
}

/* ---- linear regression by hand: y = x w + b, mean squared error, SGD ---- */

#define WIDTH 14 /* 13 weights and the bias */
#define RATE 0.01

struct by_hand {
    double train[WIDTH], old[WIDTH];
    double x[512][WIDTH], y[512];
    int batch;
};

static void hand_init(struct by_hand *h, const struct cluster_spec *s, int k, double *server)
{
    struct skiff_tensor w = {0}, b = {0};
    char path[1100];
    struct skiff_error err;
    FILE *f = fopen(s->data[k], "r");
    snprintf(path, sizeof path, "%s/fc_0.w_0", s->init);
    assert_int_equal(value_file_read(path, &w, &err), SKIFF_OK);
    snprintf(path, sizeof path, "%s/fc_0.b_0", s->init);
    assert_int_equal(value_file_read(path, &b, &err), SKIFF_OK);
    for (int i = 0; i < WIDTH; i++)
        server[i] = h->train[i] = h->old[i] =
            i < 13 ? tensor_f32(&w.tensor)[i] : *tensor_f32(&b.tensor);
    h->batch = s->batch;
    for (int n = 0, count; n < 512 && fscanf(f, "%d", &count) == 1; n++) {
        for (int i = 0; i < 13; i++)
            assert_int_equal(fscanf(f, "%lf", &h->x[n][i]), 1);
        h->x[n][13] = 1;
        assert_int_equal(fscanf(f, "%d %lf", &count, &h->y[n]), 2);
    }
    fclose(f);
    value_deinit(&w);
    value_deinit(&b);
}

/* The loss of a step, and its gradient. */
static double hand_step(const struct by_hand *h, int step, double *grad)
{
    double loss = 0;
    memset(grad, 0, WIDTH * sizeof *grad);
    for (int r = step * h->batch; r < (step + 1) * h->batch; r++) {
        double d = -h->y[r];
        for (int i = 0; i < WIDTH; i++)
            d += h->x[r][i] * h->train[i];
        loss += d * d / h->batch;
        for (int i = 0; i < WIDTH; i++)
            grad[i] += 2 * d * h->x[r][i] / h->batch;
    }
    return loss;
}

static void check_loss(const struct cluster *c, int k, int step, double want)
{
    double have = c->shared->trainer[k].loss[step][0];
    if (fabs(have - want) > 1e-5 * fabs(want))
        fail_msg("trainer %d, step %d: loss %.9g, by hand %.9g", k, step, have, want);
}

/* Two trainers that take turns; a net without a sparse table, which Paddle does not exchange. */
static void geo_by_hand(void **state)
{
    static struct by_hand h[2];
    double server[WIDTH], grad[WIDTH];
    struct cluster_spec s;
    struct cluster c;
    cluster_case(&s, cluster_golden(), "linreg-fleet-sync-2x2-sgd");
    s.config = split_config_fleet(SKIFF_SPLIT_GEO);
    s.push_nums = 2;
    s.steps = 8;
    s.turns = true;
    cluster_start(&c, &s);
    cluster_wait(&c, 20);
    check_ended(&c);
    hand_init(&h[0], &s, 0, server);
    hand_init(&h[1], &s, 1, server);
    for (int step = 0; step < s.steps; step++)
        for (int k = 0; k < 2; k++) {
            check_loss(&c, k, step, hand_step(&h[k], step, grad));
            for (int i = 0; i < WIDTH; i++) {
                h[k].train[i] -= RATE * grad[i];
                if (step % 2 == 0)
                    continue;
                double delta = (h[k].train[i] - h[k].old[i]) / 2;
                server[i] += delta;
                h[k].train[i] += server[i] - (h[k].old[i] + delta);
                h[k].old[i] = server[i];
            }
        }
    cluster_end(&c);
}

/* One trainer, the defaults: parameters are pulled when more than one gradient has been sent since
 * the last pull, so every second gradient is computed with parameters that are one step old. */
static void async_by_hand(void **state)
{
    static struct by_hand h;
    double server[WIDTH], grad[WIDTH];
    struct cluster_spec s;
    struct cluster c;
    cluster_case(&s, cluster_golden(), "linreg-fleet-sync-1x1-sgd");
    s.config = split_config_fleet(SKIFF_SPLIT_ASYNC);
    s.steps = 10;
    s.at_step = no_change;
    cluster_start(&c, &s);
    cluster_wait(&c, 20);
    check_ended(&c);
    hand_init(&h, &s, 0, server);
    for (int step = 0; step < s.steps; step++) {
        check_loss(&c, 0, step, hand_step(&h, step, grad));
        for (int i = 0; i < WIDTH; i++) {
            server[i] -= RATE * grad[i];
            if (step % 2)
                h.train[i] = server[i];
        }
    }
    cluster_end(&c);
}

/* Gradients that never see new parameters: the servers' values are the start minus the sum of all
 * of them, however they were merged, if none is lost when the trainer stops. */
static void stop_and_keep(struct cluster *c, int trainer)
{
    struct skiff_error err;
    if (comm_stop(c->job, &err) < 0)
        cluster_complain(c, "%s", err.message);
    const float *w = tensor_f32(&scope_find(c->scope, "fc_0.w_0")->tensor);
    for (int i = 0; i < 13; i++)
        c->shared->trainer[0].loss[CLUSTER_STEPS - 1 - i][0] = w[i];
}

static void async_loses_nothing(void **state)
{
    static struct by_hand h;
    double server[WIDTH], grad[WIDTH];
    struct cluster_spec s;
    struct cluster c;
    cluster_case(&s, cluster_golden(), "linreg-fleet-sync-1x1-sgd");
    s.config = split_config_fleet(SKIFF_SPLIT_ASYNC);
    s.steps = 20;
    s.queue_size = 6;
    s.max_merge = 4;
    s.min_send = 1000; /* nothing is pulled */
    s.at_end = stop_and_keep;
    cluster_start(&c, &s);
    cluster_wait(&c, 20);
    check_ended(&c);
    hand_init(&h, &s, 0, server);
    for (int step = 0; step < s.steps; step++) {
        check_loss(&c, 0, step, hand_step(&h, step, grad));
        for (int i = 0; i < WIDTH; i++)
            server[i] -= RATE * grad[i];
    }
    for (int i = 0; i < 13; i++) {
        double have = c.shared->trainer[0].loss[CLUSTER_STEPS - 1 - i][0];
        if (fabs(have - server[i]) > 2e-5 * fabs(server[i]) + 1e-6)
            fail_msg("weight %d: %.9g, by hand %.9g", i, have, server[i]);
    }
    cluster_end(&c);
}

/* ---- hash-backed embeddings (is_distributed) ---- */

static void write_ids(const char *path, int seed)
{
    FILE *f = fopen(path, "w");
    srand((unsigned)seed);
    for (int r = 0; r < 200; r++) {
        fprintf(f, "13");
        for (int i = 0; i < 13; i++)
            fprintf(f, " %d.%d", rand() % 2, rand() % 10);
        fprintf(f, " 1 %d 1 %d 1 %d 1 %d\n", rand() % 50, rand() % 4001, rand() % 4001, rand() % 2);
    }
    fclose(f);
}

static struct skiff_program *recorded(const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/../transpile/orig/ctr3_dist-sgd/%s", cluster_golden(), file);
    struct skiff_program *p = cluster_program(path);
    p->random_seed = 1;
    for (int i = 0; i < program_root(p)->nops; i++)
        if (op_attr(program_root(p)->ops[i], "seed"))
            op_set_int(p, program_root(p)->ops[i], "seed", 1);
    return p;
}

/* Rows are created at their first use, from seed, variable and id: the same losses with any number
 * of servers. */
static void distributed_table(void **state)
{
    static const char *const names[] = {"dense_input", "C1", "C2", "C3", "label"};
    struct cluster_spec s = {.trainers = 2, .steps = 12, .batch = 8, .ninputs = 5, .nfetch = 1};
    struct result first, other;
    s.main = recorded("main.pb");
    s.startup = recorded("startup.pb");
    s.silence_ms = 3000;
    strcpy(s.fetch[0], "reduce_sum_0.tmp_0");
    for (int i = 0; i < 5; i++) {
        s.inputs[i] =
            (struct cluster_input){.is_float = !i, .lod_level = i && i < 4, .width = i ? 1 : 13};
        strcpy(s.inputs[i].name, names[i]);
    }
    for (int k = 0; k < 2; k++) {
        snprintf(s.data[k], sizeof s.data[k], "/tmp/skiff-ids-%d-%d", (int)getpid(), k);
        write_ids(s.data[k], k + 1);
    }
    for (int direct = 0; direct < 2; direct++)
        for (int servers = 1; servers <= 3; servers++) {
            s.direct = direct;
            s.config = direct ? split_config_default() : split_config_fleet(SKIFF_SPLIT_SYNC);
            s.servers = servers;
            run(&s, servers == 1 && !direct ? &first : &other);
            if ((servers > 1 || direct) && memcmp(first.loss, other.loss, sizeof first.loss))
                fail_msg("%d servers, %s: other losses", servers, direct ? "bare" : "fleet");
        }
    assert_true(first.loss[0][11] != first.loss[0][0]);
    remove(s.data[0]);
    remove(s.data[1]);
}

static int unpack(void **state)
{
    return system("tests/golden/unpack.sh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_same_bits),         cmocka_unit_test(sync_is_the_joint_batch),
        cmocka_unit_test(half_async_one_trainer), cmocka_unit_test(async_one_trainer),
        cmocka_unit_test(geo_one_trainer),        cmocka_unit_test(geo_by_hand),
        cmocka_unit_test(async_by_hand),          cmocka_unit_test(async_loses_nothing),
        cmocka_unit_test(distributed_table),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
