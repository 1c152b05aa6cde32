/* From the server program to units. listen_and_serv says which block belongs to which gradient; in
 * a copy of the program the blocks are made ready to be run by themselves:
 *   - every variable of block 0 lives in the scope;
 *   - the sum over `X@GRAD.trainer_k` and the scale behind it go: apply.c merges what has come, for
 *     those trainers that are there;
 *   - ref_by_trainer_id goes: its output is set before the block is run;
 *   - a distributed table (SelectedRows in the program) becomes a growing tensor and a map of
 *     ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/op_kind.h"
#include "server/server_parts.h"

/* ---- names ---- */

/* Cuts ".<mark><digits>" off the end. */
static bool cut_suffix(char *name, const char *mark)
{
    char *end = name + strlen(name), *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    size_t n = strlen(mark);
    if (digits == end || (size_t)(digits - name) < n || memcmp(digits - n, mark, n))
        return false;
    digits[-(ptrdiff_t)n] = 0;
    return true;
}

static void grad_base(const char *name, char out[static PS_NAME])
{
    snprintf(out, PS_NAME, "%s", name);
    cut_suffix(out, ".pserver_");
    cut_suffix(out, ".trainer_");
}

struct unit *unit_of_grad(const struct server *s, const char *name)
{
    char base[PS_NAME];
    struct unit *u = str_map_get(&s->by_grad, name);
    if (u)
        return u;
    grad_base(name, base);
    return str_map_get(&s->by_grad, base);
}

struct shard *unit_shard(struct server *s, const struct unit *u)
{
    return &s->shards[u->shard];
}

/* ---- blocks ---- */

static const struct skiff_op *find_service(const struct skiff_program *p)
{
    const struct skiff_block *root = program_root(p);
    for (int i = 0; i < root->nops; i++)
        if (!strcmp(root->ops[i]->type, "listen_and_serv"))
            return root->ops[i];
    return NULL;
}

static int attr_int(const struct skiff_op *op, const char *name, int absent)
{
    const struct op_attr_value *a = op_attr(op, name);
    if (!a)
        return absent;
    return a->type == ATTR_LONG ? (int)a->value.l : a->value.i;
}

/* Is it the sum of what the trainers sent? */
static bool is_merge(const struct skiff_op *op)
{
    const struct op_arg *x = op_in(op, "X");
    char base[PS_NAME];
    if (strcmp(op->type, "sum") || !x || x->n < 1)
        return false;
    for (int i = 0; i < x->n; i++) {
        snprintf(base, sizeof base, "%s", x->names[i]);
        cut_suffix(base, ".pserver_");
        if (!cut_suffix(base, ".trainer_"))
            return false;
    }
    return true;
}

static bool is_scale_of(const struct skiff_op *op, const char *name)
{
    const char *x = op_in1(op, "X"), *out = op_out1(op, "Out");
    return !strcmp(op->type, "scale") && x && out && !strcmp(x, name) && !strcmp(out, name);
}

/* Removes sum and scale; gives the variable that holds the merged gradient, or NULL. */
static const char *strip_merge(struct skiff_block *b)
{
    if (!b->nops || !is_merge(b->ops[0]))
        return NULL;
    const char *merged = op_out1(b->ops[0], "Out");
    block_remove_ops(b, 0, 1);
    if (b->nops && merged && is_scale_of(b->ops[0], merged))
        block_remove_ops(b, 0, 1);
    return merged;
}

/* Removes ref_by_trainer_id; gives its output, which moves to block 0, or NULL. */
static const char *strip_backup(struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++) {
        if (strcmp(b->ops[i]->type, "ref_by_trainer_id"))
            continue;
        const char *name = op_out1(b->ops[i], "Out");
        const struct skiff_var *v = name ? block_own_var(b, name) : NULL;
        block_remove_ops(b, i, 1);
        if (v) {
            struct skiff_var *root = block_add_var(program_root(b->program), name);
            root->dtype = v->dtype;
            root->has_tensor = true;
            root->shape = v->shape;
            root->persistable = IS_TRUE;
            block_remove_var(b, name);
        }
        return name;
    }
    return NULL;
}

static const struct skiff_op *find_update(const struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i]->kind && (b->ops[i]->kind->flags & OP_OPTIMIZER))
            return b->ops[i];
    return NULL;
}

/* ---- one unit ---- */

static void map_var(struct server *s, const char *name, struct unit *u)
{
    if (!str_map_has(&s->by_var, name))
        str_map_put(&s->by_var, name, u);
}

/* The table and every accumulator of its shape have a row per id. */
static void set_up_table(struct server *s, struct unit *u, const struct skiff_op *update)
{
    const struct skiff_block *root = program_root(s->program);
    u->table = table_create();
    u->vars = mem_must((size_t)(update->nins + 1) * sizeof *u->vars);
    for (int i = 0; i < update->nins; i++) {
        const struct op_arg *in = &update->ins[i];
        struct skiff_var *v = in->n == 1 ? block_own_var(root, in->names[0]) : NULL;
        if (!v || !strcmp(in->slot, "Grad") || !strcmp(in->slot, "LearningRate") ||
            !shape_equal(&v->shape, &u->shape))
            continue;
        v->kind = VAR_LOD_TENSOR;
        struct row_var *r = &u->vars[u->nvars++];
        *r = (struct row_var){.name = v->name, .value = scope_var(s->scope, v->name)};
    }
    u->shape.dims[0] = -1;
}

static enum skiff_status plan_block_of(struct server *s, int block, bool part, struct plan **out,
                                       struct skiff_error *err)
{
    struct plan_options options = {.borrow = true,
                                   .defer_rows = true,
                                   .empty_is_step = part,
                                   .block = block,
                                   .generator = &s->generator};
    enum skiff_status status =
        plan_create(s->program, s->scope, &options, NULL, 0, NULL, 0, out, err);
    if (status < 0)
        return error_prefix(err, status, "server program");
    return SKIFF_OK;
}

static enum skiff_status set_up_update(struct server *s, struct unit *u, struct skiff_block *b,
                                       const struct skiff_op *update, struct skiff_error *err)
{
    const char *base = strip_backup(b);
    if (base)
        u->base_value = scope_var(s->scope, base);
    const struct skiff_op *service = find_service(s->options.main);
    const struct op_attr_value *dc = op_attr(service, "dc_asgd");
    bool keyed = block_find_var(b, u->param)->kind == VAR_SELECTED_ROWS;
    u->compensate = base || (dc && dc->value.b && u->sparse && !keyed);
    if (keyed)
        set_up_table(s, u, update);
    for (int i = 0; i < update->nins; i++)
        if (update->ins[i].n == 1 && strcmp(update->ins[i].slot, "LearningRate"))
            map_var(s, update->ins[i].names[0], u);
    const struct skiff_placement *placed = job_plan_slice(s->plan, s->options.index, u->param);
    bool part = keyed || (placed && placed->is_slice);
    return plan_block_of(s, b->idx, part, &u->plan, err);
}

static enum skiff_status check_param(const struct server *s, const struct unit *u,
                                     const struct skiff_var *v, struct skiff_error *err)
{
    if (!v || v->dtype != DTYPE_FP32 || v->shape.ndim < 1 || shape_numel(&v->shape) < 1)
        return error_set(err, SKIFF_INVALID,
                         "server program: parameter %s of gradient %s must be a float32 variable "
                         "with a known shape",
                         u->param, u->grad);
    return SKIFF_OK;
}

static enum skiff_status unit_set_up(struct server *s, struct unit *u, const char *grad, int block,
                                     struct skiff_error *err)
{
    if (block <= 0 || block >= s->program->nblocks)
        return error_set(err, SKIFF_INVALID, "server program: gradient %s has block %d of %d", grad,
                         block, s->program->nblocks);
    struct skiff_block *b = s->program->blocks[block];
    const char *merged = strip_merge(b);
    const struct skiff_op *update = find_update(b);
    u->grad = merged ? merged : grad;
    u->add = mode_adds(s->plan->mode);
    const struct op_arg *x = u->add && b->nops == 1 ? op_in(b->ops[0], "X") : NULL;
    if (x)
        u->param = x->n == 2 ? x->names[0] : NULL;
    else
        u->param = update ? op_in1(update, "Param") : NULL;
    if (!u->param)
        return error_set(err, SKIFF_INVALID,
                         "server program: block %d of gradient %s updates no parameter", block,
                         grad);
    const struct skiff_var *param = block_find_var(b, u->param), *g = block_find_var(b, u->grad);
    TRY(check_param(s, u, param, err));
    u->shape = param->shape;
    u->width = shape_cols(&u->shape, 1);
    u->sparse = g && g->kind == VAR_SELECTED_ROWS;
    u->param_value = scope_var(s->scope, u->param);
    u->grad_value = scope_var(s->scope, u->grad);
    u->backups = mem_must((size_t)s->plan->trainers * sizeof *u->backups);
    u->changed = mem_must((size_t)s->plan->trainers * sizeof *u->changed);
    map_var(s, u->param, u);
    return u->add ? SKIFF_OK : set_up_update(s, u, b, update, err);
}

/* ---- all ---- */

static enum skiff_status read_units(struct server *s, const struct skiff_op *service,
                                    struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(service, "grad_to_block_id");
    int n = a && a->type == ATTR_STRINGS ? a->value.n : 0;
    s->units = mem_must((size_t)(n + 1) * sizeof *s->units);
    for (int i = 0; i < n; i++) {
        char base[PS_NAME];
        const char *pair = a->value.strings[i], *colon = strrchr(pair, ':');
        if (!colon || (size_t)(colon - pair) >= sizeof base)
            return error_set(err, SKIFF_INVALID,
                             "server program: grad_to_block_id has \"%s\", not gradient:block",
                             pair);
        snprintf(base, sizeof base, "%.*s", (int)(colon - pair), pair);
        struct unit *u = &s->units[s->nunits++];
        const char *name = arena_strdup(&s->program->arena, base);
        TRY(unit_set_up(s, u, name, atoi(colon + 1), err));
        str_map_put(&s->by_grad, name, u);
        grad_base(name, base);
        if (!str_map_has(&s->by_grad, base))
            str_map_put(&s->by_grad, arena_strdup(&s->program->arena, base), u);
    }
    return SKIFF_OK;
}

/* Counters that trainers report to: what the rate's block reads under a trainer's name. */
static void note_counters(struct server *s, const struct skiff_block *b)
{
    for (int i = 0; i < b->nops; i++)
        for (int k = 0; is_merge(b->ops[i]) && k < op_in(b->ops[i], "X")->n; k++) {
            const char *name = op_in(b->ops[i], "X")->names[k];
            str_map_put(&s->counters_in, name, scope_var(s->scope, name));
        }
}

static enum skiff_status read_rate(struct server *s, const struct skiff_op *service,
                                   struct skiff_error *err)
{
    int block = attr_int(service, "lr_decay_block_id", -1);
    if (block <= 0)
        return SKIFF_OK;
    if (block >= s->program->nblocks)
        return error_set(err, SKIFF_INVALID, "server program: lr_decay_block_id is %d of %d blocks",
                         block, s->program->nblocks);
    note_counters(s, s->program->blocks[block]);
    return plan_block_of(s, block, false, &s->rate_plan, err);
}

static enum skiff_status check_service(const struct server *s, const struct skiff_op *service,
                                       struct skiff_error *err)
{
    if (!service)
        return error_set(err, SKIFF_INVALID,
                         "the program is no server program: it has no listen_and_serv "
                         "(get_pserver_program makes one)");
    int fanin = attr_int(service, "Fanin", s->plan->trainers);
    int mode = attr_int(service, "distributed_mode", (int)s->plan->mode);
    if (fanin != s->plan->trainers)
        return error_set(err, SKIFF_INVALID,
                         "the server program is for %d trainers, the server was started for %d",
                         fanin, s->plan->trainers);
    if (mode != (int)s->plan->mode)
        return error_set(err, SKIFF_INVALID,
                         "the server program is for mode %d, the server was started in mode %d",
                         mode, (int)s->plan->mode);
    return SKIFF_OK;
}

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
    const struct skiff_op *service = find_service(s->options.main);
    TRY(check_service(s, service, err));
    s->program = program_clone(s->options.main);
    struct skiff_block *root = program_root(s->program);
    for (size_t i = 0; i < root->vars.count; i++) {
        struct skiff_var *v = root->vars.entries[i].value;
        v->persistable = IS_TRUE;
    }
    TRY(read_units(s, service, err));
    TRY(read_rate(s, service, err));
    deal_out(s);
    return SKIFF_OK;
}

static void unit_destroy(struct server *s, struct unit *u)
{
    unit_forget(u, -1);
    free(u->pushes);
    plan_destroy(u->plan);
    table_destroy(u->table);
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
        free(h->waiting);
        free(h->gone);
        free(h->lives);
        free(h->parked);
        mem_free(h->rows);
    }
    free(s->shards);
    free(s->units);
    plan_destroy(s->rate_plan);
    program_destroy(s->program);
}
