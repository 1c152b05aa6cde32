/* Tokens: what the readers of named values share (slot_text, sign_slot, libffm, csv): values that
 * come one by one, in any order, for slots of any kind. */
#ifndef DATA_TOKENS_H
#define DATA_TOKENS_H

#include "data/reader.h"

/* How many values each dense slot of the row has got. */
struct row_fill {
    int *dense; /* per slot */
    int count;
    int strange; /* a name of this row that matches no slot but resembles one; -1: none */
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
/* Records a name of the row that matches no slot. */
void row_fill_strange(struct row_fill *f, const struct batch *b, struct name_table *names,
                      const char *p, size_t n);
/* Before the end of a row of named values: INVALID when a slot has no value and a strange name
 * looks like its own, NOT_FOUND when it has no label (slot; -1: it needs none). */
enum skiff_status row_fill_named(const struct row_fill *f, const struct name_table *names,
                                 const struct batch *b, int label, struct skiff_error *err);
/* The slot that rows of this config must have as their label, or -1. */
int row_label(const struct reader_config *config, const struct schema *schema);
/* Ends the row; a dense slot that got some of its values but not all is an error. On failure the
 * row is gone. */
enum skiff_status row_fill_end(struct row_fill *f, struct batch *b, struct skiff_error *err);

/* What readers of lines of `name:value` have in common; their own struct begins with it. */
struct named_reader {
    struct reader base;
    struct name_table names;
    struct row_fill fill;
    uint64_t mod; /* ids modulo this; 0: as they are */
    int skip;     /* slot of a label that is ignored, or -1 */
    int label;    /* slot that every row must have, or -1 */
};

/* size: of the reader's own struct, the rest of which is 0. label_name: as name_table_init's. */
enum skiff_status named_reader_create(size_t size, const struct reader_class *of,
                                      const struct reader_config *config,
                                      const struct schema *schema, const char *label_name,
                                      struct reader **out, struct skiff_error *err);
void named_reader_destroy(struct reader *base);
/* Ends the row whose tokens were taken with this status; on failure the row is gone. */
enum skiff_status named_reader_end(struct named_reader *r, struct batch *b,
                                   enum skiff_status status, struct skiff_error *err);
const struct strange_names *named_reader_strange(const struct reader *base);

#endif
