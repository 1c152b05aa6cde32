/* A read-only observer of the servers of a running job: it has the job's secret but is no member,
 * so that no process waits for it or reports it missing. */
#ifndef FLEET_OBSERVER_H
#define FLEET_OBSERVER_H

#include "base/log.h"
#include "net/address.h"
#include "net/rpc.h"

struct observer_identity {
    const char *name;                                                   /* "skiff doctor" */
    const char *job, *secret;                                           /* of the job; "" */
    const char *transport;                                              /* "": the usual one */
    int timeout_ms;                                                     /* per server */
    void (*on_log)(void *user, enum log_level level, const char *line); /* may be NULL */
    void *user;
};

struct observer {
    struct node *node;
    struct rpc_client *client;
    struct rpc_peer *peer;
    int64_t deadline;
};

/* Is on its way to the server; also after a failure observer_close is called. */
enum skiff_status observer_open(struct observer *v, const struct observer_identity *who,
                                const char *endpoint, int index, struct skiff_error *err);
void observer_close(struct observer *v);
/* A question without a body. The caller's reference. */
enum skiff_status observer_ask(struct observer *v, uint32_t method, const char *what,
                               struct blob **out, struct skiff_error *err);

/* Does a process listen there? 0: yes; else errno (ETIMEDOUT: no answer). */
int observer_reach(const struct address *a, int timeout_ms);
/* Role, job and secret of a process that runs, into our environment: its owner alone can read them.
 */
enum skiff_status observer_environment(int pid, struct skiff_error *err);

#endif
