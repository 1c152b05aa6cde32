#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "executor/trainer_parts.h"
#include "models/rank/dnn/net.h"
#include "store/file.h"

#define SLOTS 3
#define ROWS 16
#define BATCHES 24

/* ---- a small CTR net and batches in memory ---- */

struct net {
    struct skiff_net *net;
    struct rank_dnn vars;
    struct skiff_scope *scope;
    const char *stat_pos, *stat_neg;
};

static const struct skiff_program *main_of(const struct net *n)
{
    return skiff_net_main(n->net);
}

static void net_open(struct net *n, const char *optimizer)
{
    const struct rank_dnn_config config = {.sparse_slots = SLOTS,
                                           .dense_columns = 2,
                                           .table_rows = 50,
                                           .table_width = 4,
                                           .layer_sizes = {8}};
    struct skiff_error err = {0};
    n->net = skiff_net_create();
    skiff_program_set_seed(skiff_net_startup(n->net), 5);
    n->vars = rank_dnn_build(n->net, &config);
    assert_int_equal(skiff_minimize(n->net, n->vars.loss, &err, optimizer, .learning_rate = 0.01),
                     SKIFF_OK);
    n->scope = scope_create();
    n->stat_pos = "_generated_var_2";
    n->stat_neg = "_generated_var_3";
    struct skiff_executor *e = executor_create(n->scope, &(struct executor_options){0});
    assert_int_equal(executor_run(e, skiff_net_startup(n->net), NULL, 0, NULL, 0, NULL, &err),
                     SKIFF_OK);
    executor_destroy(e);
}

static void net_close(struct net *n)
{
    scope_destroy(n->scope);
    skiff_net_destroy(n->net);
}

struct made_batch {
    struct tensor t[SLOTS + 2];
    struct feed feeds[SLOTS + 2];
};

struct memory_source {
    struct made_batch batches[BATCHES];
    atomic_int next;
    int limit, fail_at, pause_us;
    int block_at; /* this one waits for interrupt */
    atomic_bool interrupted;
};

static void fill(struct tensor *t, enum dtype dtype, int64_t cols)
{
    struct shape s = SHAPE(ROWS, cols);
    assert_int_equal(tensor_resize(t, dtype, &s, NULL), SKIFF_OK);
}

static void memory_init(struct memory_source *m)
{
    static const char *const names[] = {"C1", "C2", "C3"};
    struct mt64 r;
    memset(m, 0, sizeof(*m));
    m->limit = BATCHES;
    m->fail_at = m->block_at = -1;
    mt64_seed(&r, 3);
    for (int b = 0; b < BATCHES; b++) {
        struct made_batch *batch = &m->batches[b];
        int64_t counts = ROWS + 1;
        fill(&batch->t[SLOTS], DTYPE_FP32, 2);
        fill(&batch->t[SLOTS + 1], DTYPE_INT64, 1);
        for (int s = 0; s < SLOTS; s++) {
            fill(&batch->t[s], DTYPE_INT64, 1);
            assert_int_equal(lod_build(&batch->t[s].lod, 1, &counts, NULL), SKIFF_OK);
            for (int i = 0; i <= ROWS; i++)
                batch->t[s].lod->level[0].off[i] = i;
            for (int i = 0; i < ROWS; i++)
                tensor_i64(&batch->t[s])[i] = (int64_t)(mt64_double(&r) * 50);
            batch->feeds[s] = (struct feed){names[s], &batch->t[s], NULL};
        }
        for (int i = 0; i < ROWS; i++) {
            tensor_f32(&batch->t[SLOTS])[2 * i] = (float)mt64_double(&r);
            tensor_f32(&batch->t[SLOTS])[2 * i + 1] = (float)mt64_double(&r);
            tensor_i64(&batch->t[SLOTS + 1])[i] = tensor_i64(&batch->t[0])[i] < 20;
        }
        batch->feeds[SLOTS] = (struct feed){"dense_input", &batch->t[SLOTS], NULL};
        batch->feeds[SLOTS + 1] = (struct feed){"label", &batch->t[SLOTS + 1], NULL};
    }
}

static void memory_deinit(struct memory_source *m)
{
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < SLOTS + 2; i++)
            tensor_deinit(&m->batches[b].t[i]);
}

static enum skiff_status memory_next_batch(void *self, int thread, struct trainer_batch *out,
                                           struct skiff_error *err)
{
    struct memory_source *m = self;
    (void)thread;
    int at = atomic_fetch_add(&m->next, 1);
    if (at == m->fail_at)
        return error_set(err, SKIFF_FORMAT, "line 7 is bad");
    if (m->block_at >= 0 && at >= m->block_at) {
        while (!atomic_load(&m->interrupted))
            usleep(1000);
        return SKIFF_END;
    }
    if (at >= m->limit)
        return SKIFF_END;
    if (m->pause_us)
        usleep((useconds_t)m->pause_us);
    *out = (struct trainer_batch){m->batches[at % BATCHES].feeds, SLOTS + 2, ROWS};
    return SKIFF_OK;
}

static void memory_interrupt(void *self)
{
    atomic_store(&((struct memory_source *)self)->interrupted, true);
}

static struct trainer_source memory_source_of(struct memory_source *m)
{
    return (struct trainer_source){
        .self = m, .next = memory_next_batch, .interrupt = memory_interrupt};
}

static enum skiff_status run(struct net *n, struct memory_source *m,
                             const struct trainer_options *o, struct trainer_result *r,
                             struct skiff_error *err)
{
    struct trainer_source source = memory_source_of(m);
    atomic_store(&m->next, 0);
    return trainer_run(n->scope, main_of(n), &source, o, r, err);
}

/* The sum of the losses when an executor runs the batches, one after the other. */
static double sum_by_executor(const char *optimizer, struct memory_source *m)
{
    struct net n;
    struct skiff_error err = {0};
    double sum = 0;
    net_open(&n, optimizer);
    struct skiff_executor *e = executor_create(n.scope, &(struct executor_options){0});
    const char *loss = skiff_var_name(n.vars.loss);
    struct skiff_tensor out = {0};
    for (int b = 0; b < BATCHES; b++) {
        assert_int_equal(
            executor_run(e, main_of(&n), m->batches[b].feeds, SLOTS + 2, &loss, 1, &out, &err),
            SKIFF_OK);
        sum += (double)tensor_f32(&out.tensor)[0];
    }
    value_deinit(&out);
    executor_destroy(e);
    net_close(&n);
    return sum;
}

static int64_t counted(const struct net *n)
{
    int64_t sum = 0;
    const char *names[2] = {n->stat_pos, n->stat_neg};
    for (int s = 0; s < 2; s++) {
        const struct skiff_tensor *v = scope_find(n->scope, names[s]);
        for (int64_t i = 0; i < tensor_numel(&v->tensor); i++)
            sum += tensor_i64(&v->tensor)[i];
    }
    return sum;
}

/* ---- tests ---- */

static void one_thread_repeats(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam"};
    static const char *const params[] = {"SparseFeatFactors", "fc_0.w_0", "fc_1.b_0"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct net a, b;
        struct memory_source m;
        struct trainer_result r;
        struct skiff_error err = {0};
        memory_init(&m);
        net_open(&a, optimizers[k]);
        net_open(&b, optimizers[k]);
        assert_int_equal(run(&a, &m, &(struct trainer_options){.threads = 1}, &r, &err), SKIFF_OK);
        assert_int_equal(run(&b, &m, &(struct trainer_options){.threads = 1}, NULL, &err),
                         SKIFF_OK);
        assert_int_equal(r.batches, BATCHES);
        assert_int_equal(r.rows, BATCHES * ROWS);
        assert_false(r.stopped);
        assert_true(r.compute_seconds > 0 && r.seconds >= r.compute_seconds);
        for (int i = 0; i < 3; i++) {
            const struct skiff_tensor *x = scope_find(a.scope, params[i]),
                                      *y = scope_find(b.scope, params[i]);
            assert_memory_equal(x->tensor.data, y->tensor.data, tensor_bytes(&x->tensor));
        }
        net_close(&a);
        net_close(&b);
        memory_deinit(&m);
    }
}

static void metrics_add_up(void **state)
{
    (void)state;
    struct net n;
    struct memory_source m;
    struct trainer_result r;
    struct skiff_error err = {0};
    memory_init(&m);
    net_open(&n, "adam");
    struct trainer_options o = {.threads = 3};
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    assert_int_equal(r.rows, BATCHES * ROWS);
    assert_int_equal(counted(&n), BATCHES * ROWS);
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK); /* goes on counting */
    assert_int_equal(counted(&n), 2 * BATCHES * ROWS);
    o.reset_metrics = true;
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    assert_int_equal(counted(&n), BATCHES * ROWS);
    net_close(&n);
    memory_deinit(&m);
}

/* One registry over several runs: a reader sees the growth of each. */
static void the_registry_counts_all_runs(void **state)
{
    (void)state;
    struct net n;
    struct memory_source m;
    struct trainer_result r;
    struct skiff_error err = {0};
    struct metrics *counted_here = metrics_create(NULL, 0);
    struct metrics_snapshot before = {0}, now = {0};
    struct trainer_options o = {.threads = 2,
                                .executor = {.metrics = counted_here, .profile = true}};
    memory_init(&m);
    net_open(&n, "adam");
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    snapshot_add(&before, counted_here);
    assert_in_range(snapshot_value(&before, METRIC_EXECUTOR_PLANS, NULL), 1, 2); /* threads */
    m.limit = 5;
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    snapshot_add(&now, counted_here);
    assert_int_equal(snapshot_value(&before, METRIC_TRAIN_SAMPLES, "train"), BATCHES * ROWS);
    assert_int_equal(snapshot_since(&now, &before, METRIC_TRAIN_BATCHES, "train"), 5);
    assert_int_equal(snapshot_since(&now, &before, METRIC_TRAIN_SAMPLES, "train"), 5 * ROWS);
    static const char *const parts[] = {"read", "compute", "update"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(snapshot_since(&now, &before, METRIC_STEP_SECONDS, parts[i]), 5);
    double update = snapshot_seconds(&now, METRIC_STEP_SECONDS, "update") -
                    snapshot_seconds(&before, METRIC_STEP_SECONDS, "update");
    assert_true(update > 0 && fabs(update - r.update_seconds) < 1e-6);
    o.evaluates = true;
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    assert_int_equal(metrics_value(counted_here, METRIC_TRAIN_SAMPLES), (BATCHES + 2 * 5) * ROWS);
    assert_int_equal(metric_value(metrics_get(counted_here, METRIC_STEP_SECONDS, "compute")),
                     BATCHES + 5);
    snapshot_deinit(&before);
    snapshot_deinit(&now);
    metrics_destroy(counted_here);
    net_close(&n);
    memory_deinit(&m);
}

struct seen {
    pthread_mutex_t lock;
    int64_t batches, rows;
    double loss;
    int prints, debugs, handled, ticks;
    int kinds[2];
    char first[400];
    atomic_bool stop;
    int stop_after;
};

static void see_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct seen *s = user;
    (void)thread;
    pthread_mutex_lock(&s->lock);
    s->batches++;
    s->rows += rows;
    s->loss += (double)tensor_f32(&watched[0].tensor)[0];
    if (s->stop_after && s->batches >= s->stop_after)
        atomic_store(&s->stop, true);
    pthread_mutex_unlock(&s->lock);
}

static void see_print(void *user, const char *text)
{
    struct seen *s = user;
    if (!s->prints++)
        snprintf(s->first, sizeof(s->first), "%s", text);
}

static void see_debug(void *user, const char *text)
{
    struct seen *s = user;
    if (!s->debugs++)
        snprintf(s->first, sizeof(s->first), "%s", text);
}

static void see_handler(void *user, const struct skiff_tensor *values)
{
    struct seen *s = user;
    s->handled++;
    s->kinds[0] = (int)values[0].kind;
    s->kinds[1] = (int)values[1].kind;
}

static bool see_stop(void *user)
{
    return atomic_load(&((struct seen *)user)->stop);
}

static void see_tick(void *user)
{
    ((struct seen *)user)->ticks++;
}

static void callbacks_are_called(void **state)
{
    (void)state;
    struct net n;
    struct memory_source m;
    struct trainer_result r;
    struct skiff_error err = {0};
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    memory_init(&m);
    m.pause_us = 10000;
    net_open(&n, "sgd");
    const char *loss = skiff_var_name(n.vars.loss), *info = "the loss";
    const char *handled[2] = {loss, "nobody_writes_this"};
    struct trainer_options o = {.threads = 1,
                                .user = &seen,
                                .fetches = &loss,
                                .fetch_info = &info,
                                .nfetches = 1,
                                .print_period = 10,
                                .print = see_print,
                                .watched = &loss,
                                .nwatched = 1,
                                .on_batch = see_batch,
                                .handled = handled,
                                .nhandled = 2,
                                .handler_period = 0.05,
                                .handler = see_handler,
                                .tick_period = 0.02,
                                .on_tick = see_tick};
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    assert_int_equal(seen.batches, BATCHES);
    assert_int_equal(seen.rows, BATCHES * ROWS);
    assert_float_equal(seen.loss, sum_by_executor("sgd", &m), 1e-4);
    assert_int_equal(seen.prints, BATCHES / 10);
    assert_non_null(strstr(seen.first, "the loss\t"));
    assert_non_null(strstr(seen.first, "\t\tlod: {}\n\tdim: 1\n\tlayout: NCHW\n\tdtype: float\n"));
    assert_true(seen.handled >= 1);
    assert_int_equal(seen.kinds[0], VALUE_TENSOR);
    assert_int_equal(seen.kinds[1], VALUE_NONE);
    assert_true(seen.ticks >= 2);
    net_close(&n);
    memory_deinit(&m);
}

static void debug_prints_times(void **state)
{
    (void)state;
    struct net n;
    struct memory_source m;
    struct trainer_result r;
    struct skiff_error err = {0};
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    memory_init(&m);
    m.limit = 205;
    net_open(&n, "sgd");
    struct trainer_options o = {.threads = 1, .user = &seen, .print_debug = see_debug};
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
    assert_int_equal(seen.debugs, 2);
    assert_memory_equal(seen.first, "op_name:[0][", 12);
    assert_true(r.update_seconds > 0 && r.update_seconds < r.compute_seconds);
    net_close(&n);
    memory_deinit(&m);
}

static void stops_after_the_batch(void **state)
{
    (void)state;
    for (int blocked = 0; blocked < 2; blocked++) {
        struct net n;
        struct memory_source m;
        struct trainer_result r;
        struct skiff_error err = {0};
        struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop_after = 5};
        memory_init(&m);
        if (blocked)
            m.block_at = 5;
        net_open(&n, "sgd");
        const char *loss = skiff_var_name(n.vars.loss);
        struct trainer_options o = {.threads = 2,
                                    .user = &seen,
                                    .watched = &loss,
                                    .nwatched = 1,
                                    .on_batch = see_batch,
                                    .wants_stop = see_stop};
        assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_OK);
        assert_true(r.stopped);
        assert_true(r.batches >= 5 && r.batches <= 7);
        assert_int_equal(counted(&n), r.rows);
        net_close(&n);
        memory_deinit(&m);
    }
}

static void failures_are_reported(void **state)
{
    (void)state;
    struct net n;
    struct memory_source m;
    struct trainer_result r;
    struct skiff_error err = {0};
    memory_init(&m);
    m.fail_at = 6;
    net_open(&n, "sgd");
    struct trainer_options o = {.threads = 2};
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_FORMAT);
    assert_string_equal(err.message, "line 7 is bad");
    assert_int_equal(counted(&n), r.rows);
    m.fail_at = -1;
    const char *nothing = "no_such_variable";
    o = (struct trainer_options){.threads = 1, .watched = &nothing, .nwatched = 1};
    assert_int_equal(run(&n, &m, &o, &r, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "no_such_variable"));
    assert_int_equal(run(&n, &m, &(struct trainer_options){0}, &r, &err), SKIFF_INVALID);
    net_close(&n);
    memory_deinit(&m);
}

/* What real Paddle printed, and the weights it had in the end. */
struct printed {
    struct buf text;
};

static void collect(void *user, const char *text)
{
    buf_str(&((struct printed *)user)->text, text);
}

struct linreg {
    struct skiff_net *net;
    struct skiff_var *x, *y, *loss;
    struct skiff_scope *scope;
    struct schema schema;
    struct dataset *data;
};

static void linreg_open(struct linreg *l)
{
    struct skiff_error err = {0};
    struct dataset_config dc;
    const char *file = "tests/data/trainer/linreg.txt";
    struct shape wide = SHAPE(-1, 13), one = SHAPE(-1, 1);
    l->net = skiff_net_create();
    l->x = skiff_data(l->net, "x", SKIFF_DIMS(13));
    l->y = skiff_data(l->net, "y", SKIFF_DIMS(1));
    struct skiff_var *p = skiff_fc(
        l->net, l->x, 1, .param_attr = SKIFF_PARAM(.initializer = skiff_init_constant(0.1)));
    l->loss = skiff_mean(l->net, skiff_square_error_cost(l->net, p, l->y));
    assert_int_equal(skiff_minimize(l->net, l->loss, &err, "sgd", .learning_rate = 0.01), SKIFF_OK);
    l->scope = scope_create();
    struct skiff_executor *e = executor_create(l->scope, &(struct executor_options){0});
    assert_int_equal(executor_run(e, skiff_net_startup(l->net), NULL, 0, NULL, 0, NULL, &err),
                     SKIFF_OK);
    executor_destroy(e);
    schema_init(&l->schema);
    assert_int_equal(schema_add(&l->schema, "x", DTYPE_FP32, 0, &wide, &err), SKIFF_OK);
    assert_int_equal(schema_add(&l->schema, "y", DTYPE_FP32, 0, &one, &err), SKIFF_OK);
    dataset_config_init(&dc);
    dc.schema = &l->schema;
    dc.batch_size = 4;
    assert_int_equal(dataset_create(&dc, &l->data, &err), SKIFF_OK);
    assert_int_equal(dataset_set_files(l->data, &file, 1, &err), SKIFF_OK);
}

static void linreg_close(struct linreg *l)
{
    dataset_destroy(l->data);
    schema_deinit(&l->schema);
    scope_destroy(l->scope);
    skiff_net_destroy(l->net);
}

static double weight_sum(const struct linreg *l)
{
    double sum = 0;
    for (int i = 0; i < 13; i++)
        sum += (double)tensor_f32(&scope_find(l->scope, "fc_0.w_0")->tensor)[i];
    return sum;
}

/* The printed numbers have 6 digits: compared as numbers, everything else as text. */
static void same_print(const char *got, const char *want)
{
    while (*want && *got) {
        const char *a = strstr(got, "data: ["), *b = strstr(want, "data: [");
        if (!a || !b)
            break;
        assert_int_equal(a - got, b - want);
        assert_memory_equal(got, want, (size_t)(a - got));
        double x = strtod(a + 7, (char **)&got), y = strtod(b + 7, (char **)&want);
        assert_true(fabs(x - y) <= 2e-5 * fabs(y));
    }
    assert_memory_equal(want, got, strlen(got));
}

static void dataset_trains_as_paddle(void **state)
{
    (void)state;
    struct linreg l;
    struct printed printed = {BUF_INIT};
    struct buf want = BUF_INIT;
    struct trainer_result r;
    struct skiff_error err = {0};
    linreg_open(&l);
    const char *loss = skiff_var_name(l.loss), *info = "loss";
    struct trainer_options o = {.user = &printed,
                                .fetches = &loss,
                                .fetch_info = &info,
                                .nfetches = 1,
                                .print_period = 5,
                                .print = collect};
    assert_int_equal(trainer_train_dataset(l.scope, skiff_net_main(l.net), l.data, &o, &r, &err),
                     SKIFF_OK);
    assert_int_equal(r.rows, 80);
    assert_int_equal(file_read("tests/data/trainer/fetch.txt", &want, &err), SKIFF_OK);
    char *tail = strstr(want.data, "returned None\nw sum ");
    assert_non_null(tail);
    double sum = strtod(tail + 20, NULL);
    *tail = 0;
    same_print(printed.text.data, want.data);
    assert_true(fabs(weight_sum(&l) - sum) < 2e-5);
    buf_deinit(&want);
    buf_deinit(&printed.text);
    linreg_close(&l);
}

static void inference_changes_nothing(void **state)
{
    (void)state;
    struct linreg l;
    struct trainer_result r;
    struct skiff_error err = {0};
    linreg_open(&l);
    double before = weight_sum(&l);
    assert_int_equal(trainer_infer_dataset(l.scope, skiff_net_main(l.net), l.data,
                                           &(struct trainer_options){.threads = 2}, &r, &err),
                     SKIFF_OK);
    assert_int_equal(r.rows, 80);
    assert_true(weight_sum(&l) == before);
    linreg_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_repeats),           cmocka_unit_test(metrics_add_up),
        cmocka_unit_test(the_registry_counts_all_runs), cmocka_unit_test(callbacks_are_called),
        cmocka_unit_test(debug_prints_times),           cmocka_unit_test(stops_after_the_batch),
        cmocka_unit_test(failures_are_reported),        cmocka_unit_test(dataset_trains_as_paddle),
        cmocka_unit_test(inference_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
