/* The client's side of rpc.h. Everything but the end of a call belongs to the network thread: calls
 * arrive as tasks, get their sequence number there, and stay in the peer's ring until they end.
 *
 * Retries: a request is sent once; if no reply arrives, a PROBE asks for its state, and only the
 * server's UNKNOWN makes the client send it again. So a slow server or a long message never causes
 * the bytes to be sent twice. */
#include "net/rpc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/seq_ring.h"

#define ACK_AFTER (100 * CLOCK_MS) /* a quiet client still acknowledges replies */

struct rpc_peer {
    struct rpc_client *client;
    struct rpc_peer *next;
    struct link *link;
    struct seq_ring ring; /* calls */
    atomic_uint outstanding;
    uint64_t acked; /* the last ack sent */
    int64_t transcript;
    uint64_t incarnation; /* of the server; 0: never seen */
    bool refused;         /* by the other side, or given up by this one */
    struct skiff_error refusal;
};

struct rpc_call {
    struct node_task task; /* first */
    struct rpc_peer *peer;
    const char *what;
    uint32_t method;
    uint64_t key, seq;
    unsigned flags;
    struct blob *body;
    int64_t started, deadline, retry_at, retry_wait;
    unsigned probes;
    bool sent;            /* the request went out since the link came up */
    bool ever;            /* the request was sent at all */
    bool has_it;          /* the server answered WORKING */
    uint64_t incarnation; /* incarnation of the server to which it was sent last */
    rpc_done done;
    void *arg;

    /* the end: the waiter's side */
    atomic_uint refs;
    pthread_mutex_t lock; /* guards the rest; a leaf */
    pthread_cond_t ended_cond;
    bool ended;
    enum skiff_status status;
    struct blob *reply;
    struct skiff_error err;
};

struct rpc_client {
    struct node *node;
    struct rpc_peer *peers;
    pthread_mutex_t lock; /* guards peers; a leaf */
    int64_t retry_first, retry_last, next_scan;
    struct metric *calls, *took, *probes, *resent, *timeouts;
};

/* ---- the end of a call ---- */

static void call_unref(struct rpc_call *call)
{
    if (atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    blob_unref(call->body);
    blob_unref(call->reply);
    pthread_cond_destroy(&call->ended_cond);
    pthread_mutex_destroy(&call->lock);
    free(call);
}

/* Takes the call out of the ring and wakes the waiter or calls the callback. reply is borrowed. */
static void call_end(struct rpc_call *call, enum skiff_status status, struct blob *reply,
                     const struct skiff_error *err)
{
    struct rpc_peer *peer = call->peer;
    struct seq_ring *ring = &peer->ring;
    if (seq_ring_get(ring, call->seq) == call) {
        seq_ring_put(ring, call->seq, NULL);
        while (ring->low < ring->next && !ring->slot[ring->low & ring->mask])
            seq_ring_advance(ring, ring->low + 1);
    }
    atomic_fetch_sub(&peer->outstanding, 1);
    if (call->done) {
        call->done(call->arg, status, reply, err);
    } else {
        pthread_mutex_lock(&call->lock);
        call->ended = true;
        call->status = status;
        call->reply = blob_ref(reply);
        if (status < 0)
            call->err = *err;
        pthread_cond_signal(&call->ended_cond);
        pthread_mutex_unlock(&call->lock);
    }
    call_unref(call);
}

/* "server 0 (127.0.0.1:6170)" */
static void peer_text(const struct rpc_peer *peer, char *out, size_t capacity)
{
    snprintf(out, capacity, "%s (%s)", peer->link->peer.name, peer->link->address);
}

static void call_time_out(struct rpc_call *call, int64_t now)
{
    struct rpc_peer *peer = call->peer;
    struct skiff_error err;
    char who[512], state[128], heard[64] = "";
    peer_text(peer, who, sizeof who);
    node_describe(peer->link, state, sizeof state);
    if (peer->link->heard)
        snprintf(heard, sizeof heard, ", last heard from %.1f s ago",
                 (double)(now - peer->link->heard) / 1e9);
    error_set(&err, SKIFF_TIMEOUT, "%s: no answer from %s in %.1f s: %s%s%s", call->what, who,
              (double)(now - call->started) / 1e9, state,
              call->has_it ? "; it is still processing the request" : "", heard);
    metric_add(peer->client->timeouts, 1);
    call_end(call, SKIFF_TIMEOUT, NULL, &err);
}

/* ---- sending ---- */

static bool send_frame(struct rpc_call *call, enum wire_type type)
{
    struct rpc_peer *peer = call->peer;
    struct wire_head h = {.type = type,
                          .flags = call->flags & RPC_READ ? WIRE_READ : 0,
                          .method = call->method,
                          .sequence = call->seq,
                          .ack = peer->ring.low,
                          .key = call->key};
    if (!node_send(peer->link, &h, type == WIRE_REQUEST ? call->body : NULL))
        return false;
    peer->acked = h.ack;
    peer->transcript = clock_now();
    return true;
}

static void wake_scan(struct rpc_client *client, int64_t at)
{
    client->next_scan = clock_min(client->next_scan, at);
}

static void call_send(struct rpc_call *call, int64_t now)
{
    struct rpc_client *client = call->peer->client;
    if (call->ever)
        metric_add(client->resent, 1);
    if (send_frame(call, WIRE_REQUEST)) {
        call->sent = call->ever = true;
        call->incarnation = call->peer->incarnation;
    }
    call->retry_at = now + call->retry_wait;
    wake_scan(client, clock_min(call->retry_at, call->deadline));
}

static void call_begin(struct node_task *task)
{
    struct rpc_call *call = (struct rpc_call *)task;
    struct rpc_peer *peer = call->peer;
    call->seq = peer->ring.next;
    if (peer->refused) {
        call_end(call, peer->refusal.code, NULL, &peer->refusal);
        return;
    }
    seq_ring_put(&peer->ring, call->seq, call);
    metric_add(peer->client->calls, 1);
    call_send(call, clock_now());
}

/* No reply yet, and the pause is over. */
static void call_retry(struct rpc_call *call, int64_t now)
{
    struct rpc_client *client = call->peer->client;
    if (!call->peer->link->up) {
        call->retry_at = CLOCK_NEVER; /* link_up starts again */
        return;
    }
    if (!call->sent) {
        call_send(call, now);
    } else if (node_backlog(call->peer->link) > 0) {
        call->retry_at = now + call->retry_wait; /* it is still in the send queue */
        return;
    } else {
        send_frame(call, WIRE_PROBE);
        call->probes++;
        metric_add(client->probes, 1);
    }
    call->retry_wait = clock_min(2 * call->retry_wait, client->retry_last);
    call->retry_at = now + call->retry_wait;
}

/* ---- callbacks of the node ---- */

/* The server is another process than the one to which the call was sent. */
static void call_restart(struct rpc_call *call)
{
    struct skiff_error err;
    char who[512];
    if (!call->ever || call->incarnation == call->peer->incarnation ||
        (call->flags & (RPC_READ | RPC_ANY_INCARNATION)))
        return;
    peer_text(call->peer, who, sizeof who);
    error_set(&err, SKIFF_PEER,
              "%s: %s has restarted; it is unknown whether it had carried out the request",
              call->what, who);
    call_end(call, SKIFF_PEER, NULL, &err);
}

static void on_link_up(void *self, struct link *link)
{
    struct rpc_peer *peer = link->user;
    if (!link->outgoing)
        return;
    int64_t now = clock_now();
    if (peer->incarnation != link->peer.incarnation)
        peer->refused = false; /* another process than the one given up */
    peer->incarnation = link->peer.incarnation;
    for (uint64_t seq = peer->ring.low; seq < peer->ring.next; seq++) {
        struct rpc_call *call = seq_ring_get(&peer->ring, seq);
        if (!call)
            continue;
        if (call->ever && call->incarnation == peer->incarnation) {
            send_frame(call, WIRE_PROBE);
            call->retry_at = now + call->retry_wait;
            wake_scan(peer->client, call->retry_at);
            continue;
        }
        call_restart(call);
        if (seq_ring_get(&peer->ring, seq) == call)
            call_send(call, now);
    }
}

/* Ends outstanding and later calls. */
static void peer_refuse(struct rpc_peer *peer, const struct skiff_error *reason)
{
    peer->refused = true;
    peer->refusal = *reason;
    for (uint64_t seq = peer->ring.low; seq < peer->ring.next; seq++) {
        struct rpc_call *call = seq_ring_get(&peer->ring, seq);
        if (call)
            call_end(call, reason->code, NULL, reason);
    }
}

static void on_link_refused(void *self, struct link *link, const struct skiff_error *reason)
{
    struct rpc_peer *peer = link->user;
    /* the first reason stays: a server that was given up may refuse this client in turn */
    if (!peer->refused)
        peer_refuse(peer, reason);
}

struct give_up {
    struct node_task task; /* first */
    struct rpc_peer *peer;
    struct skiff_error reason;
};

static void give_up_now(struct node_task *task)
{
    struct give_up *g = (struct give_up *)task;
    peer_refuse(g->peer, &g->reason);
    free(g);
}

void rpc_give_up(struct rpc_peer *peer, const struct skiff_error *reason)
{
    struct give_up *g = mem_alloc_or_die(sizeof *g);
    *g = (struct give_up){.task.run = give_up_now, .peer = peer, .reason = *reason};
    node_post(peer->client->node, &g->task);
}

static void call_answer(struct rpc_call *call, const struct wire_head *head, struct blob *body)
{
    metric_observe(call->peer->client->took, (uint64_t)(clock_now() - call->started));
    if (!(head->flags & WIRE_ERROR)) {
        call_end(call, SKIFF_OK, body, NULL);
        return;
    }
    struct wire_reader r;
    struct skiff_error err, bad;
    reader_init_block(&r, body);
    reader_error(&r, &err);
    if (reader_end(&r, "error of a server", &bad) < 0)
        err = bad;
    if (err.code >= 0)
        err.code = SKIFF_INTERNAL;
    call_end(call, err.code, NULL, &err);
}

static void on_frame(void *self, struct link *link, const struct wire_head *head, struct blob *body)
{
    struct rpc_peer *peer = link->user;
    if (!link->outgoing)
        return;
    struct rpc_call *call = seq_ring_get(&peer->ring, head->sequence);
    if (!call)
        return; /* it has ended: a duplicate, or too late */
    switch (head->type) {
    case WIRE_REPLY:
        call_answer(call, head, body);
        break;
    case WIRE_WORKING:
        call->has_it = true;
        break;
    case WIRE_UNKNOWN:
        call_send(call, clock_now());
        break;
    default: /* BUSY */
        call->sent = false;
        break;
    }
}

static void scan_peer(struct rpc_peer *peer, int64_t now, int64_t *next)
{
    for (uint64_t seq = peer->ring.low; seq < peer->ring.next; seq++) {
        struct rpc_call *call = seq_ring_get(&peer->ring, seq);
        if (!call)
            continue;
        if (now >= call->deadline) {
            call_time_out(call, now);
            continue;
        }
        if (now >= call->retry_at)
            call_retry(call, now);
        *next = clock_min(*next, clock_min(call->retry_at, call->deadline));
    }
    if (peer->acked < peer->ring.low && peer->link->up) {
        if (now - peer->transcript >= ACK_AFTER) {
            struct wire_head h = {.type = WIRE_ACK, .ack = peer->ring.low};
            if (node_send(peer->link, &h, NULL))
                peer->acked = h.ack;
        }
        *next = clock_min(*next, now + ACK_AFTER);
    }
}

static int64_t on_tick(void *self, int64_t now)
{
    struct rpc_client *client = self;
    if (now < client->next_scan)
        return client->next_scan;
    int64_t next = now + CLOCK_SECOND;
    client->next_scan = CLOCK_NEVER;
    pthread_mutex_lock(&client->lock);
    struct rpc_peer *peers = client->peers;
    pthread_mutex_unlock(&client->lock);
    for (struct rpc_peer *peer = peers; peer; peer = peer->next)
        scan_peer(peer, now, &next);
    next = next < now + CLOCK_MS ? now + CLOCK_MS : next; /* many calls: once a ms is enough */
    wake_scan(client, next);
    return client->next_scan;
}

static const struct node_service client_service = {
    .types = 1u << WIRE_REPLY | 1u << WIRE_WORKING | 1u << WIRE_UNKNOWN | 1u << WIRE_BUSY,
    .link_up = on_link_up,
    .link_refused = on_link_refused,
    .frame = on_frame,
    .tick = on_tick,
};

/* ---- for other threads ---- */

static void name_counts(struct rpc_client *client, struct metrics *m)
{
    client->calls = metrics_get(m, METRIC_RPC_CALLS);
    client->took = metrics_get(m, METRIC_RPC_CALL_SECONDS);
    client->probes = metrics_get(m, METRIC_RPC_PROBES);
    client->resent = metrics_get(m, METRIC_RPC_RESENT);
    client->timeouts = metrics_get(m, METRIC_RPC_TIMEOUTS);
}

struct rpc_client *rpc_client_create(struct node *node, const struct rpc_client_options *options)
{
    struct rpc_client *client = mem_alloc_or_die(sizeof *client);
    int first = options && options->retry_ms ? options->retry_ms : 200;
    int last = options && options->retry_max_ms ? options->retry_max_ms : 4000;
    client->node = node;
    name_counts(client, node_metrics(node));
    client->retry_first = first * CLOCK_MS;
    client->retry_last = (last > first ? last : first) * CLOCK_MS;
    pthread_mutex_init(&client->lock, NULL);
    node_attach(node, &client_service, client);
    return client;
}

static void peer_destroy(struct rpc_peer *peer)
{
    struct skiff_error err;
    for (uint64_t seq = peer->ring.low; seq < peer->ring.next; seq++) {
        struct rpc_call *call = seq_ring_get(&peer->ring, seq);
        if (!call)
            continue;
        error_set(&err, SKIFF_STATE, "%s: given up: this process is closing its network",
                  call->what);
        call_end(call, SKIFF_STATE, NULL, &err);
    }
    seq_ring_deinit(&peer->ring);
    free(peer);
}

void rpc_client_destroy(struct rpc_client *client)
{
    if (!client)
        return;
    while (client->peers) {
        struct rpc_peer *peer = client->peers;
        client->peers = peer->next;
        peer_destroy(peer);
    }
    pthread_mutex_destroy(&client->lock);
    free(client);
}

enum skiff_status rpc_connect(struct rpc_client *client, const char *address,
                              struct net_id expected, struct rpc_peer **out,
                              struct skiff_error *err)
{
    struct rpc_peer *peer = mem_alloc_or_die(sizeof *peer);
    peer->client = client;
    peer->ring.low = peer->ring.next = peer->acked = 1;
    enum skiff_status status =
        node_connect(client->node, address, expected, peer, &peer->link, err);
    if (status < 0) {
        free(peer);
        return status;
    }
    pthread_mutex_lock(&client->lock);
    peer->next = client->peers;
    client->peers = peer;
    pthread_mutex_unlock(&client->lock);
    *out = peer;
    return SKIFF_OK;
}

const struct link *rpc_peer_link(const struct rpc_peer *peer)
{
    return peer->link;
}

static enum skiff_status call_create(struct rpc_peer *peer, const struct rpc_ask *ask,
                                     struct rpc_call **out, struct skiff_error *err)
{
    if (atomic_fetch_add(&peer->outstanding, 1) >= RPC_OUTSTANDING_MAX) {
        atomic_fetch_sub(&peer->outstanding, 1);
        return error_set(err, SKIFF_RANGE, "%s: %u requests to %s are outstanding already",
                         ask->what, RPC_OUTSTANDING_MAX, peer->link->address);
    }
    struct rpc_call *call = mem_alloc_or_die(sizeof *call);
    call->task.run = call_begin;
    call->peer = peer;
    call->what = ask->what;
    call->method = ask->method;
    call->key = ask->key;
    call->flags = ask->flags;
    call->body = blob_ref(ask->body);
    call->deadline = ask->deadline;
    call->started = clock_now();
    call->retry_wait = peer->client->retry_first;
    atomic_init(&call->refs, 1);
    cond_init(&call->ended_cond);
    pthread_mutex_init(&call->lock, NULL);
    *out = call;
    return SKIFF_OK;
}

enum skiff_status rpc_start(struct rpc_peer *peer, const struct rpc_ask *ask, struct rpc_call **out,
                            struct skiff_error *err)
{
    struct rpc_call *call;
    TRY(call_create(peer, ask, &call, err));
    atomic_store(&call->refs, 2);
    *out = call;
    node_post(peer->client->node, &call->task);
    return SKIFF_OK;
}

enum skiff_status rpc_then(struct rpc_peer *peer, const struct rpc_ask *ask, rpc_done done,
                           void *arg, struct skiff_error *err)
{
    struct rpc_call *call;
    TRY(call_create(peer, ask, &call, err));
    call->done = done;
    call->arg = arg;
    node_post(peer->client->node, &call->task);
    return SKIFF_OK;
}

bool rpc_is_done(struct rpc_call *call)
{
    pthread_mutex_lock(&call->lock);
    bool ended = call->ended;
    pthread_mutex_unlock(&call->lock);
    return ended;
}

enum skiff_status rpc_wait(struct rpc_call *call, struct blob **out_reply, struct skiff_error *err)
{
    pthread_mutex_lock(&call->lock);
    while (!call->ended) /* the network thread ends every call by its deadline */
        pthread_cond_wait(&call->ended_cond, &call->lock);
    enum skiff_status status = call->status;
    if (status < 0 && err)
        *err = call->err;
    if (status >= 0 && out_reply)
        *out_reply = blob_ref(call->reply);
    pthread_mutex_unlock(&call->lock);
    call_unref(call);
    return status;
}

enum skiff_status rpc_ask(struct rpc_peer *peer, const struct rpc_ask *ask, struct blob **out_reply,
                          struct skiff_error *err)
{
    struct rpc_call *call;
    TRY(rpc_start(peer, ask, &call, err));
    return rpc_wait(call, out_reply, err);
}

enum skiff_status rpc_await(struct rpc_peer *peer, int64_t deadline, struct skiff_error *err)
{
    struct rpc_ask ask = {.what = "first contact",
                          .method = RPC_METHOD_PING,
                          .flags = RPC_READ,
                          .deadline = deadline};
    return rpc_ask(peer, &ask, NULL, err);
}
