/* sparse (SparseAccessor): embed and embedx are pulled; gradients are always divided by the shows
 * of the push. */
#include "table/accessor_ctr.h"

#include <string.h>

static enum skiff_status sparse_layout(struct accessor *a, struct skiff_error *err)
{
    return ctr_layout(a, false, err);
}

static void sparse_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    size_t width = (size_t)a->pulled;
    for (size_t i = 0; i < n; i++, out += width) {
        if (r[i])
            row_copy(out, r[i]->values + a->embed_w, width);
        else
            memset(out, 0, width * sizeof *out);
    }
}

static void sparse_push(const struct accessor *a, struct table_row *const *r, size_t n,
                        const float *rows)
{
    ctr_push(a, r, n, rows, true);
}

const struct accessor_class accessor_sparse = {
    .name = "sparse",
    .paddle = "SparseAccessor",
    .layout = sparse_layout,
    .start = ctr_start,
    .pull = sparse_pull,
    .push = sparse_push,
    .ages = ctr_ages,
    .expire = ctr_expire,
    .score = ctr_row_score,
    .unseen = ctr_row_unseen,
    .save_changes = ctr_save_changes,
    .save = ctr_save,
    .saved = ctr_saved,
    .numbers = ctr_numbers,
    .take = ctr_take,
    .digits = 6,
    .columns = CTR_COLUMNS,
};
