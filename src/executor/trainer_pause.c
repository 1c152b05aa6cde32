/* Pauses: all threads stop at the end of a batch, and one of them calls on_pause.
 *
 * The thread whose batch reaches the period requests a pause. Every thread that comes to the end of
 * its batch then waits, and the last one calls on_pause. Threads that have ended are not waited
 * for; when the last missing thread ends, it calls on_pause itself. */
#include "base/clock.h"
#include "base/thread.h"
#include "executor/trainer_parts.h"

void pause_init(struct pause *p, const struct trainer_options *o)
{
    *p = (struct pause){.options = o, .running = o->threads, .next = o->pause_period};
    pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->over);
}

void pause_deinit(struct pause *p)
{
    pthread_cond_destroy(&p->over);
    pthread_mutex_destroy(&p->lock);
}

/* True when all running threads have arrived. */
static enum skiff_status hold(struct pause *p, bool skip, struct skiff_error *err)
{
    const struct trainer_options *o = p->options;
    double start = clock_seconds();
    enum skiff_status status = SKIFF_OK;
    if (!skip && !p->failed && !(o->wants_stop && o->wants_stop(o->user)))
        status = o->on_pause(o->user, p->batches, p->rows, err);
    p->failed |= skip || status < 0; /* the run is ending: later pauses are dropped */
    while (p->next <= p->batches)
        p->next += o->pause_period;
    p->seconds += clock_seconds() - start;
    p->wanted = false;
    p->waiting = 0;
    p->held++;
    pthread_cond_broadcast(&p->over);
    return status;
}

enum skiff_status pause_pass(struct pause *p, int64_t rows, struct skiff_error *err)
{
    if (!p->options->pause_period)
        return SKIFF_OK;
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&p->lock);
    p->rows += rows;
    p->wanted |= ++p->batches >= p->next;
    if (p->wanted) {
        uint64_t held = p->held;
        if (++p->waiting == p->running)
            status = hold(p, false, err);
        while (p->held == held)
            pthread_cond_wait(&p->over, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

enum skiff_status pause_leave(struct pause *p, bool skip, struct skiff_error *err)
{
    if (!p->options->pause_period)
        return SKIFF_OK;
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&p->lock);
    p->running--;
    if (p->wanted && p->running && p->waiting == p->running)
        status = hold(p, skip, err);
    pthread_mutex_unlock(&p->lock);
    return status;
}
