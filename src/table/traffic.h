/* Traffic: rows of a tiered table in flight between memory and disk, carried in batches by threads
 * of its own: two that prefetch, one that writes (so that writes stay in order).
 *   out   rows that have left memory and may not be on disk yet, and deletions (ROW_FREE)
 *   in    rows that were read, or are being read, for later requests; ROW_FREE: disk has none
 * A row that is not in memory is looked up here first, then on disk. Threads: one owner, the
 * table's; the carriers see only batches that were queued for them. */
#ifndef TABLE_TRAFFIC_H
#define TABLE_TRAFFIC_H

#include "table/disk.h"

struct traffic;

/* ahead: how many rows may be prefetched; rows beyond it are skipped. */
enum skiff_status traffic_create(struct disk *disk, size_t stride, size_t prefetch,
                                 struct traffic **out, struct skiff_error *err);
/* NULL is a no-op; rows that are not written yet are lost */
void traffic_destroy(struct traffic *t);
size_t traffic_bytes(const struct traffic *t);

/* Sends the row to disk as it is here (ROW_FREE: it is deleted there). Waits when much is in
 * flight. IO: an earlier one could not be written. */
enum skiff_status traffic_send(struct traffic *t, const struct table_row *r,
                               struct skiff_error *err);
/* Waits until everything that was sent is on disk. */
enum skiff_status traffic_drain(struct traffic *t, struct skiff_error *err);
uint64_t traffic_written(struct traffic *t); /* rows, deletions too */

/* Where a row is that is not in memory. */
enum traffic_found {
    TRAFFIC_ASK_DISK, /* nothing is known here */
    TRAFFIC_NO_ROW,   /* there is none, not on disk either */
    TRAFFIC_BACK,     /* it was in flight to disk: disk has it now, or an older one, or none */
    TRAFFIC_READ,     /* as it is on disk */
};
/* The row is copied out and removed here. That there is none stays recorded until a record is
 * created: a caller that looks a new id up will push to it next. May wait for a read in
 * progress. */
enum skiff_status traffic_take(struct traffic *t, int64_t id, bool makes, struct table_row *out,
                               enum traffic_found *found, struct skiff_error *err);
/* Ids that will be requested, and are not in memory; traffic_read_now: no more follow for now. */
enum skiff_status traffic_read_prefetch(struct traffic *t, int64_t id, struct skiff_error *err);
void traffic_read_now(struct traffic *t);

#endif
