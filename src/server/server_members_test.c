/* Members that join, that are missing, and that die; unauthenticated peers and wrong settings have
 * no effect. */
#include <signal.h>
#include <sys/wait.h>

#include "net/rpc.h"
#include "server/server_fixture_test.h"

/* where the test waits for a death by silence; elsewhere a busy machine must not look dead */
#define DEATH_MS 1500

static struct fixture_options options(int servers, int trainers, enum skiff_split_mode mode)
{
    return (struct fixture_options){.servers = servers,
                                    .trainers = trainers,
                                    .silence_ms = 5000,
                                    .config = split_config_fleet(mode),
                                    .open_only = true};
}

static void start_all(struct server_fixture *k)
{
    for (int i = 0; i < k->o.servers; i++)
        if (k->server[i])
            fixture_start(k, i);
}

/* A separate process, forked before this one has threads. It runs `life`, then waits to be killed.
 * A byte arrives through *ready when it has got that far. */
static pid_t spawn(struct server_fixture *k, int index,
                   void (*incarnation)(struct server_fixture *k, int index), int *ready)
{
    int ends[2];
    char byte = 1;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        incarnation(k, index);
        if (write(ends[1], &byte, 1) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    *ready = ends[0];
    return pid;
}

static void wait_ready(int fd)
{
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
    close(fd);
}

static void kill_it(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- deaths ---- */

static void one_step(struct server_fixture *k, int index)
{
    struct grads g = {0};
    struct session *s = fixture_session(k, index);
    struct skiff_error err;
    grads_init(&g, index, 0);
    if (fixture_exchange(k, s, 0, PS_END_STEP, &g, NULL, &err) < 0)
        _exit(1);
}

static void the_rest_goes_on(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    struct fixture_trainer t;
    int ready;
    o.silence_ms = DEATH_MS;
    fixture_open(&k, &o);
    pid_t pid = spawn(&k, 1, one_step, &ready);
    start_all(&k);
    trainer_start(&t, &k, 0, 4);
    wait_ready(ready);
    kill_it(pid);
    trainer_join(&t);
    fixture_join(&k, SKIFF_OK);
    if (!strstr(k.output, "worker 1") || !strstr(k.output, "the others continue without it"))
        fail_msg("%s", k.output);
    struct metrics *metrics = server_metrics(k.server[1]);
    assert_int_equal(metrics_value(metrics, METRIC_SERVER_STEPS), 4);
    assert_int_equal(metrics_value(metrics, METRIC_SERVER_TRAINERS_DEAD), 1);
    trainer_deinit(&t);
    fixture_close(&k);
}

/* A trainer that gives up is dead at once: no one waits for its silence, and its pushes for the
 * running step do not count. */
static void who_gives_up_is_left_out(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    struct fixture_trainer t;
    struct grads g[2] = {0};
    struct skiff_error err;
    o.silence_ms = 15000;
    fixture_open(&k, &o);
    start_all(&k);
    trainer_start(&t, &k, 0, 1);
    struct session *s = fixture_session(&k, 1);
    grads_init(&g[1], 1, 0);
    assert_ok(fixture_exchange(&k, s, 0, 0, &g[1], NULL, &err), err);
    int64_t start = clock_now();
    session_abandon(s, "has failed: no more paper");
    assert_true(fixture_exchange(&k, s, 0, PS_END_STEP, &g[1], NULL, &err) < 0);
    assert_string_equal(err.message, "worker 1 has failed: no more paper");
    session_abandon(s, "has failed again");
    session_close(s);
    trainer_join(&t);
    fixture_join(&k, SKIFF_OK);
    assert_true(clock_now() - start < 10 * CLOCK_SECOND);
    grads_init(&g[0], 0, 0);
    for (int i = 0; i < FC_WIDTH; i++)
        assert_float_equal(tensor_f32(&t.first->b.tensor)[i] - tensor_f32(&g[0].b.tensor)[i],
                           tensor_f32(&t.last->b.tensor)[i], 1e-6);
    if (!strstr(k.output, ") has failed: no more paper; the others continue without it"))
        fail_msg("%s", k.output);
    for (int i = 0; i < 2; i++)
        grads_deinit(&g[i]);
    trainer_deinit(&t);
    fixture_close(&k);
}

/* Pushes a step's gradients and does not end it; then dies. */
static void half_a_step(struct server_fixture *k, int index)
{
    struct grads g = {0};
    struct session *s = fixture_session(k, index);
    struct skiff_error err;
    grads_init(&g, index, 9);
    if (fixture_exchange(k, s, 0, 0, &g, NULL, &err) < 0)
        _exit(1);
}

/* Pushes of the dead process do not count; the new one replaces it in the same step. */
static void a_new_process_takes_the_place(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    struct fixture_trainer t[2];
    struct grads g[2] = {0};
    int ready;
    fixture_open(&k, &o);
    pid_t pid = spawn(&k, 1, half_a_step, &ready);
    start_all(&k);
    trainer_start(&t[0], &k, 0, 1);
    wait_ready(ready);
    kill_it(pid);
    trainer_start(&t[1], &k, 1, 1);
    for (int i = 0; i < 2; i++) {
        trainer_join(&t[i]);
        grads_init(&g[i], i, 0);
    }
    fixture_join(&k, SKIFF_OK);
    for (int i = 0; i < FC_WIDTH; i++) {
        float mean = (tensor_f32(&g[0].b.tensor)[i] + tensor_f32(&g[1].b.tensor)[i]) * 0.5f;
        assert_float_equal(tensor_f32(&t[0].first->b.tensor)[i] - mean,
                           tensor_f32(&t[0].last->b.tensor)[i], 1e-6);
    }
    for (int i = 0; i < 2; i++) {
        grads_deinit(&g[i]);
        trainer_deinit(&t[i]);
    }
    fixture_close(&k);
}

static void the_job_ends_if_so_wanted(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    struct fixture_trainer t;
    int ready;
    o.on_death = ON_DEATH_STOP;
    o.silence_ms = DEATH_MS;
    fixture_open(&k, &o);
    pid_t pid = spawn(&k, 1, one_step, &ready);
    start_all(&k);
    trainer_start(&t, &k, 0, 4);
    wait_ready(ready);
    kill_it(pid);
    fixture_join(&k, SKIFF_PEER);
    for (int i = 0; i < 2; i++)
        if (!strstr(k.err[i].message, "worker 1") && !strstr(k.err[i].message, "server 0"))
            fail_msg("%s", k.err[i].message);
    assert_non_null(strstr(k.err[0].message, "the job ends"));
    pthread_join(t.thread, NULL);
    assert_true(t.status < 0);
    trainer_deinit(&t);
    fixture_close(&k);
}

static void serve(struct server_fixture *k, int index)
{
    struct skiff_error err;
    k->o.mute = 0;
    if (fixture_server(k, index, &err) < 0)
        _exit(1);
    fixture_start(k, index);
}

static void a_dead_server_is_named(void **state)
{
    for (int dead = 0; dead < 2; dead++) {
        struct server_fixture k;
        struct fixture_options o = options(2, 1, SKIFF_SPLIT_ASYNC);
        struct fixture_trainer t;
        int ready;
        char text[64];
        o.mute = 1 << dead;
        o.silence_ms = DEATH_MS;
        fixture_open(&k, &o);
        pid_t pid = spawn(&k, dead, serve, &ready);
        start_all(&k);
        t = (struct fixture_trainer){.fixture = &k, .steps = 1, .keep = true};
        trainer_main(&t);
        wait_ready(ready);
        int64_t before = clock_now();
        kill_it(pid);
        fixture_join(&k, SKIFF_PEER);
        assert_true(clock_now() - before < 5 * CLOCK_SECOND);
        snprintf(text, sizeof text, "server %d at 127.0.0.1:", dead);
        if (dead == 1 && !strstr(k.err[0].message, text))
            fail_msg("%s", k.err[0].message);
        if (dead == 0 && !strstr(k.err[1].message, text))
            fail_msg("%s", k.err[1].message);
        session_close(t.session);
        trainer_deinit(&t);
        fixture_close(&k);
    }
}

/* True: worker 1 joined in time. */
static bool two_do_not_come(int start_ms)
{
    struct server_fixture k;
    struct fixture_options o = options(1, 3, SKIFF_SPLIT_SYNC);
    struct session *s = NULL;
    struct skiff_error err;
    o.start_ms = start_ms;
    o.silence_ms = DEATH_MS;
    fixture_open(&k, &o);
    start_all(&k);
    struct session_options so = fixture_session_options(&k, 1);
    so.connect_ms = start_ms;
    bool came = session_open(&so, &s, &err) == SKIFF_OK;
    fixture_join(&k, SKIFF_TIMEOUT);
    if (came) {
        assert_non_null(strstr(k.err[0].message, "worker 0, worker 2"));
        assert_null(strstr(k.err[0].message, "worker 1"));
    }
    session_close(s);
    fixture_close(&k);
    return came;
}

/* A busy machine may keep worker 1 from joining in time: then it gets more time. */
static void who_does_not_come_is_named(void **state)
{
    int ms = 600;
    while (!two_do_not_come(ms)) {
        assert_true(ms < 20000);
        ms *= 2;
    }
}

/* ---- wrong settings ---- */

static void expect_refusal(struct server_fixture *k, struct session_options o, const char *a,
                           const char *b)
{
    struct session *s = NULL;
    struct skiff_error err;
    int64_t before = clock_now();
    assert_true(session_open(&o, &s, &err) < 0);
    if (!strstr(err.message, a) || !strstr(err.message, b))
        fail_msg("\"%s\" has not \"%s\" and \"%s\"", err.message, a, b);
    assert_true(clock_now() - before < 5 * CLOCK_SECOND);
}

static void wrong_settings_are_refused(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 2, SKIFF_SPLIT_SYNC);
    fixture_open(&k, &o);
    start_all(&k);
    struct session *s = fixture_session(&k, 0);
    struct session_options good = fixture_session_options(&k, 1), bad;
    bad = good;
    bad.workers = 3;
    expect_refusal(&k, bad, "3 trainers", "2 trainers");
    bad = good;
    bad.mode = SKIFF_SPLIT_GEO;
    expect_refusal(&k, bad, "geo", "sync");
    bad = good;
    bad.program_hash ^= 1;
    expect_refusal(&k, bad, "worker 1", "different programs");
    bad = good;
    bad.worker = 0; /* this number is taken */
    expect_refusal(&k, bad, "worker 0", "already");
    bad = good;
    bad.worker = 7;
    expect_refusal(&k, bad, "7", "2");
    struct session *t = fixture_session(&k, 1);
    session_close(s);
    session_close(t);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

static void a_port_in_use_is_an_error_at_once(void **state)
{
    struct server_fixture k, other;
    struct fixture_options o = options(1, 1, SKIFF_SPLIT_SYNC);
    struct skiff_error err;
    fixture_open(&k, &o);
    start_all(&k);
    struct session *s = fixture_session(&k, 0);
    fixture_open(&other, &o);
    server_destroy(other.server[0]);
    /* the program names its own endpoint, the process listens at another */
    struct server_options so = {.main = other.main[0],
                                .startup = other.startup[0],
                                .plan = other.plan[0],
                                .listen = k.endpoint[0]};
    assert_ok(server_create(&so, &other.server[0], &err), err);
    assert_ok(server_init(other.server[0], &err), err);
    int64_t before = clock_now();
    assert_int_equal(server_run(other.server[0], &err), SKIFF_IO);
    assert_true(clock_now() - before < 2 * CLOCK_SECOND);
    assert_non_null(strstr(err.message, k.endpoint[0]));
    assert_non_null(strstr(err.message, "choose another port"));
    fixture_close(&other);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- invalid messages ---- */

struct raw { /* a member of the job that sends arbitrary messages */
    struct node *node;
    struct rpc_client *client;
    struct rpc_peer *peer;
    struct ps_bound *list; /* the server's variables, by number */
    uint32_t n;
};

static void raw_open(struct raw *r, struct server_fixture *k, uint32_t worker)
{
    struct node_options o = {.kind = transport_find("tcp"),
                             .id = {NET_WORKER, worker},
                             .job = "test",
                             .secret = "open sesame"};
    struct skiff_error err;
    assert_ok(node_create(&o, &r->node, &err), err);
    r->client = rpc_client_create(r->node, &(struct rpc_client_options){0});
    assert_ok(node_start(r->node, &err), err);
    assert_ok(
        rpc_connect(r->client, k->endpoint[0], (struct net_id){NET_SERVER, 0}, &r->peer, &err),
        err);
    struct rpc_ask ask = {.what = "numbers",
                          .method = PS_BIND,
                          .flags = RPC_READ,
                          .deadline = clock_after(clock_now(), 5000)};
    struct blob *reply = NULL;
    assert_ok(rpc_ask(r->peer, &ask, &reply, &err), err);
    assert_ok(ps_read_bound(reply, &r->list, &r->n, &err), err);
    blob_unref(reply);
}

static void raw_close(struct raw *r)
{
    node_stop(r->node);
    rpc_client_destroy(r->client);
    node_destroy(r->node);
    free(r->list);
}

static enum skiff_status raw_ask(struct raw *r, uint32_t method, struct wire_writer *w,
                                 struct skiff_error *err)
{
    struct rpc_ask ask = {
        .what = "a test", .method = method, .deadline = clock_after(clock_now(), 5000)};
    struct blob *reply = NULL;
    assert_int_equal(writer_finish(w, &ask.body, err), SKIFF_OK);
    enum skiff_status status = rpc_ask(r->peer, &ask, &reply, err);
    blob_unref(ask.body);
    blob_unref(reply);
    return status;
}

/* pushed: of a gradient. */
static uint32_t number_of(const struct raw *r, const char *name, bool pushed)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!strcmp(r->list[i].name, name) &&
            !(r->list[i].use & (PS_PUSH_DENSE | PS_PUSH_ROWS)) == !pushed)
            return i;
    fail_msg("no number for %s", name);
    return 0;
}

/* b@GRAD, which is valid, comes first: it must not count either. want -1: nothing. */
static enum skiff_status raw_push(struct raw *r, const struct ps_piece *piece, uint32_t trainer,
                                  int64_t want, struct skiff_error *err)
{
    float ones[FC_WIDTH];
    struct ps_piece pieces[2] = {{.number = number_of(r, "b@GRAD", true),
                                  .data = (const unsigned char *)ones,
                                  .bytes = sizeof ones},
                                 *piece};
    uint32_t number = (uint32_t)want;
    struct wire_writer w;
    for (int i = 0; i < FC_WIDTH; i++)
        ones[i] = 1;
    struct ps_exchange x = {
        .trainer = trainer, .nwant = want >= 0, .want = (const uint8_t *)&number};
    writer_init(&w);
    ps_write_exchange(&w, &x, pieces, 2);
    return raw_ask(r, PS_EXCHANGE, &w, err);
}

static void nonsense_does_no_harm(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(1, 2, SKIFF_SPLIT_ASYNC);
    struct params *before = mem_alloc_or_die(sizeof *before),
                  *after = mem_alloc_or_die(sizeof *after);
    struct skiff_error err;
    struct raw r;
    struct wire_writer w;
    float numbers[2 * EMB_WIDTH] = {1};
    int64_t ids[2] = {3, EMB_ROWS};
    fixture_open(&k, &o);
    start_all(&k);
    struct session *s = fixture_session(&k, 0);
    fixture_pull(&k, s, before);
    raw_open(&r, &k, 1);
    struct ps_piece good = {.number = number_of(&r, "emb@GRAD", true),
                            .nrows = 2,
                            .has_rows = true,
                            .rows = (const unsigned char *)ids,
                            .data = (const unsigned char *)numbers,
                            .bytes = sizeof numbers};
    struct ps_piece x = good;
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_RANGE); /* row 1700 of 1700 */
    assert_non_null(strstr(err.message, "row 1700 of emb"));
    ids[1] = -1;
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_RANGE);
    ids[1] = 4;
    /* under another trainer's number */
    assert_int_equal(raw_push(&r, &x, 0, -1, &err), SKIFF_INVALID);
    assert_int_equal(raw_push(&r, &x, 9, -1, &err), SKIFF_RANGE);
    assert_int_equal(raw_push(&r, &x, 1, 4000, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "variable number 4000 of a message: server 0 at"));
    assert_int_equal(raw_push(&r, &x, 1, good.number, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "emb@GRAD (number"));
    x.bytes -= 4;
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "emb@GRAD has"));
    x = good;
    x.has_rows = false;
    x.nrows = 0;
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "emb@GRAD was sent as a tensor"));
    x.number = number_of(&r, "emb", false);
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "cannot be pushed"));
    x.number = r.n;
    assert_int_equal(raw_push(&r, &x, 1, -1, &err), SKIFF_NOT_FOUND);
    for (uint32_t method = PS_DESCRIBE; method <= PS_MESSAGE_TAKE; method++)
        for (size_t n = 1; n < 40; n++) { /* random bytes, for every method */
            writer_init(&w);
            for (size_t i = 0; i < n; i++)
                writer_u8(&w, (uint8_t)(made_up(method, n, i) * 127));
            assert_true(raw_ask(&r, method, &w, &err) < 0);
        }
    raw_close(&r);
    fixture_pull(&k, s, after);
    assert_true(params_same(before, after));
    struct session *t = fixture_session(&k, 1);
    session_close(t);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    params_destroy(before);
    params_destroy(after);
    fixture_close(&k);
}

/* ---- reductions and messages ---- */

struct reduction_waiter {
    struct server_fixture *k;
    int index, from, nsteps;
    double got;
    enum skiff_status posted;
    struct skiff_error err;
    pthread_t thread;
};

static void *waiter_main(void *arg)
{
    struct reduction_waiter *g = arg;
    struct session *s = fixture_session(g->k, g->index);
    struct skiff_error err;
    for (int r = 0; r < g->nsteps; r++) {
        double v[2] = {g->index + 1, r};
        int64_t i = g->index;
        assert_ok(session_reduce_double(s, "sum", "sum", v, 2, &err), err);
        g->got += v[0];
        assert_ok(session_reduce_int64(s, "max", "max", &i, 1, &err), err);
        g->got += (double)i * 100;
    }
    char text[32], *message = NULL;
    size_t bytes;
    int to = (g->index + 1) % 3;
    snprintf(text, sizeof text, "from %d", g->index);
    if (g->index != 2) /* worker 2 sends none */
        assert_ok(session_message_put(s, to, "hello", text, strlen(text) + 1, &err), err);
    if (g->index != 2)
        g->posted = session_message_take(s, (g->index + 2) % 3, "hello", (void **)&message, &bytes,
                                         &g->err);
    snprintf(text, sizeof text, "from %d", (g->index + 2) % 3);
    if (message)
        assert_string_equal(message, text);
    free(message);
    session_close(s);
    return NULL;
}

static void workers_meet(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 3, SKIFF_SPLIT_ASYNC);
    struct reduction_waiter g[3];
    o.silence_ms = 3000;
    fixture_open(&k, &o);
    start_all(&k);
    for (int i = 0; i < 3; i++) {
        g[i] = (struct reduction_waiter){.k = &k, .index = i, .nsteps = 2};
        pthread_create(&g[i].thread, NULL, waiter_main, &g[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(g[i].thread, NULL);
    fixture_join(&k, SKIFF_OK);
    for (int i = 0; i < 3; i++)
        assert_true(g[i].got == 2 * (1 + 2 + 3) + 2 * 200);
    assert_int_equal(g[0].posted, SKIFF_PEER); /* worker 2 has left without sending */
    assert_non_null(strstr(g[0].err.message, "worker 2"));
    assert_int_equal(g[1].posted, SKIFF_OK);
    fixture_close(&k);
}

/* ---- stopping ---- */

static struct server *to_stop;

static void on_alarm(int number)
{
    server_stop(to_stop);
}

static void a_signal_handler_may_stop_it(void **state)
{
    struct server_fixture k;
    struct fixture_options o = options(2, 1, SKIFF_SPLIT_SYNC);
    o.silence_ms = DEATH_MS;
    fixture_open(&k, &o);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGUSR1, &action, NULL);
    start_all(&k);
    struct session *s = fixture_session(&k, 0);
    to_stop = k.server[0];
    raise(SIGUSR1);
    pthread_join(k.thread[0], NULL);
    k.thread[0] = 0;
    assert_int_equal(k.status[0], SKIFF_OK);
    pthread_join(k.thread[1], NULL);
    k.thread[1] = 0;
    assert_int_equal(k.status[1], SKIFF_PEER); /* server 0 has ended before the job was complete */
    session_close(s);
    fixture_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_goes_on),
        cmocka_unit_test(a_new_process_takes_the_place),
        cmocka_unit_test(the_job_ends_if_so_wanted),
        cmocka_unit_test(a_dead_server_is_named),
        cmocka_unit_test(who_does_not_come_is_named),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(a_port_in_use_is_an_error_at_once),
        cmocka_unit_test(nonsense_does_no_harm),
        cmocka_unit_test(workers_meet),
        cmocka_unit_test(who_gives_up_is_left_out),
        cmocka_unit_test(a_signal_handler_may_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
