/* ZeroMQ over TCP, and, as transport ipc, over local sockets, too. What others connect to is one
 * ROUTER; every address that we connect to has a DEALER of its own, so that a peer is a socket and
 * never shares a queue with another one.
 *
 * - A packet is two ZeroMQ pieces, head and body, behind the routing id on the ROUTER's side.
 *   Routing ids are those that the ROUTER makes up (0 and 32 bits): they are the peer numbers.
 *   Somebody who chose an id of his own is none of us, and his packets are thrown away.
 * - Bodies are not copied: the library holds a reference until the bytes have left (account). The
 *   account of a peer counts these bytes and is what send looks at before it says FULL.
 * - DEALERs hold packets only for a connection that stands (ZMQ_IMMEDIATE): a peer that is away
 *   collects nothing.
 * - ZeroMQ tries only the first address that a name has. A socket monitor tells us of each failed
 *   try, and we go on with the other family (IPv4, IPv6) next; it also counts for messages.
 * - ipc: whoever listens does so at a local socket besides its port; whoever connects tries the two
 *   in turns, the local one first. So processes of other machines, and those with transport zmq,
 *   reach it as well. The socket's name (in the abstract name space: nothing is left on a disk) is
 *   made of the job's key and the address: another job's process does not stand in the way.
 * - While nobody listens at a port of this machine that outgoing connections may use, too, a try
 *   can be given that very port as its own: TCP then connects it with itself, and the server could
 *   not listen there any more. Such a connection is thrown away. */
#include "net/transport.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/account.h"
#include "net/host.h"
#include "base/secret.h"

#define SMALL_BODY 1024    /* up to here a copy costs less than the bookkeeping */
#define SEND_PIECES 2000   /* per peer; bounds small packets as peer_bytes bounds large ones */
#define RECEIVE_PIECES 128 /* per peer, read ahead of us */
#define OUTGOING (UINT64_C(1) << 63)
#define ENDPOINT_TEXT (ADDRESS_TEXT + 16)

#ifdef __SANITIZE_THREAD__
/* libzmq is not built with the sanitizer, which therefore cannot see how it hands memory from one
 * thread to the other. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libzmq.so\ncalled_from_lib:libsodium.so\n";
}
#endif

/* An address that we connect to. */
struct dialed {
    void *socket, *monitor;
    struct address address;
    char endpoint[ENDPOINT_TEXT], local[ENDPOINT_TEXT]; /* local: "" for transport zmq */
    bool at_local;                                      /* where it tries, or stands */
    bool ipv6, connected, other_mechanism;
    unsigned tries;
    struct account *account;
};

enum item_kind { ITEM_WAKE, ITEM_ROUTER, ITEM_ROUTER_MONITOR, ITEM_DIALED, ITEM_DIALED_MONITOR };

/* Beside each poll item. */
struct item {
    enum item_kind kind;
    size_t dialed; /* index */
};

struct zmq_transport {
    struct transport base;
    struct transport_options options;
    bool local; /* transport ipc */
    void *context, *router, *router_monitor;
    struct dialed **dialed; /* a NULL is one that was disconnected */
    size_t ndialed;
    struct account_table accounts; /* of peers that came to us */
    zmq_pollitem_t *polls;
    struct item *items;
    size_t nitems, cursor;
    int wake_fd;
    uint64_t greeted; /* connections of others that got through the handshake */
    struct transport_stats stats;
};

/* ---- sockets ---- */

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* A key that both sides derive: whoever does not have the secret cannot even shake hands. */
static bool set_curve(struct zmq_transport *t, void *socket, bool server)
{
    uint8_t server_key[32], own_key[32];
    char server_secret[41], server_public[41], secret[41], public[41];
    const char *label = server ? "server" : "client";
    secret_mac(t->options.key, 32, "server", 6, server_key);
    secret_mac(t->options.key, 32, label, 6, own_key);
    bool ok = zmq_z85_encode(server_secret, server_key, 32) &&
              zmq_z85_encode(secret, own_key, 32) &&
              zmq_curve_public(server_public, server_secret) == 0 &&
              zmq_curve_public(public, secret) == 0;
    if (ok && server)
        ok = set_int(socket, ZMQ_CURVE_SERVER, 1);
    else if (ok)
        ok = zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_public, 40) == 0 &&
             zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, 40) == 0;
    ok = ok && zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, 40) == 0;
    secret_wipe(server_key, 32);
    secret_wipe(own_key, 32);
    secret_wipe(server_secret, sizeof server_secret);
    secret_wipe(secret, sizeof secret);
    return ok;
}

/* A PAIR on which the library reports what happens to a socket's connections. Its queue has no
 * limit: the library's thread would wait for room, with a lock that closing the socket takes. */
static void *monitor_open(struct zmq_transport *t, void *socket)
{
    char name[64];
    snprintf(name, sizeof name, "inproc://monitor-%p", socket);
    if (zmq_socket_monitor(socket, name, ZMQ_EVENT_ALL) != 0)
        return NULL;
    void *monitor = zmq_socket(t->context, ZMQ_PAIR);
    if (monitor && (!set_int(monitor, ZMQ_LINGER, 0) || !set_int(monitor, ZMQ_RCVHWM, 0) ||
                    zmq_connect(monitor, name) != 0)) {
        zmq_close(monitor);
        monitor = NULL;
    }
    return monitor;
}

static void socket_close(void *socket, void *monitor)
{
    if (socket) {
        zmq_socket_monitor(socket, NULL, 0);
        zmq_close(socket);
    }
    if (monitor)
        zmq_close(monitor);
}

static enum skiff_status socket_open(struct zmq_transport *t, int type, void **out_socket,
                                     void **out_monitor, struct skiff_error *err)
{
    void *socket = zmq_socket(t->context, type);
    int64_t body_max = (int64_t)t->options.body_max + 256; /* encryption adds some bytes */
    bool ok =
        socket && set_int(socket, ZMQ_LINGER, t->options.linger_ms) &&
        set_int(socket, ZMQ_SNDHWM, SEND_PIECES) && set_int(socket, ZMQ_RCVHWM, RECEIVE_PIECES) &&
        zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &body_max, sizeof body_max) == 0 &&
        set_int(socket, ZMQ_HANDSHAKE_IVL, 5000) && set_int(socket, ZMQ_BACKLOG, 1024) &&
        set_int(socket, ZMQ_HEARTBEAT_IVL, 2000) && set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, 8000) &&
        set_int(socket, ZMQ_CONNECT_TIMEOUT, 3000) && set_int(socket, ZMQ_RECONNECT_IVL, 50) &&
        set_int(socket, ZMQ_RECONNECT_IVL_MAX, 1000);
    ok = ok && (type == ZMQ_ROUTER ? set_int(socket, ZMQ_ROUTER_MANDATORY, 1)
                                   : set_int(socket, ZMQ_IMMEDIATE, 1));
    ok = ok && (!t->options.encrypt || set_curve(t, socket, type == ZMQ_ROUTER));
    void *monitor = ok ? monitor_open(t, socket) : NULL;
    if (!monitor) {
        int code = zmq_errno();
        socket_close(socket, NULL);
        return error_set(err, SKIFF_IO, "ZeroMQ socket: %s", zmq_strerror(code));
    }
    *out_socket = socket;
    *out_monitor = monitor;
    return SKIFF_OK;
}

static void add_item(struct zmq_transport *t, enum item_kind kind, void *socket, int fd,
                     size_t dialed)
{
    t->polls[t->nitems] = (zmq_pollitem_t){.socket = socket, .fd = fd, .events = ZMQ_POLLIN};
    t->items[t->nitems++] = (struct item){kind, dialed};
}

/* What receive waits for, after a socket has come or gone. */
static void list_items(struct zmq_transport *t)
{
    size_t most = 3 + 2 * t->ndialed;
    t->polls = mem_must_grow(t->polls, most * sizeof *t->polls);
    t->items = mem_must_grow(t->items, most * sizeof *t->items);
    t->nitems = 0;
    add_item(t, ITEM_WAKE, NULL, t->wake_fd, 0);
    if (t->router) {
        add_item(t, ITEM_ROUTER, t->router, 0, 0);
        add_item(t, ITEM_ROUTER_MONITOR, t->router_monitor, 0, 0);
    }
    for (size_t i = 0; i < t->ndialed; i++)
        if (t->dialed[i]) {
            add_item(t, ITEM_DIALED, t->dialed[i]->socket, 0, i);
            add_item(t, ITEM_DIALED_MONITOR, t->dialed[i]->monitor, 0, i);
        }
}

/* ---- open, listen, connect ---- */

static enum skiff_status open_as(const char *name, const struct transport_options *options,
                                 struct transport **out, struct skiff_error *err)
{
    if (options->encrypt && !zmq_has("curve"))
        return error_set(err, SKIFF_UNSUPPORTED, "this ZeroMQ library is built without encryption");
    void *context = zmq_ctx_new();
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!context || wake_fd < 0) {
        if (context)
            zmq_ctx_term(context);
        return error_set_sys(err, "cannot start ZeroMQ");
    }
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 16384);
    struct zmq_transport *t = mem_must(sizeof *t);
    t->base.kind = transport_find(name);
    t->local = !strcmp(name, "ipc");
    t->options = *options;
    if (!t->options.body_max)
        t->options.body_max = (size_t)16 << 20;
    if (!t->options.peer_bytes)
        t->options.peer_bytes = (size_t)64 << 20;
    if (!t->options.linger_ms)
        t->options.linger_ms = 1000;
    t->context = context;
    t->wake_fd = wake_fd;
    accounts_init(&t->accounts, t->options.peer_bytes, wake_fd);
    list_items(t);
    *out = &t->base;
    return SKIFF_OK;
}

static enum skiff_status open_zmq(const struct transport_options *options, struct transport **out,
                                  struct skiff_error *err)
{
    return open_as("zmq", options, out, err);
}

static enum skiff_status open_ipc(const struct transport_options *options, struct transport **out,
                                  struct skiff_error *err)
{
    return open_as("ipc", options, out, err);
}

/* The local socket that stands for an address in this job. */
static void local_endpoint(const struct zmq_transport *t, const struct address *a,
                           char out[ENDPOINT_TEXT])
{
    char text[ADDRESS_TEXT];
    uint8_t mac[SECRET_BYTES];
    address_print(a, text);
    secret_mac(t->options.key, sizeof t->options.key, text, strlen(text), mac);
    int n = snprintf(out, ENDPOINT_TEXT, "ipc://@skiff-");
    for (int i = 0; i < 16; i++)
        n += snprintf(out + n, ENDPOINT_TEXT - (size_t)n, "%02x", mac[i]);
}

static enum skiff_status bind_failed(const char *address, int code, struct skiff_error *err)
{
    if (code == EADDRINUSE)
        return error_set(err, SKIFF_IO,
                         "cannot listen on %s: the port is in use by another process (ss -ltnp "
                         "shows which)",
                         address);
    if (code == EADDRNOTAVAIL || code == ENODEV)
        return error_set(err, SKIFF_IO, "cannot listen on %s: this machine has no such address",
                         address);
    return error_set(err, SKIFF_IO, "cannot listen on %s: %s", address, zmq_strerror(code));
}

/* Binds to one address; port 0 takes a free one and is then set. */
static enum skiff_status bind_one(struct zmq_transport *t, struct address *a,
                                  const char *user_address, struct skiff_error *err)
{
    char text[ADDRESS_TEXT], endpoint[ENDPOINT_TEXT], bound[ENDPOINT_TEXT];
    size_t room = sizeof bound;
    address_print(a, text);
    snprintf(endpoint, sizeof endpoint, "tcp://%s", text);
    set_int(t->router, ZMQ_IPV6, a->family != ADDRESS_IPV4);
    if (zmq_bind(t->router, endpoint) != 0 ||
        zmq_getsockopt(t->router, ZMQ_LAST_ENDPOINT, bound, &room) != 0)
        return bind_failed(user_address, zmq_errno(), err);
    const char *port = strrchr(bound, ':');
    if (port)
        a->port = (uint16_t)strtol(port + 1, NULL, 10);
    return SKIFF_OK;
}

/* Binds to every address of a name (localhost: 127.0.0.1 and ::1); one must work. */
static enum skiff_status bind_name(struct zmq_transport *t, struct address *a,
                                   const char *user_address, struct skiff_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int code = getaddrinfo(a->host, NULL, &hints, &list);
    if (code != 0)
        return error_set(err, SKIFF_NOT_FOUND, "cannot listen on %s: the name is not known: %s",
                         user_address, gai_strerror(code));
    enum skiff_status status = SKIFF_NOT_FOUND;
    bool bound = false;
    for (struct addrinfo *i = list; i; i = i->ai_next) {
        struct address one = {.family = i->ai_family == AF_INET6 ? ADDRESS_IPV6 : ADDRESS_IPV4,
                              .port = a->port};
        if (getnameinfo(i->ai_addr, i->ai_addrlen, one.host, sizeof one.host, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        status = bind_one(t, &one, user_address, err);
        if (status == SKIFF_OK) {
            a->port = one.port;
            bound = true;
        }
    }
    freeaddrinfo(list);
    return bound ? SKIFF_OK : status;
}

static enum skiff_status listen_zmq(struct transport *base, const char *address, char *out_bound,
                                    struct skiff_error *err)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct address a;
    TRY(address_parse(address, &a, err));
    if (!t->router) {
        TRY(socket_open(t, ZMQ_ROUTER, &t->router, &t->router_monitor, err));
        list_items(t);
    }
    TRY(a.family == ADDRESS_NAME ? bind_name(t, &a, address, err) : bind_one(t, &a, address, err));
    if (t->local) {
        char local[ENDPOINT_TEXT];
        local_endpoint(t, &a, local);
        if (zmq_bind(t->router, local) != 0)
            return bind_failed(address, zmq_errno(), err);
    }
    if (out_bound)
        address_print(&a, out_bound);
    return SKIFF_OK;
}

static const char *target(const struct dialed *d)
{
    return d->at_local ? d->local : d->endpoint;
}

static enum skiff_status connect_zmq(struct transport *base, const char *address,
                                     transport_peer *out_peer, struct skiff_error *err)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct dialed d = {.tries = 0};
    char text[ADDRESS_TEXT];
    TRY(address_parse(address, &d.address, err));
    if (d.address.family == ADDRESS_ANY || d.address.port == 0)
        return error_set(err, SKIFF_INVALID, "cannot connect to %s: it names no host and port",
                         address);
    TRY(socket_open(t, ZMQ_DEALER, &d.socket, &d.monitor, err));
    address_print(&d.address, text);
    snprintf(d.endpoint, sizeof d.endpoint, "tcp://%s", text);
    d.ipv6 = d.address.family == ADDRESS_IPV6;
    set_int(d.socket, ZMQ_IPV6, d.ipv6);
    d.at_local = t->local;
    if (t->local)
        local_endpoint(t, &d.address, d.local);
    if (zmq_connect(d.socket, target(&d)) != 0) {
        int code = zmq_errno();
        socket_close(d.socket, d.monitor);
        return error_set(err, SKIFF_IO, "cannot connect to %s: %s", address, zmq_strerror(code));
    }
    transport_peer peer = OUTGOING | t->ndialed;
    d.account = account_create(&t->accounts, peer);
    struct dialed *kept = mem_must(sizeof *kept);
    *kept = d;
    t->dialed = mem_must_grow(t->dialed, (t->ndialed + 1) * sizeof *t->dialed);
    t->dialed[t->ndialed++] = kept;
    list_items(t);
    *out_peer = peer;
    return SKIFF_OK;
}

static struct dialed *find_dialed(struct zmq_transport *t, transport_peer peer)
{
    size_t i = (size_t)(peer & ~OUTGOING);
    return (peer & OUTGOING) && i < t->ndialed ? t->dialed[i] : NULL;
}

static void dialed_destroy(struct dialed *d)
{
    if (!d)
        return;
    socket_close(d->socket, d->monitor);
    account_unref(d->account);
    free(d);
}

static void disconnect_zmq(struct transport *base, transport_peer peer)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct dialed *d = find_dialed(t, peer);
    if (d) {
        dialed_destroy(d);
        t->dialed[peer & ~OUTGOING] = NULL;
        list_items(t);
    }
}

/* ---- send ---- */

static void make_body(struct account *a, const struct packet *packet, zmq_msg_t *msg)
{
    void *from = (void *)packet_body(packet);
    if (packet->len <= SMALL_BODY) {
        zmq_msg_init_size(msg, packet->len);
        memcpy(zmq_msg_data(msg), from, packet->len);
        return;
    }
    zmq_msg_init_data(msg, from, packet->len, loan_end, loan_create(a, packet->body, packet->len));
}

static bool send_piece(void *socket, const void *bytes, size_t len, int more)
{
    int n;
    do
        n = zmq_send(socket, bytes, len, ZMQ_DONTWAIT | more);
    while (n < 0 && zmq_errno() == EINTR);
    return n >= 0;
}

static enum transport_sent send_zmq(struct transport *base, transport_peer peer,
                                    const struct packet *packet)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct dialed *d = find_dialed(t, peer);
    void *socket = d ? d->socket : t->router;
    if ((!d && (peer & OUTGOING)) || !socket)
        return TRANSPORT_GONE;
    struct account *a = d ? d->account : account_of(&t->accounts, peer);
    if (packet->len > SMALL_BODY && account_full(a))
        return TRANSPORT_FULL;
    if (!d) {
        uint8_t id[5] = {0, (uint8_t)(peer >> 24), (uint8_t)(peer >> 16), (uint8_t)(peer >> 8),
                         (uint8_t)peer};
        if (!send_piece(socket, id, sizeof id, ZMQ_SNDMORE))
            return zmq_errno() == EAGAIN ? TRANSPORT_FULL : TRANSPORT_GONE;
    }
    if (!send_piece(socket, packet->head, packet->head_len, ZMQ_SNDMORE))
        return TRANSPORT_FULL;
    zmq_msg_t body;
    make_body(a, packet, &body);
    int n;
    do
        n = zmq_msg_send(&body, socket, ZMQ_DONTWAIT);
    while (n < 0 && zmq_errno() == EINTR);
    if (n < 0)
        zmq_msg_close(&body); /* a connection that broke between two pieces: the packet is lost */
    return TRANSPORT_SENT;
}

/* ---- receive ---- */

static void release_message(struct blob *b)
{
    zmq_msg_close(b->owner);
    free(b->owner);
    free(b);
}

static bool receive_piece(void *socket, zmq_msg_t *msg)
{
    int n;
    do
        n = zmq_msg_recv(msg, socket, ZMQ_DONTWAIT);
    while (n < 0 && zmq_errno() == EINTR);
    return n >= 0;
}

/* Reads what is left of a packet of pieces that make no sense. */
static void skip_pieces(struct zmq_transport *t, void *socket, bool more)
{
    zmq_msg_t rest;
    zmq_msg_init(&rest);
    while (more && receive_piece(socket, &rest))
        more = zmq_msg_more(&rest);
    zmq_msg_close(&rest);
    t->stats.malformed++;
}

/* Routing id -> peer number; false for an id that the ROUTER did not make up. */
static bool read_id(zmq_msg_t *msg, transport_peer *out_peer)
{
    const uint8_t *p = zmq_msg_data(msg);
    if (zmq_msg_size(msg) != 5 || p[0] != 0)
        return false;
    *out_peer = (uint64_t)p[1] << 24 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 8 | p[4];
    return true;
}

static void take_body(zmq_msg_t *msg, struct packet *out)
{
    out->len = zmq_msg_size(msg);
    out->offset = 0;
    out->body = NULL;
    if (out->len == 0)
        return;
    zmq_msg_t *kept = mem_must(sizeof *kept);
    zmq_msg_init(kept);
    zmq_msg_move(kept, msg);
    out->body = blob_wrap(zmq_msg_data(kept), out->len, release_message, kept);
}

/* The pieces of one packet. END: nothing is there; FORMAT: it was thrown away. */
static enum skiff_status receive_packet(struct zmq_transport *t, void *socket, bool routed,
                                        transport_peer *out_peer, struct packet *out)
{
    zmq_msg_t msg;
    zmq_msg_init(&msg);
    enum skiff_status status = SKIFF_FORMAT;
    if (!receive_piece(socket, &msg)) {
        zmq_msg_close(&msg);
        return SKIFF_END;
    }
    bool good =
        !routed || (read_id(&msg, out_peer) && zmq_msg_more(&msg) && receive_piece(socket, &msg));
    size_t n = zmq_msg_size(&msg);
    if (good && n >= 1 && n <= PACKET_HEAD && zmq_msg_more(&msg)) {
        out->head_len = n;
        memcpy(out->head, zmq_msg_data(&msg), n);
        if (receive_piece(socket, &msg) && !zmq_msg_more(&msg)) {
            take_body(&msg, out);
            status = SKIFF_OK;
        }
    }
    if (status < 0)
        skip_pieces(t, socket, zmq_msg_more(&msg));
    zmq_msg_close(&msg);
    return status;
}

/* The next try goes to the other family, or the other kind of socket, when there is a choice. */
static void dial_elsewhere(struct dialed *d)
{
    bool named = d->address.family == ADDRESS_NAME;
    if ((!named && !d->local[0]) || zmq_disconnect(d->socket, target(d)) != 0)
        return;
    if (named && !d->at_local) {
        d->ipv6 = !d->ipv6;
        set_int(d->socket, ZMQ_IPV6, d->ipv6);
    }
    d->at_local = d->local[0] && !d->at_local;
    zmq_connect(d->socket, target(d));
}

/* Drops a connection with ourselves, without the time that TCP keeps its port for. */
static void dial_again(struct dialed *d, int fd)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    d->tries++;
    if (zmq_disconnect(d->socket, target(d)) == 0)
        zmq_connect(d->socket, target(d));
}

/* One event of a monitor; d is NULL for the ROUTER's. False: no more events. */
static bool read_event(struct zmq_transport *t, void *monitor, struct dialed *d)
{
    zmq_msg_t msg;
    uint16_t event = 0;
    uint32_t value = 0;
    zmq_msg_init(&msg);
    bool got = receive_piece(monitor, &msg);
    if (got && zmq_msg_size(&msg) >= sizeof event + sizeof value) {
        memcpy(&event, zmq_msg_data(&msg), sizeof event);
        memcpy(&value, (char *)zmq_msg_data(&msg) + sizeof event, sizeof value);
    }
    while (got && zmq_msg_more(&msg) && receive_piece(monitor, &msg))
        ;
    zmq_msg_close(&msg);
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        t->stats.accepted++;
        break;
    case ZMQ_EVENT_CONNECTED:
        if (d && host_is_own_end((int)value))
            dial_again(d, (int)value);
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        if (d) {
            d->connected = true;
            d->tries = 0;
        } else {
            t->greeted++;
        }
        break;
    case ZMQ_EVENT_DISCONNECTED:
        t->stats.lost++;
        if (d)
            d->connected = false;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        if (d) {
            d->tries++;
            d->other_mechanism = value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
            t->stats.strangers++;
        }
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:
        if (d && !d->connected) {
            d->tries++;
            dial_elsewhere(d);
        }
        break;
    }
    return got;
}

/* Serves one poll item that is ready. OK: a packet; END: this item has no more. */
static enum skiff_status serve_item(struct zmq_transport *t, const struct item *item,
                                    transport_peer *out_peer, struct packet *out)
{
    struct dialed *d = t->ndialed ? t->dialed[item->dialed] : NULL;
    enum skiff_status status = SKIFF_END;
    switch (item->kind) {
    case ITEM_ROUTER:
        while ((status = receive_packet(t, t->router, true, out_peer, out)) == SKIFF_FORMAT)
            ;
        break;
    case ITEM_DIALED:
        *out_peer = OUTGOING | item->dialed;
        while ((status = receive_packet(t, d->socket, false, out_peer, out)) == SKIFF_FORMAT)
            ;
        break;
    case ITEM_ROUTER_MONITOR:
        while (read_event(t, t->router_monitor, NULL))
            ;
        break;
    case ITEM_DIALED_MONITOR:
        while (read_event(t, d->monitor, d))
            ;
        break;
    case ITEM_WAKE:
        break;
    }
    return status;
}

/* A packet of one of the items that the last poll found ready, in turns. */
static bool serve_ready(struct zmq_transport *t, transport_peer *out_peer, struct packet *out)
{
    for (size_t i = 0; i < t->nitems; i++) {
        size_t at = (t->cursor + i) % t->nitems;
        if (t->items[at].kind == ITEM_WAKE || !(t->polls[at].revents & ZMQ_POLLIN))
            continue;
        if (serve_item(t, &t->items[at], out_peer, out) == SKIFF_OK) {
            t->cursor = at + 1;
            return true;
        }
        t->polls[at].revents = 0;
    }
    return false;
}

static long wait_ms(int64_t deadline)
{
    if (deadline == CLOCK_NEVER)
        return 1000; /* receive may return without reason */
    int64_t left = deadline - clock_now();
    if (left <= 0)
        return 0;
    return left > 3600 * CLOCK_SECOND ? 3600000 : (long)((left + CLOCK_MS - 1) / CLOCK_MS);
}

static enum skiff_status receive_zmq(struct transport *base, int64_t deadline,
                                     transport_peer *out_peer, struct packet *out_packet,
                                     struct skiff_error *err)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    if (serve_ready(t, out_peer, out_packet))
        return SKIFF_OK;
    int n = zmq_poll(t->polls, (int)t->nitems, wait_ms(deadline));
    if (n < 0 && zmq_errno() != EINTR)
        return error_set(err, SKIFF_IO, "ZeroMQ poll: %s", zmq_strerror(zmq_errno()));
    if (n <= 0)
        return SKIFF_END;
    if (t->polls[0].revents & ZMQ_POLLIN) {
        uint64_t count;
        ssize_t got = read(t->wake_fd, &count, sizeof count);
        (void)got;
    }
    return serve_ready(t, out_peer, out_packet) ? SKIFF_OK : SKIFF_END;
}

static void wake_zmq(struct transport *base)
{
    account_wake(((struct zmq_transport *)base)->wake_fd);
}

/* ---- the rest ---- */

static size_t backlog_zmq(struct transport *base, transport_peer peer)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct dialed *d = find_dialed(t, peer);
    return account_bytes(d ? d->account : account_find(&t->accounts, peer));
}

static void describe_zmq(struct transport *base, transport_peer peer, char *out, size_t room)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    struct dialed *d = find_dialed(t, peer);
    if (d && !d->connected && d->tries)
        snprintf(out, room, "no connection after %u tries%s", d->tries,
                 d->other_mechanism ? ": one side encrypts, the other does not (SKIFF_TRANSPORT)"
                                    : "");
    else
        snprintf(out, room, "%s",
                 (peer & OUTGOING) && !d ? "gone"
                 : d && !d->connected    ? "connecting"
                                         : "connected");
}

static void stats_zmq(struct transport *base, struct transport_stats *out)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    *out = t->stats;
    out->strangers += t->stats.accepted - t->greeted;
}

static void close_zmq(struct transport *base)
{
    struct zmq_transport *t = (struct zmq_transport *)base;
    for (size_t i = 0; i < t->ndialed; i++)
        dialed_destroy(t->dialed[i]);
    socket_close(t->router, t->router_monitor);
    while (zmq_ctx_term(t->context) != 0 && zmq_errno() == EINTR)
        ;
    accounts_deinit(&t->accounts);
    close(t->wake_fd);
    secret_wipe(t->options.key, sizeof t->options.key);
    free(t->dialed);
    free(t->polls);
    free(t->items);
    free(t);
}

#define AT(field) offsetof(struct transport_options, field)

static const struct option rows[] = {
    {"encrypt", OPTION_BOOL, AT(encrypt),
     .help = "links are encrypted by a key that is made of the job's secret; for all or for none"},
    {"peer_bytes", OPTION_SIZE, AT(peer_bytes), .standard = "64M",
     .help = "on their way to one process before large messages wait"},
    {"linger_ms", OPTION_INT, AT(linger_ms), .low = 1, .high = 3600000, .standard = "1000",
     .help = "how long a process that ends waits for its last messages to leave"},
    {0}};
const struct options transport_zmq_settings = {.what = "setting of the transport", .rows = rows};

#define ZMQ_CALLS                                                                             \
    .settings = &transport_zmq_settings, .listen = listen_zmq, .connect = connect_zmq,        \
    .disconnect = disconnect_zmq, .send = send_zmq, .receive = receive_zmq, .wake = wake_zmq, \
    .backlog = backlog_zmq, .describe = describe_zmq, .stats = stats_zmq, .close = close_zmq

extern const struct transport_kind transport_zmq, transport_ipc;
const struct transport_kind transport_zmq = {
    .name = "zmq", .summary = "ZeroMQ over TCP", .open = open_zmq, ZMQ_CALLS};
const struct transport_kind transport_ipc = {
    .name = "ipc",
    .summary = "the same, by local sockets between processes of one machine",
    .open = open_ipc,
    ZMQ_CALLS};
