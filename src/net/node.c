/* The network thread: tasks of other threads, frames of peers, timers of services; see node.h.
 *
 * One thread owns transport, links and all state that services keep for them, so none of that needs
 * a lock. Other threads append tasks to a list and wake it; callbacks must not block. A round of
 * the loop runs the tasks, then timers and queued sends, then takes up to ROUND_FRAMES frames, so
 * that neither a flood of frames nor one of tasks starves the other.
 *
 * A frame is trusted step by step: head and lengths, checksum, job, and then only from a peer whose
 * hello is done. A frame of our job from an unknown peer is answered with WHO, upon which the other
 * side repeats its hello: it may have missed that this process was restarted. */
#include "net/node_parts.h"

#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/host.h"

#define ROUND_FRAMES 64             /* frames in a row before timers get their turn */
#define BLOCKED_WAIT (5 * CLOCK_MS) /* links with a queue are tried again after this */
#define UNAUTHENTICATED_EVERY (60 * CLOCK_SECOND)
#define CARE_EVERY (250 * CLOCK_MS) /* pings, unfinished messages */
#define BODY_MAX ((size_t)16 << 20) /* so that nodes with other part sizes can communicate */
#define HELLO_TYPES (1u << WIRE_HELLO | 1u << WIRE_WELCOME | 1u << WIRE_REFUSE | 1u << WIRE_WHO)

static _Thread_local const struct node *own_node; /* of which this is the network thread */

void node_add(struct node *node, enum metric_id what, uint64_t n)
{
    metric_add(node->counts[what - NODE_FIRST_COUNT], (int64_t)n);
}

void node_log(struct node *node, enum log_level level, const char *text)
{
    char line[1200];
    if (!node->options.on_log)
        return;
    snprintf(line, sizeof line, "network: %s", text);
    node->options.on_log(node->options.user, level, line);
}

void node_note(struct node *node, enum metric_id what, const char *format, ...)
{
    node_add(node, what, 1);
    int64_t now = clock_now();
    if (node->last_log && now - node->last_log < CLOCK_SECOND) {
        node->unlogged++;
        return;
    }
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (node->unlogged && n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " (and %llu more lines, not shown)",
                 (unsigned long long)node->unlogged);
    node_log(node, LOG_WARN, text);
    node->last_log = now;
    node->unlogged = 0;
}
/* ---- receiving ---- */

/* The complete message as a block whose reference the caller owns; NULL body for an empty one. */
static enum skiff_status take_message(struct node *node, struct node_link *l,
                                      const struct wire_head *h, const struct packet *p,
                                      struct blob **out, bool *out_whole)
{
    *out_whole = true;
    *out = NULL;
    if (h->parts > 1) {
        struct skiff_error err;
        enum skiff_status status =
            assembly_add(&l->assemblies, h, packet_body(p), clock_now(), out, &err);
        if (status < 0)
            node_note(node, METRIC_NET_BAD_PARTS, "%s: %s", l->link.peer.name, err.message);
        *out_whole = *out != NULL;
        return status;
    }
    if (p->len == 0)
        return SKIFF_OK;
    if (p->offset == 0 && p->len == p->body->len) {
        *out = blob_ref(p->body);
        return SKIFF_OK;
    }
    return blob_copy(packet_body(p), p->len, "message", out, NULL);
}

static void deliver(struct node *node, struct node_link *l, const struct wire_head *h,
                    struct blob *body)
{
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->types & (1u << h->type)) {
            node->service[i].calls->frame(node->service[i].self, &l->link, h, body);
            return;
        }
    node_note(node, METRIC_NET_NONSENSE, "%s sent %s, which no service of this process accepts",
              l->link.peer.name, wire_type_text(h->type));
}

/* A frame of a link that is up. */
static void link_frame(struct node *node, struct node_link *l, const struct wire_head *h,
                       const struct packet *p)
{
    struct blob *body;
    bool whole;
    if (!net_id_equal(h->sender, l->link.peer.id) || h->incarnation != l->link.peer.incarnation) {
        node_note(node, METRIC_NET_IMPOSTORS, "a frame on the link of %s names another sender",
                  l->link.peer.name);
        return;
    }
    l->link.heard = clock_now();
    if (h->type == WIRE_PING)
        return;
    if (h->type == WIRE_BYE) {
        if (l->link.outgoing)
            hello_restart(l);
        else
            link_bury(l);
        return;
    }
    if (take_message(node, l, h, p, &body, &whole) < 0 || !whole)
        return;
    deliver(node, l, h, body);
    blob_unref(body);
}

/* Decodes and checks; false: it was counted and dropped. */
static bool read_head(struct node *node, transport_peer peer, struct node_link *l,
                      const struct packet *p, struct wire_head *h)
{
    struct skiff_error err;
    uint16_t version;
    enum skiff_status status = wire_head_decode(p->head, p->head_len, h, &version, &err);
    if (status == SKIFF_UNSUPPORTED) {
        hello_other_version(node, peer, l, version);
        return false;
    }
    if (status == SKIFF_OK && h->length != p->len)
        status = error_set(&err, SKIFF_FORMAT, "frame says %llu bytes and has %zu",
                           (unsigned long long)h->length, p->len);
    if (status < 0) {
        node_note(node, METRIC_NET_NONSENSE, "%s: %s",
                  l ? l->link.peer.name : "a process without a hello", err.message);
        return false;
    }
    uint64_t hash = h->flags & WIRE_SEALED ? 0 : wire_hash(packet_body(p), p->len);
    if (!wire_checksum_ok(p->head, hash)) {
        node_note(node, METRIC_NET_CORRUPT, "%s: a frame's checksum is wrong; it is dropped",
                  l ? l->link.peer.name : "a process without a hello");
        return false;
    }
    return true;
}

static void on_packet(struct node *node, transport_peer peer, const struct packet *p)
{
    struct wire_head h;
    struct node_link *l = link_find(node, peer);
    node_add(node, METRIC_NET_FRAMES_IN, 1);
    node_add(node, METRIC_NET_BYTES_IN, p->head_len + p->len);
    if (!read_head(node, peer, l, p, &h))
        return;
    if (HELLO_TYPES & (1u << h.type)) {
        if (h.parts == 1) {
            struct blob *body = NULL;
            bool whole;
            if (take_message(node, l, &h, p, &body, &whole) == SKIFF_OK)
                hello_frame(node, peer, l, &h, body);
            blob_unref(body);
        }
        return;
    }
    if (h.job != node->self.job) {
        node_note(node, METRIC_NET_OTHER_JOB, "received a frame of another job");
    } else if (l && l->link.up) {
        link_frame(node, l, &h, p);
    } else if (!l) {
        node_add(node, METRIC_NET_UNKNOWN, 1);
        if (h.type != WIRE_BYE)
            link_send_raw(node, peer, WIRE_WHO, 0, 0, NULL);
    }
}

/* ---- the loop ---- */

static void run_tasks(struct node *node)
{
    if (!atomic_exchange(&node->has_tasks, false))
        return;
    pthread_mutex_lock(&node->lock);
    struct node_task *task = node->tasks;
    node->tasks = NULL;
    node->tasks_end = &node->tasks;
    pthread_mutex_unlock(&node->lock);
    while (task) {
        struct node_task *next = task->next;
        task->run(task);
        task = next;
    }
}

static void for_all_links(struct node *node, void (*call)(struct node_link *l, int64_t now),
                          int64_t now)
{
    for (struct node_link *l = node->outgoing; l; l = l->next)
        call(l, now);
    for (size_t i = 0; i < NODE_BUCKETS; i++)
        for (struct node_link *l = node->incoming[i], *next; l; l = next) {
            next = l->next;
            call(l, now);
        }
}

static void pump_one(struct node_link *l, int64_t now)
{
    link_pump(l);
}

/* A PING on a quiet link finds out whether it is up. */
static void care_one(struct node_link *l, int64_t now)
{
    struct wire_head ping = {.type = WIRE_PING};
    size_t dropped = assembly_expire(&l->assemblies, now);
    if (dropped)
        node_note(l->link.node, METRIC_NET_BAD_PARTS,
                  "%s: dropped %zu unfinished messages without progress", l->link.peer.name,
                  dropped);
    if (l->link.up && now - l->transcript > l->link.node->options.ping_ms * CLOCK_MS)
        node_send(&l->link, &ping, NULL);
}

/* How many connections of a kind there were since the last line. */
static unsigned long long unlogged(const struct node *node, const struct metrics_snapshot *now,
                                   enum metric_id what, const char *reason)
{
    return (unsigned long long)snapshot_since(now, &node->reported, what, reason);
}

/* Logs what has happened since the last line, if anything has. */
static bool log_refusals(struct node *node, const struct metrics_snapshot *now)
{
    const enum metric_id failed = METRIC_NET_UNAUTHENTICATED;
    unsigned long long unauthenticated = unlogged(node, now, failed, NULL);
    unsigned long long malformed = unlogged(node, now, METRIC_NET_MALFORMED, NULL);
    unsigned long long no_descriptor = unlogged(node, now, METRIC_NET_NO_DESCRIPTOR, NULL);
    struct transport *t = node->transport;
    struct buf line = BUF_INIT;
    if (!unauthenticated && !malformed && !no_descriptor)
        return false;
    if (unauthenticated)
        buf_printf(&line,
                   "%llu connections failed the handshake: %llu silent, %llu with bytes of another "
                   "protocol, %llu of another version, %llu without the job's secret; the last "
                   "one from %s. ",
                   unauthenticated, unlogged(node, now, failed, "silent"),
                   unlogged(node, now, failed, "nonsense"),
                   unlogged(node, now, failed, "other version"),
                   unlogged(node, now, failed, "no secret"),
                   t->kind->last_unauthenticated ? t->kind->last_unauthenticated(t) : "");
    if (malformed)
        buf_printf(&line, "%llu links were closed because bytes did not match their seal. ",
                   malformed);
    if (no_descriptor)
        buf_printf(&line, "This process had no file descriptor for %llu more (ulimit -n).",
                   no_descriptor);
    node_log(node, LOG_WARN, line.data);
    buf_deinit(&line);
    return true;
}

/* Logs connections that the transport refused: the first one at once, then a line a minute. */
static void log_unauthenticated(struct node *node, int64_t now)
{
    struct metrics_snapshot seen = {0};
    if (node->reported_at && now - node->reported_at < UNAUTHENTICATED_EVERY)
        return;
    snapshot_add(&seen, node->options.metrics);
    if (log_refusals(node, &seen)) {
        struct metrics_snapshot old = node->reported;
        node->reported = seen;
        node->reported_at = now;
        seen = old;
    }
    snapshot_deinit(&seen);
}

/* Timers; returns the time by which the next round must begin. */
static int64_t run_timers(struct node *node, int64_t now)
{
    int64_t next = hello_tick(node, now);
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->tick)
            next = clock_min(next, node->service[i].calls->tick(node->service[i].self, now));
    if (now >= node->next_care) {
        for_all_links(node, care_one, now);
        log_unauthenticated(node, now);
        node->next_care = now + CARE_EVERY;
    }
    if (node->blocked) {
        for_all_links(node, pump_one, now);
        if (node->blocked)
            next = clock_min(next, now + BLOCKED_WAIT);
    }
    return clock_min(next, node->next_care);
}

static void receive_some(struct node *node, int64_t deadline)
{
    struct packet p;
    transport_peer peer;
    for (int i = 0; i < ROUND_FRAMES && !atomic_load(&node->has_tasks); i++) {
        struct skiff_error err;
        enum skiff_status status =
            node->transport->kind->receive(node->transport, deadline, &peer, &p, &err);
        if (status < 0) {
            node_log(node, LOG_WARN, err.message);
            clock_sleep(10 * CLOCK_MS);
        }
        if (status != SKIFF_OK)
            return;
        on_packet(node, peer, &p);
        packet_deinit(&p);
        deadline = 0; /* from now on only packets that have arrived already */
    }
}

static void bye_one(struct node_link *l, int64_t now)
{
    struct wire_head bye = {.type = WIRE_BYE};
    if (l->link.up)
        node_send(&l->link, &bye, NULL);
}

static void *node_loop(void *arg)
{
    struct node *node = arg;
    own_node = node;
    while (!atomic_load(&node->stopping)) {
        run_tasks(node);
        int64_t next = run_timers(node, clock_now());
        link_clear_graveyard(node);
        receive_some(node, next);
        link_clear_graveyard(node);
    }
    run_tasks(node);
    node->nservices = 0; /* no callbacks from here on */
    for_all_links(node, bye_one, 0);
    return NULL;
}

/* ---- lifecycle ---- */

static void set_defaults(struct node_options *o)
{
    if (!o->part_bytes)
        o->part_bytes = (size_t)8 << 20;
    if (!o->message_max)
        o->message_max = UINT64_C(64) << 30;
    if (!o->assembly_bytes)
        o->assembly_bytes = (size_t)16 << 30;
    if (!o->queue_bytes)
        o->queue_bytes = (size_t)256 << 20;
    if (!o->ping_ms)
        o->ping_ms = 1000;
    if (!o->incarnation)
        o->incarnation = (uint64_t)clock_real();
    o->job = o->job ? o->job : "";
    o->secret = o->secret ? o->secret : "";
}

static void name_side(const struct node_options *o, struct hello_side *side)
{
    char host[64] = "?", id[NET_ID_TEXT];
    *side = (struct hello_side){.id = o->id, .incarnation = o->incarnation};
    gethostname(host, sizeof host - 1);
    if (o->name)
        snprintf(side->name, sizeof side->name, "%s", o->name);
    else
        snprintf(side->name, sizeof side->name, "%s (%s, process %d)", net_id_print(o->id, id),
                 host, (int)getpid());
}

static void name_counts(struct node *node)
{
    if (!node->options.metrics)
        node->options.metrics = node->own_metrics = metrics_create(NULL, 0);
    for (int i = 0; i < NODE_COUNTS; i++)
        node->counts[i] = metrics_get(node->options.metrics, NODE_FIRST_COUNT + i);
}

enum skiff_status node_create(const struct node_options *options, struct node **out,
                              struct skiff_error *err)
{
    struct node *node = mem_alloc_or_die(sizeof *node);
    struct hello_side side;
    node->options = *options;
    set_defaults(&node->options);
    name_side(&node->options, &side);
    hello_self_init(&node->self, &side, node->options.job, !*node->options.secret);
    struct transport_options t = node->options.transport;
    t.body_max = node->options.part_bytes > BODY_MAX ? node->options.part_bytes : BODY_MAX;
    secret_derive(node->options.secret, "skiff transport", "", t.key);
    node->options.job = node->options.secret = node->options.name = NULL; /* the caller's */
    name_counts(node);
    t.metrics = node->options.metrics;
    enum skiff_status status = options->kind->open(&t, &node->transport, err);
    secret_wipe(&t, sizeof t);
    if (status < 0) {
        metrics_destroy(node->own_metrics);
        free(node);
        return status;
    }
    pthread_mutex_init(&node->lock, NULL);
    node->tasks_end = &node->tasks;
    node->budget = (struct assembly_budget){.message_max = node->options.message_max,
                                            .limit = node->options.assembly_bytes,
                                            .idle = 30 * CLOCK_SECOND};
    *out = node;
    return SKIFF_OK;
}

enum skiff_status node_check_secret(const struct node_owner *owner, const char *const *servers,
                                    int n, struct skiff_error *err)
{
    if ((owner->secret && owner->secret[0]) || owner->insecure || owner->hub)
        return SKIFF_OK;
    for (int i = 0; i < n; i++)
        if (host_is_reachable(servers[i]))
            return error_set(
                err, SKIFF_INVALID,
                "server %d is at %s, which other machines can reach, and this job has "
                "no secret: any process that reaches it could read and change its parameters. "
                "Make one with `skiff secret new` and give it to all processes "
                "(--secret_file, SKIFF_SECRET_FILE; docs/guide/security.md), or allow it "
                "with --insecure (SKIFF_INSECURE=1)",
                i, servers[i]);
    return SKIFF_OK;
}

enum skiff_status node_open(const struct node_owner *owner, struct net_id id, const char *name,
                            struct node **out, struct skiff_error *err)
{
    struct node_options o = {.id = id,
                             .name = name,
                             .job = owner->job,
                             .secret = owner->secret,
                             .metrics = owner->metrics,
                             .on_log = owner->on_log,
                             .user = owner->user};
    if (owner->hub) {
        o.kind = transport_find("inproc");
        o.transport.hub = owner->hub;
        return node_create(&o, out, err);
    }
    TRY(transport_choose(owner->transport, &o.kind, &o.transport, err));
    return node_create(&o, out, err);
}

void node_attach(struct node *node, const struct node_service *service, void *self)
{
    if (node->nservices == NODE_SERVICES)
        abort();
    node->service[node->nservices].calls = service;
    node->service[node->nservices++].self = self;
}

enum skiff_status node_listen(struct node *node, const char *address, char *out_bound,
                              struct skiff_error *err)
{
    return node->transport->kind->listen(node->transport, address, out_bound, err);
}

enum skiff_status node_start(struct node *node, struct skiff_error *err)
{
    return thread_start(&node->thread, "net", -1, node_loop, node, err);
}

void node_stop(struct node *node)
{
    if (node->thread.running) {
        atomic_store(&node->stopping, true);
        node->transport->kind->wake(node->transport);
        thread_join(&node->thread);
    }
    if (!node->transport)
        return;
    node->nservices = 0;
    run_tasks(node); /* of a node that never ran: requested links */
    node->transport->kind->close(node->transport);
    node->transport = NULL;
}

void node_destroy(struct node *node)
{
    if (!node)
        return;
    node_stop(node);
    while (node->outgoing) {
        struct node_link *l = node->outgoing;
        node->outgoing = l->next;
        link_destroy(l);
    }
    for (size_t i = 0; i < NODE_BUCKETS; i++)
        while (node->incoming[i]) {
            struct node_link *l = node->incoming[i];
            node->incoming[i] = l->next;
            link_destroy(l);
        }
    link_clear_graveyard(node);
    pthread_mutex_destroy(&node->lock);
    snapshot_deinit(&node->reported);
    metrics_destroy(node->own_metrics);
    free(node);
}

/* ---- for other threads ---- */

static void connect_now(struct node_task *task)
{
    struct node_link *l =
        (struct node_link *)((char *)task - offsetof(struct node_link, connect_task));
    struct node *node = l->link.node;
    struct skiff_error err;
    l->next = node->outgoing;
    node->outgoing = l;
    if (node->transport->kind->connect(node->transport, l->link.address, &l->peer, &err) == 0)
        return;
    l->refused = true; /* out of sockets, for example */
    for (size_t i = 0; i < node->nservices; i++)
        if (node->service[i].calls->link_refused)
            node->service[i].calls->link_refused(node->service[i].self, &l->link, &err);
}

enum skiff_status node_connect(struct node *node, const char *address, struct net_id expected,
                               void *user, struct link **out, struct skiff_error *err)
{
    struct address a;
    TRY(address_parse(address, &a, err));
    if (a.family == ADDRESS_ANY || a.port == 0)
        return error_set(err, SKIFF_INVALID, "cannot connect to %s: it names no host and port",
                         address);
    struct node_link *l = link_create(node, true);
    address_print(&a, l->link.address);
    net_id_print(expected, l->link.peer.name);
    l->link.peer.id = l->expected = expected;
    l->link.user = user;
    l->peer = UINT64_MAX;
    hello_restart(l);
    l->connect_task.run = connect_now;
    *out = &l->link;
    node_post(node, &l->connect_task);
    return SKIFF_OK;
}

void node_post(struct node *node, struct node_task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&node->lock);
    *node->tasks_end = task;
    node->tasks_end = &task->next;
    pthread_mutex_unlock(&node->lock);
    bool own = own_node == node; /* the network thread checks its tasks before it waits */
    if (!atomic_exchange(&node->has_tasks, true) && !own)
        node->transport->kind->wake(node->transport);
}

struct run_task {
    struct node_task task; /* first */
    void (*call)(void *arg);
    void *arg;
    sem_t done;
};

static void run_now(struct node_task *task)
{
    struct run_task *t = (struct run_task *)task;
    t->call(t->arg);
    sem_post(&t->done);
}

void node_run(struct node *node, void (*call)(void *arg), void *arg)
{
    if (!node->thread.running) {
        call(arg);
        return;
    }
    struct run_task t = {.task.run = run_now, .call = call, .arg = arg};
    sem_init(&t.done, 0, 0);
    node_post(node, &t.task);
    while (sem_wait(&t.done) != 0)
        ;
    sem_destroy(&t.done);
}

const struct hello_side *node_self(const struct node *node)
{
    return &node->self.side;
}

void node_describe(const struct link *link, char *out, size_t capacity)
{
    const struct node_link *l = (const struct node_link *)link;
    struct transport *t = link->node->transport;
    t->kind->describe(t, l->peer, out, capacity);
    if (!link->up && strcmp(out, "connected") == 0)
        snprintf(out, capacity, "connected, but no answer to this process's hello");
}

bool node_has_ended(const struct link *link)
{
    struct transport *t = link->node->transport;
    return t->kind->has_ended && t->kind->has_ended(t, ((const struct node_link *)link)->peer);
}

struct transport *node_transport(struct node *node)
{
    return node->transport;
}

struct metrics *node_metrics(const struct node *node)
{
    return node->options.metrics;
}
