/* Rows that are caught up against rows that are swept every step. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/thread_pool.h"
#include "rules/deferred.h"

enum { ROWS = 12, WIDTH = 10, CELLS = ROWS * WIDTH };

struct table { /* a parameter with its states */
    float cell[1 + RULE_MAX_STATES][CELLS];
    float scalar[2];
};

static uint32_t noise_state = 7;
static float noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (float)(noise_state >> 8) / (1 << 23) - 1;
}

static void table_start(struct table *t, bool states)
{
    memset(t, 0, sizeof *t);
    t->scalar[0] = 0.9f;
    t->scalar[1] = 0.999f;
    for (int i = 0; i < CELLS; i++) {
        t->cell[0][i] = noise();
        for (int j = 1; j <= RULE_MAX_STATES && states; j++)
            t->cell[j][i] = j == 2 || j == 1 ? fabsf(noise()) * 0.01f : 0.001f * noise();
    }
}

static void table_bind(struct table *t, float **p, float *state[RULE_MAX_STATES], int row)
{
    *p = t->cell[0] + row * WIDTH;
    for (int j = 0; j < RULE_MAX_STATES; j++)
        state[j] = t->cell[1 + j] + row * WIDTH;
}

/* As Paddle does it: every row, every step. */
static void sweep(const struct rule *rule, const struct rule_params *h, struct table *t, float lr,
                  const int64_t *ids, size_t n, const float *g)
{
    struct rule_step s;
    rule->begin(h, lr, true, t->scalar, &s);
    for (int r = 0; r < ROWS; r++) {
        float *p, *state[RULE_MAX_STATES];
        const float *mine = NULL;
        table_bind(t, &p, state, r);
        for (size_t i = 0; i < n; i++)
            if (ids[i] == r)
                mine = g + i * WIDTH;
        if (mine)
            rule->apply(h, &s, WIDTH, mine, p, state);
        else
            rule->idle(h, &s, WIDTH, p, state);
    }
}

static void assert_tables(const char *what, const struct rule *rule, const struct table *got,
                          const struct table *want, int row, double rtol)
{
    for (int j = 0; j <= rule->states; j++)
        for (int i = row < 0 ? 0 : row * WIDTH; i < (row < 0 ? CELLS : (row + 1) * WIDTH); i++) {
            double a = got->cell[j][i], b = want->cell[j][i];
            if (!(fabs(a - b) <= 1e-6 * (j == 0) + 1e-30 + rtol * fabs(b)))
                fail_msg("%s: %s, array %d, cell %d: got %.9g, expected %.9g", rule->name, what, j,
                         i, a, b);
        }
}

static float rate_at(int step)
{
    return 0.01f / (1 + 0.01f * (float)step) * (step % 97 == 5 ? 10 : 1);
}

static const struct trial {
    const char *what, *rule;
    struct rule_params h;
} trials[] = {
    {"usual", "adam", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f}},
    {"2.x", "adam", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .second_gen = true}},
    {"epsilon of the size of the root", "adam", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-3f}},
    {"large epsilon", "adam", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 0.1f}},
    {"other betas", "adam", {.beta1 = 0.5f, .beta2 = 0.8f, .epsilon = 0.01f}},
    {"many terms", "adam", {.beta1 = 0.95f, .beta2 = 0.99f, .epsilon = 1e-6f}},
    {"long memory", "adam", {.beta1 = 0.99f, .beta2 = 0.9999f, .epsilon = 1e-8f}},
    {"no first moment", "adam", {.beta1 = 0, .beta2 = 0.999f, .epsilon = 1e-8f}},
    {"plain", "momentum", {.mu = 0.9f, .rescale = 1}},
    {"nesterov", "momentum", {.mu = 0.9f, .rescale = 1, .nesterov = true}},
    {"heavy", "momentum", {.mu = 0.99f, .rescale = 1}},
    {"none", "momentum", {.mu = 0, .rescale = 1}},
    {"plain", "rmsprop", {.decay = 0.95f, .epsilon = 1e-6f}},
    {"with momentum", "rmsprop", {.decay = 0.95f, .epsilon = 1e-6f, .mu = 0.9f}},
    {"centered", "rmsprop", {.decay = 0.9f, .epsilon = 0.01f, .mu = 0.5f, .centered = true}},
    {"usual", "adamax", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f}},
    {"large epsilon", "adamax", {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-3f}},
};

/* Rows touched often, seldom, once and never; gaps from 1 to thousands; a read now and then. */
static size_t touched(int step, int64_t *ids)
{
    size_t n = 0;
    ids[n++] = 3;
    if (step % 7 == 0)
        ids[n++] = 1;
    if (step % 300 == 11)
        ids[n++] = 11;
    if (step == 20 || step == 5900)
        ids[n++] = 6;
    if (step == 30)
        ids[n++] = 0;
    return n;
}

static void run_trial(const struct trial *t, bool states, int steps)
{
    const struct rule *rule = rule_find(t->rule);
    struct table a, b;
    struct deferred_rows *c;
    struct skiff_error err;
    float *p, *state[RULE_MAX_STATES], g[ROWS * WIDTH];
    table_start(&a, states);
    b = a;
    assert_int_equal(deferred_create(rule, &t->h, ROWS, WIDTH, &c, &err), SKIFF_OK);
    table_bind(&a, &p, state, 0);
    deferred_bind(c, p, state);
    for (int step = 0; step < steps; step++) {
        int64_t ids[ROWS];
        size_t n = touched(step, ids);
        for (size_t i = 0; i < n * WIDTH; i++)
            g[i] = noise() * (step % 3 ? 1e-3f : 1);
        struct rule_step s;
        rule->begin(&t->h, rate_at(step), true, a.scalar, &s);
        deferred_step(c, &s, ids, n, g);
        sweep(rule, &t->h, &b, rate_at(step), ids, n, g);
        if (step % 1500 == 1499) {
            const int64_t read[] = {6, -1, 2, 6, ROWS, 11};
            deferred_rows(c, read, 6);
            assert_tables(t->what, rule, &a, &b, 6, 1e-4);
            assert_tables(t->what, rule, &a, &b, 11, 1e-4);
        }
    }
    assert_false(deferred_is_flushed(c));
    deferred_all(c);
    assert_true(deferred_is_flushed(c));
    assert_tables(t->what, rule, &a, &b, -1, 1e-4);
    struct table before = a;
    deferred_all(c);
    assert_memory_equal(&before, &a, sizeof a);
    deferred_destroy(c);
}

static void test_equals_sweeping(void **unused)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        run_trial(&trials[i], false, 6000);
        run_trial(&trials[i], true, 400);
    }
}

/* Every row has the same bits whichever thread computes it. */
enum { MANY = 4000 };

static void run_pooled(struct skiff_thread_pool *pool, float *table)
{
    struct rule_params h = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    float *g = malloc(MANY * WIDTH * sizeof *g), scalar[] = {0.9f, 0.999f};
    float *state[RULE_MAX_STATES] = {table + MANY * WIDTH, table + 2 * MANY * WIDTH};
    int64_t ids[MANY];
    struct deferred_rows *c;
    noise_state = 7;
    for (int i = 0; i < 3 * MANY * WIDTH; i++)
        table[i] = i < MANY * WIDTH ? noise() : 0;
    assert_int_equal(deferred_create(&rule_adam, &h, MANY, WIDTH, &c, NULL), SKIFF_OK);
    deferred_bind(c, table, state);
    thread_pool_use(pool);
    for (int step = 0; step < 12; step++) {
        size_t n = 0;
        struct rule_step s;
        for (int64_t row = step % 3; row < MANY; row += 1 + step % 3)
            ids[n++] = (row * 7) % MANY;
        for (size_t i = 0; i < n * WIDTH; i++)
            g[i] = noise();
        rule_adam.begin(&h, 0.1f, true, scalar, &s);
        deferred_step(c, &s, ids, n, g);
        for (int i = 0; i < MANY; i++) /* some rows twice */
            ids[i] = i * i % MANY;
        deferred_rows(c, ids, MANY);
    }
    deferred_all(c);
    thread_pool_use(NULL);
    deferred_destroy(c);
    free(g);
}

static void test_with_a_thread_pool(void **unused)
{
    struct skiff_thread_pool *pool = skiff_thread_pool_create(3);
    size_t bytes = 3 * MANY * WIDTH * sizeof(float);
    float *alone = malloc(bytes), *shared = malloc(bytes);
    run_pooled(NULL, alone);
    run_pooled(pool, shared);
    assert_memory_equal(alone, shared, bytes);
    skiff_thread_pool_destroy(pool);
    free(alone);
    free(shared);
}

/* ---- rows shown to readers ---- */

/* Two runs with the same gradients; only one is read in between. Readers see what sweeping gives,
 * and leave no trace in the bits of what follows. */
static void run_shown(const struct trial *t, int steps)
{
    const struct rule *rule = rule_find(t->rule);
    struct table read, quiet, swept;
    struct deferred_rows *c, *d;
    float *p, *state[RULE_MAX_STATES], g[ROWS * WIDTH];
    table_start(&read, true);
    quiet = swept = read;
    assert_int_equal(deferred_create(rule, &t->h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    assert_int_equal(deferred_create(rule, &t->h, ROWS, WIDTH, &d, NULL), SKIFF_OK);
    table_bind(&read, &p, state, 0);
    deferred_bind(c, p, state);
    table_bind(&quiet, &p, state, 0);
    deferred_bind(d, p, state);
    for (int step = 0; step < steps; step++) {
        int64_t ids[ROWS];
        struct rule_step s;
        size_t n = touched(step, ids);
        for (size_t i = 0; i < n * WIDTH; i++)
            g[i] = noise();
        if (step % 5 == 2)
            deferred_show_rows(c, (const int64_t[]){11, -1, 1, 11, ROWS, 3}, 6);
        if (step % 50 == 7 || deferred_sweeps_next(c))
            deferred_show_all(c);
        if (step % 50 == 7 && step < 400)
            assert_tables(t->what, rule, &read, &swept, -1, 1e-4);
        rule->begin(&t->h, rate_at(step), true, quiet.scalar, &s);
        deferred_step(c, &s, ids, n, g);
        deferred_step(d, &s, ids, n, g);
        if (step < 400)
            sweep(rule, &t->h, &swept, rate_at(step), ids, n, g);
    }
    deferred_show_all(c);
    deferred_all(d);
    assert_memory_equal(read.cell, quiet.cell, sizeof quiet.cell);
    deferred_destroy(c);
    deferred_destroy(d);
}

static void test_shown_rows(void **unused)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        run_shown(&trials[i], i == 0 ? DEFERRED_HISTORY + 500 : 600);
}

/* What is written to a row that was shown stays; flushing forgets what was before. */
static void test_shown_rows_that_are_written(void **unused)
{
    const struct rule_params h = {.mu = 0.9f, .rescale = 1};
    struct table a, before;
    struct deferred_rows *c;
    struct rule_step s;
    float *p, *state[RULE_MAX_STATES], g[WIDTH] = {0};
    table_start(&a, true);
    before = a;
    assert_int_equal(deferred_create(&rule_momentum, &h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    table_bind(&a, &p, state, 0);
    deferred_bind(c, p, state);
    rule_momentum.begin(&h, 0.01f, true, a.scalar, &s);
    deferred_step(c, &s, (const int64_t[]){3}, 1, g);
    deferred_show_all(c);
    assert_true(a.cell[0][5 * WIDTH] != before.cell[0][5 * WIDTH]);
    a.cell[0][5 * WIDTH] = 42;
    float velocity = a.cell[1][5 * WIDTH];
    deferred_step(c, &s, (const int64_t[]){3}, 1, g);
    assert_true(a.cell[0][5 * WIDTH] == 42 && a.cell[1][5 * WIDTH] == velocity);
    assert_true(a.cell[0][6 * WIDTH] == before.cell[0][6 * WIDTH]); /* back where it was */
    assert_true(a.cell[1][6 * WIDTH] == before.cell[1][6 * WIDTH]);
    deferred_show_all(c);
    deferred_all(c);
    float flushed = a.cell[0][6 * WIDTH];
    deferred_step(c, &s, (const int64_t[]){3}, 1, g);
    assert_true(a.cell[0][6 * WIDTH] == flushed);
    deferred_destroy(c);
}

/* ---- windows ---- */

struct far { /* rows with their stamps, of which the deferred rows are a few at a time */
    struct table rows;
    uint32_t stamp[ROWS];
};

static void far_flush(struct deferred_rows *c, struct far *f, int row)
{
    float *p, *state[RULE_MAX_STATES];
    table_bind(&f->rows, &p, state, row);
    f->stamp[row] = deferred_row(c, f->stamp[row], p, state);
}

static void far_step(struct deferred_rows *c, struct far *f, const struct rule_step *s,
                     const int64_t *ids, size_t n, const float *g)
{
    struct table window;
    float *p, *state[RULE_MAX_STATES];
    int64_t numbers[ROWS];
    uint32_t *stamps;
    assert_int_equal(deferred_window(c, (int64_t)n, &stamps, NULL), SKIFF_OK);
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j <= RULE_MAX_STATES; j++)
            memcpy(window.cell[j] + i * WIDTH, f->rows.cell[j] + ids[i] * WIDTH,
                   WIDTH * sizeof(float));
        stamps[i] = f->stamp[ids[i]];
        numbers[i] = (int64_t)i;
    }
    table_bind(&window, &p, state, 0);
    deferred_bind(c, p, state);
    deferred_step(c, s, numbers, n, g);
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j <= RULE_MAX_STATES; j++)
            memcpy(f->rows.cell[j] + ids[i] * WIDTH, window.cell[j] + i * WIDTH,
                   WIDTH * sizeof(float));
        f->stamp[ids[i]] = deferred_stamp(c, (int64_t)i);
    }
}

/* The same bits as rows that are all there all the time, over a full history, too. */
static void run_windows(const struct trial *t, int steps)
{
    const struct rule *rule = rule_find(t->rule);
    struct table near;
    struct far far = {0};
    struct deferred_rows *c, *few;
    float *p, *state[RULE_MAX_STATES], g[ROWS * WIDTH];
    table_start(&near, true);
    far.rows = near;
    assert_int_equal(deferred_create(rule, &t->h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    assert_int_equal(deferred_create(rule, &t->h, 1, WIDTH, &few, NULL), SKIFF_OK);
    table_bind(&near, &p, state, 0);
    deferred_bind(c, p, state);
    for (int step = 0; step < steps; step++) {
        int64_t ids[ROWS];
        struct rule_step s;
        size_t n = touched(step, ids);
        for (size_t i = 0; i < n * WIDTH; i++)
            g[i] = noise();
        rule->begin(&t->h, rate_at(step), true, near.scalar, &s);
        assert_int_equal(deferred_sweeps_next(c), deferred_sweeps_next(few));
        for (int r = 0; deferred_sweeps_next(few) && r < ROWS; r++)
            far_flush(few, &far, r);
        if (deferred_sweeps_next(few))
            deferred_set_flushed(few);
        deferred_step(c, &s, ids, n, g);
        far_step(few, &far, &s, ids, n, g);
        if (step % 500 == 499) {
            deferred_rows(c, (const int64_t[]){11}, 1);
            far_flush(few, &far, 11);
        }
        deferred_all(few); /* flushes what it sees; that is not all */
        assert_false(deferred_is_flushed(few));
    }
    assert_int_equal(deferred_now(few), (uint32_t)steps);
    deferred_all(c);
    for (int r = 0; r < ROWS; r++)
        far_flush(few, &far, r);
    assert_memory_equal(near.cell, far.rows.cell, sizeof near.cell);
    deferred_destroy(c);
    deferred_destroy(few);
}

static void test_windows(void **unused)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        run_windows(&trials[i], i == 0 ? DEFERRED_HISTORY + 500 : 600);
}

/* Rows whose states are zero stay as they are, bit for bit, however long they wait. */
static void test_untouched_rows_stay(void **unused)
{
    const struct rule_params h = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    struct table a, start;
    struct deferred_rows *c;
    float *p, *state[RULE_MAX_STATES], g[WIDTH];
    table_start(&a, false);
    start = a;
    assert_int_equal(deferred_create(&rule_adam, &h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    table_bind(&a, &p, state, 0);
    deferred_bind(c, p, state);
    for (int step = 0; step < 1000; step++) {
        int64_t id = 4;
        struct rule_step s;
        for (int i = 0; i < WIDTH; i++)
            g[i] = noise();
        rule_adam.begin(&h, 0.01f, true, a.scalar, &s);
        deferred_step(c, &s, &id, 1, g);
    }
    deferred_all(c);
    for (int r = 0; r < ROWS; r++)
        if (r != 4)
            assert_memory_equal(a.cell[0] + r * WIDTH, start.cell[0] + r * WIDTH,
                                WIDTH * sizeof(float));
    assert_memory_not_equal(a.cell[0] + 4 * WIDTH, start.cell[0] + 4 * WIDTH,
                            WIDTH * sizeof(float));
    deferred_destroy(c);
}

/* Longer than the history: all rows are flushed on the way. Arrays may move while nothing is
 * deferred. */
static void test_long_run_and_moved_arrays(void **unused)
{
    const struct rule_params h = {.mu = 0.9f, .rescale = 1};
    struct table a, b, moved;
    struct deferred_rows *c;
    float *p, *state[RULE_MAX_STATES], g[WIDTH];
    table_start(&a, true);
    b = a;
    assert_int_equal(deferred_create(&rule_momentum, &h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    table_bind(&a, &p, state, 0);
    deferred_bind(c, p, state);
    struct table *now = &a;
    int steps = 2 * (int)DEFERRED_HISTORY + 100;
    for (int step = 0; step < steps; step++) {
        int64_t id = step % 1000 == 1 ? 2 : 5;
        struct rule_step s;
        for (int i = 0; i < WIDTH; i++)
            g[i] = noise() * 1e-2f;
        rule_momentum.begin(&h, 0.01f, true, now->scalar, &s);
        deferred_step(c, &s, &id, 1, g);
        sweep(&rule_momentum, &h, &b, 0.01f, &id, 1, g);
        if (step == (int)DEFERRED_HISTORY + 500) {
            deferred_all(c);
            moved = a;
            memset(&a, 0xff, sizeof a);
            now = &moved;
            table_bind(now, &p, state, 0);
            deferred_bind(c, p, state);
        }
    }
    deferred_all(c);
    for (int i = 0; i < CELLS; i++)
        if (!(fabsf(now->cell[0][i] - b.cell[0][i]) < 1e-4f))
            fail_msg("cell %d: got %.9g, expected %.9g", i, now->cell[0][i], b.cell[0][i]);
    deferred_destroy(c);
}

/* Floats and stamps of a version, brought to it later: the bits that a flush then gave. */
static void test_moments(void **unused)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const struct rule *rule = rule_find(trials[i].rule);
        struct table a, then, flushed;
        struct deferred_rows *c;
        struct deferred_rows_state *m = NULL;
        uint32_t stamps[ROWS];
        float *p, *state[RULE_MAX_STATES], g[ROWS * WIDTH];
        table_start(&a, true);
        assert_int_equal(deferred_create(rule, &trials[i].h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
        table_bind(&a, &p, state, 0);
        deferred_bind(c, p, state);
        for (int step = 0; step < 900; step++) {
            int64_t ids[ROWS];
            size_t n = touched(step, ids);
            struct rule_step s;
            for (size_t k = 0; k < n * WIDTH; k++)
                g[k] = noise() * 1e-2f;
            rule->begin(&trials[i].h, rate_at(step), true, a.scalar, &s);
            deferred_step(c, &s, ids, n, g);
            if (step != 500)
                continue;
            then = a;
            for (int r = 0; r < ROWS; r++)
                stamps[r] = deferred_stamp(c, r);
            assert_int_equal(deferred_rows_state_create(c, &m, NULL), SKIFF_OK);
            deferred_all(c);
            flushed = a;
        }
        assert_memory_not_equal(&then, &flushed, sizeof then);
        for (int r = 0; r < ROWS; r++) {
            table_bind(&then, &p, state, r);
            deferred_rows_state_row(m, stamps[r], p, state);
        }
        assert_memory_equal(then.cell, flushed.cell, sizeof then.cell);
        deferred_rows_state_destroy(m);
        deferred_destroy(c);
    }
}

static void test_refusals(void **unused)
{
    struct deferred_rows *c;
    struct skiff_error err;
    const struct rule_params l2 = {.mu = 0.9f, .rescale = 1, .l2 = 0.1f};
    const struct rule_params forever = {.mu = 1, .rescale = 1};
    assert_int_equal(deferred_create(&rule_momentum, &l2, 2, 2, &c, &err), SKIFF_UNSUPPORTED);
    assert_int_equal(deferred_create(&rule_momentum, &forever, 2, 2, &c, &err), SKIFF_UNSUPPORTED);
    assert_int_equal(deferred_create(&rule_sgd, &l2, 2, 2, &c, &err), SKIFF_UNSUPPORTED);
    const struct rule_params h = {.mu = 0.9f, .rescale = 1};
    assert_int_equal(deferred_create(&rule_momentum, &h, 2, 3, &c, &err), SKIFF_OK);
    assert_true(deferred_fits(c, &rule_momentum, &h, 2, 3));
    assert_false(deferred_fits(c, &rule_momentum, &h, 3, 3));
    assert_false(deferred_fits(c, &rule_momentum, &forever, 2, 3));
    assert_false(deferred_fits(c, &rule_adam, &h, 2, 3));
    deferred_destroy(c);
}

/* Threads that step, read and flush at once: nothing crashes, and rows end where they belong. */
struct crowd {
    struct deferred_rows *c;
    int who;
};

static void *crowd_run(void *arg)
{
    struct crowd *me = arg;
    const struct rule_params h = {.mu = 0.9f, .rescale = 1};
    float g[WIDTH] = {0};
    for (int step = 0; step < 2000; step++) {
        int64_t ids[] = {me->who, 4 + step % 8};
        struct rule_step s;
        rule_momentum.begin(&h, 1e-3f, true, NULL, &s);
        deferred_rows(me->c, ids, 2);
        deferred_step(me->c, &s, ids, 1, g);
        if (step % 500 == 499)
            deferred_all(me->c);
    }
    return NULL;
}

static void test_threads(void **unused)
{
    const struct rule_params h = {.mu = 0.9f, .rescale = 1};
    struct table a, start;
    struct deferred_rows *c;
    float *p, *state[RULE_MAX_STATES];
    pthread_t thread[4];
    struct crowd crowd[4];
    table_start(&a, true);
    start = a;
    assert_int_equal(deferred_create(&rule_momentum, &h, ROWS, WIDTH, &c, NULL), SKIFF_OK);
    table_bind(&a, &p, state, 0);
    deferred_bind(c, p, state);
    for (int i = 0; i < 4; i++) {
        crowd[i] = (struct crowd){c, i};
        assert_int_equal(pthread_create(&thread[i], NULL, crowd_run, &crowd[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    deferred_all(c);
    /* without gradients a row goes lr * v * (mu + mu^2 + ...) in all, whoever moves it */
    for (int i = 4 * WIDTH; i < CELLS; i++) {
        float want = start.cell[0][i] - 1e-3f * start.cell[1][i] * 9;
        if (!(fabsf(a.cell[0][i] - want) < 1e-5f))
            fail_msg("cell %d: got %.9g, expected %.9g", i, a.cell[0][i], want);
    }
    deferred_destroy(c);
}

/* Two threads that update the same new rows at the same time: a new m beside a v that is still 0
 * would be a jump of m / epsilon. */
enum { NEW_ROWS = 128000, NEW_BATCH = 64 };

static struct new_rows {
    struct deferred_rows *c;
    pthread_barrier_t together;
} new_rows;

static void *new_rows_run(void *arg)
{
    struct new_rows *n = arg;
    float g[NEW_BATCH * WIDTH];
    int64_t ids[NEW_BATCH];
    const struct rule_step s = {.lr = 1e-3f, .rate = 1e-3f, .epsilon = 1e-8f};
    for (int i = 0; i < NEW_BATCH * WIDTH; i++)
        g[i] = 0.01f;
    for (int64_t first = 0; first < NEW_ROWS; first += NEW_BATCH) {
        for (int i = 0; i < NEW_BATCH; i++)
            ids[i] = first + i;
        pthread_barrier_wait(&n->together);
        deferred_rows(n->c, ids, NEW_BATCH);
        deferred_step(n->c, &s, ids, NEW_BATCH, g);
    }
    return NULL;
}

static void test_new_rows_of_two_threads(void **unused)
{
    const struct rule_params params = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    const size_t cells = (size_t)NEW_ROWS * WIDTH;
    struct skiff_error err;
    pthread_t thread[2];
    pthread_barrier_init(&new_rows.together, NULL, 2);
    for (int turn = 0; turn < 5; turn++) {
        float *all = calloc(3 * cells, sizeof *all);
        assert_non_null(all);
        float *state[RULE_MAX_STATES] = {all + cells, all + 2 * cells};
        assert_int_equal(
            deferred_create(rule_find("adam"), &params, NEW_ROWS, WIDTH, &new_rows.c, &err),
            SKIFF_OK);
        deferred_bind(new_rows.c, all, state);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, new_rows_run, &new_rows), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        deferred_all(new_rows.c);
        for (size_t i = 0; i < cells; i++)
            if (!(fabsf(all[i]) < 0.1f))
                fail_msg("cell %zu jumped to %g", i, all[i]);
        deferred_destroy(new_rows.c);
        free(all);
    }
    pthread_barrier_destroy(&new_rows.together);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_sweeping),
        cmocka_unit_test(test_with_a_thread_pool),
        cmocka_unit_test(test_untouched_rows_stay),
        cmocka_unit_test(test_long_run_and_moved_arrays),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_shown_rows),
        cmocka_unit_test(test_shown_rows_that_are_written),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_new_rows_of_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
