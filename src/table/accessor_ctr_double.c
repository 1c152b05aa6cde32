/* ctr_double (CtrDoubleAccessor): as ctr_common, with show and click as doubles, and in files
 *     unseen delta show click embed_w embed_state slot [embedx_state embedx_w] */
#include "table/accessor_ctr.h"

#include <string.h>

static enum skiff_status double_layout(struct accessor *a, struct skiff_error *err)
{
    TRY(ctr_layout(a, true, err));
    a->pulled += 2;
    return SKIFF_OK;
}

static void double_pull(const struct accessor *a, struct table_row *const *r, size_t n, float *out)
{
    size_t weights = (size_t)a->pulled - 2;
    for (size_t i = 0; i < n; i++, out += a->pulled) {
        if (!r[i]) {
            memset(out, 0, (size_t)a->pulled * sizeof *out);
            continue;
        }
        out[0] = (float)ctr_stat(a, r[i], a->show);
        out[1] = (float)ctr_stat(a, r[i], a->click);
        memcpy(out + 2, r[i]->values + a->embed_w, weights * sizeof *out);
    }
}

static void double_push(const struct accessor *a, struct table_row *const *r, size_t n,
                        const float *rows)
{
    ctr_push(a, r, n, rows, a->options.ctr.show_scale);
}

static int double_numbers(const struct accessor *a, const struct table_row *r, double *out)
{
    int states = ctr_embed_states(a), xstates = ctr_embedx_states(a), at = 5 + states;
    ctr_stats_out(a, r, out);
    ctr_copy_out(r, a->embed_state, states, out + 5);
    out[at++] = r->values[a->slot];
    if (!ctr_prints_embedx(a, r))
        return at;
    ctr_copy_out(r, a->embedx_state, xstates, out + at);
    ctr_copy_out(r, a->embedx_w, a->options.embedx, out + at + xstates);
    return at + xstates + a->options.embedx;
}

static enum skiff_status double_take(const struct accessor *a, const double *numbers, int n,
                                     struct table_row *r, struct skiff_error *err)
{
    int states = ctr_embed_states(a), xstates = ctr_embedx_states(a), least = 6 + states;
    if (n != least && n != least + xstates + a->options.embedx)
        return ctr_wrong_count(a, r, n, err);
    ctr_stats_in(a, r, numbers);
    ctr_copy_in(r, a->embed_state, states, numbers + 5);
    r->values[a->slot] = (float)numbers[5 + states];
    if (n == least)
        return SKIFF_OK;
    r->stamp |= CTR_EMBEDX;
    ctr_copy_in(r, a->embedx_state, xstates, numbers + least);
    ctr_copy_in(r, a->embedx_w, a->options.embedx, numbers + least + xstates);
    return SKIFF_OK;
}

const struct accessor_class accessor_ctr_double = {
    .name = "ctr_double",
    .paddle = "CtrDoubleAccessor",
    CTR_CLASS,
    .layout = double_layout,
    .pull = double_pull,
    .push = double_push,
    .numbers = double_numbers,
    .take = double_take,
    .columns = {.least = 6,
                .statistics = true,
                .unseen = 0,
                .delta = 1,
                .show = 2,
                .click = 3,
                .embed_w = 4},
    .counts_pulled = true,
    .cached = true,
};
