/* Kernels of split programs against a job in this process: their requests and their messages, op by
 * op as written and fused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "program/job.h"

#define HEIGHT 20
#define WIDTH 2

struct fake {
    struct job job;
    int lookups, lists, ids; /* asked for, of the last look-up: lists and ids */
    bool modulo;
    struct skiff_tensor sent[4];
    char sent_as[4][64];
    int nsent, barriers;
};

/* Row of id i: 10 i, 10 i + 1. */
static enum skiff_status fake_lookup(struct job *j, const struct job_lookup *l,
                                     struct skiff_error *err)
{
    struct fake *f = (struct fake *)j;
    f->lookups++;
    f->lists = l->n;
    f->ids = 0;
    f->modulo = l->table.modulo;
    for (int i = 0; i < l->n; i++)
        for (int64_t e = 0; e < tensor_numel(l->ids[i]); e++, f->ids++)
            for (int d = 0; d < WIDTH; d++) {
                int64_t id = tensor_i64(l->ids[i])[e];
                tensor_f32(l->out[i])[e * WIDTH + d] =
                    id == l->padding_idx ? 0 : (float)(10 * id + d);
            }
    return SKIFF_OK;
}

static enum skiff_status fake_send(struct job *j, const struct job_slices *to,
                                   const struct skiff_tensor *x, bool merge_add,
                                   struct skiff_error *err)
{
    struct fake *f = (struct fake *)j;
    assert_true(f->nsent < 4);
    strcpy(f->sent_as[f->nsent], to->names[0]);
    return value_copy(&f->sent[f->nsent++], x, err);
}

static enum skiff_status fake_barrier(struct job *j, struct skiff_error *err)
{
    ((struct fake *)j)->barriers++;
    return SKIFF_OK;
}

static void fake_destroy(struct job *j) {}

static const struct job_class fake_class = {.send = fake_send,
                                            .lookup = fake_lookup,
                                            .send_barrier = fake_barrier,
                                            .destroy = fake_destroy};

static void fake_init(struct fake *f)
{
    memset(f, 0, sizeof *f);
    f->job = (struct job){.class = &fake_class, .refs = 1};
}

static void fake_deinit(struct fake *f)
{
    for (int i = 0; i < 4; i++)
        value_deinit(&f->sent[i]);
}

/* ---- building ---- */

static void add_var(struct skiff_program *p, const char *name, enum dtype dtype, struct shape shape,
                    bool keep)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = shape;
    v->persistable = keep ? PRESENCE_TRUE : PRESENCE_FALSE;
}

static void add_rows_var(struct skiff_program *p, const char *name)
{
    add_var(p, name, DTYPE_FP32, SHAPE(HEIGHT, WIDTH), false);
    block_find_var(program_root(p), name)->kind = VAR_SELECTED_ROWS;
}

static struct skiff_op *add_op(struct skiff_program *p, const char *type)
{
    return block_insert_op(program_root(p), -1, type);
}

static void in(struct skiff_program *p, struct skiff_op *op, const char *slot, const char *a,
               const char *b)
{
    const char *names[] = {a, b};
    op_set_in(p, op, slot, b ? 2 : 1, names);
}

static void out(struct skiff_program *p, struct skiff_op *op, const char *slot, const char *a,
                const char *b)
{
    const char *names[] = {a, b};
    op_set_out(p, op, slot, b ? 2 : 1, names);
}

static const char *const servers[] = {"127.0.0.1:1", "127.0.0.1:2"};
static const char *const slices[] = {"W.block0", "W.block1"};

static void add_common(struct skiff_program *p)
{
    add_var(p, "W", DTYPE_FP32, SHAPE(HEIGHT, WIDTH), true);
    for (int i = 0; i < 2; i++) {
        add_var(p, i ? "b" : "a", DTYPE_INT64, SHAPE(-1, 1), false);
        add_var(p, i ? "eb" : "ea", DTYPE_FP32, SHAPE(-1, WIDTH), false);
        add_var(p, i ? "eb@GRAD" : "ea@GRAD", DTYPE_FP32, SHAPE(-1, WIDTH), false);
        add_rows_var(p, i ? "W@GRAD@1" : "W@GRAD@0");
    }
    add_rows_var(p, "W@GRAD");
}

static void add_gradients(struct skiff_program *p, int64_t padding, bool distributed)
{
    for (int i = 0; i < 2; i++) {
        struct skiff_op *op = add_op(p, "lookup_table_grad");
        in(p, op, "W", "W", NULL);
        in(p, op, "Ids", i ? "b" : "a", NULL);
        in(p, op, "Out@GRAD", i ? "eb@GRAD" : "ea@GRAD", NULL);
        out(p, op, "W@GRAD", i ? "W@GRAD@1" : "W@GRAD@0", NULL);
        op_set_bool(p, op, "is_sparse", true);
        op_set_bool(p, op, "is_distributed", distributed);
        op_set_long(p, op, "padding_idx", padding);
    }
    struct skiff_op *op = add_op(p, "sum");
    in(p, op, "X", "W@GRAD@0", "W@GRAD@1");
    out(p, op, "Out", "W@GRAD", NULL);
}

/* Two look-ups of one table, their gradients, their sum, and where it goes. */
static struct skiff_program *remote_program(int64_t padding)
{
    static const int64_t sections[] = {12, 8};
    static const char *const grads[] = {"W@GRAD.block0", "W@GRAD.block1"};
    struct skiff_program *p = program_create();
    add_common(p);
    struct skiff_op *op = add_op(p, "distributed_lookup_table");
    in(p, op, "Ids", "a", "b");
    in(p, op, "W", "W", NULL);
    out(p, op, "Outputs", "ea", "eb");
    op_set_strings(p, op, "table_names", 2, slices);
    op_set_strings(p, op, "endpoints", 2, servers);
    op_set_longs(p, op, "height_sections", 2, sections);
    op_set_string(p, op, "lookup_table_version", "lookup_table");
    op_set_long(p, op, "padding_idx", padding);
    add_gradients(p, padding, false);
    op = add_op(p, "send");
    in(p, op, "X", "W@GRAD", NULL);
    op_set_strings(p, op, "epmap", 2, servers);
    op_set_strings(p, op, "send_varnames", 2, grads);
    op_set_longs(p, op, "sections", 2, sections);
    return p;
}

/* ---- running ---- */

struct run {
    struct skiff_scope *scope;
    struct skiff_executor *executor;
    struct skiff_tensor out[2];
};

static const int64_t ids_a[] = {3, 15, 3}, ids_b[] = {15, 0};

static enum skiff_status run_once(struct run *r, struct skiff_program *p, bool no_fuse, bool grads,
                                  struct skiff_error *err)
{
    static float da[] = {1, 2, 3, 4, 5, 6}, db[] = {7, 8, 9, 10};
    struct tensor t[4] = {
        {.dtype = DTYPE_INT64, .shape = SHAPE(3, 1), .data = (void *)ids_a, .cap = 24},
        {.dtype = DTYPE_INT64, .shape = SHAPE(2, 1), .data = (void *)ids_b, .cap = 16},
        {.dtype = DTYPE_FP32, .shape = SHAPE(3, WIDTH), .data = da, .cap = sizeof da},
        {.dtype = DTYPE_FP32, .shape = SHAPE(2, WIDTH), .data = db, .cap = sizeof db}};
    struct feed feeds[] = {
        {"a", &t[0], NULL}, {"b", &t[1], NULL}, {"ea@GRAD", &t[2], NULL}, {"eb@GRAD", &t[3], NULL}};
    const char *fetches[] = {"ea", "eb"};
    struct executor_options o = {.no_fuse = no_fuse};
    memset(r, 0, sizeof *r);
    r->scope = scope_create();
    struct skiff_tensor *w = scope_var(r->scope, "W"); /* as fake_init leaves it */
    w->kind = VALUE_TENSOR;
    w->tensor.dtype = DTYPE_FP32;
    w->tensor.shape = SHAPE(HEIGHT, WIDTH);
    r->executor = executor_create(r->scope, &o);
    return executor_run(r->executor, p, feeds, grads ? 4 : 2, fetches, 2, r->out, err);
}

static void run_deinit(struct run *r)
{
    value_deinit(&r->out[0]);
    value_deinit(&r->out[1]);
    executor_destroy(r->executor);
    scope_destroy(r->scope);
}

static void check_rows(const struct skiff_tensor *v, int64_t height, const int64_t *ids,
                       const float *rows, int n)
{
    float sum[HEIGHT][WIDTH] = {{0}};
    assert_int_equal(v->kind, VALUE_ROWS);
    assert_int_equal(v->sel.height, height);
    for (size_t i = 0; i < v->sel.nrows; i++)
        for (int d = 0; d < WIDTH; d++)
            sum[v->sel.rows[i]][d] += tensor_f32(&v->tensor)[i * WIDTH + (size_t)d];
    for (int i = 0; i < n; i++)
        for (int d = 0; d < WIDTH; d++) {
            assert_true(sum[ids[i]][d] == rows[i * WIDTH + d]);
            sum[ids[i]][d] = 0;
        }
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        assert_true(sum[i / WIDTH][i % WIDTH] == 0);
}

static void check_looked_up(const struct run *r, int64_t padding)
{
    for (int i = 0; i < 2; i++) {
        const int64_t *ids = i ? ids_b : ids_a;
        for (int e = 0; e < (i ? 2 : 3); e++)
            for (int d = 0; d < WIDTH; d++) {
                float want = ids[e] == padding ? 0 : (float)(10 * ids[e] + d);
                assert_true(tensor_f32(&r->out[i].tensor)[e * WIDTH + d] == want);
            }
    }
}

static const int64_t grad_ids[] = {3, 15, 0};
static const float grad_rows[] = {6, 8, 10, 12, 9, 10};

static void remote_tables(void **state)
{
    for (int no_fuse = 0; no_fuse < 2; no_fuse++)
        for (int64_t padding = -1; padding <= 3; padding += 4) {
            struct skiff_program *p = remote_program(padding);
            struct skiff_error err = {0};
            struct fake f;
            struct run r;
            fake_init(&f);
            program_set_job(p, &f.job);
            if (run_once(&r, p, no_fuse, true, &err) < 0)
                fail_msg("%s", err.message);
            check_looked_up(&r, padding);
            assert_int_equal(f.lookups, 1);
            assert_int_equal(f.lists, no_fuse ? 2 : 1);
            assert_int_equal(f.ids, no_fuse ? 5 : 3); /* fused: every id once */
            assert_int_equal(f.nsent, 1);
            check_rows(&f.sent[0], HEIGHT, grad_ids, grad_rows, 3);
            if (!no_fuse)
                assert_int_equal(f.sent[0].sel.nrows, 3);
            run_deinit(&r);
            program_destroy(p);
            fake_deinit(&f);
        }
}

/* split_ids, prefetch, merge_ids; the gradient by id modulo servers. */
static void distributed_tables(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_error err = {0};
    struct fake f;
    struct run r;
    add_common(p);
    add_var(p, "in0", DTYPE_INT64, SHAPE(-1, 1), false);
    add_var(p, "in1", DTYPE_INT64, SHAPE(-1, 1), false);
    add_var(p, "out0", DTYPE_FP32, SHAPE(-1, WIDTH), false);
    add_var(p, "out1", DTYPE_FP32, SHAPE(-1, WIDTH), false);
    add_rows_var(p, "g0");
    add_rows_var(p, "g1");
    struct skiff_op *op = add_op(p, "split_ids");
    in(p, op, "Ids", "a", "b");
    out(p, op, "Out", "in0", "in1");
    op = add_op(p, "prefetch");
    in(p, op, "X", "in0", "in1");
    out(p, op, "Out", "out0", "out1");
    op_set_strings(p, op, "epmap", 2, servers);
    op = add_op(p, "merge_ids");
    in(p, op, "Ids", "a", "b");
    in(p, op, "Rows", "in0", "in1");
    in(p, op, "X", "out0", "out1");
    out(p, op, "Out", "ea", "eb");
    add_gradients(p, 0, true);
    op = add_op(p, "split_ids");
    in(p, op, "Ids", "W@GRAD", NULL);
    out(p, op, "Out", "g0", "g1");
    op = add_op(p, "send");
    in(p, op, "X", "g0", "g1");
    op_set_strings(p, op, "epmap", 2, servers);
    op = add_op(p, "send_barrier");
    fake_init(&f);
    program_set_job(p, &f.job);
    if (run_once(&r, p, false, true, &err) < 0)
        fail_msg("%s", err.message);
    check_looked_up(&r, 0);
    assert_true(f.modulo);
    assert_int_equal(f.ids, 3);
    assert_int_equal(f.nsent, 2);
    assert_string_equal(f.sent_as[0], "g0");
    /* rows of a distributed table have any id, whatever is declared */
    check_rows(&f.sent[0], INT64_MAX, &grad_ids[2], &grad_rows[4], 1);
    check_rows(&f.sent[1], INT64_MAX, grad_ids, grad_rows, 2);
    assert_int_equal(f.barriers, 1);
    run_deinit(&r);
    program_destroy(p);
    fake_deinit(&f);
}

static void without_a_job(void **state)
{
    struct skiff_program *p = remote_program(-1);
    struct skiff_error err = {0};
    struct run r;
    assert_true(run_once(&r, p, true, true, &err) < 0);
    assert_non_null(strstr(err.message, "runs only in a distributed job"));
    run_deinit(&r);
    program_destroy(p);
}

/* A table that servers hold has no memory here, and reading it is an error. */
static void tables_without_memory(void **state)
{
    static const int64_t dims[] = {1000000, 100};
    struct skiff_program *p = program_create();
    struct skiff_error err = {0};
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    size_t before = mem_in_use();
    add_var(p, "W", DTYPE_FP32, SHAPE(1000000, 100), true);
    add_var(p, "y", DTYPE_FP32, SHAPE(1000000, 100), false);
    struct skiff_op *op = add_op(p, "fake_init");
    out(p, op, "Out", "W", NULL);
    op_set_longs(p, op, "shape", 2, dims);
    assert_int_equal(executor_run(e, p, NULL, 0, NULL, 0, NULL, &err), SKIFF_OK);
    assert_true(mem_in_use() - before < 1 << 20);
    assert_int_equal(scope_find(scope, "W")->tensor.shape.dims[0], 1000000);
    op = add_op(p, "scale");
    in(p, op, "X", "W", NULL);
    out(p, op, "Out", "y", NULL);
    assert_int_equal(executor_run(e, p, NULL, 0, NULL, 0, NULL, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "are on the parameter servers"));
    executor_destroy(e);
    scope_destroy(scope);
    program_destroy(p);
}

static void cutting(void **state)
{
    static float x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t sections[] = {1, 2};
    struct skiff_program *p = program_create();
    struct skiff_error err = {0};
    struct skiff_scope *scope = scope_create();
    struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
    struct tensor t = {.dtype = DTYPE_FP32, .shape = SHAPE(3, 2), .data = x, .cap = sizeof x};
    struct feed feed = {"x", &t, NULL};
    const char *fetches[] = {"y0", "y1"};
    struct skiff_tensor got[2] = {0};
    add_var(p, "x", DTYPE_FP32, SHAPE(3, 2), false);
    add_var(p, "y0", DTYPE_FP32, SHAPE(1, 2), false);
    add_var(p, "y1", DTYPE_FP32, SHAPE(2, 2), false);
    struct skiff_op *op = add_op(p, "split_byref");
    in(p, op, "X", "x", NULL);
    out(p, op, "Out", "y0", "y1");
    op_set_ints(p, op, "sections", 2, sections);
    if (executor_run(e, p, &feed, 1, fetches, 2, got, &err) < 0)
        fail_msg("%s", err.message);
    assert_memory_equal(got[0].tensor.data, x, 2 * sizeof(float));
    assert_memory_equal(got[1].tensor.data, x + 2, 4 * sizeof(float));
    value_deinit(&got[0]);
    value_deinit(&got[1]);
    executor_destroy(e);
    scope_destroy(scope);
    program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_tables), cmocka_unit_test(distributed_tables),
        cmocka_unit_test(without_a_job), cmocka_unit_test(tables_without_memory),
        cmocka_unit_test(cutting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
