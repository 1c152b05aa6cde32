/* The job of collective programs (include/skiff/collective.h): their first run opens the world and
 * compares the programs of all ranks; trainers meet before every step.
 *
 * Programs are compared once each: what is run between ranks must be the same everywhere, or they
 * would wait for each other with different calls. Programs without such ops (a test program that
 * only rank 0 runs) are nobody's business. */
#include <stdlib.h>
#include <string.h>

#include <skiff/collective.h>

#include "base/map.h"
#include "base/mem.h"
#include "collective/rings.h"
#include "executor/scope.h"
#include "fleet/role.h"
#include "passes/collective.h"
#include "passes/merge_grad.h"
#include "program/job.h"
#include "program/program.h"

enum { SEEN_MOST = 8 };

struct collective_job {
    struct job base;
    struct skiff_world_options world; /* endpoints and secret_file are ours */
    bool loss_is_sum;
    struct skiff_program *idle; /* what a rank without rows runs; NULL: not by rows */
    struct seen {               /* programs that were compared */
        struct program_mark *mark;
        uint64_t version;
    } seen[SEEN_MOST];
    int nseen;
};

static struct collective_job *of(struct job *j)
{
    return (struct collective_job *)j;
}

/* ---- comparing ---- */

struct outline { /* what ranks tell each other of a program */
    uint64_t hash, numbers;
    int64_t blocks, ops;
};

static struct outline outline_of(const struct skiff_program *p, const struct buf *numbers)
{
    struct outline o = {.hash = collective_hash(p), .blocks = p->nblocks};
    o.numbers = hash_bytes(numbers->data, numbers->len);
    for (int i = 0; i < p->nblocks; i++)
        o.ops += p->blocks[i]->nops;
    return o;
}

static enum skiff_status other_program(const struct outline *all, int i, int rank, int n,
                                       struct skiff_error *err)
{
    return error_set(err, SKIFF_STATE,
                     "rank %d has another program than rank 0: %lld ops in %lld blocks, "
                     "not %lld in %lld%s; all ranks must build and run the same network "
                     "in the same order (this is rank %d of %d)",
                     i, (long long)all[i].ops, (long long)all[i].blocks, (long long)all[0].ops,
                     (long long)all[0].blocks,
                     all[i].ops == all[0].ops ? ", with other ops or names" : "", rank, n);
}

/* The first line in which two texts differ. */
static void first_difference(const char **a, size_t *na, const char **b, size_t *nb)
{
    size_t line = 0, i = 0;
    for (; i < *na && i < *nb && (*a)[i] == (*b)[i]; i++)
        line = (*a)[i] == '\n' ? i + 1 : line;
    const char *ea = memchr(*a + line, '\n', *na - line), *eb = memchr(*b + line, '\n', *nb - line);
    *na = ea ? (size_t)(ea - *a) - line : *na - line;
    *nb = eb ? (size_t)(eb - *b) - line : *nb - line;
    *a += line;
    *b += line;
}

/* All ranks have seen that numbers of rank i differ: they tell each other which. */
static enum skiff_status other_numbers(struct collective *world, const struct buf *mine, int i,
                                       struct skiff_error *err)
{
    void *all;
    size_t *sizes = mem_alloc_or_die((size_t)collective_size(world) * sizeof *sizes), at = 0;
    enum skiff_status status =
        collective_all_gather_any(world, mine->data, mine->len, &all, sizes, err);
    if (status < 0) {
        free(sizes);
        return status;
    }
    for (int r = 0; r < i; r++)
        at += sizes[r];
    const char *a = all, *b = (const char *)all + at;
    first_difference(&a, &sizes[0], &b, &sizes[i]);
    error_set(err, SKIFF_STATE,
              "rank %d trains with other numbers than rank 0: %.*s, not %.*s; parameters would "
              "become different ones, so all ranks must have the same (this is rank %d of %d)",
              i, (int)sizes[i], b, (int)sizes[0], a, collective_rank(world),
              collective_size(world));
    mem_free(all);
    free(sizes);
    return SKIFF_STATE;
}

static enum skiff_status compare(struct collective *world, const struct skiff_program *p,
                                 struct skiff_error *err)
{
    int n = collective_size(world), rank = collective_rank(world);
    struct buf numbers = BUF_INIT;
    collective_numbers(p, &numbers);
    struct outline mine = outline_of(p, &numbers), *all = mem_alloc_or_die((size_t)n * sizeof *all);
    enum skiff_status status = collective_all_gather(world, &mine, sizeof mine, all, err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        if (all[i].hash != all[0].hash)
            status = other_program(all, i, rank, n, err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        if (all[i].numbers != all[0].numbers)
            status = other_numbers(world, &numbers, i, err);
    free(all);
    buf_deinit(&numbers);
    return status;
}

static bool was_seen(const struct collective_job *c, const struct skiff_program *p)
{
    for (int i = 0; i < c->nseen; i++)
        if (c->seen[i].mark == p->mark && c->seen[i].version == p->version)
            return true;
    return false;
}

static void see(struct collective_job *c, const struct skiff_program *p)
{
    int at = c->nseen < SEEN_MOST ? c->nseen++ : 0;
    program_mark_unref(c->seen[at].mark);
    c->seen[at] = (struct seen){program_mark_ref(p->mark), p->version};
}

static enum skiff_status begin(struct job *j, const struct skiff_program *p,
                               struct skiff_scope *scope, bool *done, struct skiff_error *err)
{
    struct collective_job *c = of(j);
    struct collective *world;
    (void)scope;
    (void)done;
    if (was_seen(c, p))
        return SKIFF_OK;
    if (!skiff_world_is_open())
        TRY(skiff_world_open(&c->world, err));
    TRY(rings_need(0, "the program", &world, err));
    if (collective_in(p) && collective_size(world) > 1)
        TRY(compare(world, p, err));
    see(c, p);
    return SKIFF_OK;
}

/* ---- steps ---- */

static enum skiff_status step(struct job *j, const struct skiff_program *p, struct job_step *s,
                              struct skiff_error *err)
{
    struct collective_job *c = of(j);
    struct collective *world;
    int64_t all[2] = {s->rows, s->stop};
    (void)p;
    if (!c->idle) /* as many steps as it has batches: others name a rank that ends before them */
        return s->rows && !s->stop ? SKIFF_OK : SKIFF_END;
    TRY(rings_need(0, "a step", &world, err));
    enum skiff_status status =
        collective_all_reduce(world, all, 2, DTYPE_INT64, COLLECTIVE_SUM, err);
    if (status < 0)
        return error_prefix(err, status, "before a step, rank %d of %d", collective_rank(world),
                            collective_size(world));
    s->stop = all[1] > 0;
    if (s->stop || !all[0])
        return SKIFF_END;
    if (!s->rows)
        s->idle = c->idle;
    s->weight = c->loss_is_sum ? 1.0f / (float)collective_size(world)
                               : (float)((double)s->rows / (double)all[0]);
    return SKIFF_OK;
}

static void destroy(struct job *j)
{
    struct collective_job *c = of(j);
    for (int i = 0; i < c->nseen; i++)
        program_mark_unref(c->seen[i].mark);
    for (int i = 0; c->world.endpoints && i < c->world.size; i++)
        free((char *)c->world.endpoints[i]);
    free((void *)c->world.endpoints);
    free((char *)c->world.secret_file);
    program_destroy(c->idle);
    free(c);
}

static const struct job_class collective_job_class = {
    .begin = begin, .step = step, .destroy = destroy};

static struct collective_job *job_create(const struct skiff_world_options *world)
{
    struct collective_job *c = mem_alloc_or_die(sizeof *c);
    c->base = (struct job){.class = &collective_job_class, .refs = 1};
    if (!world)
        return c;
    c->world = *world;
    c->world.endpoints = NULL;
    c->world.secret_file = world->secret_file ? mem_strdup_or_die(world->secret_file) : NULL;
    c->world.engine = NULL; /* the environment's */
    if (world->endpoints) {
        char **copy = mem_alloc_or_die((size_t)(world->size + 1) * sizeof *copy);
        for (int i = 0; i < world->size; i++)
            copy[i] = mem_strdup_or_die(world->endpoints[i]);
        c->world.endpoints = (const char *const *)copy;
    }
    return c;
}

/* ---- public names ---- */

static void read_ranks(const struct skiff_collective_options *o, struct collective_pass *out)
{
    bool given = o->world && o->world->endpoints && !skiff_world_is_open();
    *out = (struct collective_pass){.nranks = given ? o->world->size : skiff_world_size(),
                                    .rank = given ? o->world->rank : skiff_world_rank(),
                                    .endpoints = given ? o->world->endpoints : NULL,
                                    .sync_batch_norm = o->sync_batch_norm,
                                    .by_rows = o->by_rows,
                                    .local_steps = o->local_steps,
                                    .local_begin = o->local_begin};
}

static const struct skiff_collective_options nothing;

static enum skiff_status check_options(const struct skiff_collective_options *o,
                                       const struct skiff_program *main, bool startup,
                                       struct skiff_error *err)
{
    TRY(reserved_check(o->reserved, "skiff_collective_options", err));
    if (o->by_rows && o->sync_batch_norm)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "collective: by_rows and sync_batch_norm exclude each other: a rank "
                         "without rows has no statistics to give");
    if (o->local_steps < 0 || o->local_begin < 0)
        return error_set(err, SKIFF_RANGE,
                         "local SGD: %d steps between means, all of the first %d; neither may be "
                         "negative",
                         o->local_steps, o->local_begin);
    if (o->local_steps && !startup)
        return error_set(err, SKIFF_UNSUPPORTED, "local SGD: needs the startup program");
    if (o->local_steps && merge_grad_block(main))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "local SGD and gradient merge exclude each other; leave one of them out");
    return SKIFF_OK;
}

enum skiff_status skiff_collective_transpile(struct skiff_program *main,
                                             struct skiff_program *startup,
                                             const struct skiff_collective_options *o,
                                             struct skiff_error *err)
{
    struct collective_pass pass;
    o = o ? o : &nothing;
    TRY(check_options(o, main, startup != NULL, err));
    read_ranks(o, &pass);
    if (pass.nranks == 1)
        return SKIFF_OK;
    TRY(collective_transpile(main, startup, &pass, err));
    struct collective_job *c = job_create(o->world);
    enum skiff_status status = SKIFF_OK;
    c->loss_is_sum = o->loss_is_sum;
    program_set_job(main, &c->base);
    if (startup)
        program_set_job(startup, &c->base);
    if (o->by_rows) /* without a job: it would hold itself */
        status = collective_idle(main, &c->idle, err);
    if (c->idle)
        program_set_job(c->idle, NULL);
    job_unref(&c->base);
    return status;
}

enum skiff_status skiff_collective_gen(struct skiff_program *startup,
                                       const struct skiff_collective_options *o,
                                       struct skiff_error *err)
{
    struct collective_pass pass;
    o = o ? o : &nothing;
    TRY(reserved_check(o->reserved, "skiff_collective_options", err));
    read_ranks(o, &pass);
    collective_gen(startup, &pass);
    struct collective_job *c = job_create(o->world);
    program_set_job(startup, &c->base);
    job_unref(&c->base);
    return SKIFF_OK;
}

enum skiff_status skiff_collective_spread(const struct skiff_program *main,
                                          struct skiff_scope *scope, struct skiff_error *err)
{
    struct collective *world;
    const struct str_map *vars = &program_root(main)->vars;
    if (!skiff_world_is_open())
        TRY(skiff_world_open(NULL, err));
    TRY(rings_need(0, "parameters of rank 0", &world, err));
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        struct skiff_tensor *value = scope_find(scope, v->name);
        if (!(v->param || v->is_parameter == PRESENCE_TRUE) || !value ||
            value->kind != VALUE_TENSOR)
            continue;
        value_flush(value);
        enum skiff_status status =
            collective_broadcast(world, value->tensor.data, tensor_bytes(&value->tensor), 0, err);
        if (status < 0)
            return error_prefix(err, status, "parameter %s of rank 0, for rank %d of %d", v->name,
                                collective_rank(world), collective_size(world));
    }
    return SKIFF_OK;
}
