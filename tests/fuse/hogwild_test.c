/* Several executors, one thread each, train one model in one scope without locks (Hogwild): it
 * learns, nothing breaks, and the only data races are on the numbers themselves. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <skiff/skiff.h>

#include "base/rng.h"

#define THREADS 3
#define STEPS 400
#define BATCH 8
#define ROWS 200

struct model {
    struct skiff_net *net;
    const char *loss;
};

struct worker {
    const struct model *model;
    struct skiff_scope *scope;
    uint64_t seed;
    double last; /* mean loss of the last steps */
    struct skiff_error err;
    enum skiff_status status;
};

static void model_open(struct model *m, const char *optimizer, double rate)
{
    struct skiff_error err = {0};
    m->net = skiff_net_create();
    struct skiff_var *a = skiff_data(m->net, "a", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    struct skiff_var *b = skiff_data(m->net, "b", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *label = skiff_data(m->net, "label", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_param_attr table = {.name = "table",
                                     .initializer = skiff_init_uniform(-0.1, 0.1, 3)};
    struct skiff_var *ea =
        skiff_embedding(m->net, a, ROWS, 4, .is_sparse = true, .param_attr = &table);
    struct skiff_var *eb =
        skiff_embedding(m->net, b, ROWS, 4, .is_sparse = true, .param_attr = &table);
    struct skiff_var *x =
        skiff_concat(m->net, SKIFF_VARS(skiff_sequence_pool(m->net, ea, "sum"), eb), 1);
    struct skiff_var *h = skiff_fc(m->net, x, 8, .act = "relu");
    struct skiff_var *p = skiff_fc(m->net, h, 2, .act = "softmax");
    struct skiff_var *loss = skiff_mean(m->net, skiff_cross_entropy(m->net, p, label));
    m->loss = skiff_var_name(loss);
    if (skiff_minimize(m->net, loss, &err, optimizer, .learning_rate = rate, .momentum = 0.5) < 0)
        fail_msg("%s", err.message);
}

/* ids below ROWS / 2 are clicked on. */
static void fill(struct mt64 *r, struct skiff_tensor *a, struct skiff_tensor *b,
                 struct skiff_tensor *label)
{
    int64_t lengths[BATCH];
    int64_t *ids = skiff_tensor_data(a), *other = skiff_tensor_data(b),
            *click = skiff_tensor_data(label);
    for (int i = 0; i < BATCH; i++) {
        click[i] = mt64_next(r) & 1;
        for (int k = 0; k < 2; k++)
            ids[2 * i + k] = (int64_t)(mt64_next(r) % (ROWS / 2)) + (click[i] ? 0 : ROWS / 2);
        other[i] = (int64_t)(mt64_next(r) % ROWS);
        lengths[i] = 2;
    }
    skiff_tensor_set_lengths(a, lengths, BATCH, NULL);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct mt64 r;
    mt64_seed(&r, w->seed);
    struct skiff_executor *e = skiff_executor_create(w->scope, NULL);
    struct skiff_tensor *a = skiff_tensor_create("int64", 2, (int64_t[]){2 * BATCH, 1}, NULL),
                        *b = skiff_tensor_create("int64", 2, (int64_t[]){BATCH, 1}, NULL),
                        *label = skiff_tensor_create("int64", 2, (int64_t[]){BATCH, 1}, NULL),
                        *out = NULL;
    struct skiff_feed feeds[] = {{"a", a}, {"b", b}, {"label", label}};
    for (int i = 0; i < STEPS && w->status == SKIFF_OK; i++) {
        fill(&r, a, b, label);
        w->status = skiff_executor_run(e, skiff_net_main(w->model->net), feeds, 3, &w->model->loss,
                                       1, &out, &w->err);
        float loss = out ? *(const float *)skiff_tensor_data(out) : NAN;
        if (i >= STEPS - 40)
            w->last += loss / 40;
    }
    skiff_tensor_destroy(a);
    skiff_tensor_destroy(b);
    skiff_tensor_destroy(label);
    skiff_tensor_destroy(out);
    skiff_executor_destroy(e);
    return NULL;
}

static void train(const char *optimizer, double rate)
{
    struct model m;
    struct skiff_error err = {0};
    struct worker w[THREADS];
    pthread_t t[THREADS];
    model_open(&m, optimizer, rate);
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *e = skiff_executor_create(scope, NULL);
    if (skiff_executor_run(e, skiff_net_startup(m.net), NULL, 0, NULL, 0, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.model = &m, .scope = scope, .seed = 5 + (uint64_t)i};
        assert_int_equal(pthread_create(&t[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (w[i].status < 0)
            fail_msg("%s: %s", optimizer, w[i].err.message);
        if (!(w[i].last < 0.45)) /* ln 2 = 0.69 in the beginning */
            fail_msg("%s: the loss is still %g", optimizer, w[i].last);
    }
    const struct skiff_tensor *table = skiff_scope_find(scope, "table");
    for (int64_t i = 0; i < skiff_tensor_count(table); i++)
        assert_true(isfinite(((const float *)skiff_tensor_data(table))[i]));
    skiff_executor_destroy(e);
    skiff_scope_destroy(scope);
    skiff_net_destroy(m.net);
}

static void test_adam(void **state)
{
    train("adam", 0.01);
}

static void test_momentum(void **state)
{
    train("momentum", 0.2);
}

static void test_adagrad(void **state)
{
    train("adagrad", 0.05);
}

/* ---- known numbers from many threads: the loss is linear, so every step moves every element by
 * the same whole number, and a difference at the end is a lost update ---- */

#define KNOWN_STEPS 500
#define KNOWN_IDS 8 /* the same few rows in every batch: as bad as it gets */

struct known {
    struct skiff_net *net;
    struct skiff_scope *scope;
    enum skiff_status status;
};

static void known_open(struct known *k)
{
    struct skiff_error err = {0};
    k->net = skiff_net_create();
    struct skiff_param_attr w = {.name = "w", .initializer = skiff_init_constant(0)},
                            table = {.name = "table", .initializer = skiff_init_constant(0)};
    struct skiff_var *x = skiff_data(k->net, "x", SKIFF_DIMS(64));
    struct skiff_var *ids = skiff_data(k->net, "ids", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *h = skiff_fc(k->net, x, 64, .param_attr = &w);
    struct skiff_var *e =
        skiff_embedding(k->net, ids, KNOWN_IDS, 8, .is_sparse = true, .param_attr = &table);
    struct skiff_var *loss =
        skiff_elementwise(k->net, add, skiff_reduce(k->net, sum, h), skiff_reduce(k->net, sum, e));
    if (skiff_minimize(k->net, loss, &err, "sgd", .learning_rate = 1) < 0)
        fail_msg("%s", err.message);
}

static void *known_work(void *arg)
{
    struct known *k = arg;
    struct skiff_executor *e = skiff_executor_create(k->scope, NULL);
    struct skiff_tensor *x = skiff_tensor_create("float32", 2, (int64_t[]){KNOWN_IDS, 64}, NULL),
                        *ids = skiff_tensor_create("int64", 2, (int64_t[]){KNOWN_IDS, 1}, NULL);
    for (int i = 0; i < KNOWN_IDS * 64; i++)
        ((float *)skiff_tensor_data(x))[i] = 1;
    for (int i = 0; i < KNOWN_IDS; i++)
        ((int64_t *)skiff_tensor_data(ids))[i] = i;
    struct skiff_feed feeds[] = {{"x", x}, {"ids", ids}};
    for (int i = 0; i < KNOWN_STEPS && k->status == SKIFF_OK; i++)
        k->status = skiff_executor_run(e, skiff_net_main(k->net), feeds, 2, NULL, 0, NULL, NULL);
    skiff_tensor_destroy(x);
    skiff_tensor_destroy(ids);
    skiff_executor_destroy(e);
    return NULL;
}

/* Share of the sum of all elements that is there. */
static double share(struct skiff_scope *scope, const char *name, double each)
{
    struct skiff_tensor *t = skiff_scope_find(scope, name);
    const float *v = skiff_tensor_data(t);
    double sum = 0;
    for (int64_t i = 0; i < skiff_tensor_count(t); i++) {
        assert_true(-v[i] <= each && v[i] <= 0 && v[i] == floorf(v[i]));
        sum += -v[i];
    }
    return sum / (each * (double)skiff_tensor_count(t));
}

static void known_run(int threads, double least)
{
    struct known all = {.scope = skiff_scope_create()}, k[THREADS];
    struct skiff_error err = {0};
    pthread_t t[THREADS];
    known_open(&all);
    struct skiff_executor *e = skiff_executor_create(all.scope, NULL);
    if (skiff_executor_run(e, skiff_net_startup(all.net), NULL, 0, NULL, 0, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < threads; i++) {
        k[i] = all;
        assert_int_equal(pthread_create(&t[i], NULL, known_work, &k[i]), 0);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(k[i].status, SKIFF_OK);
    }
    double dense = share(all.scope, "w", (double)threads * KNOWN_STEPS * KNOWN_IDS),
           rows = share(all.scope, "table", (double)threads * KNOWN_STEPS);
    if (dense < least || rows < least)
        fail_msg("%d threads: %.4f of the updates of w are there, %.4f of those of table", threads,
                 dense, rows);
    skiff_executor_destroy(e);
    skiff_scope_destroy(all.scope);
    skiff_net_destroy(all.net);
}

static void one_thread_loses_nothing(void **state)
{
    known_run(1, 1);
}

/* Two threads that write the same element at the same time may lose one of two updates; a parameter
 * that was copied, changed and written back as a whole would lose half of them. */
static void threads_lose_little(void **state)
{
    known_run(THREADS, 0.75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_loses_nothing),
        cmocka_unit_test(threads_lose_little),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_adagrad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
