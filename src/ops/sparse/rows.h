/* Merging of selected rows: distinct ids, values summed in input order. Shared by the optimizers,
 * sum, merge_selected_rows, clip_by_norm. float32 or float64. */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include "base/map.h"
#include "program/kernel.h"

struct rows_merged {
    const int64_t *ids; /* distinct */
    const void *values; /* of dtype */
    enum dtype dtype;   /* float32 where there are no rows */
    size_t n;
    int64_t width, height;
};

enum rows_order {
    ROWS_ANY,       /* order of first appearance */
    ROWS_AS_PADDLE, /* ascending if some id occurs twice, otherwise in input order */
    ROWS_ASCENDING,
};

/* Merges in[0..n) (values of kind ROWS; those without rows are skipped). The result is in the
 * kernel's scratch, or in the only input if nothing needs merging; valid until the kernel returns.
 * `map` is the kernel's own, kept between steps. Fails with SHAPE if heights or widths differ, with
 * RANGE if an id is not in [0, height). */
enum skiff_status rows_merge(struct kernel *k, struct id_map *map, struct skiff_tensor *const *in,
                             int n, enum rows_order order, struct rows_merged *out,
                             struct skiff_error *err);

/* Fails with RANGE unless all ids of the value are in [0, height); names
 * variable, id and height. */
enum skiff_status rows_check(const struct kernel *k, const struct skiff_tensor *v, int64_t height,
                             const char *name, struct skiff_error *err);

static inline int64_t rows_width(const struct skiff_tensor *v)
{
    return shape_cols(&v->tensor.shape, 1);
}

/* Sorts keys ascending; order[i] is the old index of key i. Both arrays have n elements, followed
 * by n elements of scratch. */
void rows_sort(int64_t *keys, uint32_t *order, size_t n);

#endif
