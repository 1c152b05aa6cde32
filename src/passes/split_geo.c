/* GEO: trainers keep their complete program, with optimizer and tables, and report after each batch
 * which rows they touched (one `send` of the ids, send_varnames = the tables). Every few batches
 * the communicator sends differences (X.delta); servers add them (sum).
 *
 * Distributed tables have rows by any id, on the servers and in the trainer. The trainer's part is
 * a server inside its process (s->own), as in a job without servers. Look-ups and gradients go
 * there, and the communicator exchanges differences between it and the job's servers. */
#include <string.h>

#include "passes/split_parts.h"

static const char *delta_name(struct skiff_block *b, const char *name)
{
    return arena_printf(&b->program->arena, "%s.delta", name);
}

static enum var_kind delta_kind(const struct split_param *p)
{
    return p->looked_up ? VAR_SELECTED_ROWS : p->var->kind;
}

/* ---- trainer ---- */

static void add_deltas(const struct skiff_split *s, struct skiff_block *b)
{
    for (int i = 0; i < s->nparams; i++) {
        const struct split_param *p = &s->params[i];
        build_var(b, delta_name(b, p->name), delta_kind(p), p->var->dtype, &p->var->shape, false);
        for (int k = 0; p->nblocks > 1 && k < p->nblocks; k++) {
            const struct split_block *block = &p->blocks[k];
            build_var(b, block->param, p->var->kind, p->var->dtype, &block->shape, false);
            build_var(b, delta_name(b, block->param), delta_kind(p), p->var->dtype, &block->shape,
                      false);
        }
    }
}

static void add_pair(struct skiff_block *b, const char *id, const char *w, struct names_list *ids,
                     struct names_list *tables)
{
    for (int k = 0; k < ids->n; k++)
        if (!strcmp(ids->v[k], id) && !strcmp(tables->v[k], w))
            return;
    names_add(&b->program->arena, ids, id);
    names_add(&b->program->arena, tables, w);
}

/* The look-ups of distributed tables have been removed from the trainer's program. */
static void list_table_lookups(const struct skiff_split *s, struct skiff_block *b,
                               struct names_list *ids, struct names_list *tables)
{
    const struct skiff_block *from = program_root(s->main);
    for (int i = 0; i < from->nops; i++)
        for (int k = 0; op_is_lookup(from->ops[i]) && k < s->ntables; k++)
            if (!strcmp(op_in1(from->ops[i], "W"), s->tables[k].name))
                add_pair(b, op_in1(from->ops[i], "Ids"), s->tables[k].name, ids, tables);
}

/* Ids and tables in pairs, each pair once. */
static void list_lookups(const struct skiff_split *s, struct skiff_block *b, struct names_list *ids,
                         struct names_list *tables)
{
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        if (!op_is_lookup(op) || !op_attr(op, "is_sparse"))
            continue;
        const char *w = op_in1(op, "W"), *id = op_in1(op, "Ids");
        const struct split_param *p = split_find_param(s, w);
        if (op_has(op, OP_TRANSPILED_LOOKUP))
            op_set_bool(b->program, op, "remote_prefetch", false);
        if (p && p->looked_up)
            add_pair(b, id, w, ids, tables);
    }
    list_table_lookups(s, b, ids, tables);
}

enum skiff_status split_geo_trainer_main(const struct skiff_split *s, struct skiff_program **out,
                                         struct skiff_error *err)
{
    struct skiff_program *p;
    struct names_list ids = {0}, tables = {0};
    if (s->own)
        TRY(split_trainer_main(s->own, &p, err));
    else
        p = split_clone(s->main);
    struct skiff_block *b = program_root(p);
    add_deltas(s, b);
    list_lookups(s, b, &ids, &tables);
    struct skiff_op *op = build_op(b, -1, "send");
    build_in(b, op, "X", ids.n, ids.v);
    build_out1(b, op, "Out", split_control_var(b, 0));
    op_set_strings(p, op, "send_varnames", tables.n, tables.v);
    enum skiff_status status = build_done(b, op, err);
    if (status < 0)
        program_destroy(p);
    else
        *out = p;
    return status;
}

enum skiff_status split_geo_finish_startup(const struct skiff_split *s,
                                           struct skiff_program *startup, struct skiff_error *err)
{
    static const char *const init = "param_init";
    struct skiff_block *b = program_root(startup);
    for (int i = 0; i < s->nparams; i++)
        build_var(b, delta_name(b, s->params[i].name), delta_kind(&s->params[i]),
                  s->params[i].var->dtype, &s->params[i].var->shape, false);
    block_add_var(b, init)->persistable = PRESENCE_FALSE;
    struct skiff_op *op = build_op(b, -1, "send");
    build_in1(b, op, "X", init);
    build_out1(b, op, "Out", split_control_var(b, 1));
    op_set_strings(startup, op, "send_varnames", 1, &init);
    return build_done(b, op, err);
}

/* ---- server ---- */

struct geo_server {
    struct server_plan *plan;
    struct skiff_program *p;
    struct names_list grads, sparse;
    int32_t *blocks;
    int nblocks;
};

static enum skiff_status add_slice(struct geo_server *v, const struct split_param *p,
                                   const struct split_block *k, struct skiff_error *err)
{
    struct arena *a = &v->p->arena;
    struct skiff_block *root = program_root(v->p), *b = program_add_block(v->p, 0);
    const char *pair[] = {k->param, delta_name(b, k->param)};
    build_var(root, k->param, p->var->kind, p->var->dtype, &k->shape, true);
    build_var(root, pair[1], delta_kind(p), p->var->dtype, &k->shape, false);
    struct skiff_op *op = build_op(b, -1, "sum");
    build_in(b, op, "X", 2, pair);
    build_out1(b, op, "Out", k->param);
    v->blocks[v->nblocks++] = b->idx;
    names_add(a, &v->grads, arena_printf(a, "%s:%d", pair[1], b->idx));
    struct plan_slice *u = server_plan_add(v->plan, k->param, pair[1], b->idx, false);
    u->sparse = p->looked_up;
    plan_names_add(v->plan, &u->pushed, pair[1]);
    plan_names_add(v->plan, &u->vars, k->param);
    if (p->looked_up)
        names_add(a, &v->sparse, arena_printf(a, "%s:%s", pair[1], k->param));
    return build_done(b, op, err);
}

/* Rows by id: received differences are added to them, and nobody runs the block. */
static enum skiff_status add_table(const struct skiff_split *s, struct geo_server *v,
                                   const struct split_table *t, struct skiff_error *err)
{
    struct arena *a = &v->p->arena;
    struct skiff_block *root = program_root(v->p), *b = program_add_block(v->p, 0);
    const char *pair[] = {t->name, split_table_delta(t, a)};
    struct shape shape = t->var->shape;
    shape.dims[0] = (shape.dims[0] + s->nendpoints - 1) / s->nendpoints;
    build_var(root, t->name, VAR_SELECTED_ROWS, t->var->dtype, &shape, true);
    build_var(root, pair[1], VAR_SELECTED_ROWS, t->var->dtype, &shape, false);
    struct skiff_op *op = build_op(b, -1, "sum");
    build_in(b, op, "X", 2, pair);
    build_out1(b, op, "Out", t->name);
    v->blocks[v->nblocks++] = b->idx;
    names_add(a, &v->grads, arena_printf(a, "%s:%d", pair[1], b->idx));
    names_add(a, &v->sparse, arena_printf(a, "%s:%s", pair[1], t->name));
    struct plan_slice *u = server_plan_add(v->plan, t->name, pair[1], b->idx, true);
    u->sparse = true;
    plan_names_add(v->plan, &u->pushed, pair[1]);
    plan_names_add(v->plan, &u->vars, t->name);
    plan_names_add(v->plan, &u->rows, t->name);
    return build_done(b, op, err);
}

static enum skiff_status fill_server(const struct skiff_split *s, struct geo_server *v,
                                     struct skiff_error *err)
{
    int server = v->plan->index;
    const struct skiff_split_config *c = &s->config;
    struct skiff_block *root = program_root(v->p);
    for (int i = 0; i < s->nparams; i++) {
        const struct split_block *k = split_block_on(&s->params[i], server);
        if (k)
            TRY(add_slice(v, &s->params[i], k, err));
    }
    for (int i = 0; i < s->ntables; i++)
        TRY(add_table(s, v, &s->tables[i], err));
    struct skiff_op *op = build_op(root, -1, "listen_and_serv");
    op_set_attr(v->p, op, "optimize_blocks", ATTR_BLOCKS,
                &(struct attr_value){.n = v->nblocks, .ints = v->blocks});
    op_set_string(v->p, op, "endpoint", s->endpoints[server]);
    op_set_int(v->p, op, "Fanin", s->trainers);
    op_set_int(v->p, op, "distributed_mode", SKIFF_SPLIT_GEO);
    op_set_strings(v->p, op, "grad_to_block_id", v->grads.n, v->grads.v);
    op_set_strings(v->p, op, "sparse_grad_to_param", v->sparse.n, v->sparse.v);
    op_set_int(v->p, op, "rpc_get_thread_num", c->rpc_get_thread_num);
    op_set_int(v->p, op, "rpc_send_thread_num", c->rpc_send_thread_num);
    op_set_int(v->p, op, "rpc_prefetch_thread_num", c->rpc_prefetch_thread_num);
    return build_done(root, op, err);
}

enum skiff_status split_geo_server_main(const struct skiff_split *s, struct server_plan *plan,
                                        struct skiff_program **out, struct skiff_error *err)
{
    struct geo_server v = {.plan = plan, .p = program_create()};
    v.p->generation = s->main->generation;
    v.p->paddle_version = s->main->paddle_version;
    v.p->random_seed = s->main->random_seed;
    v.blocks = arena_alloc(&v.p->arena, (size_t)(s->nparams + s->ntables + 1) * sizeof *v.blocks);
    enum skiff_status status = fill_server(s, &v, err);
    if (status < 0)
        program_destroy(v.p);
    else
        *out = v.p;
    return status;
}
