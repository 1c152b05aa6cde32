/* One pass over the rows: each goes to training or validation, and the training rows are counted.
 *
 * Quantiles are those of a histogram and not of sorted values, so that memory does not grow with
 * the rows: exact below 4096 (almost all of Criteo's numbers), 2048 buckets for each power of two
 * above, which is 0.05 % of the value. Values of categories are counted by their 64-bit hash; when
 * a column has more distinct ones than allowed, new ones are not counted any more, and the column
 * says so. Where a row goes depends on the seed and its number alone. */
#define _GNU_SOURCE
#include "prepare/criteo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rng.h"
#include "prepare/count.h"
#include "data/text.h"

/* ---- numbers: a histogram, exact below 4096, 2048 buckets for each power of two above ---- */

#define EXACT 4096
#define PER_OCTAVE 2048
#define NUMBER_BUCKETS (EXACT + 51 * PER_OCTAVE)

struct number_count {
    int64_t *above;       /* values of 0 and more */
    int64_t below[EXACT]; /* -1, -2, ...; the last one takes all that are smaller */
    int64_t seen, missing;
    double sum, min, max;
};

static size_t number_bucket(int64_t v)
{
    if (v < EXACT)
        return (size_t)v;
    int e = 63 - __builtin_clzll((uint64_t)v);
    return EXACT + (size_t)(e - 12) * PER_OCTAVE + ((size_t)(v >> (e - 11)) & (PER_OCTAVE - 1));
}

static double bucket_value(size_t b)
{
    if (b < EXACT)
        return (double)b;
    size_t e = (b - EXACT) / PER_OCTAVE + 12, low = (b - EXACT) % PER_OCTAVE;
    return (double)((uint64_t)(PER_OCTAVE + low) << (e - 11));
}

static void number_add(struct number_count *c, double x)
{
    if (c->seen == 0 || x < c->min)
        c->min = x;
    if (c->seen == 0 || x > c->max)
        c->max = x;
    c->seen++;
    c->sum += x;
    int64_t v = x > 9e18 ? INT64_MAX : x < -9e18 ? -INT64_MAX : (int64_t)x;
    if (v < 0)
        c->below[-v - 1 < EXACT ? -v - 1 : EXACT - 1]++;
    else
        c->above[number_bucket(v)]++;
}

static double number_quantile(const struct number_count *c, double share)
{
    int64_t want = (int64_t)(share * (double)c->seen), seen = 0;
    if ((double)want < share * (double)c->seen)
        want++;
    if (want < 1)
        want = 1;
    for (int i = EXACT - 1; i >= 0; i--)
        if ((seen += c->below[i]) >= want)
            return -(double)(i + 1);
    for (size_t b = 0; b < NUMBER_BUCKETS; b++)
        if ((seen += c->above[b]) >= want)
            return bucket_value(b);
    return c->max;
}

/* ---- categories: how often each value occurs ---- */

struct category_count {
    struct value_counts values;
    int64_t missing;
};

static enum skiff_status category_add(struct category_count *c, const char *p, size_t n,
                                      struct skiff_error *err)
{
    if (n == 0) {
        c->missing++;
        return SKIFF_OK;
    }
    return value_counts_add(&c->values, p, n, err);
}

static void category_stats(const struct category_count *c, struct category_stats *out)
{
    *out = (struct category_stats){
        .missing = c->missing, .distinct = (int64_t)c->values.distinct, .more = c->values.full};
    for (size_t i = 0; i < c->values.slots; i++) {
        int64_t n = c->values.at[i].count;
        out->once += n == 1;
        out->often += n >= 10;
        if (n > out->top)
            out->top = n;
    }
}

/* ---- the run ---- */

struct criteo_state {
    const struct criteo_config *config;
    struct criteo_report report;
    struct number_count numbers[CRITEO_NUMBERS];
    struct category_count categories[CRITEO_CATEGORIES];
    double share, quantile;
    int64_t row;
    FILE *train, *valid; /* of the file that is read */
};

struct criteo_line {
    bool click;
    double number[CRITEO_NUMBERS];
    bool missing[CRITEO_NUMBERS];
    uint32_t tabs[CRITEO_COLUMNS + 1];
};

/* A number that fills p[0..n), blanks aside. */
static bool parse_number(const char *p, size_t n, double *out, bool *missing)
{
    int64_t whole;
    bool over = false;
    float f;
    while (n && text_blank(*p))
        p++, n--;
    while (n && text_blank(p[n - 1]))
        n--;
    *missing = n == 0;
    if (n == 0)
        return true;
    if (text_i64(p, &whole, &over) == p + n && !over) {
        *out = (double)whole;
        return true;
    }
    bool ok = text_f32(p, &f) == p + n && f - f == 0;
    *out = ok ? f : 0;
    return ok;
}

static enum skiff_status parse_line(const char *text, size_t n, struct criteo_line *l,
                                    struct skiff_error *err)
{
    char quoted[64];
    size_t found = text_find_all(text, n, '\t', l->tabs, CRITEO_COLUMNS);
    if (found + 1 != CRITEO_COLUMNS)
        return error_set(
            err, SKIFF_FORMAT,
            "expected %d columns with a tab between them, found %zu (for rows of another "
            "form than Criteo's: --format)",
            CRITEO_COLUMNS, found + 1);
    l->tabs[found] = (uint32_t)n;
    if (l->tabs[0] != 1 || (text[0] != '0' && text[0] != '1'))
        return error_set(err, SKIFF_FORMAT, "label: expected 0 or 1, found %s",
                         text_quote(text, l->tabs[0], quoted));
    l->click = text[0] == '1';
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        const char *p = text + l->tabs[i] + 1;
        size_t len = l->tabs[i + 1] - l->tabs[i] - 1;
        if (!parse_number(p, len, &l->number[i], &l->missing[i]))
            return error_set(err, SKIFF_FORMAT,
                             "column I%d: expected a number or nothing, found %s", i + 1,
                             text_quote(p, len, quoted));
    }
    return SKIFF_OK;
}

static enum skiff_status count_line(struct criteo_state *r, const char *text,
                                    const struct criteo_line *l, struct skiff_error *err)
{
    r->report.stats.rows++;
    r->report.stats.clicks += l->click;
    for (int i = 0; i < CRITEO_NUMBERS; i++)
        if (l->missing[i])
            r->numbers[i].missing++;
        else
            number_add(&r->numbers[i], l->number[i]);
    for (int c = 0; c < CRITEO_CATEGORIES; c++) {
        const uint32_t *tab = &l->tabs[CRITEO_NUMBERS + c];
        TRY(category_add(&r->categories[c], text + tab[0] + 1, tab[1] - tab[0] - 1, err));
    }
    return SKIFF_OK;
}

static bool goes_to_valid(const struct criteo_state *r)
{
    uint32_t w[4];
    if (!(r->share > 0))
        return false;
    philox(r->config->seed, 0, (uint64_t)r->row, w);
    return (w[0] + 0.5) * 0x1p-32 < r->share;
}

static enum skiff_status take_line(struct criteo_state *r, const char *text, size_t n,
                                   struct skiff_error *err)
{
    struct criteo_line l;
    TRY(parse_line(text, n, &l, err));
    bool valid = goes_to_valid(r);
    r->row++;
    if (valid)
        r->report.valid++;
    else {
        r->report.train++;
        TRY(count_line(r, text, &l, err));
    }
    FILE *f = valid ? r->valid : r->train;
    if (f && (fwrite(text, 1, n, f) != n || fputc('\n', f) == EOF))
        return error_set_sys(err, "%s: cannot write", r->config->out);
    return SKIFF_OK;
}

static enum skiff_status bad_line(struct criteo_state *r, const char *path, int64_t line,
                                  struct skiff_error *why, struct skiff_error *err)
{
    struct bad_lines *bad = r->config->bad;
    error_prefix(why, why->code, "%s:%" PRId64, path, line);
    if (bad) {
        int64_t count = atomic_fetch_add(&bad->count, 1) + 1;
        if (bad->on_bad)
            bad->on_bad(bad->arg, path, line, why);
        r->report.bad++;
        if (bad->limit < 0 || count <= bad->limit)
            return SKIFF_OK;
    }
    if (err)
        *err = *why;
    return why->code;
}

static enum skiff_status split_lines(struct criteo_state *r, struct source *s, const char *path,
                                     struct skiff_error *err)
{
    int64_t first_row = r->row;
    for (;;) {
        struct skiff_error why;
        const char *text;
        size_t n;
        int64_t before = s->line;
        if (r->config->stop && atomic_load(r->config->stop))
            return error_set(err, SKIFF_STATE, "%s: reading was stopped", path);
        enum skiff_status status = source_line(s, &text, &n, &why);
        if (status == SKIFF_END)
            return SKIFF_OK;
        if (status == SKIFF_OK)
            status = take_line(r, text, n, &why);
        if (status == SKIFF_OK)
            continue;
        if (s->line == before || (status != SKIFF_FORMAT && status != SKIFF_RANGE)) {
            if (err)
                *err = why;
            return status;
        }
        TRY(bad_line(r, path, s->line, &why, err));
        if (r->row == first_row)
            TRY(idle_check(path, s->line, r->config->idle_lines, err));
    }
}

static enum skiff_status make_folder(const char *path, struct skiff_error *err)
{
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return error_set_sys(err, "%s: cannot make the folder", path);
    return SKIFF_OK;
}

/* out/<part>/00003-name; compressed input comes out plain, so a .gz ending is cut. */
static enum skiff_status open_part(const struct criteo_state *r, const char *part, int file,
                                   FILE **out, struct skiff_error *err)
{
    const char *path = r->config->files->paths[file], *slash = strrchr(path, '/');
    struct buf name = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    buf_printf(&name, "%s/%s/%05d-%s", r->config->out, part, file,
               strcmp(path, "-") == 0 ? "stdin"
               : slash                ? slash + 1
                                      : path);
    static const char *const ends[] = {".gz", ".zst", ".lz4", ".xz"};
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(ends[i]);
        if (name.len > n && strcmp(name.data + name.len - n, ends[i]) == 0)
            name.data[name.len - n] = '\0';
    }
    *out = fopen(name.data, "we");
    if (!*out)
        status = error_set_sys(err, "%s: cannot write", name.data);
    buf_deinit(&name);
    return status;
}

static enum skiff_status close_part(FILE **f, const char *out, struct skiff_error *err)
{
    FILE *file = *f;
    *f = NULL;
    if (file && fclose(file) != 0)
        return error_set_sys(err, "%s: cannot write", out);
    return SKIFF_OK;
}

static enum skiff_status split_file(struct criteo_state *r, int file, struct skiff_error *err)
{
    const char *path = r->config->files->paths[file];
    struct stream *stream;
    struct source s = {0};
    enum skiff_status status;
    TRY_OUT(stream_open(path, r->config->stop, &stream, err));
    TRY_OUT(source_open(&s, stream, 0, err));
    if (r->config->unpack_ratio)
        s.unpack_ratio = r->config->unpack_ratio;
    if (r->share > 0) {
        TRY_OUT(open_part(r, "train", file, &r->train, err));
        TRY_OUT(open_part(r, "valid", file, &r->valid, err));
    }
    TRY_OUT(split_lines(r, &s, path, err));
    TRY_OUT(close_part(&r->train, r->config->out, err));
    TRY_OUT(close_part(&r->valid, r->config->out, err));
out:
    close_part(&r->train, r->config->out, NULL);
    close_part(&r->valid, r->config->out, NULL);
    source_close(&s);
    return status;
}

static void fill_stats(struct criteo_state *r)
{
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        const struct number_count *c = &r->numbers[i];
        struct number_stats *s = &r->report.stats.numbers[i];
        *s = (struct number_stats){.missing = c->missing};
        if (c->seen == 0)
            continue;
        s->min = c->min;
        s->max = c->max;
        s->mean = c->sum / (double)c->seen;
        s->q95 = number_quantile(c, r->quantile);
    }
    for (int c = 0; c < CRITEO_CATEGORIES; c++)
        category_stats(&r->categories[c], &r->report.stats.categories[c]);
}

static enum skiff_status make_folders(const struct criteo_state *r, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    enum skiff_status status = make_folder(r->config->out, err);
    for (int k = 0; status == SKIFF_OK && r->share > 0 && k < 2; k++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s", r->config->out, k ? "valid" : "train");
        status = make_folder(path.data, err);
    }
    buf_deinit(&path);
    return status;
}

enum skiff_status criteo_run(const struct criteo_config *config, struct criteo_report *out,
                             struct skiff_error *err)
{
    struct criteo_state *r = mem_alloc_or_die(sizeof *r);
    struct buf path = BUF_INIT;
    enum skiff_status status;
    r->config = config;
    r->share = config->share == 0 ? 0.1 : config->share;
    r->quantile = config->quantile > 0 ? config->quantile : 0.95;
    for (int c = 0; c < CRITEO_CATEGORIES; c++)
        r->categories[c].values.most =
            (size_t)(config->max_distinct > 0 ? config->max_distinct : 4000000);
    if (r->share >= 1 || r->quantile > 1) {
        status = error_set(err, SKIFF_RANGE, "prepare: share %g and quantile %g must be below 1",
                           r->share, r->quantile);
        goto out;
    }
    for (int i = 0; i < CRITEO_NUMBERS; i++)
        r->numbers[i].above = mem_alloc_or_die(NUMBER_BUCKETS * sizeof *r->numbers[i].above);
    TRY_OUT(make_folders(r, err));
    for (int i = 0; i < config->files->count; i++)
        TRY_OUT(split_file(r, i, err));
    fill_stats(r);
    buf_printf(&path, "%s/stats", config->out);
    TRY_OUT(stats_write(&r->report.stats, path.data, err));
    *out = r->report;
out:
    for (int i = 0; i < CRITEO_NUMBERS; i++)
        free(r->numbers[i].above);
    for (int c = 0; c < CRITEO_CATEGORIES; c++)
        value_counts_deinit(&r->categories[c].values);
    buf_deinit(&path);
    free(r);
    return status;
}
