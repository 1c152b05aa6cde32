/* Thread pools: several processor cores for one op.
 *
 *     struct skiff_thread_pool *pool = skiff_thread_pool_create(4);
 *     struct skiff_executor_options options = {.thread_pool = pool};
 *     struct skiff_executor *exe = skiff_executor_create(scope, &options);
 *     ...
 *     skiff_executor_destroy(exe);
 *     skiff_thread_pool_destroy(pool);
 *
 * Large products, table lookups, updates and element-wise ops share their work with the pool.
 * Training from a dataset does not: its threads compute whole batches, each alone. Results are the
 * same, to the bit, in every run with a given number of threads, and for all numbers from two on.
 *
 * Threads: all calls may come from any thread. Executors, predictors and an eager engine may have
 * the same pool and run at the same time; it serves one op after the other, and who finds it in use
 * computes alone. After fork the child's pool starts threads of its own. */
#ifndef SKIFF_THREAD_POOL_H
#define SKIFF_THREAD_POOL_H

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skiff_thread_pool;

/* threads: how many compute, the caller included, 1 to SKIFF_MOST_THREADS; other numbers are moved
 * to the nearest. 0: what OMP_NUM_THREADS says, or 1, as in Paddle. Threads are started when they
 * are first needed. */
#define SKIFF_MOST_THREADS 1024
SKIFF_API struct skiff_thread_pool *skiff_thread_pool_create(int threads);
/* Whatever has it must be destroyed first. NULL is fine. */
SKIFF_API void skiff_thread_pool_destroy(struct skiff_thread_pool *p);
SKIFF_API int skiff_thread_pool_threads(const struct skiff_thread_pool *p);
/* From the next op on. */
SKIFF_API void skiff_thread_pool_set_threads(struct skiff_thread_pool *p, int threads);

#ifdef __cplusplus
}
#endif
#endif
