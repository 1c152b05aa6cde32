#define _GNU_SOURCE
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define NAME_CAPACITY 16 /* Linux takes no more */

static enum skiff_status start_failed(const char *name, int code, struct skiff_error *err)
{
    errno = code;
    error_set_sys(err, "thread %s cannot be started", name);
    size_t n = err ? strlen(err->message) : 0;
    if (err && (code == EAGAIN || code == ENOMEM))
        snprintf(
            err->message + n, sizeof err->message - n,
            "; ask for fewer threads, or raise the limit (ulimit -u, the container's pids limit)");
    return SKIFF_IO;
}

enum skiff_status thread_start(struct thread *t, const char *what, int number, void *(*run)(void *),
                               void *arg, struct skiff_error *err)
{
    char name[64];
    int n = snprintf(name, sizeof name, "skiff-%s", what);
    if (number >= 0)
        snprintf(name + n, sizeof name - (size_t)n, ".%d", number);
    int code = pthread_create(&t->id, NULL, run, arg);
    if (code != 0)
        return start_failed(name, code, err);
    t->running = true;
    name[NAME_CAPACITY - 1] = '\0';
    pthread_setname_np(t->id, name); /* shown by tools such as top; nothing depends on it */
    return SKIFF_OK;
}

void thread_join(struct thread *t)
{
    if (t->running)
        pthread_join(t->id, NULL);
    t->running = false;
}

void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline)
{
    if (deadline == CLOCK_NEVER)
        return pthread_cond_wait(cond, lock) == 0;
    struct timespec until = clock_timespec(deadline);
    return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}
