/* Prints what is read of a table, and what was found: the format of the file, the label, a line for
 * each column, the split, and notes about what may be wrong. Names and values are cut to the width
 * of their column. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/interrupt.h"
#include "cli/prepare_show.h"

#define BAD_SHOWN 5

/* ---- while the table is read ---- */

void prepare_show_clear(struct prepare_shown *s)
{
    if (s->line)
        fputs("\r\033[K", stderr);
    s->line = false;
}

static void print_bad(void *arg, const char *file, int64_t line, const struct skiff_error *why)
{
    struct prepare_shown *s = arg;
    if (s->bad++ >= BAD_SHOWN)
        return;
    prepare_show_clear(s);
    fprintf(stderr, "skiff %s: %s:%" PRId64 ": skipped: %s\n", s->command, file, line,
            why->message);
}

/* On a terminal a line that is written over; elsewhere one every ten seconds. */
static void print_progress(void *arg, const char *what, int64_t bytes, int64_t total)
{
    struct prepare_shown *s = arg;
    double now = clock_seconds();
    bool terminal = isatty(STDERR_FILENO);
    if (now - s->last < (terminal ? 0.2 : 10))
        return;
    s->last = now;
    fprintf(stderr, "%s%s: %.1f of %.1f MB%s", terminal ? "\r" : "", what, (double)bytes / 1e6,
            (double)total / 1e6, terminal ? "\033[K" : "\n");
    s->line = terminal;
}

static void print_looked(void *arg, const struct look *look)
{
    struct prepare_shown *s = arg;
    prepare_show_clear(s);
    if (look->bad > BAD_SHOWN)
        fprintf(stderr, "skiff %s: %" PRId64 " rows were skipped\n", s->command, look->bad);
}

struct prepare_events prepare_show_events(struct prepare_shown *s, const char *command)
{
    *s = (struct prepare_shown){.command = command, .last = clock_seconds()};
    return (struct prepare_events){.arg = s,
                                   .on_bad = print_bad,
                                   .on_progress = print_progress,
                                   .on_looked = print_looked,
                                   .stop = interrupt_watch()};
}

/* ---- the table ---- */

static const char *separator_name(char c)
{
    return c == '\t'  ? "tab"
           : c == ',' ? "comma"
           : c == ';' ? "semicolon"
           : c == '|' ? "pipe"
           : c == ' ' ? "blank"
                      : "your";
}

static const char *type_of(const struct look_column *c)
{
    if (c->whole + c->real + c->text == 0)
        return "empty";
    enum timestamp_form form = look_time_form(c);
    if (form == TIMESTAMP_ISO || form == TIMESTAMP_DMY || form == TIMESTAMP_MDY)
        return "time";
    return c->text ? "text" : c->real ? "real" : "whole";
}

/* A text cut to so many columns, which are counted as bytes of UTF-8 that begin a letter. */
static void print_cut(struct buf *out, const char *text, int most)
{
    int n = 0;
    for (; *text; text++) {
        bool begins = ((unsigned char)*text & 0xc0) != 0x80;
        if (begins && n == most - 1 && strlen(text) > 1) {
            buf_str(out, "~");
            n++;
            break;
        }
        n += begins;
        buf_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
    }
    for (; n < most; n++)
        buf_char(out, ' ');
}

static void print_content(struct buf *out, const struct look_column *c, int64_t rows)
{
    struct buf text = BUF_INIT;
    if (!c->text && c->whole + c->real)
        buf_printf(&text, "%.6g .. %.6g", c->min, c->max);
    else
        for (int i = 0; i < 2 && i < c->nvalues; i++)
            buf_printf(&text, "%s%.14s %.0f %%", i ? ", " : "", c->values[i].text,
                       100.0 * (double)c->values[i].count / (double)rows);
    print_cut(out, text.data ? text.data : "", 32);
    buf_deinit(&text);
}

static void print_time_use(struct buf *out, const struct prepare_column *c)
{
    const char *form = c->learn.time == TIMESTAMP_DMY   ? "day/month: "
                       : c->learn.time == TIMESTAMP_MDY ? "month/day: "
                                                        : "";
    buf_str(out, form);
    if (c->hour)
        buf_printf(out, "hour of the day C%d", c->hour);
    if (c->weekday)
        buf_printf(out, "%sweekday C%d", c->hour ? ", " : "", c->weekday);
    if (c->slot)
        buf_printf(out, "%sdays, buckets C%d", c->hour || c->weekday ? ", " : "", c->slot);
}

static void print_use(struct buf *out, const struct prepare_column *c)
{
    static const char *const left_out[] = {[PREPARE_ID] =
                                               "not used: nearly every row has its own value",
                                           [PREPARE_ORDER] = "not used: it orders the rows",
                                           [PREPARE_CONSTANT] = "not used: always the same",
                                           [PREPARE_EMPTY] = "not used: always missing",
                                           [PREPARE_UNNAMED] = "not used: it has no name",
                                           [PREPARE_LEFT_OUT] = "not used: too many features"};
    if (c->role == PREPARE_LABEL)
        buf_str(out, "label");
    else if (c->role == PREPARE_WEIGHT)
        buf_str(out, "weight of the row");
    else if (!prepare_is_feature(c->role))
        buf_str(out, left_out[c->role]);
    if (c->role == PREPARE_TIME) {
        print_time_use(out, c);
        return;
    }
    if (c->dense >= 0)
        buf_printf(out, "number%s",
                   c->learn.form == NUMBER_POINT   ? " (1,234.5)"
                   : c->learn.form == NUMBER_COMMA ? " (1.234,5)"
                                                   : "");
    if (c->slot)
        buf_printf(out, "%s%s C%d", c->dense >= 0 ? ", " : "",
                   c->learn.buckets       ? "buckets"
                   : c->learn.list == '[' ? "values of lists (JSON)"
                   : c->learn.list == '|' ? "values of lists (a|b)"
                   : c->learn.list == ';' ? "values of lists (a;b)"
                   : c->learn.list        ? "values of lists (a,b)"
                                          : "values",
                   c->slot);
}

static void print_column(const struct look *l, const struct prepare_column *use,
                         const struct look_column *c, struct buf *out)
{
    char distinct[32];
    snprintf(distinct, sizeof distinct, "%" PRId64 "%s", c->distinct, c->more ? "+" : "");
    buf_str(out, "  ");
    print_cut(out, *c->name ? c->name : "(no name)", 20);
    buf_printf(out, " %-5s %6.1f %% %9s  ", type_of(c),
               l->rows ? 100.0 * (double)c->missing / (double)l->rows : 0.0, distinct);
    print_content(out, c, l->rows);
    buf_char(out, ' ');
    print_use(out, use);
    buf_char(out, '\n');
}

static void print_svm(const struct prepare_plan *p, struct buf *out)
{
    const struct look *l = p->look;
    bool ffm = l->form.format == LOOK_LIBFFM;
    if (ffm)
        buf_printf(out, "  fields %" PRId64 " to %" PRId64 ": C1 to C%d\n", l->least_field,
                   l->most_field, p->nslots);
    buf_printf(out, "  indices %" PRId64 " to %" PRId64 ", %.1f a row\n", l->least_index,
               l->most_index, (double)l->tokens / (double)l->rows);
    if (l->all_ones)
        buf_str(out, "  all values are 1: indices are the features\n");
    else if (p->learns)
        buf_str(out, "  values are numbers: used as numbers, and in buckets as categories C1\n");
    else
        buf_str(out,
                "  values other than 1 exist but are NOT used: only the indices are features\n");
}

static void print_label(const struct prepare_plan *p, struct buf *out)
{
    bool csv = p->look->form.format == LOOK_CSV;
    const char *quote = p->negative ? "\"" : "";
    buf_printf(out, "\nlabel: %s%s%s (%s); 1 is \"%s\", 0 is %s%s%s\n", csv ? "column \"" : "",
               p->look->columns[p->label].name, csv ? "\"" : "", p->label_why, p->positive, quote,
               p->negative ? p->negative : "any other", quote);
}

#define COLUMNS_SHOWN 200

/* The most frequent value that is no number, if it is known. */
static const char *text_of(const struct look_column *c)
{
    char *end;
    for (int i = 0; i < c->nvalues; i++)
        if (strtod(c->values[i].text, &end) == 0 && *end)
            return c->values[i].text;
    return "";
}

/* The first value with a mark in it. */
static const char *ambiguous_value(const struct look_column *c)
{
    for (int i = 0; i < c->nvalues; i++)
        if (strpbrk(c->values[i].text, ".,"))
            return c->values[i].text;
    return "";
}

/* They may stand behind those that are reported. */
static void print_too_many(const struct prepare_plan *p, struct buf *out)
{
    int n = 0, first = -1;
    for (int i = 0; i < p->look->ncolumns; i++)
        if (p->columns[i].role == PREPARE_LEFT_OUT && n++ == 0)
            first = i;
    if (n)
        buf_printf(out,
                   "note: networks have at most %d slots of categories; %d columns, from \"%s\" "
                   "on, are not used: remove uninformative columns from the table\n",
                   p->nslots, n, p->look->columns[first].name);
}

/* Numbers but for a few texts: they are used as texts, or not at all. */
static void print_mostly_numbers(const struct prepare_plan *p, struct buf *out)
{
    for (int i = 0; i < p->look->ncolumns; i++) {
        const struct look_column *c = &p->look->columns[i];
        int64_t numbers = c->whole + c->real;
        if (i == p->label || !c->text || numbers < 9 * c->text || c->times)
            continue;
        buf_printf(out,
                   "note: column \"%s\": %.3g %% of its values are numbers, %" PRId64
                   " are not%s%s%s: "
                   "it is %s; if they mean that a value is missing, write NA for them\n",
                   c->name, 100.0 * (double)numbers / (double)(numbers + c->text), c->text,
                   *text_of(c) ? " (\"" : "", text_of(c), *text_of(c) ? "\")" : "",
                   prepare_is_feature(p->columns[i].role) ? "used as text" : "not used");
    }
}

static void print_titles(const struct look *l, const struct file_list *files, struct buf *out)
{
    if (l->form.titles)
        buf_printf(out, "note: %d line%s above the header %s skipped\n", l->form.titles,
                   plural(l->form.titles), l->form.titles == 1 ? "is" : "are");
    if (l->odd_line)
        buf_printf(out,
                   "note: %s:%" PRId64 ": the text is not UTF-8; its bytes are used as they are "
                   "(`iconv -f latin1 -t utf8` converts files in Latin-1)\n",
                   files->paths[l->odd_file], l->odd_line);
}

/* What may have been understood in a wrong way. */
static void print_ambiguous(const struct look *l, struct buf *out)
{
    for (int i = 0; i < l->ncolumns; i++)
        if (l->columns[i].dates_ambiguous)
            buf_printf(out,
                       "note: column \"%s\": dates are read as day/month; no value is above 12, so "
                       "they may be month/day\n",
                       l->columns[i].name);
    for (int i = 0; i < l->ncolumns; i++)
        if (l->columns[i].ambiguous)
            buf_printf(out,
                       "note: column \"%s\": \"%s\" and the like are read with a thousands "
                       "separator and not with a decimal comma; nothing in the column decides it\n",
                       l->columns[i].name, ambiguous_value(&l->columns[i]));
}

void prepare_show_table(const struct prepare_plan *p, const struct file_list *files)
{
    const struct look *l = p->look;
    struct buf out = BUF_INIT;
    bool csv = l->form.format == LOOK_CSV;
    buf_printf(&out, "%s%s: %s", files->paths[0], files->count > 1 ? " and others" : "",
               look_format_name(l->form.format));
    if (csv)
        buf_printf(&out, ", %s between columns, %s%s", separator_name(l->form.separator),
                   l->form.decimal_comma ? "decimal commas, " : "",
                   l->form.header ? "with a header line"
                                  : "no header line (columns have positions)");
    buf_printf(&out, ", %" PRId64 " rows", l->rows);
    if (csv)
        buf_printf(&out, ", %d columns", l->ncolumns);
    buf_str(&out, "\n\n");
    if (csv)
        buf_printf(&out, "  %-20s %-5s %8s %9s  %-32s %s\n", "column", "type", "missing",
                   "distinct", "from .. to, or the most frequent", "used as");
    for (int i = 0; csv && i < l->ncolumns && i < COLUMNS_SHOWN; i++)
        print_column(l, &p->columns[i], &l->columns[i], &out);
    if (csv && l->ncolumns > COLUMNS_SHOWN)
        buf_printf(&out, "  ... and %d further columns\n", l->ncolumns - COLUMNS_SHOWN);
    print_too_many(p, &out);
    print_titles(l, files, &out);
    print_mostly_numbers(p, &out);
    print_ambiguous(l, &out);
    if (!csv && l->tokens)
        print_svm(p, &out);
    if (p->positive)
        print_label(p, &out);
    fputs(out.data, stdout);
    fflush(stdout);
    buf_deinit(&out);
}

static double percent(const struct split_side *s)
{
    return s->rows ? 100.0 * (double)s->positive / (double)s->rows : 0;
}

/* With so few rows of a label no figure is sure. */
static void print_few(const struct split_report *r)
{
    int64_t rows = r->train.rows + r->valid.rows + r->test.rows;
    int64_t positive = r->train.positive + r->valid.positive + r->test.positive;
    int64_t few = positive < rows - positive ? positive : rows - positive;
    if (few < PREPARE_FEW)
        printf("note: only %" PRId64 " rows are %s, %" PRId64
               " of them in test: AUC and log loss of "
               "so few are rough\n",
               few, few == positive ? "positive" : "negative",
               few == positive ? r->test.positive : r->test.rows - r->test.positive);
}

static void print_one_class(const char *part, const struct split_side *s)
{
    if (s->positive == 0 || s->positive == s->rows)
        printf(
            "note: all %s rows have one class: AUC is undefined; take more rows with --share, or "
            "others with --seed\n",
            part);
}

void prepare_show_job(const struct prepare_plan *p, const struct split_report *r, const char *out)
{
    if (r->unlabelled)
        printf("skipped: %" PRId64 " rows without a label\n", r->unlabelled);
    printf("train: %" PRId64 " rows, %.2f %% positive", r->train.rows, percent(&r->train));
    if (r->valid.rows)
        printf("; valid: %" PRId64 " rows, %.2f %%", r->valid.rows, percent(&r->valid));
    printf("; test: %" PRId64 " rows, %.2f %% (split %s%s%s)\n", r->test.rows, percent(&r->test),
           p->time >= 0 ? "by time: column \""
           : p->few     ? "at random, by label"
                        : "at random",
           p->time >= 0 ? p->look->columns[p->time].name : "", p->time >= 0 ? "\"" : "");
    print_few(r);
    if (r->twin >= 0)
        printf("note: column \"%s\" determines the label by itself; if its value is not known at "
               "the time of prediction, remove it from the table or from input_columns\n",
               p->look->columns[r->twin].name);
    print_one_class("test", &r->test);
    if (r->valid.rows)
        print_one_class("valid", &r->valid);
    printf("\nwritten: %s/config.yaml, %s/train, ", out, out);
    if (r->valid.rows)
        printf("%s/valid, ", out);
    printf("%s/test%s%s%s\n", out, p->learns ? ", " : "", p->learns ? out : "",
           p->learns ? "/columns.stats" : "");
    const char *quote = strpbrk(out, " \t&;()$`\"*?<>|#!~\\") ? "'" : ""; /* for a shell */
    printf("next:\n  skiff train %s%s/config.yaml%s\n  skiff infer %s%s/config.yaml%s\n"
           "  skiff predict %s%s/config.yaml%s --input NEW --output predictions.txt\n",
           quote, out, quote, quote, out, quote, quote, out, quote);
}
