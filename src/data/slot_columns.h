/* Which column of a table is this slot? One answer for reports, check-data, messages and whatever
 * else names inputs to users, who know their columns and not C1 to C26.
 *
 * The setting columns of the csv reader (`C3 = user`, `dense_input = age, price`) says where values
 * come from, the stats file what is made of a column: "user", "time (hour)", "time (weekday)",
 * "price (buckets)". Slots without columns keep their own names. Written once, before readers
 * start; then read by any thread. */
#ifndef DATA_SLOT_COLUMNS_H
#define DATA_SLOT_COLUMNS_H

#include "data/reader.h"

#define SLOT_TITLE_MAX 96

/* Names the columns of all slots that have none yet. A setting or file that cannot be read names
 * nothing: the reader reports it. */
void slot_columns_read(struct schema *schema, const struct reader_config *config);

/* Into how many fields what is known of the slot's values is split: one for each column of a dense
 * slot, otherwise one. Field k of several is value k. */
int slot_fields(const struct slot *slot);
int schema_fields(const struct schema *schema);

/* "age": the column of value `at` of a dense slot; at -1: of the whole slot, "age, price". Without
 * columns the slot's own name. Returns out; long texts end with "...". */
const char *slot_title(const struct slot *slot, int64_t at, char out[static SLOT_TITLE_MAX]);
/* For messages: `column "age" (slot dense_input)`, or `slot "C3" (4 of 27)`. Returns out. */
const char *slot_place(const struct schema *schema, int slot, int64_t at,
                       char out[static 2 * SLOT_TITLE_MAX]);

#endif
