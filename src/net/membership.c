/* The host's side of membership.h.
 *
 * Every role and number of the job has a seat, made at the start, so that absence, too, is a state
 * that can be reported. All changes go through seat_set: it counts the epoch, by which heartbeats
 * bring a member only what is new, tells the callback, and looks at the barriers again.
 *
 * Death is decided here and nowhere else, from three signs: silence (no frame at all, heartbeats
 * included), a connection that is gone for longer than a reconnect takes, and a process's own last
 * words. A dead process is fenced off at once: it may be alive behind a broken link, and what it
 * still sends must not count, because the others go on without it. When the host itself was
 * stopped, everybody is given that time. A new process takes over a seat only when nothing can be
 * sent to the old one: that is a restart; otherwise it is a second process with the same number, a
 * mistake. */
#include "net/membership_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
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

struct seat *seat_find(struct membership *m, struct net_id id)
{
    if (id.role == NET_WORKER && id.index < m->options.workers)
        return &m->seats[id.index];
    if (id.role == NET_SERVER && id.index < m->options.servers)
        return &m->seats[m->options.workers + id.index];
    return NULL;
}

/* The last time that anything came from this member. */
static int64_t seat_seen(const struct seat *seat)
{
    return seat->link && seat->link->heard > seat->seen ? seat->link->heard : seat->seen;
}

void seat_describe(const struct seat *seat, int64_t now, char *out, size_t room)
{
    const struct member *member = &seat->member;
    char id[NET_ID_TEXT];
    switch (member->state) {
    case MEMBER_ABSENT:
        snprintf(out, room, "%s, which has not joined", net_id_print(member->id, id));
        break;
    case MEMBER_HERE:
        snprintf(out, room, "%s, last heard of %.1f s ago", member->name,
                 seat->is_host ? 0.0 : (double)(now - seat_seen(seat)) / 1e9);
        break;
    case MEMBER_DEAD:
        snprintf(out, room, "%s, which %s", member->name, member->reason);
        break;
    case MEMBER_LEFT:
        snprintf(out, room, "%s, which has left", member->name);
        break;
    }
}

/* Everything that changes a member goes through here. */
static void seat_set(struct membership *m, struct seat *seat, const struct member *after)
{
    enum member_state before = seat->member.state;
    struct member copy = *after;
    pthread_mutex_lock(&m->lock);
    seat->member = copy;
    seat->epoch = ++m->epoch;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (m->options.changed)
        m->options.changed(m->options.self, &copy, before);
    barrier_review(m);
}

/* Reports a death and shuts the door: what this process still sends is not taken. */
static void seat_bury(struct membership *m, struct seat *seat, const char *reason)
{
    struct member after = seat->member;
    struct skiff_error err;
    after.state = MEMBER_DEAD;
    snprintf(after.reason, sizeof after.reason, "%s", reason);
    error_set(&err, SKIFF_STATE,
              "%s %s and was declared dead by %s; it may come back as a new process", after.name,
              reason, node_self(m->node)->name);
    rpc_server_fence(m->server, after.id, after.incarnation, &err);
    seat->link = NULL;
    seat_set(m, seat, &after);
}

/* ---- joining ---- */

static enum skiff_status check_counts(struct membership *m, const char *who, uint32_t workers,
                                      uint32_t servers, struct skiff_error *err)
{
    const struct membership_options *o = &m->options;
    if (workers == o->workers && servers == o->servers)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s was started for %u workers and %u servers, %s for %u workers and %u "
                     "servers; all processes of a job must be started with the same counts",
                     who, workers, servers, node_self(m->node)->name, o->workers, o->servers);
}

/* May this process sit here? An earlier one that is gone makes room. */
static enum skiff_status check_seat(struct membership *m, struct seat *seat, uint64_t incarnation,
                                    const char *who, const char *address, struct skiff_error *err)
{
    struct member *old = &seat->member;
    char id[NET_ID_TEXT], text[512];
    if (old->state != MEMBER_HERE || old->incarnation == incarnation)
        return SKIFF_OK;
    if (!seat->is_host && (!seat->link || node_is_gone(seat->link))) {
        seat_bury(m, seat, "went away without a word, and a new process took its place");
        return SKIFF_OK;
    }
    seat_describe(seat, clock_now(), text, sizeof text);
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
    struct seat *seat = seat_find(m, q->sender);
    if (!seat)
        return error_set(err, SKIFF_RANGE,
                         "%s: job of %u workers and %u servers has no such number; refused by %s",
                         after.name, workers, servers, node_self(m->node)->name);
    TRY(check_seat(m, seat, q->incarnation, after.name, after.address, err));
    seat->link = q->link;
    seat->seen = clock_now();
    seat->lost_since = 0;
    if (seat->member.state != MEMBER_HERE || seat->member.incarnation != q->incarnation)
        seat_set(m, seat, &after);
    return SKIFF_OK;
}

/* The members that have changed since an epoch. */
static void reply_changes(struct membership *m, struct rpc_request *q, uint64_t since)
{
    struct wire_writer w;
    struct blob *reply;
    struct skiff_error err;
    size_t n = 0;
    for (size_t i = 0; i < m->nseats; i++)
        n += m->seats[i].epoch > since;
    writer_init(&w);
    writer_u64(&w, m->epoch);
    writer_varint(&w, n);
    for (size_t i = 0; i < m->nseats; i++)
        if (m->seats[i].epoch > since)
            member_write(&w, &m->seats[i].member);
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

/* The seat of a request's sender, if this very process sits there. */
static struct seat *seat_of(struct membership *m, struct rpc_request *q)
{
    struct seat *seat = seat_find(m, q->sender);
    bool sits =
        seat && seat->member.state == MEMBER_HERE && seat->member.incarnation == q->incarnation;
    return sits ? seat : NULL;
}

static void fail_unknown(struct membership *m, struct rpc_request *q)
{
    struct skiff_error err;
    char id[NET_ID_TEXT];
    error_set(&err, SKIFF_NOT_FOUND, "%s has not joined, says %s", net_id_print(q->sender, id),
              node_self(m->node)->name);
    rpc_fail(q, &err);
}

static void on_beat(void *self, struct rpc_request *q)
{
    struct membership *m = self;
    struct seat *seat = seat_of(m, q);
    struct wire_reader r;
    struct skiff_error err;
    reader_init_block(&r, q->body);
    uint64_t since = reader_u64(&r);
    if (!seat) {
        const struct seat *place = seat_find(m, q->sender);
        bool known = place && place->member.incarnation == q->incarnation; /* it has left */
        if (m->options.orphan && place && !known)
            m->options.orphan(m->options.self, q->link ? q->link->peer.name : "?");
        fail_unknown(m, q);
    } else if (reader_end(&r, "heartbeat", &err) < 0) {
        rpc_fail(q, &err);
    } else {
        seat->seen = clock_now();
        seat->link = q->link;
        reply_changes(m, q, since);
    }
}

struct farewell {          /* of a member that has given up */
    struct node_task task; /* first */
    struct membership *membership;
    struct net_id id;
    uint64_t incarnation;
    char reason[sizeof((struct member *)0)->reason];
};

static void farewell_bury(struct node_task *task)
{
    struct farewell *f = (struct farewell *)task;
    struct seat *seat = seat_find(f->membership, f->id);
    if (seat->member.state == MEMBER_HERE && seat->member.incarnation == f->incarnation)
        seat_bury(f->membership, seat, f->reason);
    free(f);
}

/* With a reason in the body it is a death. The answer goes out first: the door shuts behind it. */
static void on_leave(void *self, struct rpc_request *q)
{
    struct membership *m = self;
    struct seat *seat = seat_of(m, q);
    if (seat && blob_len(q->body)) {
        struct farewell *f = mem_must(sizeof *f);
        struct wire_reader r;
        struct skiff_error err;
        *f = (struct farewell){.task.run = farewell_bury,
                               .membership = m,
                               .id = q->sender,
                               .incarnation = q->incarnation};
        reader_init_block(&r, q->body);
        reader_string(&r, f->reason, sizeof f->reason);
        if (reader_end(&r, "last words", &err) < 0) {
            rpc_fail(q, &err);
            free(f);
            return;
        }
        rpc_reply(q, NULL);
        node_post(m->node, &f->task);
        return;
    }
    if (seat) {
        struct member after = seat->member;
        after.state = MEMBER_LEFT;
        seat->link = NULL;
        seat_set(m, seat, &after);
    }
    rpc_reply(q, NULL);
}

static void on_barrier(void *self, struct rpc_request *q)
{
    if (seat_of(self, q))
        barrier_arrive(self, q);
    else
        fail_unknown(self, q);
}

/* ---- what the node tells us ---- */

static void on_link_up(void *self, struct link *link)
{
    struct membership *m = self;
    struct seat *seat = link->outgoing ? NULL : seat_find(m, link->peer.id);
    if (seat && seat->member.state == MEMBER_HERE &&
        seat->member.incarnation == link->peer.incarnation) {
        seat->link = link;
        seat->lost_since = 0;
    }
}

static void on_link_down(void *self, struct link *link)
{
    struct membership *m = self;
    for (size_t i = 0; i < m->nseats; i++)
        if (m->seats[i].link == link) {
            m->seats[i].seen = seat_seen(&m->seats[i]);
            m->seats[i].link = NULL;
            m->seats[i].lost_since = clock_now();
        }
}

static void check_silence(struct membership *m, struct seat *seat, int64_t now)
{
    char reason[128];
    int64_t silence = now - seat_seen(seat);
    int64_t lost = seat->link || !seat->lost_since ? 0 : now - seat->lost_since;
    if (seat->member.state != MEMBER_HERE || seat->is_host)
        return;
    if (lost > m->options.lost_ms * CLOCK_MS) {
        snprintf(reason, sizeof reason, "has had no connection for %.1f s", (double)lost / 1e9);
        seat_bury(m, seat, reason);
    } else if (silence > m->options.silence_ms * CLOCK_MS) {
        snprintf(reason, sizeof reason, "has been silent for %.1f s", (double)silence / 1e9);
        seat_bury(m, seat, reason);
    }
}

static int64_t on_tick(void *self, int64_t now)
{
    struct membership *m = self;
    int64_t step = m->options.beat_ms * CLOCK_MS / 4, gap = now - m->last_tick;
    if (gap > 8 * step && m->last_tick)
        for (size_t i = 0; i < m->nseats; i++) { /* we were stopped: that is not their silence */
            m->seats[i].seen += gap;
            m->seats[i].lost_since += m->seats[i].lost_since ? gap : 0;
        }
    if (gap >= step) {
        m->last_tick = now;
        for (size_t i = 0; i < m->nseats; i++)
            check_silence(m, &m->seats[i], now);
    }
    return clock_min(m->last_tick + step, barrier_tick(m, now));
}

static const struct node_service membership_service = {
    .link_up = on_link_up,
    .link_down = on_link_down,
    .tick = on_tick,
};

/* ---- life ---- */

static void set_up_seats(struct membership *m)
{
    const struct hello_side *self = node_self(m->node);
    m->nseats = (size_t)m->options.workers + m->options.servers;
    m->seats = mem_must((m->nseats + 1) * sizeof *m->seats);
    for (size_t i = 0; i < m->nseats; i++) {
        bool worker = i < m->options.workers;
        struct net_id id = {worker ? NET_WORKER : NET_SERVER,
                            (uint32_t)(worker ? i : i - m->options.workers)};
        m->seats[i].member.id = id;
        net_id_print(id, m->seats[i].member.name);
        if (!net_id_equal(id, self->id))
            continue;
        m->seats[i].is_host = true;
        m->seats[i].epoch = ++m->epoch;
        m->seats[i].member.state = MEMBER_HERE;
        m->seats[i].member.incarnation = self->incarnation;
        strcpy(m->seats[i].member.name, self->name);
    }
}

struct membership *membership_create(struct node *node, struct rpc_server *server,
                                     const struct membership_options *options)
{
    struct membership *m = mem_must(sizeof *m);
    m->node = node;
    m->server = server;
    m->options = *options;
    m->options.beat_ms = options->beat_ms ? options->beat_ms : 1000;
    m->options.silence_ms = options->silence_ms ? options->silence_ms : 10000;
    m->options.lost_ms = options->lost_ms ? options->lost_ms : 5000;
    set_up_seats(m);
    pthread_mutex_init(&m->lock, NULL);
    cond_init(&m->changed);
    rpc_server_handle(server, METHOD_JOIN, RPC_ON_NETWORK, on_join, m);
    rpc_server_handle(server, METHOD_BEAT, RPC_ON_NETWORK, on_beat, m);
    rpc_server_handle(server, METHOD_LEAVE, RPC_ON_NETWORK, on_leave, m);
    rpc_server_handle(server, METHOD_BARRIER, RPC_ON_NETWORK, on_barrier, m);
    node_attach(node, &membership_service, m);
    return m;
}

static void stop_now(void *arg)
{
    struct membership *m = arg;
    struct skiff_error err;
    error_set(&err, SKIFF_PEER, "%s is closing", node_self(m->node)->name);
    barrier_end_all(m, &err);
}

void membership_stop(struct membership *m)
{
    node_run(m->node, stop_now, m);
}

void membership_destroy(struct membership *m)
{
    if (!m)
        return;
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m->seats);
    free(m);
}

/* ---- for other threads ---- */

size_t membership_list(struct membership *m, struct member *out, size_t room)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->nseats && i < room; i++)
        out[i] = m->seats[i].member;
    pthread_mutex_unlock(&m->lock);
    return m->nseats;
}

struct silence_question {
    struct membership *membership;
    struct net_id id;
    int64_t silence;
};

static void look_at_silence(void *arg)
{
    struct silence_question *q = arg;
    const struct seat *seat = seat_find(q->membership, q->id);
    bool here = seat && seat->member.state == MEMBER_HERE;
    q->silence = !here ? -1 : seat->is_host ? 0 : clock_now() - seat_seen(seat);
}

int64_t membership_silence(struct membership *m, struct net_id id)
{
    struct silence_question q = {.membership = m, .id = id};
    node_run(m->node, look_at_silence, &q);
    return q.silence;
}

/* Waits until `good` holds for all of a role; else TIMEOUT with the names of those for whom not.
 * The lock is held on return when it is OK. */
static enum skiff_status wait_all(struct membership *m, enum net_role role, int64_t deadline,
                                  bool (*good)(enum member_state), const char *what,
                                  struct skiff_error *err)
{
    int64_t started = clock_now();
    pthread_mutex_lock(&m->lock);
    for (;;) {
        struct buf names = BUF_INIT;
        for (size_t i = 0; i < m->nseats; i++) {
            const struct member *member = &m->seats[i].member;
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
    for (size_t i = 0; i < m->nseats && status == SKIFF_OK; i++) {
        const struct member *member = &m->seats[i].member;
        if (member->id.role == role && member->state == MEMBER_DEAD)
            status = error_set(err, SKIFF_PEER, "%s %s", member->name, member->reason);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}
