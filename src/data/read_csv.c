/* CSV with a schema: which column goes to which slot.
 *
 * columns says it in one of two ways:
 *   - slots and their columns, one slot a line: `label = income`,
 *     `dense_input = age, "hours, per week"`, `C1 = workclass`. Columns go by the names in the
 *     header line, in whatever order a file has them, or, without a header line, by their
 *     positions: 1 is the first. A column may stand in several slots; others are not used.
 *   - one slot name per column, "-" for a column that is not used; a slot that is named n times (or
 *     "dense*13") takes n columns.
 * Without it the header line names the slots; columns of no slot are not used. A header line is
 * expected unless header is false. csv.h says what a cell is.
 *
 * Cells: the label goes by label.h. A float32 slot takes a number, by normalise: quantile scaled as
 * columns.h says. An int64 slot takes the id that the stats file gives to the cell, or, when
 * hash_size is given, any text, hashed with the slot's name in front, or a whole number. An empty
 * cell, or one that `missing` names, is a missing value: 0 in a dense slot of numbers, none in a
 * ragged one, otherwise the id of an empty text. `multi` cuts a cell of a ragged slot into several
 * values.
 *
 * id: the column of the rows' ids, by its name in the header or its number from 1. skip_label: the
 * label's column may be missing (from the header; from lines that have one column fewer than
 * `columns` says or names), and is not looked at where it is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/near.h"
#include "data/list.h"
#include "data/read_csv.h"
#include "data/slot_columns.h"
#include "data/tokens.h"

extern const struct reader_class read_csv;

static void csv_destroy(struct reader *base)
{
    struct reader_csv *r = (struct reader_csv *)base;
    for (int i = 0; i < r->nwanted; i++)
        free(r->wanted[i].name);
    free(r->wanted);
    csv_deinit(&r->csv);
    label_rule_deinit(&r->rule);
    columns_deinit(&r->own_stats);
    buf_deinit(&r->header_line);
    buf_deinit(&r->written);
    csv_marks_deinit(&r->missing);
    free(r->filled);
    free(r->targets);
    free(r->first);
    free(r->prefix);
    free(r->id_name);
    free(r);
}

/* ---- which column goes where ---- */

static void csv_no_columns(struct reader_csv *r)
{
    r->ncolumns = r->ntargets = 0;
    memset(r->filled, 0, (size_t)r->base.schema->count * sizeof *r->filled);
    r->first = mem_grow_or_die(r->first, sizeof *r->first);
    r->first[0] = 0;
}

static void csv_add_target(struct reader_csv *r, struct target t)
{
    r->targets = mem_grow_or_die(r->targets, ((size_t)r->ntargets + 1) * sizeof *r->targets);
    r->targets[r->ntargets++] = t;
    r->filled[t.slot]++;
}

/* The targets that were added since the last column are this one's. */
static void csv_end_column(struct reader_csv *r)
{
    r->ncolumns++;
    r->first = mem_grow_or_die(r->first, ((size_t)r->ncolumns + 1) * sizeof *r->first);
    r->first[r->ncolumns] = r->ntargets;
}

/* What the stats file has of a column, if the slot needs it. */
static enum skiff_status csv_column_stats(const struct reader_csv *r, int slot, const char *name,
                                          size_t n, const struct column_stats **out,
                                          struct skiff_error *err)
{
    bool number = r->base.schema->slots[slot].dtype == DTYPE_FP32;
    *out = NULL;
    if (slot == r->label || slot == r->weight || slot == r->group || !r->stats ||
        (number && !r->scaled))
        return SKIFF_OK;
    *out = number ? columns_find_number(r->stats, name, n) : columns_find_ids(r->stats, name, n);
    if (*out)
        return SKIFF_OK;
    char quoted[64];
    return error_set(err, SKIFF_NOT_FOUND, "slot \"%s\": the stats file has no %s column %s",
                     r->base.schema->slots[slot].name, number ? "number" : "ids of a",
                     text_quote(name, n, quoted));
}

/* Every slot has as many columns as it is wide. */
static enum skiff_status csv_check_columns(const struct reader_csv *r, struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    char names[300];
    for (int i = 0; i < schema->count; i++) {
        const struct slot *s = &schema->slots[i];
        if (r->filled[i] == 0 && r->skip_label && i == r->label)
            continue;
        if (r->filled[i] == 0)
            return error_set(err, SKIFF_NOT_FOUND, "no column for slot \"%s\"; slots are: %s",
                             s->name, reader_slot_names(schema, names));
        if (!s->ragged && r->filled[i] != s->width)
            return error_set(
                err, SKIFF_SHAPE, "slot \"%s\": expected %lld columns (it is dense), found %d%s",
                s->name, (long long)s->width, r->filled[i],
                r->nwanted && r->filled[i] > s->width ? "; is a name in the header twice?" : "");
    }
    return SKIFF_OK;
}

static enum skiff_status csv_no_slot(const struct reader_csv *r, const char *name,
                                     struct skiff_error *err)
{
    char names[300];
    return error_set(err, SKIFF_NOT_FOUND, "columns: there is no slot \"%.60s\"; slots are: %s",
                     name, reader_slot_names(r->base.schema, names));
}

/* A column that goes to one slot, or to none (-1), in the order of the file. */
static enum skiff_status csv_plain_column(struct reader_csv *r, int slot, const char *name,
                                          size_t n, struct skiff_error *err)
{
    if (r->ncolumns == CSV_COLUMNS_MAX)
        return error_set(err, SKIFF_RANGE, "more than %d columns", CSV_COLUMNS_MAX);
    if (slot >= 0) {
        struct target t = {.slot = slot, .at = r->filled[slot]};
        TRY(csv_column_stats(r, slot, name, n, &t.stats, err));
        csv_add_target(r, t);
    }
    csv_end_column(r);
    return SKIFF_OK;
}

/* "label", "-", "dense*13" */
static enum skiff_status csv_word(struct reader_csv *r, char *name, struct skiff_error *err)
{
    long times = 1;
    char *star = strrchr(name, '*'), *end;
    if (star) {
        times = strtol(star + 1, &end, 10);
        if (end == star + 1 || *end || times < 1 || times > CSV_COLUMNS_MAX)
            return error_set(err, SKIFF_INVALID, "columns: %s: expected a number behind *", name);
        *star = '\0';
    }
    int slot = strcmp(name, "-") == 0 ? -1 : schema_find(r->base.schema, name);
    if (slot < 0 && strcmp(name, "-") != 0)
        return csv_no_slot(r, name, err);
    for (long k = 0; k < times; k++) {
        char position[32];
        int n = snprintf(position, sizeof position, "%d", r->ncolumns + 1);
        TRY(csv_plain_column(r, slot, position, (size_t)n, err));
    }
    return SKIFF_OK;
}

/* The second form: "label,dense*13,C1,-". */
static enum skiff_status csv_words(struct reader_csv *r, char *columns, struct skiff_error *err)
{
    csv_no_columns(r);
    for (char *name; (name = strsep(&columns, ", \t\n"));)
        if (*name)
            TRY(csv_word(r, name, err));
    r->bound = true;
    return csv_check_columns(r, err);
}

static void csv_want(struct reader_csv *r, const char *name, size_t n, int slot)
{
    r->wanted = mem_grow_or_die(r->wanted, ((size_t)r->nwanted + 1) * sizeof *r->wanted);
    struct wanted_column *w = &r->wanted[r->nwanted++];
    *w = (struct wanted_column){mem_alloc_or_die(n + 1), {.slot = slot, .at = r->filled[slot]++}};
    memcpy(w->name, name, n);
}

/* A line of the first form: `C1 = workclass`. */
static enum skiff_status csv_want_columns(struct reader_csv *r, char *line, struct skiff_error *err)
{
    struct csv csv = {.separator = ','};
    enum skiff_status status = SKIFF_OK;
    const char *at, *stop;
    char *name;
    if (!csv_assignment(line, &name, &at, &stop))
        return error_set(err, SKIFF_INVALID, "columns: expected slot = column, found %.60s", line);
    int slot = schema_find(r->base.schema, name);
    if (slot < 0)
        return csv_no_slot(r, name, err);
    while (at && status == SKIFF_OK) {
        const char *cell;
        size_t n;
        status = csv_cell(&csv, &at, stop, &cell, &n, err);
        if (status == SKIFF_OK && n == 0)
            status = error_set(err, SKIFF_INVALID, "columns: %s: a column has no name", name);
        if (status == SKIFF_OK)
            csv_want(r, cell, n, slot);
    }
    csv_deinit(&csv);
    return status;
}

/* weekday(NAME) is made from the column NAME. */
static void csv_made_from(struct wanted_column *w)
{
    size_t n;
    const char *name = w->to.stats ? column_source(w->to.stats, &n) : NULL;
    if (!name || name == w->to.stats->name)
        return;
    free(w->name);
    w->name = mem_alloc_or_die(n + 1);
    memcpy(w->name, name, n);
}

static enum skiff_status csv_assignments(struct reader_csv *r, char *columns,
                                         struct skiff_error *err)
{
    csv_no_columns(r);
    for (char *line; (line = csv_next_assignment(&columns));)
        if (line[strspn(line, " \t")])
            TRY(csv_want_columns(r, line, err));
    TRY(csv_check_columns(r, err));
    for (int i = 0; i < r->nwanted; i++) {
        struct wanted_column *w = &r->wanted[i];
        TRY(csv_column_stats(r, w->to.slot, w->name, strlen(w->name), &w->to.stats, err));
        csv_made_from(w);
    }
    return SKIFF_OK;
}

static enum skiff_status csv_columns(struct reader_csv *r, const char *columns,
                                     struct skiff_error *err)
{
    char *copy = mem_strdup_or_die(columns);
    enum skiff_status status =
        strchr(columns, '=') ? csv_assignments(r, copy, err) : csv_words(r, copy, err);
    free(copy);
    return status;
}

/* ---- the columns of a file ---- */

static bool same_text(const char *a, const char *b, size_t n)
{
    return strlen(a) == n && memcmp(a, b, n) == 0;
}

/* The next column of the file has this name. */
static enum skiff_status csv_named_column(struct reader_csv *r, const char *name, size_t n,
                                          struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    if (!r->nwanted) {
        int slot = -1;
        for (int i = 0; slot < 0 && i < schema->count; i++)
            if (same_text(schema->slots[i].name, name, n))
                slot = i;
        return csv_plain_column(r, slot, name, n, err);
    }
    if (r->ncolumns == CSV_COLUMNS_MAX)
        return error_set(err, SKIFF_RANGE, "more than %d columns", CSV_COLUMNS_MAX);
    for (int i = 0; i < r->nwanted; i++)
        if (same_text(r->wanted[i].name, name, n))
            csv_add_target(r, r->wanted[i].to);
    csv_end_column(r);
    return SKIFF_OK;
}

/* A column that the header lacks: the error names the most similar one, and all columns. */
static enum skiff_status csv_no_column(struct reader_csv *r, const char *line, const char *end,
                                       const struct wanted_column *w, struct skiff_error *err)
{
    struct buf all = BUF_INIT;
    struct near near = near_to(w->name);
    char best[64] = "";
    const char *at = line, *cell;
    size_t n;
    while (at && csv_cell(&r->csv, &at, end, &cell, &n, NULL) == SKIFF_OK) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), cell);
        buf_printf(&all, "%s%s", all.len ? ", " : "", all.len > 260 ? "..." : name);
        near_try(&near, name);
        if (near.best == name)
            snprintf(best, sizeof best, "%s", name);
        near.best = NULL;
        if (all.len > 260)
            break;
    }
    enum skiff_status status = error_set(
        err, SKIFF_NOT_FOUND, "there is no column \"%.60s\" (slot \"%s\")%s%s%s; columns are: %s",
        w->name, r->base.schema->slots[w->to.slot].name, *best ? " (did you mean \"" : "", best,
        *best ? "\"?)" : "", all.data);
    buf_deinit(&all);
    return status;
}

/* After all columns: the error for a slot that lacks one. */
static enum skiff_status csv_check_names(struct reader_csv *r, const char *line, const char *end,
                                         struct skiff_error *err)
{
    for (int i = 0; i < r->nwanted; i++) {
        bool found = false;
        for (int k = 0; !found && k < r->ntargets; k++)
            found = r->targets[k].slot == r->wanted[i].to.slot &&
                    r->targets[k].at == r->wanted[i].to.at;
        if (!found && !(r->skip_label && r->wanted[i].to.slot == r->label))
            return csv_no_column(r, line, end, &r->wanted[i], err);
    }
    return csv_check_columns(r, err);
}

static enum skiff_status csv_header(struct reader_csv *r, const char *line, size_t n,
                                    struct skiff_error *err)
{
    const char *end = line + n, *at = line, *cell;
    csv_no_columns(r);
    while (at) {
        TRY(csv_cell(&r->csv, &at, end, &cell, &n, err));
        TRY(csv_named_column(r, cell, n, err));
    }
    return csv_check_names(r, line, end, err);
}

static enum skiff_status csv_next_position(struct reader_csv *r, struct skiff_error *err)
{
    char position[32];
    int len = snprintf(position, sizeof position, "%d", r->ncolumns + 1);
    return csv_named_column(r, position, (size_t)len, err);
}

long csv_last_position(const struct reader_csv *r)
{
    long last = 0;
    for (int i = 0; i < r->nwanted; i++) {
        long want = strtol(r->wanted[i].name, NULL, 10);
        last = want > last ? want : last;
    }
    return last;
}

/* Without a header: columns go by their positions, and there are as many as the first line has, or
 * one more, the label's, when the line lacks the last one. */
enum skiff_status csv_positions(struct reader_csv *r, const char *line, const char *end,
                                struct skiff_error *err)
{
    const char *at = line, *cell;
    size_t n;
    csv_no_columns(r);
    while (at) {
        TRY(csv_cell(&r->csv, &at, end, &cell, &n, err));
        TRY(csv_next_position(r, err));
    }
    int found = r->ncolumns;
    if (r->skip_label && (r->width ? r->width : csv_last_position(r)) == found + 1)
        TRY(csv_next_position(r, err)); /* the label is not there */
    if (r->width && r->width != r->ncolumns) {
        csv_no_columns(r);
        return error_set(err, SKIFF_FORMAT, "expected %lld columns (input_width)%s, found %d",
                         (long long)r->width, r->skip_label ? ", or one less without a label" : "",
                         found);
    }
    for (int i = 0; i < r->nwanted; i++) {
        long want = strtol(r->wanted[i].name, NULL, 10);
        if (want < 1 || want > r->ncolumns) {
            enum skiff_status status = error_set(
                err, SKIFF_FORMAT,
                "slot \"%s\": there is no column %.60s; without a header line columns go "
                "by position, 1 to %d",
                r->base.schema->slots[r->wanted[i].to.slot].name, r->wanted[i].name, r->ncolumns);
            csv_no_columns(r);
            return status;
        }
    }
    r->bound = true;
    return SKIFF_OK;
}

static enum skiff_status csv_find_id(struct reader_csv *r, const char *line, const char *end,
                                     struct skiff_error *err)
{
    const char *cell;
    size_t n;
    int k = 0;
    for (const char *at = line; at; k++) {
        TRY(csv_cell(&r->csv, &at, end, &cell, &n, err));
        if (same_text(r->id_name, cell, n)) {
            r->id = k;
            return SKIFF_OK;
        }
    }
    return error_set(err, SKIFF_NOT_FOUND,
                     "header: no column \"%s\", which the setting id names (%d columns); "
                     "an empty setting, -o runner.input_id=, takes rows without ids",
                     r->id_name, k);
}

static bool csv_is_comment(const struct reader_csv *r, const char *text, size_t n)
{
    return r->comment && n && text[0] == r->comment;
}

/* A line above the header that has one text, and no column is called so. */
static bool csv_is_above(struct reader_csv *r, const char *line, size_t n)
{
    const char *title = NULL;
    if (r->base.schema->count < 2 || !csv_is_title(&r->csv, line, line + n, &title, &n))
        return false;
    for (int i = 0; i < r->nwanted; i++)
        if (same_text(r->wanted[i].name, title, n))
            return false;
    for (int i = 0; i < r->base.schema->count; i++)
        if (same_text(r->base.schema->slots[i].name, title, n))
            return false;
    return true;
}

static enum skiff_status csv_begin(struct reader *base, struct source *s, struct skiff_error *err)
{
    struct reader_csv *r = (struct reader_csv *)base;
    const char *line;
    size_t n;
    enum skiff_status status;
    int above = 0;
    if (r->nwanted)
        r->bound = false;
    source_quotes(s, r->csv.separator, r->comment);
    if (!r->header)
        return SKIFF_OK;
    do
        status = source_line(s, &line, &n, err);
    while (status == SKIFF_OK && (n == 0 || csv_is_comment(r, line, n) ||
                                  (++above <= CSV_TITLES && csv_is_above(r, line, n))));
    if (status != SKIFF_OK)
        return status < 0 ? status : SKIFF_OK;
    buf_reset(&r->header_line);
    buf_add(&r->header_line, line, n);
    if (r->id_name)
        TRY(csv_find_id(r, line, line + n, err));
    if (r->bound)
        return SKIFF_OK;
    status = csv_header(r, line, n, err);
    return status < 0 ? error_prefix(err, status, "header") : status;
}

/* ---- cells ---- */

enum skiff_status csv_put_id(struct reader_csv *r, struct batch *b, const struct target *t,
                             int64_t id, struct skiff_error *err)
{
    struct column *c = &b->columns[t->slot];
    if (!c->ragged)
        batch_dense_i64(b, t->slot)[t->at] = id;
    else if (!column_add_i64(c, id))
        return reader_no_memory(b->schema, t->slot, err);
    return SKIFF_OK;
}

static enum skiff_status csv_bad_number(const struct batch *b, const struct target *t,
                                        const char *p, size_t n, struct skiff_error *err)
{
    if (t->stats && t->stats->form != TIMESTAMP_NONE)
        return reader_bad(b->schema, t->slot, t->at, "a time", p, n, err);
    return reader_bad_advice(b->schema, t->slot, t->at, "a number", p, n,
                             "if it stands for a missing value, the setting missing "
                             "(runner.input_missing) should list it",
                             err);
}

static enum skiff_status csv_put_number(struct reader_csv *r, struct batch *b,
                                        const struct target *t, const char *p, size_t n,
                                        struct skiff_error *err)
{
    struct column *c = &b->columns[t->slot];
    float x;
    if (t->stats ? !column_number(t->stats, p, n, &x) : text_f32(p, &x) != p + n)
        return csv_bad_number(b, t, p, n, err);
    if (t->stats && isfinite(x)) /* others are seen by the rules (rules.h) */
        x = column_scale(t->stats, (double)x);
    if (!c->ragged)
        batch_dense_f32(b, t->slot)[t->at] = x;
    else if (!column_add_f32(c, x))
        return reader_no_memory(b->schema, t->slot, err);
    return SKIFF_OK;
}

static enum skiff_status csv_put_label(struct reader_csv *r, struct batch *b,
                                       const struct target *t, const char *p, size_t n,
                                       struct skiff_error *err)
{
    const struct slot *s = &b->schema->slots[t->slot];
    double value;
    uint64_t whole;
    if (!r->rule.positive.text && n && s->dtype == DTYPE_INT64 && text_id(p, &whole) == p + n)
        return csv_put_id(r, b, t, (int64_t)whole, err);
    enum skiff_status status = label_read(&r->rule, p, n, &value, err);
    char place[2 * SLOT_TITLE_MAX];
    if (status < 0)
        return error_prefix(err, status, "%s", slot_place(b->schema, t->slot, t->at, place));
    if (s->dtype == DTYPE_INT64) {
        if (value < -9e18 || value > 9e18 || value != (double)(int64_t)value)
            return reader_bad(b->schema, t->slot, t->at, "a whole number", p, n, err);
        return csv_put_id(r, b, t, (int64_t)value, err);
    }
    batch_dense_f32(b, t->slot)[t->at] = (float)value;
    return SKIFF_OK;
}

static enum skiff_status csv_value(struct reader_csv *r, struct batch *b, const struct target *t,
                                   const char *p, size_t n, struct skiff_error *err)
{
    uint64_t whole;
    if (b->columns[t->slot].dtype == DTYPE_FP32)
        return csv_put_number(r, b, t, p, n, err);
    if (t->slot == r->group)
        return csv_put_id(r, b, t, (int64_t)hash_xxh64(p, n, 0), err);
    if (t->stats) {
        int64_t id = column_id(t->stats, p, n);
        if (id < 0)
            return csv_bad_number(b, t, p, n, err);
        return csv_put_id(r, b, t, id, err);
    }
    if (r->hashed)
        return csv_put_id(r, b, t, hasher_id(&r->hasher, &r->prefix[t->slot], p, n), err);
    if (text_id(p, &whole) != p + n)
        return reader_bad_advice(b->schema, t->slot, t->at, "a whole number", p, n,
                                 "for text, the setting hash_size (runner.input_hash_size) makes "
                                 "ids of it",
                                 err);
    return csv_put_id(r, b, t, (int64_t)whole, err);
}

/* A dense slot has its own id for a missing value, when its ids come from text. */
static enum skiff_status csv_put_missing(struct reader_csv *r, struct batch *b,
                                         const struct target *t, struct skiff_error *err)
{
    const struct column *c = &b->columns[t->slot];
    if (c->dtype == DTYPE_FP32 || t->slot == r->label)
        return SKIFF_OK;
    if (t->stats)
        return csv_put_id(r, b, t, column_missing_id(t->stats), err);
    if (r->hashed && !c->ragged)
        return csv_put_id(r, b, t, hasher_id(&r->hasher, &r->prefix[t->slot], "", 0), err);
    return SKIFF_OK;
}

enum skiff_status csv_put(struct reader_csv *r, struct batch *b, const struct target *t,
                          const char *p, size_t n, struct skiff_error *err)
{
    if (n == 0 && t->slot == r->needed)
        return reader_no_label(b->schema, t->slot, "its cell is empty", err);
    if (n && t->slot == r->label)
        return csv_put_label(r, b, t, p, n, err);
    if (t->slot == r->weight && csv_is_missing(&r->missing, p, n))
        return reader_bad(b->schema, t->slot, t->at, "a weight", p, n, err);
    if (t->slot != r->group && csv_is_missing(&r->missing, p, n))
        return csv_put_missing(r, b, t, err);
    bool list = t->stats && t->stats->list, any = false;
    char kind = list ? t->stats->list : r->multi;
    if (!b->columns[t->slot].ragged || !kind)
        return csv_value(r, b, t, p, n, err);
    for (const char *item, *end = p + n; list_next(kind, list, &p, end, &item, &n); any = true)
        TRY(csv_value(r, b, t, item, n, err));
    return any || !list ? SKIFF_OK : csv_put_missing(r, b, t, err);
}

/* A cell of column k. */
enum skiff_status csv_put_cell(struct reader_csv *r, struct batch *b, int k, const char *p,
                               size_t n, struct skiff_error *err)
{
    if (k == r->id)
        batch_row_id(b, p, n);
    for (int i = k < r->ncolumns ? r->first[k] : 0; k < r->ncolumns && i < r->first[k + 1]; i++)
        if (!r->skip_label || r->targets[i].slot != r->label)
            TRY(csv_put(r, b, &r->targets[i], p, n, err));
    return SKIFF_OK;
}

/* The column of the label, or -1. */
static int csv_label_column(const struct reader_csv *r)
{
    for (int k = 0; k < r->ncolumns; k++)
        for (int i = r->first[k]; i < r->first[k + 1]; i++)
            if (r->targets[i].slot == r->label)
                return k;
    return -1;
}

/* Which column a line lacks: the label's, or -1 (none, or the line is bad). */
static int csv_absent(struct reader_csv *r, const char *text, const char *end)
{
    const char *at = text, *cell;
    size_t n;
    int cells = 0;
    if (!r->skip_label || !r->bound)
        return -1;
    for (; at && csv_cell(&r->csv, &at, end, &cell, &n, NULL) == SKIFF_OK; cells++)
        ;
    return cells == r->ncolumns - 1 ? csv_label_column(r) : -1;
}

static enum skiff_status csv_cells(struct reader_csv *r, const char *text, const char *end,
                                   struct batch *b, struct skiff_error *err)
{
    const char *at = text, *cell;
    size_t n;
    if (!r->bound && !r->header)
        TRY(csv_positions(r, text, end, err));
    int absent = csv_absent(r, text, end), k = absent == 0;
    for (; at; k += 1 + (k + 1 == absent)) {
        TRY(csv_cell(&r->csv, &at, end, &cell, &n, err));
        TRY(csv_put_cell(r, b, k, cell, n, err));
    }
    if (k != r->ncolumns)
        return error_set(err, SKIFF_FORMAT, "expected %d columns, found %d", r->ncolumns, k);
    return SKIFF_OK;
}

static enum skiff_status csv_line(struct reader *base, const char *text, size_t n, struct batch *b,
                                  struct skiff_error *err)
{
    struct reader_csv *r = (struct reader_csv *)base;
    if (n == 0 || csv_is_comment(r, text, n))
        return SKIFF_END;
    batch_row_zero_dense(b);
    enum skiff_status status = csv_cells(r, text, text + n, b, err);
    if (status < 0) {
        batch_row_abort(b);
        return status;
    }
    return batch_row_end(b, err);
}

/* ---- making one ---- */

static enum skiff_status csv_prefixes(struct reader_csv *r, struct skiff_error *err)
{
    const struct schema *schema = r->base.schema;
    r->prefix = mem_alloc_or_die((size_t)schema->count * sizeof *r->prefix);
    for (int i = 0; i < schema->count; i++) {
        size_t n = strlen(schema->slots[i].name);
        if (r->hashed && n > HASH_PREFIX_MAX)
            return error_set(err, SKIFF_RANGE,
                             "slot \"%s\": a name of at most %d bytes can be hashed",
                             schema->slots[i].name, HASH_PREFIX_MAX);
        r->prefix[i].len = n < HASH_PREFIX_MAX ? n : HASH_PREFIX_MAX;
        memcpy(r->prefix[i].text, schema->slots[i].name, r->prefix[i].len);
    }
    return SKIFF_OK;
}

static enum skiff_status csv_stats(struct reader_csv *r, const struct reader_config *config,
                                   struct skiff_error *err)
{
    bool given = config->has_normalise;
    if (given && config->normalise == NORMALISE_DOCUMENTS)
        return error_set(err, SKIFF_INVALID,
                         "normalise documents is for criteo; csv has quantile and none");
    r->scaled = given && config->normalise == NORMALISE_QUANTILE;
    if (r->scaled && !config->stats)
        return error_set(err, SKIFF_INVALID,
                         "normalise quantile needs the file that `skiff init` or `skiff prepare` "
                         "writes (setting stats)");
    r->stats = config->learnt;
    if (r->stats || !config->stats)
        return SKIFF_OK;
    TRY(columns_read(config->stats, &r->own_stats, err));
    r->stats = &r->own_stats;
    return SKIFF_OK;
}

static enum skiff_status csv_id(struct reader_csv *r, const char *id, struct skiff_error *err)
{
    char *end;
    r->id = -1;
    if (!id || !*id)
        return SKIFF_OK;
    long number = strtol(id, &end, 10);
    if (*end == '\0' && number >= 1 && number <= CSV_COLUMNS_MAX) {
        r->id = (int)number - 1;
        return SKIFF_OK;
    }
    if (!r->header)
        return error_set(err, SKIFF_INVALID,
                         "id: %s: without a header line it is a column's number, from 1", id);
    r->id_name = mem_strdup_or_die(id);
    return SKIFF_OK;
}

static enum skiff_status csv_settings(struct reader_csv *r, const struct reader_config *config,
                                      struct skiff_error *err)
{
    r->csv.separator = config->separator;
    r->csv.decimal_comma = config->decimal == ',';
    r->header = config->header;
    r->multi = config->multi;
    r->comment = config->comment;
    r->hashed = config->has_hash_size;
    r->hasher = hasher_of(config->hash, config->hash_size);
    r->label = schema_label(r->base.schema);
    r->weight = schema_find(r->base.schema, SLOT_WEIGHT);
    r->group = schema_find(r->base.schema, SLOT_GROUP);
    r->skip_label = config->skip_label;
    r->width = config->width;
    r->needed = row_label(config, r->base.schema);
    r->filled = mem_alloc_or_die((size_t)r->base.schema->count * sizeof *r->filled);
    csv_no_columns(r);
    csv_marks_init(&r->missing, config->missing);
    TRY(label_rule_init(&r->rule, config->positive, config->negative, err));
    TRY(csv_prefixes(r, err));
    TRY(csv_stats(r, config, err));
    TRY(csv_id(r, config->id, err));
    if (config->columns)
        return csv_columns(r, config->columns, err);
    if (!r->header)
        return error_set(err, SKIFF_INVALID,
                         "without a header line the setting columns must name the slots");
    return SKIFF_OK;
}

static enum skiff_status csv_create(const struct reader_config *config, const struct schema *schema,
                                    struct reader **out, struct skiff_error *err)
{
    struct reader_csv *r = mem_alloc_or_die(sizeof *r);
    r->base = (struct reader){&read_csv, schema};
    enum skiff_status status = csv_settings(r, config, err);
    if (status < 0)
        csv_destroy(&r->base);
    else
        *out = &r->base;
    return status;
}

static const char *csv_column_name(const struct reader *base, int i, int *slot, int *at)
{
    const struct reader_csv *r = (const struct reader_csv *)base;
    if (i >= r->nwanted)
        return NULL;
    *slot = r->wanted[i].to.slot;
    *at = r->wanted[i].to.at;
    return r->wanted[i].name;
}

const struct reader_class read_csv = {
    .name = "csv",
    .summary = "CSV with a header line or the setting columns",
    .scales = true,
    .labels = true,
    .create = csv_create,
    .destroy = csv_destroy,
    .begin = csv_begin,
    .line = csv_line,
    .column = csv_column_name,
    .row = csv_row,
    .columns = csv_columns_of,
};
