/* Gradient ops made from a kind's grad line (grad.c): slots, names and attributes with and without
 * a type of their own, gradients that are not wanted, wrong lines. The last test follows the lines
 * of all registered ops. */
#include "program/testing.h"

#include "program/grad.h"

static const struct op_slot fwd_ins[] = {{"X", SLOT_LIST}, {"W", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot fwd_outs[] = {{"Out", 0}, {0}};

struct fixture {
    struct skiff_program *program;
    struct skiff_op *op;
    struct op_kind kind;
    struct grad_build build;
};

static bool unwanted_x1(const struct grad_build *g, const char *name)
{
    const char *const *names = g->user;
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void start(struct fixture *f, const char *line, const char *const *unwanted)
{
    f->program = program_create();
    f->kind = (struct op_kind){.type = "thing", .ins = fwd_ins, .outs = fwd_outs, .grad = line};
    f->op = block_insert_op(program_root(f->program), -1, "thing");
    f->op->kind = &f->kind;
    op_set_in(f->program, f->op, "X", 2, (const char *[]){"x0", "x1"});
    op_set_in(f->program, f->op, "W", 1, (const char *[]){"w"});
    op_set_out(f->program, f->op, "Out", 1, (const char *[]){"y"});
    op_set_int(f->program, f->op, "axis", 3);
    f->build = (struct grad_build){.program = f->program,
                                   .block = program_root(f->program),
                                   .fwd = f->op,
                                   .unwanted = unwanted_x1,
                                   .user = (void *)unwanted};
}

static void line_with_type(void **state)
{
    struct fixture f;
    start(&f, "other_grad: X Out Out@GRAD Bias -> X@GRAD W@GRAD Bias@GRAD", NULL);
    assert_int_equal(grad_build_ops(&f.build, NULL), SKIFF_OK);
    assert_int_equal(f.build.nops, 1);
    const struct skiff_op *g = f.build.ops[0];
    assert_string_equal(g->type, "other_grad");
    assert_int_equal(g->nins, 3); /* Bias is absent and stays so */
    assert_int_equal(op_in(g, "X")->n, 2);
    assert_string_equal(op_in1(g, "Out"), "y");
    assert_string_equal(op_in1(g, "Out@GRAD"), "y@GRAD");
    assert_int_equal(g->nouts, 2);
    assert_string_equal(op_out(g, "X@GRAD")->names[1], "x1@GRAD");
    assert_string_equal(op_out1(g, "W@GRAD"), "w@GRAD");
    assert_int_equal(op_attr(g, "axis")->value.i, 3);
    assert_int_equal(program_root(f.program)->nops, 1); /* loose */
    block_put_op(program_root(f.program), -1, f.build.ops[0]);
    assert_int_equal(program_root(f.program)->nops, 2);
    /* attributes are shared by the two ops, but a change of one leaves the other */
    op_set_int(f.program, f.build.ops[0], "axis", 4);
    op_rename_in(f.program, f.build.ops[0], "x0", "z");
    assert_int_equal(op_attr(f.op, "axis")->value.i, 3);
    assert_string_equal(op_in(f.op, "X")->names[0], "x0");
    program_destroy(f.program);
}

static void line_without_type_or_attributes(void **state)
{
    struct fixture f;
    start(&f, "!Out@GRAD -> W@GRAD", NULL);
    assert_int_equal(grad_build_ops(&f.build, NULL), SKIFF_OK);
    assert_string_equal(f.build.ops[0]->type, "thing_grad");
    assert_int_equal(f.build.ops[0]->nattrs, 0);
    program_destroy(f.program);
}

static void unwanted_gradients(void **state)
{
    struct fixture f;
    start(&f, "Out@GRAD -> X@GRAD W@GRAD", (const char *[]){"x0@GRAD", "w@GRAD", NULL});
    assert_int_equal(grad_build_ops(&f.build, NULL), SKIFF_OK);
    const struct skiff_op *g = f.build.ops[0];
    assert_int_equal(op_out(g, "X@GRAD")->n, 2); /* a list keeps its places */
    assert_string_equal(op_out(g, "X@GRAD")->names[0], EMPTY_VAR);
    assert_string_equal(op_out(g, "X@GRAD")->names[1], "x1@GRAD");
    assert_int_equal(op_out(g, "W@GRAD")->n, 0); /* a single slot is empty */
    program_destroy(f.program);
    start(&f, "Out@GRAD -> X@GRAD W@GRAD", (const char *[]){"x0@GRAD", "x1@GRAD", "w@GRAD", NULL});
    assert_int_equal(grad_build_ops(&f.build, NULL), SKIFF_OK);
    assert_int_equal(f.build.nops, 0); /* nobody wants anything: no op */
    program_destroy(f.program);
}

static void no_gradient_and_bad_lines(void **state)
{
    struct fixture f;
    struct skiff_error err;
    start(&f, NULL, NULL);
    assert_int_equal(grad_build_ops(&f.build, &err), SKIFF_OK);
    assert_int_equal(f.build.nops, 0);
    f.kind.grad = "Out@GRAD";
    assert_int_equal(grad_build_ops(&f.build, &err), SKIFF_INTERNAL);
    f.kind.grad = "Out@GRAD -> X";
    assert_int_equal(grad_build_ops(&f.build, &err), SKIFF_INTERNAL);
    assert_has(err.message, "\"X\"");
    f.op->kind = NULL;
    assert_int_equal(grad_build_ops(&f.build, &err), SKIFF_UNSUPPORTED);
    program_destroy(f.program);
}

/* The lines of all registered ops can be followed, and their slots exist. */
static void registered_lines(void **state)
{
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        if (!k->grad)
            continue;
        struct skiff_program *p = program_create();
        struct skiff_op *op = block_insert_op(program_root(p), -1, k->type);
        op->kind = k;
        p->generation = k->generations == GEN_2X ? GEN_2X : GEN_1X;
        for (int s = 0; k->ins && k->ins[s].name; s++)
            op_set_in(p, op, k->ins[s].name, 1, &k->ins[s].name);
        for (int s = 0; k->outs && k->outs[s].name; s++)
            op_set_out(p, op, k->outs[s].name, 1, &k->outs[s].name);
        struct grad_build g = {.program = p, .block = program_root(p), .fwd = op};
        struct skiff_error err = {0};
        if (grad_build_ops(&g, &err) != SKIFF_OK || g.nops != 1)
            fail_msg("op %s, line \"%s\": %s", k->type, k->grad, err.message);
        const struct skiff_op *made = g.ops[0];
        if (!made->kind)
            fail_msg("op %s: its gradient op %s is not registered", k->type, made->type);
        for (int s = 0; s < made->nins; s++)
            if (op_kind_slot(made->kind->ins, made->ins[s].slot) < 0)
                fail_msg("op %s has no input %s", made->type, made->ins[s].slot);
        for (int s = 0; s < made->nouts; s++)
            if (op_kind_slot(made->kind->outs, made->outs[s].slot) < 0)
                fail_msg("op %s has no output %s", made->type, made->outs[s].slot);
        program_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_with_type),     cmocka_unit_test(line_without_type_or_attributes),
        cmocka_unit_test(unwanted_gradients), cmocka_unit_test(no_gradient_and_bad_lines),
        cmocka_unit_test(registered_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
