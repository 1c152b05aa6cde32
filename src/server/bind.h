/* Variables by number, agreed when a session opens (bind.c). Only files of server/ include this. */
#ifndef SERVER_BIND_H
#define SERVER_BIND_H

#include "net/ps.h"

struct param_slice;
struct rpc_request;
struct server;

/* A variable by its number (PS_BIND): a gradient, a counter, a parameter. */
struct bound_var {
    const char *name;
    struct param_slice *slice;  /* NULL: of the learning rate */
    struct skiff_tensor *value; /* of counters, and of what is pulled; NULL: rows by id only */
    uint32_t use;               /* of enum ps_use */
    int shard;
    bool counter;
    bool delta; /* a push is added */
};

void bind_all(struct server *s); /* initial values are there */
/* The variable, if it has this number, this use, and belongs to this shard (-1: to any). */
enum skiff_status bound_get(const struct server *s, uint32_t number, uint32_t use, int shard,
                            const struct bound_var **out, struct skiff_error *err);
void on_bind(void *self, struct rpc_request *q);

#endif
