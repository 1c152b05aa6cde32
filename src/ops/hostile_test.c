/* Every registered op with inputs that it does not expect: it works or fails with a message, and
 * never crashes (the sanitizer builds run this too).
 *
 * For each kind, all input slots get one tensor of the same type and shape, over a list of types
 * and shapes (no dims, empty, one element, matrices, many dims), lists twice; attributes that must
 * be given get zeros; then the same with slots left out, and with unknown dims while building. */
#include "ops/op_try_test.h"

#include <stdlib.h>

#include "program/infer.h"

static char storage[8192]; /* zeros: valid elements of every type */

static const struct {
    int ndim;
    int64_t dims[5];
} shapes[] = {{0, {0}},    {1, {0}},    {1, {1}},       {1, {3}},          {2, {3, 1}},
              {2, {2, 3}}, {2, {0, 3}}, {3, {2, 3, 4}}, {4, {1, 2, 2, 2}}, {5, {1, 2, 1, 2, 2}}};
static const enum dtype dtypes[] = {DTYPE_FP32, DTYPE_INT64, DTYPE_BOOL, DTYPE_FP64, DTYPE_INT32};

static int ran, failed;
static int rounds = 60; /* environment ROUNDS: more of them */

/* Attributes without a default: something of the right type. */
static void give_attrs(struct op_try *t, int number)
{
    for (int i = 0; t->op->kind->attrs && t->op->kind->attrs[i].name; i++) {
        const struct op_attr_spec *a = &t->op->kind->attrs[i];
        struct attr_value v = {0};
        int32_t ints[1] = {number};
        int64_t longs[1] = {number};
        float floats[1] = {(float)number};
        if (!(a->flags & ATTR_REQUIRED))
            continue;
        switch (a->type) {
        case ATTR_INT:
            v.i = number;
            break;
        case ATTR_LONG:
            v.l = number;
            break;
        case ATTR_FLOAT:
            v.f = (float)number;
            break;
        case ATTR_STRING:
            v.s = "";
            break;
        case ATTR_INTS:
            v = (struct attr_value){.n = 1, .ints = ints};
            break;
        case ATTR_LONGS:
            v = (struct attr_value){.n = 1, .longs = longs};
            break;
        case ATTR_FLOATS:
            v = (struct attr_value){.n = 1, .floats = floats};
            break;
        default:
            break;
        }
        op_set_attr(t->program, t->op, a->name, a->type, &v);
    }
}

static void build_op(struct op_try *t, const struct op_kind *k, enum generation g, enum dtype dtype,
                     struct shape shape, int left_out)
{
    op_try_start(t, k->type, g);
    for (int s = 0; k->ins && k->ins[s].name; s++)
        for (int i = 0; i <= (k->ins[s].flags & SLOT_LIST ? 1 : 0); i++)
            if (s != left_out && t->nfeeds < OP_TRY_MAX)
                op_try_in(t, k->ins[s].name, dtype, shape, storage);
    for (int s = 0; k->outs && k->outs[s].name; s++)
        for (int i = 0; i <= (k->outs[s].flags & SLOT_LIST ? 1 : 0); i++)
            if (t->nouts < OP_TRY_MAX)
                op_try_out(t, k->outs[s].name);
}

static void try_op(const struct op_kind *k, enum generation g, enum dtype dtype, struct shape shape,
                   int left_out, int number)
{
    struct op_try t;
    build_op(&t, k, g, dtype, shape, left_out);
    give_attrs(&t, number);
    t.nouts = 0; /* nothing is fetched: an op that fails has no results */
    if (op_try_run(&t) < 0) {
        failed++;
        if (!t.err.message[0])
            fail_msg("op %s fails without a message", k->type);
    }
    ran++;
    op_try_stop(&t);
}

static void try_building(const struct op_kind *k, enum generation g, struct shape shape)
{
    struct op_try t;
    struct skiff_error err;
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = -1;
    build_op(&t, k, g, DTYPE_FP32, SHAPE(1), -1);
    for (int i = 0; i < t.nfeeds; i++)
        block_find_var(program_root(t.program), t.in_name[i])->shape = shape;
    give_attrs(&t, 0);
    if (program_verify(t.program, &err) >= 0 && infer_op(program_root(t.program), t.op, &err) < 0)
        failed++;
    op_try_stop(&t);
}

static uint32_t random_state = 1;
static int random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (unsigned)n);
}

/* Each slot its own shape and, now and then, type; integer attributes at random. */
static void try_random(const struct op_kind *k, enum generation g)
{
    struct op_try t;
    int nshapes = (int)(sizeof(shapes) / sizeof(shapes[0]));
    op_try_start(&t, k->type, g);
    enum dtype usual = dtypes[random_below(4) ? 0 : random_below(5)];
    int usual_shape = random_below(nshapes);
    for (int s = 0; k->ins && k->ins[s].name; s++)
        for (int i = 0; i <= (k->ins[s].flags & SLOT_LIST ? random_below(3) : 0); i++) {
            int n = random_below(3) ? usual_shape : random_below(nshapes);
            struct shape shape = shape_of(shapes[n].ndim, shapes[n].dims);
            if ((k->ins[s].flags & SLOT_OPTIONAL && random_below(2)) || t.nfeeds == OP_TRY_MAX)
                continue;
            op_try_in(&t, k->ins[s].name, random_below(4) ? usual : dtypes[random_below(5)], shape,
                      storage);
        }
    for (int s = 0; k->outs && k->outs[s].name; s++)
        for (int i = 0; i <= (k->outs[s].flags & SLOT_LIST ? random_below(3) : 0); i++)
            if (t.nouts < OP_TRY_MAX && random_below(8))
                op_try_out(&t, k->outs[s].name);
    give_attrs(&t, random_below(5) - 2);
    for (int i = 0; k->attrs && k->attrs[i].name; i++) {
        if (k->attrs[i].type == ATTR_INT && random_below(2))
            op_set_int(t.program, t.op, k->attrs[i].name, random_below(7) - 3);
        if (k->attrs[i].type == ATTR_INTS && random_below(2))
            op_set_ints(t.program, t.op, k->attrs[i].name, 2,
                        (int32_t[]){random_below(7) - 3, random_below(7) - 3});
        if (k->attrs[i].type == ATTR_BOOLEAN && !random_below(3))
            op_set_bool(t.program, t.op, k->attrs[i].name, random_below(2));
    }
    t.nouts = 0;
    failed += op_try_run(&t) < 0;
    ran++;
    op_try_stop(&t);
}

static void try_kind(const struct op_kind *k, enum generation g)
{
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        struct shape shape = shape_of(shapes[s].ndim, shapes[s].dims);
        for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); d++)
            try_op(k, g, dtypes[d], shape, -1, 0);
        try_op(k, g, DTYPE_FP32, shape, -1, -1);
        try_op(k, g, DTYPE_FP32, shape, -1, 1000000);
        try_building(k, g, shape);
    }
    for (int left_out = 0; k->ins && k->ins[left_out].name; left_out++)
        try_op(k, g, DTYPE_FP32, SHAPE(2, 3), left_out, 0);
    for (int i = 0; i < rounds; i++)
        try_random(k, g);
}

static void test_every_kind(void **state)
{
    if (getenv("ROUNDS"))
        rounds = atoi(getenv("ROUNDS"));
    for (int i = 0; i < op_kind_count(); i++) {
        const struct op_kind *k = op_kind_at(i);
        if (k->flags & (OP_INTERNAL | OP_RUNS_BLOCK))
            continue;
        if (getenv("OP") && strcmp(getenv("OP"), k->type) != 0)
            continue;
        if (getenv("VERBOSE")) {
            printf("%s\n", k->type);
            fflush(stdout);
        }
        try_kind(k, k->generations ? (enum generation)k->generations : GEN_1X);
    }
    printf("%d runs, %d refused\n", ran, failed);
    assert_true(ran > 1000 || getenv("OP"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
