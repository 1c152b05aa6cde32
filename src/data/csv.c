/* CSV cells (csv.h).
 *
 * Quotes are read twice. csv_scan tells whether a line end is within quotes, so that lines are
 * joined to rows (source.c); it skips to the next quote where it can. csv_cell gets a whole row
 * and copies only cells that are quoted or have a decimal comma. Copies end with a line end and
 * padding, as lines do, because the readers of numbers look ahead. */
#include "data/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/print_g.h"

void csv_deinit(struct csv *c)
{
    buf_deinit(&c->cell);
}

static bool blank(const struct csv *c, char x)
{
    return text_blank(x) && x != c->separator;
}

/* p is at the opening quote; returns the position behind the closing one. */
static enum skiff_status quoted(struct csv *c, const char *p, const char *end, const char **behind,
                                struct skiff_error *err)
{
    buf_reset(&c->cell);
    for (p++;; p++) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        if (!quote)
            return error_set(err, SKIFF_FORMAT,
                             "a quote is not closed, neither here nor in a later line; "
                             "within quotes, a quote is written twice");
        buf_add(&c->cell, p, (size_t)(quote - p));
        p = quote + 1;
        if (p == end || *p != '"')
            break;
        buf_char(&c->cell, '"');
    }
    while (p < end && blank(c, *p))
        p++;
    if (p < end && *p != c->separator)
        return error_set(err, SKIFF_FORMAT, "expected a separator behind a quoted cell, found %c",
                         *p);
    *behind = p;
    return SKIFF_OK;
}

static bool separates(char c, char separator)
{
    return separator ? c == separator : c == '\t' || c == ',' || c == ';' || c == '|';
}

static enum csv_state scan_one(enum csv_state state, char c, char separator)
{
    switch (state) {
    case CSV_QUOTED:
        return c == '"' ? CSV_CLOSED : CSV_QUOTED;
    case CSV_CLOSED:
        if (c == '"')
            return CSV_QUOTED;
        /* fall through */
    case CSV_BEHIND:
        return separates(c, separator) ? CSV_BEGIN : text_blank(c) ? CSV_BEHIND : CSV_MALFORMED;
    case CSV_BEGIN:
        return c == '"'                                   ? CSV_QUOTED
               : separates(c, separator) || text_blank(c) ? CSV_BEGIN
                                                          : CSV_PLAIN;
    case CSV_PLAIN:
        return separates(c, separator) ? CSV_BEGIN : CSV_PLAIN;
    case CSV_MALFORMED:
        break;
    }
    return CSV_MALFORMED;
}

enum csv_state csv_scan(enum csv_state state, const char *text, size_t n, char separator)
{
    for (const char *end = text + n; text < end && state != CSV_MALFORMED; text++) {
        if (state == CSV_QUOTED && !(text = memchr(text, '"', (size_t)(end - text))))
            break;
        state = scan_one(state, *text, separator);
    }
    return state;
}

bool csv_has_decimal_comma(const char *text, size_t n)
{
    size_t i = n && (text[0] == '-' || text[0] == '+'), commas = 0;
    for (; i < n && (text_digit(text[i]) || text[i] == ','); i++)
        commas += text[i] == ',';
    return i == n && commas == 1 && text[n - 1] != ',';
}

static void end_copy(struct csv *c)
{
    buf_add(&c->cell, "\n", 1);
    buf_reserve(&c->cell, TEXT_PAD);
    memset(c->cell.data + c->cell.len, 0, TEXT_PAD);
}

static void mend_comma(struct csv *c, const char **cell, size_t n)
{
    if (*cell != c->cell.data) {
        buf_reset(&c->cell);
        buf_add(&c->cell, *cell, n);
        end_copy(c);
        *cell = c->cell.data;
    }
    *(char *)memchr(c->cell.data, ',', n) = '.';
}

const char *csv_given(struct csv *c, const char *text, size_t n)
{
    buf_reset(&c->cell);
    buf_add(&c->cell, text, n);
    end_copy(c);
    const char *cell = c->cell.data;
    if (c->decimal_comma && csv_has_decimal_comma(cell, n))
        mend_comma(c, &cell, n);
    return cell;
}

enum skiff_status csv_cell(struct csv *c, const char **at, const char *end, const char **cell,
                           size_t *n, struct skiff_error *err)
{
    const char *p = *at;
    while (p < end && blank(c, *p))
        p++;
    if (p < end && *p == '"') {
        TRY(quoted(c, p, end, &p, err));
        *n = c->cell.len;
        end_copy(c);
        *cell = c->cell.data;
    } else {
        const char *stop = memchr(p, c->separator, (size_t)(end - p));
        *cell = p;
        p = stop ? stop : end;
        *n = (size_t)(p - *cell);
        while (*n && blank(c, (*cell)[*n - 1]))
            --*n;
    }
    if (c->decimal_comma && csv_has_decimal_comma(*cell, *n))
        mend_comma(c, cell, *n);
    *at = p < end ? p + 1 : NULL;
    return SKIFF_OK;
}

char *csv_next_assignment(char **at)
{
    char *line = *at, *end, *from;
    if (!line)
        return NULL;
    end = strchr(line, '\n');
    from = memchr(line, '=', end ? (size_t)(end - line) : strlen(line));
    while (from && end &&
           csv_scan(CSV_BEGIN, from + 1, (size_t)(end - from - 1), ',') == CSV_QUOTED)
        end = strchr(end + 1, '\n');
    *at = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}

bool csv_assignment(char *line, char **name, const char **at, const char **end)
{
    char *equals = strchr(line, '='), *stop = equals;
    if (!equals)
        return false;
    *name = line + strspn(line, " \t");
    while (stop > *name && text_blank(stop[-1]))
        stop--;
    *stop = '\0';
    *at = equals + 1;
    *end = *at + strlen(*at);
    return true;
}

bool csv_is_title(struct csv *c, const char *line, const char *end, const char **title, size_t *n)
{
    const char *at = line, *cell;
    size_t length;
    int filled = 0;
    *n = 0;
    while (at && filled < 2) {
        if (csv_cell(c, &at, end, &cell, &length, NULL) < 0)
            return false;
        if (length == 0)
            continue;
        filled++;
        *title = cell;
        *n = length;
    }
    return filled < 2;
}

void csv_quote(struct buf *out, const char *text, size_t n, char separator)
{
    bool plain = n > 0 && !text_blank(text[0]) && !text_blank(text[n - 1]);
    for (size_t i = 0; plain && i < n; i++)
        plain = text[i] != separator && text[i] != '"' && text[i] != '\n' && text[i] != '\r';
    if (plain) {
        buf_add(out, text, n);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            buf_char(out, '"');
        buf_char(out, text[i]);
    }
    buf_char(out, '"');
}

void csv_marks_init(struct csv_marks *m, const char *lines)
{
    *m = (struct csv_marks){0};
    if (!lines)
        return;
    char *at = m->text = mem_strdup_or_die(lines);
    for (char *mark; (mark = strsep(&at, "\n"));) {
        m->at = mem_grow_or_die(m->at, ((size_t)m->n + 1) * sizeof *m->at);
        m->at[m->n++] = mark;
    }
}

void csv_marks_deinit(struct csv_marks *m)
{
    free(m->text);
    free(m->at);
    *m = (struct csv_marks){0};
}

bool csv_is_missing(const struct csv_marks *m, const char *p, size_t n)
{
    for (int i = 0; n && i < m->n; i++)
        if (strlen(m->at[i]) == n && memcmp(m->at[i], p, n) == 0)
            return true;
    return n == 0;
}

void csv_print_number(struct buf *out, double x)
{
    char text[PRINT_G_MAX];
    if (isnan(x))
        return;
    print_g(text, x, 15);
    if (strtod(text, NULL) != x)
        print_g(text, x, 17);
    buf_str(out, text);
}
