/* Push fence: pushes are held back briefly, so that a snapshot of several servers has all of a push
 * or none (quiesce.c). Only files of server/ include this. */
#ifndef SERVER_QUIESCE_H
#define SERVER_QUIESCE_H

#include "net/ps.h"
#include "net/rpc.h"

struct server;
struct server_shard;
struct shard_quiesce;

struct shard_quiesce *shard_quiesce_create(int trainers);
void shard_quiesce_destroy(struct shard_quiesce *h); /* NULL is a no-op */
/* The shard's lock is held. */
void quiesce_note(struct server_shard *h,
                  const struct ps_exchange *x); /* the push is applied now */
void quiesce_forget(struct server_shard *h,
                    uint32_t trainer); /* another process sends for the trainer */
/* True: it waits, and the request and x belong to the shard. */
bool quiesce_takes(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x);
void quiesce_fail(struct server_shard *h, const struct skiff_error *reason);
/* All locks are held. Only one owner at a time: SKIFF_STATE while another one holds pushes. */
enum skiff_status quiesce_begin(struct server *s, const struct rpc_request *q,
                                const struct ps_snapshot *x, struct skiff_error *err);
/* Has q's sender held pushes until now, if that is needed? SKIFF_STATE: no. */
enum skiff_status quiesce_check(const struct server *s, const struct rpc_request *q,
                                struct skiff_error *err);
void quiesce_end_of(struct server *s, const struct rpc_request *q); /* if it is the sender's */
struct ps_applied *quiesce_list(struct server *s, uint32_t *out_n); /* the caller frees it */
/* Lifts a fence whose owner is gone or slow; returns when to check again. Any thread, no lock
 * held. */
int64_t quiesce_review(struct server *s);

#endif
