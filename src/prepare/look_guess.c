/* Guessing the form of a table from its first rows.
 *
 * libsvm and libffm: every row is a number and tokens of numbers and colons. CSV: the separator
 * that cuts (nearly) all rows into the same number of cells, two at least, the largest such number.
 * A header: the first row has no number, and a column is numbers below it; or, when no column is,
 * nothing of the first row comes again in its column. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "prepare/look.h"
#include "data/svm.h"

#define ROWS 1000
#define BYTES ((size_t)4 << 20)

struct head_lines {
    struct buf text; /* all of them, each with a pad behind it */
    size_t start[ROWS], n[ROWS];
    int count;
    int hashes; /* lines before the first that does not begin with # */
};

static enum skiff_status take_line(struct head_lines *l, const char *file,
                                   const struct look_row *row, struct skiff_error *err)
{
    if (memchr(row->line, 0, row->n))
        return error_set(err, SKIFF_FORMAT,
                         "%s:%" PRId64 ": there are zero bytes: is it text? (of a file in UTF-16, "
                         "`iconv -f utf-16 -t utf-8 <FILE` makes one that can be read)",
                         file, row->number);
    if (memchr(row->line, '\r', row->n) && !memchr(row->line, '\n', row->n))
        return error_set(err, SKIFF_FORMAT,
                         "%s:%" PRId64 ": lines end with carriage returns alone, as on old Macs; "
                         "`tr '\\r' '\\n' <FILE` mends that",
                         file, row->number);
    if (l->hashes == l->count && row->line[0] == '#')
        l->hashes++;
    l->start[l->count] = l->text.len;
    l->n[l->count++] = row->n;
    buf_add(&l->text, row->line, row->n);
    buf_char(&l->text, '\n');
    for (int i = 0; i < TEXT_PAD; i++)
        buf_char(&l->text, '\0');
    return SKIFF_OK;
}

static enum skiff_status take_lines(const struct look_config *config, struct head_lines *l,
                                    struct skiff_error *err)
{
    struct look_rows rows;
    struct look_row row;
    struct look_form form = {.format = LOOK_CSV};
    if (config->has_format)
        form.format = config->form.format;
    if (config->has_separator)
        form.separator = config->form.separator;
    TRY(look_rows_open(&rows, config, form, err));
    enum skiff_status status = SKIFF_OK;
    while (status == SKIFF_OK && l->count < ROWS && l->text.len < BYTES) {
        status = look_rows_next(&rows, &row, err);
        if (status == SKIFF_OK && rows.file > 1)
            break;
        if (status == SKIFF_OK)
            status = take_line(l, look_rows_file(&rows), &row, err);
    }
    look_rows_close(&rows);
    if (status >= 0 && l->count == 0)
        return error_set(err, SKIFF_FORMAT, "%s: the file is empty: there is no row in it",
                         config->files->paths[0]);
    return status < 0 ? status : SKIFF_OK;
}

static const char *line_at(const struct head_lines *l, int i)
{
    return l->text.data + l->start[i];
}

/* ---- libsvm, libffm ---- */

/* 1: index:value, 2: field:index:value, 0: neither. A row may have no token at all. */
static int svm_parts(const char *line, size_t n, int *tokens)
{
    const char *end = svm_cut_comment(line, line + n), *p = text_skip_blanks(line, end);
    const char *stop = text_token_end(p, end);
    float label;
    int parts = 1;
    struct svm_token t;
    *tokens = 0;
    if (p == stop || text_f32(p, &label) != stop)
        return 0;
    for (p = text_skip_blanks(stop, end); p < end; p = text_skip_blanks(stop, end)) {
        stop = text_token_end(p, end);
        if (stop - p >= 4 && memcmp(p, "qid:", 4) == 0)
            continue;
        if (*tokens == 0 && svm_token(p, (size_t)(stop - p), 1, &t, NULL) != SKIFF_OK)
            parts = 2;
        if (svm_token(p, (size_t)(stop - p), parts, &t, NULL) != SKIFF_OK)
            return 0;
        ++*tokens;
    }
    return parts;
}

static bool guess_svm(const struct head_lines *l, struct look_form *out)
{
    int seen[3] = {0}, rows = 0;
    for (int i = l->hashes; i < l->count; i++) {
        int tokens, parts = svm_parts(line_at(l, i), l->n[i], &tokens);
        rows++;
        if (parts == 0)
            seen[0]++;
        else if (tokens)
            seen[parts]++;
    }
    int best = seen[2] > seen[1] ? 2 : 1;
    if (seen[best] == 0 || 10 * (seen[0] + seen[3 - best]) > rows)
        return false;
    *out = (struct look_form){.format = best == 2 ? LOOK_LIBFFM : LOOK_LIBSVM, .comment = '#'};
    return true;
}

/* ---- csv ---- */

static int cells_of(const struct head_lines *l, int i, char separator)
{
    struct csv csv = {.separator = separator};
    const char *at = line_at(l, i), *end = at + l->n[i], *cell;
    int count = 0;
    for (size_t n; at && count >= 0; count++)
        if (csv_cell(&csv, &at, end, &cell, &n, NULL) < 0)
            count = -2;
    csv_deinit(&csv);
    return count;
}

/* The number of cells that most rows have; 0 when fewer than nine in ten agree. */
static int usual_cells(const struct head_lines *l, char separator)
{
    int best = 0, votes = 0, agree = 0, rows = l->count - l->hashes;
    for (int i = l->hashes; i < l->count; i++) { /* the majority, then how many it is */
        int n = cells_of(l, i, separator);
        if (votes == 0)
            best = n;
        votes += n == best ? 1 : -1;
    }
    for (int i = l->hashes; i < l->count; i++)
        agree += cells_of(l, i, separator) == best;
    return 10 * agree >= 9 * rows ? best : 0;
}

/* The most cells; but a character that separates the first line, too, before one that does not: in
 * 1.616,29;0,5 below price;share the comma is part of numbers. */
static char guess_separator(const struct head_lines *l, int *cells)
{
    static const char candidates[] = {'\t', ',', ';', '|', ' '};
    char best = ',';
    bool first = false;
    *cells = 1;
    for (size_t i = 0; i < sizeof candidates; i++) {
        int n = usual_cells(l, candidates[i]);
        bool in_first = n > 1 && cells_of(l, l->hashes, candidates[i]) == n;
        bool better = in_first == first ? n > *cells : in_first;
        if (n > 1 && better && (candidates[i] != ' ' || *cells == 1)) {
            best = candidates[i];
            *cells = n;
            first = in_first;
        }
    }
    return best;
}

struct cell_kind {
    const char *text;
    size_t n;
    bool number, missing, comma;
    bool formed; /* a number with both marks, a currency or a percent sign: 1.616,29 */
};

/* Cells of a row; quoted ones are copied into `copies`. Returns how many. */
static int kinds_of(const struct head_lines *l, int i, char separator, struct cell_kind *out,
                    int most, struct buf *copies)
{
    struct csv csv = {.separator = separator};
    const char *at = line_at(l, i), *end = at + l->n[i];
    int count = 0;
    buf_reset(copies);
    buf_reserve(copies, l->n[i] + 1);
    while (at && count < most) {
        struct cell_kind *k = &out[count++];
        double x;
        float y;
        bool whole;
        if (csv_cell(&csv, &at, end, &k->text, &k->n, NULL) < 0)
            break;
        k->missing = look_is_missing(k->text, k->n);
        k->comma = csv_has_decimal_comma(k->text, k->n);
        k->number = k->comma || look_number(k->text, k->n, &x, &whole);
        k->formed = !k->number && number_read(NUMBER_COMMA, k->text, k->n, &y);
        k->number |= k->formed || number_read(NUMBER_POINT, k->text, k->n, &y);
        size_t offset = copies->len;
        buf_add(copies, k->text, k->n);
        k->text = copies->data + offset;
    }
    csv_deinit(&csv);
    return count;
}

struct below {
    int numbers, texts, again, commas, formed;
};

/* What stands below each cell of the first row. */
static void look_below(const struct head_lines *l, char separator, const struct cell_kind *first,
                       int cells, struct below *out)
{
    struct cell_kind *row = mem_alloc_or_die((size_t)cells * sizeof *row);
    struct buf copies = BUF_INIT;
    for (int i = l->hashes + 1; i < l->count; i++) {
        int n = kinds_of(l, i, separator, row, cells, &copies);
        for (int k = 0; k < n; k++) {
            out[k].numbers += row[k].number;
            out[k].commas += row[k].comma;
            out[k].formed += row[k].formed;
            out[k].texts += !row[k].number && !row[k].missing;
            out[k].again +=
                row[k].n == first[k].n && memcmp(row[k].text, first[k].text, row[k].n) == 0;
        }
    }
    buf_deinit(&copies);
    free(row);
}

static bool guess_header(const struct head_lines *l, char separator, int cells)
{
    struct cell_kind *first = mem_alloc_or_die((size_t)cells * sizeof *first);
    struct below *below = mem_alloc_or_die((size_t)cells * sizeof *below);
    struct buf copies = BUF_INIT;
    int n = kinds_of(l, l->hashes, separator, first, cells, &copies);
    bool number = false, proof = false, again = false;
    look_below(l, separator, first, n, below);
    for (int k = 0; k < n; k++) {
        number |= first[k].number;
        proof |= !first[k].number && !first[k].missing && below[k].numbers > 0 &&
                 below[k].numbers >= 9 * below[k].texts;
        again |= below[k].again > 0;
    }
    buf_deinit(&copies);
    free(first);
    free(below);
    return !number && (proof || !again);
}

/* Some column has numbers with decimal commas, and nothing but numbers; not where thousands
 * separators or currencies make each column have a form of its own (number.h). Between commas,
 * 1,234 would rather be a thousand. */
static bool guess_decimal_comma(const struct head_lines *l, char separator, int cells)
{
    struct cell_kind *first = mem_alloc_or_die((size_t)cells * sizeof *first);
    struct below *below = mem_alloc_or_die((size_t)cells * sizeof *below);
    struct buf copies = BUF_INIT;
    bool found = false, formed = false;
    int n = kinds_of(l, l->hashes, separator, first, cells, &copies);
    look_below(l, separator, first, n, below);
    for (int k = 0; k < n; k++) {
        found |= separator != ',' && below[k].commas > 0 && below[k].texts == 0;
        formed |= below[k].formed > 0 && below[k].texts == 0;
    }
    buf_deinit(&copies);
    free(first);
    free(below);
    return found && !formed;
}

/* Takes the titles above a header out of the lines; returns how many there are. */
static int drop_titles(struct head_lines *l, char separator, int cells)
{
    struct csv csv = {.separator = separator};
    const char *title;
    size_t n;
    int titles = 0, from = l->hashes;
    while (cells > 1 && titles < CSV_TITLES && from + titles + 1 < l->count &&
           csv_is_title(&csv, line_at(l, from + titles),
                        line_at(l, from + titles) + l->n[from + titles], &title, &n))
        titles++;
    l->count -= titles;
    memmove(l->start + from, l->start + from + titles,
            (size_t)(l->count - from) * sizeof *l->start);
    memmove(l->n + from, l->n + from + titles, (size_t)(l->count - from) * sizeof *l->n);
    csv_deinit(&csv);
    return titles;
}

static void guess_csv(struct head_lines *l, const struct look_config *config, struct look_form *out)
{
    int cells;
    *out = (struct look_form){.format = LOOK_CSV};
    bool all_hashes = l->hashes == l->count;
    if (all_hashes)
        l->hashes = 0;
    out->separator = config->has_separator ? config->form.separator : guess_separator(l, &cells);
    cells = usual_cells(l, out->separator);
    if (cells < 1)
        cells = cells_of(l, l->hashes, out->separator);
    /* "#id,label": a header that begins like a comment */
    if (l->hashes == 1 && cells > 1 && cells_of(l, 0, out->separator) == cells)
        l->hashes = 0;
    out->comment = l->hashes ? '#' : 0;
    int titles = drop_titles(l, out->separator, cells);
    out->header = config->has_header ? config->form.header
                                     : cells > 0 && guess_header(l, out->separator, cells);
    out->titles = out->header ? titles : 0;
    out->decimal_comma = cells > 0 && guess_decimal_comma(l, out->separator, cells);
}

enum skiff_status look_guess(const struct look_config *config, struct look_form *out,
                             struct skiff_error *err)
{
    struct head_lines *l = mem_alloc_or_die(sizeof *l);
    enum skiff_status status = take_lines(config, l, err);
    if (status == SKIFF_OK) {
        if (config->has_format && config->form.format != LOOK_CSV)
            *out = (struct look_form){.format = config->form.format,
                                      .comment = config->form.format == LOOK_LINES ? 0 : '#'};
        else if (config->has_format || config->has_separator || !guess_svm(l, out))
            guess_csv(l, config, out);
    }
    buf_deinit(&l->text);
    free(l);
    return status;
}
