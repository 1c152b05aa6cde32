#include "program/server_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct server_plan *server_plan_create(const struct job_plan *job, int index)
{
    struct server_plan *p = mem_alloc_or_die(sizeof *p);
    p->job = job_plan_ref(job);
    p->index = index;
    p->rate_block = -1;
    arena_init(&p->arena);
    return p;
}

void server_plan_destroy(struct server_plan *p)
{
    if (!p)
        return;
    job_plan_unref(p->job);
    arena_deinit(&p->arena);
    free(p->slices);
    free(p);
}

struct plan_slice *server_plan_add(struct server_plan *p, const char *param, const char *grad,
                                   int block, bool keyed)
{
    p->slices = mem_grow_or_die(p->slices, (size_t)(p->nslices + 1) * sizeof *p->slices);
    struct plan_slice *u = &p->slices[p->nslices++];
    *u = (struct plan_slice){.param = arena_strdup(&p->arena, param),
                             .grad = arena_strdup(&p->arena, grad),
                             .block = block,
                             .keyed = keyed,
                             .placed = keyed ? NULL : job_plan_slice(p->job, p->index, param)};
    return u;
}

void plan_names_add(struct server_plan *p, struct plan_names *list, const char *name)
{
    if (!(list->n & (list->n - 1))) { /* grow when full: the capacity is the next power of two */
        const char **v = arena_alloc(&p->arena, (size_t)(list->n ? 2 * list->n : 1) * sizeof *v);
        if (list->n)
            memcpy(v, list->v, (size_t)list->n * sizeof *v);
        list->v = v;
    }
    list->v[list->n++] = arena_strdup(&p->arena, name);
}
