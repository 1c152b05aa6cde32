/* Queues inside a process. One lock, the hub's, guards everything: endpoints, channels, inboxes.
 *
 * A channel joins a client endpoint (which connected) with a server endpoint (which listens at the
 * address). It looks up its server when it sends, so either side may start first; when the server
 * closes, the next one that listens there gets the channel under a new peer number. */
#include "net/transport.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

struct inproc_parcel {
    struct inproc_parcel *next;
    struct packet packet;
    transport_peer from;
    /* bytes in flight in this direction of the channel; NULL when the channel is freed */
    size_t *account;
};

struct channel {
    struct channel *next; /* of the client's list */
    struct inproc *client, *server;
    transport_peer client_peer, server_peer; /* the number by which each side knows the other */
    char address[ADDRESS_TEXT];
    size_t to_server, to_client; /* bytes */
};

struct inproc_listener {
    struct inproc_listener *next;
    char address[ADDRESS_TEXT];
};

struct inproc {
    struct transport base;
    struct inproc_hub *hub;
    struct inproc *next;
    struct inproc_listener *listeners;
    struct channel *channels; /* those that this endpoint opened */
    struct inproc_parcel *first, **last;
    pthread_cond_t arrived;
    bool woken;
    size_t body_max, peer_bytes;
    struct transport_counts counts;
};

struct inproc_hub {
    pthread_mutex_t lock;
    struct inproc *endpoints;
    uint64_t next_peer;
    uint32_t next_port;
};

struct inproc_hub *inproc_hub_create(void)
{
    struct inproc_hub *hub = mem_alloc_or_die(sizeof *hub);
    pthread_mutex_init(&hub->lock, NULL);
    hub->next_peer = 1;
    hub->next_port = 50000;
    return hub;
}

void inproc_hub_destroy(struct inproc_hub *hub)
{
    if (!hub)
        return;
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

static enum skiff_status inproc_open(const struct transport_options *options,
                                     struct transport **out, struct skiff_error *err)
{
    if (!options->hub)
        return error_set(err, SKIFF_INVALID, "transport inproc needs a hub");
    struct inproc *t = mem_alloc_or_die(sizeof *t);
    cond_init(&t->arrived);
    t->base.kind = transport_find("inproc");
    t->hub = options->hub;
    t->body_max = options->body_max ? options->body_max : (size_t)16 << 20;
    t->peer_bytes = options->peer_bytes ? options->peer_bytes : (size_t)64 << 20;
    t->last = &t->first;
    transport_counts_init(&t->counts, options->metrics);
    pthread_mutex_lock(&t->hub->lock);
    t->next = t->hub->endpoints;
    t->hub->endpoints = t;
    pthread_mutex_unlock(&t->hub->lock);
    *out = &t->base;
    return SKIFF_OK;
}

/* The endpoint that listens at an address; the hub's lock is held. */
static struct inproc *find_listener(struct inproc_hub *hub, const char *address)
{
    for (struct inproc *e = hub->endpoints; e; e = e->next)
        for (struct inproc_listener *p = e->listeners; p; p = p->next)
            if (strcmp(p->address, address) == 0)
                return e;
    return NULL;
}

static enum skiff_status inproc_listen(struct transport *base, const char *address, char *out_bound,
                                       struct skiff_error *err)
{
    struct inproc *t = (struct inproc *)base;
    struct address a;
    char text[ADDRESS_TEXT];
    TRY(address_parse(address, &a, err));
    pthread_mutex_lock(&t->hub->lock);
    if (a.port == 0)
        a.port = (uint16_t)t->hub->next_port++;
    address_print(&a, text);
    bool taken = find_listener(t->hub, text) != NULL;
    if (!taken) {
        struct inproc_listener *p = mem_alloc_or_die(sizeof *p);
        strcpy(p->address, text);
        p->next = t->listeners;
        t->listeners = p;
    }
    pthread_mutex_unlock(&t->hub->lock);
    if (taken)
        return error_set(err, SKIFF_IO, "cannot listen on %s: the address is in use", text);
    if (out_bound)
        strcpy(out_bound, text);
    return SKIFF_OK;
}

static enum skiff_status inproc_connect(struct transport *base, const char *address,
                                        transport_peer *out_peer, struct skiff_error *err)
{
    struct inproc *t = (struct inproc *)base;
    struct address a;
    TRY(address_parse(address, &a, err));
    struct channel *c = mem_alloc_or_die(sizeof *c);
    address_print(&a, c->address);
    c->client = t;
    pthread_mutex_lock(&t->hub->lock);
    c->client_peer = t->hub->next_peer++;
    c->next = t->channels;
    t->channels = c;
    pthread_mutex_unlock(&t->hub->lock);
    *out_peer = c->client_peer;
    return SKIFF_OK;
}

/* Removes an account that is about to be freed from the packets in an inbox. */
static void forget_account(struct inproc *t, const size_t *account)
{
    for (struct inproc_parcel *p = t->first; p; p = p->next)
        if (p->account == account)
            p->account = NULL;
}

/* Frees the channel; the lock is held. */
static void channel_drop(struct channel *c)
{
    forget_account(c->client, &c->to_client);
    if (c->server) {
        forget_account(c->server, &c->to_server);
        metric_add(c->server->counts.lost, 1);
    }
    free(c);
}

static void inproc_disconnect(struct transport *base, transport_peer peer)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    for (struct channel **at = &t->channels; *at; at = &(*at)->next)
        if ((*at)->client_peer == peer) {
            struct channel *c = *at;
            *at = c->next;
            channel_drop(c);
            break;
        }
    pthread_mutex_unlock(&t->hub->lock);
}

/* The channel that joins t with this peer, from either end; the lock is held. */
static struct channel *find_channel(struct inproc *t, transport_peer peer)
{
    for (struct inproc *e = t->hub->endpoints; e; e = e->next)
        for (struct channel *c = e->channels; c; c = c->next)
            if ((c->client == t && c->client_peer == peer) ||
                (c->server == t && c->server_peer == peer))
                return c;
    return NULL;
}

static bool find_server(struct channel *c)
{
    if (c->server)
        return true;
    c->server = find_listener(c->client->hub, c->address);
    if (!c->server)
        return false;
    c->server_peer = c->client->hub->next_peer++;
    metric_add(c->server->counts.accepted, 1);
    return true;
}

static void deliver(struct inproc *to, transport_peer from, size_t *account,
                    const struct packet *packet)
{
    struct inproc_parcel *p = mem_alloc_or_die(sizeof *p);
    p->packet = *packet;
    blob_ref(packet->body);
    p->from = from;
    p->account = account;
    *account += packet->head_len + packet->len;
    *to->last = p;
    to->last = &p->next;
    pthread_cond_signal(&to->arrived);
}

static enum transport_sent inproc_send(struct transport *base, transport_peer peer,
                                       const struct packet *packet)
{
    struct inproc *t = (struct inproc *)base;
    enum transport_sent sent = TRANSPORT_SENT;
    pthread_mutex_lock(&t->hub->lock);
    struct channel *c = find_channel(t, peer);
    if (!c) {
        sent = TRANSPORT_GONE;
    } else if (c->client == t && c->client_peer == peer) {
        if (!find_server(c) || c->to_server > t->peer_bytes)
            sent = TRANSPORT_FULL;
        else if (packet->len <= c->server->body_max)
            deliver(c->server, c->server_peer, &c->to_server, packet);
        else
            metric_add(c->server->counts.malformed, 1);
    } else if (c->to_client > t->peer_bytes) {
        sent = TRANSPORT_FULL;
    } else if (packet->len <= c->client->body_max) {
        deliver(c->client, c->client_peer, &c->to_client, packet);
    } else {
        metric_add(c->client->counts.malformed, 1);
    }
    pthread_mutex_unlock(&t->hub->lock);
    return sent;
}

/* Takes the first packet; a sender that found the queue full may wait for the space. */
static bool take(struct inproc *t, transport_peer *out_peer, struct packet *out_packet)
{
    struct inproc_parcel *p = t->first;
    if (!p)
        return false;
    t->first = p->next;
    if (!t->first)
        t->last = &t->first;
    *out_peer = p->from;
    *out_packet = p->packet;
    if (p->account) {
        *p->account -= p->packet.head_len + p->packet.len;
        struct channel *c = find_channel(t, p->from);
        struct inproc *other = c ? (c->client == t ? c->server : c->client) : NULL;
        if (other && *p->account <= other->peer_bytes / 2)
            pthread_cond_signal(&other->arrived);
    }
    free(p);
    return true;
}

static enum skiff_status inproc_receive(struct transport *base, int64_t deadline,
                                        transport_peer *out_peer, struct packet *out_packet,
                                        struct skiff_error *err)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    bool got = take(t, out_peer, out_packet);
    if (!got && !t->woken && deadline > clock_now()) {
        cond_wait_until(&t->arrived, &t->hub->lock, deadline);
        got = take(t, out_peer, out_packet);
    }
    if (!got)
        t->woken = false;
    pthread_mutex_unlock(&t->hub->lock);
    return got ? SKIFF_OK : SKIFF_END;
}

static void inproc_wake(struct transport *base)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    t->woken = true;
    pthread_cond_signal(&t->arrived);
    pthread_mutex_unlock(&t->hub->lock);
}

static size_t inproc_backlog(struct transport *base, transport_peer peer)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    struct channel *c = find_channel(t, peer);
    size_t bytes = !c ? 0 : c->client_peer == peer ? c->to_server : c->to_client;
    pthread_mutex_unlock(&t->hub->lock);
    return bytes;
}

static void inproc_describe(struct transport *base, transport_peer peer, char *out, size_t capacity)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    struct channel *c = find_channel(t, peer);
    const char *text = !c ? "gone" : find_server(c) ? "connected" : "no listener there";
    pthread_mutex_unlock(&t->hub->lock);
    snprintf(out, capacity, "%s", text);
}

/* Channels to this endpoint lose their server; its own are dropped. */
static void leave_hub(struct inproc *t)
{
    for (struct inproc **at = &t->hub->endpoints; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    for (struct inproc *e = t->hub->endpoints; e; e = e->next)
        for (struct channel *c = e->channels; c; c = c->next)
            if (c->server == t) {
                c->server = NULL;
                c->to_server = 0;
                forget_account(c->client, &c->to_client);
                c->to_client = 0;
                metric_add(e->counts.lost, 1);
            }
    while (t->channels) {
        struct channel *c = t->channels;
        t->channels = c->next;
        channel_drop(c);
    }
}

static void inproc_close(struct transport *base)
{
    struct inproc *t = (struct inproc *)base;
    pthread_mutex_lock(&t->hub->lock);
    leave_hub(t);
    pthread_mutex_unlock(&t->hub->lock);
    while (t->first) {
        struct inproc_parcel *p = t->first;
        t->first = p->next;
        packet_deinit(&p->packet);
        free(p);
    }
    while (t->listeners) {
        struct inproc_listener *p = t->listeners;
        t->listeners = p->next;
        free(p);
    }
    pthread_cond_destroy(&t->arrived);
    free(t);
}

extern const struct transport_kind transport_inproc;
const struct transport_kind transport_inproc = {
    .name = "inproc",
    .summary = "inside one process",
    .open = inproc_open,
    .listen = inproc_listen,
    .connect = inproc_connect,
    .disconnect = inproc_disconnect,
    .send = inproc_send,
    .receive = inproc_receive,
    .wake = inproc_wake,
    .backlog = inproc_backlog,
    .describe = inproc_describe,
    .close = inproc_close,
};
