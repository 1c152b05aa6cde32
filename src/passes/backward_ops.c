/* The list of gradient ops on its way into the program: sums, dropping, zeros.
 *
 * Sums: a variable that several ops read gets one gradient from each, all under one name. The walk
 * keeps the pieces that each name has so far. When the second one comes, the first is renamed too
 * (in the ops since then and in the sums that are planned); when somebody reads the name, a sum of
 * the pieces is planned before that op and the count starts anew. Sums are put in at the end, from
 * behind, so that positions noted on the way stay right.
 *
 * Dropping: first ops all of whose results, or all of whose incoming gradients, are unwanted; then
 * chains that begin with an op none of whose inputs anybody has computed, and that nothing else
 * feeds. Those are found on a graph of versions (a variable as written by one op, until the next
 * writer), because names are written more than once. Where an op needs a gradient that is unwanted,
 * zeros take its place. */
#include "passes/backward_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/build.h"

void grad_ops_deinit(struct grad_ops *g)
{
    free(g->ops);
    *g = (struct grad_ops){0};
}

void grad_ops_insert(struct grad_ops *g, int at, struct skiff_op *op)
{
    if (g->n == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 64;
        g->ops = mem_grow_or_die(g->ops, (size_t)g->cap * sizeof *g->ops);
    }
    if (at < 0)
        at = g->n;
    memmove(g->ops + at + 1, g->ops + at, (size_t)(g->n - at) * sizeof *g->ops);
    g->ops[at] = op;
    g->n++;
}

struct skiff_op *grad_ops_create(struct skiff_program *p, const char *type, const char *in_slot,
                                 int nin, const char *const *in, const char *out)
{
    struct skiff_op *op = op_create(p, type);
    op_set_in(p, op, in_slot, nin, in);
    op_set_out(p, op, "Out", 1, &out);
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
    op_set_string(p, op, "op_device", "");
    return op;
}

static int by_slot(const void *a, const void *b)
{
    return strcmp(((const struct op_arg *)a)->slot, ((const struct op_arg *)b)->slot);
}

void op_sort_slots(struct skiff_op *op)
{
    if (op->nins > 1)
        qsort(op->ins, (size_t)op->nins, sizeof *op->ins, by_slot);
    if (op->nouts > 1)
        qsort(op->outs, (size_t)op->nouts, sizeof *op->outs, by_slot);
}

/* ---- summing ---- */

struct pieces { /* the gradients of one variable so far */
    const char *name;
    const char **parts;
    int n, cap, renamed;
    int first; /* op that wrote the first one */
};

struct pending { /* a sum to be put before op `at` */
    struct skiff_op *op;
    int at;
};

struct adder {
    struct grad_ops *g;
    struct str_map all; /* name -> struct pieces, in order of first sight */
    struct pending *sums;
    int nsums, sums_cap;
    int block_idx;
};

static bool is_grad(const char *name)
{
    return strstr(name, GRAD_SUFFIX) != NULL;
}

static struct pieces *pieces_of(struct adder *a, const char *name)
{
    struct pieces *p = str_map_get(&a->all, name);
    if (p)
        return p;
    p = arena_alloc(&a->g->program->arena, sizeof *p);
    p->name = name;
    str_map_put(&a->all, name, p);
    return p;
}

static void pieces_set(struct adder *a, struct pieces *p, int n, const char *name)
{
    if (n >= p->cap) {
        int cap = p->cap ? p->cap * 2 : 4;
        const char **parts = arena_alloc(&a->g->program->arena, (size_t)cap * sizeof *parts);
        if (p->n)
            memcpy(parts, p->parts, (size_t)p->n * sizeof *parts);
        p->parts = parts;
        p->cap = cap;
    }
    p->parts[n] = name;
    p->n = n + 1;
}

static void plan_sum(struct adder *a, struct pieces *p, int at)
{
    struct skiff_program *prog = a->g->program;
    if (a->nsums == a->sums_cap) {
        a->sums_cap = a->sums_cap ? a->sums_cap * 2 : 32;
        a->sums = mem_grow_or_die(a->sums, (size_t)a->sums_cap * sizeof *a->sums);
    }
    struct skiff_op *sum = grad_ops_create(prog, "sum", "X", p->n, p->parts, p->name);
    op_set_bool(prog, sum, "use_mkldnn", false);
    a->sums[a->nsums++] = (struct pending){sum, at};
}

static const char *rename_piece(struct adder *a, struct pieces *p)
{
    return arena_printf(&a->g->program->arena, "%s@RENAME@block%d@%d", p->name, a->block_idx,
                        p->renamed++);
}

/* The second gradient of a variable has arrived: the first one is renamed, too. */
static void rename_first(struct adder *a, struct pieces *p, int idx, struct skiff_op *op, int slot,
                         int arg)
{
    struct skiff_program *prog = a->g->program;
    const char *to = rename_piece(a, p);
    p->parts[0] = to;
    for (int i = p->first; i < idx; i++) {
        op_rename_in(prog, a->g->ops[i], p->name, to);
        op_rename_out(prog, a->g->ops[i], p->name, to);
    }
    for (int i = 0; i < a->nsums; i++) {
        op_rename_in(prog, a->sums[i].op, p->name, to);
        op_rename_out(prog, a->sums[i].op, p->name, to);
    }
    for (int s = 0; s <= slot; s++)
        for (int k = 0; k < (s < slot ? op->outs[s].n : arg); k++)
            if (!strcmp(op->outs[s].names[k], p->name))
                op->outs[s].names[k] = to;
}

static void add_up_outputs(struct adder *a, int idx)
{
    struct skiff_op *op = a->g->ops[idx];
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++) {
            const char *name = op->outs[s].names[k];
            if (!is_grad(name) || op_reads(op, name))
                continue;
            struct pieces *p = pieces_of(a, name);
            if (p->n == 0) {
                pieces_set(a, p, 0, name);
                p->first = idx;
                continue;
            }
            if (p->n == 1)
                rename_first(a, p, idx, op, s, k);
            const char *to = rename_piece(a, p);
            op->outs[s].names[k] = to;
            pieces_set(a, p, p->n, to);
        }
}

void grad_ops_add_up(struct grad_ops *g, int block_idx)
{
    struct adder a = {.g = g, .block_idx = block_idx};
    str_map_init(&a.all);
    for (int i = 0; i < g->n; i++) {
        struct skiff_op *op = g->ops[i];
        for (int s = 0; s < op->nins; s++)
            for (int k = 0; k < op->ins[s].n; k++) {
                if (!is_grad(op->ins[s].names[k]))
                    continue;
                struct pieces *p = pieces_of(&a, op->ins[s].names[k]);
                if (p->n > 1) {
                    plan_sum(&a, p, i);
                    pieces_set(&a, p, 0, p->name);
                }
            }
        add_up_outputs(&a, i);
    }
    for (size_t i = 0; i < a.all.count; i++) {
        struct pieces *p = a.all.entries[i].value;
        if (p->n > 1)
            plan_sum(&a, p, g->n);
    }
    for (int i = a.nsums - 1; i >= 0; i--)
        grad_ops_insert(g, a.sums[i].at, a.sums[i].op);
    free(a.sums);
    str_map_deinit(&a.all);
}

/* ---- dropping ---- */

/* All names of the args (only gradients if asked) lie in the set; false when there are none. */
static bool all_in(const struct op_arg *args, int n, bool grads_only, const struct str_map *set)
{
    int seen = 0;
    for (int s = 0; s < n; s++)
        for (int k = 0; k < args[s].n; k++) {
            if (grads_only && !is_grad(args[s].names[k]))
                continue;
            seen++;
            if (!str_map_has(set, args[s].names[k]))
                return false;
        }
    return seen > 0;
}

static bool no_outputs(const struct skiff_op *op)
{
    for (int s = 0; s < op->nouts; s++)
        if (op->outs[s].n)
            return false;
    return true;
}

static bool removable(const struct skiff_op *op, struct str_map *no_grad)
{
    if (no_outputs(op) || all_in(op->outs, op->nouts, false, no_grad))
        return true;
    if (!all_in(op->ins, op->nins, true, no_grad))
        return false;
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++)
            str_map_put(no_grad, op->outs[s].names[k], no_grad);
    return true;
}

/* The variable of a gradient; a later call may have prefixed the name with "grad/". */
static const char *strip_grad(struct skiff_program *p, const char *name)
{
    const char *cut = name;
    while (!strncmp(name, "grad/", strlen("grad/")))
        name += strlen("grad/");
    for (const char *at = strstr(name, GRAD_SUFFIX); at; at = strstr(at + 1, GRAD_SUFFIX))
        cut = at;
    return arena_strndup(&p->arena, name, (size_t)(cut - name));
}

void grad_ops_drop_unwanted(struct grad_ops *g, struct str_map *no_grad)
{
    int n = 0;
    for (int i = 0; i < g->n; i++)
        if (!removable(g->ops[i], no_grad))
            g->ops[n++] = g->ops[i];
    g->n = n;
    struct grad_ops with = {.program = g->program};
    for (int i = 0; i < n; i++) {
        struct skiff_op *op = g->ops[i];
        for (int s = 0; s < op->nins; s++)
            for (int k = 0; k < op->ins[s].n; k++) {
                const char *arg = op->ins[s].names[k];
                if (!is_grad(arg) || !str_map_has(no_grad, arg))
                    continue;
                const char *x = strip_grad(g->program, arg);
                grad_ops_insert(&with, -1,
                                grad_ops_create(g->program, "fill_zeros_like", "X", 1, &x, arg));
            }
        grad_ops_insert(&with, -1, op);
    }
    free(g->ops);
    *g = with;
}

/* A version of a variable: written by one op, read by later ones until the next writer. */
struct version {
    int *readers, n, cap;
    bool ready;
};

struct grad_node {
    struct version **in, **out;
    int nin, nout;
};

struct grad_graph {
    struct arena arena;
    struct str_map last; /* name -> its newest version */
    struct grad_node *nodes;
};

static int count_args(const struct op_arg *args, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++)
        total += args[i].n;
    return total;
}

static struct version *version_new(struct grad_graph *g, const char *name)
{
    struct version *v = arena_alloc(&g->arena, sizeof *v);
    str_map_put(&g->last, name, v);
    return v;
}

static void version_read(struct grad_graph *g, struct version *v, int op)
{
    if (v->n == v->cap) {
        int cap = v->cap ? v->cap * 2 : 4;
        int *r = arena_alloc(&g->arena, (size_t)cap * sizeof *r);
        if (v->n)
            memcpy(r, v->readers, (size_t)v->n * sizeof *r);
        v->readers = r;
        v->cap = cap;
    }
    v->readers[v->n++] = op;
}

static void graph_add(struct grad_graph *g, int idx, const struct skiff_op *op)
{
    struct grad_node *node = &g->nodes[idx];
    node->in = arena_alloc(&g->arena, (size_t)(count_args(op->ins, op->nins) + 1) * sizeof(void *));
    node->out =
        arena_alloc(&g->arena, (size_t)(count_args(op->outs, op->nouts) + 1) * sizeof(void *));
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++) {
            struct version *v = str_map_get(&g->last, op->ins[s].names[k]);
            if (!v)
                v = version_new(g, op->ins[s].names[k]);
            version_read(g, v, idx);
            node->in[node->nin++] = v;
        }
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++)
            node->out[node->nout++] = version_new(g, op->outs[s].names[k]);
}

/* Does every consumer of op `start`'s results depend on `start` alone? If so, marks those ops. */
static void mark_chain(struct grad_graph *g, int nops, int start, bool *drop)
{
    int *queue = mem_alloc_or_die((size_t)(nops + 1) * sizeof *queue), head = 0, tail = 0;
    bool *seen = mem_alloc_or_die((size_t)nops * sizeof *seen), alone = true;
    queue[tail++] = start;
    for (int i = 0; i < g->nodes[start].nin; i++)
        g->nodes[start].in[i]->ready = true;
    seen[start] = true;
    while (head < tail && alone) {
        struct grad_node *n = &g->nodes[queue[head++]];
        for (int i = 0; i < n->nin; i++)
            alone = alone && n->in[i]->ready;
        alone = alone && n->nin > 0;
        for (int i = 0; alone && i < n->nout; i++) {
            n->out[i]->ready = true;
            for (int k = 0; k < n->out[i]->n; k++)
                if (!seen[n->out[i]->readers[k]]) {
                    seen[n->out[i]->readers[k]] = true;
                    queue[tail++] = n->out[i]->readers[k];
                }
        }
    }
    for (int i = 0; i < nops; i++) {
        drop[i] = drop[i] || (alone && seen[i]);
        for (int k = 0; k < g->nodes[i].nin; k++)
            g->nodes[i].in[k]->ready = false;
        for (int k = 0; k < g->nodes[i].nout; k++)
            g->nodes[i].out[k]->ready = false;
    }
    free(queue);
    free(seen);
}

/* All inputs unknown to the forward pass and to the gradient ops before? */
static bool rootless(const struct skiff_op *op, const struct str_map *known,
                     const struct str_map *made)
{
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++)
            if (str_map_has(known, op->ins[s].names[k]) || str_map_has(made, op->ins[s].names[k]))
                return false;
    return true;
}

void grad_ops_drop_rootless(struct grad_ops *g, const struct str_map *known)
{
    struct grad_graph graph = {0};
    struct str_map made;
    int ndrop = 0, n = 0;
    bool *drop = mem_alloc_or_die((size_t)(g->n + 1) * sizeof *drop);
    int *starts = mem_alloc_or_die((size_t)(g->n + 1) * sizeof *starts), nstarts = 0;
    arena_init(&graph.arena);
    str_map_init(&graph.last);
    str_map_init(&made);
    graph.nodes = mem_alloc_or_die((size_t)(g->n + 1) * sizeof *graph.nodes);
    for (int i = 0; i < g->n; i++) {
        struct skiff_op *op = g->ops[i];
        if (rootless(op, known, &made))
            starts[nstarts++] = i;
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++)
                str_map_put(&made, op->outs[s].names[k], &made);
        graph_add(&graph, i, op);
    }
    for (int i = 0; i < nstarts; i++)
        mark_chain(&graph, g->n, starts[i], drop);
    for (int i = 0; i < g->n; i++)
        ndrop += drop[i];
    for (int i = 0; i < g->n && ndrop < g->n; i++)
        if (!drop[i])
            g->ops[n++] = g->ops[i];
    g->n = ndrop < g->n ? n : g->n;
    free(graph.nodes);
    free(drop);
    free(starts);
    str_map_deinit(&graph.last);
    str_map_deinit(&made);
    arena_deinit(&graph.arena);
}
