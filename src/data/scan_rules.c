#include "data/scan_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/pipe.h"
#include "data/text.h"

/* ---- values as they are written ---- */

static bool is_number_part(char c)
{
    return text_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("+-.", c);
}

/* Whether the number at p[0..n) is read as the value that broke a rule. */
static bool is_value(const struct column *c, size_t at, const char *p, size_t n)
{
    uint64_t id;
    float f;
    if (c->dtype == DTYPE_INT64)
        return text_id(p, &id) == p + n && (int64_t)id == c->i64[at];
    return text_f32(p, &f) == p + n && !isfinite(f) && isnan(f) == isnan(c->f32[at]);
}

static bool find_value(const char *line, size_t n, const struct column *c, size_t at,
                       char out[static 64])
{
    const char *end = line + n;
    for (const char *p = line; p < end;) {
        const char *stop = p;
        while (stop < end && *stop && is_number_part(*stop))
            stop++;
        if (stop > p && is_value(c, at, p, (size_t)(stop - p))) {
            snprintf(out, 64, "%.*s", (int)(stop - p < 60 ? stop - p : 60), p);
            return true;
        }
        p = stop + 1;
    }
    return false;
}

/* Ids above 2^63 are stored as negative numbers, those above 2^64 as 2^64 - 1, 1e39 as inf: read
 * the line again to print the original text. False: not possible (a pipe, a cache). */
static bool as_written(struct scan *s, int64_t line, const struct column *c, size_t at,
                       char out[static 64])
{
    struct stream *stream;
    struct source source;
    const char *text;
    size_t n;
    if (c->dtype == DTYPE_INT64 && c->i64[at] >= 0)
        return false; /* is printed as it is written */
    if (!scan_has_lines(s) || !pipe_is_plain(s->plan->pipe_command) || !strcmp(s->path, "-") ||
        stream_open(s->path, s->plan->stop, &stream, NULL) < 0 ||
        source_open(&source, stream, s->plan->max_line, NULL) < 0)
        return false;
    enum skiff_status status = SKIFF_OK;
    while (status == SKIFF_OK && source.line < line)
        status = source_line(&source, &text, &n, NULL);
    bool found = status == SKIFF_OK && source.line == line && find_value(text, n, c, at, out);
    source_close(&source);
    return found;
}

/* ---- rows that break a rule ---- */

#define WRITTEN_MAX 32 /* bad lines that are read again; for others the stored value is printed */

static enum skiff_status check_row(struct scan *s, const struct batch *b, int64_t row,
                                   const struct breach *breach, struct skiff_error *err)
{
    const struct bad_lines *bad = s->plan->bad;
    struct skiff_error why;
    char text[64];
    int64_t line = b->lines[row];
    bool few = !bad || atomic_load(&bad->count) < WRITTEN_MAX;
    bool written = few && as_written(s, scan_has_lines(s) ? scan_line_number(s, line) : line,
                                     &b->columns[breach->slot], breach->at, text);
    rules_word(s->plan->rules, b, breach, written ? text : NULL, &why);
    return scan_bad_line(s, line, breach->kind, &why, err);
}

enum skiff_status scan_check(struct scan *s, struct batch *b, int64_t from,
                             enum skiff_status status, struct skiff_error *err)
{
    struct breach breach;
    if (!s->plan->rules || __builtin_expect(rules_hold(s->plan->rules, b, from), 1))
        return status;
    bool *keep = mem_alloc_or_die((size_t)(b->rows - from) + 1);
    enum skiff_status evaluated = SKIFF_OK;
    for (int64_t row = from; evaluated == SKIFF_OK && row < b->rows; row++) {
        keep[row - from] = !rules_breach(s->plan->rules, b, row, &breach);
        if (!keep[row - from])
            evaluated = check_row(s, b, row, &breach, err);
    }
    if (evaluated == SKIFF_OK)
        batch_keep(b, from, keep);
    free(keep);
    return evaluated < 0 ? evaluated : status;
}

/* ---- where a batch comes from ---- */

static int64_t line_of(const struct batch_position *p, int64_t line)
{
    return line + (p->samples ? 0 : scan_count_lines(p->path, p->piece));
}

void batch_position_text(const struct batch *b, struct buf *out)
{
    if (!b->rows || !b->first.path)
        return;
    int64_t first = line_of(&b->first, b->lines[0]);
    int64_t last = line_of(&b->last, b->lines[b->rows - 1]);
    if (!strcmp(b->first.path, b->last.path) && first <= last)
        buf_printf(out, "%s %s %" PRId64 "-%" PRId64, b->first.path,
                   b->first.samples ? "samples" : "lines", first, last);
    else
        buf_printf(out, "%s:%" PRId64 " to %s:%" PRId64, b->first.path, first, b->last.path, last);
}
