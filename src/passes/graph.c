/* Writers and readers by name, in one pass over the program (graph.h).
 *
 * Names that must stay as they are count as kept: persistable variables, what is fetched, whatever
 * a sub-block or an op that runs one touches. Positions are looked up by the op's address; an op
 * that was replaced is not found any more, and no pass matches it again. */
#include "passes/graph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct graph_name *name_of(struct graph *g, const char *name)
{
    struct graph_name *n = str_map_get(&g->names, name);
    if (!n) {
        n = arena_alloc(&g->arena, sizeof(*n));
        str_map_put(&g->names, name, n);
    }
    return n;
}

static void uses_add(struct graph *g, struct graph_uses *u, struct skiff_op *op, int at)
{
    if (u->n == u->cap) {
        int cap = u->cap ? 2 * u->cap : 2;
        struct graph_use *bigger = arena_alloc(&g->arena, (size_t)cap * sizeof(*bigger));
        if (u->n)
            memcpy(bigger, u->use, (size_t)u->n * sizeof(*bigger));
        u->use = bigger;
        u->cap = cap;
    }
    u->use[u->n++] = (struct graph_use){op, at};
}

static void record_op(struct graph *g, struct skiff_op *op, int at)
{
    bool keep = at < 0 || (op->kind && (op->kind->flags & OP_RUNS_BLOCK));
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? op->outs : op->ins;
        int n = side ? op->nouts : op->nins;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < args[i].n; j++) {
                struct graph_name *name = name_of(g, args[i].names[j]);
                name->kept |= keep;
                uses_add(g, side ? &name->writers : &name->readers, op, at);
            }
    }
}

void graph_init(struct graph *g, struct skiff_program *p, const char *const *keep, int nkeep)
{
    memset(g, 0, sizeof(*g));
    g->program = p;
    g->block = program_root(p);
    g->nops = g->block->nops;
    arena_init(&g->arena);
    str_map_init(&g->names);
    id_map_init(&g->positions);
    id_map_reset(&g->positions, (size_t)g->nops + 1);
    for (int i = 0; i < g->nops; i++) {
        bool fresh;
        id_map_add(&g->positions, (int64_t)(intptr_t)g->block->ops[i], &fresh);
        record_op(g, g->block->ops[i], i);
    }
    for (int b = 1; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            record_op(g, p->blocks[b]->ops[i], -1);
    for (int i = 0; i < nkeep; i++)
        name_of(g, keep[i])->kept = true;
    const struct str_map *vars = &g->block->vars;
    for (size_t i = 0; i < vars->count; i++) {
        const struct skiff_var *v = vars->entries[i].value;
        if (var_persistable(v))
            name_of(g, v->name)->kept = true;
    }
}

void graph_deinit(struct graph *g)
{
    id_map_deinit(&g->positions);
    str_map_deinit(&g->names);
    arena_deinit(&g->arena);
}

int graph_position(const struct graph *g, const struct skiff_op *op)
{
    uint32_t at;
    if (!id_map_find(&g->positions, (int64_t)(intptr_t)op, &at))
        return -1;
    return g->block->ops[at] == op ? (int)at : -1;
}

bool graph_kept(const struct graph *g, const char *name)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    return n && n->kept;
}

static bool usable(const struct graph *g, const struct skiff_op *op, enum op_class class)
{
    return op->kind && op->kind->class == class && graph_position(g, op) >= 0;
}

struct skiff_op *graph_writer(const struct graph *g, const char *name, enum op_class class)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    if (!n || n->writers.n != 1 || !usable(g, n->writers.use[0].op, class))
        return NULL;
    return n->writers.use[0].op;
}

static bool reads_through(const struct skiff_op *op, const char *slot, const char *name)
{
    const struct op_arg *arg = op_in(op, slot);
    for (int i = 0; arg && i < arg->n; i++)
        if (!strcmp(arg->names[i], name))
            return true;
    return false;
}

struct skiff_op *graph_reader(const struct graph *g, const char *name, const char *slot,
                              enum op_class class)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    struct skiff_op *found = NULL;
    for (int i = 0; n && i < n->readers.n; i++) {
        struct skiff_op *op = n->readers.use[i].op;
        if (op == found || !usable(g, op, class) || !reads_through(op, slot, name))
            continue;
        if (found)
            return NULL;
        found = op;
    }
    return found;
}

bool graph_private(const struct graph *g, const char *name, struct skiff_op *const *readers, int n)
{
    const struct graph_name *u = str_map_get(&g->names, name);
    if (!u)
        return true;
    if (u->kept || u->writers.n > 1)
        return false;
    for (int i = 0; i < u->readers.n; i++) {
        bool allowed = false;
        for (int j = 0; j < n && !allowed; j++)
            allowed = readers[j] == u->readers.use[i].op;
        if (!allowed)
            return false;
    }
    return true;
}

static bool used_between(const struct graph_uses *u, int a, int b)
{
    int first = a < b ? a : b, last = a < b ? b : a;
    for (int i = 0; i < u->n; i++)
        if (u->use[i].at < 0 || (u->use[i].at > first && u->use[i].at < last))
            return true;
    return false;
}

bool graph_written_between(const struct graph *g, const char *name, int a, int b)
{
    const struct graph_name *n = name ? str_map_get(&g->names, name) : NULL;
    return n && used_between(&n->writers, a, b);
}

bool graph_touched_between(const struct graph *g, const char *name, int a, int b)
{
    const struct graph_name *n = name ? str_map_get(&g->names, name) : NULL;
    return n && (used_between(&n->writers, a, b) || used_between(&n->readers, a, b));
}

struct skiff_op *graph_replace(struct graph *g, const struct skiff_op *at, const char *type)
{
    int position = graph_position(g, at);
    struct skiff_op *op = block_insert_op(g->block, -1, type);
    /* it was appended: move it to its position; the op there is removed */
    g->block->ops[position] = op;
    g->block->nops--;
    return op;
}

void graph_drop(struct graph *g, const struct skiff_op *op)
{
    int at = graph_position(g, op);
    if (at >= 0)
        g->block->ops[at] = NULL;
}

void graph_sweep(struct graph *g)
{
    int n = 0;
    for (int i = 0; i < g->block->nops; i++)
        if (g->block->ops[i])
            g->block->ops[n++] = g->block->ops[i];
    g->block->nops = n;
}
