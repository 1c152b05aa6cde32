/* The records that hash and tiered have in memory: pages of them, an index, and, if there is a
 * limit, the choice of records that leave. For these two kinds. */
#ifndef TABLE_TABLE_HASH_H
#define TABLE_TABLE_HASH_H

#include "table/id_index.h"
#include "table/leaving.h"
#include "table/table.h"

struct hash {
    struct table t;
    struct pages row_list;
    struct id_index index;
    size_t budget; /* bytes of all this; SIZE_MAX: no limit, and leaving is not used */
    struct leaving leaving;
};

/* INVALID: the options do not fit, or the budget is too small for a few blocks of records. */
enum skiff_status hash_init(struct hash *h, const struct table_options *o, size_t budget,
                            struct skiff_error *err);
void hash_deinit(struct hash *h);
size_t hash_held(const struct hash *h); /* bytes */

/* table_class.ahead and near, of the records in memory */
void hash_prefetch(const struct table *t, const uint8_t *ids, size_t n, struct id_prefetch *out);
void hash_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
               struct id_prefetch *prefetch);
bool hash_prepare(struct table *t);
/* The last step: records in memory; returns how many there are. Records may have left since
 * `near`. */
size_t hash_find_here(const struct hash *h, const struct id_prefetch *prefetch, const uint8_t *ids,
                      size_t n, uint32_t *slots, struct table_row **out);
/* A record for an id that has none here: a new one, or a copy of `from` with these bits of
 * leaving.h. */
enum skiff_status hash_insert(struct hash *h, int64_t id, const struct table_row *from,
                              uint8_t bits, uint32_t *out, struct skiff_error *err);
/* Creates records for ids without one, if they are admitted. */
enum skiff_status hash_make_absent(struct hash *h, const uint8_t *ids, size_t n, unsigned how,
                                   uint32_t *slots, struct table_row **out,
                                   struct skiff_error *err);
/* Marks them as used: table_touch if they will be changed, and the time of use for leaving. */
void hash_use(struct hash *h, size_t n, unsigned how, const uint32_t *slots,
              struct table_row *const *row_list);
/* Removes the record. */
void hash_take_out(struct hash *h, uint32_t slot);

/* Records leave, by `leave` (which calls hash_take_out), until there is space for n more, or none
 * may leave: the table is held. */
typedef enum skiff_status hash_leave_fn(struct hash *h, uint32_t slot, struct skiff_error *err);
enum skiff_status hash_make_space(struct hash *h, size_t n, hash_leave_fn *leave,
                                  struct skiff_error *err);
/* Gives up the last n slots, or fewer; records there leave. */
enum skiff_status hash_give_up(struct hash *h, uint32_t n, hash_leave_fn *leave,
                               struct skiff_error *err);

#endif
