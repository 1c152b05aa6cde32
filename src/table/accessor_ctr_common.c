/* ctr_common (CtrCommonAccessor): show, click, embed and embedx are pulled; gradients are divided
 * by the shows of the push if show_scale is set. */
#include "table/accessor_ctr.h"

#include <string.h>

static enum skiff_status common_layout(struct accessor *a, struct skiff_error *err)
{
    TRY(ctr_layout(a, false, err));
    a->pulled += 2;
    return SKIFF_OK;
}

/* These values are in this order at the front of the record. */
static void common_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    size_t width = (size_t)a->pulled;
    for (size_t i = 0; i < n; i++, out += width) {
        if (r[i])
            row_copy(out, r[i]->values, width);
        else
            memset(out, 0, width * sizeof *out);
    }
}

static void common_push(const struct accessor *a, struct table_row *const *r, size_t n,
                        const float *rows)
{
    ctr_push(a, r, n, rows, a->options.ctr.show_scale);
}

const struct accessor_class accessor_ctr_common = {
    .name = "ctr_common",
    .paddle = "CtrCommonAccessor",
    .layout = common_layout,
    .start = ctr_start,
    .pull = common_pull,
    .push = common_push,
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
