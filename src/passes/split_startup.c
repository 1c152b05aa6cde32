/* Startup programs.
 *
 * The trainer's: the user's program without the initialisation of the optimizer's variables. Remote
 * tables are only declared (fake_init); every other parameter is received from the servers, slice
 * by slice, and joined. The server's: the user's init ops of the variables on this server, with the
 * shapes of the slices. */
#include <string.h>

#include "passes/split_parts.h"

/* ---- trainer ---- */

/* Is the parameter left out when the trainer starts? In GEO, Fluid's list of tables is that of
 * lookup_table with is_sparse. */
static bool is_table(const struct skiff_split *s, const struct split_param *p)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; s->mode == SKIFF_SPLIT_GEO && i < b->nops; i++)
        if (op_is_lookup(b->ops[i]) && op_has(b->ops[i], OP_TRANSPILED_LOOKUP) &&
            attr_bool(b->ops[i], "is_sparse") && !strcmp(op_in1(b->ops[i], "W"), p->name))
            return true;
    return p->remote;
}

static enum skiff_status start_recv(const struct skiff_split *s, struct skiff_block *b,
                                    const struct split_param *p, struct skiff_error *err)
{
    struct arena *a = &b->program->arena;
    const char **names = arena_alloc(a, (size_t)p->nblocks * sizeof *names);
    const char **endpoints = arena_alloc(a, (size_t)p->nblocks * sizeof *endpoints);
    for (int i = 0; i < p->nblocks; i++) {
        names[i] = p->blocks[i].param;
        endpoints[i] = s->endpoints[p->blocks[i].server];
        build_var(b, names[i], p->var->kind, p->var->dtype, &p->blocks[i].shape, false);
    }
    struct skiff_op *op = build_op(b, -1, "recv");
    build_out(b, op, "Out", p->nblocks, names);
    op_set_strings(b->program, op, "epmap", p->nblocks, endpoints);
    op_set_int(b->program, op, "trainer_id", s->trainer_id);
    build_role(b, op, ROLE_RPC, NULL, NULL);
    return build_done(b, op, err);
}

static enum skiff_status start_join(struct skiff_block *b, const struct split_param *p,
                                    struct skiff_error *err)
{
    const char **names = arena_alloc(&b->program->arena, (size_t)p->nblocks * sizeof *names);
    for (int i = 0; i < p->nblocks; i++)
        names[i] = p->blocks[i].param;
    build_var_like(b, p->name, p->var, var_persistable(p->var));
    struct skiff_op *op = build_op(b, -1, "concat");
    build_in(b, op, "X", p->nblocks, names);
    build_out1(b, op, "Out", p->name);
    op_set_int(b->program, op, "axis", 0);
    return build_done(b, op, err);
}

static enum skiff_status start_params(const struct skiff_split *s, struct skiff_block *b,
                                      struct skiff_error *err)
{
    for (int i = 0; i < s->nparams; i++)
        if (!is_table(s, &s->params[i]))
            TRY(start_recv(s, b, &s->params[i], err));
    struct skiff_op *op = build_op(b, -1, "fetch_barrier");
    build_out1(b, op, "Out", split_control_var(b, 0));
    op_set_strings(b->program, op, "endpoints", s->nendpoints, s->endpoints);
    op_set_int(b->program, op, "trainer_id", s->trainer_id);
    build_role(b, op, ROLE_RPC, NULL, NULL);
    TRY(build_done(b, op, err));
    for (int i = 0; i < s->nparams; i++)
        if (!is_table(s, &s->params[i]) && s->params[i].nblocks > 1)
            TRY(start_join(b, &s->params[i], err));
    return SKIFF_OK;
}

static void drop_writers(struct skiff_block *b, const char *name)
{
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_writes(b->ops[i], name))
            block_remove_ops(b, i, 1);
}

/* The table is only declared; its rows stay on the servers. */
static enum skiff_status fake_init(struct skiff_block *b, const char *name, struct skiff_error *err)
{
    int count = 0, at = block_last_writer(b, name);
    for (int i = 0; i < b->nops; i++)
        count += op_writes(b->ops[i], name);
    const struct skiff_var *v = block_own_var(b, name);
    if (count != 1 || !v)
        return error_set(err, SKIFF_INVALID, "table init op num should be 1, now is %d (table %s)",
                         count, name);
    struct skiff_op *op = build_op(b, -1, "fake_init");
    build_out1(b, op, "Out", name);
    op_set_longs(b->program, op, "shape", v->shape.ndim, v->shape.dims);
    TRY(build_done(b, op, err));
    block_remove_ops(b, at, 1);
    return SKIFF_OK;
}

static void drop_optimizer_init(const struct skiff_split *s, struct skiff_block *b)
{
    struct str_map unused;
    str_map_init(&unused);
    split_optimizer_vars(s, &unused);
    for (size_t i = 0; i < unused.count; i++) {
        drop_writers(b, unused.entries[i].key);
        block_remove_var(b, unused.entries[i].key);
    }
    str_map_deinit(&unused);
}

static enum skiff_status finish_trainer(const struct skiff_split *s, struct skiff_block *b,
                                        struct skiff_error *err)
{
    if (s->mode != SKIFF_SPLIT_GEO || s->own)
        drop_optimizer_init(s->own ? s->own : s, b);
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].remote)
            TRY(fake_init(b, s->params[i].name, err));
    for (int i = 0; i < s->ntables; i++)
        TRY(fake_init(b, s->tables[i].name, err));
    return s->mode == SKIFF_SPLIT_GEO ? split_geo_finish_startup(s, b->program, err) : SKIFF_OK;
}

enum skiff_status split_trainer_startup(const struct skiff_split *s, struct skiff_program **out,
                                        struct skiff_error *err)
{
    struct skiff_program *p = split_clone(s->startup);
    enum skiff_status status = start_params(s, program_root(p), err);
    if (status == SKIFF_OK)
        status = finish_trainer(s, program_root(p), err);
    if (status < 0)
        program_destroy(p);
    else
        *out = p;
    return status;
}

/* ---- server ---- */

/* The server's variable for `name`; NULL if it is not on this server. */
static struct skiff_var *local_var(const struct skiff_split *s, int server, struct skiff_block *b,
                                   const char *name)
{
    const struct split_param *p = split_find_param(s, name);
    const struct split_block *block = p ? split_block_on(p, server) : NULL;
    if (p && !block)
        return NULL;
    return block_own_var(b, block ? block->param : name);
}

static void set_shape(struct skiff_program *p, struct skiff_op *op, const struct shape *shape)
{
    int32_t dims[TENSOR_MAX_DIMS];
    for (int i = 0; i < shape->ndim; i++)
        dims[i] = (int32_t)shape->dims[i];
    const struct op_attr_value *a = op_attr(op, "shape");
    if (a->type == ATTR_INTS)
        op_set_ints(p, op, "shape", shape->ndim, dims);
    else
        op_set_longs(p, op, "shape", shape->ndim, shape->dims);
}

/* For constants given element by element (assign_value): the slice's part. */
static void cut_values(struct skiff_program *p, struct skiff_op *op, int64_t whole, int64_t offset,
                       int64_t n)
{
    for (int i = 0; i < op->nattrs; i++) {
        struct op_attr_value a = op->attrs[i];
        struct attr_value part = {.n = (int)n};
        if (a.value.n != whole || !strcmp(a.name, "shape"))
            continue;
        if (a.type == ATTR_FLOATS)
            part.floats = a.value.floats + offset;
        else if (a.type == ATTR_INTS)
            part.ints = a.value.ints + offset;
        else if (a.type == ATTR_LONGS)
            part.longs = a.value.longs + offset;
        else if (a.type == ATTR_BOOLEANS)
            part.bools = a.value.bools + offset;
        else
            continue;
        op_set_attr(p, op, a.name, a.type, &part);
    }
}

/* Changes an init op of the complete variable to one of the slice. */
static enum skiff_status cut_init(const struct skiff_split *s, int server, struct skiff_block *b,
                                  struct skiff_op *op, const struct skiff_op *from,
                                  const char *name, struct skiff_error *err)
{
    const struct op_attr_value *shape = op_attr(from, "shape");
    const struct skiff_var *whole = block_own_var(program_root(s->startup), name);
    const struct skiff_var *to = local_var(s, server, b, name);
    const struct split_param *p = split_find_param(s, name);
    const struct split_block *block = p ? split_block_on(p, server) : NULL;
    if (!whole || !to || shape_equal(&whole->shape, &to->shape))
        return SKIFF_OK;
    if (!shape || (shape->type != ATTR_LONGS && shape->type != ATTR_INTS))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s is cut in blocks, but its initial value comes from op %s, which "
                         "cannot be cut",
                         whole->name, from->type);
    if (p && !shape_equal(&whole->shape, &p->var->shape)) {
        char a[160], m[160];
        return error_set(err, SKIFF_SHAPE,
                         "%s is %s in the startup program, %s in the main program", name,
                         shape_text(&whole->shape, a), shape_text(&p->var->shape, m));
    }
    set_shape(b->program, op, &to->shape);
    if (block) {
        int64_t n = shape_numel(&whole->shape), row = n / whole->shape.dims[0];
        cut_values(b->program, op, n, block->first_row * row, shape_numel(&to->shape));
    }
    return SKIFF_OK;
}

/* The effect of an init op of the user's startup program on this server. */
struct init_reach {
    int here, elsewhere; /* outputs */
    bool reads_elsewhere, writes_only_inputs;
};

static struct init_reach init_reach(const struct skiff_split *s, int server, struct skiff_block *b,
                                    const struct skiff_op *op)
{
    struct init_reach r = {.writes_only_inputs = true};
    for (int i = 0; i < op->nouts; i++)
        for (int k = 0; k < op->outs[i].n; k++) {
            bool here = local_var(s, server, b, op->outs[i].names[k]) != NULL;
            r.here += here;
            r.elsewhere += !here;
            if (here && !op_reads(op, op->outs[i].names[k]))
                r.writes_only_inputs = false;
        }
    for (int i = 0; i < op->nins; i++)
        for (int k = 0; k < op->ins[i].n; k++)
            if (!local_var(s, server, b, op->ins[i].names[k]))
                r.reads_elsewhere = true;
    return r;
}

static void copy_args(const struct skiff_split *s, int server, struct skiff_block *b,
                      struct skiff_op *op, const struct skiff_op *from, bool input)
{
    const struct op_arg *args = input ? from->ins : from->outs;
    for (int i = 0; i < (input ? from->nins : from->nouts); i++) {
        struct names_list here = {0};
        for (int k = 0; k < args[i].n; k++) {
            const struct skiff_var *v = local_var(s, server, b, args[i].names[k]);
            if (v)
                names_add(&b->program->arena, &here, v->name);
        }
        if (input || here.n)
            (input ? build_in : build_out)(b, op, args[i].slot, here.n, here.v);
    }
}

/* The rows of this table are initialised elsewhere. */
static bool starts_empty(const struct skiff_split *s, const struct skiff_op *from)
{
    for (int i = 0; s->inside && i < s->ntables; i++)
        if (op_writes(from, s->tables[i].name))
            return true;
    return false;
}

static enum skiff_status start_empty(struct skiff_block *b, const struct skiff_op *from,
                                     struct skiff_error *err)
{
    const struct skiff_var *v = block_own_var(b, from->outs[0].names[0]);
    struct skiff_op *op = build_op(b, -1, "fill_constant");
    build_out1(b, op, "Out", v->name);
    op_set_longs(b->program, op, "shape", v->shape.ndim, v->shape.dims);
    op_set_int(b->program, op, "dtype", (int32_t)v->dtype);
    op_set_float(b->program, op, "value", 0.0f);
    return build_done(b, op, err);
}

/* An op that only rearranges its inputs (coalesce_tensor) is dropped if a part of them is on
 * another server. */
static enum skiff_status copy_init(const struct skiff_split *s, int server, struct skiff_block *b,
                                   const struct skiff_op *from, struct skiff_error *err)
{
    struct init_reach r = init_reach(s, server, b, from);
    if (!r.here || ((r.reads_elsewhere || r.elsewhere) && r.writes_only_inputs))
        return SKIFF_OK;
    if (starts_empty(s, from))
        return start_empty(b, from, err);
    if (r.reads_elsewhere)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "startup op %s reads variables that do not live on this server",
                         from->type);
    struct skiff_op *op = build_op(b, -1, from->type);
    copy_args(s, server, b, op, from, true);
    copy_args(s, server, b, op, from, false);
    build_copy_attrs(b, op, from);
    for (int i = 0; i < from->nouts; i++)
        if (from->outs[i].n == 1)
            TRY(cut_init(s, server, b, op, from, from->outs[i].names[0], err));
    return build_done(b, op, err);
}

/* DC-ASGD: the initial value of each trainer's last pull. */
static enum skiff_status init_backups(const struct skiff_split *s, int server,
                                      struct skiff_block *b, struct skiff_error *err)
{
    for (int i = 0; i < s->nparams; i++) {
        const struct split_param *p = &s->params[s->order[i]];
        const struct split_block *k = split_compensates(s, p) ? split_block_on(p, server) : NULL;
        for (int t = 0; k && t < s->trainers; t++) {
            struct skiff_op *op = build_op(b, -1, "assign");
            build_in1(b, op, "X", k->param);
            build_out1(b, op, "Out",
                       arena_printf(&b->program->arena, "%s.trainer_%d_bak", k->param, t));
            TRY(build_done(b, op, err));
        }
    }
    return SKIFF_OK;
}

static enum skiff_status fill_server(const struct skiff_split *s, int server, struct skiff_block *b,
                                     struct skiff_error *err)
{
    const struct skiff_block *from = program_root(s->startup);
    for (int i = 0; i < from->nops; i++)
        TRY(copy_init(s, server, b, from->ops[i], err));
    return s->config.enable_dc_asgd ? init_backups(s, server, b, err) : SKIFF_OK;
}

enum skiff_status split_server_startup(const struct skiff_split *s, int server,
                                       const struct skiff_program *main, struct skiff_program **out,
                                       struct skiff_error *err)
{
    struct skiff_program *p = program_create();
    const struct str_map *vars = &program_root(main)->vars;
    p->generation = main->generation;
    p->paddle_version = main->paddle_version;
    p->random_seed = s->startup->random_seed;
    for (size_t i = 0; i < vars->count; i++)
        build_clone_var(program_root(p), vars->entries[i].value);
    enum skiff_status status = fill_server(s, server, program_root(p), err);
    if (status < 0)
        program_destroy(p);
    else
        *out = p;
    return status;
}
