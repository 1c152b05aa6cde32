/* Tokens: what the readers of named values share (slot_text, sign_slot, libffm, csv): values that
 * come one by one, in any order, for slots of any kind. */
#ifndef DATA_TOKENS_H
#define DATA_TOKENS_H

#include "data/reader.h"

/* How many values each dense slot of the row has got. */
struct row_fill {
    int *dense; /* per slot */
    int count;
};

void row_fill_init(struct row_fill *f, const struct schema *schema);
void row_fill_deinit(struct row_fill *f);
/* A row begins: dense values are 0 until they are given. */
void row_fill_begin(struct row_fill *f, struct batch *b);
/* The value in p[0..n), a number, for a slot; FORMAT (not the slot's type, one value too many),
 * NOMEM. mod: ids modulo this; 0: as they are. 8 bytes behind the value may be read, and the byte
 * behind it is no digit. */
enum skiff_status row_fill_put(struct row_fill *f, struct batch *b, int slot, const char *p,
                               size_t n, uint64_t mod, struct skiff_error *err);
/* Ends the row; a dense slot that got some of its values but not all is an error. On failure the
 * row is gone. */
enum skiff_status row_fill_end(struct row_fill *f, struct batch *b, struct skiff_error *err);

#endif
