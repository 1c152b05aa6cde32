/* In steady state a training step allocates nothing: no malloc at all (this program's own malloc
 * counts), and so no accounted memory either. The exception is oneDNN's GEMM, which takes a buffer
 * when matrices are large. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "base/rng.h"
#include "rank/dnn/net.h"

/* ---- counting ---- */

static _Thread_local long allocations;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTING 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static void count(const void *caller)
{
    Dl_info from;
    if (!dladdr(caller, &from) || !from.dli_fname || !strstr(from.dli_fname, "libdnnl"))
        allocations++;
}

void *malloc(size_t n)
{
    count(__builtin_return_address(0));
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    count(__builtin_return_address(0));
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}
#else
#define COUNTING 0
#endif

/* ---- a model and its batches ---- */

#define SLOTS 4
#define DENSE 3
#define BATCH 100
#define BATCHES 6
#define ROWS 500

struct batch {
    struct skiff_tensor *tensors[SLOTS + 2];
    struct skiff_feed feeds[SLOTS + 2];
};

static struct skiff_tensor *make(const char *dtype, int64_t rows, int64_t cols)
{
    struct skiff_tensor *t = skiff_tensor_create(dtype, 2, (int64_t[]){rows, cols}, NULL);
    assert_non_null(t);
    return t;
}

/* ragged: 0 to 3 ids a row, the first batch the longest; otherwise one. */
static void batch_open(struct batch *b, struct mt64 *r, bool ragged, bool first)
{
    static const char *const names[] = {"C1", "C2", "C3", "C4", "dense_input", "label"};
    int64_t lengths[BATCH];
    for (int s = 0; s < SLOTS; s++) {
        int64_t n = 0;
        for (int i = 0; i < BATCH; i++)
            n += lengths[i] = !ragged ? 1 : first ? 3 : (int64_t)(mt64_next(r) % 4);
        b->tensors[s] = make("int64", n, 1);
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)skiff_tensor_data(b->tensors[s]))[i] = (int64_t)(mt64_next(r) % ROWS);
        assert_int_equal(skiff_tensor_set_lengths(b->tensors[s], lengths, BATCH, NULL), SKIFF_OK);
    }
    b->tensors[SLOTS] = make("float32", BATCH, DENSE);
    b->tensors[SLOTS + 1] = make("int64", BATCH, 1);
    for (int i = 0; i < BATCH * DENSE; i++)
        ((float *)skiff_tensor_data(b->tensors[SLOTS]))[i] = mt64_float(r);
    for (int i = 0; i < BATCH; i++)
        ((int64_t *)skiff_tensor_data(b->tensors[SLOTS + 1]))[i] = mt64_next(r) & 1;
    for (int s = 0; s < SLOTS + 2; s++)
        b->feeds[s] = (struct skiff_feed){names[s], b->tensors[s]};
}

/* The same with pools, and a table whose gradient may be dense. */
static struct skiff_var *pooled_net(struct skiff_net *net, bool sparse)
{
    struct skiff_var *parts[SLOTS + 1];
    char name[8];
    for (int i = 0; i < SLOTS; i++) {
        snprintf(name, sizeof(name), "C%d", i + 1);
        struct skiff_var *ids =
            skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
        struct skiff_var *e = skiff_embedding(net, ids, ROWS, 8, .is_sparse = sparse,
                                              .param_attr = SKIFF_PARAM(.name = "table"));
        parts[i] = skiff_sequence_pool(net, e, i % 2 ? "average" : "sum");
    }
    parts[SLOTS] = skiff_data(net, "dense_input", SKIFF_DIMS(DENSE));
    struct skiff_var *label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *x = skiff_concat(net, ((struct skiff_vars){SLOTS + 1, parts}), 1);
    x = skiff_fc(net, skiff_fc(net, x, 16, .act = "relu"), 2, .act = "softmax");
    return skiff_mean(net, skiff_cross_entropy(net, x, label));
}

enum net_kind { NET_DNN, NET_DNN_WIDE, NET_POOLED, NET_POOLED_DENSE };

static void check_steady(enum net_kind kind, const char *optimizer, bool lazy)
{
    int64_t size = kind == NET_DNN_WIDE ? 400 : 16;
    struct rank_dnn_config config = {.sparse_slots = SLOTS,
                                     .dense_columns = DENSE,
                                     .table_rows = ROWS,
                                     .table_width = 8,
                                     .layer_sizes = {size, size}};
    bool pooled = kind == NET_POOLED || kind == NET_POOLED_DENSE;
    struct skiff_error err = {0};
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *loss =
        kind == NET_DNN ? rank_dnn_build(net, &config).loss : pooled_net(net, kind == NET_POOLED);
    if (skiff_minimize(net, loss, &err, optimizer, .learning_rate = 0.01, .momentum = 0.9,
                       .lazy_mode = lazy) < 0)
        fail_msg("%s", err.message);
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *e = skiff_executor_create(scope, NULL);
    const char *fetch = skiff_var_name(loss);
    struct skiff_tensor *out = NULL;
    struct batch batches[BATCHES];
    struct mt64 r;
    mt64_seed(&r, 3);
    for (int i = 0; i < BATCHES; i++)
        batch_open(&batches[i], &r, pooled, i == 0);
    enum skiff_status status =
        skiff_executor_run(e, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err);
    long before = 0;
    for (int i = 0; i < 60 && status == SKIFF_OK; i++) {
        if (i == 2 * BATCHES)
            before = allocations;
        status = skiff_executor_run(e, skiff_net_main(net), batches[i % BATCHES].feeds, SLOTS + 2,
                                    &fetch, 1, &out, &err);
    }
    long made = allocations - before;
    assert_true(before > 0 || !COUNTING);
    if (status < 0)
        fail_msg("%s", err.message);
    if (COUNTING && made)
        fail_msg("net %d, %s%s: %ld allocations in %d steps", kind, optimizer, lazy ? " lazy" : "",
                 made, 60 - 2 * BATCHES);
    for (int i = 0; i < BATCHES; i++)
        for (int s = 0; s < SLOTS + 2; s++)
            skiff_tensor_destroy(batches[i].tensors[s]);
    skiff_tensor_destroy(out);
    skiff_executor_destroy(e);
    skiff_scope_destroy(scope);
    skiff_net_destroy(net);
}

static void test_dnn(void **state)
{
    check_steady(NET_DNN, "sgd", false);
    check_steady(NET_DNN, "adam", false);
    check_steady(NET_DNN, "adam", true);
    check_steady(NET_DNN, "momentum", false);
    check_steady(NET_DNN_WIDE, "adam", false);
}

static void test_ragged(void **state)
{
    check_steady(NET_POOLED, "sgd", false);
    check_steady(NET_POOLED, "adam", false);
    check_steady(NET_POOLED, "adagrad", false);
}

static void test_dense_table(void **state)
{
    check_steady(NET_POOLED_DENSE, "sgd", false);
    check_steady(NET_POOLED_DENSE, "adam", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dnn),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_dense_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
