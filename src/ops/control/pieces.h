/* Pieces: rows or sequences picked from tensors, in any order, with the lod levels below them. */
#ifndef OPS_PIECES_H
#define OPS_PIECES_H

#include "ops/seq_common.h"

struct piece {
    const struct tensor *from;
    int64_t unit; /* a sequence of the level; a row where there is no such level */
};

/* Sequences of a level, or rows. */
static inline int64_t unit_count(const struct tensor *t, int level)
{
    return t->lod && level < t->lod->nlevels ? t->lod->level[level].n - 1 : t->shape.dims[0];
}

/* `out` = the pieces one after the other; its lod: the first `skip` levels of `above`, then those
 * of the pieces from `level` on. All pieces come from tensors of one type, width and number of
 * levels; like: one of them. `out` is none of them. */
enum skiff_status pieces_join(struct kernel *k, const struct piece *p, int64_t n, int level,
                              const struct tensor *like, const struct lod *above, int skip,
                              struct skiff_tensor *out, struct skiff_error *err);

#endif
