/* split: one training program becomes trainer programs and server programs, as Paddle 1.8's
 * DistributeTranspiler (and, for GEO, GeoSgdTranspiler) makes them: the same blocks on the same
 * servers, the same op lists, names and startup programs. Where 1.8.5 makes a program that cannot
 * work, a working one is made; docs/reference/differences.md lists every such place.
 *
 *     struct skiff_split_config config = split_config_default();
 *     split_create(&job, &config, &s, err);
 *     split_trainer(s, &main, &startup, err);              trainers
 *     split_server(s, "10.0.0.1:6170", &main, &startup, &plan, err);   servers
 *
 * Every process of a job calls split_create with the same program, list of servers, number of
 * trainers and config, and gets the same plan (program/job_plan.h); nothing is negotiated.
 * <skiff/transpile.h> has the structs, and this under public names. */
#ifndef PASSES_SPLIT_H
#define PASSES_SPLIT_H

#include <skiff/transpile.h>

#include "program/program.h"
#include "program/server_plan.h"

/* Which server gets a block of a parameter. A dispatcher must put the blocks of one parameter on
 * different servers (there are never more blocks than servers). */
struct split_dispatcher {
    const char *name;
    /* Index of the server for block `block` of variable `var`; `step` counts the blocks of all
     * variables. */
    int (*pick)(const char *var, int block, int step, int servers);
};
extern const struct split_dispatcher split_round_robin; /* round robin */
/* first block by a hash of the name (the same on every machine), then the following servers */
extern const struct split_dispatcher split_hash_name;
/* NULL if there is no such dispatcher */
const struct split_dispatcher *split_dispatcher_find(const char *name);

struct skiff_split_config split_config_default(void);
/* Settings of fleet's strategies: SKIFF_SPLIT_SYNC is Sync (merged by the communicator), and so
 * on. */
struct skiff_split_config split_config_fleet(enum skiff_split_mode mode);
/* ValueError of Paddle: SKIFF_INVALID with its text. */
enum skiff_status split_config_set_sync_mode(struct skiff_split_config *c, bool value,
                                             struct skiff_error *err);
enum skiff_status split_config_set_runtime_split_send_recv(struct skiff_split_config *c, bool value,
                                                           struct skiff_error *err);
enum skiff_status split_config_check(const struct skiff_split_config *c, struct skiff_error *err);

struct skiff_split;

enum skiff_status split_create(const struct skiff_split_job *job,
                               const struct skiff_split_config *config, struct skiff_split **out,
                               struct skiff_error *err);
/* With a dispatcher that has no name in the config. */
enum skiff_status split_create_by(const struct skiff_split_job *job,
                                  const struct skiff_split_config *config,
                                  const struct split_dispatcher *dispatcher,
                                  struct skiff_split **out, struct skiff_error *err);
void split_destroy(struct skiff_split *s); /* NULL is fine */

/* strategy.adam_d2sum: adam of dense parameters becomes adam_d2sum, before the split. */
enum skiff_status split_adam_d2sum(struct skiff_program *main, struct skiff_program *startup,
                                   struct skiff_error *err);

/* Owned by the split; take a reference to keep it longer. */
const struct job_plan *split_plan(const struct skiff_split *s);
/* GEO with distributed tables: the split between a trainer and the server inside it, which holds
 * the rows that the trainer uses; that server's address. NULL if there is none. */
#define SPLIT_OWN_ENDPOINT "127.0.0.1:1" /* a name only: nothing listens there */
const struct skiff_split *split_own(const struct skiff_split *s);
/* Warnings for the user, one line each ("" if there are none): an optimizer that was replaced, a
 * server without parameters. Lives as long as the split. */
const char *split_warnings(const struct skiff_split *s);

/* get_trainer_program and the trainer's startup program, for job.trainer_id; owned by the caller.
 * In GEO the startup ops do not fetch sparse tables, as in Paddle; the caller must run the
 * "param_init" send. */
enum skiff_status split_trainer(const struct skiff_split *s, struct skiff_program **main,
                                struct skiff_program **startup, struct skiff_error *err);
/* get_pserver_programs; owned by the caller. Init ops have the shape of the slice; to get the
 * numbers of a single machine, use placement.offset, the start of the slice in the complete
 * variable's random stream. plan: the purpose of main's blocks, also owned by the caller; may be
 * NULL. */
enum skiff_status split_server(const struct skiff_split *s, const char *endpoint,
                               struct skiff_program **main, struct skiff_program **startup,
                               struct server_plan **plan, struct skiff_error *err);

#endif
