/* Threads with names, and waiting with a deadline. Every thread that Skiff starts is started here.
 *
 * A thread's name is "skiff-" and what it is for ("skiff-read.3"): top -H, gdb and perf show it,
 * also in the middle of somebody else's program. It takes over the signal mask of the thread that
 * starts it. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct thread { /* zeroed: none */
    pthread_t id;
    bool running; /* from thread_start to thread_join; not "has not returned yet" */
};

/* Starts `run`, which gives back NULL. what: a word of at most 9 letters; number: among threads
 * that do the same, -1: it is the only one. */
enum skiff_status thread_start(struct thread *t, const char *what, int number, void *(*run)(void *),
                               void *arg, struct skiff_error *err);
/* Waits until it has returned. One that does not run is fine. */
void thread_join(struct thread *t);

/* A condition variable whose waits take deadlines of base/clock.h. */
void cond_init(pthread_cond_t *cond);
/* Locked. Waits for a signal until the deadline, or for ever (CLOCK_NEVER); false: the deadline has
 * passed. As with all condition variables, it may wake for nothing. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline);

#endif
