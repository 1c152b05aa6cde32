/* A test fixture for rpc: a server of counters and its clients. */
#ifndef NET_RPC_FIXTURE_TEST_H
#define NET_RPC_FIXTURE_TEST_H

#include "net/net_fixture_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"

enum { ADD = 1, READ, ECHO, HANG, FAIL, SLOW };

#define COUNTERS 64
#define SHARDS 3

/* ---- a server of counters: each belongs to the shard of its number, no locks ---- */

struct counter_service {
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

static inline void check_owner(struct counter_service *c, uint64_t key)
{
    if (c->owned[key] && !pthread_equal(c->owner[key], pthread_self()))
        atomic_store(&c->two_owners, true);
    c->owner[key] = pthread_self();
    c->owned[key] = true;
}

static inline void handle_add(void *self, struct rpc_request *q)
{
    struct counter_service *c = self;
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

static inline void handle_read(void *self, struct rpc_request *q)
{
    struct counter_service *c = self;
    check_owner(c, q->key);
    rpc_reply(q, test_block(&c->value[q->key], 8));
}

static inline void handle_echo(void *self, struct rpc_request *q)
{
    rpc_reply(q, blob_ref(q->body));
}

static inline void handle_hang(void *self, struct rpc_request *q)
{
    struct counter_service *c = self;
    pthread_mutex_lock(&c->hung_lock);
    c->hung[c->nhung++] = q;
    pthread_mutex_unlock(&c->hung_lock);
}

static inline int hung_count(struct counter_service *c)
{
    pthread_mutex_lock(&c->hung_lock);
    int n = c->nhung;
    pthread_mutex_unlock(&c->hung_lock);
    return n;
}

static inline void handle_fail(void *self, struct rpc_request *q)
{
    struct skiff_error err;
    error_set(&err, SKIFF_SHAPE, "fc_0.w_0: expected 4, found 5");
    rpc_fail(q, &err);
}

static inline void handle_slow(void *self, struct rpc_request *q)
{
    usleep(20000);
    rpc_reply(q, NULL);
}

static inline void counters_start(struct counter_service *c, const struct node_options *o,
                                  const char *address, const struct rpc_server_options *rpc_options)
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

static inline void counters_stop(struct counter_service *c)
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

static inline void client_start(struct client *c, const struct node_options *o, const char *address)
{
    struct rpc_client_options fast = {.retry_ms = 10, .retry_max_ms = 40};
    struct skiff_error err;
    c->node = test_node(o);
    c->rpc = rpc_client_create(c->node, &fast);
    if (rpc_connect(c->rpc, address, SERVER(0), &c->peer, &err) < 0)
        fail_msg("%s", err.message);
    test_start(c->node);
}

static inline void client_stop(struct client *c)
{
    node_stop(c->node);
    rpc_client_destroy(c->rpc);
    node_destroy(c->node);
}

static inline enum skiff_status ask(struct client *c, uint32_t method, uint64_t key, unsigned flags,
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

static inline struct blob *number(uint64_t n)
{
    struct wire_writer w;
    struct blob *b;
    writer_init(&w);
    writer_varint(&w, n);
    assert_int_equal(writer_finish(&w, &b, NULL), SKIFF_OK);
    return b;
}

static inline uint64_t read_counter(struct client *c, uint64_t key)
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

static inline int make_hub(void **state)
{
    test_hub = inproc_hub_create();
    return 0;
}

static inline int drop_hub(void **state)
{
    inproc_hub_destroy(test_hub);
    return 0;
}

#endif
