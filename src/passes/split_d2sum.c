/* strategy.adam_d2sum: dense parameters under Adam are updated by Paddle's adam_d2sum rule. The
 * accumulators keep their variables: Moment1 is used as mom, Moment2 as g2sum, and Beta1Pow,
 * starting at 0 instead of beta1, as d2sum; Beta2Pow is removed. */
#include <string.h>

#include "passes/split_parts.h"

static bool takes(const struct skiff_block *b, const struct skiff_op *op)
{
    const char *grad = op_in1(op, "Grad");
    const struct skiff_var *g = grad ? block_find_var(b, grad) : NULL;
    const struct optimizer_kind *kind = split_optimizer(op);
    return kind && kind->flags & OPTIMIZER_TO_D2SUM && g && g->kind != VAR_SELECTED_ROWS &&
           op_in1(op, "Param") && op_in1(op, "LearningRate") && op_in1(op, "Moment1") &&
           op_in1(op, "Moment2") && op_in1(op, "Beta1Pow");
}

static void copy_attr(struct skiff_program *p, struct skiff_op *to, const struct skiff_op *from,
                      const char *name)
{
    const struct op_attr_value *a = op_attr(from, name);
    if (a)
        op_set_attr(p, to, name, a->type, &a->value);
}

static enum skiff_status replace(struct skiff_block *b, int at, struct skiff_error *err)
{
    static const char *const slots[] = {"Param", "Moment1", "Moment2", "Beta1Pow"};
    const struct skiff_op *adam = b->ops[at];
    struct skiff_op *op = build_op(b, at, "adam_d2sum");
    build_in1(b, op, "Grad", op_in1(adam, "Grad"));
    build_in1(b, op, "LearningRate", op_in1(adam, "LearningRate"));
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        build_in1(b, op, slots[i], op_in1(adam, slots[i]));
        build_out1(b, op, arena_printf(&b->program->arena, "%sOut", slots[i]),
                   op_in1(adam, slots[i]));
    }
    copy_attr(b->program, op, adam, "op_role");
    copy_attr(b->program, op, adam, "op_role_var");
    copy_attr(b->program, op, adam, "op_namescope");
    block_remove_ops(b, at + 1, 1);
    return build_done(b, op, err);
}

static void restart(struct skiff_block *startup, const char *d2sum, const char *unused)
{
    for (int i = startup->nops - 1; i >= 0; i--)
        if (op_writes(startup->ops[i], d2sum))
            op_set_float(startup->program, startup->ops[i], "value", 0);
        else if (unused && op_writes(startup->ops[i], unused))
            block_remove_ops(startup, i, 1);
}

enum skiff_status split_adam_d2sum(struct skiff_program *main, struct skiff_program *startup,
                                   struct skiff_error *err)
{
    struct skiff_block *b = program_root(main), *s = program_root(startup);
    for (int i = 0; i < b->nops; i++) {
        if (!takes(b, b->ops[i]))
            continue;
        const char *unused = op_in1(b->ops[i], "Beta2Pow");
        restart(s, op_in1(b->ops[i], "Beta1Pow"), unused);
        TRY(replace(b, i, err));
        if (unused) {
            block_remove_var(b, unused);
            block_remove_var(s, unused);
        }
    }
    return SKIFF_OK;
}
