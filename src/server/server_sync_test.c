/* Sync training: the same bits for any number of servers and shards, and the right ones. */
#include "server/server_fixture_test.h"

#define STEPS 4

static struct fixture_options sync_options(int servers, int trainers)
{
    return (struct fixture_options){
        .servers = servers, .trainers = trainers, .config = split_config_fleet(SKIFF_SPLIT_SYNC)};
}

/* Runs a whole job; the caller owns the parameters that trainer 0 pulled at start and end. */
static void run_job(const struct fixture_options *o, struct params **first, struct params **last)
{
    struct server_fixture k;
    struct fixture_trainer t[FIXTURE_MAX];
    fixture_open(&k, o);
    for (int i = 0; i < o->trainers; i++)
        trainer_start(&t[i], &k, i, STEPS);
    for (int i = 0; i < o->trainers; i++)
        trainer_join(&t[i]);
    fixture_join(&k, SKIFF_OK);
    for (int i = 1; i < o->trainers; i++) {
        assert_true(params_same(t[0].last, t[i].last));
        trainer_deinit(&t[i]);
    }
    struct metrics *metrics = server_metrics(k.server[0]);
    assert_int_equal(metrics_value(metrics, METRIC_SERVER_STEPS), STEPS);
    assert_int_equal(metrics_value(metrics, METRIC_SERVER_TRAINERS_GONE), o->trainers);
    assert_true(metrics_value(metrics, METRIC_RPC_REQUESTS) > 0 &&
                metrics_value(metrics, METRIC_NET_BYTES_IN) > 0);
    *first = t[0].first;
    *last = t[0].last;
    fixture_close(&k);
}

/* The values of one machine's startup program. */
static void same_start_as_one_machine(void **state)
{
    static const int servers[] = {1, 2, 5};
    for (int c = 0; c < 3; c++) {
        struct server_fixture k;
        struct fixture_options o = sync_options(servers[c], 1);
        struct skiff_error err;
        struct skiff_scope *scope = scope_create();
        struct skiff_executor *e = executor_create(scope, &(struct executor_options){0});
        struct fixture_trainer t;
        fixture_open(&k, &o);
        assert_ok(executor_run(e, skiff_net_startup(k.net), NULL, 0, NULL, 0, NULL, &err), err);
        trainer_start(&t, &k, 0, 0);
        trainer_join(&t);
        fixture_join(&k, SKIFF_OK);
        const struct tensor *w = &scope_find(scope, "w")->tensor;
        const struct tensor *b = &scope_find(scope, "b")->tensor;
        const struct tensor *emb = &scope_find(scope, "emb")->tensor;
        assert_memory_equal(t.first->w.tensor.data, w->data, tensor_bytes(w));
        assert_memory_equal(t.first->b.tensor.data, b->data, tensor_bytes(b));
        assert_memory_equal(t.first->emb, emb->data, tensor_bytes(emb));
        trainer_deinit(&t);
        fixture_close(&k);
        executor_destroy(e);
        scope_destroy(scope);
    }
}

/* sgd: p - sum over steps of lr * mean of the trainers' gradients, lr 1, 1/2, 1/4, ... */
static void sgd_is_as_the_formula_says(void **state)
{
    for (int trainers = 1; trainers <= 3; trainers++) {
        struct fixture_options o = sync_options(2, trainers);
        struct params *first, *last;
        struct grads g[3] = {0};
        float lr = 1;
        o.decay = true;
        run_job(&o, &first, &last);
        for (int s = 0; s < STEPS; s++, lr *= 0.5f) {
            for (int t = 0; t < trainers; t++)
                grads_init(&g[t], t, s);
            for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++) {
                float sum = 0;
                for (int t = 0; t < trainers; t++)
                    sum += tensor_f32(&g[t].w.tensor)[i];
                tensor_f32(&first->w.tensor)[i] -= lr * (sum / (float)trainers);
            }
            for (int t = 0; t < trainers; t++)
                for (int i = 0; i < g[t].nids * EMB_WIDTH; i++)
                    first->emb[g[t].emb.sel.rows[i / EMB_WIDTH] * EMB_WIDTH + i % EMB_WIDTH] -=
                        lr * tensor_f32(&g[t].emb.tensor)[i] / (float)trainers;
        }
        for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++)
            assert_float_equal(tensor_f32(&first->w.tensor)[i], tensor_f32(&last->w.tensor)[i],
                               2e-6);
        for (int i = 0; i < EMB_ROWS * EMB_WIDTH; i++)
            assert_float_equal(first->emb[i], last->emb[i], 2e-6);
        for (int t = 0; t < 3; t++)
            grads_deinit(&g[t]);
        params_destroy(first);
        params_destroy(last);
    }
}

static void same_bits_for_any_number_of_servers(void **state)
{
    static const struct {
        const char *optimizer;
        int trainers;
        bool decay;
        double l2;
    } cases[] = {{"sgd", 2, true, 0.01},
                 {"adam", 3, false, 0},
                 {"momentum", 1, true, 0},
                 {"adagrad", 2, false, 0.1}};
    static const int servers[] = {1, 2, 3, 5};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct params *first[4], *last[4];
        for (int i = 0; i < 4; i++) {
            struct fixture_options o = sync_options(servers[i], cases[c].trainers);
            o.optimizer = cases[c].optimizer;
            o.decay = cases[c].decay;
            o.l2 = cases[c].l2;
            o.shards = i == 2 ? 3 : 1;
            run_job(&o, &first[i], &last[i]);
            assert_false(params_same(first[i], last[i]));
            if (!params_same(first[0], first[i]) || !params_same(last[0], last[i]))
                fail_msg("%s: %d servers give other bits than 1", cases[c].optimizer, servers[i]);
        }
        for (int i = 0; i < 4; i++) {
            params_destroy(first[i]);
            params_destroy(last[i]);
        }
    }
}

/* The bare transpiler's programs (sum and scale in the blocks, one trainer without them). */
static void bare_transpiler_gives_the_same(void **state)
{
    for (int trainers = 1; trainers <= 2; trainers++) {
        struct params *first[2], *last[2];
        for (int i = 0; i < 2; i++) {
            struct fixture_options o = sync_options(2, trainers);
            if (i)
                o.config = split_config_default();
            o.decay = true;
            run_job(&o, &first[i], &last[i]);
        }
        assert_true(params_same(last[0], last[1]));
        for (int i = 0; i < 2; i++) {
            params_destroy(first[i]);
            params_destroy(last[i]);
        }
    }
}

/* Lost, duplicated, late and reordered packets change nothing. */
static void a_bad_network_changes_nothing(void **state)
{
    struct params *first[2], *last[2];
    for (int i = 0; i < 2; i++) {
        struct fixture_options o = sync_options(2, 2);
        o.transport = i ? "fault seed=5 drop=0.03 twice=0.03 late=0.05 late_ms=1-20" : NULL;
        o.silence_ms = 15000;
        run_job(&o, &first[i], &last[i]);
    }
    assert_true(params_same(last[0], last[1]));
    for (int i = 0; i < 2; i++) {
        params_destroy(first[i]);
        params_destroy(last[i]);
    }
}

/* A trainer with fewer steps leaves; the others continue, scaled by their number. */
static void who_has_no_more_data_leaves(void **state)
{
    struct server_fixture k;
    struct fixture_trainer t[2];
    struct fixture_options o = sync_options(2, 2);
    struct grads g[2] = {0};
    fixture_open(&k, &o);
    trainer_start(&t[0], &k, 0, 3);
    trainer_start(&t[1], &k, 1, 1);
    trainer_join(&t[1]);
    trainer_join(&t[0]);
    fixture_join(&k, SKIFF_OK);
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < 2; i++)
            grads_init(&g[i], i, s);
        for (int i = 0; i < FC_WIDTH; i++) {
            float sum = tensor_f32(&g[0].b.tensor)[i];
            if (s == 0)
                sum = (sum + tensor_f32(&g[1].b.tensor)[i]) * 0.5f;
            tensor_f32(&t[0].first->b.tensor)[i] -= sum;
        }
    }
    assert_memory_equal(t[0].first->b.tensor.data, t[0].last->b.tensor.data, FC_WIDTH * 4);
    for (int i = 0; i < 2; i++) {
        grads_deinit(&g[i]);
        trainer_deinit(&t[i]);
    }
    assert_non_null(strstr(k.output, "has left"));
    fixture_close(&k);
}

struct end_step {
    struct server_fixture *fixture;
    struct session *session;
    struct grads *grads;
    struct params *params;
    pthread_t thread;
    enum skiff_status status;
};

static void *end_step(void *arg)
{
    struct end_step *e = arg;
    e->status = fixture_exchange(e->fixture, e->session, 0, PS_END_STEP, e->grads, e->params, NULL);
    return NULL;
}

/* Rows that are requested after a step arrive when all trainers have ended it, with its values; a
 * trainer that has not reached it does not keep others from leaving. */
static void rows_after_a_step(void **state)
{
    int64_t ids[3];
    struct server_fixture k;
    struct fixture_options o = sync_options(2, 2);
    struct skiff_error err;
    struct session *s[2];
    struct session_rows *after, *never;
    struct fixture_slices e;
    struct grads g[2] = {0};
    struct params *p[2];
    float got[3 * EMB_WIDTH], now[3 * EMB_WIDTH];
    fixture_open(&k, &o);
    fixture_slices(&k, "emb", "", false, &e);
    for (int i = 0; i < 2; i++) {
        s[i] = fixture_session(&k, i);
        p[i] = calloc(1, sizeof **p);
        params_shape(p[i]);
        grads_init(&g[i], i, 0);
    }
    memcpy(ids, g[0].emb.sel.rows, sizeof ids); /* rows that the step changes */
    assert_ok(session_pull_rows(s[0], &e.s, ids, 3, EMB_WIDTH, now, &err), err);
    assert_ok(session_rows_ask(s[0], &e.s, ids, 3, true, 1, &after, &err), err);
    assert_ok(session_rows_ask(s[0], &e.s, ids, 3, true, 2, &never, &err), err);
    struct end_step ends[2] = {{.fixture = &k, .session = s[0], .grads = &g[0], .params = p[0]},
                               {.fixture = &k, .session = s[1], .grads = &g[1], .params = p[1]}};
    for (int i = 0; i < 2; i++)
        pthread_create(&ends[i].thread, NULL, end_step, &ends[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(ends[i].thread, NULL);
        assert_int_equal(ends[i].status, SKIFF_OK);
    }
    assert_ok(session_rows_take(after, EMB_WIDTH, got, &err), err);
    assert_memory_not_equal(got, now, sizeof got);
    assert_ok(session_pull_rows(s[1], &e.s, ids, 3, EMB_WIDTH, now, &err), err);
    assert_memory_equal(got, now, sizeof got);
    session_rows_drop(never);
    struct metrics *counted = session_metrics(s[0]);
    assert_int_equal(metrics_value(counted, METRIC_SESSION_ROWS_PULLED), 2 * 3);
    assert_int_equal(metrics_value(counted, METRIC_SESSION_ROWS_PREFETCHED), 3);
    assert_int_equal(metrics_value(counted, METRIC_SESSION_EXCHANGES), 1);
    assert_true(metrics_value(counted, METRIC_SESSION_WAIT_SECONDS) >= 3);
    assert_int_equal(metric_value(metrics_get(counted, METRIC_STEP_SECONDS, "wait_rows")), 2);
    assert_int_equal(metric_value(metrics_get(counted, METRIC_STEP_SECONDS, "wait_servers")), 1);
    assert_true(metrics_value(counted, METRIC_SESSION_BYTES_OUT) > 0 &&
                metrics_value(counted, METRIC_RPC_CALLS) > 0);
    for (int i = 0; i < 2; i++) {
        session_close(s[i]);
        grads_deinit(&g[i]);
        params_destroy(p[i]);
    }
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_start_as_one_machine),
        cmocka_unit_test(sgd_is_as_the_formula_says),
        cmocka_unit_test(same_bits_for_any_number_of_servers),
        cmocka_unit_test(bare_transpiler_gives_the_same),
        cmocka_unit_test(a_bad_network_changes_nothing),
        cmocka_unit_test(who_has_no_more_data_leaves),
        cmocka_unit_test(rows_after_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
