#include "analysis/kept_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static enum skiff_status read_batches(struct kept_rows *k, struct scan *scan,
                                      struct file_cursor *cursor, int64_t most,
                                      struct skiff_error *err)
{
    while (k->rows < most) {
        int64_t want = most - k->rows < k->batch_size ? most - k->rows : k->batch_size;
        k->batches = mem_grow_or_die(k->batches, ((size_t)k->n + 1) * sizeof *k->batches);
        struct batch *b = &k->batches[k->n];
        memset(b, 0, sizeof *b);
        TRY(batch_init(b, scan->plan->schema, want, err));
        k->n++;
        TRY(batch_reset(b, err));
        enum skiff_status status = scan_fill(scan, cursor, b, want, err);
        if (status < 0)
            return status;
        batch_finish(b);
        k->rows += b->rows;
        if (status == SKIFF_END || b->rows < want)
            break;
    }
    return SKIFF_OK;
}

enum skiff_status kept_rows_read(struct kept_rows *k, const struct scan_plan *plan,
                                 const struct file_list *files, int64_t most, int64_t batch_size,
                                 struct skiff_error *err)
{
    struct scan scan;
    struct file_cursor cursor = {.files = files};
    *k = (struct kept_rows){.batch_size = batch_size};
    TRY(scan_open(&scan, plan, err));
    enum skiff_status status = read_batches(k, &scan, &cursor, most, err);
    scan_close(&scan);
    while (k->n && !k->batches[k->n - 1].rows)
        batch_deinit(&k->batches[--k->n]);
    return status;
}

void kept_rows_deinit(struct kept_rows *k)
{
    for (int i = 0; i < k->n; i++)
        batch_deinit(&k->batches[i]);
    free(k->batches);
    *k = (struct kept_rows){0};
}

/* ---- permuted batches ---- */

static const struct batch *batch_of(const struct kept_rows *k, int64_t row, int64_t *in)
{
    *in = row % k->batch_size;
    return &k->batches[row / k->batch_size];
}

static bool is_whole(const struct feature *f, int slot)
{
    for (int i = 0; i < f->nparts; i++)
        if (f->parts[i].slot == slot && f->parts[i].at < 0)
            return true;
    return false;
}

static bool copy_ragged(const struct column *from, int64_t row, struct column *to)
{
    bool good = true;
    for (int64_t v = from->offsets[row]; good && v < from->offsets[row + 1]; v++)
        good = from->dtype == DTYPE_FP32 ? column_add_f32(to, from->f32[v])
                                         : column_add_i64(to, from->i64[v]);
    return good;
}

static void copy_dense(const struct column *from, int64_t row, struct column *to, int64_t to_row)
{
    size_t size = dtype_size(from->dtype) * from->width;
    memcpy((char *)to->data + (size_t)to_row * size, (const char *)from->data + (size_t)row * size,
           size);
}

static void copy_value(const struct column *from, int64_t row, struct column *to, int64_t to_row,
                       int at)
{
    size_t size = dtype_size(from->dtype), width = from->width;
    memcpy((char *)to->data + ((size_t)to_row * width + (size_t)at) * size,
           (const char *)from->data + ((size_t)row * width + (size_t)at) * size, size);
}

static enum skiff_status copy_row(const struct kept_rows *k, const struct feature *f,
                                  const struct batch *own, int64_t row, int64_t other_row,
                                  struct batch *out, struct skiff_error *err)
{
    int64_t in;
    const struct batch *other = batch_of(k, other_row, &in);
    for (int s = 0; s < out->schema->count; s++) {
        const struct column *from = &own->columns[s];
        if (!from->ragged)
            copy_dense(from, row, &out->columns[s], out->rows);
        else if (!(is_whole(f, s) ? copy_ragged(&other->columns[s], in, &out->columns[s])
                                  : copy_ragged(from, row, &out->columns[s])))
            return reader_no_memory(out->schema, s, err);
    }
    for (int i = 0; i < f->nparts; i++)
        if (f->parts[i].at >= 0)
            copy_value(&other->columns[f->parts[i].slot], in, &out->columns[f->parts[i].slot],
                       out->rows, f->parts[i].at);
    return batch_row_end(out, err);
}

enum skiff_status kept_rows_permuted(const struct kept_rows *k, int i,
                                     const struct feature *feature, const int64_t *order,
                                     struct batch *out, struct skiff_error *err)
{
    const struct batch *own = &k->batches[i];
    TRY(batch_reset(out, err));
    for (int64_t row = 0; row < own->rows; row++)
        TRY(copy_row(k, feature, own, row, order[i * k->batch_size + row], out, err));
    batch_finish(out);
    return SKIFF_OK;
}
