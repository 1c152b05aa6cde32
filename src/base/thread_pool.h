/* Threads that share the work of a loop with the thread that calls it.
 *
 * thread_pool_use lends a pool to the calling thread, as omp_set_num_threads does for OpenMP: the
 * loops that this thread then runs (thread_pool_split) are shared. Threads that were lent none,
 * such as training threads (Hogwild) and the pool's own, compute alone; so a part of a loop may
 * itself contain loops.
 *
 * A loop is cut into the same pieces whatever the number of threads, from two on, and whoever
 * computes them. A piece must write only what belongs to it: split the rows of a result, never the
 * terms of a sum. */
#ifndef BASE_THREAD_POOL_H
#define BASE_THREAD_POOL_H

#include <skiff/thread_pool.h>

#include "base/error.h"

/* Lends it to the calling thread until the next call; NULL: the thread computes alone, as at first.
 * Returns the pool that the thread had. */
struct skiff_thread_pool *thread_pool_use(struct skiff_thread_pool *p);

/* A piece of a loop over [0, n): the items from `from` to before `to`. It cannot fail. */
typedef void thread_pool_part(void *arg, int64_t from, int64_t to);

/* Calls part for pieces of `piece` items (the last one may be shorter) and returns when all of them
 * are done. Without a pool, or with no more than one piece: part(arg, 0, n), here and now. While
 * another thread uses the pool, the caller computes all pieces. */
void thread_pool_split(int64_t n, int64_t piece, thread_pool_part *part, void *arg);
/* Pieces for loops over elements, some nanoseconds each, and over rows of so many elements: none
 * with less than THREAD_POOL_ELEMENTS, which take two or three times as long as waking a thread. */
#define THREAD_POOL_ELEMENTS 65536
static inline int64_t thread_pool_rows(int64_t rows, int64_t elements)
{
    int64_t pieces = rows * elements / THREAD_POOL_ELEMENTS;
    return pieces < 2 || rows < 2 ? rows : (rows + pieces - 1) / pieces;
}
static inline int64_t thread_pool_elements(int64_t n)
{
    return thread_pool_rows(n, 1);
}

#endif
