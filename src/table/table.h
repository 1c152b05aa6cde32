/* Table: records by 64-bit id.
 *
 *     ids -> find -> records, side by side in time -> accessor or rule on whole records
 *
 * A record (record.h) holds all of a row in one piece and never moves. Kinds differ in how they
 * come from an id to a record (table_list.h); everything else - gathering, updating, expiry,
 * snapshots, saving - is written once, in table.c and table_snapshot.c, on a kind's few operations.
 *
 * Work goes in blocks of TABLE_BLOCK ids: while a block is worked on, the memory that the next two
 * need is on its way.
 *
 * Moments: a table counts them (t->moment, from 1), a snapshot ends one. A record bears the moment
 * in which it last changed; that is all that full and delta snapshots need (table_snapshot.h).
 *
 * Threads: one owner at a time (a server's shard, under its lock); table_prepare is the exception.
 * Nothing here waits, but tiered for its disk. No call takes longer than its arguments ask for:
 * there is no rehashing of all, and what goes over all records (shrink, export, snapshots) does so
 * a piece at a time. */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/accessor.h"
#include "table/admission.h"
#include "table/id_index.h"
#include "table/leaving.h"
#include "table/record.h"

#define TABLE_BLOCK ID_INDEX_MANY

enum table_how {
    TABLE_LOOK = 0,   /* records that are there; they are not changed */
    TABLE_MAKE = 1,   /* ids without a record get one, if admission lets them in */
    TABLE_CHANGE = 2, /* the caller is about to change them */
    TABLE_ANYWAY = 4, /* with MAKE: admission is not asked */
};

/* What came and went since the table was made. */
struct table_counts {
    uint64_t admitted; /* records made, loaded ones too */
    uint64_t refused;  /* times that an id was asked for and not let in */
    uint64_t expired;  /* records that shrink has taken away */
    uint64_t removed;  /* records that somebody has removed */
    uint64_t evicted;  /* records that left for good at the limit */
};

/* Numbers for those who watch. What is not the kind's affair is 0. */
struct table_stats {
    uint64_t rows, bytes; /* table_count, table_bytes */
    uint64_t waiting;     /* ids that are not admitted yet */
    struct table_counts counts;
    /* tiered */
    uint64_t hits, misses; /* rows that were in memory, or on disk, when they were asked for */
    uint64_t fetched;      /* of the misses: brought ahead, so that nobody read in vain */
    uint64_t waited;       /* ids that nobody had fetched: the owner looked for them on disk */
    uint64_t disk_rows;    /* rows that are on disk only */
    uint64_t disk_bytes;   /* of its files */
    uint64_t spilled;      /* rows that went to disk at the limit */
    uint64_t rows_written, bytes_written; /* to disk; bytes: with all that the database rewrites */
};

/* Bytes that the table's rows, its index and the ids that wait may take; 0: as many as there are.
 * At the limit rows leave by the policy, a few for each that comes: for good (hash), or to disk
 * (tiered, whose database's memory counts, too). Which is lowest or oldest is decided among 256
 * (leaving.h). An eighth is for ids that wait, if the table has an admission that lets them wait;
 * of those the least asked for are forgotten; a share is for notes of deltas (table_snapshot.h).
 * What a running snapshot keeps, and memory that table_prepare makes ready come on top of it. */
struct table_limit {
    size_t bytes;
    enum table_policy policy;
};

struct table_options {
    const struct accessor *accessor; /* borrowed; must outlive the table */
    struct admission admission;      /* {0}: everybody comes in at once; not array */
    int64_t rows;                    /* array: declared; ids are 0 .. rows - 1. Else 0 */
    uint64_t seed;                   /* of probability admission */
    bool prepared;                   /* somebody calls table_prepare */
    bool deltas;                     /* snapshots of what changed since others will be taken */
    struct table_limit limit;        /* not array */
    const char *folder; /* tiered: of its database, which is wiped; borrowed by create */
};

struct table {
    const struct table_class *class;
    struct table_options options;
    const struct accessor *accessor;
    size_t stride; /* bytes of a record */
    uint32_t moment;
    uint32_t stamp; /* of new records (plain); the owner sets it */
    struct table_counts counts;
    int held;                        /* table_hold */
    struct waiting *waiting;         /* ids that are not admitted yet; NULL: admission is open */
    struct table_snapshot *snapshot; /* the running one; NULL */
    struct table_gone *gone;         /* records that went, for deltas; NULL: none are taken */
};

/* Where a walk over all records is; {0} is the beginning. */
struct table_cursor {
    uint64_t next, waiting;
    bool records_done;
};

/* A kind of table. `t` is the first member of the kind's own struct. */
struct table_class {
    const char *name;
    bool fixed; /* records can neither be made nor removed: they are all there from the start */
    /* The struct; table_create fills in what is common. INVALID: the options do not fit. */
    enum skiff_status (*create)(const struct table_options *o, struct table **out,
                                struct skiff_error *err);
    void (*destroy)(struct table *t);
    /* Two steps before find, with time in between: asks memory for what leads to the records of n
     * ids; asks for the first `span` bytes of the records. n <= TABLE_BLOCK. */
    void (*ahead)(const struct table *t, const uint8_t *ids, size_t n, struct id_ahead *out);
    void (*near)(const struct table *t, const uint8_t *ids, size_t n, size_t span,
                 struct id_ahead *ahead);
    /* out[i] = the record of the i-th id, or NULL. With TABLE_CHANGE table_touch has been called
     * for each. RANGE: an id that cannot be; NOMEM. After a failure ids before it may have come
     * in. */
    enum skiff_status (*find)(struct table *t, const struct id_ahead *ahead, const uint8_t *ids,
                              size_t n, unsigned how, struct record **out, struct skiff_error *err);
    /* After table_touch. *out_was: there was one. Not with `fixed`. */
    enum skiff_status (*remove)(struct table *t, int64_t id, bool *out_was,
                                struct skiff_error *err);
    /* Looks at the next max places (at most TABLE_BLOCK) from the cursor on and gives the records
     * there, always in the same order; END: there are no more. A record made during the walk may
     * come or not. places[i] is what table_touch wants. how: TABLE_CHANGE, or they are only looked
     * at. Records are valid until the next call (and in tiered removing one of them is none). */
    enum skiff_status (*walk)(struct table *t, struct table_cursor *at, size_t max, unsigned how,
                              struct record **out, uint32_t *places, size_t *out_n,
                              struct skiff_error *err);
    /* Has a walk that is at this cursor given the record already? NULL: the cursor counts places.
     */
    bool (*passed)(const struct table_cursor *at, const struct record *r);
    /* table_fetch_ahead; NULL: all records are in memory */
    enum skiff_status (*fetch_ahead)(struct table *t, const uint8_t *ids, size_t n,
                                     struct skiff_error *err);
    void (*stats)(const struct table *t, struct table_stats *out); /* the kind's own; NULL: none */
    bool (*prepare)(struct table *t);                              /* any thread: table_prepare */
    size_t (*count)(const struct table *t);
    size_t (*bytes)(const struct table *t); /* exactly what it holds of the machine's memory */
};

#define TABLE(name) extern const struct table_class table_##name;
#include "table/table_list.h"
#undef TABLE

const struct table_class *table_class_find(const char *name); /* NULL: no such kind */

enum skiff_status table_create(const struct table_class *class, const struct table_options *o,
                               struct table **out, struct skiff_error *err);
void table_destroy(struct table *t); /* NULL is fine */
size_t table_count(const struct table *t);
size_t table_bytes(const struct table *t); /* with those that wait, the snapshot and its notes */
/* The slow part of growing, ahead of it (options.prepared): the system is asked for memory that
 * will be needed soon. The one call that another thread than the owner may make, at any time in the
 * table's life, about once a millisecond where calls must stay short. An eighth more than
 * table_bytes says, and no more than 48 MB, is then held. false: the table has not grown since the
 * last time. */
bool table_prepare(struct table *t);
void table_stats(const struct table *t, struct table_stats *out);

/* Between these two no record leaves at the limit, which is passed instead: for owners who keep
 * records beyond the call that found them. They may be nested. */
void table_hold(struct table *t);
void table_let_go(struct table *t);

/* The ids of a request that will come soon: rows that are on disk are read by other threads in the
 * meantime. Waits for nothing, unless the reading threads are far behind. A hint: rows beyond what
 * there is room for are left out. */
enum skiff_status table_fetch_ahead(struct table *t, const uint8_t *ids, size_t n,
                                    struct skiff_error *err);

/* ---- rows by id. ids are n little-endian int64, which may lie unaligned, in a message ---- */

/* Calls fn for blocks of ids: records[i] belongs to id first + i, NULL: there is none. `span`: how
 * many bytes of each record fn looks at. The same id may stand there twice: fn works on one record
 * after the other. */
typedef void table_block_fn(void *self, size_t first, size_t n, struct record *const *records);
enum skiff_status table_each(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             size_t span, table_block_fn *fn, void *self, struct skiff_error *err);

/* out[i * pulled ..] = what the accessor shows of the i-th id; zeros where there is no record. */
enum skiff_status table_pull(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             float *out, struct skiff_error *err);
/* rows[i * pushed ..] goes to the i-th id by the accessor's rules. INVALID: it has none. */
enum skiff_status table_push(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             const float *rows, struct skiff_error *err);
/* Values first .. first + width of each record to out or from it; ids without a record give zeros
 * and take nothing. */
enum skiff_status table_gather(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                               int first, int width, float *out, struct skiff_error *err);
enum skiff_status table_scatter(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                                int first, int width, const float *from, struct skiff_error *err);

/* A whole record as it stands in `from` (id, stamp, values; stride bytes), new or in the place of
 * what was there; admission is not asked. */
enum skiff_status table_put(struct table *t, const struct record *from, struct skiff_error *err);
/* The id waits for admission with these counts, unless it has a record, or everybody comes in. */
enum skiff_status table_put_waiting(struct table *t, const struct waiting_id *x,
                                    struct skiff_error *err);
/* UNSUPPORTED: records of this kind cannot go. *out_was: there was one. */
enum skiff_status table_remove(struct table *t, int64_t id, bool *out_was, struct skiff_error *err);

/* ---- over all records, at most `max` places of them a call; END: that was the last ---- */

/* Calls fn for blocks of records, in the order of their places; first is always 0. */
enum skiff_status table_walk(struct table *t, struct table_cursor *at, size_t max, unsigned how,
                             table_block_fn *fn, void *self, struct skiff_error *err);

/* Time passes: counters decay as the accessor says, and records that it wants no more go (with
 * `fixed` they stay). */
enum skiff_status table_shrink(struct table *t, struct table_cursor *at, size_t max,
                               struct skiff_error *err);
/* The lines of a save in one of Paddle's modes (accessor.h), and what the save does to counters. */
typedef enum skiff_status table_line_fn(void *self, int64_t id, const char *line, size_t n,
                                        struct skiff_error *err);
enum skiff_status table_export(struct table *t, int mode, struct table_cursor *at, size_t max,
                               table_line_fn *fn, void *self, struct skiff_error *err);
/* The second half alone, for a save that has read a snapshot: `saved` for all records that have not
 * changed after the moment of it. */
enum skiff_status table_saved(struct table *t, int mode, uint32_t moment, struct table_cursor *at,
                              size_t max, struct skiff_error *err);
/* One line of such a file; FORMAT: it is none. */
enum skiff_status table_import(struct table *t, const char *line, size_t n,
                               struct skiff_error *err);

/* ---- for kinds ---- */

/* The record at this place will be changed or go away: a snapshot may need what it was. */
void table_touch(struct table *t, struct record *r, uint32_t place);
/* A new record's head and values. */
void table_fill(const struct table *t, struct record *r, int64_t id);
/* A record has left at the limit, for good. */
void table_evicted(struct table *t, int64_t id);
/* What of the limit is for rows and their index; SIZE_MAX: there is none. */
size_t table_budget(const struct table_options *o);
/* May this id, which has no record, have one now? NOMEM. */
enum skiff_status table_admit(struct table *t, int64_t id, unsigned how, bool *out,
                              struct skiff_error *err);

static inline int64_t table_id_at(const uint8_t *ids, size_t i)
{
    int64_t id;
    __builtin_memcpy(&id, ids + 8 * i, sizeof id);
    return id;
}

#endif
