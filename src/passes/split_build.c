/* Builds ops and variables as Fluid 1.8 writes them: every declared input is listed, perhaps empty;
 * every attribute has a value; shapes are inferred as soon as an op is appended. Trainer and server
 * programs are compared with Fluid's op by op (tests/split), so these details matter. */
#include <string.h>

#include "passes/split_parts.h"
#include "program/rights.h"
#include "program/infer.h"

void names_add(struct arena *a, struct names_list *l, const char *name)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 8;
        const char **v = arena_alloc(a, (size_t)cap * sizeof *v);
        if (l->n)
            memcpy(v, l->v, (size_t)l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = name;
}

struct skiff_op *build_op(struct skiff_block *b, int at, const char *type)
{
    return block_insert_op(b, at, type);
}

void build_in(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
              const char *const *names)
{
    op_set_in(b->program, op, slot, n, names);
}

void build_out(struct skiff_block *b, struct skiff_op *op, const char *slot, int n,
               const char *const *names)
{
    op_set_out(b->program, op, slot, n, names);
}

void build_in1(struct skiff_block *b, struct skiff_op *op, const char *slot, const char *name)
{
    op_set_in(b->program, op, slot, 1, &name);
}

void build_out1(struct skiff_block *b, struct skiff_op *op, const char *slot, const char *name)
{
    op_set_out(b->program, op, slot, 1, &name);
}

static void fill_inputs(struct skiff_block *b, struct skiff_op *op)
{
    const struct op_slot *slots = op->kind->ins;
    for (int i = 0; slots && slots[i].name; i++)
        if (!op_in(op, slots[i].name) &&
            !(slots[i].flags & SLOT_ONLY_2X && b->program->generation == GEN_1X))
            op_set_in(b->program, op, slots[i].name, 0, NULL);
}

enum skiff_status build_done(struct skiff_block *b, struct skiff_op *op, struct skiff_error *err)
{
    TRY(op_fill_defaults(b->program, op, err));
    fill_inputs(b, op);
    return infer_op(b, op, err);
}

void build_copy_attrs(struct skiff_block *b, struct skiff_op *to, const struct skiff_op *from)
{
    op_copy_attrs(b->program, to, from);
    op_set_string(b->program, to, "op_namescope", "/");
}

void build_role(struct skiff_block *b, struct skiff_op *op, int role, const char *param,
                const char *grad)
{
    const char *pair[] = {param, grad};
    op_set_int(b->program, op, "op_role", role);
    if (param)
        op_set_strings(b->program, op, "op_role_var", 2, pair);
}

struct skiff_var *build_var(struct skiff_block *b, const char *name, enum var_kind kind,
                            enum dtype dtype, const struct shape *shape, bool persistable)
{
    struct skiff_var *v = block_own_var(b, name);
    if (v)
        return v;
    v = block_add_var(b, name);
    v->kind = kind;
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = *shape;
    v->persistable = persistable ? PRESENCE_TRUE : PRESENCE_FALSE;
    return v;
}

struct skiff_var *build_var_like(struct skiff_block *b, const char *name,
                                 const struct skiff_var *from, bool persistable)
{
    return build_var(b, name, from->kind, from->dtype, &from->shape, persistable);
}

struct skiff_var *build_clone_var(struct skiff_block *b, const struct skiff_var *from)
{
    struct skiff_var *v = block_own_var(b, from->name);
    if (v)
        return v;
    v = block_add_var(b, from->name);
    bool tensor = from->kind == VAR_LOD_TENSOR || from->kind == VAR_SELECTED_ROWS;
    v->kind = from->kind;
    v->dtype = from->dtype;
    v->has_tensor = from->has_tensor;
    v->shape = from->shape;
    v->lod_level = from->lod_level;
    v->persistable = tensor ? PRESENCE_TRUE : from->persistable;
    v->need_check_feed = from->need_check_feed;
    return v;
}

/* BlockDesc::RenameVar: the variable, every op that names it, and their op_role_var. */
void build_rename_var(struct skiff_block *b, const char *from, const char *to)
{
    struct skiff_program *p = b->program;
    const struct skiff_var *old = block_own_var(b, from);
    struct skiff_var *v = block_add_var(b, to);
    const char *name = v->name;
    *v = *old;
    v->name = name;
    block_remove_var(b, from);
    for (int i = 0; i < b->nops; i++) {
        op_rename_in(p, b->ops[i], from, to);
        op_rename_out(p, b->ops[i], from, to);
        const struct op_attr_value *role = op_attr(b->ops[i], "op_role_var");
        if (!role || role->type != ATTR_STRINGS || !role->value.n)
            continue;
        const char **names = arena_alloc(&p->arena, (size_t)role->value.n * sizeof *names);
        for (int k = 0; k < role->value.n; k++)
            names[k] = strcmp(role->value.strings[k], from) ? role->value.strings[k] : to;
        op_set_strings(p, b->ops[i], "op_role_var", role->value.n, names);
    }
}

int block_position(const struct skiff_block *b, const struct skiff_op *op)
{
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i] == op)
            return i;
    return -1;
}

int block_last_writer(const struct skiff_block *b, const char *name)
{
    for (int i = b->nops - 1; i >= 0; i--)
        if (op_writes(b->ops[i], name))
            return i;
    return -1;
}

bool attr_bool(const struct skiff_op *op, const char *name)
{
    const struct op_attr_value *a = op_attr(op, name);
    return a && a->type == ATTR_BOOLEAN && a->value.b;
}

bool op_role_pair(const struct skiff_op *op, const char **param, const char **grad)
{
    const struct op_attr_value *a = op_attr(op, "op_role_var");
    if (!a || a->type != ATTR_STRINGS || a->value.n < 2)
        return false;
    *param = a->value.strings[0];
    *grad = a->value.strings[1];
    return true;
}

struct skiff_program *split_clone(const struct skiff_program *p)
{
    struct skiff_program *copy = program_clone(p);
    copy->current_role = ROLE_FORWARD;
    copy->current_namescope = "/";
    copy->ncurrent_role_var = 0;
    program_allow_job(copy);
    return copy;
}
