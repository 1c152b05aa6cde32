/* Index of ids: from a 64-bit id to the place of its record in pages, whose first eight bytes are
 * the id. Linear hashing: buckets of one cache line are split one after the other, one for every
 * six ids that come, so that it grows with its ids, copies nothing but that one bucket, and is
 * never rehashed as a whole. It does not get smaller. About 11 bytes an id.
 * Threads: one owner. */
#ifndef TABLE_ID_INDEX_H
#define TABLE_ID_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/pages.h"

#define ID_INDEX_MANY 64

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

/* Ids in another order, a number for each: those of one bucket lie next to each other, before and
 * after buckets are split. */
uint64_t id_position(int64_t id);
/* Those of the bucket at this position that are at it or after it, in order, at most ID_INDEX_MANY;
 * *out_last: all up to this position have been given. How many. */
size_t id_index_after(const struct id_index *x, uint64_t position, uint32_t *places,
                      uint64_t *positions, uint64_t *out_last);

/* Finding many ids, at most ID_INDEX_MANY at once, takes three steps, so that memory has time to
 * answer in between; other ids' steps lie there. */
struct id_ahead {
    const void *line[ID_INDEX_MANY]; /* of the bucket */
    uint8_t tag[ID_INDEX_MANY];
    uint32_t place[ID_INDEX_MANY]; /* of the record, most likely */
};

/* 1: asks memory for the buckets of n ids (unaligned). */
void id_index_ahead(const struct id_index *x, const uint8_t *ids, size_t n, struct id_ahead *out);
/* 2: looks into the buckets and asks for the first `span` bytes of the records. */
void id_index_near(const struct id_index *x, size_t n, size_t span, struct id_ahead *ahead);
/* 3: places[i], records[i], PAGES_NONE and NULL for ids that are not there. An id that came in
 * after the first step may not be found. */
void id_index_find_many(const struct id_index *x, const struct id_ahead *ahead, const uint8_t *ids,
                        size_t n, uint32_t *places, void **records);
uint32_t id_index_find(const struct id_index *x, int64_t id); /* PAGES_NONE */
/* The id is not there yet, and its record is at this place. NOMEM: nothing has changed. */
enum skiff_status id_index_add(struct id_index *x, int64_t id, uint32_t place,
                               struct skiff_error *err);
/* Its place, PAGES_NONE: it was not there. */
uint32_t id_index_remove(struct id_index *x, int64_t id);
/* Bytes that so many more ids would add to id_index_bytes, or less: overflow lines are foretold
 * with an eighth to spare. */
size_t id_index_growth(const struct id_index *x, size_t ids);
size_t id_index_bytes(const struct id_index *x);
bool id_index_prepare(struct id_index *x); /* see pages_prepare */

#endif
