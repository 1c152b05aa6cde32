/* Node: one process's endpoint in the job's network: a transport, and the network thread that alone
 * uses it. It brings links up by hello (hello.h) and keeps them up, sends and receives frames,
 * splits long messages into parts and joins them again. rpc is a service on top of it.
 *
 * A link connects a node with another one. An outgoing link exists from node_connect on, goes up
 * when both sides have proven themselves, and comes up again by itself after a break. An incoming
 * one exists while it is up. Unauthenticated peers - no hello, another job, another secret, invalid
 * bytes - never become links; they are counted, and reported to the owner once a second at most.
 *
 * Threads: "network thread" marks functions that only services call, from their own callbacks; the
 * rest may be called by any thread. Callbacks run on the network thread and must not block. */
#ifndef NET_NODE_H
#define NET_NODE_H

#include "base/log.h"
#include "metrics/metrics.h"
#include "net/hello.h"
#include "net/transport.h"
#include "net/wire.h"

struct node;

struct node_options {
    const struct transport_kind *kind;
    struct transport_options transport; /* key and body_max are set by the node */
    struct net_id id;
    uint64_t incarnation;     /* 0: the time of the start, so that a later one is larger */
    const char *name;         /* for messages; NULL: "worker 0 (host, process 4711)" */
    const char *job, *secret; /* NULL: "" */
    size_t part_bytes;        /* longer messages are split; 0: 8 MB */
    uint64_t message_max;     /* longest message accepted; 0: 64 GB */
    size_t assembly_bytes;    /* for unfinished messages; 0: 16 GB */
    size_t queue_bytes;       /* waiting for one link; 0: 256 MB */
    int ping_ms;              /* silence on a link before a PING; 0: 1000 */
    /* registry of its metrics and its services'; NULL: a registry of its own */
    struct metrics *metrics;
    /* Lines for the owner's log, such as unauthenticated peers: one at a time, once a second at
     * most, from the network thread. May be NULL. */
    void (*on_log)(void *user, enum log_level level, const char *line);
    void *user;
};

/* Services read it; only the node writes, except `user`. */
struct link {
    struct node *node;
    struct hello_side peer; /* valid since the link was first up */
    /* outgoing links: the other end; incoming ones: their origin, as "10.0.0.7:41234, encrypted" */
    char address[ADDRESS_TEXT + 64];
    bool outgoing, up;
    int64_t heard; /* time of the last frame */
    void *user;    /* the service's */
};

struct node_service {
    uint32_t types; /* 1 << type for every frame type that it accepts */
    /* May an incoming peer have a link? The reason of a refusal is sent to it. May be NULL. */
    enum skiff_status (*admit)(void *self, const struct hello_side *peer, struct skiff_error *err);
    /* Each may be NULL. After link_down of an incoming link the pointer is no longer valid. */
    void (*link_up)(void *self, struct link *link);
    void (*link_down)(void *self, struct link *link);
    /* The other side of an outgoing link refuses this process, permanently. */
    void (*link_refused)(void *self, struct link *link, const struct skiff_error *reason);
    /* A complete message of a link that is up. body (NULL when empty) is borrowed: ref it to keep
     * it. */
    void (*frame)(void *self, struct link *link, const struct wire_head *head, struct blob *body);
    /* Called often; returns the time by which it must be called again. */
    int64_t (*tick)(void *self, int64_t now);
};

/* Work for the network thread; lies in the poster's memory until it has run. */
struct node_task {
    struct node_task *next;
    void (*run)(struct node_task *task);
};

/* Settings that the processes of a job share, and the owner of this one's node. */
struct node_owner {
    const char *job, *secret; /* NULL: "" */
    bool insecure;            /* no secret is needed, wherever the servers run */
    const char *transport;    /* as users write it (transport_choose); NULL: tcp */
    struct inproc_hub *hub;   /* instead of a transport: peers inside this process; NULL: none */
    struct metrics *metrics;  /* NULL: the node has its own */
    void (*on_log)(void *user, enum log_level level, const char *line);
    void *user;
};

/* Before a job is joined: servers that other machines can reach need a secret. May look up names.
 */
enum skiff_status node_check_secret(const struct node_owner *owner, const char *const *servers,
                                    int n, struct skiff_error *err);
/* node_create for servers, workers and the doctor. */
enum skiff_status node_open(const struct node_owner *owner, struct net_id id, const char *name,
                            struct node **out, struct skiff_error *err);
/* Opens the transport; the network thread does not run yet. On failure nothing is left open. */
enum skiff_status node_create(const struct node_options *options, struct node **out,
                              struct skiff_error *err);
/* Before node_start, or on the network thread. The service and self must outlive node_stop. */
void node_attach(struct node *node, const struct node_service *service, void *self);
/* Before node_start; may look up a name. out_bound: ADDRESS_TEXT bytes or NULL. */
enum skiff_status node_listen(struct node *node, const char *address, char *out_bound,
                              struct skiff_error *err);
enum skiff_status node_start(struct node *node, struct skiff_error *err);
/* Sends BYE on all links, joins the network thread, closes the transport (linger_ms at most). Tasks
 * posted before have run; none may be posted later. Services get no link_down from it. */
void node_stop(struct node *node);
void node_destroy(struct node *node); /* after node_stop, or never started; NULL is a no-op */

/* A link that belongs to the node and lives until node_destroy; `user` is set before any callback.
 * The other side must turn out to be `expected`, if its role is not NET_NOBODY. Does not block. */
enum skiff_status node_connect(struct node *node, const char *address, struct net_id expected,
                               void *user, struct link **out, struct skiff_error *err);

void node_post(struct node *node, struct node_task *task);
/* Runs call(arg) on the network thread and waits for it; directly when the node does not run. Not
 * for the network thread itself. */
void node_run(struct node *node, void (*call)(void *arg), void *arg);

const struct hello_side *node_self(const struct node *node);

/* Network thread. Sends a message on a link that is up; type, flags, method, sequence, ack and key
 * are taken from head, body may be NULL; the node takes a reference of its own. False: the link is
 * down, or its queue is full. True does not guarantee delivery. */
bool node_send(struct link *link, const struct wire_head *head, struct blob *body);
/* Network thread. Bytes queued for this link here and in the transport. */
size_t node_backlog(const struct link *link);
/* Network thread. "connected", "no connection after 12 tries", "waiting for hello" ... */
void node_describe(const struct link *link, char *out, size_t capacity);
/* Network thread. The process at the other end of an outgoing link has certainly ended: its machine
 * answers that no process listens there any more. */
bool node_has_ended(const struct link *link);
/* Network thread. Ends an incoming link; link_down is called. */
void node_drop(struct link *link);
/* Network thread. An incoming link's other side has certainly gone: nothing can be sent to it. */
bool node_is_gone(struct link *link);

/* Counters since the start: net_frames_in and so on (node_parts.h lists them). */
struct metrics *node_metrics(const struct node *node);

/* The transport, for tests that cut links (transport.h, fault_cut). */
struct transport *node_transport(struct node *node);

#endif
