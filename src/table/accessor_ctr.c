/* The part that Paddle's three accessors for click data share (accessor_ctr.h): the layout of a
 * record, the score, admission of embedx, decay and expiry, and the columns of shard files. The
 * formulas follow Paddle 2.6, in floats where the statistics are floats, because thresholds are
 * compared with the results. tests/conformance/table_paddle_test.c replays recorded jobs. Threads:
 * plain functions of accessor and record. */
#include "table/accessor_ctr.h"

#include <inttypes.h>
#include <string.h>

int ctr_embed_states(const struct accessor *a)
{
    return a->options.embed_rule->states(1);
}

int ctr_embedx_states(const struct accessor *a)
{
    return a->options.embedx_rule->states(a->options.embedx);
}

/* The pulled values are in front, so that a pull touches one or two cache lines:
 *     show click embed_w embedx_w[] slot unseen delta embed_state[] embedx_state[] */
enum skiff_status ctr_layout(struct accessor *a, bool doubles, struct skiff_error *err)
{
    const struct accessor_options *o = &a->options;
    int stat = doubles ? 2 : 1;
    if (o->embedx < 0 || o->embedx > ACCESSOR_WIDTH / 8)
        return error_set(err, SKIFF_INVALID, "accessor %s: embedx_dim %d; the range is 0 to %d",
                         a->class->name, o->embedx, ACCESSOR_WIDTH / 8);
    if (!o->embed_rule || !o->embedx_rule)
        return error_set(err, SKIFF_INVALID, "accessor %s: no rule for %s", a->class->name,
                         o->embed_rule ? "embedx" : "embed");
    a->doubles = doubles;
    a->show = 0;
    a->click = a->show + stat;
    a->embed_w = a->click + stat;
    a->embedx_w = a->embed_w + 1;
    a->slot = a->embedx_w + o->embedx;
    a->unseen = a->slot + 1;
    a->delta = a->unseen + 1;
    a->embed_state = a->delta + 1;
    a->embedx_state = a->embed_state + ctr_embed_states(a);
    a->width = a->embedx_state + ctr_embedx_states(a);
    a->pulled = 1 + o->embedx;
    a->pushed = CTR_PUSH + 1 + o->embedx;
    a->pull_span = sizeof(struct table_row) + (size_t)a->slot * sizeof(float);
    return SKIFF_OK;
}

/* ---- statistics ---- */

double ctr_stat(const struct accessor *a, const struct table_row *r, int at)
{
    double x;
    if (!a->doubles)
        return r->values[at];
    memcpy(&x, &r->values[at], sizeof x);
    return x;
}

void ctr_set_stat(const struct accessor *a, struct table_row *r, int at, double x)
{
    if (a->doubles)
        memcpy(&r->values[at], &x, sizeof x);
    else
        r->values[at] = (float)x;
}

/* In floats if the statistics are floats: thresholds are compared with it. */
double ctr_score(const struct accessor *a, double show, double click)
{
    const struct ctr_params *c = &a->options.ctr;
    if (a->doubles)
        return (show - click) * c->nonclk_coeff + click * c->click_coeff;
    float s = (float)show, k = (float)click;
    return (s - k) * c->nonclk_coeff + k * c->click_coeff;
}

double ctr_row_score(const struct accessor *a, const struct table_row *r)
{
    return ctr_score(a, ctr_stat(a, r, a->show), ctr_stat(a, r, a->click));
}

double ctr_row_unseen(const struct accessor *a, const struct table_row *r)
{
    return r->values[a->unseen];
}

/* ---- creation and pushes ---- */

static void draw(const struct accessor *a, struct table_row *r, int at, int n, float range)
{
    struct fill f = {FILL_UNIFORM, -range, range, fill_key(a->options.seed + (uint64_t)at, "ctr")};
    fill_row(&f, r->id, r->values + at, (size_t)n);
}

void ctr_start(const struct accessor *a, struct table_row *r)
{
    const struct accessor_options *o = &a->options;
    r->stamp = 0;
    memset(r->values, 0, (size_t)a->width * sizeof *r->values);
    r->values[a->slot] = -1;
    if (!o->ctr.zero_init || o->embedx == 0)
        draw(a, r, a->embed_w, 1, o->embed.initial_range);
    o->embed_rule->start(&o->embed, 1, r->values + a->embed_state);
}

static void make_embedx(const struct accessor *a, struct table_row *r)
{
    const struct accessor_options *o = &a->options;
    r->stamp |= CTR_EMBEDX;
    draw(a, r, a->embedx_w, o->embedx, o->embedx_params.initial_range);
    o->embedx_rule->start(&o->embedx_params, o->embedx, r->values + a->embedx_state);
}

static void push_one(const struct accessor *a, struct table_row *r, const float *row, bool scaled)
{
    const struct accessor_options *o = &a->options;
    float show = row[1], click = row[2], scale = scaled ? show : 1;
    double total = ctr_stat(a, r, a->show) + show, clicks = ctr_stat(a, r, a->click) + click;
    ctr_set_stat(a, r, a->show, total);
    ctr_set_stat(a, r, a->click, clicks);
    r->values[a->slot] = row[0];
    r->values[a->delta] += (float)ctr_score(a, show, click);
    r->values[a->unseen] = 0;
    r->stamp |= CTR_PUSHED;
    o->embed_rule->update(&o->embed, 1, r->values + a->embed_w, r->values + a->embed_state,
                          row + CTR_PUSH, scale);
    if (r->stamp & CTR_EMBEDX)
        o->embedx_rule->update(&o->embedx_params, o->embedx, r->values + a->embedx_w,
                               r->values + a->embedx_state, row + CTR_PUSH + 1, scale);
    else if (ctr_row_score(a, r) >= o->ctr.embedx_threshold)
        make_embedx(a, r);
}

void ctr_push(const struct accessor *a, struct table_row *const *r, size_t n, const float *rows,
              bool scaled)
{
    for (size_t i = 0; i < n; i++)
        if (r[i])
            push_one(a, r[i], rows + i * (size_t)a->pushed, scaled);
}

/* ---- decay and expiry ---- */

bool ctr_ages(const struct accessor *a)
{
    return a->options.ctr.show_click_decay_rate != 1;
}

bool ctr_expire(const struct accessor *a, struct table_row *r)
{
    const struct ctr_params *c = &a->options.ctr;
    ctr_set_stat(a, r, a->show, ctr_stat(a, r, a->show) * c->show_click_decay_rate);
    ctr_set_stat(a, r, a->click, ctr_stat(a, r, a->click) * c->show_click_decay_rate);
    return ctr_row_score(a, r) < c->delete_threshold ||
           r->values[a->unseen] > c->delete_after_unseen_days;
}

/* ---- files ---- */

static bool is_wanted(const struct accessor *a, const struct table_row *r, int mode)
{
    const struct ctr_params *c = &a->options.ctr;
    float least = mode == SAVE_DELTA ? c->delta_threshold : 0;
    if (mode == SAVE_PATCH)
        return r->stamp & CTR_PUSHED;
    if (mode != SAVE_DELTA && mode != SAVE_BASE)
        return true;
    return ctr_row_score(a, r) >= c->base_threshold && r->values[a->unseen] <= c->delta_keep_days &&
           r->values[a->delta] >= least;
}

bool ctr_save_changes(const struct accessor *a, const struct table_row *r, int mode)
{
    if (mode == SAVE_DELTA || mode == SAVE_BASE)
        return r->values[a->delta] != 0 && is_wanted(a, r, mode);
    return mode == SAVE_BATCH || (mode == SAVE_PATCH && is_wanted(a, r, mode));
}

bool ctr_save(const struct accessor *a, struct table_row *r, int mode)
{
    bool wanted = is_wanted(a, r, mode);
    if (wanted && mode == SAVE_BASE)
        r->values[a->delta] = 0;
    return wanted;
}

void ctr_saved(const struct accessor *a, struct table_row *r, int mode, bool written)
{
    if (mode == SAVE_DELTA && written)
        r->values[a->delta] = 0;
    if (mode == SAVE_BATCH)
        r->values[a->unseen] += 1;
    if (mode == SAVE_PATCH)
        r->stamp &= ~CTR_PUSHED;
}

bool ctr_prints_embedx(const struct accessor *a, const struct table_row *r)
{
    return (r->stamp & CTR_EMBEDX) && ctr_row_score(a, r) >= a->options.ctr.embedx_threshold;
}

void ctr_copy_out(const struct table_row *r, int at, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = r->values[at + i];
}

void ctr_copy_in(struct table_row *r, int at, int n, const double *from)
{
    for (int i = 0; i < n; i++)
        r->values[at + i] = (float)from[i];
}

enum skiff_status ctr_wrong_count(const struct accessor *a, const struct table_row *r, int n,
                                  struct skiff_error *err)
{
    int least = 6 + ctr_embed_states(a);
    return error_set(err, SKIFF_FORMAT,
                     "key %" PRIu64 ": %d numbers; accessor %s has %d, or %d with embedx: the file "
                     "was written with another dimension or rule",
                     (uint64_t)r->id, n, a->class->name, least,
                     least + a->options.embedx + ctr_embedx_states(a));
}

void ctr_stats_out(const struct accessor *a, const struct table_row *r, double *out)
{
    const struct accessor_columns *c = &a->class->columns;
    out[c->unseen] = r->values[a->unseen];
    out[c->delta] = r->values[a->delta];
    out[c->show] = ctr_stat(a, r, a->show);
    out[c->click] = ctr_stat(a, r, a->click);
    out[c->embed_w] = r->values[a->embed_w];
}

void ctr_stats_in(const struct accessor *a, struct table_row *r, const double *numbers)
{
    const struct accessor_columns *c = &a->class->columns;
    r->values[a->unseen] = (float)numbers[c->unseen];
    r->values[a->delta] = (float)numbers[c->delta];
    ctr_set_stat(a, r, a->show, numbers[c->show]);
    ctr_set_stat(a, r, a->click, numbers[c->click]);
    r->values[a->embed_w] = (float)numbers[c->embed_w];
}

int ctr_numbers(const struct accessor *a, const struct table_row *r, double *out)
{
    int states = ctr_embed_states(a), x = a->options.embedx, at = 6;
    out[0] = r->values[a->slot];
    ctr_stats_out(a, r, out);
    ctr_copy_out(r, a->embed_state, states, out + at);
    at += states;
    if (!ctr_prints_embedx(a, r))
        return at;
    ctr_copy_out(r, a->embedx_w, x, out + at);
    ctr_copy_out(r, a->embedx_state, ctr_embedx_states(a), out + at + x);
    return at + x + ctr_embedx_states(a);
}

enum skiff_status ctr_take(const struct accessor *a, const double *numbers, int n,
                           struct table_row *r, struct skiff_error *err)
{
    int states = ctr_embed_states(a), x = a->options.embedx, least = 6 + states;
    if (n != least && n != least + x + ctr_embedx_states(a))
        return ctr_wrong_count(a, r, n, err);
    r->values[a->slot] = (float)numbers[0];
    ctr_stats_in(a, r, numbers);
    ctr_copy_in(r, a->embed_state, states, numbers + 6);
    if (n == least)
        return SKIFF_OK;
    r->stamp |= CTR_EMBEDX;
    ctr_copy_in(r, a->embedx_w, x, numbers + least);
    ctr_copy_in(r, a->embedx_state, ctr_embedx_states(a), numbers + least + x);
    return SKIFF_OK;
}
