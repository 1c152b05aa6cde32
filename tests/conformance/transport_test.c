/* The promises of transport.h, for every transport: tcp, ipc and inproc, plain and wrapped by fault
 * (without faults nothing may change), the former two also encrypted. */
#include "tests/conformance/transport_fixture_test.h"

#include <dirent.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- tests ---- */

static void there_and_back(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    send_text(client, to, "hello");
    transport_peer from = expect_text(server, "hello");
    send_text(server, from, "you too");
    assert_true(expect_text(client, "you too") == to);
    expect_state(client, to, "connected");
    close_one(client);
    close_one(server);
}

static void bodies_and_slices(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    static const size_t sizes[] = {1, 33, 1024, 1025, 65536, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct blob *b = pattern(sizes[i], 5);
        struct packet p = packet_of("b", b), got;
        send_until_sent(client, to, &p);
        blob_unref(b);
        receive_one(server, &got);
        expect_pattern(&got, sizes[i], 5);
        packet_deinit(&got);
    }
    struct blob *b = pattern(100000, 0);
    struct packet p = packet_of("slice", b), got;
    p.offset = 31000;
    p.len = 5000;
    send_until_sent(client, to, &p);
    blob_unref(b);
    receive_one(server, &got);
    expect_pattern(&got, 5000, (unsigned)31000 * 31);
    packet_deinit(&got);
    close_one(client);
    close_one(server);
}

static void in_order(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    for (int i = 0; i < 500; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        send_text(client, to, text);
    }
    for (int i = 0; i < 500; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        expect_text(server, text);
    }
    close_one(client);
    close_one(server);
}

static void many_peers(void **state)
{
    enum { N = 8 };
    struct transport *server = open_one(), *client[N];
    transport_peer to[N], from[N];
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    for (int i = 0; i < N; i++) {
        client[i] = open_one();
        to[i] = connect_to(client[i], bound);
        send_text(client[i], to[i], "hi");
        from[i] = expect_text(server, "hi");
        for (int k = 0; k < i; k++)
            assert_true(from[k] != from[i]);
    }
    for (int i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "for %d", i);
        send_text(server, from[i], text);
        assert_true(expect_text(client[i], text) == to[i]);
    }
    for (int i = 0; i < N; i++)
        close_one(client[i]);
    close_one(server);
}

/* One transport connects to two others and listens itself. */
static void one_in_the_middle(void **state)
{
    struct transport *a = open_one(), *b = open_one(), *middle = open_one();
    char at_a[ADDRESS_TEXT], at_b[ADDRESS_TEXT], at_middle[ADDRESS_TEXT];
    listen_at(a, "127.0.0.1:0", at_a);
    listen_at(b, "127.0.0.1:0", at_b);
    listen_at(middle, "127.0.0.1:0", at_middle);
    transport_peer to_a = connect_to(middle, at_a), to_b = connect_to(middle, at_b);
    transport_peer to_middle = connect_to(a, at_middle);
    send_text(middle, to_a, "for a");
    send_text(middle, to_b, "for b");
    expect_text(a, "for a");
    expect_text(b, "for b");
    send_text(a, to_middle, "from a");
    transport_peer from_a = expect_text(middle, "from a");
    assert_true(from_a != to_a && from_a != to_b);
    close_one(a);
    close_one(b);
    close_one(middle);
}

/* The client starts first; send returns FULL, not SENT, until a server listens. */
static void any_start_order(void **state)
{
    struct transport *probe = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(probe, "127.0.0.1:0", bound);
    close_one(probe); /* now a port at which no process listens */
    transport_peer to = connect_to(client, bound);
    struct packet p = packet_of("early", NULL);
    assert_int_equal(client->kind->send(client, to, &p), TRANSPORT_FULL);
    expect_silence(client, 120);
    assert_int_equal(client->kind->send(client, to, &p), TRANSPORT_FULL);
    char text[64];
    client->kind->describe(client, to, text, sizeof text);
    assert_true(strncmp(text, "no", 2) == 0);
    struct transport *server = open_one();
    listen_at(server, bound, NULL);
    send_text(client, to, "late");
    expect_text(server, "late");
    close_one(client);
    close_one(server);
}

/* A server that goes away and comes back is reached through the same peer number. */
static void reconnects(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    send_text(client, to, "one");
    expect_text(server, "one");
    close_one(server);
    server = open_one();
    expect_silence(client, 60);
    listen_at(server, bound, NULL);
    int64_t end = clock_now() + 5 * CLOCK_SECOND;
    transport_peer from;
    struct packet got, p = packet_of("two", NULL);
    do { /* what is sent into a connection that is just breaking is lost */
        assert_true(clock_now() < end);
        client->kind->send(client, to, &p);
        take(client, clock_now(), &from, &got);
    } while (take(server, clock_now() + 20 * CLOCK_MS, &from, &got) != SKIFF_OK);
    packet_deinit(&got);
    send_text(server, from, "back");
    assert_true(expect_text(client, "back") == to);
    close_one(client);
    close_one(server);
}

static void a_peer_that_left_is_gone(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    send_text(client, connect_to(client, bound), "hi");
    transport_peer from = expect_text(server, "hi"), other;
    close_one(client);
    int64_t end = clock_now() + 5 * CLOCK_SECOND;
    struct packet p = packet_of("anybody there?", NULL), got;
    while (server->kind->send(server, from, &p) != TRANSPORT_GONE) {
        assert_true(clock_now() < end);
        take(server, clock_now() + 5 * CLOCK_MS, &other, &got);
    }
    assert_int_equal(server->kind->send(server, 123456789, &p), TRANSPORT_GONE);
    close_one(server);
}

static void disconnect_ends_a_peer(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer first = connect_to(client, bound), second = connect_to(client, bound);
    send_text(client, first, "first");
    expect_text(server, "first");
    client->kind->disconnect(client, first);
    client->kind->disconnect(client, first);
    struct packet p = packet_of("x", NULL);
    assert_int_equal(client->kind->send(client, first, &p), TRANSPORT_GONE);
    send_text(client, second, "second");
    expect_text(server, "second");
    close_one(client);
    close_one(server);
}

/* A peer that does not read: send returns FULL at the limit, and the memory is bounded; when it
 * reads again, everything that was SENT arrives. */
static void a_slow_peer_fills_up(void **state)
{
    struct transport *server = open_one(), *client = open_with(0, 4 << 20);
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound), from;
    send_text(client, to, "hi");
    expect_text(server, "hi");
    struct blob *b = pattern(1 << 20, 1);
    struct packet p = packet_of("mb", b), got;
    int sent = 0, full = 0;
    while (full < 20 && sent < 1000) {
        if (client->kind->send(client, to, &p) == TRANSPORT_SENT) {
            sent++;
        } else {
            full++;
            take(client, clock_now() + 5 * CLOCK_MS, &from, &got);
        }
    }
    assert_true(sent >= 4 && sent < 1000);
    assert_true(client->kind->backlog(client, to) <= 6 << 20);
    for (int i = 0; i < sent; i++) {
        receive_one(server, &got);
        assert_int_equal(got.len, 1 << 20);
        packet_deinit(&got);
    }
    send_until_sent(client, to, &p);
    receive_one(server, &got);
    packet_deinit(&got);
    blob_unref(b);
    close_one(client);
    close_one(server);
}

/* A peer that sends too much at once gets nothing through and does not disturb others. */
static void bodies_that_are_too_long(void **state)
{
    struct transport *server = open_with(100000, 0), *bad = open_one(), *good = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer bad_to = connect_to(bad, bound), good_to = connect_to(good, bound);
    struct blob *b = pattern(200000, 0);
    struct packet p = packet_of("too long", b);
    send_until_sent(bad, bad_to, &p);
    expect_silence(server, 30);
    send_text(good, good_to, "fine");
    expect_text(server, "fine");
    blob_unref(b);
    close_one(bad);
    close_one(good);
    close_one(server);
}

static void receive_keeps_its_deadline(void **state)
{
    struct transport *t = open_one();
    transport_peer from;
    struct packet p;
    int64_t before = clock_now();
    expect_silence(t, 50);
    int64_t took = clock_now() - before;
    assert_true(took >= 50 * CLOCK_MS && took < 1000 * CLOCK_MS);
    assert_int_equal(take(t, 0, &from, &p), SKIFF_END);
    close_one(t);
}

static void *wake_later(void *arg)
{
    struct transport *t = arg;
    usleep(30000);
    t->kind->wake(t);
    return NULL;
}

static void wake_ends_a_wait(void **state)
{
    struct transport *t = open_one();
    transport_peer from;
    struct packet p;
    pthread_t thread;
    int64_t before = clock_now();
    assert_int_equal(pthread_create(&thread, NULL, wake_later, t), 0);
    assert_int_equal(t->kind->receive(t, before + 20 * CLOCK_SECOND, &from, &p, NULL), SKIFF_END);
    assert_true(clock_now() - before < 5 * CLOCK_SECOND);
    pthread_join(thread, NULL);
    t->kind->wake(t); /* before the wait counts, too */
    before = clock_now();
    assert_int_equal(t->kind->receive(t, before + 20 * CLOCK_SECOND, &from, &p, NULL), SKIFF_END);
    assert_true(clock_now() - before < 5 * CLOCK_SECOND);
    close_one(t);
}

static void an_address_in_use(void **state)
{
    struct transport *a = open_one(), *b = open_one();
    char bound[ADDRESS_TEXT];
    struct skiff_error err;
    listen_at(a, "127.0.0.1:0", bound);
    assert_int_equal(b->kind->listen(b, bound, NULL, &err), SKIFF_IO);
    assert_non_null(strstr(err.message, "in use"));
    assert_non_null(strstr(err.message, bound));
    assert_int_equal(b->kind->listen(b, "nonsense", NULL, &err), SKIFF_INVALID);
    transport_peer peer;
    assert_int_equal(b->kind->connect(b, "nonsense", &peer, &err), SKIFF_INVALID);
    listen_at(b, "127.0.0.1:0", bound); /* and b can still be used */
    close_one(a);
    close_one(b);
}

/* A received body outlives the transport that brought it. */
static void bodies_outlive_transports(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    struct blob *b = pattern(50000, 9);
    struct packet p = packet_of("keep", b), got;
    send_until_sent(client, to, &p);
    blob_unref(b);
    receive_one(server, &got);
    close_one(client);
    close_one(server);
    expect_pattern(&got, 50000, 9);
    packet_deinit(&got);
}

static void close_does_not_hang(void **state)
{
    struct transport *server = open_one(), *client = open_one(), *alone = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    send_text(client, to, "hi");
    expect_text(server, "hi");
    struct blob *b = pattern(1 << 20, 0);
    struct packet p = packet_of("unread", b);
    for (int i = 0; i < 200; i++)
        client->kind->send(client, to, &p);
    blob_unref(b);
    connect_to(alone, "127.0.0.1:1");
    int64_t before = clock_now();
    close_one(client);
    close_one(alone);
    close_one(server);
    assert_true(clock_now() - before < 3 * CLOCK_SECOND);
}

static bool has_ipv6(void)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool yes = fd >= 0 && getaddrinfo("::1", "0", &hints, &list) == 0;
    if (yes) {
        yes = bind(fd, list->ai_addr, list->ai_addrlen) == 0;
        freeaddrinfo(list);
    }
    if (fd >= 0)
        close(fd);
    return yes;
}

static bool localhost_has_ipv6(void)
{
    struct addrinfo hints = {.ai_family = AF_INET6}, *list;
    if (getaddrinfo("localhost", NULL, &hints, &list) != 0)
        return false;
    freeaddrinfo(list);
    return true;
}

static void try_pair(const char *listen_address, const char *connect_host)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT], to_address[ADDRESS_TEXT + 80];
    listen_at(server, listen_address, bound);
    snprintf(to_address, sizeof to_address, "%s:%s", connect_host, strrchr(bound, ':') + 1);
    transport_peer to = connect_to(client, to_address);
    send_text(client, to, "hi");
    expect_text(server, "hi");
    close_one(client);
    close_one(server);
}

/* Names and both families; a name with two addresses, with a listener at only one. */
static void names_and_families(void **state)
{
    if (strstr(now_testing->name, "inproc"))
        return; /* its addresses are just texts */
    try_pair("localhost:0", "localhost");
    try_pair("127.0.0.1:0", "localhost");
    try_pair("*:0", "127.0.0.1");
    if (!has_ipv6())
        return;
    try_pair("[::1]:0", "[::1]");
    try_pair("*:0", "[::1]");
    if (localhost_has_ipv6())
        try_pair("[::1]:0", "localhost");
}

static int count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A joined thread may stay in the list for a moment: waits until there are at most n. */
static int count_threads(int n)
{
    const struct timespec tick = {0, 5000000};
    for (int i = 0; i < 400 && count_entries("/proc/self/task") > n; i++)
        nanosleep(&tick, NULL);
    return count_entries("/proc/self/task");
}

static void nothing_is_left_open(void **state)
{
    int fds = 0, alone = count_threads(3); /* ., .., and the one that runs this */
    for (int round = 0; round < 4; round++) {
        struct transport *server = open_one(), *client = open_one();
        char bound[ADDRESS_TEXT];
        listen_at(server, "127.0.0.1:0", bound);
        transport_peer to = connect_to(client, bound);
        connect_to(client, "127.0.0.1:1");
        send_text(client, to, "hi");
        expect_text(server, "hi");
        close_one(client);
        close_one(server);
        if (round == 0)
            fds = count_entries("/proc/self/fd");
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_threads(alone), alone);
}

/* Descriptors in the epoll sets of this process. */
static int count_watched(void)
{
    int n = 0;
    char path[64], line[256];
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f))
            n += !strncmp(line, "tfd:", 4);
        if (f)
            fclose(f);
    }
    return n;
}

/* A forked process has copies of all sockets until it executes another program. */
static void closed_connections_are_not_watched(void **state)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    transport_peer from;
    struct packet p;
    listen_at(server, "127.0.0.1:0", bound);
    transport_peer to = connect_to(client, bound);
    send_text(client, to, "hi");
    assert_int_equal(take(server, clock_now() + 5 * CLOCK_SECOND, &from, &p), SKIFF_OK);
    packet_deinit(&p);
    int before = count_watched();
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    client->kind->disconnect(client, to);
    expect_silence(client, 20); /* frees the connection */
    if (before) {               /* a transport with sockets */
        assert_int_equal(count_watched(), before - 1);
        send_text(server, from, "again");
        expect_silence(client, 50);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close_one(client);
    close_one(server);
}

/* ---- the faults themselves ---- */

struct faults {
    int64_t dropped, doubled, delayed;
};

/* Sends n numbered packets through the plan and counts how often each arrives. */
static void run_faults(int n, int *out_arrivals, bool *out_ordered, struct faults *out)
{
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "a:0", bound);
    transport_peer to = connect_to(client, bound), from;
    int last = -1;
    *out_ordered = true;
    for (int i = 0; i < n; i++) {
        char text[16];
        struct packet p, got;
        snprintf(text, sizeof text, "%d", i);
        p = packet_of(text, NULL);
        client->kind->send(client, to, &p);
        take(client, 0, &from, &got);
    }
    int64_t end = clock_now() + 100 * CLOCK_MS;
    while (clock_now() < end) {
        struct packet got;
        transport_peer other;
        take(client, 0, &other, &got);
        if (take(server, clock_now() + CLOCK_MS, &from, &got) != SKIFF_OK)
            continue;
        got.head[got.head_len] = 0;
        int i = atoi((char *)got.head);
        packet_deinit(&got);
        if (i >= 0 && i < n)
            out_arrivals[i]++;
        *out_ordered = *out_ordered && i >= last;
        last = i;
    }
    *out = (struct faults){.dropped = faults_of(client, "dropped"),
                           .doubled = faults_of(client, "doubled"),
                           .delayed = faults_of(client, "delayed")};
    close_one(client);
    close_one(server);
}

static void faults_happen_by_the_seed(void **state)
{
    enum { N = 2000 };
    static int first[N], second[N];
    struct faults a, b;
    bool ordered;
    now_testing = &settings[6];
    plan =
        (struct fault_plan){.seed = 3, .drop = 0.1, .twice = 0.1, .late = 0.2, .late_ms = {1, 10}};
    run_faults(N, first, &ordered, &a);
    assert_false(ordered);
    assert_true(a.dropped > N / 20 && a.doubled > N / 20 && a.delayed > N / 10);
    run_faults(N, second, &ordered, &b);
    assert_int_equal(a.dropped, b.dropped);
    assert_int_equal(a.doubled, b.doubled);
    int never = 0, twice = 0;
    for (int i = 0; i < N; i++) {
        never += first[i] == 0;
        twice += first[i] > 1;
    }
    assert_true(never > N / 10 && never < N / 2); /* both ends drop */
    assert_true(twice > N / 20);
    plan = (struct fault_plan){0};
}

static void links_are_cut_and_restored(void **state)
{
    now_testing = &settings[6];
    struct transport *server = open_one(), *client = open_one();
    char bound[ADDRESS_TEXT];
    listen_at(server, "a:0", bound);
    transport_peer to = connect_to(client, bound);
    send_text(client, to, "one");
    expect_text(server, "one");
    fault_cut(client, true);
    send_text(client, to, "lost");
    expect_silence(server, 20);
    fault_cut(client, false);
    send_text(client, to, "two");
    expect_text(server, "two");
    close_one(client);
    plan = (struct fault_plan){.cut_every_ms = 60, .cut_for_ms = 30};
    client = open_one();
    to = connect_to(client, bound);
    int arrived = 0, sent = 0;
    for (int64_t end = clock_now() + 240 * CLOCK_MS; clock_now() < end; sent++) {
        struct packet got;
        transport_peer from;
        send_text(client, to, "x");
        if (take(server, clock_now() + CLOCK_MS, &from, &got) == SKIFF_OK) {
            packet_deinit(&got);
            arrived++;
        }
    }
    assert_true(arrived > 0 && arrived < sent);
    close_one(client);
    close_one(server);
    plan = (struct fault_plan){0};
}

static void kinds_are_found_by_name(void **state)
{
    assert_string_equal(transport_find("tcp")->name, "tcp");
    assert_null(transport_find("pigeon"));
    assert_string_equal(transport_find("ipc")->name, "ipc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(bodies_and_slices),
        cmocka_unit_test(in_order),
        cmocka_unit_test(many_peers),
        cmocka_unit_test(one_in_the_middle),
        cmocka_unit_test(any_start_order),
        cmocka_unit_test(reconnects),
        cmocka_unit_test(a_peer_that_left_is_gone),
        cmocka_unit_test(disconnect_ends_a_peer),
        cmocka_unit_test(a_slow_peer_fills_up),
        cmocka_unit_test(bodies_that_are_too_long),
        cmocka_unit_test(receive_keeps_its_deadline),
        cmocka_unit_test(wake_ends_a_wait),
        cmocka_unit_test(an_address_in_use),
        cmocka_unit_test(bodies_outlive_transports),
        cmocka_unit_test(close_does_not_hang),
        cmocka_unit_test(names_and_families),
        cmocka_unit_test(nothing_is_left_open),
        cmocka_unit_test(closed_connections_are_not_watched),
    };
    const struct CMUnitTest fault_tests[] = {
        cmocka_unit_test(faults_happen_by_the_seed),
        cmocka_unit_test(links_are_cut_and_restored),
        cmocka_unit_test(kinds_are_found_by_name),
    };
    int failed = 0;
    hub = inproc_hub_create();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        now_testing = &settings[i];
        printf("---- %s\n", now_testing->name);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    failed += cmocka_run_group_tests(fault_tests, NULL, NULL);
    inproc_hub_destroy(hub);
    return failed;
}
