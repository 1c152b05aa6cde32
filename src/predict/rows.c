/* The ring of rows.h. Batches are numbered; batch k is in ring[k % n]:
 *
 *     written <= k < taken    being computed, or done and waiting for those before it
 *     taken <= k < filled     read, not yet computed
 *
 * The reader fills while filled < written + n. All counters and `done` are under one lock, which is
 * not held during work; every change of the state wakes all waiters. The first failure of each kind
 * is kept; a failure of the reader is reported after the batches that it filled before. */
#include "predict/rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define LOOK_PERIOD 50000000 /* ns between two looks for the wish to stop */

struct ring_batch {
    struct batch batch;
    bool made;
    bool done;
    struct buf text;
    int64_t lines;
};

struct ring {
    const struct predict_rows *job;
    struct scan_plan plan; /* the job's, with a wish to stop of its own: */
    atomic_bool
        stop_reading; /* set by the task, or after a failure: the input may be silent for hours */
    struct ring_batch *at;
    int n;
    int *slots; /* of the model's feeds */
    int64_t filled, taken, written;
    bool ended;   /* the reader fills no more */
    bool stopped; /* all threads shall end */
    struct skiff_error read_error, run_error;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct thread reader, *computers;
};

static void ring_lock(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
}

static void ring_unlock(struct ring *r)
{
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* ---- reading ---- */

/* Bad lines at the end of the input are a batch without rows. */
static enum skiff_status fill_one(struct ring *r, struct scan *scan, struct ring_batch *b,
                                  struct skiff_error *err)
{
    TRY(batch_reset(&b->batch, err));
    enum skiff_status status = scan_fill(scan, r->job->cursor, &b->batch, r->job->batch_size, err);
    batch_finish(&b->batch);
    return status;
}

/* False: there is nothing to be filled any more. */
static bool await_space(struct ring *r)
{
    ring_lock(r);
    while (r->filled >= r->written + r->n && !r->stopped)
        pthread_cond_wait(&r->changed, &r->lock);
    bool stopped = r->stopped;
    pthread_mutex_unlock(&r->lock);
    return !stopped;
}

static void *read_all(void *arg)
{
    struct ring *r = arg;
    struct scan scan;
    struct skiff_error why = {0};
    enum skiff_status status = scan_open(&scan, &r->plan, &why);
    bool open = status == SKIFF_OK;
    while (status == SKIFF_OK && await_space(r)) {
        struct ring_batch *b = &r->at[r->filled % r->n];
        status = fill_one(r, &scan, b, &why);
        ring_lock(r);
        b->done = false;
        if (b->batch.positions_done)
            r->filled++;
        ring_unlock(r);
    }
    if (open)
        scan_close(&scan);
    ring_lock(r);
    r->ended = true;
    if (status < 0 && !(r->stopped && why.code == SKIFF_STATE)) /* stopped by what has failed */
        r->read_error = why;
    ring_unlock(r);
    return NULL;
}

/* ---- computing ---- */

/* One line for every place of the batch. */
static void print_batch(const struct ring *r, struct ring_batch *b, const struct tensor *predict)
{
    const char *at = b->batch.positions.data, *end = at + b->batch.positions_done;
    int64_t row = 0;
    char number[32];
    buf_reset(&b->text);
    b->lines = 0;
    for (const char *stop; at < end; at = stop + 1, b->lines++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (*at == '-') {
            buf_str(&b->text, "nan\n");
            continue;
        }
        double p = predict_value(predict, row++);
        snprintf(number, sizeof number, "%.6g", calibration_apply(r->job->calibration, p));
        buf_str(&b->text, number);
        if (stop > at + 1)
            buf_char(&b->text, '\t');
        buf_add(&b->text, at + 1, (size_t)(stop - at - 1));
        buf_char(&b->text, '\n');
    }
}

static enum skiff_status compute(struct ring *r, struct ring_batch *b, const struct tensor **inputs,
                                 struct skiff_tensor *out, struct skiff_error *err)
{
    const struct skiff_model *m = predictor_model(r->job->predictor);
    if (b->batch.rows) {
        for (int i = 0; i < m->nfeeds; i++)
            inputs[i] = batch_tensor(&b->batch, r->slots[i]);
        TRY(predictor_run(r->job->predictor, inputs, out, 1, err));
        TRY(predict_check(r->job->predictor, &out->tensor, b->batch.rows, err));
    }
    print_batch(r, b, &out->tensor);
    return SKIFF_OK;
}

/* The next batch that no one computes, or NULL at the end. */
static struct ring_batch *take_one(struct ring *r)
{
    struct ring_batch *b = NULL;
    ring_lock(r);
    while (r->taken == r->filled && !r->ended && !r->stopped)
        pthread_cond_wait(&r->changed, &r->lock);
    if (r->taken < r->filled && !r->stopped)
        b = &r->at[r->taken++ % r->n];
    pthread_mutex_unlock(&r->lock);
    return b;
}

static void *compute_all(void *arg)
{
    struct ring *r = arg;
    int n = predictor_model(r->job->predictor)->nfeeds;
    const struct tensor **inputs = mem_alloc_or_die((size_t)(n + 1) * sizeof *inputs);
    struct skiff_tensor out = {0};
    struct skiff_error why = {0};
    enum skiff_status status = SKIFF_OK;
    for (struct ring_batch *b; status == SKIFF_OK && (b = take_one(r));) {
        status = compute(r, b, inputs, &out, &why);
        ring_lock(r);
        b->done = status == SKIFF_OK;
        if (status < 0 && r->run_error.code == SKIFF_OK)
            r->run_error = why;
        r->stopped |= status < 0;
        ring_unlock(r);
    }
    value_deinit(&out);
    free(inputs);
    return NULL;
}

/* ---- writing ---- */

/* The next batch in order, or NULL: all are written, or something has failed. */
static struct ring_batch *await_done(struct ring *r)
{
    struct ring_batch *b = &r->at[r->written % r->n];
    ring_lock(r);
    while (!r->stopped && !(r->written < r->taken && b->done) &&
           !(r->ended && r->written == r->filled)) {
        if (r->job->plan->stop && atomic_load(r->job->plan->stop))
            atomic_store(&r->stop_reading, true);
        cond_wait_until(&r->changed, &r->lock, clock_now() + LOOK_PERIOD);
    }
    bool there = r->written < r->taken && b->done;
    pthread_mutex_unlock(&r->lock);
    return there ? b : NULL;
}

static enum skiff_status write_all(struct ring *r, struct skiff_error *err)
{
    for (struct ring_batch *b; (b = await_done(r));) {
        TRY(r->job->write(r->job->user, b->text.data, b->text.len, b->lines, err));
        ring_lock(r);
        b->done = false;
        r->written++;
        ring_unlock(r);
    }
    return SKIFF_OK;
}

/* ---- all together ---- */

static enum skiff_status ring_start(struct ring *r, struct skiff_error *err)
{
    TRY(predict_slots(r->job->predictor, r->job->plan->schema, &r->slots, err));
    for (int i = 0; i < r->n; i++) {
        TRY(batch_init(&r->at[i].batch, r->job->plan->schema, r->job->batch_size, err));
        r->at[i].made = r->at[i].batch.keep_positions = true;
    }
    TRY(thread_start(&r->reader, "read", -1, read_all, r, err));
    for (int i = 0; i < r->job->threads; i++)
        TRY(thread_start(&r->computers[i], "predict", i, compute_all, r, err));
    return SKIFF_OK;
}

static void ring_stop(struct ring *r)
{
    ring_lock(r);
    r->stopped = true;
    ring_unlock(r);
    atomic_store(&r->stop_reading, true);
    thread_join(&r->reader);
    for (int i = 0; i < r->job->threads; i++)
        thread_join(&r->computers[i]);
}

static void ring_deinit(struct ring *r)
{
    for (int i = 0; i < r->n; i++) {
        if (r->at[i].made)
            batch_deinit(&r->at[i].batch);
        buf_deinit(&r->at[i].text);
    }
    free(r->at);
    free(r->slots);
    free(r->computers);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
}

enum skiff_status predict_rows_run(const struct predict_rows *job, struct skiff_error *err)
{
    struct ring r = {.job = job, .plan = *job->plan, .n = 2 * job->threads + 2};
    r.plan.stop = &r.stop_reading;
    r.at = mem_alloc_or_die((size_t)r.n * sizeof *r.at);
    r.computers = mem_alloc_or_die((size_t)job->threads * sizeof *r.computers);
    pthread_mutex_init(&r.lock, NULL);
    cond_init(&r.changed);
    enum skiff_status status = ring_start(&r, err);
    if (status == SKIFF_OK)
        status = write_all(&r, err);
    ring_stop(&r);
    /* what is wrong with a row may be noticed by both; the reader knows its line */
    const struct skiff_error *why = r.read_error.code ? &r.read_error : &r.run_error;
    if (status == SKIFF_OK && why->code) {
        status = why->code;
        if (err)
            *err = *why;
    }
    ring_deinit(&r);
    return status;
}
