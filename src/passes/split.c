/* split_create: the facts on which trainers and servers agree (split_parts.h).
 *
 * Processes negotiate nothing. Each derives the same plan from the same program, lists and config,
 * and a hash of the plan (split_hash) detects differences. Order of work: mode; servers; the ops
 * that move, by role; distributed tables; parameters with their gradients (op_role_var names the
 * pairs); placement; the names of gradients; the counter of a schedule.
 *
 * The trainer keeps clipping, because it needs the gradients of all parameters and these are on
 * several servers. It also keeps every parameter that is read other than by look-ups of block 0;
 * rows of the remaining parameters are pulled by id. */
#include "passes/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "passes/split_parts.h"
#include "program/rights.h"
#include "program/infer.h"

/* Clipping stays on the trainer, whether set by set_gradient_clip ("@CLIP") or by the optimizer's
 * grad_clip. */
static bool is_clip(const struct skiff_op *op)
{
    const struct op_attr_value *scope = op_attr(op, "op_namescope");
    return scope && scope->type == ATTR_STRING &&
           (strstr(scope->value.s, "@CLIP") || strstr(scope->value.s, "gradient_clip"));
}

static enum skiff_status check_update(int at, const struct skiff_op *op, struct skiff_error *err)
{
    const char *param, *grad;
    if (!op_role_pair(op, &param, &grad))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %d (%s) belongs to the optimizer but names no parameter and gradient "
                         "(op_role_var); it cannot be given to a server",
                         at, op->type);
    if (!op_is_update(op))
        return SKIFF_OK;
    const struct optimizer_kind *kind = split_optimizer(op);
    if (kind && !kind->no_server)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "Not supported optimizer for distributed training: %s, %s; use another one, "
                     "such as adam",
                     op->type, kind ? kind->no_server : "which Skiff does not know");
}

static struct split_table *find_table(const struct skiff_split *s, const char *name)
{
    for (int i = 0; i < s->ntables; i++)
        if (!strcmp(s->tables[i].name, name))
            return &s->tables[i];
    return NULL;
}

/* With tables_only the trainer updates dense parameters itself. */
static bool stays(const struct skiff_split *s, const struct skiff_op *op)
{
    const char *param, *grad;
    return s->config.tables_only && !(op_role_pair(op, &param, &grad) && find_table(s, param));
}

/* Which ops go to the servers? */
static enum skiff_status sort_ops(struct skiff_split *s, struct skiff_error *err)
{
    struct skiff_block *b = program_root(s->main);
    s->is_update = arena_alloc(&s->arena, (size_t)b->nops + 1);
    s->is_rate = arena_alloc(&s->arena, (size_t)b->nops + 1);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        int role = op_role_of(op);
        if (op->kind && op->kind->flags & OP_DISTRIBUTED)
            return error_set(err, SKIFF_STATE, "op %d is %s: this program has been split already",
                             i, op->type);
        s->is_rate[i] = role == ROLE_LRSCHED || role == (ROLE_LRSCHED | ROLE_OPTIMIZE);
        if (role != ROLE_OPTIMIZE)
            continue;
        if (is_clip(op)) {
            op_set_int(s->main, op, "op_role", ROLE_BACKWARD);
            continue;
        }
        if (stays(s, op))
            continue;
        TRY(check_update(i, op, err));
        s->is_update[i] = true;
    }
    return SKIFF_OK;
}

/* ---- tables and parameters ---- */

/* lookup_table_v2 of a distributed table: 1.8 does not support it, sparse tables do. */
static bool is_table_lookup(const struct skiff_split *s, const struct skiff_op *op)
{
    return op_is_lookup(op) &&
           (op_has(op, OP_TRANSPILED_LOOKUP) || split_wants_features(s, op_in1(op, "W")));
}

/* All look-ups of a distributed table have the same settings. */
static enum skiff_status check_table_reader(const struct skiff_split *s, int at,
                                            const struct skiff_op *op, struct skiff_error *err)
{
    const struct split_table *t = op_is_lookup(op) ? find_table(s, op_in1(op, "W")) : NULL;
    if (!t)
        return SKIFF_OK;
    if (!attr_bool(op, "is_distributed"))
        return error_set(err, SKIFF_INVALID,
                         "lookup_table_op that lookup an distributed embedding table should set "
                         "is_distributed to true (op %d, table %s)",
                         at, t->name);
    if (op_padding(op) != t->padding)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "op %d: padding_idx is %lld, but another look-up of distributed table %s "
                         "has %lld",
                         at, (long long)op_padding(op), t->name, (long long)t->padding);
    return SKIFF_OK;
}

static enum skiff_status find_tables(struct skiff_split *s, struct skiff_error *err)
{
    const struct skiff_block *b = program_root(s->main);
    s->tables = arena_alloc(&s->arena, (size_t)(b->nops + 1) * sizeof *s->tables);
    for (int i = 0; i < b->nops; i++) {
        const char *w = is_table_lookup(s, b->ops[i]) ? op_in1(b->ops[i], "W") : NULL;
        if (!w || !attr_bool(b->ops[i], "is_distributed") || find_table(s, w))
            continue;
        struct split_table *t = &s->tables[s->ntables];
        t->prefix = s->ntables ? arena_printf(&s->arena, "%s.", w) : "";
        t->name = arena_strdup(&s->arena, w);
        t->var = block_own_var(b, w);
        t->padding = op_padding(b->ops[i]);
        if (!t->var || t->var->shape.ndim != 2)
            return error_set(err, SKIFF_SHAPE, "distributed table %s has no two dims", w);
        s->ntables++;
    }
    for (int i = 0; i < b->nops; i++)
        TRY(check_table_reader(s, i, b->ops[i], err));
    s->table_names = arena_alloc(&s->arena, (size_t)(s->ntables + 1) * sizeof *s->table_names);
    for (int i = 0; i < s->ntables; i++)
        s->table_names[i] = s->tables[i].name;
    return SKIFF_OK;
}

/* Look-ups of the main block are the only readers, so the trainer does not need the complete table.
 * Gradients of look-ups read its shape only. */
static bool only_looked_up(const struct skiff_split *s, const char *name, const char *flag)
{
    int lookups = 0;
    for (int k = 0; k < s->main->nblocks; k++) {
        const struct skiff_block *b = s->main->blocks[k];
        for (int i = 0; i < b->nops; i++) {
            const struct skiff_op *op = b->ops[i];
            if (!op_reads(op, name) || (!k && s->is_update[i]) || op_is(op, CLASS_LOOKUP_GRAD))
                continue;
            if (k || !op_is_lookup(op) || !attr_bool(op, flag))
                return false;
            lookups++;
        }
    }
    return lookups > 0;
}

static bool looked_up(const struct skiff_split *s, const char *name)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; i < b->nops; i++)
        if (op_is_lookup(b->ops[i]) && !strcmp(op_in1(b->ops[i], "W"), name))
            return true;
    return false;
}

static enum skiff_status add_param(struct skiff_split *s, int at, const char *name,
                                   const char *grad, struct skiff_error *err)
{
    const struct skiff_block *b = program_root(s->main);
    const struct skiff_var *v = block_own_var(b, name), *g = block_own_var(b, grad);
    struct split_table *t = find_table(s, name);
    if (!v || !g)
        return error_set(err, SKIFF_NOT_FOUND, "op %d (%s): %s is not in block 0", at,
                         b->ops[at]->type, v ? grad : name);
    if (v->param && !v->param->trainable)
        return SKIFF_OK;
    if (t) {
        t->grad = arena_strdup(&s->arena, grad);
        t->grad_var = g;
        return SKIFF_OK;
    }
    struct split_param *p = &s->params[s->nparams++];
    p->name = arena_strdup(&s->arena, name);
    p->grad = arena_strdup(&s->arena, grad);
    p->var = v;
    p->grad_var = g;
    p->rows = g->kind == VAR_SELECTED_ROWS;
    p->remote = s->mode != SKIFF_SPLIT_GEO && p->rows && only_looked_up(s, name, "remote_prefetch");
    p->looked_up = s->mode == SKIFF_SPLIT_GEO && p->rows && looked_up(s, name);
    return SKIFF_OK;
}

/* The first op of the optimizer that belongs to a parameter names its gradient before decay. */
static enum skiff_status find_params(struct skiff_split *s, struct skiff_error *err)
{
    const struct skiff_block *b = program_root(s->main);
    struct str_map seen;
    enum skiff_status status = SKIFF_OK;
    s->params = arena_alloc(&s->arena, (size_t)(b->nops + 1) * sizeof *s->params);
    str_map_init(&seen);
    for (int i = 0; i < b->nops; i++) {
        const char *param, *grad;
        if (!s->is_update[i] || !op_role_pair(b->ops[i], &param, &grad))
            continue;
        struct split_table *t = find_table(s, param);
        if (t && op_is_update(b->ops[i]))
            t->update = b->ops[i];
        if (str_map_has(&seen, param))
            continue;
        str_map_put(&seen, param, (void *)b);
        TRY_OUT(add_param(s, i, param, grad, err));
    }
    if (!s->nparams && !s->ntables)
        status = error_set(err, SKIFF_STATE,
                           "the program updates no parameter: call minimize before the split");
    for (int i = 0; status == SKIFF_OK && i < s->ntables; i++)
        if (!s->tables[i].update || !s->tables[i].grad)
            status = error_set(err, SKIFF_UNSUPPORTED,
                               "distributed table %s is not trained: no op updates it",
                               s->tables[i].name);
out:
    str_map_deinit(&seen);
    return status;
}

static void record_params(struct skiff_split *s)
{
    for (int i = 0; i < s->nendpoints; i++) {
        bool idle = !s->ntables;
        for (int k = 0; k < s->nparams && idle; k++)
            idle = !split_block_on(&s->params[k], i);
        if (idle)
            buf_printf(&s->notes, "pserver [%s] has no optimize block!!\n", s->endpoints[i]);
    }
}

static void record_tables(struct skiff_split *s)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; i < s->ntables; i++) {
        const struct split_table *t = &s->tables[i];
        const struct optimizer_kind *kind = split_optimizer(t->update);
        bool as_asked = kind && kind->flags & OPTIMIZER_LOOKUP_TABLE;
        if (!t->sparse_table && !split_table_rule(s) && !as_asked)
            buf_printf(&s->notes,
                       "distribute lookup table only support sgd optimizer, change it's optimizer "
                       "to sgd instead of %s (table %s)\n",
                       t->update->type, t->name);
        for (int k = 0; k < b->nops; k++) {
            const char *param, *grad;
            if (s->is_update[k] && !op_is_update(b->ops[k]) &&
                op_role_pair(b->ops[k], &param, &grad) && !strcmp(param, t->name)) {
                buf_printf(&s->notes, "distributed table %s: its regularizer is left out\n",
                           t->name);
                break;
            }
        }
    }
}

/* ---- learning rate ---- */

static bool is_counter_step(const struct skiff_op *op)
{
    return op_is(op, CLASS_COUNTER) && op_out1(op, "Out");
}

/* Counter of every trainer, started at 1; the sum starts at -trainers. */
static enum skiff_status start_counters(struct skiff_split *s, const struct skiff_var *sum,
                                        const char *const *names, struct skiff_error *err)
{
    struct skiff_block *b = program_root(s->startup);
    for (int i = 0; i < b->nops; i++)
        if (op_is(b->ops[i], CLASS_CONSTANT) && op_writes(b->ops[i], sum->name) &&
            !s->config.tables_only)
            op_set_float(s->startup, b->ops[i], "value", -(float)s->trainers);
    for (int k = 0; k < s->trainers; k++) {
        struct skiff_var *v = build_var_like(b, names[k], sum, var_persistable(sum));
        struct skiff_op *op = build_op(b, 0, "fill_constant");
        build_out1(b, op, "Out", names[k]);
        op_set_longs(s->startup, op, "shape", v->shape.ndim, v->shape.dims);
        op_set_int(s->startup, op, "dtype", (int32_t)v->dtype);
        op_set_float(s->startup, op, "value", 1.0f);
        TRY(op_fill_defaults(s->startup, op, err)); /* an initializer lists no inputs */
        TRY(infer_op(b, op, err));
    }
    return SKIFF_OK;
}

/* Async: each trainer reports its steps, and the servers' counter is the sum of theirs. */
static enum skiff_status count_by_trainer(struct skiff_split *s, int at, struct skiff_error *err)
{
    struct skiff_block *b = program_root(s->main);
    const struct skiff_var *sum = block_find_var(b, op_out1(b->ops[at], "Out"));
    const char **names = arena_alloc(&s->arena, (size_t)s->trainers * sizeof *names);
    for (int k = 0; k < s->trainers; k++) {
        names[k] = arena_printf(&s->arena, "%s.trainer_%d", sum->name, k);
        build_var_like(b, names[k], sum, var_persistable(sum));
        names_add(&s->arena, &s->counters, names[k]);
        if (k == s->trainer_id)
            s->counter = names[k];
    }
    TRY(start_counters(s, sum, names, err));
    block_remove_ops(b, at, 1);
    struct skiff_op *op = build_op(b, at, "sum");
    build_in(b, op, "X", s->trainers, names);
    build_out1(b, op, "Out", sum->name);
    op_set_int(s->main, op, "op_role", ROLE_LRSCHED);
    return build_done(b, op, err);
}

static enum skiff_status set_rate(struct skiff_split *s, struct skiff_error *err)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; s->count_steps && i < b->nops; i++)
        if (s->is_rate[i] && is_counter_step(b->ops[i]))
            TRY(count_by_trainer(s, i, err));
    return SKIFF_OK;
}

/* ---- split_create ---- */

static enum skiff_status set_mode(struct skiff_split *s, const struct skiff_split_job *job,
                                  struct skiff_error *err)
{
    const struct skiff_split_config *c = &s->config;
    bool geo = c->geo_sgd_mode;
    s->sync = !geo && c->sync_mode && job->sync_mode;
    bool lockstep = !geo && (s->sync || c->completely_not_async);
    s->mode = geo                          ? SKIFF_SPLIT_GEO
              : lockstep                   ? SKIFF_SPLIT_SYNC
              : c->runtime_split_send_recv ? SKIFF_SPLIT_ASYNC
                                           : SKIFF_SPLIT_HALF_ASYNC;
    s->merge = lockstep && job->trainers > 1;
    s->merge_tables = lockstep;
    s->count_steps = !geo && !lockstep;
    if (c->enable_dc_asgd && (geo || lockstep))
        return error_set(err, SKIFF_INVALID,
                         "enable_dc_asgd is for asynchronous training only: sync_mode must be "
                         "false, and geo_sgd_mode too");
    return SKIFF_OK;
}

static enum skiff_status check_job(const struct skiff_split_job *job, struct skiff_error *err)
{
    if (job->trainers < 1)
        return error_set(err, SKIFF_INVALID, "trainers is %d; at least 1 is needed", job->trainers);
    if (job->trainer_id < 0)
        return error_set(err, SKIFF_INVALID, "trainer_id is %d; it cannot be negative",
                         job->trainer_id);
    return SKIFF_OK;
}

/* Checks that slots and variables exist: the remaining code relies on it. */
static enum skiff_status check_program(const char *what, const struct skiff_program *p,
                                       struct skiff_error *err)
{
    enum skiff_status status =
        program_verify_with(p, VERIFY_SKIP_UNKNOWN | VERIFY_SKIP_SHAPES, err);
    return status < 0 ? error_prefix(err, status, "%s", what) : status;
}

static enum skiff_status work_out(struct skiff_split *s, const struct skiff_split_job *job,
                                  struct skiff_error *err)
{
    TRY(check_job(job, err));
    TRY(check_program("main program", s->main, err));
    TRY(check_program("startup program", s->startup, err));
    TRY(split_config_check(&s->config, err));
    TRY(set_mode(s, job, err));
    TRY(split_parse_endpoints(s, job->pservers, err));
    TRY(find_tables(s, err));
    TRY(sort_ops(s, err));
    TRY(find_params(s, err));
    TRY(split_sparse(s, err));
    record_tables(s);
    TRY(split_assign_params(s, err));
    record_params(s);
    if (s->mode != SKIFF_SPLIT_GEO)
        split_assign_accumulators(s);
    for (int i = 0; i < s->nparams; i++)
        if (s->mode != SKIFF_SPLIT_GEO && strcmp(s->params[i].sent, s->params[i].grad)) {
            build_rename_var(program_root(s->main), s->params[i].grad, s->params[i].sent);
            s->params[i].grad_var = block_own_var(program_root(s->main), s->params[i].sent);
        }
    return set_rate(s, err);
}

/* Number of sends of a trainer: gradients, the rows of each embedding parameter for each server,
 * its step counter. */
static const struct job_plan *make_plan(struct skiff_split *s)
{
    bool meets = s->config.runtime_split_send_recv && s->config.half_async;
    const char **sparse_table =
        arena_alloc(&s->arena, (size_t)(s->ntables + 1) * sizeof *sparse_table);
    int *shards = arena_alloc(&s->arena, (size_t)(s->ntables + 1) * sizeof *shards), plain = 0;
    int *widths = arena_alloc(&s->arena, (size_t)(s->ntables + 1) * sizeof *widths);
    bool *disk = arena_alloc(&s->arena, (size_t)(s->ntables + 1) * sizeof *disk);
    for (int i = 0; i < s->ntables; i++) {
        sparse_table[i] = s->tables[i].sparse_table;
        shards[i] = s->tables[i].shards;
        disk[i] = s->tables[i].disk;
        widths[i] = (int)s->tables[i].var->shape.dims[1];
        plain += !sparse_table[i];
    }
    struct job_plan plan = {
        .mode = s->mode,
        .trainer_mode = s->mode == SKIFF_SPLIT_ASYNC && meets ? SKIFF_SPLIT_HALF_ASYNC : s->mode,
        .dc_asgd = s->config.enable_dc_asgd,
        .trainers = s->trainers,
        .servers = s->nendpoints,
        .endpoints = s->endpoints,
        .tables = s->table_names,
        .ntables = s->ntables,
        .sparse_table = sparse_table,
        .shards = shards,
        .widths = widths,
        .disk = disk,
        .placement = s->placed,
        .nplacement = s->nplaced,
        .sends = s->nparams + plain * s->nendpoints + (s->counter != NULL)};
    return job_plan_create(&plan);
}

static enum skiff_status create(const struct skiff_split_job *job,
                                const struct skiff_split_config *config,
                                const struct split_dispatcher *dispatcher, bool inside,
                                struct skiff_split **out, struct skiff_error *err);

/* A thread's rows have arrived before its next batch: the async mode of the bare transpiler. */
static enum skiff_status create_own(struct skiff_split *s, const struct skiff_split_job *job,
                                    struct skiff_error *err)
{
    struct skiff_split_config config = split_config_default();
    struct skiff_split_job own = {
        .main = job->main, .startup = job->startup, .pservers = SPLIT_OWN_ENDPOINT, .trainers = 1};
    if (s->mode != SKIFF_SPLIT_GEO || !s->ntables)
        return SKIFF_OK;
    TRY(split_config_set_sync_mode(&config, false, err));
    config.tables_only = true;
    return create(&own, &config, &split_round_robin, true, &s->own, err);
}

static enum skiff_status create(const struct skiff_split_job *job,
                                const struct skiff_split_config *config,
                                const struct split_dispatcher *dispatcher, bool inside,
                                struct skiff_split **out, struct skiff_error *err)
{
    struct skiff_split *s = mem_alloc_or_die(sizeof *s);
    arena_init(&s->arena);
    s->config = *config;
    s->dispatcher = dispatcher;
    s->main = split_clone(job->main);
    s->startup = split_clone(job->startup);
    s->trainer_id = job->trainer_id;
    s->trainers = job->trainers;
    s->inside = inside;
    enum skiff_status status = work_out(s, job, err);
    if (status == SKIFF_OK)
        status = create_own(s, job, err);
    s->config.tables = NULL; /* owned by the caller */
    if (status < 0) {
        split_destroy(s);
        return status;
    }
    s->plan = make_plan(s);
    *out = s;
    return SKIFF_OK;
}

enum skiff_status split_create_by(const struct skiff_split_job *job,
                                  const struct skiff_split_config *config,
                                  const struct split_dispatcher *dispatcher,
                                  struct skiff_split **out, struct skiff_error *err)
{
    if (!job->main || !job->startup)
        return error_set(err, SKIFF_INVALID, "split needs a %s program",
                         job->main ? "startup" : "main");
    /* the servers' programs are created here with all rights, so no op of an untrusted program may
     * enter them */
    TRY(program_check_rights(job->main, -1, err));
    TRY(program_check_rights(job->startup, -1, err));
    return create(job, config, dispatcher, false, out, err);
}

enum skiff_status split_create(const struct skiff_split_job *job,
                               const struct skiff_split_config *config, struct skiff_split **out,
                               struct skiff_error *err)
{
    const char *method = config->split_method; /* an unknown one is refused with the config */
    return split_create_by(job, config, method ? split_dispatcher_find(method) : &split_round_robin,
                           out, err);
}

void split_destroy(struct skiff_split *s)
{
    if (!s)
        return;
    job_plan_unref(s->plan);
    split_destroy(s->own);
    program_destroy(s->main);
    program_destroy(s->startup);
    buf_deinit(&s->notes);
    arena_deinit(&s->arena);
    free(s->placed);
    free(s);
}

const struct job_plan *split_plan(const struct skiff_split *s)
{
    return s->plan;
}

const struct skiff_split *split_own(const struct skiff_split *s)
{
    return s->own;
}

const char *split_warnings(const struct skiff_split *s)
{
    return s->notes.len ? s->notes.data : "";
}

/* ---- programs ---- */

enum skiff_status split_trainer(const struct skiff_split *s, struct skiff_program **main,
                                struct skiff_program **startup, struct skiff_error *err)
{
    struct skiff_program *m = NULL, *st = NULL;
    enum skiff_status status;
    if (s->trainer_id >= s->trainers)
        return error_set(err, SKIFF_RANGE, "trainer_id is %d, but there are %d trainers (0 to %d)",
                         s->trainer_id, s->trainers, s->trainers - 1);
    status = s->mode == SKIFF_SPLIT_GEO ? split_geo_trainer_main(s, &m, err)
                                        : split_trainer_main(s, &m, err);
    if (status == SKIFF_OK)
        status = split_trainer_startup(s, &st, err);
    if (status < 0) {
        program_destroy(m);
        return error_prefix(err, status, "program of trainer %d", s->trainer_id);
    }
    *main = m;
    *startup = st;
    return SKIFF_OK;
}

enum skiff_status split_server(const struct skiff_split *s, const char *endpoint,
                               struct skiff_program **main, struct skiff_program **startup,
                               struct server_plan **plan, struct skiff_error *err)
{
    struct skiff_program *m = NULL, *st = NULL;
    int at = job_plan_server(s->plan, endpoint);
    if (at < 0)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s is not one of the %d servers of this job (the first is %s)", endpoint,
                         s->nendpoints, s->endpoints[0]);
    struct server_plan *p = server_plan_create(s->plan, at);
    enum skiff_status status = s->mode == SKIFF_SPLIT_GEO ? split_geo_server_main(s, p, &m, err)
                                                          : split_server_main(s, p, &m, err);
    if (status == SKIFF_OK)
        status = split_server_startup(s, at, m, &st, err);
    if (status < 0) {
        program_destroy(m);
        server_plan_destroy(p);
        return error_prefix(err, status, "program of server %s", endpoint);
    }
    *main = m;
    *startup = st;
    if (plan)
        *plan = p;
    else
        server_plan_destroy(p);
    return SKIFF_OK;
}
