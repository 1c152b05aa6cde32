/* plain: weights, and a row for each state of an optimizer, side by side:
 *     w[0 .. width) state_0[0 .. ) state_1[0 .. ) ...
 * The weights are pulled. The caller applies gradients (table_each, table_gather); stamp is the
 * last step applied to the row, for rules that defer updates (src/rules). In files all numbers have
 * nine digits, which restore the same floats. */
#include "table/accessor.h"

#include <inttypes.h>

static enum skiff_status plain_layout(struct accessor *a, struct skiff_error *err)
{
    if (a->options.nparts < 1 || a->options.nparts > ACCESSOR_PARTS)
        return error_set(err, SKIFF_INVALID, "accessor plain: %d parts; the range is 1 to %d",
                         a->options.nparts, ACCESSOR_PARTS);
    for (int i = 0; i < a->options.nparts; i++) {
        int width = a->options.parts[i].width;
        if (width < 1 || width > ACCESSOR_WIDTH)
            return error_set(err, SKIFF_INVALID, "accessor plain: part %d of %d numbers", i, width);
        a->width += width;
    }
    a->pulled = a->options.parts[0].width;
    a->pull_span = sizeof(struct table_row) + (size_t)a->pulled * sizeof(float);
    return SKIFF_OK;
}

static void plain_start(const struct accessor *a, struct table_row *r)
{
    float *to = r->values;
    for (int i = 0; i < a->options.nparts; i++) {
        const struct accessor_part *part = &a->options.parts[i];
        fill_row(&part->fill, r->id, to, (size_t)part->width);
        to += part->width;
    }
}

static void plain_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    accessor_copy(a, r, n, 0, out);
}

static bool plain_ages(const struct accessor *a)
{
    return false;
}

static bool plain_expire(const struct accessor *a, struct table_row *r)
{
    return false;
}

static bool plain_save_changes(const struct accessor *a, const struct table_row *r, int mode)
{
    return false;
}

static bool plain_save(const struct accessor *a, struct table_row *r, int mode)
{
    return true;
}

static void plain_saved(const struct accessor *a, struct table_row *r, int mode, bool written) {}

static int plain_numbers(const struct accessor *a, const struct table_row *r, double *out)
{
    for (int i = 0; i < a->width; i++)
        out[i] = r->values[i];
    return a->width;
}

static enum skiff_status plain_take(const struct accessor *a, const double *numbers, int n,
                                    struct table_row *r, struct skiff_error *err)
{
    if (n != a->width && n != a->pulled)
        return error_set(err, SKIFF_FORMAT,
                         "key %" PRIu64 ": %d numbers; %d (weights) or %d (with the optimizer's "
                         "state) are needed",
                         (uint64_t)r->id, n, a->pulled, a->width);
    for (int i = 0; i < n; i++)
        r->values[i] = (float)numbers[i];
    return SKIFF_OK;
}

const struct accessor_class accessor_plain = {
    .name = "plain",
    .layout = plain_layout,
    .start = plain_start,
    .pull = plain_pull,
    .ages = plain_ages,
    .expire = plain_expire,
    .save_changes = plain_save_changes,
    .save = plain_save,
    .saved = plain_saved,
    .numbers = plain_numbers,
    .take = plain_take,
    .digits = 9,
    .columns = {.least = 1},
};
