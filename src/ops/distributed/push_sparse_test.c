/* distributed_push_sparse: the rows that a batch pushes to a sparse table, number by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executor/executor.h"
#include "program/program.h"

#define WIDTH 4 /* of a looked-up row */

struct list {
    int64_t ids[8];
    float grads[8 * WIDTH];
    int n, slot;
    int64_t lengths[8]; /* of sequences; nlengths 0: no lod */
    int nlengths;
};

struct push_case {
    struct list lists[2];
    int nlists, dim;
    int64_t padding;
    bool cvm;
    float shows[4], clicks[4];
    int ncounts; /* 0: no Shows, no Clicks */
};

static void add_var(struct skiff_program *p, const char *name, enum dtype dtype, struct shape shape,
                    enum var_kind kind)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = shape;
    v->kind = kind;
    v->persistable = !strcmp(name, "W") ? PRESENCE_TRUE : PRESENCE_FALSE;
}

static struct skiff_program *build(const struct push_case *c)
{
    static const char *const ids[] = {"a", "b"}, *const grads[] = {"da", "db"};
    struct skiff_program *p = program_create();
    int32_t slots[] = {c->lists[0].slot, c->lists[1].slot};
    const char *names[] = {"W", "shows", "clicks", "push"};
    add_var(p, "W", DTYPE_FP32, SHAPE(1, WIDTH), VAR_LOD_TENSOR);
    add_var(p, "push", DTYPE_FP32, SHAPE(1, c->dim), VAR_SELECTED_ROWS);
    for (int i = 0; i < c->nlists; i++) {
        add_var(p, ids[i], DTYPE_INT64, SHAPE(-1, 1), VAR_LOD_TENSOR);
        add_var(p, grads[i], DTYPE_FP32, SHAPE(-1, WIDTH), VAR_LOD_TENSOR);
    }
    struct skiff_op *op = block_insert_op(program_root(p), -1, "distributed_push_sparse");
    op_set_in(p, op, "Ids", c->nlists, ids);
    op_set_in(p, op, "W", 1, &names[0]);
    op_set_in(p, op, "Outputs", c->nlists, grads);
    if (c->ncounts) {
        add_var(p, "shows", DTYPE_FP32, SHAPE(-1, 1), VAR_LOD_TENSOR);
        add_var(p, "clicks", DTYPE_FP32, SHAPE(-1, 1), VAR_LOD_TENSOR);
        op_set_in(p, op, "Shows", 1, &names[1]);
        op_set_in(p, op, "Clicks", 1, &names[2]);
    }
    op_set_out(p, op, "Out", 1, &names[3]);
    op_set_ints(p, op, "slots", c->nlists, slots);
    op_set_long(p, op, "padding_idx", c->padding);
    op_set_bool(p, op, "use_cvm_op", c->cvm);
    op_set_int(p, op, "push_dim", c->dim);
    return p;
}

static struct lod *lod_of(const struct list *l)
{
    struct lod *lod = NULL;
    int64_t count = l->nlengths + 1;
    if (!l->nlengths)
        return NULL;
    assert_int_equal(lod_build(&lod, 1, &count, NULL), SKIFF_OK);
    lod->level[0].off[0] = 0;
    for (int i = 0; i < l->nlengths; i++)
        lod->level[0].off[i + 1] = lod->level[0].off[i] + l->lengths[i];
    return lod;
}

static enum skiff_status run(struct push_case *c, struct skiff_tensor *out, struct skiff_error *err)
{
    static const char *const names[] = {"a", "b", "da", "db"};
    struct tensor t[6];
    struct feed feeds[6];
    int n = 0;
    for (int i = 0; i < c->nlists; i++) {
        struct list *l = &c->lists[i];
        t[n] = (struct tensor){.dtype = DTYPE_INT64,
                               .shape = SHAPE(l->n, 1),
                               .data = l->ids,
                               .cap = sizeof l->ids,
                               .lod = lod_of(l)};
        feeds[n] = (struct feed){names[i], &t[n], NULL};
        n++;
        t[n] = (struct tensor){.dtype = DTYPE_FP32,
                               .shape = SHAPE(l->n, WIDTH),
                               .data = l->grads,
                               .cap = sizeof l->grads};
        feeds[n] = (struct feed){names[2 + i], &t[n], NULL};
        n++;
    }
    for (int i = 0; i < 2 && c->ncounts; i++, n++) {
        t[n] = (struct tensor){.dtype = DTYPE_FP32,
                               .shape = SHAPE(c->ncounts, 1),
                               .data = i ? c->clicks : c->shows,
                               .cap = sizeof c->shows};
        feeds[n] = (struct feed){i ? "clicks" : "shows", &t[n], NULL};
    }
    struct skiff_program *p = build(c);
    struct skiff_scope *scope = scope_create();
    struct skiff_tensor *w = scope_var(scope, "W");
    w->kind = VALUE_TENSOR;
    w->tensor.dtype = DTYPE_FP32;
    w->tensor.shape = SHAPE(1, WIDTH);
    struct skiff_executor *exe = executor_create(scope, &(struct executor_options){0});
    const char *fetch = "push";
    enum skiff_status status = executor_run(exe, p, feeds, n, &fetch, 1, out, err);
    executor_destroy(exe);
    scope_destroy(scope);
    program_destroy(p);
    for (int i = 0; i < n; i++)
        lod_unref(t[i].lod);
    return status;
}

static void expect(struct push_case *c, int n, const int64_t *ids, const float *rows)
{
    struct skiff_tensor out = {0};
    struct skiff_error err = {0};
    if (run(c, &out, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(out.kind, VALUE_ROWS);
    assert_int_equal(out.sel.nrows, n);
    assert_int_equal(out.sel.marks, 1);
    assert_int_equal(out.tensor.shape.dims[1], c->dim);
    for (int i = 0; i < n; i++) {
        assert_int_equal(out.sel.rows[i], ids[i]);
        for (int d = 0; d < c->dim; d++) {
            float got = tensor_f32(&out.tensor)[i * c->dim + d], want = rows[i * c->dim + d];
            if (got != want)
                fail_msg("row %d, column %d: %g, expected %g", i, d, (double)got, (double)want);
        }
    }
    value_deinit(&out);
}

/* Any 64 bits are a key; -1 is padding; gradients times 4 samples; show 1, click 0. */
static void test_keys(void **state)
{
    struct push_case c = {.lists = {{.ids = {INT64_MAX, -2, -1, INT64_MAX},
                                     .grads = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 10, 20, 30, 40},
                                     .n = 4,
                                     .slot = 7}},
                          .nlists = 1,
                          .dim = 3 + WIDTH,
                          .padding = -1};
    expect(&c, 2, (int64_t[]){INT64_MAX, -2},
           (float[]){7, 2, 0, 44, 88, 132, 176, 7, 1, 0, 20, 24, 28, 32});
}

/* An id of two slots: the first one's slot stays, all else is added up. */
static void test_slots(void **state)
{
    struct push_case c = {
        .lists = {{.ids = {5, 0}, .grads = {1, 2, 3, 4, 9, 9, 9, 9}, .n = 2, .slot = 3},
                  {.ids = {6, 5}, .grads = {1, 1, 1, 1, .5f, .5f, .5f, .5f}, .n = 2, .slot = 8}},
        .nlists = 2,
        .dim = 3 + WIDTH,
        .padding = 0,
        .shows = {2, 5},
        .clicks = {1, 3},
        .ncounts = 2};
    expect(&c, 2, (int64_t[]){5, 6}, (float[]){3, 7, 4, 3, 5, 7, 9, 8, 2, 1, 2, 2, 2, 2});
}

/* Sequences: each id of a sample has the sample's counts; gradients times the sequences. */
static void test_sequences(void **state)
{
    struct push_case c = {.lists = {{.ids = {5, 6, 5},
                                     .grads = {1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4},
                                     .n = 3,
                                     .lengths = {2, 0, 1},
                                     .nlengths = 3}},
                          .nlists = 1,
                          .dim = 3 + WIDTH,
                          .padding = -1,
                          .shows = {2, 9, 5},
                          .clicks = {1, 9, 3},
                          .ncounts = 3};
    expect(&c, 2, (int64_t[]){5, 6}, (float[]){0, 7, 4, 15, 15, 15, 15, 0, 2, 1, 6, 6, 6, 6});
}

/* Slots of different numbers of samples: gradients stay as they are; samples beyond the counts have
 * 1 and 0. */
static void test_samples_differ(void **state)
{
    struct push_case c = {.lists = {{.ids = {5, 6}, .grads = {1, 2, 3, 4, 5, 6, 7, 8}, .n = 2},
                                    {.ids = {7}, .grads = {1, 1, 1, 1}, .n = 1}},
                          .nlists = 2,
                          .dim = 3 + WIDTH,
                          .padding = -1,
                          .shows = {3},
                          .clicks = {2},
                          .ncounts = 1};
    expect(&c, 3, (int64_t[]){5, 6, 7},
           (float[]){0, 3, 2, 1, 2, 3, 4, 0, 1, 0, 5, 6, 7, 8, 0, 3, 2, 1, 1, 1, 1});
}

/* cvm_grad has put show and click in front of the gradient: they are not scaled. */
static void test_cvm(void **state)
{
    struct push_case c = {.lists = {{.ids = {5, 5}, .grads = {1, 0, 3, 4, 10, 2, 30, 40}, .n = 2}},
                          .nlists = 1,
                          .dim = 1 + WIDTH,
                          .padding = -1,
                          .cvm = true};
    expect(&c, 1, (int64_t[]){5}, (float[]){0, 11, 2, 66, 88});
    c.cvm = false; /* no cvm op: no op computes a gradient for those two columns */
    expect(&c, 1, (int64_t[]){5}, (float[]){0, 2, 0, 66, 88});
}

static void refuse(struct push_case *c, const char *text)
{
    struct skiff_tensor out = {0};
    struct skiff_error err = {0};
    assert_true(run(c, &out, &err) < 0);
    if (!strstr(err.message, text))
        fail_msg("'%s' does not tell '%s'", err.message, text);
    value_deinit(&out);
}

static void test_refusals(void **state)
{
    struct push_case good = {.lists = {{.ids = {5}, .grads = {1, 2, 3, 4}, .n = 1}},
                             .nlists = 1,
                             .dim = 3 + WIDTH,
                             .padding = -1};
    struct push_case c = good;
    c.dim = 4 + WIDTH;
    refuse(&c, "push_dim 8 for a table of 4 floats a row");
    c.dim = 3;
    refuse(&c, "push_dim 3");
    c = good; /* nothing but padding */
    c.padding = 5;
    expect(&c, 0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),      cmocka_unit_test(test_slots),
        cmocka_unit_test(test_sequences), cmocka_unit_test(test_samples_differ),
        cmocka_unit_test(test_cvm),       cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
