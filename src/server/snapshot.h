/* Snapshots of a server's values (snapshot.c, snapshot_read.c); only files of server/ include this.
 */
#ifndef SERVER_SNAPSHOT_H
#define SERVER_SNAPSHOT_H

#include <stdatomic.h>

#include "net/ps.h"
#include "tensor/value.h"

struct server;
struct param_slice;
struct rpc_request;

struct var_copy {
    const char *name;
    struct skiff_tensor *value; /* the current value */
    int array; /* its index among the arrays of the deferred update; -1: not among them */
    bool by_row;
    struct tensor copy; /* of all of it at the tag; no data: not changed since, or only by rows */
    float **rows;       /* by slot: old values of rows that have changed since; COPY_CHUNK each */
};

/* rows are copied to pieces, so that no push pays for moving all of them */
#define COPY_CHUNK 4096u
#define SLOT_PIECE 512u /* small: the first push after a tag creates one for nearly each row */

static inline float *copy_slot(const struct var_copy *v, size_t slot, size_t width)
{
    return v->rows[slot / COPY_CHUNK] + slot % COPY_CHUNK * width;
}

struct table_snapshot;

/* A hash-backed table copies its rows itself (table/table_snapshot.h); vars and deferred_state
 * are as for other slices. */
struct slice_copy {
    bool tabled;                  /* a hash-backed table: its running snapshot is this one's */
    struct table_snapshot *ended; /* of a hash-backed table: detached from it, to be freed */
    bool whole;  /* the copies hold everything but rows that were copied one by one before */
    size_t rows; /* at the tag */
    struct var_copy *vars;
    int nvars;
    struct deferred_state *deferred_state; /* NULL: there were no deferred updates */
    uint32_t **slots; /* by row, in pieces: its slot + 1, 0: none; NULL: none of them */
    size_t nkept;     /* rows that have a slot */
    uint32_t **stamps, *all_stamps; /* stamps: in pieces, too */
    size_t nchunks, chunks_cap;
    float *scratch; /* one row of every array of the deferred update */
};

/* The slot with the row's old value; -1: the row has not changed since the tag. */
static inline int64_t copy_find(const struct slice_copy *k, int64_t row)
{
    const uint32_t *piece = k->slots[(size_t)row / SLOT_PIECE];
    return piece ? (int64_t)piece[(size_t)row % SLOT_PIECE] - 1 : -1;
}

struct snapshot {
    char tag[PS_NAME];
    bool owned; /* by a worker's process, and is dropped with it; else the job's */
    uint32_t owner;
    uint64_t owner_incarnation;
    atomic_bool spoiled; /* memory for a copy ran out */
    struct slice_copy *slices;
    int nslices;
    struct var_copy *others; /* of no slice: counters, rates */
    int nothers;
};

/* Any thread, no lock held. Gives the current values this name. A snapshot that has the name
 * already stays as it is; another one is dropped. owner: the worker that wants values of its own;
 * it must hold pushes where they could be half applied. NULL: they are the job's. */
enum skiff_status snapshot_tag(struct server *s, const char *tag, const struct rpc_request *owner,
                               struct skiff_error *err);
/* Lifts the sender's push fence, too. */
void snapshot_drop(struct server *s, const char *tag, const struct rpc_request *q);
void snapshot_review(struct server *s);    /* drops one whose owner is gone */
void snapshot_destroy(struct snapshot *n); /* NULL is a no-op */

/* Does a step change no other rows than those of the gradient (and those whose deferred updates are
 * flushed by id)? */
bool slice_moves_rows_only(const struct server *s, const struct param_slice *u);

/* ---- before a change; the shard's lock is held; a no-op without a snapshot ---- */
/* The slice's block is about to be run with the gradient that it has. */
void slice_cow(struct server *s, const struct param_slice *u);
void slice_cow_rows(struct server *s, const struct param_slice *u, const int64_t *rows, size_t n);
void slice_cow_all(struct server *s, const struct param_slice *u);

/* ---- snapshot_read.c ---- */
void on_snapshot(void *self, struct rpc_request *q);
void on_pull_snapshot(void *self, struct rpc_request *q);

#endif
