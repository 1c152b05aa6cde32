/* The trainer's main program: forward and backward are unchanged; gradients are sent as soon as
 * they are computed; parameters are received; the optimizer is removed.
 *
 *   after the op that writes a gradient   [split_byref | split_selected_rows]  send
 *   at the end                            [send of the step counter]  [send_barrier]
 *                                         recv ...  [fetch_barrier]  concat ...
 *
 * With runtime_split_send_recv the sends name the slices (send_varnames, sections) and cut at run
 * time, so no ops cut or join. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "passes/split_parts.h"

struct trainer_builder {
    const struct skiff_split *s;
    struct skiff_program *p;
    struct skiff_block *b;
    int ncontrol;
    const char **sent;       /* by parameter: what its send writes */
    struct names_list waits; /* what a barrier waits for */
};

const char *split_control_var(struct skiff_block *b, int n)
{
    struct skiff_var *v = block_add_var(b, arena_printf(&b->program->arena, "__control_var@%d", n));
    v->persistable = PRESENCE_FALSE;
    return v->name;
}

static const char *next_control(struct trainer_builder *t)
{
    return split_control_var(t->b, t->ncontrol++);
}

static bool by_runtime(const struct trainer_builder *t)
{
    return t->s->config.runtime_split_send_recv;
}

/* ---- gradients out ---- */

static void make_block_vars(struct trainer_builder *t, const struct split_param *p)
{
    for (int i = 0; p->nblocks > 1 && i < p->nblocks; i++) {
        const struct split_block *k = &p->blocks[i];
        build_var(t->b, k->param, p->var->kind, p->var->dtype, &k->shape, false);
        build_var(t->b, k->grad, p->grad_var->kind, p->grad_var->dtype, &k->shape, false);
    }
}

static const char **block_names(struct trainer_builder *t, const struct split_param *p, bool grads)
{
    const char **names = arena_alloc(&t->p->arena, (size_t)p->nblocks * sizeof *names);
    for (int i = 0; i < p->nblocks; i++)
        names[i] = grads ? p->blocks[i].grad : p->blocks[i].param;
    return names;
}

static void set_endpoints(struct trainer_builder *t, struct skiff_op *op, const char *attr,
                          const struct split_param *p)
{
    const char **names = arena_alloc(&t->p->arena, (size_t)p->nblocks * sizeof *names);
    for (int i = 0; i < p->nblocks; i++)
        names[i] = t->s->endpoints[p->blocks[i].server];
    op_set_strings(t->p, op, attr, p->nblocks, names);
}

static void set_sections(struct trainer_builder *t, struct skiff_op *op, const char *attr,
                         enum attr_type type, const struct split_param *p)
{
    int64_t *rows = arena_alloc(&t->p->arena, (size_t)p->nblocks * sizeof *rows);
    int32_t *rows32 = arena_alloc(&t->p->arena, (size_t)p->nblocks * sizeof *rows32);
    for (int i = 0; i < p->nblocks; i++) {
        rows[i] = p->blocks[i].shape.dims[0];
        rows32[i] = (int32_t)rows[i];
    }
    if (type == ATTR_LONGS)
        op_set_longs(t->p, op, attr, p->nblocks, rows);
    else
        op_set_ints(t->p, op, attr, p->nblocks, rows32);
}

static enum skiff_status cut_gradient(struct trainer_builder *t, int at,
                                      const struct split_param *p, struct skiff_error *err)
{
    struct skiff_op *op = build_op(t->b, at, p->rows ? "split_selected_rows" : "split_byref");
    build_in1(t->b, op, "X", p->sent);
    build_out(t->b, op, "Out", p->nblocks, block_names(t, p, true));
    if (p->rows)
        set_sections(t, op, "height_sections", ATTR_LONGS, p);
    else
        set_sections(t, op, "sections", ATTR_INTS, p);
    build_role(t->b, op, ROLE_DIST, NULL, NULL);
    return build_done(t->b, op, err);
}

/* The servers' names of the slices: with the trainer's number if the servers sum. */
static void name_sent(struct trainer_builder *t, struct skiff_op *op, const struct split_param *p)
{
    const char **names = arena_alloc(&t->p->arena, (size_t)p->nblocks * sizeof *names);
    for (int i = 0; i < p->nblocks; i++)
        names[i] = t->s->merge ? arena_printf(&t->p->arena, "%s.trainer_%d", p->blocks[i].grad,
                                              t->s->trainer_id)
                               : p->blocks[i].grad;
    op_set_strings(t->p, op, "send_varnames", p->nblocks, names);
    set_sections(t, op, "sections", ATTR_LONGS, p);
}

static enum skiff_status send_gradient(struct trainer_builder *t, const struct split_param *p,
                                       const char *control, struct skiff_error *err)
{
    int at = block_last_writer(t->b, p->sent) + 1;
    if (!at)
        return error_set(err, SKIFF_INVALID, "no op computes %s, the gradient of %s", p->sent,
                         p->name);
    make_block_vars(t, p);
    if (p->nblocks > 1 && !by_runtime(t))
        TRY(cut_gradient(t, at++, p, err));
    struct skiff_op *op = build_op(t->b, at, "send");
    if (by_runtime(t)) {
        build_in1(t->b, op, "X", p->sent);
        name_sent(t, op, p);
    } else {
        build_in(t->b, op, "X", p->nblocks, block_names(t, p, true));
    }
    build_out1(t->b, op, "Out", control);
    set_endpoints(t, op, "epmap", p);
    build_role(t->b, op, ROLE_RPC, p->name, p->sent);
    return build_done(t->b, op, err);
}

static enum skiff_status send_gradients(struct trainer_builder *t, struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    t->sent = arena_alloc(&t->p->arena, (size_t)(s->nparams + 1) * sizeof *t->sent);
    for (int k = 0; k < s->nparams; k++) {
        int i = s->order[k];
        t->sent[i] = next_control(t);
        names_add(&t->p->arena, &t->waits, t->sent[i]);
        TRY(send_gradient(t, &s->params[i], t->sent[i], err));
    }
    return SKIFF_OK;
}

/* Async with a learning rate schedule: "one more step" to every server. */
static enum skiff_status send_counter(struct trainer_builder *t, struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    if (!s->counter)
        return SKIFF_OK;
    const char *control = next_control(t);
    struct skiff_op *op = build_op(t->b, -1, "send");
    build_in1(t->b, op, "X", s->counter);
    build_out1(t->b, op, "Out", control);
    op_set_strings(t->p, op, "epmap", s->nendpoints, s->endpoints);
    if (by_runtime(t))
        op_set_strings(t->p, op, "send_varnames", 1, &s->counter);
    op_set_bool(t->p, op, "merge_add", true);
    op_set_bool(t->p, op, "use_send_handler", false);
    build_role(t->b, op, ROLE_RPC, s->counter, s->counter);
    names_add(&t->p->arena, &t->waits, control);
    return build_done(t->b, op, err);
}

static enum skiff_status send_barrier(struct trainer_builder *t, const char *control,
                                      struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    struct skiff_op *op = build_op(t->b, -1, "send_barrier");
    build_in(t->b, op, "X", t->waits.n, t->waits.v);
    build_out1(t->b, op, "Out", control);
    op_set_strings(t->p, op, "endpoints", s->nendpoints, s->endpoints);
    op_set_int(t->p, op, "trainer_id", s->trainer_id);
    op_set_bool(t->p, op, "half_async", !s->sync);
    build_role(t->b, op, ROLE_RPC, NULL, NULL);
    return build_done(t->b, op, err);
}

/* ---- parameters in ---- */

static enum skiff_status recv_param(struct trainer_builder *t, const struct split_param *p,
                                    const char *after, struct names_list *received,
                                    struct skiff_error *err)
{
    struct skiff_op *op = build_op(t->b, -1, "recv");
    const char **blocks = block_names(t, p, false);
    build_in1(t->b, op, "X", after);
    if (by_runtime(t)) {
        build_out1(t->b, op, "Out", p->name);
        op_set_strings(t->p, op, "recv_varnames", p->nblocks, blocks);
        names_add(&t->p->arena, received, p->name);
    } else {
        build_out(t->b, op, "Out", p->nblocks, blocks);
        for (int i = 0; i < p->nblocks; i++)
            names_add(&t->p->arena, received, blocks[i]);
    }
    set_endpoints(t, op, "epmap", p);
    op_set_int(t->p, op, "trainer_id", t->s->trainer_id);
    build_role(t->b, op, ROLE_RPC, p->name, p->sent);
    return build_done(t->b, op, err);
}

static enum skiff_status fetch_barrier(struct trainer_builder *t, const char *after,
                                       const struct names_list *received, struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    struct skiff_op *op = build_op(t->b, -1, "fetch_barrier");
    build_in1(t->b, op, "X", after);
    build_out(t->b, op, "Out", received->n, received->v);
    op_set_strings(t->p, op, "endpoints", s->nendpoints, s->endpoints);
    op_set_int(t->p, op, "trainer_id", s->trainer_id);
    build_role(t->b, op, ROLE_RPC, NULL, NULL);
    return build_done(t->b, op, err);
}

static enum skiff_status join_blocks(struct trainer_builder *t, const struct split_param *p,
                                     struct skiff_error *err)
{
    struct skiff_op *op = build_op(t->b, -1, "concat");
    build_in(t->b, op, "X", p->nblocks, block_names(t, p, false));
    build_out1(t->b, op, "Out", p->name);
    op_set_int(t->p, op, "axis", 0);
    build_role(t->b, op, ROLE_DIST, NULL, NULL);
    return build_done(t->b, op, err);
}

static enum skiff_status recv_params(struct trainer_builder *t, const char *barrier,
                                     struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    struct names_list received = {0};
    for (int i = 0; i < s->nparams; i++)
        if (!s->params[i].remote)
            TRY(recv_param(t, &s->params[i], s->sync ? barrier : t->sent[i], &received, err));
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].remote)
            TRY(split_merge_lookups(s, t->b, &s->params[i], err));
    if (s->sync)
        TRY(fetch_barrier(t, barrier, &received, err));
    for (int i = 0; i < s->nparams && !by_runtime(t); i++)
        if (!s->params[i].remote && s->params[i].nblocks > 1)
            TRY(join_blocks(t, &s->params[i], err));
    return SKIFF_OK;
}

/* ---- removals ---- */

void split_optimizer_vars(const struct skiff_split *s, struct str_map *out)
{
    const struct skiff_block *b = program_root(s->main);
    for (int i = 0; i < b->nops; i++)
        for (int k = 0; s->is_update[i] && k < b->ops[i]->nins; k++)
            for (int n = 0; n < b->ops[i]->ins[k].n; n++)
                str_map_put(out, b->ops[i]->ins[k].names[n], out);
    for (int i = 0; i < b->nops; i++) {
        const char *param, *grad;
        const struct skiff_op *op = b->ops[i];
        if (s->is_update[i] && op_role_pair(op, &param, &grad)) {
            str_map_remove(out, param);
            str_map_remove(out, grad);
        }
        bool gone = s->is_update[i] || (s->is_rate[i] && !s->config.tables_only);
        for (size_t v = out->count; !gone && v-- > 0;)
            if (op_reads(op, out->entries[v].key) || op_writes(op, out->entries[v].key))
                str_map_remove(out, out->entries[v].key);
    }
}

static void drop_optimizer(struct trainer_builder *t, struct skiff_op *const *gone, int ngone)
{
    struct str_map unused;
    for (int i = 0; i < ngone; i++)
        block_remove_ops(t->b, block_position(t->b, gone[i]), 1);
    str_map_init(&unused);
    split_optimizer_vars(t->s, &unused);
    for (size_t i = 0; i < unused.count; i++)
        block_remove_var(t->b, unused.entries[i].key);
    str_map_deinit(&unused);
}

static enum skiff_status exchange(struct trainer_builder *t, struct skiff_error *err)
{
    const struct skiff_split *s = t->s;
    bool half = by_runtime(t) && s->config.half_async;
    const char **tables = arena_alloc(&t->p->arena, (size_t)(s->ntables + 1) * sizeof *tables);
    TRY(send_gradients(t, err));
    for (int i = 0; i < s->ntables && s->sync; i++) {
        tables[i] = next_control(t);
        names_add(&t->p->arena, &t->waits, tables[i]);
    }
    TRY(send_counter(t, err));
    const char *barrier = s->sync || half ? next_control(t) : NULL;
    if (barrier)
        TRY(send_barrier(t, barrier, err));
    TRY(recv_params(t, barrier, err));
    for (int i = 0; i < s->ntables; i++) {
        const struct split_table *table = &s->tables[i];
        if (!table->sparse_table) {
            TRY(split_table_lookups(s, t->b, table, tables[i], err));
            continue;
        }
        TRY(split_features_lookups(s, t->b, table, err));
        TRY(split_features_push(s, t->b, table, tables[i], err));
    }
    return SKIFF_OK;
}

/* A schedule whose counter the servers sum (split.c) counts the trainer's own steps again. */
static enum skiff_status count_here(struct trainer_builder *t, struct skiff_error *err)
{
    for (int i = 0; i < t->b->nops; i++) {
        const struct skiff_op *sum = t->b->ops[i];
        if (!t->s->is_rate[i] || !op_is(sum, CLASS_SUM) || !op_reads(sum, t->s->counter))
            continue;
        const char *name = op_out1(sum, "Out");
        block_remove_ops(t->b, i, 1);
        struct skiff_op *op = build_op(t->b, i, "increment");
        build_in1(t->b, op, "X", name);
        build_out1(t->b, op, "Out", name);
        op_set_float(t->p, op, "step", 1.0f);
        op_set_int(t->p, op, "op_role", ROLE_LRSCHED);
        TRY(build_done(t->b, op, err));
    }
    return SKIFF_OK;
}

enum skiff_status split_trainer_main(const struct skiff_split *s, struct skiff_program **out,
                                     struct skiff_error *err)
{
    struct trainer_builder t = {.s = s, .p = split_clone(s->main)};
    t.b = program_root(t.p);
    struct skiff_op **gone = mem_alloc_or_die(((size_t)t.b->nops + 1) * sizeof *gone);
    int ngone = 0;
    for (int i = 0; i < t.b->nops; i++)
        if (s->is_update[i] || (s->is_rate[i] && !s->config.tables_only))
            gone[ngone++] = t.b->ops[i];
    enum skiff_status status = SKIFF_OK;
    if (s->config.tables_only && s->counter)
        status = count_here(&t, err);
    if (status == SKIFF_OK)
        status = exchange(&t, err);
    if (status == SKIFF_OK) {
        drop_optimizer(&t, gone, ngone);
        split_features_drop(s, t.b);
        *out = t.p;
    } else {
        program_destroy(t.p);
    }
    free(gone);
    return status;
}
