/* Index of ids: from a 64-bit id to the slot of its record in pages, whose first eight bytes are
 * the id. Linear hashing: buckets of one cache line are split one after the other, one for every
 * six new ids, so that the index grows with its ids, copies only that one bucket, and is never
 * rehashed completely. It does not shrink. About 11 bytes per id. Threads: one owner. */
#ifndef TABLE_ID_INDEX_H
#define TABLE_ID_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "table/pages.h"

#define ID_INDEX_MANY 64

struct id_index {
    struct pages lines;           /* bucket b is line b */
    struct pages overflow;        /* lines of buckets that have more ids than fit */
    const struct pages *row_list; /* borrowed */
    uint32_t count;
    uint32_t mask; /* of the current round of splits: 2^k - 1, with top <= 2^k */
};

enum skiff_status id_index_init(struct id_index *x, const struct pages *row_list,
                                struct skiff_error *err);
void id_index_deinit(struct id_index *x);

/* A permutation of the ids: those of one bucket are neighbours, before and after buckets are
 * split. */
uint64_t id_position(int64_t id);
/* The ids of the bucket at this position that are at it or after it, in order, at most
 * ID_INDEX_MANY; *out_last: all up to this position have been returned. Returns how many. */
size_t id_index_after(const struct id_index *x, uint64_t position, uint32_t *row_slots,
                      uint64_t *positions, uint64_t *out_last);

/* Finding many ids, at most ID_INDEX_MANY at once, takes three steps, so that memory has time to
 * answer in between, while steps for other ids run. */
struct id_prefetch {
    const void *line[ID_INDEX_MANY]; /* of the bucket */
    uint8_t tag[ID_INDEX_MANY];
    uint32_t row_slot[ID_INDEX_MANY]; /* of the record, most likely */
};

/* 1: prefetches the buckets of n ids (unaligned). */
void id_index_prefetch(const struct id_index *x, const uint8_t *ids, size_t n,
                       struct id_prefetch *out);
/* 2: searches the buckets and prefetches the first `span` bytes of the records. */
void id_index_near(const struct id_index *x, size_t n, size_t span, struct id_prefetch *prefetch);
/* 3: places[i], records[i], PAGES_NONE and NULL for missing ids. An id that was added after the
 * first step may not be found. */
void id_index_find_many(const struct id_index *x, const struct id_prefetch *prefetch,
                        const uint8_t *ids, size_t n, uint32_t *row_slots, void **row_list);
uint32_t id_index_find(const struct id_index *x, int64_t id); /* PAGES_NONE */
/* The id is new, and its record is in this slot. NOMEM: nothing has changed. */
enum skiff_status id_index_add(struct id_index *x, int64_t id, uint32_t row_slot,
                               struct skiff_error *err);
/* Its slot, PAGES_NONE: it was not there. */
uint32_t id_index_remove(struct id_index *x, int64_t id);
/* Bytes that this many more ids would add to id_index_bytes, or fewer: overflow lines are estimated
 * with an eighth to spare. */
size_t id_index_growth(const struct id_index *x, size_t ids);
size_t id_index_bytes(const struct id_index *x);
bool id_index_prepare(struct id_index *x); /* see pages_prepare */

#endif
