/* From a server's plan to parameter slices. In a copy of the server program the blocks are prepared
 * to run by themselves:
 *   - every variable of block 0 lives in the scope;
 *   - the merge at the head of a block is removed: apply.c merges the pushes of the trainers
 *     that are present;
 *   - the op that fills DC-ASGD's base is removed: the base is set before the block is run;
 *   - a distributed table (SelectedRows in the program) becomes a window on a table of records
 *     (hashed.c). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/hashed.h"
#include "server/quiesce.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"

bool slice_owns(const struct server *s, const struct param_slice *u, int64_t id)
{
    if (u->sparse_table)
        return sparse_owns(u->sparse_table, id);
    return (uint64_t)id % (uint64_t)s->plan->servers == (uint64_t)s->index;
}

struct server_shard *slice_shard(struct server *s, const struct param_slice *u)
{
    return &s->shards[u->shard];
}

/* ---- blocks ---- */

/* The variable that DC-ASGD compares with: block 0 has it, and no op fills it. */
static void strip_base(struct skiff_block *b, const char *base)
{
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_writes(b->ops[i], base))
            block_remove_ops(b, i, 1);
    const struct skiff_var *v = block_own_var(b, base);
    if (!v)
        return;
    struct skiff_var *root = block_add_var(program_root(b->program), base);
    root->dtype = v->dtype;
    root->has_tensor = true;
    root->shape = v->shape;
    root->persistable = PRESENCE_TRUE;
    block_remove_var(b, base);
}

static enum skiff_status plan_block_of(struct server *s, int block, bool part,
                                       const struct row_home *home, struct plan **out,
                                       struct skiff_error *err)
{
    struct plan_options options = {.borrow = true,
                                   .defer_rows = true,
                                   .empty_is_step = part,
                                   .home = home,
                                   .block = block,
                                   .generator = &s->generator};
    enum skiff_status status =
        plan_create(s->program, s->scope, &options, NULL, 0, NULL, 0, out, err);
    if (status < 0)
        return error_prefix(err, status, "server program");
    return SKIFF_OK;
}

/* ---- one slice ---- */

static void record_names(struct server *s, struct param_slice *u, const struct plan_slice *w)
{
    for (int i = 0; i < w->pushed.n; i++)
        if (!str_map_has(&s->by_grad, w->pushed.v[i]))
            str_map_put(&s->by_grad, w->pushed.v[i], u);
    for (int i = 0; i < w->vars.n; i++)
        if (!str_map_has(&s->by_var, w->vars.v[i]))
            str_map_put(&s->by_var, w->vars.v[i], u);
    for (int i = 0; i < w->backups.n; i++)
        str_map_put(&s->elsewhere, w->backups.v[i], u);
    for (int i = 0; i < w->rows.n; i++)
        str_map_put(&s->elsewhere, w->rows.v[i], u);
}

static void set_up_table(struct server *s, struct param_slice *u, const struct plan_slice *w)
{
    u->vars = mem_alloc_or_die((size_t)(w->rows.n + 1) * sizeof *u->vars);
    u->nvars = w->rows.n;
    for (int i = 0, next = 1; i < w->rows.n; i++) {
        const char *name = w->rows.v[i];
        block_own_var(program_root(s->program), name)->kind = VAR_LOD_TENSOR;
        u->vars[strcmp(name, u->param) ? next++ : 0] =
            (struct row_var){.name = name, .value = scope_var(s->scope, name)};
    }
    u->shape.dims[0] = -1;
    u->delta = w->delta;
    u->news = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *u->news);
    for (int t = 0; t < s->plan->trainers; t++)
        id_map_init(&u->news[t].map);
}

static enum skiff_status check_param(const struct plan_slice *w, const struct skiff_var *v,
                                     struct skiff_error *err)
{
    if (!v || v->dtype != DTYPE_FP32 || v->shape.ndim < 1 || shape_numel(&v->shape) < 1)
        return error_set(err, SKIFF_INVALID,
                         "server program: parameter %s of gradient %s must be a float32 variable "
                         "with a known shape",
                         w->param, w->grad);
    return SKIFF_OK;
}

static enum skiff_status set_up_update(struct server *s, struct param_slice *u,
                                       const struct plan_slice *w, struct skiff_block *b,
                                       struct skiff_error *err)
{
    block_remove_ops(b, 0, w->merge_ops);
    if (w->base) {
        strip_base(b, w->base);
        u->base_value = scope_var(s->scope, w->base);
    }
    u->compensate = w->compensate;
    if (w->keyed) {
        set_up_table(s, u, w);
        hashed_find_home(u, b);
    }
    bool part = w->keyed || (w->placed && w->placed->is_slice);
    return plan_block_of(s, b->idx, part, u->home.each ? &u->home : NULL, &u->plan, err);
}

static enum skiff_status set_up_block(struct server *s, struct param_slice *u,
                                      const struct plan_slice *w, struct skiff_error *err)
{
    struct skiff_block *b = s->program->blocks[w->block];
    const struct skiff_var *param = block_find_var(b, w->param);
    TRY(check_param(w, param, err));
    u->shape = param->shape;
    u->width = u->pushed = shape_cols(&u->shape, 1);
    u->sparse = w->sparse;
    u->add = mode_adds(s->plan->mode);
    if (u->add && w->keyed)
        set_up_table(s, u, w);
    return u->add ? SKIFF_OK : set_up_update(s, u, w, b, err);
}

static enum skiff_status set_up_sparse(struct server *s, struct param_slice *u,
                                       const struct plan_slice *w, struct skiff_error *err)
{
    TRY(sparse_create(w->param, w->sparse_table, &s->sparse_host, &u->sparse_table, err));
    u->width = u->sparse_table->config.dim;
    u->pushed = u->sparse_table->accessor.pushed;
    u->shape = SHAPE(-1, u->width);
    u->sparse = true;
    return SKIFF_OK;
}

static enum skiff_status slice_set_up(struct server *s, struct param_slice *u,
                                      const struct plan_slice *w, struct skiff_error *err)
{
    u->param = w->param;
    u->grad = w->grad;
    u->block = w->block;
    u->param_value = scope_var(s->scope, u->param);
    u->grad_value = scope_var(s->scope, u->grad);
    u->backups = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *u->backups);
    u->changed = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *u->changed);
    record_names(s, u, w);
    return w->sparse_table ? set_up_sparse(s, u, w, err) : set_up_block(s, u, w, err);
}

/* ---- all slices ---- */

/* A parameter and its gradient must fall to one shard. If names do not allow that, the server uses
 * one shard, which trainers learn from DESCRIBE. */
static void deal_out(struct server *s)
{
    int n = s->options.shards > 0 ? s->options.shards : 1;
    for (int i = 0; i < s->nslices && n > 1; i++)
        if (ps_shard(s->slices[i].param, n) != ps_shard(s->slices[i].grad, n)) {
            server_log(s, "one shard instead of %d: %s and its gradient %s would fall to two", n,
                       s->slices[i].param, s->slices[i].grad);
            n = 1;
        }
    s->nshards = n;
    s->shards = mem_alloc_or_die((size_t)n * sizeof *s->shards);
    for (int i = 0; i < n; i++) {
        struct server_shard *h = &s->shards[i];
        pthread_mutex_init(&h->lock, NULL);
        id_map_init(&h->map);
        h->server = s;
        h->index = i;
        h->slices = mem_alloc_or_die((size_t)(s->nslices + 1) * sizeof(struct param_slice *));
        h->ended = mem_alloc_or_die((size_t)s->plan->trainers);
        h->gone = mem_alloc_or_die((size_t)s->plan->trainers);
        h->incarnations = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *h->incarnations);
        h->done = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *h->done);
        h->heard = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *h->heard);
        h->quiesce = shard_quiesce_create(s->plan->trainers);
        h->deferred_replies =
            mem_alloc_or_die((size_t)s->plan->trainers * sizeof *h->deferred_replies);
    }
    for (int i = 0; i < s->nslices; i++) {
        struct param_slice *u = &s->slices[i];
        u->shard = ps_shard(u->param, n);
        s->shards[u->shard].slices[s->shards[u->shard].nslices++] = u;
        if (u->sparse_table)
            u->sparse_table->lock = &s->shards[u->shard].lock;
    }
}

/* Sparse tables without a limit of their own share the server's memory for tables. */
static void describe_host(struct server *s)
{
    struct sparse_host *host = &s->sparse_host;
    size_t n = 0;
    for (int i = 0; i < s->plan->ntables; i++)
        n += s->plan->sparse_table[i] != NULL;
    host->server = s->index;
    host->servers = s->plan->servers;
    host->metrics = s->metrics;
    host->memory = n ? s->options.table_memory / n : 0;
    server_text(s, host->name);
}

enum skiff_status slices_create(struct server *s, struct skiff_error *err)
{
    const struct server_plan *plan = s->options.plan;
    describe_host(s);
    s->program = program_clone(s->options.main);
    struct skiff_block *root = program_root(s->program);
    for (size_t i = 0; i < root->vars.count; i++) {
        struct skiff_var *v = root->vars.entries[i].value;
        v->persistable = PRESENCE_TRUE;
    }
    s->slices = mem_alloc_or_die((size_t)(plan->nslices + 1) * sizeof *s->slices);
    for (int i = 0; i < plan->nslices; i++)
        TRY(slice_set_up(s, &s->slices[s->nslices++], &plan->slices[i], err));
    for (int i = 0; i < plan->counters.n; i++)
        str_map_put(&s->counters_in, plan->counters.v[i], scope_var(s->scope, plan->counters.v[i]));
    if (plan->rate_block > 0)
        TRY(plan_block_of(s, plan->rate_block, false, NULL, &s->rate_plan, err));
    deal_out(s);
    return SKIFF_OK;
}

static void slice_destroy(struct server *s, struct param_slice *u)
{
    slice_forget(u, -1);
    free(u->pushes);
    plan_destroy(u->plan);
    sparse_destroy(u->sparse_table);
    hashed_destroy(u, s->plan->trainers);
    for (int t = 0; t < s->plan->trainers; t++) {
        if (u->backups)
            mem_free(u->backups[t]);
        if (u->changed)
            changed_deinit(&u->changed[t]);
    }
    if (u->base_value) /* it points into a backup */
        u->base_value->tensor = (struct tensor){0};
    free(u->backups);
    free(u->changed);
    free(u->vars);
}

void slices_destroy(struct server *s)
{
    for (int i = 0; i < s->nslices; i++)
        slice_destroy(s, &s->slices[i]);
    for (int i = 0; i < s->nshards; i++) {
        struct server_shard *h = &s->shards[i];
        pthread_mutex_destroy(&h->lock);
        id_map_deinit(&h->map);
        free(h->slices);
        free(h->ended);
        free(h->done);
        free(h->heard);
        free(h->waiting);
        free(h->gone);
        free(h->incarnations);
        free(h->deferred_replies);
        shard_quiesce_destroy(h->quiesce);
        mem_free(h->rows);
        free(h->pieces);
    }
    free(s->shards);
    free(s->slices);
    plan_destroy(s->rate_plan);
    program_destroy(s->program);
}
