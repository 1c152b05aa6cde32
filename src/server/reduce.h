/* Server 0: reductions and messages between workers (reduce.c). Only files of server/ include
 * this. */
#ifndef SERVER_REDUCE_H
#define SERVER_REDUCE_H

#include <pthread.h>

#include "net/ps.h"
#include "net/rpc.h"

struct reduce_state;
struct server;

struct reduce_state *reduce_create(struct server *s);
void reduce_destroy(struct reduce_state *m);
void on_reduce(void *self, struct rpc_request *q);
void on_message_put(void *self, struct rpc_request *q);
void on_message_take(void *self, struct rpc_request *q);
void reduce_review(struct server *s);
void reduce_add_waits(struct server *s, struct ps_status *out);
void reduce_end(struct server *s, const struct skiff_error *reason);
pthread_mutex_t *reduce_lock(struct server *s);
bool reduce_has_ended(const struct server *s); /* has a reduction succeeded? */

#endif
