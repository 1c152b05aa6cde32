/* Look-ups of tables that a trainer does not hold.
 *
 * A table cut by rows (remote): all its look-ups become one distributed_lookup_table, right after
 * the last op that computes their ids. If a row is needed before that, each look-up is replaced at
 * its own position. A sparse table is looked up by the same op, with `shards`.
 *
 * A distributed table (server = id % servers): split_ids, prefetch and merge_ids replace all its
 * look-ups; the rows of the gradient are cut by id, too. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "passes/split_parts.h"

struct lookups {
    struct skiff_block *b;
    struct skiff_op **ops; /* look-ups of one table that can be combined */
    int n;
    const char **ids, **outs;
};

static void lookups_init(struct lookups *l, struct skiff_block *b)
{
    *l = (struct lookups){.b = b, .ops = mem_alloc_or_die(((size_t)b->nops + 1) * sizeof *l->ops)};
}

static void lookups_deinit(struct lookups *l)
{
    free(l->ops);
}

static void lookups_name(struct lookups *l)
{
    struct arena *a = &l->b->program->arena;
    l->ids = arena_alloc(a, (size_t)l->n * sizeof *l->ids);
    l->outs = arena_alloc(a, (size_t)l->n * sizeof *l->outs);
    for (int i = 0; i < l->n; i++) {
        l->ids[i] = op_in1(l->ops[i], "Ids");
        l->outs[i] = op_out1(l->ops[i], "Out");
    }
}

static void lookups_remove(struct lookups *l)
{
    for (int i = 0; i < l->n; i++)
        block_remove_ops(l->b, block_position(l->b, l->ops[i]), 1);
}

/* The position after all ids, in the block without the look-ups; -1 if a row is read earlier. */
static int lookups_index(const struct lookups *l)
{
    int at = 0;
    for (int i = 0; i < l->n; i++) {
        int made = block_last_writer(l->b, l->ids[i]) + 1;
        at = made > at ? made : at;
    }
    for (int k = 0; k < at; k++)
        for (int i = 0; i < l->n; i++)
            if (op_reads(l->b->ops[k], l->outs[i]))
                return -1;
    return at;
}

/* ---- one op for all look-ups ---- */

struct table_location { /* location of a table's rows */
    const char *table;
    int n; /* slices */
    const char **names, **endpoints;
    int64_t *rows; /* of each; NULL: by id */
    int shards;    /* by id: a sparse table */
};

static enum skiff_status insert_lookup(const struct skiff_split *s, struct lookups *l, int at,
                                       const struct table_location *r, struct skiff_error *err)
{
    struct skiff_program *pr = l->b->program;
    const struct skiff_op *first = l->ops[0];
    struct skiff_op *op = build_op(l->b, at, "distributed_lookup_table");
    build_in(l->b, op, "Ids", l->n, l->ids);
    build_in1(l->b, op, "W", r->table);
    build_out(l->b, op, "Outputs", l->n, l->outs);
    op_set_strings(pr, op, "table_names", r->n, r->names);
    if (r->rows)
        op_set_longs(pr, op, "height_sections", r->n, r->rows);
    op_set_strings(pr, op, "endpoints", r->n, r->endpoints);
    op_set_long(pr, op, "padding_idx", op_padding(first));
    op_set_int(pr, op, "trainer_id", s->trainer_id);
    op_set_string(pr, op, "lookup_table_version", first->type);
    if (r->shards)
        op_set_int(pr, op, "shards", r->shards);
    return build_done(l->b, op, err);
}

static bool same_lookup(const struct skiff_op *a, const struct skiff_op *b)
{
    return !strcmp(a->type, b->type) && op_padding(a) == op_padding(b);
}

/* The next look-up of the table and all others like it. */
static bool next_group(struct lookups *l, const char *table)
{
    l->n = 0;
    for (int i = 0; i < l->b->nops; i++) {
        struct skiff_op *op = l->b->ops[i];
        if (op_is_lookup(op) && !strcmp(op_in1(op, "W"), table) &&
            (!l->n || same_lookup(l->ops[0], op)))
            l->ops[l->n++] = op;
    }
    return l->n > 0;
}

static enum skiff_status replace_one_by_one(const struct skiff_split *s, struct lookups *l,
                                            const struct table_location *r, struct skiff_error *err)
{
    for (int i = 0; i < l->n; i++) {
        struct lookups one = {.b = l->b, .ops = &l->ops[i], .n = 1};
        int at = block_position(l->b, l->ops[i]);
        lookups_name(&one);
        block_remove_ops(l->b, at, 1);
        TRY(insert_lookup(s, &one, at, r, err));
    }
    return SKIFF_OK;
}

static bool can_join(struct lookups *l)
{
    struct skiff_op **kept = mem_alloc_or_die((size_t)l->b->nops * sizeof *kept);
    int n = l->b->nops;
    memcpy(kept, l->b->ops, (size_t)n * sizeof *kept);
    lookups_remove(l);
    bool can = lookups_index(l) >= 0;
    memcpy(l->b->ops, kept, (size_t)n * sizeof *kept);
    l->b->nops = n;
    free(kept);
    return can;
}

static enum skiff_status merge_lookups(const struct skiff_split *s, struct skiff_block *b,
                                       const struct table_location *r, struct skiff_error *err)
{
    struct lookups l;
    enum skiff_status status = SKIFF_OK;
    lookups_init(&l, b);
    while (status == SKIFF_OK && next_group(&l, r->table)) {
        lookups_name(&l);
        if (!can_join(&l)) {
            status = replace_one_by_one(s, &l, r, err);
            continue;
        }
        lookups_remove(&l);
        status = insert_lookup(s, &l, lookups_index(&l), r, err);
    }
    lookups_deinit(&l);
    return status;
}

enum skiff_status split_merge_lookups(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_param *p, struct skiff_error *err)
{
    struct arena *a = &b->program->arena;
    struct table_location r = {.table = p->name,
                               .n = p->nblocks,
                               .names = arena_alloc(a, (size_t)p->nblocks * sizeof *r.names),
                               .endpoints =
                                   arena_alloc(a, (size_t)p->nblocks * sizeof *r.endpoints),
                               .rows = arena_alloc(a, (size_t)p->nblocks * sizeof *r.rows)};
    for (int i = 0; i < p->nblocks; i++) {
        r.names[i] = p->blocks[i].param;
        r.endpoints[i] = s->endpoints[p->blocks[i].server];
        r.rows[i] = p->blocks[i].shape.dims[0];
    }
    return merge_lookups(s, b, &r, err);
}

enum skiff_status split_features_lookups(const struct skiff_split *s, struct skiff_block *b,
                                         const struct split_table *t, struct skiff_error *err)
{
    struct arena *a = &b->program->arena;
    struct table_location r = {.table = t->name,
                               .n = s->nendpoints,
                               .names = arena_alloc(a, (size_t)s->nendpoints * sizeof *r.names),
                               .endpoints = s->endpoints,
                               .shards = t->shards};
    for (int i = 0; i < r.n; i++)
        r.names[i] = t->name;
    return merge_lookups(s, b, &r, err);
}

/* ---- cut by id ---- */

const char *split_table_ids(const struct split_table *t, int i, struct arena *a)
{
    return arena_printf(a, "%sprefetch_compress_in_tmp_%d", t->prefix, i);
}

const char *split_table_rows(const struct split_table *t, int i, struct arena *a)
{
    return arena_printf(a, "%sprefetch_compress_out_tmp_%d", t->prefix, i);
}

const char *split_table_grad(const struct skiff_split *s, const struct split_table *t, int trainer,
                             int i, struct arena *a)
{
    if (s->merge_tables)
        return arena_printf(a, "%s.trainer_%d.pserver_%d", t->grad, trainer, i);
    return arena_printf(a, "%s.pserver_%d", t->grad, i);
}

const char *split_table_delta(const struct split_table *t, struct arena *a)
{
    return arena_printf(a, "%s.delta", t->name);
}

static enum skiff_status prefetch_rows(const struct skiff_split *s, struct lookups *l, int at,
                                       const struct split_table *t, struct skiff_error *err)
{
    struct skiff_block *b = l->b;
    struct arena *a = &b->program->arena;
    int n = s->nendpoints;
    const struct skiff_var *ids = block_find_var(b, l->ids[0]),
                           *out = block_find_var(b, l->outs[0]);
    const char **in = arena_alloc(a, (size_t)n * sizeof *in);
    const char **rows = arena_alloc(a, (size_t)n * sizeof *rows);
    for (int i = 0; i < n; i++) {
        in[i] = split_table_ids(t, i, a);
        rows[i] = split_table_rows(t, i, a);
        build_var_like(b, in[i], ids, false);
        build_var_like(b, rows[i], out, false);
    }
    struct skiff_op *op = build_op(b, at, "split_ids");
    build_in(b, op, "Ids", l->n, l->ids);
    build_out(b, op, "Out", n, in);
    TRY(build_done(b, op, err));
    op = build_op(b, at + 1, "prefetch");
    build_in(b, op, "X", n, in);
    build_out(b, op, "Out", n, rows);
    op_set_strings(b->program, op, "epmap", n, s->endpoints);
    TRY(build_done(b, op, err));
    op = build_op(b, at + 2, "merge_ids");
    build_in(b, op, "Ids", l->n, l->ids);
    build_in(b, op, "Rows", n, in);
    build_in(b, op, "X", n, rows);
    build_out(b, op, "Out", l->n, l->outs);
    return build_done(b, op, err);
}

static enum skiff_status send_table_grad(const struct skiff_split *s, struct skiff_block *b,
                                         const struct split_table *t, const char *control,
                                         struct skiff_error *err)
{
    struct arena *a = &b->program->arena;
    int n = s->nendpoints, at = block_last_writer(b, t->grad) + 1;
    const char **parts = arena_alloc(a, (size_t)n * sizeof *parts);
    if (!at)
        return error_set(err, SKIFF_INVALID, "no op computes %s, the gradient of %s", t->grad,
                         t->name);
    for (int i = 0; i < n; i++) {
        parts[i] = split_table_grad(s, t, s->trainer_id, i, a);
        build_var_like(b, parts[i], t->grad_var, false);
    }
    struct skiff_op *op = build_op(b, at, "split_ids");
    build_in1(b, op, "Ids", t->grad);
    build_out(b, op, "Out", n, parts);
    build_role(b, op, ROLE_DIST, NULL, NULL);
    TRY(build_done(b, op, err));
    op = build_op(b, at + 1, "send");
    build_in(b, op, "X", n, parts);
    build_out(b, op, "Out", control ? 1 : 0, &control);
    op_set_strings(b->program, op, "epmap", n, s->endpoints);
    op_set_int(b->program, op, "trainer_id", s->trainer_id);
    build_role(b, op, ROLE_RPC, t->name, t->grad);
    return build_done(b, op, err);
}

enum skiff_status split_table_lookups(const struct skiff_split *s, struct skiff_block *b,
                                      const struct split_table *t, const char *control,
                                      struct skiff_error *err)
{
    struct lookups l;
    lookups_init(&l, b);
    for (int i = 0; i < b->nops; i++)
        if (op_is_lookup(b->ops[i]) && !strcmp(op_in1(b->ops[i], "W"), t->name))
            l.ops[l.n++] = b->ops[i];
    int first = block_position(b, l.ops[0]);
    lookups_name(&l);
    lookups_remove(&l);
    int at = lookups_index(&l);
    enum skiff_status status;
    if (at < 0)
        status = error_set(err, SKIFF_UNSUPPORTED,
                           "distributed table %s: rows of one look-up are needed to make the ids "
                           "of another",
                           t->name);
    else
        status = prefetch_rows(s, &l, at > first ? at : first, t, err);
    lookups_deinit(&l);
    return status < 0 ? status : send_table_grad(s, b, t, control, err);
}
