/* CSV with a schema: which column goes to which slot.
 *
 * columns: one slot name per column, "-" for a column that is not used; a slot that is named n
 * times (or "dense*13") takes n columns. Without it the header line names the slots; columns of no
 * slot are not used. A header line is expected unless header is false. Quotes as in RFC 4180
 * ("a,""b"), but a cell does not go over a line end.
 *
 * Cells: a float32 slot takes a number, an int64 slot a whole number, or, when hash_size is given
 * and the slot is not the label, any text, hashed with the slot's name in front. An empty cell is a
 * missing value: 0 in a dense slot, none in a ragged one. `multi` cuts a cell of a ragged slot into
 * several values. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/text.h"
#include "data/tokens.h"

#define COLUMNS_MAX 100000

extern const struct reader_class read_csv;

struct reader_csv {
    struct reader base;
    struct row_fill fill;
    int *slots; /* of each column; -1: not used */
    int ncolumns;
    bool from_header; /* slots come from the header of each file */
    bool header, hashed;
    char separator, multi;
    int label;
    int needed; /* the label, where every row must have one; or -1 */
    struct hasher hasher;
    struct hash_prefix *prefix; /* per slot */
    struct buf cell;            /* a quoted cell without its quotes, padded */
};

static void csv_destroy(struct reader *base)
{
    struct reader_csv *r = (struct reader_csv *)base;
    row_fill_deinit(&r->fill);
    buf_deinit(&r->cell);
    free(r->slots);
    free(r->prefix);
    free(r);
}

static void csv_add_column(struct reader_csv *r, int slot)
{
    r->slots = mem_must_grow(r->slots, ((size_t)r->ncolumns + 1) * sizeof *r->slots);
    r->slots[r->ncolumns++] = slot;
}

/* Every slot has as many columns as it is wide. */
static enum skiff_status csv_check_columns(const struct reader_csv *r, struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        int64_t found = 0;
        for (int k = 0; k < r->ncolumns; k++)
            found += r->slots[k] == i;
        if (found == 0)
            return error_set(err, SKIFF_NOT_FOUND, "no column for slot \"%s\"", s->name);
        if (!s->ragged && found != s->width)
            return error_set(err, SKIFF_SHAPE,
                             "slot \"%s\": expected %lld columns (it is dense), found %lld",
                             s->name, (long long)s->width, (long long)found);
    }
    return SKIFF_OK;
}

/* The columns setting: "label,dense*13,C1,-". */
static enum skiff_status csv_columns(struct reader_csv *r, const char *columns,
                                     struct skiff_error *err)
{
    char *copy = mem_must_strdup(columns), *at = copy;
    enum skiff_status status = SKIFF_OK;
    for (char *name; status == SKIFF_OK && (name = strsep(&at, ", \t"));) {
        if (!*name)
            continue;
        long times = 1;
        char *star = strrchr(name, '*'), *end;
        if (star) {
            times = strtol(star + 1, &end, 10);
            if (end == star + 1 || *end || times < 1 || times > COLUMNS_MAX)
                status =
                    error_set(err, SKIFF_INVALID, "columns: %s: expected a number behind *", name);
            *star = '\0';
        }
        int slot = strcmp(name, "-") == 0 ? -1 : schema_find(r->base.schema, name);
        if (status == SKIFF_OK && slot < 0 && strcmp(name, "-") != 0)
            status = error_set(err, SKIFF_NOT_FOUND, "columns: there is no slot \"%s\"", name);
        if (status == SKIFF_OK && r->ncolumns + times > COLUMNS_MAX)
            status = error_set(err, SKIFF_RANGE, "columns: more than %d", COLUMNS_MAX);
        for (long k = 0; status == SKIFF_OK && k < times; k++)
            csv_add_column(r, slot);
    }
    free(copy);
    return status < 0 ? status : csv_check_columns(r, err);
}

static enum skiff_status csv_create(const struct reader_config *config, const struct schema *schema,
                                    struct reader **out, struct skiff_error *err)
{
    struct reader_csv *r = mem_must(sizeof *r);
    enum skiff_status status = SKIFF_OK;
    r->base = (struct reader){&read_csv, schema};
    row_fill_init(&r->fill, schema);
    r->from_header = !config->columns;
    r->header = config->header;
    r->separator = config->separator;
    r->multi = config->multi;
    r->label = schema_label(schema);
    r->needed = row_label(config, schema);
    r->hashed = config->has_hash_size;
    r->hasher = hasher_of(config->hash, config->hash_size);
    r->prefix = mem_must((size_t)schema->count * sizeof *r->prefix);
    for (int i = 0; i < schema->count; i++) {
        size_t n = strlen(schema->slots[i].name);
        if (r->hashed && n > HASH_PREFIX_MAX) {
            status = error_set(err, SKIFF_RANGE,
                               "slot \"%s\": a name of at most %d bytes can be "
                               "hashed",
                               schema->slots[i].name, HASH_PREFIX_MAX);
            goto out;
        }
        r->prefix[i].len = n < HASH_PREFIX_MAX ? n : HASH_PREFIX_MAX;
        memcpy(r->prefix[i].text, schema->slots[i].name, r->prefix[i].len);
    }
    if (config->columns)
        TRY_OUT(csv_columns(r, config->columns, err));
    else if (!r->header)
        status = error_set(err, SKIFF_INVALID,
                           "without a header line the setting columns must name the slots");
out:
    if (status < 0)
        csv_destroy(&r->base);
    else
        *out = &r->base;
    return status;
}

/* The cell at *at; *at moves behind its separator, or to NULL behind the last cell. */
static enum skiff_status csv_cell(struct reader_csv *r, const char **at, const char *end,
                                  const char **cell, size_t *n, struct skiff_error *err)
{
    const char *p = *at;
    if (p < end && *p == '"') {
        buf_reset(&r->cell);
        for (p++;; p++) {
            const char *quote = memchr(p, '"', (size_t)(end - p));
            if (!quote)
                return error_set(err, SKIFF_FORMAT,
                                 "a quote is not closed (a cell cannot go over a line end)");
            buf_add(&r->cell, p, (size_t)(quote - p));
            p = quote + 1;
            if (p == end || *p != '"')
                break;
            buf_char(&r->cell, '"');
        }
        if (p < end && *p != r->separator)
            return error_set(err, SKIFF_FORMAT,
                             "expected a separator behind a quoted cell, found %c", *p);
        *n = r->cell.len;
        buf_add(&r->cell, "\n", 1);
        buf_reserve(&r->cell, TEXT_PAD);
        memset(r->cell.data + r->cell.len, 0, TEXT_PAD);
        *cell = r->cell.data;
    } else {
        const char *stop = memchr(p, r->separator, (size_t)(end - p));
        *cell = p;
        p = stop ? stop : end;
        *n = (size_t)(p - *cell);
    }
    *at = p < end ? p + 1 : NULL;
    return SKIFF_OK;
}

static enum skiff_status csv_value(struct reader_csv *r, struct batch *b, int slot, const char *p,
                                   size_t n, struct skiff_error *err)
{
    struct column *c = &b->columns[slot];
    if (c->dtype == DTYPE_INT64 && r->hashed && slot != r->label) {
        int64_t id = hasher_id(&r->hasher, &r->prefix[slot], p, n);
        if (!c->ragged)
            batch_dense_i64(b, slot)[r->fill.dense[slot]++] = id;
        else if (!column_add_i64(c, id))
            return reader_no_memory(b->schema, slot, err);
        return SKIFF_OK;
    }
    while (n && text_blank(*p))
        p++, n--;
    while (n && text_blank(p[n - 1]))
        n--;
    return row_fill_put(&r->fill, b, slot, p, n, 0, err);
}

static enum skiff_status csv_put(struct reader_csv *r, struct batch *b, int slot, const char *p,
                                 size_t n, struct skiff_error *err)
{
    struct column *c = &b->columns[slot];
    if (n == 0) {
        if (slot == r->needed)
            return reader_no_label(b->schema, slot, "its cell is empty", err);
        if (!c->ragged)
            r->fill.dense[slot]++; /* stays 0 */
        return SKIFF_OK;
    }
    if (!c->ragged || !r->multi)
        return csv_value(r, b, slot, p, n, err);
    for (const char *end = p + n;;) {
        const char *stop = memchr(p, r->multi, (size_t)(end - p));
        if (!stop)
            stop = end;
        if (stop > p)
            TRY(csv_value(r, b, slot, p, (size_t)(stop - p), err));
        if (stop == end)
            return SKIFF_OK;
        p = stop + 1;
    }
}

static enum skiff_status csv_cells(struct reader_csv *r, const char *text, const char *end,
                                   struct batch *b, struct skiff_error *err)
{
    const char *at = text, *cell;
    size_t n;
    int k = 0;
    for (; at; k++) {
        TRY(csv_cell(r, &at, end, &cell, &n, err));
        if (k < r->ncolumns && r->slots[k] >= 0)
            TRY(csv_put(r, b, r->slots[k], cell, n, err));
    }
    if (k != r->ncolumns)
        return error_set(err, SKIFF_FORMAT, "expected %d columns, found %d", r->ncolumns, k);
    return SKIFF_OK;
}

static enum skiff_status csv_line(struct reader *base, const char *text, size_t n, struct batch *b,
                                  struct skiff_error *err)
{
    struct reader_csv *r = (struct reader_csv *)base;
    if (n == 0)
        return SKIFF_END;
    row_fill_begin(&r->fill, b);
    enum skiff_status status = csv_cells(r, text, text + n, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return row_fill_end(&r->fill, b, err);
}

static enum skiff_status csv_begin(struct reader *base, struct source *s, struct skiff_error *err)
{
    struct reader_csv *r = (struct reader_csv *)base;
    const char *line, *cell, *at;
    size_t n;
    if (!r->header)
        return SKIFF_OK;
    enum skiff_status status = source_line(s, &line, &n, err);
    if (status != SKIFF_OK || !r->from_header)
        return status < 0 ? status : SKIFF_OK;
    const char *end = line + n;
    r->ncolumns = 0;
    for (at = line; at;) {
        TRY(csv_cell(r, &at, end, &cell, &n, err));
        if (r->ncolumns == COLUMNS_MAX)
            return error_set(err, SKIFF_RANGE, "header: more than %d columns", COLUMNS_MAX);
        int slot = -1;
        for (int i = 0; slot < 0 && i < base->schema->count; i++)
            if (strlen(base->schema->slots[i].name) == n &&
                memcmp(base->schema->slots[i].name, cell, n) == 0)
                slot = i;
        csv_add_column(r, slot);
    }
    status = csv_check_columns(r, err);
    return status < 0 ? error_prefix(err, status, "header") : status;
}

const struct reader_class read_csv = {
    .name = "csv",
    .summary = "CSV with a header line or the setting columns",
    .create = csv_create,
    .destroy = csv_destroy,
    .begin = csv_begin,
    .line = csv_line,
};
