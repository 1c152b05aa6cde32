/* Hello: the first frames of a link between two processes, after the transport's handshake has
 * shown that both have the job's secret (handshake.h): each side sends its identity. Only the
 * messages; node_hello.c sends them.
 *
 *   HELLO    client -> server   client's name, job's name
 *   WELCOME  server -> client   server's name
 *   REFUSE   either way         the reason
 *
 * All carry the client's tag, a random number, as sequence number, so that late frames of an older
 * hello are recognized. In a job without a secret any process can get this far: a refusal then
 * contains no names. Threads: plain functions; one user at a time per struct. */
#ifndef NET_HELLO_H
#define NET_HELLO_H

#include "net/wire.h"

#define HELLO_NAME 128

/* The identity that one side claims. */
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

/* A hello in progress. */
struct hello {
    uint64_t tag;
    struct hello_side peer;
};

/* Truncates names that are too long. */
void hello_self_init(struct hello_self *self, const struct hello_side *side, const char *job,
                     bool open);

/* Client: starts again. */
void hello_start(struct hello *h);
/* Client: the body of HELLO; also for repeated ones, when no answer has come. */
enum skiff_status hello_write(const struct hello_self *self, struct blob **out_body,
                              struct skiff_error *err);
/* Server: reads a HELLO. On failure (another job, invalid bytes) h is untouched and err is for the
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
