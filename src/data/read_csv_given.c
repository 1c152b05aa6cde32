/* CSV columns from cells that are no text of a file: values that a program has (reader_class.row).
 *
 * Texts go the way of a file's cells. A finite number goes straight to slots that scale it or take
 * it as it is, rounded to float32 as numbers of files are; for any other slot (values, hashes,
 * times) it is printed first, as a file would have it. */
#include <math.h>

#include "data/read_csv.h"

static bool csv_is_scale(const struct target *t)
{
    return t->stats && t->stats->kind == COLUMN_NUMBER && t->stats->form == TIMESTAMP_NONE;
}

/* A number for slots that take it as it is: without a way over text. Numbers of files are float32
 * (column_number), so these are, too. */
static enum skiff_status csv_put_double(struct reader_csv *r, struct batch *b,
                                        const struct target *t, double given,
                                        struct skiff_error *err)
{
    struct column *c = &b->columns[t->slot];
    float x = (float)given;
    if (c->dtype == DTYPE_INT64)
        return csv_put_id(r, b, t, column_number_id(t->stats, (double)x), err);
    if (t->stats && isfinite(x))
        x = column_scale(t->stats, (double)x);
    if (!c->ragged)
        batch_dense_f32(b, t->slot)[t->at] = x;
    else if (!column_add_f32(c, x))
        return reader_no_memory(b->schema, t->slot, err);
    return SKIFF_OK;
}

static enum skiff_status csv_put_number_cell(struct reader_csv *r, struct batch *b, int k, double x,
                                             struct skiff_error *err)
{
    bool written = false;
    for (int i = r->first[k]; i < r->first[k + 1]; i++) {
        const struct target *t = &r->targets[i];
        if (t->slot == r->label && r->skip_label)
            continue;
        bool plain = t->stats ? csv_is_scale(t) : b->columns[t->slot].dtype == DTYPE_FP32;
        if (plain && isfinite(x) && t->slot != r->label) {
            TRY(csv_put_double(r, b, t, x, err));
            continue;
        }
        if (!written) {
            buf_reset(&r->written);
            csv_print_number(&r->written, x);
        }
        written = true;
        const char *text = csv_given(&r->csv, r->written.data, r->written.len);
        TRY(csv_put(r, b, t, text, r->written.len, err));
    }
    return SKIFF_OK;
}

/* Without a header: to the positions 1 to n. */
static enum skiff_status csv_bind(struct reader_csv *r, int n, struct skiff_error *err)
{
    buf_reset(&r->written);
    buf_str(&r->written, "");
    for (int i = 1; i < n; i++)
        buf_char(&r->written, r->csv.separator);
    return csv_positions(r, r->written.data, r->written.data + r->written.len, err);
}

static enum skiff_status csv_given_cells(struct reader_csv *r, const struct reader_cell *cells,
                                         int n, struct batch *b, struct skiff_error *err)
{
    if (!r->bound && !r->header)
        TRY(csv_bind(r, n, err));
    if (n != r->ncolumns)
        return error_set(err, SKIFF_FORMAT, "expected %d columns, found %d", r->ncolumns, n);
    for (int k = 0; k < n; k++)
        if (cells[k].text)
            TRY(csv_put_cell(r, b, k, csv_given(&r->csv, cells[k].text, cells[k].n), cells[k].n,
                             err));
        else
            TRY(csv_put_number_cell(r, b, k, cells[k].number, err));
    return SKIFF_OK;
}

enum skiff_status csv_row(struct reader *base, const struct reader_cell *cells, int n,
                          struct batch *b, struct skiff_error *err)
{
    struct reader_csv *r = (struct reader_csv *)base;
    batch_row_zero_dense(b);
    enum skiff_status status = csv_given_cells(r, cells, n, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return batch_row_end(b, err);
}

int csv_columns_of(const struct reader *base, const char **header)
{
    const struct reader_csv *r = (const struct reader_csv *)base;
    *header = r->header_line.len ? r->header_line.data : NULL;
    return r->header || r->ncolumns ? r->ncolumns
           : r->width               ? (int)r->width
                                    : (int)csv_last_position(r);
}
