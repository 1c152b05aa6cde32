/* Opening and closing a session: connections, checks, membership.
 *
 * Processes start in any order, so opening contacts all servers repeatedly until they answer, and
 * logs which are missing. Each server is checked as soon as it answers (counts, mode, placement),
 * so that a wrong start is reported at once and not when the last server has answered. Then the
 * worker joins server 0's list and waits until that has all servers: before, no process could
 * report the death of one.
 *
 * While the session is open, two things watch the servers: server 0's list, and the silence of each
 * link, in case server 0 itself is dead (or cut off). Silence is counted from the time when this
 * process last ran; otherwise a process that was stopped for a while would declare all others dead.
 * The first failure is kept, ends all waits, and fails every later call: the parameters of a dead
 * server are lost, so training cannot continue. */
#include "comm/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/plural.h"
#include "comm/session_parts.h"
#include "net/host.h"

#define LOG_EVERY_MS 3000
#define PING_SLACK (2 * CLOCK_SECOND)
#define LEAVE_MS 2000 /* the last one to leave may find server 0 gone before it answers */

void session_log(struct session *s, enum log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;
    if (!s->options.on_log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    s->options.on_log(s->options.user, level, line);
}

/* ---- members ---- */

/* Fails all that waits for servers, or will call them, with this reason. On the network thread. */
static void give_up(struct session *s, const struct skiff_error *reason)
{
    pthread_mutex_lock(&s->lock);
    bool first = !s->failure.code;
    if (first)
        s->failure = *reason;
    pthread_mutex_unlock(&s->lock);
    if (!first)
        return;
    for (int i = 0; i < s->options.servers; i++)
        rpc_give_up(s->peers[i], reason);
    session_log(s, LOG_WARN, "%s", reason->message);
}

static void report_member(struct session *s, const struct member *m)
{
    if (s->options.on_member && !s->options.hub)
        s->options.on_member(s->options.user, m);
}

/* A process that was stopped (SIGSTOP, a suspended machine) for longer than the others wait is out
 * of the job, so the silence of servers is then not their failure. Even if they answer later, this
 * process has no part in their fate. */
static bool we_were_stopped(const struct session *s)
{
    return s->stopped > s->silence - PING_SLACK && clock_now() - s->patience <= 2 * s->silence;
}

static void server_is_dead(struct session *s, int server, const char *why)
{
    struct skiff_error reason;
    struct member dead = {.id = {NET_SERVER, (uint32_t)server}, .state = MEMBER_DEAD};
    if (we_were_stopped(s)) {
        error_set(
            &reason, SKIFF_PEER,
            "worker %d was stopped for %.1f s (SIGSTOP, or a suspended machine), longer than "
            "SKIFF_SILENCE_MS: the others have declared it dead, and server %d (%s) no longer "
            "answers it; start it again if the job still runs",
            s->options.worker, (double)s->stopped / 1e9, server, s->endpoints[server]);
        give_up(s, &reason);
        return;
    }
    error_set(&reason, SKIFF_PEER, "parameter server %d (%s) is dead: %s", server,
              s->endpoints[server], why[0] ? why : "no sign of life");
    snprintf(dead.reason, sizeof dead.reason, "%s", why[0] ? why : "no sign of life");
    report_member(s, &dead);
    give_up(s, &reason);
}

/* This process was silent for too long, and the others continue without it. */
static void we_are_dead(struct session *s, const struct member *m)
{
    struct skiff_error reason;
    error_set(&reason, SKIFF_PEER,
              "worker %d has been declared dead by server 0 (%s): %s; start it again",
              s->options.worker, s->endpoints[0], m->reason);
    give_up(s, &reason);
}

/* On the network thread. */
static void member_changed_now(void *self, const struct member *after, enum member_state before)
{
    struct session *s = self;
    char who[NET_ID_TEXT];
    if (after->state == MEMBER_DEAD && after->id.role == NET_SERVER &&
        after->id.index < (uint32_t)s->options.servers) {
        server_is_dead(s, (int)after->id.index, after->reason);
        return;
    }
    if (after->id.role == NET_SERVER && before == MEMBER_HERE && after->state == MEMBER_HERE &&
        after->id.index < (uint32_t)s->options.servers) { /* another process than before */
        server_is_dead(s, (int)after->id.index, "it was restarted, and its parameters are lost");
        return;
    }
    if (after->id.role != NET_WORKER)
        return;
    if (after->id.index == (uint32_t)s->options.worker) {
        if (after->state == MEMBER_DEAD)
            we_are_dead(s, after);
        return;
    }
    net_id_print(after->id, who);
    report_member(s, after);
    if (after->state == MEMBER_DEAD)
        session_log(s, LOG_WARN, "%s is dead: %s; its files are no longer trained", who,
                    after->reason);
    else if (after->state == MEMBER_LEFT)
        session_log(s, LOG_INFO, "%s has finished", who);
}

/* Watches for silent servers, whatever server 0 knows of them: it may be dead itself. Both sides of
 * a link send something at least every second. On the network thread. */
static int64_t watch_links(void *self, int64_t now)
{
    struct session *s = self;
    char state[128], why[192];
    if (s->last_tick && now - s->last_tick > CLOCK_SECOND) {
        s->patience = now; /* this process was stopped: the servers were not silent */
        s->stopped = now - s->last_tick;
    }
    s->last_tick = now;
    for (int i = 0; i < s->options.servers && atomic_load(&s->watching); i++) {
        const struct link *link = rpc_peer_link(s->peers[i]);
        if (now - (link->heard > s->patience ? link->heard : s->patience) <= s->silence)
            continue;
        node_describe(link, state, sizeof state);
        snprintf(why, sizeof why, "silent for %.1f s (%s)", (double)(now - link->heard) / 1e9,
                 state);
        server_is_dead(s, i, why);
        return CLOCK_NEVER;
    }
    return now + 100 * CLOCK_MS;
}

static const struct node_service link_watch = {.tick = watch_links};

/* ---- connecting ---- */

static void node_says(void *self, enum log_level level, const char *line)
{
    session_log(self, level, "%s", line);
}

static enum skiff_status open_node(struct session *s, struct skiff_error *err)
{
    const struct session_options *o = &s->options;
    struct node_owner owner = {.job = o->job,
                               .secret = o->secret,
                               .insecure = o->insecure,
                               .transport = o->transport,
                               .hub = o->hub,
                               .metrics = o->metrics,
                               .on_log = node_says,
                               .user = s};
    struct net_id id = {NET_WORKER, (uint32_t)o->worker};
    TRY(node_check_secret(&owner, o->endpoints, o->servers, err));
    TRY(node_open(&owner, id, NULL, &s->node, err));
    s->client = rpc_client_create(s->node, NULL);
    node_attach(s->node, &link_watch, s);
    TRY(node_start(s->node, err));
    for (int i = 0; i < o->servers; i++)
        TRY(rpc_connect(s->client, s->endpoints[i], (struct net_id){NET_SERVER, (uint32_t)i},
                        &s->peers[i], err));
    return SKIFF_OK;
}

/* Contacts those that have not answered yet, all at once. A failure other than "no answer" is
 * final. */
static enum skiff_status send_hello(struct session *s, bool *here, int64_t until,
                                    struct skiff_error *err)
{
    struct skiff_error why;
    enum skiff_status worst = SKIFF_OK;
    struct rpc_call **calls = mem_alloc_or_die((size_t)s->options.servers * sizeof *calls);
    for (int i = 0; i < s->options.servers && worst == SKIFF_OK; i++) {
        struct rpc_ask ask = {.what = "first contact",
                              .method = RPC_METHOD_PING,
                              .flags = RPC_READ,
                              .deadline = until};
        if (!here[i])
            worst = rpc_start(s->peers[i], &ask, &calls[i], err);
    }
    for (int i = 0; i < s->options.servers; i++) {
        if (!calls[i])
            continue;
        enum skiff_status status = rpc_wait(calls[i], NULL, &why);
        here[i] = status == SKIFF_OK;
        if (status < 0 && status != SKIFF_TIMEOUT && worst == SKIFF_OK) {
            worst = error_set(err, status, "parameter server %d (%s): %s", i, s->endpoints[i],
                              why.message);
        }
    }
    free(calls);
    return worst;
}

struct link_query {
    const struct link *link;
    char text[192];
};

static void look_now(void *arg)
{
    struct link_query *l = arg;
    node_describe(l->link, l->text, sizeof l->text);
}

/* Names may become known later, as those of a cluster's services do: logged, and waited for. */
static void why_missing(struct session *s, int server, struct link_query *out)
{
    struct address a;
    const char *unknown =
        address_parse(s->endpoints[server], &a, NULL) < 0 ? NULL : host_unknown(&a);
    out->link = rpc_peer_link(s->peers[server]);
    if (unknown)
        snprintf(out->text, sizeof out->text, "unknown host: %s", unknown);
    else
        node_run(s->node, look_now, out);
}

/* "127.0.0.1:6170 (no connection after 3 tries), ps-1:6170 (unknown host: Name or service not
 * known)"; returns the number. */
static int list_missing(struct session *s, const bool *here, char *out, size_t capacity)
{
    int n = 0;
    size_t len = 0;
    out[0] = '\0';
    for (int i = 0; i < s->options.servers; i++) {
        if (here[i])
            continue;
        struct link_query why;
        if (len < capacity) {
            why_missing(s, i, &why);
            len += (size_t)snprintf(out + len, capacity - len, "%s%s (%s)", n ? ", " : "",
                                    s->endpoints[i], why.text);
        }
        n++;
    }
    return n;
}

/* ---- does the server belong to this job? ---- */

static enum skiff_status check_description(const struct session *s, int i,
                                           const struct ps_describe *d, struct skiff_error *err)
{
    const struct session_options *o = &s->options;
    if (d->server != (uint32_t)i || d->servers != (uint32_t)o->servers ||
        d->trainers != (uint32_t)o->workers)
        return error_set(
            err, SKIFF_INVALID,
            "server %d (%s) reports that it is server %u of %u for %u trainer%s; worker "
            "%d was started with %d server%s and %d trainer%s: start all with the same "
            "lists",
            i, s->endpoints[i], d->server, d->servers, d->trainers, plural(d->trainers), o->worker,
            o->servers, plural(o->servers), o->workers, plural(o->workers));
    if (d->mode != (uint32_t)o->mode)
        return error_set(err, SKIFF_INVALID,
                         "server %d (%s) runs in %s mode, worker %d in %s mode: start all with the "
                         "same strategy",
                         i, s->endpoints[i], skiff_mode_name((enum skiff_split_mode)d->mode),
                         o->worker, skiff_mode_name(o->mode));
    if (o->program_hash && d->program_hash && d->program_hash != o->program_hash)
        return error_set(err, SKIFF_INVALID,
                         "server %d (%s) holds other parameters (placement %016" PRIx64
                         ") than worker %d expects (%016" PRIx64
                         "): start all with the same network and settings",
                         i, s->endpoints[i], d->program_hash, o->worker, o->program_hash);
    return SKIFF_OK;
}

static struct blob *own_description(const struct session *s)
{
    const struct session_options *o = &s->options;
    struct wire_writer w;
    struct blob *body = NULL;
    struct ps_describe d = {.servers = (uint32_t)o->servers,
                            .trainers = (uint32_t)o->workers,
                            .mode = (uint32_t)o->mode,
                            .shards = 1,
                            .program_hash = o->program_hash};
    writer_init(&w);
    ps_write_describe(&w, &d);
    writer_finish(&w, &body, NULL);
    return body;
}

/* Checks each server once, as soon as it answers: a mismatch is reported even while others are
 * missing. */
static enum skiff_status check_servers(struct session *s, const bool *here, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct request_batch *r = request_batch_create(s, s->options.servers);
    for (int i = 0; i < s->options.servers; i++) {
        if (!here[i] || s->shards[i])
            continue;
        struct batch_request ask = {
            .server = i, .method = PS_DESCRIBE, .flags = RPC_READ, .body = own_description(s)};
        TRY_OUT(request_batch_start(r, i, &ask, err, "description of server %d", i));
    }
    TRY_OUT(request_batch_wait(r, err));
    for (int i = 0; i < s->options.servers; i++) {
        struct ps_describe d;
        if (!r->slots[i].reply)
            continue;
        TRY_OUT(ps_read_describe(r->slots[i].reply, &d, err));
        TRY_OUT(check_description(s, i, &d, err));
        s->shards[i] = (int)d.shards;
    }
out:
    request_batch_unref(r);
    return status;
}

/* ---- all servers ---- */

static enum skiff_status await_servers(struct session *s, int64_t deadline, struct skiff_error *err)
{
    char missing[512];
    int64_t start = clock_now();
    bool *here = mem_alloc_or_die((size_t)s->options.servers * sizeof *here);
    enum skiff_status status = SKIFF_OK;
    for (;;) {
        int64_t now = clock_now();
        TRY_OUT(send_hello(s, here, clock_min(deadline, clock_after(now, LOG_EVERY_MS)), err));
        TRY_OUT(check_servers(s, here, err));
        int n = list_missing(s, here, missing, sizeof missing);
        if (!n)
            break;
        double waited = (double)(clock_now() - start) / 1e9;
        if (clock_now() >= deadline) {
            status = error_set(err, SKIFF_TIMEOUT,
                               "worker %d: %d of %d parameter servers did not answer in %.1f s: "
                               "%s; check that they are started and listen at these addresses",
                               s->options.worker, n, s->options.servers, waited, missing);
            goto out;
        }
        session_log(s, LOG_INFO, "waiting for %d of %d parameter servers for %.0f s: %s", n,
                    s->options.servers, waited, missing);
    }
out:
    free(here);
    return status;
}

static enum skiff_status join(struct session *s, int64_t deadline, struct skiff_error *err)
{
    const struct session_options *o = &s->options;
    int silence = o->silence_ms > 0 ? o->silence_ms : 10000, beat = silence / 20;
    struct membership_options m = {.workers = (uint32_t)o->workers,
                                   .servers = (uint32_t)o->servers,
                                   .silence_ms = silence,
                                   .beat_ms = beat < 20    ? 20
                                              : beat > 500 ? 500
                                                           : beat,
                                   .changed = member_changed_now,
                                   .host_stays = true,
                                   .self = s};
    return enrolment_join(s->node, s->peers[0], "", &m, deadline, &s->enrolment, err);
}

static bool servers_joined(const struct session *s)
{
    int n = s->options.servers, here = 0, all = n + s->options.workers;
    struct member *members = mem_alloc_or_die((size_t)all * sizeof *members);
    size_t count = enrolment_list(s->enrolment, members, (size_t)all);
    for (size_t i = 0; i < count && i < (size_t)all; i++)
        here += members[i].id.role == NET_SERVER && members[i].state == MEMBER_HERE;
    free(members);
    return here >= n;
}

static enum skiff_status check_failure(struct session *s, struct skiff_error *err)
{
    pthread_mutex_lock(&s->lock);
    struct skiff_error failure = s->failure;
    pthread_mutex_unlock(&s->lock);
    if (failure.code < 0 && err)
        *err = failure;
    return failure.code;
}

/* Server 0 must know all servers, or it could not report the death of one. */
static enum skiff_status await_joined(struct session *s, int64_t deadline, struct skiff_error *err)
{
    while (!servers_joined(s)) {
        TRY(check_failure(s, err)); /* one of them may have died meanwhile */
        if (clock_now() >= deadline)
            return error_set(err, SKIFF_TIMEOUT,
                             "worker %d: not all %d parameter servers have reached server 0 (%s)",
                             s->options.worker, s->options.servers, s->endpoints[0]);
        clock_sleep(2 * CLOCK_MS);
    }
    return SKIFF_OK;
}

/* ---- session ---- */

static char *text_copy(const char *text)
{
    return text ? mem_strdup_or_die(text) : NULL;
}

static void metrics_open(struct session *s)
{
    struct metrics *m = s->options.metrics;
    if (!m)
        s->options.metrics = s->own_metrics = m = metrics_create("worker", s->options.worker);
    s->counts = (struct session_metrics){
        .bytes_out = metrics_get(m, METRIC_SESSION_BYTES_OUT),
        .bytes_in = metrics_get(m, METRIC_SESSION_BYTES_IN),
        .exchanges = metrics_get(m, METRIC_SESSION_EXCHANGES),
        .rows_pulled = metrics_get(m, METRIC_SESSION_ROWS_PULLED),
        .rows_prefetched = metrics_get(m, METRIC_SESSION_ROWS_PREFETCHED),
        .wait = metrics_get(m, METRIC_SESSION_WAIT_SECONDS),
        .wait_rows = metrics_get(m, METRIC_STEP_SECONDS, "wait_rows"),
        .wait_servers = metrics_get(m, METRIC_STEP_SECONDS, "wait_servers")};
}

static struct session *session_create(const struct session_options *options)
{
    struct session *s = mem_alloc_or_die(sizeof *s);
    size_t n = (size_t)options->servers;
    s->options = *options;
    s->options.job = text_copy(options->job);
    s->options.secret = text_copy(options->secret);
    s->options.transport = text_copy(options->transport);
    s->endpoints = mem_alloc_or_die(n * sizeof *s->endpoints);
    for (size_t i = 0; i < n; i++)
        s->endpoints[i] = mem_strdup_or_die(options->endpoints[i]);
    s->options.endpoints = (const char *const *)s->endpoints;
    s->peers = mem_alloc_or_die(n * sizeof *s->peers);
    s->shards = mem_alloc_or_die(n * sizeof *s->shards);
    session_vars_init(s);
    s->silence = (options->silence_ms > 0 ? options->silence_ms : 10000) * CLOCK_MS + PING_SLACK;
    s->silence_ms = options->silence_ms > 0 ? options->silence_ms : 10000;
    s->request_ms = options->request_ms > 0 ? options->request_ms : 180000;
    s->pushes = (uint64_t)clock_real();
    s->connect_ms = options->connect_ms > 0 ? options->connect_ms : 1800000;
    pthread_mutex_init(&s->lock, NULL);
    metrics_open(s);
    return s;
}

enum skiff_status session_open(const struct session_options *options, struct session **out,
                               struct skiff_error *err)
{
    if (options->servers < 1 || options->workers < 1 || options->worker < 0 ||
        options->worker >= options->workers)
        return error_set(err, SKIFF_INVALID,
                         "worker %d of %d with %d parameter servers is not a valid job",
                         options->worker, options->workers, options->servers);
    struct session *s = session_create(options);
    int64_t deadline = clock_after(clock_now(), s->connect_ms);
    enum skiff_status status = open_node(s, err);
    if (status == SKIFF_OK)
        status = await_servers(s, deadline, err);
    if (status == SKIFF_OK)
        status = session_read_vars(s, err);
    if (status == SKIFF_OK)
        status = join(s, deadline, err);
    atomic_store(&s->watching, status == SKIFF_OK);
    if (status == SKIFF_OK)
        status = await_joined(s, deadline, err);
    if (status < 0)
        session_close(s);
    else
        *out = s;
    return status;
}

enum skiff_status session_pause(struct session *s, bool pause, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    int n = 0, at = 0;
    for (int i = 0; i < s->options.servers; i++)
        n += s->shards[i];
    struct request_batch *r = request_batch_create(s, n);
    for (int i = 0; i < s->options.servers; i++)
        for (int shard = 0; shard < s->shards[i]; shard++) {
            struct ps_exchange x = {.trainer = (uint32_t)s->options.worker,
                                    .flags = pause ? PS_GONE : PS_BACK};
            struct wire_writer w;
            struct batch_request ask = {.server = i, .method = PS_EXCHANGE, .shard = shard};
            writer_init(&w);
            ps_write_exchange(&w, &x, NULL, 0);
            TRY_OUT(writer_finish(&w, &ask.body, err));
            TRY_OUT(request_batch_start(r, at++, &ask, err, "%s of worker %d",
                                        pause ? "goodbye" : "return", s->options.worker));
        }
    TRY_OUT(request_batch_wait(r, err));
out:
    request_batch_unref(r);
    return status;
}

enum skiff_status session_leave(struct session *s, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->watching, false);
    bool left = s->left, failed = s->failure.code < 0;
    s->left = true;
    pthread_mutex_unlock(&s->lock);
    if (left || !s->enrolment)
        return SKIFF_OK;
    if (mode_waits(s->options.mode) && !failed)
        status = session_pause(s, true, err);
    struct skiff_error why;
    if (enrolment_leave(s->enrolment, clock_after(clock_now(), LEAVE_MS), &why) < 0 && !failed)
        session_log(s, LOG_WARN, "left without an answer: %s", why.message);
    return status;
}

void session_abandon(struct session *s, const char *reason)
{
    struct skiff_error failure;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->watching, false);
    bool left = s->left;
    s->left = true;
    pthread_mutex_unlock(&s->lock);
    if (left || !s->enrolment)
        return;
    /* a server that does not receive it notices that the connection is gone */
    enrolment_abandon(s->enrolment, reason, clock_after(clock_now(), LEAVE_MS), NULL);
    error_set(&failure, SKIFF_STATE, "worker %d %s", s->options.worker, reason);
    for (int i = 0; i < s->options.servers; i++)
        rpc_give_up(s->peers[i], &failure);
}

void session_close(struct session *s)
{
    if (!s)
        return;
    session_leave(s, NULL);
    if (s->node)
        node_stop(s->node);
    rpc_client_destroy(s->client);
    enrolment_destroy(s->enrolment);
    node_destroy(s->node);
    for (int i = 0; i < s->options.servers; i++)
        free(s->endpoints[i]);
    free(s->endpoints);
    exchanges_destroy(s);
    session_vars_deinit(s);
    free(s->open);
    free(s->peers);
    free(s->shards);
    free((char *)s->options.job);
    free((char *)s->options.secret);
    free((char *)s->options.transport);
    metrics_destroy(s->own_metrics);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int session_worker(const struct session *s)
{
    return s->options.worker;
}

int session_server_of(const struct session *s, const char *endpoint)
{
    for (int i = 0; i < s->options.servers; i++)
        if (!strcmp(s->endpoints[i], endpoint))
            return i;
    return -1;
}

struct metrics *session_metrics(const struct session *s)
{
    return s->options.metrics;
}
