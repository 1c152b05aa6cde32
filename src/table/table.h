/* Table: records by 64-bit id.
 *
 *     ids -> find -> records of a block -> accessor or rule on whole records
 *
 * A record (row.h) holds all of a row in one piece and never moves. Kinds differ in how they
 * find the record of an id (table_list.h); everything else - gathering, updating, expiry,
 * snapshots, saving - is written once, in table.c and table_snapshot.c, on a kind's few operations.
 *
 * Work is done in blocks of TABLE_BLOCK ids: while a block is processed, the memory that the next
 * two need is prefetched.
 *
 * Versions: a table counts them (t->moment, from 1), and a snapshot ends one. A record has the
 * version in which it last changed; full and delta snapshots need nothing else (table_snapshot.h).
 *
 * Threads: one owner at a time (a server's shard, under its lock); table_prepare is the exception.
 * Nothing here waits, except that tiered waits for its disk. No call takes longer than its
 * arguments imply: nothing is rehashed as a whole, and operations on all records (shrink, export,
 * snapshots) work a piece at a time. */
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
#include "table/row.h"

#define TABLE_BLOCK ID_INDEX_MANY

enum table_how {
    TABLE_LOOK = 0,           /* existing records; they are not changed */
    TABLE_MAKE = 1,           /* ids without a record get one, if admission accepts them */
    TABLE_CHANGE = 2,         /* the caller is about to change them */
    TABLE_SKIP_ADMISSION = 4, /* with MAKE: without admission */
};

/* Events since the table was created. */
struct table_counts {
    uint64_t admitted; /* records created, loaded ones included */
    uint64_t refused;  /* requests for ids that were not admitted */
    uint64_t expired;  /* records removed by shrink */
    uint64_t removed;  /* records removed by a caller */
    uint64_t evicted;  /* records evicted for good at the limit */
};

/* Metrics. Those that do not apply to the kind are 0. */
struct table_stats {
    uint64_t rows, bytes; /* table_count, table_bytes */
    uint64_t waiting;     /* ids that are not admitted yet */
    struct table_counts counts;
    /* tiered */
    uint64_t hits, misses; /* requested rows that were in memory, or on disk */
    uint64_t fetched;      /* of the misses: prefetched, so that no reader waited */
    uint64_t waited;       /* ids that were not prefetched: the owner read the disk */
    uint64_t disk_rows;    /* rows that are on disk only */
    uint64_t disk_bytes;   /* of its files */
    uint64_t spilled;      /* rows written to disk at the limit */
    /* to disk; bytes: with everything that the database rewrites */
    uint64_t rows_written, bytes_written;
};

/* Bytes for the table's rows, its index and waiting ids; 0: no limit. At the limit rows leave by
 * the policy, a few for each new one: for good (hash), or to disk (tiered, whose database's memory
 * counts, too). The lowest or oldest is chosen among 256 (leaving.h). An eighth is for waiting ids,
 * if the table has an admission that lets them wait; the least requested of them are forgotten; a
 * share is for notes of deltas (table_snapshot.h). Copies for a running snapshot, and memory that
 * table_prepare populates, come on top of it. */
struct table_limit {
    size_t bytes;
    enum table_policy policy;
};

struct table_options {
    const struct accessor *accessor; /* borrowed; must outlive the table */
    struct admission admission;      /* {0}: all ids are admitted at once; not array */
    int64_t rows;                    /* array: declared; ids are 0 .. rows - 1. Else 0 */
    uint64_t seed;                   /* of probability admission */
    bool prepared;                   /* a thread calls table_prepare */
    bool deltas;                     /* delta snapshots will be taken */
    struct table_limit limit;        /* not array */
    const char *folder; /* tiered: of its database, which is removed first; borrowed by create */
};

struct table {
    const struct table_class *class;
    struct table_options options;
    const struct accessor *accessor;
    size_t stride; /* bytes of a record */
    uint32_t version;
    uint32_t stamp; /* of new records (plain); the owner sets it */
    struct table_counts counts;
    struct waiting *waiting;         /* ids that are not admitted yet; NULL: every id is admitted */
    struct table_snapshot *snapshot; /* the running one; NULL */
    struct table_gone *gone;         /* removed records, for deltas; NULL: no deltas */
};

/* Position of a walk over all records; {0} is the beginning. */
struct table_cursor {
    uint64_t next, waiting;
    bool rows_done;
};

/* A kind of table. `t` is the first member of the kind's own struct. */
struct table_class {
    const char *name;
    bool fixed; /* records can neither be created nor removed: all exist from the start */
    /* The struct; table_create fills in the common part. INVALID: the options do not fit. */
    enum skiff_status (*create)(const struct table_options *o, struct table **out,
                                struct skiff_error *err);
    void (*destroy)(struct table *t);
    /* Two steps before find, with time in between: prefetches the memory that leads to the records
     * of n ids; then the first `span` bytes of the records. n <= TABLE_BLOCK. */
    void (*prefetch)(const struct table *t, const uint8_t *ids, size_t n, struct id_prefetch *out);
    void (*near)(const struct table *t, const uint8_t *ids, size_t n, size_t span,
                 struct id_prefetch *prefetch);
    /* out[i] = the record of the i-th id, or NULL. With TABLE_CHANGE table_touch has been called
     * for each. RANGE: an invalid id; NOMEM. After a failure, ids before it may have been added. */
    enum skiff_status (*find)(struct table *t, const struct id_prefetch *prefetch,
                              const uint8_t *ids, size_t n, unsigned how, struct table_row **out,
                              struct skiff_error *err);
    /* After table_touch. *out_was: there was one. Not with `fixed`. */
    enum skiff_status (*remove)(struct table *t, int64_t id, bool *out_was,
                                struct skiff_error *err);
    /* Examines the next max slots (at most TABLE_BLOCK) from the cursor on and returns the records
     * there, always in the same order; END: there are no more. A record created during the walk may
     * be returned or not. places[i] is the argument for table_touch. how: TABLE_CHANGE, or they are
     * only read. Records are valid until the next call (in tiered, removing one of them is not such
     * a call). */
    enum skiff_status (*walk)(struct table *t, struct table_cursor *at, size_t max, unsigned how,
                              struct table_row **out, uint32_t *slots, size_t *out_n,
                              struct skiff_error *err);
    /* Has a walk with this cursor returned the record already? NULL: the cursor counts slots. */
    bool (*passed)(const struct table_cursor *at, const struct table_row *r);
    /* table_fetch_prefetch; NULL: all records are in memory */
    enum skiff_status (*fetch_prefetch)(struct table *t, const uint8_t *ids, size_t n,
                                        struct skiff_error *err);
    void (*stats)(const struct table *t, struct table_stats *out); /* the kind's own; NULL: none */
    bool (*prepare)(struct table *t);                              /* any thread: table_prepare */
    size_t (*count)(const struct table *t);
    size_t (*bytes)(const struct table *t); /* the exact memory that it holds */
};

#define TABLE(name) extern const struct table_class table_##name;
#include "table/table_list.h"
#undef TABLE

enum skiff_status table_create(const struct table_class *class, const struct table_options *o,
                               struct table **out, struct skiff_error *err);
void table_destroy(struct table *t); /* NULL is a no-op */
size_t table_count(const struct table *t);
size_t table_bytes(const struct table *t); /* with waiting ids, the snapshot and its notes */
/* The slow part of growing, in advance (options.prepared): requests memory from the system that
 * will be needed soon. The only call that a thread other than the owner may make, at any time in
 * the table's life, about once a millisecond where calls must stay short. Up to an eighth more than
 * table_bytes returns, and no more than 48 MB, is then held. false: the table has not grown since
 * the last call. */
bool table_prepare(struct table *t);
void table_stats(const struct table *t, struct table_stats *out);

/* The ids of a request that will come soon: rows on disk are read by other threads in the meantime.
 * Does not wait, unless the reading threads are far behind. A hint: rows beyond the available space
 * are skipped. */
enum skiff_status table_fetch_prefetch(struct table *t, const uint8_t *ids, size_t n,
                                       struct skiff_error *err);

/* ---- rows by id. ids are n little-endian int64, which may be unaligned, in a message ---- */

/* Calls fn for blocks of ids: records[i] belongs to id first + i, NULL: there is none. `span`: how
 * many bytes of each record fn reads. The same id may occur twice: fn processes one record after
 * the other. */
typedef void table_block_fn(void *self, size_t first, size_t n, struct table_row *const *row_list);
enum skiff_status table_each(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             size_t span, table_block_fn *fn, void *self, struct skiff_error *err);

/* out[i * pulled ..] = the i-th id's row as the accessor returns it; zeros where there is no
 * record. */
enum skiff_status table_pull(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             float *out, struct skiff_error *err);
/* rows[i * pushed ..] is applied to the i-th id by the accessor's rules. INVALID: it has none. */
enum skiff_status table_push(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                             const float *rows, struct skiff_error *err);
/* Values first .. first + width of each record to out or from it; ids without a record give zeros
 * and are skipped. */
enum skiff_status table_gather(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                               int first, int width, float *out, struct skiff_error *err);
enum skiff_status table_scatter(struct table *t, const uint8_t *ids, size_t n, unsigned how,
                                int first, int width, const float *from, struct skiff_error *err);

/* A complete record as it is in `from` (id, stamp, values; stride bytes), new or replacing the old
 * one; without admission. */
enum skiff_status table_put(struct table *t, const struct table_row *from, struct skiff_error *err);
/* The id waits for admission with these counts, unless it has a record, or every id is admitted. */
enum skiff_status table_put_waiting(struct table *t, const struct waiting_id *x,
                                    struct skiff_error *err);
/* UNSUPPORTED: records of this kind cannot be removed. *out_was: there was one. */
enum skiff_status table_remove(struct table *t, int64_t id, bool *out_was, struct skiff_error *err);

/* ---- over all records, at most `max` slots a call; END: that was the last ---- */

/* Calls fn for blocks of records, in the order of their slots; first is always 0. */
enum skiff_status table_walk(struct table *t, struct table_cursor *at, size_t max, unsigned how,
                             table_block_fn *fn, void *self, struct skiff_error *err);

/* Time passes: counters decay as the accessor defines, and expired records are removed (with
 * `fixed` they stay). */
enum skiff_status table_shrink(struct table *t, struct table_cursor *at, size_t max,
                               struct skiff_error *err);
/* The lines of a save in one of Paddle's modes (accessor.h), and the save's changes of counters. */
typedef enum skiff_status table_line_fn(void *self, int64_t id, const char *line, size_t n,
                                        struct skiff_error *err);
enum skiff_status table_export(struct table *t, int mode, struct table_cursor *at, size_t max,
                               table_line_fn *fn, void *self, struct skiff_error *err);
/* The second half alone, for a save that has read a snapshot: `saved` for all records that have not
 * changed after the snapshot's version. */
enum skiff_status table_saved(struct table *t, int mode, uint32_t version, struct table_cursor *at,
                              size_t max, struct skiff_error *err);
/* One line of such a file; FORMAT: it is invalid. */
enum skiff_status table_import(struct table *t, const char *line, size_t n,
                               struct skiff_error *err);

/* ---- for kinds ---- */

/* The record in this slot will be changed or removed: a snapshot may need its old values. */
void table_touch(struct table *t, struct table_row *r, uint32_t slot);
/* Initializes a new record's head and values. */
void table_fill(const struct table *t, struct table_row *r, int64_t id);
/* A record has left at the limit, for good. */
void table_evicted(struct table *t, int64_t id);
/* The part of the limit for rows and their index; SIZE_MAX: there is none. */
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
