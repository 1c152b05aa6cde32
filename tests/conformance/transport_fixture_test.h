/* A test fixture for transports: settings, and waiting at one transport while others work.
 *
 * A transport works only while a thread is in receive. Here one thread has all of them, so `take`,
 * which waits at one of them, lets the others work meanwhile, and keeps the packets that they
 * receive. */
#ifndef CONFORMANCE_TRANSPORT_FIXTURE_TEST_H
#define CONFORMANCE_TRANSPORT_FIXTURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/transport.h"

/* ---- one setting per row: the same tests for each ---- */

struct setting {
    const char *name, *kind, *inner;
    enum handshake_encrypt encrypt;
};

static const struct setting settings[] = {
    {"tcp", "tcp", NULL, HANDSHAKE_AUTO},
    {"tcp, encrypted", "tcp", NULL, HANDSHAKE_ON},
    {"ipc", "ipc", NULL, HANDSHAKE_AUTO},
    {"ipc, encrypted", "ipc", NULL, HANDSHAKE_ON},
    {"inproc", "inproc", NULL, HANDSHAKE_AUTO},
    {"fault over tcp", "fault", "tcp", HANDSHAKE_AUTO},
    {"fault over inproc", "fault", "inproc", HANDSHAKE_AUTO},
};

static const struct setting *now_testing;
static struct inproc_hub *hub;
static struct fault_plan plan;

/* The open ones, and packets that arrived while another one was waited for. */
struct kept {
    transport_peer from;
    struct packet packet;
};
static struct {
    struct transport *t;
    struct metrics *metrics;
    struct kept kept[1000];
    size_t first, n;
} opened[16];

static void remember(struct transport *t, struct metrics *metrics)
{
    size_t i = 0;
    while (opened[i].t)
        assert_true(++i < sizeof opened / sizeof *opened);
    opened[i].t = t;
    opened[i].metrics = metrics;
    opened[i].first = opened[i].n = 0;
}

static struct transport *open_with(size_t body_max, size_t peer_bytes)
{
    struct transport_options o = {.body_max = body_max,
                                  .peer_bytes = peer_bytes,
                                  .linger_ms = 200,
                                  .encrypt = now_testing->encrypt,
                                  .hub = hub,
                                  .faults = plan,
                                  .metrics = metrics_create(NULL, 0)};
    memset(o.key, 7, sizeof o.key);
    if (now_testing->inner)
        o.inner = transport_find(now_testing->inner);
    struct transport *t = NULL;
    struct skiff_error err = {0};
    if (transport_find(now_testing->kind)->open(&o, &t, &err) < 0)
        fail_msg("%s: %s", now_testing->name, err.message);
    remember(t, o.metrics);
    return t;
}

static struct transport *open_one(void)
{
    return open_with(0, 0);
}

/* How many packets the transport fault has treated so. */
static inline int64_t faults_of(const struct transport *t, const char *fault)
{
    size_t i = 0;
    while (opened[i].t != t)
        i++;
    return metric_value(metrics_get(opened[i].metrics, METRIC_NET_FAULTS, fault));
}

static void close_one(struct transport *t)
{
    size_t i = 0;
    while (opened[i].t != t)
        i++;
    while (opened[i].first < opened[i].n)
        packet_deinit(&opened[i].kept[opened[i].first++].packet);
    opened[i].t = NULL;
    t->kind->close(t);
    metrics_destroy(opened[i].metrics);
}

/* The others work for a moment. */
static void let_work(struct transport *but)
{
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        struct transport *t = opened[i].t;
        struct kept k;
        while (t && t != but && opened[i].n < 1000 &&
               t->kind->receive(t, 0, &k.from, &k.packet, NULL) == SKIFF_OK)
            opened[i].kept[opened[i].n++] = k;
    }
}

/* receive, while the others work. */
static enum skiff_status take(struct transport *t, int64_t deadline, transport_peer *from,
                              struct packet *out)
{
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (opened[i].t == t && opened[i].first < opened[i].n) {
            *from = opened[i].kept[opened[i].first].from;
            *out = opened[i].kept[opened[i].first++].packet;
            return SKIFF_OK;
        }
    for (;;) {
        let_work(t);
        enum skiff_status status =
            t->kind->receive(t, clock_min(deadline, clock_now() + CLOCK_MS), from, out, NULL);
        if (status != SKIFF_END || clock_now() >= deadline)
            return status;
    }
}

static void listen_at(struct transport *t, const char *address, char *bound)
{
    struct skiff_error err;
    if (t->kind->listen(t, address, bound, &err) < 0)
        fail_msg("%s: %s", now_testing->name, err.message);
}

static transport_peer connect_to(struct transport *t, const char *address)
{
    transport_peer peer;
    struct skiff_error err;
    if (t->kind->connect(t, address, &peer, &err) < 0)
        fail_msg("%s: %s", now_testing->name, err.message);
    return peer;
}

static struct packet packet_of(const char *head, struct blob *body)
{
    struct packet p = {.head_len = strlen(head), .body = body, .len = blob_len(body)};
    memcpy(p.head, head, p.head_len);
    return p;
}

/* Sends, and tries again while there is no connection or no space. */
static void send_until_sent(struct transport *t, transport_peer peer, const struct packet *p)
{
    int64_t end = clock_now() + 5 * CLOCK_SECOND;
    while (t->kind->send(t, peer, p) != TRANSPORT_SENT) {
        transport_peer from;
        struct packet got;
        assert_true(clock_now() < end);
        /* a transport works only while a thread is in receive */
        assert_int_equal(take(t, clock_now() + 5 * CLOCK_MS, &from, &got), SKIFF_END);
    }
}

static void send_text(struct transport *t, transport_peer peer, const char *text)
{
    struct packet p = packet_of(text, NULL);
    send_until_sent(t, peer, &p);
}

/* The next packet; fails the test when none arrives. */
static transport_peer receive_one(struct transport *t, struct packet *out)
{
    int64_t end = clock_now() + 5 * CLOCK_SECOND;
    transport_peer from = 0;
    enum skiff_status status;
    while ((status = take(t, end, &from, out)) == SKIFF_END)
        if (clock_now() >= end)
            fail_msg("%s: no packet came", now_testing->name);
    assert_int_equal(status, SKIFF_OK);
    return from;
}

static transport_peer expect_text(struct transport *t, const char *text)
{
    struct packet p;
    transport_peer from = receive_one(t, &p);
    assert_int_equal(p.head_len, strlen(text));
    assert_memory_equal(p.head, text, p.head_len);
    packet_deinit(&p);
    return from;
}

static void expect_silence(struct transport *t, int ms)
{
    struct packet p;
    transport_peer from;
    int64_t end = clock_now() + ms * CLOCK_MS;
    while (clock_now() < end)
        assert_int_equal(take(t, end, &from, &p), SKIFF_END);
}

static struct blob *pattern(size_t n, unsigned seed)
{
    struct blob *b;
    assert_int_equal(blob_create(n, "test", &b, NULL), SKIFF_OK);
    for (size_t i = 0; i < n; i++)
        b->data[i] = (uint8_t)(i * 31 + seed);
    return b;
}

static void expect_pattern(const struct packet *p, size_t n, unsigned seed)
{
    assert_int_equal(p->len, n);
    for (size_t i = 0; i < n; i++)
        if (packet_body(p)[i] != (uint8_t)(i * 31 + seed))
            fail_msg("%s: byte %zu of a body differs", now_testing->name, i);
}

/* A transport may report its own connection a little later than the first packet on it. */
static void expect_state(struct transport *t, transport_peer peer, const char *expected)
{
    char text[64] = "";
    struct packet p;
    transport_peer from;
    for (int64_t end = clock_now() + 5 * CLOCK_SECOND; clock_now() < end;) {
        t->kind->describe(t, peer, text, sizeof text);
        if (!strcmp(text, expected))
            return;
        assert_int_equal(take(t, clock_now() + CLOCK_MS, &from, &p), SKIFF_END);
    }
    assert_string_equal(text, expected);
}

#endif
