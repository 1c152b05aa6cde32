/* The server's side of rpc.h. Sessions, one per (sender, incarnation), belong to the network
 * thread. A session's ring holds its requests from their arrival until the client's ack has passed
 * them: first in progress (in a shard, or deferred by a handler), then finished, with the reply.
 * Sessions themselves are never dropped: they are small, and they distinguish a late duplicate from
 * a new request.
 *
 * The path of a request: network thread -> queue of its shard -> handler -> rpc_reply -> task on
 * the network thread -> frame. */
#include "net/rpc.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/seq_ring.h"
#include "net/spsc.h"

#define SESSION_WINDOW (2 * (uint64_t)RPC_OUTSTANDING_MAX)
#define SHARD_CAPACITY 8192
#define HANDLERS_MAX 64

struct rpc_session {
    struct rpc_session *next;
    struct net_id id;
    uint64_t incarnation;
    struct link *link; /* NULL: down */
    struct seq_ring ring;
    bool fenced;
    struct skiff_error reason;
};

enum request_state { REQUEST_WORKING, REQUEST_DONE, REQUEST_REPLY_GONE };

/* The part that the handler sees, and the server's own part. */
struct request {
    struct rpc_request pub; /* first */
    struct node_task task;
    struct rpc_session *session;
    uint64_t seq;
    enum request_state state;
    bool read, abandoned, failed;
    rpc_handler handler;
    void *self;
    struct blob *reply;
    struct request *kept_next, **kept_at; /* list of kept replies, oldest first */
    struct request *live_next, **live_at; /* list of all */
};

struct rpc_shard {
    struct rpc_server *server;
    struct thread thread;
    struct spsc queue;
};

struct handler {
    uint32_t method;
    enum rpc_where where;
    rpc_handler call;
    void *self;
};

struct rpc_server {
    struct node *node;
    struct rpc_shard *shards;
    int nshards, running;
    struct handler handler[HANDLERS_MAX];
    size_t nhandlers;
    struct rpc_session *sessions;
    struct request *live;
    struct request *kept, **kept_end;
    size_t queue_limit, keep_limit;
    size_t kept_bytes; /* of replies; network thread */
    atomic_size_t queued;
    atomic_bool stopping;
    struct metric *requests, *duplicates, *stale, *busy, *kept_gauge;
};

/* ---- requests ---- */

static struct request *request_create(struct rpc_server *server, struct rpc_session *s,
                                      const struct wire_head *head, struct blob *body)
{
    struct request *q = mem_alloc_or_die(sizeof *q);
    q->pub = (struct rpc_request){.server = server,
                                  .sender = s->id,
                                  .incarnation = s->incarnation,
                                  .method = head->method,
                                  .key = head->key,
                                  .shard = (int)(head->key % (uint64_t)server->nshards),
                                  .body = blob_ref(body)};
    q->session = s;
    q->seq = head->sequence;
    q->read = head->flags & WIRE_READ;
    q->live_next = server->live;
    q->live_at = &server->live;
    if (q->live_next)
        q->live_next->live_at = &q->live_next;
    server->live = q;
    return q;
}

/* Drops the kept reply. */
static void request_forget(struct rpc_server *server, struct request *q)
{
    if (q->kept_at) {
        *q->kept_at = q->kept_next;
        if (q->kept_next)
            q->kept_next->kept_at = q->kept_at;
        else
            server->kept_end = q->kept_at;
        q->kept_at = NULL;
        server->kept_bytes -= blob_len(q->reply);
        metric_set(server->kept_gauge, (int64_t)server->kept_bytes);
    }
    blob_unref(q->reply);
    q->reply = NULL;
}

static void request_destroy(struct rpc_server *server, struct request *q)
{
    request_forget(server, q);
    blob_unref(q->pub.body);
    *q->live_at = q->live_next;
    if (q->live_next)
        q->live_next->live_at = q->live_at;
    free(q);
}

/* Keeps the reply; over the limit the oldest ones are dropped. */
static void request_keep(struct rpc_server *server, struct request *q)
{
    q->kept_next = NULL;
    q->kept_at = server->kept_end;
    *server->kept_end = q;
    server->kept_end = &q->kept_next;
    server->kept_bytes += blob_len(q->reply);
    metric_set(server->kept_gauge, (int64_t)server->kept_bytes);
    while (server->kept_bytes > server->keep_limit && server->kept != q) {
        struct request *oldest = server->kept;
        request_forget(server, oldest);
        oldest->state = REQUEST_REPLY_GONE;
    }
}

/* ---- answers ---- */

static bool answer(struct rpc_session *s, enum wire_type type, uint64_t seq, uint8_t flags,
                   struct blob *body)
{
    struct wire_head h = {.type = type, .flags = flags, .sequence = seq};
    return s->link && node_send(s->link, &h, body);
}

static struct blob *error_block(const struct skiff_error *reason)
{
    struct wire_writer w;
    struct blob *b = NULL;
    writer_init(&w);
    writer_error(&w, reason);
    writer_finish(&w, &b, NULL); /* without memory for it the error is an empty one */
    return b;
}

/* Network thread: the handler has answered. */
static void request_finish(struct node_task *task)
{
    struct request *q = (struct request *)((char *)task - offsetof(struct request, task));
    struct rpc_server *server = q->pub.server;
    struct rpc_session *s = q->session;
    blob_unref(q->pub.body);
    q->pub.body = NULL;
    q->state = REQUEST_DONE;
    if (q->abandoned) {
        request_destroy(server, q);
        return;
    }
    answer(s, WIRE_REPLY, q->seq, q->failed ? WIRE_ERROR : 0, q->reply);
    if (q->read) {
        seq_ring_put(&s->ring, q->seq, NULL);
        request_destroy(server, q);
    } else {
        request_keep(server, q);
    }
}

void rpc_reply(struct rpc_request *request, struct blob *reply)
{
    struct request *q = (struct request *)request;
    q->reply = reply;
    q->task.run = request_finish;
    node_post(q->pub.server->node, &q->task);
}

void rpc_fail(struct rpc_request *request, const struct skiff_error *reason)
{
    ((struct request *)request)->failed = true;
    rpc_reply(request, error_block(reason));
}

/* ---- shards ---- */

static void *shard_loop(void *arg)
{
    struct rpc_shard *shard = arg;
    struct request *q;
    while ((q = spsc_pop(&shard->queue))) {
        atomic_fetch_sub(&shard->server->queued, blob_len(q->pub.body));
        q->handler(q->self, &q->pub);
    }
    return NULL;
}

static const struct handler *find_handler(const struct rpc_server *server, uint32_t method)
{
    for (size_t i = 0; i < server->nhandlers; i++)
        if (server->handler[i].method == method)
            return &server->handler[i];
    return NULL;
}

static void refuse_method(struct rpc_server *server, struct rpc_session *s,
                          const struct wire_head *head)
{
    struct skiff_error err;
    error_set(&err, SKIFF_NOT_FOUND, "%s has no method %u", node_self(server->node)->name,
              head->method);
    struct blob *b = error_block(&err);
    answer(s, WIRE_REPLY, head->sequence, WIRE_ERROR, b);
    blob_unref(b);
}

/* A new request: passes it to its handler, or refuses it without keeping any state. */
static void dispatch(struct rpc_server *server, struct rpc_session *s, const struct wire_head *head,
                     struct blob *body)
{
    const struct handler *h = find_handler(server, head->method);
    if (!h) {
        refuse_method(server, s, head);
        return;
    }
    bool full = atomic_load(&server->queued) + blob_len(body) > server->queue_limit &&
                atomic_load(&server->queued) > 0;
    if (atomic_load(&server->stopping) || (h->where == RPC_ON_SHARD && full)) {
        metric_add(server->busy, 1);
        answer(s, WIRE_BUSY, head->sequence, 0, NULL);
        return;
    }
    struct request *q = request_create(server, s, head, body);
    q->handler = h->call;
    q->self = h->self;
    seq_ring_put(&s->ring, q->seq, q);
    if (h->where == RPC_ON_NETWORK) {
        metric_add(server->requests, 1);
        q->pub.link = s->link;
        h->call(h->self, &q->pub);
        return;
    }
    atomic_fetch_add(&server->queued, blob_len(body));
    if (spsc_push(&server->shards[q->pub.shard].queue, q)) {
        metric_add(server->requests, 1);
        return;
    }
    atomic_fetch_sub(&server->queued, blob_len(body));
    seq_ring_put(&s->ring, q->seq, NULL);
    request_destroy(server, q);
    metric_add(server->busy, 1);
    answer(s, WIRE_BUSY, head->sequence, 0, NULL);
}

/* ---- callbacks of the node ---- */

static struct rpc_session *session_find(struct rpc_server *server, struct net_id id,
                                        uint64_t incarnation)
{
    for (struct rpc_session *s = server->sessions; s; s = s->next)
        if (net_id_equal(s->id, id) && s->incarnation == incarnation)
            return s;
    return NULL;
}

static struct rpc_session *session_get(struct rpc_server *server, struct net_id id,
                                       uint64_t incarnation)
{
    struct rpc_session *s = session_find(server, id, incarnation);
    if (s)
        return s;
    s = mem_alloc_or_die(sizeof *s);
    s->id = id;
    s->incarnation = incarnation;
    s->ring.low = s->ring.next = 1;
    s->next = server->sessions;
    server->sessions = s;
    return s;
}

static enum skiff_status on_admit(void *self, const struct hello_side *peer,
                                  struct skiff_error *err)
{
    struct rpc_session *s = session_find(self, peer->id, peer->incarnation);
    if (!s || !s->fenced)
        return SKIFF_OK;
    return error_set(err, s->reason.code, "%s", s->reason.message);
}

static void on_link_up(void *self, struct link *link)
{
    if (link->outgoing)
        return;
    struct rpc_session *s = session_get(self, link->peer.id, link->peer.incarnation);
    s->link = link;
    link->user = s;
}

static void on_link_down(void *self, struct link *link)
{
    struct rpc_session *s = link->user;
    if (!link->outgoing && s && s->link == link)
        s->link = NULL;
}

/* The client has received everything below ack. */
static void session_ack(struct rpc_server *server, struct rpc_session *s, uint64_t ack)
{
    struct seq_ring *ring = &s->ring;
    if (ack <= ring->low || ack - ring->low > SESSION_WINDOW) {
        if (ack > ring->low && ring->low == ring->next)
            seq_ring_advance(ring, ack); /* a client that this server has not met before */
        return;
    }
    for (uint64_t seq = ring->low; seq < ack && seq < ring->next; seq++) {
        struct request *q = seq_ring_get(ring, seq);
        if (!q)
            continue;
        ring->slot[seq & ring->mask] = NULL;
        if (q->state == REQUEST_WORKING)
            q->abandoned = true; /* the client's deadline has passed */
        else
            request_destroy(server, q);
    }
    seq_ring_advance(ring, ack);
}

/* A request, or a probe for one, that is known. */
static void answer_known(struct rpc_server *server, struct rpc_session *s, struct request *q)
{
    struct skiff_error err;
    switch (q->state) {
    case REQUEST_WORKING:
        answer(s, WIRE_WORKING, q->seq, 0, NULL);
        break;
    case REQUEST_DONE:
        answer(s, WIRE_REPLY, q->seq, q->failed ? WIRE_ERROR : 0, q->reply);
        break;
    case REQUEST_REPLY_GONE:
        error_set(&err, SKIFF_STATE,
                  "%s has carried out the request, but has dropped the reply, which was kept for "
                  "too long",
                  node_self(server->node)->name);
        struct blob *b = error_block(&err);
        answer(s, WIRE_REPLY, q->seq, WIRE_ERROR, b);
        blob_unref(b);
        break;
    }
}

static void on_frame(void *self, struct link *link, const struct wire_head *head, struct blob *body)
{
    struct rpc_server *server = self;
    struct rpc_session *s = link->user;
    if (link->outgoing || !s || s->fenced)
        return;
    session_ack(server, s, head->ack);
    if (head->type == WIRE_ACK)
        return;
    if (head->sequence < s->ring.low || head->sequence - s->ring.low >= SESSION_WINDOW) {
        metric_add(server->stale, 1);
        return;
    }
    struct request *q = seq_ring_get(&s->ring, head->sequence);
    if (q) {
        if (head->type == WIRE_REQUEST)
            metric_add(server->duplicates, 1);
        answer_known(server, s, q);
    } else if (head->type == WIRE_PROBE) {
        answer(s, WIRE_UNKNOWN, head->sequence, 0, NULL);
    } else {
        dispatch(server, s, head, body);
    }
}

static const struct node_service server_service = {
    .types = 1u << WIRE_REQUEST | 1u << WIRE_PROBE | 1u << WIRE_ACK,
    .admit = on_admit,
    .link_up = on_link_up,
    .link_down = on_link_down,
    .frame = on_frame,
};

void rpc_server_fence(struct rpc_server *server, struct net_id id, uint64_t incarnation,
                      const struct skiff_error *reason)
{
    struct rpc_session *s = session_get(server, id, incarnation);
    s->fenced = true;
    s->reason = *reason;
    if (s->link)
        node_drop(s->link);
}

/* ---- lifecycle ---- */

static void answer_ping(void *self, struct rpc_request *request)
{
    rpc_reply(request, NULL);
}

static void name_counts(struct rpc_server *server, struct metrics *m)
{
    server->requests = metrics_get(m, METRIC_RPC_REQUESTS);
    server->duplicates = metrics_get(m, METRIC_RPC_DUPLICATES);
    server->stale = metrics_get(m, METRIC_RPC_STALE);
    server->busy = metrics_get(m, METRIC_RPC_BUSY);
    server->kept_gauge = metrics_get(m, METRIC_RPC_KEPT_BYTES);
}

enum skiff_status rpc_server_create(struct node *node, const struct rpc_server_options *options,
                                    struct rpc_server **out, struct skiff_error *err)
{
    struct rpc_server *server = mem_alloc_or_die(sizeof *server);
    server->node = node;
    server->nshards = options && options->shards > 0 ? options->shards : 1;
    server->queue_limit = options && options->queue_bytes ? options->queue_bytes : (size_t)1 << 30;
    server->keep_limit = options && options->keep_bytes ? options->keep_bytes : (size_t)1 << 30;
    server->kept_end = &server->kept;
    name_counts(server, node_metrics(node));
    server->shards = mem_alloc_or_die((size_t)server->nshards * sizeof *server->shards);
    for (int i = 0; i < server->nshards; i++) {
        struct rpc_shard *shard = &server->shards[i];
        shard->server = server;
        spsc_init(&shard->queue, SHARD_CAPACITY);
        enum skiff_status status = thread_start(&shard->thread, "shard", i, shard_loop, shard, err);
        if (status < 0) {
            spsc_deinit(&shard->queue);
            rpc_server_destroy(server);
            return status;
        }
        server->running++;
    }
    rpc_server_handle(server, RPC_METHOD_PING, RPC_ON_NETWORK, answer_ping, NULL);
    node_attach(node, &server_service, server);
    *out = server;
    return SKIFF_OK;
}

void rpc_server_handle(struct rpc_server *server, uint32_t method, enum rpc_where where,
                       rpc_handler handler, void *self)
{
    if (server->nhandlers == HANDLERS_MAX || find_handler(server, method))
        abort();
    server->handler[server->nhandlers++] = (struct handler){method, where, handler, self};
}

/* Network thread: nothing is pushed to the shards' queues from now on. */
static void stop_taking(void *arg)
{
    struct rpc_server *server = arg;
    atomic_store(&server->stopping, true);
}

void rpc_server_stop(struct rpc_server *server)
{
    if (server->running)
        node_run(server->node, stop_taking, server);
    for (int i = 0; i < server->running; i++) {
        struct rpc_shard *shard = &server->shards[i];
        while (!spsc_push(&shard->queue, NULL)) /* this thread is the producer now */
            sched_yield();
        thread_join(&shard->thread);
        spsc_deinit(&shard->queue);
    }
    server->running = 0;
}

void rpc_server_destroy(struct rpc_server *server)
{
    if (!server)
        return;
    rpc_server_stop(server);
    while (server->live)
        request_destroy(server, server->live);
    while (server->sessions) {
        struct rpc_session *s = server->sessions;
        server->sessions = s->next;
        seq_ring_deinit(&s->ring);
        free(s);
    }
    free(server->shards);
    free(server);
}
