/* ctr_common (CtrCommonAccessor): show, click, embed and embedx are pulled; gradients are divided
 * by the shows of the push if show_scale is set. */
#include "table/accessor_ctr.h"

static enum skiff_status common_layout(struct accessor *a, struct skiff_error *err)
{
    TRY(ctr_layout(a, false, err));
    a->pulled += 2;
    return SKIFF_OK;
}

/* These values are in this order at the front of the record. */
static void common_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    accessor_copy(a, r, n, 0, out);
}

static void common_push(const struct accessor *a, struct table_row *const *r, size_t n,
                        const float *rows)
{
    ctr_push(a, r, n, rows, a->options.ctr.show_scale);
}

const struct accessor_class accessor_ctr_common = {
    .name = "ctr_common",
    .paddle = "CtrCommonAccessor",
    CTR_CLASS,
    .layout = common_layout,
    .pull = common_pull,
    .push = common_push,
    .numbers = ctr_numbers,
    .take = ctr_take,
    .columns = CTR_COLUMNS,
    .counts_pulled = true,
    .cached = true,
};
