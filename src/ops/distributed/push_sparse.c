/* distributed_push_sparse: the rows that one batch pushes to a sparse table.
 *
 *   Out, a row per distinct id: slot, show, click, gradients
 *
 * Gradients (Outputs[i], of the rows that were looked up for Ids[i]) are multiplied by the number
 * of samples, so that a loss that is a mean over the batch gives per-sample gradients; if the lists
 * have different numbers of samples, they are not scaled. Show and click are the sample's (Shows,
 * Clicks; without them, and for samples beyond them, 1 and 0), or, with use_cvm_op, columns 0 and 1
 * of the gradient, written by cvm_grad. Rows of one id are summed, except the slot: the first row's
 * is kept. A padding id is not pushed. push_dim: floats of a row of Out; the gradient's last
 * push_dim - 3 columns are pushed. */
#include <string.h>

#include "base/map.h"
#include "ops/distributed/distributed.h"

enum { PUSH_IDS, PUSH_W, PUSH_GRADS, PUSH_SHOWS, PUSH_CLICKS };
enum { PUSH_SLOTS, PUSH_PADDING, PUSH_CVM, PUSH_DIM };
enum { ROW_SLOT, ROW_SHOW, ROW_CLICK, ROW_GRADS };

struct sparse_push {
    struct id_map *map;
    int64_t padding, width; /* of a gradient's row */
    int64_t grads;          /* columns of it that are pushed: the last ones */
    int dim;                /* of Out's rows */
    bool cvm;
    float scale;
    const struct tensor *shows, *clicks; /* NULL: none */
    int64_t *ids;                        /* Out's */
    float *rows;
};

/* ---- samples ---- */

/* Where the ids of sample i end. */
static int64_t sample_end(const struct tensor *ids, int64_t i)
{
    int64_t per_row = ids->shape.dims[0] ? tensor_numel(ids) / ids->shape.dims[0] : 0;
    int64_t end = i + 1;
    for (int l = 0; ids->lod && l < ids->lod->nlevels; l++)
        end = ids->lod->level[l].off[end];
    return end * per_row;
}

static int64_t samples(const struct tensor *ids)
{
    return ids->lod && ids->lod->nlevels ? ids->lod->level[0].n - 1 : ids->shape.dims[0];
}

static float sample_value(const struct tensor *t, int64_t i, float fallback)
{
    return t && i < tensor_numel(t) ? tensor_f32(t)[i] : fallback;
}

/* ---- checks ---- */

static enum skiff_status check_list(const struct kernel *k, int i, int64_t width,
                                    struct skiff_error *err)
{
    const struct skiff_tensor *ids = kernel_in_value(k, PUSH_IDS, i);
    const struct skiff_tensor *g = kernel_in_value(k, PUSH_GRADS, i);
    if (!ids || ids->kind != VALUE_TENSOR || ids->tensor.dtype != DTYPE_INT64 ||
        !ids->tensor.data || ids->tensor.shape.ndim < 1)
        return kernel_fail(k, SKIFF_DTYPE, err, "%s must be an int64 tensor of ids",
                           kernel_in_name(k, PUSH_IDS, i));
    if (!g || g->kind != VALUE_TENSOR || g->tensor.dtype != DTYPE_FP32 || !g->tensor.data ||
        tensor_numel(&g->tensor) != tensor_numel(&ids->tensor) * width)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "%s must hold %lld floats for each of the %lld ids of %s",
                           kernel_in_name(k, PUSH_GRADS, i), (long long)width,
                           (long long)tensor_numel(&ids->tensor), kernel_in_name(k, PUSH_IDS, i));
    return lod_check(ids->tensor.lod, ids->tensor.shape.dims[0], kernel_in_name(k, PUSH_IDS, i),
                     err);
}

static enum skiff_status take_counts(const struct kernel *k, int slot, const struct tensor **out,
                                     struct skiff_error *err)
{
    *out = NULL;
    if (!kernel_in_count(k, slot))
        return SKIFF_OK;
    const struct skiff_tensor *v = kernel_in_value(k, slot, 0);
    if (!v || v->kind != VALUE_TENSOR || v->tensor.dtype != DTYPE_FP32 || !v->tensor.data)
        return kernel_fail(k, SKIFF_DTYPE, err,
                           "%s of ShowClickEntry must be a float32 tensor, one number a sample; "
                           "cast it",
                           kernel_in_name(k, slot, 0));
    *out = &v->tensor;
    return SKIFF_OK;
}

static enum skiff_status push_init(struct kernel *k, struct sparse_push *p, int64_t *total,
                                   struct skiff_error *err)
{
    struct shape w;
    int n = kernel_in_count(k, PUSH_IDS);
    bool agree = true;
    TRY(table_shape(k, &w, err));
    *p = (struct sparse_push){.map = &((struct remote *)k->state)->map,
                              .padding = k->attr[PUSH_PADDING].l,
                              .width = w.dims[1],
                              .dim = k->attr[PUSH_DIM].i,
                              .grads = k->attr[PUSH_DIM].i - ROW_GRADS,
                              .cvm = k->attr[PUSH_CVM].b};
    if (p->grads < 1 || p->grads > p->width || (p->cvm && p->width < 2) ||
        n != kernel_in_count(k, PUSH_GRADS) || n != k->attr[PUSH_SLOTS].n || !n)
        return kernel_fail(k, SKIFF_INVALID, err,
                           "%d lists of ids, %d of gradients, %d slots; push_dim %d for a table of "
                           "%lld floats a row",
                           n, kernel_in_count(k, PUSH_GRADS), k->attr[PUSH_SLOTS].n, p->dim,
                           (long long)p->width);
    *total = 0;
    for (int i = 0; i < n; i++) {
        TRY(check_list(k, i, p->width, err));
        *total += tensor_numel(kernel_in_at(k, PUSH_IDS, i));
        agree &= samples(kernel_in_at(k, PUSH_IDS, i)) == samples(kernel_in_at(k, PUSH_IDS, 0));
    }
    p->scale = agree ? (float)samples(kernel_in_at(k, PUSH_IDS, 0)) : 1;
    TRY(take_counts(k, PUSH_SHOWS, &p->shows, err));
    return take_counts(k, PUSH_CLICKS, &p->clicks, err);
}

/* ---- rows ---- */

static void add_id(struct sparse_push *p, int64_t id, int slot, float show, float click,
                   const float *g)
{
    bool fresh;
    uint32_t at = id_map_add(p->map, id, &fresh);
    float *row = p->rows + (size_t)at * (size_t)p->dim;
    const float *from = g + (p->width - p->grads), scale = p->scale;
    if (fresh) {
        p->ids[at] = id;
        row[ROW_SLOT] = (float)slot;
        row[ROW_SHOW] = show;
        row[ROW_CLICK] = click;
        for (int64_t d = 0; d < p->grads; d++)
            row[ROW_GRADS + d] = from[d] * scale;
        return;
    }
    row[ROW_SHOW] += show;
    row[ROW_CLICK] += click;
    for (int64_t d = 0; d < p->grads; d++)
        row[ROW_GRADS + d] += from[d] * scale;
}

static void add_list(struct sparse_push *p, const struct tensor *ids, int slot, const float *g)
{
    int64_t n = samples(ids), e = 0;
    for (int64_t i = 0; i < n; i++) {
        float show = sample_value(p->shows, i, 1), click = sample_value(p->clicks, i, 0);
        for (int64_t end = sample_end(ids, i); e < end; e++, g += p->width) {
            int64_t id = tensor_i64(ids)[e];
            if (id == p->padding)
                continue;
            if (p->cvm)
                add_id(p, id, slot, g[0], g[1], g);
            else
                add_id(p, id, slot, show, click, g);
        }
    }
}

enum skiff_status push_sparse_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    const struct remote *r = k->state;
    struct sparse_push p;
    int64_t total = 0;
    if (!out)
        return SKIFF_OK;
    TRY(push_init(k, &p, &total, err));
    TRY(value_as_rows(out, DTYPE_FP32, (size_t)total, p.dim, r->table->shape.dims[0], err));
    p.ids = out->sel.rows;
    p.rows = tensor_f32(&out->tensor);
    id_map_reset(p.map, (size_t)total);
    for (int i = 0; i < kernel_in_count(k, PUSH_IDS); i++)
        add_list(&p, kernel_in_at(k, PUSH_IDS, i), k->attr[PUSH_SLOTS].ints[i],
                 tensor_f32(kernel_in_at(k, PUSH_GRADS, i)));
    out->sel.nrows = p.map->count;
    out->tensor.shape.dims[0] = p.map->count;
    out->sel.distinct = true;
    out->sel.marks = 1;
    return SKIFF_OK;
}
