/* Programs and blocks: creation, variables, op lists, deep copy.
 *
 * All of a program lives in its arena, so that nothing is freed one by one and pointers stay valid
 * while it lives; what is removed stays in the arena until the program goes. Blocks nest to a
 * bounded depth: a file that nests deeper is refused, because passes and printers walk blocks by
 * recursion. */
#include "program/job.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "program/build.h"
#include "program/op_kind.h"
#include "program/rights.h"

enum { VERSION_1_8_5 = 1008005 };

struct skiff_program *program_create_bare(void)
{
    static uint64_t last_id; /* atomic */
    struct skiff_program *p = mem_alloc_or_die(sizeof(*p));
    p->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    p->refs = 1;
    p->mark = mem_alloc_or_die(sizeof(*p->mark));
    p->mark->refs = 1;
    arena_init(&p->arena);
    p->generation = GEN_1X;
    p->current_role = ROLE_FORWARD;
    p->current_namescope = "/";
    return p;
}

struct skiff_program *program_create(void)
{
    struct skiff_program *p = program_create_bare();
    p->paddle_version = VERSION_1_8_5;
    p->has_version = true;
    program_push_block(p, -1, -1);
    return p;
}

struct skiff_program *program_ref(struct skiff_program *p)
{
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void program_destroy(struct skiff_program *p)
{
    if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
        return;
    __atomic_store_n(&p->mark->gone, true, __ATOMIC_RELEASE);
    program_mark_unref(p->mark);
    program_destroy(p->runs_as);
    for (int i = 0; i < p->nblocks; i++)
        str_map_deinit(&p->blocks[i]->vars);
    job_unref(p->job);
    arena_deinit(&p->arena);
    free(p);
}

void program_set_job(struct skiff_program *p, struct job *job)
{
    struct job *old = p->job;
    p->job = job_ref(job);
    program_changed(p);
    job_unref(old);
}

void program_run_as(struct skiff_program *p, struct skiff_program *as)
{
    struct skiff_program *old = p->runs_as;
    p->runs_as = as && as != p ? program_ref(as) : NULL;
    program_destroy(old);
}

const struct skiff_program *program_to_run(const struct skiff_program *p)
{
    while (p->runs_as)
        p = p->runs_as;
    return p;
}

struct program_mark *program_mark_ref(struct program_mark *m)
{
    __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void program_mark_unref(struct program_mark *m)
{
    if (m && !__atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
        free(m);
}

bool program_mark_gone(const struct program_mark *m)
{
    return __atomic_load_n(&m->gone, __ATOMIC_ACQUIRE);
}

/* A list in the arena that must take one more entry of `size` bytes. */
static void *list_grow(struct skiff_program *p, void *list, int n, int *cap, size_t size)
{
    if (n < *cap)
        return list;
    *cap = *cap ? *cap * 2 : 8;
    void *grown = arena_alloc(&p->arena, (size_t)*cap * size);
    if (n)
        memcpy(grown, list, (size_t)n * size);
    return grown;
}

struct skiff_block *program_push_block(struct skiff_program *p, int parent, int forward_idx)
{
    struct skiff_block *b = arena_alloc(&p->arena, sizeof(*b));
    b->program = p;
    b->idx = p->nblocks;
    b->parent = parent;
    b->forward_idx = forward_idx;
    str_map_init(&b->vars);
    p->blocks = list_grow(p, p->blocks, p->nblocks, &p->blocks_cap, sizeof(*p->blocks));
    p->blocks[p->nblocks++] = b;
    program_changed(p);
    return b;
}

bool block_too_deep(const struct skiff_program *p, int parent)
{
    int depth = 1;
    for (; parent >= 0 && depth <= BLOCK_DEPTH_MAX; parent = p->blocks[parent]->parent)
        depth++;
    return depth > BLOCK_DEPTH_MAX;
}

struct skiff_block *program_add_block(struct skiff_program *p, int parent)
{
    return program_push_block(p, parent, -1);
}

struct skiff_var *block_own_var(const struct skiff_block *b, const char *name)
{
    return str_map_get(&b->vars, name);
}

/* As Paddle looks: a gradient block (while_grad) also sees the block it is the gradient of. */
struct skiff_var *block_find_var(const struct skiff_block *b, const char *name)
{
    for (;;) {
        struct skiff_var *v = str_map_get(&b->vars, name);
        if (!v && b->forward_idx >= 0)
            v = str_map_get(&b->program->blocks[b->forward_idx]->vars, name);
        if (v || b->parent < 0)
            return v;
        b = b->program->blocks[b->parent];
    }
}

struct skiff_var *block_add_var(struct skiff_block *b, const char *name)
{
    struct skiff_var *v = str_map_get(&b->vars, name);
    if (v)
        return v;
    v = arena_alloc(&b->program->arena, sizeof(*v));
    v->name = arena_strdup(&b->program->arena, name);
    v->program = b->program;
    program_changed(b->program);
    v->kind = VAR_LOD_TENSOR;
    v->dtype = DTYPE_FP32;
    str_map_put(&b->vars, v->name, v);
    return v;
}

void block_remove_var(struct skiff_block *b, const char *name)
{
    str_map_remove(&b->vars, name);
    program_changed(b->program);
}

void block_put_op(struct skiff_block *b, int at, struct skiff_op *op)
{
    b->ops = list_grow(b->program, b->ops, b->nops, &b->ops_cap, sizeof(*b->ops));
    if (at < 0 || at > b->nops)
        at = b->nops;
    memmove(&b->ops[at + 1], &b->ops[at], (size_t)(b->nops - at) * sizeof(*b->ops));
    b->ops[at] = op;
    b->nops++;
    program_changed(b->program);
}

struct skiff_op *block_insert_op(struct skiff_block *b, int at, const char *type)
{
    struct skiff_op *op = op_create(b->program, type);
    block_put_op(b, at, op);
    return op;
}

void block_remove_ops(struct skiff_block *b, int at, int n)
{
    if (at < 0 || n <= 0 || at >= b->nops)
        return;
    if (n > b->nops - at)
        n = b->nops - at;
    memmove(&b->ops[at], &b->ops[at + n], (size_t)(b->nops - at - n) * sizeof(*b->ops));
    b->nops -= n;
    program_changed(b->program);
}

static struct unknown_fields clone_bytes(struct arena *a, const void *bytes, size_t len)
{
    return (struct unknown_fields){len ? arena_memdup(a, bytes, len) : NULL, len};
}

static struct unknown_fields clone_unknown(struct arena *a, struct unknown_fields u)
{
    return clone_bytes(a, u.bytes, u.len);
}

static void clone_var(struct skiff_block *b, const struct skiff_var *from)
{
    struct arena *a = &b->program->arena;
    struct skiff_var *v = block_add_var(b, from->name);
    const char *name = v->name;
    *v = *from;
    v->name = name;
    v->program = b->program;
    v->producer = NULL; /* found again by clone_producers */
    if (from->param)
        v->param = arena_memdup(a, from->param, sizeof(*from->param));
    v->type_rest = clone_bytes(a, from->type_rest, from->type_rest_len).bytes;
    v->unknown = clone_unknown(a, from->unknown);
    v->type_unknown = clone_unknown(a, from->type_unknown);
    v->desc_unknown = clone_unknown(a, from->desc_unknown);
    v->tensor_unknown = clone_unknown(a, from->tensor_unknown);
}

static void clone_args(struct skiff_program *p, struct op_arg **list, int *n,
                       const struct op_arg *from, int nfrom)
{
    for (int i = 0; i < nfrom; i++) {
        struct op_arg arg = {.slot = arena_strdup(&p->arena, from[i].slot),
                             .n = from[i].n,
                             .unknown = clone_unknown(&p->arena, from[i].unknown)};
        if (arg.n)
            arg.names = arena_alloc(&p->arena, (size_t)arg.n * sizeof(*arg.names));
        for (int k = 0; k < arg.n; k++)
            arg.names[k] = arena_strdup(&p->arena, from[i].names[k]);
        op_push_arg(p, list, n, &arg);
    }
}

static struct skiff_op *clone_op(struct skiff_program *p, const struct skiff_op *from)
{
    struct skiff_op *op = arena_alloc(&p->arena, sizeof(*op));
    op->program = p;
    op->kind = from->kind;
    op->type = from->kind ? from->kind->type : arena_strdup(&p->arena, from->type);
    op->is_target = from->is_target;
    op->unknown = clone_unknown(&p->arena, from->unknown);
    clone_args(p, &op->ins, &op->nins, from->ins, from->nins);
    clone_args(p, &op->outs, &op->nouts, from->outs, from->nouts);
    op_copy_attrs(p, op, from);
    return op;
}

static void clone_producers(struct skiff_block *to, const struct skiff_block *from)
{
    for (int i = 0; i < from->nops; i++) {
        const struct skiff_op *op = from->ops[i];
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++) {
                const struct skiff_var *v = block_find_var(from, op->outs[s].names[k]);
                if (v && v->producer == op)
                    block_find_var(to, v->name)->producer = to->ops[i];
            }
    }
}

static void clone_versions(struct skiff_program *p, const struct skiff_program *from)
{
    if (!from->nop_versions)
        return;
    p->nop_versions = from->nop_versions;
    p->op_versions = arena_alloc(&p->arena, (size_t)p->nop_versions * sizeof(*p->op_versions));
    for (int i = 0; i < p->nop_versions; i++) {
        p->op_versions[i].op = arena_strdup(&p->arena, from->op_versions[i].op);
        p->op_versions[i].version = from->op_versions[i].version;
    }
}

static void clone_fields(struct skiff_program *p, const struct skiff_program *from)
{
    p->paddle_version = from->paddle_version;
    p->has_version = from->has_version;
    p->generation = from->generation;
    p->random_seed = from->random_seed;
    p->has_op_version_map = from->has_op_version_map;
    clone_versions(p, from);
    p->compat_map = clone_bytes(&p->arena, from->compat_map, from->compat_map_len).bytes;
    p->compat_map_len = from->compat_map_len;
    p->unknown = clone_unknown(&p->arena, from->unknown);
    p->version_unknown = clone_unknown(&p->arena, from->version_unknown);
    p->version_map_unknown = clone_unknown(&p->arena, from->version_map_unknown);
    p->current_role = from->current_role;
    struct attr_value names = {.n = from->ncurrent_role_var, .strings = from->current_role_var};
    names = attr_value_copy(&p->arena, ATTR_STRINGS, &names);
    p->ncurrent_role_var = names.n;
    p->current_role_var = names.strings;
    if (from->current_namescope)
        p->current_namescope = arena_strdup(&p->arena, from->current_namescope);
}

struct skiff_program *program_clone(const struct skiff_program *from)
{
    struct skiff_program *p = program_create_bare();
    clone_fields(p, from);
    program_copy_rights(p, from);
    program_set_job(p, from->job);
    for (int i = 0; i < from->nblocks; i++) {
        const struct skiff_block *fb = from->blocks[i];
        struct skiff_block *b = program_push_block(p, fb->parent, fb->forward_idx);
        b->unknown = clone_unknown(&p->arena, fb->unknown);
        for (size_t k = 0; k < fb->vars.count; k++)
            clone_var(b, fb->vars.entries[k].value);
        for (int k = 0; k < fb->nops; k++)
            block_put_op(b, -1, clone_op(p, fb->ops[k]));
    }
    for (int i = 0; i < from->nblocks; i++)
        clone_producers(p->blocks[i], from->blocks[i]);
    return p;
}
