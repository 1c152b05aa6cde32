/* Memory for growing tables, requested ahead of need by a thread of its own, so that no push waits
 * for the system to clear pages (table_prepare). The thread checks often while tables grow, and
 * rarely when they do not.
 *
 * A load may replace a sparse table: the lock is held while this thread works on tables, and while
 * the load exchanges one (sparse_host.prepares). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/prepare.h"
#include "server/server_parts.h"
#include "server/slice.h"

#define SHORTEST 1 /* ms between two checks */
#define LONGEST 16

struct preparer {
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool stop;
};

/* Did any of them grow? */
static bool look(struct server *s)
{
    bool grown = false;
    for (int i = 0; i < s->nslices; i++)
        if (slice_is_hashed(&s->slices[i]))
            grown |= table_prepare(slice_table(&s->slices[i]));
    return grown;
}

static void *prepare_run(void *arg)
{
    struct server *s = arg;
    struct preparer *p = s->preparer;
    int64_t pause = SHORTEST;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        pause = look(s) ? SHORTEST : pause < LONGEST ? 2 * pause : LONGEST;
        cond_wait_until(&p->end, &p->lock, clock_after(clock_now(), pause));
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

enum skiff_status prepare_begin(struct server *s, struct skiff_error *err)
{
    bool any = false;
    for (int i = 0; i < s->nslices; i++)
        any |= slice_is_hashed(&s->slices[i]);
    if (!any)
        return SKIFF_OK;
    struct preparer *p = s->preparer = mem_alloc_or_die(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->end);
    s->sparse_host.prepares = &p->lock;
    return thread_start(&p->thread, "prepare", -1, prepare_run, s, err);
}

void prepare_end(struct server *s)
{
    struct preparer *p = s->preparer;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->end);
    pthread_mutex_unlock(&p->lock);
    thread_join(&p->thread);
    s->sparse_host.prepares = NULL;
    pthread_cond_destroy(&p->end);
    pthread_mutex_destroy(&p->lock);
    free(p);
    s->preparer = NULL;
}
