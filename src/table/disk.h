/* Disk: records of a tiered table in RocksDB, by position: a number that every id has one of, and
 * no two the same. What is there is scratch: the folder's database is wiped when it is opened, and
 * removed when it is closed; saves are the table's affair. So nothing is logged ahead of writes.
 * librocksdb is loaded when the first such table is made.
 * Threads: any may read; one writes; iterators are of one thread each. */
#ifndef TABLE_DISK_H
#define TABLE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/record.h"

struct disk;

/* UNSUPPORTED: no librocksdb; IO: the folder cannot be used, or somebody else does. memory: bytes
 * of writes that may wait in memory to be sorted. */
enum skiff_status disk_open(const char *folder, size_t record_bytes, size_t memory,
                            struct disk **out, struct skiff_error *err);
void disk_close(struct disk *d); /* NULL is fine */

#define DISK_MANY 256

/* to[i] = the record at positions[i], whose id stands there already; found[i]: there is one.
 * n <= DISK_MANY. */
enum skiff_status disk_read(struct disk *d, size_t n, const uint64_t *positions,
                            struct record *const *to, bool *found, struct skiff_error *err);
/* All or none: records[i] is put at positions[i]; RECORD_FREE: what is there is deleted. */
enum skiff_status disk_write(struct disk *d, size_t n, const uint64_t *positions,
                             struct record *const *records, struct skiff_error *err);

/* Records in the order of their positions, as they were when the iterator was made. */
struct disk_iterator;
struct disk_iterator *disk_iterate(struct disk *d);
void disk_iterator_destroy(struct disk_iterator *it); /* NULL is fine */
void disk_seek(struct disk_iterator *it, uint64_t position);
/* The record that it is at; NULL: that was the last, or err is set (IO). Valid until disk_step. */
enum skiff_status disk_at(struct disk_iterator *it, uint64_t *out_position,
                          const struct record **out, struct skiff_error *err);
void disk_step(struct disk_iterator *it);

struct disk_stats {
    uint64_t file_bytes, written_bytes; /* written: all that was ever, with what is rewritten */
};
void disk_stats(struct disk *d, struct disk_stats *out);
size_t disk_memory(struct disk *d); /* of the database itself, about */

#endif
