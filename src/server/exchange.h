/* Pushes in, values out: handlers of exchanges, pulls and parts (exchange.c, pull.c). Only files
 * of server/ include this. */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include "net/ps.h"
#include "net/rpc.h"

struct param_slice;
struct server;
struct server_shard;

/* ---- exchange.c ---- */

void on_exchange(void *self, struct rpc_request *q);
/* A member has left or died: steps that waited for it may be finished. Any thread. */
void exchange_review(struct server *s);
void exchange_end(struct server *s, const struct skiff_error *reason); /* fails deferred replies */
/* The shard's lock is held: another process than before sends for the trainer. */
void exchange_new_incarnation(struct server_shard *h, const struct rpc_request *q,
                              uint32_t trainer);

/* The shard's lock is held: carries the push out even if a fence is up. */
void exchange_now(struct server_shard *h, struct rpc_request *q, const struct ps_exchange *x);

/* Adds the steps that wait for trainers. */
void exchange_add_waits(struct server *s, struct ps_status *out);

/* ---- pull.c ---- */

void on_describe(void *self, struct rpc_request *q);
void on_clock(void *self, struct rpc_request *q);
void on_pull_rows(void *self, struct rpc_request *q);
void on_prefetch(void *self, struct rpc_request *q);
/* The shard's lock is held: answers the pulls whose steps are done now; fails those of a trainer's
 * earlier processes; fails all. */
void pulls_review(struct server_shard *h);
void pulls_forget(struct server_shard *h, uint32_t trainer, uint64_t incarnation);
void pulls_end(struct server_shard *h, const struct skiff_error *reason);
void on_pull_changed(void *self, struct rpc_request *q);
void on_pull_part(void *self, struct rpc_request *q);
void on_put_part(void *self, struct rpc_request *q);
/* Finds the slice that it is for; an error when it does not fit. */
enum skiff_status part_check(struct server *s, const struct ps_put *x, struct param_slice **out,
                             struct skiff_error *err);
/* The shard's lock is held; the part was checked. */
void part_put(struct server *s, struct param_slice *u, const struct ps_put *x);
void on_scan(void *self, struct rpc_request *q);
void on_save_table(void *self, struct rpc_request *q);
/* Answers q with a reply made by a writer, or with an error. */
void reply_written(struct server *s, struct rpc_request *q, struct wire_writer *w);

#endif
