/* Declarations that the files of this module share. */
#ifndef SPARSE_SPARSE_PARTS_H
#define SPARSE_SPARSE_PARTS_H

#include "sparse/sparse.h"
#include "table/table_snapshot.h"

/* Number of table slots that are processed under one hold of the lock: well under a millisecond. */
#define SPARSE_PIECE 4096

/* Creates a table from the settings; stage: a second one, for rows that are being loaded. */
enum skiff_status sparse_make_table(struct sparse_table *t, bool stage, struct table **out,
                                    struct skiff_error *err);
/* STATE: the server ends. */
enum skiff_status sparse_check_stop(const struct sparse_table *t, struct skiff_error *err);
/* The same, and gives way to threads that wait for the lock, which is not held. */
enum skiff_status sparse_pause(const struct sparse_table *t, struct skiff_error *err);

#endif
