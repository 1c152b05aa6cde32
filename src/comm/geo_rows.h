/* Rows by id in GEO: distributed tables, whose ids are any 64 bits.
 *
 *   look-ups, gradients  <->  a server inside this process (comm_options.own): `train`, and the
 *                             states of the program's rule
 *                             differences, by the communicator's thread
 *   `old`, here          <->  the job's servers
 *
 * A row is fetched at the first look-up of its id: from the job's servers into `old` and, as a
 * difference to nothing, into the inner server. From then on it is treated as mode_geo.c describes
 * for rows of tensors: this trainer's changes are pushed, the changes of others are pulled. Rows
 * that this trainer has never looked up are ignored.
 *
 * Threads: meet is called by training threads, the rest by the communicator's. `lock` is held while
 * rows arrive from the servers, first ones or changed ones, so that the newer value wins. */
#ifndef COMM_GEO_ROWS_H
#define COMM_GEO_ROWS_H

#include "comm/mode.h"
#include "table/table.h"

struct geo_table {
    struct comm_var var, delta;         /* on the job's servers */
    struct comm_var own_var, own_delta; /* on the inner server */
    int64_t width;
    struct accessor accessor;
    struct table *old;              /* the last common values of the rows that this trainer has */
    struct id_map met;              /* scratch of meet */
    struct id_map map;              /* scratch of the communicator's thread */
    struct skiff_tensor diff, back; /* pushed to the servers, to the inner server */
};

struct geo_rows {
    struct geo_table *tables;
    int n;
    pthread_mutex_t lock; /* guards `old` and `met` */
};

enum skiff_status geo_rows_init(struct geo_rows *g, const struct job_plan *plan,
                                const struct job_plan *own, struct skiff_error *err);
/* The sessions are open. */
enum skiff_status geo_rows_bind(struct comm *c, struct geo_rows *g, struct skiff_error *err);
void geo_rows_deinit(struct geo_rows *g);
struct geo_table *geo_rows_find(struct geo_rows *g, const char *table); /* NULL: none */

/* Fetches the rows that a look-up is about to request, where they are missing. */
enum skiff_status geo_rows_merge(struct comm *c, struct geo_rows *g, const struct job_lookup *l,
                                 struct skiff_error *err);
/* diff = (train - old) * share for the given ids that have rows, each once; old += diff. */
enum skiff_status geo_rows_diff(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                const int64_t *ids, size_t n, float share, struct skiff_error *err);
/* Applies the changes of others: train += p - old, old = p. */
enum skiff_status geo_rows_replay(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                  struct skiff_error *err);

#endif
