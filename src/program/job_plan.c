/* The plan of a job: copying, hashing and searching it.
 *
 * A plan is deep-copied into its own arena and never changes afterwards, so it may be read by any
 * thread; the reference count is atomic. The hash (64-bit FNV-1a) covers every value on which all
 * processes must agree: mode, counts, the placement of each slice, the tables and their settings.
 * Processes compare it when they connect. Searches are linear: a plan has some hundred slices, and
 * callers search it when they prepare a run, not in a step. */
#include "program/job_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- the hash, over the text of everything that must agree ---- */

static void hash_text(uint64_t *h, const char *text)
{
    for (const char *c = text; *c; c++)
        *h = (*h ^ (unsigned char)*c) * 1099511628211u;
    *h = (*h ^ '\n') * 1099511628211u;
}

static void hash_placement(uint64_t *h, const struct skiff_placement *s)
{
    char line[96];
    struct shape shape = placement_shape(s);
    hash_text(h, s->slice);
    hash_text(h, s->origin);
    snprintf(line, sizeof line, "%d %d %lld %lld", s->state ? 2 : s->remote, s->server,
             (long long)s->offset, (long long)shape_numel(&shape));
    hash_text(h, line);
}

static uint64_t hash_of(const struct job_plan *p)
{
    uint64_t h = 14695981039346656037u;
    char line[96];
    snprintf(line, sizeof line, "%d %d %d", (int)p->mode, p->trainers, p->servers);
    hash_text(&h, line);
    for (int i = 0; i < p->nplacement; i++)
        hash_placement(&h, &p->placement[i]);
    for (int i = 0; i < p->ntables; i++) {
        hash_text(&h, p->tables[i]);
        if (p->sparse_table[i])
            hash_text(&h, p->sparse_table[i]);
    }
    return h;
}

/* ---- create, ref, unref ---- */

static const char *const *copy_texts(struct arena *a, const char *const *from, int n)
{
    const char **to = arena_alloc(a, (size_t)(n + 1) * sizeof *to);
    for (int i = 0; i < n; i++)
        to[i] = arena_strdup(a, from[i]);
    return to;
}

static void copy_features(struct job_plan *to, const struct job_plan *from)
{
    size_t n = (size_t)from->ntables;
    const char **sparse_table = arena_alloc(&to->arena, (n + 1) * sizeof *sparse_table);
    for (size_t i = 0; i < n; i++) {
        const char *text = from->sparse_table ? from->sparse_table[i] : NULL;
        sparse_table[i] = text ? arena_strdup(&to->arena, text) : NULL;
    }
    to->sparse_table = sparse_table;
    int *shards = arena_alloc(&to->arena, (n + 1) * sizeof *shards);
    int *widths = arena_alloc(&to->arena, (n + 1) * sizeof *widths);
    bool *disk = arena_alloc(&to->arena, (n + 1) * sizeof *disk);
    for (size_t i = 0; i < n; i++) {
        disk[i] = from->disk && from->disk[i];
        shards[i] = from->shards ? from->shards[i] : 0;
        widths[i] = from->widths ? from->widths[i] : 0;
    }
    to->shards = shards;
    to->widths = widths;
    to->disk = disk;
}

static void copy_placement(struct job_plan *to, const struct job_plan *from)
{
    struct arena *a = &to->arena;
    struct skiff_placement *all = arena_alloc(a, (size_t)(from->nplacement + 1) * sizeof *all);
    for (int i = 0; i < from->nplacement; i++) {
        struct skiff_placement *s = &all[i];
        *s = from->placement[i];
        s->slice = arena_strdup(a, s->slice);
        s->origin = arena_strdup(a, s->origin);
        s->kind = arena_strdup(a, s->kind);
        s->dims = arena_memdup(a, s->dims, (size_t)s->ndim * sizeof *s->dims);
        s->endpoint = to->endpoints[s->server];
    }
    to->placement = all;
}

const struct job_plan *job_plan_create(const struct job_plan *from)
{
    struct job_plan *p = mem_alloc_or_die(sizeof *p);
    *p = *from;
    p->refs = 1;
    arena_init(&p->arena);
    p->endpoints = copy_texts(&p->arena, from->endpoints, from->servers);
    p->tables = copy_texts(&p->arena, from->tables, from->ntables);
    copy_features(p, from);
    copy_placement(p, from);
    p->hash = hash_of(p);
    return p;
}

const struct job_plan *job_plan_ref(const struct job_plan *p)
{
    /* the reference count is not part of the plan */
    struct job_plan *counted = (struct job_plan *)p;
    __atomic_add_fetch(&counted->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void job_plan_unref(const struct job_plan *p)
{
    struct job_plan *counted = (struct job_plan *)p;
    if (!p || __atomic_sub_fetch(&counted->refs, 1, __ATOMIC_ACQ_REL))
        return;
    arena_deinit(&counted->arena);
    free(counted);
}

/* ---- queries ---- */

int job_plan_server(const struct job_plan *p, const char *endpoint)
{
    for (int i = 0; i < p->servers; i++)
        if (!strcmp(p->endpoints[i], endpoint))
            return i;
    return -1;
}

bool job_plan_has_table(const struct job_plan *p, const char *name)
{
    for (int i = 0; i < p->ntables; i++)
        if (!strcmp(p->tables[i], name))
            return true;
    return false;
}

bool job_plan_has_features(const struct job_plan *p, const char *name)
{
    for (int i = 0; i < p->ntables; i++)
        if (p->sparse_table[i] && !strcmp(p->tables[i], name))
            return true;
    return false;
}

bool job_plan_has_disk(const struct job_plan *p, const char *table)
{
    for (int i = 0; i < p->ntables; i++)
        if (p->disk[i] && !strcmp(p->tables[i], table))
            return true;
    return false;
}

const struct skiff_placement *job_plan_slice(const struct job_plan *p, int server,
                                             const char *slice)
{
    for (int i = 0; i < p->nplacement; i++)
        if (p->placement[i].server == server && !strcmp(p->placement[i].slice, slice))
            return &p->placement[i];
    return NULL;
}

static int by_block(const void *a, const void *b)
{
    const struct skiff_placement *x = *(const struct skiff_placement *const *)a;
    const struct skiff_placement *y = *(const struct skiff_placement *const *)b;
    return (x->block > y->block) - (x->block < y->block);
}

const struct skiff_placement **job_plan_slices(const struct job_plan *p, const char *origin, int *n)
{
    const struct skiff_placement **found =
        mem_alloc_or_die((size_t)(p->nplacement + 1) * sizeof *found);
    *n = 0;
    for (int i = 0; i < p->nplacement; i++)
        if (!strcmp(p->placement[i].origin, origin) && (p->placement[i].is_slice || !*n))
            found[(*n)++] = &p->placement[i];
    qsort(found, (size_t)*n, sizeof *found, by_block);
    return found;
}

struct shape job_plan_whole(const struct job_plan *p, const struct skiff_placement *s)
{
    struct shape whole = placement_shape(s);
    if (!s->is_slice)
        return whole;
    whole.dims[0] = 0;
    for (int i = 0; i < p->nplacement; i++)
        if (p->placement[i].is_slice && !strcmp(p->placement[i].origin, s->origin))
            whole.dims[0] += p->placement[i].dims[0];
    return whole;
}
