/* The member's side of membership.h. The list and the heartbeats belong to the network thread; the
 * lock lets other threads read the list.
 *
 * A heartbeat asks for what has changed since the epoch of the last answer, so its cost does not
 * grow with the job. The host is watched by its answers: after silence_ms without one it is
 * declared dead, and alive again at the next answer. A member that learns that it was declared dead
 * reports it and sends no more heartbeats; it can rejoin only as a new process. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/membership_parts.h"

struct enrolment {
    struct node *node;
    struct rpc_peer *host;
    struct membership_options options;
    char address[ADDRESS_TEXT];
    struct member *members;
    size_t nmembers;
    pthread_mutex_t lock; /* guards members; a leaf */
    atomic_bool left;     /* apart from the flags below, which compilers read together */
    uint64_t epoch;
    int64_t next_beat, answered, last_tick;
    bool host_dead, self_dead;
    bool host_replaced; /* host_stays: it is dead for good */
};

/* ---- the list ---- */

static struct member *find_member(struct enrolment *e, struct net_id id)
{
    for (size_t i = 0; i < e->nmembers; i++)
        if (net_id_equal(e->members[i].id, id))
            return &e->members[i];
    return NULL;
}

/* Updates a member in the list and reports it if it has changed. */
static void take_member(struct enrolment *e, const struct member *after)
{
    enum member_state before = MEMBER_ABSENT;
    pthread_mutex_lock(&e->lock);
    struct member *old = find_member(e, after->id);
    bool news = !old || old->state != after->state || old->incarnation != after->incarnation;
    if (old) {
        before = old->state;
        *old = *after;
    }
    pthread_mutex_unlock(&e->lock);
    if (news && e->options.changed)
        e->options.changed(e->options.self, after, before);
}

static enum skiff_status take_changes(struct enrolment *e, const struct blob *reply,
                                      struct skiff_error *err)
{
    struct wire_reader r;
    struct member member;
    reader_init_block(&r, reply);
    uint64_t epoch = reader_u64(&r);
    size_t n = reader_count(&r, 16);
    for (size_t i = 0; i < n; i++) {
        member_read(&r, &member);
        if (r.fault)
            break;
        take_member(e, &member);
    }
    TRY(reader_end(&r, "list of members", err));
    e->epoch = epoch;
    return SKIFF_OK;
}

static void notify_of(struct enrolment *e, struct net_id id, enum member_state state,
                      const char *name, const char *reason)
{
    struct member after = {.id = id};
    pthread_mutex_lock(&e->lock);
    struct member *known = find_member(e, id);
    if (known)
        after = *known;
    pthread_mutex_unlock(&e->lock);
    after.state = state;
    snprintf(after.name, sizeof after.name, "%s", name);
    snprintf(after.reason, sizeof after.reason, "%s", reason);
    take_member(e, &after);
}

/* ---- heartbeats: network thread ---- */

static struct blob *join_body(const struct enrolment *e)
{
    struct wire_writer w;
    struct blob *body = NULL;
    writer_init(&w);
    writer_u32(&w, e->options.workers);
    writer_u32(&w, e->options.servers);
    writer_string(&w, e->address);
    writer_finish(&w, &body, NULL);
    return body;
}

static void host_answers(struct enrolment *e)
{
    const struct hello_side *host = &rpc_peer_link(e->host)->peer;
    e->answered = clock_now();
    if (e->host_dead) {
        e->host_dead = false;
        notify_of(e, host->id, MEMBER_HERE, host->name, "");
    }
}

/* The host no longer accepts this process. */
static void self_dies(struct enrolment *e, const char *reason)
{
    const struct hello_side *self = node_self(e->node);
    if (e->self_dead)
        return;
    e->self_dead = true;
    notify_of(e, self->id, MEMBER_DEAD, self->name, reason);
}

static void host_dies(struct enrolment *e, const char *reason)
{
    const struct hello_side *host = &rpc_peer_link(e->host)->peer;
    e->host_dead = true;
    notify_of(e, host->id, MEMBER_DEAD, host->name, reason);
}

static void on_beat_answer(void *arg, enum skiff_status status, struct blob *reply,
                           const struct skiff_error *err)
{
    struct enrolment *e = arg;
    if (atomic_load(&e->left) || e->host_replaced)
        return;
    if (status == SKIFF_OK) {
        host_answers(e);
        take_changes(e, reply, NULL);
    } else if (status == SKIFF_NOT_FOUND && e->options.host_stays) {
        e->host_replaced = true;
        host_dies(e, "was restarted: its parameters are lost");
        /* the host has restarted and does not know this member */
    } else if (status == SKIFF_NOT_FOUND) {
        struct rpc_ask ask = {.what = "joining the job again",
                              .method = METHOD_JOIN,
                              .flags = RPC_ANY_INCARNATION,
                              .body = join_body(e),
                              .deadline = clock_after(clock_now(), e->options.silence_ms)};
        host_answers(e);
        e->epoch = 0;
        rpc_then(e->host, &ask, on_beat_answer, e, NULL);
        blob_unref(ask.body);
    } else if (status != SKIFF_TIMEOUT && status != SKIFF_PEER) {
        self_dies(e, err->message);
    }
}

static void send_beat(struct enrolment *e, int64_t now)
{
    struct wire_writer w;
    struct rpc_ask ask = {.what = "heartbeat",
                          .method = METHOD_BEAT,
                          .flags = RPC_READ | RPC_ANY_INCARNATION,
                          .deadline = clock_after(now, e->options.silence_ms)};
    writer_init(&w);
    writer_u64(&w, e->epoch);
    if (writer_finish(&w, &ask.body, NULL) == SKIFF_OK)
        rpc_then(e->host, &ask, on_beat_answer, e, NULL);
    blob_unref(ask.body);
    e->next_beat = clock_after(now, e->options.beat_ms);
}

static int64_t on_tick(void *self, int64_t now)
{
    struct enrolment *e = self;
    if (atomic_load(&e->left) || e->self_dead || e->host_replaced)
        return CLOCK_NEVER;
    const struct link *link = rpc_peer_link(e->host);
    int64_t limit = e->options.silence_ms * CLOCK_MS, gap = now - e->last_tick;
    if (link->up && link->heard > e->answered)
        e->answered = link->heard; /* a long message may hold up the heartbeats */
    if (gap > 2 * e->options.beat_ms * CLOCK_MS)
        e->answered += gap; /* this process was stopped: the host was not silent */
    e->last_tick = now;
    if (now >= e->next_beat)
        send_beat(e, now);
    if (!e->host_dead && now - e->answered > limit) {
        char reason[256], state[128];
        node_describe(link, state, sizeof state);
        snprintf(reason, sizeof reason, "has not answered for %.1f s (%s)",
                 (double)(now - e->answered) / 1e9, state);
        host_dies(e, reason);
    }
    return clock_min(e->next_beat, e->host_dead ? CLOCK_NEVER : e->answered + limit + 1);
}

static const struct node_service enrolment_service = {.tick = on_tick};

/* ---- joining and leaving ---- */

struct start {
    struct enrolment *enrolment;
    struct blob *list;
    enum skiff_status status;
    struct skiff_error *err;
};

static void start_beats(void *arg)
{
    struct start *s = arg;
    struct enrolment *e = s->enrolment;
    e->answered = e->last_tick = clock_now();
    e->next_beat = clock_after(e->answered, e->options.beat_ms);
    s->status = take_changes(e, s->list, s->err);
    if (s->status == SKIFF_OK)
        node_attach(e->node, &enrolment_service, e);
}

static void list_absent(struct enrolment *e)
{
    const struct membership_options *o = &e->options;
    e->nmembers = (size_t)o->workers + o->servers;
    e->members = mem_alloc_or_die((e->nmembers + 1) * sizeof *e->members);
    for (size_t i = 0; i < e->nmembers; i++) {
        bool worker = i < o->workers;
        e->members[i].id = (struct net_id){worker ? NET_WORKER : NET_SERVER,
                                           (uint32_t)(worker ? i : i - o->workers)};
        net_id_print(e->members[i].id, e->members[i].name);
    }
}

enum skiff_status enrolment_join(struct node *node, struct rpc_peer *host, const char *address,
                                 const struct membership_options *options, int64_t deadline,
                                 struct enrolment **out, struct skiff_error *err)
{
    struct enrolment *e = mem_alloc_or_die(sizeof *e);
    e->node = node;
    e->host = host;
    e->options = *options;
    e->options.beat_ms = options->beat_ms ? options->beat_ms : 1000;
    e->options.silence_ms = options->silence_ms ? options->silence_ms : 10000;
    snprintf(e->address, sizeof e->address, "%s", address);
    list_absent(e);
    pthread_mutex_init(&e->lock, NULL);
    struct rpc_ask ask = {.what = "joining the job",
                          .method = METHOD_JOIN,
                          .flags = RPC_ANY_INCARNATION,
                          .body = join_body(e),
                          .deadline = deadline};
    struct start s = {.enrolment = e, .err = err};
    s.status = rpc_ask(host, &ask, &s.list, err);
    blob_unref(ask.body);
    if (s.status == SKIFF_OK)
        node_run(node, start_beats, &s);
    blob_unref(s.list);
    if (s.status < 0)
        enrolment_destroy(e);
    else
        *out = e;
    return s.status;
}

enum skiff_status enrolment_leave(struct enrolment *e, int64_t deadline, struct skiff_error *err)
{
    struct rpc_ask ask = {.what = "leaving the job",
                          .method = METHOD_LEAVE,
                          .flags = RPC_ANY_INCARNATION,
                          .deadline = deadline};
    atomic_store(&e->left, true);
    return rpc_ask(e->host, &ask, NULL, err);
}

enum skiff_status enrolment_abandon(struct enrolment *e, const char *reason, int64_t deadline,
                                    struct skiff_error *err)
{
    struct wire_writer w;
    struct rpc_ask ask = {.what = "reporting a failure",
                          .method = METHOD_LEAVE,
                          .flags = RPC_ANY_INCARNATION,
                          .deadline = deadline};
    char text[sizeof((struct member *)0)->reason];
    snprintf(text, sizeof text, "%s", *reason ? reason : "has failed");
    writer_init(&w);
    writer_string(&w, text);
    TRY(writer_finish(&w, &ask.body, err));
    atomic_store(&e->left, true);
    enum skiff_status status = rpc_ask(e->host, &ask, NULL, err);
    blob_unref(ask.body);
    return status;
}

void enrolment_destroy(struct enrolment *e)
{
    if (!e)
        return;
    pthread_mutex_destroy(&e->lock);
    free(e->members);
    free(e);
}

size_t enrolment_list(struct enrolment *e, struct member *out, size_t capacity)
{
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->nmembers && i < capacity; i++)
        out[i] = e->members[i];
    pthread_mutex_unlock(&e->lock);
    return e->nmembers;
}
