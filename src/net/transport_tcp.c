/* TCP and, as transport ipc, also local sockets. One thread, one epoll: the network thread of a
 * node reads, opens, closes and writes by itself.
 *
 * - Every connection begins with a handshake (handshake.h): a peer without the job's key is refused
 *   before any state of it is kept (tcp_gate.c). After it every record is sealed by keys of this
 *   connection alone, so that it cannot be changed; between machines it is also encrypted, so that
 *   it cannot be read (the setting `encrypt` changes that). tcp_conn.c has the records, tcp_dial.c
 *   the outgoing connections.
 * - send only appends packets to a list; the next receive, which follows at once in the network
 *   thread, writes the lists of all peers. So small packets share system calls.
 * - A connection that ends is closed at once, and its memory freed when the events of this round
 *   have been handled.
 * - ipc: a server listens at a local socket and at its port; a client tries the two in turns, the
 *   local one first. So processes of other machines, and those with transport tcp, can connect as
 *   well. */
#include "net/transport.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/tcp_parts.h"

#define EVENTS 64

/* ---- open, listen, connect ---- */

static void set_defaults(struct transport_options *o)
{
    if (!o->body_max)
        o->body_max = (size_t)16 << 20;
    if (!o->peer_bytes)
        o->peer_bytes = (size_t)64 << 20;
    if (!o->linger_ms)
        o->linger_ms = 1000;
}

static enum skiff_status open_as(const char *name, const struct transport_options *options,
                                 struct transport **out, struct skiff_error *err)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct tcp *t = mem_alloc_or_die(sizeof *t);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &t->wake_source};
    t->wake_source = TCP_WAKE;
    if (epoll < 0 || wake_fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, wake_fd, &e) < 0) {
        error_set_sys(err, "cannot open a transport");
        if (epoll >= 0)
            close(epoll);
        if (wake_fd >= 0)
            close(wake_fd);
        free(t);
        return SKIFF_IO;
    }
    t->base.kind = transport_find(name);
    t->by_local = !strcmp(name, "ipc");
    t->options = *options;
    set_defaults(&t->options);
    t->epoll = epoll;
    t->wake_fd = wake_fd;
    t->ready_end = &t->ready;
    pake_base(t->options.key, t->pake_base);
    gate_init(t);
    transport_counts_init(&t->counts, options->metrics);
    *out = &t->base;
    return SKIFF_OK;
}

static enum skiff_status open_tcp(const struct transport_options *options, struct transport **out,
                                  struct skiff_error *err)
{
    return open_as("tcp", options, out, err);
}

static enum skiff_status open_ipc(const struct transport_options *options, struct transport **out,
                                  struct skiff_error *err)
{
    return open_as("ipc", options, out, err);
}

static enum skiff_status listen_tcp(struct transport *base, const char *address, char *out_bound,
                                    struct skiff_error *err)
{
    return gate_listen((struct tcp *)base, address, out_bound, err);
}

static enum skiff_status connect_tcp(struct transport *base, const char *address,
                                     transport_peer *out_peer, struct skiff_error *err)
{
    struct tcp *t = (struct tcp *)base;
    struct address a;
    TRY(address_parse(address, &a, err));
    if (a.family == ADDRESS_ANY || a.port == 0)
        return error_set(err, SKIFF_INVALID, "cannot connect to %s: it names no host and port",
                         address);
    t->dialed = mem_grow_or_die(t->dialed, (t->ndialed + 1) * sizeof *t->dialed);
    *out_peer = TCP_OUTGOING | t->ndialed;
    t->dialed[t->ndialed++] = dial_create(t, &a, *out_peer);
    return SKIFF_OK;
}

static struct tcp_dialed *find_dialed(const struct tcp *t, transport_peer peer)
{
    size_t i = (size_t)(peer & ~TCP_OUTGOING);
    return (peer & TCP_OUTGOING) && i < t->ndialed ? t->dialed[i] : NULL;
}

/* The connection of a peer that is up, or NULL. */
static struct tcp_conn *find_conn(const struct tcp *t, transport_peer peer)
{
    struct tcp_conn *c = NULL;
    if (peer & TCP_OUTGOING) {
        struct tcp_dialed *d = find_dialed(t, peer);
        c = d ? d->conn : NULL;
    } else {
        size_t slot = peer & ((1 << TCP_SLOT_BITS) - 1);
        c = slot < t->nslots ? t->slots[slot] : NULL;
        c = c && c->peer == peer ? c : NULL;
    }
    return c && c->state == TCP_UP ? c : NULL;
}

static void disconnect_tcp(struct transport *base, transport_peer peer)
{
    struct tcp *t = (struct tcp *)base;
    struct tcp_dialed *d = find_dialed(t, peer);
    if (!d)
        return;
    if (d->conn && d->conn->state == TCP_UP)
        conn_flush(t, d->conn);
    t->dialed[peer & ~TCP_OUTGOING] = NULL;
    dial_destroy(t, d);
}

static enum transport_sent send_tcp(struct transport *base, transport_peer peer,
                                    const struct packet *packet)
{
    struct tcp *t = (struct tcp *)base;
    struct tcp_conn *c = find_conn(t, peer);
    if (c)
        return conn_send(t, c, packet);
    return find_dialed(t, peer) ? TRANSPORT_FULL : TRANSPORT_GONE;
}

/* ---- receive ---- */

/* Frees closed connections, except those that are still in a list. */
static void bury(struct tcp *t)
{
    for (struct tcp_conn **at = &t->graveyard; *at;) {
        struct tcp_conn *c = *at;
        if (c->ready || c->dirty) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        conn_destroy(c);
    }
}

static void flush_dirty(struct tcp *t)
{
    struct tcp_conn *c = t->dirty;
    t->dirty = NULL;
    while (c) {
        struct tcp_conn *next = c->next_dirty;
        c->dirty = false;
        if (c->state == TCP_UP && !c->wants_out)
            conn_flush(t, c);
        c = next;
    }
}

/* A packet of one of the connections with available bytes, in turns. */
static bool take_ready(struct tcp *t, transport_peer *out_peer, struct packet *out)
{
    while (t->ready) {
        struct tcp_conn *c = t->ready;
        t->ready = c->next_ready;
        if (!t->ready)
            t->ready_end = &t->ready;
        c->ready = false;
        if (c->state != TCP_UP || conn_take(t, c, out) != SKIFF_OK)
            continue;
        *out_peer = c->peer;
        conn_mark_ready(t, c);
        return true;
    }
    return false;
}

static void on_conn_event(struct tcp *t, struct tcp_conn *c, uint32_t events)
{
    if (c->state == TCP_CLOSED)
        return;
    if (c->state != TCP_UP) {
        if (c->dialed)
            dial_event(t, c);
        else
            gate_event(t, c);
        return;
    }
    if ((events & EPOLLOUT) && !conn_flush(t, c))
        return;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        conn_fill(t, c);
}

static void on_event(struct tcp *t, const struct epoll_event *e)
{
    enum tcp_source *source = e->data.ptr;
    uint64_t count;
    ssize_t n;
    switch (*source) {
    case TCP_WAKE:
        n = read(t->wake_fd, &count, sizeof count);
        (void)n;
        break;
    case TCP_LISTENER:
        gate_accept(t, e->data.ptr);
        break;
    case TCP_CONN:
        on_conn_event(t, e->data.ptr, e->events);
        break;
    }
}

/* Timers; returns the time of the next one. */
static int64_t run_timers(struct tcp *t)
{
    int64_t now = clock_now(), next = gate_tick(t, now);
    for (size_t i = 0; i < t->ndialed; i++)
        if (t->dialed[i])
            next = clock_min(next, dial_tick(t, t->dialed[i], now));
    return next;
}

static int wait_ms(int64_t deadline)
{
    if (deadline == CLOCK_NEVER)
        return 1000; /* receive may return spuriously */
    int64_t left = deadline - clock_now();
    if (left <= 0)
        return 0;
    return left > 1000 * CLOCK_SECOND ? 1000000 : (int)((left + CLOCK_MS - 1) / CLOCK_MS);
}

static enum skiff_status receive_tcp(struct transport *base, int64_t deadline,
                                     transport_peer *out_peer, struct packet *out_packet,
                                     struct skiff_error *err)
{
    struct tcp *t = (struct tcp *)base;
    struct epoll_event events[EVENTS];
    flush_dirty(t);
    if (take_ready(t, out_peer, out_packet))
        return SKIFF_OK;
    bury(t);
    int64_t next = run_timers(t);
    int ms = t->capacity || t->ready ? 0 : wait_ms(clock_min(deadline, next));
    t->capacity = false;
    int n = epoll_wait(t->epoll, events, EVENTS, ms);
    if (n < 0 && errno != EINTR)
        return error_set_sys(err, "cannot wait for the network");
    for (int i = 0; i < n; i++)
        on_event(t, &events[i]);
    return take_ready(t, out_peer, out_packet) ? SKIFF_OK : SKIFF_END;
}

static void wake_tcp(struct transport *base)
{
    uint64_t one = 1;
    ssize_t n = write(((struct tcp *)base)->wake_fd, &one, sizeof one);
    (void)n;
}

/* ---- the rest ---- */

static size_t backlog_tcp(struct transport *base, transport_peer peer)
{
    struct tcp_conn *c = find_conn((struct tcp *)base, peer);
    return c ? c->queued + c->out_end - c->out_start : 0;
}

static void describe_incoming(const struct tcp_conn *c, char *out, size_t capacity)
{
    char origin[TCP_ORIGIN];
    snprintf(out, capacity, "%s, %s", conn_origin(c, origin),
             c->encrypt ? "encrypted" : "authenticated");
}

static void describe_tcp(struct transport *base, transport_peer peer, char *out, size_t capacity)
{
    struct tcp *t = (struct tcp *)base;
    struct tcp_dialed *d = find_dialed(t, peer);
    struct tcp_conn *c = find_conn(t, peer);
    if (c && !d)
        describe_incoming(c, out, capacity);
    else if (d && !c && d->tries)
        snprintf(out, capacity, "no connection after %u tries%s%s", d->tries,
                 d->refusals ? ": " : "", d->refusals ? d->why.message : "");
    else
        snprintf(out, capacity, "%s", c ? "connected" : d ? "connecting" : "gone");
}

static enum skiff_status refused_tcp(struct transport *base, transport_peer peer,
                                     struct skiff_error *err)
{
    struct tcp_dialed *d = find_dialed((struct tcp *)base, peer);
    if (!d || d->refused.code == SKIFF_OK)
        return SKIFF_OK;
    if (err)
        *err = d->refused;
    return d->refused.code;
}

#define CLOSED_TRIES 4 /* over a third of a second, with the pauses between attempts */

static bool has_ended_tcp(struct transport *base, transport_peer peer)
{
    struct tcp_dialed *d = find_dialed((struct tcp *)base, peer);
    return d && d->was_up && d->closed >= CLOSED_TRIES;
}

static const char *last_unauthenticated_tcp(struct transport *base)
{
    return ((struct tcp *)base)->last_unauthenticated;
}

/* Gives queued packets some time to be sent. */
static void linger(struct tcp *t)
{
    int64_t end = clock_now() + t->options.linger_ms * CLOCK_MS;
    flush_dirty(t);
    for (size_t i = 0; i < t->ndialed + t->nslots; i++) {
        struct tcp_dialed *d = i < t->ndialed ? t->dialed[i] : NULL;
        struct tcp_conn *c = i < t->ndialed ? (d ? d->conn : NULL) : t->slots[i - t->ndialed];
        while (c && c->state == TCP_UP && c->wants_out && clock_now() < end) {
            struct pollfd p = {.fd = c->fd, .events = POLLOUT};
            poll(&p, 1, wait_ms(end));
            conn_flush(t, c);
        }
    }
}

static void close_tcp(struct transport *base)
{
    struct tcp *t = (struct tcp *)base;
    linger(t);
    gate_close(t);
    for (size_t i = 0; i < t->ndialed; i++)
        dial_destroy(t, t->dialed[i]);
    for (size_t i = 0; i < t->nslots; i++)
        if (t->slots[i])
            conn_close(t, t->slots[i]);
    for (struct tcp_conn *c = t->graveyard, *next; c; c = next) {
        next = c->next;
        conn_destroy(c);
    }
    close(t->epoll);
    close(t->wake_fd);
    secret_wipe(t->options.key, sizeof t->options.key);
    secret_wipe(t->pake_base, sizeof t->pake_base);
    secret_wipe(t->gate.tickets, sizeof t->gate.tickets);
    free(t->dialed);
    free(t->slots);
    free(t);
}

#define AT(field) offsetof(struct transport_options, field)

static const char *const encrypt_words[] = {"auto", "on", "off", NULL};

static const struct option rows[] = {
    {"encrypt", OPTION_CHOICE, AT(encrypt), .words = encrypt_words, .standard = "auto",
     .help = "on, off (data cannot be changed, but can be read), auto: on between machines"},
    {"peer_bytes", OPTION_SIZE, AT(peer_bytes), .standard = "64M",
     .help = "bytes in flight to one process before large messages wait"},
    {"linger_ms", OPTION_INT, AT(linger_ms), .low = 1, .high = 3600000, .standard = "1000",
     .help = "how long a process that ends waits until its last messages are sent"},
    {0}};
const struct options transport_tcp_settings = {.what = "setting of the transport", .rows = rows};

#define TCP_CALLS                                                                               \
    .sealed = true, .settings = &transport_tcp_settings, .listen = listen_tcp,                  \
    .connect = connect_tcp, .disconnect = disconnect_tcp, .send = send_tcp,                     \
    .receive = receive_tcp, .wake = wake_tcp, .backlog = backlog_tcp, .describe = describe_tcp, \
    .refused = refused_tcp, .has_ended = has_ended_tcp,                                         \
    .last_unauthenticated = last_unauthenticated_tcp, .close = close_tcp

extern const struct transport_kind transport_tcp, transport_ipc;
const struct transport_kind transport_tcp = {
    .name = "tcp", .summary = "TCP, sealed by the job's secret", .open = open_tcp, TCP_CALLS};
const struct transport_kind transport_ipc = {
    .name = "ipc",
    .summary = "the same, with local sockets between processes of one machine",
    .open = open_ipc,
    TCP_CALLS};
