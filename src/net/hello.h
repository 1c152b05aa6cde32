/* Hello: how two processes tell each other who they are, once the transport has found that both
 * have the job's secret (greeting.h), and before anything else passes. Only the messages;
 * node_hello.c sends them.
 *
 *   HELLO    client -> server   client's name, job's name
 *   WELCOME  server -> client   server's name
 *   REFUSE   either way         why not
 *
 * All carry the client's tag, a random number, as sequence number, so that late ones of an older
 * hello are told apart. In a job without a secret anybody can come so far: a refusal then names
 * nobody. Threads: plain functions; one user at a time per struct. */
#ifndef NET_HELLO_H
#define NET_HELLO_H

#include "net/wire.h"

#define HELLO_NAME 128

/* One side: who it says it is. */
struct hello_side {
    struct net_id id;
    uint64_t incarnation;
    char name[HELLO_NAME]; /* for messages: "worker 0 (host1, process 4711)" */
};

struct hello_self {
    struct hello_side side;
    uint64_t job;
    char job_name[HELLO_NAME];
    bool open; /* the job has no secret */
};

/* One hello that is under way. */
struct hello {
    uint64_t tag;
    struct hello_side peer;
};

/* Names that are too long are cut. */
void hello_self_init(struct hello_self *self, const struct hello_side *side, const char *job,
                     bool open);

/* Client: starts anew. */
void hello_start(struct hello *h);
/* Client: the body of HELLO, also once more, because no answer came. */
enum skiff_status hello_say(const struct hello_self *self, struct blob **out_body,
                            struct skiff_error *err);
/* Server: reads a HELLO. On failure (another job, nonsense) h is untouched and err is for the
 * client. */
enum skiff_status hello_read(const struct hello_self *self, const struct wire_head *head,
                             const struct blob *body, struct hello *h, struct skiff_error *err);
/* Server: the body of WELCOME. */
enum skiff_status hello_welcome(const struct hello_self *self, struct blob **out_body,
                                struct skiff_error *err);
/* Client: reads a WELCOME. */
enum skiff_status hello_accept(struct hello *h, const struct wire_head *head,
                               const struct blob *body, struct skiff_error *err);

#endif
