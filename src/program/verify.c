/* The verifier. Slots, attributes and names are checked on the program itself; shape rules then run
 * on a copy, op by op, each seeing the shapes that the program declares, and what a rule gives is
 * compared with what the program declares for the op's outputs.
 *
 * Paddle leaves some things undetermined, so these are no errors: the shape of a variable without a
 * tensor description or without dimensions (in 2.x that may also be 0-D: as an input it is taken
 * for that); a dimension -1 on either side; a variable that several ops write (it carries the shape
 * of one of them); a gradient that an op writes and the block does not describe (the transpiler
 * drops the descriptions of what it sends); anything in a block that no op refers to (the
 * transpiler leaves them behind). */
#include <string.h>

#include "program/bind.h"
#include "program/infer.h"

struct verify {
    const struct skiff_program *program;
    struct skiff_program *copy;
    const struct skiff_block *block;
    int at; /* index of the op in the block */
    const struct skiff_op *op;
    struct str_map writers; /* name -> number of ops that write it */
    bool *used;             /* by block: block 0, and those that an op refers to */
    unsigned flags;
    struct skiff_error *err;
};

/* Where: "block 0, op 3 (mul), input X (fc_0.tmp_0)". */
#define PLACE "block %d, op %d (%s), %s %s"
#define PLACE_ARGS(v, side, slot) (v)->block->idx, (v)->at, (v)->op->type, (side), (slot)

static enum skiff_status check_known(struct verify *v)
{
    if (v->op->kind && v->op->kind->flags & OP_INTERNAL && !(v->flags & VERIFY_FUSED))
        return error_set(v->err, SKIFF_UNSUPPORTED,
                         "block %d, op %d: %s is an op of Skiff's plans; programs cannot hold it",
                         v->block->idx, v->at, v->op->type);
    if (v->op->kind)
        return SKIFF_OK;
    const char *near = op_kind_nearest(v->op->type);
    return error_set(v->err, SKIFF_UNSUPPORTED,
                     "block %d, op %d: there is no op %s for Paddle %s programs%s%s", v->block->idx,
                     v->at, v->op->type, v->program->generation == GEN_2X ? "2.x" : "1.x",
                     near ? "; the nearest name is " : "", near ? near : "");
}

static bool is_grad_name(const char *name)
{
    size_t n = strlen(name), m = strlen(GRAD_SUFFIX);
    return n > m && strcmp(name + n - m, GRAD_SUFFIX) == 0;
}

static bool is_joined(const struct verify *v, int n)
{
    return v->flags & VERIFY_FUSED && v->op->kind->class == CLASS_UPDATE && v->op->nins &&
           n == v->op->ins[0].n;
}

static enum skiff_status check_slot(struct verify *v, const struct op_slot *slot, bool input,
                                    const struct op_arg *arg)
{
    const char *side = input ? "input" : "output";
    int n = arg ? arg->n : 0;
    bool may_lack =
        slot->flags & (SLOT_OPTIONAL | SLOT_EXTRA) || (!input && is_grad_name(slot->name));
    if (n == 0 && !may_lack)
        return error_set(v->err, SKIFF_INVALID, PLACE ": the slot is required and has no variable",
                         PLACE_ARGS(v, side, slot->name));
    if (n > 1 && !(slot->flags & SLOT_LIST) && !is_joined(v, n))
        return error_set(
            v->err, SKIFF_INVALID, PLACE ": expected one variable, found %d (%s, %s%s)",
            PLACE_ARGS(v, side, slot->name), n, arg->names[0], arg->names[1], n > 2 ? ", ..." : "");
    return SKIFF_OK;
}

static enum skiff_status check_side(struct verify *v, const struct op_slot *slots, bool input)
{
    const struct skiff_op *op = v->op;
    const struct op_arg *args = input ? op->ins : op->outs;
    int nargs = input ? op->nins : op->nouts;
    const char *side = input ? "input" : "output";
    for (int i = 0; slots && slots[i].name; i++)
        TRY(check_slot(v, &slots[i], input,
                       input ? op_in(op, slots[i].name) : op_out(op, slots[i].name)));
    for (int s = 0; s < nargs; s++) {
        if (args[s].n && op_kind_slot(slots, args[s].slot) < 0)
            return error_set(v->err, SKIFF_INVALID, PLACE " (%s): the op has no such slot",
                             PLACE_ARGS(v, side, args[s].slot), args[s].names[0]);
        for (int i = 0; i < args[s].n; i++) {
            const char *name = args[s].names[i];
            if (strcmp(name, EMPTY_VAR) == 0 || (!input && is_grad_name(name)))
                continue;
            if (!block_find_var(v->block, name) &&
                !(input && op_grad_may_lack(v->block, op, s, name)))
                return error_set(v->err, SKIFF_NOT_FOUND,
                                 PLACE ": variable %s is not in block %d or its parents",
                                 PLACE_ARGS(v, side, args[s].slot), name, v->block->idx);
        }
    }
    return SKIFF_OK;
}

static enum skiff_status check_blocks(struct verify *v)
{
    for (int i = 0; i < v->op->nattrs; i++) {
        const struct op_attr_value *a = &v->op->attrs[i];
        int n = a->type == ATTR_BLOCK ? 1 : a->type == ATTR_BLOCKS ? a->value.n : 0;
        const int32_t *idx = a->type == ATTR_BLOCK ? &a->value.i : a->value.ints;
        for (int k = 0; k < n; k++)
            if (idx[k] < 0 || idx[k] >= v->program->nblocks)
                return error_set(
                    v->err, SKIFF_INVALID, PLACE ": block %d, but the program has %d blocks",
                    PLACE_ARGS(v, "attribute", a->name), (int)idx[k], v->program->nblocks);
    }
    return SKIFF_OK;
}

/* Does every input carry a shape that a rule can work with? */
static bool shapes_known(const struct verify *v)
{
    for (int s = 0; s < v->op->nins; s++)
        for (int i = 0; i < v->op->ins[s].n; i++) {
            const struct skiff_var *var = block_find_var(v->block, v->op->ins[s].names[i]);
            if (!var)
                continue;
            if (!var->has_tensor || (var->shape.ndim == 0 && v->program->generation == GEN_1X))
                return false;
        }
    return true;
}

static bool shapes_agree(const struct shape *a, const struct shape *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i] && a->dims[i] >= 0 && b->dims[i] >= 0)
            return false;
    return true;
}

/* Compares one output of the copy with the program's, and puts the program's shape back. */
static enum skiff_status check_output(struct verify *v, const char *slot, const char *name)
{
    const struct skiff_var *declared = block_find_var(v->block, name);
    struct skiff_var *given = block_find_var(v->copy->blocks[v->block->idx], name);
    if (!declared || !given)
        return SKIFF_OK;
    struct shape shape = given->shape;
    bool full_shapes = declared->has_tensor && given->has_tensor && declared->shape.ndim > 0 &&
                       str_map_get(&v->writers, name) == (void *)1 &&
                       (declared->kind == VAR_LOD_TENSOR || declared->kind == VAR_SELECTED_ROWS);
    given->shape = declared->shape;
    given->has_tensor = declared->has_tensor;
    given->dtype = declared->dtype;
    given->kind = declared->kind;
    given->lod_level = declared->lod_level;
    if (!full_shapes || shapes_agree(&shape, &declared->shape))
        return SKIFF_OK;
    char a[160], b[160];
    return error_set(v->err, SKIFF_SHAPE,
                     PLACE " (%s): the op gives the shape %s, but the variable has %s",
                     PLACE_ARGS(v, "output", slot), name, shape_text(&shape, a),
                     shape_text(&declared->shape, b));
}

static enum skiff_status check_shapes(struct verify *v)
{
    struct skiff_block *block = v->copy->blocks[v->block->idx];
    if (!shapes_known(v))
        return SKIFF_OK;
    enum skiff_status status = infer_op(block, block->ops[v->at], v->err);
    if (status < 0)
        return error_prefix(v->err, status, "block %d, op %d", v->block->idx, v->at);
    for (int s = 0; s < v->op->nouts; s++)
        for (int i = 0; i < v->op->outs[s].n; i++)
            TRY(check_output(v, v->op->outs[s].slot, v->op->outs[s].names[i]));
    return SKIFF_OK;
}

static enum skiff_status check_op(struct verify *v)
{
    TRY(check_blocks(v));
    if (!v->op->kind && v->flags & VERIFY_SKIP_UNKNOWN)
        return SKIFF_OK;
    TRY(check_known(v));
    TRY(check_side(v, v->op->kind->ins, true));
    TRY(check_side(v, v->op->kind->outs, false));
    const struct attr_value *attrs;
    enum skiff_status status = attrs_bind(v->op, &v->copy->arena, &attrs, v->err);
    if (status < 0)
        return error_prefix(v->err, status, "block %d, op %d", v->block->idx, v->at);
    return v->flags & VERIFY_SKIP_SHAPES ? SKIFF_OK : check_shapes(v);
}

static void count_writers(struct verify *v)
{
    for (int b = 0; b < v->program->nblocks; b++)
        for (int k = 0; k < v->program->blocks[b]->nops; k++) {
            const struct skiff_op *op = v->program->blocks[b]->ops[k];
            for (int s = 0; s < op->nouts; s++)
                for (int i = 0; i < op->outs[s].n; i++) {
                    const char *name = op->outs[s].names[i];
                    uintptr_t n = (uintptr_t)str_map_get(&v->writers, name);
                    str_map_put(&v->writers, name, (void *)(n + 1));
                }
        }
}

/* Marks the blocks that an op refers to. Indices are checked with the op; wrong ones are ignored
 * here. */
static void mark_used(struct verify *v)
{
    int nblocks = v->program->nblocks;
    v->used = arena_alloc(&v->copy->arena, (size_t)nblocks * sizeof(*v->used));
    v->used[0] = true;
    for (int b = 0; b < nblocks; b++)
        for (int k = 0; k < v->program->blocks[b]->nops; k++) {
            const struct skiff_op *op = v->program->blocks[b]->ops[k];
            for (int i = 0; i < op->nattrs; i++) {
                const struct attr_value *value = &op->attrs[i].value;
                int n = op->attrs[i].type == ATTR_BLOCKS ? value->n : 0;
                if (op->attrs[i].type == ATTR_BLOCK && value->i >= 0 && value->i < nblocks)
                    v->used[value->i] = true;
                for (int e = 0; e < n; e++)
                    if (value->ints[e] >= 0 && value->ints[e] < nblocks)
                        v->used[value->ints[e]] = true;
            }
        }
}

static enum skiff_status check_program(struct verify *v)
{
    for (int b = 0; b < v->program->nblocks; b++) {
        v->block = v->program->blocks[b];
        if (v->block->idx != b || v->block->parent < -1 || v->block->parent >= b)
            return error_set(v->err, SKIFF_INVALID, "block %d has index %d and parent %d", b,
                             v->block->idx, v->block->parent);
        if (!v->used[b])
            continue;
        for (v->at = 0; v->at < v->block->nops; v->at++) {
            v->op = v->block->ops[v->at];
            TRY(check_op(v));
        }
    }
    return SKIFF_OK;
}

enum skiff_status program_verify_with(const struct skiff_program *p, unsigned flags,
                                      struct skiff_error *err)
{
    struct verify v = {.program = p, .flags = flags, .err = err, .copy = program_clone(p)};
    str_map_init(&v.writers);
    count_writers(&v);
    mark_used(&v);
    enum skiff_status status = check_program(&v);
    str_map_deinit(&v.writers);
    program_destroy(v.copy);
    return status;
}

enum skiff_status program_verify(const struct skiff_program *p, struct skiff_error *err)
{
    return program_verify_with(p, 0, err);
}
