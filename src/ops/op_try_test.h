/* For tests of ops: one op with its inputs, run by the executor as it stands.
 *
 *     struct op_try t;
 *     op_try_start(&t, "concat", GEN_1X);
 *     op_try_f32(&t, "X", SHAPE(2, 3), (float[]){...});
 *     op_set_int(t.program, t.op, "axis", 1);
 *     op_try_out(&t, "Out");
 *     op_try_ok(&t);            or   op_try_fails(&t, SKIFF_SHAPE, "words of the message");
 *     ... t.out[0] ...
 *     op_try_stop(&t); */
#ifndef OPS_OP_TRY_TEST_H
#define OPS_OP_TRY_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "executor/executor.h"
#include "program/op_kind.h"

#define OP_TRY_MAX 8

struct op_try {
    struct skiff_program *program;
    struct skiff_op *op;
    struct skiff_scope *scope;
    int nfeeds, nouts;
    struct tensor tensor[OP_TRY_MAX];
    struct feed feed[OP_TRY_MAX];
    char in_name[OP_TRY_MAX][16], out_name[OP_TRY_MAX][16];
    const char *fetch[OP_TRY_MAX];
    struct skiff_tensor out[OP_TRY_MAX];
    struct skiff_error err;
};

static inline void op_try_start(struct op_try *t, const char *type, enum generation g)
{
    *t = (struct op_try){.program = program_create(), .scope = scope_create()};
    t->program->generation = g;
    t->op = block_insert_op(program_root(t->program), -1, type);
    assert_non_null(t->op->kind);
}

static inline void op_try_stop(struct op_try *t)
{
    for (int i = 0; i < t->nouts; i++)
        value_deinit(&t->out[i]);
    program_destroy(t->program);
    scope_destroy(t->scope);
}

/* Appends a variable to a slot's list. */
static inline void op_try_append(struct op_try *t, bool is_input, const char *slot,
                                 const char *name)
{
    const char *names[OP_TRY_MAX];
    const struct op_arg *a = is_input ? op_in(t->op, slot) : op_out(t->op, slot);
    int n = a ? a->n : 0;
    for (int i = 0; i < n; i++)
        names[i] = a->names[i];
    names[n] = name;
    (is_input ? op_set_in : op_set_out)(t->program, t->op, slot, n + 1, names);
}

static inline void op_try_in(struct op_try *t, const char *slot, enum dtype dtype,
                             struct shape shape, void *data)
{
    int i = t->nfeeds++;
    snprintf(t->in_name[i], sizeof(t->in_name[i]), "in%d", i);
    struct skiff_var *v = block_add_var(program_root(t->program), t->in_name[i]);
    v->dtype = dtype;
    v->shape = shape;
    v->has_tensor = true;
    t->tensor[i] = (struct tensor){.dtype = dtype,
                                   .shape = shape,
                                   .data = data,
                                   .cap = (size_t)shape_numel(&shape) * dtype_size(dtype),
                                   .owner = TENSOR_BORROWED};
    t->feed[i] = (struct feed){t->in_name[i], &t->tensor[i], NULL};
    op_try_append(t, true, slot, t->in_name[i]);
}
static inline void op_try_f32(struct op_try *t, const char *slot, struct shape shape, float *data)
{
    op_try_in(t, slot, DTYPE_FP32, shape, data);
}
static inline void op_try_i64(struct op_try *t, const char *slot, struct shape shape, int64_t *data)
{
    op_try_in(t, slot, DTYPE_INT64, shape, data);
}

static inline void op_try_out(struct op_try *t, const char *slot)
{
    int i = t->nouts++;
    snprintf(t->out_name[i], sizeof(t->out_name[i]), "out%d", i);
    block_add_var(program_root(t->program), t->out_name[i]);
    t->fetch[i] = t->out_name[i];
    op_try_append(t, false, slot, t->out_name[i]);
}

static inline enum skiff_status op_try_run(struct op_try *t)
{
    struct executor_options options = {.no_fuse = true};
    struct skiff_executor *e = executor_create(t->scope, &options);
    enum skiff_status status =
        executor_run(e, t->program, t->feed, t->nfeeds, t->fetch, t->nouts, t->out, &t->err);
    executor_destroy(e);
    return status;
}

static inline void op_try_ok(struct op_try *t)
{
    if (op_try_run(t) < 0)
        fail_msg("%s", t->err.message);
}

/* Fails with this code and a message that holds all the parts ("|" between them). Ends the try. */
static inline void op_try_fails(struct op_try *t, enum skiff_status code, const char *parts)
{
    char copy[256], *rest = copy;
    assert_true(strlen(parts) < sizeof(copy));
    strcpy(copy, parts);
    assert_int_equal(op_try_run(t), code);
    for (char *part = strsep(&rest, "|"); part; part = strsep(&rest, "|"))
        if (!strstr(t->err.message, part))
            fail_msg("\"%s\" does not say \"%s\"", t->err.message, part);
    op_try_stop(t);
}

static inline void op_try_expect_f32(const struct op_try *t, int out, struct shape shape,
                                     const float *want)
{
    const struct tensor *got = &t->out[out].tensor;
    char a[160], b[160];
    if (!shape_equal(&got->shape, &shape))
        fail_msg("shape %s, expected %s", shape_text(&got->shape, a), shape_text(&shape, b));
    assert_int_equal(got->dtype, DTYPE_FP32);
    for (int64_t i = 0; i < shape_numel(&shape); i++)
        assert_float_equal(tensor_f32(got)[i], want[i], 1e-5f);
}

#endif
