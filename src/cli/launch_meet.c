/* Where launchers meet: the host keeps every question open until all have come (net/rpc.h), then
 * answers all of them. Who goes away meanwhile is forgotten, so that a launcher that was ended can
 * be started again. When two cannot be right, all are told and the meeting is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/thread.h"
#include "cli/launch_meet.h"
#include "fleet/role.h"
#include "net/host.h"
#include "net/rpc.h"

#define METHOD_MEET 1u
#define SAY_FIRST_MS 2000
#define SAY_AGAIN_MS 10000
#define LATE_MS 2000 /* the host's reason comes before the guest's own patience ends */
#define TEXT_MAX (16u << 20)

struct guest {
    int nodes, node, nranks; /* node -1: by arrival */
    char who[HELLO_NAME];
    char master[ADDRESS_TEXT], name[64];
    char *endpoints;             /* owned */
    struct rpc_request *request; /* NULL: the host itself */
    struct link *link;           /* where it came from; for the network thread, until it is down */
};

struct lobby {
    const struct meeting *m;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct guest *guests;
    int n;
    bool over;
    struct skiff_error wrong; /* code OK: nothing is */
};

enum skiff_status launch_meet_host(const char *address, char *out, struct skiff_error *err)
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
    char *text = mem_must(n + 1);
    if (n)
        memcpy(text, b->data, n);
    text[n] = 0;
    return text;
}

static void write_question(const struct meeting *m, struct buf *out)
{
    buf_printf(out, "%d %d %d %s %s %s", m->nodes, m->node, m->nranks, m->master, m->name,
               m->endpoints);
}

/* False: no question of a launcher. */
static bool read_question(const char *text, struct guest *g)
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
    role_list_free(list, n);
    if (right)
        g->endpoints = mem_must_strdup(text + at);
    return right;
}

static bool read_answer(const char *text, struct meeting_result *out)
{
    int at = 0;
    if (sscanf(text, "%d %d %d %287s %63s %n", &out->node, &out->first_rank, &out->nranks,
               out->master, out->name, &at) != 5 ||
        !at)
        return false;
    out->endpoints = mem_must_strdup(text + at);
    return true;
}

/* ---- the host ---- */

static void guest_leave(struct lobby *lobby, int i, const struct skiff_error *reason)
{
    struct guest *g = &lobby->guests[i];
    if (g->request)
        rpc_fail(g->request, reason);
    free(g->endpoints);
    lobby->guests[i] = lobby->guests[--lobby->n];
}

/* What makes the meeting impossible; "": nothing. */
static void find_fault(const struct lobby *lobby, const struct guest *g, struct buf *out)
{
    const struct guest *first = &lobby->guests[0];
    if (lobby->n && g->nodes != first->nodes)
        buf_printf(out, "%s was given --nnodes %d, but %s --nnodes %d", g->who, g->nodes,
                   first->who, first->nodes);
    for (int i = 0; i < lobby->n && !out->len && g->node >= 0; i++)
        if (lobby->guests[i].node == g->node)
            buf_printf(out, "%s and %s were both given --rank %d", lobby->guests[i].who, g->who,
                       g->node);
}

/* Takes the guest in, or the reason to end it all. */
static void guest_come(struct lobby *lobby, struct guest *g)
{
    struct buf fault = BUF_INIT;
    find_fault(lobby, g, &fault);
    if (fault.len)
        error_set(&lobby->wrong, SKIFF_INVALID,
                  "%s; all launchers of a job get the same --nnodes, and "
                  "each a --rank of its own",
                  fault.data);
    buf_deinit(&fault);
    lobby->guests[lobby->n++] = *g;
}

/* Links are down when somebody finds out: asks those of all guests. on_leave does the rest. */
static void look_for_gone(struct lobby *lobby)
{
    pthread_mutex_lock(&lobby->lock);
    int n = lobby->over ? 0 : lobby->n;
    struct link **links = mem_must(((size_t)n + 1) * sizeof(*links));
    for (int i = 0; i < n; i++)
        links[i] = lobby->guests[i].link;
    pthread_mutex_unlock(&lobby->lock);
    for (int i = 0; i < n; i++)
        if (links[i])
            (void)node_is_gone(links[i]);
    free(links);
}

static void on_question(void *self, struct rpc_request *request)
{
    struct lobby *lobby = self;
    struct skiff_error reason = {0};
    struct guest g = {.request = request, .link = request->link};
    char *text = blob_text(request->body);
    snprintf(g.who, sizeof(g.who), "%s", request->link->peer.name);
    look_for_gone(lobby);
    pthread_mutex_lock(&lobby->lock);
    if (!read_question(text, &g))
        error_set(&reason, SKIFF_INVALID,
                  "this is not what launchers ask each other; is it the "
                  "same version of skiff on all machines?");
    else if (lobby->over || lobby->n >= lobby->m->nodes)
        error_set(&reason, SKIFF_STATE, "all %d launchers had come already", lobby->m->nodes);
    else
        guest_come(lobby, &g);
    pthread_cond_broadcast(&lobby->changed);
    pthread_mutex_unlock(&lobby->lock);
    free(text);
    if (reason.code < 0) {
        free(g.endpoints);
        rpc_fail(request, &reason);
    }
}

static void on_leave(void *self, struct link *link)
{
    struct lobby *lobby = self;
    struct skiff_error reason = {0};
    error_set(&reason, SKIFF_PEER, "the connection to the launcher that is asked was lost");
    pthread_mutex_lock(&lobby->lock);
    for (int i = lobby->n - 1; i >= 0 && !lobby->over; i--)
        if (lobby->guests[i].request && lobby->guests[i].link == link)
            guest_leave(lobby, i, &reason);
    pthread_mutex_unlock(&lobby->lock);
}

/* Machines that were given no number get those that are left, as they came. */
static void number_guests(struct lobby *lobby)
{
    int n = lobby->n;
    struct guest *sorted = mem_must((size_t)n * sizeof(*sorted));
    for (int i = 0; i < n; i++)
        if (lobby->guests[i].node >= 0)
            sorted[lobby->guests[i].node] = lobby->guests[i];
    for (int i = 0, free_place = 0; i < n; i++) {
        if (lobby->guests[i].node >= 0)
            continue;
        while (sorted[free_place].endpoints)
            free_place++;
        sorted[free_place] = lobby->guests[i];
        sorted[free_place].node = free_place;
    }
    free(lobby->guests);
    lobby->guests = sorted;
}

static void answer_all(struct lobby *lobby, struct meeting_result *out)
{
    struct buf all = BUF_INIT;
    int total = 0, first = 0;
    number_guests(lobby);
    for (int i = 0; i < lobby->n; i++) {
        total += lobby->guests[i].nranks;
        buf_printf(&all, "%s%s", i ? "," : "", lobby->guests[i].endpoints);
    }
    for (int i = 0; i < lobby->n; first += lobby->guests[i++].nranks) {
        struct buf answer = BUF_INIT;
        buf_printf(&answer, "%d %d %d %s %s %s", i, first, total, lobby->guests[0].master,
                   lobby->guests[0].name, all.data);
        if (lobby->guests[i].request)
            rpc_reply(lobby->guests[i].request, text_blob(&answer));
        else
            read_answer(answer.data, out);
        lobby->guests[i].request = NULL;
        buf_deinit(&answer);
    }
    buf_deinit(&all);
}

/* "machine 1" of those that were given numbers, and how many have come. */
static void describe_missing(const struct lobby *lobby, struct buf *out)
{
    bool numbered = true;
    for (int i = 0; i < lobby->n; i++)
        numbered &= lobby->guests[i].node >= 0;
    for (int k = 0; k < lobby->m->nodes && numbered; k++) {
        bool here = false;
        for (int i = 0; i < lobby->n; i++)
            here |= lobby->guests[i].node == k;
        if (!here)
            buf_printf(out, "%s%d", out->len ? ", " : "the one with --rank ", k);
    }
    if (!numbered)
        buf_printf(out, "%d of %d", lobby->m->nodes - lobby->n, lobby->m->nodes);
    buf_str(out, "; here: ");
    for (int i = 0; i < lobby->n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", lobby->guests[i].who);
}

static void say_waiting(const struct lobby *lobby)
{
    struct buf missing = BUF_INIT;
    describe_missing(lobby, &missing);
    if (!lobby->m->quiet)
        fprintf(stderr, "skiff launch: at %s, waiting for launchers of other machines: %s\n",
                lobby->m->address, missing.data);
    buf_deinit(&missing);
}

/* With the lock. */
static void await_guests(struct lobby *lobby)
{
    int64_t deadline = clock_after(clock_now(), lobby->m->patience_ms);
    int64_t say = clock_after(clock_now(), SAY_FIRST_MS);
    while (lobby->n < lobby->m->nodes && lobby->wrong.code == SKIFF_OK && clock_now() < deadline) {
        cond_wait_until(&lobby->changed, &lobby->lock, clock_min(deadline, say));
        if (clock_now() >= say && lobby->n < lobby->m->nodes) {
            say_waiting(lobby);
            say = clock_after(clock_now(), SAY_AGAIN_MS);
        }
    }
    if (lobby->wrong.code == SKIFF_OK && lobby->n < lobby->m->nodes) {
        struct buf missing = BUF_INIT;
        describe_missing(lobby, &missing);
        error_set(&lobby->wrong, SKIFF_TIMEOUT,
                  "not all launchers came to %s within %.1f s (SKIFF_START_MS); missing is %s",
                  lobby->m->address, 1e-3 * (double)lobby->m->patience_ms, missing.data);
        buf_deinit(&missing);
    }
}

static void host_add_self(struct lobby *lobby)
{
    struct buf text = BUF_INIT;
    struct guest self = {.request = NULL};
    write_question(lobby->m, &text);
    if (read_question(text.data, &self)) {
        snprintf(self.who, sizeof(self.who), "the launcher at %s", lobby->m->address);
        lobby->guests[lobby->n++] = self;
    }
    buf_deinit(&text);
}

static enum skiff_status host_run(struct lobby *lobby, struct rpc_server *server,
                                  struct meeting_result *out, struct skiff_error *err)
{
    pthread_mutex_lock(&lobby->lock);
    await_guests(lobby);
    lobby->over = true;
    if (lobby->wrong.code == SKIFF_OK)
        answer_all(lobby, out);
    pthread_mutex_unlock(&lobby->lock);
    rpc_server_stop(server);
    for (int i = lobby->n - 1; i >= 0; i--)
        guest_leave(lobby, i, &lobby->wrong);
    if (lobby->wrong.code < 0)
        *err = lobby->wrong;
    return lobby->wrong.code;
}

static void lobby_init(struct lobby *lobby, const struct meeting *m)
{
    *lobby = (struct lobby){.m = m};
    lobby->guests = mem_must((size_t)m->nodes * sizeof(*lobby->guests));
    pthread_mutex_init(&lobby->lock, NULL);
    cond_init(&lobby->changed);
    host_add_self(lobby);
}

static void lobby_deinit(struct lobby *lobby)
{
    free(lobby->guests);
    pthread_cond_destroy(&lobby->changed);
    pthread_mutex_destroy(&lobby->lock);
}

/* The node is ours and listens already. */
static enum skiff_status be_host(const struct meeting *m, struct node *node,
                                 struct meeting_result *out, struct skiff_error *err)
{
    static const struct node_service leaving = {.link_down = on_leave};
    struct lobby lobby;
    struct rpc_server *server = NULL;
    lobby_init(&lobby, m);
    enum skiff_status status =
        rpc_server_create(node, &(struct rpc_server_options){0}, &server, err);
    if (status == SKIFF_OK) {
        rpc_server_handle(server, METHOD_MEET, RPC_ON_NETWORK, on_question, &lobby);
        node_attach(node, &leaving, &lobby);
        status = node_start(node, err);
    }
    if (status == SKIFF_OK) {
        status = host_run(&lobby, server, out, err);
        node_stop(node);
    }
    rpc_server_destroy(server);
    lobby_deinit(&lobby);
    return status;
}

/* ---- a guest ---- */

static enum skiff_status wait_answer(const struct meeting *m, struct rpc_call *call,
                                     struct meeting_result *out, struct skiff_error *err)
{
    struct blob *reply = NULL;
    int64_t say = clock_after(clock_now(), SAY_FIRST_MS);
    while (!rpc_is_done(call)) {
        clock_sleep(20 * CLOCK_MS);
        if (clock_now() < say)
            continue;
        if (!m->quiet)
            fprintf(stderr,
                    "skiff launch: waiting at %s until the launchers of all %d machines "
                    "have come\n",
                    m->address, m->nodes);
        say = clock_after(clock_now(), SAY_AGAIN_MS);
    }
    TRY(rpc_wait(call, &reply, err));
    char *text = blob_text(reply);
    bool right = read_answer(text, out);
    free(text);
    blob_unref(reply);
    return right ? SKIFF_OK
                 : error_set(err, SKIFF_PEER,
                             "what the launcher at %s has answered cannot be read; "
                             "is it the same version of skiff on all machines?",
                             m->address);
}

static enum skiff_status be_guest(const struct meeting *m, struct node *node,
                                  struct meeting_result *out, struct skiff_error *err)
{
    struct rpc_client *client = rpc_client_create(node, &(struct rpc_client_options){0});
    struct rpc_peer *peer;
    struct rpc_call *call;
    struct buf text = BUF_INIT;
    struct net_id host = {.role = NET_SERVER, .index = 0};
    write_question(m, &text);
    struct rpc_ask ask = {.what = "the meeting of launchers",
                          .method = METHOD_MEET,
                          .flags = RPC_READ | RPC_ANY_LIFE,
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
        error_prefix(err, status, "nobody answers at --master %s (is skiff launch running there?)",
                     m->address);
    if (started)
        node_stop(node);
    rpc_client_destroy(client);
    blob_unref(ask.body);
    return status;
}

/* ---- both ---- */

static enum skiff_status open_node(const struct meeting *m, bool host, struct node **out,
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
static enum skiff_status try_to_host(const struct meeting *m, struct node **out,
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

enum skiff_status launch_meet(const struct meeting *m, struct meeting_result *out,
                              struct skiff_error *err)
{
    struct node *node;
    *out = (struct meeting_result){0};
    TRY(try_to_host(m, &node, err));
    bool host = node != NULL;
    if (!host)
        TRY(open_node(m, false, &node, err));
    enum skiff_status status = host ? be_host(m, node, out, err) : be_guest(m, node, out, err);
    node_destroy(node);
    return status;
}
