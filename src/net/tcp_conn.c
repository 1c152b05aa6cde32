/* TCP records: packets on a connection that is up.
 *
 *   at size                       at size
 *    0  4  length of the body     24      head, then body: hidden when the link is encrypted
 *    4  1  length of the head        16   seal of head and body
 *    5  3  0
 *    8 16  seal of these 8 bytes
 *
 * Lengths are trusted only after their seal has been checked, and are bounded before anything is
 * kept. A body is read straight into its block and decrypted piece by piece as it arrives, while
 * the bytes are in the processor's cache; it is passed on only after the seal at its end has been
 * checked. Sending: small or encrypted packets go through a buffer, so that many of them are sent
 * by one call; a large unencrypted body is sent straight from its block. Packets that the system
 * does not accept now wait in a list, in order. */
#include "net/tcp_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/host.h"

#define LENGTHS 8
#define RECORD (LENGTHS + SEAL_TAG)
#define IN_CAPACITY ((size_t)32 << 10)
#define OUT_CAPACITY ((size_t)128 << 10)
#define READ_ONCE ((size_t)256 << 10) /* of a body: it stays in the cache until it is decrypted */
/* smaller packets are never FULL because of bytes, only because of their number */
#define SMALL_BODY 1024
#define DIRECT_BODY 4096  /* up to this size a copy costs less than a vector element of its own */
#define SEND_PACKETS 2000 /* per peer; bounds small packets as peer_bytes bounds large ones */

/* ---- lifecycle ---- */

struct tcp_conn *conn_create(struct tcp *t, int fd, enum tcp_state state, bool local)
{
    struct tcp_conn *c = mem_alloc_or_die(sizeof *c);
    c->source = TCP_CONN;
    c->state = state;
    c->fd = fd;
    c->local = local;
    c->since = clock_now();
    c->end = &c->first;
    struct epoll_event e = {.events = state == TCP_CONNECTING ? EPOLLOUT : EPOLLIN, .data.ptr = c};
    if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
        free(c);
        return NULL;
    }
    return c;
}

bool conn_watch(struct tcp *t, struct tcp_conn *c, bool out)
{
    struct epoll_event e = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c};
    c->wants_out = out;
    return epoll_ctl(t->epoll, EPOLL_CTL_MOD, c->fd, &e) == 0;
}

bool conn_up(struct tcp *t, struct tcp_conn *c)
{
    struct handshake_keys keys;
    bool client = c->dialed != NULL;
    if (handshake_keys(&c->handshake, &keys, NULL) < 0)
        return false;
    c->encrypt = keys.encrypt;
    bool ok = seal_create(keys.cipher, client ? keys.to_client : keys.to_server, true, &c->in_seal,
                          NULL) == SKIFF_OK &&
              seal_create(keys.cipher, client ? keys.to_server : keys.to_client, false,
                          &c->out_seal, NULL) == SKIFF_OK;
    secret_wipe(&keys, sizeof keys);
    secret_wipe(&c->handshake, sizeof c->handshake);
    if (!ok)
        return false;
    c->in = mem_alloc_or_die(IN_CAPACITY);
    c->out = mem_alloc_or_die(OUT_CAPACITY);
    c->state = TCP_UP;
    c->since = clock_now();
    return conn_watch(t, c, false);
}

static void drop_items(struct tcp_conn *c)
{
    while (c->first) {
        struct tcp_item *i = c->first;
        c->first = i->next;
        packet_deinit(&i->packet);
        free(i);
    }
    c->end = &c->first;
    c->nitems = c->queued = 0;
}

void conn_close(struct tcp *t, struct tcp_conn *c)
{
    enum tcp_state was = c->state;
    if (was == TCP_CLOSED)
        return;
    c->state = TCP_CLOSED;
    /* A process that was just forked, and has not yet executed its program, holds a copy of the
     * descriptor, so that closing it here would leave it in the epoll set. */
    epoll_ctl(t->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->fd = -1;
    drop_items(c);
    packet_deinit(&c->packet);
    if (was == TCP_UP)
        metric_add(t->counts.lost, 1);
    if (c->dialed) {
        dial_lost(t, c->dialed, was == TCP_UP);
    } else {
        if (was == TCP_HANDSHAKE)
            gate_forget(t, c);
        t->slots[c->peer & ((1 << TCP_SLOT_BITS) - 1)] = NULL;
    }
    c->next = t->graveyard;
    t->graveyard = c;
}

void conn_destroy(struct tcp_conn *c)
{
    seal_destroy(c->in_seal);
    seal_destroy(c->out_seal);
    secret_wipe(&c->handshake, sizeof c->handshake);
    free(c->in);
    free(c->out);
    free(c);
}

void conn_mark_ready(struct tcp *t, struct tcp_conn *c)
{
    if (c->ready)
        return;
    c->ready = true;
    c->next_ready = NULL;
    *t->ready_end = c;
    t->ready_end = &c->next_ready;
}

/* ---- origin of a connection ---- */

/* IPv4 on a socket for both families has a prefix. */
static void print_origin(char out[TCP_ORIGIN], const char *host, const char *port)
{
    const char *plain = strncmp(host, "::ffff:", 7) ? host : host + 7;
    snprintf(out, TCP_ORIGIN, strchr(plain, ':') ? "[%s]:%s" : "%s:%s", plain, port);
}

const char *conn_origin(const struct tcp_conn *c, char out[TCP_ORIGIN])
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;
    char host[64], port[16];
    if (c->local)
        snprintf(out, TCP_ORIGIN, "a local socket");
    else if (getpeername(c->fd, (struct sockaddr *)&a, &n) == 0 &&
             getnameinfo((struct sockaddr *)&a, n, host, sizeof host, port, sizeof port,
                         NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        print_origin(out, host, port);
    else
        snprintf(out, TCP_ORIGIN, "an unknown address");
    return out;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* A machine connects to itself from the address that it connects to, or over the loopback. */
bool conn_is_apart(const struct tcp_conn *c)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t nhere = sizeof here, nthere = sizeof there;
    if (c->local)
        return false;
    if (getsockname(c->fd, (struct sockaddr *)&here, &nhere) < 0 ||
        getpeername(c->fd, (struct sockaddr *)&there, &nthere) < 0)
        return true;
    return !host_is_loopback((struct sockaddr *)&there) && !same_host(&here, &there);
}

void conn_wish(const struct tcp *t, const struct tcp_conn *c, struct handshake_wish *out)
{
    *out = (struct handshake_wish){.encrypt = t->options.encrypt,
                                   .apart = conn_is_apart(c),
                                   .aes = seal_aes_is_fast(),
                                   .chacha = seal_chacha_sees_faster()};
}

/* ---- the few bytes of the handshake ---- */

bool conn_hand_over(struct tcp_conn *c, const uint8_t *bytes, size_t n)
{
    return send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

bool conn_hand_take(struct tcp_conn *c, size_t n, bool *out_ended)
{
    *out_ended = false;
    while (c->nhand < n) {
        ssize_t got = recv(c->fd, c->hand + c->nhand, n - c->nhand, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            *out_ended = got == 0 || errno != EAGAIN;
            return false;
        }
        c->nhand += (size_t)got;
    }
    return true;
}

/* ---- receiving ---- */

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void open_bytes(struct tcp_conn *c, uint8_t *bytes, size_t n)
{
    if (c->encrypt)
        seal_code(c->in_seal, bytes, bytes, n);
    else
        seal_see(c->in_seal, bytes, n);
}

bool conn_fill(struct tcp *t, struct tcp_conn *c)
{
    size_t rest = c->stage == TCP_BODY ? c->packet.len - c->body_got : 0;
    if (c->in_start) {
        memmove(c->in, c->in + c->in_start, c->in_end - c->in_start);
        c->in_end -= c->in_start;
        c->in_start = 0;
    }
    if (c->in_end || rest <= IN_CAPACITY / 2)
        rest = 0; /* through the buffer, with the bytes that follow */
    if (rest > READ_ONCE)
        rest = READ_ONCE;
    struct iovec to[2] = {{rest ? c->packet.body->data + c->body_got : NULL, rest},
                          {c->in + c->in_end, IN_CAPACITY - c->in_end}};
    ssize_t got;
    do
        got = readv(c->fd, rest ? to : to + 1, rest ? 2 : 1);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return true;
    if (got <= 0) {
        conn_close(t, c);
        return false;
    }
    size_t direct = (size_t)got < rest ? (size_t)got : rest;
    if (direct) {
        open_bytes(c, c->packet.body->data + c->body_got, direct);
        c->body_got += direct;
    }
    c->in_end += (size_t)got - direct;
    conn_mark_ready(t, c);
    return true;
}

/* Reads a record's lengths; false: they are invalid. */
static bool begin_record(struct tcp *t, struct tcp_conn *c)
{
    const uint8_t *p = c->in + c->in_start;
    size_t body = read_u32(p), head = p[4];
    seal_begin(c->in_seal);
    seal_see(c->in_seal, p, LENGTHS);
    if (!seal_check(c->in_seal, p + LENGTHS))
        return false;
    if (head < 1 || head > PACKET_HEAD || p[5] || p[6] || p[7] || body > t->options.body_max)
        return false;
    c->packet = (struct packet){.head_len = head, .len = body};
    c->body_got = 0;
    seal_begin(c->in_seal);
    c->in_start += RECORD;
    c->stage = TCP_HEAD;
    return true;
}

static bool take_head(struct tcp_conn *c)
{
    struct packet *p = &c->packet;
    memcpy(p->head, c->in + c->in_start, p->head_len);
    open_bytes(c, p->head, p->head_len);
    c->in_start += p->head_len;
    c->stage = p->len ? TCP_BODY : TCP_TAG;
    return !p->len || blob_create(p->len, "a message from the network", &p->body, NULL) == SKIFF_OK;
}

static void take_body(struct tcp_conn *c)
{
    size_t have = c->in_end - c->in_start, rest = c->packet.len - c->body_got;
    size_t n = have < rest ? have : rest;
    uint8_t *to = c->packet.body->data + c->body_got;
    memcpy(to, c->in + c->in_start, n);
    open_bytes(c, to, n);
    c->in_start += n;
    c->body_got += n;
    if (c->body_got == c->packet.len)
        c->stage = TCP_TAG;
}

static enum skiff_status break_off(struct tcp *t, struct tcp_conn *c)
{
    metric_add(t->counts.malformed, 1);
    conn_close(t, c);
    return SKIFF_FORMAT;
}

enum skiff_status conn_take(struct tcp *t, struct tcp_conn *c, struct packet *out)
{
    for (;;) {
        size_t have = c->in_end - c->in_start;
        switch (c->stage) {
        case TCP_RECORD:
            if (have < RECORD)
                return SKIFF_END;
            if (!begin_record(t, c))
                return break_off(t, c);
            break;
        case TCP_HEAD:
            if (have < c->packet.head_len)
                return SKIFF_END;
            if (!take_head(c))
                return break_off(t, c);
            break;
        case TCP_BODY:
            take_body(c);
            if (c->stage == TCP_BODY)
                return SKIFF_END;
            break;
        case TCP_TAG:
            if (have < SEAL_TAG)
                return SKIFF_END;
            if (!seal_check(c->in_seal, c->in + c->in_start))
                return break_off(t, c);
            c->in_start += SEAL_TAG;
            c->stage = TCP_RECORD;
            *out = c->packet;
            c->packet = (struct packet){0};
            return SKIFF_OK;
        }
    }
}

/* ---- sending ---- */

enum transport_sent conn_send(struct tcp *t, struct tcp_conn *c, const struct packet *p)
{
    if (c->nitems >= SEND_PACKETS || (p->len > SMALL_BODY && c->queued >= t->options.peer_bytes)) {
        c->was_full = true;
        return TRANSPORT_FULL;
    }
    struct tcp_item *i = mem_alloc_or_die(sizeof *i);
    i->packet = *p;
    blob_ref(p->body);
    *c->end = i;
    c->end = &i->next;
    c->nitems++;
    c->queued += p->head_len + p->len;
    if (!c->dirty) {
        c->dirty = true;
        c->next_dirty = t->dirty;
        t->dirty = c;
    }
    return TRANSPORT_SENT;
}

static void put(struct tcp_conn *c, const uint8_t *bytes, size_t n)
{
    if (c->encrypt) {
        seal_code(c->out_seal, bytes, c->out + c->out_end, n);
    } else {
        seal_see(c->out_seal, bytes, n);
        memcpy(c->out + c->out_end, bytes, n);
    }
    c->out_end += n;
}

static void put_head(struct tcp_conn *c, const struct packet *p)
{
    uint8_t *r = c->out + c->out_end;
    for (int i = 0; i < 4; i++)
        r[i] = (uint8_t)(p->len >> (8 * i));
    r[4] = (uint8_t)p->head_len;
    r[5] = r[6] = r[7] = 0;
    seal_begin(c->out_seal);
    seal_see(c->out_seal, r, LENGTHS);
    seal_end(c->out_seal, r + LENGTHS);
    seal_begin(c->out_seal);
    c->out_end += RECORD;
    put(c, p->head, p->head_len);
    c->begun = true;
    c->body_sent = 0;
}

static void item_done(struct tcp *t, struct tcp_conn *c)
{
    struct tcp_item *i = c->first;
    c->first = i->next;
    if (!c->first)
        c->end = &c->first;
    c->nitems--;
    c->queued -= i->packet.head_len + i->packet.len;
    c->begun = false;
    packet_deinit(&i->packet);
    free(i);
    if (c->was_full && c->queued <= t->options.peer_bytes / 2 && c->nitems <= SEND_PACKETS / 2) {
        c->was_full = false;
        t->capacity = true;
    }
}

/* Puts the first item, or as much of it as fits, into the buffer. False: no more can be prepared
 * before something has been sent. */
static bool prepare_item(struct tcp *t, struct tcp_conn *c)
{
    const struct packet *p = &c->first->packet;
    size_t capacity = OUT_CAPACITY - c->out_end;
    if (!c->begun) {
        if (capacity < RECORD + PACKET_HEAD)
            return false;
        put_head(c, p);
        return true;
    }
    size_t rest = p->len - c->body_sent;
    const uint8_t *from = packet_body(p) + c->body_sent;
    if (rest > DIRECT_BODY && !c->encrypt) {
        seal_see(c->out_seal, from, rest);
        c->direct = from;
        c->direct_len = rest;
        c->body_sent = p->len;
        return false;
    }
    if (rest) {
        size_t n = rest < capacity ? rest : capacity;
        put(c, from, n);
        c->body_sent += n;
        return n > 0;
    }
    if (capacity < SEAL_TAG)
        return false;
    seal_end(c->out_seal, c->out + c->out_end);
    c->out_end += SEAL_TAG;
    item_done(t, c);
    return true;
}

/* An item whose body is sent directly must stay until that has been sent: its seal is appended
 * after it. */
static void prepare(struct tcp *t, struct tcp_conn *c)
{
    if (c->out_start == c->out_end)
        c->out_start = c->out_end = 0;
    while (!c->direct_len && c->first && prepare_item(t, c))
        ;
}

bool conn_flush(struct tcp *t, struct tcp_conn *c)
{
    for (;;) {
        prepare(t, c);
        struct iovec from[2] = {{c->out + c->out_start, c->out_end - c->out_start},
                                {(void *)c->direct, c->direct_len}};
        struct msghdr m = {.msg_iov = from, .msg_iovlen = c->direct_len ? 2 : 1};
        if (!from[0].iov_len && !c->direct_len) {
            return !c->wants_out || conn_watch(t, c, false);
        }
        ssize_t n;
        do
            n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN) {
            if (!c->wants_out)
                conn_watch(t, c, true);
            return true;
        }
        if (n < 0) {
            conn_close(t, c);
            return false;
        }
        size_t first = (size_t)n < from[0].iov_len ? (size_t)n : from[0].iov_len;
        c->out_start += first;
        c->direct += (size_t)n - first;
        c->direct_len -= (size_t)n - first;
    }
}
