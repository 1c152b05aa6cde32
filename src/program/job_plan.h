/* The plan of a job: what all its processes agree on without talking to each other. The split
 * (passes/split.h) works it out from the program, the list of servers and the number of trainers;
 * comm, server and fleet read it. Whoever wants to know where a slice is asks here.
 *
 * Nobody changes a plan. References may be taken and given back by any thread. */
#ifndef PROGRAM_JOB_PLAN_H
#define PROGRAM_JOB_PLAN_H

#include <skiff/transpile.h>

#include "base/arena.h"
#include "base/mode.h"
#include "tensor/tensor.h"

struct job_plan {
    enum skiff_split_mode mode; /* what servers do with what arrives; the number on the wire */
    enum skiff_split_mode trainer_mode; /* of the trainers' communicators: those of half_async have
                                           the servers of async */
    bool dc_asgd;                       /* servers remember what each trainer has pulled */
    int trainers, servers;
    const char *const *endpoints; /* of the servers */
    /* Distributed tables: rows by id, not in the placement. Plain ones, whose rows are updated by
     * the program's optimizer: on server id % servers. */
    const char *const *tables;
    int ntables;
    /* Of each table: NULL, or it is one of features (table/table_config.h), and these are its
     * settings; shards[i] is its shard_num, which says where a key is (job_slices.shards). */
    const char *const *features;
    const int *shards;
    const int *widths; /* numbers of a row of each table */
    const bool *disk;  /* of each table: rows may be on disk */
    /* Numbers of tables in saves: features in their order, then all dense parameters. */
    /* Parameters first: slices of one parameter behind each other, in the order of blocks. */
    const struct skiff_placement *placement;
    int nplacement;
    int sends;     /* variables that a trainer sends in a batch */
    uint64_t hash; /* of mode, counts, placement and tables: processes whose hashes differ were not
                      started with the same program and lists */
    struct arena arena;
    int refs; /* atomic */
};

/* A copy of *from with memory of its own, its hash worked out. One reference is the caller's. */
const struct job_plan *job_plan_create(const struct job_plan *from);
const struct job_plan *job_plan_ref(const struct job_plan *p);
void job_plan_unref(const struct job_plan *p); /* NULL is fine */

int job_plan_server(const struct job_plan *p, const char *endpoint); /* -1: none of the servers */
bool job_plan_has_table(const struct job_plan *p, const char *name);
bool job_plan_has_features(const struct job_plan *p, const char *name); /* one of features */
bool job_plan_has_disk(const struct job_plan *p, const char *table);    /* rows may be on disk */
/* What a server calls `slice`; NULL: it does not have it, or it is not cut by rows. */
const struct skiff_placement *job_plan_slice(const struct job_plan *p, int server,
                                             const char *slice);
/* All slices of a variable, in the order of blocks; what every server has a copy of (a beta pow)
 * counts once. *n 0: it is not in the placement. */
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
