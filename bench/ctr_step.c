/* One training step of the reference CTR-DNN (26 slots, one table of 1,000,001 x 10, three fc of
 * 400, softmax), data in memory, one thread, against the bare GEMMs of the same net on the same
 * machine. Both are timed in turns in one run, so that a noisy machine disturbs them alike; the
 * median of the rounds' ratios counts.
 *
 * usage: ctr_step [ROUNDS [BATCH]]      default: 15 rounds, batches of 1000 and of 100 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "executor/executor.h"
#include "executor/plan.h"
#include "rank/dnn/net.h"
#include "tensor/math.h"

#define SLOTS 26
#define DENSE 13
#define VOCAB 1000001
#define WIDTH (SLOTS * 10 + DENSE)
#define BATCHES 24
#define MAX_ROUNDS 1000

/* ---- data shaped like Criteo: a batch of 1000 has about a third of its ids distinct ---- */

static const double cardinality[SLOTS] = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

struct batch {
    struct tensor ids[SLOTS], dense, label;
    struct feed feeds[SLOTS + 2];
};

static double unit(struct mt64 *r)
{
    return mt64_double(r);
}

static void make_tensor(struct tensor *t, enum dtype type, int64_t rows, int64_t cols)
{
    struct shape s = SHAPE(rows, cols);
    if (tensor_resize(t, type, &s, NULL) < 0)
        abort();
}

/* Zipf-like ranks, scattered over the table by a fixed multiplication. */
static int64_t draw_id(struct mt64 *r, int slot)
{
    double u = unit(r),
           rank = exp2(u * u * 0.35 * log2(cardinality[slot]) + u * 0.65 * log2(cardinality[slot]));
    uint64_t h =
        ((uint64_t)rank + 1) * 0x9E3779B97F4A7C15ull + (uint64_t)slot * 0xC2B2AE3D27D4EB4Full;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ull;
    return (int64_t)((h >> 20) % VOCAB);
}

static void make_batch(struct batch *b, struct mt64 *r, int64_t rows)
{
    static char names[SLOTS][8];
    memset(b, 0, sizeof(*b));
    int64_t counts = rows + 1;
    for (int s = 0; s < SLOTS; s++) {
        make_tensor(&b->ids[s], DTYPE_INT64, rows, 1);
        if (lod_build(&b->ids[s].lod, 1, &counts, NULL) < 0)
            abort();
        for (int64_t i = 0; i <= rows; i++)
            b->ids[s].lod->level[0].off[i] = i;
        for (int64_t i = 0; i < rows; i++)
            tensor_i64(&b->ids[s])[i] = draw_id(r, s);
        snprintf(names[s], sizeof(names[s]), "C%d", s + 1);
        b->feeds[s] = (struct feed){.name = names[s], .tensor = &b->ids[s]};
    }
    make_tensor(&b->dense, DTYPE_FP32, rows, DENSE);
    make_tensor(&b->label, DTYPE_INT64, rows, 1);
    for (int64_t i = 0; i < rows * DENSE; i++)
        tensor_f32(&b->dense)[i] = (float)unit(r);
    for (int64_t i = 0; i < rows; i++)
        tensor_i64(&b->label)[i] = unit(r) < 0.25;
    b->feeds[SLOTS] = (struct feed){.name = "dense_input", .tensor = &b->dense};
    b->feeds[SLOTS + 1] = (struct feed){.name = "label", .tensor = &b->label};
}

static double distinct_share(const struct batch *b, int64_t rows)
{
    struct id_map map;
    id_map_init(&map);
    id_map_reset(&map, (size_t)rows * SLOTS);
    for (int s = 0; s < SLOTS; s++)
        for (int64_t i = 0; i < rows; i++) {
            bool fresh;
            id_map_add(&map, tensor_i64(&b->ids[s])[i], &fresh);
        }
    double share = (double)map.count / (double)(rows * SLOTS);
    id_map_deinit(&map);
    return share;
}

/* ---- the GEMMs alone ---- */

static const int64_t sizes[] = {WIDTH, 400, 400, 400, 2};
#define LAYERS 4

struct gemms {
    float *x[LAYERS + 1], *w[LAYERS], *dw[LAYERS], *d[LAYERS + 1];
};

static float *floats(int64_t n)
{
    void *p;
    if (mem_alloc((size_t)n * sizeof(float), "bench", &p, NULL) < 0)
        abort();
    for (int64_t i = 0; i < n; i++)
        ((float *)p)[i] = (float)(i % 17) * 0.01f;
    return p;
}

static void gemms_init(struct gemms *g, int64_t rows)
{
    for (int l = 0; l <= LAYERS; l++) {
        g->x[l] = floats(rows * sizes[l]);
        g->d[l] = floats(rows * sizes[l]);
    }
    for (int l = 0; l < LAYERS; l++) {
        g->w[l] = floats(sizes[l] * sizes[l + 1]);
        g->dw[l] = floats(sizes[l] * sizes[l + 1]);
    }
}

static void gemms_run(struct gemms *g, int64_t m)
{
    for (int l = 0; l < LAYERS; l++)
        math_gemm_f32(false, false, m, sizes[l + 1], sizes[l], 1, g->x[l], sizes[l], g->w[l],
                      sizes[l + 1], 0, g->x[l + 1], sizes[l + 1]);
    for (int l = LAYERS - 1; l >= 0; l--) {
        int64_t k = sizes[l], n = sizes[l + 1];
        math_gemm_f32(true, false, k, n, m, 1, g->x[l], k, g->d[l + 1], n, 0, g->dw[l], n);
        math_gemm_f32(false, true, m, k, n, 1, g->d[l + 1], n, g->w[l], n, 0, g->d[l], k);
    }
}

/* ---- the step ---- */

struct rule_choice {
    const char *name, *optimizer;
    bool lazy;
};

struct net_engine {
    struct skiff_net *net;
    struct skiff_scope *scope;
    struct skiff_executor *e;
    struct batch *batches;
    int next;
};

static void or_die(enum skiff_status s, const struct skiff_error *err)
{
    if (s < 0) {
        fprintf(stderr, "ctr_step: %s\n", err->message);
        exit(1);
    }
}

static void build(struct net_engine *n, const struct rule_choice *rule)
{
    struct skiff_error err = {0};
    n->net = skiff_net_create();
    struct rank_dnn vars = rank_dnn_build(n->net, &rank_dnn_documents);
    or_die(skiff_minimize(n->net, vars.loss, &err, rule->optimizer, .learning_rate = 1e-4,
                          .lazy_mode = rule->lazy),
           &err);
}

static const struct skiff_program *main_of(const struct net_engine *n)
{
    return skiff_net_main(n->net);
}

static void net_open(struct net_engine *n, const struct rule_choice *rule, struct batch *batches)
{
    struct skiff_error err = {0};
    build(n, rule);
    n->scope = scope_create();
    n->e = executor_create(n->scope, &(struct executor_options){0});
    n->batches = batches;
    n->next = 0;
    or_die(executor_run(n->e, skiff_net_startup(n->net), NULL, 0, NULL, 0, NULL, &err), &err);
}

static void net_close(struct net_engine *n)
{
    executor_destroy(n->e);
    scope_destroy(n->scope);
    skiff_net_destroy(n->net);
}

static void net_step(struct net_engine *n)
{
    struct skiff_error err = {0};
    or_die(
        executor_run(n->e, main_of(n), n->batches[n->next].feeds, SLOTS + 2, NULL, 0, NULL, &err),
        &err);
    n->next = (n->next + 1) % BATCHES;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return v[n / 2];
}

static void report(int64_t rows, int rounds, const struct rule_choice *nets, int nnets,
                   const double *gemm, double (*step)[MAX_ROUNDS], double distinct)
{
    double share[MAX_ROUNDS], times[MAX_ROUNDS], alone[MAX_ROUNDS], own[MAX_ROUNDS];
    printf("batch %lld, %.0f %% of its ids distinct\n", (long long)rows, 100 * distinct);
    for (int k = 0; k < nnets; k++) {
        for (int i = 0; i < rounds; i++) {
            alone[i] = gemm[i];
            own[i] = step[k][i];
            share[i] = gemm[i] / step[k][i];
            times[i] = step[k][i] / step[0][i];
        }
        printf("  %-10s %8.3f ms a step, the GEMMs alone %8.3f ms: %5.1f %% of their speed; %.2f x "
               "the time of SGD\n",
               nets[k].name, 1e3 * median(own, rounds), 1e3 * median(alone, rounds),
               100 * median(share, rounds), median(times, rounds));
    }
}

static void measure(int64_t rows, int rounds, const struct rule_choice *nets, int nnets)
{
    struct mt64 r;
    mt64_seed(&r, 7);
    struct batch *batches = mem_alloc_or_die(BATCHES * sizeof(*batches));
    for (int i = 0; i < BATCHES; i++)
        make_batch(&batches[i], &r, rows);
    struct gemms g;
    gemms_init(&g, rows);
    struct net_engine net[8];
    int reps = rows >= 1000 ? 4 : 32;
    double(*step)[1000] = mem_alloc_or_die((size_t)nnets * sizeof(*step)),
    *gemm = mem_alloc_or_die(1000 * sizeof(double));
    for (int k = 0; k < nnets; k++) {
        net_open(&net[k], &nets[k], batches);
        for (int i = 0; i < 2 * BATCHES; i++)
            net_step(&net[k]);
    }
    for (int i = 0; i < rounds; i++) {
        double t = clock_seconds();
        for (int j = 0; j < reps; j++)
            gemms_run(&g, rows);
        gemm[i] = (clock_seconds() - t) / reps;
        for (int k = 0; k < nnets; k++) {
            t = clock_seconds();
            for (int j = 0; j < reps; j++)
                net_step(&net[k]);
            step[k][i] = (clock_seconds() - t) / reps;
        }
    }
    report(rows, rounds, nets, nnets, gemm, step, distinct_share(&batches[0], rows));
    for (int k = 0; k < nnets; k++)
        net_close(&net[k]);
}

/* From the network's description to the program, and from the program's bytes to a plan. */
static void measure_building(int rounds)
{
    double built[MAX_ROUNDS], planned[MAX_ROUNDS];
    const struct rule_choice adam = {"Adam", "adam", false};
    const char *feeds[SLOTS + 2];
    char names[SLOTS][8];
    for (int i = 0; i < SLOTS; i++) {
        snprintf(names[i], sizeof(names[i]), "C%d", i + 1);
        feeds[i] = names[i];
    }
    feeds[SLOTS] = "dense_input";
    feeds[SLOTS + 1] = "label";
    for (int i = 0; i < rounds; i++) {
        struct net_engine n = {0};
        struct skiff_error err = {0};
        struct buf bytes = BUF_INIT;
        double t = clock_seconds();
        build(&n, &adam);
        built[i] = clock_seconds() - t;
        program_encode(main_of(&n), &bytes);
        struct skiff_program *p = NULL;
        struct plan *plan = NULL;
        struct mt64 generator = {0};
        struct plan_options options = {.fuse = true, .generator = &generator};
        n.scope = scope_create();
        t = clock_seconds();
        or_die(program_decode(bytes.data, bytes.len, "main", &p, &err), &err);
        or_die(plan_create(p, n.scope, &options, feeds, SLOTS + 2, NULL, 0, &plan, &err), &err);
        planned[i] = clock_seconds() - t;
        plan_destroy(plan);
        program_destroy(p);
        buf_deinit(&bytes);
        net_close(&n);
    }
    printf("building the program with minimize %.2f ms, loading and planning it %.2f ms\n",
           1e3 * median(built, rounds), 1e3 * median(planned, rounds));
}

int main(int argc, char **argv)
{
    static const struct rule_choice nets[] = {
        {"SGD", "sgd", false}, {"Adam", "adam", false}, {"Adam lazy", "adam", true}};
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    int batch = argc > 2 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > MAX_ROUNDS || batch < 0) {
        fprintf(stderr, "usage: ctr_step [ROUNDS [BATCH]]   (1 to %d rounds)\n", MAX_ROUNDS);
        return 2;
    }
    measure_building(rounds);
    if (batch) {
        measure(batch, rounds, nets, 3);
        return 0;
    }
    measure(1000, rounds, nets, 3);
    measure(100, rounds, nets, 3);
    return 0;
}
