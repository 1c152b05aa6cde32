/* Numbers of variables (PS_BIND): what each side does with messages of the other side that do not
 * fit them. Every refusal names the variable and the server, and changes nothing. */
#include "comm/session_parts.h"
#include "server/bind.h"
#include "server/server_fixture_test.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"

static void open_one(struct server_fixture *k, int shards)
{
    struct fixture_options o = {.servers = 1,
                                .trainers = 1,
                                .shards = shards,
                                .config = split_config_fleet(SKIFF_SPLIT_ASYNC)};
    fixture_open(k, &o);
}

static struct bound_slice bound_slice(struct session *s, struct job_slices *slices, uint32_t use)
{
    struct session_binding *b;
    struct skiff_error err;
    assert_ok(session_bind(s, slices, use, &b, &err), err);
    struct bound_slice slice = b->slices[0];
    session_unbind(b);
    return slice;
}

static void assert_names(const struct skiff_error *err, const char *text, struct server_fixture *k)
{
    if (!strstr(err->message, text) || !strstr(err->message, k->endpoint[0]))
        fail_msg("%s", err->message);
}

/* ---- the worker's own checks ---- */

static void workers_check_what_they_send(void **state)
{
    struct server_fixture k;
    struct skiff_error err;
    struct fixture_slices w, other;
    struct grads g = {0};
    struct skiff_tensor whole = {0}, wide = {0};
    struct shape flat = SHAPE(FC_WIDTH, EMB_WIDTH, 2);
    static const char *const unknown[] = {"nothing@GRAD"};
    open_one(&k, 1);
    struct session *s = fixture_session(&k, 0);
    grads_init(&g, 0, 0);
    fixture_slices(&k, "w", "@GRAD", false, &w);
    fixture_slices(&k, "emb", "@GRAD", false, &other);
    struct session_push push = {.to = w.s, .x = &g.emb}; /* rows of a dense parameter */
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_INVALID);
    push.to.sections = NULL;
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_INVALID);
    assert_names(&err, "w@GRAD is sent as rows; server 0 (", &k);
    value_as_tensor(&whole, DTYPE_FP64, &g.w.tensor.shape, NULL);
    push = (struct session_push){.to = w.s, .x = &whole};
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_DTYPE);
    assert_names(&err, "w@GRAD is of type", &k);
    value_as_tensor(&whole, DTYPE_FP32, &flat, NULL);
    push.to.sections = NULL;
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_SHAPE);
    assert_names(&err, "bytes here, and", &k);
    value_as_rows(&wide, DTYPE_FP32, 2, EMB_WIDTH + 1, EMB_ROWS, NULL);
    wide.sel.rows[0] = wide.sel.rows[1] = 1;
    push = (struct session_push){.to = other.s, .x = &wide};
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_SHAPE);
    assert_names(&err, "emb@GRAD has rows of", &k);
    w.s.names = unknown;
    push = (struct session_push){.to = w.s, .x = &g.w};
    assert_int_equal(session_exchange(s, 0, 0, &push, 1, NULL, 0, &err), SKIFF_NOT_FOUND);
    assert_names(&err, "nothing@GRAD is not on server 0 (", &k);
    struct session_pull pull = {w.s, &whole};
    assert_int_equal(session_exchange(s, 0, 0, NULL, 0, &pull, 1, &err), SKIFF_NOT_FOUND);
    assert_names(&err, "has no variable nothing@GRAD", &k);
    value_deinit(&whole);
    value_deinit(&wide);
    grads_deinit(&g);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- the server's checks ---- */

/* A push of one piece, and a pull of want (-1: none), to this shard. */
static enum skiff_status send_piece(struct session *s, int shard, const struct ps_piece *piece,
                                    int64_t want, struct skiff_error *err)
{
    uint32_t number = (uint32_t)want;
    struct ps_exchange x = {.nwant = want >= 0, .want = (const uint8_t *)&number};
    struct batch_request ask = {.method = PS_EXCHANGE, .shard = shard};
    struct wire_writer w;
    writer_init(&w);
    ps_write_exchange(&w, &x, piece, 1);
    assert_ok(writer_finish(&w, &ask.body, err), *err);
    return session_ask(s, &ask, "a message of a test", NULL, err);
}

static void servers_check_what_they_get(void **state)
{
    struct server_fixture k;
    struct skiff_error err;
    struct fixture_slices w, value;
    struct grads g = {0};
    struct params *before = mem_alloc_or_die(sizeof *before),
                  *after = mem_alloc_or_die(sizeof *after);
    open_one(&k, 3);
    struct session *s = fixture_session(&k, 0);
    grads_init(&g, 0, 0);
    fixture_pull(&k, s, before);
    fixture_slices(&k, "w", "@GRAD", false, &w);
    fixture_slices(&k, "w", "", false, &value);
    struct bound_slice grad = bound_slice(s, &w.s, PS_PUSH_DENSE),
                       param = bound_slice(s, &value.s, PS_PULL_WHOLE);
    assert_int_equal(s->shards[0], 3);
    assert_int_equal(grad.shard, param.shard);
    const struct ps_piece good = {
        .number = grad.number, .data = g.w.tensor.data, .bytes = grad.bytes};
    struct ps_piece x = good;
    x.number = s->vars[0].n;
    assert_int_equal(send_piece(s, grad.shard, &x, -1, &err), SKIFF_NOT_FOUND);
    assert_names(&err, "of a message: server 0 at", &k);
    assert_int_equal(send_piece(s, (grad.shard + 1) % 3, &good, -1, &err), SKIFF_INVALID);
    assert_names(&err, "w@GRAD belongs to shard", &k);
    x = good;
    x.bytes -= sizeof(float);
    assert_int_equal(send_piece(s, grad.shard, &x, -1, &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "w@GRAD has"));
    x = good;
    x.number = param.number;
    assert_int_equal(send_piece(s, grad.shard, &x, -1, &err), SKIFF_INVALID);
    assert_names(&err, "cannot be pushed", &k);
    assert_int_equal(send_piece(s, grad.shard, &good, grad.number, &err), SKIFF_INVALID);
    assert_names(&err, "cannot be sent", &k);
    assert_int_equal(send_piece(s, grad.shard, &good, s->vars[0].n, &err), SKIFF_NOT_FOUND);
    fixture_pull(&k, s, after);
    assert_true(params_same(before, after)); /* no good piece beside a bad one has counted */
    assert_ok(send_piece(s, grad.shard, &good, param.number, &err), err);
    params_destroy(before);
    params_destroy(after);
    grads_deinit(&g);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- the worker's checks of replies ---- */

/* The value of a variable changes its shape on the server, which a session has bound before. */
static void workers_check_replies(void **state)
{
    struct server_fixture k;
    struct skiff_error err;
    struct fixture_slices w, b;
    struct skiff_tensor value = {0};
    open_one(&k, 1);
    struct session *s = fixture_session(&k, 0);
    fixture_slices(&k, "w", "", false, &w);
    fixture_slices(&k, "b", "", false, &b);
    struct bound_slice param = bound_slice(s, &w.s, PS_PULL_WHOLE),
                       bias = bound_slice(s, &b.s, PS_PULL_WHOLE);
    struct session_pull pull = {w.s, &value};
    struct bound_var *bound = &k.server[0]->bound[param.number], good = *bound;
    assert_ok(session_exchange(s, 0, 0, NULL, 0, &pull, 1, &err), err);
    assert_int_equal(tensor_bytes(&value.tensor), param.bytes);
    bound->value = k.server[0]->bound[bias.number].value;
    assert_int_equal(session_exchange(s, 0, 0, NULL, 0, &pull, 1, &err), SKIFF_FORMAT);
    assert_names(&err, "bytes of w, which has", &k);
    *bound = good;
    assert_ok(session_exchange(s, 0, 0, NULL, 0, &pull, 1, &err), err);
    value_deinit(&value);
    session_close(s);
    fixture_join(&k, SKIFF_OK);
    fixture_close(&k);
}

/* ---- places in messages ---- */

static void step_of(struct server_fixture *k, struct session *s, float *out)
{
    struct params *p = mem_alloc_or_die(sizeof *p);
    fixture_pull(k, s, p);
    memcpy(out, p->w.tensor.data, EMB_WIDTH * FC_WIDTH * sizeof *out);
    params_destroy(p);
}

/* The mean of two gradients from a place in the message moves w as the same gradient from memory
 * does; with rows in the same message, for which the body grows; and in a message whose tables are
 * larger than the space left for them. */
static void slots_are_sent(void **state)
{
    enum { N = EMB_WIDTH * FC_WIDTH };
    static float w[4][N];
    for (int tight = 0; tight < 2; tight++) {
        struct server_fixture k;
        struct skiff_error err;
        struct fixture_slices to, rows;
        struct session_binding *bound;
        struct grads g = {0};
        struct skiff_tensor twice = {0}, small = {0};
        struct shape one = SHAPE(1);
        open_one(&k, 1);
        struct session *s = fixture_session(&k, 0);
        grads_init(&g, 0, 0);
        value_as_tensor(&twice, DTYPE_FP32, &g.w.tensor.shape, NULL);
        value_as_tensor(&small, DTYPE_FP32, &one, NULL);
        for (int i = 0; i < N; i++)
            tensor_f32(&twice.tensor)[i] = 3 * tensor_f32(&g.w.tensor)[i];
        fixture_slices(&k, "w", "@GRAD", false, &to);
        fixture_slices(&k, "emb", "@GRAD", false, &rows);
        assert_ok(session_bind(s, &to.s, PS_PUSH_DENSE, &bound, &err), err);
        to.s.bound = bound;
        struct session_slots *slots = slots_create(s, tight ? 0 : 2, 0);
        struct session_slot *slot = slot_create(slots, s, &to.s);
        step_of(&k, s, w[0]);
        for (int step = 0; step < 2; step++) {
            assert_ok(slots_begin(slots, &err), err);
            assert_ok(slot_add(slot, 0, &g.w, "w@GRAD", &err), err);
            assert_ok(slot_add(slot, 1, &twice, "w@GRAD", &err), err);
            slot_finish(slot, 2, true);
            struct session_push push[2] = {{.to = to.s, .slot = slot}, {.to = rows.s, .x = &g.emb}};
            assert_ok(session_exchange(s, 0, 0, push, 1 + step, NULL, 0, &err), err);
            step_of(&k, s, w[step + 1]);
        }
        for (int i = 0; i < N; i++)
            tensor_f32(&twice.tensor)[i] = 2 * tensor_f32(&g.w.tensor)[i];
        struct session_push plain = {.to = to.s, .x = &twice};
        assert_ok(session_exchange(s, 0, 0, &plain, 1, NULL, 0, &err), err);
        step_of(&k, s, w[3]);
        for (int i = 0; i < N; i++) {
            assert_true(w[0][i] != w[1][i]);
            assert_float_equal(w[0][i] - w[1][i], w[2][i] - w[3][i], 1e-5);
            assert_float_equal(w[1][i] - w[2][i], w[2][i] - w[3][i], 1e-5);
        }
        assert_int_equal(slot_add(slot, 0, &small, "w@GRAD", &err), SKIFF_SHAPE);
        assert_non_null(strstr(err.message, "w@GRAD is no longer a float32 tensor of"));
        free(slot);
        slots_destroy(slots);
        session_unbind(bound);
        value_deinit(&twice);
        value_deinit(&small);
        grads_deinit(&g);
        session_close(s);
        fixture_join(&k, SKIFF_OK);
        fixture_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_check_what_they_send),
        cmocka_unit_test(servers_check_what_they_get),
        cmocka_unit_test(workers_check_replies),
        cmocka_unit_test(slots_are_sent),
    };
    return cmocka_run_group_tests_name("binding", tests, NULL, NULL);
}
