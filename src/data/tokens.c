/* Rows of named values (tokens.h): values come in any order and may be missing.
 *
 * A dense slot counts its values in the current row, so that the end of the row can refuse a slot
 * with too few. A missing slot is padded, with two exceptions: a row without its label is refused,
 * and so is one in which an unknown name resembles that of the missing slot, which is reported as a
 * misspelling instead of training on zeros. One thread for each reader. */
#include "data/tokens.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/text.h"

void row_fill_init(struct row_fill *f, const struct schema *schema)
{
    f->count = schema->count;
    f->dense = mem_alloc_or_die((size_t)schema->count * sizeof *f->dense + 1);
}

void row_fill_deinit(struct row_fill *f)
{
    free(f->dense);
    *f = (struct row_fill){0};
}

void row_fill_begin(struct row_fill *f, struct batch *b)
{
    memset(f->dense, 0, (size_t)f->count * sizeof *f->dense);
    f->strange = -1;
    batch_row_zero_dense(b);
}

static enum skiff_status too_many(const struct batch *b, int slot, struct skiff_error *err)
{
    const struct slot *s = &b->schema->slots[slot];
    return error_set(err, SKIFF_FORMAT,
                     "slot \"%s\" (%d of %d): expected %" PRId64
                     " values (it is dense), found more",
                     s->name, slot + 1, b->schema->count, s->width);
}

enum skiff_status row_fill_put(struct row_fill *f, struct batch *b, int slot, const char *p,
                               size_t n, uint64_t mod, struct skiff_error *err)
{
    struct column *c = &b->columns[slot];
    size_t at = c->count;
    if (c->ragged) {
        if (!column_reserve(c, 1))
            return reader_no_memory(b->schema, slot, err);
    } else {
        if ((size_t)f->dense[slot] == c->width)
            return too_many(b, slot, err);
        at = (size_t)b->rows * c->width + (size_t)f->dense[slot];
    }
    if (c->dtype == DTYPE_FP32) {
        if (n == 0 || text_f32(p, &c->f32[at]) != p + n)
            return reader_bad(b->schema, slot, -1, "a number", p, n, err);
    } else {
        uint64_t v;
        if (n == 0 || text_id(p, &v) != p + n)
            return reader_bad(b->schema, slot, -1, "a whole number", p, n, err);
        c->i64[at] = (int64_t)(mod ? v % mod : v);
    }
    if (c->ragged)
        c->count++;
    else
        f->dense[slot]++;
    return SKIFF_OK;
}

/* ---- names ---- */

void row_fill_strange(struct row_fill *f, const struct batch *b, struct name_table *names,
                      const char *p, size_t n)
{
    int at = name_table_strange(names, p, n, b->lines[b->rows]);
    if (at >= 0 && names->strange.like[at] >= 0)
        f->strange = at;
}

static bool has_values(const struct row_fill *f, const struct batch *b, int slot)
{
    const struct column *c = &b->columns[slot];
    return c->ragged ? (int64_t)c->count > c->offsets[b->rows] : f->dense[slot] > 0;
}

enum skiff_status row_fill_named(const struct row_fill *f, const struct name_table *names,
                                 const struct batch *b, int label, struct skiff_error *err)
{
    int like = f->strange >= 0 ? names->strange.like[f->strange] : -1;
    if (__builtin_expect(like >= 0, 0) && !has_values(f, b, like))
        return error_set(err, SKIFF_INVALID,
                         "slot \"%s\" (%d of %d) has no value, and \"%s\" is no slot: expected "
                         "\"%s\"? (input_slots names the slots of the file)",
                         b->schema->slots[like].name, like + 1, b->schema->count,
                         names->strange.name[f->strange], name_table_meant(names, f->strange));
    char text[96];
    if (label >= 0 && !has_values(f, b, label))
        return reader_no_label(b->schema, label, name_table_names(names, label, text), err);
    return SKIFF_OK;
}

int row_label(const struct reader_config *config, const struct schema *schema)
{
    int label = config->no_label || config->skip_label ? -1 : schema_label(schema);
    const char *name = label >= 0 ? schema->slots[label].name : "";
    return !strcmp(name, "label") || !strcmp(name, "click") || !strcmp(name, "y") ? label : -1;
}

enum skiff_status row_fill_end(struct row_fill *f, struct batch *b, struct skiff_error *err)
{
    for (int i = 0; i < f->count; i++) {
        size_t got = (size_t)f->dense[i];
        if (__builtin_expect(got && got != b->columns[i].width, 0)) {
            batch_row_abort(b);
            return error_set(err, SKIFF_FORMAT,
                             "slot \"%s\" (%d of %d): expected %zu values (it is dense), found %zu",
                             b->schema->slots[i].name, i + 1, b->schema->count, b->columns[i].width,
                             got);
        }
    }
    return batch_row_end(b, err);
}

/* ------------------------------------------------------------------ lines of name:value */

enum skiff_status named_reader_create(size_t size, const struct reader_class *of,
                                      const struct reader_config *config,
                                      const struct schema *schema, const char *label_name,
                                      struct reader **out, struct skiff_error *err)
{
    struct named_reader *r = mem_alloc_or_die(size);
    r->base = (struct reader){of, schema};
    r->mod = config->hash_size;
    r->skip = config->skip_label ? schema_label(schema) : -1;
    r->label = row_label(config, schema);
    row_fill_init(&r->fill, schema);
    enum skiff_status status = name_table_init(&r->names, schema, config->slots, label_name, err);
    if (status < 0) {
        named_reader_destroy(&r->base);
        return status;
    }
    *out = &r->base;
    return SKIFF_OK;
}

void named_reader_destroy(struct reader *base)
{
    struct named_reader *r = (struct named_reader *)base;
    name_table_deinit(&r->names);
    row_fill_deinit(&r->fill);
    free(r);
}

enum skiff_status named_reader_end(struct named_reader *r, struct batch *b,
                                   enum skiff_status status, struct skiff_error *err)
{
    if (status == SKIFF_OK)
        status = row_fill_named(&r->fill, &r->names, b, r->label, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return row_fill_end(&r->fill, b, err);
}

const struct strange_names *named_reader_strange(const struct reader *base)
{
    return &((const struct named_reader *)base)->names.strange;
}
