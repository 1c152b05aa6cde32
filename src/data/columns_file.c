/* The text form of columns.h: printing and parsing.
 *
 * The file is written by `skiff init` and `skiff prepare` and may be edited by hand. The parser
 * therefore checks every field and names the line that it cannot read; the index of values by hash
 * is rebuilt at the end. Names and values are quoted as in CSV. Any thread; no state. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/columns.h"
#include "data/csv.h"
#include "data/list.h"
#include "data/source.h"
#include "fs/fs.h"

#define FIRST_LINE "skiff-columns 1"

static const char *const kind_names[] = {"number", "values", "hashed", "hour", "weekday"};
#define KINDS 5

/* ---- writing ---- */

static void print_quoted(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_char(out, '"');
        buf_char(out, *text);
    }
    buf_char(out, '"');
}

static void print_column(const struct column_stats *s, struct buf *out)
{
    buf_printf(out, "%s ", kind_names[s->kind]);
    print_quoted(out, s->name);
    buf_printf(out, " missing=%" PRId64, s->missing);
    if (s->form != TIMESTAMP_NONE || s->number_form != NUMBER_PLAIN)
        buf_printf(out, " form=%s",
                   s->form ? timestamp_form_name(s->form) : number_form_name(s->number_form));
    if (s->list)
        buf_printf(out, " list=%c", s->list);
    if (s->kind == COLUMN_NUMBER)
        buf_printf(out, " min=%.9g max=%.9g mean=%.6g", s->min, s->max, s->mean);
    else if (s->kind == COLUMN_VALUES || s->kind == COLUMN_HASHED)
        buf_printf(out, " distinct=%" PRId64 "%s", s->distinct, s->more ? "+" : "");
    buf_printf(out, " ids=%" PRId64 " size=%" PRId64, s->first, s->size);
    if (s->kind == COLUMN_NUMBER)
        buf_str(out, " knots");
    for (int i = 0; i < s->nknots; i++)
        buf_printf(out, " %.9g", s->knots[i]);
    buf_char(out, '\n');
    for (int64_t i = 0; i < s->nvalues; i++) {
        buf_char(out, ' ');
        print_quoted(out, s->values[i].text);
        buf_printf(out, " %" PRId64 "\n", s->values[i].count);
    }
}

void columns_print(const struct columns *c, struct buf *out)
{
    buf_printf(out, FIRST_LINE "\nrows %" PRId64 "\nids %" PRId64 "\n", c->rows, columns_ids(c));
    for (int i = 0; i < c->count; i++)
        print_column(&c->at[i], out);
}

enum skiff_status columns_write(const struct columns *c, const char *path, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    columns_print(c, &text);
    enum skiff_status status = fs_write_file(NULL, path, text.data, text.len, err);
    buf_deinit(&text);
    return status;
}

/* ---- reading ---- */

/* The quoted text at *at; *at moves behind it and the blanks that follow. */
static bool take_quoted(struct csv *csv, const char **at, const char *end, const char **text,
                        size_t *n)
{
    if (*at == end || **at != '"')
        return false;
    return csv_cell(csv, at, end, text, n, NULL) == SKIFF_OK;
}

/* " name=123" at *at. */
static bool take_count(const char **at, const char *end, const char *name, int64_t *out)
{
    size_t n = strlen(name);
    bool over = false;
    const char *p = text_skip_blanks(*at, end);
    if ((size_t)(end - p) <= n || memcmp(p, name, n) != 0)
        return false;
    const char *behind = text_i64(p + n, out, &over);
    if (behind == p + n || over || *out < 0)
        return false;
    *at = behind;
    return true;
}

static bool take_real(const char **at, const char *end, const char *name, double *out)
{
    size_t n = strlen(name);
    float x;
    const char *p = text_skip_blanks(*at, end);
    if ((size_t)(end - p) <= n || memcmp(p, name, n) != 0)
        return false;
    const char *behind = text_f32(p + n, &x);
    if (behind == p + n || x - x != 0)
        return false;
    *out = (double)x;
    *at = behind;
    return true;
}

static bool take_knots(const char *p, const char *end, struct column_stats *s)
{
    float x;
    if (end - p < 6 || memcmp(p, " knots", 6) != 0)
        return false;
    s->knots = mem_alloc_or_die(COLUMNS_KNOTS_MAX * sizeof *s->knots);
    for (p = text_skip_blanks(p + 6, end); p < end; p = text_skip_blanks(p, end)) {
        const char *behind = text_f32(p, &x);
        if (behind == p || s->nknots == COLUMNS_KNOTS_MAX || x - x != 0 ||
            (s->nknots && (double)x <= s->knots[s->nknots - 1]))
            return false;
        s->knots[s->nknots++] = (double)x;
        p = behind;
    }
    return true;
}

/* Numbers need none. */
static bool take_form(const char **at, const char *end, struct column_stats *s)
{
    const char *p = text_skip_blanks(*at, end);
    if (end - p < 5 || memcmp(p, "form=", 5) != 0)
        return s->kind == COLUMN_NUMBER;
    const char *behind = text_token_end(p + 5, end);
    size_t n = (size_t)(behind - p - 5);
    *at = behind;
    if (s->kind == COLUMN_NUMBER && number_form_of(p + 5, n, &s->number_form))
        return true;
    s->form = timestamp_form_of(p + 5, n);
    return s->form != TIMESTAMP_NONE;
}

static bool take_list(const char **at, const char *end, struct column_stats *s)
{
    const char *p = text_skip_blanks(*at, end);
    if (end - p < 6 || memcmp(p, "list=", 5) != 0)
        return true;
    s->list = p[5];
    *at = p + 6;
    return s->list && strchr(list_kinds, s->list);
}

static int64_t least_size(enum column_kind kind)
{
    return kind == COLUMN_HOUR ? 25 : kind == COLUMN_WEEKDAY ? 8 : 2;
}

/* The rest of the line, behind the name. */
static bool take_rest(const char *p, const char *end, struct column_stats *s)
{
    if (!take_count(&p, end, "missing=", &s->missing))
        return false;
    if (s->kind != COLUMN_VALUES && s->kind != COLUMN_HASHED && !take_form(&p, end, s))
        return false;
    if (s->kind == COLUMN_NUMBER &&
        (!take_real(&p, end, "min=", &s->min) || !take_real(&p, end, "max=", &s->max) ||
         !take_real(&p, end, "mean=", &s->mean)))
        return false;
    if (s->kind == COLUMN_VALUES || s->kind == COLUMN_HASHED) {
        if (!take_list(&p, end, s) || !take_count(&p, end, "distinct=", &s->distinct))
            return false;
        s->more = p < end && *p == '+';
        p += s->more;
    }
    if (!take_count(&p, end, "ids=", &s->first) || !take_count(&p, end, "size=", &s->size) ||
        s->first > INT64_MAX / 4 || s->size > INT64_MAX / 4)
        return false;
    if (s->kind == COLUMN_NUMBER)
        return take_knots(p, end, s) && (s->size == 0 || s->size > s->nknots);
    return text_skip_blanks(p, end) == end && s->size >= least_size(s->kind);
}

static bool take_column(struct columns *c, struct csv *csv, const char *p, const char *end)
{
    const char *stop = text_token_end(p, end), *name;
    size_t n;
    for (int k = 0; k < KINDS; k++) {
        if (strlen(kind_names[k]) != (size_t)(stop - p) ||
            memcmp(p, kind_names[k], (size_t)(stop - p)) != 0)
            continue;
        p = text_skip_blanks(stop, end);
        if (!take_quoted(csv, &p, end, &name, &n) || !p)
            return false;
        struct column_stats *s = columns_add(c, name, n, (enum column_kind)k);
        return take_rest(p, end, s);
    }
    return false;
}

static bool take_value(struct column_stats *s, struct csv *csv, const char *p, const char *end)
{
    const char *text;
    size_t n;
    int64_t count;
    p = text_skip_blanks(p, end);
    if (s->kind != COLUMN_VALUES || s->nvalues + 2 >= s->size ||
        !take_quoted(csv, &p, end, &text, &n) || !p || !take_count(&p, end, "", &count) || p != end)
        return false;
    if ((s->nvalues & (s->nvalues - 1)) == 0) /* a power of two: double the capacity */
        s->values = mem_grow_or_die(s->values,
                                    (size_t)(s->nvalues ? 2 * s->nvalues : 1) * sizeof *s->values);
    struct column_value *v = &s->values[s->nvalues++];
    *v = (struct column_value){mem_alloc_or_die(n + 1), count};
    memcpy(v->text, text, n);
    return true;
}

static void index_values(struct columns *c)
{
    for (int i = 0; i < c->count; i++) {
        struct column_stats *s = &c->at[i];
        bool fresh;
        if (s->kind != COLUMN_VALUES)
            continue;
        id_map_reset(&s->map, (size_t)s->nvalues + 1);
        for (int64_t k = 0; k < s->nvalues; k++)
            id_map_add(&s->map,
                       (int64_t)hash_xxh64(s->values[k].text, strlen(s->values[k].text), 0),
                       &fresh);
    }
}

/* heads: values are passed over */
static bool take_line(struct columns *c, bool heads, struct csv *csv, int64_t number, const char *p,
                      size_t n)
{
    int64_t ids;
    const char *end = p + n;
    if (number == 1)
        return n == strlen(FIRST_LINE) && memcmp(p, FIRST_LINE, n) == 0;
    if (number == 2)
        return take_count(&p, end, "rows ", &c->rows) && p == end;
    if (number == 3)
        return take_count(&p, end, "ids ", &ids) && p == end;
    if (n && *p == ' ')
        return heads || (c->count && take_value(&c->at[c->count - 1], csv, p, end));
    return take_column(c, csv, p, end);
}

static enum skiff_status take_source(struct source *s, bool heads, struct columns *out,
                                     const char *name, struct skiff_error *err)
{
    struct columns c = {0};
    struct csv csv = {.separator = ' '};
    enum skiff_status status;
    const char *line;
    size_t n;
    while ((status = source_line(s, &line, &n, err)) == SKIFF_OK) {
        char quoted[64];
        if (take_line(&c, heads, &csv, s->line, line, n))
            continue;
        status = error_set(err, SKIFF_FORMAT,
                           "%s:%" PRId64 ": not a line of a " FIRST_LINE
                           " file, which `skiff init` and `skiff prepare` "
                           "write: %s",
                           name, s->line, text_quote(line, n, quoted));
        break;
    }
    if (status == SKIFF_END && s->line < 3)
        status = error_set(err, SKIFF_FORMAT, "%s: it ends behind line %" PRId64, name, s->line);
    csv_deinit(&csv);
    if (status < 0) {
        columns_deinit(&c);
        return status;
    }
    index_values(&c);
    *out = c;
    return SKIFF_OK;
}

static enum skiff_status take_stream(struct stream *stream, bool heads, struct columns *out,
                                     struct skiff_error *err)
{
    struct source s;
    TRY(source_open(&s, stream, 0, err));
    source_quotes(&s, ' ', 0);
    enum skiff_status status = take_source(&s, heads, out, stream->name, err);
    source_close(&s);
    return status;
}

enum skiff_status columns_parse(const char *text, size_t n, const char *name, struct columns *out,
                                struct skiff_error *err)
{
    struct stream *stream;
    TRY(stream_open_memory(text, n, name, &stream, err));
    return take_stream(stream, false, out, err);
}

static enum skiff_status read_path(const char *path, bool heads, struct columns *out,
                                   struct skiff_error *err)
{
    struct stream *stream;
    enum skiff_status status = stream_open(path, NULL, &stream, err);
    if (status < 0)
        return error_prefix(err, status, "what `skiff init` or `skiff prepare` learnt");
    return take_stream(stream, heads, out, err);
}

enum skiff_status columns_read(const char *path, struct columns *out, struct skiff_error *err)
{
    return read_path(path, false, out, err);
}

enum skiff_status columns_read_heads(const char *path, struct columns *out, struct skiff_error *err)
{
    return read_path(path, true, out, err);
}
