/* For tests: one kernel with the test's own values in its slots, without a plan. Include after
 * cmocka.h. */
#ifndef OPS_OP_BENCH_H
#define OPS_OP_BENCH_H

#include <string.h>

#include "base/mem.h"
#include "program/bind.h"
#include "program/infer.h"
#include "program/kernel.h"

enum { BENCH_SLOTS = 12, BENCH_LIST = 4 };

/* One op with a value in each of its slots. */
struct bench {
    struct skiff_program *program;
    struct kernel kernel;
    struct kernel_slot in[BENCH_SLOTS], out[BENCH_SLOTS];
    struct skiff_tensor *in_at[BENCH_SLOTS][BENCH_LIST], *out_at[BENCH_SLOTS][BENCH_LIST];
    struct kernel_scratch_space scratch;
    struct run_env env;
    struct skiff_error err;
};

/* Required attributes: 0.9 for a float, `text` for a string, 0 for others. */
static inline void bench_start(struct bench *b, const char *type, const char *text)
{
    memset(b, 0, sizeof *b);
    b->program = program_create();
    struct skiff_op *op = block_insert_op(program_root(b->program), -1, type);
    assert_non_null(op->kind);
    for (const struct op_attr_spec *a = op->kind->attrs; a && a->name; a++)
        if (a->flags & ATTR_REQUIRED) {
            struct attr_value v = {0};
            if (a->type == ATTR_FLOAT)
                v.f = 0.9f;
            if (a->type == ATTR_STRING)
                v.s = text;
            op_set_attr(b->program, op, a->name, a->type, &v);
        }
    b->kernel = (struct kernel){.kind = op->kind,
                                .op = op,
                                .in = b->in,
                                .out = b->out,
                                .env = &b->env,
                                .scratch = &b->scratch};
    assert_int_equal(attrs_bind(op, &b->program->arena, &b->kernel.attr, &b->err), SKIFF_OK);
    b->env.program = b->program;
    if (b->kernel.kind->prepare)
        assert_int_equal(b->kernel.kind->prepare(&b->kernel, &b->err), SKIFF_OK);
}

static inline void bench_stop(struct bench *b)
{
    if (b->kernel.kind->release)
        b->kernel.kind->release(&b->kernel);
    kernel_scratch_deinit(&b->scratch);
    program_destroy(b->program);
}

static inline void bench_in(struct bench *b, const char *slot, int n, struct skiff_tensor **v)
{
    int at = op_kind_slot(b->kernel.kind->ins, slot);
    const char *names[BENCH_LIST] = {slot, slot, slot, slot};
    assert_true(at >= 0 && at < BENCH_SLOTS && n <= BENCH_LIST);
    for (int i = 0; i < n; i++)
        b->in_at[at][i] = v[i];
    b->in[at] = (struct kernel_slot){b->in_at[at], n};
    op_set_in(b->program, (struct skiff_op *)b->kernel.op, slot, n, names);
}

static inline void bench_out(struct bench *b, const char *slot, int n, struct skiff_tensor **v)
{
    int at = op_kind_slot(b->kernel.kind->outs, slot);
    const char *names[BENCH_LIST] = {slot, slot, slot, slot};
    assert_true(at >= 0 && at < BENCH_SLOTS && n <= BENCH_LIST);
    for (int i = 0; i < n; i++)
        b->out_at[at][i] = v[i];
    b->out[at] = (struct kernel_slot){b->out_at[at], n};
    op_set_out(b->program, (struct skiff_op *)b->kernel.op, slot, n, names);
}

/* Binds a value to the input and, if there is one, to the output of the same name plus "Out". */
static inline void bench_bind(struct bench *b, const char *slot, struct skiff_tensor *v)
{
    char name[64];
    bench_in(b, slot, 1, &v);
    strcat(strcpy(name, slot), "Out");
    if (op_kind_slot(b->kernel.kind->outs, name) >= 0)
        bench_out(b, name, 1, &v);
}

static inline enum skiff_status bench_run(struct bench *b)
{
    struct infer c = {.kind = b->kernel.kind,
                      .attr = b->kernel.attr,
                      .running = true,
                      .op = b->kernel.op,
                      .kernel = &b->kernel};
    kernel_scratch_reset(&b->scratch);
    if (!(b->kernel.kind->flags & OP_OWN_SHAPE))
        TRY(infer_run(&c, &b->err));
    return b->kernel.kind->run(&b->kernel, &b->err);
}

static inline void tensor_of(struct skiff_tensor *v, struct shape shape, float x)
{
    assert_int_equal(value_as_tensor(v, DTYPE_FP32, &shape, NULL), SKIFF_OK);
    for (int64_t i = 0; i < tensor_numel(&v->tensor); i++)
        tensor_f32(&v->tensor)[i] = x;
}

static inline void rows_of(struct skiff_tensor *v, size_t n, const int64_t *ids, int64_t width,
                           int64_t height, const float *x)
{
    assert_int_equal(value_as_rows(v, DTYPE_FP32, n, width, height, NULL), SKIFF_OK);
    if (n) {
        memcpy(v->sel.rows, ids, n * sizeof *ids);
        memcpy(v->tensor.data, x, n * (size_t)width * sizeof *x);
    }
}

static inline void bench_expect(const struct bench *b, const char *part)
{
    if (!strstr(b->err.message, part))
        fail_msg("message '%s' lacks '%s'", b->err.message, part);
}

/* After an attribute was changed. */
static inline void bench_rebind(struct bench *b)
{
    assert_int_equal(attrs_bind(b->kernel.op, &b->program->arena, &b->kernel.attr, &b->err),
                     SKIFF_OK);
}

/* Binds v[0..] to slots given by name; NULL ends the names. */
static inline void bench_slots(struct bench *b, struct skiff_tensor *v, const char *const *ins,
                               const char *const *outs)
{
    for (; *ins; ins++, v++)
        bench_in(b, *ins, 1, &(struct skiff_tensor *){v});
    for (; *outs; outs++, v++)
        bench_out(b, *outs, 1, &(struct skiff_tensor *){v});
}

/* bench_stop, and the end of v[0..n). */
static inline void bench_finish(struct bench *b, struct skiff_tensor *v, int n)
{
    for (int i = 0; i < n; i++)
        value_deinit(&v[i]);
    bench_stop(b);
}

#endif
