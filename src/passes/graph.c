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

static void push(struct graph *g, struct op ***list, int *n, int *cap, struct op *op)
{
    if (*n == *cap) {
        struct op **bigger =
            arena_alloc(&g->arena, (size_t)(*cap ? 2 * *cap : 2) * sizeof(*bigger));
        if (*n)
            memcpy(bigger, *list, (size_t)*n * sizeof(*bigger));
        *list = bigger;
        *cap = *cap ? 2 * *cap : 2;
    }
    (*list)[(*n)++] = op;
}

static void note_args(struct graph *g, struct op *op, const struct op_arg *args, int n, bool write,
                      bool keep)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < args[i].n; j++) {
            struct graph_name *name = name_of(g, args[i].names[j]);
            name->kept |= keep;
            if (write)
                push(g, &name->writers, &name->nwriters, &name->writers_cap, op);
            else
                push(g, &name->readers, &name->nreaders, &name->readers_cap, op);
        }
}

static int op_position(const struct graph *g, const struct op *op)
{
    for (int i = 0; i < g->block->nops; i++)
        if (g->block->ops[i] == op)
            return i;
    return -1;
}

void graph_init(struct graph *g, struct program *p, const char *const *keep, int nkeep)
{
    memset(g, 0, sizeof(*g));
    g->program = p;
    g->block = program_root(p);
    arena_init(&g->arena);
    str_map_init(&g->names);
    g->taken = arena_alloc(&g->arena, (size_t)g->block->nops + 1);
    for (int b = 0; b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++) {
            struct op *op = p->blocks[b]->ops[i];
            bool runs_block = op->kind && (op->kind->flags & OP_RUNS_BLOCK);
            note_args(g, op, op->ins, op->nins, false, b || runs_block);
            note_args(g, op, op->outs, op->nouts, true, b || runs_block);
        }
    for (int i = 0; i < nkeep; i++)
        name_of(g, keep[i])->kept = true;
    const struct str_map *vars = &g->block->vars;
    for (size_t i = 0; i < vars->count; i++) {
        const struct var *v = vars->entries[i].value;
        if (var_persistable(v))
            name_of(g, v->name)->kept = true;
    }
}

void graph_deinit(struct graph *g)
{
    str_map_deinit(&g->names);
    arena_deinit(&g->arena);
}

int graph_position(const struct graph *g, const struct op *op)
{
    return op_position(g, op);
}

bool graph_taken(const struct graph *g, const struct op *op)
{
    int at = op_position(g, op);
    return at < 0 || g->taken[at];
}

void graph_take(struct graph *g, const struct op *op)
{
    int at = op_position(g, op);
    if (at >= 0)
        g->taken[at] = true;
}

bool graph_kept(const struct graph *g, const char *name)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    return n && n->kept;
}

static bool is_class(const struct op *op, enum op_fuse_class fuse)
{
    return op->kind && op->kind->fuse == fuse;
}

struct op *graph_writer(const struct graph *g, const char *name, enum op_fuse_class fuse)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    if (!n || n->nwriters != 1 || !is_class(n->writers[0], fuse) || graph_taken(g, n->writers[0]))
        return NULL;
    return n->writers[0];
}

struct op *graph_reader(const struct graph *g, const char *name, const char *slot,
                        enum op_fuse_class fuse)
{
    const struct graph_name *n = str_map_get(&g->names, name);
    struct op *found = NULL;
    for (int i = 0; n && i < n->nreaders; i++) {
        struct op *op = n->readers[i];
        const struct op_arg *arg = op_in(op, slot);
        if (!is_class(op, fuse) || !arg || graph_taken(g, op))
            continue;
        for (int j = 0; j < arg->n; j++)
            if (!strcmp(arg->names[j], name)) {
                if (found && found != op)
                    return NULL;
                found = op;
            }
    }
    return found;
}

bool graph_private(const struct graph *g, const char *name, struct op *const *readers, int n)
{
    const struct graph_name *u = str_map_get(&g->names, name);
    if (!u)
        return true;
    if (u->kept || u->nwriters > 1)
        return false;
    for (int i = 0; i < u->nreaders; i++) {
        bool allowed = false;
        for (int j = 0; j < n && !allowed; j++)
            allowed = readers[j] == u->readers[i];
        if (!allowed)
            return false;
    }
    return true;
}

struct op *graph_replace(struct graph *g, const struct op *at, const char *type)
{
    int position = op_position(g, at);
    struct op *op = block_insert_op(g->block, -1, type);
    /* it was appended: bring it to its place; the op that stood there is gone */
    g->block->ops[position] = op;
    g->block->nops--;
    return op;
}

void graph_drop(struct graph *g, const struct op *op)
{
    int at = op_position(g, op);
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
