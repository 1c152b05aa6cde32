/* rpc over whole nodes: answers, exactly once under faults, deadlines. */
#include "net/rpc_fixture_test.h"

/* ---- plain use ---- */

static void answers_and_errors(void **state)
{
    static const char *const kinds[] = {"tcp", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counter_service server;
        struct client client;
        struct node_options so = test_options(kinds[k], SERVER(0), NULL);
        struct node_options co = test_options(kinds[k], WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        client_start(&client, &co, server.address);
        struct skiff_error err;
        struct blob *reply = NULL;
        assert_int_equal(rpc_await(client.peer, clock_now() + 5 * CLOCK_SECOND, NULL), SKIFF_OK);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(ask(&client, ADD, 7, 0, number(3), 5000, &reply, NULL), SKIFF_OK);
            blob_unref(reply);
        }
        assert_int_equal(read_counter(&client, 7), 30);
        assert_int_equal(ask(&client, FAIL, 0, 0, NULL, 5000, NULL, &err), SKIFF_SHAPE);
        assert_string_equal(err.message, "fc_0.w_0: expected 4, found 5");
        assert_int_equal(ask(&client, 999, 0, 0, NULL, 5000, NULL, &err), SKIFF_NOT_FOUND);
        assert_non_null(strstr(err.message, "has no method 999"));
        assert_non_null(strstr(err.message, "server 0"));
        client_stop(&client);
        counters_stop(&server);
    }
}

/* Encrypted, with a key derived from the secret. */
static void encrypted_links(void **state)
{
    struct counter_service server;
    struct client client;
    struct node_options so = test_options("tcp", SERVER(0), NULL);
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    so.transport.encrypt = co.transport.encrypt = HANDSHAKE_ON;
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ECHO, 0, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    co.secret = "another one";
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ECHO, 0, 0, number(1), 5000, NULL, NULL), SKIFF_INVALID);
    client_stop(&client);
    counters_stop(&server);
}

static void long_messages_in_parts(void **state)
{
    static const char *const kinds[] = {"tcp", "inproc"};
    struct fault_plan plan = {
        .seed = 5, .drop = 0.01, .twice = 0.02, .late = 0.05, .late_ms = {0, 5}};
    for (int k = 0; k < 4; k++) {
        struct counter_service server;
        struct client client;
        struct node_options so = test_options(kinds[k % 2], SERVER(0), k < 2 ? NULL : &plan);
        struct node_options co = test_options(kinds[k % 2], WORKER(0), k < 2 ? NULL : &plan);
        so.part_bytes = co.part_bytes = 10000;
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        client_start(&client, &co, server.address);
        for (size_t n = 9999; n < 2000000; n = n * 3 + 1) {
            size_t size = k < 2 || n < 200000 ? n : 200000;
            struct blob *b, *reply = NULL;
            assert_int_equal(blob_create(size, "test", &b, NULL), SKIFF_OK);
            for (size_t i = 0; i < size; i++)
                b->data[i] = (uint8_t)(i * 7 + i / 1000);
            blob_ref(b);
            struct skiff_error err;
            if (ask(&client, ECHO, 1, 0, b, 20000, &reply, &err) < 0)
                fail_msg("%s", err.message);
            assert_int_equal(blob_len(reply), size);
            assert_memory_equal(reply->data, b->data, size);
            blob_unref(b);
            blob_unref(reply);
        }
        client_stop(&client);
        counters_stop(&server);
    }
}

/* ---- exactly once ---- */

struct crowd {
    struct client client;
    int index, requests, window;
    uint64_t sum[COUNTERS]; /* the sum of its additions */
    char failure[1100];
};

static void *crowd_run(void *arg)
{
    struct crowd *me = arg;
    struct rpc_call *call[64] = {0};
    uint64_t rng = (uint64_t)me->index * 977 + 13;
    for (int i = 0; i < me->requests + me->window && !me->failure[0]; i++) {
        int slot = i % me->window;
        struct skiff_error err;
        struct blob *reply = NULL;
        if (call[slot] && rpc_wait(call[slot], &reply, &err) < 0)
            snprintf(me->failure, sizeof me->failure, "%s", err.message);
        blob_unref(reply);
        call[slot] = NULL;
        if (i >= me->requests)
            continue;
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        struct rpc_ask a = {.what = "add",
                            .method = ADD,
                            .key = (rng >> 33) % COUNTERS,
                            .body = number(rng >> 60),
                            .deadline = clock_now() + 60 * CLOCK_SECOND};
        me->sum[a.key] += rng >> 60;
        if (rpc_start(me->client.peer, &a, &call[slot], &err) < 0)
            snprintf(me->failure, sizeof me->failure, "%s", err.message);
        blob_unref(a.body);
    }
    return NULL;
}

static void run_crowd(const char *kind, const struct fault_plan *plan, int clients, int requests)
{
    static struct crowd crowd[8];
    struct counter_service server;
    struct node_options so = test_options(kind, SERVER(0), plan);
    pthread_t threads[8];
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    for (int i = 0; i < clients; i++) {
        struct fault_plan own = *plan;
        own.seed += (uint64_t)i + 1;
        struct node_options co = test_options(kind, WORKER((uint32_t)i), &own);
        crowd[i] = (struct crowd){.index = i, .requests = requests, .window = 48};
        client_start(&crowd[i].client, &co, server.address);
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd[i]), 0);
    }
    for (int i = 0; i < clients; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(crowd[i].failure, "");
    }
    for (uint64_t key = 0; key < COUNTERS; key++) {
        uint64_t expected = 0;
        for (int i = 0; i < clients; i++)
            expected += crowd[i].sum[key];
        assert_int_equal(read_counter(&crowd[0].client, key), expected);
    }
    assert_false(atomic_load(&server.two_owners));
    struct metrics *metrics = node_metrics(server.node);
    assert_true(metrics_value(metrics, METRIC_RPC_REQUESTS) >= (int64_t)clients * requests);
    assert_true(metrics_value(metrics, METRIC_RPC_DUPLICATES) > 0);
    struct metrics_snapshot now = {0};
    struct buf text = BUF_INIT;
    snapshot_add(&now, metrics);
    snapshot_text(&now, &text);
    printf("  %s: %s\n", kind, text.data);
    snapshot_deinit(&now);
    buf_deinit(&text);
    for (int i = 0; i < clients; i++)
        client_stop(&crowd[i].client);
    counters_stop(&server);
}

static void exactly_once_inproc(void **state)
{
    struct fault_plan plan = {
        .seed = 11, .drop = 0.08, .twice = 0.15, .corrupt = 0.02, .late = 0.2, .late_ms = {0, 15}};
    run_crowd("inproc", &plan, 4, 600);
}

static void exactly_once_tcp(void **state)
{
    struct fault_plan plan = {
        .seed = 21, .drop = 0.05, .twice = 0.15, .corrupt = 0.01, .late = 0.2, .late_ms = {0, 10}};
    run_crowd("tcp", &plan, 3, 700);
}

static void exactly_once_with_cuts(void **state)
{
    struct fault_plan plan = {.seed = 31,
                              .drop = 0.02,
                              .twice = 0.1,
                              .late = 0.1,
                              .late_ms = {0, 5},
                              .cut_every_ms = 120,
                              .cut_for_ms = 40};
    run_crowd("tcp", &plan, 2, 700);
}

/* Replies are dropped once the client has acknowledged them. */
static void kept_replies_go_away(void **state)
{
    struct counter_service server;
    struct client client;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    for (int i = 0; i < 20; i++) {
        struct blob *b;
        assert_int_equal(blob_create(1000, "test", &b, NULL), SKIFF_OK);
        memset(b->data, 1, 1000);
        assert_int_equal(ask(&client, ECHO, 0, 0, b, 5000, NULL, NULL), SKIFF_OK);
        assert_true(metrics_value(node_metrics(server.node), METRIC_RPC_KEPT_BYTES) <= 2000);
    }
    wait_until(metrics_value(node_metrics(server.node), METRIC_RPC_KEPT_BYTES) == 0);
    client_stop(&client);
    counters_stop(&server);
}

/* ---- deadlines ---- */

static void nobody_there(void **state)
{
    struct client client;
    struct skiff_error err;
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    client_start(&client, &co, "127.0.0.1:1");
    int64_t before = clock_now();
    assert_int_equal(rpc_await(client.peer, before + 300 * CLOCK_MS, &err), SKIFF_TIMEOUT);
    int64_t took = clock_now() - before;
    assert_true(took >= 300 * CLOCK_MS && took < 2000 * CLOCK_MS);
    assert_non_null(
        strstr(err.message, "first contact: no answer from server 0 (127.0.0.1:1) in 0.3 s"));
    assert_non_null(strstr(err.message, "no connection after"));
    client_stop(&client);
}

static void a_server_that_does_not_answer(void **state)
{
    struct counter_service server;
    struct client client;
    struct skiff_error err;
    struct node_options so = test_options("tcp", SERVER(0), NULL);
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, HANG, 0, 0, NULL, 400, NULL, &err), SKIFF_TIMEOUT);
    assert_non_null(strstr(err.message, "connected; it is still processing the request"));
    assert_non_null(strstr(err.message, server.address));
    /* the server notices that the client no longer waits, and its late answer does no harm */
    assert_int_equal(ask(&client, ECHO, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(hung_count(&server), 1);
    rpc_reply(server.hung[0], NULL);
    assert_int_equal(ask(&client, ECHO, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* An answer long after the request, over several PROBEs. */
static void a_late_answer(void **state)
{
    struct counter_service server;
    struct client client;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    struct rpc_ask a = {.what = "hang", .method = HANG, .deadline = clock_now() + 5 * CLOCK_SECOND};
    struct rpc_call *call;
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    wait_until(hung_count(&server) == 1);
    struct metrics *metrics = node_metrics(client.node);
    wait_until(metrics_value(metrics, METRIC_RPC_PROBES) > 1);
    assert_false(rpc_is_done(call));
    assert_int_equal(hung_count(&server), 1); /* asking again did not carry it out again */
    rpc_reply(server.hung[0], number(5));
    struct blob *reply = NULL;
    assert_int_equal(rpc_wait(call, &reply, NULL), SKIFF_OK);
    assert_int_equal(blob_len(reply), 1);
    blob_unref(reply);
    assert_int_equal(metrics_value(metrics, METRIC_RPC_RESENT), 0);
    assert_int_equal(metrics_value(metrics, METRIC_RPC_CALL_SECONDS),
                     metrics_value(metrics, METRIC_RPC_CALLS));
    client_stop(&client);
    counters_stop(&server);
}

/* More than the server can queue: it replies BUSY, and everything is carried out in the end. */
static void a_busy_server(void **state)
{
    struct counter_service server;
    struct client client;
    struct rpc_server_options small = {.shards = 1, .queue_bytes = 2500};
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", &small);
    client_start(&client, &co, server.address);
    struct rpc_call *call[16];
    struct blob *b;
    assert_int_equal(blob_create(1000, "test", &b, NULL), SKIFF_OK);
    memset(b->data, 0, 1000);
    for (int i = 0; i < 16; i++) {
        struct rpc_ask a = {
            .what = "slow", .method = SLOW, .body = b, .deadline = clock_now() + 20 * CLOCK_SECOND};
        assert_int_equal(rpc_start(client.peer, &a, &call[i], NULL), SKIFF_OK);
    }
    blob_unref(b);
    for (int i = 0; i < 16; i++)
        assert_int_equal(rpc_wait(call[i], NULL, NULL), SKIFF_OK);
    struct metrics *metrics = node_metrics(server.node);
    assert_int_equal(metrics_value(metrics, METRIC_RPC_REQUESTS), 16);
    assert_true(metrics_value(metrics, METRIC_RPC_BUSY) > 0);
    client_stop(&client);
    counters_stop(&server);
}

static atomic_int done_ok, done_failed;

static void count_done(void *arg, enum skiff_status status, struct blob *reply,
                       const struct skiff_error *err)
{
    if (status == SKIFF_OK)
        atomic_fetch_add(&done_ok, (int)blob_len(reply));
    else if (err->code == status && arg == &done_ok)
        atomic_fetch_add(&done_failed, 1);
}

static void callbacks(void **state)
{
    struct counter_service server;
    struct client client;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    atomic_store(&done_ok, 0);
    atomic_store(&done_failed, 0);
    struct rpc_ask a = {.what = "echo", .method = ECHO, .deadline = clock_now() + 5 * CLOCK_SECOND};
    a.body = number(7);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rpc_then(client.peer, &a, count_done, &done_ok, NULL), SKIFF_OK);
    blob_unref(a.body);
    a.body = NULL;
    a.method = FAIL;
    assert_int_equal(rpc_then(client.peer, &a, count_done, &done_ok, NULL), SKIFF_OK);
    wait_until(atomic_load(&done_ok) == 100 && atomic_load(&done_failed) == 1);
    a.method = HANG; /* and one that closing ends */
    assert_int_equal(rpc_then(client.peer, &a, count_done, &done_ok, NULL), SKIFF_OK);
    wait_until(hung_count(&server) == 1);
    client_stop(&client);
    assert_int_equal(atomic_load(&done_failed), 2);
    rpc_reply(server.hung[0], NULL);
    counters_stop(&server);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_errors),
        cmocka_unit_test(encrypted_links),
        cmocka_unit_test(long_messages_in_parts),
        cmocka_unit_test(exactly_once_inproc),
        cmocka_unit_test(exactly_once_tcp),
        cmocka_unit_test(exactly_once_with_cuts),
        cmocka_unit_test(kept_replies_go_away),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(a_server_that_does_not_answer),
        cmocka_unit_test(a_late_answer),
        cmocka_unit_test(a_busy_server),
        cmocka_unit_test(callbacks),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
