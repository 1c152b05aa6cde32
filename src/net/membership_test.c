/* Membership over whole nodes: threads in one process, and real processes on loopback. */
#include "net/net_testing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "net/membership_parts.h"

/* ---- what is heard ---- */

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

/* How often a member was heard to become something. */
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

static int patience = 1; /* how many times longer than usual silence is borne */

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
    membership_stop(h->list);
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

struct look {
    struct membership *list;
    const char *name;
    int waiting;
};

static void look_into_room(void *arg)
{
    struct look *l = arg;
    for (const struct barrier_room *room = l->list->rooms; room; room = room->next)
        for (const struct arrival *a = room->arrivals; a && !strcmp(room->name, l->name);
             a = a->next)
            l->waiting++;
}

/* How many wait in the barrier of that name. */
static int waiting_in(struct host *h, const char *name)
{
    struct look l = {.list = h->list, .name = name};
    node_run(h->node, look_into_room, &l);
    return l.waiting;
}

struct guest {
    struct node *node;
    struct rpc_client *rpc;
    struct rpc_peer *peer;
    struct enrolment *enrolment;
    struct heard heard;
};

static enum skiff_status guest_join(struct guest *g, const char *kind,
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

static void guest_start(struct guest *g, const char *kind, struct net_id id, const char *address,
                        uint32_t workers, uint32_t servers)
{
    struct skiff_error err;
    if (guest_join(g, kind, NULL, id, address, workers, servers, &err) < 0)
        fail_msg("%s", err.message);
}

static void guest_stop(struct guest *g)
{
    node_stop(g->node);
    rpc_client_destroy(g->rpc);
    enrolment_destroy(g->enrolment);
    node_destroy(g->node);
}

static void guest_leave(struct guest *g)
{
    assert_int_equal(enrolment_leave(g->enrolment, clock_now() + 5 * CLOCK_SECOND, NULL), SKIFF_OK);
}

/* ---- coming and going ---- */

static void members_come_and_go(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct guest worker[2], server;
        struct skiff_error err;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 2, 2);
        assert_int_equal(
            membership_wait_here(host.list, NET_WORKER, clock_now() + 20 * CLOCK_MS, &err),
            SKIFF_TIMEOUT);
        assert_non_null(strstr(err.message, "worker 0 (absent), worker 1 (absent)"));
        guest_start(&worker[0], kinds[k], WORKER(0), host.address, 2, 2);
        guest_start(&worker[1], kinds[k], WORKER(1), host.address, 2, 2);
        guest_start(&server, kinds[k], SERVER(1), host.address, 2, 2);
        int64_t soon = clock_now() + 5 * CLOCK_SECOND;
        assert_int_equal(membership_wait_here(host.list, NET_WORKER, soon, NULL), SKIFF_OK);
        assert_int_equal(membership_wait_here(host.list, NET_SERVER, soon, NULL), SKIFF_OK);
        struct member all[4];
        assert_int_equal(membership_list(host.list, all, 4), 4);
        assert_non_null(strstr(all[1].name, "worker 1 ("));
        assert_string_equal(all[1].address, "10.0.0.9:7");
        /* the first one hears of the others with its heartbeats */
        wait_until(heard_count(&worker[0].heard, SERVER(1), MEMBER_HERE) == 1);
        assert_int_equal(heard_count(&worker[0].heard, SERVER(0), MEMBER_HERE), 1);
        assert_int_equal(heard_count(&worker[0].heard, WORKER(1), MEMBER_HERE), 1);
        guest_leave(&worker[1]);
        assert_int_equal(state_of(&host, WORKER(1)), MEMBER_LEFT);
        wait_until(heard_count(&worker[0].heard, WORKER(1), MEMBER_LEFT) == 1);
        assert_int_equal(enrolment_list(worker[0].enrolment, all, 4), 4);
        assert_int_equal(all[1].state, MEMBER_LEFT);
        guest_leave(&worker[0]);
        assert_int_equal(membership_wait_gone(host.list, NET_WORKER, soon, NULL), SKIFF_OK);
        guest_stop(&worker[0]);
        guest_stop(&worker[1]);
        guest_stop(&server);
        host_stop(&host);
    }
}

/* A member that gives up is dead at once; its reason is told, and its process does not get in any
 * more. */
static void who_gives_up_is_dead(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct guest worker[2], again;
        struct skiff_error err;
        int64_t soon = clock_now() + 5 * CLOCK_SECOND;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 2, 1);
        guest_start(&worker[0], kinds[k], WORKER(0), host.address, 2, 1);
        guest_start(&worker[1], kinds[k], WORKER(1), host.address, 2, 1);
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
        guest_stop(&worker[1]);
        guest_start(&again, kinds[k], WORKER(1), host.address, 2, 1);
        assert_int_equal(state_of(&host, WORKER(1)), MEMBER_HERE);
        guest_stop(&again);
        guest_stop(&worker[0]);
        host_stop(&host);
    }
}

static void expect_no_entry(struct host *host, struct net_id id, uint32_t workers, uint32_t servers,
                            enum skiff_status code, const char *first, const char *second)
{
    struct guest g;
    struct skiff_error err;
    int64_t before = clock_now();
    assert_int_equal(guest_join(&g, "inproc", NULL, id, host->address, workers, servers, &err),
                     code);
    assert_true(clock_now() - before < CLOCK_SECOND);
    if (!strstr(err.message, first) || !strstr(err.message, second))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, first, second);
    guest_stop(&g);
}

static void wrong_counts_and_numbers(void **state)
{
    struct host host;
    struct guest first;
    host_start(&host, "inproc", NULL, "127.0.0.1:0", 2, 1);
    expect_no_entry(&host, WORKER(1), 3, 1, SKIFF_INVALID,
                    "was started for 3 workers and 1 servers", "for 2 workers and 1 servers");
    expect_no_entry(&host, WORKER(2), 2, 1, SKIFF_RANGE, "worker 2", "has no such number");
    guest_start(&first, "inproc", WORKER(0), host.address, 2, 1);
    expect_no_entry(&host, WORKER(0), 2, 1, SKIFF_STATE, "there is a worker 0 in the job already",
                    "refused: worker 0 (");
    expect_no_entry(&host, SERVER(0), 2, 1, SKIFF_STATE, "there is a server 0 in the job already",
                    "refused: server 0 (");
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_HERE), 1);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 0);
    guest_stop(&first);
    host_stop(&host);
}

/* A process that went without a word is replaced by its successor at once. */
static void a_successor_takes_the_place(void **state)
{
    static const char *const kinds[] = {"inproc", "tcp"};
    for (int k = 0; k < 2; k++) {
        struct host host;
        struct guest first, second;
        host_start(&host, kinds[k], NULL, "127.0.0.1:0", 1, 1);
        guest_start(&first, kinds[k], WORKER(0), host.address, 1, 1);
        guest_stop(&first);
        guest_start(&second, kinds[k], WORKER(0), host.address, 1, 1);
        assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 1);
        assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_HERE), 2);
        guest_leave(&second);
        guest_stop(&second);
        host_stop(&host);
    }
}

/* Cut off: reported dead once, told so when it is back, and let in only as a new process. */
static void the_silent_are_dead(void **state)
{
    struct host host;
    struct guest silent, other, again;
    struct fault_plan none = {0};
    struct skiff_error err;
    host_start(&host, "inproc", NULL, "127.0.0.1:0", 2, 1);
    assert_int_equal(guest_join(&silent, "inproc", &none, WORKER(0), host.address, 2, 1, &err),
                     SKIFF_OK);
    guest_start(&other, "inproc", WORKER(1), host.address, 2, 1);
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
    guest_leave(&other);
    assert_int_equal(membership_wait_gone(host.list, NET_WORKER, clock_now(), &err), SKIFF_PEER);
    assert_non_null(strstr(err.message, "worker 0 ("));
    assert_non_null(strstr(err.message, "has been silent for"));
    guest_start(&again, "inproc", WORKER(0), host.address, 2, 1);
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    guest_stop(&again);
    guest_stop(&silent);
    guest_stop(&other);
    host_stop(&host);
}

static uint64_t dropped_by(struct guest *g)
{
    struct fault_stats s;
    fault_count(node_transport(g->node), &s);
    return s.dropped;
}

/* A short cut, of some heartbeats, is survived by everybody. */
static void a_short_cut_kills_nobody(void **state)
{
    struct host host;
    struct guest guest;
    struct fault_plan none = {0};
    struct net_id self[] = {WORKER(0)};
    struct barrier there = {.name = "there and back", .set = self, .nset = 1};
    patience = 20; /* a slow machine makes no short cut a long one */
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 1, 1);
    assert_int_equal(guest_join(&guest, "tcp", &none, WORKER(0), host.address, 1, 1, NULL),
                     SKIFF_OK);
    for (int i = 0; i < 2; i++) {
        uint64_t before = dropped_by(&guest);
        fault_cut(node_transport(guest.node), true);
        wait_until(dropped_by(&guest) >= before + 5);
        fault_cut(node_transport(guest.node), false);
        assert_int_equal(
            enrolment_barrier(guest.enrolment, &there, clock_now() + 5 * CLOCK_SECOND, NULL, NULL),
            SKIFF_OK);
    }
    patience = 1;
    assert_int_equal(state_of(&host, WORKER(0)), MEMBER_HERE);
    assert_int_equal(heard_count(&host.heard, WORKER(0), MEMBER_DEAD), 0);
    assert_int_equal(heard_count(&guest.heard, SERVER(0), MEMBER_DEAD), 0);
    guest_leave(&guest);
    guest_stop(&guest);
    host_stop(&host);
}

static void the_host_restarts(void **state)
{
    struct host host;
    struct guest guest;
    char address[ADDRESS_TEXT];
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 1, 1);
    strcpy(address, host.address);
    guest_start(&guest, "tcp", WORKER(0), address, 1, 1);
    host_stop(&host);
    wait_until(heard_count(&guest.heard, SERVER(0), MEMBER_DEAD) == 1);
    host_start(&host, "tcp", NULL, address, 1, 1);
    wait_until(state_of(&host, WORKER(0)) == MEMBER_HERE); /* joined again by itself */
    wait_until(heard_count(&guest.heard, SERVER(0), MEMBER_HERE) >= 2);
    guest_leave(&guest);
    guest_stop(&guest);
    host_stop(&host);
}

/* ---- barriers ---- */

#define MEET 3

struct meeting_run {
    struct guest guest;
    atomic_int *entered; /* per round */
    int rounds;
    char failure[1100];
};

static void *meet_often(void *arg)
{
    struct meeting_run *me = arg;
    struct barrier b = {.name = "step", .role = NET_WORKER};
    for (int i = 0; i < me->rounds && !me->failure[0]; i++) {
        struct skiff_error err;
        atomic_fetch_add(&me->entered[i], 1);
        if (enrolment_barrier(me->guest.enrolment, &b, clock_now() + 20 * CLOCK_SECOND, NULL,
                              &err) < 0)
            snprintf(me->failure, sizeof me->failure, "round %d: %s", i, err.message);
        else if (atomic_load(&me->entered[i]) != MEET)
            snprintf(me->failure, sizeof me->failure, "round %d opened too early", i);
    }
    return NULL;
}

static void run_meetings(const char *kind, const struct fault_plan *plan, int rounds)
{
    struct host host;
    static struct meeting_run run[MEET];
    static atomic_int entered[256];
    pthread_t threads[MEET];
    memset(entered, 0, sizeof entered);
    host_start(&host, kind, plan, "127.0.0.1:0", MEET, 1);
    for (uint32_t i = 0; i < MEET; i++) {
        struct fault_plan own = plan ? *plan : (struct fault_plan){0};
        struct skiff_error err;
        own.seed += i + 1;
        run[i].entered = entered;
        run[i].rounds = rounds;
        run[i].failure[0] = 0;
        if (guest_join(&run[i].guest, kind, plan ? &own : NULL, WORKER(i), host.address, MEET, 1,
                       &err) < 0)
            fail_msg("%s", err.message);
    }
    for (int i = 0; i < MEET; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, meet_often, &run[i]), 0);
    for (int i = 0; i < MEET; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MEET; i++)
        assert_string_equal(run[i].failure, "");
    for (int i = 0; i < MEET; i++)
        guest_stop(&run[i].guest);
    host_stop(&host);
}

static void barriers_meet(void **state)
{
    struct fault_plan plan = {
        .seed = 7, .drop = 0.05, .twice = 0.1, .late = 0.1, .late_ms = {0, 5}};
    run_meetings("tcp", NULL, 200);
    run_meetings("inproc", NULL, 200);
    run_meetings("inproc", &plan, 25);
}

/* A guest that waits in a barrier, in a thread of its own. */
struct waiting {
    pthread_t thread;
    struct guest *guest;
    struct barrier barrier;
    int ms;
    enum skiff_status status;
    uint32_t dropped;
    struct skiff_error err;
    int64_t took;
};

static void *wait_thread(void *arg)
{
    struct waiting *w = arg;
    int64_t before = clock_now();
    w->status = enrolment_barrier(w->guest->enrolment, &w->barrier, before + w->ms * CLOCK_MS,
                                  &w->dropped, &w->err);
    w->took = clock_now() - before;
    return NULL;
}

static void wait_begin(struct waiting *w, struct guest *guest, struct barrier barrier, int ms)
{
    *w = (struct waiting){.guest = guest, .barrier = barrier, .ms = ms};
    assert_int_equal(pthread_create(&w->thread, NULL, wait_thread, w), 0);
}

static enum skiff_status wait_end(struct waiting *w)
{
    pthread_join(w->thread, NULL);
    return w->status;
}

static void barrier_deadlines(void **state)
{
    struct host host;
    struct guest a, b, c;
    struct waiting w, last;
    struct skiff_error err;
    host_start(&host, "inproc", NULL, "127.0.0.1:0", 3, 1);
    guest_start(&a, "inproc", WORKER(0), host.address, 3, 1);
    guest_start(&b, "inproc", WORKER(1), host.address, 3, 1);
    struct barrier all = {.name = "start", .role = NET_WORKER};
    wait_begin(&w, &a, all, 300);
    assert_int_equal(wait_end(&w), SKIFF_TIMEOUT);
    assert_true(w.took < 10 * CLOCK_SECOND);
    assert_non_null(strstr(w.err.message, "barrier 'start': waited "));
    assert_non_null(strstr(w.err.message, "worker 1 ("));
    assert_non_null(strstr(w.err.message, "last heard of "));
    assert_non_null(strstr(w.err.message, "worker 2, which has not joined"));
    /* only two of them */
    struct net_id two[] = {WORKER(0), WORKER(1)};
    struct barrier pair = {.name = "pair", .set = two, .nset = 2};
    wait_begin(&w, &a, pair, 5000);
    assert_int_equal(
        enrolment_barrier(b.enrolment, &pair, clock_now() + 5 * CLOCK_SECOND, NULL, NULL),
        SKIFF_OK);
    assert_int_equal(wait_end(&w), SKIFF_OK);
    assert_int_equal(w.dropped, 0);
    /* not for this one; and a set that does not fit those who wait */
    struct net_id others[] = {WORKER(1), WORKER(2)};
    struct barrier not_mine = {.name = "others", .set = others, .nset = 2};
    int64_t soon = clock_now() + 5 * CLOCK_SECOND;
    assert_int_equal(enrolment_barrier(a.enrolment, &not_mine, soon, NULL, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "barrier 'others' is not for worker 0"));
    struct barrier other = {.name = "start", .role = NET_WORKER, .policy = BARRIER_FAIL};
    wait_begin(&w, &a, all, 20000);
    wait_until(waiting_in(&host, "start") == 1);
    assert_int_equal(enrolment_barrier(b.enrolment, &other, soon, NULL, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "another set or policy"));
    /* who waited has lost nothing: it meets the others when they come */
    guest_start(&c, "inproc", WORKER(2), host.address, 3, 1);
    wait_begin(&last, &c, all, 20000);
    assert_int_equal(
        enrolment_barrier(b.enrolment, &all, clock_now() + 20 * CLOCK_SECOND, NULL, NULL),
        SKIFF_OK);
    assert_int_equal(wait_end(&w), SKIFF_OK);
    assert_int_equal(wait_end(&last), SKIFF_OK);
    guest_stop(&a);
    guest_stop(&b);
    guest_stop(&c);
    host_stop(&host);
}

static void barriers_without_the_lost(void **state)
{
    for (int policy = BARRIER_REST; policy <= BARRIER_FAIL; policy++)
        for (int leaves = 0; leaves < 2; leaves++) {
            struct host host;
            struct guest a, b, c;
            struct waiting wa, wb;
            host_start(&host, "inproc", NULL, "127.0.0.1:0", 3, 1);
            guest_start(&a, "inproc", WORKER(0), host.address, 3, 1);
            guest_start(&b, "inproc", WORKER(1), host.address, 3, 1);
            guest_start(&c, "inproc", WORKER(2), host.address, 3, 1);
            struct barrier all = {
                .name = "step", .role = NET_WORKER, .policy = (enum barrier_policy)policy};
            wait_begin(&wa, &a, all, 10000);
            wait_begin(&wb, &b, all, 10000);
            wait_until(waiting_in(&host, "step") == 2);
            if (leaves)
                guest_leave(&c);
            guest_stop(&c);
            enum skiff_status expected = policy == BARRIER_REST ? SKIFF_OK : SKIFF_PEER;
            assert_int_equal(wait_end(&wa), expected);
            assert_int_equal(wait_end(&wb), expected);
            assert_true(wa.took < 8 * CLOCK_SECOND); /* not its own deadline */
            if (policy == BARRIER_REST)
                assert_int_equal(wa.dropped, 1);
            else
                assert_non_null(strstr(wa.err.message, "cannot be reached by worker 2 ("));
            guest_stop(&a);
            guest_stop(&b);
            host_stop(&host);
        }
}

static void barriers_end_with_the_host(void **state)
{
    struct host host;
    struct guest a;
    struct waiting w;
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 2, 1);
    guest_start(&a, "tcp", WORKER(0), host.address, 2, 1);
    struct barrier all = {.name = "step", .role = NET_WORKER};
    wait_begin(&w, &a, all, 20000);
    wait_until(waiting_in(&host, "step") == 1);
    host_stop(&host); /* closes in order: says so */
    assert_int_equal(wait_end(&w), SKIFF_PEER);
    assert_non_null(strstr(w.err.message, "server 0"));
    assert_true(w.took < 15 * CLOCK_SECOND); /* not its own deadline */
    guest_stop(&a);
}

/* ---- processes ---- */

/* Pipes between the test and its processes: bytes come from workers, the host's address first; a
 * process whose pipe is closed may go on. */
struct pipes {
    int said[2], go[2], end[2];
};

static void pipes_open(struct pipes *p)
{
    assert_true(!pipe(p->said) && !pipe(p->go) && !pipe(p->end));
}

static void pipe_close(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* In a process that is told to go on: blocks until the test closes its end. */
static bool is_told(int ends[2])
{
    char byte;
    close(ends[1]);
    return read(ends[0], &byte, 1) == 0;
}

static bool say(struct pipes *p)
{
    char byte = 1;
    return write(p->said[1], &byte, 1) == 1;
}

static void hear_from(struct pipes *p, int n)
{
    char byte;
    for (int i = 0; i < n; i++)
        assert_int_equal(read(p->said[0], &byte, 1), 1);
}

/* A worker process: joins and says so, meets the others and says so, waits until it is told to go
 * on, meets them again, leaves. Its exit status says how far it came. */
static int worker_process(uint32_t index, const char *address, struct pipes *p)
{
    struct guest g;
    struct skiff_error err = {0};
    close(p->end[1]);
    if (guest_join(&g, "tcp", NULL, WORKER(index), address, 3, 1, &err) < 0 || !say(p))
        return 10;
    struct barrier first = {.name = "first", .role = NET_WORKER};
    if (enrolment_barrier(g.enrolment, &first, clock_now() + 10 * CLOCK_SECOND, NULL, &err) < 0 ||
        !say(p))
        return 11;
    if (!is_told(p->go))
        return 12;
    uint32_t dropped = 99;
    struct barrier second = {.name = "second", .role = NET_WORKER};
    if (enrolment_barrier(g.enrolment, &second, clock_now() + 10 * CLOCK_SECOND, &dropped, &err) <
        0)
        return 13;
    if (enrolment_leave(g.enrolment, clock_now() + 5 * CLOCK_SECOND, &err) < 0)
        return 14;
    guest_stop(&g);
    return (int)dropped;
}

/* The host: says where it listens, stays until the workers have ended, reports who died. */
static int host_process(struct pipes *p)
{
    struct host host;
    struct skiff_error err;
    close(p->go[1]);
    host_start(&host, "tcp", NULL, "127.0.0.1:0", 3, 1);
    if (write(p->said[1], host.address, sizeof host.address) != sizeof host.address)
        return 20;
    enum skiff_status status =
        membership_wait_gone(host.list, NET_WORKER, clock_now() + 20 * CLOCK_SECOND, &err);
    if (!is_told(p->end)) /* the answers to the last goodbyes have arrived */
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
    assert_int_equal(read(p->said[0], address, ADDRESS_TEXT), ADDRESS_TEXT);
    return pid;
}

/* Three workers, the last is killed, when all have joined or behind the first barrier: the others
 * are told, the barrier goes on without it. */
static void processes_and_a_kill(void **state)
{
    for (int met = 0; met < 2; met++) {
        struct pipes p;
        char address[ADDRESS_TEXT];
        pipes_open(&p);
        pid_t host = start_host(&p, address), worker[3];
        for (uint32_t i = 0; i < 3; i++) {
            worker[i] = fork();
            if (worker[i] == 0)
                _exit(worker_process(i, address, &p));
        }
        hear_from(&p, met ? 6 : 3); /* nobody gives up one that has not come yet */
        int64_t before = clock_now();
        kill(worker[2], SIGKILL);
        assert_int_equal(exit_code(worker[2]), 1000 + SIGKILL);
        pipe_close(p.go);
        assert_int_equal(exit_code(worker[0]), 1);
        assert_int_equal(exit_code(worker[1]), 1);
        pipe_close(p.end);
        assert_int_equal(exit_code(host), 0);
        assert_true(clock_now() - before < 10 * CLOCK_SECOND);
        pipe_close(p.said);
    }
}

/* The host is killed: its worker says so within the limit. */
static int lonely_worker(const char *address, struct pipes *p)
{
    struct guest g;
    if (guest_join(&g, "tcp", NULL, WORKER(0), address, 3, 1, NULL) < 0 || !say(p))
        return 10;
    struct barrier b = {.name = "never", .role = NET_WORKER};
    struct skiff_error err;
    int64_t before = clock_now();
    enum skiff_status status =
        enrolment_barrier(g.enrolment, &b, before + 60 * CLOCK_SECOND, NULL, &err);
    bool right = status == SKIFF_PEER && strstr(err.message, "server 0 (") &&
                 strstr(err.message, "has not answered for") &&
                 clock_now() - before < 5 * CLOCK_SECOND;
    guest_stop(&g);
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
    pipe_close(p.said);
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
        cmocka_unit_test(processes_and_a_kill), /* forks come first, while there is one thread */
        cmocka_unit_test(a_killed_host),
        cmocka_unit_test(members_come_and_go),
        cmocka_unit_test(who_gives_up_is_dead),
        cmocka_unit_test(wrong_counts_and_numbers),
        cmocka_unit_test(a_successor_takes_the_place),
        cmocka_unit_test(the_silent_are_dead),
        cmocka_unit_test(a_short_cut_kills_nobody),
        cmocka_unit_test(the_host_restarts),
        cmocka_unit_test(barriers_meet),
        cmocka_unit_test(barrier_deadlines),
        cmocka_unit_test(barriers_without_the_lost),
        cmocka_unit_test(barriers_end_with_the_host),
    };
    return cmocka_run_group_tests(tests, make_hub, drop_hub);
}
