/* The rendezvous of the launchers of several machines. The leader, which owns the address of
 * --master, defers its reply to every launcher until all have joined (net/rpc.h), then answers all
 * of them. A launcher that disconnects before is forgotten, so that it can be restarted. If two
 * launchers contradict each other (counts, ranks), all get the error and the rendezvous ends. The
 * state is guarded by one lock: RPC threads add launchers, the caller waits for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/thread.h"
#include "fleet/role.h"
#include "launch/rendezvous.h"
#include "net/host.h"
#include "net/rpc.h"

#define METHOD_MEET 1u
#define WARN_FIRST_MS 2000
#define WARN_AGAIN_MS 10000
#define LATE_MS 2000 /* the leader's reason comes before the follower's own wait ends */
#define TEXT_MAX (16u << 20)

struct follower {
    int nodes, node, nranks; /* node -1: by arrival */
    char who[HELLO_NAME];
    char master[ADDRESS_TEXT], name[64];
    char *endpoints;             /* owned */
    struct rpc_request *request; /* NULL: the host itself */
    struct link *link;           /* where it came from; for the network thread, until it is down */
};

struct rendezvous_leader {
    const struct rendezvous *m;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct follower *followers;
    int n;
    bool over;
    struct skiff_error wrong; /* code OK: nothing is */
};

enum skiff_status launch_rendezvous_leader(const char *address, char *out, struct skiff_error *err)
{
    struct address a;
    TRY(address_parse(address, &a, err));
    if (!host_is_here(a.host))
        return host_toward(&a, out, err);
    snprintf(out, ADDRESS_TEXT, "%s", a.host);
    return SKIFF_OK;
}

/* ---- what they tell each other ---- */

static struct blob *text_blob(const struct buf *text)
{
    struct blob *b = NULL;
    return blob_copy(text->data, text->len, "the meeting of launchers", &b, NULL) < 0 ? NULL : b;
}

/* A copy as a string. free() it. */
static char *blob_text(const struct blob *b)
{
    size_t n = blob_len(b) < TEXT_MAX ? blob_len(b) : 0;
    char *text = mem_alloc_or_die(n + 1);
    if (n)
        memcpy(text, b->data, n);
    text[n] = 0;
    return text;
}

static void write_question(const struct rendezvous *m, struct buf *out)
{
    buf_printf(out, "%d %d %d %s %s %s", m->nodes, m->node, m->nranks, m->master, m->name,
               m->endpoints);
}

/* False: no question of a launcher. */
static bool read_question(const char *text, struct follower *g)
{
    int at = 0;
    char **list = NULL;
    int n = 0;
    if (sscanf(text, "%d %d %d %287s %63s %n", &g->nodes, &g->node, &g->nranks, g->master, g->name,
               &at) != 5 ||
        !at || g->node < -1 || g->node >= g->nodes ||
        role_list_parse("addresses", text + at, &list, &n, NULL) < 0)
        return false;
    bool right = n == g->nranks;
    role_list_deinit(list, n);
    if (right)
        g->endpoints = mem_strdup_or_die(text + at);
    return right;
}

static bool read_answer(const char *text, struct rendezvous_result *out)
{
    int at = 0;
    if (sscanf(text, "%d %d %d %287s %63s %n", &out->node, &out->first_rank, &out->nranks,
               out->master, out->name, &at) != 5 ||
        !at)
        return false;
    out->endpoints = mem_strdup_or_die(text + at);
    return true;
}

/* ---- the host ---- */

static void follower_leave(struct rendezvous_leader *leader, int i,
                           const struct skiff_error *reason)
{
    struct follower *g = &leader->followers[i];
    if (g->request)
        rpc_fail(g->request, reason);
    free(g->endpoints);
    leader->followers[i] = leader->followers[--leader->n];
}

/* What makes the meeting impossible; "": nothing. */
static void find_fault(const struct rendezvous_leader *leader, const struct follower *g,
                       struct buf *out)
{
    const struct follower *first = &leader->followers[0];
    if (leader->n && g->nodes != first->nodes)
        buf_printf(out, "%s was given --nnodes %d, but %s --nnodes %d", g->who, g->nodes,
                   first->who, first->nodes);
    for (int i = 0; i < leader->n && !out->len && g->node >= 0; i++)
        if (leader->followers[i].node == g->node)
            buf_printf(out, "%s and %s were both given --rank %d", leader->followers[i].who, g->who,
                       g->node);
}

/* Admits the follower, or gives the reason to end it all. */
static void follower_come(struct rendezvous_leader *leader, struct follower *g)
{
    struct buf fault = BUF_INIT;
    find_fault(leader, g, &fault);
    if (fault.len)
        error_set(&leader->wrong, SKIFF_INVALID,
                  "%s; give all launchers of a job the same --nnodes, and each a different --rank",
                  fault.data);
    buf_deinit(&fault);
    leader->followers[leader->n++] = *g;
}

/* Links are down when somebody finds out: asks those of all followers. on_leave does the rest. */
static void look_for_gone(struct rendezvous_leader *leader)
{
    pthread_mutex_lock(&leader->lock);
    int n = leader->over ? 0 : leader->n;
    struct link **links = mem_alloc_or_die(((size_t)n + 1) * sizeof(*links));
    for (int i = 0; i < n; i++)
        links[i] = leader->followers[i].link;
    pthread_mutex_unlock(&leader->lock);
    for (int i = 0; i < n; i++)
        if (links[i])
            (void)node_is_gone(links[i]);
    free(links);
}

static void on_question(void *self, struct rpc_request *request)
{
    struct rendezvous_leader *leader = self;
    struct skiff_error reason = {0};
    struct follower g = {.request = request, .link = request->link};
    char *text = blob_text(request->body);
    snprintf(g.who, sizeof(g.who), "%s", request->link->peer.name);
    look_for_gone(leader);
    pthread_mutex_lock(&leader->lock);
    if (!read_question(text, &g))
        error_set(
            &reason, SKIFF_INVALID,
            "unexpected request of a launcher; is the version of skiff the same on all machines?");
    else if (leader->over || leader->n >= leader->m->nodes)
        error_set(&reason, SKIFF_STATE, "all %d launchers have already joined", leader->m->nodes);
    else
        follower_come(leader, &g);
    pthread_cond_broadcast(&leader->changed);
    pthread_mutex_unlock(&leader->lock);
    free(text);
    if (reason.code < 0) {
        free(g.endpoints);
        rpc_fail(request, &reason);
    }
}

static void on_leave(void *self, struct link *link)
{
    struct rendezvous_leader *leader = self;
    struct skiff_error reason = {0};
    error_set(&reason, SKIFF_PEER, "the connection to the leader was lost");
    pthread_mutex_lock(&leader->lock);
    for (int i = leader->n - 1; i >= 0 && !leader->over; i--)
        if (leader->followers[i].request && leader->followers[i].link == link)
            follower_leave(leader, i, &reason);
    pthread_mutex_unlock(&leader->lock);
}

/* Machines that were given no number get those that are left, as they came. */
static void number_followers(struct rendezvous_leader *leader)
{
    int n = leader->n;
    struct follower *sorted = mem_alloc_or_die((size_t)n * sizeof(*sorted));
    for (int i = 0; i < n; i++)
        if (leader->followers[i].node >= 0)
            sorted[leader->followers[i].node] = leader->followers[i];
    for (int i = 0, free_slot = 0; i < n; i++) {
        if (leader->followers[i].node >= 0)
            continue;
        while (sorted[free_slot].endpoints)
            free_slot++;
        sorted[free_slot] = leader->followers[i];
        sorted[free_slot].node = free_slot;
    }
    free(leader->followers);
    leader->followers = sorted;
}

static void answer_all(struct rendezvous_leader *leader, struct rendezvous_result *out)
{
    struct buf all = BUF_INIT;
    int total = 0, first = 0;
    number_followers(leader);
    for (int i = 0; i < leader->n; i++) {
        total += leader->followers[i].nranks;
        buf_printf(&all, "%s%s", i ? "," : "", leader->followers[i].endpoints);
    }
    for (int i = 0; i < leader->n; first += leader->followers[i++].nranks) {
        struct buf answer = BUF_INIT;
        buf_printf(&answer, "%d %d %d %s %s %s", i, first, total, leader->followers[0].master,
                   leader->followers[0].name, all.data);
        if (leader->followers[i].request)
            rpc_reply(leader->followers[i].request, text_blob(&answer));
        else
            read_answer(answer.data, out);
        leader->followers[i].request = NULL;
        buf_deinit(&answer);
    }
    buf_deinit(&all);
}

/* "machine 1" of those that were given numbers, and how many have come. */
static void describe_missing(const struct rendezvous_leader *leader, struct buf *out)
{
    bool numbered = true;
    for (int i = 0; i < leader->n; i++)
        numbered &= leader->followers[i].node >= 0;
    for (int k = 0; k < leader->m->nodes && numbered; k++) {
        bool here = false;
        for (int i = 0; i < leader->n; i++)
            here |= leader->followers[i].node == k;
        if (!here)
            buf_printf(out, "%s%d", out->len ? ", " : "the one with --rank ", k);
    }
    if (!numbered)
        buf_printf(out, "%d of %d", leader->m->nodes - leader->n, leader->m->nodes);
    buf_str(out, "; here: ");
    for (int i = 0; i < leader->n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", leader->followers[i].who);
}

/* Reports for whom we wait. */
static void report_waiting(const struct rendezvous *m, const char *who)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "waiting at %s %s", m->address, who);
    if (m->on_wait)
        m->on_wait(m->arg, text.data);
    buf_deinit(&text);
}

static void report_missing(const struct rendezvous_leader *leader)
{
    struct buf missing = BUF_INIT, who = BUF_INIT;
    describe_missing(leader, &missing);
    buf_printf(&who, "for the launchers of other machines: %s", missing.data);
    report_waiting(leader->m, who.data);
    buf_deinit(&missing);
    buf_deinit(&who);
}

/* With the lock. */
static void await_followers(struct rendezvous_leader *leader)
{
    int64_t deadline = clock_after(clock_now(), leader->m->patience_ms);
    int64_t on_log = clock_after(clock_now(), WARN_FIRST_MS);
    while (leader->n < leader->m->nodes && leader->wrong.code == SKIFF_OK &&
           clock_now() < deadline) {
        cond_wait_until(&leader->changed, &leader->lock, clock_min(deadline, on_log));
        if (clock_now() >= on_log && leader->n < leader->m->nodes) {
            report_missing(leader);
            on_log = clock_after(clock_now(), WARN_AGAIN_MS);
        }
    }
    if (leader->wrong.code == SKIFF_OK && leader->n < leader->m->nodes) {
        struct buf missing = BUF_INIT;
        describe_missing(leader, &missing);
        error_set(&leader->wrong, SKIFF_TIMEOUT,
                  "not all launchers joined at %s within %.1f s (SKIFF_START_MS); missing: %s",
                  leader->m->address, 1e-3 * (double)leader->m->patience_ms, missing.data);
        buf_deinit(&missing);
    }
}

static void leader_add_self(struct rendezvous_leader *leader)
{
    struct buf text = BUF_INIT;
    struct follower self = {.request = NULL};
    write_question(leader->m, &text);
    if (read_question(text.data, &self)) {
        snprintf(self.who, sizeof(self.who), "the launcher at %s", leader->m->address);
        leader->followers[leader->n++] = self;
    }
    buf_deinit(&text);
}

static enum skiff_status leader_run(struct rendezvous_leader *leader, struct rpc_server *server,
                                    struct rendezvous_result *out, struct skiff_error *err)
{
    pthread_mutex_lock(&leader->lock);
    await_followers(leader);
    leader->over = true;
    if (leader->wrong.code == SKIFF_OK)
        answer_all(leader, out);
    pthread_mutex_unlock(&leader->lock);
    rpc_server_stop(server);
    for (int i = leader->n - 1; i >= 0; i--)
        follower_leave(leader, i, &leader->wrong);
    if (leader->wrong.code < 0)
        *err = leader->wrong;
    return leader->wrong.code;
}

static void leader_init(struct rendezvous_leader *leader, const struct rendezvous *m)
{
    *leader = (struct rendezvous_leader){.m = m};
    leader->followers = mem_alloc_or_die((size_t)m->nodes * sizeof(*leader->followers));
    pthread_mutex_init(&leader->lock, NULL);
    cond_init(&leader->changed);
    leader_add_self(leader);
}

static void leader_deinit(struct rendezvous_leader *leader)
{
    free(leader->followers);
    pthread_cond_destroy(&leader->changed);
    pthread_mutex_destroy(&leader->lock);
}

/* The node is ours and listens already. */
static enum skiff_status run_leader(const struct rendezvous *m, struct node *node,
                                    struct rendezvous_result *out, struct skiff_error *err)
{
    static const struct node_service leaving = {.link_down = on_leave};
    struct rendezvous_leader leader;
    struct rpc_server *server = NULL;
    leader_init(&leader, m);
    enum skiff_status status =
        rpc_server_create(node, &(struct rpc_server_options){0}, &server, err);
    if (status == SKIFF_OK) {
        rpc_server_handle(server, METHOD_MEET, RPC_ON_NETWORK, on_question, &leader);
        node_attach(node, &leaving, &leader);
        status = node_start(node, err);
    }
    if (status == SKIFF_OK) {
        status = leader_run(&leader, server, out, err);
        node_stop(node);
    }
    rpc_server_destroy(server);
    leader_deinit(&leader);
    return status;
}

/* ---- a follower ---- */

static enum skiff_status wait_answer(const struct rendezvous *m, struct rpc_call *call,
                                     struct rendezvous_result *out, struct skiff_error *err)
{
    struct blob *reply = NULL;
    char who[96];
    snprintf(who, sizeof(who), "until the launchers of all %d machines have joined", m->nodes);
    int64_t on_log = clock_after(clock_now(), WARN_FIRST_MS);
    while (!rpc_is_done(call)) {
        clock_sleep(20 * CLOCK_MS);
        if (clock_now() < on_log)
            continue;
        report_waiting(m, who);
        on_log = clock_after(clock_now(), WARN_AGAIN_MS);
    }
    TRY(rpc_wait(call, &reply, err));
    char *text = blob_text(reply);
    bool right = read_answer(text, out);
    free(text);
    blob_unref(reply);
    return right ? SKIFF_OK
                 : error_set(err, SKIFF_PEER,
                             "the answer of the launcher at %s cannot be read; is the version of "
                             "skiff the same on all machines?",
                             m->address);
}

static enum skiff_status run_follower(const struct rendezvous *m, struct node *node,
                                      struct rendezvous_result *out, struct skiff_error *err)
{
    struct rpc_client *client = rpc_client_create(node, &(struct rpc_client_options){0});
    struct rpc_peer *peer;
    struct rpc_call *call;
    struct buf text = BUF_INIT;
    struct net_id host = {.role = NET_SERVER, .index = 0};
    write_question(m, &text);
    struct rpc_ask ask = {.what = "the meeting of launchers",
                          .method = METHOD_MEET,
                          .flags = RPC_READ | RPC_ANY_INCARNATION,
                          .body = text_blob(&text),
                          .deadline = clock_after(clock_now(), m->patience_ms + LATE_MS)};
    buf_deinit(&text);
    enum skiff_status status = rpc_connect(client, m->address, host, &peer, err);
    bool started = status == SKIFF_OK && (status = node_start(node, err)) == SKIFF_OK;
    if (status == SKIFF_OK)
        status = rpc_start(peer, &ask, &call, err);
    if (status == SKIFF_OK)
        status = wait_answer(m, call, out, err);
    if (status == SKIFF_TIMEOUT)
        error_prefix(err, status, "no answer at --master %s (is skiff launch running there?)",
                     m->address);
    if (started)
        node_stop(node);
    rpc_client_destroy(client);
    blob_unref(ask.body);
    return status;
}

/* ---- both ---- */

static enum skiff_status open_node(const struct rendezvous *m, bool host, struct node **out,
                                   struct skiff_error *err)
{
    char machine[128] = "", name[HELLO_NAME];
    uint32_t random;
    gethostname(machine, sizeof(machine) - 1);
    snprintf(name, sizeof(name), "the launcher of %s (process %d)", machine, (int)getpid());
    secret_random(&random, sizeof(random));
    struct net_id id = {.role = host ? NET_SERVER : NET_WORKER, .index = host ? 0 : random >> 8};
    struct node_owner owner = {
        .job = m->job, .secret = m->secret, .insecure = !m->secret[0], .transport = m->transport};
    return node_open(&owner, id, name, out, err);
}

/* Whoever has the address and is the first to listen there is the host. *out NULL: somebody else
 * is. */
static enum skiff_status try_to_lead(const struct rendezvous *m, struct node **out,
                                     struct skiff_error *err)
{
    struct address a;
    *out = NULL;
    TRY(address_parse(m->address, &a, err));
    if (!host_is_here(a.host))
        return SKIFF_OK;
    TRY(open_node(m, true, out, err));
    if (node_listen(*out, m->address, NULL, NULL) < 0) {
        node_destroy(*out);
        *out = NULL;
    }
    return SKIFF_OK;
}

enum skiff_status launch_rendezvous(const struct rendezvous *m, struct rendezvous_result *out,
                                    struct skiff_error *err)
{
    struct node *node;
    *out = (struct rendezvous_result){0};
    TRY(try_to_lead(m, &node, err));
    bool host = node != NULL;
    if (!host)
        TRY(open_node(m, false, &node, err));
    enum skiff_status status =
        host ? run_leader(m, node, out, err) : run_follower(m, node, out, err);
    node_destroy(node);
    return status;
}
