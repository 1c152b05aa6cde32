/* Requests and replies between the processes of a job, over node.h.
 *
 * Exactly once: every request carries (sender, incarnation, sequence number). The client asks again
 * (PROBE) when no reply arrives, with growing pauses; the server knows which requests it has begun
 * and keeps the reply until the client's `ack` confirms it. So a request that is answered was
 * carried out once, however often its frames were lost, duplicated, delayed or reordered. A request
 * that fails by its deadline, or because the server went away, was carried out once or not at all.
 *
 * Order: requests that are outstanding at the same time may be carried out in any order. A caller
 * that needs an order waits for the first reply before it sends the second request.
 *
 * Server: every request has a key; key modulo the number of shards is the shard, and a shard is
 * owned by one thread, which carries out its requests one after the other: data that belong to a
 * shard need no lock. Queues are bounded: an overloaded server replies BUSY, and the client tries
 * again later. */
#ifndef NET_RPC_H
#define NET_RPC_H

#include "net/node.h"

enum rpc_flags {
    RPC_READ = 1, /* changes nothing: may be carried out again, and its reply is not kept */
    RPC_ANY_INCARNATION = 2, /* may be carried out by a server that has restarted in between */
};

#define RPC_METHOD_PING 0u         /* every server answers it, with an empty reply */
#define RPC_METHOD_OWN 0xf0000000u /* from here on: methods of this module */
#define RPC_OUTSTANDING_MAX 32768u /* requests of one client to one server */

/* ---- client ---- */

struct rpc_client;
struct rpc_peer; /* a server, as a client knows it */
struct rpc_call; /* a request in flight */

struct rpc_client_options {
    int retry_ms, retry_max_ms; /* first and longest pause before a probe; 0: 200, 4000 */
};

/* Before node_start. The node must outlive the client. */
struct rpc_client *rpc_client_create(struct node *node, const struct rpc_client_options *options);
/* After node_stop. Outstanding calls fail with STATE; their waiters and callbacks are notified from
 * here. NULL is a no-op. */
void rpc_client_destroy(struct rpc_client *client);

/* Any thread. Does not block; the peer belongs to the client. expected: the process that must
 * answer there. */
enum skiff_status rpc_connect(struct rpc_client *client, const char *address,
                              struct net_id expected, struct rpc_peer **out,
                              struct skiff_error *err);

/* The node's link to it; node.h says which threads may read it. */
const struct link *rpc_peer_link(const struct rpc_peer *peer);

struct rpc_ask {
    const char *what; /* for messages: "push of fc_0.w_0"; must outlive the call */
    uint32_t method;
    uint64_t key;
    unsigned flags;    /* of enum rpc_flags */
    struct blob *body; /* may be NULL; the call takes a reference of its own */
    int64_t deadline;  /* of clock.h; CLOCK_NEVER is allowed only for calls that are sure to end */
};

/* On success reply (may be NULL: empty) is borrowed; on failure err names the server waited for.
 * Runs on the network thread and must not block. */
typedef void (*rpc_done)(void *arg, enum skiff_status status, struct blob *reply,
                         const struct skiff_error *err);

/* Any thread; none of these blocks, except rpc_wait. */
enum skiff_status rpc_start(struct rpc_peer *peer, const struct rpc_ask *ask, struct rpc_call **out,
                            struct skiff_error *err);
/* Blocks until the call has ended, by its deadline at the latest. Frees the call. out_reply (may be
 * NULL) gets a reference for the caller, NULL for an empty reply. */
enum skiff_status rpc_wait(struct rpc_call *call, struct blob **out_reply, struct skiff_error *err);
bool rpc_is_done(struct rpc_call *call);
/* Instead of start and wait: done is called exactly once if this returns OK. */
enum skiff_status rpc_then(struct rpc_peer *peer, const struct rpc_ask *ask, rpc_done done,
                           void *arg, struct skiff_error *err);
/* start and wait */
enum skiff_status rpc_ask(struct rpc_peer *peer, const struct rpc_ask *ask, struct blob **out_reply,
                          struct skiff_error *err);
/* Waits until the server sends any answer. */
enum skiff_status rpc_await(struct rpc_peer *peer, int64_t deadline, struct skiff_error *err);

/* Any thread. The server is dead (by the membership): outstanding calls fail with this reason now,
 * later ones at once, until another process answers at its address. */
void rpc_give_up(struct rpc_peer *peer, const struct skiff_error *reason);

/* ---- server ---- */

struct rpc_server;

struct rpc_server_options {
    int shards;         /* threads; 0: 1 */
    size_t queue_bytes; /* of requests queued for all shards together; 0: 1 GB */
    size_t keep_bytes;  /* of kept replies; the oldest are dropped first; 0: 1 GB */
};

/* The argument of a handler. It belongs to the handler until that calls rpc_reply or rpc_fail,
 * exactly once, now or later, from any thread; afterwards it is invalid. */
struct rpc_request {
    struct rpc_server *server;
    struct link *link; /* only for handlers on the network thread, only during the call */
    struct net_id sender;
    uint64_t incarnation;
    uint32_t method;
    uint64_t key;
    int shard;
    struct blob *body; /* NULL: empty; belongs to the request */
};

typedef void (*rpc_handler)(void *self, struct rpc_request *request);

enum rpc_where {
    /* on the thread of the key's shard; may compute, must not wait for other requests */
    RPC_ON_SHARD,
    RPC_ON_NETWORK, /* on the network thread; must not block */
};

/* Before node_start. Starts the shards' threads. */
enum skiff_status rpc_server_create(struct node *node, const struct rpc_server_options *options,
                                    struct rpc_server **out, struct skiff_error *err);
/* Before node_start. */
void rpc_server_handle(struct rpc_server *server, uint32_t method, enum rpc_where where,
                       rpc_handler handler, void *self);
/* Before node_stop: accepts no more requests, ends those that are queued, joins the shards.
 * Deferred replies must be sent between this and node_stop. */
void rpc_server_stop(struct rpc_server *server);
void rpc_server_destroy(struct rpc_server *server); /* after node_stop; NULL is a no-op */

/* Any thread. Takes over the caller's reference to reply (NULL: empty). */
void rpc_reply(struct rpc_request *request, struct blob *reply);
void rpc_fail(struct rpc_request *request, const struct skiff_error *reason);

/* Network thread. From now on nothing from this incarnation is accepted; it gets the reason. */
void rpc_server_fence(struct rpc_server *server, struct net_id id, uint64_t incarnation,
                      const struct skiff_error *reason);

#endif
