/* A look at the servers of a job that runs, as nobody: with the job's secret, but no member, so
 * that nobody waits for the visitor and nobody misses him. */
#ifndef CLI_VISIT_H
#define CLI_VISIT_H

#include "base/log.h"
#include "net/address.h"
#include "net/rpc.h"

struct visitor {
    const char *name;                                                /* "skiff doctor" */
    const char *job, *secret;                                        /* of the job; "" */
    const char *transport;                                           /* "": the usual one */
    int timeout_ms;                                                  /* per server */
    void (*say)(void *user, enum log_level level, const char *line); /* may be NULL */
    void *user;
};

struct visit {
    struct node *node;
    struct rpc_client *client;
    struct rpc_peer *peer;
    int64_t deadline;
};

/* Is on its way to the server; also after a failure visit_close is called. */
enum skiff_status visit_open(struct visit *v, const struct visitor *who, const char *endpoint,
                             int index, struct skiff_error *err);
void visit_close(struct visit *v);
/* A question without a body. The caller's reference. */
enum skiff_status visit_ask(struct visit *v, uint32_t method, const char *what, struct blob **out,
                            struct skiff_error *err);

/* Does anybody listen there? 0: yes; else errno (ETIMEDOUT when nobody answered). */
int visit_reach(const struct address *a, int timeout_ms);
/* Role, job and secret of a process that runs, into our environment: its owner alone can read them.
 */
enum skiff_status visit_environment(int pid, struct skiff_error *err);

#endif
