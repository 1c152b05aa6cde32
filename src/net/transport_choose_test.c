/* Settings of the transport by users, and how different settings work together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "net/transport.h"

static enum skiff_status choose(const char *text, const char *name, struct transport_options *out,
                                struct skiff_error *err)
{
    const struct transport_kind *kind = NULL;
    enum skiff_status status = transport_choose(text, &kind, out, err);
    if (status == SKIFF_OK)
        assert_string_equal(kind->name, name);
    else
        assert_null(kind);
    return status;
}

static void users_choose(void **state)
{
    struct transport_options o;
    struct skiff_error err;
    assert_int_equal(choose(NULL, "tcp", &o, &err), SKIFF_OK);
    assert_int_equal(choose("", "tcp", &o, &err), SKIFF_OK);
    assert_true(o.encrypt == HANDSHAKE_AUTO && o.peer_bytes == (size_t)64 << 20);
    assert_int_equal(choose(" ipc  peer_bytes=32M encrypt=on", "ipc", &o, &err), SKIFF_OK);
    assert_true(o.encrypt == HANDSHAKE_ON && o.peer_bytes == (size_t)32 << 20);
    assert_int_equal(
        choose("fault seed=7 drop=0.25  late=1 late_ms=3-9 cut_every_ms=5", "fault", &o, &err),
        SKIFF_OK);
    assert_string_equal(o.inner->name, "tcp");
    assert_int_equal(o.faults.seed, 7);
    assert_true(o.faults.drop == 0.25 && o.faults.late == 1 && o.faults.twice == 0);
    assert_int_equal(o.faults.late_ms[0], 3);
    assert_int_equal(o.faults.late_ms[1], 9);
    assert_int_equal(o.faults.cut_every_ms, 5);
    assert_int_equal(choose("fault over=ipc encrypt=on", "fault", &o, &err), SKIFF_OK);
    assert_true(!strcmp(o.inner->name, "ipc") && o.encrypt == HANDSHAKE_ON &&
                o.faults.late_ms[1] == 20);
}

static void wrong_choices(void **state)
{
    static const struct {
        const char *text;
        enum skiff_status status;
        const char *message;
    } rows[] = {
        {"tcq", SKIFF_NOT_FOUND, "there is no transport tcq, the nearest is tcp; known: tcp ("},
        /* works only inside one process */
        {"inproc", SKIFF_NOT_FOUND, "there is no transport inproc"},
        {"tcp drop=1", SKIFF_NOT_FOUND, "there is no setting of the transport drop"},
        {"tcp peer_bytes=much", SKIFF_INVALID, "expected a size"},
        {"fault drop", SKIFF_INVALID, "'drop' is no setting of transport fault: write name=value"},
        {"fault drop=", SKIFF_INVALID, "expected a number from 0 to 1"},
        {"fault drop=2", SKIFF_INVALID, "expected a number from 0 to 1"},
        {"fault late_ms=9-3", SKIFF_INVALID, "expected milliseconds"},
        {"fault lost=1", SKIFF_NOT_FOUND, "there is no setting of transport fault lost"},
        {"fault over=fault", SKIFF_INVALID, "expected tcp or ipc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transport_options o;
        struct skiff_error err;
        assert_int_equal(choose(rows[i].text, NULL, &o, &err), rows[i].status);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].text, err.message);
    }
}

static struct metrics *counted; /* of all transports here */

static struct transport *open_one(const char *text)
{
    const struct transport_kind *kind;
    struct transport_options o;
    struct transport *t;
    struct skiff_error err;
    if (transport_choose(text, &kind, &o, &err) < 0)
        fail_msg("%s", err.message);
    memset(o.key, 7, sizeof o.key);
    o.metrics = counted;
    if (kind->open(&o, &t, &err) < 0)
        fail_msg("%s", err.message);
    return t;
}

/* Two ends, one of which listens; bound by address. */
static transport_peer open_pair(const char *first, const char *second, struct transport **server,
                                struct transport **client)
{
    char bound[ADDRESS_TEXT];
    transport_peer peer;
    *server = open_one(first);
    *client = open_one(second);
    assert_int_equal((*server)->kind->listen(*server, "127.0.0.1:0", bound, NULL), SKIFF_OK);
    assert_int_equal((*client)->kind->connect(*client, bound, &peer, NULL), SKIFF_OK);
    return peer;
}

/* Sends one packet, however many attempts that takes, and waits for it at the other end. */
static bool arrives(struct transport *server, struct transport *client, transport_peer peer)
{
    struct packet p = {.head_len = 5, .head = "hello"}, got;
    transport_peer from;
    int64_t end = clock_now() + 10 * CLOCK_SECOND;
    bool sent = false;
    while (clock_now() < end) {
        sent = sent || client->kind->send(client, peer, &p) == TRANSPORT_SENT;
        client->kind->receive(client, clock_now() + CLOCK_MS, &from, &got, NULL);
        if (server->kind->receive(server, clock_now() + CLOCK_MS, &from, &got, NULL) == SKIFF_OK) {
            packet_deinit(&got);
            return true;
        }
    }
    return false;
}

/* tcp and ipc can connect to each other: a listener with a local socket has its port, too. */
static void ipc_and_tcp_meet(void **state)
{
    static const char *const pairs[][2] = {{"ipc", "tcp"}, {"tcp", "ipc"}, {"ipc", "ipc"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct transport *server, *client;
        transport_peer peer = open_pair(pairs[i][0], pairs[i][1], &server, &client);
        if (!arrives(server, client, peer))
            fail_msg("nothing arrives from %s at %s", pairs[i][1], pairs[i][0]);
        client->kind->close(client);
        server->kind->close(server);
    }
}

/* Runs both until the client is refused, or for ms. */
static enum skiff_status refusal(struct transport *server, struct transport *client,
                                 transport_peer peer, int ms, struct skiff_error *err)
{
    transport_peer from;
    struct packet got;
    for (int64_t end = clock_now() + ms * CLOCK_MS; clock_now() < end;) {
        client->kind->receive(client, clock_now() + CLOCK_MS, &from, &got, NULL);
        server->kind->receive(server, clock_now() + CLOCK_MS, &from, &got, NULL);
        if (client->kind->refused(client, peer, err) < 0)
            return err->code;
    }
    return SKIFF_OK;
}

/* One side requires encryption, the other forbids it: there is no connection, and the reason is
 * reported. */
static void other_encryption_is_named(void **state)
{
    struct transport *server, *client;
    struct skiff_error err;
    transport_peer peer = open_pair("tcp encrypt=on", "tcp encrypt=off", &server, &client);
    assert_int_equal(refusal(server, client, peer, 10000, &err), SKIFF_INVALID);
    assert_string_equal(err.message, "one side has encryption on, the other off (--encrypt, "
                                     "security.encrypt, SKIFF_ENCRYPT)");
    client->kind->close(client);
    server->kind->close(server);
}

/* The result as the accepting side sees it. On one machine auto is off. */
static void encryption_is_agreed_upon(void **state)
{
    static const struct {
        const char *server, *client, *link;
    } rows[] = {{"tcp", "tcp", ", authenticated"},
                {"tcp encrypt=on", "tcp", ", encrypted"},
                {"tcp", "tcp encrypt=on", ", encrypted"},
                {"ipc encrypt=on", "ipc", ", encrypted"},
                {"ipc", "ipc", "a local socket, authenticated"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transport *server, *client;
        transport_peer peer = open_pair(rows[i].server, rows[i].client, &server, &client), from;
        struct packet p = {.head_len = 5, .head = "hello"}, got;
        char text[128] = "";
        enum skiff_status status = SKIFF_END;
        for (int64_t end = clock_now() + 10 * CLOCK_SECOND;
             clock_now() < end && status != SKIFF_OK;) {
            client->kind->send(client, peer, &p);
            client->kind->receive(client, clock_now() + CLOCK_MS, &from, &got, NULL);
            status = server->kind->receive(server, clock_now() + CLOCK_MS, &from, &got, NULL);
        }
        assert_int_equal(status, SKIFF_OK);
        packet_deinit(&got);
        server->kind->describe(server, from, text, sizeof text);
        if (!strstr(text, rows[i].link))
            fail_msg("%s and %s: %s", rows[i].server, rows[i].client, text);
        client->kind->close(client);
        server->kind->close(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_choose),
        cmocka_unit_test(wrong_choices),
        cmocka_unit_test(ipc_and_tcp_meet),
        cmocka_unit_test(other_encryption_is_named),
        cmocka_unit_test(encryption_is_agreed_upon),
    };
    counted = metrics_create(NULL, 0);
    int failed = cmocka_run_group_tests_name("transport_choose", tests, NULL, NULL);
    metrics_destroy(counted);
    return failed;
}
