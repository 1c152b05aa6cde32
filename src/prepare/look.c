/* Looking at a table (look.h): counting, in one pass over all rows of all files.
 *
 * Per column: how many cells are numbers, texts, times or missing, their range, and the most
 * frequent values. Distinct values are counted up to a limit, and beyond it only "more" is known,
 * so that memory depends on the columns, not on the rows. Rows that cannot be read are reported and
 * skipped; a header that differs from the first file's ends the reading. One thread. */
#include "prepare/look.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/list.h"
#include "data/svm.h"

#define TIMES 20000
#define LIST_ITEMS 4096 /* different ones; columns with more are texts */
#define DATES (1u << TIMESTAMP_DMY | 1u << TIMESTAMP_MDY)
#define COUNTERS ((size_t)8 << 20) /* of all columns together */

const char *const look_marks[LOOK_MARKS] = {"?",    "NA",   "N/A",  "NaN", "nan",
                                            "null", "NULL", "None", "-",   "\\N"};

const char *look_format_name(enum look_format format)
{
    static const char *const names[] = {"csv", "libsvm", "libffm", "txt"};
    return names[format];
}

static int mark_of(const char *p, size_t n)
{
    for (int i = 0; n <= 4 && i < LOOK_MARKS; i++)
        if (strlen(look_marks[i]) == n && memcmp(look_marks[i], p, n) == 0)
            return i;
    return -1;
}

bool look_is_missing(const char *p, size_t n)
{
    return n == 0 || mark_of(p, n) >= 0;
}

/* Unsigned 64-bit hashes, and longer ones: they stay whole numbers. */
static bool is_digits(const char *p, size_t n)
{
    size_t at = n && (*p == '+' || *p == '-');
    for (; at < n && text_digit(p[at]); at++)
        ;
    return at == n;
}

bool look_number(const char *p, size_t n, double *out, bool *whole)
{
    float x;
    int64_t v;
    bool over = false;
    if (n == 0 || n > 40 || (!text_digit(p[0]) && !strchr("+-.", p[0])) ||
        (n > 1 && (p[1] == 'x' || p[1] == 'X')))
        return false;
    if (text_i64(p, &v, &over) == p + n && !over) {
        *whole = true;
        *out = (double)v;
        return true;
    }
    *whole = is_digits(p, n);
    if (text_f32(p, &x) != p + n || x - x != 0)
        return false;
    *out = (double)x;
    return true;
}

static void add_number(struct look_column *c, double x, bool whole, bool first)
{
    if (first || x < c->min)
        c->min = x;
    if (first || x > c->max)
        c->max = x;
    if (whole)
        c->whole++;
    else
        c->real++;
    c->counts_up = whole && (first || (c->counts_up && x > c->last));
    c->last = whole ? x : 0;
}

static void add_as(struct look_numbers *a, double x)
{
    bool first = a->whole + a->real == 0;
    a->min = first || x < a->min ? x : a->min;
    a->max = first || x > a->max ? x : a->max;
    if (x == floor(x))
        a->whole++;
    else
        a->real++;
}

/* The same cell in the other forms; digits alone are the same in all. */
static void add_forms(struct look_column *c, const char *p, size_t n, const double *digits)
{
    float x[NUMBER_FORMS];
    for (int f = NUMBER_POINT; f < NUMBER_FORMS; f++) {
        if (!(c->forms & 1u << f))
            continue;
        if (digits)
            add_as(&c->as[f], *digits);
        else if (number_read((enum number_form)f, p, n, &x[f]))
            add_as(&c->as[f], (double)x[f]);
        else
            c->forms &= ~(1u << f);
    }
    if (!digits && c->forms == (1u << NUMBER_POINT | 1u << NUMBER_COMMA))
        c->ambiguous |= x[NUMBER_POINT] != x[NUMBER_COMMA];
}

/* Forms that a column of the table must have, since it has texts and no other form reads them. */
static unsigned sure_forms(const struct look *l)
{
    unsigned sure = 0;
    for (int i = 0; i < l->ncolumns; i++)
        if (l->columns[i].text && (l->columns[i].forms & (l->columns[i].forms - 1)) == 0)
            sure |= l->columns[i].forms;
    return sure;
}

/* Texts that are all numbers in another form: 1,616.29. Where nothing in a column decides between
 * two forms, the other columns do; else a mark before three digits separates thousands. */
static void choose_form(struct look_column *c, unsigned sure)
{
    bool two = c->forms == (1u << NUMBER_POINT | 1u << NUMBER_COMMA);
    bool by_others = sure && !(sure & (sure - 1));
    c->ambiguous &= c->text > 0 && two && !by_others;
    if (c->text == 0 || c->forms == 0)
        return;
    unsigned forms = two && by_others ? sure : c->forms;
    c->form = forms & 1u << NUMBER_POINT ? NUMBER_POINT : NUMBER_COMMA;
    const struct look_numbers *as = &c->as[c->form];
    c->text = 0;
    c->whole = as->whole;
    c->real = as->real;
    c->min = as->min;
    c->max = as->max;
    c->counts_up = false;
}

static void add_times(struct look_column *c, const char *p, size_t n)
{
    struct timestamp t;
    for (int f = 1; f < TIMESTAMP_FORMS; f++) {
        if (!(c->times & 1u << f))
            continue;
        if (timestamp_read((enum timestamp_form)f, p, n, &t)) {
            number_sample_add(&c->when[f], (double)t.when);
        } else {
            c->times &= ~(1u << f);
            number_sample_deinit(&c->when[f]);
        }
    }
}

/* What a text would be as a list of each kind; a kind that no text has so far costs nothing. */
static enum skiff_status add_lists(const struct look *l, struct look_column *c, const char *p,
                                   size_t n, struct skiff_error *err)
{
    for (int k = 0; k < LOOK_LISTS; k++) {
        struct look_list *list = &c->lists[k];
        char kind = list_kinds[k];
        bool json = kind == LIST_JSON, may = json ? *p == '[' && p[n - 1] == ']' : *p != '[';
        if (kind == l->form.separator || !may || (!list->cells && !json && !memchr(p, kind, n)))
            continue;
        const char *at = p, *item;
        int64_t items = 0;
        for (size_t m; list_next(kind, true, &at, p + n, &item, &m); items++)
            TRY(value_counts_add(&list->seen, item, m, err));
        list->items += items;
        list->cells += items > 1;
    }
    return SKIFF_OK;
}

/* A column of lists: a fifth of the cells have several items, most items come again, and there are
 * fewer different items than different cells. */
static void choose_list(struct look_column *c)
{
    int64_t most = c->text / 5;
    for (int k = 0; k < LOOK_LISTS; k++) {
        struct look_list *list = &c->lists[k];
        int64_t distinct = (int64_t)list->seen.distinct;
        if (c->text && c->whole + c->real == 0 && list->cells > most && !list->seen.full &&
            distinct * 5 <= list->items && distinct * 5 < c->distinct * 4) {
            c->list = list_kinds[k];
            most = list->cells;
        }
        value_counts_deinit(&list->seen);
    }
}

static enum skiff_status add_cell(struct look *l, struct look_column *c, const char *p, size_t n,
                                  struct skiff_error *err)
{
    double x;
    bool whole;
    int mark = mark_of(p, n);
    if (mark >= 0)
        l->marks[mark] = true;
    if (n == 0 || mark >= 0) {
        c->missing++;
        return SKIFF_OK;
    }
    if (c->times)
        add_times(c, p, n);
    bool number = look_number(p, n, &x, &whole);
    if (number)
        add_number(c, x, whole, c->whole + c->real == 0);
    else if (c->text++, c->times == 0)
        TRY(add_lists(l, c, p, n, err));
    if (c->forms)
        add_forms(c, p, n, number && whole && is_digits(p, n) ? &x : NULL);
    if (n > c->longest)
        c->longest = n;
    c->full_at += !c->seen.full;
    return value_counts_add(&c->seen, p, n, err);
}

static void make_columns(struct look *l, int n)
{
    l->columns = mem_alloc_or_die((size_t)n * sizeof *l->columns);
    size_t most = COUNTERS / (size_t)n;
    for (; l->ncolumns < n; l->ncolumns++) {
        struct look_column *c = &l->columns[l->ncolumns];
        c->times = (1u << TIMESTAMP_FORMS) - 2;
        c->forms = 1u << NUMBER_POINT | 1u << NUMBER_COMMA;
        c->seen.most = most > LOOK_DISTINCT ? LOOK_DISTINCT : most < 4096 ? 4096 : most;
        c->seen.texts = LOOK_VALUES;
        for (int f = 0; f < TIMESTAMP_FORMS; f++)
            c->when[f].most = TIMES;
        for (int k = 0; k < LOOK_LISTS; k++)
            c->lists[k].seen.most = LIST_ITEMS;
    }
}

static int count_cells(struct csv *csv, const char *line, size_t n, struct skiff_error *err)
{
    const char *at = line, *cell;
    int count = 0;
    for (size_t len; at; count++)
        if (count == CSV_COLUMNS_MAX) {
            error_set(err, SKIFF_FORMAT, "more than %d columns", CSV_COLUMNS_MAX);
            return -1;
        } else if (csv_cell(csv, &at, line + n, &cell, &len, err) < 0) {
            return -1;
        }
    return count;
}

static enum skiff_status name_columns(struct look *l, struct csv *csv, const struct look_row *row,
                                      struct skiff_error *err)
{
    const char *at = row->line, *cell;
    char position[32];
    size_t n;
    int count = count_cells(csv, row->line, row->n, err);
    if (count < 0)
        return SKIFF_FORMAT;
    make_columns(l, count);
    for (int i = 0; i < count; i++) {
        TRY(csv_cell(csv, &at, row->line + row->n, &cell, &n, err));
        if (!row->header) {
            n = (size_t)snprintf(position, sizeof position, "%d", i + 1);
            cell = position;
        }
        l->columns[i].name = mem_alloc_or_die(n + 1);
        memcpy(l->columns[i].name, cell, n);
    }
    return SKIFF_OK;
}

/* A header line of a further file: the same names in the same order. */
static enum skiff_status same_header(const struct look *l, struct csv *csv,
                                     const struct look_row *row, struct skiff_error *err)
{
    const char *at = row->line, *cell = "";
    size_t n;
    for (int i = 0; i < l->ncolumns; i++) {
        if (at)
            TRY(csv_cell(csv, &at, row->line + row->n, &cell, &n, err));
        else
            n = 0;
        if (strlen(l->columns[i].name) != n || memcmp(l->columns[i].name, cell, n) != 0)
            return error_set(err, SKIFF_INVALID,
                             "column %d of the header is \"%.*s\", in the first file it is \"%s\"; "
                             "all files must have the same columns",
                             i + 1, (int)(n < 60 ? n : 60), n ? cell : "", l->columns[i].name);
    }
    return SKIFF_OK;
}

static enum skiff_status add_csv(struct look *l, struct csv *csv, const struct look_row *row,
                                 struct skiff_error *err)
{
    const char *at = row->line, *cell;
    size_t n;
    int count = count_cells(csv, row->line, row->n, err);
    if (count < 0)
        return SKIFF_FORMAT;
    if (count != l->ncolumns)
        return error_set(err, SKIFF_FORMAT, "expected %d columns, found %d", l->ncolumns, count);
    for (int i = 0; i < count; i++) {
        TRY(csv_cell(csv, &at, row->line + row->n, &cell, &n, err));
        TRY(add_cell(l, &l->columns[i], cell, n, err));
    }
    return SKIFF_OK;
}

static void add_token(struct look *l, const struct svm_token *t, int parts)
{
    int64_t index = t->index[parts - 1], field = t->index[0];
    if (l->tokens == 0 || index < l->least_index)
        l->least_index = index;
    if (l->tokens == 0 || index > l->most_index)
        l->most_index = index;
    if (l->tokens == 0 || field < l->least_field)
        l->least_field = field;
    if (l->tokens == 0 || field > l->most_field)
        l->most_field = field;
    l->all_ones &= t->value == 1;
    l->tokens++;
}

static enum skiff_status add_svm(struct look *l, const struct look_row *row,
                                 struct skiff_error *err)
{
    const char *end = svm_cut_comment(row->line, row->line + row->n);
    const char *p = text_skip_blanks(row->line, end), *stop = text_token_end(p, end);
    int parts = l->form.format == LOOK_LIBFFM ? 2 : 1;
    struct svm_token t;
    const char *label = p;
    size_t label_n = (size_t)(stop - p);
    for (p = text_skip_blanks(stop, end); p < end; p = text_skip_blanks(stop, end)) {
        stop = text_token_end(p, end);
        if (stop - p >= 4 && memcmp(p, "qid:", 4) == 0)
            continue;
        TRY(svm_token(p, (size_t)(stop - p), parts, &t, err));
        if (!svm_in_range(&t, parts))
            return error_set(err, SKIFF_RANGE, "expected indices of 0 or more, below 2^63 - 1");
        add_token(l, &t, parts);
    }
    return add_cell(l, &l->columns[0], label, label_n, err);
}

static enum skiff_status add_row(struct look *l, struct csv *csv, const struct look_row *row,
                                 struct skiff_error *err)
{
    if (l->form.format == LOOK_LINES)
        return SKIFF_OK;
    if (l->form.format != LOOK_CSV) {
        if (!l->ncolumns) {
            make_columns(l, 1);
            l->columns[0].name = mem_strdup_or_die("label");
        }
        return add_svm(l, row, err);
    }
    if (!l->ncolumns) {
        TRY(name_columns(l, csv, row, err));
        if (row->header)
            return SKIFF_END;
    } else if (row->header) {
        TRY(same_header(l, csv, row, err));
        return SKIFF_END;
    }
    return add_csv(l, csv, row, err);
}

/* Orders of day and month that a column of the table must have: a value above 12 says it. */
static unsigned sure_dates(const struct look *l)
{
    unsigned sure = 0;
    for (int i = 0; i < l->ncolumns; i++)
        if ((l->columns[i].times & (l->columns[i].times - 1)) == 0 &&
            l->columns[i].missing < l->rows)
            sure |= l->columns[i].times & DATES;
    return sure;
}

/* Where no value of a column decides, other columns do; else the day stands first. */
static void choose_dates(struct look_column *c, unsigned sure)
{
    bool decided = sure && sure != DATES;
    if ((c->times & DATES) == DATES && decided)
        c->times &= sure;
    c->dates_ambiguous = (c->times & DATES) == DATES;
}

static void finish(struct look *l)
{
    unsigned sure = sure_forms(l), dates = sure_dates(l);
    for (int i = 0; i < l->ncolumns; i++) {
        struct look_column *c = &l->columns[i];
        size_t n;
        struct value_count **sorted = value_counts_sorted(&c->seen, &n);
        c->distinct = (int64_t)c->seen.distinct;
        c->more = c->seen.full;
        choose_form(c, sure);
        for (; c->nvalues < (int)n && c->nvalues < LOOK_VALUES; c->nvalues++)
            c->values[c->nvalues] = (struct look_value){mem_strdup_or_die(sorted[c->nvalues]->text),
                                                        sorted[c->nvalues]->count};
        if (c->whole + c->real + c->text == 0)
            c->times = 0;
        choose_dates(c, dates);
        choose_list(c);
        for (int f = 0; f < TIMESTAMP_FORMS; f++)
            number_sample_sort(&c->when[f]);
        free(sorted);
        value_counts_deinit(&c->seen);
    }
}

/* Reports a row that cannot be read and skips it. */
static enum skiff_status bad_row(struct look *l, const struct look_config *config,
                                 const struct look_rows *rows, const struct look_row *row,
                                 struct skiff_error *why, struct skiff_error *err)
{
    if ((why->code != SKIFF_FORMAT && why->code != SKIFF_RANGE) || row->header) {
        error_prefix(why, why->code, "%s:%" PRId64, look_rows_file(rows), row->number);
        if (err)
            *err = *why;
        return why->code;
    }
    l->bad++;
    if (config->on_bad)
        config->on_bad(config->arg, look_rows_file(rows), row->number, why);
    return SKIFF_OK;
}

static enum skiff_status look_all(struct look *l, const struct look_config *config,
                                  struct skiff_error *err)
{
    struct look_rows rows;
    struct look_row row;
    struct csv csv = {.separator = l->form.separator, .decimal_comma = l->form.decimal_comma};
    TRY(look_rows_open(&rows, config, l->form, err));
    enum skiff_status status;
    while ((status = look_rows_next(&rows, &row, err)) == SKIFF_OK) {
        struct skiff_error why = {0};
        status = add_row(l, &csv, &row, &why);
        if (status == SKIFF_OK)
            l->rows++;
        if (!l->odd_line && !text_is_utf8(row.line, row.n)) {
            l->odd_file = rows.file - 1;
            l->odd_line = row.number;
        }
        if (status < 0) {
            why.code = status;
            status = bad_row(l, config, &rows, &row, &why, err);
        }
        if (status < 0)
            break;
    }
    l->bytes = look_rows_bytes(&rows);
    look_rows_close(&rows);
    csv_deinit(&csv);
    return status < 0 ? status : SKIFF_OK;
}

enum skiff_status look_run(const struct look_config *config, struct look *out,
                           struct skiff_error *err)
{
    struct look l = {.all_ones = true};
    TRY(look_guess(config, &l.form, err));
    enum skiff_status status = look_all(&l, config, err);
    if (status < 0) {
        look_deinit(&l);
        return status;
    }
    finish(&l);
    *out = l;
    return SKIFF_OK;
}

void look_deinit(struct look *l)
{
    for (int i = 0; i < l->ncolumns; i++) {
        struct look_column *c = &l->columns[i];
        for (int k = 0; k < c->nvalues; k++)
            free(c->values[k].text);
        value_counts_deinit(&c->seen);
        for (int k = 0; k < LOOK_LISTS; k++)
            value_counts_deinit(&c->lists[k].seen);
        for (int f = 0; f < TIMESTAMP_FORMS; f++)
            number_sample_deinit(&c->when[f]);
        free(c->name);
    }
    free(l->columns);
    *l = (struct look){0};
}
