/* rpc over whole nodes: servers that restart or are killed, refusals, unauthenticated peers, no
 * remaining state. */
#include "net/rpc_fixture_test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- restarts ---- */

static void a_server_restarts(void **state)
{
    static const char *const kinds[] = {"tcp", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counter_service server;
        struct client client;
        struct skiff_error err;
        char address[ADDRESS_TEXT];
        struct node_options so = test_options(kinds[k], SERVER(0), NULL);
        struct node_options co = test_options(kinds[k], WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        strcpy(address, server.address);
        client_start(&client, &co, address);
        struct rpc_call *call;
        struct rpc_ask a = {
            .what = "hang", .method = HANG, .deadline = clock_now() + 10 * CLOCK_SECOND};
        assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
        wait_until(hung_count(&server) == 1);
        struct rpc_request *hung = server.hung[0];
        rpc_server_stop(server.rpc);
        node_stop(server.node);
        rpc_server_destroy(server.rpc); /* frees `hung`, which will never be answered */
        node_destroy(server.node);
        (void)hung;
        so.incarnation = 0;
        counters_start(&server, &so, address, NULL);
        assert_int_equal(rpc_wait(call, NULL, &err), SKIFF_PEER);
        assert_non_null(strstr(err.message, "has restarted"));
        assert_non_null(strstr(err.message, address));
        assert_int_equal(read_counter(&client, 3), 0); /* and it continues */
        client_stop(&client);
        counters_stop(&server);
    }
}

/* Declared dead by the membership: calls end at once, until a new process answers. */
static void a_server_is_given_up(void **state)
{
    struct counter_service server;
    struct client client;
    struct skiff_error err, reason;
    char address[ADDRESS_TEXT];
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    strcpy(address, server.address);
    client_start(&client, &co, address);
    struct rpc_ask a = {.what = "hang", .method = HANG, .deadline = clock_now() + 9 * CLOCK_SECOND};
    struct rpc_call *call;
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    wait_until(hung_count(&server) == 1);
    error_set(&reason, SKIFF_PEER, "server 0 is dead");
    rpc_give_up(client.peer, &reason);
    assert_int_equal(rpc_wait(call, NULL, &err), SKIFF_PEER);
    assert_string_equal(err.message, "server 0 is dead");
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, &err), SKIFF_PEER);
    rpc_reply(server.hung[0], NULL);
    counters_stop(&server);
    counters_start(&server, &so, address, NULL);
    wait_until(ask(&client, ADD, 1, 0, number(1), 5000, NULL, &err) == SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* A read in flight when the server restarts is simply sent again. */
static void a_read_survives_a_restart(void **state)
{
    struct counter_service server;
    struct client client;
    char address[ADDRESS_TEXT];
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    strcpy(address, server.address);
    client_start(&client, &co, address);
    assert_int_equal(read_counter(&client, 1), 0);
    counters_stop(&server);
    struct rpc_call *call;
    struct rpc_ask a = {.what = "read",
                        .method = READ,
                        .flags = RPC_READ,
                        .deadline = clock_now() + 10 * CLOCK_SECOND};
    assert_int_equal(rpc_start(client.peer, &a, &call, NULL), SKIFF_OK);
    wait_until(metrics_value(node_metrics(client.node), METRIC_NET_LINKS_DOWN) > 0);
    counters_start(&server, &so, address, NULL);
    assert_int_equal(rpc_wait(call, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    counters_stop(&server);
}

/* ---- accepted and refused peers ---- */

static void expect_refusal(struct node_options *co, const char *address, const char *first,
                           const char *second)
{
    struct client client;
    struct skiff_error err;
    client_start(&client, co, address);
    int64_t before = clock_now();
    assert_true(rpc_await(client.peer, before + 10 * CLOCK_SECOND, &err) < 0);
    assert_true(clock_now() - before < 3 * CLOCK_SECOND);
    if (!strstr(err.message, first) || !strstr(err.message, second))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, first, second);
    /* and the next one fails at once */
    before = clock_now();
    assert_true(rpc_await(client.peer, before + 10 * CLOCK_SECOND, &err) < 0);
    assert_true(clock_now() - before < CLOCK_SECOND);
    client_stop(&client);
}

static void refusals(void **state)
{
    static const char *const kinds[] = {"tcp", "inproc"};
    for (int k = 0; k < 2; k++) {
        struct counter_service server;
        struct node_options so = test_options(kinds[k], SERVER(0), NULL), co;
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        if (k == 0) { /* inside a process there are no unauthenticated peers */
            co = test_options(kinds[k], WORKER(1), NULL);
            co.secret = "open barley";
            expect_refusal(&co, server.address, "does not have the same secret", server.address);
            wait_until(metrics_value(node_metrics(server.node), METRIC_NET_UNAUTHENTICATED) >= 1);
        }
        co = test_options(kinds[k], WORKER(1), NULL);
        co.job = "another";
        expect_refusal(&co, server.address, "worker 1", "belongs to job 'another'");
        struct metrics *metrics = node_metrics(server.node);
        assert_true(metrics_value(metrics, METRIC_NET_OTHER_JOB) >= 1);
        counters_stop(&server);
        so.id = SERVER(1);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        co = test_options(kinds[k], WORKER(1), NULL);
        expect_refusal(&co, server.address, "is server 1; expected server 0 there", server.address);
        counters_stop(&server);
    }
}

struct fence_order {
    struct counter_service *server;
    struct net_id id;
    uint64_t incarnation;
};

static void fence_now(void *arg)
{
    struct fence_order *o = arg;
    struct skiff_error err;
    error_set(&err, SKIFF_STATE, "you were declared dead");
    rpc_server_fence(o->server->rpc, o->id, o->incarnation, &err);
}

static void fenced_incarnations(void **state)
{
    struct counter_service server;
    struct client old, young;
    struct skiff_error err;
    struct node_options so = test_options("inproc", SERVER(0), NULL);
    struct node_options co = test_options("inproc", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&old, &co, server.address);
    assert_int_equal(ask(&old, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    struct fence_order order = {&server, WORKER(0), node_self(old.node)->incarnation};
    node_run(server.node, fence_now, &order);
    assert_int_equal(ask(&old, ADD, 1, 0, number(1), 5000, NULL, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "declared dead"));
    client_start(&young, &co, server.address);
    assert_int_equal(ask(&young, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(read_counter(&young, 1), 2);
    client_stop(&old);
    client_stop(&young);
    counters_stop(&server);
}

/* Sends arbitrary bytes to an address, over a bare socket. */
static int talk(const char *address, const void *bytes, size_t n)
{
    struct address a;
    struct sockaddr_in to = {.sin_family = AF_INET};
    assert_int_equal(address_parse(address, &a, NULL), SKIFF_OK);
    to.sin_port = htons(a.port);
    inet_pton(AF_INET, a.host, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    assert_true(sent >= 0 || n == 0);
    return fd;
}

/* A peer with the secret sends packets that no node would, through a transport of its own. */
static void send_packets(const char *address, int n)
{
    struct metrics *counted = metrics_create(NULL, 0);
    struct transport_options o = {.linger_ms = 100, .metrics = counted};
    secret_derive("open sesame", "skiff transport", "", o.key);
    struct transport *t;
    transport_peer peer, from;
    assert_int_equal(transport_find("tcp")->open(&o, &t, NULL), SKIFF_OK);
    assert_int_equal(t->kind->connect(t, address, &peer, NULL), SKIFF_OK);
    for (int i = 0; i < n; i++) {
        struct packet p = {.head_len = WIRE_HEAD}, got;
        struct wire_head h = {.type = WIRE_REQUEST, .sender = WORKER(0), .method = ADD, .parts = 1};
        h.job = i % 2 ? wire_hash((const uint8_t *)"test", 4) : 1;
        wire_head_encode(&h, wire_hash(NULL, 0), p.head);
        if (i % 4 == 2)
            p.head[20] ^= 1;
        if (i % 4 == 3)
            memset(p.head, i, sizeof p.head);
        if (i % 16 == 5)
            p.head[4] = 9; /* version */
        int64_t end = clock_now() + 5 * CLOCK_SECOND;
        while (t->kind->send(t, peer, &p) != TRANSPORT_SENT && clock_now() < end)
            if (t->kind->receive(t, clock_now() + CLOCK_MS, &from, &got, NULL) == SKIFF_OK)
                packet_deinit(&got);
    }
    t->kind->close(t);
    metrics_destroy(counted);
}

static void unauthenticated_do_no_harm(void **state)
{
    struct counter_service server;
    struct client client;
    struct node_options so = test_options("tcp", SERVER(0), NULL);
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    client_start(&client, &co, server.address);
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    int fds[12];
    char junk[4096];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)(i * 37);
    for (int i = 0; i < 12; i++)
        fds[i] = i % 3 == 0   ? talk(server.address, "GET / HTTP/1.1\r\n\r\n", 18)
                 : i % 3 == 1 ? talk(server.address, junk, sizeof junk)
                              : talk(server.address, "", 0); /* sends nothing at all */
    send_packets(server.address, 64);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    assert_int_equal(read_counter(&client, 1), 21);
    struct metrics *metrics = node_metrics(server.node);
    wait_until(metrics_value(metrics, METRIC_NET_UNAUTHENTICATED) > 0);
    assert_true(metrics_value(metrics, METRIC_NET_NONSENSE) > 0);
    assert_true(metrics_value(metrics, METRIC_NET_CORRUPT) > 0);
    assert_true(metrics_value(metrics, METRIC_NET_UNKNOWN) > 0);
    assert_true(metrics_value(metrics, METRIC_NET_OTHER_JOB) > 0);
    assert_true(metrics_value(metrics, METRIC_NET_OTHER_VERSION) > 0);
    assert_int_equal(metrics_value(metrics, METRIC_NET_LINKS_UP), 1);
    for (int i = 0; i < 12; i++)
        close(fds[i]);
    client_stop(&client);
    counters_stop(&server);
}

/* ---- processes ---- */

static void server_process(int out)
{
    struct counter_service server;
    struct node_options so = test_options("tcp", SERVER(0), NULL);
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    if (write(out, server.address, sizeof server.address) != sizeof server.address)
        _exit(1);
    for (;;)
        pause();
}

static void a_killed_server(void **state)
{
    int pipe_fds[2];
    char address[ADDRESS_TEXT];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0)
        server_process(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], address, sizeof address), sizeof address);
    struct client client;
    struct skiff_error err;
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    client_start(&client, &co, address);
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    int64_t before = clock_now();
    assert_int_equal(ask(&client, ADD, 1, 0, number(1), 400, NULL, &err), SKIFF_TIMEOUT);
    assert_true(clock_now() - before < 2 * CLOCK_SECOND);
    assert_non_null(strstr(err.message, "no answer from server 0"));
    assert_non_null(strstr(err.message, address));
    client_stop(&client);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void nothing_is_left(void **state)
{
    int fds = 0, threads = 0;
    for (int i = 0; i < 3; i++) {
        struct counter_service server;
        struct client client;
        struct node_options so = test_options("tcp", SERVER(0), NULL);
        struct node_options co = test_options("tcp", WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        client_start(&client, &co, server.address);
        assert_int_equal(ask(&client, ADD, 1, 0, number(1), 5000, NULL, NULL), SKIFF_OK);
        client_stop(&client);
        counters_stop(&server);
        if (i == 0) {
            fds = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_server), /* first: forks while there is one thread */
        cmocka_unit_test(a_server_restarts),         cmocka_unit_test(a_server_is_given_up),
        cmocka_unit_test(a_read_survives_a_restart), cmocka_unit_test(refusals),
        cmocka_unit_test(fenced_incarnations),       cmocka_unit_test(unauthenticated_do_no_harm),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
