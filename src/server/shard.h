/* A shard: slices that one thread serves under one lock, with their sync step and what waits for
 * it. Only files of server/ include this. */
#ifndef SERVER_SHARD_H
#define SERVER_SHARD_H

#include <pthread.h>

#include "base/map.h"
#include "net/ps.h"
#include "net/rpc.h"

struct param_slice;
struct server;

/* A trainer that has ended the step; its reply is deferred until the others have, too. */
struct deferred_reply {
    struct rpc_request *request;
    uint32_t trainer;
    int64_t since;
    struct ps_exchange x; /* lies in the request's body */
};

/* A pull of rows that waits for a step to be done. */
struct waiting_pull {
    struct rpc_request *request;
    uint32_t trainer;
    uint64_t after;
};

/* A push that waits until a snapshot is tagged. */
struct fenced_push {
    struct rpc_request *request;
    struct ps_exchange x;
};

struct shard_quiesce; /* quiesce.c */

struct server_shard {
    pthread_mutex_t lock;
    struct server *server;
    int index;
    struct param_slice **slices;
    int nslices;
    uint64_t step;          /* sync: steps done */
    bool *ended, *gone;     /* sync, by trainer: has ended the running step; has no more data */
    uint64_t *incarnations; /* by trainer: incarnation of the process that sent last */
    uint64_t *done;         /* by trainer: its steps that are done */
    uint64_t *heard; /* GEO, by trainer: incarnation of the process that pulled last; 0: none */
    struct waiting_pull *waiting;
    int nwaiting, waiting_cap;
    struct deferred_reply *deferred_replies;
    int ndeferred_replies;
    int64_t *rows; /* scratch */
    size_t rows_cap;
    struct ps_piece *pieces; /* scratch of replies */
    uint32_t pieces_cap;
    struct id_map map; /* scratch of merges */
    struct shard_quiesce *quiesce;
};

#endif
