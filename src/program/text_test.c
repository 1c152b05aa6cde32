/* The text form (text_print.c, text_lex.c, text_parse.c): round trip of recorded programs, the
 * exact look of one, numbers that keep their bits, errors with line and column, a process whose
 * locale has a decimal comma, and damaged text. */
#include "program/testing.h"

#include <locale.h>
#include <math.h>

static void round_trip(void **state)
{
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct skiff_program *p = test_load(test_programs[i]);
        struct buf text = BUF_INIT, again = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
        program_print(p, &text);
        struct skiff_program *q = test_parse(text.data);
        program_print(q, &again);
        assert_same_bytes(&text, &again);
        program_encode(p, &a);
        program_encode(q, &b);
        assert_same_bytes(&a, &b);
        assert_int_equal(p->generation, q->generation);
        program_destroy(p);
        program_destroy(q);
        buf_deinit(&text);
        buf_deinit(&again);
        buf_deinit(&a);
        buf_deinit(&b);
    }
}

static void the_look(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_block *b = program_root(p);
    struct skiff_var *x = block_add_var(b, "x");
    x->has_tensor = true;
    x->shape = SHAPE(-1, 13);
    x->persistable = PRESENCE_FALSE;
    x->lod_level = 1;
    block_add_var(b, "odd name")->kind = VAR_RAW;
    struct skiff_op *op = block_insert_op(b, -1, "my_op");
    op_set_in(p, op, "X", 2, (const char *[]){"x", "odd name"});
    op_set_in(p, op, "Y", 0, NULL);
    op_set_out(p, op, "Out", 1, (const char *[]){"fc_0.tmp_0@GRAD"});
    op_set_int(p, op, "i", -3);
    op_set_long(p, op, "l", 1L << 40);
    op_set_float(p, op, "f", 0.1f);
    op_set_bool(p, op, "b", true);
    op_set_string(p, op, "s", "a \"quoted\" line\n\x01");
    op_set_strings(p, op, "ss", 0, NULL);
    op_set_longs(p, op, "ll", 2, (int64_t[]){1, -2});
    op_set_attr(p, op, "sub", ATTR_BLOCK, &(struct attr_value){.i = 0});
    op_set_attr(p, op, "d", ATTR_FLOAT64, &(struct attr_value){.d = 0.1});
    op_set_attr(p, op, "v", ATTR_VAR, &(struct attr_value){.s = "x"});
    struct buf text = BUF_INIT;
    program_print(p, &text);
    assert_string_equal(
        text.data,
        "program generation=1 version=1008005\n"
        "block 0 parent=-1 {\n"
        "    var x LOD_TENSOR float32 [-1,13] lod=1 persistable=False\n"
        "    var \"odd name\" RAW\n"
        "    op my_op {X:[x,\"odd name\"] Y:[]} -> {Out:[fc_0.tmp_0@GRAD]} i=-3 l=1099511627776L "
        "f=0.1 b=True s=\"a \\\"quoted\\\" line\\n\\x01\" ss=strings[] ll=longs[1,-2] "
        "sub=block(0) d=double(0.1) v=var(x)\n"
        "}\n");
    program_destroy(p);
    buf_deinit(&text);
}

static void numbers_keep_their_bits(void **state)
{
    static const float floats[] = {0.0f,      -0.0f,    1.0f,          1e-8f,      3.4028235e38f,
                                   1e-45f,    16777216, 0.1f,          0.3333333f, INFINITY,
                                   -INFINITY, 1e10f,    1.1754944e-38f};
    static const double doubles[] = {
        0.1, -0.0, 1e300, 5e-324, 1.0 / 3, INFINITY, 12345678901234568};
    enum { NF = sizeof(floats) / sizeof(floats[0]), ND = sizeof(doubles) / sizeof(doubles[0]) };
    struct skiff_program *p = program_create();
    struct skiff_op *op = block_insert_op(program_root(p), -1, "numbers");
    float all[NF + 2];
    memcpy(all, floats, sizeof(floats));
    memcpy(&all[NF], &(uint32_t){0x7fc00001}, 4);
    memcpy(&all[NF + 1], &(uint32_t){0xffc00000}, 4);
    struct attr_value fs = {.n = NF + 2, .floats = all}, ds = {.n = ND, .doubles = doubles};
    struct scalar scalars[] = {{.type = SCALAR_BOOLEAN, .b = true},
                               {.type = SCALAR_LONG, .i = INT64_MIN},
                               {.type = SCALAR_FLOAT64, .r = 2},
                               {.type = SCALAR_FLOAT64, .r = -INFINITY},
                               {.type = SCALAR_COMPLEX128, .r = 0.5, .im = -1}};
    struct attr_value ss = {.n = 5, .scalars = scalars};
    op_set_attr(p, op, "fs", ATTR_FLOATS, &fs);
    op_set_attr(p, op, "ds", ATTR_FLOAT64S, &ds);
    op_set_attr(p, op, "ss", ATTR_SCALARS, &ss);
    op_set_attr(p, op, "nan", ATTR_FLOAT, &(struct attr_value){.f = all[NF]});
    op_set_attr(p, op, "inf", ATTR_FLOAT, &(struct attr_value){.f = -INFINITY});
    op_set_attr(p, op, "s", ATTR_SCALAR, &(struct attr_value){.scalar = scalars[4]});
    op_set_attr(p, op, "bs", ATTR_BOOLEANS, &(struct attr_value){.n = 2, .bools = (bool[]){1, 0}});
    struct buf text = BUF_INIT;
    program_print(p, &text);
    struct skiff_program *q = test_parse(text.data);
    const struct skiff_op *read = program_root(q)->ops[0];
    assert_int_equal(read->nattrs, 7);
    for (int i = 0; i < op->nattrs; i++) {
        assert_int_equal(read->attrs[i].type, op->attrs[i].type);
        if (!attr_value_equal(op->attrs[i].type, &read->attrs[i].value, &op->attrs[i].value))
            fail_msg("%s: %s", op->attrs[i].name, text.data);
    }
    program_destroy(p);
    program_destroy(q);
    buf_deinit(&text);
}

static void comments_and_blank_lines(void **state)
{
    struct skiff_program *p =
        test_parse("# a program\n\nprogram generation=2  # head\n\n"
                   "op_versions adam=3 \"odd op\"=1\nblock 0 parent=-1 {  \n"
                   "  # nothing\n\n  op relu { X : [ a , b ] }->{} axis = 1\n}\n\n");
    assert_int_equal(p->generation, GEN_2X);
    assert_false(p->has_version);
    assert_int_equal(p->nop_versions, 2);
    assert_string_equal(p->op_versions[1].op, "odd op");
    assert_int_equal(op_in(program_root(p)->ops[0], "X")->n, 2);
    program_destroy(p);
}

static void errors_name_the_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t:1:1: expected \"program\", found the end of the text"},
        {"programme", "t:1:8: expected \"generation=\", found \"me\""},
        {"program generation=3\n", "t:1:20: expected a whole number from 1 to 2, found \"3\""},
        {"program generation=1\n", "t:2:1: expected a block, found the end of the text"},
        {"program generation=2\nop_versions a=1\nop_versions b=1\n",
         "t:3:12: expected a block: op_versions stands twice, found"},
        {"program generation=1\nblock 1", "t:2:7: expected a whole number from 0 to 0"},
        {"program generation=1\nblock 0 parent=0 {\n}",
         "t:2:16: expected a whole number from -1 to -1"},
        {"program generation=1\nblock 0 parent=-1 {\n  vax x\n}",
         "t:3:3: expected var, op or }, found \"vax x\""},
        {"program generation=1\nblock 0 parent=-1 {\n  var x FOO\n}",
         "t:3:9: expected the kind of the variable"},
        {"program generation=1\nblock 0 parent=-1 {\n  var x RAW\n  var x RAW\n}",
         "t:4:7: block 0 has this variable already"},
        {"program generation=1\nblock 0 parent=-1 {\n  var x LOD_TENSOR float99 [1]\n}",
         "t:3:20: expected an element type"},
        {"program generation=1\nblock 0 parent=-1 {\n  var x LOD_TENSOR float32 "
         "[1,2,3,4,5,6,7,8,9,10]\n}",
         "expected at most 9 dimensions"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {X:[x]} > {}\n}",
         "t:3:16: expected \"->\", found \"> {}\""},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {X:[] X:[]} -> {}\n}",
         "t:3:14: the op has this slot already"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=1 k=2\n}",
         "t:3:21: the op has this attribute already"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=what\n}",
         "t:3:19: expected the value of attribute k, found \"what\""},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=ints[1,x]\n}",
         "t:3:26: expected a whole number"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=9999999999\n}",
         "expected a whole number from -2147483648 to 2147483647"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=\"open\n}",
         "t:3:24: expected the closing quote"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=\"\\q\"\n}",
         "expected one of"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=block(4)\n}",
         "t:3:25: expected a block below 1, found \"4)\""},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=block(-1)\n}",
         "t:3:25: expected a whole number from 0"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=1~ff\n}",
         "expected whole protobuf fields in hex"},
        {"program generation=1\nblock 0 parent=-1 {\n  op a {} -> {} k=1~0\n}",
         "expected an even number of hex digits"},
        {"program generation=1\nblock 0 parent=-1 {\n",
         "expected var, op or }, found the end of the text"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct skiff_program *p = NULL;
        struct skiff_error err = {0};
        assert_int_equal(program_parse(cases[i].text, "t", &p, &err), SKIFF_FORMAT);
        assert_null(p);
        assert_has(err.message, cases[i].message);
    }
}

/* A process with decimal commas writes and reads the same text. */
static void other_locales(void **state)
{
    const char *text = "program generation=1\nblock 0 parent=-1 {\n    op a {} -> {} k=0.25\n}\n";
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "");
    struct skiff_program *p = test_parse(text);
    assert_float_equal(op_attr(program_root(p)->ops[0], "k")->value.f, 0.25, 0);
    struct buf out = BUF_INIT;
    program_print(p, &out);
    assert_string_equal(out.data, text);
    setlocale(LC_ALL, "C");
    program_destroy(p);
    buf_deinit(&out);
}

static void damaged_text(void **state)
{
    uint32_t random = 99;
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct skiff_program *p = test_load(test_programs[i]);
        struct buf text = BUF_INIT;
        program_print(p, &text);
        program_destroy(p);
        for (int k = 0; k < 200; k++) {
            random = random * 1664525 + 1013904223;
            size_t at = random % text.len;
            char before = text.data[at];
            struct skiff_program *q = NULL;
            struct skiff_error err = {0};
            text.data[at] = k % 3 ? (char)(random >> 24) : 0;
            if (program_parse(text.data, "damaged", &q, &err) == SKIFF_OK)
                program_destroy(q);
            else
                assert_has(err.message, "damaged:");
            text.data[at] = before;
        }
        buf_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(the_look),
        cmocka_unit_test(numbers_keep_their_bits),
        cmocka_unit_test(comments_and_blank_lines),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(other_locales),
        cmocka_unit_test(damaged_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
