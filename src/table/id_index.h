/* Index of ids: from a 64-bit id to the place of its record in pages, whose first eight bytes are
 * the id. Linear hashing: buckets of one cache line are split one after the other, one for every
 * six ids that come, so that it grows with its ids, copies nothing but that one bucket, and is never
 * rehashed as a whole. It does not get smaller. About 11 bytes an id.
 * Threads: one owner. */
#ifndef TABLE_ID_INDEX_H
#define TABLE_ID_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/pages.h"

struct id_index {
    struct pages lines;          /* bucket b is line b */
    struct pages overflow;       /* lines of buckets that have more ids than fit */
    const struct pages *records; /* borrowed */
    uint32_t count;
    uint32_t mask; /* of the round of splits that is going on: 2^k - 1, with top <= 2^k */
};

enum skiff_status id_index_init(struct id_index *x, const struct pages *records,
                                struct skiff_error *err);
void id_index_deinit(struct id_index *x);

/* Asks memory for the buckets of n ids (unaligned). */
void id_index_ahead(const struct id_index *x, const uint8_t *ids, size_t n);
/* places[i], records[i] of n ids, PAGES_NONE and NULL for those that are not there. The first
 * `span` bytes of the records found are on their way to the cache. */
void id_index_find_many(const struct id_index *x, const uint8_t *ids, size_t n, size_t span,
                        uint32_t *places, void **records);
uint32_t id_index_find(const struct id_index *x, int64_t id); /* PAGES_NONE */
/* The id is not there yet, and its record is at this place. NOMEM: nothing has changed. */
enum skiff_status id_index_add(struct id_index *x, int64_t id, uint32_t place,
                               struct skiff_error *err);
/* Its place, PAGES_NONE: it was not there. */
uint32_t id_index_remove(struct id_index *x, int64_t id);
size_t id_index_bytes(const struct id_index *x);

#endif
