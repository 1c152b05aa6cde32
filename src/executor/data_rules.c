/* Inputs are followed from op to op: each variable has a list of the slots whose values it carries.
 * Only the main block is looked at, and only ops that are known to refuse values: what is not found
 * here is found by the op itself, as before. */
#include "executor/data_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "program/op_kind.h"

struct carrier {
    int slot;
    struct carrier *next;
};

struct following {
    struct arena arena;
    struct str_map carriers; /* variable -> struct carrier */
    const struct skiff_block *block;
    struct data_rules *rules;
};

static void carry(struct following *f, const char *variable, int slot)
{
    struct carrier *c = arena_alloc(&f->arena, sizeof *c);
    *c = (struct carrier){slot, str_map_get(&f->carriers, variable)};
    str_map_put(&f->carriers, variable, c);
}

static void follow_move(struct following *f, const struct skiff_op *op)
{
    const struct op_arg *in = op_in(op, "X");
    const char *out = op_out1(op, "Out");
    for (int i = 0; in && out && i < in->n; i++)
        for (const struct carrier *c = str_map_get(&f->carriers, in->names[i]); c; c = c->next)
            carry(f, out, c->slot);
}

/* The rule holds for the slots that the variable's values come from. */
static void limit(struct following *f, const char *variable, const struct slot_rule *what,
                  const char *why)
{
    for (const struct carrier *c = variable ? str_map_get(&f->carriers, variable) : NULL; c;
         c = c->next) {
        struct slot_rule *rule = &f->rules->slots[c->slot];
        rules_limit(f->rules, c->slot, what->limit, why);
        rule->label |= what->label;
        rule->also = what->also;
        rule->has_also = what->has_also;
    }
}

static int64_t attr_long(const struct skiff_op *op, const char *name, int64_t fallback)
{
    const struct op_attr_value *a = op_attr(op, name);
    return !a ? fallback : a->type == ATTR_LONG ? a->value.l : a->value.i;
}

static void follow_lookup(struct following *f, const struct skiff_op *op)
{
    const char *table = op_in1(op, "W");
    const struct skiff_var *w = table ? block_find_var(f->block, table) : NULL;
    const struct op_attr_value *elsewhere = op_attr(op, "is_distributed");
    char why[160];
    if (elsewhere && elsewhere->value.b)
        return; /* rows are created for any id, so no id is refused */
    if (!w || w->kind != VAR_LOD_TENSOR || w->shape.ndim != 2 || w->shape.dims[0] < 1)
        return;
    snprintf(why, sizeof why, "table \"%.80s\" has %lld rows", table, (long long)w->shape.dims[0]);
    int64_t padding = attr_long(op, "padding_idx", -1);
    struct slot_rule rule = {w->shape.dims[0], .also = padding, .has_also = padding != -1};
    limit(f, op_in1(op, "Ids"), &rule, why);
}

static void follow_entropy(struct following *f, const struct skiff_op *op)
{
    const char *x = op_in1(op, op->kind->ins[0].name);
    const struct skiff_var *v = x ? block_find_var(f->block, x) : NULL;
    const struct op_attr_value *soft = op_attr(op, "soft_label");
    char why[160];
    int64_t classes = v && v->shape.ndim > 0 ? v->shape.dims[v->shape.ndim - 1] : 0;
    if (classes < 1 || (soft && soft->value.b))
        return;
    snprintf(why, sizeof why, "\"%.80s\" has %lld classes", x, (long long)classes);
    struct slot_rule rule = {classes, .also = attr_long(op, "ignore_index", -100), .has_also = true,
                             .label = true};
    limit(f, op_in1(op, "Label"), &rule, why);
}

static void follow(struct following *f, const struct skiff_op *op)
{
    if (op_has(op, OP_MOVES))
        follow_move(f, op);
    else if (op_is(op, CLASS_LOOKUP))
        follow_lookup(f, op);
    else if (op_has(op, OP_CLASS_LABELS))
        follow_entropy(f, op);
}

void data_rules_of(const struct skiff_program *program, const struct schema *schema,
                   struct data_rules *out)
{
    struct following f = {.block = program_root(program), .rules = out};
    rules_init(out, schema->count);
    arena_init(&f.arena);
    str_map_init(&f.carriers);
    for (int i = 0; i < schema->count; i++)
        carry(&f, schema->slots[i].name, i);
    for (int i = 0; i < f.block->nops; i++)
        follow(&f, f.block->ops[i]);
    str_map_deinit(&f.carriers);
    arena_deinit(&f.arena);
}
