/* Members of the job. One process, usually server 0, is the host and keeps the list; every other
 * one is a member: it joins, sends heartbeats, is notified of joins, deaths and departures, and
 * leaves. All of it uses rpc methods on the host's server.
 *
 * - A joining process sends its role, number, address and the counts it was started with. Other
 *   counts than the host's, a number that the job does not have, and a second process with the same
 *   role and number are refused at once; the message names both sides. If the first process is gone
 *   (nothing can be sent to it), the second one takes its place.
 * - A member that is silent for silence_ms, or whose connection is lost for lost_ms, is dead: that
 *   is reported once, and nothing from this process is accepted any more (rpc_server_fence). It can
 *   rejoin only as a new process. When the host itself has been stopped for a while, the members
 *   are given that time.
 *
 * Threads: lists belong to the network thread; a lock guards them for readers of other threads.
 * Callbacks run on the network thread, with no lock held, and must not block. */
#ifndef NET_MEMBERSHIP_H
#define NET_MEMBERSHIP_H

#include "net/rpc.h"

enum member_state { MEMBER_ABSENT, MEMBER_HERE, MEMBER_DEAD, MEMBER_LEFT };

const char *member_state_text(enum member_state state);

struct member {
    struct net_id id;
    enum member_state state;
    uint64_t incarnation;
    char name[HELLO_NAME];
    char address[ADDRESS_TEXT]; /* where it listens; "" if it does not */
    char reason[256];           /* why it is dead */
};

/* after: what it is now; before: what it was. */
typedef void (*member_changed)(void *self, const struct member *after, enum member_state before);

struct membership_options {
    uint32_t workers, servers; /* of the job */
    int beat_ms;               /* 0: 1000 */
    int silence_ms;            /* 0: 10000 */
    int lost_ms;               /* 0: 5000 */
    member_changed changed;    /* may be NULL */
    void *self;
    /* The host's state cannot be restored: a new process in its place is not this job's host. A
     * member that finds one declares the host dead; the new process learns by `orphan` which
     * members the job has already. Without this flag members join the new one. */
    bool host_stays;
    void (*orphan)(void *self, const char *name); /* network thread; may be NULL */
};

/* ---- host ---- */

struct membership;

/* Before node_start. node and server are those that members connect to. The host itself is a member
 * that is always present, if its id is one of the job's. */
struct membership *membership_create(struct node *node, struct rpc_server *server,
                                     const struct membership_options *options);
void membership_destroy(struct membership *m); /* after node_stop; NULL is a no-op */

/* Any thread: copies at most `capacity` members, workers first, and returns the number of all. */
size_t membership_list(struct membership *m, struct member *out, size_t capacity);
/* Any thread but the network thread. Nanoseconds since the last frame from a member; -1: it is
 * absent. */
int64_t membership_silence(struct membership *m, struct net_id id);
/* Any thread. Blocks until all members of a role are present. The error names the missing ones. */
enum skiff_status membership_wait_here(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err);
/* Any thread. Blocks until every member of a role has joined and has left or died. PEER when one of
 * them has died; the error names it. */
enum skiff_status membership_wait_gone(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err);

/* ---- member ---- */

struct enrolment;

/* Any thread but the network thread, after node_start. Blocks until the host has accepted or
 * refused this process. The peer is the host; options as on the host's side, and the counts must be
 * the same. address: where this process listens, "" if it does not. changed is called for all
 * members: for every one that changes, for a new process in the place of an old one (before and
 * after HERE), for this one when it is declared dead, and for the host, which is dead after
 * silence_ms of silence and present again when it answers. */
enum skiff_status enrolment_join(struct node *node, struct rpc_peer *host, const char *address,
                                 const struct membership_options *options, int64_t deadline,
                                 struct enrolment **out, struct skiff_error *err);
/* Leaves the job, so that no member waits for this one, and stops the heartbeats. Blocks until the
 * host has answered or the deadline has passed; this process has left in either case. */
enum skiff_status enrolment_leave(struct enrolment *e, int64_t deadline, struct skiff_error *err);
/* The same for a member that has failed: it is dead at once, and all members get the reason ("has
 * run out of memory": the text after its name). */
enum skiff_status enrolment_abandon(struct enrolment *e, const char *reason, int64_t deadline,
                                    struct skiff_error *err);
/* After node_stop and rpc_client_destroy, which ends its heartbeats; NULL is a no-op. */
void enrolment_destroy(struct enrolment *e);
size_t enrolment_list(struct enrolment *e, struct member *out, size_t capacity);

#endif
