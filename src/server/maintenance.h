/* The table maintenance thread: commands on whole sparse tables (net/ps.h, PS_TABLE), one after the
 * other. Only files of server/ include this. */
#ifndef SERVER_MAINTENANCE_H
#define SERVER_MAINTENANCE_H

#include "net/ps.h"

struct param_slice;
struct rpc_request;
struct server;

struct rpc_owner { /* a worker, and which of its processes */
    uint32_t worker;
    uint64_t incarnation;
};

void on_table(void *self, struct rpc_request *q);
void on_tables(void *self, struct rpc_request *q);
void on_metrics(void *self, struct rpc_request *q);
/* The thread runs only if there are sparse tables. */
enum skiff_status maintenance_start(struct server *s, struct skiff_error *err);
/* Ends the running command and fails those that wait; the handlers have ended. */
void maintenance_stop(struct server *s, const struct skiff_error *reason);
/* A PUT_PART of a load: it is kept until its COMMIT. */
void maintenance_keep_part(struct server *s, struct rpc_request *q);
void maintenance_review(struct server *s); /* members have changed */
/* STATE: the server ends. On the thread itself. */
enum skiff_status maintenance_check_stop(struct server *s, struct skiff_error *err);
/* The worker whose load is in progress here, NULL: none. staging_review is called when it has
 * gone. */
void maintenance_note_loading(struct server *s, const struct rpc_owner *owner);
/* For any hash-backed table. */
void maintenance_table_state(struct server *s, struct param_slice *u, struct ps_table_state *out);

#endif
