/* What membership.c, membership_barrier.c and enrolment.c share. */
#ifndef NET_MEMBERSHIP_PARTS_H
#define NET_MEMBERSHIP_PARTS_H

#include <pthread.h>

#include "net/membership.h"

enum {
    METHOD_JOIN = RPC_METHOD_OWN,
    METHOD_BEAT,
    METHOD_LEAVE,
    METHOD_BARRIER,
};

#define BARRIER_NAME 64

/* A member, as the host keeps it. */
struct seat {
    struct member member;
    struct link *link; /* NULL: down, or the host itself */
    int64_t seen, lost_since;
    uint64_t epoch; /* of its last change */
    bool is_host;
};

struct arrival {
    struct arrival *next;
    struct seat *seat;
    struct rpc_request *request;
    int64_t since, deadline;
};

struct barrier_room {
    struct barrier_room *next;
    char name[BARRIER_NAME];
    enum barrier_policy policy;
    struct seat **set;
    size_t nset;
    struct arrival *arrivals;
};

struct membership {
    struct node *node;
    struct rpc_server *server;
    struct membership_options options;
    struct seat *seats; /* workers, then servers */
    size_t nseats;
    uint64_t epoch;
    int64_t last_tick;
    struct barrier_room *rooms;
    pthread_mutex_t lock; /* guards the members in seats, for other threads; a leaf */
    pthread_cond_t changed;
};

struct seat *seat_find(struct membership *m, struct net_id id); /* NULL: the job has no such id */
/* "worker 2 (host, process 7), last heard of 3.2 s ago" */
void seat_describe(const struct seat *seat, int64_t now, char *out, size_t room);

/* ---- membership_barrier.c: network thread ---- */

void barrier_arrive(struct membership *m, struct rpc_request *request);
/* A member has changed: barriers may be complete or have failed. */
void barrier_review(struct membership *m);
/* Ends waits whose deadline has passed; gives the time of the next one. */
int64_t barrier_tick(struct membership *m, int64_t now);
void barrier_end_all(struct membership *m, const struct skiff_error *reason);

/* ---- members on the wire ---- */

void member_write(struct wire_writer *w, const struct member *member);
void member_read(struct wire_reader *r, struct member *out);

#endif
