#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "executor/scope_copy.h"
#include "executor/trainer.h"
#include "models/rank/dnn/net.h"

#define ROWS 8
#define TABLE 400 /* few of its rows are in a batch: most lie behind */
#define BATCHES 24
#define THREADS 3

struct net {
    struct skiff_net *net;
    struct skiff_scope *scope;
};

static void net_open(struct net *n, const char *optimizer)
{
    const struct rank_dnn_config config = {.sparse_slots = 1,
                                           .dense_columns = 2,
                                           .table_rows = TABLE,
                                           .table_width = 4,
                                           .layer_sizes = {8}};
    struct skiff_error err = {0};
    n->net = skiff_net_create();
    skiff_program_set_seed(skiff_net_startup(n->net), 5);
    struct rank_dnn vars = rank_dnn_build(n->net, &config);
    assert_int_equal(
        skiff_minimize(n->net, vars.loss, &err, optimizer, .learning_rate = 0.01, .momentum = 0.9),
        SKIFF_OK);
    n->scope = scope_create();
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

/* ---- batches, and what is seen of them ---- */

struct feeder {
    struct tensor t[BATCHES][3];
    struct feed feeds[BATCHES][3];
    atomic_int next;
    int limit, fail_at;
    int first_thread_limit; /* batches of thread 0; the others get the rest */
    atomic_int of_first;
    /* seen */
    atomic_int running; /* threads with a batch */
    int pauses, fail_pause;
    int64_t at[BATCHES], rows[BATCHES];
    bool alone; /* nobody had a batch, at any pause */
    const struct skiff_scope *scope;
    struct skiff_scope *copy;
    atomic_bool stop;
    int stop_at_pause;
};

static void fill(struct feeder *f, int b, struct mt64 *r)
{
    const struct shape id = SHAPE(ROWS, 1), dense = SHAPE(ROWS, 2);
    struct tensor *t = f->t[b];
    int64_t counts = ROWS + 1;
    assert_int_equal(tensor_resize(&t[0], DTYPE_INT64, &id, NULL), SKIFF_OK);
    assert_int_equal(tensor_resize(&t[1], DTYPE_FP32, &dense, NULL), SKIFF_OK);
    assert_int_equal(tensor_resize(&t[2], DTYPE_INT64, &id, NULL), SKIFF_OK);
    assert_int_equal(lod_build(&t[0].lod, 1, &counts, NULL), SKIFF_OK);
    for (int i = 0; i <= ROWS; i++)
        t[0].lod->level[0].off[i] = i;
    for (int i = 0; i < ROWS; i++) {
        tensor_i64(&t[0])[i] = (int64_t)(mt64_double(r) * TABLE);
        tensor_f32(&t[1])[2 * i] = (float)mt64_double(r);
        tensor_f32(&t[1])[2 * i + 1] = (float)mt64_double(r);
        tensor_i64(&t[2])[i] = tensor_i64(&t[0])[i] < TABLE / 3;
    }
    f->feeds[b][0] = (struct feed){"C1", &t[0], NULL};
    f->feeds[b][1] = (struct feed){"dense_input", &t[1], NULL};
    f->feeds[b][2] = (struct feed){"label", &t[2], NULL};
}

static void feeder_init(struct feeder *f)
{
    struct mt64 r;
    memset(f, 0, sizeof(*f));
    f->limit = BATCHES;
    f->fail_at = -1;
    f->first_thread_limit = BATCHES;
    f->alone = true;
    mt64_seed(&r, 3);
    for (int b = 0; b < BATCHES; b++)
        fill(f, b, &r);
}

static void feeder_deinit(struct feeder *f)
{
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < 3; i++)
            tensor_deinit(&f->t[b][i]);
    scope_destroy(f->copy);
}

static enum skiff_status next_batch(void *self, int thread, struct trainer_batch *out,
                                    struct skiff_error *err)
{
    struct feeder *f = self;
    if (thread == 0 && atomic_fetch_add(&f->of_first, 1) >= f->first_thread_limit)
        return SKIFF_END;
    int at = atomic_fetch_add(&f->next, 1);
    if (at == f->fail_at)
        return error_set(err, SKIFF_FORMAT, "line 7 is bad");
    if (at >= f->limit)
        return SKIFF_END;
    *out = (struct trainer_batch){f->feeds[at % BATCHES], 3, ROWS};
    atomic_fetch_add(&f->running, 1);
    return SKIFF_OK;
}

static void see_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    (void)thread;
    (void)rows;
    (void)watched;
    atomic_fetch_sub(&((struct feeder *)user)->running, 1);
}

static bool see_stop(void *user)
{
    return atomic_load(&((struct feeder *)user)->stop);
}

static enum skiff_status see_pause(void *user, int64_t batches, int64_t rows,
                                   struct skiff_error *err)
{
    struct feeder *f = user;
    f->at[f->pauses] = batches;
    f->rows[f->pauses] = rows;
    f->alone &= atomic_load(&f->running) == 0;
    f->pauses++;
    if (f->pauses == f->fail_pause)
        return error_set(err, SKIFF_IO, "the pause went wrong");
    if (f->pauses == f->stop_at_pause)
        atomic_store(&f->stop, true);
    return f->copy ? scope_copy(f->scope, f->copy, err) : SKIFF_OK;
}

static enum skiff_status run(struct net *n, struct feeder *f, int threads, int64_t period,
                             struct trainer_result *r, struct skiff_error *err)
{
    struct trainer_source source = {.self = f, .next = next_batch};
    struct trainer_options o = {.threads = threads,
                                .user = f,
                                .on_batch = see_batch,
                                .pause_period = period,
                                .on_pause = see_pause,
                                .wants_stop = see_stop};
    return trainer_run(n->scope, skiff_net_main(n->net), &source, &o, r, err);
}

/* All values of a are those of b, to the bit. */
static void same_values(const struct skiff_scope *a, const struct skiff_scope *b)
{
    struct str_map values;
    int deferred = 0;
    str_map_init(&values);
    scope_names(a, &values);
    for (size_t i = 0; i < values.count; i++) {
        const char *name = values.entries[i].key;
        const struct skiff_tensor *x = scope_find(a, name), *y = scope_find(b, name);
        assert_non_null(y);
        if (x->kind != VALUE_TENSOR || !strncmp(name, "_generated", 10))
            continue;
        assert_int_equal(tensor_bytes(&x->tensor), tensor_bytes(&y->tensor));
        assert_memory_equal(x->tensor.data, y->tensor.data, tensor_bytes(&x->tensor));
        deferred += tensor_numel(&x->tensor) == TABLE * 4;
    }
    assert_true(deferred >= 1); /* the table was among them */
    str_map_deinit(&values);
}

/* ---- tests ---- */

/* What is copied within an epoch is what a training that ended there would have saved; and looking
 * has changed nothing. */
static void a_copy_is_as_saved_and_changes_nothing(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam", "momentum", "rmsprop"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct net watched, alone, cut;
        struct feeder f;
        struct trainer_result r;
        struct skiff_error err = {0};
        net_open(&watched, optimizers[k]);
        net_open(&alone, optimizers[k]);
        net_open(&cut, optimizers[k]);
        feeder_init(&f);
        f.scope = watched.scope;
        f.copy = scope_create();
        assert_int_equal(run(&watched, &f, 1, 10, &r, &err), SKIFF_OK);
        assert_int_equal(f.pauses, 2);
        assert_int_equal(f.at[0], 10);
        assert_int_equal(f.at[1], 20);
        assert_int_equal(f.rows[1], 20 * ROWS);
        assert_int_equal(r.batches, BATCHES);
        struct skiff_scope *copy = f.copy;
        f.copy = NULL;
        atomic_store(&f.next, 0);
        atomic_store(&f.of_first, 0);
        assert_int_equal(run(&alone, &f, 1, 0, &r, &err), SKIFF_OK);
        atomic_store(&f.next, 0);
        atomic_store(&f.of_first, 0);
        f.limit = 20;
        assert_int_equal(run(&cut, &f, 1, 0, &r, &err), SKIFF_OK);
        assert_int_equal(f.pauses, 2);
        same_values(copy, cut.scope);
        same_values(watched.scope, alone.scope);
        scope_destroy(copy);
        feeder_deinit(&f);
        net_close(&watched);
        net_close(&alone);
        net_close(&cut);
    }
}

static void threads_meet(void **state)
{
    (void)state;
    struct net n;
    struct feeder f;
    struct trainer_result r;
    struct skiff_error err = {0};
    net_open(&n, "sgd");
    feeder_init(&f);
    assert_int_equal(run(&n, &f, THREADS, 4, &r, &err), SKIFF_OK);
    assert_int_equal(r.batches, BATCHES);
    assert_true(f.pauses >= 4 && f.pauses <= 6);
    assert_true(f.alone);
    for (int i = 0; i < f.pauses; i++) {
        assert_true(f.at[i] >= 4 * (i + 1));
        assert_int_equal(f.rows[i], f.at[i] * ROWS);
    }
    feeder_deinit(&f);
    net_close(&n);
}

/* A thread without batches is not waited for. */
static void who_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    struct net n;
    struct feeder f;
    struct trainer_result r;
    struct skiff_error err = {0};
    net_open(&n, "sgd");
    feeder_init(&f);
    f.first_thread_limit = 0;
    assert_int_equal(run(&n, &f, 2, 1, &r, &err), SKIFF_OK);
    assert_int_equal(r.batches, BATCHES);
    assert_int_equal(f.pauses, BATCHES);
    feeder_deinit(&f);
    net_close(&n);
}

static void failures_end_the_run(void **state)
{
    (void)state;
    struct net n;
    struct feeder f;
    struct trainer_result r;
    struct skiff_error err = {0};
    net_open(&n, "sgd");
    feeder_init(&f);
    f.fail_at = 9;
    assert_int_equal(run(&n, &f, THREADS, 2, &r, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, "line 7 is bad"));
    feeder_deinit(&f);
    feeder_init(&f);
    f.fail_pause = 2;
    assert_int_equal(run(&n, &f, THREADS, 3, &r, &err), SKIFF_IO);
    assert_string_equal(err.message, "the pause went wrong");
    assert_int_equal(f.pauses, 2);
    feeder_deinit(&f);
    feeder_init(&f);
    f.stop_at_pause = 2;
    assert_int_equal(run(&n, &f, THREADS, 5, &r, &err), SKIFF_OK);
    assert_true(r.stopped);
    assert_int_equal(f.pauses, 2);
    assert_int_equal(r.batches, f.at[1]); /* nobody began another one */
    feeder_deinit(&f);
    net_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_as_saved_and_changes_nothing),
        cmocka_unit_test(threads_meet),
        cmocka_unit_test(who_has_ended_is_not_waited_for),
        cmocka_unit_test(failures_end_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
