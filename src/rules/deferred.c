/* Steps are numbered 1, 2, ... (c->now is the last one recorded); a row with stamp t has seen steps
 * 1..t. c->floor: every stamp is at least that. For the stamps of the last `window` steps,
 * sums[t] = sum over steps j > t of rate_j * weight[j - t] grows by one term per step; older ones
 * have come to rest and stay as they are until their place in the ring is needed again.
 *
 * Who writes a row has its stamp meanwhile (BUSY stands there): two threads in one row could leave
 * a new m beside an old v, and m / (sqrt(0) + eps) is a jump by thousands of steps. */
#include "rules/deferred.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread_pool.h"

#define MASK (DEFERRED_HISTORY - 1)
#define AHEAD 8 /* rows fetched into the cache before their turn */
#define BUSY UINT32_MAX
#define TRIES 100 /* a row is written in less time than these take, unless its thread is held up */

/* Rows that were brought up to date for readers only. */
struct shown_row {
    int64_t row;
    uint32_t stamp; /* before */
    uint32_t now;   /* the stamp it was given */
    uint64_t hash;  /* of its floats then: another one says that somebody has written to it */
};
#define SHOWN_CHUNK 1024
struct shown_chunk {
    struct shown_chunk *next;
    size_t n;
    struct shown_row rows[SHOWN_CHUNK];
    float floats[]; /* [SHOWN_CHUNK][1 + states][width], before */
};
struct shown {
    struct shown_chunk *first; /* the newest */
    bool all;                  /* every row is up to date; `floor` was the floor before that */
    uint32_t floor;
};

struct deferred_rows {
    const struct rule *rule;
    struct rule_params params;
    struct rule_plan plan;
    int64_t rows, width;
    float *p, *state[RULE_MAX_STATES];

    pthread_mutex_t lock; /* of recording a step and of flushing all */
    uint32_t now, floor;
    uint32_t powers; /* power[i][0..powers) are filled */
    uint32_t *stamp; /* [rows] */
    int64_t stamps;  /* room in it */
    bool is_window;  /* the rows are a few of a table's: flushing them does not flush all */
    float *rates;    /* [history] rate of a step */
    double *sums;    /* [history][terms] */
    double *weights; /* [window + 1][terms], the latest step first: backwards */
    float *power[RULE_MAX_STATES];
    double last_power[RULE_MAX_STATES];
    struct shown shown;        /* under the lock; a step takes it */
    struct shown_chunk *spare; /* under the lock: steps of eager mode show rows every time */
};

static enum skiff_status deferred_alloc(struct deferred_rows *c, struct skiff_error *err)
{
    size_t stamps, terms = (size_t)c->plan.terms;
    if (!mem_mul((size_t)c->rows, sizeof *c->stamp, &stamps))
        return error_set(err, SKIFF_RANGE, "rule %s: a table of %lld rows is too large",
                         c->rule->name, (long long)c->rows);
    void *p;
    TRY(mem_alloc(stamps + !stamps, "row stamps", &p, err));
    c->stamp = p;
    c->stamps = c->rows;
    memset(c->stamp, 0, stamps);
    TRY(mem_alloc(DEFERRED_HISTORY * sizeof(float), "step rates", &p, err));
    c->rates = p;
    for (int i = 0; i < c->rule->states; i++) {
        TRY(mem_alloc((DEFERRED_HISTORY + 1) * sizeof(float), "powers of decays", &p, err));
        c->power[i] = p;
        c->power[i][0] = 1;
        c->last_power[i] = 1;
    }
    c->powers = 1;
    if (!terms)
        return SKIFF_OK;
    TRY(mem_alloc(DEFERRED_HISTORY * terms * sizeof(double), "sums of rates", &p, err));
    c->sums = p;
    memset(c->sums, 0, terms * sizeof(double)); /* stamp 0; the others when their step comes */
    TRY(mem_alloc((c->plan.window + 1) * terms * sizeof(double), "weights of rates", &p, err));
    c->weights = p;
    return SKIFF_OK;
}

/* Turns weights by distance into weights by stamp, so that recording a step is one straight loop
 * from the oldest stamp that still moves to the latest. */
static void weights_reverse(struct deferred_rows *c)
{
    size_t terms = (size_t)c->plan.terms, n = c->plan.window + 1;
    for (size_t a = 0, b = n - 1; a < b; a++, b--)
        for (size_t i = 0; i < terms; i++) {
            double t = c->weights[a * terms + i];
            c->weights[a * terms + i] = c->weights[b * terms + i];
            c->weights[b * terms + i] = t;
        }
}

enum skiff_status deferred_create(const struct rule *rule, const struct rule_params *params,
                                  int64_t rows, int64_t width, struct deferred_rows **out,
                                  struct skiff_error *err)
{
    struct rule_plan plan;
    if (!rule->plan || !rule->plan(params, &plan))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "rule %s cannot be caught up with these parameters", rule->name);
    struct deferred_rows *c = mem_alloc_or_die(sizeof *c);
    c->rule = rule;
    c->params = *params;
    c->plan = plan;
    c->rows = rows;
    c->width = width;
    pthread_mutex_init(&c->lock, NULL);
    enum skiff_status status = deferred_alloc(c, err);
    if (status < 0) {
        deferred_destroy(c);
        return status;
    }
    if (plan.terms) {
        rule->weights(params, &plan, c->weights);
        weights_reverse(c);
    }
    *out = c;
    return SKIFF_OK;
}

static void shown_reset(struct shown *s)
{
    struct shown_chunk *next;
    for (struct shown_chunk *k = s->first; k; k = next) {
        next = k->next;
        mem_free(k);
    }
    *s = (struct shown){0};
}

void deferred_destroy(struct deferred_rows *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    mem_free(c->stamp);
    mem_free(c->rates);
    mem_free(c->sums);
    mem_free(c->weights);
    for (int i = 0; i < RULE_MAX_STATES; i++)
        mem_free(c->power[i]);
    shown_reset(&c->shown);
    mem_free(c->spare);
    free(c);
}

bool deferred_fits(const struct deferred_rows *c, const struct rule *rule,
                   const struct rule_params *params, int64_t rows, int64_t width)
{
    const struct rule_params *a = &c->params, *b = params;
    return c->rule == rule && c->rows == rows && c->width == width && a->beta1 == b->beta1 &&
           a->beta2 == b->beta2 && a->epsilon == b->epsilon && a->mu == b->mu &&
           a->decay == b->decay && a->l2 == b->l2 && a->rescale == b->rescale &&
           a->nesterov == b->nesterov && a->centered == b->centered &&
           a->second_gen == b->second_gen;
}

void deferred_bind(struct deferred_rows *c, float *p, float *const *state)
{
    /* written only when they change: usually several threads bind the same arrays */
    if (c->p != p)
        c->p = p;
    for (int i = 0; i < c->rule->states; i++)
        if (c->state[i] != state[i])
            c->state[i] = state[i];
}

bool deferred_is_flushed(const struct deferred_rows *c)
{
    return __atomic_load_n(&c->floor, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&c->now, __ATOMIC_ACQUIRE);
}

/* The row missed steps from+1 .. from+steps. `extra` (or NULL): the sums already hold the step
 * after those, with this rate; it is taken out. */
static void flush_at(const struct deferred_rows *c, uint32_t from, uint32_t steps,
                     const float *extra, float *p, float *const *state)
{
    double sums[RULE_MAX_TERMS];
    int terms = c->plan.terms;
    struct rule_gap gap = {
        .steps = steps, .sums = sums, .rates = c->rates, .first = from, .mask = MASK};
    for (int i = 0; i < c->rule->states; i++)
        gap.power[i] = c->power[i][steps];
    for (int i = 0; i < terms; i++)
        sums[i] = c->sums[(size_t)(from & MASK) * (size_t)terms + (size_t)i];
    if (terms && extra && steps < c->plan.window) {
        const double *w = c->weights + (size_t)(c->plan.window - steps - 1) * (size_t)terms;
        for (int i = 0; i < terms; i++)
            sums[i] -= *extra * w[i];
    }
    c->rule->flush(&c->params, &c->plan, &gap, (size_t)c->width, p, state);
}

static void row_flush(struct deferred_rows *c, int64_t row, uint32_t from, uint32_t steps,
                      const float *extra)
{
    size_t at = (size_t)row * (size_t)c->width;
    float *state[RULE_MAX_STATES] = {0};
    for (int i = 0; i < c->rule->states; i++)
        state[i] = c->state[i] ? c->state[i] + at : NULL;
    flush_at(c, from, steps, extra, c->p + at, state);
}

static void row_fetch(const struct deferred_rows *c, int64_t row)
{
    size_t at = (size_t)row * (size_t)c->width;
    size_t last = at + (size_t)c->width - 1;
    __builtin_prefetch(c->p + at, 1);
    __builtin_prefetch(c->p + last, 1);
    for (int i = 0; i < c->rule->states; i++)
        if (c->state[i]) {
            __builtin_prefetch(c->state[i] + at, 1);
            __builtin_prefetch(c->state[i] + last, 1);
        }
}

/* Keeps other threads off the row until row_give. Its stamp. */
static uint32_t row_take(struct deferred_rows *c, int64_t row)
{
    for (int i = 0;; i++) {
        uint32_t stamp = __atomic_exchange_n(&c->stamp[row], BUSY, __ATOMIC_ACQUIRE);
        if (stamp != BUSY)
            return stamp;
        if (i >= TRIES)
            sched_yield();
    }
}

static void row_give(struct deferred_rows *c, int64_t row, uint32_t stamp)
{
    __atomic_store_n(&c->stamp[row], stamp == BUSY ? BUSY - 1 : stamp, __ATOMIC_RELEASE);
}

/* Takes the gap of one row, if it has one, and flushes it up to step `now`. */
static inline void row_replay(struct deferred_rows *c, int64_t row, uint32_t now)
{
    uint32_t seen = __atomic_load_n(&c->stamp[row], __ATOMIC_RELAXED);
    if (seen != BUSY && (int32_t)(now - seen) <= 0)
        return;
    uint32_t from = row_take(c, row);
    int32_t steps = (int32_t)(now - from);
    if (steps > 0 && steps < (int32_t)DEFERRED_HISTORY)
        row_flush(c, row, from, (uint32_t)steps, NULL);
    row_give(c, row, steps < 0 ? from : now); /* another thread may have brought it further */
}

/* Rows of a batch, shared with the thread pool: a row is computed by the thread that has its
 * stamp. */
struct rows_of_step {
    struct deferred_rows *c;
    const struct rule_step *rule_step;
    uint32_t step; /* the one that begins; or the one that rows are brought up to */
    const int64_t *ids;
    const float *g;
};

#define BATCH_PIECE 512

static void batch_replay(void *arg, int64_t first, int64_t end)
{
    const struct rows_of_step *b = arg;
    struct deferred_rows *c = b->c;
    const int64_t *ids = b->ids;
    uint32_t now = b->step;
    for (int64_t i = first, n = end; i < n; i++) {
        if (i + 2 * AHEAD < n && (uint64_t)ids[i + 2 * AHEAD] < (uint64_t)c->rows)
            __builtin_prefetch(&c->stamp[ids[i + 2 * AHEAD]], 1);
        if (i + AHEAD < n && (uint64_t)ids[i + AHEAD] < (uint64_t)c->rows &&
            __atomic_load_n(&c->stamp[ids[i + AHEAD]], __ATOMIC_RELAXED) != now)
            row_fetch(c, ids[i + AHEAD]);
        if ((uint64_t)ids[i] < (uint64_t)c->rows)
            row_replay(c, ids[i], now);
    }
}

void deferred_rows(struct deferred_rows *c, const int64_t *ids, size_t n)
{
    uint32_t now = __atomic_load_n(&c->now, __ATOMIC_ACQUIRE);
    if (now == __atomic_load_n(&c->floor, __ATOMIC_ACQUIRE))
        return;
    struct rows_of_step b = {.c = c, .step = now, .ids = ids};
    thread_pool_split((int64_t)n, BATCH_PIECE, batch_replay, &b);
}

static void all_locked(struct deferred_rows *c)
{
    uint32_t now = c->now;
    if (c->floor == now)
        return;
    for (int64_t r = 0; r < c->rows; r++)
        row_replay(c, r, now);
    if (!c->is_window)
        __atomic_store_n(&c->floor, now, __ATOMIC_RELEASE);
}

void deferred_all(struct deferred_rows *c)
{
    pthread_mutex_lock(&c->lock);
    all_locked(c);
    shown_reset(&c->shown); /* what was shown is what rows are now */
    pthread_mutex_unlock(&c->lock);
}

/* ---- rows shown to readers ---- */

static size_t row_floats(const struct deferred_rows *c)
{
    return (size_t)(1 + c->rule->states) * (size_t)c->width;
}

/* The arrays of a row: the parameter, then the states; NULL: the rule works without this state. */
static void row_arrays(const struct deferred_rows *c, int64_t row, float *out[1 + RULE_MAX_STATES])
{
    size_t at = (size_t)row * (size_t)c->width;
    out[0] = c->p + at;
    for (int i = 0; i < c->rule->states; i++)
        out[1 + i] = c->state[i] ? c->state[i] + at : NULL;
}

/* Between the row and its copy. */
static void row_copy(const struct deferred_rows *c, int64_t row, float *copy, bool back)
{
    float *arrays[1 + RULE_MAX_STATES];
    size_t bytes = (size_t)c->width * sizeof(float);
    row_arrays(c, row, arrays);
    for (int i = 0; i <= c->rule->states; i++, copy += c->width)
        if (arrays[i])
            memcpy(back ? arrays[i] : copy, back ? copy : arrays[i], bytes);
}

static uint64_t row_hash(const struct deferred_rows *c, int64_t row)
{
    float *arrays[1 + RULE_MAX_STATES];
    uint64_t hash = 0;
    row_arrays(c, row, arrays);
    for (int i = 0; i <= c->rule->states; i++)
        if (arrays[i])
            hash = hash_xxh3(arrays[i], (size_t)c->width * sizeof(float), hash);
    return hash;
}

/* A chunk with space for one more row; NULL: no memory. */
static struct shown_chunk *shown_space(struct deferred_rows *c)
{
    struct shown_chunk *k = c->shown.first;
    size_t bytes;
    void *p;
    if (k && k->n < SHOWN_CHUNK)
        return k;
    k = c->spare;
    c->spare = NULL;
    if (!k) {
        if (!mem_mul(SHOWN_CHUNK * sizeof(float), row_floats(c), &bytes) ||
            !mem_add(bytes, sizeof *k, &bytes) ||
            mem_alloc(bytes, "rows shown to readers", &p, NULL) < 0)
            return NULL;
        k = p;
    }
    k->next = c->shown.first;
    k->n = 0;
    c->shown.first = k;
    return k;
}

static void row_show(struct deferred_rows *c, int64_t row, uint32_t now)
{
    uint32_t seen = __atomic_load_n(&c->stamp[row], __ATOMIC_RELAXED);
    if (seen != BUSY && (int32_t)(now - seen) <= 0)
        return;
    uint32_t from = row_take(c, row);
    int32_t steps = (int32_t)(now - from);
    if (steps > 0 && steps < (int32_t)DEFERRED_HISTORY) {
        struct shown_chunk *k = shown_space(c);
        if (k)
            row_copy(c, row, k->floats + k->n * row_floats(c), false);
        row_flush(c, row, from, (uint32_t)steps, NULL);
        if (k)
            k->rows[k->n++] = (struct shown_row){row, from, now, row_hash(c, row)};
    }
    row_give(c, row, steps < 0 ? from : now);
}

/* Rows of a window have other numbers in the next one, so they are not put back. */
void deferred_show_rows(struct deferred_rows *c, const int64_t *ids, size_t n)
{
    if (c->is_window)
        deferred_rows(c, ids, n);
    if (c->is_window || deferred_is_flushed(c))
        return;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)ids[i] < (uint64_t)c->rows)
            row_show(c, ids[i], c->now);
    pthread_mutex_unlock(&c->lock);
}

void deferred_show_all(struct deferred_rows *c)
{
    if (c->is_window)
        deferred_all(c);
    if (c->is_window || deferred_is_flushed(c))
        return;
    pthread_mutex_lock(&c->lock);
    for (int64_t r = 0; r < c->rows; r++)
        row_show(c, r, c->now);
    if (!c->shown.all)
        c->shown.floor = c->floor;
    c->shown.all = true;
    __atomic_store_n(&c->floor, c->now, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&c->lock);
}

static void chunk_put_back(struct deferred_rows *c, const struct shown_chunk *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct shown_row *r = &k->rows[i];
        uint32_t stamp = row_take(c, r->row);
        bool untouched = stamp == r->now && row_hash(c, r->row) == r->hash;
        if (untouched)
            row_copy(c, r->row, (float *)k->floats + i * row_floats(c), true);
        row_give(c, r->row, untouched ? r->stamp : stamp);
    }
}

/* Puts back the rows that nobody has changed since they were shown. */
static void shown_put_back(struct deferred_rows *c, struct shown *s)
{
    struct shown_chunk *last = s->first;
    if (!last)
        return;
    for (const struct shown_chunk *k = s->first; k; k = k->next)
        chunk_put_back(c, k);
    s->first = last->next;
    shown_reset(s);
    pthread_mutex_lock(&c->lock);
    struct shown_chunk *old = c->spare;
    c->spare = last;
    pthread_mutex_unlock(&c->lock);
    mem_free(old);
}

static void powers_extend(struct deferred_rows *c, uint32_t upto)
{
    for (; c->powers <= upto; c->powers++)
        for (int i = 0; i < c->rule->states; i++) {
            c->last_power[i] *= c->plan.base[i];
            c->power[i][c->powers] = (float)c->last_power[i];
        }
}

RULE_LOOP static void sums_add(size_t n, double rate, const double *restrict w,
                               double *restrict sums)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += rate * w[i];
}

/* Adds the step's rate to the sums of all stamps in its window (those from floor on). */
static void sums_record(struct deferred_rows *c, uint32_t step, float rate)
{
    size_t terms = (size_t)c->plan.terms;
    uint32_t span = step - c->floor;
    if (span > c->plan.window)
        span = c->plan.window;
    uint32_t first = step - span;
    while (first != step) {
        uint32_t run = DEFERRED_HISTORY - (first & MASK);
        if (run > step - first)
            run = step - first;
        const double *w = c->weights + (size_t)(c->plan.window - (step - first)) * terms;
        sums_add(run * terms, rate, w, c->sums + (size_t)(first & MASK) * terms);
        first += run;
    }
}

static uint32_t step_record_locked(struct deferred_rows *c, float rate)
{
    if (c->now - c->floor >= DEFERRED_HISTORY - 2)
        all_locked(c);
    uint32_t step = c->now + 1;
    powers_extend(c, step - c->floor);
    c->rates[step & MASK] = rate;
    if (c->plan.terms) {
        sums_record(c, step, rate);
        memset(c->sums + (size_t)(step & MASK) * (size_t)c->plan.terms, 0,
               (size_t)c->plan.terms * sizeof(double));
    }
    __atomic_store_n(&c->now, step, __ATOMIC_RELEASE);
    return step;
}

/* Returns the number of the step that begins now, and the rows to put back after it. When the step
 * flushes all rows, those that were shown are where they should be. */
static uint32_t step_record(struct deferred_rows *c, float rate, struct shown *out_shown)
{
    pthread_mutex_lock(&c->lock);
    *out_shown = c->shown;
    c->shown = (struct shown){0};
    if (out_shown->all)
        __atomic_store_n(&c->floor, out_shown->floor, __ATOMIC_RELEASE);
    uint32_t floor = c->floor;
    if (c->now + 1 == BUSY) /* no stamp: once in 2^32 steps states decay by one step more */
        (void)step_record_locked(c, 0);
    uint32_t step = step_record_locked(c, rate);
    if (c->floor != floor)
        shown_reset(out_shown);
    pthread_mutex_unlock(&c->lock);
    return step;
}

static void row_update(struct deferred_rows *c, const struct rule_step *s, uint32_t step,
                       int64_t row, const float *g)
{
    uint32_t from = row_take(c, row);
    int32_t missed = (int32_t)(step - 1 - from);
    if (missed > 0 && missed < (int32_t)DEFERRED_HISTORY)
        row_flush(c, row, from, (uint32_t)missed, &s->rate);
    size_t at = (size_t)row * (size_t)c->width;
    float *state[RULE_MAX_STATES] = {0};
    for (int i = 0; i < c->rule->states; i++)
        state[i] = c->state[i] ? c->state[i] + at : NULL;
    c->rule->apply(&c->params, s, (size_t)c->width, g, c->p + at, state);
    row_give(c, row, missed < -1 ? from : step);
}

static void batch_update(void *arg, int64_t first, int64_t end)
{
    const struct rows_of_step b = *(const struct rows_of_step *)arg;
    for (int64_t i = first; i < end; i++) {
        if (i + AHEAD < end) {
            __builtin_prefetch(&b.c->stamp[b.ids[i + AHEAD]], 1);
            row_fetch(b.c, b.ids[i + AHEAD]);
        }
        row_update(b.c, b.rule_step, b.step, b.ids[i], b.g + i * b.c->width);
    }
}

void deferred_step(struct deferred_rows *c, const struct rule_step *s, const int64_t *ids, size_t n,
                   const float *g)
{
    struct shown shown;
    /* before the step is recorded, as for rows that this process has read: the sums then are the
     * same bits for all ranks */
    deferred_rows(c, ids, n);
    uint32_t step = step_record(c, s->rate, &shown);
    struct rows_of_step b = {c, s, step, ids, g};
    thread_pool_split((int64_t)n, BATCH_PIECE, batch_update, &b);
    shown_put_back(c, &shown);
}

/* ---- moments ---- */

struct deferred_rows_state {
    const struct rule *rule;
    struct rule_params params;
    struct rule_plan plan;
    int64_t width;
    uint32_t now;
    float *rates, *power[RULE_MAX_STATES];
    double *sums;
};

static enum skiff_status copy_of(const void *from, size_t bytes, void *out, struct skiff_error *err)
{
    void *p;
    TRY(mem_alloc(bytes + !bytes, "the history of a moment", &p, err));
    if (bytes)
        memcpy(p, from, bytes);
    memcpy(out, &p, sizeof p);
    return SKIFF_OK;
}

static enum skiff_status rows_state_fill(const struct deferred_rows *c,
                                         struct deferred_rows_state *m, struct skiff_error *err)
{
    size_t terms = (size_t)c->plan.terms;
    TRY(copy_of(c->rates, DEFERRED_HISTORY * sizeof *m->rates, &m->rates, err));
    for (int i = 0; i < c->rule->states; i++)
        TRY(copy_of(c->power[i], c->powers * sizeof *m->power[i], &m->power[i], err));
    return terms ? copy_of(c->sums, DEFERRED_HISTORY * terms * sizeof *m->sums, &m->sums, err)
                 : SKIFF_OK;
}

enum skiff_status deferred_rows_state_create(struct deferred_rows *c,
                                             struct deferred_rows_state **out,
                                             struct skiff_error *err)
{
    struct deferred_rows_state *m = mem_alloc_or_die(sizeof *m);
    pthread_mutex_lock(&c->lock);
    *m = (struct deferred_rows_state){
        .rule = c->rule, .params = c->params, .plan = c->plan, .width = c->width, .now = c->now};
    enum skiff_status status = rows_state_fill(c, m, err);
    pthread_mutex_unlock(&c->lock);
    if (status < 0)
        deferred_rows_state_destroy(m);
    else
        *out = m;
    return status;
}

void deferred_rows_state_destroy(struct deferred_rows_state *m)
{
    if (!m)
        return;
    mem_free(m->rates);
    mem_free(m->sums);
    for (int i = 0; i < RULE_MAX_STATES; i++)
        mem_free(m->power[i]);
    free(m);
}

void deferred_rows_state_row(const struct deferred_rows_state *m, uint32_t stamp, float *p,
                             float *const *state)
{
    int32_t steps = (int32_t)(m->now - stamp);
    struct rule_gap gap = {.rates = m->rates, .first = stamp, .mask = MASK};
    if (steps <= 0 || steps >= (int32_t)DEFERRED_HISTORY)
        return;
    gap.steps = (uint32_t)steps;
    if (m->sums)
        gap.sums = m->sums + (size_t)(stamp & MASK) * (size_t)m->plan.terms;
    for (int i = 0; i < m->rule->states; i++)
        gap.power[i] = m->power[i][steps];
    m->rule->flush(&m->params, &m->plan, &gap, (size_t)m->width, p, state);
}

uint32_t deferred_stamp(const struct deferred_rows *c, int64_t row)
{
    uint32_t stamp;
    while ((stamp = __atomic_load_n(&c->stamp[row], __ATOMIC_ACQUIRE)) == BUSY)
        sched_yield();
    return stamp;
}

void deferred_arrays(const struct deferred_rows *c, const float *out[1 + RULE_MAX_STATES])
{
    out[0] = c->p;
    for (int i = 0; i < RULE_MAX_STATES; i++)
        out[1 + i] = i < c->rule->states ? c->state[i] : NULL;
}

bool deferred_sweeps_next(const struct deferred_rows *c)
{
    return __atomic_load_n(&c->now, __ATOMIC_ACQUIRE) -
               __atomic_load_n(&c->floor, __ATOMIC_ACQUIRE) >=
           DEFERRED_HISTORY - 2;
}

/* ---- windows ---- */

enum skiff_status deferred_window(struct deferred_rows *c, int64_t rows, uint32_t **out_stamps,
                                  struct skiff_error *err)
{
    bool far_too_large = c->stamps > DEFERRED_HISTORY && c->stamps / 8 > rows;
    if (rows > c->stamps || far_too_large) {
        int64_t capacity = rows + rows / 4 + 1024;
        void *fresh;
        TRY(mem_alloc((size_t)capacity * sizeof *c->stamp, "row stamps", &fresh, err));
        mem_free(c->stamp);
        c->stamp = fresh;
        c->stamps = capacity;
    }
    c->is_window = true;
    c->rows = rows;
    *out_stamps = c->stamp;
    return SKIFF_OK;
}

uint32_t deferred_row(struct deferred_rows *c, uint32_t stamp, float *p, float *const *state)
{
    int32_t steps = (int32_t)(c->now - stamp);
    if (steps > 0 && steps < (int32_t)DEFERRED_HISTORY)
        flush_at(c, stamp, (uint32_t)steps, NULL, p, state);
    return c->now;
}

uint32_t deferred_now(const struct deferred_rows *c)
{
    return __atomic_load_n(&c->now, __ATOMIC_ACQUIRE);
}

void deferred_set_flushed(struct deferred_rows *c)
{
    __atomic_store_n(&c->floor, c->now, __ATOMIC_RELEASE);
}
