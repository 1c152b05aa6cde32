/* Unauthenticated peers against a working server: floods of every kind cost it little memory and
 * few descriptors, members can still connect and are served, nothing is disclosed, and a man in the
 * middle can change nothing. Real sockets on loopback; every flood is bounded. */
#define _GNU_SOURCE /* memmem */
#include "net/rpc_fixture_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int knock(const char *address)
{
    struct address a;
    struct sockaddr_in to = {.sin_family = AF_INET};
    assert_int_equal(address_parse(address, &a, NULL), SKIFF_OK);
    to.sin_port = htons(a.port);
    inet_pton(AF_INET, a.host, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Receives until the other side closes, or for 8 s; returns the number of bytes. */
static size_t hear_all(int fd, uint8_t *out, size_t capacity)
{
    size_t n = 0;
    struct timeval patience = {.tv_sec = 8};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (ssize_t got; n < capacity && (got = recv(fd, out + n, capacity - n, 0)) > 0;)
        n += (size_t)got;
    return n;
}

static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    size_t size = 0, pages = 0;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu %zu", &size, &pages), 2);
    fclose(f);
    return pages * 4096;
}

/* Sanitizers have allocations of their own, which grow with every connection. */
static void expect_grown(size_t before, size_t most)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    size_t now = resident();
    if (now > before + most)
        fail_msg("%zu KB more are held; expected %zu at most", (now - before) >> 10, most >> 10);
#endif
}

struct job {
    struct counter_service server;
    struct client client;
    struct node_options so, co;
};

static void job_start(struct job *j)
{
    j->so = test_options("tcp", SERVER(0), NULL);
    j->co = test_options("tcp", WORKER(0), NULL);
    counters_start(&j->server, &j->so, "127.0.0.1:0", NULL);
    client_start(&j->client, &j->co, j->server.address);
    assert_int_equal(ask(&j->client, ADD, 1, 0, number(1), 10000, NULL, NULL), SKIFF_OK);
}

static void job_stop(struct job *j)
{
    client_stop(&j->client);
    counters_stop(&j->server);
}

/* The member is served, and one more member can connect. */
static void all_is_well(struct job *j)
{
    struct client late;
    struct node_options lo = test_options("tcp", WORKER(1), NULL);
    assert_int_equal(ask(&j->client, ADD, 1, 0, number(1), 10000, NULL, NULL), SKIFF_OK);
    client_start(&late, &lo, j->server.address);
    assert_int_equal(ask(&late, ADD, 1, 0, number(1), 10000, NULL, NULL), SKIFF_OK);
    client_stop(&late);
}

/* ---- floods ---- */

/* ZeroMQ's first bytes, endless frames, and the like: closed at the first wrong byte. */
static void bytes_without_end(void **state)
{
    struct job j;
    job_start(&j);
    static uint8_t junk[1 << 20];
    memset(junk, 0xff, sizeof junk);
    size_t before = resident();
    for (int i = 0; i < 8; i++) {
        int fd = knock(j.server.address);
        struct timeval patience = {.tv_sec = 8};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (i % 2) { /* begins like a member */
            memcpy(junk, "SKIFF\0\1\0", 8);
        }
        ssize_t n = 1;
        for (int k = 0; k < 64 && n > 0; k++)
            n = send(fd, junk, sizeof junk, MSG_NOSIGNAL);
        if (n > 0)
            fail_msg("64 MB were accepted from an unauthenticated peer");
        close(fd);
    }
    expect_grown(before, 4 << 20);
    wait_until(metrics_value(node_metrics(j.server.node), METRIC_NET_UNAUTHENTICATED) == 8);
    all_is_well(&j);
    job_stop(&j);
}

/* A peer that opens connections, sends half a handshake, and opens them again when they end. */
struct flood {
    pthread_t thread;
    const char *address;
    atomic_bool stop;
    atomic_int opened;
    bool whole; /* complete handshakes with another secret */
};

static void flood_log(const struct flood *f, int fd)
{
    struct handshake g;
    struct handshake_wish wish = {0};
    uint8_t first[HANDSHAKE_OPEN], base[SECRET_BYTES], key[SECRET_BYTES] = {1};
    pake_base(key, base);
    handshake_first(&g, base, &wish, NULL, first);
    ssize_t n = send(fd, first, f->whole ? sizeof first : 20, MSG_NOSIGNAL);
    (void)n;
}

static void *flood_run(void *arg)
{
    enum { MOST = 400 };
    struct flood *f = arg;
    int fds[MOST];
    for (int i = 0; i < MOST; i++)
        fds[i] = -1;
    for (int i = 0; !atomic_load(&f->stop); i = (i + 1) % MOST) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = knock(f->address);
        flood_log(f, fds[i]);
        atomic_fetch_add(&f->opened, 1);
    }
    for (int i = 0; i < MOST; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return NULL;
}

static void run_flood(bool whole)
{
    struct job j;
    struct flood f = {.whole = whole};
    job_start(&j);
    f.address = j.server.address;
    size_t before = resident();
    assert_int_equal(pthread_create(&f.thread, NULL, flood_run, &f), 0);
    wait_until(atomic_load(&f.opened) >= 600);
    for (int i = 0; i < 3; i++)
        all_is_well(&j);
    expect_grown(before, 16 << 20);
    atomic_store(&f.stop, true);
    pthread_join(f.thread, NULL);
    assert_int_equal(read_counter(&j.client, 1), 7);
    job_stop(&j);
}

static void half_greetings(void **state)
{
    run_flood(false);
}

static void handshakes_of_unauthenticated_peers(void **state)
{
    run_flood(true);
}

/* Idle connections up to the limit of descriptors: members have a reserve. */
static void descriptors(void **state)
{
    struct rlimit old, small;
    struct job j;
    int fds[150];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    small = old;
    small.rlim_cur = 256; /* both ends are in this process */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    job_start(&j);
    for (int i = 0; i < 150; i++)
        fds[i] = knock(j.server.address);
    wait_until(metrics_value(node_metrics(j.server.node), METRIC_NET_UNAUTHENTICATED) >=
               150 - 256 / 8);
    all_is_well(&j);
    for (int i = 0; i < 150; i++)
        close(fds[i]);
    job_stop(&j);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* ---- what unauthenticated peers can learn ---- */

static void one_constant_line(void **state)
{
    struct job j;
    uint8_t got[256];
    job_start(&j);
    int fd = knock(j.server.address);
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    assert_int_equal(hear_all(fd, got, sizeof got), 0);
    close(fd);

    struct handshake g;
    struct handshake_wish wish = {0};
    uint8_t first[HANDSHAKE_OPEN], base[SECRET_BYTES], key[SECRET_BYTES] = {1};
    uint8_t proof[HANDSHAKE_PROOF];
    pake_base(key, base);
    handshake_first(&g, base, &wish, NULL, first);
    fd = knock(j.server.address);
    assert_int_equal(send(fd, first, sizeof first, MSG_NOSIGNAL), sizeof first);
    assert_int_equal(recv(fd, got, HANDSHAKE_OPEN, MSG_WAITALL), HANDSHAKE_OPEN);
    assert_int_equal(handshake_prove(&g, got, proof, NULL), SKIFF_OK);
    assert_int_equal(send(fd, proof, sizeof proof, MSG_NOSIGNAL), sizeof proof);
    assert_int_equal(hear_all(fd, got, sizeof got), HANDSHAKE_PROOF);
    assert_memory_equal(got, "skiff: authentication required\n", 32);
    close(fd);
    job_stop(&j);
}

/* ---- a man in the middle ---- */

struct between {
    pthread_t thread;
    int listener;
    char address[ADDRESS_TEXT];
    const char *server;
    atomic_bool stop;
    int flip_after; /* flips one bit of the client's bytes, after this many; -1: none */
    atomic_int cut;
    bool saw_text; /* in the forwarded bytes: the body in plain text */
};

#define TEXT "a body that anybody can recognise"

static void between_open(struct between *b, const char *server, int flip_after)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *b = (struct between){.server = server, .flip_after = flip_after};
    b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(b->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(b->listener, 16), 0);
    assert_int_equal(getsockname(b->listener, (struct sockaddr *)&a, &n), 0);
    snprintf(b->address, sizeof b->address, "127.0.0.1:%d", ntohs(a.sin_port));
}

/* Forwards one direction's bytes; false: it has ended. */
static bool pass_on(struct between *b, int from, int to, int *passed)
{
    static uint8_t bytes[1 << 16];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    if (n <= 0)
        return false;
    if (passed && b->flip_after >= *passed && b->flip_after < *passed + n)
        bytes[b->flip_after - *passed] ^= 1;
    if (passed)
        *passed += (int)n;
    b->saw_text = b->saw_text || memmem(bytes, (size_t)n, TEXT, strlen(TEXT));
    return send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *between_run(void *arg)
{
    struct between *b = arg;
    while (!atomic_load(&b->stop)) {
        struct pollfd knocks = {.fd = b->listener, .events = POLLIN};
        if (poll(&knocks, 1, 20) <= 0)
            continue;
        int client = accept(b->listener, NULL, NULL), server = knock(b->server), passed = 0;
        bool open = client >= 0;
        while (open && !atomic_load(&b->stop)) {
            struct pollfd both[2] = {{.fd = client, .events = POLLIN},
                                     {.fd = server, .events = POLLIN}};
            poll(both, 2, 20);
            if (both[0].revents)
                open = pass_on(b, client, server, &passed);
            if (open && both[1].revents)
                open = pass_on(b, server, client, NULL);
        }
        if (!open && b->flip_after >= 0 && passed > b->flip_after) {
            atomic_fetch_add(&b->cut, 1);
            b->flip_after = -1; /* once */
        }
        close(client);
        close(server);
    }
    return NULL;
}

static struct blob *text_body(void)
{
    return test_block(TEXT, strlen(TEXT));
}

/* Changes a bit of the handshake, of heads, of bodies: only unchanged requests are carried out. */
static void nobody_changes_anything(void **state)
{
    for (int at = 10; at < 1200; at += at < 160 ? 33 : 150) {
        struct counter_service server;
        struct client client;
        struct between b;
        struct node_options so = test_options("tcp", SERVER(0), NULL);
        struct node_options co = test_options("tcp", WORKER(0), NULL);
        counters_start(&server, &so, "127.0.0.1:0", NULL);
        between_open(&b, server.address, at);
        assert_int_equal(pthread_create(&b.thread, NULL, between_run, &b), 0);
        client_start(&client, &co, b.address);
        int64_t sum = 0;
        for (int i = 1; i <= 20; sum += i++)
            assert_int_equal(ask(&client, ADD, 1, 0, number((uint64_t)i), 10000, NULL, NULL),
                             SKIFF_OK);
        assert_int_equal(read_counter(&client, 1), sum);
        wait_until(atomic_load(&b.cut) == 1);
        client_stop(&client);
        atomic_store(&b.stop, true);
        pthread_join(b.thread, NULL);
        close(b.listener);
        counters_stop(&server);
    }
}

static bool text_is_seen(enum handshake_encrypt encrypt)
{
    struct counter_service server;
    struct client client;
    struct between b;
    struct node_options so = test_options("tcp", SERVER(0), NULL);
    struct node_options co = test_options("tcp", WORKER(0), NULL);
    so.transport.encrypt = encrypt;
    counters_start(&server, &so, "127.0.0.1:0", NULL);
    between_open(&b, server.address, -1);
    assert_int_equal(pthread_create(&b.thread, NULL, between_run, &b), 0);
    client_start(&client, &co, b.address);
    assert_int_equal(ask(&client, ECHO, 0, 0, text_body(), 10000, NULL, NULL), SKIFF_OK);
    client_stop(&client);
    atomic_store(&b.stop, true);
    pthread_join(b.thread, NULL);
    close(b.listener);
    counters_stop(&server);
    return b.saw_text;
}

static void nobody_reads_what_is_encrypted(void **state)
{
    assert_true(text_is_seen(HANDSHAKE_OFF));
    assert_false(text_is_seen(HANDSHAKE_ON));
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_without_end),
        cmocka_unit_test(half_greetings),
        cmocka_unit_test(handshakes_of_unauthenticated_peers),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(one_constant_line),
        cmocka_unit_test(nobody_changes_anything),
        cmocka_unit_test(nobody_reads_what_is_encrypted),
    };
    return cmocka_run_group_tests_name("tcp_gate", tests, make_hub, drop_hub);
}
