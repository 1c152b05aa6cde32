/* The network against itself on loopback: a client and a server in two processes.
 *   round trips  small requests, one after the other; and with 32 outstanding
 *   rows         pushes of 10,000 rows of 40 bytes with their ids, and pulls of as many, 4
 *                outstanding, as a parameter server sees them; the server adds or copies the rows
 *   dense        push of 1.7 MB and pull of 1.7 MB, one after the other
 * and, for comparison in the same run, a bare TCP connection that carries the same bytes.
 *
 * usage: net [SECONDS [TRANSPORT]]      of each measurement, default 1; tcp or ipc, default tcp */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/rpc.h"

enum { PING = 1, PUSH, PULL, DENSE };

#define ROWS 10000
#define DIM 10
#define TABLE 200000
#define DENSE_FLOATS 425000

static void check(enum skiff_status status, const struct skiff_error *err)
{
    if (status < 0) {
        fprintf(stderr, "net: %s\n", err->message);
        exit(1);
    }
}

/* ---- server ---- */

static float table[TABLE][DIM], dense[DENSE_FLOATS];

static void reply_empty(void *self, struct rpc_request *q)
{
    rpc_reply(q, NULL);
}

static void fail(struct rpc_request *q)
{
    struct skiff_error err;
    error_set(&err, SKIFF_FORMAT, "bad request");
    rpc_fail(q, &err);
}

static void handle_push(void *self, struct rpc_request *q)
{
    struct wire_reader r;
    size_t n, m;
    reader_init_block(&r, q->body);
    const uint8_t *ids = reader_ids(&r, &n), *values = reader_floats(&r, &m);
    if (reader_end(&r, "push", NULL) < 0 || m != n * DIM) {
        fail(q);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        float v[DIM];
        memcpy(&id, ids + 8 * i, 8);
        memcpy(v, values + sizeof v * i, sizeof v);
        float *row = table[(uint64_t)id % TABLE];
        for (int k = 0; k < DIM; k++)
            row[k] -= 0.01f * v[k];
    }
    rpc_reply(q, NULL);
}

static void handle_pull(void *self, struct rpc_request *q)
{
    struct wire_reader r;
    struct wire_writer w;
    struct blob *reply;
    size_t n;
    reader_init_block(&r, q->body);
    const uint8_t *ids = reader_ids(&r, &n);
    writer_init(&w);
    writer_reserve(&w, n * DIM * sizeof(float) + 10);
    writer_varint(&w, n * DIM);
    float *out = writer_space(&w, n * DIM * sizeof(float));
    for (size_t i = 0; out && i < n; i++) {
        int64_t id;
        memcpy(&id, ids + 8 * i, 8);
        memcpy((char *)out + i * DIM * sizeof(float), table[(uint64_t)id % TABLE],
               DIM * sizeof(float));
    }
    if (reader_end(&r, "pull", NULL) < 0 || writer_finish(&w, &reply, NULL) < 0)
        fail(q);
    else
        rpc_reply(q, reply);
}

static void handle_dense(void *self, struct rpc_request *q)
{
    struct wire_reader r;
    struct wire_writer w;
    struct blob *reply;
    size_t n;
    reader_init_block(&r, q->body);
    const uint8_t *g = reader_floats(&r, &n);
    if (reader_end(&r, "dense", NULL) < 0 || n != DENSE_FLOATS) {
        fail(q);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, g + 4 * i, 4);
        dense[i] -= 0.01f * v;
    }
    writer_init(&w);
    writer_reserve(&w, sizeof dense + 10);
    writer_floats(&w, dense, DENSE_FLOATS);
    if (writer_finish(&w, &reply, NULL) < 0)
        fail(q);
    else
        rpc_reply(q, reply);
}

static const char *transport = "tcp";

static void run_server(int out)
{
    struct node_owner owner = {.transport = transport};
    struct node *node;
    struct rpc_server *server;
    struct skiff_error err;
    char address[ADDRESS_TEXT];
    check(node_open(&owner, (struct net_id){NET_SERVER, 0}, NULL, &node, &err), &err);
    check(rpc_server_create(node, NULL, &server, &err), &err);
    rpc_server_handle(server, PING, RPC_ON_SHARD, reply_empty, NULL);
    rpc_server_handle(server, PUSH, RPC_ON_SHARD, handle_push, NULL);
    rpc_server_handle(server, PULL, RPC_ON_SHARD, handle_pull, NULL);
    rpc_server_handle(server, DENSE, RPC_ON_SHARD, handle_dense, NULL);
    check(node_listen(node, "127.0.0.1:0", address, &err), &err);
    check(node_start(node, &err), &err);
    if (write(out, address, sizeof address) != sizeof address)
        exit(1);
    for (;;)
        pause();
}

/* ---- client ---- */

static double seconds = 1;

/* Calls per second with `window` requests outstanding. */
static double measure(struct rpc_peer *peer, uint32_t method, struct blob *body, int window)
{
    struct rpc_call *call[64] = {0};
    struct rpc_ask ask = {.what = "bench", .method = method, .body = body};
    struct skiff_error err;
    int64_t begin = clock_now(), end = begin + (int64_t)(seconds * 1e9), now = begin;
    long done = 0;
    for (long i = 0; now < end; i++) {
        struct rpc_call **slot = &call[i % window];
        struct blob *reply = NULL;
        if (*slot) {
            check(rpc_wait(*slot, &reply, &err), &err);
            done++;
        }
        blob_unref(reply);
        ask.deadline = clock_now() + 10 * CLOCK_SECOND;
        check(rpc_start(peer, &ask, slot, &err), &err);
        now = clock_now();
    }
    double rate = (double)done / ((double)(now - begin) / 1e9);
    for (int i = 0; i < window; i++)
        if (call[i])
            check(rpc_wait(call[i], NULL, &err), &err);
    return rate;
}

static struct blob *body_of(size_t ids, size_t floats)
{
    static int64_t id[ROWS];
    static float value[DENSE_FLOATS];
    struct wire_writer w;
    struct blob *b;
    struct skiff_error err;
    for (size_t i = 0; i < ids; i++)
        id[i] = (int64_t)(i * 7919 % TABLE);
    writer_init(&w);
    if (ids)
        writer_ids(&w, id, ids);
    if (floats)
        writer_floats(&w, value, floats);
    check(writer_finish(&w, &b, &err), &err);
    return b;
}

/* ---- bare TCP, for comparison ---- */

static void tcp_all(int fd, char *p, size_t n, int out)
{
    while (n) {
        ssize_t k = out ? send(fd, p, n, 0) : recv(fd, p, n, 0);
        if (k <= 0)
            exit(0);
        p += k;
        n -= (size_t)k;
    }
}

/* Round trips per second of `there` bytes and `back` bytes over one bare connection. */
static double measure_tcp(size_t there, size_t back)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    char *bytes = calloc(there > back ? there : back, 1);
    if (!bytes || bind(listener, (struct sockaddr *)&a, len) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&a, &len))
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = accept(listener, NULL, NULL);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        for (;;) {
            tcp_all(fd, bytes, there, 0);
            tcp_all(fd, bytes, back, 1);
        }
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&a, sizeof a))
        exit(1);
    int64_t begin = clock_now(), end = begin + (int64_t)(seconds * 1e9), now = begin;
    long done = 0;
    for (; now < end; now = clock_now(), done++) {
        tcp_all(fd, bytes, there, 1);
        tcp_all(fd, bytes, back, 0);
    }
    close(fd);
    close(listener);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    free(bytes);
    return (double)done / ((double)(now - begin) / 1e9);
}

int main(int argc, char **argv)
{
    int at[2];
    char address[ADDRESS_TEXT];
    if (argc > 1)
        seconds = atof(argv[1]);
    if (argc > 2)
        transport = argv[2];
    if (pipe(at) != 0)
        return 1;
    double tcp_small = measure_tcp(100, 100), tcp_rows = measure_tcp(480000, 100);
    double tcp_dense = measure_tcp(1700000, 1700000);
    pid_t server = fork();
    if (server == 0)
        run_server(at[1]);
    if (read(at[0], address, sizeof address) != sizeof address)
        return 1;
    struct node_owner owner = {.transport = transport};
    struct node *node;
    struct rpc_peer *peer;
    struct skiff_error err;
    check(node_open(&owner, (struct net_id){NET_WORKER, 0}, NULL, &node, &err), &err);
    struct rpc_client *client = rpc_client_create(node, NULL);
    check(rpc_connect(client, address, (struct net_id){NET_SERVER, 0}, &peer, &err), &err);
    check(node_start(node, &err), &err);
    check(rpc_await(peer, clock_now() + 5 * CLOCK_SECOND, &err), &err);

    struct blob *push = body_of(ROWS, ROWS * DIM), *pull = body_of(ROWS, 0);
    struct blob *dense_push = body_of(0, DENSE_FLOATS);
    double small = measure(peer, PING, NULL, 1), many = measure(peer, PING, NULL, 32);
    double pushes = measure(peer, PUSH, push, 4), pulls = measure(peer, PULL, pull, 4);
    double dense_rate = measure(peer, DENSE, dense_push, 1);
    printf("round trip     %8.0f /s  (%.0f us; bare TCP %.0f us)\n", small, 1e6 / small,
           1e6 / tcp_small);
    printf("32 outstanding %8.0f /s\n", many);
    printf("push           %8.2f million rows/s  (bare TCP %.2f)\n", pushes * ROWS / 1e6,
           tcp_rows * ROWS / 1e6);
    printf("pull           %8.2f million rows/s\n", pulls * ROWS / 1e6);
    printf("dense 1.7 MB   %8.2f ms push + apply + pull  (bare TCP %.2f ms)\n", 1e3 / dense_rate,
           1e3 / tcp_dense);
    blob_unref(push);
    blob_unref(pull);
    blob_unref(dense_push);
    node_stop(node);
    rpc_client_destroy(client);
    node_destroy(node);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}
