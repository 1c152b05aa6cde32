/* Declarations shared by node.c, node_link.c and node_hello.c. Everything here belongs to the
 * network thread, except what the lock guards and the atomic counters. */
#ifndef NET_NODE_PARTS_H
#define NET_NODE_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "net/assembly.h"
#include "net/node.h"

#define NODE_SERVICES 16
#define NODE_BUCKETS 256

#define SMALL_MESSAGE 4096u /* bytes of body: heartbeats, probes, errors */
#define SMALL_QUEUE 65536u

/* A message that waits for space in the transport. */
struct outgoing {
    struct outgoing *next;
    struct wire_head head; /* head.part: the next to send */
    struct blob *body;
};

struct out_queue {
    struct outgoing *first, **end;
    size_t count;
};

struct node_link {
    struct link link;       /* first */
    struct node_link *next; /* of the node's outgoing list, or of its bucket */
    transport_peer peer;
    struct net_id expected;
    struct node_task connect_task;
    struct out_queue small, large; /* small ones do not wait behind the parts of large ones */
    size_t queued;                 /* bytes of the large ones */
    int64_t transcript;            /* time of the last frame sent */
    struct assembly_set assemblies;
    /* outgoing links: the hello in progress */
    struct hello hello;
    bool hello_open, refused;
    int64_t hello_next, hello_wait;
    /* incoming links: tag of the hello that brought it up */
    uint64_t tag;
    bool dead; /* freed at the end of the loop's round */
};

/* Counters of a node: the rows of metrics/list.h from the first to the last of these. */
#define NODE_FIRST_COUNT METRIC_NET_FRAMES_IN
#define NODE_COUNTS (METRIC_NET_LINKS_DOWN - NODE_FIRST_COUNT + 1)

struct node {
    struct node_options options;
    struct hello_self self;
    struct transport *transport;
    struct {
        const struct node_service *calls;
        void *self;
    } service[NODE_SERVICES];
    size_t nservices;

    struct thread thread;
    pthread_mutex_t lock; /* guards tasks; a leaf */
    struct node_task *tasks, **tasks_end;
    atomic_bool has_tasks, stopping;

    struct node_link *outgoing;
    struct node_link *incoming[NODE_BUCKETS]; /* by transport peer */
    struct node_link *graveyard;
    size_t blocked; /* links with a queue */
    struct assembly_budget budget;
    int64_t next_care, last_log;
    uint64_t unlogged;
    struct metrics *own_metrics; /* NULL: they are the owner's */
    struct metric *counts[NODE_COUNTS];
    struct metrics_snapshot reported; /* counts that have been logged */
    int64_t reported_at;
};

void node_add(struct node *node, enum metric_id what, uint64_t n);
/* A line for the owner's log. */
void node_log(struct node *node, enum log_level level, const char *text);
/* Counts, and logs if the last line is a second old; `text` describes the event and the peer. */
void node_note(struct node *node, enum metric_id what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- node_link.c ---- */

struct node_link *link_create(struct node *node, bool outgoing);
void link_destroy(struct node_link *l);
struct node_link *link_find(struct node *node, transport_peer peer); /* either kind, or NULL */
void link_add_incoming(struct node *node, struct node_link *l);
void link_set_up(struct node_link *l);
void link_set_down(struct node_link *l);
/* Removes an incoming link; its memory is freed later. */
void link_bury(struct node_link *l);
void link_clear_graveyard(struct node *node);
/* Sends queued messages as far as there is space. */
void link_pump(struct node_link *l);
/* A frame of the hello, outside of any queue. False: no space. */
bool link_send_raw(struct node *node, transport_peer peer, enum wire_type type, uint8_t flags,
                   uint64_t tag, struct blob *body);
/* REFUSE with a reason. */
void link_send_refusal(struct node *node, transport_peer peer, uint64_t tag,
                       const struct skiff_error *reason);

/* ---- node_hello.c ---- */

/* The frames HELLO, WELCOME, REFUSE, WHO. l is NULL before a hello. */
void hello_frame(struct node *node, transport_peer peer, struct node_link *l,
                 const struct wire_head *head, struct blob *body);
/* An outgoing link is down, or believed to be: sends hello again. */
void hello_restart(struct node_link *l);
/* A frame of another version came from peer. */
void hello_other_version(struct node *node, transport_peer peer, struct node_link *l,
                         uint16_t version);
/* Starts and repeats hellos; returns the time of the next action. */
int64_t hello_tick(struct node *node, int64_t now);

#endif
