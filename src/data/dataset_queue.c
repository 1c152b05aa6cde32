/* QueueDataset: one reader thread per training thread, with a ring of batches between them. */
#include "data/dataset_parts.h"

#include <string.h>

/* The next batch, or END. */
static enum skiff_status thread_state_read(struct thread_state *l, struct batch *b,
                                           struct skiff_error *err)
{
    struct dataset *d = l->dataset;
    enum skiff_status status;
    b->keep_positions = d->config.keep_ids;
    do { /* of very many bad lines a batch holds nothing else */
        TRY(batch_reset(b, err));
        status = scan_fill(&l->scan, &d->cursor, b, d->config.batch_size, err);
    } while (status == SKIFF_OK && !b->rows);
    if (status == SKIFF_OK && d->config.drop_last && b->rows < d->config.batch_size)
        return SKIFF_END;
    if (status == SKIFF_OK)
        batch_finish(b);
    return status;
}

static void *thread_state_run(void *arg)
{
    struct thread_state *l = arg;
    struct dataset *d = l->dataset;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        while (l->produced - l->released == l->nbatches && !atomic_load(&d->stop))
            pthread_cond_wait(&l->changed, &l->lock);
        struct batch *b = &l->batches[l->produced % l->nbatches];
        pthread_mutex_unlock(&l->lock);

        struct skiff_error err = {0};
        enum skiff_status status = SKIFF_END;
        if (!atomic_load(&d->stop))
            status = thread_state_read(l, b, &err);
        if (status < 0)
            dataset_fail(d, &err);

        pthread_mutex_lock(&l->lock);
        if (status == SKIFF_OK)
            l->produced++;
        else
            l->done = true;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
        if (status != SKIFF_OK)
            return NULL;
    }
}

enum skiff_status queue_start(struct dataset *d, struct skiff_error *err)
{
    for (int i = 0; i < d->nthread_states; i++) {
        struct thread_state *l = &d->thread_states[i];
        TRY(scan_open(&l->scan, &d->plan, err));
        l->scan_open = true;
        if (d->config.prefetch < 0)
            continue;
        TRY(thread_start(&l->thread, "read", i, thread_state_run, l, err));
    }
    return SKIFF_OK;
}

/* Without a reader thread. */
static enum skiff_status next_inline(struct dataset *d, struct thread_state *l,
                                     const struct batch **out, struct skiff_error *err)
{
    struct skiff_error why = {0};
    if (l->done || atomic_load(&d->stop))
        return dataset_failure(d, err);
    struct batch *b = &l->batches[l->taken % l->nbatches];
    enum skiff_status status = thread_state_read(l, b, &why);
    if (status == SKIFF_OK) {
        l->taken++;
        *out = b;
        return status;
    }
    l->done = true;
    if (status == SKIFF_END)
        return status;
    dataset_fail(d, &why);
    return dataset_failure(d, err);
}

enum skiff_status queue_next(struct dataset *d, struct thread_state *l, const struct batch **out,
                             struct skiff_error *err)
{
    if (d->config.prefetch < 0)
        return next_inline(d, l, out, err);
    pthread_mutex_lock(&l->lock);
    if (l->taken > 1 && l->released < l->taken - 1) {
        l->released = l->taken - 1;
        pthread_cond_signal(&l->changed);
    }
    while (l->produced == l->taken && !l->done)
        pthread_cond_wait(&l->changed, &l->lock);
    bool got = l->produced > l->taken;
    if (got)
        *out = &l->batches[l->taken++ % l->nbatches];
    pthread_mutex_unlock(&l->lock);
    if (got && !atomic_load(&d->stop))
        return SKIFF_OK;
    return dataset_failure(d, err);
}

const struct batch *queue_peek(struct dataset *d, struct thread_state *l)
{
    if (d->config.prefetch < 0)
        return NULL;
    pthread_mutex_lock(&l->lock);
    const struct batch *b = l->produced > l->taken ? &l->batches[l->taken % l->nbatches] : NULL;
    pthread_mutex_unlock(&l->lock);
    return b;
}

void queue_stop(struct dataset *d)
{
    atomic_store(&d->stop, true);
    for (int i = 0; i < d->nthread_states; i++) {
        struct thread_state *l = &d->thread_states[i];
        if (l->thread.running) {
            pthread_mutex_lock(&l->lock);
            pthread_cond_broadcast(&l->changed);
            pthread_mutex_unlock(&l->lock);
            thread_join(&l->thread);
        }
        if (l->scan_open) {
            if (l->scan.cache_error.code)
                d->cache_error = l->scan.cache_error;
            scan_close(&l->scan);
            l->scan_open = false;
        }
    }
}
