/* Snapshot of a table: its records of one instant, or those of them that changed since an earlier
 * one, read a piece at a time while the table is trained.
 *
 * A snapshot ends the table's moment. Records that bear a later one have changed since; before such
 * a change what the record was is kept, unless it has been read already (copy on write). So a
 * record of the instant is either in its place, with a moment not later than the snapshot's, or
 * among the kept ones. Costs nothing when no snapshot runs but a compare a record, and memory only
 * for records that change between the beginning and their turn.
 *
 * A delta also needs the ids that went away. Where deltas will be taken (table_options) they are
 * noted from the first snapshot on, until a full one has been completed, or until more have gone
 * than the table has, or than their part of its limit (GONE_SHARE) has room for: then a full one is
 * due. */
#ifndef TABLE_TABLE_SNAPSHOT_H
#define TABLE_TABLE_SNAPSHOT_H

#include "table/table.h"

#define GONE_SHARE 32 /* of a table's limit, one in so many bytes is for these ids */

/* since: 0 for all records, else the moment of an earlier snapshot: what has changed after it.
 * *out_moment is this one's. STATE: one is running, or what went away after `since` is not known
 * (a full one is needed, or the table has no deltas). */
enum skiff_status table_snapshot_begin(struct table *t, uint32_t since, uint32_t *out_moment,
                                       struct skiff_error *err);
/* Copies up to max records, `t->stride` bytes each; END: *out_n (perhaps not 0) are the last.
 * NOMEM: there was no memory to keep one, STATE: too many went away while a delta was read; the
 * snapshot is worth nothing. Others may train in between. */
enum skiff_status table_snapshot_next(struct table *t, size_t max, void *out, size_t *out_n,
                                      struct skiff_error *err);
/* Ids that had a record at `since` or later and have none at the snapshot's instant; an id may
 * stand there twice, and may be in the snapshot again. Valid until one more goes away. */
size_t table_snapshot_gone(const struct table *t, const int64_t **out);
/* Instead of reading it in order: records are asked for by id, as often as one likes. To be said
 * before anything changes; what records were is then kept until the end. NOMEM. */
enum skiff_status table_snapshot_by_id(struct table *t, struct skiff_error *err);
/* What the record of this id was; `now`: what table_each finds. NULL: there was none. Valid until
 * the table changes. */
const struct record *table_snapshot_was(const struct table *t, int64_t id,
                                        const struct record *now);
/* All of them, too, from a cursor on (0: the beginning; the next one is told), while they may also
 * be asked for by id: at most max, `t->stride` bytes each; END: that was the last. One that changes
 * after it was given may be given once more, as it was. */
enum skiff_status table_snapshot_list(struct table *t, uint64_t *cursor, size_t max, void *out,
                                      size_t *out_n, struct skiff_error *err);
/* Those who wait for admission, in the same way (admission.h). */
enum skiff_status table_snapshot_waiting(struct table *t, uint64_t *cursor, size_t max,
                                         struct waiting_id *out, size_t *out_n,
                                         struct skiff_error *err);
bool table_snapshot_lost(const struct table *t); /* one could not be kept: it is worth nothing */
/* Ends it, too, but leaves the memory, which may be much, to be freed at leisure by any thread. */
struct table_snapshot *table_snapshot_take_off(struct table *t); /* NULL: none runs */
void table_snapshot_free(struct table_snapshot *s);              /* NULL is fine */
/* complete: it has been read and is safe; a full one makes older notes unnecessary. Fine when none
 * runs. */
void table_snapshot_end(struct table *t, bool complete);

/* ---- for table.c ---- */
void table_snapshot_keep(struct table *t, const struct record *r, uint32_t place);
void table_snapshot_note_gone(struct table *t, int64_t id);
void table_snapshot_destroy(struct table *t);
size_t table_snapshot_bytes(const struct table *t);

#endif
