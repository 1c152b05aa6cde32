/* The modes without barriers, one formula at a time; and hash-backed embeddings. */
#include <math.h>

#include "server/members.h"
#include "server/server_fixture_test.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"
#include "store/tensor_file.h"

static float at(const struct skiff_tensor *v, int i)
{
    return tensor_f32(&v->tensor)[i];
}

static struct fixture_options mode_options(int servers, int trainers, enum skiff_split_mode mode)
{
    return (struct fixture_options){
        .servers = servers, .trainers = trainers, .config = split_config_fleet(mode)};
}

/* ---- async, half-async ---- */

static void pushes_are_applied_as_they_come(void **state)
{
    static const enum skiff_split_mode modes[] = {SKIFF_SPLIT_ASYNC, SKIFF_SPLIT_HALF_ASYNC};
    for (int m = 0; m < 2; m++) {
        struct server_fixture k;
        struct fixture_options o = mode_options(3, 1, modes[m]);
        struct fixture_trainer t;
        struct grads g = {0};
        fixture_open(&k, &o);
        trainer_start(&t, &k, 0, 3);
        trainer_join(&t);
        fixture_join(&k, SKIFF_OK);
        for (int s = 0; s < 3; s++) {
            grads_init(&g, 0, s);
            for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++)
                tensor_f32(&t.first->w.tensor)[i] -= at(&g.w, i);
            for (int i = 0; i < FC_WIDTH; i++)
                tensor_f32(&t.first->b.tensor)[i] -= at(&g.b, i);
            for (int i = 0; i < g.nids * EMB_WIDTH; i++)
                t.first->emb[g.emb.sel.rows[i / EMB_WIDTH] * EMB_WIDTH + i % EMB_WIDTH] -=
                    at(&g.emb, i);
        }
        assert_true(params_same(t.first, t.last));
        grads_deinit(&g);
        trainer_deinit(&t);
        fixture_close(&k);
    }
}

static void push_counter(struct server_fixture *k, struct session *s, int trainer, int64_t by)
{
    struct skiff_tensor v = {0};
    struct shape one = SHAPE(1);
    struct skiff_error err;
    char name[64];
    struct session_push push[FIXTURE_MAX];
    const char *names[1] = {name};
    value_as_tensor(&v, DTYPE_INT64, &one, NULL);
    *tensor_i64(&v.tensor) = by;
    snprintf(name, sizeof name, "@LR_DECAY_COUNTER@.trainer_%d", trainer);
    for (int i = 0; i < k->o.servers; i++)
        push[i] = (struct session_push){
            .to = {.origin = name, .n = 1, .names = names, .endpoints = &k->endpoints[i]}, .x = &v};
    assert_ok(session_exchange(s, 0, 0, push, k->o.servers, NULL, 0, &err), err);
    value_deinit(&v);
}

/* The rate is 0.5 to the power of the sum of all trainers' counters, which start at 1. */
static void rates_follow_the_counters(void **state)
{
    struct server_fixture k;
    struct fixture_options o = mode_options(2, 2, SKIFF_SPLIT_ASYNC);
    struct session *s[2];
    struct params *p = mem_alloc_or_die(sizeof *p);
    struct grads g = {0};
    struct skiff_error err;
    o.decay = true;
    fixture_open(&k, &o);
    for (int i = 0; i < 2; i++)
        s[i] = fixture_session(&k, i);
    fixture_pull(&k, s[0], p);
    float expected = at(&p->b, 7), w = at(&p->w, 30000), rates[] = {0.25f, 0.125f, 0.03125f};
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            push_counter(&k, s[0], 0, 1);
        if (step == 2)
            push_counter(&k, s[1], 1, 2);
        grads_init(&g, 0, step);
        assert_ok(fixture_exchange(&k, s[step % 2], 0, 0, &g, p, &err), err);
        expected -= rates[step] * at(&g.b, 7);
        w -= rates[step] * at(&g.w, 30000);
        assert_float_equal(at(&p->b, 7), expected, 1e-6);
        assert_float_equal(at(&p->w, 30000), w, 1e-6);
    }
    for (int i = 0; i < 2; i++)
        session_close(s[i]);
    fixture_join(&k, SKIFF_OK);
    grads_deinit(&g);
    params_destroy(p);
    fixture_close(&k);
}

/* g + (w - w_pulled) g g, where w_pulled is that trainer's last pull: dense and rows. */
static void delays_are_compensated(void **state)
{
    struct server_fixture k;
    struct fixture_options o = {.servers = 2, .trainers = 2, .config = split_config_default()};
    struct session *s[2];
    struct params *p = mem_alloc_or_die(sizeof *p), *q = mem_alloc_or_die(sizeof *q);
    struct grads g[2] = {0};
    struct skiff_error err;
    o.config.sync_mode = false;
    o.config.enable_dc_asgd = true;
    fixture_open(&k, &o);
    for (int i = 0; i < 2; i++) {
        s[i] = fixture_session(&k, i);
        grads_init(&g[i], i, 0);
        fixture_pull(&k, s[i], p);
    }
    /* the same rows, so that the second push meets the first one */
    memcpy(g[1].emb.sel.rows, g[0].emb.sel.rows, 20 * sizeof(int64_t));
    for (int i = 0; i < 2; i++)
        assert_ok(fixture_exchange(&k, s[i], 0, 0, &g[i], NULL, &err), err);
    fixture_pull(&k, s[0], q);
    for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++) {
        float w0 = at(&p->w, i), a = at(&g[0].w, i), b = at(&g[1].w, i), w1 = w0 - a;
        assert_float_equal(at(&q->w, i), w1 - (b + (w1 - w0) * b * b), 1e-6);
    }
    for (int i = 0; i < 20 * EMB_WIDTH; i++) {
        int64_t j = g[0].emb.sel.rows[i / EMB_WIDTH] * EMB_WIDTH + i % EMB_WIDTH;
        float w0 = p->emb[j], a = at(&g[0].emb, i), b = at(&g[1].emb, i), w1 = w0 - a;
        assert_float_equal(q->emb[j], w1 - (b + (w1 - w0) * b * b), 1e-6);
    }
    /* trainer 0 has pulled since: its next gradient is taken as it is */
    assert_ok(fixture_exchange(&k, s[0], 0, 0, &g[0], NULL, &err), err);
    fixture_pull(&k, s[1], p);
    assert_float_equal(at(&p->b, 3), at(&q->b, 3) - at(&g[0].b, 3), 1e-6);
    for (int i = 0; i < 2; i++) {
        session_close(s[i]);
        grads_deinit(&g[i]);
    }
    fixture_join(&k, SKIFF_OK);
    params_destroy(p);
    params_destroy(q);
    fixture_close(&k);
}

/* ---- GEO ---- */

static void pull_changed(struct server_fixture *k, struct session *s, const int64_t *ids, size_t n,
                         const struct params *before, const struct skiff_tensor *delta)
{
    struct fixture_slices e;
    int64_t *got;
    float *rows;
    size_t count;
    struct skiff_error err;
    fixture_slices(k, "emb", "", false, &e);
    assert_ok(session_pull_changed(s, &e.s, EMB_WIDTH, &got, &rows, &count, &err), err);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < n && got[j] != ids[i])
            j++;
        assert_true(j < n);
        for (int c = 0; c < EMB_WIDTH; c++)
            assert_float_equal(
                rows[j * EMB_WIDTH + (size_t)c],
                before->emb[ids[i] * EMB_WIDTH + c] + at(delta, (int)i * EMB_WIDTH + c), 1e-6);
    }
    free(got);
    free(rows);
}

static void geo_adds_and_reports_what_changed(void **state)
{
    struct server_fixture k;
    struct fixture_options o = mode_options(3, 2, SKIFF_SPLIT_GEO);
    struct session *s[2];
    struct params *p = mem_alloc_or_die(sizeof *p), *q = mem_alloc_or_die(sizeof *q);
    struct grads g = {0};
    struct skiff_error err;
    fixture_open(&k, &o);
    for (int i = 0; i < 2; i++)
        s[i] = fixture_session(&k, i);
    fixture_pull(&k, s[0], p);
    pull_changed(&k, s[0], NULL, 0, p, NULL);
    grads_init(&g, 0, 0);
    assert_ok(fixture_exchange(&k, s[0], 0, 0, &g, NULL, &err), err);
    fixture_pull(&k, s[1], q);
    for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++)
        assert_float_equal(at(&q->w, i), at(&p->w, i) + at(&g.w, i), 1e-6);
    for (int i = 0; i < 2; i++) /* each of them once, for the sender too */
        pull_changed(&k, s[i], g.emb.sel.rows, 20, p, &g.emb);
    for (int i = 0; i < 2; i++)
        pull_changed(&k, s[i], NULL, 0, p, NULL);
    for (int i = 0; i < 2; i++)
        session_close(s[i]);
    fixture_join(&k, SKIFF_OK);
    grads_deinit(&g);
    params_destroy(p);
    params_destroy(q);
    fixture_close(&k);
}

/* ---- hash-backed embeddings ---- */

static void pull_ids(struct server_fixture *k, struct session *s, const int64_t *ids, size_t n,
                     float *out)
{
    struct fixture_slices e;
    struct skiff_error err;
    fixture_modulo(k, "emb", "", &e);
    assert_ok(session_pull_rows(s, &e.s, ids, n, EMB_WIDTH, out, &err), err);
}

static const int64_t far_ids[4] = {INT64_MAX, 5000000001, -7, 3};

/* ---- GEO: which trainers get changed rows ---- */

static const int64_t near_ids[4] = {0, 5, 1000, 1699};

/* One server, trainers that join and leave; rows of tensors or, distributed, rows by id. */
struct geo_job {
    struct server_fixture k;
    struct session *s[2];
    struct fixture_slices table;
    struct skiff_tensor delta; /* of four rows, each number 1 */
};

static void geo_begin(struct geo_job *g, bool distributed)
{
    struct fixture_options o = mode_options(1, 2, SKIFF_SPLIT_GEO);
    struct skiff_error err;
    o.distributed = distributed;
    *g = (struct geo_job){0};
    fixture_open(&g->k, &o);
    for (int i = 0; i < 2; i++)
        g->s[i] = fixture_session(&g->k, i);
    fixture_modulo(&g->k, "emb", "", &g->table);
    g->table.s.modulo = distributed;
    assert_ok(value_as_rows(&g->delta, DTYPE_FP32, 4, EMB_WIDTH, distributed ? 0 : EMB_ROWS, &err),
              err);
    memcpy(g->delta.sel.rows, distributed ? far_ids : near_ids, sizeof far_ids);
    for (int i = 0; i < 4 * EMB_WIDTH; i++)
        tensor_f32(&g->delta.tensor)[i] = 1;
}

static void geo_end(struct geo_job *g)
{
    for (int i = 0; i < 2; i++)
        session_close(g->s[i]);
    fixture_join(&g->k, SKIFF_OK);
    value_deinit(&g->delta);
    fixture_close(&g->k);
}

static void geo_push(struct geo_job *g, int trainer)
{
    struct fixture_slices to = g->table;
    const char *name = "emb.delta";
    int64_t section = EMB_ROWS;
    struct skiff_error err;
    to.s.names = &name;
    to.s.sections = g->k.o.distributed ? NULL : &section;
    struct session_push push = {.to = to.s, .x = &g->delta};
    assert_ok(session_exchange(g->s[trainer], 0, 0, &push, 1, NULL, 0, &err), err);
}

/* The number of rows noted for a trainer, and whether memory for more is allocated. */
static size_t geo_noted(struct geo_job *g, int trainer, bool *capacity)
{
    struct server *s = g->k.server[0];
    struct param_slice *u = str_map_get(&s->by_var, "emb");
    struct server_shard *h = slice_shard(s, u);
    pthread_mutex_lock(&h->lock);
    size_t n = u->table ? u->news[trainer].n : u->changed[trainer].n;
    *capacity = u->table ? u->news[trainer].ids != NULL : u->changed[trainer].rows != NULL;
    pthread_mutex_unlock(&h->lock);
    return n;
}

static void geo_await_nothing_noted(struct geo_job *g, int trainer)
{
    bool capacity;
    int64_t until = clock_after(clock_now(), 20000);
    while (geo_noted(g, trainer, &capacity) || capacity) {
        assert_true(clock_now() < until);
        usleep(1000);
    }
}

/* Notes for a trainer that has gone are freed, without a push, and no more are added. */
static void notes_end_with_their_trainer(bool distributed, bool dies)
{
    struct geo_job g;
    struct skiff_error err;
    bool capacity;
    geo_begin(&g, distributed);
    geo_push(&g, 0);
    assert_int_equal(geo_noted(&g, 1, &capacity), 4);
    if (dies)
        session_abandon(g.s[1], "was killed");
    else
        assert_ok(session_leave(g.s[1], &err), err);
    geo_await_nothing_noted(&g, 1);
    geo_push(&g, 0);
    assert_int_equal(geo_noted(&g, 0, &capacity), 4);
    assert_int_equal(geo_noted(&g, 1, &capacity), 0);
    assert_false(capacity);
    geo_end(&g);
}

static void geo_forgets_those_who_have_gone(void **state)
{
    for (int i = 0; i < 4; i++)
        notes_end_with_their_trainer(i & 1, i & 2);
}

static void geo_pull(struct geo_job *g, int trainer, float *out)
{
    struct skiff_error err;
    assert_ok(
        session_pull_rows(g->s[trainer], &g->table.s, g->delta.sel.rows, 4, EMB_WIDTH, out, &err),
        err);
}

/* A new process pulls the rows as they are, with the pushes from the time without a process, and
 * gets all later changes; none of the earlier ones. */
static void a_successor_has_no_gap(bool distributed)
{
    struct geo_job g;
    struct skiff_error err;
    float rows[2][4 * EMB_WIDTH], *changed;
    int64_t *ids;
    size_t n;
    geo_begin(&g, distributed);
    geo_pull(&g, 1, rows[0]);
    geo_push(&g, 0);
    session_abandon(g.s[1], "was killed");
    session_close(g.s[1]);
    geo_await_nothing_noted(&g, 1);
    geo_push(&g, 0);
    g.s[1] = fixture_session(&g.k, 1);
    geo_pull(&g, 1, rows[1]);
    for (int i = 0; i < 4 * EMB_WIDTH; i++)
        assert_float_equal(rows[1][i], rows[0][i] + 2, 1e-5);
    assert_ok(session_pull_changed(g.s[1], &g.table.s, EMB_WIDTH, &ids, &changed, &n, &err), err);
    assert_int_equal(n, 0);
    free(ids);
    free(changed);
    geo_push(&g, 0);
    assert_ok(session_pull_changed(g.s[1], &g.table.s, EMB_WIDTH, &ids, &changed, &n, &err), err);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++)
            if (ids[i] == g.delta.sel.rows[k])
                assert_float_equal(changed[i * EMB_WIDTH], rows[1][k * EMB_WIDTH] + 1, 1e-5);
    free(ids);
    free(changed);
    geo_end(&g);
}

static void geo_successors_have_no_gap(void **state)
{
    a_successor_has_no_gap(false);
    a_successor_has_no_gap(true);
}

/* News of members arrive by heartbeats, perhaps later than the new process itself: the server still
 * takes the dead one for the trainer. */
static void geo_successors_may_be_unknown_yet(void **state)
{
    struct geo_job g;
    bool capacity;
    float rows[4 * EMB_WIDTH];
    geo_begin(&g, true);
    struct server *s = g.k.server[0];
    geo_pull(&g, 1, rows);
    pthread_mutex_lock(&s->members);
    uint64_t incarnation = s->trainers[1].incarnation;
    s->trainers[1].state = MEMBER_DEAD;
    s->trainers[1].incarnation = incarnation - 1;
    pthread_mutex_unlock(&s->members);
    geo_push(&g, 0);
    assert_int_equal(geo_noted(&g, 1, &capacity), 4);
    pthread_mutex_lock(&s->members);
    s->trainers[1].state = MEMBER_HERE;
    s->trainers[1].incarnation = incarnation;
    pthread_mutex_unlock(&s->members);
    geo_end(&g);
}

/* A job of two trainers with a hash-backed embedding; trainer 0's first and last values. */
static void table_job(int servers, struct params **first, struct params **last)
{
    struct server_fixture k;
    struct fixture_options o = mode_options(servers, 2, SKIFF_SPLIT_SYNC);
    struct fixture_trainer t[2];
    o.distributed = true;
    fixture_open(&k, &o);
    for (int i = 0; i < 2; i++)
        trainer_start(&t[i], &k, i, 2);
    for (int i = 0; i < 2; i++)
        trainer_join(&t[i]);
    trainer_deinit(&t[1]);
    *first = t[0].first;
    *last = t[0].last;
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

static void tables_do_not_hang_on_the_number_of_servers(void **state)
{
    struct params *first[3], *last[3];
    static const int servers[] = {1, 2, 3};
    struct grads g[2] = {0};
    for (int i = 0; i < 3; i++) {
        table_job(servers[i], &first[i], &last[i]);
        assert_true(params_same(first[0], first[i]));
        assert_true(params_same(last[0], last[i]));
    }
    float least = 1, most = -1;
    for (int i = 0; i < EMB_ROWS * EMB_WIDTH; i++) {
        least = fminf(least, first[0]->emb[i]);
        most = fmaxf(most, first[0]->emb[i]);
    }
    assert_true(least >= -1 && least < -0.99f && most < 1 && most > 0.99f);
    for (int s = 0; s < 2; s++) /* sgd by the mean of two trainers */
        for (int t = 0; t < 2; t++) {
            grads_init(&g[t], t, s);
            for (int i = 0; i < g[t].nids * EMB_WIDTH; i++)
                first[0]->emb[g[t].emb.sel.rows[i / EMB_WIDTH] * EMB_WIDTH + i % EMB_WIDTH] -=
                    0.5f * at(&g[t].emb, i);
        }
    for (int i = 0; i < EMB_ROWS * EMB_WIDTH; i++)
        assert_float_equal(first[0]->emb[i], last[0]->emb[i], 2e-6);
    for (int t = 0; t < 2; t++)
        grads_deinit(&g[t]);
    for (int i = 0; i < 3; i++) {
        params_destroy(first[i]);
        params_destroy(last[i]);
    }
}

/* 2.x: adam's moments grow with the table. Rows that are created after the first step have fresh
 * moments in the second. (Sparse adam steps with the powers of the next step: t = 2, then 3.) */
static void accumulators_grow_with_the_table(void **state)
{
    enum { HALF = EMB_ROWS / 2, NUMBERS = HALF * EMB_WIDTH };
    static const float step[2] = {0.74410f, 0.63881f};
    static float before[NUMBERS], after[NUMBERS];
    struct server_fixture k;
    struct fixture_options o = mode_options(1, 1, SKIFF_SPLIT_ASYNC);
    struct skiff_error err;
    struct fixture_slices e;
    struct skiff_tensor g = {0};
    o.distributed = o.second_gen = true;
    o.optimizer = "adam";
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0);
    fixture_modulo(&k, "emb", "@GRAD", &e);
    struct session_push push = {.to = e.s, .x = &g};
    value_as_rows(&g, DTYPE_FP32, HALF, EMB_WIDTH, EMB_ROWS, NULL);
    for (int i = 0; i < NUMBERS; i++)
        tensor_f32(&g.tensor)[i] = i % 2 ? 3.0f : -0.5f;
    for (int half = 0; half < 2; half++) { /* ids 0 .. 849, then 850 .. 1699: more than 1024 */
        for (int i = 0; i < HALF; i++)
            g.sel.rows[i] = half * HALF + i;
        pull_ids(&k, s, g.sel.rows, HALF, before);
        assert_ok(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), err);
        pull_ids(&k, s, g.sel.rows, HALF, after);
        for (int i = 0; i < NUMBERS; i++)
            assert_float_equal(after[i], before[i] + (i % 2 ? -step[half] : step[half]), 1e-4);
    }
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    value_deinit(&g);
    fixture_close(&k);
}

/* Momentum with L2 decay moves every row in every step and cannot defer updates. An id that occurs
 * twice in a push counts twice. */
static void rules_that_move_all_rows(void **state)
{
    enum { N = 10, NUMBERS = N * EMB_WIDTH };
    static const int64_t pushed[2][4] = {{3, 1, 4, 2}, {8, 9, 8, 1}};
    static float before[NUMBERS], after[NUMBERS];
    int64_t all[N];
    struct server_fixture k;
    struct fixture_options o = mode_options(1, 1, SKIFF_SPLIT_ASYNC);
    struct skiff_error err;
    struct fixture_slices e;
    struct skiff_tensor g = {0};
    o.distributed = o.second_gen = true;
    o.optimizer = "momentum";
    o.l2 = 0.125;
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0);
    fixture_modulo(&k, "emb", "@GRAD", &e);
    struct session_push push = {.to = e.s, .x = &g};
    for (int i = 0; i < N; i++)
        all[i] = i;
    pull_ids(&k, s, all, N, before);
    for (int step = 0; step < 2; step++) {
        value_as_rows(&g, DTYPE_FP32, 4, EMB_WIDTH, EMB_ROWS, NULL);
        memcpy(g.sel.rows, pushed[step], sizeof pushed[step]);
        for (int i = 0; i < 4 * EMB_WIDTH; i++)
            tensor_f32(&g.tensor)[i] = 0.25f;
        assert_ok(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), err);
    }
    pull_ids(&k, s, all, N, after);
    for (int i = 0; i < NUMBERS; i++) {
        double p = before[i], v = 0;
        for (int step = 0; step < 2; step++) {
            double grad = 0.125 * p;
            for (int j = 0; j < 4; j++)
                grad += pushed[step][j] == i / EMB_WIDTH ? 0.25 : 0;
            v = 0.9 * v + grad;
            p -= v;
        }
        assert_float_equal(after[i], p, 1e-5);
    }
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    value_deinit(&g);
    fixture_close(&k);
}

static void tables_are_saved_and_loaded(void **state)
{
    char dir[] = "/tmp/skiff_server_XXXXXX", path[128], command[160];
    float far[2][4 * EMB_WIDTH];
    struct params *seen[2];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/__lookup_table__", dir);
    for (int i = 0; i < 2; i++) {
        struct server_fixture k;
        struct fixture_options o = mode_options(i ? 3 : 2, 1, SKIFF_SPLIT_ASYNC);
        struct skiff_error err;
        struct grads g = {0};
        o.distributed = true;
        o.load = i ? dir : NULL;
        seen[i] = mem_alloc_or_die(sizeof *seen[i]);
        fixture_open(&k, &o);
        struct session *s = fixture_session(&k, 0);
        grads_init(&g, 0, 0);
        if (!i)
            assert_ok(fixture_exchange(&k, s, 0, 0, &g, NULL, &err), err);
        fixture_pull(&k, s, seen[i]);
        pull_ids(&k, s, far_ids, 4, far[i]);
        if (!i) {
            struct skiff_tensor *dense[2] = {&seen[0]->w, &seen[0]->b};
            const char *names[2] = {"w", "b"};
            assert_ok(session_save_table(s, path, "emb", &err), err);
            for (int j = 0; j < 2; j++) {
                snprintf(command, sizeof command, "%s/%s", dir, names[j]);
                assert_ok(value_file_write(command, dense[j], &err), err);
            }
        }
        session_close(s);
        fixture_join(&k, SKIFF_OK);
        grads_deinit(&g);
        fixture_close(&k);
    }
    assert_true(params_same(seen[0], seen[1]));
    assert_memory_equal(far[0], far[1], sizeof far[0]);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 2; i++)
        params_destroy(seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_are_applied_as_they_come),
        cmocka_unit_test(rates_follow_the_counters),
        cmocka_unit_test(delays_are_compensated),
        cmocka_unit_test(geo_adds_and_reports_what_changed),
        cmocka_unit_test(geo_forgets_those_who_have_gone),
        cmocka_unit_test(geo_successors_have_no_gap),
        cmocka_unit_test(geo_successors_may_be_unknown_yet),
        cmocka_unit_test(tables_do_not_hang_on_the_number_of_servers),
        cmocka_unit_test(accumulators_grow_with_the_table),
        cmocka_unit_test(rules_that_move_all_rows),
        cmocka_unit_test(tables_are_saved_and_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
