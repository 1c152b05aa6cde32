/* sparse (SparseAccessor): embed and embedx are pulled; gradients are always divided by the shows
 * of the push. */
#include "table/accessor_ctr.h"

static enum skiff_status sparse_layout(struct accessor *a, struct skiff_error *err)
{
    return ctr_layout(a, false, err);
}

static void sparse_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    accessor_copy(a, r, n, a->embed_w, out);
}

static void sparse_push(const struct accessor *a, struct table_row *const *r, size_t n,
                        const float *rows)
{
    ctr_push(a, r, n, rows, true);
}

const struct accessor_class accessor_sparse = {
    .name = "sparse",
    .paddle = "SparseAccessor",
    CTR_CLASS,
    .layout = sparse_layout,
    .pull = sparse_pull,
    .push = sparse_push,
    .numbers = ctr_numbers,
    .take = ctr_take,
    .columns = CTR_COLUMNS,
};
