/* Membership over whole nodes: threads in one process, and real processes on loopback. */
#include "net/net_fixture_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "net/membership_parts.h"

/* ---- recorded callbacks ---- */

struct heard {
    pthread_mutex_t lock;
    int n;
    struct {
        struct member after;
        enum member_state before;
    } change[64];
};

static void hear(void *self, const struct member *after, enum member_state before)
{
    struct heard *h = self;
    pthread_mutex_lock(&h->lock);
    if (h->n < 64) {
        h->change[h->n].after = *after;
        h->change[h->n++].before = before;
    }
    pthread_mutex_unlock(&h->lock);
}

/* How often a member was reported to have entered a state. */
static int heard_count(struct heard *h, struct net_id id, enum member_state state)
{
    int n = 0;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < h->n; i++)
        n += net_id_equal(h->change[i].after.id, id) && h->change[i].after.state == state;
    pthread_mutex_unlock(&h->lock);
    return n;
}

/* ---- a host and members ---- */

struct host {
    struct node *node;
    struct rpc_server *rpc;
    struct membership *list;
    struct heard heard;
    char address[ADDRESS_TEXT];
};

static int patience = 1; /* factor by which the tolerated silence is longer than usual */

static struct membership_options fast(uint32_t workers, uint32_t servers)
{
    return (struct membership_options){.workers = workers,
                                       .servers = servers,
                                       .beat_ms = 20,
                                       .silence_ms = 600 * patience,
                                       .lost_ms = 300 * patience};
}

static void host_start(struct host *h, const char *kind, const struct fault_plan *plan,
                       const char *address, uint32_t workers, uint32_t servers)
{
    struct node_options o = test_options(kind, SERVER(0), plan);
    struct membership_options m = fast(workers, servers);
    o.ping_ms = 20;
    memset(h, 0, sizeof *h);
    pthread_mutex_init(&h->heard.lock, NULL);
    m.changed = hear;
    m.self = &h->heard;
    h->node = test_node(&o);
    assert_int_equal(rpc_server_create(h->node, NULL, &h->rpc, NULL), SKIFF_OK);
    h->list = membership_create(h->node, h->rpc, &m);
    test_listen(h->node, address, h->address);
    test_start(h->node);
}

static void host_stop(struct host *h)
{
    rpc_server_stop(h->rpc);
    node_stop(h->node);
    rpc_server_destroy(h->rpc);
    membership_destroy(h->list);
    node_destroy(h->node);
}

static enum member_state state_of(struct host *h, struct net_id id)
{
    struct member all[16];
    size_t n = membership_list(h->list, all, 16);
    for (size_t i = 0; i < n; i++)
        if (net_id_equal(all[i].id, id))
            return all[i].state;
    return MEMBER_ABSENT;
}

struct joiner {
    struct node *node;
    struct rpc_client *rpc;
    struct rpc_peer *peer;
    struct enrolment *enrolment;
    struct heard heard;
};

static enum skiff_status member_join(struct joiner *g, const char *kind,
                                     const struct fault_plan *plan, struct net_id id,
                                     const char *address, uint32_t workers, uint32_t servers,
                                     struct skiff_error *err)
{
    struct node_options o = test_options(kind, id, plan);
    struct rpc_client_options quick = {.retry_ms = 10, .retry_max_ms = 50};
    struct membership_options m = fast(workers, servers);
    o.ping_ms = 20;
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->heard.lock, NULL);
    m.changed = hear;
    m.self = &g->heard;
    g->node = test_node(&o);
    g->rpc = rpc_client_create(g->node, &quick);
    assert_int_equal(rpc_connect(g->rpc, address, SERVER(0), &g->peer, NULL), SKIFF_OK);
    test_start(g->node);
    return enrolment_join(g->node, g->peer, "10.0.0.9:7", &m, clock_now() + 5 * CLOCK_SECOND,
                          &g->enrolment, err);
}

static void member_start(struct joiner *g, const char *kind, struct net_id id, const char *address,
                         uint32_t workers, uint32_t servers)
{
    struct skiff_error err;
    if (member_join(g, kind, NULL, id, address, workers, servers, &err) < 0)
        fail_msg("%s", err.message);
}

static void member_stop(struct joiner *g)
{
    node_stop(g->node);
    rpc_client_destroy(g->rpc);
    enrolment_destroy(g->enrolment);
    node_destroy(g->node);
}

static void member_leave(struct joiner *g)
{
    assert_int_equal(enrolment_leave(g->enrolment, clock_now() + 5 * CLOCK_SECOND, NULL), SKIFF_OK);
}

/* ---- joining and leaving ---- */

static void members_come_and_go(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct joiner worker[2], server;
        struct skiff_error err;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 2, 2);
        assert_int_equal(
            membership_wait_here(host.list, NET_WORKER, clock_now() + 20 * CLOCK_MS, &err),
            SKIFF_TIMEOUT);
        assert_non_null(strstr(err.message, "worker 0 (absent), worker 1 (absent)"));
        member_start(&worker[0], kinds[k], WORKER(0), host.address, 2, 2);
        member_start(&worker[1], kinds[k], WORKER(1), host.address, 2, 2);
        member_start(&server, kinds[k], SERVER(1), host.address, 2, 2);
        int64_t soon = clock_now() + 5 * CLOCK_SECOND;
        assert_int_equal(membership_wait_here(host.list, NET_WORKER, soon, NULL), SKIFF_OK);
        assert_int_equal(membership_wait_here(host.list, NET_SERVER, soon, NULL), SKIFF_OK);
        struct member all[4];
        assert_int_equal(membership_list(host.list, all, 4), 4);
        assert_non_null(strstr(all[1].name, "worker 1 ("));
        assert_string_equal(all[1].address, "10.0.0.9:7");
        /* the first one learns of the others with its heartbeats */
        wait_until(heard_count(&worker[0].heard, SERVER(1), MEMBER_HERE) == 1);
        assert_int_equal(heard_count(&worker[0].heard, SERVER(0), MEMBER_HERE), 1);
        assert_int_equal(heard_count(&worker[0].heard, WORKER(1), MEMBER_HERE), 1);
        member_leave(&worker[1]);
        assert_int_equal(state_of(&host, WORKER(1)), MEMBER_LEFT);
        wait_until(heard_count(&worker[0].heard, WORKER(1), MEMBER_LEFT) == 1);
        assert_int_equal(enrolment_list(worker[0].enrolment, all, 4), 4);
        assert_int_equal(all[1].state, MEMBER_LEFT);
        member_leave(&worker[0]);
        assert_int_equal(membership_wait_gone(host.list, NET_WORKER, soon, NULL), SKIFF_OK);
        member_stop(&worker[0]);
        member_stop(&worker[1]);
        member_stop(&server);
        host_stop(&host);
    }
}

/* A member that gives up is dead at once; its reason is reported, and its process is not accepted
 * any more. */
static void who_gives_up_is_dead(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct joiner worker[2], again;
        struct skiff_error err;
        int64_t soon = clock_now() + 5 * CLOCK_SECOND;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 2, 1);
        member_start(&worker[0], kinds[k], WORKER(0), host.address, 2, 1);
        member_start(&worker[1], kinds[k], WORKER(1), host.address, 2, 1);
        assert_int_equal(enrolment_abandon(worker[1].enrolment, "has no more paper", soon, &err),
                         SKIFF_OK);
        wait_until(heard_count(&worker[0].heard, WORKER(1), MEMBER_DEAD) == 1);
        struct member all[3];
        assert_int_equal(membership_list(host.list, all, 3), 3);
        assert_int_equal(all[1].state, MEMBER_DEAD);
        assert_string_equal(all[1].reason, "has no more paper");
        assert_int_equal(enrolment_list(worker[0].enrolment, all, 3), 3);
        assert_string_equal(all[1].reason, "has no more paper");
        assert_true(enrolment_leave(worker[1].enrolment, soon, &err) < 0);
        assert_non_null(strstr(err.message, "has no more paper"));
        member_stop(&worker[1]);
        member_start(&again, kinds[k], WORKER(1), host.address, 2, 1);
        assert_int_equal(state_of(&host, WORKER(1)), MEMBER_HERE);
        member_stop(&again);
        member_stop(&worker[0]);
        host_stop(&host);
    }
}

static void expect_no_entry(struct host *host, struct net_id id, uint32_t workers, uint32_t servers,
                            enum skiff_status code, const char *first, const char *second)
{
    struct joiner g;
    struct skiff_error err;
    int64_t before = clock_now();
    assert_int_equal(member_join(&g, "inproc", NULL, id, host->address, workers, servers, &err),
                     code);
    assert_true(clock_now() - before < CLOCK_SECOND);
    if (!strstr(err.message, first) || !strstr(err.message, second))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, first, second);
    member_stop(&g);
}

static void wrong_counts_and_numbers(void **state)
{
    struct host host;
    struct joiner first;
    host_start(&host, "inproc", NULL, "127.0.0.1:0", 2, 1);
    expect_no_entry(&host, WORKER(1), 3, 1, SKIFF_INVALID, "was started for 3 workers and 1 server",
                    "for 2 workers and 1 server");
    expect_no_entry(&host, WORKER(2), 2, 1, SKIFF_RANGE, "worker 2", "has no such number");
    member_start(&first, "inproc", WORKER(0), host.address, 2, 1);
    expect_no_entry(&host, WORKER(0), 2, 1, SKIFF_STATE, "there is a worker 0 in the job already",
                    "refused: worker 0 (");
    expect_no_entry(&host, SERVER(0), 2, 1, SKIFF_STATE, "there is a server 0 in the job already",
                    "refused: server 0 (");
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_HERE), 1);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 0);
    member_stop(&first);
    host_stop(&host);
}

/* A process that disconnected without notice is replaced by its successor at once. */
static void a_successor_takes_the_place(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct joiner first, second;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 1, 1);
        member_start(&first, kinds[k], WORKER(0), host.address, 1, 1);
        member_stop(&first);
        member_start(&second, kinds[k], WORKER(0), host.address, 1, 1);
        assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 1);
        assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_HERE), 2);
        member_leave(&second);
        member_stop(&second);
        host_stop(&host);
    }
}

/* A silent member is reported dead once, gets the reason when it is back, and can join only as a
 * new process. */
static void the_silent_are_dead(void **state)
{
    struct host host;
    struct joiner silent, other, again;
    struct fault_plan none = {0};
    struct skiff_error err;
    host_start(&host, "inproc", NULL, "127.0.0.1:0", 2, 1);
    assert_int_equal(member_join(&silent, "inproc", &none, WORKER(0), host.address, 2, 1, &err),
                     SKIFF_OK);
    member_start(&other, "inproc", WORKER(1), host.address, 2, 1);
    fault_cut(node_transport(silent.node), true);
    int64_t before = clock_now();
    wait_until(state_of(&host, WORKER(0)) == MEMBER_DEAD);
    int64_t took = clock_now() - before;
    assert_true(took > 300 * CLOCK_MS && took < 3000 * CLOCK_MS);
    wait_until(heard_count(&other.heard, WORKER(0), MEMBER_DEAD) == 1);
    wait_until(heard_count(&silent.heard, SERVER(0), MEMBER_DEAD) == 1);
    fault_cut(node_transport(silent.node), false);
    wait_until(heard_count(&silent.heard, WORKER(0), MEMBER_DEAD) == 1);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 1);
    assert_int_equal(membership_wait_gone(host.list, NET_WORKER, clock_now(), &err), SKIFF_TIMEOUT);
    member_leave(&other);
    assert_int_equal(membership_wait_gone(host.list, NET_WORKER, clock_now(), &err), SKIFF_PEER);
    assert_non_null(strstr(err.message, "worker 0 ("));
    assert_non_null(strstr(err.message, "has been silent for"));
    member_start(&again, "inproc", WORKER(0), host.address, 2, 1);
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    member_stop(&again);
    member_stop(&silent);
    member_stop(&other);
    host_stop(&host);
}

static int64_t dropped_by(struct joiner *g)
{
    return metric_value(metrics_get(node_metrics(g->node), METRIC_NET_FAULTS, "dropped"));
}

/* A short interruption, of some heartbeats, has no effect on any member. */
static void a_short_cut_kills_nobody(void **state)
{
    struct host host;
    struct joiner joiner;
    struct fault_plan none = {0};
    patience = 20; /* a slow machine must not turn a short interruption into a long one */
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 1, 1);
    assert_int_equal(member_join(&joiner, "tcp", &none, WORKER(0), host.address, 1, 1, NULL),
                     SKIFF_OK);
    for (int i = 0; i < 2; i++) {
        int64_t before = dropped_by(&joiner);
        fault_cut(node_transport(joiner.node), true);
        wait_until(dropped_by(&joiner) >= before + 5);
        int64_t silence = membership_silence(host.list, WORKER(0));
        fault_cut(node_transport(joiner.node), false);
        wait_until(membership_silence(host.list, WORKER(0)) < silence); /* it is heard again */
    }
    patience = 1;
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 0);
    assert_int_equal(heard_count(&joiner.heard, SERVER(0), MEMBER_DEAD), 0);
    member_leave(&joiner);
    member_stop(&joiner);
    host_stop(&host);
}

static void the_host_restarts(void **state)
{
    struct host host;
    struct joiner joiner;
    char address[ADDRESS_TEXT];
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 1, 1);
    strcpy(address, host.address);
    member_start(&joiner, "tcp", WORKER(0), address, 1, 1);
    host_stop(&host);
    wait_until(heard_count(&joiner.heard, SERVER(0), MEMBER_DEAD) == 1);
    host_start(&host, "tcp", NULL, address, 1, 1);
    wait_until(state_of(&host, WORKER(0)) == MEMBER_HERE); /* joined again by itself */
    wait_until(heard_count(&joiner.heard, SERVER(0), MEMBER_HERE) >= 2);
    member_leave(&joiner);
    member_stop(&joiner);
    host_stop(&host);
}

/* ---- processes ---- */

/* Pipes between the test and its processes: bytes come from workers, the host's address first; a
 * process whose pipe is closed may continue. */
struct pipes {
    int transcript[2], go[2], end[2];
};

static void pipes_open(struct pipes *p)
{
    assert_true(!pipe(p->transcript) && !pipe(p->go) && !pipe(p->end));
}

static void pipe_close(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* In a process that waits for the test: blocks until the test closes its end. */
static bool is_notified(int ends[2])
{
    char byte;
    close(ends[1]);
    return read(ends[0], &byte, 1) == 0;
}

static bool on_log(struct pipes *p)
{
    char byte = 1;
    return write(p->transcript[1], &byte, 1) == 1;
}

static void hear_from(struct pipes *p, int n)
{
    char byte;
    for (int i = 0; i < n; i++)
        assert_int_equal(read(p->transcript[0], &byte, 1), 1);
}

/* wait_until for a process of the test: false when the member is not reported dead in time. */
static bool hears_death(struct joiner *g, struct net_id id)
{
    int64_t end = clock_now() + 5 * CLOCK_SECOND;
    while (heard_count(&g->heard, id, MEMBER_DEAD) == 0 && clock_now() < end)
        usleep(1000);
    return heard_count(&g->heard, id, MEMBER_DEAD) == 1;
}

/* A worker process: joins and reports it, waits until the test lets it continue, hears that worker
 * 2 is dead, leaves. Its exit status tells how far it came. */
static int worker_process(uint32_t index, const char *address, struct pipes *p)
{
    struct joiner g;
    struct skiff_error err = {0};
    close(p->end[1]);
    if (member_join(&g, "tcp", NULL, WORKER(index), address, 3, 1, &err) < 0 || !on_log(p))
        return 10;
    if (!is_notified(p->go))
        return 12;
    if (!hears_death(&g, WORKER(2)))
        return 13;
    if (enrolment_leave(g.enrolment, clock_now() + 5 * CLOCK_SECOND, &err) < 0)
        return 14;
    member_stop(&g);
    return 0;
}

/* The host: reports its address, stays until the workers have ended, reports deaths. */
static int host_process(struct pipes *p)
{
    struct host host;
    struct skiff_error err;
    close(p->go[1]);
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 3, 1);
    if (write(p->transcript[1], host.address, sizeof host.address) != sizeof host.address)
        return 20;
    enum skiff_status status =
        membership_wait_gone(host.list, NET_WORKER, clock_now() + 20 * CLOCK_SECOND, &err);
    if (!is_notified(p->end)) /* the answers to the last leave requests have arrived */
        return 22;
    host_stop(&host); /* the network thread has made its last callback */
    bool right = status == SKIFF_PEER && strstr(err.message, "worker 2 (") &&
                 heard_count(&host.heard, WORKER(2), MEMBER_DEAD) == 1 &&
                 heard_count(&host.heard, WORKER(0), MEMBER_LEFT) == 1;
    return right ? 0 : 21;
}

static int exit_code(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static pid_t start_host(struct pipes *p, char address[ADDRESS_TEXT])
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(host_process(p));
    assert_int_equal(read(p->transcript[0], address, ADDRESS_TEXT), ADDRESS_TEXT);
    return pid;
}

/* Three workers; the last is killed when all have joined: the others are notified and leave. */
static void processes_and_a_kill(void **state)
{
    struct pipes p;
    char address[ADDRESS_TEXT];
    pipes_open(&p);
    pid_t host = start_host(&p, address), worker[3];
    for (uint32_t i = 0; i < 3; i++) {
        worker[i] = fork();
        if (worker[i] == 0)
            _exit(worker_process(i, address, &p));
    }
    hear_from(&p, 3);
    int64_t before = clock_now();
    kill(worker[2], SIGKILL);
    assert_int_equal(exit_code(worker[2]), 1000 + SIGKILL);
    pipe_close(p.go);
    assert_int_equal(exit_code(worker[0]), 0);
    assert_int_equal(exit_code(worker[1]), 0);
    pipe_close(p.end);
    assert_int_equal(exit_code(host), 0);
    assert_true(clock_now() - before < 10 * CLOCK_SECOND);
    pipe_close(p.transcript);
}

/* The host is killed: its worker reports that within the limit. */
static int lonely_worker(const char *address, struct pipes *p)
{
    struct joiner g;
    if (member_join(&g, "tcp", NULL, WORKER(0), address, 3, 1, NULL) < 0 || !on_log(p))
        return 10;
    bool right = hears_death(&g, SERVER(0));
    for (int i = 0; right && i < g.heard.n; i++)
        if (g.heard.change[i].after.state == MEMBER_DEAD)
            right = strstr(g.heard.change[i].after.name, "server 0 (") &&
                    strstr(g.heard.change[i].after.reason, "has not answered for");
    member_stop(&g);
    return right ? 0 : 15;
}

static void a_killed_host(void **state)
{
    struct pipes p;
    char address[ADDRESS_TEXT];
    pipes_open(&p);
    pid_t host = start_host(&p, address), worker = fork();
    if (worker == 0)
        _exit(lonely_worker(address, &p));
    hear_from(&p, 1);
    kill(host, SIGKILL);
    exit_code(host);
    assert_int_equal(exit_code(worker), 0);
    pipe_close(p.transcript);
    pipe_close(p.go);
    pipe_close(p.end);
}

static int make_hub(void **state)
{
    test_hub = inproc_hub_create();
    return 0;
}

static int drop_hub(void **state)
{
    inproc_hub_destroy(test_hub);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* forks come first, while there is only one thread */
        cmocka_unit_test(processes_and_a_kill),     cmocka_unit_test(a_killed_host),
        cmocka_unit_test(members_come_and_go),      cmocka_unit_test(who_gives_up_is_dead),
        cmocka_unit_test(wrong_counts_and_numbers), cmocka_unit_test(a_successor_takes_the_place),
        cmocka_unit_test(the_silent_are_dead),      cmocka_unit_test(a_short_cut_kills_nobody),
        cmocka_unit_test(the_host_restarts),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
