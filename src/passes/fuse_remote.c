/* Tables that servers hold: the rows of a batch become a small local table, on which everything
 * that follows - look-ups, pools, their gradients, and the passes that fuse them - works.
 *
 *   remote look-up (W, ids_0, ids_1, ..) -> e_0, e_1, ..
 *   lookup_grad(W, ids_i, de_i) -> dW_i;  sum(dW_0, dW_1, ..) -> dW
 *
 * becomes
 *
 *   pull_rows(W, ids_0, ids_1, ..) -> T (the rows of the distinct ids), rows (these ids), local_i
 *   lookup(T, local_i) -> e_i
 *   lookup_grad(T, local_i, de_i) -> dW_i;  sum(dW_0, dW_1, ..) -> dT
 *   rows_home(dT, rows) -> dW            back to the ids of the complete table
 *
 * So every row is pulled once per batch and table, and the gradient is pushed with every row once.
 * Parts that are not combined in one sum are mapped back one by one.
 *
 * Gradients for servers are sent as soon as they are computed. The send of a bias's gradient would
 * separate the two gradient ops of a fully connected layer, so it moves one op later. */
#include <string.h>

#include "passes/fuse_parts.h"

struct remote_lookup {
    struct skiff_program *p;
    struct skiff_block *b;
    struct skiff_op *lookup; /* the remote one */
    const char *w, *table, *rows;
    const char **local; /* per list of ids */
    const struct op_arg *ids, *outs;
    int64_t padding, height, width;
};

static int64_t attr_long(const struct skiff_op *op, const char *name, int64_t fallback)
{
    const struct op_attr_value *a = op_attr(op, name);
    return a && a->type == ATTR_LONG ? a->value.l : fallback;
}

static const char *add_var(struct remote_lookup *r, const char *name, enum dtype dtype,
                           const struct shape *shape, int lod_level)
{
    struct skiff_var *v = block_add_var(r->b, name);
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = *shape;
    v->lod_level = lod_level;
    return v->name;
}

static bool remote_init(struct remote_lookup *r, struct skiff_program *p, struct skiff_op *lookup,
                        int number)
{
    struct arena *a = &p->arena;
    const struct skiff_var *w = block_find_var(program_root(p), op_in1(lookup, "W"));
    *r = (struct remote_lookup){.p = p, .b = program_root(p), .lookup = lookup};
    r->ids = op_in(lookup, "Ids");
    r->outs = op_out(lookup, "Outputs");
    if (!w || w->shape.ndim != 2 || w->dtype != DTYPE_FP32 || !r->ids || !r->outs ||
        r->ids->n != r->outs->n)
        return false;
    for (int i = 0; i < r->ids->n; i++)
        if (!block_find_var(r->b, r->ids->names[i]) || !block_find_var(r->b, r->outs->names[i]))
            return false;
    r->w = w->name;
    r->height = w->shape.dims[0];
    r->width = w->shape.dims[1];
    r->padding = attr_long(lookup, "padding_idx", -1);
    struct shape table = SHAPE(-1, r->width), list = SHAPE(-1);
    r->table = add_var(r, arena_printf(a, "%s@LOCAL@%d", r->w, number), DTYPE_FP32, &table, 0);
    r->rows = add_var(r, arena_printf(a, "%s@ROWS@%d", r->w, number), DTYPE_INT64, &list, 0);
    r->local = arena_alloc(a, (size_t)(r->ids->n + 1) * sizeof *r->local);
    for (int i = 0; i < r->ids->n; i++) {
        const struct skiff_var *ids = block_find_var(r->b, r->ids->names[i]);
        r->local[i] = add_var(r, arena_printf(a, "%s@LOCAL@%s@%d", ids->name, r->w, number),
                              DTYPE_INT64, &ids->shape, ids->lod_level);
    }
    return true;
}

static int position(const struct skiff_block *b, const struct skiff_op *op)
{
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i] == op)
            return i;
    return -1;
}

/* pull_rows and one look-up per list of ids stand where the remote look-up stood. */
static void replace_lookup(struct remote_lookup *r)
{
    int at = position(r->b, r->lookup);
    const char *type = op_attr(r->lookup, "lookup_table_version")
                           ? op_attr(r->lookup, "lookup_table_version")->value.s
                           : "lookup_table";
    struct skiff_op *pull = block_insert_op(r->b, at, "pull_rows");
    op_copy_attrs(r->p, pull, r->lookup);
    op_set_in(r->p, pull, "Ids", r->ids->n, r->ids->names);
    op_set_in(r->p, pull, "W", 1, &r->w);
    op_set_out(r->p, pull, "Table", 1, &r->table);
    op_set_out(r->p, pull, "Rows", 1, &r->rows);
    op_set_out(r->p, pull, "Local", r->ids->n, r->local);
    for (int i = 0; i < r->ids->n; i++) {
        struct skiff_op *op = block_insert_op(r->b, at + 1 + i, type);
        op_set_in(r->p, op, "W", 1, &r->table);
        op_set_in(r->p, op, "Ids", 1, &r->local[i]);
        op_set_out(r->p, op, "Out", 1, &r->outs->names[i]);
        op_set_bool(r->p, op, "is_sparse", true);
        op_set_int(r->p, op, "op_role", ROLE_FORWARD);
    }
    block_remove_ops(r->b, position(r->b, r->lookup), 1);
}

/* The list of ids that a gradient op of this table belongs to; -1: not one of ours. */
static int gradient_list(const struct remote_lookup *r, const struct skiff_op *op)
{
    if (!op->kind || op->kind->class != CLASS_LOOKUP_GRAD || !same_name(op_in1(op, "W"), r->w) ||
        !attr_true(op, "is_sparse") || attr_long(op, "padding_idx", -1) != r->padding)
        return -1;
    for (int i = 0; i < r->ids->n; i++)
        if (same_name(op_in1(op, "Ids"), r->ids->names[i]))
            return i;
    return -1;
}

/* Does an op that was moved to the local table write this name? */
static bool is_local(const struct remote_lookup *r, const char *name)
{
    for (int i = 0; i < r->b->nops; i++) {
        const struct skiff_op *op = r->b->ops[i];
        if (op->kind && op->kind->class == CLASS_LOOKUP_GRAD &&
            same_name(op_in1(op, "W"), r->table) && same_name(op_out1(op, "W@GRAD"), name))
            return true;
    }
    return false;
}

/* The sum that reads only local parts, each of them read by nobody else. */
static struct skiff_op *whole_sum(const struct remote_lookup *r, const char *part)
{
    struct skiff_op *sum = NULL;
    for (int i = 0; i < r->b->nops; i++) {
        struct skiff_op *op = r->b->ops[i];
        if (!op_reads(op, part))
            continue;
        if (sum || !op->kind || op->kind->class != CLASS_SUM)
            return NULL;
        sum = op;
    }
    const struct op_arg *x = sum ? op_in(sum, "X") : NULL;
    for (int i = 0; x && i < x->n; i++)
        if (!is_local(r, x->names[i]))
            return NULL;
    return x && op_out1(sum, "Out") ? sum : NULL;
}

/* `op` writes `name`: redirects it to a local variable, which rows_home maps back. */
static void bring_home(struct remote_lookup *r, struct skiff_op *op, const char *name)
{
    struct arena *a = &r->p->arena;
    const struct skiff_var *v = block_find_var(r->b, name);
    struct skiff_var *to = block_add_var(r->b, arena_printf(a, "%s@LOCAL", name));
    to->kind = VAR_SELECTED_ROWS;
    to->dtype = DTYPE_FP32;
    to->has_tensor = true;
    to->shape = SHAPE(-1, r->width);
    op_rename_out(r->p, op, name, to->name);
    struct skiff_op *home = block_insert_op(r->b, position(r->b, op) + 1, "rows_home");
    const char *names[] = {to->name, v ? v->name : name};
    op_set_in(r->p, home, "X", 1, &names[0]);
    op_set_in(r->p, home, "Rows", 1, &r->rows);
    op_set_out(r->p, home, "Out", 1, &names[1]);
    op_set_long(r->p, home, "height", r->height);
    op_set_int(r->p, home, "op_role", ROLE_OPTIMIZE); /* merges rows, as far as other ops can see */
}

static void move_gradients(struct remote_lookup *r)
{
    struct skiff_op **grads = arena_alloc(&r->p->arena, (size_t)(r->b->nops + 1) * sizeof *grads);
    struct skiff_op **sums = arena_alloc(&r->p->arena, (size_t)(r->b->nops + 1) * sizeof *sums);
    int n = 0;
    for (int i = 0; i < r->b->nops; i++) {
        struct skiff_op *op = r->b->ops[i];
        int list = gradient_list(r, op);
        const char *out = list >= 0 ? op_out1(op, "W@GRAD") : NULL;
        if (!out || !strcmp(out, EMPTY_VAR))
            continue;
        op_set_in(r->p, op, "W", 1, &r->table);
        op_set_in(r->p, op, "Ids", 1, &r->local[list]);
        op_set_long(r->p, op, "padding_idx", -1);
        grads[n++] = op;
    }
    for (int i = 0; i < n; i++) /* all of them, before names change */
        sums[i] = whole_sum(r, op_out1(grads[i], "W@GRAD"));
    for (int i = 0; i < n; i++) {
        bool done = false;
        for (int k = 0; k < i && sums[i]; k++)
            done |= sums[k] == sums[i];
        struct skiff_op *op = sums[i] ? sums[i] : grads[i];
        if (!done)
            bring_home(r, op, sums[i] ? op_out1(op, "Out") : op_out1(op, "W@GRAD"));
    }
}

/* Does any op notice if `send` moves from before `op` to after it? */
static bool send_may_wait(const struct skiff_op *send, const struct skiff_op *op)
{
    for (int i = 0; i < send->nins; i++)
        for (int k = 0; k < send->ins[i].n; k++)
            if (op_writes(op, send->ins[i].names[k]))
                return false;
    for (int i = 0; i < send->nouts; i++)
        for (int k = 0; k < send->outs[i].n; k++)
            if (op_reads(op, send->outs[i].names[k]) || op_writes(op, send->outs[i].names[k]))
                return false;
    return true;
}

static int sends_after_products(struct skiff_block *b)
{
    int moved = 0;
    for (int i = 0; i + 1 < b->nops; i++) {
        struct skiff_op *send = b->ops[i], *next = b->ops[i + 1];
        if (!send->kind || send->kind->class != CLASS_SEND || !next->kind ||
            next->kind->class != CLASS_MATMUL_GRAD || !send_may_wait(send, next))
            continue;
        b->ops[i] = next;
        b->ops[i + 1] = send;
        moved++;
    }
    return moved;
}

int fuse_remote(struct skiff_program *p)
{
    struct skiff_block *b = program_root(p);
    int n = 0, moved = sends_after_products(b);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        struct remote_lookup r;
        if (!op->kind || op->kind->class != CLASS_REMOTE_LOOKUP || !remote_init(&r, p, op, n))
            continue;
        replace_lookup(&r);
        move_gradients(&r);
        n++;
    }
    return n + moved;
}
