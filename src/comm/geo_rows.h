/* Rows by id in GEO: distributed tables, whose ids are any 64 bits.
 *
 *   look-ups, gradients  <->  a server inside this process (comm_options.own): `train`, and the
 *                             states of the program's rule
 *                             differences, by the communicator's thread
 *   `old`, here          <->  the job's servers
 *
 * A row comes with the first look-up that has its id: from the job's servers, into `old` and, as a
 * difference to nothing, into the server inside. Then it is as mode_geo.c says of rows of tensors:
 * what this trainer has changed goes out, what others have changed comes in. Rows that this trainer
 * has never looked up are none of its business.
 *
 * Threads: meet by training threads, the rest by the communicator's. `lock` is held while rows come
 * from the servers, first ones or changed ones, so that the newer value stays. */
#ifndef COMM_GEO_ROWS_H
#define COMM_GEO_ROWS_H

#include "comm/mode.h"
#include "table/table.h"

struct geo_table {
    struct comm_var var, delta;         /* on the job's servers */
    struct comm_var own_var, own_delta; /* on the one inside */
    int64_t width;
    struct accessor accessor;
    struct table *old;              /* the last common values of the rows that this trainer has */
    struct id_map met;              /* scratch of meet */
    struct id_map map;              /* scratch of the communicator's thread */
    struct skiff_tensor diff, back; /* what goes to the servers, to the one inside */
};

struct geo_rows {
    struct geo_table *tables;
    int n;
    pthread_mutex_t lock; /* guards `old` and `met` */
};

enum skiff_status geo_rows_init(struct geo_rows *g, const struct job_plan *plan,
                                const struct job_plan *own, struct skiff_error *err);
void geo_rows_deinit(struct geo_rows *g);
struct geo_table *geo_rows_find(struct geo_rows *g, const char *table); /* NULL: none */

/* The rows that a look-up is about to ask for are there afterwards. */
enum skiff_status geo_rows_meet(struct comm *c, struct geo_rows *g, const struct job_lookup *l,
                                struct skiff_error *err);
/* diff = (train - old) * share of those of the ids that have rows, each once; old += diff. */
enum skiff_status geo_rows_diff(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                const int64_t *ids, size_t n, float share, struct skiff_error *err);
/* What others have changed: train += p - old, old = p. */
enum skiff_status geo_rows_catch_up(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                    struct skiff_error *err);

#endif
