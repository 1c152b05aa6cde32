/* Snapshots of a server's values (snapshot.c, snapshot_read.c); only files of server/ include this.
 */
#ifndef SERVER_SNAPSHOT_H
#define SERVER_SNAPSHOT_H

#include <stdatomic.h>

#include "net/ps.h"
#include "tensor/value.h"

struct server;
struct unit;
struct rpc_request;

struct kept_var {
    const char *name;
    struct skiff_tensor *value; /* as it is now */
    int array;                  /* its place among those of the moment; -1: not among them */
    bool by_row;
    struct tensor copy; /* of all of it at the mark; no data: not changed since, or by rows */
    float **rows;       /* by slot: rows that were changed since, as they were; KEPT_CHUNK each */
};

#define KEPT_CHUNK 4096u /* rows are kept in pieces, so that no push pays for moving all of them */
#define SLOT_PIECE 512u  /* small ones: the first push after a mark makes one for nearly each row */

static inline float *kept_slot(const struct kept_var *v, size_t slot, size_t width)
{
    return v->rows[slot / KEPT_CHUNK] + slot % KEPT_CHUNK * width;
}

struct table_snapshot;

/* Of a keyed table the table itself keeps rows (table/table_snapshot.h); vars, moment: as here. */
struct kept_unit {
    bool tabled;                  /* a keyed table: its running snapshot is this one's */
    struct table_snapshot *ended; /* of a keyed table: taken off it, to be freed */
    bool whole;                   /* the copies have everything but what was kept by row before */
    size_t rows;                  /* at the mark */
    struct kept_var *vars;
    int nvars;
    struct lag_moment *moment; /* NULL: no row lay behind */
    uint32_t **slots;          /* by row, in pieces: its slot + 1, 0: none; NULL: none of them */
    size_t nkept;              /* rows that have a slot */
    uint32_t **stamps, *all_stamps; /* stamps: in pieces, too */
    size_t nchunks, chunks_cap;
    float *scratch; /* one row of every array of the moment */
};

/* Where the row was kept; -1: it has not been changed since the mark. */
static inline int64_t kept_find(const struct kept_unit *k, int64_t row)
{
    const uint32_t *piece = k->slots[(size_t)row / SLOT_PIECE];
    return piece ? (int64_t)piece[(size_t)row % SLOT_PIECE] - 1 : -1;
}

struct snapshot {
    char tag[PS_NAME];
    bool owned; /* by a worker's process, and goes with it; else the job's */
    uint32_t owner;
    uint64_t owner_life;
    atomic_bool spoiled; /* there was no memory to keep something */
    struct kept_unit *units;
    int nunits;
    struct kept_var *others; /* of no unit: counters, rates */
    int nothers;
};

/* Any thread, no lock held. The values of now get this name. One that has it already stays as it
 * is; another one is dropped. owner: who asks for values of its own; it must hold pushes, where
 * others could be in the middle of one. NULL: they are the job's. */
enum skiff_status snapshot_mark(struct server *s, const char *tag, const struct rpc_request *owner,
                                struct skiff_error *err);
/* What q's sender holds goes on, too. */
void snapshot_drop(struct server *s, const char *tag, const struct rpc_request *q);
void snapshot_review(struct server *s);    /* drops one whose owner is gone */
void snapshot_destroy(struct snapshot *n); /* NULL is fine */

/* Does a step change no other rows than those of the gradient (and, of a lag, those that are
 * settled by name)? */
bool unit_moves_rows_only(const struct server *s, const struct unit *u);

/* ---- before something changes; the shard's lock is held; without a snapshot nothing ---- */
/* The unit's block is about to be run with the gradient that it has. */
void unit_keep(struct server *s, const struct unit *u);
void unit_keep_rows(struct server *s, const struct unit *u, const int64_t *rows, size_t n);
void unit_keep_all(struct server *s, const struct unit *u);

/* ---- snapshot_read.c ---- */
void on_snapshot(void *self, struct rpc_request *q);
void on_pull_kept(void *self, struct rpc_request *q);

#endif
