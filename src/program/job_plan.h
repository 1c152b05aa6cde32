/* The plan of a job: the facts on which all its processes agree without communicating. The split
 * (passes/split.h) derives it from the program, the list of servers and the number of trainers;
 * comm, server and fleet read it, for example to find the server of a slice.
 *
 * A plan never changes. Any thread may take and release references. */
#ifndef PROGRAM_JOB_PLAN_H
#define PROGRAM_JOB_PLAN_H

#include <skiff/transpile.h>

#include "base/arena.h"
#include "base/mode.h"
#include "tensor/tensor.h"

struct job_plan {
    /* what servers do with what arrives; the number is sent on the wire */
    enum skiff_split_mode mode;
    /* mode of the trainers' communicators; half_async trainers use the servers of async */
    enum skiff_split_mode trainer_mode;
    bool dc_asgd; /* servers remember what each trainer has pulled */
    int trainers, servers;
    const char *const *endpoints; /* of the servers */
    /* Distributed tables: rows by id, not in the placement. Those without feature settings are
     * updated by the program's optimizer; they live on server id % servers. */
    const char *const *tables;
    int ntables;
    /* For each table: NULL, or the settings of a sparse table
     * (table/table_config.h). shards[i] is its shard_num, which determines the server of a key
     * (job_slices.shards). */
    const char *const *sparse_table;
    const int *shards;
    const int *widths; /* numbers of a row of each table */
    const bool *disk;  /* of each table: rows may be on disk */
    /* Table numbers in saves: first the sparse tables, in their order, then all dense
     * parameters. */
    /* Parameters first; the slices of one parameter are adjacent, in the order of blocks. */
    const struct skiff_placement *placement;
    int nplacement;
    int sends; /* variables that a trainer sends per batch */
    /* of mode, counts, placement and tables. Processes with different hashes were not started with
     * the same program and lists. */
    uint64_t hash;
    struct arena arena;
    int refs; /* atomic */
};

/* A deep copy of *from with its hash computed. The caller owns one reference. */
const struct job_plan *job_plan_create(const struct job_plan *from);
const struct job_plan *job_plan_ref(const struct job_plan *p);
void job_plan_unref(const struct job_plan *p); /* NULL is fine */

/* -1: not one of the servers */
int job_plan_server(const struct job_plan *p, const char *endpoint);
bool job_plan_has_table(const struct job_plan *p, const char *name);
bool job_plan_has_features(const struct job_plan *p, const char *name); /* is a sparse table */
bool job_plan_has_disk(const struct job_plan *p, const char *table);    /* rows may be on disk */
/* The server's name of `slice`; NULL if the server does not have it or it is not cut by rows. */
const struct skiff_placement *job_plan_slice(const struct job_plan *p, int server,
                                             const char *slice);
/* All slices of a variable, in the order of blocks; a value copied to every server (a beta pow)
 * counts once. *n is 0 if the variable is not in the placement. */
const struct skiff_placement **job_plan_slices(const struct job_plan *p, const char *origin,
                                               int *n); /* free() it */
/* The shape that the slices of s's origin have together. */
struct shape job_plan_whole(const struct job_plan *p, const struct skiff_placement *s);

static inline struct shape placement_shape(const struct skiff_placement *s)
{
    return shape_of(s->ndim, s->dims);
}

static inline int64_t placement_rows(const struct skiff_placement *s)
{
    return s->ndim ? s->dims[0] : 1;
}

#endif
