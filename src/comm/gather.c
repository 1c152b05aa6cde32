/* Threads of one trainer wait for each other at the end of their batches (mode.h). The last one to
 * arrive does the exchange for all: no further thread is needed, and a thread that ends leaves no
 * role unfilled. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "comm/mode.h"

void gather_init(struct gather *g)
{
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    cond_init(&g->changed);
    str_map_init(&g->vars);
}

void gather_deinit(struct gather *g)
{
    for (size_t i = 0; i < g->vars.count; i++) {
        struct gather_var *v = g->vars.entries[i].value;
        value_deinit(&v->sum);
        comm_var_deinit(&v->var);
        pthread_mutex_destroy(&v->lock);
        free(v);
    }
    str_map_deinit(&g->vars);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

static struct gather_var *gather_find(struct gather *g, const struct job_slices *to, bool merge_add)
{
    pthread_mutex_lock(&g->lock);
    struct gather_var *v = str_map_get(&g->vars, to->origin);
    if (!v) {
        v = mem_alloc_or_die(sizeof *v);
        slices_copy(&v->var, to);
        v->merge_add = merge_add;
        pthread_mutex_init(&v->lock, NULL);
        str_map_put(&g->vars, v->var.origin, v);
    }
    pthread_mutex_unlock(&g->lock);
    return v;
}

enum skiff_status gather_add(struct gather *g, const struct job_slices *to,
                             const struct skiff_tensor *x, bool merge_add, struct skiff_error *err)
{
    struct gather_var *v = gather_find(g, to, merge_add);
    pthread_mutex_lock(&v->lock);
    enum skiff_status status = sum_add(&v->sum, v->n, x, v->var.origin, err);
    if (status == SKIFF_OK)
        v->n++;
    pthread_mutex_unlock(&v->lock);
    return status;
}

/* No other thread uses the variables: all of them wait, or have ended. */
static enum skiff_status gather_run(struct gather *g, struct comm *c, gather_exchange exchange,
                                    struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct session_push *pushes = mem_alloc_or_die((g->vars.count + 1) * sizeof *pushes);
    int n = 0;
    for (size_t i = 0; i < g->vars.count; i++) {
        struct gather_var *v = g->vars.entries[i].value;
        if (!v->n)
            continue;
        TRY_OUT(sum_finish(&v->sum, v->n, !v->merge_add, err));
        pushes[n++] = (struct session_push){.to = v->var.slices, .x = &v->sum};
    }
    TRY_OUT(exchange(c, pushes, n, err));
out:
    for (size_t i = 0; i < g->vars.count; i++)
        ((struct gather_var *)g->vars.entries[i].value)->n = 0;
    free(pushes);
    return status;
}

enum skiff_status gather_barrier(struct gather *g, struct comm *c, gather_exchange exchange,
                                 struct skiff_error *err)
{
    struct skiff_error why = {0};
    pthread_mutex_lock(&g->lock);
    uint64_t requests = g->requests;
    g->arrived++;
    while (g->requests == requests && (g->busy || g->arrived < g->threads))
        pthread_cond_wait(&g->changed, &g->lock); /* the exchange has a deadline */
    if (g->requests == requests) {
        g->busy = true;
        pthread_mutex_unlock(&g->lock);
        enum skiff_status status = gather_run(g, c, exchange, &why);
        pthread_mutex_lock(&g->lock);
        g->status = status;
        g->error = why;
        g->arrived = 0;
        g->requests++;
        g->busy = false;
        pthread_cond_broadcast(&g->changed);
    }
    enum skiff_status status = g->status;
    if (status < 0 && err)
        *err = g->error;
    pthread_mutex_unlock(&g->lock);
    return status;
}

void gather_begin(struct gather *g, int threads)
{
    pthread_mutex_lock(&g->lock);
    g->threads += threads;
    pthread_mutex_unlock(&g->lock);
}

void gather_end(struct gather *g)
{
    pthread_mutex_lock(&g->lock);
    if (g->threads > 0)
        g->threads--;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}
