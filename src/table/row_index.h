/* Row index: which row of a growing variable belongs to a 64-bit id. Open addressing; a row, once
 * given, stays. Rows are numbered in the order in which ids were first seen. Threads: one owner. */
#ifndef TABLE_ROW_INDEX_H
#define TABLE_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct row_index;

struct row_index *row_index_create(void);
void row_index_destroy(struct row_index *t); /* NULL is fine */

size_t row_index_count(const struct row_index *t);
/* The ids by row; valid until the next id is added. */
const int64_t *row_index_ids(const struct row_index *t);
int64_t row_index_find(const struct row_index *t, int64_t id); /* its row; -1: never seen */

/* rows[i] = row of the i-th id; unseen ids get the next rows. ids are n little-endian int64, which
 * may lie unaligned, in a message. *out_first is the count before: rows from there on are new. On
 * failure (NOMEM) nothing was added. */
enum skiff_status row_index_rows(struct row_index *t, const uint8_t *ids, size_t n, int64_t *rows,
                                 size_t *out_first, struct skiff_error *err);

#endif
