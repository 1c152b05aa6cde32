/* The host's side of membership.h.
 *
 * Every role and number of the job has a member slot, created at the start, so that absence, too,
 * is a state that can be reported. All changes go through member_slot_set: it advances the epoch,
 * by which heartbeats fetch only changes, and calls the callback.
 *
 * Death is declared only here, from three signs: silence (no frame at all, heartbeats included),
 * a connection that is lost for longer than a reconnect takes, and a process's own report of its
 * failure. A dead process is fenced off at once: it may be alive behind a broken link, and its
 * messages must not count, because the others continue without it. When the host itself was
 * stopped, all members are given that time. A new process takes over a slot only when nothing
 * can be sent to the old one: that is a restart; otherwise it is a second process with the same
 * number, which is a mistake. */
#include "net/membership_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/thread.h"

const char *member_state_text(enum member_state state)
{
    static const char *const text[] = {"absent", "here", "dead", "left"};
    return text[state];
}

void member_write(struct wire_writer *w, const struct member *member)
{
    writer_u32(w, net_id_pack(member->id));
    writer_u8(w, (uint8_t)member->state);
    writer_u64(w, member->incarnation);
    writer_string(w, member->name);
    writer_string(w, member->address);
    writer_string(w, member->reason);
}

void member_read(struct wire_reader *r, struct member *out)
{
    uint32_t id = reader_u32(r);
    uint8_t state = reader_u8(r);
    *out = (struct member){.id = {(id >> 24) % 3, id & 0xffffff},
                           .state = state <= MEMBER_LEFT ? state : MEMBER_DEAD};
    out->incarnation = reader_u64(r);
    reader_string(r, out->name, sizeof out->name);
    reader_string(r, out->address, sizeof out->address);
    reader_string(r, out->reason, sizeof out->reason);
}

/* NULL: the job has no such id. */
static struct member_slot *member_slot_find(struct membership *m, struct net_id id)
{
    if (id.role == NET_WORKER && id.index < m->options.workers)
        return &m->member_slots[id.index];
    if (id.role == NET_SERVER && id.index < m->options.servers)
        return &m->member_slots[m->options.workers + id.index];
    return NULL;
}

/* The time of the last frame from this member. */
static int64_t member_slot_seen(const struct member_slot *member_slot)
{
    return member_slot->link && member_slot->link->heard > member_slot->seen
               ? member_slot->link->heard
               : member_slot->seen;
}

/* "worker 2 (host, process 7), last heard from 3.2 s ago" */
static void member_slot_describe(const struct member_slot *member_slot, int64_t now, char *out,
                                 size_t capacity)
{
    const struct member *member = &member_slot->member;
    char id[NET_ID_TEXT];
    switch (member->state) {
    case MEMBER_ABSENT:
        snprintf(out, capacity, "%s, which has not joined", net_id_print(member->id, id));
        break;
    case MEMBER_HERE:
        snprintf(out, capacity, "%s, last heard from %.1f s ago", member->name,
                 member_slot->is_host ? 0.0 : (double)(now - member_slot_seen(member_slot)) / 1e9);
        break;
    case MEMBER_DEAD:
        snprintf(out, capacity, "%s, which %s", member->name, member->reason);
        break;
    case MEMBER_LEFT:
        snprintf(out, capacity, "%s, which has left", member->name);
        break;
    }
}

/* Every change of a member goes through here. */
static void member_slot_set(struct membership *m, struct member_slot *member_slot,
                            const struct member *after)
{
    enum member_state before = member_slot->member.state;
    struct member copy = *after;
    pthread_mutex_lock(&m->lock);
    member_slot->member = copy;
    member_slot->epoch = ++m->epoch;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (m->options.changed)
        m->options.changed(m->options.self, &copy, before);
}

/* Reports a death and fences the process off: its messages are no longer accepted. */
static void member_slot_bury(struct membership *m, struct member_slot *member_slot,
                             const char *reason)
{
    struct member after = member_slot->member;
    struct skiff_error err;
    after.state = MEMBER_DEAD;
    snprintf(after.reason, sizeof after.reason, "%s", reason);
    error_set(&err, SKIFF_STATE,
              "%s %s and was declared dead by %s; it can rejoin as a new process", after.name,
              reason, node_self(m->node)->name);
    rpc_server_fence(m->server, after.id, after.incarnation, &err);
    member_slot->link = NULL;
    member_slot_set(m, member_slot, &after);
}

/* ---- joining ---- */

static enum skiff_status check_counts(struct membership *m, const char *who, uint32_t workers,
                                      uint32_t servers, struct skiff_error *err)
{
    const struct membership_options *o = &m->options;
    if (workers == o->workers && servers == o->servers)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s was started for %u worker%s and %u server%s, %s for %u worker%s and %u "
                     "server%s; all processes of a job must be started with the same counts",
                     who, workers, plural(workers), servers, plural(servers),
                     node_self(m->node)->name, o->workers, plural(o->workers), o->servers,
                     plural(o->servers));
}

/* May this process take the slot? An earlier one that is gone gives it up. */
static enum skiff_status check_member_slot(struct membership *m, struct member_slot *member_slot,
                                           uint64_t incarnation, const char *who,
                                           const char *address, struct skiff_error *err)
{
    struct member *old = &member_slot->member;
    char id[NET_ID_TEXT], text[512];
    if (old->state != MEMBER_HERE || old->incarnation == incarnation)
        return SKIFF_OK;
    if (!member_slot->is_host && (!member_slot->link || node_is_gone(member_slot->link))) {
        member_slot_bury(m, member_slot,
                         "disconnected without notice, and a new process replaced it");
        return SKIFF_OK;
    }
    member_slot_describe(member_slot, clock_now(), text, sizeof text);
    return error_set(err, SKIFF_STATE,
                     "there is a %s in the job already: %s%s%s; refused: %s%s%s. Every process "
                     "needs a number of its own",
                     net_id_print(old->id, id), text, *old->address ? ", at " : "", old->address,
                     who, *address ? ", at " : "", address);
}

static enum skiff_status join(struct membership *m, struct rpc_request *q, struct skiff_error *err)
{
    struct wire_reader r;
    struct member after = {.id = q->sender, .state = MEMBER_HERE, .incarnation = q->incarnation};
    reader_init_block(&r, q->body);
    uint32_t workers = reader_u32(&r), servers = reader_u32(&r);
    reader_string(&r, after.address, sizeof after.address);
    TRY(reader_end(&r, "join", err));
    snprintf(after.name, sizeof after.name, "%s", q->link ? q->link->peer.name : "?");
    TRY(check_counts(m, after.name, workers, servers, err));
    struct member_slot *member_slot = member_slot_find(m, q->sender);
    if (!member_slot)
        return error_set(err, SKIFF_RANGE,
                         "%s: job of %u workers and %u servers has no such number; refused by %s",
                         after.name, workers, servers, node_self(m->node)->name);
    TRY(check_member_slot(m, member_slot, q->incarnation, after.name, after.address, err));
    member_slot->link = q->link;
    member_slot->seen = clock_now();
    member_slot->lost_since = 0;
    if (member_slot->member.state != MEMBER_HERE ||
        member_slot->member.incarnation != q->incarnation)
        member_slot_set(m, member_slot, &after);
    return SKIFF_OK;
}

/* The members that have changed since an epoch. */
static void reply_changes(struct membership *m, struct rpc_request *q, uint64_t since)
{
    struct wire_writer w;
    struct blob *reply;
    struct skiff_error err;
    size_t n = 0;
    for (size_t i = 0; i < m->nslots; i++)
        n += m->member_slots[i].epoch > since;
    writer_init(&w);
    writer_u64(&w, m->epoch);
    writer_varint(&w, n);
    for (size_t i = 0; i < m->nslots; i++)
        if (m->member_slots[i].epoch > since)
            member_write(&w, &m->member_slots[i].member);
    if (writer_finish(&w, &reply, &err) < 0)
        rpc_fail(q, &err);
    else
        rpc_reply(q, reply);
}

static void on_join(void *self, struct rpc_request *q)
{
    struct skiff_error err;
    if (join(self, q, &err) < 0)
        rpc_fail(q, &err);
    else
        reply_changes(self, q, 0);
}

/* The slot of a request's sender, if this very process holds it. */
static struct member_slot *member_slot_of(struct membership *m, struct rpc_request *q)
{
    struct member_slot *member_slot = member_slot_find(m, q->sender);
    bool sits = member_slot && member_slot->member.state == MEMBER_HERE &&
                member_slot->member.incarnation == q->incarnation;
    return sits ? member_slot : NULL;
}

static void fail_unknown(struct membership *m, struct rpc_request *q)
{
    struct skiff_error err;
    char id[NET_ID_TEXT];
    error_set(&err, SKIFF_NOT_FOUND, "%s has not joined; refused by %s",
              net_id_print(q->sender, id), node_self(m->node)->name);
    rpc_fail(q, &err);
}

static void on_beat(void *self, struct rpc_request *q)
{
    struct membership *m = self;
    struct member_slot *member_slot = member_slot_of(m, q);
    struct wire_reader r;
    struct skiff_error err;
    reader_init_block(&r, q->body);
    uint64_t since = reader_u64(&r);
    if (!member_slot) {
        const struct member_slot *slot = member_slot_find(m, q->sender);
        bool known = slot && slot->member.incarnation == q->incarnation; /* it has left */
        if (m->options.orphan && slot && !known)
            m->options.orphan(m->options.self, q->link ? q->link->peer.name : "?");
        fail_unknown(m, q);
    } else if (reader_end(&r, "heartbeat", &err) < 0) {
        rpc_fail(q, &err);
    } else {
        member_slot->seen = clock_now();
        member_slot->link = q->link;
        reply_changes(m, q, since);
    }
}

struct farewell {          /* of a member that has failed */
    struct node_task task; /* first */
    struct membership *membership;
    struct net_id id;
    uint64_t incarnation;
    char reason[sizeof((struct member *)0)->reason];
};

static void farewell_bury(struct node_task *task)
{
    struct farewell *f = (struct farewell *)task;
    struct member_slot *member_slot = member_slot_find(f->membership, f->id);
    if (member_slot->member.state == MEMBER_HERE &&
        member_slot->member.incarnation == f->incarnation)
        member_slot_bury(f->membership, member_slot, f->reason);
    free(f);
}

/* With a reason in the body it is a death. The reply is sent before the process is fenced off. */
static void on_leave(void *self, struct rpc_request *q)
{
    struct membership *m = self;
    struct member_slot *member_slot = member_slot_of(m, q);
    if (member_slot && blob_len(q->body)) {
        struct farewell *f = mem_alloc_or_die(sizeof *f);
        struct wire_reader r;
        struct skiff_error err;
        *f = (struct farewell){.task.run = farewell_bury,
                               .membership = m,
                               .id = q->sender,
                               .incarnation = q->incarnation};
        reader_init_block(&r, q->body);
        reader_string(&r, f->reason, sizeof f->reason);
        if (reader_end(&r, "reason of a failure", &err) < 0) {
            rpc_fail(q, &err);
            free(f);
            return;
        }
        rpc_reply(q, NULL);
        node_post(m->node, &f->task);
        return;
    }
    if (member_slot) {
        struct member after = member_slot->member;
        after.state = MEMBER_LEFT;
        member_slot->link = NULL;
        member_slot_set(m, member_slot, &after);
    }
    rpc_reply(q, NULL);
}

/* ---- callbacks of the node ---- */

static void on_link_up(void *self, struct link *link)
{
    struct membership *m = self;
    struct member_slot *member_slot = link->outgoing ? NULL : member_slot_find(m, link->peer.id);
    if (member_slot && member_slot->member.state == MEMBER_HERE &&
        member_slot->member.incarnation == link->peer.incarnation) {
        member_slot->link = link;
        member_slot->lost_since = 0;
    }
}

static void on_link_down(void *self, struct link *link)
{
    struct membership *m = self;
    for (size_t i = 0; i < m->nslots; i++)
        if (m->member_slots[i].link == link) {
            m->member_slots[i].seen = member_slot_seen(&m->member_slots[i]);
            m->member_slots[i].link = NULL;
            m->member_slots[i].lost_since = clock_now();
        }
}

static void check_silence(struct membership *m, struct member_slot *member_slot, int64_t now)
{
    char reason[128];
    int64_t silence = now - member_slot_seen(member_slot);
    int64_t lost =
        member_slot->link || !member_slot->lost_since ? 0 : now - member_slot->lost_since;
    if (member_slot->member.state != MEMBER_HERE || member_slot->is_host)
        return;
    if (lost > m->options.lost_ms * CLOCK_MS) {
        snprintf(reason, sizeof reason, "has had no connection for %.1f s", (double)lost / 1e9);
        member_slot_bury(m, member_slot, reason);
    } else if (silence > m->options.silence_ms * CLOCK_MS) {
        snprintf(reason, sizeof reason, "has been silent for %.1f s", (double)silence / 1e9);
        member_slot_bury(m, member_slot, reason);
    }
}

static int64_t on_tick(void *self, int64_t now)
{
    struct membership *m = self;
    int64_t step = m->options.beat_ms * CLOCK_MS / 4, gap = now - m->last_tick;
    if (gap > 8 * step && m->last_tick)
        /* this process was stopped: the members were not silent */
        for (size_t i = 0; i < m->nslots; i++) {
            m->member_slots[i].seen += gap;
            m->member_slots[i].lost_since += m->member_slots[i].lost_since ? gap : 0;
        }
    if (gap >= step) {
        m->last_tick = now;
        for (size_t i = 0; i < m->nslots; i++)
            check_silence(m, &m->member_slots[i], now);
    }
    return m->last_tick + step;
}

static const struct node_service membership_service = {
    .link_up = on_link_up,
    .link_down = on_link_down,
    .tick = on_tick,
};

/* ---- lifecycle ---- */

static void set_up_member_slots(struct membership *m)
{
    const struct hello_side *self = node_self(m->node);
    m->nslots = (size_t)m->options.workers + m->options.servers;
    m->member_slots = mem_alloc_or_die((m->nslots + 1) * sizeof *m->member_slots);
    for (size_t i = 0; i < m->nslots; i++) {
        bool worker = i < m->options.workers;
        struct net_id id = {worker ? NET_WORKER : NET_SERVER,
                            (uint32_t)(worker ? i : i - m->options.workers)};
        m->member_slots[i].member.id = id;
        net_id_print(id, m->member_slots[i].member.name);
        if (!net_id_equal(id, self->id))
            continue;
        m->member_slots[i].is_host = true;
        m->member_slots[i].epoch = ++m->epoch;
        m->member_slots[i].member.state = MEMBER_HERE;
        m->member_slots[i].member.incarnation = self->incarnation;
        strcpy(m->member_slots[i].member.name, self->name);
    }
}

struct membership *membership_create(struct node *node, struct rpc_server *server,
                                     const struct membership_options *options)
{
    struct membership *m = mem_alloc_or_die(sizeof *m);
    m->node = node;
    m->server = server;
    m->options = *options;
    m->options.beat_ms = options->beat_ms ? options->beat_ms : 1000;
    m->options.silence_ms = options->silence_ms ? options->silence_ms : 10000;
    m->options.lost_ms = options->lost_ms ? options->lost_ms : 5000;
    set_up_member_slots(m);
    pthread_mutex_init(&m->lock, NULL);
    cond_init(&m->changed);
    rpc_server_handle(server, METHOD_JOIN, RPC_ON_NETWORK, on_join, m);
    rpc_server_handle(server, METHOD_BEAT, RPC_ON_NETWORK, on_beat, m);
    rpc_server_handle(server, METHOD_LEAVE, RPC_ON_NETWORK, on_leave, m);
    node_attach(node, &membership_service, m);
    return m;
}

void membership_destroy(struct membership *m)
{
    if (!m)
        return;
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m->member_slots);
    free(m);
}

/* ---- for other threads ---- */

size_t membership_list(struct membership *m, struct member *out, size_t capacity)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->nslots && i < capacity; i++)
        out[i] = m->member_slots[i].member;
    pthread_mutex_unlock(&m->lock);
    return m->nslots;
}

struct silence_question {
    struct membership *membership;
    struct net_id id;
    int64_t silence;
};

static void look_at_silence(void *arg)
{
    struct silence_question *q = arg;
    const struct member_slot *member_slot = member_slot_find(q->membership, q->id);
    bool here = member_slot && member_slot->member.state == MEMBER_HERE;
    q->silence = !here                  ? -1
                 : member_slot->is_host ? 0
                                        : clock_now() - member_slot_seen(member_slot);
}

int64_t membership_silence(struct membership *m, struct net_id id)
{
    struct silence_question q = {.membership = m, .id = id};
    node_run(m->node, look_at_silence, &q);
    return q.silence;
}

/* Waits until `good` holds for all members of a role; else TIMEOUT with the names of the others.
 * The lock is held on return when it is OK. */
static enum skiff_status wait_all(struct membership *m, enum net_role role, int64_t deadline,
                                  bool (*good)(enum member_state), const char *what,
                                  struct skiff_error *err)
{
    int64_t started = clock_now();
    pthread_mutex_lock(&m->lock);
    for (;;) {
        struct buf names = BUF_INIT;
        for (size_t i = 0; i < m->nslots; i++) {
            const struct member *member = &m->member_slots[i].member;
            if (member->id.role == role && !good(member->state))
                buf_printf(&names, "%s%s (%s)", names.len ? ", " : "", member->name,
                           member_state_text(member->state));
        }
        if (!names.len) {
            buf_deinit(&names);
            return SKIFF_OK;
        }
        if (clock_now() >= deadline) {
            pthread_mutex_unlock(&m->lock);
            error_set(err, SKIFF_TIMEOUT, "waited %.1f s %s: %s",
                      (double)(clock_now() - started) / 1e9, what, names.data);
            buf_deinit(&names);
            return SKIFF_TIMEOUT;
        }
        buf_deinit(&names);
        cond_wait_until(&m->changed, &m->lock, deadline);
    }
}

static bool is_here(enum member_state state)
{
    return state == MEMBER_HERE;
}

static bool is_gone(enum member_state state)
{
    return state == MEMBER_DEAD || state == MEMBER_LEFT;
}

enum skiff_status membership_wait_here(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err)
{
    TRY(wait_all(m, role, deadline, is_here, "for processes to join", err));
    pthread_mutex_unlock(&m->lock);
    return SKIFF_OK;
}

enum skiff_status membership_wait_gone(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err)
{
    TRY(wait_all(m, role, deadline, is_gone, "for processes to leave", err));
    enum skiff_status status = SKIFF_OK;
    for (size_t i = 0; i < m->nslots && status == SKIFF_OK; i++) {
        const struct member *member = &m->member_slots[i].member;
        if (member->id.role == role && member->state == MEMBER_DEAD)
            status = error_set(err, SKIFF_PEER, "%s %s", member->name, member->reason);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}
