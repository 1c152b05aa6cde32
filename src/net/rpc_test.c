/* rpc over whole nodes: exactly once under faults, deadlines, restarts, refusals, strangers. */
#include "net/net_testing.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/log.h"

enum { ADD = 1, READ, ECHO, HANG, FAIL, SLOW };

#define COUNTERS 64
#define SHARDS 3

/* ---- a server of counters: each belongs to the shard of its number, no locks ---- */

struct counters {
    struct node *node;
    struct rpc_server *rpc;
    char address[ADDRESS_TEXT];
    uint64_t value[COUNTERS];
    pthread_t owner[COUNTERS];
    bool owned[COUNTERS];
    atomic_bool two_owners;
    pthread_mutex_t hung_lock;
    struct rpc_request *hung[16];
    int nhung;
};

static void check_owner(struct counters *c, uint64_t key)
{
    if (c->owned[key] && !pthread_equal(c->owner[key], pthread_self()))
        atomic_store(&c->two_owners, true);
    c->owner[key] = pthread_self();
    c->owned[key] = true;
}

static void handle_add(void *self, struct rpc_request *q)
{
    struct counters *c = self;
    struct wire_reader r;
    struct wire_writer w;
    struct skiff_error err;
    struct blob *reply;
    reader_init_block(&r, q->body);
    uint64_t n = reader_varint(&r);
    if (reader_end(&r, "add", &err) < 0 || q->key >= COUNTERS) {
        rpc_fail(q, &err);
        return;
    }
    check_owner(c, q->key);
    c->value[q->key] += n;
    writer_init(&w);
    writer_u64(&w, c->value[q->key]);
    assert_int_equal(writer_finish(&w, &reply, NULL), SKIFF_OK);
    rpc_reply(q, reply);
}

static void handle_read(void *self, struct rpc_request *q)
{
    struct counters *c = self;
    check_owner(c, q->key);
    rpc_reply(q, test_block(&c->value[q->key], 8));
}

static void handle_echo(void *self, struct rpc_request *q)
{
    rpc_reply(q, blob_ref(q->body));
}

static void handle_hang(void *self, struct rpc_request *q)
{
    struct counters *c = self;
    pthread_mutex_lock(&c->hung_lock);
    c->hung[c->nhung++] = q;
    pthread_mutex_unlock(&c->hung_lock);
}

static int hung_count(struct counters *c)
{
    pthread_mutex_lock(&c->hung_lock);
    int n = c->nhung;
    pthread_mutex_unlock(&c->hung_lock);
    return n;
}

static void handle_fail(void *self, struct rpc_request *q)
{
    struct skiff_error err;
    error_set(&err, SKIFF_SHAPE, "fc_0.w_0: expected 4, found 5");
    rpc_fail(q, &err);
}

static void handle_slow(void *self, struct rpc_request *q)
{
    usleep(20000);
    rpc_reply(q, NULL);
}

static void counters_start(struct counters *c, const struct node_options *o, const char *address,
                           const struct rpc_server_options *rpc_options)
{
    struct rpc_server_options shards = {.shards = SHARDS};
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->hung_lock, NULL);
    c->node = test_node(o);
    assert_int_equal(rpc_server_create(c->node, rpc_options ? rpc_options : &shards, &c->rpc, NULL),
                     SKIFF_OK);
    rpc_server_handle(c->rpc, ADD, RPC_ON_SHARD, handle_add, c);
    rpc_server_handle(c->rpc, READ, RPC_ON_SHARD, handle_read, c);
    rpc_server_handle(c->rpc, ECHO, RPC_ON_SHARD, handle_echo, c);
    rpc_server_handle(c->rpc, HANG, RPC_ON_SHARD, handle_hang, c);
    rpc_server_handle(c->rpc, FAIL, RPC_ON_NETWORK, handle_fail, c);
    rpc_server_handle(c->rpc, SLOW, RPC_ON_SHARD, handle_slow, c);
    test_listen(c->node, address, c->address);
    test_start(c->node);
}

static void counters_stop(struct counters *c)
{
    rpc_server_stop(c->rpc);
    node_stop(c->node);
    rpc_server_destroy(c->rpc);
    node_destroy(c->node);
    pthread_mutex_destroy(&c->hung_lock);
}

/* ---- a client ---- */

struct client {
    struct node *node;
    struct rpc_client *rpc;
    struct rpc_peer *peer;
};

static void client_start(struct client *c, const struct node_options *o, const char *address)
{
    struct rpc_client_options fast = {.retry_ms = 10, .retry_max_ms = 40};
    struct skiff_error err;
    c->node = test_node(o);
    c->rpc = rpc_client_create(c->node, &fast);
    if (rpc_connect(c->rpc, address, SERVER(0), &c->peer, &err) < 0)
        fail_msg("%s", err.message);
    test_start(c->node);
}

static void client_stop(struct client *c)
{
    node_stop(c->node);
    rpc_client_destroy(c->rpc);
    node_destroy(c->node);
}

static enum skiff_status ask(struct client *c, uint32_t method, uint64_t key, unsigned flags,
                             struct blob *body, int ms, struct blob **reply,
                             struct skiff_error *err)
{
    struct rpc_ask a = {.what = "a test",
                        .method = method,
                        .key = key,
                        .flags = flags,
                        .body = body,
                        .deadline = clock_now() + ms * CLOCK_MS};
    enum skiff_status status = rpc_ask(c->peer, &a, reply, err);
    blob_unref(body);
    return status;
}

static struct blob *number(uint64_t n)
{
    struct wire_writer w;
    struct blob *b;
    writer_init(&w);
    writer_varint(&w, n);
    assert_int_equal(writer_finish(&w, &b, NULL), SKIFF_OK);
    return b;
}

static uint64_t read_counter(struct client *c, uint64_t key)
{
    struct blob *reply = NULL;
    uint64_t v;
    struct skiff_error err;
    if (ask(c, READ, key, RPC_READ, NULL, 10000, &reply, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(blob_len(reply), 8);
    memcpy(&v, reply->data, 8);
    blob_unref(reply);
    return v;
}

/* ---- plain use ---- */

static void answers_and_errors(void **state)
{
    static const char *const kinds[] = {"zmq", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counters server;
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

/* Encrypted, with a key that comes from the secret. */
static void encrypted_links(void **state)
{
    struct counters server;
    struct client client;
    struct node_options so = test_options("zmq", SERVER(0), NULL);
    struct node_options co = test_options("zmq", WORKER(0), NULL);
    so.transport.encrypt = co.transport.encrypt = true;
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ECHO, 0, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    co.secret = "another one";
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ECHO, 0, 0, number(1), 300, NULL, NULL), SKIFF_TIMEOUT);
    client_stop(&client);
    counters_stop(&server);
}

static void long_messages_in_parts(void **state)
{
    static const char *const kinds[] = {"zmq", "inproc"};
    struct fault_plan plan = {
        .seed = 5, .drop = 0.01, .twice = 0.02, .late = 0.05, .late_ms = {0, 5}};
    for (int k = 0; k < 4; k++) {
        struct counters server;
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
    uint64_t sum[COUNTERS]; /* what it has added */
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
    struct counters server;
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
    struct rpc_server_counts counts;
    rpc_server_counts(server.rpc, &counts);
    assert_true(counts.requests >= (uint64_t)clients * (uint64_t)requests);
    assert_true(counts.duplicates > 0);
    printf("  %s: %llu requests, %llu duplicates, %llu stale\n", kind,
           (unsigned long long)counts.requests, (unsigned long long)counts.duplicates,
           (unsigned long long)counts.stale);
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

static void exactly_once_zmq(void **state)
{
    struct fault_plan plan = {
        .seed = 21, .drop = 0.05, .twice = 0.15, .corrupt = 0.01, .late = 0.2, .late_ms = {0, 10}};
    run_crowd("zmq", &plan, 3, 700);
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
    run_crowd("zmq", &plan, 2, 700);
}

/* Replies are dropped once the client has said that it has them. */
static void kept_replies_go_away(void **state)
{
    struct counters server;
    struct client client;
    struct rpc_server_counts counts;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    for (int i = 0; i < 20; i++) {
        struct blob *b;
        assert_int_equal(blob_create(1000, "test", &b, NULL), SKIFF_OK);
        memset(b->data, 1, 1000);
        assert_int_equal(ask(&client, ECHO, 0, 0, b, 5000, NULL, NULL), SKIFF_OK);
        rpc_server_counts(server.rpc, &counts);
        assert_true(counts.kept_bytes <= 2000);
    }
    wait_until((rpc_server_counts(server.rpc, &counts), counts.kept_bytes == 0));
    client_stop(&client);
    counters_stop(&server);
}

/* ---- deadlines ---- */

static void nobody_there(void **state)
{
    struct client client;
    struct skiff_error err;
    struct node_options co = test_options("zmq", WORKER(0), NULL);
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
    struct counters server;
    struct client client;
    struct skiff_error err;
    struct node_options so = test_options("zmq", SERVER(0), NULL);
    struct node_options co = test_options("zmq", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, HANG, 0, 0, NULL, 400, NULL, &err), SKIFF_TIMEOUT);
    assert_non_null(strstr(err.message, "connected, it is still at work on it"));
    assert_non_null(strstr(err.message, server.address));
    /* the server finds out that nobody waits any more, and its late answer does no harm */
    assert_int_equal(ask(&client, ECHO, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(hung_count(&server), 1);
    rpc_reply(server.hung[0], NULL);
    assert_int_equal(ask(&client, ECHO, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* An answer that comes long after the question, over several PROBEs. */
static void a_late_answer(void **state)
{
    struct counters server;
    struct client client;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    struct rpc_ask a = {.what = "hang", .method = HANG, .deadline = clock_now() + 5 * CLOCK_SECOND};
    struct rpc_call *call;
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    wait_until(hung_count(&server) == 1);
    usleep(100000);
    assert_false(rpc_is_done(call));
    assert_int_equal(hung_count(&server), 1); /* asking again did not carry it out again */
    rpc_reply(server.hung[0], number(5));
    struct blob *reply = NULL;
    assert_int_equal(rpc_wait(call, &reply, NULL), SKIFF_OK);
    assert_int_equal(blob_len(reply), 1);
    blob_unref(reply);
    struct rpc_client_counts counts;
    rpc_client_counts(client.rpc, &counts);
    assert_true(counts.probes > 0);
    assert_int_equal(counts.resent, 0);
    client_stop(&client);
    counters_stop(&server);
}

/* More than the server has room for: it says BUSY, and everything is carried out in the end. */
static void a_busy_server(void **state)
{
    struct counters server;
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
    struct rpc_server_counts counts;
    rpc_server_counts(server.rpc, &counts);
    assert_int_equal(counts.requests, 16);
    assert_true(counts.busy > 0);
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
    struct counters server;
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

/* ---- restarts ---- */

static void a_server_restarts(void **state)
{
    static const char *const kinds[] = {"zmq", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counters server;
        struct client client;
        struct skiff_error err;
        char address[ADDRESS_TEXT];
        struct node_options so = test_options(kinds[k], SERVER(0), NULL);
        struct node_options co = test_options(kinds[k], WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        strcpy(address, server.address);
        client_start(&client, &co, address);
        struct rpc_call *call;
        struct rpc_ask a = {
            .what = "hang", .method = HANG, .deadline = clock_now() + 10 * CLOCK_SECOND};
        assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
        wait_until(hung_count(&server) == 1);
        struct rpc_request *hung = server.hung[0];
        rpc_server_stop(server.rpc);
        node_stop(server.node);
        rpc_server_destroy(server.rpc); /* frees `hung`, which nobody will answer */
        node_destroy(server.node);
        (void)hung;
        so.incarnation = 0;
        counters_start(&server, &so, address, NULL);
        assert_int_equal(rpc_wait(call, NULL, &err), SKIFF_PEER);
        assert_non_null(strstr(err.message, "has restarted"));
        assert_non_null(strstr(err.message, address));
        assert_int_equal(read_counter(&client, 3), 0); /* and on it goes */
        client_stop(&client);
        counters_stop(&server);
    }
}

/* Declared dead by somebody who knows: calls end at once, until a new process answers. */
static void a_server_is_given_up(void **state)
{
    struct counters server;
    struct client client;
    struct skiff_error err, reason;
    char address[ADDRESS_TEXT];
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    strcpy(address, server.address);
    client_start(&client, &co, address);
    struct rpc_ask a = {.what = "hang", .method = HANG, .deadline = clock_now() + 9 * CLOCK_SECOND};
    struct rpc_call *call;
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    wait_until(hung_count(&server) == 1);
    error_set(&reason, SKIFF_PEER, "server 0 is dead");
    rpc_give_up(client.peer, &reason);
    assert_int_equal(rpc_wait(call, NULL, &err), SKIFF_PEER);
    assert_string_equal(err.message, "server 0 is dead");
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, &err), SKIFF_PEER);
    rpc_reply(server.hung[0], NULL);
    counters_stop(&server);
    counters_start(&server, &so, address, NULL);
    wait_until(ask(&client, ADD, 1, 0, number(1), 5000, NULL, &err) == SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* A read that is under way when the server restarts is simply asked again. */
static void a_read_survives_a_restart(void **state)
{
    struct counters server;
    struct client client;
    char address[ADDRESS_TEXT];
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    strcpy(address, server.address);
    client_start(&client, &co, address);
    assert_int_equal(read_counter(&client, 1), 0);
    counters_stop(&server);
    struct rpc_call *call;
    struct rpc_ask a = {.what = "read",
                        .method = READ,
                        .flags = RPC_READ,
                        .deadline = clock_now() + 10 * CLOCK_SECOND};
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    usleep(30000);
    counters_start(&server, &so, address, NULL);
    assert_int_equal(rpc_wait(call, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* ---- who may come in ---- */

static void expect_refusal(struct node_options *co, const char *address, const char *first,
                           const char *second)
{
    struct client client;
    struct skiff_error err;
    client_start(&client, co, address);
    int64_t before = clock_now();
    assert_true(rpc_await(client.peer, before + 10 * CLOCK_SECOND, &err) < 0);
    assert_true(clock_now() - before < 3 * CLOCK_SECOND);
    if (!strstr(err.message, first) || !strstr(err.message, second))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, first, second);
    /* and the next one fails at once */
    before = clock_now();
    assert_true(rpc_await(client.peer, before + 10 * CLOCK_SECOND, &err) < 0);
    assert_true(clock_now() - before < CLOCK_SECOND);
    client_stop(&client);
}

static void refusals(void **state)
{
    static const char *const kinds[] = {"zmq", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counters server;
        struct node_counts counts;
        struct node_options so = test_options(kinds[k], SERVER(0), NULL), co;
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        co = test_options(kinds[k], WORKER(1), NULL);
        co.secret = "open barley";
        expect_refusal(&co, server.address, "do not have the same secret", "server 0");
        co = test_options(kinds[k], WORKER(1), NULL);
        co.job = "another";
        expect_refusal(&co, server.address, "worker 1", "belongs to job 'another'");
        wait_until((node_counts(server.node, &counts), counts.other_secret == 1));
        assert_true(counts.other_job >= 1);
        counters_stop(&server);
        so.id = SERVER(1);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        co = test_options(kinds[k], WORKER(1), NULL);
        expect_refusal(&co, server.address, "is server 1; expected server 0 there", server.address);
        counters_stop(&server);
    }
}

struct fence_order {
    struct counters *server;
    struct net_id id;
    uint64_t incarnation;
};

static void fence_now(void *arg)
{
    struct fence_order *o = arg;
    struct skiff_error err;
    error_set(&err, SKIFF_STATE, "you were declared dead");
    rpc_server_fence(o->server->rpc, o->id, o->incarnation, &err);
}

static void fenced_incarnations(void **state)
{
    struct counters server;
    struct client old, young;
    struct skiff_error err;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&old, &co, server.address);
    assert_int_equal(ask(&old, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    struct fence_order order = {&server, WORKER(0), node_self(old.node)->incarnation};
    node_run(server.node, fence_now, &order);
    assert_int_equal(ask(&old, ADD, 1, 0, number(1), 5000, NULL, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "declared dead"));
    client_start(&young, &co, server.address);
    assert_int_equal(ask(&young, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(read_counter(&young, 1), 2);
    client_stop(&old);
    client_stop(&young);
    counters_stop(&server);
}

/* Talks whatever it likes to an address, over a bare socket. */
static int talk(const char *address, const void *bytes, size_t n)
{
    struct address a;
    struct sockaddr_in to = {.sin_family = AF_INET};
    assert_int_equal(address_parse(address, &a, NULL), SKIFF_OK);
    to.sin_port = htons(a.port);
    inet_pton(AF_INET, a.host, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    assert_true(sent >= 0 || n == 0);
    return fd;
}

/* Sends packets that no node would, through a transport of its own. */
static void send_packets(const char *address, int n)
{
    struct transport_options o = {.linger_ms = 100};
    struct transport *t;
    transport_peer peer, from;
    assert_int_equal(transport_find("zmq")->open(&o, &t, NULL), SKIFF_OK);
    assert_int_equal(t->kind->connect(t, address, &peer, NULL), SKIFF_OK);
    for (int i = 0; i < n; i++) {
        struct packet p = {.head_len = WIRE_HEAD}, got;
        struct wire_head h = {.type = WIRE_REQUEST, .sender = WORKER(0), .method = ADD, .parts = 1};
        h.job = i % 2 ? wire_hash((const uint8_t *)"test", 4) : 1;
        wire_head_encode(&h, wire_hash(NULL, 0), p.head);
        if (i % 4 == 2)
            p.head[20] ^= 1;
        if (i % 4 == 3)
            memset(p.head, i, sizeof p.head);
        if (i % 16 == 5)
            p.head[4] = 9; /* version */
        int64_t end = clock_now() + 5 * CLOCK_SECOND;
        while (t->kind->send(t, peer, &p) != TRANSPORT_SENT && clock_now() < end)
            if (t->kind->receive(t, clock_now() + CLOCK_MS, &from, &got, NULL) == SKIFF_OK)
                packet_deinit(&got);
    }
    t->kind->close(t);
}

static void strangers_do_no_harm(void **state)
{
    struct counters server;
    struct client client;
    struct node_counts counts;
    struct node_options so = test_options("zmq", SERVER(0), NULL);
    struct node_options co = test_options("zmq", WORKER(0), NULL);
    so.hello_ms = 100;
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    int fds[12];
    char junk[4096];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)(i * 37);
    for (int i = 0; i < 12; i++)
        fds[i] = i % 3 == 0   ? talk(server.address, "GET / HTTP/1.1\r\n\r\n", 18)
                 : i % 3 == 1 ? talk(server.address, junk, sizeof junk)
                              : talk(server.address, "", 0); /* says nothing at all */
    send_packets(server.address, 64);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(read_counter(&client, 1), 21);
    wait_until((node_counts(server.node, &counts), counts.strangers > 0));
    assert_true(counts.nonsense > 0);
    assert_true(counts.corrupt > 0);
    assert_true(counts.unknown > 0);
    assert_true(counts.other_job > 0);
    assert_true(counts.other_version > 0);
    assert_int_equal(counts.links_up, 1);
    for (int i = 0; i < 12; i++)
        close(fds[i]);
    client_stop(&client);
    counters_stop(&server);
}

/* ---- processes ---- */

static void server_process(int out)
{
    struct counters server;
    struct node_options so = test_options("zmq", SERVER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    if (write(out, server.address, sizeof server.address) != sizeof server.address)
        _exit(1);
    for (;;)
        pause();
}

static void a_killed_server(void **state)
{
    int pipe_fds[2];
    char address[ADDRESS_TEXT];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0)
        server_process(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], address, sizeof address), sizeof address);
    struct client client;
    struct skiff_error err;
    struct node_options co = test_options("zmq", WORKER(0), NULL);
    client_start(&client, &co, address);
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    int64_t before = clock_now();
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 400, NULL, &err), SKIFF_TIMEOUT);
    assert_true(clock_now() - before < 2 * CLOCK_SECOND);
    assert_non_null(strstr(err.message, "no answer from server 0"));
    assert_non_null(strstr(err.message, address));
    client_stop(&client);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void nothing_is_left(void **state)
{
    int fds = 0, threads = 0;
    for (int i = 0; i < 3; i++) {
        struct counters server;
        struct client client;
        struct node_options so = test_options("zmq", SERVER(0), NULL);
        struct node_options co = test_options("zmq", WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        client_start(&client, &co, server.address);
        assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
        client_stop(&client);
        counters_stop(&server);
        if (i == 0) {
            fds = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

static int make_hub(void **state)
{
    test_hub = inproc_hub_create();
    return 0;
}

static int drop_hub(void **state)
{
    inproc_hub_destroy(test_hub);
    return 0;
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_server), /* first: forks while there is one thread */
        cmocka_unit_test(answers_and_errors),
        cmocka_unit_test(encrypted_links),
        cmocka_unit_test(long_messages_in_parts),
        cmocka_unit_test(exactly_once_inproc),
        cmocka_unit_test(exactly_once_zmq),
        cmocka_unit_test(exactly_once_with_cuts),
        cmocka_unit_test(kept_replies_go_away),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(a_server_that_does_not_answer),
        cmocka_unit_test(a_late_answer),
        cmocka_unit_test(a_busy_server),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(a_server_restarts),
        cmocka_unit_test(a_server_is_given_up),
        cmocka_unit_test(a_read_survives_a_restart),
        cmocka_unit_test(refusals),
        cmocka_unit_test(fenced_incarnations),
        cmocka_unit_test(strangers_do_no_harm),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
