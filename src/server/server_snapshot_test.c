/* Snapshots: values read from one while training continues equal, bit for bit, the servers' values
 * at the tag: parameters, accumulators and counters, for every kind of slice. */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>

#include "comm/session_parts.h"
#include "server/server_fixture_test.h"

enum { BEFORE = 6, AFTER = 5 };

static void push_steps(struct server_fixture *k, struct session *s, int from, int to)
{
    struct grads g = {0};
    struct skiff_error err;
    uint32_t flags = mode_waits(split_plan(k->split)->mode) ? PS_END_STEP : 0;
    for (int i = from; i < to; i++) {
        grads_init(&g, 0, i);
        assert_ok(fixture_exchange(k, s, (uint64_t)i, flags, &g, NULL, &err), err);
    }
    grads_deinit(&g);
}

/* All slices, from the snapshot or (tag NULL) the current ones. */
static void read_slices(struct server_fixture *k, struct session *s, const char *tag,
                        struct buf *out)
{
    const struct job_plan *plan = split_plan(k->split);
    struct skiff_error err;
    for (int i = 0; i < plan->nplacement; i++) {
        const struct skiff_placement *p = &plan->placement[i];
        struct skiff_tensor v = {0};
        int64_t rows = placement_rows(p);
        if (tag)
            assert_ok(session_pull_snapshot(s, tag, p->server, p->slice, 0, rows, &v, &err), err);
        else
            assert_ok(session_pull_part(s, p->server, p->slice, 0, rows, &v, &err), err);
        buf_add(out, v.tensor.data, tensor_bytes(&v.tensor));
        value_deinit(&v);
    }
}

/* Rows of hash-backed embeddings: all variables from a snapshot, or the current parameter alone. */
static void read_tables(struct server_fixture *k, struct session *s, const char *tag,
                        struct buf *out)
{
    struct fixture_slices e;
    struct skiff_error err;
    int64_t ids[EMB_ROWS];
    static float rows[EMB_ROWS * EMB_WIDTH];
    for (int i = 0; i < EMB_ROWS; i++)
        ids[i] = i;
    if (!k->o.distributed)
        return;
    fixture_modulo(k, "emb", "", &e);
    if (tag)
        assert_ok(session_pull_snapshot_rows(s, tag, &e.s, ids, EMB_ROWS, EMB_WIDTH, rows, &err),
                  err);
    else
        assert_ok(session_pull_rows(s, &e.s, ids, EMB_ROWS, EMB_WIDTH, rows, &err), err);
    buf_add(out, rows, sizeof rows);
}

static void read_accumulators(struct server_fixture *k, struct session *s, const char *tag,
                              struct buf *out)
{
    struct skiff_error err;
    int64_t ids[EMB_ROWS];
    static float rows[EMB_ROWS * EMB_WIDTH];
    for (int i = 0; i < EMB_ROWS; i++)
        ids[i] = i;
    for (int u = 0; k->o.distributed && u < k->plan[0]->nslices; u++)
        for (int i = 0; i < k->plan[0]->slices[u].rows.n; i++) {
            struct fixture_slices e;
            fixture_modulo(k, k->plan[0]->slices[u].rows.v[i], "", &e);
            assert_ok(
                session_pull_snapshot_rows(s, tag, &e.s, ids, EMB_ROWS, EMB_WIDTH, rows, &err),
                err);
            buf_add(out, rows, sizeof rows);
        }
}

struct reading {
    struct buf values, accumulators;
};

static void reading_deinit(struct reading *r)
{
    buf_deinit(&r->values);
    buf_deinit(&r->accumulators);
}

static void same_bytes(const struct fixture_options *o, const char *what, const struct buf *got,
                       const struct buf *expected)
{
    if (got->len != expected->len || (got->len && memcmp(got->data, expected->data, got->len))) {
        size_t at = 0;
        while (at + 4 < got->len && !memcmp(got->data + at, expected->data + at, 4))
            at += 4;
        fail_msg("%s%s, %s: differs at byte %zu of %zu (expected %zu)", o->optimizer,
                 o->distributed ? ", keyed" : "", what, at, got->len, expected->len);
    }
}

/* The reference: servers that stopped at the tag. */
static void read_truth(const struct fixture_options *o, struct reading *out)
{
    struct server_fixture k;
    struct skiff_error err;
    fixture_open(&k, o);
    struct session *s = fixture_session(&k, 0);
    push_steps(&k, s, 0, BEFORE);
    assert_ok(session_tag(s, "still", &err), err);
    read_accumulators(&k, s, "still", &out->accumulators);
    read_slices(&k, s, NULL, &out->values);
    read_tables(&k, s, NULL, &out->values);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

static void read_marked(const struct fixture_options *o, struct reading out[3])
{
    struct server_fixture k;
    struct skiff_error err;
    struct params *p = mem_alloc_or_die(sizeof *p);
    fixture_open(&k, o);
    struct session *s = fixture_session(&k, 0);
    push_steps(&k, s, 0, BEFORE);
    assert_ok(session_tag(s, "then", &err), err);
    push_steps(&k, s, BEFORE, BEFORE + AFTER);
    assert_ok(session_tag(s, "then", &err), err); /* it keeps its values */
    for (int i = 0; i < 3; i++) {
        read_slices(&k, s, "then", &out[i].values);
        read_tables(&k, s, "then", &out[i].values);
        read_accumulators(&k, s, "then", &out[i].accumulators);
        if (i == 0)
            fixture_pull(&k, s, p); /* deferred updates are flushed; a hash-backed table grows */
        if (i == 1)
            push_steps(&k, s, BEFORE + AFTER, BEFORE + 2 * AFTER);
    }
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
    params_destroy(p);
}

static void check(const struct fixture_options *o)
{
    struct reading truth = {0}, marked[3] = {{{0}, {0}}, {{0}, {0}}, {{0}, {0}}};
    static const char *const when[] = {"after pushes", "after reading", "after more pushes"};
    read_truth(o, &truth);
    read_marked(o, marked);
    assert_true(truth.values.len > 0);
    for (int i = 0; i < 3; i++) {
        same_bytes(o, when[i], &marked[i].values, &truth.values);
        same_bytes(o, when[i], &marked[i].accumulators, &truth.accumulators);
        reading_deinit(&marked[i]);
    }
    reading_deinit(&truth);
}

static void the_values_of_the_mark_stay(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam", "momentum", "adagrad"};
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        for (int keyed = 0; keyed < 2; keyed++) {
            struct fixture_options o = {.servers = keyed ? 1 : 2,
                                        .trainers = 1,
                                        .shards = 2,
                                        .optimizer = optimizers[i],
                                        .distributed = keyed,
                                        .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
            check(&o);
        }
}

static void in_other_modes(void **state)
{
    static const enum skiff_split_mode modes[] = {SKIFF_SPLIT_SYNC, SKIFF_SPLIT_HALF_ASYNC,
                                                  SKIFF_SPLIT_GEO};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct fixture_options o = {.servers = 2,
                                    .trainers = 1,
                                    .optimizer = modes[i] == SKIFF_SPLIT_GEO ? "sgd" : "adam",
                                    .decay = modes[i] != SKIFF_SPLIT_GEO,
                                    .config = split_config_fleet(modes[i])};
        check(&o);
    }
}

/* A snapshot that was dropped or replaced is refused by name. */
static void gone_ones_are_named(void **state)
{
    struct server_fixture k;
    struct fixture_options o = {
        .servers = 1, .trainers = 1, .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    struct skiff_error err;
    struct skiff_tensor v = {0};
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0);
    const struct skiff_placement *p = &split_plan(k.split)->placement[0];
    assert_ok(session_tag(s, "one", &err), err);
    assert_ok(session_tag(s, "two", &err), err);
    assert_int_equal(session_pull_snapshot(s, "one", 0, p->slice, 0, 1, &v, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "\"one\" any more: another save, \"two\", has begun"));
    assert_int_equal(session_pull_snapshot(s, "two", 0, "nothing", 0, 1, &v, &err),
                     SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "no variable nothing in its snapshot \"two\""));
    assert_int_equal(session_pull_snapshot(s, "two", 0, p->slice, 0, 1 << 30, &v, &err),
                     SKIFF_RANGE);
    assert_ok(session_untag(s, "two", &err), err);
    assert_int_equal(session_pull_snapshot(s, "two", 0, p->slice, 0, 1, &v, &err), SKIFF_STATE);
    value_deinit(&v);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- one instant over several servers ---- */

enum { PUSHERS = 2, SAVES = 25 };

struct pusher { /* adds 1 to every element of w and b, again and again */
    struct server_fixture *fixture;
    int index;
    atomic_int *stop;
    atomic_int pushes;
    pthread_t thread;
};

static void *push_ones(void *arg)
{
    struct pusher *p = arg;
    struct session *s = fixture_session(p->fixture, p->index);
    struct grads g = {0};
    struct skiff_error err;
    grads_init(&g, 0, 0);
    float by = mode_adds(split_plan(p->fixture->split)->mode) ? 1 : -1; /* the rate is 1 */
    for (int i = 0; i < EMB_WIDTH * FC_WIDTH; i++)
        tensor_f32(&g.w.tensor)[i] = by;
    for (int i = 0; i < FC_WIDTH; i++)
        tensor_f32(&g.b.tensor)[i] = by;
    while (!atomic_load(p->stop)) {
        assert_ok(fixture_exchange(p->fixture, s, 0, 0, &g, NULL, &err), err);
        atomic_fetch_add(&p->pushes, 1);
    }
    session_close(s);
    grads_deinit(&g);
    return NULL;
}

/* How often 1 was added to the variable, read from every one of its elements. */
static void read_steps(struct server_fixture *k, struct session *s, const char *tag,
                       const struct buf *start, long *least, long *most)
{
    const struct job_plan *plan = split_plan(k->split);
    struct skiff_error err;
    size_t at = 0;
    for (int i = 0; i < plan->nplacement; i++) {
        const struct skiff_placement *p = &plan->placement[i];
        struct skiff_tensor v = {0};
        assert_ok(
            session_pull_snapshot(s, tag, p->server, p->slice, 0, placement_rows(p), &v, &err),
            err);
        size_t n = (size_t)tensor_numel(&v.tensor);
        for (size_t e = 0; e < n && strcmp(p->origin, "emb"); e++) {
            float was;
            memcpy(&was, start->data + at + 4 * e, sizeof was);
            long steps = lroundf(tensor_f32(&v.tensor)[e] - was);
            *least = steps < *least ? steps : *least;
            *most = steps > *most ? steps : *most;
        }
        at += tensor_bytes(&v.tensor);
        value_deinit(&v);
    }
}

static void pushes_are_in_whole_or_not_at_all(enum skiff_split_mode mode)
{
    struct server_fixture k;
    struct fixture_options o = {
        .servers = 3, .trainers = PUSHERS + 1, .shards = 2, .config = split_config_fleet(mode)};
    struct pusher pushers[PUSHERS];
    struct buf start = BUF_INIT;
    struct skiff_error err;
    atomic_int stop = 0;
    long before = 0;
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, PUSHERS);
    read_slices(&k, s, NULL, &start);
    for (int i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.fixture = &k, .index = i, .stop = &stop};
        assert_int_equal(pthread_create(&pushers[i].thread, NULL, push_ones, &pushers[i]), 0);
    }
    for (int i = 0; i < PUSHERS; i++)
        while (!atomic_load(&pushers[i].pushes))
            clock_sleep(CLOCK_MS);
    for (int i = 0; i < SAVES; i++) {
        char tag[32];
        long least = LONG_MAX, most = -1;
        snprintf(tag, sizeof tag, "save %d", i);
        assert_ok(session_tag_now(s, tag, &err), err);
        read_steps(&k, s, tag, &start, &least, &most);
        if (least != most)
            fail_msg("%s, save %d: from %ld to %ld steps", skiff_mode_name(mode), i, least, most);
        assert_true(least >= before && least >= PUSHERS);
        before = least;
    }
    atomic_store(&stop, 1);
    long pushed = 0;
    for (int i = 0; i < PUSHERS; i++) {
        pthread_join(pushers[i].thread, NULL);
        pushed += atomic_load(&pushers[i].pushes);
    }
    assert_true(pushed > before); /* they continued meanwhile */
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
    buf_deinit(&start);
}

static void one_instant_over_servers(void **state)
{
    pushes_are_in_whole_or_not_at_all(SKIFF_SPLIT_ASYNC);
    pushes_are_in_whole_or_not_at_all(SKIFF_SPLIT_HALF_ASYNC);
    pushes_are_in_whole_or_not_at_all(SKIFF_SPLIT_GEO);
}

/* When the owner of a push fence dies, no one is kept waiting. */
static void the_holder_dies(void **state)
{
    struct server_fixture k;
    struct fixture_options o = {.servers = 1,
                                .trainers = 2,
                                .silence_ms = 1000,
                                .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    struct skiff_error err;
    struct grads g = {0};
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0), *holder = fixture_session(&k, 1);
    assert_ok(session_quiesce(holder, "never", &err), err);
    session_abandon(holder, "has fallen");
    grads_init(&g, 0, 0);
    double start = clock_seconds();
    assert_ok(fixture_exchange(&k, s, 0, 0, &g, NULL, &err), err);
    assert_true(clock_seconds() - start < 4);
    grads_deinit(&g);
    session_close(holder);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- several savers ---- */

struct saver { /* saves again and again */
    struct server_fixture *fixture;
    struct session *session;
    const struct buf *start;
    int index, whole, displaced;
    pthread_t thread;
};

/* False: another save has begun since. */
static bool try_read_steps(struct saver *v, struct session *s, const char *tag, long *least,
                           long *most)
{
    const struct job_plan *plan = split_plan(v->fixture->split);
    struct skiff_error err;
    size_t at = 0;
    for (int i = 0; i < plan->nplacement; i++) {
        const struct skiff_placement *p = &plan->placement[i];
        struct skiff_tensor x = {0};
        if (session_pull_snapshot(s, tag, p->server, p->slice, 0, placement_rows(p), &x, &err) <
            0) {
            assert_non_null(strstr(err.message, "any more: another save"));
            return false;
        }
        for (size_t e = 0; strcmp(p->origin, "emb") && e < (size_t)tensor_numel(&x.tensor); e++) {
            float was;
            memcpy(&was, v->start->data + at + 4 * e, sizeof was);
            long steps = lroundf(tensor_f32(&x.tensor)[e] - was);
            *least = steps < *least ? steps : *least;
            *most = steps > *most ? steps : *most;
        }
        at += tensor_bytes(&x.tensor);
        value_deinit(&x);
    }
    return true;
}

static void *save_often(void *arg)
{
    struct saver *v = arg;
    struct session *s = v->session;
    struct skiff_error err;
    for (int i = 0; i < SAVES; i++) {
        char tag[32];
        long least = LONG_MAX, most = -1;
        snprintf(tag, sizeof tag, "save %d of %d", i, v->index);
        assert_ok(session_tag_now(s, tag, &err), err);
        if (!try_read_steps(v, s, tag, &least, &most)) {
            v->displaced++;
            continue;
        }
        if (least != most)
            fail_msg("worker %d, save %d: from %ld to %ld steps", v->index, i, least, most);
        v->whole++;
    }
    return NULL;
}

/* One save may replace another, which then fails; neither holds half of a push. */
static void two_save_at_once(void **state)
{
    struct server_fixture k;
    struct fixture_options o = {.servers = 3,
                                .trainers = PUSHERS + 2,
                                .shards = 2,
                                .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    struct pusher pushers[PUSHERS];
    struct buf start = BUF_INIT;
    atomic_int stop = 0;
    fixture_open(&k, &o);
    struct saver savers[2] = {{.fixture = &k, .start = &start, .index = PUSHERS},
                              {.fixture = &k, .start = &start, .index = PUSHERS + 1}};
    for (int i = 0; i < 2; i++)
        savers[i].session = fixture_session(&k, savers[i].index);
    read_slices(&k, savers[0].session, NULL, &start);
    for (int i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.fixture = &k, .index = i, .stop = &stop};
        assert_int_equal(pthread_create(&pushers[i].thread, NULL, push_ones, &pushers[i]), 0);
    }
    for (int i = 0; i < PUSHERS; i++)
        while (!atomic_load(&pushers[i].pushes))
            clock_sleep(CLOCK_MS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&savers[i].thread, NULL, save_often, &savers[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(savers[i].thread, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < PUSHERS; i++)
        pthread_join(pushers[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        session_close(savers[i].session);
    assert_true(savers[0].whole + savers[1].whole > 0);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
    buf_deinit(&start);
}

static enum skiff_status mark_own(struct session *s, const char *tag, struct skiff_error *err)
{
    struct wire_writer w;
    struct ps_snapshot x = {.call = PS_TAG_OWN};
    struct batch_request ask = {.method = PS_SNAPSHOT};
    snprintf(x.tag, sizeof x.tag, "%s", tag);
    writer_init(&w);
    ps_write_snapshot(&w, &x);
    assert_ok(writer_finish(&w, &ask.body, err), *err);
    return session_ask(s, &ask, "mark", NULL, err);
}

static void one_holds_at_a_time(void **state)
{
    struct server_fixture k;
    struct fixture_options o = {
        .servers = 1, .trainers = 2, .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    struct skiff_error err;
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0), *other = fixture_session(&k, 1);
    assert_ok(session_quiesce(s, "one", &err), err);
    assert_int_equal(session_quiesce(other, "two", &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "worker 0 is about to save"));
    assert_ok(session_untag(other, "two", &err), err); /* the fence of another worker stays */
    assert_int_equal(mark_own(other, "two", &err), SKIFF_STATE);
    assert_ok(mark_own(s, "one", &err), err);
    assert_int_equal(mark_own(s, "again", &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "no longer holds back pushes for worker 0"));
    assert_ok(session_tag_now(other, "two", &err), err);
    session_close(other);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- snapshots of a saver that ends ---- */

static struct fixture_options two_workers(int servers)
{
    return (struct fixture_options){.servers = servers,
                                    .trainers = 2,
                                    .silence_ms = 1000,
                                    .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
}

static void the_savers_snapshot_goes_with_it(void **state)
{
    struct server_fixture k;
    struct fixture_options o = two_workers(1);
    struct skiff_error err = {0};
    struct skiff_tensor v = {0};
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0), *saver = fixture_session(&k, 1);
    const struct skiff_placement *p = &split_plan(k.split)->placement[0];
    assert_ok(session_tag_now(saver, "its own", &err), err);
    assert_ok(session_pull_snapshot(s, "its own", 0, p->slice, 0, 1, &v, &err), err);
    session_abandon(saver, "has fallen");
    int64_t until = clock_after(clock_now(), 10000);
    while (session_pull_snapshot(s, "its own", 0, p->slice, 0, 1, &v, &err) == SKIFF_OK &&
           clock_now() < until)
        clock_sleep(10 * CLOCK_MS);
    assert_non_null(strstr(err.message, "does not have the snapshot \"its own\" any more"));

    saver = fixture_session(&k, 1);
    assert_ok(session_tag(saver, "the job's", &err), err);
    session_abandon(saver, "has fallen");
    assert_ok(session_pull_snapshot(s, "the job's", 0, p->slice, 0, 1, &v, &err), err);
    value_deinit(&v);
    session_close(saver);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- a push that does not finish ---- */

/* One of the two messages of a push. */
static void push_half(struct server_fixture *k, struct session *s, int server, uint64_t number)
{
    struct grads g = {0};
    struct wire_writer w;
    struct skiff_error err;
    struct batch_request ask = {.server = server, .method = PS_EXCHANGE};
    const struct job_plan *plan = split_plan(k->split);
    const struct skiff_placement *p = NULL;
    for (int i = 0; i < plan->nplacement && !p; i++)
        if (plan->placement[i].server == server && !strcmp(plan->placement[i].origin, "w"))
            p = &plan->placement[i];
    assert_non_null(p);
    grads_init(&g, 0, 0);
    struct fixture_slices w_grad;
    struct session_binding *bound;
    fixture_slices(k, "w", "@GRAD", false, &w_grad);
    assert_ok(session_bind(s, &w_grad.s, PS_PUSH_DENSE, &bound, &err), err);
    struct ps_piece item = {.number = bound->slices[p->block].number,
                            .data = g.w.tensor.data,
                            .bytes = bound->slices[p->block].bytes};
    session_unbind(bound);
    struct ps_exchange x = {
        .trainer = (uint32_t)s->options.worker, .push = number, .acked = number, .parts = 2};
    writer_init(&w);
    ps_write_exchange(&w, &x, &item, 1);
    assert_ok(writer_finish(&w, &ask.body, &err), err);
    assert_ok(session_ask(s, &ask, "half a push", NULL, &err), err);
    grads_deinit(&g);
}

/* A worker is alive and holds back half of its push: no save is made of that. */
static void half_a_push_is_not_saved(void **state)
{
    struct server_fixture k;
    struct fixture_options o = two_workers(2);
    struct skiff_error err;
    fixture_open(&k, &o);
    struct session *s = fixture_session(&k, 0), *slow = fixture_session(&k, 1);
    s->request_ms = 1500; /* the time that it is waited for */
    push_half(&k, slow, 0, 1000);
    double start = clock_seconds();
    assert_int_equal(session_tag_now(s, "incomplete", &err), SKIFF_STATE);
    assert_true(clock_seconds() - start < 10);
    assert_non_null(strstr(err.message, "worker 1"));
    assert_non_null(strstr(err.message, "has pushed to some servers but not to others"));
    s->request_ms = 30000;
    push_half(&k, slow, 1, 1000); /* no fence is up any more */
    assert_ok(session_tag_now(s, "whole", &err), err);
    session_close(slow);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_values_of_the_mark_stay),
        cmocka_unit_test(in_other_modes),
        cmocka_unit_test(gone_ones_are_named),
        cmocka_unit_test(one_instant_over_servers),
        cmocka_unit_test(the_holder_dies),
        cmocka_unit_test(two_save_at_once),
        cmocka_unit_test(one_holds_at_a_time),
        cmocka_unit_test(the_savers_snapshot_goes_with_it),
        cmocka_unit_test(half_a_push_is_not_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
