/* Who is in the job. One process, usually server 0, is the host and keeps the list; every other one
 * is a member: it joins, sends heartbeats, hears who has come, died and left, meets others at
 * barriers, and says goodbye. All of it goes by rpc methods on the host's server.
 *
 * - Whoever joins names its role, number, address and the counts it was started with. Another count
 *   than the host's, a number that the job does not have, and a second process with the same role
 *   and number are refused at once; the message names both sides. If the first process is gone
 *   (nothing can be sent to it), the second one takes its place.
 * - A member that is silent for silence_ms, or whose connection is gone for lost_ms, is dead: it is
 *   reported once, and nothing of that process is taken any more (rpc_server_fence). It may come
 *   back only as a new process. When the host itself has been stopped for a while, the members are
 *   given that time.
 * - A barrier waits for a set of members. Those that die or leave drop out of it, and the rest goes
 *   on or fails, as the barrier says. Every wait has a deadline, and the error says for whom.
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
    char address[ADDRESS_TEXT]; /* where it listens; "" for those that do not */
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
    /* What the host holds cannot be had again: a new process in its place is no host of this job.
     * A member that finds one takes the host for dead; the new one hears of it by `orphan`: who is
     * in the job already. Without it members join the new one. */
    bool host_stays;
    void (*orphan)(void *self, const char *name); /* network thread; may be NULL */
};

/* ---- host ---- */

struct membership;

/* Before node_start. node and server are those that members connect to. The host itself is a member
 * that is always here, if its id is one of the job's; to take part in barriers it connects to
 * itself and enrols like everybody else. */
struct membership *membership_create(struct node *node, struct rpc_server *server,
                                     const struct membership_options *options);
/* Before node_stop: ends all barriers with an error. */
void membership_stop(struct membership *m);
void membership_destroy(struct membership *m); /* after node_stop; NULL is fine */

/* Any thread: copies at most `room` members, workers first, and gives the number of all. */
size_t membership_list(struct membership *m, struct member *out, size_t room);
/* Any thread but the network thread. Nanoseconds since a member was last heard of; -1: it is not
 * here. */
int64_t membership_silence(struct membership *m, struct net_id id);
/* Any thread. Blocks until all members of a role are here. The error names those who are not. */
enum skiff_status membership_wait_here(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err);
/* Any thread. Blocks until every member of a role has been here and has left or died. PEER when one
 * of them has died; the error names it. */
enum skiff_status membership_wait_gone(struct membership *m, enum net_role role, int64_t deadline,
                                       struct skiff_error *err);

/* ---- member ---- */

struct enrolment;

/* Any thread but the network thread, after node_start. Blocks until the host has taken us in or has
 * refused. The peer is the host; options as on the host's side, and the counts must be the same.
 * address: where we listen, "" if we do not. changed hears of all members: of every one that
 * changes, of a new process in the place of an old one (before and after HERE), of this one when it
 * is declared dead, and of the host, which is dead when it has been silent for silence_ms and here
 * again when it answers. */
enum skiff_status enrolment_join(struct node *node, struct rpc_peer *host, const char *address,
                                 const struct membership_options *options, int64_t deadline,
                                 struct enrolment **out, struct skiff_error *err);
/* Says goodbye, so that nobody waits for us, and stops the heartbeats. Blocks until the host has
 * heard it or the deadline has passed; we have left in either case. */
enum skiff_status enrolment_leave(struct enrolment *e, int64_t deadline, struct skiff_error *err);
/* The same of a member that has failed: it is dead at once, and the reason ("has run out of
 * memory": what is said behind its name) is told to everybody. */
enum skiff_status enrolment_abandon(struct enrolment *e, const char *reason, int64_t deadline,
                                    struct skiff_error *err);
/* After node_stop and rpc_client_destroy, which ends its heartbeats; NULL is fine. */
void enrolment_destroy(struct enrolment *e);
size_t enrolment_list(struct enrolment *e, struct member *out, size_t room);

enum barrier_policy {
    BARRIER_REST, /* goes on with those that are left */
    BARRIER_FAIL, /* fails for all when one dies or leaves */
};

struct barrier {
    const char *name;   /* who gives the same name meets, as often as wanted; 63 bytes at most */
    enum net_role role; /* whom it is for; NET_NOBODY: everybody */
    const struct net_id *set; /* or only these; NULL: all of the role */
    size_t nset;
    enum barrier_policy policy;
};

/* Any thread but the network thread, one call at a time per member and name. Blocks until all have
 * come, or until the host is dead or says that we are. out_dropped (may be NULL): how many of the
 * set were dead or had left. */
enum skiff_status enrolment_barrier(struct enrolment *e, const struct barrier *barrier,
                                    int64_t deadline, uint32_t *out_dropped,
                                    struct skiff_error *err);

#endif
