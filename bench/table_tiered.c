/* A table of which a tenth fits in memory, against one that is all in memory: batches as `skiff
 * synth` draws them (26 columns, vocabularies scaled to ROWS rows in all, ranks exp(u^2 log V)),
 * 10-wide rows under Adam. The distinct rows of each batch are pulled and updated; the rows of the
 * batch after next are prefetched. In turns:
 *   rows     only that, on one thread, like a server that is never idle
 *   training with the matrix products of the reference CTR-DNN (batch 1000) between pull and
 *            update, on the same thread
 * Goal: tiered at least 75 % of hash.
 * usage: table_tiered [ROWS [FOLDER]]    default: 5 million rows, a folder in TMPDIR or /tmp */
#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "rules/rule.h"
#include "table/table.h"
#include "table_fixture.h"

#define WIDTH 10
#define SAMPLES 1000
#define COLUMNS 26
#define AHEAD 2
#define ROUNDS 5
#define LIMIT_SHARE 10

static const int vocabulary[COLUMNS] = {1400,  550,  200000, 100000, 300, 20,    11000,  600,  3,
                                        40000, 5000, 200000, 3100,   26,  9000,  150000, 10,   4500,
                                        2000,  4,    180000, 17,     15,  60000, 100,    40000};

struct batch {
    size_t n;
    int64_t ids[SAMPLES * COLUMNS];
};

struct bench {
    struct accessor accessor;
    struct table *hash, *tiered;
    size_t rows;
    size_t size[COLUMNS], first[COLUMNS];
    struct mt64 random;
    struct batch *coming; /* AHEAD + 1 of them */
    float *out, *gradient;
    struct rule_params params;
    struct rule_step step;
    float *a, *b, *c; /* matrices */
};

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The distinct rows of a batch, in the order of their ids, which is none. */
static void draw(struct bench *b, struct batch *out)
{
    out->n = 0;
    for (int i = 0; i < SAMPLES; i++)
        for (int c = 0; c < COLUMNS; c++) {
            double u = (double)(mt64_next(&b->random) >> 11) * 0x1p-53;
            size_t rank = (size_t)exp(u * u * log((double)b->size[c]));
            rank = rank > b->size[c] ? b->size[c] : rank;
            out->ids[out->n++] = id_of(b->first[c] + rank - 1);
        }
    qsort(out->ids, out->n, sizeof *out->ids, by_id);
    size_t n = 1;
    for (size_t i = 1; i < out->n; i++)
        if (out->ids[i] != out->ids[n - 1])
            out->ids[n++] = out->ids[i];
    out->n = n;
}

static void adam_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct bench *b = self;
    for (size_t i = 0; i < n; i++) {
        float *w = row_list[i]->values, *state[2] = {w + WIDTH, w + 2 * WIDTH};
        rule_adam.apply(&b->params, &b->step, WIDTH, b->gradient + (first + i) * WIDTH, w, state);
    }
}

static void product(struct bench *b, int n, int k)
{
    dnnl_sgemm('N', 'N', SAMPLES, n, k, 1, b->a, k, b->b, n, 0, b->c, n);
}

/* Forward, gradients of weights and of inputs: three products of each layer. */
static void net(struct bench *b)
{
    for (int i = 0; i < 3; i++) {
        product(b, 400, COLUMNS * WIDTH + 13);
        product(b, 400, 400);
        product(b, 400, 400);
    }
}

/* Seconds: real, of the owner's processor, of all threads. */
struct took {
    double real, owner, all;
};

static struct took now(void)
{
    return (struct took){clock_seconds(), clock_cpu_thread(), clock_cpu_process()};
}

static void run(struct bench *b, struct table *t, struct batch *batches, int n, bool training,
                struct took *took)
{
    struct skiff_error err;
    struct took start = now();
    for (int i = 0; i < AHEAD && i < n; i++)
        check(table_fetch_prefetch(t, (uint8_t *)batches[i].ids, batches[i].n, &err), &err);
    for (int i = 0; i < n; i++) {
        const uint8_t *ids = (const uint8_t *)batches[i].ids;
        if (i + AHEAD < n)
            check(table_fetch_prefetch(t, (uint8_t *)batches[i + AHEAD].ids, batches[i + AHEAD].n,
                                       &err),
                  &err);
        check(table_pull(t, ids, batches[i].n, TABLE_MAKE, b->out, &err), &err);
        if (training)
            net(b);
        check(table_each(t, ids, batches[i].n, TABLE_CHANGE, t->stride, adam_block, b, &err), &err);
    }
    struct took end = now();
    took->real += end.real - start.real;
    took->owner += end.owner - start.owner;
    took->all += end.all - start.all;
}

static void fill(struct bench *b, struct table *t)
{
    struct skiff_error err;
    int64_t ids[1000];
    double start = clock_seconds();
    for (size_t row = 0; row < b->rows; row += 1000) {
        for (size_t i = 0; i < 1000; i++) /* old ones first: what is frequent stays */
            ids[i] = id_of(b->rows - 1 - (row + i < b->rows ? row + i : b->rows - 1));
        check(table_pull(t, (const uint8_t *)ids, 1000, TABLE_MAKE, b->out, &err), &err);
    }
    printf("  %s filled: %.2f million rows/s, %.1f MB of memory\n", t->class->name,
           (double)b->rows / (clock_seconds() - start) / 1e6, (double)table_bytes(t) / 1e6);
}

static void compare(struct bench *b, const char *name, int n, bool training)
{
    struct batch *batches = mem_alloc_or_die((size_t)n * sizeof *batches);
    struct table_stats before, after;
    struct took took[2] = {0};
    double rows = 0;
    table_stats(b->tiered, &before);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            draw(b, &batches[i]);
            rows += (double)batches[i].n;
        }
        run(b, b->hash, batches, n, training, &took[0]);
        run(b, b->tiered, batches, n, training, &took[1]);
    }
    table_stats(b->tiered, &after);
    double misses = (double)(after.misses - before.misses);
    printf("%s: %.3f million rows/s with hash, %.3f with tiered: %.0f %% (goal 75); of the owner's "
           "processor time %.0f %%\n",
           name, rows / took[0].real / 1e6, rows / took[1].real / 1e6,
           100 * took[0].real / took[1].real, 100 * took[0].owner / took[1].owner);
    printf("  %.0f distinct rows a batch, %.1f %% of them on disk, %.0f %% of these fetched ahead; "
           "owner %.2f us, other threads %.1f us more for each of these\n",
           rows / ROUNDS / n, 100 * misses / rows,
           100 * (double)(after.fetched - before.fetched) / misses,
           (took[1].owner - took[0].owner) / misses * 1e6,
           (took[1].all - took[1].owner) / misses * 1e6);
    printf("  %.2f rows and %.0f bytes written for each row updated\n",
           (double)(after.rows_written - before.rows_written) / rows,
           (double)(after.bytes_written - before.bytes_written) / rows);
    fflush(stdout);
    free(batches);
}

static void make_tables(struct bench *b, const char *folder)
{
    struct skiff_error err;
    struct accessor_options o = {.nparts = 3};
    for (int i = 0; i < 3; i++)
        o.parts[i].width = WIDTH;
    o.parts[0].fill = (struct fill){FILL_UNIFORM, -1, 1, fill_key(1, "table")};
    check(accessor_init(&b->accessor, &accessor_plain, &o, &err), &err);
    struct table_options t = {.accessor = &b->accessor};
    check(table_create(&table_hash, &t, &b->hash, &err), &err);
    fill(b, b->hash);
    t.limit.bytes = table_bytes(b->hash) / LIMIT_SHARE;
    t.limit.policy = TABLE_SELDOM;
    t.folder = folder;
    check(table_create(&table_tiered, &t, &b->tiered, &err), &err);
    fill(b, b->tiered);
}

static void prepare(struct bench *b)
{
    float scalar[2] = {0.9f, 0.999f};
    double all = 0;
    size_t asked = b->rows, first = 0;
    for (int c = 0; c < COLUMNS; c++)
        all += vocabulary[c];
    for (int c = 0; c < COLUMNS; c++, first += b->size[c - 1]) {
        b->size[c] = (size_t)(vocabulary[c] * ((double)asked / all)) + 1;
        b->first[c] = first;
    }
    b->rows = first;
    mt64_seed(&b->random, 7);
    b->out = mem_alloc_or_die(SAMPLES * COLUMNS * WIDTH * sizeof *b->out);
    b->gradient = mem_alloc_or_die(SAMPLES * COLUMNS * WIDTH * sizeof *b->gradient);
    b->a = mem_alloc_or_die(SAMPLES * 400 * sizeof *b->a);
    b->b = mem_alloc_or_die(400 * 400 * sizeof *b->b);
    b->c = mem_alloc_or_die(SAMPLES * 400 * sizeof *b->c);
    b->params = (struct rule_params){.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    rule_adam.begin(&b->params, 1e-3f, true, scalar, &b->step);
    for (size_t i = 0; i < SAMPLES * COLUMNS * WIDTH; i++)
        b->gradient[i] = (float)(i % 17) * 1e-3f;
}

int main(int argc, char **argv)
{
    struct bench *b = mem_alloc_or_die(sizeof *b);
    char folder[256];
    omp_set_num_threads(1);
    snprintf(folder, sizeof folder, "%s/skiff_bench_XXXXXX",
             argc > 2           ? argv[2]
             : getenv("TMPDIR") ? getenv("TMPDIR")
                                : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    b->rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
    prepare(b);
    printf("%.1f million rows, %d times what fits in memory\n", (double)b->rows / 1e6, LIMIT_SHARE);
    make_tables(b, folder);
    compare(b, "first batches", 100, false);
    compare(b, "rows", 100, false);
    compare(b, "training", 40, true);
    printf("%.1f MB of memory in the end, of which %.1f were asked for\n",
           (double)table_bytes(b->tiered) / 1e6, (double)b->tiered->options.limit.bytes / 1e6);
    table_destroy(b->hash);
    table_destroy(b->tiered);
    rmdir(folder);
    return 0;
}
