/* A dataset of FILES files of ROWS rows, and threads that take all its batches: what the tests of
 * datasets share. */
#ifndef DATA_DATASET_FIXTURE_TEST_H
#define DATA_DATASET_FIXTURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/test_help.h"

#define FILES 6
#define ROWS 250 /* per file */

static char dir[256];
static char *names[FILES];
static struct schema schema;

static inline void config_create(struct dataset_config *c, enum dataset_kind kind)
{
    dataset_config_init(c);
    c->kind = kind;
    c->schema = &schema;
    c->batch_size = 32;
}

static inline struct dataset *make(const struct dataset_config *c)
{
    struct dataset *d;
    struct skiff_error err;
    if (dataset_create(c, &d, &err) != SKIFF_OK ||
        dataset_set_files(d, (const char *const *)names, FILES, &err) != SKIFF_OK)
        fail_msg("%s", err.message);
    return d;
}

/* ---- a training thread: takes all its batches ---- */

struct test_trainer {
    struct dataset *dataset;
    int number;
    pthread_t thread;
    int64_t rows, batches, shorts;
    unsigned char *seen; /* per row of all files: how often */
    enum skiff_status status;
    struct skiff_error err;
};

/* ids hold the row number (file * ROWS + line) twice, label its parity. */
static inline void *trainer_run(void *arg)
{
    struct test_trainer *t = arg;
    const struct batch *b, *later = NULL;
    while ((t->status = dataset_next(t->dataset, t->number, &b, &t->err)) == SKIFF_OK) {
        const struct tensor *ids = batch_tensor(b, 0), *label = batch_tensor(b, 1);
        if (later && later != b)
            abort();
        later = t->rows % 3 ? dataset_peek(t->dataset, t->number) : NULL;
        t->rows += b->rows;
        t->batches++;
        t->shorts += b->rows < 32;
        for (int64_t i = 0; i < b->rows; i++) {
            const int64_t *at = tensor_i64(ids) + ids->lod->level[0].off[i];
            if (at[0] != at[1] || tensor_i64(label)[i] != (at[0] & 1))
                abort(); /* assertions of cmocka work in the main thread only */
            t->seen[at[0] - 1]++;
        }
    }
    return NULL;
}

/* Runs an epoch with all its threads; rows seen, and how often each. */
static inline int64_t epoch(struct dataset *d, int want_threads, unsigned char seen[FILES * ROWS],
                            enum skiff_status want, struct skiff_error *err)
{
    struct test_trainer t[16] = {0};
    int threads = 0;
    int64_t rows = 0;
    bool found = false;
    memset(seen, 0, FILES * ROWS);
    assert_int_equal(dataset_start(d, &threads, err), SKIFF_OK);
    assert_int_equal(threads, want_threads);
    for (int i = 0; i < threads; i++) {
        t[i].dataset = d;
        t[i].number = i;
        t[i].seen = calloc(1, FILES * ROWS);
        pthread_create(&t[i].thread, NULL, trainer_run, &t[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i].thread, NULL);
        /* a thread that was through before another one failed has seen its end */
        assert_true(t[i].status == want || t[i].status == SKIFF_END);
        found |= t[i].status == want;
        if (t[i].status < 0)
            *err = t[i].err;
        rows += t[i].rows;
        assert_true(t[i].shorts <= 1 || want < 0);
        for (int k = 0; k < FILES * ROWS; k++)
            seen[k] += t[i].seen[k];
        free(t[i].seen);
    }
    assert_true(found);
    return rows;
}

static inline void all_once(const unsigned char seen[FILES * ROWS])
{
    for (int k = 0; k < FILES * ROWS; k++)
        assert_int_equal(seen[k], 1);
}

/* The first id of every row, in the order handed out to thread 0. */
static inline void order(struct dataset *d, int64_t *out)
{
    const struct batch *b;
    int threads;
    size_t n = 0;
    assert_int_equal(dataset_start(d, &threads, NULL), SKIFF_OK);
    while (dataset_next(d, 0, &b, NULL) == SKIFF_OK)
        for (int64_t i = 0; i < b->rows; i++)
            out[n++] = b->columns[0].i64[b->columns[0].offsets[i]];
    assert_int_equal(n, FILES * ROWS);
}

static inline int setup(void **state)
{
    struct buf text = BUF_INIT;
    temp_create(dir);
    schema_create(&schema, "ids:i label:i1");
    for (int f = 0; f < FILES; f++) {
        char name[16];
        buf_reset(&text);
        for (int i = 0; i < ROWS; i++) {
            int row = f * ROWS + i + 1;
            buf_printf(&text, "2 %d %d 1 %d\n", row, row, row & 1);
        }
        snprintf(name, sizeof name, "part-%d", f);
        names[f] = strdup(temp_text(dir, name, text.data));
    }
    buf_deinit(&text);
    return 0;
}

static inline int teardown(void **state)
{
    for (int f = 0; f < FILES; f++)
        free(names[f]);
    schema_deinit(&schema);
    temp_remove(dir);
    return 0;
}

#endif
