/* Table: which row of a growing variable belongs to a 64-bit id. Open addressing; a row, once
 * given, stays. Rows are numbered in the order in which ids were first seen. Threads: one owner. */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct table;

struct table *table_create(void);
void table_destroy(struct table *t); /* NULL is fine */

size_t table_count(const struct table *t);
/* The ids by row; valid until the next id is added. */
const int64_t *table_ids(const struct table *t);
int64_t table_find(const struct table *t, int64_t id); /* its row; -1: never seen */

/* rows[i] = row of the i-th id; unseen ids get the next rows. ids are n little-endian int64, which
 * may lie unaligned, in a message. *out_first is the count before: rows from there on are new. On
 * failure (NOMEM) nothing was added. */
enum skiff_status table_rows(struct table *t, const uint8_t *ids, size_t n, int64_t *rows,
                             size_t *out_first, struct skiff_error *err);

#endif
