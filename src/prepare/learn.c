/* Learning column statistics from rows (learn.h).
 *
 * One pass. Numbers are sampled (reservoir sampling), and texts are counted by hash up to a limit.
 * The limit of a column is its share of COUNTERS, between 1024 and LEARN_VALUES, so that memory
 * depends neither on rows nor, up to 8192 columns, on columns. A column with more distinct values
 * than its limit is hashed instead. One thread. */
#include "prepare/learn.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/list.h"

#define COUNTERS ((size_t)8 << 20) /* of all columns together */

struct learnt {
    struct value_counts values;
    struct number_sample numbers;
    int64_t missing;
};

struct learn {
    const struct learn_config *config;
    struct learnt *columns;
    int64_t rows;
};

struct learn *learn_create(const struct learn_config *config)
{
    struct learn *l = mem_alloc_or_die(sizeof *l);
    size_t n = (size_t)config->ncolumns, most = COUNTERS / (n ? n : 1);
    l->config = config;
    l->columns = mem_alloc_or_die(n * sizeof *l->columns + 1);
    for (size_t i = 0; i < n; i++) {
        struct learnt *c = &l->columns[i];
        c->values.most = most > LEARN_VALUES ? LEARN_VALUES : most < 1024 ? 1024 : most;
        c->values.texts = c->values.most;
        c->numbers.most = (int64_t)(most > LEARN_SAMPLE ? LEARN_SAMPLE : most < 1024 ? 1024 : most);
        c->numbers.seed = config->seed;
    }
    return l;
}

void learn_destroy(struct learn *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->config->ncolumns; i++) {
        value_counts_deinit(&l->columns[i].values);
        number_sample_deinit(&l->columns[i].numbers);
    }
    free(l->columns);
    free(l);
}

void learn_row(struct learn *l)
{
    l->rows++;
}

void learn_number(struct learn *l, int column, double x)
{
    /* readers use floats: knots that are equal as floats would be no knots, and the file could not
     * be read */
    number_sample_add(&l->columns[column].numbers, (double)(float)x);
}

enum skiff_status learn_cell(struct learn *l, int column, const char *text, size_t n,
                             struct skiff_error *err)
{
    const struct learn_column *want = &l->config->columns[column];
    struct learnt *c = &l->columns[column];
    float x;
    if (look_is_missing(text, n)) {
        c->missing++;
        return SKIFF_OK;
    }
    struct timestamp t;
    if (want->days && timestamp_read(want->time, text, n, &t))
        learn_number(l, column, (double)t.day);
    if (want->number && number_read(want->form, text, n, &x))
        learn_number(l, column, (double)x);
    if (!want->list)
        return want->values ? value_counts_add(&c->values, text, n, err) : SKIFF_OK;
    for (const char *item, *end = text + n; list_next(want->list, true, &text, end, &item, &n);)
        TRY(value_counts_add(&c->values, item, n, err));
    return SKIFF_OK;
}

/* Zeros of rows that do not name the column, as many as they are among what was kept. */
static void add_absent(struct learn *l, struct number_sample *s)
{
    int64_t absent = l->rows - s->seen;
    if (absent <= 0)
        return;
    double share = (double)absent / (double)l->rows;
    int64_t zeros = s->kept ? (int64_t)((double)s->kept * share / (1 - share)) : 1;
    if (zeros > 10 * LEARN_SAMPLE)
        zeros = 10 * LEARN_SAMPLE;
    s->at = mem_grow_or_die(s->at, (size_t)(s->kept + zeros + 1) * sizeof *s->at);
    for (int64_t i = 0; i < zeros; i++)
        s->at[s->kept++] = 0;
    if (s->min > 0 || s->seen == 0)
        s->min = 0;
    if (s->max < 0 || s->seen == 0)
        s->max = 0;
}

/* A column by its own name, or by that of what is made from it. */
static struct column_stats *add_made(struct columns *out, const struct learn_column *want,
                                     const char *format, enum column_kind kind)
{
    struct buf name = BUF_INIT;
    buf_printf(&name, format, want->name);
    struct column_stats *s = columns_add(out, name.data, name.len, kind);
    buf_deinit(&name);
    return s;
}

static void finish_time(struct learn *l, int i, const char *format, enum column_kind kind,
                        int64_t size, struct columns *out)
{
    const struct learn_column *want = &l->config->columns[i];
    struct column_stats *s = add_made(out, want, format, kind);
    s->missing = l->columns[i].missing;
    s->form = want->time;
    s->size = size;
}

static void finish_number(struct learn *l, int i, struct columns *out)
{
    const struct learn_column *want = &l->config->columns[i];
    struct learnt *c = &l->columns[i];
    struct number_sample *n = &c->numbers;
    struct column_stats *s = add_made(out, want, want->days ? "days(%s)" : "%s", COLUMN_NUMBER);
    double mean = n->seen ? n->sum / (double)(l->config->absent_is_zero ? l->rows : n->seen) : 0;
    if (l->config->absent_is_zero)
        add_absent(l, n);
    number_sample_sort(n);
    s->missing = c->missing;
    s->number_form = want->form;
    s->form = want->time;
    s->min = n->min;
    s->max = n->max;
    s->mean = mean;
    s->knots = mem_alloc_or_die(COLUMNS_KNOTS_MAX * sizeof *s->knots);
    s->nknots = columns_knots(n->at, n->kept, l->config->buckets, s->knots);
    s->size = want->buckets ? 1 + (s->nknots ? s->nknots : 1) : 0;
}

static void keep_values(struct learn *l, struct learnt *c, struct column_stats *s)
{
    size_t n;
    struct value_count **sorted = value_counts_sorted(&c->values, &n);
    while ((size_t)s->nvalues < n && sorted[s->nvalues]->count >= l->config->least)
        s->nvalues++;
    s->values = mem_alloc_or_die((size_t)s->nvalues * sizeof *s->values + 1);
    for (int64_t k = 0; k < s->nvalues; k++)
        s->values[k] = (struct column_value){mem_strdup_or_die(sorted[k]->text), sorted[k]->count};
    s->size = 2 + s->nvalues;
    free(sorted);
}

static void finish_values(struct learn *l, int i, struct columns *out)
{
    const struct learn_column *want = &l->config->columns[i];
    struct learnt *c = &l->columns[i];
    struct column_stats *s = columns_add(out, want->name, strlen(want->name),
                                         c->values.full ? COLUMN_HASHED : COLUMN_VALUES);
    s->missing = c->missing;
    s->distinct = (int64_t)c->values.distinct;
    s->more = c->values.full;
    s->list = want->list;
    if (s->kind == COLUMN_HASHED)
        s->size = 1 + LEARN_HASHED;
    else
        keep_values(l, c, s);
}

void learn_finish(struct learn *l, struct columns *out)
{
    *out = (struct columns){.rows = l->rows};
    for (int i = 0; i < l->config->ncolumns; i++) {
        const struct learn_column *want = &l->config->columns[i];
        if (want->number || want->days)
            finish_number(l, i, out);
        if (want->values)
            finish_values(l, i, out);
        if (want->hour)
            finish_time(l, i, "%s", COLUMN_HOUR, 25, out);
        if (want->weekday)
            finish_time(l, i, "weekday(%s)", COLUMN_WEEKDAY, 8, out);
    }
    columns_number_ids(out);
}
