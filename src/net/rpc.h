/* Requests and replies between the processes of a job, over node.h.
 *
 * Exactly once: every request carries (sender, incarnation, sequence number). The client asks again
 * (PROBE) when no reply comes, with growing pauses; the server knows what it has begun and keeps
 * the reply until the client's `ack` says that it has arrived. So a request that is answered was
 * carried out once, however often its frames were lost, doubled, late or out of order. A request
 * that fails by its deadline, or because the server went away, was carried out once or not at all.
 *
 * Order: requests that are outstanding at the same time may be carried out in any order. Who needs
 * an order waits for the first reply before the second request.
 *
 * Server: every request has a key; key modulo the number of shards is the shard, and a shard is
 * owned by one thread, which carries out its requests one after the other: what belongs to a shard
 * needs no lock. Queues are bounded: a server that has too much to do says BUSY, and the client
 * comes back later. */
#ifndef NET_RPC_H
#define NET_RPC_H

#include "net/node.h"

enum rpc_flags {
    RPC_READ = 1,     /* changes nothing: may be carried out again, and its reply is not kept */
    RPC_ANY_LIFE = 2, /* may be carried out by a server that has restarted meanwhile */
};

#define RPC_METHOD_PING 0u         /* every server answers it, with nothing */
#define RPC_METHOD_OWN 0xf0000000u /* from here on: methods of this room */
#define RPC_OUTSTANDING_MAX 32768u /* requests of one client to one server */

/* ---- client ---- */

struct rpc_client;
struct rpc_peer; /* a server, as a client knows it */
struct rpc_call; /* a request under way */

struct rpc_client_options {
    int retry_ms, retry_max_ms; /* first and longest pause before asking again; 0: 200, 4000 */
};

/* Before node_start. The node must outlive the client. */
struct rpc_client *rpc_client_create(struct node *node, const struct rpc_client_options *options);
/* After node_stop. Whatever is still outstanding fails with STATE; its waiters and callbacks are
 * told from here. NULL is fine. */
void rpc_client_destroy(struct rpc_client *client);

/* Any thread. Does not block; the peer belongs to the client. expected: whom we must find there. */
enum skiff_status rpc_connect(struct rpc_client *client, const char *address,
                              struct net_id expected, struct rpc_peer **out,
                              struct skiff_error *err);

/* What the node has with it; see there who may read it. */
const struct link *rpc_peer_link(const struct rpc_peer *peer);

struct rpc_ask {
    const char *what; /* for messages: "push of fc_0.w_0"; must outlive the call */
    uint32_t method;
    uint64_t key;
    unsigned flags;    /* of enum rpc_flags */
    struct blob *body; /* may be NULL; the call takes a reference of its own */
    int64_t deadline;  /* of clock.h; CLOCK_NEVER is allowed only for what is sure to end */
};

/* On success reply (may be NULL: empty) is borrowed; on failure err says whom it waited for. Runs
 * on the network thread and must not block. */
typedef void (*rpc_done)(void *arg, enum skiff_status status, struct blob *reply,
                         const struct skiff_error *err);

/* Any thread; none of these blocks, except rpc_wait. */
enum skiff_status rpc_start(struct rpc_peer *peer, const struct rpc_ask *ask, struct rpc_call **out,
                            struct skiff_error *err);
/* Blocks until the call has ended, which is by its deadline at the latest. Ends the life of the
 * call. out_reply (may be NULL) gets the caller's reference, NULL for an empty reply. */
enum skiff_status rpc_wait(struct rpc_call *call, struct blob **out_reply, struct skiff_error *err);
bool rpc_is_done(struct rpc_call *call);
/* Instead of start and wait: done is called once, always, when this returns OK. */
enum skiff_status rpc_then(struct rpc_peer *peer, const struct rpc_ask *ask, rpc_done done,
                           void *arg, struct skiff_error *err);
/* start and wait */
enum skiff_status rpc_ask(struct rpc_peer *peer, const struct rpc_ask *ask, struct blob **out_reply,
                          struct skiff_error *err);
/* Waits until the server answers at all. */
enum skiff_status rpc_await(struct rpc_peer *peer, int64_t deadline, struct skiff_error *err);

/* Any thread. The server is dead (membership says so): what is outstanding fails with this reason
 * now, what comes later fails at once, until another process answers at its address. */
void rpc_give_up(struct rpc_peer *peer, const struct skiff_error *reason);

/* ---- server ---- */

struct rpc_server;

struct rpc_server_options {
    int shards;         /* threads; 0: 1 */
    size_t queue_bytes; /* of requests that wait for a shard, all together; 0: 1 GB */
    size_t keep_bytes;  /* of replies that are kept; the oldest go first; 0: 1 GB */
};

/* What a handler gets. It is the handler's until it calls rpc_reply or rpc_fail, which it does
 * exactly once, now or later, from any thread; afterwards it is not valid any more. */
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
    RPC_ON_SHARD,   /* on the thread of the key's shard; may compute, must not wait for others */
    RPC_ON_NETWORK, /* on the network thread; must not block */
};

/* Before node_start. Starts the shards' threads. */
enum skiff_status rpc_server_create(struct node *node, const struct rpc_server_options *options,
                                    struct rpc_server **out, struct skiff_error *err);
/* Before node_start. */
void rpc_server_handle(struct rpc_server *server, uint32_t method, enum rpc_where where,
                       rpc_handler handler, void *self);
/* Before node_stop: takes no more requests, ends those that are queued, joins the shards. Requests
 * that handlers have kept for later must be answered between this and node_stop. */
void rpc_server_stop(struct rpc_server *server);
void rpc_server_destroy(struct rpc_server *server); /* after node_stop; NULL is fine */

/* Any thread. Takes over the caller's reference to reply (NULL: empty). */
void rpc_reply(struct rpc_request *request, struct blob *reply);
void rpc_fail(struct rpc_request *request, const struct skiff_error *reason);

/* Network thread. From now on nothing of this incarnation is taken any more; it is told why. */
void rpc_server_fence(struct rpc_server *server, struct net_id id, uint64_t incarnation,
                      const struct skiff_error *reason);

#endif
