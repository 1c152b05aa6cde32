#include "ops/control/pieces.h"

/* How many offsets the pieces need on each level from `level` on. */
static void pieces_measure(const struct piece *p, int64_t n, int level, int levels, int64_t *counts,
                           int64_t *rows)
{
    *rows = 0;
    for (int l = 0; l < levels; l++)
        counts[l] = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = p[i].unit, to = from + 1;
        for (int l = 0; l < levels; l++) {
            counts[l] += to - from;
            from = p[i].from->lod->level[level + l].off[from];
            to = p[i].from->lod->level[level + l].off[to];
        }
        *rows += to - from;
    }
}

static void pieces_fill(const struct piece *p, int64_t n, int level, int levels, struct lod *lod,
                        int skip, char *data, size_t bytes)
{
    int64_t at[LOD_MAX_LEVELS] = {0}, row = 0;
    for (int l = 0; l < levels; l++)
        lod->level[skip + l].off[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = p[i].unit, to = from + 1;
        for (int l = 0; l < levels; l++) {
            const int64_t *off = p[i].from->lod->level[level + l].off;
            struct lod_level *to_level = &lod->level[skip + l];
            for (int64_t u = from; u < to; u++, at[l]++)
                to_level->off[at[l] + 1] = to_level->off[at[l]] + off[u + 1] - off[u];
            from = off[from];
            to = off[to];
        }
        rows_move(data + (size_t)row * bytes, (const char *)p[i].from->data + (size_t)from * bytes,
                  to - from, bytes);
        row += to - from;
    }
}

enum skiff_status pieces_join(struct kernel *k, const struct piece *p, int64_t n, int level,
                              const struct tensor *like, const struct lod *above, int skip,
                              struct skiff_tensor *out, struct skiff_error *err)
{
    int have = like->lod ? like->lod->nlevels : 0, levels = have > level ? have - level : 0;
    int64_t counts[2 * LOD_MAX_LEVELS], rows;
    struct shape s = like->shape;
    struct lod *lod = NULL;
    if (like->shape.ndim < 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "a tensor without dimensions has no rows");
    if (skip + levels > LOD_MAX_LEVELS)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "more than %d lod levels", LOD_MAX_LEVELS);
    pieces_measure(p, n, level, levels, counts + skip, &rows);
    for (int l = 0; l < skip; l++)
        counts[l] = above->level[l].n;
    s.dims[0] = rows;
    if (skip + levels)
        TRY(lod_build(&lod, skip + levels, counts, err));
    enum skiff_status status = value_as_tensor(out, like->dtype, &s, err);
    if (status == SKIFF_OK) {
        for (int l = 0; l < skip; l++)
            bytes_copy(lod->level[l].off, above->level[l].off, (size_t)counts[l] * sizeof(int64_t));
        pieces_fill(p, n, level, levels, lod, skip, out->tensor.data,
                    (size_t)shape_cols(&s, 1) * dtype_size(like->dtype));
        lod_unref(out->tensor.lod);
        out->tensor.lod = lod_ref(lod);
    }
    lod_unref(lod);
    return status;
}
