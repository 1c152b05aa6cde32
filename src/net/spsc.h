/* Queue of pointers from one thread to one other, of fixed capacity. push never blocks; pop
 * waits. */
#ifndef NET_SPSC_H
#define NET_SPSC_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

struct spsc {
    void **slot;
    size_t mask;
    size_t tail;        /* owned by the producer */
    atomic_size_t head; /* owned by the consumer; the producer reads it */
    char apart[64];     /* keeps the two threads' members in different cache lines */
    size_t read;        /* consumer's copy of head */
    sem_t filled; /* number of entries in the queue; also orders access to the slots' contents */
};

static inline void spsc_init(struct spsc *q, size_t capacity /* a power of two */)
{
    *q = (struct spsc){.slot = mem_alloc_or_die(capacity * sizeof *q->slot), .mask = capacity - 1};
    sem_init(&q->filled, 0, 0);
}

static inline void spsc_deinit(struct spsc *q)
{
    sem_destroy(&q->filled);
    free(q->slot);
}

/* False: full. */
static inline bool spsc_push(struct spsc *q, void *p)
{
    if (q->tail - atomic_load_explicit(&q->head, memory_order_acquire) > q->mask)
        return false;
    q->slot[q->tail++ & q->mask] = p;
    sem_post(&q->filled);
    return true;
}

/* Blocks until the queue has an entry. */
static inline void *spsc_pop(struct spsc *q)
{
    while (sem_wait(&q->filled) != 0 && errno == EINTR)
        ;
    void *p = q->slot[q->read++ & q->mask];
    atomic_store_explicit(&q->head, q->read, memory_order_release);
    return p;
}

#endif
