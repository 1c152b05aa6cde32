/* Traffic: rows of a tiered table on their way between memory and disk, carried in batches by
 * threads of its own: two that read ahead, one that writes (so that writes stay in order).
 *   out   rows that have left memory and may not be on disk yet, and deletions (RECORD_FREE)
 *   in    rows that were read, or are being read, for requests to come; RECORD_FREE: disk has none
 * Whoever looks for a row that is not in memory asks here first, then the disk.
 * Threads: one owner, the table's; the carriers see only what they were given. */
#ifndef TABLE_TRAFFIC_H
#define TABLE_TRAFFIC_H

#include "table/disk.h"

struct traffic;

/* ahead: how many rows may be read ahead; rows beyond it are left out. */
enum skiff_status traffic_create(struct disk *disk, size_t stride, size_t ahead,
                                 struct traffic **out, struct skiff_error *err);
void traffic_destroy(struct traffic *t); /* NULL is fine; what is not written yet is not written */
size_t traffic_bytes(const struct traffic *t);

/* The row goes to disk as it is here (RECORD_FREE: it is deleted there). Waits when much is under
 * way. IO: an earlier one could not be written. */
enum skiff_status traffic_send(struct traffic *t, const struct record *r, struct skiff_error *err);
/* Waits until all that was sent is on disk. */
enum skiff_status traffic_drain(struct traffic *t, struct skiff_error *err);
uint64_t traffic_written(struct traffic *t); /* rows, deletions too */

/* Where a row is that is not in memory. */
enum traffic_found {
    TRAFFIC_ASK_DISK, /* nothing is known here */
    TRAFFIC_NO_ROW,   /* there is none, on disk neither */
    TRAFFIC_BACK,     /* it was on its way out: disk has it now, or an older one, or none */
    TRAFFIC_READ,     /* as it is on disk */
};
/* Rows are copied, and no longer here. That there is none stays known until somebody makes one: who
 * looks a new id up will push to it next. May wait for the one who reads it. */
enum skiff_status traffic_take(struct traffic *t, int64_t id, bool makes, struct record *out,
                               enum traffic_found *found, struct skiff_error *err);
/* Ids that will be asked for, and are not in memory; traffic_read_now: none to come for now. */
enum skiff_status traffic_read_ahead(struct traffic *t, int64_t id, struct skiff_error *err);
void traffic_read_now(struct traffic *t);

#endif
