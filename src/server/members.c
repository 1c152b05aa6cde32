/* Members of the job, and the end of the job. Server 0 keeps the list (net/membership.h) and sends
 * it to the others; each server decides by the same rules:
 *   all trainers have left (or died, and at least one has left)   the job is complete
 *   all trainers have died                                        the job has failed
 *   a server has died, or has left before the end                 the job has failed
 *   a trainer has died                                            by on_death
 *   a trainer or server has not joined in time                    the job has failed
 * The thread that called server_run watches; the network thread only records changes and wakes
 * it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "server/exchange.h"
#include "server/maintenance.h"
#include "server/members.h"
#include "server/quiesce.h"
#include "server/reduce.h"
#include "server/server_parts.h"
#include "server/slice.h"
#include "server/snapshot.h"

#define NEWS_MS 2500    /* two heartbeats and a margin */
#define JOIN_TRY_MS 500 /* between checks of server_stop while server 0 is not reachable */
#define NOTE_EVERY_MS 10000

void members_create(struct server *s)
{
    pthread_mutex_init(&s->members, NULL);
    s->trainers = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *s->trainers);
    s->servers = mem_alloc_or_die((size_t)s->plan->servers * sizeof *s->servers);
    for (int i = 0; i < s->plan->trainers; i++)
        snprintf(s->trainers[i].name, sizeof s->trainers[i].name, "worker %d", i);
    for (int i = 0; i < s->plan->servers; i++)
        snprintf(s->servers[i].name, sizeof s->servers[i].name, "server %d at %s", i,
                 s->plan->endpoints[i]);
    s->servers[s->index].state = MEMBER_HERE;
    s->servers[0].state = MEMBER_HERE; /* those who have joined it notice its silence */
}

void members_destroy(struct server *s)
{
    free(s->trainers);
    free(s->servers);
    pthread_mutex_destroy(&s->members);
}

enum member_state members_state(struct server *s, uint32_t trainer)
{
    pthread_mutex_lock(&s->members);
    enum member_state state = s->trainers[trainer].state;
    pthread_mutex_unlock(&s->members);
    return state;
}

struct server_member members_get(struct server *s, uint32_t trainer)
{
    pthread_mutex_lock(&s->members);
    struct server_member p = s->trainers[trainer];
    pthread_mutex_unlock(&s->members);
    return p;
}

bool members_gone(struct server *s, uint32_t trainer, uint64_t incarnation)
{
    struct server_member p = members_get(s, trainer);
    bool is_here = p.state == MEMBER_HERE,
         has_gone = p.state == MEMBER_DEAD || p.state == MEMBER_LEFT;
    /* another incarnation's end is ignored: a process that is not known yet has just joined */
    return p.incarnation == incarnation ? has_gone : is_here;
}

void members_note_unsaved(struct server *s, const char *reason)
{
    pthread_mutex_lock(&s->members);
    snprintf(s->unsaved, sizeof s->unsaved, "%s", *reason ? reason : "no reason was given");
    pthread_mutex_unlock(&s->members);
}

static struct server_member *member_of(struct server *s, struct net_id id)
{
    if (id.role == NET_WORKER && id.index < (uint32_t)s->plan->trainers)
        return &s->trainers[id.index];
    if (id.role == NET_SERVER && id.index < (uint32_t)s->plan->servers)
        return &s->servers[id.index];
    return NULL;
}

static int count_in_state(const struct server_member *members, int n, enum member_state state)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += members[i].state == state;
    return count;
}

static void record_member(struct server *s, struct server_member *p, const struct member *after)
{
    struct member lost;
    pthread_mutex_lock(&s->members);
    if (after->id.role == NET_SERVER && after->state == MEMBER_HERE && p->came &&
        /* a new process does not have the parameters of the old one */
        p->incarnation != after->incarnation) {
        lost = *after;
        lost.state = MEMBER_DEAD;
        snprintf(lost.reason, sizeof lost.reason, "was restarted: its parameters are lost");
        after = &lost;
    }
    p->nlives += after->state == MEMBER_HERE && (!p->came || p->incarnation != after->incarnation);
    p->state = after->state;
    p->came |= after->state == MEMBER_HERE;
    if (after->id.role == NET_WORKER && *after->name)
        snprintf(p->name, sizeof p->name, "%s", after->name);
    snprintf(p->reason, sizeof p->reason, "%s", after->reason);
    p->incarnation = after->incarnation;
    metric_set(s->counts.here, count_in_state(s->trainers, s->plan->trainers, MEMBER_HERE));
    metric_set(s->counts.gone, count_in_state(s->trainers, s->plan->trainers, MEMBER_LEFT));
    metric_set(s->counts.dead, count_in_state(s->trainers, s->plan->trainers, MEMBER_DEAD));
    pthread_mutex_unlock(&s->members);
    if (s->options.on_member)
        s->options.on_member(s->options.user, after);
    server_wake(s);
}

void members_announce_self(struct server *s)
{
    const struct hello_side *self = node_self(s->node);
    struct member member = {.id = self->id, .state = MEMBER_HERE, .incarnation = self->incarnation};
    if (s->options.on_member)
        s->options.on_member(s->options.user, &member);
}

struct death {             /* recorded if no new process has taken the place by then */
    struct node_task task; /* first */
    struct server *server;
    struct member member;
};

static void death_note(struct node_task *task)
{
    struct death *d = (struct death *)task;
    struct server_member *p = member_of(d->server, d->member.id);
    pthread_mutex_lock(&d->server->members);
    bool replaced = p->incarnation != d->member.incarnation;
    pthread_mutex_unlock(&d->server->members);
    if (!replaced)
        record_member(d->server, p, &d->member);
    free(d);
}

/* Network thread. When a new process takes the place of a dead one, server 0 learns of the death
 * just before it learns of the successor: a sync step must not end in between. */
void on_member(void *self, const struct member *after, enum member_state before)
{
    struct server *s = self;
    struct server_member *p = member_of(s, after->id);
    (void)before;
    if (!p)
        return;
    if (after->state == MEMBER_DEAD && s->membership) {
        struct death *d = mem_alloc_or_die(sizeof *d);
        *d = (struct death){.task.run = death_note, .server = s, .member = *after};
        node_post(s->node, &d->task);
        return;
    }
    record_member(s, p, after);
    /* server 0's membership has closed its own connections; this server has others */
    if (after->state == MEMBER_DEAD && after->id.role == NET_WORKER) {
        struct skiff_error err;
        error_set(&err, SKIFF_STATE, "%s %s and was declared dead; it can rejoin as a new process",
                  after->name, after->reason);
        rpc_server_fence(s->rpc, after->id, after->incarnation, &err);
    }
}

/* Network thread: a process in the job has never joined through this server. */
static void on_orphan(void *self, const char *name)
{
    struct server *s = self;
    struct skiff_error err;
    char text[320];
    error_set(
        &err, SKIFF_STATE,
        "%s is in this job already, but %s has just been started: the earlier process "
        "there and its parameters are lost; start the whole job again (--resume continues from "
        "the last save)",
        name, server_text(s, text));
    server_fail(s, &err);
}

/* ---- joining ---- */

static bool is_stopping(struct server *s)
{
    return atomic_load(&s->stopping);
}

static enum skiff_status await_host(struct server *s, struct rpc_peer *host, int64_t deadline,
                                    struct skiff_error *err)
{
    int64_t note = clock_after(clock_now(), NOTE_EVERY_MS);
    for (;;) {
        int64_t now = clock_now(), until = clock_min(deadline, clock_after(now, JOIN_TRY_MS));
        enum skiff_status status = rpc_await(host, until, err);
        if (status != SKIFF_TIMEOUT || is_stopping(s))
            return status;
        if (clock_now() >= deadline)
            return error_prefix(err, status, "server 0 at %s was not reachable in time",
                                s->plan->endpoints[0]);
        if (clock_now() >= note) {
            server_log(s, "waiting for server 0 at %s", s->plan->endpoints[0]);
            note = clock_after(clock_now(), NOTE_EVERY_MS);
        }
    }
}

static struct membership_options member_options(struct server *s)
{
    int silence = s->options.silence_ms, beat = silence / 20;
    return (struct membership_options){
        .workers = (uint32_t)s->plan->trainers,
        .servers = (uint32_t)s->plan->servers,
        .beat_ms = beat < 20    ? 20
                   : beat > 500 ? 500
                                : beat,
        .silence_ms = silence,
        .lost_ms = silence < 5000 ? silence : 5000, /* TCP tries again after 1 and 3 s */
        .changed = on_member,
        .host_stays = true,
        .orphan = on_orphan,
        .self = s};
}

/* Network thread. */
static void begun(void *arg, enum skiff_status status, struct blob *reply,
                  const struct skiff_error *err)
{
    struct server *s = arg;
    (void)reply;
    if (status < 0 && status != SKIFF_TIMEOUT) /* the loss of server 0 is handled elsewhere */
        server_fail(s, err);
}

/* Reports what this server has on disk, to be compared with the others. */
static enum skiff_status report_start(struct server *s, struct rpc_peer *host,
                                      struct skiff_error *err)
{
    struct wire_writer w;
    struct rpc_ask ask = {.what = "start of the job",
                          .method = PS_BEGIN,
                          .deadline = clock_after(clock_now(), s->options.start_ms)};
    if (!s->options.start)
        return SKIFF_OK;
    writer_init(&w);
    ps_write_begin(&w, s->options.start);
    TRY(writer_finish(&w, &ask.body, err));
    enum skiff_status status = rpc_then(host, &ask, begun, s, err);
    blob_unref(ask.body);
    return status;
}

enum skiff_status members_join(struct server *s, int64_t deadline, struct skiff_error *err)
{
    struct membership_options options = member_options(s);
    if (s->index == 0)
        return SKIFF_OK;
    TRY(rpc_connect(s->client, s->plan->endpoints[0], (struct net_id){NET_SERVER, 0}, &s->host,
                    err));
    TRY(await_host(s, s->host, deadline, err));
    TRY(enrolment_join(s->node, s->host, s->plan->endpoints[s->index], &options,
                       clock_after(clock_now(), s->options.silence_ms), &s->enrolment, err));
    return report_start(s, s->host, err);
}

void members_host(struct server *s)
{
    struct membership_options options = member_options(s);
    s->membership = membership_create(s->node, s->rpc, &options);
}

/* ---- watching ---- */

/* Names of members in a state, for messages. */
static void list_in_state(const struct server_member *members, int n, enum member_state state,
                          struct buf *out)
{
    for (int i = 0; i < n; i++)
        if (members[i].state == state)
            buf_printf(out, "%s%s", out->len ? ", " : "", members[i].name);
}

static bool all_gone(const struct server *s)
{
    int n = s->plan->trainers;
    return count_in_state(s->trainers, n, MEMBER_LEFT) +
               count_in_state(s->trainers, n, MEMBER_DEAD) ==
           n;
}

static enum skiff_status check_servers(struct server *s, struct skiff_error *err)
{
    for (int i = 0; i < s->plan->servers; i++) {
        const struct server_member *p = &s->servers[i];
        if (p->state == MEMBER_DEAD)
            return error_set(err, SKIFF_PEER, "%s %s; its parameters are lost, so the job ends%s",
                             p->name, *p->reason ? p->reason : "has died",
                             i == s->index ? " (this process was declared dead)" : "");
        if (p->state == MEMBER_LEFT && !all_gone(s))
            return error_set(err, SKIFF_PEER, "%s has ended before the job was complete", p->name);
    }
    return SKIFF_OK;
}

static enum skiff_status check_trainers(struct server *s, bool late, struct skiff_error *err)
{
    int n = s->plan->trainers;
    struct buf absent = BUF_INIT;
    for (int i = 0; i < n && s->options.on_death == ON_DEATH_STOP; i++)
        if (s->trainers[i].state == MEMBER_DEAD)
            return error_set(err, SKIFF_PEER,
                             "%s %s; the job ends (the strategy's on_death is \"fail\")",
                             s->trainers[i].name, s->trainers[i].reason);
    if (!late)
        return SKIFF_OK;
    list_in_state(s->trainers, n, MEMBER_ABSENT, &absent);
    list_in_state(s->servers, s->plan->servers, MEMBER_ABSENT, &absent);
    enum skiff_status status = SKIFF_OK;
    if (absent.len)
        status = error_set(err, SKIFF_TIMEOUT,
                           "waited %.1f s; not started, or unable to reach this server: %s",
                           s->options.start_ms / 1e3, absent.data);
    buf_deinit(&absent);
    return status;
}

/* OK: the job is over; END: it continues. */
static enum skiff_status look(struct server *s, bool late, struct skiff_error *err)
{
    int n = s->plan->trainers;
    if (is_stopping(s))
        return SKIFF_OK;
    if (s->failure.code < 0) {
        *err = s->failure;
        return s->failure.code;
    }
    TRY(check_servers(s, err));
    TRY(check_trainers(s, late, err));
    if (!all_gone(s))
        return SKIFF_END;
    if (count_in_state(s->trainers, n, MEMBER_LEFT) && *s->unsaved)
        return error_set(err, SKIFF_IO, "the job's result is not saved: %s", s->unsaved);
    if (count_in_state(s->trainers, n, MEMBER_LEFT))
        return SKIFF_OK;
    return error_set(err, SKIFF_PEER, "all trainers have died; the last one: %s %s",
                     s->trainers[0].name, s->trainers[0].reason);
}

/* Reports what has changed since the last check; a death may have been too short to be seen. */
static void report_news(struct server *s, struct server_member *known)
{
    for (int i = 0; i < s->plan->trainers; i++) {
        struct server_member p = members_get(s, (uint32_t)i), was = known[i];
        bool replaced = was.state == MEMBER_HERE && p.incarnation != was.incarnation;
        if (p.state == was.state && !replaced)
            continue;
        known[i] = p;
        if (replaced && p.state == MEMBER_HERE)
            server_warn(s, "%s has died; %s has replaced it", was.name, p.name);
        else if (p.state == MEMBER_DEAD)
            server_warn(s, "%s %s; %s", p.name, p.reason,
                        s->options.on_death == ON_DEATH_GO_ON ? "the others continue without it"
                                                              : "the job ends");
        else
            server_log(s, "%s %s", p.name, p.state == MEMBER_LEFT ? "has left" : "has joined");
    }
}

static void wait_for_news(struct server *s, int64_t until)
{
    int64_t left = until == CLOCK_NEVER ? 60000 : (until - clock_now()) / CLOCK_MS + 1;
    struct pollfd fd = {.fd = s->wake_fd, .events = POLLIN};
    uint64_t count;
    if (poll(&fd, 1,
             left < 0       ? 0
             : left > 60000 ? 60000
                            : (int)left) > 0 &&
        read(s->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN && errno != EINTR)
        server_warn(s, "eventfd: %s", strerror(errno));
}

enum skiff_status members_watch(struct server *s, struct skiff_error *err)
{
    int64_t start = clock_after(clock_now(), s->options.start_ms);
    struct server_member *known = mem_alloc_or_die((size_t)s->plan->trainers * sizeof *known);
    enum skiff_status status;
    for (;;) {
        int64_t now = clock_now();
        pthread_mutex_lock(&s->members);
        status = look(s, now >= start, err);
        bool complete = count_in_state(s->trainers, s->plan->trainers, MEMBER_ABSENT) == 0;
        pthread_mutex_unlock(&s->members);
        report_news(s, known);
        if (status != SKIFF_END)
            break;
        exchange_review(s);
        reduce_review(s);
        snapshot_review(s);
        maintenance_review(s);
        changed_review(s);
        int64_t quiesce = quiesce_review(s);
        wait_for_news(s, clock_min(quiesce, complete ? CLOCK_NEVER : start));
    }
    free(known);
    return status;
}

/* ---- leaving ---- */

/* Are there servers that have not learned of the end yet? In a very short job some may not even
 * have joined. */
static bool others_here(struct server *s)
{
    pthread_mutex_lock(&s->members);
    bool here = false;
    for (int i = 1; i < s->plan->servers; i++)
        here |= s->servers[i].state == MEMBER_HERE || s->servers[i].state == MEMBER_ABSENT;
    pthread_mutex_unlock(&s->members);
    return here;
}

/* Is any member left that may not know why the job ends? */
static bool anybody_here(struct server *s)
{
    pthread_mutex_lock(&s->members);
    bool here = count_in_state(s->trainers, s->plan->trainers, MEMBER_HERE) > 0;
    for (int i = 1; i < s->plan->servers; i++)
        here |= s->servers[i].state == MEMBER_HERE;
    pthread_mutex_unlock(&s->members);
    return here;
}

/* Server 0 stays until the others have learned that the job is complete; or, if it has failed, long
 * enough for their heartbeats to fetch the reason. */
void members_leave(struct server *s, bool complete)
{
    int64_t deadline = clock_after(clock_now(), complete ? s->options.silence_ms : NEWS_MS);
    if (s->enrolment) {
        enrolment_leave(s->enrolment, clock_after(clock_now(), complete ? 2000 : 500), NULL);
        return;
    }
    while (s->membership && !is_stopping(s) && (complete ? others_here(s) : anybody_here(s)) &&
           clock_now() < deadline)
        wait_for_news(s, clock_min(deadline, clock_after(clock_now(), 100)));
}
