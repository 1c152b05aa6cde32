/* Disk: records of a tiered table in RocksDB, by position: a number that is unique for every id.
 * The files are scratch: the folder's database is removed when it is opened and when it is closed;
 * the table's saves are the durable copy. So there is no log ahead of writes. librocksdb is loaded
 * when the first such table is created. Threads: any may read; one writes; an iterator belongs to
 * one thread. */
#ifndef TABLE_DISK_H
#define TABLE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/row.h"

struct disk;

/* UNSUPPORTED: no librocksdb; IO: the folder cannot be used, or another process uses it. memory:
 * bytes of writes that may wait in memory to be sorted. */
enum skiff_status disk_open(const char *folder, size_t row_bytes, size_t memory, struct disk **out,
                            struct skiff_error *err);
void disk_close(struct disk *d); /* NULL is a no-op */

#define DISK_MANY 256

/* to[i] = the record at positions[i], whose id is set already; found[i]: there is one. n <=
 * DISK_MANY. */
enum skiff_status disk_read(struct disk *d, size_t n, const uint64_t *positions,
                            struct table_row *const *to, bool *found, struct skiff_error *err);
/* All or none: records[i] is written at positions[i]; ROW_FREE: the record there is deleted. */
enum skiff_status disk_write(struct disk *d, size_t n, const uint64_t *positions,
                             struct table_row *const *row_list, struct skiff_error *err);

/* Records in the order of their positions, as they were when the iterator was made. */
struct disk_iterator;
struct disk_iterator *disk_iterate(struct disk *d);
void disk_iterator_destroy(struct disk_iterator *it); /* NULL is a no-op */
void disk_seek(struct disk_iterator *it, uint64_t position);
/* The current record; NULL: that was the last, or err is set (IO). Valid until disk_step. */
enum skiff_status disk_at(struct disk_iterator *it, uint64_t *out_position,
                          const struct table_row **out, struct skiff_error *err);
void disk_step(struct disk_iterator *it);

struct disk_stats {
    uint64_t file_bytes, written_bytes; /* written: all that was ever written, rewriting included */
};
void disk_stats(struct disk *d, struct disk_stats *out);
size_t disk_memory(struct disk *d); /* of the database itself, about */

#endif
