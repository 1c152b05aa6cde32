#include "program/testing.h"

/* A small program that is right; each case changes one word of it. */
static const char good[] =
    "program generation=1 version=1008005\n"
    "block 0 parent=-1 {\n"
    "    var x LOD_TENSOR float32 [-1,13]\n"
    "    var w LOD_TENSOR float32 [13,4] persistable=True\n"
    "    var lr LOD_TENSOR float32 [1] persistable=True\n"
    "    var h LOD_TENSOR float32 [-1,4]\n"
    "    var y LOD_TENSOR float32 [-1,4]\n"
    "    op mul {X:[x] Y:[w]} -> {Out:[h]} x_num_col_dims=1 y_num_col_dims=1\n"
    "    op relu {X:[h]} -> {Out:[y]}\n"
    "    op sgd {Grad:[w] LearningRate:[lr] Param:[w]} -> {ParamOut:[w]}\n"
    "}\n";

static struct skiff_program *changed(const char *from, const char *to)
{
    struct buf text = BUF_INIT;
    const char *at = strstr(good, from);
    assert_non_null(at);
    buf_add(&text, good, (size_t)(at - good));
    buf_str(&text, to);
    buf_str(&text, at + strlen(from));
    struct skiff_program *p = test_parse(text.data);
    buf_deinit(&text);
    return p;
}

static void expect(const char *from, const char *to, enum skiff_status status, const char *message)
{
    struct skiff_program *p = changed(from, to);
    struct skiff_error err = {0};
    enum skiff_status got = program_verify(p, &err);
    if (got != status)
        fail_msg("\"%s\" -> \"%s\": status %d: %s", from, to, (int)got, err.message);
    if (message)
        assert_has(err.message, message);
    program_destroy(p);
}

static void right_programs(void **state)
{
    expect("x", "x", SKIFF_OK, NULL);
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct skiff_program *p = test_load(test_programs[i]);
        struct skiff_error err = {0};
        if (program_verify_with(p, VERIFY_SKIP_UNKNOWN, &err) != SKIFF_OK)
            fail_msg("%s: %s", test_programs[i], err.message);
        program_destroy(p);
    }
}

static void shapes(void **state)
{
    expect("var h LOD_TENSOR float32 [-1,4]", "var h LOD_TENSOR float32 [-1,5]", SKIFF_SHAPE,
           "block 0, op 0 (mul), output Out (h): the op gives the shape [-1, 4], but the variable "
           "has [-1, 5]");
    expect("var y LOD_TENSOR float32 [-1,4]", "var y LOD_TENSOR float32 [-1,4,1]", SKIFF_SHAPE,
           "block 0, op 1 (relu), output Out (y): the op gives the shape [-1, 4], but the variable "
           "has [-1, 4, 1]");
    expect("var w LOD_TENSOR float32 [13,4]", "var w LOD_TENSOR float32 [12,4]", SKIFF_SHAPE,
           "block 0, op 0: op mul, input");
    /* -1 agrees with anything; what the file leaves open is no error */
    expect("var y LOD_TENSOR float32 [-1,4]", "var y LOD_TENSOR float32 [7,-1]", SKIFF_OK, NULL);
    expect("var y LOD_TENSOR float32 [-1,4]", "var y LOD_TENSOR", SKIFF_OK, NULL);
    expect("var h LOD_TENSOR float32 [-1,4]", "var h LOD_TENSOR", SKIFF_OK, NULL);
    struct skiff_program *p =
        changed("var h LOD_TENSOR float32 [-1,4]", "var h LOD_TENSOR float32 [9,9]");
    assert_int_equal(program_verify_with(p, VERIFY_SKIP_SHAPES, NULL), SKIFF_OK);
    program_destroy(p);
}

static void slots_and_variables(void **state)
{
    expect("Y:[w]", "Y:[v]", SKIFF_NOT_FOUND,
           "block 0, op 0 (mul), input Y: variable v is not in block 0 or its parents");
    expect("Out:[y]", "Out:[z]", SKIFF_NOT_FOUND,
           "block 0, op 1 (relu), output Out: variable z is not in block 0");
    expect("X:[x] Y:[w]", "X:[x]", SKIFF_INVALID,
           "block 0, op 0 (mul), input Y: the slot is required and has no variable");
    expect("X:[x] Y:[w]", "X:[x] Y:[]", SKIFF_INVALID, "input Y: the slot is required");
    expect("X:[h]", "X:[h,x]", SKIFF_INVALID,
           "block 0, op 1 (relu), input X: expected one variable, found 2 (h, x)");
    expect("X:[h]", "X:[h] Z:[x]", SKIFF_INVALID,
           "block 0, op 1 (relu), input Z (x): the op has no such slot");
    expect("X:[h]", "X:[h] Z:[]", SKIFF_OK, NULL);
}

static void left_behind_blocks(void **state)
{
    static const char sub[] = "\n}\nblock 1 parent=0 {\n    op relu {X:[gone]} -> {Out:[y]}\n}\n";
    expect("\n}\n", sub, SKIFF_OK, NULL); /* nobody runs block 1 */
    struct skiff_program *p = changed("\n}\n", sub);
    struct skiff_error err;
    op_set_attr(p, program_root(p)->ops[1], "sub_block", ATTR_BLOCK, &(struct attr_value){.i = 1});
    assert_int_equal(program_verify(p, &err), SKIFF_NOT_FOUND);
    assert_has(err.message, "block 1, op 0 (relu), input X: variable gone is not in block 1");
    program_destroy(p);
}

static void kinds_and_attributes(void **state)
{
    expect("op relu", "op rellu", SKIFF_UNSUPPORTED,
           "block 0, op 1: there is no op rellu for Paddle 1.x programs; the nearest name is relu");
    struct skiff_program *p = changed("op relu", "op rellu");
    assert_int_equal(program_verify_with(p, VERIFY_SKIP_UNKNOWN, NULL), SKIFF_OK);
    program_destroy(p);
    expect(
        "x_num_col_dims=1", "x_num_col_dims=\"1\"", SKIFF_INVALID,
        "block 0, op 0: op mul: attribute x_num_col_dims must be INT, but the program has STRING");
    expect("op relu {X:[h]} -> {Out:[y]}", "op cast {X:[h]} -> {Out:[y]} in_dtype=5", SKIFF_INVALID,
           "op cast: attribute out_dtype (INT) is required and missing");
    p = changed("x", "x");
    op_set_attr(p, program_root(p)->ops[1], "sub_block", ATTR_BLOCK, &(struct attr_value){.i = 3});
    struct skiff_error err;
    assert_int_equal(program_verify(p, &err), SKIFF_INVALID);
    assert_has(err.message,
               "block 0, op 1 (relu), attribute sub_block: block 3, but the program has 1 blocks");
    program_destroy(p);
}

static void the_program_stays_as_it_was(void **state)
{
    struct skiff_program *p = test_load(test_programs[0]);
    struct buf before = BUF_INIT, after = BUF_INIT;
    program_print(p, &before);
    program_verify_with(p, VERIFY_SKIP_UNKNOWN, NULL);
    program_print(p, &after);
    assert_same_bytes(&before, &after);
    program_destroy(p);
    buf_deinit(&before);
    buf_deinit(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_programs),      cmocka_unit_test(shapes),
        cmocka_unit_test(slots_and_variables), cmocka_unit_test(kinds_and_attributes),
        cmocka_unit_test(left_behind_blocks),  cmocka_unit_test(the_program_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
