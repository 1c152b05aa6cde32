/* Barriers: rooms by name, in which requests wait until everybody of the set has come, has died or
 * has left. Network thread only.
 *
 * The host keeps the requests and answers all of them at once; members hold nothing but an
 * outstanding request, so one that dies leaves nothing behind, and one whose answer was lost gets
 * it again by rpc. A room is made by whoever comes first, who decides set and policy, and goes when
 * it opens; the same name then means the next meeting. Every change of a member looks at all rooms
 * (barrier_review), every tick at those whose time is over. */
#include "net/membership_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#define MISSING_SHOWN 8

static struct arrival *find_arrival(const struct barrier_room *room, const struct seat *seat)
{
    struct arrival *a = room->arrivals;
    while (a && a->seat != seat)
        a = a->next;
    return a;
}

static bool has_gone(const struct seat *seat)
{
    return seat->member.state == MEMBER_DEAD || seat->member.state == MEMBER_LEFT;
}

/* Answers all who wait and empties the room; reason NULL: they may go on. */
static void room_open(struct membership *m, struct barrier_room *room,
                      const struct skiff_error *reason)
{
    uint32_t dropped = 0;
    for (size_t i = 0; i < room->nset; i++)
        dropped += !find_arrival(room, room->set[i]);
    while (room->arrivals) {
        struct arrival *a = room->arrivals;
        struct blob *reply = NULL;
        struct wire_writer w;
        room->arrivals = a->next;
        writer_init(&w);
        writer_u32(&w, dropped);
        if (reason)
            rpc_fail(a->request, reason);
        else if (writer_finish(&w, &reply, NULL) == SKIFF_OK)
            rpc_reply(a->request, reply);
        writer_deinit(&w);
        free(a);
    }
}

/* Frees a room that nobody waits in. */
static void room_close(struct membership *m, struct barrier_room *room)
{
    struct barrier_room **at = &m->rooms;
    while (*at != room)
        at = &(*at)->next;
    *at = room->next;
    free(room->set);
    free(room);
}

/* Is it complete, or has it failed? Then it opens and closes. */
static void room_review(struct membership *m, struct barrier_room *room)
{
    char who[512];
    for (size_t i = 0; i < room->nset; i++) {
        struct seat *seat = room->set[i];
        if (has_gone(seat) && room->policy == BARRIER_FAIL && !find_arrival(room, seat)) {
            struct skiff_error err;
            seat_describe(seat, clock_now(), who, sizeof who);
            error_set(&err, SKIFF_PEER, "barrier '%s' cannot be reached by %s", room->name, who);
            room_open(m, room, &err);
            room_close(m, room);
            return;
        }
    }
    for (size_t i = 0; i < room->nset; i++)
        if (!has_gone(room->set[i]) && !find_arrival(room, room->set[i]))
            return;
    room_open(m, room, NULL);
    room_close(m, room);
}

/* A process that has died cannot wait any longer; its place in the set stays. */
static void drop_arrival(struct barrier_room *room, struct arrival **at,
                         const struct skiff_error *reason)
{
    struct arrival *a = *at;
    *at = a->next;
    rpc_fail(a->request, reason);
    free(a);
}

void barrier_review(struct membership *m)
{
    struct skiff_error err;
    error_set(&err, SKIFF_STATE, "you are not in the job any more");
    for (struct barrier_room *room = m->rooms, *next; room; room = next) {
        next = room->next;
        for (struct arrival **at = &room->arrivals; *at;)
            if (has_gone((*at)->seat))
                drop_arrival(room, at, &err);
            else
                at = &(*at)->next;
        room_review(m, room);
    }
}

/* ---- arriving ---- */

struct wish {
    char name[BARRIER_NAME];
    enum net_role role;
    enum barrier_policy policy;
    int64_t wait_ms;
    struct seat **set;
    size_t nset;
};

static enum skiff_status read_set(struct membership *m, struct wire_reader *r, struct wish *wish,
                                  struct skiff_error *err)
{
    size_t n = reader_count(r, 4);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = reader_u32(r);
        struct seat *seat = seat_find(m, (struct net_id){(id >> 24) % 3, id & 0xffffff});
        if (!seat)
            return error_set(err, SKIFF_RANGE,
                             "barrier '%s' is for a member that the job does not have: %u of "
                             "role %u",
                             wish->name, id & 0xffffff, id >> 24);
        wish->set[wish->nset++] = seat;
        if (wish->nset > m->nseats)
            return error_set(err, SKIFF_RANGE, "barrier '%s' is for more members than there are",
                             wish->name);
    }
    for (size_t i = 0; i < m->nseats && n == 0; i++)
        if (wish->role == NET_NOBODY || m->seats[i].member.id.role == wish->role)
            wish->set[wish->nset++] = &m->seats[i];
    return SKIFF_OK;
}

static enum skiff_status read_wish(struct membership *m, const struct blob *body, struct wish *wish,
                                   struct skiff_error *err)
{
    struct wire_reader r;
    reader_init_block(&r, body);
    reader_string(&r, wish->name, sizeof wish->name);
    wish->role = reader_u8(&r) % 3;
    wish->policy = reader_u8(&r) ? BARRIER_FAIL : BARRIER_REST;
    wish->wait_ms = (int64_t)reader_u32(&r);
    TRY(read_set(m, &r, wish, err));
    return reader_end(&r, "barrier", err);
}

static struct barrier_room *find_room(struct membership *m, const char *name)
{
    struct barrier_room *room = m->rooms;
    while (room && strcmp(room->name, name) != 0)
        room = room->next;
    return room;
}

/* The room of that name, made by whoever comes first; takes over wish->set when it makes one. */
static enum skiff_status enter_room(struct membership *m, struct wish *wish, const char *who,
                                    struct barrier_room **out, struct skiff_error *err)
{
    struct barrier_room *room = find_room(m, wish->name);
    if (room) {
        if (room->policy != wish->policy || room->nset != wish->nset ||
            memcmp(room->set, wish->set, wish->nset * sizeof *wish->set) != 0)
            return error_set(err, SKIFF_INVALID,
                             "barrier '%s': %s wants another set or policy than those who wait",
                             wish->name, who);
    } else {
        room = mem_must(sizeof *room);
        memcpy(room->name, wish->name, sizeof room->name);
        room->policy = wish->policy;
        room->set = wish->set;
        room->nset = wish->nset;
        room->next = m->rooms;
        m->rooms = room;
        wish->set = NULL;
    }
    *out = room;
    return SKIFF_OK;
}

static void wait_in(struct membership *m, struct barrier_room *room, struct seat *seat,
                    struct rpc_request *request, int64_t wait_ms)
{
    struct arrival *a = find_arrival(room, seat);
    struct skiff_error err;
    if (a) { /* it gave up and came again */
        error_set(&err, SKIFF_STATE, "barrier '%s': called again", room->name);
        rpc_fail(a->request, &err);
    } else {
        a = mem_must(sizeof *a);
        a->seat = seat;
        a->next = room->arrivals;
        room->arrivals = a;
    }
    a->request = request;
    a->since = clock_now();
    a->deadline = clock_after(a->since, wait_ms);
    room_review(m, room);
}

void barrier_arrive(struct membership *m, struct rpc_request *request)
{
    struct wish wish = {.set = mem_must((m->nseats + 2) * sizeof *wish.set)};
    struct seat *seat = seat_find(m, request->sender);
    struct barrier_room *room = NULL;
    struct skiff_error err;
    enum skiff_status status = read_wish(m, request->body, &wish, &err);
    bool inside = false;
    for (size_t i = 0; status == SKIFF_OK && i < wish.nset; i++)
        inside = inside || wish.set[i] == seat;
    if (status == SKIFF_OK && !inside)
        status = error_set(&err, SKIFF_INVALID, "barrier '%s' is not for %s, who came to it",
                           wish.name, seat->member.name);
    if (status == SKIFF_OK)
        status = enter_room(m, &wish, seat->member.name, &room, &err);
    if (status == SKIFF_OK)
        wait_in(m, room, seat, request, wish.wait_ms);
    else
        rpc_fail(request, &err);
    free(wish.set);
}

/* ---- deadlines ---- */

static void fail_late(struct barrier_room *room, struct arrival **at, int64_t now)
{
    struct buf missing = BUF_INIT;
    struct skiff_error err;
    char who[512];
    size_t n = 0;
    for (size_t i = 0; i < room->nset; i++) {
        if (has_gone(room->set[i]) || find_arrival(room, room->set[i]))
            continue;
        seat_describe(room->set[i], now, who, sizeof who);
        if (n++ < MISSING_SHOWN)
            buf_printf(&missing, "%s%s", missing.len ? "; " : "", who);
    }
    if (n > MISSING_SHOWN)
        buf_printf(&missing, "; and %zu more", n - MISSING_SHOWN);
    error_set(&err, SKIFF_TIMEOUT, "barrier '%s': waited %.1f s for %s", room->name,
              (double)(now - (*at)->since) / 1e9, missing.data ? missing.data : "nobody");
    drop_arrival(room, at, &err);
    buf_deinit(&missing);
}

int64_t barrier_tick(struct membership *m, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    for (struct barrier_room *room = m->rooms, *following; room; room = following) {
        following = room->next;
        for (struct arrival **at = &room->arrivals; *at;) {
            if (now >= (*at)->deadline) {
                fail_late(room, at, now);
                continue;
            }
            next = clock_min(next, (*at)->deadline);
            at = &(*at)->next;
        }
        if (!room->arrivals)
            room_close(m, room);
    }
    return next;
}

void barrier_end_all(struct membership *m, const struct skiff_error *reason)
{
    while (m->rooms) {
        room_open(m, m->rooms, reason);
        room_close(m, m->rooms);
    }
}
