/* Schema: which slots a sample has, in the order of set_use_var.
 *
 * A slot is a variable that is fed from data: dense (the same number of values in every sample) or
 * ragged (any number, cut by a LoD level). Values are float32 or int64; Paddle's "uint64" ids are
 * stored as int64 with the same bits.
 * Ownership: the schema owns names. Threads: read by many once it is built. */
#ifndef DATA_SLOT_H
#define DATA_SLOT_H

#include "tensor/tensor.h"

struct slot {
    char *name;
    enum dtype dtype; /* DTYPE_FP32 or DTYPE_INT64 */
    bool ragged;
    bool keep_zeros;    /* ragged: InMemoryDataset does not drop its zeros */
    struct shape shape; /* of a batch; dims[0] is -1; [-1, 1] for ragged slots */
    int64_t width;      /* values of one row: product of dims[1..]; 1 for ragged slots */
    /* Columns of the table that the values come from, in order, as their titles
     * (slot_columns.h): of a dense slot one for each value. NULL: not known. */
    char **columns;
    int ncolumns;
};

struct schema {
    struct slot *slots;
    int count;
};

void schema_init(struct schema *s);
void schema_deinit(struct schema *s);

/* Adds a slot as Paddle declares the variable: lod_level 0 is dense, above 0 ragged; dims[0] of
 * `shape` is the batch. Refuses: types other than float32 and int64, an unknown dim behind dims[0],
 * a name that is there already or empty. */
enum skiff_status schema_add(struct schema *s, const char *name, enum dtype dtype, int lod_level,
                             const struct shape *shape, struct skiff_error *err);
/* One more column that its values come from; the text is copied. */
void slot_add_column(struct slot *s, const char *text);
enum skiff_status schema_copy(struct schema *to, const struct schema *from,
                              struct skiff_error *err);
/* Position of the slot, or -1. */
int schema_find(const struct schema *s, const char *name);

/* Slots of samples that are no features: names that no network uses. A CSV reader takes a number as
 * it is written for the one, and the XXH64 of any text for the other. */
#define SLOT_WEIGHT "sample_weight"
#define SLOT_GROUP "sample_group"

/* The label of a sample, where a format has one: the slot named label, click or y, else the only
 * dense slot of width 1 but for these; -1 when there is none. */
int schema_label(const struct schema *s);

#endif
