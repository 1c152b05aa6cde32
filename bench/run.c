/* run [FOLDER ROWS.csv]: microseconds of a prediction with <skiff/run.h>, one row a call, as text
 * and as values, and many rows a call.
 *
 * FOLDER is a trained run, ROWS.csv has a header line. Without them a table of 10,000 visits is
 * made, and a DeepFM (64, 32) is trained on it. Each way goes over the rows ROUNDS times after a
 * first time, which warms up; the median row counts (wall time of its call), and for many rows the
 * mean. Allocations of the measured calls are counted. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skiff/prepare.h>
#include <skiff/run.h>
#include <skiff/trainer.h>

#include "base/clock.h"
#include "store/file.h"

#define ROWS_MAX 10000
#define ROUNDS 5

/* ---- allocations of the whole program ---- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
static long allocations;

void *malloc(size_t n)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : 12; /* ENOMEM */
}

/* ---- rows ---- */

struct rows {
    char *header, *line[ROWS_MAX];
    int n, columns;
    struct skiff_run_value *values;
};

static void or_die(enum skiff_status status, const struct skiff_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "run: %s\n", err->message);
    exit(1);
}

static void read_rows(struct rows *r, const char *path)
{
    FILE *f = fopen(path, "r");
    size_t size = 0;
    for (char *line = NULL; f && r->n < ROWS_MAX && getline(&line, &size, f) > 0; line = NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (r->header)
            r->line[r->n++] = line;
        else
            r->header = line;
        size = 0;
    }
    if (!r->n) {
        fprintf(stderr, "run: %s has no rows\n", path);
        exit(1);
    }
    fclose(f);
}

/* Plain cells, without quotes. */
static void cut_values(struct rows *r)
{
    r->values = calloc((size_t)(r->n * r->columns), sizeof *r->values);
    for (int i = 0; i < r->n; i++) {
        char *at = strdup(r->line[i]), *end;
        for (int k = 0; k < r->columns; k++) {
            char *cell = strsep(&at, ",");
            struct skiff_run_value *v = &r->values[i * r->columns + k];
            v->number = cell && *cell ? strtod(cell, &end) : NAN;
            if (cell && *cell && *end)
                *v = (struct skiff_run_value){.text = cell, .size = strlen(cell)};
        }
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One row a call. */
static void one_by_one(struct skiff_run *run, const struct rows *r, bool text)
{
    struct skiff_error err = {0};
    size_t n = (size_t)r->n * ROUNDS;
    double *spent = calloc(n, sizeof *spent), p;
    long before = 0;
    for (int round = -1; round < ROUNDS; round++) {
        if (round == 0)
            before = allocations;
        for (int i = 0; i < r->n; i++) {
            const char *line = r->line[i];
            int64_t from = clock_now();
            or_die(text ? skiff_run_predict_text(run, &line, 1, &p, &err)
                        : skiff_run_predict_values(run, &r->values[i * r->columns], 1, &p, &err),
                   &err);
            if (round >= 0)
                spent[round * r->n + i] = (double)(clock_now() - from) * 1e-3;
        }
    }
    long made = allocations - before;
    qsort(spent, n, sizeof *spent, by_size);
    printf("one row, %-6s  median %6.2f us, 99 of 100 below %6.2f us, %ld allocations\n",
           text ? "text" : "values", spent[n / 2], spent[n * 99 / 100], made);
    free(spent);
}

static void many(struct skiff_run *run, const struct rows *r)
{
    struct skiff_error err = {0};
    double *p = calloc((size_t)r->n, sizeof *p);
    int64_t from = 0;
    for (int round = -1; round < ROUNDS; round++) {
        if (round == 0)
            from = clock_now();
        or_die(skiff_run_predict_values(run, r->values, r->n, p, &err), &err);
    }
    printf("%d rows a call   mean   %6.2f us a row\n", r->n,
           (double)(clock_now() - from) * 1e-3 / ROUNDS / r->n);
    free(p);
}

/* A table of visits, and a run that has learned from it. */
static void make_run(const char *dir, char *folder, char *table, size_t size)
{
    static const char *const devices[] = {"phone", "laptop", "tablet"};
    struct skiff_error err = {0};
    char config[128];
    snprintf(folder, size, "%s/run", dir);
    snprintf(table, size, "%s/visits.csv", dir);
    snprintf(config, sizeof config, "%s/run/config.yaml", dir);
    FILE *f = fopen(table, "w");
    fprintf(f, "device,page,age,minutes,town,bought\n");
    for (int i = 0; f && i < ROWS_MAX; i++)
        fprintf(f, "%s,page-%d,%d,%.1f,town-%d,%d\n", devices[i * 7 % 3], i * 13 % 5,
                18 + i * 31 % 60, i % 400 / 10.0, i * 17 % 60, (i * 7 % 3 + i * 31 % 60 / 30) % 2);
    if (!f || fclose(f) != 0)
        exit(1);
    or_die(skiff_prepare(&(struct skiff_prepare_options){.data = table, .out = folder}, NULL, &err),
           &err);
    struct skiff_trainer *t = skiff_trainer_create(
        &(struct skiff_trainer_config){
            .config = config, .options = (const char *[]){"runner.epochs=3"}, .noptions = 1},
        &err);
    or_die(t ? skiff_trainer_run(t, &err) : err.code, &err);
    skiff_trainer_destroy(t);
}

static void measure(const char *folder, const char *table)
{
    static struct rows r;
    struct skiff_error err = {0};
    read_rows(&r, table);
    struct skiff_run_options options = {.header = r.header};
    struct skiff_run *run = skiff_run_open(folder, &options, &err);
    or_die(run ? SKIFF_OK : err.code, &err);
    r.columns = skiff_run_columns(run);
    cut_values(&r);
    one_by_one(run, &r, true);
    one_by_one(run, &r, false);
    many(run, &r);
    skiff_run_close(run);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/bench_run.XXXXXX", folder[64], table[64];
    if (argc == 3) {
        measure(argv[1], argv[2]);
        return 0;
    }
    if (argc != 1 || !mkdtemp(dir)) {
        fprintf(stderr, "usage: run [FOLDER ROWS.csv]\n");
        return 2;
    }
    make_run(dir, folder, table, sizeof folder);
    measure(folder, table);
    file_remove_tree(dir);
    return 0;
}
