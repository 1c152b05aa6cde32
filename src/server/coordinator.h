/* Server 0: the agreed start, the running epoch, who saves (coordinator.c). The reduction state's
 * lock is held, but for the handlers. Only files of server/ include this. */
#ifndef SERVER_COORDINATOR_H
#define SERVER_COORDINATOR_H

#include "net/ps.h"
#include "net/rpc.h"

struct coordinator;
struct server;

struct coordinator *coordinator_create(const struct server *s);
void coordinator_destroy(struct coordinator *b); /* NULL is a no-op */
void coordinator_own_start(struct server *s);    /* server 0's own report for the start */
/* Do reductions wait for this worker? */
bool coordinator_awaits(struct server *s, int worker);
enum skiff_status coordinator_check_waiter(struct server *s, const struct rpc_request *q,
                                           const char *tag, struct skiff_error *err);
void coordinator_arrival(struct server *s); /* a worker has joined a reduction */
void coordinator_reduction_over(struct server *s, const char *tag);
void coordinator_review(struct server *s);
void coordinator_end(struct server *s, const struct skiff_error *reason);
void on_begin(void *self, struct rpc_request *q);
void on_saving(void *self, struct rpc_request *q);
void on_result(void *self, struct rpc_request *q);
void coordinator_add_waits(struct server *s, struct ps_status *out);
/* Is it a worker that has files to train? */
bool coordinator_has_files(const struct server *s, int worker);

#endif
