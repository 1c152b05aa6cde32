/* The protobuf form (pb.c): recorded programs survive a round trip, and messages made
 * by hand test what Paddle never writes: wrong indices, too many dimensions, repeated keys, unknown
 * fields at every level (which must survive protobuf, a clone and the text form), and truncated or
 * changed bytes (which must give a program or an error that names the file). */
#define _GNU_SOURCE 1

#include "program/testing.h"

#include "program/op_kind.h"
#include "program/pb_fields.h"

static void round_trip(void **state)
{
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct skiff_program *p = test_load(test_programs[i]), *q = NULL;
        struct buf once = BUF_INIT, twice = BUF_INIT, diff = BUF_INIT;
        program_encode(p, &once);
        assert_int_equal(program_decode(once.data, once.len, "again", &q, NULL), SKIFF_OK);
        program_encode(q, &twice);
        assert_same_bytes(&once, &twice);
        assert_int_equal(program_diff(p, q, &diff), 0);
        assert_int_equal(p->generation, strstr(test_programs[i], "_26") ? GEN_2X : GEN_1X);
        program_destroy(p);
        program_destroy(q);
        buf_deinit(&once);
        buf_deinit(&twice);
        buf_deinit(&diff);
    }
}

static void contents(void **state)
{
    struct skiff_program *p = test_load(TEST_PROGRAMS "linreg_sgd_18.pb");
    assert_int_equal(p->paddle_version, 1008005);
    assert_int_equal(p->nblocks, 1);
    const struct skiff_block *b = program_root(p);
    assert_int_equal(b->vars.count, 17);
    assert_int_equal(b->nops, 13);
    const struct skiff_var *w = block_own_var(b, "fc_0.w_0");
    assert_int_equal(w->dtype, DTYPE_FP32);
    struct shape shape = SHAPE(13, 1);
    assert_true(shape_equal(&w->shape, &shape));
    assert_true(var_persistable(w));
    assert_int_equal(block_own_var(b, "x")->persistable, PRESENCE_FALSE);
    assert_int_equal(block_own_var(b, "fc_0.w_0@GRAD")->persistable, PRESENCE_ABSENT);
    const struct skiff_op *mul = b->ops[0];
    assert_string_equal(mul->type, "mul");
    assert_string_equal(op_in1(mul, "Y"), "fc_0.w_0");
    assert_int_equal(op_attr(mul, "x_num_col_dims")->value.i, 1);
    assert_int_equal(op_attr(mul, "scale_y")->value.n, 1);
    assert_float_equal(op_attr(mul, "scale_y")->value.floats[0], 1, 0);
    assert_int_equal(op_role_of(b->ops[12]), ROLE_OPTIMIZE);
    assert_ptr_equal(b->ops[12]->kind, op_kind_find("sgd", GEN_1X));
    program_destroy(p);
    p = test_load(TEST_PROGRAMS "while_gru_26.pb");
    assert_int_equal(p->paddle_version, 2006002);
    assert_int_equal(p->nblocks, 3);
    assert_int_equal(p->blocks[2]->forward_idx, 1);
    assert_true(p->has_op_version_map);
    assert_true(p->nop_versions > 50);
    program_destroy(p);
    p = test_load(TEST_PROGRAMS "pserver_18.pb");
    const struct op_attr_value *blocks = op_attr(program_root(p)->ops[0], "optimize_blocks");
    assert_int_equal(blocks->type, ATTR_BLOCKS);
    assert_int_equal(blocks->value.n, 5);
    assert_int_equal(blocks->value.ints[4], 5);
    program_destroy(p);
    p = test_load(TEST_PROGRAMS "lookup_sparse_18.pb");
    assert_int_equal(block_own_var(program_root(p), "w@GRAD")->kind, VAR_SELECTED_ROWS);
    program_destroy(p);
}

/* ---- messages made by hand ---- */

static void put_bytes(struct buf *b, uint32_t tag, const void *bytes, size_t n)
{
    pb_put_varint(b, tag << 3 | PB_WIRE_BYTES);
    pb_put_varint(b, n);
    buf_add(b, bytes, n);
}

static void put_text(struct buf *b, uint32_t tag, const char *s)
{
    put_bytes(b, tag, s, strlen(s));
}

static void put_number(struct buf *b, uint32_t tag, int64_t v)
{
    pb_put_varint(b, tag << 3 | PB_WIRE_VARINT);
    pb_put_varint(b, (uint64_t)v);
}

/* Closes a message: it becomes field `tag` of `to`. */
static void put_message(struct buf *to, uint32_t tag, struct buf *message)
{
    put_bytes(to, tag, message->data ? message->data : "", message->len);
    buf_deinit(message);
    *message = (struct buf)BUF_INIT;
}

static void put_block(struct buf *program, int idx, int parent, struct buf *rest)
{
    struct buf b = BUF_INIT;
    put_number(&b, 1, idx);
    put_number(&b, 2, parent);
    if (rest && rest->len)
        buf_add(&b, rest->data, rest->len);
    put_message(program, 1, &b);
}

static void put_var(struct buf *block, const char *name)
{
    struct buf var = BUF_INIT, type = BUF_INIT;
    put_text(&var, 1, name);
    put_number(&type, 1, VAR_RAW);
    put_message(&var, 2, &type);
    put_message(block, 3, &var);
}

static void expect_error(struct buf *bytes, const char *part)
{
    struct skiff_program *p = NULL;
    struct skiff_error err = {0};
    assert_int_equal(program_decode(bytes->data, bytes->len, "bad.pb", &p, &err), SKIFF_FORMAT);
    assert_null(p);
    assert_has(err.message, "bad.pb");
    assert_has(err.message, part);
    buf_deinit(bytes);
    *bytes = (struct buf)BUF_INIT;
}

static void structure_errors(void **state)
{
    struct buf b = BUF_INIT, inner = BUF_INIT, op = BUF_INIT, attr = BUF_INIT;
    expect_error(&b, "no blocks");
    buf_add(&inner, "\x80\0\0", 3); /* field 0, written in two bytes */
    put_block(&b, 0, -1, &inner);
    expect_error(&b, "number outside 1 to 536870911");
    buf_reset(&inner);
    buf_add(&inner, "\x80\x80\x80\x80\x10\0", 6); /* field 2^29 */
    put_block(&b, 0, -1, &inner);
    expect_error(&b, "number outside 1 to 536870911");
    buf_reset(&inner);
    put_block(&b, 1, -1, NULL);
    expect_error(&b, "block 0 has the index 1");
    put_block(&b, 0, 0, NULL);
    expect_error(&b, "block 0 has parent 0");
    put_block(&b, 0, -1, NULL);
    put_block(&b, 0, -1, NULL);
    expect_error(&b, "block 1 has the index 0");
    put_block(&b, 0, -1, NULL);
    put_block(&b, 1, 7, NULL);
    expect_error(&b, "block 1 has parent 7");
    put_block(&b, 0, -5, NULL);
    expect_error(&b, "parent -5");
    for (int i = 0; i < 300; i++)
        put_block(&b, i, i - 1, NULL);
    expect_error(&b, "block 256 lies more than 256 blocks deep");
    put_number(&inner, 5, 3);
    put_block(&b, 0, -1, &inner);
    expect_error(&b, "forward block 3");
    buf_reset(&inner);
    put_var(&inner, "x");
    put_var(&inner, "x");
    put_block(&b, 0, -1, &inner);
    expect_error(&b, "block 0 has variable x twice");
    buf_reset(&inner);
    for (int sub = -1; sub <= 1; sub += 2) {
        put_text(&op, 3, "while");
        put_text(&attr, 1, "sub_block");
        put_number(&attr, 2, ATTR_BLOCK);
        put_number(&attr, 12, sub);
        put_message(&op, 4, &attr);
        put_message(&inner, 4, &op);
        put_block(&b, 0, -1, &inner);
        expect_error(&b, sub < 0 ? "op while, attribute sub_block: block -1"
                                 : "op while, attribute sub_block: block 1");
        buf_reset(&inner);
    }
    buf_deinit(&inner);
}

static void too_many_dimensions(void **state)
{
    struct buf b = BUF_INIT, block = BUF_INIT, var = BUF_INIT, type = BUF_INIT, lod = BUF_INIT,
               tensor = BUF_INIT;
    put_number(&tensor, 1, DTYPE_FP32);
    for (int i = 0; i < TENSOR_MAX_DIMS + 1; i++)
        put_number(&tensor, 2, 1);
    put_message(&lod, 1, &tensor);
    put_number(&type, 1, VAR_LOD_TENSOR);
    put_message(&type, 3, &lod);
    put_text(&var, 1, "deep");
    put_message(&var, 2, &type);
    put_message(&block, 3, &var);
    put_block(&b, 0, -1, &block);
    expect_error(&b, "variable deep has 10 dimensions");
    buf_deinit(&block);
}

/* A program with a field 99 in every message, a later attribute type, a reader, var attrs. */
static void make_strange(struct buf *b)
{
    struct buf block = BUF_INIT, var = BUF_INIT, type = BUF_INIT, lod = BUF_INIT, tensor = BUF_INIT,
               op = BUF_INIT, arg = BUF_INIT, attr = BUF_INIT, version = BUF_INIT, info = BUF_INIT,
               compat = BUF_INIT;
    put_number(&tensor, 1, 33); /* an element type of develop */
    put_number(&tensor, 2, -1);
    put_text(&tensor, 99, "in tensor");
    put_message(&lod, 1, &tensor);
    put_number(&lod, 2, 1);
    put_number(&lod, 99, 4711);
    put_number(&type, 1, VAR_LOD_TENSOR);
    put_message(&type, 3, &lod);
    put_number(&attr, 1, 5);
    put_message(&type, 7, &attr); /* tuple */
    put_text(&type, 99, "in type");
    put_text(&var, 1, "strange");
    put_message(&var, 2, &type);
    put_text(&attr, 1, "note");
    put_number(&attr, 2, ATTR_STRING);
    put_text(&attr, 4, "var attribute");
    put_message(&var, 7, &attr);
    put_text(&var, 99, "in var");
    put_message(&block, 3, &var);
    put_text(&arg, 1, "X");
    put_text(&arg, 2, "strange");
    put_text(&arg, 99, "in slot");
    put_message(&op, 1, &arg);
    put_text(&op, 3, "strange_op");
    put_text(&attr, 1, "later");
    put_number(&attr, 2, 40); /* a type nobody knows, with its value in a field nobody knows */
    put_number(&attr, 3, 12);
    put_text(&attr, 40, "its value");
    put_message(&op, 4, &attr);
    put_text(&attr, 1, "axis");
    put_number(&attr, 2, ATTR_INT);
    put_number(&attr, 3, 1);
    put_text(&attr, 99, "in attribute");
    put_message(&op, 4, &attr);
    put_text(&op, 99, "in op");
    put_message(&block, 4, &op);
    put_text(&block, 99, "in block");
    put_block(b, 0, -1, &block);
    put_text(&attr, 1, "relu");
    put_text(&info, 1, "1.6.0");
    put_number(&info, 2, 2);
    put_message(&attr, 2, &info);
    put_message(&compat, 1, &attr);
    put_message(b, 3, &compat);
    put_number(&version, 1, 1007002);
    put_text(&version, 99, "in version");
    put_message(b, 4, &version);
    put_text(b, 99, "in program");
    buf_deinit(&block);
}

static void strange_fields_survive(void **state)
{
    static const char *const parts[] = {"in tensor", "in type",    "var attribute", "in var",
                                        "in slot",   "its value",  "in attribute",  "in op",
                                        "in block",  "in version", "in program",    "1.6.0"};
    struct buf b = BUF_INIT;
    make_strange(&b);
    for (int way = 0; way < 3; way++) { /* through protobuf, a clone, the text form */
        struct skiff_program *p = NULL, *q = NULL;
        struct buf text = BUF_INIT;
        assert_int_equal(program_decode(b.data, b.len, "strange", &p, NULL), SKIFF_OK);
        const struct skiff_var *v = block_own_var(program_root(p), "strange");
        assert_int_equal(v->dtype, 33);
        assert_int_equal(v->lod_level, 1);
        assert_int_equal(op_attr(program_root(p)->ops[0], "later")->type, 40);
        if (way == 1) {
            q = program_clone(p);
        } else if (way == 2) {
            program_print(p, &text);
            q = test_parse(text.data);
        }
        buf_reset(&b);
        program_encode(q ? q : p, &b);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            if (!memmem(b.data, b.len, parts[i], strlen(parts[i])))
                fail_msg("\"%s\" is lost (way %d)", parts[i], way);
        program_destroy(p);
        program_destroy(q);
        buf_deinit(&text);
    }
    struct skiff_program *p = NULL;
    assert_int_equal(program_decode(b.data, b.len, "strange", &p, NULL), SKIFF_OK);
    struct buf again = BUF_INIT;
    program_encode(p, &again);
    assert_same_bytes(&b, &again); /* what is kept does not pile up */
    program_destroy(p);
    buf_deinit(&again);
    buf_deinit(&b);
}

static void repeated_attributes_and_slots(void **state)
{
    enum { MANY = 300 }; /* few are compared, many go through a map: both ways */
    for (int n = 2; n <= MANY; n += MANY - 2) {
        struct buf b = BUF_INIT, block = BUF_INIT, op = BUF_INIT, part = BUF_INIT;
        for (int i = 0; i < n; i++) {
            put_text(&part, 1, i % 2 ? "X" : "Y");
            put_text(&part, 2, i == n - 1 ? "last" : "early");
            put_message(&op, 1, &part);
            put_text(&part, 1, i % 2 ? "a" : "b");
            put_number(&part, 2, ATTR_INT);
            put_number(&part, 3, i);
            put_message(&op, 4, &part);
        }
        put_text(&op, 3, "thing");
        put_message(&block, 4, &op);
        put_block(&b, 0, -1, &block);
        struct skiff_program *p = NULL;
        assert_int_equal(program_decode(b.data, b.len, "twice", &p, NULL), SKIFF_OK);
        const struct skiff_op *read = program_root(p)->ops[0];
        assert_int_equal(read->nattrs, 2);
        assert_int_equal(read->nins, 2);
        assert_int_equal(op_attr(read, "a")->value.i, n - 1);
        assert_string_equal(op_in1(read, "X"), "last");
        program_destroy(p);
        buf_deinit(&b);
        buf_deinit(&block);
    }
}

static void generations(void **state)
{
    for (int way = 0; way < 4; way++) {
        struct buf b = BUF_INIT, block = BUF_INIT, op = BUF_INIT, attr = BUF_INIT, part = BUF_INIT;
        if (way == 1) { /* an attribute type of 2.x */
            put_text(&op, 3, "relu");
            put_text(&attr, 1, "a");
            put_number(&attr, 2, ATTR_FLOAT64S);
            put_message(&op, 4, &attr);
            put_message(&block, 4, &op);
        }
        put_block(&b, 0, -1, &block);
        if (way == 2) {
            put_number(&part, 1, 2000000);
            put_message(&b, 4, &part);
        } else if (way == 3) {
            put_message(&b, 5, &part); /* an op_version_map, though empty */
        }
        struct skiff_program *p = NULL;
        assert_int_equal(program_decode(b.data, b.len, "g", &p, NULL), SKIFF_OK);
        assert_int_equal(p->generation, way ? GEN_2X : GEN_1X);
        assert_int_equal(p->has_version, way == 2);
        assert_int_equal(p->has_op_version_map, way == 3);
        program_destroy(p);
        buf_deinit(&b);
        buf_deinit(&block);
    }
}

/* Truncated and bit-flipped files give a program or an error that names the file. */
static void damaged_files(void **state)
{
    uint32_t random = 12345;
    for (int i = 0; i < NTEST_PROGRAMS; i++) {
        struct buf b = test_read(test_programs[i]);
        for (int k = 0; k < 400; k++) {
            struct skiff_program *p = NULL;
            struct skiff_error err = {0};
            char *copy = test_malloc(b.len);
            size_t n = b.len;
            memcpy(copy, b.data, n);
            random = random * 1664525 + 1013904223;
            if (k % 2)
                n = random % n;
            else
                for (int bits = 0; bits < 1 + k % 5; bits++) {
                    random = random * 1664525 + 1013904223;
                    copy[random / 8 % n] ^= (char)(1 << (random % 8));
                }
            char *exact = test_malloc(n ? n : 1); /* so that a read past the end is seen */
            memcpy(exact, copy, n);
            if (program_decode(exact, n, "damaged", &p, &err) == SKIFF_OK) {
                struct buf out = BUF_INIT;
                program_encode(p, &out);
                buf_deinit(&out);
                program_verify_with(p, VERIFY_SKIP_UNKNOWN, &err);
                program_destroy(p);
            } else {
                assert_int_equal(err.code, SKIFF_FORMAT);
                assert_has(err.message, "damaged");
            }
            test_free(copy);
            test_free(exact);
        }
        buf_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(contents),
        cmocka_unit_test(structure_errors),
        cmocka_unit_test(too_many_dimensions),
        cmocka_unit_test(strange_fields_survive),
        cmocka_unit_test(repeated_attributes_and_slots),
        cmocka_unit_test(generations),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
