/* The records that hash and tiered have in memory: pages of them, an index, and where there is a
 * limit, who leaves at it. For these two kinds. */
#ifndef TABLE_TABLE_HASH_H
#define TABLE_TABLE_HASH_H

#include "table/id_index.h"
#include "table/leaving.h"
#include "table/table.h"

struct hash {
    struct table t;
    struct pages records;
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
void hash_ahead(const struct table *t, const uint8_t *ids, size_t n, struct id_ahead *out);
void hash_near(const struct table *t, const uint8_t *ids, size_t n, size_t span,
               struct id_ahead *ahead);
bool hash_prepare(struct table *t);
/* The last step: records that are in memory; how many are. Records may have left since `near`. */
size_t hash_find_here(const struct hash *h, const struct id_ahead *ahead, const uint8_t *ids,
                      size_t n, uint32_t *places, struct record **out);
/* A record for an id that has none here: a new one, or a copy of `from` with these bits of
 * leaving.h. */
enum skiff_status hash_make(struct hash *h, int64_t id, const struct record *from, uint8_t bits,
                            uint32_t *out, struct skiff_error *err);
/* Ids that have no record and are let in get one. */
enum skiff_status hash_make_absent(struct hash *h, const uint8_t *ids, size_t n, unsigned how,
                                   uint32_t *places, struct record **out, struct skiff_error *err);
/* They are used: table_touch when they will be changed, and for who leaves. */
void hash_use(struct hash *h, size_t n, unsigned how, const uint32_t *places,
              struct record *const *records);
/* Its record is no more. */
void hash_take_out(struct hash *h, uint32_t place);

/* Records leave, by `leave` (which calls hash_take_out), until n more have room, or nobody may
 * leave: the table is held. */
typedef enum skiff_status hash_leave_fn(struct hash *h, uint32_t place, struct skiff_error *err);
enum skiff_status hash_make_room(struct hash *h, size_t n, hash_leave_fn *leave,
                                 struct skiff_error *err);
/* The last n places, or fewer, are given up; records there leave. */
enum skiff_status hash_give_up(struct hash *h, uint32_t n, hash_leave_fn *leave,
                               struct skiff_error *err);

#endif
