/* Splitting a table into train and test rows (split.h), and learning from the train rows in the
 * same pass.
 *
 * A line is written as it was read, never rebuilt from its cells. Whether a row goes to test
 * depends only on the seed and its number, or on its time, so that a second run splits alike.
 * Output files are written directly; an interrupted split leaves an incomplete folder. */
#define _GNU_SOURCE
#include "prepare/split.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/svm.h"

/* A folder that is being written. */
struct split_writer {
    const char *folder;
    FILE *file;
    int parts;
    int64_t bytes, part_bytes; /* of the file so far; of a whole one */
    struct split_side count;
};

/* Whether a column has one value where the label is 0 and another one where it is 1. */
struct twin {
    uint64_t value[2]; /* hashes; 0: none yet */
    bool refuted;
};

struct split {
    const struct split_config *config;
    struct twin *twins; /* csv: of each column */
    struct split_writer train, valid, test;
    int64_t of_label[2]; /* rows so far */
    struct csv csv;
    struct learn *learn;
    struct buf header, cells; /* cells: those of the row, each with a pad behind it */
    size_t *start, *length;   /* of each cell */
    int64_t row, bad, unlabelled;
};

static enum skiff_status close_side(struct split_writer *s, struct skiff_error *err)
{
    FILE *file = s->file;
    s->file = NULL;
    if (file && fclose(file) != 0)
        return error_set_sys(err, "%s: cannot write", s->folder);
    return SKIFF_OK;
}

static enum skiff_status write_line(struct split_writer *s, const char *line, size_t n,
                                    struct skiff_error *err)
{
    if (fwrite(line, 1, n, s->file) != n || fputc('\n', s->file) == EOF)
        return error_set_sys(err, "%s: cannot write", s->folder);
    s->bytes += (int64_t)n + 1;
    return SKIFF_OK;
}

static enum skiff_status next_part(const struct split *r, struct split_writer *s,
                                   struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    const struct look_form *form = &r->config->form;
    TRY(close_side(s, err));
    buf_printf(&path, "%s/part-%05d.%s", s->folder, s->parts++,
               form->format != LOOK_CSV  ? look_format_name(form->format)
               : form->separator == '\t' ? "tsv"
                                         : "csv");
    s->file = fopen(path.data, "we");
    s->bytes = 0;
    enum skiff_status status =
        s->file ? SKIFF_OK : error_set_sys(err, "%s: cannot write", path.data);
    buf_deinit(&path);
    if (status == SKIFF_OK && form->header && form->format == LOOK_CSV)
        status = write_line(s, r->header.data, r->header.len, err);
    return status;
}

static enum skiff_status write_row(const struct split *r, struct split_writer *s,
                                   const struct look_row *row, bool positive,
                                   struct skiff_error *err)
{
    if (!s->file || s->bytes >= s->part_bytes)
        TRY(next_part(r, s, err));
    s->count.rows++;
    s->count.positive += positive;
    return write_line(s, row->line, row->n, err);
}

/* ---- one row ---- */

static enum skiff_status cut_csv(struct split *r, const struct look_row *row,
                                 struct skiff_error *err)
{
    const char *at = row->line, *cell;
    int count = 0;
    buf_reset(&r->cells);
    for (size_t n; at; count++) {
        TRY(csv_cell(&r->csv, &at, row->line + row->n, &cell, &n, err));
        if (count >= r->config->ncolumns)
            continue;
        r->start[count] = r->cells.len;
        r->length[count] = n;
        buf_add(&r->cells, cell, n);
        buf_char(&r->cells, '\n');
        buf_reserve(&r->cells, TEXT_PAD);
        memset(r->cells.data + r->cells.len, 0, TEXT_PAD);
        r->cells.len += TEXT_PAD;
    }
    if (count != r->config->ncolumns)
        return error_set(err, SKIFF_FORMAT, "expected %d columns, found %d", r->config->ncolumns,
                         count);
    return SKIFF_OK;
}

static void cell_at(const struct split *r, const struct look_row *row, int column,
                    const char **text, size_t *n)
{
    if (r->config->form.format == LOOK_CSV) {
        *text = r->cells.data + r->start[column];
        *n = r->length[column];
        return;
    }
    const char *end = row->line + row->n;
    *text = text_skip_blanks(row->line, end);
    *n = (size_t)(text_token_end(*text, end) - *text);
}

/* True when the row has a label; 0 or 1 to *positive. */
static bool label_of(const struct split *r, const struct look_row *row, bool *positive)
{
    const char *text;
    size_t n;
    double value;
    *positive = false;
    if (r->config->label < 0)
        return true;
    cell_at(r, row, r->config->label, &text, &n);
    if (look_is_missing(text, n) || label_read(r->config->rule, text, n, &value, NULL) < 0)
        return false;
    *positive = value > 0;
    return true;
}

/* A column that says the label by itself is rarely known when a label is to be predicted. */
static void seek_twins(struct split *r, bool positive)
{
    for (int i = 0; i < r->config->ncolumns; i++) {
        struct twin *t = &r->twins[i];
        if (t->refuted)
            continue;
        uint64_t hash = hash_xxh64(r->cells.data + r->start[i], r->length[i], 0) | 1;
        t->refuted = i == r->config->label || (t->value[positive] && t->value[positive] != hash) ||
                     t->value[!positive] == hash;
        t->value[positive] = hash;
    }
}

static int find_twin(const struct split *r)
{
    for (int i = 0; r->config->label >= 0 && i < r->config->ncolumns; i++)
        if (!r->twins[i].refuted && r->twins[i].value[0] && r->twins[i].value[1])
            return i;
    return -1;
}

#define GOLDEN 0.6180339887498949 /* steps of it, modulo 1, fill an interval evenly */

/* Where in 0 .. 1 a row lies by chance: `share` of it is for test, if there is one, and the same
 * behind it for valid.
 * Stratified, the rows of each label fill the interval evenly. */
static double chance_of(struct split *r, bool positive)
{
    uint32_t w[4];
    if (r->config->stratify) {
        philox(r->config->seed, 1 + positive, 0, w);
        double at = (double)r->of_label[positive]++ * GOLDEN + w[0] * 0x1p-32;
        return at - floor(at);
    }
    philox(r->config->seed, 0, (uint64_t)r->row, w);
    return (w[0] + 0.5) * 0x1p-32;
}

static struct split_writer *side_of(struct split *r, const struct look_row *row, bool positive)
{
    const struct split_config *c = r->config;
    const char *text;
    size_t n;
    struct timestamp t;
    if (!c->test && !c->valid)
        return &r->train;
    double chance = chance_of(r, positive);
    bool by_time = c->time >= 0, test = c->test && !by_time;
    double valid_from = c->test ? c->share : 0;
    if (by_time) {
        cell_at(r, row, c->time, &text, &n);
        bool known = timestamp_read(c->time_form, text, n, &t);
        if (c->test && known && t.when >= c->from)
            return &r->test;
        if (c->valid && c->valid_from < c->from)
            return known && t.when >= c->valid_from ? &r->valid : &r->train;
    }
    if (test && chance < c->share)
        return &r->test;
    bool valid = c->valid && chance >= valid_from && chance < valid_from + c->share;
    return valid ? &r->valid : &r->train;
}

/* Checks the tokens; `learn`: and learns from them. */
static enum skiff_status svm_row(struct split *r, const struct look_row *row, bool learn,
                                 struct skiff_error *err)
{
    int parts = r->config->form.format == LOOK_LIBFFM ? 2 : 1;
    const char *end = svm_cut_comment(row->line, row->line + row->n);
    const char *p = text_token_end(text_skip_blanks(row->line, end), end), *stop;
    struct svm_token t;
    for (p = text_skip_blanks(p, end); p < end; p = text_skip_blanks(stop, end)) {
        stop = text_token_end(p, end);
        if (stop - p >= 4 && memcmp(p, "qid:", 4) == 0)
            continue;
        TRY(svm_token(p, (size_t)(stop - p), parts, &t, err));
        if (!svm_in_range(&t, parts)) /* look has reported it already */
            return error_set(err, SKIFF_RANGE, "expected indices of 0 or more, below 2^63 - 1");
        int64_t at = t.index[0] - r->config->first_index;
        if (learn && at >= 0 && at < r->config->learn->ncolumns)
            learn_number(r->learn, (int)at, (double)t.value);
    }
    return SKIFF_OK;
}

static enum skiff_status learn_row_of(struct split *r, const struct look_row *row,
                                      struct skiff_error *err)
{
    learn_row(r->learn);
    if (r->config->form.format != LOOK_CSV)
        return svm_row(r, row, true, err);
    for (int i = 0; i < r->config->ncolumns; i++) {
        const char *text;
        size_t n;
        cell_at(r, row, i, &text, &n);
        TRY(learn_cell(r->learn, i, text, n, err));
    }
    return SKIFF_OK;
}

/* A row that can be read; the cells of csv are cut. */
static enum skiff_status check_row(struct split *r, const struct look_row *row)
{
    switch (r->config->form.format) {
    case LOOK_CSV:
        return cut_csv(r, row, NULL);
    case LOOK_LINES:
        return SKIFF_OK;
    default:
        return svm_row(r, row, false, NULL);
    }
}

static enum skiff_status take_row(struct split *r, const struct look_row *row,
                                  struct skiff_error *err)
{
    bool positive;
    if (row->header) {
        buf_reset(&r->header);
        buf_add(&r->header, row->line, row->n);
        return SKIFF_OK;
    }
    r->row++;
    if (check_row(r, row) < 0) {
        r->bad++;
        return SKIFF_OK;
    }
    if (!label_of(r, row, &positive)) {
        r->unlabelled++;
        return SKIFF_OK;
    }
    if (r->config->form.format == LOOK_CSV)
        seek_twins(r, positive);
    struct split_writer *side = side_of(r, row, positive);
    if (side != &r->train)
        return write_row(r, side, row, positive, err);
    if (r->learn)
        TRY(learn_row_of(r, row, err));
    return write_row(r, &r->train, row, positive, err);
}

static enum skiff_status split_all(struct split *r, struct skiff_error *err)
{
    struct look_rows rows;
    struct look_row row;
    TRY(look_rows_open(&rows, r->config->look, r->config->form, err));
    enum skiff_status status;
    while ((status = look_rows_next(&rows, &row, err)) == SKIFF_OK) {
        status = take_row(r, &row, err);
        if (status < 0)
            break;
    }
    look_rows_close(&rows);
    return status < 0 ? status : SKIFF_OK;
}

enum skiff_status split_run(const struct split_config *config, struct split_report *out,
                            struct skiff_error *err)
{
    struct split r = {
        .config = config,
        .twins = mem_alloc_or_die(((size_t)config->ncolumns + 1) * sizeof *r.twins),
        .train = {.folder = config->train,
                  .part_bytes = config->train_part ? config->train_part : SPLIT_PART_BYTES},
        .valid = {.folder = config->valid, .part_bytes = SPLIT_PART_BYTES},
        .test = {.folder = config->test, .part_bytes = SPLIT_PART_BYTES},
        .csv = {.separator = config->form.separator, .decimal_comma = config->form.decimal_comma},
        .learn = config->learn ? learn_create(config->learn) : NULL,
        .start = mem_alloc_or_die(((size_t)config->ncolumns + 1) * sizeof(size_t)),
        .length = mem_alloc_or_die(((size_t)config->ncolumns + 1) * sizeof(size_t))};
    enum skiff_status status;
    TRY_OUT(split_all(&r, err));
    TRY_OUT(close_side(&r.train, err));
    TRY_OUT(close_side(&r.valid, err));
    TRY_OUT(close_side(&r.test, err));
    *out = (struct split_report){.train = r.train.count,
                                 .valid = r.valid.count,
                                 .test = r.test.count,
                                 .bad = r.bad,
                                 .unlabelled = r.unlabelled,
                                 .twin = find_twin(&r)};
    if (r.learn)
        learn_finish(r.learn, &out->columns);
out:
    close_side(&r.train, NULL);
    close_side(&r.valid, NULL);
    close_side(&r.test, NULL);
    csv_deinit(&r.csv);
    learn_destroy(r.learn);
    buf_deinit(&r.header);
    buf_deinit(&r.cells);
    free(r.twins);
    free(r.start);
    free(r.length);
    return status;
}
