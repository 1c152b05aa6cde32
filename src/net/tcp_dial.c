/* Outgoing connections, tried again and again until they are up, and again when they break.
 *
 * - A name may have several addresses (IPv4, IPv6): attempts cycle through them. After each cycle
 *   the name is looked up again, outside the network thread.
 * - Transport ipc tries the local socket first, and the port at once if no process, or a foreign
 *   one, listens at the socket. The socket's name (in the abstract name space: nothing is left on a
 *   disk) is made of the user's number and the address; all users of the machine can see it, so it
 *   contains nothing of the secret.
 * - While no process listens at a port of this machine that outgoing connections may use, too, an
 *   attempt can be given that very port as its own: TCP then connects it with itself, and the
 *   server could not listen there any more. Such a connection is closed.
 * - A process that answers with another secret or version is not a peer, but it may be one in
 *   between, or gone in a moment: the refusal is final only after REFUSALS answers in a row, and if
 *   the peer has never been up. The reason is kept for transport.refused. */
#include "net/tcp_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/host.h"

#define WAIT_FIRST (50 * CLOCK_MS) /* between two attempts; grows */
#define WAIT_LAST (1000 * CLOCK_MS)
#define REFUSALS 5 /* over a second and a half, with the pauses between attempts */
#define CONNECT_TIME \
    (CLOCK_SECOND) /* then a fresh attempt: the system itself waits longer and longer */
#define HANDSHAKE_TIME (10 * CLOCK_SECOND) /* under a flood a server may defer this one */

socklen_t dial_local_name(const struct tcp *t, const struct address *a, struct sockaddr_un *out)
{
    char text[ADDRESS_TEXT];
    address_print(a, text);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "skiff-%u-%016llx",
                     (unsigned)getuid(), (unsigned long long)hash_bytes(text, strlen(text)));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

struct tcp_dialed *dial_create(struct tcp *t, const struct address *a, transport_peer peer)
{
    struct tcp_dialed *d = mem_alloc_or_die(sizeof *d);
    d->address = *a;
    d->peer = peer;
    d->wait = WAIT_FIRST;
    if (t->by_local) {
        d->local_len = dial_local_name(t, a, &d->local_name);
        d->at_local = true;
    }
    return d;
}

static void forget_list(struct tcp_dialed *d)
{
    if (d->list)
        freeaddrinfo(d->list);
    d->list = d->at = NULL;
}

void dial_destroy(struct tcp *t, struct tcp_dialed *d)
{
    if (!d)
        return;
    if (d->conn)
        conn_close(t, d->conn);
    resolve_forget(d->resolve);
    forget_list(d);
    free(d);
}

/* The next attempt uses another address; at once, if this one was the local socket's. */
static void go_on(struct tcp_dialed *d, int64_t now)
{
    d->tries++;
    d->next_try = now + d->wait;
    if (d->at_local) {
        d->at_local = false;
        d->next_try = now;
        return;
    }
    d->wait = clock_min(2 * d->wait, WAIT_LAST);
    if (d->at)
        d->at = d->at->ai_next;
    if (!d->at)
        forget_list(d);
    d->at_local = d->local_len > 0;
}

void dial_lost(struct tcp *t, struct tcp_dialed *d, bool was_up)
{
    d->conn = NULL;
    if (was_up) {
        d->wait = WAIT_FIRST;
        d->next_try = clock_now() + WAIT_FIRST;
        d->at_local = d->local_len > 0;
    } else {
        go_on(d, clock_now());
    }
}

/* ---- the handshake, client's side ---- */

static void refuse(struct tcp *t, struct tcp_dialed *d, const struct skiff_error *err)
{
    bool local = d->conn->local;
    conn_close(t, d->conn);
    if (local || d->was_up)
        return;
    d->refusals = d->why.code == err->code ? d->refusals + 1 : 1;
    d->why = *err;
    if (d->refusals >= REFUSALS)
        d->refused = *err;
}

static void start_handshake(struct tcp *t, struct tcp_conn *c)
{
    struct handshake_wish wish;
    uint8_t first[HANDSHAKE_OPEN];
    conn_wish(t, c, &wish);
    handshake_first(&c->handshake, t->pake_base, &wish, &c->dialed->ticket, first);
    c->dialed->ticket.number = 0; /* it is valid only once */
    c->state = TCP_HANDSHAKE;
    c->since = clock_now();
    if (!conn_watch(t, c, false) || !conn_hand_over(c, first, sizeof first))
        conn_close(t, c);
}

static void on_answer(struct tcp *t, struct tcp_conn *c)
{
    struct skiff_error err;
    uint8_t proof[HANDSHAKE_PROOF];
    struct handshake_keys keys;
    enum skiff_status status = handshake_prove(&c->handshake, c->hand, proof, &err);
    if (status == SKIFF_OK)
        status = handshake_keys(&c->handshake, &keys, &err);
    secret_wipe(&keys, sizeof keys);
    /* another program at that port: it may end, and the job's server start */
    if (status == SKIFF_FORMAT) {
        conn_close(t, c);
    } else if (status < 0) {
        refuse(t, c->dialed, &err);
    } else {
        c->step = 1;
        c->nhand = 0;
        if (!conn_hand_over(c, proof, sizeof proof))
            conn_close(t, c);
    }
}

static void on_welcome(struct tcp *t, struct tcp_conn *c)
{
    struct skiff_error err;
    struct tcp_dialed *d = c->dialed;
    if (handshake_end(&c->handshake, c->hand, &err) < 0) {
        refuse(t, d, &err);
        return;
    }
    handshake_ticket(&c->handshake, &d->ticket);
    if (!conn_up(t, c)) {
        conn_close(t, c);
        return;
    }
    d->tries = 0;
    d->closed = 0;
    d->refusals = 0;
    d->was_up = true;
    d->wait = WAIT_FIRST;
    t->capacity = true; /* a waiting sender may try again */
}

/* Records the result of an attempt. A missing local socket means nothing: the port is next. */
static void note_listener(struct tcp_dialed *d, bool local, int code)
{
    if (!local)
        d->closed = code == ECONNREFUSED ? d->closed + 1 : 0;
}

static void on_connected(struct tcp *t, struct tcp_conn *c)
{
    int code = 0;
    socklen_t n = sizeof code;
    struct linger at_once = {.l_onoff = 1};
    bool known = getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &n) == 0;
    note_listener(c->dialed, c->local, code);
    if (!known || code != 0) {
        conn_close(t, c);
        /* closed without TIME_WAIT, in which TCP would keep its port */
    } else if (host_is_own_end(c->fd)) {
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        conn_close(t, c);
    } else {
        start_handshake(t, c);
    }
}

void dial_event(struct tcp *t, struct tcp_conn *c)
{
    bool ended;
    if (c->state == TCP_CONNECTING) {
        on_connected(t, c);
        return;
    }
    if (conn_hand_take(c, c->step ? HANDSHAKE_PROOF : HANDSHAKE_OPEN, &ended)) {
        if (c->step)
            on_welcome(t, c);
        else
            on_answer(t, c);
    } else if (ended || (!c->step && !handshake_begins(c->hand, c->nhand))) {
        conn_close(t, c);
    }
}

/* ---- connecting ---- */

void tcp_tune(int fd)
{
    int on = 1;
    unsigned dead_ms = 8000; /* a link is closed when bytes are unacknowledged for this long */
    int idle = 10, between = 5, probes = 3; /* seconds: detects a machine that has disappeared */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
}

/* One attempt, at the local socket or at d->at. */
static void connect_now(struct tcp *t, struct tcp_dialed *d, int64_t now)
{
    bool local = d->at_local;
    const struct sockaddr *to = local ? (struct sockaddr *)&d->local_name : d->at->ai_addr;
    socklen_t len = local ? d->local_len : d->at->ai_addrlen;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !local)
        tcp_tune(fd);
    int code = fd < 0 ? -1 : connect(fd, to, len);
    bool under_way = code < 0 && fd >= 0 && errno == EINPROGRESS;
    if (code == 0 || under_way)
        d->conn = conn_create(t, fd, TCP_CONNECTING, local);
    if (!d->conn) {
        note_listener(d, local, code < 0 ? errno : 0);
        if (fd >= 0)
            close(fd);
        go_on(d, now);
        return;
    }
    d->conn->dialed = d;
    d->conn->peer = d->peer;
    if (code == 0)
        on_connected(t, d->conn);
}

/* True: d->at is the address to connect to. */
static bool have_address(struct tcp *t, struct tcp_dialed *d, int64_t now)
{
    if (d->at)
        return true;
    if (!d->resolve)
        d->resolve = resolve_start(&d->address, t->wake_fd);
    if (d->resolve && !resolve_done(d->resolve, &d->list))
        return false;
    d->resolve = NULL;
    d->at = d->list;
    if (!d->at)
        go_on(d, now);
    return d->at != NULL;
}

int64_t dial_tick(struct tcp *t, struct tcp_dialed *d, int64_t now)
{
    struct tcp_conn *c = d->conn;
    if (d->refused.code < 0 || (c && c->state == TCP_UP))
        return CLOCK_NEVER;
    if (c) {
        int64_t end = c->since + (c->state == TCP_CONNECTING ? CONNECT_TIME : HANDSHAKE_TIME);
        if (now < end)
            return end;
        conn_close(t, c);
    }
    if (now >= d->next_try && (d->at_local || have_address(t, d, now)))
        connect_now(t, d, now);
    if (d->conn)
        return now + CONNECT_TIME;
    return d->resolve ? CLOCK_NEVER : d->next_try > now ? d->next_try : now + CLOCK_MS;
}
