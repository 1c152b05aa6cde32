/* Executor: finds or makes the plan for a run.
 *
 * A plan belongs to one program in one state (id and version, which every change of the program
 * counts up), one list of feeds with their batch sizes, and one list of fetches. Looking is a walk
 * over at most MAX_PLANS entries that compares numbers first: most loops use one or two. The
 * address of a program would not do as its id, because another one may come to lie there; and a
 * plan keeps nothing of its program, so that programs may go or change at any time. Plans whose
 * program has gone or changed are given back when the next one is made.
 *
 * Batch size is part of the key so that a short last batch does not disturb the slab of the full
 * ones; the lengths of ragged feeds are not, because they are different in every batch. */
#include "executor/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread_pool.h"
#include "executor/plan.h"
#include "program/job.h"

#define MAX_PLANS 32 /* the least recently used plan is evicted */

struct cached_plan {
    struct plan *plan;
    uint64_t program, version; /* id and version of the program it was made from */
    struct program_mark *mark;
    struct arena names;
    const char **feeds, **fetches;
    int64_t *batch; /* per feed: rows, or sequences of the topmost level */
    int nfeeds, nfetches;
    uint64_t last_used;
};

struct skiff_executor {
    struct skiff_scope *scope;
    struct executor_options given;
    struct plan_options options;
    struct metrics *own_metrics; /* NULL: they are the owner's */
    struct mt64 generator;
    struct cached_plan plans[MAX_PLANS];
    int nplans;
    uint64_t clock;
};

struct skiff_executor *executor_create(struct skiff_scope *scope,
                                       const struct executor_options *options)
{
    struct skiff_executor *e = mem_alloc_or_die(sizeof(*e));
    e->scope = scope;
    e->given = *options;
    e->options.fuse = !options->no_fuse;
    e->options.is_test = options->is_test;
    e->options.profile = options->profile;
    e->options.part_of = options->part_of;
    e->options.part_user = options->part_user;
    e->options.host = options->host;
    e->options.generator = &e->generator;
    if (!e->given.metrics)
        e->given.metrics = e->own_metrics = metrics_create(NULL, 0);
    if (e->options.profile)
        e->options.update = metrics_get(e->given.metrics, METRIC_STEP_SECONDS, "update");
    mt64_seed_seq(&e->generator, options->has_seed ? options->seed : rng_entropy());
    return e;
}

struct skiff_scope *executor_settings(const struct skiff_executor *e, struct executor_options *out)
{
    *out = e->given;
    return e->scope;
}

static void cached_deinit(struct cached_plan *c)
{
    plan_destroy(c->plan);
    program_mark_unref(c->mark);
    arena_deinit(&c->names);
    *c = (struct cached_plan){0};
}

void executor_destroy(struct skiff_executor *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->nplans; i++)
        cached_deinit(&e->plans[i]);
    metrics_destroy(e->own_metrics);
    free(e);
}

static void drop_at(struct skiff_executor *e, int i)
{
    cached_deinit(&e->plans[i]);
    e->plans[i] = e->plans[--e->nplans];
}

void executor_forget(struct skiff_executor *e, const struct skiff_program *p)
{
    p = program_to_run(p);
    for (int i = e->nplans - 1; i >= 0; i--)
        if (e->plans[i].program == p->id)
            drop_at(e, i);
}

/* Plans that can never be found again: their program was destroyed, or is about to get a plan of
 * its newer version. */
static void drop_stale(struct skiff_executor *e, const struct skiff_program *p)
{
    for (int i = e->nplans - 1; i >= 0; i--) {
        const struct cached_plan *c = &e->plans[i];
        if (program_mark_gone(c->mark) || (c->program == p->id && c->version != p->version))
            drop_at(e, i);
    }
}

static int64_t batch_of(const struct tensor *t)
{
    if (t->lod && t->lod->nlevels)
        return t->lod->level[0].n - 1;
    return t->shape.ndim ? t->shape.dims[0] : 1;
}

static bool serves(const struct cached_plan *c, const struct skiff_program *p,
                   const struct feed *feeds, int nfeeds, const char *const *fetches, int nfetches)
{
    if (c->program != p->id || c->version != p->version || c->nfeeds != nfeeds ||
        c->nfetches != nfetches)
        return false;
    for (int i = 0; i < nfeeds; i++)
        if (c->batch[i] != batch_of(feeds[i].tensor) || strcmp(c->feeds[i], feeds[i].name))
            return false;
    for (int i = 0; i < nfetches; i++)
        if (strcmp(c->fetches[i], fetches[i]))
            return false;
    return true;
}

static struct cached_plan *free_slot(struct skiff_executor *e)
{
    if (e->nplans < MAX_PLANS)
        return &e->plans[e->nplans++];
    struct cached_plan *oldest = &e->plans[0];
    for (int i = 1; i < MAX_PLANS; i++)
        if (e->plans[i].last_used < oldest->last_used)
            oldest = &e->plans[i];
    cached_deinit(oldest);
    return oldest;
}

static enum skiff_status make_plan(struct skiff_executor *e, const struct skiff_program *p,
                                   const struct feed *feeds, int nfeeds, const char *const *fetches,
                                   int nfetches, struct cached_plan **out, struct skiff_error *err)
{
    struct cached_plan c = {
        .program = p->id, .version = p->version, .nfeeds = nfeeds, .nfetches = nfetches};
    drop_stale(e, p);
    arena_init(&c.names);
    c.feeds = arena_alloc(&c.names, (size_t)(nfeeds + 1) * sizeof(*c.feeds));
    c.batch = arena_alloc(&c.names, (size_t)(nfeeds + 1) * sizeof(*c.batch));
    c.fetches = arena_alloc(&c.names, (size_t)(nfetches + 1) * sizeof(*c.fetches));
    for (int i = 0; i < nfeeds; i++) {
        c.feeds[i] = arena_strdup(&c.names, feeds[i].name);
        c.batch[i] = batch_of(feeds[i].tensor);
    }
    for (int i = 0; i < nfetches; i++)
        c.fetches[i] = arena_strdup(&c.names, fetches[i]);
    enum skiff_status status =
        plan_create(p, e->scope, &e->options, c.feeds, nfeeds, c.fetches, nfetches, &c.plan, err);
    if (status < 0) {
        arena_deinit(&c.names);
        return status;
    }
    metric_add(metrics_get(e->given.metrics, METRIC_EXECUTOR_PLANS), 1);
    c.mark = program_mark_ref(p->mark);
    *out = free_slot(e);
    **out = c;
    return SKIFF_OK;
}

static struct cached_plan *find_plan(struct skiff_executor *e, const struct skiff_program *p,
                                     const struct feed *feeds, int nfeeds,
                                     const char *const *fetches, int nfetches)
{
    for (int i = 0; i < e->nplans; i++)
        if (serves(&e->plans[i], p, feeds, nfeeds, fetches, nfetches))
            return &e->plans[i];
    return NULL;
}

static enum skiff_status nothing_to_fetch(const char *name, struct skiff_error *err)
{
    return error_set(
        err, SKIFF_UNSUPPORTED,
        "fetched variable %s: the program of a parameter server has no values to fetch", name);
}

enum skiff_status executor_run(struct skiff_executor *e, const struct skiff_program *p,
                               const struct feed *feeds, int nfeeds, const char *const *fetches,
                               int nfetches, struct skiff_tensor *out, struct skiff_error *err)
{
    bool done;
    p = program_to_run(p);
    TRY(job_begin(p, e->scope, &done, err));
    if (done)
        return nfetches ? nothing_to_fetch(fetches[0], err) : SKIFF_OK;
    struct cached_plan *c = find_plan(e, p, feeds, nfeeds, fetches, nfetches);
    if (!c)
        TRY(make_plan(e, p, feeds, nfeeds, fetches, nfetches, &c, err));
    c->last_used = c->plan->env.run = ++e->clock;
    struct skiff_thread_pool *before = thread_pool_use(e->given.thread_pool);
    enum skiff_status status = plan_run(c->plan, feeds, out, err);
    thread_pool_use(before);
    return status;
}

void executor_prefetch(struct skiff_executor *e, const struct skiff_program *p,
                       const struct feed *feeds, int nfeeds, const char *const *fetches,
                       int nfetches)
{
    struct cached_plan *c = find_plan(e, program_to_run(p), feeds, nfeeds, fetches, nfetches);
    if (c)
        plan_prefetch(c->plan, e->clock + 2, feeds);
}

static void profile_add(struct profile *out, const struct plan_block *b)
{
    for (int i = 0; i < b->nsteps; i++) {
        const struct step *s = &b->steps[i];
        int at = i < out->count && out->steps[i].type == s->kernel.kind->type ? i : out->count;
        if (at == out->count) {
            size_t bytes = (size_t)++out->count * sizeof(*out->steps);
            out->steps = mem_grow_or_die(out->steps, bytes);
            out->steps[at] =
                (struct profile_step){.type = s->kernel.kind->type, .update = s->is_update};
        }
        out->steps[at].calls += s->calls;
        out->steps[at].seconds += 1e-9 * (double)s->nanoseconds;
    }
}

void executor_profile(const struct skiff_executor *e, const struct skiff_program *p,
                      struct profile *out)
{
    *out = (struct profile){0};
    p = program_to_run(p);
    for (int i = 0; i < e->nplans; i++)
        if (e->plans[i].program == p->id)
            profile_add(out, &e->plans[i].plan->blocks[0]);
}
