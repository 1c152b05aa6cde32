/* The gate: incoming connections, until they are authenticated.
 *
 * Any process that can reach the port can connect, so nothing here may cost much or last long:
 *
 * - An unauthenticated peer takes a descriptor, less than a kilobyte and HANDSHAKE_TIME; 64 bytes
 *   are read from it before it has proven itself, and its first wrong byte closes the connection.
 *   There are at most `most` such peers at once, and a fraction of the process's descriptors, so
 *   that members keep theirs. When one more connects, one is closed that has had the time to send
 *   the next message and has not: a process of the job is through within two round trips.
 * - Rate limits: connections accepted a second, and answers a second (an answer takes 200 us of
 *   computing, so 400 are 8 % of one processor). First messages over the limit wait; the next one
 *   served is chosen at random, and so is the one closed when all waiting peers have just
 *   connected: a flood delays a member, which tries again, but does not lock it out. A peer that
 *   shows a ticket of an earlier connection is served at once: links that break under a flood come
 *   back.
 * - When the limit of connections is used up, the listening sockets are not polled for a while; the
 *   system keeps new connections in its own queue. A short queue would drop members together with
 *   the rest, and they would retry only after seconds; TCP takes at most 64 KB for each connection
 *   in it. */
#define _GNU_SOURCE /* accept4 */
#include "net/tcp_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define UNAUTHENTICATED_MOST 128
#define ACCEPTS_A_SECOND 600.0
#define ACCEPTS_AT_ONCE 256.0
#define HELLOS_A_SECOND 400.0
#define HELLOS_AT_ONCE 64.0
#define HANDSHAKE_TIME (5 * CLOCK_SECOND)
#define PAUSE (10 * CLOCK_MS)
#define NO_DESCRIPTOR (100 * CLOCK_MS) /* the pause when the process has no descriptor left */
#define QUEUE 1024
#define FIRST_TIME (100 * CLOCK_MS) /* to send FIRST, and PROOF, when others wait for the slot */
#define PROOF_TIME (500 * CLOCK_MS)

void gate_init(struct tcp *t)
{
    struct rlimit limit;
    struct tcp_gate *g = &t->gate;
    g->most = UNAUTHENTICATED_MOST;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < g->most)
        g->most = limit.rlim_cur / 8 > 4 ? (size_t)limit.rlim_cur / 8 : 4;
    g->accepts = ACCEPTS_AT_ONCE;
    g->hellos = HELLOS_AT_ONCE;
    g->refilled = clock_now();
    g->listening = true;
}

/* ---- listening ---- */

static enum skiff_status listen_failed(const char *address, struct skiff_error *err)
{
    if (errno == EADDRINUSE)
        return error_set(err, SKIFF_IO,
                         "cannot listen on %s: the port is in use by another process (ss -ltnp "
                         "shows which)",
                         address);
    if (errno == EADDRNOTAVAIL || errno == ENODEV)
        return error_set(err, SKIFF_IO, "cannot listen on %s: this machine has no such address",
                         address);
    return error_set_sys(err, "cannot listen on %s", address);
}

static void add_listener(struct tcp *t, int fd, bool local)
{
    struct tcp_listener *l = mem_alloc_or_die(sizeof *l);
    *l = (struct tcp_listener){TCP_LISTENER, fd, local};
    struct epoll_event e = {.events = t->gate.listening ? EPOLLIN : 0, .data.ptr = l};
    epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e);
    t->listeners =
        mem_grow_or_die(t->listeners, (t->nlisteners + 1) * sizeof(struct tcp_listener *));
    t->listeners[t->nlisteners++] = l;
}

/* A listening socket; -1 with errno. */
static int open_socket(const struct sockaddr *a, socklen_t len, bool only_v6)
{
    int on = 1, six = only_v6;
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (a->sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &six, sizeof six);
    if (bind(fd, a, len) < 0 || listen(fd, QUEUE) < 0) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static void set_port(struct sockaddr *a, uint16_t port)
{
    if (a->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)a)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)a)->sin_port = htons(port);
}

/* Every interface, IPv4 and IPv6 (where the system has it). */
static enum skiff_status listen_any(struct tcp *t, struct address *a, const char *address,
                                    struct skiff_error *err)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    int fd = open_socket((struct sockaddr *)&six, sizeof six, false);
    if (fd < 0 && errno != EADDRINUSE)
        fd = open_socket((struct sockaddr *)&four, sizeof four, false);
    if (fd < 0)
        return listen_failed(address, err);
    a->port = port_of(fd);
    add_listener(t, fd, false);
    return SKIFF_OK;
}

/* Listens at every address of a name (localhost: 127.0.0.1 and ::1); one must work. Port 0 takes a
 * free one, the same for all. */
static enum skiff_status listen_named(struct tcp *t, struct address *a, const char *address,
                                      struct skiff_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = a->family == ADDRESS_NAME ? 0 : AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(a->host, NULL, &hints, &list), listening = 0;
    if (code != 0)
        return error_set(err, SKIFF_NOT_FOUND, "cannot listen on %s: the name is not known: %s",
                         address, gai_strerror(code));
    enum skiff_status status = SKIFF_NOT_FOUND;
    for (struct addrinfo *i = list; i; i = i->ai_next) {
        set_port(i->ai_addr, a->port);
        int fd = open_socket(i->ai_addr, i->ai_addrlen, true);
        if (fd < 0) {
            status = listen_failed(address, err);
            continue;
        }
        a->port = port_of(fd);
        add_listener(t, fd, false);
        listening++;
    }
    freeaddrinfo(list);
    return listening ? SKIFF_OK : status;
}

enum skiff_status gate_listen(struct tcp *t, const char *address, char *out_bound,
                              struct skiff_error *err)
{
    struct address a;
    TRY(address_parse(address, &a, err));
    TRY(a.family == ADDRESS_ANY ? listen_any(t, &a, address, err)
                                : listen_named(t, &a, address, err));
    if (t->by_local) {
        struct sockaddr_un name;
        socklen_t len = dial_local_name(t, &a, &name);
        int fd = open_socket((struct sockaddr *)&name, len, false);
        if (fd >= 0) /* otherwise clients connect by the port */
            add_listener(t, fd, true);
    }
    if (out_bound)
        address_print(&a, out_bound);
    return SKIFF_OK;
}

void gate_close(struct tcp *t)
{
    for (size_t i = 0; i < t->nlisteners; i++) {
        close(t->listeners[i]->fd);
        free(t->listeners[i]);
    }
    free(t->listeners);
    t->listeners = NULL;
    t->nlisteners = 0;
}

/* ---- unauthenticated peers ---- */

void gate_forget(struct tcp *t, struct tcp_conn *c)
{
    struct tcp_gate *g = &t->gate;
    *(c->older ? &c->older->newer : &g->oldest) = c->newer;
    *(c->newer ? &c->newer->older : &g->newest) = c->older;
    c->older = c->newer = NULL;
    g->unauthenticated--;
    if (c->waits_turn)
        g->waiting--;
    c->waits_turn = false;
}

/* The peer is refused: counts it, and keeps its address for the log. */
static void turn_away(struct tcp *t, struct tcp_conn *c, struct metric *count)
{
    int64_t now = clock_now();
    metric_add(count, 1);
    if (now - t->gate.looked > CLOCK_SECOND / 10 || count == t->counts.no_secret) {
        conn_origin(c, t->last_unauthenticated);
        t->gate.looked = now;
    }
    conn_close(t, c);
}

/* Has it had the time to send the next message? */
static bool is_slow(const struct tcp_conn *c, int64_t now)
{
    return !c->waits_turn && now - c->since > (c->step ? PROOF_TIME : FIRST_TIME);
}

/* A random number below n. */
static size_t lot(size_t n)
{
    uint32_t drawn;
    secret_random(&drawn, sizeof drawn);
    return drawn % n;
}

/* Makes space for one more: closes a slow peer, or else any. */
static void make_space(struct tcp *t)
{
    int64_t now = clock_now();
    struct tcp_conn *c = t->gate.oldest;
    while (c && !is_slow(c, now))
        c = c->newer;
    if (!c) {
        c = t->gate.oldest;
        for (size_t skip = lot(t->gate.unauthenticated); skip && c->newer; skip--)
            c = c->newer;
    }
    turn_away(t, c, t->counts.silent);
}

static bool find_slot(struct tcp *t, size_t *out)
{
    for (size_t i = 0; i < t->nslots; i++)
        if (!t->slots[i]) {
            *out = i;
            return true;
        }
    if (t->nslots >= 1u << TCP_SLOT_BITS)
        return false;
    size_t more = t->nslots ? 2 * t->nslots : 64;
    t->slots = mem_grow_or_die(t->slots, more * sizeof(struct tcp_conn *));
    memset(t->slots + t->nslots, 0, (more - t->nslots) * sizeof(struct tcp_conn *));
    *out = t->nslots;
    t->nslots = more;
    return true;
}

static void take_in(struct tcp *t, int fd, bool local)
{
    struct tcp_gate *g = &t->gate;
    size_t slot;
    struct tcp_conn *c = find_slot(t, &slot) ? conn_create(t, fd, TCP_HANDSHAKE, local) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    c->peer = ++t->serial << TCP_SLOT_BITS | slot;
    t->slots[slot] = c;
    c->older = g->newest;
    *(g->newest ? &g->newest->newer : &g->oldest) = c;
    g->newest = c;
    g->unauthenticated++;
    gate_event(t, c); /* its first message has mostly arrived already */
}

static void set_listening(struct tcp *t, bool on)
{
    if (t->gate.listening == on)
        return;
    t->gate.listening = on;
    for (size_t i = 0; i < t->nlisteners; i++) {
        struct epoll_event e = {.events = on ? EPOLLIN : 0, .data.ptr = t->listeners[i]};
        epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->listeners[i]->fd, &e);
    }
}

static void pause_listening(struct tcp *t, int64_t until)
{
    t->gate.closed_until = until;
    set_listening(t, false);
}

static void refill(struct tcp_gate *g, int64_t now)
{
    double seconds = (double)(now - g->refilled) / (double)CLOCK_SECOND;
    g->refilled = now;
    g->accepts += seconds * ACCEPTS_A_SECOND;
    if (g->accepts > ACCEPTS_AT_ONCE)
        g->accepts = ACCEPTS_AT_ONCE;
    g->hellos += seconds * HELLOS_A_SECOND;
    if (g->hellos > HELLOS_AT_ONCE)
        g->hellos = HELLOS_AT_ONCE;
}

void gate_accept(struct tcp *t, struct tcp_listener *l)
{
    struct tcp_gate *g = &t->gate;
    int64_t now = clock_now();
    refill(g, now);
    while (g->accepts >= 1) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            metric_add(t->counts.no_descriptor, 1);
            if (g->unauthenticated)
                make_space(t);
            pause_listening(t, now + NO_DESCRIPTOR);
            return;
        }
        if (fd < 0)
            return;
        g->accepts -= 1;
        metric_add(t->counts.accepted, 1);
        if (g->unauthenticated >= g->most)
            make_space(t);
        take_in(t, fd, l->local);
    }
    pause_listening(t, now + PAUSE);
}

/* ---- the handshake, server's side ---- */

static void answer(struct tcp *t, struct tcp_conn *c)
{
    struct handshake_wish wish;
    struct skiff_error err;
    uint8_t out[HANDSHAKE_OPEN];
    if (c->waits_turn)
        t->gate.waiting--;
    c->waits_turn = false;
    conn_wish(t, c, &wish);
    enum skiff_status status =
        handshake_answer(&c->handshake, t->pake_base, &wish, c->hand, out, &err);
    bool reported =
        (status == SKIFF_OK || status == SKIFF_UNSUPPORTED) && conn_hand_over(c, out, sizeof out);
    c->step = 1;
    c->since = clock_now(); /* its time starts again, once */
    c->nhand = 0;
    if (status == SKIFF_UNSUPPORTED)
        turn_away(t, c, t->counts.other_version);
    else if (!reported)
        turn_away(t, c, t->counts.nonsense);
}

/* True: the ticket was valid; it is used up now. */
static bool shows_ticket(struct tcp_gate *g, const uint8_t first[HANDSHAKE_OPEN])
{
    uint32_t number = handshake_shows(first);
    for (size_t i = 0; number && i < TCP_TICKETS; i++)
        if (g->tickets[i].number == number) {
            bool fits = handshake_fits(first, &g->tickets[i]);
            if (fits)
                g->tickets[i].number = 0;
            return fits;
        }
    return false;
}

static void on_first(struct tcp *t, struct tcp_conn *c)
{
    struct tcp_gate *g = &t->gate;
    refill(g, clock_now());
    if (shows_ticket(g, c->hand)) {
        answer(t, c);
    } else if (g->hellos >= 1 && !g->waiting) {
        g->hellos -= 1;
        answer(t, c);
    } else if (!c->waits_turn) {
        struct epoll_event quiet = {.events = 0, .data.ptr = c};
        epoll_ctl(t->epoll, EPOLL_CTL_MOD, c->fd, &quiet);
        c->waits_turn = true;
        g->waiting++;
    }
}

static void on_proof(struct tcp *t, struct tcp_conn *c)
{
    uint8_t out[HANDSHAKE_PROOF];
    struct skiff_error err;
    bool proven = handshake_check(&c->handshake, c->hand, out, &err) == SKIFF_OK;
    bool reported = conn_hand_over(c, out, sizeof out);
    if (!proven) {
        turn_away(t, c, t->counts.no_secret);
        return;
    }
    handshake_ticket(&c->handshake, &t->gate.tickets[t->gate.next_ticket]);
    t->gate.next_ticket = (t->gate.next_ticket + 1) % TCP_TICKETS;
    gate_forget(t, c);
    c->state = TCP_UP; /* authenticated, whatever happens now */
    if (!c->local)
        tcp_tune(c->fd);
    if (!reported || !conn_up(t, c))
        conn_close(t, c);
}

void gate_event(struct tcp *t, struct tcp_conn *c)
{
    bool ended;
    size_t n = c->step ? HANDSHAKE_PROOF : HANDSHAKE_OPEN;
    if (c->waits_turn) /* it had nothing to send: the connection has broken */
        turn_away(t, c, t->counts.silent);
    else if (conn_hand_take(c, n, &ended))
        c->step ? on_proof(t, c) : on_first(t, c);
    else if (!c->step && !handshake_begins(c->hand, c->nhand))
        turn_away(t, c, t->counts.nonsense);
    else if (ended)
        turn_away(t, c, t->counts.silent);
}

/* Picks the next waiting peer, at random. */
static struct tcp_conn *draw(struct tcp_gate *g)
{
    size_t skip = lot(g->waiting);
    struct tcp_conn *c = g->oldest;
    while (c && (!c->waits_turn || skip)) {
        skip -= c->waits_turn;
        c = c->newer;
    }
    return c;
}

static void take_turns(struct tcp *t)
{
    struct tcp_gate *g = &t->gate;
    while (g->waiting && g->hellos >= 1) {
        struct tcp_conn *c = draw(g);
        g->hellos -= 1;
        if (conn_watch(t, c, false))
            answer(t, c);
        else
            turn_away(t, c, t->counts.silent);
    }
}

int64_t gate_tick(struct tcp *t, int64_t now)
{
    struct tcp_gate *g = &t->gate;
    int64_t next = CLOCK_NEVER;
    if (!g->unauthenticated && g->listening)
        return next;
    refill(g, now);
    take_turns(t);
    for (struct tcp_conn *c = g->oldest, *newer; c; c = newer) {
        newer = c->newer;
        if (now - c->since >= HANDSHAKE_TIME)
            turn_away(t, c, t->counts.silent);
        else
            next = clock_min(next, c->since + HANDSHAKE_TIME);
    }
    if (g->waiting)
        next = clock_min(next, now + (int64_t)(CLOCK_SECOND / HELLOS_A_SECOND));
    if (!g->listening && now >= g->closed_until)
        set_listening(t, true);
    if (!g->listening)
        next = clock_min(next, g->closed_until);
    return next;
}
