/* Programs in memory (program.c, op.c, attr.c): blocks, variables, op lists, slots, attributes and
 * defaults. A clone must share nothing with its original, and every function that changes a program
 * must change its version. */
#include "program/testing.h"

#include "program/op_kind.h"

static void blocks_and_variables(void **state)
{
    struct skiff_program *p = program_create();
    assert_int_equal(p->paddle_version, 1008005);
    assert_int_equal(p->generation, GEN_1X);
    struct skiff_block *root = program_root(p), *sub = program_add_block(p, 0);
    assert_int_equal(sub->idx, 1);
    assert_int_equal(root->parent, -1);
    char name[] = "x";
    struct skiff_var *x = block_add_var(root, name);
    name[0] = 'z'; /* names are copied */
    assert_string_equal(x->name, "x");
    assert_int_equal(x->kind, VAR_LOD_TENSOR);
    assert_ptr_equal(block_add_var(root, "x"), x);
    assert_ptr_equal(block_find_var(sub, "x"), x);
    assert_null(block_own_var(sub, "x"));
    struct skiff_block *grad = program_add_block(p, 0);
    grad->forward_idx = 1;
    struct skiff_var *inner = block_add_var(sub, "inner");
    assert_ptr_equal(block_find_var(grad, "inner"), inner);
    block_remove_var(root, "x");
    assert_null(block_find_var(sub, "x"));
    program_destroy(p);
}

static void op_lists(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_block *b = program_root(p);
    const char *const types[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        block_insert_op(b, -1, types[i]);
    block_insert_op(b, 1, "new");
    assert_int_equal(b->nops, 6);
    assert_string_equal(b->ops[1]->type, "new");
    assert_string_equal(b->ops[2]->type, "b");
    assert_null(b->ops[1]->kind);
    block_remove_ops(b, 2, 3);
    assert_int_equal(b->nops, 3);
    assert_string_equal(b->ops[2]->type, "e");
    block_remove_ops(b, 1, 99);
    assert_int_equal(b->nops, 1);
    block_remove_ops(b, 5, 1);
    assert_int_equal(b->nops, 1);
    program_destroy(p);
}

static void slots(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_op *op = block_insert_op(program_root(p), -1, "thing");
    for (int i = 0; i < 20; i++) {
        char slot[8], name[8];
        snprintf(slot, sizeof(slot), "S%d", i);
        snprintf(name, sizeof(name), "v%d", i);
        op_set_in(p, op, slot, 1, (const char *[]){name});
    }
    assert_int_equal(op->nins, 20);
    for (int i = 0; i < 20; i++) {
        char slot[8], name[8];
        snprintf(slot, sizeof(slot), "S%d", i);
        snprintf(name, sizeof(name), "v%d", i);
        assert_string_equal(op_in1(op, slot), name);
    }
    op_set_in(p, op, "S3", 2, (const char *[]){"a", "b"});
    assert_int_equal(op->nins, 20);
    assert_null(op_in1(op, "S3"));
    assert_int_equal(op_in(op, "S3")->n, 2);
    op_set_out(p, op, "Out", 0, NULL);
    assert_non_null(op_out(op, "Out"));
    assert_null(op_out(op, "Other"));
    op_rename_in(p, op, "a", "c");
    assert_true(op_reads(op, "c"));
    assert_false(op_reads(op, "a"));
    op_set_out(p, op, "Out", 1, (const char *[]){"y"});
    op_rename_out(p, op, "y", "z");
    assert_string_equal(op_out1(op, "Out"), "z");
    assert_true(op_writes(op, "z"));
    program_destroy(p);
}

static void attributes(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_op *op = block_insert_op(program_root(p), -1, "thing");
    int32_t ints[] = {1, 2, 3};
    char text[] = "hello";
    op_set_ints(p, op, "ints", 3, ints);
    op_set_string(p, op, "s", text);
    op_set_strings(p, op, "list", 2, (const char *[]){"a", "b"});
    op_set_int(p, op, "op_role", ROLE_BACKWARD);
    ints[0] = 9;
    text[0] = 'j';
    assert_int_equal(op_attr(op, "ints")->value.ints[0], 1);
    assert_string_equal(op_attr(op, "s")->value.s, "hello");
    assert_string_equal(op_attr(op, "list")->value.strings[1], "b");
    assert_int_equal(op_role_of(op), ROLE_BACKWARD);
    op_set_float(p, op, "s", 2.5f);
    assert_int_equal(op_attr(op, "s")->type, ATTR_FLOAT);
    assert_int_equal(op->nattrs, 4);
    op_remove_attr(op, "ints");
    assert_null(op_attr(op, "ints"));
    assert_int_equal(op->nattrs, 3);
    struct skiff_op *other = block_insert_op(program_root(p), -1, "thing");
    assert_int_equal(op_role_of(other), ROLE_UNSPECIFIED);
    op_copy_attrs(p, other, op);
    assert_int_equal(other->nattrs, 3);
    assert_true(attr_value_equal(ATTR_STRINGS, &op_attr(op, "list")->value,
                                 &op_attr(other, "list")->value));
    program_destroy(p);
}

/* A kind that only this test knows, bound by hand. */
static const struct op_attr_spec test_attrs[] = {
    A_INT("axis", -1),
    A_STR("mode", "fast"),
    {.name = "old", .type = ATTR_INT, .flags = ATTR_ONLY_1X},
    {.name = "new", .type = ATTR_INT, .flags = ATTR_ONLY_2X},
    {.name = "hidden", .type = ATTR_INT, .flags = ATTR_HIDDEN},
    A_REQ("must", ATTR_FLOAT),
    {0}};
static const struct op_kind test_kind = {.type = "test", .attrs = test_attrs};

static void defaults(void **state)
{
    for (int generation = GEN_1X; generation <= GEN_2X; generation++) {
        struct skiff_program *p = program_create();
        struct skiff_error err;
        p->generation = (enum generation)generation;
        p->current_role = ROLE_OPTIMIZE;
        p->current_namescope = "/optimizer/";
        p->current_role_var = (const char *const[]){"w", "w@GRAD"};
        p->ncurrent_role_var = 2;
        struct skiff_op *op = block_insert_op(program_root(p), -1, "test");
        op->kind = &test_kind;
        assert_int_equal(op_fill_defaults(p, op, &err), SKIFF_INVALID);
        assert_string_equal(err.message, "op test: attribute must (FLOAT) is required and missing");
        op_set_float(p, op, "must", 1);
        op_set_int(p, op, "axis", 2);
        assert_int_equal(op_fill_defaults(p, op, &err), SKIFF_OK);
        assert_int_equal(op_attr(op, "axis")->value.i, 2);
        assert_string_equal(op_attr(op, "mode")->value.s, "fast");
        assert_true((op_attr(op, "old") != NULL) == (generation == GEN_1X));
        assert_true((op_attr(op, "new") != NULL) == (generation == GEN_2X));
        assert_true((op_attr(op, "with_quant_attr") != NULL) == (generation == GEN_2X));
        assert_null(op_attr(op, "hidden"));
        assert_int_equal(op_role_of(op), ROLE_OPTIMIZE);
        assert_int_equal(op_attr(op, "op_role_var")->value.n, 2);
        assert_string_equal(op_attr(op, "op_role_var")->value.strings[1], "w@GRAD");
        assert_string_equal(op_attr(op, "op_namescope")->value.s, "/optimizer/");
        assert_int_equal(op_attr(op, "op_callstack")->value.n, 0);
        assert_string_equal(op_attr(op, "op_device")->value.s, "");
        program_destroy(p);
    }
}

static void clones(void **state)
{
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct skiff_program *p = test_load(test_programs[i]);
        p->random_seed = 7;
        struct skiff_var *w = p->blocks[0]->vars.entries[0].value;
        w->param = arena_alloc(&p->arena, sizeof(*w->param));
        w->param->learning_rate = 0.5f;
        struct buf before = BUF_INIT, after = BUF_INIT;
        program_print(p, &before);
        struct skiff_program *q = program_clone(p);
        const char *name = arena_strdup(&q->arena, w->name);
        program_destroy(p); /* nothing of the clone may point into it */
        program_print(q, &after);
        assert_same_bytes(&before, &after);
        assert_int_equal(q->random_seed, 7);
        assert_float_equal(block_own_var(q->blocks[0], name)->param->learning_rate, 0.5, 0);
        program_destroy(q);
        buf_deinit(&before);
        buf_deinit(&after);
    }
}

static void clone_keeps_producers(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_block *b = program_root(p);
    struct skiff_op *op = block_insert_op(b, -1, "thing");
    op_set_out(p, op, "Out", 1, (const char *[]){"y"});
    block_add_var(b, "y")->producer = op;
    struct skiff_program *q = program_clone(p);
    assert_ptr_equal(block_own_var(program_root(q), "y")->producer, program_root(q)->ops[0]);
    program_destroy(p);
    program_destroy(q);
}

/* Every function that changes a program gives it another version. */
static void changes_are_counted(void **state)
{
    struct skiff_program *p = program_create(), *q = program_create();
    struct skiff_block *b = program_root(p);
    uint64_t before = p->version;
#define CHANGES(what)                      \
    do {                                   \
        what;                              \
        assert_true(p->version != before); \
        before = p->version;               \
    } while (0)
    assert_true(p->id != q->id);
    CHANGES(program_add_block(p, 0));
    CHANGES(block_add_var(b, "x"));
    CHANGES(block_insert_op(b, -1, "scale"));
    struct skiff_op *op = b->ops[0];
    CHANGES(op_set_in(p, op, "X", 1, (const char *[]){"x"}));
    CHANGES(op_set_out(p, op, "Out", 1, (const char *[]){"y"}));
    CHANGES(op_rename_in(p, op, "x", "z"));
    CHANGES(op_rename_out(p, op, "y", "x"));
    CHANGES(op_set_float(p, op, "scale", 2));
    CHANGES(op_copy_attrs(p, block_insert_op(b, -1, "scale"), op));
    CHANGES(op_remove_attr(op, "scale"));
    CHANGES(block_remove_ops(b, 1, 1));
    CHANGES(block_remove_var(b, "x"));
    CHANGES(program_set_job(p, NULL));
#undef CHANGES
    assert_ptr_equal(op->program, p);
    uint64_t looked = p->version;
    op_attr(op, "scale");
    block_find_var(b, "x");
    program_destroy(program_clone(p));
    assert_true(p->version == looked);
    program_destroy(p);
    program_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_variables),
        cmocka_unit_test(op_lists),
        cmocka_unit_test(slots),
        cmocka_unit_test(attributes),
        cmocka_unit_test(defaults),
        cmocka_unit_test(clones),
        cmocka_unit_test(clone_keeps_producers),
        cmocka_unit_test(changes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
