/* Criteo TSV: label, 13 whole numbers I1..I13, 26 categorical values C1..C26, tab between them, an
 * empty field is a missing value.
 *
 * Slots are found by name: label, click or y; C1..C26 (or 1..26); I1..I13 (one float each); a dense
 * float slot of width 13 takes all numbers. Slots may be left out. 26 id slots with other names are
 * C1..C26 in their order.
 *
 * number:   (x - min) / diff in double precision, missing: 0. min and diff are those of the
 *           documents, or min and q95 - min of a stats file (extreme values stay above 1), or none.
 * category: id of hash.h over column number and value; columns are counted from the label, which
 *           is 0, so C1 is "14". A missing value is the empty string: every column has its own id
 *           for it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/reader.h"
#include "data/stats.h"
#include "data/text.h"

#define DOCUMENTS_HASH_SIZE 1000001

extern const struct reader_class read_criteo;

struct category {
    uint64_t prefix; /* the two bytes of its column text */
    int64_t missing; /* id of the empty value */
    int slot;
    int field; /* behind the label: 13 and up */
    const struct hash_prefix *column;
};

struct reader_criteo {
    struct reader base;
    int label; /* slot or -1 */
    int dense; /* slot of all numbers or -1 */
    int numbers[CRITEO_NUMBERS];
    int categories;
    struct category category[CRITEO_CATEGORIES]; /* those used, in file order */
    struct hash_prefix column[CRITEO_CATEGORIES];
    struct hasher hasher;
    double min[CRITEO_NUMBERS], diff[CRITEO_NUMBERS];
    int fields, first; /* columns of a line; the field of I1 */
    bool skip_label;   /* lines have a label or not, and it is not looked at */
};

static const double documents_min[CRITEO_NUMBERS] = {0, -3};
static const double documents_diff[CRITEO_NUMBERS] = {20, 603, 100, 50, 64000, 500, 100,
                                                      50, 500, 10,  10, 10,    50};

/* k when name is <letter>k or, for a letter 'C', plain k, 1 .. most; else 0. */
static int numbered(const char *name, char letter, int most)
{
    if (*name == letter)
        name++;
    else if (letter != 'C')
        return 0;
    char *end;
    long k = strtol(name, &end, 10);
    return *name >= '1' && *name <= '9' && !*end && k <= most ? (int)k : 0;
}

static enum skiff_status cannot_fill(const struct slot *s, struct skiff_error *err)
{
    char shape[160];
    return error_set(
        err, SKIFF_INVALID,
        "slot \"%s\" (%s, %s %s) cannot be filled: a Criteo line has label, numbers (a "
        "dense float32 slot of 13, or I1 .. I13) and ids C1 .. C26 (int64)",
        s->name, dtype_name(s->dtype), s->ragged ? "ragged" : "dense",
        shape_text(&s->shape, shape));
}

static enum skiff_status criteo_assign(struct reader_criteo *r, int slots[CRITEO_CATEGORIES],
                                       struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    int others = 0, by_name = 0, next = 0, k;
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        if (i == r->label)
            continue;
        if (s->dtype == DTYPE_FP32 && !s->ragged && s->width == CRITEO_NUMBERS && r->dense < 0)
            r->dense = i;
        else if (s->dtype == DTYPE_FP32 && s->width == 1 &&
                 (k = numbered(s->name, 'I', CRITEO_NUMBERS)))
            r->numbers[k - 1] = i;
        else if (s->dtype == DTYPE_INT64 && s->width == 1 &&
                 (k = numbered(s->name, 'C', CRITEO_CATEGORIES)) && slots[k - 1] < 0)
            slots[k - 1] = i, by_name++;
        else if (s->dtype == DTYPE_INT64 && s->width == 1)
            others++;
        else
            return cannot_fill(s, err);
    }
    for (int i = 0; others && i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        if (s->dtype != DTYPE_INT64 || i == r->label)
            continue;
        if (by_name == 0 && others == CRITEO_CATEGORIES)
            slots[next++] = i;
        else if (!numbered(s->name, 'C', CRITEO_CATEGORIES))
            return cannot_fill(s, err);
    }
    return SKIFF_OK;
}

static void criteo_categories(struct reader_criteo *r, const int slots[CRITEO_CATEGORIES])
{
    for (int k = 0; k < CRITEO_CATEGORIES; k++) {
        if (slots[k] < 0)
            continue;
        struct category *c = &r->category[r->categories];
        struct hash_prefix *column = &r->column[r->categories++];
        column->len = (size_t)snprintf(column->text, HASH_PREFIX_MAX, "%d", 1 + CRITEO_NUMBERS + k);
        c->column = column;
        c->slot = slots[k];
        c->field = CRITEO_NUMBERS + k;
        c->prefix = (unsigned char)column->text[0] | (uint64_t)column->text[1] << 8;
        c->missing = hasher_id(&r->hasher, column, "", 0);
    }
}

static enum skiff_status criteo_norms(struct reader_criteo *r, const struct reader_config *config,
                                      struct skiff_error *err)
{
    struct criteo_stats stats;
    if (config->normalise == NORMALISE_QUANTILE) {
        if (!config->stats)
            return error_set(err, SKIFF_INVALID,
                             "normalise quantile needs the stats file that `skiff prepare` writes "
                             "(setting stats)");
        TRY(stats_read(config->stats, &stats, err));
    }
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        switch (config->normalise) {
        case NORMALISE_DOCUMENTS:
            r->min[i] = documents_min[i];
            r->diff[i] = documents_diff[i];
            break;
        case NORMALISE_QUANTILE:
            r->min[i] = stats.numbers[i].min;
            r->diff[i] = stats.numbers[i].q95 - stats.numbers[i].min;
            if (!(r->diff[i] > 0)) /* a column of one value */
                r->diff[i] = 1;
            break;
        case NORMALISE_NONE:
            r->diff[i] = 1;
            break;
        }
    }
    return SKIFF_OK;
}

static void criteo_destroy(struct reader *r)
{
    free(r);
}

static enum skiff_status criteo_create(const struct reader_config *config,
                                       const struct schema *schema, struct reader **out,
                                       struct skiff_error *err)
{
    struct reader_criteo *r = mem_alloc_or_die(sizeof *r);
    int slots[CRITEO_CATEGORIES];
    enum skiff_status status;
    r->base = (struct reader){&read_criteo, schema};
    r->label = schema_label(schema);
    r->dense = -1;
    r->first = config->no_label ? 0 : 1;
    r->fields = CRITEO_COLUMNS - config->no_label;
    r->skip_label = config->skip_label;
    r->hasher =
        hasher_of(config->hash, config->has_hash_size ? config->hash_size : DOCUMENTS_HASH_SIZE);
    for (int i = 0; i < CRITEO_NUMBERS; i++)
        r->numbers[i] = -1;
    for (int i = 0; i < CRITEO_CATEGORIES; i++)
        slots[i] = -1;
    if (r->label >= 0 && (schema->slots[r->label].ragged || schema->slots[r->label].width != 1)) {
        status =
            error_set(err, SKIFF_INVALID, "slot \"%s\" is the label: it must be dense, width 1",
                      schema->slots[r->label].name);
        goto out;
    }
    TRY_OUT(criteo_assign(r, slots, err));
    TRY_OUT(criteo_norms(r, config, err));
    criteo_categories(r, slots);
out:
    if (status < 0)
        free(r);
    else
        *out = &r->base;
    return status;
}

static enum skiff_status bad_number(int field, const char *p, size_t n, struct skiff_error *err)
{
    char quoted[64];
    return error_set(err, SKIFF_FORMAT, "column I%d: expected a number or nothing, found %s",
                     field + 1, text_quote(p, n, quoted));
}

/* A number that is not 1 to 7 digits: signs, long ones, decimals, blanks for a missing one. */
static bool number_slow(const char *p, const char *end, double *out, bool *missing)
{
    int64_t whole;
    bool over = false;
    float f;
    p = text_skip_blanks(p, end);
    while (end > p && text_blank(end[-1]))
        end--;
    *missing = p == end;
    if (*missing)
        return true;
    if (text_i64(p, &whole, &over) == end && !over) {
        *out = (double)whole;
        return true;
    }
    if (text_f32(p, &f) == end && f - f == 0) {
        *out = f;
        return true;
    }
    return false;
}

/* Missing values come at random: nothing here branches on them. False: not 0 to 8 digits. */
static inline bool number_at(const char *p, size_t n, double *out)
{
    uint64_t v = text_load64(p);
    bool plain = n <= 8 && (size_t)text_digits8(v) >= n;
    size_t digits = n - 1 < 8 ? n : 8; /* of other n the value is not used */
    *out = (double)text_value8(v, (int)digits);
    return plain;
}

static enum skiff_status put_label(struct reader_criteo *r, const char *p, const char *end,
                                   struct batch *b, struct skiff_error *err)
{
    int64_t v;
    bool over = false;
    if (p == end)
        return reader_no_label(r->base.schema, r->label, "the first column", err);
    if (text_i64(p, &v, &over) != end || over)
        return reader_bad(r->base.schema, r->label, 0, "a whole number", p, (size_t)(end - p), err);
    if (b->columns[r->label].dtype == DTYPE_FP32)
        *batch_dense_f32(b, r->label) = (float)v;
    else
        *batch_dense_i64(b, r->label) = v;
    return SKIFF_OK;
}

static enum skiff_status put_numbers(struct reader_criteo *r, const char *text,
                                     const uint32_t *tabs, struct batch *b, struct skiff_error *err)
{
    float scaled[CRITEO_NUMBERS];
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        int field = r->first + i;
        const char *p = field ? text + tabs[field - 1] + 1 : text, *end = text + tabs[field];
        size_t n = (size_t)(end - p);
        double x;
        bool missing = n == 0;
        if (__builtin_expect(!number_at(p, n, &x), 0) && !number_slow(p, end, &x, &missing))
            return bad_number(i, p, n, err);
        float f = (float)((x - r->min[i]) / r->diff[i]);
        scaled[i] = missing ? 0.0f : f;
    }
    if (r->dense >= 0)
        memcpy(batch_dense_f32(b, r->dense), scaled, sizeof scaled);
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        int slot = r->numbers[i];
        if (slot < 0)
            continue;
        if (!b->columns[slot].ragged)
            *batch_dense_f32(b, slot) = scaled[i];
        else if (!column_add_f32(&b->columns[slot], scaled[i]))
            return reader_no_memory(r->base.schema, slot, err);
    }
    return SKIFF_OK;
}

/* The ids of a line. Values are hashed as if all had 8 bytes, without a branch on those that are
 * missing; what has another length is hashed again. */
static inline void hash_categories(const struct reader_criteo *r, const char *text,
                                   const uint32_t *tabs, int64_t ids[CRITEO_CATEGORIES])
{
    size_t slow = r->hasher.kind != HASH_XXH64 || !r->hasher.size;
    struct hasher h = r->hasher;
    for (int k = 0; k < r->categories; k++) {
        const struct category *c = &r->category[k];
        const uint32_t *tab = &tabs[r->first + c->field - 1];
        const char *p = text + tab[0] + 1;
        size_t n = tab[1] - tab[0] - 1;
        uint64_t id = hasher_mod(&h, hash_xxh64_2_8(c->prefix, text_load64(p)));
        uint64_t there = -(uint64_t)(n != 0);
        ids[k] = (int64_t)((id & there) | ((uint64_t)c->missing & ~there));
        if (__builtin_expect(((n & ~(size_t)8) | slow) != 0, 0) && n)
            ids[k] = hasher_id(&h, c->column, p, n);
    }
}

static inline enum skiff_status put_categories(struct reader_criteo *r, const char *text,
                                               const uint32_t *tabs, struct batch *b,
                                               struct skiff_error *err)
{
    int64_t ids[CRITEO_CATEGORIES];
    hash_categories(r, text, tabs, ids);
    for (int k = 0; k < r->categories; k++)
        if (!reader_put_i64(b, r->category[k].slot, ids[k]))
            return reader_no_memory(r->base.schema, r->category[k].slot, err);
    return SKIFF_OK;
}

static enum skiff_status criteo_line(struct reader *base, const char *text, size_t n,
                                     struct batch *b, struct skiff_error *err)
{
    struct reader_criteo *r = (struct reader_criteo *)base;
    uint32_t tabs[CRITEO_COLUMNS + 1];
    enum skiff_status status = SKIFF_OK;
    size_t found = text_find_all(text, n, '\t', tabs, CRITEO_COLUMNS);
    if (r->skip_label && (found + 1 == CRITEO_COLUMNS || found + 2 == CRITEO_COLUMNS)) {
        r->fields = (int)found + 1;
        r->first = r->fields == CRITEO_COLUMNS;
    }
    if (__builtin_expect(found + 1 != (size_t)r->fields, 0))
        return error_set(err, SKIFF_FORMAT,
                         "expected %d columns with a tab between them%s, found %zu",
                         r->skip_label ? CRITEO_COLUMNS : r->fields,
                         r->skip_label ? " (39 without a label)" : "", found + 1);
    tabs[found] = (uint32_t)n;
    if (r->label >= 0 && r->first && !r->skip_label)
        TRY_OUT(put_label(r, text, text + tabs[0], b, err));
    else if (r->label >= 0)
        memset((char *)b->columns[r->label].data +
                   (size_t)b->rows * dtype_size(b->columns[r->label].dtype),
               0, dtype_size(b->columns[r->label].dtype));
    TRY_OUT(put_numbers(r, text, tabs, b, err));
    TRY_OUT(put_categories(r, text, tabs, b, err));
    status = batch_row_end(b, err);
out:
    if (status < 0)
        batch_row_abort(b);
    return status;
}

const struct reader_class read_criteo = {
    .name = "criteo",
    .summary = "Criteo TSV: label, 13 numbers, 26 categorical values",
    .scales = true,
    .create = criteo_create,
    .destroy = criteo_destroy,
    .line = criteo_line,
};
