/* From a server's plan to units. In a copy of the server program the blocks are made ready to be
 * run by themselves:
 *   - every variable of block 0 lives in the scope;
 *   - the merge at the head of a block goes: apply.c merges what has come, for those trainers that
 *     are there;
 *   - the op that fills DC-ASGD's base goes: it is set before the block is run;
 *   - a distributed table (SelectedRows in the program) becomes a window on a table of records
 *     (keyed.c). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/server_parts.h"

struct unit *unit_of_grad(const struct server *s, const char *name)
{
    return str_map_get(&s->by_grad, name);
}

bool unit_owns(const struct server *s, const struct unit *u, int64_t id)
{
    if (u->features)
        return features_owns(s, u, id);
    return (uint64_t)id % (uint64_t)s->plan->servers == (uint64_t)s->index;
}

struct shard *unit_shard(struct server *s, const struct unit *u)
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
    root->persistable = IS_TRUE;
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

/* ---- one unit ---- */

static void note_names(struct server *s, struct unit *u, const struct plan_unit *w)
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

static void set_up_table(struct server *s, struct unit *u, const struct plan_unit *w)
{
    u->vars = mem_must((size_t)(w->rows.n + 1) * sizeof *u->vars);
    u->nvars = w->rows.n;
    for (int i = 0, next = 1; i < w->rows.n; i++) {
        const char *name = w->rows.v[i];
        block_own_var(program_root(s->program), name)->kind = VAR_LOD_TENSOR;
        u->vars[strcmp(name, u->param) ? next++ : 0] =
            (struct row_var){.name = name, .value = scope_var(s->scope, name)};
    }
    u->shape.dims[0] = -1;
    u->delta = w->delta;
    u->news = mem_must((size_t)s->plan->trainers * sizeof *u->news);
    for (int t = 0; t < s->plan->trainers; t++)
        id_map_init(&u->news[t].map);
}

static enum skiff_status check_param(const struct plan_unit *w, const struct skiff_var *v,
                                     struct skiff_error *err)
{
    if (!v || v->dtype != DTYPE_FP32 || v->shape.ndim < 1 || shape_numel(&v->shape) < 1)
        return error_set(err, SKIFF_INVALID,
                         "server program: parameter %s of gradient %s must be a float32 variable "
                         "with a known shape",
                         w->param, w->grad);
    return SKIFF_OK;
}

static enum skiff_status set_up_update(struct server *s, struct unit *u, const struct plan_unit *w,
                                       struct skiff_block *b, struct skiff_error *err)
{
    block_remove_ops(b, 0, w->merge_ops);
    if (w->base) {
        strip_base(b, w->base);
        u->base_value = scope_var(s->scope, w->base);
    }
    u->compensate = w->compensate;
    if (w->keyed) {
        set_up_table(s, u, w);
        keyed_find_home(u, b);
    }
    bool part = w->keyed || (w->placed && w->placed->is_slice);
    return plan_block_of(s, b->idx, part, u->home.each ? &u->home : NULL, &u->plan, err);
}

static enum skiff_status set_up_block(struct server *s, struct unit *u, const struct plan_unit *w,
                                      struct skiff_error *err)
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

static enum skiff_status unit_set_up(struct server *s, struct unit *u, const struct plan_unit *w,
                                     struct skiff_error *err)
{
    u->param = w->param;
    u->grad = w->grad;
    u->block = w->block;
    u->param_value = scope_var(s->scope, u->param);
    u->grad_value = scope_var(s->scope, u->grad);
    u->backups = mem_must((size_t)s->plan->trainers * sizeof *u->backups);
    u->changed = mem_must((size_t)s->plan->trainers * sizeof *u->changed);
    note_names(s, u, w);
    return w->features ? features_create(s, u, w->features, err) : set_up_block(s, u, w, err);
}

/* ---- all ---- */

/* A parameter and its gradient must fall to one shard; names that do not allow it leave us with one
 * shard, which trainers learn from DESCRIBE. */
static void deal_out(struct server *s)
{
    int n = s->options.shards > 0 ? s->options.shards : 1;
    for (int i = 0; i < s->nunits && n > 1; i++)
        if (ps_shard(s->units[i].param, n) != ps_shard(s->units[i].grad, n)) {
            server_say(s, "one shard instead of %d: %s and its gradient %s would fall to two", n,
                       s->units[i].param, s->units[i].grad);
            n = 1;
        }
    s->nshards = n;
    s->shards = mem_must((size_t)n * sizeof *s->shards);
    for (int i = 0; i < n; i++) {
        struct shard *h = &s->shards[i];
        pthread_mutex_init(&h->lock, NULL);
        id_map_init(&h->map);
        h->server = s;
        h->index = i;
        h->units = mem_must((size_t)(s->nunits + 1) * sizeof(struct unit *));
        h->ended = mem_must((size_t)s->plan->trainers);
        h->gone = mem_must((size_t)s->plan->trainers);
        h->lives = mem_must((size_t)s->plan->trainers * sizeof *h->lives);
        h->done = mem_must((size_t)s->plan->trainers * sizeof *h->done);
        h->heard = mem_must((size_t)s->plan->trainers * sizeof *h->heard);
        h->hold = shard_hold_create(s->plan->trainers);
        h->parked = mem_must((size_t)s->plan->trainers * sizeof *h->parked);
    }
    for (int i = 0; i < s->nunits; i++) {
        struct unit *u = &s->units[i];
        u->shard = ps_shard(u->param, n);
        s->shards[u->shard].units[s->shards[u->shard].nunits++] = u;
    }
}

enum skiff_status units_create(struct server *s, struct skiff_error *err)
{
    const struct server_plan *plan = s->options.plan;
    s->program = program_clone(s->options.main);
    struct skiff_block *root = program_root(s->program);
    for (size_t i = 0; i < root->vars.count; i++) {
        struct skiff_var *v = root->vars.entries[i].value;
        v->persistable = IS_TRUE;
    }
    s->units = mem_must((size_t)(plan->nunits + 1) * sizeof *s->units);
    for (int i = 0; i < plan->nunits; i++)
        TRY(unit_set_up(s, &s->units[s->nunits++], &plan->units[i], err));
    for (int i = 0; i < plan->counters.n; i++)
        str_map_put(&s->counters_in, plan->counters.v[i], scope_var(s->scope, plan->counters.v[i]));
    if (plan->rate_block > 0)
        TRY(plan_block_of(s, plan->rate_block, false, NULL, &s->rate_plan, err));
    deal_out(s);
    return SKIFF_OK;
}

static void unit_destroy(struct server *s, struct unit *u)
{
    unit_forget(u, -1);
    free(u->pushes);
    plan_destroy(u->plan);
    bool in_own_folder = features_in_own_folder(u);
    features_destroy(u);
    keyed_destroy(u, s->plan->trainers);
    if (in_own_folder)
        features_leave_own_folder();
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

void units_destroy(struct server *s)
{
    for (int i = 0; i < s->nunits; i++)
        unit_destroy(s, &s->units[i]);
    for (int i = 0; i < s->nshards; i++) {
        struct shard *h = &s->shards[i];
        pthread_mutex_destroy(&h->lock);
        id_map_deinit(&h->map);
        free(h->units);
        free(h->ended);
        free(h->done);
        free(h->heard);
        free(h->waiting);
        free(h->gone);
        free(h->lives);
        free(h->parked);
        shard_hold_destroy(h->hold);
        mem_free(h->rows);
    }
    free(s->shards);
    free(s->units);
    plan_destroy(s->rate_plan);
    program_destroy(s->program);
}
