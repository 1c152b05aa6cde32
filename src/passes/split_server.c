/* A server's main program: block 0 holds the variables and listen_and_serv; then come
 *   the learning rate's ops (if there is a schedule), with their own sub-blocks,
 *   one block per parameter slice:  sum of the trainers' gradients, scale by 1/trainers,
 *                                   regularizer, [DC-ASGD], optimizer,
 *   per distributed table: its update, then a block that looks rows up, and one that saves; sparse
 *   tables stand in the plan alone.
 * In the modes without barriers the gradient that arrived is used as it is. */
#include <string.h>

#include "passes/split_parts.h"

struct server_builder {
    const struct skiff_split *s;
    int index;
    /* the plan being written; its last unit belongs to the current block */
    struct server_plan *plan;
    struct skiff_program *p;
    struct skiff_block *root;
    struct str_map here; /* name in the user's program -> name here */
    struct names_list inputs, grad_to_block, sparse_grads, prefetch;
    int32_t *blocks; /* optimize_blocks */
    int nblocks, save_block, ntemps;
};

static struct arena *arena_of(struct server_builder *v)
{
    return &v->p->arena;
}

static void record_block(struct server_builder *v, const struct skiff_block *b)
{
    v->blocks[v->nblocks++] = b->idx;
}

static void record_grad(struct server_builder *v, const char *grad, const struct skiff_block *b)
{
    names_add(arena_of(v), &v->grad_to_block, arena_printf(arena_of(v), "%s:%d", grad, b->idx));
}

/* ---- the plan ---- */

static struct plan_slice *unit_of(struct server_builder *v)
{
    return &v->plan->slices[v->plan->nslices - 1];
}

static void plan_param(struct server_builder *v, const struct split_param *p,
                       const struct split_block *k, const struct skiff_block *b)
{
    struct plan_slice *u = server_plan_add(v->plan, k->param, k->merged, b->idx, false);
    u->sparse = p->rows;
    u->compensate = v->s->config.enable_dc_asgd;
    u->merge_ops = v->s->merge ? 2 : 0;
    plan_names_add(v->plan, &u->pushed, k->merged);
    for (int t = 0; v->s->merge && t < v->s->trainers; t++)
        plan_names_add(v->plan, &u->pushed,
                       arena_printf(arena_of(v), "%s.trainer_%d", k->merged, t));
}

static void plan_var(struct server_builder *v, const char *name)
{
    plan_names_add(v->plan, &unit_of(v)->vars, name);
}

static void plan_row_var(struct server_builder *v, const char *name)
{
    plan_names_add(v->plan, &unit_of(v)->rows, name);
}

/* ---- variables ---- */

static void add_gradient(struct server_builder *v, const struct split_param *p,
                         const struct split_block *k)
{
    const struct skiff_var *g = p->grad_var;
    build_var(v->root, k->merged, g->kind, g->dtype, &k->shape, true);
    str_map_put(&v->here, p->sent, (void *)k->merged);
    if (!v->s->merge) {
        names_add(arena_of(v), &v->inputs, k->merged);
        return;
    }
    for (int t = 0; t < v->s->trainers; t++) {
        const char *name = arena_printf(arena_of(v), "%s.trainer_%d", k->merged, t);
        build_var(v->root, name, g->kind, g->dtype, &k->shape, false);
        names_add(arena_of(v), &v->inputs, name);
    }
}

static void add_param_vars(struct server_builder *v)
{
    const struct skiff_split *s = v->s;
    for (int i = 0; i < s->nparams; i++) {
        const struct split_param *p = &s->params[s->order[i]];
        const struct split_block *k = split_block_on(p, v->index);
        if (!k)
            continue;
        build_var(v->root, k->param, p->var->kind, p->var->dtype, &k->shape, true)->lod_level =
            p->var->lod_level;
        str_map_put(&v->here, p->name, (void *)k->param);
        add_gradient(v, p, k);
        for (int t = 0; split_compensates(s, p) && t < s->trainers; t++)
            build_var(v->root, arena_printf(arena_of(v), "%s.trainer_%d_bak", k->param, t),
                      p->var->kind, p->var->dtype, &k->shape, false);
    }
}

/* The name in this program of the user's variable `name`; creates the variable if it does not exist
 * yet. */
static const char *local_name(struct server_builder *v, const char *name)
{
    const char *here = str_map_get(&v->here, name);
    const struct skiff_var *from = here ? NULL : block_own_var(program_root(v->s->main), name);
    if (from)
        build_clone_var(v->root, from);
    return here ? here : name;
}

/* ---- copies of ops ---- */

static void copy_side(struct server_builder *v, struct skiff_block *to, struct skiff_op *op,
                      const struct skiff_op *from, const struct skiff_block *local, bool input)
{
    const struct op_arg *args = input ? from->ins : from->outs;
    for (int i = 0; i < (input ? from->nins : from->nouts); i++) {
        const char **names = arena_alloc(arena_of(v), ((size_t)args[i].n + 1) * sizeof *names);
        for (int k = 0; k < args[i].n; k++) {
            const char *name = args[i].names[k];
            bool own = (local && block_own_var(local, name)) || !strcmp(name, EMPTY_VAR);
            names[k] = own ? name : local_name(v, name);
        }
        (input ? build_in : build_out)(to, op, args[i].slot, args[i].n, names);
    }
}

static enum skiff_status copy_op(struct server_builder *v, struct skiff_block *to,
                                 const struct skiff_op *from, const struct skiff_block *local,
                                 struct skiff_error *err);

static enum skiff_status copy_sub_block(struct server_builder *v, struct skiff_block *parent,
                                        struct skiff_op *op, const char *attr, int idx,
                                        struct skiff_error *err)
{
    const struct skiff_block *from = v->s->main->blocks[idx];
    struct skiff_block *to = program_add_block(v->p, parent->idx);
    for (size_t i = 0; i < from->vars.count; i++)
        build_clone_var(to, from->vars.entries[i].value);
    op_set_attr(v->p, op, attr, ATTR_BLOCK, &(struct attr_value){.i = to->idx});
    for (int i = 0; i < from->nops; i++)
        TRY(copy_op(v, to, from->ops[i], from, err));
    return SKIFF_OK;
}

static enum skiff_status copy_op(struct server_builder *v, struct skiff_block *to,
                                 const struct skiff_op *from, const struct skiff_block *local,
                                 struct skiff_error *err)
{
    struct skiff_op *op = build_op(to, -1, from->type);
    copy_side(v, to, op, from, local, true);
    copy_side(v, to, op, from, local, false);
    build_copy_attrs(to, op, from);
    for (int i = 0; i < from->nattrs; i++)
        if (from->attrs[i].type == ATTR_BLOCK) {
            int idx = from->attrs[i].value.i;
            if (idx <= 0 || idx >= v->s->main->nblocks)
                return error_set(err, SKIFF_INVALID, "op %s: there is no block %d", from->type,
                                 idx);
            TRY(copy_sub_block(v, to, op, from->attrs[i].name, idx, err));
        }
    return build_done(to, op, err);
}

static enum skiff_status add_rate_block(struct server_builder *v, struct skiff_error *err)
{
    const struct skiff_block *from = program_root(v->s->main);
    struct skiff_block *b = NULL;
    for (int i = 0; i < from->nops; i++) {
        if (!v->s->is_rate[i])
            continue;
        if (!b) {
            b = program_add_block(v->p, v->p->nblocks - 1);
            record_block(v, b);
            v->plan->rate_block = b->idx;
        }
        TRY(copy_op(v, b, from->ops[i], NULL, err));
    }
    return SKIFF_OK;
}

/* ---- one slice ---- */

static enum skiff_status add_merge(struct server_builder *v, struct skiff_block *b,
                                   const struct split_block *k, struct skiff_error *err)
{
    int n = v->s->trainers;
    const char **parts = arena_alloc(arena_of(v), (size_t)n * sizeof *parts);
    for (int t = 0; t < n; t++)
        parts[t] = arena_printf(arena_of(v), "%s.trainer_%d", k->merged, t);
    struct skiff_op *op = build_op(b, -1, "sum");
    build_in(b, op, "X", n, parts);
    build_out1(b, op, "Out", k->merged);
    TRY(build_done(b, op, err));
    op = build_op(b, -1, "scale");
    build_in1(b, op, "X", k->merged);
    build_out1(b, op, "Out", k->merged);
    op_set_float(v->p, op, "scale", (float)(1.0 / n));
    return build_done(b, op, err);
}

static enum skiff_status add_binary(struct server_builder *v, struct skiff_block *b,
                                    const char *type, const char *x, const char *y,
                                    const struct skiff_var *like, const char **out,
                                    struct skiff_error *err)
{
    *out = arena_printf(arena_of(v), "tmp_dc_output_%d", v->ntemps++);
    build_var_like(b, *out, like, false);
    struct skiff_op *op = build_op(b, -1, type);
    build_in1(b, op, "X", x);
    build_in1(b, op, "Y", y);
    build_out1(b, op, "Out", *out);
    return build_done(b, op, err);
}

/* g + (w - w_bak) * g * g, where w_bak is the value that the sender pulled last. */
static enum skiff_status add_delay_compensation(struct server_builder *v, struct skiff_block *b,
                                                const struct split_block *k, const char **grad,
                                                struct skiff_error *err)
{
    const struct skiff_var *param = block_own_var(v->root, k->param);
    const char *bak = arena_printf(arena_of(v), "%s.local_bak", k->param);
    const char *diff, *once, *twice, *g = *grad;
    int n = v->s->trainers;
    const char **baks = arena_alloc(arena_of(v), (size_t)n * sizeof *baks);
    for (int t = 0; t < n; t++) {
        baks[t] = arena_printf(arena_of(v), "%s.trainer_%d_bak", k->param, t);
        plan_names_add(v->plan, &unit_of(v)->backups, baks[t]);
    }
    unit_of(v)->base = arena_strdup(&v->plan->arena, bak);
    build_var_like(b, bak, param, false);
    build_var(b, "@TRAINER_ID@", VAR_LOD_TENSOR, DTYPE_INT64, &(struct shape){1, {1}}, false);
    struct skiff_op *op = build_op(b, -1, "ref_by_trainer_id");
    build_in(b, op, "X", n, baks);
    build_in1(b, op, "TrainerId", "@TRAINER_ID@");
    build_out1(b, op, "Out", bak);
    TRY(build_done(b, op, err));
    TRY(add_binary(v, b, "elementwise_sub", k->param, bak, param, &diff, err));
    TRY(add_binary(v, b, "elementwise_mul", diff, g, param, &once, err));
    TRY(add_binary(v, b, "elementwise_mul", once, g, param, &twice, err));
    return add_binary(v, b, "elementwise_add", g, twice, param, grad, err);
}

/* The gradient that the optimizer reads: the merged one, or the regularizer's result, which has a
 * name of its own for sparse gradients. */
static const char *update_grad(struct server_builder *v, const struct skiff_op *op,
                               const struct split_block *k)
{
    const char *name = op_in1(op, "Grad");
    return name && !str_map_has(&v->here, name) && block_own_var(v->root, name) ? name : k->merged;
}

static void add_update_inputs(struct server_builder *v, struct skiff_block *b, struct skiff_op *op,
                              const struct skiff_op *from, const struct split_param *p,
                              const struct split_block *k)
{
    const struct skiff_block *main = program_root(v->s->main);
    for (int i = 0; i < from->nins; i++) {
        const struct op_arg *in = &from->ins[i];
        const struct skiff_var *var = in->n == 1 ? block_own_var(main, in->names[0]) : NULL;
        if (!strcmp(in->slot, "Param") || !strcmp(in->slot, "Grad") || !var)
            continue;
        struct shape shape = split_accumulator_shape(p, k, var);
        if (!strcmp(in->slot, "LearningRate"))
            shape = var->shape;
        else
            plan_var(v, var->name);
        build_var(v->root, var->name, VAR_LOD_TENSOR, var->dtype, &shape, var_persistable(var));
        build_in1(b, op, in->slot, var->name);
    }
}

static enum skiff_status add_update(struct server_builder *v, struct skiff_block *b,
                                    const struct skiff_op *from, const struct split_param *p,
                                    const struct split_block *k, struct skiff_error *err)
{
    const char *grad = update_grad(v, from, k);
    if (split_compensates(v->s, p))
        TRY(add_delay_compensation(v, b, k, &grad, err));
    struct skiff_op *op = build_op(b, -1, from->type);
    build_in1(b, op, "Param", k->param);
    build_in1(b, op, "Grad", grad);
    plan_var(v, k->param);
    plan_var(v, grad);
    add_update_inputs(v, b, op, from, p, k);
    for (int i = 0; i < from->nouts; i++)
        build_out(b, op, from->outs[i].slot, from->outs[i].n, from->outs[i].names);
    build_out1(b, op, "ParamOut", k->param);
    build_copy_attrs(b, op, from);
    TRY(build_done(b, op, err));
    const struct skiff_var *g = block_find_var(b, grad);
    if (g->kind == VAR_SELECTED_ROWS)
        names_add(arena_of(v), &v->sparse_grads,
                  arena_printf(arena_of(v), "%s:%s", grad, k->param));
    return SKIFF_OK;
}

static enum skiff_status add_param_block(struct server_builder *v, int parent,
                                         const struct split_param *p, const struct split_block *k,
                                         struct skiff_error *err)
{
    const struct skiff_block *from = program_root(v->s->main);
    struct skiff_block *b = program_add_block(v->p, parent);
    record_block(v, b);
    record_grad(v, k->merged, b);
    plan_param(v, p, k, b);
    if (v->s->merge)
        TRY(add_merge(v, b, k, err));
    for (int i = 0; i < from->nops; i++) {
        const char *param, *grad;
        if (!v->s->is_update[i] || !op_role_pair(from->ops[i], &param, &grad) ||
            strcmp(param, p->name))
            continue;
        TRY(op_is_update(from->ops[i]) ? add_update(v, b, from->ops[i], p, k, err)
                                       : copy_op(v, b, from->ops[i], NULL, err));
    }
    return SKIFF_OK;
}

static enum skiff_status add_param_blocks(struct server_builder *v, int parent,
                                          struct skiff_error *err)
{
    const struct skiff_block *from = program_root(v->s->main);
    for (int i = 0; i < from->nops; i++) {
        if (!v->s->is_update[i] || !op_is_update(from->ops[i]))
            continue;
        const struct split_param *p = split_find_param(v->s, op_in1(from->ops[i], "Param"));
        const struct split_block *k = p ? split_block_on(p, v->index) : NULL;
        if (k)
            TRY(add_param_block(v, parent, p, k, err));
    }
    return SKIFF_OK;
}

/* ---- distributed tables ---- */

static void plan_table(struct server_builder *v, const struct split_table *t,
                       const struct skiff_block *b, const char *grad)
{
    const struct skiff_split *s = v->s;
    struct plan_slice *u = server_plan_add(v->plan, t->name, grad, b->idx, true);
    u->sparse = t->grad_var->kind == VAR_SELECTED_ROWS;
    u->merge_ops = s->merge_tables ? 1 : 0;
    plan_names_add(v->plan, &u->pushed, grad);
    for (int k = 0; s->merge_tables && k < s->trainers; k++)
        plan_names_add(v->plan, &u->pushed, split_table_grad(s, t, k, v->index, arena_of(v)));
    if (s->inside) {
        u->delta = arena_strdup(&v->plan->arena, split_table_delta(t, arena_of(v)));
        plan_names_add(v->plan, &u->pushed, u->delta);
    }
    plan_var(v, t->name);
    plan_var(v, grad);
    plan_row_var(v, t->name);
}

/* The gradient that the table's update reads: the received one, or the sum over the trainers. */
static enum skiff_status table_gradient(struct server_builder *v, struct skiff_block *b,
                                        const struct split_table *t, const char **out,
                                        struct skiff_error *err)
{
    const struct skiff_split *s = v->s;
    const struct skiff_var *g = t->grad_var;
    if (!s->merge_tables) {
        *out = split_table_grad(s, t, 0, v->index, arena_of(v));
        build_var_like(v->root, *out, g, true);
        return SKIFF_OK;
    }
    const char **parts = arena_alloc(arena_of(v), (size_t)s->trainers * sizeof *parts);
    for (int k = 0; k < s->trainers; k++) {
        parts[k] = split_table_grad(s, t, k, v->index, arena_of(v));
        build_var_like(v->root, parts[k], g, false);
    }
    build_var_like(v->root, t->grad, g, true);
    struct skiff_op *op = build_op(b, -1, "sum");
    build_in(b, op, "X", s->trainers, parts);
    build_out1(b, op, "Out", t->grad);
    *out = t->grad;
    return build_done(b, op, err);
}

/* Accumulators of a table's rule, with rows as the table's where they have any. */
static void add_table_states(struct server_builder *v, struct skiff_block *b, struct skiff_op *op,
                             const struct split_table *t, const struct shape *rows)
{
    const struct skiff_block *main = program_root(v->s->main);
    for (int i = 0; i < t->update->nins; i++) {
        const struct op_arg *in = &t->update->ins[i];
        const struct skiff_var *var = in->n == 1 ? block_own_var(main, in->names[0]) : NULL;
        if (!var || !strcmp(in->slot, "Param") || !strcmp(in->slot, "Grad") ||
            !strcmp(in->slot, "LearningRate"))
            continue;
        bool by_row = shape_equal(&var->shape, &t->var->shape);
        plan_var(v, var->name);
        if (by_row)
            plan_row_var(v, var->name);
        build_var(v->root, var->name, VAR_LOD_TENSOR, var->dtype, by_row ? rows : &var->shape,
                  var_persistable(var));
        build_in1(b, op, in->slot, var->name);
    }
    for (int i = 0; i < t->update->nouts; i++)
        build_out(b, op, t->update->outs[i].slot, t->update->outs[i].n, t->update->outs[i].names);
    build_copy_attrs(b, op, t->update);
}

static enum skiff_status add_table_update(struct server_builder *v, struct skiff_block *b,
                                          const struct split_table *t, struct skiff_error *err)
{
    struct shape shape = t->var->shape;
    const char *rate = op_in1(t->update, "LearningRate"), *grad;
    shape.dims[0] = (shape.dims[0] + v->s->nendpoints - 1) / v->s->nendpoints;
    build_var(v->root, t->name, VAR_SELECTED_ROWS, t->var->dtype, &shape, true);
    build_clone_var(v->root, block_own_var(program_root(v->s->main), rate));
    TRY(table_gradient(v, b, t, &grad, err));
    plan_table(v, t, b, grad);
    bool own_rule = split_table_rule(v->s);
    struct skiff_op *op = build_op(b, -1, own_rule ? t->update->type : "sgd");
    build_in1(b, op, "Param", t->name);
    build_in1(b, op, "Grad", grad);
    build_in1(b, op, "LearningRate", rate);
    if (own_rule)
        add_table_states(v, b, op, t, &shape);
    build_out1(b, op, "ParamOut", t->name);
    record_grad(v, grad, b);
    return build_done(b, op, err);
}

static enum skiff_status add_table_prefetch(struct server_builder *v,
                                            const struct skiff_block *update,
                                            const struct split_table *t, struct skiff_error *err)
{
    struct skiff_block *b = program_add_block(v->p, update->idx);
    const char *ids = split_table_ids(t, v->index, arena_of(v));
    const char *rows = split_table_rows(t, v->index, arena_of(v));
    struct shape any = {2, {-1, 1}}, wide = {2, {-1, t->var->shape.dims[1]}};
    build_var(v->root, ids, VAR_LOD_TENSOR, DTYPE_INT64, &any, false);
    build_var(v->root, rows, VAR_LOD_TENSOR, t->var->dtype, &wide, false);
    struct skiff_op *op = build_op(b, -1, "lookup_sparse_table");
    build_in1(b, op, "Ids", ids);
    build_in1(b, op, "W", t->name);
    build_out1(b, op, "Out", rows);
    op_set_long(v->p, op, "padding_idx", t->padding);
    names_add(arena_of(v), &v->prefetch, arena_printf(arena_of(v), "%s:%d", ids, b->idx));
    return build_done(b, op, err);
}

static enum skiff_status add_table_save(struct server_builder *v, struct skiff_block *b,
                                        const struct split_table *t, struct skiff_error *err)
{
    struct skiff_op *op = build_op(b, -1, "save");
    build_in1(b, op, "X", t->name);
    op_set_string(v->p, op, "file_path", "none");
    return build_done(b, op, err);
}

/* A sparse table has neither ops nor variables: the server's own rules update it. */
static void plan_features(struct server_builder *v, const struct split_table *t)
{
    const char *grad = split_features_grad(t, arena_of(v));
    struct plan_slice *u = server_plan_add(v->plan, t->name, grad, -1, true);
    u->sparse = true;
    u->sparse_table = arena_strdup(&v->plan->arena, t->sparse_table);
    plan_names_add(v->plan, &u->pushed, grad);
    plan_var(v, t->name);
    plan_row_var(v, t->name);
}

static enum skiff_status add_tables(struct server_builder *v, int parent, struct skiff_error *err)
{
    struct skiff_block *update = NULL;
    for (int i = 0; i < v->s->ntables; i++) {
        if (v->s->tables[i].sparse_table) {
            plan_features(v, &v->s->tables[i]);
            continue;
        }
        update = program_add_block(v->p, parent);
        record_block(v, update);
        TRY(add_table_update(v, update, &v->s->tables[i], err));
        TRY(add_table_prefetch(v, update, &v->s->tables[i], err));
    }
    if (!update)
        return SKIFF_OK;
    struct skiff_block *save = program_add_block(v->p, update->idx);
    struct skiff_var *path = block_add_var(v->root, "kLookupTablePath");
    path->kind = VAR_RAW;
    path->persistable = PRESENCE_TRUE;
    v->save_block = save->idx;
    for (int i = 0; i < v->s->ntables; i++)
        if (!v->s->tables[i].sparse_table)
            TRY(add_table_save(v, save, &v->s->tables[i], err));
    return SKIFF_OK;
}

/* ---- split_server ---- */

static enum skiff_status add_service(struct server_builder *v, struct skiff_error *err)
{
    const struct skiff_split_config *c = &v->s->config;
    struct skiff_op *op = build_op(v->root, -1, "listen_and_serv");
    build_in(v->root, op, "X", v->inputs.n, v->inputs.v);
    op_set_attr(v->p, op, "optimize_blocks", ATTR_BLOCKS,
                &(struct attr_value){.n = v->nblocks, .ints = v->blocks});
    op_set_string(v->p, op, "endpoint", v->s->endpoints[v->index]);
    op_set_int(v->p, op, "pserver_id", v->index);
    op_set_int(v->p, op, "Fanin", v->s->trainers);
    op_set_int(v->p, op, "distributed_mode", (int32_t)v->s->mode);
    op_set_strings(v->p, op, "grad_to_block_id", v->grad_to_block.n, v->grad_to_block.v);
    op_set_strings(v->p, op, "sparse_grad_to_param", v->sparse_grads.n, v->sparse_grads.v);
    op_set_strings(v->p, op, "prefetch_var_name_to_block_id", v->prefetch.n, v->prefetch.v);
    op_set_int(v->p, op, "lr_decay_block_id", v->plan->rate_block);
    op_set_int(v->p, op, "checkpint_block_id", v->save_block);
    op_set_bool(v->p, op, "dc_asgd", c->enable_dc_asgd);
    op_set_int(v->p, op, "rpc_get_thread_num", c->rpc_get_thread_num);
    op_set_int(v->p, op, "rpc_send_thread_num", c->rpc_send_thread_num);
    op_set_int(v->p, op, "rpc_prefetch_thread_num", c->rpc_prefetch_thread_num);
    return build_done(v->root, op, err);
}

static enum skiff_status fill_server(struct server_builder *v, struct skiff_error *err)
{
    add_param_vars(v);
    TRY(add_rate_block(v, err));
    for (int i = 0; i < v->s->counters.n; i++)
        plan_names_add(v->plan, &v->plan->counters, v->s->counters.v[i]);
    int parent = v->p->nblocks - 1;
    TRY(add_param_blocks(v, parent, err));
    TRY(add_tables(v, parent, err));
    if (!v->nblocks) /* no parameter on this server; a server has at least one block */
        record_block(v, program_add_block(v->p, v->p->nblocks - 1));
    return add_service(v, err);
}

enum skiff_status split_server_main(const struct skiff_split *s, struct server_plan *plan,
                                    struct skiff_program **out, struct skiff_error *err)
{
    struct server_builder v = {
        .s = s, .index = plan->index, .plan = plan, .p = program_create(), .save_block = -1};
    int most = program_root(s->main)->nops + s->ntables + 2;
    v.p->generation = s->main->generation;
    v.p->paddle_version = s->main->paddle_version;
    v.p->random_seed = s->main->random_seed;
    v.root = program_root(v.p);
    v.blocks = arena_alloc(&v.p->arena, (size_t)most * sizeof *v.blocks);
    str_map_init(&v.here);
    enum skiff_status status = fill_server(&v, err);
    str_map_deinit(&v.here);
    if (status < 0)
        program_destroy(v.p);
    else
        *out = v.p;
    return status;
}
