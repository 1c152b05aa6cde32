/* Snapshot of a table: its records at one instant, or those of them that changed since an earlier
 * one, read a piece at a time while the table is trained.
 *
 * A snapshot ends the table's version. Records with a later one have changed since; before the
 * first such change the record is copied, unless it has been read already (copy on write). So a
 * record of the instant is either in its slot, with a version not later than the snapshot's, or
 * among the copies. Without a snapshot this costs one comparison per record; a snapshot takes
 * memory only for records that change between its beginning and their turn.
 *
 * A delta also needs the ids of removed records. If deltas will be taken (table_options) these are
 * recorded from the first snapshot on, until a full one has been completed, or until more were
 * removed than the table has, or than their part of its limit (GONE_SHARE) can hold: then a full
 * one is required. */
#ifndef TABLE_TABLE_SNAPSHOT_H
#define TABLE_TABLE_SNAPSHOT_H

#include "table/table.h"

#define GONE_SHARE 32 /* of a table's limit, one byte in this many is for these ids */

/* since: 0 for all records, else the version of an earlier snapshot: records changed after it.
 * *out_version is this one's. STATE: one is running, or the removals after `since` are unknown (a
 * full one is needed, or the table has no deltas). */
enum skiff_status table_snapshot_begin(struct table *t, uint32_t since, uint32_t *out_version,
                                       struct skiff_error *err);
/* Copies up to max records, `t->stride` bytes each; END: *out_n (perhaps not 0) are the last.
 * NOMEM: a copy failed; STATE: too many were removed while a delta was read; the snapshot is
 * unusable then. Training may continue between calls. */
enum skiff_status table_snapshot_next(struct table *t, size_t max, void *out, size_t *out_n,
                                      struct skiff_error *err);
/* Ids that had a record at `since` or later and have none at the snapshot's instant; an id may
 * occur twice, and may be in the snapshot again. Valid until the next removal. */
size_t table_snapshot_gone(const struct table *t, const int64_t **out);
/* Instead of reading in order: records are requested by id, any number of times. Call it before
 * anything changes; copies are then kept until the end. NOMEM. */
enum skiff_status table_snapshot_by_id(struct table *t, struct skiff_error *err);
/* The old record of this id; `now`: the result of table_each. NULL: there was none. Valid until the
 * table changes. */
const struct table_row *table_snapshot_was(const struct table *t, int64_t id,
                                           const struct table_row *now);
/* Returns all of them, too, from a cursor on (0: the beginning; it is advanced), while they may
 * also be requested by id: at most max, `t->stride` bytes each; END: that was the last. A record
 * that changes after it was returned may be returned once more, with its old values. */
enum skiff_status table_snapshot_list(struct table *t, uint64_t *cursor, size_t max, void *out,
                                      size_t *out_n, struct skiff_error *err);
/* Ids that wait for admission, in the same way (admission.h). */
enum skiff_status table_snapshot_waiting(struct table *t, uint64_t *cursor, size_t max,
                                         struct waiting_id *out, size_t *out_n,
                                         struct skiff_error *err);
bool table_snapshot_lost(const struct table *t); /* a copy failed: the snapshot is unusable */
/* Ends it, too, but leaves the memory, which may be much, to be freed later by any thread. */
struct table_snapshot *table_snapshot_take_off(struct table *t); /* NULL: none runs */
void table_snapshot_destroy(struct table_snapshot *s);           /* NULL is a no-op */
/* complete: it has been read and is stored; a full one makes older notes unnecessary. A no-op when
 * none runs. */
void table_snapshot_end(struct table *t, bool complete);

/* ---- for table.c ---- */
void table_snapshot_cow(struct table *t, const struct table_row *r, uint32_t slot);
void table_snapshot_record_gone(struct table *t, int64_t id);
void table_snapshot_deinit(struct table *t);
size_t table_snapshot_bytes(const struct table *t);

#endif
