/* net: ranks that connect at their addresses, each to every other one (src/net: secret, encryption
 * between machines, links that reconnect); a message is a request that is carried out once.
 *
 * Every rank watches every other one by itself: a rank is dead when no process listens at its
 * address any more, when its connection has ended and does not come back, or when it has been
 * silent for too long. The first rank to find out notifies all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collective/collective_parts.h"
#include "net/rpc.h"

#define METHOD_RENDEZVOUS 1u
#define METHOD_MESSAGE 2u
#define CAPACITY ((size_t)64 << 20) /* bytes in flight to one rank before a sender waits */
#define START_MS (180 * 1000)
#define SILENCE_MS (10 * 1000)
#define MARGIN_MS 2000 /* a death is reported before silence_ms are over, also on a slow machine */
#define LOST_MS 3000   /* for a connection to come back */
#define REPORT_MS 5000 /* time to answer ranks that come late to a rendezvous that has failed */
/* until missing ranks are logged; then after 10 s, 20 s, ... */
#define LOG_AFTER (5 * CLOCK_SECOND)
#define MISSING 512 /* bytes of a list of ranks */
#define TICK (250 * CLOCK_MS)
#define DESCRIBE 256

struct peer { /* another rank */
    struct rpc_peer *rpc;
    bool met, dead;
    bool down;              /* its link was up and is not */
    int64_t down_since;     /* 0: it is up */
    size_t messages, bytes; /* that have not arrived yet */
};

struct net_engine {
    struct inbox *inbox;
    struct node *node;
    struct rpc_server *server;
    struct rpc_client *client;
    struct peer *peers;
    char **endpoints;
    char describe[DESCRIBE];
    int rank, size, met;
    int64_t silence, lost, last_tick, forgiven;
    bool started;
    bool differs; /* the rendezvous has failed before all had joined: late ranks get the reason */
    atomic_bool closing;
    pthread_mutex_t lock; /* peers' met, down, letters, bytes */
    pthread_cond_t changed;
};

static void report(struct net_engine *n, enum skiff_status code, int rank, const char *text)
{
    struct skiff_error err;
    error_set(&err, code, "rank %d (%s) %s", rank, n->endpoints[rank], text);
    inbox_fail(n->inbox, &err);
}

/* ---- messages ---- */

struct net_parcel { /* a message in flight */
    struct net_engine *n;
    int to;
    size_t bytes;
};

static void message_arrived(void *arg, enum skiff_status status, struct blob *reply,
                            const struct skiff_error *err)
{
    struct net_parcel *p = arg;
    struct net_engine *n = p->n;
    pthread_mutex_lock(&n->lock);
    n->peers[p->to].messages--;
    n->peers[p->to].bytes -= p->bytes;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    if (status < 0 && !atomic_load(&n->closing) && !inbox_has_left(n->inbox, p->to, GROUP_WORLD))
        report(n, status, p->to, err->message);
    free(p);
}

/* Counts messages in flight; waits while there are too many, except for messages that end
 * something. */
static void note_message(struct net_engine *n, int to, const struct message_head *h, size_t bytes)
{
    struct peer *peer = &n->peers[to];
    bool patient = h->kind == MESSAGE_CALL || h->kind == MESSAGE_MESSAGE;
    pthread_mutex_lock(&n->lock);
    while (patient && peer->messages && peer->bytes + bytes > CAPACITY &&
           !atomic_load(&n->inbox->failed))
        cond_wait_until(&n->changed, &n->lock, clock_after(clock_now(), 100));
    peer->messages++;
    peer->bytes += bytes;
    pthread_mutex_unlock(&n->lock);
}

static enum skiff_status send_message(void *engine, int to, const struct message_head *h,
                                      const void *data, size_t bytes, struct skiff_error *err)
{
    struct net_engine *n = engine;
    struct rpc_ask ask = {.what = "a message between ranks",
                          .method = METHOD_MESSAGE,
                          /* ends when the rank is dead or this one closes */
                          .deadline = CLOCK_NEVER};
    struct net_parcel *p = mem_alloc_or_die(sizeof *p);
    *p = (struct net_parcel){n, to, bytes};
    if (!n->peers[to].rpc || message_pack(h, data, bytes, &ask.body, err) < 0) {
        free(p);
        return n->peers[to].rpc ? SKIFF_NOMEM
                                : error_set(err, SKIFF_STATE, "rank %d is not known yet", to);
    }
    note_message(n, to, h, bytes);
    enum skiff_status status = rpc_then(n->peers[to].rpc, &ask, message_arrived, p, err);
    blob_unref(ask.body);
    if (status < 0) {
        pthread_mutex_lock(&n->lock);
        n->peers[to].messages--;
        n->peers[to].bytes -= bytes;
        pthread_mutex_unlock(&n->lock);
        free(p);
    }
    return status;
}

/* Network thread. */
static void on_message(void *self, struct rpc_request *q)
{
    struct net_engine *n = self;
    struct message_head h;
    struct skiff_error err;
    if (q->sender.role != NET_WORKER || q->sender.index >= (uint32_t)n->size ||
        q->sender.index == (uint32_t)n->rank) {
        error_set(&err, SKIFF_INVALID, "rank %u is not in this group of %d", q->sender.index,
                  n->size);
        rpc_fail(q, &err);
        return;
    }
    if (message_decode(q->body ? q->body->data : NULL, blob_len(q->body), &h, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    inbox_deliver(n->inbox, (int)q->sender.index, &h, blob_ref(q->body), MESSAGE_HEAD);
    rpc_reply(q, NULL);
}

/* ---- rendezvous: have all ranks joined, for the same job? ---- */

static enum skiff_status write_self(const struct net_engine *n, struct blob **out,
                                    struct skiff_error *err)
{
    struct wire_writer w;
    writer_init(&w);
    writer_u32(&w, (uint32_t)n->size);
    writer_string(&w, n->describe);
    return writer_finish(&w, out, err);
}

static enum skiff_status check_other(const struct net_engine *n, const struct rpc_request *q,
                                     struct skiff_error *err)
{
    struct wire_reader r;
    char describe[DESCRIBE];
    reader_init_block(&r, q->body);
    uint32_t size = reader_u32(&r);
    reader_name(&r, describe, sizeof describe);
    TRY(reader_end(&r, "hello of a rank", err));
    if (size != (uint32_t)n->size)
        return error_set(err, SKIFF_INVALID,
                         "rank %u was started as one of %u ranks, rank %d as one of %d; start all "
                         "with the same number",
                         q->sender.index, size, n->rank, n->size);
    if (strcmp(describe, n->describe) != 0)
        return error_set(err, SKIFF_INVALID,
                         "rank %u runs something else than rank %d: '%s' there, '%s' here; start "
                         "all ranks with the same program and settings",
                         q->sender.index, n->rank, describe, n->describe);
    return SKIFF_OK;
}

/* Network thread. */
static void on_meet(void *self, struct rpc_request *q)
{
    struct net_engine *n = self;
    struct skiff_error err;
    if (check_other(n, q, &err) == SKIFF_OK) {
        rpc_reply(q, NULL);
        return;
    }
    rpc_fail(q, &err);
    inbox_fail(n->inbox, &err);
}

static void has_met(void *arg, enum skiff_status status, struct blob *reply,
                    const struct skiff_error *err)
{
    struct net_parcel *p = arg;
    struct net_engine *n = p->n;
    if (status < 0 && status != SKIFF_TIMEOUT && !atomic_load(&n->closing))
        inbox_fail(n->inbox, err);
    pthread_mutex_lock(&n->lock);
    if (status == SKIFF_OK) {
        n->peers[p->to].met = true;
        n->met++;
    }
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    free(p);
}

static enum skiff_status go_to_meet(struct net_engine *n, int64_t deadline, struct skiff_error *err)
{
    struct rpc_ask ask = {.what = "the ranks' rendezvous",
                          .method = METHOD_RENDEZVOUS,
                          .flags = RPC_READ, /* another process may have died there before */
                          .deadline = deadline};
    enum skiff_status status = write_self(n, &ask.body, err);
    for (int i = 0; i < n->size && status == SKIFF_OK; i++) {
        if (i == n->rank)
            continue;
        struct net_parcel *p = mem_alloc_or_die(sizeof *p);
        *p = (struct net_parcel){.n = n, .to = i};
        status = rpc_then(n->peers[i].rpc, &ask, has_met, p, err);
        if (status < 0)
            free(p);
    }
    blob_unref(ask.body);
    return status;
}

static void list_missing(const struct net_engine *n, char list[static MISSING])
{
    size_t at = 0;
    list[0] = 0;
    for (int i = 0; i < n->size && at < MISSING - 64; i++)
        if (i != n->rank && !n->peers[i].met)
            at += (size_t)snprintf(list + at, MISSING - at, "%srank %d (%.40s)", at ? ", " : "", i,
                                   n->endpoints[i]);
}

static enum skiff_status name_missing(const struct net_engine *n, int64_t start_ms,
                                      struct skiff_error *err)
{
    char list[MISSING];
    list_missing(n, list);
    return error_set(err, SKIFF_TIMEOUT,
                     "%s did not join within %g s, while rank %d waited; is it started, and can "
                     "its address be reached from here?",
                     list, (double)start_ms / 1000, n->rank);
}

static void log_missing(const struct net_engine *n, const struct collective_net_options *o,
                        int64_t seconds, int64_t start_ms)
{
    char list[MISSING], line[MISSING + 128];
    list_missing(n, list);
    snprintf(line, sizeof line, "rank %d has waited %d s for %s; it gives up after %g s", n->rank,
             (int)seconds, list, (double)start_ms / 1000);
    if (o->on_log)
        o->on_log(o->user, line);
}

static enum skiff_status meet_all(struct net_engine *n, const struct collective_net_options *o,
                                  struct skiff_error *err)
{
    int64_t start_ms = o->start_ms ? o->start_ms : START_MS, start = clock_now();
    int64_t end = clock_after(start, start_ms), log_after = LOG_AFTER;
    enum skiff_status status = go_to_meet(n, end, err);
    if (status < 0)
        return status;
    pthread_mutex_lock(&n->lock);
    while (n->met < n->size - 1 && !atomic_load(&n->inbox->failed) && clock_now() < end) {
        cond_wait_until(&n->changed, &n->lock, clock_min(end, clock_after(clock_now(), 50)));
        if (n->met == n->size - 1 || clock_now() - start < log_after)
            continue;
        log_missing(n, o, log_after / CLOCK_SECOND, start_ms);
        log_after *= 2;
    }
    n->differs = atomic_load(&n->inbox->failed);
    if (n->met < n->size - 1)
        status = name_missing(n, start_ms, err);
    pthread_mutex_unlock(&n->lock);
    if (status == SKIFF_OK)
        return SKIFF_OK;
    status = inbox_fail(n->inbox, err);
    inbox_check(n->inbox, err);
    return status;
}

/* ---- watching; network thread ---- */

static void watch(struct net_engine *n, int rank, int64_t now)
{
    struct peer *p = &n->peers[rank];
    const struct link *link = rpc_peer_link(p->rpc);
    char text[256];
    if (link->up)
        p->down_since = 0;
    else if (!p->down_since)
        p->down_since = now;
    int64_t heard = link->heard > n->forgiven ? link->heard : n->forgiven;
    int64_t down = p->down_since > n->forgiven ? p->down_since : n->forgiven;
    if (node_has_ended(link))
        snprintf(text, sizeof text, "is dead: its process has ended without notice");
    else if (!link->up && now - down > n->lost)
        snprintf(text, sizeof text, "is dead: its connection has ended and was not restored");
    else if (link->up && now - heard > n->silence)
        snprintf(text, sizeof text, "is dead: it has been silent for %.1f s",
                 (double)(now - heard) / 1e9);
    else
        return;
    p->dead = true;
    inbox_accuse(n->inbox, rank, text);
    report(n, SKIFF_PEER, rank, text);
}

static int64_t on_tick(void *self, int64_t now)
{
    struct net_engine *n = self;
    if (now - n->last_tick < TICK)
        return n->last_tick + TICK;
    if (now - n->last_tick > 8 * TICK)
        n->forgiven = now; /* this process was stopped: the others were not silent */
    n->last_tick = now;
    for (int i = 0; i < n->size; i++) {
        pthread_mutex_lock(&n->lock);
        bool watched = n->peers[i].met && !n->peers[i].dead;
        pthread_mutex_unlock(&n->lock);
        if (watched && !inbox_has_left(n->inbox, i, GROUP_WORLD))
            watch(n, i, now);
    }
    return now + TICK;
}

/* After a failure no rank waits for one whose link is down: it has received the failure and
 * ended. */
static void record_link(struct net_engine *n, const struct link *link, bool down)
{
    pthread_mutex_lock(&n->lock);
    for (int i = 0; i < n->size; i++)
        if (n->peers[i].rpc && rpc_peer_link(n->peers[i].rpc) == link)
            n->peers[i].down = down;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

static void on_link_up(void *self, struct link *link)
{
    record_link(self, link, false);
}

static void on_link_down(void *self, struct link *link)
{
    record_link(self, link, true);
}

static const struct node_service watch_service = {
    .link_up = on_link_up, .link_down = on_link_down, .tick = on_tick};

/* ---- lifecycle ---- */

/* Are messages in flight to ranks that have not left? */
static bool has_messages_out(struct net_engine *n)
{
    for (int i = 0; i < n->size; i++)
        if (n->peers[i].messages && !n->peers[i].dead && (n->peers[i].met || n->differs) &&
            !(n->peers[i].down && atomic_load(&n->inbox->failed)) &&
            !inbox_has_left(n->inbox, i, GROUP_WORLD))
            return true;
    return false;
}

static void finish(struct net_engine *n)
{
    int64_t patience = !atomic_load(&n->inbox->failed) ? n->silence
                       : n->differs                    ? REPORT_MS * CLOCK_MS
                                                       : CLOCK_SECOND;
    int64_t end = clock_now() + patience;
    pthread_mutex_lock(&n->lock);
    while (has_messages_out(n) && clock_now() < end)
        cond_wait_until(&n->changed, &n->lock, clock_after(clock_now(), 5));
    pthread_mutex_unlock(&n->lock);
}

static void close_net(void *engine)
{
    struct net_engine *n = engine;
    if (n->started)
        finish(n);
    atomic_store(&n->closing, true);
    if (n->server)
        rpc_server_stop(n->server);
    if (n->started)
        node_stop(n->node);
    rpc_client_destroy(n->client);
    rpc_server_destroy(n->server);
    node_destroy(n->node);
    inbox_destroy(n->inbox);
    for (int i = 0; i < n->size; i++)
        free(n->endpoints[i]);
    pthread_cond_destroy(&n->changed);
    pthread_mutex_destroy(&n->lock);
    free(n->endpoints);
    free(n->peers);
    free(n);
}

static const struct engine_kind engine_net = {
    .name = "net", .send = send_message, .close = close_net};

static struct net_engine *net_create(const struct collective_net_options *o)
{
    struct net_engine *n = mem_alloc_or_die(sizeof *n);
    n->rank = o->rank;
    n->size = o->size;
    n->silence = o->silence_ms ? o->silence_ms : SILENCE_MS;
    n->silence = (n->silence > 2 * MARGIN_MS ? n->silence - MARGIN_MS : n->silence) * CLOCK_MS;
    n->lost = clock_min(LOST_MS * CLOCK_MS, n->silence);
    n->peers = mem_alloc_or_die((size_t)o->size * sizeof *n->peers);
    n->endpoints = mem_alloc_or_die((size_t)o->size * sizeof *n->endpoints);
    for (int i = 0; i < o->size; i++)
        n->endpoints[i] = mem_strdup_or_die(o->endpoints[i]);
    snprintf(n->describe, sizeof n->describe, "%s", o->describe ? o->describe : "");
    pthread_mutex_init(&n->lock, NULL);
    cond_init(&n->changed);
    n->inbox = inbox_create(&engine_net, n, o->rank, o->size);
    return n;
}

static enum skiff_status open_node(struct net_engine *n, const struct collective_net_options *o,
                                   struct skiff_error *err)
{
    struct node_owner owner = {.job = "collective", .secret = o->secret, .insecure = o->insecure};
    const char *here = o->endpoints[o->rank];
    if (node_check_secret(&owner, &here, 1, NULL) < 0)
        return error_set(
            err, SKIFF_INVALID,
            "rank %d is at %s, which other machines can reach, and this job has no "
            "secret: any process that reaches it could read and change its parameters. Make "
            "one with `skiff secret new` and give it to all ranks "
            "(docs/guide/security.md), or allow it with SKIFF_INSECURE=1",
            o->rank, here);
    return node_open(&owner, (struct net_id){NET_WORKER, (uint32_t)o->rank}, NULL, &n->node, err);
}

static enum skiff_status open_network(struct net_engine *n, const struct collective_net_options *o,
                                      struct skiff_error *err)
{
    TRY(open_node(n, o, err));
    TRY(rpc_server_create(n->node, NULL, &n->server, err));
    rpc_server_handle(n->server, METHOD_RENDEZVOUS, RPC_ON_NETWORK, on_meet, n);
    rpc_server_handle(n->server, METHOD_MESSAGE, RPC_ON_NETWORK, on_message, n);
    n->client = rpc_client_create(n->node, NULL);
    node_attach(n->node, &watch_service, n);
    enum skiff_status status = node_listen(n->node, n->endpoints[n->rank], NULL, err);
    if (status < 0)
        return error_prefix(err, status,
                            "rank %d of %d cannot listen at %s (if another program or an earlier "
                            "run holds the port, end it or choose another one)",
                            n->rank, n->size, n->endpoints[n->rank]);
    for (int i = 0; i < n->size; i++)
        if (i != n->rank)
            TRY(rpc_connect(n->client, n->endpoints[i], (struct net_id){NET_WORKER, (uint32_t)i},
                            &n->peers[i].rpc, err));
    TRY(node_start(n->node, err));
    n->started = true;
    return SKIFF_OK;
}

static enum skiff_status check_options(const struct collective_net_options *o,
                                       struct skiff_error *err)
{
    if (o->size < 1 || o->size > COLLECTIVE_RANKS)
        return error_set(err, SKIFF_INVALID, "a job of %d ranks; 1 to %d are possible", o->size,
                         COLLECTIVE_RANKS);
    if (o->rank < 0 || o->rank >= o->size)
        return error_set(err, SKIFF_INVALID, "rank %d of %d: ranks are 0 to %d", o->rank, o->size,
                         o->size - 1);
    for (int i = 0; i < o->size; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(o->endpoints[i], o->endpoints[k]) == 0)
                return error_set(err, SKIFF_INVALID,
                                 "ranks %d and %d are both at %s; each needs a port of its own", k,
                                 i, o->endpoints[i]);
    return SKIFF_OK;
}

enum skiff_status collective_net(const struct collective_net_options *o, struct collective **out,
                                 struct skiff_error *err)
{
    TRY(check_options(o, err));
    struct net_engine *n = net_create(o);
    enum skiff_status status = SKIFF_OK;
    if (o->size > 1)
        status = open_network(n, o, err);
    if (status == SKIFF_OK && o->size > 1)
        status = meet_all(n, o, err);
    if (status < 0) {
        close_net(n);
        return status;
    }
    struct collective *c = group_create(n->inbox, GROUP_WORLD, NULL, o->size, o->rank);
    status = group_open(c, err);
    if (status < 0)
        collective_destroy(c);
    else
        *out = c;
    return status;
}
