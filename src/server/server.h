/* The parameter server: one process's part of the parameters, served to trainers.
 *
 * A server is created from its server program and the plan of it (program/server_plan.h), both of
 * the split: a block per parameter slice (merge, decay, optimizer), the block of the learning rate,
 * the tables. The variables live in a scope, as anywhere; updates are run by executors over these
 * blocks, so that a server computes exactly what a local run would. Hash-backed embeddings (modulo,
 * or without a declared size) keep a map from ids to rows (table/).
 *
 *     server_create(&options, &s, err)   declares variables
 *     server_init(s, err)                runs the startup program; slices get the numbers that a
 *                                        single machine would have given to these elements
 *     server_load(s, model, err)         init_server(model): slices of any saved model (saved.h)
 *     server_run(s, err)                 listens and serves; OK when the job is complete, PEER when
 *                                        it has failed (the error names the member)
 *     server_stop(s)                     from any thread or signal handler: makes run return
 *
 * Threads: server_run's caller waits; requests run on shard threads; the net module has its own. */
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
}; /* when a trainer dies, the others continue / the job ends */

struct server_options {
    const struct skiff_program *main, *startup; /* of this server; must outlive it */
    const struct skiff_program *whole; /* before the split, or NULL: names of one-file models */
    const struct server_plan *plan;    /* of main; must outlive the server */
    const char *listen;                /* address to listen at; NULL: the plan's endpoint */
    const char *job, *secret;          /* NULL: "" */
    bool insecure;                     /* no secret is needed, wherever the servers run */
    const char *transport;             /* as users write it (net/transport.h); NULL: tcp */
    struct inproc_hub *hub;            /* trainers are in this process; NULL: they are not */
    int shards;                        /* 0: 1 */
    /* Bytes for all sparse tables: each gets an equal share, unless it has a memory_limit of its
     * own. 0: no limit. */
    size_t table_memory;
    int silence_ms; /* a peer is declared dead after this silence; 0: 10000 */
    int start_ms;   /* all trainers must have joined by then; 0: 30 minutes */
    enum server_on_death on_death;
    /* The checkpoint that this server would start from, compared with those of the other processes;
     * NULL: no comparison. Must outlive the server. */
    const struct ps_begin *start;
    struct skiff_scope *scope; /* whose variables to use; NULL: a scope of its own */
    struct metrics *metrics;   /* registry of its metrics and its network's; NULL: one of its own */
    /* Log lines, one per call, from any thread. May be NULL. */
    void (*on_log)(void *user, enum log_level level, const char *line);
    /* A trainer or server has joined, left or died; any thread. May be NULL. */
    void (*on_member)(void *user, const struct member *member);
    void *user;
};

/* The plan of a server program that comes without one: from a file, or changed since it was split.
 * The caller owns it. */
enum skiff_status server_plan_read(const struct skiff_program *main, const struct job_plan *job,
                                   int index, struct server_plan **out, struct skiff_error *err);

enum skiff_status server_create(const struct server_options *options, struct server **out,
                                struct skiff_error *err);
enum skiff_status server_init(struct server *s, struct skiff_error *err);
enum skiff_status server_load(struct server *s, const char *path, struct skiff_error *err);
enum skiff_status server_run(struct server *s, struct skiff_error *err);
void server_stop(struct server *s);
void server_destroy(struct server *s); /* NULL is a no-op */

/* The server's metrics: server_steps and so on, and those of its network (net_..., rpc_...). A
 * registry of its own lives until server_destroy. */
struct metrics *server_metrics(const struct server *s);

#endif
