#include "program/testing.h"

static const char text[] =
    "program generation=1\n"
    "block 0 parent=-1 {\n"
    "    var x LOD_TENSOR float32 [-1,4] persistable=False\n"
    "    var w LOD_TENSOR float32 [4,4] persistable=True\n"
    "    op mul {X:[x] Y:[w]} -> {Out:[h]} a=1 b=2.0 op_callstack=strings[\"f\"]\n"
    "    op relu {X:[h]} -> {Out:[y]}\n"
    "}\n";

static void expect(const char *other, int count, const char *message)
{
    struct skiff_program *a = test_parse(text), *b = test_parse(other);
    struct buf out = BUF_INIT;
    int n = program_diff(a, b, &out);
    if (n != count)
        fail_msg("%d differences: %s", n, out.data ? out.data : "");
    if (message)
        assert_string_equal(out.data, message);
    program_destroy(a);
    program_destroy(b);
    buf_deinit(&out);
}

static void equal(void **state)
{
    expect(text, 0, NULL);
    expect("program generation=1\n" /* another order, other presence, another stack */
           "block 0 parent=-1 {\n"
           "    var w LOD_TENSOR float32 [4,4] persistable=True\n"
           "    var x LOD_TENSOR float32 [-1,4]\n"
           "    op mul {Y:[w] X:[x]} -> {Out:[h]} op_callstack=strings[] b=2.0 a=1\n"
           "    op relu {X:[h]} -> {Out:[y]}\n"
           "}\n",
           0, NULL);
}

static void different(void **state)
{
    expect("program generation=1\n"
           "block 0 parent=-1 {\n"
           "    var x SELECTED_ROWS int64 [-1,5] persistable=True\n"
           "    var v RAW\n"
           "    op mul {X:[w] Z:[]} -> {Out:[h,i]} a=1L c=1\n"
           "    op tanh {X:[h]} -> {Out:[y]}\n"
           "    op last {} -> {}\n"
           "}\n",
           15,
           "block 0, op 0 (mul): input X[0] is x in a, w in b\n"
           "block 0, op 0 (mul): input Y (1 variables) is only in a\n"
           "block 0, op 0 (mul): input Z (0 variables) is only in b\n"
           "block 0, op 0 (mul): output Out has 1 variables in a, 2 in b\n"
           "block 0, op 0 (mul): attribute a is 1 (INT) in a, 1L (LONG) in b\n"
           "block 0, op 0 (mul): attribute b is only in a\n"
           "block 0, op 0 (mul): attribute c is only in b\n"
           "block 0, op 1 (relu): b has tanh here; later ops are not compared\n"
           "block 0: 2 ops in a, 3 in b\n"
           "block 0, variable x: kind is LOD_TENSOR (7) in a, SELECTED_ROWS (8) in b\n"
           "block 0, variable x: type is float32 (5) in a, int64 (3) in b\n"
           "block 0, variable x: shape is [-1, 4] in a, [-1, 5] in b\n"
           "block 0, variable x: persistable is False in a, True in b\n"
           "block 0, variable w: only in a\n"
           "block 0, variable v: only in b\n");
    expect("program generation=2\nblock 0 parent=-1 {\n}\nblock 1 parent=0 {\n}\n", 5, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),
        cmocka_unit_test(different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
