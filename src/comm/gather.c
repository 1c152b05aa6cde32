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
}

void gather_deinit(struct gather *g)
{
    for (int i = 0; i < g->nvars; i++) {
        struct gather_var *v = g->vars[i];
        value_deinit(&v->sum);
        free(v->slot);
        comm_var_deinit(&v->var);
        pthread_mutex_destroy(&v->lock);
        free(v);
    }
    free(g->vars);
    free(g->pushes);
    slots_destroy(g->slots);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

/* Locked. */
static enum skiff_status add_var(struct gather *g, const struct session *s,
                                 const struct job_slices *to, bool merge_add,
                                 struct gather_var **out, struct skiff_error *err)
{
    struct gather_var *v = mem_alloc_or_die(sizeof *v);
    slices_copy(&v->var, to);
    v->merge_add = merge_add;
    pthread_mutex_init(&v->lock, NULL);
    g->vars = mem_grow_or_die(g->vars, (size_t)(g->nvars + 1) * sizeof(struct gather_var *));
    g->pushes = mem_grow_or_die(g->pushes, (size_t)(g->nvars + 1) * sizeof *g->pushes);
    g->vars[g->nvars++] = *out = v;
    return s ? comm_bind(s, &v->var, PS_PUSH_DENSE | PS_PUSH_ROWS, err) : SKIFF_OK;
}

/* Threads send their variables in the same order in every step, so the one after the last that was
 * found is tried first. */
static enum skiff_status gather_find(struct gather *g, const struct session *s,
                                     const struct job_slices *to, bool merge_add,
                                     struct gather_var **out, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&g->lock);
    int i = 0;
    while (i < g->nvars && strcmp(g->vars[(g->next + i) % g->nvars]->var.origin, to->origin))
        i++;
    if (i < g->nvars)
        *out = g->vars[(g->next + i) % g->nvars];
    else
        status = add_var(g, s, to, merge_add, out, err);
    g->next = (g->next + i + 1) % g->nvars;
    if (status == SKIFF_OK && g->slots && !g->begun)
        status = slots_begin(g->slots, err);
    g->begun = status == SKIFF_OK;
    pthread_mutex_unlock(&g->lock);
    return status;
}

enum skiff_status gather_add(struct gather *g, const struct session *s, const struct job_slices *to,
                             const struct skiff_tensor *x, bool merge_add, struct skiff_error *err)
{
    struct gather_var *v;
    TRY(gather_find(g, s, to, merge_add, &v, err));
    pthread_mutex_lock(&v->lock);
    enum skiff_status status = v->slot ? slot_add(v->slot, v->n, x, v->var.origin, err)
                                       : sum_add(&v->sum, v->n, x, v->var.origin, err);
    if (status == SKIFF_OK)
        v->n++;
    pthread_mutex_unlock(&v->lock);
    return status;
}

/* After the first step: dense values are written into the messages from now on. */
static void make_slots(struct gather *g, const struct comm *c)
{
    size_t pushed = 8, pulled = 8; /* and a few that come later */
    for (int i = 0; i < g->nvars; i++)
        pushed += (size_t)g->vars[i]->var.slices.n;
    for (int i = 0; i < c->nrecvs; i++)
        pulled += (size_t)c->recvs[i].slices.n;
    g->slots = slots_create(c->session, pushed, pulled);
    for (int i = 0; i < g->nvars; i++) {
        struct gather_var *v = g->vars[i];
        if (v->sum.kind != VALUE_TENSOR || v->sum.tensor.dtype != DTYPE_FP32 || !v->var.bound)
            continue;
        v->slot = slot_create(g->slots, c->session, &v->var.slices);
        value_deinit(&v->sum);
    }
}

static enum skiff_status finish(struct gather_var *v, struct session_push *out,
                                struct skiff_error *err)
{
    *out = (struct session_push){.to = v->var.slices, .x = &v->sum, .slot = v->slot};
    if (!v->slot)
        return sum_finish(&v->sum, v->n, !v->merge_add, err);
    slot_finish(v->slot, v->n, !v->merge_add);
    return SKIFF_OK;
}

/* No other thread uses the variables: all of them wait, or have ended. */
static enum skiff_status gather_run(struct gather *g, struct comm *c, gather_exchange exchange,
                                    struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    int n = 0;
    for (int i = 0; i < g->nvars; i++) {
        struct gather_var *v = g->vars[i];
        if (!v->n)
            continue;
        TRY_OUT(finish(v, &g->pushes[n++], err));
    }
    TRY_OUT(exchange(c, g->pushes, n, err));
    if (!g->slots && c && c->session)
        make_slots(g, c);
out:
    for (int i = 0; i < g->nvars; i++)
        g->vars[i]->n = 0;
    g->begun = false;
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
