/* Rows of a planted model (synth.h).
 *
 * Every number of a row is drawn from Philox of (seed, row), so that a row is the same whatever
 * rows are made with it, and files can be written in any order. The model is scaled on rows that
 * are never written, so that clicks are as frequent as in Criteo data and the best AUC is about the
 * same for every seed. That best AUC is computed, not estimated by training: of rows with click
 * probabilities p the expected share of pairs that p ranks rightly, from a histogram of p. */
#define _GNU_SOURCE
#include "prepare/synth.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/stats.h"

/* The planted model is one that a net can learn from a million rows: the k-th most frequent value
 * of a column weighs about 1/k of the first, values of large columns weigh little, and pairs are of
 * frequent values. A missing number counts as 0, since that is all that readers tell of it. */
#define HEAD 32 /* values of a column that have a weight */
#define LARGE 200
#define LARGE_SHARE 0.1 /* weights of a column of at least LARGE values, to those of a small one */
#define PAIRS 3         /* pairs of columns with weights of their own */
#define PAIR_HEAD 2
#define CLICK_RATE 0.256  /* of Criteo */
#define LOGIT_SPREAD 1.65 /* standard deviation, the same for every seed: AUC about 0.82 */
#define CALIBRATE_ROWS 8192
#define BUCKETS (1 << 16)
#define LOGIT_MAX 12.0

/* Sizes and shares of missing values like Criteo's, large vocabularies cut. */
static const int vocabulary[CRITEO_CATEGORIES] = {
    1400, 550,  200000, 100000, 300,  20,   11000, 600,    3,  40000, 5000,  200000, 3100,
    26,   9000, 150000, 10,     4500, 2000, 4,     180000, 17, 15,    60000, 100,    40000};
static const double category_missing[CRITEO_CATEGORIES] = {
    0, 0, 0.03, 0.03, 0, 0.12, 0,    0,    0,    0, 0,    0.03, 0,
    0, 0, 0.03, 0,    0, 0.44, 0.44, 0.03, 0.76, 0, 0.03, 0.44, 0.44};
static const double number_missing[CRITEO_NUMBERS] = {0.45, 0,    0.21, 0.21, 0.03, 0.22, 0.04,
                                                      0,    0.04, 0.45, 0.04, 0.76, 0.21};
/* of the logarithm */
static const double number_mean[CRITEO_NUMBERS] = {0.8, 2.2, 2.0,  1.6, 8.0,  3.2, 1.8,
                                                   2.0, 3.8, -0.3, 0.6, -0.5, 1.6};
static const double number_spread[CRITEO_NUMBERS] = {1.1, 2.0, 1.4, 1.0, 2.2, 1.6, 1.4,
                                                     1.0, 1.3, 0.6, 0.7, 0.9, 1.0};
static const double number_max[CRITEO_NUMBERS] = {20, 600, 100, 50, 64000, 500, 100,
                                                  50, 500, 10,  10, 10,    50};
static const int pair_columns[PAIRS][2] = {{8, 19}, {16, 13}, {22, 5}};

struct synth_model {
    uint64_t seed;
    double bias, scale;
    double category[CRITEO_CATEGORIES][HEAD];
    double missing[CRITEO_CATEGORIES];
    double number[CRITEO_NUMBERS];
    double pair[PAIRS][PAIR_HEAD][PAIR_HEAD];
    double log_size[CRITEO_CATEGORIES];
};

/* ---- draws: numbers of (seed, index), four words at a time ---- */

struct synth_rng {
    uint64_t key, index, at;
    uint32_t words[4];
    int left;
};

static double draw(struct synth_rng *d) /* (0, 1) */
{
    if (d->left == 0) {
        philox(d->key, d->index, d->at++, d->words);
        d->left = 4;
    }
    return (d->words[--d->left] + 0.5) * 0x1p-32;
}

static double draw_normal(struct synth_rng *d)
{
    double u = draw(d), v = draw(d);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* A weight of either sign, never near 0, so that models of different seeds are about as hard. */
static double draw_weight(struct synth_rng *d)
{
    double w = 0.5 + draw(d);
    return draw(d) < 0.5 ? -w : w;
}

/* ---- the row ---- */

struct synth_row {
    int64_t number[CRITEO_NUMBERS];
    bool number_missing[CRITEO_NUMBERS];
    int64_t rank[CRITEO_CATEGORIES]; /* -1: missing */
    double click;                    /* the draw that decides it */
};

static void row_draw(const struct synth_model *m, int64_t at, struct synth_row *r)
{
    struct synth_rng d = {.key = m->seed, .index = (uint64_t)at};
    r->click = draw(&d);
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        double z = draw_normal(&d);
        r->number_missing[i] = draw(&d) < number_missing[i];
        r->number[i] = (int64_t)exp(number_mean[i] + number_spread[i] * z);
        if (i == 1)
            r->number[i] -= 2; /* I2 goes below 0 in Criteo */
    }
    for (int c = 0; c < CRITEO_CATEGORIES; c++) {
        double u = draw(&d);
        bool missing = category_missing[c] > 0 && draw(&d) < category_missing[c];
        r->rank[c] = missing ? -1 : (int64_t)exp(u * u * m->log_size[c]) - 1;
        if (r->rank[c] >= vocabulary[c])
            r->rank[c] = vocabulary[c] - 1;
    }
}

static double row_score(const struct synth_model *m, const struct synth_row *r)
{
    double s = 0;
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        double x = r->number_missing[i] ? 0 : (double)r->number[i] / number_max[i];
        s += m->number[i] * (x < 0 ? 0 : x > 1 ? 1 : x);
    }
    for (int c = 0; c < CRITEO_CATEGORIES; c++)
        if (r->rank[c] < 0)
            s += m->missing[c];
        else if (r->rank[c] < HEAD)
            s += m->category[c][r->rank[c]];
    for (int p = 0; p < PAIRS; p++) {
        int64_t a = r->rank[pair_columns[p][0]], b = r->rank[pair_columns[p][1]];
        if (a >= 0 && b >= 0 && a < PAIR_HEAD && b < PAIR_HEAD)
            s += m->pair[p][a][b];
    }
    return m->bias + m->scale * s;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The scale that gives the wanted spread of the logit, and the bias that gives the wanted share of
 * clicks, by halving the interval. */
static void model_calibrate(struct synth_model *m)
{
    double *scores = mem_alloc_or_die(CALIBRATE_ROWS * sizeof *scores), low = -20, high = 20;
    double mean = 0, square = 0;
    m->scale = 1;
    for (int i = 0; i < CALIBRATE_ROWS; i++) {
        struct synth_row r;
        row_draw(m, -1 - (int64_t)i, &r); /* rows that are never written */
        scores[i] = row_score(m, &r);
        mean += scores[i] / CALIBRATE_ROWS;
        square += scores[i] * scores[i] / CALIBRATE_ROWS;
    }
    m->scale = LOGIT_SPREAD / sqrt(square - mean * mean);
    for (int i = 0; i < CALIBRATE_ROWS; i++)
        scores[i] *= m->scale;
    for (int round = 0; round < 50; round++) {
        double sum = 0, middle = 0.5 * (low + high);
        for (int i = 0; i < CALIBRATE_ROWS; i++)
            sum += sigmoid(scores[i] + middle);
        if (sum < CLICK_RATE * CALIBRATE_ROWS)
            low = middle;
        else
            high = middle;
    }
    m->bias = low;
    free(scores);
}

struct synth_model *synth_model_create(uint64_t seed)
{
    struct synth_model *m = mem_alloc_or_die(sizeof *m);
    struct synth_rng d = {.key = ~seed};
    m->seed = seed;
    for (int c = 0; c < CRITEO_CATEGORIES; c++) {
        m->log_size[c] = log((double)vocabulary[c] + 1);
        m->missing[c] = 0.2 * draw_weight(&d);
        double weight = vocabulary[c] < LARGE ? 1 : LARGE_SHARE;
        for (int k = 0; k < HEAD; k++)
            m->category[c][k] = weight / (k + 1) * draw_weight(&d);
    }
    for (int i = 0; i < CRITEO_NUMBERS; i++)
        m->number[i] = 0.5 * draw_weight(&d);
    for (int p = 0; p < PAIRS; p++)
        for (int a = 0; a < PAIR_HEAD; a++)
            for (int b = 0; b < PAIR_HEAD; b++)
                m->pair[p][a][b] = 0.5 * draw_weight(&d);
    model_calibrate(m);
    return m;
}

void synth_model_destroy(struct synth_model *m)
{
    free(m);
}

static char *put_hex(char *p, uint32_t v)
{
    for (int i = 28; i >= 0; i -= 4)
        *p++ = "0123456789abcdef"[v >> i & 15];
    return p;
}

/* The text of a value: distinct for distinct ranks of a column (a bijection of 32 bits). */
static uint32_t value_word(int column, int64_t rank)
{
    uint32_t x = (uint32_t)rank ^ (uint32_t)(column + 1) * 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

double synth_row(const struct synth_model *m, int64_t row, struct buf *out, int *out_click)
{
    struct synth_row r;
    row_draw(m, row, &r);
    double p = sigmoid(row_score(m, &r));
    *out_click = r.click < p;
    buf_reserve(out, 1024);
    char *at = out->data + out->len;
    *at++ = *out_click ? '1' : '0';
    for (int i = 0; i < CRITEO_NUMBERS; i++) {
        *at++ = '\t';
        if (!r.number_missing[i])
            at += sprintf(at, "%lld", (long long)r.number[i]);
    }
    for (int c = 0; c < CRITEO_CATEGORIES; c++) {
        *at++ = '\t';
        if (r.rank[c] >= 0)
            at = put_hex(at, value_word(c, r.rank[c]));
    }
    *at++ = '\n';
    *at = '\0';
    out->len = (size_t)(at - out->data);
    return p;
}

/* ---- the best AUC ---- */

void best_auc_init(struct best_auc *a)
{
    *a = (struct best_auc){0};
    a->clicks = mem_alloc_or_die(4 * BUCKETS * sizeof *a->clicks);
    a->others = a->clicks + BUCKETS;
    a->drawn_clicks = a->others + BUCKETS;
    a->drawn_others = a->drawn_clicks + BUCKETS;
}

void best_auc_deinit(struct best_auc *a)
{
    free(a->clicks);
    *a = (struct best_auc){0};
}

void best_auc_add(struct best_auc *a, double p, int click)
{
    double logit = log(p / (1 - p)), index = (logit + LOGIT_MAX) / (2 * LOGIT_MAX) * BUCKETS;
    int b = index < 0 ? 0 : index >= BUCKETS ? BUCKETS - 1 : (int)index;
    a->clicks[b] += p;
    a->others[b] += 1 - p;
    if (click)
        a->drawn_clicks[b]++;
    else
        a->drawn_others[b]++;
    a->log_loss -= p * log(p) + (1 - p) * log(1 - p);
    a->rows++;
}

/* Share of pairs (click, other) in the right order; equal scores count half. */
static double auc_of(const double *clicks, const double *others)
{
    double below = 0, total = 0, pairs = 0;
    for (int b = 0; b < BUCKETS; b++) {
        pairs += clicks[b] * (below + 0.5 * others[b]);
        below += others[b];
        total += clicks[b];
    }
    return total > 0 && below > 0 ? pairs / (total * below) : 0.5;
}

double best_auc_expected(const struct best_auc *a)
{
    return auc_of(a->clicks, a->others);
}

double best_auc_drawn(const struct best_auc *a)
{
    return auc_of(a->drawn_clicks, a->drawn_others);
}

/* ---- files ---- */

static enum skiff_status write_file(const struct synth_model *m, const char *path, int64_t from,
                                    int64_t to, struct best_auc *auc, struct synth_report *report,
                                    struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    FILE *f = fopen(path, "we");
    bool ok = f != NULL;
    for (int64_t row = from; ok && row < to; row++) {
        int click;
        double p = synth_row(m, row, &text, &click);
        best_auc_add(auc, p, click);
        report->clicks += click;
        if (text.len > (1 << 18) || row + 1 == to) {
            ok = fwrite(text.data, 1, text.len, f) == text.len;
            report->bytes += (int64_t)text.len;
            buf_reset(&text);
        }
    }
    if (f && fclose(f) != 0)
        ok = false;
    enum skiff_status status = ok ? SKIFF_OK : error_set_sys(err, "%s: cannot write", path);
    buf_deinit(&text);
    return status;
}

enum skiff_status synth_write(const struct synth_config *config, struct synth_report *out,
                              struct skiff_error *err)
{
    int files = config->files ? config->files : 1;
    if (config->rows < 0 || config->first < 0 || files < 1 || files > 100000)
        return error_set(err, SKIFF_RANGE, "synth: rows %lld, first row %lld, files %d",
                         (long long)config->rows, (long long)config->first, files);
    if (mkdir(config->dir, 0777) < 0 && errno != EEXIST)
        return error_set_sys(err, "%s: cannot make the folder", config->dir);
    struct synth_report report = {.rows = config->rows};
    struct synth_model *m = synth_model_create(config->seed);
    struct best_auc auc;
    struct buf path = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    best_auc_init(&auc);
    for (int i = 0; status == SKIFF_OK && i < files; i++) {
        int64_t from = config->first + config->rows / files * i +
                       (i < config->rows % files ? i : config->rows % files);
        int64_t n = config->rows / files + (i < config->rows % files);
        buf_reset(&path);
        buf_printf(&path, "%s/part-%03d", config->dir, i);
        status = write_file(m, path.data, from, from + n, &auc, &report, err);
    }
    report.best_auc = best_auc_expected(&auc);
    report.drawn_auc = best_auc_drawn(&auc);
    report.best_log_loss = auc.rows ? auc.log_loss / (double)auc.rows : 0;
    if (status == SKIFF_OK)
        *out = report;
    best_auc_deinit(&auc);
    synth_model_destroy(m);
    buf_deinit(&path);
    return status;
}
