/* LoD: how the rows of a tensor are cut into sequences (ragged batches).
 * Level k holds offsets: starts at 0, never decreases; the last offset of level k is the number of
 * sequences of level k+1; the last offset of the lowest level is dimension 0 of the tensor.
 * A lod is shared by reference and never changed while shared. refs is changed with atomics: a
 * feed's lod may be shared by several plans. NULL means "no lod" everywhere. */
#ifndef TENSOR_LOD_H
#define TENSOR_LOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LOD_MAX_LEVELS 4

struct lod_level {
    int64_t *off;
    int64_t n; /* offsets, i.e. sequences + 1 */
};

struct lod {
    int refs;
    int nlevels;
    struct lod_level level[LOD_MAX_LEVELS];
    size_t cap; /* offsets there is room for, over all levels */
    int64_t store[];
};

struct lod *lod_ref(struct lod *l); /* NULL gives NULL */
void lod_unref(struct lod *l);      /* NULL is fine */

/* Makes *slot a lod that the caller alone holds, with nlevels levels of counts[k] offsets each
 * (contents undefined): reuses the object in *slot when nobody else holds it and it is large
 * enough, so that a steady step allocates nothing. */
enum skiff_status lod_build(struct lod **slot, int nlevels, const int64_t *counts,
                            struct skiff_error *err);
/* Checks the rules above against dimension 0. `what` names the variable for the message. */
enum skiff_status lod_check(const struct lod *l, int64_t dim0, const char *what,
                            struct skiff_error *err);
int lod_equal(const struct lod *a, const struct lod *b);

/* The lowest level, the one that cuts rows. */
static inline const struct lod_level *lod_last(const struct lod *l)
{
    return l && l->nlevels ? &l->level[l->nlevels - 1] : NULL;
}

#endif
