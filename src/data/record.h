/* Record: one sample as bytes, for memory, files and messages to other workers.
 *
 * Slot by slot in the order of the schema: a dense slot its values, a ragged slot a u32 count and
 * its values; float32 and int64 little-endian, without padding. */
#ifndef DATA_RECORD_H
#define DATA_RECORD_H

#include "data/batch.h"

/* Bytes of row `row`; what record_write needs at most. */
size_t record_bytes(const struct batch *b, int64_t row);
/* Writes the row; returns the bytes used. drop_zeros: the rule of InMemoryDataset: ids of 0 and
 * floats below 1e-6 are left out of ragged slots, and a slot left empty keeps one 0. */
size_t record_write(const struct batch *b, int64_t row, bool drop_zeros, char *out);

/* Appends the record p[0..n) to the batch as a row. FORMAT when the bytes are not a record of the
 * schema; the batch is as before then. */
enum skiff_status record_read(const char *p, size_t n, struct batch *b, struct skiff_error *err);
/* The same, with the slots that `mask` marks taken from record q. */
enum skiff_status record_read_mixed(const char *p, size_t n, const char *q, size_t qn,
                                    const bool *mask, struct batch *b, struct skiff_error *err);

#endif
