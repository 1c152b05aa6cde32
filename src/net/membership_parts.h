/* Declarations shared by membership.c and enrolment.c. */
#ifndef NET_MEMBERSHIP_PARTS_H
#define NET_MEMBERSHIP_PARTS_H

#include <pthread.h>

#include "net/membership.h"

enum {
    METHOD_JOIN = RPC_METHOD_OWN,
    METHOD_BEAT,
    METHOD_LEAVE,
};

/* A member slot of the host. */
struct member_slot {
    struct member member;
    struct link *link; /* NULL: down, or the host itself */
    int64_t seen, lost_since;
    uint64_t epoch; /* of its last change */
    bool is_host;
};

struct membership {
    struct node *node;
    struct rpc_server *server;
    struct membership_options options;
    struct member_slot *member_slots; /* workers, then servers */
    size_t nslots;
    uint64_t epoch;
    int64_t last_tick;
    pthread_mutex_t lock; /* guards the members in the slots, for other threads; a leaf */
    pthread_cond_t changed;
};

/* ---- members on the wire ---- */

void member_write(struct wire_writer *w, const struct member *member);
void member_read(struct wire_reader *r, struct member *out);

#endif
