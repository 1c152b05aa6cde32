/* Everything of one staged load, tables and dense parts; on the maintenance thread. Only files of
 * server/ include this. */
#ifndef SERVER_LOAD_STAGING_H
#define SERVER_LOAD_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct rpc_request;
struct server;

/* q's sender begins a load. */
enum skiff_status staging_begin(struct server *s, const struct rpc_request *q, uint64_t token,
                                struct skiff_error *err);
/* q is a PUT_PART with a token. */
enum skiff_status staging_keep(struct server *s, const struct rpc_request *q,
                               struct skiff_error *err);
bool staging_is(const struct server *s, uint64_t token);
enum skiff_status staging_need(struct server *s, uint64_t token, struct skiff_error *err);
enum skiff_status staging_take(struct server *s, struct skiff_error *err);
/* Server 0: was this load taken over? If not, it never will be: the server that asks drops its
 * part. */
bool staging_counts(struct server *s, uint64_t token);
/* Has the loading worker gone? Then the load is taken over or dropped. */
enum skiff_status staging_review(struct server *s, struct skiff_error *err);
/* Called before q, an operation on all rows. A worker other than the loading one saves or shrinks
 * only after the loading one has gone, which this server may not have heard of yet. */
enum skiff_status staging_yield(struct server *s, const struct rpc_request *q,
                                struct skiff_error *err);
void staging_drop(struct server *s);

#endif
