/* Hello: how two processes prove to each other that they belong to one job, before anything else
 * passes between them. Only the messages; node.c sends them.
 *
 *   HELLO      client -> server   c (32 random bytes), client's name, job's name
 *   CHALLENGE  server -> client   s (32 random bytes), server's name, HMAC(key, "server" T)
 *   PROOF      client -> server   HMAC(key, "client" T)
 *   WELCOME    server -> client
 *
 * T is everything both have said: version, job, both ids and incarnations, c, s, both names. key is
 * derived from the job's secret and name. Neither side shows the secret, neither proof can be used
 * again (c and s are new each time) or sent back to its maker (the labels differ). All four frames
 * carry the first 8 bytes of c as sequence number, so late ones of an older hello are told apart.
 * Threads: plain functions; one user at a time per struct. */
#ifndef NET_HELLO_H
#define NET_HELLO_H

#include "base/secret.h"
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
    uint8_t key[SECRET_BYTES];
};

/* One hello that is under way. */
struct hello {
    uint8_t client_nonce[32], server_nonce[32];
    struct hello_side peer;
};

/* Names that are too long are cut. */
void hello_self_init(struct hello_self *self, const struct hello_side *side, const char *job,
                     const char *secret);
uint64_t hello_tag(const struct hello *h);

/* Client: starts anew. */
enum skiff_status hello_open(const struct hello_self *self, struct hello *h, struct blob **out_body,
                             struct skiff_error *err);
/* Client: the same HELLO once more, because no answer came. */
enum skiff_status hello_reopen(const struct hello_self *self, const struct hello *h,
                               struct blob **out_body, struct skiff_error *err);
/* Server: answers a HELLO. The same HELLO again gets the same answer; h is zeroed before the first.
 * On failure (another job, nonsense) h is untouched and err is for the client. */
enum skiff_status hello_challenge(const struct hello_self *self, const struct wire_head *head,
                                  const struct blob *body, struct hello *h, struct blob **out_body,
                                  struct skiff_error *err);
/* Client: checks the server's proof and makes its own. */
enum skiff_status hello_prove(const struct hello_self *self, struct hello *h,
                              const struct wire_head *head, const struct blob *body,
                              struct blob **out_body, struct skiff_error *err);
/* Server: checks the client's proof. */
enum skiff_status hello_check(const struct hello_self *self, const struct hello *h,
                              const struct wire_head *head, const struct blob *body,
                              struct skiff_error *err);

#endif
