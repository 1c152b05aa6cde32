/* The parameter server: one process's part of the parameters, served to trainers.
 *
 * A server is made from its server program and the plan of it (program/server_plan.h), both of the
 * split: a block per parameter slice (merge, decay, optimizer), the block of the learning rate, the
 * tables. The variables live in a scope, as anywhere; updates are run by executors over these
 * blocks, so that a server computes exactly what a local run would. Sparse tables that are keyed by
 * id (modulo, or without a declared size) keep a map from ids to rows (table/).
 *
 *     server_create(&options, &s, err)   variables are declared
 *     server_init(s, err)                the startup program; slices get the numbers that one
 *                                        machine would have given to these elements
 *     server_load(s, model, err)         init_server(model): slices of any saved model (saved.h)
 *     server_run(s, err)                 listens, serves; OK when the job is complete, PEER when it
 *                                        has failed (the error says who)
 *     server_stop(s)                     from any thread or signal handler: makes run return
 *
 * Threads: server_run's caller waits; requests run on shard threads; the net room has its own. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/log.h"
#include "executor/scope.h"
#include "net/membership.h"
#include "net/node.h"
#include "net/ps.h"
#include "program/program.h"
#include "program/server_plan.h"

struct server;

enum server_on_death {
    ON_DEATH_GO_ON,
    ON_DEATH_STOP
}; /* a trainer dies: the rest goes on / the job ends */

struct server_options {
    const struct skiff_program *main, *startup; /* of this server; must outlive it */
    const struct skiff_program *whole; /* before it was cut, or NULL: names of one-file models */
    const struct server_plan *plan;    /* of main; must outlive the server */
    const char *listen;                /* address to listen at; NULL: the plan's endpoint */
    const char *job, *secret;          /* NULL: "" */
    bool insecure;                     /* no secret is needed, wherever servers are */
    const char *transport;             /* as users write it (net/transport.h); NULL: tcp */
    struct inproc_hub *hub;            /* trainers are in this process; NULL: they are not */
    int shards;                        /* 0: 1 */
    /* Bytes for all tables of features: each gets an equal part, unless it has a memory_limit of
     * its own. 0: no limit. */
    size_t table_memory;
    int silence_ms; /* a peer is dead after this; 0: 10000 */
    int start_ms;   /* all trainers must have come by then; 0: 30 minutes */
    enum server_on_death on_death;
    /* What this server begins with, to be compared with what the others have; NULL: it is not.
     * Must outlive the server. */
    const struct ps_begin *start;
    struct skiff_scope *scope; /* whose variables to use; NULL: an own one */
    /* What happens, for the log: one line each, from any thread. May be NULL. */
    void (*say)(void *user, enum log_level level, const char *line);
    /* A trainer or server has joined, left or died; any thread. May be NULL. */
    void (*on_member)(void *user, const struct member *member);
    void *user;
};

/* The plan of a server program that comes without one: from a file, or changed since it was split.
 * The caller's. */
enum skiff_status server_plan_read(const struct skiff_program *main, const struct job_plan *job,
                                   int index, struct server_plan **out, struct skiff_error *err);

enum skiff_status server_create(const struct server_options *options, struct server **out,
                                struct skiff_error *err);
enum skiff_status server_init(struct server *s, struct skiff_error *err);
enum skiff_status server_load(struct server *s, const char *path, struct skiff_error *err);
enum skiff_status server_run(struct server *s, struct skiff_error *err);
void server_stop(struct server *s);
void server_destroy(struct server *s); /* NULL is fine */

/* What it counts, from server_create to server_destroy: server_steps and so on, what its network
 * does (net_..., rpc_...). */
struct stats *server_stats(const struct server *s);

#endif
